"""Many tenants at once through a proxy, every one of them with the same conversations, and a host that tells on crossings.

A request carries its number to the host (`max_tokens`); the reasoning of the reply carries that number back as a canary.
So the host's record says, for each request, whose reasoning came with it, and the plan of the load says whose should.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import httpx

from reasoning_replay.testing._server import Answer, Server

FIRST = 10_000
"""The number of the first request: as `max_tokens` it must look like one."""
APART = 1_000_000
RUNS = itertools.count()
"""Loads of one process: one has other numbers and other topics than the next, since a proxy remembers the last."""
CANARY = re.compile(rb"CANARY-load-(\d+)\.")
MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
NOBODY = "nobody"
KEYLESS = 37
"""Each request with such a number comes without a key, besides."""
TOOLS = [
    {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
    }
]


class Seen(NamedTuple):
    """What one request brought to the host."""

    number: int
    canaries: frozenset[int]
    status: int


class LoadHost:
    """DeepSeek's rule in its smallest form: in a running loop every assistant message brings reasoning, blank or not.

    Mutable: `seen` grows. It is quick, keeps no body, and calls a tool until a conversation has its steps.
    """

    def __init__(self, steps: int, *, strict: bool = True) -> None:
        self.steps, self.strict = steps, strict
        self.seen: list[Seen] = []
        self.faults: list[str] = []
        self._server = Server(self.answer, self._fault)

    @property
    def url(self) -> str:
        """The base URL for the proxy's configuration."""
        return f"http://127.0.0.1:{self._server.port}/v1"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop()

    def _fault(self, error: Exception) -> Answer:
        self.faults.append(f"{type(error).__name__}: {error}")
        return Answer(status=500, body=b"{}")

    def answer(self, path: str, headers: Any, raw: bytes) -> Answer:
        """One request. A strict host can be made to answer so, for a proxy that runs already."""
        body = json.loads(raw)
        number = body["max_tokens"]
        said = [message for message in body["messages"] if message["role"] == "assistant"]
        refused = self.strict and not all("reasoning_content" in message for message in said)
        status = 400 if refused else 200
        self.seen.append(Seen(number, frozenset(map(int, CANARY.findall(raw))), status))
        if status != 200:
            return Answer(
                status=400, body=json.dumps({"error": {"message": MISSING, "type": "invalid_request_error"}}).encode()
            )
        message = self._message(number, len(said) + 1)
        if body.get("stream"):
            return Answer(events=list(_chunks(message)))
        return Answer(body=json.dumps(_whole(message)).encode())

    def _message(self, number: int, step: int) -> dict[str, Any]:
        reasoning = {"reasoning_content": f"I think of CANARY-load-{number}. and of what to do.\n"}
        if step > self.steps:
            return {"role": "assistant", "content": "Done.", **reasoning}
        call = {
            "id": f"call_{step}",
            "type": "function",
            "function": {"name": "look", "arguments": json.dumps({"at": f"place {step}"})},
        }
        return {"role": "assistant", "content": None, **reasoning, "tool_calls": [call]}


HEAD = {"id": "chatcmpl-load", "created": 1790000000, "model": "deepseek-v4-pro"}
USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _finish(message):
    return "tool_calls" if "tool_calls" in message else "stop"


def _whole(message):
    choice = {"index": 0, "message": message, "finish_reason": _finish(message), "logprobs": None}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def _chunks(message):
    thought = message["reasoning_content"]
    deltas = [{"role": "assistant", "content": "", "reasoning_content": ""}]
    deltas += [{"reasoning_content": thought[at : at + 12]} for at in range(0, len(thought), 12)]
    deltas += [{"content": message["content"]}] if message["content"] else []
    deltas += [{"tool_calls": [{"index": 0, **call}]} for call in message.get("tool_calls", ())]
    for delta, finish in (*((delta, None) for delta in deltas), ({}, _finish(message))):
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        yield f"data: {json.dumps({**HEAD, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
    yield f"data: {json.dumps({**HEAD, 'object': 'chat.completion.chunk', 'choices': [], 'usage': USAGE})}\n\n"
    yield "data: [DONE]\n\n"


