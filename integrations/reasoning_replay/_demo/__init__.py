"""`reasoning-replay demo`: tool loops of the real frameworks against strict hosts, without the line and with it.

Every half is run, nothing is assumed: where an installed framework no longer breaks, the story says so. A framework is
a row of CHAPTERS and a module here; what all share is `_stage`. The exit status is 1 when a half with the line is not
clean, 2 when there is nothing to run.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from ._stage import Chapter, Half, Stage, close, play


class Row(NamedTuple):
    """One row of CHAPTERS."""

    module: str
    needs: tuple[str, ...]
    """Without one of these packages the chapter is left out."""


CHAPTERS = {
    "LiteLLM": Row("_litellm", ("litellm",)),
    "LangChain": Row("_langchain", ("langchain", "langchain_deepseek", "langchain_openai")),
}


def main(*, plain: bool = False, install: str = "") -> int:
    """Tell the whole story; `install` is the command that brings what is missing."""
    stage = Stage(plain=plain)
    halves: list[tuple[Half, Half]] = []
    for name, row in CHAPTERS.items():
        missing = [package for package in row.needs if find_spec(package) is None]
        if missing:
            stage.say(f"{name} is left out: {missing[0].replace('_', '-')} is not installed; {install}\n")
            continue
        chapter: Chapter = import_module(f".{row.module}", __name__).chapter()
        halves += play(stage, chapter, install)
    if not halves:
        print(f"reasoning-replay demo: no framework to run; {install}", file=sys.stderr)
        return 2
    return close(stage, halves)
