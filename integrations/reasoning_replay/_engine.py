"""The decision: which reasoning goes back, and why.

Rule 1: all that decides is in this file; what a host wants of the request itself stands in `_guards`.
Rule 2: this file knows no host and no message. It sees shapes, one rule and one request, and carriers by their names.
Contract: `plan` gives every row a `Decision`, changes no argument, and gives the same plan for the same input.
A decision is made once for a shape inside or outside the window and the scope of what is required, not per message.
Reasons are codes of `_decision.REASONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from . import _guards
from ._decision import NOTHING, Act, Decision, Draft, Zone, decided
from ._history import WINDOWS, History, Message, Part
from ._origin import Origin, Reach, accepts
from ._rules import Choice, Policy, Rule

BLOCKS = frozenset({"thinking_blocks", "content.thinking"})
"""Carriers whose items are blocks of a message, in order."""

PAIR = "pair"
"""The guard of a host that ties an item to its reasoning: what has lost the other goes, or goes without its name."""

INLINE = "content.think"
"""Tags in the visible text. Its host takes them where the rule lets reasoning go; they are written, never moved."""

TAKEN: dict[str, frozenset[str]] = {"anthropic": BLOCKS | {"content.extra", INLINE}}
"""Dialect → carriers that can reach its wire. Absent: all; in the chat dialect the rule's `write` says it."""

REFERENCES = frozenset({"item_reference"})
"""Carriers that are but the name of what a host stored: with one of unknown origin nothing leaves, and without it an
answer may lack its call."""

NAMES = REFERENCES | {"item.id", "__openai_function_call_ids__"}
"""Carriers that name and hold nothing: a host that opens nothing sealed takes its own."""

ORDERED: dict[str, tuple[str, str]] = {"anthropic": ("thinking_blocks", "content.thinking")}
"""Dialect whose wire keeps blocks in order → the carrier that loses the order, and the one that keeps it."""

FILLS = {"gemini": "tool_calls.extra_content"}
"""Dialect → the carrier that a placeholder stands in, where it stands for the seal of a call and not for a text."""

CALL_SEALS = frozenset(
    {
        "tool_calls.extra_content",
        "tool_calls.id",
        "function_call.extra",
        "reasoning_tool_extras",
        "__gemini_function_call_thought_signatures__",
    }
)
"""Carriers that seal a call: nothing else makes up for a seal that is missing."""

TEXT_CARRIERS = ("reasoning_content", "reasoning", "reasoning_text", INLINE, "content.thinking")
"""Carriers between which readable text can be moved, in the order they are looked for."""


class _Case(NamedTuple):
    """Everything that stays the same while one history is planned."""

    rule: Rule
    target: Origin
    reach: Reach
    policy: Policy
    outside: str
    """Why reasoning outside the window goes."""
    strip: str | None = None
    """Why what would stay goes all the same: a guard switched thinking off."""

    @property
    def serves(self) -> frozenset[str] | tuple[str, ...] | None:
        """Carriers of which one must be there where something is required; None: any will do."""
        return CALL_SEALS if self.target.dialect in FILLS else self.writes

    @property
    def writes(self) -> tuple[str, ...] | None:
        """Carriers that the rule writes; None: every carrier goes under its own name."""
        named = self.target.dialect == "chat" and self.rule.write and self.rule.write != ("same",)
        return self.rule.write if named else None

    def returns(self, part: Part, *, sealed: bool) -> bool:
        """Whether a part may go back to where it came from. True where nobody knows and the policy trusts."""
        origins = part.origins
        if origins is None and isinstance(self.policy.unknown_origin, Origin):
            origins = frozenset({self.policy.unknown_origin})
        return origins is None or any(accepts(self.target, origin, self.reach, sealed=sealed) for origin in origins)


def plan(
    history: History,
    choice: Choice,
    target: Origin,
    reach: Reach,
    policy: Policy,
    request: Mapping[str, Any] | None = None,
) -> Draft:
    """Decides every row. Changes no argument; a planned list planned again stays as it is.

    Raises nothing: what is missing is told in `Draft.missing`, and what to do about it is the caller's policy.
    """
    rule = choice.rule
    forbidden = rule.requirement == "forbidden"
    first = WINDOWS["none" if forbidden else rule.window](history)
    outside = "thinking_off" if choice.thinking == "off" else "forbidden" if forbidden else "window"
    case = _Case(rule, target, reach, policy, outside)
    zones, missing = _decide_rows(history, case, first)
    if "prefix" in rule.bound and (after := _after_unproven(history, zones)) > first:
        first, case = after, case._replace(outside="prefix")
        zones, missing = _decide_rows(history, case, first)
    guarded: list[_guards.Guarded] = []
    if request is not None and rule.guards:
        guarded = _guards.run(rule.guards, request, leads=_leads(history, zones))
    strip = next((done.reason for done in guarded if done.strip), None)
    if strip is not None:
        zones, missing = _decide_rows(history, case._replace(strip=strip), first)
    left = guarded[-1].request if guarded else request
    return Draft(history, zones, left, tuple(done.reason for done in guarded), missing)


