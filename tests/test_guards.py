"""Checks that a host makes of the request when reasoning is on, and what is done about each."""

from __future__ import annotations

from typing import ClassVar

import pytest

from reasoning_replay import Origin, capture, prepare
from reasoning_replay._replay import fallback_plan

CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-sonnet-4-5")
ELSEWHERE = Origin("api.z.ai", dialect="anthropic", model="glm-5")
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096, "tools": [{"name": "f"}]}
ADAPTIVE = {**MANUAL, "thinking": {"type": "adaptive"}}
EDITS = {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}}


def user(text="go"):
    return {"role": "user", "content": text}


def thinking(text="T", signature="sig", **more):
    return {"type": "thinking", "thinking": text, "signature": signature, **more}


def used(name="a"):
    return {"type": "tool_use", "id": name, "name": "f", "input": {}}


def result(name="a"):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "3"}]}


def reply(*blocks, origin=CLAUDE):
    message = {"role": "assistant", "content": list(blocks)}
    return message if origin is None else capture(message, origin)


def to_claude(messages, request=MANUAL, model="claude-sonnet-4-5"):
    return prepare(messages, host="api.anthropic.com", dialect="anthropic", model=model, request=request)


def kinds(plan):
    return [
        [block["type"] for block in message["content"]] for message in plan.messages if message["role"] == "assistant"
    ]


def guards(plan):
    return [row.reason for row in plan.report.rows if row.action == "guard"]


OWN_LOOP = [user(), reply(thinking(), used()), result()]
FOREIGN_LOOP = [user(), reply(thinking(), used(), origin=ELSEWHERE), result()]


def test_a_loop_that_begins_with_its_own_block_keeps_block_and_thinking():
    plan = to_claude(OWN_LOOP)
    assert plan.messages[1]["content"] == [thinking(), used()]
    assert plan.request is MANUAL
    assert guards(plan) == []


def test_a_loop_begun_elsewhere_goes_on_without_thinking_under_manual_thinking():
    plan = to_claude(FOREIGN_LOOP, {**MANUAL, **EDITS})
    assert kinds(plan) == [["tool_use"]]
    assert plan.request == {"max_tokens": 4096, "tools": [{"name": "f"}]}
    assert guards(plan) == ["lead_block", "beside_thinking"]


def test_a_loop_begun_elsewhere_keeps_thinking_under_adaptive_thinking():
    plan = to_claude(FOREIGN_LOOP, ADAPTIVE, "claude-opus-5")
    assert kinds(plan) == [["tool_use"]]
    assert plan.request is ADAPTIVE


def test_own_earlier_blocks_go_too_when_thinking_is_switched_off():
    messages = [*OWN_LOOP, reply(used("b"), origin=None), result("b")]
    plan = to_claude(messages)
    assert kinds(plan) == [["tool_use"], ["tool_use"]]
    assert "thinking" not in plan.request


def test_a_block_that_leads_only_before_an_unsigned_one_is_dropped_does_not_lead():
    plan = to_claude(
        [user(), reply(thinking(signature=""), {"type": "text", "text": "x"}, thinking(), used()), result()]
    )
    assert guards(plan) == ["lead_block"]


@pytest.mark.parametrize(
    "choice",
    [{"type": "any"}, {"type": "tool", "name": "f"}, {"type": "function", "function": {"name": "f"}}, "required"],
)
def test_a_forced_tool_switches_manual_thinking_off(choice):
    plan = to_claude(OWN_LOOP, {**MANUAL, "tool_choice": choice})
    assert guards(plan) == ["forced_tools"]
    assert kinds(plan) == [["tool_use"]]
    assert "thinking" not in plan.request
    assert guards(to_claude(OWN_LOOP, {**ADAPTIVE, "tool_choice": choice}, "claude-opus-5")) == []
    assert guards(to_claude(OWN_LOOP, {**MANUAL, "tool_choice": {"type": "auto"}})) == []


@pytest.mark.parametrize(
    ("limit", "thinking_left"),
    [
        (4096, {"type": "enabled", "budget_tokens": 2048}),
        (2048, {"type": "enabled", "budget_tokens": 2047}),
        (1025, {"type": "enabled", "budget_tokens": 1024}),
        (1024, None),
        (10, None),
    ],
)
def test_the_budget_is_capped_while_there_is_room_else_thinking_goes(limit, thinking_left):
    plan = to_claude(OWN_LOOP, {**MANUAL, "max_tokens": limit})
    assert plan.request.get("thinking") == thinking_left
    assert kinds(plan) == [["tool_use"]] if thinking_left is None else [["thinking", "tool_use"]]


