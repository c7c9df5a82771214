"""What a store costs: a look-up in a big table beside one in a small table, bytes an item, the store in memory beside a dict.

python tests/benchmarks/bench_store.py [--check] [--items 1000000] [--stores memory sqlite redis]
Look-ups go through the guard, as a call's do; a round asks the small and the big table in turn, so that noise meets both.
Redis is a redis-server of the benchmark's own on a free port; without the binary its rows are left out, and said so.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections import OrderedDict
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

sys.path.insert(0, str(Path(__file__).parent.parent))

from reasoning_replay import Origin
from reasoning_replay.stores import MemoryStore, RedisStore, SQLiteStore, _guard, _redis
from reasoning_replay.stores._base import ORIGINS_KEY, mark_value
from reasoning_replay.stores._sqlite_file import empty_log
from redis_server import BINARY, RedisServer

SMALL = 1000
ROOM = {"max_items": 10**8, "max_bytes": 10**12}
ORIGIN = Origin("api.deepseek.com", model="deepseek-v4-pro")
KEYS_OF_A_REQUEST = 100

# What is held today, and `--check` asserts. A look-up of one key and of a hundred, times that in a table of 1,000 items.
LOOK_UP = {"memory": 4.0, "sqlite": 4.0, "redis": 3.0}
# What an item really takes, of what the bounds count for it: more would break `max_bytes`, less waste it.
COUNTED = (0.7, 1.15)
# The store in memory, times what `known` was before there were stores beside it; times a bare dict it is told.
HOT = {"note, new": 1.3, "note, again": 1.3, "origins": 1.3}


class Before:
    """`known` as it was on 2026-11-30: nothing but digests and origins."""

    def __init__(self) -> None:
        self._items: OrderedDict[bytes, frozenset[Origin]] = OrderedDict()
        self._lock = Lock()

    def note(self, digest: bytes, origin: Origin) -> None:
        with self._lock:
            known = self._items.pop(digest, frozenset())
            if origin not in known and len(known) < 8:
                known |= {origin}
            self._items[digest] = known
            if len(self._items) > 65_536:
                self._items.popitem(last=False)

    def origins(self, digest: bytes) -> frozenset[Origin]:
        with self._lock:
            found = self._items.get(digest)
            if found is None:
                return frozenset()
            self._items.move_to_end(digest)
            return found


def key(number: int) -> bytes:
    return ORIGINS_KEY + hashlib.blake2b(b"%d" % number, digest_size=16).digest()


def fill(store, count: int) -> None:
    value = mark_value(ORIGIN)
    for start in range(0, count, SMALL):
        store._add("t", [(key(number), value) for number in range(start, min(start + SMALL, count))])


class Backends:
    """New, empty stores of every kind that is to be had here."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._server = stack.enter_context(RedisServer()) if BINARY is not None else None
        self._numbers = iter(range(16))
        self.kinds = ["memory", "sqlite", *(["redis"] if BINARY is not None else [])]

    def new(self, kind: str):
        if kind == "memory":
            store = MemoryStore(**ROOM)
        elif kind == "sqlite":
            store = SQLiteStore(Path(self._stack.enter_context(tempfile.TemporaryDirectory()), "s.db"), **ROOM)
        else:
            store = RedisStore(f"{self._server.url.removesuffix('/0')}/{next(self._numbers)}", **ROOM)
        return self._stack.enter_context(store)

    def size(self, kind: str, store) -> int:
        """Bytes that everything in the backend takes."""
        gc.collect()
        if kind == "memory":
            return tracemalloc.get_traced_memory()[0]
        if kind == "sqlite":
            store._on_file(empty_log)
            return store._path.stat().st_size
        return store._client.info("memory")["used_memory"]


def counted(kind: str, store) -> int:
    """Bytes of everything by the store's own books."""
    if kind == "memory":
        return store._bytes
    if kind == "sqlite":
        return store._on_file(lambda file: file.execute("SELECT bytes FROM total").fetchone()[0])
    return int(store._client.hget(_redis.SIZES, ""))


def bytes_an_item(backends: Backends, kind: str, size: int, count: int) -> tuple[float, float]:
    """What an item with one value of this size takes, and what the bounds count for it."""
    tracemalloc.start()
    store = backends.new(kind)
    before = backends.size(kind, store)
    for start in range(0, count, SMALL):
        store._add("t", [(key(number), b"%08d" % number + b"x" * (size - 8)) for number in range(start, start + SMALL)])
    taken = backends.size(kind, store) - before
    tracemalloc.stop()
    books = counted(kind, store)
    store.close()
    return taken / count, books / count


