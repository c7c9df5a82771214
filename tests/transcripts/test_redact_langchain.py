"""`redact` and `readable` of LangChain's messages: objects of the same class, dumps, and what stands beside."""

from __future__ import annotations

import base64
import copy
import json

import pytest

lc = pytest.importorskip("langchain_core.messages")

from langchain_core.load import dumps

from reasoning_replay import HistoryError, MemoryStore, prepare
from reasoning_replay.transcripts import readable, redact
from test_langchain_form import SHAPES, history, own

WORD = "CANARY"


def held(value):
    """Whether the word is anywhere in a value, as it is or in base64."""
    return WORD in repr(value) or base64.b64encode(WORD.encode())[:6].decode() in repr(value)


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_loses_all_that_only_its_host_may_see(shape, marked):
    messages = history(shape, own(shape) if marked else None)
    before = repr(messages)
    shown = redact(messages, form="langchain")
    assert not held(shown)
    assert not held([each.model_dump() for each in shown])
    assert not held(dumps(shown))
    assert before == repr(messages)
    assert [type(each) for each in messages] == [type(each) for each in shown]
    assert messages[0] is shown[0]
    assert messages[2] is shown[2]
    assert messages[1].text == shown[1].text
    assert messages[1].tool_calls == shown[1].tool_calls
    assert shown[1].additional_kwargs["reasoning_redacted"]
    with pytest.raises(HistoryError, match=r"messages\[1\]: its reasoning is redacted"):
        prepare(shown, host="llm.example", form="langchain", known=MemoryStore())
    assert redact(shown, form="langchain") is shown


@pytest.mark.parametrize("shape", SHAPES)
def test_a_dump_is_redacted_as_the_object_is(shape):
    messages = history(shape)
    rows = lc.messages_to_dict(messages)
    shown = redact(copy.deepcopy(rows), form="langchain")
    assert not held(shown)
    assert [row["type"] for row in rows] == [row["type"] for row in shown]
    with pytest.raises(HistoryError, match="is redacted"):
        prepare(lc.messages_from_dict(shown), host="llm.example", form="langchain", known=MemoryStore())


@pytest.mark.parametrize("shape", SHAPES)
def test_what_it_says_is_read_and_what_it_thought_apart(shape):
    message = history(shape)[1]
    said, thought = readable(message, form="langchain"), readable(message, form="langchain", reasoning=True)
    assert "hi\n[calls look(" in f"{message.text}\n{said}".replace("\n\n", "\n") or "[calls look(" in said
    assert WORD not in said
    assert thought.count("\n") + 1 == len(thought.splitlines())
    assert thought != ""


def test_what_a_class_leaves_in_the_metadata_goes_too():
    thought = "The user means the weather of Oslo, I think."
    told = {
        "message": {"role": "assistant", "content": "hi", "thinking": thought},
        "raw": f"data: {thought[:30]}",
        "n": 3,
    }
    kwargs = {"reasoning_content": thought, "parsed": {"x": 1}}
    message = lc.AIMessage("hi", additional_kwargs=kwargs, response_metadata=told, usage_metadata=None)
    shown = redact([message], form="langchain")[0]
    assert thought[:25] not in repr(shown)
    assert {"x": 1} == shown.additional_kwargs["parsed"]
    assert 3 == shown.response_metadata["n"]
    assert "hi" == shown.response_metadata["message"]["content"]


def test_a_chunk_stays_a_chunk_and_chunks_still_add_up():
    pieces = [lc.AIMessageChunk("", additional_kwargs={"reasoning_content": WORD}), lc.AIMessageChunk("hi")]
    shown = redact(pieces, form="langchain")
    whole = shown[0] + shown[1]
    assert ("hi", lc.AIMessageChunk) == (whole.content, type(whole))
    assert not held(whole)
    both = redact([pieces[0], pieces[0]], form="langchain")
    assert 2 == len((both[0] + both[1]).additional_kwargs["reasoning_redacted"])


def test_a_message_that_held_nothing_else_stays_empty_and_of_its_class():
    class Own(lc.AIMessage):
        """A class of an app's own."""

    message = Own([{"type": "thinking", "thinking": WORD, "signature": WORD}], id="m1")
    shown = redact([message], form="langchain")[0]
    assert (Own, "", "m1") == (type(shown), shown.content, shown.id)
    assert not held(shown)


def test_a_tool_message_loses_a_signature_in_its_calls_id_and_messages_in_its_artifact():
    call = {"name": "look", "args": {}, "id": f"call_1__thought__{WORD}{WORD}"}
    inner = lc.AIMessage("ok", additional_kwargs={"reasoning_content": WORD})
    answer = lc.ToolMessage("3C", tool_call_id=call["id"], artifact={"messages": [inner]})
    messages = [lc.AIMessage("", tool_calls=[call]), answer]
    shown = redact(messages, form="langchain")
    assert not held(shown)
    assert shown[0].tool_calls[0]["id"] == shown[1].tool_call_id == "call_1"
    assert "ok" == shown[1].artifact["messages"][0].content
    assert json.dumps(lc.messages_to_dict(shown[:1]))


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (["<think>CANARY</think>hi", " you"], "hi you"),
        (["hi", "<think>CANARY"], "hi"),
        (["CANARY</think>hi", {"type": "text", "text": "x"}], ["hi", {"type": "text", "text": "x"}]),
        ([{"type": "text", "text": "hi <think>CANARY</think>x"}], [{"type": "text", "text": "hi x"}]),
        ([{"type": "non_standard", "value": {"type": "web", "encrypted_content": "CANARY"}}, "hi"], ["hi"]),
        ("hi <think>CANARY</think>x", "hi x"),
        ("CANARY</think>hi", "hi"),
    ],
)
def test_a_content_of_strings_and_of_tags_anywhere_is_redacted(content, left):
    message = lc.AIMessage(content)
    shown = redact([message], form="langchain")
    assert left == shown[0].content or left == "".join(shown[0].content)
    assert not held([each.model_dump() for each in shown])
    assert content == message.content
    assert shown[0].additional_kwargs["reasoning_redacted"]
    assert redact(shown, form="langchain") is shown
    with pytest.raises(HistoryError, match=r"messages\[0\]: its reasoning is redacted"):
        prepare(shown, host="llm.example", form="langchain", known=MemoryStore())
