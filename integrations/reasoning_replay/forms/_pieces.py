"""How the pieces of a streamed reply become whole: texts that are joined or come whole each time; lists of parts.

A text that grows is a list of its pieces until somebody wants it: joined at each piece, 80,000 of them were copied for
four seconds (2026-11-30).
"""

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


class Grown(list[str]):
    """A text that is still growing: its pieces."""

    __slots__ = ()


def grow(holder: dict[str, Any], key: str, piece: str) -> None:
    """Lengthens a text in a message or a block that is put together."""
    text = holder.get(key)
    if isinstance(text, Grown):
        text.append(piece)
    else:
        holder[key] = Grown((text or "", piece))


def at_rest(value: Any) -> Any:
    """A copy in which every text is one string; what was put together may go on growing."""
    if isinstance(value, Grown):
        return "".join(value)
    if isinstance(value, dict):
        return {key: at_rest(inner) for key, inner in value.items()}
    return [at_rest(inner) for inner in value] if isinstance(value, list) else value


class Parts:
    """A content that comes as lists of parts, or as texts between them. Mutable: it holds what has arrived so far."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts so far."""
        parts: list[dict[str, Any]] = at_rest(self._parts)
        return parts

    def add(self, part: Mapping[str, Any]) -> None:
        """Joins a part to the last one of its type; a signed or opaque one stands for itself."""
        last = self._parts[-1] if self._parts else None
        if last is None or last.get("type") != part.get("type") or not _join(last, part):
            self._parts.append(at_rest(dict(part)))

    def text(self, text: str) -> None:
        """Adds plain text."""
        self.add({"type": "text", "text": text})


def _join(last: dict[str, Any], part: Mapping[str, Any]) -> bool:
    """Lengthens the last part by this one; False where they are two."""
    key = _LENGTHENED.get(str(part.get("type")))
    if key is None or _is_closed(last):
        return False
    before, more = last.get(key), part.get(key)
    if _is_text(before) and isinstance(more, str):
        grow(last, key, more)
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
    if _is_text(last.get("text")) and _is_text(more.get("text")) and last.get("signature") is None:
        grow(last, "text", more["text"])
        last.update((key, value) for key, value in more.items() if key != "text")
    else:
        inner.append(dict(more))


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, Grown))
