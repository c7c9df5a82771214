"""What Gemini's and Converse's forms share: a message is a role and a list of blocks; the mark stands beside the role.

A form says in a `Blocks` how one block is read and what is left of it; which of them go is the engine's word. Blocks
go back as they came, in place, or not at all: none is merged with another or moved (a cache point aside).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from .._decision import Act, Decision, Zone, decided
from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, mark_id
from . import TURN, Messages, Turns, canonical, plain, stated_turn, wrong_role, wrong_type
from ._carriers import LOOSE, block_code, loose_in, part_of, under_mark, without_blocks
from ._turns import last_start

THINKING = "content.thinking"
EXTRA = "content.extra"
SIGNATURE = "tool_calls.extra_content"
_ODD = "block"
"""Stands in `Message.spare` where a block is never sent as it is."""

Block = Mapping[str, Any]


class Blocks(NamedTuple):
    """How the messages of one form are read and written."""

    key: str
    """Of the list of blocks."""
    roles: Mapping[str, str]
    """Role in this form → role in the words of chat hosts."""
    code: Callable[[Block], tuple[str, str] | None]
    """A block → its carrier and its code; None for a block that holds nothing of its host alone."""
    payload: Callable[[Block], str]
    bare: Callable[[Block], dict[str, Any]]
    """A block without what seals it."""
    is_hidden: Callable[[Block], bool]
    """Whether nothing in it is said to anybody."""
    is_call: Callable[[Block], bool]
    is_result: Callable[[Block], bool]
    is_text: Callable[[Block], bool]
    sent: Callable[[Block], Block | None] = lambda block: block
    """What of a block that stays may go on the wire: the very same block, less of it, or nothing."""
    filled: Callable[[list[Any], str], list[Any]] = lambda blocks, text: blocks
    """The blocks with a placeholder where the host demands one."""
    point: str | None = None
    """A block of this key is a cache point: it stays behind something that stays."""
    alternates: bool = False
    """The host refuses two messages of one role in a row: where one went between them they become one."""
    default_role: str = ""
    """Of a message that says none."""


def word(value: object) -> str | None:
    """A sealed value as a word; bytes as the base64 that they are on the wire. None for nothing, or an empty one."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode() or None
    if isinstance(value, str):
        return value if value != "" else None
    return None if value is None else canonical(value)


def view(form: Blocks, messages: Messages, starts_turn: StartsTurn | None = None) -> History:
    """Messages → history.

    Raises:
        HistoryError: an unknown role, or content that is no list of blocks.
    """
    rows: list[Message] = []
    shapes: dict[Any, Message] = {}
    for index, message in enumerate(messages):
        role = message.get("role", form.default_role)
        if not isinstance(role, str) or role not in form.roles:
            raise wrong_role(index, role, form.roles)
        stated_turn(index, message, None)
        made = _shape(form, form.roles[role], message, _checked(form, index, message))
        rows.append(shapes.setdefault(made, Message(*made)))
    turns = turns_of(form)
    stated = partial(stated_turn, starts_turn=starts_turn)
    return History(rows, frozenset(rows), last_start(messages, turns, stated), last_start(messages, turns))


def turns_of(form: Blocks) -> Turns:
    """How the messages of a form of blocks are read for where turns start."""
    return Turns(
        lambda message: any(map(form.is_result, blocks_of(form, message))),
        lambda message: not any(map(form.is_text, blocks_of(form, message))),
        lambda message: form.roles[message.get("role", form.default_role)],
    )


def _checked(form: Blocks, index: int, message: Mapping[str, Any]) -> list[Any]:
    blocks = message.get(form.key)
    if blocks is not None and not isinstance(blocks, list):
        raise wrong_type(index, form.key, blocks, "a list of blocks")
    if blocks is None and any(key in message for key in _OTHER_KEYS):
        raise HistoryError(f"messages[{index}]: no {form.key}; allowed: a message of this form, or another form=")
    for number, block in enumerate(found := blocks_of(form, message)):
        if not isinstance(block, Mapping):
            raise wrong_type(index, f"{form.key}[{number}]", block, "a dict")
        if _is_of_another(form, block):
            raise HistoryError(
                f"messages[{index}].{form.key}[{number}]: reasoning as another form writes it; say form="
            )
    return found


_OTHER_KEYS = ("content", "parts")
"""Where forms have what a message says."""


def _is_of_another(form: Blocks, block: Block) -> bool:
    """Whether a block holds reasoning as this form never writes it."""
    return form.code(block) is None and block_code(block) is not None


def blocks_of(form: Blocks, message: Mapping[str, Any]) -> list[Any]:
    """The blocks of a message as mappings."""
    blocks = message.get(form.key)
    return [plain(block) for block in blocks] if isinstance(blocks, list) else []


def _shape(form: Blocks, role: str, message: Mapping[str, Any], blocks: list[Any]) -> tuple[Any, ...]:
    """The fields of the message's shape, in order."""
    spare = [key for key in (MARK, TURN) if key in message]
    spare += loose_in(message)
    codes = [(item, found) for item, block in enumerate(blocks) if (found := form.code(block)) is not None]
    odd = any(form.sent(block) is not block for block in blocks) or (role != "assistant" and codes)
    spare += [_ODD] if odd else []
    if role != "assistant":
        return role, False, True, (), tuple(spare)
    bare = (part_of(carrier, item, code) for item, (carrier, code) in codes)
    identity = mark_id(message.get(MARK))
    parts = under_mark(bare, identity)
    return (
        role,
        any(map(form.is_call, blocks)),
        not all(map(form.is_hidden, blocks)),
        parts,
        tuple(spare),
        sum(part.item == place for place, part in enumerate(part for part in parts if part.carrier == THINKING)),
        False,
        False,
        ("cache_point",) if any(_is_behind(form, *pair) for pair in pairwise(blocks)) else (),
        False,
        identity == REDACTED,
    )


