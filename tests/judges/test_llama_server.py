"""A real llama.cpp server: the prompt that its model sees of what is sent to chat, /v1/messages and /v1/responses.

Its template shows `reasoning_content` after the last user message only, as the Qwen3 family's does.
"""

import httpx
import pytest

pytest.importorskip("xllamacpp")

from judges.conversations import EARLIER, RUNNING, TOOLS, WORDS, conversation, seen, sent, without
from open_items import LLAMA_REFUSES, TAKEN

MODEL = "scripted-tool-loop"
HINTS = [None, "llamacpp"]
"""Without a hint the server is an unknown host: the running turn alone; with it every turn, and the template decides."""


def post(server, path, body):
    """The prompt that the model saw of a request."""
    named = {"model": MODEL, "max_tokens": 32, "max_output_tokens": 32, "temperature": 0, **body}
    reply = httpx.post(f"http://{server.name}{path}", json=named, timeout=60)
    assert 200 == reply.status_code, reply.text
    return server.last_prompt()


# Chat -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hint", HINTS)
def test_chat_shows_the_running_turn_and_what_is_left_out_would_not_have_changed_one_byte(llama, hint):
    messages = sent(conversation(), llama.url, MODEL, hint=hint)
    assert hint is not None or not any(word in str(messages) for word in EARLIER)
    assert list(RUNNING) == seen(llama.apply_template(messages, TOOLS))
    assert llama.apply_template(conversation(), TOOLS) == llama.apply_template(messages, TOOLS)
    assert list(RUNNING) == seen(post(llama, "/v1/chat/completions", {"messages": messages, "tools": TOOLS}))


@pytest.mark.parametrize("hint", HINTS)
def test_chat_shows_nothing_of_another_host_and_the_prompt_is_the_one_without(llama, hint):
    messages = sent(conversation(), llama.url, MODEL, hint=hint, foreign=True)
    bare = without(conversation(), *WORDS)
    assert llama.apply_template(bare, TOOLS) == llama.apply_template(messages, TOOLS)
    assert [] == seen(post(llama, "/v1/chat/completions", {"messages": messages, "tools": TOOLS}))


# /v1/messages ---------------------------------------------------------------------------------------------------------

CLAUDE_TOOLS = [{"name": "get_weather", "description": "", "input_schema": TOOLS[0]["function"]["parameters"]}]


def blocks(signature=""):
    """The conversation in Anthropic's form; the server signs with an empty text."""
    out = []
    for message in conversation():
        if message["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            out.append({"role": "user", "content": [result]})
        elif message["role"] == "user":
            out.append(message)
        else:
            thought = {"type": "thinking", "thinking": message["reasoning_content"], "signature": signature}
            said = [{"type": "text", "text": message["content"]}] if message["content"] else []
            calls = [
                {"type": "tool_use", "id": call["id"], "name": "get_weather", "input": {"city": "Oslo"}}
                for call in message.get("tool_calls", ())
            ]
            out.append({"role": "assistant", "content": [thought, *said, *calls]})
    return out


@pytest.mark.parametrize("hint", HINTS)
def test_messages_shows_the_running_turn_of_its_own(llama, hint):
    messages = sent(blocks(), llama.url, MODEL, dialect="anthropic", hint=hint)
    whole = post(llama, "/v1/messages", {"messages": blocks(), "tools": CLAUDE_TOOLS})
    prompt = post(llama, "/v1/messages", {"messages": messages, "tools": CLAUDE_TOOLS})
    assert list(RUNNING) == seen(prompt)
    assert whole == prompt


def test_messages_would_show_claudes_thinking_and_is_sent_none(llama):
    stored = blocks("c2lnbmVk")
    assert list(RUNNING) == seen(post(llama, "/v1/messages", {"messages": stored, "tools": CLAUDE_TOOLS}))
    messages = sent(stored, llama.url, MODEL, dialect="anthropic", hint="llamacpp", foreign=True)
    assert [] == seen(post(llama, "/v1/messages", {"messages": messages, "tools": CLAUDE_TOOLS}))


# /v1/responses --------------------------------------------------------------------------------------------------------

ITEM_TOOLS = [{"type": "function", **TOOLS[0]["function"]}]


def items(**sealed):
    """The conversation as items; the server wants a list of content in its reasoning."""
    out = []
    for at, message in enumerate(conversation()):
        if message["role"] == "user":
            out.append({"role": "user", "content": message["content"]})
        elif message["role"] == "tool":
            call_id = message["tool_call_id"]
            out.append({"type": "function_call_output", "call_id": call_id, "output": message["content"]})
        else:
            text = {"type": "reasoning_text", "text": message["reasoning_content"]}
            out.append({"type": "reasoning", "id": f"rs_{at}", "summary": [], "content": [text], **sealed})
            out += [
                {"type": "function_call", "call_id": call["id"], **call["function"]}
                for call in message.get("tool_calls", ())
            ]
            if message["content"]:
                said = [{"type": "output_text", "text": message["content"], "annotations": []}]
                out.append({"type": "message", "role": "assistant", "status": "completed", "content": said})
    return out


@pytest.mark.parametrize("hint", HINTS)
def test_responses_shows_the_running_turn_of_its_own(llama, hint):
    sent_items = sent(items(), llama.url, MODEL, dialect="responses", hint=hint)
    whole = post(llama, "/v1/responses", {"input": items(), "tools": ITEM_TOOLS})
    prompt = post(llama, "/v1/responses", {"input": sent_items, "tools": ITEM_TOOLS})
    assert list(RUNNING) == seen(prompt)
    assert whole == prompt


def test_responses_refuses_openais_sealed_items_and_is_sent_none(llama):
    openai = [
        {**item, "content": None, "encrypted_content": "gAAAAsealed"} if item.get("type") == "reasoning" else item
        for item in items()
    ]
    reply = httpx.post(f"{llama.url}/responses", json={"model": MODEL, "input": openai}, timeout=60)
    assert 400 == reply.status_code
    sent_items = sent(openai, llama.url, MODEL, dialect="responses", hint="llamacpp", foreign=True)
    assert [] == [item for item in sent_items if item.get("type") == "reasoning"]
    assert [] == seen(post(llama, "/v1/responses", {"input": sent_items, "tools": ITEM_TOOLS}))


# The strict host that stands in for it --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TAKEN, *LLAMA_REFUSES])
def test_the_strict_host_says_of_items_what_the_real_server_says(llama, strict_hosts, name):
    host = strict_hosts("llamacpp-responses")
    given = [{"role": "user", "content": "q"}, *(TAKEN.get(name) or LLAMA_REFUSES[name][0])]
    named = {"model": MODEL, "input": given, "tools": ITEM_TOOLS, "max_output_tokens": 16, "temperature": 0}
    real, strict = (httpx.post(f"{at.url}/responses", json=named, timeout=60, verify=False) for at in (llama, host))
    assert (real.status_code, real.json().get("error")) == (strict.status_code, strict.json().get("error"))
