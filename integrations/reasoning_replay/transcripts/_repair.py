"""Repair: a stored history that a host refuses → a healed copy, and a report of what was done and why.

Without an error all that this host would refuse is healed; with one, the smallest change that it allows. What comes of
it is still the caller's history: marks and turn notes stay, and it goes to `prepare` or to a framework afterwards. What
was repaired is not changed again. The order of the steps stands here; what a host means by its words stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import _replay
from .._decision import Act, Decision
from .._engine import BLOCKS
from .._history import HistoryError, Message
from .._host import Means
from .._known import Known, Overlay, check_known, default_store
from .._origin import Origin
from .._plan import Plan, Work
from .._policy import Policy
from .._report import Report
from ..forms import form_for, size_of
from . import _repair_rows
from ._repair_answers import answered
from ._repair_calls import KITS, call_ids
from ._repair_error import meaning, place_of
from ._repair_lines import Line, Repairing
from ._repair_parts import KEEP, rewritten
from ._repair_places import ITEM, NAME, Sent, sent_of
from ._repair_smallest import MEANS, Case, Change
from ._repair_words import Refusal, refusal_of


class _Report(Report):
    empty = "nothing to repair"


@dataclass(frozen=True, kw_only=True, eq=False)
class Repaired:
    """A healed history. `repr` shows no message."""

    messages: list[Any]
    """The very list that was given where nothing was done; unchanged messages are shared."""
    request: Mapping[str, Any] | None
    """The call's parameters; the very same object where they stay."""
    report: Report
    """What was done, line by line: `index` is the place in the caller's list, `output` the one in `messages`."""
    means: Means | None = None
    """What the error was taken for, as the host's own table says; None without one, and for an unrelated one."""
    changed: bool = False
    """Whether anything was done."""
    places: tuple[int | None, ...] = ()
    """For each of `messages` its place in the caller's list; None for one that was put in."""

    def __repr__(self) -> str:
        return f"<Repaired for {self.report.origin.host}: {len(self.messages)} messages, {self.report!r}>"


def repair(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    upstream: str | None = None,
    account: str | None = None,
    known: Known | None = None,
    error: object = None,
) -> Repaired:
    """Heals a stored history that `host` refuses. Sends nothing, changes nothing that it is given.

    Without `error` all that the host would refuse: blocks of others, of nobody knows whom and without a signature, ids
    without what they name, items without their partner, calls without a result and results without a call, what is
    empty, stands twice or was broken off, and a beginning that the host refuses. With `error` only what the host
    complains of, and nothing for an error that is no complaint about reasoning (a rate limit, a schema, the length of
    the context).

    Call it right before a request. A reply at the end none of whose calls has a result is left as it is: its step runs.
    Where some have one, the others get a short one that says so: no host takes a part. Append the results of a step
    that goes on, and repair then; a result that comes later still takes the short one's place at the next repair.

    Args:
        messages: the caller's history, as `prepare` takes it; not a plan's.
        request: the call's parameters; a parameter that cannot stay is changed in a copy.
        error: the host's text, `(status, text)`, the parsed body, or the exception of openai, anthropic, google-genai,
            boto3, litellm or langchain.
        host, model, dialect, form, policy, hint, upstream, account, known: as in `prepare`.

    Raises:
        HistoryError: messages that cannot be read.
        OriginError, BadPolicy, TypeError: as `prepare`; TypeError also for an `error` of another type.
        ConversationElsewhere: the request goes on with a conversation that another endpoint keeps.
    """
    check_known(known)
    said = None if error is None else refusal_of(error)
    chosen = policy if policy is not None else Policy()
    if chosen.missing == "raise":  # there is nothing to raise for: the history is healed
        chosen = replace(chosen, missing="host")
    target = Origin(host, dialect=dialect, model=model, upstream=upstream, account=account)
    asked: dict[str, Any] = {
        "host": host,
        "model": model,
        "dialect": dialect,
        "form": form,
        "request": request,
        "policy": chosen,
        "hint": hint,
        "upstream": upstream,
        "account": account,
        "known": _origins_alone(known),
    }
    shape = form_for(form, dialect)
    work = Repairing(messages, shape.rows(messages), shape)
    if said is None:
        return _healed(work, asked, target)
    plan = _replay.prepare_untold(messages, **asked)
    assert plan.work is not None
    return _answered_to(work, plan.work, target, request, hint, said, certain=False)


