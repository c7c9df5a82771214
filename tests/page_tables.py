"""The tables of the pages, made from what the library knows: hosts, rules, reasons, the keys of a rule file, classes.

Each is a function of the table as it stands: what people write into it (the meaning of a key) is kept, the rest is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pages import HOSTS, HOUSE, README, text_of
from reasoning_replay import _parse
from reasoning_replay._decision import REASONS
from reasoning_replay._host import ErrorText, Host, Missing, Rule, RuleError, Switch, Toggle, When
from reasoning_replay.hosts import builtin

WINDOWS = {
    "none": "none",
    "current_turn": "the running turn",
    "last_assistant": "the last reply that has it",
    "all": "every turn",
    "all_if_tools": "every turn if the request has tools, else the running turn",
    "all_once_tools_used": "every turn once a tool was used, else the running turn",
}
FORMS = {
    "anthropic": "Anthropic",
    "responses": "Responses",
    "gemini": "Gemini",
    "bedrock": "Converse",
    "ollama": "Ollama",
}
SCOPES = {
    "all_assistant": "every reply",
    "tool_calls": "replies with tool calls",
    "current_turn": "replies of the running turn",
    "first_call": "the first call of each step",
}


SHORT = {
    "all": "every turn",
    "all_if_tools": "every turn with tools",
    "all_once_tools_used": "every turn once a tool was used",
    "last_assistant": "the last reply that has it",
    "current_turn": "the running turn",
    "none": "nothing (ignored)",
    "refused": "nothing (refused)",
}
"""Windows in the order in which a row tells them."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def reasons(_: str) -> str:
    return table(["code", "meaning"], [(f"`{code}`", text) for code, text in REASONS.items()])


# One row a host: README ----------------------------------------------------------------------------------------------


def in_order() -> list[Host]:
    return sorted(builtin(), key=lambda host: (host.id == "unknown", host.id))


def hosts(_: str) -> str:
    rows = [(f"`{host.id}`", where(host), goes_back(host), required(host)) for host in in_order()]
    return table(["id", "where", "what goes back", "an error without it"], rows)


def where(host: Host) -> str:
    if not host.hosts:
        return "any other host" if host.id == "unknown" else "a server of your own"
    return f"`{host.hosts[0]}`" + (f", {len(host.hosts) - 1} more" if len(host.hosts) > 1 else "")


def goes_back(host: Host) -> str:
    """The windows of the host's rules, each once; what holds with thinking off alone is left out."""
    said = {"refused" if rule.requirement == "forbidden" else rule.window for rule in host.rules if thinks(rule)}
    each = [SHORT[window] for window in SHORT if window in said]
    return each[0] if len(each) == 1 else f"by model: {', '.join(each)}"


def required(host: Host) -> str:
    """Of the API that the file describes first: which replies must have it, of which models."""
    first = [rule for rule in host.rules if rule.dialect == host.rules[0].dialect and thinks(rule)]
    found: dict[str, list[str]] = {}
    for rule in first:
        if rule.missing is not None and rule.requirement == "required":
            found.setdefault(SCOPES[rule.missing.on], []).extend(rule.models)
    every = "all models" if len(first) == 1 else "most models"
    return "; ".join(f"{scope} ({every if '*' in globs else few(globs)})" for scope, globs in found.items())


def few(globs: Sequence[str]) -> str:
    each = list(dict.fromkeys(globs))
    return f"`{each[0]}`" + (f", {len(each) - 1} more" if len(each) > 1 else "")


def thinks(rule: Rule) -> bool:
    return rule.when.thinking is None or "on" in rule.when.thinking


# Every rule: the page of the hosts ---------------------------------------------------------------------------------


def rules(_: str) -> str:
    head = [
        "form",
        "models",
        "when",
        "turns that go back",
        "written as",
        "an error without it; what fills the gap",
        "known since",
    ]
    of_claude = {law(rule) for host in builtin() if host.id == "anthropic" for rule in host.rules}
    shown = []
    for host in in_order():
        rows, borrowed = [], set()
        for rule in host.rules:
            if host.id == "anthropic" or law(rule) not in of_claude:
                rows.append((form(rule), models(rule), when(rule), turns(rule), carrier(rule), fill(rule), known(rule)))
            elif rule.dialect not in borrowed:
                borrowed.add(rule.dialect)
                rows.append((form(rule), "Claude's", "", "as [anthropic](#anthropic)", "", "", ""))
        shown.append(f"### {host.id}\n\n{names(host)}\n\n{table(head, rows)}")
    return "\n\n".join(shown) + "\n"


