"""`check`: what becomes of reasoning at each model of a LiteLLM proxy and at each step from one to another.

Nothing is looked up for it: a small tool loop is planned by `prepare`, as the callback would plan it, at home, at the
next host, and back at the first. Exit status: 1 where the callback's line is missing, a fallback names nothing, or the
proxy would refuse what the config says to us.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from .._known import Nothing
from .._plan import Plan
from .._replay import prepare, rule_for
from .._report import sentence
from .._rules import Rule
from ._print import Printer
from ._proxy_config import LINE, Config, Deployment, Step, read_config
from ._sample import turns_of, written_by

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
"""What asks a model to think that does not unless it is asked."""
OTHERS_WROTE = ("foreign", "sealed")
"""Reasons that say it all where they stand among others."""
COPIES = ("not_taken", "unsigned")
"""LiteLLM writes the text of a signed block once more beside it, and that copy is not sent."""


def run(arguments: Namespace) -> int:
    """Check one config."""
    config = read_config(arguments.config)
    models = [_model_told(each) for each in config.deployments]
    steps = [_step_told(step) for step in config.steps]
    warnings = [*config.warnings]
    if not config.has_callback:
        warnings.insert(0, f"the line `{LINE}` is missing from litellm_settings: the proxy hands reasoning on as it is")
    if arguments.json:
        told = {"callback": config.has_callback, "models": models, "steps": steps, "warnings": warnings}
        told["faults"] = config.faults
        print(json.dumps(told, indent=2))
    else:
        _tell(config, models, steps, warnings)
    broken = (
        not config.has_callback or bool(config.faults) or any("is no model_name" in warning for warning in warnings)
    )
    return 1 if broken else 0


# A conversation to plan -----------------------------------------------------------------------------------------------


def _planned(place: Deployment, messages: list[Any]) -> Plan:
    return prepare(
        messages,
        host=place.url,
        model=place.model,
        dialect=place.dialect,
        form="litellm",
        request=_request(place),
        hint=place.hint,
        policy=place.policy,
        known=Nothing(),
    )


def _request(place: Deployment) -> Mapping[str, Any]:
    """A call with tools, with what the config adds, and thinking on where it would be off."""
    request = {"tools": TOOLS, **place.request}
    rules = [_rule(place, asked) for asked in (request, {**MANUAL, **request})]
    return {**MANUAL, **request} if rules[0].window == "none" != rules[1].window else request


def _rule(place: Deployment, asked: Mapping[str, Any]) -> Rule:
    return rule_for(place.url, place.model, dialect=place.dialect, hint=place.hint, request=asked, policy=place.policy)


def _turns(place: Deployment) -> list[Any]:
    """A turn that is over, and a loop that is running, as this deployment writes them."""
    return turns_of(place, _rule(place, _request(place)))


# What is told ---------------------------------------------------------------------------------------------------------


def _fate(plan: Plan, asked: Mapping[str, Any], rows: range) -> dict[str, Any]:
    """What a plan does with the reasoning of some rows, and with the request."""
    told = [row for row in plan.report.rows if row.index is not None and row.index in rows and row.action != "fill"]
    kept = {row.index for row in told if row.action != "drop"}
    lost = [row for row in told if row.action == "drop" and not (row.index in kept and row.reason in COPIES)]
    why = list(dict.fromkeys(row.reason for row in lost))
    why = (
        [reason for reason in why if reason in OTHERS_WROTE]
        or [reason for reason in why if reason not in COPIES]
        or why
    )
    fills = any(row.action == "fill" for row in plan.report.rows)
    off = "thinking" in asked and "thinking" not in (plan.request or {})
    guards = [row.reason for row in plan.report.rows if row.index is None]
    return {
        "kept": bool(kept),
        "dropped": bool(lost),
        "why": why,
        "placeholder": fills,
        "thinking_off": off,
        "guards": guards if off else [],
    }


def _model_told(place: Deployment) -> dict[str, Any]:
    messages = _turns(place)
    plan = _planned(place, messages)
    start = next(at for at in range(len(messages) - 1, 0, -1) if messages[at]["role"] == "user")
    before = _fate(plan, _request(place), range(start))
    now = _fate(plan, _request(place), range(start, len(messages)))
    rule = plan.report.rule
    return {
        "model": place.name,
        "deployment": place.litellm,
        "host": place.host,
        "dialect": place.dialect,
        "rule": rule.host if rule is not None else None,
        "running_turn": _word(now),
        "earlier_turns": _word(before),
        "why": list(dict.fromkeys(reason for each in (now, before) for reason in each["why"])),
        "source": [] if rule is None else list(rule.source),
        "date": _date(rule),
    }


def _date(rule: Rule | None) -> str | None:
    return None if rule is None else rule.date.isoformat()


def _step_told(step: Step) -> dict[str, Any]:
    """A conversation of `source` in the middle of a loop goes on at `target`, and then comes back."""
    source, target = step.source, step.target
    turns = _turns(source)
    there = _fate(_planned(target, turns), _request(target), range(len(turns)))
    both = [*turns, *written_by(target, _rule(target, _request(target)), 3)]
    plan = _planned(source, both)
    own = _fate(plan, _request(source), range(len(turns)))
    other = _fate(plan, _request(source), range(len(turns), len(both)))
    return {
        "why": step.why,
        "from": f"{source.name} ({source.litellm})",
        "to": f"{target.name} ({target.litellm})",
        "there": {"words": _there(there), **there},
        "back": {"words": _back(own, other), "own": own, "other": other},
    }


def _word(fate: Mapping[str, Any]) -> str:
    if fate["kept"]:
        return "kept in part" if fate["dropped"] else "kept"
    return "dropped" if fate["dropped"] else "none to send"


def _there(fate: Mapping[str, Any]) -> str:
    return f"{_word(fate)}{_reasons(fate) if fate['dropped'] else ''}{_besides(fate)}"


def _back(own: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    said = "its own kept" if own["kept"] else f"its own dropped{_reasons(own)}"
    others = "kept" if other["kept"] else "dropped"
    return f"{said}, the other's {others}{_besides(own)}"


def _reasons(fate: Mapping[str, Any]) -> str:
    return f" ({', '.join(fate['why'])})" if fate["why"] else ""


def _besides(fate: Mapping[str, Any]) -> str:
    """What else is done to the request."""
    fill = ", a placeholder where the field is demanded" if fate["placeholder"] else ""
    off = f", thinking off for this call ({', '.join(fate['guards'])})" if fate["thinking_off"] else ""
    return fill + off


def _tell(config: Config, models: list[dict[str, Any]], steps: list[dict[str, Any]], warnings: list[str]) -> None:
    out = Printer()
    columns = ("model", "deployment", "host", "rule", "running turn", "earlier turns")
    keys = ("model", "deployment", "host", "rule", "running_turn", "earlier_turns")
    out.say("at home: own reasoning goes back to the host that wrote it", "bold")
    out.table(columns, [[str(row[key]) for key in keys] for row in models])
    if steps:
        out.say()
        out.say("a conversation in the middle of a tool loop goes to another host, and comes back", "bold")
        rows = [[row["why"], row["from"], row["to"], row["there"]["words"], row["back"]["words"]] for row in steps]
        out.table(("why", "from", "to", "there", "back at the first"), rows)
    reasons = {reason for row in models for reason in row["why"]}
    reasons |= {
        one for row in steps for fate in (row["there"], row["back"]["own"]) for one in (*fate["why"], *fate["guards"])
    }
    for reason in sorted(reasons):
        out.say(f"  {reason}: {sentence(reason)}")
    if warnings or config.faults:
        out.say()
    for warning in warnings:
        out.say(f"warning: {warning}", "yellow")
    for fault in config.faults:
        out.say(f"{'' if config.has_callback else 'with that line '}the proxy would not start: {fault}", "red")
    if config.has_callback:
        out.say(f"the callback is there: {LINE}", "green")
