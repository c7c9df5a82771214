"""A redacted transcript holds no word of any reasoning, in no coding; it says what it is, and is not replayed."""

from __future__ import annotations

import base64
import copy
import io
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_forms_properties as native
import test_invariants  # noqa: F401 - its profile of hypothesis
from native_cases import ALL, CASES, USERS
from reasoning_replay import HistoryError, MemoryStore, Origin, capture, prepare
from reasoning_replay.transcripts import TranscriptError, TranscriptWriter, dump_jsonl, load_jsonl, redact
from strategies import chat_histories, claude_histories

HISTORIES = {
    "chat": chat_histories(turns=2),
    "litellm": chat_histories(turns=2, form="litellm"),
    "anthropic": claude_histories(turns=2),
    **{dialect: native.histories(dialect) for dialect in native.TARGETS},
}


def exported(messages, **options):
    file = io.BytesIO()
    dump_jsonl(messages, file, redacted=True, **options)
    return file.getvalue()


def codings(word):
    """A word's bytes as they may stand in a file: plain, UTF-16, and inside base64 at each of three places."""
    raw = word.encode()
    yield raw
    yield word.encode("utf-16-le")
    yield word.encode("utf-16-be")
    for text in (raw, word.encode("utf-16-le")):
        for shift in range(3):
            coded = base64.b64encode(b"\0" * shift + text)
            yield coded[4 if shift else 0 : -4]
            yield base64.urlsafe_b64encode(b"\0" * shift + text)[4 if shift else 0 : -4]


def found_in(raw, words):
    return [word for word in words if any(each in raw for each in codings(word))]


def test_the_search_finds_a_word_in_every_coding():
    word = "CANARY-007;"
    for coded in (
        word.encode(),
        word.encode("utf-16-le"),
        *(base64.b64encode(b"x" * n + word.encode() + b"yz") for n in range(4)),
    ):
        assert [word] == found_in(b"a" + coded + b"b", [word])
    assert [] == found_in(b"CANARY-008;", [word])


@pytest.mark.parametrize("form", HISTORIES)
@pytest.mark.parametrize("said", [True, False])
@settings(max_examples=20)
@given(data=st.data())
def test_an_export_of_any_history_holds_no_word_of_reasoning_and_is_refused(form, said, data):
    history = data.draw(HISTORIES[form])
    before = copy.deepcopy(history.messages)
    raw = exported(history.messages, form=form if said else None)
    assert [] == found_in(raw, history.owners)
    assert before == history.messages
    read = load_jsonl(io.BytesIO(raw))
    assert read.redacted
    back = list(read)
    assert len(before) == len(back)
    changed = redact(before, form=form) is not before
    if changed:
        with pytest.raises(HistoryError, match="redact"):
            prepare(
                back,
                host="api.example",
                form=read.form,
                dialect="chat" if form in ("chat", "litellm") else form,
                known=MemoryStore(),
            )


@pytest.mark.parametrize(("dialect", "name"), ALL)
def test_an_export_of_a_vendors_reply_holds_nothing_that_only_its_host_may_see(dialect, name):
    case = CASES[dialect][name]
    said = capture(case.reply, Origin("api.example", dialect=dialect), known=MemoryStore())
    messages = [USERS[dialect], *(said if isinstance(said, list) else [said]), *case.answers]
    raw = exported(messages, form=dialect)
    assert [] == found_in(raw, ["CANARY", "Q0FOQVJZ"])
    assert (b"SHOWN" in raw) == ("SHOWN" in repr(messages))


@pytest.mark.skipif(find_spec("langchain_core") is None, reason="LangChain is not installed")
def test_an_export_of_every_shape_of_langchains_holds_nothing_that_only_its_host_may_see():
    import test_langchain_form as shapes

    for shape in shapes.SHAPES:
        for origin in (None, shapes.own(shape)):
            raw = exported(shapes.history(shape, origin))
            assert [] == found_in(raw, ["CANARY"]), shape
            read = load_jsonl(io.BytesIO(raw))
            back = list(read)
            assert [type(each) for each in shapes.history(shape)] == [type(each) for each in back]
            with pytest.raises(HistoryError, match="redact"):
                prepare(back, form="langchain", host="api.example", known=MemoryStore())


def test_a_writer_redacts_message_by_message_and_a_file_is_redacted_all_through_or_not_at_all(tmp_path):
    path = tmp_path / "x.jsonl"
    reply = {"role": "assistant", "content": "a", "reasoning_content": "CANARY-001;"}
    with TranscriptWriter(path, redacted=True, form="chat") as out:
        out.append({"role": "user", "content": "q"}, reply)
        out.extend([reply])
    with pytest.raises(TranscriptError, match="the transcript has redacted=True, and redacted=False was asked for"):
        TranscriptWriter(path)
    with TranscriptWriter(path, redacted=True) as out:
        out.append(reply)
    assert [] == found_in(path.read_bytes(), ["CANARY-001;"])
    assert load_jsonl(path).redacted
    assert [*redact([{"role": "user", "content": "q"}, reply, reply, reply])] == list(load_jsonl(path))


CLAUDE = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "CANARY-001;", "signature": "CANARY-002;"},
        {"type": "text", "text": "x"},
    ],
}


def test_a_message_in_another_form_than_those_before_is_refused_and_not_exported():
    plain = [{"role": "user", "content": "q"}] * 1500
    with pytest.raises(
        TranscriptError, match=r"messages\[1500\]: is written in the form 'anthropic', and what stands before it looked"
    ):
        exported([*plain, CLAUDE])
    assert [] == found_in(exported([*plain, CLAUDE], form="anthropic"), ["CANARY-001;", "CANARY-002;"])


def test_a_writer_that_was_not_told_the_form_sees_it_in_each_message(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path, redacted=True) as out:
        out.append({"role": "user", "content": "q"})
        out.append(CLAUDE)
    assert [] == found_in(path.read_bytes(), ["CANARY-001;", "CANARY-002;"])


def test_what_nobody_can_read_is_not_exported():
    with pytest.raises(
        TranscriptError, match=r"messages\[0\]: nothing tells how it is written, so it cannot be redacted; say form="
    ):
        exported([{"thought": "CANARY-001;"}])
