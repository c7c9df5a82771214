"""The store in Redis: down, frozen, restarted, without memory; what it counts, what it leaves, and what it never says."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from reasoning_replay.stores import RedisStore, StoreError, _guard, _redis
from redis_server import RedisServer, needs_redis_server, redis_server  # noqa: F401 - a fixture

pytestmark = needs_redis_server


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(_guard, "PATIENCE", 20.0)


@pytest.fixture
def own():
    """A server of this test alone, which may die."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(redis_server):  # noqa: F811
    with RedisStore(redis_server.url, ttl=None) as store:
        store._client.flushall()
        yield store


def eventually(holds):
    end = time.monotonic() + 20
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.01)
    return held


def works(store):
    store.add([(b"w", b"x")])
    return store.get([b"w"]) == {b"w": (b"x",)}


def test_a_get_of_many_keys_and_an_add_of_many_items_are_one_round_trip_each(store):
    def commands():
        stats = store._client.info("commandstats")
        return {name: each["calls"] for name, each in stats.items() if name in {"cmdstat_evalsha", "cmdstat_eval"}}

    assert works(store)
    before = commands()
    store.of("t").add([(b"r%d" % number, b"x") for number in range(300)])
    assert 300 == len(store.of("t").get([b"r%d" % number for number in range(400)]))
    assert {name: calls + 2 for name, calls in before.items()} == commands()


def counted(store):
    """Items and bytes by the store's own books, and the items that are there."""
    client = store._client
    items = list(client.keys(b"rr1:*"))
    sizes = client.hgetall(_redis.SIZES)
    total = int(sizes.pop(b"", 0))
    assert total == sum(map(int, sizes.values()))
    assert set(sizes) == set(client.zrange(_redis.RECENT, 0, -1))
    return len(sizes), total, len(items)


def test_the_books_are_right_after_any_change(store):
    store.of("t").add([(b"r1", b"x" * 100), (b"r2", b"y"), (b"r1", b"z")])
    one = _redis.OVERHEAD + 2
    assert (2, 2 * one + 137 + 7, 2) == counted(store)  # a quarter more than 109 and 5 bytes
    store.of("u").add([(b"r1", b"x")])
    assert 2 == store.purge("t")
    assert (1, one + 7, 1) == counted(store)
    assert 1 == store.purge("u")
    assert (0, 0, 0) == counted(store)


def test_what_redis_let_expire_is_forgotten_by_the_books(redis_server):  # noqa: F811
    with RedisStore(redis_server.url, ttl=0.05) as short, RedisStore(redis_server.url, ttl=100) as long:
        short._client.flushall()
        short.add([(b"r%d" % number, b"x") for number in range(8)])
        long.add([(b"stays", b"x")])  # so that the books outlive what is in them
        assert eventually(lambda: not short.get([b"r%d" % number for number in range(8)]))
        for number in range(3):
            long.add([(b"later%d" % number, b"x")])
        assert (4, 4) == (counted(long)[0], counted(long)[2])
        assert 0 < long._client.pttl(_redis.SIZES) <= 100_000


def test_without_any_write_nothing_at_all_is_left_after_the_ttl(redis_server):  # noqa: F811
    with RedisStore(redis_server.url, ttl=0.05) as store:
        store._client.flushall()
        store.of("t").add([(b"r", b"x")])
        assert eventually(lambda: store._client.dbsize() == 0)


def test_a_purge_takes_what_the_books_have_lost_and_leaves_what_is_not_ours(store):
    store.of("t").add([(b"r%d" % number, b"x") for number in range(700)])
    store._client.set("theirs", "x")
    store._client.delete(_redis.RECENT, _redis.SIZES)
    store.of("t").add([(b"more", b"x")])
    assert 701 == store.purge("t")
    assert (0, 0, 0) == counted(store)
    assert b"x" == store._client.get("theirs")


def test_no_tenant_stands_in_redis(store):
    store.of("TENANT-7").add([(b"r", b"x")])
    assert [] == [key for key in store._client.keys("*") if b"TENANT" in key]


