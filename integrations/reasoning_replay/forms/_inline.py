"""Thinking that a host writes into its visible text: a pair of tags in front of the answer.

At the host that wrote it the text is as it came, tags and all (MiniMax: it "must be preserved completely",
https://platform.minimax.io/docs/api-reference/text-openai-api, 2026-09). LiteLLM splits at the same place and keeps
every other byte (1.110.2 `parse_content_for_reasoning`), so what it took apart can be put together again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

INLINE = "content.think"
_OPEN = re.compile(r"\s*<(think|thinking)>")
_TAG = re.compile(r"<(/?)(?:budget:)?think(?:ing)?>")
"""Every pair that LiteLLM knows (1.110.2 `_parse_content_for_reasoning`), wherever it stands."""
_FRONT = 16
"""Characters in which the tag must begin: what is looked at in every message of a history."""


class Inline(NamedTuple):
    """A text with thinking in front."""

    text: str
    """Between the tags; all that follows where the second one never came."""
    rest: str
    """What is said to the user."""


def inline_in(content: Any) -> Inline | None:
    """The thinking in front of a text; None for a text without, and for anything else."""
    if not isinstance(content, str) or "<think" not in content[:_FRONT]:
        return None
    opened = _OPEN.match(content)
    if opened is None:
        return None
    text, _, rest = content[opened.end() :].partition(f"</{opened[1]}>")
    return Inline(text, rest.lstrip())


class InlineWithin(NamedTuple):
    """A content with thinking in front of its first text."""

    text: str
    rest: Any
    """The content without it: a text, or a list in which a text that held nothing else is missing."""


def inline_within(content: Any) -> InlineWithin | None:
    """The thinking in front of a content that is a text or a list of parts; None where there is none."""
    if not isinstance(content, list):
        inline = inline_in(content)
        return None if inline is None else InlineWithin(*inline)
    for place, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if isinstance(text, str):
            inline = inline_in(text)
            if inline is None:
                return None
            left = [{**part, "text": inline.rest}] if inline.rest != "" else []
            return InlineWithin(inline.text, [*content[:place], *left, *content[place + 1 :]] or "")
    return None


class Tagged(NamedTuple):
    """Thinking between tags anywhere in a text: where its tag opens, where it starts and ends, where its tag ends."""

    begin: int
    start: int
    end: int
    stop: int


def tagged_in(text: str) -> list[Tagged]:
    """All thinking in a text, for copies that people read: too much rather than too little. Replay reads `inline_in`.

    A closing tag without an opening one ends thinking too: templates open it in the prompt (R1, Qwen3-Thinking). An
    opening one that is never closed hides the rest. A tag between backticks is spoken of, and is none.
    """
    found: list[Tagged] = []
    if "think" not in text:
        return found
    opened: tuple[int, int] | None = None
    shown = 0
    for tag in _TAG.finditer(text):
        if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            continue
        if tag[1] == "":
            opened = opened or tag.span()
            continue
        found.append(Tagged(*(opened or (shown, shown)), *tag.span()))
        opened, shown = None, tag.end()
    return found if opened is None else [*found, Tagged(*opened, len(text), len(text))]


def untagged(text: str) -> str:
    """The text without any thinking between tags; the very same text where there is none."""
    found = tagged_in(text)
    if not found:
        return text
    ends = [0, *(each.stop for each in found)]
    begins = [*(each.begin for each in found), len(text)]
    left = "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))
    return left.lstrip() if text[: found[0].begin].isspace() or found[0].begin == 0 else left


def with_inline(text: str, content: str) -> str:
    """The content with thinking in front, as LiteLLM found it."""
    return f"<think>{text}</think>{content}"
