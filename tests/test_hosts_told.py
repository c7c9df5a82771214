"""What each host wants, dialect by dialect, told in a second hand: written from the sources and not from the rule files.

One row for every entry of a file that no story of another test decides. A row names the host, the dialect, a model and a
request, and says which turns of its own the host gets back (`window`), and what else the entry is there for. So an entry that
is deleted, or widened, or loses what it fills in, turns a row red, whoever made the snapshot of the resolved rules anew.
`python tests/rule_mutants.py` proves that.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from reasoning_replay import Policy, rule_for
from reasoning_replay._origin import Origin
from reasoning_replay._rules import ask_to_keep, select, upstream_of
from reasoning_replay.hosts import builtin

SELF_HOSTED = "http://gpu-7:8000"
"""An address that nobody knows: the hint says what it is."""
TOOLS = {"tools": [{"type": "function"}]}
OFF = {"thinking": {"type": "disabled"}}
ON = {"thinking": {"type": "enabled"}}
EVERY, CALLS = ("all_assistant", ""), ("tool_calls", "")
ALL, TURN, NONE = "all", "current_turn", "none"


class Row(NamedTuple):
    """What a host wants of a model under a request."""

    host: str
    """A host name; one without a dot is the hint for a server of one's own."""
    dialect: str
    model: str
    window: str
    more: Mapping[str, Any] = {}
    """What else is told of the rule, by the names of its keys; `missing` as (on, fill)."""
    request: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return f"{self.host} {self.dialect} {self.model} {'off' if self.request == OFF else ' '.join(self.request)}"


def choice_of(row: Row, policy: Policy | None = None) -> Any:
    known = "." in row.host
    target = Origin.from_url(row.host if known else SELF_HOSTED, dialect=row.dialect, model=row.model)
    return select(builtin(), target, row.request, policy=policy, hint=None if known else row.host)


UNSIGNED = {"signature": "forbidden", "refuses": {"redacted"}}
"""A server that knows no signatures: own text goes, what is sealed says nothing to it."""
SIGNED = {"signature": "required"}
ZAI, CODING = "https://api.z.ai/api/anthropic", "https://api.kimi.com/coding"
DETAILS = ("reasoning_details", "reasoning")

SERVERS = [
    # The chat template decides, so every turn goes; sealed content is an error (vllm-project/vllm PR 28248) or says nothing.
    Row("vllm", "responses", "qwen3", ALL, {"signature": "forbidden", "requirement": "optional"}),
    Row("vllm", "anthropic", "qwen3", ALL, UNSIGNED),
    Row("llamacpp", "responses", "qwen3", ALL, {"signature": "forbidden", "requirement": "optional"}),
    Row("llamacpp", "anthropic", "qwen3", ALL, UNSIGNED),
    Row("sglang", "anthropic", "qwen3", ALL, UNSIGNED),
    Row("127.0.0.1:11434", "anthropic", "qwen3", ALL, UNSIGNED),
    Row("127.0.0.1:11434", "ollama", "qwen3", ALL, {"signature": "any", "requirement": "optional"}),
    # DeepSeek V3.2: the encoder drops what stands before the last user message (vllm deepseek_v32.py, sglang encoding_dsv32.py).
    Row("vllm", "chat", "deepseek-ai/DeepSeek-V3.2", TURN, {"write": ("reasoning",)}),
    Row("sglang", "chat", "deepseek-ai/DeepSeek-V3.2", TURN, {"requirement": "recommended", "write": ("reasoning_content",)}),
    Row("llamacpp", "chat", "qwen3.6-35b", ALL, {"write": ("reasoning_content",)}),
    # A proxy keeps what its own target wants: everything of its own, whatever the dialect.
    Row("litellm_proxy", "anthropic", "my-alias", ALL, {"requirement": "recommended", "bound": {"model"}}),
    Row("litellm_proxy", "responses", "my-alias", ALL, {"requirement": "recommended", "bound": {"model"}}),
]  # fmt: skip

