"""Trim: what goes first, what never goes, and what is said where it is not enough."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from functools import cache

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, adopt, capture, prepare
from reasoning_replay.transcripts import CannotTrim, count_tokens, trim

OLLAMA = Origin("localhost:11434", model="qwen3")
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
CEREBRAS = Origin("api.cerebras.ai", model="gpt-oss-120b")
TOOLS = {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
SYSTEM = {"role": "system", "content": "be brief"}


def characters(messages):
    return sum(len(json.dumps(message)) for message in messages)


def call(origin, request=TOOLS, **more):
    place = {"host": origin.host, "model": origin.model, "dialect": origin.dialect}
    return {**place, "request": request, "known": MemoryStore(), "token_counter": characters, **more}


def turn(origin, number, *, thought="think " * 20, calls=1, answer=True, **user):
    yield {"role": "user", "content": f"question {number}", **user}
    if calls:
        ids = [f"call_{number}_{at}" for at in range(calls)]
        made = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
        yield capture({"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": made}, origin)
        yield from ({"role": "tool", "tool_call_id": each, "content": "3C"} for each in ids)
    if answer:
        yield capture({"role": "assistant", "content": f"answer {number}", "reasoning_content": thought}, origin)


def told(origin, turns, **more):
    done = [row for number in range(turns) for row in turn(origin, number, **more)]
    return [SYSTEM, *done, {"role": "user", "content": "and now?"}]


def size(messages, **how):
    counter = how.pop("token_counter")
    return counter(prepare(messages, **how).messages)


def thinking(messages):
    return [at for at, message in enumerate(messages) if "reasoning_content" in message]


def shown(messages):
    left = ("reasoning_content", "provider_specific_fields")
    return [{key: value for key, value in message.items() if key not in left} for message in messages]


# What goes ------------------------------------------------------------------------------------------------------------


def test_what_fits_is_the_very_same_list():
    history, how = told(OLLAMA, 3), call(OLLAMA)
    assert history is trim(history, size(history, **how), **how)


def test_reasoning_of_completed_turns_goes_before_a_turn_does_the_oldest_first_and_no_more_than_needed():
    history, how = told(OLLAMA, 4), call(OLLAMA)
    left = trim(history, size(history, **how) - 1, **how)
    assert shown(history) == shown(left)
    assert thinking(history)[1:] == thinking(left)
    assert [new is old for new, old in zip(left, history, strict=True)].count(False) == 1
    least = trim(history, size(history, **how) - 8 * 120, **how)
    assert [] == thinking(least)
    assert shown(history) == shown(least)


def test_where_that_is_not_enough_whole_turns_go_from_the_front_and_no_more_than_needed():
    history, how = told(OLLAMA, 4), call(OLLAMA)
    bare = [message for message in history if "reasoning_content" not in message]
    budget = size(shown(history), **how) - 1
    left = trim(history, budget, **how)
    assert [SYSTEM, *shown(history)[5:]] == shown(left)
    assert len(bare) > 0
    assert size(left, **how) <= budget


def test_a_turn_that_is_cut_makes_room_for_reasoning_of_those_that_stay():
    big = [*turn(OLLAMA, 0), {"role": "user", "content": "x" * 5000}]
    history = [SYSTEM, *big, *list(turn(OLLAMA, 1)), {"role": "user", "content": "and now?"}]
    how = call(OLLAMA)
    kept = [SYSTEM, *history[6:]]
    assert kept == trim(history, size(kept, **how), **how)


def test_where_the_host_demands_it_a_turn_goes_and_its_reasoning_stays_with_the_others():
    history, how = told(DEEPSEEK, 4), call(DEEPSEEK)
    assert [SYSTEM, *history[5:]] == trim(history, size(history, **how) - 1, **how)


def test_reasoning_that_would_not_be_sent_is_not_counted_and_does_not_go():
    history, how = told(OLLAMA, 4), call(CEREBRAS)
    budget = size(history, **how)
    assert history is trim(history, budget, **how)
    assert [SYSTEM, *history[5:]] == trim(history, budget - 1, **how)


def smallest_of(history, how):
    with pytest.raises(CannotTrim) as raised:
        trim(history, 1, **how)
    return raised.value.smallest


def test_the_running_tool_loop_keeps_its_reasoning():
    loop, how = [SYSTEM, *turn(OLLAMA, 1), *turn(OLLAMA, 2, answer=False)], call(OLLAMA)
    assert [SYSTEM, *loop[5:]] == trim(loop, smallest_of(loop, how), **how)


def test_an_answer_that_stands_last_loses_its_reasoning_where_nothing_else_helps():
    said, how = [SYSTEM, *turn(OLLAMA, 1), *turn(OLLAMA, 2, calls=0)], call(OLLAMA)
    smallest = smallest_of(said, how)
    assert [SYSTEM, *shown(said[5:])] == trim(said, smallest, **how)
    assert [SYSTEM, *said[5:]] == trim(said, smallest + 150, **how)


def test_a_result_that_is_marked_as_a_turns_start_is_not_parted_from_its_call():
    history = [*turn(OLLAMA, 1), *turn(OLLAMA, 2, answer=False)]
    history[-1] = {**history[-1], "turn": True}
    how = call(OLLAMA)
    with pytest.raises(CannotTrim) as raised:
        trim(history, 1, **how)
    left = trim(history, raised.value.smallest, **how)
    assert ["user", "assistant", "tool"] == [message["role"] for message in left]


def test_a_late_result_keeps_the_turn_of_its_call():
    call_ = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "3C"}
    users = [{"role": "user", "content": name * 40} for name in "abc"]
    history = [users[0], call_, users[1], output, users[2]]
    how = call(Origin("api.openai.com", dialect="responses", model="gpt-5.4"))
    assert [users[2]] == trim(history, characters(users[2:]), **how)
    assert history is trim(history, characters(history), **how)
    assert [users[2]] == trim(history, characters(history) - 1, **how)


def test_notes_stay_as_they_were():
    history = [SYSTEM, *turn(OLLAMA, 1), *turn(OLLAMA, 2), {"role": "user", "content": "a job ended", "turn": False}]
    how = call(OLLAMA)
    left = trim(history, size(history, **how) - 500, **how)
    assert history[-1] is left[-1]
    assert [SYSTEM, *history[5:]] == left


class Given:
    """An SDK's object."""

    def __init__(self, fields):
        self.fields = fields

    def model_dump(self, **_):
        return self.fields


