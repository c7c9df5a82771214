"""What every store does, whatever it is kept in: one contract, asked of memory, SQLite and a real Redis."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from reasoning_replay import Origin
from reasoning_replay.stores import MemoryStore, RedisStore, SQLiteStore, StoreError, _guard
from reasoning_replay.stores._base import MAX_VALUES, ORIGINS_KEY, mark_value
from redis_server import needs_redis_server, redis_server  # noqa: F401 - a fixture

HERE, THERE = Origin("a.example", model="m"), Origin("b.example")
KINDS = ["memory", "sqlite", pytest.param("redis", marks=needs_redis_server)]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """What is asked here is what a store holds; how long anybody waits for it is the guard's (test_stores_guard)."""
    monkeypatch.setattr(_guard, "PATIENCE", 20.0)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def make(kind, tmp_path, request):
    """A new, empty store of the kind, with these bounds; made again, it is the same table where it outlives a store."""
    made = []

    def maker(**bounds):
        if kind == "redis":
            store = RedisStore(request.getfixturevalue("redis_server").url, **bounds)
            if not made:
                store._client.flushall()
        else:
            store = MemoryStore(**bounds) if kind == "memory" else SQLiteStore(tmp_path / "store.db", **bounds)
        made.append(store)
        return store

    yield maker
    for store in made:
        store.close()


def eventually(holds, seconds=20.0):
    """Whether it comes to hold; how soon is not asked."""
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.01)
    return held


def test_what_was_added_comes_back_and_nothing_else(make):
    shelf = make().of("t")
    shelf.add([(b"r1", b"one"), (b"r2", b"two"), (b"r1", b"more")])
    assert {b"r1": [b"one", b"more"], b"r2": [b"two"]} == lists(shelf.get([b"r1", b"r3", b"r2", b"r1"]))
    assert {} == shelf.get([b"r3"]) == shelf.get([])


def lists(found):
    return {key: list(values) for key, values in found.items()}


def test_keys_and_values_are_any_bytes(make):
    shelf = make().of("t")
    pairs = [(b"r\0\xff\n", bytes(range(256))), (b"", b""), (b"r:*?[]\\", b"\0" * 5000), (b"r", b"\xff\xfe")]
    shelf.add(pairs)
    assert {key: [value] for key, value in pairs} == lists(shelf.get([key for key, _ in pairs]))


def test_a_value_that_is_added_again_is_kept_once_and_is_the_newest(make):
    shelf = make().of("t")
    for value in (b"one", b"two", b"one"):
        shelf.add([(b"r", value)])
    assert {b"r": [b"two", b"one"]} == lists(shelf.get([b"r"]))


def test_of_a_reply_the_newest_eight_are_kept(make):
    shelf = make().of("t")
    for number in range(MAX_VALUES + 3):
        shelf.add([(b"r", b"%d" % number)])
    assert {b"r": [b"%d" % number for number in range(3, MAX_VALUES + 3)]} == lists(shelf.get([b"r"]))


def test_of_origins_the_first_eight_stay_since_words_from_more_hosts_are_no_evidence(make):
    store = make()
    hosts = [Origin(f"h{number}.example") for number in range(MAX_VALUES + 3)]
    for shelf in (store, store.of("t")):
        for origin in hosts:
            shelf.note(b"digest", origin)
        assert set(hosts[:MAX_VALUES]) == set(shelf.origins(b"digest"))


def test_origins_and_replies_lie_in_one_table(make):
    store = make()
    for shelf in (store, store.of("t"), store.of("")):
        shelf.note(b"d", HERE)
        shelf.add([(ORIGINS_KEY + b"d", mark_value(THERE)), (ORIGINS_KEY + b"e", b"no mark at all")])
        assert {HERE, THERE} == shelf.origins(b"d")
        assert frozenset() == shelf.origins(b"e") == shelf.origins(b"f")
        assert [mark_value(HERE), mark_value(THERE)] == list(shelf.get([ORIGINS_KEY + b"d"])[ORIGINS_KEY + b"d"])
    assert 2 == store.purge("") == store.purge("t")


