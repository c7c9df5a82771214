"""The Mistral host: extra keys judged by Mistral's own package, thinking chunks by ours."""

import pytest

from wire_client import ask

USER = {"role": "user", "content": "q"}
STEP = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "abcdefghi", "content": "3C"}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "r"}], "closed": True}


@pytest.mark.parametrize(
    "key", ["reasoning_content", "reasoning", "thinking_blocks", "reasoning_details", "provider_specific_fields"]
)
def test_a_surplus_key_is_422_with_its_place_in_the_body(strict_hosts, key):
    host = strict_hosts("mistral")
    response = ask(host, [USER, {**STEP, key: "r"}, RESULT])
    loc = ["body", "messages", 1, "assistant", key]

    assert 422 == response.status_code
    assert {
        "detail": [{"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": "r"}]
    } == response.json()
    assert [f"body.messages.1.assistant.{key}: Extra inputs are not permitted"] == host.refusals


def test_our_turn_key_is_a_surplus_key(strict_hosts):
    response = ask(strict_hosts("mistral"), [{**USER, "turn": False}])

    assert ["body", "messages", 0, "user", "turn"] == response.json()["detail"][0]["loc"]


@pytest.mark.parametrize(
    "chunk", [THOUGHT, {**THOUGHT, "signature": "s"}, {k: v for k, v in THOUGHT.items() if k != "closed"}]
)
def test_a_thinking_chunk_in_the_form_of_the_api_s_own_sdk_is_taken(strict_hosts, chunk):
    host = strict_hosts("mistral")
    response = ask(host, [USER, {**STEP, "content": [chunk]}, RESULT])

    assert (200, []) == (response.status_code, host.refusals)


@pytest.mark.parametrize(
    ("chunk", "kind", "loc"),
    [
        ({**THOUGHT, "thinking": "r"}, "list_type", ["thinking"]),
        ({**THOUGHT, "thinking": [{"type": "text", "text": "r", "extra": 1}]}, "list_type", ["thinking"]),
        ({**THOUGHT, "id": "x"}, "extra_forbidden", ["thinking", "id"]),
    ],
)
def test_a_thinking_chunk_of_another_shape_is_422(strict_hosts, chunk, kind, loc):
    response = ask(strict_hosts("mistral"), [USER, {**STEP, "content": [chunk]}, RESULT])

    assert 422 == response.status_code
    assert (kind, ["body", "messages", 1, "assistant", "content", 0, *loc]) == tuple(
        response.json()["detail"][0][k] for k in ("type", "loc")
    )


def test_a_model_that_does_not_reason_takes_no_thinking_chunk(strict_hosts):
    host = strict_hosts("mistral")
    refused = ask(host, [USER, {**STEP, "content": [THOUGHT]}, RESULT], model="open-mistral-nemo")
    taken = ask(host, [USER, STEP, RESULT], model="open-mistral-nemo")

    assert (422, 200) == (refused.status_code, taken.status_code)


def test_an_unknown_chunk_is_refused_by_the_package(strict_hosts):
    response = ask(
        strict_hosts("mistral"), [USER, {**STEP, "content": [{"type": "redacted_thinking", "data": "x"}]}, RESULT]
    )

    assert 422 == response.status_code
