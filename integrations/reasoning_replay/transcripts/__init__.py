"""Long conversations: cut, save, count, show, redact and repair a history without breaking its reasoning.

Every door takes the messages of any form, as `prepare` does, and changes nothing that it is given. What a host takes
stands in its rule; nothing here names a host. The doors of frameworks that use these are in `litellm` and `langchain`.
By the beginning of their names: `_segments`, `_bound`, `_trim` cut; `_count` counts; `_jsonl` saves; `_import` takes
in; `_readable` shows, `_redact` hides; `_repair` heals.
"""

from __future__ import annotations

from ._count import Count, count_tokens, counted
from ._import import Imported, import_history
from ._jsonl import TranscriptWriter, dump_jsonl
from ._jsonl_lines import Loss, LostRecord
from ._jsonl_load import Transcript, load_jsonl
from ._jsonl_values import TranscriptError
from ._readable import readable
from ._redact import redact
from ._repair import Repaired, repair
from ._segments import Segment, segments
from ._trim import CannotTrim, trim

__all__ = [
    "CannotTrim",
    "Count",
    "Imported",
    "Loss",
    "LostRecord",
    "Repaired",
    "Segment",
    "Transcript",
    "TranscriptError",
    "TranscriptWriter",
    "count_tokens",
    "counted",
    "dump_jsonl",
    "import_history",
    "load_jsonl",
    "readable",
    "redact",
    "repair",
    "segments",
    "trim",
]
