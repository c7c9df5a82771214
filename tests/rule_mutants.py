"""Every entry of the rule table is held by a test: what becomes red when one goes.

python tests/rule_mutants.py [FILE ...]: in every hosts/*.toml (or those named) each `[[rules]]` entry in turn is deleted, gets
another window, and loses its `missing`. Part of .ci/full; a minute or two.

Nothing is started anew: the files are read from memory with one change, and the tests that need no fixture are called as
they are, those that were red before for the same file first. A change counts as
    refused    the file no longer loads
    behaviour  a test of BEHAVIOUR fails: it says what a host wants, in its own words
    snapshot   those stay green and the resolved table of tests/rules.matrix.txt alone differs: whoever writes that file
               anew has been told nothing; the run ends with 1
    SURVIVED   nobody notices; the run ends with 1
"""

from __future__ import annotations

import logging
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.resources import files
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from reasoning_replay import hosts
from reasoning_replay._rules import RuleError

HERE = Path(__file__).parent
BEHAVIOUR = (
    "hosts", "hosts_told", "sealed", "fallback", "guards", "turns", "inline", "replay",
)  # fmt: skip
"""tests/test_….py whose tests say what a host wants."""
NOT_THEM = ("matrix", "microseconds", "milliseconds", "at_load", "read_once", "error_text")
"""Words in the names of tests that compare with the files themselves, or with a clock."""
FEW = 1000
"""A guess, half of what there is: fewer tests mean that they were not found."""
UNTOLD = ("snapshot", "SURVIVED")
"""The verdicts that end the run with 1."""
WINDOWS = ("all", "current_turn", "none", "last_assistant")


class Mutant(NamedTuple):
    """One change of one entry."""

    file: str
    entry: int
    kind: str
    head: str
    """What the entry says of itself."""
    text: str
    """The whole file, changed."""


class Check(NamedTuple):
    """One test, with the arguments of one of its rows."""

    name: str
    call: Callable[[], Any]


class _Found:
    """Takes the collected tests."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.matrix: Callable[[], str] | None = None
        """The resolved table of test_hosts."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if not isinstance(item, pytest.Function) or any(word in item.name for word in NOT_THEM):
                continue
            self.matrix = getattr(item.module, "matrix", self.matrix)
            given = item.callspec.params if hasattr(item, "callspec") else {}
            needed = set(item._fixtureinfo.argnames)
            if needed <= set(given):
                arguments = {name: given[name] for name in needed}
                self.checks.append(Check(item.name, lambda test=item.obj, row=arguments: test(**row)))


class _File(NamedTuple):
    name: str
    text: str

    def read_text(self, encoding: str) -> str:
        return self.text


@dataclass
class _Folder:
    """The folder of rule files, from memory. Mutable: one file is exchanged at a time."""

    texts: dict[str, str]
    catalogue: Any
    kept: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.kept = dict(self.texts)

    def iterdir(self) -> Iterator[_File]:
        return iter([_File(name, text) for name, text in self.texts.items()])

    def __truediv__(self, name: str) -> Any:
        return self.catalogue / name

    def put(self, file: str, text: str | None) -> None:
        """A changed text in the place of a file; None: as it was."""
        self.texts[file] = self.kept[file] if text is None else text
        hosts.builtin.cache_clear()
        hosts.all_hosts.cache_clear()


# The changes ----------------------------------------------------------------------------------------------------------


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """All changes of one file."""
    blocks = re.split(r"(?m)^(?=\[\[)", text)
    numbers = [at for at, block in enumerate(blocks) if block.startswith("[[rules]]")]
    for entry, at in enumerate(numbers):
        block = blocks[at]
        head = " ".join(re.findall(r"(?m)^(?:use|dialect|models) = .*$", block))[:90] or "anything else"
        changes = [("delete", ""), *(("window", each) for each in other_windows(block)), ("missing", bare(block))]
        for kind, changed in changes:
            if changed != block:
                whole = "".join([*blocks[:at], changed, *blocks[at + 1 :]])
                yield Mutant(file, entry, kind, head, whole)


def other_windows(block: str) -> Iterator[str]:
    """The entry with each other window, the farthest first. The first one that can be loaded is taken."""
    said = tomllib.loads(block)["rules"][0].get("window")
    for window in WINDOWS:
        if window == said:
            continue
        line = f'window = "{window}"'
        if said is None:
            yield block.replace("[[rules]]", f"[[rules]]\n{line}\n#", 1)
        else:
            yield re.sub(r'(?m)^window = "\w+"', line, block, count=1)


