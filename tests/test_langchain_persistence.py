"""Histories that were stored and read again: the marks are whole, and the reasoning goes back right after.

Before each replay the process's own store is emptied, as after a restart: only what was stored counts.
"""

import copy
import json
import pickle
from importlib.util import find_spec

import pytest

for package in ("langchain_openai", "langchain_deepseek", "langchain_anthropic", "langgraph", "langchain"):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

import anthropic
from langchain.agents import create_agent
from langchain_core.caches import BaseCache, InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.load import dumps, loads
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
    merge_message_runs,
    messages_from_dict,
    messages_to_dict,
    trim_messages,
)
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages

from langchain_calls import (
    MODES,
    added,
    append,
    bare,
    chat_anthropic,
    chat_deepseek,
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
from langchain_matrix.models import available
from reasoning_replay._known import default_store
from reasoning_replay._origin import from_mark
from reasoning_replay.testing import Reply, Text, call, canaries_in, sealed, think

pytestmark = pytest.mark.filterwarnings("ignore")  # LangChain's beta and pydantic's serializer warn by the dozen


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """At the end."""
    yield
    collected()


MARK = "reasoning_replay"


def restart():
    """Forget what this process knows."""
    default_store.cache_clear()


def bound(model):
    return model.bind_tools([get_weather])


def marks(messages):
    return [m.additional_kwargs.get(MARK) for m in messages if isinstance(m, AIMessage)]


def plain(messages):
    """All that is stored, as a value that can be compared."""
    return [pickle.dumps(m.model_dump()) for m in messages]


# Ways to store --------------------------------------------------------------------------------------------------------


def _serde(messages):
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serde = JsonPlusSerializer()
    return serde.loads_typed(serde.dumps_typed(messages))


STORES = {
    "messages_to_dict and JSON": lambda m: messages_from_dict(json.loads(json.dumps(messages_to_dict(m)))),
    "dumps and loads": lambda m: loads(dumps(m), allowed_objects="messages"),
    "model_dump_json": lambda m: [type(x).model_validate_json(x.model_dump_json()) for x in m],
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "deepcopy": copy.deepcopy,
    "LangGraph's serde": _serde,
    "add_messages": lambda m: add_messages([], m),
    "trim_messages": lambda m: trim_messages(m, max_tokens=1000, token_counter=len, strategy="last"),
    "merge_message_runs": merge_message_runs,
}
SAVED = (
    "openai at an unknown host", "deepseek", "anthropic", "mistral", "openrouter", "gemini", "bedrock", "cerebras",
    "openai responses not stored", "litellm deepseek", "litellm anthropic",
)  # fmt: skip
"""One of every way to keep reasoning in a message."""
HERE = {c.name: c for c in available(SAVED)}


def script(turn):
    """Three steps, each with all that a host can seal, and an answer."""
    if turn.step < 3 and turn.tools:
        return Reply((think(), sealed(), Text("Let me look."), call(city=f"Oslo-{turn.step}")))
    return Reply((think(), Text()))


@pytest.mark.parametrize("name", HERE)
def test_a_loop_goes_on_with_all_its_reasoning_after_it_was_stored_in_any_way(name, strict_hosts):
    configuration = HERE[name]
    host, away = strict_hosts(configuration.host, script=script), strict_hosts("unknown")
    model = bound(wrap(configuration.factory(host.url), host, away))
    other = wrap(chat_openai(away), host, away)  # the wire is looked at after the test
    messages = [HumanMessage("How is the weather?")]
    for mode in ("invoke", "stream", "v3"):
        append(messages, MODES[mode](model, messages))
    found = {}
    for store, keep in STORES.items():
        try:
            read = keep(messages)
        except Exception as error:  # noqa: BLE001 - whatever it is, the store did not take the history
            found[store] = f"not stored: {type(error).__name__}"
            continue
        restart()
        other.invoke([*read, HumanMessage("you too")])
        model.invoke(read)
        if marks(read) != marks(messages) or host.lost():
            found[store] = f"{len(host.lost())} lost"
    assert found == {}
    assert {from_mark(mark).host for mark in marks(messages)} == {host.name}
    assert set(statuses(host)) == {200}


@pytest.mark.parametrize("store", ["messages_to_dict and JSON", "dumps and loads"])
@pytest.mark.parametrize("version", ["v0", "v1"])
def test_bedrocks_bytes_survive_json_and_go_back_as_they_came(version, store, strict_hosts):
    if "bedrock" not in HERE:
        pytest.skip("langchain_aws is not installed")
    host = strict_hosts("bedrock", script=script)
    model, messages = bound(wrap(HERE["bedrock"].factory(host.url, version), host)), [HumanMessage("hello")]
    append(messages, model.invoke(messages))
    read = STORES[store](messages)
    restart()
    model.invoke(read)
    said = host.last.json["messages"][1]["content"]
    assert host.requests[0].reply["output"]["message"]["content"][:2] == said[:2]


# A graph's checkpoint -------------------------------------------------------------------------------------------------

KEPT = {"deepseek": chat_deepseek, "anthropic": chat_anthropic}


@pytest.mark.parametrize("name", KEPT)
def test_a_thread_goes_on_from_a_reopened_sqlite_file_in_the_middle_of_its_loop(name, strict_hosts, tmp_path):
    SqliteSaver = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver  # noqa: N806 - its own name

    host, file = strict_hosts(name, script=script), str(tmp_path / "threads.sqlite")
    thread = {"configurable": {"thread_id": "1"}}

    def agent(saver, **more):
        return create_agent(wrap(KEPT[name](host), host), [get_weather], checkpointer=saver, **more)

    with SqliteSaver.from_conn_string(file) as saver:
        agent(saver, interrupt_before=["tools"]).invoke({"messages": [HumanMessage("hello")]}, thread)
    restart()
    with SqliteSaver.from_conn_string(file) as saver:
        state = agent(saver).invoke(None, thread)
    assert statuses(host) == [200] * 4
    assert host.lost() == []
    restart()
    with SqliteSaver.from_conn_string(file) as saver:
        after = agent(saver).invoke({"messages": [HumanMessage("And tomorrow?")]}, thread)
    assert set(statuses(host)) == {200}
    assert marks(after["messages"])[:4] == marks(state["messages"])
    assert name != "deepseek" or host.lost() == []


# A history of its own -------------------------------------------------------------------------------------------------


class JsonHistory(BaseChatMessageHistory):
    """A history that keeps JSON alone, as most stores do."""

    def __init__(self):
        self.text = "[]"

    @property
    def messages(self):
        return messages_from_dict(json.loads(self.text))

    def add_messages(self, messages):
        self.text = json.dumps(messages_to_dict([*self.messages, *messages]))

    def clear(self):
        self.text = "[]"


@pytest.mark.parametrize("make", [chat_deepseek, chat_openai])
def test_a_runnable_with_message_history_gets_its_reasoning_back(make, strict_hosts):
    host, kept = strict_hosts("deepseek"), JsonHistory()
    chain = RunnableWithMessageHistory(bound(wrap(make(host), host)), lambda session_id: kept)
    config = {"configurable": {"session_id": "1"}}
    reply = chain.invoke([HumanMessage("hello")], config)
    for _ in range(3):
        restart()
        results = [ToolMessage("3C", tool_call_id=c["id"]) for c in reply.tool_calls]
        reply = chain.invoke(results or [HumanMessage("again")], config)
    assert statuses(host) == [200] * 4
    assert host.lost() == []


# Cut and merged -------------------------------------------------------------------------------------------------------


def test_what_trim_messages_leaves_goes_back_whole(strict_hosts):
    host, messages = strict_hosts("deepseek"), []
    model = bound(wrap(chat_deepseek(host), host))
    for text in ("one", "two", "three"):
        turn("invoke", model, messages, text)
    cut = trim_messages(messages, max_tokens=12, token_counter=len, strategy="last", start_on="human")
    assert len(cut) == 12
    restart()
    model.invoke([*cut, HumanMessage("four")])
    assert statuses(host)[-1] == 200
    assert host.lost() == []
    assert len(canaries_in(host.last.prompt)) == 6


@pytest.mark.parametrize("mode", ["invoke", "stream"])
@pytest.mark.parametrize("shape", [None, "v1"])
def test_two_hosts_replies_merged_into_one_message_go_to_neither(mode, shape, strict_hosts):
    first, second = strict_hosts("unknown"), strict_hosts("unknown")
    models = [wrap(chat_openai(host, output_version=shape), first, second) for host in (first, second)]
    said = [MODES[mode](model, [HumanMessage("hello")]) for model in models]
    merged = merge_message_runs([HumanMessage("hello"), *said])
    assert [from_mark(mark).host for mark in marks(said)] == [first.name, second.name]
    assert len(merged) == 2
    for model, host in zip(models, (first, second), strict=True):
        model.invoke([*merged, HumanMessage("go on", additional_kwargs={"turn": False})])
        assert canaries_in(host.last.raw.decode()) == []
        assert "Done" in host.last.raw.decode()


def test_a_mark_that_two_hosts_share_is_broken_and_not_the_first_ones(strict_hosts):
    first, second = strict_hosts("unknown"), strict_hosts("unknown")
    said = [wrap(chat_openai(host), first, second).invoke("hello") for host in (first, second)]
    (merged,) = merge_message_runs(said)
    assert MARK in merged.additional_kwargs
    assert from_mark(merged.additional_kwargs.get(MARK)) is None


# A cache of answers ---------------------------------------------------------------------------------------------------


class Blind(BaseCache):
    """A cache that knows the question alone, not the model: as a semantic cache may do."""

    def __init__(self):
        self.kept = {}

    def lookup(self, prompt, llm_string):
        return self.kept.get("only")

    def update(self, prompt, llm_string, return_val):
        self.kept["only"] = return_val

    def clear(self, **kwargs):
        self.kept.clear()


CACHED = ["invoke", "ainvoke", "batch"]


@pytest.mark.parametrize("mode", CACHED)
@pytest.mark.parametrize("make", [chat_deepseek, chat_openai])
def test_the_bare_models_cached_answer_is_not_served_to_the_wrapped_one(make, mode, strict_hosts):
    host, cache = strict_hosts("deepseek"), InMemoryCache()
    question = [HumanMessage("hello")]
    MODES[mode](make(host, cache=cache), question)
    wrapped = wrap(make(host, cache=cache), host)
    reply = MODES[mode](wrapped, question)
    assert len(host.requests) == 2
    assert canaries_in(str(reply.additional_kwargs)) == [list(host.issued)[1]]
    again = MODES[mode](wrapped, question)
    assert len(host.requests) == 2
    assert (again.additional_kwargs, again.content) == (reply.additional_kwargs, reply.content)
    MODES[mode](make(host, cache=cache), question)
    assert len(host.requests) == 2


@pytest.mark.parametrize("mode", CACHED)
def test_a_cached_answer_keeps_the_mark_of_the_host_that_wrote_it(mode, strict_hosts):
    first, second, cache = strict_hosts("deepseek"), strict_hosts("deepseek"), Blind()
    here, there = (wrap(chat_openai(host, cache=cache), first, second) for host in (first, second))
    question = [HumanMessage("hello")]
    MODES[mode](here, question)
    reply = MODES[mode](there, question)
    assert second.requests == []
    assert from_mark(reply.additional_kwargs[MARK]).host == first.name
    restart()
    for model in (here, there):
        model.bind(cache=False)
    go_on("invoke", bound(wrap(chat_openai(second), first, second)), [*question, reply, HumanMessage("go on")])
    assert set(statuses(second)) == {200}


@pytest.mark.parametrize("mode", CACHED)
@pytest.mark.parametrize("make", [chat_deepseek, chat_openai])
def test_an_answer_that_a_bare_model_cached_is_never_marked(make, mode, strict_hosts):
    host, cache = strict_hosts("deepseek"), Blind()
    question = [HumanMessage("hello")]
    MODES[mode](make(host, cache=cache), question)
    reply = MODES[mode](wrap(make(host, cache=cache), host), question)
    assert len(host.requests) == 1
    assert MARK not in reply.additional_kwargs


# A checkpoint that holds what does not belong there -------------------------------------------------------------------


def _poisoned(first, saver, thread):
    """A thread whose loop ran at another host of the same kind, unwrapped."""
    agent = create_agent(chat_anthropic(first), [get_weather], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("hello")]}, thread)


