"""How a matrix of calls tells its figures and its failures to a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def columns(rows: Iterable[Sequence[object]]) -> str:
    """Rows as text, every column as wide as its widest cell; the first row is the head."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells)


def grouped(failures: Iterable[tuple[str, str, str]], every: int = 0) -> str:
    """(what, how, detail): one line for each what and detail, with the ways in which it happened."""
    seen: dict[tuple[str, str], Counter[str]] = {}
    for what, how, detail in failures:
        seen.setdefault((what, detail), Counter())[how] += 1
    return "\n".join(
        f"{what} | {'every way' if len(ways) == every else ', '.join(ways)}" + (f" | {detail}" if detail else "")
        for (what, detail), ways in sorted(seen.items())
    )
