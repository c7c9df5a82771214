"""What LiteLLM's loggers get, with `ReasoningReplay(redact_logs=True)`: sizes and digests in place of reasoning.

LiteLLM hands the notes of a call and its reply to loggers of three kinds: objects (`CustomLogger`), functions, and old
integrations that it knows by a word. Each kind gets redacted copies; the notes themselves, which replay and LiteLLM go
on with, and what the caller gets stay whole. An object is wrapped where LiteLLM looks up whom to call, as loggers come
at any time. Not redacted: hooks that may change a request or a reply, and callbacks that route on it and log nothing.
Must not decide what reasoning is: `transcripts` says it.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from itertools import chain
from threading import Lock
from types import MethodType
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .._faults import fail_closed
from ._places import Hooks, Patch, takes

EVENTS = (
    *("log_pre_api_call", "log_post_api_call", "log_stream_event", "log_success_event", "log_failure_event"),
    *("async_log_pre_api_call", "async_log_stream_event", "async_log_success_event", "async_log_failure_event"),
    *("logging_hook", "async_logging_hook", "log_success_fallback_event", "log_failure_fallback_event"),
    *("log_model_group_rate_limit_error", "async_log_batch_line_items"),
)
"""Methods of a `CustomLogger` that are told of a call, and change nothing in it (litellm 1.110.2)."""
_MORE = {"_ProxyDBLogger": ("async_post_call_failure_hook",)}
"""Class -> what else it logs in: the proxy's spend log of a failure."""
_HOOKS = ("logging_hook", "async_logging_hook")
"""They give back what the loggers behind them get: LiteLLM goes on with it."""
_OPEN = ("_reasoning_replay", "_reasoning_replay_bridge")
"""Ours, among LiteLLM's notes: they stay there, and no logger sees them."""
_ANY_OBJECT = ("original_response", "httpx_response")
"""Notes that may be a stream, or a response of the client's: through them a logger could read everything."""
_INSIDE = "litellm."
"""Module of a function that is LiteLLM's own: the Router counts with it."""
_SENTRY = "sentry"
"""Its breadcrumbs are whole requests in one text, and its errors bring the values of all variables: it gets neither."""


