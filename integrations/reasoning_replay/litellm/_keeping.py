"""Who a call is for: the part of the store that its replies are kept in, and how marks look outside this process.

A program of one's own has the callback's store and plain marks. A proxy sets `asking` for each request that it serves:
its tenant's shelf, and a seal, since a client must neither read nor forge a mark. Must not know how a tenant is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from .. import _capture
from .._known import Known, check_known
from .._origin import MARK, Origin, to_mark
from .._restore import Trailed
from ..forms import PSF

Seal = Callable[[Sequence[Mapping[str, Any]], str], list[Mapping[str, Any]]]
"""Rows with plain marks and the name of their form → rows with marks that only this deployment can read."""


class Asked(NamedTuple):
    """What a request may see of the store. Opaque to loggers."""

    known: Known | None = None
    """None: the process's own store."""
    seal: Seal | None = None
    """None: marks are plain."""

    def __repr__(self) -> str:
        return "<asked>"


asking: ContextVar[Asked | None] = ContextVar("reasoning_replay_asking", default=None)
"""Set by a proxy for the request that it serves; None in a program of one's own."""


@contextmanager
def keeping_in(known: Known) -> Iterator[None]:
    """While it holds, calls look into this store and their replies are kept there: one user's part of it, one thread's.

    `with keeping_in(store.of(user, session=thread)): litellm.completion(...)`. It holds for the calls that are begun in
    it, in this context: other threads and tasks have their own.

    Args:
        known: what `MemoryStore`, `SQLiteStore` or `RedisStore` gives by `of`, or such a store itself.

    Raises:
        TypeError: no store, but its path, say.
    """
    check_known(known)
    token = asking.set(Asked(known))
    try:
        yield
    finally:
        asking.reset(token)


class Keeping(NamedTuple):
    """Where the reply to one request goes, besides to its caller."""

    asked: Asked
    after: Trailed | None = None
    """The plan, or the bridge, of the request; None where the reply is an intermediate one."""

    def capture(self, reply: Any, origin: Origin, form: str) -> Any:
        """`capture_safely`, kept in the store; marked as the caller is to see it."""
        found = _capture.capture_safely(reply, origin, form=form, known=self.asked.known, after=self.after)
        return found if found is None else self.shown(found, form)

    def collector(self, origin: Origin, form: str, choice: int = 0) -> _capture.Collector:
        """For a stream."""
        return _capture.Collector(origin, form=form, choice=choice, known=self.asked.known, after=self.after)

    def shown(self, found: Any, form: str) -> Any:
        """A message, or the items of a run, with marks as the caller is to see them."""
        if self.asked.seal is None:
            return found
        return self.asked.seal(found, form) if isinstance(found, list) else self.asked.seal([found], form)[0]

    def mark(self, item: Mapping[str, Any], origin: Origin) -> dict[str, Any] | None:
        """The mark for one item of the Responses API; None where it has no place."""
        plain = {**item, PSF: {MARK: to_mark(origin)}}
        found: dict[str, Any] | None = (self.shown([plain], "responses")[0].get(PSF) or {}).get(MARK)
        return found

    @property
    def sealed(self) -> bool:
        """Whether a mark can be made only of what is complete."""
        return self.asked.seal is not None

    def __repr__(self) -> str:
        return "<keeping>"
