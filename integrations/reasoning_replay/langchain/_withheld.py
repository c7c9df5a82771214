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
VISIBLE = ("content", "tool_calls", "invalid_tool_calls", "name")
"""The parts of a message that must be as they were, if its reasoning is to come back."""
STRIPPED = ("content", "additional_kwargs", "tool_calls", "response_metadata", "id")
"""The parts of a message that `strip_message` may change."""


class Withheld(dict[str, Any]):
    """A message and what was left of it. Shown, dumped, pickled or serialised it is an empty dict."""

    __slots__ = ("_open",)

    def __init__(self, original: BaseMessage, left: BaseMessage) -> None:
        super().__init__()
        self._open: Callable[[], tuple[BaseMessage, BaseMessage]] = lambda: (
            original,
            left,
        )  # a closure: tools that walk attributes and slots find a function

    def opened(self) -> tuple[BaseMessage, BaseMessage]:
        """The message as it was, and what the handler was given of it."""
        return self._open()

    def __repr__(self) -> str:
        original, left = self._open()
        return f"<reasoning withheld: {max(0, _size(original) - _size(left))} characters>"

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
    made = [change(each) if isinstance(each, AIMessage) else each for each in messages]
    same = isinstance(messages, list) and all(new is old for new, old in zip(made, messages, strict=True))
    return messages if same else made  # type: ignore[return-value]


def without_reasoning(message: AIMessage) -> AIMessage:
    """The message without reasoning, ids of items and marks; the very same object where it has none."""
    left = strip_message(message)
    return message if all(getattr(left, part) == getattr(message, part) for part in STRIPPED) else left


def _enveloped(message: AIMessage) -> AIMessage:
    left = without_reasoning(message)
    if left is message:
        return message
    note = {WITHHELD: Withheld(message, left)}
    return left.model_copy(update={"additional_kwargs": {**left.additional_kwargs, **note}})


def _opened(message: AIMessage) -> BaseMessage:
    kept = message.additional_kwargs.get(WITHHELD)
    if kept is None:
        return message
    if isinstance(kept, Withheld):
        original, left = kept.opened()
        if all(getattr(message, part, None) == getattr(left, part, None) for part in VISIBLE):
            return original
    rest = {key: value for key, value in message.additional_kwargs.items() if key != WITHHELD}
    return message.model_copy(update={"additional_kwargs": rest})


def _size(message: BaseMessage) -> int:
    return len(repr(message.content)) + len(repr(message.additional_kwargs))
