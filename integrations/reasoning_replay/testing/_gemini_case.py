"""One Gemini request as its judge sees it: contents, parts, the current turn and its steps, and signatures as bytes.

Keys may come in camel case or with underscores, and base64 in either alphabet, with padding or without, as Google's JSON
takes them. No error texts here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from ._claude_case import Case
from ._law import matches
from ._script import Issuer

BINARY: Final = b"\xfb\xff\xfe"
"""The front of every signature: no text, and `+//+` in one alphabet of base64, `-__-` in the other."""
BEHIND: Final = b"|"
NOT_ENFORCED: Final = ("gemini-1*", "gemini-2*")
"""Models that check no signature; all later ones do."""
SKIP: Final = "skip_thought_signature_validator"
SENTINELS: Final[Mapping[str, tuple[str, ...]]] = {
    "gemini": (SKIP, "context_engineering_is_the_way_to_go"),
    "vertex": (SKIP,),
}
"""What stands for a signature that nobody has, by transport. https://ai.google.dev/gemini-api/docs/thought-signatures"""
CALL, TEXT = "functionCall", "text"
"""What a signature is sealed for."""


class Place(NamedTuple):
    """One part with its place."""

    content: int
    part: int
    body: Mapping[str, Any]
    role: str


def pick(value: Mapping[str, Any], key: str) -> Any:
    """A value under its key in camel case or with underscores; None if it is not there."""
    return value.get(key, value.get(snake(key)))


def snake(key: str) -> str:
    """A key with underscores."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def contents_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The contents of a body."""
    contents = body.get("contents")
    return [content for content in contents if isinstance(content, dict)] if isinstance(contents, list) else []


def rows_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The contents, what the model said at a stretch as one: Google's SDK keeps each chunk of a stream as a content."""
    rows: list[dict[str, Any]] = []
    for content in contents_of(body):
        if rows and is_model(content) and is_model(rows[-1]):
            rows[-1] = {**rows[-1], "parts": [*parts_of(rows[-1]), *parts_of(content)]}
        else:
            rows.append(content)
    return rows


def parts_of(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of one content."""
    parts = content.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def places(body: Mapping[str, Any]) -> Iterator[Place]:
    """All parts in order."""
    for index, content in enumerate(contents_of(body)):
        for place, part in enumerate(parts_of(content)):
            yield Place(index, place, part, str(content.get("role", "user")))


def is_call(part: Mapping[str, Any]) -> bool:
    """Whether a part is a function call."""
    return pick(part, "functionCall") is not None


def is_result(part: Mapping[str, Any]) -> bool:
    """Whether a part answers one."""
    return pick(part, "functionResponse") is not None


def is_model(content: Mapping[str, Any]) -> bool:
    """Whether the model said it."""
    return content.get("role") == "model"


def calls_tools(content: Mapping[str, Any]) -> bool:
    """Whether the model calls a function in a content."""
    return any(is_call(part) for part in parts_of(content))


def begins_turn(content: Mapping[str, Any]) -> bool:
    """Whether a user speaks here, not a function."""
    return not is_model(content) and not any(is_result(part) for part in parts_of(content))


def steps(body: Mapping[str, Any]) -> list[list[Place]]:
    """The steps of the current turn: runs of what the model said since the last user content without a result."""
    contents = contents_of(body)
    start = max((i for i, content in enumerate(contents) if begins_turn(content)), default=-1)
    rest = [place for place in places(body) if place.content > start]
    return [list(run) for role, run in groupby(rest, key=lambda place: place.role) if role == "model"]


def enforces(model: str) -> bool:
    """Whether a model checks signatures."""
    return not matches(model, NOT_ENFORCED)


def spine(content: Mapping[str, Any]) -> Any:
    """What is left of a content without reasoning: who speaks, what is called and answered, what a user says."""
    parts = parts_of(content)
    calls = [named(pick(part, "functionCall")) for part in parts if is_call(part)]
    results = [(pick(part, "functionResponse") or {}).get("name") for part in parts if is_result(part)]
    return content.get("role"), calls, results, parts if begins_turn(content) else None


def readable(content: Mapping[str, Any], reads: Sequence[str]) -> str:
    """What the host sees of a content: all of it."""
    return json.dumps(content)


def streams(case: Case) -> bool:
    """Whether the answer is to be streamed."""
    return case.path.endswith(":streamGenerateContent")


def thinks(case: Case) -> bool:
    """Whether the model thinks; a budget of nothing is its only way to be told not to."""
    return thinking_config(case.body).get("thinking_budget") != 0


def shows_thoughts(case: Case) -> bool:
    """Whether the request asks for summaries of the thoughts."""
    return bool(thinking_config(case.body).get("include_thoughts"))


def thinking_config(body: Mapping[str, Any]) -> dict[str, Any]:
    """`thinkingConfig` of the request, keys with underscores."""
    config = pick(pick(body, "generationConfig") or {}, "thinkingConfig") or {}
    return {snake(key): value for key, value in config.items()}


# Signatures -----------------------------------------------------------------------------------------------------------


def named(call: Mapping[str, Any]) -> str:
    """A call as its signature knows it: the name and the arguments. Its id may be left out by a client."""
    return json.dumps([call.get("name"), call.get("args") or {}], sort_keys=True)


def signature_of(part: Mapping[str, Any]) -> Any:
    """A part's signature as it stands there; None if there is none."""
    return pick(part, "thoughtSignature")


def seal(issuer: Issuer, kind: str, text: str, model: str) -> str:
    """A new signature in base64. The model that it came from stands behind the seal."""
    sealed = base64.b64decode(issuer.seal(kind, "", f"{model} {text}"))
    return base64.b64encode(BINARY + sealed + BEHIND + model.encode()).decode()


def bytes_of(signature: Any) -> bytes | None:
    """The bytes of a signature in either alphabet, padded or not; None if it is no base64."""
    if not isinstance(signature, str):
        return None
    plain = signature.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        return None


def memory_key(signature: Any) -> str:
    """What a signature is remembered under, in whichever alphabet it comes."""
    return (bytes_of(signature) or b"").hex()


def is_sentinel(signature: Any, transport: str) -> bool:
    """Whether it is one of the words that stand for a signature, as it is or in base64."""
    words = SENTINELS[transport]
    return signature in words or bytes_of(signature) in [word.encode() for word in words]


def opens(issuer: Issuer, part: Mapping[str, Any]) -> str | None:
    """The model whose signature this is, if this host sealed it for this part; None if not."""
    whole = bytes_of(signature_of(part)) or b""
    sealed, _, name = whole.removeprefix(BINARY).partition(BEHIND)
    call, model = pick(part, "functionCall"), name.decode(errors="replace")
    kind, text = (CALL, named(call)) if call is not None else (TEXT, "")
    own = issuer.opens(base64.b64encode(sealed).decode(), kind, "", f"{model} {text}")
    return model if own and whole.startswith(BINARY) else None
