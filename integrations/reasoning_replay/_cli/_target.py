"""What a person means by a host: a URL, a host name, or the id of a rule file.

An id becomes a name that the file answers to, or, where it has none, a name of our own with an alias: no rule is
chosen here. What the host speaks is its file's first dialect, unless the messages are written in one of their own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from .._origin import DIALECTS, Origin, host_of
from .._policy import nearest
from .._rules import UNKNOWN, Host, find_host
from ..hosts import all_hosts, builtin, load_hosts
from ._wrong import Wrong, as_wrong

FREE = ("chat", "litellm", "langchain")
"""Forms that a framework writes for every dialect; any other is the dialect's own."""


VENDORS = {
    "claude": "anthropic",
    "doubao": "volcengine",
    "ernie": "qianfan",
    "gemma": "gemini",
    "glm": "zai",
    "google": "gemini",
    "gpt": "openai",
    "grok": "xai",
    "hunyuan": "tencent",
    "kimi": "moonshot",
    "magistral": "mistral",
    "nova": "bedrock",
    "qwen": "dashscope",
    "sonar": "perplexity",
    "step": "stepfun",
    "zhipu": "zai",
}
"""The name of models, or another one of their vendor → the id of the vendor's file."""


class Target(NamedTuple):
    """A host as it was named on the command line."""

    url: str
    """What the core is given: a URL or a host name."""
    host: Host
    """The rule file that stands for it."""
    aliases: Mapping[str, str]

    @property
    def described(self) -> bool:
        """Whether a file describes it."""
        return self.host.id != UNKNOWN


def target_of(given: str, option: str, *, like: str | None = None, rules: tuple[Host, ...] = ()) -> Target:
    """The host that `given` names; `like` is the id of the file that holds there, where the name is the caller's own.

    Raises:
        Wrong: no host name, no URL and no id; it names the nearest id.
    """
    known = (*rules, *all_hosts())
    files = {host.id: host for host in reversed(known)}
    if like is not None:
        if like not in files:
            raise Wrong(f"--as {like!r}: no id of a host; {nearest(like, files)}`reasoning-replay hosts` lists them")
        with as_wrong(option):
            return Target(given, files[like], {host_of(given): like})
    if given in files:
        return _by_id(files[given])
    with as_wrong(option):
        name = host_of(given)
    if not re.search(r"[.:\[/]", given) and name != "localhost":
        ids = [host.id for host in (*rules, *builtin())]
        raise Wrong(
            f"{option} {given!r}: no id of a host; {_meant(given, ids)}give a URL, a host name with a dot or a port, "
            "or one of the ids that `reasoning-replay hosts` lists"
        )
    return Target(given, find_host(known, name), {})


def _meant(given: str, ids: list[str]) -> str:
    """`did you mean …? ` with the vendor of the models that are named so, and the id that looks so; or nothing."""
    vendor = VENDORS.get(given.lower())
    if vendor is None:
        return nearest(given, ids)
    looks = difflib.get_close_matches(given.lower(), ids, 1)
    return f"did you mean {' or '.join(map(repr, dict.fromkeys([vendor, *looks])))}? "


def _by_id(host: Host) -> Target:
    for pattern in host.hosts:
        name = pattern.removeprefix("*.").replace("*", "x") if not pattern.startswith("*.") else f"x{pattern[1:]}"
        if host.matches(name):
            return Target(name, host, {})
    name = f"custom:{host.id}"
    return Target(name, host, {name: host.id})


def dialect_of(target: Target, form: str, asked: str | None) -> str:
    """What the host speaks.

    Raises:
        Wrong: no such dialect, or one that the messages are not written in.
    """
    if asked is not None and asked not in DIALECTS:
        raise Wrong(f"--dialect {asked!r}: not known; {nearest(asked, DIALECTS)}allowed: {', '.join(DIALECTS)}")
    if form in FREE:
        return asked or (target.host.rules[0].dialect if target.described else "chat")
    if asked not in (None, form):
        raise Wrong(
            f"--dialect {asked!r}: the messages are written in the form of {form!r}; leave --dialect out, or give the "
            "messages as they are written for that host"
        )
    return form


def rules_of(path: str | None) -> tuple[Host, ...]:
    """The rule files at a path; none where no path was given.

    Raises:
        Wrong: nothing there, or a file that cannot be used.
    """
    with as_wrong("--rules"):
        return () if path is None else load_hosts(path)


def origin_of(given: str | None, model: str | None, form: str) -> Origin | None:
    """Who wrote what has no mark; None where nobody says it."""
    if given is None:
        return None
    target = target_of(given, "--from-origin")
    with as_wrong("--from-origin"):
        return Origin(target.url, dialect=dialect_of(target, form, None), model=model)
