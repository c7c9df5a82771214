"""What a model sees of the requests that a strict host took: rendered and cut into tokens by the vendors' own packages.

A host tells its price in tokens and its cache in prefixes of them, so both can be counted without a live host.
Where their vocabularies lie, `_vocabulary` knows: nothing is fetched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from typing import Any, Final

from .._vocabulary import hugging_face, litellm_files, tekken
from ._host import Captured, StrictHost


@dataclass(frozen=True, slots=True)
class Prompt:
    """One rendered prompt. `repr` shows no text."""

    text: str = field(repr=False)
    tokens: tuple[int, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    def shared(self, earlier: Prompt) -> int:
        """Give the tokens at the front that an earlier prompt has too: what a cache of prefixes need not read again."""
        pairs = zip(self.tokens, earlier.tokens, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def prompts(host: StrictHost) -> list[Prompt]:
    """The prompt of every request that the host took, oldest first; a refused request has none.

    Raises ValueError for a host whose vendor publishes no renderer, ImportError where its package is missing.
    """
    if host.kind not in RENDERERS:
        raise ValueError(
            f"prompts: no package renders what {host.kind!r} shows its model; some do for: {', '.join(RENDERERS)}"
        )
    needs, render = RENDERERS[host.kind]
    missing = [package for package in needs if find_spec(package) is None]
    if missing:
        name = missing[0].replace("_", "-")
        raise ImportError(
            f"prompts: {host.kind} needs {name}, which is not installed; install it with: pip install {name}"
        )
    return [render(request) for request in host.requests if request.status == 200]


# DeepSeek -------------------------------------------------------------------------------------------------------------


def _deepseek(request: Captured) -> Prompt:
    """The host's judge, `deepseek-recipe`, has rendered it; the vocabulary is DeepSeek V3's."""
    text = request.prompt or ""
    return Prompt(text, tuple(hugging_face("deepseek_tokenizer.json").encode(text, add_special_tokens=False).ids))


# gpt-oss --------------------------------------------------------------------------------------------------------------


HARMONY: Final = "openai_harmony"
"""By name: it ships no types."""


def _gpt_oss(request: Captured) -> Prompt:
    """`openai-harmony` writes the channels: it leaves `analysis` out once a `final` follows."""
    harmony = import_module(HARMONY)

    body = request.json
    talk = [_harmony_tools(body)] if body.get("tools") else []
    talk += [each for message in body["messages"] for each in _harmony_messages(message)]
    whole = harmony.Conversation.from_messages(talk)
    tokens = _harmony_vocabulary().render_conversation_for_completion(whole, harmony.Role.ASSISTANT)
    return Prompt(_harmony_vocabulary().decode_utf8(tokens), tuple(tokens))


@cache
def _harmony_vocabulary() -> Any:
    harmony = import_module(HARMONY)

    os.environ.setdefault("TIKTOKEN_RS_CACHE_DIR", str(litellm_files()))  # else the package would fetch it
    return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


def _harmony_tools(body: Mapping[str, Any]) -> Any:
    harmony = import_module(HARMONY)

    tools = [
        harmony.ToolDescription.new(each["name"], each.get("description", ""), parameters=each.get("parameters"))
        for each in (tool["function"] for tool in body["tools"])
    ]
    content = harmony.DeveloperContent.new().with_function_tools(tools)
    return harmony.Message.from_role_and_content(harmony.Role.DEVELOPER, content)


def _harmony_messages(message: Mapping[str, Any]) -> list[Any]:
    """A chat message: reasoning on `analysis`, calls and results on `commentary`, an answer on `final`."""
    harmony = import_module(HARMONY)

    make = harmony.Message.from_role_and_content
    content = message.get("content")
    if message["role"] == "tool":
        author = harmony.Author.new(harmony.Role.TOOL, "functions.tool")
        return [harmony.Message.from_author_and_content(author, content).with_channel("commentary")]
    if message["role"] != "assistant":
        return [make(harmony.Role(message["role"]), content)]
    said = [("analysis", message.get("reasoning")), ("final", content)]
    out = [make(harmony.Role.ASSISTANT, text).with_channel(channel) for channel, text in said if isinstance(text, str)]
    for call in message.get("tool_calls") or ():
        asked = make(harmony.Role.ASSISTANT, call["function"]["arguments"]).with_channel("commentary")
        out.append(asked.with_recipient(f"functions.{call['function']['name']}").with_content_type("<|constrain|>json"))
    return out


# Mistral --------------------------------------------------------------------------------------------------------------


def _mistral(request: Captured) -> Prompt:
    """`mistral-common` with Magistral's version of the format; it writes a thinking chunk's text as a string."""
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

    body = request.json
    messages = json.loads(json.dumps(body["messages"]))
    for message in messages:
        for chunk in message["content"] if isinstance(message.get("content"), list) else ():
            if isinstance(chunk.get("thinking"), list):
                chunk["thinking"] = "".join(part["text"] for part in chunk["thinking"])
    asked: ChatCompletionRequest[Any] = ChatCompletionRequest.model_validate(
        {"messages": messages, "tools": body.get("tools")}
    )
    encoded = _mistral_vocabulary().encode_chat_completion(asked)
    text = _mistral_vocabulary().decode(encoded.tokens, special_token_policy=SpecialTokenPolicy.KEEP)
    return Prompt(text, tuple(encoded.tokens))


@cache
def _mistral_vocabulary() -> Any:
    from mistral_common.protocol.instruct.normalize import get_normalizer
    from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
    from mistral_common.tokens.tokenizers.base import TokenizerVersion
    from mistral_common.tokens.tokenizers.instruct import InstructTokenizerV13
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    return MistralTokenizer(
        InstructTokenizerV13(tekken()),
        validator=get_validator(TokenizerVersion.v13, mode=ValidationMode.test),
        request_normalizer=get_normalizer(TokenizerVersion.v13),
    )


RENDERERS: Final[dict[str, tuple[tuple[str, ...], Callable[[Captured], Prompt]]]] = {
    "deepseek": (("deepseek_recipe", "litellm", "tokenizers"), _deepseek),
    "cerebras": (("litellm", "openai_harmony"), _gpt_oss),
    "groq": (("litellm", "openai_harmony"), _gpt_oss),
    "mistral": (("mistral_common",), _mistral),
}
"""Host → the packages that it takes, and what renders one request. cerebras and groq: their gpt-oss."""
