"""A plain client for strict hosts, written from the hosts' documents: no framework, nothing of the library.

`keep=True` sends each reply back as it came; `keep=False` is the client that forgets reasoning.
"""

import json

import httpx

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}]
CLAUDE_TOOLS = [{"name": "get_weather", "description": "", "input_schema": CITY}]
MANUAL = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}
REASONING = ("reasoning_content", "reasoning", "reasoning_details")


def ask(host, messages, **more):
    """One request; the raw httpx response."""
    body = {"model": host.model, "messages": messages}
    if host.dialect == "anthropic":
        body |= {"max_tokens": 4096, "thinking": MANUAL, "tools": CLAUDE_TOOLS}
    else:
        body["tools"] = TOOLS
    headers = more.pop("headers", {})
    body = {key: value for key, value in (body | more).items() if value is not None}
    return httpx.post(host.endpoint, json=body, headers=headers, timeout=30, verify=False)


def message_of(host, response):
    """The assistant message of a reply, streamed or not, as a correct client keeps it."""
    response.raise_for_status()
    streamed = response.headers["content-type"].startswith("text/event-stream")
    if host.dialect == "anthropic":
        blocks = claude_blocks(response.text) if streamed else response.json()["content"]
        return {"role": "assistant", "content": blocks}
    return chat_message(response.text) if streamed else response.json()["choices"][0]["message"]


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


def claude_blocks(text):
    """The content blocks that the events of an Anthropic stream add up to."""
    blocks = []
    for event in events(text):
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            delta, block = event["delta"], blocks[event["index"]]
            if delta["type"] == "input_json_delta":
                block["input"] = block["input"] + delta["partial_json"] if block["input"] else delta["partial_json"]
            else:
                key = delta["type"].removesuffix("_delta")
                block[key] = block.get(key, "") + delta[key]
    for block in blocks:
        if isinstance(block.get("input"), str):
            block["input"] = json.loads(block["input"])
    return blocks


def without_reasoning(message):
    """What is left of a message when the client forgets reasoning."""
    kept = {key: value for key, value in message.items() if key not in REASONING}
    if isinstance(kept.get("content"), list):
        kept["content"] = [b for b in kept["content"] if b["type"] not in ("thinking", "redacted_thinking")] or None
    return kept


def results_of(host, message, answer="3C"):
    """The tool results that answer a message's calls."""
    if host.dialect == "anthropic":
        ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        return (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": answer} for i in ids]}]
            if ids
            else []
        )
    return [{"role": "tool", "tool_call_id": c["id"], "content": answer} for c in message.get("tool_calls") or []]


def loop(host, messages=None, *, keep=True, limit=8, **more):
    """A tool loop to its end. Returns the history and the last response; stops at the first refusal."""
    history = list(messages) if messages is not None else [{"role": "user", "content": "How is the weather?"}]
    for _ in range(limit):
        response = ask(host, history, **more)
        if response.status_code != 200:
            return history, response
        message = message_of(host, response)
        history.append(message if keep else without_reasoning(message))
        results = results_of(host, message)
        if not results:
            return history, response
        history += results
    raise AssertionError(f"{host!r} did not answer within {limit} steps")
