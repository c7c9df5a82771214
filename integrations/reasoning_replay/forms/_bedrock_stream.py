"""A Converse reply put together from the events of ConverseStream. Mutable: it holds what has arrived so far.

An event is a dict with its name as the one key, as boto3 gives it. A block counts when its `contentBlockStop` has come;
a stream that never stopped keeps no sealed block and no call whose input is not whole.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from . import as_mapping
from ._pieces import at_rest, grow

KEY = "reasoningContent"
_TEXTS = ("text", "signature")


class BedrockStream:
    """One streamed reply of Converse."""

    def __init__(self, choice: int = 0) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._bytes: dict[int, list[Any]] = {}
        self._closed: set[int] = set()
        self._seen = self._finished = False

    def feed(self, chunk: Any) -> None:
        """Takes the next event. Events of other names change nothing."""
        for name, payload in (as_mapping(chunk) or {}).items():
            event = as_mapping(payload) or {}
            index = event.get("contentBlockIndex")
            if name == "messageStart":
                self._seen = True
            elif name == "messageStop":
                self._finished = True
            elif name == "contentBlockStart" and isinstance(index, int):
                self._start(index, as_mapping(event.get("start")) or {})
            elif name == "contentBlockDelta" and isinstance(index, int):
                self._delta(index, as_mapping(event.get("delta")) or {})
            elif name == "contentBlockStop" and isinstance(index, int):
                self._stop(index)

    def _start(self, index: int, start: Mapping[str, Any]) -> None:
        self._seen = True
        call = as_mapping(start.get("toolUse"))
        if call is not None:
            self._blocks[index] = {"toolUse": {**call, "input": {}}}
            self._inputs[index] = []

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        self._seen = True
        call, thought = as_mapping(delta.get("toolUse")), as_mapping(delta.get(KEY))
        if call is not None:
            self._inputs.setdefault(index, []).append(str(call.get("input") or ""))
        elif thought is not None:
            self._thought(index, thought)
        elif isinstance(delta.get("text"), str):
            grow(self._blocks.setdefault(index, {}), "text", delta["text"])

    def _thought(self, index: int, thought: Mapping[str, Any]) -> None:
        data = thought.get("redactedContent")
        if data is not None:
            pieces = self._bytes.setdefault(index, [])
            pieces.append(data)
            self._blocks[index] = {KEY: {"redactedContent": _whole(pieces)}}
            return
        said = self._blocks.setdefault(index, {KEY: {"reasoningText": {"text": ""}}})[KEY]["reasoningText"]
        for key in _TEXTS:
            if isinstance(thought.get(key), str):
                grow(said, key, thought[key])

    def _stop(self, index: int) -> None:
        given = "".join(self._inputs.get(index, ()))
        if given != "" and index in self._blocks:
            try:
                self._blocks[index]["toolUse"]["input"] = json.loads(given)
            except ValueError:
                return
        self._closed.add(index)

    def result(self) -> dict[str, Any] | None:
        """The message so far; None while nothing has come that can stay. Unfinished: without any sealed block."""
        if not self._seen:
            return None
        blocks = [
            block
            for index, block in sorted(at_rest(self._blocks).items())
            if self._finished or "text" in block or (index in self._closed and not _is_sealed(block))
        ]
        return {"role": "assistant", "content": blocks} if blocks or self._finished else None


def _whole(pieces: list[Any]) -> Any:
    """Redacted bytes in one: bytes as they are, base64 by what it stands for."""
    if len(pieces) == 1:
        return pieces[0]
    whole = b"".join(base64.b64decode(piece) if isinstance(piece, str) else bytes(piece) for piece in pieces)
    return base64.b64encode(whole).decode() if isinstance(pieces[0], str) else whole


def _is_sealed(block: Mapping[str, Any]) -> bool:
    inside = block.get(KEY)
    return inside is not None and ("redactedContent" in inside or "signature" in inside["reasoningText"])
