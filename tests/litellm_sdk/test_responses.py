"""`litellm.responses` and `aresponses`: where the host speaks it, and where LiteLLM makes chat of it."""

import json
from contextlib import suppress

import httpx
import litellm
import pytest

import reasoning_replay
from litellm_calls import fails_once, pairs_of, run
from litellm_entries import (
    CALLED,
    DONE,
    QUESTION,
    RESPOND,
    SEALED,
    THINKS,
    TOOLS,
    append_items,
    events_of,
    responses_turn,
    router,
    target,
)
from reasoning_replay import Origin, adopt
from reasoning_replay._known import default_store
from reasoning_replay.litellm import ConversationElsewhere, MissingReasoning, report_of
from reasoning_replay.testing import Reply, Text, call, canaries_in, think

NATIVE = ("openai-responses", "azure-responses", "xai-responses")
AS_CHAT = ("deepseek", "moonshot", "groq", "cerebras", "mistral", "anthropic", "unknown")
HOSTS = (*NATIVE, *AS_CHAT)
REFUSES_A_GAP = {"anthropic"}
"""Back in a turn that another host went on with, Claude takes no block at all: thinking is off till the next turn."""


def statuses(host):
    return [request.status for request in host.requests]


def question():
    return [QUESTION]


def restart(items):
    """The items as another process reads them: JSON, and nothing known."""
    default_store.cache_clear()
    dumped = [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in items]
    return json.loads(json.dumps(dumped))


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("name", HOSTS)
def test_a_tool_loop_is_whole_at_every_host_and_the_next_turn_is_taken(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    items = []
    reply = responses_turn(mode, host, items, "one")
    assert [] == host.lost()
    assert report_of(reply) is not None
    responses_turn(mode, host, items, "two")
    assert [200] * 6 == statuses(host)
    assert name in AS_CHAT or [] == host.lost()


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "router stream"])
@pytest.mark.parametrize("name", HOSTS)
def test_the_marks_alone_do_after_json_and_a_restart(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    items = question()
    while append_items(items, RESPOND[mode](host, items)):
        items = restart(items)
    assert [] == host.refusals + host.lost()


def _bytes_of(host):
    """What the model's own items were when they came, and as they are in the last body."""
    said = [request.reply["output"] for request in host.requests[:-1]]
    ids = {item["id"] for run_ in said for item in run_}
    return [item for run_ in said for item in run_], [item for item in host.last.json["input"] if item.get("id") in ids]


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("name", ["openai-responses", "xai-responses"])
def test_own_items_go_back_as_they_came(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    responses_turn(mode, host, [])
    said, sent = _bytes_of(host)
    keys = ("id", "type", "encrypted_content", "summary", "call_id", "arguments")
    assert [[item.get(key) for key in keys] for item in said] == [[item.get(key) for key in keys] for item in sent]


HANDFUL = {
    *(("openai-responses", there) for there in HOSTS),
    *((here, "openai-responses") for here in HOSTS),
    *(("azure-responses", "xai-responses"), ("deepseek", "anthropic"), ("anthropic", "deepseek")),
    *(("deepseek", "groq"), ("mistral", "unknown")),
}


"""Pairs of every run; the others are `slow`."""


@pytest.mark.parametrize("mode", ["sync", "async stream"])
@pytest.mark.parametrize(("here", "there"), pairs_of(HOSTS, HANDFUL))
def test_a_loop_that_moves_away_and_back_takes_nothing_along_and_finds_its_own(
    here, there, mode, strict_hosts, install
):
    first, second = strict_hosts(here, steps=3), strict_hosts(there, steps=3)
    install(first, second)
    items = question()
    for host in (first, second):
        append_items(items, RESPOND[mode](host, items))
    while append_items(items, RESPOND[mode](first, items)):
        pass
    assert [] == first.refusals + second.refusals
    assert first.kind in REFUSES_A_GAP or [] == first.lost()


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("openai-responses", "azure-responses"),
        ("openai-responses", "deepseek"),
        ("deepseek", "openai-responses"),
        ("anthropic", "openai-responses"),
    ],
)
def test_a_router_falls_back_in_the_middle_of_a_loop_and_comes_back(here, there, strict_hosts, install):
    first, second = strict_hosts(here, script=fails_once()), strict_hosts(there, steps=3)
    install(first, second)
    pair, items = router(first, second), question()
    for _ in range(5):
        if not append_items(items, run(pair.aresponses(model="group-0", input=items, tools=TOOLS))):
            break
    assert [200] == statuses(second)
    assert [503] == [status for status in statuses(first) if status != 200]
    assert first.kind in REFUSES_A_GAP or [] == first.lost()


