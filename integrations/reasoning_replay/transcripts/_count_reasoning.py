"""What the reasoning that a plan keeps costs: by its text, by what its reply's usage says, or by a named estimate.

Reasoning that stands in a message twice (`reasoning_content` beside `thinking_blocks`) is read once: the carrier with
the most counts. The length of what is sealed says nothing and is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._decision import Decision
from .._history import Message
from .._plan import Work
from ..forms import PSF, as_mapping
from ._count_families import Sealed
from ._count_words import Words


class ReasoningCost(NamedTuple):
    """Tokens of all reasoning that is read."""

    readable: int = 0
    sealed: int = 0
    replies: int = 0
    """Messages that have some."""
    told: int = 0
    """Messages whose usage said it."""
    guessed: int = 0
    """Sealed parts that were reckoned."""

    def plus(self, other: ReasoningCost) -> ReasoningCost:
        return ReasoningCost(*(mine + more for mine, more in zip(self, other, strict=True)))


NONE = ReasoningCost()
_NAMES = frozenset({"item.id", "item_reference", "tool_calls.id", "__openai_function_call_ids__"})
"""Carriers that hold a name and no reasoning."""


def reasoning_cost(work: Work, start: int, sealed: Sealed, words: Words) -> ReasoningCost:
    """All reasoning from a row on that the plan keeps.

    Blanks and the placeholders that a host demands are a token at most, and are not counted.
    """
    readable = hidden = replies = told = guessed = 0
    for index, (shape, decision) in enumerate(work.draft.decided()):
        if index < start or not shape.parts or decision.remove is not None:
            continue
        cost = _message_cost(work, index, shape, decision, sealed, words)
        if cost is not NONE:
            readable += cost.readable
            hidden += cost.sealed
            replies += 1
            told += cost.told
            guessed += cost.guessed
    return ReasoningCost(readable, hidden, replies, told, guessed)


def _message_cost(
    work: Work, index: int, shape: Message, decision: Decision, sealed: Sealed, words: Words
) -> ReasoningCost:
    """The reasoning of one message; NONE where none is kept."""
    row, payload = work.rows[index], work.form.payload
    by_carrier: dict[str, tuple[int, int, int]] = {}
    for part, act in zip(shape.parts, decision.acts, strict=False):
        if act.action == "drop" or part.value != "text" or part.carrier in _NAMES:
            continue
        text, closed = payload(row, part).partition("\0")[0], part.kind != "text" and act.reason != "own_unsigned"
        texts, seals, bare = by_carrier.get(part.carrier, (0, 0, 0))
        by_carrier[part.carrier] = (texts + words.count(text), seals + closed, bare + (closed and text == ""))
    if not by_carrier:
        return NONE
    texts, seals, bare = max(by_carrier.values(), key=lambda found: (found[0], found[2]))
    seals = max(seals, *(found[1] for found in by_carrier.values()))
    if not seals:
        return ReasoningCost(readable=texts, replies=1)
    usage = reasoning_tokens(row)
    if usage is not None:
        return ReasoningCost(sealed=usage, replies=1, told=1)
    return ReasoningCost(readable=texts, sealed=bare * sealed.each, replies=1, guessed=bare)


def reasoning_tokens(row: Mapping[str, Any]) -> int | None:
    """How many tokens a reply's own usage says that its reasoning took; None where it says nothing."""
    for place in (row, as_mapping(row.get(PSF)) or {}):
        for holder, *path in _USAGE:
            value: Any = as_mapping(place.get(holder))
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
    return None


_USAGE = (
    ("usage_metadata", "output_token_details", "reasoning"),
    ("usage", "completion_tokens_details", "reasoning_tokens"),
    ("usage", "output_tokens_details", "reasoning_tokens"),
    ("usage", "output_tokens_details", "thinking_tokens"),
    ("usage", "reasoning_tokens"),
    ("usageMetadata", "thoughtsTokenCount"),
)
"""Where a message may carry the usage of its reply: LangChain's messages do; an app keeps it beside its own, best in
`provider_specific_fields`, which never goes on the wire."""
