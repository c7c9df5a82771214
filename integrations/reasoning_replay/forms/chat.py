"""The chat form, and LiteLLM's: chat with `thinking_blocks`, `reasoning_items` and `provider_specific_fields`.

`view` reads shapes, `apply` writes decisions; both are one pass with a small dict of what was already worked out for
messages that look alike. This is the hot path: measure `tests/benchmarks` before and after a change.
The carriers themselves are in `_carriers`, a stream put together in `_chat_stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
    """What is to be looked at in assistant messages that have these keys, and the shapes found there. Mutable."""

    __slots__ = ("key", "lists", "numbers", "psf", "spare", "strings")

    def __init__(self, keys: tuple[str, ...], litellm: bool) -> None:
        self.strings = tuple(key for key in STRINGS if key in keys)
        self.lists = tuple(key for key in ("reasoning_details", "thinking_blocks", "reasoning_items") if key in keys)
        self.spare = tuple(key for key in (PSF, TURN) if key in keys)
        self.psf = PSF in keys
        self.numbers: dict[Any, int] = {}
        self.key: Callable[[Mapping[str, Any]], Any] = partial(_key, self, litellm)
        if len(self.strings) == 1 and not self.lists and self.psf and "content" in keys:
            self.key = _usual_key(self.strings[0], "tool_calls" in keys, self.key)


def _usual_key(name: str, calls: bool, rare: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """The key of a message with one text, a mark and nothing else beside it; any other goes to `rare`.

    Half the time of `prepare` on a marked history was spent on such messages before (2026-11-30).
    """

    def key(message: Mapping[str, Any]) -> Any:
        try:
            text, fields, content = message[name], message[PSF], message["content"]
            note = fields[MARK]
            plain = len(fields) == 1 and len(note) == 2 and note["v"] == 1 and content.__class__ is str
            if plain and text.__class__ is str and text != "" and not text.isspace():
                if not calls:
                    return note["id"], content == ""
                for call in message["tool_calls"]:
                    if "extra_content" in call or PSF in call or THOUGHT in call["id"]:
                        return rare(message)
                return note["id"], content == "", message["tool_calls"] != []
        except (KeyError, TypeError):
            pass
        return rare(message)

    return key


def _key(look: _Look, litellm: bool, message: Mapping[str, Any]) -> Any:
    """Everything about a message that its shape depends on. Wrong types make a key of their own: they raise later."""
    found: list[Any] = []
    texts = (message[name] for name in look.strings)
    found += [shape_value(text) if isinstance(text, str) else None if text is None else "wrong" for text in texts]
    found += [_codes(name, message[name]) for name in look.lists]
    fields = message[PSF] if look.psf else None
    if isinstance(fields, Mapping):
        found += (mark_id(fields.get(MARK)), _codes("reasoning_details", fields.get("reasoning_details")))
        found += (
            str(fields.get(LAYOUT)),
            tuple(name for name in PSF_CARRIERS if litellm and fields.get(name) is not None),
        )
    content, calls = message.get("content"), message.get("tool_calls")
    found.append(content != "" if content.__class__ is str else _codes("content", content))
    found += (
        isinstance(content, list) and len(content),
        _codes("tool_calls", calls),
        calls is not None and calls != [],
    )
    found.append(any(message.get(name) is not None for name in _SPOKEN))
    return look.psf and fields is not None and not isinstance(fields, Mapping), *found


def _codes(key: str, items: Any) -> Any:
    """Codes of a list's parts; a value that is no list is its own type's name, and raises when the shape is made."""
    return codes_of(BY_KEY[key], items) if isinstance(items, list) else None if items is None else type(items).__name__


class _Reader:
    """One `view`: the shapes found so far. Mutable, and gone when the view is made."""

    def __init__(self, litellm: bool) -> None:
        self.litellm = litellm
        self.shapes: list[Message] = []
        self.looks: dict[tuple[str, ...], _Look] = {}
        self.others: dict[Any, int] = {}

    def look_at(self, keys: tuple[str, ...]) -> _Look:
        look = self.looks[keys] = _Look(keys, self.litellm)
        return look

    def learn(self, index: int, look: _Look, key: Any, message: Mapping[str, Any]) -> int:
        """The number of a new shape of assistant message."""
        look.numbers[key] = len(self.shapes)
        self.shapes.append(self._shape(index, look, message))
        return look.numbers[key]

    def other(self, role: Any, spare: tuple[str, ...]) -> int:
        """The number of the shape of any other message."""
        number = self.others.get((role, spare) if spare else role)
        if number is None:
            number = self.others[(role, spare) if spare else role] = len(self.shapes)
            self.shapes.append(Message(role, spare=spare))
        return number

    def _shape(self, index: int, look: _Look, message: Mapping[str, Any]) -> Message:
        _check(index, look, message)
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
        if self.litellm:
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
            self.litellm and LAYOUT in fields and not inside and isinstance(content, str),
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
    reader = _Reader(litellm)
    looks, others, rows = reader.looks, reader.others, []
    turn_start, after_tool = 0, False
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            keys = tuple(message)
            look = looks.get(keys) or reader.look_at(keys)
            key = look.key(message)
            number = look.numbers.get(key)
            rows.append(reader.learn(index, look, key, message) if number is None else number)
            after_tool = False
            continue
        stated: bool | None = None
        if TURN in message or PSF in message or starts_turn is not None:
            rows.append(reader.other(role, tuple(key for key in (PSF, TURN) if key in message)))
            stated = stated_turn(index, message, starts_turn)
        else:
            number = others.get(role)
            rows.append(reader.other(role, ()) if number is None else number)
        if role in _RESULTS:
            after_tool = True
        elif stated is None:
            stated = role == "user" and not (after_tool and _without_text(message))
        if stated:
            turn_start, after_tool = index, False
    _check_roles(messages, reader)
    return History(shapes=reader.shapes, rows=rows, turn_start=turn_start)


def _check_roles(messages: Messages, reader: _Reader) -> None:
    for other in reader.others:
        role = other[0] if isinstance(other, tuple) else other
        if role not in ROLES:
            index = next(index for index, message in enumerate(messages) if message.get("role") == role)
            raise HistoryError(f"messages[{index}].role: {role!r}; allowed: {', '.join(ROLES)}")


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
