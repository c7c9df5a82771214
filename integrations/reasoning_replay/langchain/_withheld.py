"""Messages without their reasoning, which only a wrapped model can put back.

What is taken out travels in `additional_kwargs`, in an object that shows nothing of it: a wrapped model opens it before
it plans, every other reader finds an empty dict. An unknown key there never reaches a wire (probed, 19 classes).
It needs langchain-core alone, so that a wrapped model can read it where `langchain` is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ._messages import strip_message

WITHHELD = "reasoning_replay_withheld"
VISIBLE = ("content", "tool_calls", "invalid_tool_calls", "name", "tool_call_id")
"""The parts of a message that must be as they were, if its reasoning is to come back."""


class Withheld(dict[str, Any]):
    """A message, and what it said to the handler. Shown, dumped, pickled or serialised it is an empty dict."""

    __slots__ = ("_open",)

    def __init__(self, original: BaseMessage, left: BaseMessage) -> None:
        super().__init__()
        said = _visible(left)
        # A closure: tools that walk attributes and slots find a function.
        self._open: Callable[[], tuple[BaseMessage, tuple[Any, ...]]] = lambda: (original, said)

    def original_of(self, message: BaseMessage) -> BaseMessage | None:
        """The message as it was, if this one still says what it said to the handler; else None."""
        original, said = self._open()
        return original if _visible(message) == said else None

    def __repr__(self) -> str:
        original, _ = self._open()
        return f"<reasoning withheld: {max(0, _size(original) - _size(_stripped(original)))} characters>"

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()

    def __copy__(self) -> Withheld:
        return self

    def __deepcopy__(self, _memo: Any) -> Withheld:
        return self


def withheld(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without any reasoning; the very same list where there is none."""
    return _each(messages, _enveloped)


def restored(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Puts back what was withheld, where a message still says what it said; the very same list where nothing was."""
    return _each(messages, _opened)


def _each(messages: Sequence[BaseMessage], change: Any) -> list[BaseMessage]:
    made = [change(each) for each in messages]
    same = isinstance(messages, list) and all(new is old for new, old in zip(made, messages, strict=True))
    return messages if same else made  # type: ignore[return-value]


def _enveloped(message: BaseMessage) -> BaseMessage:
    left = _stripped(message)
    if left is not message:
        left.additional_kwargs[WITHHELD] = Withheld(message, left)  # a copy of ours, with a dict of its own
    return left


def _stripped(message: BaseMessage) -> BaseMessage:
    """A copy without what its host alone may see; the very same object where there is nothing of it."""
    if isinstance(message, AIMessage):
        left = strip_message(message)
        kept = left.additional_kwargs
        return left if left is message or kept is not message.additional_kwargs else _copied(left)
    left = strip_message(message)
    return left if left is message else _copied(left)


def _copied(message: BaseMessage, **changes: Any) -> BaseMessage:
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs}, **changes})


def _opened(message: BaseMessage) -> BaseMessage:
    kept = message.additional_kwargs.get(WITHHELD)
    if kept is None:
        return message
    if isinstance(kept, Withheld):
        original = kept.original_of(message)
        if original is not None:
            return original
    rest = {key: value for key, value in message.additional_kwargs.items() if key != WITHHELD}
    return message.model_copy(update={"additional_kwargs": rest})


def _visible(message: BaseMessage) -> tuple[Any, ...]:
    fields = message.__dict__
    return tuple(fields.get(part) for part in VISIBLE)


def _size(message: BaseMessage) -> int:
    return len(repr(message.content)) + len(repr(message.additional_kwargs))
