"""The carriers of the chat forms: how each holds reasoning, told as codes, and how a part is taken out.

A code says what a value is: `text`, `blank`, `empty`, `signed`, `hollow` (signed, no text), `opaque`, `redacted`.
The tables here are read by `view` (codes), `payload` and `apply`; a new carrier is a line in LISTS or STRINGS.
Shapes: litellm 1.110.2 `types/utils.py`; OpenRouter's SDK 1.3.19 `ReasoningDetail`; Mistral's SDK 3.7 `ThinkChunk`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._history import Part
from . import PSF, canonical, shape_value

Codes = tuple[tuple[int, str], ...]
"""Item and code of each part in a list carrier."""

STRINGS = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "reasoning_opaque", "reasoning_signature")
"""Keys of an assistant message that hold one string."""
OPAQUE_STRINGS = frozenset({"reasoning_opaque", "reasoning_signature"})
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


def text_of(value: object) -> str:
    """Readable text of a block's value: a string, or Mistral's list of text chunks."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(chunk.get("text", "")) if isinstance(chunk, Mapping) else str(chunk) for chunk in value)
    return ""


def _signature(block: Mapping[str, Any]) -> str | None:
    signature = block.get("signature")
    return signature if isinstance(signature, str) and len(signature) else None


def block_code(block: object) -> str | None:
    """A thinking block's code; None for a block that holds no reasoning."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or kind not in ("thinking", "redacted_thinking", "reasoning"):
        return None
    if kind == "redacted_thinking":
        return "redacted"
    if kind == "reasoning":
        return "opaque" if "signature" in canonical(block) or "encrypted" in canonical(block) else "text"
    return _text_code(text_of(block.get("thinking")), _signature(block))


def _text_code(text: str, signature: str | None) -> str:
    return shape_value(text) if signature is None else "signed" if text != "" else "hollow"


def block_payload(block: Mapping[str, Any]) -> str:
    """What identifies a thinking block: its text, and its signature where there is one."""
    if block.get("type") == "redacted_thinking":
        return f"\0{block.get('data')}"
    if block.get("type") == "reasoning":
        return canonical(block)
    text, signature = text_of(block.get("thinking")), _signature(block)
    return text if signature is None else f"{text}\0{signature}"


def detail_code(detail: object) -> str:
    """The code of one of OpenRouter's reasoning details."""
    if not isinstance(detail, Mapping):
        return "opaque"
    kind = detail.get("type")
    if kind == "reasoning.text":
        return _text_code(text_of(detail.get("text")), _signature(detail))
    return shape_value(text_of(detail.get("summary"))) if kind == "reasoning.summary" else "opaque"


def _detail_payload(detail: Any) -> str:
    code = detail_code(detail)
    if code == "opaque":
        return f"\0{canonical(detail)}"
    text = text_of(detail.get("text") if detail.get("type") == "reasoning.text" else detail.get("summary"))
    return f"{text}\0{detail['signature']}" if code in ("signed", "hollow") else text


def _item_code(item: object) -> str:
    return "signed" if isinstance(item, Mapping) and item.get("encrypted_content") is not None else "text"


def signature_of(call: object) -> str | None:
    """The sealed extra of a tool call (Gemini's thought signature), wherever LiteLLM or the host put it."""
    if not isinstance(call, Mapping):
        return None
    own = call.get(PSF)
    if isinstance(own, Mapping) and isinstance(own.get("thought_signature"), str):
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
    left = {key: value for key, value in call.items() if key not in ("extra_content", PSF)}
    if isinstance(left.get("id"), str):
        left["id"] = left["id"].split(THOUGHT, 1)[0]
    own = call.get(PSF)
    rest = {key: value for key, value in own.items() if key != "thought_signature"} if isinstance(own, Mapping) else {}
    return {**left, PSF: rest} if rest else left


class ListCarrier(NamedTuple):
    """How a carrier that is a list is read."""

    name: str
    key: str
    code: Callable[[Any], str | None]
    payload: Callable[[Any], str]


LISTS = (
    ListCarrier("reasoning_details", "reasoning_details", detail_code, _detail_payload),
    ListCarrier("thinking_blocks", "thinking_blocks", block_code, block_payload),
    ListCarrier("reasoning_items", "reasoning_items", _item_code, canonical),
    ListCarrier("content.thinking", "content", block_code, block_payload),
    ListCarrier(
        "tool_calls.extra_content",
        "tool_calls",
        lambda call: "opaque" if signature_of(call) is not None else None,
        lambda call: f"\0{signature_of(call)}",
    ),
)
BY_KEY = {carrier.key: carrier for carrier in LISTS}
BY_NAME = {carrier.name: carrier for carrier in LISTS}
PSF_CARRIERS = ("thought_signatures", "openai_responses_replay", "reasoningContentBlocks")
"""Fields of `provider_specific_fields` that LiteLLM's own providers read back (gemini, responses bridge, converse)."""


def codes_of(carrier: ListCarrier, items: list[Any]) -> Codes:
    """Place and code of every item that holds reasoning."""
    return tuple((item, code) for item, value in enumerate(items) if (code := carrier.code(value)) is not None)
