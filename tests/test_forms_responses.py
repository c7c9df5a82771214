"""The Responses form beyond the laws of all forms: runs of items, their ids, LiteLLM's envelopes, OpenAI's own types."""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest

from native_cases import CALL, OUTPUT, PACKED, RAW, RESPONSES, SAID, USERS, WRAPPED, response_events, responses, thought
from reasoning_replay import Collector, HistoryError, MemoryStore, Origin, adopt, capture, prepare

USER = USERS["responses"]
OPENAI = Origin("api.openai.com", dialect="responses", model="gpt-5.4")
HERE = {"host": "api.openai.com", "model": "gpt-5.4", "dialect": "responses"}
VLLM = {"host": "vllm-1:8000", "model": "qwen3", "dialect": "responses", "hint": "vllm"}
RUN = RESPONSES["summaries and a call"]


def captured(case=RUN, origin=OPENAI, known=None):
    return capture(copy.deepcopy(case.reply), origin, form="responses", known=MemoryStore() if known is None else known)


def planned(items, target=HERE, **more):
    return prepare(items, known=more.pop("known", MemoryStore()), **target, **more)


@pytest.mark.parametrize(
    "call", [CALL, {key: value for key, value in CALL.items() if key != "id"}], ids=["id", "no id"]
)
def test_the_mark_stands_on_every_item_of_the_run(call):
    items = captured(responses(thought("a", encrypted_content="CANARY"), call))
    marks = [item["provider_specific_fields"]["reasoning_replay"] for item in items]
    assert len(marks) == 2
    assert {mark["id"].partition("|")[0] for mark in marks} == {"api.openai.com"}


def test_a_dropped_item_takes_the_ids_of_what_followed_it_along_and_leaves_call_ids():
    plan = planned([USER, *captured(), OUTPUT], {**HERE, "host": "one.openai.azure.com"})
    left = {key: value for key, value in CALL.items() if key not in ("id", "status")}
    assert [USER, left, OUTPUT] == plan.messages


def test_no_follower_keeps_an_id_whose_reasoning_goes_though_its_own_mark_is_whole():
    items = captured(RESPONSES["interleaved, with parallel calls"])
    del items[2]["provider_specific_fields"]
    plan = planned([USER, *items])
    kinds = [(item.get("type"), "id" in item) for item in plan.messages[1:]]
    assert [("reasoning", True), ("message", True), ("function_call", False), ("function_call", False)] == kinds


def test_the_item_of_a_hosted_tool_keeps_its_status_and_loses_its_id():
    plan = planned([USER, *captured(RESPONSES["a hosted tool"])], {**HERE, "host": "one.openai.azure.com"})
    assert {
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "SHOWN"},
    } in plan.messages


def test_an_empty_id_never_goes_and_names_nothing():
    items = [USER, {**SAID, "id": ""}]
    plan = planned(items)
    assert "id" not in plan.messages[1]
    assert [] == list(plan.report.rows)


@pytest.mark.parametrize(
    "item", [{**USER, "id": "msg_1"}, {**OUTPUT, "id": "fco_1"}, {"role": "developer", "content": "x"}]
)
def test_what_the_caller_wrote_stays_as_it_is(item):
    messages = [item]
    assert planned(messages, {**HERE, "host": "elsewhere.example"}).messages is messages


def test_a_reply_that_was_not_stored_has_no_bare_names():
    reply = {**responses(thought("a", "CANARY"), CALL).reply, "store": False}
    assert ["function_call"] == [item["type"] for item in capture(reply, OPENAI, form="responses")]


def test_open_servers_get_their_text_back_and_nothing_sealed():
    origin = Origin("vllm-1:8000", dialect="responses", model="qwen3")
    case = responses(thought("a", content=RAW, encrypted_content="CANARY"), CALL)
    plan = planned([USER, *captured(case, origin), OUTPUT], VLLM)
    assert [USER, thought("a", content=RAW), CALL, OUTPUT] == plan.messages
    again = planned(plan.messages, VLLM, known=plan.known)
    assert again.messages is plan.messages


