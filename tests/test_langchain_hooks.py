"""The hooks: what a class drops of a reply is kept, what a plan kept reaches the wire, and nothing else does."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

pytest.importorskip("langchain_core")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

from langchain_calls import run
from langchain_loopback import ZOO, loopback
from reasoning_replay import Policy
from reasoning_replay.langchain import with_reasoning_replay
from reasoning_replay.langchain._classes import ROWS
from reasoning_replay.langchain._hooks import MIXINS, mixin_of
from reasoning_replay.langchain._hooks_shared import (
    DELTA,
    Last,
    Tap,
    apply_request,
    forget,
    keep_delta,
    keep_reply,
    replanned,
    view_of,
    write_rows,
)
from reasoning_replay.langchain._messages import Planned

pytestmark = pytest.mark.filterwarnings("ignore")  # the chat classes, LiteLLM and pydantic warn by the dozen
TEXT = "First I look, then I say."
SEALED = {"type": "reasoning.encrypted", "data": "GAS4", "format": "openai-responses-v1", "index": 1}
DETAILS = [{"type": "reasoning.text", "text": TEXT, "format": "unknown", "index": 0}, SEALED]
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


# What is kept of a reply ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ({"content": "hi"}, {}),
        ({"reasoning_content": TEXT}, {"reasoning_content": TEXT}),
        ({"reasoning": TEXT}, {"reasoning_content": TEXT, "reasoning_field": {"id": "reasoning"}}),
        ({"reasoning_text": TEXT}, {"reasoning_content": TEXT, "reasoning_field": {"id": "reasoning_text"}}),
        ({"reasoning": TEXT, "reasoning_content": TEXT}, {"reasoning_content": TEXT}),
        ({"reasoning_content": ""}, {"reasoning_content": ""}),
        ({"reasoning_content": None}, {}),
        (
            {"reasoning_content": "", "reasoning": TEXT},
            {"reasoning_content": TEXT, "reasoning_field": {"id": "reasoning"}},
        ),
        ({"reasoning_details": DETAILS}, {"reasoning_details": DETAILS}),
        ({"reasoning_opaque": "o"}, {"reasoning_opaque": "o"}),
        ({"tool_calls": [{**CALL, "extra_content": {"a": 1}}]}, {"reasoning_tool_extras": {"call_1": {"a": 1}}}),
        ({"tool_calls": [CALL]}, {}),
    ],
)
def test_what_is_kept_of_a_reply(raw, kept):
    message = AIMessage("hi")
    keep_reply(message, raw)
    assert kept == message.additional_kwargs


def test_what_a_class_writes_of_nothing_goes():
    for nothing in (None, ""):
        message = AIMessage("hi", additional_kwargs={"reasoning_content": nothing})
        keep_reply(message, {"content": "hi"})
        assert {} == message.additional_kwargs


def test_lists_and_seals_of_a_delta_travel_raw_and_its_text_does_not():
    message = AIMessageChunk("", additional_kwargs={"reasoning_details": [{"merged": "wrongly"}]})
    call = {**CALL, "index": 0, "extra_content": {"a": 1}}
    keep_delta(message, {"reasoning": "First ", "reasoning_details": DETAILS, "tool_calls": [call]})
    extra = {"index": 0, "extra_content": {"a": 1}, "id": "call_1"}
    assert {
        "reasoning_content": "First ",
        "reasoning_field": {"id": "reasoning"},
        DELTA: {"reasoning_details": DETAILS, "tool_calls": [extra]},
    } == message.additional_kwargs


def test_what_was_streamed_is_forgotten_where_a_class_repeats_it():
    message = AIMessageChunk(
        "", additional_kwargs={"parsed": 1, "reasoning_content": TEXT, "reasoning_details": DETAILS}
    )
    forget(message)
    assert {"parsed": 1} == message.additional_kwargs


# What a plan changes of a request -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "given", "planned", "written"),
    [
        ({"a": 1}, {"a": 1}, {"a": 1}, {"a": 1}),
        (
            {"reasoning_effort": "low"},
            {"reasoning_effort": "low"},
            {"reasoning_effort": "none"},
            {"reasoning_effort": "none"},
        ),
        (
            {},
            {},
            {"chat_template_kwargs": {"thinking": False}},
            {"extra_body": {"chat_template_kwargs": {"thinking": False}}},
        ),
        (
            {"extra_body": {"thinking": 1, "b": 2}},
            {"thinking": 1},
            {"thinking": 0},
            {"extra_body": {"thinking": 0, "b": 2}},
        ),
        ({"extra_body": {"thinking": 1}}, {"thinking": 1}, {}, {"extra_body": {}}),
        ({"thinking": 1, "b": 2}, {"thinking": 1}, {}, {"b": 2}),
    ],
)
def test_changes_of_a_request_are_written_where_the_class_has_the_parameter(payload, given, planned, written):
    apply_request(payload, given, planned)
    assert written == payload


def test_a_models_own_extra_body_is_not_written_into():
    own = {"thinking": 1}
    payload = {"extra_body": own}
    apply_request(payload, {"thinking": 1}, {"thinking": 0})
    assert ({"thinking": 1}, {"thinking": 0}) == (own, payload["extra_body"])


def plan_with(request):
    return SimpleNamespace(request=request)


def test_a_changed_request_reaches_a_class_whose_call_wins_over_its_fields():
    model = SimpleNamespace(reasoning_effort="low", thinking=1, model_kwargs={"thinking": 1, "seed": 1})
    given = {"reasoning_effort": "low", "thinking": 1}
    planned = Planned([], plan_with({"reasoning_effort": "none"}), given)
    view, kwargs = replanned(model, planned, {"thinking": 1, "stop": "x"})
    assert {"stop": "x", "reasoning_effort": "none"} == kwargs
    assert (None, {"seed": 1}) == (view.thinking, view.model_kwargs)
    assert (1, {"thinking": 1, "seed": 1}) == (model.thinking, model.model_kwargs)


def test_an_unchanged_request_is_the_same_model_and_the_same_parameters():
    model, kwargs, request = SimpleNamespace(), {"a": 1}, {"a": 1}
    for messages in ([], Planned([], plan_with(request), request), Planned([], None)):
        view, same = replanned(model, messages, kwargs)
        assert view is model
        assert same is kwargs


# One call's view ------------------------------------------------------------------------------------------------------


def test_a_tap_replaces_one_attribute_for_one_view():
    inner = SimpleNamespace(create=lambda: "theirs", close=lambda: "closed")
    model = SimpleNamespace(client=inner)
    view = view_of(model, client=Tap(inner, "create", lambda: "ours"))
    assert ("ours", "closed") == (view.client.create(), view.client.close())
    assert "theirs" == model.client.create()


def test_a_watched_stream_tells_its_last_chunk_and_stays_what_it_was():
    class Stream:
        """An SDK's stream."""

        left = False

        def __init__(self):
            self.hidden = {"a": 1}
            self.chunks = iter([1, 2])

        def __next__(self):
            return next(self.chunks)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.left = True

    stream, last = Stream(), Last()
    seen = []
    with last.tap(lambda: stream)() as watched:
        assert {"a": 1} == watched.hidden
        seen.extend((chunk, last.chunk) for chunk in watched)
    assert [(1, 1), (2, 2)] == seen
    assert stream.left
    assert last.tap(lambda: {"no": "stream"})() == {"no": "stream"}


