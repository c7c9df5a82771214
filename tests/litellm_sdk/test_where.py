"""Every way to send a call elsewhere is seen: what one host wrote never follows to the host that is really called."""

import types

import litellm
import openai
import pytest

from litellm_calls import MODES, TOOLS, append, close, collected, go_on, run, target
from reasoning_replay import Origin, adopt
from reasoning_replay._origin import host_of
from reasoning_replay.litellm._carriers import carrier_of
from reasoning_replay.litellm._target import predicted_url
from reasoning_replay.testing import canaries_in

OVERRIDES = {
    "api_base": ("unknown", "openai/m", lambda host, patch: {"api_base": host.url}),
    "base_url": ("unknown", "openai/m", lambda host, patch: {"base_url": host.url}),
    "OPENAI_BASE_URL": ("unknown", "openai/m", lambda host, patch: patch.setenv("OPENAI_BASE_URL", host.url)),
    "OPENAI_API_BASE": ("unknown", "openai/m", lambda host, patch: patch.setenv("OPENAI_API_BASE", host.url)),
    "the global, openai": ("unknown", "openai/m", lambda host, patch: patch.setattr(litellm, "api_base", host.url)),
    "ANTHROPIC_API_BASE": ("anthropic", None, lambda host, patch: patch.setenv("ANTHROPIC_API_BASE", host.url)),
    "ANTHROPIC_BASE_URL": ("anthropic", None, lambda host, patch: patch.setenv("ANTHROPIC_BASE_URL", host.url)),
    "the global, anthropic": ("anthropic", None, lambda host, patch: patch.setattr(litellm, "api_base", host.url)),
    "OPENROUTER_API_BASE": ("openrouter", None, lambda host, patch: patch.setenv("OPENROUTER_API_BASE", host.url)),
    "the global, openrouter": ("openrouter", None, lambda host, patch: patch.setattr(litellm, "api_base", host.url)),
    "DEEPSEEK_API_BASE": ("deepseek", None, lambda host, patch: patch.setenv("DEEPSEEK_API_BASE", host.url)),
    "GROQ_API_BASE": ("groq", None, lambda host, patch: patch.setenv("GROQ_API_BASE", host.url)),
    "MOONSHOT_API_BASE": ("moonshot", None, lambda host, patch: patch.setenv("MOONSHOT_API_BASE", host.url)),
    "CEREBRAS_API_BASE": ("cerebras", None, lambda host, patch: patch.setenv("CEREBRAS_API_BASE", host.url)),
    "MISTRAL_AZURE_API_BASE": ("mistral", None, lambda host, patch: patch.setenv("MISTRAL_AZURE_API_BASE", host.url)),
    "HOSTED_VLLM_API_BASE": (
        "unknown",
        "hosted_vllm/m",
        lambda host, patch: patch.setenv("HOSTED_VLLM_API_BASE", host.url),
    ),
    "the global, vLLM": ("unknown", "hosted_vllm/m", lambda host, patch: patch.setattr(litellm, "api_base", host.url)),
    "FIREWORKS_API_BASE": (
        "unknown",
        "fireworks_ai/m",
        lambda host, patch: patch.setenv("FIREWORKS_API_BASE", host.url),
    ),
    "TOGETHER_AI_API_BASE": (
        "unknown",
        "together_ai/m",
        lambda host, patch: patch.setenv("TOGETHER_AI_API_BASE", host.url),
    ),
    "ZAI_API_BASE": ("unknown", "zai/m", lambda host, patch: patch.setenv("ZAI_API_BASE", host.url)),
    "LM_STUDIO_API_BASE": ("unknown", "lm_studio/m", lambda host, patch: patch.setenv("LM_STUDIO_API_BASE", host.url)),
    "the global, LM Studio": (
        "unknown",
        "lm_studio/m",
        lambda host, patch: patch.setattr(litellm, "api_base", host.url),
    ),
    "AZURE_API_BASE": (
        "unknown",
        "azure/m",
        lambda host, patch: patch.setenv("AZURE_API_BASE", host.url) or {"api_version": "2024-10-21"},
    ),
    "the global, Azure": (
        "unknown",
        "azure/m",
        lambda host, patch: patch.setattr(litellm, "api_base", host.url) or {"api_version": "2024-10-21"},
    ),
    "base_url, cerebras": ("cerebras", None, lambda host, patch: {"base_url": host.url}),
    "base_url, deepseek": ("deepseek", None, lambda host, patch: {"base_url": host.url}),
    "base_url, groq": ("groq", None, lambda host, patch: {"base_url": host.url}),
    "base_url, mistral": ("mistral", None, lambda host, patch: {"base_url": host.url}),
    "base_url, anthropic": ("anthropic", None, lambda host, patch: {"base_url": host.url}),
    "the alias map": (
        "unknown",
        "short",
        lambda host, patch: patch.setattr(litellm, "model_alias_map", {"short": "openai/m"}) or {"api_base": host.url},
    ),
}
DEFAULTS = {
    "openai": "https://api.openai.com",
    "short": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "openrouter": "https://openrouter.ai",
    "deepseek": "https://api.deepseek.com",
    "groq": "https://api.groq.com",
    "moonshot": "https://api.moonshot.ai",
    "cerebras": "https://api.cerebras.ai",
    "mistral": "https://api.mistral.ai",
    "fireworks_ai": "https://api.fireworks.ai",
    "together_ai": "https://api.together.ai",
    "zai": "https://api.z.ai",
    "hosted_vllm": "https://vllm.example",
    "lm_studio": "https://studio.example",
    "azure": "https://mine.openai.azure.com",
}
"""LiteLLM's prefix -> where its calls go, or might, when nothing moves them."""
BLOCK = {"type": "thinking", "thinking": "CANARY-written-elsewhere", "signature": "c2lnbmVk"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}


