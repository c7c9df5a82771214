"""What a strict host says: the parts of a reply, the small agent that plays the model, and the canaries.

A reply is a tuple of parts in the order in which the model made them; every dialect writes the same parts in its own way.
AUTO in a part is filled in by the host's `Issuer`: a text with a canary word, a signature over the text, a call id.
Everything issued is remembered, so that a test can search the bodies of the other hosts for it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

CANARY: Final = "CANARY-"
"""The word that begins every canary. No log, report, error or `repr` may contain it."""


class _Auto(Enum):
    """The type of AUTO: a value of its own, because `None` and `""` are values that a host may send."""

    AUTO = "auto"


AUTO: Final = _Auto.AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Think:
    """Reasoning that can be read."""

    text: str | _Auto | None = AUTO
    """`""` and `None` are sent as they are."""
    signature: str | _Auto | None = AUTO
    """`None`: the key is absent. Hosts that sign nothing never send it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Reasoning that only its host can read: `redacted_thinking`, or OpenRouter's `reasoning.encrypted`."""

    data: str | _Auto = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary of reasoning (OpenRouter's `reasoning.summary`); other dialects write it as readable reasoning."""

    text: str | _Auto = AUTO


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text. `None` is a chat host's `content: null`; AUTO an answer with a sign of its own, for `lost`."""

    text: str | _Auto | None = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call."""

    name: str = "get_weather"
    arguments: Mapping[str, Any] = field(default_factory=lambda: {"city": "Oslo"})
    id: str | _Auto = AUTO


Part: TypeAlias = Think | Sealed | Summary | Text | Call


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the scripted model."""

    parts: tuple[Part, ...]
    more: tuple[tuple[Part, ...], ...] = ()
    """Further choices (`n > 1`); chat hosts only."""
    cut: int | None = None
    """The stream breaks off after so many events. None: it ends as it should."""
    tail: bool = True
    """A chat stream ends with a chunk whose `choices` is empty (usage). False: only if the request asks for usage."""
    pieces: int = 3
    """Into how many fragments a stream cuts each text."""
    status: int = 200
    """Another status: the host fails with it before it says a word, as if out of order."""


class Turn(NamedTuple):
    """What the scripted model is asked: the request as plain facts."""

    body: Mapping[str, Any]
    step: int
    """Assistant messages with calls since the last assistant message without: 0 at the start of a loop."""
    number: int
    """How many replies the script gave before."""
    thinking: bool
    tools: bool


Script: TypeAlias = Callable[[Turn], Reply] | Sequence[Reply] | None


def think(text: str | _Auto | None = AUTO, *, signature: str | _Auto | None = AUTO) -> Think:
    """Short for a script: `Reply((think(), call()))`."""
    return Think(text=text, signature=signature)


def sealed(data: str | _Auto = AUTO) -> Sealed:
    """A redacted or encrypted part."""
    return Sealed(data=data)


def call(name: str = "get_weather", *, id: str | _Auto = AUTO, **arguments: Any) -> Call:
    """A tool call with keyword arguments; none at all means `city="Oslo"`."""
    return Call(name=name, id=id, arguments=arguments) if arguments else Call(name=name, id=id)


def agent(steps: int) -> Callable[[Turn], Reply]:
    """The default model: `steps` times reasoning and a call, then reasoning and an answer.

    No two calls have the same arguments: where clients leave ids out, a reply is known by them.
    """

    def answer(turn: Turn) -> Reply:
        lead: tuple[Part, ...] = (Think(),) if turn.thinking else ()
        if turn.tools and turn.step < steps:
            return Reply((*lead, Call(arguments={"city": f"Oslo-{turn.step + 1}-{secrets.token_hex(3)}"})))
        return Reply((*lead, Text()))

    return answer


def reply_for(script: Script, steps: int, turn: Turn) -> Reply:
    """The scripted reply; a list that is used up gives way to the default model."""
    if callable(script):
        return script(turn)
    if script is not None and turn.number < len(script):
        return script[turn.number]
    return agent(steps)(turn)


def step_of(messages: Iterable[Any], calls: Callable[[Mapping[str, Any]], bool]) -> int:
    """How many steps with calls the running loop has. A user note inside the loop does not end it."""
    step = 0
    for message in messages:
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            step = step + 1 if calls(message) else 0
    return step


class Issuer:
    """Makes canaries, signatures and ids for one host, and remembers them. Mutable: `issued`, `replies`, and `alike`: replies
    by a sign that several may share.

    A signature covers kind, scope and text under a key that only this host has; it can be verified after `reset`.
    """

    def __init__(self, name: str, new_call_id: Callable[[], str]) -> None:
        self.name = name
        self.new_call_id = new_call_id
        self.issued: dict[str, str] = {}
        self.replies: dict[str, tuple[str, ...]] = {}
        self.alike: dict[str, list[tuple[str, ...]]] = {}
        self._key = secrets.token_bytes(16)

    def reset(self) -> None:
        """Forget what was issued. Signatures stay valid."""
        self.issued.clear()
        self.replies.clear()
        self.alike.clear()

    def canary(self, scope: str, step: int) -> str:
        """A new canary word, remembered as issued for `scope` (the upstream on a router, else empty)."""
        word = f"{CANARY}{self.name}-{step}-{secrets.token_hex(4)}"
        self.issued[word] = scope
        return word

    def seal(self, kind: str, scope: str, text: str) -> str:
        """An opaque string that `opens` accepts for the same kind, scope and text only."""
        nonce = secrets.token_hex(12)
        opaque = base64.b64encode(f"{nonce}:{self._mac(nonce, kind, scope, text)}".encode()).decode()
        self.issued[needle(opaque)] = scope
        return opaque

    def opens(self, opaque: str, kind: str, scope: str, text: str) -> bool:
        """Whether this very host sealed exactly this."""
        try:
            nonce, _, mac = base64.b64decode(opaque, validate=True).decode().partition(":")
        except ValueError:
            return False
        return hmac.compare_digest(mac, self._mac(nonce, kind, scope, text))

    def fill(self, parts: Sequence[Part], *, scope: str, step: int, signs: bool) -> tuple[Part, ...]:
        """The parts with every AUTO replaced, remembered under the ids of their calls."""
        before = set(self.issued)
        done = tuple(self._filled(part, scope, step, signs) for part in parts)
        new = tuple(word for word in self.issued if word not in before)
        self.replies.update((sign, new) for part in done for sign in _signs(part))
        return done

    def _filled(self, part: Part, scope: str, step: int, signs: bool) -> Part:
        match part:
            case Think(text=text, signature=signature):
                said = f"I should look at it. {self.canary(scope, step)} Step {step}." if text is AUTO else text
                if signature is AUTO:
                    signature = self.seal("thinking", scope, said or "") if signs else None
                return Think(text=said, signature=signature)
            case Sealed(data=data):
                return Sealed(data=self.seal("data", scope, "")) if data is AUTO else part
            case Summary(text=text):
                return Summary(text=f"In short. {self.canary(scope, step)}") if text is AUTO else part
            case Call(id=id):
                return replace(part, id=self.new_call_id()) if id is AUTO else part
            case Text(text=text):
                return Text(f"It is 3C. Done. [{ANSWER}{secrets.token_hex(4)}]") if text is AUTO else part

    def _mac(self, *fields: str) -> str:
        return hmac.new(self._key, json.dumps(fields).encode(), hashlib.sha256).hexdigest()


ANSWER: Final = "answer-"


def _signs(part: Part) -> list[str]:
    """What a reply is known by when it comes back: the ids of its calls, or the sign in its answer."""
    if isinstance(part, Call):
        return [part.id] if isinstance(part.id, str) else []
    text = part.text if isinstance(part, Text) else None
    return re.findall(rf"{ANSWER}[0-9a-f]{{8}}", text) if isinstance(text, str) else []


def needle(opaque: str) -> str:
    """What to search a body for: the front of an opaque string, which a corrupted copy still has."""
    return opaque[:24]


def is_set(value: str | _Auto | None) -> str | None:
    """The value of a part whose AUTO was filled in. Never called on an unfilled part."""
    assert not isinstance(value, _Auto)
    return value


def arguments_of(part: Call) -> str:
    """A call's arguments as a chat host writes them."""
    return json.dumps(dict(part.arguments))
