"""Which rule decides: from a target, a request and a policy to one `Rule`.

The order: alias, host pattern, hint, `unknown`; then the first rule whose models and condition fit; then
switches and the policy's window. What a rule is stands in `_host`, what the caller chooses in `_policy`, how a
file is read in `_parse`; the first two's names are given on here. Must not open a file, log, or look at a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from ._host import (
    Carrier,
    ErrorText,
    Host,
    Missing,
    Rule,
    RuleError,
    Switch,
    Thinking,
    Toggle,
    When,
    Window,
)
from ._origin import Dialect, Origin
from ._params import ABSENT, as_text, find, has_tools, put, without
from ._policy import BadPolicy, Policy, nearest

__all__ = [
    "UNKNOWN",
    "BadPolicy",
    "Carrier",
    "Choice",
    "ErrorText",
    "Host",
    "Missing",
    "Policy",
    "Rule",
    "RuleError",
    "Switch",
    "Thinking",
    "Toggle",
    "When",
    "Window",
    "ask_to_keep",
    "check",
    "dialects_of",
    "disable_thinking",
    "find_host",
    "has_tools",
    "holds_key",
    "select",
    "thinking_of",
    "upstream_of",
]

UNKNOWN = "unknown"
"""The id of the file for hosts that nobody described; it has rules for every dialect."""

_DEFAULT = Policy()


class Choice(NamedTuple):
    """What `select` found."""

    host: Host
    """The file: its toggles, whether it is a router, who holds the key."""
    rule: Rule
    """The rule, its window already settled: none, current_turn, last_assistant or all."""
    thinking: Thinking
    """What the request says about thinking."""
    tools: bool
    """Whether the request carries tools, or, without a request, the history has a call."""
    family: tuple[Host, ...] = ()
    """The files whose sealed parts may go to this one too, where `Policy(sealed="family")` asks for it."""
    name: str = ""
    """The target's own host name; the file may have been found by a hint or an alias."""


def check(hosts: Iterable[Host]) -> None:
    """Files that stand side by side: no id, host pattern or hint may be in two of them.

    Raises:
        RuleError: naming both files.
    """
    seen: dict[tuple[str, str], str] = {}
    for host in hosts:
        claims = {"id": (host.id,), "host": host.hosts, "hint": tuple(map(str.lower, host.hints))}
        for kind, word in ((kind, word) for kind, claimed in claims.items() for word in claimed):
            other = seen.setdefault((kind, word), host.name)
            if other != host.name:
                raise RuleError(f"{host.name}: the {kind} {word!r} is in {other} too; one {kind}, one file")


def find_host(hosts: tuple[Host, ...], host: str, *, policy: Policy | None = None, hint: str | None = None) -> Host:
    """The file for a normalised host name: alias, else pattern (the policy's files first), else hint, else unknown.

    Raises:
        BadPolicy: an alias names a file that is not there.
    """
    policy = policy or _DEFAULT
    files = policy.rules + hosts if policy.rules else hosts
    if policy.aliases and host in policy.aliases:
        return _by_alias(files, host, policy.aliases[host])
    return _find(files, host, hint)


def _by_alias(files: tuple[Host, ...], host: str, wanted: str) -> Host:
    for file in files:
        if file.id == wanted:
            return file
    ids = sorted({file.id for file in files})
    raise BadPolicy(
        f"Policy(aliases={{{host!r}: {wanted!r}}}): there is no rule file {wanted!r}; "
        f"{nearest(wanted, ids)}known ids: {', '.join(ids)}"
    )


@lru_cache(maxsize=4096)
def _find(files: tuple[Host, ...], host: str, hint: str | None) -> Host:
    """First match wins; within one file an exact name and a pattern are worth the same."""
    for file in files:
        if file.matches(host):
            return file
    wanted = hint.lower() if hint else UNKNOWN
    for file in files:
        if wanted in map(str.lower, file.hints):
            return file
    return _unknown(files)


def _unknown(files: tuple[Host, ...]) -> Host:
    for file in files:
        if file.id == UNKNOWN:
            return file
    raise RuleError(f"hosts: no file has the id {UNKNOWN!r}; it is needed for hosts without a file; add builtin()")


def select(
    hosts: tuple[Host, ...],
    target: Origin,
    request: Mapping[str, Any] | None,
    *,
    policy: Policy | None = None,
    hint: str | None = None,
    used_tools: bool = False,
    path: str | None = None,
) -> Choice:
    """The rule for a request to `target`, its window settled.

    `used_tools`: the history has a tool call; it stands in for the request's tools when `request` is None, and then
    the model is taken to think: a caller who shows no request is not held to have switched thinking off.
    `path`: the path of the URL, for hosts whose rules depend on it. Changes nothing; equal arguments, equal choice.

    Raises:
        BadPolicy: an alias names a file that is not there.
    """
    policy = policy or _DEFAULT
    host = find_host(hosts, target.host, policy=policy, hint=hint)
    thinking = thinking_of(host, request)
    tools = used_tools if request is None else has_tools(request)
    files = policy.rules + hosts if policy.rules else hosts
    for rule in _candidates(files, host, target.dialect, target.model):
        if _holds(rule.when, tools, "on" if request is None else thinking, path):
            settled = _settled(rule, _window(rule, request, policy, tools, used_tools))
            family = _family(files, rule.family) if policy.sealed == "family" else ()
            return Choice(host, settled, thinking, tools, family, target.host)
    raise RuleError(f"{host.name}: no rule for dialect {target.dialect!r}, and the file {UNKNOWN!r} has none either")


