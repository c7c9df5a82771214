"""`with_reasoning_replay` around whatever holds a chat model: found, wrapped, and proven by a tool loop on the wire."""

import copy
import pickle
from operator import itemgetter

import pytest

pytest.importorskip("langchain_deepseek")

from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    ConfigurableField,
    RouterRunnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_deepseek import ChatDeepSeek
from langchain_moonshot import ChatMoonshot
from langchain_openai import ChatOpenAI

from langchain_calls import run
from reasoning_replay import Policy
from reasoning_replay._policy import BadPolicy
from reasoning_replay.langchain import with_reasoning_replay
from reasoning_replay.langchain._model import is_wrapped
from reasoning_replay.testing import Reply, aliases

pytestmark = pytest.mark.filterwarnings("ignore")  # LangChain's classes warn by the dozen; ours go to a log

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}]
OTHER = Policy(missing="leave")


def deepseek(host=None, cls=ChatDeepSeek, **more):
    url = "http://127.0.0.1:1" if host is None else host.url
    name = "deepseek-v4" if host is None else host.model
    key = {"api_base": url} if cls is ChatDeepSeek else {"base_url": url}
    return cls(model=name, api_key="k", max_retries=0, **key, **more)


def fields(model):
    return model.configurable_fields(temperature=ConfigurableField(id="t")).with_config(configurable={"t": 0.5})


def alternatives(model):
    chosen = model.configurable_alternatives(ConfigurableField(id="which"), default_key="a", b=model)
    return chosen.with_config(configurable={"which": "b"})


def factory(model):
    chosen = model.configurable_alternatives(ConfigurableField(id="which"), default_key="a", b=lambda: model)
    return chosen.with_config(configurable={"which": "b"})


def model_to_come(model, *fields):
    from langchain.chat_models import init_chat_model

    more = {"api_key": "k", "max_retries": 0, "api_base": model.api_base}
    return init_chat_model(
        model.model_name, model_provider="deepseek", configurable_fields=("temperature", *fields), **more
    )


def with_tools(model):
    return model.bind(tools=TOOLS)


WAYS = {
    "a model": with_tools,
    "bind_tools": lambda m: m.bind_tools(TOOLS),
    "with_config": lambda m: with_tools(m).with_config(tags=["a"]),
    "with_listeners": lambda m: with_tools(m).with_listeners(on_end=lambda _: None),
    "with_types": lambda m: with_tools(m).with_types(output_type=AIMessage),
    "with_retry": lambda m: with_tools(m).with_retry(),
    "with_fallbacks": lambda m: with_tools(m).with_fallbacks([with_tools(m)]),
    "second of with_fallbacks": lambda m: with_tools(deepseek()).with_fallbacks([with_tools(m)]),
    "a sequence": lambda m: RunnablePassthrough() | RunnableLambda(lambda x: x) | with_tools(m),
    "the head of a sequence": lambda m: with_tools(m) | RunnablePassthrough(),
    "a prompt's sequence": lambda m: (
        {"history": RunnablePassthrough()} | ChatPromptTemplate([MessagesPlaceholder("history")]) | with_tools(m)
    ),
    "a parallel": lambda m: RunnableParallel(raw=with_tools(m), n=len) | itemgetter("raw"),
    "assign": lambda m: (
        RunnableParallel(m=RunnablePassthrough())
        | RunnablePassthrough.assign(raw=itemgetter("m") | with_tools(m))
        | itemgetter("raw")
    ),
    "a branch": lambda m: RunnableBranch((lambda x: len(x) > 0, with_tools(m)), RunnableLambda(lambda x: x)),
    "a branch's default": lambda m: RunnableBranch((lambda x: x == [], RunnableLambda(lambda x: x)), with_tools(m)),
    "a router": lambda m: (
        RunnableLambda(lambda x: {"key": "a", "input": x}) | RouterRunnable(runnables={"a": with_tools(m)})
    ),
    "map": lambda m: RunnableLambda(lambda x: [x]) | with_tools(m).map() | itemgetter(0),
    "configurable_fields": lambda m: with_tools(fields(m)),
    "configurable_alternatives": lambda m: with_tools(alternatives(m)),
    "an alternative's factory": lambda m: with_tools(factory(m)),
    "alternatives of fields": lambda m: with_tools(
        alternatives(m.configurable_fields(temperature=ConfigurableField(id="t")))
    ),
    "init_chat_model": lambda m: with_tools(model_to_come(m)),
    "init_chat_model, bind_tools": lambda m: model_to_come(m).bind_tools(TOOLS),
    "init_chat_model, with_config": lambda m: (
        model_to_come(m).bind_tools(TOOLS).with_config(configurable={"temperature": 0.5}, tags=["a"])
    ),
}
"""How a chat model with tools can be packed: each takes a list of messages and gives an AIMessage."""


