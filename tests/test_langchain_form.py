"""The form `langchain`: every shape in which LangChain's classes keep reasoning, read, kept whole, and taken out."""

from __future__ import annotations

import json
import logging

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, adopt, capture, prepare
from reasoning_replay._fallback import stripped
from reasoning_replay._history import HistoryError
from reasoning_replay.forms import form_of

lc = pytest.importorskip("langchain_core.messages")

CALLS = [{"name": "look", "args": {"at": "x"}, "id": "call_1"}]
WORD = "CANARY"
TOOLS = {"tools": [{"type": "function"}]}
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
UNKNOWN = Origin("gw.corp.example", model="m")

# name -> dialect, content, additional_kwargs, other fields. CANARY stands in all that only its host may see.
SHAPES = {
    "text beside": ("chat", "hi", {"reasoning_content": "CANARY"}, {}),
    "text under the host's own key": (
        "chat",
        "hi",
        {"reasoning_content": "CANARY", "reasoning_field": {"id": "reasoning"}},
        {},
    ),
    "cerebras": ("chat", "hi", {"reasoning": "CANARY"}, {}),
    "openrouter": (
        "chat",
        "hi",
        {
            "reasoning_content": "CANARY",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "CANARY", "index": 0}],
        },
        {},
    ),
    "call extras": ("chat", "", {"reasoning_tool_extras": {"call_1": {"google": {"thought_signature": "CANARY"}}}}, {}),
    "litellm blocks": (
        "anthropic",
        "hi",
        {"thinking_blocks": [{"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}]},
        {},
    ),
    "claude v0": (
        "anthropic",
        [
            {"type": "thinking", "thinking": "CANARY", "signature": "CANARY", "index": 0},
            {"type": "redacted_thinking", "data": "CANARY"},
            {"type": "text", "text": "hi"},
        ],
        {},
        {},
    ),
    "claude v1": (
        "anthropic",
        [
            {"type": "reasoning", "reasoning": "CANARY", "extras": {"signature": "CANARY"}},
            {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "CANARY"}},
            {"type": "text", "text": "hi"},
        ],
        {},
        {"response_metadata": {"output_version": "v1"}},
    ),
    "a call melted into the block": (
        "anthropic",
        [
            {
                "type": "reasoning",
                "reasoning": "CANARY",
                "extras": {"signature": "CANARY"},
                "id": "call_1",
                "name": "look",
            },
            {"type": "text", "text": "hi"},
        ],
        {},
        {},
    ),
    "converse": (
        "bedrock",
        [
            {"type": "reasoning_content", "reasoning_content": {"text": "CANARY", "signature": "CANARY"}},
            {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"CANARY"}},
            {"type": "text", "text": "hi"},
        ],
        {},
        {},
    ),
    "converse v1": (
        "bedrock",
        [
            {"type": "reasoning", "reasoning": "CANARY", "extras": {"signature": "CANARY"}},
            {"type": "reasoning", "reasoning": "", "extras": {"redacted_content": b"CANARY"}},
            {"type": "text", "text": "hi"},
        ],
        {},
        {},
    ),
    "gemini": (
        "gemini",
        [
            {"type": "thinking", "thinking": "CANARY"},
            {"type": "text", "text": "hi", "extras": {"signature": "CANARY"}},
        ],
        {"__gemini_function_call_thought_signatures__": {"call_1": "CANARY"}},
        {},
    ),
    "responses v0": (
        "responses",
        [
            {"type": "reasoning", "id": "rs_CANARY", "summary": [{"type": "summary_text", "text": "CANARY"}]},
            {"type": "text", "text": "hi", "id": "msg_CANARY"},
            {"type": "function_call", "id": "fc_CANARY", "call_id": "call_1", "name": "look", "arguments": "{}"},
        ],
        {"__openai_function_call_ids__": {"call_1": "fc_CANARY"}},
        {"id": "msg_CANARY", "response_metadata": {"id": "resp_CANARY"}},
    ),
    "responses v0.3": (
        "responses",
        [{"type": "text", "text": "hi"}],
        {"reasoning": {"id": "rs_CANARY", "summary": [], "encrypted_content": "CANARY"}},
        {"id": "resp_CANARY"},
    ),
    "an item beside a text": (
        "responses",
        "hi",
        {
            "reasoning": {
                "type": "reasoning",
                "id": "rs_CANARY",
                "summary": [{"type": "summary_text", "text": "CANARY"}],
                "encrypted_content": "CANARY",
            }
        },
        {},
    ),
    "responses v1 from a stream": (
        "responses",
        [
            {"type": "reasoning", "reasoning": "CANARY", "id": "rs_CANARY", "extras": {"encrypted_content": "CANARY"}},
            {"type": "text", "text": "hi", "id": "msg_CANARY"},
            {"type": "tool_call", "name": "look", "args": {}, "id": "call_1", "extras": {"item_id": "fc_CANARY"}},
        ],
        {},
        {},
    ),
}
TARGETS = {
    "chat": {"host": "https://api.groq.com/openai/v1", "model": "openai/gpt-oss-120b"},
    "anthropic": {"host": "https://api.anthropic.com", "model": "claude-opus-4-6", "dialect": "anthropic"},
    "responses": {"host": "https://api.openai.com/v1", "model": "gpt-5", "dialect": "responses"},
    "gemini": {"host": "https://gemini.example", "model": "gemini-3", "dialect": "gemini"},
    "bedrock": {"host": "https://bedrock.example", "model": "claude", "dialect": "bedrock"},
    "ollama": {"host": "http://localhost:11434", "model": "qwen3", "dialect": "ollama"},
}


