"""The doors: what of a history goes to a host, and what of a reply is remembered."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from typing import ClassVar

import pytest

from reasoning_replay import (
    BadPolicy,
    Collector,
    HistoryError,
    MemoryStore,
    MissingReasoning,
    Origin,
    OriginError,
    Policy,
    adopt,
    capture,
    load_hosts,
    prepare,
    rule_for,
)
from reasoning_replay import _known as known_room
from reasoning_replay._replay import confirm

DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5")
TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}


def call(name):
    return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def step(name, origin=DEEPSEEK, **fields):
    message = {"role": "assistant", "content": "", "tool_calls": [call(name)], **fields}
    return capture(message, origin) if origin is not None else message


def result(name):
    return {"role": "tool", "tool_call_id": name, "content": "done"}


def user(text="go"):
    return {"role": "user", "content": text}


def to_deepseek(messages, model="deepseek-v4-pro", request=TOOLS, **options):
    return prepare(messages, host="https://api.deepseek.com/v1", model=model, request=request, **options)


def fields(plan, key="reasoning_content"):
    """What each assistant message carries under a key; `None` where the key is absent."""
    return [message.get(key) for message in plan.messages if message["role"] == "assistant"]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(known_room, "_warned", set())
    known_room.default_store.cache_clear()


THREE_TURNS = [
    user(),
    step("a", reasoning_content="A"),
    result("a"),
    capture({"role": "assistant", "content": "one", "reasoning_content": "B"}, DEEPSEEK),
    user(),
    step("c", reasoning_content="C"),
    result("c"),
    capture({"role": "assistant", "content": "two", "reasoning_content": ""}, DEEPSEEK),
    user(),
]


@pytest.mark.parametrize(
    ("model", "request_", "sent"),
    [
        ("deepseek-v4-pro", TOOLS, ["A", "B", "C", ""]),
        ("deepseek-v4-pro", {}, ["", "", "", ""]),
        ("deepseek-v4-pro", {**TOOLS, "thinking": {"type": "disabled"}}, [None] * 4),
        ("deepseek-v4-pro", {**TOOLS, "reasoning_effort": "none"}, [None] * 4),
        ("deepseek-reasoner", TOOLS, [None] * 4),
        ("deepseek-v3.2", TOOLS, [None] * 4),
        ("deepseek-r1", TOOLS, [None] * 4),
    ],
)
def test_deepseek_gets_back_what_its_model_wants_at_the_start_of_a_third_turn(model, request_, sent):
    assert fields(to_deepseek(THREE_TURNS, model, request_)) == sent


@pytest.mark.parametrize(
    ("model", "request_", "sent"),
    [
        ("deepseek-v4-pro", {}, ["", "", "C", ""]),
        ("deepseek-reasoner", TOOLS, [None, None, "C", ""]),
        ("deepseek-r1", TOOLS, [None] * 4),
    ],
)
def test_deepseek_gets_the_running_turns_reasoning_back(model, request_, sent):
    assert fields(to_deepseek(THREE_TURNS[:-1], model, request_)) == sent


def test_an_empty_string_from_the_host_goes_back_as_an_empty_string_and_a_reply_without_the_field_gets_none():
    origin = Origin("api.moonshot.ai", model="kimi-k3")
    plan = prepare(
        [
            user(),
            step("a", origin, reasoning_content=""),
            result("a"),
            capture({"role": "assistant", "content": "x"}, origin),
        ],
        host="api.moonshot.ai",
        model="kimi-k3",
    )
    assert fields(plan)[0] == ""
    unknown = Origin("somewhere.example", model="m")
    plan = prepare([user(), step("a", unknown, reasoning_content="")], host="somewhere.example", model="m")
    assert "reasoning_content" not in plan.messages[1]


def test_foreign_reasoning_goes_without_and_the_required_field_gets_the_rules_fill():
    foreign = step("a", Origin("api.z.ai", model="glm-5"), reasoning_content="SECRET")
    plan = to_deepseek([user(), foreign, result("a")])
    assert fields(plan) == [""]
    assert "SECRET" not in repr(plan) + str(plan.report) + json.dumps(plan.messages)
    assert [(row.action, row.reason) for row in plan.report.rows] == [("drop", "foreign"), ("fill", "missing")]


def test_required_but_missing_raises_with_index_and_host_when_the_policy_asks():
    bare = step("a", None)
    with pytest.raises(MissingReasoning) as caught:
        to_deepseek([user(), bare, result("a")], policy=Policy(missing="raise"))
    assert (caught.value.index, caught.value.host) == (1, "api.deepseek.com")
    assert str(caught.value) == (
        "messages[1]: api.deepseek.com demands this message's reasoning, and the history does not have it; "
        'keep what capture() gave, adopt(messages, origin), or choose another Policy(missing="host")'
    )
    assert pickle.loads(pickle.dumps(caught.value)).index == 1


def test_required_but_missing_is_left_or_switches_thinking_off_when_the_policy_asks():
    messages = [user(), step("a", None), result("a")]
    assert "reasoning_content" not in to_deepseek(messages, policy=Policy(missing="leave")).messages[1]
    plan = to_deepseek(messages, policy=Policy(missing="disable_thinking"))
    assert plan.request == {**TOOLS, "thinking": {"type": "disabled"}}
    assert "reasoning_content" not in plan.messages[1]
    assert [row.reason for row in plan.report.rows if row.action == "guard"] == ["disabled"]


def test_the_callers_messages_are_never_changed_and_two_plans_are_equal():
    before = copy.deepcopy(THREE_TURNS)
    first, second = to_deepseek(THREE_TURNS), to_deepseek(THREE_TURNS)
    assert before == THREE_TURNS
    assert first.messages == second.messages
    assert json.dumps(first.messages) == json.dumps(second.messages)
    assert all(new is old for new, old in zip(first.messages, THREE_TURNS, strict=True) if old["role"] != "assistant")


def test_a_history_without_reasoning_comes_back_as_the_very_same_list():
    messages = [user(), {"role": "assistant", "content": "hi"}, user()]
    request = {"temperature": 0}
    plan = prepare(messages, host="api.groq.com", model="llama-3.3-70b", request=request)
    assert plan.messages is messages
    assert plan.request is request
    assert plan.report.rows == ()


def test_a_later_layer_that_sees_the_planned_messages_loses_nothing():
    plan = to_deepseek(THREE_TURNS, known=MemoryStore())
    again = to_deepseek(plan.messages, known=plan.known)
    assert again.messages == plan.messages
    assert fields(to_deepseek(plan.messages, known=MemoryStore())) == ["", "", "", ""]


def test_a_plan_is_not_changed_by_what_the_caller_does_to_the_list_afterwards():
    messages = list(THREE_TURNS)
    plan = to_deepseek(messages)
    messages.append(user("more"))
    assert len(plan.report.rows) == 4
    assert len(plan.kept) == 4


def test_what_json_and_back_makes_of_a_captured_message_replays_the_same():
    stored = json.loads(json.dumps(THREE_TURNS))
    assert to_deepseek(stored).messages == to_deepseek(THREE_TURNS).messages


class TestUnknownOrigin:
    MESSAGES = (user(), step("a", None, reasoning_content="A"), result("a"))

    def test_it_is_dropped_with_one_warning_that_says_the_fix(self, caplog):
        with caplog.at_level(logging.WARNING, logger="reasoning_replay"):
            for _ in range(3):
                assert fields(to_deepseek(list(self.MESSAGES))) == [""]
        assert [record.getMessage() for record in caplog.records] == [
            (
                "api.deepseek.com: reasoning of 1 message(s) was left out, since nothing says which host wrote it; "
                "reasoning_replay.adopt(messages, origin) marks a history that you trust (said once)"
            )
        ]

    def test_the_policy_trusts_it(self):
        assert fields(to_deepseek(list(self.MESSAGES), policy=Policy(unknown_origin="trust"))) == ["A"]

    def test_the_policy_says_where_it_was_written(self):
        assert fields(to_deepseek(list(self.MESSAGES), policy=Policy(unknown_origin=DEEPSEEK))) == ["A"]
        elsewhere = Policy(unknown_origin=Origin("api.z.ai"))
        assert fields(to_deepseek(list(self.MESSAGES), policy=elsewhere)) == [""]

    def test_adopt_heals_it_without_changing_the_callers_list(self):
        before = copy.deepcopy(self.MESSAGES)
        healed = adopt(list(self.MESSAGES), DEEPSEEK)
        assert fields(to_deepseek(healed)) == ["A"]
        assert before == self.MESSAGES
        assert adopt(healed, Origin("api.z.ai")) is healed
        assert healed[0] is self.MESSAGES[0]

    def test_it_is_known_in_the_process_that_captured_it(self):
        step("b", reasoning_content="seen before")
        assert fields(to_deepseek([user(), step("b", None, reasoning_content="seen before")])) == ["seen before"]

    def test_a_broken_mark_is_unknown(self):
        message = step("a", reasoning_content="A")
        message["provider_specific_fields"]["reasoning_replay"]["id"] += "x"
        assert fields(to_deepseek([user(), message], known=MemoryStore())) == [""]

    def test_a_blank_filler_is_never_of_unknown_origin(self, caplog):
        with caplog.at_level(logging.WARNING, logger="reasoning_replay"):
            plan = to_deepseek([user(), step("a", None, reasoning_content=" "), step("b", None, reasoning_content="")])
        assert fields(plan) == ["", ""]
        assert caplog.records == []


def test_known_text_seen_from_two_hosts_goes_to_both_and_no_other():
    store = MemoryStore()
    for origin in (DEEPSEEK, Origin("api.z.ai", model="glm-5")):
        capture({"role": "assistant", "content": "", "reasoning_content": "same words"}, origin, known=store)
    message = step("a", None, reasoning_content="same words")
    assert fields(to_deepseek([user(), message], known=store)) == ["same words"]
    other = prepare([user(), message], host="api.moonshot.ai", model="kimi-k3", known=store)
    assert fields(other) == [""]


class TestRouter:
    """OpenRouter fronts many vendors: the upstream is compared too."""

    @staticmethod
    def to(model, messages):
        return prepare(messages, host="https://openrouter.ai/api/v1", model=model)

    def test_one_vendors_text_does_not_go_to_another(self):
        origin = Origin("openrouter.ai", model="deepseek/deepseek-v4-pro")
        messages = [user(), step("a", origin, reasoning="DEEP"), result("a")]
        assert "DEEP" in json.dumps(self.to("deepseek/deepseek-v4-pro", messages).messages)
        assert "DEEP" in json.dumps(self.to("openrouter/deepseek/deepseek-v4-flash", messages).messages)
        assert "DEEP" not in json.dumps(self.to("anthropic/claude-opus-5", messages).messages)

    def test_details_are_lifted_from_litellms_field_and_unsigned_claude_text_goes(self):
        origin = Origin("openrouter.ai", model="anthropic/claude-opus-5")
        signed = {
            "type": "reasoning.text",
            "text": "S",
            "signature": "sig",
            "format": "anthropic-claude-v1",
            "index": 0,
        }
        sealed = {"type": "reasoning.encrypted", "data": "blob", "format": "anthropic-claude-v1", "index": 1}
        loose = {"type": "reasoning.text", "text": "loose", "format": "anthropic-claude-v1", "index": 2}
        message = {
            **step("a", None, reasoning_content="S"),
            "provider_specific_fields": {"reasoning_details": [signed, sealed, loose]},
        }
        marked = capture(message, origin, form="litellm")
        plan = prepare([user(), marked, result("a")], host="openrouter.ai", model=origin.model, form="litellm")
        assert plan.messages[1]["reasoning_details"] == [signed, sealed]
        assert plan.messages[1]["reasoning_details"][0] is signed
        assert "provider_specific_fields" not in plan.messages[1]
        assert "loose" not in json.dumps(plan.messages)


class TestTwoHostsOfOneKind:
    ONE, TWO = Origin("vllm-1:8000", model="q"), Origin("vllm-2:8000", model="q")
    MESSAGES = (user(), step("a", ONE, reasoning="R"), result("a"))

    def test_two_base_urls_are_two_hosts(self):
        assert "R" in json.dumps(prepare(list(self.MESSAGES), host="http://vllm-1:8000/v1").messages)
        assert '"R"' not in json.dumps(prepare(list(self.MESSAGES), host="http://vllm-2:8000/v1").messages)

    def test_replicas_that_the_caller_joins_are_one(self):
        policy = Policy(same_host=({"vllm-1:8000", "http://vllm-2:8000/v1"},))
        assert '"R"' in json.dumps(prepare(list(self.MESSAGES), host="http://vllm-2:8000/v1", policy=policy).messages)

    def test_an_alias_gives_a_host_the_rules_of_another_but_not_its_reasoning(self):
        policy = Policy(aliases={"gw.corp.example": "deepseek"})
        mine = step("a", Origin("gw.corp.example", model="deepseek-v4-pro"), reasoning_content="MINE")
        theirs = step("b", DEEPSEEK, reasoning_content="THEIRS")
        plan = prepare(
            [user(), mine, theirs], host="gw.corp.example", model="deepseek-v4-pro", request=TOOLS, policy=policy
        )
        assert fields(plan) == ["MINE", ""]


class TestStrictHosts:
    """Hosts that refuse keys they do not know."""

    @pytest.mark.parametrize(
        ("host", "model", "key"),
        [
            ("api.groq.com", "openai/gpt-oss-120b", "reasoning"),
            ("api.cerebras.ai", "gpt-oss-120b", "reasoning"),
            ("api.groq.com", "llama-3.3-70b-versatile", None),
            ("api.cerebras.ai", "gemma-4-31b", None),
            ("api.openai.com", "gpt-6", None),
        ],
    )
    def test_own_text_goes_under_the_hosts_own_key_and_nothing_else_does(self, host, model, key):
        origin = Origin(host, model=model)
        message = {
            **step("a", None, reasoning_content="OWN"),
            "thinking_blocks": [{"type": "thinking", "thinking": "OWN", "signature": "s"}],
            "provider_specific_fields": {"reasoning": "OWN", "citations": []},
        }
        plan = prepare([user(), capture(message, origin), result("a")], host=host, model=model, form="litellm")
        expected = {"role": "assistant", "content": "", "tool_calls": [call("a")]}
        assert plan.messages[1] == (expected if key is None else {**expected, key: "OWN"})

    def test_mistral_gets_a_chunk(self):
        origin = Origin("api.mistral.ai", model="magistral-medium-2509")
        message = capture({"role": "assistant", "content": "hi", "reasoning_content": "OWN"}, origin)
        plan = prepare([user(), message], host="api.mistral.ai", model=origin.model, form="litellm")
        assert plan.messages[1] == {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "OWN"}], "closed": True},
                {"type": "text", "text": "hi"},
            ],
        }


class TestBareMessages:
    def test_a_message_with_only_foreign_reasoning_is_left_out(self):
        empty = capture({"role": "assistant", "content": None, "reasoning_content": "F"}, Origin("api.z.ai"))
        plan = to_deepseek([user(), empty, user("b")])
        assert plan.messages == [user(), user("b")]
        assert plan.report.rows[-1].reason == "emptied"

    def test_a_message_with_only_its_own_reasoning_keeps_it_with_empty_content(self):
        own = capture({"role": "assistant", "content": None, "reasoning_content": "OWN"}, DEEPSEEK)
        plan = to_deepseek([user(), own, user("b")])
        assert plan.messages[1] == {"role": "assistant", "content": "", "reasoning_content": "OWN"}
        listed = capture({"role": "assistant", "content": [], "reasoning_content": "OWN"}, DEEPSEEK)
        assert to_deepseek([user(), listed, user("b")]).messages == plan.messages

    def test_where_the_host_refuses_that_it_is_left_out_too(self):
        block = {"type": "thinking", "thinking": "OWN", "signature": "s"}
        own = capture({"role": "assistant", "content": [block]}, CLAUDE)
        plan = prepare([user(), own, user("b")], host="api.anthropic.com", dialect="anthropic", model=CLAUDE.model)
        assert plan.messages == [user(), user("b")]
        assert plan.report.rows[-1].reason == "reasoning_only"

    def test_empty_visible_content_stays_as_it_is(self):
        for content in ("", None):
            message = {"role": "assistant", "content": content, "tool_calls": [call("a")]}
            plan = prepare([user(), message, result("a")], host="api.groq.com", model="x")
            assert plan.messages[1] is message


class TestSignaturesOnToolCalls:
    """A Gemini signature rides on the call, in three places at once under LiteLLM."""

    CALL: ClassVar = {
        **call("c1__thought__SIG"),
        "provider_specific_fields": {"thought_signature": "SIG"},
        "extra_content": {"google": {"thought_signature": "SIG"}},
    }

    @property
    def messages(self):
        origin = Origin("generativelanguage.googleapis.com", dialect="gemini", model="gemini-3-pro")
        reply = {"role": "assistant", "content": None, "tool_calls": [self.CALL]}
        return [user(), capture(reply, origin, form="litellm"), result("c1__thought__SIG")]

    def test_a_foreign_one_goes_from_everywhere_and_the_ids_still_agree(self):
        plan = prepare(self.messages, host="api.z.ai", model="glm-5", form="litellm")
        assert "SIG" not in json.dumps(plan.messages)
        assert plan.messages[1]["tool_calls"] == [call("c1")]
        assert plan.messages[2]["tool_call_id"] == "c1"

    def test_an_own_one_stays_everywhere(self):
        plan = prepare(
            self.messages,
            host="generativelanguage.googleapis.com",
            dialect="gemini",
            model="gemini-3-pro",
            form="litellm",
        )
        assert plan.messages[1]["tool_calls"] == [self.CALL]
        assert plan.messages[2]["tool_call_id"] == "c1__thought__SIG"


class TestWire:
    """`confirm`: what stays on the wire's copy of a planned list."""

    def test_only_what_the_plan_kept_stays_under_the_hosts_own_key(self):
        foreign = step("a", Origin("api.z.ai"), reasoning_content="FOREIGN")
        own = step("b", Origin("api.cerebras.ai", model="gpt-oss-120b"), reasoning_content="OWN")
        messages = [user(), foreign, result("a"), own, result("b")]
        plan = prepare(messages, host="api.cerebras.ai", model="gpt-oss-120b", form="litellm")
        wire = confirm(copy.deepcopy(messages), plan)
        assert [message.get("reasoning") for message in wire.messages] == [None, None, None, "OWN", None]
        assert "FOREIGN" not in json.dumps(wire.messages)
        assert "reasoning_replay" not in json.dumps(wire.messages)

    def test_the_wire_follows_the_callers_turn_notes_though_it_does_not_have_them(self):
        here = Origin("somewhere.example", model="m")
        note = {**user("note"), "turn": False}
        messages = [user(), step("a", here, reasoning_content="A"), result("a"), note, step("b", here)]
        plan = prepare(messages, host=here.host, model="m", form="litellm")
        stripped = [{key: value for key, value in message.items() if key != "turn"} for message in messages]
        assert confirm(stripped, plan).messages[1]["reasoning_content"] == "A"

    def test_the_same_words_in_an_earlier_turn_do_not_come_back(self):
        here = Origin("somewhere.example", model="m")
        messages = [user(), step("a", here, reasoning_content="SAME"), result("a"), user()]
        messages += [step("b", here, reasoning_content="SAME"), result("b")]
        plan = prepare(messages, host=here.host, model="m", form="litellm")
        wire = confirm(messages, plan)
        assert [message.get("reasoning_content") for message in wire.messages] == [None] * 4 + ["SAME", None]

    def test_an_empty_string_from_the_host_and_a_filler_of_the_framework_both_end_as_the_rule_says(self):
        messages = [user(), step("a", reasoning_content=""), result("a"), step("b", None, reasoning_content=" ")]
        plan = to_deepseek(messages, form="litellm")
        assert fields(confirm(messages, plan, request=TOOLS)) == ["", ""]


