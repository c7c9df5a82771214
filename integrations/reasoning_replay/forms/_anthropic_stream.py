"""An Anthropic reply put together from stream events. Mutable: it holds what has arrived so far.

A block counts when its `content_block_stop` has come. A stream that never finished keeps no sealed block and no call
whose arguments are incomplete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import as_mapping
from ._carriers import block_code
from ._pieces import at_rest, grow

_JOINED = {"thinking_delta": "thinking", "text_delta": "text", "signature_delta": "signature"}
"""Delta type → the block's field that it lengthens."""
_SEALED = frozenset({"signed", "hollow", "redacted", "opaque"})


class AnthropicStream:
    """One streamed reply of the messages API."""

    def __init__(self, choice: int = 0) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._closed: set[int] = set()
        self._seen = self._finished = False

    def feed(self, chunk: Any) -> None:
        """Takes the next event: a dict or an SDK's object. Events of other types change nothing."""
        event = as_mapping(chunk) or {}
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            self._seen = True
        elif kind == "content_block_start" and isinstance(index, int):
            self._seen = True
            self._blocks[index] = dict(as_mapping(event.get("content_block")) or {})
        elif kind == "content_block_delta" and isinstance(index, int):
            self._delta(index, as_mapping(event.get("delta")) or {})
        elif kind == "content_block_stop" and isinstance(index, int):
            self._stop(index)
        elif kind == "message_stop":
            self._finished = True

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index)
        kind = str(delta.get("type"))
        if block is None:
            return
        if kind == "input_json_delta":
            self._arguments.setdefault(index, []).append(str(delta.get("partial_json") or ""))
        elif kind in _JOINED:
            field = _JOINED[kind]
            grow(block, field, delta.get(field) or "")

    def _stop(self, index: int) -> None:
        arguments = "".join(self._arguments.get(index, ()))
        if arguments != "":
            try:
                self._blocks[index]["input"] = json.loads(arguments)
            except ValueError:
                return
        self._closed.add(index)

    def result(self) -> dict[str, Any] | None:
        """The assistant message so far; None while nothing has come. Unfinished: without any sealed block."""
        if not self._seen:
            return None
        blocks = [
            block
            for index, block in sorted(at_rest(self._blocks).items())
            if self._finished or (block_code(block) not in _SEALED and (index in self._closed or "text" in block))
        ]
        return {"role": "assistant", "content": blocks}
