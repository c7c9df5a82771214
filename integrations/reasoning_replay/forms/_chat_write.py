"""Decisions written into chat messages.

What a decision means for messages of one shape is worked out once (`_edit_for`) and then done to each of them: in the
common case a copy and the removal of one key. The caller's messages are never changed; every list that changes is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from .._decision import Act, Decision, Zone
from .._history import History, Message
from . import LAYOUT, PSF, Messages, plain
from ._carriers import (
    BY_NAME,
    LISTS,
    THOUGHT,
    with_chunk,
    without_blocks,
    without_extras,
    without_fields,
    without_signature,
)
from ._inline import INLINE, inline_within, with_inline

Step = Callable[[Mapping[str, Any], dict[str, Any]], None]
"""A change that needs more than the removal of a key: the message as it was, and the copy to write to."""
_ORDERED_FROM = "thinking_blocks"
_PSF_DOT = "psf."


class _Edit(NamedTuple):
    """What a decision changes in the messages of one shape."""

    drop: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    remove: bool = False
    only: str | None = None
    """The one key that goes, where that is all: most messages of most histories."""


_UNCHANGED = _Edit()


def write(messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned messages; the list that was given where nothing changes."""
    out: list[Any] = []
    renamed: dict[str, str] = {}
    changed = False
    for start, end, decisions in zones:
        edits = {shape: _edit_for(shape, decision) for shape, decision in decisions.items()}
        for message, shape in zip(messages[start:end], history.rows[start:end], strict=True):
            edit = edits[shape]
            if edit is _UNCHANGED:
                out.append(_with_plain_id(message, renamed) if renamed else message)
                continue
            changed = True
            if edit.only is not None:
                copy = dict(message)
                del copy[edit.only]
                out.append(copy)
            elif edit.remove:
                _keep_cache_point(message, out)
            else:
                out.append(_edited(message, edit, renamed))
    return out if changed or type(messages) is not list else messages


def _edited(message: Mapping[str, Any], edit: _Edit, renamed: dict[str, str]) -> dict[str, Any]:
    copy = {key: value for key, value in message.items() if key not in edit.drop}
    for step in edit.steps:
        step(message, copy)
    renamed.update(_renamed_ids(message, copy))
    return copy


@lru_cache(maxsize=1024)
def _edit_for(shape: Message, decision: Decision) -> _Edit:
    """What the decision changes in messages of this shape."""
    if decision.remove is not None:
        return _Edit(remove=True)
    judged = list(zip(shape.parts, decision.acts, strict=True))
    lists = {
        carrier.name: {part.item: act for part, act in judged if part.carrier == carrier.name and part.item is not None}
        for carrier in LISTS
    }
    singles = [(part.carrier, act) for part, act in judged if part.item is None]
    fields = tuple(name[len(_PSF_DOT) :] for name, act in singles if name.startswith(_PSF_DOT) and act.action != "drop")
    gone = [(name, act) for name, act in singles if not name.startswith(_PSF_DOT) and act.action != "keep"]
    keys = [*(name for name, _ in gone), *shape.spare]
    steps = [
        *(_RENAMES.get(act.to, _rename)(name, act.to) for name, act in gone if act.to is not None),
        *(step for name, acts in lists.items() if acts for step in _list_steps(name, acts, PSF in shape.spare)),
        *([_keep_fields(fields)] if fields else ()),
        *([_put(*decision.fill)] if decision.fill is not None and decision.fill[0] not in _PLAIN else ()),
        *([_blank_content] if decision.blank_content else ()),
        *(_INSIDE[key] for key in keys if key in _INSIDE),
    ]
    drop = tuple(dict.fromkeys(key for key in keys if key not in _INSIDE))
    if not drop and not steps:
        return _UNCHANGED
    return _Edit(drop, tuple(steps), only=drop[0] if len(drop) == 1 and not steps else None)


def _list_steps(name: str, acts: dict[int, Act], lifts: bool) -> list[Step]:
    """Steps for a carrier that is a list; none where it stays. `lifts`: it may sit in the framework's field."""
    if name == _ORDERED_FROM and any(act.to is not None for act in acts.values()):
        return [_in_order(acts)]
    dropped = frozenset(item for item, act in acts.items() if act.action == "drop")
    unsigned = frozenset(item for item, act in acts.items() if act.reason == "own_unsigned")
    if name in _PLAIN:
        return [_unsealed(BY_NAME[name].key, dropped, _PLAIN[name])] if dropped else []
    if name == "content.thinking":
        moved = {item: act.to for item, act in acts.items() if act.action == "rename" and act.to is not None}
        gone = dropped.union(moved)
        texts = [_as_string(name, sorted(moved), next(iter(moved.values())))] if moved else []
        return [*texts, *([_filter_content(gone, unsigned)] if gone or unsigned else ())]
    stays = not dropped and not unsigned and not (lifts and name == "reasoning_details")
    return [] if stays else [_filter_list(BY_NAME[name].key, dropped, unsigned)]


def _rename(source: str, target: str) -> Step:
    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy[target] = message[source]

    return step


def _as_string(name: str, items: list[int], target: str) -> Step:
    """The text of thinking chunks as one string under another key."""

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy[target] = "".join(BY_NAME[name].payload(plain(message["content"][item])) for item in items)

    return step


def _as_chunk(source: str, target: str) -> Step:
    """Readable text as a thinking chunk before the text."""

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy["content"] = with_chunk(message[source], copy.get("content"))

    return step


def _as_tags(source: str, target: str) -> Step:
    """Readable text in front of the content, where LiteLLM took it from."""

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy["content"] = with_inline(message[source], copy.get("content") or "")

    return step


