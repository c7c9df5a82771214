"""Calls and results that do not fit together, made to fit. What every host asks, whatever its rule on reasoning.

Decided, and why:
- A reply at the end none of whose calls has a result is a running step: it stays, its results are to come.
- Anywhere else a call without a result gets a short one that says so: in the middle, and at the end beside results of
  the same reply. Every host refuses some of the results without the others, so who asks before the next request has
  lost them (a crash between tools that ran side by side). One that comes after all takes the short one's place. The
  call stays as it came, since what its model sealed is tied to it: a reasoning item to the item that follows, a block
  of Claude's to its whole message.
- A call that nobody can read (its stream was broken off) and that has no result is taken out.
- A result that stands behind something else goes to its call; one without a call goes: no host takes it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from ._repair_calls import Call, Kit, Result, is_ours
from ._repair_lines import Data, Line, Repairing, edited

RESULT = ("tool_result",)
CALL = ("tool_call",)
"""What the report calls them: each form has a name of its own."""


def answered(work: Repairing, kit: Kit) -> None:
    """Makes calls and results fit together, in place."""
    _without_twins(work, kit)
    if kit.key is None:
        work.lines = list(_Rows(work, kit).lines())
    else:
        _Blocks(work, kit, kit.key).mend()


def _without_twins(work: Repairing, kit: Kit) -> None:
    """A call that stands twice in one message, with one id: a stream that was put together twice, a row saved twice.

    Where results are blocks, hosts join neighbours of one side, so theirs count as one message.
    """
    heard: set[str] = set()
    for place, line in enumerate(work.lines):
        if kit.key is None or kit.role(line.row) != "assistant":
            heard = set()
        twins: set[int] = set()
        for call in kit.calls(line.row):
            if call.id is not None and call.id in heard:
                twins.add(call.place)
            elif call.id is not None:
                heard.add(call.id)
        row = kit.without_calls(line.row, frozenset(twins)) if twins else None
        if row is not None:
            work.lines[place] = line._replace(row=row)
            work.note(line, "assistant", "drop", "duplicate", CALL)


class _Rows:
    """Forms in which a result is a row of its own. Mutable: it knows which results have found their calls."""

    def __init__(self, work: Repairing, kit: Kit) -> None:
        self.work, self.kit = work, kit
        self.given = work.lines
        self.results: dict[str, list[int]] = defaultdict(list)
        self.called: dict[str, list[int]] = defaultdict(list)
        self.is_result = [kit.results(line.row) for line in self.given]
        pairs = zip(self.is_result, self.given, strict=True)
        self.calls = [[] if found else kit.calls(line.row) for found, line in pairs]
        for place, found in enumerate(self.is_result):
            for result in found:
                self.results[result.id or ""].append(place)
            for call in self.calls[place]:
                self.called[call.id or ""].append(place)
        self.end = max((place for place, found in enumerate(self.is_result) if not found), default=-1)
        """The last row that is no result."""
        self.number = [*accumulate(not found for found in self.is_result)]
        """Row by row, how many that are no results stand up to it: the same for results side by side."""
        self.taken: set[int] = set()
        self.heard: set[str] = set()

    def lines(self) -> Iterator[Line]:
        """The lines as they are to be."""
        place = 0
        while place < len(self.given):
            if self.is_result[place]:
                yield from self._result(place)
                place += 1
                continue
            end = place + 1
            while self.kit.runs and end < len(self.given) and self._goes_on(place, end):
                end += 1
            yield from self._step(place, end)
            place = end

    def _goes_on(self, start: int, place: int) -> bool:
        """Whether a row belongs to the run that starts there."""
        roles = (self.kit.role(self.given[each].row) for each in (start, place))
        return not self.is_result[place] and set(roles) == {"assistant"}

    def _result(self, place: int) -> Iterator[Line]:
        line = self.given[place]
        if place in self.taken:
            if self.kit.runs:
                yield line  # it may stand anywhere behind its call
            return
        twin = self.is_result[place][0].id in self.heard
        self.work.note(line, "tool", "drop", "duplicate" if twin else "no_call", RESULT)

    def _step(self, start: int, end: int) -> Iterator[Line]:
        """A reply, and behind it the results that are its own."""
        follow = end
        while follow < len(self.given) and self.is_result[follow]:
            follow += 1
        made: list[Data] = []
        found: list[int] = []
        for place in range(start, end):
            line, calls = self.given[place], self.calls[place]
            unread: set[int] = set()
            for call in calls:
                at = self._found(call, place)
                if at is not None:
                    found.append(at)
                elif call.broken:
                    unread.add(call.place)
                elif (row := self.kit.answer(call)) is not None:
                    made.append(row)
            yield from self._less(line, frozenset(unread))
        self.taken.update(found)
        if not self.kit.runs:
            yield from self._behind(sorted(found), follow)
        if found or end - 1 < self.end:  # else the step runs
            yield from map(self._made, made)

    def _made(self, row: Data) -> Line:
        made = self.work.put_in(row)
        self.work.note(made, "tool", "fill", "no_result", RESULT)
        return made

    def _behind(self, found: list[int], follow: int) -> Iterator[Line]:
        for place in found:
            if place >= follow:
                self.work.note(self.given[place], "tool", "guard", "out_of_place", RESULT)
            yield self.given[place]

    def _less(self, line: Line, unread: frozenset[int]) -> Iterator[Line]:
        if not unread:
            yield line
            return
        self.work.note(line, "assistant", "drop", "broken", CALL)
        row = self.kit.without_calls(line.row, unread)
        if row is not None:
            yield line._replace(row=row)

    def _found(self, call: Call, place: int) -> int | None:
        """Where the result of a call stands: behind it, and before another call has the same id."""
        if call.id is None:
            return None
        again = self.called[call.id]
        number = bisect_right(again, place)
        limit = again[number] if number < len(again) else len(self.given)
        behind = self.results.get(call.id, [])
        free = [at for at in self._between(behind, place, limit) if at not in self.taken]
        if not free:
            return None
        self.heard.add(call.id)
        beside = (at for at in free if self.number[at] == self.number[free[0]])
        return next((at for at in beside if not is_ours(self.kit, call, self.given[at].row)), free[0])

    def _between(self, places: list[int], start: int, limit: int) -> list[int]:
        return places[bisect_right(places, start) : bisect_left(places, limit)]


class _Change(NamedTuple):
    """What is done to the blocks of one line."""

    drop: set[int]
    put: list[object]


class _Blocks:
    """Forms in which results are blocks of the message behind the call's. Mutable, as `_Rows` is."""

    def __init__(self, work: Repairing, kit: Kit, key: str) -> None:
        self.work, self.kit, self.key = work, kit, key
        self.given = work.lines
        self.groups = self._grouped()
        self.changes: dict[int, _Change] = defaultdict(lambda: _Change(set(), []))
        self.results: dict[str, list[tuple[int, int, Result]]] = defaultdict(list)
        self.called: dict[str, list[int]] = defaultdict(list)
        for number, group in enumerate(self.groups):
            for place, result in self._results(group):
                if result.id is not None:
                    self.results[result.id].append((number, place, result))
            for place in group:
                for call in self.kit.calls(self.given[place].row):
                    self.called[call.id or ""].append(number)
        self.used: set[tuple[int, int]] = set()

    def _grouped(self) -> list[list[int]]:
        """Places of messages, neighbours of one side together, as hosts join them."""
        groups: list[list[int]] = []
        before = None
        for place, line in enumerate(self.given):
            side = self.kit.role(line.row) == "assistant"
            if side is not before:
                groups.append([])
            groups[-1].append(place)
            before = side
        return groups

    def _results(self, group: list[int]) -> Iterator[tuple[int, Result]]:
        return ((place, result) for place in group for result in self.kit.results(self.given[place].row))

    def mend(self) -> None:
        """Makes them fit, in place."""
        for number, group in enumerate(self.groups):
            calls = [(place, call) for place in group for call in self.kit.calls(self.given[place].row)]
            if calls:
                self._step(number, calls)
        for group in self.groups:
            self._without_strays(group)
        self.work.lines = [self._written(place, line) for place, line in enumerate(self.given)]

    def _step(self, number: int, calls: list[tuple[int, Call]]) -> None:
        behind = self.groups[number + 1] if number + 1 < len(self.groups) else []
        waiting = list(self._results(behind))
        by_id = all(call.id is not None for _, call in calls) and all(result.id is not None for _, result in waiting)
        lacking: list[Call] = []
        found = False
        for place, call in calls:
            at = self._at(call, waiting, by_id=by_id)
            if at is not None:
                there, result = waiting.pop(at)
                self.used.add((there, result.place))
                found = True
            elif call.broken:
                self.changes[place].drop.add(call.place)
                self.work.note(self.given[place], "assistant", "drop", "broken", CALL)
            elif behind:
                lacking.append(call)
        runs = len(lacking) > 0 and not found and self._runs(number + 1)
        for call in lacking:
            self._answer(number, behind, call, runs=runs)

    def _at(self, call: Call, waiting: list[tuple[int, Result]], *, by_id: bool) -> int | None:
        """Where the result of a call is among those that wait: a tool's own before one that we put in."""
        first = None
        for at, (place, result) in enumerate(waiting):
            if _fits(call, result, by_id=by_id):
                if not is_ours(self.kit, call, self.given[place].row[self.key][result.place]):
                    return at
                first = at if first is None else first
        return first

    def _answer(self, number: int, behind: list[int], call: Call, *, runs: bool) -> None:
        """A result from further behind, else a short one; none where the step is still running."""
        line = self.given[behind[0]]
        later = self._later(number, call)
        if later is not None:
            there, result = later
            self.used.add((there, result.place))
            self.changes[there].drop.add(result.place)
            self.changes[behind[0]].put.append(self.given[there].row[self.key][result.place])
            self.work.note(self.given[there], "tool", "guard", "out_of_place", RESULT)
        elif not runs and (block := self.kit.answer(call)) is not None:
            self.changes[behind[0]].put.append(block)
            self.work.note(line, "tool", "fill", "no_result", RESULT)

    def _later(self, number: int, call: Call) -> tuple[int, Result] | None:
        """The result further behind, before another call has the same id."""
        again = self.called[call.id or ""]
        next_one = bisect_right(again, number)
        limit = again[next_one] if next_one < len(again) else len(self.groups)
        found = self.results.get(call.id or "", [])
        for group, place, result in found[bisect_right(found, number, key=lambda each: each[0]) :]:
            if group > limit:
                break
            if (place, result.place) not in self.used:
                return place, result
        return None

    def _runs(self, number: int) -> bool:
        """Whether a group is the last and holds results alone."""
        if number < len(self.groups) - 1:
            return False
        blocks = (self.given[place].row.get(self.key) for place in self.groups[number])
        return all(
            isinstance(each, list) and len(each) > 0 and len(self.kit.results(self.given[place].row)) == len(each)
            for each, place in zip(blocks, self.groups[number], strict=True)
        )

    def _without_strays(self, group: list[int]) -> None:
        heard = {result.id for place, result in self._results(group) if (place, result.place) in self.used}
        for place, result in self._results(group):
            if (place, result.place) not in self.used:
                self.changes[place].drop.add(result.place)
                twin = result.id is not None and result.id in heard
                self.work.note(self.given[place], "tool", "drop", "duplicate" if twin else "no_call", RESULT)

    def _written(self, place: int, line: Line) -> Line:
        if place not in self.changes:
            return line
        drop, put = self.changes[place]
        content = line.row.get(self.key)
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        first = {result.place for result in self.kit.results(line.row)}
        lead = next((number for number in range(len(blocks)) if number not in first), len(blocks))
        kept = [
            *(block for number, block in enumerate(blocks[:lead]) if number not in drop),
            *put,
            *(block for number, block in enumerate(blocks[lead:], lead) if number not in drop),
        ]
        return line._replace(row=edited(self.work.form, line.row, {self.key: kept}))


def _fits(call: Call, result: Result, *, by_id: bool) -> bool:
    return call.id == result.id if by_id else call.name == result.name