def test_with_interleaved_thinking_the_budget_may_exceed_the_limit():
    request = {**MANUAL, "max_tokens": 1500, "extra_headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"}}
    assert to_claude(OWN_LOOP, request).request is request


@pytest.mark.parametrize(
    "said",
    [
        {"extra_headers": {"Anthropic-Beta": "x-1, interleaved-thinking-2025-05-14"}},
        {"headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"}},
        {"betas": ["interleaved-thinking-2025-05-14"]},
        {"extra_body": {"anthropic_beta": ["interleaved-thinking-2025-05-14"]}},
        {"additionalModelRequestFields": {"anthropic_beta": ["interleaved-thinking-2025-05-14"]}},
    ],
)
def test_the_beta_for_interleaved_thinking_is_read_wherever_it_is_said(said):
    request = {**MANUAL, "max_tokens": 1500, **said}
    assert to_claude(OWN_LOOP, request).request is request


BOUND_BETAS = "thinking-binding-controls-2026-08-01"
EDIT_BETAS = "context-management-2025-06-27"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ({"extra_headers": {"anthropic-beta": f"{BOUND_BETAS},{EDIT_BETAS}"}}, {"extra_headers": {}}),
        (
            {"extra_headers": {"Anthropic-Beta": f"a-1, {EDIT_BETAS}", "x": "y"}},
            {"extra_headers": {"Anthropic-Beta": "a-1", "x": "y"}},
        ),
        ({"betas": [EDIT_BETAS, "a-1"]}, {"betas": ["a-1"]}),
        ({"betas": [BOUND_BETAS, "thinking-display-updates-2026-08-18"]}, {}),
        ({"extra_headers": {"anthropic-beta": "a-1, b-2"}}, {"extra_headers": {"anthropic-beta": "a-1, b-2"}}),
    ],
)
def test_beta_values_that_go_only_with_thinking_go_with_it(said, left):
    plan = to_claude(FOREIGN_LOOP, {**MANUAL, **EDITS, **said})
    assert plan.request == {"max_tokens": 4096, "tools": [{"name": "f"}], **left}
    assert [row.fields for row in plan.report.rows if row.reason == "beside_thinking"] == [
        ("context_management", "anthropic-beta")
    ]


def test_the_beta_for_edits_stays_for_an_edit_that_stays_and_nothing_goes_while_thinking_is_on():
    tools = {"type": "clear_tool_uses_20250919"}
    both = {"context_management": {"edits": [*EDITS["context_management"]["edits"], tools]}, "betas": [EDIT_BETAS]}
    assert to_claude(FOREIGN_LOOP, {**MANUAL, **both}).request["betas"] == [EDIT_BETAS]
    request = {**MANUAL, **both}
    assert to_claude(OWN_LOOP, request).request is request
    assert to_claude(FOREIGN_LOOP, {**ADAPTIVE, **both}, "claude-opus-5").request == {**ADAPTIVE, **both}


class TestConverse:
    """The same checks where the parameters stand in Converse's places."""

    MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    FIELDS: ClassVar = {"additionalModelRequestFields": {"thinking": MANUAL["thinking"]}}
    FOREIGN: ClassVar = [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "3"}]}}]},
    ]

    def plan(self, messages=None, **more):
        here = {"host": "bedrock-runtime.us-east-1.amazonaws.com", "dialect": "bedrock", "model": self.MODEL}
        return prepare(messages or self.FOREIGN[:1], **here, request={**self.FIELDS, **more})

    @pytest.mark.parametrize("choice", [{"any": {}}, {"tool": {"name": "f"}}])
    def test_a_forced_tool(self, choice):
        plan = self.plan(toolConfig={"toolChoice": choice})
        assert (guards(plan), plan.request) == (["forced_tools"], {"toolConfig": {"toolChoice": choice}})

    def test_a_choice_that_forces_nothing(self):
        assert guards(self.plan(toolConfig={"toolChoice": {"auto": {}}})) == []

    @pytest.mark.parametrize(("limit", "budget"), [(1500, 1499), (2048, 2047), (4096, 2048), (1024, None)])
    def test_the_budget(self, limit, budget):
        plan = self.plan(inferenceConfig={"maxTokens": limit})
        fields = plan.request.get("additionalModelRequestFields", {})
        assert fields.get("thinking", {}).get("budget_tokens") == budget
        assert guards(plan) == ([] if budget == 2048 else ["budget"])

    def test_a_loop_begun_elsewhere_and_what_goes_with_thinking(self):
        fields = {"thinking": MANUAL["thinking"], **EDITS, "anthropic_beta": [EDIT_BETAS, "a-1"]}
        plan = self.plan(self.FOREIGN, additionalModelRequestFields=fields)
        assert plan.request == {"additionalModelRequestFields": {"anthropic_beta": ["a-1"]}}
        assert guards(plan) == ["lead_block", "beside_thinking"]


