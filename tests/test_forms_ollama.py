"""Ollama's form beyond the laws of all forms: other hosts' keys, null contents, Ollama's own types."""

from __future__ import annotations

import copy

import pytest

from native_cases import OLLAMA, OLLAMA_CALL, USERS
from reasoning_replay import Collector, HistoryError, MemoryStore, Origin, capture, prepare

USER = USERS["ollama"]
HOME = Origin("localhost:11434", dialect="ollama", model="qwen3")
HERE = {"host": "localhost:11434", "model": "qwen3", "dialect": "ollama"}
THERE = {**HERE, "host": "other:11434"}


def planned(messages, target=HERE, **more):
    return prepare(messages, known=more.pop("known", MemoryStore()), **target, **more)


def test_all_turns_go_back_and_the_template_chooses():
    said = capture(OLLAMA["a text"].reply, HOME, known=MemoryStore())
    plan = planned([USER, said, USER, said, USER])
    assert ["CANARY", "CANARY"] == [row["thinking"] for row in plan.messages if row["role"] == "assistant"]


def test_text_of_the_same_server_s_openai_endpoint_is_known():
    known = MemoryStore()
    chat = Origin("localhost:11434", model="qwen3")
    capture({"role": "assistant", "content": "x", "reasoning": "CANARY"}, chat, known=known)
    messages = [USER, {"role": "assistant", "content": "SHOWN", "thinking": "CANARY"}]
    assert planned(messages, known=known).messages is messages


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "CANARY"},
        {"reasoning": "CANARY"},
        {"reasoning_opaque": "CANARY"},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "CANARY"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}]},
    ],
)
def test_what_other_hosts_write_leaves_nothing(fields):
    plan = planned([USER, {"role": "assistant", "content": "SHOWN", **fields}], THERE)
    assert [USER, {"role": "assistant", "content": "SHOWN"}] == plan.messages


def test_thinking_of_a_user_is_nobodys():
    assert [USER] == planned([{**USER, "thinking": "CANARY"}]).messages


def test_a_reply_of_thinking_alone_keeps_an_empty_content_at_home_and_goes_elsewhere():
    reply = {"message": {"role": "assistant", "content": None, "thinking": "CANARY"}}
    messages = [USER, capture(reply, HOME, known=MemoryStore()), USER]
    assert {"role": "assistant", "content": "", "thinking": "CANARY"} == planned(messages).messages[1]
    assert [USER, USER] == planned(messages, THERE).messages


def test_a_picture_behind_a_result_starts_no_turn():
    unknown = {"host": "gw.example", "model": "m", "dialect": "ollama"}
    case = OLLAMA["a call"]
    said = capture(case.reply, Origin("gw.example", dialect="ollama", model="m"), known=MemoryStore())
    picture = {"role": "user", "content": "", "images": ["AAAA"]}
    assert "thinking" in planned([USER, said, *case.answers, picture], unknown).messages[1]
    assert "thinking" not in planned([USER, said, *case.answers, USER], unknown).messages[1]


def test_thinking_of_the_wrong_type_is_named():
    with pytest.raises(HistoryError, match=r"messages\[0\]\.thinking: a list; allowed: a string or null"):
        planned([{"role": "assistant", "content": "", "thinking": ["x"]}])


def test_an_empty_thinking_that_the_server_sent_is_kept():
    reply = {"message": {"role": "assistant", "content": "x", "thinking": ""}}
    assert "" == planned([USER, capture(reply, HOME, known=MemoryStore())]).messages[1]["thinking"]


def test_an_empty_thinking_of_a_stream_is_kept_too():
    collector = Collector(HOME, known=MemoryStore())
    collector.feed({"message": {"role": "assistant", "content": "x", "thinking": ""}, "done": False})
    assert "" == collector.result()["thinking"]


def test_ollamas_own_objects_are_read_and_known():
    types = pytest.importorskip("ollama")
    known = MemoryStore()
    reply = types.ChatResponse.model_validate(copy.deepcopy(OLLAMA["a call"].reply))
    said = capture(reply, HOME, known=known)
    assert "CANARY" == said["thinking"]
    messages = [types.Message.model_validate(USER), reply.message]
    assert planned(messages, known=known).messages is messages
    left = planned(messages, THERE).messages
    assert "CANARY" not in repr(left)
    assert [OLLAMA_CALL["function"]["arguments"]] == [call["function"]["arguments"] for call in left[1]["tool_calls"]]


def test_ollamas_own_chunks_are_collected():
    types = pytest.importorskip("ollama")
    collector = Collector(HOME, known=MemoryStore())
    for event in OLLAMA["a text"].events:
        collector.feed(types.ChatResponse.model_validate(event))
    assert ("SHOWN", "CANARY") == (collector.result()["content"], collector.result()["thinking"])
