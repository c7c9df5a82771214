"""A message as JSON and back: what JSON has no word for stands in an object with the key `$replay`.

KINDS is the table of such values. Most messages hold none and are written as they are (`is_plain`); an object of the
caller's own that has the key is written as pairs, so nothing is ever mistaken. SDKs' objects come back as mappings.
LangChain's messages are written as its `messages_to_dict` writes them, plus their class; they are recognised by where
their class comes from, and made again by `reasoning_replay.langchain`, which alone imports LangChain.
"""

from __future__ import annotations

import dataclasses
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from math import isfinite
from numbers import Integral
from operator import index
from typing import Any, NamedTuple
from uuid import UUID

from ..forms import as_mapping, named

TAG = "$replay"
HEADER = "transcript"
"""The tag of a file's first line."""
NEEDLE = f'"{TAG}"'
"""What stands in a line that holds a tagged value, or a text that quotes one."""

Default = Callable[[Any], Any]
"""A value that JSON has no word for → something that can be written."""


class TranscriptError(ValueError):
    """A transcript that cannot be written or read; it says which file and record, what was found, and what to do."""


class _Kind(NamedTuple):
    """How one type of value is written; a row of KINDS."""

    types: tuple[type, ...]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


KINDS: dict[str, _Kind] = {
    "bytes": _Kind(
        (bytes, bytearray, memoryview),
        lambda value: b64encode(memoryview(value).tobytes()).decode("ascii"),  # also of every second byte
        lambda text: b64decode(text, validate=True),
    ),
    "float": _Kind((float,), float.__repr__, float),  # nan and inf
    "tuple": _Kind((tuple,), list, tuple),
    "set": _Kind((set,), list, set),
    "frozenset": _Kind((frozenset,), list, frozenset),
    "datetime": _Kind((datetime,), datetime.isoformat, datetime.fromisoformat),
    "date": _Kind((date,), date.isoformat, date.fromisoformat),
    "time": _Kind((time,), time.isoformat, time.fromisoformat),
    "decimal": _Kind((Decimal,), Decimal.__str__, Decimal),
    "uuid": _Kind((UUID,), UUID.__str__, UUID),
    "dict": _Kind((), lambda value: list(map(list, value.items())), lambda pairs: {key: value for key, value in pairs}),  # noqa: C416 - it unpacks
}
"""Kind → the types that are written under it; the first that fits. `dict` is one whose keys are no plain names."""

_LEAVES = frozenset({str, int, bool, type(None)})
_MOST = 100_000
"""Containers in one message; beyond it is looked for a circle."""


def is_plain(message: object) -> bool:
    """Whether JSON gives the very message back: no key but strings, no value of a type of its own, no tag."""
    if message.__class__ is not dict:
        return False
    held: list[Any] = [message]
    for each in islice(held, _MOST):  # it grows
        if each.__class__ is dict:
            values = each.values()
            for key in each:
                if key.__class__ is not str or key == TAG:
                    return False
        else:
            values = each
        for value in values:
            cls = value.__class__
            if cls in _LEAVES:
                continue
            if cls is dict or cls is list:
                held.append(value)
            elif cls is not float or not isfinite(value):
                return False
    return len(held) <= _MOST


class Unwritable(TypeError):
    """A value that nothing can write: where it is and its type, never the value."""

    def __init__(self, where: str, kind: str) -> None:
        super().__init__(where, kind)
        self.where, self.kind = where, kind


def tagged(value: Any, default: Default | None = None, where: str = "") -> Any:
    """The value as JSON has it, all that JSON has no word for tagged.

    Raises:
        Unwritable: a value of an unknown type.
        RecursionError: nested deeper than Python goes, or a circle.
    """
    cls = value.__class__
    if cls in _LEAVES or (cls is float and isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return _mapping(value, default, where)
    if isinstance(value, list):
        return [tagged(each, default, f"{where}[{at}]") for at, each in enumerate(value)]
    plain = _scalar(value)
    if plain is not value:
        return tagged(plain, default, where)
    for kind, (types, write, _) in KINDS.items():
        if isinstance(value, types):
            return {TAG: kind, "value": tagged(write(value), default, where)}
    return _object(value, default, where)


_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (Integral, index),
)
"""Types → what makes the plain value of one that stems from it: by the type's own method, as JSON's encoder does it,
whatever the class says of itself (measured 2026-11-30: the repr of a numpy.float64 is no number)."""


def _scalar(value: Any) -> Any:
    """A text or number of a class of its own (an enum's member, numpy's) as Python's; anything else as it is."""
    if value.__class__ is float:
        return value  # nan, which is tagged
    for base, plain in _PLAIN:
        if isinstance(value, base):
            return plain(value)
    if isinstance(value, Enum):
        return value.value
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not shape and hasattr(value, "item"):  # one number of an array library
        found = value.item()
        return value if type(found) is type(value) else found
    return value


