"""Policies written in a configuration: as plain values, for the whole process or for one deployment of a Router.

A deployment says its own in `model_info: {reasoning_replay: {window: all}}`; what it leaves out is as the callback has
it. LiteLLM's Router writes `model_info` over whatever a client has sent under that name. Must not decide anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from .._policy import nearest
from .._rules import BadPolicy, Policy
from ..hosts import all_hosts

KEY = "reasoning_replay"
"""Of a deployment's `model_info`."""
PLAIN = tuple(field.name for field in fields(Policy) if field.name not in ("rules", "starts_turn"))
"""What plain values can say; rules and functions need a program."""


def policy_from(options: Mapping[str, Any], base: Policy | None = None) -> Policy:
    """The policy that these plain values say, over a base.

    Raises:
        BadPolicy: a name or a value that no policy has.
    """
    if not isinstance(options, Mapping):
        raise BadPolicy(f"{KEY}: a {type(options).__name__}; allowed: a mapping with {', '.join(PLAIN)}")
    for name in options:
        if name not in PLAIN:
            raise BadPolicy(f"{KEY}.{name}: not known; {nearest(name, PLAIN)}allowed: {', '.join(PLAIN)}")
    return replace(base or Policy(), **options)


def check_aliases(policy: Policy) -> None:
    """That there is a rule file for each alias.

    Raises:
        BadPolicy: there is none.
    """
    ids = {host.id for host in (*policy.rules, *all_hosts())} if policy.aliases else set()
    for host, wanted in policy.aliases.items():
        if wanted not in ids:
            raise BadPolicy(
                f"aliases: {host!r} is to be {wanted!r}, a host that there is not; {nearest(wanted, ids)}"
                "`reasoning-replay hosts` lists them"
            )


def policy_of(details: Mapping[str, Any], base: Policy) -> Policy:
    """The policy for the deployment that a call goes to, by LiteLLM's notes of the call.

    Raises:
        BadPolicy: the deployment's `model_info` says one that there is not.
    """
    params = details.get("litellm_params")
    for key in ("metadata", "litellm_metadata"):
        notes = params.get(key) if isinstance(params, Mapping) else None
        info = notes.get("model_info") if isinstance(notes, Mapping) else None
        if isinstance(info, Mapping) and info.get(KEY) is not None:
            return _said_by(info, notes, base)
    return base


def _said_by(info: Mapping[str, Any], notes: Any, base: Policy) -> Policy:
    try:
        policy = policy_from(info[KEY], base)
        if "aliases" in info[KEY]:
            check_aliases(policy)
    except BadPolicy as error:
        name = f"{notes.get('deployment')!r} (id {info.get('id')!r})"
        raise BadPolicy(f"model_info of the deployment {name}: {error}") from None
    return policy


def another(there: Any, policy: Policy | None, redact_logs: bool) -> ValueError:
    """The error for a second callback that is not to do the same as the one that is installed."""
    given, found = f"policy={policy!r}", f"another policy is installed ({there.policy!r})"
    if there.redact_logs is not redact_logs:
        given, found = f"redact_logs={redact_logs}", f"one with redact_logs={there.redact_logs} is installed"
    return ValueError(
        f"ReasoningReplay({given}): {found}; one policy holds for the whole process; call uninstall() on the first "
        "callback before making another"
    )
