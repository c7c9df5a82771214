"""`with_reasoning_replay(model, retry_refused=True)`: exactly one more try, of a repaired history, and only where that helps."""

import asyncio
import pickle
from contextvars import copy_context
from typing import Any

import pytest

pytest.importorskip("langchain_anthropic")
pytest.importorskip("langchain_deepseek")

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_moonshot import ChatMoonshot

from langchain_calls import KEY, chat_anthropic, get_weather, run
from reasoning_replay import Policy
from reasoning_replay.langchain import report_of, with_reasoning_replay
from reasoning_replay.testing import aliases
from test_langchain_wrap import WAYS, deepseek

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # LangChain's classes warn by the dozen; ours go to a log
    pytest.mark.moves_prefix(reason="a history is changed, to be refused"),
]


def claude(host, *, retry=True, **more):
    model = chat_anthropic(host, **more)
    return with_reasoning_replay(model, Policy(aliases=aliases([host])), retry_refused=retry).bind_tools([get_weather])


def forged(message):
    """The reply with a signature that its host did not make; its mark says that it did."""
    blocks = [
        {**block, "signature": "Rm9yZ2Vk"} if isinstance(block, dict) and block.get("type") == "thinking" else block
        for block in message.content
    ]
    return message.model_copy(update={"content": blocks})


def talk(model, steps=2):
    history = [HumanMessage("How is the weather?")]
    for _ in range(steps):
        reply = model.invoke(history)
        history += [reply, *(ToolMessage("rain", tool_call_id=each["id"]) for each in reply.tool_calls)]
    return history


def broken(model, *rows):
    """A tool loop in which these rows are forged."""
    history = talk(model)
    return [forged(each) if at in rows else each for at, each in enumerate(history)]


async def _astreamed(model, history):
    return sum_of([chunk async for chunk in model.astream(history)])


def sum_of(chunks):
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


def events(model, history):
    stream = model.stream_events(history, version="v3")
    return stream.output if hasattr(stream, "output") else list(stream)[-1]


