"""What every chapter of the demo shares: a step is run twice, counted on the wire, and told.

Each half has its own hosts, so that leaks, refusals and losses are those of one half. This file knows no framework.
Contract: a `Half` is what was counted, never what was hoped; a step that raises ends its half, and is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Styled

from .._report import COLUMNS, Report, cells, sentence
from ..testing import StrictHost, foreign_bytes, strict_host

QUESTION = "What is the weather in Oslo?"
AGAIN = "And tomorrow?"
RESULT = "3C"


class World:
    """The hosts and the conversation of one half. Mutable: the conversation grows from step to step."""

    def __init__(self, hosts: dict[str, StrictHost]) -> None:
        self.hosts = hosts
        self.messages: list[Any] = []
        self.reports: list[Report] = []
        self.forgotten: list[str] = []
        """Own reasoning that was missing from a prompt, where the host is a real server and not a strict one."""
        self.shown = Shown("", ())

    def begin(self) -> None:
        """Forget what was counted in the step before."""
        self.reports.clear()
        self.forgotten.clear()
        for host in self.hosts.values():
            host.requests.clear()
        self.shown = Shown("", ())

    def noted(self, report: Report | None) -> None:
        """A call's report is kept, if it has one."""
        if report is not None:
            self.reports.append(report)


class Shown(NamedTuple):
    """What a model saw of its conversation."""

    by: str
    """Who rendered the prompt; nothing is shown without it."""
    lines: Sequence[str]


class Step(NamedTuple):
    """One row of a chapter."""

    title: str
    story: str
    run: Callable[[Any], str]
    """Gives what is to be said about how it went, or raises what the framework raised."""
    needs: tuple[str, ...] = ()
    """Packages that the chapter itself can do without."""
    reported: bool = False
    """Whether its last report is shown at the end of the chapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The story of one framework."""

    name: str
    version: str
    line: str
    """What makes the difference, as it stands in a program."""
    steps: tuple[Step, ...]
    worlds: Callable[[], AbstractContextManager[tuple[World, World]]]
    """Fresh hosts for both halves: without the line, and with it."""
    switch: Callable[[], AbstractContextManager[object]] = nullcontext
    """Puts the line on for the time of a step, where it holds for the whole process."""


@dataclass(frozen=True, slots=True)
class Half:
    """How one step went without the line, or with it: counted on the wire."""

    said: str
    failed: bool
    refusals: tuple[str, ...] = ()
    leaks: int = 0
    lost: int = 0
    reports: tuple[Report, ...] = ()
    shown: Shown = field(default=Shown("", ()), repr=False)

    @property
    def sound(self) -> bool:
        """Nothing refused, leaked or lost, and the loop came to its end."""
        return not (self.failed or self.refusals or self.leaks or self.lost)


def run(step: Step, world: World) -> Half:
    """One half of one step."""
    world.begin()
    try:
        said, failed = step.run(world), False
    except Exception as fault:  # noqa: BLE001 -- whatever a framework raises ends the step and is told
        said, failed = f"it raises {type(fault).__name__}", True
    asked = [host for host in world.hosts.values() if host.requests]
    refused = [(host, request) for host in asked for request in host.requests if 400 <= request.status < 500]
    return Half(
        said=said,
        failed=failed,
        refusals=tuple(f"{host.kind} answers {request.status}: {request.refusal}" for host, request in refused),
        leaks=len({(found.at.kind, found.word) for found in foreign_bytes(world.hosts.values())}),
        lost=sum(len(host.lost()) for host in asked) + len(world.forgotten),
        reports=tuple(world.reports),
        shown=world.shown,
    )


@contextmanager
def hosts_of(*kinds: str) -> Iterator[dict[str, StrictHost]]:
    """Fresh strict hosts by their names."""
    with ExitStack() as open_hosts:
        yield {kind: open_hosts.enter_context(strict_host(kind)) for kind in kinds}


def thoughts_seen(world: World) -> Shown:
    """The thoughts in the newest prompt that DeepSeek's own encoder rendered, and who wrote them."""
    prompt = world.hosts["deepseek"].last.prompt
    if prompt is None:
        return Shown("", ())
    lines = []
    for thought in re.findall(r"<think>(.*?)</think>", prompt[prompt.index(QUESTION) :], re.DOTALL):
        writers = [host.kind for host in world.hosts.values() if any(word in thought for word in host.issued)]
        lines.append(f"<think>{thought}</think> ({f'written by {writers[0]}' if writers else 'empty'})")
    return Shown("DeepSeek's own encoder", lines)


