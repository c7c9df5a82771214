"""Where calls and their results stand in each form: how they are read, taken out and put in.

KITS is the table: form → `Kit`. A form without an entry has none that its host checks (Ollama ties nothing by ids).
It decides nothing: `_repair_answers` does. Results stand in rows of their own (chat, LangChain, Responses) or among the
blocks of the message behind (Anthropic, Gemini, Converse).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..forms import plain
from ..forms._langchain_blocks import KWARGS
from ..forms._langchain_write import Edited
from ..forms.langchain import role_of as langchain_role
from ..forms.responses import kind_of, role_of
from ._repair_lines import Data

NO_RESULT = "No result: the call was interrupted before it gave one."
"""What is said in the place of a result that nobody has."""


class Call(NamedTuple):
    """One call of a tool."""

    place: int
    """Among the calls, or the blocks, of its row."""
    id: str | None
    name: str
    broken: bool = False
    """Its arguments cannot be read, or it has no id: its stream was broken off."""
    kind: str = ""


class Result(NamedTuple):
    """One result of a call."""

    place: int
    id: str | None
    name: str


class Kit(NamedTuple):
    """How the calls of one form are handled."""

    role: Callable[[Data], str]
    """`assistant`, `tool` for a row that is a result, anything else."""
    calls: Callable[[Data], list[Call]]
    results: Callable[[Data], list[Result]]
    without_calls: Callable[[Data, frozenset[int]], Data | None]
    """The row without the calls in these places; None where the call was all."""
    answer: Callable[[Call], Any]
    """The short result for a call without one: a row, or a block; None where none can be made."""
    key: str | None = None
    """Of the list of blocks; None where results are rows of their own."""
    runs: bool = False
    """A reply is a run of rows, and a result may stand anywhere behind its call."""
    renamed: Callable[[Data, Mapping[str, str]], Data] = lambda row, ids: row
    """The row with the result's new id."""


def _listed(row: Data, key: str) -> list[Any]:
    found = row.get(key)
    return [plain(each) for each in found] if isinstance(found, list) else []


def _mappings(row: Data, key: str) -> Iterator[tuple[int, Data]]:
    return ((place, each) for place, each in enumerate(_listed(row, key)) if isinstance(each, Mapping))


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) else None


def _unreadable(arguments: object) -> bool:
    """Whether a text that ought to be JSON breaks off; an empty one is taken for no arguments."""
    if not isinstance(arguments, str) or arguments == "":
        return False
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return True
    return False


# Chat hosts -----------------------------------------------------------------------------------------------------------


def _chat_calls(row: Data) -> list[Call]:
    found = []
    for place, call in _mappings(row, "tool_calls") if row.get("role") == "assistant" else ():
        function = plain(call.get("function") or {})
        identity = _word(call.get("id"))
        broken = identity is None or _unreadable(function.get("arguments"))
        found.append(Call(place, identity, str(function.get("name")), broken))
    return found


def _chat_results(row: Data) -> list[Result]:
    return [Result(0, _word(row.get("tool_call_id")), str(row.get("name")))] if row.get("role") == "tool" else []


def _chat_without(row: Data, places: frozenset[int]) -> Data:
    left = [call for place, call in enumerate(row["tool_calls"]) if place not in places]
    bare = {key: value for key, value in row.items() if key != "tool_calls"}
    return {**bare, "tool_calls": left} if left else {**bare, "content": bare.get("content") or ""}


def _chat_renamed(row: Data, ids: Mapping[str, str]) -> Data:
    identity = row.get("tool_call_id")
    return {**row, "tool_call_id": ids[identity]} if isinstance(identity, str) and identity in ids else row


_CHAT = Kit(
    role=lambda row: str(row.get("role")),
    calls=_chat_calls,
    results=_chat_results,
    without_calls=_chat_without,
    answer=lambda call: {"role": "tool", "tool_call_id": call.id, "content": NO_RESULT},
    renamed=_chat_renamed,
)


# LangChain ------------------------------------------------------------------------------------------------------------


