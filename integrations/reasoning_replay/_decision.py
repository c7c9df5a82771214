"""What a decision is: values, their reasons, and the lines that a report makes of them.

Nothing is decided here (`_engine` does), and nothing here knows a host, a wire key or a framework.
Contract: one `Decision` a row of a history; rows that lie alike share a `Zone`, messages that look alike a decision.
REASONS is read by the engine, the report and the docs. A new code needs a sentence there and a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ._history import History, Message, Part

Action = Literal["keep", "drop", "fill", "restore", "rename", "sentinel", "guard"]

REASONS: dict[str, str] = {
    "own": "The host wrote it and takes it back.",
    "own_renamed": "The host wrote it and takes it back under another field.",
    "own_unsigned": "The host's own text; its signature went, since this host takes none.",
    "filler": "A blank placeholder that the host takes where it demands the field.",
    "filler_dropped": "A blank placeholder where the host demands none.",
    "window": "An earlier turn: the host does not take its reasoning any more.",
    "prefix": "An earlier block cannot be proven, and this model binds every block to what came before it.",
    "foreign": "Another host, or another vendor behind the same router, wrote it.",
    "sealed": "The host cannot open it: other dialect, model, account or key.",
    "unknown_origin": "Nothing says which host wrote it; adopt(messages, origin) does.",
    "forbidden": "The host refuses reasoning from this model's earlier replies.",
    "not_taken": "The host does not take this field.",
    "unsigned": "The host refuses reasoning without a signature.",
    "refused": "The host refuses this kind of block.",
    "empty": "An empty value that this host does not need.",
    "missing": "The host demands the field, and the reasoning for it is not there.",
    "restored": "The client had dropped it; the store had it for just this conversation.",
    "miss": "The host demands it, and the store has nothing that is surely this message's.",
    "emptied": "Nothing was left of the message, and an empty one is refused.",
    "reasoning_only": "Only reasoning was left of the message, and the host refuses that.",
    "thinking_off": "Thinking was switched off for this request.",
    "forced_tools": "Thinking went: the host refuses it where a tool is forced.",
    "budget": "The thinking budget was capped, or thinking went: max_tokens leaves no room for it.",
    "lead_block": "Thinking went: the running tool loop does not begin with a block of this host.",
    "beside_thinking": "With thinking went what is only allowed beside it: edits of the context, beta values.",
    "pair": "A reasoning item goes only with what followed it in its reply, and that is gone.",
    "status": "The host refuses the status of an item that it gave itself.",
    "cache_point": "A cache point moved: the host refuses one right behind reasoning.",
    "disabled": "Thinking was switched off, as the policy asks where required reasoning is missing.",
    "elsewhere": "Another endpoint keeps the conversation that the request named; its messages, in hand, went instead.",
    "kept_turns": "The host's own parameter was set, so that it keeps the earlier turns that the policy sends.",
    "lost": "It is but the name of what this host does not have in store.",
    "no_result": "A call had no result and the conversation went on: a short result that says so was put in.",
    "no_start": "It began with a reply, which the host refuses: a line of the user that says so was put in.",
    "no_call": "The result of a call that is not in the history: every host refuses it.",
    "out_of_place": "The result of a call stood behind something else: it went to its call.",
    "duplicate": "It stood there twice.",
    "broken": "A piece of a stream that was broken off, or joined wrongly.",
    "joined": "Two messages of one role in a row, which the host refuses, became one.",
    "disabled_after": "Thinking was switched off: the host refused the request, and nothing smaller answers that.",
    "retried": "The host refused the request for its history; repaired, it was sent once more.",
    "framework": "It was to go, and the framework took it out on the way.",
    "fault": "A fault inside reasoning-replay: everything was stripped, and the call went on.",
}
"""Reason code → one sentence for people."""

TOUCHED = {
    "beside_thinking": ("context_management", "anthropic-beta"),
    "status": ("status",),
    "cache_point": ("cachePoint",),
}
"""Reason of a guard → the fields that it names in a report, where that is not `thinking`."""


class Act(NamedTuple):
    """What happens to one part."""

    action: Action
    reason: str
    to: str | None = None
    """The carrier that it is written to, where that is another one."""


class Decision(NamedTuple):
    """What happens to one message."""

    acts: tuple[Act, ...] = ()
    """One for each part of the shape, in order."""
    fill: tuple[str, str] | None = None
    """Carrier and text of the placeholder that the host demands."""
    remove: str | None = None
    """The reason why the whole message is left out."""
    blank_content: bool = False
    """Only reasoning is left: the content is to be an empty string, never null."""
    mends: tuple[str, ...] = ()
    """The guards of its host that the form is to follow when it writes the message."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a report: sizes and names, never text."""

    index: int | None
    """Place in the caller's list; None for the request itself."""
    output: int | None
    """Place in the planned list; None where the message was left out."""
    role: str
    action: Action
    reason: str
    fields: tuple[str, ...]
    bytes: int


