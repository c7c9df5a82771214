"""The 28 model configurations: class, strict host, and how the class is pointed at it.

A configuration whose package is not installed, or whose strict host is not there, is left out by `available`.
A class is imported when its factory first runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reasoning_replay.testing import JUDGES

KEY = "sk-matrix"
Factory = Callable[[str, "str | None"], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to use one class."""

    name: str
    host: str
    """The strict host that it talks to, a key of JUDGES."""
    package: str
    cls: str
    dialect: str = "chat"
    build: Callable[[type, str, str, dict[str, Any]], Any] = field(repr=False)
    """Class, base URL, model name, further keywords: the model."""
    model: str | None = None
    """The model's name; None: the strict host's own."""
    pieces: int = 3
    """Into how many fragments its host's stream cuts each text."""
    sends_history: bool = True
    """Whether a request holds the whole history; else the host holds it."""

    def factory(self, base_url: str, output_version: str | None = None) -> Any:
        """The bare model."""
        cls = getattr(import_module(self.package), self.cls)
        more = {} if output_version is None else {"output_version": output_version}
        return self.build(cls, base_url, self.model or JUDGES[self.host].model, more)

    @property
    def takes_own(self) -> bool:
        """Whether its host takes reasoning back at all."""
        return bool(JUDGES[self.host].reads)

    @property
    def available(self) -> bool:
        """Whether package and host are there."""
        needs = (self.package, *JUDGES[self.host].needs) if self.host in JUDGES else ()
        return bool(needs) and all(find_spec(name) is not None for name in needs)


