"""Reasoning taken out of any value that is dumped or logged, whatever its form: by the keys and types that hold it.

For copies that people read (what `_redact` leaves beside a form's own carriers; logs and traces, where the form of a
value is not known). It takes out too much rather than too little, and says bytes and a digest instead, the same
as the store's. Nothing is changed in place; what holds nothing comes back as the very same object.
Must not see a framework, and nothing that is made here is ever sent.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..forms import canonical, digest, size_of
from ..forms._carriers import EXTRAS, LISTS, PSF_CARRIERS, SEALED, STRINGS, THOUGHT, block_code
from ..forms._langchain_blocks import SIGNATURES, TOOL_EXTRAS, WIRE

NOTE = "reasoning_redacted"
"""The key of what replaces reasoning: a list of field, bytes and digest."""
SAID = "[redacted]"
"""Stands where a text quoted reasoning."""

_FIELDS = frozenset(
    {
        *(STRINGS),
        *SEALED,
        *EXTRAS,
        *PSF_CARRIERS,
        *(carrier.key for carrier in LISTS if carrier.key not in ("content", "tool_calls")),
        *(SIGNATURES, TOOL_EXTRAS, WIRE),
        *("reasoningContent", "redactedContent", "thoughtSignature", "redacted_content", "reasoning_replay_withheld"),
        *("reasoning_summary", "thinking_delta", "signature_delta"),
    }
)
"""Keys whose text, list or bytes are reasoning wherever they stand; a dict under one may be a parameter
(`thinking: {"type": "enabled"}`) and is looked into."""
_SEALED = frozenset({*SEALED, *EXTRAS, "redactedContent", "redacted_content", SIGNATURES, TOOL_EXTRAS, WIRE})
"""Keys of which a dict goes too."""
_KINDS = frozenset({"function_call_signature", "reasoning_content"})
_ARGUMENTS = ("args", "arguments", "input", "response")
_LEAST = 6
"""Characters of a text that is looked for in what stays; a shorter one may stand anywhere by chance."""
_PLAIN = frozenset({"type", "role", "format", "status", "index"})
"""Keys whose values are words of the form, and no secret."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def noted(field: str, payload: str) -> dict[str, Any]:
    """The note of one piece: its field, its bytes, and the digest under which a store would know it."""
    return {"field": field, "bytes": size_of(payload.replace("\0", "")), "digest": digest(payload).hex()}


def note_of(field: str, value: Any) -> dict[str, Any]:
    """The note of a value that no form has read."""
    return noted(field, value if isinstance(value, str) else f"\0{canonical(value)}")


def leaves(value: Any, key: str = "") -> Iterator[str]:
    """The texts in a value that may be secret; bytes as base64."""
    if isinstance(value, str):
        if key not in _PLAIN:
            yield value
    elif isinstance(value, bytes | bytearray):
        yield base64.b64encode(value).decode()
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from leaves(each, str(name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each, key)


class Secrets:
    """Texts to be looked for in what stays. Built once for a message; shows none of them."""

    __slots__ = ("_texts",)

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(sorted({text for text in texts if len(text) >= _LEAST}, key=len, reverse=True))

    def __repr__(self) -> str:
        return f"<{len(self._texts)} secrets>"

    def __bool__(self) -> bool:
        return len(self._texts) > 0

    def without(self, text: str) -> str:
        """The text with each of them taken out, also where a run of base64 holds one."""
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, SAID)
        return _BASE64.sub(self._opened, text) if len(text) > _LEAST else text

    def _opened(self, found: re.Match[str]) -> str:
        run = found[0]
        try:
            told = base64.b64decode(run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4), altchars=b"-_")
        except ValueError:
            return run
        return SAID if any(secret.encode("utf-8", "surrogatepass") in told for secret in self._texts) else run


NO_SECRETS = Secrets(())


def redacted_value(value: Any, secrets: Secrets = NO_SECRETS, key: str = "") -> Any:
    """The value without reasoning at any depth; the very same object where it holds none."""
    if isinstance(value, str):
        return _text(value, secrets, key)
    if isinstance(value, Mapping):
        return _mapping(value, secrets)
    if isinstance(value, list | tuple):
        made = [redacted_value(each, secrets, key) for each in value]
        if all(new is old for new, old in zip(made, value, strict=True)):
            return value
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, bytes | bytearray) and secrets:
        word = base64.b64encode(value).decode()
        return value if secrets.without(word) == word else SAID
    return value


def _text(text: str, secrets: Secrets, key: str) -> str:
    left = text.split(THOUGHT, 1)[0] if key.endswith("id") else text
    left = secrets.without(left) if secrets else left
    return text if left == text else left


def _mapping(value: Mapping[str, Any], secrets: Secrets) -> Any:
    kind = value.get("type")
    if NOTE not in value and (block_code(value) is not None or kind in _KINDS) and not _is_parameter(value):
        return {"type": kind, NOTE: [note_of(str(kind), dict(value))]}
    left: dict[Any, Any] = {}
    notes: list[dict[str, Any]] = []
    changed = False
    for key, each in value.items():
        if _goes(key, each):
            notes.append(note_of(str(key), each))
            continue
        kept = each if _is_call(key, each, value) else redacted_value(each, secrets, str(key))
        changed = changed or kept is not each
        left[key] = kept
    if notes:
        left[NOTE] = [*left.get(NOTE, ()), *notes]
    return left if notes or changed else value


def _is_parameter(value: Mapping[str, Any]) -> bool:
    """Whether a dict that calls itself reasoning is a block with nothing in it."""
    return all(key in _PLAIN or each in (None, "", []) for key, each in value.items())


def _goes(key: Any, value: Any) -> bool:
    if key not in _FIELDS or value is None:
        return False
    if isinstance(value, str | list | tuple | bytes | bytearray):
        return len(value) > 0
    return isinstance(value, Mapping) and len(value) > 0 and key in _SEALED


def _is_call(key: Any, value: Any, holder: Mapping[str, Any]) -> bool:
    """Whether a value is what a tool is called with, or what it gave: visible, whatever it is named."""
    return key in _ARGUMENTS and "name" in holder and not isinstance(value, list)
