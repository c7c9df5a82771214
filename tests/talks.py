"""Conversations that a strict host really had: its own replies, marked by `capture`, after requests that it took.

The judge is called in this process with the bytes of a request, as its server would be; `over_http` sends them to a port.
What a reply, a result and a call look like in a dialect is told here by hand, or by the wire clients: never by the package.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from reasoning_replay import MemoryStore, Policy, capture, prepare
from reasoning_replay.testing import Reply, StrictHost, Text, call, sealed, think
from wire_bedrock import BEDROCK_TOOLS
from wire_chat import TOOLS
from wire_claude import CLAUDE_TOOLS
from wire_client import CLIENTS
from wire_gemini import GEMINI_TOOLS
from wire_responses import RESPONSES_TOOLS

MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}
KEYS = {"responses": "input", "gemini": "contents"}
CONSTANT = {
    "chat": {"tools": TOOLS},
    "anthropic": {"tools": CLAUDE_TOOLS, "max_tokens": 4096},
    "responses": {"tools": RESPONSES_TOOLS},
    "gemini": {"tools": GEMINI_TOOLS, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    "bedrock": {"toolConfig": {"tools": BEDROCK_TOOLS}, "inferenceConfig": {"maxTokens": 4096}},
    "ollama": {"tools": TOOLS, "think": True, "stream": False},
}


@dataclass(frozen=True)
class Case:
    """A strict host, how its history is written, and the models that take turns in it."""

    name: str
    kind: str
    models: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Model and what else its requests carry. None: the host's own model."""
    form: str | None = None
    system: bool = False
    """A system message stands first."""
    notes: bool = False
    """The host takes a user's message behind tools' results."""
    request: dict[str, Any] = field(default_factory=dict)


def claude(name: str, *models: str, more: dict[str, Any] = ADAPTIVE) -> Case:
    return Case(name, "anthropic", tuple((model, more) for model in models), notes=True)


CASES = (
    Case("deepseek", "deepseek", system=True, notes=True),
    Case("deepseek, LiteLLM's form", "deepseek", form="litellm", system=True),
    Case("deepseek v3.2", "deepseek-v3.2", system=True),
    Case("moonshot", "moonshot", system=True, notes=True),
    Case("groq", "groq", system=True),
    Case("cerebras", "cerebras", system=True),
    Case("mistral", "mistral", system=True),
    Case("openrouter claude 4.5", "openrouter", system=True),
    Case("openrouter claude 5.5", "openrouter", (("anthropic/claude-opus-5.5", {}),), system=True),
    Case("openrouter deepseek", "openrouter", (("deepseek/deepseek-v4-pro", {}),), form="litellm"),
    Case("fireworks", "fireworks"),
    Case("together", "together"),
    Case("ollama", "ollama", system=True, notes=True),
    claude("claude 4.5", "claude-sonnet-4-5", more=MANUAL),
    claude("claude 4.6", "claude-opus-4-6"),
    claude("claude 5.5", "claude-opus-5-5"),
    claude("claude sonnet 5.5", "claude-sonnet-5-5"),
    claude("claudes in turns", "claude-opus-4-6", "claude-opus-5-5", "claude-opus-5"),
    Case("responses", "openai-responses", request=STATELESS, system=True, notes=True),
    Case("responses, stored", "openai-responses", system=True),
    Case("responses at azure", "azure-responses", request=STATELESS),
    Case("responses at xai", "xai-responses", request=STATELESS),
    Case("gemini", "gemini"),
    Case("vertex", "vertex"),
    Case("converse claude 4.5", "bedrock", request={"additionalModelRequestFields": MANUAL}),
    Case("converse claude 5.5", "bedrock", (("us.anthropic.claude-opus-5-5-v1:0", {"additionalModelRequestFields": ADAPTIVE}),)),
)  # fmt: skip


class Refused(AssertionError):
    """The host refused a request of ours."""


