"""A request's parameters by their dotted names: found, written, taken away.

A name is `a.b`, or `a.edits[x].b`, where `edits[x]` is the entry of the list whose `type` is x. Parameters stand in the
request or, for an SDK that does not know them, in its `extra_body`. Values are JSON text, strings bare, as in rule
files. Nothing given is changed; it knows no host and no rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

ABSENT = object()
"""What `find` gives for a parameter that is not there."""


def find(request: Mapping[str, Any], param: str) -> object:
    """The value of a parameter, in the request or its extra_body; null counts as absent."""
    steps = _steps(param)
    value = _walk(request, steps)
    if value is ABSENT and "extra_body" in request:
        return _walk(request["extra_body"], steps)
    return value


def put(request: Mapping[str, Any], param: str, text: str) -> dict[str, Any]:
    """A new request with the parameter set to what a rule file's text stands for; see `put_value`."""
    return put_value(request, param, from_text(text))


def put_value(request: Mapping[str, Any], param: str, value: object) -> dict[str, Any]:
    """A new request with the parameter set, in its extra_body where that holds the first part of the name."""
    extra, keys = request.get("extra_body"), param.split(".")
    if isinstance(extra, Mapping) and keys[0] in extra:
        return {**request, "extra_body": _put(extra, keys, value)}
    return _put(request, keys, value)


def without(request: Mapping[str, Any], param: str) -> Mapping[str, Any]:
    """The request without the parameter, here and in extra_body; the same object when it was not there."""
    return _without(request, param.split("."))


def has_tools(request: Mapping[str, Any]) -> bool:
    """Whether a request carries tools, also in its `extra_body`."""
    for place in (request, request.get("extra_body")):
        if isinstance(place, Mapping) and (place.get("tools") or place.get("functions")):
            return True
    return False


def _walk(value: object, steps: tuple[tuple[str, str | None], ...]) -> object:
    for key, kind in steps:
        if not isinstance(value, Mapping):
            return ABSENT
        value = value.get(key)
        if kind is not None:
            entries = value if isinstance(value, (list, tuple)) else ()
            value = next((one for one in entries if isinstance(one, Mapping) and one.get("type") == kind), None)
        if value is None:
            return ABSENT
    return value


@lru_cache(maxsize=1024)
def _steps(param: str) -> tuple[tuple[str, str | None], ...]:
    """`a.edits[x]` -> (("a", None), ("edits", "x"))."""
    parts = (part.partition("[") for part in param.split("."))
    return tuple((key, kind.removesuffix("]") if bracket else None) for key, bracket, kind in parts)


def as_text(value: object) -> str:
    """A value as rule files write it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError):  # an object of some SDK: only "*" can mean it
        return "*"


def from_text(text: str) -> object:
    """The value that a rule file's text stands for."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(place: Mapping[str, Any], keys: list[str], value: object) -> dict[str, Any]:
    inner = place.get(keys[0])
    deeper = _put(inner if isinstance(inner, Mapping) else {}, keys[1:], value) if keys[1:] else value
    return {**place, keys[0]: deeper}


def _without(place: Mapping[str, Any], keys: list[str]) -> Mapping[str, Any]:
    extra = place.get("extra_body")
    if isinstance(extra, Mapping) and (less := _without(extra, keys)) is not extra:
        place = {**place, "extra_body": less}
    if keys[0] not in place:
        return place
    if len(keys) == 1:
        return {key: value for key, value in place.items() if key != keys[0]}
    inner = place[keys[0]]
    if not isinstance(inner, Mapping) or (less := _without(inner, keys[1:])) is inner:
        return place
    return {**place, keys[0]: less} if less else {key: value for key, value in place.items() if key != keys[0]}
