"""The pages tell the truth: their blocks run, their outputs are what comes out, their tables are the library's own.

`python tests/test_readme.py` writes outputs and tables anew.
"""

from __future__ import annotations

import logging
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import warnings

import pytest

import page_tables
import pages
from pages import HOSTS, HOUSE, PAGES, README, ROOT, RUNS, blocks, text_of
from reasoning_replay import _parse, load_hosts
from reasoning_replay._host import RuleError

PROSE = {page: re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE) for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_and_print_what_it_says(page):
    for block, actual in pages.run(page):
        assert (block.output or "") == actual, f"{page}:{block.line}; python tests/test_readme.py writes it anew"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_is_run_by_somebody(page):
    assert [] == [f"{page}:{block.line} {block.kind!r}" for block in blocks(page) if block.kind not in RUNS]


def test_who_runs_a_block_exists():
    for name in RUNS.values():
        assert callable(globals()[name]) if name.startswith("test_") else (ROOT / name).exists()


def test_the_pytest_examples_pass_as_a_user_would_run_them(tmp_path):
    examples = [block for page in PAGES for block in blocks(page, "pytest")]
    for number, block in enumerate(examples):
        (tmp_path / f"test_example_{number}.py").write_text(block.text)
    for block in (block for page in PAGES for block in blocks(page, "file")):
        (tmp_path / block.name).write_text(block.text)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["reasoning_replay.testing.plugin"]\n')
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
    )
    assert f"{len(examples)} passed" in run.stdout, run.stdout + run.stderr


def test_what_the_pages_install_is_there_to_install():
    """The clone itself, and extras that it has; `.ci/run` installs two of them for real, from the wheel."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for page in PAGES for block in blocks(page, "install") for line in block.text.splitlines()]
    assert lines
    for line in lines:
        for command in re.split(r" && ", line):
            words = shlex.split(command, comments=True)
            if words[:2] == ["pip", "install"]:
                asked = re.fullmatch(r"\.(?:\[([a-z,]+)\])?", words[2])
                assert asked, line
                assert set(asked[1].split(",") if asked[1] else ()) <= set(extras), line
            else:
                assert words[0] in {"git", "cd", "jupyter"}, line
                assert all((ROOT / word).exists() for word in words[2:]), line


def test_a_script_that_a_page_starts_takes_the_words_that_stand_there(monkeypatch, capsys):
    """Its own parser is asked; what it would do takes minutes and other people's programs."""
    lines = [
        (block.name, line) for page in PAGES for block in blocks(page, "script") for line in block.text.splitlines()
    ]
    assert lines
    for name, line in lines:
        python, script, *words = shlex.split(line, comments=True)
        assert ("python", name) == (python, script)
        monkeypatch.setattr(sys, "argv", [script, *words, "--help"])
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(str(ROOT / name), run_name="__main__")
        assert 0 == stop.value.code
        said = capsys.readouterr().out
        assert all(word.startswith("--") <= (word in said) for word in words), line


@pytest.mark.moves_prefix("a probe withholds on purpose")
def test_the_probe_of_the_page_writes_a_rule_file(strict_hosts, tmp_path, monkeypatch, capsys):
    from reasoning_replay import _cli

    (block,) = blocks(README, "probe")
    (line,) = block.text.splitlines()
    words, _, file = line.partition(" > ")
    host = strict_hosts("deepseek")
    monkeypatch.setenv("CORP_KEY", "sk-none")
    typed = shlex.split(words.replace("https://llm.corp.example/v1", host.url).replace("corp-reasoner-2", host.model))
    assert "reasoning-replay" == typed[0]
    assert 0 == _cli.main([*typed[1:], "--yes"])
    (tmp_path / file).write_text(capsys.readouterr().out)
    (probed,) = load_hosts(tmp_path / file)
    assert (host.name,) == probed.hosts
    assert [] == re.findall(r"sk-none", (tmp_path / file).read_text())


def test_the_steps_of_a_contribution_name_tables_and_tests_that_there_are():
    rows = re.findall(r"^\| \[`[^`]+`\]\(([^)]+)\) \| `(\w+)` \|", PROSE[HOSTS], re.MULTILINE)
    assert len(rows) >= 8
    for path, name in rows:
        assert re.search(rf"^(?:def )?{name}\b", ((ROOT / HOSTS).parent / path).read_text(), re.MULTILINE), (path, name)
    (block,) = blocks(HOSTS, "contribute")
    for line in block.text.splitlines():
        words = [word for word in shlex.split(line) if "=" not in word]
        assert "python" == words[0]
        assert [] == [word for word in words if word.startswith("tests/") and not (ROOT / word).exists()]
    assert "matrix" in block.text
    assert "RULES_MATRIX=write" in (ROOT / "tests/rules.matrix.txt").read_text()


def test_the_picture_is_in_words_that_github_draws():
    """Mermaid: every line is a node, an edge or the border of a frame, and every node of an edge is described."""
    (picture,) = blocks(README, "picture")
    head, *lines = picture.text.splitlines()
    assert "flowchart LR" == head
    node = r'\w+(?:\[\("[^"]+"\)\]|\["[^"]+"\]|\{"[^"]+"\})'
    described = set(re.findall(r'(\w+)[\[{]\(?"', picture.text))
    for line in lines:
        if " --> " in line:
            assert set(line.strip().split(" --> ")) <= described, line
        else:
            assert re.fullmatch(rf"\s+(?:subgraph {node}|end|{node})", line), line


