"""Where a call's report is kept: in the reply's `response_metadata`, and in the metadata of the run.

In the reply it is a small dict (host, model, rule, counts) and, beside it, the whole `Report`. Whatever copies, dumps
or stores the message keeps the dict alone. In the run it is what tracers and `astream_events` show.
It asks LangChain's handlers only what they say of themselves: a handler that keeps no runs is left alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from .._origin import MARK
from .._report import Report

ROWS = 100
"""As many rows, the newest, go into a run's metadata: a tracer posts them with every call. A guess."""
_OURS = f"{__name__.partition('.')[0]}."


class Told(dict[str, Any]):
    """What a report says in a few words, and the report beside it. A copy of any kind is a plain dict."""

    __slots__ = ("report",)

    report: Report

    def __init__(self, report: Report) -> None:
        super().__init__(_in_few_words(report))
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def tell(message: Any, report: Report) -> None:
    """Puts a report into a fresh reply, or into one chunk of a stream: merged twice, its words would double."""
    message.response_metadata[MARK] = Told(report)


def report_of(message: Any) -> Report | None:
    """The report of the call that gave this reply; None where there was none.

    There is none for an unwrapped model, for a reply from a cache, and once the message was stored and read again.
    """
    told = getattr(message, "response_metadata", {}).get(MARK)
    return told.report if isinstance(told, Told) and not from_cache(message) else None


def from_cache(message: Any) -> bool:
    """Whether LangChain's cache gave this reply, and no host.

    The sign: `BaseChatModel._convert_cached_generations` writes a `total_cost` of 0 into the usage of a message that it
    finds in a cache, and no partner class writes that key (langchain-core 1.8.3 and 18 partner packages, 2026-11-30).
    A cached answer that has none is a bare text, without anything to mark.
    """
    return "total_cost" in (getattr(message, "usage_metadata", None) or {})


def tell_run(run_manager: Any, report: Report) -> None:
    """Puts a report into the metadata of the running run, in every tracer that keeps its runs; else does nothing."""
    run_manager = _run_of_caller() if run_manager is None else run_manager
    identity = getattr(run_manager, "run_id", None)
    handlers = getattr(run_manager, "handlers", None)
    entries = [entry for handler in _listed(handlers) for entry in _entries(handler, identity)]
    if entries:
        told = report.to_dict()
        told["rows"] = told["rows"][-ROWS:]
        for entry in entries:
            entry["metadata"] = {**(entry.get("metadata") or {}), MARK: told}  # not in place: runs share that dict


def _run_of_caller() -> Any:
    """The run of LangChain's own method that has called us; None where there is none.

    `BaseChatModel.stream` and `astream` start a run and do not hand it to the `_stream` that they call
    (langchain-core 1.8.3, 2026-11-30), so it is read from their frame: the first that is not of this package.
    """
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_OURS):
        frame = frame.f_back
    return None if frame is None else frame.f_locals.get("run_manager")


def _in_few_words(report: Report) -> dict[str, Any]:
    rule = report.rule
    return {
        "host": report.origin.host,
        "model": report.origin.model,
        "rule": None if rule is None else rule.host,
        "window": None if rule is None else rule.window,
        "counts": report.counts(),
    }


def _entries(handler: Any, identity: object) -> list[dict[str, Any]]:
    """Where the metadata of a run stands in one handler: a tracer's `Run.extra`, or the event stream's own dict."""
    runs = getattr(handler, "run_map", None)
    if not isinstance(runs, Mapping):
        return []
    found = [runs[key] for key in (identity, str(identity)) if key in runs]
    places = [run if isinstance(run, dict) else getattr(run, "extra", None) for run in found]
    return [place for place in places if isinstance(place, dict)]


def _listed(handlers: object) -> Iterable[Any]:
    return handlers if isinstance(handlers, (list, tuple)) else ()
