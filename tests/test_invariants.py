"""The invariants of the design as properties: each test is one sentence, tried on histories that nobody wrote by hand.

`REASONING_REPLAY_FULL=1` tries many more of them. What is expected stands in `model.py` and here, never in the package.
"""

from __future__ import annotations

import copy
import json
import logging
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import model
from model import accepts, reasoning_of, starts_turn, strip_notes
from reasoning_replay import (
    HistoryError,
    MemoryStore,
    MissingReasoning,
    Origin,
    Policy,
    adopt,
    capture,
    prepare,
)
from strategies import (
    CHAT_TARGETS,
    CLAUDE_PICTURE,
    CLAUDE_TARGETS,
    MARK,
    as_bytes,
    chat_histories,
    claude_histories,
    policies,
    requests_of,
)

settings.register_profile(
    "default", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("full", settings.get_profile("default"), max_examples=600, derandomize=False)
settings.load_profile("full" if os.environ.get("REASONING_REPLAY_FULL") == "1" else "default")

TARGETS = (*CHAT_TARGETS, *CLAUDE_TARGETS)
histories = st.one_of(chat_histories(), chat_histories(form="litellm"), claude_histories())


def targets_for(history):
    return {"chat": CHAT_TARGETS, "anthropic": CLAUDE_TARGETS, "litellm": TARGETS}[history.form]


def planned(history, target, *, messages=None, known=None, **more):
    messages = history.messages if messages is None else messages
    known = MemoryStore() if known is None else known
    return prepare(messages, form=history.form, known=known, **target.arguments, **more)


@st.composite
def calls(draw):
    """A history, a place to send it, a request, a policy."""
    history = draw(histories)
    targets = targets_for(history)
    at_home = [target for target in targets if target.host == history.home.host]
    target = draw(st.sampled_from(at_home if at_home and draw(st.booleans()) else targets))
    return history, target, {"request": draw(st.sampled_from(requests_of(target))), "policy": draw(policies)}


def aligned(history, plan):
    """Input and output message side by side; the report says which were left out."""
    gone = {row.index for row in plan.report.rows if row.index is not None and row.output is None}
    left = [message for at, message in enumerate(history.messages) if at not in gone]
    assert len(left) == len(plan.messages)
    return list(zip(left, plan.messages, strict=True))


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


class Heard(logging.Handler):
    """What our logger says while it is attached."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines = []

    def __enter__(self):
        logging.getLogger("reasoning_replay").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("reasoning_replay").removeHandler(self)

    def emit(self, record):
        self.lines.append(f"{record.getMessage()} {record.__dict__!r}")


# 1 --------------------------------------------------------------------------------------------------------------------


@given(calls())
def test_reasoning_goes_back_only_to_its_origins_host_and_foreign_reasoning_goes_without(call):
    history, target, more = call
    plan = planned(history, target, **more)
    sent = json.dumps([plan.messages, plan.request])
    for canary, owner in history.owners.items():
        if canary not in sent:
            continue
        for before in ("thought ", "sig ", "sealed "):
            if before + canary in sent:
                assert accepts(target, owner, more["policy"], sealed=before != "thought "), (canary, owner)


@given(calls())
def test_no_text_of_reasoning_in_logs_reports_errors_or_repr(call):
    history, target, more = call
    known = MemoryStore()
    with Heard() as heard:
        plan = planned(history, target, known=known, **more)
        report = plan.report
        shown = [repr(plan), repr(report), str(report), json.dumps(report.to_dict()), report._repr_html_()]
        shown += [repr(report.rows), repr(known), repr(plan.known), str(plan), *heard.lines]
    assert [] == [text for text in shown if "CANARY-" in text]


# 2 --------------------------------------------------------------------------------------------------------------------


@given(calls())
def test_sealed_parts_go_back_byte_for_byte_in_order_in_place_or_not_at_all(call):
    history, target, more = call
    for before, after in aligned(history, planned(history, target, **more)):
        hidden = (before.get("provider_specific_fields") or {}).get("reasoning_details")
        given_, sent = sealed_of(strip_notes(before)) + sealed_of(hidden), sealed_of(after)
        assert is_subsequence(sent, given_), (given_, sent)


@given(calls())
def test_what_is_not_reasoning_stays_as_and_where_it_was(call):
    history, target, more = call
    plan = planned(history, target, **more)
    gone = {row.index for row in plan.report.rows if row.index is not None and row.output is None}
    for at in gone:
        message = history.messages[at]
        assert message["role"] == "assistant"
        assert not message.get("tool_calls")
        assert answer_of(message) in ("", None, [])
    asked = {one["id"] for message in plan.messages for one in message.get("tool_calls", [])}
    assert {message["tool_call_id"] for message in plan.messages if message["role"] == "tool"} == asked
    for before, after in aligned(history, plan):
        assert before["role"] == after["role"]
        assert calls_of(before) == calls_of(after)
        if before["role"] != "assistant":
            assert {**strip_notes(before), "tool_call_id": None} == {**after, "tool_call_id": None}
            continue
        assert texts_of(answer_of(before)) == texts_of(answer_of(after))


def calls_of(message):
    """The ids of a message, without the signature that LiteLLM hangs on them; a call and its result have one id."""
    ids = [one["id"] for one in message.get("tool_calls", [])] + [message.get("tool_call_id") or ""]
    return [one.partition("__thought__")[0] for one in ids]


def answer_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return [part for part in content if part["type"] not in ("thinking", "redacted_thinking", "reasoning")]
    return content


def texts_of(answer):
    """A text alone and a list with that text are one answer; nothing and the empty text are one as well."""
    if isinstance(answer, str):
        return [{"type": "text", "text": answer}] if answer else []
    return answer or []


def sealed_of(value):
    """Every sealed block of a message, as bytes, in order."""
    if isinstance(value, list):
        return [one for inner in value for one in sealed_of(inner)]
    if not isinstance(value, dict):
        return []
    if value.get("signature") or (value.get("data") and "type" in value):
        return [as_bytes(value)]
    if "google" in value:
        return [as_bytes(value)]
    found = [inner.encode() for key, inner in value.items() if key == "reasoning_opaque" and inner is not None]
    return found + [one for inner in value.values() for one in sealed_of(inner)]


def is_subsequence(short, long):
    rest = iter(long)
    return all(one in rest for one in short)


# 3 --------------------------------------------------------------------------------------------------------------------


@given(calls())
def test_the_callers_messages_are_never_changed_and_preparing_them_twice_gives_equal_plans(call):
    history, target, more = call
    before, request = copy.deepcopy(history.messages), copy.deepcopy(more["request"])
    one = planned(history, target, **more)
    rows = one.report.rows
    assert before == history.messages
    assert as_bytes(before) == as_bytes(history.messages)
    assert request == more["request"]
    two = planned(history, target, **more)
    assert as_bytes(one.messages) == as_bytes(two.messages)
    assert one.request == two.request
    assert rows == two.report.rows
    assert one.report == two.report


@given(calls())
def test_unchanged_messages_are_shared_and_where_nothing_changed_it_is_the_same_list(call):
    history, target, more = call
    plan = planned(history, target, **more)
    for before, after in aligned(history, plan):
        assert before is after or as_bytes(before) != as_bytes(after)
    if as_bytes(plan.messages) == as_bytes(history.messages):
        assert plan.messages is history.messages
    if plan.request == more["request"]:
        assert plan.request is more["request"]


@given(calls())
def test_a_later_layer_that_sees_what_was_sent_gets_plan_known_and_loses_nothing(call):
    history, target, more = call
    plan = planned(history, target, **more)
    again = planned(history, target, messages=plan.messages, known=plan.known, **{**more, "request": plan.request})
    assert as_bytes(plan.messages) == as_bytes(again.messages)


# 4 --------------------------------------------------------------------------------------------------------------------


@given(calls())
def test_equal_inputs_give_equal_bytes(call):
    history, target, more = call
    one = planned(history, target, **more)
    two = planned(history, target, messages=json.loads(json.dumps(history.messages)), **more)
    assert as_bytes(one.messages) == as_bytes(two.messages)
    assert one.report == two.report


@given(calls())
def test_within_one_turn_and_one_rule_earlier_bytes_never_change(call):
    history, target, more = call
    earlier = None
    for end in range(1, len(history.messages) + 1):
        messages = history.messages[:end]
        plan = planned(history, target, messages=messages, **more)
        unproven = any(row.reason == "prefix" for row in plan.report.rows)
        if (
            earlier is not None
            and earlier.report.rule == plan.report.rule
            and earlier.request == plan.request
            and not starts_turn(messages, end - 1, form=history.form)
            and not unproven
        ):
            assert as_bytes(earlier.messages) == as_bytes(plan.messages[: len(earlier.messages)]), messages
        earlier = plan


# 5 --------------------------------------------------------------------------------------------------------------------


@given(calls())
def test_our_mark_never_reaches_a_host_nor_do_turn_and_provider_specific_fields(call):
    history, target, more = call
    plan = planned(history, target, **more)
    assert {MARK, "turn", "provider_specific_fields"}.isdisjoint(keys_of(plan.messages))
    assert MARK not in json.dumps(plan.messages)


@given(histories)
def test_a_mark_is_exactly_id_and_v_and_adopting_twice_changes_nothing(history):
    origin = Origin("llm.example", model="m", dialect="anthropic" if history.form == "anthropic" else "chat")
    before = copy.deepcopy(history.messages)
    marked = adopt(history.messages, origin, form=history.form)
    assert before == history.messages
    assert as_bytes(marked) == as_bytes(adopt(marked, origin, form=history.form))
    assert adopt(marked, origin, form=history.form) is marked
    for mark in marks_in(marked):
        if isinstance(mark, dict) and set(mark) == {"id", "v"}:
            assert "CANARY" not in str(mark)


def marks_in(value):
    if isinstance(value, dict):
        if MARK in value:
            yield value[MARK]
        for inner in value.values():
            yield from marks_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from marks_in(inner)


# 6 --------------------------------------------------------------------------------------------------------------------


def without_marks(value):
    """What an app keeps that throws away whatever it does not know."""
    if isinstance(value, list):
        return [without_marks(one) for one in value]
    if isinstance(value, dict):
        return {key: without_marks(one) for key, one in value.items() if key != "provider_specific_fields"}
    return value


@given(calls())
def test_origin_is_found_by_mark_and_where_the_mark_is_lost_by_what_is_known(call):
    history, target, more = call
    known = MemoryStore()
    owned = [message for message in history.messages if message["role"] == "assistant" and reasoning_marks(message)]
    for message in owned:
        for owner in reasoning_marks(message):
            capture(without_marks(message), owner, form=history.form, known=known)
    clear = [message for message in owned if len(set(reasoning_marks(message))) == 1 and worded(message)]
    clear = [message for message in clear if not half_marked(message)]
    # What has no mark of its own, is blank, or sits in fields that go with the marks, is nobody's either way.
    messages = [message for message in history.messages if message["role"] != "assistant" or message in clear]
    marked = planned(history, target, messages=messages, **more)
    unmarked = planned(history, target, messages=without_marks(messages), known=known, **more)
    assert as_bytes(marked.messages) == as_bytes(unmarked.messages)


def half_marked(message):
    """A list of blocks of which some have no mark: capturing the message vouches for them too."""
    content = message.get("content")
    blocks = [part for part in content if part.get("type") in THINKING] if isinstance(content, list) else []
    marks = ["provider_specific_fields" in block for block in blocks]
    return any(marks) and not all(marks)


THINKING = ("thinking", "redacted_thinking", "compaction")


def reasoning_marks(message):
    return [owner for mark in marks_in(message) if (owner := model.origin_of(mark)) is not None]


def worded(message):
    """Whether every piece of reasoning has a word of its own, where it is found without the marks' place."""
    form = "anthropic" if isinstance(message["content"], list) and "tool_calls" not in message else "chat"
    pieces = [*reasoning_of(message, "chat").values(), *reasoning_of(message, "anthropic").get("content", [])]
    hidden = "reasoning_details" in (message.get("provider_specific_fields") or {}) or any(
        "provider_specific_fields" in call for call in message.get("tool_calls", [])
    )
    return bool(form) and not hidden and all("CANARY-" in json.dumps(piece) for piece in pieces)


@given(histories, st.data())
def test_the_same_words_from_two_origins_go_to_either(history, data):
    one, two = (data.draw(st.sampled_from(targets_for(history))) for _ in range(2))
    known = MemoryStore()
    text = "thought CANARY-900;"
    reply = (
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": text}, {"type": "text", "text": "x"}],
        }
        if history.form == "anthropic"
        else {"role": "assistant", "content": "x", "reasoning_content": text}
    )
    messages = [{"role": "user", "content": "q"}, reply]
    for target in (one, two):
        capture(reply, target.origin, form=history.form, known=known)
    for target in (one, two):
        own = adopt(messages, target.origin, form=history.form)
        assert as_bytes(planned(history, target, messages=messages, known=known).messages) == as_bytes(
            planned(history, target, messages=own).messages
        )


