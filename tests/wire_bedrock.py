"""Converse as a plain client speaks it, the binary stream included."""

import json
import struct
from binascii import crc32
from urllib.parse import quote

from wire_chat import CITY
from wire_claude import MANUAL

BEDROCK_TOOLS = [{"toolSpec": {"name": "get_weather", "description": "w", "inputSchema": {"json": CITY}}}]


def body_for(history):
    """A request with tools and Claude's manual thinking; a user's row may be written as in chat."""
    return {
        "messages": [message_for(row) for row in history],
        "inferenceConfig": {"maxTokens": 4096},
        "toolConfig": {"tools": BEDROCK_TOOLS},
        "additionalModelRequestFields": {"thinking": MANUAL},
    }


def message_for(row):
    """A row as one message."""
    return {**row, "content": [{"text": row["content"]}]} if isinstance(row["content"], str) else row


def request(host, body):
    """Where a request goes; the model and the wish for a stream stand in the path."""
    model, stream = body.pop("model"), body.pop("stream", False)
    return f"{host.url}/model/{quote(model, safe='')}/converse{'-stream' if stream else ''}", body


def message_of(response):
    """The message of a whole reply or of its stream."""
    if response.headers["content-type"] != "application/vnd.amazon.eventstream":
        return sent(response.json())
    blocks = {}
    for kind, payload in frames(response.content):
        if kind == "contentBlockStart":
            blocks[payload["contentBlockIndex"]] = {"toolUse": {**payload["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            _merge(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}


def _merge(block, delta):
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        said = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
        for key, value in delta["reasoningContent"].items():
            said[key] = said.get(key, "") + value


def frames(raw):
    """The kind and the payload of every message of an event stream; the checksums must hold."""
    while raw:
        total, heads, check = struct.unpack("!III", raw[:12])
        message, raw = raw[:total], raw[total:]
        assert check == crc32(message[:8])
        assert struct.unpack("!I", message[-4:])[0] == crc32(message[:-4])
        names, front = {}, message[12 : 12 + heads]
        while front:
            name, front = front[1 : 1 + front[0]], front[1 + front[0] :]
            kind, size = struct.unpack("!BH", front[:3])
            assert kind == 7, "a string"
            names[name.decode()], front = front[3 : 3 + size].decode(), front[3 + size :]
        yield names[":event-type"], json.loads(message[12 + heads : -4])


def sent(reply):
    """The message of a reply as the host kept it."""
    return reply["output"]["message"]


def forget(message):
    """What is left of a message when the client forgets reasoning."""
    return {**message, "content": [block for block in message["content"] if "reasoningContent" not in block]}


def results_of(message, answer):
    """The results that answer a message's calls, in one user message."""
    ids = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
    results = [{"toolResult": {"toolUseId": i, "content": [{"text": answer}]}} for i in ids]
    return [{"role": "user", "content": results}] if results else []