def _langchain_calls(row: Data) -> list[Call]:
    if langchain_role(row) != "assistant":
        return []
    read, unread = _listed(row, "tool_calls"), _listed(row, "invalid_tool_calls")
    found = [Call(place, _word(call.get("id")), str(call.get("name"))) for place, call in enumerate(read)]
    broken = [
        Call(len(read) + place, _word(call.get("id")), str(call.get("name")), True) for place, call in enumerate(unread)
    ]
    return [*(call._replace(broken=call.id is None) for call in found), *broken]


def _langchain_without(row: Data, places: frozenset[int]) -> Data:
    """The calls go from every place that holds them: lists, what the class keeps beside them, blocks of the content."""
    read, unread = _listed(row, "tool_calls"), _listed(row, "invalid_tool_calls")
    stay = [call for place, call in enumerate(read) if place not in places]
    ids = {call.get("id") for call in stay}
    gone = {call.get("id") for place, call in enumerate([*read, *unread]) if place in places} - ids
    changes: dict[str, Any] = {
        "tool_calls": stay,
        "invalid_tool_calls": [call for place, call in enumerate(unread, len(read)) if place not in places],
    }
    kept = row[KWARGS].get("tool_calls")
    if isinstance(kept, list):
        left = [call for call in kept if not isinstance(call, Mapping) or call.get("id") not in gone]
        rest = {key: value for key, value in row[KWARGS].items() if key != "tool_calls"}
        changes[KWARGS] = {**rest, "tool_calls": left} if left else rest
    if isinstance(row["content"], list):
        changes["content"] = [block for block in row["content"] if not _is_call_of(block, gone)]
    return Edited(row, changes)


def _is_call_of(block: Any, ids: set[Any]) -> bool:
    if not isinstance(block, Mapping) or block.get("type") not in _CALL_BLOCKS:
        return False
    return block.get("call_id" if "call_id" in block else "id") in ids


_CALL_BLOCKS = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "custom_tool_call")


def _langchain_results(row: Data) -> list[Result]:
    is_one = langchain_role(row) == "tool" or row.get("type") in ("tool", "ToolMessageChunk")
    return [Result(0, _word(row.get("tool_call_id")), str(row.get("name")))] if is_one else []


def _langchain_renamed(row: Data, ids: Mapping[str, str]) -> Data:
    identity = row.get("tool_call_id")
    return Edited(row, {"tool_call_id": ids[identity]}) if isinstance(identity, str) and identity in ids else row


_LANGCHAIN = Kit(
    role=lambda row: "tool" if _langchain_results(row) else langchain_role(row),
    calls=_langchain_calls,
    results=_langchain_results,
    without_calls=_langchain_without,
    answer=lambda call: {
        "type": "tool", "content": NO_RESULT, "tool_call_id": call.id, "name": call.name, "status": "error", KWARGS: {},
    },
    renamed=_langchain_renamed,
)  # fmt: skip


# Responses ------------------------------------------------------------------------------------------------------------

