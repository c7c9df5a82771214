"""Every refusal of the chat hosts: one history that is taken beside one that is refused, and the exact words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from wire_client import TOOLS, ask

USER = {"role": "user", "content": "q"}
CALL = [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]
STEP = {"role": "assistant", "content": "", "tool_calls": CALL}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3C"}
FINAL = {"role": "assistant", "content": "3C."}
MUST = "The `reasoning_content` in the thinking mode must be passed back to the API."
V32 = (
    "Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to "
    "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
)
KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"
R1 = (
    "The reasoning_content is an intermediate result for display purposes only and will not be included in the context for "
    "inference. Please remove the reasoning_content from your message to reduce network traffic."
)
OFF = {"thinking": {"type": "disabled"}}


def with_(message, **more):
    return {**message, **more}


def loop(**reasoning):
    """A user message, a step with a call, its result."""
    return [USER, with_(STEP, **reasoning), RESULT]


class Case(NamedTuple):
    sentence: str
    host: str
    messages: list
    text: str | None = None
    """None: taken."""
    more: Mapping = MappingProxyType({})
    options: Mapping = MappingProxyType({})


def groq(index, key, role="assistant", where=None):
    return (
        f"'messages.{index}' : for 'role:{role}' the following must be satisfied"
        f"[('{where or f'messages.{index}'}' : property '{key}' is unsupported)]"
    )


def cerebras(*places):
    return "\n".join(f"{place}: property '{place}' is unsupported" for place in places)


CASES = [
    # DeepSeek V4: its own package decides
    Case("own reasoning in the running turn", "deepseek", loop(reasoning_content="r")),
    Case("none in the running turn", "deepseek", loop(), MUST),
    Case("null is no reasoning", "deepseek", loop(reasoning_content=None), MUST),
    Case("the wrong key is no reasoning", "deepseek", loop(reasoning="r"), MUST),
    Case("an empty string is reasoning", "deepseek", loop(reasoning_content="")),
    Case("a blank is reasoning", "deepseek", loop(reasoning_content=" ")),
    Case("filler 'space': an empty string is not", "deepseek", loop(reasoning_content=""), MUST, {}, {"filler": "space"}),
    Case("filler 'space': a blank is", "deepseek", loop(reasoning_content=" "), None, {}, {"filler": "space"}),
    Case("filler 'empty': a blank is not", "deepseek", loop(reasoning_content=" "), MUST, {}, {"filler": "empty"}),
    Case("filler 'empty': an empty string is", "deepseek", loop(reasoning_content=""), None, {}, {"filler": "empty"}),
    Case("the filler mode leaves text alone", "deepseek", loop(reasoning_content="r"), None, {}, {"filler": "empty"}),
    Case("filler modes rest while thinking is off", "deepseek", loop(), None, OFF, {"filler": "empty"}),
    Case("earlier turns are not checked", "deepseek", [*loop(), FINAL, USER]),
    Case("the check does not ask for tools", "deepseek", loop(), MUST, {"tools": None}),
    Case("thinking off needs none", "deepseek", loop(), None, OFF),
    Case("effort none needs none", "deepseek", loop(), None, {"reasoning_effort": "none"}),
    Case("unknown keys are ignored", "deepseek", loop(reasoning_content="r", provider_specific_fields={}, thinking_blocks=[])),
    Case("nothing said and nothing called", "deepseek", [USER, {"role": "assistant", "content": None, "reasoning_content": "r"}, USER],
         "Invalid assistant message: content or tool_calls must be set"),
    Case("an empty content is content", "deepseek", [USER, {"role": "assistant", "content": "", "reasoning_content": "r"}, USER]),
    Case("calls without results", "deepseek", [USER, with_(STEP, reasoning_content="r"), USER],
         "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
         "(insufficient tool messages following tool_calls message)"),
    Case("forced tools while thinking", "deepseek", [USER], "Thinking mode does not support this tool_choice", {"tool_choice": "required"}),
    Case("a foreign role", "deepseek", [{"role": "developer", "content": "x"}, USER],
         "Failed to deserialize the JSON body into the target type: unknown variant `developer`, expected one of `system`, "
         "`user`, `assistant`, `tool`, `latest_reminder`"),
    Case("a list as reasoning", "deepseek", loop(reasoning_content=["r"]),
         "Failed to deserialize the JSON body into the target type: invalid type: sequence, expected a string"),
    Case("our turn key", "deepseek", [with_(USER, turn=False)], "Unrecognized request argument supplied: messages[0].turn"),
    # DeepSeek V3.2
    Case("own reasoning in the running turn", "deepseek-v3.2", loop(reasoning_content="r")),
    Case("none in the running turn", "deepseek-v3.2", loop(), V32),
    Case("an empty string is reasoning", "deepseek-v3.2", loop(reasoning_content="")),
    Case("filler 'space'", "deepseek-v3.2", loop(reasoning_content=""), V32, {}, {"filler": "space"}),
    Case("earlier turns are not checked", "deepseek-v3.2", [*loop(), FINAL, USER]),
    Case("thinking off needs none", "deepseek-v3.2", loop(), None, OFF),
    # DeepSeek R1
    Case("no reasoning", "deepseek-r1", loop()),
    Case("any reasoning", "deepseek-r1", loop(reasoning_content="r"), R1),
    Case("an empty string too", "deepseek-r1", loop(reasoning_content=""), R1),
    # Moonshot
    Case("own reasoning on a call", "moonshot", loop(reasoning_content="r")),
    Case("none on a call", "moonshot", loop(), KIMI),
    Case("none on a call of an earlier turn", "moonshot", [*loop(), FINAL, USER], KIMI),
    Case("an answer needs none", "moonshot", [*loop(reasoning_content="r"), FINAL, USER]),
    Case("filler: an empty string", "moonshot", loop(reasoning_content="")),
    Case("filler: a blank", "moonshot", loop(reasoning_content=" ")),
    Case("filler 'space'", "moonshot", loop(reasoning_content=""), KIMI, {}, {"filler": "space"}),
    Case("thinking off needs none", "moonshot", loop(), None, OFF),
    Case("unknown keys are ignored", "moonshot", loop(reasoning_content="r", provider_specific_fields={})),
    # Groq
    Case("no reasoning", "groq", loop()),
    Case("its own key", "groq", loop(reasoning="r")),
    Case("reasoning_content", "groq", loop(reasoning_content="r"), groq(1, "reasoning_content")),
    Case("an empty reasoning_content", "groq", loop(reasoning_content=""), groq(1, "reasoning_content")),
    Case("LiteLLM's own fields", "groq", loop(provider_specific_fields={}), groq(1, "provider_specific_fields")),
    Case("our turn key", "groq", [with_(USER, turn=False)], groq(0, "turn", "user")),
    Case("a key on a call", "groq", [USER, with_(STEP, tool_calls=[with_(CALL[0], extra_content={})]), RESULT],
         groq(1, "extra_content", where="messages.1.tool_calls.0")),
    Case("a null of OpenAI's reply", "groq", loop(function_call=None, refusal=None)),
    Case("its own key on a model that does not reason", "groq", loop(reasoning="r"),
         "`messages[1].reasoning`: reasoning is not supported with this model", {"model": "llama-3.3-70b-versatile"}),
    Case("the same, empty", "groq", loop(reasoning=""),
         "`messages[1].reasoning`: reasoning is not supported with this model", {"model": "moonshotai/kimi-k2-instruct"}),
    Case("none on a model that does not reason", "groq", loop(), None, {"model": "llama-3.3-70b-versatile"}),
    # Cerebras
    Case("no reasoning", "cerebras", loop()),
    Case("its own key", "cerebras", loop(reasoning="r")),
    Case("its own key on GLM", "cerebras", loop(reasoning="r"), None, {"model": "zai-glm-4.7"}),
    Case("reasoning_content", "cerebras", loop(reasoning_content="r"), cerebras("messages.1.assistant.reasoning_content")),
    Case("every surplus key, one a line", "cerebras", [*loop(reasoning_content="r"), with_(FINAL, reasoning_content="r"), USER],
         cerebras("messages.1.assistant.reasoning_content", "messages.3.assistant.reasoning_content")),
    Case("our mark's place", "cerebras", loop(provider_specific_fields={}), cerebras("messages.1.assistant.provider_specific_fields")),
    Case("our turn key", "cerebras", [with_(USER, turn=False)], cerebras("messages.0.user.turn")),
    Case("its own key on a model that does not reason", "cerebras", loop(reasoning="r"), cerebras("messages.1.assistant.reasoning"),
         {"model": "gemma-4-31b"}),
    # A host without a law
    Case("anything", "unknown", loop(reasoning_content="r", reasoning="r", reasoning_details=[], thinking_blocks=[])),
    Case("our turn key", "unknown", [with_(USER, turn=True)], "Unrecognized request argument supplied: messages[0].turn"),
    Case("calls without results", "unknown", [USER, STEP, USER],
         "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
    Case("nothing said and nothing called", "unknown", [USER, {"role": "assistant", "content": None}, USER],
         "Invalid assistant message: content or tool_calls must be set"),
    Case("no messages", "unknown", [], "Invalid request: messages must be a non-empty array"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.host}: {c.sentence}")
def test_a_history_is_taken_or_refused_in_the_host_s_own_words(strict_hosts, case):
    host = strict_hosts(case.host, **case.options)
    response = ask(host, case.messages, **case.more)

    expected = ([], 200) if case.text is None else ([case.text], 400)
    assert expected == (host.refusals, response.status_code)
    assert response.status_code == host.last.status
    assert response.json() == host.last.reply


BODIES = {
    "deepseek": (
        loop(),
        {"error": {"message": MUST, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}},
    ),
    "deepseek-v3.2": (
        loop(),
        {"error": {"message": V32, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}},
    ),
    "moonshot": (loop(), {"error": {"message": KIMI, "type": "invalid_request_error"}}),
    "groq": (
        loop(reasoning_content="r"),
        {"error": {"message": groq(1, "reasoning_content"), "type": "invalid_request_error"}},
    ),
    "cerebras": (
        loop(reasoning_content="r"),
        {
            "message": cerebras("messages.1.assistant.reasoning_content"),
            "type": "invalid_request_error",
            "param": "validation_error",
            "code": "wrong_api_format",
        },
    ),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_error_body_has_the_host_s_own_shape_also_where_a_stream_was_asked_for(strict_hosts, name, stream):
    messages, body = BODIES[name]
    response = ask(strict_hosts(name), messages, stream=stream)

    assert (400, body) == (response.status_code, response.json())


def test_a_path_that_the_host_does_not_have_is_not_found(strict_hosts):
    import httpx

    host = strict_hosts("unknown")
    assert 404 == httpx.post(f"http://{host.name}/v1/models", json={"tools": TOOLS}, verify=False).status_code
    assert 400 == httpx.post(host.endpoint, content=b"{", verify=False).status_code
    assert ["Not Found: /v1/models", "We could not parse the JSON body of your request."] == host.refusals
