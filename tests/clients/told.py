"""What the model says in the clients' loops: ten steps of many shapes, the same bytes each time it is asked.

A strict host makes new canaries, signatures and ids for each reply; here they are made once and said again, so that the
bodies of two clients that went the same way can be compared byte for byte.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

from reasoning_replay.testing import Reply, Sealed, Text, Think, call, sealed, think

STEPS = 10
CITIES = ("Oslo", "Ålesund", "Tromsø", 'Bergen "by the sea"', "Hamar\n(inland)")
PARALLEL = 3
"""The step that calls two tools at once."""
INTERLEAVED = 4
"""The step at which a host that can thinks again behind its words, and one that seals brings a sealed part."""


def _parts(name, step):
    calls = [call(id=_id(name, step, 0), city=CITIES[step % len(CITIES)], step=step)]
    if step == PARALLEL:
        calls.append(call(id=_id(name, step, 1), city="Molde", step=step))
    said = [Text("I look it up.")] if step in (2, INTERLEAVED) else []
    more = [sealed()] if step == INTERLEAVED else []
    return (think(), *more, *said, *calls)


def _id(name, step, number):
    return f"{IDS.get(name, 'call_')}{step:04d}{number:04d}abcdef12"


IDS = {"anthropic": "toolu_"}


def story(name):
    """The replies of two turns: ten steps and an answer, one more step and an answer."""
    steps = [_parts(name, step) for step in range(1, STEPS + 2)]
    return [*steps[:-1], (think(), Text("It is 3C.")), steps[-1], (think(), Text("Tomorrow too."))]


class Told(NamedTuple):
    """A host that tells one story, again and again."""

    host: object
    replies: list

    @contextmanager
    def heard(self):
        """The requests that arrive within the block; the story begins anew."""
        start = len(self.host.requests)
        self.host.script = _from(self.replies, self.host)
        heard = []
        yield heard
        heard += self.host.requests[start:]


def told(host, replies=None):
    """Makes the host tell the story (or another one) with canaries, ids and seals that stay."""
    fill = {"scope": "", "step": 0, "signs": host.judge.signs}
    return Told(host, [host._issuer.fill(_shaped(host, each), **fill) for each in replies or story(host.kind)])


def _shaped(host, parts):
    """The parts as the host can say them; every item of a Responses host is sealed."""
    if host.dialect == "responses":
        plain = [part for part in parts if not isinstance(part, Sealed)]
        return [each for part in plain for each in ([part, sealed()] if isinstance(part, Think) else [part])]
    return [part for part in parts if host.judge.seals or not isinstance(part, Sealed)]


def _from(replies, host):
    rest = iter(replies)
    return lambda turn: Reply(next(rest))
