"""The Anthropic dialect as a plain client speaks it."""

import json

from wire_chat import CITY, events, forget  # noqa: F401 - a client offers `forget`

CLAUDE_TOOLS = [{"name": "get_weather", "description": "", "input_schema": CITY}]
MANUAL = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}


def body_for(history):
    """A request with tools and manual thinking."""
    return {"messages": history, "max_tokens": 4096, "thinking": MANUAL, "tools": CLAUDE_TOOLS}


def message_of(response):
    """The message of a whole reply or of its stream."""
    streamed = response.headers["content-type"].startswith("text/event-stream")
    return {"role": "assistant", "content": claude_blocks(response.text) if streamed else response.json()["content"]}


def sent(reply):
    """The message of a reply as the host kept it."""
    return {"role": "assistant", "content": reply["content"]}


def results_of(message, answer):
    """The tool results that answer a message's calls, in one user message."""
    ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": i, "content": answer} for i in ids]
    return [{"role": "user", "content": results}] if results else []


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