@given(calls())
def test_adopting_a_history_is_counting_what_is_unmarked_as_written_there(call):
    history, target, more = call
    origin = target.origin
    if any(mark is not None and model.origin_of(mark) is None for mark in marks_in(history.messages)):
        return  # adopt leaves a broken mark as it is
    policy = Policy(unknown_origin=origin)
    trusted = planned(history, target, request=more["request"], policy=policy)
    adopted = adopt(history.messages, origin, form=history.form)
    again = planned(history, target, messages=adopted, request=more["request"])
    for before, after in zip(trusted.messages, again.messages, strict=False):
        if before["role"] == "assistant" and "CANARY-" in json.dumps(before):
            assert as_bytes(before) == as_bytes(after)


# 4: prefixes ----------------------------------------------------------------------------------------------------------

BOUND = [target for target in CLAUDE_TARGETS if target.name in ("claude-5.5", "claude-new", "claude-haiku-5.5")]


@given(claude_histories(), st.sampled_from(BOUND))
def test_where_a_model_binds_blocks_to_their_prefix_cuts_are_a_front_run_or_everything(history, target):
    plan = planned(history, target)
    rows = {row.index for row in plan.report.rows if row.reason == "reasoning_only"}
    sent = json.dumps(plan.messages)
    own = []
    for at, message in enumerate(history.messages):
        if message["role"] != "assistant" or at in rows:
            continue
        for _, block, owner in model.blocks_of(message):
            bound = plan.report.rule.bound
            if model.is_signed(block) and accepts(target, owner, Policy(), sealed=True, bound=bound):
                own.append(json.dumps(block) in sent)
    assert own == sorted(own), "an own block went out, and a later one did not"


