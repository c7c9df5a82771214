"""`explain`: what a host would say to a history as it stands, and what is sent instead.

`prepare` is the dry run; the verdict on the request as it stands is `_verdict`'s. Exit status: 0 where it would be
accepted, 1 where it would be refused. Printed are names, counts and sizes, never a word of a message.
"""

from __future__ import annotations

import base64
import json
import logging
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._known import Nothing
from .._origin import MARK
from .._plan import Plan
from .._replay import _reach, prepare
from .._report import COLUMNS, cells, sentence
from .._rules import Policy, Rule
from .._unknown import without_strangers
from ..forms import PSF, Form, form_for
from ._file import Found, read
from ._print import Printer
from ._target import Target, dialect_of, origin_of, rules_of, target_of
from ._verdict import Case, Verdict, verdict_of
from ._wrong import Wrong, as_wrong

NEWEST = 200
"""Rows that are shown of a long history; what a terminal's history holds, and more than anybody reads (a guess)."""
SAID = {"unknown_origin": "Nothing says which host wrote it; --from-origin HOST does, for all that has no mark."}
"""Reason → sentence, where the library's own speaks of Python."""

STYLES = {"keep": "green", "restore": "green", "rename": "blue", "drop": "red"}
"""Action → colour, behind its name: never colour alone."""


class Explained(NamedTuple):
    """All that is printed."""

    found: Found
    target: Target
    plan: Plan
    verdict: Verdict


def explained(arguments: Namespace) -> Explained:
    """The dry run, and the verdict."""
    found = read(arguments.file, arguments.entry)
    rules = rules_of(arguments.rules)
    target = target_of(arguments.to, "--to", like=arguments.like, rules=rules)
    dialect = dialect_of(target, found.form, arguments.dialect)
    form = "litellm" if found.form == "chat" and dialect != "chat" else found.form
    model = arguments.model or found.model
    if arguments.from_model is not None and arguments.from_origin is None:
        raise Wrong("--from-model: says which model of a host wrote it; give --from-origin HOST too")
    source = origin_of(arguments.from_origin, arguments.from_model or model, form)
    policy = Policy(unknown_origin=source if source is not None else "drop", aliases=target.aliases, rules=rules)
    with as_wrong(arguments.file if arguments.file != "-" else "stdin"):
        plan = prepare(
            found.messages,
            host=target.url,
            model=model,
            dialect=dialect,
            form=form,
            request=found.request,
            policy=policy,
            known=Nothing(),
        )
        verdict = _verdict(found, plan, form_for(form, dialect), policy)
        if verdict.refused is None and not target.described:
            verdict = verdict._replace(unsure=verdict.unsure or UNDESCRIBED)
        return Explained(found, target, plan, verdict)


UNDESCRIBED = "as far as the cautious rule for unknown hosts knows: no file describes this one"


def _verdict(found: Found, plan: Plan, form: Form, policy: Policy) -> Verdict:
    assert plan.work is not None  # `prepare` raises, it does not fall back
    choice = plan.work.choice
    rows = form.rows(found.messages)
    history = without_strangers(form.view(rows, None), rows, form, choice.rule)
    filled = frozenset(row for row, each in enumerate(rows) if _holds_fill(each, choice.rule))
    fields = frozenset(row for row, each in enumerate(rows) if _fields_of_a_framework(each))
    return verdict_of(Case(history, choice, plan.origin, _reach(choice, policy), policy, found.request, filled, fields))


def _holds_fill(row: Mapping[str, Any], rule: Rule) -> bool:
    """Whether the rule's placeholder stands in a row; a blank one is read as a value, and is no word to look for."""
    fill = rule.missing.fill if rule.missing is not None else None
    if fill is None or fill.isspace() or len(fill) == 0:
        return False
    text = json.dumps(row, default=str)
    return fill in text or base64.b64encode(fill.encode()).decode() in text


def _fields_of_a_framework(row: Mapping[str, Any]) -> bool:
    fields = row.get(PSF)
    return isinstance(fields, Mapping) and not set(fields) <= {MARK}


def _pairs(found: Found, plan: Plan) -> Iterator[tuple[Any, Any]]:
    """Each given message and what is sent of it; None where it is left out."""
    assert plan.work is not None
    sent = iter(plan.messages)
    for given, (_, decision) in zip(found.messages, plan.work.draft.decided(), strict=True):
        yield given, None if decision.remove is not None else next(sent, None)


