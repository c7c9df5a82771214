"""Reasoning taken out of any value that is dumped or logged, whatever its form: by the keys and types that hold it.

For copies that people read (what `_redact` leaves beside a form's own carriers; logs and traces, where nobody says
which form a value has). In place of each text stands a word with its bytes and its digest, so that what reads the log
finds the structure that it knows. It takes out too much rather than too little, changes nothing in place, and what
holds nothing comes back as the very same object. Marks become the word that `prepare` refuses: no copy is replayed.
Must not see a framework: objects are read by what pydantic and dataclasses have.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .._origin import MARK, REDACTED
from ..forms import digest, size_of
from ..forms._carriers import EXTRAS, LISTS, PSF_CARRIERS, SEALED, STRINGS, THOUGHT, block_code
from ..forms._inline import Tagged, tagged_in
from ..forms._langchain_blocks import SIGNATURES, TOOL_EXTRAS, WIRE
from ._redact_quotes import LEAST, SPAN, Secrets
from ._redact_within import each_within, remade

NOTE = "reasoning_redacted"
"""The key of the note beside a redacted mark: a list of field, bytes and digest."""

_BESIDE_TEXT = tuple(carrier.key for carrier in LISTS if carrier.key not in ("content", "tool_calls"))
_FIELDS = frozenset(
    {
        *(*STRINGS, *SEALED, *EXTRAS, *PSF_CARRIERS, *_BESIDE_TEXT, SIGNATURES, TOOL_EXTRAS, WIRE),
        *("reasoningContent", "reasoningText", "redactedContent", "thoughtSignature", "redacted_content"),
        *("reasoning_summary", "reasoning_delta", "reasoning_blocks", "compaction_blocks"),
    }
)
"""Keys under which every text is reasoning, but for parameters of that name (`thinking: {"type": "enabled"}`)."""
_SEALED = ("encrypted_", "encryptedContent")
"""Beginnings of keys of what only a host can open."""
_PARAMETERS = frozenset({"type", "effort", "format", "role", "status", "index", "display", "generate_summary"})
"""Keys whose values are words of the form or of a request."""
_KINDS = ("response.reasoning", "thinking_delta", "signature_delta", "compaction", "function_call_signature")
"""Beginnings of the types of other blocks and events that hold nothing else."""
_OPEN = frozenset({"reasoning_replay_withheld", "_reasoning_replay", "_reasoning_replay_bridge"})
"""Keys of our own that hold whole messages: nothing of them is for a log."""
ARGUMENTS = frozenset({"args", "arguments", "input", "response"})
"""Keys beside a name: what a function is called with, and what it gave."""
_CALLS = frozenset({"id", "type", "call_id", "tool_call_id", "toolUseId", "index", "function_call"})
"""Keys of a call beside its name: a dict of a program's own may have a name, too."""
_SAID = frozenset(
    {"content", "text", "arguments", "args", "output_text", "refusal", "image_url", "file", "input_audio"}
)
"""Keys of what is said to everybody: not searched for quotations."""
_RAW = ("reasoning", "thinking", "thought", "signature", "encrypted", "redacted")
"""What a raw text that holds reasoning has somewhere."""
_NAMED = re.compile(
    r"""(?:["'\\]|\b)(?:reasoning_?\w{0,20}|thinking|thoughts?_?\w{0,20}|signature|encrypted_\w{0,20}|redacted_\w{0,20})"""
    r"""\\*["']?\s{0,4}[:=]\s{0,4}\\*["'\[{]"""
)
"""A field of reasoning and the begin of its value, in a text that is no JSON: Python's, cut short, or escaped."""


def word_for(text: str) -> str:
    """What stands in place of a text: its bytes, and the digest under which a store would know it."""
    return f"[redacted: {size_of(text)} bytes, {digest(text).hex()}]"


def redacted_values(*values: Any) -> tuple[Any, ...]:
    """The values without reasoning at any depth, also where one quotes what another holds; shared where unchanged."""
    cover = Cover()
    made = tuple(map(cover.over, values))
    secrets = Secrets(cover.found)
    return tuple(unquoted(each, secrets) for each in made) if secrets else made


