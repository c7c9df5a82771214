"""A host's refusal, read: its words and its status out of whatever holds them. It says nothing of what they mean.

Nothing is imported to read an SDK's error: words and statuses stand under a few attributes (openai 3.57, anthropic
2.14, litellm 1.110, google-genai 3.6, botocore, ollama, httpx, 2026-11). Whatever an attribute or `str()` raises, the
others are read: this runs while a host's own error is handled, and must not put another one in its place.
Words may quote a history: they are compared and forgotten, and stand in no report.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from .._faults import or_none

STATUSES = ("status_code", "http_status", "status", "code")
_WORDS = ("message", "body", "response_json", "details", "error", "response", "text", "raw_response")
"""Attributes that hold the host's answer; of a response its text."""
_DEEP = 4
_CODE = re.compile(r"\b(?:Error code|status(?:_code| code)?|HTTP)\W{1,3}([45]\d\d)\b", re.IGNORECASE | re.ASCII)
_STATUS = re.compile(r"\s?([45]\d\d)\s?", re.ASCII)
_SAID = (str, bytes, bytearray, Mapping, list, BaseException)

PIECE = 16_384
"""Characters that are read of one text: half from its front, half from its end. A complaint is a sentence or a list of
details, a few hundred characters (the longest in `hosts/*.toml` and their tests: 400); what makes a text longer is the
request that it quotes, before or behind. An expression of somebody's own rule file may be quadratic: on this much that
is a second at most, on a megabyte it would be an hour."""
IN_ALL = 65_536
"""Characters that are read of an error: it holds the same words in four to eight places."""
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


class Refusal(NamedTuple):
    """What a host said."""

    pieces: tuple[str, ...]
    """Its words, text by text: no text longer than `PIECE`, all of them together about `IN_ALL`."""
    statuses: frozenset[int] = frozenset()
    """The status it came with; a framework may have put another one over it. Empty: not told."""

    @property
    def text(self) -> str:
        """All of its words, one piece a line."""
        return "\n".join(self.pieces)

    def __repr__(self) -> str:
        return f"<refusal of {len(self.text)} characters, {sorted(self.statuses)}>"


def refusal_of(error: object) -> Refusal:
    """The words and the status of an error.

    Args:
        error: the host's text; a pair of status and text; its parsed body; or the exception of an SDK or a framework.

    Raises:
        TypeError: anything else.
    """
    if type(error) is tuple and len(error) == 2 and (pair := _pair(*error)) is not None:
        status, error = pair
        said = refusal_of(error)
        return said if status is None else said._replace(statuses=frozenset({status}))
    if not _says(error):
        raise TypeError(
            f"error: a {type(error).__name__}; allowed: the host's text, a pair (status, text), its parsed body, or "
            "the exception that an SDK or a framework raised"
        )
    pieces: list[str] = []
    statuses: list[int] = []
    if issubclass(type(error), BaseException):
        for one in _chain(cast("BaseException", error)):
            _hear(one, pieces)
            or_none(lambda holder=one: statuses.extend(_statuses(holder)))  # type: ignore[misc]
    else:
        or_none(lambda: _read(error, 0, pieces))
    kept = _within(dict.fromkeys(pieces))
    return Refusal(kept, frozenset(statuses) or _codes(kept))


def _says(value: object) -> bool:
    """By its type alone: `isinstance` asks an object that is none of these for its `__class__`, which may raise."""
    return issubclass(type(value), _SAID)


def _pair(one: object, two: object) -> tuple[int | None, object] | None:
    """Which of two is the status, and what was said; None where neither says anything."""
    for status, said in ((one, two), (two, one)):
        number = status if isinstance(status, int) else _number(status)
        if _says(said) and (number is not None or not _says(status)):
            return number, said
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from; what merely was in the air then may be another host's."""
    seen: set[int] = set()
    found: Any = error
    while issubclass(type(found), BaseException) and id(found) not in seen and len(seen) < _DEEP:
        yield found
        seen.add(id(found))
        found = _attribute(found, "__cause__")


def _hear(error: BaseException, pieces: list[str]) -> None:
    for name in _WORDS:
        or_none(lambda name=name: _read(_attribute(error, name), 0, pieces))  # type: ignore[misc]
    or_none(lambda: pieces.append(_cut(str(error))))


def _attribute(holder: object, name: str) -> Any:
    """An attribute; None where it is not there, or cannot be read now (the body of a stream that is closed)."""
    return or_none(lambda: getattr(holder, name, None))


def _read(value: Any, depth: int, pieces: list[str]) -> None:
    """Every text in a body, and the body of lists and dicts as one text too: places are split over it there."""
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        pieces.append(_cut(value))
        if depth < _DEEP and value[:1] in ("{", "["):  # routers hand their upstream's body on so
            found = or_none(lambda: json.loads(value))
            if isinstance(found, Mapping | list):
                _read(found, depth + 1, pieces)
    elif isinstance(value, Mapping | list | tuple) and depth < _DEEP:
        for each in value.values() if isinstance(value, Mapping) else value:
            _read(each, depth + 1, pieces)
        if depth == 0:
            whole = or_none(lambda: json.dumps(value, default=str, ensure_ascii=False, skipkeys=True))
            pieces.extend(() if whole is None else (_cut(whole),))
    elif depth == 0 and value is not None:
        _read(_attribute(value, "text"), depth + 1, pieces)


def _cut(text: str) -> str:
    """The front and the end of a text; what is cut through, a number or an id, goes as well."""
    if len(text) <= PIECE:
        return text
    half = PIECE // 2
    return f"{text[:half].rstrip(_WORD)}\n{text[-half:].lstrip(_WORD)}"


def _within(pieces: Iterable[str]) -> tuple[str, ...]:
    """The first and the last of the pieces, as far as may be read."""
    told = list(pieces)
    front, behind = _reach(told), _reach(told[::-1])
    return tuple(told) if front + behind >= len(told) else (*told[:front], *told[len(told) - behind :])


def _reach(pieces: list[str]) -> int:
    """How many of the pieces half of the room holds."""
    size = 0
    for count, piece in enumerate(pieces):
        size += len(piece)
        if size > IN_ALL // 2:
            return count
    return len(pieces)


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
    if isinstance(value, str):
        found = _STATUS.fullmatch(value)
        return None if found is None else int(found[1])
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _codes(pieces: Iterable[str]) -> frozenset[int]:
    return frozenset(int(found[1]) for piece in pieces for found in _CODE.finditer(piece))
