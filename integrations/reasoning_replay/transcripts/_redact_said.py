"""Reasoning taken out of what a message says, whatever its form: blocks and keys go, and the thinking between tags.

What a form's own `strip` has left: a message in another form than was named, parts that nobody knows, a tool's result
that quotes a block, `<think>` in a part, a second time or opened by the template. Nothing is left that a host could be
sent. Results and arguments that an app made are its own: texts in them stay, and so do the words of a user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..forms._carriers import THOUGHT
from ..forms._inline import INLINE, Tagged, untagged
from ._redact_values import ARGUMENTS, Cover, thoughts_in

PLACES = ("content", "parts", "output")
"""Keys of a message under which it says something."""
_TEXTS = frozenset({"content", "parts", "text", ""})
_NOTHING = frozenset({"type", "id", "index", "status", "role", "thought"})
"""Keys of a part that say nothing without another one."""
_GONE: Any = object()


class Taken(Cover):
    """Goes over what messages say. Mutable: it holds what it took out, and shows none of it."""

    __slots__ = ("pieces", "reply")

    def __init__(self, *, reply: bool) -> None:
        super().__init__()
        self.reply = reply
        self.pieces: list[tuple[str, str]] = []
        """Key or type, and text."""

    def within(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a message that hold reasoning, without it."""
        made = {key: self.over(row[key], key) for key in PLACES if key in row}
        return {key: "" if left is _GONE else left for key, left in made.items() if left is not row[key]}

    def hidden(self, value: Any, field: str = "") -> Any:
        """Nothing in place of a value of reasoning; what an earlier redaction has left stays."""
        inner = Cover()
        inner.hidden(value, field)
        self.pieces += [(field, text) for text in inner.found]
        self.found.update(inner.found)
        return _GONE if inner.found else value

    def tagged(self, text: str, found: list[Tagged]) -> str:
        """A text without what was thought between tags in it."""
        texts = [text[each.start : each.end] for each in found]
        self.pieces += [(INLINE, each) for each in texts]
        self.found.update(dict.fromkeys(texts))
        return untagged(text)

    def _within(self, value: Any, key: str) -> Any:
        made = super()._within(value, key)
        if made is value or not isinstance(made, list | tuple):
            return made
        return [each for each in made if each is not _GONE]

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        made = super()._mapping(value)
        if made is value or made is _GONE:
            return made
        left = {key: each for key, each in made.items() if each is not _GONE}
        return left if not _NOTHING.issuperset(left) else _GONE

    def _field(self, key: Any, value: Any, holder: Mapping[Any, Any], *, thought: bool) -> Any:
        own = key == "json" or (key in ARGUMENTS and "name" in holder)
        return value if own else super()._field(key, value, holder, thought=thought)

    def _goes(self, name: str, value: Any) -> Any:
        made = super()._goes(name, value)
        return None if made is _GONE else made

    def _text(self, text: str, key: str) -> str:
        if THOUGHT in text and key.endswith("id"):
            return super()._text(text, key)
        found = thoughts_in(text) if self.reply and key in _TEXTS else []
        return self.tagged(text, found) if found else text
