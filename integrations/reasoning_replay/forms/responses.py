"""The Responses form: a list of items, one row an item; a reply is a run of them, with ids that its host gave.

A reasoning item and what follows it in its reply are tied by ids, so an id of an item is a part of its own, and the
mark stands on every item of the run: ids go wherever the reasoning goes. `call_id` is the caller's and always stays.
LiteLLM's envelopes are opened only to find the origin (`_envelopes`); they go back as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._decision import Act, Decision, Zone, decided
from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK, REDACTED, from_mark_id, mark_id
from . import PSF, TURN, Form, Messages, Turns, as_mapping, listed, plain, stated_turn, unmarked, wrong_role
from ._carriers import (
    BY_NAME,
    ITEM_SEALS,
    THOUGHT,
    extra_code,
    item_code,
    item_payload,
    loose_in,
    part_of,
    without_blocks,
    without_extras,
)
from ._envelopes import name_payload
from ._responses_recall import recall_by
from ._responses_stream import ResponsesStream, bare_call, call_signature, names, replayable
from ._turns import last_start

ROLES = ("user", "assistant", "system", "developer", "tool", "critic", "discriminator")
"""Roles of a message: `openai` 3.57.0 `types/responses`."""
REASONING = "reasoning"
HIDDEN = (REASONING, "compaction")
"""Items that hold nothing but what only a model reads; a compaction stands for messages that are gone."""
ITEM = "content.item"
NAME = "item.id"
"""The id of a visible item: it ties the item to its reasoning, and only its host knows it."""
REFERENCE = "item_reference"
SIGNATURE = "tool_calls.extra_content"
EXTRA = "content.extra"
_ANSWERS = ("_output", "_response")
"""Ends of the types of items that answer a call or a question."""
_OPTIONAL_STATUS = ("message", "function_call", "custom_tool_call")
"""Items whose status says nothing to another host, and is refused by some (Azure: litellm 1.110.2)."""


def kind_of(item: Mapping[str, Any]) -> str:
    """The type of an item; a message and a reference may leave it out."""
    kind = item.get("type")
    return str(kind) if kind is not None else "message" if "role" in item else REFERENCE if "id" in item else ""


def role_of(item: Mapping[str, Any]) -> str:
    """Who an item is from: what the model made counts as the assistant's."""
    kind = kind_of(item)
    return str(item.get("role")) if kind == "message" else "tool" if kind.endswith(_ANSWERS) else "assistant"


def view(messages: Messages, starts_turn: StartsTurn | None = None) -> History:
    """Items → history.

    Raises:
        HistoryError: an item that has no type, or a message whose role is not known.
    """
    rows: list[Message] = []
    shapes: dict[Any, Message] = {}
    thought = False
    for index, item in enumerate(messages):
        role = role_of(item)
        if role not in ROLES:
            raise wrong_role(index, role, ROLES)
        if kind_of(item) == "":
            raise HistoryError(f"messages[{index}]: no type; allowed: an item with a type, or a message with a role")
        stated_turn(index, item, None)
        thought = role == "assistant" and (thought or kind_of(item) in (*HIDDEN, REFERENCE))
        behind = messages[index + 1 : index + 2]
        paired = thought and (kind_of(item) != REASONING or [*map(role_of, behind)] == ["assistant"])
        made = _shape(role, item, paired)
        rows.append(shapes.setdefault(made, Message(*made)))
    host_turn = last_start(messages, TURNS)
    stated = partial(stated_turn, starts_turn=starts_turn)
    return History(rows, frozenset(rows), last_start(messages, TURNS, stated), host_turn)


def _is_result(item: Mapping[str, Any]) -> bool:
    return role_of(item) == "tool"


def _without_text(item: Mapping[str, Any]) -> bool:
    content = item.get("content")
    return isinstance(content, list) and all(
        not isinstance(part, str) and plain(part).get("type") not in ("input_text", "text") for part in content
    )


TURNS = Turns(_is_result, _without_text, role_of)


