"""The matrix: every stored history of every configuration, sent to every configuration, on the wire of strict hosts.

A source is a configuration in one shape: output_version v0 or v1, `invoke`, `stream` or `stream_events(version="v3")`. Its
story is one tool loop at its own host: reasoning and a call, the result, reasoning and an answer, a note that starts no turn,
reasoning and a call, the result. So all of its reasoning is due back at its own host, and none of it anywhere else. To other
hosts the story goes with the note as a question of the user: a finished turn and one in the middle of its loop.

Run `python tests/langchain_matrix/matrix.py [--sample N] [--only NAME ...] [--what before|after|both]`.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_calls import MODES
from langchain_matrix.models import CONFIGURATIONS, Configuration, available
from reasoning_replay import Policy
from reasoning_replay._known import default_store
from reasoning_replay.testing import (
    Captures,
    Reply,
    StrictHost,
    Text,
    Turn,
    aliases,
    call,
    capture_plans,
    sealed,
    think,
)
from reasoning_replay.testing._law import MARK

Wrap = Callable[[Any], Any]

FOREIGN = "foreign reasoning on the wire"
LOCAL = "exception before or after the wire"
REFUSED = "refused by the strict host"
DOUBLED = "function_call beside tool_calls"
LOST = "own reasoning incomplete"
MOVED = "what the host had seen was changed within the turn"
MARKED = "our mark on the wire"
FAULT = "a step of ours failed and the fallback stood in"
OTHERWISE = "stored otherwise than by the bare class"
KINDS = (FOREIGN, LOCAL, REFUSED, DOUBLED, LOST, MOVED, MARKED, FAULT, OTHERWISE)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Shape(NamedTuple):
    """How a reply was asked for; it decides how LangChain stores it."""

    version: str | None
    """`output_version`; None: the class's own, which the issue calls v0."""
    mode: str

    def __str__(self) -> str:
        return f"{self.version or 'v0'} {self.mode}"


STORED = ("invoke", "stream", "v3")
"""The ways that store a reply differently."""
SHAPES = tuple(Shape(version, mode) for version in (None, "v1") for mode in STORED)
OTHER_WAYS = tuple(Shape(None, mode) for mode in MODES if mode not in STORED)
"""The ways that are asked for their own replay alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One thing that must not be."""

    source: str
    shape: str
    target: str
    what: str
    """One of KINDS."""
    detail: str = ""
    """The host's words, or the exception; never reasoning."""


@dataclass(slots=True)
class Result:
    """What one run of the matrix found. Mutable: it grows while the matrix runs."""

    name: str
    calls: int = 0
    own_calls: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    stored: list[Source] = field(default_factory=list, repr=False)
    """The stories, as they were stored."""

    def count(self, what: str) -> int:
        """How many calls failed so."""
        return len({(f.source, f.shape, f.target, f.detail if f.target == f.source else "") for f in self.of(what)})

    def of(self, *kinds: str) -> list[Failure]:
        """The failures of some kinds."""
        return [failure for failure in self.failures if failure.what in kinds]


@dataclass(frozen=True, slots=True)
class Source:
    """A stored story."""

    configuration: Configuration
    shape: Shape
    messages: tuple[BaseMessage, ...]
    words: tuple[bytes, ...] = field(repr=False)
    """What its host issued with it."""


def _script(turn: Turn, pieces: int) -> Reply:
    """A call in two blocks of reasoning where the host seals, first with text; an answer in one. The last row says which."""
    asked = json.dumps(rows_of(turn.body)[-1:])
    if "ANSWER" in asked:
        return Reply((think(), Text()), pieces=pieces)
    said = (Text("Let me look."),) if "Oslo" in asked else ()
    return Reply((think(), sealed(), *said, call()), pieces=pieces)


QUESTION = HumanMessage("How is the weather in Oslo? Use the tool.")
NOTE = HumanMessage("And tomorrow? Use the tool.", additional_kwargs={"turn": False})
NEXT_QUESTION = HumanMessage("And tomorrow? Use the tool.")
RESULT = "It is 3C. Now ANSWER."


