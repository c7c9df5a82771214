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


class RedisServer:
    """One server without persistence. Use it with `with`."""

    def __init__(self, *options: str) -> None:
        assert BINARY is not None
        self._options = options
        self._folder = tempfile.TemporaryDirectory(prefix="rr-redis-", ignore_cleanup_errors=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            BINARY, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", self._folder.name, *self._options,
        ]  # fmt: skip
        with Path(self._folder.name, "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + 20
        while not self._answers():
            assert self.process.poll() is None, Path(self._folder.name, "log").read_text()
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as talk:
                talk.sendall(b"PING\r\n")
                return talk.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False

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
