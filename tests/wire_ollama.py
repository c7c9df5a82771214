"""Ollama's own dialect as a plain client speaks it."""

import json

from wire_chat import TOOLS, forget  # noqa: F401 - a client offers `forget`


def body_for(history):
    """A request with tools and thinking on; Ollama streams unless told not to."""
    return {"messages": history, "tools": TOOLS, "think": True, "stream": False}


def message_of(response):
    """The message of a whole reply or of its lines."""
    if not response.headers["content-type"].startswith("application/x-ndjson"):
        return response.json()["message"]
    message = {"role": "assistant", "content": ""}
    for line in response.text.splitlines():
        part = json.loads(line)["message"]
        for key in ("content", "thinking"):
            if key in part:
                message[key] = message.get(key, "") + part[key]
        if "tool_calls" in part:
            message["tool_calls"] = [*message.get("tool_calls", []), *part["tool_calls"]]
    return message


def sent(reply):
    """The message of a reply as the host kept it."""
    return reply["message"]


def results_of(message, answer):
    """The tool results by name: old clients send no id."""
    calls = message.get("tool_calls") or []
    return [{"role": "tool", "tool_name": call["function"]["name"], "content": answer} for call in calls]
