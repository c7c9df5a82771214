"""LiteLLM reaches the native hosts as it is, with nothing of ours, and what it keeps of a reply is taken."""

import pytest

litellm = pytest.importorskip("litellm")

from reasoning_replay.testing import Reply, Text, _voices, call, sealed, think
from wire_client import MANUAL, TOOLS

pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM warns by the dozen
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "aws_region_name": "us-east-1"}
CALLS = {
    "gemini": ("gemini/", {"api_key": "k", "reasoning_effort": "low"}),
    "bedrock": ("bedrock/converse/", {**KEYS, "max_tokens": 4096, "thinking": MANUAL}),
}


def said(host, messages, *, stream):
    prefix, more = CALLS[host.kind]
    reply = litellm.completion(
        model=prefix + host.model,
        messages=messages,
        tools=TOOLS,
        stream=stream,
        api_base=host.url,
        num_retries=0,
        **more,
    )
    reply = litellm.stream_chunk_builder(list(reply)) if stream else reply
    return reply.choices[0].message.model_dump()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", sorted(CALLS))
def test_litellm_reaches_the_host_and_is_taken_over_two_turns(strict_hosts, kind, stream):
    host, messages = strict_hosts(kind), []
    for question in ("How is it?", "And tomorrow?"):
        messages.append({"role": "user", "content": question})
        for _ in range(3):
            messages.append(said(host, messages, stream=stream))
            calls = messages[-1].get("tool_calls") or []
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": "3C"} for call in calls]

    assert (6, []) == (len(host.requests), host.refusals)
    assert [] == host.lost()


def test_a_call_id_is_never_one_that_litellm_takes_for_a_bare_number(monkeypatch):
    """It puts the item's id in its place then, which counts as issued with the reasoning before it, and is no leak."""
    config = pytest.importorskip("litellm.responses.litellm_completion_transformation.transformation")
    chosen = config.LiteLLMCompletionResponsesConfig.tool_call_id_from_responses_item
    monkeypatch.setattr(_voices.secrets, "token_hex", lambda size: "0" * 2 * size)
    ours, digits = _voices.call_id(), "call_" + "0" * 16

    assert (ours, "fc_1") == (chosen("fc_1", ours), chosen("fc_1", digits))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_litellm_unwraps_what_converse_redacted_and_wraps_it_again(strict_hosts, stream):
    host, messages = strict_hosts("bedrock"), [{"role": "user", "content": "How is it?"}]
    host.script = [Reply((think(), sealed(), call())), Reply((Text(),))]
    messages.append(said(host, messages, stream=stream))
    messages.append({"role": "tool", "tool_call_id": messages[-1]["tool_calls"][0]["id"], "content": "3C"})
    said(host, messages, stream=stream)

    assert ([], []) == (host.refusals, host.lost())
    assert "redacted_thinking" in str(messages[1]["thinking_blocks"])
