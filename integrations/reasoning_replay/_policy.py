"""What the caller chooses: `Policy`, checked when it is made.

A policy can make a decision stricter or widen a window; it cannot send a host what that host did not write.
Must not know messages, requests or which hosts there are.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._host import WINDOWS, Host, Window
from ._origin import Origin, OriginError, host_of

UNKNOWN_ORIGIN = ("drop", "trust")
MISSING = ("host", "leave", "disable_thinking", "raise")
SEALED = ("strict", "family")


class BadPolicy(ValueError):
    """A value that no policy may have; the message says which are allowed."""


def check_policy(policy: object) -> None:
    """Raises BadPolicy for what is no policy. Its type is named only: it may be anything, with keys and texts in it."""
    if policy is not None and not isinstance(policy, Policy):
        raise BadPolicy(f"policy: a {type(policy).__name__}; allowed: a Policy, or None")


class Aliases(Mapping[str, str]):
    """Host name -> id of a rule file; frozen and hashable."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = dict(pairs)

    def __getitem__(self, host: str) -> str:
        return self._pairs[host]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(frozenset(self._pairs.items()))

    def __repr__(self) -> str:
        return repr(self._pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the caller wants where the host's rule leaves a choice.

    Raises:
        BadPolicy: a value that is not allowed, with the allowed ones.
    """

    unknown_origin: Literal["drop", "trust"] | Origin = "drop"
    """Reasoning that nobody knows the origin of: left out, sent, or counted as written at that `Origin`."""
    missing: Literal["host", "leave", "disable_thinking", "raise"] = "host"
    """A host demands reasoning that is not at hand: the rule's fill, nothing, thinking off, an error."""
    window: Window | None = None
    """Which turns carry own reasoning, save where the host refuses it. None: as the rule says."""
    sealed: Literal["strict", "family"] = "strict"
    """`family`: sealed parts may also go to a file of the same `family` (Claude on another platform)."""
    same_host: Iterable[Iterable[str]] = ()
    """Sets of hosts that are one: `({"vllm-1:8000", "vllm-2:8000"},)`; kept as frozensets, normalised."""
    aliases: Mapping[str, str] = Aliases()
    """Host name -> id of the rule file to use there: `{"gw.corp.example": "deepseek"}`."""
    rules: tuple[Host, ...] = ()
    """Rule files of the caller's own (`load_hosts(path)`), asked before the built-in ones."""
    starts_turn: Callable[[Mapping[str, Any]], bool | None] | None = None
    """Says of a user message whether a turn starts there; None from it means: decide as usual."""

    def __post_init__(self) -> None:
        _choice("unknown_origin", self.unknown_origin, UNKNOWN_ORIGIN, kind=Origin)
        _choice("missing", self.missing, MISSING)
        _choice("window", self.window, WINDOWS, kind=type(None))
        _choice("sealed", self.sealed, SEALED)
        object.__setattr__(self, "same_host", _same_host(self.same_host))
        object.__setattr__(self, "aliases", _aliases(self.aliases))
        object.__setattr__(self, "rules", _rules(self.rules))
        if self.starts_turn is not None and not callable(self.starts_turn):
            raise BadPolicy(
                f"Policy(starts_turn={self.starts_turn!r}): not callable; "
                "give a function from a message to True, False or None"
            )


def nearest(word: object, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` with the nearest known word, or nothing."""
    found = difflib.get_close_matches(word, list(known), 1) if isinstance(word, str) else []
    return f"did you mean {found[0]!r}? " if found else ""


def _choice(name: str, value: object, allowed: tuple[str, ...], kind: type | None = None) -> None:
    if (isinstance(value, str) and value in allowed) or (kind is not None and isinstance(value, kind)):
        return
    besides = {None: "", Origin: " or an Origin", type(None): " or None"}[kind]
    words = ", ".join(map(repr, allowed))
    raise BadPolicy(f"Policy({name}={value!r}): not known; {nearest(value, allowed)}allowed: {words}{besides}")


def _same_host(groups: object) -> tuple[frozenset[str], ...]:
    example = 'same_host=({"vllm-1:8000", "vllm-2:8000"},)'
    if isinstance(groups, (str, Mapping)) or not isinstance(groups, Iterable):
        raise BadPolicy(f"Policy(same_host={groups!r}): must be a tuple of sets of hosts; for example {example}")
    found: list[frozenset[str]] = []
    for group in groups:
        if isinstance(group, (str, Mapping)) or not isinstance(group, Iterable):
            raise BadPolicy(f"Policy(same_host=...): {group!r} is not a set of hosts; for example {example}")
        names = frozenset(_host("same_host", name) for name in group)
        if twice := sorted(name for other in found for name in names & other):
            raise BadPolicy(
                f"Policy(same_host=...): {twice[0]!r} is in two sets; put all hosts that are one in one set"
            )
        found.append(names)
    return tuple(found)


def _aliases(aliases: object) -> Aliases:
    example = 'aliases={"gw.corp.example": "deepseek"}'
    if not isinstance(aliases, Mapping):
        raise BadPolicy(f"Policy(aliases={aliases!r}): must map host names to ids of rule files; for example {example}")
    for host, target in aliases.items():
        if not isinstance(target, str):
            raise BadPolicy(
                f"Policy(aliases={{{host!r}: {target!r}}}): not the id of a rule file; for example {example}"
            )
    return Aliases((_host("aliases", host), target) for host, target in aliases.items())


def _rules(rules: object) -> tuple[Host, ...]:
    advice = "give what load_hosts(path) returns"
    if isinstance(rules, (str, bytes)) or not isinstance(rules, Iterable):
        raise BadPolicy(f"Policy(rules={rules!r}): must be a tuple of Host; {advice}")
    found = tuple(rules)
    for host in found:
        if not isinstance(host, Host):
            raise BadPolicy(f"Policy(rules=...): {host!r} is not a Host; {advice}")
    return found


def _host(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadPolicy(f"Policy({name}=...): {value!r} is not a host; give 'name', 'name:port' or a URL")
    try:
        return host_of(value)
    except OriginError as error:
        raise BadPolicy(f"Policy({name}=...): {error}") from None
