"""LangChain's messages are saved whole and come back as LangChain's messages; on the wire the very bytes go out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

lc = pytest.importorskip("langchain_core.messages")

from langchain_core.documents import Document

import test_langchain_form as shapes
from reasoning_replay import MemoryStore, Origin, adopt, prepare
from reasoning_replay.transcripts import TranscriptError, TranscriptWriter, dump_jsonl, load_jsonl

MARK = "reasoning_replay"


def saved(messages, **options):
    file = io.BytesIO()
    dump_jsonl(messages, file, **options)
    file.seek(0)
    return load_jsonl(file)


def alike(left, right):
    """Of the same class with the same fields, values and types, marks and all."""
    return type(left) is type(right) and left == right and same(left.__dict__, right.__dict__)


def same(left, right):
    if isinstance(left, dict):
        return (
            isinstance(right, dict) and list(left) == list(right) and all(same(left[key], right[key]) for key in left)
        )
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


class AgentMessage(lc.AIMessage):
    """An app's own class."""

    type: str = "agent"
    steps: int = 0


CALL = {"name": "look", "args": {"at": "x"}, "id": "call_1", "type": "tool_call"}
BAD_CALL = {"name": "look", "args": "{", "id": "call_2", "error": None, "type": "invalid_tool_call"}
KWARGS = {"reasoning_content": "CANARY-1;", "nothing": None, "empty": "", "mine": {"z": 1, "a": [b"\x00"]}}
EACH = {
    "human": lc.HumanMessage("q", additional_kwargs={"turn": False}, name="me", id="1"),
    "human with parts": lc.HumanMessage([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}, "text"]),
    "ai": lc.AIMessage("a", additional_kwargs=KWARGS, tool_calls=[CALL], invalid_tool_calls=[BAD_CALL], id="2"),
    "ai with usage": lc.AIMessage(
        "", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "output_token_details": {"reasoning": 1}},
        response_metadata={"logprobs": {"content": [{"logprob": float("-inf")}]}, "model_name": "m"},
    ),
    "ai with a field of its own": lc.AIMessage("a", example=True, foo={"bar": (1, 2)}),
    "ai in v1 blocks": lc.AIMessage(
        content_blocks=[{"type": "reasoning", "reasoning": "CANARY-2;", "extras": {"signature": "CANARY-3;"}}, {"type": "text", "text": "x"}],
        response_metadata={"output_version": "v1"},
    ),
    "ai chunk": lc.AIMessageChunk(
        "a", additional_kwargs=KWARGS, tool_call_chunks=[{"name": "look", "args": '{"a', "id": "c", "index": 0, "type": "tool_call_chunk"}]
    ),
    "sum of chunks": lc.AIMessageChunk("a", additional_kwargs={"reasoning_content": "CANARY"}) + lc.AIMessageChunk("b", chunk_position="last"),
    "system": lc.SystemMessage("s"),
    "tool": lc.ToolMessage("r", tool_call_id="call_1", artifact={"rows": [(1, b"x")], 3: None}, status="error"),
    "tool with documents": lc.ToolMessage("r", tool_call_id="c", artifact=[Document("text", metadata={"page": 1}, id="d")]),
    "function": lc.FunctionMessage("r", name="f"),
    "chat": lc.ChatMessage("x", role="critic"),
    "remove": lc.RemoveMessage("3"),
    **{
        name: getattr(lc, name)("x", **more)
        for name, more in {
            "HumanMessageChunk": {}, "SystemMessageChunk": {}, "ToolMessageChunk": {"tool_call_id": "c"},
            "FunctionMessageChunk": {"name": "f"}, "ChatMessageChunk": {"role": "critic"},
        }.items()
    },
    "an app's own class": AgentMessage("x", steps=3, additional_kwargs=KWARGS),
}  # fmt: skip


@pytest.mark.parametrize("name", EACH)
def test_a_message_of_every_class_comes_back_as_it_was(name):
    read = saved([EACH[name]])
    assert "langchain" == read.form
    (back,) = read
    assert alike(back, EACH[name])
    assert (back.model_extra or {}) == (EACH[name].model_extra or {})


def test_every_class_of_langchains_messages_is_in_this_test():
    found = (getattr(lc, name) for name in dir(lc))
    classes = {each for each in found if isinstance(each, type) and issubclass(each, lc.BaseMessage)}
    assert classes - {lc.BaseMessage, lc.BaseMessageChunk} <= {type(each) for each in EACH.values()}


def test_an_artifact_of_documents_comes_back_as_documents():
    (back,) = saved([EACH["tool with documents"]])
    assert [Document("text", metadata={"page": 1}, id="d")] == back.artifact
    assert isinstance(back.artifact[0], Document)


