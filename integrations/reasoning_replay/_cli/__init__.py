"""The command line: `reasoning-replay COMMAND`.

A command is a row of COMMANDS: its help, an example, its arguments, what it runs. It is imported when it runs, so that
`--help` needs nothing but the core. A command gives an exit status: 0 as hoped, 1 not, 2 asked wrongly.
Here alone is decided how a command ends: what was asked wrongly is one line that names the fix, output that cannot be
written too; Ctrl-C is 130 and a reader that has gone is 141 (as a shell counts a process that a signal ended), both
without a word. Letters that the output's encoding has not are spelled out (`_print.spells_out`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from textwrap import fill
from typing import NamedTuple, TextIO

from ._print import spells_out, visible
from ._usage import Parser, seconds, whole
from ._wrong import Wrong, in_one_line

DEMO_NEEDS = "pip install 'reasoning-replay[demo]'"
INTERRUPTED = 130
READER_GONE = 141


class Command(NamedTuple):
    """One row of COMMANDS."""

    summary: str
    usage: str
    """What must be given, and that there is more."""
    example: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plain", action="store_true", help="no colour, and boxes of plain characters, as when the output is a file"
    )


def _demo(arguments: argparse.Namespace) -> int:
    try:
        from .._demo import main as demo
    except ImportError as missing:
        raise Wrong(f"{missing}; it needs LiteLLM or LangChain, and strict hosts: {DEMO_NEEDS}") from None
    return demo(plain=arguments.plain or bool(os.environ.get("NO_COLOR")), install=DEMO_NEEDS)


def _explain_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        help="JSON or JSONL: messages, a request's body, messages_to_dict, a LiteLLM log; - is stdin",
    )
    add("--to", metavar="HOST", required=True, help="where it would go: a URL, a host name, or an id of `hosts`")
    add("--model", metavar="M", help="the model there; without it the one that FILE names")
    add(
        "--as", metavar="ID", dest="like", help="the host's rule file, where HOST is a gateway's or a server's own name"
    )
    add(
        "--dialect", metavar="D", help="what the host speaks; without it as FILE is written, or as the host's file says"
    )
    add(
        "--rules", metavar="PATH", help="rule files of your own, asked first: a file (what `probe` prints), or a folder"
    )
    add("--from-origin", metavar="HOST", help="who wrote the reasoning that has no mark: a URL, a host name, or an id")
    add("--from-model", metavar="M", help="the model that wrote it; without it --model")
    add(
        "--entry",
        metavar="N",
        type=whole,
        help="which request of a file with several, counted from 1; without it the last",
    )
    add("--json", action="store_true", help="print JSON: verdict, rule, report")
    add("--diff", action="store_true", help="also show the bytes of each message before and after")
    add("--all", action="store_true", help="show every row of a long history; without it the newest 200")


def _hosts_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("host", metavar="HOST", nargs="?", help="a URL, a host name, or an id; without it they are listed")
    add("--model", metavar="M", help="only the rules that can decide for this model")
    add("--dialect", metavar="D", help="only the rules for this dialect")
    add("--all", action="store_true", help="list those too of which only the key of some models is known (models.dev)")
    add(
        "--rules", metavar="PATH", help="rule files of your own, asked first: a file (what `probe` prints), or a folder"
    )
    add("--json", action="store_true", help="print JSON")


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="the config.yaml of a LiteLLM proxy")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _probe_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--base-url", metavar="URL", required=True, help="the base URL that a client is given")
    add("--model", metavar="M", required=True, help="a model there that calls tools")
    add("--api-key-env", metavar="VAR", help="the variable that holds the key; it is never printed")
    add("--api-key-header", metavar="NAME", help="the header of the key, where it is not the dialect's usual one")
    add(
        "--dialect",
        metavar="D",
        help="chat, anthropic, responses, gemini, bedrock or ollama; without it as the table says",
    )
    add("--as", metavar="ID", dest="like", help="compare with this host's rules, where URL is a name of your own")
    add("--extra", metavar="JSON", help="parameters for every request, for example one that switches thinking on")
    add("--timeout", metavar="SECONDS", type=seconds, default=120.0, help="of each call; 120 without it")
    add("--yes", action="store_true", help="do not ask before the requests are sent")
    add("--json", action="store_true", help="print JSON")


def _later(module: str) -> Callable[[argparse.Namespace], int]:
    """The `run` of a module here, imported when it runs."""

    def run(arguments: argparse.Namespace) -> int:
        status: int = import_module(f".{module}", __name__).run(arguments)
        return status

    return run


COMMANDS = {
    "demo": Command(
        "tool loops of the real LiteLLM and LangChain against hosts on this machine, without and with the one line",
        "[--plain]",
        "reasoning-replay demo",
        _demo_arguments,
        _demo,
    ),
    "explain": Command(
        "what a host would say to a history as it stands, and what is sent instead; sends nothing",
        "FILE --to HOST [options]",
        "reasoning-replay explain history.json --to api.deepseek.com --model deepseek-v4-pro",
        _explain_arguments,
        _later("_explain"),
    ),
    "hosts": Command(
        "the rules of a host as a person reads them, with sources and dates; without a host the list",
        "[HOST] [options]",
        "reasoning-replay hosts deepseek --model deepseek-v4-pro",
        _hosts_arguments,
        _later("_hosts"),
    ),
    "check": Command(
        "what becomes of reasoning at each model and each fallback of a LiteLLM proxy; 1 where something is missing",
        "CONFIG [--json]",
        "reasoning-replay check config.yaml",
        _check_arguments,
        _later("_check"),
    ),
    "probe": Command(
        "ask a host with your own key which rules hold there, in at most 25 small requests; prints a rule file",
        "--base-url URL --model M [options]",
        "reasoning-replay probe --base-url https://api.deepseek.com --model deepseek-v4-pro --api-key-env DEEPSEEK_KEY",
        _probe_arguments,
        _later("_probe"),
    ),
}


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole command line, and that of each command."""
    top = Parser(
        prog="reasoning-replay",
        description="Send each model's earlier reasoning back to the host that wrote it, and to no other host.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {version('reasoning-replay')}")
    rooms = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    made = {}
    for name, command in COMMANDS.items():
        text, usage = f"example: {command.example}", f"%(prog)s {command.usage}"
        made[name] = rooms.add_parser(
            name,
            help=command.summary,
            description=fill(command.summary, 72),
            epilog=text,
            usage=usage,
            formatter_class=argparse.RawDescriptionHelpFormatter,  # the example is to be copied
        )
        command.arguments(made[name])
    return top, made


def parser() -> Parser:
    """Give the parser of the whole command line."""
    return _parsers()[0]


def _read(argv: Sequence[str] | None) -> argparse.Namespace:
    top, rooms = _parsers()
    return top.read(argv, rooms)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status."""
    name = "reasoning-replay"
    _open_streams()
    spells_out(sys.stdout, sys.stderr)
    try:
        arguments = _read(argv)
        name = f"{name} {arguments.command}"
        status = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except Wrong as wrong:
        return _asked_wrongly(name, in_one_line(wrong))
    except RecursionError:
        return _asked_wrongly(name, "what it was given is nested too deeply to be read; give it without that message")
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up(sys.stdout)
        return READER_GONE
    except OSError as error:
        _give_up(sys.stdout)
        return _asked_wrongly(name, f"{error.strerror or type(error).__name__}; write the output to another place")
    return status


def _asked_wrongly(name: str, text: str) -> int:
    print(f"{name}: {visible(text)}", file=sys.stderr)
    return 2


def _give_up(stream: TextIO) -> None:
    """Nothing more is written there: the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """What a parent closed (`>&-`, a service) is nowhere."""
    for stream in ("stdin", "stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "r" if stream == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115, PTH123 -- to the end
