"""Marks as a proxy's client sees them: bound to the reasoning under them, and readable in this deployment alone.

    iv  = HMAC(k1, origin ‖ every payload)[:16]             body = pad(origin) xor HMAC keystream(k2, iv)
    tag = HMAC(k3, iv ‖ origin ‖ payload)[:12], one a part  id   = base64url(1 ‖ iv ‖ body ‖ tags)

A synthetic iv (as in SIV, RFC 5297) needs no nonce: equal reasoning of one origin has equal marks in every process that
has the secret, and no two bodies share a keystream. What it protects: a client learns no name of what is behind the
proxy (names are padded, so that their length says nothing either), can make no mark, and can move none onto other
reasoning; one that sends back only some parts of a message still has a good mark. What it does not: whoever has
reasoning together with its mark may send both again. A plain mark from a client is nothing.
Must not know hosts, tenants or rules.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._history import HistoryError, Message
from .._origin import MARK, REDACTED, from_mark_id, mark_id
from ..forms import PSF, Form, form_for, unmarked

_HASH = "sha256"
"""By its name: so OpenSSL makes the whole HMAC, in a microsecond; with a constructor Python takes ten."""
_WIDTH = 32
"""Bytes of an HMAC."""
_VERSION = b"\x01"
_IV, _TAG = 16, 12
"""Bytes. A tag of 96 bits: nobody gets to try many, since a wrong one is told by nothing but a lost mark."""
_BLOCK = 128
"""Names are padded to a multiple of this: one block holds all but unusual ones (Bedrock's ARNs take two)."""
_READ = 8192
"""Ids whose reading is remembered: a conversation sends all of its marks again with each request. Some 8 MB."""
_REMEMBERED = 1024
"""Characters of an id whose reading is remembered: a client may write what it likes. Usual ones have some 250."""
_LONGEST = 1 << 16
"""Characters of an id that is read at all: the longest name that `seal` can write, and a thousand parts."""
_HEAD = len(_VERSION) + 1 + _IV


class Sealer:
    """Makes and reads the ids of sealed marks with keys that are derived from one secret. Shows neither."""

    __slots__ = ("_iv_key", "_read", "_stream_key", "_tag_key")

    def __init__(self, secret: bytes) -> None:
        self._iv_key, self._stream_key, self._tag_key = (
            hmac.digest(secret, b"reasoning-replay mark 1 " + use, _HASH) for use in (b"iv", b"stream", b"tag")
        )
        self._read = lru_cache(maxsize=_READ)(self._unpacked)

    def seal(self, identity: str, payloads: Sequence[str]) -> str:
        """The id for an origin's reasoning; `payloads` are of all its parts."""
        name, parts = identity.encode(), [_encoded(each) for each in dict.fromkeys(payloads)]
        iv = hmac.digest(self._iv_key, b"".join(map(_framed, (name, *parts))), _HASH)[:_IV]
        padded = _padded(name)
        tags = b"".join(self._tag(iv, name, part) for part in parts)
        head = _VERSION + bytes([len(padded) // _BLOCK]) + iv
        return base64.urlsafe_b64encode(head + self._xored(iv, padded) + tags).rstrip(b"=").decode()

    def opened(self, sealed: str, payloads: Sequence[str]) -> str | None:
        """The origin's id, where it was sealed with every one of these payloads; else None."""
        if len(sealed) > _LONGEST or not payloads:
            return None
        found = self._read(sealed) if len(sealed) <= _REMEMBERED else self._unpacked(sealed)
        if found is None:
            return None
        iv, name, tags = found
        if any(self._tag(iv, name, _encoded(each)) not in tags for each in payloads):
            return None
        return name.decode("utf-8", "replace")

    def _unpacked(self, sealed: str) -> tuple[bytes, bytes, frozenset[bytes]] | None:
        """What an id says, unproven: iv, name and tags; None for what is not written as `seal` writes it."""
        raw = _decoded(sealed)
        if raw is None or len(raw) < _HEAD or not raw.startswith(_VERSION):
            return None
        iv, end = raw[_HEAD - _IV : _HEAD], _HEAD + raw[1] * _BLOCK
        padded, tags = self._xored(iv, raw[_HEAD:end]), raw[end:]
        name = padded[4 : 4 + int.from_bytes(padded[:4], "big")]
        if len(raw) < end or padded != _padded(name) or len(tags) % _TAG:
            return None
        return iv, name, frozenset(tags[at : at + _TAG] for at in range(0, len(tags), _TAG))

    def _tag(self, iv: bytes, name: bytes, part: bytes) -> bytes:
        return hmac.digest(self._tag_key, iv + _framed(name) + part, _HASH)[:_TAG]

    def _xored(self, iv: bytes, text: bytes) -> bytes:
        blocks = range(0, len(text), _WIDTH)
        stream = b"".join(hmac.digest(self._stream_key, iv + at.to_bytes(4, "big"), _HASH) for at in blocks)[
            : len(text)
        ]
        return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(text), "big")

    def __repr__(self) -> str:
        return "<sealer>"


def _encoded(payload: str) -> bytes:
    return payload.encode("utf-8", "surrogatepass")


def _padded(name: bytes) -> bytes:
    return _framed(name) + bytes(-(len(name) + 4) % _BLOCK)


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _decoded(sealed: str) -> bytes | None:
    """The bytes of an id; None for what is not written exactly as `seal` writes it."""
    try:
        raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == sealed else None


class _Under(NamedTuple):
    """The reasoning under one mark."""

    payloads: tuple[str, ...]
    said: tuple[str, ...]
    """Of these, the ones that say something: blanks come and go on the way through a client."""


Change = Callable[[str, _Under], str | None]
"""The id of a mark and what is under it → the id to put in its place; None: the mark goes."""


def sealed(rows: Sequence[Mapping[str, Any]], form: str, sealer: Sealer) -> list[Mapping[str, Any]]:
    """Messages on their way to a client: every plain mark becomes a sealed one; what has no place for one loses it.

    Rows without a mark are shared. Nothing that was given is changed.
    """

    def change(identity: str, under: _Under) -> str | None:
        known = len(under.payloads) > 0 and from_mark_id(identity) is not None
        return sealer.seal(identity, under.payloads) if known else None

    return _changed(rows, form, change)


def opened(rows: Sequence[Mapping[str, Any]], form: str, sealer: Sealer) -> list[Mapping[str, Any]]:
    """Messages from a client: a sealed mark that belongs to the reasoning under it becomes plain, every other one goes.

    Rows without a mark are shared. Nothing that was given is changed.
    """
    if form == "litellm":
        rows = [_with_whole_details(row) for row in rows]

    def change(identity: str, under: _Under) -> str | None:
        plain = sealer.opened(identity, under.said or under.payloads)
        return plain if plain is not None and from_mark_id(plain) is not None else None

    return _changed(rows, form, change)


def _with_whole_details(row: Any) -> Any:
    """The row with the details that lie beside its mark alone, where it has others too.

    LiteLLM swallows a stream's delta that brings only a signature (1.110.2), so what a client has joined of the deltas
    lacks it; the list beside the mark, which rides on the last chunk, is whole.
    """
    if not _is_marked(row) or "reasoning_details" not in row or row[PSF].get("reasoning_details") is None:
        return row
    return {key: value for key, value in row.items() if key != "reasoning_details"}


def unmarked_rows(rows: Sequence[Any]) -> list[Any]:
    """Messages that nobody has opened the marks of: without any, in whichever form they are."""
    return [_unmarked_row(row) if isinstance(row, Mapping) else row for row in rows]


def _unmarked_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    bare = unmarked(row) if _is_marked(row) else row
    if MARK in bare:  # Gemini's and Converse's form
        bare = {key: value for key, value in bare.items() if key != MARK}
    blocks = bare.get("content")
    if not isinstance(blocks, list) or not any(map(_is_marked, blocks)):
        return bare
    return {**bare, "content": [unmarked(block) if _is_marked(block) else block for block in blocks]}


def _changed(rows: Sequence[Mapping[str, Any]], form: str, change: Change) -> list[Mapping[str, Any]]:
    how = form_for(form, form)
    marked = {at: row for at, row in enumerate(rows) if _has_mark(row, form)}
    shapes = dict(zip(marked, _shapes([_alike(row) for row in marked.values()], how), strict=True))
    return [
        row if at not in marked else _row(row, form, change, _under(how, row, shapes[at]))
        for at, row in enumerate(rows)
    ]


def _row(row: Mapping[str, Any], form: str, change: Change, under: Mapping[int | None, _Under]) -> Mapping[str, Any]:
    if _is_redacted(row):
        return row
    if form != "anthropic":
        return _remarked(row, change, under.get(None))
    blocks = row.get("content")
    if not isinstance(blocks, list):
        return unmarked(row)
    content = [
        _remarked(block, change, under.get(at)) if _is_marked(block) and not _is_redacted(block) else block
        for at, block in enumerate(blocks)
    ]
    return {**unmarked(row), "content": content}


def _remarked(holder: Mapping[str, Any], change: Change, under: _Under | None) -> Mapping[str, Any]:
    note = holder[PSF][MARK]
    identity = mark_id(note)
    found = None if identity is None or under is None else change(identity, under)
    if found is None:
        return unmarked(holder)
    return {**holder, PSF: {**holder[PSF], MARK: {**note, "id": found}}}


def _is_marked(holder: Any) -> bool:
    fields = holder.get(PSF) if isinstance(holder, Mapping) else None
    return isinstance(fields, Mapping) and MARK in fields


def _is_redacted(holder: Any) -> bool:
    """Whether a copy for people has come back: it keeps the word that says so, and is refused for it."""
    return _is_marked(holder) and mark_id(holder[PSF][MARK]) == REDACTED


def _has_mark(row: Any, form: str) -> bool:
    """Whether a mark is anywhere where it may be read later, in this form or in one that LiteLLM makes of it."""
    if _is_marked(row):
        return True
    blocks = row.get("content") if form == "anthropic" and isinstance(row, Mapping) else None
    return isinstance(blocks, list) and any(map(_is_marked, blocks))


def _alike(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with a mark that is no row's own: forms remember shapes by marks, and each sealed one is another."""
    return {**row, PSF: {**row[PSF], MARK: {"id": "", "v": 1}}} if _is_marked(row) else row


def _shapes(rows: list[Mapping[str, Any]], form: Form) -> list[Message | None]:
    """The shape of each message; None for one that cannot be read."""
    try:
        return list(form.view(rows, None).rows)
    except HistoryError:
        return [None] if len(rows) == 1 else [shape for row in rows for shape in _shapes([row], form)]


def _under(form: Form, row: Mapping[str, Any], shape: Message | None) -> dict[int | None, _Under]:
    """What is under the marks of a row: by the place of its block, or all of it under the one mark of the row."""
    found: dict[int | None, list[tuple[str, bool]]] = {}
    for at, payload, says in _payloads(form, row, shape):
        found.setdefault(at, []).append((payload, says))
    return {
        at: _Under(tuple(payload for payload, _ in each), tuple(payload for payload, says in each if says))
        for at, each in found.items()
    }


def _payloads(form: Form, row: Mapping[str, Any], shape: Message | None) -> Iterator[tuple[int | None, str, bool]]:
    for part in () if shape is None else shape.parts:
        yield (part.item if form.name == "anthropic" else None), form.payload(row, part), part.value == "text"
