"""What a closed schema's refusal names: a key of reasoning in a message, or something else.

The same words refuse a tool, a parameter and a key of a message. The place tells them apart: `messages…` and what
stands in it is the history; `reasoning_effort`, `thinking`, `tools…` at the top of the body are the request's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..forms._carriers import SEALED, STRINGS

_REQUEST = frozenset({"reasoning", "thinking"})
"""Keys of a message and of a request: which one is meant, only the place says."""
_KEYS = frozenset({*STRINGS, *SEALED, "reasoning_details", "reasoning_items", "thinking_blocks", "redacted_thinking"})
_KEYS |= {"thought", "thoughtSignature", "reasoningContent", "reasoningText"}
"""Keys under which reasoning stands in a message."""
_MESSAGES = frozenset({"messages", "input", "contents"})
_SPEAKERS = frozenset({"assistant", "message"})
_NAMED = (
    re.compile(r"(?<![\w.\[\]])([\w.\[\]]+): Extra inputs are not permitted"),
    re.compile(r"^([\w.\[\]]+)\n\s{1,8}Extra inputs are not permitted", re.MULTILINE),  # pydantic's `str`
    re.compile(r"Extra inputs are not permitted, field: '([^'\n]{0,300})'"),
    re.compile(r"Unrecognized request arguments? supplied: ([\w.\[\]]{1,300})"),
    re.compile(r"(?:Unknown|Unsupported) parameter: '([^'\n]{0,300})'"),
    re.compile(r"property '([^'\n]{0,300})' is unsupported"),
    re.compile(r"[`']([\w.\[\]]+)[`']: reasoning is not supported"),
    re.compile(r"extra_forbidden\\?[\"'],\s{0,9}\\?[\"']loc\\?[\"']:\s{0,9}[\[(]([^\])]{0,300})[\])]"),
    re.compile(r"[\"']loc\\?[\"']:\s{0,9}[\[(]([^\])]{0,300})[\])],\s{0,9}\\?[\"']msg\\?[\"']: ?\\?[\"']Extra inputs"),
)
"""Words of a closed schema, and what they name. Each begins with a word, or at the first character of a run, and
holds nothing unbounded that could begin again inside itself: they are linear."""
_LOC = (re.compile(r"[\"']loc\\?[\"']:\s{0,9}[\[(]([^\])]{0,300})[\])]"),)
_BETWEEN = re.compile(r"[^\w-]+")
_NEAR = 200
"""Characters before a bare name in which its message is named: "'messages.1' : property 'reasoning' is unsupported"."""
_OF_A_MESSAGE = re.compile(r"(?:messages|input|contents)[.\[]\d|role:assistant")


def is_elsewhere(text: str) -> bool:
    """Whether a refusal names something, and nothing that it names is reasoning in a message."""
    named = [*_names(text, _NAMED)] or [*_names(text, _LOC)]
    return bool(named) and not any(_is_ours(name, before) for name, before in named)


def _names(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[tuple[str, str]]:
    """Each name, and what stands before it."""
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield found[1], text[max(0, found.start() - _NEAR) : found.start()]


def _is_ours(name: str, before: str) -> bool:
    words: list[Any] = [word for word in _BETWEEN.split(name) if word not in ("", "body")]
    words = [word for word in words if not word.isdigit()]
    if not words:
        return False
    last, certain = words[-1], _KEYS - _REQUEST
    if words[0] in _MESSAGES:
        return last in _KEYS or not certain.isdisjoint(words[1:])
    if len(words) == 1:
        return last in certain or (last in _REQUEST and _OF_A_MESSAGE.search(before) is not None)
    return words[0] in _SPEAKERS and last in _KEYS
