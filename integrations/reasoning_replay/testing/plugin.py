"""Opt-in pytest fixtures: `pytest_plugins = ["reasoning_replay.testing.plugin"]` in a top-level conftest.

`strict_hosts` hands out strict hosts that are started once a run and reset for each test, and checks the wire after it.
`plans` collects the plans and faults of a test. Nothing here is autouse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ._capture import Captures, capture_plans
from ._host import StrictHost
from ._llama import LlamaServer, llama_server
from ._script import Script
from ._search import foreign_bytes


class HostPool:
    """Strict hosts of one test run. Mutable: hosts are started when they are first asked for."""

    def __init__(self) -> None:
        self._hosts: dict[str, list[StrictHost]] = {}
        self._used: list[StrictHost] = []

    def __call__(self, name: str, *, script: Script = None, steps: int = 2, **options: Any) -> StrictHost:
        """A fresh host; asked twice in one test, two hosts with two addresses."""
        row = self._hosts.setdefault(name, [])
        host = next((h for h in row if h not in self._used), None)
        if host is None:
            host = StrictHost(name).start()
            row.append(host)
        host.reset(script=script, steps=steps, **options)
        self._used.append(host)
        return host

    @property
    def used(self) -> list[StrictHost]:
        """The hosts of the running test."""
        return list(self._used)

    def free(self) -> None:
        """End of a test: every host may be handed out again."""
        self._used.clear()

    def stop(self) -> None:
        """End of the run."""
        hosts = [host for row in self._hosts.values() for host in row]
        for host in hosts:
            host.begin_stop()
        for host in hosts:
            host.stop()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "leaks(reason): this test shows foreign reasoning or our mark on a wire on purpose"
    )


def wire_faults(hosts: list[StrictHost]) -> list[str]:
    """What must not be: foreign reasoning or our mark on a wire, a host that failed. One line each, no word of reasoning."""
    faults = [
        f"{f.at.kind} at {f.at.name}, request {f.request}: reasoning of {f.written_by.kind}"
        for f in foreign_bytes(hosts)
    ]
    faults += [f"{h.kind} at {h.name}: our mark is in a body" for h in hosts if h.saw_mark]
    return faults + [fault for host in hosts for fault in host.faults]


@pytest.fixture(scope="session")
def host_pool() -> Iterator[HostPool]:
    """The hosts of the run."""
    pool = HostPool()
    yield pool
    pool.stop()


@pytest.fixture
def strict_hosts(host_pool: HostPool, request: pytest.FixtureRequest) -> Iterator[HostPool]:
    """`strict_hosts("deepseek")` is a fresh strict host. After the test the wire is checked, unless it is marked `leaks`."""
    yield host_pool
    used = host_pool.used
    host_pool.free()
    if request.node.get_closest_marker("leaks") is None:
        faults = wire_faults(used)
        assert not faults, "\n".join(faults)


@pytest.fixture
def plans() -> Iterator[Captures]:
    """The plans and faults of this test."""
    with capture_plans() as seen:
        yield seen


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """A real llama.cpp server."""
    with llama_server() as server:
        yield server
