"""Tool loops at a strict DeepSeek V4 (its own package judges) and at a real llama.cpp server, in every way to run them."""

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import pytest

for package in ("langchain_openai", "langchain_deepseek", "langchain_anthropic", "langgraph", "langchain"):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

import openai
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from langchain_calls import (
    AGENT_MODES,
    CLASSES,
    MODES,
    added,
    append,
    ask,
    asking,
    chat_anthropic,
    chat_deepseek,
    chat_moonshot,
    chat_openai,
    collected,
    get_weather,
    go_on,
    replies_in,
    run,
    statuses,
    turn,
    wrap,
)
from reasoning_replay.langchain import report_of
from reasoning_replay.testing import Reply, Text, call, canaries_in, foreign_bytes, think

pytestmark = pytest.mark.filterwarnings("ignore")  # LangChain's beta and pydantic's serializer warn by the dozen


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """At the end."""
    yield
    collected()


OWN_WORDS = "The `reasoning_content` in the thinking mode must be passed back to the API."


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


@pytest.fixture(params=CLASSES)
def cls(request):
    """The name of a class that fails at DeepSeek as it is."""
    return request.param


def bound(model):
    return model.bind_tools([get_weather])


def reasoning_seen(host):
    """The canaries in the prompt that DeepSeek's package rendered last."""
    return sorted(canaries_in(host.last.prompt))


def issued_before_last(host):
    return sorted(set(host.issued) - set(canaries_in(json.dumps(host.last.reply))))


# The bare classes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_bare_class_is_refused_by_deepseek_at_the_first_tool_result(mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    with pytest.raises(openai.BadRequestError, match="must be passed back"):
        turn(mode, bound(CLASSES[cls](host)), [])
    assert statuses(host) == [200, 400]
    assert host.refusals == [OWN_WORDS]


