"""A chat model of the same class that filters what goes in, writes own reasoning back, and marks what comes out.

`wrap_model` makes a copy and gives it a subclass of its own class, made once and with the same name: `isinstance`,
tracing and `with_structured_output` see the class they know. Only methods that the class itself has are overridden,
since LangChain asks whether a class streams. The policy is configuration; of a conversation nothing is kept here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from .._faults import fail_closed
from .._known import Known
from .._origin import MARK, Origin, from_mark
from .._report import Report
from .._rules import Policy
from ..forms import PSF
from ..transcripts._repair import Repaired
from ._callback_below import active_callback
from ._classes import OTHER, Target, answered_by, request_of, row_of, target_of
from ._closing import aclosing, closing
from ._hooks import mixin_of
from ._messages import FAULTS, author_of, forget_forged, hand_over, mark_reply, plan_messages, without_notes
from ._planned import Planned, running_plan
from ._retry import planned_again, repaired_for, streamed, streamed_later, tried, tried_later, with_first
from ._settings import DEFAULT, Settings
from ._stream import StreamNotes
from ._told import tell, tell_run
from ._withheld import restored

_BARE = "_reasoning_replay_bare"


class _Call:
    """One call of a wrapped model: its plan, and where the reply will come from."""

    def __init__(
        self, model: Any, messages: list[BaseMessage], kwargs: Mapping[str, Any], run: Any, *, asynchronous: bool
    ) -> None:
        settings: Settings = model._reasoning_replay
        self.model = model
        self.known = settings.known
        self.row = row_of(type(model))
        self.target = _target(model, kwargs, asynchronous=asynchronous)
        self.settings = settings
        outer = messages.call if isinstance(messages, Planned) else None  # another wrapped model's, handed on
        around = running_plan()  # also where that was in a list of its own
        self.outer: _Call | None = outer if around is None or around.call is None else around.call
        self.run = run
        self.began = self.retried = False
        self.working = 0
        self.first: Repaired | None = None
        self.given = given = restored(messages if outer is None else outer.given)
        below = active_callback() if self.row.hooks == "litellm" else None
        if below is not None and self.target.url is None:  # a Router: the callback plans for each deployment it tries
            self.messages = Planned(given, None)
        else:
            request = fail_closed(FAULTS, partial(request_of, model, kwargs), lambda: dict(kwargs))
            self.messages = self._planned(given, request, settings.known)
        self.after = self.messages.plan  # what is confirmed later, on a class's payload, says less
        self._takes(self.messages)

    def _planned(self, given: Any, request: Mapping[str, Any] | None, known: Known | None) -> Planned:
        return plan_messages(given, target=self.target, request=request, policy=self.settings.policy, known=known)

    def _takes(self, planned: Planned) -> None:
        """Makes these the messages of the call."""
        if not self.row.safe:
            planned[:] = map(without_notes, planned)
        planned.call = self
        self.messages = planned
        report = self.report()
        if planned.plan is not None and report is not None:
            tell_run(self.run, report)
            below = active_callback() if self.row.hooks == "litellm" else None
            if below is not None:
                hand_over(planned.plan, below.known)

    def report(self) -> Report | None:
        """The report as it stands: what is confirmed on a class's finished payload comes after the plan."""
        report = None if self.messages.plan is None else self.messages.plan.report
        return report if report is None or self.first is None else with_first(report, self.first)

    def again(self, error: Exception) -> bool:
        """Whether this refusal is answered with a second try; then the call's messages are the repaired ones."""
        if not self.settings.retry_refused or self.began or self.messages.plan is None:
            return False
        one = list(self._handed_on())
        if any(call.retried for call in one):
            return False
        anew = fail_closed(FAULTS, partial(self._repaired, error), lambda: None)
        if anew is None:
            return False
        for call in one:  # whoever has handed the call on to this model does not try again either
            call.retried = True
        self._takes(anew)
        return True

    def _handed_on(self) -> Iterator[_Call]:
        """This call and those within which it is made; a task that has outlived the call it began in is none of it."""
        call: _Call | None = self
        while call is not None and call.working:
            yield call
            call = call.outer

    def _repaired(self, error: Exception) -> Planned | None:
        plan = self.after  # not what a hook has confirmed: that is of the class's own payload
        done = None if plan is None else repaired_for(plan, self.given, self.messages.given, error)
        anew = None if done is None else planned_again(self._planned, done, self.known, plan, self.messages.given)
        self.first = None if anew is None else done
        return anew

    def origin(self, message: AIMessage) -> Origin | None:
        """Who wrote this reply; None where nobody says."""
        fields = message.additional_kwargs.get(PSF)
        if isinstance(fields, Mapping) and active_callback() is not None:
            marked = from_mark(fields.get(MARK))
            if marked is not None:
                return marked
        return author_of(answered_by(self.model, self.target, message))

    def replied(self, result: ChatResult) -> ChatResult:
        """The result, its messages marked and told of."""
        for generation in result.generations:
            message = generation.message
            if isinstance(message, AIMessage):
                fail_closed(FAULTS, partial(self._reply, message), lambda: None)
        return result

    def _reply(self, message: AIMessage) -> None:
        forget_forged(message)
        origin = self.origin(message)
        if origin is not None:
            mark_reply(message, origin, self.known, self.after)
        report = self.report()
        if report is not None:
            tell(message, report)

    def notes(self) -> StreamNotes:
        """For the chunks of this call's stream."""
        by_itself = self.target.url is not None and self.row.hooks != "litellm"
        return StreamNotes(
            author_of(self.target),
            later=self._sealed_in_pieces(),
            report=self.report,
            known=self.known,
            answered=None if by_itself else self.origin,
            after=self.after,
        )

    def _sealed_in_pieces(self) -> bool:
        """Whether a stream that is broken off can hold half of something sealed: hooks let chat hosts' out whole."""
        in_content = self.target.dialect not in ("chat", "ollama") or self.row.hooks in ("litellm", "none")
        return self.row.sealed and in_content


