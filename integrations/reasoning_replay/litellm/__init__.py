"""Reasoning replay for LiteLLM: `litellm.callbacks.append(ReasoningReplay())`.

`report_of(response)` gives a call's report; other callbacks find it in their `kwargs["reasoning_replay"]`.
In the LiteLLM Proxy: `litellm_settings.callbacks: [reasoning_replay.litellm.proxy_handler_instance]`.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

try:
    import litellm as _litellm  # noqa: F401
except ImportError as error:
    raise ImportError("reasoning_replay.litellm needs LiteLLM: pip install 'reasoning-replay[litellm]'") from error

from ._callback import ReasoningReplay
from ._count import count_tokens
from ._errors import ConversationElsewhere, MissingReasoning
from ._keeping import keeping_in
from ._told import report_of

__all__ = ["ConversationElsewhere", "MissingReasoning", "ReasoningReplay", "count_tokens", "keeping_in", "report_of"]

_PROXY = "litellm.proxy.proxy_server"
"""The module that reads the configuration: where it is not loaded, whoever asks only looks around."""


@cache
def _proxy_handler_instance() -> Any:
    from ._proxy import proxy_callback

    return proxy_callback()


def __getattr__(name: str) -> Any:
    """`proxy_handler_instance` is made, and its patches go in, when the proxy asks for it; a program has none."""
    if name == "proxy_handler_instance" and _PROXY in sys.modules:
        return _proxy_handler_instance()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
