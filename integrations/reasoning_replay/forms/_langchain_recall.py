"""LangChain's messages told by what everybody can see, and their reasoning taken out and put back.

What an app keeps that rebuilds its history is a content and `tool_calls`: the blocks of calls that a class puts into
the content as well are not looked at, and are made anew where the app has left them out.
Ids of the Responses API go with the reasoning, since only its host knows them. Rows as in `langchain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._history import History
from .._origin import MARK
from . import PSF, Messages, Recall, Said
from ._carriers import PSF_CARRIERS, SEALED, STRINGS, is_past
from ._inline import inline_in
from ._langchain_blocks import (
    FIELD,
    IDS,
    KWARGS,
    LISTS,
    SEALS,
    SIGNATURES,
    TOOL_EXTRAS,
    inline_of,
    is_item_id,
    reasoning_in,
)
from ._langchain_calls import filled_shells, is_call, shells_of
from ._langchain_write import Edited
from ._places import Look, loose_places, loosened, put, solids_of, take, text_in
from ._recall import (
    Calls,
    Words,
    beside,
    called,
    hidden_past,
    is_name_alone,
    packed,
    plain_id,
    shown,
    speaker,
    unpacked,
)

View = Callable[[Messages], History]
RoleOf = Callable[[Mapping[str, Any]], str]
_KEYS = (*STRINGS, *SEALED, *LISTS, FIELD)
_BY_CALL = (SIGNATURES, TOOL_EXTRAS, IDS)
"""Keys of `additional_kwargs` that hold a dict from a call's id."""
_HOLD = frozenset({*_KEYS, *_BY_CALL, PSF})
_NO_REASONING = frozenset({IDS, "tool_calls.id"})
"""Parts that every client keeps, or that mean nothing alone."""
_ROLES = {"developer": "system"}
_TAG = frozenset("<\n ")


def _is_text(block: object) -> bool:
    if isinstance(block, str):
        return True
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _held(place: Mapping[str, Any]) -> dict[str, Any]:
    """What only its host knows of a visible block, or of the block's `extras`."""
    held = {key: place[key] for key in (*SEALS, "item_id") if place.get(key) is not None}
    return {**held, "id": place["id"]} if is_item_id(place.get("id")) else held


def _seal(block: Any) -> dict[str, Any] | None:
    inline = inline_of(block)
    seal: dict[str, Any] = {}
    if inline is not None:
        text = text_in(block)
        seal["tags"] = text[: len(text) - len(inline.rest)]
    if isinstance(block, Mapping):
        extras = block.get("extras")
        both = {"own": _held(block), "extras": _held(extras) if isinstance(extras, Mapping) else {}}
        seal |= {name: held for name, held in both.items() if held}
    return seal or None


def _is_name(seal: Mapping[str, Any]) -> bool:
    """Whether a seal is the id of an item and nothing else."""
    return {key for held in seal.values() for key in held} <= {"id", "item_id"} and "tags" not in seal


def _sealed(block: Any, seal: Mapping[str, Any]) -> Any:
    new = {"type": "text", "text": block} if isinstance(block, str) else dict(block)
    if "tags" in seal:
        new["text"] = seal["tags"] + new["text"]
    new |= seal.get("own", {})
    if "extras" in seal:
        own = new.get("extras")
        new["extras"] = {**(own if isinstance(own, Mapping) else {}), **seal["extras"]}
    return new["text"] if isinstance(block, str) and new.keys() == {"type", "text"} else new


def _bare(block: Any) -> Any:
    inline = inline_of(block)
    if isinstance(block, str):
        return block if inline is None else inline.rest
    held = _held(block)
    bare = {key: value for key, value in block.items() if key not in held}
    if isinstance(bare.get("extras"), Mapping):
        within = _held(bare["extras"])
        bare["extras"] = {key: value for key, value in bare["extras"].items() if key not in within}
    return bare if inline is None else {**bare, "text": inline.rest}


_BLOCKS = Look(
    is_hidden=lambda block: reasoning_in(block) is not None,
    seal=_seal,
    sealed=_sealed,
    bare=_bare,
    is_text=_is_text,
)


def recall_by(view: View, role_of: RoleOf) -> Recall:
    """How the form is recalled that these two read."""
    return Recall(said=partial(said, view, role_of), lift=partial(lift, view), lay=partial(lay, view))


