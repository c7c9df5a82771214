"""The store of one process: a dict in the order of last use.

`note` and `origins` without a tenant are the hot path of every call: one look-up under the bare digest, and items with
equal origins share one object. Every other key is a pair (tenant, key), which equals no digest.
Needs no guard: nothing here waits for anything but a lock that is held for microseconds.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Lock

from .._origin import Origin
from ._base import ORIGINS_KEY, Bounds, Store, joined, mark_value, origins_in
from ._forks import Rests

MAX_ITEMS = 65_536
"""Keys of the default store: some hundred long agent runs (a guess, 2026-11-30)."""
MAX_BYTES_PER_ITEM = 1_048_576
"""The longest reasoning of one reply in our evidence has 0.1 MB, sealed and readable together; ten times that."""
MAX_BYTES = 67_108_864
OVERHEAD = 250
"""Bytes around an item: its place in the dict, the key's and the values' objects (tests/benchmarks/bench_store.py)."""

_Place = bytes | tuple[str, bytes]


class _Marks:
    """Mark ids as values, with the origins that they name. One object for all items that have the same."""

    __slots__ = ("longest", "origins", "size", "values")

    def __init__(self, values: tuple[bytes, ...], origins: frozenset[Origin] | None = None) -> None:
        self.values = values
        self.origins = origins_in(values) if origins is None else origins
        self.size = OVERHEAD + sum(map(len, values))
        self.longest = len(ORIGINS_KEY) + max(map(len, values))


_Entry = _Marks | tuple[bytes, ...]
"""Under a bare digest lie marks, under a pair plain values."""
_marks = lru_cache(maxsize=4096)(_Marks)


@lru_cache(maxsize=1024)
def _first(origin: Origin) -> _Marks:
    return _Marks((mark_value(origin),), frozenset({origin}))  # the very object: `in` finds it without comparing


def _place(tenant: str, key: bytes) -> _Place:
    return key[1:] if tenant == "" and key.startswith(ORIGINS_KEY) else (tenant, key)


def _values(entry: _Entry | None) -> tuple[bytes, ...]:
    return () if entry is None else entry.values if isinstance(entry, _Marks) else entry


def _size(place: _Place, entry: _Entry | None) -> int:
    if entry is None:
        return 0
    if isinstance(entry, _Marks):
        return len(place) + entry.size
    return len(place[1]) + OVERHEAD + sum(map(len, entry))  # type: ignore[arg-type]  # a pair


class MemoryStore(Store):
    """A store for one process, and `known` for one. `ttl` counts from the last write.

    `max_items` counts keys, `max_bytes` and `max_bytes_per_item` are bytes, `ttl` is seconds (None: no end).

    Raises:
        StoreError: impossible bounds.
    """

    _clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self,
        *,
        max_items: int = MAX_ITEMS,
        max_bytes_per_item: int = MAX_BYTES_PER_ITEM,
        max_bytes: int = MAX_BYTES,
        ttl: float | None = None,
    ) -> None:
        # not Store.__init__, which makes a guard
        self.bounds = Bounds(max_items, max_bytes_per_item, max_bytes, ttl).check("MemoryStore")
        self._max_items, self._longest, self._max_bytes, self._ttl = self.bounds
        self._items: OrderedDict[_Place, _Entry] = OrderedDict()
        self._ends: dict[_Place, float] = {}
        """When an item is over, the one that is over first at the front; empty without a ttl."""
        self._bytes = 0
        self._lock = Lock()
        self._rests = Rests(self._lock)

    def note(self, digest: bytes, origin: Origin) -> None:
        with self._lock:
            items = self._items
            if self._ttl is not None:
                self._reap()
                self._begin(digest)
            old = items.pop(digest, None)
            if old is not None and origin in old.origins:  # type: ignore[union-attr]  # under a digest lies _Marks
                items[digest] = old
            else:
                self._note(digest, old, origin)  # type: ignore[arg-type]

    def _note(self, digest: bytes, old: _Marks | None, origin: Origin) -> None:
        new = _first(origin) if old is None else _marks(joined(ORIGINS_KEY, old.values, mark_value(origin)))
        if len(digest) + new.longest > self._longest:
            if old is None:
                self._ends.pop(digest, None)
                return
            new = old
        self._bytes += new.size - old.size if old is not None else new.size + len(digest)
        self._items[digest] = new
        if len(self._items) > self._max_items or self._bytes > self._max_bytes:
            self._shrink()

    def origins(self, digest: bytes) -> frozenset[Origin]:
        with self._lock:
            if self._ttl is not None:
                self._reap()
            found = self._items.get(digest)
            if found is None:
                return frozenset()
            self._items.move_to_end(digest)
            return found.origins  # type: ignore[union-attr]

    def look_up(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        return self._get(tenant, keys)

    def put(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        self._add(tenant, self._short_enough(items))

    def _get(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        found = {}
        with self._lock:
            self._reap()
            for key in keys:
                place = _place(tenant, key)
                entry = self._items.get(place)
                if entry is not None:
                    self._items.move_to_end(place)
                    found[key] = _values(entry)
        return found

    def _add(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        with self._lock:
            self._reap()
            for key, value in items:
                place = _place(tenant, key)
                old = self._items.pop(place, None)
                values = joined(key, _values(old), value)
                new: _Entry = _marks(values) if isinstance(place, bytes) else values
                self._bytes += _size(place, new) - _size(place, old)
                self._items[place] = new
                self._begin(place)
            self._shrink()

    def _begin(self, place: _Place) -> None:
        if self._ttl is not None:
            self._ends.pop(place, None)
            self._ends[place] = self._clock() + self._ttl

    def _reap(self) -> None:
        now = self._clock() if self._ends else 0.0
        while self._ends and next(iter(self._ends.values())) <= now:
            self._drop(next(iter(self._ends)))

    def _shrink(self) -> None:
        while len(self._items) > self._max_items or self._bytes > self._max_bytes:
            self._drop(next(iter(self._items)))

    def _drop(self, place: _Place) -> None:
        self._bytes -= _size(place, self._items.pop(place))
        self._ends.pop(place, None)

    def purge(self, tenant: str) -> int:
        with self._lock:
            self._reap()
            own = [place for place in self._items if ("" if isinstance(place, bytes) else place[0]) == tenant]
            for place in own:
                self._drop(place)
        return len(own)

    def close(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._items.clear()
            self._ends.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"MemoryStore({len(self)} of {self._max_items} items)"
