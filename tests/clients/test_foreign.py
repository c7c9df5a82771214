"""A client that takes a conversation to another model and back, with all that it received, and what it makes up itself."""

from __future__ import annotations

from itertools import permutations

import pytest

from reasoning_replay.testing import canaries_in
from reasoning_replay.testing._search import carries

ROUTES = {
    "chat": ("deepseek", "kimi", "claude"),
    "messages": ("claude", "kimi"),
    "responses": ("gpt", "claude", "deepseek", "kimi"),
}
HANDFUL = {
    ("chat", "deepseek", "kimi"),
    ("chat", "claude", "deepseek"),
    ("messages", "kimi", "claude"),
    ("responses", "gpt", "claude"),
}
GAP = pytest.mark.moves_prefix(
    reason="back in a turn that another host went on with, Claude takes no block till the next turn"
)


def _marks(manner, route, here, there):
    daily = manner == "keeps" and (route, here, there) in HANDFUL
    return [*([] if daily else [pytest.mark.slow]), *([GAP] if here == "claude" else [])]


MOVES = [
    pytest.param(manner, route, *pair, marks=_marks(manner, route, *pair), id="-".join((manner, route, *pair)))
    for manner in ("keeps", "unmarks", "drops")
    for route, models in ROUTES.items()
    for pair in permutations(models, 2)
]


@pytest.mark.parametrize(("manner", "route", "here", "there"), MOVES)
def test_a_loop_that_moves_to_another_model_and_back_takes_nothing_foreign_along(manner, route, here, there, place):
    """Foreign bytes on any wire are looked for after every test; here, that the loop goes on and finds its own again."""
    first, second = place.host(here), place.host(there)
    first.reset(steps=6)
    second.reset(steps=6)
    client = place.client(route, here, manner=manner)
    client.history.append({"role": "user", "content": "How is the weather?"})
    for model in (here, here, there, there, here, here, here):
        go_to(place, client, route, model)
        client.step()
    assert [200] * 5 == [request.status for request in first.requests]
    assert [200] * 2 == [request.status for request in second.requests]


def go_to(place, client, route, model):
    """The client's next requests go to another model."""
    from clients.conftest import ASKS

    client.model = model
    client.more = {"max_tokens": 4096} if route == "messages" else {}
    client.more |= ASKS.get((route, model), {})


@pytest.mark.parametrize("manner", ["keeps", "unmarks", "drops"])
@pytest.mark.parametrize(
    ("route", "here", "there"),
    [("chat", "deepseek", "kimi"), ("messages", "kimi", "claude"), ("responses", "deepseek", "kimi")],
)
def test_back_at_its_host_a_reply_of_before_has_its_own_reasoning_again(route, here, there, manner, place):
    first = place.host(here)
    first.reset(steps=6)
    place.host(there).reset(steps=6)
    client = place.client(route, here, manner=manner)
    client.history.append({"role": "user", "content": "How is the weather?"})
    for model in (here, there, here):
        go_to(place, client, route, model)
        client.step()
    own = canaries_in(str(first.requests[0].reply))
    assert set(own) == set(canaries_in(first.last.raw.decode()))


SEAL = "Q0FOQVJZLW9mLW5vYm9keS1zZWFsZWQtYnktbm9ib2R5"
THOUGHT = "CANARY-of-nobody thinks"
CALLED = {"city": "Oslo", "step": 1}
PASTS = {
    "chat": [
        {"role": "user", "content": "How is the weather?"},
        {
            "role": "assistant", "content": None, "reasoning_content": THOUGHT, "reasoning": THOUGHT,
            "reasoning_details": [{"type": "reasoning.encrypted", "data": SEAL, "id": "r1", "format": "anthropic-claude-v1", "index": 0}],
            "thinking_blocks": [{"type": "thinking", "thinking": THOUGHT, "signature": SEAL}],
            "provider_specific_fields": {"reasoning_content": THOUGHT, "thought_signatures": [SEAL]},
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo", "step": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Oslo: 3C"},
    ],
    "messages": [
        {"role": "user", "content": "How is the weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": THOUGHT, "signature": SEAL},
                {"type": "redacted_thinking", "data": SEAL},
                {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": CALLED},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Oslo: 3C"}]},
    ],
    "responses": [
        {"role": "user", "content": "How is the weather?"},
        {"type": "reasoning", "id": "rs_nobody", "summary": [{"type": "summary_text", "text": THOUGHT}], "encrypted_content": SEAL},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Oslo", "step": 1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "Oslo: 3C"},
    ],
}  # fmt: skip
"""A history of a host that this proxy has never seen, as a client may bring it."""
WRITTEN = [(route, model) for route, models in ROUTES.items() for model in models]


@pytest.mark.parametrize(("route", "model"), WRITTEN)
def test_another_hosts_reasoning_and_encrypted_content_are_taken_out_and_the_loop_goes_on(route, model, place):
    host = place.host(model)
    client = place.client(route, model)
    client.history = [*PASTS[route]]
    while client.step():
        pass
    assert [] == host.refusals
    assert len(host.requests) > 1
    assert not any(carries(request.raw, word) for request in host.requests for word in (SEAL, "CANARY-of-nobody"))
