"""Where a payload was seen to come from: digest → origins. The one thing of the process that remembers.

Holds digests and origins, never text. Bounded: the entry that was not looked at for longest goes first.
`Known` is what the doors need of a store; stores that outlive the process satisfy it too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from functools import cache
from threading import Lock
from typing import Protocol

from ._origin import Origin

MAX_ITEMS = 65_536
"""Payloads remembered by the default store: about 20 MB, some hundred long agent runs (a guess, 2026-11-30)."""
MAX_ORIGINS = 8
"""Origins remembered for one payload: the same words from more hosts than that are no evidence of any."""


class Known(Protocol):
    """What the doors ask of a store."""

    def note(self, digest: bytes, origin: Origin) -> None:
        """Remembers that this payload was seen to come from `origin`."""

    def origins(self, digest: bytes) -> Collection[Origin]:
        """Where it was seen to come from; empty where it was not."""


class MemoryStore:
    """`Known` in memory, for one process. Mutable and thread-safe."""

    def __init__(self, *, max_items: int = MAX_ITEMS) -> None:
        if max_items < 1:
            raise ValueError(f"MemoryStore(max_items={max_items!r}): allowed: 1 or more")
        self._max_items = max_items
        self._items: OrderedDict[bytes, frozenset[Origin]] = OrderedDict()
        self._lock = Lock()

    def note(self, digest: bytes, origin: Origin) -> None:
        with self._lock:
            known = self._items.pop(digest, frozenset())
            if origin not in known and len(known) < MAX_ORIGINS:
                known |= {origin}
            self._items[digest] = known
            if len(self._items) > self._max_items:
                self._items.popitem(last=False)

    def origins(self, digest: bytes) -> frozenset[Origin]:
        with self._lock:
            found = self._items.get(digest)
            if found is None:
                return frozenset()
            self._items.move_to_end(digest)
            return found

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"MemoryStore({len(self)} of {self._max_items} items)"


class Overlay:
    """What one plan kept, over the store that it was made with. Never changed after it is made."""

    def __init__(
        self,
        kept: Mapping[bytes, frozenset[Origin]],
        below: Known | None,
        *,
        users: int = 0,
        users_in_turn: int = 0,
    ) -> None:
        self._kept = kept
        self._below = below
        self.users = users
        """User messages in the planned list, whose turn notes are gone."""
        self.users_in_turn = users_in_turn
        """Of those, the ones from the start of the running turn on."""

    def note(self, digest: bytes, origin: Origin) -> None:
        if self._below is not None:
            self._below.note(digest, origin)

    def origins(self, digest: bytes) -> Collection[Origin]:
        found = self._kept.get(digest)
        if found is not None:
            return found
        return self._below.origins(digest) if self._below is not None else ()

    def __repr__(self) -> str:
        return f"Overlay({len(self._kept)} items over {self._below!r})"


@cache
def default_store() -> MemoryStore:
    """The store of this process."""
    return MemoryStore()


def forget_warnings() -> None:
    """Lets everything that warns once warn again."""
    _warned.clear()


def first_time(key: object) -> bool:
    """Whether this was not warned of yet in this process; bounded, so a long run may hear a thing twice."""
    if key in _warned:
        return False
    if len(_warned) >= _MAX_WARNINGS:
        _warned.clear()
    _warned.add(key)
    return True


_MAX_WARNINGS = 1024
_warned: set[object] = set()