# No plan, no reasoning ------------------------------------------------------------------------------------------------


def test_rows_of_messages_that_were_not_planned_lose_all_reasoning():
    rows = [{"role": "assistant", "content": "hi", "reasoning_content": TEXT, "reasoning_details": DETAILS}]
    write_rows(rows, [AIMessage("hi", additional_kwargs={"reasoning_content": TEXT})])
    assert [{"role": "assistant", "content": "hi"}] == rows


# On the wire ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    with loopback() as host:
        yield host


CHAT = [name for name in ZOO if name not in ("ChatOpenAI(responses)", "ChatAnthropic", "ChatMistralAI", "ChatOllama")]
CHAT = [name for name in CHAT if name not in ("ChatGoogleGenerativeAI", "ChatBedrockConverse")]
READS = {"ChatOpenRouter": ("reasoning",)}
"""Classes whose SDK knows one key only; the others carry whatever the host wrote."""
CARRIES = [(name, key) for name in CHAT for key in READS.get(name, ("reasoning_content", "reasoning"))]
LITELLM = ("ChatLiteLLM", "ChatLiteLLMRouter")


def added(chunks):
    chunks = list(chunks)
    return chunks[0] + chunks[1:]


async def added_later(chunks):
    return added([chunk async for chunk in chunks])


