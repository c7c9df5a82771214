"""Where every part of a history comes from: its mark, the store, or what a plan of the same messages kept.

One look-up asks the store for all that no mark speaks for, and for what a client has dropped. Nothing is judged here:
`_engine` decides what may go, and `_restore` which of the store's replies is the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ._history import History, Message, Part, StartsTurn
from ._known import Known, memory_of
from ._origin import Origin
from ._restore import Recalled, recall, start_of
from .forms import Form, digest


def recalled_for(
    messages: Any,
    rows: list[Mapping[str, Any]],
    form: Form,
    starts_turn: StartsTurn | None,
    known: Known,
    request: Mapping[str, Any] | None,
) -> tuple[History, Recalled | None]:
    """The history, and what the store had for it: what a client dropped is back in it. None without such a store."""
    history = form.view(rows, starts_turn).check_whole()
    memory = memory_of(known)
    if memory is None or form.recall is None:
        return history, None
    unproven = list(dict.fromkeys(map(digest, _unproven(history, rows, form))))
    found = recall(messages, rows, form, memory, unproven, start_of(request))
    return found.told(form.view(found.rows, starts_turn) if found.restored else history), found


def _unproven(history: History, rows: Sequence[Mapping[str, Any]], form: Form) -> Iterator[str]:
    """The payloads that no mark speaks for."""
    for shape, row in zip(history.rows, rows, strict=True):
        for part in shape.parts:
            if not part.marked and part.value == "text":
                yield form.payload(row, part)


Find = Callable[[str], Collection[Origin]]
"""Payload → where it was seen to come from; empty where it was not."""


def resolve(
    history: History, rows: Sequence[Mapping[str, Any]], form: Form, find: Find, *, blanks: bool = False
) -> History:
    """Looks up what has no mark; from the end, since what is counted (see `confirm`) counts the latest first."""
    unmarked = {shape for shape in history.shapes if any(not part.marked for part in shape.parts)}
    if not unmarked:
        return history
    made: dict[tuple[Message, tuple[Part, ...]], Message] = {}
    found = list(history.rows)
    for row in range(len(rows) - 1, -1, -1):
        shape = found[row]
        if shape in unmarked:
            parts = _origins(shape, rows[row], form, find, blanks=blanks)
            if parts != shape.parts:
                found[row] = made.setdefault((shape, parts), replace(shape, parts=parts))
    return history.with_rows(found) if made else history


def _origins(shape: Message, row: Mapping[str, Any], form: Form, find: Find, *, blanks: bool) -> tuple[Part, ...]:
    seen: dict[str, frozenset[Origin]] = {}
    parts: list[Part] = []
    for part in shape.parts:
        if not part.marked and (blanks or part.value == "text"):
            payload = form.payload(row, part)
            if payload not in seen:
                seen[payload] = frozenset(find(payload))
            part = part._replace(origins=seen[payload]) if seen[payload] else part  # noqa: PLW2901
        parts.append(part)
    return tuple(parts)


def in_store(known: Known | Recalled) -> Find:
    if isinstance(known, Recalled):
        return lambda payload: known.origins.get(digest(payload), frozenset())
    return lambda payload: known.origins(digest(payload))


def by_count(kept: Mapping[str, int], origin: Origin) -> Find:
    """What a plan kept, used up once a message."""
    left = dict(kept)
    origins = frozenset({origin})

    def find(payload: str) -> frozenset[Origin]:
        left[payload] = left.get(payload, 0) - 1
        return origins if left[payload] >= 0 else frozenset()

    return find


def restored_in(
    history: History, rows: Sequence[Mapping[str, Any]], form: Form, restored: Collection[bytes]
) -> History:
    """The history with a note on every part that a store had put back before it came here in another form."""
    if not restored:
        return history
    found = list(history.rows)
    for row, shape in enumerate(history.rows):
        parts = tuple(
            part._replace(restored=part.value == "text" and digest(form.payload(rows[row], part)) in restored)
            for part in shape.parts
        )
        if parts != shape.parts:
            found[row] = replace(shape, parts=parts)
    return history.with_rows(found)
