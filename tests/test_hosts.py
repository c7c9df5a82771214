"""What the library's own rule files say, for the names that people and frameworks write."""

import difflib
import json
import os
import re
import time
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from reasoning_replay import prepare, rule_for
from reasoning_replay._origin import DIALECTS, Origin, host_of
from reasoning_replay._parse import parse
from reasoning_replay._rules import (
    Policy,
    RuleError,
    ask_to_keep,
    check,
    disable_thinking,
    find_host,
    holds_key,
    select,
    thinking_of,
    upstream_of,
)
from reasoning_replay.hosts import all_hosts, builtin

MATRIX = Path(__file__).with_name("rules.matrix.txt")
ON_DISK = {
    file.name: file.read_text("utf-8")
    for file in files("reasoning_replay.hosts").iterdir()
    if file.name.endswith(".toml")
}


def choose(url, model, request=None, *, dialect="chat", hint=None, used_tools=False, path=None, policy=None):
    target = Origin.from_url(url, dialect=dialect, model=model)
    return select(builtin(), target, request, policy=policy, hint=hint, used_tools=used_tools, path=path)


def name_of(host):
    """A name that the file answers to; for a self-hosted server one that only a hint or an alias can explain."""
    return host.hosts[0].replace("*", "x") if host.hosts else "nobody.example"


def facts(choice):
    rule = choice.rule
    return rule.window, rule.requirement, rule.write, rule.missing and (rule.missing.on, rule.missing.fill)


# --- the files


def used(name):
    """Another file of the library, for the rules that use it."""
    return parse(ON_DISK[f"{name}.toml"], f"hosts/{name}.toml") if f"{name}.toml" in ON_DISK else None


@pytest.mark.parametrize("name", ON_DISK)
def test_a_file_of_the_library_passes_every_check_at_load(name):
    host = parse(ON_DISK[name], f"hosts/{name}", others=used)
    assert f"{host.id}.toml" == name


def test_no_two_files_claim_the_same():
    check(builtin())


def test_the_files_are_read_once_and_in_order():
    assert builtin() is builtin()
    assert [host.id for host in builtin()] == [name.removesuffix(".toml") for name in sorted(ON_DISK)]


def test_unknown_has_a_rule_for_every_dialect_and_no_host():
    unknown = find_host(builtin(), "nobody.example")
    assert (unknown.id, unknown.hosts) == ("unknown", ())
    assert [rule.dialect for rule in unknown.rules] == list(DIALECTS)


def test_what_a_pattern_says_is_what_host_of_gives():
    for host in builtin():
        for name in host.hosts:
            assert "*" in name or host_of(name) == name


# --- who is who

NAMES = {
    "https://api.deepseek.com/v1": "deepseek",
    "https://API.DeepSeek.com./beta": "deepseek",
    "https://api.deepseek.com:443/anthropic": "deepseek",
    "http://api.deepseek.com:80": "deepseek",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "https://api.groq.com/openai/v1": "groq",
    "https://api.mistral.ai/v1": "mistral",
    "https://api.cerebras.ai/v1": "cerebras",
    "https://openrouter.ai/api/v1": "openrouter",
    "https://api.openai.com/v1": "openai",
    "https://eu.api.openai.com/v1": "openai",
    "https://api.anthropic.com/v1/messages": "anthropic",
    "https://api.fireworks.ai/inference/v1": "fireworks",
    "https://api.together.xyz/v1": "together",
    "https://api.z.ai/api/paas/v4": "zai",
    "https://open.bigmodel.cn/api/paas/v4": "zai",
    "http://localhost:11434/v1": "ollama",
    "http://127.0.0.1:11434": "ollama",
    "http://[::1]:11434/v1": "ollama",
    "https://ollama.com/v1": "ollama",
    "http://host.docker.internal:11434": "ollama",
    "https://api.eu.mistral.ai/v1": "mistral",
    "https://generativelanguage.googleapis.com/v1beta/openai": "gemini",
    "https://us-central1-aiplatform.googleapis.com": "vertex",
    "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi": "vertex",
    "https://aiplatform.eu.rep.googleapis.com": "vertex",
    "https://bedrock-runtime.us-east-1.amazonaws.com": "bedrock",
    "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com": "bedrock",
    "https://vpce-0a-1b.bedrock-runtime.eu-west-1.vpce.amazonaws.com": "bedrock",
    "https://bedrock-mantle.us-east-1.api.aws/v1": "bedrock",
    "https://aws-external-anthropic.us-east-1.api.aws": "anthropic",
    "https://res.openai.azure.com/openai/v1": "azure",
    "https://res.services.ai.azure.com/anthropic": "azure",
    "https://res.cognitiveservices.azure.com": "azure",
    "https://api.x.ai/v1": "xai",
    "https://us.api.x.ai/v1": "xai",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "dashscope",
    "https://ws-1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1": "dashscope",
    "https://api.kimi.com/coding/v1": "kimi-code",
    "https://api.minimaxi.com/v1": "minimax",
    "https://ai-gateway.vercel.sh/v1": "vercel",
    "https://token-plan-sgp.xiaomimimo.com/v1": "mimo",
    "https://api.stepfun.ai/step_plan/v1": "stepfun",
    "https://ark.cn-beijing.volces.com/api/v3": "volcengine",
    "https://ark.ap-southeast.bytepluses.com/api/v3": "volcengine",
    "https://qianfan.baidubce.com/v2": "qianfan",
    "https://api.lkeap.cloud.tencent.com/coding/v3": "tencent",
    "https://api.siliconflow.cn/v1": "siliconflow",
    "https://api.novita.ai/openai": "novita",
    "https://api.deepinfra.com/v1/openai": "deepinfra",
    "https://api.sambanova.ai/v1": "sambanova",
    "https://integrate.api.nvidia.com/v1": "nvidia",
    "https://api.perplexity.ai": "perplexity",
    "https://router.huggingface.co/v1": "huggingface",
    "https://api.githubcopilot.com": "copilot",
    "https://api.business.githubcopilot.com": "copilot",
    "https://opencode.ai/zen/v1": "opencode",
    "https://api.cloudflare.com/client/v4/accounts/1/ai/v1": "cloudflare",
    "https://gateway.ai.cloudflare.com/v1/1/gw/compat": "cloudflare-gateway",
    "https://dbc-1.cloud.databricks.com/serving-endpoints": "databricks",
    "https://adb-1.2.azuredatabricks.net/serving-endpoints": "databricks",
    "https://acct.snowflakecomputing.com/api/v2/cortex/v1": "snowflake",
    "https://acct.us-east-1.privatelink.snowflakecomputing.com": "snowflake",
    "http://localhost:1234/v1": "lmstudio",
    "https://inference.baseten.co/v1": "baseten",
    "https://api.venice.ai/api/v1": "venice",
    "https://api.longcat.chat/openai": "longcat",
    "https://api.cohere.com/v2/chat": "cohere",
    "https://chatgpt.com/backend-api/codex": "chatgpt",
    # look-alikes
    "https://githubcopilot.com": "unknown",
    "https://api.githubcopilot.com.evil.io": "unknown",
    "https://token-plan.xiaomimimo.com.evil.io": "unknown",
    "https://x-token-plan-sgp.xiaomimimo.com": "unknown",
    "https://bedrock-runtime.us-east-1.evil.amazonaws.com": "unknown",
    "https://bedrock.us-east-1.amazonaws.com": "unknown",
    "https://s3.us-east-1.amazonaws.com": "unknown",
    "https://res.azure.com": "unknown",
    "https://openai.azure.com": "unknown",
    "https://storage.googleapis.com": "unknown",
    "https://x.aiplatform.evil.googleapis.com": "unknown",
    "https://maas.aliyuncs.com": "unknown",
    "https://api.deepseek.com@evil.io/v1": "unknown",
    "https://evil.io/api.deepseek.com": "unknown",
    "https://api.deepseek.com.evil.io": "unknown",
    "https://xapi.deepseek.com": "unknown",
    "https://api.deepseek.co": "unknown",
    "https://api-deepseek.com": "unknown",
    "https://deepseek.com": "unknown",
    "https://api.deepseek.com:8443": "unknown",
    "http://api.deepseek.com:443": "unknown",
    "https://openrouter.ai.evil.io": "unknown",
    "https://evil-openrouter.ai": "unknown",
    "https://xx.api.openai.com": "unknown",
    "https://api.openai.com.evil.io": "unknown",
    "http://localhost:11435/v1": "unknown",
    "http://localhost/v1": "unknown",
    "custom:deepseek": "unknown",
}


@pytest.mark.parametrize("url", NAMES)
def test_a_url_belongs_to_one_file_and_a_look_alike_to_none(url):
    assert find_host(builtin(), host_of(url)).id == NAMES[url]


