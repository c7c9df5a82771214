"""What of a model's earlier reasoning goes back on the next request, and only to the host that produced it."""

from __future__ import annotations

from typing import Any

from ._capture import Collector, adopt, capture
from ._decision import Decision, Row
from ._history import HistoryError
from ._known import Known, MemoryStore
from ._origin import Origin, OriginError
from ._plan import ConversationElsewhere, MissingReasoning, Plan
from ._replay import prepare, rule_for
from ._report import Report
from ._rules import BadPolicy, Host, Policy, Rule, RuleError
from .hosts import load_hosts

__all__ = [
    "BadPolicy",
    "Collector",
    "ConversationElsewhere",
    "Decision",
    "HistoryError",
    "Host",
    "Known",
    "MemoryStore",
    "MissingReasoning",
    "Origin",
    "OriginError",
    "Plan",
    "Policy",
    "Report",
    "Row",
    "Rule",
    "RuleError",
    "adopt",
    "capture",
    "load_hosts",
    "prepare",
    "rule_for",
]

for _name in __all__:
    globals()[_name].__module__ = __name__
del _name


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("reasoning-replay")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
