"""A message without some of its reasoning, its notes kept: what `forms` write for the wire, made to be saved.

A form's `apply` writes what goes to a host, so our own notes go there. Here they come back: the mark beside what is
left, `turn`, the noted order of blocks. It decides nothing, and knows of each form only where its notes stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .._decision import Act, Decision, Zone
from .._history import History, Message
from .._origin import MARK
from ..forms import LAYOUT, PSF, TURN, Form, plain
from ..forms._carriers import STRINGS
from ..forms._langchain_blocks import FIELD, KWARGS, THINKING
from ..forms._langchain_write import Edited
from ._repair_lines import Data

KEEP = Act("keep", "own")
_PSF_DOT = "psf."
_DETAILS = "reasoning_details"


def rewritten(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """The row with a decision written into it and every note of ours kept; None where nothing of it is left."""
    write = _WRITERS.get(form.name, _beside_role)
    return write(form, row, shape, decision)


def _applied(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """What the form makes of one row; nothing goes for being unfit for a wire."""
    bare = replace(shape, spare=())
    fill, decision = decision.fill, decision._replace(fill=None) if form.back is not None else decision
    out = form.apply([row], History([bare], frozenset({bare})), [Zone(0, 1, {bare: decision})])
    if not out:
        return None
    if fill is not None and form.back is not None:
        return _with_fill(out[0], *fill)
    found: Data = out[0]
    return found


def _with_fill(row: Data, carrier: str, text: str) -> Data:
    """A placeholder in LangChain's own places: there is no wire here."""
    if carrier in STRINGS:
        named = {} if carrier == STRINGS[0] else {FIELD: {"id": carrier}}
        return Edited(row, {KWARGS: {**row[KWARGS], STRINGS[0]: text, **named}})
    if carrier != THINKING:
        return row  # Gemini's sentinel: the class writes it itself
    content = row["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content != "" else []
    return Edited(row, {"content": [{"type": "thinking", "thinking": text, "signature": ""}, *blocks]})


def _langchain(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """The mark stands beside the reasoning; it goes with the last of it."""
    if shape.parts and len(_gone(shape, decision)) == len(shape.parts) and MARK in row[KWARGS]:
        row = Edited(row, {KWARGS: {key: value for key, value in row[KWARGS].items() if key != MARK}})
    return _applied(form, row, shape, decision)


def _gone(shape: Message, decision: Decision) -> list[tuple[str, int | None]]:
    acts = zip(shape.parts, decision.acts, strict=False)
    return [(part.carrier, part.item) for part, act in acts if act.action == "drop"]


def _chat(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """The chat forms: LiteLLM's field holds the mark, the order of blocks, and some reasoning of its own."""
    fields, gone = row.get(PSF), _gone(shape, decision)
    pairs = [
        (part, act)
        for part, act in zip(shape.parts, decision.acts, strict=False)
        if not part.carrier.startswith(_PSF_DOT)
    ]
    less = replace(shape, parts=tuple(part for part, _ in pairs), ordered=False)
    new = _applied(form, row, less, decision._replace(acts=tuple(act for _, act in pairs)))
    if new is None or not isinstance(fields, Mapping):
        return new
    inside = {key: value for key, value in fields.items() if (_PSF_DOT + key, None) not in gone}
    copy = dict(new)
    if any(carrier == _DETAILS for carrier, _ in gone) and _DETAILS not in row:
        inside.pop(_DETAILS, None)
        if _DETAILS in copy:
            inside[_DETAILS] = copy.pop(_DETAILS)
    blocks = frozenset(item for carrier, item in gone if carrier == "thinking_blocks")
    if blocks and isinstance(inside.get(LAYOUT), list):
        inside[LAYOUT] = _less_order(inside[LAYOUT], blocks)
    if len(gone) == len(shape.parts):  # the mark stands for reasoning, and none is left: a placeholder is nobody's
        inside.pop(MARK, None)
        inside.pop(LAYOUT, None)
    copy.pop(PSF, None)
    return {**copy, PSF: inside} if inside else copy


def _less_order(layout: Iterable[Any], gone: frozenset[int | None]) -> list[Any]:
    left, number = [], 0
    for entry in layout:
        if entry != "thinking":
            left.append(entry)
            continue
        if number not in gone:
            left.append(entry)
        number += 1
    return left


def _anthropic(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """Each block has a mark of its own."""
    new = _applied(form, row, shape, decision)
    if new is None or not isinstance(row.get("content"), list):
        return None if new is None else _noted(new, row, (PSF, TURN))
    out = {item for carrier, item in _gone(shape, decision) if carrier == THINKING}
    bared = {item for carrier, item in _gone(shape, decision) if carrier != THINKING}
    stayed = [(item, plain(block)) for item, block in enumerate(row["content"]) if item not in out]
    blocks = list(new["content"])
    first = len(blocks) - len(stayed)  # a placeholder stands in front
    for place, (item, old) in enumerate(stayed, first):
        if PSF in old and item not in bared:
            blocks[place] = {**blocks[place], PSF: old[PSF]}
    return _noted({**new, "content": blocks}, row, (PSF, TURN))


def _noted(new: Data, row: Data, names: tuple[str, ...]) -> Data:
    """The new row with the notes of the old one."""
    missing = {name: row[name] for name in names if name in row and name not in new}
    return {**new, **missing} if missing else new


def _beside_role(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    """Gemini, Converse: the mark stands beside the role; it goes with the last of the reasoning."""
    new = _applied(form, row, shape, decision)
    if new is None:
        return None
    rest = len(_gone(shape, decision)) < len(shape.parts) or not shape.parts
    return _noted(new, row, (MARK, TURN) if rest else (TURN,))


def _item(form: Form, row: Data, shape: Message, decision: Decision) -> Data | None:
    new = _applied(form, row, shape, decision)
    if new is None or PSF not in row:
        return new
    fields = dict(row[PSF])
    if any(carrier == "tool_calls.extra_content" for carrier, _ in _gone(shape, decision)):
        fields.pop("thought_signature", None)
    return {**new, PSF: fields} if fields else {key: value for key, value in new.items() if key != PSF}


_WRITERS: dict[str, Callable[[Form, Data, Message, Decision], Data | None]] = {
    "chat": _chat,
    "litellm": _chat,
    "ollama": _chat,
    "langchain": _langchain,
    "anthropic": _anthropic,
    "responses": _item,
}
"""Form → how a row of it is written; the others keep their mark beside the role."""