def loop(runnable, steps=3, invoke=lambda runnable, messages: runnable.invoke(messages)):
    messages = [HumanMessage("How is the weather?")]
    for _ in range(steps):
        reply = invoke(runnable, messages)
        messages.append(reply)
        messages += [ToolMessage("rain", tool_call_id=each["id"]) for each in reply.tool_calls]
    return messages


def fine(host, requests=3):
    assert [200] * requests == [request.status for request in host.requests]
    assert [] == host.lost()


@pytest.fixture
def host(strict_hosts):
    return strict_hosts("deepseek")


def policy_of(*hosts, **more):
    return Policy(aliases=aliases(hosts), **more)


@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_found_wherever_it_stands_and_its_tool_loop_is_whole(way, host):
    loop(with_reasoning_replay(WAYS[way](deepseek(host)), policy_of(host)))
    fine(host)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_made_of_a_wrapped_model_is_wrapped_too(way, host):
    if way.startswith("init"):
        given = with_reasoning_replay(model_to_come(deepseek(host)), policy_of(host))
        made = given.bind_tools(TOOLS)
        loop(made.with_config(configurable={"temperature": 0.1}) if "config" in way else made)
    else:
        loop(WAYS[way](with_reasoning_replay(deepseek(host), policy_of(host))))
    fine(host)


@pytest.mark.parametrize("way", WAYS)
def test_twice_is_once_and_no_policy_leaves_the_one_that_is_there(way):
    given = WAYS[way](deepseek())
    once = with_reasoning_replay(given, OTHER)
    assert once is not given
    assert type(once).__name__ == type(given).__name__
    assert isinstance(once, type(given))
    assert with_reasoning_replay(once, Policy(missing="leave")) is once
    assert with_reasoning_replay(once) is once
    assert with_reasoning_replay(once, Policy()) is not once


def models_in(runnable, found=None):
    """Every chat model in it, by walking its fields."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    found = [] if found is None else found
    if isinstance(runnable, BaseChatModel):
        found.append(runnable)
    elif isinstance(runnable, (list, tuple, dict)):
        for each in runnable.values() if isinstance(runnable, dict) else runnable:
            models_in(each, found)
    elif isinstance(runnable, Runnable) and hasattr(runnable, "model_fields_set"):
        for name, value in vars(runnable).items():
            if name not in ("kwargs", "config"):
                models_in(value, found)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_what_was_given_stays_as_it_was(way):
    given = WAYS[way](deepseek())
    before = models_in(given)
    once = with_reasoning_replay(given)
    assert [id(each) for each in before] == [id(each) for each in models_in(given)]
    assert not any(is_wrapped(each) for each in before)
    assert all(is_wrapped(each) for each in models_in(once))
    assert len(before) == len(models_in(once))


def test_a_part_without_a_model_is_shared():
    parser, prompt = StrOutputParser(), ChatPromptTemplate([("human", "{q}")])
    once = with_reasoning_replay(prompt | deepseek() | parser)
    assert once.first is prompt
    assert once.last is parser


def test_another_policy_wraps_anew_with_the_new_one():
    first = with_reasoning_replay(deepseek() | StrOutputParser(), OTHER)
    second = with_reasoning_replay(first, Policy(window="all"))
    assert OTHER == first.first._reasoning_replay.policy
    assert Policy(window="all") == second.first._reasoning_replay.policy


@pytest.mark.parametrize("way", ["configurable_fields", "an alternative's factory", "init_chat_model, bind_tools"])
def test_what_is_built_for_one_call_has_the_policy(way, host):
    """The strict host's address is an alias of DeepSeek only for who has the policy; missing='raise' shows it."""
    policy = policy_of(host, missing="raise")
    runnable = with_reasoning_replay(WAYS[way](deepseek(host, cls=ChatDeepSeek)), policy)
    asked = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[{"name": "get_weather", "args": {}, "id": "c1"}]),
        ToolMessage("rain", tool_call_id="c1"),
    ]
    with pytest.raises(ValueError, match="demands this message's reasoning"):
        runnable.invoke(asked)
    assert [] == host.requests


