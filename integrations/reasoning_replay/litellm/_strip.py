"""Where the callback's own bookkeeping has failed: everything out, by the table alone, and the call goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._origin import Origin
from .._plan import Plan
from .._replay import fallback_plan
from ..forms import as_mapping
from ._carriers import CARRIERS
from ._target import custom_host

_LISTS = {"messages": "chat", "input": "responses", "contents": "gemini"}
"""Key of the history in a body → the form it is written in, but for Claude's."""


def stripped_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an attempt without any reasoning."""
    params = fields.get("optional_params")
    plan = _plan(fields["messages"], "litellm", fields, params)
    return {**fields, "messages": plan.messages, "optional_params": as_dict(plan.request, params)}


def stripped_rows(messages: Any, dialect: str, names: Mapping[str, Any] | None = None, request: Any = None) -> Plan:
    """A history in a dialect's own form without any reasoning, and the parameters that it passes with."""
    names = names or {}
    target = Origin(custom_host("unreadable"), dialect=dialect, model=str(names.get("model") or ""))
    given = [] if isinstance(messages, str) else messages
    return fallback_plan(given, target, dialect, request, str(names.get("custom_llm_provider") or ""))


def list_in(body: Mapping[str, Any]) -> str | None:
    """The key of the history in a body; None where it shows none."""
    return next((key for key in _LISTS if isinstance(body.get(key), list)), None)


def body_of(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """The body that LiteLLM is about to send; None where it shows none with a history."""
    extra = details.get("additional_args")
    body = extra.get("complete_input_dict") if isinstance(extra, Mapping) else None
    return body if isinstance(body, dict) and list_in(body) is not None else None


def strip_wire(details: Mapping[str, Any]) -> None:
    """Takes all reasoning out of a body that is about to be sent."""
    body = body_of(details)
    key = None if body is None else list_in(body)
    if body is None or key is None:
        return
    if key != "messages":
        write_body(body, stripped_rows(body[key], _LISTS[key], details, body), key)
        return
    form = "anthropic" if _dialect_of(details) == "anthropic" else _LISTS[key]
    write_body(body, _plan(body[key], form, details, body), key)


def _plan(messages: Any, form: str, names: Mapping[str, Any], request: Any) -> Plan:
    provider, model = str(names.get("custom_llm_provider") or ""), str(names.get("model") or "")
    target = Origin(custom_host("unreadable"), dialect=_dialect_of(names), model=model)
    return fallback_plan(messages, target, form, request, provider)


def _dialect_of(names: Mapping[str, Any]) -> str:
    return next((row.dialect for row in CARRIERS if row.provider == names.get("custom_llm_provider")), "chat")


def regained(rows: list[Any], planned: list[Any], keys: tuple[str, ...]) -> list[Any]:
    """A body's messages with what LiteLLM took out of the planned ones under these keys; the very list if it did not.

    Only where each of them is still in its place: else nobody can say whose it is, and the rule's fill has to do.
    """
    if not keys or [row.get("role") for row in rows] != [row.get("role") for row in planned]:
        return rows
    out = [_with_keys(row, as_mapping(old) or {}, keys) for row, old in zip(rows, planned, strict=True)]
    return rows if all(new is row for new, row in zip(out, rows, strict=True)) else out


def _with_keys(row: Any, old: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    lost = {key: old[key] for key in keys if key in old and key not in row}
    return {**row, **lost} if lost else row


def as_dict(request: Mapping[str, Any] | None, given: Any) -> Any:
    """A plan's parameters as LiteLLM wants them; the very ones that were given where nothing changed."""
    return given if request is None or request is given else dict(request)


def write_body(body: dict[str, Any], plan: Plan, key: str = "messages") -> None:
    """Writes a plan into the very dict that LiteLLM is about to send."""
    if plan.messages is not body[key]:
        body[key] = plan.messages
    request = plan.request
    if request is None or request is body:
        return
    for name in [name for name in body if name not in request and name != key]:
        del body[name]
    body.update((name, value) for name, value in request.items() if name != key)
