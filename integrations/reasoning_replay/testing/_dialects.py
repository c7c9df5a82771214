"""The table of dialects: how a host that speaks one reads a history and writes a reply. `_host` looks up its row here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import _claude_voice, _voices
from ._claude_case import ADAPTIVE, MANUAL, content_of
from ._dialect import Dialect, Saying
from ._judges import thinking_off
from ._law import calls_of


def _chat_whole(saying: Saying) -> dict[str, Any]:
    return _voices.completion(saying.choices, saying.voice, saying.model)


def _chat_events(saying: Saying, whole: dict[str, Any]) -> Iterator[str | bytes]:
    asked = (saying.case.body.get("stream_options") or {}).get("include_usage")
    tail = saying.reply.tail or bool(asked)
    return _voices.chunks(saying.choices, saying.voice, saying.model, pieces=saying.reply.pieces, tail=tail)


def _note_claude(saying: Saying, whole: dict[str, Any]) -> None:
    saying.case.memory.note(saying.choices[0], saying.case)


DIALECTS: Final[Mapping[str, Dialect]] = {
    "chat": Dialect(
        whole=_chat_whole,
        events=_chat_events,
        calls=lambda row: bool(calls_of(row)),
        thinking=lambda case: not thinking_off(case.body),
    ),
    "anthropic": Dialect(
        whole=lambda saying: _claude_voice.message(saying.choices[0], saying.model),
        events=lambda saying, whole: _claude_voice.events(whole, saying.reply.pieces),
        calls=lambda row: any(block.get("type") == "tool_use" for block in content_of(row)),
        thinking=lambda case: case.mode in (MANUAL, ADAPTIVE),
        note=_note_claude,
    ),
}