def _mapping(value: Mapping[Any, Any], default: Default | None, where: str) -> Any:
    if all(isinstance(key, str) for key in value) and (TAG not in value or isinstance(value, Unmade)):
        return {str.__str__(key): tagged(each, default, f"{where}.{_key(key)}") for key, each in value.items()}
    pairs = [[tagged(key, default, where), tagged(each, default, f"{where}[…]")] for key, each in value.items()]
    return {TAG: "dict", "value": pairs}


def _key(key: object) -> str:
    """A key as a step of a path in an error; one that looks like no key may be a text, and is not shown."""
    shown = named(key)
    return shown[1:-1] if shown[0] == "'" else "…"


def _object(value: Any, default: Default | None, where: str) -> Any:
    cls: Any = type(value)
    name = _langchain(cls)
    if name is not None:
        return _langchain_object(value, name, default, where)
    fields = _fields(value)
    if fields is not None:
        return _mapping(fields, default, where)
    if default is None:
        raise Unwritable(where, type(value).__name__)
    return tagged(default(value), None, where)  # what it gives must be writable: no second call


def _fields(value: Any) -> Mapping[str, Any] | None:
    """An SDK's object or a dataclass as a mapping; None for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return as_mapping(value)


# LangChain ------------------------------------------------------------------------------------------------------------

_HOMES = ("langchain_core.messages.", "langchain_core.documents.")
"""Where the classes live that come back as they were: messages, and the documents of a retriever's artifact."""


class Unmade(dict[str, Any]):
    """A record of LangChain where LangChain is not installed: a mapping as `messages_to_dict` writes it."""

    __slots__ = ()


@cache
def _langchain(cls: Any) -> str | None:
    """The class of LangChain's own that this one is, or stems from; None where it is none."""
    for base in cls.__mro__:
        if f"{base.__module__}.".startswith(_HOMES):
            return f"{base.__module__}.{base.__qualname__}"
    return None


def is_langchain(message: object) -> bool:
    """Whether it is a message object of LangChain's."""
    cls: Any = type(message)
    return _langchain(cls) is not None


def _langchain_object(value: Any, name: str, default: Default | None, where: str) -> dict[str, Any]:
    cls = type(value)
    own = f"{cls.__module__}.{cls.__qualname__}"
    fields = {**value.__dict__, **(getattr(value, "__pydantic_extra__", None) or {})}
    data = {key: tagged(each, default, f"{where}.{_key(key)}") for key, each in fields.items()}
    record = {"type": data.get("type"), "data": data, TAG: "langchain", "class": name}
    return record if own == name else {**record, "subclass": own}


@cache
def _made_by() -> Callable[[dict[str, Any]], Any]:
    if find_spec("langchain_core") is None:
        return Unmade
    made: Callable[[dict[str, Any]], Any] = import_module("reasoning_replay.langchain._saved").made
    return made


# Reading --------------------------------------------------------------------------------------------------------------


class Unreadable(ValueError):
    """What is wrong with a tagged value, in words that hold none of it."""


UNREADABLE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)
"""What the readers of KINDS raise for a value that was not written by us."""


def _untagged(found: dict[str, Any]) -> Any:
    if TAG not in found:
        return found
    kind = found[TAG]
    if kind == "langchain":
        return _made_by()(found)
    if kind == HEADER:
        raise Unreadable("a second header: two transcripts in one file; cut it off, or write both with one dump_jsonl")
    row = KINDS.get(kind) if isinstance(kind, str) else None
    if row is None:
        raise Unreadable(f"a value of a kind ({named(kind)}) that a newer version has written")
    return row.read(found["value"])


_plain = json.JSONDecoder().decode
_tagged = json.JSONDecoder(object_hook=_untagged).decode


def parsed(text: str) -> Any:
    """The value of a line; tagged values as what they were.

    Raises:
        UNREADABLE: it is no JSON, or no value that we have written. `fault_of` says in words what it is.
    """
    return _tagged(text) if NEEDLE in text else _plain(text)


def fault_of(text: str) -> str:
    """What is wrong with a line that `parsed` does not read: where and what, without a word of it."""
    try:
        _again(_plain(text), "")
    except json.JSONDecodeError as error:
        return f"is not JSON ({error.msg})"
    except Unreadable as error:
        return str(error)
    except RecursionError:
        return "nested too deep"
    except ValueError:
        return "a number of too many digits"  # Python's limit is 4,300
    return "cannot be read"


def _again(value: Any, where: str) -> Any:
    """What `_tagged` makes of parsed JSON, slowly: an error says where."""
    if isinstance(value, list):
        return [_again(each, f"{where}[{at}]") for at, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found = {key: _again(each, f"{where}.{_key(key)}") for key, each in value.items()}
    try:
        return _untagged(found)
    except Unreadable as error:
        raise Unreadable(f"{where.lstrip('.')}: {error}" if where else str(error)) from None
    except UNREADABLE as error:
        at = f"{where.lstrip('.')}: " if where else ""
        raise Unreadable(f"{at}a tagged {_key(value[TAG])} that is broken ({type(error).__name__})") from None
