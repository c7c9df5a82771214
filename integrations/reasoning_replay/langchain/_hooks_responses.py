"""The Responses API of classes over OpenAI's client: items go back as they came, but for two details.

A stream's plain reasoning text (`content` of an item; vLLM, gpt-oss servers) is not read by the class at all, and a
reply of `stream_events(version="v3")` without a summary goes back with an empty one (langchain-openai 1.7.4).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any

from ._classes import uses_responses
from ._closing import aclosing, closing
from ._hooks_shared import Last, Tap, fields_of, view_of, write_request
from ._messages import planned_of

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object

_NO_SUMMARY = [{"type": "summary_text", "text": ""}]


class ResponsesHooks(_Chat):
    """The half of `OpenAIHooks` that speaks Responses."""

    def _stream(self, *args: Any, **kwargs: Any) -> Generator[Any]:
        items = _Items()
        view = self
        if uses_responses(self, kwargs):
            view = view_of(self, root_client=_tapped(self.root_client, items))
        with closing(super(ResponsesHooks, view)._stream(*args, **kwargs)) as chunks:
            for chunk in chunks:
                yield items.kept(chunk)

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        items = _Items()
        view = self
        if uses_responses(self, kwargs):
            view = view_of(self, root_async_client=_tapped(self.root_async_client, items, later=True))
        async with aclosing(super(ResponsesHooks, view)._astream(*args, **kwargs)) as chunks:
            async for chunk in chunks:
                yield items.kept(chunk)


def write_items(payload: dict[str, Any], given: Any) -> None:
    """What the class has made of the messages, in place: without reasoning where it was given no plan."""
    if planned_of(given) is None:
        payload["input"] = [item for item in payload["input"] if item.get("type") != "reasoning"]
    for item in payload["input"]:
        if item.get("type") == "reasoning" and item.get("summary") == _NO_SUMMARY:
            item["summary"] = []
    write_request(payload, given)
    effort = payload.pop("reasoning_effort", None)
    if effort is not None:
        asked = payload.get("reasoning")
        payload["reasoning"] = {**(asked if isinstance(asked, dict) else {}), "effort": effort}


def _tapped(client: Any, items: _Items, *, later: bool = False) -> Any:
    create = client.responses.create
    tapped = items.tap_later(create) if later else items.tap(create)
    return Tap(client, "responses", Tap(client.responses, "create", tapped))


class _Items(Last):
    """Finished reasoning items with a plain text, until their place in the message is known. Mutable."""

    __slots__ = ("_places", "_waiting")

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, Any] = {}
        self._waiting: dict[str, list[Any]] = {}

    def note(self, chunk: Any) -> None:
        super().note(chunk)
        if getattr(chunk, "type", None) == "response.output_item.done":
            item = fields_of(chunk.item)
            if item.get("type") == "reasoning" and item.get("content"):
                self._waiting[item["id"]] = [dict(fields_of(part)) for part in item["content"]]

    def kept(self, generation: Any) -> Any:
        """The chunk, and on it the texts of the items that have ended before it."""
        content = generation.message.content
        if not isinstance(content, list):
            return generation
        for block in content:
            if isinstance(block, dict) and block.get("type") == "reasoning" and "id" in block and "index" in block:
                self._places[block["id"]] = block["index"]
        for identity in [each for each in self._waiting if each in self._places]:
            block = {"type": "reasoning", "id": identity, "summary": [], "content": self._waiting.pop(identity)}
            content.append({**block, "index": self._places[identity]})
        return generation
