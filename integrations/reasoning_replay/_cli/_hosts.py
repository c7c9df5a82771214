"""`hosts`: the rules as a person reads them; without a host the list of those that a file describes.

Everything that is said here is in the rule files; the words for windows, demands and seals stand in the tables below.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from .._host import ALWAYS, Host, Rule, Toggle
from .._origin import DIALECTS
from .._policy import nearest
from .._rules import _candidates
from ..hosts import all_hosts, builtin
from ._print import Printer
from ._target import Target, rules_of, target_of
from ._wrong import Wrong

WINDOWS = {
    "none": "no earlier reasoning goes back",
    "current_turn": "the running turn's goes back",
    "last_assistant": "the running turn's goes back, and that of the last reply before it",
    "all": "every turn's goes back",
    "all_if_tools": "every turn's goes back where the request has tools, else the running turn's",
    "all_once_tools_used": "every turn's goes back once a tool was called, else the running turn's",
}
DEMANDS = {
    "required": "demanded: the host refuses {scope} without it",
    "recommended": "wanted: no error without it, but worse replies",
    "optional": "taken, not demanded",
    "ignored": "not looked at",
    "forbidden": "refused: the host answers 4xx where it is there",
}
SCOPES = {
    "all_assistant": "any message of the assistant",
    "tool_calls": "a message with tool calls",
    "current_turn": "a message of the assistant in the running turn",
    "first_call": "the first call of a step of the running turn",
}
SEALS = {
    "required": "every piece must carry the host's own signature",
    "forbidden": "takes no signature: the text alone goes back",
    "any": "",
}
BOUND = {
    "prefix": "what came before it (an edited prefix is refused)",
    "account": "the account",
    "model": "the model",
    "upstream": "the vendor behind the router",
}


def run(arguments: Namespace) -> int:
    """Show one host, or list them all."""
    if arguments.host is None:
        if arguments.model is not None or arguments.dialect is not None:
            raise Wrong("--model and --dialect choose among one host's rules; give HOST too")
        _list(as_json=arguments.json, everything=arguments.all)
        return 0
    if arguments.dialect is not None and arguments.dialect not in DIALECTS:
        hint = nearest(arguments.dialect, DIALECTS)
        raise Wrong(f"--dialect {arguments.dialect!r}: not known; {hint}allowed: {', '.join(DIALECTS)}")
    target = target_of(arguments.host, "HOST", rules=rules_of(arguments.rules))
    rules = list(_rules(target.host, arguments.model, arguments.dialect))
    if arguments.json:
        print(json.dumps({**_host_told(target), "rules": [rule_told(rule) for rule in rules]}, indent=2))
    else:
        _show(target, rules, arguments.model)
    return 0


def _rules(host: Host, model: str | None, dialect: str | None) -> Iterator[Rule]:
    """The rules in order: all, or those that can decide for a model."""
    spoken = list(dict.fromkeys(rule.dialect for rule in host.rules))
    for one in spoken if dialect is None else DIALECTS:
        if dialect not in (None, one):
            continue
        if model is None and one in spoken:
            yield from (rule for rule in host.rules if rule.dialect == one)
            continue
        for rule in _candidates(all_hosts(), host, one, model):
            yield rule
            if rule.when == ALWAYS:
                break


def _list(*, as_json: bool, everything: bool) -> None:
    hosts = all_hosts() if everything else builtin()
    described = len(builtin())
    listed = len(all_hosts()) - described
    if as_json:
        print(json.dumps({"hosts": [_row(host) for host in hosts], "listed": listed}, indent=2))
        return
    out = Printer()
    columns = ("id", "host", "speaks", "windows", "newest")
    rows = [_row(host) for host in hosts]
    out.table(
        columns,
        [[row["id"], row["host"], *(", ".join(row[key]) for key in columns[2:4]), row["newest"]] for row in rows],
    )
    known = "of which only the key of some models is known (models.dev)"
    if everything:
        out.say(f"{described} hosts, and behind them {listed} {known}")
    else:
        out.say(f"{described} hosts; --all lists {listed} more {known}")
    out.say("one host's rules: reasoning-replay hosts ID")


def _row(host: Host) -> dict[str, Any]:
    return {
        "id": host.id,
        "host": host.hosts[0] if host.hosts else "-",
        "speaks": list(dict.fromkeys(rule.dialect for rule in host.rules)),
        "windows": list(dict.fromkeys(rule.window for rule in host.rules)),
        "newest": max(rule.date for rule in host.rules).isoformat(),
    }


def _host_told(target: Target) -> dict[str, Any]:
    host = target.host
    return {
        "id": host.id,
        "described": target.described,
        "hosts": list(host.hosts),
        "hints": list(host.hints),
        "router": host.router,
        "holder": host.holder,
        "thinking": [_toggle(toggle) for toggle in host.thinking],
        "errors": [{"status": one.status, "match": one.match, "means": one.means} for one in host.errors],
    }


def rule_told(rule: Rule) -> dict[str, Any]:
    """A rule as plain JSON values."""
    when = rule.when
    return {
        "dialect": rule.dialect,
        "models": list(rule.models),
        "when": _told(tools=when.tools, thinking=when.thinking and list(when.thinking), path=when.path),
        "window": rule.window,
        "switch": [{"param": switch.param, "values": dict(switch.values)} for switch in rule.switch],
        "requirement": rule.requirement,
        "missing": rule.missing and {"on": rule.missing.on, "fill": rule.missing.fill},
        "read": list(rule.read),
        "write": list(rule.write),
        "empty": rule.empty,
        "strict": rule.strict,
        "signature": rule.signature,
        "bound": sorted(rule.bound),
        "refuses": sorted(rule.refuses),
        "guards": list(rule.guards),
        "can_disable": rule.can_disable,
        "source": list(rule.source),
        "date": rule.date.isoformat(),
        "confidence": rule.confidence,
    }


def _told(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


# For people -----------------------------------------------------------------------------------------------------------


def _show(target: Target, rules: list[Rule], model: str | None) -> None:
    out, host = Printer(), target.host
    out.say(f"{host.id}: {', '.join(host.hosts) or 'no name of its own'}", "bold")
    for line in _about(target):
        out.say(f"  {line}")
    for rule in rules:
        out.say()
        out.say(_head(rule, model), "bold")
        for name, text in lines_of(rule):
            out.say(f"  {name:<10}{text}")
    if not target.described:
        out.say()
        out.say("no file describes this host: these are the cautious rules for unknown ones")


def _about(target: Target) -> Iterator[str]:
    host = target.host
    if host.router:
        yield "fronts many vendors: reasoning goes back to the vendor that wrote it"
    if host.holder == "file":
        yield "all these names open what one of them sealed"
    if host.thinking:
        yield f"thinking: {'; '.join(map(_toggle, host.thinking))}"


def _toggle(toggle: Toggle) -> str:
    lists = (("on", toggle.on), ("off", toggle.off))
    said = [
        f"{name}: {' or '.join('anything else' if one == '*' else one for one in values)}"
        for name, values in lists
        if values
    ]
    return f"{toggle.param} ({', '.join(said)})"


def _head(rule: Rule, model: str | None) -> str:
    who = "every model" if rule.models == ("*",) else f"models {' '.join(rule.models)}"
    if model is not None:
        who = f"{model} (by {who})"
    when = rule.when
    tools = "" if when.tools is None else ", with tools" if when.tools else ", without tools"
    thinking = "" if when.thinking is None else f", thinking {' or '.join(when.thinking)}"
    path = "" if when.path is None else f", path {when.path}"
    return f"{rule.dialect}, {who}{tools}{thinking}{path}"


def lines_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """A rule as a person reads it: what each line is about, and the line."""
    yield "window", f"{rule.window}: {WINDOWS[rule.window]}"
    for switch in rule.switch:
        yield "", f"{switch.param} changes it: {', '.join(f'{value} -> {window}' for value, window in switch.values)}"
    yield "field", _field(rule)
    scope = SCOPES[rule.missing.on] if rule.missing is not None else ""
    yield "sent back", DEMANDS[rule.requirement].format(scope=scope)
    yield "foreign", _foreign(rule)
    if (seals := "; ".join(_seals(rule))) != "":
        yield "sealed", seals
    if rule.guards:
        yield "mended", ", ".join(rule.guards)
    yield "source", f"{'; '.join(rule.source)} ({rule.date.isoformat()}, {rule.confidence})"


def _field(rule: Rule) -> str:
    if rule.dialect != "chat":
        return "the dialect's own place"
    if rule.window == "none" or not rule.write:
        return f"comes in {' or '.join(rule.read)}" if rule.read else "none"
    back = "the key it came in" if rule.write == ("same",) else " and ".join(rule.write)
    strict = "; any other key is refused" if rule.strict else ""
    return f"comes in {' or '.join(rule.read)}, goes back in {back}{strict}"


def _foreign(rule: Rule) -> str:
    if rule.missing is None:
        return "left out"
    if rule.missing.fill is None:
        return "left out; nothing can stand in its place, Policy(missing=...) decides"
    return f"left out; {rule.missing.fill!r} stands in its place on {SCOPES[rule.missing.on]}"


def _seals(rule: Rule) -> Iterator[str]:
    if SEALS[rule.signature]:
        yield SEALS[rule.signature]
    if rule.bound:
        yield f"tied to {' and '.join(BOUND[one] for one in sorted(rule.bound))}"
    if rule.refuses:
        yield f"refuses {', '.join(sorted(rule.refuses))} blocks"