IMITATORS = [
    # Those who imitate Claude's API. With thinking off nothing goes; without a block on a call three of them answer 400.
    Row("api.deepseek.com", "anthropic", "deepseek-v4-pro", TURN, {"missing": CALLS, "refuses": {"redacted"}}),
    Row("api.deepseek.com", "anthropic", "deepseek-v4-pro", ALL, {"missing": CALLS}, TOOLS),
    Row("api.deepseek.com", "anthropic", "deepseek-v4-pro", NONE, {"requirement": "ignored", "missing": None}, OFF),
    Row(CODING, "anthropic", "kimi-for-coding", ALL, {"missing": CALLS, "signature": "any"}),
    Row(CODING, "anthropic", "kimi-for-coding", NONE, {"requirement": "ignored", "missing": None}, OFF),
    Row("api.moonshot.ai", "anthropic", "kimi-k2.6", ALL, {"missing": CALLS, "signature": "any"}),
    Row("api.moonshot.ai", "anthropic", "kimi-k2.6", NONE, {"requirement": "ignored", "missing": None}, OFF),
    Row("api.xiaomimimo.com", "anthropic", "mimo-v2.5", TURN, {"missing": CALLS, "refuses": {"redacted"}}),
    Row("api.xiaomimimo.com", "anthropic", "mimo-v2.5", NONE, {"requirement": "ignored", "missing": None}, OFF),
    # MiniMax: M2 cannot be switched off, M3 can; no block is asked for, and own ones go back as they are.
    Row("api.minimax.io", "anthropic", "MiniMax-M2.5", ALL, {"can_disable": False, "requirement": "recommended"}, OFF),
    Row("api.minimax.io", "anthropic", "MiniMax-M3", ALL, {"can_disable": True, "signature": "any", "refuses": {"redacted"}}),
    Row("api.minimax.io", "anthropic", "MiniMax-M3", NONE, {"requirement": "ignored"}, OFF),
    # Z.ai: kept together with the results of the running loop (docs.z.ai, thinking mode).
    Row(ZAI, "anthropic", "glm-5", TURN, {"requirement": "recommended", "signature": "any"}),
    Row(ZAI, "anthropic", "glm-5", NONE, {"requirement": "ignored"}, OFF),
]  # fmt: skip

CLAUDES = [
    # Claude behind a router or on a platform is under Claude's own rules: signed blocks alone, and none with thinking off.
    *(
        row
        for host, model in {
            "api.githubcopilot.com": "claude-opus-4.5",
            "opencode.ai": "claude-opus-4-5",
            "openrouter.ai": "anthropic/claude-opus-4.5",
            "ai-gateway.vercel.sh": "anthropic/claude-opus-4.5",
            "a.snowflakecomputing.com": "claude-opus-4-5",
        }.items()
        for row in (
            Row(host, "anthropic", model, ALL, SIGNED, ON),
            Row(host, "anthropic", model, NONE, {"requirement": "forbidden"}, OFF),  # the API refuses it in last place
        )
    ),
    # The same API for other vendors' models there: text alone, which comes with an empty signature.
    Row("api.githubcopilot.com", "anthropic", "gpt-5.6", ALL, {"signature": "any", "bound": {"account"}}),
    Row("opencode.ai", "anthropic", "qwen3.8-max", TURN, {"signature": "any"}),
    Row("openrouter.ai", "anthropic", "z-ai/glm-5", ALL, {"signature": "any", "requirement": "recommended"}),
    Row("ai-gateway.vercel.sh", "anthropic", "zai/glm-5", TURN, {"signature": "any", "requirement": "recommended"}),
]

RESPONSES = [
    # Every item of one's own: the host filters (OpenAI's page on reasoning; relatives in its form).
    Row("chatgpt.com", "responses", "gpt-5.6", ALL, {"bound": {"account"}, "guards": ("pair",)}),
    Row("api.githubcopilot.com", "responses", "gpt-5.6", ALL, {"requirement": "recommended", "bound": {"account"}}),
    Row("openrouter.ai", "responses", "openai/gpt-5.6", ALL, {"requirement": "recommended", "bound": {"upstream"}}),
    Row("opencode.ai", "responses", "gpt-5.6", ALL, {"requirement": "recommended"}),
    Row("opencode.ai", "responses", "muse-spark", NONE, {"requirement": "forbidden"}),
    Row("x.openai.azure.com", "responses", "gpt-5.6", ALL, {"guards": ("pair", "status")}),
    Row("x.openai.azure.com", "responses", "my-deployment", ALL, {"guards": ("pair", "status")}),
]

