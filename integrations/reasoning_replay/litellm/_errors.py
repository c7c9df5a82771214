"""What the policy asks to be raised, and what no request can say, as errors that LiteLLM hands through as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import litellm

from .. import _plan


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
