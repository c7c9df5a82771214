"""The doors of a request: prepare and confirm. The order of the steps stands here and only here.

`prepare`: view → resolve → select → plan → apply. It sends nothing, so it is the dry run too.
`confirm`: the same for the wire's copy of what `prepare` was given. `…_safely` is what integrations call: the same
with the fallback behind it, since a fault inside must neither break a call nor leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from . import _engine, _guards
from ._decision import Draft, Row
from ._fallback import stripped
from ._faults import fail_closed, tell
from ._history import History, HistoryError
from ._known import Known, Overlay, check_known, default_store
from ._origin import Origin, OriginError, Reach, accepts, path_of
from ._plan import ConversationElsewhere, MissingReasoning, Plan, Work
from ._policy import check_policy
from ._report import Report
from ._resolve import by_count, in_store, recalled_for, resolve, restored_in
from ._rules import (
    Choice,
    Policy,
    Rule,
    ask_to_keep,
    dialects_of,
    disable_thinking,
    has_tools,
    holds_key,
    select,
    upstream_of,
)
from ._unknown import without_strangers
from .forms import Form, digest, form_for, given_back
from .forms._envelopes import name_payload
from .hosts import all_hosts


def prepare(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    upstream: str | None = None,
    account: str | None = None,
    known: Known | None = None,
) -> Plan:
    """What of the earlier reasoning goes to `host`, and everything else without it. Sends nothing, changes nothing.

    Args:
        messages: the history, marked by `capture` (or `adopt`); dicts, or SDK objects with `model_dump`.
        host: a URL, or `name[:port]`. A path matters only for hosts whose rules depend on it.
        model: as the host names it. None: only rules for every model fit.
        dialect: what the host speaks: `chat`, `anthropic`, `responses`, `gemini`, `bedrock`, `ollama`.
        form: how `messages` is written, where that is not the dialect's own form: `litellm`.
        request: the call's parameters (`tools`, `thinking`, `tool_choice`, `max_tokens` …).
        policy: what you choose where the host's rule leaves a choice.
        hint: what the integration knows of the host when the URL is the caller's own.
        upstream: the vendor behind a router, where the model's name does not say it.
        account: the organization or cloud account, compared only where sealed parts are bound to it.
        known: where payloads were seen to come from; the process's own store when none is given.

    Raises:
        HistoryError: messages that cannot be read; it names the message and what is allowed.
        OriginError: a host or dialect that cannot be read.
        BadPolicy: a policy that names something that is not there.
        TypeError: `known` is no store.
        MissingReasoning: `Policy(missing="raise")`, and required reasoning is not in the history.
    """
    check_known(known)
    target = Origin(host, dialect=dialect, model=model, upstream=upstream, account=account)
    return _prepare_for(
        messages, target, path_of(host), form=form, request=request, policy=policy, hint=hint, known=known
    )


def prepare_untold(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    upstream: str | None = None,
    account: str | None = None,
    **options: Any,
) -> Plan:
    """`prepare` for doors that only look and send nothing (counting): no observer is told, nothing is logged."""
    check_known(options.get("known"))
    target = Origin(host, dialect=dialect, model=model, upstream=upstream, account=account)
    return _prepare_for(messages, target, path_of(host), told=False, **options)


def _prepare_for(
    messages: Any,
    target: Origin,
    path: str | None,
    *,
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    known: Known | None = None,
    told: bool = True,
) -> Plan:
    """`prepare` for a target that is an origin already."""
    _check(request, policy)
    store = default_store() if known is None else known
    shape = form_for(form, target.dialect)
    plan = _prepare(messages, target, shape, request, policy or _DEFAULT, hint, store, path)
    if told:
        tell(plan)
    return plan


_DEFAULT = Policy()


def _check(request: object, policy: object) -> None:
    """Raises for arguments of the wrong type, before anything is read."""
    if request is not None and not isinstance(request, Mapping):
        raise HistoryError(f"request: a {type(request).__name__}; allowed: a dict of the call's parameters, or None")
    check_policy(policy)


def _prepare(
    messages: Any,
    target: Origin,
    form: Form,
    request: Mapping[str, Any] | None,
    policy: Policy,
    hint: str | None,
    known: Known,
    path: str | None = None,
) -> Plan:
    rows = form.rows(messages)
    history, recalled = recalled_for(messages, rows, form, policy.starts_turn, known, request)
    if recalled is not None:
        messages, rows = recalled.messages, recalled.rows
    again = isinstance(known, Overlay)  # what a plan for these messages kept: it knows blanks too
    history = resolve(history, rows, form, in_store(known if recalled is None else recalled), blanks=again)
    if isinstance(known, Overlay):
        history = restored_in(history, rows, form, known.restored)
        history = history.with_start_of(known.users, known.users_in_turn)
    used = history.calls_tools()
    choice = select(all_hosts(), target, request, policy=policy, hint=hint, used_tools=used, path=path)
    if policy.unknown_origin != "drop":
        history = without_strangers(history, rows, form, choice.rule)
    reach = _reach(choice, policy)
    here = _without_elsewhere(request, history, target, reach, known)
    asked = ask_to_keep(choice, here, policy)
    draft = _engine.plan(history, choice, target, reach, policy, asked)
    done = [*(["elsewhere"] if here is not request else ()), *(["kept_turns"] if asked is not here else ())]
    draft = draft._replace(guards=(*done, *draft.guards)) if done else draft
    if draft.missing is not None:
        choice, draft = _lacking(choice, draft, target, policy, hint, path)
    work = Work(tuple(rows), form, draft, choice, policy, known, recalled)
    return _plan_of(messages, rows, work, target, hint)


def _plan_of(messages: Any, rows: list[Mapping[str, Any]], work: Work, target: Origin, hint: str | None) -> Plan:
    draft = work.draft
    out = work.form.apply(rows, draft.history, draft.zones)
    return Plan(
        messages=given_back(work.form, messages, rows, out),
        request=draft.request,
        report=work.report(target),
        origin=target,
        hint=hint,
        work=work,
    )


def _reach(choice: Choice, policy: Policy) -> Reach:
    return Reach(
        same_host=tuple(policy.same_host),  # type: ignore[arg-type]
        router=choice.host.router,
        bound=choice.rule.bound,
        holds_key=holds_key(choice, policy),
        upstream_of=lambda model: upstream_of(choice.host, choice.rule, model),
        opens=choice.rule.opens,
        dialects=dialects_of(choice),
    )


def _without_elsewhere(
    request: Mapping[str, Any] | None, history: History, target: Origin, reach: Reach, known: Known
) -> Mapping[str, Any] | None:
    """The parameters without the name of a conversation that another endpoint is known to keep.

    Raises:
        ConversationElsewhere: nothing that this endpoint said is in the history, so the conversation is not in hand.
    """
    for parameter, name in _guards.stored(request or {}):
        keepers = frozenset(known.origins(digest(name_payload(name))))
        if not keepers or any(accepts(target, keeper, reach, sealed=True) for keeper in keepers):
            continue
        said = (part.origins for shape in history.shapes for part in shape.parts if part.origins is not None)
        if all(keepers.isdisjoint(origins) for origins in said):
            raise ConversationElsewhere(parameter, target.host, ", ".join(sorted(each.host for each in keepers)))
        request = {key: value for key, value in (request or {}).items() if key != parameter}
    return request


def _lacking(
    choice: Choice, draft: Draft, target: Origin, policy: Policy, hint: str | None, path: str | None
) -> tuple[Choice, Draft]:
    """What the policy asks for where required reasoning is missing."""
    assert draft.missing is not None
    required = choice.rule.requirement == "required"
    if policy.missing == "raise" and required:
        raise MissingReasoning(draft.missing, target.host)
    if policy.missing != "disable_thinking" or not choice.rule.can_disable:
        return choice, draft
    request = disable_thinking(choice, draft.request or {})
    if request is draft.request:
        return choice, draft
    used = draft.history.calls_tools()
    off = select(all_hosts(), target, request, policy=policy, hint=hint, used_tools=used, path=path)
    quiet = _engine.plan(draft.history, off, target, _reach(off, policy), policy, request)
    return off, quiet._replace(guards=(*draft.guards, "disabled", *quiet.guards))


def confirm(messages: Any, plan: Plan, *, form: str | None = None, request: Mapping[str, Any] | None = None) -> Plan:
    """The same plan on the wire's copy of its messages: unmarked, and rewritten by a framework in between.

    Only payloads that `plan` kept stay, as often as it kept them, counted from the end (a window cuts the front);
    renames, fills and guards are applied again. Turn notes are gone from the wire, so the window is not asked again.
    The report is of the caller's messages, and says `framework` where what was to go is not on the wire.

    Raises:
        HistoryError: a wire body that cannot be read.
    """
    target = plan.origin
    if plan.work is None:
        return fallback_plan(messages, target, form, request, plan.hint)
    choice, policy = plan.work.choice, plan.work.policy
    shape = form_for(form, target.dialect)
    rows = shape.rows(messages)
    request = ask_to_keep(choice, request, policy)
    if rows == plan.messages and plan.work.goes_as_it_is():
        return replace(plan, messages=messages, request=request)
    find = by_count(plan.kept, target)
    history = resolve(_unmarked(shape.view(rows, None)), rows, shape, find, blanks=True)
    planned = plan.work.draft.history
    history = history.with_start_of(planned.users(), planned.users(planned.turn_start))
    strict = replace(policy, unknown_origin="drop")
    loose = choice._replace(rule=replace(choice.rule, window="all"))
    draft = _engine.plan(history, loose, target, _reach(choice, strict), strict, request)
    confirmed = _plan_of(messages, rows, Work(tuple(rows), shape, draft, choice, policy, None), target, plan.hint)
    return replace(confirmed, report=plan.work.report(target, confirmed.kept))


def _unmarked(history: History) -> History:
    """The history with every mark unread: on the wire only what the plan kept counts."""
    bare = {
        shape: replace(shape, parts=tuple(part._replace(marked=False, origins=None) for part in shape.parts))
        for shape in history.shapes
    }
    return history.with_rows([bare[shape] for shape in history.rows])


def fallback_plan(
    messages: Any, target: Origin, form: str | None, request: Mapping[str, Any] | None, hint: str | None
) -> Plan:
    """The plan of last resort: no reasoning at all, and what the host demands in its place."""
    left, request = stripped(
        messages, form=form, dialect=target.dialect, host=target.host, hint=hint, model=target.model, request=request
    )
    row = Row(None, None, "request", "guard", "fault", (), 0)
    report = Report((row,), origin=target, rule=None, thinking="unset", tools=False)
    return Plan(messages=left, request=request, report=report, origin=target, hint=hint)


def prepare_safely(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    hint: str | None = None,
    **options: Any,
) -> Plan:
    """`prepare` for integrations: a fault inside gives the fallback's plan, and one warning.

    Raises:
        MissingReasoning, BadPolicy: what the caller asked for.
    """
    target = _target_safely(host, dialect, model)
    return fail_closed(
        target.host,  # not the URL: it may hold a secret
        lambda: prepare(
            messages, host=host, model=model, dialect=dialect, form=form, request=request, hint=hint, **options
        ),
        lambda: fallback_plan(messages, target, form, request, hint),
    )


def prepare_origin_safely(
    messages: Any,
    target: Origin,
    path: str | None,
    *,
    form: str,
    request: Mapping[str, Any] | None,
    hint: str | None,
    **options: Any,
) -> Plan:
    """`prepare_safely` for an integration that keeps its targets as origins; `path` is that of the called URL."""
    return fail_closed(
        target.host,
        lambda: _prepare_for(messages, target, path, form=form, request=request, hint=hint, **options),
        lambda: fallback_plan(messages, target, form, request, hint),
    )


def confirm_safely(
    messages: Any, plan: Plan, *, form: str | None = None, request: Mapping[str, Any] | None = None
) -> Plan:
    """`confirm` for integrations; on a fault everything is stripped."""
    return fail_closed(
        plan.origin.host,
        lambda: confirm(messages, plan, form=form, request=request),
        lambda: fallback_plan(messages, plan.origin, form, request, plan.hint),
    )


def _target_safely(host: str, dialect: str, model: str | None) -> Origin:
    try:
        return Origin(host, dialect=dialect, model=model)
    except OriginError:
        return Origin("custom:unreadable", model=model)


def rule_for(
    host: str,
    model: str | None = None,
    *,
    dialect: str = "chat",
    request: Mapping[str, Any] | None = None,
    hint: str | None = None,
    policy: Policy | None = None,
) -> Rule:
    """The rule for a request, its window settled by the request's parameters and the policy.

    Without `request`, the rule for a request with tools, to a model that thinks.

    Raises:
        OriginError: a host or dialect that cannot be read.
        BadPolicy: a policy that names something that is not there.
    """
    _check(request, policy)
    target = Origin(host, dialect=dialect, model=model)
    used = request is None or has_tools(request)
    choice = select(all_hosts(), target, request, policy=policy, hint=hint, used_tools=used, path=path_of(host))
    return choice.rule
