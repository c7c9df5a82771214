"""A store that is down or slow: the call goes on without it, one warning says so, and it comes back by itself."""

from __future__ import annotations

import gc
import logging
import threading
import time
from itertools import pairwise

import pytest

from reasoning_replay import Origin
from reasoning_replay.stores import Bounds, Store, StoreError, _guard


class Backend(Store):
    """A backend that does as it is told: answers, raises, or hangs until it is let go."""

    def __init__(self):
        super().__init__(Bounds(10, 10_000, 100_000, None))
        self.table = {}
        self.asked = []
        self.fault = None
        self.go = threading.Event()
        self.go.set()

    def _do(self, what):
        self.asked.append(what)
        assert self.go.wait(30)
        if self.fault is not None and (self.fault[0] in (what, "all")):
            raise self.fault[1]

    def _add(self, tenant, items):
        self._do("add")
        self.table.update({(tenant, key): value for key, value in items})

    def _get(self, tenant, keys):
        self._do("get")
        return {key: (self.table[tenant, key],) for key in keys if (tenant, key) in self.table}

    def purge(self, tenant):
        self._guard.barrier()
        return 0

    def __repr__(self):
        return "Backend"


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.setattr(_guard, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(_guard, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(_guard, "PATIENCE", 5.0)  # a busy machine is slow too: tests of slowness say how long they wait
    backend = Backend()
    yield backend
    backend.fault = None
    backend.go.set()
    backend.close()


@pytest.fixture
def hurried(backend, monkeypatch):
    monkeypatch.setattr(_guard, "PATIENCE", 0.02)
    monkeypatch.setattr(_guard, "HANGS", 0.04)


def works(backend):
    backend.add([(b"w", b"x")])
    return backend.get([b"w"]) == {b"w": (b"x",)}


def eventually(holds):
    end = time.monotonic() + 20
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.005)
    return held


@pytest.mark.parametrize("error", [OSError("CANARY-1; path"), ValueError("CANARY-1;"), MemoryError(), RecursionError()])
def test_whatever_a_backend_raises_no_call_fails_of_it(backend, error):
    assert works(backend)
    backend.fault = "all", error
    backend.note(b"d", Origin("a.example"))
    assert ({}, frozenset()) == (backend.get([b"w"]), backend.origins(b"d"))
    backend.fault = None
    assert eventually(lambda: works(backend))


def test_one_warning_names_the_store_and_the_kind_of_fault_and_nothing_that_it_says(backend, caplog):
    caplog.set_level(logging.INFO, "reasoning_replay")
    backend.fault = "all", ConnectionError("redis://:PASSWORD@h CANARY-2;")
    for _ in range(50):
        backend.of("TENANT-2").get([b"r"])
        backend.of("TENANT-2").add([(b"r", b"CANARY-2;")])
        time.sleep(0.002)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert ["Backend: ConnectionError; calls go on without it, and it is tried again by itself"] == [
        record.getMessage() for record in warnings
    ]
    assert [None] == [record.exc_info for record in warnings]
    backend.fault = None
    assert eventually(lambda: works(backend))
    assert "Backend: answers again" in caplog.messages
    assert all(word not in caplog.text for word in ("PASSWORD", "CANARY", "TENANT"))


def test_a_store_that_comes_and_goes_does_not_fill_the_log(backend, caplog):
    for _ in range(4):
        backend.fault = "all", OSError()
        backend.get([b"r"])
        backend.fault = None
        assert eventually(lambda: works(backend))
    assert 1 == len([record for record in caplog.records if record.levelno == logging.WARNING])


def test_a_store_that_fails_is_left_alone_for_longer_each_time(monkeypatch):
    monkeypatch.setattr(_guard, "PATIENCE", 5.0)
    now = [100.0]
    monkeypatch.setattr(_guard, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    backend = Backend()
    backend.fault = "all", OSError()
    trials = []
    for _ in range(300):
        now[0] += 0.1
        before = len(backend.asked)
        backend.get([b"r"])
        trials += [round(now[0] - 100, 1)] * (len(backend.asked) - before)
    pauses = [round(later - sooner, 1) for sooner, later in pairwise(trials)]
    assert [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0] == pytest.approx(pauses[:8], abs=0.15)
    backend.fault = None
    now[0] += 5.1
    assert works(backend)
    assert works(backend)
    backend.close()


def test_of_many_that_fail_at_once_one_counts(backend):
    backend.fault = "all", OSError()
    backend.go.clear()
    threads = [threading.Thread(target=backend.get, args=([b"r"],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: backend._guard._jobs.qsize() == 7)
    backend.go.set()
    for thread in threads:
        thread.join(20)
    assert [2 * _guard.FIRST_PAUSE] * 2 == [way.pause for way in backend._guard._ways]


def test_what_cannot_be_written_may_still_be_read(backend):
    assert works(backend)
    backend.fault = "add", OSError("no space left")
    backend.add([(b"r", b"x")])
    asked = len(backend.asked)
    backend.add([(b"r", b"x")])
    assert asked == len(backend.asked)
    assert {b"w": (b"x",)} == backend.get([b"w"])
    backend.fault = None
    assert eventually(lambda: works(backend))


@pytest.mark.usefixtures("hurried")
def test_a_store_that_hangs_is_asked_once_and_whoever_comes_after_does_not_wait(backend, caplog):
    backend.go.clear()
    assert {} == backend.get([b"r"])
    for _ in range(100):
        assert {} == backend.get([b"r"])
        backend.add([(b"r", b"x")])
        time.sleep(0.001)
    assert ["get"] == backend.asked
    assert backend._guard._jobs.empty()  # nobody even stood in line
    assert [
        "Backend: slower than a call waits; calls go on without it, and it is tried again by itself"
    ] == caplog.messages
    backend.go.set()
    assert eventually(lambda: works(backend))


@pytest.mark.usefixtures("hurried")
def test_many_threads_that_meet_a_store_that_hangs_all_go_on(backend):
    backend.go.clear()
    found = []
    threads = [threading.Thread(target=lambda: found.append(backend.get([b"r"]))) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [{}] * 40 == found
    backend.go.set()
    assert eventually(lambda: works(backend))


@pytest.mark.usefixtures("hurried")
def test_one_slow_answer_is_no_outage_and_a_late_write_still_counts(backend, monkeypatch, caplog):
    monkeypatch.setattr(_guard, "HANGS", 20.0)
    backend.go.clear()
    backend.add([(b"r", b"late")])
    backend.go.set()
    assert eventually(lambda: backend.get([b"r"]) == {b"r": (b"late",)})
    assert [] == [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.usefixtures("hurried")
def test_what_was_given_up_before_it_began_is_not_done_later(backend):
    backend.go.clear()
    assert {} == backend.get([b"r"])
    backend._guard._late = None  # as if several had come at once
    backend.add([(b"r", b"x")])
    backend.go.set()
    assert eventually(lambda: works(backend))
    assert 2 == backend.asked.count("get")
    assert (("", b"r") in backend.table) is False


@pytest.mark.usefixtures("hurried")
def test_an_error_that_comes_late_counts_as_one(backend):
    backend.go.clear()
    backend.get([b"r"])
    backend.fault = "all", OSError()
    late = backend._guard._late
    backend.go.set()
    assert eventually(lambda: not late.done.locked())
    asked = len(backend.asked)
    assert {} == backend.get([b"r"])
    assert asked == len(backend.asked)


def test_a_purge_that_cannot_be_done_says_so(backend, monkeypatch):
    monkeypatch.setattr(_guard, "BARRIER", 0.02)
    monkeypatch.setattr(_guard, "PATIENCE", 0.02)
    backend.go.clear()
    backend.get([b"r"])
    with pytest.raises(StoreError, match="Backend: does not answer; nothing was done, try again when it does"):
        backend.purge("t")
    backend.go.set()
    monkeypatch.setattr(_guard, "BARRIER", 20.0)
    assert 0 == backend.purge("t")


def test_a_store_that_nobody_holds_any_more_takes_its_thread_along():
    backend = Backend()
    backend.add([(b"r", b"x")])
    thread = backend._guard._thread
    assert thread.daemon
    del backend
    assert eventually(lambda: gc.collect() is not None and not thread.is_alive())


def test_without_a_thread_to_be_had_the_call_goes_on(backend, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert {} == backend.get([b"r"])
    with pytest.raises(StoreError, match="does not answer"):
        backend.purge("t")
    monkeypatch.undo()
    assert eventually(lambda: works(backend))
