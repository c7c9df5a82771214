"""Streams of the Responses API and of the messages API on their way to the caller.

A Responses item that can be read by whoever has it is marked when it closes; anything sealed at the end of the reply
only, on the items that the caller got before too. The messages API streams bytes, in which there is no place for a mark
behind a block that is whole: what it brought is found by `known`. Nothing here is ever visible text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Any

from .._faults import fail_closed
from .._origin import MARK, Origin
from .._report import Report
from ..forms import PSF, as_mapping
from ..forms._carriers import item_code
from ..forms._responses_stream import replayable
from ._keeping import Keeping
from ._told import tell

_CLOSED = "response.output_item.done"
_COMPLETED = "response.completed"


class EventNotes:
    """What has arrived of one Responses stream. Mutable; lives as long as its stream."""

    def __init__(self, origin: Origin, keeping: Keeping, report: Report | None, *, quiet: bool = False) -> None:
        self._origin = origin
        self._report = report
        self._keeping = keeping
        self._collector = keeping.collector(origin, "responses")
        self._quiet = quiet
        """LiteLLM makes another dialect of the events: nothing is written on them."""
        self._items: list[Any] = []

    def event(self, event: Any) -> None:
        """Takes an event that the caller is about to get."""
        self._collector.feed(event)
        kind = getattr(event, "type", None)
        if kind == _CLOSED:
            self._closed(getattr(event, "item", None))
        elif kind == _COMPLETED:
            self._completed(getattr(event, "response", None))

    def _closed(self, item: Any) -> None:
        self._items.append(item)
        found = as_mapping(item) or {}
        if not self._quiet and found.get("type") == "reasoning" and item_code(found) == "text":
            mark_item(item, self._origin, self._keeping)

    def _completed(self, reply: Any) -> None:
        tell(reply, self._report)
        found: Any = self._collector.result() or []
        if not self._quiet and any(MARK in (item.get(PSF) or {}) for item in found):
            mark_items([*self._items, *(getattr(reply, "output", None) or ())], reply, self._origin, self._keeping)


class BytesNotes:
    """What has arrived of one stream of the messages API. Mutable; lives as long as its stream."""

    def __init__(self, origin: Origin, keeping: Keeping) -> None:
        self._collector = keeping.collector(origin, "anthropic")
        self._rest = b""

    def event(self, chunk: Any) -> None:
        """Takes what the caller is about to get: bytes, cut anywhere."""
        *lines, self._rest = (self._rest + chunk).split(b"\n") if isinstance(chunk, bytes) else [b""]
        for line in lines:
            event = _parsed(line)
            if event is not None:
                self._collector.feed(event)
                if event.get("type") == "message_stop":
                    self._collector.result()

    def over(self, chunks: Iterator[Any]) -> Iterator[Any]:
        """The same chunks, noted."""
        for chunk in chunks:
            fail_closed("litellm", partial(self.event, chunk), lambda: None)
            yield chunk

    async def over_async(self, chunks: Any) -> AsyncIterator[Any]:
        """The same chunks, noted; closed with what they come from."""
        try:
            async for chunk in chunks:
                fail_closed("litellm", partial(self.event, chunk), lambda: None)
                yield chunk
        finally:
            if hasattr(chunks, "aclose"):
                await chunks.aclose()


def _parsed(line: bytes) -> Mapping[str, Any] | None:
    if not line.startswith(b"data:"):
        return None
    try:
        event = json.loads(line.removeprefix(b"data:"))
    except ValueError:
        return None
    return event if isinstance(event, Mapping) else None


def mark_items(items: list[Any], reply: Any, origin: Origin, keeping: Keeping) -> None:
    """Marks the items of a reply in place; not the bare name of what its host did not store."""
    whole = as_mapping(reply) or {}
    for item in items:
        found = as_mapping(item)
        if found is not None and replayable(found, whole):
            mark_item(item, origin, keeping)


def mark_item(item: Any, origin: Origin, keeping: Keeping) -> None:
    """Marks one item in place, a dict or LiteLLM's object; a mark that the host sent says nothing."""
    fields = item.get(PSF) if isinstance(item, Mapping) else getattr(item, PSF, None)
    marked = {**(fields if isinstance(fields, Mapping) else {}), MARK: keeping.mark(as_mapping(item) or {}, origin)}
    if isinstance(item, dict):
        item[PSF] = marked
    else:
        setattr(item, PSF, marked)
