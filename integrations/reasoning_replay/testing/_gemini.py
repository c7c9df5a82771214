"""The judge of the Gemini API and of Vertex: the shape of the contents, then the signatures of the current turn.

Which texts are Google's own, from its pages and reports, stands in `_strict`. Those about the shape of a request (unknown
names, roles, empty parts, the order of calls and results) are from memory. That a signature is good only for the call that
it came with is our reading of "return it with the part that it came in"; the words for it are those for a broken one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ._claude_case import Case
from ._gemini_case import (
    Place,
    bytes_of,
    contents_of,
    enforces,
    is_call,
    is_result,
    is_sentinel,
    memory_key,
    opens,
    parts_of,
    pick,
    places,
    signature_of,
    snake,
    steps,
)
from ._law import Refusal, Verdict, matches

BODY_KEYS: Final = (
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
    "labels", "store", "serviceTier", "model",
)  # fmt: skip
CONTENT_KEYS: Final = ("role", "parts")
DATA_KEYS: Final = (
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
)  # fmt: skip
PART_KEYS: Final = (*DATA_KEYS, "thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
"""The members of a part: google-genai 3.6.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What differs between the two transports."""

    transport: str
    missing: str
    """A call without its signature. `{at}` counts contents from 1."""
    foreign: str
    """A signature that this host did not make."""
    spares: tuple[str, ...] = ()
    """Models that this transport does not ask for signatures."""


GEMINI: Final = Words(
    transport="gemini",
    missing="Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{name}` , position {at}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details.",
    foreign="Corrupted thought signature.",
)
VERTEX: Final = Words(
    transport="vertex",
    missing="Unable to submit request because function call `default_api:{name}` in the {at}. content block is missing a "
    "`thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures",
    foreign="Unable to submit request because Thought signature is not valid.. Learn more: "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini",
    spares=("gemini-3-pro-image*",),
)
NO_CONTENTS: Final = "* GenerateContentRequest.contents: contents is not specified\n"
NO_PARTS: Final = "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
NO_DATA: Final = (
    "* GenerateContentRequest.contents[{at}].parts[{part}].data: required oneof field 'data' must have one initialized "
    "field\n"
)
UNKNOWN_NAME: Final = 'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.'
ROLE: Final = "Please use a valid role: user, model."
CALL_PLACE: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
RESULT_PLACE: Final = "Please ensure that function response turn comes immediately after a function call turn."
RESULT_COUNT: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
NO_BASE64: Final = (
    "Invalid value at 'contents[{at}].parts[{part}].thought_signature' (TYPE_BYTES), Base64 decoding failed for {value}"
)
GENERIC: Final = "Request contains an invalid argument."


# The checks -----------------------------------------------------------------------------------------------------------


def unknown_names(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """A closed schema: the body, the contents and the parts."""
    found = [*_unknown(case.body, BODY_KEYS, "")]
    for index, content in enumerate(contents_of(case.body)):
        found += _unknown(content, CONTENT_KEYS, f"contents[{index}]")
    for place in places(case.body):
        found += _unknown(place.body, PART_KEYS, f"contents[{place.content}].parts[{place.part}]")
    return found[0] if found else None


def _unknown(value: Mapping[str, Any], keys: tuple[str, ...], where: str) -> Iterator[str]:
    known = {*keys, *map(snake, keys)}
    at = f" at '{where}'" if where else ""
    return (UNKNOWN_NAME.format(key=key, where=at) for key in value if key not in known)


def shape(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """Two roles; no content without parts, no part without data."""
    for index, content in enumerate(contents_of(case.body)):
        if content.get("role", "user") not in ("user", "model", "function"):
            return ROLE
        if not parts_of(content):
            return NO_PARTS.format(at=index)
    for place in places(case.body):
        if all(pick(place.body, key) is None for key in DATA_KEYS):
            return NO_DATA.format(at=place.content, part=place.part)
    return None


def order(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """The model's calls all come before their results: FC1 FC2 FR1 FR2, as many as there were calls.

    Neighbours of one role count as one content: Google's SDK keeps every chunk of a stream as a content of its own.
    """
    runs = [
        [place.body for place in run] for _, run in groupby(places(case.body), key=lambda place: place.role == "model")
    ]
    for before, here in zip([[], *runs], runs, strict=False):
        results, calls = sum(map(is_result, here)), sum(map(is_call, before))
        if any(map(is_call, here)) and not before:
            return CALL_PLACE
        if results and not calls:
            return RESULT_PLACE
        if calls and results != calls:
            return RESULT_COUNT
    return None


def base64_of(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """Every signature is base64, in whichever alphabet."""
    faults = [
        NO_BASE64.format(at=place.content, part=place.part, value=f'"{signature_of(place.body)}"')
        for place in _signed(case)
        if bytes_of(signature_of(place.body)) is None
    ]
    return "\n".join(faults) if faults else None


def own(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """Every signature is one that this host made, for the part that it stands in. A sentinel opens nothing.

    Whether one model takes another's is not known: a reseller says no, Google nothing. `any_model=False` says no.
    """
    for place in _signed(case):
        model = opens(case.issuer, place.body)
        taken = model is not None and (options["any_model"] or model == case.model)
        if not taken and not is_sentinel(signature_of(place.body), words.transport):
            return words.foreign
    return None


def merged(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """With `merges=False`: a signature that came in an empty text part stands in one, and the other way round.

    Google's pages ask for it and no report of a refusal is known; LangChain's streams do join the two.
    """
    for place in _signed(case):
        text = place.body.get("text")
        empty = case.memory.by_id.get(memory_key(signature_of(place.body)))
        if not options["merges"] and text is not None and empty is not None and empty is not (text == ""):
            return words.foreign
    return None


def missing(case: Case, words: Words, options: Mapping[str, Any]) -> str | None:
    """The first call of every step of the current turn is signed; its siblings take no sentinel."""
    for step in [] if matches(case.model, words.spares) else steps(case.body):
        calls = [place for place in step if is_call(place.body)]
        for place in calls[:1]:
            if signature_of(place.body) in (None, ""):
                name = pick(place.body, "functionCall").get("name")
                return words.missing.format(name=name, at=place.content + 1)
        if any(is_sentinel(signature_of(place.body), words.transport) for place in calls[1:]):
            return GENERIC
    return None


def _signed(case: Case) -> Iterator[Place]:
    return (place for place in places(case.body) if signature_of(place.body) not in (None, ""))


Check = Callable[[Case, Words, Mapping[str, Any]], str | None]
SHAPE_CHECKS: Final[tuple[Check, ...]] = (unknown_names, shape, order, base64_of)
SIGNATURE_CHECKS: Final[tuple[Check, ...]] = (own, merged, missing)


def error(message: str, status: int = 400, kind: str = "INVALID_ARGUMENT") -> Refusal:
    """Google's error body."""
    return Refusal(status, {"error": {"code": status, "message": message, "status": kind}}, message)


def judge(case: Case, options: Mapping[str, Any]) -> Verdict:
    """The Gemini API."""
    return _judged(case, options, GEMINI)


def vertex(case: Case, options: Mapping[str, Any]) -> Verdict:
    """Vertex: the same law in other words, and no sentinel but one."""
    return _judged(case, options, VERTEX)


def _judged(case: Case, options: Mapping[str, Any], words: Words) -> Verdict:
    """The first check that refuses decides."""
    if not contents_of(case.body):
        return Verdict(error(NO_CONTENTS))
    checks = (*SHAPE_CHECKS, *SIGNATURE_CHECKS) if enforces(case.model) else SHAPE_CHECKS
    text = next((text for check in checks if (text := check(case, words, options)) is not None), None)
    return Verdict(error(text) if text is not None else None)
