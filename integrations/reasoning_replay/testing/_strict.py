"""The table of judges: who judges, how the host speaks, where we know it from and since when.

A row is everything that is known of a host here; no `if` in this package holds the name of a host. The rule table of the
library is not imported: a judge does not get the law from the accused. `_host` makes servers of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from . import (
    _bedrock,
    _bedrock_case,
    _claude,
    _gemini,
    _gemini_voice,
    _judges,
    _mistral,
    _more_judges,
    _ollama,
    _openrouter,
    _responses,
    _responses_open,
    _voices,
)
from ._claude_case import Case
from ._dialect import Upstream
from ._law import Refusal, Verdict
from ._voices import Voice

Law = Callable[[Case, Mapping[str, Any]], Verdict]


def by_body(judge: Callable[[Mapping[str, Any], Mapping[str, Any]], Verdict]) -> Law:
    """A law that needs the body alone."""
    return lambda case, options: judge(case.body, options)


def _unavailable(status: int) -> Refusal:
    return _judges.openai_error("Service unavailable", status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One row of the table."""

    law: Law
    """What decides: the request and the options to a verdict."""
    voice: Voice = field(default_factory=Voice)
    """How a chat host writes a reply; Anthropic's stands in `_claude_voice`."""
    dialect: str = "chat"
    """A name of the table of dialects."""
    alias: str
    """The name by which a policy may call the real host (`Policy(aliases=host.alias)`)."""
    base: str = "/v1"
    """The path of the base URL that a client is given."""
    route: str = "/chat/completions"
    """What the client adds to it; `{model}` is the model's name."""
    also: tuple[str, ...] = ()
    """Other ends of a path at which the host answers too."""
    model: str
    """A model name of the real host for tests that do not care."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The judge's options and their defaults; `strict_host` takes these and no others."""
    new_call_id: Callable[[], str] = _voices.call_id
    """A fresh id in the host's own form."""
    reads: tuple[str, ...]
    """The keys of a message in which the host looks for reasoning; elsewhere it is lost on it."""
    fails: Callable[[int], Refusal] = _unavailable
    """How the host says that it is out of order."""
    needs: tuple[str, ...] = ()
    """The packages of others that judge for us."""
    signs: bool = False
    """Whether the host signs its reasoning."""
    seals: bool = True
    """Whether the host can write opaque parts; the others leave them out."""
    shows: tuple[str, ...] = ("*",)
    """The models whose reasoning comes out at all."""
    upstreams: tuple[Upstream, ...] = ()
    """The vendors behind a host that fronts several; empty: the host is its own vendor."""
    source: str
    """Where the law and its words are known from."""
    date: str
    """The newest of the sources."""
    confidence: str
    """How sure we are."""

    def at(self, path: str) -> str | None:
        """None if the host does not answer at a path; else the model that the path names, or nothing."""
        for route in (self.route, *self.also):
            before, named, after = route.partition("{model}")
            pattern = re.escape(before) + ("(.+)" if named else "()") + re.escape(after) + "$"
            found = re.search(pattern, path)
            if found is not None:
                return unquote(found[1])
        return None


DEEPSEEK_VOICE: Final = Voice(silent="", opening={"role": "assistant", "content": None, "reasoning_content": ""})

