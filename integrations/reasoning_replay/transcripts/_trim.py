"""`trim`: a history cut to a budget of tokens, so that the host takes what is left as it took the whole.

Size is what would be sent and read: every candidate is planned for the host and counted, and only one that was counted
is given back. The order in which things go stands here; where a cut is possible, `_trim_pieces` says.
Rule: the fewest visible messages lost, then the least reasoning. A count costs, so it is asked a few times log n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from .._decision import decided
from .._guards import stored
from .._known import Known, check_known, default_store
from .._plan import Plan
from .._policy import Policy
from .._replay import prepare_untold
from .._resolve import in_store, resolve
from ..forms import form_for
from ._bound import bound_by, given_as
from ._count import count_tokens
from ._trim_pieces import Pieces, pieces_of

TokenCounter = Callable[[list[Any]], int]
_DEFAULT = Policy()


class CannotTrim(ValueError):
    """What may be cut is not enough, or most of what is sent is not in these messages."""

    def __init__(self, message: str, max_tokens: int, smallest: int | None) -> None:
        super().__init__(message)
        self.max_tokens = max_tokens
        """What was asked for, in tokens."""
        self.smallest = smallest
        """The smallest size that these messages can be cut to, in tokens; None where nobody knows."""

    def __reduce__(self) -> tuple[type[CannotTrim], tuple[str, int, int | None]]:
        return CannotTrim, (str(self), self.max_tokens, self.smallest)


def trim(
    messages: Any,
    max_tokens: int,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    upstream: str | None = None,
    account: str | None = None,
    known: Known | None = None,
    token_counter: TokenCounter | None = None,
) -> list[Any]:
    """The history cut to what a request may cost: the caller's messages, still marked, for `prepare` or a framework.

    Whole completed turns go, the oldest first; what stands before the first turn and the running turn stay. Before a
    turn goes, reasoning of completed turns does, the oldest first, where the host does not demand it; that of the
    running turn goes only where nothing else helps and no tool loop needs it. Where a model binds its blocks to all
    that came before them (Claude from 5.1 on), a cut takes all of them, since the host would refuse them.

    Keep what comes back: a list that is cut anew for every request loses more. With a store that restores in `known`
    reasoning that goes would come back, and turns go in its place.

    Args:
        messages: the history, as `prepare` takes it; nothing of it is changed.
        max_tokens: for the whole prompt: messages, and with the built-in counter the request's tools and system text.
        request: the call's parameters, as in `prepare`.
        token_counter: a list of messages → its tokens. It is given what would be sent, not what is kept. None:
            `count_tokens`.

    Returns:
        The very same list where it fits. Else a new one, which shares every message that keeps its reasoning.

    Raises:
        CannotTrim: head and running turn alone are more than `max_tokens`; or the request goes on with a conversation
            that the host keeps (`previous_response_id`).
        TypeError: `max_tokens` or what the counter gives is no number (NaN and infinity are none); `known` is no store.
        HistoryError, OriginError, BadPolicy, MissingReasoning: as `prepare`.
    """
    check_known(known)
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, Integral):
        raise TypeError(f"max_tokens: a {type(max_tokens).__name__}; allowed: a whole number of tokens")
    max_tokens = int(max_tokens)
    call = {
        "host": host, "model": model, "dialect": dialect, "form": form, "request": request, "policy": policy,
        "hint": hint, "upstream": upstream, "account": account, "known": known,
    }  # fmt: skip
    _check_in_hand(request, max_tokens)
    size = _size_by(call, token_counter)
    whole = size(messages)
    if whole <= max_tokens:
        return messages if isinstance(messages, list) else _listed(messages, form, dialect)
    return _smaller(_Search(_pieces(messages, call), size, max_tokens, whole))


def _check_in_hand(request: Any, max_tokens: int) -> None:
    for parameter, _ in stored(request) if isinstance(request, Mapping) else ():
        raise CannotTrim(
            f"request.{parameter}: names a conversation that the host keeps, so most of what is sent is not in these "
            "messages, and cutting them makes it no smaller; send the messages themselves instead (what capture() gave "
            "of every reply), or let the host cut what it keeps",
            max_tokens,
            None,
        )


def _size_by(call: Mapping[str, Any], counter: TokenCounter | None) -> Callable[[Any], int]:
    """Messages → the tokens of what would be sent of them."""
    if counter is None:
        return lambda messages: count_tokens(messages, **call)
    if not callable(counter):
        raise TypeError(
            f"token_counter: a {type(counter).__name__}; allowed: a function of a list of messages, or None"
        )

    shape = form_for(call["form"], call["dialect"])

    def size(messages: Any) -> int:
        sent = prepare_untold(messages, **call).messages
        return _number(counter(sent if shape.back is not None else shape.rows(sent)))  # dicts, also of SDK objects

    return size


def _number(found: object) -> int:
    """What a counter gave as Python's own number: arrays' whole numbers have a width, and some no sign."""
    if isinstance(found, bool) or not isinstance(found, Real):
        raise TypeError(f"token_counter: gave a {type(found).__name__}; it is to give a number of tokens")
    if isinstance(found, Integral):
        return int(found)
    if not math.isfinite(float(found)):  # compared with a limit, NaN would pass for what fits
        raise TypeError(f"token_counter: gave {float(found)}; it is to give a number of tokens")
    return math.ceil(float(found))


def _listed(messages: Any, form: str | None, dialect: str) -> list[Any]:
    shape = form_for(form, dialect)
    rows = shape.rows(messages)
    return given_as(shape, messages, rows, rows)


def _pieces(messages: Any, call: Mapping[str, Any]) -> Pieces:
    shape = form_for(call["form"], call["dialect"])
    policy = call["policy"] or _DEFAULT
    rows = shape.rows(messages)
    store = default_store() if call["known"] is None else call["known"]
    history = resolve(shape.view(rows, policy.starts_turn), rows, shape, in_store(store))
    # Whether reasoning may ever go is asked for the widest window: what is outside today's may come into a cut list's.
    plan = prepare_untold(messages, **{**call, "policy": replace(policy, window="all")})
    assert plan.work is not None  # only the fallback's plan has none
    bound = bound_by(policy, call["hint"], trusted=plan.origin)
    return pieces_of(
        messages, rows, shape, history, policy.starts_turn, _sent(plan, len(rows)), plan.work.choice.rule, bound
    )


def _sent(plan: Plan, rows: int) -> list[bool]:
    """Row by row, whether some reasoning goes; all may where a store has put back rows that the messages lack."""
    assert plan.work is not None
    draft = plan.work.draft
    if len(plan.work.rows) != rows:
        return [True] * rows
    return [
        decision.remove is None and any(act.action != "drop" for act in decision.acts)
        for _, decision in decided(draft.history, draft.zones)
    ]


class _Search:
    """The sizes of what may be left, each counted once. Mutable: it remembers them."""

    def __init__(self, pieces: Pieces, count: Callable[[Any], int], limit: int, whole: int) -> None:
        self.pieces, self.count, self.limit = pieces, count, limit
        self.final = len(pieces.cuts) - 1
        """The cut that leaves nothing but the head and the running turn."""
        self._losable: dict[int, list[range]] = {}
        self._known: dict[tuple[int, int, int], tuple[int, list[Any]]] = {(0, 0, 0): (whole, pieces.messages)}

    def losable(self, cut: int) -> list[range]:
        """Replies of completed turns whose reasoning may go after a cut, the oldest first."""
        if cut not in self._losable:
            self._losable[cut] = self.pieces.losable(cut)
        return self._losable[cut]

    def left(self, cut: int, lost: int, last: int = 0) -> tuple[int, list[Any]]:
        """Size and messages after a cut, without the reasoning of so many replies; `last`: the running turn's."""
        asked = (cut, lost, last)
        if asked not in self._known:
            messages = self.pieces.left(cut, [*self.losable(cut)[:lost], *self.pieces.last[:last]])
            self._known[asked] = self.count(messages), messages
        return self._known[asked]

    def least(self, cut: int) -> int:
        """The size after a cut without any reasoning of completed turns."""
        return self.left(cut, len(self.losable(cut)))[0]

    def fewest(self, high: int, size: Callable[[int], int]) -> int:
        """The fewest of 0 … `high` with which the size is within the limit; it is with `high`.

        Guessed from the sizes at both ends, since messages of one history are much alike; every third guess is the
        middle, for those that are not.
        """
        if high == 0 or size(0) <= self.limit:
            return 0
        low = tries = 0
        while high - low > 1:
            tries += 1
            span, over = size(low) - size(high), size(low) - self.limit
            guess = low + int((high - low) * over / span) + 1 if tries % 3 and span > 0 else (low + high) // 2
            middle = min(max(guess, low + 1), high - 1)
            low, high = (low, middle) if size(middle) <= self.limit else (middle, high)
        return high


