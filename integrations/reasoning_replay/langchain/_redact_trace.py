"""What a handler is told of an event, without reasoning: LangChain's events in, their arguments redacted out.

A trace (a tree of runs) is remembered while it runs: what reasoning it has shown, so that a later event that quotes it
in a text, an error or a tool's output is redacted too. What was told in the open before the model thought it is no
secret: the user's question, a tool's result, the answer that was drafted. What was made of a message is remembered as
long as the message lives and is as it was, so that a step of a long agent costs what is new in it; messages that are
dicts, or hold an app's objects, are gone over in every event. Mutable: what is remembered; it is bounded, shows
nothing, and is locked. Not searched is what replies say (`content` of an assistant's message) and arguments.
"""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from threading import RLock
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from .._faults import fail_closed
from ..forms import digest
from ..transcripts._redact_quotes import LEAST, SPAN, Secrets
from ..transcripts._redact_values import Cover, unquoted
from ._messages import FAULTS

_MOST_RUNS = 4096
_ENDED = 64
"""Ended runs that are still known: several handlers are told of the same end, one after the other."""
_MOST_ERRORS = 256
_LEAVES = frozenset({str, bytes, int, float, bool, type(None)})
_BLOCK = SPAN // 2

Told = tuple[tuple[Any, ...], dict[str, Any]]


# What was made of a message -------------------------------------------------------------------------------------------


class _Made:
    """A message as it was, and what was made of it."""

    __slots__ = ("beside", "covered", "fields", "found", "is_reply", "of", "said")

    def __init__(self, message: BaseMessage, fields: Any, gone: Any) -> None:
        self.of = weakref.ref(message, gone)
        self.fields = fields
        self.is_reply = isinstance(message, AIMessage)
        cover = _Said()
        self.covered = cover.over(message)
        if isinstance(message, ToolMessage) and isinstance(message.content, str):  # LangChain's str of any object
            self.covered = _with(self.covered, cover.over(message.content))
        self.found = Secrets(cover.found)
        self.said = tuple(cover.said)
        beside = _Texts()
        _searched(self.covered, beside)
        self.beside = tuple(beside.met)
        """The texts in which somebody may be quoted."""


class _Said(Cover):
    """Goes over values, and knows the texts that are said in the open."""

    __slots__ = ("said",)

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def _text(self, text: str, key: str) -> str:
        made = super()._text(text, key)
        if made is text and key in ("content", "text"):
            self.said.append(text)
        return made


class _Texts(Secrets):
    """Looks for nothing, and knows where it was to look. Mutable."""

    __slots__ = ("met",)

    def __init__(self) -> None:
        super().__init__()
        self.met: dict[str, None] = {}

    def without(self, text: str) -> str:
        if len(text) >= LEAST:
            self.met[text] = None
        return text


def _searched(message: BaseMessage, secrets: Secrets) -> Any:
    """The message without quotations: of a reply beside what it says, of any other in all of it."""
    left = unquoted(message, secrets)
    return left if isinstance(message, AIMessage) else _with(left, unquoted(message.content, secrets))


def _with(message: Any, content: Any) -> Any:
    if content is message.content:
        return message
    made = copy.copy(message)
    object.__setattr__(made, "__dict__", {**vars(message), "content": content})
    return made


_made: dict[int, _Made] = {}


def _of(message: BaseMessage) -> _Made | None:
    """What is made of a message, new or known; None for one of which nobody can see whether it has changed."""
    known = _made.get(id(message))
    if known is not None and known.of() is message and known.fields == _fields(message):
        return known
    try:
        _made[id(message)] = made = _Made(message, _plain(_fields(message)), partial(_gone, _made, id(message)))
    except TypeError:
        return None
    return made


def _fields(message: BaseMessage) -> tuple[Any, ...]:
    return message.__dict__, message.__pydantic_extra__


def _plain(value: Any) -> Any:
    """A copy of the containers, to compare with later. Raises TypeError for what may change unseen."""
    kind = value.__class__
    if kind in _LEAVES:
        return value
    if kind is dict:
        return {key: _plain(each) for key, each in value.items()}
    if kind in (list, tuple):
        return kind(map(_plain, value))
    raise TypeError(kind.__name__)


def _gone(made: dict[int, _Made], name: int, ref: object) -> None:
    known = made.get(name)
    if known is not None and known.of is ref:
        made.pop(name, None)


# Traces ---------------------------------------------------------------------------------------------------------------


