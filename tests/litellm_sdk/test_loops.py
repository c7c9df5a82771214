"""What a person does: a tool loop, in each way that LiteLLM can be called, at one host and from host to host."""

import json
from dataclasses import replace
from itertools import permutations

import litellm
import pytest

from litellm_calls import (
    MODES,
    PROVIDERS,
    TOOLS,
    append,
    collected,
    fails_once,
    go_on,
    pairs_of,
    router,
    run,
    target,
    turn,
)
from reasoning_replay._origin import MARK
from reasoning_replay.testing import Reply, call, canaries_in, sealed, think

HOSTS = sorted(set(PROVIDERS) - {"deepseek-r1", "deepseek-v3.2"})
REFUSES_A_GAP = {"anthropic"}
"""Back in a turn that another host went on with, Claude takes no block at all: thinking is off till the next turn."""
TAKES_NOTHING = {"deepseek-r1"}
QUICK = ("sync", "async stream")


def statuses(host):
    return [request.status for request in host.requests]


@pytest.mark.parametrize("mode", MODES)
def test_deepseek_gets_every_turn_back_over_three_user_turns(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    messages = []
    for text in ("one", "two", "three"):
        turn(mode, host, messages, text)
    assert [200] * 9 == statuses(host)
    assert [] == host.lost()
    assert sorted(canaries_in(host.last.prompt)) == sorted(
        set(host.issued) - set(canaries_in(json.dumps(host.last.reply)))
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", HOSTS)
def test_a_tool_loop_is_whole_at_every_host(name, mode, strict_hosts, install):
    host = strict_hosts(name)
    install(host)
    turn(mode, host, [])
    assert [200] * 3 == statuses(host)
    assert [] == host.lost()


OFF = {"thinking": {"type": "disabled"}}
NO_TOOLS = {"tools": None}
OWN, EMPTY, NONE = "own", "", None
SECOND_TURNS = {
    "V4 with tools": ("deepseek", {}, {}, [OWN] * 5),
    "V4 without tools": ("deepseek", NO_TOOLS, NO_TOOLS, [EMPTY]),
    "V4, tools in the first turn only": ("deepseek", {}, NO_TOOLS, [EMPTY] * 3),
    "V4, thinking never on": ("deepseek", OFF, OFF, [NONE] * 5),
    "V4, thinking disabled in the second turn": ("deepseek", {}, OFF, [NONE] * 5),
    "V3.2": ("deepseek-v3.2", {}, {}, [NONE] * 3 + [OWN] * 2),
    "R1": ("deepseek-r1", {}, {}, [NONE] * 5),
}
"""Which host, what the calls of the first and of the second turn carry, and each reply's reasoning in the last body."""


@pytest.mark.parametrize("mode", QUICK)
@pytest.mark.parametrize("case", SECOND_TURNS)
def test_deepseek_gets_what_its_model_and_the_request_ask_for(case, mode, strict_hosts, install):
    name, first, second, expected = SECOND_TURNS[case]
    host = strict_hosts(name)
    install(host)
    messages = []
    for text, more in (("one", first), ("two", second)):
        turn(mode, host, messages, text, **more)
    written = [m.get("reasoning_content") for m in messages if not isinstance(m, dict)]
    sent = [m.get("reasoning_content") for m in host.last.messages if m["role"] == "assistant"]
    assert [] == [status for status in statuses(host) if status != 200]
    assert [said if want == OWN else want for said, want in zip(written, expected, strict=False)] == sent


def _away_and_back(mode, first, second):
    """Two steps at the first host, one at the second in the middle of the loop, the rest at the first."""
    messages = [{"role": "user", "content": "How is the weather?"}]
    for host in (first, second):
        append(messages, MODES[mode](host, messages))
    go_on(mode, first, messages)
    return messages


@pytest.mark.parametrize("mode", QUICK)
@pytest.mark.parametrize(("here", "there"), list(permutations(HOSTS, 2)), ids=str)
def test_a_loop_that_moves_away_and_back_takes_nothing_along_and_finds_its_own(
    here, there, mode, strict_hosts, install
):
    first, second = strict_hosts(here, steps=3), strict_hosts(there, steps=3)
    install(first, second)
    _away_and_back(mode, first, second)
    assert [] == first.refusals + second.refusals
    assert first.kind in REFUSES_A_GAP or [] == first.lost()


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in QUICK])
@pytest.mark.parametrize(("here", "there"), list(permutations(HOSTS, 2)), ids=str)
def test_a_loop_that_moves_away_and_back_in_every_other_way(here, there, mode, strict_hosts, install):
    first, second = strict_hosts(here, steps=3), strict_hosts(there, steps=3)
    install(first, second)
    _away_and_back(mode, first, second)
    assert [] == first.refusals + second.refusals
    assert first.kind in REFUSES_A_GAP or [] == first.lost()


