"""The README tells the truth: its Python runs, its outputs are what comes out, its tables are the library's own.

`python tests/test_readme.py` writes outputs and tables anew.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from reasoning_replay._decision import REASONS
from reasoning_replay.hosts import builtin

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(
    r"(?P<pytest><!-- pytest -->\n)?```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL
)

TURNS = {
    "none": "none",
    "current_turn": "the running turn",
    "last_assistant": "the last reply that has it",
    "all": "every turn",
    "all_if_tools": "every turn if the request has tools, else the running turn",
    "all_once_tools_used": "every turn once a tool was used, else the running turn",
}
FORMS = {
    "anthropic": "Anthropic",
    "responses": "Responses",
    "gemini": "Gemini",
    "bedrock": "Converse",
    "ollama": "Ollama",
}
SCOPES = {
    "all_assistant": "every reply",
    "tool_calls": "replies with tool calls",
    "current_turn": "replies of the running turn",
    "first_call": "the first call of each step",
}


def reasons() -> str:
    return "\n".join(
        ["| code | meaning |", "| --- | --- |", *(f"| `{code}` | {text} |" for code, text in REASONS.items())]
    )


def hosts() -> str:
    head = [
        "host",
        "form",
        "models",
        "when",
        "turns that go back",
        "as",
        "where it is required and missing",
        "known since",
    ]
    rows = [head, ["---"] * len(head)]
    of_claude = {law(rule) for host in builtin() if host.id == "anthropic" for rule in host.rules}
    for host in sorted(builtin(), key=lambda host: (host.id == "unknown", host.id)):
        first, borrowed = len(rows), set()
        for rule in host.rules:
            title = names(host) if len(rows) == first else host.id
            if host.id == "anthropic" or law(rule) not in of_claude:
                cells = models(rule), when(rule), turns(rule), carrier(rule), fill(rule), known(rule)
                rows.append([title, form(rule), *cells])
            elif rule.dialect not in borrowed:
                borrowed.add(rule.dialect)
                rows.append([title, form(rule), "Claude's", "", "as anthropic", "", "", ""])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def law(rule) -> tuple[object, ...]:
    """What a rule says, whoever's it is: several hosts serve Claude by Anthropic's own rules."""
    models = ("*claude*",) if rule.models == ("*",) else rule.models
    return models, rule.when, rule.window, rule.source, rule.date


def names(host) -> str:
    return ": ".join([host.id, *([", ".join(f"`{name}`" for name in host.hosts)] if host.hosts else [])])


def form(rule) -> str:
    return FORMS.get(rule.dialect, rule.dialect)


def models(rule) -> str:
    if rule.models == ("*",):
        return "all"
    more = f", {len(rule.models) - 3} more" if len(rule.models) > 3 else ""
    return ", ".join(f"`{glob}`" for glob in rule.models[:3]) + more


def when(rule) -> str:
    said = []
    if rule.when.tools is not None:
        said.append("tools" if rule.when.tools else "no tools")
    if rule.when.thinking is not None:
        said.append(f"thinking {' or '.join(rule.when.thinking)}")
    if rule.when.path is not None:
        said.append(f"path `{rule.when.path}`")
    return ", ".join(said)


def turns(rule) -> str:
    if rule.window == "none":
        return "none, and refused" if rule.requirement == "forbidden" else "none"
    switched = ", ".join(f"`{switch.param}` changes it" for switch in rule.switch)
    return TURNS[rule.window] + (f"; {switched}" if switched else "")


def carrier(rule) -> str:
    if rule.window == "none":
        return ""
    return ", ".join("the key it came in" if key == "same" else f"`{key}`" for key in rule.write)


def fill(rule) -> str:
    if rule.missing is None:
        return ""
    what = "the policy decides" if rule.missing.fill is None else f"`{rule.missing.fill!r}`"
    return f"{SCOPES[rule.missing.on]}: {what}"


def known(rule) -> str:
    return f"{rule.date.isoformat()}, {rule.confidence}"


def classes() -> str:
    from class_table import HEAD, rows

    shown = [HEAD, ["---"] * len(HEAD), *((f"`{cls}`", *cells) for cls, *cells in rows())]
    return "\n".join(f"| {' | '.join(row)} |" for row in shown)


TABLES = {"reasons": reasons, "hosts": hosts, "classes": classes}


def written(text: str, name: str) -> str:
    return re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- /{name} -->", text, re.DOTALL)[1]


def with_tables(text: str) -> str:
    for name, table in TABLES.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        found = mark.search(text)
        assert found
        text = text[: found.end(1)] + table() + "\n" + text[found.start(2) :]
    return text


REAL = {
    "deepseek": ("api.deepseek.com", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY"),
    "anthropic": ("api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}
"""Strict host -> the real one's name, and the variables with which clients find address and key."""


