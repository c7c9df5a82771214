"""Real SDKs in a loop of ten steps: a client that drops every reasoning field, and one that keeps everything."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest

from reasoning_replay.testing import canaries_in

ROWS = [
    ("chat", "deepseek"), ("chat", "kimi"), ("chat", "claude"),
    ("messages", "claude"), ("messages", "kimi"),
    ("responses", "gpt"), ("responses", "deepseek"), ("responses", "kimi"), ("responses", "claude"),
]  # fmt: skip
"""Route of the proxy, and model there. Where the host behind it speaks something else, LiteLLM translates."""
HANDFUL = {
    ("chat", "deepseek", True), ("chat", "claude", False), ("messages", "claude", True), ("messages", "kimi", False),
    ("responses", "gpt", False), ("responses", "deepseek", True),
}  # fmt: skip


def loops(*daily):
    """All routes and models, whole and streamed, as parameters: all but these are `slow`."""
    return [
        pytest.param(
            *row,
            stream,
            marks=[] if (*row, stream) in daily else pytest.mark.slow,
            id="-".join((*row, "stream" if stream else "whole")),
        )
        for row, stream in product(ROWS, (False, True))
    ]


QUESTIONS = ("How is the weather?", "And tomorrow?")


def bodies(place, told, route, model, **options):
    """The bodies that reach the host in two turns of one client, and the client."""
    client = place.client(route, model, **options)
    with told.heard() as heard:
        steps = [client.ask(text) for text in QUESTIONS]
    assert [11, 2] == steps
    assert [200] * 13 == [request.status for request in heard]
    return [request.raw for request in heard], client


def differences(kept, other):
    """Where two lists of bodies differ, but for the order of keys, and null for no key: each client writes its own JSON."""
    return [
        f"request {number}: {place}"
        for number, (one, two) in enumerate(zip(kept, other, strict=True))
        for place in apart(json.loads(ITEM_ID.sub(rb"\1", one)), json.loads(ITEM_ID.sub(rb"\1", two)), "")
    ]


ITEM_ID = re.compile(rb"\b(fc_|msg_)[0-9a-f]{48}")
"""Ids of items that the strict host makes anew for each reply."""


def apart(one, two, at):
    """The places at which two JSON values differ, with what stands there."""
    if isinstance(one, dict) and isinstance(two, dict):
        return [
            place for key in dict.fromkeys((*one, *two)) for place in apart(one.get(key), two.get(key), f"{at}.{key}")
        ]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [
            place for number, pair in enumerate(zip(one, two, strict=True)) for place in apart(*pair, f"{at}[{number}]")
        ]
    return [] if one == two and type(one) is type(two) else [f"{at}: {one!r} and {two!r}"]


@pytest.mark.parametrize(("route", "model", "stream"), loops(*HANDFUL))
def test_the_bytes_at_the_host_are_those_of_a_client_that_kept_everything(route, model, stream, place):
    told = place.told(model)
    dropped, client = bodies(place, told, route, model, manner="drops", stream=stream)
    kept, _ = bodies(place, told, route, model, manner="keeps", stream=stream)
    assert [] == differences(kept, dropped)
    assert 10 == len(set(canaries_in(dropped[10].decode())))
    assert all("restored=0" not in headers["x-reasoning-replay"] for headers in client.headers[1:11])


@pytest.mark.parametrize(("route", "model", "stream"), loops(("chat", "deepseek", True), ("messages", "claude", False)))
def test_a_client_that_also_writes_anew_what_it_keeps_loses_no_reasoning(route, model, stream, place):
    rewritten, _ = bodies(place, place.told(model), route, model, manner="rewrites", stream=stream)
    assert 10 == len(set(canaries_in(rewritten[10].decode())))


@pytest.mark.parametrize(("route", "model", "stream"), loops(("chat", "claude", False), ("responses", "gpt", True)))
def test_a_client_that_keeps_reasoning_and_drops_our_marks_loses_nothing(route, model, stream, place):
    told = place.told(model)
    unmarked, _ = bodies(place, told, route, model, manner="unmarks", stream=stream)
    kept, _ = bodies(place, told, route, model, manner="keeps", stream=stream)
    assert [] == differences(kept, unmarked)


@pytest.mark.parametrize(("route", "model", "stream"), loops(("chat", "claude", False), ("responses", "gpt", True)))
def test_a_client_that_keeps_what_it_can_read_and_drops_the_seals_loses_nothing(route, model, stream, place):
    told = place.told(model)
    unsealed, _ = bodies(place, told, route, model, manner="unseals", stream=stream)
    kept, _ = bodies(place, told, route, model, manner="keeps", stream=stream)
    assert [] == differences(kept, unsealed)
