"""Somebody else's history, from a file or in hand, with the origin that its owner states."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._capture import adopt
from .._origin import Origin
from ..forms import form_of
from ._import_rows import form_seen, form_told, made
from ._import_shapes import Found, found_in, value_of
from ._jsonl_lines import is_transcript
from ._jsonl_load import load_jsonl
from ._jsonl_values import TranscriptError, is_langchain


class Imported(NamedTuple):
    """A history that was somebody else's. `repr` shows no message."""

    messages: list[Any]
    """Marked as written by the origin, each that brought reasoning; ready for `prepare`."""
    form: str
    """How they are written, for `prepare`'s argument of that name."""
    request: Mapping[str, Any] | None
    """The parameters of the call that the history stood in (tools and so on); None where there was none."""
    model: str | None
    """The model that was asked, where the file says it."""

    def __repr__(self) -> str:
        return f"<Imported: {len(self.messages)} messages in the form {self.form}>"


def import_history(source: Any, origin: Origin, *, form: str | None = None, entry: int | None = None) -> Imported:
    """A plain history with its origin on it (`adopt`), told by its shape.

    Known shapes: a list of messages, or JSONL with a message a line (OpenAI, LiteLLM, Anthropic, Gemini, Converse,
    Ollama, Responses items, LangChain's `messages_to_dict` and `dumpd`); a request's body; a LiteLLM log, whose reply
    comes behind its messages; a transcript of ours, of which only unmarked messages are marked. LangChain's messages
    come as such where LangChain is installed.

    Args:
        source: a path; or parsed JSON; or messages, LangChain's and SDKs' objects too. Nothing of it is changed.
        origin: the host that wrote the reasoning in it. Never guess: sealed reasoning that goes to another host than
            its own is refused there, and readable reasoning is read.
        form: how its messages are written, where their shape does not tell.
        entry: which of several requests in the file, counted from 1; None is the last, which has all before it.

    Raises:
        TranscriptError: of no known shape, or in a form that the origin's host does not speak.
        HistoryError: messages that cannot be read.
        OSError: the file cannot be read.
    """
    if not isinstance(origin, Origin):
        raise TranscriptError(f"origin: a {type(origin).__name__}; allowed: an Origin, the host that wrote the history")
    if form is not None:
        form_of(form)
    found, messages, name = _found(source, form, entry)
    if found.reply is not None:
        messages.append(form_of("litellm").read(found.reply, 0))
        found = found._replace(form=form or form_seen(messages) or found.form)
    told = form_told(form if form is not None else found.form, origin, name)
    return Imported(adopt(messages, origin, form=told), told, found.request, found.model)


def _found(source: Any, form: str | None, entry: int | None) -> tuple[Found, list[Any], str]:
    """What the source holds, and its messages as they are given back."""
    if not isinstance(source, str | os.PathLike):
        found = found_in(source, "history", entry=entry, form=form)
        given = source if isinstance(source, list) and len(source) == len(found.messages) else found.messages
        return found, list(map(_made, given)), "history"
    name = os.fspath(source)
    raw = Path(source).read_bytes()
    if is_transcript(raw, name):
        saved = load_jsonl(source, form=form)
        messages = list(saved)
        return Found(messages, saved.form or "", None, None, "a transcript"), messages, name
    try:
        value, lines = value_of(raw.decode("utf-8-sig"), name)
    except UnicodeDecodeError:
        raise TranscriptError(f"{name}: not UTF-8; give a JSON or JSONL file") from None
    found = found_in(value, name, entry=entry, lines=lines, form=form)
    return found, list(map(_made, found.messages)), name


def _made(message: Any) -> Any:
    try:
        return message if is_langchain(message) else made(message)
    except ValueError as error:
        raise TranscriptError(f"history: {error}; give what messages_to_dict writes") from None