def test_sdk_objects_stay_objects():
    plain, how = told(OLLAMA, 3), call(OLLAMA)
    history = tuple(map(Given, plain))
    left = trim(history, size(plain, **how) - 1, **how)
    assert [at for at, message in enumerate(left) if not isinstance(message, Given)] == thinking(plain)[:1]
    assert [history[0], history[1], *history[3:]] == [left[0], left[1], *left[3:]]
    how["token_counter"] = len
    assert list(history) == trim(history, len(history), **how)


# Blocks that are bound -------------------------------------------------------------------------------------------------

CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5-5")
ADAPTIVE = {"max_tokens": 4096, "thinking": {"type": "adaptive"}}


def claude_turn(number, origin=CLAUDE):
    block = {"type": "thinking", "thinking": "think " * 20, "signature": f"sig {number}"}
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {}}
    yield {"role": "user", "content": f"question {number}"}
    yield capture({"role": "assistant", "content": [block, use]}, origin)
    yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "3C"}]}


def claude_history(*origins):
    """A turn of each, the last one open: its tool loop waits for the host."""
    answer = {"role": "assistant", "content": "3C."}
    return [row for number, origin in enumerate(origins) for row in (*claude_turn(number, origin), answer)][:-1]


def signed(messages):
    return [at for at, message in enumerate(messages) if "signature" in str(message["content"])]


def test_a_cut_takes_all_bound_blocks_the_running_loops_too_and_without_one_a_front_run_goes():
    history, how = claude_history(CLAUDE, CLAUDE, CLAUDE), call(CLAUDE, ADAPTIVE)
    whole = size(history, **how)
    assert [5, 9] == signed(trim(history, whole - 1, **how))
    assert [9] == signed(trim(history, whole - 200, **how))
    with pytest.raises(CannotTrim) as raised:
        trim(history, 1, **how)
    least = trim(history, raised.value.smallest, **how)
    assert [] == signed(least)
    assert ["user", "assistant", "user"] == [message["role"] for message in least]