HINTS = {
    "deepseek": "deepseek", "ChatDeepSeek": "deepseek", "moonshot": "moonshot", "groq": "groq", "ChatGroq": "groq",
    "mistral": "mistral", "cerebras": "cerebras", "openrouter": "openrouter", "anthropic": "anthropic",
    "fireworks_ai": "fireworks", "together_ai": "together", "zai": "zai", "ollama_chat": "ollama", "ollama": "ollama",
    "hosted_vllm": "vllm", "llamafile": "llamacpp", "gemini": "gemini", "ChatGoogleGenerativeAI": "gemini",
    "vertex_ai": "vertex", "ChatVertexAI": "vertex", "bedrock": "bedrock", "ChatBedrockConverse": "bedrock",
    "azure": "azure", "azure_ai": "azure", "AzureChatOpenAI": "azure", "xai": "xai", "ChatXAI": "xai",
    "dashscope": "dashscope", "ChatQwQ": "dashscope", "ChatQwen": "dashscope", "minimax": "minimax",
    "vercel_ai_gateway": "vercel", "xiaomi_mimo": "mimo", "volcengine": "volcengine", "tencent": "tencent",
    "novita": "novita", "deepinfra": "deepinfra", "sambanova": "sambanova", "nvidia_nim": "nvidia", "ChatNVIDIA": "nvidia",
    "perplexity": "perplexity", "ChatPerplexity": "perplexity", "huggingface": "huggingface",
    "ChatHuggingFace": "huggingface", "github_copilot": "copilot", "opencode_go": "opencode", "cloudflare": "cloudflare",
    "clf_ai_gateway": "cloudflare-gateway", "databricks": "databricks", "ChatDatabricks": "databricks",
    "snowflake": "snowflake", "lm_studio": "lmstudio", "litellm_proxy": "litellm-proxy", "baseten": "baseten",
    "veniceai": "venice", "cohere_chat": "cohere", "ChatCohere": "cohere", "chatgpt": "chatgpt", "bigmodel": "zai",
    "bedrock_mantle": "bedrock", "codestral": "mistral", "sglang": "sglang",
    # how a request is spoken says nothing about who answers it
    "openai": "unknown", "custom_openai": "unknown", "ChatOpenAI": "unknown", None: "unknown",
}  # fmt: skip


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_names_the_host_at_a_url_that_nobody_knows(hint):
    assert find_host(builtin(), "gw.corp.example", hint=hint).id == HINTS[hint]


def test_a_hint_never_overrules_a_url_that_is_known():
    assert find_host(builtin(), "api.groq.com", hint="deepseek").id == "groq"


def test_an_alias_overrules_both():
    policy = Policy(aliases={"gw.corp.example": "openai"})
    assert find_host(builtin(), "gw.corp.example", policy=policy, hint="deepseek").id == "openai"


# --- DeepSeek


TOOLS = {"tools": [{"type": "function"}]}
OFF = {"thinking": {"type": "disabled"}}
EVERYWHERE = ("all_assistant", "")


@pytest.mark.parametrize(
    "model", ["deepseek-v4-pro", "deepseek/deepseek-v4-flash", "deepseek-flash", "deepseek-v5", None]
)
@pytest.mark.parametrize(
    ("request_", "window", "requirement", "missing"),
    [
        (TOOLS, "all", "required", EVERYWHERE),
        ({}, "current_turn", "required", EVERYWHERE),
        ({"reasoning_effort": "high", **TOOLS}, "all", "required", EVERYWHERE),
        ({**OFF, **TOOLS}, "none", "ignored", None),
        ({"extra_body": OFF, **TOOLS}, "none", "ignored", None),
        ({"reasoning_effort": "none"}, "none", "ignored", None),
    ],
)
def test_deepseek_v4_wants_all_turns_with_tools_the_current_one_without_and_none_when_off(
    model, request_, window, requirement, missing
):
    expected = (window, requirement, ("reasoning_content",), missing)
    assert facts(choose("api.deepseek.com", model, request_)) == expected


@pytest.mark.parametrize("model", ["deepseek-chat", "deepseek/deepseek-reasoner", "deepseek-v3.2", "deepseek-v3"])
def test_deepseek_v3_wants_the_current_turn_alone_even_with_tools(model):
    expected = ("current_turn", "required", ("reasoning_content",), ("current_turn", ""))
    assert facts(choose("api.deepseek.com", model, TOOLS)) == expected


def test_deepseek_r1_takes_nothing_whatever_the_policy():
    for policy in (None, Policy(window="all")):
        choice = choose("api.deepseek.com", "deepseek/deepseek-r1", TOOLS, policy=policy)
        assert facts(choice) == ("none", "forbidden", ("reasoning_content",), None)


def test_deepseek_in_the_anthropic_dialect_wants_a_block_on_tool_calls_and_no_redacted_one():
    choice = choose("https://api.deepseek.com/anthropic", "deepseek-v4-pro", TOOLS, dialect="anthropic")
    assert facts(choice) == ("all", "required", (), ("tool_calls", ""))
    assert (choice.rule.refuses, choice.rule.signature) == (frozenset({"redacted"}), "any")


def test_deepseek_keeps_the_empty_string_that_it_sent():
    assert choose("api.deepseek.com", "deepseek-v4-pro").rule.empty == "keep"


# --- Moonshot


@pytest.mark.parametrize(
    ("model", "request_", "expected"),
    [
        ("kimi-k2-thinking", {}, ("current_turn", "required", ("tool_calls", ""))),
        ("moonshot/kimi-k2.5", TOOLS, ("current_turn", "required", ("tool_calls", ""))),
        ("kimi-k2.5", OFF, ("none", "ignored", None)),
        ("kimi-k2.6", {}, ("current_turn", "required", ("tool_calls", ""))),
        ("kimi-k2.6", {"thinking": {"type": "enabled", "keep": "all"}}, ("all", "required", ("tool_calls", ""))),
        ("kimi-k2.7-code-highspeed", OFF, ("all", "required", ("tool_calls", ""))),
        ("kimi-k3", OFF, ("all", "recommended", ("all_assistant", ""))),
        ("moonshot/kimi-k3.1-pro", {}, ("all", "recommended", ("all_assistant", ""))),
        ("kimi-k4", {}, ("all", "required", ("tool_calls", ""))),
        ("moonshot-v1-8k", {}, ("none", "ignored", None)),
    ],
)
def test_moonshot_requires_the_field_on_tool_calls_and_k3_stops_reasoning_without_it(model, request_, expected):
    window, requirement, _, missing = facts(choose("api.moonshot.ai", model, request_))
    assert (window, requirement, missing) == expected


# --- hosts with a closed schema


@pytest.mark.parametrize(
    ("host", "carrier", "takes", "refuses"),
    [
        (
            "api.groq.com",
            "reasoning",
            ["openai/gpt-oss-120b", "groq/openai/gpt-oss-20b", "qwen/qwen3-32b", "groq/qwen/qwen3.8-27b"],
            ["llama-3.3-70b-versatile", "moonshotai/kimi-k2-instruct", "groq/new-model", "gemma2-9b-it", None],
        ),
        (
            "api.cerebras.ai",
            "reasoning",
            ["gpt-oss-120b", "cerebras/gpt-oss-120b", "zai-glm-4.7", "cerebras/zai-glm-5.3"],
            ["gemma-4-31b", "llama-3.3-70b", "cerebras/llama3.1-8b", "new-model", None],
        ),
        (
            "api.mistral.ai",
            "content.thinking",
            [
                "magistral-medium-latest", "mistral/magistral-small-2509", "mistral-small-2603", "mistral-small-latest",
                "mistral/mistral-medium-3-5", "mistral-medium-3.5", "mistral-large-4", "mistral/mistral-large-4-0",
            ],
            ["mistral-large-latest", "mistral-small-2506", "mistral-medium-3", "codestral-latest", "devstral-latest", None],
        ),
    ],
)  # fmt: skip
def test_a_strict_host_takes_reasoning_from_models_that_reason_and_refuses_it_from_the_rest(
    host, carrier, takes, refuses
):
    for model in takes:
        choice = choose(host, model)
        assert (choice.rule.strict, choice.rule.read, choice.rule.write) == (True, (carrier,), (carrier,)), model
        assert choice.rule.requirement == "optional", model
    for model in refuses:
        for policy in (None, Policy(window="all")):
            choice = choose(host, model, policy=policy)
            assert (choice.rule.strict, choice.rule.window, choice.rule.requirement) == (True, "none", "forbidden"), (
                model
            )


def test_cerebras_keeps_earlier_turns_of_glm_when_the_caller_asks_for_it():
    windows = [
        choose("api.cerebras.ai", "zai-glm-4.7", request).rule.window
        for request in (
            {},
            {"clear_thinking": True},
            {"clear_thinking": False},
            {"extra_body": {"clear_thinking": False}},
        )
    ]
    assert windows == ["current_turn", "current_turn", "all", "all"]


