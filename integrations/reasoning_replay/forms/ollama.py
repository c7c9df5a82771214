"""Ollama's own form: chat messages with `thinking` beside the content, and calls whose arguments are dicts.

The mark stands in `provider_specific_fields`, as in chat. Nothing here is sealed: the server takes any thinking and
the model's template uses it or not (ollama docs/api.md, 2026-08). Other chat hosts' keys count as reasoning too, so
that a history from elsewhere leaves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .._decision import Zone, decided
from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, mark_id
from . import (
    PSF,
    TURN,
    Form,
    Messages,
    Turns,
    as_mapping,
    canonical,
    shape_value,
    stated_turn,
    unmarked,
    wrong_role,
    wrong_type,
)
from ._carriers import SEALED, STRINGS, part_of, under_mark, without_blocks
from ._chat_recall import recall_by
from ._inline import INLINE, inline_in
from ._pieces import at_rest, grow
from ._turns import last_start

ROLES = ("system", "user", "assistant", "tool")
_LISTS = ("reasoning_details", "thinking_blocks", "reasoning_items")
"""Of chat hosts: nothing that Ollama reads, each one piece here."""


def view(messages: Messages, starts_turn: StartsTurn | None = None) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or thinking that is no string.
    """
    rows: list[Message] = []
    shapes: dict[Any, Message] = {}
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ROLES:
            raise wrong_role(index, role, ROLES)
        stated_turn(index, message, None)
        made = _shape(index, str(role), message)
        rows.append(shapes.setdefault(made, Message(*made)))
    host_turn = last_start(messages, TURNS)
    stated = partial(stated_turn, starts_turn=starts_turn)
    return History(rows, frozenset(rows), last_start(messages, TURNS, stated), host_turn)


def _is_result(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool"


def _without_text(message: Mapping[str, Any]) -> bool:
    return message.get("content") in (None, "")


TURNS = Turns(_is_result, _without_text)


def _shape(index: int, role: str, message: Mapping[str, Any]) -> tuple[Any, ...]:
    """The fields of the message's shape, in order."""
    held = [key for key in (*STRINGS, *SEALED, *_LISTS) if message.get(key) is not None]
    spare = [key for key in (PSF, TURN) if key in message]
    if role != "assistant":
        return role, False, True, (), (*spare, *held, *_blocks(message))
    parts: list[Part] = []
    for key in held:
        if key in STRINGS and not isinstance(message[key], str):
            raise wrong_type(index, key, message[key], "a string or null")
        parts.append(part_of(key, None, shape_value(message[key]) if key in STRINGS else "opaque"))
    spare += _blocks(message)
    calls, content = message.get("tool_calls"), message.get("content")
    if (tags := inline_in(content)) is not None:
        parts.append(part_of(INLINE, None, shape_value(tags.text)))
        content = tags.rest
    fields = message.get(PSF)
    identity = mark_id(fields.get(MARK)) if isinstance(fields, Mapping) else None
    called = calls is not None and len(calls) > 0
    seen = called or content not in (None, "") or message.get("images") is not None
    null, redacted = content is None, identity == REDACTED
    return role, called, seen, under_mark(parts, identity), tuple(spare), 0, null, False, (), False, redacted


_BLOCKS = "content.thinking"
"""Stands in `spare` for blocks of reasoning in a content: of other forms, since here it is a text."""


def _blocks(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    return [] if without_blocks(content) is content else [_BLOCKS]


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of: the text, as under any other name."""
    if part.carrier == INLINE:
        tags = inline_in(message["content"])
        return "" if tags is None else tags.text
    value = message[part.carrier]
    return str(value) if part.carrier in STRINGS else f"\0{value if isinstance(value, str) else canonical(value)}"


def write(messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned messages; the list that was given where nothing changes."""
    out: list[Any] = []
    changed = False
    for message, (shape, decision) in zip(messages, decided(history, zones), strict=True):
        acts = zip(shape.parts, decision.acts, strict=False)  # none for a message of another
        gone = {*shape.spare, *(part.carrier for part, act in acts if act.action == "drop")}
        if decision.remove is not None:
            changed = True
        elif gone or decision.blank_content:
            changed = True
            left = {key: value for key, value in message.items() if key not in gone}
            left = {**left, "content": without_blocks(left["content"])} if _BLOCKS in gone else left
            left = _untagged(left) if INLINE in gone else left
            out.append({**left, "content": ""} if decision.blank_content else left)
        else:
            out.append(message)
    return out if changed or type(messages) is not list else messages


def _untagged(message: dict[str, Any]) -> dict[str, Any]:
    """The message without the thinking in front of its text."""
    tags = inline_in(message.get("content"))
    return message if tags is None else {**message, "content": tags.rest}


_STRIPPED = frozenset({*STRINGS, *SEALED, *_LISTS, PSF, TURN})


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every message without thinking, marks and turn notes; an assistant's message that is left empty goes."""
    kept: list[Any] = []
    for message in messages:
        left = {key: value for key, value in message.items() if key not in _STRIPPED}
        left = {**left, "content": without_blocks(left["content"])} if _blocks(left) else left
        left = _untagged(left) if left.get("role") == "assistant" else left
        said = any(left.get(key) for key in ("content", "tool_calls", "images"))
        if said or left.get("role") != "assistant" or left == message:
            kept.append(left)
    return kept


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply, or its message alone → the message, without a mark that came with it.

    Raises:
        HistoryError: no reply of this form.
    """
    found = as_mapping(reply)
    if found is not None and "message" in found:
        found = as_mapping(found["message"])
    if found is None or "role" not in found:
        raise HistoryError("reply: no message in it; allowed: a reply of /api/chat, or its message")
    return unmarked(found)


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark in its `provider_specific_fields`."""
    return {**message, PSF: {**(message.get(PSF) or {}), MARK: note}}


class OllamaStream:
    """One streamed reply: lines of JSON, each a piece. Mutable: it holds what has arrived so far."""

    def __init__(self, choice: int = 0) -> None:
        self._message: dict[str, Any] | None = None

    def feed(self, chunk: Any) -> None:
        """Takes the next line: a dict or an SDK's object. Texts are joined, calls come whole."""
        piece = as_mapping((as_mapping(chunk) or {}).get("message"))
        if piece is None:
            return
        if self._message is None:
            self._message = {"role": "assistant", "content": ""}
        message = self._message
        for key, value in piece.items():
            if key in ("content", *STRINGS) and isinstance(value, str):
                grow(message, key, value)
            elif key == "tool_calls" and value is not None:
                message[key] = [*message.get(key, ()), *map(_call, value)]
            elif value is not None and key != PSF:
                message[key] = value

    def result(self) -> dict[str, Any] | None:
        """The message so far; None while nothing has come. What came of it can be read, and calls are whole."""
        return None if self._message is None else at_rest(self._message)


def _call(value: Any) -> Any:
    call = as_mapping(value)
    return value if call is None else call


FORMS = {
    "ollama": Form(
        name="ollama",
        view=view,
        payload=payload,
        apply=write,
        strip=strip,
        read=read,
        mark=mark,
        stream=OllamaStream,
        turns=TURNS,
        recall=recall_by(view),
    )
}