@lru_cache(maxsize=4096)
def _candidates(files: tuple[Host, ...], host: Host, dialect: Dialect, model: str | None) -> tuple[Rule, ...]:
    """The rules of the dialect that are for this model, in order; those of `unknown` where the file has none."""
    rules = [rule for rule in host.rules if rule.dialect == dialect] or [
        rule for rule in _unknown(files).rules if rule.dialect == dialect
    ]
    names = {model, _without_prefix(host, model)}
    return tuple(rule for rule in rules if any(rule.takes(name) for name in names))


def _holds(when: When, tools: bool, thinking: Thinking, path: str | None) -> bool:
    if when.tools is not None and when.tools is not tools:
        return False
    if when.thinking is not None and thinking not in when.thinking:
        return False
    return when.path is None or (path is not None and fnmatchcase(path, when.path))


def _window(rule: Rule, request: Mapping[str, Any] | None, policy: Policy, tools: bool, used_tools: bool) -> Window:
    window = rule.window
    if rule.requirement == "forbidden":
        return window  # the host answers 4xx to it: no switch and no policy may send it
    if policy.window is not None:
        window = policy.window
    elif rule.switch and request is not None:
        for switch in rule.switch:
            value = find(request, switch.param)
            if value is not ABSENT:
                window = switch.window(as_text(value), window)
                break
    if window == "all_if_tools":
        return "all" if tools else "current_turn"
    if window == "all_once_tools_used":
        return "all" if used_tools else "current_turn"
    return window


def _settled(rule: Rule, window: Window) -> Rule:
    return rule if rule.window == window else _with_window(rule, window)


@lru_cache(maxsize=1024)
def _with_window(rule: Rule, window: Window) -> Rule:
    return replace(rule, window=window)


@lru_cache(maxsize=256)
def _family(files: tuple[Host, ...], family: str | None) -> tuple[Host, ...]:
    return tuple(file for file in files if family is not None and any(rule.family == family for rule in file.rules))


def holds_key(choice: Choice, policy: Policy | None = None) -> Callable[[str], bool] | None:
    """Whether another host name can open what the target sealed, as a function of that name; None: no other can.

    All names of the file where it says `holder = "file"`; the files of the family where the policy asks for it. A hint
    or an alias says whose rule holds at a name of the caller's own, not that the vendor stands behind it: none then.
    """
    files: tuple[Host, ...] = (choice.host,) if choice.host.holder == "file" else ()
    if policy is not None and policy.sealed == "family":
        files += choice.family
    if not files or not choice.host.matches(choice.name):
        return None
    return lambda name: any(file.matches(name) for file in files)


def dialects_of(choice: Choice) -> frozenset[str]:
    """The dialects of the family whose sealed parts may go to the target; none where the policy does not ask for it."""
    family = choice.rule.family
    if family is None or not choice.host.matches(choice.name):
        return frozenset()
    return frozenset(rule.dialect for file in choice.family for rule in file.rules if rule.family == family)


def thinking_of(host: Host, request: Mapping[str, Any] | None) -> Thinking:
    """What a request says about thinking, by the host's toggles; the first one present decides."""
    if request is not None:
        for toggle in host.thinking:
            value = find(request, toggle.param)
            if value is not ABSENT:
                return toggle.says(as_text(value))
    return "unset"


def disable_thinking(choice: Choice, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A new request with thinking off, by the host's first toggle that can say so.

    The very same request where the host or the model has no off, and where thinking is off already.
    """
    toggle = next((toggle for toggle in choice.host.thinking if toggle.off), None)
    if toggle is None or not choice.rule.can_disable or choice.thinking == "off":
        return request
    for other in (*(other.param for other in choice.host.thinking if other is not toggle), *toggle.drop):
        request = without(request, other)
    return put(request, toggle.param, toggle.off[0])


def ask_to_keep(choice: Choice, request: Mapping[str, Any] | None, policy: Policy) -> Mapping[str, Any] | None:
    """The request with the host's own parameter for keeping every turn, where the policy's window sends them.

    The very same request where the caller has set the parameter, where the host has none, and where the window is the
    rule's own: then the host's default stands.
    """
    given = {} if request is None else request
    if policy.window is None or choice.rule.window != "all" or choice.thinking == "off":
        return request
    if any(find(given, switch.param) is not ABSENT for switch in choice.rule.switch):
        return request
    for switch in choice.rule.switch:
        around = find(given, switch.param.rpartition(".")[0])  # a value of the caller's that holds no parameters stays
        if (value := switch.value("all")) is not None and (around is ABSENT or isinstance(around, Mapping)):
            for param, beside in switch.beside:
                given = given if find(given, param) is not ABSENT else put(given, param, beside)
            return put(given, switch.param, value)
    return request


def upstream_of(host: Host, rule: Rule | None, model: str | None) -> str | None:
    """The vendor behind a model's name at a router, lower case; the name itself when it says no vendor.

    A rule that names the vendor speaks for the models that it takes, and for no other.
    """
    if rule is not None and rule.upstream is not None and rule.takes(model):
        return rule.upstream
    name = _without_prefix(host, model)
    return None if name is None else (name.rpartition("/")[0] or name).lower()


@lru_cache(maxsize=4096)
def _without_prefix(host: Host, model: str | None) -> str | None:
    """The model as the host knows it: LiteLLM writes its own name for the host before it."""
    if model is None or "/" not in model:
        return model
    first, _, rest = model.partition("/")
    return rest if first.lower() in {host.id.lower(), *map(str.lower, host.hints)} else model
