"""A stream that does not come to its end: because the client goes away, or because the host breaks off."""

from __future__ import annotations

import json
import re
import threading
import time

import httpx
import pytest

from clients.conftest import ASKS
from clients.loops import CLIENTS
from reasoning_replay.testing import Reply, call, think
from reasoning_replay.testing._script import needle
from reasoning_replay.testing._search import carries

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
CASES = [("chat", "claude"), ("messages", "claude"), ("responses", "gpt")]
"""Where sealed reasoning comes in a stream."""


def asking(place, route, model):
    """The body of a first question, as an SDK writes it."""
    more = dict(ASKS.get((route, model), {}))
    more |= more.pop("extra_body", {})
    history = [{"role": "user", "content": "How is the weather?"}]
    key = "input" if route == "responses" else "messages"
    limit = {} if route == "responses" else {"max_tokens": 4096}
    return {"model": model, key: history, "tools": CLIENTS[route].tools, "stream": True, **limit, **more}


def seals_of(host):
    """The signatures or encrypted contents of the host's last reply."""
    return [needle(seal) for seal in SEAL.findall(json.dumps(host.last.reply))]


SEAL = re.compile(r'"(?:signature|encrypted_content|data)": "([^"]{40,})"')


def in_the_store(place, words):
    """Which words stand in the proxy's store, on disk or in its log of writes."""
    files = [path.read_bytes() for path in place.proxy.folder.glob("*.sqlite3*")]
    assert files
    return [word for word in words if any(carries(each, word) for each in files)]


def soon(check):
    """The value of a check once it is true: the proxy writes behind the reply."""
    end = time.monotonic() + 10
    while not (found := check()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


LEAVES = 1.0
"""Seconds for the proxy to see that a client has gone, before the host goes on."""


class Gate:
    """Holds a host's stream before its last events until it is opened."""

    def __init__(self, host, last):
        self._server, self._open, self._last = host._server, threading.Event(), last
        self._answer = self._server._answer

    def __enter__(self):
        self._server._answer = self._held
        return self

    def __exit__(self, *error):
        self.open()
        self._server._answer = self._answer

    def open(self):
        self._open.set()

    def _held(self, *request):
        answer = self._answer(*request)
        if answer.events is None:
            return answer
        object.__setattr__(answer, "events", self._slowly(list(answer.events)))
        return answer

    def _slowly(self, events):
        yield from events[: -self._last]
        self._open.wait(20)
        yield from events[-self._last :]


def read_until(place, body, path, word):
    """Reads a stream up to a word, then goes away."""
    headers = {"authorization": f"Bearer {place.proxy.fresh_key()}"}
    seen = ""
    with (
        httpx.Client(timeout=30) as http,
        http.stream("POST", place.proxy.url + path, json=body, headers=headers) as reply,
    ):
        assert 200 == reply.status_code
        for piece in reply.iter_text():
            seen += piece
            if word(seen):
                return seen
    raise AssertionError("the stream ended first")


@pytest.mark.parametrize(("route", "model"), CASES)
def test_of_a_stream_that_its_client_leaves_nothing_sealed_is_stored(route, model, place):
    host = place.host(model)
    with Gate(host, last=2):
        read_until(
            place, asking(place, route, model), PATHS[route], lambda seen: any(word in seen for word in seals_of(host))
        )
        time.sleep(LEAVES)
        left = seals_of(host)
    whole = place.client(route, model, stream=True)
    whole.history.append({"role": "user", "content": "How is the weather?"})
    whole.step()
    assert seals_of(host) == soon(lambda: in_the_store(place, seals_of(host)))
    assert [] == in_the_store(place, left)


@pytest.mark.parametrize(("route", "model"), CASES)
def test_of_a_stream_that_its_host_breaks_off_nothing_sealed_is_stored(route, model, place):
    host = place.host(model)
    parts = (think(), call(city="Oslo", step=1))
    host.reset(script=[Reply(parts, cut=-2)])
    client = place.client(route, model, stream=True)
    client.history.append({"role": "user", "content": "How is the weather?"})
    with pytest.raises(Exception):  # noqa: B017, PT011 - what an SDK makes of it is its own affair
        client.step()
    left = seals_of(host)
    assert left
    whole = place.client(route, model, stream=True)
    whole.history.append({"role": "user", "content": "How is the weather?"})
    whole.step()
    assert seals_of(host) == soon(lambda: in_the_store(place, seals_of(host)))
    assert [] == in_the_store(place, left)
