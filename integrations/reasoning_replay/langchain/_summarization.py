"""`ReplaySummarizationMiddleware`: LangChain's own, which no longer cuts through reasoning or prints it.

Rule 1: the summariser is shown a projection (`_summary_projection`), so no reasoning of another host is in its prompt.
Rule 2: the history is cut where a turn begins, never inside one; the running turn stays whole, however long it is.
Rule 3: what is kept stays as it was, but for blocks that are bound to what came before them, and that is gone now.
When a summary is due, who writes it and with which words stays LangChain's. Needs `langchain`: loaded when asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

try:
    from langchain.agents.middleware import SummarizationMiddleware
except ImportError as error:
    raise ImportError(
        "ReplaySummarizationMiddleware needs langchain beside langchain-core: pip install langchain"
    ) from error

from .._faults import fail_closed
from .._known import Known
from .._policy import Policy
from ..forms._inline import inline_in
from ._messages import FAULTS
from ._settings import checked
from ._summary_projection import Summariser, projected
from ._trim_cut import Cutting

SEAMS = ("before_model", "abefore_model", "_determine_cutoff_index", "_create_summary", "_acreate_summary")
"""Methods of LangChain's middleware that are overridden (langchain 1.5.2, 2026-11-30)."""
SUMMARY = "summarization"
"""What LangChain writes into `additional_kwargs["lc_source"]` of a summary."""


def check_seams(kind: type) -> None:
    """Raises ImportError for a middleware of LangChain's that would not call what is overridden here."""
    lacking = [name for name in SEAMS if not hasattr(kind, name)]
    if lacking:
        raise ImportError(
            f"ReplaySummarizationMiddleware: this langchain's SummarizationMiddleware has no {', '.join(lacking)}, "
            "which it must override; it is known to work with langchain 1.5: pip install 'langchain>=1.5,<2'"
        )


check_seams(SummarizationMiddleware)


class ReplaySummarizationMiddleware(SummarizationMiddleware):
    """`SummarizationMiddleware`, safe for reasoning: `create_agent(model, tools, middleware=[this, ...])`.

    It takes the arguments of `langchain.agents.middleware.SummarizationMiddleware`, and two more.

    What `keep` asks for is rounded to whole turns: the cut moves on to the next place where a turn begins, but never
    into the running turn, which is kept whole even where it alone is more than `keep`. Where there is nothing but the
    running turn, nothing is summarised, and the model sees all of it.

    The model that writes the summary sees no reasoning, whatever wrote it and in whatever shape it stands. One
    exception: a message that says nothing else is shown to the host that wrote it (decided by its mark, as for
    a request). A `summarizer` that is a function or a chain is given messages, and never sees any.

    The messages that stay are the very same objects. A model that binds its blocks to all that came before them (Claude
    from 5.1 on) would refuse them behind a summary: those blocks, and no others, go.

    The place in the list does not matter: put `ReasoningReplayMiddleware()` last.

    Args:
        model: LangChain's own, as are all that are not told here: `trigger`, `keep`, `token_counter`,
            `summary_prompt`, `trim_tokens_to_summarize`, `summarizer`. `token_counter_of(model)` counts what is sent.
        policy: what says where a turn starts, and which hosts are one. None: that of a wrapped model.
        known: the store that knows who wrote unmarked messages. None: that of a wrapped model, else the process's own.

    Raises:
        BadPolicy: not a `Policy`.
        TypeError: `known` is no store.
        ValueError: LangChain's own, for its arguments.
    """

    def __init__(self, model: Any, *, policy: Policy | None = None, known: Known | None = None, **more: Any) -> None:
        settings = checked(policy, known)
        super().__init__(model, **more)
        self.policy, self.known = settings.policy, settings.known
        writer = self._summary_chat_model if self.summarizer is None else None
        self._summariser = Summariser.of(writer, settings)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._after_cut(state, super().before_model(state, runtime))

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._after_cut(state, await super().abefore_model(state, runtime))

    def _determine_cutoff_index(self, messages: list[Any]) -> int:
        cutoff = super()._determine_cutoff_index(messages)
        settings = self._summariser.settings
        places = partial(Cutting(settings.policy, settings.known).places, messages)
        return fail_closed(FAULTS, lambda: _between_turns(messages, cutoff, places), lambda: 0)

    def _create_summary(self, messages_to_summarize: list[Any]) -> str:
        shown = projected(messages_to_summarize, self._summariser, asynchronous=False)
        return _said(super()._create_summary(shown))

    async def _acreate_summary(self, messages_to_summarize: list[Any]) -> str:
        shown = projected(messages_to_summarize, self._summariser, asynchronous=True)
        return _said(await super()._acreate_summary(shown))

    def _after_cut(self, state: Any, update: dict[str, Any] | None) -> dict[str, Any] | None:
        """The update with the kept messages as they may stand behind a summary."""
        if update is None:
            return None
        before = set(map(id, state["messages"]))
        kept = [message for message in update["messages"] if id(message) in before]
        new = [message for message in update["messages"] if id(message) not in before]
        settings = self._summariser.settings
        may_stay = partial(Cutting(settings.policy, settings.known).unbound, kept)
        return {**update, "messages": [*new, *fail_closed(FAULTS, may_stay, lambda: kept)]}


def _between_turns(messages: list[Any], cutoff: int, places_in: Callable[[], tuple[int, ...]]) -> int:
    """Where a turn begins, at the cutoff or after it, but not behind the start of the running one. 0: nowhere.

    0 too where all before it is an earlier summary: it would be summarised again at every step of a long turn.
    """
    if cutoff <= 0:
        return 0
    places = places_in()
    place = next((place for place in places if place >= cutoff), places[-1])
    news = (message for message in messages[places[0] : place] if not _is_summary(message))
    return place if any(True for _ in news) else 0


def _is_summary(message: Any) -> bool:
    return bool(message.additional_kwargs.get("lc_source") == SUMMARY)


def _said(summary: str) -> str:
    """The summary without the thinking that some hosts write in front of it: it is told to every host from now on."""
    inline = inline_in(summary)
    return summary if inline is None else inline.rest.strip()
