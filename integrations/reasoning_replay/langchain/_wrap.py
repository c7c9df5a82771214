"""`with_reasoning_replay`: finds every chat model inside a Runnable and wraps it, wherever it stands.

PARTS says which fields of which class hold Runnables; a class that needs more stands beside the table and says why.
Contract: gives a copy and never changes what was given; a part without a model is shared; twice is once.
What a wrapped model does is no affair of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import (
    RouterRunnable,
    Runnable,
    RunnableAssign,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
from langchain_core.runnables.history import RunnableWithMessageHistory

from .._known import Known
from .._policy import Policy
from ._configurable import Factory, ReplayingFields, is_model_to_come, wrap_model_to_come
from ._model import wrap_model
from ._settings import DEFAULT, Settings, checked

R = TypeVar("R")

PARTS: tuple[tuple[type[Any], tuple[str, ...]], ...] = (
    (RunnableSequence, ("first", "middle", "last")),
    (RunnableParallel, ("steps__",)),
    (RunnableAssign, ("mapper",)),
    (RunnableWithFallbacks, ("runnable", "fallbacks")),
    (RunnableBranch, ("branches", "default")),
    (RouterRunnable, ("runnables",)),
    (RunnableEachBase, ("bound",)),
    (RunnableBindingBase, ("bound",)),  # bind, bind_tools, with_config, with_retry, with_listeners, with_types
    (RunnableConfigurableFields, ("default",)),
    (RunnableConfigurableAlternatives, ("default", "alternatives")),
)
"""Class → the fields that hold Runnables: one, a list, a tuple or a dict of them. The first match counts.

What a binding hands to its model (`kwargs`: tools, which are Runnables too) is not looked into.
"""


def with_reasoning_replay(
    runnable: R, policy: Policy | None = None, *, known: Known | None = None, retry_refused: bool | None = None
) -> R:
    """A copy in which every chat model gets its own earlier reasoning back, and no other host's.

    Args:
        runnable: a chat model, or what was made of one: `bind_tools`, `with_structured_output`, `with_fallbacks`,
            `with_retry`, `with_config`, `configurable_fields`, `configurable_alternatives`, a chain, a branch,
            `RunnableWithMessageHistory`, `init_chat_model(configurable_fields=...)`.
        policy: what you choose where a host leaves a choice. None leaves a model that is wrapped already as it is.
        known: a store (`MemoryStore`, `SQLiteStore`, `RedisStore`) that notes who wrote what, and keeps each reply's
            reasoning for an app that builds its history anew from content and tool calls. None: the process's own.
        retry_refused: a call that its host refuses for a reason of its table (a signature that it cannot open, a field
            that it demands or does not know) is repaired and sent once more: once a call of the model, never after
            output has begun. The second error is passed on as it is. None leaves a wrapped model as it is, else no.

    Raises:
        TypeError: there is no chat model in it, or none that can be reached (a function hides what it calls); or
            `known` is no store, or `retry_refused` no truth value.
        BadPolicy: not a `Policy`.
    """
    search = _Search(checked(policy, known, retry_refused))
    found = search.wrapped(runnable)
    if search.models == 0:
        raise TypeError(_nothing_found(runnable))
    return found  # type: ignore[no-any-return]


def wrapped_inside(runnable: R, settings: Settings) -> R:
    """`with_reasoning_replay` for what a framework built just now: the very same object where there is no model."""
    return _Search(settings).wrapped(runnable)  # type: ignore[no-any-return]


class _Search:
    """One walk through a Runnable. Mutable: it counts the models that it meets."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models = 0

    def wrapped(self, runnable: Any) -> Any:
        if isinstance(runnable, BaseChatModel):
            self.models += 1
            return wrap_model(runnable, *self.settings)
        if is_model_to_come(runnable):
            self.models += 1
            return wrap_model_to_come(runnable, self.settings)
        if hasattr(type(runnable), "beside_wrapped"):  # a ReplayTransformer, whose module needs this one
            return runnable.beside_wrapped()
        beside = next((wrap for kind, wrap in BESIDE if isinstance(runnable, kind)), _Search._by_parts)
        return beside(self, runnable)

    def _by_parts(self, runnable: Any) -> Any:
        names = next((names for kind, names in PARTS if isinstance(runnable, kind)), ())
        was = {name: getattr(runnable, name) for name in names}
        now = {name: self._within(value) for name, value in was.items()}
        changed = {name: value for name, value in now.items() if value is not was[name]}
        return runnable.model_copy(update=changed) if changed else runnable

    def _within(self, value: Any) -> Any:
        """The same for what a field holds; the very same object where nothing changes."""
        if isinstance(value, Runnable):
            return self.wrapped(value)
        if isinstance(value, dict):
            made = {key: self._within(each) for key, each in value.items()}
            return made if any(made[key] is not each for key, each in value.items()) else value
        if isinstance(value, (list, tuple)):
            row = [self._within(each) for each in value]
            same = all(new is old for new, old in zip(row, value, strict=True))
            return value if same else type(value)(row)
        return value

    def _fields(self, runnable: Any) -> Any:
        """Its model is built anew, from its class, for every configuration: the copy wraps it then."""
        models = self.models
        made = self._by_parts(runnable)
        if self.models == models:
            return runnable
        if isinstance(runnable, ReplayingFields):
            before = runnable.reasoning_replay_settings
            if self.settings.adds_nothing_to(before):
                return made
        else:
            before = _checked(made.default)
        state = {**vars(made), "reasoning_replay_settings": self.settings.over(before)}
        return ReplayingFields.model_construct(_fields_set={*made.model_fields_set}, **state)

    def _alternatives(self, runnable: Any) -> Any:
        """An alternative may be a factory: what it makes is wrapped once it is made."""
        made = self._by_parts(runnable)
        factories = {
            key: self._factory(each)
            for key, each in made.alternatives.items()
            if not isinstance(each, Runnable) and callable(each)
        }
        if all(made.alternatives[key] is each for key, each in factories.items()):
            return made
        return made.model_copy(update={"alternatives": {**made.alternatives, **factories}})

    def _factory(self, given: Any) -> Any:
        self.models += 1  # perhaps: nobody knows before it is called
        if not isinstance(given, Factory):
            return Factory(given, self.settings)
        same = self.settings.adds_nothing_to(given.settings)
        return given if same else Factory(given.make, self.settings.over(given.settings))

    def _history(self, runnable: Any) -> Any:
        """It keeps its Runnable in two functions that give it back; both are replaced by functions of the same kind."""
        outer = runnable.bound
        steps = outer.bound
        named = steps.last
        call, acall = named.bound.func, named.bound.afunc
        was, awas = call(None), _returned(acall(None))
        now, anow = self.wrapped(was), self.wrapped(awas)
        if now is was and anow is awas:
            return runnable
        inner = RunnableLambda(_giving(now, call.__name__), _agiving(anow, acall.__name__))
        named = named.model_copy(update={"bound": inner})
        outer = outer.model_copy(update={"bound": steps.model_copy(update={"last": named})})
        return runnable.model_copy(update={"bound": outer})


