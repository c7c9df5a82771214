"""Classes over OpenAI's client: ChatOpenAI, Azure, DeepSeek, XAI, Together, Cerebras, Moonshot, QwQ and Qwen.

All go through four methods of `BaseChatOpenAI` (langchain-openai 1.7.4): one makes the payload, one reads a whole
reply, one a chunk, one what a stream with `response_format` repeats at its end. A message is one wire message.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

from ._closing import aclosing, closing
from ._hooks_responses import ResponsesHooks, write_items
from ._hooks_shared import TEXT, forget, keep_chunk, keep_result, view_of, write_request, write_rows


class OpenAIHooks(ResponsesHooks):
    """For every class over `BaseChatOpenAI`."""

    def _get_request_payload(self, input_: Any, *, stop: Any = None, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if "input" in payload:
            write_items(payload, input_)
        else:
            write_rows(payload["messages"], input_)
            write_request(payload, input_)
        return payload

    def _create_chat_result(self, response: Any, generation_info: Any = None) -> Any:
        return keep_result(super()._create_chat_result(response, generation_info), response)

    def _convert_chunk_to_generation_chunk(
        self, chunk: Any, default_chunk_class: Any, base_generation_info: Any
    ) -> Any:
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        return keep_chunk(generation, chunk if chunk.get("choices") else chunk.get("chunk") or {})

    def _get_generation_chunk_from_completion(self, completion: Any) -> Any:
        """What a stream with `response_format` ends with is the whole reply again: its reasoning has been streamed."""
        generation = super()._get_generation_chunk_from_completion(completion)
        forget(generation.message)
        return generation


class CerebrasHooks(OpenAIHooks):
    """ChatCerebras keeps a copy of the text in `additional_kwargs["reasoning"]`, a string.

    There it stops every later call to a Responses API (langchain-core reads a dict under that key), so it goes, once
    the class has made of it the block that it shows (`reasoning_effort`).
    """

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        return _without_copy(super()._generate(*args, **kwargs))

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        return _without_copy(await super()._agenerate(*args, **kwargs))

    def _stream(self, *args: Any, **kwargs: Any) -> Generator[Any]:
        with closing(super()._stream(*args, **kwargs)) as chunks:
            for chunk in chunks:
                chunk.message.additional_kwargs.pop("reasoning", None)
                yield chunk


def _without_copy(result: Any) -> Any:
    for generation in result.generations:
        generation.message.additional_kwargs.pop("reasoning", None)
    return result


class QwQHooks(OpenAIHooks):
    """ChatQwQ streams in any case, and of `additional_kwargs` its reply holds the text alone (langchain-qwq 0.3.5).

    What the last chunk has beside the text is put back; an empty text that no host sent goes.
    """

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        seen: list[Any] = []
        stream = self._stream

        def watched(*given: Any, **named: Any) -> Generator[Any]:
            with closing(stream(*given, **named)) as chunks:
                for chunk in chunks:
                    seen.append(chunk.message)
                    yield chunk

        view = view_of(self, _stream=watched)
        return _with_all(super(QwQHooks, view)._generate(messages, *args, **kwargs), seen)

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        seen: list[Any] = []
        stream = self._astream

        async def watched(*given: Any, **named: Any) -> AsyncGenerator[Any]:
            async with aclosing(stream(*given, **named)) as chunks:
                async for chunk in chunks:
                    seen.append(chunk.message)
                    yield chunk

        view = view_of(self, _astream=watched)
        return _with_all(await super(QwQHooks, view)._agenerate(messages, *args, **kwargs), seen)


def _with_all(result: Any, seen: list[Any]) -> Any:
    if seen:
        whole = seen[0] if len(seen) == 1 else seen[0] + seen[1:]
        kwargs = result.generations[0].message.additional_kwargs
        if TEXT not in whole.additional_kwargs:
            kwargs.pop(TEXT, None)
        kwargs.update(whole.additional_kwargs)
    return result


__all__ = ["CerebrasHooks", "OpenAIHooks", "QwQHooks"]
