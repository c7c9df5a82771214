"""How a probe speaks each dialect: a request with tools, what a reply says, a history with something taken out.

Written from the hosts' documents, apart from the library's forms: a probe that read and wrote with them would find what
they believe. A dialect is a row of SPEECHES; this file knows no host.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

Row = dict[str, Any]
Rows = Sequence[Row]

QUESTION = (
    "What is the weather in Oslo, and then in Bergen? Call the tool for one city, then for the other, then answer."
)
AGAIN = "And in Bodo? Call the tool again."
WEATHER = "3 degrees, wind from the west"
TOOL = "get_weather"
ABOUT = "The weather of one city."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FOREIGN = "Somebody else thought so: the west wind will bring rain."
"""Stands where another host's text would: what a host says to it says what it says to any."""
STRANGE = "YW5vdGhlciBob3N0IG1hZGUgdGhpcyBzZWFsLCBhbmQgbm9ib2R5IGVsc2UgY2FuIG9wZW4gaXQgYWdhaW4h"
"""A seal that no host made, in base64."""
STRINGS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
SEALS = ("signature", "encrypted_content", "thoughtSignature", "thought_signature", "data", "redactedContent")


class Speech(NamedTuple):
    """One dialect."""

    path: Callable[[str, str], str]
    """Base URL and model → the URL that is called."""
    body: Callable[[list[Row], str], Row]
    """Rows and model → a request with tools, thinking as it is usual."""
    said: Callable[[Any], list[Row]]
    """A reply's JSON → its rows."""
    results: Callable[[Rows], list[Row]]
    """The rows of a reply → the rows that answer its calls; empty where it called nothing."""
    user: Callable[[str], Row]
    bare: Callable[[Row], Row | None]
    """A row without reasoning; None where nothing is left of it."""
    fields: Callable[[Row], list[str]]
    """Where reasoning stands in a row, by the rules' own names."""
    tokens: Callable[[Any], int | None]
    """A reply's JSON → the tokens of its prompt."""
    fill: Callable[[Row, str, str], Row] | None = None
    """A bare row with a placeholder under a field; None where the dialect has no place for one."""
    fills: tuple[str, ...] = ("", " ")
    key: tuple[str, str] = ("Authorization", "Bearer ")
    """The header of the key, and what stands before it."""
    headers: Mapping[str, str] = {}
    tries: tuple[Callable[[Row], Row], ...] = ()
    """Other ways to ask for thinking, tried one after the other where the model does not know the usual one."""


def _used(*path: str) -> Callable[[Any], int | None]:
    def tokens(reply: Any) -> int | None:
        for key in path:
            reply = reply.get(key) if isinstance(reply, Mapping) else None
        return reply if isinstance(reply, int) else None

    return tokens


def _at(base: str, version: str, rest: str) -> str:
    """A URL whose base may or may not name the version."""
    return base + rest if base.endswith(version) else base + version + rest


def _text_row(text: str) -> Row:
    return {"role": "user", "content": text}


def _has(value: Any) -> bool:
    return value is not None and value != []