_ANSWERED = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the caller answers with a text → the type of the answer."""


def _item_calls(item: Data) -> list[Call]:
    kind = kind_of(item)
    if not kind.endswith("_call") or "call_id" not in item:
        return []
    broken = _word(item.get("call_id")) is None or (kind == "function_call" and _unreadable(item.get("arguments")))
    return [Call(0, _word(item.get("call_id")), str(item.get("name")), broken, kind)]


def _item_answer(call: Call) -> dict[str, Any] | None:
    kind = _ANSWERED.get(call.kind)
    return None if kind is None else {"type": kind, "call_id": call.id, "output": NO_RESULT}


def _item_renamed(item: Data, ids: Mapping[str, str]) -> Data:
    identity = item.get("call_id")
    return {**item, "call_id": ids[identity]} if isinstance(identity, str) and identity in ids else item


_RESPONSES = Kit(
    role=role_of,
    calls=_item_calls,
    results=lambda item: (
        [Result(0, _word(item["call_id"]), "")] if kind_of(item).endswith("_output") and "call_id" in item else []
    ),
    without_calls=lambda item, places: None,
    answer=_item_answer,
    runs=True,
    renamed=_item_renamed,
)


# Blocks ---------------------------------------------------------------------------------------------------------------


def _without_blocks(key: str) -> Callable[[Data, frozenset[int]], Data]:
    return lambda row, places: {
        **row, key: [block for place, block in enumerate(row[key]) if place not in places],
    }  # fmt: skip


def _anthropic_calls(row: Data) -> list[Call]:
    found = _mappings(row, "content") if row.get("role") == "assistant" else ()
    return [
        Call(place, _word(block.get("id")), str(block.get("name")), _word(block.get("id")) is None)
        for place, block in found
        if block.get("type") == "tool_use"
    ]


_ANTHROPIC = Kit(
    role=lambda row: str(row.get("role")),
    calls=_anthropic_calls,
    results=lambda row: [
        Result(place, _word(block.get("tool_use_id")), "")
        for place, block in _mappings(row, "content")
        if block.get("type") == "tool_result"
    ],
    without_calls=_without_blocks("content"),
    answer=lambda call: {"type": "tool_result", "tool_use_id": call.id, "content": NO_RESULT, "is_error": True},
    key="content",
)


def _converse_calls(row: Data) -> list[Call]:
    found = [(place, plain(block["toolUse"])) for place, block in _mappings(row, "content") if "toolUse" in block]
    return [
        Call(place, _word(call.get("toolUseId")), str(call.get("name")), _word(call.get("toolUseId")) is None)
        for place, call in found
    ]


_CONVERSE = Kit(
    role=lambda row: str(row.get("role")),
    calls=_converse_calls,
    results=lambda row: [
        Result(place, _word(plain(block["toolResult"]).get("toolUseId")), "")
        for place, block in _mappings(row, "content")
        if "toolResult" in block
    ],
    without_calls=_without_blocks("content"),
    answer=lambda call: {
        "toolResult": {"toolUseId": call.id, "content": [{"text": NO_RESULT}], "status": "error"},
    },
    key="content",
)  # fmt: skip


def _gemini(part: Data, camel: str, snake: str) -> Data | None:
    found = part.get(camel) if part.get(camel) is not None else part.get(snake)
    return None if found is None else plain(found)


def _gemini_calls(row: Data) -> list[Call]:
    found = [
        (place, _gemini(part, "functionCall", "function_call"), "functionCall" in part)
        for place, part in _mappings(row, "parts")
    ]
    return [
        Call(place, _word(call.get("id")), str(call.get("name")), kind="" if camel else "snake")
        for place, call, camel in found
        if call is not None
    ]


def _gemini_answer(call: Call) -> dict[str, Any]:
    said = {**({"id": call.id} if call.id is not None else {}), "name": call.name, "response": {"error": NO_RESULT}}
    return {"function_response" if call.kind == "snake" else "functionResponse": said}


_GEMINI = Kit(
    role=lambda row: {"model": "assistant", "function": "user"}.get(str(row.get("role", "user")), "user"),
    calls=_gemini_calls,
    results=lambda row: [
        Result(place, _word(result.get("id")), str(result.get("name")))
        for place, part in _mappings(row, "parts")
        if (result := _gemini(part, "functionResponse", "function_response")) is not None
    ],
    without_calls=_without_blocks("parts"),
    answer=_gemini_answer,
    key="parts",
)

KITS: Mapping[str, Kit] = {
    "chat": _CHAT,
    "litellm": _CHAT,
    "langchain": _LANGCHAIN,
    "responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "bedrock": _CONVERSE,
    "gemini": _GEMINI,
}
"""Form → its calls."""


def is_ours(kit: Kit, call: Call, answer: Any) -> bool:
    """Whether a row or a block is the short result that was put in for a call."""
    made, found = kit.answer(call), plain(answer)
    return isinstance(made, Mapping) and all(found.get(key) == value for key, value in made.items())


def call_ids(kit: Kit, row: Data) -> list[str | None]:
    """The ids of a row's calls, in order."""
    return [call.id for call in kit.calls(row)]
