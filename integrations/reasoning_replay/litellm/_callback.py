"""The LiteLLM callback: finds host and request, calls the core's doors, puts the result back.

Three layers. (1) Before LiteLLM rewrites a request for its provider: the messages are planned for the predicted host
(`before_dispatch`, which runs once per attempt in every entry point; the deployment hook where that place is missing).
(2) `log_pre_api_call` knows the host that is really called: the plan is confirmed on the body itself.
(3) Replies and stream chunks get the mark. Nothing is decided here, and no state hangs on a client or a model: what one
layer tells the next travels in LiteLLM's notes of the attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Self, cast

import litellm
from litellm.integrations.custom_logger import CustomLogger

from .. import _plan, _replay
from .._faults import fail_closed
from .._known import Known, check_known
from .._origin import MARK, Origin, OriginError
from .._policy import check_policy
from .._rules import BadPolicy, Policy
from ..forms import LAYOUT, PSF, layout_of
from . import _patches
from ._attempt import (
    REPORT,
    Attempt,
    answering,
    attempt_of,
    begin,
    bridge_of,
    details_of,
    forget,
    is_ours,
    keeping_of,
)
from ._betas import PLACES, headers_left, with_betas, without_betas, write_headers
from ._bridge import restored
from ._carriers import CHAT_CALLS, MESSAGES_CALLS, RESPONSES_CALLS, Carrier, carrier_of, hint_of, is_covered
from ._entries import MESSAGES, RESPONSES, Entries
from ._errors import as_litellms
from ._fields import changed, has_history, within, without_reasoning
from ._keeping import Keeping
from ._policies import another, policy_of
from ._redact import LOG_PATCHES, Wrapped
from ._stream import StreamNotes
from ._strip import as_dict, body_of, list_in, regained, strip_wire, stripped_fields, stripped_rows, write_body
from ._target import client_base, custom_host, host_at, predicted_url
from ._told import is_told, tell

_STREAM = "_reasoning_replay"
_CHAT_KINDS = frozenset({"thinking", "redacted_thinking", "text", "tool_use"})


class ReasoningReplay(Entries, CustomLogger):
    """`litellm.callbacks.append(ReasoningReplay())` is all that a program does.

    The same policy twice gives the same callback. A second policy raises ValueError, since LiteLLM's callbacks are
    of the whole process; `uninstall()` takes the first one out. What is no policy raises BadPolicy, no store TypeError.
    `redact_logs`: LiteLLM's loggers get sizes and digests in place of reasoning (`_redact`); replay goes on.
    """

    _installed: ReasoningReplay | None = None
    _lock = Lock()

    def __new__(cls, policy: Policy | None = None, known: Known | None = None, *, redact_logs: bool = False) -> Self:
        check_policy(policy)
        check_known(known)
        with cls._lock:
            there = ReasoningReplay._installed
            if there is None:
                return super().__new__(cls)  # type: ignore[no-any-return]
            if there.policy != (policy or Policy()) or there.known is not known or there.redact_logs is not redact_logs:
                raise another(there, policy, redact_logs)
            return cast("Self", there)

    def __init__(self, policy: Policy | None = None, known: Known | None = None, *, redact_logs: bool = False) -> None:
        with self._lock:
            if ReasoningReplay._installed is self:
                return
            super().__init__()
            self.policy = policy or Policy()
            self.known = known
            self.redact_logs = redact_logs
            self.wrapped = Wrapped(self)
            self._done = _patches.install(self, LOG_PATCHES if redact_logs else ())
            self._dispatches = _patches.covers_requests(self._done)
            ReasoningReplay._installed = self

    def uninstall(self) -> None:
        """Puts back what the patches replaced, and leaves every one of LiteLLM's lists of callbacks."""
        with self._lock:
            _patches.uninstall(self._done)
            self.wrapped.forget()
            if ReasoningReplay._installed is self:
                ReasoningReplay._installed = None
        for name, value in list(vars(litellm).items()):
            if "callback" in name and isinstance(value, list):
                value[:] = [each for each in value if each is not self]

    def active(self) -> bool:
        """Whether the callback stands in `litellm.callbacks`: LiteLLM's copies elsewhere do not count."""
        return fail_closed("litellm", lambda: any(each is self for each in litellm.callbacks), lambda: True)

    # Layer 1

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Does the work of `before_dispatch` for async calls where a LiteLLM has not the place for it."""
        return fail_closed(
            "litellm",
            lambda: self._deployed(kwargs, call_type),
            lambda: within(stripped_fields(kwargs), kwargs) if self.active() and has_history(kwargs) else None,
        )

    def _deployed(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        name = getattr(call_type, "value", call_type)
        if name not in CHAT_CALLS:
            return self._unreached(kwargs, name)
        forget(details_of(kwargs.get("litellm_logging_obj")))  # an attempt before, with `fallbacks=`
        if self._dispatches or kwargs.get("fallbacks") is not None:
            return None
        if not self.active() or "messages" not in kwargs or "model" not in kwargs:
            return None
        return self._hooked(kwargs)

    def _unreached(self, kwargs: dict[str, Any], name: Any) -> dict[str, Any] | None:
        """Where this LiteLLM has not the place to plan such a call, nothing goes but what is said."""
        entry = next((kind for kind, calls in _ENTRIES if name in calls), None)
        if entry is None or _patches.covers(self._done, entry.dialect) or not self.active():
            return None
        if not isinstance(kwargs.get(entry.messages), list):
            return None
        plan = stripped_rows(kwargs[entry.messages], entry.dialect, kwargs, kwargs)
        left = {**as_dict(plan.request, kwargs), entry.messages: plan.messages}
        return {key: value for key, value in left.items() if key in kwargs}

    def _hooked(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        asked = kwargs.get("api_base") or kwargs.get("base_url")
        model, provider, _, base = litellm.get_llm_provider(kwargs["model"], kwargs.get("custom_llm_provider"), asked)
        fields = {
            "messages": kwargs["messages"],
            "model": model,
            "custom_llm_provider": provider,
            "api_base": asked or base,
            "client": kwargs.get("client"),
            "optional_params": kwargs,
            "logging": kwargs.get("litellm_logging_obj"),
        }
        return within(self.before_dispatch(fields), kwargs)

    def before_dispatch(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of one attempt at a chat completion, with what may go to its host. Changes nothing in place."""
        if not has_history(fields):
            return fields
        return fail_closed("litellm", lambda: self._for_predicted(fields), lambda: stripped_fields(fields))

    def _for_predicted(self, fields: dict[str, Any]) -> dict[str, Any]:
        details = details_of(fields.get("logging"))
        if not is_covered(details):
            return fields
        attempt = begin(details, self.asked())
        attempt.bridged = "bridge" in fields
        provider, model = str(fields.get("custom_llm_provider") or ""), str(fields.get("model") or "")
        carrier = carrier_of(provider, model)
        params = fields.get("optional_params") or {}
        url = predicted_url(provider, carrier, fields.get("api_base"), fields.get("client"), params)
        if url is None and carrier.wire is not None and client_base(fields.get("client")) is not None:
            return fields  # `through_client` or layer 2 will know
        return self._for(fields, attempt, custom_host("unpredicted") if url is None else url)

    def _for(self, fields: dict[str, Any], attempt: Attempt, url: str) -> dict[str, Any]:
        provider, model = str(fields.get("custom_llm_provider") or ""), str(fields.get("model") or "")
        carrier = carrier_of(provider, model)
        dialect, params = fields.get("bridge") or carrier.dialect, fields.get("optional_params") or {}
        details = details_of(fields.get("logging"))
        bridge = bridge_of(details)
        messages = fields["messages"] if bridge is None else restored(fields["messages"], bridge.texts)
        known = attempt.asked.known if bridge is None or bridge.known is None else bridge.known
        asked = with_betas(params, *(fields.get(place) for place in PLACES))
        with as_litellms(model, provider):
            policy = policy_of(details, self.policy)
            plan = self._prepare(messages, url, dialect, model, asked, hint_of(provider, carrier), policy, known)
        attempt.plan = attempt.after = plan
        details[REPORT] = plan.report
        request, gone = without_betas(plan.request, asked, params)
        headers = {place: headers_left(fields[place], gone) for place in PLACES if gone and place in fields}
        return {**fields, **headers, "messages": plan.messages, "optional_params": as_dict(request, params)}

    def through_client(self, context: Any) -> Any:
        """An attempt that LiteLLM sends through the caller's own client: that client's base is the host.

        LiteLLM's notes name another one in `acompletion(stream=True, client=...)`, and none with an Azure client.
        """
        return fail_closed("litellm", lambda: self._for_client(context), lambda: without_reasoning(context))

    def _for_client(self, context: Any) -> Any:
        details, base = details_of(context.logging), client_base(context.client)
        if base is None or not is_covered(details):
            return context
        attempt = attempt_of(details) or begin(details, self.asked())
        attempt.client = base
        if attempt.plan is not None:
            return context
        names = ("messages", "optional_params", "model", "custom_llm_provider", "logging")
        return changed(context, self._for({name: getattr(context, name) for name in names}, attempt, base))

    def _prepare(
        self,
        messages: Any,
        url: str,
        dialect: str,
        model: str,
        params: Mapping[str, Any],
        hint: str | None,
        policy: Policy,
        known: Known | None = None,
        form: str = "litellm",
    ) -> _plan.Plan:
        return _replay.prepare_safely(
            messages,
            host=url,
            model=model,
            dialect=dialect,
            form=form,
            request=params,
            policy=policy,
            hint=hint,
            known=known,
        )

    # Layer 2

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
        """Confirms the plan on the body that is about to be sent, with the host that it is really sent to.

        LiteLLM swallows what is raised here and sends the body all the same, so nothing may be raised: what the
        policy would raise, layer 1 has raised.
        """
        if not self.active():
            return
        try:
            fail_closed("litellm", lambda: self._before_wire(messages, kwargs), lambda: strip_wire(kwargs))
        except (_plan.MissingReasoning, _plan.ConversationElsewhere, BadPolicy):
            strip_wire(kwargs)

    def _before_wire(self, messages: Any, details: dict[str, Any]) -> None:
        body = body_of(details)
        if body is not None and is_covered(details):
            self._confirm(body, details["additional_args"].get("api_base"), messages, details)

    def _confirm(self, body: dict[str, Any], url: object, messages: Any, details: dict[str, Any]) -> None:
        provider, model = str(details.get("custom_llm_provider") or ""), str(details.get("model") or "")
        key, attempt = list_in(body) or "messages", attempt_of(details)
        carrier = _speaks(carrier_of(provider, model), key, attempt)
        planned = None if attempt is None else attempt.plan
        called = attempt.client if attempt is not None and attempt.client is not None else url
        if attempt is not None:
            attempt.called = None if called is None else str(called)
        if carrier.wire is None or (called is None and planned is None):
            return  # out of reach, or a mocked reply
        if attempt is not None and attempt.bridged and planned is not None and planned.origin.host == host_at(called):
            return  # planned in the form of chat, which LiteLLM has put into items
        headers = details["additional_args"].get("headers")
        asked = with_betas(body, headers)
        if planned is not None and (called is None or planned.origin == _origin(str(called), carrier.dialect, model)):
            plan = planned
        else:  # layer 1 was wrong about the host, or there was none: from the caller's marked messages, for this host
            given, hint = messages if isinstance(messages, list) else body[key], hint_of(provider, carrier)
            params = {name: value for name, value in asked.items() if name != key}
            form = carrier.wire if key == "input" or (key == "contents" and given is body[key]) else "litellm"
            known = self.asked().known if attempt is None else attempt.asked.known
            policy = policy_of(details, self.policy)
            plan = self._prepare(given, str(called), carrier.dialect, model, params, hint, policy, known, form)
            if attempt is not None:
                attempt.after = plan
            if planned is not None and body[key] == planned.messages:
                body[key] = plan.messages  # nothing has rewritten them since: what was wrongly out comes back
        rows = regained(body[key], plan.messages, carrier.strips)
        confirmed = _replay.confirm_safely(rows, plan, form=carrier.wire, request=asked)
        details[REPORT] = confirmed.report
        request, gone = without_betas(confirmed.request, asked, body)
        write_body(body, replace(confirmed, request=request), key)
        write_headers(headers, gone)

    # Layer 3

    def replied(self, result: Any, logging_obj: Any) -> None:
        """Marks a reply that has just come from its host, once."""
        details = details_of(logging_obj)
        if not is_ours(details) or is_told(result):
            return
        bridge, report = bridge_of(details), details.get(REPORT)
        if not hasattr(result, "choices") and not hasattr(result, "chunk_creator"):
            self._entry_replied(result, details)
            return
        tell(result, report)
        origin = answering(details)
        if bridge is not None:
            bridge.answered, bridge.report = origin, report
        if hasattr(result, "choices"):
            keeping = keeping_of(details, self.asked(), inner=bridge is not None)
            forget(details)
            for choice in result.choices:
                if hasattr(choice, "message"):  # else a text completion
                    self._mark(choice.message, origin, details, keeping, quiet=bridge is not None)

    def _mark(
        self, message: Any, origin: Origin | None, details: Mapping[str, Any], keeping: Keeping, *, quiet: bool
    ) -> None:
        there = getattr(message, PSF, None)
        there = there if isinstance(there, Mapping) else {}
        fields = {key: value for key, value in there.items() if key not in (MARK, LAYOUT)}  # the host's say nothing
        reply = None
        if origin is not None:
            bare = {**message.model_dump(), PSF: fields}
            reply = keeping.capture(bare, origin, "litellm")
        if quiet:  # LiteLLM makes something else of it, and that gets the mark
            _show(message, reply or {})
            return
        notes = (reply or {}).get(PSF) or {}
        if MARK in notes:
            order = _order_of(message, details.get("original_response"))
            setattr(message, PSF, {**fields, MARK: notes[MARK], **({} if order is None else {LAYOUT: order})})
        elif len(fields) < len(there):
            setattr(message, PSF, fields)

    def chunk_arrived(self, stream: Any, chunk: Any) -> None:
        """Takes a stream's chunk as the host sent it."""
        notes = self._notes(stream)
        if notes is not None:
            notes.arrived(chunk)

    def chunk_leaves(self, stream: Any, chunk: Any) -> None:
        """Writes on the chunk that the caller gets what LiteLLM's builder would lose."""
        notes = self._notes(stream)
        if notes is not None and chunk is not None:
            tell(chunk, details_of(stream.logging_obj).get(REPORT))
            said = (stream.received_finish_reason, stream.intermittent_finish_reason)
            notes.leaves(chunk, complete=any(reason is not None for reason in said))

    def _notes(self, stream: Any) -> StreamNotes | None:
        if _STREAM not in vars(stream):
            details = details_of(stream.logging_obj)
            fresh = is_ours(details) and stream.custom_llm_provider != "cached_response"
            origin = answering(details) if fresh else None
            quiet = bridge_of(details) is not None
            keeping = keeping_of(details, self.asked(), inner=quiet)
            setattr(stream, _STREAM, None if origin is None else StreamNotes(origin, keeping, quiet=quiet))
        notes: StreamNotes | None = vars(stream)[_STREAM]
        return notes


