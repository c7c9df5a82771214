"""Where each family of chat classes lets us reach the wire: a mixin each, between `_model`'s methods and the class.

A mixin overrides the few methods in which a class turns messages into a request and a reply into messages. Outbound it
writes what the plan kept (`_messages.write_wire`); inbound it keeps what the class drops. It decides nothing, imports
no partner package, and holds no state: whatever a call needs lives in that call. A family without a mixin serialises
its own blocks byte for byte (see the tests), or is not known: then replies are filtered and marked alone.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

MIXINS: dict[str, tuple[str, str]] = {
    "openai": ("_hooks_openai", "OpenAIHooks"),
    "cerebras": ("_hooks_openai", "CerebrasHooks"),
    "qwq": ("_hooks_openai", "QwQHooks"),
    "groq": ("_hooks_chat", "GroqHooks"),
    "fireworks": ("_hooks_chat", "FireworksHooks"),
    "openrouter": ("_hooks_chat", "OpenRouterHooks"),
    "mistral": ("_hooks_chat", "MistralHooks"),
    "ollama": ("_hooks_ollama", "OllamaHooks"),
    "litellm": ("_hooks_litellm", "LiteLLMHooks"),
    "anthropic": ("_hooks_blocks", "AnthropicHooks"),
    "gemini": ("_hooks_blocks", "GeminiHooks"),
    "bedrock": ("_hooks_bedrock", "BedrockHooks"),
}
"""Family -> module and class."""


@lru_cache(maxsize=64)
def mixin_of(family: str) -> type[Any] | None:
    """The mixin of a family of the table in `_classes`; None where the class needs none."""
    if family not in MIXINS:
        return None
    module, name = MIXINS[family]
    found: type[Any] = getattr(import_module(f".{module}", __package__), name)
    return found
