"""What a judge may say: accepted, or refused with the status and body of the real host. And facts that all judges read.

This file knows no host. It imports neither the rule table nor the engine: a judge does not get the law from the accused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

OWN_KEYS: Final = ("turn", "reasoning_replay")
"""Keys of ours that no host may see, at the top of a message."""
MARK: Final = b"reasoning_replay"
"""Searched in every raw body."""


class Refusal(NamedTuple):
    """An answer that refuses."""

    status: int
    body: dict[str, Any]
    text: str
    """The error message alone."""


class Verdict(NamedTuple):
    """What a judge decided."""

    refusal: Refusal | None = None
    prompt: str | None = None
    """What the model would see, where the host's own package can tell."""


ACCEPTED: Final = Verdict()


def assistants(messages: Sequence[Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every assistant message with its index."""
    for index, message in enumerate(messages):
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            yield index, message


def last_user(messages: Sequence[Any]) -> int:
    """The index of the last user message, -1 if there is none."""
    return max((i for i, m in enumerate(messages) if isinstance(m, Mapping) and m.get("role") == "user"), default=-1)


def matches(model: str, patterns: Sequence[str]) -> bool:
    """Whether a model's name, without the vendor in front or with it, fits one of the patterns."""
    name = model.lower()
    return any(fnmatchcase(name, p) or fnmatchcase(name.rpartition("/")[2], p) for p in patterns)


def thinking_type(body: Mapping[str, Any]) -> str | None:
    """`thinking.type` of the request, None if it is not given."""
    thinking = body.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, Mapping) else None
    return kind if isinstance(kind, str) else None


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls of a chat message."""
    calls = message.get("tool_calls")
    return [c for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []


def unanswered(messages: Sequence[Any]) -> int | None:
    """The index of the first assistant message whose calls are not all answered by tool messages right behind it."""
    for index, message in assistants(messages):
        wanted = {c.get("id") for c in calls_of(message)}
        for follower in messages[index + 1 :]:
            if not isinstance(follower, Mapping) or follower.get("role") != "tool":
                break
            wanted.discard(follower.get("tool_call_id"))
        if wanted:
            return index
    return None


def empty_assistant(messages: Sequence[Any]) -> int | None:
    """The index of the first assistant message that has neither content nor calls; `""` is content."""
    for index, message in assistants(messages):
        if message.get("content") is None and not calls_of(message):
            return index
    return None


def own_key(messages: Sequence[Any]) -> tuple[int, str] | None:
    """The first message with a key of ours."""
    for index, message in enumerate(messages):
        for key in OWN_KEYS:
            if isinstance(message, Mapping) and key in message:
                return index, key
    return None
