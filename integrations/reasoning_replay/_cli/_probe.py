"""`probe`: asks a host of the user's own which rules hold there, with the user's key, on request only.

It says what it costs before it spends, and asks. What it prints is a rule file for `load_hosts`, its findings as
comments in it; everything else goes to stderr. The key is read from the environment, goes into one header, and is in
nothing that is printed. Exit status: 0, 1 where the host does not do what the table says of it, 2 where it cannot tell.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._origin import DIALECTS, Origin, host_of, path_of
from .._policy import Policy, nearest
from .._rules import Choice, Rule, select
from ..hosts import all_hosts
from ._print import plain_table
from ._probe_calls import MOST_CALLS, Caller
from ._probe_facts import Facts, Probe
from ._probe_speech import SPEECHES, Row, Speech
from ._probe_verdict import Line, changed, entry, judged
from ._target import Target, target_of
from ._toml import host_text
from ._wrong import Wrong, as_wrong, in_one_line

SHORT = 12
"""Letters of a key of which no part can be told from a word."""


class Asked(NamedTuple):
    """What is to be probed."""

    base: str
    name: str
    model: str
    dialect: str
    target: Target
    choice: Choice
    extra: Mapping[str, Any]

    @property
    def speech(self) -> Speech:
        """How it is spoken to."""
        return SPEECHES[self.dialect]


def run(arguments: Namespace) -> int:
    """Probe one host."""
    asked = _asked(arguments)
    key = _key(arguments.api_key_env)
    headers = _headers(asked.speech, key, arguments.api_key_header)
    _confirm(asked, with_key=key is not None, asks=not arguments.yes)
    with _progress() as told:
        caller = Caller(headers, timeout=arguments.timeout, told=told, paused=_paused)
        probe = Probe(
            caller, asked.speech, asked.speech.path(asked.base, asked.model), asked.model, asked.choice, asked.extra
        )
        try:
            facts = probe.run()
        except Wrong as wrong:
            raise Wrong(_scrubbed(str(wrong), key)) from None
        except (KeyError, IndexError, TypeError, AttributeError):
            raise Wrong(
                f"a reply is not in the dialect {asked.dialect!r}; is the base URL right? else give --dialect"
            ) from None
    facts.words = {fact: _scrubbed(text, key) for fact, text in facts.words.items()}
    return _tell(asked, facts, caller.made, as_json=arguments.json)


# What was asked -------------------------------------------------------------------------------------------------------


def _asked(arguments: Namespace) -> Asked:
    base = arguments.base_url.rstrip("/")
    if not re.match(r"https?://", base, re.IGNORECASE) or re.search(r"[?#]", base):
        raise Wrong(
            "--base-url: must be a URL with http:// or https://, without a query; for example https://api.deepseek.com"
        )
    with as_wrong("--base-url"):
        name = host_of(base)
    if not (path_of(base) or "").isascii():
        raise Wrong("--base-url: its path holds letters that no URL holds as they are; percent-encode them")
    if re.search(r"//[^/]*@", base):
        raise Wrong("--base-url: holds a name or a password; give the key with --api-key-env")
    target = target_of(base, "--base-url", like=arguments.like)
    dialect = arguments.dialect or (target.host.rules[0].dialect if target.described else "chat")
    if dialect not in DIALECTS:
        raise Wrong(f"--dialect {dialect!r}: not known; {nearest(dialect, DIALECTS)}allowed: {', '.join(DIALECTS)}")
    extra = _extra(arguments.extra)
    request = {**SPEECHES[dialect].body([], arguments.model), **extra}
    policy = Policy(aliases=target.aliases)
    origin = Origin(base, dialect=dialect, model=arguments.model)
    choice = select(all_hosts(), origin, request, policy=policy, used_tools=True, path=path_of(base))
    return Asked(base, name, arguments.model, dialect, target, choice, extra)


def _extra(text: str | None) -> Row:
    try:
        found = json.loads(text) if text is not None else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Wrong("""--extra: must be a JSON object of request parameters, for example '{"enable_thinking": true}'""")
    return found


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if key is None or not key.strip():
        raise Wrong(f"--api-key-env {variable}: this variable is not set; export it, or leave the option out")
    if not re.fullmatch(r"[!-~]+", key):
        raise Wrong(
            f"--api-key-env {variable}: what it holds cannot be sent in a header (a blank or a line break in it?)"
        )
    return key


def _headers(speech: Speech, key: str | None, header: str | None) -> dict[str, str]:
    if header is not None and not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", header):
        raise Wrong(f"--api-key-header {header!r}: no name of a header; for example api-key")
    name, before = (header, "") if header is not None else speech.key
    return {**speech.headers, **({name: f"{before}{key}"} if key is not None else {})}


def _scrubbed(text: str, key: str | None) -> str:
    """A text without the key, and without what a host shows of it: its last letters, or six others in a row."""
    if key is None:
        return text
    if len(key) < SHORT:
        return text.replace(key, "***")
    out, at = [], 0
    while at < len(text):
        size = next((n for n in range(min(len(key), len(text) - at), 5, -1) if text[at : at + n] in key), 0)
        out.append("***" if size else text[at])
        at += size or 1
    return "".join(out).replace(key[-4:], "***")


def _paused(why: str, seconds: float) -> None:
    print(f"reasoning-replay probe: {why}", file=sys.stderr)
    time.sleep(seconds)


def _confirm(asked: Asked, *, with_key: bool, asks: bool) -> None:
    """Says what it costs before anything is sent, and asks; a script that has said yes is told nothing."""
    if not asks and not sys.stderr.isatty():
        return
    paid = "with your key; the host may charge for them" if with_key else "without a key"
    open_ = " The key would go unencrypted." if with_key and asked.base.lower().startswith("http://") else ""
    print(
        f"This sends at most {MOST_CALLS} small requests to {asked.name} for {asked.model}, {paid}.{open_}",
        file=sys.stderr,
    )
    if not asks:
        return
    if not sys.stdin.isatty():
        raise Wrong("nobody to ask at the terminal; add --yes")
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Wrong("not gone on with; nothing was sent")


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A bar on stderr; nothing where that is no terminal, or without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        yield lambda number: None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda number: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("calls, of at most", total=MOST_CALLS)
        yield lambda number: bar.update(task, completed=number)


# What is told ---------------------------------------------------------------------------------------------------------


def _tell(asked: Asked, facts: Facts, calls: int, *, as_json: bool) -> int:
    described = asked.target.described
    lines = judged(facts, asked.choice, described=described)
    wrong = changed(lines)
    today = dt.datetime.now(tz=dt.UTC).date()
    file = entry(facts, asked.choice, name=asked.name, model=asked.model, today=today, described=described)
    comment = "\n".join(_comment(asked, lines, wrong, calls, today, file.rules[0]))
    text = host_text(file, comment=comment)
    if as_json:
        told = {
            "host": asked.name,
            "model": asked.model,
            "dialect": asked.dialect,
            "calls": calls,
            "date": today.isoformat(),
        }
        rows = [line._asdict() for line in lines]
        print(json.dumps({**told, "facts": facts.as_dict(), "checks": rows, "changed": wrong, "toml": text}, indent=2))
    else:
        print(text, end="")
    for one in wrong:
        print(f"reasoning-replay probe: {one}", file=sys.stderr)
    return 1 if wrong else 0


def _comment(
    asked: Asked, lines: list[Line], wrong: list[str], calls: int, today: dt.date, rule: Rule
) -> Iterator[str]:
    day = today.isoformat()
    yield f"reasoning-replay probe of {asked.name}, {asked.model}, dialect {asked.dialect}, {day}, {calls} calls"
    rows = [(line.words, line.seen, line.table, line.verdict) for line in lines]
    yield from plain_table(("the host", "seen", "table", ""), rows)
    for line in lines:
        if line.said:
            yield in_one_line(f"{line.words}: {line.said}")
    yield from wrong
    if any(line.verdict == "looser" for line in lines):
        scope = f" ({rule.missing.on})" if rule.missing is not None else ""
        yield f"looser: the host demands less than the table gives it{scope}; that breaks nothing and is no change"
    if not asked.target.described:
        yield "no file describes this host; behind the probed rule stands the cautious one for unknown hosts"
    yield 'for use: Policy(rules=load_hosts("this file"))'
