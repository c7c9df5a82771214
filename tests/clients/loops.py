"""Real SDK clients in a tool loop: `openai` (chat and Responses) and `anthropic`, streaming or not, in five manners.

`keeps` sends back everything that it received, `unmarks` all but our marks, `unseals` the readable reasoning alone (as pi,
opencode and Codex do), `drops` only what everybody can see (role, text, calls, results), and `rewrites` drops and writes
anew what it keeps, as editors do: other ids, JSON spacing, `""`.
A client is one conversation. It knows a base URL, a key and a model, and no host.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import anthropic
import litellm
import openai

litellm.suppress_debug_info = True  # putting chunks together prints a line a chunk

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "step": {"type": "integer"}}}
MANNERS = ("keeps", "unmarks", "unseals", "drops", "rewrites")
WHOLE = ("keeps", "unmarks")
SLIP = "async_"
"""LiteLLM 1.110.2 writes the Python name of OpenAI's new key `async` into whole Responses replies; hosts refuse it."""
LONGEST = 40
"""More steps than any story of these tests has."""


class Client:
    """One conversation of one client; `self.history` is what it would save."""

    tools: ClassVar[list[dict[str, Any]]]

    def __init__(self, url, key, model, *, manner="keeps", stream=False, **more):
        self.url, self.key, self.model = url, key, model
        self.manner, self.stream, self.more = manner, stream, more
        self.history: list[dict[str, Any]] = []
        self.replies: list[Any] = []
        self.headers: list[Any] = []

    def ask(self, text):
        """One user turn: the loop to its end. Gives the number of requests."""
        self.history.append({"role": "user", "content": text})
        for number in range(1, LONGEST):
            if not self.step():
                return number
        raise AssertionError("the loop has no end")

    def step(self):
        """One request; appends the reply and the results of its calls. Whether there were any."""
        raise NotImplementedError

    def close(self):
        """Closes the SDK's client."""
        self.sdk.close()

    def whole(self, received):
        """What a client keeps that keeps reasoning: everything, or all but our marks."""
        return received if self.manner == "keeps" else unmarked(received)

    def renamed(self, id):
        """An id of the client's own for a call's id."""
        return f"own-{id[::-1]}" if self.manner == "rewrites" else id

    def _common(self, http):
        """What both SDKs take."""
        seen = {"response": [lambda reply: self.headers.append(reply.headers)]}
        return {"api_key": self.key, "max_retries": 0, "http_client": http(event_hooks=seen, timeout=60)}


def unmarked(value):
    """A JSON value without any key of ours, wherever it stands, and without what that leaves empty."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    bare = {key: unmarked(each) for key, each in value.items() if key != "reasoning_replay"}
    return {key: each for key, each in bare.items() if each != {} or value[key] == {}}


def spaced(arguments):
    """The arguments of a call as another JSON writer has them."""
    return json.dumps(dict(reversed(json.loads(arguments).items())), indent=1)


def answer_to(arguments):
    """What the tool says: the same to the same arguments."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    return f"{given['city']}: 3C"


