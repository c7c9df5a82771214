"""The fixtures in a run of their own: a broken promise fails the test that broke it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

USERS_TESTS = """
import httpx, logging, pytest
from reasoning_replay.testing import Reply, Text, foreign_bytes, think

USER = {"role": "user", "content": "q"}

def ask(host, messages):
    return httpx.post(host.endpoint, json={"model": host.model, "messages": messages}, verify=False).json()["choices"][0]["message"]

def test_passes(strict_hosts):
    host = strict_hosts("deepseek")
    ask(host, [USER, ask(host, [USER]), USER])

def _leak(strict_hosts):
    one, other = strict_hosts("deepseek"), strict_hosts("unknown")
    ask(other, [USER, ask(one, [USER]), USER])
    assert foreign_bytes([one, other])

def test_leaks(strict_hosts):
    _leak(strict_hosts)

@pytest.mark.leaks(reason="to show it")
def test_leaks_on_purpose(strict_hosts):
    _leak(strict_hosts)

def test_marks(strict_hosts):
    ask(strict_hosts("unknown"), [{**USER, "provider_specific_fields": {"reasoning_replay": {}}}])

def test_breaks_its_script(strict_hosts):
    def script(turn):
        raise KeyError("oops")
    httpx.post(strict_hosts("unknown", script=script).endpoint, json={"messages": [USER]}, verify=False)
"""
OUR_TESTS = """
import logging, pytest, socket
from reasoning_replay.testing import strict_host
import httpx

def test_logs_reasoning():
    logging.getLogger("reasoning_replay").info("%s", "CANARY-deepseek-0-00000000")

def test_swallows_a_call_beyond_loopback():
    try:
        socket.create_connection(("192.0.2.1", 443))
    except RuntimeError:
        pass

def test_hides_a_fault():
    from reasoning_replay import _faults
    _faults.fail_closed("h", lambda: 1 / 0, lambda: None)

def test_starts_a_host_of_its_own_and_marks():
    with strict_host("unknown") as host:
        httpx.post(host.endpoint, json={"messages": [{"role": "user", "content": "reasoning_replay"}]}, verify=False)

def test_passes():
    with strict_host("unknown") as host:
        httpx.post(host.endpoint, json={"messages": [{"role": "user", "content": "q"}]}, verify=False)
"""
PACKAGE = Path(__file__).parents[2] / "integrations"


def run(folder, tests, *options, paths=()):
    (folder / "test_it.py").write_text(tests)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "--tb=line",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        *options,
        str(folder),
    ]
    env = {
        "PYTHONPATH": os.pathsep.join(map(str, (PACKAGE, *paths))),
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    out = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120).stdout
    return out, {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", out, re.MULTILINE)}


def test_the_plugin_is_opt_in():
    assert [] == [entry for entry in entry_points(group="pytest11") if entry.value.startswith("reasoning_replay")]


def test_the_fixtures_fail_a_test_whose_wire_is_not_as_it_should_be(tmp_path):
    out, seen = run(tmp_path, USERS_TESTS, "-p", "reasoning_replay.testing.plugin", "--strict-markers")
    assert {
        "test_passes": "PASSED",
        "test_leaks": "ERROR",
        "test_leaks_on_purpose": "PASSED",
        "test_marks": "ERROR",
        "test_breaks_its_script": "ERROR",
    } == seen
    assert re.search(r"unknown at 127\.0\.0\.1:\d+, request 0: reasoning of deepseek", out)
    assert re.search(r"unknown at 127\.0\.0\.1:\d+: our mark is in a body", out)
    assert "strict host unknown: KeyError: 'oops'" in out
    assert "CANARY" not in out


def test_the_checks_of_our_own_suite_fail_the_test_that_breaks_them(tmp_path):
    ours = Path(__file__).parents[1]
    shutil.copy(ours / "conftest.py", tmp_path)
    out, seen = run(tmp_path, OUR_TESTS, paths=[ours])  # what conftest.py imports

    assert {
        "test_logs_reasoning": "ERROR",
        "test_swallows_a_call_beyond_loopback": "ERROR",
        "test_hides_a_fault": "ERROR",
        "test_starts_a_host_of_its_own_and_marks": "ERROR",
        "test_passes": "PASSED",
    } == seen, out