def by(**fixed: Any) -> Callable[[type, str, str, dict[str, Any]], Any]:
    """The usual way: base URL, key, model, no retries; `fixed` adds and overrides (None takes a keyword out)."""

    def build(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
        given = {"base_url": base_url, "api_key": KEY, "model": model, "max_retries": 0, **fixed, **more}
        return cls(**{key: value for key, value in given.items() if value is not None})

    return build


def _bare(url: str, path: str) -> str:
    """The base URL without what the vendor's client adds itself."""
    return url.removesuffix(path)


def _groq(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
    return by()(cls, _bare(base_url, "/openai/v1"), model, more)


def _azure(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
    fixed = {
        "azure_endpoint": base_url.split("/openai", maxsplit=1)[0].removesuffix("/v1"),
        "api_version": "2025-04-01-preview",
    }
    return by(base_url=None, model=None, azure_deployment=model, **fixed)(cls, base_url, model, more)


def _azure_responses(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
    return _azure(cls, base_url, model, {"use_responses_api": True, "store": False, **SEALED, **more})


def _bedrock(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
    keys = {"aws_access_key_id": "AKIAMATRIX", "aws_secret_access_key": KEY, "region_name": "us-east-1"}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    given = {"endpoint_url": base_url, "model": model, "max_tokens": 4096, "additional_model_request_fields": thinking}
    return cls(**keys, **given, **more)


def _litellm(prefix: str, **fixed: Any) -> Callable[[type, str, str, dict[str, Any]], Any]:
    def build(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
        return cls(model=prefix + model, api_base=base_url, api_key=KEY, max_retries=0, **fixed, **more)

    return build


def _router(cls: type, base_url: str, model: str, more: dict[str, Any]) -> Any:
    from litellm import Router

    params = {"model": f"deepseek/{model}", "api_base": base_url, "api_key": KEY, "max_retries": 0}
    router = Router(
        model_list=[{"model_name": "group", "litellm_params": params}], num_retries=0, disable_cooldowns=True
    )
    return cls(router=router, model="group", **more)


SEALED = {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}

CONFIGURATIONS = (
    Configuration(
        name="openai at deepseek", host="deepseek", package="langchain_openai", cls="ChatOpenAI", build=by(),
    ),
    Configuration(
        name="openai at an unknown host", host="unknown", package="langchain_openai", cls="ChatOpenAI", build=by(),
    ),
    Configuration(
        name="openai responses", host="openai-responses", package="langchain_openai", cls="ChatOpenAI", dialect="responses",
        build=by(use_responses_api=True, **SEALED),
    ),
    Configuration(
        name="openai responses not stored", host="openai-responses", package="langchain_openai", cls="ChatOpenAI",
        dialect="responses", build=by(use_responses_api=True, store=False, **SEALED),
    ),
    Configuration(
        name="openai responses by previous id", host="openai-responses", package="langchain_openai", cls="ChatOpenAI",
        dialect="responses", sends_history=False,
        build=by(use_responses_api=True, use_previous_response_id=True, **SEALED),
    ),
    Configuration(
        name="azure", host="azure", package="langchain_openai", cls="AzureChatOpenAI", build=_azure,
    ),
    Configuration(name="xai", host="xai", package="langchain_xai", cls="ChatXAI", build=by()),
    Configuration(
        name="xai responses", host="xai-responses", package="langchain_xai", cls="ChatXAI", dialect="responses",
        build=by(use_responses_api=True, store=False, include=["reasoning.encrypted_content"]),
    ),
    Configuration(
        name="anthropic", host="anthropic", package="langchain_anthropic", cls="ChatAnthropic", dialect="anthropic",
        build=by(**MANUAL),
    ),
    Configuration(name="deepseek", host="deepseek", package="langchain_deepseek", cls="ChatDeepSeek", build=by()),
    Configuration(
        name="openrouter", host="openrouter", package="langchain_openrouter", cls="ChatOpenRouter",
        build=by(reasoning={"effort": "low"}),
    ),
    Configuration(name="groq", host="groq", package="langchain_groq", cls="ChatGroq", build=_groq),
    Configuration(name="mistral", host="mistral", package="langchain_mistralai", cls="ChatMistralAI", build=by()),
    Configuration(
        name="gemini", host="gemini", package="langchain_google_genai", cls="ChatGoogleGenerativeAI", dialect="gemini",
        build=by(max_retries=1, include_thoughts=True, thinking_budget=1024),
    ),
    Configuration(
        name="ollama", host="ollama", package="langchain_ollama", cls="ChatOllama", dialect="ollama",
        build=by(api_key=None, max_retries=None, reasoning=True),
    ),
    Configuration(
        name="ollama by default", host="ollama", package="langchain_ollama", cls="ChatOllama", dialect="ollama",
        build=by(api_key=None, max_retries=None),
    ),
    Configuration(
        name="bedrock", host="bedrock", package="langchain_aws", cls="ChatBedrockConverse", dialect="bedrock",
        build=_bedrock,
    ),
    Configuration(name="fireworks", host="fireworks", package="langchain_fireworks", cls="ChatFireworks", build=by()),
    Configuration(name="together", host="together", package="langchain_together", cls="ChatTogether", build=by()),
    Configuration(name="cerebras", host="cerebras", package="langchain_cerebras", cls="ChatCerebras", build=by()),
    Configuration(
        name="cerebras with effort", host="cerebras", package="langchain_cerebras", cls="ChatCerebras",
        build=by(reasoning_effort="low"),
    ),
    Configuration(name="moonshot", host="moonshot", package="langchain_moonshot", cls="ChatMoonshot", build=by()),
    Configuration(
        name="qwq", host="dashscope", package="langchain_qwq", cls="ChatQwQ", build=by(),
        pieces=1,  # it "repairs" each fragment of a call's JSON that ends in a brace, and so breaks what comes in parts
    ),
    Configuration(
        name="litellm deepseek", host="deepseek", package="langchain_litellm", cls="ChatLiteLLM",
        build=_litellm("deepseek/"),
    ),
    Configuration(
        name="litellm openai", host="unknown", package="langchain_litellm", cls="ChatLiteLLM",
        build=_litellm("openai/"),
    ),
    Configuration(
        name="litellm anthropic", host="anthropic", package="langchain_litellm", cls="ChatLiteLLM", dialect="anthropic",
        build=_litellm("anthropic/", max_tokens=4096, model_kwargs={"thinking": MANUAL["thinking"]}),
    ),
    Configuration(
        name="litellm mistral", host="mistral", package="langchain_litellm", cls="ChatLiteLLM",
        build=_litellm("mistral/"),
    ),
    Configuration(
        name="litellm router", host="deepseek", package="langchain_litellm", cls="ChatLiteLLMRouter", build=_router,
    ),
)  # fmt: skip
"""As counted in the issue: 28 configurations."""


MORE = (
    Configuration(
        name="openai at openrouter", host="openrouter", package="langchain_openai", cls="ChatOpenAI", build=by(),
    ),
    Configuration(name="openai at mistral", host="mistral", package="langchain_openai", cls="ChatOpenAI", build=by()),
    Configuration(name="openai at groq", host="groq", package="langchain_openai", cls="ChatOpenAI", build=by()),
    Configuration(name="openai at moonshot", host="moonshot", package="langchain_openai", cls="ChatOpenAI", build=by()),
    Configuration(
        name="deepseek at openrouter", host="openrouter", package="langchain_deepseek", cls="ChatDeepSeek",
        build=by(), model="deepseek/deepseek-v4-pro",
    ),
    Configuration(
        name="azure responses", host="azure-responses", package="langchain_openai", cls="AzureChatOpenAI",
        dialect="responses", build=_azure_responses,
    ),
    Configuration(
        name="qwen", host="dashscope", package="langchain_qwq", cls="ChatQwen", build=by(enable_thinking=True), pieces=1,
    ),
    Configuration(
        name="litellm openrouter", host="openrouter", package="langchain_litellm", cls="ChatLiteLLM",
        build=_litellm("openrouter/"),
    ),
    Configuration(
        name="litellm moonshot", host="moonshot", package="langchain_litellm", cls="ChatLiteLLM",
        build=_litellm("moonshot/"),
    ),
)  # fmt: skip
"""Pairs of class and host beside the matrix, asked for their own replay alone."""


def available(
    names: tuple[str, ...] = (), among: tuple[Configuration, ...] = CONFIGURATIONS
) -> tuple[Configuration, ...]:
    """The configurations that can run here."""
    return tuple(c for c in among if c.available and (not names or c.name in names))
