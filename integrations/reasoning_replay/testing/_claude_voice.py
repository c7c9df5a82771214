"""How the Anthropic Messages host writes a reply: content blocks, and the same blocks as server-sent events.

Parts come filled in (no AUTO). This file knows no request and no rule.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from ._script import Call, Part, Sealed, Summary, Text, Think, is_set
from ._voices import cut


def block_of(part: Part) -> dict[str, Any]:
    """One part as a content block."""
    match part:
        case Think(text=text, signature=signature):
            block = {"type": "thinking", "thinking": is_set(text) or ""}
            return block if signature is None else block | {"signature": is_set(signature)}
        case Sealed(data=data):
            return {"type": "redacted_thinking", "data": is_set(data)}
        case Summary(text=text):
            return {"type": "thinking", "thinking": is_set(text) or ""}
        case Text(text=said):
            return {"type": "text", "text": is_set(said) or ""}
        case Call(name=name, arguments=arguments, id=id):
            return {"type": "tool_use", "id": id, "name": name, "input": dict(arguments)}


def message(parts: Sequence[Part], model: str) -> dict[str, Any]:
    """A whole reply."""
    blocks = [block_of(part) for part in parts]
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    head = {"id": f"msg_{secrets.token_hex(8)}", "type": "message", "role": "assistant", "model": model}
    usage = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {**head, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def events(whole: dict[str, Any], pieces: int) -> Iterator[str]:
    """The same reply as server-sent events."""
    start = {**whole, "content": [], "stop_reason": None}
    yield _event("message_start", message=start)
    for index, block in enumerate(whole["content"]):
        empty, deltas = _deltas(block, pieces)
        yield _event("content_block_start", index=index, content_block=empty)
        yield from (_event("content_block_delta", index=index, delta=delta) for delta in deltas)
        yield _event("content_block_stop", index=index)
    yield _event(
        "message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage=whole["usage"]
    )
    yield _event("message_stop")


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _deltas(block: dict[str, Any], pieces: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it opens, and what follows. A redacted block comes whole; a signature comes last and once."""
    match block["type"]:
        case "thinking":
            said = [{"type": "thinking_delta", "thinking": s} for s in cut(block["thinking"], pieces) if s]
            signed = [{"type": "signature_delta", "signature": block["signature"]}] if "signature" in block else []
            empty = {**block, "thinking": ""} | ({"signature": ""} if signed else {})
            return empty, said + signed
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": s} for s in cut(block["text"], pieces)]
        case "tool_use":
            arguments = cut(json.dumps(block["input"]), pieces)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": s} for s in arguments]
        case _:
            return block, []