@pytest.mark.parametrize("policy", [None, Policy(window="all")])
@pytest.mark.parametrize("model", ["gpt-5.6", "o4-mini", "gpt-6", None])
def test_openai_chat_takes_nothing(model, policy):
    assert facts(choose("api.openai.com", model, policy=policy))[:2] == ("none", "forbidden")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("accounts/fireworks/models/kimi-k3", ("all", "required", ("all_assistant", ""))),
        ("fireworks_ai/accounts/fireworks/models/deepseek-v4-flash", ("all", "required", ("all_assistant", ""))),
        ("accounts/fireworks/models/kimi-k2p6", ("all", "optional", None)),
        ("accounts/fireworks/models/glm-4p7", ("current_turn", "optional", None)),
        ("accounts/fireworks/models/minimax-m2p1", ("current_turn", "optional", None)),
    ],
)
def test_fireworks_shows_the_model_what_its_history_parameter_says(model, expected):
    window, requirement, write, missing = facts(choose("api.fireworks.ai", model, {}))
    assert (window, requirement, missing) == expected
    assert write == ("reasoning_content",)
    if requirement == "optional":
        windows = [
            choose("api.fireworks.ai", model, {"reasoning_history": value}).rule.window
            for value in ("disabled", "interleaved", "preserved")
        ]
        assert windows == ["none", "current_turn", "current_turn" if "minimax" in model else "all"]


# --- OpenRouter


@pytest.mark.parametrize(
    ("model", "write", "signature", "requirement"),
    [
        ("anthropic/claude-opus-4.5", ("reasoning_details",), "required", "recommended"),
        ("openrouter/anthropic/claude-sonnet-5.5", ("reasoning_details",), "required", "recommended"),
        ("google/gemini-3-pro", ("reasoning_details",), "required", "recommended"),
        ("openai/gpt-5.6", ("reasoning_details", "reasoning"), "any", "recommended"),
        ("x-ai/grok-4", ("reasoning_details", "reasoning"), "any", "recommended"),
        ("deepseek/deepseek-v4-pro", ("reasoning_details", "reasoning_content"), "any", "required"),
        ("openrouter/deepseek/deepseek-v4-flash:free", ("reasoning_details", "reasoning_content"), "any", "required"),
        ("moonshotai/kimi-k2.6", ("reasoning_details", "reasoning_content"), "any", "required"),
        ("moonshotai/kimi-k3", ("reasoning_details", "reasoning_content"), "any", "recommended"),
        ("some/new-model", ("reasoning_details", "reasoning"), "any", "recommended"),
    ],
)
def test_openrouter_gets_details_back_and_signed_ones_alone_for_claude_and_gemini(model, write, signature, requirement):
    choice = choose("openrouter.ai", model, {})
    assert choice.host.router
    assert (choice.rule.write, choice.rule.signature, choice.rule.requirement) == (write, signature, requirement)
    assert choice.rule.window == "all"
    assert "upstream" in choice.rule.bound


def test_openrouter_refuses_reasoning_for_muse_spark():
    choice = choose("openrouter.ai", "meta/muse-spark-1.1", policy=Policy(window="all"))
    assert (choice.rule.window, choice.rule.requirement) == ("none", "forbidden")


@pytest.mark.parametrize(
    ("model", "bound"),
    [
        ("anthropic/claude-3.7-sonnet", False),
        ("anthropic/claude-sonnet-4", False),
        ("anthropic/claude-opus-4.6", False),
        ("anthropic/claude-opus-5", False),
        ("anthropic/claude-opus-5:beta", False),
        ("anthropic/claude-opus-5.5", True),
        ("anthropic/claude-opus-5-5", True),
        ("anthropic/claude-fable-5.1", True),
        ("anthropic/claude-opus-latest", True),
    ],
)
def test_a_claude_behind_the_router_binds_blocks_as_at_its_vendor(model, bound):
    assert ("prefix" in choose("openrouter.ai", model, {}).rule.bound) is bound


@pytest.mark.parametrize(
    ("model", "upstream"),
    [
        ("deepseek/deepseek-v4", "deepseek"),
        ("openrouter/deepseek/deepseek-v4", "deepseek"),
        ("openrouter/anthropic/claude-opus-4.5:beta", "anthropic"),
        ("ChatOpenRouter/x-ai/grok-4", "x-ai"),
        ("openrouter/auto", "auto"),
    ],
)
def test_the_vendor_behind_openrouter_is_in_the_name_of_the_model(model, upstream):
    choice = choose("openrouter.ai", model)
    assert upstream_of(choice.host, choice.rule, model) == upstream


# --- Responses


@pytest.mark.parametrize(
    ("url", "model", "strongest"),
    [
        ("api.openai.com", "gpt-5.6", {"account"}),
        ("api.openai.com", "openai/gpt-5.4-mini", {"account"}),
        ("api.openai.com", "o4-mini", {"account"}),
        ("res.openai.azure.com", "azure/gpt-5.6", set()),
        ("res.openai.azure.com", "my-deployment", set()),
        ("us.api.x.ai", "xai/grok-4.6", set()),
        ("bedrock-mantle.us-east-1.api.aws", "openai.gpt-5.6", {"account"}),
    ],
)
def test_responses_hosts_get_every_item_of_their_own_back(url, model, strongest):
    rule = choose(url, model, TOOLS, dialect="responses").rule
    assert (rule.window, rule.requirement, rule.signature, rule.bound) == ("all", "recommended", "any", strongest)


@pytest.mark.parametrize("model", ["grok-4.6", "xai/grok-3-mini", None])
def test_xai_chat_has_no_use_for_reasoning(model):
    assert facts(choose("api.x.ai", model, TOOLS))[:2] == ("none", "ignored")


# --- Azure's models


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("DeepSeek-V4-Pro", ("all", "required", EVERYWHERE)),
        ("azure_ai/deepseek-v4-flash", ("all", "required", EVERYWHERE)),
        ("azure_ai/Kimi-K2.5", ("current_turn", "optional", None)),
        ("azure/gpt-5.6", ("none", "forbidden", None)),
        ("azure_ai/Llama-4", ("none", "forbidden", None)),
        ("my-deployment", ("none", "forbidden", None)),
    ],
)
def test_azure_takes_reasoning_from_the_models_that_need_it_alone(model, expected):
    window, requirement, _, missing = facts(choose("res.services.ai.azure.com", model, TOOLS, hint="azure_ai"))
    assert (window, requirement, missing) == expected


# --- Gemini


@pytest.mark.parametrize(
    ("model", "requirement"),
    [
        ("gemini-3-pro-preview", "required"),
        ("models/gemini-3.1-flash", "required"),
        ("gemini/gemini-4-pro", "required"),
        ("gemini-flash-latest", "required"),
        ("models/gemini-2.5-flash", "optional"),
        ("vertex_ai/gemini-2.0-flash", "optional"),
    ],
)
@pytest.mark.parametrize("url", ["generativelanguage.googleapis.com", "us-central1-aiplatform.googleapis.com"])
def test_gemini_gets_every_signature_back_and_only_its_own_models(url, model, requirement):
    rule = choose(url, model, TOOLS, dialect="gemini").rule
    assert (rule.window, rule.requirement, rule.bound) == ("all", requirement, {"model"})
    sentinel = ("first_call", "skip_thought_signature_validator")
    assert (rule.missing and (rule.missing.on, rule.missing.fill)) == (sentinel if requirement == "required" else None)


@pytest.mark.parametrize(
    ("url", "model", "expected"),
    [
        ("generativelanguage.googleapis.com", "gemini-3-pro", ("all", "required", ("first_call", None))),
        ("generativelanguage.googleapis.com", "gemini-2.5-pro", ("all", "optional", None)),
        ("aiplatform.googleapis.com", "google/gemini-3-pro", ("all", "required", ("first_call", None))),
        ("aiplatform.googleapis.com", "google/gemini-2.5-pro", ("all", "optional", None)),
    ],
)
def test_the_compatible_endpoint_of_gemini_has_its_signatures_on_the_calls(url, model, expected):
    window, requirement, write, missing = facts(choose(url, model, TOOLS))
    assert (write, (window, requirement, missing)) == (("tool_calls.extra_content",), expected)


def test_models_of_others_on_vertex_get_their_own_key():
    assert facts(choose("aiplatform.googleapis.com", "zai-org/glm-5-maas", TOOLS)) == (
        "current_turn", "optional", ("reasoning_content",), None,
    )  # fmt: skip


def test_gemma_gets_nothing():
    for dialect in ("gemini", "chat"):
        choice = choose("generativelanguage.googleapis.com", "gemma-3-27b-it", TOOLS, dialect=dialect)
        assert choice.rule.window == "none"


# --- Bedrock


@pytest.mark.parametrize(
    ("model", "requirement"),
    [
        ("us.deepseek.r1-v1:0", "forbidden"),
        ("amazon.nova-pro-v1:0", "forbidden"),
        ("bedrock/us.amazon.nova-2-lite-v1:0", "forbidden"),
        ("openai.gpt-oss-120b-1:0", "ignored"),
        ("deepseek.v3.2", "ignored"),
        ("moonshotai.kimi-k2.5", "ignored"),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", "ignored"),
        (None, "ignored"),
    ],
)
def test_converse_takes_no_reasoning_of_other_models_than_claude(model, requirement):
    rule = choose("bedrock-runtime.us-east-1.amazonaws.com", model, TOOLS, dialect="bedrock").rule
    assert (rule.window, rule.requirement, rule.signature) == ("none", requirement, "forbidden")


