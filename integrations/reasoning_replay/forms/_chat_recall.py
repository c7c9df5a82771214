"""Chat messages told by what everybody can see, and their reasoning taken out and put back.

For the chat form, LiteLLM's and Ollama's: where each keeps reasoning stands in `_carriers`, what is bare in the form's
own `view`. Almost all of a long history is texts and calls and nothing else: `said` looks at those without a copy
(measured in tests/benchmarks/bench_recall.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._history import History
from .._origin import MARK
from . import LAYOUT, PSF, Messages, Recall, Said, as_mapping, plain
from ._carriers import (
    EXTRAS,
    PSF_CARRIERS,
    SEALED,
    STRINGS,
    THOUGHT,
    block_code,
    extra_code,
    signature_of,
    without_extras,
)
from ._inline import inline_in
from ._places import Look, put, take, text_in
from ._recall import Calls, Words, called, meant, ordered, packed, plain_id, shown, unpacked

View = Callable[[Messages], History]
_LISTS = ("reasoning_details", "thinking_blocks", "reasoning_items")
_KEYS = (*STRINGS, *SEALED, *_LISTS)
_FIELDS = ("reasoning_details", *PSF_CARRIERS, LAYOUT)
"""What is kept of `provider_specific_fields`."""
_ROLES = {"developer": "system"}
_NAMED = ("user", "system", "function")
"""Roles whose name the model reads."""
_PICTURES = ("image_url", "input_image")
_BLOCKS = Look(
    is_hidden=lambda part: block_code(part) is not None,
    seal=lambda part: {key: part[key] for key in EXTRAS if part.get(key) is not None} if extra_code(part) else None,
    sealed=lambda part, seal: {**({"type": "text", "text": part} if isinstance(part, str) else part), **seal},
    bare=without_extras,
    is_text=lambda part: isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str)),
)


def recall_by(view: Callable[..., History]) -> Recall:
    """How a form of chat messages, read by this `view`, is recalled."""
    return Recall(said=partial(said, view), lift=partial(lift, view), lay=partial(lay, view))


def said(view: View, messages: Messages) -> list[Said]:
    """Every message by what everybody can see of it."""
    out: list[Said] = []
    calls = Calls()
    for at, message in enumerate(messages):
        role: Any = message.get("role")
        content: Any = message.get("content")
        if role == "assistant":
            text, ids, bare = _usual_reply(message, content) or _reply(view, message, content)
            if ids:
                calls.add(ids)
            out.append(Said(at, at + 1, True, text, ids if all(ids) else (), bare))
            continue
        who = f"tool,{_answered(message, calls)}" if role == "tool" else _ROLES.get(str(role), str(role))
        if content.__class__ is str and content != "" and (len(message) == 2 or role == "tool"):
            text = f"[{who},{len(content)}:{content}]"
        else:
            text = _told(who, message, content)
        out.append(Said(at, at + 1, False, text, (), False))
    return out


def _usual_reply(message: Mapping[str, Any], content: Any) -> tuple[str, tuple[str, ...], bool] | None:
    """Text, ids and bareness of a message that is a text, or calls of the usual three keys, or both; else None.

    What it gives is what `_reply` would: it is there for the speed of long histories.
    """
    if content is None or content == "":
        text = ""
    elif content.__class__ is not str or content[:1] in _TAG:
        return None
    else:
        text = f",{len(content)}:{content}"
    made = message.get("tool_calls")
    bare = _USUAL.issuperset(message) or _usually_bare(message)
    if bare is None:
        return None
    ids: tuple[str, ...] = ()
    if made is not None:
        try:
            ids = tuple([call["id"] for call in made])
            text = ",".join([text, *map(_usual_call, made)])
        except (KeyError, TypeError, ValueError):
            return None
    return f"[assistant{text}]", ids, bare


def _usual_call(call: Any) -> str:
    """A call of the usual three keys.

    Raises:
        ValueError, KeyError, TypeError: it is not as usual.
    """
    function = call["function"]
    name = function["name"]
    if len(call) != 3 or len(function) != 2 or "type" not in call or not _is_plain(call["id"]):
        raise ValueError
    return f"({len(name)}:{name},{meant(function['arguments'])})"


def _is_plain(identity: object) -> bool:
    return identity.__class__ is str and THOUGHT not in identity


def _usually_bare(message: Mapping[str, Any]) -> bool | None:
    """Whether a message with more keys has no reasoning; None where there is more to look at than one text."""
    more = {key: value for key, value in message.items() if value is not None and key not in _USUAL}
    more.pop(PSF, None)
    if len(more) != 1:
        return True if not more and PSF not in message else None
    ((key, text),) = more.items()
    return False if key in STRINGS and text.__class__ is str and text != "" and not text.isspace() else None


_USUAL = frozenset({"role", "content", "tool_calls"})


def _answered(message: Mapping[str, Any], calls: Calls) -> str:
    """Which call a result is of; by the tool's name where there are no ids (Ollama)."""
    identity = message.get("tool_call_id")
    return calls.answered(identity) if identity is not None else ordered(message.get("tool_name"))