def _unsigned(saver, thread, model):
    """A thread with a thinking block that nobody signed, as Gemini's unsigned ones are stored."""
    block = {"type": "thinking", "thinking": "nobody signed CANARY-nobody-0-00000000"}
    told = [HumanMessage("hello"), AIMessage([block, {"type": "text", "text": "Hi."}])]
    create_agent(model, [get_weather], checkpointer=saver).update_state(thread, {"messages": told})


@pytest.mark.leaks("the bare model, to show what the thread does to it")
@pytest.mark.parametrize("kind", ["foreign", "unsigned"])
def test_a_poisoned_thread_fails_at_every_turn_of_the_bare_model(kind, strict_hosts):
    first, second = strict_hosts("anthropic"), strict_hosts("anthropic")
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    model = chat_anthropic(second)
    _poisoned(first, saver, thread) if kind == "foreign" else _unsigned(saver, thread, model)
    agent = create_agent(model, [get_weather], checkpointer=saver)
    for _ in range(2):
        with pytest.raises(anthropic.BadRequestError, match="signature"):
            agent.invoke({"messages": [HumanMessage("again")]}, thread)


@pytest.mark.parametrize("kind", ["foreign", "unsigned"])
def test_a_poisoned_thread_heals_at_the_next_call_and_the_saved_state_is_not_rewritten(kind, strict_hosts):
    first, second = strict_hosts("anthropic"), strict_hosts("anthropic")
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    model = wrap(chat_anthropic(second), first, second)
    _poisoned(first, saver, thread) if kind == "foreign" else _unsigned(saver, thread, model)
    agent = create_agent(model, [get_weather], checkpointer=saver)
    before = plain(agent.get_state(thread).values["messages"])
    restart()
    for text in ("again", "and again"):
        agent.invoke({"messages": [HumanMessage(text)]}, thread)
    assert set(statuses(second)) == {200}
    assert b"CANARY-nobody" not in second.last.raw
    assert plain(agent.get_state(thread).values["messages"])[: len(before)] == before


