"""The chat form, and LiteLLM's: chat with `thinking_blocks`, `reasoning_items` and `provider_specific_fields`.

`view` reads shapes, `apply` writes decisions; both are one pass with a small dict of what was already worked out for
messages that look alike. This is the hot path: measure `tests/benchmarks` before and after a change.
The carriers themselves are in `_carriers`, a stream put together in `_chat_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, from_mark_id, mark_id
from . import LAYOUT, PSF, TURN, Form, Messages, as_mapping, canonical, size_of, stated_turn, wrong_type
from ._carriers import (
    BY_KEY,
    BY_NAME,
    OPAQUE_STRINGS,
    PSF_CARRIERS,
    STRINGS,
    THOUGHT,
    codes_of,
    part_of,
    sizes_of,
    without_signature,
)
from ._chat_stream import ChatStream
from ._chat_write import write

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "latest_reminder")
"""Roles of chat hosts; `latest_reminder` is DeepSeek's."""
_SPOKEN = ("function_call", "audio", "refusal", "images")
"""Keys besides `content` and `tool_calls` that make a message visible."""


class _Keys(NamedTuple):
    """What is to be looked at in messages that have these keys."""

    strings: tuple[str, ...]
    lists: tuple[str, ...]
    spare: tuple[str, ...]
    psf: bool


def _look_at(keys: tuple[str, ...]) -> _Keys:
    return _Keys(
        tuple(key for key in STRINGS if key in keys),
        tuple(key for key in ("reasoning_details", "thinking_blocks", "reasoning_items") if key in keys),
        tuple(key for key in (PSF, TURN) if key in keys),
        PSF in keys,
    )


