"""A slow and naive plan, written from the design's prose: the second opinion of the property tests.

It knows the words of the design and the dataclasses of the rules, and has seen nothing else of the package. It says of
every message which reasoning goes out with it, and nothing of requests, reports or sharing. A sentence of the prose
stands above the lines that follow from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from reasoning_replay import Origin, Policy, Rule

Message = dict[str, Any]

STRINGS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque")
LISTS = ("reasoning_details", "thinking_blocks", "reasoning_items")
READABLE = ("reasoning_content", "reasoning", "reasoning_text", "content.thinking")
PARTS = {
    "thinking": "content.thinking",
    "redacted_thinking": "content.thinking",
    "reasoning": "content.reasoning",
}
CLAUDE = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Sent:
    """What goes out for one message: None in `reasoning` where the message is left out."""

    reasoning: dict[str, Any] | None
    fills: frozenset[str] = frozenset()


# Who wrote it -----------------------------------------------------------------------------------------------------------


def origin_of(mark: Any) -> Origin | None:
    """The mark is exactly `{"id", "v"}`, parts percent-encoded; a failing checksum is broken, and broken is unknown."""
    if not isinstance(mark, dict) or set(mark) != {"id", "v"} or mark["v"] != 1 or not isinstance(mark["id"], str):
        return None
    body, _, check = mark["id"].rpartition("|")
    parts = [unquote(part) or None for part in body.split("|")]
    if len(parts) != 5 or parts[0] is None or check != f"{crc32(body.encode()):08x}":
        return None
    return Origin(parts[0], dialect=parts[1] or "", model=parts[2], upstream=parts[3], account=parts[4])


def upstream_of(origin: Origin) -> str | None:
    """At a router the vendor of the model is compared too, else the model."""
    if origin.upstream is not None or origin.model is None:
        return origin.upstream
    return (origin.model.rpartition("/")[0] or origin.model).lower()


def accepts(
    target: Any, owner: Origin | None, policy: Policy, *, sealed: bool, bound: frozenset[str] = frozenset()
) -> bool:
    """Reasoning goes back only to its origin's host; sealed parts also need an equal dialect and what they are bound to."""
    if owner is None:
        if policy.unknown_origin == "drop":
            return False
        if policy.unknown_origin == "trust":
            return True
        owner = policy.unknown_origin
    here: Origin = target.origin
    if owner.host != here.host and not any({owner.host, here.host} <= names for names in policy.same_host):
        return False
    if (target.router or (sealed and "upstream" in bound)) and upstream_of(owner) != upstream_of(here):
        return False
    if not sealed:
        return True
    if owner.dialect != here.dialect or ("model" in bound and owner.model != here.model):
        return False
    if not opens(here.model, owner.model):
        return False
    both = owner.account is not None and here.account is not None
    return not ("account" in bound and both and owner.account != here.account)


def generation(model: str | None) -> tuple[str, tuple[int, int]] | None:
    """Family and version of one of Claude's names; None for another's, and for those before Claude 4."""
    found = re.search(r"claude-([a-z]+)-(\d)(?:[-.](\d)(?!\d))?", model or "")
    return None if found is None else (found[1], (int(found[2]), int(found[3] or 0)))


def opens(reader: str | None, writer: str | None) -> bool:
    """Which Claude opens which other one's blocks, as far as it is ours to ask (the vendor's page on preserved thinking, 2026-08)."""
    here, there = generation(reader), generation(writer)
    if there is None or reader == writer or reader is None or "claude" not in reader:
        return True
    # Nothing older reads 5.1 and later; to those all goes, and the API leaves out what they cannot read.
    return (here is not None and here[1] >= (5, 1)) or there[1] < (5, 1)


# Turns and windows ------------------------------------------------------------------------------------------------------


def has_text(content: Any) -> bool:
    return isinstance(content, str) or any(part["type"] == "text" for part in content)


def has_result(message: Message) -> bool:
    content = message["content"]
    return (
        message["role"] == "user" and not isinstance(content, str) and any(p["type"] == "tool_result" for p in content)
    )


def starts_turn(messages: list[Message], at: int, *, form: str) -> bool:
    """A turn starts at a user message that starts one; an explicit `turn` beats every heuristic."""
    message = messages[at]
    if message["role"] != "user":
        return False
    if "turn" in message:
        return bool(message["turn"])
    content = message["content"]
    if has_result(message):  # in the Anthropic form a user message with any `tool_result` does not
        return False
    if has_text(content):  # text starts a turn unless marked
        return True
    # Neither does a user message right after a tool result that has only non-text parts (a picture from a tool), and
    # pictures count through a run of non-text or `turn: false` user messages.
    for before in reversed(messages[:at]):
        if before["role"] == "system":
            continue
        if before["role"] == "tool" or has_result(before):
            return False
        if before["role"] != "user":
            return True
        if before.get("turn", None) is True or (before.get("turn") is None and has_text(before["content"])):
            return True
    return True