@given(claude_histories(), st.sampled_from(BOUND))
def test_if_an_own_block_cannot_be_proven_the_front_run_up_to_and_including_it_goes(history, target):
    plan = planned(history, target)
    sent = json.dumps(plan.messages)
    proven = True
    for message in reversed(history.messages):
        if message["role"] != "assistant":
            continue
        for _, block, owner in reversed(model.blocks_of(message)):
            proven = proven and not (owner is None and model.is_signed(block))
            assert proven or not model.is_signed(block) or json.dumps(block) not in sent


# Guards ---------------------------------------------------------------------------------------------------------------


@given(claude_histories())
def test_what_claude_refuses_of_a_manual_thinking_request_is_mended_whole(history):
    for target in CLAUDE_TARGETS[:5]:
        for request in requests_of(target):
            if (request or {}).get("thinking", {}).get("type") != "enabled":
                continue
            plan = planned(history, target, request=request)
            if "thinking" not in plan.request or plan.request["thinking"]["type"] == "disabled":
                assert not any(reasoning_of(one, "anthropic") for one in plan.messages if one["role"] == "assistant")
                continue
            assert plan.request.get("tool_choice", {}).get("type") not in ("any", "tool")  # G1
            assert 1024 <= plan.request["thinking"]["budget_tokens"] < plan.request["max_tokens"]  # G2
            assert last_loop_leads(plan.messages)  # G3


