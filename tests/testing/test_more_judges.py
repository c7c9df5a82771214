"""The judges of OpenAI's chat API, Azure, xAI, Fireworks, Together, DashScope and Ollama: what is taken, what is refused."""

import json

import httpx
import pytest

from reasoning_replay.testing import Reply, Text, call, foreign_bytes, think
from wire_client import ask, loop, message_of

USER = {"role": "user", "content": "q"}
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3C"}


def history(**more):
    """A finished turn whose reply has more keys, and a new question."""
    return [USER, {"role": "assistant", "content": "a", **more}, USER]


def refused(host, messages, **more):
    response = ask(host, messages, **more)
    assert 1 == len(host.refusals[-1:])
    return response.status_code, host.refusals[-1]


# OpenAI and Azure -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "provider_specific_fields"]
)
def test_openai_s_chat_api_knows_no_reasoning_key_not_even_an_empty_one(strict_hosts, key):
    host = strict_hosts("openai")
    for value in ("text", "", None):
        response = ask(host, history(**{key: value}))
        error = response.json()["error"]
        expected = f"Unknown parameter: 'messages[1].{key}'."
        assert (400, expected, "unknown_parameter") == (response.status_code, error["message"], error["code"])


def test_openai_names_a_surplus_key_of_a_call_by_its_place(strict_hosts):
    host = strict_hosts("openai")
    made = {**CALL, "extra_content": {}}

    assert (400, "Unknown parameter: 'messages[1].tool_calls[0].extra_content'.") == refused(
        host, [USER, {"role": "assistant", "content": None, "tool_calls": [made]}, RESULT]
    )


def test_openai_takes_its_own_reply_back_and_shows_no_reasoning(strict_hosts):
    host = strict_hosts("openai")
    messages, last = loop(host)

    assert (200, {}, 2) == (last.status_code, dict(host.issued), len([m for m in messages if m.get("tool_calls")]))
    assert 200 == ask(host, history(refusal=None, annotations=[], function_call=None)).status_code


def test_openai_refuses_a_content_part_of_another_dialect(strict_hosts):
    host = strict_hosts("openai")
    parts = [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "a"}]

    assert (
        400,
        "Invalid value: 'redacted_thinking'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
    ) == refused(host, history(content=parts))


def test_azure_finds_the_model_in_the_path(strict_hosts):
    host = strict_hosts("azure")
    body = {"messages": history(reasoning_content="t")}
    paths = {"gpt-5.4": 400, "deepseek-v4-pro": 200, "kimi-k2.6": 200, "Llama-4": 400}
    for model, status in paths.items():
        url = f"{host.url}/openai/deployments/{model}/chat/completions?api-version=2025-04-01-preview"
        assert status == httpx.post(url, json=body, verify=False).status_code
    assert ["Extra inputs are not permitted"] * 2 == host.refusals
    assert 404 == httpx.post(f"{host.url}/chat/completions", json=body, verify=False).status_code


def test_azure_s_v1_path_takes_the_model_from_the_body(strict_hosts):
    host = strict_hosts("azure")
    body = {"model": "kimi-k2.6", "messages": history(reasoning_content="t")}

    assert 200 == httpx.post(f"{host.url}/openai/v1/chat/completions", json=body, verify=False).status_code
    assert 1 == len(host.issued), "and that model shows its reasoning"


def test_azure_s_deepseek_wants_reasoning_on_every_message_when_there_are_tools(strict_hosts):
    host = strict_hosts("azure")
    text = "The `reasoning_content` in the thinking mode must be passed back to the API."

    assert (400, text) == refused(host, history(), model="deepseek-v4-pro")
    assert 200 == ask(host, history(reasoning_content=""), model="deepseek-v4-pro").status_code
    assert 200 == ask(host, history(), model="deepseek-v4-pro", tools=None).status_code
    assert 200 == ask(host, history(), model="deepseek-v4-pro", reasoning_effort="none").status_code
    _, last = loop(host, model="deepseek-v4-pro")
    assert 200 == last.status_code


# Closed and open schemas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["reasoning", "reasoning_details", "thinking_blocks", "tool_name", "turn"])
def test_fireworks_takes_reasoning_content_and_no_other_key(strict_hosts, key):
    host = strict_hosts("fireworks")
    assert 200 == ask(host, history(reasoning_content="t")).status_code

    assert (400, f"Extra inputs are not permitted, field: 'messages[1].{key}'") == refused(host, history(**{key: "x"}))


def test_fireworks_looks_into_calls_too(strict_hosts):
    host = strict_hosts("fireworks")
    made = {**CALL, "extra_content": {}}

    assert (400, "Extra inputs are not permitted, field: 'messages[1].tool_calls[0].extra_content'") == refused(
        host, [USER, {"role": "assistant", "content": None, "tool_calls": [made]}, RESULT]
    )


