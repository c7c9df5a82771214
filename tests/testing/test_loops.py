"""The scripted model plays a tool loop to its end with a correct client, and each law shows on one that forgets."""

import json

import pytest

from reasoning_replay.testing import JUDGES, foreign_bytes
from wire_client import CLAUDE_TOOLS, ask, loop, message_of

KEEPERS = sorted(set(JUDGES) - {"deepseek-r1"})
"""R1 alone must be sent no reasoning."""
SILENT = {"openai", "azure"}
"""Hosts whose default model shows none."""
DEMANDING = {
    "deepseek": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "deepseek-v3.2": "Missing `reasoning_content` field in the assistant message at message index 1. For more information, "
    "please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
    "moonshot": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    "anthropic": "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` "
    "is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
    "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, "
    "disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    "gemini": "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:get_weather` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details.",
}
DEMANDING["vertex"] = (
    "Unable to submit request because function call `default_api:get_weather` in the 2. content block is missing a "
    "`thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"
)
DEMANDING["bedrock"] = f"The model returned the following errors: {DEMANDING['anthropic']}"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", KEEPERS)
def test_a_client_that_sends_back_what_came_reaches_the_end_over_two_user_turns(strict_hosts, name, stream):
    host = strict_hosts(name)
    history, _ = loop(host, stream=stream)
    history.append({"role": "user", "content": "And tomorrow?"})
    history, last = loop(host, history, stream=stream)

    assert (200, 6, []) == (last.status_code, len(host.requests), host.refusals)
    assert not host.judge.reads or [] == host.lost()
    assert 6 == sum(
        "answer-" in json.dumps(m) or "get_weather" in json.dumps(m) for m in history if m.get("role") == "assistant"
    )


@pytest.mark.parametrize("name", sorted(DEMANDING))
def test_a_client_that_forgets_reasoning_is_refused_at_the_second_step(strict_hosts, name):
    host = strict_hosts(name)
    _, last = loop(host, keep=False)

    assert 400 == last.status_code
    assert [DEMANDING[name]] == host.refusals
    assert DEMANDING[name] in last.text.replace("\\n", "\n")


@pytest.mark.parametrize("name", sorted(set(JUDGES) - set(DEMANDING)))
def test_where_reasoning_is_optional_forgetting_is_no_error_and_shows_as_lost(strict_hosts, name):
    host = strict_hosts(name)
    _, last = loop(host, keep=False)

    assert (200, []) == (last.status_code, host.refusals)
    assert len(host.issued) > len(host.lost()) > 0 or name in {"openrouter", *SILENT}
    assert [] == foreign_bytes([host])


def test_r1_refuses_the_reply_that_it_sent_itself(strict_hosts):
    host = strict_hosts("deepseek-r1")
    _, last = loop(host)

    assert 400 == last.status_code
    assert host.refusals == [last.json()["error"]["message"]]
    assert last.json()["error"]["message"].startswith(
        "The reasoning_content is an intermediate result for display purposes only"
    )


def test_without_tools_the_model_answers_at_once(strict_hosts):
    host = strict_hosts("unknown")
    message = message_of(host, ask(host, [{"role": "user", "content": "q"}], tools=None))

    assert message["content"].startswith("It is 3C. Done. [answer-")
    assert "tool_calls" not in message


def test_a_user_note_inside_a_loop_does_not_start_the_model_over(strict_hosts):
    host = strict_hosts("unknown")
    history = [{"role": "user", "content": "q"}]
    for _ in range(2):
        message = message_of(host, ask(host, history))
        history += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "3C"}]
    history.append({"role": "user", "content": "a note"})

    assert "tool_calls" not in message_of(host, ask(host, history))


def test_thinking_switched_off_brings_no_reasoning_and_demands_none(strict_hosts):
    for name, off in (
        ("deepseek", {"thinking": {"type": "disabled"}}),
        ("moonshot", {"thinking": {"type": "disabled"}}),
    ):
        host = strict_hosts(name)
        history, last = loop(host, keep=False, **off)
        assert (200, {}) == (last.status_code, dict(host.issued))
        assert not any("reasoning_content" in m for m in history)
    claude = strict_hosts("anthropic")
    _, last = loop(claude, keep=False, thinking=None, tools=CLAUDE_TOOLS)
    assert (200, {}) == (last.status_code, dict(claude.issued))


def test_deepseek_shows_the_prompt_that_its_own_encoder_renders(strict_hosts):
    host = strict_hosts("deepseek")
    history, _ = loop(host)
    loop(host, [*history, {"role": "user", "content": "And tomorrow?"}])
    words = [word for word in host.issued if word in host.requests[3].prompt]

    assert 3 == len(words), "with tools the model sees the reasoning of the earlier turn"
    ask(host, [*history, {"role": "user", "content": "And tomorrow?"}], tools=None)
    assert not any(word in host.last.prompt for word in host.issued), "without tools it sees none of it"