@pytest.mark.parametrize("mode", ["sync", "async", "stream"])
@pytest.mark.parametrize("there", sorted({*HOSTS} - {"anthropic"}))
def test_claude_finds_every_turn_of_its_own_after_a_turn_elsewhere(there, mode, strict_hosts, install):
    first, second = strict_hosts("anthropic"), strict_hosts(there)
    install(first, second)
    opus = {"model": "anthropic/claude-opus-4-6", "thinking": {"type": "adaptive"}}
    messages = []
    turn(mode, first, messages, "one", **opus)
    turn(mode, second, messages, "two")
    turn(mode, first, messages, "three", **opus)
    assert [] == first.refusals + second.refusals
    assert [] == first.lost()


HANDFUL = (
    ("deepseek", "anthropic"),
    ("anthropic", "deepseek"),
    ("moonshot", "mistral"),
    ("openrouter", "deepseek-v3.2"),
    ("unknown", "openrouter"),
)
"""Pairs of every run; the others are `slow`."""


@pytest.mark.parametrize("way", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize(("here", "there"), pairs_of(sorted(PROVIDERS), HANDFUL))
def test_a_router_falls_back_in_the_middle_of_a_loop_and_comes_back(here, there, way, strict_hosts, install):
    first, second = strict_hosts(here, script=fails_once()), strict_hosts(there, steps=3)
    install(first, second)
    pair = router(first, second)
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(5):
        more = {"model": "group-0", "messages": messages, "tools": TOOLS}
        if not append(messages, _routed(pair, way, more)):
            break
    assert [200] == statuses(second)
    assert [503] == [status for status in statuses(first) if status != 200]
    assert [] == canaries_in(second.last.raw.decode())
    assert first.kind in REFUSES_A_GAP | TAKES_NOTHING or [] == first.lost()


def _routed(pair, way, named):
    async def streamed():
        return await collected(await pair.acompletion(stream=True, **named))

    if "stream" in way:
        chunks = run(streamed()) if "async" in way else list(pair.completion(stream=True, **named))
        return litellm.stream_chunk_builder(chunks)
    return run(pair.acompletion(**named)) if "async" in way else pair.completion(**named)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("there", ["cerebras", "mistral", "anthropic", "openrouter"])
def test_the_sdks_own_fallbacks_in_the_middle_of_a_loop(there, mode, strict_hosts, install):
    first, second = strict_hosts("deepseek", script=fails_once()), strict_hosts(there, steps=3)
    install(first, second)
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(5):
        if not append(messages, MODES[mode](first, messages, fallbacks=[target(second)], max_retries=0)):
            break
    assert [200] == statuses(second)
    assert [] == first.lost()
    names = [_writer(m) for m in messages if not isinstance(m, dict)]
    assert first.name == names[0]
    assert names[1] in (second.name, None)  # Claude does not think here: the running turn does not begin with its block
    assert {first.name} == set(names[2:])


def _writer(message):
    """The host that a reply's mark names."""
    fields = message.get("provider_specific_fields") or {}
    return fields["reasoning_replay"]["id"].split("|")[0] if "reasoning_replay" in fields else None


@pytest.mark.parametrize("mode", MODES)
def test_a_history_that_went_through_json_replays(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    messages = []
    turn(mode, host, messages)
    stored = json.dumps([m if isinstance(m, dict) else m.model_dump() for m in messages])
    turn(mode, host, json.loads(stored), "again")
    assert [] == host.refusals
    assert [] == host.lost()


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_every_choice_of_several_is_marked_and_replays(mode, strict_hosts, install):
    choices = ((think("first CANARY-a"), call()), (think("second CANARY-b"), call()))
    host = strict_hosts("unknown", script=[Reply(choices[0], more=choices[1:])])
    install(host)
    question = [{"role": "user", "content": "How is the weather?"}]
    reply = MODES[mode](host, question, n=2)
    for number, word in enumerate(("CANARY-a", "CANARY-b")):
        message = reply.choices[number].message
        answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "3C"}
        MODES[mode](host, [*question, message, answer])
        assert word.encode() in host.last.raw


@pytest.mark.parametrize("mode", MODES)
def test_the_callers_objects_stay_as_they_are(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    messages = []
    turn(mode, host, messages)
    plain = [m if isinstance(m, dict) else m.model_dump() for m in messages]
    asked = [*plain, {"role": "user", "content": "again", "turn": False}]
    before = json.dumps(asked)
    MODES[mode](host, asked)
    assert before == json.dumps(asked)


@pytest.mark.parametrize("mode", ["sync", "stream", "async", "async stream"])
def test_turn_notes_reach_no_wire_and_are_heeded(mode, strict_hosts, install):
    host = strict_hosts("unknown", steps=2)
    install(host)
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES[mode](host, messages))
    messages.append({"role": "user", "content": "a note of the machine", "turn": False})
    append(messages, MODES[mode](host, messages))
    assert b'"turn"' not in host.last.raw
    assert [] == host.lost()
    messages.append({"role": "user", "content": "really new", "turn": True})
    MODES[mode](host, messages)
    assert b"CANARY" not in host.last.raw


def _last_of(host):
    return set(canaries_in(json.dumps(host.last.reply)))


@pytest.mark.moves_prefix(reason="the policy changes in the middle of a turn")
@pytest.mark.leaks(reason="replicas joined by the caller share what they wrote")
def test_two_bases_under_one_prefix_are_two_hosts_and_joined_ones_are_one(strict_hosts, install):
    one, other = strict_hosts("unknown"), strict_hosts("unknown")
    callback = install(one, other)
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES["sync"](one, messages))
    append(messages, MODES["sync"](other, messages))
    assert b"CANARY" not in other.last.raw
    callback.uninstall()
    litellm.callbacks.clear()
    install(one, other, same_host=({one.name, other.name},))
    append(messages, MODES["sync"](other, messages))
    assert sorted(canaries_in(other.last.raw.decode())) == sorted({*one.issued, *other.issued} - _last_of(other))


