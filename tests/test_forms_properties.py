"""The invariants as properties of the vendors' own forms, on histories that nobody wrote by hand.

What is expected stands in `model.accepts` and here, never in the package. Words and marks are those of `strategies`.
"""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from model import accepts
from reasoning_replay import MemoryStore, Origin, adopt, capture, prepare
from reasoning_replay._fallback import stripped
from strategies import MARK, History, Target, as_bytes, marks, policies

TARGETS = {
    "responses": (
        Target("openai", "api.openai.com", "gpt-5.4", "responses"),
        Target("openai-org", "api.openai.com", "gpt-5", "responses", account="org-1"),
        Target("azure", "one.openai.azure.com", "gpt-5.4", "responses"),
        Target("azure-2", "two.openai.azure.com", "gpt-5.4", "responses"),
        Target("xai", "api.x.ai", "grok-4.3", "responses"),
        Target("openrouter", "openrouter.ai", "openai/gpt-5.4", "responses", router=True),
        Target("vllm", "vllm-1:8000", "qwen3", "responses", hint="vllm"),
        Target("unknown", "llm.example", "some-model", "responses"),
    ),
    "gemini": (
        Target("gemini", "generativelanguage.googleapis.com", "gemini-3-pro", "gemini"),
        Target("gemini-2.5", "generativelanguage.googleapis.com", "gemini-2.5-pro", "gemini"),
        Target("vertex", "us-central1-aiplatform.googleapis.com", "gemini-3-pro", "gemini"),
        Target("vertex-eu", "europe-west1-aiplatform.googleapis.com", "gemini-3-pro", "gemini"),
        Target("unknown", "llm.example", "some-model", "gemini"),
    ),
    "bedrock": (
        Target("claude", "bedrock-runtime.us-east-1.amazonaws.com", "us.anthropic.claude-opus-4-6-v1:0", "bedrock"),
        Target("claude-eu", "bedrock-runtime.eu-west-1.amazonaws.com", "eu.anthropic.claude-opus-5-5-v1:0", "bedrock"),
        Target("nova", "bedrock-runtime.us-east-1.amazonaws.com", "amazon.nova-2-lite-v1:0", "bedrock"),
        Target("unknown", "llm.example", "some-model", "bedrock"),
    ),
    "ollama": (
        Target("ollama", "localhost:11434", "qwen3", "ollama"),
        Target("unknown", "llm.example", "some-model", "ollama"),
    ),
}
ORIGINS = {
    dialect: (
        *(target.origin for target in targets),
        Origin("llm.example", dialect="chat", model="some-model"),
        Origin(f"{targets[0].host.partition(':')[0]}.evil.example", dialect=dialect, model=targets[0].model),
        Origin(targets[0].host, dialect=dialect, model=targets[0].model, account="org-2"),
    )
    for dialect, targets in TARGETS.items()
}
KEY_HOLDERS = ("bedrock-runtime.", "aiplatform.googleapis.com")


# Replies --------------------------------------------------------------------------------------------------------------


def blob(history, owner):
    return f"sealed {history.word(owner)}"


def text(history, owner):
    return f"thought {history.word(owner)}"


@st.composite
def responses_reply(draw, history, owner, number, calls):
    """A run of items."""
    items = []
    for at in range(draw(st.integers(0, 2))):
        item = {"type": "reasoning", "id": f"rs_{number}_{at}", "summary": []}
        kind = draw(st.sampled_from(["sealed", "both", "stored", "open", "hollow", "anonymous"]))
        if kind in ("both", "stored"):
            item["summary"] = [
                {"type": "summary_text", "text": text(history, owner)} for _ in range(draw(st.integers(1, 2)))
            ]
        if kind == "open":
            item["content"] = [{"type": "reasoning_text", "text": text(history, owner)}]
        if kind in ("sealed", "both"):
            item["encrypted_content"] = blob(history, owner)
        if kind == "anonymous":
            item["encrypted_content"] = blob(history, owner)
            del item["id"]
        items.append(item)
        if at == 0 and draw(st.booleans()):
            items.append(said(number, history, owner))
    if not calls:
        items.append(said(number, history, owner))
    for at in range(calls):
        call = {"type": "function_call", "call_id": f"call_{number}_{at}", "name": "look", "arguments": "{}"}
        items.append({**call, "id": f"fc_{history.word(owner)}"} if draw(st.booleans()) else call)
    return items


def said(number, history, owner):
    content = [{"type": "output_text", "text": f"answer {number}", "annotations": []}]
    return {"type": "message", "role": "assistant", "id": f"msg_{history.word(owner)}", "content": content}