def test_a_router_that_pins_encrypted_content_replays_its_envelopes(strict_hosts, install):
    hosts = [strict_hosts("openai-responses", steps=3) for _ in range(2)]
    install(*hosts)
    pair = router(*hosts, optional_pre_call_checks=["encrypted_content_affinity"])
    items = question()
    while append_items(items, run(pair.aresponses(model="group-0", input=items, tools=TOOLS)), dump=True):
        pass  # (LiteLLM itself opens the ids of dicts alone)
    assert "litellm_enc:" in json.dumps(items)
    assert [] == hosts[0].refusals + hosts[0].lost()
    append_items(items := [*items, *question()], run(pair.aresponses(model="group-1", input=items, tools=TOOLS)))
    assert [] == hosts[1].refusals
    assert [] == canaries_in(hosts[1].last.raw.decode())


# Conversations that a host keeps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", RESPOND)
def test_a_conversation_goes_on_at_its_own_host(mode, strict_hosts, install):
    host = strict_hosts("openai-responses")
    install(host)
    first = RESPOND[mode](host, question())
    outputs = []
    append_items(outputs, first)
    RESPOND[mode](host, outputs[-1:], previous_response_id=first.id)
    assert [] == host.refusals
    assert "previous_response_id" in host.last.json


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("there", ["azure-responses", "xai-responses", "deepseek"])
def test_a_conversation_that_another_endpoint_keeps_is_refused_before_the_network(there, mode, strict_hosts, install):
    first, second = strict_hosts("openai-responses"), strict_hosts(there)
    install(first, second)
    kept = RESPOND["sync"](first, question())
    with pytest.raises(ConversationElsewhere, match=first.name) as raised:
        RESPOND[mode](second, question(), previous_response_id=kept.id)
    assert "previous_response_id" == raised.value.parameter
    assert isinstance(raised.value, reasoning_replay.ConversationElsewhere)
    assert [] == second.requests


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("there", ["azure-responses", "deepseek"])
def test_with_its_messages_in_hand_they_go_in_its_place(there, mode, strict_hosts, install):
    first, second = strict_hosts("openai-responses"), strict_hosts(there)
    install(first, second)
    items = question()
    kept = RESPOND["sync"](first, items)
    append_items(items, kept)
    RESPOND[mode](second, items, previous_response_id=kept.id)
    assert [] == second.refusals
    assert "previous_response_id" not in second.last.json


def test_a_plain_question_may_go_on_with_a_conversation(strict_hosts, install):
    host = strict_hosts("openai-responses", script=lambda seen: Reply((think(), Text("Fine."))))
    install(host)
    named = {**target(host), "tools": TOOLS}
    first = litellm.responses(input="How is it?", **named)
    litellm.responses(input="And tomorrow?", previous_response_id=first.id, **named)
    assert ["How is it?", "And tomorrow?"] == [request.json["input"] for request in host.requests]
    assert [] == host.refusals


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("encrypts", ["always", "included"])
@pytest.mark.parametrize("store", [True, False])
def test_stored_or_not_a_loop_is_whole(store, encrypts, mode, strict_hosts, install):
    host = strict_hosts("openai-responses", encrypts=encrypts)
    install(host)
    responses_turn(mode, host, [], store=store, include=["reasoning.encrypted_content"])
    assert [] == host.refusals + host.lost()


@pytest.mark.parametrize("mode", RESPOND)
def test_the_bare_names_of_what_was_not_stored_are_not_sent(mode, strict_hosts, install):
    host = strict_hosts("openai-responses", encrypts="included")
    install(host)
    responses_turn(mode, host, [], store=False)
    assert [] == host.refusals


# What is missing, foreign, broken off ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", RESPOND)
def test_missing_raise_names_index_and_host_before_any_request(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host, missing="raise")
    with pytest.raises(MissingReasoning, match="demands this message's reasoning"):
        RESPOND[mode](host, [*question(), CALLED, DONE])
    assert [] == host.requests


