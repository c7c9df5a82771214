"""Ollama's own dialect: how `/api/chat` writes a reply, whole or as lines of JSON, and the little that it refuses.

The server is written in Go: unknown keys are ignored, a value of the wrong type is refused in the words of Go's decoder.
Whether thinking that comes back is used is up to the model's template; it is never validated (docs/api.md, api/types.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ._claude_case import Case
from ._dialect import Saying
from ._law import Refusal, Verdict, calls_of, matches, own_key
from ._script import Call, Part, arguments_of
from ._voices import cut, joined, reasoning_of, visible

CREATED: Final = "2026-09-21T14:13:20.000000Z"
COUNTS: Final[Mapping[str, Any]] = {
    "total_duration": 5043500667,
    "load_duration": 5025959,
    "prompt_eval_count": 10,
    "prompt_eval_duration": 325953000,
    "eval_count": 10,
    "eval_duration": 4709213000,
}
LEVELS: Final = ("low", "medium", "high", "max")
BAD_LEVEL: Final = 'invalid think value: {value} (must be "high", "medium", "low", "max", true, or false)'
NO_THINKING: Final = '"{model}" does not support thinking'
GO: Final = "json: cannot unmarshal {found} into Go struct field ChatRequest.messages.{key} of type {wanted}"
KINDS: Final[Mapping[type, str]] = {
    str: "string",
    list: "array",
    dict: "object",
    bool: "bool",
    int: "number",
    float: "number",
}


def message(parts: Sequence[Part]) -> dict[str, Any]:
    """A message. Arguments are an object, never a string."""
    said: dict[str, Any] = {"role": "assistant", "content": visible(parts, "") or ""}
    thoughts = joined(reasoning_of(parts))
    if thoughts:
        said["thinking"] = thoughts
    calls = [part for part in parts if isinstance(part, Call)]
    rows = [
        {"id": call.id, "function": {"index": at, "name": call.name, "arguments": dict(call.arguments)}}
        for at, call in enumerate(calls)
    ]
    return said | {"tool_calls": rows} if rows else said


def whole(saying: Saying) -> dict[str, Any]:
    """A whole reply."""
    head = {"model": saying.model, "created_at": CREATED, "message": message(saying.choices[0])}
    return {**head, "done": True, "done_reason": "stop", **COUNTS}


def note(saying: Saying, reply: dict[str, Any]) -> None:
    """Remember a reply by its arguments too: clients make up ids of their own."""
    issuer = saying.case.issuer
    for part in saying.choices[0]:
        if isinstance(part, Call) and isinstance(part.id, str):
            sign = f'"arguments": {arguments_of(part)}'
            issuer.alike.setdefault(sign, []).append(issuer.replies.get(part.id, ()))


def lines(saying: Saying, reply: dict[str, Any]) -> Iterator[str]:
    """The same reply as lines of JSON: thinking, then text, then each call whole, then the counts."""
    said, pieces = reply["message"], saying.reply.pieces
    rows: list[dict[str, Any]] = [
        {"content": "", "thinking": piece} for piece in cut(said.get("thinking", ""), pieces) if piece
    ]
    rows += [{"content": piece} for piece in cut(said["content"], pieces) if piece]
    rows += [{"content": "", "tool_calls": [call]} for call in said.get("tool_calls", ())]
    for row in rows:
        head = {"model": reply["model"], "created_at": reply["created_at"]}
        yield _line({**head, "message": {"role": "assistant", **row}, "done": False})
    yield _line({**reply, "message": {"role": "assistant", "content": ""}})


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row) + "\n"


def thinks(case: Case) -> bool:
    """Thinking is on unless the request says no: the default of a model that can."""
    return case.body.get("think") is not False


def streams(case: Case) -> bool:
    """Ollama streams unless told not to."""
    return case.body.get("stream") is not False


# The judge ------------------------------------------------------------------------------------------------------------


def error(text: str, status: int = 400) -> Refusal:
    """Ollama's error body."""
    return Refusal(status, {"error": text}, text)


def judge(case: Case, options: Mapping[str, Any]) -> Verdict:
    """Values of the wrong type, thinking asked of a model that has none; nothing else."""
    messages = case.body.get("messages")
    if not isinstance(messages, list):
        return Verdict(error(GO.format(found=_kind(messages), key="", wanted="[]api.Message")))
    own = own_key(messages)
    if own is not None:
        return Verdict(error(f"Unrecognized request argument supplied: messages[{own[0]}].{own[1]}"))
    for said in messages:
        wrong = _wrong_type(said)
        if wrong is not None:
            return Verdict(error(wrong))
    return Verdict(_think(case, options))


def _wrong_type(said: Mapping[str, Any]) -> str | None:
    for key in ("role", "content", "thinking", "tool_name"):
        value = said.get(key)
        if value is not None and not isinstance(value, str):
            return GO.format(found=_kind(value), key=key, wanted="string")
    for call in calls_of(said):
        arguments = (call.get("function") or {}).get("arguments")
        if arguments is not None and not isinstance(arguments, Mapping):
            at = "tool_calls.function.arguments"
            return GO.format(found=_kind(arguments), key=at, wanted="api.ToolCallFunctionArguments")
    return None


def _kind(value: Any) -> str:
    return KINDS.get(type(value), "null")


def _think(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    asked = case.body.get("think")
    if isinstance(asked, str) and asked not in LEVELS:
        return error(BAD_LEVEL.format(value=json.dumps(asked)))
    if asked not in (None, False) and not matches(case.model, options["thinking_models"]):
        return error(NO_THINKING.format(model=case.model))
    return None
