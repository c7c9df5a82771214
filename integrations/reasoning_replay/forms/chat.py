"""The chat form, and LiteLLM's: chat with `thinking_blocks`, `reasoning_items` and `provider_specific_fields`.

`view` reads shapes, `apply` writes decisions; both are one pass with a small dict of what was already worked out for
messages that look alike. This is the hot path: measure `tests/benchmarks` before and after a change.
The carriers themselves are in `_carriers`, a stream put together in `_chat_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, mark_id
from . import (
    LAYOUT,
    PSF,
    TURN,
    Form,
    Messages,
    as_mapping,
    canonical,
    plain,
    shape_value,
    stated_turn,
    unmarked,
    wrong_role,
    wrong_type,
)
from ._carriers import (
    BY_NAME,
    LISTS,
    LOOSE,
    PSF_CARRIERS,
    SEALED,
    STRINGS,
    THOUGHT,
    ListCarrier,
    block_code,
    codes_of,
    extra_code,
    field_word,
    part_of,
    signature_of,
    under_mark,
    without_blocks,
    without_extras,
    without_fields,
    without_signature,
)
from ._chat_recall import recall_by
from ._chat_stream import ChatStream
from ._chat_turns import TURNS
from ._chat_write import write
from ._inline import INLINE, inline_in, inline_within
from ._turns import last_start

ROLES = ("system", "developer", "user", "assistant", "tool", "function", "latest_reminder")
"""Roles of chat hosts; `latest_reminder` is DeepSeek's."""
_SPOKEN = ("function_call", "audio", "refusal", "images")
"""Keys besides `content` and `tool_calls` that make a message visible."""
_SHOWN = ("annotations", "images")
"""Lists that only replies have. An empty one says nothing and is refused by closed schemas: LiteLLM leaves `images: []`
on what Gemini says, OpenAI itself `annotations: []`."""


class _Look:
    """What is to be looked at in assistant messages that have these keys, and the shapes met there.

    A cache of what follows from keys and values alone; bounded, since marks are part of a shape.
    """

    def __init__(self, keys: tuple[str, ...], litellm: bool) -> None:
        self.litellm = litellm
        self.strings = tuple(key for key in STRINGS if key in keys)
        self.sealed = tuple(key for key in SEALED if key in keys)
        self.lists = tuple(carrier for carrier in LISTS if carrier.key in keys)
        self.spare = tuple(key for key in (PSF, TURN) if key in keys)
        self.shown = tuple(key for key in _SHOWN if key in keys)
        self.shapes: dict[Any, Message] = {}
        self.usual = _usual(keys)
        """For `_usual_key`, where messages with these keys may be usual ones."""
        self.usual_shapes: dict[Any, Message] = {}

    def shape(self, index: int, message: Mapping[str, Any]) -> Message:
        """The shape of a message that has these keys."""
        usual = _usual_key(message, *self.usual) if self.usual is not None else None
        shape = self.usual_shapes.get(usual)
        if shape is not None:
            return shape
        facts = _facts(self, index, message)
        if len(self.shapes) >= _MAX_SHAPES:
            self.shapes.clear()
            self.usual_shapes.clear()
        shape = self.shapes.get(facts) or self.shapes.setdefault(facts, _shape(*facts))
        if usual is not None:
            self.usual_shapes[usual] = shape
        return shape


_TAG = frozenset("<\n ")
"""How a content with thinking in front of it begins."""
_MAX_SHAPES = 256
_look_at = lru_cache(maxsize=256)(_Look)


@lru_cache(maxsize=256)
def _other(role: str, spare: tuple[str, ...]) -> Message:
    """The shape of a message that is not an assistant's."""
    return Message(role, spare=spare)


class _Usual(NamedTuple):
    """All the keys of a usual message, besides `role`, `content` and the framework's field."""

    name: str
    """Of its one text; empty where it has none, and no mark either."""
    calls: bool
    nulls: tuple[str, ...]
    """Keys that are null in a usual message (an SDK's dump)."""


def _usual(keys: tuple[str, ...]) -> _Usual | None:
    """How messages with exactly these keys are usual ones; None where they cannot be."""
    names = [key for key in keys if key in STRINGS]
    nulls = tuple(key for key in keys if key in _SPOKEN)
    rest = {*keys} - {"role", "content", "tool_calls", PSF, *names, *nulls}
    needed = {"role", "content", PSF} if names else {"role", "content"}
    if len(names) > 1 or rest or not needed.issubset(keys) or (PSF in keys and not names):
        return None
    return _Usual(names[0] if names else "", "tool_calls" in keys, nulls)


