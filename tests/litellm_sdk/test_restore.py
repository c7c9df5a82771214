"""An app that rebuilds its history from what is visible: with a store, the host gets the very same bytes.

Each step is sent twice, once as a client that dropped everything says it and once as one that kept everything; what
the host received is compared.
"""

import gc
import json
from itertools import chain

import litellm
import pytest

import litellm_calls
from litellm_calls import MODES
from litellm_entries import CREATE, RESPOND
from reasoning_replay.litellm import keeping_in, report_of
from reasoning_replay.stores import MemoryStore
from reasoning_replay.testing import canaries_in

QUESTION = "How is the weather?"


def visible(message):
    """A chat message as a database of an app has it: role, content, calls."""
    found = {"role": "assistant", "content": message["content"]}
    if message.get("tool_calls"):
        found["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {key: call["function"][key] for key in ("name", "arguments")},
            }
            for call in message["tool_calls"]
        ]
    return [found]


def visible_item(item):
    keys = ("role", "content", "type", "call_id", "name", "arguments", "output")
    return [] if item["type"] == "reasoning" else [{key: item[key] for key in keys if key in item}]


def visible_blocks(message):
    content = message["content"]
    blocks = [block for block in content if block["type"] not in ("thinking", "redacted_thinking")]
    keys = ("type", "text", "id", "name", "input", "tool_use_id", "content")
    return [{**message, "content": [{key: block[key] for key in keys if key in block} for block in blocks]}]


def chat(mode, host, messages):
    reply = MODES[mode](host, messages)
    message = reply.choices[0].message.model_dump()
    calls = message["tool_calls"] or []
    return reply, [message], [{"role": "tool", "tool_call_id": call["id"], "content": "3C"} for call in calls]


def responses(mode, host, items):
    reply = RESPOND[mode](host, items)
    out = [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in reply.output]
    calls = [item for item in out if item["type"] == "function_call"]
    return reply, out, [{"type": "function_call_output", "call_id": call["call_id"], "output": "3C"} for call in calls]


def messages(mode, host, history):
    reply = CREATE[mode](host, history)
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "3C"} for call in calls]
    return (
        reply,
        [{"role": "assistant", "content": reply["content"]}],
        [{"role": "user", "content": results}] * bool(calls),
    )


WAYS = {"chat": (chat, visible), "responses": (responses, visible_item), "messages": (messages, visible_blocks)}
CASES = [
    *(
        ("chat", kind, mode)
        for kind in ("deepseek", "moonshot", "anthropic", "openrouter", "mistral")
        for mode in ("sync", "async stream")
    ),
    *(("chat", "deepseek", mode) for mode in ("stream", "async", "router", "async router stream")),
    *(
        ("responses", kind, mode)
        for kind in ("openai-responses", "xai-responses", "deepseek")
        for mode in ("sync", "async stream", "router stream")
    ),
    *(("messages", kind, mode) for kind in ("anthropic",) for mode in ("async", "async stream")),
    *(("messages", "moonshot", mode) for mode in ("async", "sync")),
]


def plain(found):
    return json.loads(json.dumps(found, default=lambda each: each.model_dump()))


@pytest.mark.parametrize(("way", "kind", "mode"), CASES)
def test_a_client_that_drops_everything_reaches_the_host_as_one_that_keeps_everything(
    way, kind, mode, strict_hosts, install
):
    host = strict_hosts(kind)
    install(host, known=MemoryStore())
    ask, bare = WAYS[way]
    kept, dropped = [{"role": "user", "content": QUESTION}], [{"role": "user", "content": QUESTION}]
    for step in range(8):
        reply, said, results = ask(mode, host, dropped)
        body, lost = host.last.messages, host.lost()
        assert 200 == host.last.status
        ask(mode, host, kept)
        assert host.last.messages == body
        assert host.lost() == lost
        assert step > 2 or not lost
        if step == 2:
            assert (mode.endswith("stream") and way == "messages") or report_of(reply).counts()["restore"]
        kept += [*plain(said), *results]
        dropped += [*chain.from_iterable(map(bare, plain(said))), *results]
        if not results:
            kept.append({"role": "user", "content": "And tomorrow?"})
            dropped.append({"role": "user", "content": "And tomorrow?"})
    assert not host.saw_mark


@pytest.mark.parametrize("mode", ["sync", "async stream"])
def test_each_user_finds_their_own_replies_and_a_session_finds_them_in_an_edited_past(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    store = MemoryStore()
    history = [{"role": "user", "content": QUESTION}]
    with keeping_in(store.of("ann", session="thread")):
        _, said, results = chat(mode, host, history)
    dropped = [*chain.from_iterable(map(visible, plain(said))), *results]
    edited = [{"role": "user", "content": "They asked for the weather."}, *dropped]
    found = []
    for shelf, rest in ((("ann", None), [*history, *dropped]), (("bob", None), [*history, *dropped])):
        with keeping_in(store.of(shelf[0])):
            chat(mode, host, rest)
        found.append(canaries_in(json.dumps(host.last.messages)))
    for session in ("thread", "another", None):
        with keeping_in(store.of("ann", session=session)):
            chat(mode, host, edited)
        found.append(canaries_in(json.dumps(host.last.messages)))
    assert [1, 0, 1, 0, 0] == list(map(len, found))


def test_a_stream_that_is_broken_off_keeps_nothing_sealed(strict_hosts, install):
    host = strict_hosts("anthropic")
    store = MemoryStore()
    install(host, known=store)
    stream = litellm.completion(
        **litellm_calls.target(host),
        messages=[{"role": "user", "content": QUESTION}],
        tools=litellm_calls.TOOLS,
        stream=True,
    )
    for chunk in stream:
        if chunk.choices[0].delta.tool_calls:
            break
    stream.close() if hasattr(stream, "close") else None
    del stream
    gc.collect()
    assert 0 == len(store)
