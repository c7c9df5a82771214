"""The header that asks Claude for betas: LiteLLM keeps it apart from the parameters, and the core's guards read it.

A budget may exceed the limit with one of them, and what goes only with thinking has to go with it. Nothing else of the
headers is looked at: they hold the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEADER = "anthropic-beta"
PARAM = "betas"
"""Under which name the guards find the values among the parameters."""
PLACES = ("headers", "extra_headers")
"""Where LiteLLM's own fields of a call hold headers; the second one is the caller's."""
_SCOPED = "provider_specific_header"
"""Where the proxy hands a client's headers on, for some providers; in a chat completion LiteLLM has joined the two."""


def with_betas(params: Mapping[str, Any], *headers: Any) -> Mapping[str, Any]:
    """The parameters with the betas of these headers among them; the very same where there are none."""
    found = [beta for each in headers if isinstance(each, Mapping) for beta in _said(each)]
    return {**params, PARAM: list(dict.fromkeys(found))} if found and PARAM not in params else params


def _said(headers: Mapping[str, Any]) -> list[str]:
    values = (str(value) for name, value in headers.items() if str(name).lower() == HEADER)
    return [beta.strip() for value in values for beta in value.split(",")]


def without_betas(
    planned: Mapping[str, Any] | None, asked: Mapping[str, Any], params: Mapping[str, Any]
) -> tuple[Mapping[str, Any], frozenset[str]]:
    """What became of the parameters, and which betas have gone.

    Args:
        planned: what a plan made of `asked`.
        asked: what `with_betas` made of `params`.
    """
    if planned is None or planned is asked:
        return params, frozenset()
    if asked is params:
        return planned, frozenset()
    gone = frozenset(asked[PARAM]) - frozenset(planned.get(PARAM, ()))
    return {key: value for key, value in planned.items() if key != PARAM}, gone


def headers_left(headers: Any, gone: frozenset[str]) -> Any:
    """The headers without these betas; the very same where none of them is there."""
    if not gone or not isinstance(headers, Mapping) or gone.isdisjoint(_said(headers)):
        return headers
    left = ",".join(beta for beta in _said(headers) if beta not in gone)
    rest = {name: value for name, value in headers.items() if str(name).lower() != HEADER}
    return {**rest, HEADER: left} if left != "" else rest


def headers_in(call: Mapping[str, Any]) -> list[Any]:
    """All headers among the keywords of a call."""
    return [*(call.get(place) for place in PLACES), *(row.get(PLACES[1]) for row in _scoped(call))]


def call_left(call: Mapping[str, Any], gone: frozenset[str]) -> dict[str, Any]:
    """The keywords of a call, with headers without these betas."""
    rows = [{**row, PLACES[1]: headers_left(row.get(PLACES[1]), gone)} for row in _scoped(call)]
    left = {place: headers_left(call[place], gone) for place in PLACES if place in call}
    return {**call, **left, **({_SCOPED: rows} if rows else {})}


def _scoped(call: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = call.get(_SCOPED)
    rows = given if isinstance(given, list | tuple) else [given]
    return [row for row in rows if isinstance(row, Mapping)]


def write_headers(headers: Any, gone: frozenset[str]) -> None:
    """Takes these betas out of the very dict that LiteLLM is about to send."""
    left = headers_left(headers, gone)
    if left is not headers:
        headers.clear()
        headers.update(left)
