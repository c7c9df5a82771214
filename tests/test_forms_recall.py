"""A reply's reasoning taken out of what is visible and put back: every form, on histories that nobody wrote by hand.

What a client leaves of a reply, and what it changes without meaning anything, stands in `recall_cases`.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import MemoryStore, adopt, capture, prepare
from reasoning_replay.forms import form_of
from recall_cases import NOTHING, SOMETHING, histories, replies, results, seen
from test_forms_properties import user

FEWER = settings(max_examples=max(settings.default.max_examples // 3, 1))
"""Eleven sentences in seven forms: as long together as one of the other property tests (seconds)."""
FORMS = ["chat", "litellm", "ollama", "anthropic", "responses", "bedrock", "gemini"]


def recall_of(form):
    return form_of(form).recall


def told(form, rows):
    return [(each.reply, each.text) for each in recall_of(form).said(rows)]


def on_the_wire(form, target, reply, calls):
    """What goes to the reply's own host when the tools have answered."""
    rows = [user(form, "go"), *adopt(reply, target.origin, form=form), *results(form, 1, calls)]
    request = {"tools": [{"name": "look"}]}
    plan = prepare(rows, form=form, known=MemoryStore(), request=request, **target.arguments)
    return [json.dumps(row, sort_keys=True) for row in plan.messages]


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_was_lifted_and_laid_into_what_a_client_left_is_the_reply_itself_on_the_wire(form, data):
    target, rows, calls = data.draw(replies(form))
    recall = recall_of(form)
    lifted = recall.lift(rows)
    left = seen(form, rows)
    if lifted is None:
        assert all(each.bare for each in recall.said(rows))
        return
    laid = recall.lay(left, json.loads(json.dumps(lifted)))
    assert on_the_wire(form, target, rows, calls) == on_the_wire(form, target, laid, calls)


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_is_lifted_holds_nothing_visible_and_no_mark(form, data):
    target, rows, _ = data.draw(replies(form))
    captured = capture(rows if form == "responses" else rows[0], target.origin, form=form, known=MemoryStore())
    lifted = recall_of(form).lift(captured if isinstance(captured, list) else [captured])
    assert lifted == recall_of(form).lift(rows)
    told_ = json.dumps(lifted)
    for word in ("answer", "look", "x y", "reasoning_replay", "citations"):
        assert word not in told_


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_clients_change_without_meaning_anything_changes_nothing_that_is_said(form, data):
    rows = data.draw(histories(form))
    changed = copy.deepcopy(rows)
    for name in data.draw(st.lists(st.sampled_from(sorted(NOTHING)), max_size=4)):
        changed = NOTHING[name](form, changed, data.draw)
    assert told(form, rows) == told(form, changed)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", sorted(SOMETHING))
@FEWER
@given(data=st.data())
def test_what_means_something_changes_what_is_said(form, change, data):
    rows = data.draw(histories(form))
    changed = SOMETHING[change](form, copy.deepcopy(rows), data.draw)
    if changed is not None:
        assert told(form, rows) != told(form, changed)


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_a_client_that_dropped_all_reasoning_has_bare_replies_and_rows_follow_each_other(form, data):
    rows = data.draw(histories(form))
    left = seen(form, rows)
    said = recall_of(form).said(left)
    assert all(each.bare for each in said if each.reply)
    assert [each.start for each in said] == [0, *(each.end for each in said[:-1])]
    assert [len(left)] == [each.end for each in said[-1:]]


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_reasoning_that_stands_there_is_never_written_over(form, data):
    _, rows, _ = data.draw(replies(form))
    _, others, _ = data.draw(replies(form))
    recall = recall_of(form)
    lifted = recall.lift(others)
    before = copy.deepcopy(rows)
    if lifted is None or any(each.bare for each in recall.said(rows)):
        return
    assert rows == recall.lay(rows, lifted)
    assert before == rows