@contextlib.contextmanager
def real_hosts() -> Iterator[dict[str, str]]:
    """Strict hosts behind the clients' own variables, so that the README's code needs no address: name -> real name."""
    from reasoning_replay.testing import strict_host

    with contextlib.ExitStack() as stack:
        hosts = {kind: stack.enter_context(strict_host(kind)) for kind in REAL}
        stack.enter_context(mock.patch.dict(os.environ))
        for kind, (_, base, key) in REAL.items():
            os.environ.update({base: hosts[kind].url, key: "none"})
        yield {hosts[kind].name: REAL[kind][0] for kind in REAL}


def run_blocks(text: str) -> Iterator[tuple[str | None, str]]:
    """Run the Python of the page from top to bottom in one namespace; give each output as written and as it is."""
    import litellm

    litellm.suppress_debug_info = True  # stream_chunk_builder prints a list of providers, with the line or without
    space: dict[str, object] = {"__name__": "readme"}
    try:
        with real_hosts() as hosts:
            for block in BLOCK.finditer(text):
                if block["pytest"] is not None:
                    continue
                line = text.count("\n", 0, block.start("code"))
                code = compile("\n" * line + block["code"], str(README), "exec")
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    exec(code, space)
                yield block["output"], with_real_names(said.getvalue(), hosts)
    finally:
        for callback in list(litellm.callbacks):
            if hasattr(callback, "uninstall"):
                callback.uninstall()


def with_real_names(text: str, hosts: dict[str, str]) -> str:
    for name, real in hosts.items():
        text = text.replace(name, real)
    return text


def with_outputs(text: str) -> str:
    outputs = [actual for _, actual in run_blocks(text)]
    found = iter(outputs)

    def write(block: re.Match[str]) -> str:
        if block["pytest"] is not None:
            return block[0]
        actual = next(found)
        if block["output"] is None:
            return block[0]
        start, end = block.start("output") - block.start(), block.end("output") - block.start()
        return block[0][:start] + actual + block[0][end:]

    return BLOCK.sub(write, text)


def test_the_python_runs_against_a_strict_host_and_prints_what_the_page_says():
    for written, actual in run_blocks(README.read_text()):
        assert (written or "") == actual


def test_the_pytest_example_passes_as_a_user_would_run_it(tmp_path):
    (example,) = [block["code"] for block in BLOCK.finditer(README.read_text()) if block["pytest"] is not None]
    (tmp_path / "test_example.py").write_text(example)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["reasoning_replay.testing.plugin"]\n')
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    assert "1 passed" in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["reasons", "hosts", pytest.param("classes", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")  # the chat classes warn by the dozen
def test_a_table_is_what_the_library_says(name):
    assert written(README.read_text(), name) == TABLES[name](), "python tests/test_readme.py writes it anew"


def test_the_table_of_classes_has_a_row_for_every_class_that_is_known():
    from reasoning_replay.langchain._classes import ROWS

    rows = written(README.read_text(), "classes").splitlines()[2:]
    shown = {row.split("`")[1] for row in rows}
    inner = {"BaseChatOpenAI", "ChatQwen"}  # ChatOpenAI's base; ChatQwQ's sibling: the same hooks
    assert {row.name.partition(".")[2] for row in ROWS} - inner == shown


def test_the_page_links_to_every_chapter():
    text = README.read_text()
    chapters = re.findall(r"^## (.+)$", text, re.MULTILINE)
    links = re.findall(r"^\[(.+?)\]\(#(.+?)\)", text, re.MULTILINE)
    assert chapters == [title for title, _ in links]
    assert [re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-") for title, _ in links] == [to for _, to in links]


def test_one_sentence_a_line():
    text = re.sub(r"```.*?```", "", README.read_text(), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "<!--"))]
    assert [line for line in lines if re.search(r"[a-z`)][.?!] [A-Z]", re.sub(r"`[^`]*`", "`", line))] == []


def test_the_testing_page_is_at_most_80_lines_long():
    page = re.search(r"^## Testing$(.*?)^## ", README.read_text(), re.DOTALL | re.MULTILINE)[1]
    assert len(page.splitlines()) <= 80


if __name__ == "__main__":
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    README.write_text(with_tables(with_outputs(README.read_text())))
