"""ChatBedrockConverse: it sends its own blocks as they came; what the plan changes of the request is put in its place.

It makes its request inside `_generate` and `_stream` and has no async ones (langchain-aws 1.9.1), so the model of one
call is a view with other fields. Sealed bytes are kept as base64, since no store takes bytes. An empty text, which
`stream_events(version="v3")` can leave behind a call, would become a "." there, and a turn that is changed is refused.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from ._closing import closing
from ._hooks_shared import view_of
from ._messages import planned_of

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object

_FIELDS = "additional_model_request_fields"
_WIRE = "additionalModelRequestFields"
_SEAL = "redacted_content"


class BedrockHooks(_Chat):
    """For ChatBedrockConverse."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, messages, kwargs = _planned(self, messages, kwargs)
        result = super(BedrockHooks, view)._generate(messages, *args, **kwargs)
        for generation in result.generations:
            _each_seal(generation.message, _as_text)
        return result

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Generator[Any]:
        view, messages, kwargs = _planned(self, messages, kwargs)
        with closing(super(BedrockHooks, view)._stream(messages, *args, **kwargs)) as chunks:
            for chunk in chunks:
                _each_seal(chunk.message, _as_text)
                yield chunk


def _planned(model: Any, messages: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The model, messages and parameters of one call, with what its plan has made of thinking."""
    planned = planned_of(messages)
    if planned is None:
        return model, messages, kwargs
    messages = planned
    messages[:] = map(_for_converse, messages)
    asked = messages.given or {}
    request = asked if messages.plan is None or messages.plan.request is None else messages.plan.request
    changed = [key for key in ("thinking", "reasoning_effort", _WIRE) if asked.get(key) != request.get(key)]
    if not changed:
        return model, messages, kwargs
    fields = {**(request.get(_WIRE) or {})}
    if "thinking" in request:
        fields["thinking"] = request["thinking"]
    rest = {key: value for key, value in kwargs.items() if key not in (_FIELDS, *changed)}
    view = view_of(model, **{_FIELDS: fields or None, "reasoning_effort": request.get("reasoning_effort")})
    return view, messages, rest


def _for_converse(message: BaseMessage) -> BaseMessage:
    """The message without empty text, and with bytes where the API wants them."""
    content: Any = message.content
    if not isinstance(message, AIMessage) or not isinstance(content, list):
        return message
    left = [block for block in content if not _is_empty_text(block)] or content
    if len(left) == len(content) and not any(map(_seal_of, content)):
        return message
    made = message.model_copy(update={"content": copy.deepcopy(left)})
    _each_seal(made, _as_bytes)
    return made


def _each_seal(message: Any, change: Callable[[Any], Any]) -> None:
    """Rewrites what only Bedrock can read. In place."""
    for block in message.content if isinstance(message.content, list) else ():
        place = _seal_of(block)
        if place is not None:
            place[_SEAL] = change(place[_SEAL])


def _seal_of(block: Any) -> dict[str, Any] | None:
    """Where a block holds something that only Bedrock can read: in v0's shape, in v1's, or in v1's wrapper."""
    for place in _places(block):
        if isinstance(place, dict) and place.get(_SEAL) is not None:
            return place
    return None


def _places(block: Any) -> tuple[Any, ...]:
    if not isinstance(block, dict):
        return ()
    value = block.get("value")
    inner = value.get("reasoning_content") if isinstance(value, dict) else None
    return block.get("reasoning_content"), block.get("extras"), inner


def _as_text(value: Any) -> Any:
    """Bytes as the base64 that they are on the wire: neither JSON nor LangChain's dumps can hold bytes."""
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else value


def _as_bytes(value: Any) -> Any:
    return base64.b64decode(value) if isinstance(value, str) else value


def _is_empty_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""
