"""The chat form, and LiteLLM's: chat with `thinking_blocks`, `reasoning_items` and `provider_specific_fields`.

`view` reads shapes, `apply` writes decisions; both are one pass with a small dict of what was already worked out for
messages that look alike. This is the hot path: measure `tests/benchmarks` before and after a change.
The carriers themselves are in `_carriers`, a stream put together in `_chat_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, from_mark_id, mark_id
from . import LAYOUT, PSF, TURN, Form, Messages, as_mapping, canonical, shape_value, stated_turn, wrong_type
from ._carriers import (
    BY_KEY,
    BY_NAME,
    OPAQUE_STRINGS,
    PSF_CARRIERS,
    STRINGS,
    THOUGHT,
    codes_of,
    part_of,
    without_signature,
)
from ._chat_stream import ChatStream
from ._chat_write import write

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "latest_reminder")
"""Roles of chat hosts; `latest_reminder` is DeepSeek's."""
_RESULTS = frozenset({"tool", "function"})
_SPOKEN = ("function_call", "audio", "refusal", "images")
"""Keys besides `content` and `tool_calls` that make a message visible."""


class _Look:
    """What is to be looked at in assistant messages that have these keys, and the shapes met there.

    A cache of what follows from keys and values alone; bounded, since marks are part of a shape.
    """

    def __init__(self, keys: tuple[str, ...], litellm: bool) -> None:
        self.litellm = litellm
        self.strings = tuple(key for key in STRINGS if key in keys)
        self.lists = tuple(key for key in ("reasoning_details", "thinking_blocks", "reasoning_items") if key in keys)
        self.spare = tuple(key for key in (PSF, TURN) if key in keys)
        self.shapes: dict[Any, Message] = {}
        usual = len(self.strings) == 1 and not self.lists and PSF in keys and "content" in keys
        self.usual: tuple[str, bool] | None = (self.strings[0], "tool_calls" in keys) if usual else None
        """For `_usual_key`, where messages with these keys may be usual ones."""
        self.usual_shapes: dict[Any, Message] = {}

    def shape(self, index: int, message: Mapping[str, Any]) -> Message:
        """The shape of a message that has these keys."""
        usual = _usual_key(message, *self.usual) if self.usual is not None else None
        shape = self.usual_shapes.get(usual)
        if shape is not None:
            return shape
        key = _key(self, message)
        shape = self.shapes.get(key)
        if shape is None:
            _check(index, self, message)
            if len(self.shapes) >= _MAX_SHAPES:
                self.shapes.clear()
                self.usual_shapes.clear()
            shape = self.shapes[key] = _shape(self, message)
        if usual is not None:
            self.usual_shapes[usual] = shape
        return shape


_MAX_SHAPES = 256
_look_at = lru_cache(maxsize=256)(_Look)


@lru_cache(maxsize=256)
def _other(role: str, spare: tuple[str, ...]) -> Message:
    """The shape of a message that is not an assistant's."""
    return Message(role, spare=spare)


def _usual_key(message: Mapping[str, Any], name: str, calls: bool) -> Any:
    """The key of a message with one text, a mark and nothing else beside it; None where it is not as usual.

    Almost all of a long history is such messages, and `_key` takes five times as long for one (2026-11-30).
    """
    try:
        text, fields, content = message[name], message[PSF], message["content"]
        note = fields[MARK]
        if text.__class__ is not str or content.__class__ is not str or text == "" or text.isspace():
            return None
        if len(fields) != 1 or len(note) != 2 or note["v"] != 1:
            return None
        if not calls:
            return note["id"], content == ""
        for call in message["tool_calls"]:
            if "extra_content" in call or PSF in call or THOUGHT in call["id"]:
                return None
        return note["id"], content == "", message["tool_calls"] != []
    except (KeyError, TypeError):
        return None


def _key(look: _Look, message: Mapping[str, Any]) -> Any:
    """Everything about a message that its shape depends on. Wrong types make a key of their own: they raise later."""
    found: list[Any] = []
    texts = (message[name] for name in look.strings)
    found += [shape_value(text) if isinstance(text, str) else None if text is None else "wrong" for text in texts]
    found += [_codes(name, message[name]) for name in look.lists]
    fields = message.get(PSF)
    if isinstance(fields, Mapping):
        found += (mark_id(fields.get(MARK)), _codes("reasoning_details", fields.get("reasoning_details")))
        found += (
            str(fields.get(LAYOUT)),
            tuple(name for name in PSF_CARRIERS if look.litellm and fields.get(name) is not None),
        )
    content, calls = message.get("content"), message.get("tool_calls")
    found.append(content != "" if content.__class__ is str else _codes("content", content))
    found += (
        isinstance(content, list) and len(content),
        _codes("tool_calls", calls),
        calls is not None and calls != [],
    )
    found.append(any(message.get(name) is not None for name in _SPOKEN))
    return fields is not None and not isinstance(fields, Mapping), *found


