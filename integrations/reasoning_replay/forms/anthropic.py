"""The Anthropic form: messages whose content is a list of blocks, reasoning among them, order kept.

The mark sits in each thinking block's `provider_specific_fields`, since people append `reply.content`.
Blocks go back byte for byte, in place, or not at all; a cache point on a block that goes moves to its neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .._decision import Decision, Zone, decided
from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, from_mark_id, mark_id
from . import PSF, TURN, Form, Messages, Turns, as_mapping, plain, stated_turn, unmarked, wrong_role, wrong_type
from ._anthropic_recall import RECALL
from ._anthropic_stream import AnthropicStream
from ._carriers import BY_NAME, LOOSE, block_code, extra_code, loose_in, part_of, without_extras
from ._turns import last_start

ROLES = ("user", "assistant", "system")
"""`system`: accepted in mid-conversation since 2026-08 (SDK 2.14)."""
CARRIER = "content.thinking"
EXTRA = "content.extra"
"""A signature on a visible block (Vertex, relays): the block stays, and keeps it where it may go back."""
_CACHE = "cache_control"
_BLOCKS = "content.thinking"
"""Stands there where a message that is not the assistant's has thinking: that is nobody else's."""
_MARKS = "content.provider_specific_fields"
"""Stands in `Message.spare` where a block has a field that never goes on the wire."""


def view(messages: Messages, starts_turn: StartsTurn | None = None) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or content that is no string and no list of blocks.
    """
    rows: list[Message] = []
    shapes: dict[Any, Message] = {}
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ROLES:
            raise wrong_role(index, role, ROLES)
        stated_turn(index, message, None)
        made = _shape(str(role), message, _blocks(index, message))
        rows.append(shapes.setdefault(made, Message(*made)))
    # The API joins user messages that follow each other, so behind a result none of them ends the loop for the host.
    host_turn = last_start(messages, _JOINED)
    stated = partial(stated_turn, starts_turn=starts_turn)
    return History(rows, frozenset(rows), last_start(messages, TURNS, stated), host_turn)


def _is_result(message: Mapping[str, Any]) -> bool:
    return any(_kind(block) == "tool_result" for block in _content(message))


def _without_text(message: Mapping[str, Any]) -> bool:
    return not isinstance(message.get("content"), str) and all(_kind(block) != "text" for block in _content(message))


TURNS = Turns(_is_result, _without_text)
_JOINED = Turns(_is_result, lambda message: True)


def _blocks(index: int, message: Mapping[str, Any]) -> list[Any]:
    """The content's blocks; a string or null has none that matter here."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return []
    if not isinstance(content, list):
        raise wrong_type(index, "content", content, "a string or a list of blocks")
    for number, block in enumerate(content := [plain(block) for block in content]):
        if not isinstance(block, Mapping):
            raise wrong_type(index, f"content[{number}]", block, "a dict with a type")
        if _kind(block) == "thinking" and not isinstance(block.get("thinking"), str):
            raise wrong_type(index, f"content[{number}].thinking", block.get("thinking"), "a string")
    return content


def _kind(block: Any) -> Any:
    return block.get("type")


def _shape(role: str, message: Mapping[str, Any], content: list[Any]) -> tuple[Any, ...]:
    """The fields of the message's shape, in order."""
    parts: list[Part] = []
    spare = [key for key in (PSF, TURN) if key in message]
    spare += loose_in(message)
    redacted = _identity(message) == REDACTED
    for item, block in enumerate(content):
        if PSF in block:
            spare += [_MARKS] if _MARKS not in spare else []
            redacted = redacted or _identity(block) == REDACTED
        code = block_code(block)
        if code is not None and role == "assistant":
            parts.append(_marked(part_of(CARRIER, item, code), block))
        elif code is not None and _BLOCKS not in spare:
            spare.append(_BLOCKS)
        elif extra_code(block) is not None:
            parts.append(_marked(part_of(EXTRA, item, "opaque"), block))
    text = message.get("content")
    return (
        role,
        any(_kind(block) in ("tool_use", "server_tool_use") for block in content),
        len(content) > sum(part.carrier == CARRIER for part in parts) or (isinstance(text, str) and text != ""),
        tuple(parts),
        tuple(spare),
        sum(part.item == place for place, part in enumerate(part for part in parts if part.carrier == CARRIER)),
        *(False, False, (), False),
        redacted,
    )


def _identity(holder: Mapping[str, Any]) -> str | None:
    """The id of the mark on a block, or on a message that has none left."""
    fields = holder.get(PSF)
    return mark_id(fields.get(MARK)) if isinstance(fields, Mapping) else None


def _marked(part: Part, block: Mapping[str, Any]) -> Part:
    identity = _identity(block)
    origin = from_mark_id(identity) if identity is not None else None
    return part if origin is None else part._replace(marked=True, origins=frozenset({origin}))


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a block's digest is made of: its text and signature, or its data."""
    return BY_NAME[part.carrier].payload(plain(message["content"][part.item or 0]))


