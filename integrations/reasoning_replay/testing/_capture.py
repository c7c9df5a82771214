"""The plans and faults of everything that runs inside a `with` block, wherever in the process it runs.

The capture is a ContextVar: it reaches callbacks, worker threads and routers, and parallel tasks stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import _replay


@dataclass(slots=True)
class Captures:
    """What was decided while the capture ran. Mutable: it grows."""

    plans: list[Any] = field(default_factory=list)
    """Every Plan, oldest first."""
    faults: list[Any] = field(default_factory=list)
    """Every Fault that a fallback stood in for."""

    def note(self, seen: Any) -> None:
        """Take one plan or fault."""
        (self.faults if isinstance(seen, _replay.Fault) else self.plans).append(seen)


@contextmanager
def capture_plans() -> Iterator[Captures]:
    """Collect plans and faults. Captures can be nested; each sees what happens inside it."""
    seen = Captures()
    token = _replay.observers.set((*_replay.observers.get(), seen.note))
    try:
        yield seen
    finally:
        _replay.observers.reset(token)
