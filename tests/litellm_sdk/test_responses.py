"""`litellm.responses` and `aresponses`: where the host speaks it, and where LiteLLM makes chat of it."""

import json

import litellm
import pytest

from litellm_entries import RESPOND, append_items, responses_turn
from reasoning_replay.litellm import report_of
from reasoning_replay.testing import canaries_in

NATIVE = ("openai-responses", "azure-responses", "xai-responses")
AS_CHAT = ("deepseek", "moonshot", "groq", "cerebras", "mistral", "anthropic", "unknown")


def statuses(host):
    return [request.status for request in host.requests]


@pytest.mark.parametrize("mode", RESPOND)
@pytest.mark.parametrize("name", [*NATIVE, *AS_CHAT])
def test_a_tool_loop_is_whole_at_every_host_and_the_next_turn_is_taken(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    items = []
    reply = responses_turn(mode, host, items, "one")
    assert [] == host.lost()
    assert report_of(reply) is not None
    responses_turn(mode, host, items, "two")
    assert [200] * 6 == statuses(host)
    assert name in AS_CHAT or [] == host.lost()
