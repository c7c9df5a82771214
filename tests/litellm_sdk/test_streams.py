"""Streams: what `stream_chunk_builder` puts together replays; whoever reads deltas sees no new text."""

import json
from contextlib import suppress

import litellm
import pytest

from litellm_calls import MODES, TOOLS, append, collected, go_on, run, target
from reasoning_replay._origin import from_mark
from reasoning_replay.testing import AUTO, Reply, Sealed, Summary, Text, Think, call, canaries_in, sealed, think

ANSWER = [Reply((think(), Text("Done.")))]
INTERLEAVED = (think(), sealed(), Text("I look it up."), think("", signature=AUTO), Text(" Now."), think(), call())
STREAMS = ("stream", "async stream")


def chunks_of(mode, host, messages, **more):
    """The raw chunks of a stream, sync or async."""
    named = {**target(host), "messages": messages, "tools": TOOLS, "stream": True, **more}
    if mode == "stream":
        return list(litellm.completion(**named))

    async def whole():
        return await collected(await litellm.acompletion(**named))

    return run(whole())


def question():
    return [{"role": "user", "content": "How is the weather?"}]


@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_an_interleaved_claude_reply_goes_back_in_its_order_byte_for_byte(mode, strict_hosts, install):
    host = strict_hosts("anthropic", script=[Reply(INTERLEAVED)])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    said = host.last.reply["content"]
    MODES[mode](host, messages)
    assert [] == host.refusals
    assert said == host.last.messages[1]["content"]


@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_logs_without_messages_change_nothing_of_it(mode, strict_hosts, install, monkeypatch):
    monkeypatch.setattr(litellm, "turn_off_message_logging", True)
    host = strict_hosts("anthropic", script=[Reply(INTERLEAVED)])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    said = host.last.reply["content"]
    MODES[mode](host, messages)
    assert said == host.last.messages[1]["content"]


@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_an_interleaved_claude_reply_survives_json(mode, strict_hosts, install):
    host = strict_hosts("anthropic", script=[Reply(INTERLEAVED)])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    said = host.last.reply["content"]
    stored = json.dumps([m if isinstance(m, dict) else m.model_dump() for m in messages])
    MODES[mode](host, json.loads(stored))
    assert said == host.last.messages[1]["content"]


@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_a_claude_reply_in_the_usual_order_gets_no_note_of_its_order(mode, strict_hosts, install):
    host = strict_hosts("anthropic", script=[Reply((think(), sealed(), Text("I look it up."), call()))])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    assert "reasoning_layout" not in messages[1].provider_specific_fields
    said = host.last.reply["content"]
    MODES[mode](host, messages)
    assert said == host.last.messages[1]["content"]


@pytest.mark.parametrize("mode", STREAMS)
def test_an_unsigned_block_is_not_glued_onto_the_signed_one_after_it(mode, strict_hosts, install):
    parts = (Think(text="unsigned", signature=None), think(), call())
    host = strict_hosts("anthropic", script=[Reply(parts)])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    unsigned, signed = messages[1].thinking_blocks
    assert ("unsigned", "") == (unsigned["thinking"], unsigned["signature"])
    assert host.last.reply["content"][1] == signed


DETAILS = {
    "anthropic/claude-sonnet-4.5": (think(), Sealed(), Text("I look it up."), call()),
    "openai/gpt-5.5": (Summary(), Sealed(), Text("I look it up."), call()),
    "deepseek/deepseek-v4-pro": (think(), Text("I look it up."), call()),
}


@pytest.mark.parametrize("model", DETAILS)
@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_openrouters_details_go_back_complete_under_their_own_key(mode, model, strict_hosts, install):
    host = strict_hosts("openrouter", script=[Reply(DETAILS[model])])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages, model=f"openrouter/{model}"))
    said = host.last.reply["choices"][0]["message"]["reasoning_details"]
    MODES[mode](host, messages, model=f"openrouter/{model}")
    assert [] == host.refusals + host.lost()
    assert said == host.last.messages[1]["reasoning_details"]
    assert "provider_specific_fields" not in host.last.messages[1]


@pytest.mark.parametrize("model", DETAILS)
@pytest.mark.parametrize("mode", STREAMS)
def test_a_client_that_joins_the_details_of_the_deltas_itself_has_all_of_them_once(mode, model, strict_hosts, install):
    """LiteLLM swallows a delta that holds a signature alone; it leaves with the next one."""
    host = strict_hosts("openrouter", script=[Reply(DETAILS[model])])
    install(host)
    joined = {}
    for chunk in chunks_of(mode, host, question(), model=f"openrouter/{model}"):
        for choice in chunk.choices:
            for entry in getattr(choice.delta, "reasoning_details", None) or ():
                there = joined.setdefault(entry["index"], {})
                texts = {key: there.get(key, "") + entry[key] for key in ("text", "summary", "data") if key in entry}
                there.update({**entry, **texts})
    assert host.last.reply["choices"][0]["message"]["reasoning_details"] == list(joined.values())


@pytest.mark.parametrize("mode", STREAMS)
def test_details_that_come_alone_in_their_deltas_are_not_lost(mode, strict_hosts, install):
    host = strict_hosts("openrouter", script=[Reply((Sealed(), call()))])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    said = host.last.reply["choices"][0]["message"]["reasoning_details"]
    MODES[mode](host, messages)
    assert said == host.last.messages[1]["reasoning_details"]