def altered(value: Any) -> Any:
    """A copy in which every seal is one that no host made."""
    if isinstance(value, list):
        return [altered(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: STRANGE if k in SEALS and isinstance(v, str) and len(v) > 0 else altered(v) for k, v in value.items()}


def unsigned(value: Any) -> Any:
    """A copy without any signature beside a readable text."""
    if isinstance(value, list):
        return [unsigned(one) for one in value]
    if not isinstance(value, dict):
        return value
    readable = any(isinstance(value.get(key), str) for key in ("thinking", "text")) and "signature" in value
    return {k: unsigned(v) for k, v in value.items() if not (readable and k == "signature")}


def without(body: Row, *params: str) -> Row:
    """A request without some parameters."""
    return {key: value for key, value in body.items() if key not in params}


# Chat, and Ollama's own -----------------------------------------------------------------------------------------------

CHAT_TOOLS = [{"type": "function", "function": {"name": TOOL, "description": ABOUT, "parameters": CITY}}]
_CHAT_KEYS = (*STRINGS, "reasoning_details", "thinking_blocks", "reasoning_items", "reasoning_opaque")


def _chat_said(reply: Any) -> list[Row]:
    return [reply["choices"][0]["message"]]


def _chat_results(rows: Rows) -> list[Row]:
    calls = [call for row in rows for call in row.get("tool_calls") or ()]
    return [{"role": "tool", "tool_call_id": call["id"], "content": WEATHER} for call in calls]


def _chunks(row: Row) -> list[Any]:
    content = row.get("content")
    return [one for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []


def _chat_bare(row: Row) -> Row | None:
    left = {key: value for key, value in row.items() if key not in _CHAT_KEYS}
    if isinstance(left.get("content"), list):
        left["content"] = [one for one in left["content"] if one.get("type") != "thinking"] or ""
    if isinstance(left.get("tool_calls"), list):
        left["tool_calls"] = [{k: v for k, v in call.items() if k != "extra_content"} for call in left["tool_calls"]]
    return left


def _chat_fields(row: Row) -> list[str]:
    found = [key for key in _CHAT_KEYS if _has(row.get(key))]
    found += ["content.thinking"] if any(one.get("type") == "thinking" for one in _chunks(row)) else []
    calls = row.get("tool_calls") or ()
    return found + (["tool_calls.extra_content"] if any(_has(call.get("extra_content")) for call in calls) else [])


def _chat_fill(row: Row, field: str, text: str) -> Row:
    return {**row, field: text} if field in STRINGS else row


def others(row: Row, key: str) -> Row:
    """A chat message with another host's text under a key."""
    entry = [{"type": "reasoning.text", "text": FOREIGN, "format": "unknown", "index": 0}]
    return {**row, key: entry if key == "reasoning_details" else FOREIGN}


CHAT = Speech(
    path=lambda base, model: f"{base}/chat/completions",
    body=lambda rows, model: {"model": model, "messages": rows, "tools": CHAT_TOOLS},
    said=_chat_said,
    results=_chat_results,
    user=_text_row,
    bare=_chat_bare,
    fields=_chat_fields,
    tokens=_used("usage", "prompt_tokens"),
    fill=_chat_fill,
)


def _ollama_results(rows: Rows) -> list[Row]:
    calls = [call for row in rows for call in row.get("tool_calls") or ()]
    return [{"role": "tool", "tool_name": call["function"]["name"], "content": WEATHER} for call in calls]


OLLAMA = Speech(
    path=lambda base, model: f"{base}/api/chat",
    body=lambda rows, model: {"model": model, "messages": rows, "tools": CHAT_TOOLS, "think": True, "stream": False},
    said=lambda reply: [reply["message"]],
    results=_ollama_results,
    user=_text_row,
    bare=lambda row: {key: value for key, value in row.items() if key != "thinking"},
    fields=lambda row: ["thinking"] if _has(row.get("thinking")) else [],
    tokens=_used("prompt_eval_count"),
    fill=lambda row, field, text: {**row, "thinking": text},
    tries=(lambda body: without(body, "think"),),
)

# Anthropic, and Converse ----------------------------------------------------------------------------------------------

MANUAL = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}
"""The only way from Opus 4.7 and the fifth generation on."""
THINKING = ("thinking", "redacted_thinking")


def _claude_body(rows: list[Row], model: str) -> Row:
    tools = [{"name": TOOL, "description": ABOUT, "input_schema": CITY}]
    return {"model": model, "messages": rows, "max_tokens": 2048, "thinking": MANUAL, "tools": tools}


def _claude_results(rows: Rows) -> list[Row]:
    calls = [block["id"] for row in rows for block in row["content"] if block.get("type") == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": one, "content": WEATHER} for one in calls]
    return [{"role": "user", "content": results}] if results else []


def _claude_bare(row: Row) -> Row | None:
    left = [block for block in _chunks(row) if block.get("type") not in THINKING]
    return {**row, "content": left} if left else None


def _claude_fill(row: Row, field: str, text: str) -> Row:
    return {**row, "content": [{"type": "thinking", "thinking": text}, *row["content"]]}


ANTHROPIC = Speech(
    path=lambda base, model: _at(base, "/v1", "/messages"),
    body=_claude_body,
    said=lambda reply: [{"role": "assistant", "content": reply["content"]}],
    results=_claude_results,
    user=_text_row,
    bare=_claude_bare,
    fields=lambda row: ["content.thinking"] if any(one.get("type") in THINKING for one in _chunks(row)) else [],
    tokens=_used("usage", "input_tokens"),
    fill=_claude_fill,
    fills=("",),
    key=("x-api-key", ""),
    headers={"anthropic-version": "2023-06-01"},
    tries=(lambda body: {**body, "thinking": ADAPTIVE}, lambda body: without(body, "thinking")),
)


EXTRA = "additionalModelRequestFields"


def _converse_body(rows: list[Row], model: str) -> Row:
    tools = [{"toolSpec": {"name": TOOL, "description": ABOUT, "inputSchema": {"json": CITY}}}]
    return {
        "messages": rows,
        "inferenceConfig": {"maxTokens": 2048},
        "toolConfig": {"tools": tools},
        EXTRA: {"thinking": MANUAL},
    }


def _converse_results(rows: Rows) -> list[Row]:
    calls = [block["toolUse"]["toolUseId"] for row in rows for block in row["content"] if "toolUse" in block]
    results = [{"toolResult": {"toolUseId": one, "content": [{"text": WEATHER}]}} for one in calls]
    return [{"role": "user", "content": results}] if results else []


def _converse_bare(row: Row) -> Row | None:
    left = [block for block in _chunks(row) if "reasoningContent" not in block]
    return {**row, "content": left} if left else None


BEDROCK = Speech(
    path=lambda base, model: f"{base}/model/{quote(model, safe='')}/converse",
    body=_converse_body,
    said=lambda reply: [reply["output"]["message"]],
    results=_converse_results,
    user=lambda text: {"role": "user", "content": [{"text": text}]},
    bare=_converse_bare,
    fields=lambda row: ["content.thinking"] if any("reasoningContent" in one for one in _chunks(row)) else [],
    tokens=_used("usage", "inputTokens"),
    tries=(
        lambda body: {**body, EXTRA: {"thinking": ADAPTIVE}},
        lambda body: without(body, EXTRA),
    ),
)

# Responses ------------------------------------------------------------------------------------------------------------


def _items_body(rows: list[Row], model: str) -> Row:
    tools = [{"type": "function", "name": TOOL, "description": ABOUT, "parameters": CITY}]
    include = ["reasoning.encrypted_content"]
    return {"model": model, "input": rows, "tools": tools, "store": False, "include": include}


def _items_results(rows: Rows) -> list[Row]:
    calls = [row["call_id"] for row in rows if row.get("type") == "function_call"]
    return [{"type": "function_call_output", "call_id": one, "output": WEATHER} for one in calls]


def _items_bare(row: Row) -> Row | None:
    if row.get("type") == "reasoning":
        return None
    is_said = row.get("type") == "function_call" or row.get("role") == "assistant"
    return {key: value for key, value in row.items() if key != "id"} if is_said else row


def _sendable(item: Row) -> Row:
    """An item as it is taken back: a status says nothing, and some refuse it."""
    return {key: value for key, value in item.items() if key != "status"}


RESPONSES = Speech(
    path=lambda base, model: f"{base}/responses",
    body=_items_body,
    said=lambda reply: [_sendable(item) for item in reply["output"]],
    results=_items_results,
    user=_text_row,
    bare=_items_bare,
    fields=lambda row: ["content.item"] if row.get("type") == "reasoning" else [],
    tokens=_used("usage", "input_tokens"),
    tries=(lambda body: without(body, "include"), lambda body: without(body, "include", "store")),
)

# Gemini ---------------------------------------------------------------------------------------------------------------

SENTINEL = "skip_thought_signature_validator"
"""What Google lets stand for a signature that nobody has; in base64 on the wire."""


def _parts_body(rows: list[Row], model: str) -> Row:
    tools = [{"functionDeclarations": [{"name": TOOL, "description": ABOUT, "parameters": CITY}]}]
    return {"contents": rows, "tools": tools, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def _parts_results(rows: Rows) -> list[Row]:
    calls = [part["functionCall"] for row in rows for part in row["parts"] if "functionCall" in part]
    results = [
        {"functionResponse": {**{k: call[k] for k in ("id", "name") if k in call}, "response": {"output": WEATHER}}}
        for call in calls
    ]
    return [{"role": "user", "parts": results}] if results else []


def _parts_bare(row: Row) -> Row | None:
    left = [
        {k: v for k, v in part.items() if k != "thoughtSignature"} for part in row["parts"] if not part.get("thought")
    ]
    left = [part for part in left if part != {"text": ""}]
    return {**row, "parts": left} if left else None


def _parts_fields(row: Row) -> list[str]:
    calls = any("functionCall" in part and "thoughtSignature" in part for part in row["parts"])
    thoughts = any(part.get("thought") for part in row["parts"])
    return ["tool_calls.extra_content"] * calls + ["content.thinking"] * thoughts


def _parts_fill(row: Row, field: str, text: str) -> Row:
    parts = list(row["parts"])
    for number, part in enumerate(parts):
        if "functionCall" in part:
            parts[number] = {**part, "thoughtSignature": base64.b64encode(text.encode()).decode()}
            break
    return {**row, "parts": parts}


GEMINI = Speech(
    path=lambda base, model: (
        f"{base}/models/{model}:generateContent"
        if "/publishers/" in base
        else _at(base, "/v1beta", f"/models/{model}:generateContent")
    ),
    body=_parts_body,
    said=lambda reply: [{"role": "model", **reply["candidates"][0]["content"]}],
    results=_parts_results,
    user=lambda text: {"role": "user", "parts": [{"text": text}]},
    bare=_parts_bare,
    fields=_parts_fields,
    tokens=_used("usageMetadata", "promptTokenCount"),
    fill=_parts_fill,
    fills=(SENTINEL,),
    key=("x-goog-api-key", ""),
    tries=(lambda body: without(body, "generationConfig"),),
)

SPEECHES: dict[str, Speech] = {
    "chat": CHAT,
    "anthropic": ANTHROPIC,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "ollama": OLLAMA,
}
