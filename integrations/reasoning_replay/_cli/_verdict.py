"""What a host would say to a history as it stands: accepted, or refused and why. Decided from its rule, sends nothing.

Contract: CHECKS in order, the first one that refuses decides; each sees one `Case` and gives `Refused` or None. Our own
notes (marks, `turn`) count as absent: no layer of ours sends them. What cannot be told without the host (an edited
prefix, a seal that nobody can place) is accepted and told in `unsure`. It knows no host; what a host checks of seals
follows from its rule and from its own error texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .. import _guards
from .._decision import REASONS
from .._engine import BLOCKS, CALL_SEALS, FILLS, INLINE, NAMES, REFERENCES, TAKEN
from .._history import History, Message, Part
from .._origin import Origin, Reach, accepts
from .._rules import Choice, Policy
from .._unknown import NOBODY
from ..forms import PSF, TURN

ITEM = "content.item"
"""A whole item that holds reasoning: what is not sealed in it is but the name of what its host stored."""
OUR_NOTES = frozenset({PSF, TURN, f"content.{PSF}", "block"})
"""In `Message.spare`: what never goes, and is not there for the host."""
ENTRIES = BLOCKS | {"reasoning_details"}
"""Carriers whose entries have a place for a signature."""


class Case(NamedTuple):
    """A request before the host."""

    history: History
    choice: Choice
    target: Origin
    reach: Reach
    policy: Policy
    request: Mapping[str, Any] | None
    filled: frozenset[int]
    """Rows where the rule's own fill stands already, in a form that reads it as nothing."""

    fields: frozenset[int] = frozenset()
    """Rows with a framework's own field that holds more than our mark."""

    @property
    def means(self) -> frozenset[str]:
        """What the host is known to refuse, by its own words."""
        return frozenset(error.means for error in self.choice.host.errors)

    @property
    def writes(self) -> tuple[str, ...] | None:
        """Keys in which a chat host takes reasoning; None: in any."""
        write = self.choice.rule.write
        return write if self.target.dialect == "chat" and write and write != ("same",) else None

    def said(self) -> Iterator[tuple[int, Message]]:
        """The assistant's rows."""
        return ((row, shape) for row, shape in enumerate(self.history.rows) if shape.role == "assistant")

    def parts(self) -> Iterator[tuple[int, Part]]:
        """Every part that the host looks at: a chat host under its own keys, another where its dialect has a place."""
        taken: Any = TAKEN.get(self.target.dialect)
        if self.writes is not None:
            taken = {*self.choice.rule.read, *self.writes}
        for row, shape in self.said():
            for part in shape.parts:
                if taken is None or part.carrier in taken:
                    yield row, part

    def origins(self, part: Part) -> frozenset[Origin] | None:
        """Where a part comes from, as the caller has it; None: nobody says."""
        own = self.policy.unknown_origin
        return frozenset({own}) if part.origins is None and isinstance(own, Origin) else part.origins


class Refused(NamedTuple):
    """Why the request would be refused."""

    reason: str
    """A code of REASONS, or of OTHERS."""
    row: int | None = None
    field: str | None = None
    earlier: bool = False
    """In a turn that is over: by their guides some hosts look there, and not all of them do."""


class Verdict(NamedTuple):
    """What the host would say."""

    refused: Refused | None
    unsure: str | None
    """What only the host can tell."""
    foreign: int = 0
    """Pieces of reasoning that another host wrote, and that would reach this one."""

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        if self.refused is None:
            return f"accepted, {self.unsure}" if self.unsure is not None else "accepted"
        reason, row, field, earlier = self.refused
        where = "the request" if row is None else f"message {row}"
        named = (f", {field}" if field is not None else "") + (", in an earlier turn" if earlier else "")
        return f"refused: {where}{named}: {OTHERS.get(reason) or REASONS[reason]}"


OTHERS = {
    "unknown_key": "The host knows no such key, and refuses what it does not know.",
    "sealed": "Another host, model or account sealed it, and the host verifies what is sealed.",
    "lost": "It is but the name of what another host has stored.",
    "missing": "The host demands the field, and it is not there.",
    "last": "Thinking is off, and the last message is the assistant's and holds thinking.",
    "hollow": "A block of thinking without text and without a signature.",
    "nothing": "The message has neither content nor calls.",
    "forced_tools": "The host refuses thinking where a tool is forced.",
    "budget": "max_tokens leaves no room for the thinking budget.",
    "lead_block": "The running tool loop does not begin with a block of thinking, and thinking is on.",
    "pair": "A reasoning item and what followed it in its reply go together or not at all.",
    "cache_point": "The host refuses a cache point right behind reasoning.",
}
"""Code → sentence, where it says something else of the request as it stands than of what is sent instead."""


def verdict_of(case: Case) -> Verdict:
    """What the host would say."""
    refused = next((found for check in CHECKS if (found := check(case)) is not None), None)
    return Verdict(refused, None if refused is not None else _unsure(case), sum(1 for _ in _foreign(case)))


def _foreign(case: Case) -> Iterator[Part]:
    """What another host wrote, whether this one looks at it or not."""
    for _, shape in case.said():
        for part in shape.parts:
            origins = case.origins(part)
            if part.value != "text" or origins is None or origins == NOBODY:
                continue
            if not any(accepts(case.target, one, case.reach, sealed=False) for one in origins):
                yield part


