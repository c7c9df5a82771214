"""How a Responses host writes a reply: a run of items with ids, and the same run as its server-sent events.

A Think is a reasoning item with one summary, `think("")` one with none; a Summary that follows adds to it; a Sealed is its
`encrypted_content`, which an item has by itself unless its Think says `signature=None` or the option `encrypts` does. A host
with the option `plain` seals nothing and writes reasoning as `content`. Parts come filled in (no AUTO).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ._claude_case import Case
from ._dialect import Saying
from ._law import matches
from ._responses_case import settings_of
from ._script import AUTO, Call, Part, Sealed, Summary, Text, Think, arguments_of, is_set
from ._voices import cut

PHASED: Final = ("gpt-5.3-codex*", "gpt-5.4*", "gpt-5.5*", "gpt-5.6*", "gpt-6*")
"""Models that say whether a message is a comment on the way or the answer."""
CREATED: Final = 1790000000
INCLUDE: Final = "reasoning.encrypted_content"
ENCRYPTS: Final = ("always", "included")
"""Whether reasoning items carry encrypted content by themselves, as now, or as before only if the request asks for it."""
USAGE: Final[Mapping[str, Any]] = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 20,
}


def shape(parts: Sequence[Part], case: Case) -> list[Part]:
    """Every reasoning item closes with its sealed part, where it has one."""
    done: list[Part] = []
    by_itself = case.options["encrypts"] == ENCRYPTS[0] or INCLUDE in (case.body.get("include") or ())
    for group in _groups(parts):
        lead = group[0]
        if not isinstance(lead, Think | Summary | Sealed):
            done += group
            continue
        signature = lead.signature if isinstance(lead, Think) else AUTO
        ends = [part for part in group if isinstance(part, Sealed)]
        if not ends and signature is not None and (by_itself or signature is not AUTO):
            ends = [Sealed(data=signature)]
        done += [replace(p, signature=None) if isinstance(p, Think) else p for p in group if not isinstance(p, Sealed)]
        done += ends
    return done


def _groups(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts by item: a Think opens a reasoning item, the Summary and Sealed parts behind it belong to it."""
    groups: list[list[Part]] = []
    for part in parts:
        last = groups[-1][-1] if groups else None
        joins = isinstance(part, Summary | Sealed) and isinstance(last, Think | Summary)
        if joins or (isinstance(part, Text) and isinstance(last, Text)):
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def reasoning_id(blob: str | None) -> str:
    """An id that can be checked against its encrypted content by whoever sees both."""
    return "rs_" + (secrets.token_hex(24) if blob is None else hashlib.sha256(blob.encode()).hexdigest()[:48])


