"""One message of somebody else's history: LangChain's dumps made messages again, and the origin written on it.

A form that was seen by the first messages and not said is checked at each later one: a wrong form would leave its
reasoning without a mark, and nobody would be told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from .._capture import adopt
from .._history import HistoryError
from .._origin import DIALECTS, Origin
from ..forms import as_mapping
from ._import_shapes import opened, recognised
from ._jsonl_values import TranscriptError, is_langchain


def row_of(message: Any) -> Mapping[str, Any]:
    """A message's fields, whatever it is; none of what is no message."""
    if is_langchain(message):
        fields: Mapping[str, Any] = message.__dict__
        return fields
    row = as_mapping(message)
    return {} if row is None else opened(row)


def form_seen(messages: Iterable[Any]) -> str | None:
    """The form that messages are written in, by their shape; None where it is none."""
    rows = list(map(row_of, messages))
    return recognised(rows) if rows else None


def made(message: Any) -> Any:
    """A dump of LangChain's as the message that it was, where LangChain is installed; anything else as it is.

    Raises:
        ValueError: LangChain does not read it.
    """
    if not isinstance(message, Mapping):
        return message
    row = opened(message)
    if "additional_kwargs" not in row or "type" not in row:
        return message
    if find_spec("langchain_core") is None:
        return row
    return import_module("reasoning_replay.langchain._saved").from_dumps([row])[0]


def form_told(form: str | None, origin: Origin, name: str) -> str:
    """The form that `adopt` shall read a history in.

    Raises:
        TranscriptError: the form is another dialect's own, so the origin cannot be right.
    """
    if form is None:
        raise TranscriptError(f"{name}: nothing tells how its messages are written; say it with form=")
    if form == "chat" and origin.dialect != "chat":
        return "litellm"  # chat's keys, and what another dialect's replies hold
    if form in DIALECTS and form != origin.dialect:
        raise TranscriptError(
            f"{name}: its messages are written in the form {form!r}, and {origin.host} is said to speak "
            f"{origin.dialect!r}; give Origin(…, dialect={form!r}), or say the form with form="
        )
    return form


class Told(NamedTuple):
    """Whose history it is."""

    origin: Origin
    form: str
    sure: bool
    """The form was said; else it was seen in the first messages."""

    def adopted(self, read: Sequence[tuple[Any, str]]) -> deque[tuple[Any, str]]:
        """Messages and where they stand, marked; itself where it has a mark or nothing to mark.

        One that is written in another form, or cannot be read, is an error in its place, as what was one before.
        """
        messages = [message for message, where in read if where]
        try:
            if not self.sure and form_seen(messages) not in (self.form, "chat", None):
                raise ValueError  # noqa: TRY301 - looked at one by one
            marked = iter(adopt(messages, self.origin, form=self.form))
        except ValueError:
            return deque((self._one(message, where) if where else message, where) for message, where in read)
        return deque((next(marked) if where else message, where) for message, where in read)

    def _one(self, message: Any, where: str) -> Any:
        try:
            check_form(message, self.form, where, sure=self.sure)
            return adopt([message], self.origin, form=self.form)[0]
        except HistoryError as error:
            return TranscriptError(f"{where}: {error}")
        except TranscriptError as error:
            return error


def check_form(message: Any, form: str, where: str, *, sure: bool) -> None:
    """Raises where a form that was taken for chat, since nothing told it from chat, is another one's.

    Raises:
        TranscriptError: as it says.
    """
    if sure or form not in ("chat", "litellm"):
        return
    found = form_seen([message])
    if found in (form, "chat", None) or (form == "litellm" and found == "anthropic"):
        return  # LiteLLM takes Anthropic's blocks in a content list
    raise TranscriptError(
        f"{where}: is written in the form {found!r}, and what stands before it looked like {form!r}; say form={found!r}"
    )
