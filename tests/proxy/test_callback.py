"""The proxy's callback without a proxy: what LiteLLM may do to it that a test can hardly make a whole proxy do."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import litellm
import pytest

pytestmark = [
    pytest.mark.slow,  # the proxy's modules take ten seconds to import
    pytest.mark.filterwarnings("ignore"),
]

from reasoning_replay import Origin, Policy, adopt
from reasoning_replay._origin import MARK, from_mark
from reasoning_replay.forms import PSF, digest
from reasoning_replay.forms._envelopes import name_payload

ALICE = SimpleNamespace(token="hash", api_key="hash", user_id="alice", team_id="red", via_virtual_key=True)
BOB = SimpleNamespace(token="hash-2", api_key="hash-2", user_id="bob", team_id="red", via_virtual_key=True)
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


def within_a_request(callback, auth, data, call_type):
    """The tenants of a request of Alice's before and after such a hook, and the reports' place of it."""
    from reasoning_replay.litellm import _proxy

    async def serve():
        notes = SimpleNamespace(model_call_details={"a request": 1})
        rows = {"messages": [*SAID], "litellm_logging_obj": notes}
        await callback.async_pre_call_hook(ALICE, None, rows, "acompletion")
        before = callback.asked()
        await callback.async_pre_call_hook(auth, None, data, call_type)
        return before, callback.asked(), _proxy._noted.get()

    return asyncio.run(serve())


@pytest.mark.parametrize("call_type", ["call_mcp_tool", "aembedding", "anything"])
@pytest.mark.parametrize("auth", [SimpleNamespace(**vars(ALICE)), ALICE, None], ids=["equal", "same", "none"])
def test_a_hook_of_another_call_within_a_request_changes_nothing_of_it(callback, auth, call_type):
    """LiteLLM runs a gateway's own tools, and looks for tools by embeddings, in the task of the request."""
    data = {"messages": sealed_history(callback), "reasoning_replay": 1}
    before, after, noted = within_a_request(callback, auth, data, call_type)
    assert before is after
    assert 64 == len(after.known.tenant)
    assert {"a request": 1} == noted
    assert ([], {"messages"}) == (marks(data["messages"]), {*data})


def test_a_hook_of_a_covered_call_within_a_request_opens_its_marks_for_the_same_tenant(callback):
    data = {"messages": sealed_history(callback)}
    before, after, _ = within_a_request(callback, ALICE, data, "acompletion")
    assert before.known.tenant == after.known.tenant
    assert [HOST] == marks(data["messages"])


@pytest.mark.parametrize("auth", [BOB, SimpleNamespace(token=None)], ids=["another", "nobody"])
def test_a_hook_of_somebody_else_ends_the_request_that_was_served(callback, auth):
    before, after, noted = within_a_request(callback, auth, {"input": ["x"]}, "aembedding")
    assert hasattr(before.known, "tenant")
    assert not hasattr(after.known, "tenant")
    assert {} == noted


def test_a_list_that_was_opened_for_one_tenant_is_not_open_for_another(callback):
    async def serve():
        data = {"messages": sealed_history(callback)}
        await callback.async_pre_call_hook(ALICE, None, data, "acompletion")
        first = callback.asked()
        await callback.async_pre_call_hook(BOB, None, data, "acompletion")
        return first.known.tenant, callback.asked().known.tenant, marks(data["messages"])

    first, second, left = asyncio.run(serve())
    assert (first != second, []) == (True, left)


@pytest.mark.parametrize("by", ["key", "user", "team"])
def test_whom_litellm_takes_everybody_for_is_as_we_know_it(by):
    """`allow_requests_on_db_unavailable`: one identity for all callers, whose keys nobody has checked."""
    from litellm.proxy._types import UserAPIKeyAuth
    from litellm.proxy.auth import auth_exception_handler

    from reasoning_replay.litellm._tenant import tenant_of

    user = auth_exception_handler.DB_UNAVAILABLE_FALLBACK_USER_ID
    everybody = UserAPIKeyAuth(key_name="failed-to-connect-to-db", token="failed-to-connect-to-db", user_id=user)
    assert tenant_of(everybody, by) is None
    assert tenant_of(UserAPIKeyAuth(user_id=user), by) is None


@pytest.mark.parametrize("missing", [False, True], ids=["a conversation elsewhere", "missing reasoning"])
def test_a_client_is_told_no_host(missing, caplog):
    from reasoning_replay.litellm import ConversationElsewhere, MissingReasoning
    from reasoning_replay.litellm._proxy import ProxyReplay
    from reasoning_replay.litellm._proxy_settings import Settings
    from reasoning_replay.stores import MemoryStore

    made = ProxyReplay(Settings(policy=Policy(missing="raise")), MemoryStore(), b"a secret")
    litellm.callbacks.append(made)

    async def serve():
        if missing:
            called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            rows = [SAID[0], {"role": "assistant", "content": None, "tool_calls": [called]}]
            data = {"messages": [*rows, {"role": "tool", "tool_call_id": "c", "content": "1"}]}
            await made.async_pre_call_hook(ALICE, None, data, "acompletion")
            return await litellm.acompletion(model="deepseek/deepseek-v4-pro", api_key="k", **data)
        data = {"input": [{"type": "message", "role": "user", "content": "x"}], "previous_response_id": "resp_1"}
        await made.async_pre_call_hook(ALICE, None, data, "aresponses")
        made.asked().known.note(digest(name_payload("resp_1")), Origin("upstream.internal", dialect="responses"))
        return await litellm.aresponses(
            model="openai/gpt-5.4", api_key="k", api_base="http://api.deepseek.com.invalid/v1", num_retries=0, **data
        )

    try:
        with pytest.raises(MissingReasoning if missing else ConversationElsewhere) as raised:
            asyncio.run(serve())
    finally:
        made.uninstall()
    told = f"{raised.value} {raised.value!r} {raised.value.message} {raised.value.host}"
    assert [] == [name for name in ("deepseek", "upstream", "internal") if name in told]
    assert ("messages[1]" if missing else "previous_response_id: names a conversation") in told
    assert "api.deepseek.com" in caplog.text  # the operator may know
    assert missing or "upstream.internal" in caplog.text


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
