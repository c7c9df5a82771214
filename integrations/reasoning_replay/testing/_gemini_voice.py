"""How Gemini writes a reply: parts of one content, whole or as server-sent events, and where it puts its signature.

Gemini 3 signs the first function call of a reply, else the last text; in a stream the signature of a text comes in an
empty text part at the end. Gemini 2.5 signs the first part. Thoughts are shown only if the request asks for them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ._dialect import Saying
from ._gemini_case import CALL, TEXT, enforces, memory_key, named, seal, shows_thoughts, streams
from ._script import Call, Issuer, Part, Sealed, Summary, Text, Think, arguments_of, is_set, needle
from ._voices import cut

USAGE: Final = {
    "promptTokenCount": 10,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 20,
}
SIGNATURE: Final = "thoughtSignature"


def call_id() -> str:
    """A call id as the Gemini API makes them."""
    return secrets.token_hex(4)


def reply(saying: Saying) -> dict[str, Any]:
    """A whole reply."""
    rows = [
        {"content": {"parts": _signed(parts, saying), "role": "model"}, "finishReason": "STOP", "index": index}
        for index, parts in enumerate(saying.choices)
    ]
    return {
        "candidates": rows,
        "usageMetadata": USAGE,
        "modelVersion": saying.model,
        "responseId": secrets.token_urlsafe(12),
    }


def part_of(part: Part) -> dict[str, Any]:
    """One part as Gemini writes it, unsigned."""
    match part:
        case Think(text=text) | Summary(text=text):
            return {"text": is_set(text) or "", "thought": True}
        case Call(name=name, arguments=arguments, id=id):
            return {"functionCall": {"id": id, "name": name, "args": dict(arguments)}}
        case Text(text=said):
            return {"text": is_set(said) or ""}
        case Sealed():
            raise ValueError("gemini: there are no sealed parts, only signatures")


def _signed(parts: Sequence[Part], saying: Saying) -> list[dict[str, Any]]:
    """The parts of a reply with its signature, which is remembered under what the reply is known by."""
    shown = [p for p in parts if not isinstance(p, Think | Summary) or (shows_thoughts(saying.case) and p.text)]
    written = [part_of(part) for part in shown]
    place = _signed_place(written, saying.model)
    issuer = saying.case.issuer
    given = next((p.signature for p in parts if isinstance(p, Think) and isinstance(p.signature, str)), None)
    for index in [] if place is None else [place]:
        call = written[index].get("functionCall")
        kind, text = (TEXT, "") if call is None else (CALL, named(call))
        own = seal(issuer, kind, text, saying.model)
        written[index][SIGNATURE] = own if given is None else given
        _remember(parts, written[index][SIGNATURE], issuer)
    return written


def _signed_place(written: Sequence[dict[str, Any]], model: str) -> int | None:
    if not enforces(model):
        return 0 if written else None
    calls = [index for index, part in enumerate(written) if "functionCall" in part]
    texts = [index for index, part in enumerate(written) if "thought" not in part]
    return calls[0] if calls else texts[-1] if texts else None


def _remember(parts: Sequence[Part], signature: str, issuer: Issuer) -> None:
    """What must come back of a reply is its signature; a summary of thoughts need not. Clients may leave out call ids."""
    word = needle(signature[4:])
    known = [sign for sign in issuer.replies if _has_id(parts, sign) or _said(parts, sign)]
    issuer.replies.update((sign, (word,)) for sign in known)
    for part in parts:
        if isinstance(part, Call):
            issuer.alike.setdefault(f'"args": {arguments_of(part)}', []).append((word,))


def _has_id(parts: Sequence[Part], sign: str) -> bool:
    return any(isinstance(part, Call) and part.id == sign for part in parts)


def _said(parts: Sequence[Part], sign: str) -> bool:
    return any(isinstance(part, Text) and sign in (is_set(part.text) or "") for part in parts)


def note(saying: Saying, whole: dict[str, Any]) -> None:
    """Remember which signatures of a text come in an empty part: in a stream all do."""
    for row in whole["candidates"]:
        for part in row["content"]["parts"]:
            if SIGNATURE in part and "text" in part:
                saying.case.memory.by_id[memory_key(part[SIGNATURE])] = streams(saying.case) or part["text"] == ""


def events(saying: Saying, whole: dict[str, Any]) -> Iterator[str | bytes]:
    """The same reply as server-sent events."""
    head = {key: whole[key] for key in ("usageMetadata", "modelVersion", "responseId")}
    for row in whole["candidates"]:
        at = {"index": row["index"]}
        *before, last = list(_pieces(row["content"]["parts"], saying.reply.pieces)) or [{"text": ""}]
        if SIGNATURE not in last or last.get("text") != "":
            before, last = [*before, last], {"text": ""}
        for part in before:
            yield _event({"candidates": [{"content": {"parts": [part], "role": "model"}, **at}], **head})
        end = {"content": {"parts": [last], "role": "model"}, "finishReason": "STOP", **at}
        yield _event({"candidates": [end], **head})


def _pieces(parts: Sequence[dict[str, Any]], pieces: int) -> Iterator[dict[str, Any]]:
    """The fragments: texts are cut, calls come whole, the signature of a text comes behind it."""
    for part in parts:
        if "functionCall" in part:
            yield part
            continue
        rest = {key: value for key, value in part.items() if key not in ("text", SIGNATURE)}
        yield from ({"text": piece, **rest} for piece in cut(part["text"], pieces) if piece)
        if SIGNATURE in part:
            yield {"text": "", **rest, SIGNATURE: part[SIGNATURE]}


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\r\n\r\n"
