"""What every store is: shelves of tenants over two operations, its bounds, and how little a call depends on it.

A backend writes `_add`, `_get`, `purge` and `_part`. The first two may raise and may be slow: they are called through
the guard alone. Must not know what values mean, but for `note` and `origins`, which keep mark ids in the same table.
Tenants are no text that is put together with anything: each backend keeps (tenant, key) as two things.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Self

from .._origin import Origin, from_mark_id, to_mark

MAX_VALUES = 8
"""Values of one key. Of origins the first eight stay: the same words from more hosts are no evidence of any.
Of everything else the newest eight."""
ORIGINS_KEY = b"o"
"""Begins the key of a payload's origins; the values are the ids of marks, in UTF-8."""


class StoreError(ValueError):
    """A store cannot be made from what was given, or a purge could not be done. The message says what to do."""


class Bounds(NamedTuple):
    """How much a store holds, and for how long."""

    max_items: int
    """Keys. Beyond it the one that was neither read nor written for longest goes."""
    max_bytes_per_item: int
    """A key and one value. What is longer is not kept."""
    max_bytes: int
    """All keys and values together, with what the backend needs around each."""
    ttl: float | None
    """Seconds after the last write to a key until it is gone; None: for ever."""

    def check(self, name: str) -> Self:
        """The bounds themselves.

        Raises:
            StoreError: no store can have such bounds.
        """
        for field, value in self._asdict().items():
            if field == "ttl":
                if value is not None and not (_is_number(value) and 0.001 <= value <= MAX_TTL):
                    raise StoreError(f"{name}(ttl={value!r}): allowed: seconds from 0.001 to {MAX_TTL}, or None")
            elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise StoreError(f"{name}({field}={value!r}): allowed: 1 or more")
        if self.max_bytes_per_item > self.max_bytes:
            raise StoreError(
                f"{name}(max_bytes_per_item={self.max_bytes_per_item!r}): allowed: at most max_bytes={self.max_bytes!r}"
            )
        return self


MAX_TTL = 10**9
"""Some thirty years."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=1024)
def mark_value(origin: Origin) -> bytes:
    """An origin as a value."""
    return str(to_mark(origin)["id"]).encode()


@lru_cache(maxsize=4096)
def origins_in(values: tuple[bytes, ...]) -> frozenset[Origin]:
    """The origins that values name; what is no whole mark id names none."""
    found = (from_mark_id(value.decode("utf-8", "replace")) for value in values)
    return frozenset(origin for origin in found if origin is not None)


def joined(key: bytes, values: tuple[bytes, ...], value: bytes) -> tuple[bytes, ...]:
    """The values of a key, oldest first, after one more was added; the very same where nothing changes."""
    if key.startswith(ORIGINS_KEY):
        return values if value in values or len(values) >= MAX_VALUES else (*values, value)
    if values and values[-1] == value:
        return values
    return (*(each for each in values if each != value), value)[-MAX_VALUES:]


@lru_cache(maxsize=1024)
def hidden(tenant: str) -> bytes:
    """A tenant as 16 bytes: it is nowhere written in words, and nobody can choose a name that is another's."""
    return sha256(tenant.encode("utf-8", "surrogatepass")).digest()[:16]


def packed(values: Sequence[bytes]) -> bytes:
    """Values with their lengths."""
    return b"".join(len(value).to_bytes(4, "big") + value for value in values)


def unpacked(data: bytes) -> tuple[bytes, ...]:
    """What `packed` made one of."""
    if len(data) == 4 + int.from_bytes(data[:4], "big"):  # nearly always
        return (data[4:],)
    values = []
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        values.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return tuple(values)


