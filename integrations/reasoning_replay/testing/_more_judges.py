"""The judges of further chat hosts: OpenAI's own chat API, Azure, xAI, Fireworks, Together and DashScope.

A judge is a function of the request's body and the host's options to a Verdict, as in `_judges`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._claude_case import Case
from ._judges import extra_keys, openai_error, short_error, thinking_off, well_formed
from ._law import ACCEPTED, Refusal, Verdict, assistants, matches

OPENAI_KEYS: Final = ("function_call", "refusal", "audio", "annotations")
OPENAI_PARTS: Final = ("text", "image_url", "input_audio", "refusal", "file")
UNKNOWN_KEY: Final = "Unknown parameter: 'messages[{index}].{path}{key}'."
UNKNOWN_PART: Final = (
    "Invalid value: '{kind}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'."
)


def unknown_parameter(text: str, param: str) -> Refusal:
    """OpenAI's error body for a key that it does not know."""
    error = {"message": text, "type": "invalid_request_error", "param": param, "code": "unknown_parameter"}
    return Refusal(400, {"error": error}, text)


def openai(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """A closed schema without any reasoning key. Seen for other keys; for `reasoning_content` it is inferred."""
    messages = body.get("messages")
    if isinstance(messages, list):
        for index, _, path, key in extra_keys(messages, also=OPENAI_KEYS):
            at = f"{path.replace('.', '[')}]." if path else ""
            text = UNKNOWN_KEY.format(index=index, path=at, key=key)
            return Verdict(unknown_parameter(text, f"messages[{index}].{at}{key}"))
        kind = foreign_part(messages)
        if kind is not None:
            return Verdict(openai_error(UNKNOWN_PART.format(kind=kind)))
    return Verdict(well_formed(body, openai_error))


def foreign_part(messages: list[Any]) -> str | None:
    """The type of the first content part that no chat API knows."""
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") not in OPENAI_PARTS:
                return str(part.get("type"))
    return None


# Azure: many vendors' models at one resource --------------------------------------------------------------------------

AZURE_EXTRA: Final = "Extra inputs are not permitted"
MISSING: Final = "The `reasoning_content` in the thinking mode must be passed back to the API."


def azure(case: Case, options: Mapping[str, Any]) -> Verdict:
    """OpenAI's models take no reasoning key, other vendors' take one where the model needs it, and DeepSeek V4 wants it."""
    body, model = case.body, case.model
    messages = body.get("messages")
    if not isinstance(messages, list):
        return Verdict(well_formed(body, openai_error))
    takes = ("reasoning_content",) if matches(model, options["reasoning_models"]) else OPENAI_KEYS
    if any(True for _ in extra_keys(messages, also=takes)):
        return Verdict(openai_error(AZURE_EXTRA))
    shape = well_formed(body, openai_error)
    if (
        shape is not None
        or not matches(model, options["requiring_models"])
        or thinking_off(body)
        or not body.get("tools")
    ):
        return Verdict(shape)
    missing = any(not isinstance(m.get("reasoning_content"), str) for _, m in assistants(messages))
    return Verdict(openai_error(MISSING)) if missing else ACCEPTED


# xAI ------------------------------------------------------------------------------------------------------------------

XAI_PARAMETER: Final = "Model {model} does not support parameter {name}."


def xai(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Message keys are ignored; `reasoning_effort` is refused on models that have no efforts."""
    model = str(body.get("model", ""))
    if "reasoning_effort" in body and matches(model, options["effortless_models"]):
        text = XAI_PARAMETER.format(model=model, name="reasoningEffort")
        return Verdict(Refusal(400, {"code": "invalid-argument", "error": text}, text))
    return Verdict(well_formed(body, openai_error))


# Fireworks ------------------------------------------------------------------------------------------------------------

FIREWORKS_EXTRA: Final = "Extra inputs are not permitted, field: 'messages[{index}].{path}{key}'"


def fireworks(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """A closed schema that knows `reasoning_content` and no other reasoning key."""
    messages = body.get("messages")
    if isinstance(messages, list):
        for index, _, path, key in extra_keys(messages, also=("reasoning_content",)):
            at = f"{path.replace('.', '[')}]." if path else ""
            return Verdict(openai_error(FIREWORKS_EXTRA.format(index=index, path=at, key=key)))
    return Verdict(well_formed(body, openai_error))


# Hosts that ignore what they do not know ------------------------------------------------------------------------------


def together(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Unknown keys are ignored."""
    return Verdict(well_formed(body, openai_error))


STREAM_ONLY: Final = "This model only support stream mode, please enable the stream parameter to access the model. "


def dashscope(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Unknown keys are ignored; some models stream only."""
    if not body.get("stream") and matches(str(body.get("model", "")), options["streaming_models"]):
        error = {
            "message": STREAM_ONLY,
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_parameter_error",
        }
        return Verdict(Refusal(400, {"error": error}, STREAM_ONLY))
    return Verdict(well_formed(body, short_error))
