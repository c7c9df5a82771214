"""Recorded replies of the vendors' own APIs, by dialect: whole, as the events of a stream, and what the tools answered.

CANARY stands in all that only its host may see, SHOWN in what every host may. The shapes are those of the evidence and of
the vendors' types (`openai` 3.57, `google-genai` 3.6, botocore's service model, `ollama` 0.7).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One reply."""

    dialect: str
    reply: Any
    """As the client gets it whole."""
    events: list[Any]
    """The same reply as it is streamed, one choice."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    """The tools' results, as the app appends them."""
    tail: int = 0
    """How many events come when the message is complete."""

    @property
    def message(self) -> Any:
        """What an app appends of the reply: a copy."""
        return copy.deepcopy(_MESSAGES[self.dialect](self.reply))


_MESSAGES = {
    "responses": lambda reply: reply["output"],
    "gemini": lambda reply: reply["candidates"][0]["content"],
    "bedrock": lambda reply: reply["output"]["message"],
    "ollama": lambda reply: reply["message"],
}

USERS = {
    "responses": {"role": "user", "content": "go"},
    "gemini": {"role": "user", "parts": [{"text": "go"}]},
    "bedrock": {"role": "user", "content": [{"text": "go"}]},
    "ollama": {"role": "user", "content": "go"},
}


# Responses ------------------------------------------------------------------------------------------------------------

CALL = {
    "id": "fc_CANARY",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"at":"SHOWN"}',
}
SAID = {
    "id": "msg_CANARY",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "annotations": [], "text": "SHOWN"}],
}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "SHOWN"}


def summary(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "summary_text", "text": text} for text in texts]


def thought(name: str, *texts: str, **more: Any) -> dict[str, Any]:
    return {"id": f"rs_CANARY_{name}", "type": "reasoning", "summary": summary(*texts), **more}