def history_of(origin):
    """A running tool loop whose reasoning was all written at `origin`."""
    reply = {
        "role": "assistant",
        "content": None,
        "tool_calls": [CALL],
        "reasoning_content": "CANARY-written-elsewhere",
        "thinking_blocks": [BLOCK],
        "provider_specific_fields": {
            "reasoning_details": [{"type": "reasoning.text", "text": "CANARY-written-elsewhere"}]
        },
    }
    asked = {"role": "user", "content": "How is the weather?"}
    answered = {"role": "tool", "tool_call_id": "call_1", "content": "3C"}
    return adopt([asked, reply, answered], origin, form="litellm")


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("override", OVERRIDES)
def test_the_default_hosts_reasoning_does_not_follow_an_override(
    override, asynchronous, strict_hosts, install, monkeypatch
):
    if asynchronous and override == "the alias map":
        pytest.skip("acompletion of LiteLLM 1.110.2 does not look there")
    host, named = _sent_to(override, strict_hosts, install, monkeypatch)
    kind = host.kind
    dialect = "anthropic" if kind == "anthropic" else "chat"
    messages = history_of(Origin(DEFAULTS[named["model"].split("/")[0]], dialect=dialect, model=host.model))
    _call(asynchronous, {**named, "messages": messages})
    assert b"CANARY-written-elsewhere" not in host.last.raw
    assert [] == host.refusals


@pytest.mark.parametrize("override", OVERRIDES)
def test_behind_an_override_a_hosts_own_reasoning_comes_back(override, strict_hosts, install, monkeypatch):
    host, named = _sent_to(override, strict_hosts, install, monkeypatch)
    messages = [{"role": "user", "content": "How is the weather?"}]
    while append(messages, litellm.completion(**{**named, "messages": messages})):
        pass
    assert [] == host.refusals + host.lost()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("place", ["OLLAMA_API_BASE", "the global"])
def test_ollamas_bases_move_no_reasoning_either(place, asynchronous, strict_hosts, install, monkeypatch):
    host = strict_hosts("unknown")
    install(host)
    if place == "the global":
        monkeypatch.setattr(litellm, "api_base", host.url)
    else:
        monkeypatch.setenv(place, host.url)
    messages = history_of(Origin("http://localhost:11434", dialect="ollama", model="m"))
    with pytest.raises(litellm.exceptions.NotFoundError):  # a strict host speaks no Ollama; what it got is what counts
        _call(asynchronous, {"model": "ollama_chat/m", "messages": messages, "tools": TOOLS, "max_retries": 0})
    assert 3 == len(host.last.messages)
    assert [] == canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_clients_own_base_wins_and_is_seen(asynchronous, strict_hosts, install):
    here, there = strict_hosts("unknown"), strict_hosts("unknown")
    install(here, there)
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES["sync"](here, messages))
    make = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    client = make(base_url=there.url, api_key="k")
    named = {"model": "openai/some-model", "messages": messages, "tools": TOOLS, "client": client, "api_key": "k"}
    append(messages, _call(asynchronous, named))
    assert 1 == len(there.requests)
    assert b"CANARY" not in there.last.raw
    _call(asynchronous, {**named, "messages": messages})
    close(client)
    assert [] == there.lost()