MODES = {
    "invoke": lambda model, messages: model.invoke(messages),
    "stream": lambda model, messages: added(model.stream(messages)),
    "ainvoke": lambda model, messages: run(model.ainvoke(messages)),
    "astream": lambda model, messages: run(added_later(model.astream(messages))),
}


def answers(server, key):
    """Makes the host reason under this key, and call a tool."""
    server.message = {"role": "assistant", "content": "hi", key: TEXT, "tool_calls": [CALL]}
    head, tail = TEXT[:5], TEXT[5:]
    call = {"tool_calls": [{**CALL, "index": 0}]}
    server.deltas = [{"role": "assistant", "content": "", key: head}, {key: tail}, {"content": "hi"}, call]


@cache
def wrapped(name, server, **more):
    """A wrapped model; making one takes longer than a call."""
    unknown = Policy(aliases={server.host: "unknown"})
    return with_reasoning_replay(ZOO[name](server.url, **more), unknown)


def loop(model, mode):
    """A question, the model's call, and the call's result: what a second request is made of."""
    question = HumanMessage("q")
    reply = MODES[mode](model, [question])
    messages = [question, reply, ToolMessage("ok", tool_call_id=reply.tool_calls[0]["id"])]
    MODES[mode](model, messages)
    return reply


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "key"), CARRIES)
def test_a_chat_class_gives_back_what_came_under_the_key_it_came_in(name, key, mode, server):
    answers(server, key)
    reply = loop(wrapped(name, server), mode)
    written = "reasoning_content" if name in LITELLM else key  # LiteLLM has one name for all
    assert TEXT == reply.additional_kwargs["reasoning_content"]
    assert "reasoning" not in reply.additional_kwargs
    row = server.assistant()
    assert TEXT == row[written]
    assert {"role", "content", "tool_calls", written} == row.keys() - {"name"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in CHAT if name not in LITELLM])
def test_reasoning_details_come_back_as_they_were_sent(name, mode, server):
    """LiteLLM leaves out a streamed delta with nothing but details, before LangChain sees it."""
    answers(server, "reasoning")
    server.message["reasoning_details"] = DETAILS
    pieces = [{**DETAILS[0], "text": TEXT[:5]}, {**DETAILS[0], "text": TEXT[5:]}, SEALED]
    server.deltas[2:2] = [{"reasoning_details": [piece]} for piece in pieces]
    reply = loop(wrapped(name, server), mode)
    assert DETAILS == reply.additional_kwargs["reasoning_details"] == server.assistant()["reasoning_details"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in CHAT if name != "ChatOpenRouter"])
