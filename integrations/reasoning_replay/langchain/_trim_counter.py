"""Counters of tokens as LangChain's doors take them: what a host would bill, or what the caller counts by.

`counter_by` reads the argument as `trim_messages` of langchain-core does; a counter of a host stays apart from those,
since it is given the messages as they are kept, and plans them itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately

from .._known import Known
from .._policy import Policy
from ..transcripts import count_tokens
from ._model import bare, is_wrapped
from ._trim_aim import Aim, aim_of

Counter = Callable[[list[BaseMessage]], int]
SHORTCUTS: dict[str, Counter] = {"approximate": count_tokens_approximately}
"""The words that langchain-core takes for a counter (1.8.3, 2026-11-30)."""


class HostCounter:
    """A list of messages → the tokens that a host would bill for it as a prompt."""

    def __init__(self, aim: Aim) -> None:
        self.aim = aim

    def __call__(self, messages: Iterable[Any]) -> int:
        return count_tokens(as_messages(messages), **self.aim.call())

    def __repr__(self) -> str:
        return f"token_counter_of({self.aim!r})"


def token_counter_of(
    model: Any = None,
    *,
    host: str | None = None,
    dialect: str = "chat",
    policy: Policy | None = None,
    known: Known | None = None,
) -> HostCounter:
    """A `token_counter=` for LangChain: what the host of a model would bill as the prompt.

    For `trim_messages` (ours and langchain-core's), `SummarizationMiddleware`, `ContextEditingMiddleware`. It counts
    what would be sent: reasoning that goes, sealed parts by the vendor's estimate, the tools bound to the model.

    Args:
        model: a chat model, wrapped or not, or a binding of one; or the model's name, beside `host`.
        host: a URL, or `name[:port]`, where no model is given.
        policy, known: as for `with_reasoning_replay`. None: those of a wrapped model.

    Raises:
        TypeError: neither a model nor a host, or one that names no single host.
        OriginError, BadPolicy: as `prepare`.
    """
    aim = aim_of("token_counter_of", model, host, dialect, policy, known)
    if aim is None:
        raise TypeError("token_counter_of: no model; give a chat model, or host= and the model's name")
    return HostCounter(aim)


def counter_by(given: Any) -> Counter:
    """What langchain-core would count with, given this argument.

    Raises:
        ValueError: a word that it does not know; what is neither a model nor a function.
    """
    if isinstance(given, str):
        if given not in SHORTCUTS:
            known = ", ".join(map(repr, SHORTCUTS))
            raise ValueError(f"Invalid token_counter shortcut '{given}'. Available shortcuts: {known}.")
        return SHORTCUTS[given]
    if hasattr(given, "get_num_tokens_from_messages"):
        model = bare(given) if is_wrapped(given) else given  # a wrapped one plans, and these are planned already
        return model.get_num_tokens_from_messages  # type: ignore[no-any-return]
    if not callable(given):
        raise ValueError(  # noqa: TRY004 - langchain-core's own
            "'token_counter' expected to be a model that implements 'get_num_tokens_from_messages()' or a function. "
            f"Received object of type {type(given)}."
        )
    return _one_by_one(given) if _counts_one(given) else given


def _counts_one(counter: Callable[..., Any]) -> bool:
    """Whether its first parameter is annotated as one message, which is how langchain-core tells."""
    first = next(iter(inspect.signature(counter).parameters.values()), None)
    return first is not None and first.annotation in (BaseMessage, BaseMessage.__name__)


def _one_by_one(counter: Callable[[BaseMessage], int]) -> Counter:
    return lambda messages: sum(map(counter, messages))


def as_messages(given: Any) -> list[BaseMessage]:
    """What LangChain takes as messages as a list of them; the very same list where it is one."""
    if isinstance(given, list) and all(isinstance(each, BaseMessage) for each in given):
        return given
    if isinstance(given, BaseMessage):
        return [given]
    return list(convert_to_messages(given if hasattr(given, "to_messages") else list(given)))
