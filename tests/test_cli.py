"""The command line: help, exit statuses, and the demo as people run it."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("name", _cli.COMMANDS)
def test_help_of_a_command_has_an_example_that_the_parser_takes(name, capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main([name, "--help"])
    assert 0 == stop.value.code
    text = " ".join(capsys.readouterr().out.split())
    example = _cli.COMMANDS[name].example
    assert f"example: {example}" in text
    assert name == _cli.parser().parse_args(shlex.split(example)[1:]).command


@pytest.mark.parametrize(
    "argv", [[], ["explian"], ["explain"], ["explain", "x.json"], ["check"], ["probe"], ["hosts", "--modle", "x"]]
)
def test_a_command_line_that_cannot_be_read_is_one_line_with_the_usage_and_exit_status_2(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main(argv)
    assert 2 == stop.value.code
    said = capsys.readouterr()
    assert "" == said.out
    (line,) = said.err.splitlines()
    assert "usage: reasoning-replay" in line
    assert line.endswith("--help")


@pytest.mark.parametrize("argv", [["hosts"], ["hosts", "deepseek"], ["explain", "FILE", "--to", "groq", "--diff"]])
def test_colour_is_for_a_terminal_that_wants_it(argv, monkeypatch, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps([{"role": "assistant", "content": "so", "reasoning_content": "it is"}]))
    argv = [str(file) if word == "FILE" else word for word in argv]
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    status = _cli.main(argv)
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert status == _cli.main(argv)
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    _cli.main(argv)
    assert plain == capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setitem(sys.modules, "rich.console", None)
    _cli.main(argv)
    assert plain == capsys.readouterr().out


def test_a_reader_that_has_gone_is_no_word_to_anybody():
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-m", "reasoning_replay", "hosts"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (141, b"") == (run.returncode, run.stderr)


@pytest.mark.slow  # half a minute of processor time: the demo imports both frameworks
@pytest.mark.parametrize("seconds", [2, 5, 8])
def test_ctrl_c_leaves_no_server_running_and_no_traceback(seconds):
    run = subprocess.Popen(
        [sys.executable, "-m", "reasoning_replay", "demo"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(seconds)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode in {130, -signal.SIGINT}
    assert b"Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)


COMMAND = re.compile(r"<!-- cli -->\n```sh\n(?P<line>.*?)\n```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)
FILE = re.compile(r"<!-- cli: (?P<name>[\w.]+) -->\n```\w+\n(?P<text>.*?)```\n", re.DOTALL)


def test_the_commands_of_the_readme_print_what_stands_there(tmp_path, monkeypatch, capsys):
    text = README.read_text()
    monkeypatch.chdir(tmp_path)
    for name, content in FILE.findall(text):
        Path(name).write_text(content)
    for line, output in COMMAND.findall(text):
        _cli.main(shlex.split(line)[1:])
        assert output == capsys.readouterr().out, line


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