def response_events(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a reply in the order of recorded streams; the blob that opens an item is not whole."""
    empty = {"id": "resp_CANARY", "object": "response", "status": "in_progress", "output": []}
    rows: list[dict[str, Any]] = [{"type": "response.created", "response": empty}]
    for index, item in enumerate(output):
        opened = {**item, **({"encrypted_content": "CANARY-part"} if item.get("encrypted_content") else {})}
        at = {"item_id": item.get("id"), "output_index": index}
        rows.append({"type": "response.output_item.added", "output_index": index, "item": {**opened, "summary": []}})
        for number, part in enumerate(item.get("summary", ())):
            rows.append({
                "type": "response.reasoning_summary_text.delta", **at, "summary_index": number, "delta": part["text"],
            })  # fmt: skip
        for number, part in enumerate(item.get("content", ())):
            name = "output" if part["type"] == "output_text" else "reasoning"
            pieces = (part["text"][:2], part["text"][2:])
            at_part = {"type": f"response.{name}_text.delta", **at, "content_index": number}
            rows += [{**at_part, "delta": piece} for piece in pieces]
        if "arguments" in item:
            rows.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
        rows.append({"type": "response.output_item.done", "output_index": index, "item": item})
    rows.append({"type": "response.completed", "response": {**empty, "status": "completed", "output": output}})
    return rows


def responses(*output: dict[str, Any], answers: tuple[dict[str, Any], ...] = ()) -> Case:
    items = list(output)
    reply = {"id": "resp_CANARY", "object": "response", "status": "completed", "store": True, "output": items}
    return Case("responses", reply, response_events(items), list(answers))


RAW = [{"type": "reasoning_text", "text": "CANARY"}]
WRAPPED = "litellm_enc:bW9kZWxfaWQ6MQ==;CANARY"
PACKED = "encitem_bGl0ZWxsbTptb2RlbF9pZDoxO2l0ZW1faWQ6cnNfQ0FOQVJZ"

RESPONSES = {
    "summaries and a call": responses(thought("a", "CANARY", "CANARY 2", encrypted_content="CANARY"), CALL, answers=(OUTPUT,)),
    "no summary": responses(thought("a", encrypted_content="CANARY"), {**SAID, "phase": "final_answer"}),
    "stored, by its id alone": responses(thought("a", "CANARY"), CALL, answers=(OUTPUT,)),
    "an open model": responses(thought("a", content=RAW), SAID),
    "an open model that seals too": responses(thought("a", content=RAW, encrypted_content="CANARY"), SAID),
    "llama.cpp": responses(thought("a", content=RAW, encrypted_content="", status="completed"), CALL, answers=(OUTPUT,)),
    "interleaved, with parallel calls": responses(
        thought("a", "CANARY", encrypted_content="CANARY-a"),
        {**SAID, "phase": "commentary"},
        thought("b", encrypted_content="CANARY-b"),
        CALL,
        {**CALL, "id": "fc_CANARY_2", "call_id": "call_2"},
        answers=(OUTPUT, {**OUTPUT, "call_id": "call_2"}),
    ),
    "a hosted tool": responses(
        thought("a", encrypted_content="CANARY"),
        {"id": "ws_CANARY", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "SHOWN"}},
        SAID,
    ),
    "wrapped by LiteLLM's router": responses({**thought("a", encrypted_content=WRAPPED), "id": PACKED}, CALL, answers=(OUTPUT,)),
    "openrouter": responses(thought("a", "CANARY", signature="CANARY", format="anthropic-claude-v1"), SAID),
    "a compaction": responses({"type": "compaction", "id": "cmp_CANARY", "encrypted_content": "CANARY"}, SAID),
    "Gemini behind LiteLLM": responses(
        {**CALL, "id": "fc_CANARY", "call_id": "call_1__thought__CANARY"},
        answers=({**OUTPUT, "call_id": "call_1__thought__CANARY"},),
    ),
    "no reasoning, but an id": responses(SAID),
}  # fmt: skip


# Gemini ---------------------------------------------------------------------------------------------------------------

FC = {"functionCall": {"id": "c1", "name": "look", "args": {"at": "SHOWN"}}}
FR = {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"output": "SHOWN"}}}]}
THOUGHT = {"text": "CANARY", "thought": True}
SIGN = {"thoughtSignature": "Q0FOQVJZ-CANARY"}


def gemini_events(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chunks of a reply: texts in two pieces, all else whole."""
    pieces: list[dict[str, Any]] = []
    for part in parts:
        text = part.get("text", "")
        if "thoughtSignature" in part or "thought_signature" in part or text == "":
            pieces.append(part)
        else:
            pieces += [{**part, "text": text[:3]}, {**part, "text": text[3:]}]
    last = len(pieces) - 1
    return [
        {
            "candidates": [{
                "content": {"parts": [piece], "role": "model"}, "index": 0, **({"finishReason": "STOP"} if at == last else {}),
            }],
            "modelVersion": "m",
        }
        for at, piece in enumerate(pieces)
    ]  # fmt: skip


def gemini(*parts: dict[str, Any], answers: tuple[dict[str, Any], ...] = ()) -> Case:
    content = {"parts": list(parts), "role": "model"}
    reply = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m"}
    return Case("gemini", reply, gemini_events(list(parts)), list(answers))


GEMINI = {
    "a call": gemini(THOUGHT, {**FC, **SIGN}, answers=(FR,)),
    "parallel calls": gemini(
        {**FC, **SIGN},
        {"functionCall": {"id": "c2", "name": "look", "args": {}}},
        answers=({"role": "user", "parts": [*FR["parts"], {"functionResponse": {"id": "c2", "name": "look", "response": {}}}]},),
    ),
    "a signed text": gemini(THOUGHT, {"text": "SHOWN", **SIGN}),
    "an empty text at the end": gemini(THOUGHT, {"text": "SHOWN"}, {"text": "", **SIGN}),
    "nothing but an empty text": gemini({"text": "", **SIGN}),
    "2.5, its first part": gemini({"text": "CANARY", "thought": True, **SIGN}, FC, answers=(FR,)),
    "a picture": gemini({"inlineData": {"mimeType": "image/png", "data": "SHOWN"}, **SIGN}),
    "underscores": gemini(
        {"function_call": {"id": "c1", "name": "look", "args": {"at": "SHOWN"}}, "thought_signature": "CANARY"},
        answers=({"role": "user", "parts": [{"function_response": {"id": "c1", "name": "look", "response": {"output": "SHOWN"}}}]},),
    ),
    "interleaved": gemini(THOUGHT, {"text": "SHOWN"}, {"text": "CANARY again", "thought": True}, {**FC, **SIGN}, answers=(FR,)),
}  # fmt: skip


# Bedrock --------------------------------------------------------------------------------------------------------------

USE = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": "SHOWN"}}}
RESULT = {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "SHOWN"}]}}]}


