"""The smallest change that a refusal allows: what a host means and where it points → parts, placeholders, parameters.

MEANS is the table: meaning → what is taken out or put in. It changes nothing itself: it gives a `Change`. Two blocks
go together where taking one alone is refused as well: a run in Claude's latest message, the ids behind a reasoning
item, and, where a model binds blocks to what came before, everything up to the one that is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import _guards
from .._engine import BLOCKS, CALL_SEALS, FILLS, NAMES, TEXT_CARRIERS
from .._history import Part
from .._params import without
from .._rules import Choice, disable_thinking
from ._bound import bound_by
from ._repair_calls import KITS
from ._repair_error import Place
from ._repair_places import IDS, ITEM, NAME, REFERENCE, Hits, Sent, Wanted, at_place, every, planned_rows, rows_named


@dataclass
class Change:
    """What is to be done. Mutable while it is worked out."""

    gone: Hits = field(default_factory=dict)
    unsigned: Hits = field(default_factory=dict)
    fills: dict[int, tuple[str, str]] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    request: Mapping[str, Any] | None = None
    """The new parameters; None: as they were."""
    reason: str = ""


class Case(NamedTuple):
    """One refusal."""

    sent: Sent
    text: str
    place: Place
    request: Mapping[str, Any] | None
    hint: str | None

    @property
    def choice(self) -> Choice:
        return self.sent.work.choice


def _is_sealed(row: int, part: Part) -> bool:
    return part.kind != "text" and part.carrier not in NAMES


def _anything(row: int, part: Part) -> bool:
    return part.carrier not in NAMES or part.carrier in (REFERENCE, IDS)


# Sealed, prefix -------------------------------------------------------------------------------------------------------


_DETAILS = "reasoning_details"
_SIGNED = BLOCKS | {_DETAILS}
"""Carriers whose entries have a place for a signature."""
_UNSIGNED = re.compile(r"signature(\.str)?: (Field required|Input should be a valid string)")


def _sealed(case: Case) -> Change:
    wanted: Wanted = _is_sealed
    if _UNSIGNED.search(case.text):
        wanted = lambda row, part: part.carrier in _SIGNED and part.kind == "text"  # noqa: E731
    hits = at_place(case.sent, case.place, wanted)
    return _whole(case, Change(gone=hits, reason="sealed"))


def _whole(case: Case, change: Change) -> Change:
    """What goes with what goes."""
    rule, sent = case.choice.rule, case.sent
    if not change.gone:
        return change
    if rule.signature == "required":
        last = max((row for row, shape in sent.said() if shape.parts), default=-1)
        if last in change.gone:  # "blocks in the latest assistant message cannot be modified"
            change.gone[last] = _blocks(sent, last) or change.gone[last]
    for row in change.gone:  # a list of details is one run: as it came, or not at all
        parts = sent.history.rows[row].parts
        if any(parts[at].carrier == _DETAILS for at in change.gone[row]):
            rest = {at for at, part in enumerate(parts) if part.carrier == _DETAILS and sent.went(row, at)}
            change.gone[row] = change.gone[row] | rest
    if "prefix" in rule.bound:
        last, every_seal = max(change.gone), every(sent, _is_sealed)
        front = {row: parts for row, parts in every_seal.items() if row < last}
        here = {at for at in every_seal.get(last, ()) if at <= max(change.gone[last])}
        change.gone = {**change.gone, **front, last: change.gone[last] | here}
    _names_behind(sent, change)
    _seals_of_calls(case, change)
    return change


def _seals_of_calls(case: Case, change: Change) -> None:
    """Where the seal of a first call went that the host demands, its sentinel: another signature is refused as well."""
    sent, kit = case.sent, KITS.get(case.sent.work.form.name)
    fill = placeholder(case.choice, sent.dialect) if sent.dialect in FILLS else None
    if fill is None or kit is None or case.sent.work.form.back is not None:
        return
    for row, parts in change.gone.items():
        first = next((call.place for call in kit.calls(sent.rows[row])), None)
        lost = {sent.history.rows[row].parts[at].item for at in parts}
        if row >= sent.history.host_turn and first is not None and first in lost:
            change.fills[row] = fill


def _blocks(sent: Sent, row: int) -> set[int]:
    parts = enumerate(sent.history.rows[row].parts)
    return {at for at, part in parts if part.carrier in BLOCKS and sent.went(row, at)}


def _names_behind(sent: Sent, change: Change) -> None:
    """Behind a reasoning item that goes no item of its run keeps an id."""
    shapes, done = sent.history.rows, 0
    for row in sorted(change.gone):
        if row < done or not any(shapes[row].parts[at].carrier == ITEM for at in change.gone[row]):
            continue
        done = row + 1
        while done < len(shapes) and shapes[done].role == "assistant":
            _name(sent, change, done)
            done += 1


def _name(sent: Sent, change: Change, row: int) -> None:
    found = {at for at, part in enumerate(sent.history.rows[row].parts) if part.carrier == NAME}
    if found:
        change.gone.setdefault(row, set()).update(found)


def _prefix(case: Case) -> Change:
    """All that is bound to what came before it: a prefix that has changed is changed for all behind it."""
    sent, policy = case.sent, case.sent.work.policy
    bound, here = bound_by(policy, case.hint), "prefix" in case.choice.rule.bound

    def wanted(row: int, part: Part) -> bool:
        return _is_sealed(row, part) and (bound(sent.history.rows[row]) or (part.origins is None and here))

    return Change(gone=every(sent, wanted) or every(sent, _is_sealed), reason="prefix")


# Refused --------------------------------------------------------------------------------------------------------------


def _refused(case: Case) -> Change:
    sent = case.sent
    for pattern, find in _REFUSED:
        if re.search(pattern, case.text):
            return _whole(case, find(case))
    named = case.place.field
    hits = every(sent, lambda row, part: named is not None and part.carrier == named)
    hits = hits or _renamed(sent, named)
    if not hits and named == "thinking":
        hits = every(sent, lambda row, part: part.carrier in BLOCKS)
    return _whole(case, Change(gone=hits or every(sent, _anything), reason="refused"))


def _renamed(sent: Sent, named: str | None) -> Hits:
    """The parts that the plan sent under that key."""
    hits: Hits = {}
    for row, _ in sent.said():
        found = {at for at, act in enumerate(sent.decisions[row].acts) if act.to is not None and act.to == named}
        if found:
            hits[row] = found
    return hits


def _without_seals(case: Case) -> Change:
    """A model that takes the text and no seal beside it."""
    seals = every(case.sent, _is_sealed)
    shapes = case.sent.history.rows
    bare = {row: {at for at in parts if not shapes[row].parts[at].hollow} for row, parts in seals.items()}
    gone = {row: parts - bare[row] for row, parts in seals.items() if parts - bare[row]}
    return Change(gone=gone, unsigned={row: parts for row, parts in bare.items() if parts}, reason="refused")


def _at_the_end(case: Case) -> Change:
    last = len(case.sent.history.rows) - 1
    found = _blocks(case.sent, last) if last >= 0 else set()
    return Change(gone={last: found} if found else {}, reason="refused")


_REFUSED: tuple[tuple[str, Callable[[Case], Change]], ...] = (
    (r"reasoningText\.signature field|Encrypted content is not supported", _without_seals),
    (
        "must contain thinking",
        lambda case: Change(
            gone=at_place(
                case.sent, case.place, lambda row, part: part.carrier in BLOCKS and part.value != "text"
            ),
            reason="refused",
        ),
    ),
    ("is disabled, an `?assistant`? message", _at_the_end),
    (r"item\['content'\]", lambda case: Change(gone=every(case.sent, _is_sealed), reason="refused")),
    (
        r"not issued to this caller|Referenced reasoning item \S{1,200} was not found",
        lambda case: Change(gone=at_place(case.sent, case.place, _is_sealed), reason="refused"),
    ),
)  # fmt: skip
"""Words of a refusal → what of the history they speak of, where that is no key that they name."""


# Missing --------------------------------------------------------------------------------------------------------------


def _missing(case: Case) -> Change:
    """The host's own placeholder where it is missing, else thinking off."""
    fills = _fills(case)
    if fills:
        return Change(fills=fills, reason="missing")
    return Change(request=_off(case), reason="disabled_after")