@dataclass(slots=True)
class Talk:
    """One conversation of one tenant, as a client keeps it that drops all reasoning. Mutable: it grows."""

    tenant: str
    topic: str
    history: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The requests that were answered, in order: whose canaries belong into the next one."""


@dataclass(slots=True)
class Ledger:
    """What the clients did. Mutable."""

    owner: dict[int, Talk] = field(default_factory=dict)
    wanted: dict[int, frozenset[int]] = field(default_factory=dict)
    """Request -> the canaries that it must bring."""
    statuses: dict[int, int] = field(default_factory=dict)
    keyless: int = 0
    """Requests without a key; the proxy refuses them."""

    def verdict(self, seen: list[Seen]) -> Verdict:
        """The ledger against the host's record."""
        crossed = wrong = missed = 0
        for request in seen:
            talk, wanted = self.owner[request.number], self.wanted[request.number]
            strange = request.canaries - wanted
            ours = sum(number in self.owner and self.owner[number].tenant == talk.tenant for number in strange)
            wrong, crossed = wrong + ours, crossed + len(strange) - ours
            missed += len(wanted - request.canaries)
        wants = sum(len(self.wanted[request.number]) for request in seen)
        failed = sum(status != 200 for status in self.statuses.values())
        return Verdict(len(self.statuses), crossed, wrong, missed, wants, failed, self.keyless)


class Verdict(NamedTuple):
    """The figures of one load."""

    requests: int
    crossed: int
    """Canaries of another tenant at the host."""
    wrong: int
    """Canaries of another conversation of the same tenant."""
    missed: int
    """Canaries that should have been restored and were not."""
    wanted: int
    """Restores that were due."""
    failed: int
    """Calls with a key that were not answered with 200."""
    keyless: int
    """Calls without a key that were refused."""


