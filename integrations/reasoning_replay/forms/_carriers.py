"""The carriers of the chat forms: how each holds reasoning, told as codes, and how a part is taken out.

A code says what a value is: `text`, `blank`, `empty`, `signed`, `hollow` (signed, no text), `opaque`, `redacted`.
The tables here are read by `view` (codes), `payload` and `apply`; a new carrier is a line in LISTS or STRINGS.
Shapes: litellm 1.110.2 `types/utils.py`; OpenRouter's SDK 1.3.19 `ReasoningDetail`; Mistral's SDK 3.7 `ThinkChunk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .._history import Part
from .._origin import from_mark_id
from . import PSF, as_mapping, canonical, plain, shape_value
from ._envelopes import inside, name_payload

Codes = tuple[tuple[int, str], ...]
"""Item and code of each part in a list carrier."""

STRINGS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Keys of an assistant message that hold readable text."""
SEALED = (
    "reasoning_opaque",
    "reasoning_signature",
    "encrypted_content",
    "thought_signature",
    "thought_signatures",
    "signature",
    "extra_content",
)
"""Keys of an assistant message that hold something sealed, whatever its type (Copilot, DashScope, xAI, Gemini)."""
LOOSE = frozenset({*STRINGS, *SEALED, "reasoning_details", "thinking_blocks", "reasoning_items"})
"""Keys of a message that hold reasoning and nothing else. In a form that has none of them they are another form's."""


