"""Our LiteLLM callback below a LangChain model: whether it is there, without importing LiteLLM for the question."""

from __future__ import annotations

import sys
from typing import Any


def active_callback() -> Any:
    """The callback that plans the calls of this process's LiteLLM; None where nobody has registered one."""
    module = sys.modules.get("reasoning_replay.litellm._callback")
    installed = module.ReasoningReplay._installed if module is not None else None
    return installed if installed is not None and installed.active() else None