class TestBadInput:
    @pytest.mark.parametrize(
        ("messages", "message"),
        [
            ("text", "messages: a str; allowed: a list of messages"),
            ({"role": "user"}, "messages: a dict; allowed: a list of messages"),
            (None, "messages: a NoneType; allowed: a list of messages"),
            ([1], "messages[0]: a int; allowed: a dict, or an object with model_dump()"),
            (
                [user(), {"role": "wizard", "content": "x"}],
                "messages[1].role: 'wizard'; allowed: system, developer, user, assistant, tool, function, latest_reminder",
            ),
            ([{"content": "x"}], "messages[0].role: None; allowed: system, developer, user, assistant, tool, function, latest_reminder; a history of another form is read with form= or dialect="),
            (
                [{"role": "assistant", "content": "x", "reasoning_content": ["SECRET"]}],
                "messages[0].reasoning_content: a list; allowed: a string or null",
            ),
            (
                [{"role": "assistant", "content": "x", "thinking_blocks": "SECRET"}],
                "messages[0].thinking_blocks: a str; allowed: a list or null",
            ),
            ([{"role": "assistant", "content": 7}], "messages[0].content: a int; allowed: a string, a list of parts or null"),
            ([{"role": "user", "content": "x", "turn": "yes"}], "messages[0].turn: a str; allowed: true or false"),
        ],
    )  # fmt: skip
    def test_it_is_refused_with_where_and_what_is_allowed(self, messages, message):
        with pytest.raises(HistoryError) as caught:
            prepare(messages, host="api.deepseek.com")
        assert str(caught.value) == message

    def test_an_unknown_policy_value_is_refused(self):
        with pytest.raises(BadPolicy, match=r"allowed|one of|must be"):
            Policy(missing="maybe")

    def test_an_unknown_form_is_refused(self):
        with pytest.raises(HistoryError, match=r"form 'xml': not known; allowed: chat, litellm, anthropic"):
            prepare([], host="x", form="xml")

    def test_a_reply_that_is_none_is_refused(self):
        with pytest.raises(HistoryError, match="reply: no assistant message in it"):
            capture({"error": "x"}, DEEPSEEK)
        with pytest.raises(HistoryError, match="no choice 3; there are 1"):
            capture({"choices": [{"message": {"role": "assistant"}}]}, DEEPSEEK, choice=3)


