"""LangChain with a store: an app that builds its history anew from content and tool calls reaches the host unchanged.

Each step is sent twice, as an app that dropped everything says it and as one that kept everything; the two bodies are
compared.
"""

import copy
from importlib.util import find_spec

import pytest

for package in ("langchain_openai", "langchain_deepseek", "langchain_anthropic", "langchain_moonshot", "langchain"):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField

from langchain_calls import MODES, chat_anthropic, chat_deepseek, chat_moonshot, chat_openai, collected, get_weather
from reasoning_replay import Policy
from reasoning_replay.langchain import ReasoningReplayMiddleware, report_of, with_reasoning_replay
from reasoning_replay.langchain._settings import Settings
from reasoning_replay.stores import MemoryStore
from reasoning_replay.testing import Reply, Text, aliases, call, sealed, think

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    yield
    collected()


def chat_responses(host):
    return chat_openai(host, use_responses_api=True, store=False, reasoning={"effort": "low"})


KINDS = {
    "deepseek": chat_deepseek,
    "moonshot": chat_moonshot,
    "anthropic": chat_anthropic,
    "openai-responses": chat_responses,
}
SLOW = pytest.mark.slow
CASES = [
    *((kind, mode) for kind in KINDS for mode in ("invoke", "astream")),
    *(pytest.param(kind, mode, marks=SLOW) for kind in KINDS for mode in ("ainvoke", "stream", "batch")),
]


def policy(*hosts):
    return Policy(aliases=aliases(hosts))


def visible(message):
    """A reply as a database of an app has it."""
    return AIMessage(str(message.text), tool_calls=message.tool_calls)


def told(host):
    """The last history without what OpenAI calls the phase of a message: no app that keeps texts has it."""
    return [{key: value for key, value in row.items() if key != "phase"} for row in host.last.messages]


def results(reply):
    return [ToolMessage("3C", tool_call_id=each["id"]) for each in reply.tool_calls]


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_an_app_that_drops_everything_reaches_the_host_as_one_that_keeps_everything(kind, mode, strict_hosts):
    host = strict_hosts(kind)
    model = with_reasoning_replay(KINDS[kind](host).bind_tools([get_weather]), policy(host), known=MemoryStore())
    kept, dropped = [HumanMessage("How is it?")], [HumanMessage("How is it?")]
    for step in range(6):
        reply = MODES[mode](model, dropped)
        body, lost = told(host), host.lost()
        assert 200 == host.last.status
        MODES[mode](model, kept)
        assert (body, lost) == (told(host), host.lost())
        assert step > 2 or not lost
        if step == 2:
            assert report_of(reply).counts()["restore"]
        kept += [reply, *results(reply)]
        dropped += [visible(reply), *results(reply)]
        if not reply.tool_calls:
            kept.append(HumanMessage("And tomorrow?"))
            dropped.append(HumanMessage("And tomorrow?"))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [(kind, mode) for kind in ("anthropic", "openai-responses") for mode in ("invoke", "stream")],
)
def test_what_only_the_host_can_read_comes_back_in_its_place(kind, mode, strict_hosts):
    parts = (think(), sealed(), Text("I look."), think(), call(city="Oslo"), call(city="Rome"))
    host = strict_hosts(kind, script=[Reply(parts)])
    model = with_reasoning_replay(KINDS[kind](host).bind_tools([get_weather]), policy(host), known=MemoryStore())
    question = HumanMessage("How is it?")
    reply = MODES[mode](model, [question])
    MODES[mode](model, [question, visible(reply), *results(reply)])
    dropped = told(host)
    assert (200, []) == (host.last.status, host.lost())
    MODES[mode](model, [question, reply, *results(reply)])
    assert told(host) == dropped


def test_nothing_kept_goes_to_another_host_nor_from_one_tenant_to_another(strict_hosts):
    home, away, store = strict_hosts("deepseek"), strict_hosts("moonshot"), MemoryStore()
    given = policy(home, away)
    question = HumanMessage("How is it?")
    model = with_reasoning_replay(chat_deepseek(home).bind_tools([get_weather]), given, known=store.of("one"))
    reply = model.invoke([question])
    history = [question, visible(reply), *results(reply)]

    with_reasoning_replay(chat_moonshot(away).bind_tools([get_weather]), given, known=store.of("one")).invoke(history)
    assert b"CANARY" not in away.last.raw
    with_reasoning_replay(model, known=store.of("two")).invoke(history)
    assert b"CANARY" not in home.last.raw
    model.invoke(history)
    assert [] == home.lost()