@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.parametrize("kind", ["deepseek", "openrouter", "anthropic", "mistral"])
def test_whoever_reads_deltas_sees_the_text_and_calls_of_bare_litellm(kind, mode, strict_hosts, install):
    parts = (think(), Text("I look it up."), call(id="call00001"))

    def read(host):
        deltas = [c.choices[0].delta for c in chunks_of(mode, host, question()) if c.choices]
        calls = [one.function.arguments for delta in deltas for one in delta.tool_calls or ()]
        texts = "".join(delta.content or "" for delta in deltas)
        thoughts = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
        return texts, calls, len(thoughts)

    host = strict_hosts(kind, script=lambda turn: Reply(parts))
    bare = read(host)
    install(host)
    assert bare == read(host)


@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.parametrize("tail", [True, False], ids=["usage last", "finish last"])
def test_a_last_chunk_without_choices_is_no_fault(tail, mode, strict_hosts, install):
    host = strict_hosts("deepseek", script=[Reply((think(), call()), tail=tail)])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages, stream_options={"include_usage": tail}))
    go_on(mode, host, messages)
    assert [] == host.refusals + host.lost()


def _broken_off(mode, host):
    """What a caller builds of a stream that breaks off."""
    chunks = []
    named = {**target(host), "messages": question(), "tools": TOOLS, "stream": True}

    async def whole():
        async for chunk in await litellm.acompletion(**named):
            chunks.append(chunk)

    with suppress(litellm.exceptions.APIError, litellm.exceptions.MidStreamFallbackError):
        if mode == "stream":
            chunks += _each(litellm.completion(**named), chunks)
        else:
            run(whole())
    return litellm.stream_chunk_builder(chunks).choices[0].message if chunks else None


def _each(stream, chunks):
    """Puts the chunks into a list one by one."""
    for chunk in stream:
        chunks.append(chunk)
    return ()


@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.parametrize("cut", range(1, 14))
def test_a_claude_stream_that_broke_off_marks_nothing_sealed(cut, mode, strict_hosts, install):
    host = strict_hosts("anthropic", script=[Reply((think(), sealed(), think(), call()), cut=cut)])
    install(host)
    message = _broken_off(mode, host)
    assert from_mark(((message and message.get("provider_specific_fields")) or {}).get("reasoning_replay")) is None
    if message is not None and message.tool_calls:
        messages = [*question(), message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "3C"}]
        MODES["sync"](host, messages)
        assert [] == canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.parametrize("cut", range(1, 10))
def test_an_openrouter_stream_that_broke_off_marks_nothing_sealed(cut, mode, strict_hosts, install):
    host = strict_hosts("openrouter", script=[Reply((think(), Sealed(), Text("I see."), call()), cut=cut)])
    install(host)
    message = _broken_off(mode, host)
    fields = (message and message.get("provider_specific_fields")) or {}
    assert "reasoning_details" not in fields
    assert from_mark(fields.get("reasoning_replay")) is None


@pytest.mark.parametrize("mode", STREAMS)
def test_readable_reasoning_of_a_stream_that_broke_off_still_replays(mode, strict_hosts, install):
    script = [Reply((think(), Text("The answer is long and"), call()), cut=6)]
    host = strict_hosts("deepseek", script=script)
    install(host)
    message = _broken_off(mode, host)
    assert [] != canaries_in(message.reasoning_content)
    MODES["sync"](host, [*question(), message, {"role": "user", "content": "go on"}])
    assert canaries_in(message.reasoning_content) == canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("mode", STREAMS)
def test_a_stream_that_the_caller_leaves_early_is_no_fault(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    named = {**target(host), "messages": question(), "tools": TOOLS, "stream": True}

    async def first():
        async for chunk in await litellm.acompletion(**named):
            return chunk
        return None

    chunk = run(first()) if mode == "async stream" else next(iter(litellm.completion(**named)))
    assert chunk.choices


@pytest.mark.parametrize("mode", ["sync", "async", *STREAMS])
def test_empty_reasoning_that_the_host_sent_goes_back_empty(mode, strict_hosts, install):
    host = strict_hosts("deepseek", script=[Reply((think(""), Text("I look it up."), call()))])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    MODES[mode](host, messages)
    assert "" == host.last.messages[1]["reasoning_content"]
    assert [] == host.refusals


@pytest.mark.parametrize("mode", STREAMS)
def test_reasoning_beside_null_content_is_caught(mode, strict_hosts, install):
    host = strict_hosts("deepseek", script=[Reply((think(), Text(None), call()))])
    install(host)
    messages = question()
    append(messages, MODES[mode](host, messages))
    MODES[mode](host, messages)
    assert [] == host.lost()


@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.parametrize(
    ("first", "second"), [("deepseek", "unknown"), ("openrouter", "deepseek"), ("anthropic", "unknown")]
)
def test_a_reply_put_together_from_the_streams_of_two_hosts_is_nobodys(first, second, mode, strict_hosts, install):
    broken, other = strict_hosts(first), strict_hosts(second)
    install(broken, other)
    chunks = [*chunks_of(mode, broken, question())[:3], *chunks_of(mode, other, question())]
    message = litellm.stream_chunk_builder(chunks).choices[0].message
    assert from_mark(message.provider_specific_fields["reasoning_replay"]) is None
    assert "reasoning_details" not in message.provider_specific_fields
    answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "3C"}
    for host in (broken, other):
        if host.dialect == "chat":
            MODES["sync"](host, [*question(), message, answer])
            assert [] == canaries_in(host.last.raw.decode())