def _shape(role: str, item: Mapping[str, Any], paired: bool) -> tuple[Any, ...]:
    """The fields of the item's shape, in order."""
    kind, identity = kind_of(item), item.get("id")
    spare = (*(key for key in (PSF, TURN) if key in item), *_others(kind, item))
    if role != "assistant":
        return role, False, True, (), spare
    parts: list[Part] = []
    if kind in HIDDEN:
        parts.append(part_of(ITEM, None, item_code(item)))
    elif kind == REFERENCE:
        parts.append(part_of(REFERENCE, None, "opaque"))
    else:
        if isinstance(identity, str) and identity != "":
            parts.append(part_of(NAME, None, "opaque"))
        if call_signature(item) is not None:
            parts.append(part_of(SIGNATURE, None, "opaque"))
        elif extra_code(item) is not None:
            parts.append(part_of(EXTRA, None, "opaque"))
    spare += ("id",) if identity == "" else ()  # gateways refuse it, and it names nothing
    if kind == REASONING:  # an SDK's dump: "Unknown parameter: 'input[1].status'" (BerriAI/litellm#13420)
        spare += tuple(key for key, value in item.items() if value is None)
    origin = _origin(item)
    marked = [part if origin is None else part._replace(marked=True, origins=origin) for part in parts]
    visible = kind not in (*HIDDEN, REFERENCE)
    mendable = _mendable(kind, item, paired)
    redacted = _identity(item) == REDACTED
    return role, kind.endswith("_call"), visible, tuple(marked), spare, 0, False, False, mendable, False, redacted


_BLOCKS = "content.thinking"
"""Stands in `spare` for blocks of reasoning in a message's content."""


def _others(kind: str, item: Mapping[str, Any]) -> tuple[str, ...]:
    """What in a message is another form's reasoning: this one has it in items alone."""
    if kind != "message":
        return ()
    blocks = without_blocks(item.get("content")) is not item.get("content")
    return (*loose_in(item), *((_BLOCKS,) if blocks else ()))


def _mendable(kind: str, item: Mapping[str, Any], paired: bool) -> tuple[str, ...]:
    """What a host may refuse of an item beside what it holds.

    `pair`: "of type 'reasoning' was provided without its required following item", or the id of an item in whose run no
    reasoning is: "was provided without its required 'reasoning' item". `status`: "Unknown parameter: 'input[1].status'"
    (Azure; there also the empty `content` of a reasoning item).
    """
    if kind not in (REASONING, *_OPTIONAL_STATUS):
        return ()
    alone = not paired and (kind == REASONING or "id" in item)
    told = "status" in item or _has_empty_content(kind, item)
    return (*(("pair",) if alone else ()), *(("status",) if told else ()))


def _has_empty_content(kind: str, item: Mapping[str, Any]) -> bool:
    return kind == REASONING and "content" in item and item["content"] in (None, [])


def _identity(item: Mapping[str, Any]) -> str | None:
    fields = item.get(PSF)
    return mark_id(fields.get(MARK)) if isinstance(fields, Mapping) else None


def _origin(item: Mapping[str, Any]) -> frozenset[Any] | None:
    identity = _identity(item)
    origin = from_mark_id(identity) if identity is not None else None
    return None if origin is None else frozenset({origin})


def payload(message: Mapping[str, Any], part: Part) -> str:
    """What a part's digest is made of."""
    if part.carrier == ITEM:
        return item_payload(message)
    if part.carrier == SIGNATURE:
        return f"\0{call_signature(message)}"
    return BY_NAME[EXTRA].payload(message) if part.carrier == EXTRA else name_payload(message["id"])


def write(messages: Messages, history: History, zones: list[Zone]) -> list[Any]:
    """The planned items; the list that was given where nothing changes.

    Behind a reasoning item that goes no item of its run keeps an id: "was provided without its required 'reasoning'
    item". The engine drops those ids too, where their marks say the same.
    """
    out: list[Any] = []
    renamed: dict[str, str] = {}
    bare = False
    for item, (shape, decision) in zip(messages, decided(history, zones), strict=True):
        kept = None if decision.remove is not None else _written(item, shape, decision, bare)
        if shape.role != "assistant":
            bare = False
            kept = _answered(kept, renamed)
        elif kind_of(item) == REASONING:
            bare = kept is None
        elif kept is not None and kept.get("call_id") != item.get("call_id"):
            renamed[item["call_id"]] = kept["call_id"]
        if kept is not None:
            out.append(kept)
    same = type(messages) is list and len(out) == len(messages)
    return messages if same and all(new is old for new, old in zip(out, messages, strict=True)) else out  # type: ignore[return-value]


