"""What a cut makes worthless: sealed blocks of models that bind them to all that came before, and nothing else."""

from __future__ import annotations

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, capture, prepare
from reasoning_replay.transcripts._bound import without_bound

BOUND = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5-5")
FREE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-4-6")
ROUTER = Origin("openrouter.ai", model="anthropic/claude-opus-5.5")
CONVERSE = Origin(
    "bedrock-runtime.us-east-1.amazonaws.com", dialect="bedrock", model="us.anthropic.claude-opus-5-5-v1:0"
)
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")


def thinking(name="1"):
    return {"type": "thinking", "thinking": f"think {name}", "signature": f"sig {name}"}


def step(origin, name="1", *more, known=None):
    use = {"type": "tool_use", "id": f"toolu_{name}", "name": "f", "input": {}}
    return capture({"role": "assistant", "content": [thinking(name), *more, use]}, origin, known=known)


def result(name="1"):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": "3"}]}


USER = {"role": "user", "content": "q"}


def test_bound_blocks_go_and_all_else_is_the_very_same_object():
    note = {"role": "user", "content": "note", "turn": False}
    messages = [USER, step(FREE, "1"), result("1"), note, step(BOUND, "2"), result("2")]
    left = without_bound(messages, dialect="anthropic")
    assert [True, True, True, True, False, True] == [new is old for new, old in zip(left, messages, strict=True)]
    assert [{"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}}] == left[4]["content"]


def test_where_nothing_is_bound_the_list_is_the_very_same():
    messages = [USER, step(FREE), result()]
    assert messages is without_bound(messages, dialect="anthropic")
    assert [] == without_bound([])


def test_a_message_that_was_nothing_else_is_left_out():
    alone = capture({"role": "assistant", "content": [thinking()]}, BOUND)
    assert [USER, USER] == without_bound([USER, alone, USER], dialect="anthropic")


def test_in_converse_its_neighbours_become_one_as_the_host_wants_it():
    block = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}}
    alone = capture({"role": "assistant", "content": [block]}, CONVERSE)
    user = {"role": "user", "content": [{"text": "q"}]}
    assert [{"role": "user", "content": [{"text": "q"}, {"text": "q"}]}] == without_bound(
        [user, alone, user], dialect="bedrock"
    )


def test_unmarked_blocks_that_a_store_knows_go_too():
    known = MemoryStore()
    step(BOUND, known=known)
    bare = {"role": "assistant", "content": [thinking(), {"type": "text", "text": "a"}]}
    assert [{"role": "assistant", "content": [{"type": "text", "text": "a"}]}] == without_bound(
        [bare], dialect="anthropic", known=known
    )
    assert [bare] == without_bound([bare], dialect="anthropic", known=MemoryStore())
    trusted = Policy(unknown_origin=BOUND)
    assert [bare] != without_bound([bare], dialect="anthropic", known=MemoryStore(), policy=trusted)


def test_an_alias_says_which_rule_the_host_has():
    here = Origin("gateway.example", dialect="anthropic", model="claude-opus-5-5")
    messages = [USER, step(here), result()]
    assert messages is without_bound(messages, dialect="anthropic")
    policy = Policy(aliases={"gateway.example": "anthropic"})
    assert messages != without_bound(messages, dialect="anthropic", policy=policy)


def test_behind_a_router_the_details_go_with_their_text_and_what_the_app_keeps_there_stays():
    detail = {"type": "reasoning.text", "text": "t", "signature": "s", "format": "anthropic-claude-v1", "index": 0}
    reply = {
        "role": "assistant", "content": "a", "reasoning": "t", "reasoning_details": [detail],
        "provider_specific_fields": {"citations": [1], "reasoning_content": "t"},
    }  # fmt: skip
    left = without_bound([USER, capture(reply, ROUTER)])
    assert [USER, {"role": "assistant", "content": "a", "provider_specific_fields": {"citations": [1]}}] == left


def test_in_litellms_form_other_hosts_replies_stay_whole():
    own = capture({"role": "assistant", "content": "a", "reasoning_content": "t"}, DEEPSEEK)
    blocks = {"role": "assistant", "content": "b", "thinking_blocks": [thinking()], "reasoning_content": "think 1"}
    left = without_bound([own, capture(blocks, BOUND, form="litellm")], form="litellm")
    assert own is left[0]
    assert {"role": "assistant", "content": "b"} == left[1]


def test_langchain_messages_lose_the_blocks_and_nothing_else():
    core = pytest.importorskip("langchain_core.messages")
    call = {"name": "f", "args": {}, "id": "toolu_1", "type": "tool_call"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    reply = capture(core.AIMessage([thinking(), use], tool_calls=[call], id="run-1"), BOUND, form="langchain")
    human = core.HumanMessage("q")
    left = without_bound([human, reply], form="langchain")
    assert human is left[0]
    assert ([use], [call], "run-1") == (left[1].content, left[1].tool_calls, left[1].id)
    assert "thinking" in str(reply.content)


def test_what_is_left_is_planned_as_it_stands():
    left = without_bound([USER, step(BOUND), result()], dialect="anthropic")
    plan = prepare(
        left, host=BOUND.host, model=BOUND.model, dialect="anthropic", request={"thinking": {"type": "adaptive"}}
    )
    assert left == plan.messages
    assert [] == [row for row in plan.report.rows if row.action == "drop"]
