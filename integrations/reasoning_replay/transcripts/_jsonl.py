"""Writing transcripts: a whole one at once, or one that grows message by message for hours.

What a line is stands in `_jsonl_lines`, what a file suffers in `_jsonl_files`, how one is read in `_jsonl_load`.
A redacted transcript is made here, row by row, with `redact`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from threading import Lock
from typing import Any, BinaryIO, Self

from ._import_rows import check_form, form_seen
from ._jsonl_files import append_whole, make_private, opened, real_path, replaced, write_all
from ._jsonl_lines import Header, Loss, header_line, new_header, to_line, told
from ._jsonl_load import PEEK
from ._jsonl_resume import resumed
from ._jsonl_values import Default, TranscriptError
from ._redact import redact

_CHUNK = 1 << 18
"""Bytes that are gathered before they are written."""


def dump_jsonl(
    messages: Iterable[Any],
    path: str | os.PathLike[str] | BinaryIO,
    *,
    form: str | None = None,
    redacted: bool = False,
    default: Default | None = None,
) -> int:
    """Saves messages as a transcript, a line a message, whole: `load_jsonl` gives them back for `prepare` to replay.

    The file is written beside and renamed: it is all there or as it was before, its mode is 0600, and of a symbolic
    link what it points to is replaced. While somebody else writes it, it is refused. An open file is written to as
    the messages come, and is not closed.

    Args:
        messages: any iterable, dicts of every form, LangChain's messages, SDKs' objects; nothing of them is changed.
        path: of the file, or a binary file that is open for writing.
        form: how they are written, for the header and for `redacted`; None: as their shape tells.
        redacted: without any reasoning (`redact`), for people to read; the header says so, and `prepare` refuses it.
        default: what to write for a value that JSON has no word for (a data frame as a tool's artifact).

    Returns:
        How many messages were written.

    Raises:
        TranscriptError: what is no message, or cannot be written; somebody else writes the file.
        HistoryError: no such form; with `redacted`, a message that cannot be read.
        OSError: the file cannot be written. In each case what was there before is there.
    """
    if isinstance(messages, str | bytes | dict) or not isinstance(messages, Iterable):
        raise TranscriptError(f"messages: a {type(messages).__name__}; allowed: a list or any iterable of messages")
    rows = iter(messages)
    first = list(islice(rows, PEEK))
    header = new_header(form if form is not None else form_seen(first), redacted)
    lines = _lines(chain(first, rows), header, default, sure=form is not None)
    if not isinstance(path, str | os.PathLike):
        return _written(path.write, header, lines)
    with replaced(path) as fd:
        return _written(lambda data: write_all(fd, data), header, lines)


def _lines(rows: Iterable[Any], header: Header, default: Default | None, *, sure: bool) -> Iterator[bytes]:
    for index, message in enumerate(rows):
        where = f"messages[{index}]"
        yield to_line(_without(message, header, where, sure=sure) if header.redacted else message, default, where)


def _without(message: Any, header: Header, where: str, *, sure: bool) -> Any:
    form = header.form if header.form is not None else form_seen([message])
    if form is None:
        raise TranscriptError(f"{where}: nothing tells how it is written, so it cannot be redacted; say form=")
    check_form(message, form, where, sure=sure)
    return redact([message], form=form)[0]


def _written(write: Callable[[bytes], object], header: Header, lines: Iterator[bytes]) -> int:
    write(header_line(header))
    count = 0
    while True:
        held, fault = _gathered(lines)
        if fault is not None:
            raise fault
        if not held:
            return count
        write(b"".join(held))
        count += len(held)


class TranscriptWriter:
    """A transcript that grows: `append` a message when it is there, `extend` by many. Mutable: it holds the open file.

    Nothing waits in it: what `append` returned for survives the end of the process, and with `fsync` that of the
    machine. On an existing transcript it goes on at its end. A record that was not written to its end is cut off, and a
    `LostRecord` warning and `.loss` name it; where anything else stands there, the file is refused and not changed.
    One writer a file: a second one, and a `dump_jsonl`, is refused. Threads may share one.

    A file that is moved, removed, replaced or cut under it is an error of the next `append`, which writes nothing: half
    a history is none, so nothing goes on in a new file by itself. To rotate, close it, move the file, and open a new
    writer: at the new path for the same conversation, at the old one for the next.

    Args:
        path: of the file; made (mode 0600) if it is not there.
        form: how the messages are written, for the header and for `redacted`. None: as the header or their shape tells.
        redacted: without any reasoning (`redact`); a transcript is redacted all through or not at all.
        fsync: each `append` waits for the disk.
        default: what to write for a value that JSON has no word for.

    Raises:
        TranscriptError: a file that is no transcript, or of another version or form; its end is no record; somebody
            else writes it. Nothing was changed.
        HistoryError: no such form.
        OSError: the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        form: str | None = None,
        redacted: bool = False,
        fsync: bool = False,
        default: Default | None = None,
    ) -> None:
        header = new_header(form, redacted)
        self.loss: Loss | None
        """The record that the writer before did not finish; None where it finished all."""
        self._path, self._fsync, self._default = real_path(path), fsync, default
        self._lock = Lock()
        with ExitStack() as undo:
            self._fd: int | None = opened(self._path)
            undo.callback(self.close)
            self._header, self.loss = resumed(self._fd, self._path, header)
            make_private(self._fd)  # only now: it may have been another file
            self._end = os.fstat(self._fd).st_size
            if self.loss is not None:
                told(str(self._path), self.loss, "they were cut off, and all before it stands", depth=3)
            undo.pop_all()
        if form is not None:
            self._header = self._header._replace(form=form)

    def append(self, *messages: Any) -> None:
        """Writes messages at the end: all of them, or none where one is refused or the disk is full.

        Raises:
            TranscriptError: what is no message or cannot be written; the file was moved, removed, replaced or cut by
                somebody; closed.
            HistoryError: with `redacted`, a message that cannot be read.
            OSError: the disk does not take it; what was there is whole, and it may be tried again.
        """
        self._write(b"".join(_lines(messages, self._header, self._default, sure=self._header.form is not None)))

    def extend(self, messages: Iterable[Any]) -> None:
        """`append` for any iterable, a few hundred kilobytes at a time.

        Raises:
            As `append`; what came before the message that is refused is written.
        """
        lines = _lines(messages, self._header, self._default, sure=self._header.form is not None)
        while True:
            held, fault = _gathered(lines)
            if held:
                self._write(b"".join(held))
            if fault is not None:
                raise fault
            if not held:
                return

    def close(self) -> None:
        """Closes the file; once more does nothing."""
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None:
                os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._fd is None else "open"
        return f"TranscriptWriter({self._path.name!r}, {state})"

    def _write(self, data: bytes) -> None:
        with self._lock:
            if self._fd is None:
                raise TranscriptError(f"{self._path}: the writer is closed; open a new one, it goes on at the end")
            self._end = append_whole(self._fd, data, self._path, self._end)
            if self._fsync:
                os.fsync(self._fd)


def _gathered(lines: Iterator[bytes]) -> tuple[list[bytes], ValueError | None]:
    """The next lines, as many as are written at once; and what was wrong with the one behind them."""
    held: list[bytes] = []
    size = 0
    try:
        for line in lines:
            held.append(line)
            size += len(line)
            if size >= _CHUNK:
                break
    except ValueError as error:  # TranscriptError and HistoryError are
        return held, error
    return held, None
