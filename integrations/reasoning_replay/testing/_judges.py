"""The judges of the chat hosts: what each refuses in a history, in the words of the real host.

A judge is a function of the request's body and the host's options to a Verdict. It sees no reply and keeps no state.
What is known of each host, from where and since when, stands in the table JUDGES of `_strict`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ._law import (
    ACCEPTED,
    Refusal,
    Verdict,
    assistants,
    calls_of,
    empty_assistant,
    last_user,
    matches,
    own_key,
    thinking_type,
    unanswered,
)

FILLERS: Final = ("any", "empty", "space")
"""Where sources disagree on the blank filler: both are taken, `""` alone, or any text but `""`."""

UNANSWERED: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
EMPTY: Final = "Invalid assistant message: content or tool_calls must be set"


def openai_error(message: str, *, status: int = 400, param: str | None = None) -> Refusal:
    """The error body that most chat hosts share."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return Refusal(status, {"error": error}, message)


def short_error(message: str) -> Refusal:
    """Moonshot's and Groq's error body."""
    return Refusal(400, {"error": {"message": message, "type": "invalid_request_error"}}, message)


def deepseek_error(message: str) -> Refusal:
    """DeepSeek's error body, as its own package writes it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
    return Refusal(400, {"error": error}, message)


def well_formed(body: Mapping[str, Any], error: Callable[[str], Refusal]) -> Refusal | None:
    """What every chat host asks of a history, whatever its rule on reasoning."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return error("Invalid request: messages must be a non-empty array")
    own = own_key(messages)
    if own is not None:
        return error(f"Unrecognized request argument supplied: messages[{own[0]}].{own[1]}")
    if unanswered(messages) is not None:
        return error(UNANSWERED)
    return error(EMPTY) if empty_assistant(messages) is not None else None


def accepts_fill(value: Any, filler: str) -> bool:
    """Whether a string counts as reasoning under one of the FILLERS. `null` is no value on any host."""
    if not isinstance(value, str):
        return False
    blank = not value.strip()
    return not blank or filler == "any" or (value == "") == (filler == "empty")


# DeepSeek -------------------------------------------------------------------------------------------------------------


