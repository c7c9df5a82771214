"""A redacted copy holds no reasoning whatever form was named, and none between tags wherever they stand."""

from __future__ import annotations

import copy
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import HistoryError, Origin, adopt, prepare
from reasoning_replay.forms import digest, form_of
from reasoning_replay.forms._inline import untagged
from reasoning_replay.forms._langchain_blocks import is_item_id
from reasoning_replay.transcripts import dump_jsonl, readable, redact
from reasoning_replay.transcripts._redact_values import redacted_values
from redact_cases import CASES, DIALECTS, HISTORIES
from strategies import as_bytes

WORD = "CANARY-thought of the model"
SEAL = "CANARY-seal-of-its-host"
NOTE = "reasoning_redacted"
OF_ANOTHER = {
    "Converse": [{"reasoningContent": {"reasoningText": {"text": WORD, "signature": SEAL}}}, {"text": "x"}],
    "Claude": [{"type": "thinking", "thinking": WORD, "signature": SEAL}, {"type": "text", "text": "x"}],
    "Claude, redacted": [{"type": "redacted_thinking", "data": SEAL}, {"type": "text", "text": "x"}],
    "Gemini": [{"text": WORD, "thought": True}, {"text": "x", "thoughtSignature": SEAL}],
    "a result": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "thinking", "thinking": WORD}]}],
    "a search": [{"type": "web_search_result", "title": "x", "encrypted_content": SEAL}],
    "a quotation": [{"type": "text", "text": "x", "citations": [{"encrypted_index": SEAL, "title": "x"}]}],
    "a value of v1": [{"type": "non_standard", "value": {"type": "redacted_thinking", "data": SEAL}}, {"text": "x"}],
}
"""Where it stands → a content."""
READS_LISTS = ["chat", "litellm", "anthropic", "ollama", "responses", "bedrock"]
"""Forms that take such a message without an error, whoever wrote it."""


def without_names(value):
    """The rows without the ids of items, which name reasoning and hold none; their own form alone knows them."""
    return [{key: each for key, each in row.items() if key != "id" or not is_item_id(each)} for row in value]


def words_in(value, words=("CANARY",)):
    raw = as_bytes(value)
    return [word for word in words if word.encode() in raw]


@pytest.mark.parametrize("named", HISTORIES)
@pytest.mark.parametrize("form", HISTORIES)
@given(data=st.data())
def test_a_history_that_is_called_by_another_forms_name_loses_all_or_is_refused(form, named, data):
    history = data.draw(HISTORIES[form])
    before = copy.deepcopy(history.messages)
    try:
        shown = redact(history.messages, form=named, dialect=DIALECTS[named])
    except HistoryError:
        return
    assert [] == words_in(without_names(shown), history.owners)
    assert before == history.messages
    assert len(before) == len(shown)
    assert redact(shown, form=named, dialect=DIALECTS[named]) is shown