def run(arguments: Namespace) -> int:
    """Explain one history; 1 where it would be refused as it stands."""
    logging.getLogger("reasoning_replay").addHandler(logging.NullHandler())  # the report says what the log would
    done = explained(arguments)
    if arguments.json:
        print(json.dumps(_as_json(done, diff=arguments.diff), indent=2))
    else:
        _tell(done, diff=arguments.diff, newest=None if arguments.all else NEWEST)
    return 0 if done.verdict.refused is None else 1


def rule_told(rule: Rule) -> str:
    """A rule in one line: what it wants, how sure that is, from where and since when."""
    missing = f" on {rule.missing.on}" if rule.missing is not None else ""
    sources = ", ".join(rule.source)
    return (
        f"{rule.host}, window {rule.window}, reasoning {rule.requirement}{missing}; "
        f"{rule.confidence} {rule.date.isoformat()}: {sources}"
    )


def _tell(done: Explained, *, diff: bool, newest: int | None) -> None:
    out = Printer()
    report, rule = done.plan.report, done.plan.report.rule
    out.say(f"{done.found.what}, {len(done.found.messages)} in the form {done.found.form!r}")
    out.say(str(report).splitlines()[0], "bold")
    if report.rows:
        rows = [_styled(cells(row), row.action) for row in _newest(out, report.rows, newest)]
        out.table(COLUMNS, rows, numbers=("message", "sent as", "bytes"))
        for reason in sorted({row.reason for row in report.rows}):
            out.say(f"  {reason}: {SAID.get(reason) or sentence(reason)}")
    if diff:
        sizes = _newest(out, list(_diff(done)), newest)
        out.table(DIFF, [list(map(_shown, each.values())) for each in sizes], numbers=DIFF)
    verdict = done.verdict
    out.say(f"as it stands: {verdict.sentence}", "bold green" if verdict.refused is None else "bold red")
    if done.found.form == "langchain" and verdict.refused is None:
        out.say(
            "that holds where the class sends what stands in its messages: many a class leaves reasoning out by itself"
        )
    if verdict.foreign and verdict.refused is None:
        pieces = "1 piece" if verdict.foreign == 1 else f"{verdict.foreign} pieces"
        out.say(f"but another host's reasoning would reach it: {pieces}", "bold yellow")
    out.say(f"sent instead: {_instead(done)}")
    if rule is not None:
        out.say(f"rule: {rule_told(rule)}")
    if not done.target.described:
        out.say(
            f"no file describes {done.plan.origin.host}: this is the cautious rule for unknown hosts; --as ID names one"
        )


def _newest(out: Printer, rows: Sequence[Any], most: int | None) -> Sequence[Any]:
    if most is None or len(rows) <= most:
        return rows
    out.say(f"the newest {most} of {len(rows)} rows; --all shows all")
    return rows[-most:]


def _styled(texts: tuple[str, ...], action: str) -> list[tuple[str, str]]:
    return [(text, STYLES.get(text, "yellow") if text == action else "") for text in texts]


def _instead(done: Explained) -> str:
    if done.plan.messages is done.found.messages and done.plan.request is done.found.request:
        return "the same messages"
    return str(done.plan.report).splitlines()[-1]


DIFF = ("message", "before", "after", "change")


def _diff(done: Explained) -> Iterator[dict[str, int | None]]:
    """The bytes of each message as JSON, before and after."""
    for index, (given, planned) in enumerate(_pairs(done.found, done.plan)):
        before, after = _bytes(given), 0 if planned is None else _bytes(planned)
        yield {"message": index, "before": before, "after": after, "change": after - before}


def _bytes(message: Any) -> int:
    return len(json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace"))


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


def _as_json(done: Explained, *, diff: bool) -> Mapping[str, Any]:
    refused, rule = done.verdict.refused, done.plan.report.rule
    return {
        "verdict": {
            "accepted": refused is None,
            "sentence": done.verdict.sentence,
            "reason": None if refused is None else refused.reason,
            "message": None if refused is None else refused.row,
            "field": None if refused is None else refused.field,
            "earlier_turn": None if refused is None else refused.earlier,
            "unsure": done.verdict.unsure,
            "foreign": done.verdict.foreign,
        },
        "shape": done.found.what,
        "form": done.found.form,
        "described": done.target.described,
        "rule": None if rule is None else rule_told(rule),
        "report": done.plan.report.to_dict(),
        **({"diff": list(_diff(done))} if diff else {}),
    }