def test_a_deepseek_text_does_not_go_to_claude_behind_one_router_host(strict_hosts, install):
    host = strict_hosts("openrouter")
    install(host)
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES["sync"](host, messages, model="openrouter/deepseek/deepseek-v4-pro"))
    append(messages, MODES["sync"](host, messages))
    assert b"CANARY" not in host.last.raw
    assert [] == host.refusals


@pytest.mark.parametrize("model", ["deepseek/deepseek-v4-pro", "anthropic/claude-sonnet-4.5", "google/gemini-3-pro"])
def test_at_a_router_who_served_a_call_is_not_whose_model_it_is(model, strict_hosts, install, monkeypatch):
    """OpenRouter names the provider in its reply; the next request cannot know who will serve it."""
    seal = () if model.startswith("deepseek") else (sealed(),)
    host = strict_hosts("openrouter", script=lambda turn: Reply((think(), *seal, call(city=f"Oslo-{turn.number}"))))
    install(host)
    messages, served = [{"role": "user", "content": "q"}], []
    for name in ("One", "Two", "Three"):
        there = tuple(replace(upstream, shown=name) for upstream in host.judge.upstreams)
        monkeypatch.setattr(host, "judge", replace(host.judge, upstreams=there))
        append(messages, MODES["sync"](host, messages, model=f"openrouter/{model}"))
        served.append(host.last.reply["provider"])

    assert ["One", "Two", "Three"] == served
    assert ([], []) == (host.refusals, host.lost())
    assert 1 == len({message["provider_specific_fields"][MARK]["id"] for message in messages[1::2]})
