"""Decisions written into rows of LangChain messages.

What a decision means for messages of one shape is worked out once (`_steps_for`) and then done to each. No row that was
given is changed; an `Edited` one says which of its fields are new, so that the integration copies a message once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from .._decision import Act, Decision, Zone
from .._history import History, Message, Part
from .._origin import MARK
from . import PSF, Messages
from . import _langchain_points as points
from ._carriers import SEALED, STRINGS, THOUGHT
from ._inline import INLINE
from ._langchain_blocks import (
    FIELD,
    IDS,
    ITEM,
    KWARGS,
    LISTS,
    SIGNATURES,
    THINKING,
    TOOL_EXTRAS,
    WIRE,
    calls_of,
    holds_item_id,
    is_empty,
    is_item_id,
    is_melted,
    is_reply_id,
    plainly,
    reasoning_in,
    said_in,
    seals_of,
    without_call,
    without_item_id,
    without_seals,
)


class Edited(dict[str, Any]):
    """A row with changes. Mutable while it is made; `source` is the row as it was."""

    __slots__ = ("changed", "source")

    def __init__(self, source: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        super().__init__(source)
        self.source = source
        self.changed: dict[str, None] = dict(source.changed) if isinstance(source, Edited) else {}
        self.put(changes)

    def put(self, changes: Mapping[str, Any]) -> None:
        """Sets fields."""
        self.update(changes)
        self.changed.update(dict.fromkeys(changes))


class _Copy:
    """The fields of one message while they are edited. Mutable."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.kwargs: dict[str, Any] = {key: value for key, value in (row.get(KWARGS) or {}).items() if key != WIRE}
        self.blocks: list[Any] | None = list(row["content"]) if isinstance(row["content"], list) else None
        self.first: list[Any] = []
        """Blocks to stand before all others."""
        self.fields: dict[str, Any] = {}

    def send(self, key: str, value: Any) -> None:
        """Puts a value on the wire under a key of the host's."""
        self.kwargs[WIRE] = {**self.kwargs.get(WIRE, {}), key: value}

    def edited(self, *, blank: bool) -> Edited:
        """The row with all that was done to it."""
        changes: dict[str, Any] = {**self.fields, KWARGS: self.kwargs}
        content = self.row["content"]
        if self.blocks is not None or self.first:
            rest = [{"type": "text", "text": content}] if self.blocks is None and content != "" else self.blocks or ()
            left = [*self.first, *(block for block in rest if block is not None and not is_empty(block))]
            if all(isinstance(block, str) for block in left) and len(content):
                changes["content"] = "".join(left)  # of a list of words alone some classes make something else
            else:
                changes["content"] = left if left or not blank else ""
        return Edited(self.row, changes)


Step = Callable[[_Copy], None]
_IN_BLOCKS = (THINKING, ITEM, "content.extra")
"""Carriers that are blocks of the content; an item may stand beside it too, and then has no place in it."""


