"""A real LiteLLM Proxy in front of strict hosts, for tests: a pytest plugin, and what scripts need of it.

The fixture `proxy` is one process for the whole run; `running_proxy()` starts another one, which takes some 25 seconds.
The hosts live in the process of the tests, so that a test sees what reached them.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from reasoning_replay.testing import StrictHost, moved_prefixes
from reasoning_replay.testing.plugin import wire_faults

CONFIGS = Path(__file__).parent / "proxy" / "configs"
HOSTS = {
    "DEEPSEEK": "deepseek",
    "MOONSHOT": "moonshot",
    "ANTHROPIC": "anthropic",
    "OPENAI": "openai-responses",
    "GROQ": "groq",
    "MISTRAL": "mistral",
    "OPENROUTER": "openrouter",
}
"""Begins the names of a host's variables in the configurations -> the strict host."""
MODELS = {
    "deepseek": "deepseek",
    "kimi": "moonshot",
    "claude": "anthropic",
    "gpt": "openai-responses",
    "groq": "groq",
    "mistral": "mistral",
    "openrouter": "openrouter",
}
"""Model that a client names -> the strict host behind it. `either` is DeepSeek, with Kimi as the fallback."""
UP_SECONDS = 240
"""A guess, generous on a busy machine."""


class Proxy:
    """A running proxy process, or several workers. Mutable: it can be killed and started again, on the same port."""

    def __init__(self, config: str, workers: int, env: dict[str, str], hosts: dict[str, StrictHost]) -> None:
        self.hosts = hosts
        self.folder = Path(tempfile.mkdtemp(prefix="proxy-"))
        for each in CONFIGS.iterdir():
            if each.is_file():
                shutil.copy(each, self.folder)
        self.config, self.workers = config, workers
        self.master_key = f"sk-{secrets.token_hex(16)}"
        self._secret = secrets.token_hex(8)
        self.port = free_port()
        self.env = {**self._base_env(), **env}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Without `/v1`: what the Anthropic SDK takes; OpenAI's takes `url + "/v1"`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """All that the proxy has printed."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """Of the proxy, or of what started the workers."""
        assert self._process is not None
        return self._process.pid

    def key(self, user: str = "alice", team: str = "red", number: int = 0) -> str:
        """A key of a user; equal arguments, equal keys. User `nobody` has no tenant."""
        return f"sk-{self._secret}-{user}-{team}-{number}"

    def fresh_key(self) -> str:
        """A key that nobody has used: a new tenant."""
        return self.key(f"user{next(_numbers)}")

    def post(self, path: str, body: dict, key: str | None = None, **headers: str):
        """Status, headers (names in lower case) and the raw body of a request."""
        return post(self.url + path, body, self.key() if key is None else key, **headers)

    def start(self) -> Proxy:
        """Return when it answers."""
        command = [
            *(sys.executable, "-m", "litellm.proxy.proxy_cli", "--config", self.config, "--telemetry", "False"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
        ]
        if self.workers > 1:
            command += ["--num_workers", str(self.workers), "--timeout_worker_healthcheck", "240"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=_die_with_parent,  # noqa: PLW1509 - one line that takes no lock
            )  # fmt: skip
        self._wait()
        return self

    def _wait(self) -> None:
        assert self._process is not None
        end = time.monotonic() + UP_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the proxy ended with {self._process.returncode}:\n{self.log[-4000:]}")
            try:
                with urlopen(f"{self.url}/health/liveliness", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.2)
        self.kill()
        raise RuntimeError(f"the proxy did not start within {UP_SECONDS} seconds:\n{self.log[-4000:]}")

    def stop(self, timeout: float = 15) -> None:
        """Ask it to end, as an operator does."""
        if self._process is not None and self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """`kill -9` of the process and its workers."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self, **env: str) -> Proxy:
        """`kill -9`, and start it again on the same port, with these variables besides."""
        self.kill()
        self.env.update(env)
        return self.start()

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)  # a session of its own: the workers are in its group

    def _base_env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
        bases = {f"{name}_API_BASE": self.hosts[host].url for name, host in HOSTS.items() if host in self.hosts}
        aliases = {name: to for host in self.hosts.values() for name, to in host.alias.items()}
        return {
            **kept,
            **bases,
            **{f"{name}_API_KEY": "sk-upstream" for name in HOSTS},
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
            "LITELLM_MASTER_KEY": self.master_key,
            "PROXY_KEY_SECRET": self._secret,
            "REASONING_REPLAY_ALIASES": json.dumps(aliases),
            "REASONING_REPLAY_PATIENCE": "30",  # a starved process is no store that is down
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_PROXY": "*",
            "XDG_STATE_HOME": str(self.folder / "state"),
        }


def post(url: str, body: dict, key: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (names in lower case) and the raw body of a request."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"content-type": "application/json", "authorization": f"Bearer {key}", **names}
    try:
        with urlopen(Request(url, json.dumps(body).encode(), sent), timeout=120) as reply:
            return reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.read()
    except URLError as error:
        if not hasattr(error, "code"):
            raise
        return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()


_numbers = count()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    """Linux: the kernel ends the proxy when the tests are killed before they can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@contextmanager
def running_hosts(*names: str) -> Iterator[dict[str, StrictHost]]:
    """Strict hosts by name; all that the configurations name, if none is named."""
    hosts = {name: StrictHost(name).start() for name in names or HOSTS.values()}
    try:
        yield hosts
    finally:
        for host in hosts.values():
            host.begin_stop()
        for host in hosts.values():
            host.stop()


@contextmanager
def running_proxy(
    hosts: dict[str, StrictHost], config: str = "one_worker.yaml", *, workers: int = 1, **env: str
) -> Iterator[Proxy]:
    """A proxy in front of these hosts, with a configuration of tests/proxy/configs and further variables."""
    proxy = Proxy(config, workers, env, hosts)
    try:
        yield proxy.start()
    finally:
        proxy.remove()


# Fixtures -------------------------------------------------------------------------------------------------------------

HAS_PROXY = all(find_spec(name) is not None for name in ("fastapi", "apscheduler", "backoff", "fastapi_sso"))
"""Whether what the proxy needs is installed; pip has no say in it, since LiteLLM's own extra cannot be resolved."""


@pytest.fixture(scope="session")
def proxy_process() -> Iterator[Proxy]:
    """The one proxy of the run."""
    if not HAS_PROXY:
        pytest.skip("the LiteLLM Proxy's packages are not installed: pip install 'reasoning-replay[proxy]'")
    with running_hosts() as hosts, running_proxy(hosts) as process:
        yield process


@pytest.fixture
def proxy(proxy_process: Proxy, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    """The proxy of the run, in front of hosts that have forgotten everything. Afterwards wire and log are checked."""
    for host in proxy_process.hosts.values():
        host.reset()
    before = len(proxy_process.log)
    yield proxy_process
    check(proxy_process, request.node, before)


def check(proxy: Proxy, node: pytest.Item, before: int = 0) -> None:
    """Nothing foreign and no mark on a wire, nothing that a host has seen moved, no reasoning and no fault in our log."""
    hosts = list(proxy.hosts.values())
    if node.get_closest_marker("leaks") is None:
        assert [] == wire_faults(hosts)
        if node.get_closest_marker("moves_prefix") is None:
            assert [] == moved_prefixes(hosts)
    ours = [
        line for line in proxy.log[before:].splitlines() if "reasoning-replay" in line or "reasoning_replay" in line
    ]
    assert [] == [line for line in ours if "CANARY-" in line]
    if node.get_closest_marker("faulty") is None:
        assert [] == [line for line in ours if "inside reasoning-replay" in line]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """Shows the end of the proxy's log with a test that has failed."""
    report = yield
    proxy = getattr(item, "funcargs", {}).get("proxy")
    if report.failed and isinstance(proxy, Proxy):
        report.sections.append(("proxy log, its end", proxy.log[-6000:]))
    return report