@st.composite
def gemini_reply(draw, history, owner, number, calls):
    """A content; the first call is signed, or a text, or an empty text behind it."""
    parts = [{"text": text(history, owner), "thought": True} for _ in range(draw(st.integers(0, 2)))]
    sign = {draw(st.sampled_from(["thoughtSignature", "thought_signature"])): blob(history, owner)}
    if not calls or draw(st.booleans()):
        parts.append({"text": f"answer {number}", **(sign if not calls and draw(st.booleans()) else {})})
        if not calls and draw(st.booleans()):
            parts.append({"text": "", **sign})
    for at in range(calls):
        call = {"functionCall": {"name": "look", "args": {}, "id": f"call_{number}_{at}"}}
        parts.append({**call, **sign} if at == 0 and draw(st.booleans()) else call)
    return [{"role": "model", "parts": parts}]


@st.composite
def bedrock_reply(draw, history, owner, number, calls):
    """A message of blocks."""
    blocks = []
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(["signed", "omitted", "redacted", "unsigned"]))
        if kind == "redacted":
            blocks.append({"reasoningContent": {"redactedContent": blob(history, owner)}})
            continue
        inside = {"text": "" if kind == "omitted" else text(history, owner)}
        inside |= {} if kind == "unsigned" else {"signature": blob(history, owner)}
        blocks.append({"reasoningContent": {"reasoningText": inside}})
    if not calls and draw(st.sampled_from([False, False, False, True])) and blocks:
        return [{"role": "assistant", "content": blocks}]
    if not calls or draw(st.booleans()):
        blocks.append({"text": f"answer {number}"})
    blocks += ({"toolUse": {"toolUseId": f"call_{number}_{at}", "name": "look", "input": {}}} for at in range(calls))
    return [{"role": "assistant", "content": blocks}]


@st.composite
def ollama_reply(draw, history, owner, number, calls):
    """A message with thinking beside it."""
    message = {"role": "assistant", "content": f"answer {number}"}
    if draw(st.booleans()):
        message["thinking"] = text(history, owner)
    if calls:
        functions = ({"name": "look", "arguments": {}} for _ in range(calls))
        message["tool_calls"] = [{"function": function} for function in functions]
    return [message]


REPLIES = {"responses": responses_reply, "gemini": gemini_reply, "bedrock": bedrock_reply, "ollama": ollama_reply}


def user(dialect, words):
    if dialect == "gemini":
        return {"role": "user", "parts": [{"text": words}]}
    return {"role": "user", "content": [{"text": words}] if dialect == "bedrock" else words}


def results(dialect, number, calls):
    ids = [f"call_{number}_{at}" for at in range(calls)]
    if dialect == "responses":
        return [{"type": "function_call_output", "call_id": each, "output": f"result {each}"} for each in ids]
    if dialect == "gemini":
        rows = [
            {"functionResponse": {"name": "look", "id": each, "response": {"output": f"result {each}"}}} for each in ids
        ]
        return [{"role": "user", "parts": rows}]
    if dialect == "bedrock":
        rows = [{"toolResult": {"toolUseId": each, "content": [{"text": f"result {each}"}]}} for each in ids]
        return [{"role": "user", "content": rows}]
    return [{"role": "tool", "tool_name": "look", "content": f"result {each}"} for each in ids]


def marked(dialect, row, mark):
    if mark is None:
        return row
    place = {MARK: mark} if dialect in ("gemini", "bedrock") else {"provider_specific_fields": {MARK: mark}}
    return {**row, **place}


@st.composite
def histories(draw, dialect):
    origins = ORIGINS[dialect]
    home = draw(st.sampled_from(origins))
    history = History(dialect, home=home)
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        history.messages.append(user(dialect, f"question {number}"))
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls = draw(st.sampled_from([0, 1, 1, 2]))
            owner, mark = draw(marks(origins, home))
            reply = draw(REPLIES[dialect](history, owner, number, calls))
            history.messages += [marked(dialect, row, mark) for row in reply]
            if not calls:
                break
            history.messages += results(dialect, number, calls)
    return history


@st.composite
def calls(draw):
    dialect = draw(st.sampled_from(sorted(TARGETS)))
    history = draw(histories(dialect))
    targets = TARGETS[dialect]
    at_home = [target for target in targets if target.host == history.home.host]
    target = draw(st.sampled_from(at_home if at_home and draw(st.booleans()) else targets))
    return history, target, {"policy": draw(policies), "request": {"tools": [{"name": "look"}]}}


def planned(history, target, *, messages=None, known=None, **more):
    messages = history.messages if messages is None else messages
    return prepare(messages, known=MemoryStore() if known is None else known, **target.arguments, **more)


def one_holder(target, owner):
    return any(holder in target.host and owner is not None and holder in owner.host for holder in KEY_HOLDERS)


# The properties -------------------------------------------------------------------------------------------------------


@given(calls())
def test_reasoning_goes_back_only_to_its_origins_host_and_foreign_reasoning_goes_without(call):
    history, target, more = call
    sent = json.dumps(planned(history, target, **more).messages)
    for canary, owner in history.owners.items():
        for before in ("thought ", "sealed ", "_"):
            if before + canary not in sent:
                continue
            sealed = before != "thought "
            holder = owner is not None and one_holder(target, owner) and ".evil." not in owner.host
            shared = holder and (sealed or target.dialect == "bedrock")  # there a text goes with its signature
            assert accepts(target, owner, more["policy"], sealed=sealed) or shared, (canary, owner)


