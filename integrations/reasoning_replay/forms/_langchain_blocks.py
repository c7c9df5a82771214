"""Content blocks of LangChain messages that hold reasoning, in the five shapes that classes and run modes give them.

Shapes: `output_version` v0 or v1, whole or put together from a stream, and what `stream_events(version="v3")` stores.
Read here is one block; which message it sits in and what becomes of it stands in `langchain`.
Seen with langchain-core 1.8.3 and 17 partner packages, 2026-11-30.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import canonical, shape_value
from ._carriers import text_of
from ._envelopes import id_inside, inside
from ._inline import Inline, inline_in

KWARGS = "additional_kwargs"
LISTS = ("reasoning_details", "thinking_blocks", "reasoning_items")
"""Keys of `additional_kwargs` that hold a list of pieces."""
WIRE = "reasoning_replay_wire"
"""What goes on the wire under another key than it stood: wire key → value. Planned messages only, never saved."""
FIELD = "reasoning_field"
"""`{"id": key}`: the host's own key for what stands under `reasoning_content`."""
IDS = "__openai_function_call_ids__"
"""langchain-openai's map of item ids; the name of the part that stands for every item id of a message."""
SIGNATURES = "__gemini_function_call_thought_signatures__"
TOOL_EXTRAS = "reasoning_tool_extras"
"""A call's id → what a chat host put beside that call (`extra_content`)."""
THINKING = "content.thinking"
ITEM = "content.item"
"""An item of the Responses API: it has an id of its host, and what follows it refers to it."""


class Reasoning(NamedTuple):
    """What a block holds."""

    carrier: str
    text: str
    seal: str | None = None
    """What only its host can open or check; None: readable alone."""
    redacted: bool = False

    @property
    def code(self) -> str:
        """The block's code, as `_carriers` names them."""
        if self.seal is None:
            return shape_value(self.text)
        return "redacted" if self.redacted else "signed" if self.text != "" else "hollow"

    @property
    def payload(self) -> str:
        """What its digest is made of: equal in every shape, and equal to that of LiteLLM's thinking block."""
        return self.text if self.seal is None else f"{self.text}\0{self.seal}"


def reasoning_in(block: object) -> Reasoning | None:
    """The reasoning of a block; None for a block that holds none."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    return _READERS[kind](block) if kind in _READERS else None


def word_of(seals: Mapping[str, Any]) -> str:
    """What is sealed beside a visible block as one word: the value itself where there is one."""
    values = list(seals.values())
    return str(_word(values[0])) if len(values) == 1 else canonical(seals)


def _word(value: object) -> str | None:
    """A sealed value as a word, out of its envelopes; bytes (Bedrock) as the base64 of the wire. None: nothing."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, str):
        return inside(value) if len(value) else None
    return None if value is None else canonical(value)


def _name(identity: object) -> str | None:
    return id_inside(identity) if isinstance(identity, str) else None


def _thinking(block: Mapping[str, Any]) -> Reasoning:
    return Reasoning(THINKING, text_of(block.get("thinking")), _word(block.get("signature")))


def _redacted(block: Mapping[str, Any]) -> Reasoning:
    return Reasoning(THINKING, "", _word(block.get("data")) or "", redacted=True)


def _reasoning(block: Mapping[str, Any]) -> Reasoning:
    """A block of v1, or an item of the Responses API: told apart by the item's id and encrypted content."""
    own = block.get("extras")
    extras = own if isinstance(own, Mapping) else {}
    text = "".join(
        text_of(block[key]) for key in ("reasoning", "text", "summary", "content") if block.get(key) is not None
    )
    redacted = _word(extras.get("redacted_content"))
    if redacted is not None:
        return Reasoning(THINKING, text, redacted, redacted=True)
    seals = [_word(place.get("encrypted_content")) for place in (block, extras)]
    if any(seal is not None for seal in seals) or "summary" in block or is_item_id(block.get("id")):
        return Reasoning(ITEM, text, next((seal for seal in (*seals, _name(block.get("id"))) if seal is not None), ""))
    signatures = [_word(place.get(key)) for place in (extras, block) for key in ("signature", "thought_signature")]
    return Reasoning(THINKING, text, next((seal for seal in signatures if seal is not None), None))


def _converse(block: Mapping[str, Any]) -> Reasoning:
    """Bedrock's block; Cerebras gives the same name to one that holds a text."""
    inside = block.get("reasoning_content")
    if not isinstance(inside, Mapping):
        return Reasoning(THINKING, text_of(inside), _word(block.get("signature")))
    redacted = _word(inside.get("redacted_content"))
    if redacted is not None:
        return Reasoning(THINKING, "", redacted, redacted=True)
    return Reasoning(THINKING, text_of(inside.get("text")), _word(inside.get("signature")))


def _opaque(block: Mapping[str, Any]) -> Reasoning:
    return Reasoning(THINKING, "", canonical(block))


def _wrapped(block: Mapping[str, Any]) -> Reasoning | None:
    """A vendor's own block inside v1's wrapper."""
    value = block.get("value")
    return reasoning_in({**value, "type": value.get("type")}) if isinstance(value, Mapping) else None


_READERS: dict[str, Callable[[Mapping[str, Any]], Reasoning | None]] = {
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    "reasoning_content": _converse,
    "compaction": _opaque,
    "function_call_signature": _opaque,
    "non_standard": _wrapped,
}
"""Type of a block → how it is read. `compaction` stands for messages that are gone (Anthropic, 2026-09)."""

