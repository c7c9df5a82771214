"""The lines of a transcript: a header, then a message a line. What a whole, a cut and a broken line is stands here.

A record ends with a newline. What stands behind the last newline and is the beginning of a record was being written
when its writer died: it is the one thing that may be lost, and it is named. A power cut may leave zero bytes there. Any
other line that cannot be read is damage, and an error: other line ends, two records in one line, what is no record.
No file is opened here, and no text of a line is ever in an error.
"""

from __future__ import annotations

import json
import re
import warnings
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ..forms import form_of, named
from ._jsonl_values import (
    HEADER,
    TAG,
    UNREADABLE,
    Default,
    TranscriptError,
    Unwritable,
    fault_of,
    is_langchain,
    is_plain,
    parsed,
    tagged,
)

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
    library = str(value.get("library"))
    if isinstance(version, int) and version > VERSION:
        by = f", written by reasoning-replay {library}" if _VERSIONS.fullmatch(library) else ""
        raise TranscriptError(
            f"{name}: line 1: a transcript of version {min(version, 10**6)}{by}; this one reads version {VERSION}: "
            "upgrade reasoning-replay"
        )
    if version != VERSION or not isinstance(redacted, bool) or not (form is None or _is_name(form)):
        raise TranscriptError(f"{name}: line 1: a transcript's header that is broken; restore the line from a copy")
    return Header(form, redacted, version, library)


_VERSIONS = re.compile(r"[0-9][0-9a-z.+]{0,30}")


def _is_name(form: object) -> bool:
    return isinstance(form, str) and named(form)[0] == "'"


def first_value(line: str | bytes) -> Any:
    """The JSON of a first line; None where it is not whole. Zero bytes behind it are what a power cut left."""
    try:
        text = line if isinstance(line, str) else line.removeprefix(BOM_UTF8).decode()  # `loads` guesses UTF-16
        return json.loads(text.rstrip("\0"))
    except (ValueError, RecursionError):
        return None


def is_transcript(raw: str | bytes, name: str) -> bool:
    """Whether a file's contents begin with our header.

    Raises:
        TranscriptError: of a newer version, or broken.
    """
    first = raw.partition("\n")[0] if isinstance(raw, str) else raw.partition(b"\n")[0]
    return header_of(first_value(first), name) is not None


_MOST = 500
"""Bytes of a header, and more than there are."""
START = f'{{"{TAG}":"{HEADER}"'.encode()
"""How each begins."""


def is_begun_header(first: bytes) -> bool:
    """Whether a writer died in the very first line: the beginning of a header stands there, and nothing else."""
    begun = first.rstrip(b"\0")
    if len(begun) > _MOST or begun == b"":
        return False
    return START.startswith(begun) or (begun.startswith(START) and begun.count(b"{") == 1 and kept_of(first) == 0)


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
        text = _text(value, where)
    except RecursionError:
        raise TranscriptError(f"{where}: nested too deep, or in a circle; give a message as a host takes it") from None
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair, where a stream was cut inside a character
        return f"{_encode_ascii(value)}\n".encode()


def _text(value: Any, where: str) -> str:
    try:
        return _encode(value)
    except ValueError:  # Python's limit is 4,300
        raise TranscriptError(f"{where}: a number of too many digits; give it as a text") from None


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
    except UnicodeDecodeError:
        fault = "is not UTF-8"
    except UNREADABLE:
        fault = fault_of(line.decode())
    else:
        fault = ""
    if fault:  # outside of `except`: the parser's own error holds the whole line
        raise TranscriptError(f"{where}: {fault}; {advice}")
    if not isinstance(value, Mapping) and not is_langchain(value):
        raise TranscriptError(f"{where}: a {type(value).__name__}, where a message was to stand; {advice}")
    return value


# The last line --------------------------------------------------------------------------------------------------------

_shape = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).decode
_PIECE = re.compile(r"|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|\.?[eE][-+]?|\\?(u[0-9a-fA-F]{0,4})?")
"""What a parser stops at where a text was cut inside a word, a number or an escape."""


def kept_of(rest: bytes) -> int | None:
    """How many bytes of what stands behind the last newline are a record, whole but for its newline.

    0 where a writer died in it: it is the beginning of a record, or the zero bytes that a power cut leaves. None where
    it is something else: more than one record, other line ends, no record at all. Nobody may cut that off.
    """
    body = rest.rstrip(b"\0")
    if body == b"":
        return 0
    try:
        text = getincrementaldecoder("utf-8")().decode(body)  # a character that was cut is no fault
        whole = isinstance(_shape(text), dict) and len(text.encode()) == len(body)
    except json.JSONDecodeError as error:
        begun = error.doc[:1] == "{" and (
            error.msg.startswith("Unterminated string")
            or (error.msg != "Extra data" and _PIECE.fullmatch(error.doc, error.pos) is not None)
        )
        return 0 if begun else None
    except (ValueError, RecursionError):
        return None
    return len(body) if whole else None
