"""The judge of the Responses hosts: what each refuses in the items of a request, in the words of the real API.

A host can open its own encrypted content and knows which id it belongs to; of what it stored it remembers which item
followed which. The texts of pairs, of unknown ids and of encrypted content are the evidence's; a call without its output and
the like are the API's usual words, seen in public issues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ._claude_case import Case
from ._law import ACCEPTED, Refusal, Verdict
from ._responses_case import CALLS, OUTPUTS, history, is_said, items_of, kept, kind_of, places
from ._responses_voice import reasoning_id

ITEM_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "message": frozenset({"type", "id", "role", "content", "status", "phase"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content"}),
    "function_call": frozenset(
        {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller", "async"}
    ),
    "function_call_output": frozenset({"type", "id", "call_id", "output", "status", "name", "namespace", "caller"}),
    "custom_tool_call": frozenset({"type", "id", "call_id", "name", "input", "status", "namespace", "caller"}),
    "custom_tool_call_output": frozenset({"type", "id", "call_id", "output", "status", "caller"}),
    "item_reference": frozenset({"type", "id"}),
    "compaction": frozenset({"type", "id", "encrypted_content"}),
}
"""`openai` 3.57.0's types, less `status` on reasoning: openai refuses it (BerriAI/litellm#13420, 1jehuang/jcode#1028)."""
PART_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "output_text": frozenset({"type", "text", "annotations", "logprobs"}),
    "refusal": frozenset({"type", "refusal"}),
    "summary_text": frozenset({"type", "text"}),
    "reasoning_text": frozenset({"type", "text"}),
    "input_text": frozenset({"type", "text", "prompt_cache_breakpoint"}),
    "input_image": frozenset({"type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"}),
    "input_file": frozenset(
        {"type", "file_id", "file_data", "file_url", "filename", "detail", "prompt_cache_breakpoint"}
    ),
}
PREFIXES: Final[Mapping[str, str]] = {"reasoning": "rs", "message": "msg", "function_call": "fc"}
LONGEST_ID: Final = 64

FOLLOWING: Final = "Item '{id}' of type 'reasoning' was provided without its required following item."
REASONING: Final = "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{needs}'."
NOT_FOUND: Final = (
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to "
    "true, or remove this item from your input."
)
UNVERIFIED: Final = "The encrypted content {short} could not be verified. Reason: {reason}"
UNREADABLE: Final = "Encrypted content could not be decrypted or parsed."
OTHER_ID: Final = "Encrypted content item_id did not match the target item id."
XAI_UNREADABLE: Final = (
    "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous "
    "response."
)
NO_SCHEMA: Final = "The provided data does not match the expected schema"
SEALED: Final = "invalid_encrypted_content"
DUPLICATE: Final = "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
PREVIOUS: Final = "Previous response with id '{id}' not found."
UNKNOWN: Final = "Unknown parameter: '{at}'."
MISSING: Final = "Missing required parameter: '{at}'."
INVALID: Final = "Invalid value: '{value}'. Supported values are: {known}."
PREFIX: Final = "Invalid '{at}': '{id}'. Expected an ID that begins with '{prefix}'."
TOO_LONG: Final = "Invalid '{at}': string too long. Expected a string with maximum length 64, but got a string with length {length} instead."
NO_OUTPUT: Final = "No tool output found for function call {id}."
NO_CALL: Final = "No tool call found for function call output with call_id {id}."


def error(text: str, *, status: int = 400, code: str | None = None, param: str | None = "input") -> Refusal:
    """The API's error body."""
    return Refusal(
        status, {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}, text
    )


def unavailable(status: int) -> Refusal:
    """How the host says that it is out of order."""
    text = "The server had an error while processing your request. Sorry about that!"
    return Refusal(status, {"error": {"message": text, "type": "server_error", "param": None, "code": None}}, text)


Check = Callable[[Case, Mapping[str, Any]], Refusal | None]


# A closed schema ------------------------------------------------------------------------------------------------------


