"""LangChain's `ContextEditingMiddleware` beside ours: it takes old results of tools out, and hosts go on taking what is left."""

import pytest

pytest.importorskip("langchain.agents")
for name in ("langchain_deepseek", "langchain_anthropic", "deepseek_recipe"):
    pytest.importorskip(name)

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage

from langchain_calls import KEY, chat_deepseek, chat_openai, collected, get_weather, statuses
from reasoning_replay import Policy
from reasoning_replay.langchain import ReasoningReplayMiddleware, with_reasoning_replay
from reasoning_replay.testing import aliases

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.moves_prefix("that is what the middleware is for"),
]


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """At the end."""
    yield
    collected()


def claude(host, model, **thinking):
    known = {"base_url": host.url, "api_key": KEY, "max_retries": 0, "max_tokens": 4096}
    return ChatAnthropic(model=model, thinking=thinking, **known)


MODELS = {
    "a Claude that binds": ("anthropic", lambda host: claude(host, "claude-fable-5-1", type="adaptive")),
    "Claude": ("anthropic", lambda host: claude(host, "claude-sonnet-4-5", type="enabled", budget_tokens=1024)),
    "DeepSeek": ("deepseek", chat_deepseek),
    "Responses": ("openai-responses", lambda host: chat_openai(host, use_responses_api=True, store=False)),
}
PLACES = {
    "ours last": lambda editing, policy: [editing, ReasoningReplayMiddleware(policy)],
    "ours first": lambda editing, policy: [ReasoningReplayMiddleware(policy), editing],
    "a wrapped model": lambda editing, policy: [editing],
}
SAMPLE = [("a Claude that binds", "ours last", False), ("a Claude that binds", "a wrapped model", True)]
ROWS = [(model, place, inputs) for model in MODELS for place in PLACES for inputs in (False, True)]


@pytest.mark.parametrize(
    ("model", "place", "inputs"), [pytest.param(*row, marks=[] if row in SAMPLE else pytest.mark.slow) for row in ROWS]
)
def test_a_loop_whose_old_results_are_taken_out_goes_on(model, place, inputs, strict_hosts):
    kind, make = MODELS[model]
    host = strict_hosts(kind, steps=3)
    policy = Policy(aliases=aliases([host]))
    chat = with_reasoning_replay(make(host), policy) if place == "a wrapped model" else make(host)
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1, clear_tool_inputs=inputs)])
    agent = create_agent(chat, [get_weather], middleware=PLACES[place](editing, policy))
    agent.invoke({"messages": [HumanMessage("How is the weather?")]})
    assert [200] * 4 == statuses(host)
    assert "[cleared]" in str(host.last.json)
    if model != "a Claude that binds" and (place != "ours first" or not inputs):
        assert [] == host.lost()  # a call that was changed under our envelope comes back without its reasoning
