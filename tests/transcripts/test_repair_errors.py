"""Hosts' own words, as the evidence quotes them, and what each of them allows; words that are no complaint about reasoning.

The texts stand in `repair_cases`, apart from the rule files.
"""

import json
from copy import deepcopy

import pytest

from reasoning_replay import Origin, Policy, adopt
from reasoning_replay.hosts import builtin
from reasoning_replay.transcripts import repair
from repair_cases import (
    CALL,
    FORCED,
    MANUAL,
    OFF,
    PASSED,
    SAID,
    TOOLS,
    asked,
    chat,
    claude,
    converse,
    gemini,
    items,
    own,
    rows_of,
    user,
)


@pytest.mark.parametrize(
    ("host", "dialect", "model", "status", "text", "history", "request_", "expected"),
    SAID,
    ids=[f"{row[0]}-{row[1]}-{number}" for number, row in enumerate(SAID)],
)
def test_each_of_a_hosts_words_allows_its_smallest_change(
    host, dialect, model, status, text, history, request_, expected
):
    history = own(history, host, dialect, model)
    before, request_before = deepcopy(history), deepcopy(request_)
    done = repair(history, error=(status, text), **asked(host, dialect, model, request_))
    assert sorted(expected, key=str) == sorted(rows_of(done), key=str)
    assert done.changed
    assert (before, request_before) == (history, request_)
    touched = {row for row, _, _ in expected}
    assert all(
        done.messages[done.places.index(row)] is history[row] for row in range(len(history)) if row not in touched
    )
    if OFF in touched:
        assert done.messages is history
        assert done.request != request_
    else:
        assert done.request is request_


def test_every_error_of_every_host_file_is_among_those_words():
    import re

    for file in builtin():
        texts = [
            (row[3], row[4] if isinstance(row[4], str) else json.dumps(row[4])) for row in SAID if row[0] == file.id
        ]
        shown = {
            next(
                (one.match for one in file.errors if one.status in (None, status) and re.search(one.match, text)), None
            )
            for status, text in texts
        }
        assert [] == [one.match for one in file.errors if one.match not in shown], file.id


def test_a_forced_choice_that_a_model_never_takes_is_the_callers_to_change():
    """The remedy would be another tool_choice, which is not ours to choose."""
    text = 'tool_choice: type "tool" and "any" are not supported for this model.'
    done = repair(claude(), error=(400, text), **asked("anthropic", "anthropic", "claude-opus-5-5", FORCED))
    assert not done.changed


# Words that are no complaint about reasoning --------------------------------------------------------------------------

