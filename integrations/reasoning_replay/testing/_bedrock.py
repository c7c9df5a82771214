"""The judge of Bedrock's Converse: its own shape first, then what the family of the model takes back.

Reasoning of another family than Claude carries no signature, and some take none at all. For Claude the request is judged
in Claude's form by Claude's checks; their texts come back behind `The model returned the following errors:`. The texts
about reasoning and cache points are from reports (see `_strict`); those about the shape of a conversation from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from . import _claude
from ._bedrock_case import CLAUDE, KINDS, as_claude, blocks, content_of, family_of, has_tools
from ._claude_case import Case
from ._law import Refusal, Verdict

NO_REASONING: Final = (
    "User messages cannot contain reasoning content. Please remove the reasoning content and try again."
)
NO_SIGNATURE: Final = (
    "This model doesn't support the reasoningContent.reasoningText.signature field. "
    "Remove reasoningContent.reasoningText.signature and try again."
)
NO_CACHE_POINT: Final = (
    "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again."
)
RETURNED: Final = "The model returned the following errors: {}"
EMPTY: Final = (
    "The content field in the Message object at messages.{at} is empty. Add a ContentBlock object to the content field "
    "and try again."
)
BLANK: Final = (
    "The text field in the ContentBlock object at messages.{at} is blank. Add text to the text field, and try again."
)
ONE_KEY: Final = "The ContentBlock object at messages.{at} must set one of the following keys: {keys}."
START: Final = (
    "A conversation must start with a user message. Try again with a conversation that starts with a user message."
)
ALTERNATE: Final = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user "
    "and assistant roles and try again."
)
NO_CONFIG: Final = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
NO_RESULT: Final = "Expected toolResult blocks at messages.{at}.content for the following Ids: {ids}"
NO_CALL: Final = (
    "The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of previous turn."
)


# Converse's own -------------------------------------------------------------------------------------------------------


def conversation(case: Case) -> str | None:
    """A user begins, and the roles take turns."""
    roles = [message.get("role") for message in case.messages]
    if roles[0] != "user":
        return START
    return ALTERNATE if any(one == two for one, two in pairwise(roles)) else None


def contents(case: Case) -> str | None:
    """No empty message, no blank text, one known member a block."""
    for index, message in enumerate(case.messages):
        if not content_of(message):
            return EMPTY.format(at=index)
    for block in blocks(case):
        if len(block.body) != 1 or next(iter(block.body)) not in KINDS:
            return ONE_KEY.format(at=block.at, keys=", ".join(KINDS))
        if not str(block.body.get("text", "-")).strip():
            return BLANK.format(at=block.at)
    return None


def answered(case: Case) -> str | None:
    """Every call has its result in the next message, and every result its call in the one before."""
    if not has_tools(case) and any({"toolUse", "toolResult"} & set(block.body) for block in blocks(case)):
        return NO_CONFIG
    called: set[str] = set()
    for index, message in enumerate(case.messages):
        results = {str(b["toolResult"].get("toolUseId")) for b in content_of(message) if "toolResult" in b}
        if called - results:
            return NO_RESULT.format(at=index, ids=", ".join(sorted(called - results)))
        if results - called:
            return NO_CALL.format(at=index)
        called = {str(b["toolUse"].get("toolUseId")) for b in content_of(message) if "toolUse" in b}
    return None


def cache_points(case: Case) -> str | None:
    """A cache point does not stand right behind reasoning."""
    for message in case.messages:
        kinds = [next(iter(block)) for block in content_of(message)]
        if ("reasoningContent", "cachePoint") in pairwise(kinds):
            return NO_CACHE_POINT
    return None


def reasoning(case: Case) -> str | None:
    """No reasoning in a user's message; for a model without signatures none with the key, for some none at all."""
    family = family_of(case.model)
    for block in blocks(case):
        if "reasoningContent" not in block.body:
            continue
        said = block.body["reasoningContent"]
        if block.role == "user":
            return NO_REASONING
        if not family.signs and "signature" in (said.get("reasoningText") or {}):
            return NO_SIGNATURE
        if not family.signs and (not family.takes or "redactedContent" in said):
            return NO_REASONING
    return None


CHECKS: Final[tuple[Callable[[Case], str | None], ...]] = (conversation, contents, answered, cache_points, reasoning)

CLAUDE_CHECKS: Final[tuple[Callable[[Case], str | None], ...]] = (
    _claude.parameters, _claude.ending, _claude.signatures, _claude.order, _claude.lead_block, _claude.binding,
)  # fmt: skip


def error(message: str, status: int = 400, kind: str = "ValidationException") -> Refusal:
    """An AWS error body."""
    return Refusal(status, {"__type": kind, "message": message}, message)


def judge(case: Case, options: Mapping[str, Any]) -> Verdict:
    """The first check that refuses decides."""
    messages = case.body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, Mapping) for m in messages):
        return Verdict(error("The messages field is required. Add messages and try again."))
    text = next((text for check in CHECKS if (text := check(case)) is not None), None)
    if text is None and family_of(case.model).name == CLAUDE:
        claude = as_claude(case)
        said = next((text for check in CLAUDE_CHECKS if (text := check(claude)) is not None), None)
        text = None if said is None else RETURNED.format(said)
    return Verdict(error(text) if text is not None else None)
