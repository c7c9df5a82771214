"""`prompt | t | model | t.capture`: what a transformer can do, and what it cannot, on the wire of strict hosts."""

import logging
import pickle

import pytest

pytest.importorskip("langchain_moonshot")

from langchain_core.caches import InMemoryCache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableField, RunnableLambda

from langchain_calls import MODES as ALL_MODES
from langchain_calls import (
    append,
    chat_anthropic,
    chat_deepseek,
    chat_moonshot,
    chat_openai,
    get_weather,
    run,
    statuses,
    turn,
)
from reasoning_replay import Origin, OriginError, Policy
from reasoning_replay._known import default_store, forget_warnings
from reasoning_replay._origin import MARK, from_mark, to_mark
from reasoning_replay._policy import BadPolicy
from reasoning_replay.langchain import ReplayTransformer, with_reasoning_replay
from reasoning_replay.testing import Reply, aliases, call, canaries_in, sealed, think

pytestmark = pytest.mark.filterwarnings("ignore")

MODES = {name: mode for name, mode in ALL_MODES.items() if "v3" not in name}  # chains have no such stream


@pytest.fixture(autouse=True)
def a_process_of_its_own():
    """Nothing is known of a payload, nothing was warned of."""
    forget_warnings()
    default_store.cache_clear()
    yield
    default_store.cache_clear()


def chat_openrouter(host, **more):
    from langchain_openrouter import ChatOpenRouter

    return ChatOpenRouter(
        base_url=host.url, model=host.model, api_key="k", max_retries=0, reasoning={"effort": "low"}, **more
    )


def chat_opus(host, **more):
    """A Claude that takes every turn back, not the last alone."""
    from langchain_anthropic import ChatAnthropic

    thinking = {"type": "adaptive"}
    fixed = {"model": "claude-opus-4-6", "api_key": "k", "max_retries": 0, "max_tokens": 4096, "thinking": thinking}
    return ChatAnthropic(base_url=host.url, **fixed, **more)


CARRY = {"moonshot": chat_moonshot, "anthropic": chat_opus, "openrouter": chat_openrouter}
"""Host -> the class that carries its fields both ways by itself."""


def chain(model, *hosts, capture=True):
    """`t | model | t.capture` with tools. Kimi's rule says the running turn alone: all turns show more."""
    bound = model.bind_tools([get_weather])
    t = ReplayTransformer(bound, policy=Policy(aliases=aliases(hosts), window="all"))
    return t | bound | t.capture if capture else t | bound