BESIDE: tuple[tuple[type[Any], Callable[[_Search, Any], Any]], ...] = (
    (RunnableWithMessageHistory, _Search._history),
    (RunnableConfigurableFields, _Search._fields),
    (RunnableConfigurableAlternatives, _Search._alternatives),
)


def _checked(default: Any) -> Settings:
    """What a wrapped model was wrapped with; what is built from its class must have it too."""
    return default._reasoning_replay if isinstance(default, BaseChatModel) else DEFAULT


def _giving(runnable: Any, name: str) -> Callable[[Any], Any]:
    def give(_: Any) -> Any:
        return runnable

    give.__name__ = name
    return give


def _agiving(runnable: Any, name: str) -> Callable[[Any], Any]:
    async def give(_: Any) -> Any:
        return runnable

    give.__name__ = name
    return give


def _returned(coroutine: Any) -> Any:
    """What a coroutine gives that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise TypeError(
        "with_reasoning_replay: this RunnableWithMessageHistory does not keep its Runnable as langchain-core 1.8 does; "
        "wrap the Runnable that you give to it"
    )


def _nothing_found(given: Any) -> str:
    allowed = "allowed: a chat model, or a Runnable that was made of one (a chain, a binding, fallbacks, alternatives)"
    if isinstance(given, type):
        return f"with_reasoning_replay: the class {given.__name__}; {allowed}; give an instance"
    if not isinstance(given, Runnable):
        return f"with_reasoning_replay: a {type(given).__name__}; {allowed}"
    return (
        f"with_reasoning_replay: a {type(given).__name__} in which no chat model can be reached; {allowed}; "
        "a function, a tool or a graph hides the model that it calls: wrap that model before you give it away"
    )
