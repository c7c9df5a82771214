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
    loose: bool = False
    """A stream of it may put a text together otherwise than the whole reply does."""

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

CASES: dict[str, dict[str, Case]] = {"responses": RESPONSES}
ALL = [(dialect, name) for dialect, cases in CASES.items() for name in cases]
