"""What happens when something inside fails: the only broad `except`s, and who hears of it.

Logs hold host, model, counts and reason codes, never text; a fault is named by its type only, and without a traceback,
since tracebacks show values. `observers` are told of every plan and every fault of their context (tests, captures).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from ._known import first_time
from ._plan import ConversationElsewhere, MissingReasoning, Plan
from ._rules import BadPolicy

_log = logging.getLogger("reasoning_replay")
T = TypeVar("T")


class Fault(NamedTuple):
    """Something inside failed and the fallback took over; given to `observers`."""

    host: str
    error: Exception


observers: ContextVar[tuple[Callable[[Plan | Fault], None], ...]] = ContextVar("reasoning_replay_observers", default=())
"""Called with every plan and every fault of this context."""


def fail_closed(host: str, do: Callable[[], T], instead: Callable[[], T]) -> T:
    """What `do` gives; on a fault what `instead` gives, which sends no reasoning. The shim never breaks a call.

    Raises:
        MissingReasoning, BadPolicy: what the caller asked for.
        ConversationElsewhere: no request can say what the caller meant.
    """
    try:
        return do()
    except (MissingReasoning, BadPolicy, ConversationElsewhere):
        raise
    except Exception as error:  # noqa: BLE001 - the one place
        report_fault(error, host)
        return instead()


def or_none(do: Callable[[], T]) -> T | None:
    """What `do` gives, None where it raises: for reading an exception of anybody's class while it is handled."""
    try:
        return do()
    except Exception:  # noqa: BLE001 - an attribute or a `__str__` may raise anything
        return None


def report_fault(error: Exception, host: str) -> None:
    for observer in observers.get():
        observer(Fault(host, error))
    if first_time(("fault", host, type(error))):
        _log.warning(
            "%s: %s inside reasoning-replay; the call goes on without any reasoning "
            "(said once; run prepare() on the same messages to see the fault)",
            host,
            type(error).__name__,
        )


def tell(plan: Plan) -> None:
    for observer in observers.get():
        observer(plan)
    if plan.work is None:
        return
    target, draft = plan.origin, plan.work.draft
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s %s: %s", target.host, target.model, plan.report.counts())
    if any(part.origins is None and part.value == "text" for shape in draft.history.shapes for part in shape.parts):
        unknown = draft.messages_with("unknown_origin")
        if unknown and first_time(("unknown_origin", target.host)):
            _log.warning(
                "%s: reasoning of %d message(s) was left out, since nothing says which host wrote it; "
                "reasoning_replay.adopt(messages, origin) marks a history that you trust (said once)",
                target.host,
                unknown,
            )
