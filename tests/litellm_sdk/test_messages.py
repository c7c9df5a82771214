"""`litellm.anthropic.messages`: where the host speaks it, and where LiteLLM makes chat or a Responses call of it."""

import json

import litellm
import pytest

from litellm_calls import fails_once, pairs_of, run
from litellm_entries import (
    ANSWERED,
    CLAUDE_TOOLS,
    CREATE,
    QUESTION,
    SEEN,
    USED,
    append_blocks,
    messages_turn,
    router,
    target,
)
from reasoning_replay import Origin, adopt
from reasoning_replay._known import default_store
from reasoning_replay.litellm import MissingReasoning, report_of
from reasoning_replay.testing import Reply, Text, call, canaries_in, sealed, think

AS_CHAT = ("moonshot", "groq", "cerebras", "mistral", "unknown")
AS_RESPONSES = ("openai-responses", "azure-responses")
HOSTS = ("anthropic", *AS_RESPONSES, *AS_CHAT)
NEEDS_THE_PROXY = {("anthropic", "async stream"), ("openai-responses", "async stream")}
"""LiteLLM imports the Proxy's packages for these streams."""
NOT_THERE = {("anthropic", "sync"), ("anthropic", "stream"), *((name, "stream") for name in AS_RESPONSES)}
"""LiteLLM 1.110.2 says so itself, or gives a stream that cannot be read."""
CASES = [(name, mode) for name in HOSTS for mode in CREATE if (name, mode) not in NOT_THERE]
WHOLE = [(name, mode) for name, mode in CASES if "stream" not in mode]
REFUSES_A_GAP = {"anthropic"}
"""Back in a turn that another host went on with, Claude takes no block at all: thinking is off till the next turn."""


LOSES_BLOCKS = {"openai-responses"}
"""LiteLLM's Router takes blocks that only this host can open out of the caller's own messages when it falls back."""


def statuses(host):
    return [request.status for request in host.requests]


def question():
    return [QUESTION]


def restart(messages):
    """The messages as another process reads them: JSON, and nothing known."""
    default_store.cache_clear()
    return json.loads(json.dumps(messages))