JUDGES: Final[Mapping[str, Judge]] = {
    "deepseek": Judge(
        law=by_body(_judges.deepseek_v4), needs=("deepseek_recipe",), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-v4-pro", seals=False,
        options={"filler": "any"},
        reads=("reasoning_content",),
        source="deepseek-recipe 0.2.0, ReasoningContentBehavior.Reject; filler modes: NousResearch/hermes-agent PR 17341, "
               "craft-agents-oss#703", date="2026-11-30", confidence="the host's own package",
    ),
    "deepseek-v3.2": Judge(
        law=by_body(_judges.deepseek_v32), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-reasoner", seals=False,
        options={"filler": "any"},
        reads=("reasoning_content",),
        source="https://api-docs.deepseek.com/guides/thinking_mode (V3.2); zed#44301, anomalyco/opencode#9397",
        date="2026-07-24", confidence="documented",
    ),
    "deepseek-r1": Judge(
        law=by_body(_judges.deepseek_r1), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-r1", seals=False,
        reads=(),
        source="tidyverse/ellmer#972; the words are from memory", date="2026-05-06", confidence="several reports",
    ),
    "moonshot": Judge(
        law=by_body(_judges.moonshot), voice=Voice(silent=""), alias="moonshot", model="kimi-k2.5", seals=False, options={"filler": "any"},
        reads=("reasoning_content",),
        source="continuedev/continue#11600, anomalyco/opencode#16318, bytedance/deer-flow#3043", date="2026-05-11",
        confidence="several reports",
    ),
    "groq": Judge(
        law=by_body(_judges.groq), voice=Voice(key="reasoning", extra={"service_tier": "on_demand"}, whole_calls=True, finish={"x_groq": {"id": "req_strict", "usage": _voices.USAGE}}), alias="groq",
        base="/openai/v1", model="openai/gpt-oss-120b", seals=False,
        options={"reasoning_models": ("*gpt-oss*", "*qwen3*")},
        reads=("reasoning",),
        source="janhq/jan#8136, AstrBotDevs/AstrBot#5946, vercel/ai#8056", date="2026-08-30", confidence="several reports",
    ),
    "cerebras": Judge(
        law=by_body(_judges.cerebras), voice=Voice(key="reasoning"), alias="cerebras", model="gpt-oss-120b", seals=False,
        options={"reasoning_models": ("gpt-oss*", "zai-glm*", "qwen*")},
        reads=("reasoning",),
        source="Kilo-Org/kilocode#10375, egoist/chatwise-releases#1442; several lines: Alishahryar1/free-claude-code#1136",
        date="2026-07-16", confidence="several reports",
    ),
    "anthropic": Judge(
        law=lambda case, options: _claude.judge(case), dialect="anthropic", alias="anthropic", base="", route="/v1/messages", model="claude-sonnet-4-5",
        new_call_id=lambda: _voices.call_id("toolu_"), signs=True,
        fails=lambda status: _claude.error("Overloaded", status, "overloaded_error"),
        reads=("content",),
        source="Anthropic's pages on extended thinking, troubleshooting and preserved thinking; anthropic-sdk-python#1598",
        date="2026-09-12", confidence="documented",
    ),
    "mistral": Judge(
        law=by_body(_mistral.judge), needs=("mistral_common",), alias="mistral", model="magistral-medium-latest", seals=False,
        voice=Voice(silent="", message=_voices.mistral_message, deltas=_voices.mistral_deltas, whole_calls=True, finish={"usage": _voices.USAGE}),
        options={"reasoning_models": _mistral.REASONING}, new_call_id=_voices.short_call_id,
        reads=("content",),
        source="mistral-common 1.13.1; charmbracelet/crush#1590, BerriAI/litellm#30835; chunks on other models: a guess",
        date="2026-07-31", confidence="the host's own package, and ours for chunks",
    ),
    "openrouter": Judge(
        law=lambda case, options: _openrouter.judge(case.body, case.issuer), alias="openrouter", base="/api/v1",
        model="anthropic/claude-sonnet-4.5", upstreams=_openrouter.UPSTREAMS,
        reads=("reasoning_details", "reasoning", "reasoning_content"),
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens; dirac-run/dirac#5, inspect_ai PR 4080",
        date="2026-08-20", confidence="documented; the words of signature errors are the upstreams'",
    ),
    "openai": Judge(
        law=by_body(_more_judges.openai), alias="openai", model="gpt-5.4", seals=False, shows=(), reads=(),
        source="PyPI openai 3.57.0 types; the words are seen for other keys", date="2026-11-30",
        confidence="that reasoning is refused is inferred",
    ),
    "azure": Judge(
        law=_more_judges.azure, alias="azure", base="", route="/openai/deployments/{model}/chat/completions",
        also=("/openai/v1/chat/completions", "/models/chat/completions"), model="gpt-5.4", seals=False, reads=("reasoning_content",),
        shows=("deepseek*", "kimi*"), options={"reasoning_models": ("deepseek*", "kimi*"), "requiring_models": ("deepseek-v4*",)},
        source="litellm 1.110.2, llms/azure_ai/chat/transformation.py; esengine/DeepSeek-Reasonix#1299; models.dev azure", date="2026-09-30",
        confidence="several reports; which models take the key is one client's table",
    ),
    "xai": Judge(
        law=by_body(_more_judges.xai), voice=Voice(silent="", whole_calls=True), alias="xai", model="grok-4.3", seals=False,
        options={"effortless_models": ("*non-reasoning*", "grok-4.20*", "grok-build*")},
        reads=(),
        source="https://docs.x.ai/developers/model-capabilities/text/best-practices.md; neavo/LinguaGacha#771", date="2026-10-23",
        confidence="several reports; that reasoning sent back is ignored is a guess",
    ),
    "fireworks": Judge(
        law=by_body(_more_judges.fireworks), alias="fireworks", base="/inference/v1", model="accounts/fireworks/models/kimi-k2p6", seals=False,
        reads=("reasoning_content",),
        source="PyPI fireworks-ai 1.2.30 types; earendil-works/pi#4514", date="2026-10-21", confidence="several reports",
    ),
    "together": Judge(
        law=by_body(_more_judges.together), voice=Voice(key="reasoning"), alias="together", model="moonshotai/Kimi-K2.6", seals=False,
        reads=("reasoning", "reasoning_content"),
        source="PyPI together 3.1.1 types; litellm 1.110.2, llms/together_ai", date="2026-11-04",
        confidence="several reports; that unknown keys are ignored is a guess",
    ),
    "dashscope": Judge(
        law=by_body(_more_judges.dashscope), voice=Voice(silent=""), alias="dashscope", base="/compatible-mode/v1",
        model="qwen3.7-plus", seals=False, options={"streaming_models": ("qwq*", "qwen3-*b*")},
        reads=("reasoning_content",),
        source="PyPI dashscope 2.0.2; https://www.alibabacloud.com/help/en/model-studio/error-code", date="2026-10-27",
        confidence="documented; that unknown keys are ignored is a guess",
    ),
    "ollama": Judge(
        law=_ollama.judge, dialect="ollama", alias="ollama", base="", route="/api/chat", model="qwen3:8b", seals=False,
        options={"thinking_models": ("qwen3*", "gpt-oss*", "deepseek*", "glm*", "kimi*", "magistral*", "minimax*", "gemma4*")},
        fails=lambda status: _ollama.error("llama runner process has terminated", status), reads=("thinking",),
        source="ollama/ollama fb307609, api/types.go, docs/capabilities/tool-calling.mdx", date="2026-08-21", confidence="documented",
    ),
    "openai-responses": Judge(
        law=_responses.judge(_responses.OPENAI), dialect="responses", alias="openai", route="/responses", model="gpt-5.4",
        options={"refused_keys": {}, "encrypts": "always"}, fails=_responses.unavailable,
        reads=("summary", "content", "encrypted_content"),
        source="PyPI openai 3.57.0 types; pairs: earendil-works/pi#2702, hermes-agent PR 102282; "
               "1jehuang/jcode#1028; llm-rosetta#403",
        date="2026-09-15", confidence="documented; which ids the store checks is reported",
    ),
    "azure-responses": Judge(
        law=_responses.judge(_responses.AZURE), dialect="responses", alias="azure", base="", route="/openai/v1/responses",
        also=("/openai/responses",), model="gpt-5.4", fails=_responses.unavailable,
        options={"refused_keys": {"message": frozenset({"status"}), "reasoning": frozenset({"content"})}, "encrypts": "always", "project": False},
        reads=("summary", "encrypted_content"),
        source="as OpenAI; refused keys: litellm 1.110.2, llms/azure/responses/transformation.py", date="2026-09-15",
        confidence="the keys are one client's word",
    ),
    "xai-responses": Judge(
        law=_responses.xai, dialect="responses", alias="xai", route="/responses", model="grok-4.3",
        options={"refused_keys": {}, "encrypts": "always"}, fails=_responses.unavailable,
        reads=("summary", "content", "encrypted_content"),
        source="https://docs.x.ai/developers/advanced-api-usage/troubleshooting-reasoning", date="2026-10-23",
        confidence="documented for encrypted content; the rest is OpenAI's form, a guess",
    ),
    "vllm-responses": Judge(
        law=_responses_open.vllm, dialect="responses", alias="vllm", route="/responses", model="Qwen/Qwen3.6-35B-A3B", seals=False,
        options={"encrypts": "included", "plain": {"encrypted_content": None, "status": None}},
        fails=lambda status: _responses_open.vllm_error("EngineCore encountered an issue.", status, "InternalServerError"),
        reads=("content", "summary"),
        source="vllm 0.32 render server (2026-11-30); vllm-project/vllm PR 28248; the shape of a reply from memory", date="2026-11-30",
        confidence="seen, but for the words of a missing summary",
    ),
    "llamacpp-responses": Judge(
        law=_responses_open.llama, dialect="responses", alias="llamacpp", route="/responses", model="qwen3.5-4b", seals=False,
        options={"encrypts": "included", "plain": {"encrypted_content": "", "status": "completed"}},
        fails=lambda status: _responses_open.llama_error("Loading model", status, "unavailable_error"),
        reads=("content",),
        source="the real server of xllamacpp 2026.10.11549", date="2026-11-30", confidence="tried on the real one",
    ),
    "gemini": Judge(
        law=_gemini.judge, dialect="gemini", alias="gemini", base="", route="/v1beta/models/{model}:generateContent",
        also=("/models/{model}:generateContent", "/models/{model}:streamGenerateContent"), model="gemini-3-pro-preview",
        new_call_id=_gemini_voice.call_id, seals=False, options={"merges": True, "any_model": True},
        fails=lambda status: _gemini.error("The model is overloaded. Please try again later.", status, "UNAVAILABLE"),
        reads=("parts",),
        source="https://ai.google.dev/gemini-api/docs/thought-signatures; litellm#32140 and #42237, lbjlaq/Antigravity-Manager#3202, "
               "BigPizzaV3/CodexPlusPlus#332; the shape of a request from memory", date="2026-09-15",
        confidence="documented; that a signature is good for its own call alone is a guess",
    ),
    "vertex": Judge(
        law=_gemini.vertex, dialect="gemini", alias="vertex", base="",
        route="/v1/projects/p/locations/global/publishers/google/models/{model}:generateContent",
        also=("/models/{model}:generateContent", "/models/{model}:streamGenerateContent"), model="gemini-3-pro-preview",
        new_call_id=_gemini_voice.call_id, seals=False, options={"merges": True, "any_model": True},
        fails=lambda status: _gemini.error("Resource exhausted. Please try again later.", status, "RESOURCE_EXHAUSTED"),
        reads=("parts",),
        source="pydantic-ai#3881; NoeFabris/opencode-antigravity-auth#368; https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures; "
               "the shape of a request from memory", date="2026-09-15",
        confidence="documented; that a signature is good for its own call alone is a guess",
    ),
    "bedrock": Judge(
        law=_bedrock.judge, dialect="bedrock", alias="bedrock", base="", route="/model/{model}/converse",
        also=("/model/{model}/converse-stream",), model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        new_call_id=lambda: _voices.call_id("tooluse_"), signs=True, upstreams=_bedrock_case.FAMILIES,
        options={"redacted": "text"},
        fails=lambda status: _bedrock.error("Bedrock is unable to process your request.", status, "ServiceUnavailableException"),
        reads=("content",),
        source="the Anthropic host's; bifrost#6942, strands#682, langchain-aws#401, oh-my-pi PR 10486, anomalyco/opencode#36517; "
               "the shape of a conversation from memory", date="2026-09-12",
        confidence="several reports; that unlisted models take no reasoning is a guess",
    ),
    "unknown": Judge(
        law=by_body(_judges.permissive), alias="unknown", model="some-model", seals=False,
        reads=("reasoning_content", "reasoning"),
        source="no host: takes everything and records it", date="2026-11-30", confidence="ours",
    ),
}  # fmt: skip
