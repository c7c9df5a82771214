"""What a model sees of what a host took, by the vendors' own packages: the reasoning that they render, in their tokens."""

import httpx
import pytest

pytest.importorskip("openai_harmony")
pytest.importorskip("litellm")
pytest.importorskip("tokenizers")

from reasoning_replay import Policy, capture, prepare
from reasoning_replay.testing import Reply, Text, call, canaries_in, prompts, strict_host, think
from reasoning_replay.testing._prompts import RENDERERS

WEATHER = {"name": "get_weather", "description": "", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": WEATHER}]
SCRIPT = [Reply((think(), call(city="Oslo"))), Reply((think(), Text("3C"))), Reply((think(), Text("4C")))]


def two_turns(host):
    """A tool loop and a question after it: three requests."""
    host.reset(script=SCRIPT)
    policy = Policy(aliases=host.alias)
    messages = []
    for question in ("Today?", "Tomorrow?"):
        messages.append({"role": "user", "content": question})
        while messages[-1]["role"] != "assistant":
            asked = {"model": host.model, "tools": TOOLS}
            plan = prepare(messages, host=host.url, model=host.model, request=asked, policy=policy)
            reply = httpx.post(host.endpoint, json={**plan.request, "messages": plan.messages}).json()
            messages.append(capture(reply, plan.origin))
            calls = messages[-1].get("tool_calls") or ()
            messages += [{"role": "tool", "tool_call_id": each["id"], "content": "3C"} for each in calls]
    return prompts(host)


SEEN = {"deepseek": (0, 1, 2), "mistral": (0, 1, 2), "cerebras": (0, 1, 0), "groq": (0, 1, 0)}
"""Thoughts in the prompts of the three requests: gpt-oss sees none of a turn that has its answer."""


@pytest.mark.parametrize("kind", RENDERERS)
def test_the_prompts_of_a_loop_hold_the_reasoning_that_the_model_sees_and_share_what_it_still_sees(kind):
    with strict_host(kind) as host:
        made = two_turns(host)
    assert SEEN[kind] == tuple(len(set(canaries_in(each.text))) for each in made)
    assert all(WEATHER["name"] in each.text and "Today?" in each.text for each in made)
    assert all(0 < len(each) < len(each.text) for each in made)
    first, second, third = made
    assert len(first) - 3 <= second.shared(first) <= len(first)  # the last tokens ask for the reply
    assert (len(second) - 3 <= third.shared(second)) is (SEEN[kind][2] > 0)


def test_a_refused_request_has_no_prompt():
    with strict_host("cerebras") as host:
        httpx.post(host.endpoint, json={"model": host.model, "messages": [{"role": "user", "content": "Hi", "odd": 1}]})
        assert 1 == len(host.refusals)
        assert [] == prompts(host)


def test_a_host_that_no_package_renders_is_named_with_those_that_are():
    with strict_host("openai") as host, pytest.raises(ValueError, match=r"'openai'.*deepseek, cerebras, groq, mistral"):
        prompts(host)


def test_a_missing_package_is_named_with_the_fix(monkeypatch):
    monkeypatch.setattr("reasoning_replay.testing._prompts.find_spec", lambda name: None)
    with strict_host("mistral") as host, pytest.raises(ImportError, match="pip install mistral-common"):
        prompts(host)


def test_repr_shows_no_text():
    with strict_host("deepseek") as host:
        assert [] == canaries_in(repr(two_turns(host)))
