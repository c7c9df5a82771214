"""A store in one file, for several processes of one machine: SQLite with a write-ahead log.

Every `add` is one transaction: a kill in the middle leaves the file whole, and what was acknowledged is in it.
Tenants are kept as a hash beside the key, never in words. Recency is kept in memory and written late: what this process
read is spared when its turn to go comes, and other processes hear of it within `GRAIN`.
Must not know how the file is made (`_sqlite_file`), nor how long anybody waits (`_guard`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from threading import Thread
from typing import TypeVar

from ._base import Bounds, Store, StoreError, hidden, joined, packed, unpacked
from ._guard import told
from ._sqlite_file import checked_path, empty_log, lasting, opened, transaction, write_back

MAX_ITEMS = 1_000_000
MAX_BYTES_PER_ITEM = 1_048_576
MAX_BYTES = 1_073_741_824
TTL = 30 * 86_400.0
"""A conversation is taken up again within a month (a guess, 2026-11-30); text is not kept for ever by default."""
OVERHEAD = 100
"""Bytes of an item in the indexes, beside its key (tests/benchmarks/bench_store.py)."""
GRAIN = 600_000_000
"""Microseconds by which use and age in the file may lag: ten minutes, or a hundredth of the ttl."""
SLICE = 256
"""Items that go in one transaction: nobody waits long for its lock."""
PAGES = 2000
"""Of the log between two write-backs, by a guess of five an item: look-ups search a long log for every page."""
_SPARED = 65_536
_PARAMETERS = 512
_LEFT: list[sqlite3.Connection] = []
"""Connections that a child has of its parent; SQLite forbids to touch them, so nothing here ever closes one."""

T = TypeVar("T")


class SQLiteStore(Store):
    """A store in a file that several processes of one machine may share. `ttl` counts from the last write.

    `max_items` counts keys, `max_bytes` and `max_bytes_per_item` are bytes, `ttl` is seconds (None: no end).

    `patience`: seconds that a call waits for it; None: within 50 ms the call goes on without.

    Raises:
        StoreError: impossible bounds, or a path that cannot hold a store.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_items: int = MAX_ITEMS,
        max_bytes_per_item: int = MAX_BYTES_PER_ITEM,
        max_bytes: int = MAX_BYTES,
        ttl: float | None = TTL,
        patience: float | None = None,
    ) -> None:
        super().__init__(Bounds(max_items, max_bytes_per_item, max_bytes, ttl), patience=patience)
        self._path = checked_path(path, "SQLiteStore")
        self._ttl = None if ttl is None else int(ttl * 1e6)
        self._grain = GRAIN if self._ttl is None else min(GRAIN, self._ttl // 100)
        self._seen: dict[int, int] = {}
        """Item → when this process read it last; the one read longest ago at the front."""
        self._due: dict[int, int] = {}
        """Of those, what the file should hear of."""
        self._last = 0
        self._pages = 0
        """Written since the last write-back."""
        self._write_back: Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._guard.warm(lambda: self._on_file(lambda _: None))

    def _clock(self) -> int:
        return time.time_ns() // 1000

    def _now(self) -> int:
        """Microseconds since 1970, another number each time."""
        self._last = max(self._last + 1, self._clock())
        return self._last

    def _on_file(self, do: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None:
            self._connection = opened(self._path, repr(self))
        try:
            return do(self._connection)
        except sqlite3.Error as error:
            if not lasting(error):
                self._part()
            raise

    def _part(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _begin_anew(self) -> None:
        if self._connection is not None:  # it was at work when the process forked
            _LEFT.append(self._connection)
            self._connection = None

    def _get(self, tenant: str, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[bytes]]:
        found = self._on_file(lambda connection: self._found(connection, hidden(tenant), keys))
        if self._due and (len(self._due) >= SLICE or self._now() - next(iter(self._due.values())) > self._grain // 10):
            self._guard.later(lambda: self._on_file(self._tell_use))
        return found

    def _found(
        self, connection: sqlite3.Connection, tenant: bytes, keys: Sequence[bytes]
    ) -> Mapping[bytes, Sequence[bytes]]:
        now = self._now()
        over, stale = self._over(now), now - self._grain
        found = {}
        for start in range(0, len(keys), _PARAMETERS):
            some = list(keys[start : start + _PARAMETERS])
            width = 1 << (len(some) - 1).bit_length()  # few widths: SQLite keeps their plans
            some += [some[-1]] * (width - len(some))
            marks = ",".join("?" * width)
            for item, key, data, used, written in connection.execute(
                f"SELECT id, key, data, used, written FROM items WHERE tenant = ? AND key IN ({marks})",  # noqa: S608
                (tenant, *some),
            ):
                if written > over:
                    found[key] = unpacked(data)
                    self._saw(item, now)
                    if used < stale:
                        self._due.setdefault(item, now)
        while len(self._seen) > _SPARED:
            del self._seen[next(iter(self._seen))]
        return found

    def _saw(self, item: int, now: int) -> None:
        self._seen.pop(item, None)
        self._seen[item] = now

    def _over(self, now: int) -> int:
        """What was written then or before is over."""
        return -1 if self._ttl is None else now - self._ttl

    def _tell_use(self, connection: sqlite3.Connection) -> None:
        if self._due:
            with transaction(connection):
                self._write_use(connection)

    def _write_use(self, connection: sqlite3.Connection) -> None:
        due, self._due = self._due, {}
        connection.executemany(
            "UPDATE items SET used = max(used, ?) WHERE id = ?", [(at, item) for item, at in due.items()]
        )

    def _add(self, tenant: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        if self._on_file(lambda connection: self._added(connection, hidden(tenant), items)):
            self._guard.later(self._shrink_on)
        self._pages += sum(5 + len(value) // 4096 for _, value in items)
        if self._pages > PAGES and (self._write_back is None or not self._write_back.is_alive()):
            self._pages = 0
            self._write_back = Thread(target=write_back, args=(self._path,), daemon=True)
            self._write_back.start()

    def _added(self, connection: sqlite3.Connection, tenant: bytes, items: Sequence[tuple[bytes, bytes]]) -> bool:
        with transaction(connection):
            for key, value in items:
                self._put(connection, tenant, key, value, self._now())  # each its own: they are used in this order
            if self._due:
                self._write_use(connection)
            self._reap(connection, self._now())
            return self._shrink(connection)

    def _put(self, connection: sqlite3.Connection, tenant: bytes, key: bytes, value: bytes, now: int) -> None:
        row = connection.execute("SELECT id, data, written FROM items WHERE tenant = ? AND key = ?", (tenant, key))
        item, data, written = row.fetchone() or (0, b"", 0)
        old = () if item == 0 or written <= self._over(now) else unpacked(data)
        new = joined(key, old, value)
        if new is old:
            self._saw(item, now)
            if now - written > self._grain:
                connection.execute("UPDATE items SET used = ?, written = ? WHERE id = ?", (now, now, item))
            return
        whole = packed(new)
        size = OVERHEAD + len(key) + room(len(key) + len(whole))
        if item == 0:
            connection.execute(
                "INSERT INTO items (tenant, key, data, size, used, written) VALUES (?, ?, ?, ?, ?, ?)",
                (tenant, key, whole, size, now, now),
            )
        else:
            connection.execute(
                "UPDATE items SET data = ?, size = ?, used = ?, written = ? WHERE id = ?", (whole, size, now, now, item)
            )

    def _reap(self, connection: sqlite3.Connection, now: int) -> None:
        if self._ttl is not None:
            connection.execute(
                "DELETE FROM items WHERE id IN (SELECT id FROM items WHERE written <= ? LIMIT ?)",
                (self._over(now), SLICE),
            )

    def _shrink(self, connection: sqlite3.Connection) -> bool:
        """Whether there is still too much, after as much went as one transaction may take."""
        for _ in range(SLICE):
            items, size = connection.execute("SELECT items, bytes FROM total").fetchone()
            if items <= self.bounds.max_items and size <= self.bounds.max_bytes:
                return False
            item, used = connection.execute("SELECT id, used FROM items ORDER BY used LIMIT 1").fetchone()
            seen = self._seen.pop(item, 0)
            if seen > used:
                connection.execute("UPDATE items SET used = ? WHERE id = ?", (seen, item))
            else:
                connection.execute("DELETE FROM items WHERE id = ?", (item,))
        return True

    def _shrink_on(self) -> None:
        def shrink(connection: sqlite3.Connection) -> bool:
            with transaction(connection):
                return self._shrink(connection)

        if self._on_file(shrink):
            self._guard.later(self._shrink_on)

    def purge(self, tenant: str) -> int:
        """Forgets all that this tenant has, in the file and in its log. How many items went.

        Raises:
            StoreError: it could not be done, or not to the end.
        """
        self._guard.barrier()
        try:
            with closing(opened(self._path, repr(self))) as connection:
                return self._purged(connection, hidden(tenant))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self!r}: purge: {told(error)}; what is left goes when it is called again") from None

    def _purged(self, connection: sqlite3.Connection, tenant: bytes) -> int:
        own = "DELETE FROM items WHERE id IN (SELECT id FROM items WHERE tenant = ? AND written {} ? LIMIT ?)"
        over = self._over(self._now())
        gone = {"<=": 0, ">": 0}
        for side in gone:  # what is over is none of the tenant's any more, and is not counted
            while True:
                with transaction(connection):
                    went = connection.execute(own.format(side), (tenant, over, SLICE)).rowcount
                gone[side] += went
                if went == 0:
                    break
        empty_log(connection)
        return gone[">"]

    def __repr__(self) -> str:
        return f"SQLiteStore({self._path.name!r})"


def room(size: int) -> int:
    """Bytes of pages that a row takes: rows share a page where they fit, and go on in pages of their own.

    So 2,100 bytes take a whole page. The numbers are those of SQLite's file format, for pages of 4,096 bytes.
    """
    size += 45  # the row's head, the tenant and the other columns
    if size <= 4061:
        return 4096 // (4088 // (size + 2))
    here = 489 + (size - 489) % 4092
    here = here if here <= 4061 else 489
    return 4096 // (4088 // (here + 2)) + 4096 * -(-(size - here) // 4092)
