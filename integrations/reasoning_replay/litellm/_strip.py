"""Where the callback's own bookkeeping has failed: everything out, by the table alone, and the call goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._origin import Origin
from .._plan import Plan
from .._replay import fallback_plan
from ._carriers import CARRIERS
from ._target import custom_host


def stripped_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an attempt without any reasoning."""
    params = fields.get("optional_params")
    plan = _plan(fields["messages"], "litellm", fields, params)
    return {**fields, "messages": plan.messages, "optional_params": as_dict(plan.request, params)}


def body_of(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """The body that LiteLLM is about to send; None where it shows none with messages."""
    extra = details.get("additional_args")
    body = extra.get("complete_input_dict") if isinstance(extra, Mapping) else None
    return body if isinstance(body, dict) and isinstance(body.get("messages"), list) else None


def strip_wire(details: Mapping[str, Any]) -> None:
    """Takes all reasoning out of a body that is about to be sent."""
    body = body_of(details)
    if body is None:
        return
    form = "anthropic" if _dialect_of(details) == "anthropic" else "chat"
    write_body(body, _plan(body["messages"], form, details, body))


def _plan(messages: Any, form: str, names: Mapping[str, Any], request: Any) -> Plan:
    provider, model = str(names.get("custom_llm_provider") or ""), str(names.get("model") or "")
    target = Origin(custom_host("unreadable"), dialect=_dialect_of(names), model=model)
    return fallback_plan(messages, target, form, request, provider)


def _dialect_of(names: Mapping[str, Any]) -> str:
    return next((row.dialect for row in CARRIERS if row.provider == names.get("custom_llm_provider")), "chat")


def as_dict(request: Mapping[str, Any] | None, given: Any) -> Any:
    """A plan's parameters as LiteLLM wants them; the very ones that were given where nothing changed."""
    return given if request is None or request is given else dict(request)


def write_body(body: dict[str, Any], plan: Plan) -> None:
    """Writes a plan into the very dict that LiteLLM is about to send."""
    if plan.messages is not body["messages"]:
        body["messages"] = plan.messages
    request = plan.request
    if request is None or request is body:
        return
    for key in [key for key in body if key not in request and key != "messages"]:
        del body[key]
    body.update((key, value) for key, value in request.items() if key != "messages")
