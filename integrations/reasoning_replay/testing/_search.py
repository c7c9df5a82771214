"""What tests search for: reasoning at a host that did not write it, canaries where there must be none, moved prefixes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ._host import StrictHost
from ._script import CANARY


def aliases(hosts: Iterable[StrictHost]) -> dict[str, str]:
    """One mapping for `Policy(aliases=...)` over several hosts."""
    return {name: kind for host in hosts for name, kind in host.alias.items()}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Reasoning found at a host that did not write it."""

    at: StrictHost
    written_by: StrictHost
    request: int
    """Index in `at.requests`."""
    word: str = field(repr=False)


def foreign_bytes(hosts: Iterable[StrictHost]) -> list[Foreign]:
    """Every canary, signature or sealed string in a raw body of a host that did not issue it."""
    all_hosts = list(hosts)
    return [
        Foreign(host, writer, index, word)
        for host in all_hosts
        for index, request in enumerate(host.requests)
        for writer in all_hosts
        for word, scope in writer.issued.items()
        if word.encode() in request.raw and (writer is not host or not host.same_upstream(request, scope))
    ]


@dataclass(frozen=True, slots=True)
class Moved:
    """A request that goes on with an earlier one of the same turn and changed what stood in it."""

    at: StrictHost
    earlier: int
    later: int
    """Indices in `at.requests`."""
    message: int
    """The first message that is not as it was."""


def moved_prefixes(hosts: Iterable[StrictHost]) -> list[Moved]:
    """Within one turn the bytes that a host has seen do not change: it caches prefixes, and some models bind blocks to them.

    A request goes on with an earlier one if it has the same model and the same messages apart from reasoning, and adds no
    user message but tool results. Where several could be the one before (parallel conversations), one that fits is enough.
    Requests that were refused do not count.
    """
    return [moved for host in hosts for moved in _moved(host)]


def _moved(host: StrictHost) -> Iterator[Moved]:
    taken = [(i, r.messages, r.json.get("model")) for i, r in enumerate(host.requests) if r.status == HTTP_OK]
    for place, (later, messages, model) in enumerate(taken):
        before = [(i, old) for i, old, other in taken[:place] if model == other and _goes_on(old, messages)]
        longest = max((len(old) for _, old in before), default=0)
        before = [(i, old) for i, old in before if len(old) == longest]
        if before and not any(messages[:longest] == old for _, old in before):
            earlier, old = before[-1]
            yield Moved(host, earlier, later, next(n for n, m in enumerate(old) if m != messages[n]))


HTTP_OK: Final = 200


def _goes_on(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    added = after[len(before) :]
    if not added or [_spine(m) for m in before] != [_spine(m) for m in after[: len(before)]]:
        return False
    return all(m.get("role") != "user" or "tool_result" in json.dumps(m) for m in added)


def _spine(message: dict[str, Any]) -> Any:
    """What is left of a message without reasoning: who speaks, and the ids of calls and results."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    ids = [b.get("id") or b.get("tool_use_id") for b in blocks if isinstance(b, dict)]
    calls = [call.get("id") for call in message.get("tool_calls") or []]
    said = content if message.get("role") == "user" and not any(ids) else None
    return message.get("role"), message.get("tool_call_id"), calls, [i for i in ids if i], said


def canaries_in(text: str) -> list[str]:
    """The canary words in a text: for logs, reports and errors, where there must be none."""
    return re.findall(re.escape(CANARY) + r"[\w.-]+", text)