@pytest.mark.parametrize("name", ["xai", "together", "dashscope"])
def test_open_hosts_ignore_what_they_do_not_know(strict_hosts, name):
    host = strict_hosts(name)
    for key in ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "anything"):
        assert 200 == ask(host, history(**{key: "x"})).status_code
    assert 400 == ask(host, history(turn=False)).status_code, "but a key of ours is told"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("xai", "reasoning_content"),
        ("fireworks", "reasoning_content"),
        ("together", "reasoning"),
        ("dashscope", "reasoning_content"),
        ("ollama", "thinking"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_each_host_writes_reasoning_under_its_own_key(strict_hosts, name, key, stream):
    host = strict_hosts(name)
    message = message_of(host, ask(host, [USER], stream=stream))

    assert next(iter(host.issued)) in message[key]
    assert {"role", "content", "tool_calls", key} == set(message)


def test_together_reads_two_keys_and_xai_reads_none(strict_hosts):
    together, xai = strict_hosts("together"), strict_hosts("xai")
    messages, _ = loop(together)
    for message in messages:
        if "reasoning" in message:
            message["reasoning_content"] = message.pop("reasoning")
    ask(together, [*messages, USER])
    assert [] == together.lost()
    loop(xai)
    assert 2 == len(xai.lost())


def test_xai_refuses_an_effort_where_the_model_has_none(strict_hosts):
    host = strict_hosts("xai")
    response = ask(host, [USER], model="grok-4.20-0309-reasoning", reasoning_effort="low")
    text = "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."

    assert (400, {"code": "invalid-argument", "error": text}) == (response.status_code, response.json())
    assert 200 == ask(host, [USER], model="grok-4.3", reasoning_effort="low").status_code


def test_a_dashscope_model_that_only_streams_says_so(strict_hosts):
    host = strict_hosts("dashscope")
    text = "This model only support stream mode, please enable the stream parameter to access the model. "

    assert (400, text) == refused(host, [USER], model="qwq-plus")
    assert 200 == ask(host, [USER], model="qwq-plus", stream=True).status_code


def test_dashscope_s_own_switch_turns_thinking_off(strict_hosts):
    host = strict_hosts("dashscope")
    ask(host, [USER], enable_thinking=False)

    assert {} == dict(host.issued)


# Ollama ---------------------------------------------------------------------------------------------------------------


def test_ollama_takes_thinking_from_anywhere_and_records_it(strict_hosts):
    host = strict_hosts("ollama")
    messages = history(thinking="t", reasoning_content="u", anything={"a": 1})

    assert 200 == ask(host, messages).status_code
    assert messages == host.last.messages


@pytest.mark.leaks(reason="thinking is sent to another host on purpose")
def test_ollama_s_thinking_is_found_elsewhere_and_lost_under_another_key(strict_hosts):
    host, other = strict_hosts("ollama", script=[Reply((think(), Text()))]), strict_hosts("ollama")
    message = message_of(host, ask(host, [USER]))
    ask(other, [USER, message, USER])
    assert {(other, host)} == {(found.at, found.written_by) for found in foreign_bytes([host, other])}

    ask(host, [USER, message, USER])
    assert [] == host.lost()
    ask(host, [USER, {**message, "reasoning_content": message["thinking"], "thinking": ""}, USER])
    assert 1 == len(host.lost())


def test_a_reply_of_ollama_is_known_by_its_arguments_where_the_client_makes_up_ids(strict_hosts):
    host = strict_hosts("ollama")
    message = message_of(host, ask(host, [USER]))
    message["tool_calls"][0]["id"] = "made-up"
    result = {"role": "tool", "tool_name": "get_weather", "content": "3C"}
    ask(host, [USER, message, result])
    assert [] == host.lost()
    del message["thinking"]
    ask(host, [USER, message, result])
    assert 1 == len(host.lost())


def test_ollama_streams_lines_unless_told_not_to(strict_hosts):
    host = strict_hosts("ollama")
    response = ask(host, [USER], stream=None)
    lines = [json.loads(line) for line in response.text.splitlines()]

    assert "application/x-ndjson" == response.headers["content-type"]
    assert [False] * (len(lines) - 1) + [True] == [line["done"] for line in lines]
    assert lines[-2]["message"]["tool_calls"][0]["function"]["arguments"]["city"].startswith("Oslo-1-")


def test_ollama_thinks_unless_told_not_to(strict_hosts):
    host = strict_hosts("ollama")
    thought = ["thinking" in message_of(host, ask(host, [USER], think=value)) for value in (None, True, "high", False)]

    assert [True, True, True, False] == thought


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (
            history(content=[{"type": "text", "text": "a"}]),
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
        ),
        (
            history(thinking=[{"type": "text", "text": "a"}]),
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.thinking of type string",
        ),
        (
            [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT],
            (
                "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type "
                "api.ToolCallFunctionArguments"
            ),
        ),
    ],
)
def test_ollama_refuses_values_of_the_wrong_type_in_go_s_words(strict_hosts, messages, text):
    host = strict_hosts("ollama")
    response = ask(host, messages)

    assert (400, {"error": text}) == (response.status_code, response.json())


def test_ollama_refuses_thinking_where_the_model_has_none_and_an_unknown_level(strict_hosts):
    host = strict_hosts("ollama")
    level = 'invalid think value: "minimal" (must be "high", "medium", "low", "max", true, or false)'

    assert (400, '"llama3.2" does not support thinking') == refused(host, [USER], model="llama3.2")
    assert (400, level) == refused(host, [USER], think="minimal")
    assert 200 == ask(host, [USER], model="llama3.2", think=None).status_code
    assert 200 == ask(host, [USER], model="llama3.2", think=False).status_code


def test_a_script_for_ollama_joins_what_is_interleaved(strict_hosts):
    host = strict_hosts("ollama", script=[Reply((think("a"), Text("First."), think("b"), call(id="c1")))])
    message = message_of(host, ask(host, [USER]))

    assert ("ab", "First.", "c1") == (message["thinking"], message["content"], message["tool_calls"][0]["id"])