COMMON = [
    (429, "Rate limit reached for requests"), (401, "Incorrect API key provided: sk-****."), (403, "Your organization must be verified to use this model."),
    (404, "The model `x` does not exist or you do not have access to it."), (500, "The server had an error while processing your request."),
    (503, "Service unavailable"), (529, "Overloaded"), (402, "Insufficient Balance"), (413, "Request exceeds the maximum size"),
    (400, "We could not parse the JSON body of your request."), (400, "Invalid 'tools[0].function.name': string does not match pattern."),
    (400, "Invalid image data"), (408, "Request timed out."), (409, "Conflict"), (422, "Unprocessable Entity"), (400, "Unsupported parameter: 'temperature'"),
    (400, "The response was filtered due to the prompt triggering content management policy."), (400, "Invalid value for 'stop'"),
    (400, "Failed to call a function. Please adjust your prompt."), (400, "seed must be an integer"),
]  # fmt: skip
UNRELATED = {
    "chat": [
        *COMMON,
        (400, "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens."),
        (400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
        (400, "tools.0.function.strict: Extra inputs are not permitted"), (400, "Extra inputs are not permitted, field: 'messages[3].tool_name'"),
        (400, "Unrecognized request argument supplied: service_tier"), (422, '{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}'),
        (400, "property 'parallel_tool_calls' is unsupported"), (400, "Unknown parameter: 'messages[2].name'."),
    ],
    "anthropic": [
        *COMMON,
        (400, "prompt is too long: 210000 tokens > 200000 maximum"), (400, "messages: text content blocks must be non-empty"),
        (400, "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."),
        (400, "tools.0.custom.input_schema.type: Field required"), (400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens"),
        (400, "messages.1.content.0.text.cache_control: Extra inputs are not permitted"), (400, "Your credit balance is too low to access the Anthropic API."),
        (400, "messages.0.content.1.image.source.base64.data: invalid base64 data"), (400, "adaptive thinking is not supported on this model"),
        (400, '"thinking.type.disabled" is not supported for this model'),
    ],
    "responses": [
        *COMMON,
        (400, "No tool output found for function call call_1."), (400, "Previous response with id 'resp_1' not found."),
        (400, "Unknown parameter: 'include[0]'."), (400, "Input exceeds the context window of this model."),
        (400, "Invalid 'input[6].id': ''. Expected an ID that contains letters"), (400, "Encrypted content cannot be requested for persisted responses"),
    ],
    "gemini": [
        *COMMON,
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), (400, "API key not valid. Please pass a valid API key."),
        (400, "Please ensure that function call turn comes immediately after a user turn or after a function response turn."),
        (400, "Invalid value at 'contents[1].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"x\""), (400, "Request contains an invalid argument."),
        (400, 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'), (400, "Thinking level is not supported for this model."),
    ],
    "bedrock": [
        *COMMON,
        (400, "Input is too long for requested model."), (400, "The toolConfig field must be defined when using toolUse and toolResult content blocks."),
        (403, "You don't have access to the model with the specified model ID."), (400, "A conversation must alternate between user and assistant roles."),
        (400, "Malformed input request: #: required key [messages] not found"), (400, "The text field in the ContentBlock object at messages.1.content.0 is blank."),
    ],
}  # fmt: skip
HISTORIES = {"chat": chat(), "anthropic": claude(), "responses": items(), "gemini": gemini(), "bedrock": converse()}
SPEAKS = {
    "chat": ["deepseek", "moonshot", "groq", "cerebras", "mistral", "fireworks", "openrouter", "azure", "openai", "databricks", "sambanova", "mimo", "nvidia"],
    "anthropic": ["anthropic", "vertex", "deepseek", "moonshot", "minimax"],
    "responses": ["openai", "azure", "xai", "chatgpt", "vllm", "llamacpp", "openrouter"],
    "gemini": ["gemini", "vertex"],
    "bedrock": ["bedrock"],
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "host"), [(dialect, host) for dialect, hosts in SPEAKS.items() for host in hosts])
def test_an_unrelated_refusal_changes_nothing(dialect, host):
    history, request = own(HISTORIES[dialect], host, dialect, "m"), {**MANUAL, **TOOLS}
    about = asked(host, dialect, "m", request)
    assert len(UNRELATED[dialect]) >= 20
    for status, text in UNRELATED[dialect]:
        for error in ((status, text), text, {"error": {"message": text, "code": status}}):
            done = repair(history, error=error, **about)
            assert (done.messages is history, done.request is request, done.changed, done.means) == (
                True,
                True,
                False,
                None,
            ), text
            assert () == done.report.rows


def test_a_status_of_another_kind_is_another_refusal():
    history = own(chat(None), "deepseek", "chat", "deepseek-v4-pro")
    done = repair(history, error=(500, PASSED), **asked("deepseek", "chat", "deepseek-v4-pro", TOOLS))
    assert not done.changed
    assert repair(history, error=PASSED, **asked("deepseek", "chat", "deepseek-v4-pro", TOOLS)).changed


def test_a_host_that_nobody_described_says_nothing_that_is_understood():
    history = chat()
    done = repair(history, host="https://gw.corp.example/v1", model="m", error=PASSED)
    assert done.messages is history
    alias = Policy(aliases={"gw.corp.example": "deepseek"})
    assert repair(
        chat(None),
        host="https://gw.corp.example/v1",
        model="deepseek-v4-pro",
        request=TOOLS,
        policy=alias,
        error=PASSED,
    ).changed


# What holds an error --------------------------------------------------------------------------------------------------

BODY = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
    },
}


