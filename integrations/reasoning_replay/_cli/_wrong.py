"""What was asked wrongly: the one error that a command raises for it, and what the core raises turned into it.

The message names the thing, what was found and the fix, in one line; never a word of a message or of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._history import HistoryError
from .._origin import OriginError
from .._rules import BadPolicy, RuleError


class Wrong(Exception):
    """Asked wrongly: exit status 2."""


def in_one_line(text: object) -> str:
    """A text without line breaks."""
    return " ".join(str(text).split())


@contextmanager
def as_wrong(what: str) -> Iterator[None]:
    """What the core says of bad input, as `Wrong`, `what` before it."""
    try:
        yield
    except (HistoryError, OriginError, BadPolicy, RuleError) as error:
        raise Wrong(f"{what}: {in_one_line(error)}") from None
    except (
        TypeError,
        AttributeError,
        LookupError,
        AssertionError,
    ) as error:  # a message as no host and no SDK writes it
        kind = type(error).__name__
        advice = "compare it with what the host's own documents show"
        raise Wrong(f"{what}: a value in it has a type that it has in no message ({kind}); {advice}") from None
