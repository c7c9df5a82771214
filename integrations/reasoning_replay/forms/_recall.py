"""What everybody can see of a conversation, as canonical text: what a form's `said` is written with.

Two texts are equal where the pieces mean the same: arguments whatever their spacing, texts joined or split, ids as the
place of the call that they name. Nothing here reads reasoning or knows a form; a form says what its keys are.
The text is for digests only, nobody reads it back: words go in as they are behind their length, since to escape them
took as long as all the rest (2026-11-30).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._origin import MARK
from . import PSF, TURN, Said, as_mapping, canonical, digest
from ._carriers import EXTRAS, THOUGHT

_MEANS_NOTHING = frozenset({"cache_control", PSF, MARK})
"""Keys that say nothing to anybody but a host or a framework, at any depth of a visible piece."""
_BESIDE = frozenset({TURN, *EXTRAS})
"""Keys beside a reply's visible piece that only its host knows; in a piece of anybody else's they are data."""
_BYTES = "\0bytes"


class Calls:
    """Where in a conversation each call's id was last seen. Mutable: it holds the calls so far."""

    def __init__(self) -> None:
        self._places: dict[Any, tuple[int, int]] = {}
        self._replies = 0

    def add(self, ids: tuple[str, ...]) -> None:
        """Takes the ids of a reply's calls, in order."""
        self._replies += 1
        for ordinal, identity in enumerate(ids):
            self._places[identity] = (self._replies, ordinal)

    def answered(self, identity: object) -> str:
        """Which call an answer names: so many replies with calls back, and its place there; `null` for none."""
        place = self._places.get(plain_id(identity)) if isinstance(identity, str) else None
        return "null" if place is None else f"[{self._replies - place[0]},{place[1]}]"


def plain_id(identity: str) -> str:
    """The id of a call without the signature that LiteLLM puts into it."""
    return identity.split(THOUGHT, 1)[0] if THOUGHT in identity else identity


class Words:
    """The visible pieces of one speaker, in order; texts that touch are one. Mutable: it holds what was said so far."""

    def __init__(self, *head: str) -> None:
        self._pieces = list(head)
        self._texts: list[str] = []

    def say(self, text: object) -> None:
        """Adds a text; what is no text says nothing."""
        if isinstance(text, str) and text != "":
            self._texts.append(text)

    def show(self, piece: str) -> None:
        """Adds a piece that is JSON already; nothing for an empty one."""
        if piece != "":
            self._end_text()
            self._pieces.append(piece)

    def _end_text(self) -> None:
        if self._texts:
            self._pieces.append(quoted("".join(self._texts)))
            self._texts.clear()

    def __str__(self) -> str:
        self._end_text()
        return f"[{','.join(self._pieces)}]"


def quoted(text: str) -> str:
    """A text that can be told from what stands around it."""
    return f"{len(text)}:{text}"


def called(name: object, arguments: object) -> str:
    """A call of a tool."""
    return f"({quoted(name) if isinstance(name, str) else ordered(name)},{meant(arguments)})"


def meant(arguments: object) -> str:
    """A call's arguments, equal for equal values; a text that is no JSON is itself, and none are no arguments."""
    if not isinstance(arguments, str):
        return _values({} if arguments is None else arguments)
    try:
        value, end = _SCAN(arguments, 0)
        value = value if end == len(arguments) else _READ.decode(arguments)
        return "{}" if value is None else _values(value)
    except (ValueError, RecursionError):
        return quoted(arguments)
    except StopIteration:  # white space in front, or nothing that is JSON
        return quoted(arguments) if (bare := arguments.strip()) == arguments and bare else meant(bare or "{}")


def _values(value: Any) -> str:
    """Arguments in the order of their names; most are texts alone."""
    if value.__class__ is not dict:
        return ordered(_whole_numbers(value))
    pieces = []
    try:
        names = sorted(value)
    except TypeError:  # keys of several types
        return ordered(value)
    for name in names:
        if value[name].__class__ is not str or name.__class__ is not str:
            return ordered(_whole_numbers(value))
        pieces.append(f"{len(name)}:{name}={len(value[name])}:{value[name]}")
    return f"{{{','.join(pieces)}}}"


def _whole_numbers(value: Any) -> Any:
    """JavaScript writes 1.0 as 1."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {str(key): _whole_numbers(each) for key, each in value.items()}
    return [_whole_numbers(each) for each in value] if isinstance(value, list | tuple) else value


_READ = json.JSONDecoder()
_SCAN: Callable[[str, int], tuple[Any, int]] = _READ.scan_once  # type: ignore[attr-defined]


def ordered(value: object) -> str:
    """JSON of any value, keys in order where they can be put in order."""
    try:
        return canonical(value)
    except TypeError:  # keys of several types
        return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)


def shown(piece: object, without: Iterable[str] = (), *, whole: bool = False) -> str:
    """A piece that is no text (a picture, a file), without what means nothing and without keys of its form's own.

    `whole`: with the keys that seal a reply's piece, since somebody else says it.
    """
    found = as_mapping(piece)
    if found is None:
        return ordered(piece)
    left = {key: value for key, value in found.items() if key not in without and (whole or key not in _BESIDE)}
    return ordered(_lean(left))


def beside(at: int, pieces: Iterable[str]) -> Said:
    """What a reply up to this row has beside its own words: it counts for all that follows, and not in its own text.

    So a reply is found by what its client has kept of it, and no other past is taken for this one.
    """
    return Said(at, at, False, f"[beside,{','.join(pieces)}]", (), False)


def hidden_past(payload: str) -> str:
    """Stands for messages that are gone, or that only their host has."""
    return f"past={digest(payload).hex()}"


def is_name_alone(item: Mapping[str, Any]) -> bool:
    """Whether an item comes without what it shows, as the name of what its host has stored."""
    kind = item.get("type")
    return kind == "image_generation_call" and item.get("result") in (None, "")


def speaker(name: object) -> str:
    """Which of several assistants a reply is from, as its client says."""
    return f"name={ordered(name)}"


def _lean(value: Any) -> Any:
    if value.__class__ in _PLAIN:
        return value
    found = value if value.__class__ is dict else as_mapping(value)
    if found is not None:
        return {key: _lean(each) for key, each in found.items() if key not in _MEANS_NOTHING and not _is_nothing(each)}
    if isinstance(value, list | tuple):
        return [_lean(each) for each in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes | bytearray) else value


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _is_nothing(value: object) -> bool:
    return value is None or value in ("", [], {})


def packed(value: Any) -> Any:
    """A value out of a reply as JSON; bytes so that they come back as bytes."""
    if isinstance(value, bytes | bytearray):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in value]
    found = as_mapping(value)
    return value if found is None else {str(key): packed(each) for key, each in found.items()}


def unpacked(value: Any) -> Any:
    """What was packed, as it was."""
    if isinstance(value, list):
        return [unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_BYTES}:
        return base64.b64decode(value[_BYTES])
    return {key: unpacked(each) for key, each in value.items()}
