"""Every refusal of Bedrock's Converse: the history that it takes, those that it refuses, and the exact words."""

import base64
import copy

import pytest

from reasoning_replay.testing import Reply, Text, call, foreign_bytes, moved_prefixes, sealed, think
from wire_bedrock import BEDROCK_TOOLS, frames
from wire_client import ADAPTIVE, MANUAL, ask, loop, message_of, results_of

USER = {"role": "user", "content": "q"}
RETURNED = "The model returned the following errors: "
NO_REASONING = "User messages cannot contain reasoning content. Please remove the reasoning content and try again."
NO_SIGNATURE = (
    "This model doesn't support the reasoningContent.reasoningText.signature field. Remove "
    "reasoningContent.reasoningText.signature and try again."
)
BUDGET = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
MODIFIED = (
    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These "
    "blocks must remain exactly as received in the original response."
)
BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
    'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
BINDING_MODEL = "global.anthropic.claude-opus-5-5-v1:0"
GPT_OSS, R1, NOVA, NOVA_2, UNLISTED = (
    "openai.gpt-oss-120b-1:0",
    "us.deepseek.r1-v1:0",
    "us.amazon.nova-pro-v1:0",
    "us.amazon.nova-2-lite-v1:0",
    "meta.llama4-scout-17b-instruct-v1:0",
)


def with_thinking(thinking, **more):
    return {"additionalModelRequestFields": {"thinking": thinking, **more} if thinking else {**more}}


def one_step(host, *parts, **more):
    """A history with one step of these parts, and the results of its calls."""
    host.script = [*[None] * host._replied, Reply(tuple(parts) or (think(), call()))]
    message = message_of(host, ask(host, [USER], **more))
    return [USER, message, *results_of(host, message)]


def changed(history, place, **fields):
    """A copy of a history in which the reasoning text of one block of the reply is another."""
    other = copy.deepcopy(history)
    said = other[1]["content"][place]["reasoningContent"]["reasoningText"]
    for key, value in fields.items():
        if value is ...:
            del said[key]
        else:
            said[key] = value
    return other


def refusal(host, history, **more):
    response = ask(host, history, **more)
    assert 400 == response.status_code
    assert {"__type": "ValidationException", "message": host.refusals[-1]} == response.json()
    return host.refusals[-1]


@pytest.fixture
def bedrock(strict_hosts):
    return strict_hosts("bedrock")


# Claude ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redacted", ["text", "bytes"])
def test_claude_s_own_blocks_are_taken_back_byte_for_byte(strict_hosts, redacted):
    bedrock = strict_hosts("bedrock", redacted=redacted)
    history = one_step(bedrock, think(), sealed(), think(""), call())
    kinds = [next(iter(next(iter(block.values())))) for block in history[1]["content"]]

    assert ["reasoningText", "redactedContent", "reasoningText", "toolUseId"] == kinds
    assert "" == history[1]["content"][2]["reasoningContent"]["reasoningText"]["text"]
    assert 200 == ask(bedrock, history).status_code
    assert [] == bedrock.lost()


def redacted_of(host):
    return one_step(host, think(), sealed(), call())[1]["content"][1]["reasoningContent"]["redactedContent"]


def test_redacted_content_holds_the_text_of_claude_s_own_api_as_litellm_knows_it(bedrock):
    reasoning = pytest.importorskip("litellm.litellm_core_utils.prompt_templates.reasoning_utils")
    wire = redacted_of(bedrock)
    data = reasoning.native_redacted_thinking_data(wire)

    assert base64.b64decode(wire, validate=True).decode("ascii") == data
    assert reasoning.native_redacted_thinking_data(data) == data, "Claude's own value is not unwrapped once more"
    assert wire == reasoning.converse_redacted_content(data)


def test_redacted_content_may_be_bytes_that_are_no_text(strict_hosts):
    with pytest.raises(UnicodeDecodeError):
        base64.b64decode(redacted_of(strict_hosts("bedrock", redacted="bytes")), validate=True).decode()


def test_what_a_program_leaves_of_redacted_content_is_lost(bedrock):
    history = one_step(bedrock, think(), sealed(), call())
    assert 200 == ask(bedrock, history).status_code
    assert [] == bedrock.lost()
    del history[1]["content"][1]
    assert MODIFIED == refusal(bedrock, history).removeprefix(RETURNED)
    assert 1 == len(bedrock.lost())


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": "edited"}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": "bWFkZSB1cA=="}, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ({"signature": ...}, "messages.1.content.0.thinking.signature: Field required"),
        ({"signature": ""}, "messages.1.content.0.thinking.signature: Field required"),
    ],
)
def test_a_block_that_is_not_as_it_was_signed_is_refused_in_claude_s_words(bedrock, fields, text):
    history = one_step(bedrock)

    assert RETURNED + text == refusal(bedrock, changed(history, 0, **fields))
    assert 200 == ask(bedrock, history).status_code


