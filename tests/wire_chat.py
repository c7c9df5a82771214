"""The chat dialect as a plain client speaks it."""

import json

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}]
REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking")


def body_for(history):
    """A request with tools."""
    return {"messages": history, "tools": TOOLS}


def message_of(response):
    """The message of a whole reply or of its stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        return chat_message(response.text)
    return response.json()["choices"][0]["message"]


def sent(reply):
    """The message of a reply as the host kept it."""
    return reply["choices"][0]["message"]


def forget(message):
    """What is left of a message when the client forgets reasoning."""
    kept = {key: value for key, value in message.items() if key not in REASONING}
    if isinstance(kept.get("content"), list):
        kept["content"] = [b for b in kept["content"] if b["type"] not in ("thinking", "redacted_thinking")] or None
    return kept


def results_of(message, answer):
    """The tool results that answer a message's calls."""
    return [{"role": "tool", "tool_call_id": c["id"], "content": answer} for c in message.get("tool_calls") or []]


def events(text):
    """The JSON of every server-sent event."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def chat_message(text):
    """The message that the deltas of a chat stream add up to."""
    message, details, chunks = {"role": "assistant", "content": None}, {}, []
    for event in events(text):
        for choice in event["choices"]:
            _merge_delta(message, details, chunks, choice["delta"])
    if details:
        message["reasoning_details"] = list(details.values())
    if chunks:
        thought = "".join(inner["text"] for chunk in chunks for inner in chunk["thinking"])
        said = [{"type": "text", "text": message["content"]}] if message["content"] else []
        message["content"] = [
            {"type": "thinking", "thinking": [{"type": "text", "text": thought}], "closed": True},
            *said,
        ]
    return message


def _merge_delta(message, details, chunks, delta):
    for call in delta.get("tool_calls", ()):
        _merge_call(message.setdefault("tool_calls", []), call)
    for entry in delta.get("reasoning_details", ()):
        _merge_entry(details.setdefault((entry["type"], entry["index"]), {}), entry)
    for key in ("content", "reasoning", "reasoning_content"):
        if isinstance(delta.get(key), list):
            chunks += delta[key]
        elif delta.get(key) is not None:
            message[key] = (message.get(key) or "") + delta[key]


def _merge_call(calls, fragment):
    if fragment["index"] == len(calls):
        calls.append({"id": fragment["id"], "type": "function", "function": dict(fragment["function"])})
    else:
        calls[fragment["index"]]["function"]["arguments"] += fragment["function"]["arguments"]


def _merge_entry(entry, fragment):
    for key, value in fragment.items():
        entry[key] = entry[key] + value if key in entry and key in ("text", "summary") else value