def test_a_stream_that_is_left_early_keeps_nothing(strict_hosts):
    host, store = strict_hosts("deepseek"), MemoryStore()
    model = with_reasoning_replay(chat_deepseek(host).bind_tools([get_weather]), policy(host), known=store)
    stream = model.stream([HumanMessage("How is it?")])
    next(stream)
    stream.close()
    assert 0 == len(store)


CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}]
TEMPERATURE = ConfigurableField(id="t")
OTHER = ConfigurableField(id="m")


def with_fields(model):
    return model.configurable_fields(temperature=TEMPERATURE).with_config(configurable={"t": 0.5})


def with_a_factory(model):
    chosen = model.configurable_alternatives(OTHER, default_key="d", other=lambda: model)
    return chosen.with_config(configurable={"m": "other"})


CHANGES = {
    "copy": copy.copy,
    "model_copy": lambda model: model.model_copy(),
    "twice": with_reasoning_replay,
    "the same policy": lambda model: with_reasoning_replay(model, model._reasoning_replay.policy),
    "config": lambda model: model.with_config(tags=["x"]),
    "fields": with_fields,
    "fallbacks": lambda model: model.with_fallbacks([model]),
}


class TestWhereverAModelIsBuilt:
    """The store goes with the model, as its policy does; None leaves what is there."""

    def built(self, host, store):
        return with_reasoning_replay(chat_deepseek(host), policy(host), known=store)

    def check(self, model, store):
        question = HumanMessage("How is it?")
        reply = model.invoke([question], tools=TOOLS)
        again = model.invoke([question, visible(reply), *results(reply)], tools=TOOLS)
        assert report_of(again).counts().get("restore"), "kept and found"
        assert len(store) > 0

    @pytest.mark.parametrize("how", CHANGES)
    def test_it_has_the_store(self, how, strict_hosts):
        host, store = strict_hosts("deepseek"), MemoryStore()
        self.check(CHANGES[how](self.built(host, store)), store)

    @pytest.mark.parametrize("unwrapped", [with_fields, with_a_factory])
    def test_a_model_to_come_gets_it(self, unwrapped, strict_hosts):
        host, store = strict_hosts("deepseek"), MemoryStore()
        self.check(with_reasoning_replay(unwrapped(chat_deepseek(host)), policy(host), known=store), store)

    def test_a_policy_alone_leaves_the_store_and_a_store_alone_leaves_the_policy(self, strict_hosts):
        host, store = strict_hosts("deepseek"), MemoryStore()
        model = self.built(host, store)
        assert with_reasoning_replay(model, Policy(window="none"))._reasoning_replay == (
            Policy(window="none"),
            store,
            None,
        )
        other = MemoryStore()
        assert with_reasoning_replay(model, known=other)._reasoning_replay == (policy(host), other, None)
        assert with_reasoning_replay(model, known=store) is model

    def test_a_deep_copy_of_a_model_shares_the_store(self):
        settings = Settings(Policy(), MemoryStore())
        assert copy.deepcopy(settings) is settings

    def test_the_middleware_of_an_agent_hands_it_on(self, strict_hosts):
        host, store = strict_hosts("deepseek"), MemoryStore()
        handed = ReasoningReplayMiddleware(policy(host), known=store)
        agent = create_agent(chat_deepseek(host), [get_weather], middleware=[handed])
        state = agent.invoke({"messages": [HumanMessage("How is it?")]})
        history = [visible(m) if isinstance(m, AIMessage) else m for m in state["messages"]]
        agent.invoke({"messages": [*history, HumanMessage("And now?")]})
        assert ([], []) == (host.lost(), host.refusals)


@pytest.mark.parametrize("given", ["store.db", object()])
def test_what_is_no_store_is_refused(given, strict_hosts):
    with pytest.raises(TypeError, match=rf"known: a {type(given).__name__}; allowed: a store"):
        with_reasoning_replay(chat_deepseek(strict_hosts("deepseek")), known=given)
    with pytest.raises(TypeError, match="allowed: a store"):
        ReasoningReplayMiddleware(known=given)
