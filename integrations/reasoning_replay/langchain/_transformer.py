"""`ReplayTransformer`: the same rules as a step of a chain, around a model that nobody wraps.

Two Runnables: the transformer itself, before the model, filters; its `capture`, behind the model, marks. What lies
between them is not seen, so a reply that cannot be told to come from the host is left unmarked.
Mutable in one way: it remembers which of its plans wait for a reply, to notice that `capture` is missing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableGenerator

from .._faults import fail_closed
from .._known import Known, first_time
from .._origin import Dialect, Origin
from .._policy import Policy
from ..forms._carriers import STRINGS
from ..forms._langchain_blocks import WIRE
from ._classes import Target, model_in, request_of, row_of, target_of
from ._messages import NOTES, author_of, is_marked, mark_reply, origin_of, plan_messages, strip_message
from ._model import is_wrapped
from ._settings import checked
from ._stream import DELTA, StreamNotes
from ._told import from_cache

_log = logging.getLogger("reasoning_replay")

WAITING = 64
"""Plans that are remembered until their reply is seen: more run at once in few chains (a guess, 2026-11-30)."""
DETAILS = "reasoning_details"
CONVENTION = "reasoning_content"
OURS = frozenset({*NOTES, WIRE})

LABELS: dict[str, tuple[str, ...]] = {
    "langchain_anthropic": ("anthropic",),
    "langchain_aws": ("bedrock_converse", "bedrock"),
    "langchain_cerebras": ("openai",),
    "langchain_deepseek": ("deepseek", "openai"),
    "langchain_fireworks": ("fireworks",),
    "langchain_google_genai": ("google_genai",),
    "langchain_groq": ("groq",),
    "langchain_litellm": ("litellm",),
    "langchain_mistralai": ("mistralai",),
    "langchain_moonshot": ("moonshot", "openai"),
    "langchain_ollama": ("ollama",),
    "langchain_openai": ("openai",),
    "langchain_openrouter": ("openrouter",),
    "langchain_qwq": ("dashscope", "openai"),
    "langchain_together": ("openai",),
    "langchain_xai": ("xai", "openai"),
}
"""Package of a class → what it writes into `model_provider`. Another label on a reply: another class has answered.

