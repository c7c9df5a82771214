"""A chat reply put together from stream chunks. Mutable: it holds what has arrived so far.

Reads the host's own chunks and LiteLLM's. Strings are joined, details merged by type, index and id (their signature
comes last), thinking fragments by order; a stream that never finished keeps no sealed part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._origin import MARK
from . import LAYOUT, PSF, layout_of
from ._carriers import (
    SEALED,
    STRINGS,
    block_code,
    detail_code,
    detail_kind,
    extra_code,
    signature_of,
    without_extras,
    without_signature,
)
from ._pieces import Parts, at_rest, grow, whole_text

_JOINED = {"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": "data"}
"""Detail type → the field whose fragments are joined."""


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    return dump(exclude_unset=True) if callable(dump) else {}


def _items(delta: Mapping[str, Any], key: str) -> list[Any]:
    found = delta.get(key)
    return found if isinstance(found, list) else []


class ChatStream:
    """One choice of a streamed chat reply."""

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._texts: dict[str, list[str]] = {}
        self._content: list[str] | None = None
        self._parts: Parts | None = None
        self._sealed: dict[str, Any] = {}
        self._details: list[dict[str, Any]] = []
        self._pieces: list[list[str]] = []
        self._blocks: list[dict[str, Any]] = []
        self._open = False
        self._index: Any = None
        self._calls: dict[int, dict[str, Any]] = {}
        self._psf: dict[str, Any] = {}
        self._order: list[tuple[str, int]] = []
        self._seen = self._finished = False

    def feed(self, chunk: Any) -> None:
        """Takes the next chunk: a dict or an SDK's object. A chunk without this choice changes nothing."""
        for choice in _get(chunk, "choices") or ():
            if (_get(choice, "index") or 0) == self._choice:
                delta = _get(choice, "delta")
                if delta is not None:
                    self._delta(_fields(delta))
                self._finished = self._finished or _get(choice, "finish_reason") is not None

    def _delta(self, delta: Mapping[str, Any]) -> None:
        self._seen = True
        for key in STRINGS:
            if isinstance(delta.get(key), str):
                self._texts.setdefault(key, []).append(delta[key])
        self._sealed.update((key, delta[key]) for key in SEALED if delta.get(key) is not None)
        for detail in _items(delta, "reasoning_details"):
            self._detail(dict(_fields(detail)))
        for block in _items(delta, "thinking_blocks"):
            self._block(dict(_fields(block)))
        self._said(delta.get("content"))
        for call in _items(delta, "tool_calls"):
            self._call(_fields(call))
        if isinstance(delta.get(PSF), Mapping):  # a mark that comes with the reply is somebody else's word
            self._psf.update((key, value) for key, value in delta[PSF].items() if key not in (MARK, LAYOUT))

    def _said(self, content: Any) -> None:
        """A piece of the content: a text, or a list of parts (Mistral, Databricks); with one, all of it is a list."""
        if isinstance(content, str):
            self._content = [] if self._content is None else self._content
            self._content.append(content)
            if self._parts is not None and content != "":
                self._parts.text(content)
            if len(content):
                self._visible("text", len(content))
        elif isinstance(content, list):
            if self._parts is None:
                self._parts = Parts()
                if (before := "".join(self._content or ())) != "":
                    self._parts.text(before)
            for part in content:
                self._parts.add(_fields(part))

    def _visible(self, kind: str, length: int) -> None:
        self._open = False
        self._order.append((kind, length))

    def _detail(self, detail: dict[str, Any]) -> None:
        """A fragment joins the detail of its type, index and id; without an index, the last one of its type."""
        joined = _JOINED.get(str(detail_kind(detail)))
        places = range(len(self._details) - 1, -1, -1)
        same = next((place for place in places if _one_detail(self._details[place], detail)), None)
        if same is None or joined is None:
            self._details.append(detail)
            self._pieces.append([detail[joined]] if joined is not None and isinstance(detail.get(joined), str) else [])
            return
        known = self._details[same]
        for key, value in detail.items():
            if key == joined and isinstance(value, str) and isinstance(known.get(key), str):
                self._pieces[same].append(value)
            elif value is not None:
                known[key] = value

    def _whole_details(self) -> list[dict[str, Any]]:
        whole = []
        for detail, pieces in zip(self._details, self._pieces, strict=True):
            joined = str(_JOINED.get(str(detail_kind(detail))))
            text = "".join(pieces) if joined == "data" else whole_text(pieces)
            whole.append({**detail, joined: text} if len(pieces) > 1 else detail)
        return whole

    def _block(self, block: dict[str, Any]) -> None:
        """A fragment of thinking. LiteLLM numbers the blocks; a signature closes one, and so does anything visible."""
        index = block.pop("index", None)
        if block_code(block) == "redacted":
            self._blocks.append(block)
            self._visible("thinking", 0)
            return
        if not self._open or index != self._index:
            self._index = index
            self._blocks.append({"type": "thinking", "thinking": ""})
            self._visible("thinking", 0)
            self._open = True
        current = self._blocks[-1]
        grow(current, "thinking", block.get("thinking") or "")
        signature = block.get("signature")
        if isinstance(signature, str) and len(signature):
            current["signature"] = signature
            self._open = False

    def _call(self, call: Mapping[str, Any]) -> None:
        index = call.get("index")
        number = index if isinstance(index, int) else len(self._calls)
        known = self._calls.get(number)
        if known is None:
            known = self._calls[number] = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            self._visible("tool_use", 0)
        function = _fields(call.get("function"))
        for key in ("name", "arguments"):
            grow(known["function"], key, function.get(key) or "")
        for key, value in call.items():
            if key not in ("function", "index") and value is not None:
                known[key] = value

    def result(self) -> dict[str, Any] | None:
        """The assistant message so far; None while nothing has come. Unfinished: without any sealed part."""
        if not self._seen:
            return None
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if self._content is None else "".join(self._content),
        }
        if self._parts is not None:
            message["content"] = self._parts.parts if self._finished else _readable(self._parts.parts)
        message.update({key: whole_text(texts) for key, texts in self._texts.items()})
        details, blocks = self._whole_details(), at_rest(self._blocks)
        calls = [at_rest(self._calls[number]) for number in sorted(self._calls)]
        if self._finished:
            message.update(self._sealed)
        else:
            details = [detail for detail in details if detail_code(detail) in _READABLE]
            blocks = [block for block in blocks if block_code(block) in _READABLE]
            calls = [without_signature(call) if signature_of(call) is not None else call for call in calls]
        message.update({key: value for key, value in zip(_LISTS, (details, blocks, calls), strict=True) if value})
        layout = layout_of(self._order) if self._finished and blocks else None
        psf = {**self._psf, LAYOUT: layout} if layout is not None else self._psf
        return {**message, PSF: psf} if psf and self._finished else message


_LISTS = ("reasoning_details", "thinking_blocks", "tool_calls")
_READABLE = frozenset({"text", "blank", "empty"})


def _readable(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts of a content without what is sealed."""
    left = [part for part in parts if (code := block_code(part)) is None or code in _READABLE]
    return [without_extras(part) if extra_code(part) is not None else part for part in left]


def _one_detail(known: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    """Whether a fragment belongs to a detail: equal type, and index and id equal where both have them."""
    if detail_kind(known) != detail_kind(detail):
        return False
    pairs = ((known.get(key), detail.get(key)) for key in ("index", "id"))
    return all(ours == theirs or None in (ours, theirs) for ours, theirs in pairs)
