"""The lines of a transcript: a header, then a message a line. What a whole, a cut and a broken line is stands here.

A record ends with a newline. What stands behind the last newline and is no whole JSON was being written when its writer
died: it is the one thing that may be lost, and it is named. Any other line that cannot be read is damage, and an error.
No file is opened here, and no text of a line is ever in an error.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ..forms import form_of
from ._jsonl_values import HEADER, TAG, Default, TranscriptError, Unwritable, is_langchain, is_plain, parsed, tagged

VERSION = 1
"""Of the file's format. A reader refuses a newer one: it may hold what it would misread."""


class Header(NamedTuple):
    """The first line of a transcript."""

    form: str | None
    """How its messages are written; None where nobody said."""
    redacted: bool
    """Whether reasoning was taken out, so that it can be shown and never replayed."""
    version: int = VERSION
    library: str = ""
    """The version of ours that wrote it."""


class Loss(NamedTuple):
    """The record that a writer did not finish."""

    record: int
    """Its number, counted from 1; the header is none."""
    bytes: int
    """How much of it is there."""


class LostRecord(UserWarning):
    """A transcript ends in the middle of a record. It names the file, the record and the bytes."""


def told(name: str, loss: Loss, done: str, depth: int) -> None:
    """Warns of a loss, at the line that is so many calls away."""
    what = f"record {loss.record}" if loss.record else "the header"
    text = f"{name}: {what} was not written to its end ({loss.bytes} bytes of it were there); {done}"
    warnings.warn(text, LostRecord, stacklevel=depth)


def header_line(header: Header) -> bytes:
    """The header as a line."""
    record = {
        TAG: HEADER,
        "version": header.version,
        "form": header.form,
        "redacted": header.redacted,
        "library": header.library,
    }
    return f"{_encode(record)}\n".encode()


def new_header(form: str | None, redacted: bool) -> Header:
    """The header of what this version writes.

    Raises:
        HistoryError: no such form.
    """
    if form is not None:
        form_of(form)
    return Header(form, redacted, VERSION, _ours())


@cache
def _ours() -> str:
    from importlib.metadata import version

    return version("reasoning-replay")


def header_of(value: object, name: str) -> Header | None:
    """The header that a first line holds; None where it is none.

    Raises:
        TranscriptError: of a newer version, or broken.
    """
    if not isinstance(value, Mapping) or value.get(TAG) != HEADER:
        return None
    version, form, redacted = value.get("version"), value.get("form"), value.get("redacted")
    library = value.get("library")
    if isinstance(version, int) and version > VERSION:
        raise TranscriptError(
            f"{name}: line 1: a transcript of version {version}, written by reasoning-replay {library}; this one reads "
            f"version {VERSION}: upgrade reasoning-replay"
        )
    if version != VERSION or not isinstance(redacted, bool) or not isinstance(form, str | None):
        raise TranscriptError(f"{name}: line 1: a transcript's header that is broken; restore the line from a copy")
    return Header(form, redacted, version, str(library))


def first_value(line: str | bytes) -> Any:
    """The JSON of a first line; None where it is not whole."""
    try:
        return json.loads(line)
    except ValueError:  # also where it is not UTF-8
        return None


def is_transcript(raw: str | bytes, name: str) -> bool:
    """Whether a file's contents begin with our header.

    Raises:
        TranscriptError: of a newer version, or broken.
    """
    first = raw.partition("\n")[0] if isinstance(raw, str) else raw.partition(b"\n")[0]
    return header_of(first_value(first), name) is not None


def starts_header(line: bytes) -> bool:
    """Whether a writer died in the very first line."""
    start = header_line(Header(None, redacted=False)).partition(b",")[0]
    return line.startswith(start) or start.startswith(line)


# A message ------------------------------------------------------------------------------------------------------------

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def to_line(message: Any, default: Default | None = None, where: str = "message") -> bytes:
    """The message as a line.

    Raises:
        TranscriptError: no message, or a value in it that nothing can write.
    """
    try:
        value = message if is_plain(message) else _tree(message, default, where)
        text = _encode(value)
    except RecursionError:
        raise TranscriptError(f"{where}: nested too deep, or in a circle; give a message as a host takes it") from None
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair, where a stream was cut inside a character
        return f"{_encode_ascii(value)}\n".encode()


def _tree(message: Any, default: Default | None, where: str) -> dict[str, Any]:
    try:
        value = tagged(message, default)
    except Unwritable as error:
        if error.where != "":
            raise TranscriptError(
                f"{where}{error.where}: a {error.kind}; allowed: JSON's values, bytes, tuples, sets, dates, SDKs' "
                "objects and dataclasses; take it out, or say with default= what to write for it"
            ) from None
        value = None
    odd = not isinstance(value, dict) or value.get(TAG) not in (None, "langchain")
    if odd and not isinstance(message, Mapping):
        kind = type(message).__name__
        raise TranscriptError(
            f"{where}: a {kind}; allowed: a dict, a LangChain message, or an object with model_dump(); "
            "give the messages of a list one by one"
        )
    whole: dict[str, Any] = value
    return whole


def of_line(line: bytes, where: str, advice: str) -> Any:
    """The message of a whole line.

    Raises:
        TranscriptError: it cannot be read.
    """
    try:
        value = parsed(line.decode())
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TranscriptError(f"{where}: {_fault(error)}; {advice}") from None
    if not isinstance(value, Mapping) and not is_langchain(value):
        raise TranscriptError(f"{where}: a {type(value).__name__}, where a message was to stand; {advice}")
    return value


def _fault(error: Exception) -> str:
    """What the parser says, without a word of the text."""
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON ({error.msg})"
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    return str(error) if type(error) is ValueError else f"holds a tagged value that is broken ({type(error).__name__})"


def is_whole(rest: bytes) -> bool:
    """Whether what stands behind the last newline is a whole record: an object is never the start of another one."""
    try:
        return isinstance(json.loads(rest), dict)
    except (ValueError, RecursionError):
        return False