def _fills(case: Case) -> dict[int, tuple[str, str]]:
    sent, fill = case.sent, placeholder(case.choice, case.sent.dialect)
    if fill is None:
        return {}
    lacking = [row for row, shape in sent.said() if _lacks(case, row, fill[0]) and shape.visible]
    planned = [row for row in lacking if sent.decisions[row].fill is not None]
    number = case.place.message
    named = [] if number is None else [*planned_rows(sent, number), *([] if sent.certain else [number])]
    chosen = [row for row in named if row in lacking][:1] or ([] if named and sent.certain else planned)
    return dict.fromkeys(() if sent.certain and planned else chosen, fill)


def _lacks(case: Case, row: int, carrier: str) -> bool:
    """Whether nothing stands in a row that the host would take for what it misses."""
    parts = case.sent.history.rows[row].parts
    if case.sent.dialect == "chat":
        return not any(part.carrier == carrier or part.carrier in case.choice.rule.write for part in parts)
    seals = CALL_SEALS if case.sent.dialect in FILLS else BLOCKS
    return not any(part.carrier in seals for part in parts)


def placeholder(choice: Choice, dialect: str) -> tuple[str, str] | None:
    """Where and what a host takes for the reasoning that it demands; None where nothing can stand there."""
    missing = choice.rule.missing
    if missing is None or missing.fill is None:
        return None
    if dialect in FILLS:
        return FILLS[dialect], missing.fill
    writes = choice.rule.write if dialect == "chat" else TEXT_CARRIERS[-1:]
    carrier = next((name for name in writes if name in TEXT_CARRIERS), None)
    return None if carrier is None else (carrier, missing.fill)


