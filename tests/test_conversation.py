"""A conversation that a host keeps under a name goes on there alone; elsewhere its messages go, or nothing does."""

from __future__ import annotations

import base64
import pickle

import pytest

import reasoning_replay
from native_cases import RESPONSES, USERS
from reasoning_replay import Collector, ConversationElsewhere, MemoryStore, Origin, capture, prepare
from reasoning_replay._replay import prepare_safely

CASE = RESPONSES["summaries and a call"]
HOME = Origin("api.openai.com", dialect="responses", model="gpt-5.4")
THERE = {"host": "one.openai.azure.com", "model": "gpt-5.4", "dialect": "responses"}
HERE = {"host": "api.openai.com", "model": "gpt-5.4", "dialect": "responses"}
DOORS = [prepare, prepare_safely]
NEXT = [{"type": "function_call_output", "call_id": "call_1", "output": "3C"}]


@pytest.fixture
def known():
    """A store that has seen the reply."""
    store = MemoryStore()
    capture(CASE.reply, HOME, known=store)
    return store


def wrapped(name):
    inner = base64.b64encode(f"litellm:custom_llm_provider:openai;model_id:1;response_id:{name}".encode()).decode()
    return f"resp_{inner}"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["resp_CANARY", wrapped("resp_CANARY")])
def test_at_another_endpoint_it_raises_before_the_network(door, name, known):
    with pytest.raises(
        ConversationElsewhere, match=r"previous_response_id: names a conversation that api\.openai\.com keeps"
    ):
        door(NEXT, request={"previous_response_id": name}, known=known, **THERE)


def test_at_its_own_endpoint_it_goes_on(known):
    request = {"previous_response_id": "resp_CANARY"}
    plan = prepare(NEXT, request=request, known=known, **HERE)
    assert plan.request is request
    assert plan.messages is NEXT


def test_one_that_nobody_saw_is_the_callers_affair(known):
    request = {"previous_response_id": "resp_other", "conversation": {"id": "conv_other"}}
    assert prepare(NEXT, request=request, known=known, **THERE).request is request


def test_with_the_messages_in_hand_they_go_without_the_name(known):
    items = [USERS["responses"], *capture(CASE.reply, HOME, form="responses", known=known), *NEXT]
    request = {"previous_response_id": "resp_CANARY", "tools": []}
    plan = prepare(items, request=request, known=known, **THERE)
    assert {"tools": []} == plan.request
    assert ["user", "function_call", "function_call_output"] == [item.get("type", "user") for item in plan.messages]
    assert "elsewhere" in [row.reason for row in plan.report.rows]
    assert request == {"previous_response_id": "resp_CANARY", "tools": []}


def test_the_messages_of_somebody_else_are_not_its_messages(known):
    other = Origin("x.example", dialect="responses")
    items = capture(RESPONSES["no summary"].reply, other, form="responses", known=MemoryStore())
    with pytest.raises(ConversationElsewhere):
        prepare([USERS["responses"], *items], request={"previous_response_id": "resp_CANARY"}, known=known, **THERE)


@pytest.mark.parametrize("conversation", ["conv_1", {"id": "conv_1"}])
def test_a_conversation_object_is_kept_by_one_endpoint_too(conversation, known):
    capture({**CASE.reply, "conversation": {"id": "conv_1"}}, HOME, known=known)
    with pytest.raises(ConversationElsewhere, match="conversation: names"):
        prepare(NEXT, request={"conversation": conversation}, known=known, **THERE)


def test_a_streamed_reply_is_known_by_its_name_too():
    known = MemoryStore()
    collector = Collector(HOME, known=known)
    for event in CASE.events:
        collector.feed(event)
    collector.result()
    with pytest.raises(ConversationElsewhere):
        prepare(NEXT, request={"previous_response_id": "resp_CANARY"}, known=known, **THERE)


def test_a_reference_goes_to_the_host_that_keeps_the_item_and_to_none_that_is_known_not_to(known):
    named = [USERS["responses"], {"type": "item_reference", "id": "rs_CANARY_a"}, {"id": "fc_CANARY"}, *NEXT]
    assert prepare(named, known=known, **HERE).messages is named
    assert [USERS["responses"], *NEXT] == prepare(named, known=known, **THERE).messages
    assert prepare(named, known=MemoryStore(), **THERE).messages is named


def test_the_error_can_be_pickled_and_holds_no_name_of_the_conversation(known):
    with pytest.raises(ConversationElsewhere) as raised:
        prepare(NEXT, request={"previous_response_id": "resp_CANARY"}, known=known, **THERE)
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert "CANARY" not in str(again)
    assert reasoning_replay.ConversationElsewhere is ConversationElsewhere
