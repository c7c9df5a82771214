"""Rows healed one by one: what is empty, what stands twice, pieces that were joined wrongly, roles in a row.

What every host refuses, whatever its rule on reasoning; each function sees the lines and changes them in place.
Decided: a message of the assistant that says nothing goes, a user's only where its form has no empty one (an empty
user message starts a turn); of two equal sealed blocks in a message the first stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from .._decision import Act, Decision
from .._history import Message
from ..forms import PSF, digest, plain
from ..forms._langchain_blocks import KWARGS
from ._repair_calls import KITS, Call
from ._repair_lines import Data, Line, Repairing, edited
from ._repair_parts import KEEP, rewritten

_DETAILS = "reasoning_details"
_TWICE = Act("drop", "duplicate")


def _shapes(work: Repairing) -> list[Message]:
    return work.form.view(work.rows, None).rows


# Pieces ---------------------------------------------------------------------------------------------------------------


def whole(work: Repairing) -> None:
    """Details that a framework joined by their `index`: words that it doubled become one, pieces of a text one text."""
    for place, line in enumerate(work.lines):
        row = _with_details(work, line.row)
        if row is not line.row:
            work.note(line, "assistant", "guard", "broken", (_DETAILS,))
            work.lines[place] = line._replace(row=row)


def _with_details(work: Repairing, row: Data) -> Data:
    for holder in (None, "additional_kwargs", PSF):
        fields = row if holder is None else row.get(holder)
        if not isinstance(fields, Mapping) or not isinstance(fields.get(_DETAILS), list):
            continue
        given = fields[_DETAILS]
        made = _joined([_undoubled(plain(each)) for each in given])
        if made != [plain(each) for each in given]:
            changes = {_DETAILS: made}
            return edited(work.form, row, changes if holder is None else {holder: {**fields, **changes}})
    return row


_WORDS = ("type", "format")
"""Of every piece of a stream the same: joined they stand there as often as there were pieces (langchain-core)."""


def _undoubled(detail: Any) -> Any:
    if not isinstance(detail, Mapping):
        return detail
    words = {key: _once(detail[key]) for key in _WORDS if isinstance(detail.get(key), str)}
    return {**detail, **words} if any(detail[key] != word for key, word in words.items()) else detail


def _once(word: str) -> str:
    found = re.fullmatch(r"(.{4,}?)\1+", word)
    return word if found is None else found[1]


_TEXT = {"reasoning.text": "text", "reasoning.summary": "summary"}


def _joined(details: list[Any]) -> list[Any]:
    """Pieces of one text that were never joined; what is sealed alone stays as it is: nobody knows where it was cut."""
    out: list[Any] = []
    for detail in details:
        before = out[-1] if out else None
        key = _TEXT.get(str(detail.get("type"))) if isinstance(detail, Mapping) else None
        same = isinstance(before, Mapping) and key is not None and detail.get("index") is not None
        same = same and all(before.get(name) == detail.get(name) for name in ("type", "index"))  # type: ignore[union-attr]
        if same and before is not None and before.get("signature") is None:
            text = str(before.get(str(key)) or "") + str(detail.get(str(key)) or "")
            out[-1] = {**before, **{name: value for name, value in detail.items() if value is not None}, str(key): text}
        else:
            out.append(detail)
    return out


# What stands twice ----------------------------------------------------------------------------------------------------


def once(work: Repairing) -> None:
    """Of equal sealed blocks in a message, of items with one id and of a reply that was saved twice the first stays."""
    items: set[str] = set()
    lines: list[Line] = []
    before: Data | None = None
    for line, shape in zip(work.lines, _shapes(work), strict=True):
        if shape.role == "assistant" and before == line.row and _cannot_be_twice(work.form.name, line.row, shape):
            work.note(line, shape.role, "drop", "duplicate")
            continue
        before = line.row if shape.role == "assistant" else None
        identity = line.row.get("id") if work.form.name == "responses" else None
        if isinstance(identity, str) and identity in items:
            work.note(line, shape.role, "drop", "duplicate", ("id",))
            continue
        if isinstance(identity, str) and len(identity):
            items.add(identity)
        lines.append(_less_twins(work, line, shape))
    work.lines = lines


def _cannot_be_twice(form: str, row: Data, shape: Message) -> bool:
    """Whether a row equal to its neighbour is the same reply once more, and no second one with the same words.

    A seal and the id of a call are made once. Where neighbours are joined, words would stand doubled in one message.
    """
    kit = KITS.get(form)
    named = kit is not None and any(call.id is not None for call in kit.calls(row))
    return form in _ALTERNATES or named or any(part.kind != "text" for part in shape.parts)


def _less_twins(work: Repairing, line: Line, shape: Message) -> Line:
    if len(shape.parts) < 2:
        return line
    seen: set[tuple[str, bytes]] = set()
    acts: list[Act] = []
    for part in shape.parts:
        listed = part.item is not None and part.kind != "text" and part.carrier in _BLOCKS
        key = (part.carrier, digest(work.form.payload(line.row, part))) if listed else ("", b"")
        acts.append(_TWICE if listed and key in seen else KEEP)
        seen.add(key)
    if _TWICE not in acts:
        return line
    row = rewritten(work.form, line.row, shape, Decision(tuple(acts)))
    carriers = {part.carrier for part, act in zip(shape.parts, acts, strict=True) if act is _TWICE}
    work.note(line, shape.role, "drop", "duplicate", tuple(sorted(carriers)))
    return line if row is None else line._replace(row=row)


_ALTERNATES = frozenset({"bedrock"})
"""Forms whose hosts refuse two messages of one role in a row; the others join them."""
_BLOCKS = frozenset({"content.thinking", "thinking_blocks", "reasoning_details", "reasoning_items", "content.item"})


# What is empty --------------------------------------------------------------------------------------------------------


def _is_blank_text(block: Any) -> bool:
    """A text without a word, and nothing beside it."""
    found = plain(block)
    text = found.get("text") if isinstance(found, Mapping) and set(found) <= {"type", "text"} else None
    return isinstance(text, str) and text.strip() == ""


_EMPTY: Mapping[str, Callable[[Any], bool]] = {
    "anthropic": lambda block: _is_blank_text(block) and plain(block)["text"] == "",
    "bedrock": _is_blank_text,
}
"""Form → blocks that its hosts refuse: "text content blocks must be non-empty", "The text field … is blank"."""


def filled(work: Repairing) -> None:
    """No message without content, and no empty text among its blocks."""
    kit = KITS.get(work.form.name)
    key = None if kit is None else kit.key
    empty = _EMPTY.get(work.form.name)
    lines: list[Line] = []
    for line, shape in zip(work.lines, _shapes(work), strict=True):
        row = line.row
        blocks = row.get(key) if key is not None else None
        if empty is not None and key is not None and isinstance(blocks, list) and any(map(empty, blocks)):
            row = {**row, key: [block for block in blocks if not empty(block)]}
        gone = _says_nothing(row, shape, key, work.form.name)
        if gone or row is not line.row:
            work.note(line, shape.role, "drop", "emptied", () if gone else ("text",))
        if not gone:
            lines.append(line._replace(row=row) if row is not line.row else line)
    work.lines = lines


def _says_nothing(row: Data, shape: Message, key: str | None, form: str) -> bool:
    if key is not None:
        return row.get(key) in (None, [], "")
    return form != "responses" and shape.role == "assistant" and not shape.visible and not shape.parts


# Who speaks -----------------------------------------------------------------------------------------------------------


def alternating(work: Repairing) -> None:
    """Two messages of one role in a row become one, where their host asks for it."""
    if work.form.name not in _ALTERNATES:
        return
    lines: list[Line] = []
    for line in work.lines:
        before = lines[-1] if lines else None
        if before is None or before.row.get("role") != line.row.get("role"):
            lines.append(line)
            continue
        joined = [*(before.row.get("content") or ()), *(line.row.get("content") or ())]
        lines[-1] = before._replace(row={**line.row, **before.row, "content": joined})
        work.note(line, str(line.row.get("role")), "guard", "joined", ("content",))
    joined_some = len(lines) < len(work.lines)
    work.lines = lines
    if joined_some:  # two copies of one reply, of which one has lost something
        once(work)


NO_START = "The messages before this one are missing."
"""What is said in the place of the user's message that the first reply answered."""
_MADE: Mapping[str, Callable[[], Data]] = {
    "bedrock": lambda: {"role": "user", "content": [{"text": NO_START}]},
    "gemini": lambda: {"role": "user", "parts": [{"text": NO_START}]},
    "langchain": lambda: {"type": "human", "content": NO_START, KWARGS: {}},
}
_OPENED: Mapping[str, Callable[[list[list[Call]]], bool]] = {
    "bedrock": lambda calls: True,  # "A conversation must start with a user message."
    "gemini": any,  # "function call turn comes immediately after a user turn", also behind words of the model
}
"""Dialect → whether its hosts refuse a conversation that begins with replies, by the calls in them."""


def opened(work: Repairing, dialect: str) -> None:
    """A user's line in front of a first reply that its host takes from nobody: the head of the history is gone.

    The reply stays, and with it all that was said and done since; what stood before it nobody can tell.
    """
    refused, kit = _OPENED.get(dialect), KITS.get(work.form.name)
    if refused is None or kit is None or work.form.name not in _MADE:
        return
    start = next((at for at, line in enumerate(work.lines) if kit.role(line.row) not in ("system", "developer")), None)
    if start is None:
        return
    first = takewhile(lambda line: kit.role(line.row) == "assistant", work.lines[start:])
    calls = [kit.calls(line.row) for line in first]
    if calls and refused(calls):
        line = work.put_in(_MADE[work.form.name]())
        work.lines = [*work.lines[:start], line, *work.lines[start:]]
        work.note(line, "user", "fill", "no_start")
