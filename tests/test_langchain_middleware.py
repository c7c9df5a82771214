"""`ReasoningReplayMiddleware` in `create_agent`: at any place in the list no model sees what is not its own."""

import copy
import json
import logging
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_deepseek")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, wrap_model_call
from langchain.chat_models import init_chat_model
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_calls import (
    chat_anthropic,
    chat_deepseek,
    chat_moonshot,
    chat_openai,
    get_weather,
    run,
    statuses,
)
from reasoning_replay import Policy
from reasoning_replay._known import forget_warnings
from reasoning_replay._origin import MARK
from reasoning_replay._policy import BadPolicy
from reasoning_replay.forms._carriers import THOUGHT
from reasoning_replay.langchain import ReasoningReplayMiddleware, with_reasoning_replay
from reasoning_replay.langchain._withheld import WITHHELD, Withheld, restored, withheld
from reasoning_replay.testing import Reply, aliases, canaries_in
from reasoning_replay.testing._script import agent as script_agent

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def warned_anew():
    forget_warnings()


class Spy(AgentMiddleware):
    """Looks at what the handler's messages hold."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def wrap_model_call(self, request, handler):
        self.seen.append(list(request.messages))
        return handler(request)

    async def awrap_model_call(self, request, handler):
        self.seen.append(list(request.messages))
        return await handler(request)


def ours(*hosts, **policy):
    return ReasoningReplayMiddleware(Policy(aliases=aliases(hosts), **policy))


def chosen(*models):
    """A model by the number of the call, as people choose models dynamically; sync and async."""
    calls = []

    class Choice(AgentMiddleware):
        def _next(self, request):
            calls.append(1)
            return request.override(model=models[(len(calls) - 1) % len(models)])

        def wrap_model_call(self, request, handler):
            return handler(self._next(request))

        async def awrap_model_call(self, request, handler):
            return await handler(self._next(request))

    return Choice()


async def _arun(agent, state):
    return await agent.ainvoke(state)


async def _astream(agent, state):
    return [step async for step in agent.astream(state, stream_mode="values")][-1]


async def _aevents(agent, state):
    events = [event async for event in agent.astream_events(state, version="v2")]
    return events[-1]["data"]["output"]


def _stream(agent, state):
    seen = [step for kind, step in agent.stream(state, stream_mode=["messages", "values"]) if kind == "values"]
    return seen[-1]


RUNS = {
    "invoke": lambda agent, state: agent.invoke(state),
    "stream": _stream,
    "ainvoke": lambda agent, state: run(_arun(agent, state)),
    "astream": lambda agent, state: run(_astream(agent, state)),
    "events": lambda agent, state: run(_aevents(agent, state)),
}


def asked(text="How is the weather?"):
    return {"messages": [HumanMessage(text)]}


def reasoning_of(messages):
    return [m.additional_kwargs.get("reasoning_content") for m in messages if isinstance(m, AIMessage)]


def flaky(*numbers, steps=3):
    """The usual agent, but out of order at these requests."""
    requests = []

    def answer(turn):
        requests.append(turn)
        return Reply((), status=503) if len(requests) in numbers else script_agent(steps)(turn)

    return answer


@pytest.mark.parametrize("mode", RUNS)
@pytest.mark.parametrize("make", [chat_deepseek, chat_openai])
def test_an_agent_finishes_two_turns_at_deepseek_in_every_run_mode(make, mode, strict_hosts):
    host = strict_hosts("deepseek")
    agent = create_agent(make(host), [get_weather], middleware=[ours(host)])
    state = RUNS[mode](agent, asked())
    RUNS[mode](agent, {"messages": [*state["messages"], HumanMessage("And now?")]})
    assert [200] * 6 == statuses(host)
    assert [] == host.lost()


@pytest.mark.parametrize("mode", RUNS)
def test_the_handlers_messages_hold_no_reasoning_and_the_state_keeps_it(mode, strict_hosts):
    host, spy = strict_hosts("deepseek"), Spy()
    agent = create_agent(chat_deepseek(host), [get_weather], middleware=[ours(host), spy])
    state = RUNS[mode](agent, asked())
    assert 3 == len(spy.seen)
    assert [] == canaries_in(repr(spy.seen) + "".join(dumps(each) for row in spy.seen for each in row))
    assert 3 == len(canaries_in(repr(reasoning_of(state["messages"]))))
    assert not any(WITHHELD in message.additional_kwargs for message in state["messages"])
    assert all(MARK in m.additional_kwargs for m in state["messages"] if isinstance(m, AIMessage))


PLACES = {"ours inside": lambda mine, other: [other, mine], "ours outside": lambda mine, other: [mine, other]}


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream"])
@pytest.mark.parametrize("place", PLACES)
def test_a_fallback_in_the_middle_of_a_loop_sees_no_reasoning_of_the_first_host(place, mode, strict_hosts):
    first, second = strict_hosts("deepseek", script=flaky(2), steps=3), strict_hosts("openrouter", steps=3)
    other = ModelFallbackMiddleware(chat_deepseek(second))
    middleware = PLACES[place](ours(first, second), other)
    agent = create_agent(chat_deepseek(first), [get_weather], middleware=middleware)
    RUNS[mode](agent, asked())
    assert [200, 503, 200, 200] == statuses(first)
    assert [200] == statuses(second)
    assert [] == first.lost()


@pytest.mark.parametrize("place", PLACES)
def test_a_fallback_that_sends_whatever_it_is_given_sees_none(place, strict_hosts):
    """ChatMoonshot sends every `reasoning_content`, whoever wrote it."""
    first, second = strict_hosts("deepseek", script=flaky(2, 3), steps=3), strict_hosts("moonshot", steps=3)
    middleware = PLACES[place](ours(first, second), ModelFallbackMiddleware(chat_moonshot(second)))
    agent = create_agent(chat_deepseek(first), [get_weather], middleware=middleware)
    if place == "ours inside":
        agent.invoke(asked())
        assert [200] * 2 == statuses(second)
    else:  # Kimi asks for the reasoning of the running loop, and nobody writes a filler for a bare model
        with pytest.raises(Exception, match="reasoning_content"):
            agent.invoke(asked())
        assert [400] == statuses(second)


@pytest.mark.parametrize("mode", ["invoke", "astream"])
@pytest.mark.parametrize("place", PLACES)
def test_a_model_chosen_by_the_step_takes_nothing_along(place, mode, strict_hosts):
    first, second = strict_hosts("deepseek", steps=4), strict_hosts("anthropic", steps=4)
    models = chat_deepseek(first), chat_anthropic(second)
    middleware = PLACES[place](ours(first, second), chosen(*models))
    agent = create_agent(models[0], [get_weather], middleware=middleware)
    if place == "ours inside":
        RUNS[mode](agent, asked())
        assert [] == first.refusals + second.refusals
        assert [] == first.lost()
    else:  # the chosen ones are bare: nothing leaks, and Claude refuses a loop without its blocks
        with pytest.raises(Exception, match="thinking"):
            RUNS[mode](agent, asked())


def test_wrapped_models_of_a_choice_inside_find_their_own_even_so(strict_hosts):
    first, second = strict_hosts("deepseek", steps=4), strict_hosts("moonshot", steps=4)
    policy = Policy(aliases=aliases([first, second]))
    models = [
        with_reasoning_replay(make(host), policy) for make, host in ((chat_deepseek, first), (chat_moonshot, second))
    ]
    agent = create_agent(models[0], [get_weather], middleware=[ours(first, second), chosen(*models)])
    agent.invoke(asked())
    assert [] == first.refusals + second.refusals
    assert [] == first.lost() + second.lost()


def test_a_wrapped_model_keeps_its_own_policy_unless_the_middleware_has_one(strict_hosts):
    host = strict_hosts("deepseek")
    spy = Policies()
    mine = with_reasoning_replay(chat_deepseek(host), Policy(window="all"))
    create_agent(mine, [get_weather], middleware=[ReasoningReplayMiddleware(), spy]).invoke(asked())
    create_agent(mine, [get_weather], middleware=[ours(host), spy]).invoke(asked())
    assert {Policy(window="all"), Policy(aliases=aliases([host]))} == set(spy.seen)


class Policies(AgentMiddleware):
    def __init__(self):
        super().__init__()
        self.seen = []

    def wrap_model_call(self, request, handler):
        self.seen.append(request.model._reasoning_replay.policy)
        return handler(request)


def to_come(host):
    more = {"api_key": "k", "max_retries": 0, "api_base": host.url}
    return init_chat_model(host.model, model_provider="deepseek", configurable_fields=("temperature",), **more)


PACKED = {
    "a configurable model": to_come,
    "a binding": lambda host: chat_deepseek(host).with_config(tags=["a"]),
    "fallbacks": lambda host: chat_deepseek(host).with_fallbacks([chat_deepseek(host)]),
}


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("packed", PACKED)
def test_a_model_is_wrapped_however_it_is_packed(packed, mode, strict_hosts):
    host = strict_hosts("deepseek")

    class Put(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(model=PACKED[packed](host)))

        async def awrap_model_call(self, request, handler):
            return await handler(request.override(model=PACKED[packed](host)))

    agent = create_agent(chat_deepseek(host), [get_weather], middleware=[Put(), ours(host)])
    RUNS[mode](agent, asked())
    assert [200] * 3 == statuses(host)
    assert [] == host.lost()


def test_the_saved_state_is_the_original_messages_and_another_process_goes_on(strict_hosts, tmp_path):
    from langgraph.checkpoint.memory import InMemorySaver

    host, saver = strict_hosts("deepseek"), InMemorySaver()
    thread = {"configurable": {"thread_id": "1"}}

    def agent():
        return create_agent(chat_deepseek(host), [get_weather], middleware=[ours(host)], checkpointer=saver)

    agent().invoke(asked(), thread)
    saved = agent().get_state(thread).values["messages"]
    assert 3 == len(canaries_in(repr(reasoning_of(saved))))
    from reasoning_replay._known import default_store

    default_store.cache_clear()  # another process knows no payload: the marks alone must do
    agent().invoke(asked("And now?"), thread)
    assert [200] * 6 == statuses(host)
    assert [] == host.lost()
    assert saved == agent().get_state(thread).values["messages"][: len(saved)]


def test_what_another_middleware_changes_stays_changed_and_without_reasoning(strict_hosts):
    host = strict_hosts("unknown")

    @wrap_model_call
    def shorten(request, handler):
        rows = [m.model_copy(update={"content": "cut"}) if isinstance(m, AIMessage) else m for m in request.messages]
        return handler(request.override(messages=rows))

    agent = create_agent(chat_deepseek(host), [get_weather], middleware=[ours(host), shorten])
    agent.invoke(asked())
    sent = [message for message in host.last.messages if message["role"] == "assistant"]
    assert ["cut", "cut"] == [message["content"] for message in sent]
    assert [] == canaries_in(json.dumps(host.last.messages))


@pytest.mark.parametrize("extended", [False, True])
def test_an_answer_taken_from_the_history_is_saved_as_it_was(extended, strict_hosts):
    """A middleware that answers by itself gives the state what it was handed."""
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse

    host = strict_hosts("deepseek")

    @wrap_model_call
    def again(request, handler):
        said = ModelResponse(result=[m for m in request.messages if isinstance(m, AIMessage)][-1:])
        return ExtendedModelResponse(model_response=said) if extended else said

    agent = create_agent(chat_deepseek(host), [get_weather], middleware=[ours(host), again])
    state = agent.invoke({"messages": [HumanMessage("q"), SAID.model_copy(update={"id": "0"}), HumanMessage("again")]})
    assert [SECRET] == [m.additional_kwargs["reasoning_content"] for m in state["messages"] if isinstance(m, AIMessage)]
    assert not any(WITHHELD in message.additional_kwargs for message in state["messages"])
    assert [] == host.requests


# The envelope ---------------------------------------------------------------------------------------------------------

SECRET = "CANARY-secret"
SAID = AIMessage("yes", additional_kwargs={"reasoning_content": SECRET, "other": 1}, id="1")
BLOCKS = AIMessage(
    [{"type": "thinking", "thinking": SECRET, "signature": "CANARY-sig"}, {"type": "text", "text": "yes"}], id="2"
)


@pytest.mark.parametrize("message", [SAID, BLOCKS])
def test_withheld_and_restored_is_the_very_same_message(message):
    messages = [HumanMessage("q"), message]
    given = withheld(messages)
    assert given is not messages
    assert given[0] is messages[0]
    assert message is restored(given)[1]
    assert message is messages[1]


def test_without_reasoning_nothing_is_withheld_and_nothing_restored():
    messages = [HumanMessage("q"), AIMessage("yes"), ToolMessage("r", tool_call_id="c")]
    assert withheld(messages) is messages
    assert restored(messages) is messages


def test_a_signature_in_a_calls_id_is_withheld_on_both_sides_of_the_call():
    """LiteLLM puts Gemini's signature into the id of the call, and so into that of its result."""
    identity = f"call_1{THOUGHT}CANARY-sig"
    calls = [{"name": "f", "args": {}, "id": identity, "type": "tool_call"}]
    messages = [AIMessage("", tool_calls=calls), ToolMessage("r", tool_call_id=identity)]
    given = withheld(messages)
    assert ["call_1", "call_1"] == [given[0].tool_calls[0]["id"], given[1].tool_call_id]
    assert "CANARY" not in repr(given) + dumps(given)
    assert all(new is old for new, old in zip(restored(given), messages, strict=True))


