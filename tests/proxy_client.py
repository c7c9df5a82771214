"""A plain HTTP client of the proxy, in three dialects: what it sends, what it makes of a reply, and what it may drop.

`Talk` is one conversation: `ask` sends what stands there and takes the reply in. Streams are put together as SDKs do it.
"""

from __future__ import annotations

import copy
import json
from typing import Any

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
RESULT = "3C"


class Answer:
    """One reply as the client has it."""

    def __init__(self, status: int, headers: dict[str, str], raw: bytes) -> None:
        self.status, self.headers, self.raw = status, headers, raw

    @property
    def counts(self) -> dict[str, int]:
        """The header as numbers."""
        pairs = (pair.split("=") for pair in self.headers["x-reasoning-replay"].split(";"))
        return {name: int(number) for name, number in pairs}

    def events(self) -> list[dict[str, Any]]:
        lines = [line.removeprefix(b"data:").strip() for line in self.raw.splitlines() if line.startswith(b"data:")]
        return [json.loads(line) for line in lines if line != b"[DONE]"]


class Talk:
    """A conversation at one model. Mutable."""

    path = ""
    key_of_history = "messages"

    def __init__(self, proxy, model: str, key: str | None = None, *, stream: bool = False, **options: Any) -> None:
        self.proxy, self.model, self.stream = proxy, model, stream
        self.key = proxy.fresh_key() if key is None else key
        self.options = options
        self.headers: dict[str, str] = {}
        self.history: list[dict[str, Any]] = []

    def body(self, history: list[dict[str, Any]]) -> dict[str, Any]:
        return {"model": self.model, self.key_of_history: history, "stream": self.stream, **self.options}

    def send(self, history: list[dict[str, Any]] | None = None, **more: Any) -> Answer:
        """Sends a history (default: all that was said) and keeps nothing."""
        body = {**self.body(self.history if history is None else history), **more}
        return Answer(*self.proxy.post(self.path, body, self.key, **self.headers))

    def say(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def ask(self) -> Answer:
        """Sends all that was said, and takes in the reply and the results of its calls."""
        answer = self.send()
        assert answer.status == 200, answer.raw
        self.take(answer)
        return answer

    def take(self, answer: Answer) -> None:
        reply = self.put_together(answer.events()) if self.stream else self.whole(json.loads(answer.raw))
        self.history += reply
        self.history += self.results(reply)

    def bare(self) -> list[dict[str, Any]]:
        """The history as a client sends it that keeps nothing but what can be seen."""
        return [row for message in copy.deepcopy(self.history) for row in self.seen(message)]

    # By dialect

    def whole(self, reply: dict[str, Any]) -> list[dict[str, Any]]: ...
    def put_together(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]: ...
    def results(self, reply: list[dict[str, Any]]) -> list[dict[str, Any]]: ...
    def seen(self, message: dict[str, Any]) -> list[dict[str, Any]]: ...


class Chat(Talk):
    path = "/v1/chat/completions"

    def body(self, history):
        tool = {"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}
        return {**super().body(history), "tools": [tool]}

    def whole(self, reply):
        return [reply["choices"][0]["message"]]

    def put_together(self, events):
        message: dict[str, Any] = {}
        for delta in (choice["delta"] for event in events for choice in event["choices"]):
            _accumulate(message, delta)
        for call in message.get("tool_calls") or ():
            del call["index"]
        blocks = message.get("thinking_blocks")
        return [message if blocks is None else {**message, "thinking_blocks": _without_numbers(blocks)}]

    def results(self, reply):
        calls = reply[0].get("tool_calls") or ()
        return [{"role": "tool", "tool_call_id": call["id"], "content": RESULT} for call in calls]

    def seen(self, message):
        shown = ("role", "content", "tool_calls", "tool_call_id")
        return [{name: value for name, value in message.items() if name in shown}]


def _accumulate(there: dict[str, Any], delta: dict[str, Any]) -> None:
    """As OpenAI's SDK does it (3.57, `lib/streaming/_deltas.py`): strings add up, items of a list by their `index`."""
    for name, value in delta.items():
        old = there.get(name)
        if old is None or name in ("index", "type", "role"):
            there[name] = copy.deepcopy(value) if value is not None or name not in there else old
        elif isinstance(old, dict) and isinstance(value, dict):
            _accumulate(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            _accumulate_items(old, value)
        elif isinstance(old, str) and isinstance(value, str):
            there[name] = old + value


def _accumulate_items(there: list[Any], items: list[Any]) -> None:
    for item in items:
        same = [old for old in there if isinstance(item, dict) and old.get("index") == item.get("index") is not None]
        if same:
            _accumulate(same[0], item)
        else:
            there.append(copy.deepcopy(item))


def _without_numbers(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in block.items() if name != "index"} for block in blocks]


class Claude(Talk):
    path = "/v1/messages"

    def body(self, history):
        tool = {"name": "get_weather", "description": "", "input_schema": CITY}
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return {**super().body(history), "tools": [tool], "max_tokens": 4096, "thinking": thinking}

    def whole(self, reply):
        return [{"role": "assistant", "content": reply["content"]}]

    def put_together(self, events):
        blocks: list[dict[str, Any]] = []
        texts: dict[int, str] = {}
        for event in events:
            if event["type"] == "content_block_start":
                blocks.append(dict(event["content_block"]))
            elif event["type"] == "content_block_delta":
                _join_block(blocks[event["index"]], texts, event)
        for index, text in texts.items():
            blocks[index]["input"] = json.loads(text)
        return [{"role": "assistant", "content": blocks}]

    def results(self, reply):
        calls = [block for block in reply[0]["content"] if block["type"] == "tool_use"]
        told = [{"type": "tool_result", "tool_use_id": call["id"], "content": RESULT} for call in calls]
        return [{"role": "user", "content": told}] if told else []

    def seen(self, message):
        if isinstance(message["content"], str):
            return [message]
        hidden = ("thinking", "redacted_thinking")
        content = [block for block in message["content"] if block["type"] not in hidden]
        for block in content:
            block.pop("provider_specific_fields", None)
        return [{**message, "content": content}]


def _join_block(block: dict[str, Any], texts: dict[int, str], event: dict[str, Any]) -> None:
    for name, value in event["delta"].items():
        if name == "partial_json":
            texts[event["index"]] = texts.get(event["index"], "") + value
        elif name != "type":
            block[name] = (block.get(name) or "") + value


class Items(Talk):
    path = "/v1/responses"
    key_of_history = "input"

    def body(self, history):
        tool = {"type": "function", "name": "get_weather", "description": "", "parameters": CITY}
        asked = {"store": False, "include": ["reasoning.encrypted_content"]}
        return {**super().body(history), "tools": [tool], **asked}

    def whole(self, reply):
        return [_without_nulls(item) for item in reply["output"]]

    def put_together(self, events):
        done = [event["response"] for event in events if event["type"] == "response.completed"]
        return self.whole(done[0])

    def results(self, reply):
        calls = [item for item in reply if item["type"] == "function_call"]
        return [{"type": "function_call_output", "call_id": call["call_id"], "output": RESULT} for call in calls]

    def seen(self, message):
        if message.get("type") == "reasoning":
            return []
        names = ("provider_specific_fields", "id", "status")
        return [{name: value for name, value in message.items() if name not in names}]


def _without_nulls(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if value is not None}


TALKS = {"chat": Chat, "messages": Claude, "responses": Items}
