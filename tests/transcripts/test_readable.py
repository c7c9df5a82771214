"""`readable`: what a message says as plain text, and apart from it what it thought."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import HistoryError
from reasoning_replay.forms import form_of
from reasoning_replay.transcripts import readable, redact
from redact_cases import CASES, DIALECTS, HISTORIES

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"Oslo"}'}}
BLOB = "c2VhbGVk"
READ = {
    "text beside": ("chat", {"role": "assistant", "content": "Hi.", "reasoning_content": "R"}, "Hi.", "R"),
    "one text under two keys": (
        "litellm",
        {
            "role": "assistant",
            "content": "Hi.",
            "reasoning_content": "R",
            "thinking_blocks": [{"type": "thinking", "thinking": "R", "signature": BLOB}],
        },
        "Hi.",
        "R",
    ),
    "thinking in the text": ("chat", {"role": "assistant", "content": "<think>R</think>Hi."}, "Hi.", "R"),
    "a call": (
        "chat",
        {"role": "assistant", "content": None, "reasoning": "R", "tool_calls": [CALL]},
        '[calls look({"at":"Oslo"})]',
        "R",
    ),
    "a picture": (
        "chat",
        {"role": "user", "content": [{"type": "text", "text": "See?"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        "See?\n[image]",
        "",
    ),
    "a result": ("chat", {"role": "tool", "tool_call_id": "c1", "content": "3C"}, "3C", ""),
    "sealed by Claude": (
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "R", "signature": BLOB},
                {"type": "redacted_thinking", "data": BLOB},
                {"type": "text", "text": "Hi."},
                {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "Oslo"}},
            ],
        },
        'Hi.\n[calls look({"at":"Oslo"})]',
        "R\n[sealed reasoning, 8 bytes]",
    ),
    "an item": (
        "responses",
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": BLOB},
        "",
        "[sealed reasoning, 8 bytes]",
    ),
    "a name": ("responses", {"type": "item_reference", "id": "rs_1"}, "", ""),
    "a signed call": (
        "gemini",
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": BLOB}]},
        "[calls look({})]",
        "[sealed reasoning, 8 bytes]",
    ),
    "Converse": (
        "bedrock",
        {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": b"sealed"}}, {"text": "Hi."}]},
        "Hi.",
        "[sealed reasoning, 8 bytes]",
    ),
    "parts that nobody knows": (
        "gemini",
        {
            "role": "model",
            "parts": [
                {"toolCall": {"toolType": "X"}, "thoughtSignature": BLOB},
                {"executableCode": {"code": "x", "thoughtSignature": BLOB}},
            ],
        },
        '{"toolCall":{"toolType":"X"}}\n{"executableCode":{"code":"x"}}',
        "[sealed reasoning, 8 bytes]",
    ),
    "reasoning inside such a part": (
        "chat",
        {
            "role": "assistant",
            "content": [
                {
                    "type": "web",
                    "steps": [{"type": "thinking", "thinking": "R"}, {"url": "u", "encrypted_index": BLOB}],
                    "reasoning": "R",
                    "inner": {"thought": True, "text": "R"},
                }
            ],
        },
        '{"steps":[{"url":"u"}]}',
        "",
    ),
    "the results of a search": (
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "web_search_result", "title": "T", "encrypted_content": BLOB}],
                }
            ],
        },
        '{"title":"T"}',
        "",
    ),
    "Ollama": ("ollama", {"role": "assistant", "content": "Hi.", "thinking": "R"}, "Hi.", "R"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "message", "said", "thought"), READ.values(), ids=READ)
def test_it_tells_what_is_said_and_what_was_thought_apart(form, message, said, thought):
    assert (said, thought) == (readable(message, form=form), readable(message, form=form, reasoning=True))


def test_a_langchain_message_is_read_as_it_is():
    lc = pytest.importorskip("langchain_core.messages")
    call = {"name": "look", "args": {"at": "Oslo"}, "id": "c1"}
    blocks = [{"type": "reasoning", "reasoning": "R", "extras": {"signature": BLOB}}, {"type": "text", "text": "Hi."}]
    message = lc.AIMessage(blocks, tool_calls=[call])
    assert 'Hi.\n[calls look({"at":"Oslo"})]' == readable(message, form="langchain")
    assert "R" == readable(message, form="langchain", reasoning=True)


def test_strings_and_wrapped_blocks_of_langchain_show_no_thinking_and_no_seal():
    lc = pytest.importorskip("langchain_core.messages")
    tagged = lc.AIMessage(["<think>R</think>Hi.", "You."])
    assert "Hi.\nYou." == readable(tagged, form="langchain")
    assert "R" == readable(tagged, form="langchain", reasoning=True)
    search = {"type": "non_standard", "value": {"type": "web", "encrypted_content": BLOB}}
    assert '{"value":{"type":"web"}}\nHi.' == readable(lc.AIMessage([search, "Hi."]), form="langchain")
    asked = lc.HumanMessage(["<think>R</think>Hi."])
    assert "<think>R</think>Hi." == readable(asked, form="langchain")


def test_a_reply_of_items_is_one_text():
    reply = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "R"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    ]
    assert "Hi.\n[calls look({})]" == readable(reply, dialect="responses")
    assert "R" == readable(reply, dialect="responses", reasoning=True)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_holds_nothing_of_its_host_and_all_that_is_shown(case):
    said = readable(case.message, dialect=case.dialect)
    assert "CANARY" not in said
    assert "SHOWN" in said or "SHOWN" not in str(case.message) or "[image]" in said


@pytest.mark.parametrize("form", HISTORIES)
@given(data=st.data())
def test_no_word_of_reasoning_is_in_what_is_said_and_no_seal_in_what_was_thought(form, data):
    history = data.draw(HISTORIES[form])
    shape = form_of(form)
    for row, look in zip(history.messages, shape.view(history.messages, None).rows, strict=True):
        said = readable(row, form=form, dialect=DIALECTS[form])
        thought = readable(row, form=form, dialect=DIALECTS[form], reasoning=True)
        assert not any(word in said for word in history.owners)
        seals = [shape.payload(row, part).partition("\0")[2] for part in look.parts]
        assert not any(len(seal) > 3 and seal in thought for seal in seals)


def test_redacted_reasoning_says_its_size():
    message = redact([{"role": "assistant", "content": "Hi.", "reasoning": "secret"}])[0]
    assert "[redacted reasoning, 6 bytes]" == readable(message, reasoning=True)
    assert "secret" not in json.dumps(message)


def test_what_cannot_be_read_is_told():
    with pytest.raises(HistoryError, match=r"messages\[0\]: a int; allowed"):
        readable(5)
