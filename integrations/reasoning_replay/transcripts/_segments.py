"""A history in pieces that may be cut apart: what stands before the first turn, each completed turn, the running one.

Where a turn starts the form says (`forms/_turns`), as it does for a request; nothing is decided anew here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, NamedTuple

from .._history import StartsTurn
from .._policy import Policy
from ..forms import Form, Messages, form_for
from ..forms._turns import all_starts


class Segment(NamedTuple):
    """A run of messages that belong together: from `start` up to `end`."""

    start: int
    end: int
    kind: Literal["head", "turn", "active"]
    """`head`: what stands before the first turn (system and developer messages). `turn`: a completed turn. `active`:
    the running turn, the last one; in the middle of a tool loop it ends with a call or a result."""


def segments(
    messages: Any, *, form: str | None = None, dialect: str = "chat", policy: Policy | None = None
) -> list[Segment]:
    """The pieces of a history, in order; together they are all of it.

    A turn begins at a user message that starts one, as in `prepare`: not at a tool's result, a picture that a tool
    took, or a message with the note `turn: false`; `Policy(starts_turn=...)` is asked too. Where no message starts a
    turn, all that stands behind the system messages is the running one.

    Args:
        messages: a history as `prepare` takes it: dicts of any form, SDK objects, LangChain messages.
        form: how it is written, where that is not the dialect's own form: `litellm`, `langchain`.
        dialect: what its host speaks.
        policy: only its `starts_turn` is read.

    Raises:
        HistoryError: messages that cannot be read; it names the message and what is allowed.
    """
    shape = form_for(form, dialect)
    return cut_up(shape.rows(messages), shape, None if policy is None else policy.starts_turn)


def cut_up(rows: Messages, form: Form, starts_turn: StartsTurn | None) -> list[Segment]:
    """`segments` of rows."""
    form.view(rows, starts_turn)  # raises for what cannot be read
    total = len(rows)
    starts = all_starts(rows, form.turns, starts_turn) or [_behind_system(rows, form)]
    found = [Segment(0, starts[0], "head")] if starts[0] > 0 else []
    found += [Segment(start, end, "turn") for start, end in pairwise(starts)]
    return [*found, Segment(starts[-1], total, "active")] if starts[-1] < total else found


def _behind_system(rows: Messages, form: Form) -> int:
    at = 0
    while at < len(rows) and form.turns.role_of(rows[at]) in ("system", "developer"):
        at += 1
    return at
