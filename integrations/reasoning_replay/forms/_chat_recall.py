"""The reasoning of a chat message taken out and put back: for the chat form, LiteLLM's and Ollama's.

Where each keeps reasoning stands in `_carriers`, what is bare in the form's own `view`, what everybody can see of a
message in `_chat_said`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._history import History
from .._origin import MARK
from . import LAYOUT, PSF, Messages, Recall, as_mapping, plain
from ._carriers import (
    PSF_CARRIERS,
    SEALED,
    STRINGS,
    THOUGHT,
    block_code,
    signature_of,
    text_of,
)
from ._chat_said import BLOCKS, View, is_bare, is_thin, said
from ._inline import inline_in
from ._places import put, take, text_in
from ._recall import packed, unpacked

_LISTS = ("reasoning_details", "thinking_blocks", "reasoning_items")
_KEYS = (*STRINGS, *SEALED, *_LISTS)
_FIELDS = ("reasoning_details", *PSF_CARRIERS, LAYOUT)
"""What is kept of `provider_specific_fields`."""


def recall_by(view: Callable[..., History]) -> Recall:
    """How a form of chat messages, read by this `view`, is recalled."""
    return Recall(said=partial(said, view), lift=partial(lift, view), lay=partial(lay, view))


def lift(view: View, rows: Messages) -> Any:
    """A message's reasoning; None where there is none but blanks."""
    message = rows[0]
    if all(part.value != "text" for part in view([message]).rows[0].parts):
        return None
    fields = as_mapping(message.get(PSF)) or {}
    content: Any = message.get("content")
    lifted: dict[str, Any] = {
        "keys": {key: packed(message[key]) for key in _KEYS if message.get(key) is not None},
        "fields": {key: packed(fields[key]) for key in _FIELDS if fields.get(key) is not None},
        "calls": _extras(message.get("tool_calls")),
        "function": _extra(as_mapping(message.get("function_call"))),
    }
    if isinstance(content, list):
        lifted["content"] = take(BLOCKS, content)
    elif (inline := inline_in(content)) is not None:
        lifted["tags"] = content[: len(content) - len(inline.rest)]
    return {name: value for name, value in lifted.items() if value}


def _extras(calls: Any) -> list[Any]:
    """Place and extra of every call that has one."""
    found = ((at, _extra(as_mapping(call))) for at, call in enumerate(calls or ()))
    return [[at, extra] for at, extra in found if extra]


