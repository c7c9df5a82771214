"""One conversation for all judges: two turns with a tool each, of which the second is running, and a word in every reasoning.

user, R1 with a call, its result, R2 with the answer, user, R3 with a call, its result
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reasoning_replay import Origin, adopt, prepare

WORDS = ("RSN-ONE", "RSN-TWO", "RSN-THREE")
EARLIER, RUNNING = WORDS[:2], WORDS[2:]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def call(id_: str) -> dict[str, Any]:
    """A call as chat hosts write it."""
    return {"id": id_, "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


def conversation(key: str = "reasoning_content") -> list[dict[str, Any]]:
    """The conversation in the chat form, with reasoning under a key."""
    one, two, three = WORDS
    return [
        {"role": "user", "content": "How is the weather in Oslo?"},
        {"role": "assistant", "content": "", key: one, "tool_calls": [call("call00001")]},
        {"role": "tool", "tool_call_id": "call00001", "content": "3C"},
        {"role": "assistant", "content": "It is 3C.", key: two},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "", key: three, "tool_calls": [call("call00002")]},
        {"role": "tool", "tool_call_id": "call00002", "content": "4C"},
    ]


def sent(messages: list[Any], url: str, model: str, *, foreign: bool = False, **more: Any) -> list[Any]:
    """What `prepare` sends of a history that was written at the host itself, or at another one."""
    written_at = "https://elsewhere.example/v1" if foreign else url
    origin = Origin.from_url(written_at, model=model, dialect=more.get("dialect", "chat"))
    marked = adopt(messages, origin, form=more.get("form"))
    return prepare(
        marked, host=Origin.from_url(url).host, model=model, **{"request": {"tools": TOOLS}, **more}
    ).messages


def without(messages: Iterable[Mapping[str, Any]], *words: str) -> list[dict[str, Any]]:
    """The messages without the reasoning of some words."""
    return [
        {key: value for key, value in message.items() if not any(word in json.dumps(value) for word in words)}
        for message in messages
    ]


def seen(prompt: str) -> list[str]:
    """The words in a prompt, in their order."""
    return sorted((word for word in WORDS if word in prompt), key=prompt.index)
