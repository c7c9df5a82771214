"""Where a history may be cut, which reasoning may go before that, and what is left of it then.

Everything here holds for a list that was cut already as it did before: what makes a place one to cut at is in the
message itself, so that trimming in two steps comes to the same places as in one. No size is known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._engine import demands, scope_start
from .._history import History, StartsTurn
from .._policy import Policy
from .._rules import Rule
from ..forms import Form, form_of
from ._bound import IsBound, given_as, without_reasoning
from ._segments import Segment, cut_up


class Pieces(NamedTuple):
    """A history, and how it may be made smaller."""

    messages: Any
    rows: list[Mapping[str, Any]]
    form: Form
    history: History
    cuts: tuple[int, ...]
    """Where what is kept behind the head may begin: first all of it, last the running turn alone."""
    replies: tuple[range, ...]
    """Replies of completed turns whose reasoning may go, in order; a reply may be a run of rows."""
    last: tuple[range, ...]
    """Replies of the running turn whose reasoning may go where nothing else helps."""
    bound: IsBound

    @property
    def head(self) -> int:
        """Rows before the first turn."""
        return self.cuts[0]

    def losable(self, cut: int) -> list[range]:
        """Replies of completed turns that stay after a cut, and have reasoning left that may go."""
        start = self.cuts[cut]
        there = (reply for reply in self.replies if reply.stop <= self.head or reply.start >= start)
        return [reply for reply in there if cut == 0 or not self._is_dead(reply)]

    def _is_dead(self, reply: range) -> bool:
        return any(self.bound(self.history.rows[row]) for row in reply)

    def left(self, cut: int, replies: Sequence[range] = ()) -> list[Any]:
        """The caller's messages after a cut, without the reasoning of these replies and of what that has killed.

        A cut kills everything that is bound. Sealed reasoning that goes kills what is bound before it: what is left of
        blocks that are bound to each other has to be the end of them, also where another host wrote the ones between.
        """
        kept = [*range(self.head), *range(self.cuts[cut], len(self.rows))]
        goes = {row for reply in replies for row in reply}
        sealed = (row for row in goes if any(part.kind != "text" for part in self.history.rows[row].parts))
        dead = len(self.rows) if cut > 0 else max(sealed, default=0)
        shapes = [self.history.rows[row] for row in kept]
        gone = {at for at, row in enumerate(kept) if row in goes or (row < dead and self.bound(shapes[at]))}
        rows = [self.rows[row] for row in kept]
        out = without_reasoning(self.form, rows, self.history.with_rows(shapes), gone)
        return given_as(self.form, self.messages, self.rows, out)


def pieces_of(
    messages: Any, rows: list[Mapping[str, Any]], form: Form, history: History, starts_turn: StartsTurn | None,
    sent: Sequence[bool], rule: Rule, bound: IsBound,
) -> Pieces:  # fmt: skip
    """The pieces of a history. `sent`: row by row, whether reasoning of it may ever go to the host."""
    found = cut_up(rows, form, starts_turn)
    cuts = _cuts(rows, form, history, found)
    scope = scope_start(history, rule)
    runs = [run for run in _runs(history) if any(sent[row] and history.rows[row].parts for row in run)]
    free = [run for run in runs if _is_free(run, history, rule, scope)]
    if "prefix" in rule.bound and len(free) < len(runs):  # only a front run may go: it ends where one has to stay
        free = free[: next(at for at, run in enumerate(runs) if run not in free)]
    border = min(cuts[-1], history.host_turn)  # the host reads no notes: its own running loop is not touched either
    wanted = rule.missing is not None or any(shape.calls_tools for shape in history.rows[cuts[-1] :])
    last = () if wanted else tuple(run for run in free if run.start >= border)
    return Pieces(messages, rows, form, history, cuts, tuple(run for run in free if run.stop <= border), last, bound)


def cuts_of(messages: Any, *, form: str, policy: Policy | None = None) -> tuple[int, ...]:
    """Where what is kept of a history may begin, as `Pieces.cuts`: for doors that cut without a host."""
    shape, starts_turn = form_of(form), None if policy is None else policy.starts_turn
    rows = shape.rows(messages)
    return _cuts(rows, shape, shape.view(rows, starts_turn), cut_up(rows, shape, starts_turn))


def _cuts(rows: Sequence[Mapping[str, Any]], form: Form, history: History, found: list[Segment]) -> tuple[int, ...]:
    """The head's end, and every start of a turn behind it at which nothing is parted from what it belongs to."""
    starts = [segment.start for segment in found if segment.kind != "head"]
    if not starts:
        return (len(rows),)
    answers = _answers_first(rows, form, history)
    head_answers = any(map(form.turns.is_result, rows[: starts[0]]))
    firm = (
        start
        for start in starts[1:]
        if not answers[start] and (not form.turns.is_quiet(rows[start]) or _is_firm(history, start, head_answers))
    )
    return (starts[0], *firm)


def _is_firm(history: History, start: int, head_answers: bool) -> bool:
    """Whether a message without text would start a turn also where what is before it has changed."""
    before = history.rows[start - 1]
    return before.role == "assistant" and before.visible and not head_answers


def _answers_first(rows: Sequence[Mapping[str, Any]], form: Form, history: History) -> list[bool]:
    """Row by row: whether from here on a tool's result comes before any call, so that its call is further up."""
    found = [False] * (len(rows) + 1)
    for row in range(len(rows) - 1, -1, -1):
        answers = form.turns.is_result(rows[row])
        found[row] = answers or (found[row + 1] and not history.rows[row].calls_tools)
    return found


def _runs(history: History) -> list[range]:
    """The replies: runs of rows of the assistant's."""
    found: list[range] = []
    start = None
    for row, shape in enumerate(history.rows):
        if shape.role == "assistant":
            start = row if start is None else start
        elif start is not None:
            found.append(range(start, row))
            start = None
    return found if start is None else [*found, range(start, len(history.rows))]


def _is_free(run: range, history: History, rule: Rule, scope: int) -> bool:
    """Whether a reply may lose its reasoning: the host does not demand it, and there is something else in it.

    A reply that is nothing but reasoning stays: without it two messages would stand side by side, and where turns start
    may change.
    """
    demanded = any(row >= scope and demands(history.rows[row], rule) for row in run)
    return not demanded and any(history.rows[row].visible for row in run)