def _unknown_key(case: Case) -> Refused | None:
    """A closed schema: what is not written there is refused, null too."""
    writes = case.choice.rule.write
    if not case.choice.rule.strict or case.target.dialect != "chat":
        return None
    for row, shape in enumerate(case.history.rows):
        spare = [name for name in shape.spare if name not in OUR_NOTES or (name == PSF and row in case.fields)]
        for name in (*(part.carrier for part in shape.parts), *spare):
            if name not in writes and name != INLINE:
                return Refused("unknown_key", row, name)
    return None


def _forbidden(case: Case) -> Refused | None:
    """Reasoning where the host takes none; null counts, since it is the key that is refused."""
    rule = case.choice.rule
    if rule.requirement != "forbidden":
        return None
    if rule.signature == "required" and case.choice.thinking == "off":  # refused in the last place, else ignored
        last = len(case.history.rows) - 1
        ends = any(row == last and part.carrier in BLOCKS for row, part in case.parts())
        return Refused("last", last) if ends else None
    named = frozenset({*rule.read, *rule.write}) - {"same"}
    for row, shape in case.said():
        spare = [name for name in shape.spare if name not in OUR_NOTES]
        for name in (*(part.carrier for part in shape.parts), *spare):
            if name != INLINE and (not named or name in named):
                return Refused("forbidden", row, name)
    return None


def _kinds(case: Case) -> Refused | None:
    """Kinds of parts that the host does not take, and blocks that hold nothing."""
    rule = case.choice.rule
    for row, part in case.parts():
        if part.redacted and "redacted" in rule.refuses:
            return Refused("refused", row, part.carrier)
        seals = part.kind != "text" and part.carrier not in NAMES
        if seals and rule.signature == "forbidden" and "refused" in case.means:
            return Refused("refused", row, part.carrier)
        if rule.signature == "required" and part.kind == "text" and part.carrier in ENTRIES:
            return Refused("hollow" if part.value == "empty" else "unsigned", row, part.carrier)
    return None


def verifies(choice: Choice, means: frozenset[str]) -> bool:
    """Whether the host opens what is sealed: its rule says so, or its words do and its rule wants reasoning back."""
    rule = choice.rule
    return rule.signature == "required" or ("sealed" in means and rule.requirement in ("required", "recommended"))


def _judged(case: Case) -> Iterator[tuple[int, Part, str]]:
    """Sealed parts that the host looks at."""
    if not verifies(case.choice, case.means):
        return
    for row, part in case.parts():
        if part.value != "text" or (part.carrier in NAMES and part.carrier not in REFERENCES):
            continue
        if part.carrier in REFERENCES or (part.carrier == ITEM and part.kind == "text"):
            if "lost" in case.means:
                yield row, part, "lost"
        elif part.kind != "text":
            yield row, part, "sealed"


def _sealed(case: Case) -> Refused | None:
    """Seals of others, and names of what others have stored."""
    for row, part, reason in _judged(case):
        origins = case.origins(part)
        if origins is None:
            continue
        if origins == NOBODY or not any(accepts(case.target, one, case.reach, sealed=True) for one in origins):
            return Refused(reason, row, part.carrier)
    return None


def _missing(case: Case) -> Refused | None:
    """The field where the host demands it; whose reasoning stands there it cannot tell."""
    rule, history = case.choice.rule, case.history
    if rule.missing is None or rule.requirement != "required":
        return None
    here = rule.missing.on in ("current_turn", "first_call")
    serves: Any = CALL_SEALS if case.target.dialect in FILLS else case.writes
    lacking: list[Refused] = []
    for row, shape in case.said():
        asked = shape.calls_tools or rule.missing.on in ("all_assistant", "current_turn")
        if not asked or (here and row < history.host_turn) or row in case.filled:
            continue
        if not any(part.carrier != INLINE if serves is None else part.carrier in serves for part in shape.parts):
            name = serves[0] if isinstance(serves, tuple) else None
            lacking.append(Refused("missing", row, name, earlier=row < history.host_turn))
    return next((found for found in lacking if not found.earlier), lacking[0] if lacking else None)


def _guarded(case: Case) -> Refused | None:
    """What the host checks of the request's parameters, and of the order of items."""
    rule = case.choice.rule
    for row, shape in case.said():
        for guard in shape.mendable:
            if guard in rule.guards and not (guard == "status" and shape.calls_tools):  # refused on messages alone
                return Refused(guard, row)
        if shape.null and not shape.visible and case.target.dialect == "chat":
            return Refused("nothing", row)
    if case.request is None or not rule.guards:
        return None
    done = _guards.run(rule.guards, case.request, leads=_leads(case.history))
    return Refused(done[0].reason) if done else None


def _leads(history: History) -> bool:
    """Whether the last tool call of the running turn begins with a block. True where there is no call."""
    calls = [shape for shape in history.rows[history.host_turn :] if shape.role == "assistant" and shape.calls_tools]
    return not calls or calls[-1].lead > 0


def _unsure(case: Case) -> str | None:
    """What the verdict rests on and nobody here can see."""
    rows = {row for row, part, _ in _judged(case) if case.origins(part) is None}
    if rows:
        count = f"message {min(rows)}" if len(rows) == 1 else f"{len(rows)} messages"
        return f"if the host itself sealed what is sealed in {count} (nothing says who did; --from-origin does)"
    return None


CHECKS: tuple[Callable[[Case], Refused | None], ...] = (
    _unknown_key, _forbidden, _kinds, _sealed, _missing, _guarded,
)  # fmt: skip
