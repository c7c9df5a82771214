"""The command line: help, exit statuses, and the demo as people run it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from reasoning_replay import _cli

README = Path(__file__).parent.parent / "README.md"


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main(["--help"])
    assert 0 == stop.value.code
    text = capsys.readouterr().out
    assert all(name in text for name in _cli.COMMANDS)


def test_no_command_is_an_error_that_shows_the_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main([])
    assert 2 == stop.value.code
    assert "usage: reasoning-replay" in capsys.readouterr().err


def test_the_demo_without_its_packages_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.delitem(sys.modules, "reasoning_replay._demo", raising=False)
    assert 2 == _cli.main(["demo"])
    assert _cli.DEMO_NEEDS in capsys.readouterr().err


def test_the_demo_ends_clean_within_a_minute_and_shows_what_litellm_alone_breaks():
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "reasoning_replay", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    seconds = time.monotonic() - start
    assert (0, "") == (run.returncode, run.stderr)
    assert seconds < 60
    last = run.stdout.strip().splitlines()[-1]
    assert all(word in last for word in ("leaks", "refusals", "lost"))
    assert last in README.read_text(), "the README quotes the last line"
    assert "Give Feedback" not in run.stdout


def halves():
    demo = pytest.importorskip("reasoning_replay._demo")
    return demo, demo.Half(said="it ends", failed=False), demo.Half(said="it breaks", failed=True, leaks=2, lost=1)


def test_the_demo_says_so_where_litellm_alone_no_longer_breaks(capsys):
    demo, whole, broken = halves()
    stage = demo.Stage(plain=True)
    demo.tell(stage, "1. A step", "A story.", whole, whole, "9.9")
    assert "LiteLLM 9.9 alone no longer breaks here" in capsys.readouterr().out
    demo.tell(stage, "1. A step", "A story.", broken, whole, "9.9")
    assert "no longer breaks" not in capsys.readouterr().out


def test_the_demo_fails_when_a_half_with_the_line_is_not_clean(capsys):
    demo, whole, broken = halves()
    stage = demo.Stage(plain=True)
    assert 0 == demo.close(stage, [(broken, whole)])
    assert "ok, without → with the line: leaks 2 → 0, refusals 0 → 0, lost reasoning 1 → 0" in capsys.readouterr().out
    assert 1 == demo.close(stage, [(broken, broken)])
    assert "NOT CLEAN" in capsys.readouterr().out
