"""Claude's two kinds of thinking in a loop that other hosts take part in."""

import pytest

from litellm_calls import MODES, PROVIDERS, append, go_on, turn

ADAPTIVE = {"thinking": {"type": "adaptive"}, "max_tokens": 4096}
HOSTS = sorted(set(PROVIDERS) - {"anthropic", "deepseek-r1", "deepseek-v3.2"})


class Adaptive:
    """A strict Claude whose model thinks when it likes."""

    def __init__(self, host):
        self.host, self.kind, self.url, self.model = host, host.kind, host.url, "claude-opus-5"


@pytest.mark.parametrize("mode", ["sync", "stream", "async stream"])
@pytest.mark.parametrize("there", HOSTS)
def test_under_adaptive_thinking_claude_has_all_of_its_own_back_after_another_host(there, mode, strict_hosts, install):
    claude, other = strict_hosts("anthropic", steps=3), strict_hosts(there, steps=3)
    install(claude, other)
    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, MODES[mode](Adaptive(claude), messages, **ADAPTIVE))
    append(messages, MODES[mode](other, messages))
    go_on(mode, Adaptive(claude), messages, **ADAPTIVE)
    assert [] == claude.refusals + other.refusals
    assert [] == claude.lost()
    assert "thinking" in claude.last.json


@pytest.mark.parametrize("mode", ["sync", "async stream"])
def test_under_manual_thinking_a_gap_costs_the_rest_of_the_turn_and_no_more(mode, strict_hosts, install):
    claude, other = strict_hosts("anthropic", steps=3), strict_hosts("deepseek", steps=3)
    install(claude, other)
    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, MODES[mode](claude, messages))
    append(messages, MODES[mode](other, messages))
    go_on(mode, claude, messages)
    assert "thinking" not in claude.last.json
    turn(mode, claude, messages, "And tomorrow?")
    assert [] == claude.refusals + other.refusals
    assert claude.last.json["thinking"]["type"] == "enabled"
    blocks = [block["type"] for message in claude.last.json["messages"][-4:] for block in message["content"]]
    assert "thinking" in blocks
