"""The command line: help, exit statuses, and the demo as people run it."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("rich")

from reasoning_replay import _cli
from reasoning_replay._demo import CHAPTERS
from reasoning_replay._demo._stage import Chapter, Half, Stage, Step, World, close, play, run

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
    monkeypatch.setitem(sys.modules, "rich", None)
    for name in [name for name in sys.modules if name.startswith("reasoning_replay._demo")]:
        monkeypatch.delitem(sys.modules, name)
    assert 2 == _cli.main(["demo"])
    assert _cli.DEMO_NEEDS in capsys.readouterr().err


def test_the_demo_ends_clean_within_a_minute_and_shows_what_the_frameworks_alone_break():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        [sys.executable, "-m", "reasoning_replay", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (0, "") == (run.returncode, run.stderr)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60, "processor time: others run too"
    for name in (*CHAPTERS, "ok"):
        (line,) = [line for line in run.stdout.splitlines() if line.startswith(f"{name}, without → with the line: ")]
        assert all(word in line for word in ("leaks", "refusals", "lost"))
        assert line in README.read_text(), "the README quotes the sums"
    assert run.stdout.strip().splitlines()[-1] == line
    assert "Give Feedback" not in run.stdout


WHOLE = Half(said="it ends", failed=False)
BROKEN = Half(said="it breaks", failed=True, leaks=2, lost=1)


@contextmanager
def no_hosts():
    yield World({}), World({})


def story(*steps):
    return Chapter(name="Frame", version="9.9", line="line()", steps=steps, worlds=no_hosts)


def fails(world):
    raise ValueError


def test_the_demo_says_so_where_a_framework_alone_no_longer_breaks(capsys):
    stage = Stage(plain=True)
    play(stage, story(Step("A step", "A story.", lambda world: "it ends")), "")
    assert "Frame 9.9 alone no longer breaks here" in capsys.readouterr().out
    play(stage, story(Step("A step", "A story.", fails)), "")
    said = capsys.readouterr().out
    assert "no longer breaks" not in said
    assert "it raises ValueError" in said


def test_the_demo_fails_when_a_half_with_the_line_is_not_clean(capsys):
    stage = Stage(plain=True)
    assert 0 == close(stage, [(BROKEN, WHOLE)])
    assert "ok, without → with the line: leaks 2 → 0, refusals 0 → 0, lost reasoning 1 → 0" in capsys.readouterr().out
    assert 1 == close(stage, [(BROKEN, BROKEN)])
    assert "NOT CLEAN" in capsys.readouterr().out


def test_reasoning_that_a_real_server_did_not_see_counts_as_lost():
    def forgets(world):
        world.forgotten.append("a thought")
        return "it ends"

    world = World({})
    assert 1 == run(Step("A step", "A story.", forgets), world).lost
    assert 0 == run(Step("A step", "A story.", lambda world: "it ends"), world).lost


def test_a_chapter_or_a_step_without_its_package_is_left_out_with_the_command_that_brings_it(monkeypatch, capsys):
    play(Stage(plain=True), story(Step("A step", "A story.", fails, needs=("no_such_package",))), "pip install it")
    assert "left out: no-such-package is not installed; pip install it" in capsys.readouterr().out
    for name in CHAPTERS:
        monkeypatch.setitem(CHAPTERS, name, CHAPTERS[name]._replace(needs=("no_such_package",)))
    assert 2 == _cli.main(["demo"])
    said = capsys.readouterr()
    assert all(
        f"{name} is left out: no-such-package is not installed; {_cli.DEMO_NEEDS}" in said.out for name in CHAPTERS
    )
    assert _cli.DEMO_NEEDS in said.err
