"""Where `trim_messages` cuts: whole turns, from the one end or the other, and what LangChain's further arguments ask.

What may go for a host is `transcripts.trim`'s affair. Here stands what needs no host: the end and the start of a list,
the first turns of it, and the last ones where nobody says where they go.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from .._known import Known
from .._policy import Policy
from ..transcripts import CannotTrim
from ..transcripts._bound import without_bound
from ..transcripts._trim_pieces import cuts_of
from ._classes import ROWS

Messages = list[BaseMessage]
Size = Callable[[Messages], int]
Kind = str | type[BaseMessage] | Sequence[str | type[BaseMessage]]
"""Types of messages, as `start_on` and `end_on` name them."""


BINDS = next(row.hint for row in ROWS if row.dialect == "anthropic")
"""What calls at a URL of the caller's own are planned with, in the one dialect whose models bind blocks to a prefix."""


class Cutting(NamedTuple):
    """What says where a turn starts and who wrote a block."""

    policy: Policy | None
    known: Known | None
    hint: str | None = None

    def places(self, messages: Messages) -> tuple[int, ...]:
        """Where what is kept may begin: behind what stands before the first turn, and at every later turn."""
        return cuts_of(messages, form="langchain", policy=self.policy)

    def behind(self, messages: Messages, kept: int, start: int) -> Messages:
        """The first messages and those from a place on, as they may stand behind the gap."""
        return messages if kept == start else self.unbound([*messages[:kept], *messages[start:]])

    def unbound(self, messages: Messages) -> Messages:
        """Messages before which something is gone, without the blocks that this has made worthless."""
        hint = self.hint or BINDS
        return without_bound(messages, form="langchain", policy=self.policy, hint=hint, known=self.known)


def systems_in(messages: Messages) -> int:
    """How many system messages it begins with."""
    return next((at for at, each in enumerate(messages) if not isinstance(each, SystemMessage)), len(messages))


def last_turns(messages: Messages, system: int, max_tokens: int, size: Size, cutting: Cutting) -> Messages:
    """As many of the last turns as fit behind the first `system` messages.

    Raises:
        CannotTrim: the running turn and those messages are more.
    """
    places = cutting.places(messages)

    def fits(place: int) -> bool:
        return size(cutting.behind(messages, system, place)) <= max_tokens

    at = bisect_left(places, True, key=fits)
    left = cutting.behind(messages, system, places[min(at, len(places) - 1)])
    if at == len(places):
        raise too_small(max_tokens, size(left))
    return left


def first_turns(messages: Messages, max_tokens: int, size: Size, cutting: Cutting) -> Messages:
    """As many of the first turns as fit, with what stands before them: nothing has lost what it is bound to.

    Raises:
        CannotTrim: not even the first turn fits.
    """
    ends = [*cutting.places(messages)[1:], len(messages)]
    often = bisect_right(ends, max_tokens, key=lambda end: size(messages[:end]))
    if often == 0:
        raise too_small(max_tokens, size(messages[: ends[0]]), "the first turn")
    return messages if often == len(ends) else messages[: ends[often - 1]]


def too_small(max_tokens: int, smallest: int, turn: str = "the running turn") -> CannotTrim:
    """The error for a budget that no cut can keep."""
    return CannotTrim(
        f"trim_messages: max_tokens={max_tokens}: {turn} is never cut apart, and with what stands before it it is "
        f"{smallest} tokens; give at least max_tokens={smallest}, or shorten the results of tools before they are kept",
        max_tokens,
        smallest,
    )


def no_turn(max_tokens: int, size: int) -> CannotTrim:
    """The error for messages that are more than the budget, and of which nothing could stay."""
    return CannotTrim(
        f"trim_messages: max_tokens={max_tokens}: there is no turn in these messages, and what stands before the first "
        f"one is {size} tokens; give at least max_tokens={size}, or the messages of the conversation too",
        max_tokens,
        size,
    )


def ending_on(messages: Messages, kind: Kind) -> Messages:
    """The messages up to the last one of that type at which no call is parted from its result; none of it: nothing.

    Raises:
        ValueError: there are messages of that type, but every one of them parts a call from its result.
    """
    results = {each.tool_call_id: at for at, each in enumerate(messages) if isinstance(each, ToolMessage)}
    open_until = list(accumulate((_last_result(each, results) for each in messages), max, initial=-1))[1:]
    ends = [at for at, each in enumerate(messages) if is_kind(each, kind)]
    firm = [at for at in ends if open_until[at] <= at]
    if ends and not firm:
        raise ValueError(
            f"trim_messages: end_on={_named(kind)}: every message of that type stands between a call and its result, "
            "which are never parted; end on 'tool' too: end_on=('human', 'tool')"
        )
    if firm and firm[-1] == len(messages) - 1:
        return messages
    return messages[: firm[-1] + 1] if firm else []


def _last_result(message: BaseMessage, results: dict[str, int]) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return max((results.get(call["id"] or "", -1) for call in calls), default=-1)


def starting_on(messages: Messages, system: int, kind: Kind, cutting: Cutting) -> Messages:
    """The messages from the first turn on that begins with one of that type, behind the first `system` messages.

    Raises:
        ValueError: no turn begins so.
    """
    if len(messages) == system:
        return messages
    places = [system, *(place for place in cutting.places(messages) if system < place < len(messages))]
    place = next((place for place in places if is_kind(messages[place], kind)), None)
    if place is None:
        raise ValueError(
            f"trim_messages: start_on={_named(kind)}: only whole turns are kept, and a turn begins with a human "
            "message; allowed: start_on='human', or None"
        )
    return cutting.behind(messages, system, place)


def is_kind(message: BaseMessage, kind: Kind) -> bool:
    """Whether a message is of that type, as langchain-core tells."""
    kinds = [kind] if isinstance(kind, str | type) else list(kind)
    return message.type in kinds or isinstance(message, tuple(each for each in kinds if isinstance(each, type)))


def _named(kind: Any) -> str:
    kinds = [kind] if isinstance(kind, str | type) else list(kind)
    return ", ".join(each.__name__ if isinstance(each, type) else repr(each) for each in kinds)