def said(text: str, signature: str | None = "CANARY") -> dict[str, Any]:
    inside = {"text": text, **({} if signature is None else {"signature": signature})}
    return {"reasoningContent": {"reasoningText": inside}}


def bedrock_events(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a reply: a signature comes last, bytes come whole, an input in two pieces."""
    rows: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(blocks):
        at = {"contentBlockIndex": index}
        deltas: list[dict[str, Any]] = []
        if "toolUse" in block:
            start = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            rows.append({"contentBlockStart": {**at, "start": {"toolUse": start}}})
            deltas = [{"toolUse": {"input": piece}} for piece in ('{"at":', '"SHOWN"}')]
        elif "text" in block:
            deltas = [{"text": block["text"][:2]}, {"text": block["text"][2:]}]
        elif "reasoningContent" not in block:
            continue
        elif "redactedContent" in block["reasoningContent"]:
            deltas = [{"reasoningContent": block["reasoningContent"]}]
        else:
            inside = block["reasoningContent"]["reasoningText"]
            deltas = [{"reasoningContent": {"text": inside["text"]}}] if inside["text"] else []
            deltas += [{"reasoningContent": {"signature": inside["signature"]}}] if "signature" in inside else []
        rows += [{"contentBlockDelta": {**at, "delta": delta}} for delta in deltas]
        rows.append({"contentBlockStop": at})
    return [*rows, {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"usage": {"inputTokens": 1}}}]


def bedrock(*blocks: dict[str, Any], answers: tuple[dict[str, Any], ...] = ()) -> Case:
    reply = {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": "end_turn"}
    return Case("bedrock", reply, bedrock_events(list(blocks)), list(answers), tail=1)


BEDROCK = {
    "signed, and a call": bedrock(said("CANARY"), USE, answers=(RESULT,)),
    "omitted": bedrock(said(""), {"text": "SHOWN"}),
    "redacted, as bytes": bedrock({"reasoningContent": {"redactedContent": b"CANARY"}}, {"text": "SHOWN"}),
    "redacted, in base64": bedrock({"reasoningContent": {"redactedContent": "Q0FOQVJZCANARY=="}}, USE, answers=(RESULT,)),
    "unsigned, of another family": bedrock(said("CANARY", None), {"text": "SHOWN"}),
    "in its text, between tags": bedrock({"text": "<thinking>CANARY</thinking>"}, {"text": "SHOWN"}, USE, answers=(RESULT,)),
    "in front of its text": bedrock({"text": "<thinking> CANARY</thinking> SHOWN"}),
    "interleaved": bedrock(said("CANARY"), {"text": "SHOWN"}, said("CANARY 2", "CANARY 3"), USE, answers=(RESULT,)),
}  # fmt: skip


# Ollama ---------------------------------------------------------------------------------------------------------------

OLLAMA_CALL = {"id": "call_1", "function": {"index": 0, "name": "look", "arguments": {"at": "SHOWN"}}}


def ollama_events(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of a reply: thinking, then text, in two pieces each, then every call whole."""
    head = {"model": "m", "created_at": "2026-09-21T14:13:20Z"}
    rows: list[dict[str, Any]] = [{"content": ""}]
    for key in ("thinking", "content"):
        text = message.get(key, "")
        rows += [{"content": "", key: piece} for piece in (text[:2], text[2:]) if piece]
    rows += [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls", ())]
    lines = [{**head, "message": {"role": "assistant", **row}, "done": False} for row in rows]
    return [*lines, {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}]


def ollama(message: dict[str, Any], answers: tuple[dict[str, Any], ...] = ()) -> Case:
    whole = {"role": "assistant", **message}
    return Case("ollama", {"model": "m", "message": whole, "done": True}, ollama_events(whole), list(answers))


OLLAMA = {
    "a call": ollama(
        {"content": "", "thinking": "CANARY", "tool_calls": [OLLAMA_CALL]},
        answers=({"role": "tool", "tool_name": "look", "content": "SHOWN"},),
    ),
    "a text": ollama({"content": "SHOWN", "thinking": "CANARY"}),
    "in its text": ollama({"content": "<think>CANARY</think>\n\nSHOWN"}),
}

CASES: dict[str, dict[str, Case]] = {
    "responses": RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "ollama": OLLAMA,
}
ALL = [(dialect, name) for dialect, cases in CASES.items() for name in cases]
