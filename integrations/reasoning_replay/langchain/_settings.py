"""What a caller asks of the models that are wrapped: a policy, and the store that knows and keeps replies.

It goes with a model through everything that LangChain builds of it. Configuration only: nothing of a conversation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._known import Known, check_known
from .._policy import Policy, check_policy


class Settings(NamedTuple):
    """What is asked; None: a model that is wrapped already keeps what it has."""

    policy: Policy | None = None
    known: Known | None = None
    retry_refused: bool | None = None
    """Whether a call that its host refuses for its history is repaired and sent once more."""

    def over(self, before: Settings) -> Settings:
        """These settings where something is said, else those."""
        return Settings(
            before.policy if self.policy is None else self.policy,
            before.known if self.known is None else self.known,
            before.retry_refused if self.retry_refused is None else self.retry_refused,
        )

    def adds_nothing_to(self, before: Settings) -> bool:
        """Whether a model with those settings can stay as it is."""
        return self.over(before) == before

    def chosen(self) -> Policy:
        """The policy; the default one where nothing is said."""
        return Policy() if self.policy is None else self.policy

    def __deepcopy__(self, memo: object) -> Settings:
        """A store is shared by the copies of a model, as a policy is."""
        return self

    def __repr__(self) -> str:
        return f"<settings: {self.policy!r}>"


DEFAULT = Settings(Policy())


def checked(policy: Any, known: Any = None, retry_refused: Any = None) -> Settings:
    """The settings that a caller gave.

    Raises:
        BadPolicy: not a `Policy`.
        TypeError: not a store, or `retry_refused` is no truth value.
    """
    check_policy(policy)
    check_known(known)
    if retry_refused is not None and not isinstance(retry_refused, bool):
        raise TypeError(f"retry_refused: a {type(retry_refused).__name__}; allowed: True, False, or None")
    return Settings(policy, known, retry_refused)