def test_sdk_objects_are_read_and_unchanged_ones_are_given_back_as_they_are():
    class Message:
        def __init__(self, **fields):
            self.fields = fields

        def model_dump(self, **options):
            return dict(self.fields)

    plain = Message(role="user", content="go")
    marked = Message(**step("a", reasoning_content="A"))
    plan = to_deepseek([plain, marked, result("a")])
    assert fields(plan) == ["A"] if isinstance(plan.messages[1], dict) else False


def test_capture_takes_every_choice_and_overwrites_a_mark_that_came_with_the_reply():
    forged = step("a", Origin("evil.example"), reasoning_content="X")
    reply = {"choices": [{"message": {"role": "assistant", "content": "0"}}, {"message": forged}]}
    first, second = (capture(reply, DEEPSEEK, choice=number) for number in range(2))
    assert "provider_specific_fields" not in first
    assert second["provider_specific_fields"]["reasoning_replay"]["id"].startswith("api.deepseek.com|")


def test_the_rule_tells_what_holds_for_a_request():
    rule = rule_for("https://api.deepseek.com/v1", "deepseek-v4-pro", request=TOOLS)
    assert (rule.host, rule.window, rule.missing.fill) == ("deepseek", "all", "")
    assert rule_for("api.deepseek.com", "deepseek-v4-pro", request={}).window == "current_turn"
    assert rule_for("nowhere.example").window == "current_turn"