def warnings_in(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


# On the wire ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CARRY)
def test_three_turns_are_whole_with_a_model_that_carries_the_fields(name, mode, strict_hosts):
    host = strict_hosts(name)
    runnable, messages = chain(CARRY[name](host), host), []
    for text in ("one", "two", "three"):
        turn(mode, runnable, messages, text)
    assert [200] * 9 == statuses(host)
    assert [] == host.lost()


@pytest.mark.parametrize("mode", ["invoke", "astream"])
@pytest.mark.parametrize(("here", "there"), [(a, b) for a in CARRY for b in CARRY if a != b])
def test_a_turn_at_another_host_takes_nothing_along_and_the_next_one_finds_its_own(here, there, mode, strict_hosts):
    first, second = strict_hosts(here), strict_hosts(there)
    one, two = (chain(CARRY[host.kind](host), first, second) for host in (first, second))
    messages = []
    turn(mode, one, messages, "one")
    turn(mode, two, messages, "two")
    turn(mode, one, messages, "three")
    assert [] == first.refusals + second.refusals
    assert [] == first.lost() + second.lost()


@pytest.mark.parametrize("mode", ["invoke", "stream"])
def test_the_limit_chatopenai_sends_no_reasoning_and_deepseek_refuses(mode, strict_hosts):
    """As the docstring says: a field that a class drops stays lost. `with_reasoning_replay` is for that."""
    host = strict_hosts("deepseek")
    with pytest.raises(Exception, match="reasoning_content"):
        turn(mode, chain(chat_openai(host), host), [])
    assert [200, 400] == statuses(host)


def test_the_limit_claude_refuses_a_loop_that_another_host_began(strict_hosts):
    """Thinking would have to go off in the request. `with_reasoning_replay` does that."""
    first, second = strict_hosts("moonshot", steps=3), strict_hosts("anthropic", steps=3)
    messages = [HumanMessage("q")]
    append(messages, chain(chat_moonshot(first), first, second).invoke(messages))
    with pytest.raises(Exception, match="thinking"):
        chain(chat_anthropic(second), first, second).invoke(messages)
    assert [400] == statuses(second)


def test_marks_alone_carry_a_history_to_another_process(strict_hosts):
    host = strict_hosts("moonshot")
    messages = []
    turn("invoke", chain(chat_moonshot(host), host), messages)
    default_store.cache_clear()
    turn("stream", chain(chat_moonshot(host), host), pickle.loads(pickle.dumps(messages)), "two")
    assert [] == host.refusals
    assert [] == host.lost()


@pytest.mark.parametrize("closed_after", [1, 3])
@pytest.mark.parametrize("name", CARRY)
def test_of_a_stream_that_is_closed_early_nothing_sealed_is_marked(name, closed_after, strict_hosts):
    host = strict_hosts(name)
    stream = chain(CARRY[name](host), host).stream([HumanMessage("q")])
    whole = next(stream)
    for _ in range(closed_after - 1):
        whole = whole + next(stream)
    stream.close()
    assert name == "moonshot" or MARK not in whole.additional_kwargs


def test_a_prompt_a_transformer_a_model_and_a_parser(strict_hosts):
    host = strict_hosts("moonshot", script=[Reply((think(), call()))])
    model = chat_moonshot(host)
    t = ReplayTransformer(model, policy=Policy(aliases=aliases([host])))
    prompt = ChatPromptTemplate([("system", "be brief"), MessagesPlaceholder("history"), ("human", "{q}")])
    full = prompt | t | model | t.capture | StrOutputParser()
    full.invoke({"history": [], "q": "hi"})
    assert ["system", "user"] == [message["role"] for message in host.last.messages]


def test_tools_bound_to_the_model_decide_the_window(strict_hosts):
    """DeepSeek V4 takes every turn when the request has tools, and none without."""
    host = strict_hosts("deepseek")
    policy = Policy(aliases=aliases([host]))
    model = chat_deepseek(host)
    origin = Origin(host.name, model=host.model)
    said = AIMessage("a", additional_kwargs={"reasoning_content": "CANARY-r", MARK: to_mark(origin)})
    history = [HumanMessage("one"), said, HumanMessage("two")]

    def kept(t):
        return t.invoke(history)[1].additional_kwargs["reasoning_content"] == "CANARY-r"  # "" is DeepSeek's filler

    assert kept(ReplayTransformer(model.bind_tools([get_weather]), policy=policy))
    assert not kept(ReplayTransformer(model, policy=policy))
    url = {"model": host.model, "policy": policy}
    assert kept(ReplayTransformer(host.url, request={"tools": [{}]}, **url))


# What goes in ---------------------------------------------------------------------------------------------------------

OWN = Origin("api.moonshot.ai", model="kimi-k2.5")
SAID = AIMessage("yes", additional_kwargs={"reasoning_content": "CANARY-own", MARK: to_mark(OWN)})
FOREIGN = AIMessage(
    "no", additional_kwargs={"reasoning_content": "CANARY-foreign", MARK: to_mark(Origin("b.example", model="m"))}
)


def kimi(**more):
    return ReplayTransformer("https://api.moonshot.ai/v1", model="kimi-k2.5", **more)


INPUTS = {
    "messages": [HumanMessage("hi")],
    "tuples": [("human", "hi")],
    "dicts": [{"role": "user", "content": "hi"}],
    "strs": ["hi"],
    "a str": "hi",
    "a message": HumanMessage("hi"),
    "a dict": {"role": "user", "content": "hi"},
    "a PromptValue": ChatPromptValue(messages=[HumanMessage("hi")]),
    "a tuple of messages": (HumanMessage("hi"),),
}


async def _astream_of(t, given):
    return [part async for part in t.astream(given)]


async def _atransform_of(t, given):
    async def one():
        yield given

    return [part async for part in t.atransform(one())]


WAYS = {
    "invoke": lambda t, given: t.invoke(given),
    "call": lambda t, given: t(given),
    "ainvoke": lambda t, given: run(t.ainvoke(given)),
    "batch": lambda t, given: t.batch([given, given])[1],
    "abatch": lambda t, given: run(t.abatch([given, given]))[1],
    "stream": lambda t, given: next(iter(t.stream(given))),
    "astream": lambda t, given: run(_astream_of(t, given))[0],
    "transform": lambda t, given: next(iter(t.transform(iter([given])))),
    "atransform": lambda t, given: run(_atransform_of(t, given))[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", INPUTS)
def test_whatever_a_chat_model_takes_comes_out_as_messages(name, way):
    out = WAYS[way](kimi(), INPUTS[name])
    assert list is type(out)
    assert [("human", "hi")] == [(message.type, message.content) for message in out]


@pytest.mark.parametrize("way", WAYS)
def test_a_state_gives_what_create_react_agent_takes_from_a_hook(way):
    given = [HumanMessage("q"), FOREIGN, HumanMessage("and?")]
    (key, out), *_ = WAYS[way](kimi(), {"messages": given, "other": 1}).items()
    assert "llm_input_messages" == key
    assert {} == out[1].additional_kwargs
    assert "CANARY-foreign" == given[1].additional_kwargs["reasoning_content"]


def test_a_state_may_be_an_object():
    class State:
        messages = (HumanMessage("q"),)

    assert [HumanMessage("q")] == kimi().invoke(State())["llm_input_messages"]


@pytest.mark.parametrize("way", WAYS)
def test_own_reasoning_stays_foreign_goes_and_so_do_all_marks(way):
    given = [HumanMessage("q"), SAID, HumanMessage("q"), FOREIGN, ToolMessage("r", tool_call_id="c")]
    own, foreign = (WAYS[way](kimi(policy=Policy(window="all")), given)[at] for at in (1, 3))
    assert {"reasoning_content": "CANARY-own"} == own.additional_kwargs
    assert {} == foreign.additional_kwargs
    assert MARK in SAID.additional_kwargs
    assert MARK in FOREIGN.additional_kwargs


def test_messages_without_reasoning_are_shared():
    given = [SystemMessage("s"), HumanMessage("q"), AIMessage("a")]
    assert all(new is old for new, old in zip(kimi().invoke(given), given, strict=True))


# What it is made of ---------------------------------------------------------------------------------------------------


def moonshot(**more):
    from langchain_moonshot import ChatMoonshot

    return ChatMoonshot(model="kimi-k2.5", api_key="k", **more)


def _to_come():
    from langchain.chat_models import init_chat_model

    return init_chat_model("gpt-5", model_provider="openai", configurable_fields="any")


def _router():
    from langchain_litellm import ChatLiteLLMRouter
    from litellm import Router

    rows = [
        {"model_name": "a", "litellm_params": {"model": f"{name}/x", "api_key": "k"}} for name in ("deepseek", "groq")
    ]
    return ChatLiteLLMRouter(router=Router(model_list=rows), model="a")


SEVERAL = {
    "fallbacks": lambda: moonshot().with_fallbacks([moonshot()]),
    "configurable fields": lambda: moonshot().configurable_fields(temperature=ConfigurableField(id="t")),
    "alternatives": lambda: moonshot().configurable_alternatives(ConfigurableField(id="w"), b=moonshot()),
    "a chain": lambda: moonshot() | StrOutputParser(),
    "a model to come": _to_come,
    "a router": _router,
}


@pytest.mark.parametrize("name", SEVERAL)
def test_what_has_several_possible_hosts_is_refused_and_told_what_to_use(name):
    given = SEVERAL[name]()
    with pytest.raises(TypeError) as caught:
        ReplayTransformer(given)
    assert (
        f"ReplayTransformer: a {type(given).__name__} has no single host that can be known beforehand; "
        "use with_reasoning_replay(model) instead; allowed here: one chat model, a binding of one, or a host"
    ) == str(caught.value)


def test_what_is_neither_model_nor_host_is_refused():
    with pytest.raises(TypeError, match="ReplayTransformer: a int; allowed: a chat model, a binding of one, or a host"):
        ReplayTransformer(1)
    with pytest.raises(OriginError, match="white space"):
        ReplayTransformer("no host")
    with pytest.raises(OriginError, match="dialect 'smoke'"):
        ReplayTransformer("a.example", dialect="smoke")
    with pytest.raises(BadPolicy):
        ReplayTransformer("a.example", policy="drop")


def test_a_binding_is_unwrapped_and_its_parameters_count():
    t = ReplayTransformer(moonshot().bind(model="kimi-k2-0905").with_config(tags=["a"]).with_retry())
    assert "ReplayTransformer('https://api.moonshot" in repr(t)
    assert "model='kimi-k2-0905', dialect='chat')" in repr(t)


def test_around_a_wrapped_model_it_does_nothing_and_nothing_is_lost(strict_hosts, caplog):
    host = strict_hosts("deepseek")
    model = with_reasoning_replay(chat_deepseek(host), Policy(aliases=aliases([host])))
    runnable, messages = chain(model, host), []
    for text in ("one", "two"):
        turn("invoke", runnable, messages, text)
        turn("stream", runnable, messages, text)
    assert [] == host.refusals
    assert [] == host.lost()
    assert [] == warnings_in(caplog)


def test_a_whole_chain_can_be_wrapped_and_its_marks_outlive_the_process(strict_hosts):
    host = strict_hosts("deepseek")
    given = chain(chat_deepseek(host), host)
    wrapped = with_reasoning_replay(given, Policy(aliases=aliases([host])))
    messages = []
    for mode in ("invoke", "stream"):
        turn(mode, wrapped, messages)
        default_store.cache_clear()
    assert [200] * 6 == statuses(host)
    assert [] == host.lost()
    assert with_reasoning_replay(wrapped) is wrapped
    assert not given.first._passes


def test_it_can_be_pickled():
    t = pickle.loads(pickle.dumps(kimi(policy=Policy(window="all"))))
    assert "CANARY-own" == t.invoke([HumanMessage("q"), SAID])[1].additional_kwargs["reasoning_content"]


# What is marked -------------------------------------------------------------------------------------------------------


def test_the_mark_names_the_host_and_a_copy_has_it():
    given = AIMessage("yes", additional_kwargs={"reasoning_content": "CANARY-r"})
    marked = kimi().capture.invoke(given)
    assert OWN == from_mark(marked.additional_kwargs[MARK])
    assert MARK not in given.additional_kwargs


def test_a_reply_without_reasoning_is_passed_on_as_it_is():
    given = AIMessage("yes")
    assert kimi().capture.invoke(given) is given


def test_a_readable_stream_is_marked_on_its_first_chunk_and_passes_chunk_by_chunk():
    chunks = [
        AIMessageChunk("", additional_kwargs={"reasoning_content": "CANARY-a"}),
        AIMessageChunk("", additional_kwargs={"reasoning_content": "b"}),
        AIMessageChunk("yes", response_metadata={"finish_reason": "stop"}),
    ]
    seen = []

    def source():
        for chunk in chunks:
            seen.append(chunk)
            yield chunk

    from langchain_groq import ChatGroq

    t = ReplayTransformer(ChatGroq(model="m", api_key="k"))
    out = t.capture.transform(source())
    first = next(out)
    assert len(seen) <= 2  # LangChain itself looks one ahead
    assert MARK in first.additional_kwargs
    rest = list(out)
    assert 2 == len(rest)
    assert not any(MARK in chunk.additional_kwargs for chunk in [*chunks, *rest])
    whole = first + rest
    assert "api.groq.com" == from_mark(whole.additional_kwargs[MARK]).host


def test_where_something_sealed_can_come_the_mark_is_on_the_last_chunk(strict_hosts):
    host = strict_hosts("anthropic")
    chunks = list(chain(chat_anthropic(host), host).stream([HumanMessage("q")]))
    marked = [at for at, chunk in enumerate(chunks) if MARK in chunk.additional_kwargs]
    assert 1 == len(marked)
    assert not any(chunk.content for chunk in chunks[marked[0] :] if chunk.content not in ("", []))


@pytest.mark.parametrize("mode", ["stream", "astream"])
def test_streamed_reasoning_details_of_several_kinds_go_back_unbroken(mode, strict_hosts):
    host = strict_hosts(
        "openrouter", script=lambda turn: Reply((think(), sealed(), call())) if turn.step < 2 else Reply((think(),))
    )
    runnable, messages = chain(chat_openrouter(host), host), [HumanMessage("q")]
    for _ in range(3):
        append(messages, MODES[mode](runnable, messages))
    assert [] == host.refusals
    assert [] == host.lost()


def test_a_reply_of_another_class_is_left_alone():
    given = AIMessage(
        "yes", additional_kwargs={"reasoning_content": "CANARY-r"}, response_metadata={"model_provider": "deepseek"}
    )
    assert ReplayTransformer(moonshot()).capture.invoke(given) is given
    chunk = AIMessageChunk(**{**given.model_dump(), "type": "AIMessageChunk"})
    assert not any(MARK in c.additional_kwargs for c in ReplayTransformer(moonshot()).capture.stream(chunk))


def test_an_answer_from_the_cache_is_left_alone(strict_hosts):
    """What was cached may be of another host: here one cache stands before two hosts with one model name."""
    first, second = strict_hosts("moonshot", script=[Reply((think(),))] * 2), strict_hosts("moonshot")
    cache = InMemoryCache()

    def ask(host):
        model = chat_moonshot(host, cache=cache)
        t = ReplayTransformer(model, policy=Policy(aliases=aliases([first, second])))
        return (t | model | t.capture).invoke([HumanMessage("q")])

    one, two = ask(first), ask(first)
    assert 1 == len(first.requests)
    assert MARK in one.additional_kwargs
    assert MARK not in two.additional_kwargs


WRONG = {
    "a str": "yes",
    "a parsed object": {"city": "Oslo"},
    "a human message": HumanMessage("q"),
    "None": None,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_reply_is_refused_and_told_where_capture_belongs(name):
    given = WRONG[name]
    with pytest.raises(TypeError) as caught:
        kimi().capture.invoke(given)
    assert str(caught.value).startswith(f"t.capture: a {type(given).__name__}; allowed: an AIMessage, its chunks")
    assert "prompt | t | model | t.capture | parser" in str(caught.value)


def test_behind_a_parser_it_says_so():
    model = GenericFakeChatModel(messages=iter([AIMessage("yes")]))
    t = kimi()
    with pytest.raises(TypeError, match=r"t\.capture: a str"):
        (t | model | StrOutputParser() | t.capture).invoke("q")


# Without capture ------------------------------------------------------------------------------------------------------


def test_without_capture_it_warns_once_and_says_how(strict_hosts, caplog):
    host = strict_hosts("unknown")
    runnable, messages = chain(chat_moonshot(host), host, capture=False), []
    for text in ("one", "two"):
        turn("invoke", runnable, messages, text)
    said = (
        f"{host.name}: replies come back unmarked, so their reasoning is left out; "
        "put t.capture right behind the model: prompt | t | model | t.capture (said once)"
    )
    assert [said] == warnings_in(caplog)
    assert [] == canaries_in(str(host.last.messages))


def test_with_capture_it_warns_of_nothing(strict_hosts, caplog):
    host = strict_hosts("unknown")
    runnable, messages = chain(chat_moonshot(host), host), []
    for text in ("one", "two"):
        turn("invoke", runnable, messages, text)
    assert [] == warnings_in(caplog)


def test_histories_of_elsewhere_side_by_side_are_no_missing_capture(caplog):
    """An unmarked history is somebody's; only a reply to a plan of ours can have missed our capture."""
    unmarked = AIMessage("a", additional_kwargs={"reasoning_content": "CANARY-r"})
    t = kimi(policy=Policy(window="all"))
    t.batch([[HumanMessage("one"), unmarked, HumanMessage(str(n))] for n in range(3)])
    assert ["api.moonshot.ai: reasoning of 1 message(s) was left out"] == [each[:55] for each in warnings_in(caplog)]


def test_a_class_that_drops_reasoning_is_no_missing_capture(strict_hosts, caplog):
    host = strict_hosts("unknown")
    turn("invoke", chain(chat_openai(host), host, capture=False), [])
    assert [] == warnings_in(caplog)


# In LangGraph ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "stream"])
def test_create_react_agent_with_both_hooks_is_whole_and_keeps_its_state(mode, strict_hosts):
    from langgraph.prebuilt import create_react_agent

    host = strict_hosts("moonshot")
    model = chat_moonshot(host)
    t = ReplayTransformer(model.bind_tools([get_weather]), policy=Policy(aliases=aliases([host]), window="all"))
    agent = create_react_agent(model, [get_weather], pre_model_hook=t, post_model_hook=t.capture)
    state = {"messages": []}
    for text in ("one", "two"):
        given = {"messages": [*state["messages"], HumanMessage(text)]}
        if mode == "invoke":
            state = agent.invoke(given)
        elif mode == "ainvoke":
            state = run(agent.ainvoke(given))
        else:
            state = list(agent.stream(given, stream_mode="values"))[-1]
    assert [200] * 6 == statuses(host)
    assert [] == host.lost()
    replies = [message for message in state["messages"] if isinstance(message, AIMessage)]
    assert 6 == len(replies) == sum(MARK in message.additional_kwargs for message in replies)


def test_inside_a_hook_of_ones_own(strict_hosts):
    from langgraph.prebuilt import create_react_agent

    host = strict_hosts("moonshot")
    model = chat_moonshot(host)
    t = ReplayTransformer(model.bind_tools([get_weather]), policy=Policy(aliases=aliases([host]), window="all"))

    def hook(state):
        return {"llm_input_messages": [SystemMessage("be brief"), *t(state["messages"])]}

    agent = create_react_agent(model, [get_weather], pre_model_hook=hook, post_model_hook=t.capture)
    agent.invoke({"messages": [HumanMessage("q")]})
    assert [] == host.refusals
    assert [] == host.lost()
    assert "system" == host.last.messages[0]["role"]


def test_a_state_whose_last_message_is_marked_or_no_reply_is_left_as_it_is():
    capture = kimi().capture
    assert {} == capture.invoke({"messages": [SAID]})
    assert {} == capture.invoke({"messages": [HumanMessage("q")]})
    assert {} == capture.invoke({"messages": []})
    assert {} == capture.invoke({"messages": [AIMessage("no reasoning")]})


def test_a_hand_written_graph(strict_hosts):
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    host = strict_hosts("moonshot")
    runnable = chain(chat_moonshot(host), host)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [runnable.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    graph.compile().invoke({"messages": [HumanMessage("q")]})
    assert [200] * 3 == statuses(host)
    assert [] == host.lost()


def test_tracers_see_the_transformer_by_its_name():
    from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

    collector = RunCollectorCallbackHandler()
    t = kimi()
    (t | RunnableLambda(lambda x: AIMessage("a")) | t.capture).invoke("q", {"callbacks": [collector]})
    names = [each.name for each in collector.traced_runs[0].child_runs]
    assert ["ReplayTransformer", "ReplayTransformer.capture"] == [names[0], names[-1]]
