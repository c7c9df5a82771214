"""A plan for people: as a text table and as JSON; as HTML in `_report_html`.

Rule 1: this file is given rows, an origin and a rule, never messages: it cannot print reasoning.
Rule 2: it decides nothing. What a reason code means stands in `_decision.REASONS`, which is read here.
Contract: rows are made when somebody asks, once; a report that nobody reads costs a closure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._decision import REASONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._decision import Action, Row
    from ._origin import Origin
    from ._rules import Rule

# More rows than this are counted, not printed: the newest are the ones that people look for. A guess.
SHOWN = 400

COLUMNS = ("message", "sent as", "role", "action", "fields", "bytes", "reason")

# The order of a sum: what goes back, what was put in, what stays out.
ACTIONS: tuple[Action, ...] = ("keep", "restore", "rename", "fill", "sentinel", "guard", "drop")


class Report:
    """What one plan did with every part of reasoning, and why; never the reasoning itself.

    Mutable in one way: `rows` may be given as a function, which is called once, when they are first asked for.
    """

    __slots__ = ("_counts", "_rows", "origin", "rule", "thinking", "tools")

    origin: Origin
    """Where the plan sends the messages."""
    rule: Rule | None
    """The rule that held, with the window that was in force; None where a fault left no time for one."""
    thinking: str
    """`on`, `off` or `unset`: what the request says about thinking."""
    tools: bool
    """Whether the request carries tools."""

    empty = "no reasoning in the history"
    """What is said where there is no row."""

    def __init__(
        self,
        rows: Callable[[], tuple[Row, ...]] | tuple[Row, ...],
        *,
        origin: Origin,
        rule: Rule | None,
        thinking: str,
        tools: bool,
        counts: Callable[[], Mapping[str, int]] | None = None,
    ) -> None:
        self._rows = rows
        self._counts = counts
        self.origin = origin
        self.rule = rule
        self.thinking = thinking
        self.tools = tools

    @property
    def rows(self) -> tuple[Row, ...]:
        """One row for each part of reasoning that was seen and for each change that was made."""
        if callable(self._rows):
            self._rows = self._rows()  # the closures go, and with them the messages that they held
            self._counts = None
        return self._rows

    def counts(self) -> dict[str, int]:
        """Give the number of rows of each action that occurs; empty when there was no reasoning."""
        if callable(self._rows) and self._counts is not None:
            return dict(self._counts())
        return dict(Counter(row.action for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values: names, counts and sizes, no text of any message."""
        return {
            "host": self.origin.host,
            "dialect": self.origin.dialect,
            "model": self.origin.model,
            "upstream": self.origin.upstream,
            "thinking": self.thinking,
            "tools": self.tools,
            "rule": None
            if self.rule is None
            else {
                "host": self.rule.host,
                "window": self.rule.window,
                "source": list(self.rule.source),
                "date": self.rule.date.isoformat(),
            },
            "counts": self.counts(),
            "rows": [
                {
                    "index": row.index,
                    "output": row.output,
                    "role": row.role,
                    "action": row.action,
                    "reason": row.reason,
                    "fields": list(row.fields),
                    "bytes": row.bytes,
                }
                for row in self.rows
            ],
        }

    def __str__(self) -> str:
        hidden, shown = self._shown()
        lines = [self._head()]
        if shown:
            lines += _table([COLUMNS, *map(cells, shown)])
            lines += (f"  {reason}: {sentence(reason)}" for reason in sorted({row.reason for row in shown}))
        if hidden:
            lines.append(f"{hidden} earlier rows are not shown; see .rows")
        lines.append(self._sum())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report to {self.origin.host}: {self._sum()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash((self.origin, self.thinking, self.tools))

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.rows, self.origin, self.rule, self.thinking, self.tools)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._rows, self.origin, self.rule, self.thinking, self.tools = state
        self._counts = None

    def _repr_html_(self) -> str:
        from ._report_html import page  # for notebooks alone

        return page(self)

    def _shown(self) -> tuple[int, tuple[Row, ...]]:
        rows = self.rows
        return max(0, len(rows) - SHOWN), rows[-SHOWN:]

    def _head(self) -> str:
        origin, rule = self.origin, self.rule
        model = f", model {origin.model}" if origin.model is not None else ""
        upstream = f", upstream {origin.upstream}" if origin.upstream is not None else ""
        tools = "tools" if self.tools else "no tools"
        return (
            f"to {origin.host} ({origin.dialect}{model}{upstream}): "
            + (f"rule {rule.host}, window {rule.window}, " if rule is not None else "no rule, ")
            + f"thinking {self.thinking}, {tools}"
        )

    def _sum(self) -> str:
        counts = self.counts()
        if not counts:
            return self.empty
        return ", ".join(f"{action} {counts[action]}" for action in ACTIONS if action in counts)


def sentence(reason: str) -> str:
    """Give the sentence of a reason code; an unknown code is its own sentence."""
    return REASONS.get(reason, reason)


def cells(row: Row) -> tuple[str, ...]:
    """Give what stands under COLUMNS for one row."""
    return (
        _place(row.index),
        _place(row.output),
        row.role,
        row.action,
        ", ".join(row.fields),
        str(row.bytes),
        row.reason,
    )


def _place(index: int | None) -> str:
    return "-" if index is None else str(index)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = {COLUMNS.index(name) for name in ("message", "sent as", "bytes")}
    return [
        "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
