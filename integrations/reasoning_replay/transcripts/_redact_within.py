"""Copies of containers, objects and errors with other values in them; the very same one where none is another.

What values are changed, and how, is the caller's: a function. An object that cannot be looked into and shows something
of it is stood in for by its type's name, and an error that cannot be copied without it by one of its name.
"""

from __future__ import annotations

import copy
import dataclasses
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

_PLACES = ("__dict__", "__pydantic_extra__", "__pydantic_private__")
"""Where an object of pydantic's, or a dataclass, keeps its values."""
_NO_VALUES = (str, bytes, bytearray, range, memoryview, array)
_NOT_LOOKED_INTO = frozenset({"builtins", "datetime", "uuid", "decimal"})
_LEFT_OUT = frozenset({"response", "request", "body"})
"""Of an SDK's error: the whole exchange."""
_WAYS = ("__repr__", "__str__")
_NO_WAYS = {getattr(object, name) for name in _WAYS}
"""Of an object that says nothing of itself but its type."""
_ABSENT: Any = object()


def remade(value: Mapping[Any, Any], kept: dict[Any, Any]) -> Any:
    """A mapping with other values or keys; the very same one where none is another."""
    return value if all(kept.get(key, _ABSENT) is each for key, each in dict(value).items()) else kept


def each_within(value: Any, change: Any, field: Any) -> Any:
    """What holds others with each of them changed; the very same one where none is another.

    Args:
        value: a container but no mapping, an exception, an object; anything else comes back as it is.
        change: (value, name of the field, or "") → value.
        field: the same for the fields of an object, where they are read differently.
    """
    if isinstance(value, list | tuple | Sequence | AbstractSet | ValuesView) and not isinstance(value, _NO_VALUES):
        return _container(value, change)
    if isinstance(value, BaseException):
        return _error(value, change)
    return _object(value, field or (lambda name, each: change(each, name)), change)


def _container(value: Any, change: Callable[[Any, str], Any]) -> Any:
    held = list(value)
    made = [change(each, "") for each in held]
    if all(new is old for new, old in zip(made, held, strict=True)):
        return value
    if isinstance(value, list):
        return made
    if hasattr(value, "_fields"):
        return type(value)(*made)
    if isinstance(value, tuple):
        return tuple(made)
    try:
        return type(value)(made)
    except Exception:  # noqa: BLE001 - a class of anybody's, and a dict's view cannot be made at all
        return made


# Objects --------------------------------------------------------------------------------------------------------------


def _object(value: Any, field: Callable[[str, Any], Any], change: Callable[[Any, str], Any]) -> Any:
    """A copy of the object with other values in its fields; the very same object where none is another.

    Looked into are pydantic's objects, dataclasses and objects with slots (langgraph's `Command` and `Send`).
    """
    if isinstance(value, type | Iterator) or type(value).__module__ in _NOT_LOOKED_INTO:
        return value
    kept: dict[str, Any] = {name: field(name, getattr(value, name)) for name in _slots(value)}
    if hasattr(value, "__pydantic_fields_set__") or dataclasses.is_dataclass(value):
        for place in _PLACES:
            held = getattr(value, place, None)
            if isinstance(held, dict):
                kept[place] = remade(held, {name: field(name, each) for name, each in dict(held).items()})
    elif not kept:
        return _opaque(value, change)
    kept = {name: left for name, left in kept.items() if left is not getattr(value, name)}
    if not kept:
        return value
    made = copy.copy(value)
    for name, left in kept.items():
        object.__setattr__(made, name, left)
    return made


def _opaque(value: Any, change: Callable[[Any, str], Any]) -> Any:
    """The object, or its type's name where what it says of itself is not for everybody."""
    kind = type(value)
    if callable(value) or {getattr(kind, name) for name in _WAYS} == _NO_WAYS:
        return value
    try:
        texts = {repr(value), str(value)}
    except Exception:  # noqa: BLE001 - a class of anybody's; nobody else can show it either
        return value
    return value if all(change(text, "") == text for text in texts) else f"<{kind.__name__}>"


def _slots(value: Any) -> tuple[str, ...]:
    """The names of an object's slots that hold something."""
    names = _slots_of(type(value))  # type: ignore[arg-type]  # every class can be hashed
    return tuple(name for name in names if hasattr(value, name))