def repair_sent(plan: Plan, messages: Any, *, request: Mapping[str, Any] | None, error: object) -> Repaired:
    """The smallest change that a refusal of a plan allows, for who sent just that plan's messages.

    Args:
        messages: what the plan was made of; with a store that restored something, what it restored it into.
        request: the parameters that it was made with.
    """
    if plan.work is None:
        raise HistoryError("plan: the fallback's, of which nothing is known; allowed: a plan of prepare()")
    work = Repairing(messages, plan.work.rows, plan.work.form)
    return _answered_to(work, plan.work, plan.origin, request, plan.hint, refusal_of(error), certain=True)


def _origins_alone(known: Known | None) -> Known:
    """The store without what it holds of dropped reasoning: a repair puts nothing back."""
    return Overlay({}, default_store() if known is None else known)


# All that this host refuses -------------------------------------------------------------------------------------------

HEALED = frozenset({"foreign", "unknown_origin", "sealed", "unsigned", "refused", "prefix", "pair"})
"""Reasons for which a plan leaves out what its host would refuse, this time and the next."""
STRICT = frozenset({"not_taken", "forbidden", "filler_dropped", "empty"})
"""Reasons that count where the host refuses what it does not know."""


def _healed(work: Repairing, asked: dict[str, Any], target: Origin) -> Repaired:
    kit = KITS.get(work.form.name)
    _repair_rows.whole(work)
    _repair_rows.once(work)
    if kit is not None:
        answered(work, kit)
    _repair_rows.filled(work)
    plan = _replay.prepare_untold(work.rows if work.form.back is None else work.result(), **asked)
    assert plan.work is not None
    _without_refused(work, plan.work)
    _repair_rows.filled(work)
    _repair_rows.alternating(work)
    _repair_rows.opened(work, target.dialect)
    request = asked["request"]
    guards = [reason for reason in plan.work.draft.guards if reason != "kept_turns"]
    if guards and plan.request is not request:
        request = plan.request
        for reason in guards:
            work.note_request(reason)
    return _result(work, plan.work, target, asked["request"], request, None)


def _without_refused(work: Repairing, planned: Work) -> None:
    """What a plan leaves out for good, and the placeholders that it puts in, written into the history."""
    rule = planned.choice.rule
    reasons = HEALED | STRICT if rule.strict or rule.requirement == "forbidden" else HEALED
    lines: list[Line] = []
    renamed: dict[str, str] = {}
    bare = False
    for line, (shape, decision) in zip(work.lines, planned.draft.decided(), strict=True):
        acts = list(decision.acts)
        bare = bare and shape.role == "assistant"
        for at, part in enumerate(shape.parts):
            if bare and part.carrier == NAME and acts[at].action != "drop":
                acts[at] = _BARE  # behind a reasoning item that goes no item of its run keeps an id
        goes = {at for at, act in enumerate(acts) if act.action == "drop" and act.reason in reasons}
        if torn := next((acts[at] for at in sorted(goes) if _tears(shape, at, acts[at])), None):
            for at, part in enumerate(shape.parts):  # a run that is half there is refused as well
                if part.carrier in _RUNS and at not in goes:
                    acts[at] = torn
                    goes.add(at)
        bare = bare or any(shape.parts[at].carrier == ITEM for at in goes)
        kept = _kept(work, line, shape, decision._replace(acts=tuple(acts)), goes, renamed)
        if kept is not None:
            lines.append(kept)
    work.lines = lines
    _rename(work, renamed)


_BARE = Act("drop", "pair")
_RUNS = BLOCKS | {"reasoning_details"}
"""Carriers whose entries are one run: as they came, or not at all."""


def _tears(shape: Message, at: int, act: Act) -> bool:
    part = shape.parts[at]
    return part.carrier in _RUNS and part.kind != "text" and act.reason in ("unknown_origin", "foreign", "sealed")


def _kept(
    work: Repairing, line: Line, shape: Message, decision: Decision, goes: set[int], renamed: dict[str, str]
) -> Line | None:
    """The line as it stays; None where it goes."""
    bare = len(goes) == len(decision.acts) and not shape.visible
    gone = decision.remove is not None and (decision.remove == "reasoning_only" or bare)
    stays = len(goes) < len(shape.parts)  # its mark stays too, and a placeholder is nobody's: each plan puts it in
    fill = decision.fill if decision.remove is None and not stays else None
    if not goes and not gone and fill is None and not decision.mends:
        return line
    made = None
    if not gone:
        acts = tuple(act if at in goes else KEEP for at, act in enumerate(decision.acts))
        made = _written(work, line, shape, Decision(acts, fill, mends=decision.mends), renamed)
        if made is not None and made.row == line.row:  # the placeholder stands there: some are no reasoning to a form
            return line
    for reason in dict.fromkeys(decision.acts[at].reason for at in sorted(goes)):
        _note_parts(work, line, shape, {at for at in goes if decision.acts[at].reason == reason}, reason)
    if gone and (not goes or decision.remove == "reasoning_only"):
        work.note(line, shape.role, "drop", str(decision.remove))
    for mend in decision.mends if not gone else ():
        work.note(line, shape.role, "guard", mend)
    if fill is not None and not gone:
        work.note(line, shape.role, "fill", "missing", (fill[0],), size_of(fill[1]))
    return made


