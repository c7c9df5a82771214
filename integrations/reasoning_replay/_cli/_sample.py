"""A conversation for `check` to plan: replies as the host of a deployment writes them and LiteLLM hands them on.

What a reply is written in follows from the deployment's dialect and from the rule of its model: where its host reads
reasoning, and whether it wants it signed. It knows no host and no model.
"""

from __future__ import annotations

from typing import Any

from .._capture import adopt
from .._origin import Origin
from .._rules import Rule
from ..forms import PSF
from ._proxy_config import Deployment

BLOCKS = ("anthropic", "bedrock", "gemini")
"""Dialects whose reasoning LiteLLM hands on as signed blocks."""
SEAL = "c2lnbmF0dXJl"


def turns_of(place: Deployment, rule: Rule) -> list[Any]:
    """A turn that is over, and a loop that is running."""
    first = [{"role": "user", "content": "Is it cold?"}, *written_by(place, rule, 1, ends=True)]
    return [*first, {"role": "user", "content": "And tomorrow?"}, *written_by(place, rule, 2)]


def written_by(place: Deployment, rule: Rule, *numbers: int, ends: bool = False) -> list[Any]:
    """Steps of a tool loop, and an answer, marked."""
    rows = [row for number in numbers for row in _said(place, rule, number, calls=True)]
    if ends:
        rows += _said(place, rule, 100 + sum(numbers), calls=False)
    return adopt(rows, Origin(place.url, dialect=place.dialect, model=place.model), form="litellm")


def _said(place: Deployment, rule: Rule, number: int, *, calls: bool) -> list[dict[str, Any]]:
    """A reply, and the tool's result."""
    text, seal = f"thought {number}", f"{SEAL}{number}"
    call: dict[str, Any] = {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply: dict[str, Any] = {"role": "assistant", "content": None if calls else "so"}
    if place.dialect != "chat" or rule.read != SEALS_CALLS:
        reply["reasoning_content"] = text
    if place.dialect in BLOCKS:
        reply["thinking_blocks"] = [{"type": "thinking", "thinking": text, "signature": seal}]
        call |= {PSF: {"thought_signature": seal}} if place.dialect == "gemini" else {}
    elif place.dialect == "chat" and rule.signature == "required" and "reasoning_details" in rule.read:
        entry = {"type": "reasoning.text", "text": text, "signature": seal, "index": 0}
        reply[PSF] = {"reasoning_details": [entry]}
    elif place.dialect == "chat" and rule.read == SEALS_CALLS:
        call["extra_content"] = {"google": {"thought_signature": seal}}
    if not calls:
        return [reply]
    return [{**reply, "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": "3C"}]


SEALS_CALLS = ("tool_calls.extra_content",)
"""Where a host reads nothing else, what it hands out is a seal on each call; LiteLLM writes nothing beside it."""
