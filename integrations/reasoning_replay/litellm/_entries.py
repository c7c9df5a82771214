"""`responses` and `anthropic.messages`: where a call of each is made, and where LiteLLM makes another one of it.

A call is planned where LiteLLM sends it: the URL is asked of the very object that it asks. A call that goes over a
bridge is planned on the other side, as what it has become; here only what its marks say is noted (`_bridge`). Replies
are marked as the caller gets them. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import litellm

from .. import _replay
from .._faults import fail_closed
from .._guards import stored
from .._known import Known, default_store
from .._origin import MARK, Origin
from .._report import Report
from .._resolve import recalled_for
from .._rules import Policy
from ..forms import PSF, form_for
from . import _errors
from ._attempt import (
    REPORT,
    Attempt,
    Bridge,
    across,
    answering,
    attempt_of,
    begin,
    bridge_of,
    details_of,
    keeping_of,
    put_bridge,
)
from ._betas import call_left, headers_in, with_betas, without_betas
from ._bridge import bare, bridge_for
from ._carriers import carrier_of, hint_of
from ._events import BytesNotes, EventNotes, mark_items
from ._keeping import Asked, Keeping, asking
from ._policies import policy_of
from ._strip import as_dict, stripped_rows
from ._target import host_at, predicted_url
from ._told import tell

_NOTES = "_reasoning_replay_events"


class Entry(NamedTuple):
    """One kind of call, where LiteLLM sends it."""

    dialect: str
    messages: str
    """The argument that holds the history."""
    params: str
    """The argument that holds the call's parameters."""
    url: Callable[[Mapping[str, Any]], str]
    """The arguments → the URL that LiteLLM is about to call."""


def _responses_url(fields: Mapping[str, Any]) -> str:
    params = fields["litellm_params"]
    config = fields["responses_api_provider_config"]
    return str(config.get_complete_url(api_base=params.api_base, litellm_params=dict(params)))


def _messages_url(fields: Mapping[str, Any]) -> str:
    params = dict(fields["litellm_params"])
    return str(
        fields["anthropic_messages_provider_config"].get_complete_url(
            api_base=fields.get("api_base"),
            api_key=fields.get("api_key"),
            model=fields["model"],
            optional_params=params,
            litellm_params=params,
            stream=fields.get("stream"),
        )
    )


RESPONSES = Entry("responses", "input", "response_api_optional_request_params", _responses_url)
MESSAGES = Entry("anthropic", "messages", "anthropic_messages_optional_request_params", _messages_url)