SEALS = ("signature", "thought_signature", "encrypted_content", "extra_content")
"""Keys of a visible block, or of its `extras`, that seal it; the block itself stays."""
_IDS = (
    *("rs_", "msg_", "fc_", "resp_", "ws_", "ctc_", "ci_", "fs_", "mcp_", "mcpl_", "mcpr_", "ig_", "cu_", "tsc_"),
    *("apc_", "cntr_", "lsh_"),
)
_CALL = "function_call"
_ITEMS = frozenset(
    {
        _CALL,
        "web_search_call",
        "file_search_call",
        "computer_call",
        "code_interpreter_call",
        "image_generation_call",
        "local_shell_call",
        "custom_tool_call",
        "tool_search_call",
        "tool_search_output",
        "apply_patch_call",
        "apply_patch_call_output",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
    }
)
"""Blocks that are items of the Responses API as they came (langchain-openai 1.7.4): nothing to any other host."""


def seals_of(block: object) -> dict[str, Any]:
    """What is sealed beside a visible block; empty where nothing is."""
    if not isinstance(block, Mapping):
        return {}
    own = block.get("extras")
    places = (block, own) if isinstance(own, Mapping) else (block,)
    return {key: place[key] for place in places for key in SEALS if place.get(key) is not None}


def without_seals(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block without what is sealed beside it."""
    left = {key: value for key, value in block.items() if key not in SEALS}
    if isinstance(left.get("extras"), Mapping):
        left["extras"] = {key: value for key, value in left["extras"].items() if key not in SEALS}
        if not left["extras"]:
            del left["extras"]
    return left


def inline_of(block: object) -> Inline | None:
    """The thinking in front of a block of text, between tags."""
    if block.__class__ is str:
        return inline_in(block)
    return inline_in(block.get("text")) if isinstance(block, Mapping) and block.get("type") == "text" else None


def said_in(block: Any) -> Any:
    """A text, or a block of text, without the thinking in front of it; anything else as it is."""
    inline = inline_in(block) if isinstance(block, str) else inline_of(block)
    if inline is None:
        return block
    return inline.rest if isinstance(block, str) else {**block, "text": inline.rest}


def is_empty(block: object) -> bool:
    """Whether a visible block says nothing: streams leave such ones, and some hosts refuse them."""
    return block == "" or (isinstance(block, Mapping) and block.get("type") == "text" and block.get("text") == "")


_OF_A_CALL = ("name", "args")


def is_melted(block: object) -> bool:
    """Whether langchain-core 1.8.3, merging v1 chunks, has put a call into a block of text; `tool_calls` has it too."""
    return isinstance(block, Mapping) and block.get("type") == "text" and any(key in block for key in _OF_A_CALL)


def without_call(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block of text without the call in it."""
    return {key: value for key, value in block.items() if key not in (*_OF_A_CALL, "id")}


def is_item_id(value: object) -> bool:
    """Whether an id names an item of the Responses API, which only its host knows."""
    return isinstance(value, str) and value.startswith(_IDS)


def is_reply_id(value: object) -> bool:
    """Whether a reply's own id is one that the Responses API goes on from; Claude's are asked back by nobody."""
    return isinstance(value, str) and value.startswith("resp_")


def holds_item_id(block: object) -> bool:
    """Whether a visible block names an item of its host."""
    if not isinstance(block, Mapping):
        return False
    own = block.get("extras")
    extra = own.get("item_id") if isinstance(own, Mapping) else None
    return block.get("type") in _ITEMS or is_item_id(block.get("id")) or extra is not None


def without_item_id(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The block without its item's id; None for one that is an item (a call of a function stands in `tool_calls` too).

    So is v1's call of a built-in tool and its result, which nothing but the id tells from another vendor's.
    """
    if block.get("type") in _ITEMS or block.get("type") in ("server_tool_call", "server_tool_result"):
        return None
    left = {key: value for key, value in block.items() if key != "id" or not is_item_id(value)}
    if isinstance(left.get("extras"), Mapping):
        left["extras"] = {key: value for key, value in left["extras"].items() if key != "item_id"}
        if not left["extras"]:
            del left["extras"]
    return left


def is_of_a_host(block: object) -> bool:
    """Whether a block, or one inside it, holds reasoning, something sealed or the name of an item.

    For messages that are not the assistant's, where nobody but a quotation can have put it.
    """
    found = reasoning_in(block) is not None or len(seals_of(block)) > 0 or holds_item_id(block)
    return found or any(map(is_of_a_host, _inner(block)))


def plainly(blocks: Sequence[Any]) -> list[Any]:
    """Blocks with all that is taken out which `is_of_a_host` finds."""
    left: list[Any] = []
    for block in blocks:
        if reasoning_in(block) is None:
            bare = without_seals(block) if seals_of(block) else block
            named = without_item_id(bare) if holds_item_id(bare) else bare
            inner = _inner(named)
            left += [{**named, "content": plainly(inner)} if any(map(is_of_a_host, inner)) else named] if named else []
    return left


def _inner(block: Any) -> list[Any]:
    """The blocks inside a block: of a tool's result in the Anthropic form."""
    inside = block.get("content") if isinstance(block, Mapping) else None
    return inside if isinstance(inside, list) else []


def calls_of(row: Mapping[str, Any]) -> list[Any]:
    """Every call of a message: those that could be read, those that could not, and what the class keeps of both."""
    kept = row[KWARGS].get("tool_calls")
    raw = kept if isinstance(kept, list) else ()
    calls = (*(row.get("tool_calls") or ()), *(row.get("invalid_tool_calls") or ()), *raw)
    return [call for call in calls if isinstance(call, Mapping)]