# Tables -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "name"),
    [pytest.param(*key, marks=pytest.mark.slow) if key[1] == "classes" else key for key in page_tables.TABLES],
)
@pytest.mark.filterwarnings("ignore")  # the chat classes warn by the dozen
def test_a_table_is_what_the_library_says(page, name):
    written, actual = page_tables.is_written(page, name)
    assert written == actual, "python tests/test_readme.py writes it anew"


def test_the_table_of_classes_has_a_row_for_every_class_that_is_known():
    from reasoning_replay.langchain._classes import ROWS

    rows = page_tables.standing(text_of(f"{HOUSE}/langchain/README.md"), "classes")["table"].splitlines()[2:]
    shown = {row.split("`")[1] for row in rows}
    inner = {"BaseChatOpenAI", "ChatQwen"}  # ChatOpenAI's base; ChatQwQ's sibling: the same hooks
    assert {row.name.partition(".")[2] for row in ROWS} - inner == shown


@pytest.mark.parametrize("name", [name for page, name in page_tables.TABLES if page == HOSTS and name != "rules"])
def test_every_key_and_every_word_that_the_loader_takes_has_a_meaning(name):
    rows = page_tables.standing(text_of(HOSTS), name)["table"].splitlines()[2:]
    assert rows
    assert [] == [row for row in rows if row.endswith("|  |")]


def test_the_loader_complains_in_words_that_the_page_can_quote():
    """The table of keys asks the readers what they take: a reader that takes anything would stand there as nothing."""
    for readers, _ in page_tables.KEYS.values():
        assert [] == [key for key, read in readers.items() if page_tables.allowed(read) == ""]


WHOLE = """
id = "x"
[[rules]]
window = "all"
source = "guess"
date = 2026-11-30
confidence = "guess"
"""


def test_the_keys_that_the_page_calls_needed_are_needed_and_no_others():
    _parse.parse(WHOLE, "x.toml")
    for line in WHOLE.strip().splitlines():
        if line != "[[rules]]":
            with pytest.raises(RuleError, match="no '"):
                _parse.parse(WHOLE.replace(line, ""), "x.toml")
    needed = {key for table, key in page_tables.SAID if page_tables.SAID[table, key] == "needed"}
    assert {line.split(" = ")[0] for line in WHOLE.strip().splitlines() if " = " in line} | {"rules"} == needed


def test_the_defaults_that_the_loader_makes_are_those_that_the_page_tells():
    host = _parse.parse(WHOLE, "x.toml")
    assert ("x",) == host.hints
    assert "optional" == host.rules[0].requirement
    more = _parse.parse(WHOLE + 'read = ["reasoning", "reasoning_content"]\nmissing = { on = "tool_calls" }', "x.toml")
    assert ("required", ("reasoning",)) == (more.rules[0].requirement, more.rules[0].write)


# Text -------------------------------------------------------------------------------------------------------------------


def anchor(title: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def anchors(page: str) -> set[str]:
    return {anchor(title) for title in re.findall(r"^#+ (.+)$", PROSE[page], re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page):
    folder = (ROOT / page).parent
    for to in re.findall(r"\]\(([^)\s]+)\)", PROSE[page]):
        path, _, at = to.partition("#")
        if re.match(r"https?://", to):
            continue
        goal = (folder / path).resolve() if path else ROOT / page
        assert goal.exists(), to
        if at:
            assert at in anchors(str(goal.relative_to(ROOT.resolve()))), to


def test_every_page_is_linked_from_the_readme():
    for page in PAGES[1:]:
        assert re.search(rf"\]\({re.escape(page)}(?:#[\w-]+)?\)", text_of(README)), page


def test_every_page_beside_the_code_is_one_of_these_pages():
    found = [
        path.relative_to(ROOT).as_posix() for base in (HOUSE, "tests") for path in (ROOT / base).rglob("README.md")
    ]
    assert set(found) == set(PAGES[1:])


def test_the_readme_links_to_every_chapter():
    chapters = re.findall(r"^## (.+)$", PROSE[README], re.MULTILINE)
    links = re.findall(r"^\[(.+?)\]\(#(.+?)\)", PROSE[README], re.MULTILINE)
    assert chapters == [title for title, _ in links]
    assert [anchor(title) for title, _ in links] == [to for _, to in links]


@pytest.mark.parametrize("page", PAGES)
def test_one_sentence_a_line(page):
    lines = [line for line in PROSE[page].splitlines() if not line.startswith(("|", "#", "<!--"))]
    assert [line for line in lines if re.search(r"[a-z`)][.?!] [A-Z]", re.sub(r"`[^`]*`", "`", line))] == []


def test_the_readme_is_a_page_that_a_person_reads():
    """Without the tables that are made: hosts and reasons grow with what is known. What is longer gets a page of its own."""
    text = text_of(README)
    made = sum(
        len(page_tables.standing(text, name)["table"].encode()) for page, name in page_tables.TABLES if page == README
    )
    assert len(text.encode()) - made <= 44_000


def test_the_chapter_on_testing_is_at_most_80_lines_long():
    chapter = re.search(r"^## Testing your own code$(.*?)^## ", text_of(README), re.DOTALL | re.MULTILINE)[1]
    assert len(chapter.splitlines()) <= 80


if __name__ == "__main__":
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    for each in sys.argv[1:] or PAGES:
        (ROOT / each).write_text(page_tables.with_tables(each, pages.with_outputs(each)))
