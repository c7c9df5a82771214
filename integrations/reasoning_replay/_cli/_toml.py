"""A rule file as text: what `_parse` reads back as the same rules, so that it is ready for `load_hosts`.

Only what differs from a rule's defaults is written. It decides nothing and knows no host.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from .._host import ALWAYS, ErrorText, Host, Rule, Toggle

_LISTS = ("models", "read", "write", "refuses", "bound", "cannot_open", "foreign_seals", "guards", "source")
_CHAT_ALONE = ("read", "write")


def host_text(host: Host, *, comment: str = "") -> str:
    """The file of a host."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"id = {_value(host.id)}", f"hosts = {_value(host.hosts)}", f"hints = {_value(host.hints)}"]
    if host.router:
        lines.append("router = true")
    if host.holder != "host":
        lines.append(f"holder = {_value(host.holder)}")
    for toggle in host.thinking:
        lines += ["", "[[thinking]]", *_pairs(_toggle(toggle))]
    for rule in host.rules:
        lines += ["", "[[rules]]", *_pairs(rule_values(rule))]
    for error in host.errors:
        lines += ["", "[[errors]]", *_pairs(_error(error))]
    return "\n".join(lines) + "\n"


ORDER = ("dialect", "models", "when", "window", "switch", "requirement", "missing", "read", "write")
"""What is written first; the source and its date stand last."""


def rule_values(rule: Rule) -> dict[str, Any]:
    """The keys of a rule as its file has them, without the defaults."""
    found: dict[str, Any] = {"dialect": rule.dialect, "window": rule.window, "requirement": rule.requirement}
    for each in fields(rule):
        name, value = each.name, getattr(rule, each.name)
        if name in {*found, *_WRITTEN} or value == each.default or (name in _CHAT_ALONE and rule.dialect != "chat"):
            continue
        found[name] = (sorted(value) if isinstance(value, frozenset) else list(value)) if name in _LISTS else value
    if rule.dialect == "chat":
        found["write"] = list(rule.write)
    if rule.when != ALWAYS:
        found["when"] = _given(rule.when)
    if rule.missing is not None:
        found["missing"] = _given(rule.missing)
    if rule.switch:
        found["switch"] = [
            {"param": one.param, "values": dict(one.values), **({"beside": dict(one.beside)} if one.beside else {})}
            for one in rule.switch
        ]
    first = {name: found.pop(name) for name in ORDER if name in found}
    last = {name: found.pop(name) for name in ("source", "confidence")}
    return {**first, **found, **last, "date": rule.date}


_WRITTEN = ("host", "when", "missing", "switch", "date")
"""Fields that have no key, or one whose value is a table."""


def _given(value: Any) -> dict[str, Any]:
    return {key: each for key, each in value._asdict().items() if each is not None}


def _toggle(toggle: Toggle) -> dict[str, Any]:
    return {key: value for key, value in toggle._asdict().items() if value != ()}


def _error(error: ErrorText) -> dict[str, Any]:
    return _given(error)


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
