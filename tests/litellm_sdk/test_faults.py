"""A fault of ours costs the reasoning of one call, never the call: each step is made to fail in turn."""

import logging
import types

import litellm
import openai
import pytest

from litellm_calls import MODES, append, close, target
from reasoning_replay import _engine, _replay
from reasoning_replay.litellm import _callback, _patches
from reasoning_replay.testing import canaries_in


class Broken(RuntimeError):
    """The fault. Its text must be in no log."""


def _broken(*args, **kwargs):
    raise Broken("CANARY-in-the-text-of-a-fault")


def _breaks_view(monkeypatch):
    _break_form(monkeypatch, "view")


def _breaks_apply(monkeypatch):
    _break_form(monkeypatch, "apply")


def _break_form(monkeypatch, step):
    whole = _replay.form_for
    broken = {step: _broken}
    monkeypatch.setattr(_replay, "form_for", lambda name, dialect: whole(name, dialect)._replace(**broken))


STEPS = {
    "view": _breaks_view,
    "resolve": lambda patch: patch.setattr(_replay, "resolve", _broken),
    "select": lambda patch: patch.setattr(_replay, "select", _broken),
    "plan": lambda patch: patch.setattr(_engine, "plan", _broken),
    "apply": _breaks_apply,
    "loading a rule": lambda patch: patch.setattr(_replay, "all_hosts", _broken),
}


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream", "router", "async router"])
@pytest.mark.parametrize("kind", ["deepseek", "anthropic"])
@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_costs_the_reasoning_and_not_the_call(
    step, kind, mode, strict_hosts, install, monkeypatch, caplog
):
    host = strict_hosts(kind, steps=4)
    install(host)
    messages = [{"role": "user", "content": "How is the weather?"}]
    append(messages, MODES[mode](host, messages))
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "reasoning_replay"):
        STEPS[step](patch)
        for _ in range(2):
            MODES[mode](host, messages)
    assert [] == host.refusals
    assert [] == canaries_in(host.last.raw.decode())
    said = [each for each in caplog.records if each.name == "reasoning_replay" and each.levelno >= logging.WARNING]
    assert 1 == len(said)
    assert "Broken inside reasoning-replay" in said[0].getMessage()
    assert said[0].exc_info is None
    MODES[mode](host, messages)
    assert [] == host.refusals


FINDINGS = (
    *("carrier_of", "predicted_url", "hint_of", "write_body", "as_dict", "_origin", "attempt_of", "begin"),
    *("details_of", "is_covered", "body_of"),
)
BEFORE = [
    {"role": "user", "content": "How is the weather?"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "CANARY-elsewhere",
        "thinking_blocks": [{"type": "thinking", "thinking": "CANARY-elsewhere", "signature": "c2ln"}],
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}],
        "provider_specific_fields": {"reasoning_details": [{"type": "reasoning.text", "text": "CANARY-elsewhere"}]},
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "3C"},
]


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("kind", ["deepseek", "anthropic"])
@pytest.mark.parametrize("name", FINDINGS)
def test_a_fault_while_the_host_is_found_leaks_nothing_and_breaks_nothing(
    name, kind, mode, strict_hosts, install, monkeypatch
):
    host = strict_hosts(kind)
    install(host)
    whole = getattr(_callback, name)
    calls = []

    def fails_once(*args, **kwargs):
        calls.append(name)
        return _broken() if len(calls) == 1 else whole(*args, **kwargs)

    monkeypatch.setattr(_callback, name, _broken if name in ("carrier_of", "hint_of", "predicted_url") else fails_once)
    MODES[mode](host, BEFORE)
    assert [] == host.refusals
    assert [] == canaries_in(host.last.raw.decode())
    assert b"provider_specific_fields" not in host.last.raw


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("kind", ["deepseek", "anthropic"])
def test_a_fault_in_the_hook_that_stands_in_for_a_missing_place_strips_too(kind, strict_hosts, install, monkeypatch):
    rows = tuple(
        row._replace(place="litellm.main:Gone") if "Dispatch" in row.place else row for row in _patches.PATCHES
    )
    monkeypatch.setattr(_patches, "PATCHES", rows)
    host = strict_hosts(kind)
    install(host)
    monkeypatch.setattr(_callback.ReasoningReplay, "_hooked", _broken)
    MODES["async"](host, BEFORE)
    assert [] == host.refusals + canaries_in(host.last.raw.decode())


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("name", ["forget", "is_covered"])
def test_a_fault_over_the_notes_of_an_async_attempt_strips_and_breaks_nothing(name, strict_hosts, install, monkeypatch):
    host = strict_hosts("deepseek")
    install(host)
    monkeypatch.setattr(_callback, name, _broken)
    MODES["async"](host, BEFORE)
    assert [] == host.refusals + canaries_in(host.last.raw.decode())