class Cover:
    """Goes over values. Mutable: it holds what it has found, and shows none of it."""

    __slots__ = ("_made", "found")

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self._made: dict[int, tuple[Any, Any]] = {}
        """By its id, a value that holds others, and what was made of it: each is looked at once, cycles too."""

    def __repr__(self) -> str:
        return f"<{len(self.found)} found>"

    def over(self, value: Any, key: str = "") -> Any:
        """The value without reasoning; the very same object where it holds none."""
        if value is None or value.__class__ in _NUMBERS:
            return value
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, bytes | bytearray):
            return self._bytes(value, key)
        if id(value) not in self._made:
            self._made[id(value)] = value, value
            self._made[id(value)] = value, self._within(value, key)
        return self._made[id(value)][1]

    def _bytes(self, value: bytes | bytearray, key: str) -> Any:
        text = value.decode("utf-8", "replace")
        left = self._text(text, key)
        return value if left is text else left.encode()

    def _within(self, value: Any, key: str) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value)
        if _is_hidden(getattr(value, "__dict__", {})):
            return self.hidden(value, _kind_of(value.__dict__))
        return each_within(value, lambda each, name: self.over(each, name or key), self._goes)

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        if _is_hidden(value):
            return self.hidden(value, _kind_of(value))
        thought = value.get("thought") is True
        held = dict(value)  # at once: LiteLLM writes into its notes from several threads
        return remade(
            value, {self._key(key): self._field(key, each, held, thought=thought) for key, each in held.items()}
        )

    def _key(self, key: Any) -> Any:
        return self._text(key, "") if isinstance(key, str) and len(key) >= SPAN else key

    def _field(self, key: Any, value: Any, holder: Mapping[Any, Any], *, thought: bool) -> Any:
        if key in _OPEN:
            return None
        if key == MARK:
            return _REFUSED if isinstance(value, Mapping) and value != _REFUSED else value
        if (is_field(key) and not _is_parameter(key, value)) or (thought and key == "text"):
            return self.hidden(value, key)
        if key in ARGUMENTS and isinstance(value, str | dict) and "name" in holder and not _CALLS.isdisjoint(holder):
            return value
        return self.over(value, str(key))

    def _goes(self, name: str, value: Any) -> Any:
        return self._field(name, value, {}, thought=False)

    def hidden(self, value: Any, field: str = "") -> Any:
        """A value of reasoning, and the key or type that says so → the value with a word for each of its texts."""
        if isinstance(value, str):
            return value if value == "" or _WORD.fullmatch(value) else self._word(value)
        if isinstance(value, bytes | bytearray):
            return self._word(base64.b64encode(value).decode())
        if isinstance(value, Mapping):
            kept = {key: self._inside(each, key) for key, each in dict(value).items()}
            return remade(value, {**kept, MARK: _REFUSED} if MARK in kept else kept)
        if isinstance(value, list | tuple) and value and all(isinstance(each, int) for each in value):
            return []  # the bytes of a token
        return each_within(value, self._inside, None)

    def _inside(self, value: Any, key: Any) -> Any:
        return value if key in _PARAMETERS and not isinstance(value, dict | list) else self.hidden(value)

    def _word(self, text: str) -> str:
        self.found[text] = None
        return word_for(text)

    def _text(self, text: str, key: str) -> str:
        if THOUGHT in text and key.endswith("id"):
            head, _, seal = text.partition(THOUGHT)
            self.found[seal] = None
            return head
        if key not in ARGUMENTS and "think" in text:
            tagged = thoughts_in(text)
            if tagged:
                return self.tagged(text, tagged)
        if key not in ARGUMENTS and any(sign in text for sign in _RAW):
            return self._raw(text, key)
        return text

    def tagged(self, text: str, found: list[Tagged]) -> str:
        """A text with a word for all that was thought between tags in it."""
        ends = [0, *(each.end for each in found)]
        begins = [*(each.start for each in found), len(text)]
        shown = [text[end:begin] for end, begin in zip(ends, begins, strict=True)]
        words = [self._word(text[each.start : each.end]) for each in found]
        return "".join(piece for pair in zip(shown, [*words, ""], strict=True) for piece in pair)

    def _raw(self, text: str, key: str) -> str:
        """A text that is JSON, or lines of a stream of it; of another that names a field all from there on goes."""
        lines = text.split("\n")
        if len(lines) > 1 and any(line.startswith("data:") for line in lines):
            return "\n".join(self._line(line) for line in lines)
        made = self._json(text)
        if made is not None or key in _SAID:
            return text if made is None else made
        named = _NAMED.search(text)
        if named is None or _IS_TOLD.match(text, named.end() - 1):
            return text
        return f"{text[: named.start()]}{self._word(text[named.start() :])}"

    def _line(self, line: str) -> str:
        head, found, data = line.partition("data:")
        if not found or head != "":
            return line
        made = self._json(data.strip())
        return f"{head}{found} {data.strip() if made is None else made}"

    def _json(self, text: str) -> str | None:
        """None for what is no JSON."""
        if text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            value = json.loads(text)
            made = self.over(value)
        except (ValueError, RecursionError):
            return None
        return text if made is value else json.dumps(made, ensure_ascii=False)