GEMINIS = [
    # The vendor's signatures are checked from generation 3 on; Gemma has none to send back, in either house.
    *(
        row
        for host in ("aiplatform.googleapis.com", "generativelanguage.googleapis.com")
        for row in (
            Row(host, "gemini", "gemini-2.5-pro", ALL, {"missing": None, "bound": {"model"}}),
            Row(host, "gemini", "gemma-3-27b-it", NONE, {"requirement": "ignored", "missing": None}),
            Row(host, "gemini", "gemini-3-pro", ALL, {"missing": ("first_call", "skip_thought_signature_validator")}),
        )
    ),
    # Copilot fronts Google's models under bare names: the key that signed is Google's.
    Row("api.githubcopilot.com", "chat", "gemini-3-pro", ALL, {"upstream": "google", "bound": {"account"}}),
    Row("api.githubcopilot.com", "chat", "gpt-5.6", ALL, {"upstream": None}),
    Row("openrouter.ai", "chat", "google/gemini-3-pro", ALL, {"can_disable": False, **SIGNED}, OFF),
    Row("ai-gateway.vercel.sh", "chat", "google/gemini-3-pro", TURN, {"can_disable": False, **SIGNED}, OFF),
]

CHATS = [
    # With thinking off nothing of the past is shown.
    Row("inference.baseten.co", "chat", "moonshotai/Kimi-K2.6", TURN),
    Row("inference.baseten.co", "chat", "m", NONE, {"requirement": "ignored"}, {"reasoning_effort": "none"}),
    Row("api.cloudflare.com", "chat", "@cf/zai-org/glm-4.7-flash", TURN, {"requirement": "recommended"}),
    Row("api.cloudflare.com", "chat", "@cf/m", NONE, {"requirement": "ignored"}, OFF),
    Row("integrate.api.nvidia.com", "chat", "qwen/qwen3-32b", TURN),
    Row("integrate.api.nvidia.com", "chat", "qwen/qwen3-32b", NONE, {}, {"chat_template_kwargs": {"thinking": False}}),
    Row("api.venice.ai", "chat", "deepseek-v4-pro", NONE, {}, {"venice_parameters": {"disable_thinking": True}}),
    Row("opencode.ai", "chat", "glm-5.2", TURN, {"requirement": "recommended"}),
    Row("opencode.ai", "chat", "glm-5.2", NONE, {"requirement": "ignored"}, OFF),
    Row("openrouter.ai", "chat", "openai/gpt-5.6", NONE, {"requirement": "ignored"}, {"reasoning": {"enabled": False}}),
    Row("ai-gateway.vercel.sh", "chat", "openai/gpt-5.6", NONE, {}, {"reasoning": {"effort": "none"}}),
    # OpenRouter and Vercel: details, the string alone where a model has none.
    Row("openrouter.ai", "chat", "moonshotai/kimi-k3", ALL, {"missing": EVERY, "can_disable": False}),
    Row("ai-gateway.vercel.sh", "chat", "anthropic/claude-opus-5.5", TURN, {**SIGNED, "bound": {"prefix"}, "write": DETAILS}),
    Row("ai-gateway.vercel.sh", "chat", "openai/gpt-5.6", TURN, {"signature": "any", "bound": set(), "write": DETAILS}),
    # Closed schemas: those of their models that reason take their own of the running turn.
    Row("api.cerebras.ai", "chat", "gpt-oss-120b", TURN, {"write": ("reasoning",), "can_disable": False}),
    Row("api.groq.com", "chat", "openai/gpt-oss-120b", TURN, {"write": ("reasoning",), "strict": True}),
    Row("api.groq.com", "chat", "qwen/qwen3-32b", TURN, {"write": ("reasoning",)}),
    Row("api.mistral.ai", "chat", "magistral-medium-latest", ALL, {"write": ("content.thinking",), "requirement": "optional"}),
    # Fireworks: the default of `reasoning_history` by model (PyPI fireworks-ai 1.2.30).
    Row("api.fireworks.ai", "chat", "accounts/fireworks/models/qwen3p6-plus", ALL),
    Row("api.fireworks.ai", "chat", "accounts/fireworks/models/qwen3p6-plus", NONE, {}, {"reasoning_history": "disabled"}),
    Row("api.fireworks.ai", "chat", "accounts/fireworks/models/kimi-k2p6", ALL),
    Row("api.fireworks.ai", "chat", "accounts/fireworks/models/glm-4p7", TURN),
    Row("api.fireworks.ai", "chat", "accounts/fireworks/models/glm-4p7", ALL, {}, {"reasoning_history": "preserved"}),
    # Together: Kimi K3 under the key that it came in (harn's probe), the others under one.
    Row("api.together.xyz", "chat", "moonshotai/Kimi-K3", ALL, {"write": ("same",), "can_disable": False}),
    Row("api.together.xyz", "chat", "zai-org/GLM-5.2", TURN, {"write": ("reasoning_content",), "can_disable": True}),
    # Z.ai: what clears earlier turns came with GLM 4.7; what is older keeps none.
    Row("api.z.ai", "chat", "glm-4.6", TURN, {}, {"thinking": {"type": "enabled", "clear_thinking": False}}),
    Row("api.z.ai", "chat", "glm-4.7", ALL, {}, {"thinking": {"type": "enabled", "clear_thinking": False}}),
]  # fmt: skip


