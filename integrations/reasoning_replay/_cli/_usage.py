"""How a command line is read, and what is said of one that cannot be: one short line with the fix.

`--help` has the whole of it; an error names what is wrong, what is near it, and where the help is. Knows no command.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from .._policy import nearest
from ._print import visible
from ._wrong import in_one_line

MOST_SECONDS = 86_400


class Parser(argparse.ArgumentParser):
    """One that complains in one line, and knows what was nearly right."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where the help is; exit status 2."""
        wrong = re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)", message, re.DOTALL)
        missing = re.match(r"the following arguments are required: (.*)", message)
        if wrong:
            names = re.findall(r"\w+", wrong[2])
            message = f"no command {wrong[1]!r}; {nearest(wrong[1], names)}there are: {', '.join(names)}"
        elif missing:
            message = f"missing: {missing[1]}; {self.format_usage()}"
        self.exit(2, f"{self.prog}: {visible(in_one_line(message))}; see {self.prog} --help\n")

    def read(self, argv: Sequence[str] | None, rooms: Mapping[str, argparse.ArgumentParser]) -> argparse.Namespace:
        """Read a command line; a word too many is told by the command of `rooms` that it was given to."""
        found, spare = self.parse_known_args(argv)
        if spare:
            room = rooms[found.command]
            room.error(_spare(spare[0], re.findall(r"--[a-z][a-z-]*", room.format_help())))
        return found


def _spare(word: str, options: Iterable[str]) -> str:
    if word.startswith("-"):
        return f"no option {word.partition('=')[0]!r}; {nearest(word, options)}".rstrip("; ")
    return f"{word!r} is one argument too many"


def whole(text: str) -> int:
    """A number to count with, from 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number, counted from 1")
    return int(text)


def seconds(text: str) -> float:
    """A time to wait."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= MOST_SECONDS:  # nan too
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of seconds above 0, at most {MOST_SECONDS}")
    return found
