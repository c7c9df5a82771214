"""`Aim`: the host that a history is trimmed or counted for, as the core's doors take it.

It is read from a chat model, as for a call of it, or given as a host's name or URL. Decides nothing about reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from .._known import Known
from .._origin import Origin
from .._policy import Policy
from ._classes import model_in, request_of, target_of
from ._configurable import is_configurable
from ._settings import Settings, checked


class Aim(NamedTuple):
    """Where a request with the messages would go, and with what."""

    host: str
    model: str | None
    dialect: str
    hint: str | None = None
    account: str | None = None
    request: Mapping[str, Any] | None = None
    policy: Policy | None = None
    known: Known | None = None

    def call(self) -> dict[str, Any]:
        """The keywords of `count_tokens`, `trim` and `prepare`."""
        return {**self._asdict(), "form": "langchain"}

    def __repr__(self) -> str:
        return f"<aim: {Origin(self.host, dialect=self.dialect, model=self.model)!r}>"  # no secrets of the URL's


def aim_of(
    door: str, model: Any, host: str | None, dialect: str, policy: Policy | None, known: Known | None
) -> Aim | None:
    """The host that these arguments of a door name; None where they name none.

    Raises:
        TypeError: what is no chat model, or one without a single host, or a configurable one; a model and a host; a
            name without a host.
        OriginError: a host or dialect that cannot be read.
        BadPolicy: not a `Policy`.
    """
    settings = checked(policy, known)
    if host is not None:
        if model is not None and not isinstance(model, str):
            raise TypeError(f"{door}: model is a {type(model).__name__}, which has a host of its own; leave host= out")
        Origin(host, dialect=dialect, model=model)  # raises for what is no host
        return Aim(host, model, dialect, policy=settings.policy, known=settings.known)
    if model is None:
        return None
    if isinstance(model, str):
        raise TypeError(f"{door}: model={model!r} says no host; give host= beside it, or the chat model itself")
    return _aim_at(door, model, settings)


def _aim_at(door: str, given: Any, settings: Settings) -> Aim:
    model, kwargs = model_in(given)
    if is_configurable(model):
        raise TypeError(
            f"{door}: model is a {type(model).__name__}, a configurable model: only the configuration of a call says "
            "which host it is; give the model that it will be, made without configurable fields, or host= and its name"
        )
    if not isinstance(model, BaseChatModel):
        several = " has no single host that can be known beforehand" if isinstance(given, Runnable) else ""
        raise TypeError(
            f"{door}: model is a {type(given).__name__}{' that' * bool(several)}{several}; "
            "allowed: a chat model, a binding of one, or a name beside host="
        )
    target = target_of(model, kwargs)
    if target.url is None:
        raise TypeError(
            f"{door}: a {type(model).__name__} has several hosts; give host= and the model's name, of the smallest one"
        )
    asked = settings.over(getattr(model, "_reasoning_replay", Settings()))
    return Aim(
        target.url, target.model, target.dialect, target.hint, target.account, request_of(model, kwargs),
        asked.policy, asked.known,
    )  # fmt: skip
