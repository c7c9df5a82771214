"""Where a call goes and where it went: the only file that asks LiteLLM, its client or the environment for a host.

Before the call it is a prediction, in LiteLLM's own order; None is "not known", never a guess.
After it, the logging object's URL is the truth. `_hidden_params` is not asked: it names the failed first target after
`fallbacks=`, and nothing at all for several providers (run with litellm 1.110.2).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import litellm

from .._origin import Origin, OriginError
from ._carriers import ELSEWHERE, GLOBAL_BASE, REGIONS, Carrier, carrier_of


def predicted_url(
    provider: str, carrier: Carrier, base: object, client: object, params: Mapping[str, Any]
) -> str | None:
    """The base URL that a call will go to; `custom:<provider>` for a handler of the caller's own, None: not known."""
    own = getattr(client, "base_url", None)  # an OpenAI client's base wins over the call's own
    first = litellm.api_base if carrier.global_first else None
    for found in (own, first, base):
        if found is not None and str(found):
            return str(found)
    for place in carrier.bases:
        url = _look_up(place, params)
        if url:
            return url
    return custom_host(provider) if provider in litellm._custom_providers else None


def _look_up(place: str, params: Mapping[str, Any]) -> str | None:
    if place == GLOBAL_BASE:
        return litellm.api_base if isinstance(litellm.api_base, str) else None
    if "://" not in place:
        return os.environ.get(place)
    head, brace, rest = place.partition("{")
    if not brace:
        return place
    name, _, tail = rest.partition("}")
    variables, default = REGIONS[name]
    found = (params.get(name), *map(os.environ.get, variables), default)
    url = f"{head}{next(value for value in found if isinstance(value, str))}{tail}"
    return ELSEWHERE.get(url, url)


def custom_host(provider: str) -> str:
    """The host of a reply that came from no URL: a handler of the caller's own, or a mocked response."""
    return f"custom:{provider or 'unnamed'}"


def origin_of(details: Mapping[str, Any], dialect: str | None = None) -> Origin | None:
    """Who has just answered, by LiteLLM's own notes of the attempt; None where they cannot be read."""
    provider, model = str(details.get("custom_llm_provider") or ""), str(details.get("model") or "")
    carrier = carrier_of(provider, model)
    url = (details.get("litellm_params") or {}).get("api_base")
    try:
        return Origin.from_url(
            str(url) if url is not None and str(url) else custom_host(provider),
            dialect=dialect or carrier.dialect,
            model=model,
        )
    except OriginError:
        return None
