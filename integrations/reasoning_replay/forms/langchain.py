"""LangChain's messages: reasoning in `additional_kwargs` and in content blocks, and what else only its host knows.

A row is the dict of a message's fields: a message's own `__dict__`, or what `messages_to_dict` writes. The mark stands
in `additional_kwargs`; keys there that nobody knows never reach a wire (19 classes looked at, 2026-11), so it may stay.
Besides reasoning, ids of the Responses API count as parts: they mean something to their host alone.
What is put elsewhere than it stood waits under `WIRE` for the integration, since most classes cannot send it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, mark_id
from . import PSF, TURN, Form, Messages, Turns, canonical
from ._carriers import BY_NAME, STRINGS, THOUGHT, field_word, part_of, under_mark
from ._inline import INLINE, Inline, inline_in
from ._langchain_blocks import (
    IDS,
    ITEM,
    KWARGS,
    WIRE,
    calls_of,
    inline_of,
    is_item_id,
    is_of_a_host,
    is_reply_id,
    reasoning_in,
    seals_of,
    word_of,
)
from ._langchain_points import mendable
from ._langchain_read import READ, Code, named, names_items, said_in
from ._langchain_recall import recall_by
from ._langchain_write import Edited, strip, write
from ._turns import last_start

ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "HumanMessageChunk": "user"}
"""LangChain's types → roles; a `chat` message says its role itself, any other type is its own role."""
_RESULTS = frozenset({"tool", "function", "ToolMessageChunk", "FunctionMessageChunk"})
_CALLS = "invalid_tool_calls"
"""A field that only the assistant's messages have, whatever a subclass calls its type."""
_NEVER = ("function_call", WIRE)
"""Keys that never go on a wire: a call that stands in `tool_calls` as well, and what an earlier plan put there."""
MAX_SHAPES = 1024
_shapes: dict[Any, Message] = {}
"""A cache of what follows from its keys alone; bounded."""


def role_of(row: Mapping[str, Any]) -> str:
    """The role of a row, in the words of chat hosts."""
    kind: Any = row.get("type")
    role = ROLES.get(kind)
    return role if role is not None else str(row.get("role") if kind in ("chat", "ChatMessageChunk") else kind)


def view(messages: Messages, starts_turn: StartsTurn | None = None) -> History:
    """Messages → history.

    Raises:
        HistoryError: `additional_kwargs` that is no dict, or content that is no string and no list.
    """
    rows: list[Message] = []
    noted = False
    for index, row in enumerate(messages):
        kind = row.get("type")
        if kind == "ai":
            key = _usual_key(row)
            shape = _usual.get(key)
            if shape is None:
                shape = _assistant(index, row)
                if key is not None:
                    _usual[key] = shape
            rows.append(shape)
        elif ROLES.get(kind) == "assistant" or _CALLS in row:  # type: ignore[arg-type]
            rows.append(_assistant(index, row))
        else:
            rows.append(_other(row))
            noted = noted or TURN in row.get(KWARGS, ())
    found = frozenset(rows)
    host_turn = _host_turn(messages, rows)
    if starts_turn is None and not noted:
        return History(rows, found, host_turn, host_turn)
    stated = partial(_stated, starts_turn=starts_turn)
    return History(rows, found, last_start(messages, TURNS, stated), host_turn)


def _host_turn(messages: Messages, rows: list[Message]) -> int:
    """Where the turn starts for a host: it sees no notes."""
    for index in range(len(rows) - 1, -1, -1):
        role = rows[index].role
        if role == "user" and messages[index].get("content").__class__ is str:  # words start a turn, as most do
            return index
        if role not in ("assistant", "tool"):
            break
    return last_start(messages, TURNS)


def _usual_key(row: Mapping[str, Any]) -> Any:
    """The key of a message with a text content, one text of reasoning, a mark and nothing else of its host's.

    Almost all of a tool loop is such messages, and `_assistant` takes four times as long for one (2026-11-30).
    """
    try:
        kwargs, content = row[KWARGS], row["content"]
        text, note = kwargs["reasoning_content"], kwargs[MARK]
        if content.__class__ is not str or text.__class__ is not str or not _USUAL_KEYS.issuperset(kwargs):
            return None
        if (
            text == ""
            or text.isspace()
            or note["id"].__class__ is not str
            or len(note) != 2
            or note["v"] != 1
            or is_item_id(row["id"])
        ):
            return None
        if inline_in(content) is not None:
            return None
        if is_reply_id(row["response_metadata"].get("id")):
            return None
        calls = row["tool_calls"]
        if row[_CALLS] != []:
            return None
        for call in calls:
            if THOUGHT in call["id"]:
                return None
        return note["id"], calls != [], content == ""
    except (KeyError, TypeError, AttributeError):
        return None