def test_the_callers_messages_are_never_changed(strict_hosts):
    host, away = strict_hosts("deepseek"), strict_hosts("moonshot")
    here, there = bound(wrap(chat_deepseek(host), host, away)), bound(wrap(chat_openai(away), host, away))
    messages = []
    turn("invoke", here, messages)
    messages.append(HumanMessage("go on", additional_kwargs={"turn": False}))
    before = plain(messages)
    for mode in MODES:
        for model in (here, there):
            MODES[mode](model, messages)
    assert plain(messages) == before


# What watches the calls -----------------------------------------------------------------------------------------------


class Recorder(BaseCallbackHandler):
    """Notes what a handler is told, without ids and times."""

    def __init__(self):
        self.told = []

    def on_chat_model_start(self, serialized, messages, *, tags=None, metadata=None, **kwargs):
        seen = [(m.type, m.content) for m in messages[0]]
        name = kwargs.get("name") or (serialized or {}).get("name")
        self.told.append(("start", name, seen, tags, _ours_out(metadata), kwargs.get("invocation_params")))

    def on_llm_new_token(self, token, *, chunk=None, **kwargs):
        self.told.append(("token", token, type(getattr(chunk, "message", None)).__name__))

    def on_llm_end(self, response, **kwargs):
        message = response.generations[0][0].message
        told = sorted(set(message.response_metadata) - {MARK})
        output = sorted(response.llm_output or {})
        kinds = [b["type"] for b in message.content] if isinstance(message.content, list) else None
        said = (type(message).__name__, message.text, kinds)
        self.told.append(("end", *said, told, message.usage_metadata, output))

    def on_llm_error(self, error, **kwargs):
        self.told.append(("error", type(error).__name__))