class Stage:
    """Prints the story: boxes and colour for a terminal, plain text for a file."""

    def __init__(self, *, plain: bool) -> None:
        self.console = Console(no_color=plain or None, highlight=False, emoji=False)
        if plain or not self.console.is_terminal:
            self.console = Console(no_color=True, force_terminal=False, highlight=False, emoji=False, width=120)
        self.box = box.SIMPLE_HEAD if self.console.is_terminal else box.ASCII

    def say(self, text: str, style: str = "", *, indent: int = 0) -> None:
        """One paragraph; nothing in it is markup. A file gets one line, a terminal wraps under the indent."""
        if self.console.is_terminal:
            self.console.print(Padding(Styled(text, style=style), (0, 0, 0, indent)))
        else:
            self.console.print(Styled(" " * indent + text), soft_wrap=True)

    def half(self, name: str, half: Half) -> None:
        """What became of one half, in words as well as in colour."""
        mark, style = ("clean ", "green") if half.sound else ("broken", "red")
        self.say(f"{name:<8} {mark}", style, indent=2)
        self.say(half.said, indent=6)
        for refusal in dict.fromkeys(half.refusals):
            times = half.refusals.count(refusal)
            self.say(refusal + (f" ({times} times)" if times > 1 else ""), indent=6)
        for count, what in (
            (half.leaks, "of another host's reasoning in a request"),
            (half.lost, "of the host's own reasoning lost"),
        ):
            if count:
                self.say(f"{count} piece{'s' * (count > 1)} {what}", indent=6)

    def prompt(self, name: str, half: Half) -> None:
        """What the model saw, as the host's own code rendered it."""
        if half.shown.by and not half.failed:
            self.say(f"what {half.shown.by} renders for the model, {name} the line:", indent=2)
            for line in half.shown.lines:
                self.say(line, indent=6)

    def report(self, report: Report) -> None:
        """One report as a table."""
        self.say(str(report).splitlines()[0])
        table = Table(box=self.box)
        for name in COLUMNS[:-1]:
            table.add_column(name, no_wrap=True)
        table.add_column("reason")
        for row in report.rows:
            table.add_row(*map(Styled, (*cells(row)[:-1], sentence(row.reason))))
        self.console.print(table)


def play(stage: Stage, chapter: Chapter, install: str) -> list[tuple[Half, Half]]:
    """Run and tell a chapter: both halves of each of its steps."""
    stage.say(
        f"{chapter.name} {chapter.version} against hosts on this machine: each loop without the line, then with it."
    )
    stage.say(chapter.line, "bold", indent=4)
    halves: list[tuple[Half, Half]] = []
    reports: list[tuple[str, Report]] = []
    with chapter.worlds() as (bare, ours):
        for number, step in enumerate(chapter.steps, 1):
            missing = [package for package in step.needs if find_spec(package) is None]
            title = f"{number}. {step.title}"
            if missing:
                stage.say(f"\n{title}", "bold")
                stage.say(f"left out: {missing[0].replace('_', '-')} is not installed; {install}", indent=2)
                continue
            before = run(step, bare)
            with chapter.switch():
                after = run(step, ours)
            halves.append((before, after))
            if step.reported:
                reports += [(title, report) for report in after.reports[-1:]]
            tell(stage, title, step.story, before, after, f"{chapter.name} {chapter.version}")
    for title, report in reports:
        stage.say(f"\nThe last report of {title}", "bold")
        stage.report(report)
    stage.say(f"\n{chapter.name}, without → with the line: {sums(halves)}\n", "bold")
    return halves


def tell(stage: Stage, title: str, story: str, before: Half, after: Half, framework: str) -> None:
    """One step of the story."""
    stage.say(f"\n{title}", "bold")
    stage.say(story, indent=2)
    stage.half("without", before)
    if before.sound:
        stage.say(f"{framework} alone no longer breaks here", indent=6)
    stage.half("with", after)
    for name, half in (("without", before), ("with", after)):
        stage.prompt(name, half)


def sums(halves: list[tuple[Half, Half]]) -> str:
    """What was counted, without and with the line."""
    return ", ".join(
        f"{what} {sum(count(before) for before, _ in halves)} → {sum(count(after) for _, after in halves)}"
        for what, count in COUNTS
    )


def close(stage: Stage, halves: list[tuple[Half, Half]]) -> int:
    """The sum of all chapters, on the last line."""
    sound = all(after.sound for _, after in halves)
    stage.say(f"{'ok' if sound else 'NOT CLEAN'}, without → with the line: {sums(halves)}", "bold")
    return 0 if sound else 1


COUNTS: tuple[tuple[str, Callable[[Half], int]], ...] = (
    ("leaks", lambda half: half.leaks),
    ("refusals", lambda half: len(half.refusals)),
    ("lost reasoning", lambda half: half.lost),
)
