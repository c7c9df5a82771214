"""The proxy's callback without a proxy: what LiteLLM may do to it that a test can hardly make a whole proxy do."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

pytestmark = [
    pytest.mark.slow,  # the proxy's modules take ten seconds to import
    pytest.mark.filterwarnings("ignore"),
]

from reasoning_replay import Origin, adopt
from reasoning_replay._origin import MARK, from_mark
from reasoning_replay.forms import PSF

ALICE = SimpleNamespace(token="hash", api_key="hash", user_id="alice", team_id="red", via_virtual_key=True)
HOST = Origin("api.moonshot.ai", model="kimi-k2.5")
SAID = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "so", "reasoning_content": "because"}]


@pytest.fixture
def callback():
    from reasoning_replay.litellm._proxy import ProxyReplay
    from reasoning_replay.litellm._proxy_settings import Settings
    from reasoning_replay.stores import MemoryStore

    made = ProxyReplay(Settings(), MemoryStore(), b"a secret")
    yield made
    made.uninstall()


def sealed_history(callback):
    return callback.asked().seal(adopt(SAID, HOST), "litellm")


def marks(rows):
    return [from_mark(row[PSF][MARK]) for row in rows if PSF in row]


def arrives(callback, data, *, times=1, auth=ALICE, call_type="acompletion"):
    """What a request is after so many calls of the hook, and who asks."""

    async def serve():
        for _ in range(times):
            await callback.async_pre_call_hook(auth, None, data, call_type)
        return callback.asked()

    return asyncio.run(serve())


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_callback_that_is_listed_twice_opens_marks_once(callback, times):
    data = {"messages": sealed_history(callback)}
    asked = arrives(callback, data, times=times)
    assert [HOST] == marks(data["messages"])
    assert 64 == len(asked.known.tenant)


def test_the_lists_of_the_request_are_not_changed(callback):
    rows = sealed_history(callback)
    kept = [dict(row) for row in rows]
    arrives(callback, {"messages": rows})
    assert kept == rows


@pytest.mark.parametrize("call_type", ["_aresponses_websocket", "agenerate_content", "acreate_batch", "anything"])
def test_a_call_that_is_not_covered_has_no_tenant_and_no_marks(callback, call_type):
    data = {"messages": sealed_history(callback), "input": sealed_history(callback)}
    asked = arrives(callback, data, call_type=call_type)
    assert [] == marks(data["messages"]) + marks(data["input"])
    assert not hasattr(asked.known, "tenant")


def test_a_call_that_no_request_has_made_believes_no_mark(callback):
    """A guardrail's, or one of a websocket's events."""
    plain = adopt(SAID, HOST)
    fields = {"messages": plain, "model": "m", "custom_llm_provider": "openai", "optional_params": {}, "logging": None}
    seen = []
    callback._for_predicted = seen.append
    callback.before_dispatch(fields)
    assert [] == marks(seen[0]["messages"])
    assert [HOST] == marks(plain)


@pytest.mark.faulty("on purpose")
def test_a_fault_of_ours_leaves_no_mark_and_no_tenant(callback, monkeypatch):
    from reasoning_replay.litellm import _proxy

    monkeypatch.setattr(_proxy, "session_of", lambda data: 1 / 0)
    data = {"messages": adopt(SAID, HOST)}
    asked = arrives(callback, data)
    assert [] == marks(data["messages"])
    assert not hasattr(asked.known, "tenant")


def test_logging_gets_the_opened_messages(callback):
    told = []
    logging_obj = SimpleNamespace(update_messages=told.append, model_call_details={})
    data = {
        "input": callback.asked().seal(
            adopt(
                [{"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}],
                Origin("api.openai.com", dialect="responses"),
            ),
            "responses",
        ),
        "litellm_logging_obj": logging_obj,
    }
    arrives(callback, data, call_type="aresponses")
    assert told == [data["input"]]
    assert ["api.openai.com"] == [origin.host for origin in marks(told[0])]


def test_a_key_that_the_proxy_has_not_checked_is_nobodys(callback):
    stranger = SimpleNamespace(token="hash", api_key="hash", user_id=None, team_id=None)
    assert not hasattr(arrives(callback, {"messages": []}, auth=stranger).known, "tenant")


def test_the_header_is_left_out_where_nothing_was_planned(callback):
    assert asyncio.run(callback.async_post_call_response_headers_hook({}, ALICE, object())) is None


def test_two_requests_in_one_loop_never_see_each_other(callback):
    async def serve(number):
        auth = SimpleNamespace(token=f"hash-{number}", via_virtual_key=True)
        await callback.async_pre_call_hook(auth, None, {"messages": []}, "acompletion")
        await asyncio.sleep(0)
        return callback.asked().known.tenant

    async def all_of_them():
        return await asyncio.gather(*map(serve, range(50)))

    assert 50 == len({*asyncio.run(all_of_them())})