_RENAMES = {"content.thinking": _as_chunk, INLINE: _as_tags}


def _put(carrier: str, text: str) -> Step:
    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy[carrier] = text

    def block(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        """An unsigned block first, as hosts that imitate Claude demand of a tool turn."""
        empty = {"type": "thinking", "thinking": text, "signature": ""}
        copy[_ORDERED_FROM] = [empty, *(copy.get(_ORDERED_FROM) or ())]

    def tags(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy["content"] = with_inline(text, copy.get("content") or "")

    return {"content.thinking": block, INLINE: tags}.get(carrier, step)


def _blank_content(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
    if copy.get("content") is None or copy.get("content") == []:
        copy["content"] = ""


def _keep_fields(names: tuple[str, ...]) -> Step:
    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        copy[PSF] = {name: message[PSF][name] for name in names}

    return step


def _filter_list(key: str, dropped: frozenset[int], unsigned: frozenset[int]) -> Step:
    """Keeps the own items of a list; a list that sits in `provider_specific_fields` is lifted to its own key."""

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        items = message[key] if key in message else message[PSF][key]
        kept = _kept(items, dropped, unsigned)
        if kept:
            copy[key] = kept if dropped or unsigned else items
        else:
            copy.pop(key, None)

    return step


def _kept(items: list[Any], dropped: frozenset[int], unsigned: frozenset[int]) -> list[Any]:
    return [
        {key: value for key, value in plain(item).items() if key != "signature"} if number in unsigned else item
        for number, item in enumerate(items)
        if number not in dropped
    ]


def _filter_content(dropped: frozenset[int], unsigned: frozenset[int]) -> Step:
    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        kept = _kept(message["content"], dropped, unsigned)
        for number in sorted(dropped):
            point = plain(message["content"][number]).get("cache_control")
            if point is not None and kept:
                place = min(max(number - len([other for other in dropped if other < number]) - 1, 0), len(kept) - 1)
                if isinstance(kept[place], Mapping):
                    kept[place] = {"cache_control": point, **kept[place]}
        copy["content"] = kept or ("" if message.get("tool_calls") is None else None)

    return step


def _unsealed(key: str, dropped: frozenset[int], without: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Step:
    """Takes what is sealed off items that stay."""

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        items = copy[key]
        if len(items) == len(message[key]):
            copy[key] = [without(plain(item)) if number in dropped else item for number, item in enumerate(items)]
        else:  # blocks of reasoning have gone from the list: what is left is all visible
            copy[key] = [without(plain(item)) for item in items]

    return step


def _plain_function(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
    copy["function_call"] = without_fields(plain(message["function_call"]))


def _visible_content(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
    copy["content"] = without_blocks(message["content"])


def _without_tags(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
    content = (
        copy["content"] if isinstance(message["content"], list) else message["content"]
    )  # a list may be cut by now
    inline = inline_within(content)
    copy["content"] = content if inline is None else inline.rest


_PLAIN = {"tool_calls.extra_content": without_signature, "content.extra": without_extras}
"""Seals of what is visible: what is left without them. A placeholder for one is LiteLLM's own affair."""
_INSIDE: dict[str, Step] = {
    "function_call.extra": _plain_function,
    "content.thinking": _visible_content,
    INLINE: _without_tags,
}
"""What goes from inside a value, where the key itself stays."""


def _in_order(acts: dict[int, Act]) -> Step:
    """Thinking and text as one content list in the order that the host sent; as it is where the order does not fit."""
    dropped = frozenset(item for item, act in acts.items() if act.action == "drop")

    def step(message: Mapping[str, Any], copy: dict[str, Any]) -> None:
        blocks, text = message[_ORDERED_FROM], message["content"]
        parts: list[Any] = []
        block = place = 0
        for entry in message[PSF][LAYOUT]:
            kind, _, length = str(entry).partition(":")
            if kind == "thinking":
                if block < len(blocks) and block not in dropped:
                    parts.append(blocks[block])
                block += 1
            elif kind == "text" and length.isdigit():
                parts.append({"type": "text", "text": text[place : place + int(length)]})
                place += int(length)
        if block == len(blocks) and place == len(text):
            del copy[_ORDERED_FROM]
            copy["content"] = parts
        elif dropped:
            copy[_ORDERED_FROM] = _kept(blocks, dropped, frozenset())

    return step


def _renamed_ids(message: Mapping[str, Any], copy: Mapping[str, Any]) -> dict[str, str]:
    """Ids of calls that lost a signature which LiteLLM had put into them."""
    before, after = message.get("tool_calls"), copy.get("tool_calls")
    if before is after or not isinstance(before, list) or not isinstance(after, list):
        return {}
    pairs = zip(before, after, strict=True)
    ids = ((plain(old).get("id"), new.get("id")) for old, new in pairs if old is not new)
    return {old: new for old, new in ids if old != new}


def _with_plain_id(message: Any, renamed: Mapping[str, str]) -> Any:
    identity = message.get("tool_call_id") if isinstance(message, Mapping) else None
    if isinstance(identity, str) and THOUGHT in identity and identity in renamed:
        return {**message, "tool_call_id": renamed[identity]}
    return message


def _keep_cache_point(message: Mapping[str, Any], out: list[Any]) -> None:
    """A message that is left out hands its cache point, its own or its last part's, to the one before it."""
    content = message.get("content")
    parts = [plain(part) for part in content] if isinstance(content, list) else []
    points = [part[_CACHE] for part in (*parts, message) if isinstance(part, Mapping) and _CACHE in part]
    if points and out and isinstance(out[-1], Mapping) and _CACHE not in out[-1]:
        out[-1] = {**out[-1], _CACHE: points[-1]}


_CACHE = "cache_control"
