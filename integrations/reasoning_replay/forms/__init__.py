"""Where reasoning sits in a list of messages: one module a form, and what all forms share.

A form reads and writes; it never chooses, compares hosts or imports another form. Forms alone spell message keys.
A new form is one module with a `Form` and a line in `FORMS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from .._decision import Zone
from .._history import History, HistoryError, Message, Part, StartsTurn
from .._origin import MARK

PSF = "provider_specific_fields"
"""LiteLLM's field for what no standard key holds; the mark lives in it."""
LAYOUT = "reasoning_layout"
"""Beside the mark: the order of an interleaved reply, where the form itself cannot say it."""
TURN = "turn"
"""The caller's own statement on a message: does it start a turn?"""

Messages = Sequence[Mapping[str, Any]]


class Stream(Protocol):
    """A stream put together. Mutable: it holds what has arrived so far."""

    def feed(self, chunk: Any) -> None: ...
    def result(self) -> Any: ...


class Said(NamedTuple):
    """One speaker's piece of a conversation, as everybody can see it."""

    start: int
    end: int
    """Its rows: from `start` up to `end`."""
    reply: bool
    """The model said it."""
    text: str
    """Canonical, equal for pieces that mean the same: no reasoning, no ids, no framework's fields."""
    calls: tuple[str, ...]
    """The ids of its tool calls, in order."""
    bare: bool
    """A reply in which no reasoning stands, blanks aside."""
    thin: bool = False
    """A reply whose client kept a readable text of it and nothing else: what was sealed with it may be missing."""


class Recall(NamedTuple):
    """How one form tells what is visible, and how a reply's reasoning is taken out of it and put back."""

    said: Callable[[Messages], list[Said]]
    """A whole conversation, piece by piece.

    Behind a reply that stands for messages that are gone, or that names its speaker, comes a piece without rows: it
    tells so to all that follows, and is no part of the reply's own text.
    """
    lift: Callable[[Messages], Any]
    """The rows of one reply → its reasoning as JSON values, nothing visible in them; None where it has none."""
    lay: Callable[[Messages, Any], list[Mapping[str, Any]]]
    """The rows of a reply without reasoning, and what was lifted from it → rows with the reasoning in its places."""


class Turns(NamedTuple):
    """How one form's messages are read for where turns start (`_turns`)."""

    is_result: Callable[[Mapping[str, Any]], bool]
    """It holds a tool's result."""
    is_quiet: Callable[[Mapping[str, Any]], bool]
    """It has no text: such a user message starts no turn right behind a tool's result."""
    role_of: Callable[[Mapping[str, Any]], Any] = lambda message: message.get("role")
    """Its role in the words of chat hosts."""
    stated: Callable[..., bool | None] = lambda index, message, starts_turn: stated_turn(index, message, starts_turn)  # noqa: PLW0108 - it stands below
    """Its place, itself and `starts_turn` → what the caller says about it."""


class Form(NamedTuple):
    """How one form is read and written."""

    name: str
    view: Callable[[Messages, StartsTurn | None], History]
    """Messages → history. Raises HistoryError for what cannot be read."""
    payload: Callable[[Mapping[str, Any], Part], str]
    """What a part's digest is made of: equal wherever the same reasoning sits."""
    apply: Callable[[Messages, History, list[Zone]], list[Any]]
    """The planned messages: the very same list where nothing changes, sharing every unchanged message."""
    strip: Callable[[Messages, str | None], list[Any]]
    """For the fallback: every carrier gone; the string, where given, put where a chat host demands the field."""
    read: Callable[[Any, int], Any]
    """A whole reply and the number of a choice → the assistant message in this form, or the list of its items."""
    mark: Callable[[Mapping[str, Any], dict[str, Any]], dict[str, Any]]
    """A message and a mark → the message with the mark beside all reasoning that has none."""
    stream: Callable[[int], Stream]
    """An empty stream for one choice."""
    turns: Turns
    """Where turns start."""
    rows: Callable[[object], list[Mapping[str, Any]]] = lambda messages: listed(messages)  # noqa: PLW0108 - it stands below
    """What the caller gave → mappings, one a message. Raises HistoryError for what is no list of messages."""
    back: Callable[[Any, Mapping[str, Any]], Any] | None = None
    """The message that was given and its edited row → the planned message. None: the row is the message."""
    names: Callable[[Any], tuple[str, ...]] = lambda reply: ()
    """A reply → payloads of the names under which its host keeps it and its items."""
    in_runs: bool = False
    """A reply is a run of rows, tied to each other."""
    recall: Recall | None = None
    """What restoring needs; None where this form restores nothing."""
    beside: str | None = PSF
    """The key of the dict in which the mark of a whole message stands; None: it stands beside the role."""
    empty: Mapping[str, Any] = {"content": ""}
    """What a message of the assistant's has where it holds nothing."""


