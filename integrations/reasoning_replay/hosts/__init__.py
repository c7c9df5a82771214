"""The rule files: `builtin()` reads those of the library, `load_hosts` those of a caller.

Here alone are rule files opened, and only when somebody asks. What they hold is checked by `_parse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from reasoning_replay._rules import Host, RuleError, check

__all__ = ["builtin", "load_hosts"]


@cache
def builtin() -> tuple[Host, ...]:
    """The library's own rule files, read at the first call; the same tuple ever after."""
    found = {file.name: file.read_text("utf-8") for file in files(__name__).iterdir() if file.name.endswith(".toml")}
    return _read({f"hosts/{name}": text for name, text in found.items()}, {}, tested=True)


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