THROUGH_IT = ("openai/m", "custom_openai/m", "moonshot/kimi-k2.6", "zai/glm-5", "cerebras/gpt-oss-120b", "lm_studio/m")


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("model", THROUGH_IT)
def test_a_client_that_litellm_uses_is_the_host_in_every_way_to_call(model, mode, strict_hosts, install):
    here, there = strict_hosts("unknown"), strict_hosts("unknown")
    install()

    def ask(host, messages):
        make = openai.AsyncOpenAI if "async" in mode else openai.OpenAI
        client = make(base_url=host.url, api_key="k", max_retries=0)
        named = {"model": model, "messages": messages, "tools": TOOLS, "client": client, "api_key": "k"}
        try:
            return _call("async" in mode, named) if "stream" not in mode else _streamed("async" in mode, named)
        finally:
            close(client)

    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, ask(here, messages))
    assert here.name in messages[1].provider_specific_fields["reasoning_replay"]["id"]
    ask(there, messages)
    assert [] == canaries_in(there.last.raw.decode())
    ask(here, messages)
    assert [] == here.lost()


IGNORE_IT = {"deepseek": "deepseek/m", "unknown": "hosted_vllm/m", "anthropic": "anthropic/claude-sonnet-4-5"}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", IGNORE_IT)
def test_a_shared_client_that_litellm_does_not_use_there_moves_nothing(kind, asynchronous, strict_hosts, install):
    host, elsewhere = strict_hosts(kind), strict_hosts("unknown")
    install(host, elsewhere)
    make = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    client = make(base_url=elsewhere.url, api_key="x")
    more = {} if kind == "anthropic" else {"client": client}  # its own handler would call methods that it has not
    named = {**target(host), "model": IGNORE_IT[kind], "tools": TOOLS, **more}
    messages = [{"role": "user", "content": "How is the weather?"}]
    while append(messages, _call(asynchronous, {**named, "messages": messages})):
        pass
    close(client)
    assert [] == host.refusals + host.lost() + elsewhere.requests


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_an_azure_clients_own_reasoning_comes_back(asynchronous, strict_hosts, install, monkeypatch):
    host = strict_hosts("unknown")
    install(host)
    make = openai.AsyncAzureOpenAI if asynchronous else openai.AzureOpenAI
    client = make(azure_endpoint=f"http://{host.name}", api_key="x", api_version="2024-10-21")
    named = {"model": "azure/m", "client": client, "tools": TOOLS}
    messages = [{"role": "user", "content": "How is the weather?"}]
    while append(messages, _call(asynchronous, {**named, "messages": messages})):
        pass
    close(client)
    assert [] == host.refusals + host.lost()
    assert 3 == len(host.requests)


def test_a_report_says_what_litellm_itself_has_dropped(strict_hosts, install):
    from reasoning_replay.litellm import report_of

    host = strict_hosts("unknown")
    install(host)
    messages = [{"role": "user", "content": "How is the weather?"}]
    named = {"model": "databricks/m", "api_base": host.url, "api_key": "k", "tools": TOOLS}
    append(messages, litellm.completion(**named, messages=messages))
    reply = litellm.completion(**named, messages=messages)
    assert [] == canaries_in(host.last.raw.decode())
    assert 0 == report_of(reply).counts().get("keep", 0)


