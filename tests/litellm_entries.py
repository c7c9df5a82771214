"""One way to say each kind of call of `litellm.responses` and `litellm.anthropic.messages`, for tests.

Replies are appended as a plain program does it: `items += response.output`, `{"role": "assistant", "content": reply["content"]}`.
A stream gives the last event's response, and the blocks that its bytes add up to.
"""

from functools import partial

import litellm

import litellm_calls
from litellm_calls import CITY, MANUAL, collected, run
from wire_claude import claude_blocks

TOOLS = [{"type": "function", "name": "get_weather", "description": "", "parameters": CITY}]
CLAUDE_TOOLS = [{"name": "get_weather", "description": "", "input_schema": CITY}]
PROVIDERS = {
    "openai-responses": "openai/",
    "azure-responses": "azure/",
    "xai-responses": "xai/",
    "anthropic": "anthropic/",
    "deepseek": "deepseek/",
    "moonshot": "moonshot/",
    "groq": "groq/",
    "cerebras": "cerebras/",
    "mistral": "mistral/",
    "unknown": "lm_studio/",
}
"""Strict host -> LiteLLM's prefix; the last ones speak chat alone, so that LiteLLM makes chat of a call."""
EXTRA = {"azure-responses": {"api_version": "2025-04-01-preview"}}
THINKS = {"anthropic": {"reasoning": {"effort": "low"}, "max_output_tokens": 8192}}
"""Strict host -> what a Responses call carries besides."""
QUESTION = {"role": "user", "content": "How is the weather?"}
SEALED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "CANARY-of-nobody"}],
    "encrypted_content": "Q0FOQVJZLW9mLW5vYm9keQ==",
}
CALLED = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
DONE = {"type": "function_call_output", "call_id": "call_1", "output": "3C"}
SEEN = {"type": "thinking", "thinking": "CANARY-of-nobody", "signature": "Q0FOQVJZLW9mLW5vYm9keQ=="}
USED = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
ANSWERED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3C"}]}


def target(host, model=None):
    """What names a host in a call."""
    named = {"model": PROVIDERS[host.kind] + (model or host.model), "api_base": host.url, "api_key": "k"}
    return {**named, **EXTRA.get(host.kind, {})}


def _named(host, items, more):
    return {**target(host), "input": items, "tools": TOOLS, **THINKS.get(host.kind, {}), **more}


def _sync(host, items, **more):
    return litellm.responses(**_named(host, items, more))


def _async(host, items, **more):
    return run(litellm.aresponses(**_named(host, items, more)))


def _stream(host, items, **more):
    return whole(list(litellm.responses(**_named(host, items, more), stream=True)))


def _async_stream(host, items, **more):
    return whole(events_of("async stream", host, items, **more))


def events_of(mode, host, items, **more):
    """The raw events of a stream."""
    named = {**_named(host, items, more), "stream": True}

    async def events():
        return await collected(await litellm.aresponses(**named))

    return list(litellm.responses(**named)) if mode == "stream" else run(events())


def whole(events):
    """The reply that a stream ends with."""
    return events[-1].response


router = partial(litellm_calls.router, target=target)
"""The same for hosts of every dialect."""


def _router(host, items, **more):
    named = {"model": "group-0", "input": items, "tools": TOOLS, **THINKS.get(host.kind, {}), **more}
    return run(router(host).aresponses(**named))


def _router_stream(host, items, **more):
    named = {"model": "group-0", "input": items, "tools": TOOLS, **THINKS.get(host.kind, {}), **more}

    async def events():
        return await collected(await router(host).aresponses(stream=True, **named))

    return whole(run(events()))


RESPOND = {
    "sync": _sync,
    "async": _async,
    "stream": _stream,
    "async stream": _async_stream,
    "router": _router,
    "router stream": _router_stream,
}


def append_items(items, reply, *, dump=False):
    """Appends the items of a reply and the outputs of its calls; whether there were any."""
    out = [item.model_dump(exclude_none=True) if dump and not isinstance(item, dict) else item for item in reply.output]
    items += out
    calls = [item for item in reply.output if _get(item, "type") == "function_call"]
    items += [{"type": "function_call_output", "call_id": _get(call, "call_id"), "output": "3C"} for call in calls]
    return bool(calls)


def _get(item, key):
    return item[key] if isinstance(item, dict) else getattr(item, key)


def responses_turn(mode, host, items, text="How is the weather?", limit=8, **more):
    """One user turn: the tool loop to its end. Appends to `items`; gives the last reply."""
    items.append({"role": "user", "content": text})
    for _ in range(limit):
        reply = RESPOND[mode](host, items, **more)
        if not append_items(items, reply):
            return reply
    raise AssertionError(f"{host!r} did not answer within {limit} steps")


# anthropic.messages ---------------------------------------------------------------------------------------------------


SILENT = {"unknown": {"thinking": None}}
"""LiteLLM's provider takes no parameter that switches thinking on."""


def _asked(host, messages, more):
    named = {**target(host), "messages": messages, "tools": CLAUDE_TOOLS}
    return {**named, **MANUAL, **SILENT.get(host.kind, {}), **more}


def _create(host, messages, **more):
    return litellm.anthropic.messages.create(**_asked(host, messages, more))


def _acreate(host, messages, **more):
    return run(litellm.anthropic.messages.acreate(**_asked(host, messages, more)))


def _create_stream(host, messages, **more):
    return said(list(litellm.anthropic.messages.create(stream=True, **_asked(host, messages, more))))


def bytes_of(host, messages, **more):
    """The raw bytes of an async stream."""

    async def chunks():
        return await collected(await litellm.anthropic.messages.acreate(stream=True, **_asked(host, messages, more)))

    return run(chunks())


def _acreate_stream(host, messages, **more):
    return said(bytes_of(host, messages, **more))


def said(chunks):
    """A reply as its bytes tell it."""
    return {"role": "assistant", "content": claude_blocks(b"".join(chunks).decode())}


def _router_messages(host, messages, **more):
    named = {**_asked(host, messages, more), "model": "group-0"}
    named = {key: value for key, value in named.items() if key not in target(host) or key == "model"}
    return run(router(host).aanthropic_messages(**named))


CREATE = {
    "async": _acreate,
    "async stream": _acreate_stream,
    "router": _router_messages,
    "sync": _create,
    "stream": _create_stream,
}
"""The sync ones only where LiteLLM makes chat or a Responses call of it."""


def append_blocks(messages, reply):
    """Appends a reply and the results of its calls; whether there were any."""
    messages.append({"role": "assistant", "content": reply["content"]})
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "3C"} for call in calls]
    messages += [{"role": "user", "content": results}] if results else []
    return bool(calls)


def messages_turn(mode, host, messages, text="How is the weather?", limit=8, **more):
    """One user turn: the tool loop to its end. Appends to `messages`; gives the last reply."""
    messages.append({"role": "user", "content": text})
    for _ in range(limit):
        reply = CREATE[mode](host, messages, **more)
        if not append_blocks(messages, reply):
            return reply
    raise AssertionError(f"{host!r} did not answer within {limit} steps")