def _codes(key: str, items: Any) -> Any:
    """Codes of a list's parts; a value that is no list is its own type's name, and raises when the shape is made."""
    return codes_of(BY_KEY[key], items) if isinstance(items, list) else None if items is None else type(items).__name__


def _shape(look: _Look, message: Mapping[str, Any]) -> Message:
    parts: list[Part] = []
    for name in look.strings:
        text = message[name]
        if text is not None:
            parts.append(part_of(name, None, "opaque" if name in OPAQUE_STRINGS else shape_value(text)))
    for name in look.lists:
        parts += _parts(name, message[name])
    fields = message.get(PSF) or {}
    if "reasoning_details" not in message:
        parts += _parts("reasoning_details", fields.get("reasoning_details"))
    if look.litellm:
        parts += [part_of(f"psf.{name}", None, "opaque") for name in PSF_CARRIERS if fields.get(name) is not None]
    content, calls = message.get("content"), message.get("tool_calls")
    inside = _parts("content", content) if isinstance(content, list) else []
    parts += inside
    parts += _parts("tool_calls", calls)
    called = (calls is not None and calls != []) or message.get("function_call") is not None
    return Message(
        "assistant",
        called,
        called or len(content or ()) > len(inside) or any(message.get(name) is not None for name in _SPOKEN),
        _with_origin(parts, fields.get(MARK)),
        (*look.spare, *(name for name in (*look.strings, *look.lists) if message[name] is None)),
        _lead(inside, look.lists, message, fields.get(LAYOUT)),
        content is None or content == [],
        look.litellm and LAYOUT in fields and not inside and isinstance(content, str),
    )


def _lead(inside: list[Part], lists: tuple[str, ...], message: Mapping[str, Any], layout: Any) -> int:
    """How many blocks of reasoning come first: by the content list, by the noted order, else all of them."""
    if inside:
        return sum(part.item == place for place, part in enumerate(inside))
    if isinstance(layout, list):
        return next((place for place, entry in enumerate(layout) if entry != "thinking"), len(layout))
    blocks = message["thinking_blocks"] if "thinking_blocks" in lists else None
    return 0 if blocks is None else len(blocks)


def _check(index: int, look: _Look, message: Mapping[str, Any]) -> None:
    """Raises for a field of the wrong type."""
    for name in look.strings:
        if message[name] is not None and not isinstance(message[name], str):
            raise wrong_type(index, name, message[name], "a string or null")
    for name in (*look.lists, "tool_calls"):
        if message.get(name) is not None and not isinstance(message[name], list):
            raise wrong_type(index, name, message[name], "a list or null")
    fields, content = message.get(PSF), message.get("content")
    if fields is not None and not isinstance(fields, Mapping):
        raise wrong_type(index, PSF, fields, "a dict or null")
    details = fields.get("reasoning_details") if fields is not None else None
    if details is not None and not isinstance(details, list):
        raise wrong_type(index, f"{PSF}.reasoning_details", details, "a list or null")
    if content is not None and not isinstance(content, (str, list)):
        raise wrong_type(index, "content", content, "a string, a list of parts or null")


def _parts(key: str, items: Any) -> list[Part]:
    carrier = BY_KEY[key]
    return [part_of(carrier.name, item, code) for item, code in codes_of(carrier, items or [])]


def _with_origin(parts: list[Part], note: object) -> tuple[Part, ...]:
    """The parts with the origin that the message's mark names, if it can be read."""
    identity = mark_id(note)
    origin = from_mark_id(identity) if identity is not None else None
    if origin is None:
        return tuple(parts)
    return tuple(part._replace(marked=True, origins=frozenset({origin})) for part in parts)


