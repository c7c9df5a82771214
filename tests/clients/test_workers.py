"""Several workers, the stores behind them, and what goes wrong with both: Redis away, a worker killed, a disk full."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from clients.load import STEPS, LoadHost, is_right, is_safe, run

pytestmark = pytest.mark.slow
WORKERS = 4
REQUESTS = 600
LEFT_ALONE = 6.0
"""Seconds, a little more than a store that failed is left alone for."""


class Redis:
    """A Redis server of this test's own. Mutable: it stops and starts, and forgets nothing."""

    def __init__(self, folder):
        from proxy_server import free_port

        self.port, self._folder, self._process = free_port(), folder, None

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self):
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self._folder),
            "--save",
            "60 1",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if self._answers():
                return self
            time.sleep(0.05)
        raise RuntimeError("redis-server does not answer")

    def _answers(self):
        import redis

        try:
            with closing(redis.Redis(port=self.port)) as client:
                return client.ping()
        except redis.RedisError:
            return False

    def stop(self):
        """As an operator does: what it holds is saved."""
        self._process.terminate()
        self._process.wait(20)

    def freeze(self):
        """It takes connections and says nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        """It goes on."""
        self._process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = Redis(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.thaw()
    server.stop()


@pytest.fixture(scope="module")
def host():
    with LoadHost(STEPS) as host:
        yield host


@pytest.fixture(scope="module")
def workers(redis, host):
    """Four workers with one Redis."""
    from proxy_server import running_proxy

    more = {"DEEPSEEK_API_BASE": host.url, "REASONING_REPLAY_STORE": redis.url}
    with running_proxy({}, workers=WORKERS, **more) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def impatient(redis, host):
    """A proxy that waits for its store as long as one does that nobody has set up otherwise."""
    from proxy_server import running_proxy

    more = {"DEEPSEEK_API_BASE": host.url, "REASONING_REPLAY_STORE": redis.url, "REASONING_REPLAY_PATIENCE": "none"}
    with running_proxy({}, workers=2, **more) as proxy:
        yield proxy


def workers_of(proxy):
    """The processes of the workers."""
    return [
        int(pid) for pid in Path(f"/proc/{proxy.pid}/task/{proxy.pid}/children").read_text().split() if _serves(pid)
    ]


def _serves(pid):
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def at(moments):
    """What a load calls at each step: each action once, when so many requests were answered."""
    rest = dict(moments)

    def step(done):
        for moment in [each for each in rest if each <= done]:
            rest.pop(moment)()

    return step


def test_whatever_worker_a_request_comes_to_everything_is_restored(workers, host):
    verdict, speed = run(workers, host, REQUESTS, scattered=True)
    print(f"{verdict}, {speed:.0f} requests a second, {WORKERS} workers")
    assert is_right(verdict), verdict
    assert len(workers_of(workers)) == WORKERS


def test_redis_stopped_and_started_under_load_fails_no_call_and_restores_nothing_wrong(impatient, host, redis):
    moments = {REQUESTS // 4: redis.stop, REQUESTS // 2: redis.start}
    verdict, _ = run(impatient, host, REQUESTS, scattered=True, on_step=at(moments))
    print(verdict)
    assert is_safe(verdict), verdict
    time.sleep(LEFT_ALONE)
    run(impatient, host, 100, scattered=True)  # the trials
    verdict, _ = run(impatient, host, 200, scattered=True)
    print(verdict)
    assert is_safe(verdict), verdict
    assert verdict.missed < verdict.wanted / 2, "Redis is there again, and little comes back"


def test_redis_that_hangs_under_load_fails_no_call_and_restores_nothing_wrong(impatient, host, redis):
    moments = {REQUESTS // 4: redis.freeze, REQUESTS // 2: redis.thaw}
    verdict, _ = run(impatient, host, REQUESTS, scattered=True, on_step=at(moments))
    print(verdict)
    assert is_safe(verdict), verdict


def test_a_worker_killed_in_the_middle_of_writes_spoils_nothing(workers, host):
    moments = {REQUESTS // 4: lambda: os.kill(workers_of(workers)[0], signal.SIGKILL)}
    verdict, _ = run(workers, host, REQUESTS, scattered=True, patient=True, on_step=at(moments))
    print(verdict)
    assert is_right(verdict), verdict


def test_a_proxy_killed_in_the_middle_of_writes_leaves_a_whole_file_and_restores_what_it_acknowledged(host):
    """SQLite: `kill -9` of the one process while it writes, five times over some 1,000 writes; it starts again each time."""
    from proxy_server import running_proxy

    with running_proxy({}, DEEPSEEK_API_BASE=host.url) as proxy:
        moments = dict.fromkeys((90, 280, 470, 660, 850), proxy.restart)
        verdict, _ = run(proxy, host, 1000, patient=True, on_step=at(moments))
        print(verdict)
        with closing(sqlite3.connect(proxy.folder / "reasoning.sqlite3")) as file:
            assert [("ok",)] == file.execute("PRAGMA integrity_check").fetchall()
    assert is_right(verdict), verdict


@contextmanager
def small_disk(folder, size="700k"):
    """A file system that is soon full."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_fails_no_call_and_restores_nothing_wrong(host, tmp_path):
    from proxy_server import running_proxy

    more = {
        "DEEPSEEK_API_BASE": host.url,
        "REASONING_REPLAY_STORE": f"sqlite:///{tmp_path}/r.sqlite3",
        "REASONING_REPLAY_PATIENCE": "none",
    }
    with small_disk(tmp_path) as disk, running_proxy({}, **more) as proxy:
        verdict, _ = run(proxy, host, 800)
        print(verdict, shutil.disk_usage(disk))
        assert is_safe(verdict), verdict
        assert verdict.missed > 0, "the disk was not full"
        proxy.stop()
        with closing(sqlite3.connect(disk / "r.sqlite3")) as file:
            assert [("ok",)] == file.execute("PRAGMA integrity_check").fetchall()
