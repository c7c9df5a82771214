"""Classes that serialise their own blocks: what the plan left in the content goes out as it is, but for what is here.

ChatAnthropic and ChatBedrockConverse send theirs byte for byte in all shapes, whole, streamed and v3 (the tests ask the
wire); ChatAnthropic's finished payload is where the plan's guards look once more. ChatGoogleGenerativeAI leaves out
thoughts without a signature once they stand in v1's blocks (langchain-google-genai 4.4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from ._messages import Planned, confirm_payload

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
        if isinstance(messages, Planned):
            messages = [_with_thoughts(message) for message in messages]
        request: dict[str, Any] = super()._prepare_request(messages, **kwargs)
        return request


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
