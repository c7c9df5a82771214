"""How chat messages are read for where turns start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import Turns, plain

_RESULTS = frozenset({"tool", "function"})


def _is_result(message: Mapping[str, Any]) -> bool:
    return message.get("role") in _RESULTS


def _without_text(message: Mapping[str, Any]) -> bool:
    """Only parts that are no text: a picture that a tool took."""
    content = message.get("content")
    return isinstance(content, list) and not any(
        isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in ("text", "input_text"))
        for part in map(plain, content)
    )


TURNS = Turns(_is_result, _without_text)
