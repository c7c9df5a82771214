"""Where a call's report is kept: beside a response's hidden parameters, in which nothing changes.

A reply, a stream and each of its chunks have them; what is put together from chunks gets its report from them.
Whoever dumps, compares or copies the hidden parameters finds LiteLLM's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._report import Report


class Told(dict[str, Any]):
    """LiteLLM's hidden parameters, equal to what they were, and a report beside them."""

    __slots__ = ("report",)

    def __init__(self, hidden: Mapping[str, Any], report: Report | None) -> None:
        super().__init__(hidden)
        self.report = report


def tell(response: Any, report: Report | None) -> None:
    """Puts a report beside a response's hidden parameters; a response that has none stays as it is."""
    hidden = getattr(response, "_hidden_params", None)
    if isinstance(hidden, dict):
        response._hidden_params = Told(hidden, report)


def report_of(response: Any) -> Report | None:
    """The report of the call that gave this reply or stream; None where there was none (a cache hit, no callback)."""
    hidden = getattr(response, "_hidden_params", None)
    return hidden.report if isinstance(hidden, Told) else None
