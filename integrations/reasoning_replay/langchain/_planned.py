"""`Planned`: the messages that a chat model's own code is given, an ordinary list that holds only what may go.

Since it is the plan's own list, a hook recognises it wherever the class hands it on. While a call runs, its list is
known to the code that runs inside it, so that a list which a class makes of the same messages is recognised too.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import BaseMessage

from .._plan import Plan

_running: ContextVar[Planned | None] = ContextVar("reasoning_replay_planned", default=None)


class Planned(list[BaseMessage]):
    """Messages that may be sent, and the plan that says why. Not for saving."""

    __slots__ = ("call", "given", "plan")

    def __init__(
        self, messages: Iterable[BaseMessage], plan: Plan | None, given: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(messages)
        self.plan = plan
        """None: somebody below plans, and gets the marks as well."""
        self.given = given
        """The request that was planned with; `plan.request` is what became of it."""
        self.call: Any = None
        """The call of a wrapped model that they were planned for, if any."""

    def __copy__(self) -> Planned:
        return self.again(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Planned:
        return self.again(copy.deepcopy(list(self), memo))

    def again(self, messages: Iterable[BaseMessage]) -> Planned:
        made = Planned(messages, self.plan, self.given)
        made.call = self.call
        return made

    def __reduce__(self) -> tuple[type[list[BaseMessage]], tuple[list[BaseMessage]]]:
        return list, (list(self),)  # what has left the process is not planned: it loses its reasoning


def running_plan() -> Planned | None:
    """The messages of the call that runs in this context; None where none does."""
    return _running.get()


@contextmanager
def running(planned: Planned) -> Iterator[None]:
    """While a class's own code works on these messages."""
    token = _running.set(planned)
    try:
        yield
    finally:
        _running.reset(token)


def each_running(planned: Planned, chunks: Iterable[Any]) -> Iterator[Any]:
    """Every chunk; between two of them, where the caller's code runs, nothing is running."""
    iterator = iter(chunks)
    while True:
        with running(planned):
            try:
                chunk = next(iterator)
            except StopIteration:
                return
        yield chunk


async def each_running_later(planned: Planned, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The same for a stream that is awaited."""
    iterator = aiter(chunks)
    while True:
        with running(planned):
            try:
                chunk = await anext(iterator)
            except StopAsyncIteration:
                return
        yield chunk
