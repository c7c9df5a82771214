"""A rule file in TOML, read and checked.

Every complaint names file, line, key, value and what is allowed: rules are data, checked when they are read.
The tables `_FILE`, `_RULE`, `_TOGGLE`, `_ERROR`, `_WHEN`, `_MISSING` say what a key may hold; what no table can
say (two keys that contradict, a rule that nothing reaches) stands in `_agree`, `_complete` and `_reachable`.
Pure: it takes text and opens nothing. Which rule decides is not its business.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from . import _host as words
from ._host import ErrorText, Host, Missing, Rule, RuleError, Switch, Toggle, When, is_host_pattern
from ._origin import DIALECTS, Dialect
from ._policy import nearest

_PARAM = re.compile(r"\w+(?:\[\w+\])?(?:\.\w+(?:\[\w+\])?)*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands, for messages. `tomllib` gives no line for what parses, so `line` scans for it."""

    file: str
    text: str
    table: str = ""
    number: int = 0
    key: str = ""
    """The key that holds the inline table which is being read."""

    @property
    def within(self) -> str:
        """` of 'when' in rule 2`, as far as it applies."""
        inline = f" of {self.key!r}" if self.key else ""
        return f"{inline} in {_SINGULAR[self.table]} {self.number}" if self.number else inline

    def line(self, key: str) -> int:
        """The line of the key; else of its table's head; else of the list that holds it; else 1."""
        table, counts, head, inline = "", {"": 0}, 0, 0
        for number, line in enumerate(self.text.splitlines(), 1):
            if found := re.match(r"\s*\[\[\s*(\w+)\s*\]\]", line):
                table = found[1]
                counts[table] = counts.get(table, 0) + 1
            here = table == self.table and counts[table] == self.number
            if here and re.match(rf"\s*[\"']?{re.escape(key)}\b", line):
                return number
            if here and found:
                head = number
            if not table and self.table and re.match(rf"\s*{self.table}\b", line):
                inline = number
        return head or inline or 1

    def error(self, key: str, message: str) -> RuleError:
        return RuleError(f"{self.file}:{self.line(self.key or key)}: {message}")


_SINGULAR = {"rules": "rule", "errors": "error", "thinking": "toggle"}
_Reader = Callable[[_Place, str, Any], Any]
Others = Callable[[str], Host | None]


def _typed(kind: type, what: str) -> _Reader:
    def read(place: _Place, key: str, value: Any) -> Any:
        if type(value) is not kind:
            raise place.error(key, f"{key!r}{place.within} is {value!r}; it must be {what}")
        return value

    return read


_string = _typed(str, "a string")
_boolean = _typed(bool, "true or false")
_integer = _typed(int, "a number")
_date = _typed(dt.date, "a TOML date such as 2026-11-30, without quotes")


def _strings(place: _Place, key: str, value: Any) -> tuple[str, ...]:
    if type(value) is not list or not all(type(one) is str for one in value):
        raise place.error(key, f"{key!r}{place.within} is {value!r}; it must be a list of strings")
    return tuple(value)


def _models(place: _Place, key: str, value: Any) -> tuple[str, ...]:
    if not (found := _strings(place, key, value)):
        raise place.error(key, f"{key!r}{place.within} is empty; leave the key out to mean every model")
    return found


def _source(place: _Place, key: str, value: Any) -> tuple[str, ...]:
    found = _strings(place, key, [value] if type(value) is str else value)
    if not found or not all(one.strip() for one in found):
        raise place.error(key, f"{key!r}{place.within} is empty; give a URL, a package with its version, or 'guess'")
    return found


def _one(literal: object, also: tuple[str, ...] = ()) -> _Reader:
    known = get_args(literal) + also

    def read(place: _Place, key: str, value: Any) -> Any:
        if value not in known or type(value) is not str:
            hint = f"{nearest(value, known)}known: {', '.join(known)}"
            raise place.error(key, f"unknown {key} {value!r}{place.within}; {hint}")
        return value

    return read


def _many(literal: object, also: tuple[str, ...] = ()) -> _Reader:
    one = _one(literal, also)

    def read(place: _Place, key: str, value: Any) -> tuple[Any, ...]:
        return tuple(one(place, key, each) for each in _strings(place, key, value))

    return read


def _set(literal: object) -> _Reader:
    many = _many(literal)
    return lambda place, key, value: frozenset(many(place, key, value))


def _names(place: _Place, key: str, value: Any) -> tuple[str, ...]:
    found = _strings(place, key, value)
    for name in found:
        if not is_host_pattern(name):
            raise place.error(
                key,
                f"{name!r} in {key!r} is no host; write a lower-case name[:port], with * in a label or *. before all",
            )
    if twice := [name for name in found if found.count(name) > 1]:
        raise place.error(key, f"{twice[0]!r} stands twice in {key!r}; once is enough")
    return found


def _param(place: _Place, key: str, value: Any) -> str:
    if not _PARAM.match(_string(place, key, value)):
        raise place.error(key, f"{key} {value!r}{place.within} is no parameter; write a.b, or a.edits[type].c")
    return str(value)