def test_what_is_sealed_beside_a_call_comes_back_beside_it(name, mode, server):
    extra = {"google": {"thought_signature": "GAS4"}}
    answers(server, "reasoning_content")
    server.message["tool_calls"] = [{**CALL, "extra_content": extra}]
    server.deltas[3] = {"tool_calls": [{**CALL, "index": 0, "extra_content": extra}]}
    loop(wrapped(name, server), mode)
    assert [extra] == [call["extra_content"] for call in server.assistant()["tool_calls"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("output_version", [None, "v1"])
def test_mistral_has_text_and_thinking_back_beside_its_calls(output_version, mode, server):
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": TEXT}]}]
    call = {**CALL, "id": "call12345"}
    server.message = {"role": "assistant", "content": [*thinking, {"type": "text", "text": "hi"}], "tool_calls": [call]}
    server.deltas = [{"role": "assistant", "content": ""}]
    for text in (TEXT[:5], TEXT[5:]):
        server.deltas.append({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]})
    server.deltas += [{"content": "hi"}, {"tool_calls": [{**call, "index": 0}]}]
    more = {} if output_version is None else {"output_version": output_version}
    model = with_reasoning_replay(
        ZOO["ChatMistralAI"](server.url, model="magistral-medium-latest", **more),
        Policy(aliases={server.host: "mistral"}),
    )
    loop(model, mode)
    row = server.assistant()
    assert [*thinking, {"type": "text", "text": "hi"}] == row["content"]
    assert "call12345" == row["tool_calls"][0]["id"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reasoning", [None, True])
def test_ollama_thinks_unasked_and_has_it_back(reasoning, mode, server):
    function = {"function": {"name": "look", "arguments": {}}}
    server.deltas = [{"thinking": TEXT[:5]}, {"thinking": TEXT[5:]}, {"content": "hi"}, {"tool_calls": [function]}]
    loop(wrapped("ChatOllama", server, reasoning=reasoning), mode)
    assert TEXT == server.assistant()["thinking"]


def test_a_stream_with_a_response_format_says_its_reasoning_once(server):
    answers(server, "reasoning_content")
    for name in ("ChatOpenAI", "ChatDeepSeek", "ChatMoonshot"):
        model = wrapped(name, server)
        reply = added(model.stream([HumanMessage("q")], response_format={"type": "json_object"}))
        assert TEXT == reply.additional_kwargs["reasoning_content"]


def test_cerebras_keeps_the_block_that_it_shows_and_no_copy(server):
    answers(server, "reasoning")
    reply = wrapped("ChatCerebras", server, reasoning_effort="low").invoke([HumanMessage("q")])
    assert {"type": "reasoning_content", "reasoning_content": {"text": TEXT}} in reply.content
    assert "reasoning" not in reply.additional_kwargs


def test_qwq_says_nothing_of_reasoning_where_there_was_none(server):
    server.deltas = [{"role": "assistant", "content": "hi"}]
    assert {} == wrapped("ChatQwQ", server).invoke([HumanMessage("q")]).additional_kwargs


@pytest.mark.parametrize("name", LITELLM)
def test_no_object_of_litellms_stays_in_a_reply(name, server):
    answers(server, "reasoning_content")
    reply = wrapped(name, server).invoke([HumanMessage("q")])
    assert all(type(call) is dict for call in reply.additional_kwargs["tool_calls"])
    assert type(reply.response_metadata["token_usage"]) is dict


def test_the_models_own_client_is_left_as_it_is(server):
    answers(server, "reasoning_content")
    model = wrapped("ChatGroq", server)
    client = model.client
    added(model.stream([HumanMessage("q")]))
    assert model.client is client


def test_responses_gives_back_a_plain_text_and_no_invented_summary(server):
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "GAS4"}
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    server.items = [reasoning, call]
    model = wrapped("ChatOpenAI(responses)", server)
    loop(model, "invoke")
    assert reasoning in server.body["input"]
    payload = model._get_request_payload(Planned([], None))
    assert [] == payload["input"]


# The table of families ------------------------------------------------------------------------------------------------


def test_every_family_of_the_table_has_a_mixin_or_none_is_needed():
    assert {row.hooks for row in ROWS} - {"none"} == set(MIXINS)
    assert all(mixin_of(family) is not None for family in MIXINS)
    assert mixin_of("none") is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_mixin_streams_only_where_its_class_does(row):
    """LangChain asks whether a class has `_astream`; one that has none would be told otherwise."""
    package, _, name = row.name.partition(".")
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    module = import_module("langchain_openai.chat_models.base" if name.startswith("Base") else package)
    hooks = mixin_of(row.hooks)
    for method in ("_generate", "_agenerate", "_stream", "_astream"):
        if hasattr(hooks, method):
            assert getattr(getattr(module, name), method) is not getattr(BaseChatModel, method)


# What a policy changes of a request, on the wire ----------------------------------------------------------------------

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
BARE_TURN = [
    HumanMessage("q"),
    AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "call_1"}]),
    ToolMessage("ok", tool_call_id="call_1"),
]
BOTH = {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}
DEMANDING = {
    "ChatOpenAI": ("deepseek", {"model": "deepseek-v4-pro", "reasoning_effort": "high"}),
    "ChatDeepSeek": ("deepseek", {"model": "deepseek-v4-pro", "extra_body": {"thinking": {"type": "enabled"}}}),
    "ChatGroq": ("deepseek", {"model": "deepseek-v4-pro", "reasoning_effort": "high"}),
    "ChatFireworks": ("deepseek", {"model": "deepseek-v4-pro", "reasoning_effort": "high"}),
    "ChatMoonshot": ("moonshot", {"model": "kimi-k2.5", "thinking": True}),
    "ChatLiteLLM": ("deepseek", {"model": "deepseek/deepseek-v4-pro", "model_kwargs": BOTH}),
}
"""Classes at a host that demands reasoning in a turn that has none: rule, and how the model is made to think."""