def _smaller(search: _Search) -> list[Any]:
    final, last = search.final, 0
    if search.least(0) <= search.limit:
        cut = 0
    elif search.least(final) <= search.limit:
        cut = search.fewest(final, search.least)
    else:
        cut, lost = final, len(search.losable(final))
        if search.left(final, lost, len(search.pieces.last))[0] > search.limit:
            raise _cannot(search)
        last = search.fewest(len(search.pieces.last), lambda often: search.left(final, lost, often)[0])
    lost = search.fewest(len(search.losable(cut)), lambda often: search.left(cut, often, last)[0])
    return search.left(cut, lost, last)[1]


def _cannot(search: _Search) -> CannotTrim:
    pieces, limit = search.pieces, search.limit
    smallest = search.left(search.final, len(search.losable(search.final)), len(pieces.last))[0]
    head = search.count(given_as(pieces.form, pieces.messages, pieces.rows, pieces.rows[: pieces.head]))
    start, end = pieces.cuts[-1], len(pieces.rows) - 1
    return CannotTrim(
        f"max_tokens={limit}: these messages cannot be made smaller than {smallest} tokens. "
        f"{head} of them are what stands before the first turn and the request's own, {smallest - head} the running "
        f"turn (messages[{start}] to messages[{end}]), which is never cut; give at least max_tokens={smallest}, "
        "shorten what stands first, or end the running turn and begin a new one with a user message",
        limit,
        smallest,
    )
