"""The table: LiteLLM provider -> what it speaks, what its wire body is written in, where it looks for its host.

First row whose provider and model pattern match; the last one is everybody else: an OpenAI-compatible host.
Must not decide anything about reasoning: that is the core's, by rule. `_callback` and `_target` read it.
Bodies: which providers send `complete_input_dict` as it stands was run for 63 variants with litellm 1.110.2; the
signed ones (Bedrock, SageMaker) and the one that is a plain prompt (`ollama`) have `wire=None`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from .._origin import Dialect

CHAT_CALLS = frozenset({"completion", "acompletion"})
RESPONSES_CALLS = frozenset({"responses", "aresponses", "compact_responses", "acompact_responses"})
MESSAGES_CALLS = frozenset({"anthropic_messages"})
COVERED = CHAT_CALLS | RESPONSES_CALLS | MESSAGES_CALLS
"""LiteLLM's names of the calls that this integration looks at; it leaves every other one untouched."""
GLOBAL_BASE = "litellm.api_base"
"""The module global, which most providers ask before their variable."""


class Carrier(NamedTuple):
    """One row."""

    provider: str
    """LiteLLM's `custom_llm_provider`; `*` is any."""
    model: str = "*"
    """A shell pattern: some providers speak another dialect for another family of models."""
    dialect: Dialect = "chat"
    wire: str | None = "chat"
    """The form of the history in `complete_input_dict`. None: what is written there never reaches the wire."""
    bases: tuple[str, ...] = ()
    """Where LiteLLM looks when the call names no base, in its order: `litellm.x` is a global, `call.x` a parameter of
    the call, `NAME` an environment variable, `https://…` its default, in which `{region}` is filled by REGIONS.
    """
    ignores_client: bool = False
    """A caller's OpenAI client plays no part: LiteLLM speaks HTTP itself for this provider."""
    global_first: bool = False
    """The module global beats even the call's own base."""
    strips: tuple[str, ...] = ()
    """Keys of a message that LiteLLM takes out for every model of a provider; what the plan kept there is put back."""
    hint: bool = True
    """The provider's name says whose rule holds behind a base URL of the caller's own."""


_OPENAI = (GLOBAL_BASE, "OPENAI_BASE_URL", "OPENAI_API_BASE", "https://api.openai.com/v1")
_CLAUDE = (GLOBAL_BASE, "ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL", "https://api.anthropic.com")
_FOUNDRY = (GLOBAL_BASE, "AZURE_AI_API_BASE")
_GEMINI = (GLOBAL_BASE, "GEMINI_API_BASE", "https://generativelanguage.googleapis.com")
_VERTEX = (GLOBAL_BASE, "VERTEXAI_API_BASE", "https://{vertex}-aiplatform.googleapis.com")
_MODEL_GARDEN = (
    *("meta/*", "deepseek-ai*", "mistral*", "codestral*", "jamba*", "qwen*", "openai/*", "minimaxai/*", "moonshotai/*"),
    *("zai-org/*", "google/gemma-*"),
)
"""Other vendors' models on Vertex, which speak chat: LiteLLM tells them by these names."""
_ENDPOINT = ("call.aws_bedrock_runtime_endpoint", "AWS_BEDROCK_RUNTIME_ENDPOINT")
_BEDROCK = (*_ENDPOINT, "https://bedrock-runtime.{aws}.amazonaws.com")
_OPENROUTER = (GLOBAL_BASE, "OPENROUTER_API_BASE", "https://openrouter.ai/api/v1")
_OLLAMA = (GLOBAL_BASE, "OLLAMA_API_BASE", "http://localhost:11434")

