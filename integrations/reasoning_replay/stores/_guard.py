"""How little a call depends on its store: an operation that fails or takes longer than `PATIENCE` is given up.

Operations run on one daemon thread a store, in order, so that whoever waits can stop waiting. A store still busy with
what was given up is not asked; one that fails, or is slow twice running, is left alone, for longer each time up to
`LONGEST_PAUSE`, and then one operation is the trial. What cannot be written may still be read (a full disk): writing
that fails stops writes, reading that fails and slowness stop both.
Told once, by the fault's type alone: what a backend says of itself may hold a path, a password or a text.
A fork takes no thread along: before it the backend lets go of what must not cross, after it the child starts anew.
The one broad `except` outside of `_faults` stands here: a backend may raise anything.
"""

from __future__ import annotations

import logging
import time
import weakref
from _thread import LockType, allocate_lock
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread, get_ident
from typing import Any, TypeVar

from ._base import StoreError
from ._forks import watch

PATIENCE = 0.045
"""Seconds that a call waits for its store: it goes on within 50 ms, and waking up takes some of them."""
HANGS = 0.25
"""Seconds after which one operation that is still not done is worth a warning."""
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
"""Seconds that a store is left alone after the first fault, and after many: one call in five seconds is the trial."""
SILENCE = 600.0
"""Seconds between two warnings of one store, so that one that comes and goes does not fill the log."""
MAX_WAITING = 256
"""Operations in the queue: that many threads wait at once, or the store is no help to any of them."""
WARM = 1.0
"""Seconds that the making of a store waits for its backend."""
BARRIER = 10.0
"""Seconds that a purge waits for what was begun before it."""

_SLOW = "slower than a call waits"
T = TypeVar("T")
_log = logging.getLogger("reasoning_replay")


class _Job:
    """One operation, and whether anybody still waits for it."""

    __slots__ = ("asked", "begun", "do", "done", "error", "given_up", "result")

    def __init__(self, do: Callable[[], Any]) -> None:
        self.do = do
        self.done = allocate_lock()
        self.done.acquire()  # let go by the thread that does it
        self.error: Exception | None = None
        self.result: Any = None
        self.given_up = False
        self.asked = time.monotonic()
        self.begun = False

    def finished(self, running: LockType, patience: float) -> bool:
        """Waits; as long again where the thread got no time to begin anything, which is no fault of the store."""
        if self.done.acquire(timeout=patience):
            return True
        return not self.begun and not running.locked() and self.done.acquire(timeout=patience)


class _Way:
    """Reading or writing: whether it is open, and when it is tried again."""

    __slots__ = ("ill", "pause", "until")

    def __init__(self) -> None:
        self.until = 0.0
        """When a trial is due; 0: all is well."""
        self.pause = FIRST_PAUSE
        self.ill = 0.0
        """When it failed last."""