def said(view: View, role_of: RoleOf, messages: Messages) -> list[Said]:
    """Every message by what everybody can see of it."""
    out: list[Said] = []
    calls = Calls()
    for at, row in enumerate(messages):
        role = role_of(row)
        content: Any = row.get("content")
        if role == "assistant" or "invalid_tool_calls" in row:
            text, ids, bare = _reply(view, row, content)
            if ids:
                calls.add(ids)
            out.append(Said(at, at + 1, True, text, ids if all(ids) else (), bare))
            if more := _beside(row, content):
                out.append(beside(at + 1, more))
            continue
        who = _ROLES.get(role, role)
        if role == "tool":
            failed = ",failed" if row.get("status") == "error" else ""
            who = f"tool,{calls.answered(row.get('tool_call_id'))}{failed}"
        elif row.get("name") not in (None, ""):
            who = f"{who},{shown({'name': row['name']})}"
        if content.__class__ is str and content != "":
            text = f"[{who},{len(content)}:{content}]"
        else:
            text = str(_say(Words(who), content, whole=True))
        out.append(Said(at, at + 1, False, text, (), False))
    return out


def _beside(row: Mapping[str, Any], content: Any) -> list[str]:
    """What a reply has beside its words: who of several said it, and messages that are gone."""
    name = row.get("name")
    names = [] if name in (None, "") else [speaker(name)]
    blocks = content if content.__class__ is list else ()
    return [*names, *(hidden_past(shown(block, ("index",), whole=True)) for block in blocks if is_past(block))]


def _say(words: Words, content: Any, *, whole: bool = False) -> Words:
    """The texts and pictures of a content; thinking is not said in a reply, and is (`whole`) in anything else."""
    for block in content if isinstance(content, list) else [content]:
        if _is_text(block):
            words.say(text_in(block if whole else _bare(block)))
        elif whole and block is not None:
            words.show(shown(block, ("index",), whole=True))
        elif block is not None and not is_call(block) and reasoning_in(block) is None:
            named = not isinstance(block, Mapping) or is_name_alone(block)
            words.show(shown(block if named else _bare(block), ("index",)))
    return words


def _reply(view: View, row: Mapping[str, Any], content: Any) -> tuple[str, tuple[str, ...], bool]:
    """Text, ids and bareness of the model's message."""
    usual = content.__class__ is str and content[:1] not in _TAG
    if usual:
        pieces = ["assistant", f"{len(content)}:{content}"] if content != "" else ["assistant"]
    else:
        pieces = [str(_say(Words("assistant"), _untagged(content)))[1:-1]]
    made = _calls(row)
    pieces += [called(call.get("name"), call.get("args")) for call in made]
    ids = tuple([plain_id(str(call.get("id") or "")) for call in made])
    kwargs = row.get(KWARGS)
    bare = (usual and (not kwargs or _HOLD.isdisjoint(kwargs))) or _is_bare(view, row)
    return f"[{','.join(pieces)}]", ids, bare


def _untagged(content: Any) -> Any:
    inline = inline_in(content)
    return content if inline is None else inline.rest


def _is_bare(view: View, row: Mapping[str, Any]) -> bool:
    """Whether no reasoning stands there; blanks are none, nor are ids."""
    kwargs = row.get(KWARGS) or {}
    text = kwargs.get("reasoning_content")
    if isinstance(text, str) and text != "" and not text.isspace():
        return False
    return all(part.value != "text" or part.carrier in _NO_REASONING for part in view([row]).rows[0].parts)


def lift(view: View, rows: Messages) -> Any:
    """A message's reasoning, and the ids that go with it; None where there is none but blanks."""
    row = rows[0]
    if _is_bare(view, row):
        return None
    kwargs, content = row.get(KWARGS) or {}, row.get("content")
    own = kwargs.get(PSF)
    fields = own if isinstance(own, Mapping) else {}
    lifted: dict[str, Any] = {
        "keys": {key: packed(kwargs[key]) for key in _KEYS if kwargs.get(key) is not None},
        "fields": {key: packed(fields[key]) for key in PSF_CARRIERS if fields.get(key) is not None},
        "calls": {key: found for key in _BY_CALL if (found := _by_place(row, key))},
        "named": IDS in kwargs,
    }
    if isinstance(content, list):
        lifted["content"] = take(_BLOCKS, content)
        lifted["solids"] = solids_of(_BLOCKS, content, is_call) if lifted["content"] else []
        lifted["shells"] = shells_of(content, _ids(row)) if lifted["content"] else []
    elif isinstance(content, str) and (inline := inline_in(content)) is not None:
        lifted["tags"] = content[: len(content) - len(inline.rest)]
    return {name: value for name, value in lifted.items() if value}