def _extra(call: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is sealed beside a call, by the place where it stands."""
    if call is None:
        return {}
    own, function = as_mapping(call.get(PSF)), as_mapping(call.get("function")) or {}
    inner = as_mapping(function.get(PSF))
    _, _, thought = str(call.get("id") or "").partition(THOUGHT)
    extra = {
        "extra_content": call.get("extra_content"),
        "fields": None if own is None else own.get("thought_signature"),
        "function": None if inner is None else inner.get("thought_signature"),
        "thought": thought if thought != "" else None,
    }
    return {name: packed(value) for name, value in extra.items() if value is not None}


def lay(view: View, rows: Messages, lifted: Any) -> list[Mapping[str, Any]]:
    """The client's message with the reasoning back; as it is where some stands already, or a place is not there."""
    message = rows[0]
    if not isinstance(lifted, Mapping) or not (is_bare(view, message) or _completes(lifted, message)):
        return list(rows)
    copy = {key: value for key, value in message.items() if key not in (*_KEYS, PSF)}
    kept = as_mapping(message.get(PSF)) or {}
    fields = {key: value for key, value in kept.items() if key not in (*_FIELDS, MARK)}
    fields |= unpacked(dict(lifted.get("fields") or {}))
    copy |= unpacked(dict(lifted.get("keys") or {}))
    content = _content(message.get("content"), lifted, copy, fields)
    calls = _sealed_calls(message.get("tool_calls"), lifted.get("calls") or ())
    if content is _LOST or calls is _LOST:
        return list(rows)
    copy |= {key: value for key, value in (("content", content), ("tool_calls", calls)) if key in message or value}
    if lifted.get("function") and (function := as_mapping(message.get("function_call"))) is not None:
        copy["function_call"] = _sealed_call(function, lifted["function"])
    return [{**copy, PSF: fields} if fields else copy]


def _completes(lifted: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether what stands there is the readable text of what was lifted, and only that."""
    if not is_thin(message):
        return False
    keys = lifted.get("keys") or {}
    texts = {keys[key] for key in STRINGS if isinstance(keys.get(key), str)}
    for key in _LISTS[:2]:
        items = keys.get(key)
        if isinstance(items, list):
            texts.add("".join(_text_in(item) for item in items))
    sealed = any(name in lifted for name in ("calls", "content", "function")) or any(key not in STRINGS for key in keys)
    there = [message[key] for key in STRINGS if isinstance(message.get(key), str) and message[key] != ""]
    return sealed and inline_in(message.get("content")) is None and texts.issuperset(there)


def _text_in(item: Any) -> str:
    """The readable text of a thinking block, or of a detail."""
    return text_of(item.get("thinking", item.get("text"))) if isinstance(item, Mapping) else ""


_LOST: Any = object()
"""Stands for what has no place in the client's message."""


def _content(content: Any, lifted: Mapping[str, Any], copy: dict[str, Any], fields: dict[str, Any]) -> Any:
    """The content with the reasoning that stood in it; `_LOST` where it does not fit.

    An order that is noted for one text becomes places where the client has cut that text into parts.
    """
    if (inline := inline_in(content)) is not None:
        content = inline.rest
    places = lifted.get("content")
    if LAYOUT in fields and isinstance(content, list):
        places = _layout_places(fields.pop(LAYOUT), copy.pop("thinking_blocks", ()))
    tags = lifted.get("tags")
    if tags is not None and not isinstance(content, list):
        return tags + (content or "") if isinstance(content, str | None) else _LOST
    if tags is not None:
        places = {"seals": [[0, 0, _first_text(content), {"tags": tags}]]} if content else None
        content = content or tags
    if places:
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        placed = put(_TAGGED if tags is not None else BLOCKS, parts, places)
        return _LOST if placed is None else placed
    if isinstance(content, list) and any(block_code(plain(part)) is not None for part in content):
        return [part for part in content if block_code(plain(part)) is None]
    return content


_TAGGED = BLOCKS._replace(
    sealed=lambda part, seal: (
        seal["tags"] + part if isinstance(part, str) else {**part, "text": seal["tags"] + part["text"]}
    )
)
"""A text whose thinking stands in front of it."""


def _first_text(parts: list[Any]) -> int:
    first = next((part for part in map(plain, parts) if block_code(part) is None), None)
    return len(text_in(first)) if BLOCKS.is_text(first) else 0


def _layout_places(layout: Any, blocks: Any) -> dict[str, Any]:
    """Places of thinking blocks by the order that was noted beside the mark."""
    left, placed = list(blocks), []
    start = 0
    for entry in layout if isinstance(layout, list) else ():
        kind, _, length = str(entry).partition(":")
        if kind == "thinking" and left:
            placed.append([0, start, left.pop(0)])
        elif kind == "text" and length.isdigit():
            start += int(length)
    return {"blocks": [*placed, *([0, start, block] for block in left)]}


def _sealed_calls(calls: Any, extras: Any) -> Any:
    """The client's calls with what was sealed beside them."""
    if not extras:
        return calls
    sealed = list(calls or ())
    for at, extra in extras:
        call = as_mapping(sealed[at]) if 0 <= at < len(sealed) else None
        if call is None:
            return _LOST
        sealed[at] = call if signature_of(call) is not None else _sealed_call(call, extra)
    return sealed


def _sealed_call(call: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A call with its seal. One out of an id goes beside it: results name the id that the client uses."""
    seal = unpacked(dict(extra))
    copy = dict(call)
    if "extra_content" in seal:
        copy["extra_content"] = seal["extra_content"]
    own = seal.get("fields", seal.get("thought"))
    if own is not None:
        copy[PSF] = {**(as_mapping(copy.get(PSF)) or {}), "thought_signature": own}
    if "function" in seal:
        function = as_mapping(copy.get("function")) or {}
        fields = {**(as_mapping(function.get(PSF)) or {}), "thought_signature": seal["function"]}
        copy["function"] = {**function, PSF: fields}
    return copy
