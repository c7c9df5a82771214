"""The command line: help, exit statuses, and the demo as people run it."""

from __future__ import annotations

import io
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

import reasoning_replay
from reasoning_replay import _cli
from reasoning_replay._cli._print import spells_out
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
    example = _cli.COMMANDS[name].example
    assert f"\nexample: {example}\n" in capsys.readouterr().out, "in one line, to be copied"
    assert name == _cli.parser().parse_args(shlex.split(example)[1:]).command


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", ": missing: COMMAND; usage: reasoning-replay [-h] [--version] COMMAND ..."),
        ("explian", ": no command 'explian'; did you mean 'explain'? there are: demo, explain, hosts, check, probe"),
        ("explain", " explain: missing: FILE, --to; usage: reasoning-replay explain FILE --to HOST [options]"),
        ("explain x.json", " explain: missing: --to; usage: reasoning-replay explain FILE --to HOST [options]"),
        ("explain x.json --to groq --entry two", " explain: argument --entry: 'two': must be a whole number, counted from 1"),
        ("explain x.json --to groq --entry 0", " explain: argument --entry: '0': must be a whole number, counted from 1"),
        ("check", " check: missing: CONFIG; usage: reasoning-replay check CONFIG [--json]"),
        ("check a.yaml b.yaml", " check: 'b.yaml' is one argument too many"),
        ("probe", " probe: missing: --base-url, --model; usage: reasoning-replay probe --base-url URL --model M [options]"),
        ("probe --base-url http://x --model m --timeout nan", " probe: argument --timeout: 'nan': must be a number of seconds above 0, at most 86400"),
        ("hosts --modle x", " hosts: no option '--modle'; did you mean '--model'?"),
        ("hosts --frob=3", " hosts: no option '--frob'"),
    ],
)  # fmt: skip
def test_a_command_line_that_cannot_be_read_is_one_short_line_with_the_fix_and_exit_status_2(line, text, capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main(shlex.split(line))
    assert 2 == stop.value.code
    said = capsys.readouterr()
    assert "" == said.out
    room = f" {line.split()[0]}" if text.startswith(" ") else ""
    assert f"reasoning-replay{text}; see reasoning-replay{room} --help\n" == said.err
    assert len(said.err) < 180


def test_it_tells_its_version(capsys):
    with pytest.raises(SystemExit) as stop:
        _cli.main(["--version"])
    assert 0 == stop.value.code
    assert f"reasoning-replay {reasoning_replay.__version__}\n" == capsys.readouterr().out


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


@pytest.mark.parametrize("name", ["explain", "hosts", "check"])
def test_the_example_of_the_help_runs_as_printed_where_its_file_is(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("history.json").write_text('[{"role": "user", "content": "Hi"}]')
    Path("config.yaml").write_text("model_list: [{model_name: a, litellm_params: {model: deepseek/deepseek-v4-pro}}]")
    assert _cli.main(shlex.split(_cli.COMMANDS[name].example)[1:]) in {0, 1}
    assert "" == capsys.readouterr().err


def test_letters_that_the_output_has_not_are_spelled_out():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="cp1252")
    spells_out(out)
    print("leaks 2 → 0, naïve, 日", file=out, flush=True)
    assert "leaks 2 -> 0, naïve, \\u65e5\n".encode("cp1252") == raw.getvalue().replace(b"\r", b"")


def test_a_console_of_another_encoding_gets_every_command(tmp_path):
    (tmp_path / "a.json").write_text('{"model": "日", "messages": [{"role": "user", "content": "→"}]}')
    run = subprocess.run(
        [sys.executable, "-m", "reasoning_replay", "explain", "a.json", "--to", "deepseek"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (0, b"") == (run.returncode, run.stderr)
    assert b"(chat, model \\u65e5)" in run.stdout


def test_what_a_file_holds_does_not_steer_the_terminal(tmp_path, capsys):
    file = tmp_path / "a.json"
    messages = [{"role": "user", "content": "Hi"}, {"role": "\x1b[31m", "content": "so"}]
    file.write_text(json.dumps({"model": "\x1b[31mred\u202e", "messages": messages[:1]}))
    assert 0 == _cli.main(["explain", str(file), "--to", "groq"])
    assert r"model \x1b[31mred\u202e)" in capsys.readouterr().out
    file.write_text(json.dumps(messages))
    assert 2 == _cli.main(["explain", str(file), "--to", "groq\x1b[31m"])
    assert "\x1b" not in capsys.readouterr().err


def test_a_narrow_terminal_gets_a_table_row_by_row(monkeypatch, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps([{"role": "assistant", "content": "so", "reasoning_content": "it is"}]))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for columns, row in (("40", "message 0; sent as 0; role assistant; action drop;"), ("100", "0 0 assistant drop")):
        monkeypatch.setenv("COLUMNS", columns)
        _cli.main(["explain", str(file), "--to", "groq"])
        lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
        assert row in " ".join(" ".join(lines).split())
        assert max(map(len, lines)) <= int(columns)


def test_output_that_cannot_be_written_is_one_line_and_closed_streams_are_nowhere():
    command = f"{shlex.quote(sys.executable)} -m reasoning_replay hosts"
    if os.path.exists("/dev/full"):  # noqa: PTH110 -- a device
        run = subprocess.run(f"{command} >/dev/full", shell=True, capture_output=True, text=True, check=False)
        said = "reasoning-replay hosts: No space left on device; write the output to another place\n"
        assert (2, said) == (run.returncode, run.stderr)
    run = subprocess.run(f"{command} >&- 2>&- <&-", shell=True, capture_output=True, text=True, check=False)
    assert (0, "") == (run.returncode, run.stdout + run.stderr)


def test_what_is_nested_too_deeply_is_one_line(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text("[" * 100_000)
    assert 2 == _cli.main(["explain", str(file), "--to", "groq"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "nested too deeply" in line


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
