"""From a place on the wire back to the caller's messages: which row, which part of it.

A host counts what it was sent: without the messages that the plan left out, without system messages where its dialect
has them elsewhere, neighbours joined where a framework writes another dialect from chat messages. Where the plan's
count finds nothing, the list itself is counted: somebody may have sent it as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from .._decision import Decision
from .._history import History, Message, Part
from .._plan import Work
from ..forms import plain
from ._repair_error import Place
from ._repair_lines import Data

ITEM, REFERENCE, NAME, IDS = "content.item", "item_reference", "item.id", "__openai_function_call_ids__"
_JOINING = frozenset({"anthropic", "bedrock", "gemini"})
"""Dialects that a chat form is rewritten for: neighbours of one side become one message, system messages go apart."""
_APART = frozenset({"system", "developer"})

Wanted = Callable[[int, Part], bool]
"""Whether a part of a row is what an error may speak of."""
Hits = dict[int, set[int]]
"""Row → places among the parts of its shape."""


class Sent(NamedTuple):
    """What is known of the request that was refused."""

    work: Work
    decisions: list[Decision]
    certain: bool
    """The plan's own messages went; else the caller's may have gone as they stand."""
    dialect: str

    @property
    def history(self) -> History:
        return self.work.draft.history

    @property
    def rows(self) -> tuple[Data, ...]:
        return self.work.rows

    def went(self, row: int, place: int) -> bool:
        """Whether a part was on the wire, as far as anybody can say."""
        acts = self.decisions[row].acts
        return not self.certain or (self.decisions[row].remove is None and acts[place].action != "drop")

    def said(self) -> Iterator[tuple[int, Message]]:
        """The assistant's rows."""
        return ((row, shape) for row, shape in enumerate(self.history.rows) if shape.role == "assistant")


def sent_of(work: Work, dialect: str, *, certain: bool) -> Sent:
    """What a plan says of the request."""
    return Sent(work, [decision for _, decision in work.draft.decided()], certain, dialect)


def every(sent: Sent, wanted: Wanted) -> Hits:
    """All the parts of that kind."""
    hits: Hits = {}
    for row, shape in sent.said():
        found = {
            place for place, part in enumerate(shape.parts) if sent.went(row, place) and wanted(row, part)
        }  # fmt: skip
        if found:
            hits[row] = found
    return hits


def at_place(sent: Sent, place: Place, wanted: Wanted) -> Hits:
    """The parts of that kind where the error points; all of them where it does not, or points to none.

    An id is no count that may be off: of what is named by an id that stands nowhere here, nothing is taken.
    """
    hits = every(sent, wanted)
    if place.ids:
        return _by_id(sent, place, hits)
    for narrow in (_by_ends, _by_count):
        found = narrow(sent, place, hits)
        if found:
            return found
    return hits


def _by_id(sent: Sent, place: Place, hits: Hits) -> Hits:
    ids = frozenset(place.ids)
    found = {row: _named(sent, row, hits[row], ids) for row in rows_named(sent, ids) if row in hits}
    return {row: parts for row, parts in found.items() if parts}


def _named(sent: Sent, row: int, parts: set[int], ids: frozenset[str]) -> set[int]:
    """Of several items in one message the ones that are named; a part that is no item is of the whole message."""
    return {at for at in parts if sent.history.rows[row].parts[at].item is None or ids & _ids_of(sent, row, at)}


def _ids_of(sent: Sent, row: int, at: int) -> set[str]:
    """The ids that stand in the item of a part."""
    part, data = sent.history.rows[row].parts[at], sent.rows[row]
    lists = [data.get("content"), data.get(part.carrier), (data.get("additional_kwargs") or {}).get(part.carrier)]
    found = next((each for each in reversed(lists) if isinstance(each, list) and len(each) > (part.item or 0)), None)
    return set() if found is None else {*_ids(found[part.item or 0])}


def rows_named(sent: Sent, ids: frozenset[str]) -> list[int]:
    """The assistant's rows in which one of the ids stands as an item's. One walk, however many there are."""
    return [row for row, _ in sent.said() if not ids.isdisjoint(_ids(sent.rows[row]))]


def _ids(value: object, *, of_calls: bool = False) -> Iterator[str]:
    """What stands under `id`, however deep, and the ids that LangChain keeps for calls; no other text is a name."""
    value = plain(value)
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, str):
                yield from (each,) if of_calls or key == "id" else ()
            else:
                yield from _ids(each, of_calls=key == IDS)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _ids(each)


def _by_ends(sent: Sent, place: Place, hits: Hits) -> Hits:
    if place.ends is None:
        return {}
    found: Hits = {}
    for row, parts in hits.items():
        for at in parts:
            seal = sent.work.form.payload(sent.rows[row], sent.history.rows[row].parts[at]).rpartition("\0")[2]
            if seal.startswith(place.ends[0]) and seal.endswith(place.ends[1]):
                found.setdefault(row, set()).add(at)
    return found


def _by_count(sent: Sent, place: Place, hits: Hits) -> Hits:
    if place.message is None:
        return {}
    for rows, planned in ((planned_rows(sent, place.message), True), ([place.message], False)):
        found = {row: hits[row] for row in rows if row in hits}
        if found and (planned or not sent.certain):
            return {row: _narrowed(sent, row, at, place.block, planned) for row, at in found.items()}
    return {}


def _narrowed(sent: Sent, row: int, parts: set[int], block: int | None, planned: bool) -> set[int]:
    """The one part that stands in a block's place; all of them where that is none of them."""
    shape = sent.history.rows[row]
    if block is None:
        return parts
    for counted in [True, False] if planned and not sent.certain else [planned]:
        item = _item_at(sent, row, block, counted)
        found = {at for at in parts if shape.parts[at].item == item and _in_blocks(sent, shape.parts[at])}
        if found:
            return found
    return parts


def _in_blocks(sent: Sent, part: Part) -> bool:
    return part.carrier.startswith("content.") or part.carrier in ("thinking_blocks", "tool_calls.extra_content")


def _item_at(sent: Sent, row: int, block: int, counted: bool) -> int | None:
    """The place in the caller's message of what was sent as that block."""
    if not counted:
        return block
    shape, decision = sent.history.rows[row], sent.decisions[row]
    acts = zip(shape.parts, decision.acts, strict=False)
    gone = {part.item for part, act in acts if act.action == "drop" and _in_blocks(sent, part)}
    first = 1 if decision.fill is not None else 0
    item = block - first
    for each in sorted(each for each in gone if each is not None):
        item += each <= item
    return item


def planned_rows(sent: Sent, number: int) -> list[int]:
    """The caller's rows that were sent as the message of this number; none where that cannot be said."""
    form = sent.work.form.name
    joins = form != sent.dialect and sent.dialect in _JOINING
    if form != sent.dialect and sent.dialect == "responses":
        return []
    at, before, found = -1, "", []
    for row, (shape, decision) in enumerate(zip(sent.history.rows, sent.decisions, strict=True)):
        if decision.remove is not None or (form == "responses" and _is_gone(shape, decision)):
            continue
        if joins and shape.role in _APART:
            continue
        side = "assistant" if shape.role == "assistant" else "user"
        at += not (joins and side == before)
        before = side
        if at == number:
            found.append(row)
        elif at > number:
            break
    return found


def _is_gone(shape: Message, decision: Decision) -> bool:
    acts = zip(shape.parts, decision.acts, strict=False)
    return any(part.carrier in (ITEM, REFERENCE) and act.action == "drop" for part, act in acts)