class TestStreams:
    def collect(self, deltas, origin=DEEPSEEK, form=None, finish=True):
        collector = Collector(origin, form=form)
        for delta in deltas:
            collector.feed({"choices": [{"index": 0, "delta": delta}]})
        if finish:
            collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            collector.feed({"choices": [], "usage": {}})
        return collector.result()

    def test_null_content_with_streamed_reasoning_is_captured(self):
        deltas = [{"role": "assistant", "content": None, "reasoning_content": ""}, {"reasoning_content": "A"}]
        message = self.collect([*deltas, {"content": "hi"}])
        assert (message["reasoning_content"], message["content"]) == ("A", "hi")
        assert message["provider_specific_fields"]["reasoning_replay"]["v"] == 1

    def test_details_are_merged_by_type_and_index_and_their_signature_comes_last(self):
        details = [
            {"type": "reasoning.text", "text": "a", "index": 0, "format": "anthropic-claude-v1"},
            {"type": "reasoning.text", "text": "b", "index": 0},
            {"type": "reasoning.text", "signature": "sig", "index": 0},
            {"type": "reasoning.encrypted", "data": "blob", "index": 1, "id": "r1"},
            {"type": "reasoning.text", "text": "c", "index": 2},
        ]
        message = self.collect([{"reasoning_details": [detail]} for detail in details])
        assert message["reasoning_details"] == [
            {"type": "reasoning.text", "text": "ab", "index": 0, "format": "anthropic-claude-v1", "signature": "sig"},
            details[3],
            details[4],
        ]

    THINKING = (
        {"thinking_blocks": [{"type": "thinking", "thinking": "un", "index": 0}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "signed", "index": 1}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "sig", "index": 1}]},
        {"content": "text"},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "blob", "index": 3}]},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
    )

    def test_blocks_stay_apart_and_an_interleaved_order_is_noted(self):
        message = self.collect(self.THINKING, CLAUDE, "litellm")
        assert message["thinking_blocks"] == [
            {"type": "thinking", "thinking": "un"},
            {"type": "thinking", "thinking": "signed", "signature": "sig"},
            {"type": "redacted_thinking", "data": "blob"},
        ]
        layout = ["thinking", "thinking", "text:4", "thinking", "tool_use"]
        assert message["provider_specific_fields"]["reasoning_layout"] == layout
        assert message["tool_calls"] == [call("c")]

    def test_an_interrupted_stream_marks_nothing_sealed(self):
        message = self.collect(self.THINKING, CLAUDE, "litellm", finish=False)
        assert message["thinking_blocks"] == [{"type": "thinking", "thinking": "un"}]

    def test_anthropic_events_give_the_blocks_in_order(self):
        collector = Collector(CLAUDE)
        events = [
            {"type": "message_start", "message": {}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "A"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x": 1}'}},
            {"type": "content_block_stop", "index": 1},
        ]  # fmt: skip
        for event in events:
            collector.feed(event)
        assert [block["type"] for block in collector.result()["content"]] == ["tool_use"]
        collector.feed({"type": "message_stop"})
        thinking, used = collector.result()["content"]
        assert (thinking["thinking"], thinking["signature"], used["input"]) == ("A", "sig", {"x": 1})
        assert "reasoning_replay" in thinking["provider_specific_fields"]


def test_a_null_reasoning_key_never_goes_on_the_wire():
    message = {
        "role": "assistant",
        "content": "x",
        "reasoning_content": None,
        "reasoning": None,
        "thinking_blocks": None,
    }
    for host in ("api.groq.com", "api.deepseek.com", "somewhere.example"):
        plan = prepare([user(), message], host=host, model="x", request={"thinking": {"type": "disabled"}})
        assert plan.messages[1] == {"role": "assistant", "content": "x"}


def test_a_later_layer_knows_where_the_turn_started_though_the_notes_are_gone():
    here = Origin("somewhere.example", model="m")
    messages = [user(), step("a", here, reasoning_content="A"), result("a"), {**user("note"), "turn": False}]
    plan = prepare(messages, host=here.host, model="m", known=MemoryStore())
    assert "turn" not in plan.messages[3]
    assert prepare(plan.messages, host=here.host, model="m", known=plan.known).messages == plan.messages
    longer = [*plan.messages, user("a turn of its own")]
    assert "reasoning_content" not in prepare(longer, host=here.host, model="m", known=plan.known).messages[1]


def test_a_message_with_only_its_own_reasoning_and_empty_content_is_shared():
    own = {"role": "assistant", "content": "", "reasoning": "R"}
    messages = [user(), own]
    plan = prepare(messages, host="api.cerebras.ai", model="gpt-oss-120b", policy=Policy(unknown_origin="trust"))
    assert plan.messages is messages


def test_own_text_in_chunks_goes_under_the_key_that_the_host_reads():
    origin = Origin("api.moonshot.ai", model="kimi-k3")
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "T"}]}
    message = capture({"role": "assistant", "content": [chunk, {"type": "text", "text": "x"}]}, origin)
    plan = prepare([user(), message], host=origin.host, model=origin.model)
    assert plan.messages[1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}],
        "reasoning_content": "T",
    }


