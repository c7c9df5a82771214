"""The switch for LangChain's tracers: sizes and digests for every handler, whole messages for the program and its user.

The judges are a recording tracer, LangSmith's own way of writing a run down, and a handler that dumps whatever it is
told. Dumps are searched byte for byte and in base64 for all that the strict host has issued.
"""

import json
from importlib.util import find_spec

import pytest

for package in ("langchain_openai", "langchain_deepseek", "langchain_anthropic", "langgraph", "langchain"):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.callbacks import manager as callbacks
from langchain_core.load import dumps
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import BaseTracer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send

from langchain_calls import (
    AGENT_MODES,
    MODES,
    ask,
    chat_anthropic,
    chat_deepseek,
    collected,
    get_weather,
    replies_in,
    run,
    turn,
    wrap,
)
from reasoning_replay.langchain import redact_traces, redacted
from reasoning_replay.testing import canaries_in
from reasoning_replay.testing._search import carries

pytestmark = pytest.mark.filterwarnings("ignore")  # LangChain's beta and pydantic's serializer warn by the dozen


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """At the end."""
    yield
    collected()


def shown(value):
    """A value in every way that a log would write it."""
    return "\n".join([repr(value), str(value), json.dumps(value, default=_fields), dumps(value)])


def _fields(value):
    return value.model_dump() if hasattr(value, "model_dump") else [repr(value), str(getattr(value, "__dict__", ""))]


class Told:
    """What a handler was told: event and bytes."""

    def __init__(self):
        super().__init__()
        self.dumps = []

    def holding(self, host):
        words = [word for word in host.issued if not word.startswith(("call_", "toolu_", "fc_", "msg_"))]
        assert words
        return sorted({(name, word) for name, raw in self.dumps for word in words if carries(raw, word)})

    def names(self):
        return {name for name, _ in self.dumps}

    def add(self, name, *values):
        self.dumps += [(name, shown(value).encode()) for value in values]


EVENTS = tuple(name for name in dir(BaseCallbackHandler) if name.startswith("on_"))


def _told(name):
    def method(self, *args, **named):
        self.add(name, *args, named)

    return method


def _told_later(name):
    async def method(self, *args, **named):
        self.add(name, *args, named)

    return method


Dumping = type("Dumping", (Told, BaseCallbackHandler), {name: _told(name) for name in EVENTS})
DumpingLater = type("DumpingLater", (Told, AsyncCallbackHandler), {name: _told_later(name) for name in EVENTS})


class Recording(Told, BaseTracer):
    """A tracer: whole runs, written down as LangSmith's does."""

    def _persist_run(self, run):
        self.add("run", run.inputs, run.outputs, run.error, run.events, run.extra)
        for each in run.child_runs:
            self._persist_run(each)


def handlers():
    return [Dumping(), DumpingLater(), Recording()]


def config(watching):
    return {"callbacks": list(watching)}


def nobody_saw_reasoning(watching, host):
    for each in watching:
        assert each.dumps
        assert [] == each.holding(host)


QUICK = {("deepseek", "invoke"), ("deepseek", "astream"), ("anthropic", "stream"), ("anthropic", "v3")}
MODELS = {"deepseek": chat_deepseek, "anthropic": chat_anthropic}


def sampled(quick, names, modes):
    return [pytest.param(n, m, marks=() if (n, m) in quick else pytest.mark.slow) for n in names for m in modes]


@pytest.mark.parametrize(("name", "mode"), sampled(QUICK, MODELS, MODES))
def test_a_models_handlers_get_no_reasoning_and_its_caller_gets_all(name, mode, strict_hosts):
    host, watching, messages = strict_hosts(name), handlers(), []
    model = wrap(MODELS[name](host).bind_tools([get_weather]), host)
    with redact_traces():
        turn(mode, model, messages, config=config(watching))
    nobody_saw_reasoning(watching, host)
    assert any("[redacted: " in raw.decode() for _, raw in watching[0].dumps)
    assert [] == host.refusals + host.lost()
    assert any(word in str(messages) for word in host.issued)


@pytest.mark.parametrize(
    ("name", "mode"), sampled({("deepseek", "invoke"), ("anthropic", "stream of messages")}, MODELS, AGENT_MODES)
)
def test_an_agents_handlers_get_no_reasoning_and_its_state_is_whole(name, mode, strict_hosts):
    host, watching = strict_hosts(name), handlers()
    agent = create_agent(wrap(MODELS[name](host), host), [get_weather], checkpointer=InMemorySaver())
    told = {**config(watching), "configurable": {"thread_id": "1"}}
    with redact_traces():
        state = ask(mode, agent, config=told)
        assert [] == host.lost()  # in the next turn Claude wants nothing of this one
        ask(mode, agent, "And tomorrow?", config=told)
    nobody_saw_reasoning(watching, host)
    assert [] == host.refusals
    assert any(word in str(state) for word in host.issued)
    assert {"on_chain_start", "on_chain_end", "on_tool_start", "on_tool_end", "on_llm_end"} <= watching[0].names()


