"""How each chat host writes a reply: the message, and the deltas of a stream that add up to it.

A Voice is data; where a host writes in a way of its own, its two functions stand in the table of `_strict`.
Parts come filled in (no AUTO). This file knows no request and no rule.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._script import Call, Part, Sealed, Summary, Text, Think, arguments_of, is_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How a chat host speaks."""

    key: str = "reasoning_content"
    """The key of readable reasoning."""
    silent: str | None = None
    """`content` of a reply that has no visible text."""
    opening: Mapping[str, Any] = field(default_factory=lambda: {"role": "assistant", "content": ""})
    """The first delta of a stream."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What stands at the top of every reply and chunk."""
    whole_calls: bool = False
    """A stream brings each tool call in one delta, not its arguments in fragments."""
    finish: Mapping[str, Any] | None = None
    """What stands beside the choices of a stream's last chunk where usage comes there; None: a chunk of its own."""
    message: Callable[[Sequence[Part], Voice], dict[str, Any]] | None = None
    """A host's own way to write a message; None: `plain_message`."""
    deltas: Callable[[Sequence[Part], Voice, int], Iterator[dict[str, Any]]] | None = None
    """A host's own way to stream; None: `plain_deltas`."""


def call_id(prefix: str = "call_") -> str:
    """A call id as most hosts make them, never of digits alone.

    LiteLLM takes `call_<digits>` for a bare number and puts the item's own id in its place: one call in 1,850 otherwise.
    """
    return f"{prefix}{secrets.token_hex(8)}x"


def short_call_id() -> str:
    """Mistral's nine letters and digits."""
    return secrets.token_hex(5)[:9]


def cut(text: str, pieces: int) -> list[str]:
    """The text in at most so many fragments, none of them empty but the only one."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def reasoning_of(parts: Sequence[Part]) -> list[str | None]:
    """The readable reasoning of a reply: Think and Summary texts in order."""
    return [is_set(part.text) for part in parts if isinstance(part, Think | Summary)]


def joined(texts: Sequence[str | None]) -> str | None:
    """The texts as one; None if the host said null."""
    said = [text for text in texts if text is not None]
    return "".join(said) if said else None


def calls_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The tool calls of a reply."""
    calls = [part for part in parts if isinstance(part, Call)]
    return [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": arguments_of(c)}} for c in calls]


def texts_of(parts: Sequence[Part]) -> list[str | None]:
    """The visible texts of a reply in order."""
    return [is_set(part.text) for part in parts if isinstance(part, Text)]


def visible(parts: Sequence[Part], silent: str | None) -> str | None:
    """The `content` of a reply."""
    texts = texts_of(parts)
    return joined(texts) if texts else silent


def plain_message(parts: Sequence[Part], voice: Voice) -> dict[str, Any]:
    """A message with a text field for reasoning."""
    message: dict[str, Any] = {"role": "assistant", "content": visible(parts, voice.silent)}
    thoughts = reasoning_of(parts)
    if thoughts:
        message[voice.key] = joined(thoughts)
    calls = calls_json(parts)
    return message | {"tool_calls": calls} if calls else message


def text_deltas(parts: Sequence[Part], key: str, texts: Sequence[str | None], pieces: int) -> Iterator[dict[str, Any]]:
    """The fragments of texts under one key."""
    for text in texts:
        yield from ({key: text} for text in ([None] if text is None else cut(text, pieces)))


def call_deltas(parts: Sequence[Part], voice: Voice, pieces: int) -> Iterator[dict[str, Any]]:
    """Each tool call whole, or in fragments: the head with id and name, then the arguments."""
    for index, call in enumerate(calls_json(parts)):
        if voice.whole_calls:
            yield {"tool_calls": [{"index": index, **call}]}
            continue
        function = call["function"]
        head = {"index": index, **call, "function": {"name": function["name"], "arguments": ""}}
        yield {"tool_calls": [head]}
        yield from (
            {"tool_calls": [{"index": index, "function": {"arguments": s}}]} for s in cut(function["arguments"], pieces)
        )


def plain_deltas(parts: Sequence[Part], voice: Voice, pieces: int) -> Iterator[dict[str, Any]]:
    """The deltas of a message with a text field for reasoning. The opening holds the reasoning key only if there is any."""
    thoughts = reasoning_of(parts)
    yield {k: v for k, v in voice.opening.items() if thoughts or k != voice.key}
    yield from text_deltas(parts, voice.key, thoughts, pieces)
    yield from text_deltas(parts, "content", texts_of(parts), pieces)
    yield from call_deltas(parts, voice, pieces)


def finish(parts: Sequence[Part]) -> str:
    """The finish reason."""
    return "tool_calls" if any(isinstance(part, Call) for part in parts) else "stop"


USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 10,
    "total_tokens": 20,
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def completion(choices: Sequence[Sequence[Part]], voice: Voice, model: str) -> dict[str, Any]:
    """A whole reply."""
    write = voice.message or plain_message
    rows = [
        {"index": i, "message": write(parts, voice), "finish_reason": finish(parts), "logprobs": None}
        for i, parts in enumerate(choices)
    ]
    head = {
        "id": f"chatcmpl-{secrets.token_hex(6)}",
        "object": "chat.completion",
        "created": 1790000000,
        "model": model,
    }
    return {**head, "choices": rows, "usage": USAGE, **voice.extra}


def chunks(choices: Sequence[Sequence[Part]], voice: Voice, model: str, *, pieces: int, tail: bool) -> Iterator[str]:
    """The same reply as server-sent events."""
    write = voice.deltas or plain_deltas
    head = {
        "id": f"chatcmpl-{secrets.token_hex(6)}",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": model,
    }

    def event(rows: list[dict[str, Any]], **more: Any) -> str:
        return f"data: {json.dumps({**head, 'choices': rows, **voice.extra, **more})}\n\n"

    for index, parts in enumerate(choices):
        for delta in write(parts, voice, pieces):
            yield event([{"index": index, "delta": delta, "finish_reason": None, "logprobs": None}])
        last = [{"index": index, "delta": {}, "finish_reason": finish(parts), "logprobs": None}]
        yield event(last, **(voice.finish or {}))
    if tail and voice.finish is None:
        yield event([], usage=USAGE)
    yield "data: [DONE]\n\n"


# Mistral: thinking chunks in `content` --------------------------------------------------------------------------------


def mistral_message(parts: Sequence[Part], voice: Voice) -> dict[str, Any]:
    """A message whose content is a list of chunks when there is reasoning."""
    message = plain_message([part for part in parts if not isinstance(part, Think | Summary | Sealed)], voice)
    thoughts = [text for text in reasoning_of(parts) if text is not None]
    if thoughts:
        said = message["content"]
        texts = [{"type": "text", "text": said}] if said else []
        message["content"] = [
            *({"type": "thinking", "thinking": [{"type": "text", "text": t}], "closed": True} for t in thoughts),
            *texts,
        ]
    return message


def mistral_deltas(parts: Sequence[Part], voice: Voice, pieces: int) -> Iterator[dict[str, Any]]:
    """Thinking chunks one after the other, then plain text."""
    yield dict(voice.opening)
    for text in reasoning_of(parts):
        for piece in cut(text or "", pieces):
            yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}
    yield from text_deltas(parts, "content", texts_of(parts), pieces)
    yield from call_deltas(parts, voice, pieces)
