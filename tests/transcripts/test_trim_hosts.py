"""After any trim at any budget the strict host takes what is left, in conversations that it really had.

Each example is a conversation of some turns, trimmed, gone on with, and trimmed again. `REASONING_REPLAY_FULL=1`, or the
long run (`-m slow`), tries many more.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoning_replay import MemoryStore, prepare
from reasoning_replay.testing import StrictHost, Text, call, think
from reasoning_replay.transcripts import CannotTrim, count_tokens, segments, trim
from talks import CALLS, CASES, RESULTS, Talk, characters, copied, named, visible

CASE = {case.name: case for case in CASES}
FEW = settings(max_examples=1, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 2**31)
"""A seed makes a richer conversation than hypothesis' own first choices, which are all the least."""
MANY = settings(FEW, max_examples=60, derandomize=False)


@pytest.fixture(scope="module")
def hosts():
    """One host of a kind, without a port."""
    made = {}
    yield lambda kind: made.setdefault(kind, StrictHost(kind))
    for host in made.values():
        host.stop()


class Trimmed:
    """One trim of a conversation, and everything that must hold of it."""

    def __init__(self, talk, counter):
        self.talk, self.counter = talk, counter
        self.whole = talk.history

    def size(self, messages):
        if self.counter is None:
            return count_tokens(messages, **self.talk.call)
        return self.counter(prepare(messages, **self.talk.call).messages)

    def trim(self, messages, budget):
        return trim(messages, budget, **self.talk.call, token_counter=self.counter)

    def smallest(self):
        with pytest.raises(CannotTrim) as raised:
            self.trim(self.whole, 0)
        return raised.value.smallest

    def check(self, left, budget):
        """What is left fits, is taken, is a head and whole turns, and fits again."""
        assert self.size(left) <= budget
        self.talk.takes(left)
        assert left is self.trim(left, budget)
        parts = segments(self.whole, form=self.talk.case.form, dialect=self.talk.host.dialect)
        head = [part.end for part in parts if part.kind == "head"] or [0]
        seen = visible(self.whole)
        starts = {part.start for part in parts if part.kind != "head"}
        shown = visible(left)
        assert any(shown == visible(self.whole[: head[0]]) + visible(self.whole[start:]) for start in starts), seen
        assert sorted(named(left, CALLS)) == sorted(named(left, RESULTS))
        active = parts[-1]
        assert visible(self.whole[active.start :]) == shown[len(shown) - len(visible(self.whole[active.start :])) :]


def goes_well(talk):
    draw = talk.random
    talk.tell(draw.choice([0, 1, 3, 4]))
    for _ in range(2):
        one = Trimmed(talk, characters if draw.random() < 0.8 else None)
        before = copied(talk.history)
        full, smallest = one.size(talk.history), one.smallest()
        budget = draw.randint(smallest, max(smallest, full))
        left = one.trim(talk.history, budget)
        one.check(left, budget)
        one.check(one.trim(talk.history, smallest), smallest)
        middle = one.trim(talk.history, draw.randint(budget, max(budget, full)))
        talk.takes(middle)
        twice = one.trim(middle, budget)  # what one step does, two do as well
        one.check(twice, budget)
        one.check(one.trim(twice, smallest), smallest)
        assert before == talk.history
        talk.history = list(draw.choice([left, twice]))
        if draw.random() < 0.5:
            talk.history += talk.reply(*talk.lead(), call())
        talk.reply(*talk.lead(), Text("well"))
        talk.turn()
        talk.turn(1, ends=False)
        talk.takes(talk.history)


@pytest.mark.parametrize("name", list(CASE))
@FEW
@given(seed=SEEDS)
def test_after_any_trim_the_host_takes_what_is_left_and_the_conversation_goes_on(name, hosts, seed):
    goes_well(Talk(CASE[name], hosts(CASE[name].kind), random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASE))
@MANY
@given(seed=SEEDS)
def test_after_any_of_many_trims_the_host_takes_what_is_left_and_the_conversation_goes_on(name, hosts, seed):
    goes_well(Talk(CASE[name], hosts(CASE[name].kind), random.Random(seed)))


OVER_HTTP = ("deepseek", "claudes in turns", "responses")


@pytest.mark.moves_prefix("a trim in the middle of a turn takes what stood before it")
@pytest.mark.parametrize("name", OVER_HTTP)
def test_over_http_it_is_taken_as_well(name, strict_hosts):
    goes_well(Talk(CASE[name], strict_hosts(CASE[name].kind), random.Random(1), over_http=True))


@pytest.mark.parametrize("session", [None, "a conversation"])
def test_a_store_puts_nothing_back_that_a_cut_has_killed(session, hosts):
    """What a client dropped is known by all that stood before it, or by a session: then that may be another past."""
    talk = Remembered(CASE["claude 5.5"], hosts("anthropic"), random.Random(3), MemoryStore().of("me", session=session))
    for _ in range(3):
        talk.turn(2)
    talk.turn(2, ends=False)
    one = Trimmed(talk, characters)
    smallest = one.smallest()
    left = one.trim(talk.history, smallest)
    one.check(left, smallest)
    assert "signature" not in str(prepare(left, **talk.call).messages)
    talk.history = left
    talk.history += talk.reply(think(), call())
    sent = prepare([*left[:-2], forgotten(left[-2]), left[-1]], **talk.call)
    assert "signature" in str(sent.messages)  # it was said behind the cut
    talk.takes([*left[:-2], forgotten(left[-2]), left[-1]])


class Remembered(Talk):
    """A conversation whose replies a store keeps."""

    def __init__(self, case, host, draw, store):
        super().__init__(case, host, draw)
        self.store = store

    @property
    def call(self):
        return {**super().call, "known": self.store}


def forgotten(message):
    """The reply as a client keeps it that shows no thinking."""
    return {**message, "content": [block for block in message["content"] if block["type"] == "tool_use"]}
