"""Where a ChatLiteLLM will call: LiteLLM's own prediction, by the table of `litellm/_carriers`. It imports LiteLLM.

A Router decides for itself, and so does a call with `fallbacks`: for those nothing is known before the reply.
The parameters are merged as `ChatLiteLLM._client_params` and `_merge_call_params` do (langchain-litellm 0.11.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import litellm

from ..litellm._carriers import carrier_of, hint_of
from ..litellm._target import predicted_url
from ._classes import Target

_MOVES = ("fallbacks", "deployment_id", "model_list")
"""Parameters after which LiteLLM may call somebody else than the model names."""


def litellm_target(model: Any, kwargs: Mapping[str, Any]) -> Target:
    """Where a ChatLiteLLM or its Router will call."""
    params = _params(model, kwargs)
    if litellm.model_fallbacks:
        return Target(None, "chat", _text(params.get("model")))
    return _target(params, model.use_responses_api) if not hasattr(model, "router") else _router_target(model, params)


def _router_target(model: Any, params: dict[str, Any]) -> Target:
    """Where a Router calls: known only where every deployment that it may pick, fallbacks too, is at one place."""
    unknown = Target(None, "chat", _text(params.get("model")))
    sent = {name: value for name, value in params.items() if value is not None}
    try:
        groups = model._reachable_groups(sent)
        deployments = [each for group in groups or () for each in model._deployments({**sent, "model": group})]
    except AttributeError:  # another langchain-litellm
        return unknown
    targets = {_target(deployment, None) for deployment in deployments}
    return targets.pop() if len(targets) == 1 else unknown


def deployment_target(model: Any, identity: str | None) -> Target | None:
    """Where the deployment of a Router's model list calls; None for one that is not there (any more)."""
    for entry in getattr(model.router, "model_list", None) or ():
        if identity is not None and (entry.get("model_info") or {}).get("id") == identity:
            return _target(entry.get("litellm_params") or {}, None)
    return None


def _target(params: Mapping[str, Any], bridge: bool | None) -> Target:
    if any(params.get(name) for name in _MOVES):
        return Target(None, "chat", _text(params.get("model")))
    name = str(params.get("model"))
    name = (litellm.model_alias_map or {}).get(name, name)
    asked = params.get("base_url") or params.get("api_base")
    try:
        name, llm_provider, _, base = litellm.get_llm_provider(name, params.get("custom_llm_provider"), asked)
    except litellm.BadRequestError:  # LiteLLM will refuse the call as well
        return Target(None, "chat", name)
    carrier = carrier_of(llm_provider, name)
    url = predicted_url(llm_provider, carrier, asked or base, params.get("client"), params)
    own = params.get("use_responses_api")
    bridged = (bridge if own is None else own) or name.startswith("responses/") or _bridged(name, llm_provider)
    return Target(
        url,
        "responses" if bridged else carrier.dialect,
        name.removeprefix("responses/"),
        hint_of(llm_provider, carrier),
        _text(params.get("organization")),
    )


def _params(model: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What LiteLLM will be called with, as far as it moves a call; None counts as not given."""
    merged = {
        "model": model.model_name if model.model_name is not None else model.model,
        "custom_llm_provider": model.custom_llm_provider,
        **model.model_kwargs,
    }
    for params in ({"api_base": model.api_base, "organization": model.organization}, kwargs):
        merged.update((name, value) for name, value in params.items() if value is not None)
    return merged


@lru_cache(maxsize=1024)
def _bridged(name: str, llm_provider: str) -> bool:
    """Whether LiteLLM's own list of models says that it takes the Responses API."""
    known, _ = litellm.main.responses_api_bridge_check(model=name, custom_llm_provider=llm_provider)
    return bool(known.get("mode") == "responses")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
