"""Every refusal of the Anthropic host: the history that it takes, the one that it refuses, and the exact words."""

import copy

import pytest

from reasoning_replay.testing import Reply, Text, call, sealed, think
from wire_client import ADAPTIVE, MANUAL, ask, loop, message_of, results_of

USER = {"role": "user", "content": "q"}
BUDGET = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain "
    "exactly as received in the original response."
)
BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
    'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
BINDING_MODEL = "claude-opus-5-5"


def one_step(host, *parts, **more):
    """A history with one step of these parts, and the results of its calls."""
    host.script = [Reply(tuple(parts) or (think(), call()))]
    message = message_of(host, ask(host, [USER], **more))
    return [USER, message, *results_of(host, message)]


def changed(history, index, place, **fields):
    """A copy of a history in which one block is another."""
    other = copy.deepcopy(history)
    block = other[index]["content"][place]
    for key, value in fields.items():
        if value is ...:
            del block[key]
        else:
            block[key] = value
    return other


def refusal(host, history, **more):
    response = ask(host, history, **more)
    assert 400 == response.status_code
    assert {"type": "invalid_request_error", "message": host.refusals[-1]} == response.json()["error"]
    assert "error" == response.json()["type"]
    return host.refusals[-1]


@pytest.fixture
def claude(strict_hosts):
    return strict_hosts("anthropic")


def test_its_own_blocks_are_taken_back_byte_for_byte(claude):
    history = one_step(claude, think(), sealed(), think(""), call())

    assert ["thinking", "redacted_thinking", "thinking", "tool_use"] == [b["type"] for b in history[1]["content"]]
    assert "" == history[1]["content"][2]["thinking"]
    assert 200 == ask(claude, history).status_code
    assert [] == claude.lost()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"thinking": "edited"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": "bWFkZSB1cA=="}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": "not base64!"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": ""}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": ...}, "messages.1.content.0.thinking.signature: Field required"),
        ({"signature": None}, "messages.1.content.0.thinking.signature.str: Input should be a valid string"),
        ({"signature": "", "thinking": ""}, "messages.1.content.0.thinking: each thinking block must contain thinking"),
        (
            {"provider_specific_fields": {}},
            "messages.1.content.0.thinking.provider_specific_fields: Extra inputs are not permitted",
        ),
    ],
)
def test_a_block_that_is_not_as_it_was_sealed_is_refused(claude, fields, text):
    history = one_step(claude)

    assert text == refusal(claude, changed(history, 1, 0, **fields))
    assert 200 == ask(claude, history).status_code


def test_sealed_data_of_another_kind_is_refused(claude):
    history = one_step(claude, think(), sealed(), call())
    signature = history[1]["content"][0]["signature"]

    assert "messages.1.content.1: Invalid `data` in `redacted_thinking` block" == refusal(
        claude, changed(history, 1, 1, data=signature)
    )


@pytest.mark.leaks(reason="a block of one Anthropic host is sent to another on purpose")
def test_two_anthropic_hosts_do_not_open_each_other_s_signatures(strict_hosts):
    first, second = strict_hosts("anthropic"), strict_hosts("anthropic")
    history = one_step(first)

    assert first.name != second.name
    assert "messages.1.content.0: Invalid `signature` in `thinking` block" == refusal(second, history)
    assert 200 == ask(first, history).status_code


def test_signatures_stay_valid_over_a_reset(claude):
    history = one_step(claude)
    claude.reset()

    assert 200 == ask(claude, history).status_code


def test_manual_thinking_wants_a_leading_thinking_block_in_a_running_loop(claude):
    history = one_step(claude, think(), Text("Let me see."), call())
    bare = copy.deepcopy(history)
    del bare[1]["content"][0]

    assert refusal(claude, bare).startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final"
    )
    assert 200 == ask(claude, bare, thinking=ADAPTIVE).status_code, "adaptive thinking has no such rule"
    assert 200 == ask(claude, bare, thinking=None).status_code
    answer = {"role": "assistant", "content": "3C."}
    assert 200 == ask(claude, [*bare, answer, USER]).status_code, "nor have turns that are over"


