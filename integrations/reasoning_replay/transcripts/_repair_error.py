"""A host's refusal, read: its words and status out of whatever holds them, what they mean, and the place they name.

Nothing is imported to read an SDK's error: words and statuses stand under a few attributes (openai 3.57, anthropic
2.14, litellm 1.110, google-genai 3.6, botocore, ollama, httpx, 2026-11). Words may quote a history: they are compared
and forgotten, and stand in no report. What an error means is a host's own table (`[[errors]]` of its file).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._host import Host, Means

STATUSES = ("status_code", "http_status", "status", "code")
_WORDS = ("message", "body", "response_json", "details", "error", "response", "text", "raw_response")
"""Attributes that hold the host's answer; of a response its text."""
_DEEP = 4
_CODE = re.compile(r"\b(?:Error code|status(?:_code| code)?|HTTP)\W{1,3}([45]\d\d)\b", re.IGNORECASE)


class Refusal(NamedTuple):
    """What a host said."""

    text: str
    """All of its words, one piece a line."""
    statuses: frozenset[int] = frozenset()
    """The status it came with; a framework may have put another one over it. Empty: not told."""

    def __repr__(self) -> str:
        return f"<refusal of {len(self.text)} characters, {sorted(self.statuses)}>"


def refusal_of(error: object) -> Refusal:
    """The words and the status of an error.

    Args:
        error: the host's text; a pair of status and text; its parsed body; or the exception of an SDK or a framework.

    Raises:
        TypeError: anything else.
    """
    if isinstance(error, tuple) and len(error) == 2:
        status, said = error if isinstance(error[0], int) else reversed(error)
        if isinstance(status, int):
            return Refusal(refusal_of(said).text, frozenset({status}))
    if isinstance(error, str | Mapping | list):
        pieces = [*_pieces(error, 0)]
        return Refusal("\n".join(pieces), _codes(pieces))
    if not isinstance(error, BaseException):
        raise TypeError(
            f"error: a {type(error).__name__}; allowed: the host's text, a pair (status, text), its parsed body, or "
            "the exception that an SDK or a framework raised"
        )
    chain = [*_chain(error)]
    pieces = list(dict.fromkeys(piece for one in chain for piece in _said_by(one)))
    statuses = {status for one in chain for status in _statuses(one)}
    return Refusal("\n".join(pieces), frozenset(statuses) or _codes(pieces))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from; what merely was in the air then may be another host's."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen and len(seen) < _DEEP:
        yield found
        seen.add(id(found))
        found = found.__cause__


def _said_by(error: BaseException) -> Iterator[str]:
    for name in _WORDS:
        yield from _pieces(_attribute(error, name), 0)
    yield str(error)


def _attribute(holder: object, name: str) -> Any:
    """An attribute; None where it is not there, or cannot be read now (the body of a stream)."""
    try:
        return getattr(holder, name, None)
    except (RuntimeError, LookupError, ValueError):  # httpx: ResponseNotRead is a RuntimeError
        return None


def _pieces(value: Any, depth: int) -> Iterator[str]:
    """Every text in a body, and the body of lists and dicts as one text too: places are split over it there."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        yield value
        yield from _parsed(value, depth)
    elif isinstance(value, Mapping | list | tuple) and depth < _DEEP:
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _pieces(each, depth + 1)
        if depth == 0:
            yield json.dumps(value, default=str, ensure_ascii=False)
    elif depth == 0 and value is not None:
        yield from _pieces(_attribute(value, "text"), depth + 1)


def _parsed(text: str, depth: int) -> Iterator[str]:
    """What a text holds that is itself a body: routers hand their upstream's on so."""
    if text[:1] not in ("{", "[") or depth >= _DEEP:
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(found, Mapping | list):
        yield from _pieces(found, depth + 1)


def _statuses(error: BaseException) -> Iterator[int]:
    for holder in (error, _attribute(error, "response")):
        if isinstance(holder, Mapping):  # botocore
            about = holder.get("ResponseMetadata")
            found = [about.get("HTTPStatusCode")] if isinstance(about, Mapping) else []
        else:
            found = [_attribute(holder, name) for name in STATUSES]
        yield from (one for one in map(_number, found) if one is not None)


def _number(value: object) -> int | None:
    """A status; some SDKs hold it as a text."""
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    return number if isinstance(number, int) and 400 <= number < 600 else None


def _codes(pieces: list[str]) -> frozenset[int]:
    return frozenset(int(found[1]) for piece in pieces for found in _CODE.finditer(piece))


def meaning(host: Host, said: Refusal) -> Means | None:
    """What the host means, by the first of its own words that fit; None where none do."""
    for one in host.errors:
        if one.status is not None and said.statuses and one.status not in said.statuses:
            continue
        if re.search(one.match, said.text) and not _is_elsewhere(said.text):
            return one.means
    return None


# Of a closed schema's words only those are ours that name reasoning, or nothing: the same words refuse tools.
_NAMED = (
    re.compile(r"([\w.\[\]]*[\w\]]): Extra inputs are not permitted"),
    re.compile(r"Extra inputs are not permitted, field: '([^']*)'"),
    re.compile(r"Unrecognized request argument supplied: (\S+)"),
    re.compile(r"[\"']loc\\?[\"']: ?[\[(]([^\])]*)[\])]"),
)
_OURS = re.compile(r"reasoning|thinking|thought|signature|block_binding", re.IGNORECASE)


def _is_elsewhere(text: str) -> bool:
    named = [found[1] for pattern in _NAMED for found in pattern.finditer(text)]
    return bool(named) and not any(map(_OURS.search, named))


# The place ------------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where on the wire an error points; what is not told is None."""

    message: int | None = None
    """Counted from 0."""
    block: int | None = None
    ids: tuple[str, ...] = ()
    """Ids of items, as quoted."""
    field: str | None = None
    """A key of reasoning."""
    ends: tuple[str, str] | None = None
    """The first and the last characters of something sealed, where the host quotes that much."""


_MESSAGE = (
    (re.compile(r"messages\.(\d+)\.content\.(\d+)"), 0),
    (re.compile(r"contents\[(\d+)\]\.parts\[(\d+)\]"), 0),
    (re.compile(r"(?:messages|input|contents)[.\[](\d+)()"), 0),
    (re.compile(r"[\"']messages[\"'], (\d+)()"), 0),
    (re.compile(r"at (?:message )?index (\d+)()"), 0),
    (re.compile(r"in the (\d+)\. content block()"), 1),
    (re.compile(r", position (\d+)()"), 1),
)
"""Where a message stands in the words of a host, and the number it counts from."""
_ID = re.compile(r"(?:[Ii]tem|'reasoning' item:)(?: with id)? '?((?:rs|msg|fc|ctc|ws|ci|fs|mcp|cmp|encitem)_[\w-]+)")
_FIELD = re.compile(r"reasoning_(?:content|details|items|text|opaque)|thinking_blocks|\breasoning\b|\bthinking\b")
_ENDS = re.compile(r"encrypted content (?!for\b)(\S{3,8})\.\.\.(\S{3,8}) could not be")


def place_of(text: str) -> Place:
    """The place that an error names."""
    message = block = None
    for pattern, first in _MESSAGE:
        found = pattern.search(text)
        if found is not None:
            message = int(found[1]) - first
            block = int(found[2]) if found[2] else None
            break
    field, ends = _FIELD.search(text), _ENDS.search(text)
    return Place(
        message,
        block,
        tuple(dict.fromkeys(_ID.findall(text))),
        None if field is None else field[0],
        None if ends is None else (ends[1], ends[2]),
    )