def _response(module, body, status):
    return module.Response(status, json=body, request=module.Request("POST", "http://x"))


def openais():
    openai, httpx = pytest.importorskip("openai"), pytest.importorskip("httpx")
    body = {"error": {**BODY["error"], "code": None}}
    return openai.BadRequestError(f"Error code: 400 - {body}", response=_response(httpx, body, 400), body=body["error"])


def anthropics():
    anthropic, httpx = pytest.importorskip("anthropic"), pytest.importorskip("httpx")
    return anthropic.BadRequestError(f"Error code: 400 - {BODY}", response=_response(httpx, BODY, 400), body=BODY)


def litellms():
    litellm = pytest.importorskip("litellm")
    return litellm.BadRequestError(
        message=f"AnthropicException - {json.dumps(BODY)}", model="m", llm_provider="anthropic"
    )


def httpxs():
    httpx = pytest.importorskip("httpx")
    response = _response(httpx, BODY, 400)
    return httpx.HTTPStatusError("400 Bad Request", request=response.request, response=response)


def botos():
    botocore = pytest.importorskip("botocore.exceptions")
    said = {
        "Error": {"Code": "ValidationException", "Message": BODY["error"]["message"]},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return botocore.ClientError(said, "Converse")


def googles():
    errors = pytest.importorskip("google.genai.errors")
    return errors.ClientError(
        400, {"error": {"code": 400, "message": BODY["error"]["message"], "status": "INVALID_ARGUMENT"}}
    )


def raised(error, cause=None):
    raise error from cause


def wrapped():
    """A framework's own error, raised from the SDK's."""
    try:
        raised(ValueError("the call failed"), anthropics())
    except ValueError as error:
        return error


@pytest.mark.parametrize("make", [openais, anthropics, litellms, httpxs, botos, googles, wrapped])
def test_an_exception_is_read_as_the_text_that_it_holds(make):
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    history = own(claude(), "anthropic", "anthropic", "claude-sonnet-4-5")
    done = repair(history, error=make(), **about)
    assert [(1, "drop", "sealed")] == rows_of(done)


def raised_meanwhile():
    try:
        raised(anthropics())
    except Exception:  # noqa: BLE001 - whichever it is
        raise ValueError("rate limited")  # noqa: B904 - on purpose


def test_what_was_in_the_air_when_an_error_was_raised_is_another_matter():
    with pytest.raises(ValueError, match="rate") as caught:
        raised_meanwhile()
    done = repair(claude(), error=caught.value, **asked("anthropic", "anthropic", "claude-sonnet-4-5"))
    assert not done.changed


@pytest.mark.parametrize("error", [7, object(), 1.5])
def test_an_error_of_another_type_is_an_error(error):
    with pytest.raises(TypeError, match=r"error: a .*; allowed: the host's text"):
        repair(claude(), error=error, **asked("anthropic", "anthropic", "claude-sonnet-4-5"))


def test_no_word_of_an_error_is_shown():
    error = (400, "messages.1.content.0: Invalid `signature` in `thinking` block: CANARY-secret")
    done = repair(own(claude(), "anthropic", "anthropic", "m"), error=error, **asked("anthropic", "anthropic", "m"))
    assert done.changed
    assert "CANARY" not in f"{done!r} {done.report} {done.report.to_dict()}"


# From the wire back to the caller's messages --------------------------------------------------------------------------


def two_steps(form):
    """A system message, a message that the plan leaves out, and two replies of Claude's, in chat's or LangChain's words."""

    def block(at):
        return {"type": "thinking", "thinking": "t", "signature": f"S{at}"}

    rows = [
        {"role": "system", "content": "s"}, user(), {"role": "assistant", "content": "", "thinking_blocks": [{**block(0), "signature": "foreign"}]},
        {"role": "assistant", "content": "", "tool_calls": [CALL], "thinking_blocks": [block(1), block(2)]},
        {"role": "tool", "tool_call_id": "c1", "content": "3C"}, {"role": "tool", "tool_call_id": "c2", "content": "4C"},
        {"role": "assistant", "content": "x", "thinking_blocks": [block(3)]}, user(),
    ]  # fmt: skip
    rows[3]["tool_calls"] = [CALL, {**CALL, "id": "c2"}]
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    origin = Origin(about["host"], dialect="anthropic", model="claude-sonnet-4-5")
    adopted = [row if at == 2 else adopt([row], origin, form="litellm")[0] for at, row in enumerate(rows)]
    if form == "litellm":
        return adopted, {**about, "form": form}
    messages = pytest.importorskip("langchain_core.messages")
    said = [
        messages.SystemMessage("s"), messages.HumanMessage("x"), messages.AIMessage([{**block(0), "signature": "foreign"}]),
        messages.AIMessage([block(1), block(2)], tool_calls=[{"name": "f", "args": {}, "id": each} for each in ("c1", "c2")]),
        messages.ToolMessage("3C", tool_call_id="c1"), messages.ToolMessage("4C", tool_call_id="c2"),
        messages.AIMessage([block(3), {"type": "text", "text": "x"}]), messages.HumanMessage("x"),
    ]  # fmt: skip
    return [each if at == 2 else adopt([each], origin, form="langchain")[0] for at, each in enumerate(said)], {
        **about,
        "form": form,
    }


@pytest.mark.parametrize("form", ["litellm", "langchain"])
@pytest.mark.parametrize(
    ("place", "row", "size"),
    [("1.content.0", 3, 3), ("1.content.1", 3, 3), ("3.content.0", 6, 3), ("9.content.0", None, 0)],
)
def test_a_place_on_the_wire_is_found_in_messages_of_another_form(form, place, row, size):
    """System messages go apart, the foreign one is left out, results in a row are one message of the user's."""
    history, about = two_steps(form)
    done = repair(history, error=(400, f"messages.{place}: Invalid `signature` in `thinking` block"), **about)
    touched = {each.index for each in done.report.rows}
    assert ({row} if row is not None else {2, 3, 6}) == touched
    if row == 3:  # one block of two
        (line,) = done.report.rows
        assert size == line.bytes


def test_in_the_latest_reply_the_whole_run_goes_and_in_an_earlier_one_the_block_that_is_named():
    """ "Blocks in the latest assistant message cannot be modified"."""
    one, two = ({"type": "thinking", "thinking": "t", "signature": each} for each in ("S1", "S2"))
    said = {"role": "assistant", "content": [one, two, {"type": "text", "text": "x"}]}
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    error = (400, "messages.1.content.0: Invalid `signature` in `thinking` block")
    latest = repair(own([user(), said, user()], "anthropic", "anthropic", "claude-sonnet-4-5"), error=error, **about)
    assert ["text"] == [block["type"] for block in latest.messages[1]["content"]]
    earlier = repair(
        own([user(), said, user(), said, user()], "anthropic", "anthropic", "claude-sonnet-4-5"), error=error, **about
    )
    assert ["S2", None] == [block.get("signature") for block in earlier.messages[1]["content"]]


def test_a_place_that_is_counted_without_what_the_plan_left_out_is_found():
    """The first reply is another's: the plan leaves it out, and the host counts one message less."""
    foreign = {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "S0"}]}
    rows = own(claude(), "anthropic", "anthropic", "claude-sonnet-4-5")
    history = [rows[0], foreign, *rows[1:]]
    done = repair(
        history,
        error=(400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        **asked("anthropic", "anthropic", "claude-sonnet-4-5"),
    )
    assert [(2, "drop", "sealed")] == rows_of(done)