class Room:
    """One strict host a configuration, on loopback. Mutable: models are built when they are first asked for."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        self.configurations = tuple(configurations)
        self.hosts = {c.name: StrictHost(c.host, script=partial(_script, pieces=c.pieces)) for c in configurations}
        self.policy = Policy(aliases=aliases(self.hosts.values()))
        self._models: dict[tuple[str, str | None], Any] = {}

    def start(self) -> Room:
        """Open all ports."""
        for host in self.hosts.values():
            host.start()
        return self

    def stop(self) -> None:
        """Close them."""
        for host in self.hosts.values():
            host.begin_stop()
        for host in self.hosts.values():
            host.stop()

    def reset(self) -> None:
        """Forget what was received and issued."""
        for host in self.hosts.values():
            host.reset()

    def model(self, configuration: Configuration, version: str | None = None) -> Any:
        """The bare model of a configuration."""
        key = (configuration.name, version)
        if key not in self._models:
            self._models[key] = configuration.factory(self.hosts[configuration.name].url, version)
        return self._models[key]


@contextmanager
def room(configurations: Sequence[Configuration]) -> Iterator[Room]:
    """A room for the time of a `with` block."""
    hosts = Room(configurations).start()
    try:
        yield hosts
    finally:
        hosts.stop()


# One run --------------------------------------------------------------------------------------------------------------


class Run:
    """One run of the matrix with one way to wrap. Mutable: `result` grows."""

    def __init__(self, name: str, where: Room, wrap: Wrap, seen: Captures) -> None:
        self.room, self._wrap, self._seen = where, wrap, seen
        self.result = Result(name)
        self._bound: dict[tuple[str, str | None], Any] = {}
        self._before: list[Any] = []
        """The rows of the story's last request to its own host: they stay as they are to the end of its turn."""

    def faults(self, source: Source | tuple[Configuration, Shape], target: str) -> None:
        """Note the faults since it was last asked; forget the plans."""
        for fault in self._seen.faults:
            self.fail(source, target, FAULT, place_of(fault.error))
        self._seen.faults.clear()
        self._seen.plans.clear()

    def bound(self, configuration: Configuration, version: str | None = None) -> Any:
        """The wrapped model with its tool."""
        key = (configuration.name, version)
        if key not in self._bound:
            self._bound[key] = self._wrap(self.room.model(configuration, version)).bind_tools([TOOL])
        return self._bound[key]

    def fail(self, source: Source | tuple[Configuration, Shape], target: str, what: str, detail: str = "") -> None:
        """Note a failure."""
        made, shape = (source.configuration, source.shape) if isinstance(source, Source) else source
        self.result.failures.append(
            Failure(source=made.name, shape=str(shape), target=target, what=what, detail=detail)
        )

    # The source's own loop

    def source(self, configuration: Configuration, shape: Shape) -> Source | None:
        """The story, told at the configuration's own host. What goes wrong there is noted: it is the own replay."""
        told: list[BaseMessage] = [QUESTION]
        words: list[bytes] = []
        self._before = []
        for step in range(STEPS):
            reply = self._told(configuration, shape, told, step)
            if reply is None:
                return None
            message, new = reply
            if step == 0 and self._wrap is not bare:
                self._compared(configuration, shape, message)
            words += new
            told.append(message)
            told += [ToolMessage(RESULT, tool_call_id=c["id"]) for c in message.tool_calls]
            self.faults((configuration, shape), configuration.name)
            if not message.tool_calls:
                told.append(NOTE)
        return Source(configuration, shape, tuple(told), tuple(words))

    def _told(
        self, configuration: Configuration, shape: Shape, told: list[BaseMessage], step: int
    ) -> tuple[AIMessage, list[bytes]] | None:
        """One reply of the story. Where the host refuses the loop so far, the reply to the last words alone."""
        host = self.room.hosts[configuration.name]
        model = self.bound(configuration, shape.version)
        start = [HumanMessage(RESULT)] if isinstance(told[-1], ToolMessage) else [QUESTION]
        for messages in (list(told), start):
            before = set(host.issued)
            seen, number = len(host.requests), step + 1
            if messages is not start and step:
                self.result.own_calls += 1
            try:
                message = MODES[shape.mode](model, messages)
            except Exception as error:  # noqa: BLE001 - whatever a class raises is a finding
                self._raised((configuration, shape), configuration, seen, error, f"reply {number}: ")
                continue
            if step and messages is not start:
                self._own((configuration, shape), step, seen, f"request {number}")
            if (not isinstance(told[-1], ToolMessage)) != bool(message.tool_calls) or not _sane(message):
                self.fail((configuration, shape), configuration.name, LOCAL, f"reply {number}: its calls were not read")
                return None
            return message, [word.encode() for word in host.issued if word not in before]
        return None

    def _compared(self, configuration: Configuration, shape: Shape, message: AIMessage) -> None:
        """Whether a wrapped model's first reply is stored as the bare class stores the same reply."""
        model = self.room.model(configuration, shape.version).bind_tools([TOOL])
        seen, wanted = _outside(message), _outside(MODES[shape.mode](model, [QUESTION]))
        for what in seen:
            if seen[what] != wanted[what]:
                detail = f"{what}: {seen[what]} instead of {wanted[what]}"
                self.fail((configuration, shape), configuration.name, OTHERWISE, detail)

    def own(self, source: Source) -> None:
        """The whole story back to its own host."""
        seen, self._before = len(self.room.hosts[source.configuration.name].requests), []
        self.result.own_calls += 1
        if self._sent(source, source.configuration, list(source.messages)):
            self._own((source.configuration, source.shape), STEPS, seen, "the whole story")

    def _own(self, made: tuple[Configuration, Shape], replies: int, seen: int, where: str) -> None:
        configuration = made[0]
        host = self.room.hosts[configuration.name]
        for request in host.requests[seen:]:
            lost = host.lost(request)
            said = [row for row in host.rows(request) if host._speaks.is_said(row)]
            if configuration.takes_own and lost:
                self.fail(made, configuration.name, LOST, f"{where}: {len(lost)} of {replies} replies' words")
            elif configuration.sends_history and len(said) < replies:
                self.fail(made, configuration.name, LOST, f"{where}: {replies - len(said)} replies are not there")
            if MARK in request.raw:
                self.fail(made, configuration.name, MARKED, where)
        rows, before = rows_of(host.requests[-1].json), self._before
        if configuration.sends_history and rows[: len(before)] != before:
            self.fail(made, configuration.name, MOVED, where)
        self._before = rows

    # Foreign targets

    def foreign(self, source: Source, target: Configuration) -> None:
        """The story to another host, its note as a question of the user."""
        messages = [NEXT_QUESTION if message is NOTE else message for message in source.messages]
        host = self.room.hosts[target.name]
        seen = len(host.requests)
        self.result.calls += 1
        self._sent(source, target, messages)
        for request in host.requests[seen:]:
            if any(word in request.raw for word in source.words):
                self.fail(source, target.name, FOREIGN)
            if MARK in request.raw:
                self.fail(source, target.name, MARKED)
            if _doubled(request.json):
                self.fail(source, target.name, DOUBLED)
        self.faults(source, target.name)
        host.requests.clear()

    def _sent(self, source: Source, target: Configuration, messages: list[BaseMessage]) -> bool:
        seen = len(self.room.hosts[target.name].requests)
        try:
            self.bound(target).invoke(messages)
        except Exception as error:  # noqa: BLE001 - whatever a class raises is a finding
            self._raised(source, target, seen, error)
            return False
        return True

    def _raised(
        self,
        source: Source | tuple[Configuration, Shape],
        target: Configuration,
        seen: int,
        error: Exception,
        where: str = "",
    ) -> None:
        refused = [r.refusal for r in self.room.hosts[target.name].requests[seen:] if r.refusal is not None]
        if refused:
            self.fail(source, target.name, REFUSED, f"{where}{refused[-1][:200]}")
        else:
            self.fail(
                source, target.name, LOCAL, f"{where}{type(error).__name__}: {' '.join(str(error).split())[:100]}"
            )