# --- Who holds the key


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("bedrock-runtime.us-east-1.amazonaws.com", "bedrock-runtime.eu-west-1.amazonaws.com", True),
        ("us-central1-aiplatform.googleapis.com", "aiplatform.eu.rep.googleapis.com", True),
        ("api.openai.com", "eu.api.openai.com", True),
        ("one.openai.azure.com", "two.openai.azure.com", False),
        ("generativelanguage.googleapis.com", "us-central1-aiplatform.googleapis.com", False),
        ("api.anthropic.com", "bedrock-runtime.us-east-1.amazonaws.com", False),
    ],
)
def test_regions_share_a_key_and_resources_do_not(one, other, expected):
    holds = holds_key(choose(one, None, dialect="anthropic"))
    assert (holds is not None and holds(other)) is expected


@pytest.mark.parametrize(
    ("url", "joined"),
    [
        ("bedrock-runtime.us-east-1.amazonaws.com", True),
        ("us-central1-aiplatform.googleapis.com", True),
        ("res.services.ai.azure.com", False),  # the vendor's promise does not name it
    ],
)
def test_a_policy_joins_the_platforms_that_anthropic_names(url, joined):
    policy = Policy(sealed="family")
    holds = holds_key(choose(url, "claude-opus-4-5", dialect="anthropic", policy=policy), policy)
    assert (holds is not None and holds("api.anthropic.com")) is joined


# --- All the others, one by one