def test_the_report_of_a_message_that_is_left_out_keeps_nothing():
    own = capture({"role": "assistant", "content": [{"type": "thinking", "thinking": "O", "signature": "s"}]}, CLAUDE)
    plan = prepare([user(), own, user()], host=CLAUDE.host, dialect="anthropic", model=CLAUDE.model)
    assert [(row.action, row.reason, row.fields, row.output) for row in plan.report.rows] == [
        ("drop", "reasoning_only", ("content.thinking",), None)
    ]


GEMINI = Origin("openrouter.ai", model="google/gemini-3-pro")
HIDDEN = [
    {"content": "x", "thinking_blocks": [{"type": "thought", "text": "CANARY"}]},
    {"content": "x", "thinking_blocks": ["CANARY"]},
    {"content": "x", "reasoning_details": ["CANARY"]},
    {"content": "x", "extra_content": {"google": {"thought_signature": "CANARY"}}},
    {"content": "x", "encrypted_content": "CANARY"},
    {"content": "x", "thinking": "CANARY"},
    {"content": [{"type": "text", "text": "x", "thought_signature": "CANARY"}]},
    {"content": [{"type": "text", "text": "x", "extra_content": {"google": "CANARY"}}]},
    {"content": None, "function_call": {"name": "f", "provider_specific_fields": {"thought_signature": "CANARY"}}},
    {
        "content": None,
        "tool_calls": [
            {**call("a"), "function": {"name": "f", "provider_specific_fields": {"thought_signature": "CANARY"}}}
        ],
    },
]


@pytest.mark.parametrize("form", ["chat", "litellm"])
@pytest.mark.parametrize("fields_", HIDDEN, ids=str)
def test_what_is_sealed_in_odd_places_is_foreign_too_and_the_visible_part_stays(fields_, form):
    message = capture({"role": "assistant", **fields_}, GEMINI, form="litellm")
    for host in ("api.deepseek.com", "somewhere.example"):
        plan = prepare([user(), message], host=host, model="m", form=form)
        assert "CANARY" not in json.dumps(plan.messages)
        assert plan.messages[1].get("content") == (None if fields_["content"] is None else plan.messages[1]["content"])
        assert plan.report.rows[0].action == "drop"


@pytest.mark.parametrize("fields_", HIDDEN, ids=str)
def test_what_is_sealed_in_odd_places_is_never_taken_away_from_its_own_unknown_host(fields_):
    here = Origin("somewhere.example", model="m")
    message = capture({"role": "assistant", **fields_}, here, form="litellm")
    plan = prepare([user(), message], host=here.host, model="m", form="litellm")
    assert "CANARY" in json.dumps(plan.messages)


def test_reasoning_on_a_message_that_is_not_the_assistants_never_goes():
    block = {"type": "thinking", "thinking": "CANARY", "signature": "s"}
    messages = [
        {"role": "user", "content": [block, {"type": "text", "text": "go"}], "reasoning_content": "CANARY"},
        step("a", None),
        {**result("a"), "reasoning_content": "CANARY", "thinking_blocks": [block]},
    ]
    plan = prepare(messages, host="somewhere.example", policy=Policy(unknown_origin="trust"))
    assert plan.messages == [user([{"type": "text", "text": "go"}]), step("a", None), result("a")]
    anthropic = prepare(messages[:1], host="somewhere.example", dialect="anthropic")
    assert "CANARY" not in json.dumps(anthropic.messages[0]["content"])


def test_sealed_blocks_of_the_anthropic_form_that_are_no_thinking_are_foreign_too():
    compaction = {"type": "compaction", "content": "s", "encrypted_content": "CANARY", "signature": "CANARY"}
    used = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "CANARY"}
    message = capture({"role": "assistant", "content": [compaction, used]}, CLAUDE)
    away = prepare([user(), message], host="somewhere.example", dialect="anthropic")
    assert away.messages[1]["content"] == [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]
    home = prepare([user(), message], host=CLAUDE.host, dialect="anthropic", model=CLAUDE.model)
    assert home.messages[1]["content"] == [compaction, used]


def test_a_later_layer_keeps_an_empty_reply_that_the_first_one_filled():
    messages = [user(), {"role": "assistant", "content": ""}]
    plan = to_deepseek(messages)
    assert fields(plan) == [""]
    assert to_deepseek(plan.messages, known=plan.known).messages == plan.messages