def items(parts: Sequence[Part], model: str, plain: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The items of a reply. `plain`: what stands beside text in the `content` of a reasoning item."""
    groups = _groups(parts)
    calls = any(isinstance(group[0], Call) for group in groups)
    return [_item(group, model, plain, calls=calls) for group in groups if group != [Text(None)]]


def _item(group: Sequence[Part], model: str, plain: Mapping[str, Any] | None, *, calls: bool) -> dict[str, Any]:
    lead = group[0]
    if isinstance(lead, Text):
        texts = [is_set(part.text) or "" for part in group if isinstance(part, Text)]
        content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text} for text in texts]
        message = {"id": f"msg_{secrets.token_hex(24)}", "type": "message", "status": "completed", "content": content}
        phase = {"phase": "commentary" if calls else "final_answer"} if matches(model, PHASED) else {}
        return {**message, "role": "assistant", **phase}
    if isinstance(lead, Call):
        call = {"call_id": lead.id, "name": lead.name, "arguments": arguments_of(lead)}
        return {"id": f"fc_{secrets.token_hex(24)}", "type": "function_call", "status": "completed", **call}
    said = [is_set(part.text) for part in group if isinstance(part, Think | Summary)]
    if plain is not None:
        content = [{"type": "reasoning_text", "text": text} for text in said if text is not None]
        return {"id": reasoning_id(None), "type": "reasoning", "summary": [], "content": content, **plain}
    blob = next((is_set(part.data) for part in group if isinstance(part, Sealed)), None)
    item = {"id": reasoning_id(blob), "type": "reasoning", "summary": [_summary(text) for text in said if text]}
    return item if blob is None else item | {"encrypted_content": blob}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def response(saying: Saying) -> dict[str, Any]:
    """A whole reply."""
    body = saying.case.body
    reasoning = {"effort": None, "summary": None, **settings_of(body)}
    head = {"id": f"resp_{secrets.token_hex(24)}", "object": "response", "created_at": CREATED, "status": "completed"}
    settings = {
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": saying.model,
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": reasoning,
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        "metadata": body.get("metadata") or {},
    }
    return {
        **head,
        **settings,
        "output": items(saying.choices[0], saying.model, saying.case.options.get("plain")),
        "usage": dict(USAGE),
    }


# The events -----------------------------------------------------------------------------------------------------------


def events(saying: Saying, whole: dict[str, Any]) -> Iterator[str]:
    """The same reply as server-sent events, numbered from 0. The order is that of recorded streams."""
    empty = {**whole, "status": "in_progress", "output": [], "usage": None}
    rows: list[dict[str, Any]] = [
        {"type": "response.created", "response": empty},
        {"type": "response.in_progress", "response": empty},
    ]
    for index, item in enumerate(whole["output"]):
        opened, inner = _WRITERS[item["type"]](item, saying.reply.pieces)
        rows.append({"type": "response.output_item.added", "output_index": index, "item": opened})
        rows += [{**row, "item_id": item["id"], "output_index": index} for row in inner]
        rows.append({"type": "response.output_item.done", "output_index": index, "item": item})
    rows.append({"type": "response.completed", "response": whole})
    for number, row in enumerate(rows):
        yield f"event: {row['type']}\ndata: {json.dumps({**row, 'sequence_number': number})}\n\n"


Opened = tuple[dict[str, Any], list[dict[str, Any]]]


def _reasoning(item: dict[str, Any], pieces: int) -> Opened:
    """Summaries one after the other. The blob that opens is not whole yet: only `output_item.done` has it all."""
    rows: list[dict[str, Any]] = []
    for number, part in enumerate(item["summary"]):
        at, kind = {"summary_index": number}, "response.reasoning_summary"
        rows.append({"type": f"{kind}_part.added", **at, "part": _summary("")})
        rows += [{"type": f"{kind}_text.delta", **at, "delta": piece} for piece in cut(part["text"], pieces)]
        rows.append({"type": f"{kind}_text.done", **at, "text": part["text"]})
        rows.append({"type": f"{kind}_part.done", **at, "part": part})
    rows += _content(item, pieces, "response.reasoning_text", {})
    opened = {**item, "summary": [], **({"content": []} if "content" in item else {})}
    if isinstance(blob := item.get("encrypted_content"), str):
        opened["encrypted_content"] = blob[:16]
    return opened, rows


def _message(item: dict[str, Any], pieces: int) -> Opened:
    rows = _content(item, pieces, "response.output_text", {"logprobs": []})
    return {**item, "status": "in_progress", "content": []}, rows


def _content(item: dict[str, Any], pieces: int, kind: str, more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of an item's content, one after the other."""
    rows: list[dict[str, Any]] = []
    for number, part in enumerate(item.get("content", ())):
        at = {"content_index": number}
        rows.append({"type": "response.content_part.added", **at, "part": {**part, "text": ""}})
        rows += [{"type": f"{kind}.delta", **at, "delta": piece, **more} for piece in cut(part["text"], pieces)]
        rows.append({"type": f"{kind}.done", **at, "text": part["text"], **more})
        rows.append({"type": "response.content_part.done", **at, "part": part})
    return rows


def _function_call(item: dict[str, Any], pieces: int) -> Opened:
    kind = "response.function_call_arguments"
    rows = [{"type": f"{kind}.delta", "delta": piece} for piece in cut(item["arguments"], pieces)]
    rows.append({"type": f"{kind}.done", "arguments": item["arguments"]})
    return {**item, "status": "in_progress", "arguments": ""}, rows


_WRITERS: Final = {"reasoning": _reasoning, "message": _message, "function_call": _function_call}