STEPS = 3


def place_of(error: BaseException) -> str:
    """Type, file and line of an exception, without its words."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"


def _sane(message: AIMessage) -> bool:
    return all(c["name"] == "get_weather" and c["args"] == {"city": "Oslo"} and c["id"] for c in message.tool_calls)


OURS = {"reasoning_replay"}


def _outside(message: AIMessage) -> dict[str, Any]:
    """What a reply is beside reasoning: kinds of content, calls, and the keys of what is told about it.

    Where a class drops reasoning and v1 is asked for, core makes its standard block of what we capture.
    """
    content = message.content if isinstance(message.content, list) else ["text"]
    return {
        "class": type(message).__name__,
        "content": [k for b in content if (k := b if isinstance(b, str) else b["type"]) != "reasoning"],
        "calls": [(c["name"], c["args"]) for c in message.tool_calls],
        "response_metadata": sorted(set(message.response_metadata) - OURS),
        "usage": message.usage_metadata,
    }


ROWS = ("messages", "input", "contents")
"""Under which key each dialect sends its history."""


def rows_of(body: Any) -> list[Any]:
    """The history of a request."""
    rows = next((body[key] for key in ROWS if key in body), []) if isinstance(body, dict) else []
    return rows if isinstance(rows, list) else [rows]


def _doubled(body: Any) -> bool:
    """Whether a message carries its calls twice."""
    return any(row.get("function_call") and row.get("tool_calls") for row in rows_of(body) if isinstance(row, dict))


# The whole ------------------------------------------------------------------------------------------------------------


def pairs(configurations: Sequence[Configuration], sample: int | None = None) -> list[tuple[int, Configuration]]:
    """(index of the source, foreign target). A front part as long as `half` has every configuration in every mode, and
    every target.
    """
    size, order = len(configurations), range(len(configurations) * len(SHAPES))
    first = [i for i in order if (i // len(SHAPES) + i // len(STORED) % 2 + i % len(STORED)) % 2 == 0]
    made = [
        (index, configurations[_target(index, step, size)])
        for step in range(size - 1)
        for index in (*first, *(set(order) - set(first)))
    ]
    return made if sample is None else made[:sample]


def _target(source: int, step: int, size: int) -> int:
    """Never the source's own configuration."""
    configuration, shape = divmod(source, len(SHAPES))
    return (configuration + 1 + (5 * shape + 7 * configuration + step) % (size - 1)) % size


