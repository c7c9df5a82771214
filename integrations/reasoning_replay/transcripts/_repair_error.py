"""What a host's refusal means, and the place that it names.

What an error means is a host's own table (`[[errors]]` of its file), the place is read from the hosts' words below.
Expressions are searched in what `_repair_words` lets through, and those of this file are linear in it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._host import Host, Means
from ._repair_named import is_elsewhere
from ._repair_words import Refusal


def meaning(host: Host, said: Refusal) -> Means | None:
    """What the host means, by the first of its own words that fit; None where none do.

    A refusal of a key that names something else than reasoning in a message is none of the history: the request would
    be refused again, and the reasoning would be gone.
    """
    for one in host.errors:
        if one.status is not None and said.statuses and one.status not in said.statuses:
            continue
        if any(re.search(one.match, piece) for piece in said.pieces):
            if one.means == "refused" and is_elsewhere(said.text):
                continue
            return one.means
    return None


# The place ------------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where on the wire an error points; what is not told is None."""

    message: int | None = None
    """Counted from 0."""
    block: int | None = None
    ids: tuple[str, ...] = ()
    """Ids of items, as quoted."""
    field: str | None = None
    """A key of reasoning."""
    ends: tuple[str, str] | None = None
    """The first and the last characters of something sealed, where the host quotes that much."""


_N = r"(\d{1,9})(?!\d)"
_MESSAGE = (
    (re.compile(rf"messages\.{_N}\.content\.{_N}", re.ASCII), 0),
    (re.compile(rf"contents\[{_N}\]\.parts\[{_N}\]", re.ASCII), 0),
    (re.compile(rf"(?:messages|input|contents)[.\[]{_N}()", re.ASCII), 0),
    (re.compile(rf"[\"']messages[\"'], {_N}()", re.ASCII), 0),
    (re.compile(rf"at (?:message )?index {_N}()", re.ASCII), 0),
    (re.compile(rf"in the {_N}\. content block()", re.ASCII), 1),
    (re.compile(rf", position {_N}()", re.ASCII), 1),
)
"""Where a message stands in the words of a host, and the number it counts from."""
_ID = re.compile(
    r"[Ii]tem with id '([^'\n]{1,500})'"
    r"|reasoning item '?([\w-]+)'? was not found|content for item '?([\w-]+)"
    r"|(?:[Ii]tem|'reasoning' item:)(?: with id)? '?((?:rs|msg|fc|ctc|ws|ci|fs|mcp|cmp|encitem)_[\w-]+)"
)
"""Ids of items; where a host's words are about one item it is that one, whatever its id begins with."""
_FIELD = re.compile(r"reasoning_(?:content|details|items|text|opaque)|thinking_blocks|\breasoning\b|\bthinking\b")
_ENDS = re.compile(r"encrypted content (?!for\b)(\S{3,8})\.\.\.(\S{3,8}) could not be")


def place_of(text: str) -> Place:
    """The place that an error names."""
    message = block = None
    for pattern, first in _MESSAGE:
        found = pattern.search(text)
        if found is not None:
            message = int(found[1]) - first
            block = int(found[2]) if found[2] else None
            break
    field, ends = _FIELD.search(text), _ENDS.search(text)
    return Place(
        message,
        block,
        tuple(dict.fromkeys(found[found.lastindex or 0] for found in _ID.finditer(text))),
        None if field is None else field[0],
        None if ends is None else (ends[1], ends[2]),
    )