@pytest.mark.parametrize("row", [*SERVERS, *IMITATORS, *CLAUDES, *RESPONSES, *GEMINIS, *CHATS], ids=str)
def test_a_host_gets_what_it_was_seen_to_want(row):
    choice = choice_of(row)
    rule = choice.rule
    assert "unknown" != choice.host.id
    told = {"missing": rule.missing and (rule.missing.on, rule.missing.fill)}
    assert {"window": row.window, **row.more} == {
        key: told.get(key, getattr(rule, key)) for key in ("window", *row.more)
    }


KEEP = Policy(window="all")
SHOW_ALL = {"reasoning": {"context": "all_turns"}}
KEPT = {"chat_template_kwargs": {"preserve_thinking": True}}
ASKED = [
    # From GPT 5.6 on the caller may say which turns the model sees (Azure's pages; OpenAI's own API takes it from 5.4 on).
    (Row("x.openai.azure.com", "responses", "gpt-5.6", ALL), SHOW_ALL),
    (Row("x.openai.azure.com", "responses", "azure/gpt-6", ALL), SHOW_ALL),
    (Row("x.openai.azure.com", "responses", "gpt-5.4", ALL), {}),
    # Templates that drop earlier turns unless told otherwise; llama.cpp's server keeps GLM's by itself.
    (Row("llamacpp", "chat", "qwen3.6-35b", ALL), KEPT),
    (Row("llamacpp", "chat", "glm-5", ALL), {}),
    (Row("vllm", "chat", "Qwen/Qwen3.6-35B", ALL), KEPT),
    (Row("sglang", "chat", "Qwen/Qwen3.6-35B", ALL), KEPT),
    # Qwen at Fireworks knows two words, GLM 4.6 knows no way to keep.
    (Row("api.fireworks.ai", "chat", "accounts/fireworks/models/qwen3p6-plus", ALL), {"reasoning_history": "preserved"}),
    (Row("api.fireworks.ai", "chat", "accounts/fireworks/models/glm-4p6", TURN), {}),
]  # fmt: skip


@pytest.mark.parametrize(("row", "asked"), ASKED, ids=str)
def test_a_host_is_asked_to_keep_earlier_turns_in_its_own_words(row, asked):
    assert asked == ask_to_keep(choice_of(row, KEEP), {}, KEEP)


def test_one_key_signed_for_all_of_a_vendors_models_behind_copilot():
    at = {model: choice_of(Row("api.githubcopilot.com", "chat", model, ALL)) for model in ("gemini-3-pro", "gpt-5.6")}
    assert {"gemini-3-pro": "google", "gpt-5.6": "gpt-5.6"} == {
        model: upstream_of(choice.host, choice.rule, model) for model, choice in at.items()
    }


def test_qwen_at_fireworks_knows_no_history_of_the_running_turn_alone():
    """`interleaved` is a word for other models there: it changes nothing for this one."""
    model, word = "accounts/fireworks/models/qwen3p6-plus", {"reasoning_history": "interleaved"}
    assert ALL == rule_for("api.fireworks.ai", model, request=word).window
    assert TURN == rule_for("api.fireworks.ai", "accounts/fireworks/models/kimi-k2p6", request=word).window
