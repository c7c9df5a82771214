"""A stream on its way to the caller: the mark goes on, and what chunk merging would break goes out whole, once.

LangChain adds chunks up by rules of its own: strings join, list items with an equal `index` melt into one. So a mark is
written once, and a list of sealed pieces is put together here and leaves with the last chunk. What was never finished
keeps no mark where anything sealed can be in it.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from .._capture import Collector, capture_safely
from .._faults import fail_closed
from .._known import Known
from .._origin import MARK, Origin
from .._report import Report
from ..forms._langchain_blocks import is_item_id, reasoning_in
from ..forms._langchain_write import FIELD, IDS, SIGNATURES, TOOL_EXTRAS
from ._messages import LISTS, ON_WIRE, mark_chunk
from ._told import tell

DELTA = "reasoning_replay_delta"
"""Where a hook leaves a raw piece of a stream: a dict of the host's own keys."""
_BESIDE = frozenset({*ON_WIRE, FIELD, IDS, SIGNATURES, TOOL_EXTRAS})
_ENDS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""Keys under which a class says that the reply is complete."""


class StreamNotes:
    """What is known of one stream so far. Mutable."""

    def __init__(self, origin: Origin, report: Report, *, sealed: bool, known: Known | None = None) -> None:
        self._origin = origin
        self._report = report
        self._sealed = sealed
        self._known = known
        self._chunks: list[AIMessageChunk] = []
        self._raw: Collector | None = None
        self._found = self._marked = self._complete = False

    def passes(self, generation: ChatGenerationChunk) -> ChatGenerationChunk:
        """The chunk as it goes to the caller: the same object, with what is to be on it."""
        message = generation.message
        if isinstance(message, AIMessageChunk):
            fail_closed(self._origin.host, lambda: self._note(generation, message), lambda: None)
        return generation

    def _note(self, generation: ChatGenerationChunk, message: AIMessageChunk) -> None:
        delta = message.additional_kwargs.pop(DELTA, None)
        if delta is not None:
            self._raw = self._raw or Collector(self._origin, form="chat", known=self._known)
            self._raw.feed({"choices": [{"index": 0, "delta": delta}]})
            self._found = True
        message.additional_kwargs.pop(MARK, None)
        self._chunks.append(message)
        found = _holds_reasoning(message)
        self._found = self._found or found
        if found and not self._sealed and not self._marked:
            self._mark(message)
        if not self._complete and _ends(generation):
            self._complete = True
            tell(message, self._report)
            if self._found:
                self._finish(message)

    def _mark(self, message: AIMessageChunk) -> None:
        mark_chunk(message, self._origin)
        self._marked = True

    def _finish(self, message: AIMessageChunk) -> None:
        """The stream has ended: the mark, and the lists that only now are whole."""
        whole: dict[str, Any] | None = None
        if self._raw is not None:
            self._raw.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            whole = self._raw.result()
        if whole is not None:
            message.additional_kwargs.update({key: whole[key] for key in LISTS if key in whole})
            extras = {
                call.get("id"): call["extra_content"]
                for call in whole.get("tool_calls") or ()
                if "extra_content" in call
            }
            if extras:
                message.additional_kwargs[TOOL_EXTRAS] = extras
        if not self._marked:
            self._mark(message)

    def closes(self) -> ChatGenerationChunk | None:
        """What is still to be said once the stream has ended by itself; None for nothing."""
        if not self._found:
            return None
        last: ChatGenerationChunk | None = None
        if not self._complete:
            message = AIMessageChunk(content="")
            tell(message, self._report)
            self._finish(message)
            last = ChatGenerationChunk(message=message)
        fail_closed(self._origin.host, self._remember, lambda: None)
        return last

    def _remember(self) -> None:
        whole = self._chunks[0]
        if len(self._chunks) > 1:
            whole = whole + self._chunks[1:]
        capture_safely(whole, self._origin, form="langchain", known=self._known)


def _holds_reasoning(message: AIMessage) -> bool:
    """Whether there is anything of the host's own in a chunk."""
    if not _BESIDE.isdisjoint(message.additional_kwargs) or is_item_id(message.id):
        return True
    if is_item_id(message.response_metadata.get("id")):
        return True
    content: Any = message.content
    return isinstance(content, list) and any(
        reasoning_in(block) is not None or (isinstance(block, dict) and not _PLAIN.issuperset(block))
        for block in content
    )


_PLAIN = frozenset({"type", "text", "index"})
"""A text block with other keys may name an item of its host, or be sealed: it is looked at as a whole."""


def _ends(generation: ChatGenerationChunk) -> bool:
    told: dict[str, Any] = {**(generation.generation_info or {}), **generation.message.response_metadata}
    return (
        any(told.get(key) is not None for key in _ENDS) or getattr(generation.message, "chunk_position", None) == "last"
    )