def _decide_rows(history: History, case: _Case, first: int) -> tuple[list[Zone], int | None]:
    """The zones that window (`first`) and scope of what is required make, and the first row that lacks something."""
    total = len(history.rows)
    scope = scope_start(history, case.rule)
    zones: list[Zone] = []
    missing: int | None = None
    for start, end in pairwise(sorted({0, min(first, total), min(scope, total), total})):
        made = {shape: _decide(shape, case, inside=start >= first, scoped=start >= scope) for shape in history.shapes}
        zones.append(Zone(start, end, {shape: decision for shape, (decision, _) in made.items()}))
        lacking = {shape for shape, (_, lacks) in made.items() if lacks}
        if lacking and missing is None:
            rows = range(start, end)
            missing = next((row for row in rows if history.rows[row] in lacking), None)
    return zones, missing


def scope_start(history: History, rule: Rule) -> int:
    """The first row that the host looks at for what it demands."""
    if rule.missing is None:
        return len(history.rows)
    return min(history.turn_start, history.host_turn) if rule.missing.on in ("current_turn", "first_call") else 0


def _decide(shape: Message, case: _Case, *, inside: bool, scoped: bool) -> tuple[Decision, bool]:
    """The decision for one shape, and whether something required is missing there."""
    if shape.role != "assistant":
        return NOTHING, False
    writes = case.writes
    scoped = scoped and demands(shape, case.rule)
    mends = tuple(guard for guard in shape.mendable if guard in case.rule.guards)
    acts = tuple(_judge(part, case, inside=inside, scoped=scoped) for part in shape.parts)
    if PAIR in mends:
        tied = [not shape.visible or part.carrier in NAMES for part in shape.parts]
        acts = tuple(
            Act("drop", PAIR) if ties and act.action != "drop" else act for ties, act in zip(tied, acts, strict=True)
        )
        mends = tuple(guard for guard in mends if guard != PAIR)
    if writes is not None:
        acts = _place(shape.parts, acts, writes, case.rule)
    elif shape.ordered and case.target.dialect in ORDERED:
        acts = _in_order(shape.parts, acts, *ORDERED[case.target.dialect])
    kept = [act.to or part.carrier for part, act in zip(shape.parts, acts, strict=True) if act.action != "drop"]
    if shape.parts and not shape.visible and (bare := _remove_bare(acts, case.rule)) is not None:
        return Decision(acts, remove=bare), False
    serves = case.serves
    lacks = scoped and not any(carrier != INLINE if serves is None else carrier in serves for carrier in kept)
    fill = _fill(case) if lacks else None
    blank = shape.null and not shape.visible and (len(kept) > 0 or fill is not None)
    return Decision(acts, fill, blank_content=blank, mends=mends), lacks


def demands(shape: Message, rule: Rule) -> bool:
    """Whether the host demands reasoning of such a message, where it looks for it at all."""
    on = rule.missing.on if rule.missing is not None and shape.role == "assistant" else None
    return on is not None and (shape.calls_tools or on in ("all_assistant", "current_turn"))


def _remove_bare(acts: tuple[Act, ...], rule: Rule) -> str | None:
    """Why a message without content and calls is left out; None where it may stay.

    It stays with its own reasoning alone, unless the host refuses that, and when it never had any: a blank placeholder
    is none.
    """
    real = [act for act in acts if act.reason not in ("filler", "filler_dropped")]
    if real and all(act.action == "drop" for act in real):
        return "emptied"
    return "reasoning_only" if real and "no_empty" in rule.guards else None


def _judge(part: Part, case: _Case, *, inside: bool, scoped: bool) -> Act:
    """Window, then origin, then what the rule says of signatures and kinds: the first check that fails decides."""
    if part.value != "text" and not part.marked and part.origins is None:
        return _judge_filler(part, case.rule, scoped=scoped)
    if not inside:
        return Act("drop", case.outside)
    for reason, fails in CHECKS:
        if fails(part, case):
            return Act("drop", reason)
    if case.strip is not None:
        return Act("drop", case.strip)
    unsign = part.kind == "signed" and case.rule.signature == "forbidden"
    return Act("keep", "own_unsigned" if unsign else "own")


CHECKS: tuple[tuple[str, Callable[[Part, _Case], bool]], ...] = (
    (
        "unknown_origin",
        lambda part, case: (
            part.origins is None and case.policy.unknown_origin == "drop" and part.carrier not in REFERENCES
        ),
    ),
    (
        "foreign",
        lambda part, case: not any(case.returns(part, sealed=sealed) for sealed in (False, part.kind != "text")),
    ),
    ("sealed", lambda part, case: not case.returns(part, sealed=part.kind != "text")),
    ("prefix", lambda part, case: part.moved and "prefix" in case.rule.bound),
    ("not_taken", lambda part, case: part.carrier not in TAKEN.get(case.target.dialect, {part.carrier})),
    ("refused", lambda part, case: part.redacted and "redacted" in case.rule.refuses),
    (
        "refused",
        lambda part, case: (
            part.kind != "text" and part.hollow and case.rule.signature == "forbidden" and part.carrier not in NAMES
        ),
    ),
    ("unsigned", lambda part, case: part.kind == "text" and case.rule.signature == "required"),
    ("empty", lambda part, case: part.kind == "text" and part.value == "empty" and case.rule.empty == "omit"),
)
"""Reason → whether it makes a part inside the window go; in this order, since the first one is what the report says."""


