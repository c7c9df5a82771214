"""Reasoning replay for LiteLLM: `litellm.callbacks.append(ReasoningReplay())`.

`report_of(response)` gives a call's report; other callbacks find it in their `kwargs["reasoning_replay"]`.
`proxy_handler_instance` is what the LiteLLM Proxy's `callbacks` setting names.
"""

from __future__ import annotations

from typing import Any

try:
    import litellm as _litellm  # noqa: F401
except ImportError as error:
    raise ImportError("reasoning_replay.litellm needs LiteLLM: pip install 'reasoning-replay[litellm]'") from error

from ._callback import MissingReasoning, ReasoningReplay
from ._told import report_of

__all__ = ["MissingReasoning", "ReasoningReplay", "report_of"]


def __getattr__(name: str) -> Any:
    if name == "proxy_handler_instance":
        return ReasoningReplay()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