def test_the_first_of_fallbacks_gets_its_own_back_after_the_second_has_answered(strict_hosts):
    first = strict_hosts("deepseek", script=_fails_second, steps=3)
    second = strict_hosts("moonshot", steps=3)
    here, there = (model.bind_tools(TOOLS) for model in (deepseek(first), deepseek(second, ChatMoonshot)))
    runnable = with_reasoning_replay(here.with_fallbacks([there]), policy_of(first, second))
    loop(runnable, steps=4)
    assert [200, 503, 200, 200] == [request.status for request in first.requests]
    assert [200] == [request.status for request in second.requests]
    assert [] == first.lost()


def _fails_second(turn):
    from reasoning_replay.testing._script import agent

    return Reply((), status=503) if turn.number == 1 else agent(3)(turn)


@pytest.mark.parametrize("method", ["function_calling", "json_mode"])
def test_structured_output_with_the_raw_reply_is_wrapped(method, strict_hosts):
    host = strict_hosts("unknown")  # DeepSeek and Kimi refuse a forced tool while they think
    schema = {"title": "Answer", "type": "object", "properties": {"city": {"type": "string"}}}
    chain = deepseek(host).with_structured_output(schema, method=method, include_raw=True)
    wrapped = with_reasoning_replay(chain, policy_of(host))
    raw = wrapped.invoke([HumanMessage("json: where?")])["raw"]
    assert "reasoning_replay" in raw.additional_kwargs


def test_message_history_keeps_the_marks_and_the_loop(host):
    from langchain_core.chat_history import InMemoryChatMessageHistory
    from langchain_core.runnables.history import RunnableWithMessageHistory

    kept = InMemoryChatMessageHistory()
    given = RunnableWithMessageHistory(deepseek(host).bind_tools(TOOLS), lambda session_id: kept)
    wrapped = with_reasoning_replay(given, policy_of(host))
    assert with_reasoning_replay(wrapped) is wrapped
    config = {"configurable": {"session_id": "a"}}
    asked = HumanMessage("How is the weather?")
    for _ in range(3):
        reply = wrapped.invoke([asked], config)
        asked = ToolMessage("rain", tool_call_id=reply.tool_calls[0]["id"]) if reply.tool_calls else HumanMessage("so?")
    fine(host)
    assert "reasoning_replay" in kept.messages[1].additional_kwargs


def test_message_history_works_in_async_too(host):
    from langchain_core.chat_history import InMemoryChatMessageHistory
    from langchain_core.runnables.history import RunnableWithMessageHistory

    kept = InMemoryChatMessageHistory()
    given = RunnableWithMessageHistory(deepseek(host).bind_tools(TOOLS), lambda session_id: kept)
    wrapped = with_reasoning_replay(given, policy_of(host))

    async def story():
        reply = await wrapped.ainvoke([HumanMessage("q")], {"configurable": {"session_id": "a"}})
        result = ToolMessage("rain", tool_call_id=reply.tool_calls[0]["id"])
        await wrapped.ainvoke([result], {"configurable": {"session_id": "a"}})

    run(story())
    run(wrapped.bound.bound.last.bound.func(None).bound.root_async_client.close())
    fine(host, 2)


MOVED = {
    "init_chat_model": lambda first, second: model_to_come(deepseek(first), "api_base"),
    "configurable_alternatives": lambda first, second: deepseek(first).configurable_alternatives(
        ConfigurableField(id="api_base"), **{second.url: deepseek(second)}
    ),
    "an alternative's factory": lambda first, second: deepseek(first).configurable_alternatives(
        ConfigurableField(id="api_base"), **{second.url: lambda: deepseek(second)}
    ),
}


@pytest.mark.parametrize("way", MOVED)
def test_a_host_that_the_configuration_chooses_gets_nothing_of_the_other(way, strict_hosts):
    """That nothing foreign is on a wire is asked after every test."""
    first, second = strict_hosts("deepseek", steps=4), strict_hosts("deepseek", steps=4)
    runnable = with_tools(with_reasoning_replay(MOVED[way](first, second), policy_of(first, second)))
    there = runnable.with_config(configurable={"api_base": second.url})
    messages = [HumanMessage("q")]
    for each in (runnable, there, runnable, there):
        reply = each.invoke(messages)
        messages += [reply, *(ToolMessage("r", tool_call_id=call["id"]) for call in reply.tool_calls)]
    assert [200] * 4 == [request.status for host in (first, second) for request in host.requests]
    assert [] == first.lost() + second.lost()