def _judge_filler(part: Part, rule: Rule, *, scoped: bool) -> Act:
    """A blank that nobody marked: the rule's own fill stays where it is demanded, any other goes."""
    fill = rule.missing.fill if rule.missing is not None else None
    same = (part.value == "empty" and fill == "") or (part.value == "blank" and fill == " ")
    return Act("keep", "filler") if same and scoped else Act("drop", "filler_dropped")


def _place(parts: tuple[Part, ...], acts: tuple[Act, ...], writes: tuple[str, ...], rule: Rule) -> tuple[Act, ...]:
    """Puts what was kept under the carriers that the rule writes: in place, renamed, or not at all.

    A host that is not strict keeps its own other fields beside the one that it reads, and those that it sends itself.
    """
    there = {part.carrier for part, act in zip(parts, acts, strict=True) if act.action == "keep"}
    if there.issubset(writes) and not there.isdisjoint(writes):
        return acts
    source = _text_source(parts, acts, (*rule.read, *TEXT_CARRIERS))
    taken = there if there.isdisjoint(writes) else {*there, INLINE}  # tags in the text are the last resort
    target = next((carrier for carrier in writes if carrier in TEXT_CARRIERS and carrier not in taken), None)
    stay = set() if rule.strict else there if not there.isdisjoint(writes) else there.intersection(rule.read)
    placed: list[Act] = []
    for part, act in zip(parts, acts, strict=True):
        if act.action == "keep" and part.carrier not in writes:
            if part.carrier == source and target is not None:
                act = Act("rename", "own_renamed", target)  # noqa: PLW2901
            elif part.carrier not in stay and part.carrier != INLINE:
                act = Act("drop", "not_taken")  # noqa: PLW2901
        placed.append(act)
    return tuple(placed)


def _text_source(parts: tuple[Part, ...], acts: tuple[Act, ...], order: tuple[str, ...]) -> str | None:
    """The first carrier whose kept parts are all readable text; None where there is none."""
    kinds: dict[str, set[str]] = {}
    for part, act in zip(parts, acts, strict=True):
        if act.action == "keep":
            kinds.setdefault(part.carrier, set()).add(part.kind)
    movable = (carrier for carrier in order if carrier in TEXT_CARRIERS and carrier != INLINE)
    return next((carrier for carrier in movable if kinds.get(carrier) == {"text"}), None)


def _in_order(parts: tuple[Part, ...], acts: tuple[Act, ...], source: str, target: str) -> tuple[Act, ...]:
    """Sends kept blocks to the carrier that keeps their order."""
    return tuple(
        act._replace(to=target) if act.action == "keep" and part.carrier == source else act
        for part, act in zip(parts, acts, strict=True)
    )


def _fill(case: _Case) -> tuple[str, str] | None:
    """Carrier and text of the placeholder; None where the policy leaves it, or nothing can be put there."""
    missing = case.rule.missing
    if missing is None or missing.fill is None or case.policy.missing == "leave":
        return None
    if case.target.dialect in FILLS:
        return FILLS[case.target.dialect], missing.fill
    writes = case.writes or (() if case.target.dialect == "chat" else TEXT_CARRIERS[-1:])
    carrier = next((name for name in writes if name in TEXT_CARRIERS), None)
    return None if carrier is None else (carrier, missing.fill)


def _after_unproven(history: History, zones: list[Zone]) -> int:
    """The row after the last one that loses a block which the model may have seen; 0 where there is none.

    Foreign and unsigned blocks were never in what it saw; sealed ones that cannot be proven may have been.
    """
    after = 0
    for row, (shape, decision) in enumerate(decided(history, zones)):
        acts = zip(shape.parts, decision.acts, strict=True)
        lost = any(act.reason == "unknown_origin" and part.kind != "text" for part, act in acts)
        if lost or decision.remove == "reasoning_only":
            after = row + 1
    return after


def _leads(history: History, zones: list[Zone]) -> bool:
    """Whether the last tool call since the last user begins with a block that stays. True where there is no call."""
    leads = True
    for row, (shape, decision) in enumerate(decided(history, zones)):
        if row >= history.host_turn and shape.role == "assistant" and shape.calls_tools:
            acts = zip(shape.parts, decision.acts, strict=True)
            blocks = [act for part, act in acts if part.carrier in BLOCKS]
            leads = any(act.action != "drop" for act in blocks[: shape.lead])
    return leads
