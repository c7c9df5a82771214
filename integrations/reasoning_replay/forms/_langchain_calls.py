"""Blocks of calls in the content of LangChain's messages: what of them is not in `tool_calls`, and made of it anew.

Where a class sends a content in its order (ChatOpenAI's Responses), calls that have no block go in front of it, and a
reasoning item behind them is refused: so their blocks come back with the reasoning. Names and arguments are the app's.
Shapes: langchain-openai 1.7, langchain-anthropic 1.7, langchain-core 1.8 (v1).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_BY_CALL_ID = ("function_call", "custom_tool_call")
_KINDS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "input_json_delta", *_BY_CALL_ID})
"""Blocks of calls that stand in `tool_calls` too."""
_STYLES: tuple[Callable[[Any], str], ...] = (
    lambda args: json.dumps(args, ensure_ascii=False, separators=(",", ":")),
    lambda args: json.dumps(args, separators=(",", ":")),
    lambda args: json.dumps(args, ensure_ascii=False),
    json.dumps,
)
"""How hosts write arguments: so their bytes come back too."""


def is_call(block: object) -> bool:
    """Whether a block is a call that stands in `tool_calls` too."""
    return isinstance(block, Mapping) and str(block.get("type")) in _KINDS


def shells_of(blocks: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
    """Of every block of a call: the place of its call, its kind and style, and its status; none where one is odd."""
    shells: list[Any] = []
    for block in filter(is_call, blocks):
        kind = block["type"]
        identity = block.get("call_id" if kind in _BY_CALL_ID else "id")
        if kind not in _MADE or identity not in ids:
            return []
        status = {"status": block["status"]} if isinstance(block.get("status"), str) else {}
        shells.append([ids.index(identity), kind, _style_of(block.get("arguments")), status])
    return shells


def _style_of(arguments: Any) -> int:
    if not isinstance(arguments, str):
        return 0
    try:
        args = json.loads(arguments)
    except (ValueError, RecursionError):
        return 0
    return next((number for number, write in enumerate(_STYLES) if write(args) == arguments), 0)


def filled_shells(shells: Sequence[Any], calls: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """The blocks of the app's own calls; None where there are none to make, or a call is missing."""
    if not shells or any(at >= len(calls) for at, *_ in shells):
        return None
    return [{"type": kind, **_MADE[kind](calls[at], _STYLES[style]), **status} for at, kind, style, status in shells]


def _function_call(call: Mapping[str, Any], write: Callable[[Any], str]) -> dict[str, Any]:
    args = call.get("args")
    arguments = args if isinstance(args, str) else write(args)
    return {"call_id": call.get("id"), "name": call.get("name"), "arguments": arguments}


def _custom_call(call: Mapping[str, Any], write: Callable[[Any], str]) -> dict[str, Any]:
    args = call.get("args")
    text = args.get("__arg1") if isinstance(args, Mapping) else args
    return {"call_id": call.get("id"), "name": call.get("name"), "input": text}


_MADE: dict[str, Callable[[Mapping[str, Any], Callable[[Any], str]], dict[str, Any]]] = {
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "tool_use": lambda call, write: {"id": call.get("id"), "name": call.get("name"), "input": call.get("args")},
    "tool_call": lambda call, write: {"id": call.get("id"), "name": call.get("name"), "args": call.get("args")},
}