def test_a_front_run_of_bound_blocks_ends_where_one_has_to_stay():
    router = Origin("openrouter.ai", model="anthropic/claude-opus-5.5")
    history = [row for number in range(4) for row in turn(router, number, calls=0)]
    for at in (1, 3, 5, 7):
        text = history[at].pop("reasoning_content")
        detail = {"type": "reasoning.text", "text": text, "signature": f"sig {at}", "index": 0}
        history[at] = {**history[at], "reasoning_details": [detail]}
    history[3]["content"] = ""  # nothing but reasoning: it stays, and so does what is behind it
    history.append({"role": "user", "content": "and now?"})
    how = call(router)
    left = trim(history, size(history, **how) - 1, **how)
    assert shown(history) != shown(left)
    assert [3, 5, 7] == [at for at, message in enumerate(left) if "reasoning_details" in message]
    cut = trim(history, size(history, **how) - 250, **how)
    assert history[2:3] == cut[:1]
    assert "reasoning_details" not in str(cut)


def test_blocks_of_a_model_that_binds_none_stay_in_what_is_kept():
    older = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-4-6")
    history, how = claude_history(older, older, older), call(older, ADAPTIVE)
    with pytest.raises(CannotTrim) as raised:
        trim(history, 1, **how)
    assert [1] == signed(trim(history, raised.value.smallest, **how))


def test_a_block_that_another_model_wrote_between_bound_ones_does_not_go_alone():
    """The later one was made with both before it: without the one in the middle, the first has to go as well."""
    older = Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-5")
    history, how = claude_history(CLAUDE, older, CLAUDE), call(older, ADAPTIVE)
    assert [9] == signed(trim(history, size(history, **how) - 1, **how))


def test_what_another_host_was_never_sent_may_go_alone():
    history, how = claude_history(CLAUDE, CLAUDE), call(OLLAMA)
    history = [
        *history,
        {"role": "assistant", "content": "3C."},
        *turn(OLLAMA, 7, calls=0),
        {"role": "user", "content": "?"},
    ]
    left = trim(history, size(history, **how) - 1, **{**how, "form": "litellm"})
    assert [1, 5] == signed(left)
    assert [] == thinking(left)


def test_blocks_that_are_trusted_without_a_mark_are_bound_where_they_go():
    history = claude_history(CLAUDE, CLAUDE, CLAUDE)
    for message in history:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("provider_specific_fields", None)
    how = call(CLAUDE, ADAPTIVE, policy=Policy(unknown_origin="trust"))
    with pytest.raises(CannotTrim) as raised:
        trim(history, 1, **how)
    assert [] == signed(trim(history, raised.value.smallest, **how))


# Counting --------------------------------------------------------------------------------------------------------------


def test_the_counter_is_shown_what_would_be_sent_and_nothing_else():
    seen = []
    history, how = told(DEEPSEEK, 3), call(CEREBRAS)
    trim(history, 400, **{**how, "token_counter": lambda messages: seen.append(messages) or characters(messages)})
    assert seen
    assert "think" not in json.dumps(seen)
    assert "reasoning_replay" not in json.dumps(seen)


def test_without_a_counter_it_is_what_count_tokens_says():
    history, how = told(OLLAMA, 6), call(OLLAMA)
    del how["token_counter"]
    for budget in (count_tokens(history, **how) - 1, 300, 200):
        left = trim(history, budget, **how)
        assert count_tokens(left, **how) <= budget
        assert left is trim(left, budget, **how)


@pytest.mark.parametrize("kind", ["int64", "uint16", "float32"])
def test_numbers_of_an_array_are_numbers_too(kind):
    numpy = pytest.importorskip("numpy")
    history, how = told(OLLAMA, 6), call(OLLAMA)
    counter = {"token_counter": lambda messages: getattr(numpy, kind)(characters(messages))}
    assert trim(history, 700, **how) == trim(history, numpy.int64(700), **{**how, **counter})
    with pytest.raises(CannotTrim) as raised:
        trim(history, numpy.int64(1), **{**how, **counter})
    assert (int, int) == (type(raised.value.smallest), type(raised.value.max_tokens))


