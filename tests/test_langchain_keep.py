"""`Policy(window="all")` through LangChain: the host's own parameter reaches the body, where each class keeps its own."""

from importlib import import_module

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from reasoning_replay import Policy
from reasoning_replay.langchain import with_reasoning_replay

HISTORY = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
KEPT = {"thinking": {"type": "enabled", "clear_thinking": False}}
TEMPLATE = {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}}
CASES = [
    ("langchain_openai.ChatOpenAI", "zai", "glm-4.7", {}, KEPT),
    ("langchain_openai.ChatOpenAI", "zai", "glm-4.7", {"thinking": {"type": "enabled"}}, KEPT),
    ("langchain_openai.ChatOpenAI", "vllm", "Qwen3.6-35B", {"chat_template_kwargs": {"enable_thinking": True}}, TEMPLATE),
    ("langchain_qwq.ChatQwen", "dashscope", "qwen3.7-plus", {}, {"preserve_thinking": True}),
    ("langchain_qwq.ChatQwQ", "dashscope", "qwen3.7-plus", {}, {"preserve_thinking": True}),
    ("langchain_fireworks.ChatFireworks", "fireworks", "glm-4p7", {}, {"reasoning_history": "preserved"}),
    ("langchain_together.ChatTogether", "together", "glm-5", {}, {"chat_template_kwargs": {"clear_thinking": False}}),
    ("langchain_cerebras.ChatCerebras", "cerebras", "zai-glm-4.7", {}, {"clear_thinking": False}),
    ("langchain_moonshot.ChatMoonshot", "moonshot", "kimi-k2.6", {}, {"thinking": {"type": "enabled", "keep": "all"}}),
    # the caller's own value wins
    ("langchain_openai.ChatOpenAI", "zai", "glm-4.7", {"thinking": {"clear_thinking": True}}, {"thinking": {"clear_thinking": True}}),
]  # fmt: skip
PARAMETERS = ("thinking", "preserve_thinking", "clear_thinking", "reasoning_history", "chat_template_kwargs")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "rules", "model", "extra", "expected"), CASES)
def test_a_wider_window_sets_the_hosts_own_parameter_on_the_wire(name, rules, model, extra, expected, strict_hosts):
    host = strict_hosts("unknown")
    module, _, attribute = name.partition(".")
    chat = getattr(import_module(module), attribute)(
        model=model, base_url=host.url, api_key="k", **({"extra_body": extra} if extra else {})
    )

    def sent(**policy):
        wrapped = with_reasoning_replay(chat, Policy(aliases={host.name: rules}, **policy))
        wrapped.invoke(HISTORY)
        return {key: host.last.json[key] for key in PARAMETERS if key in host.last.json}

    assert sent() == extra
    assert sent(window="all") == expected
    assert sent() == extra  # the model is left as it was
