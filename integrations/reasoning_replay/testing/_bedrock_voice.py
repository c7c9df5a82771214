"""How Bedrock's Converse writes a reply: content blocks, and the same blocks as events of AWS's binary stream.

Parts come filled in (no AUTO). Bytes are base64 in JSON. Nova 1 thinks in its text, between tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ._bedrock_case import Family, as_claude, family_of, wire_of
from ._bedrock_frames import event
from ._dialect import Saying
from ._script import Call, Part, Sealed, Summary, Text, Think, is_set, needle
from ._voices import cut

PADDING: Final = "abcdefghijk"
"""Under `p` in every event, as Bedrock pads them. Clients ignore it."""


def block_of(part: Part, options: Mapping[str, Any]) -> dict[str, Any]:
    """One part as a content block."""
    match part:
        case Think(text=text, signature=signature):
            said = {"text": is_set(text) or ""}
            return {
                "reasoningContent": {
                    "reasoningText": said if signature is None else said | {"signature": is_set(signature)}
                }
            }
        case Sealed(data=data):
            return {"reasoningContent": {"redactedContent": wire_of(is_set(data) or "", options)}}
        case Summary(text=text):
            return {"reasoningContent": {"reasoningText": {"text": is_set(text) or ""}}}
        case Text(text=said):
            return {"text": is_set(said) or ""}
        case Call(name=name, arguments=arguments, id=id):
            return {"toolUse": {"toolUseId": id, "name": name, "input": dict(arguments)}}


def reply(saying: Saying) -> dict[str, Any]:
    """A whole reply. Converse has one choice."""
    family = family_of(saying.model)
    return message([_in_text(part, family) for part in saying.choices[0]], saying.case.options)


def _in_text(part: Part, family: Family) -> Part:
    if family.tags and isinstance(part, Think | Summary):
        return Text(f"<thinking>{is_set(part.text) or ''}</thinking>")
    return part


def message(parts: Sequence[Part], options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a reply."""
    blocks = [block_of(part, options) for part in parts]
    stop = "tool_use" if any("toolUse" in block for block in blocks) else "end_turn"
    return {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": stop,
        "usage": {"inputTokens": 10, "outputTokens": 10, "totalTokens": 20},
        "metrics": {"latencyMs": 5},
    }


def note(saying: Saying, whole: dict[str, Any]) -> None:
    """Remember a reply in Claude's form; what is sealed counts as issued as it stands on the wire, too."""
    case = saying.case
    case.memory.note(saying.choices[0], as_claude(case))
    for block in whole["output"]["message"]["content"]:
        wire = block.get("reasoningContent", {}).get("redactedContent")
        if wire is not None:
            case.issuer.issued[needle(wire)] = case.scope


def events(saying: Saying, whole: dict[str, Any]) -> Iterator[str | bytes]:
    """The same reply as a binary stream."""
    yield event("messageStart", {"role": "assistant", "p": PADDING})
    for index, block in enumerate(whole["output"]["message"]["content"]):
        at = {"contentBlockIndex": index, "p": PADDING}
        if "toolUse" in block:  # the other kinds open without a word
            start = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            yield event("contentBlockStart", {**at, "start": {"toolUse": start}})
        for delta in _deltas(block, saying.reply.pieces):
            yield event("contentBlockDelta", {**at, "delta": delta})
        yield event("contentBlockStop", at)
    yield event("messageStop", {"stopReason": whole["stopReason"], "p": PADDING})
    yield event("metadata", {"usage": whole["usage"], "metrics": whole["metrics"], "p": PADDING})


def _deltas(block: dict[str, Any], pieces: int) -> Iterator[dict[str, Any]]:
    """What follows when a block is open. Redacted bytes come whole; a signature comes last and once."""
    if "text" in block:
        yield from ({"text": piece} for piece in cut(block["text"], pieces))
    elif "toolUse" in block:
        arguments = json.dumps(block["toolUse"]["input"])
        yield from ({"toolUse": {"input": piece}} for piece in cut(arguments, pieces))
    elif "redactedContent" in block["reasoningContent"]:
        yield {"reasoningContent": block["reasoningContent"]}
    else:
        said = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in cut(said["text"], pieces) if piece)
        if "signature" in said:
            yield {"reasoningContent": {"signature": said["signature"]}}
