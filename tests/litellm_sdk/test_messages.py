"""`litellm.anthropic.messages`: where the host speaks it, and where LiteLLM makes chat or a Responses call of it."""

import pytest

from litellm_entries import CREATE, messages_turn
from reasoning_replay.litellm import report_of

AS_CHAT = ("moonshot", "groq", "cerebras", "mistral", "unknown")
AS_RESPONSES = ("openai-responses", "azure-responses")
NEEDS_FASTAPI = {("anthropic", "async stream"), *((name, "async stream") for name in AS_RESPONSES)}
"""LiteLLM imports the Proxy's packages for these streams."""
NOT_THERE = {("anthropic", "sync"), ("anthropic", "stream"), *((name, "stream") for name in AS_RESPONSES)}
"""LiteLLM 1.110.2 says so itself, or gives a stream that cannot be read."""
CASES = [
    (name, mode) for name in ("anthropic", *AS_RESPONSES, *AS_CHAT) for mode in CREATE if (name, mode) not in NOT_THERE
]


def statuses(host):
    return [request.status for request in host.requests]


@pytest.fixture(autouse=True)
def _packages(request):
    callspec = getattr(request.node, "callspec", None)
    named = callspec.params if callspec is not None else {}
    if (named.get("name"), named.get("mode")) in NEEDS_FASTAPI:
        pytest.importorskip("fastapi")
        pytest.importorskip("soundfile")


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_tool_loop_is_whole_at_every_host_and_the_next_turn_is_taken(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = []
    reply = messages_turn(mode, host, messages, "one")
    assert [] == host.lost()
    assert "stream" in mode or report_of(reply) is not None
    messages_turn(mode, host, messages, "two")
    assert [200] * 6 == statuses(host)