def test_a_look_alike_of_a_host_is_another_host(strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    port = host.name.rpartition(":")[2]
    for name in (f"127.0.0.1.:{port}", f"localhost:{port}", f"127.0.0.1:{port}@evil.example", "127.0.0.1"):
        messages = history_of(Origin(name, model=host.model))
        MODES["sync"](host, messages)
        if Origin(name).host != host.name:
            assert b"CANARY-written-elsewhere" not in host.last.raw


def test_credentials_in_a_base_are_in_no_mark_and_no_report(strict_hosts, install):
    from reasoning_replay.litellm import report_of

    host = strict_hosts("unknown")
    install(host)
    base = host.url.replace("http://", "http://me:secret@")
    messages = [{"role": "user", "content": "q"}]
    reply = MODES["sync"](host, messages, api_base=base)
    assert "secret" not in str(reply.choices[0].message.provider_specific_fields)
    assert "secret" not in str(report_of(reply))


def test_a_loop_goes_on_at_a_host_that_no_rule_file_knows(strict_hosts, install):
    host = strict_hosts("unknown")
    install()
    messages = [{"role": "user", "content": "q"}]
    go_on("async", host, messages)
    assert [] == host.refusals + host.lost()


PREDICTED = {
    ("vertex_ai", "gemini-3-pro"): "us-central1-aiplatform.googleapis.com",
    ("vertex_ai", "claude-opus-4-6"): "us-central1-aiplatform.googleapis.com",
    ("gemini", "gemini-3-pro"): "generativelanguage.googleapis.com",
    ("anthropic", "claude-opus-4-6"): "api.anthropic.com",
    ("openrouter", "z-ai/glm-5"): "openrouter.ai",
    ("openai", "gpt-5.5"): "api.openai.com",
    ("minimax", "m3"): "api.minimax.io",
}


@pytest.mark.parametrize("call", PREDICTED, ids=str)
def test_a_vendors_own_host_is_known_before_the_call(call):
    host = host_of(predicted_url(call[0], carrier_of(*call), None, None, {}))
    assert PREDICTED[call] == host


def test_a_region_is_read_where_litellm_reads_it(monkeypatch):
    def told(provider, **params):
        url = predicted_url(provider, carrier_of(provider, "claude"), None, None, params)
        return None if url is None else host_of(url)

    assert "aiplatform.googleapis.com" == told("vertex_ai", vertex_location="global")
    assert "aiplatform.eu.rep.googleapis.com" == told("vertex_ai", vertex_location="eu")
    assert told("bedrock") is None
    assert "gate.example" == told("bedrock", aws_bedrock_runtime_endpoint="https://gate.example")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert "bedrock-runtime.eu-north-1.amazonaws.com" == told("bedrock")
    assert "bedrock-runtime.us-east-1.amazonaws.com" == told("bedrock", aws_region_name="us-east-1")


def test_a_signed_body_whose_host_is_not_known_goes_without_any_reasoning(strict_hosts, install):
    host = strict_hosts("unknown")
    callback = install(host)
    notes = types.SimpleNamespace(model_call_details={"call_type": "completion"})
    for name in ("sagemaker_chat", "sagemaker_nova", "some_new_one"):
        asked = {
            "messages": history_of(Origin("x.example")),
            "custom_llm_provider": name,
            "model": "m",
            "logging": notes,
        }
        assert [] == canaries_in(str(callback.before_dispatch(asked)["messages"]))
        assert "reasoning_replay" not in str(callback.before_dispatch(asked)["messages"])


def test_a_text_completion_is_left_alone(strict_hosts, install):
    install()
    notes = types.SimpleNamespace(model_call_details={"call_type": "completion"})
    reply = litellm.TextCompletionResponse(choices=[{"text": "x"}])
    litellm.callbacks[0].replied(reply, notes)
    assert "x" == reply.choices[0].text


def test_a_host_that_nobody_knows_before_the_call_is_not_guessed():
    assert predicted_url("some_new_one", carrier_of("some_new_one", "m"), None, None, {}) is None
    for model in ("us-east-1/anthropic.claude-opus-4-6", "arn:aws:bedrock:us-east-1:1:inference-profile/x"):
        asked = {"aws_region_name": "eu-north-1"}
        assert predicted_url("bedrock", carrier_of("bedrock", model), None, None, asked) is None


def _call(asynchronous, named):
    return run(litellm.acompletion(**named)) if asynchronous else litellm.completion(**named)


def _streamed(asynchronous, named):
    async def chunks():
        return await collected(await litellm.acompletion(**named, stream=True))

    return litellm.stream_chunk_builder(
        run(chunks()) if asynchronous else list(litellm.completion(**named, stream=True))
    )


def _sent_to(override, strict_hosts, install, monkeypatch):
    """A host that only the override leads to, and the call."""
    kind, model, send_to = OVERRIDES[override]
    host = strict_hosts(kind)
    install(host)
    named = {**target(host), "tools": TOOLS}
    del named["api_base"]
    return host, named | ({} if model is None else {"model": model}) | (send_to(host, monkeypatch) or {})