def test_stopped_and_started_under_load_no_call_fails_and_it_comes_back(own, monkeypatch, caplog):
    monkeypatch.setattr(_guard, "LONGEST_PAUSE", 0.2)
    over, wrong = threading.Event(), []

    def load(number):
        shelf = store.of(f"t{number}")
        while not over.is_set():
            shelf.add([(b"r", b"%d" % number)])
            wrong.extend(values for values in shelf.get([b"r"]).values() if values != (b"%d" % number,))

    with RedisStore(own.url) as store, ThreadPoolExecutor(6) as pool:
        running = [pool.submit(load, number) for number in range(6)]
        try:
            for _ in range(2):
                assert eventually(lambda: works(store))
                own.stop()
                assert eventually(lambda: store.get([b"w"]) == {})
                own.start()
            assert eventually(lambda: works(store))
        finally:
            over.set()
        assert [None] * 6 == [each.result() for each in running]
        assert [] == wrong
        assert 1 == len([record for record in caplog.records if record.levelname == "WARNING"])
        assert eventually(lambda: works(store.of("t0")))


def test_frozen_it_is_asked_a_few_times_and_comes_back(own, monkeypatch, caplog):
    monkeypatch.setattr(_redis, "ANSWER", 0.2)
    asked = []
    with RedisStore(own.url) as store:
        assert works(store)
        script = store._get_script
        store._get_script = lambda **given: asked.append(1) or script(**given)
        monkeypatch.setattr(_guard, "PATIENCE", 0.045)
        own.freeze()
        for _ in range(500):
            assert {} == store.get([b"w"])
            store.add([(b"r", b"x")])
            time.sleep(0.001)
        own.thaw()
        assert len(asked) < 10
        monkeypatch.setattr(_guard, "PATIENCE", 20.0)
        assert eventually(lambda: works(store))
        assert 1 == len([record for record in caplog.records if record.levelname == "WARNING"])


def test_one_that_is_not_there_when_the_store_is_made_is_no_error(own):
    own.stop()
    with RedisStore(own.url) as store:
        assert {} == store.get([b"r"])
        with pytest.raises(StoreError, match=r"purge: ConnectionError; what is left goes when it is called again"):
            store.purge("t")
        own.start()
        assert eventually(lambda: works(store))


def test_a_server_that_forgot_the_scripts_is_told_them_again(store):
    assert works(store)
    store._client.script_flush()
    assert works(store)


def test_a_connection_that_redis_closed_is_opened_again_and_nobody_hears_of_it(store, redis_server, caplog):  # noqa: F811
    assert works(store)
    with redis.Redis.from_url(redis_server.url) as other:
        other.execute_command("CLIENT", "KILL", "TYPE", "normal")
    assert works(store)
    assert [] == [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_without_memory_it_is_still_read_and_no_call_fails(own, caplog):
    with RedisStore(own.url) as store:
        store.of("t").add([(b"r", b"x")])
        store._client.config_set("maxmemory-policy", "noeviction")
        store._client.config_set("maxmemory", 1)
        store.of("t").add([(b"r2", b"x")])
        assert {b"r": (b"x",)} == store.of("t").get([b"r", b"r2"])
        assert ["OutOfMemoryError"] == [
            record.getMessage().split(": ")[1].split(";")[0]
            for record in caplog.records
            if record.levelname == "WARNING"
        ]


def test_the_password_of_a_url_is_never_shown(caplog):
    with RedisServer("--requirepass", "PASSWORD-7") as server:
        place = f"127.0.0.1:{server.port}"
        with RedisStore(f"redis://:PASSWORD-7@{place}/3") as store:
            assert works(store)
            assert f"RedisStore('redis://{place}')" == repr(store)
        with RedisStore(f"redis://USER-7:WRONG-7@{place}/3?client_name=SECRET-7") as store:
            assert not works(store)
            with pytest.raises(StoreError) as error:
                store.purge("TENANT-7")
        shown = caplog.text + str(error.value) + repr(error.value)
        assert "AuthenticationError" in shown
        assert [] == [word for word in ("PASSWORD-7", "USER-7", "WRONG-7", "SECRET-7", "TENANT-7") if word in shown]


@pytest.mark.parametrize(
    "url",
    ["", "h:6379", "http://:SECRET-7@h", "redis://:SECRET-7@h:port", "redis://", "redis://:SEC[RET-7@h", None, 7, b"redis://h",
     "redis://:SECRET-7@h/0?socket_timeout=SECRET-7"],
)  # fmt: skip
def test_a_url_that_cannot_be_read_is_refused_without_its_text(url):
    with pytest.raises(StoreError, match=r"RedisStore\(url\): cannot be read; allowed: redis://") as error:
        RedisStore(url)
    assert "SECRET-7" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_without_the_package_the_error_says_what_to_install():
    code = """
import sys
sys.modules["redis"] = None
from reasoning_replay.stores import RedisStore
try:
    RedisStore("redis://127.0.0.1:1")
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "RedisStore needs redis: pip install 'reasoning-replay[redis]'\n" == out