_USUAL_KEYS = frozenset({"reasoning_content", MARK, "refusal"})
_usual: dict[Any, Message] = {}
"""Shapes by their usual key; bounded with `_shapes`."""


def _stated(index: int, row: Mapping[str, Any], starts_turn: StartsTurn | None) -> bool | None:
    said = row.get(KWARGS, {}).get(TURN)
    if isinstance(said, bool):
        return said
    return None if starts_turn is None else starts_turn(row)  # a counter of the app's own may stand under that key


def _is_result(row: Mapping[str, Any]) -> bool:
    return row.get("type") in _RESULTS


def _without_text(row: Mapping[str, Any]) -> bool:
    content = row.get("content")
    return isinstance(content, list) and not any(
        isinstance(block, str) or (isinstance(block, Mapping) and block.get("type") == "text") for block in content
    )


TURNS = Turns(_is_result, _without_text, role_of, _stated)


def _other(row: Mapping[str, Any]) -> Message:
    """The shape of a message that is not the assistant's; reasoning in it is nobody else's, and never goes."""
    content = row.get("content")
    held = isinstance(content, list) and any(map(is_of_a_host, content))
    role = role_of(row)
    if role == "assistant":  # a `chat` message that says so: no class reads reasoning from it, none may send it
        role = "other"
    return _shape((role, None, (), False, True, ("content.foreign",) if held else (), 0, False))


def _assistant(index: int, row: Mapping[str, Any]) -> Message:
    kwargs, content = row.get(KWARGS), row.get("content")
    if not isinstance(kwargs, Mapping):
        raise HistoryError(f"messages[{index}].{KWARGS}: a {type(kwargs).__name__}; allowed: a dict")
    calls = calls_of(row)
    called = len(calls) > 0
    codes: list[Code] = []
    for key, value in kwargs.items():
        if key in READ and value is not None:
            codes += READ[key](key, value, kwargs)
    said = said_in(index, content, kwargs)
    codes += said.codes
    if names_items(row, kwargs, content):
        codes.append((IDS, None, "opaque"))
    if any(THOUGHT in call["id"] for call in calls if isinstance(call.get("id"), str)):
        codes.append(("tool_calls.id", None, "opaque"))
    spare = (*(key for key in _NEVER if key in kwargs and (called or key == WIRE)), *said.spare)
    visible = called or said.visible
    return _shape(
        (
            "assistant",
            _identity(kwargs),
            tuple(codes),
            called,
            visible,
            spare,
            said.lead,
            content == [],
            mendable(content),
        )
    )


def _identity(kwargs: Mapping[str, Any]) -> str | None:
    """The id of our mark, else of the one that our LiteLLM callback has put into LiteLLM's field."""
    identity = mark_id(kwargs.get(MARK))
    fields = kwargs.get(PSF) if identity is None else None
    return mark_id(fields.get(MARK)) if isinstance(fields, Mapping) else identity


def _shape(facts: tuple[Any, ...]) -> Message:
    shape = _shapes.get(facts)
    if shape is None:
        if len(_shapes) >= MAX_SHAPES:
            _shapes.clear()
            _usual.clear()
        shape = _shapes.setdefault(facts, _made(*facts))
    return shape