def test_the_file_is_one_that_langchain_itself_can_read(tmp_path):
    messages = [EACH["human"], EACH["ai with usage"], EACH["system"]]
    dump_jsonl(messages, tmp_path / "x.jsonl")
    lines = (tmp_path / "x.jsonl").read_text().splitlines()[1:]
    records = [{key: value for key, value in json.loads(line).items() if key in {"type", "data"}} for line in lines]
    assert messages[0] == lc.messages_from_dict(records)[0]
    assert messages[2] == lc.messages_from_dict(records)[2]


@pytest.mark.parametrize("shape", shapes.SHAPES)
@pytest.mark.parametrize("marked", [True, False])
def test_every_shape_of_reasoning_is_planned_after_as_before(shape, marked):
    origin = shapes.own(shape) if marked else None
    messages = shapes.history(shape, origin)
    back = list(saved(messages))
    assert all(map(alike, back, messages))
    at_home = {"host": "gw.corp.example", "model": "m", "dialect": shapes.SHAPES[shape][0]}
    for target in (at_home, shapes.TARGETS["chat"], shapes.TARGETS["anthropic"]):
        plans = [shapes.planned(each, **target) for each in (messages, back)]
        assert all(map(alike, plans[1].messages, plans[0].messages))
        assert plans[0].request == plans[1].request


def test_dumps_that_are_dicts_come_back_as_dicts():
    dumps = lc.messages_to_dict([EACH["human"], EACH["system"]])
    read = saved(dumps)
    assert ("langchain", dumps) == (read.form, list(read))


def test_a_fresh_mark_is_a_plain_dict_afterwards():
    own = Origin("api.deepseek.com", model="deepseek-v4-pro")
    (back,) = saved(
        adopt([lc.AIMessage("a", additional_kwargs={"reasoning_content": "CANARY-1;"})], own, form="langchain")
    )
    assert dict is type(back.additional_kwargs[MARK])


# Classes that are not there -------------------------------------------------------------------------------------------


def test_a_class_that_is_not_imported_comes_back_as_langchains_own_with_all_its_fields_and_it_is_said():
    class Local(lc.AIMessage):
        steps: int = 0

    with pytest.warns(
        UserWarning, match=r"Local: not imported, or defined inside a function; its messages come back as AIMessage"
    ):
        (back,) = saved([Local("x", steps=3)])
    assert (lc.AIMessage, 3) == (type(back), back.steps)


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "subprocess.Popen", "pydantic.main.BaseModel", "x", "", 3, None,
                                  "langchain_core.load.serializable.Serializable", "langchain_core.messages.ai.json"])  # fmt: skip
