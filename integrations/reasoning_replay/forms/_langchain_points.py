"""Cache points in LangChain's content: Converse refuses one right behind reasoning.

An empty block of text does not count: it never goes. Nothing is decided here, only looked at and moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ._langchain_blocks import is_empty, reasoning_in

GUARD = "cache_point"
_POINT = "cachePoint"


def mendable(content: object) -> tuple[str, ...]:
    """The guard that would have something to mend, where a cache point stands right behind reasoning."""
    if not isinstance(content, list) or not any(map(_is_point, content)):
        return ()
    told = [block for block in content if not is_empty(block)]
    behind = (_is_point(block) and reasoning_in(before) is not None for before, block in pairwise(told))
    return (GUARD,) if any(behind) else ()


def moved(blocks: list[Any]) -> list[Any]:
    """The blocks with such a point behind the next block that may have one before it, else behind the last such one.

    `None` stands for a block that went: a point that stood behind it waits for the next block too.
    """
    left: list[Any] = []
    held: list[Any] = []
    gone = False
    for block in blocks:
        if block is None or is_empty(block):
            gone = gone or block is None
            continue
        if _is_point(block) and ((not left and gone) or (left and reasoning_in(left[-1]) is not None)):
            held = [block]
            continue
        left.append(block)
        if held and not _is_point(block) and reasoning_in(block) is None:
            left += held
            held = []
    return _behind_visible(left, held) if held else left


def _behind_visible(blocks: list[Any], held: list[Any]) -> list[Any]:
    for number in range(len(blocks), 0, -1):
        if reasoning_in(blocks[number - 1]) is None:
            return [*blocks[:number], *([] if _is_point(blocks[number - 1]) else held), *blocks[number:]]
    return blocks


def _is_point(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    value = block.get("value")
    return _POINT in block or (isinstance(value, Mapping) and _POINT in value)
