"""Where origins and dropped reasoning live: in memory, in a file, in Redis. One table, tenants apart.

A store maps (tenant, key) to a few values, all of them opaque bytes. `store.of(tenant)` is one tenant's shelf, which is
what the doors take as `known`; the store itself is the shelf of an app without tenants. Neither ever fails a call:
a store that is down or slow has nothing, remembers nothing, warns once and is asked again by itself.
SQLite and Redis are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import Bounds, Shelf, Store, StoreError
from ._memory import MemoryStore

if TYPE_CHECKING:
    from ._redis import RedisStore
    from ._sqlite import SQLiteStore

__all__ = ["Bounds", "MemoryStore", "RedisStore", "SQLiteStore", "Shelf", "Store", "StoreError"]

for _each in (Bounds, Shelf, Store, StoreError):
    _each.__module__ = __name__
del _each


def __getattr__(name: str) -> Any:
    if name == "SQLiteStore":
        from ._sqlite import SQLiteStore

        return SQLiteStore
    if name == "RedisStore":
        from ._redis import RedisStore

        return RedisStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
