"""Going on with a transcript: its header is looked at, then its end is mended. Nothing is cut before all else fits.

What is cut is what `_jsonl_lines.kept_of` knows as the beginning of a record, or the zero bytes of a power cut. For
anything else the file is left as it is, its mode too: it is another file, or holds what somebody can still read.
"""

from __future__ import annotations

import os
from pathlib import Path

from ._jsonl_files import append_whole, lines_in, read_at, rest_of
from ._jsonl_lines import START, Header, Loss, first_value, header_line, header_of, is_begun_header, kept_of
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
    if header is None and (size == 0 or (rest == size <= _LONGEST and is_begun_header(line))):
        os.ftruncate(fd, 0)
        append_whole(fd, header_line(wanted), path)
        return wanted, Loss(0, size) if size else None
    if header is None:
        raise TranscriptError(f"{path}: is no transcript, {_what(line)}, or give another path; nothing was changed")
    _check(header, wanted, path)
    if rest == 0:
        return header, None
    kept = kept_of(read_at(fd, size - rest, rest))
    if kept is None:
        raise TranscriptError(
            f"{path}: line {lines_in(fd) + 1}: {rest:,} bytes that are no record, and not the beginning of one; take "
            "the line out, or end its records with \\n; nothing was changed"
        )
    if kept < rest:
        os.ftruncate(fd, size - rest + kept)
    if kept:
        append_whole(fd, b"\n", path)
    return header, Loss(lines_in(fd), rest - kept) if kept < rest else None


_FIRST = (
    (START, "its header has more behind it; end the lines with \\n (a tool wrote \\r, or none)"),
    (b"\x1f\x8b", "it is packed with gzip; give dump_jsonl an open gzip file, whole"),
    (b"\xff\xfe", "it is UTF-16; write it as UTF-8"),
    (b"\0", "zero bytes stand at its start, as a power cut leaves them; move it away"),
    (b"", "it has no header; write it as one with dump_jsonl(load_jsonl(path), new_path)"),
)
"""How a file begins that is no transcript → what it is, and what to do. The first that fits."""


def _what(line: bytes) -> str:
    return next(said for start, said in _FIRST if line.startswith(start))


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
