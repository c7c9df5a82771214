"""The LiteLLM Proxy as it is started by people, clients in front of it, strict hosts behind it."""

from __future__ import annotations

import json

import pytest

from proxy_client import Chat, Claude, Items
from proxy_server import MODELS
from reasoning_replay import Origin
from reasoning_replay._origin import MARK, from_mark, to_mark
from reasoning_replay.forms import PSF

THINK = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
WAYS = {
    "chat to DeepSeek": (Chat, "deepseek", {}),
    "chat to Kimi": (Chat, "kimi", {}),
    "chat to Claude": (Chat, "claude", THINK),
    "chat to OpenRouter": (Chat, "openrouter", {}),
    "chat to Groq": (Chat, "groq", {}),
    "messages to Claude": (Claude, "claude", {}),
    "messages to Kimi": (Claude, "kimi", {}),
    "responses to OpenAI": (Items, "gpt", {}),
    "responses to DeepSeek": (Items, "deepseek", {}),
}
"""How a client calls -> its dialect, the model, what else it sends."""
QUICK = ("chat to DeepSeek", "messages to Claude", "responses to OpenAI")
EVERY = pytest.mark.parametrize(
    ("talk", "model", "options"),
    [pytest.param(*way, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, way in WAYS.items()],
)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def marks(value):
    if isinstance(value, dict):
        own = [value[MARK]] if MARK in value else []
        return own + [mark for each in value.values() for mark in marks(each)]
    return [mark for each in value for mark in marks(each)] if isinstance(value, list) else []


def same_bytes(raw):
    """A body but for the order of keys, which is the client's."""
    return json.dumps(json.loads(raw), sort_keys=True)


@EVERY
@STREAMED
def test_a_client_that_keeps_everything_goes_on_and_sees_no_name(proxy, talk, model, options, stream):
    conversation, host = talk(proxy, model, stream=stream, **options), proxy.hosts[MODELS[model]]
    conversation.say("weather?")
    answers = [conversation.ask() for _ in range(3)]
    conversation.say("and tomorrow?")
    answers.append(conversation.ask())

    assert [] == host.refusals
    assert host.requests
    assert 0 == answers[0].counts["kept"] < answers[1].counts["kept"]
    assert [0] * 4 == [answer.counts["restored"] for answer in answers]
    for answer in answers:
        assert host.name.encode() not in answer.raw
    for mark in marks(conversation.history):
        assert {"id", "v"} == {*mark}
        assert from_mark(mark) is None


@EVERY
@STREAMED
def test_what_a_client_drops_reaches_the_host_as_if_it_had_not(proxy, talk, model, options, stream):
    conversation, host = talk(proxy, model, stream=stream, **options), proxy.hosts[MODELS[model]]
    conversation.say("weather?")
    for step in range(4):
        if step == 3:
            conversation.say("and tomorrow?")
        dropped = conversation.send(conversation.bare())
        assert 200 == dropped.status, dropped.raw
        whole = host.last.raw
        kept = conversation.ask()
        assert kept.counts["kept"] == dropped.counts["kept"] + dropped.counts["restored"]
        assert same_bytes(host.last.raw) == same_bytes(whole)
        assert dropped.counts["restored"] > 0 or step in (0, 3)
    assert [] == host.refusals


def test_a_plain_mark_from_a_client_opens_no_door(proxy):
    """And neither does a good one on other words."""
    conversation, host = Chat(proxy, "kimi"), proxy.hosts["moonshot"]
    conversation.say("weather?")
    conversation.ask()
    plain = to_mark(Origin.from_url(host.url, model=host.model))
    for mark in (plain, *marks(conversation.history)):
        words = {"role": "assistant", "content": "so", "reasoning_content": "CANARY-stolen", PSF: {MARK: mark}}
        answer = conversation.send([*conversation.history, words, {"role": "user", "content": "and now?"}])
        assert 200 == answer.status
        assert b"CANARY-stolen" not in host.last.raw


def test_another_tenant_gets_nothing_and_nobody_gets_nothing_either(proxy):
    alice = Chat(proxy, "kimi")
    alice.say("weather?")
    alice.ask()
    for key, restored in ((alice.key, 1), (proxy.fresh_key(), 0), (proxy.key("nobody"), 0), (alice.key, 1)):
        other = Chat(proxy, "kimi", key, user="alice", metadata={"user_api_key_user_id": "alice"})
        assert restored == other.send(alice.bare()).counts["restored"]