@given(calls())
def test_no_message_is_left_empty_and_the_assistant_is_never_last_where_it_was_not(call):
    history, target, options = call
    plan = planned(history, target, **options)
    roles = [message["role"] for message in plan.messages]
    if history.messages and history.messages[-1]["role"] != "assistant":
        assert roles[-1:] != ["assistant"]
    for before, after in aligned(history, plan):
        if after["role"] == "assistant" and before["content"] != []:
            assert after["content"] != []


def last_loop_leads(messages):
    """The last assistant message with a call behind the last real user message begins with a block."""
    for message in reversed(messages):
        parts = message["content"] if isinstance(message["content"], list) else []
        kinds = [part["type"] for part in parts]
        if message["role"] == "user" and "tool_result" not in kinds:
            return True
        if message["role"] == "assistant" and "tool_use" in kinds:
            return kinds[0] in ("thinking", "redacted_thinking")
    return True


# Required -------------------------------------------------------------------------------------------------------------


@given(calls())
def test_missing_raise_raises_where_something_would_be_filled_and_names_the_message(call):
    history, target, more = call
    plan = planned(history, target, **{**more, "policy": Policy()})
    required = plan.report.rule.requirement == "required"
    fills = [row.index for row in plan.report.rows if row.action == "fill" and required]
    strict = {**more, "policy": Policy(missing="raise")}
    if not fills:
        planned(history, target, **strict)
        return
    with pytest.raises(MissingReasoning) as raised:
        planned(history, target, **strict)
    assert (raised.value.index, raised.value.host) == (fills[0], target.origin.host)
    assert "CANARY-" not in f"{raised.value} {raised.value!r}"


