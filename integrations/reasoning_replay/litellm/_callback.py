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
from threading import Lock
from typing import Any, Self, cast

import litellm
from litellm.integrations.custom_logger import CustomLogger

from .. import _capture, _plan, _replay
from .._faults import fail_closed
from .._known import Known
from .._origin import MARK, Origin, OriginError
from .._rules import BadPolicy, Policy
from ..forms import LAYOUT, PSF, layout_of
from . import _patches
from ._carriers import CARRIERS, carrier_of, hint_of, is_chat
from ._stream import StreamNotes
from ._target import custom_host, origin_of, predicted_url
from ._told import Told, tell

REPORT = "reasoning_replay"
"""Key of the report in the `kwargs` that LiteLLM hands to every callback."""
_PLANNED = "_reasoning_replay"
_STREAM = "_reasoning_replay"
_CHAT_KINDS = frozenset({"thinking", "redacted_thinking", "text", "tool_use"})


class MissingReasoning(_plan.MissingReasoning, litellm.exceptions.BadRequestError):
    """`Policy(missing="raise")`: reasoning that the host demands is not at hand; nothing was sent.

    Also a `BadRequestError`: LiteLLM hands its own errors through as they are and does not send them again.
    """

    def __init__(self, cause: _plan.MissingReasoning, model: str, provider: str) -> None:
        litellm.exceptions.BadRequestError.__init__(self, message=str(cause), model=model, llm_provider=provider)
        self.index = cause.index
        self.host = cause.host


class _Planned:
    """What layer 1 tells layer 2 and the reply. Opaque: LiteLLM's loggers may copy or print what holds it."""

    __slots__ = ("plan",)

    def __init__(self, plan: _plan.Plan) -> None:
        self.plan = plan

    def __deepcopy__(self, memo: object) -> _Planned:
        return self

    def __reduce__(self) -> tuple[type[object], tuple[()]]:
        return object, ()


