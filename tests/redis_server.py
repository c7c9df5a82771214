"""A real redis-server on a free loopback port, which can be stopped, started again on the same port, and frozen.

Installs nothing: where the binary is missing, `needs_redis_server` skips and says so. (`apt-get install redis-server`)
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

BINARY = shutil.which("redis-server") or shutil.which("valkey-server")
needs_redis_server = pytest.mark.skipif(
    BINARY is None, reason="NO REDIS HERE: the binary redis-server is not installed, the store in Redis goes untested"
)
READY = "Ready to accept connections"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RedisServer:
    """One server without persistence. Use it with `with`."""

    def __init__(self, *options: str) -> None:
        assert BINARY is not None
        self._options = options
        self._folder = tempfile.TemporaryDirectory(prefix="rr-redis-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name, "log")
        self._log.touch()
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """On the same port again; the first time on one that is free, which somebody may be quicker to take."""
        for _ in range(10 if self.port == 0 else 1):
            port = self.port if self.port != 0 else free_port()
            if self._started(port):
                self.port = port
                return
        raise AssertionError(self._log.read_text())

    def _started(self, port: int) -> bool:
        command = [
            BINARY, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", self._folder.name, *self._options,
        ]  # fmt: skip
        before = self._log.read_text().count(READY)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while self._log.read_text().count(READY) == before:  # its own word: the port may answer for another server
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < end, "redis-server does not start"
            time.sleep(0.02)
        return True

    def stop(self) -> None:
        """As a crash: nothing is said to anybody."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()
        self._folder.cleanup()


@pytest.fixture(scope="session")
def redis_server():
    """One for the whole run; each test takes what it finds as its own, so flush it first."""
    with RedisServer() as server:
        yield server
