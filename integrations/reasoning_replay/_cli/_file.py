"""The request that a file holds: the command line's way into `transcripts`' recognition of shapes.

Only what is the command line's own stands here: stdin, and an error in one line that ends with status 2.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from ..transcripts._import_shapes import Found, found_in, value_of
from ..transcripts._jsonl_lines import is_transcript
from ..transcripts._jsonl_load import load_jsonl
from ..transcripts._jsonl_values import TranscriptError
from ._wrong import Wrong

__all__ = ["Found", "read"]


def read(file: str, entry: int | None = None) -> Found:
    """The request in a file; `-` is stdin. `entry` chooses among several, counted from 1; None is the last.

    Raises:
        Wrong: nothing to read, not JSON, or of no known shape.
    """
    name = "stdin" if file == "-" else file
    try:
        text = _text(file)
        if is_transcript(text, name):
            saved = load_jsonl(BytesIO(text.encode()) if file == "-" else file)
            return found_in(list(saved), name, entry=entry, option="--entry", form=saved.form)
        value, lines = value_of(text, name)
        return found_in(value, name, entry=entry, lines=lines, option="--entry")
    except TranscriptError as error:
        raise Wrong(str(error)) from None


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Wrong(
            f"{file}: {error.strerror or 'cannot be read'}; give a JSON or JSONL file, or - for stdin"
        ) from None
    except UnicodeDecodeError:
        raise Wrong(f"{file}: not UTF-8; give a JSON or JSONL file, or - for stdin") from None
