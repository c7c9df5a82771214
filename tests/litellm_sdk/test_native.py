"""Chat through LiteLLM at hosts that speak dialects of their own: Gemini, Vertex, Converse, Ollama."""

import json

import litellm
import pytest
from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

from litellm_calls import MANUAL, MODES, TOOLS, append, collected, run
from reasoning_replay import Origin, adopt
from reasoning_replay._known import default_store
from reasoning_replay.litellm import _callback, report_of
from reasoning_replay.testing import canaries_in, foreign_bytes

KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "aws_region_name": "us-east-1"}
CALLS = {
    "gemini": ("gemini/", {"api_key": "k", "reasoning_effort": "low"}),
    "vertex": ("vertex_ai/", {"vertex_project": "p", "vertex_location": "global", "reasoning_effort": "low"}),
    "bedrock": ("bedrock/converse/", {**KEYS, **MANUAL}),
    "ollama": ("ollama_chat/", {"reasoning_effort": "low"}),
}
"""Strict host -> LiteLLM's prefix, and what else a call carries."""
WAYS = ("sync", "async", "stream", "async stream", "router")
QUICK = ("sync", "async stream")
SHOW = "404 page not found"
"""LiteLLM asks Ollama first what a model can do, at an address that a strict host has not."""


def refusals(host):
    """What a host refused, but for that question."""
    host.requests[:] = [request for request in host.requests if request.refusal != SHOW]
    return host.refusals


@pytest.fixture(autouse=True)
def _token(monkeypatch):
    """Vertex asks Google for a token; there is no Google here."""

    async def later(*args, **kwargs):
        return "t", "p"

    monkeypatch.setattr(VertexBase, "_ensure_access_token", lambda *args, **kwargs: ("t", "p"))
    monkeypatch.setattr(VertexBase, "_ensure_access_token_async", later)


def named(host):
    prefix, more = CALLS[host.kind]
    return {"model": prefix + host.model, "api_base": host.url, "tools": TOOLS, **more}


def ask(way, host, messages):
    """A whole reply of a host, in one way."""
    if host.kind not in CALLS:
        return MODES[way](host, messages)
    call = {**named(host), "messages": messages}
    if way == "router":
        params = {key: value for key, value in named(host).items() if key != "tools"}
        group = litellm.Router([{"model_name": "group", "litellm_params": params}], num_retries=0)
        return group.completion(model="group", messages=messages, tools=TOOLS)
    if way == "stream":
        return litellm.stream_chunk_builder(list(litellm.completion(**call, stream=True)))
    if way == "async":
        return run(litellm.acompletion(**call))
    if way == "sync":
        return litellm.completion(**call)

    async def whole():
        return await collected(await litellm.acompletion(**call, stream=True))

    return litellm.stream_chunk_builder(run(whole()))


def question():
    return [{"role": "user", "content": "How is the weather?"}]


def restart(messages):
    """The messages as another process reads them: JSON, and nothing known."""
    default_store.cache_clear()
    return json.loads(json.dumps([m if isinstance(m, dict) else m.model_dump() for m in messages]))


@pytest.mark.parametrize("again", [False, True], ids=["in one process", "after a restart"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_a_tool_loop_is_whole(name, way, again, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = question()
    reply = ask(way, host, messages)
    while append(messages, reply):
        messages = restart(messages) if again else messages
        reply = ask(way, host, messages)
    assert [] == refusals(host) + host.lost()
    assert 0 < report_of(reply).counts()["keep"]
    messages.append({"role": "user", "content": "And tomorrow?"})
    append(messages, ask(way, host, messages))
    assert [] == refusals(host)


@pytest.mark.parametrize("way", QUICK)
@pytest.mark.parametrize("there", ["deepseek", "anthropic", *CALLS])
@pytest.mark.parametrize("here", CALLS)
def test_a_loop_that_moves_away_and_back_takes_nothing_along(here, there, way, strict_hosts, install):
    first, second = strict_hosts(here, steps=3), strict_hosts(there, steps=3)
    install(first, second)
    messages = question()
    for host in (first, second):
        append(messages, ask(way, host, messages))
    while append(messages, ask(way, first, messages)):
        pass
    assert [] == refusals(first) + refusals(second)


CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
FOREIGN = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{**CALL, "provider_specific_fields": {"thought_signature": "Q0FOQVJZLXNlYWxlZA=="}}],
    "reasoning_content": "CANARY-of-nobody",
    "thinking_blocks": [{"type": "thinking", "thinking": "CANARY-of-nobody", "signature": "Q0FOQVJZLXNlYWxlZA=="}],
    "provider_specific_fields": {"thought_signatures": ["Q0FOQVJZLXNlYWxlZA=="]},
}


@pytest.mark.parametrize("known", [True, False], ids=["foreign", "unknown"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_nothing_of_another_host_goes_along(name, way, known, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = [*question(), FOREIGN, {"role": "tool", "tool_call_id": "call_1", "content": "3C"}]
    ask(way, host, adopt(messages, Origin("elsewhere.example"), form="litellm") if known else messages)
    assert [] == refusals(host) + canaries_in(host.last.raw.decode())
    assert b"Q0FOQVJZ" not in host.last.raw
    assert b"provider_specific_fields" not in host.last.raw


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["gemini", "vertex", "ollama"])
def test_what_layer_1_would_send_to_its_host_does_not_go_to_another(name, way, strict_hosts, install, monkeypatch):
    first, second = strict_hosts(name, steps=3), strict_hosts(name, steps=3)
    install(first, second)
    messages = question()
    append(messages, ask(way, first, messages))
    monkeypatch.setattr(_callback, "predicted_url", lambda *arguments: first.url)
    ask(way, second, messages)
    assert [] == refusals(second) + foreign_bytes([first, second])


@pytest.mark.faulty(reason="that is what is tried")
def test_where_a_fault_hides_the_plan_the_body_is_stripped(strict_hosts, install, monkeypatch):
    host = strict_hosts("gemini")
    install(host)
    messages = question()
    append(messages, ask("sync", host, messages))
    monkeypatch.setattr(_callback, "host_at", lambda url: 1 / 0)
    monkeypatch.setattr(_callback, "carrier_of", lambda *names: 1 / 0)
    ask("sync", host, messages)
    assert [] == canaries_in(host.last.raw.decode())
