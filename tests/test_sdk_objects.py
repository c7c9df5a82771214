"""SDKs' objects in a history: what an SDK keeps in them for its user goes on no wire."""

from __future__ import annotations

import warnings

import anthropic.types
import openai.types.responses
from anthropic.types.parsed_message import ParsedMessage, ParsedTextBlock
from openai.types.responses.parsed_response import ParsedResponseFunctionToolCall, ParsedResponseOutputText
from pydantic import BaseModel

from reasoning_replay import MemoryStore, Origin, capture, prepare

CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5")
GPT = Origin("api.openai.com", dialect="responses", model="gpt-5.4")


class Weather(BaseModel):
    city: str


def parsed_reply():
    thinking = anthropic.types.ThinkingBlock(type="thinking", thinking="so", signature="c2ln")
    text = ParsedTextBlock[Weather](type="text", text='{"city": "Oslo"}', citations=None)
    text.parsed_output = Weather(city="Oslo")
    return ParsedMessage[Weather].model_construct(
        _fields_set={"role", "content"}, role="assistant", content=[thinking, text]
    )


def test_a_parsed_answer_of_claude_goes_back_without_what_the_sdk_made_of_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message = capture(parsed_reply(), CLAUDE, known=MemoryStore())
    plan = prepare(
        [{"role": "user", "content": "go"}, message, {"role": "user", "content": "on"}],
        host=CLAUDE.host,
        model=CLAUDE.model,
        dialect="anthropic",
        known=MemoryStore(),
    )
    assert [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "text", "text": '{"city": "Oslo"}', "citations": None},
    ] == plan.messages[1]["content"]


def test_the_objects_themselves_in_a_history_go_so_too():
    reply = parsed_reply()
    history = [{"role": "user", "content": "go"}, reply, {"role": "user", "content": "on"}]
    policy_free = prepare(history, host=CLAUDE.host, model=CLAUDE.model, dialect="anthropic", known=MemoryStore())
    assert "parsed_output" not in repr(policy_free.messages)


def test_parsed_arguments_of_a_call_stay_with_the_sdk():
    call = ParsedResponseFunctionToolCall.model_construct(
        _fields_set={"type", "name", "call_id", "arguments", "parsed_arguments"},
        type="function_call", name="look", call_id="call_1", arguments="{}", parsed_arguments=Weather(city="Oslo"),
    )  # fmt: skip
    text = ParsedResponseOutputText[Weather].model_construct(
        _fields_set={"type", "text", "annotations", "parsed"},
        type="output_text", text="{}", annotations=[], parsed=Weather(city="Oslo"),
    )  # fmt: skip
    said = openai.types.responses.ResponseOutputMessage.model_construct(
        _fields_set={"type", "role", "content"}, type="message", role="assistant", content=[text]
    )
    items = capture([call, said], GPT, form="responses", known=MemoryStore())
    assert [
        {"type": "function_call", "name": "look", "call_id": "call_1", "arguments": "{}"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "{}", "annotations": []}],
        },
    ] == items
