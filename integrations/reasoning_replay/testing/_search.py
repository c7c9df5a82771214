"""What tests search for: reasoning at a host that did not write it, canaries where there must be none, moved prefixes."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from ._dialect import Dialect
from ._dialects import DIALECTS
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
    """Every canary, signature or sealed string in a raw body of a host that did not issue it, as it is or in base64."""
    all_hosts = list(hosts)
    return [
        Foreign(host, writer, index, word)
        for host in all_hosts
        for index, request in enumerate(host.requests)
        for writer in all_hosts
        for word, scope in writer.issued.items()
        if (writer is not host or not host.same_upstream(request, scope)) and carries(request.raw, word)
    ]


def carries(raw: bytes, word: str) -> bool:
    """Whether a body holds a word: as it is, or anywhere inside bytes that JSON writes as base64."""
    return any(form in raw for form in _forms(word))


@lru_cache(maxsize=4096)
def _forms(word: str) -> tuple[bytes, ...]:
    """A word and, if it is base64, the bytes under it: each as it is, and inside base64 wherever a byte can begin there.

    What the neighbours of the word decide is cut off. Both alphabets agree on the words that are issued here.
    """
    texts = [word.encode()]
    with suppress(binascii.Error):
        texts.append(b64decode(word, validate=True))
    inside = [
        b64encode(bytes(shift) + text)[-(-shift * 8 // 6) : (shift + len(text)) * 8 // 6]
        for text in texts
        for shift in range(3)
    ]
    return (*texts, *inside)


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
    speaks = DIALECTS[host.dialect]
    kept = [(i, r) for i, r in enumerate(host.requests) if r.status == HTTP_OK]
    taken = [(i, host.rows(r), host.judge.at(r.path), r.json.get("model")) for i, r in kept]
    for place, (later, rows, *where) in enumerate(taken):
        before = [(i, old) for i, old, *other in taken[:place] if where == other and _goes_on(speaks, old, rows)]
        longest = max((len(old) for _, old in before), default=0)
        before = [(i, old) for i, old in before if len(old) == longest]
        if before and not any(rows[:longest] == old for _, old in before):
            earlier, old = before[-1]
            yield Moved(host, earlier, later, next(n for n, row in enumerate(old) if row != rows[n]))


HTTP_OK: Final = 200


def _goes_on(speaks: Dialect, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    added = after[len(before) :]
    if not added or [speaks.spine(row) for row in before] != [speaks.spine(row) for row in after[: len(before)]]:
        return False
    return not any(speaks.begins_turn(row) for row in added)


def canaries_in(text: str) -> list[str]:
    """The canary words in a text: for logs, reports and errors, where there must be none."""
    return re.findall(re.escape(CANARY) + r"[\w.-]+", text)