@given(calls())
def test_null_is_no_value_and_does_not_reach_a_host_that_refuses_unknown_keys(call):
    history, target, more = call
    plan = planned(history, target, **more)
    rule = plan.report.rule
    for message in plan.messages:
        if message["role"] == "assistant" and (rule.strict or rule.requirement == "forbidden"):
            keys = {key for key in (*model.STRINGS, *model.LISTS) if key in message}
            assert keys <= set(rule.write)
            assert rule.requirement != "forbidden" or not keys
        assert [] == [key for key in model.STRINGS if key in rule.write and message.get(key, "") is None]


# Reports --------------------------------------------------------------------------------------------------------------


@given(calls())
def test_the_rows_of_a_report_agree_with_what_changed(call):
    history, target, more = call
    plan = planned(history, target, **more)
    rows = plan.report.rows
    at = [row.index for row in rows if row.index is not None]
    assert at == sorted(at)
    assert plan.report.counts() == {
        action: sum(row.action == action for row in rows) for action in {r.action for r in rows}
    }
    gone = {row.index for row in rows if row.index is not None and row.output is None}
    sent = [index for index in range(len(history.messages)) if index not in gone]
    for row in rows:
        assert row.index is None or row.role == history.messages[row.index]["role"]
        assert row.index is None or row.index in gone or sent[row.output] == row.index
        assert row.bytes >= 0
    for index, after in zip(sent, plan.messages, strict=True):
        before = history.messages[index]
        if before["role"] != "assistant":
            assert index not in at
        elif "reasoning_details" not in (before.get("provider_specific_fields") or {}):
            rows_agree(history.form, before, after, [row for row in rows if row.index == index])


