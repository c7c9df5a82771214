"""`redact`: copies for people. No reasoning in them, a note of what there was, and no request can be made of them."""

from __future__ import annotations

import base64
import copy
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import HistoryError, MemoryStore, Origin, adopt, capture, prepare
from reasoning_replay._origin import from_mark
from reasoning_replay._replay import prepare_safely
from reasoning_replay.forms import digest, form_of
from reasoning_replay.litellm._sealed_marks import Sealer, opened
from reasoning_replay.transcripts import readable, redact
from redact_cases import CASES, DIALECTS, HISTORIES
from strategies import as_bytes

DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
NOTE = "reasoning_redacted"


def holds(value, words):
    raw = as_bytes(value)
    return [word for word in words if word.encode() in raw or base64.b64encode(word.encode())[2:-4] in raw]


def roles(messages):
    return [(row.get("role"), row.get("type")) for row in messages]


@pytest.mark.parametrize("form", HISTORIES)
@given(data=st.data())
def test_a_redacted_history_holds_no_word_of_reasoning_and_says_all_else(form, data):
    history = data.draw(HISTORIES[form])
    before = copy.deepcopy(history.messages)
    shown = redact(history.messages, form=form, dialect=DIALECTS[form])
    assert [] == holds(shown, history.owners)
    assert before == history.messages
    assert roles(history.messages) == roles(shown)
    for row, left in zip(history.messages, shown, strict=True):
        assert readable(row, form=form, dialect=DIALECTS[form]) == readable(left, form=form, dialect=DIALECTS[form])


@pytest.mark.parametrize("form", HISTORIES)
@given(data=st.data())
def test_what_was_redacted_is_refused_and_what_had_no_reasoning_is_the_very_same_list(form, data):
    history = data.draw(HISTORIES[form])
    shown = redact(history.messages, form=form, dialect=DIALECTS[form])
    parts = [shape.parts for shape in form_of(form).view(history.messages, None).rows]
    if any(parts):
        first = next(index for index, each in enumerate(parts) if each)
        with pytest.raises(HistoryError, match=rf"messages\[{first}\]: its reasoning is redacted; load the whole"):
            prepare(shown, host="llm.example", form=form, dialect=DIALECTS[form], known=MemoryStore())
        with pytest.raises(HistoryError, match=r"is redacted"):
            adopt(shown, DEEPSEEK, form=form)
    assert redact(shown, form=form, dialect=DIALECTS[form]) is shown


@pytest.mark.parametrize("form", HISTORIES)
@given(data=st.data())
def test_row_by_row_is_the_same_as_all_at_once(form, data):
    history = data.draw(HISTORIES[form])
    whole = redact(history.messages, form=form, dialect=DIALECTS[form])
    rows = [redact([row], form=form, dialect=DIALECTS[form])[0] for row in history.messages]
    assert whole == rows


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_recorded_reply_loses_all_that_only_its_host_may_see(case):
    rows = case.message if isinstance(case.message, list) else [case.message]
    shown = redact(rows, dialect=case.dialect)
    assert "CANARY" not in json.dumps(shown, default=lambda value: base64.b64decode(base64.b64encode(value)).decode())
    assert str(rows).count("SHOWN") <= str(shown).count("SHOWN") + sum("CANARY" in str(row) for row in rows)


def told(message):
    return message["provider_specific_fields"]


def test_the_note_says_field_bytes_and_the_digest_of_the_store():
    store = MemoryStore()
    reply = {"role": "assistant", "content": "Hi.", "reasoning_content": "Thöught."}
    shown = redact([capture(reply, DEEPSEEK, known=store)])
    note = {"field": "reasoning_content", "bytes": 9, "digest": digest("Thöught.").hex()}
    assert {"reasoning_replay": {"id": "redacted", "v": 1}, NOTE: [note]} == told(shown[0])
    assert [DEEPSEEK] == list(store.origins(bytes.fromhex(note["digest"])))


def test_a_message_that_held_nothing_else_stays_empty():
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "reasoning": "CANARY"}]
    shown = redact(messages)
    assert messages[0] is shown[0]
    assert {"role": "assistant", "content": ""} == {key: shown[1][key] for key in ("role", "content")}


