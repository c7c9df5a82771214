"""What a model that summarises is shown of a history: what was said, never another host's reasoning.

A message that holds nothing but reasoning is left out, unless the summariser's host wrote it: then a readable copy of
it stands in its place. Whether that host wrote it is asked of a plan for it, which asks `accepts`.
The copies are for one prompt: they are never saved, and never the source of a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage

from .._faults import fail_closed
from .._origin import MARK
from .._plan import Plan
from .._replay import prepare_untold
from ..forms._langchain_blocks import is_empty
from ..transcripts import redact
from ..transcripts._redact_values import NOTE
from ._classes import target_of
from ._messages import FAULTS, strip_message
from ._settings import Settings

SAID = "."
"""Stands for something said, so that a host that refuses bare reasoning is asked about the reasoning alone."""


class Summariser(NamedTuple):
    """Who writes the summary, and how its calls are planned."""

    model: Any
    settings: Settings

    @classmethod
    def of(cls, model: Any, settings: Settings) -> Summariser:
        """The summariser with what is asked here, else with what it was wrapped with."""
        return cls(model, settings.over(getattr(model, "_reasoning_replay", Settings())))


def projected(messages: Sequence[BaseMessage], summariser: Summariser, *, asynchronous: bool) -> list[BaseMessage]:
    """The messages as they may be shown to the summariser; those that hold no reasoning are shared.

    On a fault only what people wrote.
    """
    shown = partial(_shown, messages, summariser, asynchronous=asynchronous)
    people = (HumanMessage(message.text) for message in messages if isinstance(message, HumanMessage))
    return fail_closed(FAULTS, lambda: list(shown()), lambda: list(people))


def _shown(messages: Sequence[BaseMessage], summariser: Summariser, *, asynchronous: bool) -> Iterator[BaseMessage]:
    for message in messages:
        left = said_alone(message)
        if left is message or not isinstance(left, AIMessage | ChatMessage) or not _says_nothing(left):
            yield left
            continue
        text = _own_text(message, summariser, asynchronous=asynchronous)
        if text != "":
            yield AIMessage([{"type": "reasoning", "reasoning": text}], id=message.id)


def said_alone(message: BaseMessage) -> BaseMessage:
    """The message without reasoning in any shape that `redact` knows, and without its notes; itself where it has none.

    Roles that nobody knows (`ChatMessage(role="critic")`) may be a model's.
    """
    left = strip_message(message)
    unknown = isinstance(left, ChatMessage) and left.role not in _KNOWN
    read = left.model_copy(update={"role": "assistant"}) if unknown else left
    bare = redact([read], form="langchain")[0]
    if bare is read:
        return left
    beside = {key: value for key, value in bare.additional_kwargs.items() if key not in (MARK, NOTE)}
    changes = {"content": bare.content, "additional_kwargs": beside, "response_metadata": bare.response_metadata}
    return left.model_copy(update=changes)


_KNOWN = frozenset({"user", "human", "system", "developer", "tool", "function"})


def _says_nothing(message: AIMessage | ChatMessage) -> bool:
    content = message.content
    silent = all(map(is_empty, content)) if isinstance(content, list) else content == ""
    return silent and not (isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls))


def _own_text(message: BaseMessage, summariser: Summariser, *, asynchronous: bool) -> str:
    """The readable reasoning of a message that the summariser's host may see; empty where it may see none."""
    if not isinstance(summariser.model, BaseChatModel):
        return ""  # a model to come: nobody can say which host it will be
    target = target_of(summariser.model, {}, asynchronous=asynchronous)
    policy = replace(summariser.settings.chosen(), window="all", missing="host", unknown_origin="drop")
    if target.url is None:
        return ""
    plan = prepare_untold(
        [HumanMessage(SAID), _speaking(message)], host=target.url, model=target.model, dialect=target.dialect,
        form="langchain", policy=policy, hint=target.hint, account=target.account, known=summariser.settings.known,
    )  # fmt: skip
    return _text_kept(plan)


def _speaking(message: BaseMessage) -> BaseMessage:
    """The message with something visible in it."""
    said = message.content
    return message.model_copy(
        update={"content": f"{said}{SAID}" if isinstance(said, str) else [*said, {"type": "text", "text": SAID}]}
    )


def _text_kept(plan: Plan) -> str:
    """The readable text of what a plan keeps, of the first carrier that has any: the others repeat it."""
    if plan.work is None:
        return ""
    found: dict[str, list[str]] = {}
    for row, (shape, decision) in zip(plan.work.rows, plan.work.draft.decided(), strict=True):
        for part, act in zip(shape.parts, decision.acts, strict=False):  # of a message that is left out: no acts
            if act.action != "drop" and decision.remove is None:
                text = plan.work.form.payload(row, part).partition("\0")[0]  # behind it: what is sealed
                found.setdefault(part.carrier, []).append(text)
    return next((whole for whole in map("".join, found.values()) if whole != ""), "")
