"""Reasoning that a client dropped, put back where it was: the keys it is kept under, and which of it is the right one.

A reply is found by everything visible before it and by its own visible parts; where the past was edited or compacted,
by a session that the caller names, its calls' ids and its own visible parts. Anything less sure restores nothing.
What is put back gets its origin's mark, so that the engine judges it as if the client had kept it: no rule stands here.
Must not see a host, a policy or a framework. The forms say what is visible; a store's shelf is of one tenant alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from ._history import History, Message
from ._known import ORIGINS_KEY, Memory
from ._origin import Origin, from_mark_id, to_mark
from .forms import Form, Messages, Said, canonical, digest, plain
from .forms._carriers import text_of

REPLY_KEY = b"r"
"""Begins the key of a reply under the whole conversation before it."""
SESSION_KEY = b"s"
"""Begins the key of a reply under a session that the caller names."""

_VERSION = 1
"""Of what a kept reply looks like; one of another version is not looked at."""
_START = blake2b(digest_size=16).digest()


class Trailed(Protocol):
    """What knows of a conversation that a reply answers: a plan."""

    @property
    def trail(self) -> bytes | None:
        """Digest of what is visible in it; None where no store restores."""


class Recalled(NamedTuple):
    """A conversation with what the store had for it."""

    messages: Any
    """As the caller gave them; the very same object where nothing was restored."""
    rows: list[Mapping[str, Any]]
    trail: bytes | None
    """Digest of all that is visible in it, under which its reply is kept; None where not all of it is in hand."""
    places: tuple[int, ...] | None
    """Row → place in the caller's list; None where they are the same."""
    restored: frozenset[int]
    """Rows whose reasoning came from the store."""
    moved: frozenset[int]
    """Those of them that only the session tells: what is before them was edited or cut since."""
    missed: frozenset[int]
    """Rows without reasoning for which the store had nothing that is sure."""
    origins: Mapping[bytes, frozenset[Origin]]
    """Digest → where that payload was seen to come from, for all that stands in the rows without a mark."""

    def told(self, history: History) -> History:
        """The history with a note on what was restored, and on what was looked for in vain."""
        if not self.restored and not self.missed:
            return history
        back, moved, lacking = (_each_once(how) for how in (_with_parts_restored, _with_parts_moved, _missed))
        rows = list(history.rows)
        for row in self.restored:
            rows[row] = (moved if row in self.moved else back)(rows[row])
        for row in self.missed:
            rows[row] = lacking(rows[row])
        return history.with_rows(rows)

    def __repr__(self) -> str:
        return f"<{len(self.rows)} rows, {len(self.restored)} restored, {len(self.missed)} missed>"


def _each_once(change: Callable[[Message], Message]) -> Callable[[Message], Message]:
    """The change of a shape, made once: messages that look alike share their shape."""
    made: dict[Message, Message] = {}

    def changed(shape: Message) -> Message:
        found = made.get(shape)
        if found is None:
            found = made[shape] = change(shape)
        return found

    return changed


def _with_parts_restored(shape: Message) -> Message:
    return replace(shape, parts=tuple(part._replace(restored=True) for part in shape.parts))


def _with_parts_moved(shape: Message) -> Message:
    return replace(shape, parts=tuple(part._replace(restored=True, moved=True) for part in shape.parts))


def _missed(shape: Message) -> Message:
    return replace(shape, missed=True)


class _Laid(NamedTuple):
    """The rows of a reply with its reasoning."""

    rows: list[Mapping[str, Any]]
    moved: bool


class _Asked(NamedTuple):
    """A reply without reasoning, and the keys that it may be found under."""

    said: Said
    keys: tuple[bytes, ...]


_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
"""Parameters in which the dialects say what chat says in a message of its own."""
_ELSEWHERE = ("previous_response_id", "conversation")
"""Parameters that name a past which is not in hand."""