def test_the_store_itself_is_the_shelf_of_an_app_without_tenants(make):
    store = make()
    store.add([(b"r", b"x")])
    store.note(b"d", HERE)
    nobody = store.of("")
    assert {b"r": [b"x"]} == lists(nobody.get([b"r"])) == lists(store.get([b"r"]))
    assert {HERE} == nobody.origins(b"d") == store.origins(b"d")
    assert ("", None, "", "s") == (store.tenant, store.session, nobody.tenant, store.of("", session="s").session)


NASTY = [
    "", "a", "b", "a:", ":a", "a:b", "a:b:c", "b:c", ":", "::", "\0", "a\0", "a\0b", "\0a", " ", "a ", "A", "ä", "a\u0308",
    "\uff41", "\ud800", "*", "a*", "?", "[a]", "\\", "o", "r", "rr1#sizes", "rr1:", "0", "None", "'; DROP TABLE items; --",
    "a" * 10_000, "a" * 10_001, "🦀",
]  # fmt: skip
BRIDGES = [b"k", b":k", b"b:k", b"\0k", b"b\0k", b"ok", b"o", b"", b"a:k"]


def test_tenants_never_cross_whatever_they_are_called(make):
    store = make()
    for number, name in enumerate(NASTY):
        store.of(name).add([(key, b"%d" % number) for key in BRIDGES])
        store.of(name).note(b"digest", Origin(f"h{number}.example"))
    for number, name in enumerate(NASTY):
        assert {key: [b"%d" % number] for key in BRIDGES} == lists(store.of(name).get(BRIDGES)), name
        assert {Origin(f"h{number}.example")} == store.of(name).origins(b"digest"), name
    gone = NASTY[::2]
    assert [len(BRIDGES) + 1] * len(gone) == [store.purge(name) for name in gone]
    assert [len(BRIDGES) * (name not in gone) for name in NASTY] == [len(store.of(name).get(BRIDGES)) for name in NASTY]


def test_a_purge_takes_everything_of_one_tenant_and_says_how_much(make):
    store = make()
    for name in ("t", "u"):
        store.of(name).add([(b"r%d" % number, b"x") for number in range(1200)])
    assert 1200 == store.purge("t")
    assert 0 == store.purge("t") == store.purge("nobody")
    assert {} == store.of("t").get([b"r%d" % number for number in range(1200)])
    assert 1200 == len(store.of("u").get([b"r%d" % number for number in range(1200)]))


def test_what_was_used_for_longest_ago_goes_first(make):
    shelf = make(max_items=3).of("t")
    for key in (b"r1", b"r2", b"r3"):
        shelf.add([(key, b"x")])
    shelf.get([b"r1"])
    shelf.add([(b"r2", b"x")])
    shelf.add([(b"r4", b"x")])
    assert {b"r1", b"r2", b"r4"} == set(shelf.get([b"r1", b"r2", b"r3", b"r4"]))


def test_the_items_of_one_add_were_used_in_their_order(make):
    shelf = make(max_items=3).of("t")
    shelf.add([(b"r1", b"x")])
    shelf.add([(b"r2", b"x"), (b"r3", b"x"), (b"r1", b"x")])
    shelf.add([(b"r4", b"x"), (b"r5", b"x")])
    assert {b"r1", b"r4", b"r5"} == set(shelf.get([b"r1", b"r2", b"r3", b"r4", b"r5"]))


def test_the_bound_of_items_is_over_all_tenants(make):
    store = make(max_items=5)
    for number in range(9):
        store.of(f"t{number}").add([(b"r", b"x")])
    assert 5 == sum(len(store.of(f"t{number}").get([b"r"])) for number in range(9))


def test_bytes_are_bounded_in_all_and_the_newest_stay(make):
    shelf = make(max_bytes_per_item=10_000, max_bytes=50_000).of("t")
    keys = [b"r%d" % number for number in range(20)]
    for key in keys:
        shelf.add([(key, b"x" * 9000)])
    kept = set(shelf.get(keys))
    assert set(keys[-len(kept) :]) == kept
    assert 4 <= len(kept) <= 5


