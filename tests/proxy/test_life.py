"""The proxy's life: hosts that fail, clients that go, processes that are killed."""

from __future__ import annotations

import contextlib
import http.client
import json

import pytest

from proxy_client import Chat, Claude, Items
from proxy_server import MODELS, check, running_proxy
from reasoning_replay.testing import Reply
from reasoning_replay.testing._script import agent

pytestmark = pytest.mark.slow
THINK = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
ALL = {
    "chat to Kimi": (Chat, "kimi", {}),
    "chat to Claude": (Chat, "claude", THINK),
    "messages to Claude": (Claude, "claude", {}),
    "messages to Kimi": (Claude, "kimi", {}),
    "responses to OpenAI": (Items, "gpt", {}),
    "responses to DeepSeek": (Items, "deepseek", {}),
}
EVERY = pytest.mark.parametrize(("talk", "model", "options"), ALL.values(), ids=ALL)


def down_at(*steps):
    """A script: the usual agent of four steps, out of order at some requests."""
    asked = []

    def answer(seen):
        asked.append(seen.step)
        return Reply((), status=503) if len(asked) in steps else agent(4)(seen)

    return answer


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("drops", [False, True], ids=["keeps", "drops"])
def test_a_fallback_in_the_middle_of_a_loop_and_back(proxy, stream, drops):
    """DeepSeek is down at the second request: Kimi answers it and sees nothing of DeepSeek's, then each has its own back."""
    deepseek, kimi = proxy.hosts["deepseek"], proxy.hosts["moonshot"]
    deepseek.reset(script=down_at(2))
    kimi.reset(steps=9)
    conversation = Chat(proxy, "either", stream=stream)
    conversation.say("weather?")
    for _ in range(4):
        answer = conversation.send(conversation.bare() if drops else None)
        assert 200 == answer.status, answer.raw
        conversation.take(answer)
    assert [200, 503, 200, 200] == [request.status for request in deepseek.requests]
    assert [200] == [request.status for request in kimi.requests]
    replies = [message for message in conversation.history if message["role"] == "assistant"]
    first, second = (message["reasoning_content"] for message in replies[:2])
    sent = deepseek.last.raw.decode()
    assert (True, False) == (first in sent, second in sent)


def test_a_header_says_what_became_of_a_call_that_failed(proxy):
    kimi = proxy.hosts["moonshot"]
    conversation = Chat(proxy, "kimi")
    conversation.say("weather?")
    conversation.ask()
    kimi.reset(script=lambda seen: Reply((), status=503))
    answer = conversation.send()
    assert 503 == answer.status
    assert 1 == answer.counts["kept"]


@pytest.mark.parametrize(
    ("talk", "model", "options"), [ALL["chat to Claude"], ALL["messages to Claude"], ALL["responses to OpenAI"]]
)
def test_a_client_that_goes_in_the_middle_of_a_stream_leaves_nothing_sealed(proxy, talk, model, options):
    host = proxy.hosts[MODELS[model]]
    conversation = talk(proxy, model, stream=True, **options)
    conversation.say("weather?")
    whole = conversation.send()
    conversation.say("again?")
    body = json.dumps(conversation.body(conversation.history))
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    connection.request(
        "POST", talk.path, body, {"authorization": f"Bearer {conversation.key}", "content-type": "application/json"}
    )
    with contextlib.suppress(OSError):
        connection.getresponse().read(200)
        connection.close()
    conversation.take(whole)
    assert 200 == conversation.send(conversation.bare()).status
    assert [] == host.refusals


@pytest.fixture(scope="module")
def own_proxy(proxy_process):
    """A second process in front of the same hosts, for tests that kill it."""
    with running_proxy(proxy_process.hosts) as process:
        yield process


@pytest.fixture
def mortal(own_proxy, request):
    for host in own_proxy.hosts.values():
        host.reset()
    before = len(own_proxy.log)
    yield own_proxy
    check(own_proxy, request.node, before)


def test_a_killed_proxy_goes_on_where_it_was(mortal):
    """After `kill -9` the file still has what clients drop."""
    talks = [talk(mortal, model, **options) for talk, model, options in ALL.values()]
    for conversation in talks:
        conversation.say("weather?")
        conversation.ask()
    mortal.restart()
    for conversation in talks:
        answer = conversation.send(conversation.bare())
        assert (200, True) == (answer.status, answer.counts["restored"] > 0), (conversation.path, conversation.model)


def test_a_process_with_an_empty_store_and_the_same_secret_knows_the_marks(mortal):
    talks = [talk(mortal, model, **options) for talk, model, options in ALL.values()]
    for conversation in talks:
        conversation.say("weather?")
        conversation.ask()
    mortal.restart(REASONING_REPLAY_STORE="memory")
    for conversation in talks:
        answer = conversation.send()
        assert (200, True) == (answer.status, answer.counts["kept"] > 0), (conversation.path, conversation.model)


def test_another_secret_makes_every_mark_worthless(mortal):
    mortal.restart(REASONING_REPLAY_STORE="memory", REASONING_REPLAY_SECRET="one secret of sixteen")
    talks = [talk(mortal, model, **options) for talk, model, options in ALL.values()]
    for conversation in talks:
        conversation.say("weather?")
        conversation.ask()
    mortal.restart(REASONING_REPLAY_STORE="memory", REASONING_REPLAY_SECRET="other secret of sixteen")
    for conversation in talks:
        answer = conversation.send()
        assert 0 == answer.counts["kept"], (conversation.path, conversation.model)


BAD = {
    "a store": ("REASONING_REPLAY_STORE", "postgres://x", "reasoning_replay.store: begins with 'postgres:'; allowed: sqlite:///path"),
    "a variable": ("REASONING_REPLAY_TENNANT", "key", "REASONING_REPLAY_TENNANT: not known; did you mean 'REASONING_REPLAY_TENANT'?"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value", "words"), BAD.values(), ids=BAD)
def test_a_proxy_with_a_bad_setting_does_not_start_and_says_why(proxy_process, name, value, words):
    with pytest.raises(RuntimeError) as told, running_proxy(proxy_process.hosts, **{name: value}):
        pass
    assert words in str(told.value)