@pytest.fixture(autouse=True)
def _packages(request):
    callspec = getattr(request.node, "callspec", None)
    named = callspec.params if callspec is not None else {}
    if (named.get("name", named.get("here")), named.get("mode")) in NEEDS_THE_PROXY:
        for package in ("fastapi", "soundfile", "backoff"):
            pytest.importorskip(package)


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_tool_loop_is_whole_at_every_host_and_the_next_turn_is_taken(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = []
    reply = messages_turn(mode, host, messages, "one")
    assert [] == host.lost()
    assert "stream" in mode or report_of(reply) is not None
    messages_turn(mode, host, messages, "two")
    assert [200] * 6 == statuses(host)


@pytest.mark.parametrize(("name", "mode"), WHOLE)
def test_the_marks_alone_do_after_json_and_a_restart(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = question()
    while append_blocks(messages, CREATE[mode](host, messages)):
        messages = restart(messages)
    assert [] == host.refusals + host.lost()


@pytest.mark.parametrize("mode", ["async", "async stream", "router"])
@pytest.mark.parametrize("name", ["anthropic"])
def test_an_interleaved_claude_reply_goes_back_in_its_order_byte_for_byte(name, mode, strict_hosts, install):
    parts = (think(), sealed(), Text("I look it up."), think(), call())
    host = strict_hosts(name, script=[Reply(parts)])
    install(host)
    messages = question()
    append_blocks(messages, CREATE[mode](host, messages))
    CREATE[mode](host, messages)
    assert [] == host.refusals
    assert host.requests[0].reply["content"] == host.last.messages[1]["content"]


HANDFUL = {
    *(("anthropic", there) for there in HOSTS),
    *((here, "anthropic") for here in HOSTS),
    *(("openai-responses", "azure-responses"), ("moonshot", "openai-responses"), ("groq", "unknown")),
}
"""Pairs of every run; the others are `slow`."""


@pytest.mark.parametrize("mode", ["async", "router"])
@pytest.mark.parametrize(("here", "there"), pairs_of(HOSTS, HANDFUL))
def test_a_loop_that_moves_away_and_back_takes_nothing_along_and_finds_its_own(
    here, there, mode, strict_hosts, install
):
    first, second = strict_hosts(here, steps=3), strict_hosts(there, steps=3)
    install(first, second)
    messages = question()
    for host in (first, second):
        append_blocks(messages, CREATE[mode](host, messages))
    while append_blocks(messages, CREATE[mode](first, messages)):
        pass
    assert [] == first.refusals + second.refusals
    assert first.kind in REFUSES_A_GAP or [] == first.lost()


@pytest.mark.parametrize(
    ("here", "there"),
    [("anthropic", "moonshot"), ("moonshot", "anthropic"), ("openai-responses", "anthropic"), ("groq", "cerebras")],
)
def test_a_router_falls_back_in_the_middle_of_a_loop_and_comes_back(here, there, strict_hosts, install):
    first, second = strict_hosts(here, script=fails_once()), strict_hosts(there, steps=3)
    install(first, second)
    pair, messages = router(first, second), question()
    named = {"model": "group-0", "tools": CLAUDE_TOOLS, "max_tokens": 4096}
    for _ in range(5):
        if not append_blocks(messages, run(pair.aanthropic_messages(messages=messages, **named))):
            break
    assert [200] == statuses(second)
    assert [503] == [status for status in statuses(first) if status != 200]
    assert first.kind in REFUSES_A_GAP | LOSES_BLOCKS or [] == first.lost()


@pytest.mark.parametrize("known", [True, False], ids=["foreign", "unknown"])
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_nothing_of_another_host_goes_along(name, mode, known, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    messages = [*question(), {"role": "assistant", "content": [SEEN, {**SEEN, "signature": "eA=="}, USED]}, ANSWERED]
    if known:
        messages = adopt(messages, Origin("elsewhere.example", dialect="anthropic"))
    before = json.dumps(messages)
    CREATE[mode](host, messages)
    assert before == json.dumps(messages)
    assert [] == host.refusals + canaries_in(host.last.raw.decode())
    assert b"Q0FOQVJZ" not in host.last.raw


@pytest.mark.parametrize(("name", "mode"), [("moonshot", "async"), ("moonshot", "sync"), ("unknown", "async")])
def test_trust_in_what_bears_no_mark_is_no_trust_in_what_another_host_wrote(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host, unknown_origin="trust")
    bare = {"type": "thinking", "thinking": "CANARY-of-nobody", "signature": ""}
    blocks = [bare, {**bare, "thinking": "CANARY-another"}, USED]
    messages = [*question(), {"role": "assistant", "content": blocks}, ANSWERED]
    CREATE[mode](host, adopt(messages, Origin("elsewhere.example", dialect="anthropic")))
    assert [] == canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("mode", ["async", "sync", "async stream", "stream", "router"])
def test_missing_raise_comes_before_any_request(mode, strict_hosts, install):
    host = strict_hosts("moonshot")
    install(host, missing="raise")
    with pytest.raises(MissingReasoning, match="demands this message's reasoning"):
        CREATE[mode](host, [*question(), {"role": "assistant", "content": [USED]}, ANSWERED])
    assert [] == host.requests


@pytest.mark.parametrize("mode", ["async", "router"])
def test_thinking_goes_off_where_a_running_loop_has_no_block_of_claudes(mode, strict_hosts, install):
    host = strict_hosts("anthropic")
    install(host)
    CREATE[mode](host, [*question(), {"role": "assistant", "content": [SEEN, USED]}, ANSWERED])
    assert [] == host.refusals
    assert "thinking" not in host.last.json


INTERLEAVED = "interleaved-thinking-2025-05-14"
EDIT_BETA = "context-management-2025-06-27"
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
GIVEN = {
    "extra_headers": lambda values: {"extra_headers": values},
    "headers": lambda values: {"headers": values},
    "a client's, through a proxy": lambda values: {
        "provider_specific_header": {"custom_llm_provider": "anthropic", "extra_headers": values}
    },
}
"""Where a call has the header with betas."""


@pytest.mark.parametrize("mode", ["async", "router"])
@pytest.mark.parametrize("where", GIVEN)
def test_what_goes_only_with_thinking_goes_of_the_header_too(where, mode, strict_hosts, install):
    host = strict_hosts("anthropic")
    install(host)
    headers = {"Anthropic-Beta": f"{EDIT_BETA},{INTERLEAVED}", "x-mine": "1"}
    loop = [*question(), {"role": "assistant", "content": [SEEN, USED]}, ANSWERED]
    CREATE[mode](host, loop, context_management=EDITS, **GIVEN[where](headers))

    sent = host.last.headers
    assert (200, INTERLEAVED, "1") == (host.last.status, sent["anthropic-beta"], sent["x-mine"])
    assert {"thinking", "context_management"}.isdisjoint(host.last.json)
    assert {"Anthropic-Beta": f"{EDIT_BETA},{INTERLEAVED}", "x-mine": "1"} == headers, "the caller's own"


@pytest.mark.parametrize("where", GIVEN)
def test_a_budget_beyond_the_limit_stays_with_the_beta_for_it(where, strict_hosts, install):
    host = strict_hosts("anthropic")
    install(host)
    more = {"max_tokens": 1500, "thinking": {"type": "enabled", "budget_tokens": 2048}}
    CREATE["async"](host, question(), **more, **GIVEN[where]({"anthropic-beta": INTERLEAVED}))
    assert (200, more["thinking"]) == (host.last.status, host.last.json["thinking"])

    CREATE["async"](host, question(), **more)
    assert (200, 1499) == (host.last.status, host.last.json["thinking"]["budget_tokens"])


@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize("name", ["moonshot", "unknown"])
def test_turn_notes_reach_no_wire_and_are_heeded(name, mode, strict_hosts, install):
    host = strict_hosts(name, steps=2)
    install(host)
    messages = question()
    append_blocks(messages, CREATE[mode](host, messages))
    messages.append({"role": "user", "content": "a note of the machine", "turn": False})
    append_blocks(messages, CREATE[mode](host, messages))
    assert b'"turn"' not in host.last.raw
    assert [] == host.lost() + host.refusals


def test_a_reply_is_the_plain_dict_that_litellm_gives(strict_hosts, install):
    host = strict_hosts("anthropic")
    install(host)
    reply = litellm.anthropic.messages.acreate(**target(host), messages=question(), tools=CLAUDE_TOOLS, max_tokens=99)
    reply = run(reply)
    assert dict is type(reply)
    assert list is type(json.loads(json.dumps(reply))["content"])
    assert "reasoning_replay" not in str(sorted(reply))
