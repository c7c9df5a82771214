"""Streams: the same reply in pieces, as the real host cuts it, to the end or broken off."""

import httpx
import pytest

from reasoning_replay.testing import JUDGES, Reply, Text, call, sealed, think
from wire_client import CLIENTS, ask, chat_message, claude_blocks, events, message_of, sent_by

USER = {"role": "user", "content": "q"}
PARTS = (think(), call(), call("get_time", zone="UTC"))
INTERLEAVED = (think(), Text("First."), think(), sealed(), think(""), call())


def comparable(message):
    """A message without keys that hold nothing: a stream has no way to say `content: null` and `content: ""` apart."""
    return {k: v for k, v in message.items() if v not in (None, "")}


@pytest.mark.parametrize("pieces", [1, 3, 1000])
@pytest.mark.parametrize("name", sorted(JUDGES))
def test_a_stream_adds_up_to_the_whole_reply_however_it_is_cut(strict_hosts, name, pieces):
    for parts in (PARTS, (think(), Text("3C.")), (Text("3C."),), INTERLEAVED):
        host = strict_hosts(name, script=[Reply(parts, pieces=pieces)])
        message = message_of(host, ask(host, [USER], stream=True))
        sent = sent_by(host)
        if name == "mistral" and isinstance(sent["content"], list):
            texts = [c["thinking"][0]["text"] for c in sent["content"] if c["type"] == "thinking"]
            assert "".join(texts) == message["content"][0]["thinking"][0]["text"]
        else:
            assert comparable(sent) == comparable(message)


def test_interleaved_blocks_stream_in_order_with_the_signature_last_and_redacted_data_at_once(strict_hosts):
    host = strict_hosts("anthropic", script=[Reply(INTERLEAVED)])
    seen = events(ask(host, [USER], stream=True).text)

    assert ["thinking", "text", "thinking", "redacted_thinking", "thinking", "tool_use"] == [
        e["content_block"]["type"] for e in seen if e["type"] == "content_block_start"
    ]
    deltas = [
        [e["delta"]["type"] for e in seen if e["type"] == "content_block_delta" and e["index"] == i] for i in range(5)
    ]
    assert ["thinking_delta"] * 3 + ["signature_delta"] == deltas[0]
    assert [] == deltas[3]
    assert ["signature_delta"] == deltas[4], "an omitted display has a signature and no text"
    assert ["message_start", "message_delta", "message_stop"] == [
        e["type"] for e in seen if e["type"].startswith("message")
    ]


def test_an_unsigned_block_streams_without_a_signature(strict_hosts):
    host = strict_hosts("anthropic", script=[Reply((think("t", signature=None), call()))])
    blocks = claude_blocks(ask(host, [USER], stream=True).text)

    assert {"type": "thinking", "thinking": "t"} == blocks[0]


def test_deepseek_opens_with_empty_reasoning_and_null_content(strict_hosts):
    host = strict_hosts("deepseek")
    first = events(ask(host, [USER], stream=True).text)[0]["choices"][0]["delta"]
    assert {"role": "assistant", "content": None, "reasoning_content": ""} == first
    bare = strict_hosts("deepseek", script=[Reply((Text("3C."),))])
    first = events(ask(bare, [USER], stream=True).text)[0]["choices"][0]["delta"]
    assert {"role": "assistant", "content": None} == first, "no reasoning, no key"


def test_the_last_chunk_of_a_chat_stream_has_no_choices(strict_hosts):
    host = strict_hosts("unknown", script=[Reply(PARTS), Reply(PARTS, tail=False), Reply(PARTS, tail=False)])
    assert [] == events(ask(host, [USER], stream=True).text)[-1]["choices"]
    assert [] != events(ask(host, [USER], stream=True).text)[-1]["choices"]
    assert [] == events(ask(host, [USER], stream=True, stream_options={"include_usage": True}).text)[-1]["choices"]


@pytest.mark.parametrize("name", ["deepseek", "anthropic", "openrouter", "openai-responses", "ollama"])
def test_a_stream_that_is_cut_breaks_the_connection(strict_hosts, name):
    host = strict_hosts(name, script=[Reply(PARTS, cut=3)])
    seen = []
    with (
        pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"),
        httpx.stream("POST", host.endpoint, json=body_for(host), verify=False) as reply,
    ):
        seen.extend(line for line in reply.iter_lines() if line.startswith(("data: ", "{")))

    assert 3 == len(seen)
    assert 200 == ask(host, [USER]).status_code, "the host goes on"


def body_for(host):
    return {"model": host.model, **CLIENTS[host.dialect].body_for([USER]), "stream": True}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_several_choices_have_reasoning_of_their_own(strict_hosts, stream):
    host = strict_hosts("unknown", script=[Reply((think(),), more=((think(), Text("b")),))])
    response = ask(host, [USER], n=2, stream=stream)
    if stream:
        rows = [c for e in events(response.text) for c in e["choices"]]
        texts = ["".join(c["delta"].get("reasoning_content", "") for c in rows if c["index"] == i) for i in (0, 1)]
    else:
        texts = [c["message"]["reasoning_content"] for c in response.json()["choices"]]

    assert 2 == len(host.issued)
    assert all(word in text for word, text in zip(host.issued, texts, strict=True))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((think(""), Text("a")), {"content": "a", "reasoning_content": ""}),
        ((think(None), Text("a")), {"content": "a", "reasoning_content": None}),
        ((Text("a"),), {"content": "a"}),
        ((think("r"), Text("")), {"content": "", "reasoning_content": "r"}),
        ((think("r"), Text(None)), {"content": None, "reasoning_content": "r"}),
        ((think("r"),), {"content": "", "reasoning_content": "r"}),
    ],
)
def test_a_script_decides_what_is_empty_what_is_null_and_what_is_absent(strict_hosts, parts, expected):
    host = strict_hosts("deepseek", script=[Reply(parts)])

    assert {"role": "assistant", **expected} == ask(host, [USER]).json()["choices"][0]["message"]
    streamed = strict_hosts("deepseek", script=[Reply(parts)])
    message = chat_message(ask(streamed, [USER], stream=True).text)
    assert comparable({"role": "assistant", **expected}) == comparable(message)
