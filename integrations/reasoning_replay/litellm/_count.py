"""`litellm.token_counter` by what will be sent: the same arguments, and the host found as the callback finds it.

Nothing is decided or counted here: `transcripts` does, by the plan that the callback would make of the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import litellm

from .._known import Known
from .._policy import Policy
from ..transcripts import count_tokens as _count_tokens
from ._callback import ReasoningReplay
from ._carriers import carrier_of, hint_of
from ._target import custom_host, predicted_url


def count_tokens(
    model: str,
    messages: Any,
    *,
    tools: Any = None,
    tool_choice: Any = None,
    api_base: str | None = None,
    custom_llm_provider: str | None = None,
    policy: Policy | None = None,
    known: Known | None = None,
    encode: Callable[[str], Any] | None = None,
    **params: Any,
) -> int:
    """Tokens that `litellm.completion` with these arguments will be billed as its prompt.

    Args:
        model: as LiteLLM takes it, with the name of its provider (`deepseek/deepseek-v4-pro`).
        policy, known: those of the installed callback where none are given.
        params: other parameters of the call: `thinking`, `reasoning_effort`, `extra_body`.

    Raises:
        litellm.BadRequestError: LiteLLM does not know the provider.
        HistoryError, BadPolicy, TypeError, MissingReasoning: as `reasoning_replay.transcripts.count_tokens`.
    """
    name, provider, _, base = litellm.get_llm_provider(model, custom_llm_provider, api_base)
    carrier = carrier_of(provider, name)
    url = predicted_url(provider, carrier, api_base or base, None, params)
    there = ReasoningReplay._installed
    given = {"tools": tools, "tool_choice": tool_choice, **params}
    request: Mapping[str, Any] = {key: value for key, value in given.items() if value is not None}
    return _count_tokens(
        messages,
        host=custom_host("unpredicted") if url is None else url,
        model=name,
        dialect=carrier.dialect,
        form="litellm",
        request=request,
        policy=there.policy if policy is None and there is not None else policy,
        hint=hint_of(provider, carrier),
        known=there.asked().known if known is None and there is not None else known,
        encode=encode,
    )
