"""The hosts of the matrix: how LiteLLM is pointed at each strict host, and what its rule asks of a history.

What a rule asks stands here in a second hand: the rule table of the library is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from reasoning_replay.testing import JUDGES

MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
EFFORT = {"reasoning_effort": "low"}
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "aws_region_name": "us-east-1"}
PROJECT = {"vertex_project": "p", "vertex_location": "global"}
AZURE = {"api_version": "2025-04-01-preview"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One host under one way to name it."""

    name: str
    kind: str
    """The strict host, a key of JUDGES."""
    prefix: str
    """What LiteLLM wants in front of the model's name."""
    model: str = ""
    """Empty: the strict host's own."""
    path: str = ""
    """What LiteLLM wants behind the base URL."""
    more: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else a call carries."""
    asks: Literal["all", "turn", "nothing"] = "turn"
    """Which turns it wants back of its own."""
    gap: bool = True
    """Whether its own goes back into a turn that another host went on with. Claude does not think again in such a turn."""

    streams_with: tuple[str, ...] = ()
    """What LiteLLM imports for its streams besides."""

    def available(self, mode: str) -> bool:
        """Whether those who judge for the host are installed, and what a mode needs."""
        needs = (*JUDGES[self.kind].needs, *(self.streams_with if "stream" in mode else ()))
        return all(find_spec(name) is not None for name in needs)

    def named(self, url: str) -> dict[str, Any]:
        """What names the host in a call."""
        model = self.prefix + (self.model or JUDGES[self.kind].model)
        return {"model": model, "api_base": url + self.path, "api_key": "k", "max_retries": 0, **self.more}


def row(kind: str, prefix: str, *, name: str = "", **more: Any) -> Row:
    """Short for a table; the name is the strict host's, if no other is given."""
    return Row(name=name or kind, kind=kind, prefix=prefix, **more)


COMPLETION = (
    row("deepseek", "deepseek/", asks="all"),
    row("deepseek-v3.2", "deepseek/"),
    row("deepseek-r1", "deepseek/", asks="nothing"),
    row("moonshot", "moonshot/"),
    row("groq", "groq/"),
    row("cerebras", "cerebras/"),
    row("mistral", "mistral/", asks="all"),
    row("openrouter", "openrouter/", asks="all"),
    row("openrouter", "openrouter/", name="openrouter deepseek", model="deepseek/deepseek-v4-pro", asks="all"),
    row("anthropic", "anthropic/", more=MANUAL, gap=False),
    row("openai", "openai/", asks="nothing"),
    row("azure", "azure/", model="gpt-4.1", more=AZURE, asks="nothing"),
    row("azure", "azure_ai/", name="azure deepseek", model="deepseek-v4-pro", path="/models", asks="all"),
    row("xai", "xai/", asks="nothing"),
    row("fireworks", "fireworks_ai/", asks="all"),
    row("together", "together_ai/"),
    row("dashscope", "dashscope/"),
    row("ollama", "ollama_chat/", more=EFFORT, asks="all"),
    row("gemini", "gemini/", more=EFFORT, asks="all"),
    row("vertex", "vertex_ai/", more={**EFFORT, **PROJECT}, asks="all"),
    row("bedrock", "bedrock/converse/", more={**KEYS, **MANUAL}, gap=False),
    row("openai-responses", "openai/responses/", more=EFFORT, asks="all"),
    row("azure-responses", "azure/responses/", more={**EFFORT, **AZURE}, asks="all"),
    row("xai-responses", "xai/responses/", more=EFFORT, asks="all"),
    row("unknown", "openai/"),
)
"""`litellm.completion`; the Responses hosts through LiteLLM's bridge. Open servers are not among them: of a reasoning item the
bridge (LiteLLM 1.110.2) reads the summary and what is sealed, and they have neither; they speak chat too."""

RESPONSES = (
    row("openai-responses", "openai/", asks="all"),
    row("azure-responses", "azure/", more=AZURE, asks="all"),
    row("xai-responses", "xai/", asks="all"),
    row("vllm-responses", "hosted_vllm/", asks="all"),
    row("llamacpp-responses", "openai/", asks="all"),
    row("anthropic", "anthropic/", more={"reasoning": {"effort": "low"}, "max_output_tokens": 8192}, gap=False),
    row("deepseek", "deepseek/", asks="all"),
    row("moonshot", "moonshot/"),
    row("groq", "groq/"),
    row("cerebras", "cerebras/"),
    row("mistral", "mistral/", asks="all"),
    row("unknown", "lm_studio/"),
)
"""`litellm.responses`; LiteLLM makes chat of a call to those below xAI."""

MESSAGES = (
    row("anthropic", "anthropic/", more=MANUAL, gap=False, streams_with=("fastapi",)),
    row("moonshot", "moonshot/", more=MANUAL),
    row("groq", "groq/", more=MANUAL),
    row("cerebras", "cerebras/", more=MANUAL),
    row("mistral", "mistral/", more=MANUAL, asks="all"),
    row("unknown", "lm_studio/", more={"max_tokens": 4096}),
)
"""`litellm.anthropic.messages`; LiteLLM makes chat of a call to all but the first. DeepSeek has an end of its own for it."""
