"""What is not an ordinary reply of an ordinary host: missing and unknown reasoning, caches, mocks, handlers of one's own."""

import json
import logging

import litellm
import pytest
from litellm.caching import caching_handler

import reasoning_replay
from litellm_calls import MODES, TOOLS, append, collected, go_on, router, run, target, turn
from reasoning_replay import Origin, Policy, adopt
from reasoning_replay.litellm import MissingReasoning, ReasoningReplay, _patches, report_of
from reasoning_replay.testing import Reply, Text, call, canaries_in, think

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
BARE = [
    {"role": "user", "content": "How is the weather?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "3C"},
]
UNMARKED = [BARE[0], {**BARE[1], "reasoning_content": "CANARY-of-nobody"}, BARE[2]]


@pytest.mark.parametrize("mode", MODES)
def test_missing_reasoning_is_filled_as_the_rule_says_never_with_text(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    MODES[mode](host, BARE)
    assert [] == host.refusals
    assert "" == host.last.messages[1]["reasoning_content"].strip()


@pytest.mark.parametrize("mode", MODES)
def test_missing_raise_names_index_and_host_before_any_request(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host, missing="raise")
    with pytest.raises(MissingReasoning, match=rf"messages\[1\]: {host.name} demands") as raised:
        MODES[mode](host, BARE)
    assert (1, host.name) == (raised.value.index, raised.value.host)
    assert isinstance(raised.value, reasoning_replay.MissingReasoning)
    assert [] == host.requests


@pytest.fixture
def no_dispatch(monkeypatch):
    """A LiteLLM that has not the place through which every request goes."""
    rows = tuple(
        row._replace(place="litellm.main:Gone") if "Dispatch" in row.place else row for row in _patches.PATCHES
    )
    monkeypatch.setattr(_patches, "PATCHES", rows)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_without_the_place_for_it_missing_raise_holds_for_async_calls_alone(mode, strict_hosts, install, no_dispatch):
    host = strict_hosts("deepseek")
    install(host, missing="raise")
    if mode == "async":
        with pytest.raises(MissingReasoning):
            MODES[mode](host, BARE)
        assert [] == host.requests
    else:  # the warning at construction has said so; nothing leaks, and the host is served
        MODES[mode](host, BARE)
        assert [] == host.refusals


@pytest.mark.parametrize("mode", ["sync", "positional", "stream", "async", "async stream"])
@pytest.mark.parametrize("kind", ["unknown", "deepseek", "openrouter", "anthropic"])
def test_trust_in_what_bears_no_mark_is_no_trust_in_what_another_host_signed(
    kind, mode, no_dispatch, strict_hosts, install
):
    host = strict_hosts(kind)
    install(host, unknown_origin="trust")
    MODES[mode](host, adopt(UNMARKED, Origin("elsewhere.example"), form="litellm"))
    assert [] == host.refusals + canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_missing_raise_is_not_sent_again(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host, missing="raise")
    with pytest.raises(MissingReasoning):
        MODES[mode](host, BARE, num_retries=2)
    assert [] == host.requests


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_router_may_still_fall_back_to_a_host_that_demands_nothing(asynchronous, strict_hosts, install):
    first, second = strict_hosts("deepseek"), strict_hosts("cerebras")
    install(first, second, missing="raise")
    pair = router(first, second)
    named = {"model": "group-0", "messages": BARE, "tools": TOOLS}
    run(pair.acompletion(**named)) if asynchronous else pair.completion(**named)
    assert ([], 1) == (first.requests, len(second.requests))


@pytest.mark.parametrize("mode", MODES)
def test_reasoning_of_unknown_origin_is_dropped_with_one_warning(mode, strict_hosts, install, caplog):
    host = strict_hosts("unknown")
    install(host)
    with caplog.at_level(logging.WARNING, "reasoning_replay"):
        MODES[mode](host, UNMARKED)
        MODES[mode](host, UNMARKED)
    assert [] == canaries_in(host.last.raw.decode())
    said = [record.getMessage() for record in caplog.records if "adopt(messages, origin)" in record.getMessage()]
    assert 1 == len(said)


@pytest.mark.parametrize("mode", MODES)
def test_unknown_origin_can_be_trusted_or_said_to_be_a_hosts(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host, unknown_origin="trust").uninstall()
    litellm.callbacks.clear()
    for origin, words in (("trust", 1), (Origin(host.name), 1), (Origin("elsewhere.example"), 0)):
        callback = install(host, unknown_origin=origin)
        MODES[mode](host, UNMARKED)
        assert words == len(canaries_in(host.last.raw.decode()))
        callback.uninstall()
        litellm.callbacks.clear()


@pytest.mark.parametrize("mode", MODES)
def test_adopt_heals_a_stored_history(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    MODES[mode](host, adopt(UNMARKED, Origin(host.name, model=host.model), form="litellm"))
    assert ["CANARY-of-nobody"] == canaries_in(host.last.raw.decode())


@pytest.fixture
def cache(monkeypatch):
    """LiteLLM's cache in memory. A hit of 1.110.2 imports the Proxy's packages, which are not installed here."""
    monkeypatch.setattr(caching_handler, "_should_defer_streaming_cache_hit_callbacks", lambda *args, **kwargs: False)
    litellm.cache = litellm.Cache()


@pytest.mark.parametrize("later", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_a_cache_hit_is_never_stamped_with_the_called_host(mode, later, cache, strict_hosts, install):
    wrote, called = (strict_hosts("deepseek", script=lambda seen: Reply((think(), Text("Cached.")))) for _ in range(2))
    install(wrote, called)
    question = [{"role": "user", "content": f"the same question {mode} {later}"}]
    MODES[mode](wrote, question)
    run(_settled())
    again = MODES[later](called, question)
    hit = len(called.requests) == 0
    assert hit or later != mode  # each way to call is asked of the cache in its own
    message = again.choices[0].message
    mark = (message.get("provider_specific_fields") or {}).get("reasoning_replay")
    if hit:
        assert mark is None or mark["id"].startswith(f"{wrote.name}|")
        assert report_of(again) is None or "stream" in later
        MODES["sync"](called, [*question, message, {"role": "user", "content": "and now?"}])
        assert [] == canaries_in(called.last.raw.decode())


def test_a_cached_reply_goes_back_to_the_host_that_wrote_it(cache, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    question = [{"role": "user", "content": "cached and replayed"}]
    MODES["sync"](host, question)
    messages = [*question]
    append(messages, MODES["sync"](host, messages))
    assert 1 == len(host.requests)
    go_on("sync", host, messages)
    assert [] == host.refusals + host.lost()


async def _settled():
    import asyncio

    await asyncio.sleep(0.2)


class Own(litellm.CustomLLM):
    """A handler of the caller's own: no URL. It keeps what it was given."""

    def __init__(self):
        super().__init__()
        self.given = []

    def completion(self, *args, **kwargs):
        self.given.append(json.dumps(kwargs["messages"]))
        message = litellm.Message(content="", reasoning_content="CANARY-of-my-own", tool_calls=[CALL])
        return litellm.ModelResponse(choices=[litellm.Choices(message=message)])

    async def acompletion(self, *args, **kwargs):
        return self.completion(*args, **kwargs)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_handler_of_the_callers_own_is_a_host_of_its_own(asynchronous, strict_hosts, install):
    host, own = strict_hosts("unknown"), Own()
    litellm.custom_provider_map = [{"provider": "mine", "custom_handler": own}]
    install(host)
    named = {"model": "mine/x", "messages": [{"role": "user", "content": "q"}]}
    reply = run(litellm.acompletion(**named)) if asynchronous else litellm.completion(**named)
    messages = list(named["messages"])
    append(messages, reply)
    assert messages[1].provider_specific_fields["reasoning_replay"]["id"].startswith("custom:mine|")
    litellm.completion(model="mine/x", messages=messages)
    assert ["CANARY-of-my-own"] == canaries_in(own.given[-1])
    assert "reasoning_replay" not in own.given[-1]
    MODES["sync"](host, messages)
    assert [] == canaries_in(host.last.raw.decode())
    append(messages, MODES["sync"](host, messages))
    litellm.completion(model="mine/x", messages=messages)
    assert [] == [word for word in canaries_in(own.given[-1]) if word != "CANARY-of-my-own"]


def test_after_a_fallback_to_a_handler_of_ones_own_the_failed_host_is_not_its_origin(strict_hosts, install):
    host = strict_hosts("unknown", script=lambda seen: Reply((), status=503))
    litellm.custom_provider_map = [{"provider": "mine", "custom_handler": Own()}]
    install(host)
    fallback = {"model": "mine/x", "api_base": None}
    reply = MODES["sync"](host, [{"role": "user", "content": "q"}], fallbacks=[fallback], max_retries=0)
    assert reply.choices[0].message.provider_specific_fields["reasoning_replay"]["id"].startswith("custom:mine|")


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_a_mocked_response_comes_from_no_host(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    mocked = litellm.ModelResponse(
        choices=[litellm.Choices(message=litellm.Message(content="x", reasoning_content="CANARY-mocked"))]
    )
    message = MODES[mode](host, [{"role": "user", "content": "q"}], mock_response=mocked).choices[0].message
    assert [] == host.requests
    mark = (message.get("provider_specific_fields") or {}).get("reasoning_replay")
    assert mark["id"].startswith("custom:openai|")
    MODES["sync"](host, [{"role": "user", "content": "q"}, message, {"role": "user", "content": "r"}])
    assert [] == canaries_in(host.last.raw.decode())


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_a_mark_that_a_host_sends_says_nothing(mode, strict_hosts, install, monkeypatch):
    evil, good = strict_hosts("unknown"), strict_hosts("deepseek")
    install(evil, good)
    forged = reasoning_replay.capture({"role": "assistant", "reasoning_content": "x"}, Origin(good.name))
    plain = evil.judge.voice
    _forge(monkeypatch, forged["provider_specific_fields"])
    assert plain is evil.judge.voice
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES[mode](evil, messages))
    assert evil.name in json.dumps(messages[1].provider_specific_fields)
    MODES[mode](good, messages)
    assert [] == canaries_in(good.last.raw.decode())


STRANGE = (
    {"provider_specific_fields": {"reasoning_replay": "x"}},
    {"provider_specific_fields": {"reasoning_replay": {"id": ["x"], "v": 1}}},
    {"provider_specific_fields": {"reasoning_replay": 5, "reasoning_layout": 5}},
    {"thinking_blocks": [{"type": "thinking", "thinking": 5, "index": 0}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": "a", "index": [1]}]},
    {"thinking_blocks": ["x"]},
)


@pytest.mark.faulty(reason="a host's nonsense is a fault of the part that reads it")
@pytest.mark.parametrize("extra", STRANGE, ids=str)
@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_what_a_host_puts_where_our_notes_go_breaks_no_reply(mode, extra, strict_hosts, install, monkeypatch):
    host = strict_hosts("unknown", script=lambda seen: Reply((Text("Plain."),)))
    _add(monkeypatch, extra)
    try:
        bare = MODES[mode](host, [{"role": "user", "content": "q"}]).choices[0].message.content
    except litellm.exceptions.APIError:
        bare = None
    install(host)
    if bare is not None:
        assert bare == MODES[mode](host, [{"role": "user", "content": "q"}]).choices[0].message.content


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_a_mark_that_a_host_sends_without_any_reasoning_goes(mode, strict_hosts, install, monkeypatch):
    host = strict_hosts("unknown", script=lambda seen: Reply((Text("Plain."),)))
    install(host)
    forged = reasoning_replay.capture({"role": "assistant", "reasoning_content": "x"}, Origin("api.moonshot.ai"))
    _forge(monkeypatch, {**forged["provider_specific_fields"], "reasoning_layout": ["text:1"]})
    message = MODES[mode](host, [{"role": "user", "content": "q"}]).choices[0].message
    assert "moonshot" not in json.dumps(message.model_dump())


def _add(monkeypatch, extra):
    """Every delta of a strict chat host carries this too."""
    from reasoning_replay.testing import _voices

    pieces = _voices.chunks

    def chunks(*args, **kwargs):
        for event in pieces(*args, **kwargs):
            body = json.loads(event.removeprefix("data: ")) if "choices" in event else None
            for choice in body["choices"] if body else ():
                choice["delta"].update(extra)
            yield event if body is None else f"data: {json.dumps(body)}\n\n"

    monkeypatch.setattr(_voices, "chunks", chunks)


def _forge(monkeypatch, fields):
    """Every chat reply of a strict host, and every delta, carries these fields."""
    from reasoning_replay.testing import _voices

    whole = _voices.completion

    def completion(*args, **kwargs):
        reply = whole(*args, **kwargs)
        for choice in reply["choices"]:
            choice["message"]["provider_specific_fields"] = fields
        return reply

    monkeypatch.setattr(_voices, "completion", completion)
    _add(monkeypatch, {"provider_specific_fields": fields})


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_other_kinds_of_calls_are_left_untouched(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    named = {"model": "openai/x", "input": ["a text"], "api_base": host.url, "api_key": "k", "max_retries": 0}
    with pytest.raises(litellm.exceptions.NotFoundError):
        run(litellm.aembedding(**named)) if mode == "async" else litellm.embedding(**named)
    assert {"a text"} == set(host.last.json["input"])


def test_the_same_callback_serves_a_stream_and_its_async_twin_at_once(strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)

    async def both():
        named = {**target(host), "messages": [{"role": "user", "content": "q"}], "stream": True}
        streams = [await litellm.acompletion(**named) for _ in range(2)]
        return [litellm.stream_chunk_builder(await collected(stream)) for stream in streams]

    texts = [reply.choices[0].message.reasoning_content for reply in run(both())]
    assert 2 == len(set(texts))


def test_two_policies_are_refused_even_when_the_first_was_cleared_away(install):
    install(missing="leave")
    litellm.callbacks.clear()
    with pytest.raises(ValueError, match="another policy is installed"):
        ReasoningReplay(Policy())


def test_a_second_user_turn_drops_the_first_ones_reasoning_at_a_host_that_nobody_knows(strict_hosts, install):
    host = strict_hosts("unknown")
    install()
    messages = []
    turn("async", host, messages)
    messages.append({"role": "user", "content": "a new turn"})
    MODES["async"](host, messages)
    assert [] == canaries_in(host.last.raw.decode())
    assert [] == [m for m in host.last.messages if "reasoning_content" in m]


def test_a_reply_without_reasoning_is_left_as_it_came(strict_hosts, install):
    host = strict_hosts("unknown", script=lambda seen: Reply((Text("Plain."), call())))
    bare = MODES["sync"](host, [{"role": "user", "content": "q"}]).choices[0].message
    install(host)
    with_line = MODES["sync"](host, [{"role": "user", "content": "q"}]).choices[0].message
    assert sorted(bare.model_dump()) == sorted(with_line.model_dump())


POINT = {"cache_control": {"type": "ephemeral"}}
SEEN = {"type": "thinking", "thinking": "CANARY-of-nobody", "signature": "c2ln"}
QUESTION, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "r"}
CACHED = {
    "on a block that goes": [
        QUESTION,
        {"role": "assistant", "content": [{**SEEN, **POINT}, {"type": "text", "text": "a"}]},
    ],
    "on the text beside it": [
        QUESTION,
        {"role": "assistant", "content": [SEEN, {"type": "text", "text": "a", **POINT}]},
    ],
    "on a message that goes": [
        QUESTION,
        {"role": "assistant", "content": "", "reasoning_content": "CANARY-x", **POINT},
    ],
    "on the question before": [{**QUESTION, **POINT}, {"role": "assistant", "content": "a", "thinking_blocks": [SEEN]}],
}
"""Where a cache point stands, and a history that another host wrote."""
BEFORE_IT = {"on a block that goes": "a", "on the text beside it": "a"}


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize(
    ("kind", "model"),
    [("anthropic", "claude-sonnet-4-5"), ("openrouter", "anthropic/claude-sonnet-4-5"), ("unknown", "m")],
)
@pytest.mark.parametrize("place", CACHED)
def test_a_cache_point_stays_when_what_bears_it_goes(place, kind, model, mode, strict_hosts, install):
    host = strict_hosts(kind)
    install(host)
    messages = adopt([*CACHED[place], NEXT], Origin("elsewhere.example"), form="litellm")
    MODES[mode](host, messages, tools=None, model=target(host, model)["model"])
    assert [] == host.refusals + canaries_in(host.last.raw.decode())
    assert [BEFORE_IT.get(place, "q")] == list(_cached_texts(host.last.messages))


def _cached_texts(messages):
    """The texts that bear a cache point on the wire, themselves or by their message."""
    for message in messages:
        content = message["content"]
        if "cache_control" in message:
            yield content if isinstance(content, str) else content[-1]["text"]
        if isinstance(content, list):
            yield from (part["text"] for part in content if "cache_control" in part)