def rows_agree(form, before, after, rows):
    if any(row.reason == "own_unsigned" for row in rows):
        return  # the block stays and its signature goes: one row says both
    if any("extra" in name for row in rows for name in row.fields):
        return  # what is sealed beside a call or a visible part is no field of its own: `fields_of` does not see it
    said = {action: {name for row in rows if row.action == action for name in row.fields} for action in ACTIONS}
    came, went = fields_of(before, form), fields_of(after, form)
    new = said["rename"] | said["fill"] | said["sentinel"]
    if form == "litellm" and "thinking_blocks" in went:  # where LiteLLM's form has a block without an order
        new = {name.replace("content.thinking", "thinking_blocks") for name in new}
    assert said["keep"] | new == set(went), (rows, before, after)
    assert said["keep"] <= set(came)
    assert set(came) - set(went) <= said["drop"] or said["rename"]
    if came == went and not any(row.action in ("drop", "fill") for row in rows):
        return
    if not said["rename"] and not said["fill"]:
        assert said["drop"], (rows, before, after)


ACTIONS = ("keep", "drop", "fill", "restore", "rename", "sentinel", "guard")


def fields_of(message, form):
    found = reasoning_of(message, form)
    return {"content.thinking": found["content"]} if "content" in found else found


# Stores ---------------------------------------------------------------------------------------------------------------


@given(calls())
def test_a_captured_message_that_was_json_in_between_replays_the_same(call):
    history, target, more = call
    fresh = []
    for message in history.messages:
        owners = reasoning_marks(message)
        if message["role"] == "assistant" and owners:
            fresh.append(capture(without_marks(message), owners[0], form=history.form, known=MemoryStore()))
        else:
            fresh.append(message)
    stored = json.loads(json.dumps(fresh, ensure_ascii=False))
    one, two = (planned(history, target, messages=messages, **more) for messages in (fresh, stored))
    assert as_bytes(one.messages) == as_bytes(two.messages)
    assert one.report.rows == two.report.rows


@given(histories)
def test_capture_marks_what_brought_reasoning_overwrites_a_mark_and_changes_nothing_else(history):
    origin = Origin("llm.example", model="m", dialect="anthropic" if history.form == "anthropic" else "chat")
    for message in history.messages:
        if message["role"] != "assistant":
            continue
        before = copy.deepcopy(message)
        reply = capture(message, origin, form=history.form, known=MemoryStore())
        assert before == message
        assert {model.origin_of(mark) for mark in marks_in(reply)} <= {origin}
        assert as_bytes(strip_notes(reply)) == as_bytes(strip_notes(message))
        assert bool(list(marks_in(reply))) or not reasoning_of(message, history.form)


# Faults of the caller -------------------------------------------------------------------------------------------------

SPOILED = (
    ("role", "tester"),
    ("reasoning_content", {"text": "CANARY-901;"}),
    ("reasoning_content", 7),
    ("reasoning_details", "CANARY-901;"),
    ("thinking_blocks", {"thinking": "CANARY-901;"}),
    ("content", 3),
    ("tool_calls", "CANARY-901;"),
)


@given(chat_histories(), st.sampled_from(SPOILED), st.data())
def test_messages_that_cannot_be_read_raise_one_error_that_says_where_and_no_words(history, spoiled, data):
    places = [at for at, message in enumerate(history.messages) if message["role"] == "assistant"]
    if not places:
        return
    at = data.draw(st.sampled_from(places))
    key, value = spoiled
    messages = [*history.messages[:at], {**history.messages[at], key: value}, *history.messages[at + 1 :]]
    with pytest.raises(HistoryError) as error:
        planned(history, CHAT_TARGETS[0], messages=messages)
    assert str(at) in str(error.value)
    assert "CANARY-" not in str(error.value)


