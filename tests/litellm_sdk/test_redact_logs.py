"""`redact_logs=True`: loggers of every kind get sizes and digests, and what is replayed stays whole.

The judge is a logger that dumps all it is given, as text and as JSON, each logger's dumps searched byte for byte and in
base64 for every canary, signature and sealed value that the host has issued.
"""

import asyncio
import json
import time

import httpx
import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler, HTTPHandler

from litellm_calls import MANUAL, MODES, TOOLS, append, collected, fails_once, router, run, target, turn
from litellm_entries import RESPOND, messages_turn, responses_turn
from reasoning_replay import Policy
from reasoning_replay.litellm import ReasoningReplay, report_of
from reasoning_replay.litellm._places import place_of
from reasoning_replay.litellm._redact import LOG_PATCHES
from reasoning_replay.testing import aliases
from reasoning_replay.testing._search import carries

EVENTS = (
    "log_pre_api_call", "log_post_api_call", "log_stream_event", "log_success_event", "log_failure_event", "logging_hook",
)  # fmt: skip
LATER = ("async_log_stream_event", "async_log_success_event", "async_log_failure_event", "async_logging_hook")
NAMES = ("fc_", "msg_", "resp_", "call_", "toolu_")
"""Names of replies, and of what is visible in them, stay in a log."""


class Dumps(list):
    """What loggers were given, as bytes."""

    def add(self, name, args, named):
        for value in (*args, *named.values()):
            shown = f"{value!r}\n{value!s}\n{json.dumps(value, default=_fields)}"
            self.append((name, shown.encode()))

    def named(self):
        return {name for name, _ in self}

    def holding(self, words):
        return sorted({(name, word) for name, raw in self for word in words if carries(raw, word)})


def _fields(value):
    if hasattr(value, "model_dump"):
        return {**value.model_dump(), "hidden": repr(getattr(value, "_hidden_params", None))}
    return repr(value)


def _method(name, dumps):
    def told(self, *args, **named):
        dumps.add(name, args, named)
        return (named["kwargs"], named["result"]) if "hook" in name else None

    async def told_later(self, *args, **named):
        return told(self, *args, **named)

    return told_later if name in LATER else told


def logger_into(dumps, name="Dumping"):
    """A logger that dumps everything it is told. LiteLLM takes two of one name for one."""
    methods = {name: _method(name, dumps) for name in (*EVENTS, *LATER)}
    return type(name, (CustomLogger,), methods)()


@pytest.fixture
def redacted():
    """`redacted(*hosts)`: the callback with the switch on, and the dumps of a logger object and of functions."""

    def put_in(*hosts, **options):
        dumps = Dumps()

        def function(*args, **named):
            dumps.add("function", args, named)

        callback = ReasoningReplay(Policy(aliases=aliases(hosts)), **{"redact_logs": True, **options})
        litellm.callbacks += [logger_into(dumps), callback]
        for name in ("success_callback", "failure_callback", "input_callback"):
            getattr(litellm, name).append(function)
        return dumps

    return put_in


def settled(dumps, name):
    """Waits for the loggers, which LiteLLM calls in threads and tasks of its own."""
    end, before = time.monotonic() + 10, -1
    while (name not in dumps.named() or before != len(dumps)) and time.monotonic() < end:
        before = len(dumps)
        run(_a_while())
    assert name in dumps.named()


async def _a_while():
    await asyncio.sleep(0.15)


def secrets_of(host):
    return [word for word in host.issued if not word.startswith(NAMES)]


def success(mode):
    return "async_log_success_event" if "async" in mode else "log_success_event"


HOSTS = ("deepseek", "anthropic", "openrouter", "mistral", "groq")
QUICK = {("deepseek", "sync"), ("anthropic", "async stream"), ("openrouter", "stream"), ("mistral", "async router")}


def sampled(pairs, quick):
    return [pytest.param(*pair, marks=() if pair in quick else pytest.mark.slow) for pair in pairs]


@pytest.mark.parametrize(("kind", "mode"), sampled([(kind, mode) for kind in HOSTS for mode in MODES], QUICK))
def test_no_logger_gets_reasoning_while_the_host_gets_all_of_it_back(kind, mode, strict_hosts, redacted):
    host = strict_hosts(kind)
    dumps = redacted(host)
    messages = []
    reply = turn(mode, host, messages)
    settled(dumps, success(mode))
    assert [] == dumps.holding(secrets_of(host))
    assert any(b"[redacted: " in raw for _, raw in dumps)
    assert [] == host.refusals
    assert [] == host.lost()
    assert report_of(reply) is not None
    assert any(word in str(messages) for word in secrets_of(host))  # the caller has it whole


ENTRIES = [(kind, mode) for kind in ("openai-responses", "anthropic", "groq") for mode in RESPOND]