def test_a_file_cannot_name_anything_but_a_class_of_messages(name, tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([EACH["human"]], path)
    with path.open("a") as file:
        file.write(
            json.dumps({"type": "ai", "data": {"content": "CANARY-1;"}, "$replay": "langchain", "class": name}) + "\n"
        )
    read = load_jsonl(path)
    next(read)
    with pytest.raises(
        TranscriptError, match="line 3: a record of LangChain's that names no class of messages"
    ) as caught:
        next(read)
    assert "CANARY" not in str(caught.value)


def test_no_module_is_imported_because_a_file_names_it(tmp_path):
    path = tmp_path / "x.jsonl"
    record = {
        "type": "ai",
        "data": {"content": "x"},
        "$replay": "langchain",
        "class": "langchain_core.messages.ai.AIMessage",
    }
    dump_jsonl([], path)
    with path.open("a") as file:
        file.write(json.dumps({**record, "subclass": "this.Zen"}) + "\n")
    with pytest.warns(UserWarning, match=r"this\.Zen: not imported"):
        assert [lc.AIMessage("x")] == list(load_jsonl(path))
    assert "this" not in sys.modules


WITHOUT = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "langchain_core": raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "langchain_core" else found(name, *more)
from reasoning_replay import prepare
from reasoning_replay.transcripts import dump_jsonl, load_jsonl
read = load_jsonl(sys.argv[1])
assert read.form == "langchain"
messages = list(read)
assert [each["type"] for each in messages] == ["human", "ai", "tool"], messages
plan = prepare(messages, form="langchain", host="api.deepseek.com", model="deepseek-v4-pro", request={"tools": [{}]})
assert plan.report.counts() == {"keep": 1}, plan.report
dump_jsonl(messages, sys.argv[2])
assert "langchain_core" not in sys.modules
"""


def test_where_langchain_is_not_installed_they_are_dicts_that_can_be_planned_and_saved_again(tmp_path):
    own = Origin("api.deepseek.com", model="deepseek-v4-pro")
    messages = [
        lc.HumanMessage("q"),
        lc.AIMessage("", additional_kwargs={"reasoning_content": "CANARY-1;", "sealed": b"\x00"}, tool_calls=[CALL]),
        lc.ToolMessage("r", tool_call_id="call_1", artifact=(1, 2)),
    ]
    messages = adopt(messages, own, form="langchain")
    dump_jsonl(messages, tmp_path / "x.jsonl")
    subprocess.run([sys.executable, "-c", WITHOUT, tmp_path / "x.jsonl", tmp_path / "y.jsonl"], check=True)
    assert all(map(alike, load_jsonl(tmp_path / "y.jsonl"), messages))


def test_the_core_saves_and_loads_dicts_without_langchain_being_looked_at():
    code = (
        "import io, sys; from reasoning_replay.transcripts import *\n"
        "f = io.BytesIO(); dump_jsonl([{'role': 'user', 'content': b'x'}], f); f.seek(0); list(load_jsonl(f))\n"
        "assert not {'langchain_core', 'litellm', 'pydantic'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# LiteLLM's objects in LangChain's messages ----------------------------------------------------------------------------


def test_litellms_objects_in_a_message_come_back_as_their_fields():
    types = pytest.importorskip("litellm.types.utils")
    call = types.ChatCompletionMessageToolCall(
        function=types.Function(name="look", arguments="{}"), id="call_1", type="function"
    )
    message = lc.AIMessage(
        "", additional_kwargs={"tool_calls": [call], "reasoning_content": "CANARY-1;"}, tool_calls=[CALL]
    )
    (back,) = saved([message])
    whole = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert [whole] == back.additional_kwargs["tool_calls"]
    assert CALL == back.tool_calls[0]


# On the wire ----------------------------------------------------------------------------------------------------------


CLASSES = (
    "openai at an unknown host", "deepseek", "anthropic", "mistral", "openrouter", "gemini", "bedrock", "cerebras",
    "openai responses not stored", "litellm deepseek", "litellm anthropic", "ollama", "groq", "fireworks", "together", "xai",
)  # fmt: skip
"""Of every way to keep reasoning in a message one, and LiteLLM's objects."""
SAMPLE = {("deepseek", None), ("anthropic", "v1"), ("bedrock", None), ("litellm anthropic", None)}
HERE = {}
if find_spec("deepseek_recipe") is not None and find_spec("langchain") is not None:
    from langchain_matrix.models import available
    from reasoning_replay.testing import Reply, Text, call, sealed, think

    HERE = {each.name: each for each in available(CLASSES)}


def three_steps(turn):
    if turn.step < 2 and turn.tools:
        return Reply((think(), sealed(), Text("Let me look."), call(city=f"Oslo-{turn.step}")))
    return Reply((think(), Text()))


def body_of(host):
    return {key: value for key, value in host.last.json.items() if key not in {"user", "metadata"}}


@pytest.mark.filterwarnings("ignore")  # the classes' own
@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param(name, version, marks=[] if (name, version) in SAMPLE else pytest.mark.slow)
        for name in HERE
        for version in (None, "v1")
    ],
)
def test_a_loop_of_a_real_class_goes_on_from_a_transcript_with_the_very_bytes(name, version, strict_hosts, tmp_path):
    from langchain_calls import MODES, append, get_weather, statuses, wrap
    from reasoning_replay._known import default_store

    path = tmp_path / "x.jsonl"
    configuration = HERE[name]
    host = strict_hosts(configuration.host, script=three_steps)
    model = wrap(configuration.factory(host.url, version), host).bind_tools([get_weather])
    messages = [lc.HumanMessage("How is the weather?")]
    for mode in ("invoke", "stream"):
        append(messages, MODES[mode](model, messages))
    with TranscriptWriter(path) as out:
        out.append(*messages)
    model.invoke(messages)
    expected, lost = body_of(host), host.lost()
    default_store.cache_clear()  # a new process knows nothing but the file
    back = list(load_jsonl(path))
    assert [type(each) for each in back] == [type(each) for each in messages]
    model.invoke(back)
    assert json.dumps(expected) == json.dumps(body_of(host))
    assert lost == host.lost()
    assert {200} == set(statuses(host))


def test_a_writer_takes_each_message_as_it_comes(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        for message in EACH.values():
            out.append(message)
    read = load_jsonl(path)
    assert "langchain" == read.form
    assert all(map(alike, read, EACH.values()))


def test_prepare_of_what_was_loaded_keeps_what_is_its_own():
    own = Origin("api.deepseek.com", model="deepseek-v4-pro")
    messages = adopt([lc.HumanMessage("q"), EACH["ai"], EACH["tool"]], own, form="langchain")
    plan = prepare(
        list(saved(messages)), form="langchain", host="api.deepseek.com", model="deepseek-v4-pro",
        request={"tools": [{}]}, known=MemoryStore(),
    )  # fmt: skip
    assert {"keep": 1} == plan.report.counts()
