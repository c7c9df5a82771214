"""One way to say each kind of LiteLLM call, for tests: `MODES` maps a name to a function that gives a whole reply.

Messages are appended as a plain program does it: `messages.append(reply.choices[0].message)`.
"""

from itertools import permutations

import litellm
import pytest

from one_loop import run
from reasoning_replay.litellm._patches import PATCHES, place_of
from reasoning_replay.testing import Reply
from reasoning_replay.testing._script import agent

LISTS = [name for name, value in vars(litellm).items() if "callback" in name and isinstance(value, list)]
"""LiteLLM's lists of callbacks."""
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": CITY}}]
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
PROVIDERS = {
    "deepseek": "deepseek/",
    "deepseek-v3.2": "deepseek/",
    "deepseek-r1": "deepseek/",
    "moonshot": "moonshot/",
    "groq": "groq/",
    "cerebras": "cerebras/",
    "mistral": "mistral/",
    "openrouter": "openrouter/",
    "anthropic": "anthropic/",
    "unknown": "openai/",
}
"""Strict host -> LiteLLM's prefix for it."""
EXTRA = {"anthropic": MANUAL}
"""Strict host -> what else a call to it carries."""


def close(client):
    """Closes an SDK's client, sync or async."""
    done = client.close()
    if done is not None:
        run(done)


def target(host, model=None):
    """What names a host in a call."""
    return {
        "model": PROVIDERS[host.kind] + (model or host.model),
        "api_base": host.url,
        "api_key": "k",
        **EXTRA.get(host.kind, {}),
    }


def _sync(host, messages, **more):
    return litellm.completion(**{**target(host), "messages": messages, "tools": TOOLS, **more})


def _positional(host, messages, **more):
    named = {**target(host), "tools": TOOLS, **more}
    return litellm.completion(named.pop("model"), messages, **named)


def _async(host, messages, **more):
    return run(litellm.acompletion(**{**target(host), "messages": messages, "tools": TOOLS, **more}))


def _async_positional(host, messages, **more):
    named = {**target(host), "tools": TOOLS, **more}
    return run(litellm.acompletion(named.pop("model"), messages, **named))


def _stream(host, messages, **more):
    return litellm.stream_chunk_builder(list(_sync(host, messages, stream=True, **more)))


async def collected(stream):
    """All chunks of an async stream."""
    return [chunk async for chunk in stream]


def _async_stream(host, messages, **more):
    named = {**target(host), "messages": messages, "tools": TOOLS, **more}

    async def whole():
        return await collected(await litellm.acompletion(stream=True, **named))

    return litellm.stream_chunk_builder(run(whole()))


def router(*groups, target=target, **options):
    """A Router whose groups are strict hosts, named by `target`: each group falls back to the ones after it."""
    names = [f"group-{number}" for number in range(len(groups))]
    models = [
        {"model_name": name, "litellm_params": {**target(host), "max_retries": 0}}
        for name, host in zip(names, groups, strict=True)
    ]
    return litellm.Router(
        model_list=models,
        fallbacks=[{name: names[number + 1 :]} for number, name in enumerate(names[:-1])],
        num_retries=0,
        retry_after=0,
        disable_cooldowns=True,
        **options,
    )


def fails_once():
    """A script: the usual agent of three steps, but its second request finds the host down."""
    asked = []

    def answer(seen):
        asked.append(seen.step)
        return Reply((), status=503) if len(asked) == 2 else agent(3)(seen)

    return answer


def pairs_of(kinds, handful):
    """Every pair of two kinds, as parameters: all but a handful are `slow`."""
    return [pytest.param(*pair, marks=[] if pair in handful else pytest.mark.slow) for pair in permutations(kinds, 2)]


def _router(host, messages, **more):
    return router(host).completion(model="group-0", messages=messages, tools=TOOLS, **more)


def _async_router(host, messages, **more):
    return run(router(host).acompletion(model="group-0", messages=messages, tools=TOOLS, **more))


def _router_stream(host, messages, **more):
    return litellm.stream_chunk_builder(list(_router(host, messages, stream=True, **more)))


def _async_router_stream(host, messages, **more):
    async def whole():
        named = {"model": "group-0", "messages": messages, "tools": TOOLS, "stream": True, **more}
        return await collected(await router(host).acompletion(**named))

    return litellm.stream_chunk_builder(run(whole()))


MODES = {
    "sync": _sync,
    "positional": _positional,
    "stream": _stream,
    "async": _async,
    "async positional": _async_positional,
    "async stream": _async_stream,
    "router": _router,
    "async router": _async_router,
    "router stream": _router_stream,
    "async router stream": _async_router_stream,
}


def standing():
    """What stands at every place that a patch may take."""
    return [_at(patch) for patch in PATCHES]


def _at(patch):
    try:
        return getattr(*place_of(patch))
    except (ImportError, AttributeError):  # an older LiteLLM
        return None


def turn(mode, host, messages, text="How is the weather?", **more):
    """One user turn: the tool loop to its end. Appends to `messages`; gives the last reply."""
    messages.append({"role": "user", "content": text})
    return go_on(mode, host, messages, **more)


def go_on(mode, host, messages, limit=8, **more):
    """The rest of a running tool loop."""
    for _ in range(limit):
        reply = MODES[mode](host, messages, **more)
        if not append(messages, reply):
            return reply
    raise AssertionError(f"{host!r} did not answer within {limit} steps")


def append(messages, reply):
    """Appends a reply and the results of its calls; whether there were any."""
    message = reply.choices[0].message
    messages.append(message)
    calls = message.tool_calls or []
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "3C"} for call in calls]
    return bool(calls)
