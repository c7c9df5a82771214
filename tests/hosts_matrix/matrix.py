"""The matrix: from every strict host to every other one, through every entry point of LiteLLM, sync, async and streamed.

A story is told once at its own host: a tool loop of two calls and an answer. Then, at every other host:
    tool loop      after the first call the other host takes the loop over, to its end
    second turn    the whole turn, a new question, and the other host's own tool loop
    away and back  one step at the other host in mid-loop and the rest at home; and a third turn at home after the second
Every body is searched for what another host wrote; nobody may refuse; every host finds what its rule asks of its own.

Run `python tests/hosts_matrix/matrix.py [--sample N] [--only HOST ...] [--entry NAME ...] [--jobs 2] [--what before|after]`.
The last whole run stands in RESULT.md beside this file (`--write`).
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import litellm
from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

from hosts_matrix.entries import ENTRIES, Entry
from hosts_matrix.hosts import Row
from litellm_calls import LISTS
from matrix_tables import columns, grouped
from reasoning_replay import Policy
from reasoning_replay._known import default_store
from reasoning_replay.litellm import ReasoningReplay
from reasoning_replay.testing import (
    Captures,
    Reply,
    StrictHost,
    Text,
    Turn,
    aliases,
    call,
    canaries_in,
    capture_plans,
    moved_prefixes,
    sealed,
    think,
)
from reasoning_replay.testing._law import MARK
from reasoning_replay.testing._search import carries

FOREIGN = "foreign reasoning on the wire"
REFUSED = "refused by the strict host"
LOST = "own reasoning incomplete"
MOVED = "what the host had seen was changed within the turn"
MARKED = "our mark on the wire"
FAULT = "a step of ours failed and the fallback stood in"
LOCAL = "exception before or after the wire"
KINDS = (FOREIGN, REFUSED, LOST, MOVED, MARKED, FAULT, LOCAL)

CALLS = 2
"""How many calls a turn has."""


def _script(turn: Turn) -> Reply:
    """Two calls and an answer; where the host can seal, the first step has a sealed part too."""
    first = (sealed(),) if turn.step == 0 else ()
    lead = (think(), *first) if turn.thinking else ()
    if turn.tools and turn.step < CALLS:
        return Reply((*lead, call(city=f"Oslo-{secrets.token_hex(4)}")))
    return Reply((*lead, Text()))


class Failure(NamedTuple):
    """One thing that must not be."""

    what: str
    """One of KINDS."""
    source: str
    target: str
    way: str
    """Mode and story."""
    detail: str = ""
    """The host's words, or the exception; never reasoning."""