def graph_of(model):
    """A graph that hands whole state about: to a node of its own by `Send`, and on by `Command`."""
    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_node("look", lambda state: Command(update={"messages": []}, goto=[Send("last", state)]))
    graph.add_node("last", lambda state: {"messages": []})
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition, {"tools": "tools", "__end__": "look"})
    graph.add_edge("tools", "ask")
    return graph.compile()


def test_a_graph_that_sends_its_state_about_tells_its_handlers_no_reasoning(strict_hosts):
    host, watching = strict_hosts("deepseek"), handlers()
    graph = graph_of(wrap(chat_deepseek(host).bind_tools([get_weather]), host))
    with redact_traces():
        state = graph.invoke({"messages": [HumanMessage("How is the weather?")]}, config(watching))
    nobody_saw_reasoning(watching, host)
    assert [] == host.refusals + host.lost()
    assert any(word in str(state) for word in host.issued)


def test_streams_for_a_user_are_whole(strict_hosts):
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host).bind_tools([get_weather]), host)
    graph = graph_of(model)

    async def events():
        found = [each["data"].get("chunk") async for each in model.astream_events("How is the weather?", version="v2")]
        return [each for each in found if each is not None]

    with redact_traces():
        said = [chunk for chunk, _ in graph.stream({"messages": [HumanMessage("hi")]}, stream_mode="messages")]
        asked = len(host.issued)
        told = run(events())
    words = list(host.issued)
    assert [word for word in words[:asked] if word.startswith("CANARY")] == canaries_in(thoughts_of(said))
    assert [word for word in words[asked:] if word.startswith("CANARY")] == canaries_in(thoughts_of(told))


def thoughts_of(chunks):
    return "".join(chunk.additional_kwargs.get("reasoning_content", "") for chunk in chunks)


def test_listeners_which_keep_a_programs_history_get_whole_messages(strict_hosts):
    host, kept = strict_hosts("deepseek"), []
    model = wrap(chat_deepseek(host), host).with_listeners(on_end=lambda run: kept.append(run.outputs))
    with redact_traces():
        model.invoke("How is the weather?")
    assert any(word in str(kept) for word in host.issued)


def test_a_chains_prompt_and_output_are_redacted(strict_hosts):
    host, watching, messages = strict_hosts("deepseek"), handlers(), []
    model = wrap(chat_deepseek(host).bind_tools([get_weather]), host)
    turn("invoke", model, messages)
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), MessagesPlaceholder("history")]) | model
    with redact_traces():
        chain.invoke({"history": [*messages, HumanMessage("And tomorrow?")]}, config(watching))
    nobody_saw_reasoning(watching, host)
    assert [] == host.refusals + host.lost()


@pytest.mark.leaks("the host quotes what it was sent")
def test_an_error_that_quotes_reasoning_is_redacted_where_it_is_raised_and_all_the_way_up(strict_hosts):
    host, watching, messages = strict_hosts("deepseek"), handlers(), []
    turn("invoke", wrap(chat_deepseek(host).bind_tools([get_weather]), host), messages)
    thought = replies_in(messages)[0].additional_kwargs["reasoning_content"]

    def fails(asked):
        raise ValueError(f"400: the message {thought[:40]!r} is refused") from KeyError(thought)

    chain = RunnableLambda(lambda asked: messages) | RunnableLambda(fails)  # whoever is around it has not seen them
    with redact_traces(), pytest.raises(ValueError, match="is refused"):
        chain.invoke("go", config(watching))
    nobody_saw_reasoning(watching, host)
    assert {"on_chain_error"} <= watching[0].names()


def test_off_is_off_and_nothing_of_ours_is_left(strict_hosts):
    before = callbacks.handle_event, callbacks.ahandle_event
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host), host)
    outer = redact_traces()
    with redact_traces():
        assert callbacks.handle_event is not before[0]
    watching = handlers()
    model.invoke("How is the weather?", config(watching))
    nobody_saw_reasoning(watching, host)
    outer.uninstall()
    outer.uninstall()
    assert (callbacks.handle_event, callbacks.ahandle_event) == before
    watching = handlers()
    model.invoke("How is the weather?", config(watching))
    assert all(each.holding(host) for each in watching)


@pytest.mark.parametrize("mode", ["invoke", pytest.param("astream", marks=pytest.mark.slow)])
def test_one_handler_can_be_redacted_alone(mode, strict_hosts):
    host, watching, others, messages = strict_hosts("anthropic"), handlers(), handlers(), []
    model = wrap(chat_anthropic(host).bind_tools([get_weather]), host)
    turn(mode, model, messages, config=config([*map(redacted, watching), *others]))
    nobody_saw_reasoning(watching, host)
    assert all(each.holding(host) for each in others)
    for each in watching:
        copy = redacted(each)
        assert isinstance(copy, type(each))
        assert copy.dumps is each.dumps
        assert redacted(copy) is copy


def test_what_is_no_handler_is_refused():
    with pytest.raises(TypeError, match="handler: a str; allowed: a callback handler"):
        redacted("langsmith")