def _made(
    role: str,
    identity: str | None,
    codes: tuple[Code, ...],
    called: bool,
    visible: bool,
    spare: tuple[str, ...],
    lead: int,
    null: bool,
    mendable: tuple[str, ...] = (),
) -> Message:
    parts = under_mark((part_of(carrier, item, code) for carrier, item, code in codes), identity)
    if not any(part.carrier.startswith("content.") for part in parts):  # ChatLiteLLM keeps blocks beside the content
        lead = sum(part.carrier == "thinking_blocks" for part in parts)
    redacted = identity == REDACTED
    return Message(role, called, visible, parts, spare, lead, null, mendable=mendable, redacted=redacted)


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of; the same text gives the same payload in every shape and form."""
    kwargs, carrier = message[KWARGS], part.carrier
    if part.item is not None:
        return _item_payload(message, carrier, part.item)
    if carrier in _PAYLOADS:
        return _PAYLOADS[carrier](message)
    if carrier in STRINGS:
        text: str = kwargs["reasoning_content"] if named("reasoning_content", kwargs) == carrier else kwargs[carrier]
        return text
    name = carrier.removeprefix("psf.")
    if name != carrier:
        return f"\0{field_word(name, kwargs[PSF][name])}"
    value = kwargs[carrier]
    return f"\0{value if isinstance(value, str) else canonical(value)}"


def _item_payload(message: Mapping[str, Any], carrier: str, item: int) -> str:
    if carrier in BY_NAME and not carrier.startswith("content."):
        return BY_NAME[carrier].payload(message[KWARGS][carrier][item])
    block = message["content"][item]
    if carrier == INLINE:
        return _text_of(inline_of(block))
    found = reasoning_in(block)
    return found.payload if found is not None else f"\0{word_of(seals_of(block))}"


def _text_of(inline: Inline | None) -> str:
    return "" if inline is None else inline.text


def _legacy_item(message: Mapping[str, Any]) -> str:
    kwargs = message[KWARGS]
    return f"\0{canonical(next(kwargs[key] for key in STRINGS if isinstance(kwargs.get(key), Mapping)))}"


_PAYLOADS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    INLINE: lambda message: _text_of(inline_in(message["content"])),
    ITEM: _legacy_item,
    IDS: lambda message: f"\0{message.get('id')}",
    "tool_calls.id": lambda message: f"\0{[call.get('id') for call in calls_of(message)]}",
}
"""Carriers of one value that no key of `additional_kwargs` holds as it is."""


def rows_of(messages: object) -> list[Mapping[str, Any]]:
    """The fields of every message: of LangChain's objects without a copy, of dumps what stands under `data`.

    Raises:
        HistoryError: not a list, or something in it that is no LangChain message.
    """
    if type(messages) is list and all(hasattr(message, KWARGS) for message in messages):
        return [message.__dict__ for message in messages]
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise HistoryError(f"messages: a {type(messages).__name__}; allowed: a list of LangChain messages")
    rows: list[Mapping[str, Any]] = []
    for index, message in enumerate(messages):
        row = message.get("data", message) if isinstance(message, Mapping) else getattr(message, "__dict__", None)
        if not isinstance(row, Mapping) or "content" not in row or not (KWARGS in row or "type" in row):
            raise HistoryError(
                f"messages[{index}]: a {type(message).__name__}; allowed: a LangChain message, or what "
                "messages_to_dict gives of one"
            )
        rows.append(row)
    return rows


def back(message: Any, row: Mapping[str, Any]) -> Any:
    """The message with the fields of an edited row: a copy of the same class, or of the same dump."""
    if isinstance(message, Mapping):
        return {**message, "data": dict(row)} if "data" in message else dict(row)
    changes = {key: row[key] for key in row.changed} if isinstance(row, Edited) else dict(row)
    return message.model_copy(update=changes)


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply's message → its fields, without a mark that came with it.

    Raises:
        HistoryError: no LangChain message.
    """
    row = rows_of([reply])[0]
    return Edited(row, {KWARGS: {key: value for key, value in (row.get(KWARGS) or {}).items() if key != MARK}})


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The fields with the mark in `additional_kwargs`; one mark stands for all that the message holds."""
    return Edited(message, {KWARGS: {**message[KWARGS], MARK: note}})


def _no_stream(choice: int) -> Any:
    raise HistoryError("form 'langchain': chunks are LangChain messages; add them up, and give the sum to capture()")


FORMS = {
    "langchain": Form(
        name="langchain",
        view=view,
        payload=payload,
        apply=write,
        strip=strip,
        read=read,
        mark=mark,
        stream=_no_stream,
        turns=TURNS,
        rows=rows_of,
        back=back,
        recall=recall_by(view, role_of),
        beside=KWARGS,
    )
}

__all__ = ["FORMS", "WIRE"]
