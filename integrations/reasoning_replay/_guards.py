"""Checks of the request that a host makes when reasoning is on, and the repair of each.

A guard sees the call's parameters and one fact about the planned history; it gives the parameters that pass, the very
same object when they pass already. The rule names the guards of a host; their order here is the order they run in.
It knows no host and no message. Parameters come in the caller's words and in the wire's, so both are read.
Source of every guard: Anthropic's messages API, 2025-09 … 2026-11; each docstring quotes the refusal it prevents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MINIMUM_BUDGET = 1024
"""Smallest `budget_tokens` the API takes: "Input should be greater than or equal to 1024"."""
_CLEAR_THINKING = "clear_thinking_"
_FORCING = frozenset({"any", "tool", "required", "function"})


class Guarded(NamedTuple):
    """What a guard did."""

    request: Mapping[str, Any]
    reason: str
    strip: bool
    """Thinking was switched off: no reasoning may stay in the history."""


def _mode(request: Mapping[str, Any]) -> Mapping[str, Any]:
    thinking = request.get("thinking")
    return thinking if isinstance(thinking, Mapping) else {}


def _is_manual(request: Mapping[str, Any]) -> bool:
    return _mode(request).get("type") == "enabled"


def _forces_tools(request: Mapping[str, Any]) -> bool:
    choice = request.get("tool_choice")
    return (choice.get("type") if isinstance(choice, Mapping) else choice) in _FORCING


def without_thinking(request: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with thinking off, and without what is only allowed beside thinking.

    `clear_thinking_…` edits without it: "strategy requires `thinking` to be enabled or adaptive".
    """
    kept = {key: value for key, value in request.items() if key not in ("thinking", "reasoning_effort")}
    management = kept.get("context_management")
    edits = _get(management, "edits")
    if not isinstance(management, Mapping) or not isinstance(edits, list):
        return kept
    left = [edit for edit in edits if not str(_get(edit, "type")).startswith(_CLEAR_THINKING)]
    if left:
        kept["context_management"] = {**management, "edits": left}
    else:
        del kept["context_management"]
    return kept


def _get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def forced_tools(request: Mapping[str, Any], leads: bool) -> Guarded | None:
    """Manual thinking with a forced tool: "Thinking may not be enabled when tool_choice forces tool use."."""
    if _is_manual(request) and _forces_tools(request):
        return Guarded(without_thinking(request), "forced_tools", True)
    return None


def budget(request: Mapping[str, Any], leads: bool) -> Guarded | None:
    """A budget that `max_tokens` does not exceed: "`max_tokens` must be greater than `thinking.budget_tokens`".

    The budget is capped while there is room for the smallest one, else thinking goes.
    """
    tokens, limit = _mode(request).get("budget_tokens"), request.get("max_tokens")
    if not (_is_manual(request) and isinstance(tokens, int) and isinstance(limit, int)) or limit > tokens:
        return None
    if _interleaves(request):
        return None
    if limit <= MINIMUM_BUDGET:
        return Guarded(without_thinking(request), "budget", True)
    capped = {**_mode(request), "budget_tokens": max(MINIMUM_BUDGET, limit - 1)}
    return Guarded({**request, "thinking": capped}, "budget", False)


def _interleaves(request: Mapping[str, Any]) -> bool:
    """With the interleaved-thinking beta the budget may exceed `max_tokens`."""
    headers = request.get("extra_headers")
    return "interleaved-thinking" in str(_get(headers, "anthropic-beta"))


def lead_block(request: Mapping[str, Any], leads: bool) -> Guarded | None:
    """Manual thinking, and the running tool loop does not begin with a block of its own.

    "Expected `thinking` or `redacted_thinking`, but found `tool_use`". Adaptive thinking has no such check.
    """
    if _is_manual(request) and not leads:
        return Guarded(without_thinking(request), "lead_block", True)
    return None


STORED = ("previous_response_id", "conversation")
"""Parameters that go on with what a host has stored, by its name or as `{"id": name}`."""


def stored(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parameters of a request that name something stored, and the names."""
    named = ((key, request.get(key)) for key in STORED)
    found = ((key, value.get("id") if isinstance(value, Mapping) else value) for key, value in named)
    return [(key, name) for key, name in found if isinstance(name, str)]


GUARDS: dict[str, Callable[[Mapping[str, Any], bool], Guarded | None]] = {
    "forced_tools": forced_tools,
    "budget": budget,
    "lead_block": lead_block,
}
"""Name in a rule → guard. `no_empty` is no guard of the request: the engine reads it where a message is left bare."""


def run(names: tuple[str, ...], request: Mapping[str, Any], *, leads: bool) -> list[Guarded]:
    """Every guard of the rule in turn, each on what the one before it left; those that had something to do."""
    done: list[Guarded] = []
    for name, guard in GUARDS.items():
        guarded = guard(request, leads) if name in names else None
        if guarded is not None:
            done.append(guarded)
            request = guarded.request
    return done
