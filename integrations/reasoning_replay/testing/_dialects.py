"""The table of dialects: how a host that speaks one reads a history and writes a reply. `_host` looks up its row here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import (
    _bedrock_case,
    _bedrock_frames,
    _bedrock_voice,
    _claude_voice,
    _gemini_case,
    _gemini_voice,
    _ollama,
    _responses_case,
    _responses_voice,
    _voices,
)
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
        thinking=lambda case: not thinking_off(case.body) and case.body.get("enable_thinking") is not False,
    ),
    "anthropic": Dialect(
        whole=lambda saying: _claude_voice.message(saying.choices[0], saying.model),
        events=lambda saying, whole: _claude_voice.events(whole, saying.reply.pieces),
        calls=lambda row: any(block.get("type") == "tool_use" for block in content_of(row)),
        thinking=lambda case: case.mode in (MANUAL, ADAPTIVE),
        note=_note_claude,
    ),
    "responses": Dialect(
        whole=_responses_voice.response,
        events=_responses_voice.events,
        calls=_responses_case.calls,
        thinking=lambda case: _responses_case.settings_of(case.body).get("effort") != "none",
        rows=_responses_case.rows,
        is_said=lambda row: "items" in row,
        readable=_responses_case.readable,
        spine=_responses_case.spine,
        begins_turn=_responses_case.begins_turn,
        shape=_responses_voice.shape,
        note=_responses_case.note,
        step=_responses_case.step,
    ),
    "ollama": Dialect(
        whole=_ollama.whole,
        events=_ollama.lines,
        calls=lambda row: bool(calls_of(row)),
        thinking=_ollama.thinks,
        note=_ollama.note,
        streams=_ollama.streams,
        media="application/x-ndjson",
        not_found="404 page not found",
    ),
    "gemini": Dialect(
        whole=_gemini_voice.reply,
        events=_gemini_voice.events,
        calls=_gemini_case.calls_tools,
        thinking=_gemini_case.thinks,
        rows=_gemini_case.rows_of,
        is_said=_gemini_case.is_model,
        readable=_gemini_case.readable,
        spine=_gemini_case.spine,
        begins_turn=_gemini_case.begins_turn,
        note=_gemini_voice.note,
        streams=_gemini_case.streams,
    ),
    "bedrock": Dialect(
        whole=_bedrock_voice.reply,
        events=_bedrock_voice.events,
        calls=_bedrock_case.calls_tools,
        thinking=_bedrock_case.thinks,
        tools=_bedrock_case.has_tools,
        readable=_bedrock_case.readable,
        spine=_bedrock_case.spine,
        begins_turn=_bedrock_case.begins_turn,
        note=_bedrock_voice.note,
        streams=lambda case: case.path.endswith("-stream"),
        media=_bedrock_frames.MEDIA,
    ),
}