class Talk:
    """A conversation with one strict host. Mutable: `history` grows."""

    def __init__(self, case: Case, host: StrictHost, draw: random.Random, *, over_http: bool = False) -> None:
        self.case, self.host, self.over_http = case, host, over_http
        self.random = draw
        self.policy = Policy(aliases=host.alias)
        self.history: list[Any] = []
        self.model, self.more = (case.models or ((host.model, {}),))[0]
        self.said = 0
        host.reset(script=lambda turn: self.next)

    # What a request is ----------------------------------------------------------------------------------------------

    @property
    def request(self) -> dict[str, Any]:
        return {**CONSTANT[self.host.dialect], **self.case.request, **self.more}

    @property
    def call(self) -> dict[str, Any]:
        """The arguments of `prepare` and `trim` besides the messages."""
        return {
            "host": self.host.url, "model": self.model, "dialect": self.host.dialect, "form": self.case.form,
            "request": self.request, "policy": self.policy, "known": MemoryStore(),
        }  # fmt: skip

    def sent(self, messages: list[Any]) -> tuple[Any, Any]:
        """The host's answer to these messages, and the plan."""
        plan = prepare(messages, **self.call)
        body = {**plan.request, KEYS.get(self.host.dialect, "messages"): plan.messages}
        path = urlsplit(self.host.endpoint).path.replace(quote(self.host.model, safe=""), quote(self.model, safe=""))
        if "{model}" not in self.host.judge.route:
            body["model"] = self.model
        else:
            path = urlsplit(self.host.url + self.host.judge.route.format(model=quote(self.model, safe=""))).path
        raw = json.dumps(body).encode()
        if self.over_http:
            answer = httpx.post(f"http://{self.host.name}{path}", content=raw, timeout=30, verify=False)
            return answer.status_code, answer.json(), plan
        answer = self.host._answer(path, {}, raw)
        return answer.status, json.loads(answer.body), plan

    def takes(self, messages: list[Any]) -> None:
        """The host takes these messages."""
        self.next = Reply((Text("ok"),))
        status, answer, _ = self.sent(messages)
        if status != 200:
            raise Refused(f"{self.case.name}: {json.dumps(answer)[:600]}")

    # What is said ---------------------------------------------------------------------------------------------------

    def user(self, words: str, **more: Any) -> None:
        dialect = self.host.dialect
        if dialect == "gemini":
            self.history.append({"role": "user", "parts": [{"text": words}], **more})
        else:
            self.history.append(
                {"role": "user", "content": [{"text": words}] if dialect == "bedrock" else words, **more}
            )

    def reply(self, *parts: Any) -> list[Any]:
        """One request and its reply; the results of its calls, which are not in the history yet."""
        self.next = Reply(tuple(parts))
        status, answer, plan = self.sent(self.history)
        if status != 200:
            raise Refused(f"{self.case.name}: {json.dumps(answer)[:600]}")
        made = capture(answer, plan.origin, form=self.case.form, known=self.call["known"], after=plan)
        self.history += made if isinstance(made, list) else [made]
        client = CLIENTS[self.host.dialect]
        return client.results_of({"items": made} if isinstance(made, list) else made, f"result {self.said} " * 3)

    def turn(self, steps: int | None = None, *, ends: bool = True) -> None:
        """A whole turn: a question, steps with calls, an answer. Not ended, it stops behind the last results."""
        draw = self.random
        self.said += 1
        if self.case.models:
            self.model, self.more = draw.choice(self.case.models)
        self.user(f"question {self.said} " + "word " * draw.choice([0, 3, 30]))
        for _ in range(draw.choice([0, 1, 1, 2, 3]) if steps is None else steps):
            calls = [call(city=f"Oslo-{draw.randrange(10**6)}") for _ in range(draw.choice([1, 1, 2, 3]))]
            self.history += self.reply(*self.lead(), *calls)
            if self.case.notes and draw.random() < 0.2:
                self.user(f"a note {self.said}", turn=False)
        if ends:
            self.reply(*self.lead(), Text(f"answer {self.said} " + "word " * draw.choice([0, 10])))

    def lead(self) -> tuple[Any, ...]:
        """What comes before a reply's calls or answer: thinking, sealed thinking, words between."""
        draw = self.random
        if draw.random() < 0.1 and self.more is not MANUAL:
            return ()
        text = "I think " * draw.choice([1, 10, 60])
        parts: tuple[Any, ...] = (think(),) if draw.random() < 0.5 else (think(f"{text}{draw.random()}"),)
        if draw.random() < 0.3:
            parts += (sealed(),)
        if draw.random() < 0.2:
            parts += (Text(f"let me see {draw.random()}"), think())
        return parts

    def tell(self, turns: int) -> list[Any]:
        """So many turns; the last one is open: a question alone, or a tool loop at the host's next word."""
        if self.case.system:
            self.history.append({"role": "system", "content": "be brief and kind"})
        for _ in range(turns):
            self.turn()
        if self.random.random() < 0.5:
            self.said += 1
            self.user(f"question {self.said}")
        else:
            self.turn(self.random.choice([1, 2]), ends=False)
        return self.history