def spoofs(chance: random.Random, other: str, key: str, session: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What a client may claim in body and headers: another tenant's name, key, hash, user, team, and its session's name."""
    named = {"user_api_key": key, "user_api_key_hash": key, "user_api_key_user_id": other,
             "user_api_key_team_id": other, "tenant": other, "user_id": other}  # fmt: skip
    bodies = [{}, {"user": other}, {"metadata": named}, {"metadata": {**named, "session_id": session}}, {"litellm_metadata": named},
              {"prompt_cache_key": session}, {"litellm_session_id": session, "user": key}]  # fmt: skip
    headers = [{}, {"x-litellm-user-id": other, "x-tenant": other}, {"x-litellm-session-id": session},
               {"x-litellm-api-key-hash": key, "x-user-id": other, "x-litellm-tags": other},
               {"x-litellm-end-user-id": other, "x-reasoning-replay": f"tenant={other}"}]  # fmt: skip
    return chance.choice(bodies), chance.choice(headers)


class Load:
    """Conversations of many tenants, some at a time. A tenant `nobody` has nothing that could be restored."""

    def __init__(self, url, key, *, model="deepseek", seed=1, stream=0.5, at_once=24, patient=False, scattered=False):
        self.url, self.key, self.model = url, key, model
        self.chance, self.stream, self.at_once = random.Random(seed), stream, at_once
        self.patient = patient
        """Whether a request is sent again when its connection breaks: a worker was killed."""
        self.scattered = scattered
        """Whether each request has a connection of its own, so that any worker may get it."""
        self.ledger = Ledger()
        self._run = next(RUNS)
        self._next = FIRST + self._run * APART

    def run(self, tenants, topics, steps, *, on_step=None):
        """All topics of all tenants, in an order in which the tenants' equal conversations meet. Gives the ledger."""
        talks = [Talk(tenant, f"topic {topic} of {self._run}") for topic in range(topics) for tenant in tenants]
        asyncio.run(self._all(talks, tenants, steps, on_step))
        return self.ledger

    async def _all(self, talks, tenants, steps, on_step):
        rest = iter(talks)
        idle = 0 if self.scattered else self.at_once
        limits = httpx.Limits(max_connections=2 * self.at_once, max_keepalive_connections=idle)
        async with httpx.AsyncClient(timeout=120, limits=limits) as http:

            async def worker():
                for talk in rest:
                    await self._talk(http, talk, tenants, steps, on_step)

            await asyncio.gather(*(worker() for _ in range(self.at_once)))

    async def _talk(self, http, talk, tenants, steps, on_step):
        talk.history.append({"role": "user", "content": f"Look around for {talk.topic}."})
        for _ in range(steps + 1):
            if on_step is not None:
                on_step(len(self.ledger.statuses))
            if self._next % KEYLESS == 0:
                await self._keyless(http, talk)
            message = await self._ask(http, talk, tenants)
            if message is None:
                return
            talk.history.append(message)
            talk.history += [
                {"role": "tool", "tool_call_id": call["id"], "content": "seen"}
                for call in message.get("tool_calls", ())
            ]

    async def _ask(self, http, talk, tenants):
        number, self._next = self._next, self._next + 1
        self.ledger.owner[number] = talk
        self.ledger.wanted[number] = frozenset() if talk.tenant == NOBODY else frozenset(talk.numbers)
        other = self.chance.choice(tenants)
        claims, headers = spoofs(self.chance, other, self.key(other), talk.topic)  # equal names in all tenants
        body = {"model": self.model, "messages": talk.history, "tools": TOOLS, "max_tokens": number, **claims}
        streamed = self.chance.random() < self.stream
        status, text = await self._post(
            http, {**body, "stream": streamed}, {**headers, "Authorization": f"Bearer {self.key(talk.tenant)}"}
        )
        self.ledger.statuses[number] = status
        if status != 200:
            return None
        talk.numbers.append(number)
        return _joined(text) if streamed else _bare(json.loads(text)["choices"][0]["message"])

    async def _keyless(self, http, talk):
        number, self._next = self._next, self._next + 1
        self.ledger.owner[number], self.ledger.wanted[number] = Talk("", "nobody's"), frozenset()
        status, _ = await self._post(
            http, {"model": self.model, "messages": talk.history, "tools": TOOLS, "max_tokens": number}, {}
        )
        self.ledger.keyless += status in (400, 401, 403)

    async def _post(self, http, body, headers):
        for attempt in range(20):
            try:
                reply = await http.post(f"{self.url}/v1/chat/completions", json=body, headers=headers)
            except httpx.TransportError:
                if not self.patient:
                    raise
                await asyncio.sleep(0.2 * (attempt + 1))
                continue
            return reply.status_code, reply.text
        return 0, ""


def _bare(message):
    """What a client that drops keeps of a message."""
    kept = {"role": "assistant", "content": message.get("content")}
    calls = [{"id": c["id"], "type": "function", "function": c["function"]} for c in message.get("tool_calls") or ()]
    return kept | {"tool_calls": calls} if calls else kept


def _joined(text):
    """The message of a stream's events, as a client keeps it that drops."""
    content, calls = "", {}
    for line in text.splitlines():
        if not line.startswith("data: {"):
            continue
        event = json.loads(line.removeprefix("data: "))
        for choice in event.get("choices") or ():
            content += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls") or ():
                call = calls.setdefault(
                    piece["index"],
                    {"id": piece["id"], "function": {"name": piece["function"]["name"], "arguments": ""}},
                )
                call["function"]["arguments"] += piece["function"].get("arguments") or ""
    return _bare({"content": content or None, "tool_calls": list(calls.values())})


STEPS = 9
"""Of a conversation: it has one request more."""
TENANTS = [f"tenant{number}" for number in range(9)]


def run(proxy, host, requests, *, on_step=None, **options):
    """Sends so many requests of ten tenants; the verdict, and how many a second."""
    tenants = [*TENANTS, NOBODY]
    load = Load(proxy.url, proxy.key, **options)
    before, start = len(host.seen), time.monotonic()
    ledger = load.run(tenants, requests // (len(tenants) * (STEPS + 1)), STEPS, on_step=on_step)
    return ledger.verdict(host.seen[before:]), requests / (time.monotonic() - start)


def is_right(verdict):
    """Nothing crossed, nothing mixed up, everything restored, no call failed."""
    return verdict._replace(requests=0, wanted=0, keyless=0) == (0,) * len(verdict)


def is_safe(verdict):
    """Nothing crossed, nothing mixed up, no call failed; what was missed is another matter."""
    return is_right(verdict._replace(missed=0))