MODES = {
    "invoke": lambda model, history: model.invoke(history),
    "ainvoke": lambda model, history: run(model.ainvoke(history)),
    "stream": lambda model, history: sum_of(list(model.stream(history))),
    "astream": lambda model, history: run(_astreamed(model, history)),
    "batch": lambda model, history: model.batch([history])[0],
    "abatch": lambda model, history: run(model.abatch([history]))[0],
    "v3": events,
}


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_call_is_repaired_and_sent_once_more(strict_hosts, mode):
    host = strict_hosts("anthropic")
    model = claude(host)
    history = broken(model, 1)
    given = list(history)
    seen = len(host.requests)
    reply = MODES[mode](model, history)
    assert [400, 200] == [request.status for request in host.requests[seen:]]
    assert history == given
    assert all(new is old for new, old in zip(history, given, strict=True))
    if mode != "v3":  # its output is a message that LangChain made anew
        rows = report_of(reply).rows
        assert [(None, "guard", "retried", ("sealed",)), (1, "drop", "sealed", ("content.thinking",))] == [
            (row.index, row.action, row.reason, row.fields) for row in rows[:2]
        ]


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream", "astream", "batch"])
def test_a_second_refusal_is_passed_on_untouched(strict_hosts, mode):
    """Both replies are forged, and the host names one at a time."""
    host = strict_hosts("anthropic")
    model = claude(host)
    history = broken(model, 1, 3)
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`") as caught:
        MODES[mode](model, history)
    assert [400, 400] == [request.status for request in host.requests[seen:]]
    first, second = host.refusals[-2:]
    assert first != second
    below = caught.value
    while below is not None:  # the class's error, and the SDK's below it
        assert isinstance(below, anthropic.BadRequestError)
        assert second == below.body["error"]["message"]
        below = below.__context__


@pytest.mark.parametrize("mode", ["invoke", "astream"])
def test_without_the_word_a_refusal_is_raised_at_once(strict_hosts, mode):
    host = strict_hosts("anthropic")
    model = claude(host, retry=None)
    history = broken(model, 1)
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError):
        MODES[mode](model, history)
    assert [400] == [request.status for request in host.requests[seen:]]


def test_an_unrelated_refusal_is_not_tried_again(strict_hosts):
    host = strict_hosts("anthropic")
    history = talk(claude(host))
    model = claude(host, model_kwargs={"extra_body": {"foo": 1}})
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError, match="foo: Extra inputs are not permitted"):
        model.invoke(history)
    assert [400] == [request.status for request in host.requests[seen:]]


class BreaksOff(ChatAnthropic):
    """A class whose stream is refused after its first piece, in the words of a refusal."""

    def _stream(self, *args, **kwargs):
        for chunk in super()._stream(*args, **kwargs):
            yield chunk
            raise ValueError("Error code: 400 - messages.1.content.0: Invalid `signature` in `thinking` block")


class Refuses(ChatAnthropic):
    """The same before its first piece."""

    def _stream(self, *args, **kwargs):
        list(super()._stream(*args, **kwargs))
        raise ValueError("Error code: 400 - messages.1.content.0: Invalid `signature` in `thinking` block")
        yield


@pytest.mark.parametrize(("kind", "times"), [(BreaksOff, 1), (Refuses, 2)])
def test_nothing_is_tried_again_once_output_has_begun(strict_hosts, kind, times):
    host = strict_hosts("anthropic")
    history = talk(claude(host))
    bare = kind(
        base_url=host.url, model=host.model, api_key=KEY, max_retries=0, max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    model = with_reasoning_replay(bare, Policy(aliases=aliases([host])), retry_refused=True).bind_tools([get_weather])
    seen, chunks = len(host.requests), []
    with pytest.raises(ValueError, match="Invalid `signature`"):
        chunks.extend(model.stream(history[:3]))
    assert times == len(host.requests) - seen


# A class that hands its call on to another wrapped model ---------------------------------------------------------------


class HandsOn(ChatAnthropic):
    """The messages go on in a list of its own, as a class does that adds to them."""

    inner: Any = None
    often: int = 1

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        for _ in range(self.often):
            reply = self.inner.invoke(list(messages), **kwargs)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        for _ in range(self.often):
            reply = await asyncio.create_task(self.inner.ainvoke(list(messages), **kwargs))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for _ in range(self.often):
            chunks = list(self.inner.stream(list(messages), **kwargs))
        return iter([ChatGenerationChunk(message=chunk) for chunk in chunks])

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        for _ in range(self.often):
            chunks = [chunk async for chunk in self.inner.astream(list(messages), **kwargs)]
        for chunk in chunks:
            yield ChatGenerationChunk(message=chunk)


def handing_on(host, *, inner=True, often=1):
    policy = Policy(aliases=aliases([host]))
    below = with_reasoning_replay(chat_anthropic(host), policy, retry_refused=inner)
    above = HandsOn(
        base_url=host.url, model=host.model, api_key=KEY, max_retries=0, max_tokens=4096, inner=below, often=often,
        thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    return with_reasoning_replay(above, policy, retry_refused=True).bind_tools([get_weather])


def statuses(host, seen):
    return [request.status for request in host.requests[seen:]]


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def test_a_call_that_is_handed_on_in_another_list_has_one_retry_too(strict_hosts, mode, inner):
    """Two replies are forged, so that a second retry would be of use, and would be sent."""
    host = strict_hosts("anthropic")
    once, twice = broken(claude(host), 1), broken(claude(host), 1, 3)
    model = handing_on(host, inner=inner)
    seen = len(host.requests)
    MODES[mode](model, once)
    assert [400, 200] == statuses(host, seen)
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError):
        MODES[mode](model, twice)
    assert [400, 400] == statuses(host, seen)


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream", "astream"])
def test_a_class_that_asks_twice_has_one_retry_for_both(strict_hosts, mode):
    host = strict_hosts("anthropic")
    history = broken(claude(host), 1)
    model = handing_on(host, often=2)
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError):
        MODES[mode](model, history)
    assert [400, 200, 400] == statuses(host, seen)


@pytest.mark.parametrize("mode", ["batch", "abatch", "streams"])
def test_calls_beside_each_other_have_one_retry_each(strict_hosts, mode):
    host = strict_hosts("anthropic")
    history = broken(claude(host), 1)
    model = handing_on(host)
    seen = len(host.requests)
    if mode == "streams":
        list(zip(*(model.stream(history) for _ in range(3)), strict=False))
    else:
        all_of = model.batch if mode == "batch" else lambda given: run(model.abatch(given))
        all_of([history] * 3)
    assert [200] * 3 + [400] * 3 == sorted(statuses(host, seen))


def test_what_outlives_a_call_that_had_its_retry_has_one_of_its_own(strict_hosts):
    """A task that a class starts has the context of the call, and may go on behind it."""
    host = strict_hosts("anthropic")
    contexts = []

    class Starts(ChatAnthropic):
        def _generate(self, *args, **kwargs):
            contexts.append(copy_context())
            return super()._generate(*args, **kwargs)

    bare = Starts(
        base_url=host.url, model=host.model, api_key=KEY, max_retries=0, max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    model = with_reasoning_replay(bare, Policy(aliases=aliases([host])), retry_refused=True).bind_tools([get_weather])
    history = broken(model, 1)
    model.invoke(history)
    seen = len(host.requests)
    contexts[-1].run(model.invoke, history)
    assert [400, 200] == statuses(host, seen)


# What is a host's answer ----------------------------------------------------------------------------------------------

WORDS = "messages.1.content.0: Invalid `signature` in `thinking` block"
BODY = {"type": "error", "error": {"type": "invalid_request_error", "message": WORDS}}


class Answers(Exception):
    """An SDK's error without a status (Anthropic's for a stream has that of the stream, 200)."""

    def __init__(self, **held):
        super().__init__(WORDS)
        vars(self).update(held)


def caused(error, cause):
    error.__cause__ = cause
    return error


ERRORS = {
    "time is out": (TimeoutError(WORDS), 1),
    "no connection": (ConnectionError(WORDS), 1),
    "a class's own check": (ValueError(WORDS), 1),
    "an SDK that holds no answer": (Answers(response=None, body=None, error=""), 1),
    "a server's fault": (Answers(status_code=503, body=BODY), 1),
    "a status in the words": (ValueError(f"Error code: 400 - {WORDS}"), 2),
    "a status": (Answers(status_code=400), 2),
    "a stream's body": (Answers(status_code=200, body=BODY), 2),
    "Ollama's line": (Answers(status_code=-1, error=WORDS), 2),
    "langchain-openai's body": (ValueError(BODY["error"]), 2),
    "an answer below": (caused(RuntimeError("failed"), Answers(body=BODY)), 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_only_what_a_host_has_answered_is_tried_again_whatever_an_error_quotes(strict_hosts, name):
    host = strict_hosts("anthropic")
    error, times = ERRORS[name]

    class Raises(ChatAnthropic):
        def _generate(self, *args, **kwargs):
            tries.append(args)
            raise error

    tries = []
    bare = Raises(
        base_url=host.url, model=host.model, api_key=KEY, max_retries=0, max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    model = with_reasoning_replay(bare, Policy(aliases=aliases([host])), retry_refused=True).bind_tools([get_weather])
    with pytest.raises(type(error)) as caught:
        model.invoke(talk(claude(host)))
    assert error is caught.value
    assert times == len(tries)


# A host that takes no empty filler: the wrapper's own placeholder is refused, and thinking goes off.


def lost():
    """A running tool loop whose reasoning is gone."""
    call = {"name": "get_weather", "args": {"city": "X"}, "id": "c1"}
    return [
        HumanMessage("How is the weather?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("rain", tool_call_id="c1"),
    ]


OFTEN = ("bind_tools", "with_fallbacks", "configurable_fields", "an alternative's factory", "init_chat_model")
PACKED = [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in WAYS]


@pytest.mark.parametrize("name", PACKED)
def test_the_setting_travels_wherever_the_policy_does(strict_hosts, name):
    host = strict_hosts("deepseek", filler="space")
    bare = deepseek(host)
    packed = WAYS[name](bare)
    model = with_reasoning_replay(packed, Policy(aliases=aliases([host])), retry_refused=True)
    reply = model.invoke(lost())
    assert [400, 200] == [request.status for request in host.requests]
    assert {"type": "disabled"} == host.last.json["thinking"]
    assert ["retried", "disabled_after"] == [row.reason for row in report_of(reply).rows if row.role == "request"][:2]


def test_it_is_one_retry_a_call_inside_with_retry(strict_hosts):
    host = strict_hosts("anthropic")
    history = broken(claude(host), 1, 3)
    model = claude(host).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    seen = len(host.requests)
    with pytest.raises(anthropic.BadRequestError):
        model.invoke(history)
    assert [400] * 4 == [request.status for request in host.requests[seen:]]


def test_an_sdks_own_retries_do_not_multiply_it(strict_hosts):
    host = strict_hosts("deepseek", filler="space")
    bare = deepseek(host).model_copy(update={"max_retries": 3}).bind_tools([get_weather])
    model = with_reasoning_replay(bare, Policy(aliases=aliases([host])), retry_refused=True)
    model.invoke(lost())
    assert [400, 200] == [request.status for request in host.requests]


def test_a_fallback_is_called_after_the_second_refusal_and_sees_nothing_of_others(strict_hosts):
    host, other = strict_hosts("anthropic"), strict_hosts("deepseek")
    history = broken(claude(host), 1, 3)
    seen = len(host.requests)
    second = deepseek(other).bind_tools([get_weather])
    model = chat_anthropic(host).bind_tools([get_weather]).with_fallbacks([second])
    model = with_reasoning_replay(model, Policy(aliases=aliases([host, other])), retry_refused=True)
    model.invoke(history)
    assert [400, 400] == [request.status for request in host.requests[seen:]]
    assert [200] == [request.status for request in other.requests]


def test_nothing_foreign_is_sent_by_a_retry(strict_hosts):
    """The whole history of another Claude stands before: it goes neither the first time nor the second."""
    host, other = strict_hosts("anthropic"), strict_hosts("anthropic")
    before = talk(claude(other), steps=3)
    model = claude(host)
    after = [*before, HumanMessage("And tomorrow?")]
    reply = model.invoke(after)
    after += [forged(reply), *(ToolMessage("sun", tool_call_id=each["id"]) for each in reply.tool_calls)]
    seen = len(host.requests)
    model.invoke(after)
    assert [400, 200] == [request.status for request in host.requests[seen:]]
    issued = list(other.issued)
    assert issued
    assert [] == [word for word in issued for request in host.requests if word.encode() in request.raw]


def test_where_nothing_smaller_is_left_there_is_no_second_try(strict_hosts):
    """Kimi K3 cannot stop thinking, and this host takes no placeholder: the same would be sent again."""
    host = strict_hosts("moonshot", filler="space")
    bare = ChatMoonshot(model="kimi-k3", base_url=host.url, api_key=KEY, max_retries=0).bind_tools([get_weather])
    model = with_reasoning_replay(bare, Policy(aliases=aliases([host])), retry_refused=True)
    with pytest.raises(openai.BadRequestError, match="reasoning_content is missing"):
        model.invoke(lost())
    assert [400] == [request.status for request in host.requests]


def test_the_middleware_retries_too(strict_hosts):
    agents = pytest.importorskip("langchain.agents")
    from reasoning_replay.langchain import ReasoningReplayMiddleware

    host = strict_hosts("anthropic")
    history = broken(claude(host), 1)
    seen = len(host.requests)
    middleware = ReasoningReplayMiddleware(Policy(aliases=aliases([host])), retry_refused=True)
    agent = agents.create_agent(chat_anthropic(host), [get_weather], middleware=[middleware])
    agent.invoke({"messages": history})
    statuses = [request.status for request in host.requests[seen:]]
    assert [400, 200] == statuses[:2]


def test_the_last_word_counts_and_silence_keeps_what_was_said():
    model = with_reasoning_replay(deepseek(), retry_refused=True)
    assert with_reasoning_replay(model) is model
    assert with_reasoning_replay(model, Policy(window="all"))._reasoning_replay.retry_refused is True
    assert with_reasoning_replay(model, retry_refused=False)._reasoning_replay.retry_refused is False
    fake = with_reasoning_replay(FakeListChatModel(responses=["x"]), retry_refused=True)
    assert pickle.loads(pickle.dumps(fake))._reasoning_replay.retry_refused is True
    assert with_reasoning_replay(deepseek())._reasoning_replay.retry_refused is None


@pytest.mark.parametrize("wrong", ["yes", 1, Policy()])
def test_what_is_no_truth_value_is_refused(wrong):
    with pytest.raises(TypeError, match=r"retry_refused: a .*; allowed: True, False, or None"):
        with_reasoning_replay(deepseek(), retry_refused=wrong)
