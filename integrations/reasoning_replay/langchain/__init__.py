"""Reasoning replay for LangChain: `model = with_reasoning_replay(ChatDeepSeek(...))`.

`ReplayTransformer` is the message transformer of a chain, `ReasoningReplayMiddleware` the middleware of `create_agent`.
`report_of(message)` gives a call's report. No partner package is imported that the program has not imported itself.
"""

from __future__ import annotations

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
    from ._summarization import ReplaySummarizationMiddleware

__all__ = [
    "ReasoningReplayMiddleware",
    "ReplaySummarizationMiddleware",
    "ReplayTransformer",
    "report_of",
    "with_reasoning_replay",
]


def __getattr__(name: str) -> Any:
    """The middlewares are made when they are asked for: they need `langchain`, the rest `langchain-core` alone."""
    if name == "ReasoningReplayMiddleware":
        from ._middleware import ReasoningReplayMiddleware

        return ReasoningReplayMiddleware
    if name == "ReplaySummarizationMiddleware":
        from ._summarization import ReplaySummarizationMiddleware

        return ReplaySummarizationMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