def test_a_note_beside_a_tool_result_does_not_end_the_loop(claude):
    history = one_step(claude, think(), Text("Let me see."), call())
    del history[1]["content"][0]

    assert refusal(claude, [*history, {"role": "user", "content": "a note"}]).startswith(
        "messages.1.content.0.type: Expected"
    )


def test_an_unsigned_block_of_a_reply_may_only_be_left_out(claude):
    history = one_step(claude, think("t", signature=None), think(), call())
    assert "messages.1.content.0.thinking.signature: Field required" == refusal(claude, history)
    del history[1]["content"][0]
    assert 200 == ask(claude, history).status_code


def test_the_latest_message_s_blocks_come_back_in_the_order_in_which_they_came(claude):
    history = one_step(claude, think(), Text("First."), think(), call())
    blocks = history[1]["content"]
    assert 200 == ask(claude, history).status_code

    for other in (
        [blocks[0], blocks[2], blocks[1], blocks[3]],
        [blocks[2], blocks[1], blocks[0], blocks[3]],
        [blocks[0], blocks[1], blocks[3]],
    ):
        assert f"messages.1.content.0: {MODIFIED}" == refusal(
            claude, [USER, {"role": "assistant", "content": other}, *history[2:]]
        )
    none = [b for b in blocks if b["type"] != "thinking"]
    assert (
        200 == ask(claude, [USER, {"role": "assistant", "content": none}, *history[2:]], thinking=ADAPTIVE).status_code
    )


def test_in_earlier_messages_blocks_may_go_but_not_change_places(claude):
    history = one_step(claude, think(), think(), call())
    second, later = history[1]["content"][1], [*history, {"role": "assistant", "content": "3C."}, USER]

    assert 200 == ask(claude, later).status_code
    swapped = copy.deepcopy(later)
    swapped[1]["content"][:2] = [second, history[1]["content"][0]]
    assert "messages.1.content.0: Invalid `signature` in `thinking` block" == refusal(claude, swapped)
    del swapped[1]["content"][1]
    assert 200 == ask(claude, swapped).status_code


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, BUDGET),
        ({"thinking": {"type": "enabled", "budget_tokens": 1023}}, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
        ({"tool_choice": {"type": "any"}}, "Thinking may not be enabled when tool_choice forces tool use."),
        ({"tool_choice": {"type": "tool", "name": "get_weather"}}, "Thinking may not be enabled when tool_choice forces tool use."),
        ({"tool_choice": {"type": "any"}, "thinking": ADAPTIVE, "model": BINDING_MODEL},
         'tool_choice: type "tool" and "any" are not supported for this model.'),
        ({"thinking": None, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
         "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"),
        ({"thinking": {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
         "thinking.adaptive.block_binding: Extra inputs are not permitted"),
        ({"model": "claude-opus-4-7"},
         ('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
         "to control thinking behavior.")),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"store": True}, "store: Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_go_together_are_refused(claude, more, text):
    assert text == refusal(claude, [USER], **more)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tool_choice": {"type": "auto"}},
        {"tool_choice": {"type": "any"}, "thinking": None},
        {"tool_choice": {"type": "any"}, "thinking": ADAPTIVE},
        {
            "thinking": {"type": "enabled", "budget_tokens": 4096},
            "headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"},
        },
        {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
        {"model": "claude-haiku-4-5-20251001"},
        {"model": "claude-opus-4-7", "thinking": ADAPTIVE},
    ],
)
def test_parameters_that_go_together_are_taken(claude, more):
    assert 200 == ask(claude, [USER], **more).status_code


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "messages: at least one message is required"),
        ([{"role": "system", "content": "s"}], "messages.0.role: Input should be 'user' or 'assistant'"),
        ([{**USER, "turn": False}], "messages.0.turn: Extra inputs are not permitted"),
        ([USER, {"role": "assistant", "content": "a", "reasoning_content": "r"}, USER], "messages.1.reasoning_content: Extra inputs are not permitted"),
        ([{"role": "user", "content": ""}], "messages.0: all messages must have non-empty content except for the optional final assistant message"),
        ([USER, {"role": "assistant", "content": []}, USER],
         "messages.1: all messages must have non-empty content except for the optional final assistant message"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "messages: text content blocks must be non-empty"),
        ([{"role": "user", "content": [{"type": "text", "text": "q", "mark": 1}]}], "messages.0.content.0.text.mark: Extra inputs are not permitted"),
        ([USER, {"role": "assistant", "content": "a"}],
         "This model does not support assistant message prefill. The conversation must end with a user message."),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "3C"}]}],
         ("messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. Each `tool_result` block must have a "
         "corresponding `tool_use` block in the previous message.")),
        ([USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_weather", "input": {}}]}, USER],
         ("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block must have "
         "a corresponding `tool_result` block in the next message.")),
    ],
)  # fmt: skip
def test_a_malformed_history_is_refused(claude, messages, text):
    assert text == refusal(claude, messages)


