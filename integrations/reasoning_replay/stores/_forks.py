"""What a fork must not tear: a lock that another thread holds stays locked in the child, and threads are not there.

Who is watched is asked before a fork and after it, on both sides. Must not know what anybody does about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Something of a process that forks."""

    def before_fork(self) -> None:
        """Comes to rest. A fork waits for this."""

    def after_fork_in_parent(self) -> None:
        """Goes on."""

    def after_fork_in_child(self) -> None:
        """Goes on with what crossed: memory, and this one thread."""


def watch(each: Forked) -> None:
    """Tells it of every fork, for as long as anybody holds it."""
    _watched.add(each)


class Rests:
    """Whoever works under a lock rests while the process forks, so that the child has a lock that is free."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        watch(self)

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    after_fork_in_child = after_fork_in_parent


_watched: WeakSet[Forked] = WeakSet()


def _for_each(step: Callable[[Forked], None]) -> Callable[[], None]:
    def run() -> None:
        for each in list(_watched):
            step(each)

    return run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_for_each(lambda each: each.before_fork()),
        after_in_parent=_for_each(lambda each: each.after_fork_in_parent()),
        after_in_child=_for_each(lambda each: each.after_fork_in_child()),
    )