@dataclass(slots=True)
class Result:
    """What one run through one entry point found. Mutable: it grows while the matrix runs."""

    entry: str
    mode: str
    sources: tuple[str, ...] = ()
    pairs: int = 0
    calls: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of the processor, both sides of the wire: other programs do not count."""
    failures: list[Failure] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Failure]:
        """The failures of some kinds."""
        return [failure for failure in self.failures if failure.what in kinds]


class Room:
    """One strict host a row of an entry point, on loopback."""

    def __init__(self, entry: str, rows: Sequence[Row]) -> None:
        self.name, self.entry, self.rows = entry, ENTRIES[entry], tuple(rows)
        self.hosts = {row.name: StrictHost(row.kind, script=_script) for row in rows}

    @contextmanager
    def opened(self, *, replay: bool) -> Iterator[Room]:
        """All ports open and our callback in its place; a token for Vertex, which asks Google for one."""
        for host in self.hosts.values():
            host.start()
        if replay:
            litellm.callbacks.append(ReasoningReplay(Policy(aliases=aliases(self.hosts.values()))))
        try:
            with patch.multiple(VertexBase, _ensure_access_token=_token, _ensure_access_token_async=_async_token):
                yield self
        finally:
            if ReasoningReplay._installed is not None:
                ReasoningReplay._installed.uninstall()
            for name in LISTS:
                getattr(litellm, name).clear()
            for host in self.hosts.values():
                host.requests.clear()
                host.begin_stop()
            for host in self.hosts.values():
                host.stop()


def _token(self: VertexBase, credentials: Any, project_id: Any, custom_llm_provider: str) -> tuple[str, str]:
    return ("", "") if custom_llm_provider == "gemini" else ("t", "p")


async def _async_token(
    self: VertexBase, credentials: Any, project_id: Any, custom_llm_provider: str
) -> tuple[str, str]:
    return _token(self, credentials, project_id, custom_llm_provider)


@dataclass(slots=True)
class Story:
    """A history and where it was. Mutable: it goes on."""

    history: list[Any] = field(repr=False)
    done: bool = False
    """Whether the running loop came to its answer."""

    def branch(self) -> Story:
        """The same story so far, to go on otherwise."""
        return Story(list(self.history), self.done)


class Run:
    """All stories of one entry point in one mode. Mutable: `result` grows."""

    def __init__(self, room: Room, mode: str, seen: Captures) -> None:
        self._room, self._entry, self._seen = room, room.entry, seen
        self.result = Result(room.name, mode)

    def source(self, here: Row, targets: Sequence[Row]) -> None:
        """One source, told once, to all of its targets."""
        home = self._room.hosts[here.name]
        home.reset()
        told = Pair(self, here, here, "at home")
        story = Story([_question("How is the weather?")])
        well = told.steps(home, here, story, 1)
        cut = story.branch()
        if well and (well := told.steps(home, here, story)):
            told.own(home, here, here.asks != "nothing")
        told.close()
        if not well:
            return
        if self.result.mode in self._entry.marked:
            default_store.cache_clear()  # as after a restart: from here on what is in the history counts
        for there in targets:
            self.result.pairs += 1
            away = self._room.hosts[there.name]
            away.reset()
            _loop(Pair(self, here, there, "tool loop"), home, away, cut.branch())
            _turns(Pair(self, here, there, "second turn"), home, away, story.branch())

    def fail(self, failure: Failure) -> None:
        """Note a failure."""
        self.result.failures.append(failure)


class Pair:
    """One story of two hosts: what goes wrong in it, and where."""

    def __init__(self, run: Run, here: Row, there: Row, story: str) -> None:
        self.run, self.here, self.there, self.story = run, here, there, story
        self._hosts = {row.name: run._room.hosts[row.name] for row in (here, there)}

    def steps(self, host: StrictHost, row: Row, story: Story, limit: int = 8) -> bool:
        """So many steps of the running loop, or all. Whether all went well."""
        for _ in range(limit):
            self.run.result.calls += 1
            before = len(host.requests)
            try:
                story.done = not self.run._entry.step(self.run.result.mode, row.named(host.url), story.history)
            except Exception as error:  # noqa: BLE001 - whatever LiteLLM raises is a finding
                self._raised(host, before, error)
                return False
            if story.done:
                return True
        return limit < 8

    def _raised(self, host: StrictHost, before: int, error: Exception) -> None:
        refused = [r.refusal for r in host.requests[before:] if r.refusal is not None]
        if refused:
            self.fail(REFUSED, f"at {host.kind}: {refused[-1][:200]}")
        else:
            self.fail(LOCAL, f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")

    def own(self, host: StrictHost, row: Row, asked: bool) -> None:
        """Whether a host finds its own in the last request, if its rule asks for it."""
        lost = host.lost() if asked else []
        if lost:
            self.fail(LOST, f"at {row.name}: {len(lost)} words")

    def close(self) -> None:
        """The end of a story: every body of it is searched."""
        for host in self._hosts.values():
            others = [word for other in self._hosts.values() if other is not host for word in other.issued]
            mine = host.issued
            for request in host.requests:
                text = request.raw.decode(errors="replace")
                if any(word not in mine for word in canaries_in(text)) or any(carries(request.raw, w) for w in others):
                    self.fail(FOREIGN, f"at {host.kind}")
                if MARK in request.raw:
                    self.fail(MARKED, f"at {host.kind}")
        for moved in moved_prefixes(self._hosts.values()):
            self.fail(MOVED, f"at {moved.at.kind}, message {moved.message}")
        for fault in self.run._seen.faults:
            frame = traceback.extract_tb(fault.error.__traceback__)[-1]
            self.fail(FAULT, f"{type(fault.error).__name__} at {Path(frame.filename).name}:{frame.lineno}")
        for host in self._hosts.values():
            for words in host.faults:
                self.fail(LOCAL, words)
            host.faults.clear()
            host.requests.clear()
        self.run._seen.faults.clear()
        self.run._seen.plans.clear()

    def fail(self, what: str, detail: str = "") -> None:
        """Note a failure of this story."""
        way = f"{self.run.result.mode}: {self.story}"
        self.run.fail(Failure(what, self.here.name, self.there.name, way, detail))


def _question(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _loop(pair: Pair, home: StrictHost, away: StrictHost, story: Story) -> None:
    """One step away; then the rest there, and the same rest at home."""
    if pair.steps(away, pair.there, story, 1):
        back = story.branch()
        if pair.steps(away, pair.there, story):
            pair.own(away, pair.there, pair.there.asks != "nothing")
        pair.story = "away and back"
        if pair.steps(home, pair.here, back):
            pair.own(home, pair.here, pair.here.asks != "nothing" and pair.here.gap)
    pair.close()


def _turns(pair: Pair, home: StrictHost, away: StrictHost, story: Story) -> None:
    story.history.append(_question("And tomorrow?"))
    if pair.steps(away, pair.there, story):
        pair.own(away, pair.there, pair.there.asks != "nothing")
        story.history.append(_question("And the day after?"))
        if pair.steps(home, pair.here, story, 1):
            pair.own(home, pair.here, pair.here.asks == "all")
    pair.close()


# The whole ------------------------------------------------------------------------------------------------------------


def pairs(
    entry: Entry, only: Sequence[str] = (), sample: int | None = None, mode: str = "sync"
) -> dict[Row, list[Row]]:
    """Source -> targets. A sample gives each source so many targets, spread so that every target is met."""
    rows = [row for row in entry.rows if row.available(mode) and (not only or row.name in only)]
    size = len(rows)
    found = {}
    order = sorted(range(1, size), key=lambda shift: shift * 7 % size)
    for at, here in enumerate(rows):
        others = [rows[(at + shift) % size] for shift in order]
        found[here] = others if sample is None else others[:sample]
    return found


def run(name: str, mode: str, chosen: dict[Row, list[Row]], *, replay: bool = True) -> Result:
    """One entry point in one mode."""
    begin, cpu = time.perf_counter(), time.process_time()
    rows = list(dict.fromkeys([*chosen, *(row for targets in chosen.values() for row in targets)]))
    with capture_plans() as seen, Room(name, rows).opened(replay=replay) as room:
        here = Run(room, mode, seen)
        for source, targets in chosen.items():
            here.source(source, targets)
    here.result.sources = tuple(source.name for source in chosen)
    here.result.seconds, here.result.cpu = time.perf_counter() - begin, time.process_time() - cpu
    return here.result


def quiet() -> None:
    """LiteLLM warns and logs by the dozen."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    litellm.suppress_debug_info = True


