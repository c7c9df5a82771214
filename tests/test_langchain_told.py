"""Where a call's report is kept: in the reply, and in the run that tracers see. It never holds a word of reasoning."""

import copy
import json
import pickle

import pytest

pytest.importorskip("langchain_deepseek")

from langchain_core.caches import InMemoryCache
from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import AIMessage, AIMessageChunk, message_to_dict, messages_from_dict
from langchain_core.tracers.base import BaseTracer
from langchain_core.utils._merge import merge_dicts

from langchain_calls import MODES, append, chat_deepseek, get_weather, run, turn, wrap
from reasoning_replay import Report
from reasoning_replay._origin import MARK, Origin
from reasoning_replay.langchain import report_of
from reasoning_replay.langchain._told import ROWS, from_cache, tell, tell_run
from reasoning_replay.testing import canaries_in

pytestmark = pytest.mark.filterwarnings("ignore")

REPORT = Report((), origin=Origin("a.example", model="m"), rule=None, thinking="unset", tools=False)


def told(message=None):
    message = AIMessage("yes") if message is None else message
    tell(message, REPORT)
    return message


def test_a_reply_has_few_words_in_its_metadata_and_the_whole_report_beside_them():
    message = told()
    assert {"host": "a.example", "model": "m", "rule": None, "window": None, "counts": {}} == message.response_metadata[
        MARK
    ]
    assert report_of(message) is REPORT


def test_what_has_no_report_gives_none():
    assert report_of(AIMessage("yes")) is None
    assert report_of("yes") is None
    assert report_of(AIMessage("yes", response_metadata={MARK: "forged"})) is None
    assert report_of(AIMessage("yes", response_metadata={MARK: {"host": "a.example"}})) is None


def stored(message):
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serde = JsonPlusSerializer()
    return serde.loads_typed(serde.dumps_typed(message))


COPIES = {
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "deepcopy": copy.deepcopy,
    "message_to_dict": lambda m: messages_from_dict(json.loads(json.dumps([message_to_dict(m)])))[0],
    "model_dump": lambda m: AIMessage(**m.model_dump()),
    "model_dump_json": lambda m: AIMessage.model_validate_json(m.model_dump_json()),
    "dumps": lambda m: load(json.loads(dumps(m)), allowed_objects="messages"),
    "dumpd": lambda m: load(dumpd(m), allowed_objects="messages"),
    "msgpack": stored,
}


@pytest.mark.parametrize("way", COPIES)
def test_stored_and_read_again_the_few_words_are_left(way):
    message = told()
    again = COPIES[way](message)
    assert type(again.response_metadata[MARK]) is dict
    assert message.response_metadata[MARK] == again.response_metadata[MARK]
    assert report_of(again) is None
    assert report_of(message) is REPORT


def test_the_words_alone_are_json_and_msgpack():
    import ormsgpack

    words = told().response_metadata[MARK]
    assert dict(words) == json.loads(json.dumps(words)) == ormsgpack.unpackb(ormsgpack.packb(words))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_on_one_chunk_it_survives_the_merging_of_a_stream(at):
    chunks = [AIMessageChunk(content=text, response_metadata={"model_provider": "a"}) for text in "abc"]
    tell(chunks[at], REPORT)
    whole = chunks[0] + chunks[1] + chunks[2]
    assert report_of(whole) is REPORT
    assert "a.example" == whole.response_metadata[MARK]["host"]
    assert report_of(chunks[0] + chunks[1:]) is REPORT


def test_two_reports_merged_are_none():
    merged = merge_dicts({MARK: told().response_metadata[MARK]}, {MARK: told().response_metadata[MARK]})
    assert report_of(AIMessage("yes", response_metadata=merged)) is None


def test_the_report_stays_through_add_messages_and_a_copy_of_the_message():
    from langgraph.graph.message import add_messages

    state = add_messages([], [told(AIMessage("yes", id="1"))])
    assert report_of(state[-1]) is REPORT
    assert report_of(state[-1].model_copy(update={"content": "no"})) is REPORT


# On the wire ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_way_to_call_gives_a_reply_with_its_report(mode, strict_hosts):
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host), host).bind_tools([get_weather])
    messages = []
    turn(mode, model, messages)
    reports = [report_of(message) for message in messages if isinstance(message, AIMessage)]
    assert [{}, {"keep": 1}, {"keep": 2}] == [report.counts() for report in reports]
    assert [] == canaries_in(repr([message.response_metadata for message in messages]))
    assert reports[-1].origin.host == host.name