def law(rule: Rule) -> tuple[object, ...]:
    """What a rule says, whoever's it is: several hosts serve Claude by Anthropic's own rules."""
    taken = ("*claude*",) if rule.models == ("*",) else rule.models
    return taken, rule.when, rule.window, rule.source, rule.date


def names(host: Host) -> str:
    """The names of the host, and the hints that mean it at a URL of one's own; source of the file's first rule."""
    said = [f"Hosts: {', '.join(f'`{name}`' for name in host.hosts)}."] if host.hosts else []
    said += [f"Hints: {', '.join(f'`{hint}`' for hint in host.hints)}."] if host.hints else []
    return "\n".join([*said, f"File: [`{host.id}.toml`]({host.id}.toml)."])


def form(rule: Rule) -> str:
    return FORMS.get(rule.dialect, rule.dialect)


def models(rule: Rule) -> str:
    return "all" if rule.models == ("*",) else ", ".join(f"`{glob}`" for glob in rule.models)


def when(rule: Rule) -> str:
    said = []
    if rule.when.tools is not None:
        said.append("tools" if rule.when.tools else "no tools")
    if rule.when.thinking is not None:
        said.append(f"thinking {' or '.join(rule.when.thinking)}")
    if rule.when.path is not None:
        said.append(f"path `{rule.when.path}`")
    return ", ".join(said)


def turns(rule: Rule) -> str:
    if rule.window == "none":
        return "none, and refused" if rule.requirement == "forbidden" else "none"
    switched = ", ".join(f"`{switch.param}` changes it" for switch in rule.switch)
    return WINDOWS[rule.window] + (f"; {switched}" if switched else "")


def carrier(rule: Rule) -> str:
    if rule.window == "none":
        return ""
    return ", ".join("the key it came in" if key == "same" else f"`{key}`" for key in rule.write)


def fill(rule: Rule) -> str:
    if rule.missing is None:
        return ""
    what = "the policy decides" if rule.missing.fill is None else f"`{rule.missing.fill!r}`"
    return f"{SCOPES[rule.missing.on]}: {what}"


def known(rule: Rule) -> str:
    return f"{rule.date.isoformat()}, {rule.confidence}"


# The keys of a rule file: what the loader takes, asked of the loader itself -------------------------------------------

KEYS: dict[str, tuple[dict[str, Callable[..., Any]], type]] = {
    "file": ({key: read for key, read in _parse._FILE.items() if key not in _parse._DEFAULTS}, Host),
    "rule": (_parse._RULE, Rule),
    "when": (_parse._WHEN, When),
    "missing": (_parse._MISSING, Missing),
    "switch": (_parse._SWITCH, Switch),
    "thinking": (_parse._TOGGLE, Toggle),
    "errors": (_parse._ERROR, ErrorText),
}
"""Table of the page -> the loader's readers, and the class that holds the defaults."""

SAID = {  # what a default of Python's means to the reader of a TOML file
    ("file", "id"): "needed", ("file", "rules"): "needed", ("file", "hints"): "the id",
    ("rule", "window"): "needed", ("rule", "source"): "needed", ("rule", "date"): "needed", ("rule", "confidence"): "needed",
    ("rule", "requirement"): "`required` with `missing`, else `optional`", ("rule", "write"): "the first of `read`",
    ("rule", "use"): "no file", ("rule", "when"): "always", ("rule", "upstream"): "read from the model's name",
    ("when", "tools"): "either", ("when", "thinking"): "anything", ("when", "path"): "any", ("switch", "beside"): "none",
    ("errors", "status"): "any",
}  # fmt: skip
"""Defaults that the loader makes, by table and key; a test parses files without them."""


def keys(name: str) -> Callable[[str], str]:
    readers, kind = KEYS[name]

    def make(standing: str) -> str:
        meaning = meanings(standing)
        rows = [
            (f"`{key}`", allowed(read), default(name, kind, key), meaning.get(key, "")) for key, read in readers.items()
        ]
        return table(["key", "allowed", "default", "meaning"], rows)

    return make