def _usual_key(  # noqa: C901, PLR0911 - one function, since it runs for every message; a call more is a tenth of it
    message: Mapping[str, Any], name: str, calls: bool, nulls: tuple[str, ...]
) -> Any:
    """The key of a message with one text and a mark, or neither, and nothing else; None where it is not as usual.

    It looks at every key that the message may have: with as many keys as that, the message has no other. Almost all of
    a long history is such messages, and `_facts` takes ten times as long for one (2026-11-30).
    """
    try:
        content, identity = message["content"], None
        if name:
            text, fields = message[name], message[PSF]
            note = fields[MARK]
            identity = note["id"]
            if text.__class__ is not str or identity.__class__ is not str or text == "" or text.isspace():
                return None
            if len(fields) != 1 or len(note) != 2 or note["v"] != 1:
                return None
        if content.__class__ is not str:
            return None
        if (nulls and any(message[key] is not None for key in nulls)) or (content[:1] in _TAG and inline_in(content)):
            return None
        if not calls:
            return identity, content == ""
        for call in message["tool_calls"]:
            if call.__class__ is not dict or "extra_content" in call or PSF in call or THOUGHT in call["id"]:
                return None
            if call["function"].__class__ is not dict or PSF in call["function"]:
                return None
        return identity, content == "", message["tool_calls"] != []
    except (KeyError, TypeError):
        return None


