"""Many tenants with the same conversations, who lie about who they are: whose reasoning reaches the host, and that all of it does.

The whole load of 20,000 requests: `TENANT_REQUESTS=20000 pytest -m slow tests/clients/test_tenants.py -s`
"""

from __future__ import annotations

import os

import pytest

from clients.load import STEPS, LoadHost, is_right, run

REQUESTS = int(os.environ.get("TENANT_REQUESTS", "4000"))


def test_no_reasoning_crosses_to_another_tenant_and_all_comes_back(proxy, monkeypatch):
    host = LoadHost(STEPS)
    monkeypatch.setattr(proxy.hosts["deepseek"]._server, "_answer", host.answer)
    verdict, _ = run(proxy, host, 200)
    assert is_right(verdict), verdict
    assert [] == host.faults
    assert (200, 18 * 45) == (verdict.requests, verdict.wanted)
    assert verdict.keyless > 0


@pytest.mark.slow
def test_no_reasoning_crosses_in_a_long_load(capsys):
    from proxy_server import running_proxy

    with LoadHost(STEPS) as host, running_proxy({}, DEEPSEEK_API_BASE=host.url) as proxy:
        verdict, speed = run(proxy, host, REQUESTS)
        log = proxy.log
    with capsys.disabled():
        print(f"\n{verdict}, {speed:.0f} requests a second")
    assert is_right(verdict), verdict
    assert [] == host.faults
    assert REQUESTS == verdict.requests
    assert not [line for line in log.splitlines() if "reasoning-replay" in line and "CANARY" in line]