def test_other_edits_of_the_context_stay_when_thinking_goes():
    tools = {"type": "clear_tool_uses_20250919"}
    request = {**MANUAL, "context_management": {"edits": [*EDITS["context_management"]["edits"], tools]}}
    assert to_claude(FOREIGN_LOOP, request).request["context_management"] == {"edits": [tools]}


class TestBlocks:
    def test_signed_redacted_and_omitted_blocks_go_back_byte_for_byte_before_their_call(self):
        blocks = [thinking(""), {"type": "redacted_thinking", "data": "blob"}, thinking("U", "sig2"), used()]
        plan = to_claude([user(), reply(*blocks), result()])
        assert plan.messages[1]["content"] == blocks

    def test_unsigned_and_foreign_blocks_go_and_interleaved_order_stays(self):
        text = {"type": "text", "text": "hm"}
        blocks = [thinking("A", "s1"), thinking("loose", ""), text, thinking("B", "s2"), used()]
        plan = to_claude([user(), reply(*blocks), result()])
        assert plan.messages[1]["content"] == [blocks[0], text, blocks[3], used()]

    def test_nothing_of_a_block_without_the_signature_key_is_sent(self):
        plan = to_claude(
            [user(), reply({"type": "thinking", "thinking": "x"}, used()), result()], ADAPTIVE, "claude-opus-5"
        )
        assert kinds(plan) == [["tool_use"]]

    POINT: ClassVar = {"type": "ephemeral"}

    def test_a_cache_point_on_a_block_that_goes_moves_to_its_neighbour(self):
        text = {"type": "text", "text": "hm"}
        foreign = thinking(cache_control=self.POINT)
        after = to_claude([user(), reply(text, foreign, origin=ELSEWHERE)], ADAPTIVE, "claude-opus-5")
        assert after.messages[1]["content"] == [{**text, "cache_control": self.POINT}]
        before = to_claude([user(), reply(foreign, text, origin=ELSEWHERE)], ADAPTIVE, "claude-opus-5")
        assert before.messages[1]["content"] == [{**text, "cache_control": self.POINT}]

    def test_a_cache_point_on_a_message_that_goes_moves_to_the_message_before(self):
        lone = reply(thinking(cache_control=self.POINT), origin=ELSEWHERE)
        plan = to_claude([user("a"), lone, user("b")], ADAPTIVE, "claude-opus-5")
        assert plan.messages == [
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": self.POINT}]},
            user("b"),
        ]

    @pytest.mark.parametrize(
        ("host", "model"),
        [
            ("api.deepseek.com", "deepseek-v4-pro"),
            ("api.moonshot.ai", "kimi-k2.6"),
            ("api.kimi.com", "kimi-for-coding"),
            ("api.xiaomimimo.com", "mimo-v2.5-pro"),
        ],
    )
    def test_a_host_that_imitates_claude_gets_an_empty_block_where_it_demands_one(self, host, model):
        plan = prepare(FOREIGN_LOOP, host=host, dialect="anthropic", model=model, request=ADAPTIVE)
        assert plan.messages[1]["content"] == [thinking("", ""), used()]
        assert [row.action for row in plan.report.rows if row.role == "assistant"] == ["drop", "fill"]

    def test_a_redacted_block_goes_where_the_host_refuses_it(self):
        here = Origin("api.deepseek.com", dialect="anthropic", model="deepseek-v4-pro")
        mine = reply(thinking(), {"type": "redacted_thinking", "data": "x"}, used(), origin=here)
        plan = prepare(
            [user(), mine, result()], host=here.host, dialect="anthropic", model=here.model, request=ADAPTIVE
        )
        assert kinds(plan) == [["thinking", "tool_use"]]

    def test_where_blocks_are_bound_to_their_prefix_cuts_are_a_front_run(self):
        here = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5-5")
        lost = reply(thinking("LOST", "s9"), used("b"), origin=None)
        messages = [user(), reply(thinking("A", "s1"), used("a"), origin=here), result("a"), lost, result("b")]
        messages += [reply(thinking("C", "s3"), used("c"), origin=here), result("c")]
        plan = to_claude(messages, ADAPTIVE, "claude-opus-5-5")
        assert kinds(plan) == [["tool_use"], ["tool_use"], ["thinking", "tool_use"]]
        assert [row.reason for row in plan.report.rows] == ["prefix", "prefix", "own"]

    def test_a_mark_in_a_block_never_reaches_the_plan(self):
        plan = to_claude(OWN_LOOP)
        assert "provider_specific_fields" not in repr(plan.messages)