def test_a_part_of_a_token_is_more_than_none():
    history = told(OLLAMA, 3)
    half = Fraction(1, 2)
    how = call(OLLAMA, token_counter=lambda messages: characters(messages) - half)
    whole = size(history, **how) + half
    assert history is trim(history, int(whole), **how)
    assert history is not trim(history, int(whole) - 1, **how)


@cache
def long(origin):
    return told(origin, 2500)


@pytest.mark.parametrize(("origin", "part"), [(OLLAMA, 0.9), (OLLAMA, 0.01), (DEEPSEEK, 0.3)])
def test_ten_thousand_messages_are_counted_a_few_times_only(origin, part):
    asked = []
    history, how = long(origin), call(origin)

    def counter(messages):
        asked.append(len(messages))
        return len(messages) * 10 + sum(len(message.get("reasoning_content", "")) for message in messages)

    budget = int(part * counter(prepare(history, **{key: how[key] for key in how if key != "token_counter"}).messages))
    asked.clear()
    trim(history, budget, **{**how, "token_counter": counter})
    assert len(asked) <= 40


def test_uneven_turns_are_counted_a_few_times_too():
    history = [SYSTEM]
    for number in range(1000):
        history += [
            {"role": "user", "content": "x" * (10**6 if number == 700 else 10)},
            {"role": "assistant", "content": "y"},
        ]
    asked = []

    def counter(messages):
        asked.append(1)
        return sum(len(message["content"]) for message in messages)

    left = trim(history, 5000, **{**call(OLLAMA), "token_counter": counter})
    assert left[1] is history[1 + 2 * 701]
    assert len(asked) <= 60


# What is refused -------------------------------------------------------------------------------------------------------


def test_where_it_cannot_be_done_the_error_says_the_smallest_and_what_it_is_made_of():
    history, how = told(OLLAMA, 3), call(OLLAMA)
    with pytest.raises(
        CannotTrim, match=r"max_tokens=20: .* smaller than (\d+) tokens.*messages\[13\] to messages\[13\]"
    ) as raised:
        trim(history, 20, **how)
    assert (20, characters([SYSTEM, history[-1]])) == (raised.value.max_tokens, raised.value.smallest)
    assert [SYSTEM, history[-1]] == trim(history, raised.value.smallest, **how)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(raised.value), 20, raised.value.smallest) == (str(again), again.max_tokens, again.smallest)
    assert "think" not in str(again)


@pytest.mark.parametrize("parameter", ["previous_response_id", "conversation"])
def test_a_conversation_that_the_host_keeps_is_not_cut_here(parameter):
    how = call(Origin("api.openai.com", dialect="responses", model="gpt-5.4"), {parameter: "resp_1"})
    with pytest.raises(CannotTrim, match=f"request.{parameter}: .* send the messages themselves") as raised:
        trim([{"role": "user", "content": "hi"}], 1000, **how)
    assert raised.value.smallest is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_tokens": "10"}, "max_tokens: a str; allowed: a whole number"),
        ({"token_counter": 7}, "token_counter: a int; allowed: a function of a list of messages, or None"),
        ({"token_counter": lambda messages: "many"}, "token_counter: gave a str"),
        ({"token_counter": lambda messages: True}, "token_counter: gave a bool"),
        ({"token_counter": lambda messages: math.nan}, "token_counter: gave nan; it is to give a number of tokens"),
        ({"token_counter": lambda messages: math.inf}, "token_counter: gave inf"),
        ({"max_tokens": True}, "max_tokens: a bool; allowed: a whole number"),
        ({"max_tokens": 10.0}, "max_tokens: a float; allowed: a whole number"),
        ({"known": {}}, "known"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(wrong, words):
    with pytest.raises(TypeError, match=words):
        trim(**{"messages": told(OLLAMA, 1), "max_tokens": 10, **call(OLLAMA), **wrong})


def test_a_history_that_nobody_marked_is_cut_as_well():
    history = [
        {key: value for key, value in row.items() if key != "provider_specific_fields"} for row in told(OLLAMA, 3)
    ]
    how = call(OLLAMA)
    left = trim(history, characters(shown(history)) - 1, **how)
    assert [SYSTEM, *history[5:]] == left
    marked = adopt(history, OLLAMA)
    assert [] == thinking(trim(marked, characters(shown(history)), **how))