def _written(work: Repairing, line: Line, shape: Message, decision: Decision, renamed: dict[str, str]) -> Line | None:
    row = rewritten(work.form, line.row, shape, decision)
    if row is None:
        return None
    kit = KITS.get(work.form.name)
    if kit is not None:
        pairs = zip(call_ids(kit, line.row), call_ids(kit, row), strict=False)
        renamed.update((old, new) for old, new in pairs if old is not None and new is not None and old != new)
    return line._replace(row=row)


def _rename(work: Repairing, ids: dict[str, str]) -> None:
    """Results of calls whose ids have lost a signature that LiteLLM put there."""
    kit = KITS.get(work.form.name)
    if ids and kit is not None:
        work.lines = [line._replace(row=kit.renamed(line.row, ids)) for line in work.lines]


def _note_parts(work: Repairing, line: Line, shape: Message, parts: set[int], reason: str) -> None:
    size = 0
    for at in parts:
        size += size_of(work.form.payload(line.row, shape.parts[at]).replace("\0", ""))
    carriers = tuple(dict.fromkeys(shape.parts[at].carrier for at in sorted(parts)))
    work.note(line, shape.role, "drop", reason, carriers, size)


# What an error allows -------------------------------------------------------------------------------------------------


def _answered_to(
    work: Repairing,
    planned: Work,
    target: Origin,
    request: Mapping[str, Any] | None,
    hint: str | None,
    said: Refusal,
    *,
    certain: bool,
) -> Repaired:
    means = meaning(planned.choice.host, said)
    if means is None:
        return _result(work, planned, target, request, request, None)
    sent = sent_of(planned, target.dialect, certain=certain)
    text = said.text
    change = MEANS[means](Case(sent, text, place_of(text), request, hint))
    _do(work, sent, change)
    left = request
    if change.request is not None:
        work.note_request(change.reason)
        left = change.request
    return _result(work, planned, target, request, left, means)


def _do(work: Repairing, sent: Sent, change: Change) -> None:
    """A change written into the history."""
    lines: list[Line] = []
    renamed: dict[str, str] = {}
    for row, (line, shape) in enumerate(zip(work.lines, sent.history.rows, strict=True)):
        if row in change.removed:
            work.note(line, shape.role, "drop", change.reason)
            continue
        kept = _changed(work, line, shape, row, change, renamed)
        if kept is not None:
            lines.append(kept)
    work.lines = lines
    _rename(work, renamed)


def _changed(
    work: Repairing, line: Line, shape: Message, row: int, change: Change, renamed: dict[str, str]
) -> Line | None:
    gone, bare, fill = change.gone.get(row, set()), change.unsigned.get(row, set()), change.fills.get(row)
    if not gone and not bare and fill is None:
        return line
    if gone:
        _note_parts(work, line, shape, gone, change.reason)
    if bare:
        _note_parts(work, line, shape, bare, "own_unsigned")
    if len(gone) == len(shape.parts) and shape.parts and not shape.visible:
        return None
    if fill is not None:
        work.note(line, shape.role, "fill", "missing", (fill[0],), size_of(fill[1]))
    unsigned, drop = Act("keep", "own_unsigned"), Act("drop", change.reason)
    acts = tuple(drop if at in gone else unsigned if at in bare else KEEP for at in range(len(shape.parts)))
    return _written(work, line, shape, Decision(acts, fill), renamed)


def _result(
    work: Repairing,
    planned: Work,
    target: Origin,
    before: Mapping[str, Any] | None,
    request: Mapping[str, Any] | None,
    means: Means | None,
) -> Repaired:
    messages = work.result()
    rows = work.rows_of_report()
    report = _Report(
        rows, origin=target, rule=planned.choice.rule, thinking=planned.choice.thinking, tools=planned.choice.tools
    )
    changed = work.changed() or request is not before
    return Repaired(
        messages=messages, request=request, report=report, means=means, changed=changed, places=work.places()
    )