class ReasoningReplay(CustomLogger):
    """`litellm.callbacks.append(ReasoningReplay())` is all that a program does.

    The same policy twice gives the same callback. A second policy raises ValueError, since LiteLLM's callbacks are
    of the whole process; `uninstall()` takes the first one out.
    """

    _installed: ReasoningReplay | None = None
    _lock = Lock()

    def __new__(cls, policy: Policy | None = None, known: Known | None = None) -> Self:
        with cls._lock:
            there = ReasoningReplay._installed
            if there is None:
                return super().__new__(cls)  # type: ignore[no-any-return]
            if there.policy != (policy or Policy()) or there.known is not known:
                raise ValueError(
                    f"ReasoningReplay(policy={policy!r}): another policy is installed ({there.policy!r}); one policy "
                    "holds for the whole process; call uninstall() on the first callback before making another"
                )
            return cast("Self", there)

    def __init__(self, policy: Policy | None = None, known: Known | None = None) -> None:
        with self._lock:
            if ReasoningReplay._installed is self:
                return
            super().__init__()
            self.policy = policy or Policy()
            self.known = known
            self._done = _patches.install(self)
            self._dispatches = _patches.covers_requests(self._done)
            ReasoningReplay._installed = self

    def uninstall(self) -> None:
        """Puts back what the patches replaced, and leaves every one of LiteLLM's lists of callbacks."""
        with self._lock:
            _patches.uninstall(self._done)
            if ReasoningReplay._installed is self:
                ReasoningReplay._installed = None
        for name, value in list(vars(litellm).items()):
            if "callback" in name and isinstance(value, list):
                value[:] = [each for each in value if each is not self]

    def active(self) -> bool:
        """Whether the callback stands in `litellm.callbacks`: LiteLLM's copies elsewhere do not count."""
        return any(each is self for each in litellm.callbacks)

    # Layer 1

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Does the work of `before_dispatch` for async calls where a LiteLLM has not the place for it."""
        name = getattr(call_type, "value", call_type)
        if not is_chat({"call_type": name}):
            return None
        _details_of(kwargs.get("litellm_logging_obj")).pop(_PLANNED, None)  # of an attempt before, with `fallbacks=`
        if self._dispatches or kwargs.get("fallbacks") is not None:
            return None
        if not self.active() or "messages" not in kwargs or "model" not in kwargs:
            return None
        return fail_closed("litellm", lambda: self._hooked(kwargs), lambda: _within(_stripped(kwargs), kwargs))

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
        return _within(self.before_dispatch(fields), kwargs)

    def before_dispatch(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of one attempt at a chat completion, with what may go to its host. Changes nothing in place."""
        details = _details_of(fields.get("logging"))
        if not isinstance(fields.get("messages"), list) or not is_chat(details):
            return fields
        details.pop(_PLANNED, None)
        return fail_closed("litellm", lambda: self._planned(fields, details), lambda: _stripped(fields))

    def _planned(self, fields: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
        provider, model = str(fields.get("custom_llm_provider") or ""), str(fields.get("model") or "")
        carrier = carrier_of(provider, model)
        dialect = fields.get("bridge") or carrier.dialect
        params = fields.get("optional_params") or {}
        url = predicted_url(provider, carrier, fields.get("api_base"), fields.get("client"), params)
        if url is None:
            if carrier.wire is not None and "bridge" not in fields:
                return fields  # layer 2 will know
            url = custom_host("unpredicted")
        try:
            plan = self._prepare(fields["messages"], url, dialect, model, params, hint_of(provider, carrier))
        except _plan.MissingReasoning as missing:
            raise MissingReasoning(missing, model, provider) from None
        details[_PLANNED] = _Planned(plan)
        details[REPORT] = plan.report
        return {**fields, "messages": plan.messages, "optional_params": _as_dict(plan.request, params)}

    def _prepare(
        self, messages: Any, url: str, dialect: str, model: str, params: Mapping[str, Any], hint: str | None
    ) -> _plan.Plan:
        return _replay.prepare_safely(
            messages,
            host=url,
            model=model,
            dialect=dialect,
            form="litellm",
            request=params,
            policy=self.policy,
            hint=hint,
            known=self.known,
        )

    # Layer 2

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
        """Confirms the plan on the body that is about to be sent, with the host that it is really sent to.

        LiteLLM swallows what is raised here and sends the body all the same, so nothing may be raised: what the
        policy would raise, layer 1 has raised.
        """
        if not self.active() or not is_chat(kwargs):
            return
        extra = kwargs.get("additional_args") or {}
        body = extra.get("complete_input_dict")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return
        try:
            fail_closed(
                "litellm",
                lambda: self._confirm(body, extra.get("api_base"), messages, kwargs),
                lambda: _strip_body(body, kwargs),
            )
        except (_plan.MissingReasoning, BadPolicy):
            _strip_body(body, kwargs)

    def _confirm(self, body: dict[str, Any], url: object, messages: Any, details: dict[str, Any]) -> None:
        provider, model = str(details.get("custom_llm_provider") or ""), str(details.get("model") or "")
        carrier = carrier_of(provider, model)
        planned = _planned_in(details)
        if carrier.wire is None or (url is None and planned is None):
            return  # out of reach, or a mocked reply
        if planned is not None and (url is None or planned.origin == _origin(str(url), carrier.dialect, model)):
            plan = planned
        else:  # layer 1 was wrong about the host, or there was none: from the caller's marked messages, for this host
            given = messages if isinstance(messages, list) else body["messages"]
            params = {key: value for key, value in body.items() if key != "messages"}
            plan = self._prepare(given, str(url), carrier.dialect, model, params, hint_of(provider, carrier))
        confirmed = _replay.confirm_safely(body["messages"], plan, form=carrier.wire, request=body)
        # What LiteLLM itself has dropped for this provider was not kept, whatever was planned.
        as_planned = confirmed.work is plan.work or sum(confirmed.kept.values()) >= sum(plan.kept.values())
        details[REPORT] = plan.report if as_planned else confirmed.report
        _write_body(body, confirmed)

    # Layer 3

    def replied(self, result: Any, logging_obj: Any) -> None:
        """Marks a reply that has just come from its host, once."""
        details = _details_of(logging_obj)
        if not _is_ours(details) or isinstance(getattr(result, "_hidden_params", None), Told):
            return
        if hasattr(result, "choices"):
            tell(result, details.get(REPORT))
            origin = _answering(details)
            details.pop(_PLANNED, None)
            for choice in result.choices:
                self._mark(choice.message, origin, details)
        elif hasattr(result, "chunk_creator"):
            tell(result, details.get(REPORT))

    def _mark(self, message: Any, origin: Origin | None, details: Mapping[str, Any]) -> None:
        fields = {key: value for key, value in (getattr(message, PSF, None) or {}).items() if key != MARK}
        reply = None
        if origin is not None:
            bare = {**message.model_dump(), PSF: fields}
            reply = _capture.capture_safely(bare, origin, form="litellm", known=self.known)
        notes = (reply or {}).get(PSF) or {}
        if MARK in notes:
            order = _order_of(message, details.get("original_response"))
            setattr(message, PSF, {**fields, MARK: notes[MARK], **({} if order is None else {LAYOUT: order})})
        elif MARK in (getattr(message, PSF, None) or {}):  # the host sent a mark of its own: it says nothing
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
            tell(chunk, _details_of(stream.logging_obj).get(REPORT))
            said = (stream.received_finish_reason, stream.intermittent_finish_reason)
            notes.leaves(chunk, complete=any(reason is not None for reason in said))

    def _notes(self, stream: Any) -> StreamNotes | None:
        if _STREAM not in vars(stream):
            details = _details_of(stream.logging_obj)
            fresh = _is_ours(details) and stream.custom_llm_provider != "cached_response"
            origin = _answering(details) if fresh else None
            setattr(stream, _STREAM, None if origin is None else StreamNotes(origin, self.known))
        notes: StreamNotes | None = vars(stream)[_STREAM]
        return notes


def _details_of(logging_obj: Any) -> dict[str, Any]:
    """LiteLLM's notes of an attempt; an empty dict where there are none."""
    details = getattr(logging_obj, "model_call_details", None)
    return details if isinstance(details, dict) else {}


def _planned_in(details: Mapping[str, Any]) -> _plan.Plan | None:
    planned = details.get(_PLANNED)
    return planned.plan if isinstance(planned, _Planned) else None


def _answering(details: Mapping[str, Any]) -> Origin | None:
    planned = _planned_in(details)
    return origin_of(details, None if planned is None else planned.origin)


def _is_ours(details: Mapping[str, Any]) -> bool:
    """A chat call; one that LiteLLM has bridged is called `responses` by now, but was planned as chat."""
    return is_chat(details) or _PLANNED in details


def _origin(url: str, dialect: str, model: str) -> Origin | None:
    try:
        return Origin.from_url(url, dialect=dialect, model=model)
    except OriginError:
        return None


def _stripped(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an attempt without any reasoning, where our own bookkeeping has failed."""
    params = fields.get("optional_params")
    plan = _last_resort(fields["messages"], "litellm", fields, params)
    return {**fields, "messages": plan.messages, "optional_params": _as_dict(plan.request, params)}


def _strip_body(body: dict[str, Any], details: Mapping[str, Any]) -> None:
    """Takes all reasoning out of a body, where our own bookkeeping has failed."""
    dialect = _dialect_of(details)
    _write_body(body, _last_resort(body["messages"], "anthropic" if dialect == "anthropic" else "chat", details, body))


def _last_resort(messages: Any, form: str, names: Mapping[str, Any], request: Any) -> _plan.Plan:
    provider, model = str(names.get("custom_llm_provider") or ""), str(names.get("model") or "")
    target = Origin(custom_host("unreadable"), dialect=_dialect_of(names), model=model)
    return _replay.fallback_plan(messages, target, form, request, provider)


def _dialect_of(names: Mapping[str, Any]) -> str:
    """The dialect by the table alone: this must work when everything else does not."""
    return next((row.dialect for row in CARRIERS if row.provider == names.get("custom_llm_provider")), "chat")


def _within(fields: Mapping[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's keywords with what became of them; a key that was not there would be given twice."""
    changed = {**(fields.get("optional_params") or kwargs), "messages": fields["messages"]}
    return {key: value for key, value in changed.items() if key in kwargs}


def _as_dict(request: Mapping[str, Any] | None, given: Any) -> Any:
    return given if request is None or request is given else dict(request)


def _write_body(body: dict[str, Any], plan: _plan.Plan) -> None:
    """Writes a confirmed plan into the very dict that LiteLLM is about to send."""
    if plan.messages is not body["messages"]:
        body["messages"] = plan.messages
    request = plan.request
    if request is None or request is body:
        return
    for key in [key for key in body if key not in request and key != "messages"]:
        del body[key]
    body.update((key, value) for key, value in request.items() if key != "messages")


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
