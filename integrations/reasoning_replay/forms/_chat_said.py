"""Chat messages told by what everybody can see: for the chat form, LiteLLM's and Ollama's.

Almost all of a long history is texts and calls and nothing else: those are looked at without a copy (measured in
tests/benchmarks/bench_recall.py). What is bare, the form's own `view` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._history import History
from . import PSF, Messages, Said, as_mapping, plain
from ._carriers import (
    EXTRAS,
    SEALED,
    STRINGS,
    THOUGHT,
    block_code,
    extra_code,
    is_past,
    signature_of,
    without_extras,
)
from ._inline import inline_within
from ._places import Look, text_in
from ._recall import Calls, Words, beside, called, hidden_past, meant, ordered, plain_id, shown, speaker

View = Callable[[Messages], History]
_ROLES = {"developer": "system"}
_NAMED = ("user", "system", "function")
"""Roles whose name the model reads."""
_PICTURES = ("image_url", "input_image")
_TEXTS = (None, "text", "input_text", "output_text")
"""Types of parts that are their text and nothing else; a picture may have a text beside it."""


def _is_text(part: Any) -> bool:
    if isinstance(part, str):
        return True
    return isinstance(part, Mapping) and isinstance(part.get("text"), str) and part.get("type") in _TEXTS


BLOCKS = Look(
    is_hidden=lambda part: block_code(part) is not None,
    seal=lambda part: {key: part[key] for key in EXTRAS if part.get(key) is not None} if extra_code(part) else None,
    sealed=lambda part, seal: {**({"type": "text", "text": part} if isinstance(part, str) else part), **seal},
    bare=without_extras,
    is_text=_is_text,
)


def said(view: View, messages: Messages) -> list[Said]:
    """Every message by what everybody can see of it."""
    out: list[Said] = []
    calls = Calls()
    for at, message in enumerate(messages):
        role: Any = message.get("role")
        given: Any = message.get("content")
        content = _one_text(given) if given.__class__ is list else given
        if role == "assistant":
            text, ids, bare, thin = _usual_reply(message, content) or _reply(view, message, given)
            if ids:
                calls.add(ids)
            out.append(Said(at, at + 1, True, text, ids if all(ids) else (), bare, thin))
            if (given.__class__ is list or "name" in message) and (more := _beside(message, given)):
                out.append(beside(at + 1, more))
            continue
        who = f"tool,{_answered(message, calls)}" if role == "tool" else _ROLES.get(str(role), str(role))
        if content.__class__ is str and content != "" and (len(message) == 2 or role == "tool"):
            text = f"[{who},{len(content)}:{content}]"
        else:
            text = _told(who, message, content)
        out.append(Said(at, at + 1, False, text, (), False))
    return out


def _one_text(content: list[Any]) -> Any:
    """A list of one text as the text; any other content as it is."""
    part = content[0] if len(content) == 1 else None
    if part.__class__ is not dict or part.get("type") != "text" or not _SEALS.isdisjoint(part):
        return content
    text = part.get("text")
    return text if text.__class__ is str else content


_SEALS = frozenset(EXTRAS)


def _beside(message: Mapping[str, Any], content: Any) -> list[str]:
    """What a reply has beside its words: who of several said it, and messages that are gone."""
    name = message.get("name")
    names = [] if name in (None, "") else [speaker(name)]
    parts = map(plain, content) if isinstance(content, list) else ()
    return [*names, *(hidden_past(shown(part, whole=True)) for part in parts if is_past(part))]


_Told = tuple[str, tuple[str, ...], bool, bool]
"""Text and ids of a reply, and whether it is bare, or thin."""


def _usual_reply(message: Mapping[str, Any], content: Any) -> _Told | None:
    """What is told of a message that is a text, or calls of the usual three keys, or both; None for another.

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
    return (
        f"[assistant{text}]",
        ids,
        bare,
        not bare and PSF not in message and message.get("content").__class__ is not list,
    )


def _usual_call(call: Any) -> str:
    """A call of the usual three keys.

    Raises:
        ValueError, KeyError, TypeError: it is not as usual.
    """
    function = call["function"]
    name = function["name"]
    if len(call) - ("index" in call) != 3 or len(function) != 2 or "type" not in call or not _is_plain(call["id"]):
        raise ValueError
    return f"({len(name)}:{name},{meant(function['arguments'])})"


def _is_plain(identity: object) -> bool:
    return identity.__class__ is str and THOUGHT not in identity


def _usually_bare(message: Mapping[str, Any]) -> bool | None:
    """Whether a message with more keys has no reasoning; None where there is more to look at than one text."""
    more = {key: value for key, value in message.items() if value is not None and key not in _USUAL and value != []}
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
    _say(words, content, whole=True)
    _show_pictures(words, message)
    return str(words)


def _say(words: Words, content: Any, *, whole: bool = False) -> None:
    """The texts and pictures of a content; thinking is not said in a reply, and is (`whole`) in anything else."""
    if not isinstance(content, list):
        if isinstance(content, str) or content is None:
            words.say(content)
        else:
            words.show(shown(content, whole=whole))
        return
    for part in map(plain, content):
        if not whole and block_code(part) is not None:
            continue
        if BLOCKS.is_text(part):
            words.say(text_in(part))
        else:
            words.show(shown(_picture(part), whole=whole))


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


def _reply(view: View, message: Mapping[str, Any], content: Any) -> _Told:
    """What is told of an assistant's message."""
    words = Words("assistant")
    inline = inline_within(content)
    _say(words, content if inline is None else inline.rest)
    made = message.get("tool_calls")
    ids = _show_calls(words, made) if made else ()
    _show_beside(words, message)
    bare = is_bare(view, message)
    return str(words), ids, bare, not bare and is_thin(message)


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


def is_thin(message: Mapping[str, Any]) -> bool:
    """Whether all reasoning that stands there is text beside the content, with no mark: what many clients echo."""
    if PSF in message or not isinstance(message.get("content"), str | None):
        return False
    if any(message.get(key) not in (None, []) for key in _MORE):
        return False
    calls = message.get("tool_calls")
    return not isinstance(calls, list) or all(signature_of(plain(call)) is None for call in calls)


_MORE = (*SEALED, "reasoning_details", "thinking_blocks", "reasoning_items", "function_call")


def is_bare(view: View, message: Mapping[str, Any]) -> bool:
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
