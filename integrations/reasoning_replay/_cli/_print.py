"""How a command prints: with `rich` in a terminal that takes colour, else plain text with nothing but letters in it.

Plain is what a file, a pipe, NO_COLOR or an environment without `rich` gets. A table too wide for a terminal is told
row by row. A letter that moves the cursor is spelled out wherever it comes from, as is one that the output's encoding
has not (a Windows console, LANG=C). This file knows no host and no message.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import Any, TextIO

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


MOST_STYLED = 2_000
"""Rows; 70,000 took rich two minutes and a half, and plain text a second (2026-11-30)."""
NARROWEST = 0.7
"""Of the room that its words take: below it a table is told row by row (settled by looking at 40 and 80 columns)."""

SPELLED = {"→": "->", "·": "-", "…": "...", "—": "-"}
"""What we ourselves print, for an encoding without it; any other letter becomes its escape."""


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SPELLED.get(one, one.encode("ascii", "backslashreplace").decode()) for one in missing), error.end


def spells_out(*streams: TextIO) -> None:
    """From here on nothing printed there fails for its encoding."""
    codecs.register_error("reasoning-replay", _spelled)
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="reasoning-replay")


def visible(text: str) -> str:
    """A text in which control characters, half surrogates and marks of direction are spelled out; lines stay lines."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode("ascii") for one in text
    )


class Printer:
    """Prints paragraphs and tables to stdout."""

    def __init__(self) -> None:
        self._console = _console()

    def say(self, text: str = "", style: str = "") -> None:
        """One paragraph; nothing in it is markup."""
        text = visible(text)
        if self._console is None:
            print(text)
        else:
            self._console.print(text, style=style or None)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Sequence[str] = ()) -> None:
        """A table; the columns of `numbers` are set to the right."""
        found = [[(visible(text), style) for text, style in map(_styled, row)] for row in rows]
        if self._console is None or len(found) > MOST_STYLED:
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
        if self._console.width >= NARROWEST * _room(columns, found):
            self._console.print(table)
            return
        for row in found:
            named = zip(columns, row, strict=True)
            parts = [Text.assemble(f"{name} ", (text, style)) for name, (text, style) in named if text != ""]
            self._console.print(Text("; ").join(parts))


def _room(columns: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]]) -> int:
    """The letters that a table takes whose columns are as wide as their longest words, with three between them."""
    longest = [max(map(len, name.split())) for name in columns]
    for row in rows:
        longest = [max(old, *map(len, (text or "-").split())) for old, (text, _) in zip(longest, row, strict=True)]
    return sum(longest) + 3 * len(longest)


def _styled(cell: Cell) -> tuple[str, str]:
    return cell if isinstance(cell, tuple) else (cell, "")


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
