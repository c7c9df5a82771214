"""Where the running turn starts: the last user message that starts one, found from the end.

A form says what is a tool's result and what has no text; the caller's own word (`turn`, `Policy.starts_turn`) beats
both. A host reads the same list without that word: it is asked again with `stated=None`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import Messages

Reads = Callable[[Mapping[str, Any]], bool]
Stated = Callable[[int, Mapping[str, Any]], bool | None]


def last_start(
    messages: Messages,
    is_result: Reads,
    is_quiet: Reads,
    stated: Stated | None = None,
    role_of: Callable[[Mapping[str, Any]], Any] = lambda message: message.get("role"),
) -> int:
    """The row of the last message that starts a turn; 0 where none does.

    `is_quiet`: a user message that starts no turn right behind a tool's result (a picture that the tool took), also
    through a run of such messages and of ones that are stated not to start a turn.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        role = role_of(message)
        if role == "assistant":
            continue
        said = stated(index, message) if stated is not None else None
        if said is None:
            asks = role == "user" and not is_result(message)
            quiet = asks and is_quiet(message)
            said = asks and not (quiet and _behind_result(messages, index, is_result, is_quiet, stated, role_of))
        if said:
            return index
    return 0


def _behind_result(
    messages: Messages,
    index: int,
    is_result: Reads,
    is_quiet: Reads,
    stated: Stated | None,
    role_of: Callable[[Mapping[str, Any]], Any],
) -> bool:
    for before in range(index - 1, -1, -1):
        message = messages[before]
        if is_result(message):
            return True
        said = stated(before, message) if stated is not None else None
        role = role_of(message)
        passes = role == "user" and (is_quiet(message) if said is None else not said)
        if role == "assistant" or not (passes or role != "user"):
            return False
    return False
