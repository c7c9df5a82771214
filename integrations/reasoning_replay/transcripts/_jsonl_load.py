"""Reading a transcript, or anybody's JSONL of messages, one message at a time.

A file with our header is a transcript. Any other is an import: a message a line is read as it comes, whatever else JSON
can hold (a list, a request's body, a log) is read as a whole and told by its shape.
"""

from __future__ import annotations

import os
import warnings
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from .._origin import Origin
from ..forms import form_of
from ._import_rows import Told, form_seen, form_told, made, row_of
from ._import_shapes import found_in, is_body, recognised, value_of
from ._jsonl_lines import (
    START,
    Header,
    Loss,
    LostRecord,
    first_value,
    header_of,
    is_begun_header,
    kept_of,
    of_line,
    told,
)
from ._jsonl_values import TranscriptError

Source = str | os.PathLike[str] | BinaryIO
PEEK = 1000
"""Messages that are looked at to see in which form a file is written that does not say."""
BATCH = 256
"""Messages that are marked together."""
Read = tuple[Any, str]
"""A message and where it stands; or what is wrong with it, and ""."""
_END = object()


class Transcript(Iterator[Any]):
    """The messages of a file, one by one, in constant memory. Mutable: it stands somewhere in the file.

    Raises:
        TranscriptError: while it is iterated: a line that cannot be read. All before it were given, the file is as it
            was, and who goes on gets the message after it.
    """

    def __init__(self, source: Source, origin: Origin | None, form: str | None) -> None:
        if form is not None:
            form_of(form)
        self._name = str(getattr(source, "name", "stream") if hasattr(source, "read") else os.fspath(source))
        self._lines: Iterator[tuple[int, bytes]] = enumerate(_lines(source), 1)
        self._ahead: deque[Read] = deque()
        """What was read and not yet given: to see the form, or to be marked many at a time."""
        self._form = form
        self._before = 1
        """Lines before the first record."""
        self._whole: Iterator[Any] | None = None
        self._loss: Loss | None = None
        self._header = self._first()
        if self._form is None and self._header is not None:
            self._form = self._header.form
        if self._form is None:
            self._ahead = self._several(PEEK)
            self._form = form_seen(message for message, where in self._ahead if where)
        self._told: Told | None = None
        if origin is not None and self._is_any():
            self._told = Told(origin, form_told(self._form, origin, self._name), form is not None)
            self._ahead = self._told.adopted(self._ahead)

    @property
    def form(self) -> str | None:
        """How the messages are written: as the caller or the header says, else by the shape of the first ones."""
        return self._form

    def _is_any(self) -> bool:
        """Whether there is a message to be marked."""
        return self._form is not None or any(where != "" for _, where in self._ahead)

    @property
    def redacted(self) -> bool:
        """Whether it was saved without reasoning, to be shown: `prepare` refuses it."""
        return self._header is not None and self._header.redacted

    @property
    def version(self) -> int | None:
        """Of the file's format; None where it is no transcript of ours."""
        return None if self._header is None else self._header.version

    @property
    def loss(self) -> Loss | None:
        """The record that its writer did not finish, known at the end; it is warned of too."""
        return self._loss

    def __iter__(self) -> Transcript:
        return self

    def __next__(self) -> Any:
        if not self._ahead and self._told is not None:
            self._ahead = self._told.adopted(self._several(BATCH))
        message, _ = self._ahead.popleft() if self._ahead else self._read()
        if message is _END:
            raise StopIteration
        if isinstance(message, TranscriptError):
            raise message
        return message

    def _several(self, many: int) -> deque[Read]:
        """The next messages; a line that cannot be read is met where it stands."""
        found: deque[Read] = deque()
        while len(found) < many:
            try:
                read = self._read()
            except TranscriptError as error:
                read = error, ""
            found.append(read)
            if read[0] is _END:
                break
        return found

    def _first(self) -> Header | None:
        """The header; of a file without one, `_whole` is set where it is no message a line."""
        _, first = next(self._lines, (0, b""))
        if first == b"":
            warnings.warn(f"{self._name}: empty, without even a header; no message is in it", LostRecord, stacklevel=4)
            return None
        value = first_value(first)
        header = header_of(value, self._name)
        if header is not None:
            return header
        if first[-1] != _NEWLINE and is_begun_header(first):
            self._lose(Loss(0, len(first)))
            return None
        if first.startswith(START):
            raise TranscriptError(f"{self._name}: line 1: a header with more behind it; end the lines with \\n")
        self._before = 0
        self._lines = chain([(1, first.removeprefix(BOM_UTF8))], self._lines)
        row = row_of(value)
        if is_body(row) or recognised([row]) is None:
            text = b"".join(line for _, line in self._lines)
            found = found_in(*_value(text, self._name), form=self._form)
            self._form, self._whole = found.form, iter(found.messages)
        return None

    def _read(self) -> Read:
        """The next message as it stands, and where; `_END` at the end.

        Raises:
            TranscriptError: it cannot be read.
        """
        if self._whole is not None:
            return next(((self._made(each, self._name), self._name) for each in self._whole), (_END, ""))
        for number, line in self._lines:
            if line.isspace():
                continue
            where = f"{self._name}: line {number}"
            kept = len(line) if line[-1] == _NEWLINE else kept_of(line)
            if kept is not None and kept < len(line):
                self._lose(Loss(number - self._before + (kept > 0), len(line) - kept))
            if kept == 0:
                break
            message = of_line(line[:kept], where, _ADVICE)
            return (message if self._before else self._made(message, where)), where
        return _END, ""

    def _made(self, message: Any, where: str) -> Any:
        try:
            return made(message)
        except ValueError as error:
            raise TranscriptError(f"{where}: {error}; {_ADVICE}") from None

    def _lose(self, loss: Loss) -> None:
        self._loss = loss
        told(self._name, loss, "all before it is here, or it is being written right now", depth=5)


_NEWLINE = ord("\n")
_ADVICE = "restore the line from a copy, or take it out if the message may go; the file is as it was"


def _lines(source: Any) -> Iterator[bytes]:
    if hasattr(source, "read"):
        yield from source
        return
    with open(source, "rb", buffering=1 << 18) as file:  # noqa: PTH123 - a path of any kind
        yield from file


def _value(raw: bytes, name: str) -> tuple[Any, str]:
    try:
        return value_of(raw.decode("utf-8-sig"), name)[0], name
    except UnicodeDecodeError:
        raise TranscriptError(f"{name}: not UTF-8; give a JSON or JSONL file") from None


def load_jsonl(source: Source, *, origin: Origin | None = None, form: str | None = None) -> Transcript:
    """The messages of a transcript, one by one, as they were saved.

    LangChain's messages come back as such where LangChain is installed, else as dicts as its `messages_to_dict` writes
    them; SDKs' objects come back as dicts. A file without our header is read as an import: a message a line (OpenAI,
    Anthropic, LangChain, Responses, Gemini, Converse, Ollama), or whatever `import_history` reads.

    Args:
        source: a path, or an open binary file (of gzip, for instance).
        origin: who wrote what has no mark (`adopt`). None: it stays unmarked, and `prepare` takes it for nobody's. What
            an SDK's object held has no mark: only the process that got it knew.
        form: how the messages are written, where neither the file nor their shape tells.

    Returns:
        An iterator with `.form`, `.redacted`, `.version` and `.loss`. A last record that was not written to its end is
        left out, and a `LostRecord` warning names it.

    Raises:
        TranscriptError: a newer version, or a line that cannot be read; it names the file, the line and the fix.
        OSError: the file cannot be opened.
    """
    return Transcript(source, origin, form)
