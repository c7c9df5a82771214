"""Thinking that a host writes into its visible text: a pair of tags in front of the answer.

At the host that wrote it the text is as it came, tags and all (MiniMax: it "must be preserved completely",
https://platform.minimax.io/docs/api-reference/text-openai-api, 2026-09). LiteLLM splits at the same place and keeps
every other byte (1.110.2 `parse_content_for_reasoning`), so what it took apart can be put together again.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

INLINE = "content.think"
_OPEN = re.compile(r"\s*<(think|thinking)>")
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


def with_inline(text: str, content: str) -> str:
    """The content with thinking in front, as LiteLLM found it."""
    return f"<think>{text}</think>{content}"
