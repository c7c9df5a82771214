"""Where turns start: at the user messages that start one. What makes a message one stands in `_is_start` alone.

A form says in its `Turns` what is a tool's result and what has no text; the caller's own word (`turn`,
`Policy.starts_turn`) beats both. A host reads the same list without that word: it is asked again with `stated=None`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._history import StartsTurn
from . import Messages, Turns

Stated = Callable[[int, Mapping[str, Any]], bool | None]


def last_start(messages: Messages, turns: Turns, stated: Stated | None = None) -> int:
    """The row of the last message that starts a turn, found from the end; 0 where none does."""
    behind = _looking_back(messages, turns, stated)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        role = turns.role_of(message)
        if role == "assistant" or (stated is None and role != "user"):
            continue
        if _is_start(turns, index, message, role, stated, behind):
            return index
    return 0


def all_starts(messages: Messages, turns: Turns, starts_turn: StartsTurn | None = None) -> list[int]:
    """The rows of all messages that start a turn, in one pass; the last of them is what `last_start` finds."""
    stated = partial(turns.stated, starts_turn=starts_turn)
    found: list[int] = []
    behind = False
    for index, message in enumerate(messages):
        role = turns.role_of(message)
        if role != "assistant" and _is_start(turns, index, message, role, stated, lambda _: behind):  # noqa: B023 - asked at once
            found.append(index)
        said = _puts_behind_result(turns, index, message, stated)
        behind = behind if said is None else said
    return found


def _is_start(
    turns: Turns,
    index: int,
    message: Mapping[str, Any],
    role: Any,
    stated: Stated | None,
    behind: Callable[[int], bool],
) -> bool:
    """Whether a message that is not the assistant's starts a turn; `behind`: whether a row stands behind a result.

    A quiet message does not (a picture that a tool took) right behind the tool's result, also through a run of such
    messages and of ones that are stated not to start a turn.
    """
    said = stated(index, message) if stated is not None else None
    if said is not None:
        return said
    return role == "user" and not turns.is_result(message) and not (turns.is_quiet(message) and behind(index))


def _puts_behind_result(turns: Turns, index: int, message: Mapping[str, Any], stated: Stated | None) -> bool | None:
    """Whether what follows stands behind a tool's result; None: that is up to what is before the message."""
    if turns.is_result(message):
        return True
    role = turns.role_of(message)
    if role != "user":
        return False if role == "assistant" else None
    said = stated(index, message) if stated is not None else None
    passes = turns.is_quiet(message) if said is None else not said
    return None if passes else False


def _looking_back(messages: Messages, turns: Turns, stated: Stated | None) -> Callable[[int], bool]:
    """Whether a row stands behind a tool's result. Asked from the end on, it looks at no row twice."""
    decider, answer = len(messages), False

    def behind(index: int) -> bool:
        nonlocal decider, answer
        if index <= decider:
            decider, said = index, None
            while said is None and decider > 0:
                decider -= 1
                said = _puts_behind_result(turns, decider, messages[decider], stated)
            decider, answer = (-1, False) if said is None else (decider, said)
        return answer

    return behind
