"""Whose call it is: the part of the store that a proxy's client may have reasoning from, and the conversation in it.

A tenant comes from what the proxy itself has found out about a key, and from nothing that a client can write: no body,
no metadata, no header. A session comes from the client, and only ever narrows inside its tenant.
Must not know stores or marks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from .._known import Nothing as _Nothing

ONE = "one"
"""Every client is the same tenant: a proxy of one person, or of people who may see each other's conversations."""
_IDENTITIES = {"key": ("token", "api_key"), "user": ("user_id",), "team": ("team_id",)}
_NOBODYS = {
    "token": "failed-to-connect-to-db",
    "key_name": "failed-to-connect-to-db",
    "user_id": "__db_unavailable_fallback__",
}
"""Whom LiteLLM takes every caller for, unchecked, while its database is down (`allow_requests_on_db_unavailable`)."""
_NO_TEAMS = frozenset({"litellm-dashboard"})
"""The team of all who are signed in to LiteLLM's dashboard. Both as of litellm 1.110.2."""
TENANTS = (*_IDENTITIES, ONE)
"""What a configuration may say of who is one tenant."""
_LONGEST_SESSION = 512
"""Characters. Whoever names a conversation with more does not name it."""
_SESSION_HEADERS = ("x-litellm-session-id", "x-session-id", "session_id", "session-id")
"""LiteLLM's own, the usual one, and Codex's (0.171; 2026-11-30)."""


def tenant_of(auth: Any, by: str, *, checked: bool = True, mapped: bool = False) -> str | None:
    """The name of the tenant that LiteLLM's `UserAPIKeyAuth` says, a hash; None where it says none.

    Args:
        by: one of TENANTS.
        checked: the proxy has checked the key. One that takes any key says nothing by it.
        mapped: the proxy takes users' names from a header (`user_header_mappings`): one counts only beside its key.
    """
    if by == ONE:
        return _hashed(ONE)
    if any(getattr(auth, name, None) == value for name, value in _NOBODYS.items()):
        return None
    kinds = (by, "key") if by == "user" and mapped else (by,)
    found = [_first(auth, _IDENTITIES[kind]) for kind in kinds]
    if by == "team" and found[0] in _NO_TEAMS:
        return None
    return _hashed(*kinds, *map(str, found)) if checked and None not in found else None


def _first(auth: Any, names: tuple[str, ...]) -> str | None:
    values = (getattr(auth, name, None) for name in names)
    return next((value for value in values if isinstance(value, str) and value != ""), None)


def _hashed(*words: str) -> str:
    return sha256(json.dumps(words).encode()).hexdigest()


def session_of(data: Mapping[str, Any]) -> str | None:
    """The client's name for the conversation; None where it gives none."""
    for found in _sessions(data):
        if isinstance(found, str) and 0 < len(found) <= _LONGEST_SESSION:
            return found
    return None


def _sessions(data: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("metadata", "litellm_metadata"):
        notes = data.get(key)
        if isinstance(notes, Mapping):
            yield notes.get("session_id")
    yield data.get("litellm_session_id")
    request = data.get("proxy_server_request")
    headers = request.get("headers") if isinstance(request, Mapping) else None
    if isinstance(headers, Mapping):
        given = {str(name).lower(): value for name, value in headers.items()}
        yield from (given.get(name) for name in _SESSION_HEADERS)
    yield data.get("prompt_cache_key")


class Nothing(_Nothing):
    """The shelf of nobody: it remembers nothing and has nothing. Where a proxy has no tenant, or no store."""

    session: str | None = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Sequence[bytes]]:
        return {}

    def add(self, items: Sequence[tuple[bytes, bytes]]) -> None: ...
