"""A conversation as the engine sees it: shapes of messages, turns and windows.

A history holds no text: parts have a field, a kind and an origin, and messages that look alike share one `Message`.
That sharing is the speed of `prepare`: the engine decides once a shape and window, not once a message (measured
2026-11-30: an object a part took six times as long as a loop that only strips the mark, shapes two to three times).
It does not know whether a part may be sent, nor how any form spells a key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ._origin import Origin

Kind = Literal["text", "signed", "opaque"]
"""text: readable alone. signed: readable with a signature. opaque: only its host can read it."""
Value = Literal["text", "blank", "empty"]
StartsTurn = Callable[[Mapping[str, Any]], bool | None]


class HistoryError(ValueError):
    """A message that cannot be read; the message says which, what was found and what is allowed."""


class Part(NamedTuple):
    """One piece of reasoning in a message."""

    carrier: str
    """The field that holds it, by the carrier's name in the rules."""
    item: int | None = None
    """Its place in a carrier that is a list; None where the carrier is one value."""
    kind: Kind = "text"
    value: Value = "text"
    """`blank` is white space only, `empty` is a string of length 0 that is there."""
    hollow: bool = False
    """Nothing in it can be read: opaque, or signed with an empty text."""
    redacted: bool = False
    """A block that is opaque by its vendor's choice (some hosts refuse those)."""
    marked: bool = False
    """A mark that could be read stands beside it."""
    origins: frozenset[Origin] | None = None
    """Where it was seen to come from (any accepted one suffices); None: not known."""
    restored: bool = False
    """The caller's message was without it; it is from the store."""
    moved: bool = False
    """What stood before it then is not what stands before it now: a session alone says that it belongs here."""


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """The shape of a message: all that matters for the decision, shared by the messages that have it.

    Equal only to itself: shapes are told apart without a look into them.
    """

    role: str
    calls_tools: bool = False
    visible: bool = True
    """It has content or calls, apart from reasoning."""
    parts: tuple[Part, ...] = ()
    spare: tuple[str, ...] = ()
    """Keys that never go on the wire (our turn marks, a framework's own fields)."""
    lead: int = 0
    """How many blocks of reasoning it begins with, in the forms that have blocks."""
    null: bool = False
    """Its content is null, or an empty list: some hosts refuse that where nothing else is visible."""
    ordered: bool = False
    """The order of its blocks stands beside the mark, since the form cannot say it."""
    mendable: tuple[str, ...] = ()
    """Names of guards that would have something to mend in this message."""
    missed: bool = False
    """It has no reasoning, and the store was asked for it in vain."""
    redacted: bool = False
    """Its reasoning was taken out for people to look at: no request can be made of it."""


class History(NamedTuple):
    """A conversation: the shape of each row, and where the running turn starts."""

    rows: list[Message]
    shapes: frozenset[Message]
    """The shapes in `rows`."""
    turn_start: int = 0
    """The row of the last user message that started a turn; 0 where none did."""
    host_turn: int = 0
    """The same as a host reads it, which sees no turn notes: what its checks look at."""

    def with_rows(self, rows: list[Message]) -> History:
        """The history with other shapes in its rows."""
        return self._replace(rows=rows, shapes=frozenset(rows))

    def users(self, start: int = 0) -> int:
        """How many user messages there are from a row on."""
        return sum(message.role == "user" for message in self.rows[start:])

    def with_start_of(self, users: int, users_in_turn: int) -> History:
        """The history with its turn where a list of as many user messages had it.

        For a list whose turn notes are gone, and whose messages a framework may have joined: rows cannot be compared,
        users can. The very same history where the users are not as many.
        """
        if users_in_turn == 0 or self.users() != users:
            return self
        row = len(self.rows)
        while users_in_turn:
            row -= 1
            users_in_turn -= self.rows[row].role == "user"
        return self if row == self.turn_start else self._replace(turn_start=row)

    def check_whole(self) -> History:
        """The very same history.

        Raises:
            HistoryError: a message of it is a redacted copy.
        """
        if any(shape.redacted for shape in self.shapes):
            index = next(row for row, shape in enumerate(self.rows) if shape.redacted)
            raise HistoryError(
                f"messages[{index}]: its reasoning is redacted; load the whole transcript: redacted copies are for "
                "people to read, and no request can be made of them"
            )
        return self

    def calls_tools(self) -> bool:
        """Whether any message called a tool."""
        return any(shape.calls_tools for shape in self.shapes)


def _from_start(history: History) -> int:
    return 0


def _from_turn(history: History) -> int:
    return history.turn_start


def _from_nowhere(history: History) -> int:
    return len(history.rows)


def _from_last_assistant(history: History) -> int:
    """The last message with reasoning before this turn, and all of this turn.

    Not the last message alone: inside a tool loop that would take back a step's bytes at the next step
    (invariant 4), and Claude wants every step of the running loop.
    """
    for row in range(history.turn_start - 1, -1, -1):
        if history.rows[row].parts:
            return row
    return history.turn_start


WINDOWS: dict[str, Callable[[History], int]] = {
    "none": _from_nowhere,
    "current_turn": _from_turn,
    "last_assistant": _from_last_assistant,
    "all": _from_start,
}
"""Window → the first row inside it. A window is always a tail, so that earlier bytes change only when a turn starts."""