def write(messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned messages; the list that was given where nothing changes."""
    out: list[Any] = []
    changed = False
    for message, (shape, decision) in zip(messages, decided(history, zones), strict=True):
        if not _changes(shape, decision):
            out.append(message)
            continue
        changed = True
        if decision.remove is not None:
            points = [block[_CACHE] for block in _content(message) if block.get(_CACHE) is not None]
            if points and out:
                out[-1] = _with_cache_point(out[-1], points[-1])
            continue
        out.append(_written(message, shape, decision))
    return out if changed else messages if type(messages) is list else out


def _content(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return [plain(block) for block in content] if isinstance(content, list) else []


def _changes(shape: Message, decision: Decision) -> bool:
    if decision.remove is not None or decision.fill is not None or shape.spare:
        return True
    return any(act.action == "drop" or act.reason == "own_unsigned" for act in decision.acts)


def _written(message: Mapping[str, Any], shape: Message, decision: Decision) -> dict[str, Any]:
    copy = {key: value for key, value in message.items() if key not in shape.spare}
    acts = {part.item: act for part, act in zip(shape.parts, decision.acts, strict=True)}
    blocks: list[Any] = []
    point: Any = None
    for item, block in enumerate(_content(message)):
        act = acts.get(item)
        goes = act is not None and act.action == "drop"
        if goes and extra_code(block) is not None:
            block = without_extras(block)  # noqa: PLW2901
        elif goes or (_BLOCKS in shape.spare and block_code(block) is not None):
            if (own := block.get(_CACHE)) is not None:
                point = own if not _take(blocks, own) else None
            continue
        left = {PSF, "signature"} if act is not None and act.reason == "own_unsigned" else {PSF}
        kept = {key: value for key, value in block.items() if key not in left} if not left.isdisjoint(block) else block
        if point is not None:
            kept, point = {_CACHE: point, **kept}, None
        blocks.append(kept)
    if decision.fill is not None:
        blocks = _led(blocks or _as_blocks(message), decision.fill[1])
    if blocks or isinstance(message.get("content"), list):
        copy["content"] = blocks
    return copy


def _take(blocks: list[Any], point: Any) -> bool:
    """Puts a cache point on the last block that stays; False where there is none yet."""
    if not blocks:
        return False
    if _CACHE not in blocks[-1]:
        blocks[-1] = {**blocks[-1], _CACHE: point}
    return True


def _as_blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) and content != "" else []


def _led(blocks: list[Any], text: str) -> list[Any]:
    """An unsigned block first: what hosts that imitate Claude demand of a tool turn (DeepSeek's guide, 2026-11-30)."""
    return [{"type": "thinking", "thinking": text, "signature": ""}, *blocks]


def _with_cache_point(message: Any, point: Any) -> Any:
    """The message with a cache point on its last block, unless it has one."""
    blocks = list(_content(message)) or _as_blocks(message)
    if not blocks or _CACHE in blocks[-1]:
        return message
    return {**message, "content": [*blocks[:-1], {**blocks[-1], _CACHE: point}]}


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every message without thinking, marks and turn notes; a message that is left empty goes."""
    kept: list[Any] = []
    for message in messages:
        left = {key: value for key, value in message.items() if key not in (PSF, TURN) and key not in LOOSE}
        if isinstance(left.get("content"), list):
            left["content"] = [
                {key: value for key, value in block.items() if key != PSF} if isinstance(block, Mapping) else block
                for block in map(plain, left["content"])
                if block_code(block) is None
            ]
            left["content"] = [without_extras(block) if extra_code(block) else block for block in left["content"]]
            if len(left["content"]) == 0 < len(message["content"]):
                continue
        kept.append(left)
    return kept


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply, or its message alone → the assistant message, without marks that came with it.

    Raises:
        HistoryError: no reply of this form.
    """
    found = as_mapping(reply)
    if found is None or not isinstance(found.get("content"), (list, str)):
        raise HistoryError("reply: no assistant message in it; allowed: a reply of the messages API, or its message")
    content = found["content"]
    if isinstance(content, list):
        content = [unmarked(as_mapping(block) or {}) for block in content]
    return {"role": "assistant", "content": content}


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark in every block that holds something of its host alone, and has none."""
    blocks = [
        {**block, PSF: {**(block.get(PSF) or {}), MARK: note}}
        if (code := block_code(block) or extra_code(block)) is not None
        and not _marked(part_of(CARRIER, 0, code), block).marked
        else block
        for block in _content(message)
    ]
    return {**message, "content": blocks}


FORMS = {
    "anthropic": Form(
        name="anthropic",
        view=view,
        payload=payload,
        apply=write,
        strip=strip,
        read=read,
        mark=mark,
        stream=AnthropicStream,
        turns=TURNS,
        recall=RECALL,
        empty={"content": []},
    )
}
