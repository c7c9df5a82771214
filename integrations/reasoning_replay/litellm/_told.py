"""Where a call's report is kept: beside a response's hidden parameters, in which nothing changes.

A reply, a stream and each of its chunks have them; what is put together from chunks gets its report from them.
Whoever dumps, compares or copies the hidden parameters finds LiteLLM's own. A reply of the messages API is a plain
dict: there the list of its blocks bears the report, equal to what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._report import Report

_REPORT = "_reasoning_replay_report"


class Told(dict[str, Any]):
    """LiteLLM's hidden parameters, equal to what they were, and a report beside them."""

    __slots__ = ("owner", "report")

    def __init__(self, hidden: Mapping[str, Any], report: Report | None, owner: int) -> None:
        super().__init__(hidden)
        self.report = report
        self.owner = owner
        """Of whose response it is: LiteLLM hands the parameters of a chat reply on to what it makes of it."""


class Blocks(list[Any]):
    """The blocks of a reply, and a report beside them; a copy is a plain list."""

    __slots__ = ("report",)

    def __init__(self, blocks: list[Any], report: Report | None) -> None:
        super().__init__(blocks)
        self.report = report

    def __reduce__(self) -> tuple[type[list[Any]], tuple[tuple[Any, ...]]]:
        return list, (tuple(self),)


def tell(response: Any, report: Report | None) -> None:
    """Puts a report beside a response; one that has no place for it stays as it is."""
    if isinstance(response, dict):
        if isinstance(response.get("content"), list):
            response["content"] = Blocks(response["content"], report)
        return
    hidden = getattr(response, "_hidden_params", None)
    if isinstance(hidden, dict):
        response._hidden_params = Told(hidden, report, id(response))
    elif hasattr(response, "__dict__"):
        vars(response)[_REPORT] = report


def report_of(response: Any) -> Report | None:
    """The report of the call that gave this reply or stream; None where there was none (a cache hit, no callback)."""
    if isinstance(response, dict):
        content = response.get("content")
        return content.report if isinstance(content, Blocks) else None
    hidden = getattr(response, "_hidden_params", None)
    return hidden.report if isinstance(hidden, Told) else getattr(response, _REPORT, None)


def is_told(response: Any) -> bool:
    """Whether a response has been looked at."""
    if isinstance(response, dict):
        return isinstance(response.get("content"), Blocks)
    hidden = getattr(response, "_hidden_params", None)
    return hasattr(response, _REPORT) or (isinstance(hidden, Told) and hidden.owner == id(response))