def _calls(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(row.get("tool_calls") or ()), *(row.get("invalid_tool_calls") or ())]


def _ids(row: Mapping[str, Any]) -> list[Any]:
    return [call.get("id") for call in _calls(row)]


def _by_place(row: Mapping[str, Any], key: str) -> list[Any]:
    """A dict from the ids of calls as places of calls and values; ids of items may stand in the content alone."""
    held = (row.get(KWARGS) or {}).get(key)
    found = dict(held) if isinstance(held, Mapping) else {}
    if key == IDS and isinstance(row.get("content"), list):
        found = {**dict(_item_of(block) for block in row["content"] if is_call(block)), **found}
        found = {identity: item for identity, item in found.items() if is_item_id(item)}
    return [[at, packed(found[each])] for at, each in enumerate(_ids(row)) if each in found]


def _item_of(block: Mapping[str, Any]) -> tuple[Any, Any]:
    """A call's id and its item's id, in a block of v0 or of v1."""
    extras = block.get("extras")
    if isinstance(extras, Mapping) and "item_id" in extras:
        return block.get("id"), extras["item_id"]
    return block.get("call_id"), block.get("id")


def lay(view: View, rows: Messages, lifted: Any) -> list[Mapping[str, Any]]:
    """The app's message with the reasoning back; as it is where some stands already, or a place is not there."""
    row = rows[0]
    if not isinstance(lifted, Mapping) or not _is_bare(view, row):
        return list(rows)
    content = _content(_untagged(row.get("content")), lifted, _calls(row))
    kwargs = _kwargs(row, lifted)
    if content is None or kwargs is None:
        return list(rows)
    if "shells" in lifted and isinstance(content, list) and "named" not in lifted:
        kwargs.pop(IDS, None)  # they stand in the content
    changes = {KWARGS: kwargs} if content is row.get("content") else {KWARGS: kwargs, "content": content}
    return [Edited(row, changes)]


def _kwargs(row: Mapping[str, Any], lifted: Mapping[str, Any]) -> dict[str, Any] | None:
    """`additional_kwargs` with what stood there, under the ids that the app has; None where a call is missing."""
    given = row.get(KWARGS) or {}
    kwargs = {key: value for key, value in given.items() if key not in (*_KEYS, MARK)}
    kwargs |= unpacked(dict(lifted.get("keys", {})))
    if "fields" in lifted:
        own = given.get(PSF)
        kept = {key: value for key, value in own.items() if key != MARK} if isinstance(own, Mapping) else {}
        kwargs[PSF] = {**kept, **unpacked(dict(lifted["fields"]))}
    ids = _ids(row)
    blocks = isinstance(row.get("content"), list) and any(map(is_call, row["content"]))
    for key, places in lifted.get("calls", {}).items():
        if any(at >= len(ids) for at, _ in places):
            return None
        if key != IDS or not blocks:
            kwargs[key] = {**(given.get(key) or {}), **{ids[at]: unpacked(value) for at, value in places}}
    return kwargs


def _content(content: Any, lifted: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> Any:
    """The content with the reasoning that stood in it; None where it does not fit."""
    if "tags" in lifted and not isinstance(content, list):
        return lifted["tags"] + (content or "")
    places = lifted.get("content")
    if "tags" in lifted:
        first = next((len(text_in(block)) for block in content if _is_text(block)), None)
        places = {"seals": [[0, 0, first, {"tags": lifted["tags"]}]]} if first is not None else {}
    blocks = content if isinstance(content, list) else [content] if content else []
    if not places:
        rest = [block for block in blocks if reasoning_in(block) is None]
        return content if len(rest) == len(blocks) else rest
    if isinstance(content, str) and content != "":
        blocks = [{"type": "text", "text": content}]
    solids = lifted.get("solids", ())
    if not any(map(is_call, blocks)) and any(loose for _, loose in solids):
        filled = filled_shells(lifted.get("shells", ()), calls)
        if filled is None:
            places = loosened(places, solids, _is_name)
        else:
            inner = [[*place, block] for place, block in zip(loose_places(solids), filled, strict=True)]
            blocks = put(_BLOCKS, blocks, {"blocks": inner}) or blocks
    return None if places is None else put(_BLOCKS, blocks, places)
