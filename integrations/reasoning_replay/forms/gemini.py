"""Gemini's form: contents with parts, a signature beside the part that it came with.

Thoughts are parts (`thought: true`); a signature seals a call, a text, or an empty text behind a stream. Signed parts
are never merged or moved. Keys may come in camel case or with underscores (google-genai's own objects), bytes as bytes
or as base64. Shapes: google-genai 3.6.1; https://ai.google.dev/gemini-api/docs/thought-signatures, 2026-11.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._history import HistoryError
from . import Form, Messages, as_mapping, canonical, listed, shape_value
from ._block_recall import Answer, Call, Speech, recall_by
from ._blocks import (
    EXTRA,
    SIGNATURE,
    THINKING,
    Block,
    Blocks,
    mark,
    payload,
    strip,
    turns_of,
    unmarked,
    view,
    word,
    write,
)
from ._gemini_stream import SEALS, GeminiStream, bare, content_of, seal_of
from ._places import Look

SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""What Google lets stand for a signature that nobody has: it opens nothing and is nobody's."""
_SENTINELS = frozenset({*SENTINELS, *(base64.b64encode(name.encode()).decode() for name in SENTINELS)})
_CALLS = ("functionCall", "function_call")
_RESULTS = ("functionResponse", "function_response")
_BESIDE = frozenset({*SEALS, "thought", "partMetadata", "part_metadata"})
"""Keys of a part that are no data."""


def _seal(part: Block) -> str | None:
    """A part's own signature; a sentinel is none."""
    found = word(seal_of(part))
    return None if found in _SENTINELS else found


def _code(part: Block) -> tuple[str, str] | None:
    """Carrier and code of a part."""
    seal, text = _seal(part), part.get("text")
    if part.get("thought") is True:
        if not isinstance(text, str):
            return THINKING, "opaque"
        return THINKING, shape_value(text) if seal is None else "signed" if text != "" else "hollow"
    if seal is None:
        return None
    return (SIGNATURE if _is_call(part) else EXTRA), "opaque"


def _payload(part: Block) -> str:
    seal, text = _seal(part), part.get("text")
    if part.get("thought") is not True:
        return f"\0{seal}"
    if not isinstance(text, str):
        return f"\0{canonical(part)}"
    return text if seal is None else f"{text}\0{seal}"


def _is_call(part: Block) -> bool:
    return any(part.get(key) is not None for key in _CALLS)


def _is_hidden(part: Block) -> bool:
    """A thought, or an empty text that is there for its signature."""
    return part.get("thought") is True or (seal_of(part) is not None and _data(part) in ([], [("text", "")]))


def _data(part: Block) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in part.items() if key not in _BESIDE]


def _sent(part: Block) -> Block | None:
    """A signature without any data is Vertex's note on media: it "must not be replayed" (vercel/ai ed857f5)."""
    return None if seal_of(part) is not None and not _data(part) and part.get("thought") is not True else part


def _filled(parts: list[Any], text: str) -> list[Any]:
    """The first call with the sentinel in base64, which Google's JSON and its SDK's objects read alike."""
    for number, part in enumerate(parts):
        if _is_call(part):
            key = SEALS[0] if _CALLS[0] in part else SEALS[1]
            value = base64.b64encode(text.encode()).decode()
            return [*parts[:number], {**part, key: value}, *parts[number + 1 :]]
    return parts


PARTS = Blocks(
    key="parts",
    roles={"user": "user", "model": "assistant", "function": "tool", "system": "system"},
    code=_code,
    payload=_payload,
    bare=bare,
    is_hidden=_is_hidden,
    is_call=_is_call,
    is_result=lambda part: any(part.get(key) is not None for key in _RESULTS),
    is_text=lambda part: part.get("text") is not None and part.get("thought") is not True,
    sent=_sent,
    filled=_filled,
    default_role="user",
)


def _seals(part: Block) -> dict[str, Any] | None:
    """A visible part's own signature under the name that it has; a sentinel is none."""
    return None if _seal(part) is None else {key: part[key] for key in SEALS if part.get(key) is not None}


def _call(part: Block) -> Call | None:
    call = next((as_mapping(part[key]) for key in _CALLS if part.get(key) is not None), None)
    return None if call is None else Call(call.get("id"), call.get("name"), call.get("args"))


def _answer(part: Block) -> Answer | None:
    answer = next((as_mapping(part[key]) for key in _RESULTS if part.get(key) is not None), None)
    if answer is None:
        return None
    said = {"response": answer.get("response"), "parts": answer.get("parts")}
    return Answer(answer.get("id"), answer.get("name"), False, said)


SPEECH = Speech(
    key="parts",
    role_of=lambda message: PARTS.roles[message.get("role", PARTS.default_role)],
    code=lambda part: None if (found := _code(part)) is None else found[1],
    look=Look(
        is_hidden=_is_hidden,
        seal=_seals,
        sealed=lambda part, seal: {**bare(part), **seal},
        bare=bare,
        is_text=lambda part: isinstance(part.get("text"), str) and part.get("thought") is not True,
    ),
    call=_call,
    answer=_answer,
    text=lambda part: str(part.get("text") or ""),
)


def rows_of(messages: object) -> list[Mapping[str, Any]]:
    """The contents as mappings; a plain string is a user's, as Google's SDK takes it.

    Raises:
        HistoryError: not a list, or something in it that is no content.
    """
    given = [messages] if isinstance(messages, str) else messages
    if isinstance(given, list) and any(isinstance(each, str) for each in given):
        given = [{"role": "user", "parts": [{"text": each}]} if isinstance(each, str) else each for each in given]
    rows = listed(given)
    for index, row in enumerate(rows):
        if "parts" not in row and "role" not in row:
            raise HistoryError(f"messages[{index}]: no content; allowed: a dict with role and parts")
    return rows


def stripped(messages: Messages, fill: str | None) -> list[Any]:
    """Every content without reasoning and signatures; the fill stands for the seal of the first call of each."""
    return strip(PARTS, messages, fill)


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply, or its content alone → the content, without a mark that came with it.

    Raises:
        HistoryError: no reply of this form, or no such candidate.
    """
    found = as_mapping(reply)
    if found is not None and "candidates" in found:
        candidates = found["candidates"]
        if not isinstance(candidates, Sequence) or not 0 <= choice < len(candidates):
            raise HistoryError(f"reply.candidates: no candidate {choice}; there are {len(candidates or ())}")
        found = content_of(candidates[choice])
    if found is None or "parts" not in found:
        raise HistoryError("reply: no content in it; allowed: a reply of generateContent, or its content")
    return unmarked(found)


FORMS = {
    "gemini": Form(
        name="gemini",
        view=partial(view, PARTS),
        payload=partial(payload, PARTS),
        apply=partial(write, PARTS),
        strip=stripped,
        read=read,
        mark=mark,
        stream=GeminiStream,
        turns=turns_of(PARTS),
        recall=recall_by(SPEECH),
        beside=None,
        empty={"parts": []},
        rows=rows_of,
    )
}
