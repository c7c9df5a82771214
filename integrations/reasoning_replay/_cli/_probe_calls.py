"""The probe's calls: counted, with a timeout each, and with a key that never leaves the header.

The standard library alone. A redirect is not followed: it would hand the key to whoever it names. What is raised or
kept of an answer is its status and its JSON; a text of the host's is shown only after the key was taken out of it.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ._wrong import Wrong

MOST_CALLS = 25
"""A loop of two turns takes five; what is asked beside it comes to fifteen or so."""
MOST_BYTES = 4_000_000
JUDGED = frozenset({400, 404, 409, 413, 422})
"""Statuses that say something of the request; any other says that the host did not look at it."""
KEYS = frozenset({401, 403, 407})


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    """The JSON; None where it is none."""

    @property
    def taken(self) -> bool:
        """Whether the host took the request."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The host's own words for a refusal."""
        return _message(self.body)


class Ask(Protocol):
    """Sends a body and gives the answer."""

    def __call__(self, url: str, body: Mapping[str, Any]) -> Answer: ...


class _Stays(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Caller:
    """Sends requests to one host. Mutable: it counts them, and stops at MOST_CALLS."""

    def __init__(self, headers: Mapping[str, str], *, timeout: float, told: Callable[[int], None]) -> None:
        self._headers = {"Content-Type": "application/json", "User-Agent": "reasoning-replay probe", **headers}
        self._timeout = timeout
        self._told = told
        self._opener = build_opener(_Stays)
        self.made = 0

    def __repr__(self) -> str:
        return f"<caller, {self.made} calls>"

    def __call__(self, url: str, body: Mapping[str, Any]) -> Answer:
        """One call.

        Raises:
            Wrong: no answer, or one that says nothing of the request.
        """
        if self.made >= MOST_CALLS:
            raise Wrong(f"{MOST_CALLS} calls are made, and not all is known yet; give a model that calls its tools")
        self.made += 1
        self._told(self.made)
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        try:
            answer = self._sent(Request(url, data=raw, headers=self._headers, method="POST"))  # noqa: S310 -- http(s) alone
        except (URLError, http.client.HTTPException, TimeoutError, socket.gaierror, ConnectionError) as error:
            raise Wrong(f"call {self.made}: no answer ({_why(error)}); is the base URL right?") from None
        if answer.status in KEYS:
            advice = "the host does not take the key; see --api-key-env and --api-key-header"
            raise Wrong(f"call {self.made}: HTTP {answer.status}: {advice}")
        if not answer.taken and answer.status not in JUDGED:
            raise Wrong(f"call {self.made}: HTTP {answer.status}, which says nothing of the request; try again later")
        return answer

    def _sent(self, request: Request) -> Answer:
        end = time.monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return Answer(response.status, _read(response, end))
        except HTTPError as error:
            with error:
                return Answer(error.code, _read(error, end))


def _read(response: Any, end: float) -> Any:
    """The JSON of a body that ends in time."""
    parts: list[bytes] = []
    while chunk := response.read1(65536) if hasattr(response, "read1") else response.read(65536):
        parts.append(chunk)
        if time.monotonic() > end or sum(map(len, parts)) > MOST_BYTES:
            raise TimeoutError
    try:
        return json.loads(b"".join(parts))
    except ValueError:
        return None


def _why(error: Exception) -> str:
    """The kind of a failure: its text may hold the URL, or a header."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "timeout"
    return type(reason).__name__ if isinstance(reason, Exception) else "refused"


def _message(body: Any) -> str:
    """The message in an error body, in any of the shapes of the hosts."""
    if isinstance(body, list):
        return "; ".join(filter(None, map(_message, body)))
    if not isinstance(body, Mapping):
        return ""
    for key in ("error", "message", "msg", "detail"):
        held = body.get(key)
        if isinstance(held, str):
            return held
        if isinstance(held, Mapping | list) and (found := _message(held)):
            raw = (
                _message(held.get("metadata", {}).get("raw"))
                if isinstance(held, Mapping) and isinstance(held.get("metadata"), Mapping)
                else ""
            )
            return raw or found
    return ""
