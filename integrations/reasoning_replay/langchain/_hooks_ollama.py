"""ChatOllama: `thinking` on the wire, read only where `reasoning` is set, though models think without being asked.

Its wire messages are one a message (langchain-ollama 1.1.0); whole replies are put together from its stream.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from typing import TYPE_CHECKING, Any

from ._closing import aclosing, closing
from ._hooks_shared import Last, fields_of, keep_delta, replanned, view_of, write_rows

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object

_RENAMED = {"think": "reasoning"}


class OllamaHooks(_Chat):
    """For ChatOllama."""

    def _convert_messages_to_ollama_messages(self, messages: Any) -> Any:
        rows = super()._convert_messages_to_ollama_messages(messages)
        write_rows(rows, messages)
        return rows

    def _iterate_over_stream(self, messages: Any, *args: Any, **kwargs: Any) -> Generator[Any]:
        last = Last()
        view, kwargs = replanned(self, messages, kwargs, _RENAMED)
        view = view_of(view, _create_chat_stream=last.tap(view._create_chat_stream))
        with closing(super(OllamaHooks, view)._iterate_over_stream(messages, *args, **kwargs)) as chunks:
            for chunk in chunks:
                yield _kept(chunk, last)

    async def _aiterate_over_stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        last = Last()
        view, kwargs = replanned(self, messages, kwargs, _RENAMED)
        view = view_of(view, _acreate_chat_stream=last.tap(view._acreate_chat_stream))
        async with aclosing(super(OllamaHooks, view)._aiterate_over_stream(messages, *args, **kwargs)) as chunks:
            async for chunk in chunks:
                yield _kept(chunk, last)


def _kept(generation: Any, last: Last) -> Any:
    message = fields_of(last.chunk).get("message") if last.chunk is not None else None
    raw = fields_of(message) if message is not None else {}
    text = raw.get("thinking")
    keep_delta(generation.message, {"thinking": text} if _said(raw, text) else {})
    return generation


def _said(raw: Mapping[str, Any], text: object) -> bool:
    """Ollama's SDK gives None for what was not there; an empty piece between two others says nothing."""
    return isinstance(text, str) and len(text) > 0
