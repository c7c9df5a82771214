"""A real llama.cpp server: reasoning in, reasoning out, and the prompt that the model saw."""

import json

import httpx
import pytest

from wire_client import TOOLS, chat_message

USER = {"role": "user", "content": "weather?"}
ASK = "I should call the weather tool."


def post(server, messages, **more):
    body = {"messages": messages, "tools": TOOLS, "temperature": 0, "max_tokens": 64, **more}
    return httpx.post(f"{server.url}/chat/completions", json=body, timeout=60, verify=False)


def step(server, messages, *, stream=False):
    reply = post(server, messages, stream=stream)
    reply.raise_for_status()
    return chat_message(reply.text) if stream else reply.json()["choices"][0]["message"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_tool_loop_over_two_user_turns_reasons_and_calls_and_answers(llama, stream):
    history = [USER]
    for _ in range(2):
        called = step(llama, history, stream=stream)
        assert ASK == called["reasoning_content"].strip()
        assert {"city": "Oslo"} == json.loads(called["tool_calls"][0]["function"]["arguments"])
        history += [called, {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "3C"}]
        answer = step(llama, history, stream=stream)
        assert ("It is 3C. Done.", "The tool result is in.") == (answer["content"], answer["reasoning_content"].strip())
        history += [answer, {"role": "user", "content": "and now?"}]


def test_the_prompt_that_the_model_saw_holds_the_running_turn_s_reasoning(llama):
    called = step(llama, [USER])
    result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "3C"}
    step(llama, [USER, called, result])
    assert f"<think>\n{ASK}" in llama.last_prompt()
    step(llama, [USER, {k: v for k, v in called.items() if k != "reasoning_content"}, result])
    assert ASK not in llama.last_prompt()


def test_apply_template_renders_what_would_be_sent(llama):
    called = {"role": "assistant", "content": "", "reasoning_content": "because",
              "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}]}  # fmt: skip
    turn = [USER, called, {"role": "tool", "tool_call_id": "c1", "content": "3C"}]

    assert "because" in llama.apply_template(turn, TOOLS)
    assert "get_weather" in llama.apply_template(turn, TOOLS)
    assert "because" not in llama.apply_template([*turn, {"role": "assistant", "content": "3C"}, USER], TOOLS)


def test_the_server_reads_reasoning_content_alone(llama):
    for key in ("reasoning", "thinking", "reasoning_details"):
        assert "because" not in llama.apply_template([USER, {"role": "assistant", "content": "a", key: "because"}])
    assert (
        400
        == post(
            llama, [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "because"}]}, USER]
        ).status_code
    )
