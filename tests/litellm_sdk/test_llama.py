"""A real llama.cpp server behind LiteLLM: reasoning in, reasoning out, and the prompt that the model really saw."""

import json

import pytest

from litellm_calls import MODES, TOOLS, append, target, turn
from reasoning_replay import Policy
from reasoning_replay.litellm import ReasoningReplay, report_of
from reasoning_replay.testing import aliases, foreign_bytes

THOUGHT = "I should call the weather tool."


class Llama:
    """The real server, as the calls of these tests name a host."""

    kind = "unknown"

    def __init__(self, server):
        self.url, self.model, self.server = server.url, server.model, server


@pytest.fixture
def llama_host(llama):
    return Llama(llama)


@pytest.mark.parametrize("mode", MODES)
def test_a_real_server_sees_its_own_reasoning_inside_the_turn(mode, llama_host, install):
    install()
    messages = []
    turn(mode, llama_host, messages)
    assert THOUGHT in llama_host.server.last_prompt()
    assert messages[-1].content == "It is 3C. Done."


def test_the_next_turn_goes_without_it_and_the_server_keeps_its_prompt(llama_host, install):
    install()
    messages = []
    turn("sync", llama_host, messages)
    messages.append({"role": "user", "content": "And tomorrow?"})
    reply = MODES["sync"](llama_host, messages)
    assert THOUGHT not in llama_host.server.last_prompt()
    assert {row.reason for row in report_of(reply).rows} == {"window"}


def test_a_policy_sends_every_turn_to_a_server_that_was_started_to_keep_them(llama_host):
    import litellm

    litellm.callbacks.append(ReasoningReplay(Policy(window="all")))
    messages = []
    turn("sync", llama_host, messages)
    messages.append({"role": "user", "content": "And tomorrow?"})
    reply = MODES["sync"](llama_host, messages)
    kept = [row for row in report_of(reply).rows if row.action == "keep"]
    assert len(kept) == 2


def test_a_loop_begun_at_a_real_server_moves_to_a_strict_host_and_back(llama_host, strict_hosts):
    import litellm

    away = strict_hosts("cerebras", steps=2)
    litellm.callbacks.append(ReasoningReplay(Policy(aliases=aliases([away]))))
    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, MODES["sync"](llama_host, messages))
    append(messages, MODES["sync"](away, messages))
    MODES["sync"](llama_host, messages)
    prompt = llama_host.server.last_prompt()
    assert THOUGHT in prompt
    assert not [canary for canary in away.issued if canary in prompt]
    assert THOUGHT not in away.last.raw.decode()
    assert [] == away.refusals + foreign_bytes([away])


def test_what_the_server_answers_can_be_stored_as_json_and_sent_again(llama_host, install):
    install()
    messages = []
    turn("sync", llama_host, messages)
    stored = json.loads(json.dumps([m if isinstance(m, dict) else m.model_dump() for m in messages]))
    MODES["sync"](llama_host, stored[:-1], **{**target(llama_host), "tools": TOOLS})
    assert THOUGHT in llama_host.server.last_prompt()