def previous(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """A conversation that lives elsewhere, or was not stored."""
    asked = case.body.get("previous_response_id")
    if asked is None or isinstance(case.memory.by_id.get(asked), list):
        return None
    return error(PREVIOUS.format(id=asked), code="previous_response_not_found", param="previous_response_id")


def typed(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """No item type, key or part that the API does not know."""
    if not items_of(case.body):
        return error(MISSING.format(at="input"), code="missing_required_parameter")
    closed = {kind: keys - options["refused_keys"].get(kind, frozenset()) for kind, keys in ITEM_KEYS.items()}
    for index, item in places(case):
        kind = kind_of(item)
        if kind not in closed:
            return error(
                INVALID.format(value=kind, known=_listed(closed)), code="invalid_value", param=f"input[{index}]"
            )
        for key in item:
            if key not in closed[kind]:
                return _unknown(f"input[{index}].{key}")
        if kind == "reasoning" and not isinstance(item.get("summary"), list):
            return error(MISSING.format(at=f"input[{index}].summary"), code="missing_required_parameter")
        found = _parts(index, item)
        if found is not None:
            return found
    return None


def _parts(index: int, item: Mapping[str, Any]) -> Refusal | None:
    for field in ("content", "summary"):
        parts = item.get(field)
        for place, part in enumerate(parts if isinstance(parts, list) else ()):
            at, kind = f"input[{index}].{field}[{place}]", part.get("type")
            if kind not in PART_KEYS:
                return error(INVALID.format(value=kind, known=_listed(PART_KEYS)), code="invalid_value", param=at)
            for key in part:
                if key not in PART_KEYS[kind]:
                    return _unknown(f"{at}.{key}")
    return None


def _unknown(at: str) -> Refusal:
    return error(UNKNOWN.format(at=at), code="unknown_parameter", param=at)


def _listed(names: Mapping[str, Any]) -> str:
    *front, last = [f"'{name}'" for name in names]
    return f"{', '.join(front)}, and {last}"


# Ids ------------------------------------------------------------------------------------------------------------------


def ids(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """Each id well formed, and once in the whole conversation. An empty one is taken."""
    before = Counter(str(item["id"]) for item in history(case) if item.get("id"))
    for index, item in places(case):
        own, at, prefix = item.get("id"), f"input[{index}].id", PREFIXES.get(kind_of(item), "")
        if own in (None, ""):
            continue
        if not str(own).startswith(prefix):
            return error(PREFIX.format(at=at, id=own, prefix=prefix), code="invalid_value", param=at)
        if len(str(own)) > LONGEST_ID:
            return error(TOO_LONG.format(at=at, length=len(str(own))), code="string_above_max_length", param=at)
        if before[str(own)] > 1:
            return error(DUPLICATE.format(id=own))
    return None


def found(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """What stands for a stored item must be in this host's store; encrypted content of its own stands for itself."""
    for _, item in places(case):
        by_id = kind_of(item) == "item_reference" or (
            kind_of(item) == "reasoning" and not _blob(item) and item.get("id")
        )
        known = kept(case, item)
        if by_id and (known is None or not known.stored):
            return error(NOT_FOUND.format(id=item.get("id")), status=404, code=None)
    return None


def _blob(item: Mapping[str, Any]) -> str:
    blob = item.get("encrypted_content")
    return blob if isinstance(blob, str) else ""


# Encrypted content ----------------------------------------------------------------------------------------------------


def sealed(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """Every blob must be this host's own, under the id that it was issued with; the id may be left out."""
    for _, item in places(case):
        blob = _blob(item)
        if kind_of(item) != "reasoning" or blob == "":
            continue
        if not case.issuer.opens(blob, "data", "", ""):
            return _unverified(blob, UNREADABLE)
        if item.get("id") not in (None, "", reasoning_id(blob)):
            return _unverified(blob, OTHER_ID)
    return None


def with_id(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """A project of Azure's Foundry wants the id beside its own encrypted content; its resources do not."""
    nameless = any(kind_of(item) == "reasoning" and not item.get("id") for _, item in places(case))
    return error(NO_SCHEMA, code="invalid_payload", param="/") if options["project"] and nameless else None


def _unverified(blob: str, reason: str) -> Refusal:
    short = f"{blob[:4]}...{blob[-4:]}"
    return error(UNVERIFIED.format(short=short, reason=reason), code=SEALED, param=None)


# Pairs ----------------------------------------------------------------------------------------------------------------


def pairs(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """A reasoning item and what follows it go together or not at all."""
    items = history(case)
    thought = {str(item.get("id")) for item in items if kind_of(item) == "reasoning" or _is_reference(item)}
    for item, after in zip(items, [*items[1:], None], strict=True):
        known = kept(case, item)
        if kind_of(item) == "reasoning" and not _follows(case, item, after):
            return error(FOLLOWING.format(id=item.get("id")))
        if known is not None and known.stored and known.needs is not None and known.needs not in thought:
            return error(REASONING.format(id=item.get("id"), kind=kind_of(item), needs=known.needs))
    return None


def _is_reference(item: Mapping[str, Any]) -> bool:
    return kind_of(item) == "item_reference"


def _follows(case: Case, item: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    if after is None or not (is_said(after) or _is_reference(after)):
        return False
    known = kept(case, item)
    if known is None or not known.stored or known.follower is None:
        return True
    return after.get("id") == known.follower or (not after.get("id") and _blob(item) != "")


def answered(case: Case, options: Mapping[str, Any]) -> Refusal | None:
    """One output to a call and one call to an output."""
    items = history(case)
    made = Counter(item.get("call_id") for item in items if kind_of(item) in CALLS)
    given = Counter(item.get("call_id") for item in items if kind_of(item) in OUTPUTS)
    for call in made - given:
        return error(NO_OUTPUT.format(id=call))
    for call in given - made:
        return error(NO_CALL.format(id=call))
    return None


OPENAI: Final[Sequence[Check]] = (previous, typed, ids, sealed, found, pairs, answered)
AZURE: Final[Sequence[Check]] = (*OPENAI, with_id)
XAI: Final[Sequence[Check]] = (previous, typed, sealed, answered)
"""Nothing fails there when reasoning is left out (docs.x.ai, troubleshooting-reasoning)."""


def xai(case: Case, options: Mapping[str, Any]) -> Verdict:
    """The checks of xAI, in its own error body."""
    refusal = judge(XAI)(case, options).refusal
    if refusal is None:
        return ACCEPTED
    text = XAI_UNREADABLE if refusal.body["error"]["code"] == SEALED else refusal.text
    return Verdict(Refusal(refusal.status, {"code": "invalid-argument", "error": text}, text))


def judge(checks: Sequence[Check]) -> Callable[[Case, Mapping[str, Any]], Verdict]:
    """A law of these checks; the first refusal stands."""

    def law(case: Case, options: Mapping[str, Any]) -> Verdict:
        refused = (check(case, options) for check in checks)
        return next((Verdict(each) for each in refused if each is not None), ACCEPTED)

    return law
