"""What the marks of a history say, for a call that LiteLLM makes in another dialect: no mark gets across.

LiteLLM writes items and blocks anew as chat messages (or blocks as items), and whoever plans that call finds a part's
origin by its digest alone. So the digests are noted here, of each part as it stands and as LiteLLM will write it, over
the store and for this one call. What LiteLLM does to a text on the way was run with 1.110.2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from .._decision import Act, Decision, Zone
from .._history import History, Part
from .._known import Known, Overlay
from .._origin import Origin
from .._resolve import Find, in_store
from .._restore import Recalled
from ..forms import Form, digest, plain
from ..forms._carriers import block_payload, text_of
from ..forms._envelopes import inside
from ._attempt import Bridge
from ._keeping import Asked

_KEEP = Act("keep", "own")
_NOBODYS = frozenset({Origin("custom:several")})
_TEXT = ("content", "summary")
"""Where LiteLLM looks for the text of an item, in its order."""


class _Found(NamedTuple):
    """A part whose origins are known."""

    row: int
    payload: str
    origins: frozenset[Origin]


def bridge_for(
    rows: list[Mapping[str, Any]],
    history: History,
    form: Form,
    store: Known,
    asked: Asked,
    recalled: Recalled | None = None,
) -> Bridge:
    """The bridge of one call, with all that is known of its history: `rows` and what they look like, once recalled."""
    found = list(_found(rows, history, form, in_store(store if recalled is None else recalled)))
    texts = {} if form.name != "responses" else dict(_rewritten(rows, found))
    kept: dict[bytes, frozenset[Origin]] = {}
    for payload, origins in _written(rows, found, form.name):
        name = digest(payload)
        kept[name] = kept.get(name, frozenset()) | origins
    users = [row for row, shape in enumerate(history.rows) if shape.role == "user" and not _is_result(rows[row])]
    known = Overlay(
        kept,
        store,
        users=len(users),
        users_in_turn=sum(row >= history.turn_start for row in users),
        restored=_restored_payloads(rows, found, recalled, form.name),
    )
    bridge = Bridge(form.name, asked, known, texts)
    bridge.trail = None if recalled is None else recalled.trail
    return bridge


def _restored_payloads(
    rows: list[Mapping[str, Any]], found: list[_Found], recalled: Recalled | None, dialect: str
) -> frozenset[bytes]:
    """Digests of what the store had put back, as LiteLLM will write it: for the report on the other side."""
    if recalled is None or not recalled.restored:
        return frozenset()
    own = [each for each in found if each.row in recalled.restored]
    return frozenset(digest(payload) for payload, _ in _written(rows, own, dialect))


def bare(rows: list[Mapping[str, Any]], form: Form) -> list[Any]:
    """The same messages without marks and turn notes: what they hold besides stays, whoever wrote it."""
    history = form.view(rows, None)
    kept = {shape: Decision(tuple(_KEEP for _ in shape.parts)) for shape in history.shapes}
    return form.apply(rows, history, [Zone(0, len(rows), kept)])


def restored(messages: list[Any], texts: Mapping[str, str]) -> list[Any]:
    """Chat messages with the texts that their host wrote; the very same list where none was changed."""
    if not texts:
        return messages
    out = [_restored(message, texts) for message in messages]
    return messages if all(new is old for new, old in zip(out, messages, strict=True)) else out


def _restored(message: Any, texts: Mapping[str, str]) -> Any:
    text = message.get("reasoning_content") if isinstance(message, Mapping) else None
    return {**message, "reasoning_content": texts[text]} if isinstance(text, str) and text in texts else message


def _found(rows: list[Mapping[str, Any]], history: History, form: Form, find: Find) -> Iterator[_Found]:
    for row, shape in enumerate(history.rows):
        for part in shape.parts:
            payload = form.payload(rows[row], part)
            origins = part.origins if part.marked else _stored(part, payload, find)
            if origins:
                yield _Found(row, payload, frozenset(origins))


def _stored(part: Part, payload: str, find: Find) -> frozenset[Origin] | None:
    return frozenset(find(payload)) if part.value == "text" else None


def _written(
    rows: list[Mapping[str, Any]], found: list[_Found], dialect: str
) -> Iterator[tuple[str, frozenset[Origin]]]:
    """Every payload that may arrive, and where it comes from."""
    for row, parts in groupby(found, key=lambda each: each.row):
        own = list(parts)
        yield from ((each.payload, each.origins) for each in own)
        if dialect == "anthropic":
            yield from _joined(rows[row], own)
        for each in own if dialect == "responses" else ():
            yield from ((payload, each.origins) for payload in _as_chat(rows[row]))
    if dialect == "responses":
        yield from _runs(rows, {each.row: each for each in found})


def _common(found: list[_Found], number: int) -> frozenset[Origin]:
    """Where a text comes from that is put together of several; of nobody's where one of them is not known."""
    both = frozenset.intersection(*(each.origins for each in found)) if len(found) == number else frozenset()
    return both or _NOBODYS


def _joined(message: Mapping[str, Any], own: list[_Found]) -> Iterator[tuple[str, frozenset[Origin]]]:
    """`reasoning_content`, which LiteLLM puts beside the blocks."""
    content = message.get("content")
    texts = [
        text_of(block.get("thinking"))
        for block in (map(plain, content) if isinstance(content, list) else ())
        if isinstance(block, Mapping) and block.get("type") == "thinking"
    ]
    if texts:
        yield "\n".join(filter(None, texts)), _common(own, len(texts)) if len(texts) > 1 else own[0].origins


def _as_chat(item: Mapping[str, Any]) -> Iterator[str]:
    """What LiteLLM makes of an item: its text, and the blocks that it has packed into the sealed content itself."""
    if item.get("type") != "reasoning":
        return
    text = _stripped(item)
    if text is not None:
        yield text
    sealed = item.get("encrypted_content")
    try:
        blocks = json.loads(inside(sealed)) if isinstance(sealed, str) else None
    except ValueError:
        return
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, Mapping):
            yield block_payload(block)


def _runs(rows: list[Mapping[str, Any]], found: Mapping[int, _Found]) -> Iterator[tuple[str, frozenset[Origin]]]:
    """Items of reasoning one behind the other become one text."""
    for thinks, group in groupby(range(len(rows)), key=lambda row: rows[row].get("type") == "reasoning"):
        run = list(group)
        if thinks and len(run) > 1 and any(row in found for row in run):
            texts = [text for row in run if (text := _stripped(rows[row])) is not None]
            yield "\n".join(texts), _common([found[row] for row in run if row in found], len(run))


def _stripped(item: Mapping[str, Any]) -> str | None:
    """The text of an item as LiteLLM hands it across; None where it has none."""
    for key in _TEXT:
        value = item.get(key)
        parts = value if isinstance(value, list) else [{"text": value}] if isinstance(value, str) else []
        texts = [text_of(part.get("text")).strip() for part in map(plain, parts) if isinstance(part, Mapping)]
        if any(texts):
            return "\n".join(filter(None, texts))
    return None


def _rewritten(rows: list[Mapping[str, Any]], found: list[_Found]) -> Iterator[tuple[str, str]]:
    """Texts that LiteLLM trims -> what the host wrote, which is what the digest was made of."""
    for each in found:
        text = _stripped(rows[each.row])
        if text is not None and "\0" not in each.payload and text != each.payload:
            yield text, each.payload


def _is_result(row: Mapping[str, Any]) -> bool:
    """Whether a user's message holds nothing but results of tools: LiteLLM makes a tool's message of it."""
    content = row.get("content")
    return isinstance(content, list) and all(plain(block).get("type") == "tool_result" for block in content)