@cache
def form_of(name: str) -> Form:
    """The form of that name.

    Raises:
        HistoryError: no such form.
    """
    if name not in _MODULES:
        raise HistoryError(f"form {name!r}: not known; allowed: {', '.join(_MODULES)}")
    forms: dict[str, Form] = import_module(f".{_MODULES[name]}", __package__).FORMS
    return forms[name]


_OWN = ("anthropic", "responses", "gemini", "bedrock", "ollama", "langchain")
_MODULES = {"chat": "chat", "litellm": "chat"} | {name: name for name in _OWN}


def form_for(form: str | None, dialect: str) -> Form:
    """The form that is named, else the dialect's own.

    Raises:
        HistoryError: no such form.
    """
    return form_of(form or dialect)


def digest(payload: str) -> bytes:
    """The name of a payload in stores: 16 bytes, from which no text comes back."""
    return blake2b(payload.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def size_of(text: str) -> int:
    """Bytes of a text on the wire."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def canonical(value: object) -> str:
    """JSON of a value, equal for equal values."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """A mapping as it is, an SDK's object as the fields that were set; None for anything else."""
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump) and hasattr(value, "__pydantic_serializer__"):
        found: Mapping[str, Any] = dump(exclude_unset=True, exclude=_never_sent(value), warnings=False)
        return found
    return dump(exclude_unset=True) if callable(dump) else None


def _never_sent(value: Any) -> dict[Any, Any] | None:
    """What an SDK keeps in its objects for its user alone (`parsed_output`), by place, as pydantic's `exclude`.

    Hosts refuse it. The SDKs leave it out of the objects that they send, not out of those inside a dump of ours
    (openai 3.57, anthropic 2.14: `__api_exclude__`).
    """
    own = getattr(value, "__api_exclude__", None) or ()
    kept: dict[Any, Any] = dict(own) if isinstance(own, Mapping) else dict.fromkeys(own, True)
    for name, inner in vars(value).items():
        places = enumerate(inner) if isinstance(inner, list) else ((None, inner),)
        found = {
            place: names
            for place, each in places
            if hasattr(each, "__pydantic_serializer__") and (names := _never_sent(each)) is not None
        }
        if found and name not in kept:
            kept[name] = found if isinstance(inner, list) else found[None]
    return kept or None


def plain(value: Any) -> Any:
    """An SDK's object inside a message as a mapping; anything else as it is."""
    found = as_mapping(value)
    return value if found is None else found


def listed(messages: object) -> list[Mapping[str, Any]]:
    """The messages as mappings; the very same list where they are dicts already.

    Raises:
        HistoryError: not a list, or a message that is no mapping.
    """
    if type(messages) is list and set(map(type, messages)) <= {dict}:
        return messages
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise HistoryError(f"messages: a {type(messages).__name__}; allowed: a list of messages")
    rows: list[Mapping[str, Any]] = []
    for index, message in enumerate(messages):
        row = as_mapping(message)
        if row is None:
            raise HistoryError(
                f"messages[{index}]: a {type(message).__name__}; allowed: a dict, or an object with model_dump()"
            )
        rows.append(row)
    return rows


def unmarked(holder: Mapping[str, Any]) -> dict[str, Any]:
    """A message, block or item without a mark that came with a reply: that is somebody else's word."""
    fields = holder.get(PSF)
    if not isinstance(fields, Mapping) or MARK not in fields:
        return dict(holder)
    rest = {key: value for key, value in fields.items() if key != MARK}
    bare = {key: value for key, value in holder.items() if key != PSF}
    return {**bare, PSF: rest} if rest else bare


