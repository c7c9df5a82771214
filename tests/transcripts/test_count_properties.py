"""What holds of every count: tried on histories of all forms that nobody wrote by hand."""

import copy
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoning_replay import HistoryError, MemoryStore, Policy, adopt, prepare
from reasoning_replay.transcripts import counted
from recall_cases import TARGETS, histories, odd_row, unmarked
from strategies import requests_of

settings.register_profile(
    "count", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("count full", settings.get_profile("count"), max_examples=500, derandomize=False)
PROFILE = settings.get_profile("count full" if os.environ.get("REASONING_REPLAY_FULL") == "1" else "count")
FORMS = ("chat", "litellm", "anthropic", "responses", "gemini", "bedrock", "ollama")
SEALS = ("signature", "data", "encrypted_content", "thoughtSignature", "thought_signature", "redactedContent")


def by_words(text):
    return len(text.split())


@st.composite
def cases(draw, form):
    """Messages of a form, and where they go."""
    target = draw(st.sampled_from(TARGETS[form]))
    asked = {
        "form": form,
        "request": draw(st.sampled_from(requests_of(target))),
        "known": MemoryStore(),
        "encode": by_words,
    }
    return draw(histories(form)), {**target.arguments, **asked}


def planned(messages, where):
    return prepare(messages, **{key: value for key, value in where.items() if key != "encode"})


def pieces(found):
    return found.visible, found.reasoning, found.sealed, found.tools, found.overhead


@pytest.mark.parametrize("form", FORMS)
def test_no_piece_is_negative_and_the_messages_are_as_they_were(form):
    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        before = copy.deepcopy(messages)
        assert min(pieces(counted(messages, **where))) >= 0
        assert before == messages

    check()


@pytest.mark.parametrize("form", FORMS)
def test_histories_of_which_the_same_is_sent_count_the_same(form):
    """Own reasoning by its mark and by the caller's word, among others."""

    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        bare = unmarked(messages)
        origin = planned(bare, where).origin
        told = {**where, "policy": Policy(unknown_origin=origin)}
        adopted = adopt(bare, origin, form=form)
        if planned(bare, told).messages == planned(adopted, where).messages:
            same.append(form)
            assert pieces(counted(bare, **told)) == pieces(counted(adopted, **where))

    same = []
    check()
    assert same


@pytest.mark.parametrize("form", FORMS)
def test_what_was_planned_already_counts_as_what_it_was_made_of(form):
    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        plan = planned(messages, where)
        again = counted(plan.messages, **{**where, "known": plan.known, "request": plan.request})
        assert pieces(again)[:4] == pieces(counted(messages, **where))[:4]

    check()


@pytest.mark.parametrize("form", FORMS)
def test_the_length_of_what_is_sealed_changes_nothing(form):
    def longer(value):
        if isinstance(value, list):
            return [longer(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: each + "A" * 4000 if key in SEALS and isinstance(each, str) and each else longer(each)
            for key, each in value.items()
        }

    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        assert pieces(counted(messages, **where)) == pieces(counted(longer(messages), **where))

    check()


@pytest.mark.parametrize("form", ["chat", "litellm", "anthropic", "ollama"])
def test_a_key_that_never_goes_on_the_wire_changes_nothing(form):
    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        noted = [
            {
                **each,
                "provider_specific_fields": {**(each.get("provider_specific_fields") or {}), "note": "one two three"},
            }
            if each.get("role") == "user" and not isinstance(each.get("content"), list)
            else each
            for each in messages
        ]
        assert pieces(counted(messages, **where)) == pieces(counted(noted, **where))

    check()


ANSWERS = {
    "chat": {"role": "assistant", "content": "four more words here"},
    "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "four more words here"}]},
    "responses": {
        "role": "assistant",
        "type": "message",
        "content": [{"type": "output_text", "text": "four more words here"}],
    },
    "gemini": {"role": "model", "parts": [{"text": "four more words here"}]},
    "bedrock": {"role": "assistant", "content": [{"text": "four more words here"}]},
}
ANSWERS |= {"litellm": ANSWERS["chat"], "ollama": ANSWERS["chat"]}


@pytest.mark.parametrize("form", ANSWERS)
def test_a_text_behind_the_last_message_adds_its_words(form):
    @PROFILE
    @given(cases(form))
    def check(case):
        messages, where = case
        policy = Policy(missing="leave")
        before, after = (counted(each, policy=policy, **where) for each in (messages, [*messages, ANSWERS[form]]))
        assert 4 == after.visible - before.visible
        assert after.total > before.total

    check()


def test_what_prepare_takes_counting_takes_however_odd_it_is():
    dice, taken = random.Random(7), 0
    for _ in range(700):
        form = dice.choice(FORMS)
        target = dice.choice(TARGETS[form])
        rows = [odd_row(form, dice) for _ in range(dice.randint(1, 3))]
        where = {
            **target.arguments,
            "form": form,
            "known": MemoryStore(),
            "policy": Policy(unknown_origin="trust"),
            "encode": len,
        }
        try:
            planned(rows, where)
        except (HistoryError, TypeError, AttributeError, KeyError, ValueError):
            continue
        taken += 1
        assert min(pieces(counted(rows, **where))) >= 0
    assert taken > 200
