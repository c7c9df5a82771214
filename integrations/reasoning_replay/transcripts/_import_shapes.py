"""What JSON holds, by its shape: messages, how they are written, and the parameters of the request.

A shape is a row of SHAPES (what stands around the messages) or of FORMS (how the messages are written); the first that
fits decides. What fits none is an error that says what was found. It reads no value of a message but its types.
Read by `import_history`, `load_jsonl` and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..forms import as_mapping, named
from ._jsonl_values import TranscriptError, is_langchain

KNOWN = (
    "known are a list of messages (OpenAI, Anthropic, Gemini, Converse, Ollama, LangChain's messages_to_dict), a list "
    "of Responses items, a request's body with 'messages', 'input' or 'contents', and a LiteLLM log"
)


class Found(NamedTuple):
    """A request as a file has it."""

    messages: list[Any]
    """Their fields: LangChain's dumps and objects are opened."""
    form: str
    """`chat`, `litellm`, or the name of another form."""
    request: Mapping[str, Any] | None
    """The call's parameters; None where the file holds messages alone."""
    model: str | None
    what: str
    """What the file was taken for, in words."""
    reply: Mapping[str, Any] | None = None
    """What the model answered, where a log says it."""


class _Around(NamedTuple):
    """What stands around the messages: a row of SHAPES."""

    what: str
    fits: Callable[[Mapping[str, Any]], bool]
    key: str
    """Of the messages."""
    parameters: Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _given(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _less(*keys: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda body: {key: value for key, value in body.items() if key not in keys}


_LOG = "a LiteLLM log"
_REDUNDANT = ("messages", "input", "contents", "model")
_LITELLM_CALL = ("litellm_params", "optional_params", "litellm_call_id", "custom_llm_provider")


def _is_log(body: Mapping[str, Any]) -> bool:
    return "messages" in body and "model_parameters" in body


SHAPES: tuple[_Around, ...] = (
    _Around(_LOG, _is_log, "messages", lambda body: _given(body.get("model_parameters"))),
    _Around(
        "LiteLLM's arguments of a call",
        lambda body: "messages" in body and any(key in body for key in _LITELLM_CALL),
        "messages",
        lambda body: {**_given(body.get("optional_params")), **{k: body[k] for k in ("tools",) if k in body}},
    ),
    _Around("a body with contents", lambda body: "contents" in body, "contents", _less(*_REDUNDANT)),
    _Around("a Responses body", lambda body: "input" in body and "type" not in body, "input", _less(*_REDUNDANT)),
    _Around("a body with messages", lambda body: "messages" in body, "messages", _less(*_REDUNDANT)),
)
"""First match decides: what a body of LiteLLM's has besides `messages` tells it from a request's."""

WRAPPED = ("standard_logging_object", "body", "request", "kwargs")
"""Keys that hold a request's body: LiteLLM's arguments of a call, a line of a batch, a proxy's own log."""

REPLIES = ("choices", "output", "candidates", "generations")
"""Keys that only replies have."""


def value_of(text: str, name: str) -> tuple[Any, bool]:
    """The value of a JSON text, or the list of a JSONL text's values; and whether it was lines.

    Raises:
        TranscriptError: neither; it names the line.
    """
    if not text.strip():
        raise TranscriptError(f"{name}: empty; give JSON or JSONL: {KNOWN}")
    try:
        return json.loads(text), False
    except ValueError as whole:
        found = []
        rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        for number, line in rows:
            try:
                found.append(json.loads(line))
            except ValueError as error:
                first = whole if not found else error
                at = f"line {getattr(first, 'lineno', 1) if not found else number}"
                raise TranscriptError(
                    f"{name}: {at} is not JSON ({_fault(first)}); give a JSON or JSONL file"
                ) from None
        return found, True


def _fault(error: ValueError) -> str:
    """What the parser says, without a word of the text."""
    return str(getattr(error, "msg", type(error).__name__))


def found_in(
    value: Any,
    name: str,
    *,
    entry: int | None = None,
    lines: bool = False,
    option: str = "entry",
    form: str | None = None,
) -> Found:
    """The request that parsed JSON holds.

    Args:
        entry: which of several requests, counted from 1; None is the last.
        lines: whether `value` is the list of a JSONL file's values.
        option: what the caller calls `entry`.
        form: how the messages are written; None: it is seen by their shape.

    Raises:
        TranscriptError: of no known shape.
    """
    if isinstance(value, list) and value and all(isinstance(one, Mapping) and is_body(one) for one in value):
        number = len(value) if entry is None else entry
        if not 1 <= number <= len(value):
            raise TranscriptError(
                f"{name}: no entry {number}; it has {len(value)} requests: give {option} 1 to {len(value)}"
            )
        where = f"{name}, {'line' if lines else 'entry'} {number} of {len(value)}" if len(value) > 1 else name
        return _body(value[number - 1], where, form)
    if entry is not None:
        raise TranscriptError(f"{name}: holds one request; leave {option} out")
    if isinstance(value, Mapping):
        return _body(value, name, form)
    return _messages(value, name, Found([], form or "", None, None, "messages"), {})


def is_body(value: Mapping[str, Any]) -> bool:
    """Whether it is a request's body, or wraps one; a message is none."""
    named = any(key in value for key in ("messages", "contents")) or ("input" in value and "type" not in value)
    return named or _inside(value) is not None


def _inside(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The body that a log wraps; None where it is none."""
    for key in WRAPPED:
        inner = value.get(key)
        if isinstance(inner, Mapping) and is_body(inner):
            return inner
    return None


def _body(body: Mapping[str, Any], name: str, form: str | None) -> Found:
    inner = _inside(body)
    around = next((shape for shape in SHAPES if shape.fits(body)), None)
    if inner is not None and (around is None or WRAPPED[0] in body):
        return _body(inner, name, form)
    if around is None:
        keys = _keys(body)
        if any(key in body for key in REPLIES) or ("content" in body and "role" in body):
            raise TranscriptError(
                f"{name}: a reply or one message (keys {keys}); give the list of messages, or the request's body"
            )
        raise TranscriptError(f"{name}: an object with the keys {keys}; {KNOWN}")
    model = body.get("model") or body.get("modelId")
    held = body[around.key]
    if isinstance(held, str) and around.key == "input":
        held = [{"role": "user", "content": held}]
    said = model if isinstance(model, str) else None
    beside = body if around.key == "input" else _less("input")(body)  # LiteLLM notes what it sends under that key too
    reply = _given(body.get("response")) if around.what == _LOG else {}
    told = Found([], form or "", around.parameters(body), said, around.what, reply if "choices" in reply else None)
    return _messages(held, name, told, beside)


def _messages(held: Any, name: str, told: Found, body: Mapping[str, Any]) -> Found:
    """What was found, with the messages and their form; `told` is all else, its form the caller's word."""
    if not isinstance(held, list):
        hint = (
            "; LiteLLM was told to leave the messages out of its logs" if isinstance(held, str) and told.request else ""
        )
        raise TranscriptError(
            f"{name}: {told.what}, where a {type(held).__name__} stands for the list of messages{hint}; {KNOWN}"
        )
    if not held:
        raise TranscriptError(f"{name}: no message in it; {KNOWN}")
    rows = []
    for number, message in enumerate(held):
        row = message.__dict__ if is_langchain(message) else as_mapping(message)
        if row is None:
            raise TranscriptError(
                f"{name}: message {number} is a {type(message).__name__}; allowed: an object; {KNOWN}"
            )
        rows.append(opened(row))
    form = told.form or recognised(rows, body)
    if form is None:
        keys = _keys(rows[0])
        raise TranscriptError(f"{name}: message 0 has the keys {keys}, and no 'role'; {KNOWN}")
    return told._replace(messages=rows, form=form)


def _keys(row: Mapping[str, Any]) -> str:
    return ", ".join(map(named, list(row)[:8])) or "none"


def opened(message: Mapping[str, Any]) -> Any:
    """LangChain's dumps as the dict of a message's fields; anything else as it is."""
    data = message.get("data")
    if isinstance(data, Mapping) and isinstance(message.get("type"), str) and "content" in data:
        return {"additional_kwargs": {}, "response_metadata": {}, **data, "type": data.get("type", message["type"])}
    kwargs = message.get("kwargs")
    if "lc" in message and isinstance(kwargs, Mapping) and "type" in kwargs:
        return {"additional_kwargs": {}, "response_metadata": {}, **kwargs}
    return message


# How messages are written ---------------------------------------------------------------------------------------------

Rows = Sequence[Mapping[str, Any]]


def _blocks(rows: Rows) -> list[Mapping[str, Any]]:
    lists = [row["content"] for row in rows if isinstance(row.get("content"), list)]
    return [block for blocks in lists for block in blocks if isinstance(block, Mapping)]


def _types(rows: Rows) -> set[Any]:
    return {block.get("type") for block in _blocks(rows) if isinstance(block.get("type"), str)}


def _is_langchain(rows: Rows, body: Mapping[str, Any]) -> bool:
    return all("additional_kwargs" in row and "type" in row for row in rows)


def _is_gemini(rows: Rows, body: Mapping[str, Any]) -> bool:
    return all("parts" in row for row in rows)


ITEMS = {"reasoning", "function_call", "function_call_output", "item_reference", "compaction", "custom_tool_call"}
ITEM_PARTS = {"input_text", "output_text", "input_image", "input_file"}


def _is_responses(rows: Rows, body: Mapping[str, Any]) -> bool:
    kinds = {row.get("type") for row in rows if isinstance(row.get("type"), str)}
    return "input" in body or not kinds.isdisjoint(ITEMS) or not _types(rows).isdisjoint(ITEM_PARTS)


def _roles(rows: Rows) -> set[Any]:
    return {row.get("role") for row in rows if isinstance(row.get("role"), str)}


def _is_bedrock(rows: Rows, body: Mapping[str, Any]) -> bool:
    bare = [block for block in _blocks(rows) if "type" not in block]
    return bool(bare) and _roles(rows) <= {"user", "assistant"}


CLAUDE_BLOCKS = {"tool_use", "tool_result", "redacted_thinking"}
CLAUDE_KEYS = ("system", "anthropic_version", "anthropic_beta", "context_management")


def _is_anthropic(rows: Rows, body: Mapping[str, Any]) -> bool:
    if not _roles(rows) <= {"user", "assistant", "system"} or any("tool_calls" in row for row in rows):
        return False
    thinks = any(isinstance(block.get("thinking"), str) for block in _blocks(rows))
    tools = body.get("tools")
    schemas = isinstance(tools, list) and any(isinstance(one, Mapping) and "input_schema" in one for one in tools)
    return thinks or schemas or not _types(rows).isdisjoint(CLAUDE_BLOCKS) or any(key in body for key in CLAUDE_KEYS)


OLLAMA_KEYS = ("keep_alive", "think", "options")


def _is_ollama(rows: Rows, body: Mapping[str, Any]) -> bool:
    said = any(isinstance(row.get("thinking"), str) or "tool_name" in row for row in rows)
    lists = [row["tool_calls"] for row in rows if isinstance(row.get("tool_calls"), list)]
    calls = [call for made in lists for call in made if isinstance(call, Mapping)]
    whole = any(isinstance(_given(call.get("function")).get("arguments"), Mapping) for call in calls)
    return said or whole or any(key in body for key in OLLAMA_KEYS)


LITELLM_KEYS = ("thinking_blocks", "reasoning_items")
MARKED = "reasoning_replay"


def _is_litellm(rows: Rows, body: Mapping[str, Any]) -> bool:
    fields = [_given(row.get("provider_specific_fields")) for row in rows]
    return any(key in row for row in rows for key in LITELLM_KEYS) or any(set(each) - {MARKED} for each in fields)


FORMS: tuple[tuple[str, Callable[[Rows, Mapping[str, Any]], bool]], ...] = (
    ("langchain", _is_langchain),
    ("gemini", _is_gemini),
    ("responses", _is_responses),
    ("bedrock", _is_bedrock),
    ("anthropic", _is_anthropic),
    ("ollama", _is_ollama),
    ("litellm", _is_litellm),
    ("chat", lambda rows, body: all("role" in row for row in rows)),
)
"""Form → whether messages are written in it; the first that fits decides, so the ones with marks of their own stand
before chat, which any list of roles is."""


def recognised(rows: Rows, body: Mapping[str, Any] = MappingProxyType({})) -> str | None:
    """The form that messages are written in, with what stands beside them in a body; None where it is none."""
    return next((form for form, fits in FORMS if fits(rows, body)), None)
