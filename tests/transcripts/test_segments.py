"""Segments: what stands before the first turn, each completed turn, the running one; in every form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_forms_properties as native
import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import HistoryError, Policy
from reasoning_replay.forms import form_of
from reasoning_replay.forms._turns import all_starts, last_start
from reasoning_replay.transcripts import Segment, segments
from strategies import chat_histories, claude_histories

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def chat(role, content="x", **more):
    return {"role": role, "content": content, **more}


def calls(*names):
    made = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    return chat("assistant", "", tool_calls=made)


def result(name):
    return chat("tool", tool_call_id=name)


def lc(kind, content="x", **more):
    more.setdefault("additional_kwargs", {})
    if kind == "ai":
        more = {"tool_calls": [], "invalid_tool_calls": [], "response_metadata": {}, "id": None, **more}
    return {"type": kind, "content": content, **more}


def kinds(found):
    return [(part.kind, part.start, part.end) for part in found]


LOOP = [calls("a", "b"), result("a"), result("b"), chat("assistant")]
CHAT = [chat("system"), chat("developer"), chat("user"), *LOOP, chat("user"), calls("c"), result("c")]
TABLE = {
    "chat": (CHAT, [2, 7, 10]),
    "litellm": (CHAT, [2, 7, 10]),
    "ollama": ([row for row in CHAT if row["role"] != "developer"], [1, 6, 9]),
    "anthropic": (
        [
            chat("user"),
            chat("assistant", [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]),
            chat("user", [{"type": "tool_result", "tool_use_id": "a", "content": "1"}, {"type": "text", "text": "!"}]),
            chat("assistant", "done"),
            chat("user", [{"type": "text", "text": "and"}]),
        ],
        [0, 4, 5],
    ),
    "responses": (
        [
            chat("system"),
            chat("user"),
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "id": "fc_1"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            chat("assistant", [{"type": "output_text", "text": "done"}]),
            chat("user", "and"),
        ],
        [1, 6, 7],
    ),
    "gemini": (
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
            {"role": "model", "parts": [{"text": "done"}]},
            {"role": "user", "parts": [{"text": "and"}]},
        ],
        [0, 4, 5],
    ),
    "bedrock": (
        [
            chat("user", [{"text": "q"}]),
            chat("assistant", [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]),
            chat("user", [{"toolResult": {"toolUseId": "a", "content": [{"text": "1"}]}}]),
            chat("assistant", [{"text": "done"}]),
            chat("user", [{"text": "and"}]),
        ],
        [0, 4, 5],
    ),
    "langchain": (
        [
            lc("system"),
            lc("human"),
            lc("ai", "", tool_calls=[{"name": "f", "args": {}, "id": "a"}]),
            lc("tool", tool_call_id="a"),
            lc("ai"),
            lc("human", additional_kwargs={"turn": False}),
            lc("human"),
        ],
        [1, 6, 7],
    ),
}


@pytest.mark.parametrize("form", list(TABLE))
def test_a_history_falls_into_head_turns_and_the_running_turn(form):
    messages, (head, active, end) = TABLE[form]
    expected = [("head", 0, head)] * (head > 0) + [("turn", head, active), ("active", active, end)]
    assert expected == kinds(segments(messages, form=form))


def test_whatever_stands_before_the_first_turn_is_the_head():
    assert [("head", 0, 2), ("active", 2, 3)] == kinds(segments([chat("system"), chat("assistant"), chat("user")]))


def test_a_note_starts_no_turn_and_a_marked_result_does():
    messages = [chat("user"), calls("a"), result("a"), chat("user", turn=False), chat("assistant")]
    assert [("active", 0, 5)] == kinds(segments(messages))
    messages[2]["turn"] = True
    assert [("turn", 0, 2), ("active", 2, 5)] == kinds(segments(messages))


def test_a_picture_behind_a_result_starts_no_turn_and_one_behind_an_answer_does():
    behind = [chat("user"), calls("a"), result("a"), chat("user", [PICTURE]), chat("assistant")]
    assert [("active", 0, 5)] == kinds(segments(behind))
    assert [("turn", 0, 5), ("active", 5, 6)] == kinds(segments([*behind, chat("user", [PICTURE])]))


def test_the_policys_function_is_asked():
    policy = Policy(starts_turn=lambda message: False if message["content"] == "note" else None)
    messages = [chat("user"), chat("assistant"), chat("user", "note"), chat("assistant")]
    assert [("active", 0, 4)] == kinds(segments(messages, policy=policy))


def test_where_nobody_starts_a_turn_all_behind_the_system_is_the_running_one():
    assert [("head", 0, 1), ("active", 1, 2)] == kinds(segments([chat("system"), chat("assistant")]))
    assert [("head", 0, 1)] == kinds(segments([chat("system")]))
    assert [] == segments([])


def test_the_dialects_own_form_is_taken_and_a_text_is_a_users():
    assert [Segment(0, 1, "active")] == segments("hello", dialect="responses")


def test_what_cannot_be_read_is_named():
    with pytest.raises(HistoryError, match=r"messages\[1\]\.role: 'bot'"):
        segments([chat("user"), chat("bot")])


histories = st.one_of(
    chat_histories().map(lambda history: ("chat", history.messages)),
    claude_histories().map(lambda history: ("anthropic", history.messages)),
    *(native.histories(form).map(lambda history, form=form: (form, history.messages)) for form in native.TARGETS),
)
ASKS = st.sampled_from([None, lambda message: None, lambda message: False if "3" in str(message) else None])


@given(histories, ASKS)
def test_every_start_that_is_found_on_the_way_is_the_last_one_of_the_history_up_to_it(history, starts_turn):
    name, messages = history
    turns = form_of(name).turns

    def stated(index, message):
        return turns.stated(index, message, starts_turn)

    found = all_starts(messages, turns, starts_turn)
    alone = [row for row in range(1, len(messages)) if last_start(messages[: row + 1], turns, stated) == row]
    assert alone == [row for row in found if row > 0]
    assert last_start(messages, turns, stated) == (found[-1] if found else 0)


@given(histories)
def test_segments_are_all_of_the_history_and_the_last_is_the_running_turn(history):
    name, messages = history
    found = segments(messages, form=name)
    assert [0, *(part.end for part in found)] == [*(part.start for part in found), len(messages)]
    assert all(part.start < part.end for part in found)
    assert ["active"] == [part.kind for part in found[-1:]]
    assert {"turn"} >= {part.kind for part in found[1:-1]}


@pytest.mark.parametrize("find", [last_start, all_starts])
def test_a_long_run_of_pictures_is_looked_at_once(find):
    form, looks = form_of("chat"), []
    turns = form.turns._replace(is_quiet=lambda message: looks.append(1) or form.turns.is_quiet(message))
    messages = [chat("user"), calls("a"), result("a"), *([chat("user", [PICTURE])] * 1000)]
    find(messages, turns)
    assert len(looks) <= 3 * len(messages)
