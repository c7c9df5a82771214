"""Errors that quote reasoning: what our own log, reports and errors say of them."""

from __future__ import annotations

import logging

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, capture, prepare
from reasoning_replay._faults import Fault, fail_closed, observers
from reasoning_replay._known import forget_warnings
from reasoning_replay._replay import prepare_safely
from reasoning_replay.transcripts._redact_quotes import SAID, SPAN, Secrets, _as_long_as
from reasoning_replay.transcripts._redact_values import redacted_values

THOUGHT = "CANARY-1 The user wants the weather of Oslo, so I look it up."
REPLY = {"role": "assistant", "content": "3C", "reasoning_content": THOUGHT}


class Refused(Exception):
    """What an SDK raises: it quotes the request."""


@pytest.fixture(autouse=True)
def nothing_told():
    forget_warnings()


@pytest.mark.faulty("a function of the app's fails with a text that quotes reasoning")
@pytest.mark.leaks("the error quotes it on purpose")
def test_a_fault_that_quotes_reasoning_is_told_by_its_type_alone(caplog):
    def quotes(message):
        raise Refused(THOUGHT)

    caplog.set_level(logging.DEBUG)
    faults = []
    token = observers.set((faults.append,))
    try:
        plan = prepare_safely(
            [{"role": "user", "content": "go"}, dict(REPLY)], host="llm.example", policy=Policy(starts_turn=quotes)
        )
    finally:
        observers.reset(token)
    assert [Refused] == [type(fault.error) for fault in faults if isinstance(fault, Fault)]
    assert "Refused inside reasoning-replay" in caplog.text
    assert "CANARY" not in caplog.text
    assert "CANARY" not in f"{plan.report}{plan.report!r}{plan!r}"


@pytest.mark.faulty("something fails on purpose")
@pytest.mark.leaks("the error quotes it on purpose")
def test_nor_does_a_traceback_of_ours_show_it(caplog):
    def fails():
        raise Refused(f"400: {THOUGHT!r} is invalid") from KeyError(THOUGHT)

    assert 1 == fail_closed("llm.example", fails, lambda: 1)
    assert [None] == [record.exc_info for record in caplog.records if record.levelno >= logging.WARNING]
    assert "CANARY" not in caplog.text


@pytest.mark.leaks("the error quotes it on purpose")
@pytest.mark.parametrize(
    "quoted", [THOUGHT, THOUGHT[:40], THOUGHT[10:50], repr(THOUGHT), THOUGHT.replace("so", "so\n")[:45]]
)
def test_an_error_in_a_log_or_trace_keeps_its_type_and_loses_what_it_quotes(quoted):
    error = Refused(f"400 messages[1]: '{quoted}' is not allowed", {"code": 400})
    error.__cause__ = KeyError(quoted)
    error.request = object()
    (shown, _) = redacted_values(error, {"messages": [REPLY]})
    assert type(shown) is Refused
    assert not any(THOUGHT[at : at + SPAN] in f"{shown!r}{shown.__cause__!r}" for at in range(len(THOUGHT) - SPAN))
    assert {"code": 400} == shown.args[1]
    assert "400 messages[1]:" in str(shown)
    assert error.args[0].startswith("400 messages[1]: '")  # the caller's is whole


def test_an_error_that_quotes_nothing_is_the_very_same_one():
    error = Refused("429: too many requests")
    assert error is redacted_values(error, {"messages": [REPLY]})[0]


def test_a_turn_of_phrase_is_no_quotation():
    secrets = Secrets([THOUGHT])
    assert "The user wants the same" == secrets.without("The user wants the same")
    assert SAID in secrets.without(f'{{"x": "{THOUGHT[8:40]}"}}')


@pytest.mark.parametrize("pad", range(30))
def test_a_quotation_ends_where_the_secret_ends_not_at_its_own_quotation_marks(pad):
    thought = f"The user{'x' * pad} told me that it's opened by 'PIN4711' or `PIN4712`, and nobody else's ever to know."
    for whole in (thought, thought[3:], thought[:-7], repr(thought)):
        shown = Secrets([thought]).without(f'400: "messages[1]": {whole} "is refused"')
        assert shown.startswith('400: "messages[1]"')
        assert shown.endswith('"is refused"')
        assert not any(word in shown for word in ("PIN", "opened", "nobody", "user"))


def test_how_long_two_texts_are_the_same():
    text = "abcdefghijk"
    for size in range(len(text) + 1):
        assert size == _as_long_as(text, 0, f"-{text[:size]}!", 1)
        assert size == _as_long_as(text[:size], 0, text, 0)


def test_secrets_that_are_added_are_looked_for_too():
    secrets = Secrets()
    assert not secrets
    for text in (THOUGHT, "PIN 4711-22"):
        assert secrets.without(text) == text
        secrets.add([text])
        assert SAID == secrets.without(text)


def test_what_is_captured_and_refused_shows_no_text():
    message = capture(dict(REPLY), Origin("api.deepseek.com", model="deepseek-v4-pro"), known=MemoryStore())
    with pytest.raises(ValueError, match="allowed") as told:
        prepare([message, {"role": "assistant", "reasoning_content": [THOUGHT]}], host="llm.example")
    assert "CANARY" not in f"{told.value}{told.value!r}"


def test_messages_out_of_a_log_are_refused_as_a_history():
    message = capture(dict(REPLY), Origin("api.deepseek.com", model="deepseek-v4-pro"), known=MemoryStore())
    (logged,) = redacted_values({"messages": [message]})
    assert {"id": "redacted", "v": 1} == logged["messages"][0]["provider_specific_fields"]["reasoning_replay"]
    with pytest.raises(ValueError, match="is redacted"):
        prepare(logged["messages"], host="api.deepseek.com", model="deepseek-v4-pro")
