"""The judge of the Anthropic Messages host. It remembers what it issued, since the real API can open its own signatures.

Checks in the order in which they are listed in CHECKS; each is a function of one `Case` to an error text or None.
The texts E1 to E14 are from Anthropic's troubleshooting pages and from reports of its users; a text without a number is
the API's usual wording, from memory. Binding of a block to its prefix is checked for the models that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Final

from ._claude_case import ADAPTIVE, MANUAL, THINKING, Block, Case, opaque_of, order_of, skeleton
from ._law import OWN_KEYS, Refusal, Verdict, matches

BINDING: Final = ("*fable-5-1*", "*fable-5-2*", "*mythos-5-2*", "*opus-5-5*", "*sonnet-5-5*", "*haiku-5-5*")
"""Models that bind a block to everything before it (preserved thinking, 2026-08)."""
MANUAL_REFUSED: Final = ("*opus-4-7*", "*opus-4-8*", "*-5-*", "*-5", "*fable*", "*mythos*")
"""Models without manual thinking: Opus 4.7 and later, and the fifth generation (thinking-troubleshooting)."""
FORCED_REFUSED: Final = ("*fable-5-1*", "*fable-5-2*", "*mythos-5-1*", "*mythos-5-2*", "*opus-5-5*", "*sonnet-5-5*")
NOT_FIFTH: Final = ("*-4-5*", "*-3-5*")
"""Names that end like the fifth generation's and are older."""
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
INTERLEAVED_BETA: Final = "interleaved-thinking-2025-05-14"

REQUEST_KEYS: Final = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "stream",
        "tools",
        "tool_choice",
        "thinking",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "service_tier",
        "context_management",
        "output_config",
        "output_format",
        "container",
        "mcp_servers",
        "cache_control",
        "speed",
        "inference_geo",
    ]
)
BLOCK_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "document": frozenset({"type", "source", "title", "context", "citations", "cache_control"}),
}

