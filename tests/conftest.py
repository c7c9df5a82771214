"""What holds for every test: loopback only, nothing foreign and no mark on a wire, no reasoning in our log, no hidden fault.

Within a turn, what a host has seen never changes. A test that breaks one of these on purpose carries a marker with the
reason: `leaks`, `moves_prefix`, `faulty`, `dials_out`.
"""

import logging
import os
import socket
import traceback
from importlib.util import find_spec

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before LiteLLM is imported: it would fetch a price list
os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"  # and a list of headers

import pytest

from sampled import thin

if find_spec("hypothesis") is not None:
    import hypothesis  # noqa: F401 - late, in the middle of a run, its plugin has broken CPython 3.11.7's ast.parse

HAS_HOSTS = all(find_spec(name) is not None for name in ("starlette", "uvicorn", "deepseek_recipe", "mistral_common"))
"""Whether the extra `testing` is installed. The core's own tests run without it."""

pytest_plugins = ["reasoning_replay.testing.plugin", "proxy_server"] if HAS_HOSTS else []
collect_ignore = [] if HAS_HOSTS else ["testing"]


def pytest_configure(config):
    config.addinivalue_line("markers", "moves_prefix(reason): this test changes what a host has seen within a turn")
    config.addinivalue_line("markers", "faulty(reason): this test makes a step of ours fail on purpose")
    config.addinivalue_line("markers", "dials_out(reason): this test tries an address beyond loopback on purpose")
    if not HAS_HOSTS:
        config.addinivalue_line("markers", "leaks(reason): see reasoning_replay.testing.plugin")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    thin(items)  # before -m chooses


# The loopback guard ---------------------------------------------------------------------------------------------------


class BeyondLoopback(RuntimeError):
    """A test tried to reach another machine."""


LOCAL = ("127.", "localhost", "::1", "0.0.0.0", "::ffff:127.")
attempts: list[str] = []


def _allow(host) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or str(name) == "" or str(name).startswith(LOCAL):
        return
    attempts.append(str(name))
    raise BeyondLoopback(f"tests talk to loopback only, and this one asked for {name!r}; start a strict host instead")


def _guarded(connect):
    def guard(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _allow(address[0])
        return connect(self, address)

    return guard


def _guarded_lookup(lookup):
    def guard(host, *args, **kwargs):
        _allow(host)
        return lookup(host, *args, **kwargs)

    return guard


socket.socket.connect = _guarded(socket.socket.connect)
socket.socket.connect_ex = _guarded(socket.socket.connect_ex)
socket.getaddrinfo = _guarded_lookup(socket.getaddrinfo)


@pytest.fixture(autouse=True)
def loopback_only(request):
    """The guard raises where the call is made; a library may swallow that, so every attempt is told here again."""
    attempts.clear()
    yield
    if request.node.get_closest_marker("dials_out") is None:
        assert attempts == [], "a library of this test asked for other machines"


# The wire and the log -------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def every_wire(request, monkeypatch):
    """Nothing foreign and no mark in any body that any strict host of this test received, however it was started."""
    if not HAS_HOSTS:
        yield
        return
    from reasoning_replay.testing import StrictHost, moved_prefixes
    from reasoning_replay.testing.plugin import wire_faults

    started = []
    start = StrictHost.start
    monkeypatch.setattr(StrictHost, "start", lambda self: started.append(self) or start(self))
    pool = request.getfixturevalue("host_pool")
    yield
    by_hand = request.path.parent.name == "testing"  # its histories are written by hand, to be refused
    hosts = list({id(host): host for host in (*started, *pool.used)}.values())
    pool.free()
    if request.node.get_closest_marker("leaks") is not None:
        return
    faults = wire_faults(hosts)
    assert faults == [], "\n".join(faults)
    if request.node.get_closest_marker("moves_prefix") is None and not by_hand:
        assert moved_prefixes(hosts) == []


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: list[str] = []

    def emit(self, record) -> None:
        trace = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        self.heard.append(f"{record.getMessage()} {record.__dict__!r} {trace}")


@pytest.fixture(autouse=True)
def silent_log():
    """No word of reasoning in our log, down to DEBUG: message, arguments, extra fields or traceback."""
    listener, log = _Listener(), logging.getLogger("reasoning_replay")
    level = log.level
    log.addHandler(listener)
    log.setLevel(logging.DEBUG)
    yield
    log.setLevel(level)
    log.removeHandler(listener)
    assert [line for line in listener.heard if "CANARY-" in line] == [], "our log holds reasoning"


@pytest.fixture(autouse=True)
def no_faults(request):
    """The fallback hides a fault from the caller, never from a test."""
    if not HAS_HOSTS:
        yield
        return
    from reasoning_replay.testing import capture_plans

    with capture_plans() as seen:
        yield
    if request.node.get_closest_marker("faulty") is None:
        assert seen.faults == [], "a step failed and the fallback stood in for it"