def test_redacted_content_of_another_is_refused(bedrock):
    history = one_step(bedrock, think(), sealed(), call())
    other = copy.deepcopy(history)
    other[1]["content"][1]["reasoningContent"]["redactedContent"] = base64.b64encode(b"made up").decode()

    assert RETURNED + "messages.1.content.1: Invalid `data` in `redacted_thinking` block" == refusal(bedrock, other)
    assert 200 == ask(bedrock, history).status_code


@pytest.mark.leaks(reason="a block of one Bedrock host is sent to another on purpose")
def test_two_bedrock_hosts_do_not_open_each_other_s_signatures(strict_hosts):
    first, second = strict_hosts("bedrock"), strict_hosts("bedrock")
    history = one_step(first, think(), sealed(), call())

    assert RETURNED + "messages.1.content.0: Invalid `signature` in `thinking` block" == refusal(second, history)
    del history[1]["content"][0]
    assert RETURNED + "messages.1.content.0: Invalid `data` in `redacted_thinking` block" == refusal(second, history)
    assert 4 == len({f.word for f in foreign_bytes([first, second])}), (
        "a canary, a signature, and the front of what is sealed: as text, and as the bytes in JSON"
    )


@pytest.mark.parametrize("wrap", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "urlsafe"])
@pytest.mark.leaks(reason="sealed bytes are wrapped once more and sent to another host on purpose")
def test_what_is_wrapped_in_base64_once_more_is_found_all_the_same(strict_hosts, wrap):
    first, second = strict_hosts("bedrock"), strict_hosts("unknown")
    sent = one_step(first, think(), sealed(), call())[1]["content"]
    words = [sent[0]["reasoningContent"]["reasoningText"]["text"], sent[1]["reasoningContent"]["redactedContent"]]
    for shift in range(3):
        ask(second, [{"role": "user", "content": wrap(b" " * shift + word.encode()).decode()} for word in words])

    assert [0, 0, 1, 1, 2, 2] == sorted(f.request for f in foreign_bytes([first, second]) if f.at is second)


@pytest.mark.leaks(reason="sealed bytes are written out and sent to another host on purpose")
def test_bytes_that_are_written_out_are_found_all_the_same(strict_hosts):
    first, second = strict_hosts("bedrock"), strict_hosts("unknown")
    sent = one_step(first, think("t"), sealed(), call())[1]["content"][1]["reasoningContent"]["redactedContent"]
    data = base64.b64decode(sent)
    for text in (str(data), data.decode("latin-1"), base64.b64encode(b"x" + data).decode()):
        ask(second, [{"role": "user", "content": text}])

    assert {0, 1, 2} == {f.request for f in foreign_bytes([first, second])}


def test_signatures_stay_valid_over_a_reset(bedrock):
    history = one_step(bedrock)
    bedrock.reset()

    assert 200 == ask(bedrock, history).status_code


def test_manual_thinking_wants_a_tool_turn_to_begin_with_reasoning(bedrock):
    history = one_step(bedrock, think(), Text("Let me see."), call())
    del history[1]["content"][0]

    assert refusal(bedrock, history).startswith(
        RETURNED
        + "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final"
    )
    assert 200 == ask(bedrock, history, **with_thinking(ADAPTIVE)).status_code, "adaptive thinking has no such rule"
    assert 200 == ask(bedrock, history, **with_thinking(None)).status_code
    answer = {"role": "assistant", "content": [{"text": "3C."}]}
    assert 200 == ask(bedrock, [*history, answer, USER]).status_code, "nor have turns that are over"


def test_a_run_of_blocks_may_not_be_cut_or_put_in_another_order(bedrock):
    history = one_step(bedrock, think(), sealed(), call())
    swapped, cut = copy.deepcopy(history), copy.deepcopy(history)
    swapped[1]["content"][:2] = reversed(swapped[1]["content"][:2])
    del cut[1]["content"][1]

    assert RETURNED + MODIFIED == refusal(bedrock, swapped)
    assert RETURNED + MODIFIED == refusal(bedrock, cut)