def look_ups(small, big, count: int, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds of look-ups in both tables: of one key, and of a request's."""
    dice = random.Random(7)
    spent: dict[str, tuple[list[float], list[float]]] = {}
    for name, width in (("1 key", 1), (f"{KEYS_OF_A_REQUEST} keys", KEYS_OF_A_REQUEST)):
        both: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for store, most, times in ((small, SMALL, both[0]), (big, count, both[1])):
                keys = [key(number) for number in dice.sample(range(most), width)]
                start = time.perf_counter()
                found = store.of("t").get(keys)
                times.append(time.perf_counter() - start)
                assert len(found) == width
        spent[name] = both
    return spent


def low(times: list[float]) -> float:
    """One of ten is as quick: what a busy machine leaves of a figure."""
    return statistics.quantiles(times, n=10)[0]


def hot(seconds: float) -> dict[str, list[float]]:
    """Best seconds an operation: of a bare dict, of what was there before, of MemoryStore."""
    digests = [key(number)[1:] for number in range(5000)]
    best: dict[str, list[float]] = {name: [1.0, 1.0, 1.0] for name in HOT}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        table: dict[bytes, Origin] = {}
        before, now = Before(), MemoryStore()
        for name in HOT:
            if name == "origins":
                calls = (table.get, before.origins, now.origins)
            else:
                calls = (
                    lambda digest, table=table: table.__setitem__(digest, ORIGIN),
                    lambda digest, before=before: before.note(digest, ORIGIN),
                    lambda digest, now=now: now.note(digest, ORIGIN),
                )
            for at, call in enumerate(calls):
                start = time.perf_counter()
                for digest in digests:
                    call(digest)
                best[name][at] = min(best[name][at], (time.perf_counter() - start) / len(digests))
    return best


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit 1 when a figure is worse than held")
    options.add_argument("--items", type=int, default=1_000_000, help="in the big table")
    options.add_argument("--rounds", type=int, default=1000)
    options.add_argument("--seconds", type=float, default=3.0, help="for the store in memory beside a dict")
    options.add_argument("--stores", nargs="+", default=["memory", "sqlite", "redis"])
    asked = options.parse_args()
    _guard.PATIENCE = 60.0  # figures of what was given up would be none
    worse: list[str] = []

    def told(line: str, figure: float, held: float) -> None:
        print(line)
        worse.extend([f"worse than held ({held}): {line}"] * (figure > held))

    for name, (table, before, now) in hot(asked.seconds).items():
        line = f"memory  {name:<12} {now * 1e9:>6.0f} ns: {now / table:.1f} x a dict, {now / before:.2f} x before"
        told(line, now / before, HOT[name])
    with ExitStack() as stack:
        backends = Backends(stack)
        print(
            *(f"{kind}: left out, no redis-server here" for kind in asked.stores if kind not in backends.kinds),
            sep="\n",
        )
        for kind in (kind for kind in backends.kinds if kind in asked.stores):
            for size, count in (
                (len(mark_value(ORIGIN)), 50_000),
                (700, 20_000),
                (2100, 10_000),
                (3900, 10_000),
                (12_000, 3000),
            ):
                taken, books = bytes_an_item(backends, kind, size, count)
                line = f"{kind:<7} {taken:>7.0f} bytes an item with a value of {size:>6,} ({books:.0f} by the books)"
                told(line, taken / books, COUNTED[1])
                worse.extend([f"counts for more than there is: {line}"] * (taken / books < COUNTED[0]))
            small, big = backends.new(kind), backends.new(kind)
            fill(small, SMALL)
            start = time.perf_counter()
            fill(big, asked.items)
            print(
                f"{kind:<7} filled with {asked.items:,} items: {(time.perf_counter() - start) / asked.items * 1e6:.1f} µs each"
            )
            for store in (small, big):
                backends.size(kind, store)  # SQLite's log is written back
            for name, (little, much) in look_ups(small, big, asked.items, asked.rounds).items():
                ratio = low(much) / low(little)
                told(
                    f"{kind:<7} look-up of {name:<9} {low(much) * 1e6:>6.0f} µs (median {statistics.median(much) * 1e6:.0f}, "
                    f"of 100 the slowest {statistics.quantiles(much, n=100)[98] * 1e6:.0f}); "
                    f"{ratio:.2f} x that at {SMALL:,} items",
                    ratio,
                    LOOK_UP[kind],
                )
            for store in (small, big):
                store.close()
    print(*worse, sep="\n")
    return 1 if worse and asked.check else 0


if __name__ == "__main__":
    sys.exit(main())
