"""What the policy asks to be raised, and what no request can say, as errors that LiteLLM hands through as they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import litellm

from .. import _plan
from .._known import first_time

_log = logging.getLogger("reasoning_replay")
_UNNAMED = ""


class MissingReasoning(_plan.MissingReasoning, litellm.exceptions.BadRequestError):
    """`Policy(missing="raise")`: reasoning that the host demands is not at hand; nothing was sent.

    Also a `BadRequestError`: LiteLLM hands its own errors through as they are and does not send them again.
    """

    def __init__(self, cause: _plan.MissingReasoning, model: str, provider: str) -> None:
        litellm.exceptions.BadRequestError.__init__(self, message=str(cause), model=model, llm_provider=provider)
        self.index = cause.index
        self.host = cause.host


class ConversationElsewhere(_plan.ConversationElsewhere, litellm.exceptions.BadRequestError):
    """The request goes on with a conversation that another endpoint keeps, and it is not in hand; nothing was sent."""

    def __init__(self, cause: _plan.ConversationElsewhere, model: str, provider: str) -> None:
        litellm.exceptions.BadRequestError.__init__(self, message=str(cause), model=model, llm_provider=provider)
        self.parameter = cause.parameter
        self.host = cause.host
        self.keeper = cause.keeper


@contextmanager
def as_litellms(model: str, provider: str) -> Iterator[None]:
    """Raises what the core raises as LiteLLM's own kind of error."""
    try:
        yield
    except (MissingReasoning, ConversationElsewhere):
        raise
    except _plan.MissingReasoning as cause:
        raise MissingReasoning(cause, model, provider) from None
    except _plan.ConversationElsewhere as cause:
        raise ConversationElsewhere(cause, model, provider) from None


@contextmanager
def without_hosts() -> Iterator[None]:
    """Raises the same for a proxy's client, who is told no name of what is behind it; the operator's log has them."""
    try:
        yield
    except (MissingReasoning, ConversationElsewhere) as cause:
        if cause.host == _UNNAMED:
            raise
        keeper = getattr(cause, "keeper", "")
        if first_time(("told a client", type(cause), cause.host, keeper)):
            _log.warning(
                "reasoning-replay: a client was refused with %s, without the names of the hosts: it goes to %s%s "
                "(said once)",
                type(cause).__name__,
                cause.host,
                keeper and f", and {keeper} keeps the conversation",
            )
        raise _unnamed(cause) from None


def _unnamed(cause: MissingReasoning | ConversationElsewhere) -> MissingReasoning | ConversationElsewhere:
    if isinstance(cause, MissingReasoning):
        missing = _plan.MissingReasoning(cause.index, _UNNAMED)
        told = (
            f"messages[{cause.index}]: the model demands this message's reasoning, and the history does not have it; "
            "send every reply back as it came, with all of its fields"
        )
        missing.args = (told,)
        return MissingReasoning(missing, cause.model, cause.llm_provider)
    elsewhere = _plan.ConversationElsewhere(cause.parameter, _UNNAMED, _UNNAMED)
    told = (
        f"{cause.parameter}: names a conversation that this model's endpoint does not keep; "
        "send the messages themselves, every reply as it came, or go on with the model that began it"
    )
    elsewhere.args = (told,)
    return ConversationElsewhere(elsewhere, cause.model, cause.llm_provider)