@pytest.mark.parametrize("known", [True, False], ids=["foreign", "unknown"])
@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("name", HOSTS)
def test_nothing_of_another_host_goes_along(name, mode, known, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    items = [*question(), SEALED, {**CALLED, "id": "fc_1"}, DONE]
    if known:
        items = adopt(items, Origin("elsewhere.example", dialect="responses"))
    before = json.dumps(items)
    RESPOND[mode](host, items)
    assert before == json.dumps(items)
    assert [] == host.refusals + canaries_in(host.last.raw.decode())
    assert b"Q0FOQVJZ" not in host.last.raw
    assert b"fc_1" not in host.last.raw


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("name", ["openai-responses", "deepseek", "unknown"])
def test_trust_in_what_bears_no_mark_is_no_trust_in_what_another_host_wrote(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host, unknown_origin="trust")
    thought = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "CANARY-b "}],
    }
    items = [*question(), thought, thought | {"id": "rs_2"}, CALLED, DONE]
    RESPOND[mode](host, adopt(items, Origin("elsewhere.example", dialect="responses")))
    assert [] == canaries_in(host.last.raw.decode())


def _until_it_breaks(mode, host):
    """The events of a stream that breaks off."""
    events = []
    named = {**target(host), "input": question(), "tools": TOOLS, **THINKS.get(host.kind, {}), "stream": True}

    async def whole():
        async for event in await litellm.aresponses(**named):
            events.append(event)

    with suppress(litellm.exceptions.APIError, litellm.exceptions.MidStreamFallbackError, httpx.TransportError):
        if mode == "stream":
            events += _each(litellm.responses(**named), events)
        else:
            run(whole())
    return events


def _each(stream, events):
    """Puts the events into a list one by one."""
    for event in stream:
        events.append(event)
    return ()


@pytest.mark.parametrize("mode", ["stream", "async stream"])
@pytest.mark.parametrize("cut", [6, 9, 11, 13])
@pytest.mark.parametrize("name", ["openai-responses", "xai-responses", "anthropic"])
def test_a_stream_that_breaks_off_marks_nothing_sealed(name, cut, mode, strict_hosts, install):
    host = strict_hosts(name, script=[Reply((think(), Text("I look it up."), call()), cut=cut)])
    install(host)
    events = _until_it_breaks(mode, host)
    closed = [event.item for event in events if event.type == "response.output_item.done"]
    assert [] == [item for item in closed if "reasoning_replay" in str(item)]
    RESPOND["sync"](host, [*question(), *closed, *([DONE | {"call_id": closed[-1].call_id}] if _calls(closed) else [])])
    assert [] == host.refusals + canaries_in(host.last.raw.decode())


def _calls(items):
    return bool(items) and items[-1].type == "function_call"


@pytest.mark.parametrize("mode", ["stream", "async stream"])
@pytest.mark.parametrize("name", ["openai-responses", "xai-responses", "deepseek"])
def test_items_that_came_before_the_end_bear_the_mark_at_the_end(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    events = events_of(mode, host, question())
    closed = [event.item for event in events if event.type == "response.output_item.done"]
    assert all("reasoning_replay" in item.provider_specific_fields for item in closed)
    items = restart([*question(), *closed, DONE | {"call_id": closed[-1].call_id}])
    RESPOND[mode](host, items)
    assert [] == host.refusals + host.lost()


@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_turn_notes_reach_no_wire_and_are_heeded(mode, strict_hosts, install):
    for name in ("deepseek", "unknown", "openai-responses"):
        host = strict_hosts(name, steps=2)
        install(host)
        items = question()
        append_items(items, RESPOND[mode](host, items))
        items.append({"role": "user", "content": "a note of the machine", "turn": False})
        append_items(items, RESPOND[mode](host, items))
        assert b'"turn"' not in host.last.raw
        assert [] == host.lost() + host.refusals
        reasoning_replay.litellm.ReasoningReplay._installed.uninstall()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_conversation_that_is_to_be_compacted_goes_without_marks_and_with_its_own(mode, strict_hosts, install):
    host, other = strict_hosts("openai-responses"), strict_hosts("azure-responses")
    install(host, other)
    items = [QUESTION]
    append_items(items, RESPOND["sync"](host, items))
    for at in (host, other):
        named = {**target(at), "input": items, "max_retries": 0}
        with pytest.raises(litellm.exceptions.NotFoundError):  # a strict host has no such address; what it got counts
            run(litellm.acompact_responses(**named)) if mode == "async" else litellm.compact_responses(**named)
    assert [] != canaries_in(host.last.raw.decode())
    assert [] == canaries_in(other.last.raw.decode())
    assert not host.saw_mark
