"""`trim_messages`: langchain-core's by name and arguments, but it cuts where a turn begins and nowhere else.

The arguments are read here; where a cut is possible `_trim_cut` says, what may go for a host `transcripts.trim`.
Contract: no message that is given is changed; those that stay are the same objects, but for reasoning that goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, NamedTuple, overload

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.base import RunnableBindingBase

from .._known import Known
from .._policy import Policy
from .._replay import prepare_untold
from ..transcripts import CannotTrim, trim
from ._trim_aim import Aim, aim_of
from ._trim_counter import Counter, HostCounter, as_messages, counter_by
from ._trim_cut import (
    Cutting,
    Kind,
    Messages,
    Size,
    ending_on,
    first_turns,
    last_turns,
    no_turn,
    starting_on,
    systems_in,
    too_small,
)

DOOR = "trim_messages"


class _Trimming(NamedTuple):
    """The arguments, read and found to fit together."""

    max_tokens: int
    counter: Counter | None
    """None: what the host of `aim` would bill."""
    aim: Aim | None
    strategy: str
    end_on: Kind | None
    start_on: Kind | None
    include_system: bool
    cutting: Cutting


@overload
def trim_messages(
    messages: None = None,
    *,
    max_tokens: int,
    token_counter: Any = None,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Kind | None = None,
    start_on: Kind | None = None,
    include_system: bool = False,
    text_splitter: Any = None,
    model: Any = None,
    host: str | None = None,
    dialect: str = "chat",
    policy: Policy | None = None,
    known: Known | None = None,
) -> Runnable[Any, list[BaseMessage]]: ...


@overload
def trim_messages(
    messages: Iterable[Any] | Any,
    *,
    max_tokens: int,
    token_counter: Any = None,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Kind | None = None,
    start_on: Kind | None = None,
    include_system: bool = False,
    text_splitter: Any = None,
    model: Any = None,
    host: str | None = None,
    dialect: str = "chat",
    policy: Policy | None = None,
    known: Known | None = None,
) -> list[BaseMessage]: ...


def trim_messages(
    messages: Any = None,
    *,
    max_tokens: int,
    token_counter: Any = None,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Kind | None = None,
    start_on: Kind | None = None,
    include_system: bool = False,
    text_splitter: Any = None,  # of no use: only what is cut apart is split
    model: Any = None,
    host: str | None = None,
    dialect: str = "chat",
    policy: Policy | None = None,
    known: Known | None = None,
) -> Any:
    """A history cut to a budget in whole turns, by the arguments of langchain-core's `trim_messages`.

    A turn is never cut apart, so no thinking block loses its call and no call its result; the running turn stays. With
    a host (`model`, or `host`) the size is what that host would be sent, and before a turn goes, reasoning of earlier
    turns does, where the host does not demand it. Blocks that are bound to what is gone go with it (Claude >= 5.1).

    Args:
        messages: what LangChain takes as messages, or a PromptValue. None: a Runnable that trims what it is given.
        max_tokens: the budget, in what `token_counter` counts.
        token_counter: as langchain-core: a function of a list of messages (`len` counts messages) or of one
            message, a chat model, `"approximate"`; or `token_counter_of(model)`. A chat model names the host too.
            None: what the host would bill, which `model` or `host` says.
        strategy: `"last"` keeps the last turns, `"first"` the first ones, with what stands before them.
        include_system: keep the system messages that stand first. As in langchain-core they are the oldest messages
            otherwise, and go before any turn does.
        start_on: type of the message to begin with. Turns begin with a human one: earlier messages go, nothing else.
        end_on: type of the message to end with: what follows the last one goes first, unless that would part a call
            from its result; then it ends at the one before.
        allow_partial: refused, since it cuts messages apart. `text_splitter` has no meaning without it.
        model: the chat model that the messages are for (wrapped or not, or a binding of it: its tools count), or a
            model's name, beside `host`: a URL, or `name[:port]`.
        dialect: what `host` speaks.
        policy, known: as for `with_reasoning_replay`. None: those of a wrapped model.

    Returns:
        The very same list where it is a list of messages and all of it fits; else a new one.

    Raises:
        CannotTrim: the running turn is more than `max_tokens`, or there is no turn (system messages alone), and no
            host takes an empty request; `smallest` is what is needed. A ValueError.
        ValueError: arguments that part what belongs together, or that langchain-core refuses.
        TypeError: no counter and no host; a model without a single host; `max_tokens` that is no number.
        OriginError, HistoryError, BadPolicy: as `prepare`.
    """
    _check(max_tokens, strategy, start_on, allow_partial=allow_partial, include_system=include_system)
    aim = _aim(token_counter, model, host, dialect, policy, known)
    counter = None if token_counter is None or isinstance(token_counter, HostCounter) else counter_by(token_counter)
    cutting = Cutting(policy, known) if aim is None else Cutting(aim.policy, aim.known, aim.hint)
    trimming = _Trimming(max_tokens, counter, aim, strategy, end_on, start_on, include_system, cutting)
    if messages is None:
        return RunnableLambda(partial(_trimmed, trimming=trimming), name=DOOR)
    return _trimmed(messages, trimming)


def _aim(
    token_counter: Any, model: Any, host: str | None, dialect: str, policy: Policy | None, known: Known | None
) -> Aim | None:
    """The host that is named, else that of a model that counts, else none; then there must be a counter."""
    named = _named_by(token_counter) if model is None and host is None else model
    aim = aim_of(DOOR, named, host, dialect, policy, known)
    if aim is None and isinstance(token_counter, HostCounter):
        return token_counter.aim
    if aim is None and token_counter is None:
        raise TypeError(
            f"{DOOR}: nothing says how tokens are counted; give model= (or host=), whose host bills them, or "
            "token_counter= as in langchain-core"
        )
    return aim


def _check(max_tokens: Any, strategy: str, start_on: Any, *, allow_partial: bool, include_system: bool) -> None:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int):
        raise TypeError(f"{DOOR}: max_tokens is a {type(max_tokens).__name__}; allowed: a whole number")
    if strategy not in ("first", "last"):
        raise ValueError(f"Unrecognized {strategy=}. Supported strategies are 'last' and 'first'.")
    if strategy == "first" and start_on:
        raise ValueError("start_on parameter is only valid with strategy='last'")
    if strategy == "first" and include_system:
        raise ValueError("include_system parameter is only valid with strategy='last'")
    if allow_partial:
        raise ValueError(
            f"{DOOR}: allow_partial=True cuts a message apart, and with it reasoning from the call that it belongs to; "
            "leave it out: whole turns are kept"
        )


def _named_by(token_counter: Any) -> Any:
    """The chat model that counts, which is the one that the messages are for; None for any other counter."""
    bound = isinstance(token_counter, RunnableBindingBase)
    return token_counter if bound or hasattr(token_counter, "bind_tools") else None


def _trimmed(given: Any, trimming: _Trimming) -> Messages:
    messages = as_messages(given)
    size = _size_by(trimming)
    if trimming.strategy == "first":
        kept = messages if not messages else first_turns(messages, trimming.max_tokens, size, trimming.cutting)
        return kept if trimming.end_on is None else ending_on(kept, trimming.end_on)
    if trimming.end_on is not None:
        messages = ending_on(messages, trimming.end_on)
    kept = messages if not messages or size(messages) <= trimming.max_tokens else _last(messages, size, trimming)
    if trimming.start_on is None:
        return kept
    system = systems_in(kept) if trimming.include_system else 0
    return starting_on(kept, system, trimming.start_on, trimming.cutting)


def _size_by(trimming: _Trimming) -> Size:
    counter, aim = trimming.counter, trimming.aim
    if counter is None:
        assert aim is not None
        return HostCounter(aim)
    if aim is None:
        return counter
    return lambda messages: counter(prepare_untold(messages, **aim.call()).messages)


def _last(messages: Messages, size: Size, trimming: _Trimming) -> Messages:
    system = systems_in(messages) if trimming.include_system else 0
    if trimming.cutting.places(messages)[0] == len(messages):
        raise no_turn(trimming.max_tokens, size(messages))
    if trimming.aim is None:
        return last_turns(messages, system, trimming.max_tokens, size, trimming.cutting)
    turns = trimming.cutting.behind(messages, system, trimming.cutting.places(messages)[0])
    try:
        return trim(turns, trimming.max_tokens, **trimming.aim.call(), token_counter=trimming.counter)
    except CannotTrim as error:
        if error.smallest is None:
            raise
        raise too_small(trimming.max_tokens, error.smallest) from error
