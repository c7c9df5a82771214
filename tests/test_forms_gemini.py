"""Gemini's form beyond the laws of all forms: signatures in their places, the sentinel, Google's own types."""

from __future__ import annotations

import base64
import copy

import pytest

from native_cases import FC, FR, GEMINI, SIGN, THOUGHT, USERS, gemini
from reasoning_replay import Collector, HistoryError, MemoryStore, Origin, Policy, capture, load_hosts, prepare
from reasoning_replay._fallback import stripped

USER = USERS["gemini"]
HOME = Origin("gw.example", dialect="gemini", model="m")
HERE = {"host": "gw.example", "model": "m", "dialect": "gemini"}
THERE = {**HERE, "host": "elsewhere.example"}
SKIP = "skip_thought_signature_validator"
RULES = """
id = "google"
hosts = ["elsewhere.example"]
dialect = "gemini"
source = "https://ai.google.dev/gemini-api/docs/thought-signatures"
date = 2026-11-13
confidence = "documented"

[[rules]]
window = "all"
missing = { on = "first_call", fill = "skip_thought_signature_validator" }
"""


def captured(case):
    return capture(copy.deepcopy(case.reply), HOME, known=MemoryStore())


def planned(contents, target=HERE, **more):
    return prepare(contents, known=more.pop("known", MemoryStore()), **target, **more)


@pytest.fixture
def asks(tmp_path):
    """A policy under which the other host asks for signatures."""
    (tmp_path / "google.toml").write_text(RULES)
    return Policy(rules=load_hosts(tmp_path))


class TestSentinel:
    def test_it_stands_on_the_first_call_of_a_step_and_on_no_sibling(self, asks):
        case = GEMINI["parallel calls"]
        plan = planned([USER, captured(case), *case.answers], THERE, policy=asks)
        first, second = plan.messages[1]["parts"]
        assert base64.b64encode(SKIP.encode()).decode() == first["thoughtSignature"]
        assert "thoughtSignature" not in second
        assert [("fill", "missing")] == [(row.action, row.reason) for row in plan.report.rows if row.action == "fill"]

    def test_it_stands_under_the_name_that_the_part_is_written_with(self, asks):
        case = GEMINI["underscores"]
        plan = planned([USER, captured(case), *case.answers], THERE, policy=asks)
        assert base64.b64encode(SKIP.encode()).decode() == plan.messages[1]["parts"][0]["thought_signature"]

    def test_every_step_of_the_running_turn_has_one_and_no_earlier_one(self, asks):
        step = [captured(GEMINI["a call"]), FR]
        plan = planned([USER, *step, USER, *step, *step], THERE, policy=asks)
        assert ["", SKIP, SKIP] == [
            base64.b64decode(row["parts"][0].get("thoughtSignature", "")).decode()
            for row in plan.messages
            if row["role"] == "model"
        ]

    def test_a_thought_that_stays_is_no_signature(self, asks):
        own = capture(
            gemini(THOUGHT, FC).reply, Origin("elsewhere.example", dialect="gemini", model="m"), known=MemoryStore()
        )
        plan = planned([USER, own, FR], THERE, policy=asks)
        assert "thoughtSignature" in plan.messages[1]["parts"][1]

    def test_a_call_with_its_own_signature_has_none(self, asks):
        own = Origin("elsewhere.example", dialect="gemini", model="m")
        case = GEMINI["parallel calls"]
        plan = planned([USER, capture(case.reply, own, known=MemoryStore()), *case.answers], THERE, policy=asks)
        assert case.message == plan.messages[1]

    @pytest.mark.parametrize(
        "word",
        [SKIP, base64.b64encode(SKIP.encode()).decode(), SKIP.encode()],
        ids=["raw", "base64", "bytes"],
    )
    def test_one_that_is_there_already_is_nobodys_and_stays(self, word, asks):
        messages = [USER, {"role": "model", "parts": [{**FC, "thoughtSignature": word}]}, FR]
        plan = planned(messages, THERE)
        assert plan.messages is messages
        assert [] == list(plan.report.rows)

    def test_a_policy_that_raises_raises(self, asks):
        from reasoning_replay import MissingReasoning

        policy = Policy(rules=asks.rules, missing="raise")
        with pytest.raises(MissingReasoning):
            planned([USER, captured(GEMINI["a call"]), FR], THERE, policy=policy)


def test_the_fallback_puts_it_on_calls_since_nothing_else_passes():
    case = GEMINI["parallel calls"]
    left, _ = stripped(
        [USER, captured(case), *case.answers], form=None, dialect="gemini", host="x", hint=None, model=None, request={}
    )  # fmt: skip
    first, second = left[1]["parts"]
    assert SKIP.encode() == base64.b64decode(first["thoughtSignature"])
    assert "thoughtSignature" not in second
    assert [USER, *case.answers] == [left[0], *left[2:]]