# The second opinion ---------------------------------------------------------------------------------------------------


def disagreement(history, target, request, policy):
    """Where package and model differ, in words; None where they agree."""
    plan = planned(history, target, request=request, policy=policy)
    rule = plan.report.rule
    expected = model.plan(history.messages, form=history.form, target=target, rule=rule, policy=policy, request=request)
    gone = {row.index for row in plan.report.rows if row.index is not None and row.output is None}
    outputs = iter(plan.messages)
    for at, (message, sent) in enumerate(zip(history.messages, expected, strict=True)):
        after = None if at in gone else next(outputs)
        if sent is None:
            continue
        got = None if after is None else reasoning_of(after, history.form)
        if got != sent.reasoning:
            return (
                f"{target.name} {request} {policy}\nmessage {at}: {message}\nexpected {sent.reasoning}\ngot      {got}"
            )
    return None


@given(st.one_of(chat_histories(), claude_histories()), policies)
@settings(max_examples=settings.default.max_examples // 3)
def test_the_package_agrees_with_a_plan_written_from_the_prose(history, policy):
    for target in targets_for(history):
        for request in requests_of(target):
            assert disagreement(history, target, request, policy) is None


# What the properties found first --------------------------------------------------------------------------------------

USER = {"role": "user", "content": "question"}


def marked(message, origin):
    return capture(message, origin, form="chat", known=MemoryStore())


def test_own_readable_text_is_renamed_to_the_key_written_from_chunks_too():
    origin = Origin("api.moonshot.ai", model="kimi-k2.6")
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "thought CANARY-000;"}]}
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply = marked(
        {"role": "assistant", "content": [chunk, {"type": "text", "text": "x"}], "tool_calls": [call]}, origin
    )
    plan = prepare([USER, reply], host=origin.host, model=origin.model, known=MemoryStore())
    assert {"reasoning_content": "thought CANARY-000;"} == reasoning_of(plan.messages[1], "chat")


def test_no_row_says_keep_of_a_message_that_is_left_out():
    origin = Origin("api.anthropic.com", model="claude-opus-4-6", dialect="anthropic")
    block = {"type": "thinking", "thinking": "thought CANARY-000;", "signature": "sig CANARY-001;"}
    reply = capture({"role": "assistant", "content": [block]}, origin, known=MemoryStore())
    plan = prepare([USER, reply, USER], host=origin.host, model=origin.model, dialect="anthropic", known=MemoryStore())
    assert [USER, USER] == plan.messages
    assert "keep" not in plan.report.counts()


def test_pictures_alone_after_a_tool_result_start_no_turn_in_the_anthropic_form_either():
    origin = Origin("llm.example", model="m", dialect="anthropic")
    block = {"type": "thinking", "thinking": "thought CANARY-000;"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    reply = capture({"role": "assistant", "content": [block, call]}, origin, known=MemoryStore())
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]}
    picture = {"role": "user", "content": [CLAUDE_PICTURE]}
    messages = [USER, reply, result, picture]
    plan = prepare(messages, host=origin.host, model=origin.model, dialect="anthropic", known=MemoryStore())
    assert {"role": "assistant", "content": [block, call]} == plan.messages[1]


SIGNATURE = {"google": {"thought_signature": "sealed CANARY-000;"}}
RARE = {
    "an unknown kind of thinking block": {"thinking_blocks": [{"type": "thought", "text": "CANARY-000;"}]},
    "a signature beside a legacy call": {
        "function_call": {
            "name": "f",
            "arguments": "{}",
            "provider_specific_fields": {"thought_signature": "CANARY-0"},
        }
    },
    "extra_content of the message": {"extra_content": SIGNATURE},
}