class Chat(Client):
    """`client.chat.completions.create`."""

    tools: ClassVar = [
        {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": CITY}}
    ]

    def __init__(self, url, key, model, **options):
        super().__init__(url, key, model, **options)
        self.sdk = openai.OpenAI(base_url=f"{url}/v1", **self._common(openai.DefaultHttpxClient))

    def step(self):
        message = self._message()
        self.replies.append(message)
        self.history.append(self._kept(message))
        calls = list(self.history[-1].get("tool_calls") or [])
        for call in calls:
            said = answer_to(call["function"]["arguments"])
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": said})
        return bool(calls)

    def _message(self):
        asked = {"model": self.model, "messages": self.history, "tools": self.tools, **self.more}
        if not self.stream:
            reply = self.sdk.chat.completions.create(**asked)
            return reply.choices[0].message.model_dump(exclude_unset=True)
        chunks = [
            chunk.model_dump(exclude_unset=True) for chunk in self.sdk.chat.completions.create(**asked, stream=True)
        ]
        whole = litellm.stream_chunk_builder([litellm.ModelResponseStream(**chunk) for chunk in chunks])
        return whole.choices[0].message.model_dump(exclude_none=True)

    def _kept(self, message):
        if self.manner in WHOLE:
            return self.whole(message)
        kept = {"role": "assistant", "content": message.get("content")}
        if self.manner == "unseals":
            kept |= {key: message[key] for key in ("reasoning_content",) if key in message}
        calls = [
            {
                "id": self.renamed(call["id"]),
                "type": "function",
                "function": {k: call["function"][k] for k in ("name", "arguments")},
            }
            for call in message.get("tool_calls") or []
        ]
        if self.manner == "rewrites":
            for call in calls:
                call["function"]["arguments"] = spaced(call["function"]["arguments"])
            kept = {"content": kept["content"] or "", "role": "assistant"}
        return kept | {"tool_calls": calls} if calls else kept


class Messages(Client):
    """`client.messages.create` and `client.messages.stream`."""

    tools: ClassVar = [{"name": "get_weather", "description": "Weather", "input_schema": CITY}]

    def __init__(self, url, key, model, **options):
        super().__init__(url, key, model, **options)
        self.more = {"max_tokens": 4096, **self.more}
        self.sdk = anthropic.Anthropic(base_url=url, **self._common(anthropic.DefaultHttpxClient))

    def step(self):
        blocks = self._blocks()
        self.replies.append(blocks)
        kept = [self._kept(block) for block in blocks if self._keeps(block)]
        self.history.append({"role": "assistant", "content": kept})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": answer_to(block["input"])}
            for block in kept
            if block["type"] == "tool_use"
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return bool(results)

    def _keeps(self, block):
        readable = self.manner == "unseals" and block["type"] == "thinking"
        return self.manner in WHOLE or readable or "thinking" not in block["type"]

    def _blocks(self):
        asked = {"model": self.model, "messages": self.history, "tools": self.tools, **self.more}
        if not self.stream:
            return [block.model_dump(exclude_unset=True) for block in self.sdk.messages.create(**asked).content]
        with self.sdk.messages.stream(**asked) as stream:
            return [_plain(block) for block in stream.get_final_message().content]

    def _kept(self, block):
        if self.manner in WHOLE:
            return self.whole(block)
        kept = {key: block[key] for key in ("type", "text", "thinking", "id", "name", "input") if key in block}
        if block["type"] == "thinking":
            kept["signature"] = ""
        if self.manner == "rewrites" and block["type"] == "tool_use":
            kept |= {"id": self.renamed(block["id"]), "input": dict(reversed(block["input"].items()))}
            kept["cache_control"] = {"type": "ephemeral"}
        return kept


def _plain(block):
    """A streamed block without what the SDK adds for itself."""
    return {k: v for k, v in block.model_dump(exclude_unset=True).items() if k not in ("parsed_output", "partial_json")}


class Responses(Client):
    """`client.responses.create`; the client keeps the history itself."""

    tools: ClassVar = [
        {"type": "function", "name": "get_weather", "description": "Weather", "parameters": CITY, "strict": False}
    ]

    def __init__(self, url, key, model, **options):
        super().__init__(url, key, model, **options)
        self.sdk = openai.OpenAI(base_url=f"{url}/v1", **self._common(openai.DefaultHttpxClient))

    def step(self):
        items = self._items()
        self.replies.append(items)
        kept = [self._kept(item) for item in items if self.manner in (*WHOLE, "unseals") or item["type"] != "reasoning"]
        self.history += kept
        calls = [item for item in kept if item.get("type") == "function_call"]
        for call in calls:
            said = answer_to(call["arguments"])
            self.history.append({"type": "function_call_output", "call_id": call["call_id"], "output": said})
        return bool(calls)

    def _items(self):
        asked = {"model": self.model, "input": self.history, "tools": self.tools, "store": False, **self.more}
        if not self.stream:
            reply = self.sdk.responses.create(**asked)
        else:
            events = list(self.sdk.responses.create(**asked, stream=True))
            reply = next(event.response for event in events if event.type == "response.completed")
        items = [item.model_dump(exclude_unset=True) for item in reply.output]
        return [{key: value for key, value in item.items() if key != SLIP} for item in items]

    def _kept(self, item):
        if self.manner in WHOLE:
            return self.whole(item)
        readable = ("summary",) if self.manner == "unseals" else ()
        shown = {key: value for key, value in item.items() if key in (*SHOWN, *readable) and value is not None}
        if self.manner == "rewrites" and item["type"] == "function_call":
            shown |= {"call_id": self.renamed(item["call_id"]), "arguments": spaced(item["arguments"])}
        elif self.manner == "rewrites":
            shown = {"role": "assistant", "content": "".join(part.get("text") or "" for part in item["content"])}
        return shown


SHOWN = ("type", "role", "content", "phase", "call_id", "name", "arguments")
"""What a Responses client keeps of an item that drops: neither ids nor states."""
CLIENTS = {"chat": Chat, "messages": Messages, "responses": Responses}
"""The proxy's route -> the client that drives it."""
