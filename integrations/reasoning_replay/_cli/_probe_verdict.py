"""What a probe's facts say of the table, and the rule that they make.

CHECKS: a fact, in words, and what the rule expects of it. The rule's own scope may be the cautious one: where a host
demands less than the table gives it, nothing breaks, and that is `looser`; anything else that differs is a changed
contract. The entry that comes out is the table's file with the probed rule in front of it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from .._host import ALWAYS, Carrier, Host, Missing, Rule, When
from .._rules import Choice
from ._probe_facts import Facts
from ._verdict import verifies

SOURCE = "reasoning-replay probe"


class Check(NamedTuple):
    """One row of CHECKS."""

    fact: str
    words: str
    expects: Callable[[Choice], Any] = lambda choice: None
    """What the rule says; None where it says nothing."""
    loose: bool = False
    """Whether a host that demands less than the rule is only looser."""


def _leads(choice: Choice) -> bool:
    return "lead_block" in choice.rule.guards


def _needed(choice: Choice) -> bool | None:
    """Claude's demand depends on how thinking is asked for: nothing is expected there."""
    return None if _leads(choice) else choice.rule.requirement == "required"


def _on(*scopes: str) -> Callable[[Choice], bool | None]:
    def expects(choice: Choice) -> bool | None:
        rule = choice.rule
        if rule.requirement != "required" or rule.missing is None:
            return None if _leads(choice) else False
        return rule.missing.on in scopes

    return expects


def _placeholder(choice: Choice) -> bool | None:
    missing = choice.rule.missing if choice.rule.requirement == "required" else None
    return None if missing is None else missing.fill is not None


def _verifies(choice: Choice) -> bool | None:
    return verifies(choice, frozenset(error.means for error in choice.host.errors))


CHECKS: tuple[Check, ...] = (
    Check("own_taken", "takes its own reasoning back", lambda choice: choice.rule.requirement != "forbidden"),
    Check("needed_in_turn", "demands it in the running turn", _needed),
    Check("needed_in_earlier_steps", "demands it on each step, not on the newest alone"),
    Check("needed_in_earlier_turns", "demands it in earlier turns", _on("all_assistant", "tool_calls"), loose=True),
    Check("needed_on_answers", "demands it there on answers too", _on("all_assistant"), loose=True),
    Check("needed_without_tools", "demands it without tools in the request"),
    Check("needed_when_off", "demands it with thinking off"),
    Check("placeholder_taken", "takes a placeholder instead", _placeholder),
    Check("other_fields_refused", "refuses other hosts' fields", lambda choice: choice.rule.strict),
    Check("seal_checked", "refuses a seal that is not its own", _verifies),
    Check("unsigned_refused", "refuses a text without its signature"),
    Check("counted_in_turn", "counts it in the prompt of the running turn"),
    Check("counted_in_earlier_turns", "counts it in the prompt of earlier turns"),
    Check("preserved", "keeps earlier turns when its switch is on"),
)


class Line(NamedTuple):
    """One check, judged."""

    words: str
    seen: str
    table: str
    verdict: str
    """`as the table says`, `looser`, `changed`, or nothing."""
    said: str
    """The host's own words."""


def judged(facts: Facts, choice: Choice, *, described: bool) -> list[Line]:
    """Every check that was made."""
    lines = [_fields(facts, choice, described=described)] if facts.fields else []
    for check in CHECKS:
        seen = getattr(facts, check.fact)
        if seen is None:
            continue
        expected = check.expects(choice) if described else None
        if check.fact == "own_taken" or facts.own_taken is not False:
            lines.append(_line(check, seen, expected, facts.words.get(check.fact, "")))
    return lines


def _line(check: Check, seen: Any, expected: Any, said: str) -> Line:
    is_so = bool(seen)
    text = ", ".join(seen) if isinstance(seen, list) and seen else "yes" if is_so else "no"
    verdict = ""
    if expected is not None:
        verdict = "as the table says" if is_so is expected else "looser" if check.loose and expected else "changed"
    return Line(
        check.words,
        text,
        "" if expected is None else "yes" if expected else "no",
        verdict,
        said,
    )


def _fields(facts: Facts, choice: Choice, *, described: bool) -> Line:
    rule = choice.rule
    known = rule.read if described and rule.dialect == "chat" else ()
    verdict = "" if not known else "as the table says" if set(facts.fields) & set(known) else "changed"
    return Line("brings reasoning in", ", ".join(facts.fields), ", ".join(known), verdict, "")


def changed(lines: list[Line]) -> list[str]:
    """What the table says and the host does not do any more, or the other way round."""
    return [
        f"the host's contract has changed: {line.words}: {line.seen}, the table says {line.table}"
        for line in lines
        if line.verdict == "changed"
    ]


# The entry ------------------------------------------------------------------------------------------------------------


def entry(facts: Facts, choice: Choice, *, name: str, model: str, today: dt.date, described: bool) -> Host:
    """The rule file: the probed rule, and behind it what the table has for this host, or for unknown ones."""
    host = choice.host
    rule = _rule(facts, choice, name=name, model=model, today=today, described=described)
    rest = host.rules if described else tuple(one for one in host.rules if one.dialect == rule.dialect)
    return replace(
        host,
        id=re.sub(r"[^a-z0-9_-]+", "-", f"probed-{name}".lower()).strip("-"),
        hosts=(name,),
        hints=(),
        rules=(rule, *(one for one in rest if not (one.models == rule.models and one.when == rule.when))),
        name="",
    )


def _rule(facts: Facts, choice: Choice, *, name: str, model: str, today: dt.date, described: bool) -> Rule:
    base = choice.rule
    found: dict[str, Any] = dict(_demand(facts, choice))
    if base.dialect == "chat":
        fields = tuple(one for one in facts.fields if one in get_args(Carrier))
        if fields and not set(fields) & set(base.read if described else ()):
            found |= {"read": fields, "write": fields[:1], "empty": "keep"}
        if facts.other_fields_refused is not None:
            found["strict"] = len(facts.other_fields_refused) > 0
    if facts.unsigned_refused:
        found["signature"] = "required"
    return replace(
        base,
        **found,
        models=(re.sub(r"([*?[])", r"[\1]", model),),
        when=When(thinking=("on", "unset")) if choice.host.thinking and choice.thinking != "off" else ALWAYS,
        source=(f"{SOURCE} of {name}, {model}",),
        date=today,
        confidence="observed",
    )


def _demand(facts: Facts, choice: Choice) -> Iterator[tuple[str, Any]]:
    """What is demanded, and from which turns on reasoning goes back."""
    base = choice.rule
    if facts.own_taken is False:
        yield from {"requirement": "forbidden", "window": "none", "missing": None, "switch": ()}.items()
        return
    if facts.needed_in_turn and not _leads(choice):
        yield "requirement", "required"
        yield "missing", Missing(_scope(facts, base), facts.placeholder)
    elif facts.needed_in_turn is not None and base.requirement in ("required", "forbidden"):
        yield "requirement", "optional"
        yield "missing", None
    if facts.needed_in_earlier_turns or facts.counted_in_earlier_turns:
        yield "window", "all"
    elif facts.own_taken and base.window == "none":
        yield "window", "current_turn"


def _scope(facts: Facts, base: Rule) -> Any:
    if facts.needed_in_earlier_turns:
        return "all_assistant" if facts.needed_on_answers else "tool_calls"
    return base.missing.on if base.missing is not None else "current_turn"  # the table's wider scope breaks nothing
