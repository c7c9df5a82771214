"""Chat classes over an SDK of their own: ChatGroq, ChatFireworks, ChatOpenRouter, ChatMistralAI.

All make their wire messages in `_create_message_dicts`, one a message, and read a whole reply in `_create_chat_result`.
Chunks are read by functions of their modules, out of reach: a stream of the client is watched for the length of one
call, so that the host's own chunk is at hand when the class gives its reading of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.messages import AIMessage

from ..forms._langchain_blocks import FIELD
from ._closing import aclosing, closing
from ._hooks_shared import TEXT, Last, Tap, keep_chunk, keep_delta, keep_result, replanned, view_of, write_rows

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object


class _OwnClient(_Chat):
    """What the four have in common."""

    def _create_message_dicts(self, messages: Any, stop: Any) -> Any:
        rows, params = super()._create_message_dicts(messages, stop)
        write_rows(rows, messages)
        return rows, params

    def _create_chat_result(self, response: Any, *params: Any) -> Any:
        return keep_result(super()._create_chat_result(response, *params), response)

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, kwargs = self._planned(messages, kwargs)
        return super(_OwnClient, view)._generate(messages, *args, **kwargs)

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, kwargs = self._planned(messages, kwargs)
        return await super(_OwnClient, view)._agenerate(messages, *args, **kwargs)

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Generator[Any]:
        last = Last()
        view, kwargs = self._planned(messages, kwargs)
        with closing(super(_OwnClient, self._watching(view, last))._stream(messages, *args, **kwargs)) as chunks:
            for chunk in chunks:
                yield self._kept(chunk, last)

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        last = Last()
        view, kwargs = self._planned(messages, kwargs)
        stream = super(_OwnClient, self._watching(view, last))._astream(messages, *args, **kwargs)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                yield self._kept(chunk, last)

    def _planned(self, messages: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The model and the parameters of the call as planned."""
        return replanned(self, messages, kwargs)

    def _watching(self, view: Any, last: Last) -> Any:
        """The model for one call; nothing of its client is watched where the class drops nothing of a chunk."""
        return view

    def _kept(self, generation: Any, last: Last) -> Any:
        return generation


class _Watched(_OwnClient):
    """What drops pieces of a chunk: the client's own chunk is at hand when the class gives its reading of it.

    What the SDK does not know by name goes beside the parameters that it knows.
    """

    def _planned(self, messages: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        view, planned = super()._planned(messages, kwargs)
        if planned is not kwargs:
            known = signature(self.client.create).parameters
            extra = {
                key: planned.pop(key) for key in [key for key in planned if key not in known and key not in kwargs]
            }
            if extra:
                planned["extra_body"] = {**(planned.get("extra_body") or {}), **extra}
        return view, planned

    def _watching(self, view: Any, last: Last) -> Any:
        """The model for one call, with a client that notes its last chunk."""
        clients = {
            "client": Tap(view.client, "create", last.tap(view.client.create)),
            "async_client": Tap(view.async_client, "create", last.tap_later(view.async_client.create)),
        }
        return view_of(view, **clients)

    def _kept(self, generation: Any, last: Last) -> Any:
        return keep_chunk(generation, last.chunk)


class GroqHooks(_Watched):
    """ChatGroq reads `reasoning` alone (langchain-groq 1.1.3)."""


class FireworksHooks(_Watched):
    """ChatFireworks reads `reasoning_content` alone (langchain-fireworks 1.7.1)."""


class OpenRouterHooks(_OwnClient):
    """ChatOpenRouter reads all that its SDK lets through; its pieces of `reasoning_details` would not survive merging.

    The SDK (openrouter 1.3.19) sends of a message what it knows, and of readable text that is `reasoning`.
    """

    KEY: ClassVar[str] = "reasoning"

    def _create_message_dicts(self, messages: Any, stop: Any) -> Any:
        rows, params = super()._create_message_dicts(messages, stop)
        for row in rows:
            if TEXT in row:
                row.setdefault(self.KEY, row.pop(TEXT))
        return rows, params

    def _kept(self, generation: Any, last: Last) -> Any:
        message = generation.message
        found = message.additional_kwargs
        keep_delta(message, {self.KEY if key == TEXT else key: value for key, value in found.items() if key != FIELD})
        return generation


class MistralHooks(_OwnClient):
    """ChatMistralAI blanks the content of every message with tool calls, its own thinking too: it is given back.

    Its stream is read from the wire itself, where only `content` can hold reasoning: nothing is dropped of that.
    """

    def _create_message_dicts(self, messages: Any, stop: Any) -> Any:
        rows, params = super()._create_message_dicts(messages, stop)
        for row, message in zip(rows, messages, strict=True):
            if row.get("tool_calls") and len(message.content):
                bare, _ = super(_OwnClient, self)._create_message_dicts([_without_calls(message)], stop)
                row["content"] = bare[0]["content"]
        write_rows(rows, messages)
        for row in rows:  # a stream begins with an empty text, and what leads a reply matters
            if isinstance(row["content"], list):
                row["content"] = [block for block in row["content"] if block != {"type": "text", "text": ""}]
        return rows, params


def _without_calls(message: AIMessage) -> AIMessage:
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    return message.model_copy(update={"tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": kwargs})
