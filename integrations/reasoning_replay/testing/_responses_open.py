"""The judges of servers for open models that speak Responses: vLLM's, and llama.cpp's in its own words.

Nothing is sealed there and nothing is stored: reasoning is text in an item's `content`. What llama.cpp refuses was tried on the
real server (tests/judges/test_llama_server.py asks both the same); vLLM needs a machine that this project has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ._claude_case import Case
from ._law import ACCEPTED, Refusal, Verdict
from ._responses_case import CALLS, OUTPUTS, items_of, kind_of

VLLM_SEALED: Final = "Encrypted content is not supported. (parameter=input)"
VLLM_NO_SUMMARY: Final = "{at}.summary: Field required"
LLAMA_PREVIOUS: Final = "llama.cpp does not support 'previous_response_id'."
LLAMA_KIND: Final = "Cannot determine type of 'item'"
LLAMA_NO_LIST: Final = "item['content'] is not an array"
LLAMA_EMPTY: Final = "item['content'] is empty"
LLAMA_UNANSWERED: Final = "Cannot continue an assistant message that contains tool calls."


def vllm_error(text: str, status: int = 400, kind: str = "BadRequestError") -> Refusal:
    """The error body of vLLM: the status stands in it once more."""
    return Refusal(status, {"error": {"message": text, "type": kind, "param": None, "code": status}}, text)


def llama_error(text: str, status: int = 400, kind: str = "invalid_request_error") -> Refusal:
    """The error body of llama.cpp."""
    return Refusal(status, {"error": {"code": status, "message": text, "type": kind}}, text)


def vllm(case: Case, options: Mapping[str, Any]) -> Verdict:
    """Sealed content is an error, whoever wrote it; a reasoning item has a summary. Keys of others are ignored."""
    for index, item in enumerate(items_of(case.body)):
        if kind_of(item) != "reasoning":
            continue
        if not isinstance(item.get("summary"), list):
            return Verdict(vllm_error(VLLM_NO_SUMMARY.format(at=f"input.{index}")))
        if item.get("encrypted_content") not in (None, ""):
            return Verdict(vllm_error(VLLM_SEALED))
    return ACCEPTED


def llama(case: Case, options: Mapping[str, Any]) -> Verdict:
    """Every item of a kind that it knows, reasoning with text in its content, and no call left open at the end."""
    items = items_of(case.body)
    if case.body.get("previous_response_id") is not None:
        return Verdict(llama_error(LLAMA_PREVIOUS))
    text = next((text for item in items if (text := _refused(item)) is not None), None)
    if text is None and items and kind_of(items[-1]) in CALLS:
        text = LLAMA_UNANSWERED
    return Verdict(llama_error(text) if text is not None else None)


def _refused(item: Mapping[str, Any]) -> str | None:
    check = _KINDS.get(kind_of(item))
    return LLAMA_KIND if check is None else check(item)


def _message(item: Mapping[str, Any]) -> str | None:
    """A message of the model's own has its type and a list of parts; any other may be a text."""
    told = item.get("type") == "message" and isinstance(item.get("content"), list)
    return None if told or item.get("role") != "assistant" else LLAMA_KIND


def _reasoning(item: Mapping[str, Any]) -> str | None:
    content = item.get("content")
    if "summary" not in item:
        return LLAMA_KIND
    if not isinstance(content, list):
        return LLAMA_NO_LIST
    return None if content else LLAMA_EMPTY


def _taken(item: Mapping[str, Any]) -> None:
    return None


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "message": _message,
    "reasoning": _reasoning,
    **dict.fromkeys((*CALLS, *OUTPUTS), _taken),
}