def history(shape, origin=None):
    _, content, kwargs, rest = SHAPES[shape]
    reply = lc.AIMessage(content=content, additional_kwargs=kwargs, tool_calls=CALLS, **rest)
    messages = [lc.HumanMessage("go"), reply, lc.ToolMessage("done", tool_call_id="call_1")]
    return messages if origin is None else adopt(messages, origin, form="langchain")


def own(shape, **changes):
    dialect = SHAPES[shape][0]
    return Origin("gw.corp.example", model="m", dialect=dialect, **changes)


def planned(messages, **target):
    arguments = {"request": TOOLS, "known": MemoryStore(), **target}
    return prepare(messages, form="langchain", **arguments)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_goes_back_whole_to_the_host_that_wrote_it(shape):
    messages = history(shape, own(shape))
    plan = planned(messages, host="gw.corp.example", model="m", dialect=SHAPES[shape][0])
    assert plan.messages is messages
    assert set(plan.report.counts()) == {"keep"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("marked", [True, False])
def test_nothing_of_it_goes_to_any_other_host(shape, target, marked):
    messages = history(shape, own(shape) if marked else None)
    plan = planned(messages, **TARGETS[target])
    assert WORD not in repr(plan.messages)
    assert [message.text for message in plan.messages] == [message.text for message in messages]
    assert plan.messages[1].tool_calls == messages[1].tool_calls
    assert plan.messages[0] is messages[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_callers_messages_are_never_changed(shape):
    messages = history(shape, own(shape))
    before = repr(messages)
    planned(messages, **TARGETS["chat"])
    assert repr(messages) == before


@pytest.mark.parametrize("shape", SHAPES)
def test_the_fallback_takes_everything_out(shape):
    target = Origin("gw.corp.example", model="m")
    left, _ = stripped(
        history(shape, own(shape)),
        form="langchain",
        dialect="chat",
        host=target.host,
        hint=None,
        model=None,
        request={},
    )
    assert WORD not in repr(left)
    assert [message.type for message in left] == ["human", "ai", "tool"]


@pytest.mark.parametrize("shape", [name for name, case in SHAPES.items() if "converse" not in name])
def test_what_json_and_back_makes_of_it_replays_the_same(shape):
    messages = history(shape, own(shape))
    loaded = lc.messages_from_dict(json.loads(json.dumps(lc.messages_to_dict(messages))))
    plan = planned(loaded, host="gw.corp.example", model="m", dialect=SHAPES[shape][0])
    assert plan.messages is loaded


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dump_is_planned_like_the_messages_themselves(shape):
    messages = history(shape, own(shape))
    dumps = lc.messages_to_dict(messages)
    plan = planned(dumps, **TARGETS["chat"])
    assert WORD not in repr(plan.messages)
    assert [dump["type"] for dump in plan.messages] == ["human", "ai", "tool"]
    assert plan.report == planned(messages, **TARGETS["chat"]).report


@pytest.mark.parametrize("shape", SHAPES)
def test_capture_marks_a_reply_and_does_not_believe_a_mark_that_came_with_it(shape):
    forged = history(shape, Origin("evil.example"))[1]
    reply = capture(forged, own(shape), form="langchain", known=MemoryStore())
    assert type(reply) is lc.AIMessage
    assert [reply] == adopt([reply], own(shape), form="langchain")
    assert (
        reply.additional_kwargs["reasoning_replay"]
        == history(shape, own(shape))[1].additional_kwargs["reasoning_replay"]
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unmarked_reply_is_known_in_the_process_that_captured_it(shape):
    known = MemoryStore()
    capture(history(shape)[1], own(shape), form="langchain", known=known)
    messages = history(shape)
    plan = planned(messages, host="gw.corp.example", model="m", dialect=SHAPES[shape][0], known=known)
    assert plan.messages is messages


def test_reasoning_of_signed_blocks_is_known_in_every_shape():
    """v0, v1 and LiteLLM's own list hold the same block: one digest."""
    known, origin = MemoryStore(), own("claude v0")
    capture(history("litellm blocks")[1], origin, form="langchain", known=known)
    for shape in ("claude v1", "claude v0"):
        messages = history(shape)
        messages[1].content[:] = [block for block in messages[1].content if "redacted" not in repr(block)]
        plan = planned(messages, host="gw.corp.example", model="m", dialect="anthropic", known=known)
        assert plan.messages is messages


def test_a_copy_for_display_never_goes_on_the_wire():
    """v1 shows readable text a second time, as a block: it is sent once, under the host's own key."""
    content = [{"type": "reasoning", "reasoning": "R"}, {"type": "text", "text": "hi"}]
    reply = lc.AIMessage(content=content, additional_kwargs={"reasoning_content": "R"})
    messages = adopt([lc.HumanMessage("go"), reply], DEEPSEEK, form="langchain")
    plan = planned(messages, host="api.deepseek.com", model="deepseek-v4-pro")
    assert plan.messages[1].content == [{"type": "text", "text": "hi"}]
    assert plan.messages[1].additional_kwargs["reasoning_content"] == "R"


def test_what_goes_under_another_key_waits_beside_the_message():
    reply = lc.AIMessage("hi", additional_kwargs={"reasoning_content": "R"}, tool_calls=CALLS)
    origin = Origin("api.groq.com", model="openai/gpt-oss-120b")
    messages = adopt([lc.HumanMessage("go"), reply], origin, form="langchain")
    plan = planned(messages, **TARGETS["chat"])
    assert plan.messages[1].additional_kwargs["reasoning_replay_wire"] == {"reasoning": "R"}
    assert "reasoning_content" not in plan.messages[1].additional_kwargs


def test_the_rules_fill_waits_beside_the_message():
    messages = [lc.HumanMessage("go"), lc.AIMessage("", tool_calls=CALLS), lc.ToolMessage("x", tool_call_id="call_1")]
    plan = planned(messages, host="api.deepseek.com", model="deepseek-v4-pro")
    assert plan.messages[1].additional_kwargs["reasoning_replay_wire"] == {"reasoning_content": ""}


def test_a_legacy_function_call_beside_tool_calls_goes():
    kwargs = {"function_call": {"name": "look", "arguments": "{}"}}
    messages = [lc.HumanMessage("go"), lc.AIMessage("", additional_kwargs=kwargs, tool_calls=CALLS)]
    plan = planned(messages, **TARGETS["chat"])
    assert plan.messages[1].additional_kwargs == {}


def test_a_signature_inside_a_calls_id_goes_with_its_call_and_result():
    calls = [{"name": "look", "args": {}, "id": "call_1__thought__CANARY"}]
    messages = [
        lc.HumanMessage("go"),
        lc.AIMessage("", tool_calls=calls),
        lc.ToolMessage("x", tool_call_id="call_1__thought__CANARY"),
    ]
    plan = planned(messages, **TARGETS["chat"])
    assert plan.messages[1].tool_calls[0]["id"] == plan.messages[2].tool_call_id == "call_1"


def test_a_message_with_only_foreign_reasoning_is_left_out():
    reply = lc.AIMessage([{"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}])
    plan = planned([lc.HumanMessage("go"), reply, lc.HumanMessage("and?")], **TARGETS["chat"])
    assert [message.type for message in plan.messages] == ["human", "human"]


class TestTurns:
    def one(self, text, **kwargs):
        return lc.HumanMessage(text, additional_kwargs=kwargs)

    def loop(self, second):
        reply = lc.AIMessage("", additional_kwargs={"reasoning_content": "R"}, tool_calls=CALLS)
        messages = [self.one("go"), reply, lc.ToolMessage("x", tool_call_id="call_1"), second, lc.AIMessage("b")]
        return adopt(messages, UNKNOWN, form="langchain")

    def kept(self, second, policy=None):
        plan = planned(self.loop(second), host="gw.corp.example", model="m", policy=policy)
        return "reasoning_content" in plan.messages[1].additional_kwargs

    def test_a_human_message_starts_a_turn(self):
        assert not self.kept(self.one("next"))

    def test_a_note_that_says_so_does_not(self):
        assert self.kept(self.one("a job is done", turn=False))

    def test_the_callers_function_is_asked_with_the_fields_of_the_message(self):
        policy = Policy(starts_turn=lambda row: False if row["content"] == "next" else None)
        assert self.kept(self.one("next"), policy)

    def test_a_picture_right_behind_a_result_does_not(self):
        assert self.kept(lc.HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}]))

    @pytest.mark.parametrize("counter", [3, "no", None])
    def test_a_key_of_the_same_name_that_is_no_note_of_ours_says_nothing(self, counter):
        assert not self.kept(self.one("next", turn=counter))


class TestOtherRoles:
    @pytest.mark.parametrize("kind", ["HumanMessage", "SystemMessage"])
    def test_thinking_that_stands_in_a_message_of_another_never_goes(self, kind):
        block = {"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}
        message = getattr(lc, kind)([block, {"type": "text", "text": "hi"}])
        plan = planned([message], **TARGETS["anthropic"])
        assert plan.messages[0].content == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("hi", "messages: a str; allowed: a list of LangChain messages"),
        ([object()], r"messages\[0\]: a object; allowed: a LangChain message"),
    ],
)
def test_what_cannot_be_read_is_named(messages, said):
    with pytest.raises(HistoryError, match=said):
        planned(messages, **TARGETS["chat"])


def test_the_first_drop_for_unknown_origin_warns_once(caplog):
    from reasoning_replay._known import forget_warnings

    forget_warnings()
    with caplog.at_level(logging.WARNING, "reasoning_replay"):
        planned(history("text beside"), **TARGETS["chat"])
        planned(history("text beside"), **TARGETS["chat"])
    assert len(caplog.records) == 1
    assert "adopt(messages, origin)" in caplog.text


def test_a_call_that_chunk_merging_put_into_a_text_block_goes_from_there():
    block = {"type": "text", "text": "hi", "id": "call_1", "name": "look", "args": {}}
    messages = [lc.HumanMessage("go"), lc.AIMessage([block], tool_calls=CALLS)]
    plan = planned(messages, **TARGETS["responses"])
    assert plan.messages[1].content == [{"type": "text", "text": "hi"}]


def test_a_null_refusal_beside_v1_blocks_goes():
    kwargs = {"refusal": None}
    messages = [lc.HumanMessage("go"), lc.AIMessage([{"type": "text", "text": "hi"}], additional_kwargs=kwargs)]
    assert planned(messages, **TARGETS["responses"]).messages[1].additional_kwargs == {}


def test_blocks_that_chatlitellm_keeps_beside_the_content_lead_the_message():
    """Else Claude's guard would switch thinking off in its own tool loop."""
    request = {**TOOLS, "thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096}
    claude = {"host": "https://api.anthropic.com", "model": "claude-sonnet-4-5", "dialect": "anthropic"}
    origin = Origin(claude["host"], model=claude["model"], dialect="anthropic")
    plan = planned(history("litellm blocks", origin), **claude, request=request)
    assert plan.request is request
    assert plan.messages[1].additional_kwargs["thinking_blocks"]


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "msg_1"},
        {"response_metadata": {"id": "resp_1"}},
        {"tool_calls": [{"name": "look", "args": {}, "id": "call_1__thought__X"}]},
        {"content": [{"type": "text", "text": "hi"}, {"type": "thinking", "thinking": "CANARY"}]},
        {"additional_kwargs": {"reasoning_content": "R", "reasoning_field": {"id": "reasoning"}}},
        {
            "additional_kwargs": {
                "reasoning_content": "R",
                "reasoning_details": [{"type": "reasoning.text", "text": "R"}],
            }
        },
        {"additional_kwargs": {"reasoning_content": "  "}},
        {"content": "", "tool_calls": []},
    ],
    ids=str,
)
def test_a_message_like_a_usual_one_is_not_taken_for_one(changed):
    """The short cut for usual messages looks at all that a shape depends on."""
    usual = {"content": "hi", "additional_kwargs": {"reasoning_content": "R"}, "tool_calls": CALLS}

    def shape_of(*messages):
        marked = adopt(list(messages), UNKNOWN, form="langchain")
        return form_of("langchain").view([message.__dict__ for message in marked], None).rows[-1]

    odd = lc.AIMessage(**{**usual, **changed})
    alone = shape_of(odd)
    behind = shape_of(lc.AIMessage(**usual), lc.AIMessage(**usual), odd)
    assert behind is alone
    assert alone is not shape_of(lc.AIMessage(**usual))


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (["", {"type": "thinking", "thinking": "CANARY"}, "Let me look."], "Let me look."),
        (["", {"type": "thinking", "thinking": "CANARY"}], ""),
        ([{"type": "thinking", "thinking": "CANARY"}, {"type": "text", "text": ""}], ""),
        (
            [{"type": "thinking", "thinking": "CANARY"}, "", {"type": "text", "text": "hi"}],
            [{"type": "text", "text": "hi"}],
        ),
    ],
)
def test_what_a_stream_left_empty_beside_the_thinking_goes_with_it(content, left):
    messages = [lc.HumanMessage("go"), lc.AIMessage(content, tool_calls=CALLS)]
    assert planned(messages, **TARGETS["anthropic"]).messages[1].content == left