class _Open:
    """Texts that were told in the open. Mutable."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[str, tuple[str, int]] = {}

    def add(self, text: str) -> None:
        for at in range(0, len(text) - _BLOCK + 1, _BLOCK):
            self._blocks.setdefault(text[at : at + _BLOCK], (text, at))

    def has(self, span: str) -> bool:
        """Whether a span of SPAN characters was told."""
        blocks = [span[back : back + _BLOCK] for back in range(len(span) - _BLOCK + 1)]
        if self._blocks.keys().isdisjoint(blocks):
            return False
        found = ((back, *self._blocks[block]) for back, block in enumerate(blocks) if block in self._blocks)
        return any(at >= back and text.startswith(span, at - back) for back, text, at in found)


class _Trace(Secrets):
    """What a tree of runs has shown and told. Mutable; to be used under its lock."""

    __slots__ = ("covered", "final", "lock", "told")

    def __init__(self) -> None:
        super().__init__()
        self.lock = RLock()
        self.told = _Open()
        self.covered: dict[int, _Made] = {}
        """By the id of what was made of a message."""
        self.final: dict[int, tuple[Any, Any]] = {}
        """By the same id, what was made and what handlers get."""

    def learn(self, cover: _Looking) -> None:
        """Notes what is said in the open and what is secret, in the order of the history."""
        self.add(cover.found)
        for text in cover.said:
            self.told.add(text)
        for made in cover.met:
            if id(made.covered) not in self.covered:
                self.covered[id(made.covered)] = made
                for text in made.said:
                    (self.told.add if made.is_reply else self.without)(text)
                self.update(made.found)

    def without(self, text: str) -> str:
        left = super().without(text)
        if left is text or left == text:
            self.told.add(text)
        return left

    def _found(self, text: str, start: int) -> int | None:
        at = super()._found(text, start)
        while at is not None and self.told.has(text[at : at + SPAN]):
            at = super()._found(text, at + 1)
        return at

    def known(self, value: Any) -> Any:
        """A message as handlers get it; None for what is no message."""
        if not isinstance(value, BaseMessage):
            return None
        if id(value) not in self.final:
            made = self.covered.get(id(value))
            same = made is not None and all(self.without(text) is text for text in made.beside)
            self.final[id(value)] = value, value if same else _searched(value, self)
        return self.final[id(value)][1]


class _Looking(_Said):
    """Goes over an event. Mutable."""

    __slots__ = ("met",)

    def __init__(self) -> None:
        super().__init__()
        self.met: list[_Made] = []

    def over(self, value: Any, key: str = "") -> Any:
        if isinstance(value, BaseMessage) and (made := _of(value)) is not None:
            self.met.append(made)
            return made.covered
        if isinstance(value, BaseException) and (text := str(value)) and digest(text) in _quoting:
            self.found[text] = None
        return super().over(value, key)


_quoting: OrderedDict[bytes, None] = OrderedDict()
"""Digests of the texts of errors that quoted reasoning: they go on, and LangChain's fallbacks begin a new trace."""


def _note(errors: tuple[Any, ...], shown: tuple[Any, ...]) -> None:
    for error, left in zip(errors, shown, strict=True):
        if left is not error and isinstance(error, BaseException):
            _quoting[digest(str(error))] = None
            if len(_quoting) > _MOST_ERRORS:
                _quoting.popitem(last=False)


class _Traces:
    """The traces of the runs that run. Mutable and bounded; shows nothing of them."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Any, _Trace] = OrderedDict()
        self._ended: OrderedDict[Any, None] = OrderedDict()
        self._lock = RLock()

    def of(self, run: Any, parent: Any) -> _Trace:
        with self._lock:
            known = (self._runs.get(name) for name in (run, parent))
            found = next((trace for trace in known if trace is not None), None)
            return _Trace() if found is None else found

    def begin(self, run: Any, trace: _Trace) -> None:
        with self._lock:
            self._runs[run] = trace
            if len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)

    def end(self, run: Any) -> None:
        with self._lock:
            self._ended[run] = None
            if len(self._ended) > _ENDED:
                self._runs.pop(self._ended.popitem(last=False)[0], None)

    def __repr__(self) -> str:
        return f"<{len(self._runs)} runs>"


_traces = _Traces()


# Events ---------------------------------------------------------------------------------------------------------------


def told(event: str, args: tuple[Any, ...], named: dict[str, Any]) -> Told:
    """What a handler is told of an event, without reasoning; on a fault nothing but names."""
    return fail_closed(FAULTS, lambda: _redacted(event, args, named), lambda: _bare(args, named))


def _redacted(event: str, args: tuple[Any, ...], named: dict[str, Any]) -> Told:
    run, parent = named.get("run_id"), named.get("parent_run_id")
    trace = _traces.of(run, parent)
    with trace.lock:
        if event == "on_retry":
            args = tuple(_retry(each, trace) for each in args)
        made = _without((args, named), trace)
        if event.endswith("_error"):
            _note(args, made[0])
        made = tuple(map(_own, made[0])), made[1]
    if event.endswith("_start"):
        _traces.begin(run, trace)
    elif event.endswith(("_end", "_error")):
        _traces.end(run)
    return made


def _own(value: Any) -> Any:
    """A container of the handler's own: tracers keep it, and LangChain's fallbacks write the error into the input."""
    return value.copy() if value.__class__ in (dict, list) else value


def _without(value: Any, trace: _Trace) -> Any:
    cover = _Looking()
    left = cover.over(value)
    trace.learn(cover)
    return unquoted(left, trace, look=trace.known)


def _retry(state: Any, trace: _Trace) -> Any:
    """The state of a retry (tenacity's): its error quotes the request, its arguments are the request."""
    made = copy.copy(state)
    for name, left in _retried(state, trace):
        setattr(made, name, left)
    return made


def _retried(state: Any, trace: _Trace) -> Iterator[tuple[str, Any]]:
    outcome = getattr(state, "outcome", None)
    yield from (("args", ()), ("kwargs", {}), ("retry_object", None), ("fn", None))
    if outcome is not None:
        value = outcome.exception() if outcome.failed else outcome.result()
        left = _without(value, trace)
        yield "outcome", type(outcome).construct(outcome.attempt_number, left, outcome.failed)


def _bare(args: tuple[Any, ...], named: dict[str, Any]) -> Told:
    kept = {key: value if isinstance(value, UUID) else None for key, value in named.items()}
    return tuple({} if isinstance(each, dict) else None for each in args), kept