class Entries:
    """The part of the callback that looks at these calls."""

    policy: Policy
    known: Known | None

    def before_send(self, entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call that is about to be sent, with what may go to its host. Changes nothing in place."""
        return fail_closed("litellm", lambda: self._for_host(entry, fields), lambda: stripped_entry(entry, fields))

    def _for_host(self, entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
        details, url = details_of(fields.get("logging_obj")), entry.url(fields)
        attempt, known = self._attempt(details, url)
        if attempt is None:
            return fields
        model, provider = str(fields["model"]), str(fields["custom_llm_provider"] or "")
        given, params, call = fields[entry.messages], fields[entry.params], fields.get("kwargs") or {}
        asked = with_betas(params, *headers_in(call))
        with _errors.as_litellms(model, provider):
            plan = _replay.prepare_safely(
                form_for(None, entry.dialect).rows(given) if isinstance(given, str) else given,
                host=url,
                model=model,
                dialect=entry.dialect,
                request=asked,
                policy=policy_of(details, self.policy),
                hint=hint_of(provider, carrier_of(provider, model)),
                known=known,
            )
        attempt.plan = attempt.after = plan
        attempt.entry = entry.dialect
        details[REPORT] = plan.report
        left = given if isinstance(given, str) else plan.messages
        request, gone = without_betas(plan.request, asked, params)
        headers = {"kwargs": call_left(call, gone)} if gone else {}
        return {**fields, **headers, entry.messages: left, entry.params: as_dict(request, params)}

    def _attempt(self, details: dict[str, Any], url: str) -> tuple[Attempt | None, Known | None]:
        """The attempt that this call is, and what is known of its history; None: it is planned for this very host."""
        before, bridge = attempt_of(details), bridge_of(details)
        if before is None or not before.bridged:
            attempt = begin(details, self.asked())
            return attempt, attempt.asked.known if bridge is None else bridge.known
        if before.plan is not None and before.plan.origin.host == host_at(url):
            return None, None
        return before, before.asked.known if before.plan is None else before.plan.known

    def asked(self) -> Asked:
        """What the call that is being made may see of the store: a proxy says it for each request."""
        return asking.get() or Asked(self.known)

    # Bridges

    def before_bridge(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a Responses call that LiteLLM is about to make as chat: items without marks."""
        return fail_closed(
            "litellm",
            lambda: self._over_bridge(fields),
            lambda: _stripped("responses", "input", None, fields),
        )

    def _over_bridge(self, fields: dict[str, Any]) -> dict[str, Any]:
        details, given = details_of(fields.get("litellm_logging_obj")), fields["input"]
        asked = fields.get("responses_api_request")
        bridge, left = self._bridge(given, "responses", asked if isinstance(asked, Mapping) else None)
        put_bridge(details, bridge)
        request = self._conversation(fields, asked) if isinstance(asked, Mapping) else asked
        return {**fields, "input": left, "responses_api_request": request}

    def _bridge(self, given: Any, dialect: str, request: Mapping[str, Any] | None) -> tuple[Bridge, Any]:
        form, asked = form_for(None, dialect), self.asked()
        rows = form.rows(given)
        store = default_store() if asked.known is None else asked.known
        history, recalled = recalled_for(given, rows, form, self.policy.starts_turn, store, request)
        rows = rows if recalled is None else recalled.rows
        bridge = bridge_for(rows, history, form, store, asked, recalled)
        left = given if isinstance(given, str) else bare(rows, form)
        return bridge, left

    def _conversation(self, fields: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
        """The parameters without the name of a conversation that another endpoint keeps.

        Raises:
            ConversationElsewhere: the conversation is not in hand.
        """
        model, provider = str(fields.get("model") or ""), str(fields.get("custom_llm_provider") or "")
        asked = {key: request[key] for key, _ in stored(request)}
        carrier = carrier_of(provider, model)
        base = fields.get("api_base") or fields.get("base_url") or _base_of(model, provider)
        url = predicted_url(provider, carrier, base, fields.get("client"), fields)
        if not asked or url is None:
            return request
        with _errors.as_litellms(model, provider):
            plan = _replay.prepare_safely(
                fields["input"],
                host=url,
                model=model,
                dialect="responses",
                request=asked,
                policy=self.policy,
                known=self.asked().known,
            )
        left = plan.request or {}
        return {key: value for key, value in request.items() if key not in asked or key in left}

    def around_messages(self, call: Callable[..., Any], fields: dict[str, Any]) -> Any:
        """A call of the messages API: what its marks say is noted, and LiteLLM gets blocks without them."""
        bridge, left = fail_closed(
            "litellm",
            lambda: self._noted(fields),
            lambda: (Bridge("anthropic", Asked()), stripped_rows(fields["messages"], "anthropic").messages),
        )
        if fields.get("litellm_logging_obj") is not None:
            return call(**{**fields, "messages": left})
        with across(bridge):
            result = call(**{**fields, "messages": left})
        return fail_closed("litellm", lambda: self._synchronous(result, bridge), lambda: result)

    def _noted(self, fields: Mapping[str, Any]) -> tuple[Bridge, Any]:
        bridge, left = self._bridge(fields["messages"], "anthropic", fields)
        put_bridge(details_of(fields.get("litellm_logging_obj")), bridge)
        return bridge, left

    def _synchronous(self, result: Any, bridge: Bridge) -> Any:
        if bridge.answered is None:
            return result
        if isinstance(result, dict):
            self._mark_blocks(result, bridge.answered, bridge.report, Keeping(bridge.asked, bridge))
        elif isinstance(result, Iterator):
            return BytesNotes(bridge.answered, Keeping(bridge.asked, bridge)).over(result)
        return result

    # Replies

    def _entry_replied(self, result: Any, details: dict[str, Any]) -> None:
        """Marks what `responses` or `anthropic.messages` gives, a whole reply or a stream; once."""
        attempt, bridge = attempt_of(details), bridge_of(details)
        origin = None if bridge is None else bridge.answered
        if origin is None and attempt is not None and attempt.bridged:
            return  # inside a chat completion, which is marked as such
        if origin is None and attempt is not None and attempt.plan is not None:
            origin = answering(details)
        if origin is None:
            return  # no host was called: a cache, a mock
        quiet = False
        if bridge is not None:
            bridge.answered, bridge.report = origin, details.get(REPORT) or bridge.report
            quiet = bridge.dialect != _dialect_of(result)
        keeping = keeping_of(details, self.asked(), inner=quiet)
        if _dialect_of(result) == "anthropic":
            self._messages_replied(result, origin, details.get(REPORT), keeping)
        else:
            self._responses_replied(result, origin, details.get(REPORT), keeping, quiet=quiet)

    def _responses_replied(
        self, result: Any, origin: Origin, report: Report | None, keeping: Keeping, *, quiet: bool
    ) -> None:
        tell(result, report)
        if not hasattr(result, "output"):
            setattr(result, _NOTES, EventNotes(origin, keeping, report, quiet=quiet))
            return
        items = keeping.capture(result, origin, "responses") or []
        if not quiet and any(MARK in (item.get(PSF) or {}) for item in items):
            mark_items(list(result.output), result, origin, keeping)

    def _messages_replied(self, result: Any, origin: Origin, report: Report | None, keeping: Keeping) -> None:
        if isinstance(result, dict):
            self._mark_blocks(result, origin, report, keeping)
        else:
            tell(result, report)
            notes = BytesNotes(origin, keeping)
            if hasattr(result, "completion_stream"):
                result.completion_stream = notes.over_async(result.completion_stream)
            else:
                setattr(result, _NOTES, notes)

    def _mark_blocks(self, reply: dict[str, Any], origin: Origin, report: Report | None, keeping: Keeping) -> None:
        message = keeping.capture(reply, origin, "anthropic")
        if message is not None and isinstance(reply.get("content"), list):
            reply["content"] = message["content"]
        tell(reply, report)

    def event_leaves(self, stream: Any, event: Any) -> None:
        """Takes an event, or bytes, that the caller is about to get."""
        notes: EventNotes | BytesNotes | None = vars(stream).get(_NOTES)
        if notes is not None:
            notes.event(event)


def _dialect_of(result: Any) -> str:
    """What a result speaks: items or their events, else blocks or their bytes."""
    events = hasattr(result, "responses_api_provider_config") or hasattr(result, "responses_api_request")
    return "responses" if hasattr(result, "output") or events else "anthropic"


def _base_of(model: str, provider: str) -> str | None:
    found: str | None = litellm.get_llm_provider(model, provider or None)[3]
    return found


def stripped_entry(entry: Entry, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call without any reasoning."""
    return _stripped(entry.dialect, entry.messages, entry.params, fields)


def _stripped(dialect: str, key: str, params: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    given, asked = fields[key], None if params is None else fields.get(params)
    plan = stripped_rows(given, dialect, fields, asked)
    left = given if isinstance(given, str) else plan.messages
    return {**fields, key: left} | ({} if params is None else {params: as_dict(plan.request, asked)})