@pytest.mark.parametrize("mode", ["invoke", "stream"])
@pytest.mark.parametrize("name", DEMANDING)
def test_thinking_that_a_policy_switches_off_is_off_on_the_wire(name, mode, server):
    rule, more = DEMANDING[name]
    answers(server, "reasoning_content")
    policy = Policy(aliases={server.host: rule}, missing="disable_thinking")
    model = with_reasoning_replay(ZOO[name](server.url, **more), policy)
    MODES[mode](model.bind(tools=TOOLS), BARE_TURN)
    assert {"type": "disabled"} == server.body["thinking"]
    assert server.body.get("reasoning_effort") is None


# Gemini's parts -------------------------------------------------------------------------------------------------------


def piece(kind, text, signature=None):
    extras = {} if signature is None else {"extras": {"signature": signature}}
    return {"type": kind, kind: text, "index": 0, **extras}


def streamed(*pieces):
    from reasoning_replay.langchain._hooks_blocks import _Parts

    parts, chunks = _Parts(), [AIMessageChunk([each]) for each in pieces]
    for chunk in chunks:
        parts.number(chunk)
    return [
        (block["text"] if "text" in block else block["reasoning"], block.get("extras", {}).get("signature"))
        for block in added(chunks).content
    ]


def test_a_signed_part_of_geminis_stream_stays_a_part():
    assert [("hi", None), ("", "s")] == streamed(piece("text", "h"), piece("text", "i"), piece("text", "", "s"))
    assert [("one", "a"), ("two", "b")] == streamed(piece("reasoning", "one", "a"), piece("reasoning", "two", "b"))
    assert [("one", "a"), ("two", None)] == streamed(piece("text", "one", "a"), piece("text", "t"), piece("text", "wo"))
    assert [("", "a"), ("", "b")] == streamed(piece("text", "", "a"), piece("text", "", "b"))


def test_geminis_unsigned_thoughts_go_back_as_parts_of_its_own():
    from reasoning_replay.langchain._hooks_blocks import _with_thoughts

    told = {"output_version": "v1", "model_provider": "google_genai"}
    signed = {"type": "reasoning", "reasoning": "two", "extras": {"signature": "s"}}
    message = AIMessage([{"type": "reasoning", "reasoning": "one"}, signed], response_metadata=told)
    thought = {"type": "non_standard", "value": {"thought": True, "text": "one"}}
    assert [thought, signed] == _with_thoughts(message).content
    same = AIMessage([signed], response_metadata=told)
    assert _with_thoughts(same) is same