def _ours_out(metadata):
    return {key: value for key, value in (metadata or {}).items() if key != MARK}


def answers(turn):
    """The same answer to everybody, but for the signature."""
    return Reply((think("I think so."), Text("It is 3C.")))


WATCHED = ("invoke", "stream", "ainvoke", "astream", "batch", "v3", "async v3")


def _watched(model, mode, **config):
    recorder, usage = Recorder(), UsageMetadataCallbackHandler()
    config = {"callbacks": [recorder, usage], "tags": ["mine"], "metadata": {"mine": 1}, "run_name": "named", **config}
    if mode == "batch":
        reply = model.batch([[HumanMessage("hello")]], config)[0]
    else:
        reply = MODES[mode](model, [HumanMessage("hello")], config=config)
    return recorder.told, usage.usage_metadata, reply.usage_metadata


@pytest.mark.parametrize("mode", WATCHED)
@pytest.mark.parametrize("make", [chat_deepseek, chat_openai, chat_anthropic])
def test_handlers_are_told_what_the_bare_model_tells_them(make, mode, strict_hosts):
    host = strict_hosts("anthropic" if make is chat_anthropic else "deepseek", script=answers)
    more = {"tags": ["of the model"], "metadata": {"of": "the model"}}
    seen = [_watched(w(make(host, **more), host), mode) for w in (bare, wrap)]
    (bare_told, *bare_usage), (told, *usage) = seen
    assert usage == bare_usage
    assert [row for row in told if row[0] != "token"] == [row for row in bare_told if row[0] != "token"]
    assert "".join(t for kind, t, *_ in told if kind == "token" and isinstance(t, str)) == "".join(
        t for kind, t, *_ in bare_told if kind == "token" and isinstance(t, str)
    )