def test_what_leads_is_asked_of_the_wire_that_has_no_turn_notes():
    ended = {**result(), "turn": True}
    plan = to_claude([user(), reply(used(), origin=None), ended])
    assert guards(plan) == ["lead_block"]
    joined = to_claude([user(), reply(used(), origin=None), result(), user("next")])
    assert guards(joined) == ["lead_block"]  # the API joins the two user messages: a result and a text
    answer = {"role": "assistant", "content": "done"}
    plan = to_claude([user(), reply(used(), origin=None), result(), answer, {**user("next"), "turn": False}])
    assert guards(plan) == []


def test_after_a_fault_thinking_is_off_in_converses_place_too():
    request = {**TestConverse.FIELDS, "inferenceConfig": {"maxTokens": 4096}}
    here = Origin("bedrock-runtime.us-east-1.amazonaws.com", dialect="bedrock", model=TestConverse.MODEL)
    plan = fallback_plan(TestConverse.FOREIGN, here, None, request, None)
    assert plan.request == {"inferenceConfig": {"maxTokens": 4096}}
    quiet = {"inferenceConfig": {"maxTokens": 4096}}
    assert fallback_plan(TestConverse.FOREIGN, here, None, quiet, None).request is quiet


def test_effort_goes_with_thinking():
    plan = to_claude(FOREIGN_LOOP, {**MANUAL, "reasoning_effort": "high"})
    assert plan.request == {"max_tokens": 4096, "tools": [{"name": "f"}]}


def test_a_block_that_goes_never_takes_the_place_of_a_neighbours_own_cache_point():
    text = {"type": "text", "text": "hm", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    foreign = thinking(cache_control={"type": "ephemeral"})
    plan = to_claude([user(), reply(text, foreign, origin=ELSEWHERE)], ADAPTIVE, "claude-opus-5")
    assert plan.messages[1]["content"] == [text]


@pytest.mark.parametrize(("layout", "noted"), [(["text:1", "thinking", "tool_use"], ["lead_block"]), (None, [])])
def test_what_leads_in_litellms_form_is_told_by_the_noted_order(layout, noted):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "x", "thinking_blocks": [thinking()], "tool_calls": [call]}
    fields = {} if layout is None else {"provider_specific_fields": {"reasoning_layout": layout}}
    marked = capture({**message, **fields}, CLAUDE, form="litellm")
    tool = {"role": "tool", "tool_call_id": "a", "content": "3"}
    plan = prepare(
        [user(), marked, tool],
        host="api.anthropic.com",
        dialect="anthropic",
        form="litellm",
        model="claude-sonnet-4-5",
        request=MANUAL,
    )
    assert guards(plan) == noted


class TestPrefixes:
    """Models that bind a block to all that came before it."""

    HERE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5-5")

    def kept(self, *middle):
        first = reply(thinking("A first", "p1"), used("a"), origin=self.HERE)
        last = reply(thinking("C last", "p3"), used("c"), origin=self.HERE)
        plan = to_claude([user(), first, result("a"), *middle, last, result("c")], ADAPTIVE, "claude-opus-5-5")
        return [row.index for row in plan.report.rows if row.action == "keep"]

    def test_an_own_message_that_is_left_out_cuts_what_came_before_it(self):
        lone = reply(thinking("B alone", "p2"), origin=self.HERE)
        assert self.kept(lone, user("next")) == [5]

    def test_text_that_nobody_signed_was_never_seen_and_cuts_nothing(self):
        loose = reply(thinking("B loose", ""), used("b"), origin=None)
        assert self.kept(loose, result("b")) == [1, 5]

    def test_a_foreign_block_was_never_seen_and_cuts_nothing(self):
        foreign = reply(thinking("B foreign", "p9"), used("b"), origin=ELSEWHERE)
        assert self.kept(foreign, result("b")) == [1, 5]


def test_a_tool_that_the_host_runs_itself_is_a_call_too():
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    plan = to_claude([user(), reply(searched, origin=None), result("s")])
    assert guards(plan) == ["lead_block"]
