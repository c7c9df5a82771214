"""Checks of the request that a host makes when reasoning is on, and the repair of each.

A guard sees the call's parameters and a fact or two (`Seen`); it gives the parameters that pass, the very
same object when they pass already. The rule names the guards of a host; their order here is the order they run in.
It knows no host and no message. Parameters come in the caller's words and in the wire's (Converse has other places for
them), so all are read.
Source of every guard: Anthropic's messages API, 2025-09 … 2026-11; each docstring quotes the refusal it prevents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ._params import ABSENT, find, put_value, without

MINIMUM_BUDGET = 1024
"""Smallest `budget_tokens` the API takes: "Input should be greater than or equal to 1024"."""
THINKING = ("thinking", "additionalModelRequestFields.thinking")
"""Where a request says how the model is to think: Anthropic's place, and Converse's."""
_LIMITS = ("max_tokens", "maxTokens", "inferenceConfig.maxTokens")
_CHOICES = ("tool_choice", "toolConfig.toolChoice")
_FORCING = frozenset({"any", "tool", "required", "function"})
_CLEAR_THINKING = "clear_thinking_"
_EDITS = "context_management"
_HEADER = "anthropic-beta"
_HEADERS = ("extra_headers", "headers", "default_headers")
_BETAS = ("betas", "anthropic_beta", "additionalModelRequestFields.anthropic_beta")
_OF_THINKING = ("thinking-binding-controls-", "thinking-display-updates-")
"""Betas for keys inside `thinking`."""
_OF_EDITS = ("context-management-",)


class Seen(NamedTuple):
    """What a guard is told besides the parameters."""

    leads: bool
    """The running tool loop begins with a block of the host's own that stays; true where there is no loop."""
    off: bool
    """A guard before this one has switched thinking off."""


class Guarded(NamedTuple):
    """What a guard did."""

    request: Mapping[str, Any]
    reason: str
    strip: bool
    """Thinking was switched off: no reasoning may stay in the history."""


def _first(request: Mapping[str, Any], params: tuple[str, ...]) -> object:
    return next((value for param in params if (value := find(request, param)) is not ABSENT), None)


def _mode(request: Mapping[str, Any]) -> Mapping[str, Any]:
    thinking = _first(request, THINKING)
    return thinking if isinstance(thinking, Mapping) else {}


def _is_manual(request: Mapping[str, Any]) -> bool:
    return _mode(request).get("type") == "enabled"


def _forces_tools(request: Mapping[str, Any]) -> bool:
    """Whether a tool must be called: by a word, by `{"type": word}`, or in Converse by `{word: …}`."""
    choice = _first(request, _CHOICES)
    if not isinstance(choice, Mapping):
        return isinstance(choice, str) and choice in _FORCING
    return str(choice["type"]) in _FORCING if "type" in choice else not _FORCING.isdisjoint(choice)


def says_how_to_think(request: Mapping[str, Any]) -> bool:
    """Whether a request says anything about thinking, in any of its places."""
    return any(find(request, param) is not ABSENT for param in (*THINKING, "reasoning_effort"))


