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

from .._origin import Origin, OriginError, host_of
from ._carriers import ELSEWHERE, REGIONS, Carrier, carrier_of


def predicted_url(
    provider: str, carrier: Carrier, base: object, client: object, params: Mapping[str, Any]
) -> str | None:
    """The base URL that a call will go to; `custom:<provider>` for a handler of the caller's own, None: not known."""
    own = client_base(client)
    if own is not None and not carrier.ignores_client and host_at(own) != host_at(base):
        return None  # only where LiteLLM sends it is it known whether it goes through the client
    first = litellm.api_base if carrier.global_first else None
    for found in (first, base):
        if found is not None and str(found):
            return str(found)
    for place in carrier.bases:
        url = _look_up(place, params)
        if url:
            return url
    return custom_host(provider) if provider in litellm._custom_providers else None


def client_base(client: object) -> str | None:
    """The base URL of an OpenAI SDK's client; None for anything else."""
    base = getattr(client, "base_url", None)
    return None if base is None or not str(base) else str(base)


def host_at(url: object) -> str | None:
    """The host of a URL; None for what is none."""
    try:
        return host_of(str(url))
    except OriginError:
        return None


def _look_up(place: str, params: Mapping[str, Any]) -> str | None:
    """What stands at one of the places of `bases` and REGIONS; None for nothing."""
    kind, _, name = place.partition(".")
    if kind == "litellm":
        found = getattr(litellm, name, None)
    elif kind == "call":
        found = params.get(name)
    else:
        found = _filled(place, params) if "://" in place else os.environ.get(place)
    return found if isinstance(found, str) and found else None


def _filled(base: str, params: Mapping[str, Any]) -> str | None:
    """A default base with its region filled in; None where no region is to be found."""
    head, brace, rest = base.partition("{")
    if not brace:
        return base
    name, _, tail = rest.partition("}")
    for place in REGIONS[name]:
        found = place[1:] if place.startswith("=") else _look_up(place, params)
        if found is not None:
            return ELSEWHERE.get(f"{head}{found}{tail}", f"{head}{found}{tail}")
    return None


def custom_host(provider: str) -> str:
    """The host of a reply that came from no URL: a handler of the caller's own, or a mocked response."""
    return f"custom:{provider or 'unnamed'}"


def origin_of(details: Mapping[str, Any], called: str | None, planned: Origin | None) -> Origin | None:
    """Who has just answered; None where it cannot be read.

    The host: where layer 2 saw the request go (`called`), else LiteLLM's own note, else where layer 1 sent it
    (`planned`, which also knows the dialect of a bridged call), else none: a handler of the caller's own, or a mock.
    """
    provider, model = str(details.get("custom_llm_provider") or ""), str(details.get("model") or "")
    dialect = carrier_of(provider, model).dialect if planned is None else planned.dialect
    noted = (details.get("litellm_params") or {}).get("api_base")
    url = called or (str(noted) if noted else None)
    if url is None and planned is not None:
        return planned
    try:
        return Origin.from_url(custom_host(provider) if url is None else url, dialect=dialect, model=model)
    except OriginError:
        return None