@pytest.mark.parametrize("fields", RARE.values(), ids=RARE)
def test_foreign_reasoning_in_a_rare_place_goes_without_too(fields):
    reply = marked(
        {"role": "assistant", "content": "x", "reasoning": "thought"},
        Origin("openrouter.ai", model="google/g"),
    )
    plan = prepare([USER, {**reply, **fields}], host="llm.example", model="m", known=MemoryStore())
    assert "CANARY-" not in json.dumps(plan.messages)


def test_a_foreign_compaction_block_goes_without_too():
    block = {
        "type": "compaction",
        "content": "CANARY-000;",
        "encrypted_content": "CANARY-001;",
        "signature": "CANARY-002;",
    }
    reply = {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]}
    plan = prepare([USER, reply], host="llm.example", model="m", dialect="anthropic", known=MemoryStore())
    assert "CANARY-" not in json.dumps(plan.messages)


def test_a_later_layer_keeps_an_empty_message_that_was_filled():
    messages = [USER, {"role": "assistant", "content": ""}]
    target = {"host": "api.deepseek.com", "model": "deepseek-v4-pro"}
    plan = prepare(messages, known=MemoryStore(), **target)
    assert plan.messages == prepare(plan.messages, known=plan.known, **target).messages


def test_a_turn_that_was_marked_does_not_hide_a_tool_loop_from_the_guard_for_it():
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}
    messages = [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result], "turn": True}]
    request = {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 2048}}
    target = {"host": "api.anthropic.com", "model": "claude-opus-4-1", "dialect": "anthropic"}
    assert "thinking" not in prepare(messages, request=request, known=MemoryStore(), **target).request


@pytest.mark.parametrize("key", ["reasoning_details", "thinking_blocks"])
def test_an_empty_list_does_not_reach_a_host_that_refuses_the_key(key):
    messages = [USER, {"role": "assistant", "content": "x", key: []}]
    assert key not in prepare(messages, host="api.groq.com", model="llama-3.3", known=MemoryStore()).messages[1]


def test_if_an_own_block_cannot_be_proven_the_front_run_goes_in_chat_form_too():
    origin = Origin("openrouter.ai", model="anthropic/claude-opus-5.5")
    messages = [USER]
    for at in range(3):
        details = [{"type": "reasoning.text", "text": f"thought CANARY-00{at};", "signature": f"sig CANARY-01{at};"}]
        call = {"id": f"call_{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        reply = {"role": "assistant", "content": "", "reasoning_details": details, "tool_calls": [call]}
        messages += [
            reply if at == 1 else marked(reply, origin),
            {"role": "tool", "tool_call_id": f"call_{at}", "content": "r"},
        ]
    plan = prepare(messages, host=origin.host, model=origin.model, known=MemoryStore())
    assert [False, False, True] == [bool(reasoning_of(message, "chat")) for message in plan.messages[1::2]]


def test_a_later_layer_keeps_an_empty_text_that_the_host_sent():
    origin = Origin("api.moonshot.ai", model="kimi-k2.6")
    reply = capture({"role": "assistant", "content": "x", "reasoning_content": ""}, origin, known=MemoryStore())
    plan = prepare([USER, reply], host=origin.host, model=origin.model, known=MemoryStore())
    again = prepare(plan.messages, host=origin.host, model=origin.model, known=plan.known)
    assert as_bytes(plan.messages) == as_bytes(again.messages)


def test_the_fill_of_the_anthropic_dialect_is_a_block_in_litellms_form_too():
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [USER, {"role": "assistant", "content": "", "tool_calls": [call]}]
    target = {"host": "api.deepseek.com", "model": "deepseek-v4-pro", "dialect": "anthropic", "form": "litellm"}
    plan = prepare(messages, known=MemoryStore(), **target)
    assert "content.thinking" not in plan.messages[1]