def test_a_model_that_binds_blocks_to_their_prefix_sees_a_changed_one(bedrock):
    more = {"model": BINDING_MODEL, **with_thinking(ADAPTIVE)}
    history = one_step(bedrock, **more)
    other = [{"role": "user", "content": "another question"}, *history[1:]]

    assert 200 == ask(bedrock, history, **more).status_code
    assert RETURNED + BOUND == refusal(bedrock, other, **more)
    drop = with_thinking(
        ADAPTIVE | {"block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        anthropic_beta=["thinking-binding-controls-2026-08-01"],
    )
    assert 200 == ask(bedrock, other, **{**more, **drop}).status_code


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"toolConfig": {"tools": BEDROCK_TOOLS, "toolChoice": {"any": {}}}}, "Thinking may not be enabled when tool_choice forces tool use."),
        ({"inferenceConfig": {"maxTokens": 1024}}, BUDGET),
        (
            with_thinking(MANUAL | {"budget_tokens": 512}),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (
            with_thinking(None, context_management={"edits": [{"type": "clear_thinking_20251015"}]}),
            "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
        ),
    ],
)  # fmt: skip
def test_what_thinking_does_not_go_with_is_refused_in_claude_s_words(bedrock, more, text):
    assert RETURNED + text == refusal(bedrock, [USER], **more)


def test_without_a_limit_of_tokens_the_model_s_own_is_taken(bedrock):
    assert 200 == ask(bedrock, [USER], inferenceConfig=None).status_code


def test_an_answer_may_not_be_begun_for_a_model_that_thinks(bedrock):
    assert RETURNED + (
        "This model does not support assistant message prefill. The conversation must end with a user message."
    ) == refusal(bedrock, [USER, {"role": "assistant", "content": [{"text": "It"}]}])


def test_claude_thinks_only_when_it_is_asked_to(bedrock):
    history = one_step(bedrock, call(), **with_thinking(None))
    _, last = loop(bedrock, history, **with_thinking(None))

    assert 200 == last.status_code
    assert {} == dict(bedrock.issued)


# The other families ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [GPT_OSS, NOVA_2, "deepseek.v3-v1:0", "minimax.minimax-m2", "moonshot.kimi-k2-thinking"]
)
def test_some_models_take_their_reasoning_back_without_a_signature(bedrock, model):
    history, last = loop(bedrock, model=model, additionalModelRequestFields=None)

    assert (200, []) == (last.status_code, bedrock.refusals)
    assert {"reasoningText": {"text"}} == {
        kind: set(said) for block in history[1]["content"] for kind, said in block.get("reasoningContent", {}).items()
    }
    assert [] == bedrock.lost()
    assert NO_SIGNATURE == refusal(bedrock, [*changed(history, 0, signature=""), USER], model=model)


@pytest.mark.parametrize("model", [R1, NOVA, UNLISTED])
def test_other_models_take_no_reasoning_and_no_signature(bedrock, model):
    history = one_step(bedrock, think("t"), call(), model=R1, additionalModelRequestFields=None)

    assert NO_REASONING == refusal(bedrock, history, model=model)
    assert NO_SIGNATURE == refusal(bedrock, changed(history, 0, signature="s"), model=model)
    del history[1]["content"][0]
    assert 200 == ask(bedrock, history, model=model).status_code


@pytest.mark.leaks(reason="Claude's reasoning is sent to another vendor at the same host on purpose")
def test_claude_s_reasoning_is_foreign_to_the_other_vendors_at_the_same_host(bedrock):
    history = one_step(bedrock, think(), sealed(), call())

    assert NO_SIGNATURE == refusal(bedrock, history, model=GPT_OSS)
    del history[1]["content"][0]
    assert NO_REASONING == refusal(bedrock, history, model=GPT_OSS)
    assert {1, 2} == {f.request for f in foreign_bytes([bedrock])}


def test_a_region_in_front_of_the_model_makes_no_difference(bedrock):
    history = one_step(bedrock)

    assert 200 == ask(bedrock, history, model=bedrock.model.replace("us.", "eu.")).status_code
    assert [] == foreign_bytes([bedrock])


@pytest.mark.parametrize(
    ("arn", "status"),
    [
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", 200),
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0", 400),
    ],
)
@pytest.mark.leaks(reason="Claude's reasoning is sent to Nova on purpose")
def test_a_profile_s_address_stands_for_its_model_and_one_without_a_name_for_claude(bedrock, arn, status):
    history = one_step(bedrock)

    assert status == ask(bedrock, history, model=arn).status_code
    assert (status == 200) is (foreign_bytes([bedrock]) == [])


