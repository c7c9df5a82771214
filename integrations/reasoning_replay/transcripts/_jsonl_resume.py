"""Going on with a transcript: its header is looked at, then its end is mended. Nothing is cut before all else fits."""

from __future__ import annotations

import os
from pathlib import Path

from ._jsonl_files import append_whole, lines_in, read_at, rest_of
from ._jsonl_lines import Header, Loss, first_value, header_line, header_of, is_whole, starts_header
from ._jsonl_values import TranscriptError

_LONGEST = 1 << 16
"""Bytes of a header that is read."""


def resumed(fd: int, path: Path, wanted: Header) -> tuple[Header, Loss | None]:
    """The header of the file and what was cut off at its end; a file that is empty gets the header that is wanted.

    Raises:
        TranscriptError: it is no transcript, or another than is wanted; nothing was changed.
        OSError: the disk does not take it.
    """
    size, rest = os.fstat(fd).st_size, rest_of(fd)
    line = read_at(fd, 0, min(size, _LONGEST)).partition(b"\n")[0]
    header = header_of(first_value(line), str(path))
    if header is None and (size == 0 or (rest == size and starts_header(line))):
        os.ftruncate(fd, 0)
        append_whole(fd, header_line(wanted), path)
        return wanted, Loss(0, size) if size else None
    if header is None:
        raise TranscriptError(
            f"{path}: is no transcript, it has no header; write it as one with dump_jsonl(load_jsonl(path), new_path), "
            "or give another path"
        )
    _check(header, wanted, path)
    if rest == 0:
        return header, None
    if is_whole(read_at(fd, size - rest, rest)):
        append_whole(fd, b"\n", path)
        return header, None
    os.ftruncate(fd, size - rest)
    return header, Loss(lines_in(fd), rest)


def _check(header: Header, wanted: Header, path: Path) -> None:
    for name, is_now, asked in (
        ("redacted", header.redacted, wanted.redacted),
        ("form", header.form, header.form if wanted.form is None or header.form is None else wanted.form),
    ):
        if is_now != asked:
            raise TranscriptError(
                f"{path}: line 1: the transcript has {name}={is_now!r}, and {name}={asked!r} was asked for; a file is "
                "one or the other: give another path"
            )
