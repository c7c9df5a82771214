"""One retry of a call that its host refuses for its history: repaired, planned and sent once more.

Rule 1: at most one a call of a model, whoever inside it sends: a class may stream within `_generate`, a wrapped model
may hand its call on to another, in whatever list: the context says for which call. A `with_retry` around the model and
an SDK's own retries see calls, not this.
Rule 2: never once a piece of the answer has been handed on, and never where the same would be sent again.
Rule 3: what is raised in the end is the host's own error, the last one, as the class raised it.
What a refusal means and what is done about it is no affair of this file (`transcripts` and the hosts' tables).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from langchain_core.outputs import ChatGenerationChunk

from .._decision import Row
from .._known import Known, Overlay, default_store
from .._plan import ConversationElsewhere, MissingReasoning, Plan
from .._report import Report
from ..transcripts._repair import Repaired, repair_sent
from ..transcripts._repair_words import refusal_of
from ._closing import aclosing, closing
from ._planned import Planned, each_running, each_running_later, running

R = TypeVar("R")
_DEEP = 4
"""How many errors, each raised from the next, are looked at."""


class Call(Protocol):
    """What is asked of a call."""

    messages: Planned
    began: bool
    """Something of the answer was handed on."""
    working: int
    """How many of a class's methods work on it now. 0: it is over."""

    def again(self, error: Exception) -> bool:
        """Whether it is to be sent once more; then `messages` are the repaired ones."""


@contextmanager
def _working(call: Call) -> Iterator[None]:
    call.working += 1
    try:
        yield
    finally:
        call.working -= 1


def tried(call: Call, send: Callable[[Planned], R]) -> R:
    """What a call gives, or its one retry."""
    with _working(call):
        try:
            with running(call.messages):
                return send(call.messages)
        except Exception as error:
            if not call.again(error):
                raise
        with running(call.messages):
            return send(call.messages)


async def tried_later(call: Call, send: Callable[[Planned], Awaitable[R]]) -> R:
    """The same for a call that is awaited."""
    with _working(call):
        try:
            with running(call.messages):
                return await send(call.messages)
        except Exception as error:
            if not call.again(error):
                raise
        with running(call.messages):
            return await send(call.messages)


def _opened(call: Call, send: Callable[[Planned], R]) -> R:
    """What the chunks come out of: a class may send before it is asked for the first one."""
    with running(call.messages):
        return send(call.messages)


def streamed(call: Call, send: Callable[[Planned], Iterator[ChatGenerationChunk]]) -> Iterator[ChatGenerationChunk]:
    """The chunks of a call, or of its one retry: that is over with the first chunk."""
    with _working(call):
        while True:
            try:
                with closing(_opened(call, send)) as chunks:
                    for chunk in each_running(call.messages, chunks):
                        call.began = True
                        yield chunk
            except Exception as error:
                if not call.again(error):
                    raise
            else:
                return


async def streamed_later(
    call: Call, send: Callable[[Planned], AsyncIterator[ChatGenerationChunk]]
) -> AsyncIterator[ChatGenerationChunk]:
    """The same for a stream that is awaited."""
    with _working(call):
        while True:
            try:
                async with aclosing(_opened(call, send)) as chunks:
                    async for chunk in each_running_later(call.messages, chunks):
                        call.began = True
                        yield chunk
            except Exception as error:
                if not call.again(error):
                    raise
            else:
                return


_ANSWERS = ("response", "body", "response_json", "details", "error", "raw_response")
"""Attributes under which SDKs keep what a host has answered (2026-11)."""


def has_answered(error: BaseException) -> bool:
    """Whether an error is a host's answer, whatever its words are: time that ran out may quote an earlier one.

    Without a status it is where the SDK holds an answer (a stream that is refused within its 200, Ollama's lines), or
    where a class raises the body itself (langchain-openai for an error under status 200).
    """
    if refusal_of(error).statuses:
        return True  # a host's table says which of them
    cause: BaseException | None = error
    for _ in range(_DEEP):
        if cause is None:
            return False
        held = (getattr(cause, name, None) for name in _ANSWERS)  # some responses of 4xx are false as a truth value
        if any(each is not None and each != "" for each in held) or any(
            isinstance(each, Mapping) for each in cause.args
        ):
            return True
        cause = cause.__cause__
    return False


def repaired_for(plan: Plan, given: Any, request: Mapping[str, Any] | None, error: Exception) -> Repaired | None:
    """The history that a refusal asks for; None where it asks for none, or nobody can say what was sent."""
    if plan.work is None or not has_answered(error):
        return None
    recalled = plan.work.recalled
    done = repair_sent(plan, given if recalled is None else recalled.messages, request=request, error=error)
    return done if done.changed else None


def planned_again(
    plan_anew: Callable[[Any, Mapping[str, Any] | None, Known | None], Planned],
    done: Repaired,
    known: Known | None,
    before: Plan | None,
    request: Mapping[str, Any] | None,
) -> Planned | None:
    """What is sent the second time; None where it would be the same, or where there is nothing that may be sent.

    The store is asked where payloads come from, not for what a client dropped: what was refused would come back.
    """
    try:
        anew = plan_anew(done.messages, done.request, Overlay({}, default_store() if known is None else known))
    except (MissingReasoning, ConversationElsewhere):  # the host's own error says more
        return None
    plan = anew.plan
    if plan is None or before is None or (plan.messages == before.messages and plan.request == before.request):
        return None
    anew.given = request  # hooks write what differs from what the class itself would send
    return anew


def with_first(report: Report, done: Repaired) -> Report:
    """The report of the second try, and above it why there was one and what was repaired."""
    places = done.places

    def rows() -> tuple[Row, ...]:
        later = (row if row.index is None else replace(row, index=places[row.index]) for row in report.rows)
        return (Row(None, None, "request", "guard", "retried", (str(done.means),), 0), *done.report.rows, *later)

    return Report(rows, origin=report.origin, rule=report.rule, thinking=report.thinking, tools=report.tools)
