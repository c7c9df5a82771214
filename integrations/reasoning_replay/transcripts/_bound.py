"""Reasoning taken out of a history that stays: of whole messages, all of it, so that nothing is left that is half.

`without_bound` is what every cut needs: a model that binds its sealed blocks to all that came before them refuses
those behind a cut, at every host, for good. The form's own writer takes reasoning out; what an app keeps stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from .._decision import NOTHING, Act, Decision, Zone
from .._history import History, Message
from .._known import Known, check_known, default_store
from .._origin import MARK, Origin
from .._policy import Policy
from .._replay import rule_for
from .._resolve import in_store, resolve
from ..forms import LAYOUT, PSF, TURN, Form, form_for, given_of
from ..forms._carriers import LISTS, PSF_CARRIERS, SEALED, STRINGS

IsBound = Callable[[Message], bool]
_DEFAULT = Policy()


def without_bound(
    messages: Any,
    *,
    form: str | None = None,
    dialect: str = "chat",
    policy: Policy | None = None,
    hint: str | None = None,
    known: Known | None = None,
) -> list[Any]:
    """Messages that were cut, or that something was put before: without the reasoning that this has made worthless.

    That is every reply with a sealed block of a model that binds blocks to what came before them (`bound` in the rule
    of the host that wrote it). All other reasoning stays. A reply that held nothing else is left out.

    Args:
        messages: what is kept of a history, as `prepare` takes it; nothing of it is changed.
        policy: its aliases and rules say which rule a host has, `unknown_origin` whose unmarked blocks are.
        hint: as in `prepare`, for hosts at a URL of the caller's own.
        known: where unmarked payloads were seen to come from; the process's own store when none is given.

    Returns:
        The very same list where nothing is bound; else a new one that shares all other messages.

    Raises:
        HistoryError: messages that cannot be read; it names the message and what is allowed.
        TypeError: `known` is no store.
    """
    check_known(known)
    shape = form_for(form, dialect)
    rows = shape.rows(messages)
    store = default_store() if known is None else known
    history = resolve(shape.view(rows, None), rows, shape, in_store(store))
    bound = bound_by(policy or _DEFAULT, hint)
    goes = {row for row, message in enumerate(history.rows) if bound(message)}
    return given_as(shape, messages, rows, without_reasoning(shape, rows, history, goes))


def given_as(form: Form, messages: Any, rows: list[Mapping[str, Any]], out: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Rows as what the caller gave: the very same list where nothing changed, every unchanged message as it was given.

    Unlike `given_back`, an SDK's object stays one: the list is to be kept, not to be sent.
    """
    if out is rows and isinstance(messages, list):
        return messages
    given = {} if isinstance(messages, str) else {id(row): message for row, message in zip(rows, messages, strict=True)}
    return [
        given[id(row)] if id(row) in given else row if form.back is None else form.back(given_of(row, given), row)
        for row in out
    ]


def bound_by(policy: Policy, hint: str | None = None, *, trusted: Origin | None = None) -> IsBound:
    """Whether a message holds something sealed that is bound to what came before it.

    `trusted`: where unmarked blocks go under a policy that trusts them.
    """
    unmarked = trusted if policy.unknown_origin == "trust" else policy.unknown_origin
    stand_in = frozenset({unmarked}) if isinstance(unmarked, Origin) else frozenset()
    made: dict[Origin, bool] = {}
    found: dict[Message, bool] = {}

    def binds(origin: Origin) -> bool:
        if origin not in made:
            rule = rule_for(origin.host, origin.model, dialect=origin.dialect, hint=hint, policy=policy)
            made[origin] = "prefix" in rule.bound
        return made[origin]

    def bound(shape: Message) -> bool:
        if shape not in found:
            sealed = (part.origins or stand_in for part in shape.parts if part.kind != "text")
            found[shape] = any(binds(origin) for origins in sealed for origin in origins)
        return found[shape]

    return bound


def without_reasoning(
    form: Form, rows: list[Mapping[str, Any]], history: History, goes: Collection[int]
) -> list[Mapping[str, Any]]:
    """The rows without all reasoning of the ones named and, where a reply is a run of rows, of all that came with it.

    The very same list where they hold none; a row that held nothing else is left out. Unlike a plan for a host, turn
    notes, other rows' marks and what an app keeps in the framework's field stay: the list is to be kept.
    """
    goes = _whole(form, history, goes)
    if not goes:
        return rows
    shapes = [_shape(shape) if row in goes else _other(shape.role) for row, shape in enumerate(history.rows)]
    decisions = {shape: _decision(shape) for shape in set(shapes)}
    out = form.apply(rows, history.with_rows(shapes), [Zone(0, len(rows), decisions)])
    kept = [row for row, shape in enumerate(shapes) if decisions[shape].remove is None]
    if len(kept) != len(out):
        return out  # neighbours became one: a form of blocks, whose marks stand beside the role
    return [_with_fields(form, rows[row], new) if row in goes else new for row, new in zip(kept, out, strict=True)]


def _whole(form: Form, history: History, goes: Collection[int]) -> frozenset[int]:
    """The rows, and those that came with them in one reply; only rows with something to lose."""
    found = set(goes)
    for row in goes if form.in_runs else ():
        for step in (-1, 1):
            beside = row + step
            while 0 <= beside < len(history.rows) and history.rows[beside].role == "assistant" and beside not in found:
                found.add(beside)
                beside += step
    return frozenset(row for row in found if history.rows[row].parts)


@lru_cache(maxsize=1024)
def _shape(shape: Message) -> Message:
    """The shape without what a host only asks of its wire."""
    return replace(shape, mendable=(), spare=tuple(name for name in shape.spare if name != TURN))


@lru_cache(maxsize=64)
def _other(role: str) -> Message:
    """A shape to which nothing happens."""
    return Message(role)


_GOES = Act("drop", "window")


def _decision(shape: Message) -> Decision:
    if not shape.parts:
        return NOTHING
    blank = shape.null and not shape.visible
    return Decision((_GOES,) * len(shape.parts), remove=None if shape.visible else "emptied", blank_content=blank)


_REASONING = frozenset({MARK, LAYOUT, *STRINGS, *SEALED, *PSF_CARRIERS, *(carrier.key for carrier in LISTS)})
"""Keys of the framework's field that are reasoning, or say something of it."""


def _with_fields(form: Form, row: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The new row with what an app or a framework keeps in its field besides reasoning."""
    fields = row.get(PSF)
    if form.back is not None or PSF in new or not isinstance(fields, Mapping):
        return new
    left = {key: value for key, value in fields.items() if key not in _REASONING}
    return {**new, PSF: left} if left else new
