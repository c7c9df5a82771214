"""Long tables of calls on the wire: a sample in every run, all rows in the long one (.ci/full: `pytest -m slow`).

A test with many rows keeps those in which a value of any of its parameters is met for the first time, and every fourth of the
others; the rest are marked slow. So every host, every mode and every entry is met in every run; only their combinations are thinned.
`pytest -m ""` runs everything.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

MANY = 16
"""A test with fewer rows keeps them all."""
FOURTH = 4
WIRE = ("litellm_sdk", "test_langchain_loops", "test_langchain_hooks", "test_langchain_transformer", "test_forms_wire",
        "test_langchain_bedrock", "test_langchain_persistence", "test_cli_explain", "test_cli_probe")  # fmt: skip
"""Folders and files whose rows are calls over a port: tens of milliseconds each."""


def thin(items: list[pytest.Item]) -> None:
    """Mark the rows that are left to the long run."""
    tables: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        is_row = isinstance(item, pytest.Function) and hasattr(item, "callspec")
        if is_row and _on_the_wire(item.path) and item.get_closest_marker("slow") is None:
            tables[item.nodeid.partition("[")[0]].append(item)
    for rows in tables.values():
        if len(rows) >= MANY:
            for row in rest(rows):
                row.add_marker(pytest.mark.slow)


def _on_the_wire(path: Path) -> bool:
    return path.stem in WIRE or path.parent.name in WIRE


def rest(rows: list[pytest.Function]) -> list[pytest.Function]:
    """The rows that are not in the sample."""
    met: set[tuple[str, object]] = set()
    left: list[pytest.Function] = []
    others = 0
    for row in rows:
        values = {(name, _value(value)) for name, value in row.callspec.params.items()}
        others += not values - met
        if not values - met and others % FOURTH:
            left.append(row)
        met |= values
    return left


def _value(value: object) -> object:
    """A value as a member of a set: the rows of a table share their objects."""
    return value if isinstance(value, str | int | float | None) else id(value)
