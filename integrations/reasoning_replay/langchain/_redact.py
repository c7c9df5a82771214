"""What LangChain's tracers get: sizes and digests in place of reasoning, while messages and state stay whole.

`redact_traces()` is the switch for the process: every callback handler gets redacted copies of what LangChain and
LangGraph tell it. `redacted(handler)` is the same for one handler. Whole stay those that hand messages to a user or
to a program: `stream_events`, `stream_mode="messages"`, and `with_listeners`, with which a history is kept.
Mutable: the list of what was put in. What handlers are told instead is `_redact_trace`'s.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks import manager as _manager
from langchain_core.messages import get_buffer_string
from langchain_core.tracers import _streaming, root_listeners

from ._redact_trace import told

H = TypeVar("H", bound=BaseCallbackHandler)
_NAMES = ("handle_event", "ahandle_event")
_PLACES = ("langchain_core.callbacks.manager", "langgraph.callbacks")
"""Modules that tell handlers of events (langchain-core 1.8.3, langgraph 1.2)."""
_WHOLE = tuple(
    getattr(module, name)
    for module, names in (
        (_streaming, ("_StreamingCallbackHandler", "_V2StreamingCallbackHandler")),
        (root_listeners, ("RootListenersTracer", "AsyncRootListenersTracer")),
    )
    for name in names
    if hasattr(module, name)
)
_CHAT = "on_chat_model_start"


def is_whole(handler: Any) -> bool:
    """Whether a handler hands on what it is told: it gets all of it."""
    return isinstance(handler, _WHOLE)


# For the process ------------------------------------------------------------------------------------------------------


class RedactedTraces:
    """The switch. On until `uninstall()`, or to the end of a `with`; it may be on several times."""

    _lock = RLock()
    _on = 0
    _before: list[tuple[Any, str, Any, Any]] = []  # noqa: RUF012 - of the class: the patches are the process's

    def __init__(self) -> None:
        self._is_on = True
        with self._lock:
            RedactedTraces._on += 1
            if RedactedTraces._on == 1:
                _put_in(RedactedTraces._before)

    def uninstall(self) -> None:
        """Handlers get whole messages again, once every switch is off. The second call does nothing."""
        with self._lock:
            if not self._is_on:
                return
            self._is_on = False
            RedactedTraces._on -= 1
            if RedactedTraces._on == 0:
                _take_out(RedactedTraces._before)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()


def redact_traces() -> RedactedTraces:
    """Gives every callback handler of the process sizes and digests in place of reasoning, from now on.

    LangSmith's tracer and any other handler gets copies in all events of models, chains, graphs and tools; the
    messages themselves, a graph's state, and what `stream_events`, `stream_mode="messages"` and `with_listeners` give
    stay whole. Use it as a context manager, or keep what it returns and call `uninstall()`.

    Raises:
        RuntimeError: this langchain-core has no place for it, so nothing would be redacted.
    """
    return RedactedTraces()


def _put_in(done: list[tuple[Any, str, Any, Any]]) -> None:
    if not all(callable(getattr(_manager, name, None)) for name in _NAMES):
        raise RuntimeError(
            "redact_traces(): this langchain-core has no handle_event and ahandle_event in langchain_core.callbacks."
            "manager; give each handler as redacted(handler) instead"
        )
    made = {name: _wrapped(getattr(_manager, name)) for name in _NAMES}
    for module in filter(None, map(sys.modules.get, _PLACES)):
        for name in _NAMES:
            if (before := vars(module).get(name)) is not None:
                setattr(module, name, made[name])
                done.append((module, name, before, made[name]))


def _take_out(done: list[tuple[Any, str, Any, Any]]) -> None:
    """Puts back what stood there; where somebody has wrapped ours since, ours stays and does nothing."""
    for _, name, before, now in reversed(done):
        for module in filter(None, map(sys.modules.get, _PLACES)):  # one imported since took ours over
            if vars(module).get(name) is now:
                setattr(module, name, before)
    done.clear()


def _wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def tell_later(handlers: Any, event: str, ignored: str | None, *args: Any, **named: Any) -> None:
            whole, others = _apart(handlers)
            if not others:
                await original(handlers, event, ignored, *args, **named)
                return
            left, kept = told(event, args, named)
            await asyncio.gather(
                original(whole, event, ignored, *args, **named), original(others, event, ignored, *left, **kept)
            )

        return tell_later

    @functools.wraps(original)
    def tell(handlers: Any, event: str, ignored: str | None, *args: Any, **named: Any) -> None:
        whole, others = _apart(handlers)
        if not others:
            original(handlers, event, ignored, *args, **named)
            return
        if whole:
            original(whole, event, ignored, *args, **named)
        left, kept = told(event, args, named)
        original(others, event, ignored, *left, **kept)

    return tell


def _apart(handlers: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The handlers that get everything, and the others; all are of the first kind while the switch is off."""
    if RedactedTraces._on == 0:
        return list(handlers), []
    whole = [each for each in handlers if is_whole(each) or hasattr(each, _MADE)]
    return whole, [each for each in handlers if not any(each is other for other in whole)]


