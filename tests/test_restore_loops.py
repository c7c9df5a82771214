"""Whole loops with a store: a client that drops all reasoning gets on the wire what one sends that kept everything.

Histories, targets and what clients do to them are those of `recall_cases`; the client changes what means nothing anew
at every request.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_forms_properties as native
from reasoning_replay import Origin, capture, prepare
from reasoning_replay.forms import form_of
from reasoning_replay.stores import MemoryStore
from recall_cases import NOTHING, TARGETS, results, seen, unmarked, with_arguments
from strategies import History, chat_replies, claude_replies
from test_forms_properties import user
from test_forms_recall import FEWER

FORMS = ["chat", "litellm", "anthropic", "responses", "gemini", "bedrock", "ollama"]
REQUEST = {"tools": [{"name": "look"}]}


@st.composite
def reply(draw, form, target, number, calls):
    """The rows of a reply of the target's host; nothing blank, which no client can be told to keep."""
    history = History(form, home=target.origin)
    history.owners = {f"{number}-{at}": None for at in range(number * 10)}  # other words in every reply
    if form in ("chat", "litellm"):
        rows = [draw(chat_replies(history, target.origin, number, calls))]
    elif form == "anthropic":
        rows = [draw(claude_replies(history, target.origin, number, calls))]
    else:
        rows = draw(native.REPLIES[form](history, target.origin, number, calls))
    rows = with_arguments(unmarked(rows))
    return rows if form_of(form).recall.lift(rows) is not None else seen(form, rows)


@st.composite
def loops(draw, form):
    """A target and steps: the rows of a reply and of what follows it."""
    target = draw(st.sampled_from(TARGETS[form]))
    steps = []
    for number in range(1, draw(st.integers(2, 5))):
        calls = draw(st.sampled_from([0, 1, 1, 2]))
        rows = draw(reply(form, target, number, calls))
        steps.append((rows, results(form, number, calls) if calls else [user(form, f"question {number}")]))
    return target, steps


def planned(form, target, rows, known):
    return prepare(rows, form=form, known=known, request=REQUEST, **target.arguments)


def wire(plan):
    return json.dumps(plan.messages, sort_keys=True, default=str)


def captured(form, target, rows, known, plan):
    found = capture(
        copy.deepcopy(rows if form == "responses" else rows[0]), target.origin, form=form, known=known, after=plan
    )
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_a_client_that_drops_all_reasoning_gets_the_same_bytes_to_the_host(form, data):
    target, steps = data.draw(loops(form))
    known = MemoryStore().of("one")
    kept = [user(form, "go")]
    left = [user(form, "go")]
    for rows, behind in steps:
        plan = planned(form, target, left, known)
        assert wire(planned(form, target, kept, MemoryStore())) == wire(plan)
        kept = [*kept, *captured(form, target, rows, known, plan), *behind]
        left = [*left, *seen(form, rows), *copy.deepcopy(behind)]
    assert wire(planned(form, target, kept, MemoryStore())) == wire(planned(form, target, left, known))


CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-4-6")
CALL = {"id": "toolu_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
THOUGHT = {"type": "thinking", "thinking": "T", "signature": "s"}


def sent_to_claude(rows, known):
    request = {"tools": [{"name": "look"}], "thinking": {"type": "adaptive"}}
    target = {"host": "api.anthropic.com", "model": "claude-opus-4-6", "dialect": "anthropic", "form": "litellm"}
    return prepare(rows, request=request, known=known, **target)


@pytest.mark.parametrize(("echoed", "restored"), [("T", True), ("T and more", False), (" ", True)])
def test_a_client_that_echoes_the_text_of_a_signed_block_gets_the_block_back(echoed, restored):
    known = MemoryStore().of("one")
    asked = [{"role": "user", "content": "go"}]
    plan = sent_to_claude(asked, known)
    said = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    reply = {**said, "reasoning_content": "T", "thinking_blocks": [THOUGHT]}
    capture(reply, CLAUDE, form="litellm", known=known, after=plan)
    answer = {"role": "tool", "tool_call_id": "toolu_1", "content": "rain"}
    plan = sent_to_claude([*asked, {**said, "reasoning_content": echoed}, answer], known)
    assert ([THOUGHT] if restored else None) == plan.messages[1].get("thinking_blocks")
    assert restored == ("restored" in {row.reason for row in plan.report.rows})


def test_a_reply_that_brought_nothing_has_nothing_back_and_is_no_restored_one():
    known = MemoryStore().of("one", session="s")
    asked = [{"role": "user", "content": "go"}]
    said = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    capture(said, CLAUDE, form="litellm", known=known, after=sent_to_claude(asked, known))
    answer = {"role": "tool", "tool_call_id": "toolu_1", "content": "rain"}
    plan = sent_to_claude([{"role": "user", "content": "another past"}, said, answer], known)
    assert "restored" not in {row.reason for row in plan.report.rows}


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_nothing_is_missed_whatever_the_client_changes_without_meaning_anything(form, data):
    target, steps = data.draw(loops(form))
    known = MemoryStore().of("one")
    left = [user(form, "go")]
    for rows, behind in steps:
        changed = left
        for name in data.draw(st.lists(st.sampled_from(sorted(NOTHING)), max_size=3)):
            changed = NOTHING[name](form, copy.deepcopy(changed), data.draw)
        plan = planned(form, target, changed, known)
        captured(form, target, rows, known, plan)
        left = [*left, *seen(form, rows), *copy.deepcopy(behind)]
        for end in range(len(left) - len(behind)):
            assert "restore:miss" not in str(plan.report.rows), end
    lifted = [form_of(form).recall.lift(rows) for rows, _ in steps]
    said = form_of(form).recall.said(planned(form, target, left, known).work.rows)
    bare = [each.bare for each in said if each.reply]
    assert [each is None for each in lifted] == bare


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_nothing_goes_to_another_tenant_or_into_a_conversation_that_says_something_else(form, data):
    target, steps = data.draw(loops(form))
    store = MemoryStore()
    left = [user(form, "go")]
    for rows, behind in steps:
        plan = planned(form, target, left, store.of("one"))
        captured(form, target, rows, store.of("one"), plan)
        left = [*left, *seen(form, rows), *copy.deepcopy(behind)]
    other = [user(form, "come"), *left[1:]]
    for rows, known in ((left, store.of("two")), (other, store.of("one"))):
        assert "CANARY" not in wire(planned(form, target, rows, known)).replace("fc_CANARY", "").replace(
            "msg_CANARY", ""
        )
