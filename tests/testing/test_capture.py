"""The capture: plans and faults of everything that runs inside it."""

import asyncio
import threading
from contextvars import copy_context

import pytest

from reasoning_replay import prepare
from reasoning_replay.testing import capture_plans

MESSAGES = [{"role": "user", "content": "q"}]


def test_a_plan_is_seen_by_every_capture_around_it_and_by_no_other():
    with capture_plans() as outer:
        first = prepare(MESSAGES, host="api.example.com")
        with capture_plans() as inner:
            second = prepare(MESSAGES, host="api.example.com")

    assert [first, second] == outer.plans
    assert [second] == inner.plans
    prepare(MESSAGES, host="api.example.com")
    assert 2 == len(outer.plans)


def test_parallel_tasks_stay_apart():
    async def one(host):
        with capture_plans() as seen:
            await asyncio.sleep(0)
            prepare(MESSAGES, host=host)
            await asyncio.sleep(0)
        return [plan.origin.host for plan in seen.plans]

    async def both():
        return await asyncio.gather(one("a.example"), one("b.example"))

    assert [["a.example"], ["b.example"]] == asyncio.run(both())


def test_a_thread_with_the_context_is_seen():
    with capture_plans() as seen:
        context = copy_context()
        thread = threading.Thread(target=lambda: context.run(prepare, MESSAGES, host="a.example"))
        thread.start()
        thread.join()

    assert ["a.example"] == [plan.origin.host for plan in seen.plans]


@pytest.mark.faulty(reason="a step is made to raise")
def test_a_fault_that_the_fallback_hides_is_in_the_capture(plans, monkeypatch):
    from reasoning_replay import _engine, _replay

    def fails(*args, **kwargs):
        raise RuntimeError("a step failed")

    for name in ("decide", "plan", "draft"):
        if hasattr(_engine, name):
            monkeypatch.setattr(_engine, name, fails)
    _replay.prepare_safely(MESSAGES, host="api.example.com")

    assert ["RuntimeError"] == [type(fault.error).__name__ for fault in plans.faults]
