"""In and out: construction, a second policy, `uninstall` and `litellm.callbacks.clear()`, missing places, others' callbacks."""

import copy
import functools
import json
import logging
import pickle
import subprocess
import sys
import time

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

import reasoning_replay.litellm
from litellm_calls import LISTS, MODES, append, go_on, run, standing, target, turn
from reasoning_replay import BadPolicy, Policy
from reasoning_replay.litellm import ReasoningReplay, _patches, report_of
from reasoning_replay.testing import canaries_in


def test_importing_changes_nothing_and_construction_patches():
    before = standing()
    callback = ReasoningReplay()
    assert [] == [new for old, new in zip(before, standing(), strict=True) if old is new]
    callback.uninstall()
    assert before == standing()


def test_the_import_alone_leaves_litellm_as_it_is():
    code = (
        "import litellm, litellm.main as m; before = m.CompletionDispatchContext; import reasoning_replay.litellm;"
        "assert m.CompletionDispatchContext is before; assert litellm.callbacks == []"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_same_policy_twice_is_one_callback():
    first = ReasoningReplay(Policy(missing="leave"))
    patched = standing()
    assert ReasoningReplay(Policy(missing="leave")) is first
    assert patched == standing()


def test_a_second_policy_says_what_to_do():
    first = ReasoningReplay()
    with pytest.raises(ValueError, match=r"another policy is installed .* call uninstall\(\) on the first"):
        ReasoningReplay(Policy(missing="leave"))
    first.uninstall()
    ReasoningReplay(Policy(missing="leave"))


@pytest.mark.parametrize("given", [{"window": "all", "api_key": "SECRET"}, "drop", Policy])
def test_what_is_no_policy_is_refused_and_not_shown(given):
    with pytest.raises(BadPolicy, match=r"^policy: a (dict|str|type); allowed: a Policy, or None$"):
        ReasoningReplay(given)
    assert ReasoningReplay._installed is None


def test_the_class_without_its_parentheses_installs_nothing(strict_hosts, install):
    host = strict_hosts("unknown")
    litellm.callbacks.append(ReasoningReplay)
    litellm.completion(
        model=f"openai/{host.model}", api_base=host.url, api_key="SECRET", messages=[{"role": "user", "content": "q"}]
    )
    assert ReasoningReplay._installed is None
    litellm.callbacks.remove(ReasoningReplay)
    assert install().policy == Policy()


def test_uninstall_twice_is_no_fault_and_the_next_one_works(strict_hosts, install):
    host = strict_hosts("deepseek")
    callback = install(host)
    callback.uninstall()
    callback.uninstall()
    install(host)
    turn("sync", host, [])
    assert [] == host.refusals + host.lost()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_uninstall_leaves_every_list(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    callback = install(host)
    turn(mode, host, [])
    assert any(callback in getattr(litellm, name) for name in LISTS if name != "callbacks")
    callback.uninstall()
    assert [] == [name for name in LISTS if callback in getattr(litellm, name)]


def _wire_and_result(mode, host):
    """What goes out for one fixed history, and what comes back."""
    messages = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "I see.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}],
            "thinking_blocks": [{"type": "thinking", "thinking": "I see.", "signature": "c2ln"}],
            "provider_specific_fields": {"reasoning_details": [{"type": "reasoning.text", "text": "I see."}]},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3C"},
    ]
    try:
        reply = MODES[mode](host, messages)
    except litellm.exceptions.BadRequestError as error:
        return host.last.raw, type(error).__name__
    message = reply.choices[0].message.model_dump()
    text = json.dumps({key: message.get(key) for key in message if key != "tool_calls"}, sort_keys=True)
    return host.last.raw, text.replace(str(canaries_in(text)), "").count("reasoning_replay"), sorted(message)


PLAIN = ("sync", "async", "stream", "async stream")


@pytest.mark.parametrize("way", ["uninstall", "clear"])
@pytest.mark.parametrize("kind", ["deepseek", "anthropic", "openrouter", "unknown"])
@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[] if mode in PLAIN else pytest.mark.slow) for mode in MODES]
)
def test_afterwards_wire_and_results_are_bare_litellms(mode, kind, way, strict_hosts, install):
    host = strict_hosts(kind)
    bare = _wire_and_result(mode, host)
    callback = install(host)
    turn(mode, host, [])
    callback.uninstall() if way == "uninstall" else litellm.callbacks.clear()
    assert bare == _wire_and_result(mode, host)


