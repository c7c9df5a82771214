"""What one host wants, as values: `Host`, `Rule` and their parts.

The words that a rule may use stand here as `Literal`s; `_parse` reads them from TOML, `_rules` chooses.
Must not know which hosts there are, what a message looks like, or what the caller prefers. All is frozen; the small
ones are named tuples, since a dataclass each costs a millisecond of every import (2026-11-30).
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, get_args

from ._origin import Dialect

Window = Literal["none", "current_turn", "last_assistant", "all", "all_if_tools", "all_once_tools_used"]
Requirement = Literal["required", "recommended", "optional", "ignored", "forbidden"]
Scope = Literal["all_assistant", "tool_calls", "current_turn", "first_call"]
Signature = Literal["any", "required", "forbidden"]
Thinking = Literal["on", "off", "unset"]
Bound = Literal["prefix", "account", "model", "upstream"]
Guard = Literal["lead_block", "forced_tools", "budget", "beside_thinking", "no_empty", "pair", "status", "cache_point"]
Carrier = Literal[
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_opaque",
    "reasoning_details",
    "thinking_blocks",
    "reasoning_items",
    "content.thinking",
    "content.think",
    "tool_calls.extra_content",
]
Means = Literal["missing", "refused", "sealed", "prefix", "pair", "lost", "parameters", "ending"]
Confidence = Literal["documented", "observed", "reported", "guess"]
WINDOWS: tuple[str, ...] = get_args(Window)


class RuleError(ValueError):
    """A rule file that cannot be used; the message says where, what, and what is allowed."""


class Missing(NamedTuple):
    """What is sent where the host demands reasoning and none of its own is at hand."""

    on: Scope
    """Which messages must carry it: DeepSeek looks at all of the assistant, Moonshot at tool calls."""
    fill: str | None = None
    """The text that the host takes instead. None: nothing can stand there, and `Policy.missing` decides."""


class When(NamedTuple):
    """The condition of a rule; all that is given must hold."""

    tools: bool | None = None
    """Whether the request carries tools. None: either."""
    thinking: tuple[Thinking, ...] | None = None
    """What the request says about thinking. None: anything."""
    path: str | None = None
    """A glob on the URL's path: Z.ai's coding plan has another default on the same host."""


ALWAYS = When()
"""The condition that holds for every request."""


class Switch(NamedTuple):
    """A parameter of the request that changes the window (Moonshot's `thinking.keep`)."""

    param: str
    """Dotted; `edits[x]` is the entry of type x. Looked up in the request and its extra_body."""
    values: tuple[tuple[str, Window], ...]
    """Value as JSON text (strings bare) and its window; `"*"` is any other; not listed: no change."""
    beside: tuple[tuple[str, str], ...] = ()
    """Parameters and values that must stand beside it where the caller gave none (`thinking.type` beside `keep`)."""

    def value(self, window: Window) -> str | None:
        """The value that asks for this window; None where none can be written into a request."""
        writable = (value for value, meant in self.values if meant == window and value != "*")
        return None if "[" in self.param else next(writable, None)

    def window(self, value: str, otherwise: Window) -> Window:
        """The window for this value of the parameter."""
        known = dict(self.values)
        return known.get(value, known.get("*", otherwise))


class Toggle(NamedTuple):
    """A parameter of the request that says whether the model thinks."""

    param: str
    """Dotted, as in `Switch`."""
    on: tuple[str, ...] = ()
    """Values that mean on; `"*"` is any value that `off` does not list."""
    off: tuple[str, ...] = ()
    """Values that mean off; the first one is what `disable_thinking` writes."""
    drop: tuple[str, ...] = ()
    """Parameters that must go when thinking is switched off here (Claude's budget)."""

    def says(self, value: str) -> Thinking:
        """What this value means; `unset` when neither list has it."""
        if value in self.off:
            return "off"
        return "on" if value in self.on or "*" in self.on else "off" if "*" in self.off else "unset"


class ErrorText(NamedTuple):
    """The host's own words for a refusal."""

    match: str
    """A regular expression, searched in the error text."""
    means: Means
    """`missing`, `refused`, `sealed`, `prefix`, `pair`, `lost`; `parameters`: thinking does not go with another
    parameter of the request; `ending`: a reply that holds nothing visible stands last."""
    status: int | None = None
    """The HTTP status it comes with. None: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one host takes back from a model under a condition."""

    host: str
    """The id of the file that holds the rule."""
    models: tuple[str, ...] = ("*",)
    """Globs, case-insensitive; one without `/` is also tried on what follows the last `/` (Fireworks)."""
    when: When = ALWAYS
    """The condition besides the model's name."""
    dialect: Dialect = "chat"
    """The dialect of the host that the rule is for."""
    window: Window = "current_turn"
    """Which turns carry own reasoning. `select` has settled the two that ask about tools."""
    switch: tuple[Switch, ...] = ()
    """Parameters that change the window; the first one present decides."""
    requirement: Requirement = "optional"
    """`forbidden`: a 4xx when present, so that no policy may send it (Groq's models that do not reason)."""
    missing: Missing | None = None
    """Where the host demands the field, and what may stand in for it."""
    read: tuple[Carrier, ...] = ()
    """Where a chat reply has its reasoning; the first one present wins."""
    write: tuple[Carrier | Literal["same"], ...] = ()
    """Where it goes back; all are written that can be. `same`: the key it came in (an unknown host)."""
    empty: Literal["keep", "omit"] = "keep"
    """What becomes of an empty string that the host itself sent; DeepSeek wants it back."""
    strict: bool = False
    """Unknown keys are refused (Groq, Mistral): every carrier that is not in `write` goes, own ones too."""
    signature: Signature = "any"
    """`required`: unsigned parts are dropped (Claude). `forbidden`: sealed fields are dropped (vLLM)."""
    refuses: frozenset[str] = frozenset()
    """Kinds of part that this host does not take: `redacted` (DeepSeek's Anthropic dialect)."""
    bound: frozenset[Bound] = frozenset()
    """What a sealed part is tied to besides the key holder; `prefix`: cuts are a front run (Claude 5.1)."""
    cannot_open: tuple[str, ...] = ()
    """Models whose sealed parts this one cannot open, as globs: they stay out (nothing before Claude 5.1 reads it)."""
    foreign_seals: tuple[str, ...] = ()
    """How seals begin that this host never made: of unknown origin they stay out, whatever the policy says."""
    guards: tuple[Guard, ...] = ()
    """Checks of the request that this host makes and the form mends."""
    upstream: str | None = None
    """The vendor behind a router whose model names do not say it. None: `upstream_of` reads the name."""
    family: str | None = None
    """Files of one family may share sealed parts under `Policy(sealed="family")`."""
    can_disable: bool = True
    """False: thinking cannot be switched off, so that repair is not offered (Kimi K3)."""
    source: tuple[str, ...]
    """Where the rule is from: URLs, packages with versions, or the word guess."""
    date: dt.date
    """When the source was true."""
    confidence: Confidence
    """`documented`, `observed`, `reported` or `guess`."""

    def takes(self, model: str | None) -> bool:
        """Whether the rule is for this model; a model that nobody named is covered by `*` alone."""
        if "*" in self.models or model is None:
            return "*" in self.models
        return _model_pattern(self.models).match(model) is not None

    def opens(self, model: str | None) -> bool:
        """Whether its model opens what that one sealed, as far as anybody knows."""
        return not self.cannot_open or model is None or _model_pattern(self.cannot_open).match(model) is None

    def hides(self, glob: str, when: When) -> bool:
        """Whether this rule takes all that the glob can match, under no other condition than `when`.

        A `*` of the glob is read as a character that only a `*` of the rule's own globs can match.
        """
        states = set(when.thinking or get_args(Thinking))
        weaker = (
            self.when.tools in (None, when.tools)
            and self.when.path in (None, when.path)
            and (self.when.thinking is None or states <= set(self.when.thinking))
        )
        return weaker and (glob.lower() in map(str.lower, self.models) or self.takes(glob))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Host:
    """One rule file. Equal only to itself, so that look-ups by host are cheap."""

    id: str
    """The name in reports and in `Policy(aliases=...)`."""
    hosts: tuple[str, ...] = ()
    """Names it answers to; a leading `*.` is one or more labels, another `*` stays inside one label."""
    hints: tuple[str, ...] = ()
    """LiteLLM providers, LangChain classes that mean it at a URL of the caller's own. Default: the id."""
    router: bool = False
    """The host fronts many vendors, so that the upstream is compared too (OpenRouter)."""
    holder: Literal["host", "file"] = "host"
    """Who can open sealed parts: that one name, or every name of the file (OpenAI's regions)."""
    thinking: tuple[Toggle, ...] = ()
    """How a request says on or off; the first parameter present decides."""
    errors: tuple[ErrorText, ...] = ()
    """The host's own words."""
    rules: tuple[Rule, ...] = ()
    """The first one that fits decides; the last of each dialect takes every model."""
    name: str = ""
    """The file it was read from."""

    def matches(self, host: str) -> bool:
        """Whether a normalised `name[:port]` is this host. A name never answers for another port."""
        return host in self.hosts or any("*" in one and _host_pattern(one).fullmatch(host) for one in self.hosts)


_PATTERN = re.compile(
    r"(?:(?:\*\.)?[a-z0-9*_-]+(?:\.[a-z0-9*_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?|custom:[A-Za-z_][\w.-]*"
)


def is_host_pattern(text: str) -> bool:
    """Whether `Host.hosts` may hold this: a normalised name, with `*.` before all or `*` in a label."""
    return _PATTERN.fullmatch(text) is not None


@cache
def _model_pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all globs. A glob without `/` may begin at the start or behind the last `/`."""
    both = [fnmatch.translate(glob.lower()) for glob in globs if "/" not in glob]
    whole = [fnmatch.translate(glob.lower()) for glob in globs if "/" in glob]
    if both:
        whole.append(rf"(?:[\s\S]*/(?=[^/]*\Z))?(?:{'|'.join(both)})")
    return re.compile("|".join(whole), re.IGNORECASE)


@cache
def _host_pattern(pattern: str) -> re.Pattern[str]:
    labels = pattern.removeprefix("*.")
    head = r"(?:[^.:\[\]]+\.)+" if labels != pattern else ""
    return re.compile(head + r"\.".join(map(_label_pattern, labels.split("."))))


def _label_pattern(label: str) -> str:
    name, colon, port = label.partition(":")
    inside = r"[^.:\[\]]+" if name == "*" else r"[^.:\[\]]*".join(map(re.escape, name.split("*")))
    return inside + re.escape(colon + port)