def _show(message: Any, reply: Mapping[str, Any]) -> None:
    """Puts readable reasoning where LiteLLM's bridges look for it: they know no other field (groq: litellm 1.110.2)."""
    named = [reply.get("reasoning"), (reply.get(PSF) or {}).get("reasoning")]
    text = next((each for each in named if isinstance(each, str)), None)
    if text is not None and getattr(message, "reasoning_content", None) is None:
        message.reasoning_content = text


_ENTRIES = ((RESPONSES, RESPONSES_CALLS), (MESSAGES, MESSAGES_CALLS))


def _speaks(carrier: Carrier, key: str, attempt: Attempt | None) -> Carrier:
    """The carrier of a body by what is in it, where the call is not chat."""
    if key == "input":
        return carrier._replace(dialect="responses", wire="responses")
    if attempt is not None and attempt.entry == "anthropic":
        return carrier._replace(dialect="anthropic", wire=None)  # written before anybody sees it
    return carrier


def _origin(url: str, dialect: str, model: str) -> Origin | None:
    try:
        return Origin.from_url(url, dialect=dialect, model=model)
    except OriginError:
        return None


def _order_of(message: Any, raw: Any) -> list[str] | None:
    """The order of an interleaved reply, from its raw text; None for the usual one, which needs no note."""
    if not isinstance(raw, str) or getattr(message, "thinking_blocks", None) is None:
        return None
    try:
        blocks = json.loads(raw)["content"]
        kinds = [block["type"] for block in blocks]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not _CHAT_KINDS.issuperset(kinds):
        return None
    named = [
        (kind.replace("redacted_", ""), len(block.get("text") or "")) for kind, block in zip(kinds, blocks, strict=True)
    ]
    return layout_of(named)