class TestThinkingInTheVisibleText:
    """MiniMax writes its thinking between tags: replay state there, and nobody else's business."""

    TEXT = "<think>CANARY</think>\n\nhi"
    HOST = "api.minimax.io"

    def history(self, content):
        origin = Origin(self.HOST, model="MiniMax-M2")
        return adopt([lc.HumanMessage("go"), lc.AIMessage(content, tool_calls=CALLS)], origin, form="langchain")

    @pytest.mark.parametrize("content", [TEXT, [{"type": "text", "text": TEXT}]])
    def test_it_stays_at_its_host(self, content):
        messages = self.history(content)
        assert planned(messages, host=self.HOST, model="MiniMax-M2").messages is messages

    @pytest.mark.parametrize(
        ("content", "left"), [(TEXT, "hi"), ([{"type": "text", "text": TEXT}], [{"type": "text", "text": "hi"}])]
    )
    def test_it_is_cut_for_any_other(self, content, left):
        assert planned(self.history(content), **TARGETS["chat"]).messages[1].content == left

    def test_it_is_cut_out_of_a_string_in_a_list_by_the_fallback_too(self):
        for messages in (self.history([self.TEXT, " you"]), [lc.AIMessage([self.TEXT, " you"])]):
            left, _ = stripped(messages, form="langchain", dialect="chat", host="h", hint=None, model=None, request={})
            assert "hi you" == left[-1].content
        assert "hi you" == planned(self.history([self.TEXT, " you"]), **TARGETS["chat"]).messages[1].content