def test_a_base_that_langchain_does_not_move_is_not_believed(strict_hosts):
    """`configurable_fields` hands the old client to the new model: the call goes where the client goes."""
    first, second = strict_hosts("deepseek", steps=4), strict_hosts("deepseek")
    given = deepseek(first).configurable_fields(api_base=ConfigurableField(id="api_base"))
    runnable = with_tools(with_reasoning_replay(given, policy_of(first)))
    loop(runnable.with_config(configurable={"api_base": second.url}), steps=4)
    assert [] == second.requests
    fine(first, 4)


def test_a_configurable_model_takes_another_model_of_the_call(host):
    wrapped = with_reasoning_replay(model_to_come(deepseek(host)), policy_of(host))
    config = {"configurable": {"temperature": 0.25}}
    wrapped.bind_tools(TOOLS).invoke([HumanMessage("q")], config)
    assert 0.25 == host.last.json["temperature"]
    assert host.model == wrapped.model_name


def test_a_configurable_model_can_be_copied_and_pickled():
    wrapped = with_reasoning_replay(model_to_come(deepseek()), OTHER).bind_tools(TOOLS)
    for again in (copy.copy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert with_reasoning_replay(again, OTHER) is again
        assert is_wrapped(again._model().bound)
        assert OTHER == again._model().bound._reasoning_replay.policy


def test_configurable_fields_can_be_configured_further_and_stay_wrapped():
    given = deepseek().configurable_fields(temperature=ConfigurableField(id="t"))
    more = with_reasoning_replay(given, OTHER).configurable_fields(top_p=ConfigurableField(id="p"))
    made, _ = more.prepare({"configurable": {"t": 0.5, "p": 0.25}})
    assert (0.5, 0.25) == (made.temperature, made.top_p)
    assert OTHER == made._reasoning_replay.policy


def test_dumped_it_is_langchains_own_class():
    from langchain_core.load import dumpd

    given = deepseek().configurable_fields(temperature=ConfigurableField(id="t"))
    assert dumpd(given)["id"] == dumpd(with_reasoning_replay(given))["id"]


ALLOWED = "allowed: a chat model, or a Runnable that was made of one (a chain, a binding, fallbacks, alternatives)"


def a_graph():
    from langgraph.graph import START, MessagesState, StateGraph

    return StateGraph(MessagesState).add_node("a", lambda state: {}).add_edge(START, "a").compile()


NOTHING = {
    "a graph": (a_graph(), "a CompiledStateGraph in which no chat model can be reached"),
    "a str": ("deepseek-v4", f"with_reasoning_replay: a str; {ALLOWED}"),
    "a class": (ChatOpenAI, f"with_reasoning_replay: the class ChatOpenAI; {ALLOWED}; give an instance"),
    "a function": (
        RunnableLambda(len),
        "with_reasoning_replay: a RunnableLambda in which no chat model can be reached",
    ),
    "a prompt": (ChatPromptTemplate([("human", "q")]), "a ChatPromptTemplate in which no chat model can be reached"),
    "a chain of none": (RunnablePassthrough() | len, "a RunnableSequence in which no chat model can be reached"),
    "a text model": (FakeListLLM(responses=["a"]), "a FakeListLLM in which no chat model can be reached"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_holds_no_model_is_refused_and_told_what_to_do(name):
    given, words = NOTHING[name]
    with pytest.raises(TypeError) as caught:
        with_reasoning_replay(given)
    assert words in str(caught.value)
    if not isinstance(given, (str, type)):
        assert str(caught.value).endswith("wrap that model before you give it away")


def test_a_policy_of_the_wrong_type_is_refused():
    with pytest.raises(BadPolicy) as caught:
        with_reasoning_replay(deepseek(), {"missing": "leave"})
    assert "policy: a dict; allowed: a Policy, or None" == str(caught.value)


def test_any_chat_model_can_be_wrapped():
    model = with_reasoning_replay(GenericFakeChatModel(messages=iter([AIMessage("yes")])))
    assert "yes" == model.invoke("no?").content
