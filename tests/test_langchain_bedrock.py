"""ChatBedrockConverse: sealed bytes, guards and empty text, on the wire of the strict host."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("langchain_aws")

from langchain_aws import ChatBedrockConverse
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_from_dict, messages_to_dict

from litellm_calls import TOOLS
from reasoning_replay import Origin, adopt, prepare
from reasoning_replay.langchain import report_of, with_reasoning_replay
from reasoning_replay.testing import Reply, Text, call, sealed, think

pytestmark = pytest.mark.filterwarnings("ignore")
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2048}}


def model(host, **more):
    keys = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
    fields = {"additional_model_request_fields": THINKING, "max_tokens": 4096, **more}
    return with_reasoning_replay(ChatBedrockConverse(model=host.model, endpoint_url=host.url, **keys, **fields))


def whole(bound, messages):
    return bound.invoke(messages)


def streamed(bound, messages):
    chunks = list(bound.stream(messages))
    return chunks[0] + chunks[1:]


def third(bound, messages):
    return bound.stream_events(messages, version="v3").output


def as_json(messages):
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))


def as_dump(messages):
    return loads(dumps(messages), allowed_objects="messages")


@pytest.mark.parametrize("saved", [as_json, as_dump, list])
@pytest.mark.parametrize("version", ["v0", "v1"])
@pytest.mark.parametrize("run", [whole, streamed, third])
def test_sealed_bytes_outlive_a_store_and_go_back_as_they_were(strict_hosts, run, version, saved):
    host = strict_hosts("bedrock")
    host.script = [Reply((think(), sealed(), Text("Let me look."), call(city="Oslo"))), Reply((think(), Text("3C")))]
    bound = model(host, output_version=version).bind_tools(TOOLS)
    reply = run(bound, [HumanMessage("go")])
    results = [ToolMessage("3C", tool_call_id=each["id"]) for each in reply.tool_calls]
    run(bound, saved([HumanMessage("go"), reply, *results]))
    assert host.lost() == []
    assert {request.status for request in host.requests} == {200}


@pytest.mark.parametrize("run", [whole, streamed])
@pytest.mark.parametrize("fields", ["of the model", "of the call"])
def test_thinking_goes_off_in_a_loop_that_another_host_began(strict_hosts, run, fields):
    host = strict_hosts("bedrock")
    calls = [{"name": "get_weather", "args": {}, "id": "tooluse_1"}]
    foreign = AIMessage("", additional_kwargs={"reasoning_content": "R"}, tool_calls=calls)
    messages = adopt([HumanMessage("go"), foreign], Origin("elsewhere.example"), form="langchain")
    if fields == "of the call":
        bound = model(host, additional_model_request_fields=None).bind_tools(
            TOOLS, additional_model_request_fields=THINKING
        )
    else:
        bound = model(host).bind_tools(TOOLS)
    run(bound, [*messages, ToolMessage("3C", tool_call_id="tooluse_1")])
    assert {request.status for request in host.requests} == {200}
    assert "thinking" not in host.last.json.get("additionalModelRequestFields", {})


POINT = {"cachePoint": {"type": "default"}}


def _behind(thought, rest):
    return [thought, POINT, *rest]


def _behind_an_empty_text(thought, rest):
    return [thought, {"type": "text", "text": ""}, POINT, *rest]


@pytest.mark.parametrize("arrange", [_behind, _behind_an_empty_text])
@pytest.mark.parametrize("run", [whole, streamed])
def test_a_cache_point_right_behind_reasoning_moves_and_the_report_says_so(strict_hosts, run, arrange):
    host = strict_hosts("bedrock")
    host.script = [Reply((think(), Text("Let me look."), call(city="Oslo"))), Reply((Text("3C"),))]
    bound = model(host, additional_model_request_fields={"thinking": {"type": "adaptive"}}).bind_tools(TOOLS)
    reply = bound.invoke([HumanMessage("go")])
    thought, *rest = reply.content
    story = reply.model_copy(update={"content": arrange(thought, rest)})
    kept = json.dumps(story.content)
    last = run(bound, [HumanMessage("go"), story, ToolMessage("3C", tool_call_id=reply.tool_calls[0]["id"])])

    kinds = [next(iter(block)) for block in host.last.messages[1]["content"]]
    assert (200, 1) == (host.last.status, kinds.count("cachePoint"))
    assert "reasoningContent" != kinds[kinds.index("cachePoint") - 1]
    assert ["cache_point"] == [row.reason for row in report_of(last).rows if row.action == "guard"]
    assert ([], kept) == (host.lost(), json.dumps(story.content))


def test_the_bare_class_is_refused_for_it(strict_hosts):
    host = strict_hosts("bedrock")
    keys = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
    bare = ChatBedrockConverse(model=host.model, endpoint_url=host.url, max_tokens=4096, **keys)
    bare = bare.bind(additional_model_request_fields=THINKING)
    reply = bare.invoke([HumanMessage("go")])
    story = reply.model_copy(update={"content": _behind(reply.content[0], reply.content[1:])})
    with pytest.raises(Exception, match="reasoning"):
        bare.invoke([HumanMessage("go"), story, HumanMessage("and now?")])


def test_a_cache_point_that_stood_behind_what_another_host_wrote_waits_for_the_next_block(strict_hosts):
    host = strict_hosts("bedrock")
    thought = {"type": "reasoning_content", "reasoning_content": {"text": "R", "signature": "c2ln"}}
    story = AIMessage([thought, POINT, {"type": "text", "text": "It is cold."}])
    messages = adopt([HumanMessage("go"), story], Origin("elsewhere.example"), form="langchain")
    model(host).invoke([*messages, HumanMessage("and now?")])

    assert [["text"], ["cachePoint"]] == [[*block] for block in host.last.messages[1]["content"]]
    assert 200 == host.last.status


THOUGHT = {"type": "reasoning_content", "reasoning_content": {"text": "R", "signature": "c2ln"}}
SAID = {"type": "text", "text": "Cold."}
WRAPPED = {"type": "non_standard", "value": POINT}
HOME = Origin("bedrock-runtime.us-east-1.amazonaws.com", dialect="bedrock", model="us.anthropic.claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ([THOUGHT, POINT, THOUGHT, SAID], [THOUGHT, THOUGHT, SAID, POINT]),
        ([THOUGHT, WRAPPED, SAID], [THOUGHT, SAID, WRAPPED]),
        ([SAID, THOUGHT, POINT], [SAID, POINT, THOUGHT]),
        ([SAID, POINT, THOUGHT, POINT], [SAID, POINT, THOUGHT]),
        ([THOUGHT, POINT], [THOUGHT]),
        ([THOUGHT, SAID, POINT], [THOUGHT, SAID, POINT]),
        ([POINT, THOUGHT, SAID], [POINT, THOUGHT, SAID]),
    ],
)
def test_where_a_cache_point_ends(content, left):
    messages = adopt([HumanMessage("go"), AIMessage(content), HumanMessage("on")], HOME, form="langchain")
    plan = prepare(messages, host=HOME.host, dialect="bedrock", model=HOME.model, form="langchain")
    assert left == plan.messages[1].content