def redacted_call(args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a logger without reasoning; on a fault with nothing but names and numbers."""
    from ..transcripts._redact_values import redacted_values  # not at the top: most programs have the switch off

    given = [*map(_lean, args), *map(_lean, named.values())]
    made = fail_closed("litellm", lambda: redacted_values(*given), lambda: tuple(map(_bare, given)))
    return made[: len(args)], dict(zip(named, made[len(args) :], strict=True))


def _lean(value: Any) -> Any:
    """Notes of a call without what nothing can look into."""
    if not isinstance(value, dict):
        return value
    left = {key: each for key, each in dict(value).items() if key not in _OPEN}
    hidden = {key: f"<{type(left[key]).__name__}>" for key in _ANY_OBJECT if not _is_plain(left.get(key))}
    return value if not hidden and len(left) == len(value) else {**left, **hidden}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | Mapping | list) or hasattr(value, "model_dump")


def _bare(value: Any) -> Any:
    if isinstance(value, int | float | datetime) or callable(value):
        return value
    names = ("model", "litellm_call_id", "call_type", "response_cost", "stream")
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else None


# Objects --------------------------------------------------------------------------------------------------------------


class Wrapped:
    """The loggers whose methods are wrapped. Mutable: `watch` adds to them, `forget` puts back what was there."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._methods = {name: _method(name, hooks) for name in (*EVENTS, *chain.from_iterable(_MORE.values()))}
        self._seen: dict[int, weakref.ref[Any]] = {}
        self._lock = Lock()

    def watch(self, callbacks: Iterable[Any]) -> None:
        """Wraps what is new among these."""
        for each in callbacks:
            if isinstance(each, CustomLogger) and id(each) not in self._seen and each is not self._hooks:
                with self._lock:
                    if id(each) not in self._seen:
                        self._wrap(each)

    def _wrap(self, logger: CustomLogger) -> None:
        self._seen[id(logger)] = weakref.ref(logger, partial(self._gone, id(logger)))
        if _routes(logger):
            return
        for name in (*EVENTS, *_MORE.get(type(logger).__name__, ())):
            method = self._methods[name]
            if getattr(type(logger), name, None) is not getattr(CustomLogger, name, None) or name in vars(logger):
                bound = MethodType(method, logger)
                vars(logger)[_before(name)] = vars(logger).get(name)
                vars(logger)[name] = bound

    def _gone(self, name: int, _: object) -> None:
        self._seen.pop(name, None)

    def forget(self) -> None:
        """Every logger as it was."""
        for found in list(self._seen.values()):
            logger = found()
            for name in self._methods if logger is not None else ():
                held = vars(logger)
                if isinstance(held.get(name), MethodType) and held[name].__func__ is self._methods[name]:
                    before = held.pop(_before(name))
                    del held[name]
                    held.update({} if before is None else {name: before})
        self._seen.clear()


def _routes(logger: CustomLogger) -> bool:
    """Whether LiteLLM says of the logger that it looks at requests to route them, and logs nothing."""
    exempt = getattr(logger, "exempt_from_message_redaction", None)
    return bool(exempt()) if callable(exempt) else False


def _before(name: str) -> str:
    return f"_{name}_before_redaction"


def _method(name: str, hooks: Hooks) -> Callable[..., Any]:
    """A method in the place of a logger's: the same one, with redacted arguments."""
    own = getattr(CustomLogger, name, None)

    def original(self: Any) -> Callable[..., Any]:
        before = vars(self).get(_before(name))
        return before if before is not None else MethodType(getattr(type(self), name), self)

    def told(self: Any, *args: Any, **named: Any) -> Any:
        if not hooks.active():
            return original(self)(*args, **named)
        left, kept = redacted_call(args, named)
        said = original(self)(*left, **kept)
        return _with_ours(said, args, named) if name in _HOOKS else said

    async def told_async(self: Any, *args: Any, **named: Any) -> Any:
        if not hooks.active():
            return await original(self)(*args, **named)
        left, kept = redacted_call(args, named)
        said = await original(self)(*left, **kept)
        return _with_ours(said, args, named) if name in _HOOKS else said

    made = told_async if inspect.iscoroutinefunction(own) else told
    return functools.wraps(own)(made) if own is not None else made


def _with_ours(said: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What a hook gives back, with our own notes in it: LiteLLM goes on with these."""
    given = named.get("kwargs", args[0] if args else None)
    if not (isinstance(said, tuple) and said and isinstance(said[0], dict) and isinstance(given, dict)):
        return said
    return ({**said[0], **{key: given[key] for key in _OPEN if key in given}}, *said[1:])


# Where LiteLLM calls them ---------------------------------------------------------------------------------------------


def _looked_up(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    wrapped = hooks.wrapped

    @functools.wraps(original)
    def callbacks(self: Any, *args: Any, **named: Any) -> Any:
        found = original(self, *args, **named)
        if not hooks.active():
            return found
        fail_closed("litellm", lambda: wrapped.watch(found), lambda: None)
        return type(found)(each for each in found if each != _SENTRY)

    return callbacks


def _resolved(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    """Whom a batch's lines are given to: no call has looked up this logger."""
    wrapped = hooks.wrapped

    @functools.wraps(original)
    def logger(*args: Any, **named: Any) -> Any:
        found = original(*args, **named)
        if hooks.active():
            fail_closed("litellm", lambda: wrapped.watch([found]), lambda: None)
        return found

    return logger


def _event(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    """A method that calls a function of the user's, or one of an old integration."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def log_async(self: Any, *args: Any, **named: Any) -> Any:
            if hooks.active() and not _is_inside(named.get("callback_func")):
                args, named = redacted_call(args, named)
            return await original(self, *args, **named)

        return log_async

    @functools.wraps(original)
    def log(self: Any, *args: Any, **named: Any) -> Any:
        if hooks.active() and not _is_inside(named.get("callback_func")):
            args, named = redacted_call(args, named)
        return original(self, *args, **named)

    return log


def _is_inside(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith(_INSIDE)


def _own_function(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    """After LiteLLM has read a call's parameters: the function that the caller wants it logged with."""

    @functools.wraps(original)
    def update(self: Any, *args: Any, **named: Any) -> Any:
        done = original(self, *args, **named)
        function = getattr(self, "logger_fn", None)
        if hooks.active() and callable(function):
            self.logger_fn = lambda *told: function(*redacted_call(told, {})[0])
        return done

    return update


_LOGGING = "litellm.litellm_core_utils.litellm_logging:"
_BASE = "litellm.integrations.custom_logger:CustomLogger."
_OLD = (
    *("LangFuseLogger.log_event_on_langfuse", "S3Logger.log_event", "Supabase.log_event", "Supabase.input_log_event"),
    *("LunaryLogger.log_event", "PromptLayerLogger.log_event", "HeliconeLogger.log_success", "AthinaLogger.log_event"),
    *("GreenscaleLogger.log_event", "LogfireLogger.log_event", "TraceloopLogger.log_event"),
    *("DyanmoDBLogger.async_log_event", "OpenMeterLogger.log_success_event", "OpenMeterLogger.async_log_success_event"),
)
"""Integrations that LiteLLM calls by a word."""
LOG_PATCHES = (
    Patch(f"{_LOGGING}Logging.get_combined_callback_list", "loggers, without reasoning", _looked_up, callable),
    Patch(f"{_LOGGING}Logging._without_replaced_global_callbacks", "loggers of requests", _looked_up, callable),
    Patch("litellm.batches.batch_line_items:_resolve_logger", "loggers of a batch's lines", _resolved, callable),
    Patch(f"{_LOGGING}Logging.update_environment_variables", "a call's own logger_fn", _own_function, callable),
    *(
        Patch(f"{_BASE}{name}", "functions that log, without reasoning", _event, takes("kwargs", "callback_func"))
        for name in ("log_event", "async_log_event", "log_input_event", "async_log_input_event")
    ),
    *(Patch(f"{_LOGGING}{name}", f"the log of {name.partition('.')[0]}", _event, callable) for name in _OLD),
)
"""What `redact_logs=True` puts in besides."""