def test_withheld_twice_is_withheld_once():
    given = withheld([SAID])
    assert withheld(given) is given


@pytest.mark.parametrize("part", ["content", "tool_calls", "name"])
def test_a_message_that_says_something_else_stays_bare(part):
    given = withheld([SAID])[0]
    other = {"content": "no", "tool_calls": [{"name": "f", "args": {}, "id": "c", "type": "tool_call"}], "name": "x"}
    changed = given.model_copy(update={part: other[part]})
    (left,) = restored([changed])
    assert {"other": 1} == left.additional_kwargs
    assert other[part] == getattr(left, part)


def _langsmith(value):
    from langsmith.client import _dumps_json

    return _dumps_json({"x": value}).decode()


SHOWN = {
    "repr": repr,
    "str": str,
    "json": lambda m: json.dumps(m.model_dump()),
    "dumps": dumps,
    "model_dump_json": lambda m: m.model_dump_json(),
    "pickle": lambda m: pickle.dumps(m).decode("latin-1"),
    "vars": lambda m: (
        repr(vars(m.additional_kwargs[WITHHELD])) if hasattr(m.additional_kwargs[WITHHELD], "__dict__") else ""
    ),
    "slots": lambda m: repr([getattr(m.additional_kwargs[WITHHELD], name) for name in Withheld.__slots__]),
    "langsmith": _langsmith,
    "pprint": lambda m: __import__("pprint").pformat(m.additional_kwargs),
}