def _is_behind(form: Blocks, before: Block, block: Block) -> bool:
    """Whether a block is a cache point that stands right behind reasoning."""
    return form.point is not None and form.point in block and form.point not in before and form.is_hidden(before)


def payload(form: Blocks, message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of."""
    return form.payload(plain(message[form.key][part.item or 0]))


def write(form: Blocks, messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned messages; the list that was given where nothing changes."""
    out: list[Any] = []
    changed = gap = False
    for message, (shape, decision) in zip(messages, decided(history, zones), strict=True):
        if decision.remove is not None:
            changed = gap = True
            _keep_point(form, message, out)
            continue
        new = _written(form, message, shape, decision) if _changes(shape, decision) else message
        changed = changed or new is not message
        if gap and form.alternates and out and out[-1].get("role") == new.get("role"):
            out[-1] = {**out[-1], form.key: [*blocks_of(form, out[-1]), *blocks_of(form, new)]}
        else:
            out.append(new)
        gap = False
    return out if changed or type(messages) is not list else messages


def _changes(shape: Message, decision: Decision) -> bool:
    if decision.fill is not None or shape.spare or decision.mends:
        return True
    return any(act.action == "drop" or act.reason == "own_unsigned" for act in decision.acts)


def _written(form: Blocks, message: Mapping[str, Any], shape: Message, decision: Decision) -> dict[str, Any]:
    copy = {key: value for key, value in message.items() if key not in shape.spare}
    acts = {part.item: (part, act) for part, act in zip(shape.parts, decision.acts, strict=True)}
    left: list[Any] = []
    held: list[Any] = []
    for item, (given, block) in enumerate(zip(message.get(form.key) or (), blocks_of(form, message), strict=True)):
        if form.point is not None and form.point in block and item > 0:
            behind = bool(decision.mends) and bool(left) and _is_behind(form, plain(left[-1]), block)
            if not left or behind:
                held = [given]  # what it stood behind has gone, or is refused there: it waits for the next block
                continue
        kept = _block(form, given, block, acts.get(item), shape.role)
        if kept is not None:
            left.append(kept)
            if not (decision.mends and form.is_hidden(block)):
                left += held
                held = []
    if held and decision.mends:
        left = _behind_visible(form, left, held)
    if decision.fill is not None:
        left = form.filled(left, decision.fill[1])
    if form.key in message:
        copy[form.key] = left
    return copy


def _behind_visible(form: Blocks, blocks: list[Any], point: list[Any]) -> list[Any]:
    """The blocks with a cache point behind the last one that may have one there; without it where there is none."""
    for number in range(len(blocks), 0, -1):
        if not form.is_hidden(plain(blocks[number - 1])):
            return [*blocks[:number], *point, *blocks[number:]]
    return blocks


def _block(form: Blocks, given: Any, block: Block, judged: tuple[Part, Act] | None, role: str) -> Any:
    """What is left of a block; the very same one where nothing goes, None where all of it goes."""
    if judged is None:
        code = form.code(block) if role != "assistant" else None
        if code is not None:  # in a message of another: it is nobody's
            return None if form.is_hidden(block) else form.bare(block)
    elif judged[1].action == "drop":
        return None if form.is_hidden(block) else form.bare(block)
    elif judged[1].reason == "own_unsigned":
        return form.bare(block)
    sent = form.sent(block)
    return given if sent is block else sent


def _keep_point(form: Blocks, message: Mapping[str, Any], out: list[Any]) -> None:
    """A message that is left out hands its cache point to the one before it."""
    points = [block for block in blocks_of(form, message) if form.point is not None and form.point in block]
    before = blocks_of(form, out[-1]) if out else []
    if points and before and form.point not in before[-1]:
        out[-1] = {**out[-1], form.key: [*before, points[-1]]}


def strip(form: Blocks, messages: Messages, fill: str | None) -> list[Any]:
    """Every message without reasoning, seals, marks and turn notes; a message that is left empty goes.

    The fill, where given, is put on what calls tools.
    """
    kept: list[Any] = []
    for message in messages:
        left = {key: value for key, value in message.items() if key not in (MARK, TURN) and key not in LOOSE}
        left.update((key, without_blocks(left[key])) for key in _OTHER_KEYS if key in left and key != form.key)
        given = blocks_of(form, message)
        blocks = [block for block in given if not isinstance(block, Mapping) or not _is_of_another(form, block)]
        if len(blocks) < len(given):
            left[form.key] = blocks
        sealed = [block for block in blocks if isinstance(block, Mapping) and form.code(block) is not None]
        if sealed:
            rest = [block for block in blocks if block not in sealed or not form.is_hidden(block)]
            left[form.key] = [form.bare(block) if block in sealed else block for block in rest]
            if all(map(form.is_hidden, left[form.key])):
                continue
        if fill is not None and any(map(form.is_call, blocks_of(form, left))):
            left[form.key] = form.filled(blocks_of(form, left), fill)
        kept.append(left)
    return kept


def unmarked(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without a mark that came with it: that is somebody else's word."""
    return {key: value for key, value in message.items() if key != MARK}


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The message with the mark beside its role."""
    return {**message, MARK: note}