def test_items_of_a_list_alone_are_captured_like_the_reply():
    assert captured() == capture(copy.deepcopy(RUN.reply["output"]), OPENAI, form="responses", known=MemoryStore())


def test_a_string_is_a_users_message():
    assert [{"role": "user", "content": "hi"}] == planned("hi").messages


def test_an_item_without_type_and_role_is_named():
    with pytest.raises(HistoryError, match=r"messages\[0\]: no type; allowed: an item with a type"):
        planned([{"content": "x"}])


class TestTurns:
    def kept(self, *behind, **more):
        items = captured(RUN, Origin("gw.example", dialect="responses"))
        plan = planned([USER, *items, OUTPUT, *behind], {"host": "gw.example", "dialect": "responses"}, **more)
        return plan.messages[1]["type"] == "reasoning"

    def test_an_output_does_not_start_one(self):
        assert self.kept()

    def test_a_picture_behind_an_output_does_not(self):
        assert self.kept({"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]})

    def test_a_text_does(self):
        assert not self.kept({"role": "user", "content": [{"type": "input_text", "text": "and?"}]})
        assert not self.kept({"type": "message", "role": "user", "content": "and?"})

    def test_a_note_does_not_and_its_note_is_not_sent(self):
        assert self.kept({"role": "user", "content": "a job is done", "turn": False})


class TestEnvelopes:
    @pytest.mark.parametrize("form", ["plain", "wrapped"])
    def test_what_is_in_an_envelope_is_known_by_what_is_inside_and_goes_back_as_it_came(self, form):
        plain = responses(thought("a", encrypted_content="CANARY") | {"id": "rs_CANARY"}, CALL)
        wrapped = responses(thought("a", encrypted_content=WRAPPED) | {"id": PACKED}, CALL)
        seen, sent = (plain, wrapped) if form == "plain" else (wrapped, plain)
        known = MemoryStore()
        captured(seen, known=known)
        messages = [USER, *sent.message, OUTPUT]
        assert planned(messages, known=known).messages is messages

    def test_a_reference_in_an_envelope_names_the_item_inside(self):
        known = MemoryStore()
        captured(responses(thought("a", encrypted_content="CANARY") | {"id": "rs_CANARY"}, CALL), known=known)
        named = [USER, {"type": "item_reference", "id": PACKED}]
        assert [USER] == planned(named, {**HERE, "host": "elsewhere.example"}, known=known).messages

    def test_litellms_chat_forms_hold_the_same_reasoning(self):
        """`reasoning_items`, and thinking blocks whose signature or data carries the blob."""
        known = MemoryStore()
        captured(responses(thought("a", "CANARY", encrypted_content="CANARY"), CALL), known=known)
        captured(responses(thought("b", encrypted_content="CANARY-b"), CALL), known=known)
        message = {
            "role": "assistant",
            "content": "x",
            "reasoning_items": [thought("a", "CANARY", encrypted_content="CANARY")],
            "thinking_blocks": [
                {"type": "thinking", "thinking": "CANARY", "signature": "litellm_encrypted_reasoning:CANARY"},
                {"type": "redacted_thinking", "data": f"litellm_encrypted_reasoning:{WRAPPED}-b"},
            ],
        }
        messages = [{"role": "user", "content": "go"}, message]
        plan = prepare(messages, form="litellm", known=known, **HERE)
        assert plan.messages is messages
        assert {"keep": 1} == plan.report.counts()

    @pytest.mark.parametrize("identity", ["encitem_%%%", "encitem_AAAA", "resp_zzz", "rs_1", "_", "encitem_"])
    def test_an_id_that_only_looks_like_an_envelope_is_the_hosts_own(self, identity):
        known = MemoryStore()
        capture([thought("a") | {"id": identity}, CALL], OPENAI, form="responses", known=known)
        messages = [USER, thought("a") | {"id": identity}, CALL]
        assert planned(messages, known=known).messages is messages


class TestStreams:
    def collect(self, events):
        collector = Collector(OPENAI, known=MemoryStore())
        for event in events:
            collector.feed(event)
        return collector.result()

    def test_the_blob_that_opens_an_item_is_not_taken(self):
        assert "CANARY-part" not in json.dumps(self.collect(RUN.events))

    def test_a_gateway_that_closes_no_item_gives_them_at_the_end(self):
        events = [event for event in RUN.events if event["type"] in ("response.created", "response.completed")]
        assert captured() == self.collect(events)

    def test_a_gateway_that_gives_nothing_at_the_end_has_closed_them(self):
        events = copy.deepcopy(RUN.events)
        events[-1]["response"]["output"] = []
        assert captured() == self.collect(events)

    @pytest.mark.parametrize("end", ["response.failed", "response.incomplete", "error"])
    def test_a_reply_that_failed_or_ran_out_keeps_nothing_sealed(self, end):
        events = [*RUN.events[:-1], {"type": end, "response": {"status": "failed", "output": RUN.reply["output"]}}]
        left = {key: value for key, value in CALL.items() if key not in ("id", "status")}
        assert [left] == [
            {k: v for k, v in item.items() if k != "provider_specific_fields"} for item in self.collect(events)
        ]

    def test_an_open_models_text_is_kept_as_far_as_it_came(self):
        events = response_events([thought("a", content=[{"type": "reasoning_text", "text": "thinking"}]), SAID])
        cut = next(at for at, event in enumerate(events) if event.get("delta") == "inking")
        assert [thought("a", content=[{"type": "reasoning_text", "text": "th"}])] == [
            {k: v for k, v in item.items() if k != "provider_specific_fields"} for item in self.collect(events[:cut])
        ]


@cache
def adapter(kind):
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


UNPAIRED = ("no reasoning, but an id", "Gemini behind LiteLLM")
"""At OpenAI an id without reasoning before it does not go."""


class TestOpenAI:
    """The SDK's own objects and types."""

    @pytest.fixture(autouse=True)
    def sdk(self):
        self.types = pytest.importorskip("openai.types.responses")

    def response(self, case):
        full = {"created_at": 0, "model": "m", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        return self.types.Response.model_validate({**full, **case.reply})

    @pytest.mark.parametrize(
        "name", [name for name in RESPONSES if name not in ("openrouter", "a compaction", *UNPAIRED)]
    )
    def test_its_objects_are_read_and_are_known_when_they_come_back(self, name):
        known = MemoryStore()
        response = self.response(RESPONSES[name])
        items = capture(response, OPENAI, form="responses", known=known)
        assert RESPONSES[name].message == prepare([USER, *items], known=known, **HERE).messages[1:]
        messages = [USER, *response.output]
        assert planned(messages, known=known).messages is messages

    def test_foreign_objects_are_planned_as_dicts(self):
        plan = planned([USER, *self.response(RUN).output], {**HERE, "host": "elsewhere.example"})
        assert "CANARY" not in repr(plan.messages)

    @pytest.mark.parametrize("host", ["api.openai.com", "elsewhere.example"])
    @pytest.mark.parametrize("name", [name for name in RESPONSES if name not in ("openrouter", "a hosted tool")])
    def test_what_goes_is_what_its_types_take(self, name, host):
        plan = planned([USER, *captured(RESPONSES[name]), *RESPONSES[name].answers], {**HERE, "host": host})
        for item in plan.messages:
            if "id" in item or item.get("type") != "message":  # its type of a reply's message asks for the id
                adapter(self.types.ResponseInputItemParam).validate_python(item)


def test_litellms_own_object_is_read():
    response = pytest.importorskip("litellm.types.llms.openai").ResponsesAPIResponse
    reply = response(**{**RUN.reply, "created_at": 0, "model": "m", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True})  # fmt: skip
    assert captured() == capture(reply, OPENAI, form="responses", known=MemoryStore())


def test_adopt_marks_items_and_leaves_what_has_none():
    messages = [USER, *RUN.message, OUTPUT]
    marked = adopt(messages, OPENAI)
    assert marked[0] is USER
    assert marked[3] is messages[3]
    assert planned(marked).messages == messages