def loose_in(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of another form's reasoning that a message has; asked of every message."""
    return () if LOOSE.isdisjoint(message) else tuple(key for key in message if key in LOOSE)


THOUGHT = "__thought__"
"""LiteLLM appends a Gemini signature to a tool call's id behind this."""

_PARTS: dict[str, tuple[Any, ...]] = {
    "text": ("text", "text", False, False),
    "blank": ("text", "blank", False, False),
    "empty": ("text", "empty", False, False),
    "signed": ("signed", "text", False, False),
    "hollow": ("signed", "text", True, False),
    "opaque": ("opaque", "text", True, False),
    "redacted": ("opaque", "text", True, True),
}


def part_of(carrier: str, item: int | None, code: str) -> Part:
    """The part that a code stands for."""
    return Part(carrier, item, *_PARTS[code])


def under_mark(parts: Iterable[Part], identity: str | None) -> tuple[Part, ...]:
    """The parts of a message, with the origin that its one mark names, where that can be read."""
    origin = from_mark_id(identity) if identity is not None else None
    if origin is None:
        return tuple(parts)
    origins = frozenset({origin})
    return tuple(part._replace(marked=True, origins=origins) for part in parts)


def text_of(value: object) -> str:
    """Readable text of a block's value: a string, or Mistral's list of text chunks."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(chunk.get("text", "")) if isinstance(chunk, Mapping) else str(chunk) for chunk in value)
    return ""


def chunk_of(text: str, **more: Any) -> dict[str, Any]:
    """A thinking chunk as Mistral writes it."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


def with_chunk(text: str, content: Any) -> list[Any]:
    """The content with readable text as a thinking chunk in front (`closed`: it is complete)."""
    rest = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    return [chunk_of(text, closed=True), *rest]


def _signature(block: Mapping[str, Any]) -> str | None:
    signature = block.get("signature")
    return signature if isinstance(signature, str) and len(signature) else None


def block_code(block: object) -> str | None:
    """A thinking block's code; None for a block that holds no reasoning."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if kind == "thinking":
        return _text_code(text_of(block.get("thinking")), _signature(block))
    if kind == "reasoning":
        return "opaque" if _holds_seal(block) else shape_value(_reasoning_text(block))
    if kind is None and ("reasoningContent" in block or block.get("thought") is True):
        return "opaque"  # Converse's, or Gemini's: in a history that is said to be of another form
    return _OTHER_BLOCKS.get(kind) if isinstance(kind, str) else None


def without_blocks(content: Any) -> Any:
    """A content without blocks of reasoning; the very same one where it has none."""
    if not isinstance(content, list):
        return content
    left = [block for block in content if block_code(plain(block)) is None]
    return content if len(left) == len(content) else left


_OTHER_BLOCKS = {"redacted_thinking": "redacted", "compaction": "opaque"}
"""Blocks that only their host can read; a compaction stands for messages that are gone (Anthropic, 2026-09)."""


def is_past(block: object) -> bool:
    """Whether a block stands for messages that are gone."""
    return isinstance(block, Mapping) and block.get("type") == "compaction"


def _holds_seal(value: object) -> bool:
    """Whether a sealed key, or a part that calls itself encrypted, is anywhere in a block (Databricks' summaries)."""
    if isinstance(value, list):
        return any(map(_holds_seal, value))
    if not isinstance(value, Mapping):
        return False
    named = "encrypted" in str(value.get("type")) or any(value.get(key) is not None for key in EXTRAS)
    return named or any(map(_holds_seal, value.values()))


def _reasoning_text(block: Mapping[str, Any]) -> str:
    """The text of a `reasoning` block: of its own, or of its summaries and contents."""
    own = [block[key] for key in ("reasoning", "text") if isinstance(block.get(key), str)]
    lists = [text_of(block[key]) for key in ("summary", "content") if isinstance(block.get(key), list)]
    return "".join([*own, *lists])


def _dedicated_code(block: object) -> str:
    """The code in a list that holds nothing but reasoning: what is not known is sealed."""
    return block_code(block) or "opaque"


def _text_code(text: str, signature: str | None) -> str:
    return shape_value(text) if signature is None else "signed" if text != "" else "hollow"


def block_payload(block: Any) -> str:
    """What identifies a thinking block: its text, and its signature where there is one."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "redacted_thinking":
        return f"\0{inside(str(block.get('data')))}"
    if kind == "reasoning" and not _holds_seal(block):
        return _reasoning_text(block)
    if kind != "thinking":
        return f"\0{canonical(block)}"
    text, signature = text_of(block.get("thinking")), _signature(block)
    return text if signature is None else f"{text}\0{inside(signature)}"


def detail_kind(detail: Mapping[str, Any]) -> Any:
    """The type of a detail; a bare text is one of text (MiniMax)."""
    return detail.get("type", "reasoning.text" if isinstance(detail.get("text"), str) else None)


def detail_code(detail: object) -> str:
    """The code of one of OpenRouter's reasoning details."""
    if not isinstance(detail, Mapping):
        return "opaque"
    kind = detail_kind(detail)
    if kind == "reasoning.text":
        return _text_code(text_of(detail.get("text")), _signature(detail))
    return shape_value(text_of(detail.get("summary"))) if kind == "reasoning.summary" else "opaque"


def _detail_payload(detail: Any) -> str:
    code = detail_code(detail)
    if code == "opaque":
        return f"\0{canonical(detail)}"
    text = text_of(detail.get("text") if detail_kind(detail) == "reasoning.text" else detail.get("summary"))
    return f"{text}\0{detail['signature']}" if code in ("signed", "hollow") else text


def item_code(item: object) -> str:
    """The code of an item of the Responses API that holds reasoning, or stands for messages that are gone.

    Its own text (`content`, of open models) can be read by whoever has it; a summary without the sealed content is but
    a name of what the host stored.
    """
    if not isinstance(item, Mapping):
        return "opaque"
    if item_seal(item) is None and shape_value(text_of(item.get("content"))) == "text":
        return "text"
    return "signed" if item_text(item) != "" else "hollow"


def item_seal(item: Mapping[str, Any]) -> str | None:
    """What only its host can open in an item; None for nothing, or a blank (llama.cpp sends one)."""
    found = next((item[key] for key in ITEM_SEALS if item.get(key) not in (None, "")), None)
    return found if found is None or isinstance(found, str) else canonical(found)


ITEM_SEALS = ("encrypted_content", "signature")
"""`signature`: OpenRouter's items (its SDK 1.3.19 `ReasoningItem`)."""


def item_text(item: Mapping[str, Any]) -> str:
    """All that can be read of an item."""
    return "".join(text_of(item.get(key)) for key in ("summary", "content"))


def item_payload(item: Any) -> str:
    """What identifies an item of reasoning: its text and what is sealed, else its text alone, else its id.

    Equal to that of the block that LiteLLM or LangChain makes of it.
    """
    if not isinstance(item, Mapping):
        return f"\0{canonical(item)}"
    text, seal, identity = item_text(item), item_seal(item), item.get("id")
    if seal is not None:
        return f"{text}\0{inside(seal)}"
    return text if text != "" or not isinstance(identity, str) else name_payload(identity)


def signature_of(call: object) -> str | None:
    """The sealed extra of a tool call (Gemini's thought signature), wherever LiteLLM or the host put it."""
    if not isinstance(call, Mapping):
        return None
    for holder in (call, as_mapping(call.get("function"))):
        own = holder.get(PSF) if holder is not None else None
        if isinstance(own, Mapping) and own.get("thought_signature") is not None:
            return str(own["thought_signature"])
    if (extra := call.get("extra_content")) is not None:
        google = extra.get("google") if isinstance(extra, Mapping) else None
        inner = google.get("thought_signature") if isinstance(google, Mapping) else None
        return inner if isinstance(inner, str) else canonical(extra)
    identity = call.get("id")
    if isinstance(identity, str) and THOUGHT in identity:
        return identity.split(THOUGHT, 1)[1]
    return None


def without_signature(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call without its sealed extra, and with the id that it has without it."""
    left = {key: value for key, value in without_fields(call).items() if key != "extra_content"}
    if isinstance(left.get("id"), str):
        left["id"] = left["id"].split(THOUGHT, 1)[0]
    if (function := as_mapping(left.get("function"))) is not None:
        left["function"] = without_fields(function)
    return left


def without_fields(holder: Mapping[str, Any]) -> dict[str, Any]:
    """A call or its function without the signature in LiteLLM's field."""
    own = holder.get(PSF)
    rest = {key: value for key, value in own.items() if key != "thought_signature"} if isinstance(own, Mapping) else {}
    left = {key: value for key, value in holder.items() if key != PSF}
    return {**left, PSF: rest} if rest else left


EXTRAS = ("signature", "thought_signature", "encrypted_content", "extra_content")
"""Keys of a visible part that seal it; the part itself stays."""


def extra_code(part: object) -> str | None:
    """`opaque` for a visible part of a content list with something sealed beside it."""
    sealed = isinstance(part, Mapping) and any(part.get(key) is not None for key in EXTRAS)
    return "opaque" if sealed and block_code(part) is None else None


def without_extras(part: Mapping[str, Any]) -> dict[str, Any]:
    """The part without what is sealed beside it."""
    return {key: value for key, value in part.items() if key not in EXTRAS}


def _extra_payload(part: Any) -> str:
    seals = {key: part[key] for key in EXTRAS if part.get(key) is not None}
    one = next(iter(seals.values())) if len(seals) == 1 else None
    return f"\0{inside(one) if isinstance(one, str) else canonical(seals)}"


class ListCarrier(NamedTuple):
    """How a carrier that is a list is read."""

    name: str
    key: str
    code: Callable[[Any], str | None]
    payload: Callable[[Any], str]


LISTS = (
    ListCarrier("reasoning_details", "reasoning_details", detail_code, _detail_payload),
    ListCarrier("thinking_blocks", "thinking_blocks", _dedicated_code, block_payload),
    ListCarrier("reasoning_items", "reasoning_items", item_code, item_payload),
    ListCarrier("content.thinking", "content", block_code, block_payload),
    ListCarrier("content.extra", "content", extra_code, _extra_payload),
    ListCarrier(
        "tool_calls.extra_content",
        "tool_calls",
        lambda call: "opaque" if signature_of(call) is not None else None,
        lambda call: f"\0{signature_of(call)}",
    ),
)
BY_NAME = {carrier.name: carrier for carrier in LISTS}
PSF_CARRIERS = ("thought_signatures", "openai_responses_replay", "reasoningContentBlocks")
"""Fields of `provider_specific_fields` that LiteLLM's own providers read back (gemini, responses bridge, converse)."""


def field_word(name: str, value: Any) -> str:
    """What such a field holds, in one word: of several Gemini signatures LiteLLM sends the first, on the text."""
    first = value[0] if name == PSF_CARRIERS[0] and isinstance(value, list) and value else None
    return first if isinstance(first, str) else canonical(value)


def codes_of(carrier: ListCarrier, items: list[Any]) -> Codes:
    """Place and code of every item that holds reasoning."""
    return tuple((item, code) for item, value in enumerate(items) if (code := carrier.code(plain(value))) is not None)