def deepseek_v4(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """DeepSeek's own package decides and renders the prompt; the filler modes are ours."""
    shape = well_formed_own_keys(body)
    if shape is not None:
        return Verdict(shape)
    prompt, refused = _deepseek_package(body)
    if refused is not None:
        return Verdict(refused)
    filler = str(options.get("filler", "any"))
    if thinking_off(body) or filler == "any":
        return Verdict(prompt=prompt)
    messages = body["messages"]
    now = [m for i, m in assistants(messages) if i > last_user(messages)]
    if all(accepts_fill(m.get("reasoning_content"), filler) for m in now):
        return Verdict(prompt=prompt)
    return Verdict(deepseek_error("The `reasoning_content` in the thinking mode must be passed back to the API."))


def well_formed_own_keys(body: Mapping[str, Any]) -> Refusal | None:
    """Keys of ours alone: DeepSeek's package judges the rest, and ignores unknown keys as its API does."""
    messages = body.get("messages")
    own = own_key(messages) if isinstance(messages, list) else None
    return own and deepseek_error(f"Unrecognized request argument supplied: messages[{own[0]}].{own[1]}")


def _deepseek_package(body: Mapping[str, Any]) -> tuple[str | None, Refusal | None]:
    """The rendered prompt, or the refusal in the package's own body and words."""
    import deepseek_recipe as recipe

    flash = matches(str(body.get("model", "")), DEEPSEEK_FLASH)
    name, encoding = (
        ("DeepSeek-V4.1-Flash", recipe.DeepseekV41Encoding) if flash else ("DeepSeek-V4-Pro", recipe.DeepseekV4Encoding)
    )
    options = recipe.ConversionOptions().with_reasoning_content_behavior(recipe.ReasoningContentBehavior.Reject)
    try:
        converted = recipe.ChatCompletionRequest({**body, "model": name}).convert(options)
    except recipe.ConversionError as error:
        said = json.loads(error.body)
        return None, Refusal(error.status_code, said, said["error"]["message"])
    except ValueError as error:
        text = str(error).removeprefix("invalid request body: ")
        return None, deepseek_error(f"Failed to deserialize the JSON body into the target type: {text}")
    return str(encoding().render_conversation(converted.conversation).prompt), None


DEEPSEEK_FLASH: Final = ("deepseek-v4.1*", "*flash*")


def thinking_off(body: Mapping[str, Any]) -> bool:
    """Whether the request switches thinking off, in either of DeepSeek's ways."""
    return thinking_type(body) == "disabled" or body.get("reasoning_effort") == "none"


V32_MISSING: Final = (
    "Missing `reasoning_content` field in the assistant message at message index {index}. For more information, "
    "please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
)


def deepseek_v32(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Required after the last user message while thinking is on; earlier turns are ignored."""
    shape = well_formed(body, deepseek_error)
    if shape is not None:
        return Verdict(shape)
    if thinking_off(body):
        return ACCEPTED
    filler, messages = str(options.get("filler", "any")), body["messages"]
    for index, message in assistants(messages):
        if index > last_user(messages) and not accepts_fill(message.get("reasoning_content"), filler):
            return Verdict(deepseek_error(V32_MISSING.format(index=index)))
    return ACCEPTED


R1_PRESENT: Final = (
    "The reasoning_content is an intermediate result for display purposes only and will not be included in the context "
    "for inference. Please remove the reasoning_content from your message to reduce network traffic."
)


def deepseek_r1(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Forbidden everywhere, an empty string included."""
    shape = well_formed(body, deepseek_error)
    if shape is None and any("reasoning_content" in m for _, m in assistants(body["messages"])):
        shape = deepseek_error(R1_PRESENT)
    return Verdict(shape)


# Moonshot -------------------------------------------------------------------------------------------------------------

MOONSHOT_MISSING: Final = (
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}"
)


def moonshot(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Required on every message with tool calls, of all turns, while thinking is on. Unknown keys are ignored."""
    shape = well_formed(body, short_error)
    if shape is not None:
        return Verdict(shape)
    if thinking_type(body) == "disabled":
        return ACCEPTED
    filler = str(options.get("filler", "any"))
    for index, message in assistants(body["messages"]):
        if calls_of(message) and not accepts_fill(message.get("reasoning_content"), filler):
            return Verdict(short_error(MOONSHOT_MISSING.format(index=index)))
    return ACCEPTED


# Groq and Cerebras: closed schemas ------------------------------------------------------------------------------------

CHAT_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
CALL_KEYS: Final = frozenset({"id", "type", "function", "index"})
NULLABLE: Final = frozenset({"function_call", "refusal", "audio"})
"""Keys of OpenAI's own reply that are taken back as null."""


def extra_keys(messages: list[Any], *, also: tuple[str, ...] = ("reasoning",)) -> Iterator[tuple[int, str, str, str]]:
    """Every key that a closed schema does not know: message index, role, path below the message, key.

    `also`: keys of an assistant message beside the common ones.
    """
    for index, message in enumerate(messages):
        role = str(message.get("role"))
        known = CHAT_KEYS.get(role, frozenset()) | (set(also) if role == "assistant" else set())
        for key in message:
            if key not in known and not (key in NULLABLE and message[key] is None):
                yield index, role, "", key
        for place, call in enumerate(calls_of(message)):
            yield from ((index, role, f"tool_calls.{place}", key) for key in call if key not in CALL_KEYS)


def groq(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """A closed schema; `reasoning` only on models that reason, else refused even when empty."""
    messages = body.get("messages")
    if isinstance(messages, list):
        for index, role, path, key in extra_keys(messages):
            where = f"messages.{index}" + (f".{path}" if path else "")
            text = f"'messages.{index}' : for 'role:{role}' the following must be satisfied[('{where}' : property '{key}' is unsupported)]"
            return Verdict(short_error(text))
        for index, message in assistants(messages):
            if "reasoning" in message and not matches(str(body.get("model")), options["reasoning_models"]):
                return Verdict(
                    short_error(f"`messages[{index}].reasoning`: reasoning is not supported with this model")
                )
    return Verdict(well_formed(body, short_error))


def cerebras_error(message: str) -> Refusal:
    """Cerebras answers with the error itself, not with an object around it."""
    body = {
        "message": message,
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
    }
    return Refusal(400, body, message)


def cerebras(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """A closed schema that names every surplus key, one a line; `reasoning` only on models that reason."""
    messages = body.get("messages")
    if isinstance(messages, list):
        reasons = matches(str(body.get("model")), options["reasoning_models"])
        surplus = [
            f"messages.{index}.{role}." + (f"{path}." if path else "") + key
            for index, role, path, key in extra_keys(messages)
        ]
        if not reasons:
            surplus += [f"messages.{i}.assistant.reasoning" for i, m in assistants(messages) if "reasoning" in m]
        if surplus:
            return Verdict(
                cerebras_error("\n".join(f"{place}: property '{place}' is unsupported" for place in surplus))
            )
    return Verdict(well_formed(body, cerebras_error))


# A host that takes everything -----------------------------------------------------------------------------------------


def permissive(body: Mapping[str, Any], options: Mapping[str, Any]) -> Verdict:
    """Refuses only what no host of this kind can take: it is there to record."""
    return Verdict(well_formed(body, openai_error))