def _table(place: _Place, value: Any, readers: Mapping[str, _Reader], needed: Iterable[str] = ()) -> dict[str, Any]:
    """A table of the file as keyword arguments, each value read by the reader of its key."""
    for key in value:
        if key not in readers:
            hint = f"{nearest(key, readers)}known keys: {', '.join(readers)}"
            raise place.error(key, f"unknown key {key!r}{place.within}; {hint}")
    for key in needed:
        if key not in value:
            whole = f"{_SINGULAR[place.table]} {place.number}" if place.number else "the file"
            inline = f"{place.key!r} in {whole}" if place.key else whole
            raise place.error(key, f"{inline} has no {key!r}; it is needed")
    return {key: readers[key](place, key, given) for key, given in value.items()}


def _inner(readers: Mapping[str, _Reader], needed: Iterable[str], make: Callable[..., Any]) -> _Reader:
    """A reader for an inline table; messages point at the key that holds it."""

    def read(place: _Place, key: str, value: Any) -> Any:
        if type(value) is not dict:
            raise place.error(key, f"{key!r}{place.within} is {value!r}; it must be a table of {', '.join(readers)}")
        return make(**_table(replace(place, key=key), value, readers, needed))

    return read


def _list_of(one: _Reader) -> _Reader:
    def read(place: _Place, key: str, value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise place.error(key, f"{key!r}{place.within} is {value!r}; it must be a list of tables")
        return tuple(one(place, key, each) for each in value)

    return read


def _tables(place: _Place, key: str, value: Any) -> list[dict[str, Any]]:
    if type(value) is not list or not value or not all(type(one) is dict for one in value):
        raise place.error(key, f"{key!r} is {value!r}; it must be a list of tables, with one in it at least")
    return value


def _id(place: _Place, key: str, value: Any) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", _string(place, key, value)):
        raise place.error(key, f"id {value!r} is no id; write lower-case letters, digits, - and _")
    return str(value)


def _values(place: _Place, key: str, value: Any) -> tuple[tuple[str, words.Window], ...]:
    if type(value) is not dict or not value:
        raise place.error(key, f"{key!r}{place.within} is {value!r}; it must map values to windows")
    return tuple((given, _one(words.Window)(place, "window", window)) for given, window in value.items())


def _beside(place: _Place, key: str, value: Any) -> tuple[tuple[str, str], ...]:
    if type(value) is not dict:
        raise place.error(key, f"{key!r}{place.within} is {value!r}; it must map parameters to values")
    return tuple((_param(place, key, param), _string(place, key, given)) for param, given in value.items())


_TOGGLE: dict[str, _Reader] = {"param": _param, "on": _strings, "off": _strings, "drop": _strings}
_ERROR: dict[str, _Reader] = {"match": _string, "means": _one(words.Means), "status": _integer}
_WHEN: dict[str, _Reader] = {"tools": _boolean, "thinking": _many(words.Thinking), "path": _string}
_MISSING: dict[str, _Reader] = {"on": _one(words.Scope), "fill": _string}
_SWITCH: dict[str, _Reader] = {"param": _param, "values": _values, "beside": _beside}
_DEFAULTS: dict[str, _Reader] = {
    "dialect": _one(Dialect),
    "window": _one(words.Window),
    "switch": _list_of(_inner(_SWITCH, ("param", "values"), Switch)),
    "requirement": _one(words.Requirement),
    "read": _many(words.Carrier),
    "write": _many(words.Carrier, ("same",)),
    "empty": _one(Literal["keep", "omit"]),
    "strict": _boolean,
    "signature": _one(words.Signature),
    "refuses": _set(Literal["redacted"]),
    "bound": _set(words.Bound),
    "cannot_open": _strings,
    "foreign_seals": _strings,
    "guards": _many(words.Guard),
    "upstream": _string,
    "family": _string,
    "can_disable": _boolean,
    "source": _source,
    "date": _date,
    "confidence": _one(words.Confidence),
}
_RULE: dict[str, _Reader] = {
    "models": _models,
    "when": _inner(_WHEN, (), When),
    "missing": _inner(_MISSING, ("on",), Missing),
    "use": _string,
    **_DEFAULTS,
}
_FILE: dict[str, _Reader] = {
    "id": _id,
    "hosts": _names,
    "hints": _strings,
    "router": _boolean,
    "holder": _one(Literal["host", "file"]),
    "thinking": _tables,
    "errors": _tables,
    "rules": _tables,
    **_DEFAULTS,
}


def parse(text: str, name: str, *, others: Others | None = None, tested: bool = False) -> Host:
    """The host that a rule file describes; `name` stands in messages.

    `others` gives the file with an id, for rules that use another file's; without it there is none.
    `tested` leaves out the two checks that take half of the time (expressions that compile, rules that can be
    reached): for the library's own files, which a test puts through all of them.

    Raises:
        RuleError: the first thing that is wrong, with file and line.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"{name}: not valid TOML: {error}") from None
    top = _Place(name, text)
    found = _table(top, raw, _FILE, ("id", "rules"))
    defaults = {key: found.pop(key) for key in _DEFAULTS if key in found}
    for table, readers, needed, make in (
        ("thinking", _TOGGLE, ("param",), Toggle),
        ("errors", _ERROR, ("match", "means"), ErrorText),
    ):
        found[table] = tuple(
            make(**_table(_Place(name, text, table, number), one, readers, needed))
            for number, one in enumerate(found.get(table, ()), 1)
        )
    made = [
        (number, rule)
        for number, one in enumerate(found["rules"], 1)
        for rule in _rules(_Place(name, text, "rules", number), one, found["id"], defaults, others)
    ]
    found["rules"] = tuple(rule for _, rule in made)
    for dialect in DIALECTS:
        numbered = [(number, rule) for number, rule in made if rule.dialect == dialect]
        if numbered:
            _complete(_Place(name, text, "rules", numbered[-1][0]), numbered[-1][1])
        if not tested:
            _reachable(name, text, numbered)
    if not tested:
        _compile(name, text, found["errors"])
    return Host(name=name, **{"hints": (found["id"],), **found})


def _rules(
    place: _Place, raw: dict[str, Any], host: str, defaults: dict[str, Any], others: Others | None
) -> tuple[Rule, ...]:
    own = _table(place, raw, _RULE)
    if "use" in own:
        return _used(place, {"dialect": defaults.get("dialect", "chat"), **own, "host": host}, others)
    return (_rule(place, own, host, {"dialect": "chat", **defaults, **own}),)


def _used(place: _Place, own: dict[str, Any], others: Others | None) -> tuple[Rule, ...]:
    """The rules of another file's first dialect, as this file's: what is given here stands above theirs.

    Those that take every model take the models of this rule; `bound` and `guards` are united.
    """
    wanted, models = own.pop("use"), own.pop("models", ("*",))
    if (file := others(wanted) if others is not None else None) is None:
        why = "there is no such file" if others is not None else "a file that others use must write its rules out"
        raise place.error("use", f"'use'{place.within} is {wanted!r}; {why}")
    bound, guards = own.pop("bound", frozenset()), own.pop("guards", ())
    return tuple(
        replace(
            rule,
            models=models if rule.models == ("*",) else rule.models,
            bound=rule.bound | bound,
            guards=tuple(dict.fromkeys((*rule.guards, *guards))),
            **own,
        )
        for rule in file.rules
        if rule.dialect == file.rules[0].dialect
    )


def _rule(place: _Place, own: dict[str, Any], host: str, found: dict[str, Any]) -> Rule:
    if found["dialect"] != "chat":
        for key in ("read", "write"):
            if key in own:
                raise place.error(
                    key,
                    f"{key!r}{place.within} is for the dialect 'chat' alone; {found['dialect']!r} has one place for it",
                )
            found.pop(key, None)
    if "write" not in found:
        found["write"] = found.get("read", ())[:1]
    if "requirement" not in found:
        found["requirement"] = "required" if "missing" in found else "optional"
    for key in ("window", "source", "date", "confidence"):
        if key not in found:
            raise place.error(
                key, f"rule {place.number} has no {key!r}; write it in the rule or at the top of the file"
            )
    _agree(place, found)
    return Rule(host=host, **found)


def _agree(place: _Place, found: Mapping[str, Any]) -> None:
    """Keys of one rule that contradict each other."""
    requirement, window = found["requirement"], found["window"]
    if requirement == "forbidden" and window != "none":
        raise place.error(
            "window",
            f"rule {place.number} forbids reasoning but has the window {window!r}; it must be 'none'",
        )
    if requirement == "forbidden" and "missing" in found:
        raise place.error(
            "missing", f"rule {place.number} forbids reasoning but has 'missing'; take one of the two away"
        )
    if requirement == "required" and "missing" not in found:
        raise place.error(
            "requirement",
            f'rule {place.number} requires reasoning but has no \'missing\'; add missing = {{ on = "…", fill = "…" }}',
        )


def _compile(name: str, text: str, errors: tuple[ErrorText, ...]) -> None:
    for number, one in enumerate(errors, 1):
        try:
            re.compile(one.match)
        except re.error as error:
            place = _Place(name, text, "errors", number)
            raise place.error("match", f"match {one.match!r}{place.within} does not compile: {error}") from None


def _complete(place: _Place, last: Rule) -> None:
    """The last rule of a dialect takes every model, whatever the request says."""
    if last.models != ("*",) or last.when != When():
        raise place.error(
            "models" if last.models != ("*",) else "when",
            f"rule {place.number} is the last one for the dialect {last.dialect!r} but has 'models' or 'when'; "
            "the last one must take every model, by the strictest reading",
        )


def _reachable(name: str, text: str, numbered: list[tuple[int, Rule]]) -> None:
    """Each rule has a model name that no earlier one takes."""
    for position, (number, rule) in enumerate(numbered):
        before = [earlier for _, earlier in numbered[:position]]
        if all(any(one.hides(glob, rule.when) for one in before) for glob in rule.models):
            raise _Place(name, text, "rules", number).error(
                "models",
                f"rule {number} is never reached: earlier rules take all its models; move it up or take it away",
            )