@pytest.mark.parametrize(("kind", "mode"), sampled(ENTRIES, {("openai-responses", "async stream"), ("groq", "sync")}))
def test_nor_in_the_responses_api(kind, mode, strict_hosts, redacted):
    host = strict_hosts(kind)
    dumps = redacted(host)
    responses_turn(mode, host, [])
    settled(dumps, "async_log_success_event" if mode not in ("sync", "stream") else "log_success_event")
    assert [] == dumps.holding(secrets_of(host))
    assert [] == host.refusals + host.lost()


MESSAGES = [(kind, mode) for kind in ("anthropic", "groq", "openai-responses") for mode in ("async", "async stream")]


@pytest.mark.parametrize(("kind", "mode"), sampled(MESSAGES, {("anthropic", "async stream")}))
def test_nor_in_the_messages_api(kind, mode, strict_hosts, redacted):
    host = strict_hosts(kind)
    dumps = redacted(host)
    messages_turn(mode, host, [])
    settled(dumps, "async_log_success_event")
    assert [] == dumps.holding(secrets_of(host))
    assert [] == host.refusals + host.lost()


KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "aws_region_name": "us-east-1"}
NATIVE = {
    "gemini": ("gemini/", {"api_key": "k", "reasoning_effort": "low"}),
    "bedrock": ("bedrock/converse/", {**KEYS, **MANUAL}),
    "ollama": ("ollama_chat/", {"reasoning_effort": "low"}),
}
WAYS = [(kind, way) for kind in NATIVE for way in ("sync", "stream", "async stream")]


def asked(way, host, messages):
    prefix, more = NATIVE[host.kind]
    call = {"model": prefix + host.model, "api_base": host.url, "tools": TOOLS, "messages": messages, **more}
    if way == "sync":
        return litellm.completion(**call)
    if way == "stream":
        return litellm.stream_chunk_builder(list(litellm.completion(**call, stream=True)))

    async def whole():
        return await collected(await litellm.acompletion(**call, stream=True))

    return litellm.stream_chunk_builder(run(whole()))


@pytest.mark.parametrize(("kind", "way"), sampled(WAYS, {("gemini", "stream"), ("bedrock", "sync")}))
def test_nor_of_hosts_with_dialects_of_their_own(kind, way, strict_hosts, redacted):
    host, messages = strict_hosts(kind), [{"role": "user", "content": "How is the weather?"}]
    dumps = redacted(host)
    while append(messages, asked(way, host, messages)):
        pass
    settled(dumps, success(way))
    assert [] == dumps.holding(secrets_of(host))
    assert [] == host.lost()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_fallback_that_replays_logs_its_failed_attempt_without_reasoning(mode, strict_hosts, redacted):
    first, second = strict_hosts("deepseek", script=fails_once()), strict_hosts("moonshot")
    dumps = redacted(first, second)
    group, messages = router(first, second), [{"role": "user", "content": "How is the weather?"}]
    for _ in range(4):
        call = {"model": "group-0", "messages": messages, "tools": TOOLS}
        if not append(messages, group.completion(**call) if mode == "sync" else run(group.acompletion(**call))):
            break
    settled(dumps, f"{'async_' * (mode == 'async')}log_failure_event")
    assert [] == dumps.holding(secrets_of(first) + secrets_of(second))
    assert [503] == [request.status for request in first.requests if request.status != 200]
    assert [] == second.refusals


@pytest.mark.leaks("the host quotes what it was sent")
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_error_that_quotes_reasoning_is_redacted_for_loggers_and_whole_for_the_caller(mode, strict_hosts, redacted):
    host, messages = strict_hosts("deepseek"), []
    dumps = redacted(host)
    turn("sync", host, messages)
    thought = messages[1].reasoning_content
    dumps.clear()
    client = openai_that_quotes(thought, later=mode == "async")
    call = {**target(host), "messages": [*messages, {"role": "user", "content": "go"}], "client": client}
    with pytest.raises(litellm.BadRequestError, match="CANARY"):
        litellm.completion(**call) if mode == "sync" else run(litellm.acompletion(**call))
    settled(dumps, f"{'async_' * (mode == 'async')}log_failure_event")
    assert [] == dumps.holding(secrets_of(host))


def openai_that_quotes(text, *, later):
    """A client of a host that quotes half of a message in its error."""
    body = {"error": {"message": f"messages[1] is invalid: {text[: len(text) * 3 // 4]!r}", "code": 400}}

    def answer(request):
        return httpx.Response(400, json=body)

    class Answer(httpx.BaseTransport, httpx.AsyncBaseTransport):
        def handle_request(self, request):
            return answer(request)

        async def handle_async_request(self, request):
            return answer(request)

    handler = AsyncHTTPHandler() if later else HTTPHandler()
    handler.client = httpx.AsyncClient(transport=Answer()) if later else httpx.Client(transport=Answer())
    return handler


