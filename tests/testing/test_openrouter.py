"""The router host: signatures are good for one upstream, details go back unmodified, first-party routes demand them."""

import copy
import json

import pytest

from reasoning_replay.testing import Reply, Summary, Text, call, foreign_bytes, sealed, think
from wire_client import ask, events, loop, message_of, results_of

CLAUDE, GEMINI, GPT = "anthropic/claude-sonnet-4.5", "google/gemini-3-pro", "openai/gpt-5.2"
DEEPSEEK, KIMI = "deepseek/deepseek-v4-pro", "moonshotai/kimi-k2.6"
USER = {"role": "user", "content": "q"}


@pytest.fixture
def router(strict_hosts):
    return strict_hosts("openrouter")


def one_step(host, *parts, model):
    host.script = [Reply(tuple(parts))]
    message = message_of(host, ask(host, [USER], model=model))
    return [USER, message, *results_of(host, message)]


def raw_of(host, history, model):
    response = ask(host, history, model=model)
    assert 400 == response.status_code
    error = response.json()["error"]
    assert ("Provider returned error", 400) == (error["message"], error["code"])
    return error["metadata"]["provider_name"], error["metadata"]["raw"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("model", "parts", "kinds"),
    [
        (CLAUDE, (think(), sealed(), call()), ["reasoning.text", "reasoning.encrypted"]),
        (GEMINI, (think(), sealed(), call()), ["reasoning.text", "reasoning.encrypted"]),
        (GPT, (Summary(), sealed(), call()), ["reasoning.summary", "reasoning.encrypted"]),
        (DEEPSEEK, (think(), sealed(), call()), ["reasoning.text"]),
    ],
)
def test_details_that_come_back_unmodified_are_taken(router, model, parts, kinds, stream):
    router.script = [Reply(parts)]
    message = message_of(router, ask(router, [USER], model=model, stream=stream))

    assert kinds == [entry["type"] for entry in message["reasoning_details"]]
    assert 200 == ask(router, [USER, message, *results_of(router, message)], model=model).status_code
    assert [] == router.lost()


def test_the_entries_have_the_upstream_s_format_and_a_signature_where_it_signs(router):
    claude = one_step(router, think(), call(), model=CLAUDE)[1]["reasoning_details"][0]
    assert ("anthropic-claude-v1", 0) == (claude["format"], claude["index"])
    assert claude["signature"]
    router.reset()
    deepseek = one_step(router, think(), call(), model=DEEPSEEK)[1]
    assert "signature" not in deepseek["reasoning_details"][0]
    assert deepseek["reasoning"] == deepseek["reasoning_details"][0]["text"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "edited"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": "bWFkZSB1cA=="}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": None}, "messages.1.content.0.thinking.signature: Field required"),
        ({"signature": ""}, "messages.1.content.0.thinking.signature: Field required"),
        ({"format": "google-gemini-v1"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
)
def test_a_claude_entry_that_is_not_as_it_was_issued_comes_back_as_the_upstream_s_error(router, change, message):
    history = one_step(router, think(), call(), model=CLAUDE)
    history[1]["reasoning_details"][0] |= change
    shown, raw = raw_of(router, history, CLAUDE)

    assert "Anthropic" == shown
    assert {"type": "error", "error": {"type": "invalid_request_error", "message": message}} == json.loads(raw)
    assert [f"Provider returned error: {raw}"] == router.refusals


def test_entries_that_changed_places_or_are_only_partly_there_are_refused(router):
    history = one_step(router, think(), sealed(), call(), model=CLAUDE)
    details = history[1]["reasoning_details"]
    for other in (details[::-1], details[:1], details[1:]):
        changed = copy.deepcopy(history)
        changed[1]["reasoning_details"] = other
        assert 400 == ask(router, changed, model=CLAUDE).status_code
    del history[1]["reasoning_details"]
    assert 200 == ask(router, history, model=CLAUDE).status_code, "all of it may go"


@pytest.mark.leaks(reason="one upstream's reasoning is sent to another on purpose")
def test_what_one_upstream_issued_is_foreign_to_the_next_behind_the_same_address(router):
    history = one_step(router, think(), call(), model=DEEPSEEK)
    assert 400 == ask(router, history, model=CLAUDE).status_code
    del history[1]["reasoning_details"]
    assert 200 == ask(router, history, model=CLAUDE).status_code, "bare text is ignored"

    assert [1, 2] == [found.request for found in foreign_bytes([router])]
    assert not any("CANARY" in repr(found) for found in foreign_bytes([router]))


def test_gemini_wants_the_encrypted_entry_of_every_call_in_the_running_turn(router):
    history = one_step(router, think(), sealed(), call(), model=GEMINI)
    assert 200 == ask(router, history, model=GEMINI).status_code
    del history[1]["reasoning_details"]
    shown, raw = raw_of(router, history, GEMINI)

    assert "Google" == shown
    assert raw.startswith("Gemini models require OpenRouter reasoning details to be preserved in each request.")
    assert 200 == ask(router, [*history, {"role": "assistant", "content": "3C."}, USER], model=GEMINI).status_code


@pytest.mark.parametrize(
    ("model", "shown", "text"),
    [
        (DEEPSEEK, "DeepSeek", "The `reasoning_content` in the thinking mode must be passed back to the API."),
        (
            KIMI,
            "Moonshot AI",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
        ),
    ],
)
def test_first_party_routes_demand_reasoning_in_one_of_three_keys(router, model, shown, text):
    history, last = loop(router, keep=False, model=model)
    assert 400 == last.status_code
    error = last.json()["error"]["metadata"]
    assert (shown, text) == (error["provider_name"], json.loads(error["raw"])["error"]["message"])
    step = history[1]
    for key, value in (
        ("reasoning_content", ""),
        ("reasoning", "r"),
        ("reasoning_details", [{"type": "reasoning.text", "text": "r", "format": "unknown"}]),
    ):
        assert 200 == ask(router, [history[0], {**step, key: value}, history[2]], model=model).status_code
    assert 200 == ask(router, history[:3], model=model, reasoning={"enabled": False}).status_code


def test_an_answer_without_calls_carries_reasoning_too(router):
    router.script = [Reply((think(), Text("3C.")))]
    message = message_of(router, ask(router, [USER], model=CLAUDE, stream=True))

    assert "3C." == message["content"]
    assert message["reasoning_details"][0]["signature"]


def test_a_stream_brings_signature_and_encrypted_entry_in_deltas_of_their_own(router):
    router.script = [Reply((think(), sealed(), call()))]
    response = ask(router, [USER], model=CLAUDE, stream=True)
    deltas = [c["delta"] for e in events(response.text) for c in e["choices"]]
    alone = [d["reasoning_details"][0] for d in deltas if "reasoning_details" in d and "reasoning" not in d]
    assert [True, True] == ["signature" in alone[0] and "text" not in alone[0], "data" in alone[1]]
