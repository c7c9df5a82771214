"""Converse's form beyond the laws of all forms: bytes, signatures that are none, cache points, alternation, botocore."""

from __future__ import annotations

import base64
import copy

import pytest

from native_cases import BEDROCK, RESULT, USE, USERS, bedrock, said
from reasoning_replay import Collector, MemoryStore, Origin, capture, prepare

USER = USERS["bedrock"]
HOME = Origin("gw.example", dialect="bedrock", model="m")
HERE = {"host": "gw.example", "model": "m", "dialect": "bedrock"}
THERE = {**HERE, "host": "elsewhere.example"}
AWS = {"host": "bedrock-runtime.us-east-1.amazonaws.com", "dialect": "bedrock"}
CLAUDE, NOVA = "us.anthropic.claude-opus-4-6-v1:0", "amazon.nova-pro-v1:0"
POINT = {"cachePoint": {"type": "default"}}


def captured(case, origin=HOME):
    return capture(copy.deepcopy(case.reply), origin, known=MemoryStore())


def planned(messages, target=HERE, **more):
    return prepare(messages, known=more.pop("known", MemoryStore()), **target, **more)


def test_bytes_and_base64_are_one_word():
    known = MemoryStore()
    capture(bedrock({"reasoningContent": {"redactedContent": b"CANARY"}}).reply, HOME, known=known)
    text = {"reasoningContent": {"redactedContent": base64.b64encode(b"CANARY").decode()}}
    messages = [USER, {"role": "assistant", "content": [text, {"text": "x"}]}]
    assert planned(messages, known=known).messages is messages


def test_it_is_the_same_block_as_claudes_own():
    known = MemoryStore()
    capture(bedrock(said("CANARY", "sig")).reply, HOME, known=known)
    block = {"type": "thinking", "thinking": "CANARY", "signature": "sig"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]},
    ]
    assert prepare(messages, known=known, form="anthropic", **HERE).messages is messages


def test_the_key_of_a_signature_that_is_none_never_goes():
    message = capture(bedrock(said("CANARY", ""), {"text": "SHOWN"}).reply, HOME, known=MemoryStore())
    plan = planned([USER, message])
    assert [said("CANARY", None), {"text": "SHOWN"}] == plan.messages[1]["content"]
    assert planned(plan.messages, known=plan.known).messages is plan.messages


@pytest.mark.parametrize(
    ("model", "kept"), [(CLAUDE, ["reasoningContent", "toolUse"]), (NOVA, ["toolUse"]), ("arn:aws:x", ["toolUse"])]
)
def test_claude_has_its_blocks_back_and_no_other_family_has_them(model, kept):
    origin = Origin(AWS["host"], dialect="bedrock", model=CLAUDE)
    plan = planned([USER, captured(BEDROCK["signed, and a call"], origin), RESULT], {**AWS, "model": model})
    assert kept == [next(iter(block)) for block in plan.messages[1]["content"]]


def test_all_regions_of_bedrock_hold_one_key():
    origin = Origin("bedrock-runtime.eu-west-1.amazonaws.com", dialect="bedrock", model=CLAUDE)
    messages = [USER, captured(BEDROCK["signed, and a call"], origin), RESULT]
    assert BEDROCK["signed, and a call"].message == planned(messages, {**AWS, "model": CLAUDE}).messages[1]


class TestCachePoints:
    def away(self, *blocks):
        return planned([USER, captured(bedrock(*blocks)), RESULT], THERE).messages

    def test_one_behind_reasoning_that_goes_stays_behind_what_was_before(self):
        assert [{"text": "SHOWN"}, POINT, USE] == self.away({"text": "SHOWN"}, said("CANARY"), POINT, USE)[1]["content"]

    def test_one_that_would_be_first_stands_behind_the_next_block(self):
        assert [USE, POINT] == self.away(said("CANARY"), POINT, USE)[1]["content"]

    def test_one_in_a_message_that_goes_moves_to_the_message_before(self):
        messages = [USER, captured(bedrock(said("CANARY"), POINT)), USER]
        assert [{"role": "user", "content": [*USER["content"], POINT, *USER["content"]]}] == planned(
            messages, THERE
        ).messages

    def test_the_callers_own_stay_where_they_are(self):
        content = [POINT, {"text": "SHOWN"}, POINT]
        messages = [{"role": "user", "content": content}, captured(bedrock(POINT, said("CANARY"), USE))]
        plan = planned(messages)
        assert plan.messages[0] is messages[0]
        assert [POINT, said("CANARY"), USE] == plan.messages[1]["content"]


def test_roles_still_take_turns_where_a_message_of_reasoning_alone_has_gone():
    messages = [USER, captured(bedrock(said("CANARY"))), USER, captured(bedrock({"text": "SHOWN"}))]
    plan = planned(messages, THERE)
    assert ["user", "assistant"] == [message["role"] for message in plan.messages]
    assert USER["content"] * 2 == plan.messages[0]["content"]


def test_redacted_bytes_that_come_in_pieces_are_whole():
    for pieces, whole in (((b"CAN", b"ARY"), b"CANARY"), (("Q0FO", "QVJZ"), "Q0FOQVJZ")):
        collector = Collector(HOME, known=MemoryStore())
        collector.feed({"messageStart": {"role": "assistant"}})
        for piece in pieces:
            delta = {"reasoningContent": {"redactedContent": piece}}
            collector.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}})
        collector.feed({"contentBlockStop": {"contentBlockIndex": 0}})
        collector.feed({"messageStop": {"stopReason": "end_turn"}})
        assert [{"reasoningContent": {"redactedContent": whole}}] == collector.result()["content"]


@pytest.mark.parametrize("target", [HERE, THERE])
@pytest.mark.parametrize("name", [name for name in BEDROCK if "base64" not in name])
def test_what_goes_is_what_botocore_takes(name, target):
    pytest.importorskip("botocore")
    from botocore.session import Session
    from botocore.validate import ParamValidator

    shape = Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    messages = [USER, captured(BEDROCK[name]), *BEDROCK[name].answers]
    marked = ParamValidator().validate({"modelId": "m", "messages": messages}, shape)
    assert "reasoning_replay" in marked.generate_report()  # a mark would be refused, and none goes
    left = ParamValidator().validate({"modelId": "m", "messages": planned(messages, target).messages}, shape)
    assert "" == left.generate_report()


def test_a_call_whose_input_is_not_whole_is_no_call():
    collector = Collector(HOME, known=MemoryStore())
    collector.feed({"messageStart": {"role": "assistant"}})
    collector.feed(
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a", "name": "f"}}}}
    )
    collector.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"at":'}}}})
    collector.feed({"contentBlockStop": {"contentBlockIndex": 0}})
    assert collector.result() is None
