"""A history while it is repaired: its lines, each with the place that it had, and notes of what was done to them.

It knows no rule, no host and no key of a message. A `Repairing` is mutable and lives for one repair; no row that was
given is changed, and a row that nothing was done to is given back as the very object that came.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from .._decision import Action, Row
from ..forms import Form
from ..forms._langchain_write import Edited

Data = Mapping[str, Any]


class Line(NamedTuple):
    """One row of the history."""

    key: int
    """Its place in the caller's list; a negative number for one that was put in."""
    row: Data


class Note(NamedTuple):
    """One change."""

    key: int | None
    """Of the line that it was made to; None for the request."""
    role: str
    action: Action
    reason: str
    fields: tuple[str, ...] = ()
    bytes: int = 0


class Repairing:
    """The lines and the notes of one repair. Mutable."""

    def __init__(self, messages: Any, rows: Sequence[Data], form: Form) -> None:
        self.given, self.form = messages, form
        self.lines = [Line(key, row) for key, row in enumerate(rows)]
        self.notes: list[Note] = []
        self._new = count(-1, -1)
        self._before = list(rows)

    @property
    def rows(self) -> list[Data]:
        """The rows as they are now."""
        return [line.row for line in self.lines]

    def put_in(self, row: Data) -> Line:
        """A line that was not there."""
        return Line(next(self._new), row)

    def note(
        self, line: Line, role: str, action: Action, reason: str, fields: tuple[str, ...] = (), size: int = 0
    ) -> None:
        """Remembers a change to a line."""
        self.notes.append(Note(line.key, role, action, reason, fields, size))

    def note_request(self, reason: str, fields: tuple[str, ...] = ("thinking",)) -> None:
        """Remembers a change of the request."""
        self.notes.append(Note(None, "request", "guard", reason, fields))

    def changed(self) -> bool:
        """Whether any row is another one, in another place, or gone."""
        now = self.lines
        return len(now) != len(self._before) or any(
            line.key != place or line.row is not self._before[place] for place, line in enumerate(now)
        )

    def result(self) -> Any:
        """The healed messages, as the caller's were; the very same list where nothing was done."""
        if isinstance(self.given, list) and not self.changed():
            return self.given
        return [self._back(line) for line in self.lines]

    def places(self) -> tuple[int | None, ...]:
        """The place that each line had in the caller's list; None for one that was put in."""
        return tuple(line.key if line.key >= 0 else None for line in self.lines)

    def _back(self, line: Line) -> Any:
        key, row = line
        if key < 0:
            return self._made(row)
        if row is self._before[key]:
            return row if isinstance(self.given, str) or self.form.back is None else self.given[key]
        return row if self.form.back is None else self.form.back(self.given[key], row)

    def _made(self, row: Data) -> Any:
        """A row that was put in, as an object where the others are objects: of a class that somebody has imported."""
        if self.form.back is None:
            return row
        one = self.given[0]
        if isinstance(one, Mapping):
            return {"type": row["type"], "data": dict(row)} if "data" in one else dict(row)
        classes = sys.modules["langchain_core.messages"]
        make: Callable[..., Any] = classes.ToolMessage if row["type"] == "tool" else classes.HumanMessage
        return make(**{name: value for name, value in row.items() if name != "type"})

    def rows_of_report(self) -> tuple[Row, ...]:
        """The lines of the report, in the order of the caller's messages; what was done to the request comes first."""
        places = {line.key: place for place, line in enumerate(self.lines)}
        made = [
            Row(
                None if note.key is None or note.key < 0 else note.key,
                None if note.key is None else places.get(note.key),
                note.role,
                note.action,
                note.reason,
                note.fields,
                note.bytes,
            )
            for note in self.notes
        ]
        return tuple(sorted(made, key=lambda row: _order(row, len(self._before))))


def _order(row: Row, total: int) -> tuple[int, int]:
    if row.role == "request":
        return (-1, 0)
    place = row.index if row.index is not None else row.output
    return (0, total if place is None else place)


def edited(form: Form, row: Data, changes: Mapping[str, Any], without: tuple[str, ...] = ()) -> Data:
    """The row with other fields; in the form whose rows are a class's own fields, as an edit of it."""
    if form.back is not None:
        return Edited(row, changes)
    return {**{key: value for key, value in row.items() if key not in without}, **changes}
