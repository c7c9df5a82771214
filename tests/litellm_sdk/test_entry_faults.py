"""`responses` and `anthropic.messages` where a step of ours fails, or LiteLLM has not the place for it."""

import copy
import logging

import litellm
import pytest

from litellm_entries import ANSWERED, CALLED, CREATE, DONE, QUESTION, RESPOND, SEALED, SEEN, USED, events_of
from reasoning_replay import _engine
from reasoning_replay.litellm import _bridge, _entries, _patches, _told
from reasoning_replay.testing import canaries_in

ITEMS = [QUESTION, SEALED, CALLED, DONE]
MESSAGES = [QUESTION, {"role": "assistant", "content": [SEEN, USED]}, ANSWERED]
ENTRIES = {
    "responses": ("openai-responses", RESPOND, ITEMS),
    "responses as chat": ("deepseek", RESPOND, ITEMS),
    "messages": ("anthropic", CREATE, MESSAGES),
    "messages as chat": ("moonshot", CREATE, MESSAGES),
    "messages as responses": ("openai-responses", CREATE, MESSAGES),
}


class Broken(RuntimeError):
    """The fault. Its text must be in no log."""


def _broken(*args, **kwargs):
    raise Broken("CANARY-in-the-text-of-a-fault")


def _sent(entry, mode, strict_hosts, install, *, whole=True):
    name, modes, history = ENTRIES[entry]
    history = history if whole else [QUESTION]
    host = strict_hosts(name)
    install(host)
    return host, lambda: modes[mode](host, history)


STEPS = {
    "the engine": (_engine, "plan"),
    "the bridge": (_entries, "bridge_for"),
    "the address": (_entries, "hint_of"),
    "the form": (_entries, "form_for"),
    "bare rows": (_entries, "bare"),
    "the attempt": (_entries, "begin"),
    "the notes": (_entries, "details_of"),
    "texts": (_bridge, "block_payload"),
}


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_fault_costs_the_reasoning_and_not_the_call(entry, step, strict_hosts, install, monkeypatch):
    host, send = _sent(entry, "async", strict_hosts, install)
    monkeypatch.setattr(*STEPS[step], _broken)
    send()
    assert [] == host.refusals + canaries_in(host.last.raw.decode())
    assert b"provider_specific_fields" not in host.last.raw


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("step", ["mark_items", "answering", "tell"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_fault_over_a_reply_leaves_the_reply_to_the_caller(entry, step, strict_hosts, install, monkeypatch):
    _, send = _sent(entry, "async", strict_hosts, install, whole=False)
    monkeypatch.setattr(_entries, step, _broken)
    assert [] != canaries_in(str(send()))


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["stream", "async stream"])
def test_a_fault_over_an_event_leaves_the_stream_to_the_caller(mode, strict_hosts, install, monkeypatch):
    host = strict_hosts("openai-responses")
    callback = install(host)
    monkeypatch.setattr(type(callback), "event_leaves", _broken)
    assert "response.completed" == events_of(mode, host, [QUESTION])[-1].type


@pytest.mark.parametrize("entry", ["responses", "messages", "messages as responses"])
def test_where_litellm_has_not_the_place_nothing_leaks_and_one_warning_says_so(
    entry, strict_hosts, install, monkeypatch, caplog
):
    rows = tuple(row._replace(place="litellm.main:Gone") if row.dialect else row for row in _patches.PATCHES)
    monkeypatch.setattr(_patches, "PATCHES", rows)
    with caplog.at_level(logging.WARNING, "reasoning_replay"):
        host, send = _sent(entry, "async", strict_hosts, install)
        send()
    assert [] == host.refusals + canaries_in(host.last.raw.decode())
    said = [record.getMessage() for record in caplog.records if "no place" in record.getMessage()]
    assert 1 == len(said)
    assert "requests of responses and aresponses; requests of anthropic.messages" in said[0]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_callback_that_was_taken_out_changes_nothing(entry, strict_hosts, install):
    _, send = _sent(entry, "async", strict_hosts, install, whole=False)
    litellm.callbacks.clear()
    assert "reasoning_replay" not in str(send().get("content") if "messages" in entry else send().output)


def test_a_report_beside_blocks_is_copied_with_nothing():
    reply = {"content": [{"type": "text", "text": "x"}]}
    _told.tell(reply, None)
    assert list is type(copy.deepcopy(reply)["content"])
    assert _told.is_told(reply)