def test_nova_1_thinks_in_its_text_and_takes_that_back(bedrock):
    for stream in (False, True):
        bedrock.reset(script=[Reply((think("hm"), call()))])
        message = message_of(
            bedrock, ask(bedrock, [USER], model=NOVA, additionalModelRequestFields=None, stream=stream)
        )

        assert {"text": "<thinking>hm</thinking>"} == message["content"][0]
        assert 200 == ask(bedrock, [USER, message, *results_of(bedrock, message)], model=NOVA).status_code


# The shape of a conversation ------------------------------------------------------------------------------------------


def test_reasoning_does_not_stand_in_a_user_s_message(bedrock):
    history = one_step(bedrock)
    history[2]["content"].append(history[1]["content"][0])

    assert NO_REASONING == refusal(bedrock, history)


def test_a_cache_point_does_not_stand_right_behind_reasoning(bedrock):
    history = one_step(bedrock)
    history[1]["content"].insert(1, {"cachePoint": {"type": "default"}})

    assert (
        "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again."
        == refusal(bedrock, history)
    )
    history[1]["content"].append(history[1]["content"].pop(1))
    assert 200 == ask(bedrock, history).status_code


def test_calls_and_results_go_in_pairs(bedrock):
    history = one_step(bedrock)
    made = history[1]["content"][1]["toolUse"]["toolUseId"]

    assert f"Expected toolResult blocks at messages.2.content for the following Ids: {made}" == refusal(
        bedrock, [*history[:2], USER]
    )
    assert (
        "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn."
        == refusal(bedrock, history[2:])
    )
    assert "The toolConfig field must be defined when using toolUse and toolResult content blocks." == refusal(
        bedrock, history, toolConfig=None
    )


def test_messages_have_content_and_the_roles_take_turns(bedrock):
    empty, blank = {"role": "assistant", "content": []}, {"role": "assistant", "content": [{"text": " "}]}

    assert (
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content field and "
        "try again." == refusal(bedrock, [USER, empty, USER])
    )
    assert (
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text field, and try again."
        == refusal(bedrock, [USER, blank, USER])
    )
    assert refusal(bedrock, [USER, {"role": "assistant", "content": [{"thinking": {}}]}, USER]).startswith(
        "The ContentBlock object at messages.1.content.0 must set one of the following keys: text, image, document, "
    )
    assert refusal(bedrock, [USER, USER]).startswith(
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user "
    )
    assert refusal(bedrock, [{"role": "assistant", "content": "x"}, USER]).startswith(
        "A conversation must start with a user message. Try again with a conversation that starts with a user message."
    )
    assert "The messages field is required. Add messages and try again." == refusal(bedrock, [])


def test_a_host_that_is_out_of_order_says_so_in_aws_s_words(bedrock):
    bedrock.script = [Reply((), status=503)]

    assert {
        "__type": "ServiceUnavailableException",
        "message": "Bedrock is unable to process your request.",
    } == ask(bedrock, [USER]).json()


# The stream and the searches ------------------------------------------------------------------------------------------


def test_the_binary_stream_opens_calls_alone_and_brings_the_signature_last_and_redacted_bytes_at_once(bedrock):
    bedrock.script = [Reply((think(), sealed(), think(""), Text("Let me see."), call()))]
    seen = list(frames(ask(bedrock, [USER], stream=True).content))
    deltas = [payload for kind, payload in seen if kind == "contentBlockDelta"]
    kinds = [
        [next(iter(next(iter(d["delta"].values())))) for d in deltas if d["contentBlockIndex"] == index]
        for index in range(3)
    ]

    assert [["text"] * 3 + ["signature"], ["redactedContent"], ["signature"]] == kinds
    assert [4] == [payload["contentBlockIndex"] for kind, payload in seen if kind == "contentBlockStart"]
    assert ["messageStart", "messageStop", "metadata"] == [kind for kind, _ in seen if not kind.startswith("content")]
    assert [0, 1, 2, 3, 4] == [payload["contentBlockIndex"] for kind, payload in seen if kind == "contentBlockStop"]


def test_a_prefix_that_changed_within_a_turn_is_found(bedrock):
    history, _ = loop(bedrock, **with_thinking(ADAPTIVE))
    assert [] == moved_prefixes([bedrock])
    edited = copy.deepcopy(history[:-1])
    del edited[1]["content"][0]
    ask(bedrock, edited, **with_thinking(ADAPTIVE))

    assert [(1, 3, 1)] == [(m.earlier, m.later, m.message) for m in moved_prefixes([bedrock])]
    assert 2 == len(bedrock.lost()), "the text and the signature"