# For one handler ------------------------------------------------------------------------------------------------------


_MADE = "_reasoning_replay_redacts"
"""Marks the classes that `redacted` makes. No base of ours: with one more a tracer's class cannot be changed."""


def redacted(handler: H) -> H:
    """A handler that gets sizes and digests in place of reasoning: `config={"callbacks": [redacted(tracer)]}`.

    It is of the handler's class and shares all of its state, so that what a tracer collects is found on the tracer.

    Raises:
        TypeError: no callback handler, or one whose state cannot be shared (it has slots).
    """
    if not isinstance(handler, BaseCallbackHandler) or not hasattr(handler, "__dict__"):
        raise TypeError(f"handler: a {type(handler).__name__}; allowed: a callback handler of LangChain's")
    if hasattr(handler, _MADE):
        return handler
    try:
        made = copy.copy(handler)
        object.__setattr__(made, "__dict__", handler.__dict__)
        made.__class__ = _class_for(type(handler))  # type: ignore[arg-type]  # every class can be hashed
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise TypeError(
            f"handler: a {type(handler).__name__} cannot be copied with its state ({type(error).__name__}); "
            "redact_traces() redacts it without a copy"
        ) from error
    return made


@functools.lru_cache(maxsize=256)
def _class_for(base: Any) -> type[Any]:
    names = [name for name in dir(base) if name.startswith("on_") and callable(getattr(base, name))]
    methods = {name: _method(base, name) for name in names}
    return types.new_class(
        base.__name__,
        (base,),
        exec_body=lambda space: space.update(methods, **{_MADE: True, "__slots__": (), "__module__": base.__module__}),
    )


def _method(base: type[Any], name: str) -> Callable[..., Any]:
    own = getattr(base, name)
    if inspect.iscoroutinefunction(own):

        @functools.wraps(own)
        async def told_async(self: Any, *args: Any, **named: Any) -> Any:
            left, kept = told(name, args, named)
            try:
                return await own(self, *left, **kept)
            except NotImplementedError:
                if name != _CHAT:
                    raise
            return None if self.ignore_llm else await self.on_llm_start(*_as_prompts(left), **kept)

        return told_async

    @functools.wraps(own)
    def tell(self: Any, *args: Any, **named: Any) -> Any:
        left, kept = told(name, args, named)
        try:
            return own(self, *left, **kept)
        except NotImplementedError:
            if name != _CHAT:
                raise
        return None if self.ignore_llm else self.on_llm_start(*_as_prompts(left), **kept)

    return tell


def _as_prompts(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a handler without `on_chat_model_start` is told instead: LangChain itself would write the whole messages."""
    return (args[0], [get_buffer_string(each) for each in args[1]], *args[2:])
