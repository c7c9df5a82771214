"""What the hooks of all families share: keeping what a class drops, and writing a plan's changes into a request.

LangChain's convention is one key for readable text, `reasoning_content`; where the host called it otherwise a note says
how. Lists and sealed values keep the host's own key; of a stream they travel raw, in `DELTA`, to `_stream`, which puts
them together, since LangChain's chunk merging would corrupt them. Presence counts, never truth: a host's `""` is kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Self

from .._faults import fail_closed
from ..forms import plain
from ..forms._carriers import SEALED, STRINGS
from ..forms._langchain_blocks import FIELD, LISTS, TOOL_EXTRAS
from ._messages import FAULTS, planned_of, write_wire
from ._stream import DELTA

TEXT = "reasoning_content"
_WHOLE = (*SEALED, *LISTS)
"""Keys whose values are kept as they are, under their own name."""
KEPT = (*STRINGS, *_WHOLE, FIELD, TOOL_EXTRAS)
"""Every key that a reply's `additional_kwargs` may hold of it."""
_ABSENT = object()
_OWN_PARAMS = frozenset({"reasoning_effort", "tool_choice", "tools", "max_tokens"})
"""Parameters that every SDK has by name; any other goes into `extra_body` (OpenAI's refuses `thinking` beside them)."""


def fields_of(value: Any) -> Mapping[str, Any]:
    """The fields of a mapping or of an SDK's object, those that it does not declare too; values are not copied."""
    if isinstance(value, Mapping):
        return value
    own = getattr(value, "__dict__", None) or {}
    extra = getattr(value, "__pydantic_extra__", None)
    return {**own, **extra} if extra else own


def choices_of(reply: Any) -> list[Any]:
    """The choices of a chat host's reply or chunk."""
    choices = fields_of(reply).get("choices")
    return choices if isinstance(choices, list) else []


def keep_reply(message: Any, raw: Any) -> None:
    """Puts into a reply's message what the class has dropped of the host's one. In place."""
    fail_closed(FAULTS, lambda: _keep_reply(message, raw), lambda: None)


def _keep_reply(message: Any, raw: Any) -> None:
    found, kwargs = fields_of(raw), message.additional_kwargs
    _keep_text(kwargs, found)
    for key in _WHOLE:
        if kwargs.get(key) is None and found.get(key) is not None:
            if key not in LISTS:
                kwargs[key] = found[key]
            elif isinstance(found[key], list):
                kwargs[key] = [plain(item) for item in found[key]]
    extras = {call["id"]: call["extra_content"] for call in _sealed_calls(found) if "id" in call}
    if extras:
        kwargs[TOOL_EXTRAS] = extras


def keep_result(result: Any, reply: Any) -> Any:
    """`keep_reply` for every choice of a result; the result."""
    for generation, choice in zip(result.generations, choices_of(reply), strict=False):
        keep_reply(generation.message, fields_of(choice).get("message"))
    return result


def keep_delta(message: Any, raw: Any) -> None:
    """Puts into a chunk what the class has dropped of the host's delta, and takes out what merging would corrupt."""
    fail_closed(FAULTS, lambda: _keep_delta(message, raw), lambda: None)


def _keep_delta(message: Any, raw: Any) -> None:
    found, kwargs = fields_of(raw), message.additional_kwargs
    _keep_text(kwargs, found)
    rest = {key: found[key] for key in _WHOLE if found.get(key) is not None}
    for key in _WHOLE:
        kwargs.pop(key, None)
    calls = _sealed_calls(found)
    if calls:
        rest["tool_calls"] = calls
    if rest:
        kwargs[DELTA] = rest


def keep_chunk(generation: Any, chunk: Any) -> Any:
    """`keep_delta` for the first choice of a chunk; the generation."""
    for choice in choices_of(chunk)[:1]:
        delta = fields_of(choice).get("delta")
        if generation is not None and delta is not None:
            keep_delta(generation.message, delta)
    return generation


def _keep_text(kwargs: MutableMapping[str, Any], found: Mapping[str, Any]) -> None:
    """The first readable text that holds something, else the first; hosts send one text under two keys."""
    texts = [(key, found[key]) for key in STRINGS if isinstance(found.get(key), str)]
    if not texts:
        if kwargs.get(TEXT, _ABSENT) in (None, ""):  # ChatDeepSeek and ChatQwQ write it though there was none
            del kwargs[TEXT]
        return
    key, kwargs[TEXT] = next((each for each in texts if each[1] != ""), texts[0])
    if key != TEXT:
        kwargs[FIELD] = {"id": key}