def test_one_key_is_not_beyond_the_bound_either(make):
    shelf = make(max_bytes_per_item=10_000, max_bytes=20_000).of("t")
    for number in range(MAX_VALUES):
        shelf.add([(b"r", b"%d" % number * 9000)])
    assert sum(map(len, shelf.get([b"r"]).get(b"r", ()))) < 20_000


def test_what_is_too_long_is_not_kept_and_what_came_with_it_is(make):
    store = make(max_bytes_per_item=50)
    store.of("t").add([(b"r1", b"x" * 49), (b"r2", b"x" * 48), (b"r3", b"x")])
    assert {b"r2", b"r3"} == set(store.of("t").get([b"r1", b"r2", b"r3"]))
    for shelf in (store, store.of("t")):
        shelf.note(b"d", Origin("a" * 60 + ".example"))
        assert frozenset() == shelf.origins(b"d")


def test_an_item_is_over_some_time_after_its_last_write(make, kind):
    store = make(ttl=10.0) if kind != "redis" else make(ttl=0.3)
    shelf = store.of("t")
    if kind == "redis":  # its own clock
        shelf.add([(b"r", b"x")])
        shelf.note(b"d", HERE)
        assert eventually(lambda: not shelf.get([b"r"]) and not shelf.origins(b"d"))
    else:
        now = [1_000_000.0]
        store._clock = lambda: int(now[0] * 1e6) if kind == "sqlite" else now[0]
        for each in (shelf, store):
            each.add([(b"r", b"x"), (b"r2", b"x")])
            each.note(b"d", HERE)
        now[0] += 6
        shelf.add([(b"r2", b"x")])
        assert {b"r", b"r2"} == set(shelf.get([b"r", b"r2"]))  # a look does not make it stay
        now[0] += 6
        assert {b"r2": [b"x"]} == lists(shelf.get([b"r", b"r2"]))
        assert frozenset() == shelf.origins(b"d") == store.origins(b"d")
    shelf.add([(b"r", b"y")])
    assert {b"r": [b"y"]} == lists(shelf.get([b"r"]))


def test_without_a_ttl_items_stay(make):
    shelf = make(ttl=None).of("t")
    shelf.add([(b"r", b"x")])
    assert {b"r": [b"x"]} == lists(shelf.get([b"r"]))


def test_what_is_over_is_in_nobodys_way_and_no_purge_counts_it(make):
    store = make(ttl=0.05, max_items=3)
    store.of("t").add([(b"r1", b"x"), (b"r2", b"x")])
    assert eventually(lambda: not store.of("t").get([b"r1", b"r2"]))
    assert 0 == store.purge("t")