def meanings(standing: str) -> dict[str, str]:
    """The last cell of each row as somebody wrote it, by the word in the first one."""
    return dict(re.findall(r"^\| `([^`]+)` \|(?:.*\|)? ([^|]*?) \|$", standing, re.MULTILINE))


def allowed(read: Callable[..., Any]) -> str:
    """What a reader takes, in the words of its own complaint."""
    words = words_of(read)
    if words:
        return ("a list of " if is_list(read) else "") + ", ".join(f"`{word}`" for word in words)
    said = re.search(r"it must (?:be|map) (.*)", complaint(read, object()))
    assert said
    what = said[1].replace(", with one in it at least", "").replace(", without quotes", "")
    return re.sub(r"^values to", "a table of values and", re.sub(r"^parameters to", "a table of parameters and", what))


def words_of(read: Callable[..., Any]) -> list[str]:
    """The words that a reader takes, if it takes words."""
    said = re.search(r"; (?:did you mean [^?]*\? )?known: (.*)", complaint(read, ["?"] if is_list(read) else "?"))
    return said[1].split(", ") if said else []


def is_list(read: Callable[..., Any]) -> bool:
    return "a list of strings" in complaint(read, object())


def complaint(read: Callable[..., Any], value: object) -> str:
    try:
        read(_parse._Place("x.toml", ""), "key", value)
    except (RuleError, TypeError) as error:
        return str(error)
    return ""


def default(table_: str, kind: Any, key: str) -> str:
    if (table_, key) in SAID:
        return SAID[table_, key]
    fields = getattr(kind, "_field_defaults", None)
    value = fields.get(key, ...) if fields is not None else kind.__dataclass_fields__[key].default
    if value is ... or type(value).__name__ == "_MISSING_TYPE":
        return "needed"
    if value is None or value in (frozenset(), ()):
        return "none" if value is None else "`[]`"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return f'`["{value[0]}"]`' if isinstance(value, tuple) else f"`{value}`"


# The words that stand for values: one table a key ---------------------------------------------------------------------

WORDS = {
    "window": "window", "requirement": "requirement", "carriers": "read", "signature": "signature", "bound": "bound",
    "guards": "guards", "confidence": "confidence", "dialect": "dialect", "empty": "empty", "refuses": "refuses",
}  # fmt: skip
"""Table of the page -> the key of a rule whose words it explains."""
MORE_WORDS = {
    "scope": _parse._MISSING["on"], "means": _parse._ERROR["means"], "holder": _parse._FILE["holder"],
    "states": _parse._WHEN["thinking"],
}  # fmt: skip


def words(name: str) -> Callable[[str], str]:
    read = MORE_WORDS[name] if name in MORE_WORDS else _parse._RULE[WORDS[name]]

    def make(standing: str) -> str:
        meaning = meanings(standing)
        return table(["word", "meaning"], [(f"`{word}`", meaning.get(word, "")) for word in words_of(read)])

    return make


def classes(_: str) -> str:
    from class_table import HEAD, rows

    return table(HEAD, [(f"`{cls}`", *cells) for cls, *cells in rows()])


TABLES: dict[tuple[str, str], Callable[[str], str]] = {
    (README, "reasons"): reasons,
    (README, "hosts"): hosts,
    (HOSTS, "rules"): rules,
    **{(HOSTS, f"keys: {name}"): keys(name) for name in KEYS},
    **{(HOSTS, f"words: {name}"): words(name) for name in [*WORDS, *MORE_WORDS]},
    (f"{HOUSE}/langchain/README.md", "classes"): classes,
}
"""Page and name of a table -> what it should be, given what stands there."""


def standing(text: str, name: str) -> re.Match[str]:
    found = re.search(rf"<!-- {name} -->\n(?P<table>.*?)\n?<!-- /{name} -->", text, re.DOTALL)
    assert found, f"no table {name}"
    return found


def with_tables(page: str, text: str) -> str:
    for (of, name), make in TABLES.items():
        if of == page:
            found = standing(text, name)
            end = found.end("table")
            line = "" if text.startswith("\n", end) else "\n"
            text = text[: found.start("table")] + make(found["table"]) + line + text[end:]
    return text


def is_written(page: str, name: str) -> tuple[str, str]:
    """What stands there, and what should."""
    found = standing(text_of(page), name)
    return found["table"], TABLES[page, name](found["table"])
