"""How Anthropic's blocks are read for `_block_recall`: what is visible, what is a call, what a tool said."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from . import PSF
from ._block_recall import Answer, Block, Call, Speech, Visible, recall_by
from ._carriers import EXTRAS, block_code, extra_code, text_of, without_extras
from ._places import Look

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_ANSWER = "tool_result"
"""End of the types of blocks that answer a call."""


def _without_fields(block: Block) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != PSF}


def _seal(block: Block) -> dict[str, Any] | None:
    if extra_code(block) is None:
        return None
    return {key: block[key] for key in EXTRAS if block.get(key) is not None}


def _call(block: Block) -> Call | None:
    if block.get("type") not in _CALLS:
        return None
    return Call(block.get("id"), block.get("name"), block.get("input"))


def _answer(block: Block) -> Answer | None:
    if not str(block.get("type")).endswith(_ANSWER):
        return None
    return Answer(block.get("tool_use_id"), None, block.get("is_error") is True, block.get("content"))


def _usual(block: Block) -> Visible:
    """What a usual block shows; None for one with more in it."""
    if not _NOT_USUAL.isdisjoint(block):
        return None
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return text if isinstance(text, str) else None
    if kind == "tool_result":
        return Answer(block.get("tool_use_id"), None, block.get("is_error") is True, block.get("content"))
    if kind == "tool_use":
        return Call(block.get("id"), block.get("name"), block.get("input"))
    return None


_NOT_USUAL = frozenset(EXTRAS)

RECALL = recall_by(
    Speech(
        key="content",
        role_of=itemgetter("role"),
        code=lambda block: block_code(block) or extra_code(block),
        look=Look(
            is_hidden=lambda block: block_code(block) is not None,
            seal=_seal,
            sealed=lambda block, seal: {**_without_fields(block), **seal},
            bare=without_extras,
            is_text=lambda block: (
                isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
            ),
            shaped=_without_fields,
        ),
        call=_call,
        answer=_answer,
        text=lambda block: text_of(block.get("thinking")),
        usual=_usual,
    )
)
