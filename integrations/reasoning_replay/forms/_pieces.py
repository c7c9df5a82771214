"""How the pieces of a streamed reply become whole: texts that are joined or come whole each time; lists of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

SURE = 3
"""Pieces after which a text that always begins with the one before is taken for a snapshot (a guess, 2026-11)."""
LONG = 8
"""Characters of the first of two such pieces that make chance unlikely (a guess): a model may say "a" and then "ah"."""


def whole_text(pieces: Sequence[str]) -> str:
    """The text of a stream's pieces: joined, or the last one where each is all that was said so far (MiniMax).

    Source: omp's changelog, #2433; camel-ai 0.2.90 `models/minimax_model.py`.
    """
    said = [piece for piece in pieces if piece != ""]
    grows = len(said) > 1 and len(said[-1]) > len(said[0]) and all(b.startswith(a) for a, b in pairwise(said))
    return said[-1] if grows and (len(said) >= SURE or len(said[0]) >= LONG) else "".join(pieces)


class Parts:
    """A content that comes as lists of parts, or as texts between them. Mutable: it holds what has arrived so far."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []

    def add(self, part: Mapping[str, Any]) -> None:
        """Joins a part to the last one of its type; a signed or opaque one stands for itself."""
        last = self.parts[-1] if self.parts else None
        if last is None or last.get("type") != part.get("type") or not _join(last, part):
            self.parts.append({key: list(value) if isinstance(value, list) else value for key, value in part.items()})

    def text(self, text: str) -> None:
        """Adds plain text."""
        self.add({"type": "text", "text": text})


def _join(last: dict[str, Any], part: Mapping[str, Any]) -> bool:
    """Lengthens the last part by this one; False where they are two."""
    key = _LENGTHENED.get(str(part.get("type")))
    if key is None or _is_closed(last):
        return False
    before, more = last.get(key), part.get(key)
    if isinstance(before, str) and isinstance(more, str):
        last[key] = before + more
    elif isinstance(before, list) and isinstance(more, list):
        for inner in more:
            _append(before, inner)
    else:
        return False
    last.update((name, value) for name, value in part.items() if name not in (key, "type"))
    return True


_LENGTHENED = {"text": "text", "thinking": "thinking", "reasoning": "summary"}
"""Type of a part → the field that its pieces lengthen: Mistral's chunks, Databricks' parts."""


def _is_closed(part: Mapping[str, Any]) -> bool:
    return part.get("closed") is True or part.get("signature") is not None


def _append(inner: list[Any], more: Any) -> None:
    """Joins a text to the last one inside; what seals it comes last and stays beside it."""
    last = inner[-1] if inner else None
    if not isinstance(last, dict) or not isinstance(more, Mapping) or last.get("type") != more.get("type"):
        inner.append(dict(more) if isinstance(more, Mapping) else more)
        return
    if isinstance(last.get("text"), str) and isinstance(more.get("text"), str) and last.get("signature") is None:
        inner[-1] = {**last, **more, "text": last["text"] + more["text"]}
    else:
        inner.append(dict(more))