def _sealed_calls(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Calls with something sealed beside them: their place, id and extra."""
    sealed = []
    for number, call in enumerate(found.get("tool_calls") or ()):
        fields = fields_of(call)
        if fields.get("extra_content") is not None:
            place = {"index": fields.get("index", number), "extra_content": fields["extra_content"]}
            sealed.append({**place, "id": fields["id"]} if fields.get("id") is not None else place)
    return sealed


def forget(message: Any) -> None:
    """Takes all of it out again, where a class repeats what has been streamed. In place."""
    for key in KEPT:
        message.additional_kwargs.pop(key, None)


def write_rows(rows: list[dict[str, Any]], given: Any) -> None:
    """Writes what the plan kept into the wire's messages; all reasoning goes where the class was given no plan."""
    write_wire(rows, planned_of(given) or [])


def write_request(payload: MutableMapping[str, Any], given: Any, *, beside: str | None = "extra_body") -> None:
    """Writes into a payload what the plan has changed of the request. In place."""
    planned = planned_of(given)
    if planned is not None and planned.plan is not None:
        apply_request(payload, planned.given, planned.plan.request, beside=beside)


def apply_request(
    payload: MutableMapping[str, Any],
    given: Mapping[str, Any] | None,
    planned: Mapping[str, Any] | None,
    *,
    beside: str | None = "extra_body",
) -> None:
    """Writes the difference between two requests into a payload. In place.

    Args:
        payload: what the class is about to send.
        given: the facts that were planned with.
        planned: what the plan made of them; nothing is done where it is the same object.
        beside: where the class's SDK takes parameters that it does not know; None: beside the others.
    """
    if planned is None or given is None or planned is given:
        return
    extra = payload.get(beside) if beside is not None else None
    extra = dict(extra) if isinstance(extra, Mapping) else {}
    for key in given.keys() - planned.keys():
        payload.pop(key, None)
        extra.pop(key, None)
    for key, value in planned.items():
        if given.get(key, _ABSENT) != value:
            place = extra if key in extra or (beside is not None and not _named(key, payload)) else payload
            place[key] = value
    if beside is not None and (extra or beside in payload):
        payload[beside] = extra


def _named(key: str, payload: Mapping[str, Any]) -> bool:
    return key in payload or key in _OWN_PARAMS


def view_of(model: Any, **tapped: Any) -> Any:
    """The model for one call, with these attributes in place of its own; the caller's model is left as it is."""
    view = copy.copy(model)
    view.__dict__.update(tapped)
    return view


def replanned(
    model: Any, given: Any, kwargs: dict[str, Any], renamed: Mapping[str, str] | None = None
) -> tuple[Any, dict[str, Any]]:
    """The model and the call's parameters with what the plan has changed of the request; the same where it has not.

    For classes whose parameters of a call win over their fields. `renamed`: a request's name -> the class's own.
    """
    messages = planned_of(given)
    if messages is None or messages.plan is None:
        return model, kwargs
    asked, planned = messages.given, messages.plan.request
    if planned is None or asked is None or planned is asked:
        return model, kwargs
    names = renamed or {}
    changes = {names.get(key, key): value for key, value in planned.items() if asked.get(key, _ABSENT) != value}
    gone = {names.get(key, key) for key in asked.keys() - planned.keys()}
    fields = {name: None for name in gone if model.__dict__.get(name) is not None}
    for place in ("model_kwargs", "extra_body"):
        if isinstance(model.__dict__.get(place), Mapping):
            fields[place] = {key: value for key, value in model.__dict__[place].items() if key not in gone}  # type: ignore[assignment]
    kept = {key: value for key, value in kwargs.items() if key not in gone}
    return view_of(model, **fields), {**kept, **changes}


class Tap:
    """An SDK's object with one attribute replaced; anything else is the object's own."""

    __slots__ = ("_inner", "_method", "_name")

    def __init__(self, inner: Any, name: str, method: Any) -> None:
        self._inner = inner
        self._name = name
        self._method = method

    def __getattr__(self, name: str) -> Any:
        return self._method if name == self._name else getattr(self._inner, name)


class Last:
    """The chunk of a host that a class is just working on. Mutable, and one stream's own."""

    __slots__ = ("chunk",)

    def __init__(self) -> None:
        self.chunk: Any = None

    def note(self, chunk: Any) -> None:
        """A chunk has come."""
        self.chunk = chunk

    def tap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, its stream watched; what is no stream passes."""

        def tapped(*args: Any, **kwargs: Any) -> Any:
            reply = call(*args, **kwargs)
            return Watched(reply, self) if hasattr(reply, "__next__") or hasattr(reply, "__anext__") else reply

        return tapped

    def tap_later(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same for a coroutine function that gives an async stream."""

        async def tapped(*args: Any, **kwargs: Any) -> Any:
            reply = await call(*args, **kwargs)
            return Watched(reply, self) if hasattr(reply, "__anext__") else reply

        return tapped


class Watched:
    """An SDK's stream, each chunk noted as it passes; a context manager where the stream is one."""

    __slots__ = ("_last", "_stream")

    def __init__(self, stream: Any, last: Last) -> None:
        self._stream = stream
        self._last = last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> Self:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._stream.__exit__(*error)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._stream.__aexit__(*error)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        chunk = next(self._stream)
        self._last.note(chunk)
        return chunk

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        chunk = await self._stream.__anext__()
        self._last.note(chunk)
        return chunk


__all__ = [
    "DELTA",
    "KEPT",
    "LISTS",
    "TEXT",
    "Last",
    "Tap",
    "apply_request",
    "choices_of",
    "fields_of",
    "forget",
    "keep_chunk",
    "keep_delta",
    "keep_reply",
    "keep_result",
    "replanned",
    "view_of",
    "write_request",
    "write_rows",
]
