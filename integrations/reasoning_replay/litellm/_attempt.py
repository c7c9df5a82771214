"""What the layers tell each other of one attempt at a call, in LiteLLM's own notes of it.

LiteLLM keeps those notes (`model_call_details`) for a call, hands them to every callback, and shares them between all
attempts of `fallbacks=`; so each attempt begins with `begin`. No state hangs on a client, a model or the callback.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .._known import Known
from .._origin import Origin
from .._plan import Plan
from .._report import Report
from ._carriers import is_covered
from ._keeping import Asked, Keeping
from ._target import origin_of

REPORT = "reasoning_replay"
"""Key of the report in the `kwargs` that LiteLLM hands to every callback."""
_KEY = "_reasoning_replay"
_BRIDGE = "_reasoning_replay_bridge"


class Attempt:
    """One attempt. Mutable: each layer adds what it has found. Opaque to loggers that copy or print what holds it."""

    __slots__ = ("after", "asked", "bridged", "called", "client", "entry", "plan")

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        """What this call may see of the store."""
        self.after: Plan | None = None
        """The plan that was made last: its messages are what the reply answers."""
        self.bridged = False
        """LiteLLM sends a chat completion to the Responses API: planned as chat, and marked as chat."""
        self.entry: str | None = None
        """The dialect of a call that is sent as its caller speaks, where that is not chat."""
        self.plan: Plan | None = None
        """Layer 1's plan; None where it did not know the host."""
        self.client: str | None = None
        """The base URL of the caller's client, once it is known that this call goes through it."""
        self.called: str | None = None
        """The URL that the request was sent to, as layer 2 saw it."""

    def __deepcopy__(self, memo: object) -> Attempt:
        return self

    def __reduce__(self) -> tuple[type[object], tuple[()]]:
        return object, ()


class Bridge:
    """A call in one dialect that LiteLLM makes in another. Mutable; opaque, as an Attempt is."""

    __slots__ = ("answered", "asked", "dialect", "known", "report", "texts", "trail")

    def __init__(
        self, dialect: str, asked: Asked, known: Known | None = None, texts: Mapping[str, str] | None = None
    ) -> None:
        self.dialect = dialect
        """What the caller speaks."""
        self.asked = asked
        """What this call may see of the store."""
        self.trail: bytes | None = None
        """Digest of what the caller's history shows, for the reply as the caller gets it."""
        self.known = known
        """What the marks of the caller's history say, over the store: none of them gets across."""
        self.texts = texts or {}
        """Text as LiteLLM hands it across -> as the host wrote it."""
        self.answered: Origin | None = None
        """Who has answered the call inside."""
        self.report: Report | None = None

    def __deepcopy__(self, memo: object) -> Bridge:
        return self

    def __reduce__(self) -> tuple[type[object], tuple[()]]:
        return object, ()


_outer: ContextVar[Bridge | None] = ContextVar("reasoning_replay_bridge", default=None)


@contextmanager
def across(bridge: Bridge | None) -> Iterator[None]:
    """While LiteLLM makes a call inside another one that has no notes of its own."""
    token = _outer.set(bridge)
    try:
        yield
    finally:
        _outer.reset(token)


def bridge_of(details: Mapping[str, Any]) -> Bridge | None:
    """The bridge that a call goes over; None for a call that is made as the caller speaks."""
    bridge = details.get(_BRIDGE)
    return bridge if isinstance(bridge, Bridge) else _outer.get()


def put_bridge(details: dict[str, Any], bridge: Bridge) -> None:
    """Notes the bridge that a call goes over, in the place of an earlier attempt's."""
    details[_BRIDGE] = bridge


def details_of(logging_obj: Any) -> dict[str, Any]:
    """LiteLLM's notes of a call; an empty dict where there are none."""
    details = getattr(logging_obj, "model_call_details", None)
    return details if isinstance(details, dict) else {}


def begin(details: dict[str, Any], asked: Asked) -> Attempt:
    """A new attempt, in the place of the one before."""
    attempt = details[_KEY] = Attempt(asked)
    return attempt


def forget(details: dict[str, Any]) -> None:
    """No attempt is running any more."""
    details.pop(_KEY, None)


def attempt_of(details: Mapping[str, Any]) -> Attempt | None:
    """The running attempt; None where layer 1 was not asked."""
    attempt = details.get(_KEY)
    return attempt if isinstance(attempt, Attempt) else None


def keeping_of(details: Mapping[str, Any], asked: Asked, *, inner: bool = False) -> Keeping:
    """Where the reply to a call goes; `inner`: LiteLLM makes something else of it before the caller gets it."""
    bridge, attempt = bridge_of(details), attempt_of(details)
    if bridge is not None:
        return Keeping(bridge.asked, None if inner else bridge)
    return Keeping(asked) if attempt is None else Keeping(attempt.asked, attempt.after)


def is_ours(details: Mapping[str, Any]) -> bool:
    """A call that this integration looks at, under the name that LiteLLM has for it by now, or had."""
    return is_covered(details) or _KEY in details


def answering(details: Mapping[str, Any]) -> Origin | None:
    """Who has just answered; None where it cannot be said."""
    attempt = attempt_of(details)
    planned = None if attempt is None or attempt.plan is None else attempt.plan.origin
    return origin_of(details, None if attempt is None else attempt.called, planned)
