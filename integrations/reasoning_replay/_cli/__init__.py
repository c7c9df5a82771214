"""The command line: `reasoning-replay COMMAND`.

A command is a row of COMMANDS: its help, an example, its arguments, what it runs. It is imported when it runs, so that
`--help` needs nothing but the core. A command gives an exit status: 0 as hoped, 1 not, 2 asked wrongly.
Here alone is decided how a command ends: what was asked wrongly is one line that names the fix; Ctrl-C is 130 and a
reader that has gone is 141 (as a shell counts a process that a signal ended), both without a word.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from ._wrong import Wrong, in_one_line

DEMO_NEEDS = "pip install 'reasoning-replay[demo]'"
INTERRUPTED = 130
READER_GONE = 141


class Command(NamedTuple):
    """One row of COMMANDS."""

    summary: str
    example: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """One that complains in one line."""

    def error(self, message: str) -> NoReturn:
        usage = in_one_line(self.format_usage())
        self.exit(2, f"{self.prog}: {in_one_line(message)}; {usage}; see {self.prog} --help\n")


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="no colour and no boxes, as when the output is a file")


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
        type=int,
        help="which request of a file with several, counted from 1; without it the last",
    )
    add("--json", action="store_true", help="print JSON: verdict, rule, report")
    add("--diff", action="store_true", help="also show the bytes of each message before and after")


def _hosts_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("host", metavar="HOST", nargs="?", help="a URL, a host name, or an id; without it all ids are listed")
    add("--model", metavar="M", help="only the rules that can decide for this model")
    add("--dialect", metavar="D", help="only the rules for this dialect")
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
    add("--timeout", metavar="SECONDS", type=float, default=120.0, help="of each call; 120 without it")
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
        "reasoning-replay demo",
        _demo_arguments,
        _demo,
    ),
    "explain": Command(
        "what a host would say to a history as it stands, and what is sent instead; sends nothing",
        "reasoning-replay explain history.json --to api.deepseek.com --model deepseek-v4-pro",
        _explain_arguments,
        _later("_explain"),
    ),
    "hosts": Command(
        "the rules of a host as a person reads them, with sources and dates; without a host the list",
        "reasoning-replay hosts deepseek --model deepseek-v4-pro",
        _hosts_arguments,
        _later("_hosts"),
    ),
    "check": Command(
        "what becomes of reasoning at each model and each fallback of a LiteLLM proxy; 1 where something is missing",
        "reasoning-replay check config.yaml",
        _check_arguments,
        _later("_check"),
    ),
    "probe": Command(
        "ask a host with your own key which rules hold there, in at most 25 small requests; prints a rule file",
        "reasoning-replay probe --base-url https://api.deepseek.com --model deepseek-v4-pro --api-key-env DEEPSEEK_KEY",
        _probe_arguments,
        _later("_probe"),
    ),
}


def parser() -> argparse.ArgumentParser:
    """Give the parser of the whole command line."""
    top = _Parser(
        prog="reasoning-replay",
        description="Send each model's earlier reasoning back to the host that wrote it, and to no other host.",
    )
    rooms = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in COMMANDS.items():
        text = f"example: {command.example}"
        command.arguments(rooms.add_parser(name, help=command.summary, description=command.summary, epilog=text))
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status."""
    arguments = parser().parse_args(argv)
    try:
        status = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except Wrong as wrong:
        print(f"reasoning-replay {arguments.command}: {in_one_line(wrong)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        return READER_GONE
    return status
