"""One Responses request as its judge sees it: items with their places, what the server stored, and the rows of a history.

A reply is a run of items; it is one row, so that a reply without its reasoning is the same row with less in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ._claude_case import Case
from ._dialect import Row, Saying
from ._script import needle, step_of

OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
CALLS: Final = ("function_call", "custom_tool_call")


class Kept(NamedTuple):
    """What a host remembers of an item that it sent."""

    needs: str | None
    """The id of the reasoning item that stood before it in its reply."""
    follower: str | None
    """For reasoning: the id of the item behind it."""
    stored: bool


def items_of(body: Row) -> list[dict[str, Any]]:
    """The items of a request; a plain string is one user message."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def settings_of(body: Row) -> Mapping[str, Any]:
    """The parameter `reasoning`."""
    given = body.get("reasoning")
    return given if isinstance(given, Mapping) else {}


def kind_of(item: Row) -> str:
    """The type of an item; a message may leave it out."""
    return str(item.get("type") or "message")


def is_said(item: Row) -> bool:
    """Whether the model made an item."""
    kind = kind_of(item)
    return item.get("role") == "assistant" if kind == "message" else kind == "reasoning" or kind in CALLS


def rows(body: Row) -> list[dict[str, Any]]:
    """The history by message, each reply one row."""
    done: list[dict[str, Any]] = []
    for item in items_of(body):
        if not is_said(item):
            done.append(item)
        elif done and "items" in done[-1]:
            done[-1]["items"].append(item)
        else:
            done.append({"role": "assistant", "items": [item]})
    return done


def calls(row: Row) -> bool:
    """Whether a reply calls a tool."""
    return any(kind_of(item) in CALLS for item in row.get("items", ()))


def readable(row: Row, reads: Sequence[str]) -> str:
    """What the host reads of a reply's reasoning items."""
    thought = [item for item in row["items"] if kind_of(item) == "reasoning"]
    return json.dumps([{key: item[key] for key in reads if key in item} for item in thought])


def spine(row: Row) -> Any:
    """A row without reasoning and without ids but those of calls."""
    made = [item.get("call_id") or kind_of(item) for item in row.get("items", ()) if kind_of(item) != "reasoning"]
    said = row.get("content") if row.get("role") == "user" else None
    return row.get("role"), row.get("call_id"), made, said


def begins_turn(row: Row) -> bool:
    """Whether a user speaks."""
    return row.get("role") == "user"


def history(case: Case) -> list[dict[str, Any]]:
    """What the model sees: the stored conversation that the request goes on with, then its own items."""
    stored = case.memory.by_id.get(str(case.body.get("previous_response_id")), [])
    return [*stored, *items_of(case.body)]


def step(case: Case) -> int:
    """How many replies with calls the running loop has."""
    said = [row for row in rows({"input": history(case)}) if "items" in row]
    return step_of(said, calls)


def note(saying: Saying, whole: dict[str, Any]) -> None:
    """Remember the items and, unless told not to store, the response. Ids that belong to reasoning count as issued."""
    memory, output, stored = saying.case.memory, whole["output"], bool(whole["store"])
    thought: str | None = None
    for item, after in zip(output, [*output[1:], None], strict=True):
        if item["type"] == "reasoning":
            thought = item["id"]
            memory.by_id[item["id"]] = Kept(None, after["id"] if after else None, stored)
        else:
            memory.by_id[item["id"]] = Kept(thought, None, stored)
        if thought is not None:
            saying.case.issuer.issued[needle(item["id"])] = ""
    if stored:
        memory.by_id[whole["id"]] = [*history(saying.case), *output]
    saying.case.issuer.issued[needle(whole["id"])] = ""


def kept(case: Case, item: Row) -> Kept | None:
    """What the host remembers of an item, by its id."""
    found = case.memory.by_id.get(str(item.get("id")))
    return found if isinstance(found, Kept) else None


def places(case: Case) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The items of the request with their places."""
    return enumerate(items_of(case.body))