class TestShapesAreToldApart:
    """Messages that look alike share a shape; these do not, and each comes after the one it could be taken for."""

    USUAL = step("a", reasoning_content="A")

    @pytest.mark.parametrize(
        "other",
        [
            {"content": "", "reasoning_content": "B", "thinking_blocks": [{"type": "thinking", "thinking": "CANARY"}]},
            {"content": "", "reasoning_content": "B", "reasoning": "CANARY"},
            {
                "content": "",
                "reasoning_content": "B",
                "reasoning_details": [{"type": "reasoning.text", "text": "CANARY"}],
            },
            {"content": "", "reasoning_content": "B", "encrypted_content": "CANARY"},
        ],
        ids=str,
    )
    def test_by_their_keys_and_not_by_how_many_they_are(self, other):
        named = capture({"role": "assistant", "content": "x", "reasoning_content": "A", "name": "n"}, DEEPSEEK)
        other = capture({"role": "assistant", **other}, DEEPSEEK)
        assert len(named) == len(other)
        for first in (named, self.USUAL):
            plan = prepare([user(), first, user(), first, other, user()], host="somewhere.example", form="litellm")
            assert "CANARY" not in json.dumps(plan.messages)

    def test_a_call_is_not_lost_behind_a_message_that_has_as_many_keys(self):
        named = capture({"role": "assistant", "content": "", "reasoning_content": "A", "name": "n"}, DEEPSEEK)
        plan = prepare([user(), named, self.USUAL, result("a")], host="api.groq.com", model="x")
        assert plan.messages[1]["tool_calls"] == [call("a")]

    @pytest.mark.parametrize("spoken", [{"function_call": {"name": "f", "arguments": "{}"}}, {"refusal": "no"}])
    def test_by_what_is_visible_besides_content(self, spoken):
        key = next(iter(spoken))
        empty = capture({"role": "assistant", "content": "", "reasoning_content": "A", key: None}, DEEPSEEK)
        full = capture({"role": "assistant", "content": "", "reasoning_content": "A", **spoken}, DEEPSEEK)
        plan = prepare([user(), empty, full], host="api.groq.com", model="x")
        assert plan.messages[1] == {"role": "assistant", "content": "", **spoken}

    @pytest.mark.parametrize("identity", [["x"], {"a": 1}, 7, None, "x"])
    def test_a_mark_that_was_edited_breaks_its_own_message_only(self, identity):
        edited = step("b", reasoning_content="B")
        edited["provider_specific_fields"]["reasoning_replay"]["id"] = identity
        plan = to_deepseek([user(), self.USUAL, edited], known=MemoryStore())
        assert fields(plan) == ["A", ""]


@pytest.mark.faulty(reason="a role that nobody knows")
def test_the_warning_of_a_fault_names_the_host_and_no_secret_of_the_url(caplog):
    from reasoning_replay._replay import prepare_safely

    with caplog.at_level(logging.WARNING, logger="reasoning_replay"):
        for path in ("v1?sig=SECRET", "v2"):
            prepare_safely([{"role": "critic"}], host=f"http://bob:SECRET@h.example:8000/{path}", form="litellm")
    assert [record.getMessage() for record in caplog.records] == [
        (
            "h.example:8000: HistoryError inside reasoning-replay; the call goes on without any reasoning "
            "(said once; run prepare() on the same messages to see the fault)"
        )
    ]


def test_an_empty_list_in_a_reasoning_field_says_nothing_and_never_goes():
    message = {"role": "assistant", "content": "x", "thinking_blocks": [], "reasoning_details": []}
    for host in ("api.groq.com", "api.deepseek.com"):
        plan = prepare([user(), message], host=host, model="x", request={"thinking": {"type": "disabled"}})
        assert plan.messages[1] == {"role": "assistant", "content": "x"}


