"""Layer 1 asked for the wrong host: layer 2 knows the true one, and nothing foreign goes out."""

import pytest

from litellm_calls import MODES, append, go_on
from reasoning_replay.litellm import _callback
from reasoning_replay.testing import foreign_bytes


@pytest.fixture
def mispredict(monkeypatch):
    """Makes layer 1 plan for another host than the one that LiteLLM calls."""

    def put_in(host):
        monkeypatch.setattr(_callback, "predicted_url", lambda *arguments: host.url)

    return put_in


@pytest.mark.parametrize("mode", ["sync", "async stream", "router"])
@pytest.mark.parametrize("there", ["deepseek", "cerebras", "unknown", "anthropic"])
def test_what_layer_1_would_send_to_its_host_does_not_go_to_another(mode, there, strict_hosts, install, mispredict):
    first, second = strict_hosts("openrouter", steps=3), strict_hosts(there, steps=3)
    install(first, second)
    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, MODES[mode](first, messages))
    mispredict(first)
    append(messages, MODES[mode](second, messages))
    assert [] == foreign_bytes([first, second]) + second.refusals
    assert not second.saw_mark


@pytest.mark.parametrize("mode", ["sync", "async stream", "router"])
@pytest.mark.parametrize("here", ["deepseek", "cerebras", "unknown"])
def test_what_layer_1_took_out_for_the_wrong_host_comes_back_where_litellm_rewrote_nothing(
    mode, here, strict_hosts, install, mispredict
):
    host, wrong = strict_hosts(here), strict_hosts("groq")
    install(host, wrong)
    mispredict(wrong)
    messages = [{"role": "user", "content": "How is the weather?"}]
    go_on(mode, host, messages)
    assert [] == host.refusals + host.lost()
