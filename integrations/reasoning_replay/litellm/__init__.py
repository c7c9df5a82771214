"""Reasoning replay for LiteLLM: `litellm.callbacks.append(ReasoningReplay())`.

`report_of(response)` gives a call's report; other callbacks find it in their `kwargs["reasoning_replay"]`.
Not for the LiteLLM Proxy yet: a mark is a plain name there, which its clients could read and forge.
"""

from __future__ import annotations

try:
    import litellm as _litellm  # noqa: F401
except ImportError as error:
    raise ImportError("reasoning_replay.litellm needs LiteLLM: pip install 'reasoning-replay[litellm]'") from error

from ._callback import ReasoningReplay
from ._errors import ConversationElsewhere, MissingReasoning
from ._told import report_of

__all__ = ["ConversationElsewhere", "MissingReasoning", "ReasoningReplay", "report_of"]