def turn_start(messages: list[Message], form: str) -> int:
    starts = [at for at in range(len(messages)) if starts_turn(messages, at, form=form)]
    return starts[-1] if starts else 0


def host_turn_start(messages: list[Message], form: str) -> int:
    """What the host takes for it: `turn` never reaches the wire, and to Claude a run of user messages is one message."""
    bare = [{key: one[key] for key in one if key != "turn"} for one in messages]
    if form != "anthropic":
        return turn_start(bare, form)
    start, run = 0, []
    for at, message in enumerate(bare):
        run = [*run, message] if message["role"] == "user" else []
        if message["role"] == "user":
            start = start if any(map(has_result, run)) else at
    return start


def first_start(messages: list[Message], form: str) -> int:
    """Where the scope of `missing` begins: the host looks at its own turn, the window at ours; a fill hurts neither."""
    return min(turn_start(messages, form), host_turn_start(messages, form))


def in_window(messages: list[Message], rule: Rule, form: str) -> set[int]:
    """Which messages may carry reasoning.

    `last_assistant` is the last assistant message with reasoning; within one turn earlier bytes never change, so the
    message is looked for before the turn, and the running turn is in it as a whole.
    """
    if rule.window == "none" or rule.requirement == "forbidden":
        return set()
    if rule.window == "all":
        return set(range(len(messages)))
    start = turn_start(messages, form)
    found = set(range(start, len(messages)))
    if rule.window == "last_assistant":
        before = [at for at in range(start) if messages[at]["role"] == "assistant" and reasoning_of(messages[at], form)]
        found |= set(before[-1:])
    return found


# Reading ----------------------------------------------------------------------------------------------------------------


def strip_notes(value: Any) -> Any:
    """Without what never reaches a wire."""
    if isinstance(value, list):
        return [strip_notes(one) for one in value]
    if isinstance(value, dict):
        return {key: strip_notes(one) for key, one in value.items() if key not in ("turn", "provider_specific_fields")}
    return value


