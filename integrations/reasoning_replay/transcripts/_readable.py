"""A message as plain text, for display and summaries: what everybody sees of it, and apart from that its reasoning.

What is visible is told by `forms/_spoken`, what is reasoning by the form's own `view` and `payload`. The text is made
for people: nothing here goes back to a host, and nothing sealed is shown but its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._history import Message
from ..forms import Form, canonical, form_for, size_of
from ..forms._inline import INLINE, untagged
from ..forms._langchain_blocks import IDS
from ..forms._spoken import Spoken, spoken
from ._redact_said import Taken
from ._redact_values import NOTE

_NAMES = frozenset({"item.id", "item_reference", IDS})
"""Carriers that are names of what a host keeps: nothing to read."""


def readable(message: Any, *, form: str | None = None, dialect: str = "chat", reasoning: bool = False) -> str:
    """What a message says, as plain text; with `reasoning=True` what it thought, and nothing of what it says.

    Calls are told as `[calls name(arguments)]`, pictures and files by their kind (`[image]`), sealed reasoning as
    `[sealed reasoning, N bytes]`, redacted reasoning likewise. For display, search and summaries; never a source of a
    replay. Readable reasoning is its host's: send it to another one only if you mean to.

    Args:
        message: a message as `prepare` takes it (dict, SDK object, LangChain message), or a list of them: the items
            of one reply in the Responses API.
        form: how it is written, where that is not the dialect's own form: `litellm`, `langchain`.
        dialect: what its host speaks.
        reasoning: the reasoning in place of what is said.

    Returns:
        One text, pieces on lines of their own; empty where there is nothing to tell.

    Raises:
        HistoryError: a message that cannot be read.
    """
    shape = form_for(form, dialect)
    rows = shape.rows(message if isinstance(message, list) else [message])
    looks = shape.view(rows, None).rows
    told = _thoughts if reasoning is True else _said
    return "\n".join(piece for row, look in zip(rows, looks, strict=True) for piece in told(shape, row, look))


def _said(form: Form, row: Mapping[str, Any], shape: Message) -> Iterator[str]:
    said: Spoken = spoken(form.name, row)
    yield from filter(None, map(untagged, said.texts)) if said.role == "assistant" else said.texts
    for result in said.results:
        yield "".join(result)
    for kind in said.media:
        yield f"[{kind}]"
    for name, arguments in said.calls:
        given = arguments if isinstance(arguments, str) else "" if arguments is None else canonical(arguments)
        yield f"[calls {name}({given})]"


def _thoughts(form: Form, row: Mapping[str, Any], shape: Message) -> Iterator[str]:
    """The readable text of the first carrier that has any, since the others repeat it, and each seal once."""
    texts: dict[str, list[str]] = {}
    seals: dict[str, int] = {}
    for part in shape.parts:
        text, _, seal = form.payload(row, part).partition("\0")
        if text != "" and not text.isspace():
            texts.setdefault(part.carrier, []).append(text)
        elif seal != "" and part.carrier not in _NAMES:
            seals[seal] = size_of(seal)
    if next(iter(texts), INLINE) == INLINE and (tagged := _tagged(row, shape)):
        texts = {INLINE: tagged}
    yield from next(iter(texts.values()), ())
    for size in seals.values():
        yield f"[sealed reasoning, {size} bytes]"
    for note in _notes(form, row) if shape.redacted else ():
        yield f"[redacted reasoning, {note.get('bytes')} bytes]"


def _tagged(row: Mapping[str, Any], shape: Message) -> list[str]:
    """All that was thought between tags in what a reply says: replay knows of that in front alone."""
    taken = Taken(reply=shape.role == "assistant")
    taken.within(row)
    return [text for field, text in taken.pieces if field == INLINE]


def _notes(form: Form, row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    holder = row if form.beside is None else row.get(form.beside)
    notes = holder.get(NOTE) if isinstance(holder, Mapping) else None
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, Mapping) and note.get("field") not in _NAMES:
            yield note
