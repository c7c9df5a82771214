"""The request that a file holds: the command line's way into `transcripts`' recognition of shapes.

Only what is the command line's own stands here: stdin, and an error in one line that ends with status 2.
"""

from __future__ import annotations

import sys
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

from ..transcripts._import_shapes import Found, found_in, value_of
from ..transcripts._jsonl_lines import is_transcript
from ..transcripts._jsonl_load import load_jsonl
from ..transcripts._jsonl_values import TranscriptError
from ._wrong import Wrong, in_one_line

__all__ = ["Found", "read"]

FIRST_BYTES = {
    b"\xff\xfe": "UTF-16, as PowerShell's > writes it, and not UTF-8: Out-File -Encoding utf8 does",
    b"\xfe\xff": "UTF-16, not UTF-8",
    b"\x1f\x8b": "packed with gzip; unpack it",
}
"""How files begin that people hand in and that are not UTF-8."""


def read(file: str, entry: int | None = None) -> Found:
    """The request in a file; `-` is stdin. `entry` chooses among several, counted from 1; None is the last.

    Raises:
        Wrong: nothing to read, not JSON, or of no known shape.
    """
    name = "stdin" if file == "-" else file
    try:
        text = _text(file)
        if is_transcript(text, name):
            rows, form = _saved(BytesIO(text.encode()) if file == "-" else file)
            return found_in(rows, name, entry=entry, option="--entry", form=form)
        value, lines = value_of(text, name)
        return found_in(value, name, entry=entry, lines=lines, option="--entry")
    except TranscriptError as error:
        raise Wrong(str(error)) from None


def _saved(file: str | BytesIO) -> tuple[list[Any], str | None]:
    """A transcript's messages and how they are written; a last record that was cut off is told in one line."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        saved = load_jsonl(file)
        rows = list(saved)
    for one in told:
        print(f"reasoning-replay explain: {in_one_line(one.message)}", file=sys.stderr)
    return rows, saved.form


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Wrong(
            f"{file}: {error.strerror or 'cannot be read'}; give a JSON or JSONL file, or - for stdin"
        ) from None
    except UnicodeDecodeError:
        what = next((said for first, said in FIRST_BYTES.items() if raw.startswith(first)), "not UTF-8")
        raise Wrong(f"{file}: {what}; give a JSON or JSONL file, or - for stdin") from None