def _facts(look: _Look, index: int, message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Everything about a message that its shape depends on: the arguments of `_shape`.

    Raises:
        HistoryError: a field of the wrong type.
    """
    codes: list[tuple[str, int | None, str]] = []
    for name in look.strings:
        text = _typed(index, name, message[name], str, "a string or null")
        if text is not None:
            codes.append((name, None, shape_value(text)))
    codes += [(name, None, "opaque") for name in look.sealed if message[name] is not None]
    fields = _typed(index, PSF, message.get(PSF), Mapping, "a dict or null") or {}
    content = _typed(index, "content", message.get("content"), (str, list), "a string, a list of parts or null")
    for carrier in look.lists:
        items = content if carrier.key == "content" else _typed(index, carrier.key, message[carrier.key], list, _LISTED)
        codes += _codes(carrier, items)
    if "reasoning_details" not in message:
        details = fields.get("reasoning_details")
        codes += _codes(BY_NAME["reasoning_details"], _typed(index, f"{PSF}.reasoning_details", details, list, _LISTED))
    if signature_of({"function": message.get("function_call")}) is not None:
        codes.append(("function_call.extra", None, "opaque"))
    if look.litellm:
        codes += [(f"psf.{name}", None, "opaque") for name in PSF_CARRIERS if fields.get(name) is not None]
    if (inline := inline_within(content)) is not None:
        codes.append((INLINE, None, shape_value(inline.text)))
        content = inline.rest
    calls = message.get("tool_calls")
    called = (calls is not None and calls != []) or message.get("function_call") is not None
    hidden = sum(carrier == "content.thinking" for carrier, _, _ in codes)
    visible = called or len(content or ()) > hidden or any(message.get(name) not in (None, []) for name in _SPOKEN)
    lists = (carrier.key for carrier in look.lists if carrier.key not in _VISIBLE)
    names = (*look.strings, *look.sealed, *lists, *look.shown)
    spare = (*look.spare, *(name for name in names if message[name] is None or message[name] == []))
    ordered = look.litellm and LAYOUT in fields and isinstance(content, str)
    lead = _lead(codes, fields.get(LAYOUT) if ordered else None)
    null = content is None or content == []
    return mark_id(fields.get(MARK)), tuple(codes), called, visible, spare, lead, null, ordered


_VISIBLE = ("content", "tool_calls")
"""Lists that hold more than reasoning."""
_LISTED = "a list or null"


def _typed(index: int, key: str, value: Any, kind: Any, allowed: str) -> Any:
    if value is not None and not isinstance(value, kind):
        raise wrong_type(index, key, value, allowed)
    return value


def _codes(carrier: ListCarrier, items: Any) -> list[tuple[str, int | None, str]]:
    return [(carrier.name, item, code) for item, code in codes_of(carrier, items)] if isinstance(items, list) else []


def _lead(codes: list[tuple[str, int | None, str]], layout: Any) -> int:
    """How many blocks of reasoning come first: by the noted order, by the content list, else all of them."""
    if isinstance(layout, list):
        return next((place for place, entry in enumerate(layout) if entry != "thinking"), len(layout))
    inside = [item for carrier, item, _ in codes if carrier == "content.thinking"]
    if inside:
        return sum(item == place for place, item in enumerate(inside))
    return sum(carrier == "thinking_blocks" for carrier, _, _ in codes)


def _shape(
    identity: str | None,
    codes: tuple[tuple[str, int | None, str], ...],
    called: bool,
    visible: bool,
    spare: tuple[str, ...],
    lead: int,
    null: bool,
    ordered: bool,
) -> Message:
    parts = under_mark((part_of(carrier, item, code) for carrier, item, code in codes), identity)
    return Message("assistant", called, visible, parts, spare, lead, null, ordered, (), False, identity == REDACTED)


def view(messages: Messages, starts_turn: StartsTurn | None = None, *, litellm: bool = False) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or a field of the wrong type; it names the message and what is allowed.
    """
    rows: list[Message] = []
    size, name, calls, nulls, shapes = -1, "", False, _NO_KEYS, _NONE
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            # As many keys as the last usual one, and all of its keys: the same keys.
            shape = shapes.get(_usual_key(message, name, calls, nulls)) if len(message) == size else None
            if shape is None:
                look = _look_at(tuple(message), litellm)
                shape = look.shape(index, message)
                if look.usual is not None:
                    size, (name, calls, nulls), shapes = len(message), look.usual, look.usual_shapes
            rows.append(shape)
        elif role == "tool" and len(message) == 3 and "tool_call_id" in message and "content" in message:
            rows.append(_TOOL)
        else:
            rows.append(_other(_known_role(index, role), _never_sent(index, message)))
    found = frozenset(rows)
    host_turn = last_start(messages, TURNS)
    if starts_turn is None and not any(TURN in shape.spare for shape in found):
        return History(rows, found, host_turn, host_turn)
    stated = partial(stated_turn, starts_turn=starts_turn)
    return History(rows, found, last_start(messages, TURNS, stated), host_turn)


_TOOL = _other("tool", ())
_NO_KEYS: tuple[str, ...] = ()
_NONE: dict[Any, Message] = {}


def _never_sent(index: int, message: Mapping[str, Any]) -> tuple[str, ...]:
    """What may not stand on a message that is not an assistant's: reasoning is nobody else's."""
    stated_turn(index, message, None)
    content = message.get("content")
    blocks = isinstance(content, list) and any(block_code(plain(part)) is not None for part in content)
    return (*(key for key in _STRIPPED if key in message), *(("content.thinking",) if blocks else ()))


def _known_role(index: int, role: Any) -> str:
    if role not in ROLES:
        raise wrong_role(index, role, ROLES)
    return str(role)


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of; the same text gives the same payload under every name."""
    if part.item is None:
        name = part.carrier.removeprefix("psf.")
        if name != part.carrier:
            return f"\0{field_word(name, message[PSF][name])}"
        if name == INLINE:
            inline = inline_within(message["content"])
            return "" if inline is None else inline.text
        if name == "function_call.extra":
            return f"\0{signature_of({'function': message['function_call']})}"
        value = message[name]
        return value if name in STRINGS else f"\0{value if isinstance(value, str) else canonical(value)}"
    carrier = BY_NAME[part.carrier]
    items = message.get(carrier.key)
    if items is None:
        items = message[PSF][carrier.key]
    return carrier.payload(plain(items[part.item]))


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
    return unmarked(found)


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark in its `provider_specific_fields`; one mark stands for all its reasoning."""
    return {**message, PSF: {**(message.get(PSF) or {}), MARK: note}}


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every message without any carrier, mark or turn note; an assistant message that is left bare goes."""
    kept: list[Any] = []
    for message in messages:
        left = {key: value for key, value in message.items() if key not in _STRIPPED}
        if isinstance(left.get("content"), list):
            parts = map(plain, without_blocks(left["content"]))
            left["content"] = [without_extras(part) if extra_code(part) else part for part in parts]
        if left.get("role") == "assistant" and (inline := inline_within(left.get("content"))) is not None:
            left["content"] = inline.rest
        if isinstance(left.get("tool_calls"), list):
            calls = map(plain, left["tool_calls"])
            left["tool_calls"] = [without_signature(call) if signature_of(call) else call for call in calls]
        if (function := as_mapping(left.get("function_call"))) is not None:
            left["function_call"] = without_fields(function)
        if isinstance(left.get("tool_call_id"), str):
            left["tool_call_id"] = left["tool_call_id"].split(THOUGHT, 1)[0]
        if left.get("role") == "assistant":
            if not any(left.get(key) for key in ("content", "tool_calls", *_SPOKEN)) and left != message:
                continue
            if fill is not None:
                left["reasoning_content"] = fill
        kept.append(left)
    return kept


_STRIPPED = (*sorted(LOOSE), PSF, TURN)
"""Keys that the fallback takes from every message, and `view` from all but the assistant's."""

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
        turns=TURNS,
        recall=recall_by(partial(view, litellm=name == "litellm")),
    )
    for name in ("chat", "litellm")
}

__all__ = ["FORMS"]
