"""The rule files: `builtin()` reads those of the library, `load_hosts` those of a caller.

Here alone are rule files opened, and only when somebody asks. What they hold is checked by `_parse`. `all_hosts()` adds
those of which no more is known than a list of models (`catalogue/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from reasoning_replay._rules import UNKNOWN, Host, RuleError, check

__all__ = ["all_hosts", "builtin", "load_hosts"]


@cache
def builtin() -> tuple[Host, ...]:
    """The library's own rule files, read at the first call; the same tuple ever after."""
    found = {file.name: file.read_text("utf-8") for file in files(__name__).iterdir() if file.name.endswith(".toml")}
    return _read({f"hosts/{name}": text for name, text in found.items()}, {}, tested=True)


@cache
def all_hosts() -> tuple[Host, ...]:
    """`builtin()`, and after them the hosts that stand in models.dev's list alone; the same tuple ever after."""
    import tomllib  # for the list alone; `_parse` has it for the files

    known = builtin()
    unknown = next(host for host in known if host.id == UNKNOWN)
    name = "hosts/catalogue/models-dev.toml"
    listed = tomllib.loads((files(__name__) / "catalogue" / "models-dev.toml").read_text("utf-8"))
    date = listed.pop("date")
    return (*known, *(_listed(id_, entry, unknown, name, date) for id_, entry in listed.items()))


def _listed(id_: str, entry: dict[str, Any], unknown: Host, name: str, date: Any) -> Host:
    """A host of the list: its models' reasoning goes back under the key that stands there, anything else as unknown.

    All of them sell models of many vendors, so the strictest reading is that of a router.
    """
    plain = next(rule for rule in unknown.rules if rule.dialect == "chat")
    facts: Any = {"host": id_, "source": (f"models.dev {id_}",), "date": date, "confidence": "reported"}
    rules = tuple(
        replace(plain, models=tuple(entry[key]), write=(key,), empty="keep", **facts)
        for key in plain.read
        if key in entry
    )
    return Host(
        id=id_,
        hosts=tuple(entry["hosts"]),
        hints=tuple(entry.get("hints", ())),
        router=True,
        thinking=unknown.thinking,
        rules=(*rules, replace(plain, host=id_)),
        name=name,
    )


def load_hosts(path: str | Path) -> tuple[Host, ...]:
    """The rule files at a path: one file, or every `*.toml` of a folder, in the order of their names.

    For `Policy(rules=load_hosts("rules/"))`: they are asked before the built-in ones, and may `use` them.

    Raises:
        RuleError: nothing there, or a file that cannot be used, with file and line.
    """
    path = Path(path)
    found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not found:
        raise RuleError(f"{path}: no rule file; a folder must hold at least one *.toml")
    try:
        texts = {str(file): file.read_text("utf-8") for file in found}
    except (OSError, UnicodeDecodeError) as error:
        reason = type(error).__name__
        raise RuleError(f"{path}: cannot be read ({reason}); give a TOML file or a folder of them") from None
    return _read(texts, {host.id: host for host in builtin()}, tested=False)


def _read(texts: Mapping[str, str], known: Mapping[str, Host], *, tested: bool) -> tuple[Host, ...]:
    """The files in the order of their names. A file that another one uses is found by its name, else among `known`."""
    from reasoning_replay._parse import parse  # with tomllib, only when there is something to read

    names = {Path(name).stem: name for name in texts}

    @cache
    def other(wanted: str) -> Host | None:
        name = names.get(wanted)
        return known.get(wanted) if name is None else parse(texts[name], name, tested=True)

    hosts = tuple(parse(texts[name], name, others=other, tested=tested) for name in sorted(texts))
    check(hosts)
    return hosts
