"""Models that exist only once a call's configuration is known: what is built then is wrapped then.

`configurable_fields` builds its model anew from the class, `configurable_alternatives` may hold factories, and
`init_chat_model(configurable_fields=...)` queues what is to be done with a model to come. Each keeps its settings here.
It does not know how a model is wrapped: the function that does it is asked for when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from inspect import isfunction
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.configurable import DynamicRunnable, RunnableConfigurableFields
from pydantic import Field

from ._settings import Settings

SETTINGS = "reasoning_replay_settings"
"""Where a model to come keeps its settings."""


def _wrapped(runnable: Any, settings: Settings) -> Any:
    from ._wrap import wrapped_inside  # it needs this module

    return wrapped_inside(runnable, settings)


class ReplayingFields(RunnableConfigurableFields):  # parametrised, pydantic would build its model anew
    """`RunnableConfigurableFields` whose model is wrapped after it was built."""

    reasoning_replay_settings: Any = Field(default=None, exclude=True, repr=False)

    @classmethod
    def lc_id(cls) -> list[str]:
        """The name of LangChain's own class: what is loaded from a dump is unwrapped, like every model."""
        return [*RunnableConfigurableFields.lc_id()]

    def _prepare(self, config: RunnableConfig | None = None) -> tuple[Runnable[Any, Any], RunnableConfig]:
        made, settled = super()._prepare(config)
        return made if made is self.default else _wrapped(made, self.reasoning_replay_settings), settled

    def configurable_fields(self, **fields: Any) -> Any:
        """The same with more fields, wrapped as before."""
        return _wrapped(super().configurable_fields(**fields), self.reasoning_replay_settings)


ReplayingFields.__name__ = RunnableConfigurableFields.__name__  # for people; pickle goes by __qualname__


class Factory:
    """A factory of an alternative; what it makes is wrapped."""

    __slots__ = ("make", "settings")

    def __init__(self, make: Callable[[], Any], settings: Settings) -> None:
        self.make = make
        self.settings = settings

    def __call__(self) -> Any:
        return _wrapped(self.make(), self.settings)


def is_model_to_come(runnable: Any) -> bool:
    """Whether this is what `init_chat_model` gives where the model is configurable (langchain and langchain-classic).

    Asked by name, since a user of langchain-core alone has neither.
    """
    return any(each.__name__ == "_ConfigurableModel" and hasattr(each, "_model") for each in type(runnable).__mro__)


def is_configurable(runnable: Any) -> bool:
    """Whether it is another model for each configuration, whatever its default is."""
    return isinstance(runnable, DynamicRunnable) or is_model_to_come(runnable)


def wrap_model_to_come(given: Any, settings: Settings) -> Any:
    """A copy whose `_model(config)` gives wrapped models, and which stays so through everything that it queues."""
    if getattr(type(given), "replays", None) is None:
        return _revived(type(given), {**vars(given), SETTINGS: settings})
    before = vars(given)[SETTINGS]
    if settings.adds_nothing_to(before):
        return given
    return _revived(type(given).__mro__[1], {**vars(given), SETTINGS: settings.over(before)})


def _revived(base: type, state: dict[str, Any]) -> Any:
    made: Any = object.__new__(_replaying(base))
    vars(made).update(state)
    return made


@cache
def _replaying(base: type) -> type:
    """The subclass of `_ConfigurableModel`. Made when it is needed: langchain is optional."""
    kind: Any = base

    def again(self: Any, made: Any) -> Any:
        return _revived(base, {**vars(made), SETTINGS: vars(self)[SETTINGS]}) if isinstance(made, base) else made

    def _model(self: Any, config: RunnableConfig | None = None) -> Any:
        return _wrapped(kind._model(self, config), vars(self)[SETTINGS])

    def with_config(self: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return again(self, kind.with_config(self, config, **kwargs))

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807
        found = kind.__getattr__(self, name)
        if not isfunction(found):
            return found

        @wraps(found)  # what is queued for the model to come is queued in a new, bare one
        def queued(*args: Any, **kwargs: Any) -> Any:
            return again(self, found(*args, **kwargs))

        return queued

    def __reduce__(self: Any) -> tuple[Any, ...]:  # noqa: N807
        return _revived, (base, dict(vars(self)))

    body = {
        "replays": True,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "_model": _model,
        "with_config": with_config,
        "__getattr__": __getattr__,
        "__reduce__": __reduce__,
    }
    return type(base.__name__, (base,), body)
