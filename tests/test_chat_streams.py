"""Streams of chat hosts that do not just send pieces of a text: parts, opaque fields, whole texts each time."""

from __future__ import annotations

import pytest

from reasoning_replay import Collector, MemoryStore, Origin, prepare

USER = {"role": "user", "content": "go"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
MISTRAL = Origin("api.mistral.ai", model="magistral-medium-latest")
COPILOT = Origin("api.githubcopilot.com", model="claude-opus-4.6")
DATABRICKS = Origin("x.cloud.databricks.com", model="databricks-claude-opus-4-6")
MINIMAX = Origin("api.minimax.io", model="MiniMax-M2.5")
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")


def collect(origin, deltas, finish=True):
    collector = Collector(origin, known=MemoryStore())
    for delta in deltas:
        collector.feed({"choices": [{"index": 0, "delta": delta}]})
    if finish:
        collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return collector.result()


def bare(message):
    return {key: value for key, value in message.items() if key != "provider_specific_fields"}


def home(message, origin):
    plan = prepare([USER, message], host=origin.host, model=origin.model, known=MemoryStore())
    return plan.messages[1]


def thinking(text, **more):
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


class TestMistral:
    DELTAS = (
        {"role": "assistant", "content": ""},
        {"content": [thinking("CANARY ")]},
        {"content": [thinking("more", closed=True)]},
        {"content": [{"type": "text", "text": "SH"}]},
        {"content": "OWN"},
        {"tool_calls": [{"index": 0, **CALLS[0]}]},
    )

    def test_chunks_become_one_and_go_back_as_they_are(self):
        message = collect(MISTRAL, self.DELTAS)
        content = [thinking("CANARY more", closed=True), {"type": "text", "text": "SHOWN"}]
        assert {"role": "assistant", "content": content, "tool_calls": CALLS} == bare(message)
        assert bare(message) == home(message, MISTRAL)

    @pytest.mark.parametrize("cut", range(7))
    def test_cut_anywhere_it_is_what_came(self, cut):
        message = collect(MISTRAL, self.DELTAS[:cut], finish=False)
        assert (message is None) == (cut == 0)

    def test_two_chunks_that_were_closed_stay_two(self):
        deltas = [{"content": [thinking("a", closed=True)]}, {"content": [thinking("b", closed=True)]}]
        assert 2 == len(collect(MISTRAL, deltas)["content"])

    def test_text_before_the_first_list_comes_first(self):
        deltas = [{"content": "a"}, {"content": [thinking("CANARY")]}, {"content": "b"}]
        kinds = [part["type"] for part in collect(MISTRAL, deltas)["content"]]
        assert ["text", "thinking", "text"] == kinds

    def test_the_events_are_not_changed(self):
        deltas = [{"content": [thinking("a")]}, {"content": [thinking("b")]}]
        collect(MISTRAL, deltas)
        assert [{"content": [thinking("a")]}, {"content": [thinking("b")]}] == deltas


SUMMARY = {"type": "summary_text", "text": "CANARY", "signature": "CANARY-sig"}


class TestDatabricks:
    DELTAS = (
        {"role": "assistant", "content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "CAN"}]}]},
        {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "ARY"}]}]},
        {
            "content": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "", "signature": "CANARY-sig"}]}
            ]
        },
        {"content": [{"type": "text", "text": "SHOWN"}]},
    )

    def test_a_signature_comes_last_and_stays_inside(self):
        message = collect(DATABRICKS, self.DELTAS)
        content = [{"type": "reasoning", "summary": [SUMMARY]}, {"type": "text", "text": "SHOWN"}]
        assert content == message["content"]
        assert bare(message) == home(message, DATABRICKS)

    def test_unfinished_it_keeps_nothing_sealed(self):
        message = collect(DATABRICKS, self.DELTAS, finish=False)
        assert [{"type": "text", "text": "SHOWN"}] == message["content"]
        assert "CANARY" in repr(collect(DATABRICKS, self.DELTAS[:2], finish=False))


