"""A stream on its way to the caller: the mark goes on, and what chunk merging would break goes out whole, once.

LangChain adds chunks up by rules of its own: strings join, list items with an equal `index` melt into one. So a mark is
written once, and a list of sealed pieces is put together here and leaves with the last chunk. What was never finished
keeps no mark where anything sealed can be in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from .._faults import fail_closed
from .._known import Known
from .._origin import MARK, Origin, from_mark
from .._plan import Plan
from .._report import Report
from ..forms import PSF
from ..forms._chat_stream import ChatStream
from ..forms._inline import inline_in
from ..forms._langchain_blocks import FIELD, IDS, LISTS, SIGNATURES, TOOL_EXTRAS, is_item_id, is_reply_id, reasoning_in
from ._messages import ON_WIRE, Fresh, forget_forged, fresh_mark, note_reply
from ._told import tell

DELTA = "reasoning_replay_delta"
"""Where a hook leaves a raw piece of a stream: a dict of the host's own keys."""
EXTRA = "extra_content"
_FRONT = 32
"""Characters of the visible text in which a tag of thinking would have begun."""
_BESIDE = frozenset({*ON_WIRE, FIELD, IDS, SIGNATURES, TOOL_EXTRAS})
_ENDS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""Keys under which a class says that the reply is complete."""


class StreamNotes:
    """What is known of one stream so far. Mutable."""

    def __init__(
        self,
        origin: Origin | None,
        *,
        later: bool,
        report: Callable[[], Report | None] = lambda: None,
        known: Known | None = None,
        answered: Callable[[AIMessage], Origin | None] | None = None,
        after: Plan | None = None,
    ) -> None:
        """Starts a stream.

        Args:
            origin: who is called; None where only the whole reply can tell (`answered`), or nobody can: then no mark.
            later: mark the last chunk, not the first with reasoning: half of something sealed may be in between.
            report: asked for what is told on the chunk that ends the reply.
            known: the store that notes the payloads.
            answered: asked for the origin once the reply is whole.
            after: the plan that the reply answers; a store keeps the whole reply under it.
        """
        self._origin = origin
        self._host = "custom:unpredicted" if origin is None else origin.host
        self._report = report
        self._later = later or origin is None
        self._known = known
        self._answered = answered
        self._after = after
        self._chunks: list[AIMessageChunk] = []
        self._raw: ChatStream | None = None
        self._front = ""
        self._found = self._marked = self._complete = self._inner = False

    def passes(self, generation: ChatGenerationChunk) -> ChatGenerationChunk:
        """The chunk as it goes to the caller: the same object, with what is to be on it."""
        message = generation.message
        if isinstance(message, AIMessageChunk):
            fail_closed(self._host, lambda: self._note(generation, message), lambda: None)
        return generation

    def _note(self, generation: ChatGenerationChunk, message: AIMessageChunk) -> None:
        forget_forged(message)
        delta = message.additional_kwargs.pop(DELTA, None)
        if delta is not None:
            whole = from_mark(_fields(message).get(MARK)) is not None  # our LiteLLM callback gives the lists once more
            self._raw = ChatStream(0) if whole or self._raw is None else self._raw
            self._raw.feed({"choices": [{"index": 0, "delta": delta}]})
        if isinstance(message.additional_kwargs.get(MARK), Fresh):
            self._inner = True  # a wrapped model that this one has handed the call on to knows who answers
        else:
            message.additional_kwargs.pop(MARK, None)  # one that came with the reply is somebody else's word
        self._chunks.append(message)
        found = _holds_reasoning(message) or self._begins_with_tags(message)
        self._found = self._found or found or delta is not None
        if found and not self._later and self._origin is not None and not self._marked and not self._inner:
            message.additional_kwargs[MARK] = fresh_mark(self._origin)
            self._marked = True
        if not self._complete and _ends(generation):
            self._finish(message)

    def _begins_with_tags(self, message: AIMessageChunk) -> bool:
        """Whether the visible text so far begins with thinking between tags; only its first words are looked at."""
        if self._found or len(self._front) > _FRONT:
            return False
        self._front += message.text
        return inline_in(self._front) is not None

    def _finish(self, message: AIMessageChunk) -> None:
        """The reply is complete: the report, the lists that only now are whole, and the mark."""
        self._complete = True
        if message.content == "" and any(isinstance(chunk.content, list) for chunk in self._chunks):
            message.content = []  # a chunk with a mark and no blocks would count as a block of empty text (v3)
        report = self._report()
        if report is not None:
            tell(message, report)
        if self._raw is not None:
            self._raw.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            whole = self._raw.result() or {}
            message.additional_kwargs.update({key: whole[key] for key in LISTS if key in whole})
            extras = {call.get("id"): call[EXTRA] for call in whole.get("tool_calls") or () if EXTRA in call}
            if extras:
                message.additional_kwargs[TOOL_EXTRAS] = extras
        if not self._found or self._marked or self._inner:
            return
        origin = self._origin if self._answered is None else self._answered(_sum(self._chunks))
        if origin is not None:
            message.additional_kwargs[MARK] = fresh_mark(origin)
            self._origin, self._marked = origin, True

    def closes(self) -> ChatGenerationChunk | None:
        """What is still to be said once the stream has ended by itself; None for nothing."""
        if not self._found:
            return None
        last: ChatGenerationChunk | None = None
        if not self._complete:
            message = AIMessageChunk(content="")
            fail_closed(self._host, lambda: self._finish(message), lambda: None)
            self._chunks.append(message)
            last = ChatGenerationChunk(message=message)
        if self._marked and self._origin is not None:
            origin = self._origin
            fail_closed(self._host, self._noted(origin), lambda: False)
        return last

    def _noted(self, origin: Origin) -> Callable[[], bool]:
        return lambda: note_reply(_sum(self._chunks), origin, self._known, self._after)


def _fields(message: AIMessageChunk) -> Mapping[str, Any]:
    fields = message.additional_kwargs.get(PSF)
    return fields if isinstance(fields, Mapping) else {}


def _sum(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return chunks[0] + chunks[1:] if len(chunks) > 1 else chunks[0].model_copy(deep=True)


def _holds_reasoning(message: AIMessage) -> bool:
    """Whether there is anything of the host's own in a chunk."""
    if not _BESIDE.isdisjoint(message.additional_kwargs) or is_item_id(message.id):
        return True
    if is_reply_id(message.response_metadata.get("id")):
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