class Thing:
    """An SDK's object."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, **options):
        return dict(self.fields)


def test_sdk_objects_inside_a_dict_message_are_read_too():
    one = Thing(**call("c1__thought__CANARY"), provider_specific_fields={"thought_signature": "CANARY"})
    block = Thing(type="thinking", thinking="CANARY", signature="CANARY")
    message = {"role": "assistant", "content": None, "tool_calls": [one], "thinking_blocks": [block]}
    marked = capture(message, GEMINI, form="litellm")
    plan = prepare([user(), marked, result("c1__thought__CANARY")], host="somewhere.example", form="litellm")
    assert plan.messages[1] == {"role": "assistant", "content": None, "tool_calls": [call("c1")]}
    assert plan.messages[2]["tool_call_id"] == "c1"
    used = {
        "role": "assistant",
        "content": [Thing(type="thinking", thinking="CANARY", signature="s"), Thing(type="text", text="x")],
    }
    plan = prepare([user(), capture(used, CLAUDE)], host="somewhere.example", dialect="anthropic")
    assert "CANARY" not in str([getattr(block, "fields", block) for block in plan.messages[1]["content"]])


def test_the_report_of_the_wire_says_what_the_framework_took_out_on_the_way():
    messages = [user(), step("a", reasoning_content="A"), result("a"), step("b", reasoning_content="B"), result("b")]
    plan = to_deepseek(messages, form="litellm")
    wire = copy.deepcopy(plan.messages)
    assert confirm(wire, plan, request=TOOLS).report is plan.report
    del wire[1]["reasoning_content"]
    told = confirm(wire, plan, request=TOOLS)
    assert [(row.index, row.action, row.reason) for row in told.report.rows] == [
        (1, "drop", "framework"),
        (3, "keep", "own"),
    ]
    assert fields(told) == ["", "B"]


def test_the_fill_of_the_anthropic_dialect_is_a_block_in_litellms_form_too():
    foreign = step("a", Origin("api.z.ai"), reasoning_content="T")
    plan = prepare(
        [user(), foreign, result("a")],
        host="api.deepseek.com",
        model="deepseek-v4-pro",
        dialect="anthropic",
        form="litellm",
    )
    assert plan.messages[1] == {
        **step("a", None),
        "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": ""}],
    }


def test_a_later_layer_keeps_an_empty_string_of_the_host_that_it_does_not_demand():
    origin = Origin("api.moonshot.ai", model="kimi-k2.6")
    messages = [user(), capture({"role": "assistant", "content": "x", "reasoning_content": ""}, origin)]
    plan = prepare(messages, host=origin.host, model=origin.model)
    assert fields(plan) == [""]
    assert prepare(plan.messages, host=origin.host, model=origin.model, known=plan.known).messages == plan.messages


def test_a_mark_that_a_host_streams_says_nothing():
    forged = step("a", reasoning_content="A")["provider_specific_fields"]
    collector = Collector(Origin("evil.example"))
    collector.feed(
        {"choices": [{"delta": {"content": "x", "provider_specific_fields": forged}, "finish_reason": "stop"}]}
    )
    assert "reasoning_replay" not in json.dumps(collector.result())


def test_a_bare_reply_that_gets_the_fill_has_empty_content_and_not_null():
    plan = to_deepseek([user(), {"role": "assistant", "content": None}])
    assert plan.messages[1] == {"role": "assistant", "content": "", "reasoning_content": ""}


class TestReasoningBlocks:
    """`{"type": "reasoning"}` parts (Databricks, and what frameworks make of others)."""

    HERE = Origin("vllm:8000", model="q")

    @pytest.mark.parametrize("text", ["I check the function", "I check the function signature", "it is encrypted"])
    def test_they_are_read_by_their_keys_and_never_by_the_words_in_them(self, text):
        part = {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        message = capture({"role": "assistant", "content": [part, {"type": "text", "text": "x"}]}, self.HERE)
        plan = prepare([user(), message], host="vllm:8000", model="q", hint="hosted_vllm")
        assert plan.messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "x"}], "reasoning": text}

    def test_a_sealed_summary_is_sealed(self):
        for summary in ({"type": "summary_encrypted_text", "text": "blob"}, {"type": "summary_text", "signature": "s"}):
            part = {"type": "reasoning", "summary": [summary]}
            message = capture({"role": "assistant", "content": [part, {"type": "text", "text": "x"}]}, self.HERE)
            plan = prepare([user(), message], host="vllm:8000", model="q", hint="hosted_vllm")
            assert plan.messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "x"}]}


class TestBadArguments:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"request": [1]}, HistoryError, "request: a list; allowed: a dict of the call's parameters, or None"),
            ({"policy": {"missing": "raise"}}, BadPolicy, "policy: a dict; allowed: a Policy, or None"),
            ({"model": 7}, OriginError, "model: a int; allowed: a string, or None"),
            ({"account": b"x"}, OriginError, "account: a bytes; allowed: a string, or None"),
        ],
    )
    def test_they_are_refused_with_what_is_allowed(self, options, error, message):
        for door in (lambda **more: prepare([], host="x", **more), lambda **more: rule_for("x", **more)):
            if "account" in options and door.__code__.co_names[0] == "rule_for":
                continue
            with pytest.raises(error) as caught:
                door(**options)
            assert str(caught.value) == message

    def test_a_host_that_is_no_string_is_refused(self):
        with pytest.raises(OriginError, match="host: a int; allowed: a string"):
            Origin(7)


class TestWireAgain:
    def test_a_policy_that_trusts_the_unknown_trusts_nothing_on_the_wire(self):
        foreign = step("a", Origin("api.z.ai"), reasoning_content="CANARY")
        plan = to_deepseek([user(), foreign, result("a")], form="litellm", policy=Policy(unknown_origin="trust"))
        wire = confirm([user(), step("a", None, reasoning_content="CANARY"), result("a")], plan, request=TOOLS)
        assert fields(wire) == [""]

    def test_the_scope_of_the_fill_follows_the_callers_turn_notes(self):
        note = {**user("note"), "turn": False}
        messages = [user(), step("a", None), result("a"), note, step("b", None), result("b")]
        plan = to_deepseek(messages, "deepseek-reasoner", form="litellm")
        assert fields(plan) == ["", ""]
        bare = [{key: value for key, value in message.items() if key != "turn"} for message in messages]
        assert fields(confirm(bare, plan, request=TOOLS)) == ["", ""]

    def test_what_a_plan_keeps_is_counted_and_never_shown(self):
        plan = to_deepseek([user(), step("a", reasoning_content="CANARY")])
        assert dict(plan.kept) == {"CANARY": 1}
        assert repr(plan.kept) == "<1 payloads>"
        assert "CANARY" not in repr(plan)


class TestCachePoints:
    """`cache_control` in the chat forms."""

    POINT: ClassVar = {"type": "ephemeral"}

    def test_it_moves_from_a_part_that_goes_to_its_neighbour(self):
        block = {"type": "thinking", "thinking": "F", "signature": "s", "cache_control": self.POINT}
        text = {"type": "text", "text": "x"}
        foreign = capture({"role": "assistant", "content": [text, block]}, Origin("api.z.ai"))
        plan = prepare([user(), foreign], host="somewhere.example", form="litellm")
        assert plan.messages[1]["content"] == [{**text, "cache_control": self.POINT}]
        own = {**text, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        foreign = capture({"role": "assistant", "content": [own, block]}, Origin("api.z.ai"))
        plan = prepare([user(), foreign], host="somewhere.example", form="litellm")
        assert plan.messages[1]["content"] == [own]

    def test_it_moves_from_a_message_that_goes_to_the_one_before(self):
        lone = {"role": "assistant", "content": "", "reasoning_content": "F", "cache_control": self.POINT}
        plan = prepare([user(), capture(lone, Origin("api.z.ai")), user()], host="somewhere.example", form="litellm")
        assert plan.messages == [{**user(), "cache_control": self.POINT}, user()]

    def test_it_moves_from_a_part_of_a_message_that_goes(self):
        block = {"type": "thinking", "thinking": "F", "signature": "s", "cache_control": self.POINT}
        lone = capture({"role": "assistant", "content": [block]}, Origin("api.z.ai"))
        plan = prepare([user(), lone, user()], host="somewhere.example", form="litellm")
        assert plan.messages == [{**user(), "cache_control": self.POINT}, user()]


class TestDetailsOfTheDecision:
    def test_the_scope_of_the_fill_is_the_hosts_own_turn_and_not_ours(self):
        ended = {**result("a"), "turn": True}
        plan = to_deepseek([user(), step("a", None), ended, step("b", None), result("b")], "deepseek-reasoner")
        assert fields(plan) == ["", ""]

    def test_a_host_that_is_not_strict_keeps_its_own_other_fields_beside_the_one_it_reads(self):
        message = step("a", reasoning_content="A", reasoning="A")
        plan = to_deepseek([user(), message, result("a")])
        assert (plan.messages[1]["reasoning_content"], plan.messages[1]["reasoning"]) == ("A", "A")

    def test_a_strict_host_keeps_its_own_field_alone(self):
        origin = Origin("api.groq.com", model="openai/gpt-oss-120b")
        message = step("a", origin, reasoning_content="A", reasoning="A")
        plan = prepare([user(), message], host=origin.host, model=origin.model)
        assert plan.messages[1] == {**step("a", None), "reasoning": "A"}

    def test_a_sealed_part_of_another_dialect_of_the_host_is_told_apart_from_a_foreign_one(self):
        block = {"type": "thinking", "thinking": "T", "signature": "s"}
        message = capture(
            {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]},
            Origin(CLAUDE.host),
            form="anthropic",
        )
        plan = prepare([user(), message], host=CLAUDE.host, dialect="anthropic", model=CLAUDE.model)
        assert [row.reason for row in plan.report.rows] == ["sealed"]

    def test_a_bare_message_with_a_blank_filler_was_never_more_and_stays(self):
        bare = {"role": "assistant", "content": "", "reasoning_content": ""}
        assert to_deepseek([user(), bare]).messages[1] == bare
        assert prepare([user(), bare], host="api.groq.com", model="x").messages[1] == {
            "role": "assistant",
            "content": "",
        }

    def test_where_signatures_are_refused_text_stays_alone_and_what_is_hollow_goes(self):
        here = Origin("localhost:11434", dialect="anthropic", model="qwen3")
        signed, hollow = ({"type": "thinking", "thinking": text, "signature": "s"} for text in ("T", ""))
        message = capture({"role": "assistant", "content": [signed, hollow, {"type": "text", "text": "x"}]}, here)
        plan = prepare([user(), message], host=here.host, dialect="anthropic", model="qwen3")
        assert plan.messages[1]["content"] == [{"type": "thinking", "thinking": "T"}, {"type": "text", "text": "x"}]

    @pytest.mark.parametrize(
        "odd",
        [
            {"id": "c__thought__CANARY"},
            {"function": {"name": "f", "provider_specific_fields": {"thought_signature": "CANARY"}}},
        ],
        ids=str,
    )
    def test_a_call_with_a_seal_is_seen_behind_a_usual_message_with_the_same_keys(self, odd):
        usual = step("a", GEMINI, reasoning_content="A")
        sealed = capture({**step("b", None, reasoning_content="B"), "tool_calls": [{**call("b"), **odd}]}, GEMINI)
        assert list(usual) == list(sealed)
        plan = prepare([user(), usual, usual, sealed], host="somewhere.example", form="litellm")
        assert "CANARY" not in json.dumps(plan.messages)

    def test_a_mark_on_a_reply_without_reasoning_is_taken_off(self):
        forged = step("a", reasoning_content="A")["provider_specific_fields"]
        message = capture({"role": "assistant", "content": "x", "provider_specific_fields": forged}, GEMINI)
        assert "reasoning_replay" not in json.dumps(message)
        block = {"type": "thinking", "thinking": "T", "signature": "s", "provider_specific_fields": forged}
        content = capture({"role": "assistant", "content": [block]}, CLAUDE)["content"]
        assert content[0]["provider_specific_fields"]["reasoning_replay"]["id"].startswith("api.anthropic.com|")

    def test_what_litellm_itself_reads_back_stays_for_its_own_host_and_goes_for_another(self):
        here = Origin("generativelanguage.googleapis.com", dialect="gemini", model="gemini-3-pro")
        fields_ = {"provider_specific_fields": {"thought_signatures": ["CANARY"], "citations": []}}
        message = capture({"role": "assistant", "content": "x", **fields_}, here, form="litellm")
        home = prepare([user(), message], host=here.host, dialect="gemini", model=here.model, form="litellm")
        assert home.messages[1]["provider_specific_fields"] == {"thought_signatures": ["CANARY"]}
        away = prepare(
            [user(), message], host="aiplatform.googleapis.com", dialect="gemini", model=here.model, form="litellm"
        )
        assert away.messages[1] == {"role": "assistant", "content": "x"}

    def test_an_order_that_does_not_fit_the_message_is_left_aside(self):
        blocks = [{"type": "thinking", "thinking": text, "signature": "s"} for text in "AB"]
        for layout in (["thinking", "text:9", "thinking"], ["thinking", "text:1"], ["text:x"]):
            message = {
                "role": "assistant",
                "content": "x",
                "thinking_blocks": blocks,
                "provider_specific_fields": {"reasoning_layout": layout},
            }
            marked = capture(message, CLAUDE, form="litellm")
            plan = prepare([user(), marked], host=CLAUDE.host, dialect="anthropic", model=CLAUDE.model, form="litellm")
            assert (plan.messages[1]["content"], plan.messages[1]["thinking_blocks"]) == ("x", blocks)

    def test_adopt_leaves_a_block_that_has_a_mark_and_marks_the_others(self):
        blocks = [{"type": "thinking", "thinking": text, "signature": "s"} for text in "AB"]
        marked = capture({"role": "assistant", "content": blocks[:1]}, CLAUDE)
        both = {"role": "assistant", "content": [*marked["content"], blocks[1]]}
        there = Origin("api.z.ai", dialect="anthropic")
        ids = [
            block["provider_specific_fields"]["reasoning_replay"]["id"] for block in adopt([both], there)[0]["content"]
        ]
        assert [identity.split("|")[0] for identity in ids] == ["api.anthropic.com", "api.z.ai"]

    @pytest.mark.faulty(reason="a chunk that is none")
    def test_a_chunk_that_is_none_costs_the_collection_and_not_the_stream(self):
        collector = Collector(DEEPSEEK)
        collector.feed({"choices": [{"delta": {"reasoning_content": "A"}}]})
        collector.feed({"choices": 5})
        collector.feed({"choices": [{"delta": {"reasoning_content": "B"}, "finish_reason": "stop"}]})
        assert collector.result() is None


def test_a_path_decides_with_and_without_a_scheme():
    for url in ("https://api.z.ai/api/coding/paas/v4?x=1", "api.z.ai/api/coding/paas/v4"):
        assert rule_for(url, "glm-5.3").window == "all"
    assert rule_for("https://api.z.ai/api/paas/v4", "glm-5.3").window == "current_turn"


def test_hosts_that_hold_one_key_may_have_each_others_sealed_parts_and_not_their_text(tmp_path):
    (tmp_path / "regions.toml").write_text(
        'id = "regions"\nhosts = ["eu.api.example", "us.api.example"]\nholder = "file"\ndialect = "anthropic"\n'
        'source = "guess"\ndate = 2026-11-30\nconfidence = "guess"\n[[rules]]\nwindow = "all"\n'
    )
    policy = Policy(rules=load_hosts(tmp_path))
    blocks = [{"type": "thinking", "thinking": "T", "signature": "s"}, {"type": "thinking", "thinking": "loose"}]
    text = {"type": "text", "text": "x"}
    there = Origin("eu.api.example", dialect="anthropic")
    message = capture({"role": "assistant", "content": [*blocks, text]}, there)
    plan = prepare([user(), message], host="us.api.example", dialect="anthropic", policy=policy)
    assert plan.messages[1]["content"] == [blocks[0], text]
    assert [row.reason for row in plan.report.rows] == ["own", "foreign"]


def test_a_list_that_stays_as_it_is_leaves_its_message_shared():
    trust = Policy(unknown_origin="trust")
    blocks = [{"type": "thinking", "thinking": "T", "signature": "s"}]
    details = [{"type": "reasoning.text", "text": "T"}]
    for fields_ in ({"thinking_blocks": blocks}, {"reasoning_details": details}):
        messages = [user(), {"role": "assistant", "content": "x", **fields_}]
        assert prepare(messages, host="somewhere.example", form="litellm", policy=trust).messages is messages


@pytest.mark.parametrize(
    "door",
    [lambda origin: capture({}, origin), lambda origin: adopt([], origin), Collector],
    ids=["capture", "adopt", "Collector"],
)
def test_an_origin_that_is_none_is_refused_in_words(door):
    with pytest.raises(TypeError, match=r"^origin: a str; allowed: an Origin, as Origin\('api\.deepseek\.com'\)$"):
        door("api.deepseek.com")
