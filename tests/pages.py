"""The Markdown pages as programs: which blocks they hold, who runs each, and a run of a page from top to bottom.

A block's comment says what it is (`<!-- cli -->`); Python without a comment is run as it stands. RUNS names the test that
runs each kind, and a test sees that every block of every page is of one of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

ROOT = Path(__file__).parent.parent
HOUSE = "integrations/reasoning_replay"
README = "README.md"
HOSTS = f"{HOUSE}/hosts/README.md"
PAGES = (
    README,
    HOSTS,
    f"{HOUSE}/langchain/README.md",
    f"{HOUSE}/litellm/README.md",
    f"{HOUSE}/stores/README.md",
    f"{HOUSE}/transcripts/README.md",
    "tests/clients/README.md",
)

RUNS = {
    "python": "test_the_blocks_of_a_page_run_and_print_what_it_says",
    "file": "test_the_blocks_of_a_page_run_and_print_what_it_says",
    "cli": "test_the_blocks_of_a_page_run_and_print_what_it_says",
    "pytest": "test_the_pytest_examples_pass_as_a_user_would_run_them",
    "install": "test_what_the_pages_install_is_there_to_install",
    "script": "test_a_script_that_a_page_starts_takes_the_words_that_stand_there",
    "probe": "test_the_probe_of_the_page_writes_a_rule_file",
    "command": ".ci/run",
    "contribute": "test_the_steps_of_a_contribution_name_tables_and_tests_that_there_are",
    "start": "tests/proxy/test_quick_start.py",
    "client": "tests/proxy/test_quick_start.py",
    "settings": "tests/proxy/test_quick_start.py",
    "picture": "test_the_picture_is_in_words_that_github_draws",
}
"""Kind of block -> who runs it."""

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block, and the output that stands behind it."""

    kind: str
    name: str
    """What stands behind the colon of its comment: a file's name."""
    text: str
    output: str | None
    line: int
    span: tuple[int, int] | None
    """Where the output stands in the page."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks(page: str, *kinds: str) -> list[Block]:
    """The blocks of a page, of these kinds or of all."""
    text = text_of(page)
    found = []
    for match in _BLOCK.finditer(text):
        kind, _, name = (match["mark"] or match["language"]).partition(": ")
        span = match.span("output") if match["output"] is not None else None
        line = text.count("\n", 0, match.start("text"))
        found.append(
            Block({"cli": "file"}.get(kind, kind) if name else kind, name, match["text"], match["output"], line, span)
        )
    return [block for block in found if not kinds or block.kind in kinds]


REAL = {
    "deepseek": ("api.deepseek.com", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY"),
    "anthropic": ("api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}
"""Strict host -> the real one's name, and the variables with which clients find address and key."""


@contextlib.contextmanager
def real_hosts() -> Iterator[dict[str, str]]:
    """Strict hosts behind the clients' own variables, so that a page's code needs no address: name -> real name."""
    from reasoning_replay.testing import strict_host

    with contextlib.ExitStack() as stack:
        hosts = {kind: stack.enter_context(strict_host(kind)) for kind in REAL}
        stack.enter_context(mock.patch.dict(os.environ))
        for kind, (_, base, key) in REAL.items():
            os.environ.update({base: hosts[kind].url, key: "none"})
        yield {hosts[kind].name: REAL[kind][0] for kind in REAL}


def run(page: str) -> Iterator[tuple[Block, str]]:
    """Run a page from top to bottom, its Python in one namespace, in a folder of its own: each block and what it printed."""
    import litellm

    litellm.suppress_debug_info = True  # stream_chunk_builder prints a list of providers, with the line or without
    space: dict[str, object] = {"__name__": "page"}
    try:
        with real_hosts() as hosts, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for block in blocks(page, "python", "file", "cli"):
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    _run(block, page, space)
                actual = said.getvalue()
                for name, real in hosts.items():
                    actual = actual.replace(name, real)
                yield block, actual
    finally:
        for callback in list(litellm.callbacks):
            if hasattr(callback, "uninstall"):
                callback.uninstall()


def _run(block: Block, page: str, space: dict[str, object]) -> None:
    from reasoning_replay import _cli

    if block.kind == "file":
        Path(block.name).write_text(block.text)
    elif block.kind == "cli":
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "reasoning-replay"
            _cli.main(words[1:])
    else:
        exec(compile("\n" * block.line + block.text, str(ROOT / page), "exec"), space)


def with_outputs(page: str) -> str:
    """The page with what its blocks print today."""
    text = text_of(page)
    for block, actual in reversed(list(run(page))):
        if block.span is not None:
            text = text[: block.span[0]] + actual + text[block.span[1] :]
    return text
