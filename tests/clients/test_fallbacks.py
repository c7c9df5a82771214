"""A host that fails in the middle of a loop: LiteLLM's Router asks another one, and comes back."""

from __future__ import annotations

import pytest

from reasoning_replay.testing import Reply, canaries_in
from reasoning_replay.testing._script import agent

DOWN = (3, 4, 7)
"""The requests at which the first host is out of order."""
STEPS = 10
DAILY = {("chat", "drops", True), ("chat", "keeps", False)}
CASES = [
    pytest.param(*case, marks=[] if case in DAILY else pytest.mark.slow, id="-".join(map(str, case)))
    for case in (
        (route, manner, stream)
        for route in ("chat", "responses")
        for manner in ("keeps", "unmarks", "drops", "rewrites")
        for stream in (False, True)
    )
]


def failing(numbers):
    """The usual agent, but out of order at some requests."""
    asked = []

    def answer(turn):
        asked.append(turn)
        return Reply((), status=503) if len(asked) in numbers else agent(STEPS)(turn)

    return answer


@pytest.mark.parametrize(("route", "manner", "stream"), CASES)
def test_a_loop_falls_back_and_comes_back_and_each_host_sees_all_of_its_own_and_nothing_else(
    route, manner, stream, place
):
    first, second = place.host("deepseek"), place.host("kimi")
    first.reset(script=failing(DOWN))
    second.reset(steps=STEPS)
    client = place.client(route, "either", manner=manner, stream=stream)
    assert STEPS + 1 == client.ask("How is the weather?")
    assert [200 if number not in DOWN else 503 for number in range(1, STEPS + 2)] == [r.status for r in first.requests]
    assert [200] * len(DOWN) == [r.status for r in second.requests]
    for host in (first, second):
        answered = [request for request in host.requests if request.status == 200]
        for number, request in enumerate(answered):
            own = [word for before in answered[:number] for word in canaries_in(str(before.reply))]
            assert sorted(set(own)) == sorted(set(canaries_in(request.raw.decode())))
