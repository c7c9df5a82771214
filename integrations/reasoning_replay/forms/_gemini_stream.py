"""A Gemini reply put together from the chunks of a stream. Mutable: it holds what has arrived so far.

Texts of one kind are joined until something else comes; a part with a signature is never joined with another, so the
empty text that brings one at the end stays a part of its own. A stream that never finished keeps no signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import as_mapping
from ._pieces import Grown, at_rest, grow

SEALS = ("thoughtSignature", "thought_signature")
_JOINED = frozenset({"text", "thought"})


def seal_of(part: Mapping[str, Any]) -> Any:
    """A part's signature as it stands there, under either name; None for none."""
    return next((part[key] for key in SEALS if part.get(key) is not None), None)


def bare(part: Mapping[str, Any]) -> dict[str, Any]:
    """The part without its signature."""
    return {key: value for key, value in part.items() if key not in SEALS}


def content_of(candidate: Any) -> Mapping[str, Any]:
    """The content of a candidate; one that was cut off may have none."""
    found = as_mapping((as_mapping(candidate) or {}).get("content")) or {}
    parts = [dict(part) for each in found.get("parts") or () if (part := as_mapping(each)) is not None]
    return {**found, "parts": parts, "role": found.get("role") or "model"}


class GeminiStream:
    """One candidate of a streamed reply."""

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._parts: list[dict[str, Any]] = []
        self._seen = self._finished = False

    def feed(self, chunk: Any) -> None:
        """Takes the next chunk: a dict or an SDK's object. A chunk without this candidate changes nothing."""
        for each in (as_mapping(chunk) or {}).get("candidates") or ():
            candidate = as_mapping(each) or {}
            if (candidate.get("index") or 0) != self._choice:
                continue
            self._seen = True
            for part in content_of(candidate)["parts"]:
                self._part(part)
            reason = candidate.get("finishReason", candidate.get("finish_reason"))
            self._finished = self._finished or reason is not None

    def _part(self, part: dict[str, Any]) -> None:
        if part == {"text": ""}:
            return
        last = self._parts[-1] if self._parts else None
        if last is not None and _joins(last) and _joins(part) and last.get("thought") == part.get("thought"):
            grow(last, "text", part["text"])
        else:
            self._parts.append(part)

    def result(self) -> dict[str, Any] | None:
        """The content so far; None while nothing has come that can stay. Unfinished: without any signature."""
        if not self._seen:
            return None
        parts: list[dict[str, Any]] = at_rest(self._parts)
        if not self._finished:
            parts = [left for part in parts if (left := bare(part)) not in ({}, {"text": ""}) and not _opaque(left)]
        return {"parts": parts, "role": "model"} if parts or self._finished else None


def _joins(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), (str, Grown)) and _JOINED.issuperset(part)


def _opaque(part: Mapping[str, Any]) -> bool:
    """A thought that is no text."""
    return part.get("thought") is True and not isinstance(part.get("text"), str)
