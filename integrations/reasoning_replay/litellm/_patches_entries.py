"""The patches for `responses` and `anthropic.messages`: where they are sent, cross a bridge, and come back.

The methods of LiteLLM's HTTP handler are the last place before a body is made: sync and async calls, the Router's and
those that another call has become all pass there. (Run with litellm 1.110.2; the classes exist since 1.105.)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ._entries import MESSAGES, RESPONSES, Entry
from ._places import Hooks, Patch, guarded, takes

_HTTP = "litellm.llms.custom_httpx.llm_http_handler:BaseLLMHTTPHandler"
_EVENTS = "litellm.responses.streaming_iterator"
_BRIDGE = "litellm.responses.litellm_completion_transformation"
_MESSAGES = "litellm.llms.anthropic.messages"


def _sends(entry: Entry) -> Callable[[Callable[..., Any], Hooks], Callable[..., Any]]:
    def wrap(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
        @functools.wraps(original)
        def handler(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not hooks.active():
                return original(self, *args, **kwargs)
            return original(self, **hooks.before_send(entry, _named(original, (self, *args), kwargs)))

        return handler

    return wrap


def _named(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by their names, less `self`."""
    names = inspect.signature(original).parameters
    return {name: value for name, value in zip(names, args, strict=False) if name != "self"} | kwargs


def _crosses(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def response_api_handler(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **(hooks.before_bridge(kwargs) if hooks.active() else kwargs))

    return response_api_handler


def _messages(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def anthropic_messages_handler(*args: Any, **kwargs: Any) -> Any:
        if not hooks.active():
            return original(*args, **kwargs)
        return hooks.around_messages(original, _named(original, args, kwargs))

    return anthropic_messages_handler


def _next(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def following(self: Any) -> Any:
        event = original(self)
        if hooks.active():
            guarded(hooks.event_leaves, self, event)
        return event

    return following


def _anext(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    async def following(self: Any) -> Any:
        event = await original(self)
        if hooks.active():
            guarded(hooks.event_leaves, self, event)
        return event

    return following


_SYNC_STREAMS = (
    f"{_EVENTS}:SyncResponsesAPIStreamingIterator",
    f"{_EVENTS}:MockResponsesAPIStreamingIterator",
    f"{_BRIDGE}.streaming_iterator:LiteLLMCompletionStreamingIterator",
)
_ASYNC_STREAMS = (
    f"{_EVENTS}:ResponsesAPIStreamingIterator",
    *_SYNC_STREAMS[1:],
    f"{_MESSAGES}.adapters.streaming_iterator:AnthropicSSEStream",
    f"{_MESSAGES}.responses_adapters.streaming_iterator:AnthropicResponsesSSEByteStream",
)

ENTRY_PATCHES = (
    Patch(
        f"{_HTTP}.response_api_handler",
        "requests of responses and aresponses",
        _sends(RESPONSES),
        takes("input", "response_api_optional_request_params", "responses_api_provider_config", "litellm_params"),
        dialect="responses",
    ),
    Patch(
        f"{_HTTP}.compact_response_api_handler",
        "requests to compact a conversation",
        _sends(RESPONSES),
        takes("input", "response_api_optional_request_params", "responses_api_provider_config", "litellm_params"),
    ),
    Patch(
        f"{_HTTP}.anthropic_messages_handler",
        "requests of anthropic.messages",
        _sends(MESSAGES),
        takes("messages", "anthropic_messages_optional_request_params", "anthropic_messages_provider_config"),
        dialect="anthropic",
    ),
    Patch(
        f"{_BRIDGE}.handler:LiteLLMCompletionTransformationHandler.response_api_handler",
        "marks on the items that LiteLLM sends as chat",
        _crosses,
        takes("input", "responses_api_request"),
    ),
    Patch(
        f"{_MESSAGES}.native.handler:anthropic_messages_handler",
        "marks on the blocks of anthropic.messages",
        _messages,
        takes("messages", "model"),
    ),
    Patch(
        "litellm.messages.dispatch:_PYTHON_MESSAGES",
        "marks on the blocks of sync calls of anthropic.messages",
        _messages,
        takes("messages", "model"),
    ),
    *(Patch(f"{place}.__next__", "marks in streams of Responses", _next, callable) for place in _SYNC_STREAMS),
    *(
        Patch(f"{place}.__anext__", "marks in async streams of these calls", _anext, callable)
        for place in _ASYNC_STREAMS
    ),
)