@given(calls())
def test_sealed_parts_go_back_byte_for_byte_in_order_and_what_is_said_stays(call):
    history, target, more = call
    sent = json.dumps(planned(history, target, **more).messages)
    given_ = json.dumps(history.messages)
    for kind in (r"sealed CANARY-\d+;", r"thought CANARY-\d+;"):
        rest = iter(re.findall(kind, given_))
        assert all(each in rest for each in re.findall(kind, sent))
    for kind in (r"answer \d+", r"result [\w ]+", r"question \d+", r'"call_\d+_\d+"'):
        assert re.findall(kind, given_) == re.findall(kind, sent)


@given(calls())
def test_the_callers_messages_are_never_changed_and_preparing_them_twice_gives_equal_plans(call):
    history, target, more = call
    before = copy.deepcopy(history.messages)
    one = planned(history, target, **more)
    two = planned(history, target, messages=json.loads(json.dumps(history.messages)), **more)
    assert as_bytes(before) == as_bytes(history.messages)
    assert as_bytes(one.messages) == as_bytes(two.messages)
    assert one.report == two.report
    if as_bytes(one.messages) == as_bytes(history.messages):
        assert one.messages is history.messages


@given(calls())
def test_a_later_layer_that_sees_what_was_sent_gets_plan_known_and_loses_nothing(call):
    history, target, more = call
    plan = planned(history, target, **more)
    again = planned(history, target, messages=plan.messages, known=plan.known, **more)
    assert as_bytes(plan.messages) == as_bytes(again.messages)


@given(calls())
def test_within_one_turn_earlier_bytes_never_change(call):
    history, target, more = call
    earlier = None
    for end in range(1, len(history.messages) + 1):
        messages = history.messages[:end]
        plan = planned(history, target, messages=messages, **more)
        last = json.dumps(messages[-1])
        joined = (
            1 if target.dialect == "bedrock" else 0
        )  # a message of reasoning alone has gone: its neighbours are one
        if (
            earlier is not None
            and "question" not in last
            and not any(row.reason == "prefix" for row in plan.report.rows)
        ):
            settled = earlier.messages[: len(earlier.messages) - joined]
            assert as_bytes(settled) == as_bytes(plan.messages[: len(settled)])
        earlier = plan


@given(calls())
def test_our_mark_never_reaches_a_host_and_the_fallback_leaves_no_word(call):
    history, target, more = call
    assert MARK not in json.dumps(planned(history, target, **more).messages)
    left, _ = stripped(
        history.messages, form=None, dialect=target.dialect, host=target.host, hint=None, model=None, request={}
    )  # fmt: skip
    sent = json.dumps(left)
    assert MARK not in sent
    assert "CANARY-" not in sent


@given(calls())
def test_adopting_twice_changes_nothing_and_an_adopted_history_is_at_home(call):
    history, target, _ = call
    marked_ = adopt(history.messages, target.origin)
    assert adopt(marked_, Origin("other.example", dialect=target.dialect)) is marked_


@given(calls())
def test_no_follower_of_a_dropped_item_keeps_its_id_and_no_item_is_without_a_summary(call):
    history, target, more = call
    if target.dialect != "responses":
        return
    plan = planned(history, target, **more)
    kept = {item.get("id") for item in plan.messages}
    bare = False
    for item in history.messages:
        kind = item.get("type")
        if kind == "reasoning":
            bare = item.get("id") not in kept or ("id" not in item and item_gone(item, plan.messages))
        elif kind in ("message", "function_call"):
            assert not bare or item.get("id") not in kept or item.get("id") is None
        else:
            bare = False
    assert all("summary" in item for item in plan.messages if item.get("type") == "reasoning")


def item_gone(item, sent):
    return all(item["encrypted_content"] != other.get("encrypted_content") for other in sent)


@pytest.mark.parametrize("dialect", sorted(TARGETS))
@given(data=st.data())
def test_what_was_captured_is_known_when_every_mark_is_lost(dialect, data):
    target = data.draw(st.sampled_from(TARGETS[dialect]))
    history = History(dialect, home=target.origin)
    reply = data.draw(REPLIES[dialect](history, target.origin, 1, 1))
    known = MemoryStore()
    captured = capture(reply if dialect == "responses" else reply[0], target.origin, known=known)
    tail = results(dialect, 1, 1)
    with_marks = [user(dialect, "go"), *(captured if isinstance(captured, list) else [captured]), *tail]
    without = [user(dialect, "go"), *reply, *tail]
    request = {"tools": [{"name": "look"}]}
    one = prepare(with_marks, known=MemoryStore(), request=request, **target.arguments)
    two = prepare(without, known=known, request=request, **target.arguments)
    assert as_bytes(one.messages) == as_bytes(two.messages)