def write(messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned rows; the list that was given where nothing changes."""
    out: list[Any] = []
    renamed: dict[str, str] = {}
    changed = False
    for start, end, decisions in zones:
        todo = {shape: _steps_for(shape, decision) for shape, decision in decisions.items()}
        for row, shape in zip(messages[start:end], history.rows[start:end], strict=True):
            steps = todo[shape]
            if steps == ():
                out.append(_with_plain_id(row, renamed) if renamed else row)
                continue
            changed = True
            if steps is not None:
                out.append(_edited(row, steps, decisions[shape].blank_content))
                renamed.update(_plain_ids(row, out[-1]))
    return out if changed or type(messages) is not list else messages


def _edited(row: Mapping[str, Any], steps: tuple[Step, ...], blank: bool) -> Edited:
    copy = _Copy(row)
    for step in steps:
        step(copy)
    return copy.edited(blank=blank)


@lru_cache(maxsize=1024)
def _steps_for(shape: Message, decision: Decision) -> tuple[Step, ...] | None:
    """What the decision changes in messages of this shape; None: the message goes."""
    if decision.remove is not None:
        return None
    judged = list(zip(shape.parts, decision.acts, strict=True))
    steps: list[Step] = [
        *(step for part, act in judged if part.item is None for step in _single(part, act)),
        *(step for name in LISTS for step in _list_steps(name, judged)),
        *(
            _without_tags(part.item)
            for part, act in judged
            if part.carrier == INLINE and act.action == "drop" and part.item is not None
        ),
        *_block_steps([(part, act) for part, act in judged if part.item is not None and part.carrier in _IN_BLOCKS]),
        *(_SPARE[key] for key in shape.spare),
    ]
    if points.GUARD in decision.mends:
        steps.append(lambda copy: setattr(copy, "blocks", points.moved(copy.blocks or [])))
    if decision.fill is not None:
        steps.append(_filled(*decision.fill))
    if decision.blank_content and shape.null:
        steps.append(lambda copy: copy.fields.update(content=""))
    return tuple(steps)


def _single(part: Part, act: Act) -> list[Step]:
    """Steps for a carrier that is one value beside the content."""
    name = part.carrier
    if act.to is not None:
        return [_moved(name, act.to)]
    if act.action != "drop":
        return []
    if name in _SINGLES:
        return [_SINGLES[name]]
    if name == INLINE:
        return [_without_tags(None)]
    if name.startswith("psf."):
        return [_without_field(name.removeprefix("psf."))]
    return [_without_text(name) if name in STRINGS else _without_key(name)]


def _without_key(key: str) -> Step:
    return lambda copy: _ignore(copy.kwargs.pop(key, None))


def _ignore(value: object) -> None:
    """A step gives nothing back."""


def _without_text(name: str) -> Step:
    """Readable text may stand under LangChain's key instead of the host's."""

    def step(copy: _Copy) -> None:
        _taken(copy, name)

    return step


def _taken(copy: _Copy, name: str) -> Any:
    """Takes the text out that the host calls by this name."""
    note = copy.kwargs.get(FIELD)
    if isinstance(note, Mapping) and note.get("id") == name and "reasoning_content" in copy.kwargs:
        del copy.kwargs[FIELD]
        return copy.kwargs.pop("reasoning_content")
    return copy.kwargs.pop(name, None)


def _moved(name: str, target: str) -> Step:
    def step(copy: _Copy) -> None:
        copy.send(target, _taken(copy, name))

    return step


def _without_tags(item: int | None) -> Step:
    """The visible text without the thinking in front of it; in the block of that place, or as the whole content."""

    def step(copy: _Copy) -> None:
        if item is None:
            copy.fields["content"] = said_in(copy.row["content"])
        elif copy.blocks is not None:
            copy.blocks[item] = said_in(copy.blocks[item])

    return step


def _without_field(name: str) -> Step:
    """A field of LiteLLM's; its other copies of reasoning go with it."""

    def step(copy: _Copy) -> None:
        gone = {name, *STRINGS, *LISTS, *SEALED}
        copy.kwargs[PSF] = {key: value for key, value in copy.kwargs[PSF].items() if key not in gone}

    return step


def _without_item(copy: _Copy) -> None:
    """An item of the Responses API that stands beside the content (langchain-openai's v0)."""
    for key in STRINGS:
        if isinstance(copy.kwargs.get(key), Mapping):
            del copy.kwargs[key]


def _without_ids(copy: _Copy) -> None:
    """Every id of an item: in blocks, beside calls, on the message, and the response's own."""
    copy.kwargs.pop(IDS, None)
    if is_item_id(copy.row.get("id")):
        copy.fields["id"] = None
    told = copy.row.get("response_metadata")
    if isinstance(told, Mapping) and is_reply_id(told.get("id")):
        copy.fields["response_metadata"] = {key: value for key, value in told.items() if key != "id"}
    if copy.blocks is not None:
        copy.blocks = [
            without_item_id(block)
            if block is not None and reasoning_in(block) is None and holds_item_id(block)
            else block
            for block in copy.blocks
        ]


def _plain_calls(copy: _Copy) -> None:
    """Ids of calls without the signature that LiteLLM put into them."""
    for name in ("tool_calls", "invalid_tool_calls"):
        if copy.row.get(name):
            copy.fields[name] = [_plain(call) for call in copy.row[name]]
    if isinstance(copy.kwargs.get("tool_calls"), list):
        copy.kwargs["tool_calls"] = [_plain(call) for call in copy.kwargs["tool_calls"]]
    if copy.blocks is not None:
        copy.blocks = [_plain(block) if isinstance(block, Mapping) else block for block in copy.blocks]


def _plain(call: Any) -> Any:
    identity = call.get("id") if isinstance(call, Mapping) else None
    if not isinstance(identity, str) or THOUGHT not in identity:
        return call
    return {**call, "id": identity.split(THOUGHT, 1)[0]}


_SINGLES: dict[str, Step] = {ITEM: _without_item, IDS: _without_ids, "tool_calls.id": _plain_calls}


def _list_steps(name: str, judged: Iterable[tuple[Part, Act]]) -> list[Step]:
    """Steps for a list beside the content; none where all of it stays."""
    acts = {part.item: act for part, act in judged if part.carrier == name}
    dropped = frozenset(item for item, act in acts.items() if act.action == "drop")
    unsigned = frozenset(item for item, act in acts.items() if act.reason == "own_unsigned")
    if not dropped and not unsigned:
        return []

    def step(copy: _Copy) -> None:
        items = [
            {key: value for key, value in item.items() if key != "signature"} if number in unsigned else item
            for number, item in enumerate(copy.kwargs[name])
            if number not in dropped
        ]
        if items:
            copy.kwargs[name] = items
        else:
            del copy.kwargs[name]

    return [step]


def _block_steps(judged: list[tuple[Part, Act]]) -> list[Step]:
    """Steps for the content: blocks that go, that lose a seal, or whose text is sent under a key of its own."""
    moved = {part.item: act.to for part, act in judged if act.to is not None and act.to != THINKING}
    gone = {part.item for part, act in judged if act.action == "drop" and part.carrier != "content.extra"}.union(moved)
    bared = {part.item for part, act in judged if act.action == "drop" and part.carrier == "content.extra"}
    bared |= {part.item for part, act in judged if act.reason == "own_unsigned"}
    if not gone and not bared:
        return []

    def step(copy: _Copy) -> None:
        assert copy.blocks is not None
        for target in dict.fromkeys(moved.values()):
            found = (reasoning_in(copy.blocks[item]) for item in sorted(moved) if moved[item] == target)  # type: ignore[type-var,index]
            copy.send(str(target), "".join(block.text for block in found if block is not None))
        copy.blocks = [
            None if item in gone else without_seals(block) if item in bared and block is not None else block
            for item, block in enumerate(copy.blocks)
        ]

    return [step]


def _plain_content(copy: _Copy) -> None:
    """Nothing of a host's own in a message that is not the assistant's."""
    copy.blocks = plainly(copy.blocks or ())


def _without_copies(copy: _Copy) -> None:
    _without_blocks(copy, only_readable=True)


def _without_blocks(copy: _Copy, *, only_readable: bool = False) -> None:
    copy.blocks = [
        block
        for block in copy.blocks or ()
        if (found := reasoning_in(block)) is None or (only_readable and found.seal is not None)
    ]


def _without_calls(copy: _Copy) -> None:
    copy.blocks = [without_call(block) if is_melted(block) else block for block in copy.blocks or ()]


_SPARE: dict[str, Step] = {
    "function_call": _without_key("function_call"),
    WIRE: _ignore,
    "refusal": _without_key("refusal"),  # a null one makes langchain-core take v1 for its old format: calls go twice
    "content.melted": _without_calls,
    "content.copy": _without_copies,
    "content.foreign": _plain_content,
}


def _filled(carrier: str, text: str) -> Step:
    """The placeholder that the host demands; in a dialect of blocks an unsigned one, before all others."""

    def step(copy: _Copy) -> None:
        if carrier == "tool_calls.extra_content":
            return  # Gemini's sentinel: langchain-google-genai writes it itself
        if carrier == THINKING:
            copy.first = [{"type": "thinking", "thinking": text, "signature": ""}]
        else:
            copy.send(carrier, text)

    return step


def _plain_ids(row: Mapping[str, Any], edited: Edited) -> dict[str, str]:
    calls = calls_of(row)
    if calls == calls_of(edited):
        return {}
    ids = (call["id"] for call in calls if isinstance(call.get("id"), str))
    return {identity: identity.split(THOUGHT, 1)[0] for identity in ids if THOUGHT in identity}


def _with_plain_id(row: Mapping[str, Any], renamed: Mapping[str, str]) -> Mapping[str, Any]:
    identity = str(row.get("tool_call_id"))
    return Edited(row, {"tool_call_id": renamed[identity]}) if identity in renamed else row


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every row without reasoning, ids of items and marks; an assistant's row that is left bare goes."""
    out: list[Any] = []
    for row in messages:
        copy = _Copy(row)
        for key in (*STRINGS, *SEALED, *LISTS, SIGNATURES, TOOL_EXTRAS, FIELD, MARK, PSF, WIRE):
            copy.kwargs.pop(key, None)
        if isinstance(row.get("tool_calls"), list):
            copy.fields["content"] = said_in(row["content"])
        if copy.blocks is not None:
            _without_blocks(copy)
            said = map(said_in, copy.blocks)
            copy.blocks = [without_seals(block) if len(seals_of(block)) else block for block in said]
        calls = row.get("tool_calls")
        if isinstance(calls, list):
            _without_ids(copy)
            _plain_calls(copy)
            if calls_of(row) == [] and copy.blocks == [] != row["content"]:
                continue
            if fill is not None:
                copy.send("reasoning_content", fill)
        else:
            if copy.blocks is not None:
                copy.blocks = plainly(copy.blocks)
            if isinstance(row.get("tool_call_id"), str):
                copy.fields["tool_call_id"] = row["tool_call_id"].split(THOUGHT, 1)[0]
        out.append(copy.edited(blank=True))
    return out
