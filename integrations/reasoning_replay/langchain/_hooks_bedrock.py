"""ChatBedrockConverse: it sends its own blocks byte for byte; what the plan changes of the request is put in its place.

It makes its request inside `_generate` and `_stream` and has no async ones (langchain-aws 1.9.1), so the model of one
call is a view with other fields. An empty text, which `stream_events(version="v3")` leaves behind a call, would become
a "." there, and a turn that is changed is refused.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from ._hooks_shared import view_of
from ._messages import Planned

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object

_FIELDS = "additional_model_request_fields"


class BedrockHooks(_Chat):
    """For ChatBedrockConverse."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, messages, kwargs = _planned(self, messages, kwargs)
        return super(BedrockHooks, view)._generate(messages, *args, **kwargs)

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Generator[Any]:
        view, messages, kwargs = _planned(self, messages, kwargs)
        with closing(super(BedrockHooks, view)._stream(messages, *args, **kwargs)) as chunks:
            yield from chunks


def _planned(model: Any, messages: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The model, messages and parameters of one call, with what its plan has made of thinking."""
    if not isinstance(messages, Planned):
        return model, messages, kwargs
    messages[:] = map(_without_empty_text, messages)
    asked = messages.given or {}
    request = asked if messages.plan is None or messages.plan.request is None else messages.plan.request
    changed = [key for key in ("thinking", "reasoning_effort") if asked.get(key) != request.get(key)]
    if not changed:
        return model, messages, kwargs
    fields = {**(kwargs.get(_FIELDS) or model.additional_model_request_fields or {})}
    for key in changed:
        fields.pop(key, None)
    if "thinking" in request:
        fields["thinking"] = request["thinking"]
    rest = {key: value for key, value in kwargs.items() if key not in (_FIELDS, *changed)}
    view = view_of(model, **{_FIELDS: fields or None, "reasoning_effort": request.get("reasoning_effort")})
    return view, messages, rest


def _without_empty_text(message: BaseMessage) -> BaseMessage:
    content: Any = message.content
    if not isinstance(message, AIMessage) or not isinstance(content, list):
        return message
    left = [block for block in content if not _is_empty_text(block)]
    return message if len(left) in (0, len(content)) else message.model_copy(update={"content": left})


def _is_empty_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""
