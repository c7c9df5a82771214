"""What a door gives back: the planned messages, the report, and what a later layer needs to know of both.

A plan is frozen; `known`, `kept` and the report's rows are worked out when they are first asked for, from the messages
as they were. It knows no store but the one it was given, and no framework.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ._decision import Act, Draft, Row
from ._history import Part
from ._known import Known, Overlay
from ._origin import Origin
from ._report import Report
from ._restore import Recalled
from ._rules import Choice, Policy
from .forms import Form, digest, size_of


class MissingReasoning(ValueError):
    """`Policy(missing="raise")`: the host demands reasoning that the history does not have."""

    def __init__(self, index: int, host: str) -> None:
        super().__init__(
            f"messages[{index}]: {host} demands this message's reasoning, and the history does not have it; "
            'keep what capture() gave, adopt(messages, origin), or choose another Policy(missing="host")'
        )
        self.index = index
        self.host = host

    def __reduce__(self) -> tuple[type[MissingReasoning], tuple[int, str]]:
        return MissingReasoning, (self.index, self.host)


class ConversationElsewhere(ValueError):
    """The request goes on with a conversation that another endpoint keeps, and its messages are not in hand.

    Sent, it is refused; without it the model would answer as if nothing had been said.
    """

    def __init__(self, parameter: str, host: str, keeper: str) -> None:
        super().__init__(
            f"{parameter}: names a conversation that {keeper} keeps, and the request goes to {host}; "
            "send the messages themselves (what capture() gave of every reply), or go on at the host that keeps it"
        )
        self.parameter = parameter
        self.host = host
        self.keeper = keeper

    def __reduce__(self) -> tuple[type[ConversationElsewhere], tuple[str, str, str]]:
        return ConversationElsewhere, (self.parameter, self.host, self.keeper)


class Work(NamedTuple):
    """Everything that a plan was made of. Holds messages, so it has no useful `repr`."""

    rows: tuple[Mapping[str, Any], ...]
    """The list as it was: the caller goes on appending to theirs."""
    form: Form
    draft: Draft
    choice: Choice
    policy: Policy
    known: Known | None
    recalled: Recalled | None = None
    """What the store had for the messages; None where none was asked."""

    def kept(self) -> Iterator[set[str]]:
        """The payloads that stay, message by message."""
        for row, (shape, decision) in zip(self.rows, self.draft.decided(), strict=True):
            if decision.remove is None and decision.acts:
                yield {
                    _written(self.form.payload(row, part), act)
                    for part, act in zip(shape.parts, decision.acts, strict=True)
                    if act.action != "drop"
                }

    def report(self, target: Origin, arrived: Counter[str] | None = None) -> Report:
        """The report of the plan; with what `arrived` on the wire, of what became of it."""
        lost = None if arrived is None else lambda row, part, act: not self._arrived(row, part, act, arrived)
        return Report(
            lambda: tuple(map(self._placed, self.draft.rows(self.size, lost))),
            origin=target,
            rule=self.choice.rule,
            thinking=self.choice.thinking,
            tools=self.choice.tools,
            counts=self.draft.counts if arrived is None else None,
        )

    def _placed(self, line: Row) -> Row:
        """The line with the place of its message in the list that the caller gave."""
        places = None if self.recalled is None else self.recalled.places
        return line if places is None or line.index is None else replace(line, index=places[line.index])

    def _arrived(self, row: int, part: Part, act: Act, arrived: Counter[str]) -> bool:
        try:
            payload = _written(self.form.payload(self.rows[row], part), act)
        except (LookupError, TypeError, AttributeError):
            return True
        return part.value != "text" or arrived[payload] > 0

    def goes_as_it_is(self) -> bool:
        """Whether the planned messages need nothing more on the wire: no guard, and no framework's field left."""
        carriers = {part.carrier for shape in self.draft.history.shapes for part in shape.parts}
        return not self.choice.rule.guards and not any(carrier.startswith("psf.") for carrier in carriers)

    def size(self, row: int, part: Part) -> int:
        """Bytes of a part; 0 where the caller has taken it out of the message since."""
        try:
            return size_of(self.form.payload(self.rows[row], part).replace("\0", ""))
        except (LookupError, TypeError, AttributeError):
            return 0

    def __repr__(self) -> str:
        return f"<work of {len(self.rows)} messages>"


class Payloads(Counter[str]):
    """Payloads, counted. They are text of reasoning: shown is only how many there are."""

    def __repr__(self) -> str:
        return f"<{len(self)} payloads>"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What will be sent. `messages` goes on the wire and is never saved: it has no marks."""

    messages: list[Any]
    """The very list that was given where nothing changes; unchanged messages are shared."""
    request: Mapping[str, Any] | None
    """The call's parameters; the very same object where nothing changes."""
    report: Report
    origin: Origin
    """Where the request goes: the origin of the reply to come."""
    hint: str | None = None
    """What the integration knows of the host; for the layers after this one."""
    work: Work | None = None
    """What the plan was made of; None for the fallback's plan."""

    @cached_property
    def known(self) -> Known:
        """Every payload that this plan keeps, over the store that it was made with. Built on first use."""
        if self.work is None:
            return Overlay({}, None)
        history = self.work.draft.history
        return Overlay(
            dict.fromkeys(map(digest, self.kept), frozenset({self.origin})),
            self.work.known,
            users=history.users(),
            users_in_turn=history.users(history.turn_start),
        )

    @property
    def trail(self) -> bytes | None:
        """Digest of what is visible in the messages, for `capture(..., after=plan)`; None where no store restores."""
        return None if self.work is None or self.work.recalled is None else self.work.recalled.trail

    @cached_property
    def kept(self) -> Payloads:
        """Every payload that this plan keeps → in how many messages."""
        return Payloads(chain.from_iterable(self.work.kept() if self.work is not None else ()))

    def __repr__(self) -> str:
        return f"<Plan for {self.origin.host}: {len(self.messages)} messages, {self.report!r}>"


def _written(payload: str, act: Act) -> str:
    return payload.partition("\0")[0] if act.reason == "own_unsigned" else payload