def reasoning_of(message: Message, form: str) -> dict[str, Any]:
    """Field -> value, of all reasoning in a message. `null` is no value, and an empty list is none."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if form == "anthropic":
        blocks = [strip_notes(part) for part in parts if part["type"] in CLAUDE]
        return {"content": blocks} if blocks else {}
    found = {key: message[key] for key in STRINGS + LISTS if message.get(key) not in (None, [])}
    details = (message.get("provider_specific_fields") or {}).get("reasoning_details")
    if details is not None and "reasoning_details" not in found:
        found["reasoning_details"] = details
    for kind, name in PARTS.items():
        chunks = [part for part in parts if part["type"] == kind]
        if chunks:
            found[name] = chunks
    extra = {
        at: call["extra_content"] for at, call in enumerate(message.get("tool_calls") or []) if "extra_content" in call
    }
    if extra:
        found["tool_calls.extra_content"] = extra
    return found


def is_signed(part: Any) -> bool:
    """Opaque and verified by its host; an empty signature is none."""
    if isinstance(part, list):
        return any(map(is_signed, part))
    if isinstance(part, dict):
        if part.get("type") in ("redacted_thinking", "reasoning.encrypted"):
            return True
        return part.get("signature") not in (None, "") or part.get("encrypted_content") is not None
    return False


def is_sealed(name: str, value: Any) -> bool:
    return name in ("reasoning_opaque", "tool_calls.extra_content") or is_signed(value)


def text_of(name: str, value: Any) -> str:
    if name == "content.thinking":
        return "".join(part["text"] for chunk in value for part in chunk["thinking"])
    return value


def is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def is_empty(message: Message) -> bool:
    """No content, no calls."""
    content = message.get("content")
    rest = [part for part in content if part["type"] not in PARTS] if isinstance(content, list) else content
    return rest in ("", None, []) and not message.get("tool_calls")


# The plan ---------------------------------------------------------------------------------------------------------------


def plan(
    messages: list[Message], *, form: str, target: Any, rule: Rule, policy: Policy, request: Message | None
) -> list[Sent | None]:
    """For each message of the input; None for one that can hold no reasoning."""
    if form == "anthropic":
        sent = claude_plan(messages, target=target, rule=rule, policy=policy)
        return without_thinking(messages, sent) if thinking_goes(messages, sent, rule, request or {}) else sent
    window, start = in_window(messages, rule, form), first_start(messages, form)
    if "prefix" in rule.bound:
        window = {at for at in window if at > unproven_message(messages, target, rule, policy)}
    return [
        chat_message(message, at in window, at >= start, target, rule, policy)
        if message["role"] == "assistant"
        else None
        for at, message in enumerate(messages)
    ]


def in_scope(message: Message, current: bool, rule: Rule) -> bool:
    """A message in the scope of `missing` gets the fill, inside the window or not."""
    if rule.missing is None:
        return False
    has_calls = bool(message.get("tool_calls")) or any(
        part["type"] == "tool_use" for part in message["content"] or [] if isinstance(part, dict)
    )
    return {"all_assistant": True, "tool_calls": has_calls, "current_turn": current}[rule.missing.on]


def chat_message(message: Message, window: bool, current: bool, target: Any, rule: Rule, policy: Policy) -> Sent:
    came = reasoning_of(message, "chat")
    owner = origin_of((message.get("provider_specific_fields") or {}).get("reasoning_replay"))
    scope = in_scope(message, current, rule)
    fill = rule.missing.fill if rule.missing is not None else None
    own = own_fields(came, owner, window, scope, fill, target, rule, policy)
    out = written(own, rule)
    # An assistant message left with nothing (no content, no calls, its foreign reasoning gone) is left out.
    if not out and is_empty(message) and not all(owner is None and is_blank(value) for value in came.values()):
        return Sent(None)
    string = next((key for key in rule.write if key in STRINGS), None)
    if (
        scope
        and string is not None
        and fill is not None
        and policy.missing == "host"
        and not set(out) & set(rule.write)
    ):
        return Sent({**out, string: fill}, frozenset({string}))
    return Sent(out)


def unproven_message(messages: list[Message], target: Any, rule: Rule, policy: Policy) -> int:
    """If an own block cannot be proven, the front run up to and including it goes. The last message with one."""
    last = -1
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        owner = origin_of((message.get("provider_specific_fields") or {}).get("reasoning_replay"))
        unknown = owner is None and policy.unknown_origin == "drop"
        if unknown and any(is_sealed(name, value) for name, value in reasoning_of(message, "chat").items()):
            last = at
    return last


def own_fields(came, owner, window, scope, fill, target, rule, policy) -> dict[str, Any]:
    """What of a message its host takes back: window, then origin, then signatures."""
    own: dict[str, Any] = {}
    for name, value in came.items():
        # Filler: unmarked text that is blank or equals the rule's fill; the rule's own fill stays.
        if owner is None and (is_blank(value) or (fill is not None and value == fill)):
            if scope and value == fill:
                own[name] = value
            continue
        if not window or not accepts(target, owner, policy, sealed=is_sealed(name, value), bound=rule.bound):
            continue
        if rule.signature == "required" and (name == "reasoning_opaque" or not is_sealed(name, value)):
            continue  # an opaque string has no signature that a host could look for
        if value == "" and rule.empty == "omit":
            continue
        own[name] = value
    return own


def written(own: dict[str, Any], rule: Rule) -> dict[str, Any]:
    """What came in goes back verbatim; own readable text is renamed to the key written."""
    if not own or "same" in rule.write:
        return own
    has_one = bool(set(own) & set(rule.write))
    out = dict(own)
    order = [name for name in (*rule.read, *READABLE) if name in own and name in READABLE]
    for name in rule.write:
        if name not in out and name in READABLE and order:
            text = text_of(order[0], own[order[0]])
            out[name] = (
                text
                if name in STRINGS
                else [{"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}]
            )
            if order[0] not in rule.write:
                out.pop(order[0], None)
    if not has_one:
        # Without a field that the rule writes, own ones that it reads stay at a lenient host, and no others.
        new = set(out) & set(rule.write)
        return {name: value for name, value in out.items() if name in (new or (() if rule.strict else rule.read))}
    # Strict: every key that the host does not know goes, own ones too.
    return {name: value for name, value in out.items() if name in rule.write} if rule.strict else out


# Anthropic --------------------------------------------------------------------------------------------------------------


def claude_plan(messages: list[Message], *, target: Any, rule: Rule, policy: Policy) -> list[Sent | None]:
    window, start = in_window(messages, rule, "anthropic"), first_start(messages, "anthropic")
    cut = unproven(messages, target, rule, policy) if "prefix" in rule.bound else (-1, -1)
    return [
        claude_message(message, at, window, at >= start, cut, target, rule, policy)
        if message["role"] == "assistant"
        else None
        for at, message in enumerate(messages)
    ]


def blocks_of(message: Message) -> list[tuple[int, Message, Origin | None]]:
    if not isinstance(message["content"], list):
        return []
    return [
        (
            at,
            strip_notes(part),
            origin_of((part.get("provider_specific_fields") or {}).get("reasoning_replay")),
        )
        for at, part in enumerate(message["content"])
        if part["type"] in CLAUDE
    ]


def is_filler(block: Message, owner: Origin | None) -> bool:
    return owner is None and block["type"] == "thinking" and is_blank(block["thinking"]) and not is_signed(block)


def unproven(messages, target, rule, policy) -> tuple[int, int]:
    """If an own block cannot be proven, the front run up to and including it goes. The place of the last such block."""
    last = (-1, -1)
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for _, block, owner in blocks_of(message):
            # One that nobody knows, or an own one alone in a message that is left out. What is unsigned is none of
            # a host that signs its own.
            if not is_signed(block):
                continue
            alone = "no_empty" in rule.guards and is_empty(message)
            own = accepts(target, owner, policy, sealed=True, bound=rule.bound)
            if (owner is None and policy.unknown_origin == "drop") or (alone and own):
                last = (at, len(message["content"]))  # its message as a whole: a longer front run is one too
    return last


def claude_block(block: Message, owner: Origin | None, target: Any, rule: Rule, policy: Policy) -> Message | None:
    signed = is_signed(block)
    if is_filler(block, owner):
        return None
    if not accepts(target, owner, policy, sealed=signed, bound=rule.bound):
        return None
    if rule.signature == "required" and not signed:
        return None
    if block["type"] == "redacted_thinking":
        return None if "redacted" in rule.refuses or rule.signature == "forbidden" else block
    if rule.signature == "forbidden" and signed:
        block = {key: value for key, value in block.items() if key != "signature"}
        if block["thinking"] == "":
            return None  # nothing is left that could stand alone
    if block["thinking"] == "" and not is_signed(block) and rule.empty == "omit":
        return None
    return block


def claude_message(message, at, window, current, cut, target, rule, policy) -> Sent:
    kept: list[Message] = []
    blocks = blocks_of(message)
    scope = in_scope(message, current, rule)
    for place, block, owner in blocks:
        if is_filler(block, owner):
            if scope:
                kept.append(block)
        elif at in window and (at, place) > cut:
            kept += filter(None, [claude_block(block, owner, target, rule, policy)])
    # Left with nothing, or with its own reasoning alone where the host does not take that: left out.
    if blocks and is_empty(message):
        lost = any(not is_filler(block, owner) for _, block, owner in blocks)
        if "no_empty" in rule.guards or (not kept and lost):
            return Sent(None)
    if scope and not kept and policy.missing == "host":
        return Sent(
            {"content": [{"type": "thinking", "thinking": rule.missing.fill, "signature": ""}]},
            frozenset({"content"}),
        )
    return Sent({"content": kept} if kept else {})


def thinking_goes(messages: list[Message], sent: list[Sent | None], rule: Rule, request: Message) -> bool:
    """G1 to G3, for manual thinking: what the host refuses goes with the parameter and all blocks together."""
    thinking = request.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return False
    if "forced_tools" in rule.guards and (request.get("tool_choice") or {}).get("type") in ("any", "tool"):
        return True
    limit = request.get("max_tokens")
    if "budget" in rule.guards and limit is not None and limit <= 1024:
        return True
    if "lead_block" not in rule.guards:
        return False
    # The last assistant message with a call after the last real user message begins with a block. The host sees no
    # `turn`.
    for at in range(len(messages) - 1, host_turn_start(messages, "anthropic") - 1, -1):
        message = messages[at]
        if message["role"] == "assistant" and any(
            part["type"] == "tool_use" for part in message["content"] if isinstance(part, dict)
        ):
            return not leads(message, sent[at])
    return False


def leads(message: Message, sent: Sent | None) -> bool:
    kept = (sent.reasoning or {}).get("content", []) if sent is not None else []
    for part in message["content"]:
        if part["type"] not in CLAUDE:
            return False
        if strip_notes(part) in kept:
            return True
    return False


def without_thinking(messages: list[Message], sent: list[Sent | None]) -> list[Sent | None]:
    return [
        one and (Sent(None) if blocks_of(message) and is_empty({"content": message["content"]}) else Sent({}))
        for message, one in zip(messages, sent, strict=True)
    ]