class Other(CustomLogger):
    """A callback of somebody else's: it counts what it is told, and changes a request."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.reports = []

    async def async_pre_call_deployment_hook(self, kwargs, call_type):
        self.seen.append("hook")
        return {**kwargs, "temperature": 0.25}

    def log_pre_api_call(self, model, messages, kwargs):
        self.seen.append("pre")
        kwargs["additional_args"]["complete_input_dict"]["top_p"] = 0.75

    def log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.seen.append("success")
        self.reports.append(kwargs["reasoning_replay"])

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.log_success_event(kwargs, response_obj, start_time, end_time)


@pytest.mark.parametrize("first", [False, True], ids=["after ours", "before ours"])
@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
def test_other_callbacks_work_and_find_the_report(mode, first, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    other = Other()
    litellm.callbacks.insert(0 if first else 1, other)
    turn(mode, host, [])
    assert [] == host.refusals + host.lost()
    assert 0.75 == host.last.json["top_p"]
    assert ("async" in mode) == ("temperature" in host.last.json)
    deadline = time.monotonic() + 10
    while len(other.reports) < 3 and time.monotonic() < deadline:
        run(_a_moment())
    assert [0, 1, 2] == sorted(report.counts().get("keep", 0) for report in other.reports)
    assert [] == canaries_in(str(other.reports))


async def _a_moment():
    import asyncio

    await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", MODES)
def test_the_report_of_a_call_is_on_its_reply(mode, strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    reply = turn(mode, host, [])
    report = report_of(reply)
    assert {"keep": 2} == report.counts()
    assert host.name in str(report)
    assert [] == canaries_in(str(report) + json.dumps(report.to_dict()))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hidden_parameters_are_what_they_were(mode, strict_hosts, install):
    host = strict_hosts("unknown")
    install(host)
    reply = MODES[mode](host, [{"role": "user", "content": "q"}])
    told = reply._hidden_params
    for hidden in (
        told,
        copy.deepcopy(told),
        pickle.loads(pickle.dumps(told)),
        json.loads(json.dumps(told, default=str)),
    ):
        assert "reasoning_replay" not in str(hidden)
    assert sorted(dict(told)) == sorted(told)
    chunks = list(litellm.completion(**target(host), messages=[{"role": "user", "content": "q"}], stream=True))
    assert "Report" not in "".join(json.dumps(chunk._hidden_params, default=repr) for chunk in chunks)


def test_the_report_of_a_stream_is_on_the_stream(strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    stream = litellm.completion(**target(host), messages=[{"role": "user", "content": "q"}], stream=True)
    assert host.name in str(report_of(stream))


def test_without_the_callback_a_reply_has_no_report(strict_hosts):
    host = strict_hosts("deepseek")
    assert report_of(MODES["sync"](host, [{"role": "user", "content": "q"}])) is None


@pytest.mark.parametrize("missing", _patches.PATCHES, ids=lambda patch: patch.place.rpartition(":")[2])
def test_a_missing_place_is_warned_of_once_and_the_rest_works(missing, strict_hosts, install, monkeypatch, caplog):
    gone = missing._replace(place=missing.place + "_gone")
    rows = tuple(gone if patch is missing else patch for patch in _patches.PATCHES)
    monkeypatch.setattr(_patches, "PATCHES", rows)
    host, there = strict_hosts("deepseek"), strict_hosts("cerebras")
    with caplog.at_level(logging.WARNING, "reasoning_replay"):
        install(host, there).uninstall()
        litellm.callbacks.clear()
        install(host, there)
    said = [record.getMessage() for record in caplog.records if "no place for some patches" in record.getMessage()]
    assert 1 == len(said)
    assert missing.covers in said[0]
    for mode in ("sync", "async"):
        messages = []
        turn(mode, host, messages)
        go_on(mode, there, [*messages, {"role": "user", "content": "again"}])
    assert [] == host.refusals + there.refusals


def test_where_somebody_wrapped_a_patch_ours_stays_and_does_nothing(strict_hosts, install):
    import litellm.main

    host = strict_hosts("deepseek")
    bare = litellm.main.CompletionDispatchContext
    callback = install(host)
    ours = litellm.main.CompletionDispatchContext
    try:
        litellm.main.CompletionDispatchContext = functools.partial(ours)  # somebody wraps it
        callback.uninstall()
        reply = MODES["sync"](host, [{"role": "user", "content": "q"}])
        assert report_of(reply) is None
    finally:
        litellm.main.CompletionDispatchContext = bare


def test_asking_the_module_for_a_name_patches_nothing_and_raises_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "litellm.proxy.proxy_server", raising=False)  # another test may have loaded it
    before = standing()
    for name in ("proxy_handler_instance", "proxy_handler", "__wrapped__"):
        assert not hasattr(reasoning_replay.litellm, name)
    assert before == standing()
    ReasoningReplay(Policy(missing="leave"))
    assert not hasattr(reasoning_replay.litellm, "proxy_handler_instance")


def test_what_layer_one_leaves_in_the_logs_can_be_copied_and_shows_nothing(strict_hosts, install):
    host = strict_hosts("deepseek")
    install(host)
    seen = []

    class Copier(CustomLogger):
        def log_pre_api_call(self, model, messages, kwargs):
            seen.append(copy.deepcopy({key: value for key, value in kwargs.items() if "reasoning_replay" in key}))

    litellm.callbacks.append(Copier())
    messages = [{"role": "user", "content": "q"}]
    while append(messages, MODES["sync"](host, messages)):
        pass
    assert 3 == len(seen)
    assert [] == canaries_in(repr(seen))
