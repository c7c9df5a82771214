"""The plans and faults of everything that runs inside a `with` block, wherever in the process it runs.

The capture is a ContextVar: it reaches callbacks, worker threads and routers, and parallel tasks stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .. import _faults
from .._plan import Plan


@dataclass(slots=True)
class Captures:
    """What was decided while the capture ran. Mutable: it grows."""

    plans: list[Plan] = field(default_factory=list)
    """Every Plan, oldest first."""
    faults: list[_faults.Fault] = field(default_factory=list)
    """Every Fault that a fallback stood in for."""

    def note(self, seen: Plan | _faults.Fault) -> None:
        """Take one plan or fault."""
        if isinstance(seen, _faults.Fault):
            self.faults.append(seen)
        else:
            self.plans.append(seen)


@contextmanager
def capture_plans() -> Iterator[Captures]:
    """Collect plans and faults. Captures can be nested; each sees what happens inside it."""
    seen = Captures()
    token = _faults.observers.set((*_faults.observers.get(), seen.note))
    try:
        yield seen
    finally:
        _faults.observers.reset(token)
