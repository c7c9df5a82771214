"""`Policy(window="all")` on the wire: the host's own parameter reaches the body, wherever LiteLLM keeps its parameters."""

import litellm
import pytest

from litellm_calls import run
from reasoning_replay import Policy
from reasoning_replay.litellm import ReasoningReplay

HISTORY = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]
KEPT = {"clear_thinking": False, "type": "enabled"}
WIRE = {
    "zai/glm-4.7": {"thinking": KEPT},
    "moonshot/kimi-k2.6": {"thinking": {"type": "enabled", "keep": "all"}},
    "dashscope/qwen3.7-plus": {"preserve_thinking": True},
    "cerebras/zai-glm-4.7": {"clear_thinking": False},
    "fireworks_ai/accounts/fireworks/models/glm-4p7": {"reasoning_history": "preserved"},
    "together_ai/zai-org/GLM-5.2": {"chat_template_kwargs": {"clear_thinking": False}},
    "hosted_vllm/Qwen/Qwen3.6-35B": {"chat_template_kwargs": {"preserve_thinking": True}},
    "deepseek/deepseek-v4-pro": {},
}
PARAMETERS = ("thinking", "preserve_thinking", "clear_thinking", "reasoning_history", "chat_template_kwargs")


@pytest.fixture(params=["sync", "async"])
def sent(request, strict_hosts):
    """`sent(model, **more)`: the parameters of the body that reached the host."""
    host = strict_hosts("unknown")

    def call(model, **more):
        named = {"model": model, "api_base": host.url, "api_key": "k", "messages": HISTORY, **more}
        if request.param == "async":
            run(litellm.acompletion(**named))
        else:
            litellm.completion(**named)
        body = host.last.json
        assert "extra_body" not in body
        return {key: body[key] for key in PARAMETERS if key in body}

    return call


@pytest.mark.parametrize("model", WIRE)
def test_a_wider_window_sets_the_hosts_own_parameter_on_the_wire(model, sent):
    assert sent(model) == {}
    litellm.callbacks.append(ReasoningReplay(Policy(window="all")))
    assert sent(model) == WIRE[model]


def test_the_default_window_sets_nothing(sent):
    litellm.callbacks.append(ReasoningReplay())
    for model in WIRE:
        assert sent(model) == {}


def test_the_callers_own_value_wins(sent):
    litellm.callbacks.append(ReasoningReplay(Policy(window="all")))
    assert sent("dashscope/qwen3.7-plus", extra_body={"preserve_thinking": False}) == {"preserve_thinking": False}
    assert sent("cerebras/zai-glm-4.7", clear_thinking=True) == {"clear_thinking": True}
    given = {"type": "enabled", "clear_thinking": True}
    assert sent("zai/glm-4.7", extra_body={"thinking": given}) == {"thinking": given}


def test_what_the_caller_gave_beside_it_stays(sent):
    litellm.callbacks.append(ReasoningReplay(Policy(window="all")))
    assert (
        sent("moonshot/kimi-k2.6", extra_body={"thinking": {"type": "enabled"}, "x": 1}) == WIRE["moonshot/kimi-k2.6"]
    )
    more = sent("hosted_vllm/Qwen/Qwen3.6-35B", extra_body={"chat_template_kwargs": {"enable_thinking": True}})
    assert more == {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}}