def given_back(form: Form, messages: Any, rows: list[Mapping[str, Any]], out: list[Any]) -> list[Any]:
    """Planned rows as what the caller gave: the very same list where nothing changed, every other message shared."""
    if out is rows and isinstance(messages, list):
        return messages
    if form.back is None:
        return out
    given = {id(row): message for row, message in zip(rows, messages, strict=True)}
    return [given[id(row)] if id(row) in given else form.back(given_of(row, given), row) for row in out]


def given_of(row: Any, given: Mapping[int, Any]) -> Any:
    """The message that a row was made of: a form's `Edited` knows the row before it, which may be an edited one too."""
    while id(row) not in given:
        row = row.source
    return given[id(row)]


def layout_of(kinds: Iterable[tuple[str, int]]) -> list[str] | None:
    """The layout of a reply from the kind and length of its blocks in order.

    Kinds: `thinking` (a block each), `text` (length in characters), `tool_use`. None where the blocks stand as the form
    puts them anyway: thinking, then text, then calls.
    """
    entries: list[tuple[str, int]] = []
    for kind, length in kinds:
        if kind == "text" and entries and entries[-1][0] == "text":
            entries[-1] = ("text", entries[-1][1] + length)
        elif kind != "text" or length > 0:
            entries.append((kind, length))
    ranks = [_USUAL_ORDER.index(kind) for kind, _ in entries]
    if ranks == sorted(ranks):
        return None
    return [f"{kind}:{length}" if kind == "text" else kind for kind, length in entries]


_USUAL_ORDER = ("thinking", "text", "tool_use")


def wrong_type(index: int, key: str, value: object, allowed: str) -> HistoryError:
    """The error for a field of the wrong type. It names the type only: the value may be reasoning."""
    return HistoryError(f"messages[{index}].{key}: a {type(value).__name__}; allowed: {allowed}")


_ROLE = re.compile("[a-z_]{1,20}")
_KEY = re.compile(r"\$?[A-Za-z_]{1,30}")


def wrong_role(index: int, role: object, allowed: Iterable[str]) -> HistoryError:
    """The error for a role that is none. What does not look like one is not shown: it may be a text that slipped."""
    other = "; a history of another form is read with form= or dialect=" if role in _OTHER_FORMS else ""
    return HistoryError(f"messages[{index}].role: {named(role, _ROLE)}; allowed: {', '.join(allowed)}{other}")


_OTHER_FORMS = (None, "assistant", "model", "tool", "developer")
"""Roles that some form has: LangChain's messages and items of the Responses API have none."""


def named(value: object, looks: re.Pattern[str] = _KEY) -> str:
    """A key or a word of a message as an error may show it: where it looks like one, else its type and length."""
    if not isinstance(value, str):
        return "None" if value is None else f"a {type(value).__name__}"
    if looks.fullmatch(value):
        return repr(str.__str__(value))
    return f"a {type(value).__name__} of {len(value):,} characters"


def shape_value(text: str) -> str:
    """Whether a text is there, blank, or of length 0."""
    return "text" if text and not text.isspace() else "blank" if len(text) else "empty"


def stated_turn(index: int, message: Mapping[str, Any], starts_turn: StartsTurn | None) -> bool | None:
    """What the message itself or the caller's function says about starting a turn; None: nothing."""
    stated = message.get(TURN)
    if stated is not None:
        if not isinstance(stated, bool):
            raise wrong_type(index, TURN, stated, "true or false")
        return stated
    return starts_turn(message) if starts_turn is not None else None


__all__ = [
    "LAYOUT",
    "PSF",
    "TURN",
    "Form",
    "Message",
    "Messages",
    "Stream",
    "Turns",
    "as_mapping",
    "canonical",
    "digest",
    "form_for",
    "layout_of",
    "listed",
    "plain",
    "shape_value",
    "size_of",
    "stated_turn",
    "unmarked",
    "wrong_type",
]
