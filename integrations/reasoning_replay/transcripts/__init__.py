"""Long conversations: cut, save, count, show, redact and repair a history without breaking its reasoning.

Every door takes the messages of any form, as `prepare` does, and changes nothing that it is given. What a host takes
stands in its rule; nothing here names a host. The doors of frameworks that use these are in `litellm` and `langchain`.
"""

from __future__ import annotations

from ._count import Count, count_tokens, counted
from ._redact import redact
from ._segments import Segment, segments

__all__ = ["Count", "Segment", "count_tokens", "counted", "redact", "segments"]