class Shelf:
    """One tenant's part of a store. Cheap to make, thread-safe, and never raises."""

    __slots__ = ("_store", "session", "tenant")

    def __init__(self, store: Store, tenant: str, *, session: str | None = None) -> None:
        for name, value in (("tenant", tenant), ("session", session)):
            if not isinstance(value, str) and (value is not None or name == "tenant"):
                given = type(value).__name__
                raise StoreError(f"{name}: a {given}; allowed: a string{', or None' * (name == 'session')}")
        self._store = store
        self.tenant = tenant
        self.session = session

    def note(self, digest: bytes, origin: Origin) -> None:
        """Remembers that this payload was seen to come from `origin`."""
        self._store.put(self.tenant, ((ORIGINS_KEY + digest, mark_value(origin)),))

    def origins(self, digest: bytes) -> frozenset[Origin]:
        """Where it was seen to come from; empty where it was not, or while the store is down."""
        key = ORIGINS_KEY + digest
        return origins_in(tuple(self._store.look_up(self.tenant, (key,)).get(key, ())))

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        """The values of these keys, oldest first, in one look-up. Keys without any are left out."""
        return self._store.look_up(self.tenant, keys)

    def add(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Adds values to keys. What is too long for the store, or comes while it is down, is not kept."""
        self._store.put(self.tenant, items)

    def __repr__(self) -> str:
        return f"<a tenant's shelf in {self._store!r}>"


class Store(ABC):
    """A table (tenant, key) → values. Itself the shelf of an app that has no tenants. Thread-safe; close it once."""

    tenant = ""
    session: str | None = None

    def __init__(self, bounds: Bounds, *, patience: float | None = None) -> None:
        from ._guard import Guard

        name = type(self).__name__
        if patience is not None and not (_is_number(patience) and 0.001 <= patience <= 60):
            raise StoreError(f"{name}(patience={patience!r}): allowed: seconds from 0.001 to 60, or None")
        self.bounds = bounds.check(name)
        self._guard = Guard(self.__repr__, self._part, self._begin_anew, patience)

    def of(self, tenant: str, *, session: str | None = None) -> Shelf:
        """The tenant's shelf. `session` is the caller's name for the conversation, and no part of any key here."""
        return Shelf(self, tenant, session=session)

    def note(self, digest: bytes, origin: Origin) -> None:
        """Remembers that this payload was seen to come from `origin`."""
        Shelf.note(self.of(""), digest, origin)

    def origins(self, digest: bytes) -> frozenset[Origin]:
        """Where it was seen to come from; empty where it was not, or while the store is down."""
        return self.of("").origins(digest)

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        """The values of these keys, oldest first, in one look-up. Keys without any are left out."""
        return self.look_up("", keys)

    def add(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Adds values to keys. What is too long for the store, or comes while it is down, is not kept."""
        self.put("", items)

    def look_up(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        """What a shelf's `get` does."""
        found = self._guard.call(lambda: self._get(tenant, keys), writes=False) if keys else None
        return {} if found is None else found

    def put(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        """What a shelf's `add` does."""
        short = self._short_enough(items)
        if short:
            self._guard.call(lambda: self._add(tenant, short), writes=True)

    def _short_enough(self, items: Sequence[tuple[bytes, bytes]]) -> Sequence[tuple[bytes, bytes]]:
        longest = self.bounds.max_bytes_per_item
        return [item for item in items if len(item[0]) + len(item[1]) <= longest]

    @abstractmethod
    def purge(self, tenant: str) -> int:
        """Forgets all that this tenant has. How many items went.

        Raises:
            StoreError: it could not be done, or not to the end.
        """

    def close(self) -> None:
        """Lets go of files and connections. A closed store has nothing and remembers nothing."""
        self._guard.close()

    def _part(self) -> None:  # noqa: B027 - most backends hold nothing
        """Lets go of what must not cross a fork, and of everything at the end. Opened again at the next use."""

    def _begin_anew(self) -> None:  # noqa: B027
        """In a child after a fork, where `_part` had no time to let go."""

    @abstractmethod
    def _add(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None: ...

    @abstractmethod
    def _get(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
