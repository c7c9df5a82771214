"""Sealed parts of unknown origin: what can be said of them by their looks is only that they are not this host's.

Asked where the policy would send what nobody knows the origin of: a known prefix (a rule's `foreign_seals`) makes a
part somebody else's. It never makes one this host's own. Must not decide what goes; it takes away a chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ._history import History, Message, Part
from ._rules import Rule
from .forms import Form
from .forms._envelopes import inside

NOBODY = frozenset[Any]()
"""Origins of a part that is surely not the target's: none of them accepts it."""


def without_strangers(history: History, rows: Sequence[Mapping[str, Any]], form: Form, rule: Rule) -> History:
    """The history with every unknown seal that this host never makes as somebody else's; the same where none is."""
    if not rule.foreign_seals:
        return history
    asked = {shape for shape in history.shapes if any(map(_is_unknown, shape.parts))}
    if not asked:
        return history
    found = list(history.rows)
    made: dict[tuple[Message, tuple[Part, ...]], Message] = {}
    for row, shape in enumerate(history.rows):
        if shape in asked:
            parts = tuple(_judged(part, rows[row], form, rule) for part in shape.parts)
            if parts != shape.parts:
                found[row] = made.setdefault((shape, parts), replace(shape, parts=parts))
    return history.with_rows(found) if made else history


def _is_unknown(part: Part) -> bool:
    return part.kind != "text" and part.origins is None


def _judged(part: Part, row: Mapping[str, Any], form: Form, rule: Rule) -> Part:
    if not _is_unknown(part):
        return part
    seal = form.payload(row, part).rpartition("\0")[2]
    strange = seal.startswith(rule.foreign_seals) or inside(seal).startswith(rule.foreign_seals)
    return part._replace(origins=NOBODY) if strange else part