def test_thinking_does_not_stand_in_user_messages(claude):
    block = one_step(claude)[1]["content"][0]

    assert "messages.0.content.1: `thinking` blocks are not allowed in `user` messages" == refusal(
        claude, [{"role": "user", "content": [{"type": "text", "text": "q"}, block]}]
    )


def test_neighbours_of_one_role_are_joined_as_the_api_joins_them(claude):
    history = one_step(claude, think(), call(), call())
    results = history[2]["content"]
    split = [*history[:2], {"role": "user", "content": results[:1]}, {"role": "user", "content": results[1:]}, USER]

    assert 200 == ask(claude, split, thinking=ADAPTIVE).status_code


def test_with_thinking_off_a_final_assistant_message_has_none(claude):
    history = one_step(claude, think(), Text("3C."))

    assert (
        "messages.1.content.0: When `thinking` is disabled, an `assistant` message in the final position cannot contain `thinking`. "
        "To use thinking blocks, enable `thinking` in your request."
    ) == refusal(claude, history, thinking=None)
    history[1]["content"] = [{"type": "text", "text": "3C."}]
    assert 200 == ask(claude, history, thinking=None).status_code


# Models that bind a block to its prefix -------------------------------------------------------------------------------


@pytest.fixture
def bound(claude):
    """A finished loop on a model that binds, with three thinking blocks, and a new question."""
    history, _ = loop(claude, model=BINDING_MODEL, thinking=ADAPTIVE)
    return claude, [*history, {"role": "user", "content": "And tomorrow?"}]


def without(history, *places):
    other = copy.deepcopy(history)
    for index in places:
        other[index]["content"] = [b for b in other[index]["content"] if b["type"] != "thinking"]
    return other


def asks(host, history, **more):
    return ask(host, history, **({"model": BINDING_MODEL, "thinking": ADAPTIVE} | more))


@pytest.mark.parametrize("places", [(), (1,), (1, 3), (1, 3, 5)])
def test_a_front_run_of_thinking_or_all_of_it_may_go(bound, places):
    host, history = bound

    assert 200 == asks(host, without(history, *places)).status_code


@pytest.mark.parametrize(("places", "first"), [((3,), 5), ((1, 5), None)])
def test_a_cut_in_the_middle_unbinds_every_later_block(bound, places, first):
    host, history = bound
    response = asks(host, without(history, *places))

    assert (200 if first is None else 400) == response.status_code
    if first is not None:
        assert BOUND.replace("messages.1.", f"messages.{first}.") == host.refusals[-1]


def test_a_changed_question_unbinds_the_blocks_after_it(bound):
    host, history = bound
    edited = copy.deepcopy(history)
    edited[0]["content"] = "Another question"

    assert 400 == asks(host, edited).status_code
    assert [BOUND] == host.refusals
    assert 400 == asks(host, history, system="A date").status_code
    drop = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert 200 == asks(host, edited, thinking=drop, headers=beta).status_code


def test_cache_marks_do_not_unbind(bound):
    host, history = bound
    marked = copy.deepcopy(history)
    marked[2]["content"][0]["cache_control"] = {"type": "ephemeral"}

    assert 200 == asks(host, marked).status_code


def test_older_models_bind_nothing(claude):
    history, _ = loop(claude, thinking=MANUAL)
    edited = without(copy.deepcopy([*history, USER]), 3)
    edited[0]["content"] = "Another question"

    assert 200 == ask(claude, edited).status_code