def is_field(key: Any) -> bool:
    """Whether all under a key is reasoning, or sealed by a host (`encrypted_content`, `encrypted_index`, …)."""
    return key in _FIELDS or (isinstance(key, str) and key.startswith(_SEALED))


def thoughts_in(text: str) -> list[Tagged]:
    """What was thought between tags in a text, and is not taken out yet."""
    return [each for each in tagged_in(text) if not _is_told(text[each.start : each.end])]


def _is_told(text: str) -> bool:
    """Whether nothing of a text is left to take out."""
    return text == "" or text.isspace() or _WORD.fullmatch(text.strip()) is not None


def _kind_of(value: Mapping[Any, Any]) -> str:
    """What a hidden block calls itself: its type, or the key that says so (Converse, Gemini)."""
    return str(value.get("type") or ("thought" if "thought" in value else "reasoningContent"))


def _is_hidden(value: Mapping[Any, Any]) -> bool:
    kind = value.get("type")
    return block_code(value) is not None or (isinstance(kind, str) and kind.startswith(_KINDS))


_WORD = re.compile(r"\[redacted: \d+ bytes, [0-9a-f]{32}\]")
_IS_TOLD = re.compile(r"""["'\[{ ]{0,4}\[redacted""")
_REFUSED = {"id": REDACTED, "v": 1}
_NUMBERS = frozenset({bool, int, float})
_TEXTS = ("text", "content", "reasoning", "thinking", "encrypted_content", "signature")


def _is_parameter(key: str, value: Any) -> bool:
    """Whether a dict under a field of readable text is a parameter of that name, or the schema of a tool's."""
    if key not in STRINGS or not isinstance(value, Mapping):
        return False
    return not any(value.get(name) is not None for name in _TEXTS) and not isinstance(value.get("summary"), list)


def unquoted(value: Any, secrets: Secrets, look: Callable[[Any], Any] | None = None) -> Any:
    """The value without quotations of the secrets beside what is said; the very same object where there are none.

    `look` knows what is made of some values; it gives None for any other.
    """
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else secrets.without(value)
    if isinstance(value, bytes | bytearray):
        word = base64.b64encode(value).decode()
        return value if secrets.without(word) == word else secrets.without(word).encode()
    if look is not None and (known := look(value)) is not None:
        return known

    def within(each: Any, name: Any) -> Any:
        return each if name in _SAID else unquoted(each, secrets, look=look)

    if isinstance(value, Mapping):
        return remade(value, {_shown(name, secrets): within(each, name) for name, each in dict(value).items()})
    return each_within(value, within, None)


def _shown(key: Any, secrets: Secrets) -> Any:
    return secrets.without(key) if isinstance(key, str) and len(key) >= LEAST else key


def texts_in(value: Any, key: str = "") -> Iterator[str]:
    """The texts in a value that may be secret; bytes as base64."""
    if isinstance(value, str):
        if key not in _PARAMETERS:
            yield value
    elif isinstance(value, bytes | bytearray):
        yield base64.b64encode(value).decode()
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from texts_in(each, str(name))
    elif isinstance(value, Iterable) and not isinstance(value, Iterator):
        for each in value:
            yield from texts_in(each, key)
