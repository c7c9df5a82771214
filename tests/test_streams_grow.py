"""Long streams: a text is joined once, when somebody wants it. Joined with each piece it is copied each time."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from reasoning_replay.forms import form_of
from reasoning_replay.litellm._stream import joined_blocks


class Piece(str):
    """A piece of a text that may be joined, and not added."""

    __slots__ = ()

    def __radd__(self, before):
        raise AssertionError("what came before a piece was copied to add it")


class Case(NamedTuple):
    form: str
    opening: tuple[Any, ...]
    piece: Any
    """A piece of text → its chunk."""
    closing: tuple[Any, ...]
    find: Any
    """The result → the whole text."""


def delta(**fields):
    return {"choices": [{"index": 0, "delta": fields}]}


DONE = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def arguments(piece):
    return delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}])


def anthropic(kind, field, block):
    return Case(
        "anthropic",
        ({"type": "message_start"}, {"type": "content_block_start", "index": 0, "content_block": block}),
        lambda piece: {"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: piece}},
        ({"type": "content_block_stop", "index": 0}, {"type": "message_stop"}),
        lambda reply: reply["content"][0][field],
    )


def bedrock(said, find):
    return Case(
        "bedrock",
        ({"messageStart": {"role": "assistant"}},),
        lambda piece: {"contentBlockDelta": {"contentBlockIndex": 0, "delta": said(piece)}},
        ({"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "end_turn"}}),
        lambda reply: find(reply["content"][0]),
    )


def gemini(**fields):
    return Case(
        "gemini",
        (),
        lambda piece: {"candidates": [{"content": {"role": "model", "parts": [{"text": piece, **fields}]}}]},
        ({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]},),
        lambda reply: reply["parts"][0]["text"],
    )


def chat(said, find, opening=()):
    return Case("litellm", opening, said, (DONE,), find)


def ollama(key):
    return Case(
        "ollama", (), lambda piece: {"message": {"role": "assistant", key: piece}}, (), lambda reply: reply[key]
    )


CASES = {
    "Claude's thinking": anthropic("thinking_delta", "thinking", {"type": "thinking", "thinking": "", "signature": ""}),
    "Claude's text": anthropic("text_delta", "text", {"type": "text", "text": ""}),
    "Claude's signature": anthropic("signature_delta", "signature", {"type": "thinking", "thinking": "so"}),
    "Converse's text": bedrock(lambda piece: {"text": piece}, lambda block: block["text"]),
    "Converse's reasoning": bedrock(
        lambda piece: {"reasoningContent": {"text": piece}},
        lambda block: block["reasoningContent"]["reasoningText"]["text"],
    ),
    "Gemini's thought": gemini(thought=True),
    "Gemini's text": gemini(),
    "Ollama's thinking": ollama("thinking"),
    "Ollama's content": ollama("content"),
    "reasoning_content": chat(lambda piece: delta(reasoning_content=piece), lambda reply: reply["reasoning_content"]),
    "content": chat(lambda piece: delta(content=piece), lambda reply: reply["content"]),
    "thinking_blocks": chat(
        lambda piece: delta(thinking_blocks=[{"type": "thinking", "thinking": piece, "index": 0}]),
        lambda reply: reply["thinking_blocks"][0]["thinking"],
    ),
    "reasoning_details": chat(
        lambda piece: delta(reasoning_details=[{"type": "reasoning.text", "text": piece, "index": 0}]),
        lambda reply: reply["reasoning_details"][0]["text"],
    ),
    "a call's arguments": chat(
        arguments,
        lambda reply: reply["tool_calls"][0]["function"]["arguments"],
        (delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look"}}]),),
    ),
    "Mistral's thinking": chat(
        lambda piece: delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]),
        lambda reply: reply["content"][0]["thinking"][0]["text"],
    ),
    "Mistral's text": chat(
        lambda piece: delta(content=[{"type": "text", "text": piece}]), lambda reply: reply["content"][0]["text"]
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_text_of_a_stream_is_joined_once_and_not_with_each_piece(case):
    stream = form_of(case.form).stream(0)
    for chunk in (*case.opening, *(case.piece(Piece(f"{number} ")) for number in range(5)), *case.closing):
        stream.feed(chunk)
    found = case.find(stream.result())
    assert (found, type(found)) == ("0 1 2 3 4 ", str)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_stream_that_was_looked_at_goes_on_growing_and_leaves_what_it_gave_alone(case):
    stream = form_of(case.form).stream(0)
    for chunk in (*case.opening, case.piece("one ")):
        stream.feed(chunk)
    early = stream.result()
    told = repr(early)
    for chunk in (case.piece("two "), case.piece("three "), *case.closing):
        stream.feed(chunk)
    assert case.find(stream.result()) == "one two three "
    assert repr(early) == told


def test_litellms_blocks_are_joined_once():
    chunks = [delta(thinking_blocks=[{"thinking": Piece(f"{number} "), "index": 0}]) for number in range(3)]
    assert [{"type": "thinking", "thinking": "0 1 2 ", "signature": ""}] == joined_blocks(chunks)