def _off(case: Case) -> Mapping[str, Any] | None:
    """The request with thinking off; None where the host or the model has no off."""
    asked = case.request if case.request is not None else {}
    off = disable_thinking(case.choice, asked)
    if off is asked:
        return None
    return disable_thinking(case.choice, _guards.without_thinking(asked)) if case.choice.rule.guards else off


# Pairs, and what is not there -----------------------------------------------------------------------------------------


def _pair(case: Case) -> Change:
    sent, change = case.sent, Change(reason="pair")
    ids = case.place.ids
    if not ids:  # Azure's Foundry: a reasoning item without its id
        nameless = every(sent, lambda row, part: part.carrier == ITEM and not sent.rows[row].get("id"))
        change.gone = nameless if sent.work.form.name == "responses" else {}
    elif "required following item" in case.text:
        change.gone = at_place(sent, case.place._replace(message=None), lambda row, part: part.carrier == ITEM)
    else:
        named = {*rows_named(sent, frozenset(ids[:1]))}
        runs = [run for run in _runs(sent) if not named.isdisjoint(run) or (named and _is_alone(sent, run))]
        for row in (row for run in runs for row in run):
            _name(sent, change, row)
            _ids(sent, change, row)
    _names_behind(sent, change)
    return change


def _is_alone(sent: Sent, run: list[int]) -> bool:
    """Whether a reply's reasoning is gone, or has no id: what is told of one would be told of the next."""
    if sent.work.form.name != "responses":
        return False
    thoughts = (sent.rows[row].get("id") for row in run if _is_thought(sent.history.rows[row].parts))
    return not any(isinstance(each, str) and len(each) for each in thoughts)


def _is_thought(parts: tuple[Part, ...]) -> bool:
    return any(part.carrier in (ITEM, REFERENCE) for part in parts)


def _runs(sent: Sent) -> list[list[int]]:
    """The rows of each reply."""
    runs: list[list[int]] = []
    for row, _ in sent.said():
        if runs and runs[-1][-1] == row - 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _ids(sent: Sent, change: Change, row: int) -> None:
    found = {at for at, part in enumerate(sent.history.rows[row].parts) if part.carrier == IDS}
    if found:
        change.gone.setdefault(row, set()).update(found)


def _lost(case: Case) -> Change:
    sent, ids = case.sent, case.place.ids
    if not ids:
        if "with id" in case.text:  # an id that nothing here can have
            return Change(reason="lost")
        last = max((row for row, shape in sent.said() if shape.parts), default=-1)
        found = _blocks(sent, last) if last >= 0 else set()
        hits = {last: found} if found else every(sent, lambda row, part: part.carrier in NAMES)
        return Change(gone=hits, reason="lost")
    wanted: Wanted = lambda row, part: part.carrier in (ITEM, REFERENCE, NAME, IDS)  # noqa: E731
    hits = at_place(sent, case.place._replace(message=None), wanted)
    return _whole(case, Change(gone=hits, reason="lost"))


# The request, and the end ---------------------------------------------------------------------------------------------

_SEEN = _guards.Seen(leads=True, off=True)


def _parameters(case: Case) -> Change:
    asked = case.request
    if asked is None:
        return Change()
    for pattern, change, reason in _PARAMETERS:
        if re.search(pattern, case.text):
            left = change(asked)
            return Change(request=None if left == asked else left, reason=reason)
    return Change()


def _budgeted(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    done = _guards.budget(asked, _SEEN)
    return asked if done is None else _guards.without_thinking(asked) if done.strip else done.request


def _edits(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    done = _guards.beside_thinking(asked, _SEEN)
    return asked if done is None else done.request


_PARAMETERS: tuple[tuple[str, Callable[[Mapping[str, Any]], Mapping[str, Any]], str], ...] = (
    ("tool_choice forces tool use", _guards.without_thinking, "forced_tools"),
    ("must be greater than", _budgeted, "budget"),
    ("greater than or equal to", _guards.without_thinking, "budget"),
    ("clear_thinking_", _edits, "beside_thinking"),
    (
        "block_binding",
        lambda asked: without(
            without(asked, "thinking.block_binding"), "additionalModelRequestFields.thinking.block_binding"
        ),
        "beside_thinking",
    ),
)
"""Words of a refusal → the request that passes, and why."""


def _ending(case: Case) -> Change:
    """Replies at the end of which only reasoning is left; what a reply says there is the caller's own beginning."""
    shapes, last = case.sent.history.rows, len(case.sent.history.rows)
    while last > 0 and shapes[last - 1].role == "assistant" and not shapes[last - 1].visible:
        last -= 1
    return Change(removed=set(range(last, len(shapes))), reason="reasoning_only")


MEANS: Mapping[str, Callable[[Case], Change]] = {
    "sealed": _sealed,
    "prefix": _prefix,
    "refused": _refused,
    "missing": _missing,
    "pair": _pair,
    "lost": _lost,
    "parameters": _parameters,
    "ending": _ending,
}
"""Meaning of a refusal → the smallest change that it allows."""
