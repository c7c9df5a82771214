"""What the layers tell each other of one attempt at a call, in LiteLLM's own notes of it.

LiteLLM keeps those notes (`model_call_details`) for a call, hands them to every callback, and shares them between all
attempts of `fallbacks=`; so each attempt begins with `begin`. No state hangs on a client, a model or the callback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._origin import Origin
from .._plan import Plan
from ._carriers import is_chat
from ._target import origin_of

REPORT = "reasoning_replay"
"""Key of the report in the `kwargs` that LiteLLM hands to every callback."""
_KEY = "_reasoning_replay"


class Attempt:
    """One attempt. Mutable: each layer adds what it has found. Opaque to loggers that copy or print what holds it."""

    __slots__ = ("called", "client", "plan")

    def __init__(self) -> None:
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


def details_of(logging_obj: Any) -> dict[str, Any]:
    """LiteLLM's notes of a call; an empty dict where there are none."""
    details = getattr(logging_obj, "model_call_details", None)
    return details if isinstance(details, dict) else {}


def begin(details: dict[str, Any]) -> Attempt:
    """A new attempt, in the place of the one before."""
    attempt = details[_KEY] = Attempt()
    return attempt


def forget(details: dict[str, Any]) -> None:
    """No attempt is running any more."""
    details.pop(_KEY, None)


def attempt_of(details: Mapping[str, Any]) -> Attempt | None:
    """The running attempt; None where layer 1 was not asked."""
    attempt = details.get(_KEY)
    return attempt if isinstance(attempt, Attempt) else None


def is_ours(details: Mapping[str, Any]) -> bool:
    """A chat call; one that LiteLLM has bridged is called `responses` by now, but began as chat."""
    return is_chat(details) or _KEY in details


def answering(details: Mapping[str, Any]) -> Origin | None:
    """Who has just answered; None where it cannot be said."""
    attempt = attempt_of(details)
    planned = None if attempt is None or attempt.plan is None else attempt.plan.origin
    return origin_of(details, None if attempt is None else attempt.called, planned)