BAD = [
    ("max_items", 0), ("max_items", -1), ("max_items", 1.5), ("max_items", True), ("max_items", None),
    ("max_bytes_per_item", 0), ("max_bytes_per_item", "1"), ("max_bytes", 0), ("max_bytes", float("inf")),
    ("ttl", 0), ("ttl", -1), ("ttl", float("nan")), ("ttl", float("inf")), ("ttl", "1"), ("ttl", True), ("ttl", 10**12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_an_impossible_bound_is_refused_by_name(make, name, value):
    with pytest.raises(ValueError, match=rf"Store\({name}=.*allowed: "):
        make(**{name: value})


@pytest.mark.parametrize("value", [0, -1, 61, float("nan"), "1", True])
def test_an_impossible_patience_is_refused(make, kind, value):
    if kind != "memory":  # nobody waits for memory
        with pytest.raises(StoreError, match=r"Store\(patience=.*allowed: seconds from 0.001 to 60, or None"):
            make(patience=value)


def test_how_long_a_call_waits_can_be_said(make, kind, monkeypatch):
    monkeypatch.setattr(_guard, "PATIENCE", 0.0)
    if kind != "memory":
        store = make(patience=20)
        store.add([(b"r", b"x")])
        assert {b"r": [b"x"]} == lists(store.get([b"r"]))


def test_an_item_that_no_store_could_hold_is_refused_as_a_bound(make):
    with pytest.raises(StoreError, match=r"max_bytes_per_item=200.*allowed: at most max_bytes=100"):
        make(max_bytes_per_item=200, max_bytes=100)


def test_a_tenant_is_a_string(make):
    store = make()
    for nobody in (None, 1, b"t"):
        with pytest.raises(StoreError, match=r"tenant: a .*; allowed: a string"):
            store.of(nobody)
    with pytest.raises(StoreError, match="session: a int; allowed: a string, or None"):
        store.of("t", session=1)


def test_a_closed_store_has_nothing_and_fails_no_call(make, kind):
    with make() as store:
        shelf = store.of("t")
        shelf.add([(b"r", b"x")])
    store.close()
    assert {} == shelf.get([b"r"])
    if kind != "memory":
        shelf.add([(b"r", b"x")])
        shelf.note(b"d", HERE)
        assert ({}, frozenset()) == (shelf.get([b"r"]), shelf.origins(b"d"))
        with pytest.raises(StoreError, match="is closed"):
            store.purge("t")


def test_nobody_is_named_where_a_store_is_shown(make):
    store = make()
    shelf = store.of("TENANT-7", session="SESSION-7")
    shelf.add([(b"rKEY-7", b"CANARY-7;")])
    for shown in (repr(store), repr(shelf), str(shelf)):
        assert [] == [
            word for word in ("TENANT-7", "SESSION-7", "KEY-7", "CANARY-7", "/") if word in shown.replace("://", "")
        ]
        assert type(store).__name__ in shown


def test_many_keys_are_one_look_up(make):
    shelf = make().of("t")
    keys = [b"r%d" % number for number in range(3000)]
    shelf.add([(key, key) for key in keys])
    assert {key: [key] for key in keys} == lists(shelf.get(keys + keys[:7]))


def test_threads_lose_nothing_to_each_other(make):
    store = make()

    def work(number):
        shelf = store.of(f"t{number % 3}")
        for turn in range(40):
            shelf.add([(b"r%d.%d" % (number, turn), b"%d" % number)])
            store.note(b"%d" % turn, HERE)
            assert {b"r%d.%d" % (number, turn): [b"%d" % number]} == lists(shelf.get([b"r%d.%d" % (number, turn)]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [120, 120, 80, 40] == [store.purge(name) for name in ("t0", "t1", "t2", "")]


OPENED = {
    "sqlite": "SQLiteStore(sys.argv[1])",
    "redis": "RedisStore(sys.argv[1])",
}
HEAD = """
import os, sys, time
from reasoning_replay.stores import RedisStore, SQLiteStore, _guard
_guard.PATIENCE = 20.0
store = {opened}
"""


def script(kind, body):
    return HEAD.format(opened=OPENED[kind]) + textwrap.dedent(body)


def run(kind, place, body):
    return subprocess.Popen(
        [sys.executable, "-c", script(kind, body), str(place)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=120)
    assert (0, "") == (process.returncode, err)
    return out


@pytest.fixture(params=KINDS[1:])
def shared(request, tmp_path):
    """The kind and the place of a store that several processes may open."""
    if request.param == "sqlite":
        return "sqlite", tmp_path / "store.db"
    import redis

    server = request.getfixturevalue("redis_server")
    redis.Redis.from_url(server.url).flushall()
    return "redis", server.url


def test_processes_share_one_store_and_lose_nothing_to_each_other(shared):
    kind, place = shared
    body = """
    for turn in range(60):
        store.of("t").add([(b"r%d.%d" % (os.getpid(), turn), b"x"), (b"rall", b"%d" % os.getpid())])
    print(os.getpid())
    """
    pids = [finished(process).strip() for process in [run(kind, place, body) for _ in range(4)]]
    with SQLiteStore(place) if kind == "sqlite" else RedisStore(place) as store:
        assert sorted(pids) == sorted(value.decode() for value in store.of("t").get([b"rall"])[b"rall"])
        assert 4 * 60 + 1 == store.purge("t")


def test_a_store_may_be_made_before_a_fork_and_used_on_both_sides(shared):
    kind, place = shared
    body = """
    store.of("t").add([(b"r", b"before")])
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            store.of("t").add([(b"r%d" % number, b"child")])
            assert store.of("t").get([b"r"]) == {b"r": (b"before",)}, "the child sees nothing"
            os._exit(0)
        children.append(child)
        store.of("t").add([(b"p%d" % number, b"parent")])
    assert [0] * 3 == [os.waitpid(child, 0)[1] for child in children]
    print(len(store.of("t").get([b"r0", b"r1", b"r2", b"p0", b"p1", b"p2"])), store.purge("t"))
    """
    assert "6 7\n" == finished(run(kind, place, body))


def test_a_fork_while_a_thread_is_at_work_in_memory_does_not_lock_the_child(tmp_path):
    body = """
import os, threading
from reasoning_replay import MemoryStore, Origin
store, over = MemoryStore(), threading.Event()
origin = Origin("a.example")
def work():
    while not over.is_set():
        store.add([(b"r%d" % number, b"x") for number in range(2000)])
threading.Thread(target=work).start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        store.note(b"d", origin)
        os._exit(len(store.origins(b"d")))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
over.set()
print("ok")
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", body]
    assert "ok\n" == subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_store_is_not_loaded_before_it_is_asked_for():
    look = "import sys, reasoning_replay.stores as s; print(sorted({'redis', 'sqlite3', 'queue'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True)
    assert "[]\n" == out.stdout
    assert not hasattr(sys.modules["reasoning_replay.stores"], "FileStore")


class Table(RuleBasedStateMachine):
    """Any run of operations against a plain dict in the order of last use."""

    fresh = None
    MAX_ITEMS = 4
    tenants = st.sampled_from(["", "a", "a:", "\0"])
    keys = st.sampled_from([b"r", b"r:", b"s", b"o1", b"o2"])
    values = st.sampled_from([mark_value(HERE), mark_value(THERE), *(b"%d" % number for number in range(9))])

    @initialize()
    def begin(self):
        self.store = type(self).fresh(max_items=self.MAX_ITEMS)
        self.model: OrderedDict[tuple[str, bytes], list[bytes]] = OrderedDict()

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()

    @rule(tenant=tenants, items=st.lists(st.tuples(keys, values), max_size=3))
    def add(self, tenant, items):
        self.store.of(tenant).add(items)
        for key, value in items:
            values = self.model.setdefault((tenant, key), [])
            self.model.move_to_end((tenant, key))
            if not key.startswith(b"o"):
                values[:] = [*(each for each in values if each != value), value][-MAX_VALUES:]
            elif value not in values and len(values) < MAX_VALUES:
                values.append(value)
        while len(self.model) > self.MAX_ITEMS:
            self.model.popitem(last=False)

    @rule(tenant=tenants, key=keys)
    def get(self, tenant, key):
        expected = self.model.get((tenant, key))
        found = self.store.of(tenant).get([key])
        assert ({} if expected is None else {key: expected}) == lists(found)
        if expected is not None:
            self.model.move_to_end((tenant, key))

    @rule(tenant=tenants, origin=st.sampled_from([HERE, THERE]))
    def note(self, tenant, origin):
        self.store.of(tenant).note(b"1", origin)
        self.add_to_model_alone(tenant, b"o1", mark_value(origin))

    def add_to_model_alone(self, tenant, key, value):
        values = self.model.setdefault((tenant, key), [])
        self.model.move_to_end((tenant, key))
        if value not in values and len(values) < MAX_VALUES:
            values.append(value)
        while len(self.model) > self.MAX_ITEMS:
            self.model.popitem(last=False)

    @rule(tenant=tenants)
    def purge(self, tenant):
        own = [place for place in self.model if place[0] == tenant]
        assert len(own) == self.store.purge(tenant)
        for place in own:
            del self.model[place]


@pytest.mark.parametrize("examples", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_any_run_of_operations_is_as_against_a_plain_dict(make, kind, tmp_path, examples):
    number = iter(range(10**6))

    def fresh(**bounds):
        if kind == "sqlite":
            return SQLiteStore(tmp_path / f"{next(number)}.db", **bounds)
        store = make(**bounds)
        if kind == "redis":
            store._client.flushall()
        return store

    machine = type("Machine", (Table,), {"fresh": staticmethod(fresh)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
