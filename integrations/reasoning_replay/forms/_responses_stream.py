"""A Responses reply put together from stream events. Mutable: it holds what has arrived so far.

An item counts when its `output_item.done` has come: the blob that an item opens with "may be incomplete". A stream that
never completed (broken off, failed, out of tokens) was not stored, and keeps no sealed item, no id and no open call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import as_mapping, listed
from ._carriers import ITEM_SEALS, item_code, item_seal, signature_of, without_signature
from ._envelopes import name_payload

_KINDS = {"response.output_text.delta": "output_text", "response.reasoning_text.delta": "reasoning_text"}
"""Event → the type of the part of an item's content that it lengthens."""
_VISIBLE = ("message", "function_call", "custom_tool_call")
"""Items that say something without an id; a hosted tool's item is nothing without its own."""


def replayable(item: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
    """Whether the host of a reply can take an item back: the bare name of what was not stored says nothing."""
    if item.get("type") != "reasoning" or reply.get("store") is not False:
        return True
    return item_seal(item) is not None or item_code(item) == "text"


def call_signature(item: Mapping[str, Any]) -> str | None:
    """Gemini's signature on a call, where LiteLLM or a gateway puts it."""
    return signature_of({**item, "id": item.get("call_id")})


def bare_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """The call without its signature, and with the `call_id` that it has without it."""
    call = without_signature({**item, "id": item.get("call_id")})
    return {**call, "call_id": call["id"], **({"id": item["id"]} if "id" in item else {})}


def names(reply: Any) -> tuple[str, ...]:
    """The payloads of all names under which the host may keep a reply and its items."""
    found = as_mapping(reply)
    if found is None:
        return ()
    output = found.get("output")
    items = listed(output) if isinstance(output, list) else []
    kept = [found, *([talk] if (talk := as_mapping(found.get("conversation"))) is not None else ()), *items]
    return tuple(name_payload(each["id"]) for each in kept if isinstance(each.get("id"), str))


class ResponsesStream:
    """One streamed reply of the responses API."""

    def __init__(self, choice: int = 0) -> None:
        self._open: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, dict[int, tuple[str, list[str]]]] = {}
        self._done: dict[int, dict[str, Any]] = {}
        self._whole: Mapping[str, Any] | None = None
        self._seen = False

    def feed(self, chunk: Any) -> None:
        """Takes the next event: a dict or an SDK's object. Events of other types change nothing."""
        event = as_mapping(chunk) or {}
        kind, index = event.get("type"), event.get("output_index")
        if kind in ("response.created", "response.in_progress"):
            self._seen = True
        elif kind == "response.completed":
            self._seen, self._whole = True, as_mapping(event.get("response")) or {}
        elif not isinstance(index, int):
            return
        elif kind == "response.output_item.added":
            self._seen = True
            self._open[index] = dict(as_mapping(event.get("item")) or {})
        elif kind == "response.output_item.done":
            self._seen = True
            self._done[index] = dict(as_mapping(event.get("item")) or {})
        elif kind in _KINDS and isinstance(event.get("delta"), str):
            part = event.get("content_index")
            texts = self._texts.setdefault(index, {})
            texts.setdefault(part if isinstance(part, int) else 0, (_KINDS[kind], []))[1].append(event["delta"])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of a reply that was completed."""
        whole = self._whole
        if whole is None:
            return ()
        closed = names({"output": list(self._done.values())})  # a client may have these, under names of their own
        return tuple(dict.fromkeys((*names({**whole, "output": self._items(whole)}), *closed)))

    def _items(self, whole: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items as the reply has them at its end, else as each was closed: some hosts end with an empty list.

        LiteLLM's bridge closes an item of reasoning with its text as a summary, and has the text itself at the end
        only: without a store, the summary alone would be the bare name of something (litellm 1.110.2).
        """
        output = whole.get("output")
        if isinstance(output, list) and output:
            return [dict(item) for item in listed(output)]
        return [item for _, item in sorted(self._done.items())]

    def result(self) -> list[dict[str, Any]] | None:
        """The items so far; None while nothing has come. Unfinished: without anything that only the host knows."""
        if not self._seen:
            return None
        if self._whole is not None:
            return [item for item in self._items(self._whole) if replayable(item, self._whole)]
        indices = sorted({*self._open, *self._done})
        items = [self._done[index] if index in self._done else self._so_far(index) for index in indices]
        return [left for item in items if (left := _readable(item)) is not None]

    def _so_far(self, index: int) -> dict[str, Any]:
        """An item that was not closed: its text, where it has one; a call's arguments are not whole."""
        item, texts = self._open[index], self._texts.get(index, {})
        if item.get("type") not in ("message", "reasoning"):
            return {}
        parts = [
            {"type": kind, "text": "".join(pieces), **({"annotations": []} if kind == "output_text" else {})}
            for _, (kind, pieces) in sorted(texts.items())
        ]
        return {**item, "content": parts} if parts else {}


def _readable(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is left of an item without what is sealed; None for nothing."""
    if item.get("type") == "reasoning":
        bare = {key: value for key, value in item.items() if key not in (*ITEM_SEALS, "status")}
        return bare if item_code(bare) == "text" else None
    if item.get("type") not in _VISIBLE:
        return None
    call = bare_call(item) if call_signature(item) is not None else item
    return {key: value for key, value in call.items() if key not in ("id", "status")}
