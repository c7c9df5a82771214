"""One Anthropic request as its judge sees it, and the memory of what the host sent.

The real API can open its own signatures; this one remembers its replies, which serves the same checks. No error texts here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ._law import thinking_type
from ._script import Call, Issuer, Part, Sealed, Think, is_set

THINKING: Final = ("thinking", "redacted_thinking")
MANUAL: Final = "enabled"
ADAPTIVE: Final = "adaptive"


class Block(NamedTuple):
    """One content block with its place."""

    at: str
    """`N.content.M`."""
    message: int
    body: Mapping[str, Any]
    kind: str


class Sent(NamedTuple):
    """One reply as it was sent: the order of its blocks, thinking blocks as opaque strings, other blocks as their kind."""

    order: tuple[str, ...]
    prefix: str
    """The request's system, tools and messages without thinking."""
    before: tuple[str, ...]
    """The opaque strings of the thinking blocks in the request."""
    model: str
    """The model that said it."""


@dataclass(slots=True)
class Memory:
    """What this host sent. Mutable: grows with every reply, forgotten on reset."""

    by_key: dict[str, Sent] = field(default_factory=dict)
    """Opaque string or call id to the reply that it came in."""
    by_id: dict[str, Any] = field(default_factory=dict)
    """What a dialect with ids of its own remembers under them."""

    def clear(self) -> None:
        """Forget everything."""
        self.by_key.clear()
        self.by_id.clear()

    def note(self, parts: Sequence[Part], case: Case) -> None:
        """Remember one reply to one request. Unsigned thinking is not remembered: the real host never sends it."""
        keys = [_key_of_part(part) for part in parts if not (isinstance(part, Think) and part.signature is None)]
        order = squeeze([key or kind for key, kind in keys])
        sent = Sent(
            order,
            skeleton(case.body, len(case.messages)),
            tuple(opaque_of(b) for b in case.thinking_blocks()),
            case.model,
        )
        self.by_key.update((key, sent) for key, _ in keys if key)
        self.by_key.update((part.id, sent) for part in parts if isinstance(part, Call) and isinstance(part.id, str))


class Case(NamedTuple):
    """One request before the judge."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    issuer: Issuer
    memory: Memory
    path: str = ""
    named: str = ""
    """The model that the path names, where it does."""
    scope: str = ""
    """The vendor that the host's seals are good for; empty where it is its own vendor."""
    options: Mapping[str, Any] = MappingProxyType({})
    """The host's options."""

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages of the request."""
        return list(self.body["messages"])

    @property
    def model(self) -> str:
        """The model's name: in the body, else in the path."""
        return str(self.body.get("model") or self.named)

    @property
    def mode(self) -> str | None:
        """`thinking.type`."""
        return thinking_type(self.body)

    def blocks(self, role: str | None = None) -> Iterator[Block]:
        """All content blocks in order; a plain string is one text block."""
        for index, message in enumerate(self.messages):
            if role is None or message.get("role") == role:
                for place, body in enumerate(content_of(message)):
                    yield Block(f"{index}.content.{place}", index, body, str(body.get("type")))

    def thinking_blocks(self) -> Iterator[Block]:
        """The thinking blocks of all assistant messages."""
        return (block for block in self.blocks("assistant") if block.kind in THINKING)


def content_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []


def opaque_of(block: Block) -> str:
    """The opaque string of a thinking block."""
    return str(block.body.get("signature" if block.kind == "thinking" else "data", ""))


def skeleton(body: Mapping[str, Any], upto: int) -> str:
    """What a block is bound to, apart from other thinking: system, tools and the messages before it. No cache marks."""
    kept = [
        [m.get("role"), [b for b in content_of(m) if b.get("type") not in THINKING]]
        for m in list(body["messages"])[:upto]
    ]
    return json.dumps(_without_cache([body.get("system"), body.get("tools"), kept]), sort_keys=True)


def _without_cache(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_cache(v) for k, v in value.items() if k != "cache_control"}
    return [_without_cache(v) for v in value] if isinstance(value, list) else value


def _key_of_part(part: Part) -> tuple[str | None, str]:
    match part:
        case Think(signature=signature):
            return is_set(signature), "thinking"
        case Sealed(data=data):
            return is_set(data), "redacted_thinking"
        case Call():
            return None, "tool_use"
        case _:
            return None, "text"


def squeeze(order: Sequence[str]) -> tuple[str, ...]:
    """The order with runs of equal kinds made one: texts may be joined, calls counted once."""
    return tuple(key for i, key in enumerate(order) if i == 0 or order[i - 1] != key)


def order_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    return squeeze([opaque_of(b) if b.kind in THINKING else b.kind for b in blocks])