@pytest.mark.parametrize("make", [chat_deepseek, chat_openai, chat_anthropic])
def test_the_model_says_of_itself_what_the_bare_model_says(make, strict_hosts):
    host = strict_hosts("anthropic" if make is chat_anthropic else "deepseek")
    model = make(host)
    wrapped = wrap(model, host)
    assert isinstance(wrapped, type(model))
    assert wrapped.get_name() == model.get_name()
    assert wrapped._llm_type == model._llm_type
    assert wrapped.lc_id() == model.lc_id()
    assert wrapped._get_ls_params() == model._get_ls_params()
    assert wrapped._identifying_params == model._identifying_params
    assert wrapped.get_input_schema() == model.get_input_schema()
    assert repr(wrapped).partition("(")[0] == repr(model).partition("(")[0]


@pytest.mark.parametrize("make", [chat_deepseek, chat_openai, chat_anthropic])
def test_stream_events_have_the_same_names_in_the_same_order(make, strict_hosts):
    host = strict_hosts("anthropic" if make is chat_anthropic else "deepseek", script=answers)

    async def events(model):
        seen = [event async for event in model.astream_events([HumanMessage("hello")], version="v2")]
        labels = ("ls_provider", "ls_model_name", "ls_model_type", "ls_max_tokens", "ls_temperature")
        return [
            (event["event"], event["name"], event["tags"], {k: event["metadata"].get(k) for k in labels})
            for event in seen
        ], added([event["data"]["chunk"] for event in seen if event["event"] == "on_chat_model_stream"])

    (expected, bare_whole), (seen, whole) = (run(events(w(make(host), host))) for w in (bare, wrap))
    assert [row for row in seen if "stream" not in row[0]] == [row for row in expected if "stream" not in row[0]]
    assert {str(row) for row in seen} == {str(row) for row in expected}
    assert whole.text == bare_whole.text
    assert whole.usage_metadata == bare_whole.usage_metadata


def test_a_streamed_reply_in_a_graph_comes_token_by_token_with_the_same_labels(strict_hosts):
    host = strict_hosts("deepseek", script=answers)
    seen = []
    for model in (chat_deepseek(host), wrap(chat_deepseek(host), host)):
        parts = list(create_agent(model, []).stream({"messages": [HumanMessage("hello")]}, stream_mode="messages"))
        labels = {(m["langgraph_node"], m["ls_provider"], m["ls_model_name"]) for _, m in parts}
        seen.append((labels, [chunk.text for chunk, _ in parts if chunk.text]))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("make", [chat_deepseek, chat_openai])
def test_one_conversation_does_not_show_in_anothers_marks(make, strict_hosts):
    host = strict_hosts("deepseek")
    model = bound(wrap(make(host), host))
    first, second = [], []
    turn("invoke", model, first)
    turn("invoke", model, second)
    assert [m.additional_kwargs["reasoning_content"] for m in replies_in(first)] != [
        m.additional_kwargs["reasoning_content"] for m in replies_in(second)
    ]
    assert {from_mark(mark).host for mark in marks([*first, *second])} == {host.name}