def test_a_library_that_does_not_know_the_word_takes_the_mark_for_a_broken_one():
    shown = redact([{"role": "assistant", "content": "Hi.", "reasoning": "CANARY"}])
    assert from_mark(told(shown[0])["reasoning_replay"]) is None


def test_a_copy_beside_the_message_goes_too_and_what_is_said_stays():
    text = "I think that the user wants the weather of Oslo."
    sealed = base64.b64encode(text.encode()).decode()
    message = {
        "role": "assistant",
        "content": f"{text} So I say it.",
        "reasoning_content": text,
        "raw": json.dumps({"choices": [{"message": {"reasoning_content": text}}]}),
        "usage": {"note": text[:30], "copy": sealed, "total": 7},
        "refusal": None,
    }
    shown = redact([message])[0]
    assert f"{text} So I say it." == shown["content"]
    rest = json.dumps({key: value for key, value in shown.items() if key != "content"})
    assert text[:25] not in rest
    assert sealed not in rest
    assert 7 == shown["usage"]["total"]


def test_what_a_tool_is_called_with_is_no_reasoning_whatever_its_name():
    arguments = {"reasoning": "because", "thinking": "so"}
    call = {"id": "1", "type": "function", "function": {"name": "think", "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "reasoning": "CANARY", "tool_calls": [call]}
    assert [call] == redact([message])[0]["tool_calls"]
    block = {"type": "tool_use", "id": "1", "name": "think", "input": arguments}
    blocks = [{"role": "assistant", "content": [{"type": "thinking", "thinking": "CANARY", "signature": "s"}, block]}]
    assert [block] == redact(blocks, dialect="anthropic")[0]["content"]


@pytest.mark.faulty("a redacted history in an integration")
def test_an_integration_sends_it_without_any_reasoning_and_says_so_once(caplog):
    whole = [
        {"role": "user", "content": "go"},
        capture({"role": "assistant", "content": "a", "reasoning": "R1"}, DEEPSEEK),
    ]
    mixed = [*redact(whole), {"role": "user", "content": "on"}, whole[1]]
    for _ in range(2):
        plan = prepare_safely(mixed, host="https://api.deepseek.com", model="deepseek-v4-pro")
        assert "R1" not in str(plan.messages)
        assert "redacted" not in str(plan.messages)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert 1 == len(lines)
    assert "HistoryError inside reasoning-replay; the call goes on without any reasoning" in lines[0]


@pytest.mark.parametrize("form", ["litellm", "anthropic", "responses"])
def test_the_proxy_refuses_it_too(form):
    rows = {
        "litellm": [{"role": "assistant", "content": "a", "reasoning": "CANARY"}],
        "anthropic": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "CANARY", "signature": "s"}]}],
        "responses": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "CANARY"}],
    }[form]
    came = opened(redact(rows, form=form), form, Sealer(b"secret"))
    with pytest.raises(HistoryError, match="is redacted"):
        prepare(came, host="llm.example", form=form)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ("hello", "messages: a str; allowed: a list of messages"),
        ([{"role": "robot"}], r"messages\[0\].role: 'robot'; allowed: system"),
        ([{"role": "assistant", "reasoning": 5}], r"messages\[0\].reasoning: a int; allowed: a string or null"),
    ],
)
def test_what_cannot_be_read_is_told(messages, words):
    with pytest.raises(HistoryError, match=words):
        redact(messages)


def test_ten_thousand_messages_do_not_take_the_square_of_it():
    """Counted, not timed: every row is looked at once, and no secret is looked for in another row."""
    reply = {"role": "assistant", "content": "a", "reasoning": "I think of it. ", "meta": {"trace": "x" * 40}}
    rows = [{**reply, "reasoning": f"{reply['reasoning']}{number}"} for number in range(10_000)]
    shown = redact(rows)
    assert 10_000 == len(shown)
    assert {"redacted"} == {told(row)["reasoning_replay"]["id"] for row in shown}
