"""The README's one retry around LiteLLM, sync and async, whole and through the callback, at a strict host."""

import pytest

litellm = pytest.importorskip("litellm")

from one_loop import run
from reasoning_replay import Origin, Policy, adopt
from reasoning_replay.litellm import ReasoningReplay
from reasoning_replay.testing import aliases
from reasoning_replay.transcripts import repair

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.moves_prefix(reason="a history is changed, to be refused"),
]
THINKING = {"type": "enabled", "budget_tokens": 1024}


@pytest.fixture
def host(strict_hosts):
    host = strict_hosts("anthropic", steps=0)
    callback = ReasoningReplay(Policy(aliases=aliases([host])))
    litellm.callbacks.append(callback)
    yield host
    callback.uninstall()


def stored(host):
    block = {"type": "thinking", "thinking": "They mean Oslo.", "signature": "b2YgYW5vdGhlciBhY2NvdW50"}
    rows = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "It is 3C.", "thinking_blocks": [block]},
        {"role": "user", "content": "And tomorrow?"},
    ]
    return adopt(rows, Origin(host.url, dialect="anthropic", model=host.model), form="litellm")


def healed(host, messages, call, error):
    done = repair(
        messages, host=host.url, model=host.model, dialect="anthropic", form="litellm",
        policy=Policy(aliases=aliases([host])), request=call, error=error,
    )  # fmt: skip
    if not done.changed:
        raise error
    return done


def complete(host, messages, **call):
    try:
        return litellm.completion(messages=messages, **call)
    except litellm.BadRequestError as error:
        done = healed(host, messages, call, error)
    return litellm.completion(messages=done.messages, **done.request)


async def acomplete(host, messages, **call):
    try:
        return await litellm.acompletion(messages=messages, **call)
    except litellm.BadRequestError as error:
        done = healed(host, messages, call, error)
    return await litellm.acompletion(messages=done.messages, **done.request)


WAYS = {"sync": complete, "async": lambda *args, **call: run(acomplete(*args, **call))}


def call(host):
    return {
        "model": f"anthropic/{host.model}",
        "api_base": host.url,
        "api_key": "k",
        "max_tokens": 2048,
        "max_retries": 0,
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_that_litellm_raises_is_repaired_and_sent_once_more(host, way):
    reply = WAYS[way](host, stored(host), **call(host), thinking=THINKING)
    assert [400, 200] == [request.status for request in host.requests]
    assert "stop" == reply.choices[0].finish_reason
    assert [] == [
        block
        for row in host.last.messages
        for block in row["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    ]


@pytest.mark.parametrize("way", WAYS)
def test_an_unrelated_error_is_raised_as_litellm_raised_it(host, way):
    with pytest.raises(litellm.BadRequestError, match="Extra inputs are not permitted"):
        WAYS[way](host, stored(host)[:2], **call(host), extra_body={"foo": 1})
    assert [400] == [request.status for request in host.requests]


def test_mistrals_status_comes_through_litellm(strict_hosts):
    """422 there; what LiteLLM raises is read by its words, whatever status it puts over them."""
    host = strict_hosts("mistral")
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "reasoning": "CANARY-x"},
        {"role": "user", "content": "z"},
    ]
    messages = adopt(messages, Origin(host.url, model=host.model))
    about = {"model": f"openai/{host.model}", "api_base": host.url, "api_key": "k", "max_retries": 0}
    bare = [{key: value for key, value in row.items() if key != "provider_specific_fields"} for row in messages]
    with pytest.raises(litellm.BadRequestError) as caught:
        litellm.completion(messages=bare, **about)
    done = repair(messages, host=host.url, model=host.model, policy=Policy(aliases=aliases([host])), error=caught.value)
    assert ("refused", True) == (done.means, done.changed)
    assert "CANARY" not in repr(done.messages)
