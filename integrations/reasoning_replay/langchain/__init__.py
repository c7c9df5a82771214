"""Reasoning replay for LangChain: `model = with_reasoning_replay(ChatDeepSeek(...))`.

`ReplayTransformer` is the message transformer of a chain, `ReasoningReplayMiddleware` the middleware of `create_agent`.
`report_of(message)` gives a call's report. No partner package is imported that the program has not imported itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import langchain_core as _langchain_core  # noqa: F401
except ImportError as error:
    raise ImportError(
        "reasoning_replay.langchain needs LangChain: pip install 'reasoning-replay[langchain]'"
    ) from error

from ._told import report_of
from ._transformer import ReplayTransformer
from ._wrap import with_reasoning_replay

if TYPE_CHECKING:
    from ._middleware import ReasoningReplayMiddleware
    from ._redact import redact_traces, redacted
    from ._summarization import ReplaySummarizationMiddleware
    from ._trim_counter import token_counter_of
    from ._trim_messages import trim_messages

__all__ = [
    "ReasoningReplayMiddleware",
    "ReplaySummarizationMiddleware",
    "ReplayTransformer",
    "redact_traces",
    "redacted",
    "report_of",
    "token_counter_of",
    "trim_messages",
    "with_reasoning_replay",
]


_LATER = {
    "ReasoningReplayMiddleware": "_middleware",
    "ReplaySummarizationMiddleware": "_summarization",
    "redact_traces": "_redact",
    "redacted": "_redact",
    "token_counter_of": "_trim_counter",
    "trim_messages": "_trim_messages",
}
"""Name → its module. The middlewares need `langchain`, all else `langchain-core` alone; what cuts is seldom needed."""


def __getattr__(name: str) -> Any:
    """What is loaded when it is asked for."""
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