def bare(block: str) -> str:
    """The entry without its `missing`."""
    return re.sub(r"(?m)^missing = .*\n", "", block)


# The judgement --------------------------------------------------------------------------------------------------------


class Court:
    """Judges one change after the other. Mutable: tests that were red come first the next time."""

    def __init__(self, folder: _Folder, checks: list[Check], matrix: Callable[[], str]) -> None:
        self.folder, self._checks, self._matrix = folder, checks, matrix
        self._before = matrix()
        self._useful: dict[str, list[Check]] = {}

    def verdict(self, mutant: Mutant) -> str:
        """One of the words above."""
        try:
            self.folder.put(mutant.file, mutant.text)
            hosts.builtin()
        except RuleError:
            return "refused"
        if self._red(mutant):
            return "behaviour"
        return "snapshot" if self._differs() else "SURVIVED"

    def _differs(self) -> bool:
        try:
            return self._matrix() != self._before
        except Exception:  # noqa: BLE001 - the table cannot even be made
            return True

    def _red(self, mutant: Mutant) -> bool:
        first = self._useful.setdefault(mutant.file, [])
        for check in [*first, *(check for check in self._checks if check not in first)]:
            if fails(check):
                first[:] = [check, *(each for each in first if each is not check)][:40]
                return True
        return False


def fails(check: Check) -> bool:
    """Whether a test is red."""
    try:
        check.call()
    except pytest.skip.Exception:
        return False
    except Exception:  # noqa: BLE001 - an error of a test is red too
        return True
    return False


def collected() -> _Found:
    """The tests of BEHAVIOUR that need no fixture."""
    found = _Found()
    paths = [str(path) for name in BEHAVIOUR if (path := HERE / f"test_{name}.py").exists()]
    with redirect_stdout(StringIO()):
        pytest.main(
            ["--collect-only", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider", *paths],
            plugins=[found],
        )
    return found


def taken(mutants: list[Mutant], folder: _Folder) -> Iterator[Mutant]:
    """Of the windows of an entry, the first that can be loaded; if none can, the first."""
    seen: set[tuple[str, int]] = set()
    for mutant in mutants:
        key = (mutant.file, mutant.entry)
        if mutant.kind != "window":
            yield mutant
        elif key not in seen and loads(folder, mutant):
            seen.add(key)
            yield mutant


def loads(folder: _Folder, mutant: Mutant) -> bool:
    """Whether the files can be read with a change, and say something else then: an absent window is inherited."""
    before = windows()
    folder.put(mutant.file, mutant.text)
    try:
        return windows() != before
    except RuleError:
        return False
    finally:
        folder.put(mutant.file, None)


def windows() -> list[str]:
    """The window of every rule, resolved."""
    return [rule.window for host in hosts.builtin() for rule in host.rules]


def main() -> int:
    """All changes; the figures; 1 if no test says what one of them broke."""
    begin = perf_counter()
    logging.disable(logging.CRITICAL)
    there = files("reasoning_replay.hosts")
    folder = _Folder({f.name: f.read_text("utf-8") for f in there.iterdir() if f.name.endswith(".toml")}, there)
    with patch.object(hosts, "files", lambda name: folder):
        found = collected()
        checks = found.checks
        for file in [*folder.kept][:2]:  # the others need what conftest.py sets up, or the very files of before
            folder.put(file, None)
            checks = [check for check in checks if not fails(check)]
        if found.matrix is None or len(checks) < FEW:
            print(f"only {len(checks)} tests are green without any change")
            return 1
        court, counts = Court(folder, checks, found.matrix), Counter[str]()
        for file, text in sorted(folder.kept.items()):
            if sys.argv[1:] and file.removesuffix(".toml") not in sys.argv[1:]:
                continue
            for mutant in taken(list(mutants_of(file, text)), folder):
                word = court.verdict(mutant)
                folder.put(file, None)
                counts[f"{mutant.kind} {word}"] += 1
                if word in UNTOLD:
                    print(f"{word:9} {mutant.kind:8} {file} entry {mutant.entry + 1}: {mutant.head}", flush=True)
        red = [check.name for check in checks if fails(check)]
    print(
        f"{len(checks)} tests, {len(red)} of them red at the end without any change; {perf_counter() - begin:.0f} s; "
        + ", ".join(f"{word}: {count}" for word, count in sorted(counts.items()))
    )
    if red:
        print("red without any change:", *dict.fromkeys(name.split("[")[0] for name in red))
    return 1 if red or any(word.split()[-1] in UNTOLD for word in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
