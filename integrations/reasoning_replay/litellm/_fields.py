"""The arguments of one attempt at a chat completion: as LiteLLM's context of it, as keywords, as a dict of ours."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ._strip import stripped_fields


def has_history(fields: Mapping[str, Any]) -> bool:
    """Whether there are messages to plan."""
    return isinstance(fields.get("messages"), list)


def changed(context: Any, fields: Mapping[str, Any]) -> Any:
    """A copy of LiteLLM's context of an attempt, with these messages and parameters."""
    other = copy.copy(context)
    for name in ("messages", "optional_params"):
        object.__setattr__(other, name, fields[name])  # the context is frozen
    return other


def without_reasoning(context: Any) -> Any:
    """A copy of the context with nothing but what is visible."""
    names = ("messages", "optional_params", "model", "custom_llm_provider")
    return changed(context, stripped_fields({name: getattr(context, name, None) for name in names}))


def within(fields: Mapping[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's keywords with what became of them; a key that was not there would be given twice."""
    left = {**(fields.get("optional_params") or kwargs), "messages": fields["messages"]}
    return {key: value for key, value in left.items() if key in kwargs}
