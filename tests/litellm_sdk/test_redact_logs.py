"""`redact_logs=True`: loggers of every kind get sizes and digests, and what is replayed stays whole.

The judge is a logger that dumps all it is given, as text and as JSON, each logger's dumps searched byte for byte and in
base64 for every canary, signature and sealed value that the host has issued.
"""

import json
import time

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

import litellm_entries
from litellm_calls import MODES, TOOLS, fails_once, router, run, target, turn
from reasoning_replay import Policy
from reasoning_replay.litellm import ReasoningReplay, report_of
from reasoning_replay.testing import aliases, think
from reasoning_replay.testing._script import Reply
from reasoning_replay.testing._search import carries

EVENTS = (
    "log_pre_api_call", "log_post_api_call", "log_stream_event", "log_success_event", "log_failure_event", "logging_hook",
)  # fmt: skip
LATER = ("async_log_stream_event", "async_log_success_event", "async_log_failure_event", "async_logging_hook")
NAMES = ("fc_", "msg_", "call_", "toolu_")
"""Ids of what is visible stay in a log."""


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


def logger_into(dumps):
    """A logger that dumps everything it is told."""
    methods = {name: _method(name, dumps) for name in (*EVENTS, *LATER)}
    return type("Dumping", (CustomLogger,), methods)()


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
    import asyncio

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
