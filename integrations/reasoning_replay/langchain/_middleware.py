"""`ReasoningReplayMiddleware` for `create_agent`, and the envelope in which it hands reasoning to a wrapped model.

Rule 1: the handler's messages hold no reasoning, so a model that nobody wrapped sees none, at any place in the list.
Rule 2: only a wrapped model opens the envelope (`restored`), and only for a message that still says the same.
Contract: the state is not changed; a message without reasoning is shared. Needs `langchain`: loaded when asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
except ImportError as error:
    raise ImportError(
        "ReasoningReplayMiddleware needs langchain beside langchain-core: pip install langchain"
    ) from error

from .._known import Known
from .._policy import Policy
from ._settings import checked
from ._withheld import restored, withheld
from ._wrap import with_reasoning_replay


class ReasoningReplayMiddleware(AgentMiddleware[Any, Any]):
    """Every model of an agent gets its own earlier reasoning back, and no other host's.

    `create_agent(model, tools, middleware=[ReasoningReplayMiddleware()])`. The place in the list does not matter for
    safety: what a middleware after this one (`ModelFallbackMiddleware`, a model chosen by the step) puts in the model's
    place sees no reasoning. Stand last, so that those models are wrapped too and get their own back. A model
    that is wrapped already keeps its policy, its store and whether it retries, unless one is given here.
    """

    def __init__(
        self, policy: Policy | None = None, *, known: Known | None = None, retry_refused: bool | None = None
    ) -> None:
        super().__init__()
        self.policy, self.known, self.retry_refused = checked(policy, known, retry_refused)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        return _as_they_were(handler(self._prepared(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        return _as_they_were(await handler(self._prepared(request)))

    def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        return request.override(
            model=with_reasoning_replay(request.model, self.policy, known=self.known, retry_refused=self.retry_refused),
            messages=withheld(request.messages),
        )


def _as_they_were(response: Any) -> Any:
    """Opens the envelopes of messages that another middleware gives back for the state."""
    result = restored(response.result)
    return response if result is response.result else replace(response, result=result)