HELD, RUNNING, NOTHING = "all", "current_turn", "none"
CALLS = ("tool_calls", "")
TEXT, OTHER, TAGS = ("reasoning_content",), ("reasoning",), ("content.think", "reasoning_details")
OTHERS = [
    ("api.kimi.com", "k3", {}, (HELD, "required", TEXT, CALLS)),
    ("api.kimi.com", "k3-256k", OFF, (HELD, "required", TEXT, CALLS)),
    ("api.kimi.com", "kimi-for-coding", {}, (HELD, "required", TEXT, CALLS)),
    ("api.kimi.com", "kimi-for-coding", OFF, (NOTHING, "ignored", TEXT, None)),
    ("api.minimax.io", "MiniMax-M2.5", OFF, (RUNNING, "recommended", TAGS, None)),
    ("api.minimax.io", "minimax/MiniMax-M3", {}, (RUNNING, "recommended", TAGS, None)),
    ("api.minimax.io", "MiniMax-M3", OFF, (NOTHING, "ignored", TAGS, None)),
    ("ai-gateway.vercel.sh", "deepseek/deepseek-v3.2-thinking", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("ai-gateway.vercel.sh", "moonshotai/kimi-k2.6", {}, (RUNNING, "recommended", ("reasoning_details", "reasoning"), None)),
    ("api.xiaomimimo.com", "mimo-v2.5-pro", TOOLS, (RUNNING, "required", TEXT, CALLS)),
    ("api.xiaomimimo.com", "mimo-v2-flash", TOOLS, (NOTHING, "ignored", TEXT, None)),
    ("api.xiaomimimo.com", "mimo-v2-flash", {"thinking": {"type": "enabled"}}, (RUNNING, "required", TEXT, CALLS)),
    ("api.xiaomimimo.com", "mimo-v2.6-flash", OFF, (NOTHING, "ignored", TEXT, None)),
    ("api.stepfun.com", "step-3.7-flash", {}, (RUNNING, "optional", ("same",), None)),
    ("ark.cn-beijing.volces.com", "doubao-seed-2-1-pro-260628", {}, (RUNNING, "recommended", TEXT, None)),
    ("ark.cn-beijing.volces.com", "ep-2026", OFF, (NOTHING, "ignored", TEXT, None)),
    ("qianfan.baidubce.com", "ernie-5.0", {}, (RUNNING, "optional", TEXT, None)),
    ("tokenhub.tencentmaas.com", "hy4-preview", {}, (RUNNING, "optional", TEXT, None)),
    ("api.siliconflow.com", "moonshotai/Kimi-K3", {}, (RUNNING, "optional", TEXT, None)),
    ("api.novita.ai", "deepseek/deepseek-v3.2", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("api.novita.ai", "novita/minimax/minimax-m2", {}, (RUNNING, "recommended", ("same",), None)),
    ("api.deepinfra.com", "deepseek-ai/DeepSeek-V4-Pro", {}, (RUNNING, "optional", TEXT, None)),
    ("api.sambanova.ai", "sambanova/gpt-oss-120b", {}, (RUNNING, "optional", OTHER, None)),
    ("api.sambanova.ai", "Llama-4-Maverick", {}, (NOTHING, "forbidden", OTHER, None)),
    ("integrate.api.nvidia.com", "moonshotai/kimi-k2.6", {}, (RUNNING, "required", TEXT, CALLS)),
    ("integrate.api.nvidia.com", "z-ai/glm-5.2", {}, (RUNNING, "required", TEXT, CALLS)),
    ("integrate.api.nvidia.com", "qwen/qwen3-32b", {}, (RUNNING, "optional", ("same",), None)),
    ("api.perplexity.ai", "sonar-reasoning-pro", {}, (NOTHING, "ignored", TEXT, None)),
    ("api.perplexity.ai", "moonshot-ai/kimi-k3", {}, (RUNNING, "optional", TEXT, None)),
    ("router.huggingface.co", "google/gemma-4-31b:cerebras", {}, (NOTHING, "forbidden", ("same",), None)),
    ("router.huggingface.co", "deepseek-ai/DeepSeek-V3.2:novita", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("router.huggingface.co", "openai/gpt-oss-120b:groq", {}, (RUNNING, "optional", ("same",), None)),
    ("api.githubcopilot.com", "claude-sonnet-4.6", {}, (HELD, "optional", ("reasoning_text", "reasoning_opaque"), None)),
    ("opencode.ai", "deepseek-v4-flash", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("opencode.ai", "kimi-k2.6", {}, (RUNNING, "required", TEXT, CALLS)),
    ("opencode.ai", "glm-5.2", {}, (RUNNING, "recommended", TEXT, None)),
    ("opencode.ai", "muse-spark", {}, (NOTHING, "forbidden", TEXT, None)),
    ("api.cloudflare.com", "@cf/deepseek-ai/deepseek-v4-pro", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("api.cloudflare.com", "@cf/moonshotai/kimi-k2.6", {}, (RUNNING, "recommended", OTHER, None)),
    ("gateway.ai.cloudflare.com", "deepseek/deepseek-v4-pro", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("gateway.ai.cloudflare.com", "alibaba/qwen3.8-max", {}, (RUNNING, "optional", ("same",), None)),
    ("dbc-1.cloud.databricks.com", "databricks-claude-sonnet-5", {}, (RUNNING, "recommended", ("content.thinking",), None)),
    ("dbc-1.cloud.databricks.com", "databricks-gpt-5-6", {}, (RUNNING, "recommended", ("content.thinking",), None)),
    ("a.snowflakecomputing.com", "claude-opus-4-6", {}, (HELD, "optional", ("reasoning_details",), None)),
    ("a.snowflakecomputing.com", "llama4-maverick", {}, (NOTHING, "ignored", ("reasoning_details",), None)),
    ("localhost:1234", "qwen3.6-35b", {}, (HELD, "optional", ("same",), None)),
    ("inference.baseten.co", "deepseek-ai/DeepSeek-V4-Pro", {}, (RUNNING, "optional", TEXT, None)),
    ("api.venice.ai", "deepseek-v4-pro", {}, (HELD, "required", TEXT, EVERYWHERE)),
    ("api.venice.ai", "qwen3-235b", {}, (RUNNING, "optional", TEXT, None)),
    ("api.longcat.chat", "LongCat-2.0", {}, (RUNNING, "recommended", TEXT, None)),
    ("api.cohere.com", "command-a-reasoning", {}, (RUNNING, "optional", ("same",), None)),
    ("dashscope.aliyuncs.com", "qwen3.8-max", {}, (HELD, "recommended", TEXT, None)),
    ("dashscope.aliyuncs.com", "qwen3.8-max", {"preserve_thinking": False}, (RUNNING, "recommended", TEXT, None)),
    ("dashscope.aliyuncs.com", "dashscope/qwen3.7-plus", {}, (RUNNING, "recommended", TEXT, None)),
    ("dashscope.aliyuncs.com", "qwen3.7-plus", {"extra_body": {"preserve_thinking": True}}, (HELD, "recommended", TEXT, None)),
    ("dashscope.aliyuncs.com", "deepseek-v4-pro", {}, (RUNNING, "recommended", TEXT, None)),
]  # fmt: skip


@pytest.mark.parametrize(("url", "model", "request_", "expected"), OTHERS)
def test_every_other_host_has_its_rule(url, model, request_, expected):
    choice = choose(url, model, request_)
    assert choice.host.id != "unknown"
    assert facts(choice) == expected


def test_mimo_keeps_all_turns_once_a_tool_was_used():
    assert choose("api.xiaomimimo.com", "mimo-v2.5", {}, used_tools=True).rule.window == "all"


@pytest.mark.parametrize(
    ("url", "model", "window", "missing", "refuses"),
    [
        ("https://api.kimi.com/coding", "k3", "all", CALLS, set()),
        ("https://api.minimax.io/anthropic", "MiniMax-M2.5", "all", None, {"redacted"}),
        ("https://api.xiaomimimo.com/anthropic", "mimo-v2.5", "current_turn", CALLS, {"redacted"}),
    ],
)
def test_those_who_imitate_claude_take_unsigned_blocks(url, model, window, missing, refuses):
    rule = choose(url, model, TOOLS, dialect="anthropic").rule
    assert (rule.window, rule.signature, rule.refuses) == (window, "any", refuses)
    assert (rule.missing and (rule.missing.on, rule.missing.fill)) == missing


PASSED_ON = [
    ("openrouter.ai", "anthropic/claude-opus-4.5"),
    ("ai-gateway.vercel.sh", "anthropic/claude-opus-4.5"),
    ("opencode.ai", "claude-opus-4-5"),
    ("api.githubcopilot.com", "claude-opus-4.5"),
    ("a.snowflakecomputing.com", "claude-opus-4-5"),
]


@pytest.mark.parametrize(("url", "model"), PASSED_ON)
def test_claudes_own_api_at_a_router_is_under_claudes_rules_and_no_family(url, model):
    policy = Policy(sealed="family")
    choice = choose(url, model, ON, dialect="anthropic", policy=policy)
    assert (choice.rule.window, choice.rule.signature, choice.host.router) == ("all", "required", True)
    holds = holds_key(choice, policy)
    assert holds is None or not holds("api.anthropic.com")


@pytest.mark.parametrize(
    ("url", "target", "source", "one"),
    [
        ("api.githubcopilot.com", "claude-sonnet-4.6", "claude-opus-4.6", True),
        ("api.githubcopilot.com", "claude-sonnet-4.6", "gemini-3-pro", False),
        ("api.githubcopilot.com", "gemini-3-pro", "claude-sonnet-4.6", False),
        ("api.githubcopilot.com", "gpt-5.4", "gpt-5.6", False),
        ("dbc-1.cloud.databricks.com", "databricks-claude-opus-5", "databricks-claude-sonnet-5", True),
        ("dbc-1.cloud.databricks.com", "databricks-gpt-5-6", "databricks-claude-sonnet-5", False),
        ("opencode.ai", "kimi-k2.6", "glm-5.2", False),
        ("router.huggingface.co", "zai-org/GLM-5:together", "zai-org/GLM-5.1:novita", True),
    ],
)
def test_the_vendor_behind_a_router_with_bare_names(url, target, source, one):
    choice = choose(url, target)
    assert choice.host.router
    here, there = (upstream_of(choice.host, choice.rule, model) for model in (target, source))
    assert (here == there) is one


def test_a_litellm_proxy_gets_everything_of_its_own_back_under_the_same_alias():
    choice = choose("http://proxy:4000", "my-alias", TOOLS, hint="litellm_proxy")
    assert facts(choice) == ("all", "recommended", ("same",), None)
    assert (choice.host.router, choice.rule.bound) == (True, {"model"})


@pytest.mark.parametrize(("hint", "write"), [("hosted_vllm", "reasoning"), ("sglang", "reasoning_content")])
def test_the_template_of_a_self_hosted_server_is_told_to_keep_what_it_would_drop(hint, write):
    for model, param in (
        ("Qwen/Qwen3.6-35B", "preserve_thinking"),
        ("zai-org/GLM-5", "clear_thinking"),
        ("llama", None),
    ):
        rule = choose("gpu-7:8000", model, hint=hint).rule
        assert (rule.window, rule.write) == ("all", (write,))
        assert [switch.param for switch in rule.switch] == ([f"chat_template_kwargs.{param}"] if param else [])


# --- hosts of models.dev's list


def test_no_host_of_the_list_has_a_file_of_its_own_or_is_there_twice():
    check(all_hosts())
    assert all_hosts()[: len(builtin())] == builtin()
    assert all_hosts() is all_hosts()


LISTED = [host for host in all_hosts() if host not in builtin()]


@pytest.mark.parametrize("host", LISTED, ids=lambda host: host.id)
def test_a_listed_host_takes_what_the_list_says_and_anything_else_as_an_unknown_one(host):
    *listed, rest = host.rules
    unknown = next(file for file in builtin() if file.id == "unknown").rules[0]
    assert listed
    for rule in listed:
        assert all(host_of(name) == name for name in host.hosts)
        assert all(model == model.lower() and not set(model) & set("/*?[") for model in rule.models)
        choice = select(all_hosts(), Origin(host.hosts[0], model=f"{host.id}/vendor/{rule.models[0].upper()}"), TOOLS)
        assert (choice.host, choice.rule) == (host, rule)
        assert (rule.host, rule.window, rule.requirement, rule.empty) == (host.id, "current_turn", "optional", "keep")
        assert (rule.source, rule.confidence, len(rule.write)) == ((f"models.dev {host.id}",), "reported", 1)
    assert host.router
    assert replace(rest, host="unknown") == unknown
    choice = select(all_hosts(), Origin(host.hosts[0], model="nobody/looked"), TOOLS)
    assert choice.rule is rest


@pytest.mark.parametrize(
    ("url", "model", "hint", "write"),
    [
        ("https://api.tokenfactory.nebius.com/v1", "nebius/moonshotai/Kimi-K3", None, "reasoning_content"),
        ("http://gw.corp.example", "moonshotai/Kimi-K3", "nebius", "reasoning_content"),
        ("https://chat.d.run/v1", "public/minimax-m25", None, "reasoning_details"),
        ("https://chat.d.run/v1", "public/deepseek-r1", None, "reasoning_content"),
        ("https://api.tokenfactory.nebius.com/v1", "new-model", None, "same"),
        ("https://nobody.example", "Kimi-K3", None, "same"),
    ],
)
def test_the_list_names_the_key(url, model, hint, write):
    rule = select(all_hosts(), Origin(url, model=model), TOOLS, hint=hint).rule
    assert (rule.window, rule.write) == ("current_turn", (write,))


def test_the_list_is_asked_by_the_doors():
    assert rule_for("https://api.tokenfactory.nebius.com/v1", "kimi-k3").host == "nebius"


# --- Z.ai, local servers, unknown hosts


@pytest.mark.parametrize(
    ("model", "path", "request_", "window"),
    [
        ("glm-4.7", "/api/paas/v4", {}, "current_turn"),
        ("glm-4.7", None, {}, "current_turn"),
        ("glm-4.7", "/api/coding/paas/v4", {}, "all"),
        ("glm-4.7", "/api/coding/paas/v4/chat/completions", {}, "all"),
        ("glm-4.7", "/api/paas/v4", {"thinking": {"type": "enabled", "clear_thinking": False}}, "all"),
        ("glm-4.7", "/api/coding/paas/v4", {"thinking": {"clear_thinking": True}}, "current_turn"),
        ("glm-4.7", "/api/coding/paas/v4", OFF, "none"),
        ("zai/glm-5.3", "/api/paas/v4", OFF, "current_turn"),
    ],
)
def test_the_coding_plan_of_zai_keeps_earlier_turns_unless_told_otherwise(model, path, request_, window):
    assert choose("api.z.ai", model, request_, path=path).rule.window == window


def test_a_local_server_gets_all_turns_and_its_template_decides():
    assert facts(choose("http://localhost:11434/v1", "qwen3"))[:3] == ("all", "optional", ("reasoning",))
    vllm = choose("http://gpu-7:8000/v1", "qwen3", hint="hosted_vllm")
    assert (facts(vllm)[:3], vllm.rule.read) == (
        ("all", "optional", ("reasoning",)),
        ("reasoning", "reasoning_content"),
    )
    assert facts(choose("http://gpu-7:8080/v1", "any", hint="llamafile"))[:3] == (
        "all",
        "optional",
        ("reasoning_content",),
    )


def test_deepseek_v4_on_vllm_keeps_all_turns_with_tools_alone():
    windows = [
        choose("gpu-7:8000", "deepseek-ai/DeepSeek-V4", request, hint="hosted_vllm").rule.window
        for request in (TOOLS, {})
    ]
    assert windows == ["all", "current_turn"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_host_gets_the_running_turn_back_under_the_key_it_came_in(dialect):
    choice = choose("nobody.example", "m", TOOLS, dialect=dialect)
    rule = choice.rule
    assert (rule.host, rule.window, rule.requirement, rule.missing) == ("unknown", "current_turn", "optional", None)
    assert (rule.empty, rule.strict, rule.signature, rule.guards) == ("omit", False, "any", ())
    assert rule.write == (("same",) if dialect == "chat" else ())


# --- Claude at its vendor

ON = {"thinking": {"type": "adaptive"}}
LAST, ALL = "last_assistant", "all"
OLD = (LAST, set(), False)
KEPT = (ALL, set(), False)
FIFTH = (ALL, set(), True)
BOUND = (ALL, {"prefix"}, True)
ACCOUNT = (ALL, {"prefix", "account"}, True)
CLAUDES = {
    "v1": OLD, "v2:1": OLD, "instant-v1": OLD,
    "3-haiku": OLD, "3-opus": OLD, "3-sonnet": OLD, "3.5-haiku": OLD, "3-5-haiku": OLD, "3-5-sonnet": OLD, "3.5-sonnet": OLD,
    "3-7-sonnet": OLD, "3.7-sonnet": OLD, "4-opus": OLD, "4-sonnet": OLD, "4.5-haiku": OLD, "4.5-sonnet": OLD,
    "opus-4": OLD, "opus-4-1": OLD, "sonnet-4": OLD, "sonnet-4-1": OLD, "sonnet-4-5": OLD, "haiku-4-5": OLD,
    "opus-4-5": KEPT, "opus-4-6": KEPT, "opus-4-7": KEPT, "opus-4-8": KEPT, "sonnet-4-6": KEPT,
    "opus-5": FIFTH, "sonnet-5": FIFTH, "fable-5": FIFTH, "mythos-5": FIFTH, "mythos-5-1": FIFTH, "mythos-preview": FIFTH,
    "opus-5-5": BOUND, "fable-5-1": BOUND, "fable-5-2": BOUND, "mythos-5-2": BOUND,
    "sonnet-5-5": ACCOUNT, "haiku-5-5": ACCOUNT,
    "opus-latest": ACCOUNT, "sonnet-latest": ACCOUNT, "fable-latest": ACCOUNT, "haiku-latest": ACCOUNT, "opus-6": ACCOUNT,
}  # fmt: skip
"""Name after `claude-` -> window when it thinks, what blocks are bound to, whether it thinks unasked."""


def claude(name):
    """The row of CLAUDES for a name as clouds and routers write it: prefix, date, suffix and dots taken away."""
    bare = name.lower().rpartition("claude-")[2]
    for tail in ("-v1:0", "-v2:0", "-v1", "@default", "-think", "-fast", "-latest") if bare not in CLAUDES else ():
        bare = bare.removesuffix(tail) if bare not in CLAUDES else bare
    head, _, date = bare.replace("@", "-").rpartition("-")
    bare = head if date.startswith("20") and len(date) == 8 else bare
    return CLAUDES[bare if bare in CLAUDES else bare.replace(".", "-")]


def claude_names():
    spec = find_spec("litellm")
    listed = (
        Path(spec.origin).with_name("model_prices_and_context_window_backup.json") if spec and spec.origin else None
    )
    names = {f"claude-{name}" for name in CLAUDES}
    names |= {
        "claude-opus-4-20250514",
        "claude-fable-5-20260401",
        "claude-opus-4-5-20251101",
        "anthropic/claude-opus-5-5",
    }
    if listed is not None and listed.exists():
        names |= {name for name in json.loads(listed.read_text("utf-8")) if "claude-" in name.lower()}
    return sorted(names)


@pytest.mark.parametrize("name", claude_names())
def test_every_claude_name_gets_the_window_and_the_bonds_of_its_generation(name):
    window, bound, unasked = claude(name)
    rule = choose("api.anthropic.com", name, ON, dialect="anthropic").rule
    assert (rule.window, rule.bound, rule.signature) == (window, bound, "required")
    assert rule.guards == ("lead_block", "forced_tools", "budget", "beside_thinking", "no_empty")
    assert choose("api.anthropic.com", name, {}, dialect="anthropic").rule.window == (window if unasked else "none")
    assert choose("api.anthropic.com", name, None, dialect="anthropic").rule.window == window
    off = choose("api.anthropic.com", name, OFF, dialect="anthropic", policy=Policy(window="all"))
    assert (off.rule.window, off.rule.requirement) == ("none", "forbidden")


PLATFORMS = [
    ("bedrock-runtime.us-east-1.amazonaws.com", "bedrock", {"account"}),
    ("bedrock-runtime.us-east-1.amazonaws.com", "anthropic", {"account"}),
    ("us-east5-aiplatform.googleapis.com", "anthropic", set()),
    ("res.services.ai.azure.com", "anthropic", set()),
]


@pytest.mark.parametrize(("url", "dialect", "more"), PLATFORMS)
def test_claude_on_another_platform_is_under_its_vendors_rules(url, dialect, more):
    for name in claude_names():
        at_home = choose("api.anthropic.com", name, ON, dialect="anthropic").rule
        rule = choose(url, name, ON, dialect=dialect).rule
        guards = (*at_home.guards, *(["cache_point"] if dialect == "bedrock" else []))
        assert (rule.window, rule.signature, rule.guards) == (at_home.window, "required", guards), name
        assert rule.bound == at_home.bound | more, name
        assert rule.can_disable is at_home.can_disable
    off = choose(url, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", OFF, dialect=dialect).rule
    assert (off.window, off.requirement) == ("none", "forbidden")


def test_a_clear_thinking_edit_makes_an_old_claude_keep_what_it_is_told():
    edits = {"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}}]}
    request = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "context_management": edits}
    assert choose("api.anthropic.com", "claude-haiku-4-5", request, dialect="anthropic").rule.window == "all"


def test_thinking_is_switched_off_at_anthropic_without_leaving_its_budget_behind():
    request = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096}
    choice = choose("api.anthropic.com", "claude-sonnet-4-5", request, dialect="anthropic")
    assert disable_thinking(choice, request) == {"thinking": {"type": "disabled"}, "max_tokens": 4096}


@pytest.mark.parametrize("host", builtin(), ids=lambda host: host.id)
def test_what_switches_thinking_off_is_read_as_off(host):
    rule = next(rule for rule in host.rules if rule.models == ("*",))
    choice = choose(name_of(host), None, {}, dialect=rule.dialect)
    choice = choice._replace(host=host, rule=rule)
    request = disable_thinking(choice, {})
    assert thinking_of(host, request) == ("off" if request else "unset")


# --- Policy(window="all") asks the host to keep what is sent

KEEP = Policy(window="all")
ASKED = [
    ("https://api.z.ai/api/paas/v4", "glm-4.7", {}, {"thinking": {"clear_thinking": False, "type": "enabled"}}),
    ("https://api.z.ai/api/paas/v4", "glm-5", {"thinking": {"type": "auto"}}, {"thinking": {"type": "auto", "clear_thinking": False}}),
    ("https://api.z.ai/api/paas/v4", "glm-4.6", {}, {}),
    ("api.moonshot.ai", "kimi-k2.6", {}, {"thinking": {"type": "enabled", "keep": "all"}}),
    ("api.moonshot.ai", "kimi-k2.7-code", {}, {}),
    ("api.moonshot.ai", "kimi-k3", {}, {}),
    ("api.cerebras.ai", "zai-glm-4.7", {}, {"clear_thinking": False}),
    ("api.cerebras.ai", "gpt-oss-120b", {}, {}),
    ("dashscope.aliyuncs.com", "qwen3.7-plus", {}, {"preserve_thinking": True}),
    ("dashscope.aliyuncs.com", "qwen3.5-flash", {}, {}),
    ("api.fireworks.ai", "accounts/fireworks/models/glm-4p7", {}, {"reasoning_history": "preserved"}),
    ("api.fireworks.ai", "accounts/fireworks/models/qwen3p6-plus", {}, {"reasoning_history": "preserved"}),
    ("api.fireworks.ai", "accounts/fireworks/models/minimax-m2p1", {}, {}),
    ("api.fireworks.ai", "accounts/fireworks/models/kimi-k3", {}, {}),
    ("api.together.xyz", "zai-org/GLM-5.2", {}, {"chat_template_kwargs": {"clear_thinking": False}}),
    ("api.deepseek.com", "deepseek-v4-pro", {}, {}),
    ("api.groq.com", "llama-3.3-70b", {}, {}),
    ("api.openai.com", "gpt-5.6", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("url", "model", "request_", "expected"), ASKED)
def test_a_wider_window_sets_the_hosts_own_parameter(url, model, request_, expected):
    messages = [{"role": "user", "content": "x"}]
    plan = prepare(messages, host=url, model=model, request=request_, policy=KEEP)
    assert plan.request == expected
    assert (plan.request is request_) is (expected == request_)
    reasons = [row.reason for row in plan.report.rows]
    assert reasons == ([] if expected == request_ else ["kept_turns"])
    assert prepare(messages, host=url, model=model, request=request_).request is request_


@pytest.mark.parametrize("hint", ["hosted_vllm", "sglang"])
def test_a_wider_window_sets_what_the_template_of_a_self_hosted_server_reads(hint):
    for model, expected in (
        ("Qwen/Qwen3.6-35B", {"preserve_thinking": True}),
        ("zai-org/GLM-5", {"clear_thinking": False}),
    ):
        plan = prepare([], host="gpu-7:8000", model=model, hint=hint, request={}, policy=KEEP)
        assert plan.request == {"chat_template_kwargs": expected}
    assert prepare([], host="gpu-7:8000", model="llama", hint=hint, request={}, policy=KEEP).request == {}


def test_responses_are_asked_to_show_all_turns():
    choice = choose("api.openai.com", "gpt-5.4", {}, dialect="responses", policy=KEEP)
    asked = ask_to_keep(choice, {"reasoning": {"effort": "high"}}, KEEP)
    assert asked == {"reasoning": {"effort": "high", "context": "all_turns"}}
    old = choose("api.openai.com", "o4-mini", {}, dialect="responses", policy=KEEP)
    assert ask_to_keep(old, {}, KEEP) == {}


# --- the hosts' own words

WORDS = [
    ("deepseek", 400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "missing"),
    ("deepseek", 400, "The `content[].thinking` in the thinking mode must be passed back to the API.", "missing"),
    ("deepseek", 400, "Missing `reasoning_content` field in the assistant message at message index 3.", "missing"),
    ("moonshot", 400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "missing"),
    ("groq", 400, "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]", "refused"),
    ("groq", 400, "'messages[3].reasoning': reasoning is not supported with this model", "refused"),
    ("cerebras", 400, "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported", "refused"),
    ("mistral", 422, '{"type":"extra_forbidden","loc":["body","messages",2,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}', "refused"),
    ("fireworks", 400, "Extra inputs are not permitted, field: 'messages[8].reasoning', value: 'x'", "refused"),
    ("fireworks", 400, "Extra inputs are not permitted, field: 'messages[3].tool_name'", None),
    ("openrouter", 400, '{"message":"Provider returned error","metadata":{"raw":"The `reasoning_content` in the thinking mode must be passed back to the API."}}', "missing"),
    ("openrouter", 400, "Referenced reasoning item rs_1 was not found or has expired", "refused"),
    ("anthropic", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", "sealed"),
    ("anthropic", 400, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", "prefix"),
    ("anthropic", 400, "messages.3.content.0.thinking.signature: Field required", "sealed"),
    ("anthropic", 400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "missing"),
    ("openai", 400, "Item 'rs_1' of type 'reasoning' was provided without its required following item.", "pair"),
    ("openai", 404, "Item with id 'rs_0' not found.", "lost"),
    ("openai", 400, "The encrypted content gAAA...CQ== could not be verified. Reason: Encrypted content could not be decrypted or parsed.", "sealed"),
    ("anthropic", 400, "messages.2.content.1.thinking: each thinking block must contain thinking", "refused"),
    ("anthropic", 400, "When `thinking` is disabled, an `assistant` message in the final position cannot contain `thinking`.", "refused"),
    ("anthropic", 400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", "lost"),
    ("bedrock", 400, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", "prefix"),
    ("bedrock", 400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", "lost"),
    ("vertex", 400, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", "prefix"),
    ("vertex", 400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "missing"),
    ("openrouter", 400, "Gemini models require OpenRouter reasoning details to be preserved in each request.", "sealed"),
    ("openrouter", 400, "Invalid thought signature.", "sealed"),
    ("azure", 400, "Extra inputs are not permitted", "refused"),
    ("azure", 400, "The encrypted content gAAA...CQ== could not be verified.", "sealed"),
    ("azure", 400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", "pair"),
    ("azure", 404, "Item with id 'rs_0' not found. Items are not persisted when `store` is set to false.", "lost"),
    ("xai", 400, "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.", "sealed"),
    ("xai", 404, "Item with id 'rs_0' not found.", "lost"),
    ("gemini", 400, "Function call is missing a thought_signature in functionCall parts.", "missing"),
    ("gemini", 400, "Corrupted thought signature.", "sealed"),
    ("vertex", 400, "Unable to submit request because Thought signature is not valid..", "sealed"),
    ("vertex", 400, "Unable to submit request because function call `default_api:x` in the 12. content block is missing a `thought_signature`.", "missing"),
    ("vertex", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", "sealed"),
    ("kimi-code", 400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "missing"),
    ("mimo", 400, '{"error":{"message":"Param Incorrect","param":"The reasoning_content in the thinking mode must be passed back to the API.","code":"400"}}', "missing"),
    ("minimax", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", "sealed"),
    ("copilot", 400, "Invalid signature in thinking block", "sealed"),
    ("sambanova", 422, "Extra inputs are not permitted", "refused"),
    ("nvidia", 400, "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 2, 'assistant', 'reasoning_content'), 'msg': 'Extra inputs are not permitted'}]", "refused"),
    ("huggingface", 400, "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported", "refused"),
    ("opencode", 400, "Error from provider (DeepSeek): The `reasoning_content` in the thinking mode must be passed back to the API.", "missing"),
    ("opencode", 400, "Error from provider: Extra inputs are not permitted, field: 'messages[8].reasoning', value: 'x'", "refused"),
    ("opencode", 400, "reasoning `encrypted_content` was not issued to this caller", "refused"),
    ("databricks", 400, "messages.0.reasoning_content: Extra inputs are not permitted", "refused"),
    ("sglang", 500, "ThinkingMode: thinking, invalid message without reasoning_content/tool_calls `x` after last user message", "missing"),
    ("chatgpt", 400, "code: invalid_encrypted_content", "sealed"),
    ("chatgpt", 404, "Item with id 'rs_0' not found.", "lost"),
    ("vllm", 400, "Encrypted content is not supported.", "refused"),
    ("llamacpp", 400, "item['content'] is not an array", "refused"),
    ("bedrock", 400, "User messages cannot contain reasoning content. Please remove the reasoning content and try again.", "refused"),
    ("anthropic", 400, "messages.5.content.1: Invalid `data` in `redacted_thinking` block", "sealed"),
    ("azure", 400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "missing"),
    ("deepseek", 400, "The reasoning_content is an intermediate result for display purposes only and will not be included in the context for inference. Please remove the reasoning_content from your message to reduce network traffic.", "refused"),
    ("openai", 400, "Unknown parameter: 'messages[2].reasoning_content'.", "refused"),
    ("gemini", 400, "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"x\"", "sealed"),
    ("gemini", 400, "Invalid value at 'contents[1].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"x\"", None),
    ("openrouter", 400, "Function call is missing a thought_signature in functionCall parts.", "sealed"),
    ("openrouter", 400, "Corrupted thought signature.", "sealed"),
    ("anthropic", 400, "Thinking may not be enabled when tool_choice forces tool use.", "parameters"),
    ("anthropic", 400, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/", "parameters"),
    ("anthropic", 400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "parameters"),
    ("anthropic", 400, "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive", "parameters"),
    ("anthropic", 400, "thinking.adaptive.block_binding: Extra inputs are not permitted", "parameters"),
    ("anthropic", 400, "This model does not support assistant message prefill. The conversation must end with a user message.", "ending"),
    ("anthropic", 400, 'tool_choice: type "tool" and "any" are not supported for this model.', None),
    ("bedrock", 400, "Thinking may not be enabled when tool_choice forces tool use.", "parameters"),
    ("bedrock", 400, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/", "parameters"),
    ("bedrock", 400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "parameters"),
    ("bedrock", 400, "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive", "parameters"),
    ("bedrock", 400, "thinking.adaptive.block_binding: Extra inputs are not permitted", "parameters"),
    ("bedrock", 400, "This model does not support assistant message prefill. The conversation must end with a user message.", "ending"),
    ("bedrock", 400, 'tool_choice: type "tool" and "any" are not supported for this model.', None),
    ("vertex", 400, "Thinking may not be enabled when tool_choice forces tool use.", "parameters"),
    ("vertex", 400, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/", "parameters"),
    ("vertex", 400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "parameters"),
    ("vertex", 400, "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive", "parameters"),
    ("vertex", 400, "thinking.adaptive.block_binding: Extra inputs are not permitted", "parameters"),
    ("vertex", 400, "This model does not support assistant message prefill. The conversation must end with a user message.", "ending"),
    ("vertex", 400, 'tool_choice: type "tool" and "any" are not supported for this model.', None),
    ("bedrock", 400, "messages.2.content.1.thinking: each thinking block must contain thinking", "refused"),
    ("vertex", 400, "messages.2.content.1.thinking: each thinking block must contain thinking", "refused"),
    ("vertex", 400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", "lost"),
    ("bedrock", 400, "This model doesn't support the reasoningContent.reasoningText.signature field. Remove reasoningContent.reasoningText.signature and try again.", "refused"),
    ("bedrock", 400, "The model returned the following errors: messages.369.content.0.thinking.signature: Field required", "sealed"),
    ("bedrock", 400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "missing"),
    ("deepseek", 500, "The `reasoning_content` in the thinking mode must be passed back to the API.", None),
]  # fmt: skip


@pytest.mark.parametrize(("host", "status", "text", "means"), WORDS)
def test_a_refusal_is_read_by_the_first_of_the_hosts_own_words_that_fits(host, status, text, means):
    file = next(file for file in builtin() if file.id == host)
    fits = (one.means for one in file.errors if one.status in (None, status) and re.search(one.match, text))
    assert next(fits, None) == means


@pytest.mark.parametrize("file", builtin(), ids=lambda file: file.id)
def test_every_error_text_of_a_file_is_shown_above(file):
    said = {
        next((one.match for one in file.errors if one.status in (None, status) and re.search(one.match, text)), None)
        for host, status, text, _ in WORDS
        if host == file.id
    }
    assert [one.match for one in file.errors if one.match not in said] == []


# --- the matrix: a changed file shows here as changed behaviour

MODELS = {
    "deepseek": ["deepseek-v4-pro", "deepseek-chat", "deepseek-r1"],
    "moonshot": ["kimi-k3", "kimi-k2.7-code", "kimi-k2.6", "kimi-k2.5", "kimi-k9", "moonshot-v1-8k"],
    "groq": ["openai/gpt-oss-120b", "qwen/qwen3-32b", "llama-3.3-70b-versatile"],
    "mistral": ["magistral-medium-latest", "mistral-large-4", "mistral-large-latest"],
    "cerebras": ["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b"],
    "openrouter": [
        "anthropic/claude-opus-4.5", "anthropic/claude-opus-5.5", "google/gemini-3-pro", "openai/gpt-5.6",
        "deepseek/deepseek-v4-pro", "moonshotai/kimi-k2.6", "moonshotai/kimi-k3", "meta/muse-spark",
    ],
    "openai": ["gpt-5.6"],
    "anthropic": [
        "claude-3-7-sonnet", "claude-haiku-4-5", "claude-opus-4-5", "claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5",
        "claude-haiku-5-5", "claude-fable-5-1", "claude-mythos-5-1", "claude-opus-9",
    ],
    "fireworks": ["kimi-k3", "deepseek-v4-flash", "kimi-k2p6", "qwen3p6-plus", "glm-4p7", "minimax-m2p1"],
    "together": ["moonshotai/Kimi-K3", "zai-org/GLM-5.2"],
    "zai": ["glm-5.3", "glm-4.7", "glm-4.6"],
    "vllm": ["deepseek-ai/DeepSeek-V4", "deepseek-ai/DeepSeek-V3.2", "Qwen/Qwen3.6-35B", "zai-org/GLM-5", "qwen3"],
    "llamacpp": ["qwen3.6-35b", "gpt-oss-20b"],
    "azure": ["deepseek-v4-pro", "kimi-k2.5", "gpt-5.6", "my-deployment"],
    "bedrock": ["us.anthropic.claude-opus-4-5-20251101-v1:0", "us.deepseek.r1-v1:0", "openai.gpt-oss-120b-1:0"],
    "dashscope": ["qwen3.8-max", "qwen3.7-plus", "qwen3.5-flash"],
    "gemini": ["gemini-2.5-pro", "gemini-3-pro", "gemma-3-27b-it"],
    "vertex": ["gemini-2.5-pro", "gemini-3-pro", "zai-org/glm-5-maas"],
    "xai": ["grok-4.6"],
    "minimax": ["MiniMax-M2.5", "MiniMax-M3"],
    "kimi-code": ["k3", "kimi-for-coding"],
    "mimo": ["mimo-v2.5-pro", "mimo-v2-flash"],
    "vercel": ["deepseek/deepseek-v3.2", "google/gemini-3-pro", "anthropic/claude-opus-5.5", "moonshotai/kimi-k2.6"],
    "novita": ["deepseek/deepseek-v3.2", "minimax/minimax-m2"],
    "sambanova": ["gpt-oss-120b", "Llama-4-Maverick"],
    "nvidia": ["moonshotai/kimi-k2.6", "qwen/qwen3-32b"],
    "perplexity": ["sonar-reasoning-pro", "moonshot-ai/kimi-k3"],
    "huggingface": ["google/gemma-4-31b", "deepseek-ai/DeepSeek-V3.2", "openai/gpt-oss-120b"],
    "copilot": ["claude-sonnet-4.6", "gemini-3-pro", "gpt-5.6"],
    "opencode": ["deepseek-v4-flash", "kimi-k2.6", "glm-5.2", "muse-spark", "claude-opus-4-5"],
    "cloudflare": ["@cf/deepseek-ai/deepseek-v4-pro", "@cf/moonshotai/kimi-k2.6"],
    "cloudflare-gateway": ["deepseek/deepseek-v4-pro", "alibaba/qwen3.8-max"],
    "databricks": ["databricks-claude-sonnet-5", "databricks-gpt-5-6"],
    "snowflake": ["claude-opus-4-6", "llama4-maverick"],
    "sglang": ["deepseek-ai/DeepSeek-V3.2", "Qwen/Qwen3.6-35B", "zai-org/GLM-5", "llama"],
    "venice": ["deepseek-v4-pro", "qwen3-235b"],
}  # fmt: skip
HEAD = """\
# What every rule file says, resolved: a test compares this file with the rules. Made by
#   RULES_MATRIX=write python -m pytest tests/test_hosts.py -k matrix
# host, dialect, model, tools in the request, thinking in the request
#   -> window | read > write | requirement | where missing, and its fill | strict | signature | bound | more | evidence
"""


def requests(host):
    """Requests by (tools, thinking); without those that this host has no words for."""
    said = {"unset": {}}
    for toggle in host.thinking:
        for state, values in (("on", toggle.on), ("off", toggle.off)):
            if values and state not in said:
                value = {"*": "high", "true": True, "false": False}.get(values[0], values[0])
                for key in reversed(toggle.param.split(".")):
                    value = {key: value}
                said[state] = value
    return {(tools, state): {**said[state], **more} for state in said for tools, more in (("no", {}), ("yes", TOOLS))}


def outcome(choice):
    rule = choice.rule
    carriers = f"{','.join(rule.read)} > {','.join(rule.write)}" if rule.dialect == "chat" else "-"
    missing = f"{rule.missing.on}={rule.missing.fill!r}" if rule.missing else "-"
    bound = ",".join(sorted(rule.bound)) or "-"
    more = [
        *(f"{switch.param} {value}={window}" for switch in rule.switch for value, window in switch.values),
        *(f"refuses {kind}" for kind in sorted(rule.refuses)),
        *rule.guards,
        *([f"cannot open {len(rule.cannot_open)}"] if rule.cannot_open else []),
        *([] if rule.can_disable else ["no off"]),
        *([rule.upstream] if rule.upstream else []),
    ]
    return (
        f"{rule.window} | {carriers} | {rule.requirement} | {missing} | {'strict' if rule.strict else '-'} | "
        f"{rule.signature} | {bound} | {', '.join(more) or '-'} | {rule.date} {rule.confidence}"
    )


def lines_of(host, hosts):
    """The lines of one file, with `hosts` around it."""
    lines = []
    paths = [None, *dict.fromkeys(rule.when.path.replace("*", "x") for rule in host.rules if rule.when.path)]
    for dialect in dict.fromkeys(rule.dialect for rule in host.rules):
        for path in paths:
            for model in MODELS.get(host.id, ["any"]):
                target = Origin(name_of(host), dialect=dialect, model=model)
                cells = {
                    cell: outcome(select(hosts, target, request, hint=host.id, path=path))
                    for cell, request in requests(host).items()
                }
                by_state = {}
                for state in dict.fromkeys(state for _, state in cells):
                    same = cells["no", state] == cells["yes", state]
                    for tools in ["*"] if same else ["no", "yes"]:
                        by_state.setdefault((tools, cells["no" if tools == "*" else tools, state]), []).append(state)
                where = f"{host.id}  {dialect}  {model}{f'  {path}' if path else ''}"
                lines += [
                    f"{where}  tools={tools}  thinking={','.join(states)}\n  -> {result}"
                    for (tools, result), states in by_state.items()
                ]
    return lines


def matrix():
    return HEAD + "\n".join(line for host in builtin() for line in lines_of(host, builtin())) + "\n"


@pytest.mark.parametrize("name", ON_DISK)
def test_no_rule_can_go_without_a_change_in_the_matrix(name):
    """So whoever deletes an entry of a file has to say so: each of them decides for one of the models above."""
    blocks, unnoticed = re.split(r"(?m)^(?=\[\[)", ON_DISK[name]), []
    host = next(host for host in builtin() if host.name == f"hosts/{name}")
    whole = lines_of(host, builtin())
    for number, block in enumerate(blocks):
        if not block.startswith("[[rules]]"):
            continue
        try:
            less = parse("".join(blocks[:number] + blocks[number + 1 :]), f"hosts/{name}", others=used, tested=True)
            left = lines_of(less, tuple(less if other is host else other for other in builtin()))
        except RuleError:  # the last one of a dialect, or nothing is left
            continue
        if left == whole:
            unnoticed.append(block)
    assert [] == unnoticed


def test_the_matrix_of_resolved_rules_is_the_one_on_disk():
    now = matrix()
    if os.environ.get("RULES_MATRIX") == "write":
        MATRIX.write_text(now, "utf-8")
    then = MATRIX.read_text("utf-8")
    changed = "\n".join(difflib.unified_diff(then.splitlines(), now.splitlines(), "on disk", "rules", lineterm="", n=1))
    assert not changed, (
        f"rules changed behaviour; if it is meant: RULES_MATRIX=write (see the head of the file)\n{changed}"
    )


# --- speed: bounds that a shared machine keeps, ten times what was measured


def test_choosing_a_rule_takes_microseconds():
    target, request = Origin("api.deepseek.com", model="deepseek-v4-pro"), {"reasoning_effort": "high", **TOOLS}
    best = min(_seconds(lambda: select(builtin(), target, request), times=200) for _ in range(5))
    assert best < 50e-6  # measured 2026-11-30: 4 µs


def test_reading_all_files_takes_milliseconds():
    best = min(_seconds(builtin.__wrapped__, times=1, clock=time.process_time) for _ in range(3))
    assert best < 250e-3  # measured 2026-11-30: 25 ms for 50 files


def _seconds(function, times, clock=time.perf_counter):
    started = clock()
    for _ in range(times):
        function()
    return (clock() - started) / times