def without_thinking(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters with thinking off, and without what is only allowed beside thinking."""
    return _without_beside(_off(request))


def _off(request: Mapping[str, Any]) -> Mapping[str, Any]:
    for param in (*THINKING, "reasoning_effort"):
        request = without(request, param)
    return request


def _without_beside(request: Mapping[str, Any]) -> Mapping[str, Any]:
    betas: tuple[str, ...] = _OF_THINKING
    for param in (_EDITS, f"additionalModelRequestFields.{_EDITS}"):
        management = find(request, param)
        edits = _get(management, "edits")
        if not isinstance(management, Mapping) or not isinstance(edits, list):
            continue
        left = [edit for edit in edits if not str(_get(edit, "type")).startswith(_CLEAR_THINKING)]
        if len(left) < len(edits):
            request = put_value(request, f"{param}.edits", left) if left else without(request, param)
            betas = betas if left else _OF_THINKING + _OF_EDITS
    return _without_betas(request, betas)


def _without_betas(request: Mapping[str, Any], betas: tuple[str, ...]) -> Mapping[str, Any]:
    """The request without these beta values, in a list of them and in the header."""
    for param in _BETAS:
        given = find(request, param)
        if isinstance(given, list) and (left := [beta for beta in given if not str(beta).startswith(betas)]) != given:
            request = put_value(request, param, left) if left else without(request, param)
    for place in _HEADERS:
        headers = request.get(place)
        if not isinstance(headers, Mapping) or (name := _header(headers)) is None:
            continue
        given = [beta.strip() for beta in str(headers[name]).split(",")]
        if (left := [beta for beta in given if not beta.startswith(betas)]) != given:
            rest = {key: value for key, value in headers.items() if key != name}
            request = {**request, place: {**rest, name: ",".join(left)} if left else rest}
    return request


def _asks_for(request: Mapping[str, Any], beta: str) -> bool:
    headers = (request.get(place) for place in _HEADERS)
    values = [each[name] for each in headers if isinstance(each, Mapping) and (name := _header(each)) is not None]
    values += [find(request, param) for param in _BETAS]
    return any(beta in str(value) for value in values)


def _header(headers: Mapping[str, Any]) -> str | None:
    """The name under which headers hold beta values, however it is written."""
    return next((name for name in headers if str(name).lower() == _HEADER), None)


def _get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def forced_tools(request: Mapping[str, Any], seen: Seen) -> Guarded | None:
    """Manual thinking with a forced tool: "Thinking may not be enabled when tool_choice forces tool use."."""
    if _is_manual(request) and _forces_tools(request):
        return Guarded(_off(request), "forced_tools", True)
    return None


def budget(request: Mapping[str, Any], seen: Seen) -> Guarded | None:
    """A budget that `max_tokens` does not exceed: "`max_tokens` must be greater than `thinking.budget_tokens`".

    The budget is capped while there is room for the smallest one, else thinking goes. With the interleaved-thinking
    beta the budget may exceed the limit.
    """
    tokens, limit = _mode(request).get("budget_tokens"), _first(request, _LIMITS)
    if not (_is_manual(request) and isinstance(tokens, int) and isinstance(limit, int)) or limit > tokens:
        return None
    if _asks_for(request, "interleaved-thinking-"):
        return None
    if limit <= MINIMUM_BUDGET:
        return Guarded(_off(request), "budget", True)
    for place in THINKING:
        if find(request, place) is not ABSENT:
            request = put_value(request, f"{place}.budget_tokens", max(MINIMUM_BUDGET, limit - 1))
    return Guarded(request, "budget", False)


def lead_block(request: Mapping[str, Any], seen: Seen) -> Guarded | None:
    """Manual thinking, and the running tool loop does not begin with a block of its own.

    "Expected `thinking` or `redacted_thinking`, but found `tool_use`". Adaptive thinking has no such check.
    """
    if _is_manual(request) and not seen.leads:
        return Guarded(_off(request), "lead_block", True)
    return None


def beside_thinking(request: Mapping[str, Any], seen: Seen) -> Guarded | None:
    """Edits of the context and beta values that go only with thinking, where another guard has switched it off.

    "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive". What stands inside `thinking`
    (`block_binding`: "Extra inputs are not permitted" without its beta) has gone with it; so goes the beta.
    """
    if not seen.off or (left := _without_beside(request)) is request:
        return None
    return Guarded(left, "beside_thinking", False)


STORED = ("previous_response_id", "conversation")
"""Parameters that go on with what a host has stored, by its name or as `{"id": name}`."""


def stored(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The parameters of a request that name something stored, and the names."""
    named = ((key, request.get(key)) for key in STORED)
    found = ((key, value.get("id") if isinstance(value, Mapping) else value) for key, value in named)
    return [(key, name) for key, name in found if isinstance(name, str)]


GUARDS: dict[str, Callable[[Mapping[str, Any], Seen], Guarded | None]] = {
    "forced_tools": forced_tools,
    "budget": budget,
    "lead_block": lead_block,
    "beside_thinking": beside_thinking,
}
"""Name in a rule → guard. The others are no guards of the request: the engine reads them where it decides a message."""


def run(names: tuple[str, ...], request: Mapping[str, Any], *, leads: bool) -> list[Guarded]:
    """Every guard of the rule in turn, each on what the one before it left; those that had something to do."""
    done: list[Guarded] = []
    for name, guard in GUARDS.items():
        seen = Seen(leads, any(before.strip for before in done))
        guarded = guard(request, seen) if name in names else None
        if guarded is not None:
            done.append(guarded)
            request = guarded.request
    return done