def _written(item: Mapping[str, Any], shape: Message, decision: Decision, bare: bool) -> Any:
    """One item as it goes; the very same one where nothing changes, None where nothing of it is left."""
    acts: dict[str, Act] = {part.carrier: act for part, act in zip(shape.parts, decision.acts, strict=True)}
    gone = {name for name, act in acts.items() if act.action == "drop"}
    if ITEM in gone or REFERENCE in gone:
        return None
    left: Mapping[str, Any] = item
    if SIGNATURE in gone:
        left = bare_call(left)
    if EXTRA in gone:
        left = without_extras(left)
    drop = {*shape.spare} - ({PSF} if SIGNATURE in acts and SIGNATURE not in gone else set())
    if NAME in gone or (bare and kind_of(item) not in HIDDEN):
        drop |= {"id", "status"} if kind_of(item) in _OPTIONAL_STATUS else {"id"}
    if ITEM in acts and acts[ITEM].reason == "own_unsigned":
        drop.update(ITEM_SEALS)
    if "status" in decision.mends:
        drop |= {"status", "content"} if _has_empty_content(kind_of(item), item) else {"status"}
    if kind_of(item) == REASONING and not isinstance(item.get("summary"), list):
        left = {**left, "summary": []}  # "Missing required parameter: 'input[1].summary'"
    if _BLOCKS in shape.spare:
        left = {**left, "content": without_blocks(left["content"])}
    if left is item and drop.isdisjoint(item) and PSF not in shape.spare:
        return item
    kept = {key: value for key, value in left.items() if key not in drop}
    return _only_signature(kept) if PSF in kept else kept


def _only_signature(item: dict[str, Any]) -> dict[str, Any]:
    """Of LiteLLM's field only what its own providers read back."""
    fields = {key: value for key, value in item.pop(PSF).items() if key == "thought_signature"}
    return {**item, PSF: fields} if fields else item


def _answered(item: Any, renamed: Mapping[str, str]) -> Any:
    """The answer to a call whose id has lost a signature."""
    identity = item.get("call_id")
    return {**item, "call_id": renamed[identity]} if identity in renamed else item


def strip(messages: Messages, fill: str | None) -> list[Any]:
    """Every item without reasoning, ids, marks and turn notes. References stay: nothing leaves with a name."""
    kept: list[Any] = []
    for item in messages:
        kind = kind_of(item)
        if kind in HIDDEN:
            continue
        drop = {PSF, TURN, *_others(kind, item)}
        left: Mapping[str, Any] = item
        if role_of(item) == "assistant" and kind != REFERENCE:
            drop |= {"id", "status"} if kind in _OPTIONAL_STATUS else {"id"}
            left = bare_call(item) if call_signature(item) is not None else without_extras(item)
        elif isinstance(item.get("call_id"), str):
            left = {**item, "call_id": item["call_id"].split(THOUGHT, 1)[0]}
        if _BLOCKS in drop:
            left = {**left, "content": without_blocks(left["content"])}
        kept.append({key: value for key, value in left.items() if key not in drop})
    return kept


def read(reply: Any, choice: int = 0) -> list[dict[str, Any]]:
    """A reply, or its items alone → the items to append, without marks that came with them.

    Reasoning of a reply that was not stored, without anything sealed in it, is left out: its host knows it no more.

    Raises:
        HistoryError: no reply of this form.
    """
    if isinstance(reply, Sequence) and not isinstance(reply, str):
        return [unmarked(item) for item in listed(list(reply))]
    found = as_mapping(reply)
    items = found.get("output") if found is not None else None
    if found is None or not isinstance(items, list):
        raise HistoryError("reply: no items in it; allowed: a reply of the responses API, or its list of items")
    return [unmarked(item) for item in listed(items) if replayable(item, found)]


def mark(message: Mapping[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    """The item with the mark in its `provider_specific_fields`."""
    return {**message, PSF: {**(message.get(PSF) or {}), MARK: note}}


def rows_of(messages: object) -> list[Mapping[str, Any]]:
    """The items as mappings; a plain string is a user's message, as the API takes it.

    Raises:
        HistoryError: not a list, or an item that is no mapping.
    """
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else listed(messages)


FORMS = {
    "responses": Form(
        name="responses",
        view=view,
        payload=payload,
        apply=write,
        strip=strip,
        read=read,
        mark=mark,
        stream=ResponsesStream,
        turns=TURNS,
        in_runs=True,
        recall=recall_by(kind_of, role_of),
        rows=rows_of,
        names=names,
        empty={"summary": []},
    )
}