class _Reader:
    """One `view`: the shapes found so far. Mutable, and gone when the view is made."""

    def __init__(self, litellm: bool) -> None:
        self.litellm = litellm
        self.shapes: list[Message] = []
        self.numbers: dict[Any, int] = {}
        self.keys: dict[tuple[str, ...], _Keys] = {}
        self.sizes: dict[int, tuple[int, ...]] = {}

    def number(self, key: Any, message: Message) -> int:
        self.numbers[key] = len(self.shapes)
        self.shapes.append(message)
        return self.numbers[key]

    def assistant(self, index: int, message: Mapping[str, Any]) -> int:
        keys = tuple(message)
        look = self.keys.get(keys)
        if look is None:
            look = self.keys[keys] = _look_at(keys)
        found: list[Any] = [keys]
        sizes: list[int] = []
        for key in look.strings:
            text = message[key]
            if text.__class__ is str:
                found.append("blank" if text.isspace() else "text" if len(text) else "empty")
                sizes.append(len(text) if text.isascii() else size_of(text))
            elif text is None:
                found.append(None)
            else:
                raise wrong_type(index, key, text, "a string or null")
        for key in look.lists:
            self._list(index, key, message[key], found, sizes)
        fields = message[PSF] if look.psf else None
        if fields is not None:
            self._fields(index, message, fields, found, sizes)
        content, calls = message.get("content"), message.get("tool_calls")
        if content.__class__ is str:
            found.append(content != "")
        else:
            found.append(self._content(index, content, found, sizes))
        if calls is not None:
            self._list(index, "tool_calls", calls, found, sizes)
            found.append(len(calls) > 0)
        number = self.numbers.get(key := tuple(found))
        if number is None:
            number = self.number(key, self._shape(look, key, message))
        if sizes:
            self.sizes[index] = tuple(sizes)
        return number

    def _list(self, index: int, key: str, items: Any, found: list[Any], sizes: list[int]) -> None:
        if items is None:
            found.append(())
            return
        if not isinstance(items, list):
            raise wrong_type(index, key, items, "a list or null")
        carrier = BY_KEY[key]
        codes = codes_of(carrier, items)
        found.append(codes)
        if codes:
            sizes += sizes_of(carrier, items, codes)

    def _fields(self, index: int, message: Mapping[str, Any], fields: Any, found: list[Any], sizes: list[int]) -> None:
        if not isinstance(fields, Mapping):
            raise wrong_type(index, PSF, fields, "a dict or null")
        found.append(mark_id(fields.get(MARK)))
        if len(fields) == (MARK in fields):
            return
        if "reasoning_details" in fields and "reasoning_details" not in message:
            self._list(index, "reasoning_details", fields["reasoning_details"], found, sizes)
        found.append(LAYOUT in fields)
        if self.litellm:
            there = tuple(name for name in PSF_CARRIERS if fields.get(name) is not None)
            found.append(there)
            sizes += [size_of(canonical(fields[name])) for name in there]

    def _content(self, index: int, content: Any, found: list[Any], sizes: list[int]) -> bool:
        if content is None:
            return False
        if not isinstance(content, list):
            raise wrong_type(index, "content", content, "a string, a list of parts or null")
        before = len(sizes)
        self._list(index, "content", content, found, sizes)
        return len(content) > len(sizes) - before

    def _shape(self, look: _Keys, key: tuple[Any, ...], message: Mapping[str, Any]) -> Message:
        parts: list[Part] = []
        for name in look.strings:
            text = message[name]
            if text is not None:
                code = "opaque" if name in OPAQUE_STRINGS else key[1 + look.strings.index(name)]
                parts.append(part_of(name, None, code))
        for name in look.lists:
            parts += self._parts(name, message[name])
        fields = message.get(PSF) or {}
        if "reasoning_details" in fields and "reasoning_details" not in message:
            parts += self._parts("reasoning_details", fields["reasoning_details"])
        if self.litellm:
            parts += [part_of(f"psf.{name}", None, "opaque") for name in PSF_CARRIERS if fields.get(name) is not None]
        content, calls = message.get("content"), message.get("tool_calls")
        inside = self._parts("content", content) if isinstance(content, list) else []
        parts += inside
        visible = isinstance(content, (str, list)) and len(content) > len(inside)
        parts += self._parts("tool_calls", calls)
        identity = mark_id(fields.get(MARK))
        origin = from_mark_id(identity) if identity is not None else None
        if origin is not None:
            parts = [part._replace(marked=True, origins=frozenset({origin})) for part in parts]
        calls_tools = isinstance(calls, list) and len(calls) > 0
        spoken = any(message.get(name) is not None for name in _SPOKEN)
        blocks = [part for part in parts if part.carrier == "thinking_blocks"]
        leads = any(part.item == 0 for part in (*inside, *blocks)) or any(part.carrier == "thinking_blocks" for part in parts)
        return Message(
            "assistant",
            calls_tools or message.get("function_call") is not None,
            visible or calls_tools or spoken,
            tuple(parts),
            look.spare,
            leads,
            self.litellm and LAYOUT in fields and not inside and isinstance(content, str),
        )

    def _parts(self, key: str, items: Any) -> list[Part]:
        carrier = BY_KEY[key]
        return [part_of(carrier.name, item, code) for item, code in codes_of(carrier, items or [])]


def view(messages: Messages, starts_turn: StartsTurn | None = None, *, litellm: bool = False) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or a field of the wrong type; it names the message and what is allowed.
    """
    reader = _Reader(litellm)
    rows: list[int] = []
    turn_start, after_tool = 0, False
    numbers = reader.numbers
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            rows.append(reader.assistant(index, message))
            after_tool = False
            continue
        if role not in ROLES:
            raise HistoryError(f"messages[{index}].role: {role!r}; allowed: {', '.join(ROLES)}")
        spare = tuple(key for key in (PSF, TURN) if key in message)
        number = numbers.get((role, spare))
        rows.append(reader.number((role, spare), Message(str(role), spare=spare)) if number is None else number)
        stated = stated_turn(index, message, starts_turn) if spare or starts_turn is not None else None
        if role == "tool" or role == "function":
            after_tool = True
        if stated is None:
            stated = role == "user" and not (after_tool and _without_text(message))
        if stated:
            turn_start, after_tool = index, False
    return History(shapes=reader.shapes, rows=rows, sizes=reader.sizes, turn_start=turn_start)


def _without_text(message: Mapping[str, Any]) -> bool:
    """Only parts that are no text: a picture that a tool took."""
    content = message.get("content")
    return isinstance(content, list) and not any(
        isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in ("text", "input_text")) for part in content
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
            left["tool_calls"] = [without_signature(call) if carrier.code(call) else call for call in left["tool_calls"]]
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