def test_a_cached_reply_has_no_report_and_an_asked_one_has(strict_hosts):
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host, cache=InMemoryCache()), host)
    first, second = model.invoke("q"), model.invoke("q")
    assert 1 == len(host.requests)
    assert (False, True) == (from_cache(first), from_cache(second))
    assert report_of(first) is not None
    assert report_of(second) is None


class Tracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.runs = []

    def _persist_run(self, run):
        self.runs.append(run)

    def every(self):
        left = list(self.runs)
        while left:
            each = left.pop()
            yield each
            left += each.child_runs


@pytest.mark.parametrize("mode", MODES)
def test_tracers_show_the_report_of_the_model_run_and_of_no_other(mode, strict_hosts):
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host), host).bind_tools([get_weather])
    messages = []
    turn("invoke", model, messages)
    tracer, mine = Tracer(), {"mine": 1}
    chain = model if "v3" in mode else model | (lambda x: x)  # chains have no such stream
    MODES[mode](chain, [*messages, *_asked()], config={"callbacks": [tracer], "metadata": mine})
    runs = list(tracer.every())
    shown = [each for each in runs if MARK in each.extra.get("metadata", {})]
    assert ["llm"] == [each.run_type for each in shown]
    report = shown[0].extra["metadata"][MARK]
    assert (host.name, {"keep": 3}) == (report["host"], report["counts"])
    assert 3 == len(report["rows"])
    assert 1 == shown[0].extra["metadata"]["mine"]
    assert {"mine": 1} == mine
    assert [] == canaries_in(json.dumps(report))


def _asked():
    from langchain_core.messages import HumanMessage

    return [HumanMessage("and now?")]


def test_stream_events_show_it_in_their_metadata(strict_hosts):
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host), host).bind_tools([get_weather])

    async def events():
        return [event async for event in model.astream_events("q", version="v2")]

    seen = run(events())
    run(model.bound.root_async_client.close())
    of_model = [event for event in seen if event["event"] in {"on_chat_model_stream", "on_chat_model_end"}]
    assert of_model
    assert all(host.name == event["metadata"][MARK]["host"] for event in of_model)


def test_langsmith_posts_it_with_the_end_of_the_run(strict_hosts):
    from unittest.mock import Mock

    from langchain_core.tracers.langchain import LangChainTracer
    from langsmith import Client

    session = Mock()
    client = Client(session=session, api_key="k", api_url="http://127.0.0.1:1", auto_batch_tracing=False, info={})
    host = strict_hosts("deepseek")
    model = wrap(chat_deepseek(host), host)
    model.invoke("q", config={"callbacks": [LangChainTracer(client=client)]})
    bodies = b"".join(each.kwargs["data"] for each in session.request.call_args_list if each.args[0] == "PATCH")
    assert json.loads(bodies)["extra"]["metadata"][MARK]["host"] == host.name


def test_a_long_history_shows_its_newest_rows_alone():
    from uuid import uuid4

    from reasoning_replay import capture, prepare

    origin = Origin("a.example", model="m")
    said = capture({"role": "assistant", "content": "a", "reasoning_content": "CANARY-r"}, origin)
    history = [{"role": "user", "content": "q"}, said] * (ROWS + 20)
    report = prepare(history, host="a.example", model="m").report
    run_id = uuid4()

    class Manager:
        def __init__(self):
            self.run_id = run_id
            self.handlers = [Handler(), object()]

    class Handler:
        def __init__(self):
            self.run_map = {run_id: {"metadata": None}}

    manager = Manager()
    tell_run(manager, report)
    rows = manager.handlers[0].run_map[run_id]["metadata"][MARK]["rows"]
    assert ROWS == len(rows)
    assert len(history) - 1 == rows[-1]["index"]


@pytest.mark.parametrize("manager", [None, object(), type("M", (), {"run_id": 1, "handlers": None})()])
def test_without_a_run_nothing_is_told(manager):
    assert tell_run(manager, REPORT) is None


def test_the_report_of_a_reply_is_kept_in_the_state_of_an_agent(strict_hosts):
    from langchain.agents import create_agent

    host = strict_hosts("deepseek")
    agent = create_agent(wrap(chat_deepseek(host), host), [get_weather])
    state = agent.invoke({"messages": _asked()})
    assert report_of(state["messages"][-1]).counts() == {"keep": 2}
    assert not append([], state["messages"][-1])
