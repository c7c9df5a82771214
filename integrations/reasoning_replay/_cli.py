"""The command line: `reasoning-replay COMMAND`.

A command is a row of COMMANDS: its help, its arguments, what it runs. It imports what it needs when it runs,
so that `--help` needs nothing but the core. A command gives an exit status: 0 as hoped, 1 not, 2 asked wrongly.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEMO_NEEDS = "pip install 'reasoning-replay[demo]'"


class Command(NamedTuple):
    """One row of COMMANDS."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="no colour and no boxes, as when the output is a file")


def _demo(arguments: argparse.Namespace) -> int:
    try:
        from ._demo import main as demo
    except ImportError as missing:
        print(
            f"reasoning-replay demo: {missing}; it needs LiteLLM or LangChain, and strict hosts: {DEMO_NEEDS}",
            file=sys.stderr,
        )
        return 2
    return demo(plain=arguments.plain, install=DEMO_NEEDS)


COMMANDS = {
    "demo": Command(
        "tool loops of the real LiteLLM and LangChain against hosts on this machine, without and with the one line",
        _demo_arguments,
        _demo,
    ),
}


def parser() -> argparse.ArgumentParser:
    """Give the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="reasoning-replay",
        description="Send each model's earlier reasoning back to the host that wrote it, and to no other host.",
    )
    rooms = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.arguments(rooms.add_parser(name, help=command.summary, description=command.summary))
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status."""
    arguments = parser().parse_args(argv)
    return COMMANDS[arguments.command].run(arguments)