def told(results: Sequence[Result]) -> str:
    """The failures for a person, equal ones in one line, then the figures."""
    failures = [f for result in results for f in result.failures]
    lines = grouped((f"{f.what} | {f.source} -> {f.target}", f.way, f.detail) for f in failures)
    return f"{lines}\n\n{figures(results)}"


def figures(results: Sequence[Result]) -> str:
    """How much of what, one line a run."""
    short = ("foreign", "refused", "own lost", "moved", "marks", "faults", "local")
    heads = ("entry", "mode", "pairs", "calls", *short, "s", "cpu s")
    rows = [
        (r.entry, r.mode, r.pairs, r.calls, *(len(r.of(kind)) for kind in KINDS), round(r.seconds), round(r.cpu))
        for r in results
    ]
    total = [sum(int(row[at]) for row in rows) for at in range(2, len(heads))]
    return columns([heads, *rows, ("all", "", *total)])


def grid(results: Sequence[Result]) -> str:
    """Source by target of one entry point: in how many ways something went wrong, over all modes; a dot is none."""
    names = results[0].sources
    wrong = Counter((f.source, f.target) for result in results for f in result.failures)
    cells = [
        [f"{place} {here}", *("-" if here == there else wrong[here, there] or "." for there in names)]
        for place, here in enumerate(names, 1)
    ]
    return columns([["from, to", *range(1, len(names) + 1)], *cells])


def report(results: Sequence[Result]) -> str:
    """A whole run for a person who comes by: what was tried with what, the figures, every pair."""
    entries = {result.entry: [each for each in results if each.entry == result.entry] for result in results}
    grids = [
        f"`{name}`, {', '.join(each.mode for each in runs)}:\n\n```\n{grid(runs)}\n```"
        for name, runs in entries.items()
    ]
    failures = told(results).partition("\n\n")[0] or "None."
    return (
        "\n\n".join(
            [
                f"<!-- Written by `python tests/hosts_matrix/matrix.py --write` on {datetime.now(UTC):%Y-%m-%d}. -->",
                "# Every strict host to every strict host, through LiteLLM",
                f"LiteLLM {version('litellm')}. What a story is, and what counts as wrong: the head of matrix.py.",
                f"```\n{figures(results)}\n```",
                *grids,
                f"What went wrong, equal ones in one line:\n\n```\n{failures}\n```",
            ]
        )
        + "\n"
    )


RESULT = Path(__file__).with_name("RESULT.md")


def main() -> int:
    """Run and print; the status says whether all is clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many targets a source instead of all")
    parser.add_argument("--only", nargs="+", default=(), help="hosts, by their names in hosts_matrix/hosts.py")
    parser.add_argument("--entry", nargs="+", choices=ENTRIES, default=list(ENTRIES))
    parser.add_argument("--mode", nargs="+", default=("sync", "async", "stream"))
    parser.add_argument("--jobs", type=int, default=2, help="so many processes")
    parser.add_argument("--write", action="store_true", help="the table goes to RESULT.md too; a whole run only")
    parser.add_argument("--what", choices=("before", "after"), default="after")
    asked = parser.parse_args()
    part = asked.sample or asked.only or asked.what != "after" or {*asked.entry} != {*ENTRIES}
    if asked.write and part:
        parser.error("--write: only a whole run is worth keeping; leave out --sample, --only, --entry and --what")
    runs = [(name, mode) for name in asked.entry for mode in ENTRIES[name].modes if mode in asked.mode]
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn"), initializer=quiet) as pool:
        futures = [
            pool.submit(run, n, m, pairs(ENTRIES[n], asked.only, asked.sample, m), replay=asked.what == "after")
            for n, m in runs
        ]
        for future in as_completed(futures):
            done = future.result()
            print(
                f"{done.entry} {done.mode}: {done.calls} calls, {len(done.failures)} failures",
                file=sys.stderr,
                flush=True,
            )
        results = [future.result() for future in futures]
    print(told(results))
    if asked.write:
        RESULT.write_text(report(results), encoding="utf-8")
    return 1 if any(result.failures for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