@pytest.mark.parametrize("dialect", ["responses", "gemini"])
def test_the_fallback_reads_a_plain_string(dialect):
    left, _ = stripped("hi", form=None, dialect=dialect, host="x", hint=None, model=None, request={})
    assert "hi" in repr(left)
    assert len(left) == 1


def test_a_signature_without_any_data_never_goes():
    note = {"thoughtSignature": "CANARY"}
    plan = planned([USER, capture(gemini({"text": "SHOWN"}, note).reply, HOME, known=MemoryStore())])
    assert [USER, {"parts": [{"text": "SHOWN"}], "role": "model"}] == plan.messages


def test_signed_parts_are_not_merged_and_stay_in_their_order():
    parts = [{"text": "a"}, {"text": "b", **SIGN}, {"text": "c", "thoughtSignature": "CANARY-2"}, {"text": "d"}]
    case = gemini(*parts)
    assert parts == planned([USER, captured(case)]).messages[1]["parts"]
    away = planned([USER, captured(case)], THERE).messages[1]["parts"]
    assert [{"text": each} for each in "abcd"] == away


@pytest.mark.parametrize("role", ["user", "system"])
def test_what_stands_in_a_message_of_another_never_goes(role):
    row = {"role": role, "parts": [THOUGHT, {"text": "SHOWN", **SIGN}]}
    assert [{"role": role, "parts": [{"text": "SHOWN"}]}] == planned([row]).messages


def test_strings_are_a_users_and_a_content_without_role_too():
    assert [{"role": "user", "parts": [{"text": "hi"}]}] == planned("hi").messages
    row = {"parts": [{"text": "hi"}]}
    messages = [row]
    assert planned(messages).messages is messages
    messages = ["a", row]
    assert planned(messages).messages is messages
    assert [{"role": "user", "parts": [{"text": "a"}]}, row] == planned([*messages, {**row, "turn": True}]).messages[:2]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"text": "x"}], r"messages\[0\]: no content; allowed: a dict with role and parts"),
        ([{"role": "user", "parts": "x"}], r"messages\[0\]\.parts: a str; allowed: a list of blocks"),
        ([{"role": "user", "parts": [1]}], r"messages\[0\]\.parts\[0\]: a int; allowed: a dict"),
        (7, "messages: a int; allowed: a list of messages"),
    ],
)
def test_what_cannot_be_read_is_named(messages, said):
    with pytest.raises(HistoryError, match=said):
        planned(messages)


def test_a_candidate_that_is_not_there_is_named():
    with pytest.raises(HistoryError, match=r"reply.candidates: no candidate 1; there are 1"):
        capture(GEMINI["a call"].reply, HOME, choice=1)


def test_each_candidate_has_its_own_collector():
    first, second = gemini({"text": "a", **SIGN}), gemini({"text": "b", **SIGN})
    events = copy.deepcopy([*first.events, *second.events])
    for event in events[len(first.events) :]:
        event["candidates"][0]["index"] = 1
    told = [Collector(HOME, choice=choice, known=MemoryStore()) for choice in (0, 1)]
    for event in events:
        for collector in told:
            collector.feed(event)
    assert ["a", "b"] == [collector.result()["parts"][0]["text"] for collector in told]


def test_a_reply_that_was_cut_off_before_any_part_is_an_empty_content():
    reply = {"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}]}
    assert {"role": "model", "parts": []} == capture(reply, HOME, known=MemoryStore())


class TestGoogle:
    """google-genai's own objects."""

    @pytest.fixture(autouse=True)
    def sdk(self):
        self.types = pytest.importorskip("google.genai.types")

    def reply(self):
        sign = base64.b64encode(b"CANARY").decode()
        case = gemini({**FC, "thoughtSignature": sign})
        return self.types.GenerateContentResponse.model_validate(case.reply), case

    def test_its_objects_are_known_when_they_come_back(self):
        known = MemoryStore()
        reply, case = self.reply()
        capture(reply, HOME, known=known)
        objects = [self.types.Content.model_validate(USER), reply.candidates[0].content]
        assert planned(objects, known=known).messages is objects
        rest = [USER, case.message]
        assert planned(rest, known=known).messages is rest  # the same bytes as base64

    def test_foreign_objects_leave_nothing_and_its_types_take_what_goes(self):
        reply, _ = self.reply()
        plan = planned([self.types.Content.model_validate(USER), reply.candidates[0].content, FR], THERE)
        assert "CANARY" not in repr(plan.messages)
        for row in plan.messages:
            self.types.Content.model_validate(row)

    def test_the_sentinel_is_on_the_wire_what_google_takes(self, asks):
        reply, _ = self.reply()
        plan = planned([USER, reply.candidates[0].content, FR], THERE, policy=asks)
        content = self.types.Content.model_validate(plan.messages[1])
        assert SKIP.encode() == content.parts[0].thought_signature
