"""The probe's calls: counted, with a timeout each, and with a key that never leaves the header.

The standard library alone. A redirect is not followed: it would hand the key to whoever it names. What is raised or
kept of an answer is its status and its JSON; a text of the host's is shown only after the key was taken out of it.
Where the host asks to wait (Retry-After), a call is made again, a few times and for a minute each at most.
"""

from __future__ import annotations

import http.client
import json
import re
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
WAITS = frozenset({429, 503, 529})
MOST_WAITS = 3
LONGEST_WAIT = 60.0
"""Seconds; a guess. A host that wants more is left alone."""
ADVICE = {
    402: "the host wants to be paid first",
    405: "nothing takes a POST there; is the base URL right?",
    429: "too many requests for this key; try again later",
}
"""Status → what it says; any other that is not judged says nothing of the request."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    """The JSON; None where it is none."""
    headers: Mapping[str, str] = {}
    """The few that are looked at."""

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

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        timeout: float,
        told: Callable[[int], None],
        paused: Callable[[str, float], None] = lambda why, seconds: time.sleep(seconds),
    ) -> None:
        self._headers = {"Content-Type": "application/json", "User-Agent": "reasoning-replay probe", **headers}
        self._timeout = timeout
        self._told = told
        self._paused = paused
        self._waits = 0
        self._opener = build_opener(_Stays)
        self.made = 0

    def __repr__(self) -> str:
        return f"<caller, {self.made} calls>"

    def __call__(self, url: str, body: Mapping[str, Any]) -> Answer:
        """One call.

        Raises:
            Wrong: no answer, or one that says nothing of the request.
        """
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        request = Request(url, data=raw, headers=self._headers, method="POST")  # noqa: S310 -- http(s) alone
        answer = self._once(request)
        while answer.status in WAITS and (asked := _wait(answer)) is not None and self._waits < MOST_WAITS:
            self._waits += 1
            self._paused(f"HTTP {answer.status}: the host asks to wait {asked:.0f} s", asked)
            answer = self._once(request)
        if (said := _says_nothing(answer)) is not None:
            raise Wrong(f"call {self.made}: HTTP {answer.status}: {said}")
        return answer

    def _once(self, request: Request) -> Answer:
        if self.made >= MOST_CALLS:
            raise Wrong(f"{MOST_CALLS} calls are made, and not all is known yet; give a model that calls its tools")
        self.made += 1
        self._told(self.made)
        try:
            return self._sent(request)
        except (URLError, http.client.HTTPException, TimeoutError, socket.gaierror, ConnectionError) as error:
            raise Wrong(f"call {self.made}: no answer ({_why(error)}); is the base URL right?") from None

    def _sent(self, request: Request) -> Answer:
        end = time.monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return Answer(response.status, self._read(response, end))
        except HTTPError as error:
            with error:
                seen = {name: value for name in SEEN if (value := error.headers.get(name)) is not None}
                return Answer(error.code, self._read(error, end), seen)

    def _read(self, response: Any, end: float) -> Any:
        """The JSON of a body that ends in time."""
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(65536) if hasattr(response, "read1") else response.read(65536):
            parts.append(chunk)
            size += len(chunk)
            if size > MOST_BYTES:
                raise Wrong(f"call {self.made}: an answer of more than {MOST_BYTES} bytes; is the base URL right?")
            if time.monotonic() > end:
                raise TimeoutError
        if getattr(response, "length", None):  # of what was announced, so much did not come
            raise http.client.IncompleteRead(b"")
        if (response.headers.get("content-type") or "").lower().startswith("text/event-stream"):
            raise Wrong(f"call {self.made}: a stream, which was not asked for; the probe needs whole answers")
        try:
            return json.loads(b"".join(parts))
        except ValueError:
            return None


SEEN = ("location", "retry-after")


def _wait(answer: Answer) -> float | None:
    """How long a host asks to wait; None where it does not say, or wants more than anybody waits."""
    try:
        asked = float(answer.headers.get("retry-after", ""))
    except ValueError:  # a date too
        return None
    return asked if 0 <= asked <= LONGEST_WAIT else None


def _says_nothing(answer: Answer) -> str | None:
    """Why an answer says nothing of the request; None where it does."""
    status = answer.status
    if answer.taken or status in JUDGED:
        return None
    if status in KEYS:
        return "the host does not take the key; see --api-key-env and --api-key-header"
    if "location" in answer.headers:
        return (
            f"the host sends elsewhere{_elsewhere(answer.headers['location'])}; the key goes to no other, give that one"
        )
    return ADVICE.get(status, "it says nothing of the request; try again later")


def _elsewhere(location: str) -> str:
    """The scheme and the name of the host that a redirect names: what follows them may hold anything."""
    found = re.match(r"https?://[a-z0-9.:\[\]-]{1,100}(?![^/?#])", location, re.IGNORECASE)
    return f" ({found[0]})" if found else ""


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
