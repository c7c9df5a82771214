"""The doors of a reply: capture, a stream's Collector, adopt. What they mark, `prepare` can judge later.

Each notes the payloads in the store and puts the mark beside them; neither changes what it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from ._faults import fail_closed
from ._known import Known, check_known, default_store, memory_of, note_all
from ._origin import Origin, to_mark
from ._restore import Trailed, to_keep
from .forms import Form, Stream, digest, form_for


@overload
def capture(
    reply: Any,
    origin: Origin,
    *,
    form: Literal["langchain"],
    choice: int = 0,
    known: Known | None = None,
    after: Trailed | None = None,
) -> Any: ...


@overload
def capture(
    reply: Any,
    origin: Origin,
    *,
    form: Literal["responses"],
    choice: int = 0,
    known: Known | None = None,
    after: Trailed | None = None,
) -> list[dict[str, Any]]: ...


@overload
def capture(
    reply: Any,
    origin: Origin,
    *,
    form: str | None = None,
    choice: int = 0,
    known: Known | None = None,
    after: Trailed | None = None,
) -> dict[str, Any]: ...


def capture(
    reply: Any,
    origin: Origin,
    *,
    form: str | None = None,
    choice: int = 0,
    known: Known | None = None,
    after: Trailed | None = None,
) -> Any:
    """The assistant message of a reply, marked if it brought reasoning, ready to be appended to the history.

    A dict; in the form `langchain` a message of the class that was given; in the Responses dialect the list of its
    items, each with the mark (say `form="responses"` to have the type checker know).

    Args:
        reply: a whole reply (dict or SDK object), or its message alone.
        origin: the host that was really called.
        form: how the reply is written, where that is not the dialect's own form: `litellm`.
        choice: which choice of the reply.
        known: the store that notes the payloads; the process's own when none is given.
        after: the plan of the request that this answers. With a store that restores (`MemoryStore`, `SQLiteStore`,
            `RedisStore`) in `known` here and in `prepare`, the reasoning is kept, and comes back when a client sends
            the same conversation without it.

    Raises:
        HistoryError: not a reply of this form, or a field of the wrong type.
        TypeError: `origin` is no Origin, or `known` no store.
    """
    _check(origin, known)
    shape = form_for(form, origin.dialect)
    store = default_store() if known is None else known
    found = _captured(shape.read(reply, choice), origin, shape, store, shape.names(reply), trail_of(after))
    return found if shape.back is None else shape.back(reply, found)


def _check(origin: object, known: object) -> None:
    """Raises TypeError for an origin or a store that is none."""
    if not isinstance(origin, Origin):
        raise TypeError(f"origin: a {type(origin).__name__}; allowed: an Origin, as Origin('api.deepseek.com')")
    check_known(known)


def _captured(
    message: Any, origin: Origin, form: Form, known: Known, names: tuple[str, ...], trail: bytes | None
) -> Any:
    """The message with its mark, or every item of a run with it; as it is where it brought no reasoning."""
    rows = message if isinstance(message, list) else [message]
    if not note_reply(rows, origin, form, known, names, trail):
        return message
    marked = [form.mark(row, to_mark(origin)) for row in rows]
    return marked if isinstance(message, list) else marked[0]


def note_reply(
    rows: Sequence[Mapping[str, Any]],
    origin: Origin,
    form: Form,
    known: Known,
    names: tuple[str, ...] = (),
    trail: bytes | None = None,
) -> bool:
    """Notes the payloads of a fresh reply, and keeps them for who drops them; whether there is anything to mark."""
    parts = [(row, part) for row in rows for part in form.view([row], None).rows[0].parts]
    payloads = [form.payload(row, part) for row, part in parts if part.value == "text"]
    digests = list(map(digest, [*payloads, *names]))
    memory = memory_of(known)
    if memory is None or trail is None:
        note_all(known, digests, origin)
    else:
        note_all(known, digests, origin, to_keep(rows, origin, form, trail, memory.session))
    return len(parts) > 0


def trail_of(after: Trailed | None) -> bytes | None:
    """What the reply to a plan is kept under; None where there is no plan, or no store that restores."""
    return None if after is None else after.trail


def capture_safely(reply: Any, origin: Origin, **options: Any) -> Any:
    """`capture` for integrations; None on a fault: the reply stays as it is, unmarked."""
    return fail_closed(origin.host, lambda: capture(reply, origin, **options), lambda: None)


class Collector:
    """A streamed reply put together. Mutable: `feed` every chunk, then take the `result`.

    A stream that was broken off gives the message so far, with nothing sealed in it. A chunk that cannot be read is a
    fault of ours: warned of once, and `result` is None, since a user's stream must not break over our bookkeeping.

    Raises:
        HistoryError: from the constructor, for a form that there is not.
        TypeError: from the constructor, for an `origin` that is none, or a `known` that is no store.
    """

    def __init__(
        self,
        origin: Origin,
        *,
        form: str | None = None,
        choice: int = 0,
        known: Known | None = None,
        after: Trailed | None = None,
    ) -> None:
        _check(origin, known)
        self._origin = origin
        self._trail = trail_of(after)
        self._form = form_for(form, origin.dialect)
        self._known = default_store() if known is None else known
        self._stream: Stream | None = self._form.stream(choice)

    def feed(self, chunk: Any) -> None:
        """Takes the next chunk (a dict or an SDK's object)."""
        stream = self._stream
        if stream is not None:
            fail_closed(self._origin.host, lambda: stream.feed(chunk), self._give_up)

    def result(self) -> dict[str, Any] | None:
        """The assistant message so far, marked if it brought reasoning; None while nothing has come.

        In the Responses dialect a list of items, as `capture` gives it.
        """
        found: dict[str, Any] | None = fail_closed(self._origin.host, self._result, lambda: None)
        return found

    def _result(self) -> Any:
        message = None if self._stream is None else self._stream.result()
        if message is None:
            return None
        names = getattr(self._stream, "names", ())
        return _captured(message, self._origin, self._form, self._known, names, self._trail)

    def _give_up(self) -> None:
        self._stream = None


def adopt(messages: Any, origin: Origin, *, form: str | None = None) -> list[Any]:
    """Marks a stored history as written by `origin`; what has a mark already keeps it.

    Returns the very same list where there was nothing to mark; the caller's messages are never changed.

    Raises:
        HistoryError: messages that cannot be read.
        TypeError: `origin` is no Origin.
    """
    _check(origin, None)
    shape = form_for(form, origin.dialect)
    rows = shape.rows(messages)
    history = shape.view(rows, None).check_whole()
    note = to_mark(origin)
    out = [
        messages[index] if all(part.marked for part in history.rows[index].parts) else _marked(shape, each, row, note)
        for index, (each, row) in enumerate(zip(messages, rows, strict=True))
    ]
    same = isinstance(messages, list) and all(new is old for new, old in zip(out, messages, strict=True))
    return messages if same else out


def _marked(form: Form, message: Any, row: Mapping[str, Any], note: dict[str, Any]) -> Any:
    marked = form.mark(row, note)
    return marked if form.back is None else form.back(message, marked)