class AgentMessage(lc.AIMessage):
    """A message class of a user's own, with a type of its own."""

    type: str = "agent"


def test_the_assistants_message_is_known_by_its_fields_whatever_its_type():
    messages = [lc.HumanMessage("go"), AgentMessage("hi", additional_kwargs={"reasoning_content": "CANARY"})]
    assert WORD not in repr(planned(adopt(messages, UNKNOWN, form="langchain"), **TARGETS["chat"]).messages)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "hi", "extras": {"signature": "CANARY"}},
        {"type": "text", "text": "hi", "thought_signature": "CANARY"},
        {"type": "text", "text": "hi", "id": "msg_CANARY"},
    ],
)
@pytest.mark.parametrize(
    "made", [lc.HumanMessage, lc.SystemMessage, lambda content: lc.ToolMessage(content, tool_call_id="call_1")]
)
def test_what_a_reply_held_does_not_travel_in_a_message_that_quotes_its_blocks(made, block):
    """`HumanMessage(reply.content, name="researcher")`: the usual way to hand one agent's words to another."""
    messages = [made([block])]
    assert planned(messages, **TARGETS["chat"]).messages[0].content == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    "fields",
    [
        {"invalid_tool_calls": [{"name": "f", "args": "{", "id": "call_1__thought__CANARY", "error": None}]},
        {"additional_kwargs": {"tool_calls": [{"id": "call_1__thought__CANARY", "function": {"name": "f"}}]}},
    ],
    ids=["invalid", "raw"],
)
def test_a_signature_in_the_id_of_a_call_that_could_not_be_read_goes_too(fields):
    messages = [lc.AIMessage("", **fields), lc.ToolMessage("x", tool_call_id="call_1__thought__CANARY")]
    plan = planned(messages, **TARGETS["chat"])
    assert WORD not in repr(plan.messages)
    assert [message.type for message in plan.messages] == ["ai", "tool"]
    assert plan.messages[1].tool_call_id == "call_1"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "code_interpreter_call", "id": "ci_CANARY", "code": "1"},
        {"type": "image_generation_call", "id": "ig_CANARY"},
        {"type": "mcp_list_tools", "id": "mcpl_CANARY"},
        {"type": "server_tool_call", "id": "ws_CANARY", "name": "web_search", "args": {}},
    ],
)
def test_an_item_of_a_built_in_tool_goes_to_its_host_alone(block):
    reply = lc.AIMessage([block, {"type": "text", "text": "hi"}])
    messages = adopt([lc.HumanMessage("go"), reply], own("responses v0"), form="langchain")
    assert planned(messages, **TARGETS["responses"]).messages[1].content == [{"type": "text", "text": "hi"}]
    assert planned(messages, host="gw.corp.example", model="m", dialect="responses").messages is messages


