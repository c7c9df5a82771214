"""`litellm.token_counter` by what will be sent: the arguments of a call, and the host found as the callback finds it.

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

_NOT_TAKEN = {
    "text": "messages are counted, by what a request with them will send; give messages=, or count a bare text with "
    "litellm.token_counter",
    "custom_tokenizer": "give encode=, a function of a text that gives its tokens",
    "count_response_tokens": "what is counted is a prompt; leave it out",
    "use_default_image_token_count": "no picture is fetched for a count; leave it out",
    "default_token_count": "what cannot be counted raises an error that says why; leave it out",
}
"""Arguments of `litellm.token_counter` (1.110, 2026-11-30) that have no meaning here → what to do."""
_NOT_SAID = (None, False)
"""LiteLLM's own defaults of these."""


def count_tokens(
    model: str,
    messages: Any = None,
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

    Of the arguments of `litellm.token_counter` it takes `model`, `messages`, `tools` and `tool_choice`; the others are
    refused by name: they have no meaning for a request, or would count something else than what is sent.

    Args:
        model: as LiteLLM takes it, with the name of its provider (`deepseek/deepseek-v4-pro`).
        messages: those of the call; needed.
        policy, known: those of the installed callback where none are given.
        params: other parameters of the call: `thinking`, `reasoning_effort`, `extra_body`.

    Raises:
        litellm.BadRequestError: LiteLLM does not know the provider.
        TypeError: no messages, or an argument of `litellm.token_counter` that is refused; it says what to do.
        HistoryError, BadPolicy, MissingReasoning: as `reasoning_replay.transcripts.count_tokens`.
    """
    wrong = next((key for key in _NOT_TAKEN if params.pop(key, None) not in _NOT_SAID), None)
    if wrong is not None:
        raise TypeError(f"count_tokens: {wrong}=: {_NOT_TAKEN[wrong]}")
    if messages is None:
        raise TypeError("count_tokens: messages is None; give the messages of the call, a list")
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