def start_of(request: Mapping[str, Any] | None) -> bytes | None:
    """The digest that a conversation begins with: what its parameters say; None where they name a past elsewhere."""
    if request is None:
        return _START
    if any(request.get(name) for name in _ELSEWHERE):
        return None
    words = [_words(request[name]) for name in _SYSTEM if request.get(name)]
    return _after(_START, canonical(words)) if words else _START


def _words(value: Any) -> Any:
    """What a system parameter says: its texts, however they are split; anything else as it stands."""
    found = plain(value)
    parts = found.get("parts", found) if isinstance(found, Mapping) else found
    texts = [text_of([plain(part)]) for part in parts] if isinstance(parts, list) else []
    return "".join(texts) if texts and all(texts) else found


_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What a history that nests too deep, or a value that something else has written, may bring: then nothing is sure."""


def recall(
    messages: Any,
    rows: list[Mapping[str, Any]],
    form: Form,
    memory: Memory,
    payloads: Sequence[bytes],
    start: bytes | None = _START,
) -> Recalled:
    """What the store has for a conversation, asked once: dropped reasoning, and the origins of these payloads."""
    asked, trail = _asked(rows, form, memory.session, start)
    known = [ORIGINS_KEY + each for each in payloads]
    found = memory.get([*known, *(key for each in asked for key in each.keys)]) if known or asked else {}
    origins = {name: marks for name, key in zip(payloads, known, strict=True) if (marks := _origins(found.get(key)))}
    laid = {each.said.start: run for each in asked if (run := _laid(each, found, rows, form)) is not None}
    lacking = (each.said for each in asked if each.said.bare and each.said.start not in laid)
    missed = frozenset(row for said in lacking for row in _rows(said))
    if not laid:
        return Recalled(messages, rows, trail, None, frozenset(), frozenset(), missed, origins)
    return _put_back(messages, rows, form, laid, {each.said.start: each.said.end for each in asked}, missed)._replace(
        trail=trail, origins=origins
    )


def _rows(said: Said) -> range:
    return range(said.start, said.end)


def _asked(rows: Messages, form: Form, session: str | None, start: bytes | None) -> tuple[list[_Asked], bytes | None]:
    assert form.recall is not None
    try:
        said = form.recall.said(rows) if start is not None else []
    except _UNREADABLE:
        return [], None
    replies: list[_Asked] = []
    trail = start
    for each in said:
        assert trail is not None
        trail = _after(trail, each.text)
        if each.reply and (each.bare or each.thin or session is not None):
            replies.append(_Asked(each, _keys(trail, each, session)))
    often = Counter(key for each in replies for key in each.keys)
    # Ids that begin anew in each reply name none of them.
    once = [
        each._replace(keys=tuple(key for key in each.keys if often[key] == 1))
        for each in replies
        if each.said.bare or each.said.thin
    ]
    return once, trail


def _after(trail: bytes, text: str) -> bytes:
    return blake2b(trail + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _keys(trail: bytes, said: Said, session: str | None) -> tuple[bytes, ...]:
    """The surest first. A session needs calls: a bare text may stand twice in one."""
    own = REPLY_KEY + trail
    if session is None or not said.calls:
        return (own,)
    named = json.dumps([session, said.text, said.calls], ensure_ascii=True)
    return own, SESSION_KEY + digest(named)


def _origins(marks: Sequence[bytes] | None) -> frozenset[Origin]:
    found = (from_mark_id(mark.decode("utf-8", "replace")) for mark in marks or ())
    return frozenset(origin for origin in found if origin is not None)


def _laid(
    asked: _Asked, found: Mapping[bytes, Sequence[bytes]], rows: list[Mapping[str, Any]], form: Form
) -> _Laid | None:
    """The rows of a reply with its reasoning; None where no key leads to one that is sure."""
    for key in asked.keys:
        kept = _one_of([_Kept.read(value) for value in found.get(key, ())], asked.said.calls)
        if kept is not None:
            given = rows[asked.said.start : asked.said.end]
            run = _with_reasoning(given, kept.reasoning, form)
            if len(run) != len(given) or any(new is not old for new, old in zip(run, given, strict=True)):
                marked: list[Mapping[str, Any]] = [form.mark(row, to_mark(kept.origin)) for row in run]
                return _Laid(marked, key.startswith(SESSION_KEY))
    return None


def _with_reasoning(rows: list[Mapping[str, Any]], reasoning: Any, form: Form) -> list[Mapping[str, Any]]:
    assert form.recall is not None
    try:
        return form.recall.lay(rows, reasoning)
    except _UNREADABLE:
        return rows


class _Kept(NamedTuple):
    """The reasoning of one reply, as it lies in the store."""

    origin: Origin
    calls: tuple[str, ...]
    reasoning: Any

    def __repr__(self) -> str:
        return f"<kept of {self.origin.host}>"

    @classmethod
    def read(cls, value: bytes) -> _Kept | None:
        """A stored value; None for one that another version of this library wrote."""
        try:
            fields = json.loads(value)
            version, origin = fields["v"], from_mark_id(str(fields["o"]))
            calls, reasoning = tuple(fields["c"]), fields["r"]
        except _UNREADABLE:
            return None
        return None if origin is None or version != _VERSION else cls(origin, calls, reasoning)

    def value(self) -> bytes:
        """What goes into the store."""
        fields = {"v": _VERSION, "o": to_mark(self.origin)["id"], "c": self.calls, "r": self.reasoning}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _one_of(candidates: Sequence[_Kept | None], calls: tuple[str, ...]) -> _Kept | None:
    """The only candidate; of several the one whose calls have the same ids; else none."""
    there = [each for each in candidates if each is not None]
    same = there if _alike(there) else [each for each in there if each.calls == calls]
    return same[0] if same and _alike(same) and same[0].reasoning is not None else None


def _alike(candidates: Sequence[_Kept]) -> bool:
    """Whether all say the same of the same origin."""
    return all(each._replace(calls=()) == candidates[0]._replace(calls=()) for each in candidates[1:])


def _put_back(
    messages: Any,
    rows: list[Mapping[str, Any]],
    form: Form,
    laid: Mapping[int, _Laid],
    ends: Mapping[int, int],
    missed: frozenset[int],
) -> Recalled:
    """The conversation with runs of rows in the place of others; a run may have items more than it had."""
    out: list[Mapping[str, Any]] = []
    given: list[Any] = []
    places: list[int] = []
    restored: set[int] = set()
    moved: set[int] = set()
    now_missed: set[int] = set()
    row = 0
    while row < len(rows):
        found = laid.get(row)
        if found is None:
            now_missed.update([len(out)] if row in missed else [])
            out.append(rows[row])
            given.append(messages[row] if not isinstance(messages, str) else rows[row])
            places.append(row)
            row += 1
            continue
        run = found.rows
        restored.update(range(len(out), len(out) + len(run)))
        moved.update(range(len(out), len(out) + len(run)) if found.moved else ())
        out += run
        given += run if form.back is None else [form.back(messages[row], each) for each in run]
        end = ends[row]
        spare = len(run) - (end - row)
        places += [min(row + max(0, each - spare), end - 1) for each in range(len(run))]
        row = end
    same = len(out) == len(rows)
    at = None if same else tuple(places)
    return Recalled(given, out, b"", at, frozenset(restored), frozenset(moved), frozenset(now_missed), {})


def to_keep(
    reply: Messages, origin: Origin, form: Form, trail: bytes, session: str | None
) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values under which a reply's reasoning is kept.

    That it brought none is kept too: of two replies to the same words the one with reasoning is not the other one.
    """
    if form.recall is None:
        return
    said = [each for each in form.recall.said(reply) if each.reply]
    if len(said) != 1:
        return
    reasoning = form.recall.lift(reply)
    value = _Kept(origin, said[0].calls, reasoning).value()
    for key in _keys(_after(trail, said[0].text), said[0], session):
        yield key, value