class TestCopilot:
    DELTAS = (
        {"role": "assistant", "content": None, "reasoning_text": "CAN"},
        {"reasoning_text": "ARY"},
        {"tool_calls": [{"index": 0, **CALLS[0]}]},
        {"reasoning_opaque": "CANARY-opaque"},
    )

    def test_both_fields_go_back_together(self):
        message = collect(COPILOT, self.DELTAS)
        assert ("CANARY", "CANARY-opaque") == (message["reasoning_text"], message["reasoning_opaque"])
        assert bare(message) == home(message, COPILOT)

    def test_elsewhere_neither_goes(self):
        plan = prepare([USER, collect(COPILOT, self.DELTAS)], host="somewhere.example", known=MemoryStore())
        assert "CANARY" not in repr(plan.messages)

    def test_unfinished_it_keeps_nothing_sealed(self):
        message = collect(COPILOT, self.DELTAS, finish=False)
        assert "CANARY" == message["reasoning_text"]
        assert "reasoning_opaque" not in message


class TestSnapshots:
    """MiniMax sends all that was thought so far, each time."""

    @pytest.mark.parametrize("key", ["reasoning_content", "reasoning_details"])
    @pytest.mark.parametrize(
        "pieces",
        [
            ["I", "I think", "I think CANARY"],
            ["I think CANARY", "I think CANARY, and more"],
            ["I think", "I think so", "I think so", "I think so, CANARY"],
            ["", "I think so", "I think so, CANARY"],
        ],
        ids=["three", "two long ones", "one twice", "an empty one first"],
    )
    def test_the_last_one_is_the_whole(self, pieces, key):
        deltas = [self.delta(key, piece) for piece in pieces]
        message = collect(MINIMAX, [*deltas, {"content": "SHOWN"}])
        assert self.text(message, key) == pieces[-1]

    @pytest.mark.parametrize("key", ["reasoning_content", "reasoning_details"])
    @pytest.mark.parametrize(
        "pieces",
        [["a", "ah"], ["\n", "\n\n"], ["ha", "ha", "ha"], ["1", "10", "2"], ["I think", " I think so"], ["", ""]],
    )
    def test_pieces_that_only_look_like_it_are_joined(self, pieces, key):
        message = collect(MINIMAX, [self.delta(key, piece) for piece in pieces])
        assert self.text(message, key) == "".join(pieces)

    def delta(self, key, piece):
        return {key: piece} if key == "reasoning_content" else {key: [{"text": piece}]}

    def text(self, message, key):
        return message[key] if key == "reasoning_content" else message[key][0]["text"]

    def test_bare_details_are_text_and_go_back_as_they_came(self):
        deltas = [
            {"role": "assistant", "content": "SHOWN"},
            *(self.delta("reasoning_details", each) for each in ("CAN", "ARY")),
        ]
        message = collect(MINIMAX, deltas)
        assert [{"text": "CANARY"}] == message["reasoning_details"]
        assert bare(message) == home(message, MINIMAX)

    def test_pieces_of_sealed_data_are_always_joined(self):
        details = [{"type": "reasoning.encrypted", "data": each, "index": 0} for each in ("AAAAAAAA", "AAAAAAAAA")]
        message = collect(MINIMAX, [{"reasoning_details": [detail]} for detail in details])
        assert "AAAAAAAA" + "AAAAAAAAA" == message["reasoning_details"][0]["data"]


def test_parallel_calls_and_interleaved_text_keep_their_places():
    deltas = [
        {"role": "assistant", "content": None, "reasoning_content": "CAN"},
        {"content": "SHOWN"},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{"}}]},
        {"reasoning_content": "ARY", "tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]},
    ]
    message = collect(DEEPSEEK, deltas)
    assert "CANARY" == message["reasoning_content"]
    assert [("a", "{}"), ("b", "{}")] == [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]]
