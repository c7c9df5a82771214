"""What a dialect must know of a request and a reply, so that no step of a host asks which dialect it speaks.

A history is read as rows: one row a message, and where one reply is many items, one row a reply. The table of the
dialects stands in `_dialects`; a dialect's functions stand in modules of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ._claude_case import Case
from ._script import Part, Reply, step_of
from ._voices import Voice

Row: TypeAlias = Mapping[str, Any]


class Upstream(Protocol):
    """One vendor of a host that fronts several."""

    @property
    def name(self) -> str:
        """What an issued word is remembered under."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of its models."""

    @property
    def signs(self) -> bool:
        """Whether its readable reasoning is signed."""

    @property
    def seals(self) -> bool:
        """Whether it writes opaque parts."""

    def voice(self) -> Voice:
        """How it writes where the host is a chat host."""


class Saying(NamedTuple):
    """One reply on its way out: filled parts, and what they are written with."""

    choices: Sequence[Sequence[Part]]
    model: str
    voice: Voice
    reply: Reply
    case: Case


def messages_of(body: Row) -> list[dict[str, Any]]:
    """The rows of a dialect whose history is a list of messages."""
    return list(body["messages"])


def is_assistant(row: Row) -> bool:
    """Whether the model said it."""
    return row.get("role") == "assistant"


def plain_parts(parts: Sequence[Part], case: Case) -> Sequence[Part]:
    """A script's parts as they are."""
    return parts


def nothing(saying: Saying, whole: dict[str, Any]) -> None:
    """Remembers nothing."""


def by_body(body: Row) -> bool:
    """Whether the body asks for a stream."""
    return bool(body.get("stream"))


def top_keys(row: Row, reads: Sequence[str]) -> str:
    """What a host that looks under these keys of a message sees of it."""
    return json.dumps({key: row[key] for key in reads if key in row})


def spine(row: Row) -> Any:
    """What is left of a message without reasoning: who speaks, and the ids of calls and results."""
    content = row.get("content")
    blocks = content if isinstance(content, list) else []
    ids = [b.get("id") or b.get("tool_use_id") for b in blocks if isinstance(b, dict)]
    calls = [call.get("id") for call in row.get("tool_calls") or []]
    said = content if row.get("role") == "user" and not any(ids) else None
    return row.get("role"), row.get("tool_call_id"), calls, [i for i in ids if i], said


def begins_turn(row: Row) -> bool:
    """Whether a user speaks here, not a tool."""
    return row.get("role") == "user" and "tool_result" not in json.dumps(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One row of the table of dialects."""

    whole: Callable[[Saying], dict[str, Any]]
    """The reply as a client that does not stream gets it."""
    events: Callable[[Saying, dict[str, Any]], Iterator[str | bytes]]
    """The same reply in pieces."""
    calls: Callable[[Row], bool]
    """Whether the model calls a tool in a row."""
    thinking: Callable[[Case], bool]
    """Whether the model thinks under this request."""
    rows: Callable[[Row], list[dict[str, Any]]] = messages_of
    """The history of a body."""
    is_said: Callable[[Row], bool] = is_assistant
    """Whether a row is the model's."""
    readable: Callable[[Row, Sequence[str]], str] = top_keys
    """What a host that reads certain keys sees of a row."""
    spine: Callable[[Row], Any] = spine
    """What is left of a row without reasoning."""
    begins_turn: Callable[[Row], bool] = begins_turn
    """Whether a row may start a turn."""
    shape: Callable[[Sequence[Part], Case], Sequence[Part]] = plain_parts
    """A script's parts as this dialect can say them, before AUTO is filled in."""
    note: Callable[[Saying, dict[str, Any]], None] = nothing
    """Remember a reply in the case's memory."""
    streams: Callable[[Case], bool] = lambda case: by_body(case.body)
    """Whether the answer is to be streamed."""
    tools: Callable[[Case], bool] = lambda case: bool(case.body.get("tools"))
    """Whether the request carries tools."""
    step: Callable[[Case], int] | None = None
    """The step of the running loop; None: counted over the rows."""
    media: str = "text/event-stream"
    """The media type of a stream."""
    not_found: str = "Not Found: {path}"
    """What stands at any other path."""

    def step_in(self, case: Case) -> int:
        """How many steps with calls the running loop has."""
        if self.step is not None:
            return self.step(case)
        said = [{"role": "assistant", "calls": self.calls(row)} for row in self.rows(case.body) if self.is_said(row)]
        return step_of(said, lambda row: bool(row["calls"]))


NO_BODY: Final = "We could not parse the JSON body of your request."
