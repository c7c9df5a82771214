"""What tests search for: reasoning at a host that did not write it, canaries where there must be none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

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


def canaries_in(text: str) -> list[str]:
    """The canary words in a text: for logs, reports and errors, where there must be none."""
    return re.findall(re.escape(CANARY) + r"[\w.-]+", text)
