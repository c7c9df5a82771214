"""A history for people: every message without its reasoning, and a note of what was there.

A form's own `strip` takes the carriers out, `_redact_values` what a framework keeps beside them, `_redact_said` what
is left in what the message says: whatever form was named, nothing stays that looks like reasoning. In the mark's place
stands a word that `prepare` refuses, so that nobody goes on with a copy without its reasoning; a library that does
not know the word takes it for a broken mark, and what has one is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._history import Message
from .._origin import MARK, REDACTED
from ..forms import PSF, TURN, Form, digest, form_for, given_back, size_of
from ..forms._langchain_blocks import FIELD
from ..forms._langchain_write import Edited
from ._redact_quotes import Secrets
from ._redact_said import PLACES, Taken
from ._redact_values import NOTE, Cover, texts_in, unquoted

_OURS = (MARK, TURN, FIELD, PSF)
_NONE = Secrets(())
_SEEN = frozenset({*PLACES, "arguments", "input"})
"""Keys of what a message says and gets to know: quotations of reasoning stay in them."""
_REPLIES = frozenset({"assistant", "model", "ai", "AIMessageChunk"})
"""Roles and types of replies in every form, whichever was named."""


def redact(messages: Any, *, form: str | None = None, dialect: str = "chat") -> list[Any]:
    """A copy of the messages without any reasoning, as many as there were, for people to read and to keep.

    A message that held reasoning, or something sealed, says beside where its mark would stand what it was: a list
    `reasoning_redacted` with `field`, `bytes` and `digest` (16 bytes as hex, as stores name it) of each piece. The
    mark is the word "redacted", so that `prepare` raises HistoryError: load the whole history to go on with it.
    What a message says, its calls and their results stay; a message that held nothing else stays, empty.

    Args:
        messages: a history as `prepare` takes it; nothing of it is changed.
        form: how it is written, where that is not the dialect's own form: `litellm`, `langchain`. Of messages in
            another form all that looks like reasoning goes too.
        dialect: what its host speaks.

    Returns:
        The very same list where there was no reasoning; else a new one that shares the messages without.

    Raises:
        HistoryError: messages that cannot be read; it names the message and what is allowed.
    """
    shape = form_for(form, dialect)
    rows = shape.rows(messages)
    history = shape.view(rows, None)
    out = [_redacted(shape, row, look) for row, look in zip(rows, history.rows, strict=True)]
    if all(new is old for new, old in zip(out, rows, strict=True)):
        out = rows
    return given_back(shape, messages, rows, out)


def _redacted(form: Form, row: Mapping[str, Any], shape: Message) -> Any:
    """One row without its reasoning; the very same one where it has none."""
    taken = Taken(reply=shape.role == "assistant" or not _REPLIES.isdisjoint((row.get("role"), row.get("type"))))
    payloads = [(part.carrier, form.payload(row, part)) for part in shape.parts]
    if not shape.parts and not taken.reply:
        bare = _cleaned(form, _without(form, _bare(form, row), taken), _NONE)
        return row if _unnoted(form, bare) == _unnoted(form, row) else bare
    if not any(payload.strip("\0") for _, payload in payloads) and (shape.redacted or not shape.parts):
        bare = row if shape.redacted else _unmarked(form, row)  # an earlier redaction leaves empty items
        left = _without(form, bare, taken)
        if left is bare and (shape.redacted or _cleaned(form, bare, _NONE) is bare):
            return row
        payloads = []
    bare = _without(form, _bare(form, row), Taken(reply=True) if taken.pieces else taken)
    gone = set(texts_in(row)).difference(texts_in(bare)).union(*(payload.split("\0") for _, payload in payloads))
    gone.difference_update(texts_in({key: bare[key] for key in _SEEN.intersection(bare)}))
    notes = [_note(*each) for each in (*payloads, *taken.pieces)]
    return _noted(form, _cleaned(form, bare, Secrets(gone)), notes, elsewhere=taken.pieces != [])


def _without(form: Form, row: Mapping[str, Any], taken: Taken) -> Mapping[str, Any]:
    """The row without what its form does not know as reasoning; the very same row where there is none."""
    left = taken.within(row)
    if not left:
        return row
    return {**row, **left} if form.back is None else Edited(row, left)


def _note(field: str, payload: str) -> dict[str, Any]:
    return {"field": field, "bytes": size_of(payload.replace("\0", "")), "digest": digest(payload).hex()}


def _bare(form: Form, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row without every carrier; one that held nothing else is an empty one of its kind."""
    stripped: list[Mapping[str, Any]] = form.strip([row], None)
    if stripped:
        return stripped[0]
    if form.back is not None:
        return Edited(row, {**form.empty, str(form.beside): {}})
    return {**{key: row[key] for key in ("role", "type") if key in row}, **form.empty}


def _unmarked(form: Form, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row without its mark: where no reasoning is, a mark says nothing."""
    held = row if form.beside is None else row.get(form.beside)
    if not isinstance(held, Mapping) or MARK not in held:
        return row
    left = {key: value for key, value in held.items() if key != MARK}
    return left if form.beside is None else {**row, form.beside: left}


def _unnoted(form: Form, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without our notes and the framework's, to be compared."""
    left = {key: value for key, value in row.items() if key not in _OURS}
    if form.beside in left:
        left[form.beside] = {key: value for key, value in left[form.beside].items() if key not in _OURS}
    return left


def _cleaned(form: Form, row: Mapping[str, Any], secrets: Secrets) -> Mapping[str, Any]:
    """The row without reasoning in what stands beside what it says; the very same row where there is none."""
    beside = {key: value for key, value in row.items() if key not in _SEEN}
    left = unquoted(Cover().over(beside), secrets)
    if left is beside:
        return row
    if form.back is not None:
        return Edited(row, {key: left[key] for key, value in beside.items() if left[key] is not value})
    return {**{key: value for key, value in row.items() if key not in beside}, **left}


def _noted(form: Form, row: Mapping[str, Any], notes: list[dict[str, Any]], *, elsewhere: bool) -> Mapping[str, Any]:
    """The row with what was there, and with the word in the mark's place; in that of every form if it is another's."""
    told = {MARK: {"id": REDACTED, "v": 1}, NOTE: notes}
    if form.back is not None:
        return Edited(row, {str(form.beside): {**(row.get(str(form.beside)) or {}), **told}})
    beside = {key: {**(row.get(key) or {}), **told} for key in (form.beside, PSF if elsewhere else None) if key}
    return {**row, **beside, **(told if elsewhere or form.beside is None else {})}
