"""A stream on its way to the caller: what LiteLLM's chunks and its builder lose is written onto the last chunk.

`litellm.stream_chunk_builder` keeps the last value of each key in `delta.provider_specific_fields`: the mark, the
merged `reasoning_details` and the order of an interleaved reply ride there, on the chunk with the finish reason. A
stream with readable reasoning alone carries its mark from the first reasoning on, so that a broken one still replays;
anything sealed is marked at the finish only. Nothing here is ever visible text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._capture import Collector
from .._origin import MARK, Origin, mark_id, to_mark
from ..forms import LAYOUT, PSF
from ..forms._pieces import at_rest, grow
from ._keeping import Keeping

_DETAILS = "reasoning_details"
CARRIED = (MARK, _DETAILS, LAYOUT)
"""What the finish chunk carries, where the reply has it."""
_SEALED = (_DETAILS, "thinking_blocks", "reasoning_items")
_READABLE = ("reasoning_content", "reasoning")
_UNFINISHED = "~"
"""Ends a mark's id and so breaks it: its reply is not to be trusted before the finish. It still tells streams apart."""


class StreamNotes:
    """What has arrived of one stream, choice by choice. Mutable; lives as long as its stream."""

    def __init__(self, origin: Origin, keeping: Keeping, *, quiet: bool = False) -> None:
        self._origin = origin
        self._quiet = quiet
        """LiteLLM makes another dialect of the chunks: nothing is written on them."""
        self._keeping = keeping
        self._choices: dict[int, _Choice] = {}

    def arrived(self, chunk: Any) -> None:
        """Takes a chunk as the host sent it, before LiteLLM drops anything."""
        for choice in getattr(chunk, "choices", None) or ():
            notes = self._choice(choice)
            notes.collector.feed(chunk)
            details = getattr(choice.delta, _DETAILS, None)
            notes.waiting += details if isinstance(details, list) else ()

    def leaves(self, chunk: Any, *, complete: bool = True) -> None:
        """Notes on the chunk that the caller is about to get; `complete`: the host itself said that it is done."""
        for choice in getattr(chunk, "choices", None) or ():
            notes = self._choice(choice)
            if not self._quiet:
                notes.catch_up(choice.delta)
            if getattr(choice, "finish_reason", None) is not None:
                if complete and self._quiet:
                    notes.collector.result()
                elif complete:
                    notes.finish(choice.delta, self._origin)
            elif not self._quiet:
                notes.running(choice.delta, self._origin)

    def _choice(self, choice: Any) -> _Choice:
        index = getattr(choice, "index", None) or 0
        if index not in self._choices:
            self._choices[index] = _Choice(self._keeping.collector(self._origin, "litellm", index), self._keeping)
        return self._choices[index]


class _Choice:
    """One choice: its parts so far, and what its chunks were told of the mark. Mutable."""

    def __init__(self, collector: Collector, keeping: Keeping) -> None:
        self.collector = collector
        self._keeping = keeping
        self._told: dict[str, Any] | None = None
        self.waiting: list[Any] = []
        """Details that have arrived since the last chunk left."""

    def catch_up(self, delta: Any) -> None:
        """Puts on a delta what came in deltas that LiteLLM swallowed, since they held nothing but details."""
        waiting, self.waiting = self.waiting, []
        if waiting and waiting != getattr(delta, _DETAILS, None):
            setattr(delta, _DETAILS, waiting)

    def running(self, delta: Any, origin: Origin) -> None:
        if self._keeping.sealed:  # its mark is made of the whole, at the finish
            _write(delta, {})
            return
        note = to_mark(origin)
        if any(getattr(delta, key, None) is not None for key in _SEALED) or _has_sealed_call(delta):
            note["id"] += _UNFINISHED
        elif all(getattr(delta, key, None) is None for key in _READABLE) or self._told is not None:
            note = {}
        if len(note) > 0 and note != self._told:
            self._told = note
            _write(delta, {MARK: note})
        else:
            _write(delta, {})

    def finish(self, delta: Any, origin: Origin) -> None:
        reply = self.collector.result() or {}
        found = {**reply, **(reply.get(PSF) or {})}
        if found.get(MARK) != to_mark(origin):
            found = {}  # no reasoning was seen: a mark in it is the host's own word
        elif self._keeping.sealed:
            found[MARK] = (self._keeping.shown(reply, "litellm").get(PSF) or {}).get(MARK)
        _write(delta, {key: found[key] for key in CARRIED if found.get(key) is not None})


def _has_sealed_call(delta: Any) -> bool:
    return any(
        getattr(call, "extra_content", None) is not None or getattr(call, PSF, None) is not None
        for call in getattr(delta, "tool_calls", None) or ()
    )


def _write(delta: Any, notes: dict[str, Any]) -> None:
    """Adds notes to a delta, and takes out a mark that the host sent: it says nothing."""
    there = getattr(delta, PSF, None)
    there = there if isinstance(there, Mapping) else {}
    if notes or MARK in there:
        setattr(delta, PSF, {key: value for key, value in there.items() if key != MARK} | notes)


def of_one_origin(fields: Any, chunks: Any) -> Any:
    """The fields of a reply put together from `chunks`; with a broken mark where they come from two hosts.

    An app that goes on elsewhere after a broken stream, and builds one reply of all chunks, has two hosts' reasoning
    in one text. (LiteLLM's own Router does not go on once there was reasoning.)
    """
    deltas = (choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"])
    notes = (delta.get(PSF) for delta in deltas)
    marks = {mark_id(each.get(MARK)) for each in notes if isinstance(each, Mapping) and MARK in each}
    if None not in marks and len({str(mark).removesuffix(_UNFINISHED) for mark in marks}) < 2:
        return fields
    return of_nobody(fields)


def of_nobody(fields: Any) -> Any:
    """The fields of a reply with a broken mark: where it came from is not known."""
    return {key: value for key, value in fields.items() if key not in CARRIED} | {MARK: {"id": _UNFINISHED, "v": 1}}


def joined_blocks(chunks: Any) -> list[dict[str, Any]] | None:
    """The thinking blocks of a stream, apart as the host sent them; None where its fragments carry no number.

    None too where they are not what LiteLLM makes of Anthropic's blocks. Its own builder closes a block at its
    signature only, so that an unsigned block is glued onto the signed one after it: `Invalid signature` at the next
    request (https://github.com/BerriAI/litellm/issues/33034 is a relative).
    """
    blocks: dict[Any, dict[str, Any]] = {}
    for fragment in _fragments(chunks):
        number = fragment.get("index") if isinstance(fragment, Mapping) else None
        if not isinstance(number, int):
            return None
        kind = fragment.get("type") or "thinking"
        if kind == "redacted_thinking":
            blocks[number] = {"type": kind, "data": fragment.get("data")}
            continue
        block = blocks.setdefault(number, {"type": kind, "thinking": "", "signature": ""})
        text = fragment.get("thinking")
        grow(block, "thinking", text if isinstance(text, str) else "")
        signature = fragment.get("signature")
        if isinstance(signature, str) and len(signature) > 0:
            block["signature"] = signature
    return list(at_rest(blocks).values()) if len(blocks) > 0 else None


def _fragments(chunks: Any) -> list[Any]:
    deltas = (choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"])
    lists = (delta.get("thinking_blocks") for delta in deltas)
    return [fragment for fragments in lists if isinstance(fragments, list) for fragment in fragments]
