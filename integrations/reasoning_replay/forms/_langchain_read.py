"""What one assistant message of LangChain's holds: beside its content, in its blocks, and in its words.

Each reader gives codes (carrier, place, what stands there); `langchain` makes shapes of them. What is kept twice is
told as spare: a copy for display, a call that merging put into a block of text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._history import HistoryError
from . import PSF, shape_value
from ._carriers import BY_NAME, PSF_CARRIERS, SEALED, STRINGS, codes_of
from ._inline import INLINE, inline_in
from ._langchain_blocks import (
    FIELD,
    IDS,
    ITEM,
    LISTS,
    SIGNATURES,
    TOOL_EXTRAS,
    holds_item_id,
    inline_of,
    is_item_id,
    is_melted,
    is_reply_id,
    reasoning_in,
    seals_of,
)

Code = tuple[str, int | None, str]
"""Carrier, place in it, and what stands there, as `_carriers` names it."""


def _read_text(key: str, value: Any, kwargs: Mapping[str, Any]) -> list[Code]:
    if isinstance(value, str):
        return [(named(key, kwargs), None, shape_value(value))]
    return [(ITEM, None, "signed")] if isinstance(value, Mapping) else []  # an item of Responses: ChatOpenAI's v0


def named(key: str, kwargs: Mapping[str, Any]) -> str:
    """The key that the host used: LangChain stores every readable text under `reasoning_content`."""
    note = kwargs.get(FIELD) if key == "reasoning_content" else None
    name = note.get("id") if isinstance(note, Mapping) else None
    return name if name in STRINGS else key


def _read_sealed(key: str, value: Any, kwargs: Mapping[str, Any]) -> list[Code]:
    return [(key, None, "opaque")]


def _read_list(key: str, value: Any, kwargs: Mapping[str, Any]) -> list[Code]:
    return [(key, item, code) for item, code in codes_of(BY_NAME[key], value)] if isinstance(value, list) else []


def _read_fields(key: str, value: Any, kwargs: Mapping[str, Any]) -> list[Code]:
    names = PSF_CARRIERS if isinstance(value, Mapping) else ()
    return [(f"psf.{name}", None, "opaque") for name in names if value.get(name) is not None]


READ: dict[str, Callable[[str, Any, Mapping[str, Any]], list[Code]]] = {
    **dict.fromkeys(STRINGS, _read_text),
    **dict.fromkeys((*SEALED, SIGNATURES, TOOL_EXTRAS), _read_sealed),
    **dict.fromkeys(LISTS, _read_list),
    PSF: _read_fields,
}
"""Key of `additional_kwargs` → the parts that its value holds."""


class Said(NamedTuple):
    """What the content of a message holds."""

    visible: bool
    codes: Sequence[Code] = ()
    lead: int = 0
    """How many blocks of reasoning come first."""
    spare: tuple[str, ...] = ()


def said_in(index: int, content: Any, kwargs: Mapping[str, Any]) -> Said:
    if isinstance(content, list):
        said = _within(content, kwargs)
        nulled = "refusal" in kwargs and kwargs["refusal"] is None
        return said._replace(spare=(*said.spare, "refusal")) if nulled else said
    if not isinstance(content, str):
        raise HistoryError(f"messages[{index}].content: a {type(content).__name__}; allowed: a string or a list")
    inline = inline_in(content)
    if inline is None:
        return Said(content != "")
    return Said(inline.rest != "", [(INLINE, None, shape_value(inline.text))])


def _within(content: Sequence[Any], kwargs: Mapping[str, Any]) -> Said:
    """What the blocks hold.

    v1 shows the text of `reasoning_content` a second time, as a block: that copy never goes on a wire.
    """
    codes: list[Code] = []
    lead = hidden = 0
    copied = melted = False
    beside = any(isinstance(kwargs.get(key), str) for key in STRINGS) or "thinking_blocks" in kwargs
    for item, block in enumerate(content):
        found = reasoning_in(block)
        if found is None:
            codes += _beside_text(item, block)
            melted = melted or is_melted(block)
            continue
        lead += hidden == item
        hidden += 1
        if beside and found.seal is None:
            copied = True
        else:
            codes.append((found.carrier, item, found.code))
    spare = (*(("content.copy",) if copied else ()), *(("content.melted",) if melted else ()))
    return Said(len(content) > hidden, codes, lead, spare)


def _beside_text(item: int, block: Any) -> list[Code]:
    """What a visible block holds besides what it says."""
    inline = inline_of(block)
    codes: list[Code] = [] if inline is None else [(INLINE, item, shape_value(inline.text))]
    return [*codes, ("content.extra", item, "opaque")] if len(seals_of(block)) else codes


def names_items(row: Mapping[str, Any], kwargs: Mapping[str, Any], content: Any) -> bool:
    if IDS in kwargs or is_item_id(row.get("id")):
        return True
    told = row.get("response_metadata")
    if isinstance(told, Mapping) and is_reply_id(told.get("id")):
        return True
    return isinstance(content, list) and any(reasoning_in(each) is None and holds_item_id(each) for each in content)