# What a history says, by hand ------------------------------------------------------------------------------------------

BESIDE = frozenset({"provider_specific_fields", "reasoning_replay", "reasoning_content", "reasoning", "reasoning_details",
                    "thinking", "signature", "thoughtSignature", "thought_signature", "status"})  # fmt: skip
HIDDEN = ("thinking", "redacted_thinking", "reasoning")


def visible(value: Any) -> Any:
    """What can be seen of a message or item: no reasoning, no seals, no ids of items; None where there is nothing."""
    if isinstance(value, list):
        return [left for each in value if (left := visible(each)) is not None]
    if not isinstance(value, dict):
        return value
    if value.get("type") in HIDDEN or value.get("thought") is True or "reasoningContent" in value:
        return None
    left = {key: visible(each) for key, each in value.items() if key not in BESIDE}
    if value.get("type") in ("message", "function_call"):
        left.pop("id", None)
    return {key: each for key, each in left.items() if each not in (None, "", [])}


def _is_function(value: dict[str, Any]) -> bool:
    return value.get("type") == "function" and "id" in value


CALLS = (
    (_is_function, lambda value: value["id"]),
    (lambda value: value.get("type") == "tool_use", lambda value: value["id"]),
    (lambda value: value.get("type") == "function_call", lambda value: value["call_id"]),
    (lambda value: "toolUse" in value, lambda value: value["toolUse"]["toolUseId"]),
    (lambda value: "functionCall" in value, lambda value: value["functionCall"]["id"]),
)
RESULTS = (
    (lambda value: value.get("role") == "tool" and "tool_call_id" in value, lambda value: value["tool_call_id"]),
    (lambda value: value.get("type") == "tool_result", lambda value: value["tool_use_id"]),
    (lambda value: value.get("type") == "function_call_output", lambda value: value["call_id"]),
    (lambda value: "toolResult" in value, lambda value: value["toolResult"]["toolUseId"]),
    (lambda value: "functionResponse" in value, lambda value: value["functionResponse"]["id"]),
)
"""How each dialect names a call, and what answers it. Ollama names neither."""


def named(value: Any, names: tuple[Any, ...]) -> list[str]:
    """The ids of all calls, or of all results, in a value."""
    if isinstance(value, list):
        return [name for each in value for name in named(each, names)]
    if not isinstance(value, dict):
        return []
    own = [name(value) for is_one, name in names if is_one(value)]
    return own or [name for each in value.values() for name in named(each, names)]


def characters(messages: list[Any]) -> int:
    """A counter of a caller's own."""
    return sum(len(json.dumps(message)) for message in messages)


def copied(messages: list[Any]) -> list[Any]:
    return copy.deepcopy(messages)