CLIENT_STEPS = ("client_base", "details_of", "is_covered", "attempt_of", "begin", "changed")


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("step", CLIENT_STEPS)
def test_a_fault_over_a_callers_client_strips_too(step, mode, strict_hosts, install, monkeypatch):
    host = strict_hosts("unknown")
    install(host)
    whole = getattr(_callback, step)
    calls = []

    def fails_once(*args, **kwargs):
        calls.append(step)
        return _broken() if len(calls) == 1 else whole(*args, **kwargs)

    monkeypatch.setattr(_callback, step, fails_once if step == "changed" else _broken)
    make = openai.AsyncOpenAI if "async" in mode else openai.OpenAI
    client = make(base_url=host.url, api_key="k")
    MODES[mode](host, BEFORE, client=client, api_base=None)
    close(client)
    assert [] == canaries_in(host.last.raw.decode())


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("whole", [False, True], ids=["lacks what we read", "no dataclass"])
def test_a_context_of_another_litellm_is_no_reason_to_fail(whole, strict_hosts, install):
    callback = install()
    client = types.SimpleNamespace(base_url="http://127.0.0.1:9/v1")
    notes = types.SimpleNamespace(model_call_details={"call_type": "completion"})
    context = types.SimpleNamespace(messages=BEFORE, optional_params={}, client=client, kept="as it is")
    if whole:
        context = types.SimpleNamespace(**vars(context), logging=notes, model="m", custom_llm_provider="openai")
    planned = callback.through_client(context)
    assert "as it is" == planned.kept
    assert [] == canaries_in(str(planned.messages))
    assert BEFORE is context.messages


BUILDING = ("joined_blocks", "of_one_origin", "report_of", "tell")


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["stream", "async stream"])
@pytest.mark.parametrize("kind", ["deepseek", "anthropic"])
@pytest.mark.parametrize("name", BUILDING)
def test_a_fault_while_a_stream_is_put_together_leaves_the_reply_and_the_next_call(
    name, kind, mode, strict_hosts, install, monkeypatch
):
    host = strict_hosts(kind)
    install(host)
    called = []

    def broken(*args, **kwargs):
        called.append(name)
        raise Broken

    monkeypatch.setattr(_patches, name, broken)
    messages = [{"role": "user", "content": "How is the weather?"}]
    reply = MODES[mode](host, messages)
    assert [] != called or (kind, name) == ("deepseek", "joined_blocks")  # it has no blocks
    assert [] != canaries_in(reply.choices[0].message.reasoning_content)
    append(messages, reply)
    MODES[mode](host, messages)
    assert [] == host.refusals


@pytest.mark.faulty(reason="that is what is tried")
def test_what_stands_in_place_of_the_list_of_callbacks_breaks_no_hook(strict_hosts, install, monkeypatch):
    host = strict_hosts("deepseek")
    callback = install(host)
    body = {"model": host.model, "messages": [dict(message) for message in BEFORE]}
    notes = {"call_type": "completion", "custom_llm_provider": "deepseek", "model": host.model}
    notes["additional_args"] = {"complete_input_dict": body, "api_base": host.url}
    with monkeypatch.context() as patch:
        patch.setattr(litellm, "callbacks", None)
        callback.log_pre_api_call(host.model, BEFORE, notes)
    assert [] == canaries_in(str(body))
    callback.log_pre_api_call(host.model, BEFORE, {**notes, "additional_args": 7})


ANNOTATIONS = ("replied", "chunk_arrived", "chunk_leaves")


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_fault_over_a_reply_leaves_the_reply_to_the_caller(name, mode, strict_hosts, install, monkeypatch):
    host = strict_hosts("deepseek")
    install(host)
    monkeypatch.setattr(_callback.ReasoningReplay, name, _broken)
    reply = MODES[mode](host, [{"role": "user", "content": "q"}])
    assert [] != canaries_in(reply.choices[0].message.reasoning_content)


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_a_fault_while_a_reply_is_read_leaves_it_unmarked(mode, strict_hosts, install, monkeypatch):
    from reasoning_replay import _capture

    host = strict_hosts("deepseek")
    install(host)
    monkeypatch.setattr(_capture, "_captured", _broken)
    messages = [{"role": "user", "content": "q"}]
    append(messages, MODES[mode](host, messages))
    monkeypatch.undo()
    MODES[mode](host, messages)
    assert [] == host.refusals


@pytest.mark.faulty(reason="that is what is tried")
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_no_host_would_take_goes_the_fallbacks_way(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    strange = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning_content": 7}]
    MODES[mode](host, [*strange, {"role": "user", "content": "r"}])
    assert "reasoning_content" not in host.last.messages[1]


def test_a_builder_that_already_keeps_blocks_apart_is_not_patched():
    def apart(self, chunks):
        return [{"thinking": "a"}, {"thinking": "b"}]

    assert not _patches._glues_blocks(apart)
    assert _patches._glues_blocks(lambda self, chunks: [])


def test_a_place_whose_function_has_changed_is_not_patched(strict_hosts, install, monkeypatch, caplog):
    import litellm.utils

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "reasoning_replay"):
        patch.setattr(litellm.utils, "update_response_metadata", lambda *, reply: None)
        install().uninstall()
    assert ["marks on replies that do not stream"] == [
        record.getMessage().rpartition(": ")[2] for record in caplog.records if "no place" in record.getMessage()
    ]


def test_a_policy_that_names_a_file_that_is_not_there_says_so(strict_hosts):
    from reasoning_replay import Policy
    from reasoning_replay.litellm import ReasoningReplay

    host = strict_hosts("unknown")
    litellm.callbacks.append(ReasoningReplay(Policy(aliases={host.name: "deepsek"})))
    with pytest.raises(Exception, match="did you mean 'deepseek'"):
        litellm.completion(**target(host), messages=[{"role": "user", "content": "q"}])
    assert [] == host.requests
