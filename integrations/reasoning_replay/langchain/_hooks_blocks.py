"""Classes that serialise their own blocks: what the plan left in the content goes out as it is, but for what is here.

ChatAnthropic and ChatBedrockConverse send theirs byte for byte in all shapes, whole, streamed and v3 (the tests ask the
wire); ChatAnthropic's finished payload is where the plan's guards look once more. ChatGoogleGenerativeAI leaves out
thoughts without a signature once they stand in v1's blocks, and numbers the pieces of a stream so that a signed part
melts into its neighbours (langchain-google-genai 4.4.3).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from ..forms._langchain_blocks import seals_of
from ._closing import aclosing, closing
from ._messages import confirm_payload, planned_of

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object


class AnthropicHooks(_Chat):
    """For ChatAnthropic."""

    def _get_request_payload(self, input_: Any, *, stop: Any = None, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        confirm_payload(payload, input_)
        return payload


class GeminiHooks(_Chat):
    """For ChatGoogleGenerativeAI."""

    def _prepare_request(self, messages: Any, **kwargs: Any) -> dict[str, Any]:
        if planned_of(messages) is not None:
            messages = [_with_thoughts(message) for message in messages]
        request: dict[str, Any] = super()._prepare_request(messages, **kwargs)
        return request

    def _stream(self, *args: Any, **kwargs: Any) -> Generator[Any]:
        parts = _Parts()
        with closing(super()._stream(*args, **kwargs)) as chunks:
            for chunk in chunks:
                parts.number(chunk.message)
                yield chunk

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        parts = _Parts()
        async with aclosing(super()._astream(*args, **kwargs)) as chunks:
            async for chunk in chunks:
                parts.number(chunk.message)
                yield chunk


class _Parts:
    """The parts of one stream. Mutable. A part ends with its signature: what comes after it is another part.

    LangChain adds up blocks whose `index` is an equal number, or an equal word that begins with `lc_`; others stay.
    """

    def __init__(self) -> None:
        self._ended: dict[Any, int] = {}

    def number(self, message: Any) -> None:
        """Gives pieces that must not melt together different places. In place."""
        for block in message.content if isinstance(message.content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in _TEXTS and "index" in block:
                place = block["index"]
                ended = self._ended.get(place, 0)
                sealed = bool(seals_of(block))
                if sealed and len(block.get(_TEXTS[kind]) or "") == 0:
                    block["index"] = f"signed_{place}_{ended}"
                elif ended:
                    block["index"] = f"lc_{place}_{ended}"
                self._ended[place] = ended + sealed


_TEXTS = {"text": "text", "thinking": "thinking", "reasoning": "reasoning"}
"""Type of a block that comes in pieces -> where its text is."""


def _with_thoughts(message: BaseMessage) -> BaseMessage:
    """The message with its unsigned thoughts as parts of Gemini's own form, which the class passes on."""
    content = message.content
    if not isinstance(message, AIMessage) or not isinstance(content, list):
        return message
    if message.response_metadata.get("output_version") != "v1":
        return message
    parts = [_part(block) if isinstance(block, dict) else block for block in content]
    if all(part is block for part, block in zip(parts, content, strict=True)):
        return message
    return message.model_copy(update={"content": parts})


def _part(block: dict[str, Any]) -> dict[str, Any]:
    text, extras = block.get("reasoning"), block.get("extras") or {}
    signed = any(place.get(key) is not None for place in (block, extras) for key in ("signature", "thought_signature"))
    if block.get("type") != "reasoning" or signed or not isinstance(text, str):
        return block
    return {"type": "non_standard", "value": {"thought": True, "text": text}}