@lru_cache(maxsize=1024)
def _slots_of(kind: Hashable) -> tuple[str, ...]:
    slots = (vars(each).get("__slots__", ()) for each in getattr(kind, "__mro__", ()))
    named = (name for each in slots for name in ((each,) if isinstance(each, str) else each))
    return tuple(name for name in named if not name.startswith("_"))


# Errors ---------------------------------------------------------------------------------------------------------------


def _error(error: BaseException, change: Callable[[Any, str], Any]) -> Any:
    """A copy of an error without its response and its request; the very same one if it quotes nothing.

    The errors behind it count as its own: a traceback shows them.
    """
    behind = {name: change(getattr(error, name), "") for name in ("__cause__", "__context__")}
    made = _group(error, change) if isinstance(error, BaseExceptionGroup) else _copied(error, change)
    if made is error:
        if all(each is getattr(error, name) for name, each in behind.items()):
            return error
        made = _copy_of(error, error.args, {})
    made.__cause__, made.__context__ = behind["__cause__"], behind["__context__"]
    made.__suppress_context__ = error.__suppress_context__
    return made.with_traceback(error.__traceback__)


def _group(group: BaseExceptionGroup[Any], change: Callable[[Any, str], Any]) -> BaseException:
    errors = [change(each, "") for each in group.exceptions]
    message = change(group.message, "")
    notes = change(getattr(group, "__notes__", None), "")
    same = all(new is old for new, old in zip(errors, group.exceptions, strict=True))
    if same and message is group.message and notes is getattr(group, "__notes__", None):
        return group
    made = group.derive(errors) if message is group.message else BaseExceptionGroup(message, errors)
    if notes is not None:
        made.__notes__ = notes
    return made


def _copied(error: BaseException, change: Callable[[Any, str], Any]) -> BaseException:
    """The error, a copy without what is to go, or one that stands in where the copy still shows it."""
    args = change(error.args, "")
    fields = {name: getattr(error, name, None) for name in _members(type(error))}  # type: ignore[arg-type]
    held = {**{name: each for name, each in fields.items() if each is not None}, **vars(error)}
    kept = {name: change(each, "") for name, each in held.items()}  # whatever it is called, nobody has said it
    if args is error.args and all(kept[name] is each for name, each in held.items()):
        return error if _tells_nothing(error, change) else _stand_in(error, change)
    try:
        made = _copy_of(error, args, kept)
    except Exception:  # noqa: BLE001 - a class of anybody's
        return _stand_in(error, change)
    return made if _tells_nothing(made, change) else _stand_in(error, change)


def _copy_of(error: BaseException, args: tuple[Any, ...], kept: dict[str, Any]) -> BaseException:
    kind = type(error)
    made = kind(*args) if kind.__module__ == "builtins" else kind.__new__(kind, *args)
    made.args = args
    for name, each in ({**vars(error), **kept}).items():
        try:
            setattr(made, name, None if name in _LEFT_OUT else each)
        except (AttributeError, TypeError):
            vars(made)[name] = None if name in _LEFT_OUT else each
    return made


def _tells_nothing(error: BaseException, change: Callable[[Any, str], Any]) -> bool:
    shown = [str(error), repr(error)]
    if type(error).__module__.startswith("pydantic_core") and hasattr(error, "errors"):
        shown.append(repr(error.errors()))
    return all(change(text, "") == text for text in shown)


def _stand_in(error: BaseException, change: Callable[[Any, str], Any]) -> BaseException:
    kind = type(error)
    base = Exception if isinstance(error, Exception) else BaseException
    made: BaseException = type(kind.__name__, (base,), {"__module__": kind.__module__})(change(str(error), ""))
    return made


@lru_cache(maxsize=1024)
def _members(kind: Hashable) -> tuple[str, ...]:
    """Where an error's class, or C code, keeps what is neither in its args nor in its dict."""
    held = (pair for each in getattr(kind, "__mro__", ()) for pair in vars(each).items())
    kinds = (MemberDescriptorType, GetSetDescriptorType)
    return tuple(name for name, each in held if isinstance(each, kinds) and name != "args" and not name.startswith("_"))