def test_what_an_earlier_plan_put_aside_for_the_wire_is_not_sent_again():
    kwargs = {"reasoning_replay_wire": {"reasoning_content": "CANARY"}}
    messages = [lc.HumanMessage("go"), lc.AIMessage("hi", additional_kwargs=kwargs)]
    assert planned(messages, **TARGETS["chat"]).messages[1].additional_kwargs == {}


@pytest.mark.parametrize(
    "kwargs",
    [
        {"reasoning_replay": {"id": ["x"], "v": 1}, "reasoning_content": "CANARY"},
        {"provider_specific_fields": 3, "reasoning_content": "CANARY"},
        {"tool_calls": [{"id": 3}], "reasoning_content": "CANARY"},
    ],
    ids=["mark", "fields", "call"],
)
def test_one_odd_message_costs_the_others_nothing(kwargs):
    own_step = adopt([lc.AIMessage("a", additional_kwargs={"reasoning_content": "OWN"})], UNKNOWN, form="langchain")
    odd = lc.AIMessage.model_construct(content="b", additional_kwargs=kwargs, response_metadata={}, tool_calls=[])
    plan = planned([lc.HumanMessage("go"), *own_step, odd], host="gw.corp.example", model="m")
    assert "OWN" in repr(plan.messages)
    assert WORD not in repr(plan.messages)


def test_reasoning_inside_a_quoted_tool_result_goes():
    inner = [{"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}, {"type": "text", "text": "hi"}]
    message = lc.HumanMessage([{"type": "tool_result", "tool_use_id": "t", "content": inner}])
    left = planned([message], **TARGETS["anthropic"]).messages[0].content
    assert left == [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "hi"}]}]
