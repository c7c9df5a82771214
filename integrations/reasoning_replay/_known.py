"""Where a payload was seen to come from: digest → origins. The one thing of the process that remembers.

Holds digests and origins, never text. Bounded: the entry that was not looked at for longest goes first.
`Known` is what the doors need of a store; stores that outlive the process satisfy it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

from ._origin import Origin, to_mark
from .stores._base import MAX_VALUES as MAX_ORIGINS
from .stores._base import ORIGINS_KEY
from .stores._memory import MAX_ITEMS, MemoryStore

__all__ = [  # the first four live in `stores`
    "MAX_ITEMS",
    "MAX_ORIGINS",
    "ORIGINS_KEY",
    "Known",
    "Memory",
    "MemoryStore",
    "Nothing",
    "Overlay",
    "check_known",
    "default_store",
    "first_time",
    "forget_warnings",
    "memory_of",
    "note_all",
]  # fmt: skip


class Known(Protocol):
    """What the doors ask of a store."""

    def note(self, digest: bytes, origin: Origin) -> None:
        """Remembers that this payload was seen to come from `origin`."""

    def origins(self, digest: bytes) -> Collection[Origin]:
        """Where it was seen to come from; empty where it was not."""


class Memory(Known, Protocol):
    """A store that holds dropped reasoning too: one tenant's part of it, as keys and sets of values."""

    session: str | None
    """The caller's name for the conversation; it tells apart what the messages cannot."""

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        """The values of these keys, those without any left out; nothing at all while the store is down."""

    def add(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Adds values to keys; never raises."""


class Nothing:
    """`Known` that knows no payload and keeps none."""

    def note(self, digest: bytes, origin: Origin) -> None:
        """Forgotten at once."""

    def origins(self, digest: bytes) -> Collection[Origin]:
        """Of no payload is anything known."""
        return ()


def check_known(known: object) -> None:
    """That it is a store, or None; a path or an address is not.

    Raises:
        TypeError: it is not.
    """
    if known is not None and not hasattr(known, "origins"):
        raise TypeError(
            f"known: a {type(known).__name__}; allowed: a store (MemoryStore(), SQLiteStore(path), RedisStore(url)), "
            "a tenant's part of one (store.of(tenant)), or None"
        )


def memory_of(known: Known) -> Memory | None:
    """The store as one that restores; None for one that notes origins alone, and for the process's own.

    The process's own store holds no text, whatever it could do: nobody asked it to keep any.
    """
    return known if known is not default_store() and hasattr(known, "get") and hasattr(known, "add") else None  # type: ignore[return-value]


def note_all(known: Known, digests: Sequence[bytes], origin: Origin, kept: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Notes that these payloads were seen to come from `origin`, and what is `kept` beside; in one go where it can."""
    memory = memory_of(known)
    if memory is None:
        for each in digests:
            known.note(each, origin)
        return
    value = str(to_mark(origin)["id"]).encode()
    items = [*((ORIGINS_KEY + each, value) for each in digests), *kept]
    if items:
        memory.add(items)


class Overlay:
    """What one plan kept, over the store that it was made with. Never changed after it is made."""

    def __init__(
        self,
        kept: Mapping[bytes, frozenset[Origin]],
        below: Known | None,
        *,
        users: int = 0,
        users_in_turn: int = 0,
        restored: frozenset[bytes] = frozenset(),
    ) -> None:
        self._kept = kept
        self.restored = restored
        """Digests of what a store had put back into them."""
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