def test_a_calls_own_function_gets_copies_and_what_litellm_goes_on_with_is_whole(strict_hosts, redacted):
    host, own, messages = strict_hosts("deepseek"), Dumps(), []
    redacted(host)
    turn("sync", host, messages, logger_fn=lambda details: own.add("own", (details,), {}))
    assert own
    assert [] == own.holding(secrets_of(host))
    assert [] == host.refusals + host.lost()


def test_without_the_switch_loggers_get_what_they_got_before(strict_hosts, redacted):
    host, messages = strict_hosts("deepseek"), []
    dumps = redacted(host, redact_logs=False)
    turn("sync", host, messages)
    settled(dumps, "log_success_event")
    assert dumps.holding(secrets_of(host))


def test_uninstall_puts_every_logger_and_every_place_back(strict_hosts, redacted):
    places = [place_of(patch) for patch in LOG_PATCHES]
    before = [getattr(owner, name) for owner, name in places]
    host, messages = strict_hosts("deepseek"), []
    dumps = redacted(host)
    logger, callback = litellm.callbacks
    turn("sync", host, messages)
    settled(dumps, "log_success_event")
    assert any("redaction" in name for name in vars(logger))
    callback.uninstall()
    assert before == [getattr(owner, name) for owner, name in places]
    assert not any("redaction" in name or name in EVENTS for name in vars(logger))


def test_a_second_callback_with_another_switch_is_refused(redacted):
    redacted()
    with pytest.raises(ValueError, match=r"redact_logs=True is installed"):
        ReasoningReplay()


def test_a_callback_that_only_routes_is_left_alone(strict_hosts, redacted):
    host, messages = strict_hosts("deepseek"), []
    dumps, whole = redacted(host), Dumps()
    routing = logger_into(whole, "Routing")
    routing.exempt_from_message_redaction = lambda: True
    litellm.callbacks.append(routing)
    turn("sync", host, messages)
    settled(whole, "log_success_event")
    assert whole.holding(secrets_of(host))
    assert [] == dumps.holding(secrets_of(host))


@pytest.mark.faulty("redaction itself fails")
def test_where_redaction_fails_a_logger_gets_names_and_numbers_and_the_call_goes_on(
    strict_hosts, redacted, monkeypatch
):
    def fails(*values):
        raise RecursionError

    monkeypatch.setattr("reasoning_replay.transcripts._redact_values.redacted_values", fails)
    host, messages = strict_hosts("deepseek"), []
    dumps = redacted(host)
    turn("sync", host, messages)
    settled(dumps, "log_success_event")
    assert [] == dumps.holding(secrets_of(host))
    assert any(b"litellm_call_id" in raw for _, raw in dumps)
    assert [] == host.refusals + host.lost()


def test_what_a_hook_gives_back_has_our_own_notes_in_it_which_no_logger_has_seen(redacted):
    dumps = redacted()
    logger, callback = litellm.callbacks
    callback.wrapped.watch([logger])
    notes = {"_reasoning_replay": object(), "messages": []}
    left, result = logger.logging_hook(kwargs=notes, result=None, call_type="completion")
    assert left["_reasoning_replay"] is notes["_reasoning_replay"]
    assert result is None
    assert not any(b"_reasoning_replay" in raw for _, raw in dumps)


@pytest.mark.parametrize("on", [True, False])
def test_the_lines_of_a_batch_are_redacted_and_its_logger_is_no_other_callback(on, redacted, monkeypatch):
    batches = pytest.importorskip("litellm.batches.batch_line_items")
    dumps, word = redacted(redact_logs=on), "CANARY-the user lives in Oslo and hides it"

    class Storing(CustomLogger):
        async def async_log_batch_line_items(self, payload):
            dumps.add("async_log_batch_line_items", (payload,), {})

    monkeypatch.setattr(litellm, "batch_line_item_callbacks", [Storing()])
    line = {"custom_id": "1", "response": {"body": {"choices": [{"message": {"reasoning_content": word}}]}}}
    payload = {"batch_id": "b", "part": 0, "lines": [line]}
    asyncio.run(batches.dispatch_batch_line_items(payload, redact_bodies=False))
    assert {"async_log_batch_line_items"} == dumps.named()
    assert on is (dumps.holding([word]) == [])


def test_a_name_beside_a_response_in_the_metadata_hides_no_reasoning_from_the_switch():
    from reasoning_replay.litellm._redact import redacted_call

    word = "CANARY-the user lives in Oslo and hides it"
    reply = {"role": "assistant", "content": "x", "reasoning_content": word}
    for metadata in ({"name": "agent", "response": reply}, {"log": f"reply: {json.dumps(reply)}"}, {"log": str(reply)}):
        assert word in str(metadata)
        assert word not in str(redacted_call(({"metadata": metadata},), {}))
