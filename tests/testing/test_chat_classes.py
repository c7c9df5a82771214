"""LangChain's own classes reach the chat, Responses and Ollama hosts as they are: how, and a tool loop to its end.

Where the bare class forgets reasoning that its host wants, the refusal is the expected end.
"""

from importlib import import_module, metadata
from importlib.util import find_spec

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import HumanMessage, ToolMessage

from reasoning_replay.testing import foreign_bytes

FORGETS = {"deepseek": "The `reasoning_content` in the thinking mode must be passed back to the API."}
"""ChatDeepSeek 1.1.1 does not send back what it captured."""


def get_weather(city: str) -> str:
    """The weather of a city."""


def usual(host, **more):
    return {"model": host.model, "base_url": host.url, "api_key": "k", "max_retries": 0, **more}


def groq(host):
    """Its SDK adds the path itself."""
    return usual(host, base_url=host.url.removesuffix("/openai/v1"))


def claude(host):
    return usual(host, max_tokens=4096, thinking={"type": "enabled", "budget_tokens": 1024})


def ollama(host):
    return {"model": host.model, "base_url": host.url, "reasoning": True}


def azure(host, **more):
    """The endpoint is the resource's root; the deployment is in the path."""
    return {
        "azure_endpoint": host.url,
        "azure_deployment": host.model,
        "api_version": "2025-04-01-preview",
        "api_key": "k",
        "max_retries": 0,
        **more,
    }


CLASSES = {
    "ChatDeepSeek": ("deepseek", "langchain_deepseek", usual),
    "ChatMoonshot": ("moonshot", "langchain_moonshot", usual),
    "ChatGroq": ("groq", "langchain_groq", groq),
    "ChatMistralAI": ("mistral", "langchain_mistralai", lambda host: usual(host, max_retries=1)),
    "ChatCerebras": ("cerebras", "langchain_cerebras", usual),
    "ChatOpenRouter": ("openrouter", "langchain_openrouter", usual),
    "ChatAnthropic": ("anthropic", "langchain_anthropic", claude),
    "ChatXAI": ("xai", "langchain_xai", usual),
    "ChatXAI, Responses": ("xai-responses", "langchain_xai", lambda host: usual(host, use_responses_api=True)),
    "ChatFireworks": ("fireworks", "langchain_fireworks", usual),
    "ChatTogether": ("together", "langchain_together", usual),
    "ChatQwen": ("dashscope", "langchain_qwq", usual),
    "ChatQwQ": ("dashscope", "langchain_qwq", lambda host: usual(host, model="qwq-plus")),
    "ChatOllama": ("ollama", "langchain_ollama", ollama),
    "ChatOpenAI": ("openai", "langchain_openai", usual),
    "ChatOpenAI, Responses": ("openai-responses", "langchain_openai", lambda host: usual(host, use_responses_api=True)),
    "ChatOpenAI, not stored": (
        "openai-responses",
        "langchain_openai",
        lambda host: usual(host, use_responses_api=True, store=False),
    ),
    "ChatOpenAI, stored history": (
        "openai-responses",
        "langchain_openai",
        lambda host: usual(host, use_previous_response_id=True),
    ),
    "AzureChatOpenAI": ("azure", "langchain_openai", azure),
    "AzureChatOpenAI, Responses": (
        "azure-responses",
        "langchain_openai",
        lambda host: azure(host, use_responses_api=True),
    ),
}


def joined(chunks):
    whole, *rest = chunks
    for chunk in rest:
        whole += chunk
    return whole


WAYS = {
    "invoke": lambda model, messages: model.invoke(messages),
    "stream": lambda model, messages: joined(list(model.stream(messages))),
}


@pytest.mark.filterwarnings("ignore")  # the classes' own
@pytest.mark.parametrize(("way", "version"), [("invoke", "v0"), ("stream", "v0"), ("stream", "v1")])
@pytest.mark.parametrize("key", CLASSES)
def test_a_bare_class_plays_a_loop_of_two_turns(strict_hosts, key, way, version):
    name, package, given = CLASSES[key]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    if (
        key == "ChatOpenRouter"
        and way == "stream"
        and tuple(map(int, metadata.version("openrouter").split(".")[:2])) < (0, 11)
    ):
        pytest.skip("with this SDK the bare class hands streamed details on in pieces, and they are refused")
    host = strict_hosts(name)
    more = {"output_version": version} if version == "v1" else {}
    cls = getattr(import_module(package), key.partition(",")[0])
    model = cls(**given(host), **more).bind_tools([get_weather])
    if name in FORGETS:
        with pytest.raises(Exception, match="must be passed back"):
            play(model, way)
        assert [FORGETS[name]] == host.refusals
        return

    said = [m for m in play(model, way) if hasattr(m, "tool_calls")]
    assert (6, [], []) == (len(host.requests), host.refusals, host.faults)
    assert [1, 1, 0, 1, 1, 0] == [len(m.tool_calls) for m in said]
    assert {20} == {m.usage_metadata["total_tokens"] for m in said}
    assert [] == foreign_bytes([host])


def play(model, way):
    messages = []
    for question in ("How is the weather?", "And tomorrow?"):
        messages.append(HumanMessage(question))
        for _ in range(3):
            reply = WAYS[way](model, messages)
            messages += [reply, *(ToolMessage("3C", tool_call_id=made["id"]) for made in reply.tool_calls)]
    return messages
