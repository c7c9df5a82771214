"""The rule files: `builtin()` reads those of the library, `load_hosts` those of a caller.

Here alone are rule files opened, and only when somebody asks. What they hold is checked by `_parse`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from reasoning_replay._rules import Host, RuleError, check, parse

__all__ = ["builtin", "load_hosts"]


@cache
def builtin() -> tuple[Host, ...]:
    """The library's own rule files, read at the first call; the same tuple ever after."""
    found = {file.name: file for file in files(__name__).iterdir() if file.name.endswith(".toml")}
    hosts = tuple(parse(found[name].read_text("utf-8"), f"hosts/{name}", tested=True) for name in sorted(found))
    check(hosts)
    return hosts


def load_hosts(path: str | Path) -> tuple[Host, ...]:
    """The rule files at a path: one file, or every `*.toml` of a folder, in the order of their names.

    For `Policy(rules=load_hosts("rules/"))`: they are asked before the built-in ones.

    Raises:
        RuleError: nothing there, or a file that cannot be used, with file and line.
    """
    path = Path(path)
    found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not found:
        raise RuleError(f"{path}: no rule file; a folder must hold at least one *.toml")
    try:
        hosts = tuple(parse(file.read_text("utf-8"), str(file)) for file in found)
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(
            f"{path}: cannot be read ({type(error).__name__}); give a TOML file or a folder of them"
        ) from None
    check(hosts)
    return hosts
