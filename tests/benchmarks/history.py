"""The conversation that every figure uses: an agent at work, with sizes that are a guess at a usual one."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

STEPS = 4  # tool calls in a turn
TEXTS = {"reasoning": 600, "answer": 200, "result": 300, "question": 120}  # characters

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather now.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def text(kind: str, at: int) -> str:
    words = f"{kind} {at}: the forecast for Oslo says that it is three degrees and \u201cclear\u201d. "
    return (words * (TEXTS[kind] // len(words) + 1))[: TEXTS[kind]]


def call(at: int) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "",
        "reasoning_content": text("reasoning", at),
        "tool_calls": [
            {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    }


def endless():
    for at in count(step=STEPS + 1):
        yield {"role": "user", "content": text("question", at)}
        for step in range(at, at + STEPS):
            yield call(step)
            yield {"role": "tool", "tool_call_id": f"call_{step}", "content": text("result", step)}
        yield {
            "role": "assistant",
            "content": text("answer", at),
            "reasoning_content": text("reasoning", at + STEPS),
        }


def history(messages: int) -> list[dict[str, Any]]:
    """So many messages; the last one is the user's."""
    return [*islice(endless(), messages - 1), {"role": "user", "content": text("question", messages)}]