def own(name: str, where: Room, wrap: Wrap, shapes: Sequence[Shape]) -> Result:
    """The stories of every configuration in some shapes, told at its own host and sent to it again."""
    where.reset()
    with capture_plans() as seen:
        here = Run(name, where, wrap, seen)
        sources = [here.source(c, shape) for c in where.configurations for shape in shapes]
        default_store.cache_clear()
        for source in sources:
            if source is not None:
                here.own(source)
    for host in where.hosts.values():
        host.requests.clear()
    return here.result


def half(configurations: Sequence[Configuration]) -> int:
    """The size of the usual sample."""
    return len(configurations) * len(SHAPES) // 2


def run(name: str, where: Room, wrap: Wrap, sample: int | None = None, stored: list[Source] | None = None) -> Result:
    """One row of the figures. `stored`: histories that somebody else saved, instead of telling the stories."""
    begin = time.perf_counter()
    with capture_plans() as seen:
        here = Run(name, where, wrap, seen)
        _run(here, where, sample, stored)
    here.result.seconds = time.perf_counter() - begin
    return here.result


def _run(here: Run, where: Room, sample: int | None, stored: list[Source] | None) -> None:
    wanted = [(c, shape) for c in where.configurations for shape in SHAPES]
    chosen = pairs(where.configurations, sample)
    told: dict[int, Source | None] = {}
    if stored is None:
        where.reset()
        asked = sorted({index for index, _ in chosen}) or range(len(wanted))
        told = {index: here.source(*wanted[index]) for index in asked}
        default_store.cache_clear()  # as after a restart: from here on only what is in the histories counts
        for source in told.values():
            if source is not None:
                here.own(source)
    else:
        told = {wanted.index((source.configuration, source.shape)): source for source in stored}
    for host in where.hosts.values():
        host.requests.clear()
    for index, target in chosen:
        source = told.get(index)
        if source is not None:
            here.foreign(source, target)
    here.result.stored = [source for source in told.values() if source is not None]


def bare(model: Any) -> Any:
    """Before: the model as it is."""
    return model


def wrapped(where: Room) -> Wrap:
    """After: the model that this library makes of it."""
    from reasoning_replay.langchain import with_reasoning_replay

    return lambda model: with_reasoning_replay(model, where.policy)


def figures(results: Iterable[Result]) -> str:
    """The rows of counts."""
    heads = (
        "",
        "calls",
        "foreign",
        "exceptions",
        "refused",
        "doubled",
        "own calls",
        "own lost",
        "moved",
        "marks",
        "faults",
        "otherwise",
        "s",
    )
    rows = [heads]
    for result in results:
        count = [str(result.count(kind)) for kind in KINDS]
        rows.append(
            (result.name, str(result.calls), *count[:4], str(result.own_calls), *count[4:], f"{result.seconds:.0f}")
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def told(result: Result) -> str:
    """The failures for a person: source, shapes, target, what; equal ones in one line."""
    seen: dict[tuple[str, ...], Counter[str]] = {}
    for f in result.failures:
        seen.setdefault((f.what, f.source, f.target, f.detail), Counter())[f.shape] += 1
    lines = []
    for (what, source, target, detail), shapes in sorted(seen.items()):
        which = "every shape" if len(shapes) == len(SHAPES) else ", ".join(shapes)
        lines.append(f"{what} | {source} -> {target} | {which}" + (f" | {detail}" if detail else ""))
    return "\n".join(lines)


def main() -> int:
    """Run and print; the status says whether the last row is clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many foreign calls instead of all")
    parser.add_argument(
        "--only", nargs="+", default=(), help=f"configurations: {', '.join(c.name for c in CONFIGURATIONS)}"
    )
    parser.add_argument("--what", choices=("before", "after", "both"), default="both")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if find_spec("litellm") is not None:
        import litellm

        litellm.suppress_debug_info = True
    chosen = available(tuple(asked.only))
    missing = [c.name for c in CONFIGURATIONS if c not in chosen and not asked.only]
    results = []
    with room(chosen) as where:
        if asked.what != "after":
            results.append(run("before", where, bare, asked.sample))
        if asked.what != "before":
            results.append(run("after", where, wrapped(where), asked.sample))
            if asked.what == "both":
                results.append(
                    run("after, stored before", where, wrapped(where), asked.sample, stored=results[0].stored)
                )
    for result in results:
        print(f"\n{result.name}\n{told(result)}")
    print(f"\n{len(chosen)} configurations" + (f"; not here: {', '.join(missing)}" if missing else ""))
    print(figures(results))
    return 1 if results[-1].failures else 0


if __name__ == "__main__":
    sys.exit(main())