_FRAMEWORK = Act("drop", "framework")
NOTHING = Decision()
"""For messages that hold no reasoning and get none."""


class Zone(NamedTuple):
    """Rows that lie alike to the window and to the scope of what is required: one decision a shape."""

    start: int
    end: int
    decisions: dict[Message, Decision]


class Draft(NamedTuple):
    """A plan before it is written: the decisions, and the request's parameters."""

    history: History
    zones: list[Zone]
    """All rows, in order."""
    request: Mapping[str, Any] | None
    guards: tuple[str, ...] = ()
    """Reasons of the guards that had something to do."""
    missing: int | None = None
    """The first row where required reasoning is missing, before any fill."""

    def decided(self) -> Iterator[tuple[Message, Decision]]:
        """Shape and decision of every row."""
        return decided(self.history, self.zones)

    def messages_with(self, reason: str) -> int:
        """How many messages have a part that was decided with this reason."""
        return sum(any(act.reason == reason for act in decision.acts) for _, decision in self.decided())

    def counts(self) -> Counter[str]:
        """The number of the report's lines by their action, worked out shape by shape: without any line."""
        found = Counter[str]({"guard": len(self.guards)} if self.guards else {})
        for zone in self.zones:
            for shape, often in Counter(self.history.rows[zone.start : zone.end]).items():
                for action in _actions(shape, zone.decisions[shape]):
                    found[action] += often
        return found

    def rows(
        self, size: Callable[[int, Part], int], lost: Callable[[int, Part, Act], bool] | None = None
    ) -> Iterator[Row]:
        """The lines of the report, in the order of the messages.

        `size` tells the bytes of a part in a row; `lost` whether a part that was to go did not arrive on the wire.
        """
        for reason in self.guards:
            yield Row(None, None, "request", "guard", reason, TOUCHED.get(reason, ("thinking",)), 0)
        removed = 0
        for index, (shape, decision) in enumerate(self.decided()):
            gone = decision.remove is not None
            output = None if gone else index - removed
            removed += gone
            if lost is not None and any(act.action != "drop" for act in decision.acts):
                acts = zip(shape.parts, decision.acts, strict=True)
                told = [_FRAMEWORK if act.action != "drop" and lost(index, part, act) else act for part, act in acts]
                decision = decision._replace(acts=tuple(told))  # noqa: PLW2901
            if decision is not NOTHING:
                yield from _lines(index, output, shape, decision, [size(index, part) for part in shape.parts])


def decided(history: History, zones: list[Zone]) -> Iterator[tuple[Message, Decision]]:
    """Shape and decision of every row."""
    for zone in zones:
        for shape in history.rows[zone.start : zone.end]:
            yield shape, zone.decisions[shape]


@lru_cache(maxsize=1024)
def _actions(shape: Message, decision: Decision) -> tuple[Action, ...]:
    """The action of each line that the report has of a message."""
    if decision == NOTHING:
        return ()
    return tuple(line.action for line in _lines(0, 0, shape, decision, [0] * len(shape.parts)))


def _lines(index: int, output: int | None, shape: Message, decision: Decision, sizes: list[int]) -> Iterator[Row]:
    grouped: dict[tuple[Action, str], tuple[list[str], int]] = {}
    for part, act, size in zip(shape.parts, decision.acts, sizes, strict=True):
        stays = act.action != "drop" and decision.remove is not None
        key: tuple[Action, str] = ("drop", decision.remove or "") if stays else (act.action, act.reason)
        if part.restored and key[0] in ("keep", "rename"):
            key = "restore", "restored"
        names, total = grouped.get(key, ([], 0))
        if (name := act.to or part.carrier) not in names:
            names.append(name)
        grouped[key] = names, total + size
    if decision.remove is not None:
        grouped.setdefault(("drop", decision.remove), ([], 0))
    for (action, reason), (names, total) in grouped.items():
        yield Row(index, output, shape.role, action, reason, tuple(names), total)
    for guard in decision.mends if decision.remove is None else ():
        yield Row(index, output, shape.role, "guard", guard, TOUCHED[guard], 0)
    if decision.fill is not None:
        carrier, text = decision.fill
        if shape.missed:
            yield Row(index, output, shape.role, "restore", "miss", (carrier,), 0)
        yield Row(index, output, shape.role, "fill", "missing", (carrier,), len(text.encode()))