@pytest.mark.parametrize("mode", AGENT_MODES)
def test_the_bare_class_is_refused_in_an_agent_too(mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    with pytest.raises(openai.BadRequestError, match="must be passed back"):
        ask(mode, create_agent(CLASSES[cls](host), [get_weather]))
    assert host.refusals == [OWN_WORDS]


# Plain loops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_deepseek_gets_every_step_of_three_turns_back(mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    model, messages = bound(wrap(CLASSES[cls](host), host)), []
    for text in ("one", "two", "three"):
        turn(mode, model, messages, text)
    assert statuses(host) == [200] * 9
    assert host.lost() == []
    assert reasoning_seen(host) == issued_before_last(host)


def test_each_mode_can_go_on_with_what_another_mode_stored(cls, strict_hosts):
    host = strict_hosts("deepseek", steps=len(MODES))
    model, messages = bound(wrap(CLASSES[cls](host), host)), [HumanMessage("go")]
    for mode in MODES:
        append(messages, MODES[mode](model, messages))
    go_on("invoke", model, messages)
    assert statuses(host) == [200] * (len(MODES) + 1)
    assert reasoning_seen(host) == issued_before_last(host)


def test_the_tools_can_be_bound_before_the_model_is_wrapped(cls, strict_hosts):
    host = strict_hosts("deepseek")
    turn("invoke", wrap(bound(CLASSES[cls](host)), host), [])
    assert statuses(host) == [200] * 3
    assert host.lost() == []


@pytest.mark.parametrize("version", ["v0", "v1"])
@pytest.mark.parametrize("mode", ["invoke", "stream", "v3"])
def test_both_output_versions_carry_it(version, mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    turn(mode, bound(wrap(CLASSES[cls](host, output_version=version), host)), [])
    assert statuses(host) == [200] * 3
    assert host.lost() == []


def test_the_reasoning_is_under_langchains_own_name_word_for_word(cls, strict_hosts):
    host = strict_hosts("deepseek")
    reply = wrap(CLASSES[cls](host), host).invoke("hello")
    assert reply.additional_kwargs["reasoning_content"] == host.last.reply["choices"][0]["message"]["reasoning_content"]


def test_the_standard_blocks_are_those_of_the_bare_class(cls, strict_hosts):
    host = strict_hosts("deepseek")
    kinds = [
        [block["type"] for block in model.invoke("hello").content_blocks]
        for model in (CLASSES[cls](host), wrap(CLASSES[cls](host), host))
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("mode", ["stream", "astream"])
def test_the_reasoning_comes_piece_by_piece_and_never_twice(mode, cls, strict_hosts):
    host = strict_hosts("deepseek", script=[Reply((think(), Text("Done.")), pieces=4)])
    seen = []
    model = wrap(CLASSES[cls](host), host)
    if mode == "stream":
        seen = list(model.stream("hello"))
    else:

        async def collect():
            return [chunk async for chunk in model.astream("hello")]

        seen = run(collect())
    pieces = [c.additional_kwargs["reasoning_content"] for c in seen if c.additional_kwargs.get("reasoning_content")]
    assert len(pieces) == 4
    assert "".join(pieces) == host.last.reply["choices"][0]["message"]["reasoning_content"]
    assert added(seen).additional_kwargs["reasoning_content"] == "".join(pieces)


def test_parallel_calls_in_one_reply_keep_their_reasoning(cls, strict_hosts):
    two = Reply((think(), call(city="Oslo"), call(city="Bergen")))
    host = strict_hosts("deepseek", script=[two, two])
    model, messages = bound(wrap(CLASSES[cls](host), host)), []
    turn("stream", model, messages)
    assert [len(m.tool_calls) for m in replies_in(messages)] == [2, 2, 0]
    assert statuses(host) == [200] * 3
    assert reasoning_seen(host) == issued_before_last(host)


def test_conversations_in_parallel_never_mix(cls, strict_hosts):
    host = strict_hosts("deepseek")
    model = bound(wrap(CLASSES[cls](host), host))
    histories = [[] for _ in range(6)]

    def talk(number):
        for text in ("one", "two"):
            turn("stream" if number % 2 else "invoke", model, histories[number], f"{text} of {number}")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))
    own = [{w for m in replies_in(h) for w in canaries_in(m.additional_kwargs["reasoning_content"])} for h in histories]
    assert sum(len(words) for words in own) == len(set().union(*own)) == len(host.issued)
    for number, words in enumerate(own):
        last = [r for r in host.requests if f"two of {number}" in json.dumps(r.messages)][-1]
        assert set(canaries_in(last.raw.decode())) < words
        assert len(canaries_in(last.raw.decode())) == 5


def test_a_batch_of_conversations_goes_on_each_with_its_own(cls, strict_hosts):
    host = strict_hosts("deepseek")
    model = bound(wrap(CLASSES[cls](host), host))
    histories = [[HumanMessage(f"question {n}")] for n in range(4)]
    for _ in range(3):
        for history, reply in zip(histories, model.batch(histories), strict=True):
            append(history, reply)
    assert statuses(host) == [200] * 12
    for number, history in enumerate(histories):
        words = [w for m in replies_in(history) for w in canaries_in(m.additional_kwargs["reasoning_content"])]
        last = [r for r in host.requests if f"question {number}" in json.dumps(r.messages)][-1]
        assert canaries_in(last.raw.decode()) == words[:2]


# Structured output ----------------------------------------------------------------------------------------------------

METHODS = ("function_calling", "json_mode", "json_schema")
FORCED = {("ChatDeepSeek", "function_calling"), ("ChatDeepSeek", "json_schema"), ("ChatOpenAI", "function_calling")}
"""Where the class forces a tool, which V4 refuses while it thinks (its package says so): these are asked of V3.2."""


def host_for(method, cls):
    return "deepseek-v3.2" if (cls, method) in FORCED else "deepseek"


def structured_script(turn):
    """The schema's tool where it is given, JSON where a format is asked for, else the weather."""
    names = [tool["function"]["name"] for tool in turn.body.get("tools") or ()]
    if "Weather" in names and (names == ["Weather"] or turn.step >= 1):
        return Reply((think(), call("Weather", city="Oslo", degrees=3)))
    if turn.step < 1 and names:
        return Reply((think(), call(city="Oslo")))
    if turn.body.get("response_format"):
        return Reply((think(), Text('{"city": "Oslo", "degrees": 3}')), pieces=4)
    return Reply((think(), Text()))


async def _collected(stream):
    return [piece async for piece in stream]


STRUCTURED = {
    "invoke": lambda model, messages: [model.invoke(messages)],
    "stream": lambda model, messages: list(model.stream(messages)),
    "ainvoke": lambda model, messages: [run(model.ainvoke(messages))],
    "astream": lambda model, messages: run(_collected(model.astream(messages))),
}


@pytest.mark.parametrize("mode", STRUCTURED)
@pytest.mark.parametrize("method", METHODS)
def test_structured_output_after_a_loop_is_taken_parsed_and_never_doubled(method, mode, cls, strict_hosts):
    host = strict_hosts(host_for(method, cls), script=structured_script)
    model, messages = wrap(CLASSES[cls](host), host), []
    turn("invoke", bound(model), messages)
    messages.append(HumanMessage("As JSON, please.", additional_kwargs={"turn": False}))
    asked = model.with_structured_output(Weather, method=method, include_raw=True)
    pieces = STRUCTURED[mode](asked, messages)
    raw = added([piece["raw"] for piece in pieces if "raw" in piece])
    parsed = [piece["parsed"] for piece in pieces if "parsed" in piece][-1]
    assert host.refusals == []
    assert host.lost() == []
    assert parsed == Weather(city="Oslo", degrees=3)
    assert len(canaries_in(str(raw.additional_kwargs))) == 1
    assert raw.additional_kwargs["reasoning_content"] == host.last.reply["choices"][0]["message"]["reasoning_content"]


@pytest.mark.parametrize("method", METHODS)
def test_a_structured_reply_that_is_stored_goes_back_like_any_other(method, cls, strict_hosts):
    host = strict_hosts(host_for(method, cls), script=structured_script)
    model, messages = wrap(CLASSES[cls](host), host), [HumanMessage("As JSON, please.")]
    asked = model.with_structured_output(Weather, method=method, include_raw=True)
    append_structured(messages, asked.invoke(messages)["raw"])
    messages.append(HumanMessage("And the weather?", additional_kwargs={"turn": False}))
    go_on("invoke", bound(model), messages)
    assert host.refusals == []
    assert host.lost() == []


def test_what_v4_says_to_a_forced_tool_reaches_the_caller_as_before(cls, strict_hosts):
    host = strict_hosts("deepseek", script=structured_script)
    for model in (CLASSES[cls](host), wrap(CLASSES[cls](host), host)):
        with pytest.raises(openai.BadRequestError, match="does not support this tool_choice"):
            model.with_structured_output(Weather, method="function_calling").invoke("As JSON, please.")


def test_v4_takes_a_forced_tool_after_a_loop_when_thinking_is_off(cls, strict_hosts):
    host = strict_hosts("deepseek", script=structured_script)
    messages = []
    turn("invoke", bound(wrap(CLASSES[cls](host), host)), messages)
    messages.append(HumanMessage("As JSON, please."))
    off = wrap(CLASSES[cls](host, extra_body={"thinking": {"type": "disabled"}}), host)
    assert off.with_structured_output(Weather, method="function_calling").invoke(messages) == Weather(
        city="Oslo", degrees=3
    )
    assert host.refusals == []


def append_structured(messages, raw):
    """The answer to a schema's own tool is a word of the program."""
    from langchain_core.messages import ToolMessage

    messages.append(raw)
    messages += [ToolMessage("noted", tool_call_id=c["id"]) for c in raw.tool_calls]


# Agents and graphs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", AGENT_MODES)
def test_an_agent_runs_two_turns_in_each_run_mode(mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    agent = create_agent(wrap(CLASSES[cls](host), host), [get_weather])
    state = ask(mode, agent)
    state = ask(mode, agent, "And tomorrow?", before=state["messages"])
    assert statuses(host) == [200] * 6
    assert host.lost() == []
    assert reasoning_seen(host) == issued_before_last(host)
    assert len(state["messages"]) == 12


@pytest.mark.parametrize("mode", AGENT_MODES)
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_agent_answers_in_a_schema_in_each_run_mode(strategy, mode, cls, strict_hosts):
    host = strict_hosts(
        "deepseek-v3.2", script=structured_script
    )  # V4 refuses a forced tool, and a format beside tools
    agent = create_agent(wrap(CLASSES[cls](host), host), [get_weather], response_format=strategy(Weather))
    state = ask(mode, agent)
    names = [c["name"] for m in replies_in(state["messages"]) for c in m.tool_calls]
    assert state["structured_response"] == Weather(city="Oslo", degrees=3)
    assert names == (["get_weather", "Weather"] if strategy is ToolStrategy else ["get_weather"])
    assert host.lost() == []
    ask(mode, agent, "Again.", before=state["messages"])
    assert host.refusals == []


@pytest.mark.parametrize("mode", AGENT_MODES)
def test_the_older_react_agent_runs_in_each_run_mode(mode, cls, strict_hosts):
    from langgraph.prebuilt import create_react_agent

    host = strict_hosts("deepseek")
    ask(mode, create_react_agent(wrap(CLASSES[cls](host), host), [get_weather]))
    assert statuses(host) == [200] * 3
    assert host.lost() == []


def graph_of(model):
    """A loop written by hand."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [bound(model).invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


@pytest.mark.parametrize("mode", AGENT_MODES)
def test_a_graph_written_by_hand_runs_in_each_run_mode(mode, cls, strict_hosts):
    host = strict_hosts("deepseek")
    graph = graph_of(wrap(CLASSES[cls](host), host))
    state = ask(mode, graph)
    ask(mode, graph, "And tomorrow?", before=state["messages"])
    assert statuses(host) == [200] * 6
    assert reasoning_seen(host) == issued_before_last(host)


# Other hosts ----------------------------------------------------------------------------------------------------------

OTHERS = {"moonshot": chat_openai, "anthropic": chat_anthropic, "cerebras": chat_openai, "unknown": chat_openai}


def busy_at(step):
    """DeepSeek's model, out of order at one step of the first turn."""

    def script(turn):
        if turn.step == step and turn.number < FIRST_TURN:
            return Reply((), status=503)
        lead = (think(),)
        return Reply((*lead, call(city=f"Oslo-{turn.step}"))) if turn.step < 3 else Reply((*lead, Text()))

    return script


FIRST_TURN = 4


WAYS = ("invoke", "astream", "stream", "ainvoke", "batch")
"""Fallbacks have no v3."""
QUICK = {
    (other, WAYS[(2 * place + more) % len(WAYS)]) for place, other in enumerate(OTHERS) for more in (0, 1)
}  # each host in two ways, each way at one host at least; the long run has them all


@pytest.mark.parametrize(
    ("other", "mode"),
    [
        pytest.param(other, way, marks=[] if (other, way) in QUICK else [pytest.mark.slow])
        for other in OTHERS
        for way in WAYS
    ],
)
def test_a_loop_falls_back_to_another_host_and_comes_back(other, mode, cls, strict_hosts):
    host, away = strict_hosts("deepseek", script=busy_at(1)), strict_hosts(other, steps=4)
    first = bound(wrap(CLASSES[cls](host), host, away))
    second = bound(wrap(OTHERS[other](away), host, away))
    model, messages = first.with_fallbacks([second]), []
    turn(mode, model, messages)
    turn(mode, model, messages, "And tomorrow?")
    assert [s for s in statuses(host) if s not in (200, 503)] == []
    assert statuses(host).count(503) >= 1
    assert set(statuses(away)) == {200}
    assert foreign_bytes([host, away]) == []
    assert host.lost() == []


@pytest.mark.leaks("the bare fallback, to show what it sends")
def test_a_bare_fallback_hands_deepseeks_reasoning_to_the_next_host(strict_hosts):
    host, away = strict_hosts("deepseek", script=[Reply((think(), call()))]), strict_hosts("moonshot")
    messages = []
    append(messages, bound(chat_deepseek(host)).invoke([HumanMessage("hello")]))
    bound(chat_moonshot(away)).invoke([HumanMessage("hello"), *messages])
    assert foreign_bytes([host, away]) != []


def test_fallbacks_can_be_wrapped_as_a_whole(cls, strict_hosts):
    host, away = strict_hosts("deepseek", script=busy_at(1)), strict_hosts("moonshot", steps=4)
    chain = bound(CLASSES[cls](host)).with_fallbacks([bound(chat_openai(away))])
    turn("invoke", wrap(chain, host, away), [])
    assert set(statuses(away)) == {200}
    assert foreign_bytes([host, away]) == []


# A stream that ends early ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_stream_closed_early_can_be_stored_and_goes_nowhere_else(after, cls, strict_hosts):
    host, away = strict_hosts("deepseek"), strict_hosts("moonshot")
    model, messages = wrap(CLASSES[cls](host), host, away), [HumanMessage("hello")]
    stream = model.stream(messages)
    partial = added([next(stream) for _ in range(after)])
    stream.close()
    messages += [partial, HumanMessage("go on")]
    turn("stream", bound(model), messages)
    wrap(chat_openai(away), host, away).invoke([*messages, HumanMessage("you too")])
    assert [r for r in host.refusals if r == OWN_WORDS] == []
    assert foreign_bytes([host, away]) == []


@pytest.mark.parametrize("after", [1, 2])
def test_an_async_stream_closed_early_can_be_stored_too(after, cls, strict_hosts):
    host, away = strict_hosts("deepseek"), strict_hosts("moonshot")
    model, messages = wrap(CLASSES[cls](host), host, away), [HumanMessage("hello")]

    async def front():
        stream = model.astream(messages)
        seen = [await anext(stream) for _ in range(after)]
        await stream.aclose()
        return added(seen)

    messages += [run(front()), HumanMessage("go on")]
    turn("astream", bound(model), messages)
    wrap(chat_openai(away), host, away).invoke([*messages, HumanMessage("you too")])
    assert [r for r in host.refusals if r == OWN_WORDS] == []
    assert foreign_bytes([host, away]) == []


def test_a_stream_that_breaks_off_raises_what_the_bare_class_raises(cls, strict_hosts):
    host = strict_hosts("deepseek", script=[Reply((think(), Text("Done.")), cut=3)] * 2)
    with pytest.raises(Exception) as bare:  # noqa: PT011 - the same type and words are asked for below
        list(CLASSES[cls](host).stream("hello"))
    with pytest.raises(type(bare.value)) as seen:
        list(wrap(CLASSES[cls](host), host).stream("hello"))
    assert str(seen.value) == str(bare.value)


# A real server --------------------------------------------------------------------------------------------------------

THOUGHT = "I should call the weather tool."


@pytest.fixture
def at_llama(llama):
    """ChatOpenAI at the real llama.cpp server."""
    return lambda **more: chat_openai(llama, **more)


@pytest.mark.parametrize("mode", MODES)
def test_a_real_server_sees_its_own_reasoning_at_step_two(mode, at_llama, llama):
    messages = []
    reply = turn(mode, bound(wrap(at_llama())), messages)
    assert THOUGHT in llama.last_prompt()
    assert reply.text == "It is 3C. Done."


def test_a_real_server_sees_no_reasoning_at_step_two_from_the_bare_class(at_llama, llama):
    turn("invoke", bound(at_llama()), [])
    assert THOUGHT not in llama.last_prompt()


@pytest.mark.parametrize("mode", AGENT_MODES)
def test_an_agent_at_a_real_server_sees_its_own_reasoning(mode, at_llama, llama):
    state = ask(mode, create_agent(wrap(at_llama()), [get_weather]))
    assert THOUGHT in llama.last_prompt()
    assert state["messages"][-1].text == "It is 3C. Done."


def test_the_next_turn_at_a_real_server_goes_without_it(at_llama, llama):
    agent = create_agent(wrap(at_llama()), [get_weather])
    state = asking(agent)
    assert THOUGHT in llama.last_prompt()
    bound(wrap(at_llama())).invoke([*state["messages"], HumanMessage("And tomorrow?")])
    assert THOUGHT not in llama.last_prompt()


def test_a_loop_begun_at_a_real_server_moves_to_a_strict_host_and_back(at_llama, llama, strict_hosts):
    away = strict_hosts("cerebras", steps=2)
    here, there = bound(wrap(at_llama(), away)), bound(wrap(chat_openai(away), away))
    messages = [HumanMessage("How is the weather?")]
    append(messages, here.invoke(messages))
    append(messages, there.invoke(messages))
    here.invoke(messages)
    assert THOUGHT in llama.last_prompt()
    assert [word for word in away.issued if word in llama.last_prompt()] == []
    assert THOUGHT not in away.last.raw.decode()
    assert away.refusals == []


def test_a_reply_of_claudes_without_reasoning_is_no_reasoning_for_the_id_that_it_has(strict_hosts, caplog):
    """Its id begins with `msg_`, as those of OpenAI's items do; nobody asks it back."""
    host = strict_hosts("anthropic", script=lambda seen: Reply((Text("Hm."),)))
    model, messages = wrap(chat_anthropic(host)), [HumanMessage("go")]
    reply = model.invoke(messages)
    assert reply.response_metadata["id"].startswith("msg_")

    again = model.invoke([*messages, reply, HumanMessage("on")])
    assert ([], []) == (
        [*report_of(again).rows],
        [record for record in caplog.records if record.levelname == "WARNING"],
    )


@pytest.mark.parametrize("mode", ["invoke", "stream", "astream"])
def test_a_thinking_chunk_that_a_stream_brought_in_pieces_goes_back_as_the_one_that_it_was(mode, strict_hosts):
    host = strict_hosts("mistral")
    model, messages = wrap(chat_openai(host).bind_tools([get_weather]), host), []
    for _ in range(2):
        turn(mode, model, messages)
    said = [request.reply["choices"][0]["message"]["content"] for request in host.requests]
    thoughts = [content[0] if isinstance(content, list) else None for content in said]
    sent = [message["content"][0] for message in host.last.messages if message["role"] == "assistant"]
    assert ([], []) == (host.refusals, host.lost())
    assert thoughts[: len(sent)] == sent
