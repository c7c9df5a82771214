"""How a command prints: with `rich` in a terminal that takes colour, else plain text with nothing but letters in it.

Plain is what a file, a pipe, NO_COLOR or an environment without `rich` gets. This file knows no host and no message.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Cell = str | tuple[str, str]
"""A text, or a text and its style."""


def _console() -> Any:
    """Rich's console; None where the output is to be plain."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False, emoji=False, markup=False)


class Printer:
    """Prints paragraphs and tables to stdout."""

    def __init__(self) -> None:
        self._console = _console()

    def say(self, text: str = "", style: str = "") -> None:
        """One paragraph; nothing in it is markup."""
        if self._console is None:
            print(text)
        else:
            self._console.print(text, style=style or None)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Sequence[str] = ()) -> None:
        """A table; the columns of `numbers` are set to the right."""
        found = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
        if self._console is None:
            for line in plain_table(columns, [[text for text, _ in row] for row in found], numbers):
                print(line)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for name in columns:
            table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
        for row in found:
            table.add_row(*(Text(text, style=style) for text, style in row))
        self._console.print(table)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """The lines of a table in plain text."""
    lines = [list(columns), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [name in numbers for name in columns]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