def view(messages: Messages, starts_turn: StartsTurn | None = None, *, litellm: bool = False) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or a field of the wrong type; it names the message and what is allowed.
    """
    rows: list[Message] = []
    turn_start, after_tool = 0, False
    size, name, calls, shapes = -1, "", False, _NONE
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            # As many keys as the last usual one, and all of its keys: the same keys.
            shape = shapes.get(_usual_key(message, name, calls)) if len(message) == size else None
            if shape is None:
                look = _look_at(tuple(message), litellm)
                shape = look.shape(index, message)
                if look.usual is not None:
                    size, (name, calls), shapes = len(message), look.usual, look.usual_shapes
            rows.append(shape)
            after_tool = False
        elif role == "tool" and PSF not in message and TURN not in message and starts_turn is None:
            rows.append(_TOOL)
            after_tool = True
        else:
            rows.append(_other(_known_role(index, role), tuple(key for key in (PSF, TURN) if key in message)))
            after_tool = after_tool or role in _RESULTS
            stated = stated_turn(index, message, starts_turn)
            if stated is None:
                stated = role == "user" and not (after_tool and _without_text(message))
            if stated:
                turn_start, after_tool = index, False
    return History(rows, frozenset(rows), turn_start)


_TOOL = _other("tool", ())
_NONE: dict[Any, Message] = {}


def _known_role(index: int, role: Any) -> str:
    if role not in ROLES:
        raise HistoryError(f"messages[{index}].role: {role!r}; allowed: {', '.join(ROLES)}")
    return str(role)


def _without_text(message: Mapping[str, Any]) -> bool:
    """Only parts that are no text: a picture that a tool took."""
    content = message.get("content")
    return isinstance(content, list) and not any(
        isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in ("text", "input_text"))
        for part in content
    )


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of; the same text gives the same payload under every name."""
    if part.item is None:
        name = part.carrier.removeprefix("psf.")
        if name != part.carrier:
            return canonical(message[PSF][name])
        return f"\0{message[name]}" if name in OPAQUE_STRINGS else str(message[name])
    carrier = BY_NAME[part.carrier]
    items = message.get(carrier.key)
    if items is None:
        items = message[PSF][carrier.key]
    return carrier.payload(items[part.item])


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply, or its message alone → the assistant message as a dict.

    Raises:
        HistoryError: no reply of this form, or no such choice.
    """
    found = as_mapping(reply)
    if found is not None and "choices" in found:
        choices = found["choices"]
        if not isinstance(choices, list) or not 0 <= choice < len(choices):
            raise HistoryError(f"reply.choices: no choice {choice}; there are {len(choices or ())}")
        found = as_mapping((as_mapping(choices[choice]) or {}).get("message"))
    if found is None or "role" not in found:
        raise HistoryError("reply: no assistant message in it; allowed: a chat completion, or its message")
    return _unmarked(found)


def _unmarked(message: Mapping[str, Any]) -> dict[str, Any]:
    """Without a mark that came with the reply: that is somebody else's word."""
    fields = message.get(PSF)
    if not isinstance(fields, Mapping) or MARK not in fields:
        return dict(message)
    return {**message, PSF: {key: value for key, value in fields.items() if key != MARK}}


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark in its `provider_specific_fields`; one mark stands for all its reasoning."""
    return {**message, PSF: {**(message.get(PSF) or {}), MARK: note}}


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every message without any carrier, mark or turn note; an assistant message that is left bare goes."""
    kept: list[Any] = []
    for message in messages:
        left = {key: value for key, value in message.items() if key not in _STRIPPED}
        if isinstance(left.get("content"), list):
            left["content"] = [part for part in left["content"] if BY_KEY["content"].code(part) is None]
        if isinstance(left.get("tool_calls"), list):
            carrier = BY_KEY["tool_calls"]
            left["tool_calls"] = [
                without_signature(call) if carrier.code(call) else call for call in left["tool_calls"]
            ]
        if isinstance(left.get("tool_call_id"), str):
            left["tool_call_id"] = left["tool_call_id"].split(THOUGHT, 1)[0]
        if left.get("role") == "assistant":
            if not any(left.get(key) for key in ("content", "tool_calls", *_SPOKEN)) and len(left) < len(message):
                continue
            if fill is not None:
                left["reasoning_content"] = fill
        kept.append(left)
    return kept


_STRIPPED = frozenset({*STRINGS, "reasoning_details", "thinking_blocks", "reasoning_items", PSF, TURN})

FORMS = {
    name: Form(
        name=name,
        view=partial(view, litellm=name == "litellm"),
        payload=payload,
        apply=write,
        strip=strip,
        read=read,
        mark=mark,
        stream=ChatStream,
    )
    for name in ("chat", "litellm")
}

__all__ = ["FORMS"]
