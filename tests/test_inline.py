"""Thinking in the visible text: kept at the host that wrote it, cut everywhere else."""

from __future__ import annotations

import copy

import pytest

from reasoning_replay import Collector, MemoryStore, Origin, Policy, adopt, capture, load_hosts, prepare
from reasoning_replay._fallback import stripped

HOME = Origin("api.minimax.io", model="MiniMax-M2.5")
HERE = {"host": "api.minimax.io", "model": "MiniMax-M2.5"}
THERE = {"host": "api.groq.com", "model": "openai/gpt-oss-120b"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
USER = {"role": "user", "content": "go"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "x"}
SAID = {
    "tags": "<think>\nCANARY\n</think>\n\nSHOWN",
    "white space in front": "\n<think>CANARY</think>SHOWN",
    "the other tag": "<thinking>CANARY</thinking> SHOWN",
    "two of them": "<think>CANARY</think>SHOWN <think>SHOWN</think>",
}


def reply(content, **more):
    return {"role": "assistant", "content": content, **more}


def captured(content, origin=HOME, **more):
    return capture(reply(content, **more), origin, known=MemoryStore())


def planned(messages, target=HERE, **more):
    return prepare(messages, known=more.pop("known", MemoryStore()), **target, **more)


@pytest.mark.parametrize("form", ["chat", "litellm"])
@pytest.mark.parametrize("content", SAID.values(), ids=SAID)
def test_it_goes_back_byte_for_byte_inside_the_running_turn(content, form):
    messages = [USER, captured(content, tool_calls=CALLS), RESULT]
    before = copy.deepcopy(messages)
    plan = planned(messages, form=form)
    assert [USER, reply(content, tool_calls=CALLS), RESULT] == plan.messages
    assert before == messages
    assert planned(plan.messages, form=form, known=plan.known).messages is plan.messages


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("content", SAID.values(), ids=SAID)
def test_it_is_cut_out_elsewhere_and_the_answer_stays(content, marked):
    said = captured(content, tool_calls=CALLS) if marked else reply(content, tool_calls=CALLS)
    plan = planned([USER, said, RESULT], THERE)
    assert "CANARY" not in repr(plan.messages)
    assert plan.messages[1]["content"].startswith("SHOWN")


def test_it_is_cut_out_of_an_earlier_turn():
    plan = planned([USER, captured(SAID["tags"]), USER])
    assert "SHOWN" == plan.messages[1]["content"]


def test_tags_that_were_never_closed_are_all_thinking():
    open_ended = captured("<think>CANARY")
    assert [USER, USER] == planned([USER, open_ended, USER], THERE).messages
    assert (
        "<think>CANARY" == planned([USER, captured("<think>CANARY", tool_calls=CALLS), RESULT]).messages[1]["content"]
    )


@pytest.mark.parametrize(
    "content", ["I think <think> is a tag", "<thinker>x</thinker>", "<b>bold</b>", "", None, "x" * 20 + "<think>"]
)
def test_a_text_that_only_speaks_of_tags_is_a_text(content):
    messages = [USER, reply(content, tool_calls=CALLS), RESULT]
    assert planned(messages, {"host": "somewhere.example"}).messages is messages


def test_empty_tags_are_a_filler_and_no_unknown_origin():
    plan = planned([USER, reply("<think>\n\n</think>\n\nSHOWN")], THERE)
    assert "SHOWN" == plan.messages[1]["content"]
    assert {"filler_dropped"} == {row.reason for row in plan.report.rows}


def test_it_is_known_without_its_mark_and_equal_to_the_text_alone():
    known = MemoryStore()
    capture(reply(SAID["two of them"]), HOME, known=known)
    messages = [USER, reply(SAID["two of them"])]
    assert planned(messages, known=known).messages is messages
    apart = [USER, reply("x", reasoning_content="CANARY", tool_calls=CALLS), RESULT]
    assert reply("<think>CANARY</think>x", tool_calls=CALLS) == planned(apart, known=known).messages[1]


def test_adopt_marks_it():
    messages = adopt([USER, reply(SAID["tags"])], HOME)
    assert [USER, reply(SAID["tags"])] == planned(messages).messages


def test_a_stream_of_it_is_marked():
    collector = Collector(HOME, known=MemoryStore())
    for piece in ("<thi", "nk>CANARY</th", "ink>SHOWN"):
        collector.feed({"choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]})
    collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert "provider_specific_fields" in collector.result()
    assert "<think>CANARY</think>SHOWN" == collector.result()["content"]


def test_the_fallback_cuts_it_out_too():
    left, _ = stripped(
        [USER, captured(SAID["tags"])], form=None, dialect="chat", host="x", hint=None, model=None, request={}
    )  # fmt: skip
    assert [USER, reply("SHOWN")] == left


def test_what_litellm_took_apart_at_minimax_is_put_together_again():
    parts = captured("\n\nSHOWN", HOME, reasoning_content="\nCANARY\n", tool_calls=CALLS)
    plan = prepare([USER, parts, RESULT], **HERE, form="litellm", known=MemoryStore())
    assert reply("<think>\nCANARY\n</think>\n\nSHOWN", tool_calls=CALLS) == plan.messages[1]


def test_minimax_gets_its_details_back_as_they_came_and_no_tags_beside_them():
    details = [{"type": "reasoning.text", "text": "CANARY"}]
    for fields in ({}, {"reasoning_content": "CANARY"}):
        parts = captured("SHOWN", HOME, reasoning_details=details, tool_calls=CALLS, **fields)
        plan = prepare([USER, parts, RESULT], **HERE, form="litellm", known=MemoryStore())
        assert reply("SHOWN", reasoning_details=details, tool_calls=CALLS, **fields) == plan.messages[1]


def test_what_litellm_took_apart_is_put_together_again_where_the_rule_says_so(tmp_path):
    (tmp_path / "tags.toml").write_text("""
id = "tags"
hosts = ["tags.example"]
read = ["reasoning_content", "content.think"]
write = ["content.think"]
source = "https://platform.minimax.io/docs/api-reference/text-openai-api"
date = 2026-09-29
confidence = "documented"

[[rules]]
window = "current_turn"
""")
    home = Origin("tags.example", model="m")
    parts = captured("\n\nSHOWN", home, reasoning_content="\nCANARY\n", tool_calls=CALLS)
    plan = prepare([USER, parts, RESULT], host="tags.example", model="m", form="litellm", known=MemoryStore(),
                   policy=Policy(rules=load_hosts(tmp_path)))  # fmt: skip
    assert reply("<think>\nCANARY\n</think>\n\nSHOWN", tool_calls=CALLS) == plan.messages[1]


def test_in_claudes_dialect_it_stays_too_and_is_no_block():
    home = Origin("api.deepseek.com", dialect="anthropic", model="deepseek-v4-pro")
    target = {"host": home.host, "model": home.model, "dialect": "anthropic", "form": "litellm"}
    said = capture(reply(SAID["tags"], tool_calls=CALLS), home, form="litellm", known=MemoryStore())
    message = prepare([USER, said, RESULT], known=MemoryStore(), **target).messages[1]
    assert SAID["tags"] == message["content"]
    assert [{"type": "thinking", "thinking": "", "signature": ""}] == message["thinking_blocks"]


def text(words, **more):
    return {"type": "text", "text": words, **more}


POINT = {"cache_control": {"type": "ephemeral"}}
WITHIN = {
    "one text": ([text(SAID["tags"], **POINT)], [text("SHOWN", **POINT)]),
    "a text behind it": ([text("<think>CANARY</think>"), text("SHOWN")], [text("SHOWN")]),
    "a picture in front": ([{"type": "image_url", "image_url": {"url": "u"}}, text(SAID["tags"])], [{"type": "image_url", "image_url": {"url": "u"}}, text("SHOWN")]),
    "a block in front": ([{"type": "thinking", "thinking": "CANARY"}, text(SAID["tags"])], [text("SHOWN")]),
    "nothing else": ([text("<think>CANARY</think>")], ""),
}  # fmt: skip


@pytest.mark.parametrize("form", ["chat", "litellm"])
@pytest.mark.parametrize(("content", "left"), WITHIN.values(), ids=WITHIN)
class TestInAListOfParts:
    def test_it_is_cut_out_elsewhere_and_the_answer_stays(self, content, left, form):
        messages = [USER, captured(content, tool_calls=CALLS), RESULT]
        before = copy.deepcopy(messages)
        plan = planned(messages, THERE, form=form)
        assert plan.messages[1]["content"] == left
        assert before == messages

    def test_the_fallback_cuts_it_out_too(self, content, left, form):
        rows, _ = stripped(
            [USER, reply(content, tool_calls=CALLS), RESULT],
            form=form, dialect="chat", host="api.groq.com", hint=None, model=None, request={},
        )  # fmt: skip
        assert rows[1]["content"] == left

    def test_at_home_it_stays_inside_the_running_turn(self, content, left, form):
        said = [part for part in content if part["type"] != "thinking"]
        plan = planned([USER, captured(said, tool_calls=CALLS), RESULT], form=form)
        assert plan.messages[1]["content"] == said


def test_tags_in_a_later_text_of_a_list_are_spoken_of():
    content = [text("The tag is"), text("<think>SHOWN</think>")]
    assert planned([USER, captured(content), USER], THERE).messages[1]["content"] == content