def _target(model: Any, kwargs: Mapping[str, Any], *, asynchronous: bool = False) -> Target:
    """Where a call goes; nowhere that is known, where that cannot be read."""
    found = partial(target_of, model, kwargs, asynchronous=asynchronous)
    return fail_closed(FAULTS, found, lambda: Target(None, "chat", None))


def _call_of(model: Any, messages: list[BaseMessage]) -> _Call | None:
    """The call that is planned already: classes call methods of their own, and executors the sync ones.

    None for the messages of another wrapped model, which has handed its call on to this one.
    """
    call: _Call | None = messages.call if isinstance(messages, Planned) else None
    return call if call is not None and call.settings is model._reasoning_replay else None


Method = Callable[..., Any]


def _generating(inner: Method) -> Method:
    def _generate(
        self: Any, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        call = _call_of(self, messages) or _Call(self, messages, kwargs, run_manager, asynchronous=False)
        send = partial(inner, self, stop=stop, run_manager=run_manager, **kwargs)
        return call.replied(tried(call, send))

    return _generate


def _generating_later(inner: Method) -> Method:
    async def _agenerate(
        self: Any, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        call = _call_of(self, messages) or _Call(self, messages, kwargs, run_manager, asynchronous=True)
        send = partial(inner, self, stop=stop, run_manager=run_manager, **kwargs)
        return call.replied(await tried_later(call, send))

    return _agenerate


def _streaming(inner: Method) -> Method:
    def _stream(
        self: Any, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        call = _call_of(self, messages) or _Call(self, messages, kwargs, run_manager, asynchronous=False)
        notes = call.notes()
        send = partial(inner, self, stop=stop, run_manager=run_manager, **kwargs)
        with closing(streamed(call, send)) as chunks:
            for chunk in chunks:
                yield notes.passes(chunk)
        last = notes.closes()
        if last is not None:
            yield last

    return _stream


def _streaming_later(inner: Method) -> Method:
    async def _astream(
        self: Any, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        call = _call_of(self, messages) or _Call(self, messages, kwargs, run_manager, asynchronous=True)
        notes = call.notes()
        send = partial(inner, self, stop=stop, run_manager=run_manager, **kwargs)
        async with aclosing(streamed_later(call, send)) as chunks:
            async for chunk in chunks:
                yield notes.passes(chunk)
        last = notes.closes()
        if last is not None:
            yield last

    return _astream


_METHODS: dict[str, Callable[[Method], Method]] = {
    "_generate": _generating,
    "_agenerate": _generating_later,
    "_stream": _streaming,
    "_astream": _streaming_later,
}


def _llm_string(inner: Method) -> Method:
    def _get_llm_string(self: Any, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Another key than the bare model's: its cached answers have neither reasoning nor mark."""
        policy = self._reasoning_replay.chosen()
        target = _target(self, kwargs)
        chosen = (policy.unknown_origin, policy.missing, policy.window, policy.sealed)
        ours = f"reasoning-replay:{target.url}|{target.model}|{chosen}"
        return f"{inner(self, stop=stop, **kwargs)}---{ours}"

    return _get_llm_string


def _counting(inner: Method) -> Method:
    def get_num_tokens_from_messages(self: Any, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> int:
        """Some classes ask their host, so it gets what it would get in a call."""
        settings = self._reasoning_replay
        policy = settings.chosen()
        if policy.missing == "raise":  # there is nothing to raise for: the messages are only counted
            policy = replace(policy, missing="host")
        counted = wrap_model(self, policy, settings.known)
        call = _Call(counted, list(messages), {}, None, asynchronous=False)
        return cast("int", inner(self, call.messages, *args, **kwargs))

    return get_num_tokens_from_messages


def _configurable(inner: Method) -> Method:
    def configurable_fields(self: Any, **kwargs: Any) -> Any:
        """Such a model is built anew for each configuration, and wrapped then."""
        from ._wrap import wrapped_inside  # it imports this module

        return wrapped_inside(inner(self, **kwargs), self._reasoning_replay)

    return configurable_fields


def _reduce(self: Any) -> tuple[Any, ...]:
    return _wrapped_with, (bare(self), self._reasoning_replay)


def _wrapped_with(model: BaseChatModel, settings: Settings) -> BaseChatModel:
    return wrap_model(model, *settings)


@lru_cache(maxsize=256)
def _replaying(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    """The subclass of a chat class that replays reasoning; one a class, with the class's own name."""
    hooks = mixin_of(row_of(kind).hooks)
    own = {
        name: make(getattr(hooks, name, None) or getattr(kind, name))
        for name, make in _METHODS.items()
        if getattr(kind, name) is not getattr(BaseChatModel, name, None)
    }
    namespace: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__annotations__": {"_reasoning_replay": Any, _BARE: ClassVar[type]},
        "_reasoning_replay": PrivateAttr(default_factory=lambda: DEFAULT),
        "__reduce__": _reduce,
        "_get_llm_string": _llm_string(kind._get_llm_string),
        "get_num_tokens_from_messages": _counting(kind.get_num_tokens_from_messages),
        "configurable_fields": _configurable(kind.configurable_fields),
        _BARE: kind,
        **own,
    }
    bases = (kind,) if hooks is None else (hooks, kind)
    return cast("type[BaseChatModel]", cast("Any", type(kind))(kind.__name__, bases, namespace))


def is_wrapped(model: object) -> bool:
    """Whether the model replays reasoning already."""
    return hasattr(type(model), _BARE)


def bare(model: BaseChatModel) -> BaseChatModel:
    """A copy of a wrapped model as it was before; any other model itself."""
    if not is_wrapped(model):
        return model
    return _reclassed(model, getattr(type(model), _BARE), None)


def wrap_model(
    model: BaseChatModel, policy: Policy | None = None, known: Known | None = None, retry_refused: bool | None = None
) -> BaseChatModel:
    """A copy of the model that replays reasoning; the model itself where it does so already in that way."""
    settings = Settings(policy, known, retry_refused)
    if is_wrapped(model):
        before = model._reasoning_replay
        return model if settings.adds_nothing_to(before) else _reclassed(model, type(model), settings.over(before))
    inner = _with_models_wrapped(model, settings)
    return _reclassed(inner, _replaying(cast("Any", type(model))), settings.over(DEFAULT))


def _with_models_wrapped(model: BaseChatModel, settings: Settings) -> BaseChatModel:
    """A class that nobody knows may hand its calls on to models that it holds: those are wrapped too, and mark."""
    if row_of(type(model)) is not OTHER:
        return model
    found = {name: _models_in(value, settings) for name, value in model.__dict__.items()}
    changed = {name: value for name, value in found.items() if value is not model.__dict__[name]}
    return model.model_copy(update=changed) if changed else model


def _models_in(value: Any, settings: Settings) -> Any:
    if isinstance(value, BaseChatModel):
        return wrap_model(value, *settings)
    if isinstance(value, (list, tuple)) and any(isinstance(each, BaseChatModel) for each in value):
        return type(value)(_models_in(each, settings) for each in value)
    return value


def _reclassed(model: BaseChatModel, kind: type, settings: Settings | None) -> BaseChatModel:
    copy = model.model_copy()
    private = dict(copy.__pydantic_private__ or {})
    private.pop("_reasoning_replay", None)
    if settings is not None:
        private["_reasoning_replay"] = settings
    object.__setattr__(copy, "__class__", kind)
    object.__setattr__(copy, "__pydantic_private__", private or None)
    return copy