@pytest.mark.parametrize("named", DIALECTS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nor_does_a_recorded_reply_keep_any(case, named):
    rows = case.message if isinstance(case.message, list) else [case.message]
    try:
        shown = redact(rows, form=named)
    except HistoryError:
        return
    assert [] == words_in(without_names(shown))


@pytest.mark.parametrize("named", READS_LISTS)
@pytest.mark.parametrize("content", OF_ANOTHER.values(), ids=OF_ANOTHER)
def test_a_message_of_another_form_is_redacted_and_refused_as_one_of_its_own(content, named):
    rows = [{"role": "user", "content": [{"text": "q", "type": "text"}]}, {"role": "assistant", "content": content}]
    if named == "bedrock" and (content[0].get("thought") or str(content[0].get("type")).endswith("thinking")):
        with pytest.raises(HistoryError, match=r"messages\[1\].content\[0\]: reasoning as another form writes it; say"):
            redact(rows, form=named)
        return
    shown = redact(rows, form=named)
    assert [] == words_in(shown)
    assert "x" in json.dumps(shown[1]["content"]) or "tool_result" in json.dumps(content)
    assert rows[0] is shown[0]
    known = form_of(named).view(rows, None).rows[1].parts
    for form in (named,) if known else (named, "chat", "bedrock"):
        with pytest.raises(HistoryError, match=r"messages\[1\]: its reasoning is redacted"):
            prepare(shown, host="llm.example", form=form)
    file = io.BytesIO()
    dump_jsonl(rows, file, form=named, redacted=True)
    assert b"CANARY" not in file.getvalue()


def test_the_note_says_what_was_there_and_under_which_word():
    shown = redact([{"role": "assistant", "content": OF_ANOTHER["Converse"]}], form="ollama")[0]
    texts = {WORD, SEAL}
    notes = [{"field": "reasoningContent", "bytes": len(text), "digest": digest(text).hex()} for text in (WORD, SEAL)]
    assert notes == sorted(shown["provider_specific_fields"][NOTE], key=lambda note: note["bytes"], reverse=True)
    assert [{"text": "x"}] == shown["content"]
    assert not texts.intersection(map(str, shown.values()))


def test_what_a_user_a_tool_and_an_app_say_stays():
    mine = "What does <think> do? And </think>?"
    result = {"toolUseId": "t", "content": [{"json": {"reasoning": "of the app", "signature": "hers"}}]}
    call = {"toolUse": {"toolUseId": "t", "name": "look", "input": {"thinking": "so", "signature": "s"}}}
    converse = [
        {"role": "user", "content": [{"text": mine}]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    chat = [
        {"role": "system", "content": mine},
        {"role": "user", "content": [{"type": "text", "text": mine}]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"reasoning": mine})},
    ]
    assert redact(converse, form="bedrock") is converse
    assert redact(chat) is chat
    assert mine == readable(chat[1])
    assert mine == readable(converse[0], form="bedrock")


TAGGED = {
    "in front": (f"<think>{WORD}</think>hi", "hi"),
    "in front, with white space": (f"\n<think>\n{WORD}\n</think>\n\nhi", "hi"),
    "a second one": (f"<think>{WORD}</think>hi <think>{WORD}2</think>x", "hi x"),
    "behind the answer": (f"hi <thinking>{WORD}</thinking>", "hi "),
    "never closed": (f"hi <think>{WORD}", "hi "),
    "opened by the template": (f"{WORD}</think>\n\nhi", "hi"),
    "closed twice": (f"<think>a</think>{WORD}</think>hi", "hi"),
    "with a budget": (f"<budget:thinking>{WORD}</budget:thinking>hi", "hi"),
    "that speaks of its tag": (f"<think>I close with `</think>`. {WORD}</think>hi", "hi"),
}
"""Where the tags stand → a text, and what is said in it."""
SHAPED = {
    "chat": ("chat", lambda text: {"role": "assistant", "content": text}, "content"),
    "chat, parts": ("chat", lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, "content"),
    "litellm": ("litellm", lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, "content"),
    "claude": ("anthropic", lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, "content"),
    "claude, text": ("anthropic", lambda text: {"role": "assistant", "content": text}, "content"),
    "ollama": ("ollama", lambda text: {"role": "assistant", "content": text}, "content"),
    "converse": ("bedrock", lambda text: {"role": "assistant", "content": [{"text": text}]}, "content"),
    "gemini": ("gemini", lambda text: {"role": "model", "parts": [{"text": text}]}, "parts"),
    "responses": (
        "responses",
        lambda text: {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        "content",
    ),
}
"""Form, and a reply in it with that text under the key."""


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize(("form", "made", "key"), SHAPED.values(), ids=SHAPED)
@pytest.mark.parametrize(("text", "said"), TAGGED.values(), ids=TAGGED)
def test_thinking_between_tags_goes_wherever_they_stand_and_the_answer_stays(text, said, form, made, key, marked):
    rows = [made(text)]
    if marked:
        rows = adopt(rows, Origin("h.example", model="m", dialect=DIALECTS[form]), form=form)
    before = copy.deepcopy(rows)
    shown = redact(rows, form=form)
    assert [] == words_in(shown)
    assert made(said)[key] == shown[0][key]
    assert before == rows
    assert said == readable(rows[0], form=form)
    assert said == readable(shown[0], form=form)
    assert WORD in readable(rows[0], form=form, reasoning=True)
    assert "CANARY" not in readable(shown[0], form=form, reasoning=True)
    assert "[redacted reasoning, " in readable(shown[0], form=form, reasoning=True)
    assert redact(shown, form=form) is shown
    with pytest.raises(HistoryError, match="is redacted"):
        prepare(shown, host="llm.example", form=form)


@pytest.mark.parametrize("text", ["It ends with `</think>`.", "Write `<think>` first.", "I think.", "a < think > b"])
def test_a_reply_that_speaks_of_tags_is_a_reply(text):
    rows = [{"role": "assistant", "content": text}]
    assert redact(rows) is rows
    assert text == readable(rows[0])


def test_empty_tags_hold_nothing():
    rows = [{"role": "assistant", "content": [{"type": "text", "text": "a <think>\n\n</think>b"}]}]
    assert redact(rows) is rows
    assert "a \n\nb" != readable(rows[0])
    assert "a b" == readable(rows[0])


@pytest.mark.parametrize("where", TAGGED)
def test_a_log_has_a_word_in_place_of_each_and_keeps_what_is_said(where):
    text, said = TAGGED[where]
    (told,) = redacted_values({"choices": [{"message": {"role": "assistant", "content": text}}]})
    content = told["choices"][0]["message"]["content"]
    assert "CANARY" not in content
    assert {"a second one": 2, "closed twice": 2}.get(where, 1) == content.count("[redacted: ")
    assert said == untagged(content)
    assert (told,) == redacted_values(told)


def test_ten_thousand_messages_of_another_form_are_looked_at_once_each(monkeypatch):
    """Counted, not timed."""
    from reasoning_replay.transcripts import _redact_said

    looked = []
    within = _redact_said.Taken.within
    monkeypatch.setattr(_redact_said.Taken, "within", lambda self, row: looked.append(1) or within(self, row))
    counts = []
    for many in (1_000, 10_000):
        rows = [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": f"{WORD} {number}"}, {"text": "x"}]}
            for number in range(many)
        ]
        looked.clear()
        assert [] == words_in(redact(rows, form="ollama"))
        counts.append(len(looked))
    assert 10 * counts[0] == counts[1]
    assert counts[1] <= 2 * 10_000
