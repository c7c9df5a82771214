"""What it costs to tell a history by what everybody can see, and to restore it, against `json.dumps` of the same history.

    python tests/benchmarks/bench_recall.py

CPU time, best of sixty rounds, for histories whose client has dropped all reasoning and for ones that kept it.
"""

from __future__ import annotations

import json
import time
import timeit
from typing import Any

from history import history

from reasoning_replay import MemoryStore, capture, prepare
from reasoning_replay.forms import PSF, form_of

SIZE = 1000


def best(work) -> float:
    return min(timeit.repeat(work, timer=time.thread_time, number=1, repeat=60)) * 1000


def arguments_of(call: dict[str, Any]) -> Any:
    return json.loads(call["function"]["arguments"])


def claude(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"role": "user", "content": [result]}
    blocks = []
    if "reasoning_content" in message:
        blocks.append({"type": "thinking", "thinking": message["reasoning_content"], "signature": "s" * 200})
    if message["content"] != "":
        blocks.append({"type": "text", "text": message["content"]})
    blocks += [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments_of(call)}
        for call in message.get("tool_calls", ())
    ]
    return {"role": message["role"], "content": blocks}


def responses(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    items: list[dict[str, Any]] = []
    if "reasoning_content" in message:
        sealed = message["reasoning_content"]
        items.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed})
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    if message["content"] != "":
        part = {"type": kind, "text": message["content"]}
        items.append({"type": "message", "role": message["role"], "content": [part]})
    items += [
        {"type": "function_call", "call_id": call["id"], **call["function"]} for call in message.get("tool_calls", ())
    ]
    return items


def langchain(message: dict[str, Any]) -> dict[str, Any]:
    kinds = {"user": "human", "assistant": "ai", "tool": "tool"}
    text = message.get("reasoning_content")
    row = {
        "type": kinds[message["role"]],
        "content": message["content"],
        "additional_kwargs": {} if text is None else {"reasoning_content": text},
        "response_metadata": {},
        "name": None,
        "id": None,
    }
    if message["role"] == "tool":
        return {**row, "tool_call_id": message["tool_call_id"], "status": "success"}
    if message["role"] == "assistant":
        row |= {"invalid_tool_calls": [], "tool_calls": [
            {"name": call["function"]["name"], "args": arguments_of(call), "id": call["id"], "type": "tool_call"}
            for call in message.get("tool_calls", ())
        ]}  # fmt: skip
    return row


WRITTEN = {
    "litellm": list,
    "anthropic": lambda messages: list(map(claude, messages)),
    "responses": lambda messages: [item for message in messages for item in responses(message)],
    "langchain": lambda messages: list(map(langchain, messages)),
}


def main() -> None:
    kept = history(SIZE)
    dropped = [{key: value for key, value in each.items() if key != "reasoning_content"} for each in kept]
    for form, write in WRITTEN.items():
        said = form_of(form).recall.said
        for name, messages in (("dropped", write(dropped)), ("kept", write(kept))):
            dumps = best(lambda messages=messages: json.dumps(messages))
            told = best(lambda messages=messages, said=said: said(messages))
            times = f"dumps {dumps:.2f} ms, said {told:.2f} ms: {told / dumps:.2f}"
            print(f"{form:10} {len(messages):5} rows, reasoning {name:8} {times}")
    restoring(kept, dropped)


def restoring(kept: list[dict[str, Any]], dropped: list[dict[str, Any]]) -> None:
    """`prepare` of a history of which every reply's reasoning is in the store, in memory."""
    store = MemoryStore()
    target: dict[str, Any] = {"host": "api.deepseek.com", "model": "deepseek-v4-pro", "request": {"tools": [{}]}}
    for at, message in enumerate(kept):
        if message["role"] == "assistant":
            plan = prepare(dropped[:at], known=store, **target)
            capture({key: message[key] for key in message if key != PSF}, plan.origin, known=store, after=plan)
    plan = prepare(dropped, known=store, **target)
    replies = sum(message["role"] == "assistant" for message in kept)
    assert plan.report.counts() == {"restore": replies}, plan.report.counts()
    dumps = best(lambda: json.dumps(dropped))
    restored = best(lambda: prepare(dropped, known=store, **target))
    bare = best(lambda: prepare(kept, **target))
    print(
        f"prepare, {replies} replies restored: {restored:.2f} ms, {restored / dumps:.2f} of dumps; nothing dropped, "
        f"no store: {bare:.2f} ms, {bare / dumps:.2f}"
    )


if __name__ == "__main__":
    main()