class Guard:
    """Calls a backend for a store: in time, or not at all."""

    def __init__(
        self, name: Callable[[], str], part: Callable[[], None], anew: Callable[[], None], patience: float | None = None
    ) -> None:
        """`name`: for people; `part` lets go of what must not cross a fork, `anew` leaves it to the parent."""
        self._name, self._part, self._anew = name, part, anew
        self._patience = patience
        self._warned = float("-inf")
        self._closed = False
        self._begin()
        watch(self)

    def _begin(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._running = allocate_lock()
        """Held while the backend is at work."""
        self._held: set[int] = set()
        """Threads that hold it and are about to fork."""
        self._lock = allocate_lock()
        self._ways = (_Way(), _Way())
        self._late: _Job | None = None
        """What was given up last, until it is done."""
        self._slow = 0
        """Operations given up in a row."""
        self._thread: Thread | None = None

    def call(self, do: Callable[[], T], *, writes: bool) -> T | None:
        """What `do` gives; None where it fails, takes too long, or is not tried now."""
        way = self._ways[writes]
        if (way.until != 0.0 or self._late is not None or self._closed) and not self._may(way):
            return None
        if not self._at_work():
            return None
        job = _Job(do)
        if self._jobs.qsize() < MAX_WAITING:
            self._jobs.put(job)
        if not job.finished(self._running, PATIENCE if self._patience is None else self._patience):
            self._give_up(job)
            return None
        if job.error is not None:
            self._stop(self._ways[1:] if writes else self._ways, job.asked, told(job.error))
            return None
        self._slow = 0
        if way.until != 0.0:
            self._resume(way)
        return job.result  # type: ignore[no-any-return]

    def warm(self, do: Callable[[], object]) -> None:
        """Has the backend opened while nobody's call waits for it: that may take longer than a call would."""
        job = _Job(do)
        if self._at_work():
            self._jobs.put(job)
            job.done.acquire(timeout=WARM)

    def later(self, do: Callable[[], object]) -> None:
        """Has something done after what waits; nobody hears how it went."""
        if not self._closed and self._at_work():
            self._jobs.put(_Job(do))

    def barrier(self) -> None:
        """Waits until all that was begun is done or has failed, whoever waits for it.

        Raises:
            StoreError: the store is closed, or does not answer.
        """
        if self._closed:
            raise StoreError(f"{self._name()}: is closed")
        job = _Job(lambda: None)
        if self._at_work():
            self._jobs.put(job)
            if job.done.acquire(timeout=BARRIER):
                return
        raise StoreError(f"{self._name()}: does not answer; nothing was done, try again when it does")

    def close(self) -> None:
        """Ends the thread and lets go of the backend; not waited for longer than for a call where it is stuck."""
        if self._closed:
            return
        self._closed = True
        if self._thread is None:
            self._part()
            return
        last = _Job(self._part)
        self._jobs.put(last)
        self._jobs.put(None)
        last.done.acquire(timeout=1.0)

    def _may(self, way: _Way) -> bool:
        late, now = self._late, time.monotonic()
        if self._closed:
            return False
        if late is not None and late.done.locked():
            if now - late.asked > HANGS:
                self._warn(now, _SLOW)
            return False
        if late is not None:
            self._late = None
            if late.error is not None:
                self._stop(self._ways, now, told(late.error))
        with self._lock:
            if way.until == 0.0 or now < way.until:
                return way.until == 0.0
            way.until = now + way.pause  # this one is the trial, the others go on without
            return True

    def _give_up(self, job: _Job) -> None:
        job.given_up = True
        self._late = job
        self._slow += 1
        if self._slow > 1:  # one may be the machine's fault: a busy one lets a thread wait as long
            self._stop(self._ways, job.asked, _SLOW)

    def _at_work(self) -> bool:
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    thread = Thread(
                        target=_work, args=(self._jobs, self._running), name="reasoning-replay-store", daemon=True
                    )
                    try:
                        thread.start()
                    except RuntimeError:  # the interpreter ends, or the process may have no more threads
                        return False
                    self._thread = thread
                    weakref.finalize(self, self._jobs.put, None).atexit = False
        return True

    def _stop(self, ways: tuple[_Way, ...], asked: float, why: str) -> None:
        now = time.monotonic()
        with self._lock:
            for way in ways:
                if way.ill < asked:  # of many that fail at once, one counts
                    way.ill = now
                    way.until = now + way.pause
                    way.pause = min(2 * way.pause, LONGEST_PAUSE)
        self._warn(now, why)

    def _warn(self, now: float, why: str) -> None:
        with self._lock:
            if now - self._warned < SILENCE:
                return
            self._warned = now
        _log.warning("%s: %s; calls go on without it, and it is tried again by itself", self._name(), why)

    def _resume(self, way: _Way) -> None:
        with self._lock:
            way.until, way.pause = 0.0, FIRST_PAUSE
        _log.info("%s: answers again", self._name())

    def before_fork(self) -> None:
        """Waits for the operation that runs, then has the backend let go."""
        if self._running.acquire(timeout=1.0):
            self._held.add(get_ident())  # threads may fork at once
            self._part()

    def after_fork_in_parent(self) -> None:
        """Goes on."""
        if get_ident() in self._held:
            self._held.remove(get_ident())
            self._running.release()

    def after_fork_in_child(self) -> None:
        """Starts anew: the thread and whoever waited for it are not here, and their locks may be held for ever."""
        self._begin()
        self._anew()


def told(error: Exception) -> str:
    """A fault's name, and nothing that it says."""
    return str(getattr(error, "sqlite_errorname", None) or type(error).__name__)


def _work(jobs: SimpleQueue[_Job | None], running: LockType) -> None:
    while (job := jobs.get()) is not None:
        if not job.given_up:
            job.begun = True
            with running:
                try:
                    job.result = job.do()
                except Exception as error:  # noqa: BLE001 - a backend may raise anything, and no call may fail of it
                    job.error = error
        job.done.release()
        del job  # or it would hold the store for as long as nothing comes