E1: Final = (
    "messages.{at}.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final "
    "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
    "blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
E2: Final = "messages.{at}: Invalid `signature` in `thinking` block"
E2_DATA: Final = "messages.{at}: Invalid `data` in `redacted_thinking` block"
E3: Final = (
    E2
    + ". The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior`"
    ' to "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.'
)
E4: Final = "messages.{at}.thinking.signature: Field required"
E5: Final = "messages.{at}.thinking.signature.str: Input should be a valid string"
E6: Final = "messages.{at}.thinking: each thinking block must contain thinking"
E7: Final = (
    "messages.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain exactly as received in the original response."
)
E8: Final = (
    "messages.{at}: When `thinking` is disabled, an `assistant` message in the final position cannot contain `thinking`. "
    "To use thinking blocks, enable `thinking` in your request."
)
E9: Final = "Thinking may not be enabled when tool_choice forces tool use."
E10: Final = 'tool_choice: type "tool" and "any" are not supported for this model.'
E11: Final = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
E12: Final = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
E13: Final = "This model does not support assistant message prefill. The conversation must end with a user message."
E14: Final = "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
EXTRA: Final = "{at}: Extra inputs are not permitted"
MANUAL_GONE: Final = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
EMPTY_TEXT: Final = "messages: text content blocks must be non-empty"
EMPTY_CONTENT: Final = (
    "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
)


# The checks -----------------------------------------------------------------------------------------------------------


def unknown_keys(case: Case) -> str | None:
    """A closed schema: the request, the messages and the blocks."""
    for key in case.body:
        if key not in REQUEST_KEYS:
            return EXTRA.format(at=key)
    for index, message in enumerate(case.messages):
        for key in message:
            if key not in ("role", "content") or key in OWN_KEYS:
                return EXTRA.format(at=f"messages.{index}.{key}")
    for block in case.blocks():
        for key in block.body:
            if key not in BLOCK_KEYS.get(block.kind, block.body):
                return EXTRA.format(at=f"messages.{block.at}.{block.kind}.{key}")
    return None


def roles(case: Case) -> str | None:
    """Only user and assistant; thinking stands in assistant messages alone."""
    for index, message in enumerate(case.messages):
        if message.get("role") not in ("user", "assistant"):
            return f"messages.{index}.role: Input should be 'user' or 'assistant'"
    for block in case.blocks("user"):
        if block.kind in THINKING:
            return f"messages.{block.at}: `{block.kind}` blocks are not allowed in `user` messages"
    return None


def contents(case: Case) -> str | None:
    """No empty message and no empty text block."""
    for index, message in enumerate(case.messages):
        if not message.get("content") and not (index == len(case.messages) - 1 and message.get("role") == "assistant"):
            return EMPTY_CONTENT.format(at=index)
    return EMPTY_TEXT if any(b.kind == "text" and not b.body.get("text") for b in case.blocks()) else None


def answered(case: Case) -> str | None:
    """Every `tool_use` has its result in the next message, and every result its call in the message before."""
    groups = _merged(case)
    for here, following in zip(groups, [*groups[1:], []], strict=True):
        results = {b.body.get("tool_use_id") for b in following if b.kind == "tool_result"}
        open_ids = [str(b.body.get("id")) for b in here if b.kind == "tool_use" and b.body.get("id") not in results]
        if open_ids:
            where = here[0].message
            return (
                f"messages.{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open_ids)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
    for before, here in zip([[], *groups], groups, strict=False):
        known = {b.body.get("id") for b in before if b.kind == "tool_use"}
        for block in here:
            if block.kind == "tool_result" and block.body.get("tool_use_id") not in known:
                return (
                    f"messages.{block.at}: unexpected `tool_use_id` found in `tool_result` blocks: {block.body.get('tool_use_id')}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
    return None


def _merged(case: Case) -> list[list[Block]]:
    """The blocks by message, neighbours of one role joined as the API joins them."""
    roles_of = [message.get("role") for message in case.messages]
    changes = [here != before for before, here in zip([None, *roles_of], roles_of, strict=False)]
    group_of = list(accumulate(changes))
    return [list(blocks) for _, blocks in groupby(case.blocks(), key=lambda block: group_of[block.message])]


def parameters(case: Case) -> str | None:
    """E9 to E12 and E14: what thinking does not go with."""
    thinking = case.body.get("thinking") or {}
    choice = (case.body.get("tool_choice") or {}).get("type")
    forced = choice in ("any", "tool")
    if forced and matches(case.model, FORCED_REFUSED):
        return E10
    if case.mode == MANUAL:
        if matches(case.model, MANUAL_REFUSED) and not matches(case.model, NOT_FIFTH):
            return MANUAL_GONE
        budget = thinking.get("budget_tokens", 0)
        if budget < 1024:
            return E12
        if budget >= case.body.get("max_tokens", 0) and INTERLEAVED_BETA not in case.headers.get("anthropic-beta", ""):
            return E11
        if forced:
            return E9
    edits = (case.body.get("context_management") or {}).get("edits") or []
    clears = any(str(edit.get("type", "")).startswith("clear_thinking_") for edit in edits)
    if clears and case.mode not in (MANUAL, ADAPTIVE):
        return E14
    if "block_binding" in thinking and BINDING_BETA not in case.headers.get("anthropic-beta", ""):
        return EXTRA.format(at=f"thinking.{case.mode}.block_binding")
    return None


def ending(case: Case) -> str | None:
    """E8 and E13: what may stand last."""
    last = case.messages[-1]
    if last.get("role") != "assistant":
        return None
    if case.mode in (MANUAL, ADAPTIVE):
        return E13
    place = next((b.at for b in case.thinking_blocks() if b.message == len(case.messages) - 1), None)
    return E8.format(at=place) if place else None


def signatures(case: Case) -> str | None:
    """E2 and E4 to E6: every block must be one that this host sealed, text included."""
    for block in case.thinking_blocks():
        if block.kind == "redacted_thinking":
            if not case.issuer.opens(opaque_of(block), "data", case.scope, ""):
                return E2_DATA.format(at=block.at)
            continue
        signature, text = block.body.get("signature"), block.body.get("thinking")
        if "signature" not in block.body:
            return E4.format(at=block.at)
        if not isinstance(signature, str):
            return E5.format(at=block.at)
        if signature == "" and text in ("", None):
            return E6.format(at=block.at)
        if not case.issuer.opens(signature, "thinking", case.scope, str(text)):
            return E2.format(at=block.at)
    return None


def order(case: Case) -> str | None:
    """E7 for the latest assistant message; in earlier ones blocks of one reply may not change places (E2)."""
    said = [list(blocks) for _, blocks in groupby(case.blocks("assistant"), key=lambda block: block.message)]
    for blocks in said:
        if not any(b.kind in THINKING for b in blocks):
            continue
        first = next(b for b in blocks if b.kind in THINKING)
        keys = [opaque_of(b) for b in blocks if b.kind in THINKING] + [
            str(b.body.get("id")) for b in blocks if b.kind == "tool_use"
        ]
        sent = next((case.memory.by_key[k] for k in keys if k in case.memory.by_key), None)
        if sent is None:
            continue
        if blocks is said[-1] and order_of(blocks) != sent.order:
            return E7.format(at=first.at)
        places = [sent.order.index(k) for k in order_of(blocks) if k in sent.order and k in case.memory.by_key]
        if places != sorted(places):
            return E2.format(at=first.at)
    return None


def lead_block(case: Case) -> str | None:
    """E1: with manual thinking, the last assistant message of a running tool loop starts with thinking."""
    if case.mode != MANUAL:
        return None
    starts = [group for group in _merged(case) if _starts_turn(case, group)]
    start = starts[-1][0].message if starts else -1
    running = [b for b in case.blocks("assistant") if b.message > start]
    if not running or not any(b.kind == "tool_use" for b in running if b.message == running[-1].message):
        return None
    lead = next(b for b in running if b.message == running[-1].message)
    return None if lead.kind in THINKING else E1.format(at=lead.at, found=lead.kind)


def _starts_turn(case: Case, group: Sequence[Block]) -> bool:
    if not group or case.messages[group[0].message].get("role") != "user":
        return False
    return all(block.kind != "tool_result" for block in group)


def binding(case: Case) -> str | None:
    """E3: the prefix of a block is as it was, but for a front run of thinking."""
    drops = ((case.body.get("thinking") or {}).get("block_binding") or {}).get(
        "prefix_mismatch_behavior"
    ) == "drop_block"
    if drops or not matches(case.model, BINDING):
        return None
    before: list[str] = []
    for block in case.thinking_blocks():
        key = opaque_of(block)
        sent = case.memory.by_key.get(key)
        if sent is not None and matches(sent.model, BINDING):
            inner = [k for k in sent.order[: sent.order.index(key)] if k in case.memory.by_key]
            front = [*sent.before, *inner]
            if skeleton(case.body, block.message) != sent.prefix or (before and front[-len(before) :] != before):
                return E3.format(at=block.at)
        before.append(key)
    return None


CHECKS: Final[tuple[Callable[[Case], str | None], ...]] = (
    unknown_keys, roles, contents, parameters, ending, answered, signatures, order, lead_block, binding,
)  # fmt: skip


def error(message: str, status: int = 400, kind: str = "invalid_request_error") -> Refusal:
    """Anthropic's error body."""
    return Refusal(
        status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_strict"}, message
    )


def judge(case: Case) -> Verdict:
    """The first check that refuses decides."""
    messages = case.body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, Mapping) for m in messages):
        return Verdict(error("messages: at least one message is required"))
    if "max_tokens" not in case.body:
        return Verdict(error("max_tokens: Field required"))
    text = next((text for check in CHECKS if (text := check(case)) is not None), None)
    return Verdict(error(text) if text is not None else None)