CARRIERS: tuple[Carrier, ...] = (
    Carrier("openai", bases=_OPENAI, hint=False),
    Carrier("custom_openai", bases=_OPENAI, hint=False),
    Carrier("azure", bases=(GLOBAL_BASE, "AZURE_API_BASE")),
    Carrier("azure_ai", "*claude*", dialect="anthropic", wire="anthropic", bases=_FOUNDRY, ignores_client=True),
    Carrier("azure_ai", bases=_FOUNDRY, strips=("reasoning_content",)),
    Carrier("anthropic", dialect="anthropic", wire="anthropic", bases=_CLAUDE, ignores_client=True),
    Carrier("deepseek", ignores_client=True),
    Carrier("groq", ignores_client=True),
    Carrier("hosted_vllm", bases=(GLOBAL_BASE, "HOSTED_VLLM_API_BASE"), ignores_client=True),
    Carrier("openrouter", bases=_OPENROUTER, ignores_client=True),
    Carrier("minimax", bases=(GLOBAL_BASE, "MINIMAX_API_BASE", "https://api.minimax.io/v1")),
    Carrier("cometapi", bases=(GLOBAL_BASE, "COMETAPI_API_BASE", "https://api.cometapi.com/v1")),
    Carrier("cohere_chat", bases=(GLOBAL_BASE, "COHERE_API_BASE", "https://api.cohere.com/v2/chat")),
    Carrier("mistral", bases=(GLOBAL_BASE, "https://api.mistral.ai/v1")),
    Carrier("vertex_ai", "*claude*", dialect="anthropic", wire="anthropic", bases=_VERTEX, ignores_client=True),
    *(Carrier("vertex_ai", name, bases=_VERTEX, ignores_client=True) for name in _MODEL_GARDEN),
    Carrier("vertex_ai", dialect="gemini", wire="gemini", bases=_VERTEX, ignores_client=True),
    Carrier("vertex_ai_beta", dialect="gemini", wire="gemini", bases=_VERTEX, ignores_client=True),
    Carrier("gemini", dialect="gemini", wire="gemini", bases=_GEMINI, ignores_client=True),
    # A model that names its own region, by ARN or by path, beats the parameter: nothing is predicted for it.
    Carrier("bedrock", "*arn:*", dialect="bedrock", wire=None, bases=_ENDPOINT, ignores_client=True),
    Carrier("bedrock", "*-[0-9]/*", dialect="bedrock", wire=None, bases=_ENDPOINT, ignores_client=True),
    Carrier("bedrock", dialect="bedrock", wire=None, bases=_BEDROCK, ignores_client=True),
    # Signed before the wire hook; their host is a region's or the caller's, by many parameters: nothing is predicted.
    Carrier("sagemaker", wire=None, ignores_client=True),
    Carrier("sagemaker_chat", wire=None, ignores_client=True),
    Carrier("sagemaker_nova", wire=None, ignores_client=True),
    Carrier("ollama_chat", dialect="ollama", wire="ollama", bases=_OLLAMA, ignores_client=True, global_first=True),
    Carrier("ollama", dialect="ollama", wire=None, bases=_OLLAMA, ignores_client=True, global_first=True),
    Carrier("*"),
)

REGIONS: dict[str, tuple[str, ...]] = {
    "aws": ("call.aws_region_name", "AWS_REGION_NAME", "AWS_REGION"),
    "vertex": (
        "call.vertex_location",
        "call.vertex_ai_location",
        "litellm.vertex_location",
        "VERTEXAI_LOCATION",
        "VERTEX_LOCATION",
        "=us-central1",
    ),
}
"""Name in a base -> where its value is looked for, as in `bases`; `=x` is x itself."""

ELSEWHERE: dict[str, str] = {
    "https://global-aiplatform.googleapis.com": "https://aiplatform.googleapis.com",
    "https://us-aiplatform.googleapis.com": "https://aiplatform.us.rep.googleapis.com",
    "https://eu-aiplatform.googleapis.com": "https://aiplatform.eu.rep.googleapis.com",
}
"""A filled-in base -> the real one, where a vendor's names do not follow its own pattern."""


@lru_cache(maxsize=1024)
def carrier_of(provider: str, model: str) -> Carrier:
    """The first row for this provider and model."""
    return next(row for row in CARRIERS if row.provider in (provider, "*") and fnmatchcase(model.lower(), row.model))


def hint_of(provider: str, carrier: Carrier) -> str | None:
    """What the core may take as a hint to the rule; None where the provider's name says nothing."""
    return provider if carrier.hint else None


def is_covered(details: Mapping[str, Any]) -> bool:
    """Whether LiteLLM's own notes of a call say that it is one that this integration looks at."""
    return details.get("call_type") in COVERED