@pytest.mark.parametrize("message", [SAID, BLOCKS])
@pytest.mark.parametrize("way", SHOWN)
def test_nothing_that_shows_a_message_shows_what_is_withheld(way, message):
    assert "CANARY" not in SHOWN[way](withheld([message])[0])


def test_its_repr_tells_the_size():
    assert "<reasoning withheld: 38 characters>" == repr(withheld([SAID])[0].additional_kwargs[WITHHELD])


def test_a_copy_in_memory_can_be_opened_and_a_stored_one_is_bare():
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serde = JsonPlusSerializer()
    given = withheld([SAID])
    assert restored(copy.deepcopy(given))[0] is SAID
    for stored in (pickle.loads(pickle.dumps(given)), [serde.loads_typed(serde.dumps_typed(given[0]))]):
        (left,) = restored(stored)
        assert ("yes", {"other": 1}) == (left.content, left.additional_kwargs)


def test_what_a_client_forges_opens_nothing():
    forged = AIMessage("yes", additional_kwargs={WITHHELD: {"original": "CANARY-forged"}})
    assert {} == restored([forged])[0].additional_kwargs


# Edges ----------------------------------------------------------------------------------------------------------------


def test_a_policy_of_the_wrong_type_is_refused_when_the_middleware_is_made():
    with pytest.raises(BadPolicy, match="policy: a str; allowed: a Policy, or None"):
        ReasoningReplayMiddleware("drop")


def test_without_langchain_the_rest_works_and_the_middleware_says_what_to_install():
    code = """
import sys
sys.modules["langchain"] = None
import reasoning_replay.langchain as ours
ours.with_reasoning_replay
try:
    ours.ReasoningReplayMiddleware
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert (
        "ReasoningReplayMiddleware needs langchain beside langchain-core: pip install langchain" == done.stdout.strip()
    )


def test_a_saved_history_of_unknown_origin_is_warned_of_once(strict_hosts, caplog):
    host = strict_hosts("deepseek")
    agent = create_agent(chat_deepseek(host), [get_weather], middleware=[ours(host)])
    with caplog.at_level(logging.WARNING, "reasoning_replay"):
        agent.invoke({"messages": [HumanMessage("q"), SAID, HumanMessage("and?")]})
    assert 1 == len([each for each in caplog.records if "left out" in each.getMessage()])
