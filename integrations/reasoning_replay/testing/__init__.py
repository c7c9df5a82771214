"""Strict hosts, a real llama.cpp server, and fixtures: what proves that reasoning goes where it belongs.

Needs the extra `testing`. The pytest fixtures are opt-in: `pytest_plugins = ["reasoning_replay.testing.plugin"]`.
"""

from ._capture import Captures, capture_plans
from ._host import Captured, StrictHost, strict_host
from ._llama import LlamaServer, llama_server
from ._prompts import Prompt, prompts
from ._script import AUTO, Call, Part, Reply, Sealed, Summary, Text, Think, Turn, call, sealed, think
from ._search import Foreign, Moved, aliases, canaries_in, foreign_bytes, moved_prefixes
from ._strict import JUDGES

__all__ = [
    "AUTO",
    "JUDGES",
    "Call",
    "Captured",
    "Captures",
    "Foreign",
    "LlamaServer",
    "Moved",
    "Part",
    "Prompt",
    "Reply",
    "Sealed",
    "StrictHost",
    "Summary",
    "Text",
    "Think",
    "Turn",
    "aliases",
    "call",
    "canaries_in",
    "capture_plans",
    "foreign_bytes",
    "llama_server",
    "moved_prefixes",
    "prompts",
    "sealed",
    "strict_host",
    "think",
]