def _told(who: str, message: Mapping[str, Any], content: Any) -> str:
    """A message that is not the assistant's, with all that it may hold."""
    words = Words(who)
    if message.get("role") in _NAMED and message.get("name") not in (None, ""):
        words.show(shown({"name": message["name"]}))
    _say(words, content)
    _show_pictures(words, message)
    return str(words)


def _say(words: Words, content: Any) -> None:
    """The texts and pictures of a content; thinking in it is not said."""
    if not isinstance(content, list):
        if isinstance(content, str) or content is None:
            words.say(content)
        else:
            words.show(shown(content))
        return
    for part in map(plain, content):
        if block_code(part) is not None:
            continue
        if _BLOCKS.is_text(part):
            words.say(text_in(part))
        else:
            words.show(shown(_picture(part)))


def _picture(part: Any) -> Any:
    """A picture's address may stand alone."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in _PICTURES and isinstance(part.get("image_url"), str):
        return {**part, "image_url": {"url": part["image_url"]}}
    return part


def _show_pictures(words: Words, message: Mapping[str, Any]) -> None:
    pictures = message.get("images")
    if isinstance(pictures, list) and pictures:
        words.show(shown({"images": pictures}))


def _reply(view: View, message: Mapping[str, Any], content: Any) -> tuple[str, tuple[str, ...], bool]:
    """Text, ids and bareness of an assistant's message."""
    words = Words("assistant")
    inline = inline_in(content)
    _say(words, content if inline is None else inline.rest)
    made = message.get("tool_calls")
    ids = _show_calls(words, made) if made else ()
    _show_beside(words, message)
    return str(words), ids, _is_bare(view, message)


_TAG = frozenset("<\n ")
"""How a content with thinking in front of it begins."""


def _show_calls(words: Words, made: Any) -> tuple[str, ...]:
    """Shows a message's calls, and gives their ids."""
    if not isinstance(made, list):
        words.show(ordered(made))
        return ()
    ids = []
    for each in made:
        call = as_mapping(each) or {}
        function = as_mapping(call.get("function") or call.get("custom"))
        if function is None:
            words.show(ordered(each))
        else:
            words.show(called(function.get("name"), function.get("arguments", function.get("input"))))
        ids.append(plain_id(str(call.get("id") or "")))
    return tuple(ids)


def _show_beside(words: Words, message: Mapping[str, Any]) -> None:
    """Shows what an assistant says besides content and calls."""
    if (refusal := message.get("refusal")) not in (None, ""):
        words.show(shown({"refusal": refusal}))
    if (audio := as_mapping(message.get("audio"))) is not None and audio.get("id") is not None:
        words.show(shown({"audio": audio["id"]}))
    if (function := as_mapping(message.get("function_call"))) is not None:
        words.show(called(function.get("name"), function.get("arguments")))
    _show_pictures(words, message)


def _is_bare(view: View, message: Mapping[str, Any]) -> bool:
    """Whether no reasoning stands there: blanks are none, nor is a signature in a call's id, which clients keep."""
    for key in STRINGS:
        text = message.get(key)
        if isinstance(text, str) and text != "" and not text.isspace():
            return False
    parts = view([message]).rows[0].parts
    return all(part.value != "text" or (part.item is not None and _in_id(message, part)) for part in parts)


def _in_id(message: Mapping[str, Any], part: Any) -> bool:
    if part.carrier != _SIGNATURE:
        return False
    return signature_of({**plain(message["tool_calls"][part.item]), "id": None}) is None


_SIGNATURE = "tool_calls.extra_content"


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
        lifted["content"] = take(_BLOCKS, content)
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
    if not isinstance(lifted, Mapping) or not _is_bare(view, message):
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
        placed = put(_TAGGED if tags is not None else _BLOCKS, parts, places)
        return _LOST if placed is None else placed
    if isinstance(content, list) and any(block_code(plain(part)) is not None for part in content):
        return [part for part in content if block_code(plain(part)) is None]
    return content


_TAGGED = _BLOCKS._replace(
    sealed=lambda part, seal: (
        seal["tags"] + part if isinstance(part, str) else {**part, "text": seal["tags"] + part["text"]}
    )
)
"""A text whose thinking stands in front of it."""


def _first_text(parts: list[Any]) -> int:
    first = next((part for part in map(plain, parts) if block_code(part) is None), None)
    return len(text_in(first)) if _BLOCKS.is_text(first) else 0


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
