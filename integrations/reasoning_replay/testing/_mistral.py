"""The judge of the Mistral host: extra keys by Mistral's own package, the shape of chunks by ours.

`mistral-common` knows the API's closed schema and its words. It writes a thinking chunk as a string where the API's SDK
writes a list of text chunks, so chunks are judged here and handed to the package in its own form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ._judges import openai_error, well_formed
from ._law import Refusal, Verdict, assistants, matches

REASONING: Final = (
    "magistral*",
    "mistral-small-2603*",
    "mistral-small-latest",
    "mistral-medium-3-5*",
    "mistral-large-4*",
)
CHUNK_KEYS: Final = frozenset({"type", "thinking", "closed", "signature"})
FORBIDDEN: Final = "Extra inputs are not permitted"


def judge(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """422 with the package's findings, each at its place in the body."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, Mapping) for m in messages):
        return Verdict(openai_error("Input should be a valid list"))
    findings = [*_chunk_findings(messages, str(body.get("model", "")), options), *_package_findings(messages)]
    if findings:
        return Verdict(Refusal(422, {"detail": findings}, _text(findings)))
    return Verdict(well_formed(body, mistral_error))


def mistral_error(message: str) -> Refusal:
    """Mistral's error body for a history that is well typed and wrong."""
    body = {"object": "error", "message": message, "type": "invalid_request_message", "param": None, "code": "3230"}
    return Refusal(400, body, message)


def _text(findings: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{'.'.join(str(p) for p in f['loc'])}: {f['msg']}" for f in findings)


def _package_findings(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from pydantic import ValidationError

    try:
        ChatCompletionRequest.model_validate({"model": "m", "messages": [_without_thinking(m) for m in messages]})
    except ValidationError as error:
        return [
            {"type": e["type"], "loc": ["body", *e["loc"]], "msg": e["msg"], "input": e["input"]}
            for e in error.errors(include_url=False, include_context=False)
        ]
    return []


def _without_thinking(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list) or message.get("role") != "assistant":
        return dict(message)
    return {**message, "content": [c for c in content if not _is_thinking(c)] or ""}


def _is_thinking(chunk: Any) -> bool:
    return isinstance(chunk, Mapping) and chunk.get("type") == "thinking"


def _chunk_findings(messages: Sequence[Any], model: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = []
    for index, message in assistants(messages):
        content = message.get("content")
        for place, chunk in enumerate(content if isinstance(content, list) else []):
            loc = ["body", "messages", index, "assistant", "content", place]
            if not _is_thinking(chunk):
                continue
            if not matches(model, options["reasoning_models"]):
                text = "Thinking chunks are not supported by this model"
                findings.append({"type": "value_error", "loc": loc, "msg": text, "input": chunk})
            findings += [
                {"type": "extra_forbidden", "loc": [*loc, "thinking", key], "msg": FORBIDDEN, "input": chunk[key]}
                for key in chunk
                if key not in CHUNK_KEYS
            ]
            inner = chunk.get("thinking")
            if not isinstance(inner, list) or any(
                not isinstance(c, Mapping) or set(c) != {"type", "text"} for c in inner
            ):
                findings.append(
                    {
                        "type": "list_type",
                        "loc": [*loc, "thinking"],
                        "msg": "Input should be a valid list",
                        "input": inner,
                    }
                )
    return findings