Read in the packages' sources, versions of evidence/langchain.md. An equal label proves nothing: all of ChatOpenAI's
hosts share one.
"""


class ReplayTransformer(Runnable[Any, Any]):
    """Filters reasoning before a model and marks it behind: `prompt | t | model | t.capture`.

    What it can do: leave out of the history what another host wrote (or nobody knows who), in place and byte for byte
    what may stay; mark a reply with its host, so that the next turn knows.

    What it cannot: reach the wire. A field that a class drops from a reply, or does not send (`reasoning_content` with
    ChatOpenAI, ChatDeepSeek, ChatXAI, ChatGroq and others), stays lost, and so does the placeholder that a host asks
    for in its place. A parameter that must change (thinking off at Claude, in a loop that another host began) does not,
    and parameters of a single call are not seen: bind them. For those, and for anything with several possible hosts,
    use `with_reasoning_replay(model)`, which needs no transformer; around a wrapped model it does nothing.

    `t.capture` stands right behind this very model, before any parser: it cannot see that another model of the same
    class answered. It leaves alone a reply from LangChain's cache, and one that carries another class's label.
    Without it nothing is marked and all reasoning is lost in the next turn; it warns once.

    Input: what a chat model takes (messages, tuples, dicts, a PromptValue, a str), one message, or a LangGraph state
    with `messages`. A state gives `{"llm_input_messages": [...]}`: `create_react_agent(..., pre_model_hook=t,
    post_model_hook=t.capture)`; in a hook of your own, call `t(state)`. Saved messages are never changed.

    Args:
        model_or_host: the chat model of the chain, or a binding of it (give `model.bind_tools(...)`: tools decide at
            some hosts which turns carry reasoning); or a host's name or URL, with `model` and `dialect`.
        request: with a host, the call's parameters that its rule asks for (`tools`, `thinking` …).

    Raises:
        TypeError: no chat model, or one with several possible hosts.
        OriginError: a host or dialect that cannot be read.
        BadPolicy: not a `Policy`.
    """

    def __init__(
        self,
        model_or_host: Any,
        *,
        model: str | None = None,
        dialect: Dialect = "chat",
        request: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
        known: Known | None = None,
    ) -> None:
        self.name = type(self).__name__
        self._policy, self._known, _ = checked(policy, known)
        self._waiting: deque[tuple[int, str, int]] = deque(maxlen=WAITING)
        self._captured = False
        self._passes = is_wrapped(model_or_host)
        if isinstance(model_or_host, str):
            self._targets = (Target(model_or_host, dialect, model),) * 2
            self._request, self._sealed = request, True
            self._labels: tuple[str, ...] | None = None
            Origin.from_url(model_or_host, dialect=dialect, model=model)  # raises for what is no host
        else:
            self._from_model(model_or_host)

    def _from_model(self, given: Any) -> None:
        model, kwargs = _bare_model(given)
        row = row_of(type(model))
        self._targets = (target_of(model, kwargs), target_of(model, kwargs, asynchronous=True))
        if any(target.url is None for target in self._targets):
            raise TypeError(_several(model))
        self._request, self._sealed = request_of(model, kwargs), row.sealed
        self._labels = LABELS.get(row.name.partition(".")[0])
        self._passes = is_wrapped(model)

    @property
    def capture(self) -> Runnable[Any, Any]:
        """Marks what the model gave: an AIMessage, its chunks one by one, or a LangGraph state's last message."""
        return RunnableGenerator(self._capture, self._acapture, name=f"{self.name}.capture")

    def beside_wrapped(self) -> ReplayTransformer:
        """The same where the model is wrapped: it does nothing, since the model needs the marks."""
        if self._passes:
            return self
        made = copy(self)
        made._passes = True
        return made

    def __call__(self, messages: Any) -> Any:
        """The same as `invoke`, for a hook of your own."""
        return self.invoke(messages)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._call_with_config(lambda given: self._filtered(given, self._targets[0]), input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        async def filtered(given: Any) -> Any:
            return self._filtered(given, self._targets[1])

        return await self._acall_with_config(filtered, input, config)

    def _filtered(self, given: Any, target: Target) -> Any:
        state = _state_of(given)
        planned = self._planned(_messages_of(given if state is None else state), target)
        return planned if state is None else {"llm_input_messages": planned}

    def _planned(self, messages: list[BaseMessage], target: Target) -> list[BaseMessage]:
        if self._passes:
            return messages  # a wrapped model does all of it, and it needs the marks
        self._watch(messages, target)
        planned = plan_messages(messages, target=target, request=self._request, policy=self._policy, known=self._known)
        return [_for_a_bare_model(message) for message in planned]

    def _watch(self, messages: list[BaseMessage], target: Target) -> None:
        """Warns once if a reply to an earlier plan of ours has come back with its reasoning and without a mark."""
        if self._captured:
            return
        if any(
            isinstance(message, AIMessage)
            and not is_marked(message)
            and _sign(messages[:at]) in self._waiting
            and strip_message(message) is not message
            for at, message in enumerate(messages)
            if at
        ):
            host = origin_of(target).host
            first_time(("unknown_origin", host))  # the core would say the same in other words
            if first_time(("no_capture", host)):
                _log.warning(
                    "%s: replies come back unmarked, so their reasoning is left out; "
                    "put t.capture right behind the model: prompt | t | model | t.capture (said once)",
                    host,
                )
        self._waiting.append(_sign(messages))

    def _capture(self, chunks: Iterator[Any]) -> Iterator[Any]:
        marks = _Marks(self, self._targets[0])
        for chunk in chunks:
            yield marks.feed(chunk)
        yield from marks.close()

    async def _acapture(self, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
        marks = _Marks(self, self._targets[1])
        async for chunk in chunks:
            yield marks.feed(chunk)
        for last in marks.close():
            yield last

    def __repr__(self) -> str:
        target = self._targets[0]
        return f"ReplayTransformer({target.url!r}, model={target.model!r}, dialect={target.dialect!r})"


class _Marks:
    """One reply on its way through `capture`. Mutable; gives copies, since others hold the same chunks."""

    def __init__(self, transformer: ReplayTransformer, target: Target) -> None:
        transformer._captured = True
        self._passes = transformer._passes
        self._labels = transformer._labels
        self._known = transformer._known
        self._origin = author_of(target)
        self._notes: StreamNotes | None = StreamNotes(self._origin, later=transformer._sealed, known=self._known)

    def feed(self, given: Any) -> Any:
        """The reply, or a chunk of it, with what is to be on it."""
        if self._passes:
            return given
        if isinstance(given, AIMessageChunk):
            return self._chunk(given)
        if isinstance(given, AIMessage):
            return self._marked(given)
        state = _state_of(given)
        if state is None:
            kind = "str" if isinstance(given, str) else type(given).__name__  # LangChain has strings of its own
            raise TypeError(
                f"t.capture: a {kind}; allowed: an AIMessage, its chunks, or a state with messages; "
                "put it right behind the model, before any parser: prompt | t | model | t.capture | parser "
                "(with_structured_output parses by itself: use with_reasoning_replay(model) there)"
            )
        last = state[-1] if isinstance(state, Sequence) and len(state) else None
        if not isinstance(last, AIMessage) or is_marked(last):
            return {}
        marked = self._marked(last)
        return {} if marked is last else {"messages": [marked]}

    def close(self) -> Iterator[Any]:
        """What is still to come once the stream has ended by itself."""
        last = None if self._notes is None else self._notes.closes()
        if last is not None:
            yield last.message

    def _chunk(self, chunk: AIMessageChunk) -> AIMessageChunk:
        if self._notes is None or not self._ours(chunk):
            self._notes = None  # from here on, nothing of this stream is marked
            return chunk
        kwargs = dict(chunk.additional_kwargs)
        if DETAILS in kwargs:  # core's merging of chunks would break them: they go out whole, with the last one
            kwargs[DELTA] = {DETAILS: kwargs.pop(DETAILS)}
        made = chunk.model_copy(update={"additional_kwargs": kwargs})
        self._notes.passes(ChatGenerationChunk(message=made))
        return made

    def _marked(self, message: AIMessage) -> AIMessage:
        origin = self._origin
        if origin is None or is_marked(message) or not self._ours(message):
            return message
        made = message.model_copy(update={"additional_kwargs": dict(message.additional_kwargs)})
        fail_closed(origin.host, lambda: mark_reply(made, origin, self._known), lambda: None)
        return made if is_marked(made) else message

    def _ours(self, message: AIMessage) -> bool:
        """Whether nothing speaks against this host; a cache, or a label of another class, does."""
        label = message.response_metadata.get("model_provider")
        return not from_cache(message) and (self._labels is None or label is None or label in self._labels)


def _bare_model(given: Any) -> tuple[BaseChatModel, dict[str, Any]]:
    """The chat model, and the parameters that bindings add to its calls."""
    model, kwargs = model_in(given)
    if not isinstance(model, BaseChatModel):
        raise TypeError(_several(given))
    return model, kwargs


def _several(given: Any) -> str:
    if isinstance(given, Runnable):
        return (
            f"ReplayTransformer: a {type(given).__name__} has no single host that can be known beforehand; "
            "use with_reasoning_replay(model) instead; allowed here: one chat model, a binding of one, or a host"
        )
    return (
        f"ReplayTransformer: a {type(given).__name__}; allowed: a chat model, a binding of one, or a host's name or URL"
    )


def _state_of(given: Any) -> Any:
    """The messages of a LangGraph state (a dict or an object with `messages`); None for anything else."""
    if isinstance(given, Mapping):
        return given.get("messages")
    return None if isinstance(given, (PromptValue, BaseMessage)) else getattr(given, "messages", None)


def _messages_of(given: Any) -> list[BaseMessage]:
    if isinstance(given, PromptValue):
        return list(given.to_messages())
    if isinstance(given, str):
        return [HumanMessage(given)]
    if isinstance(given, list) and all(isinstance(each, BaseMessage) for each in given):
        return given
    return list(convert_to_messages([given] if isinstance(given, (BaseMessage, Mapping)) else given))


def _for_a_bare_model(message: BaseMessage) -> BaseMessage:
    """The planned message as a class reads it that knows nothing of us: without our keys.

    Text for the wire, a host's filler too, goes where classes look that send any (LangChain's `reasoning_content`).
    """
    kwargs = message.additional_kwargs
    if OURS.isdisjoint(kwargs):
        return message
    left = {key: value for key, value in kwargs.items() if key not in OURS}
    texts = (value for key, value in kwargs.get(WIRE, {}).items() if key in STRINGS and isinstance(value, str))
    for text in texts:
        left.setdefault(CONVENTION, text)
    return message.model_copy(update={"additional_kwargs": left})


def _sign(messages: Sequence[BaseMessage]) -> tuple[int, str, int]:
    """By what a history is recognised when it comes back longer: its length, and what its last message says."""
    last = messages[-1] if messages else None
    return (0, "", 0) if last is None else (len(messages), last.type, hash(str(last.content)))
