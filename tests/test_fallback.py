"""What is sent when something inside fails: no reasoning, and what the host demands in its place."""

from __future__ import annotations

import json

import pytest

from reasoning_replay import prepare
from reasoning_replay._fallback import DEMANDS, demanded, stripped
from reasoning_replay.forms import form_of
from reasoning_replay.hosts import builtin

CALL = {"id": "c1__thought__CANARY", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SIGNED = {"thought_signature": "CANARY"}
BLOCK = {"type": "thinking", "thinking": "CANARY", "signature": "CANARY"}


class Thing:
    """An SDK's object."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, **options):
        return dict(self.fields)

    def __repr__(self):  # stands in the names of tests, which several processes must agree on
        return f"Thing({self.fields})"


ODD = [
    {"content": "x", "reasoning_content": "CANARY", "reasoning": "CANARY", "thinking": "CANARY"},
    {"content": "x", "thinking_blocks": [BLOCK], "reasoning_details": ["CANARY"], "reasoning_items": ["CANARY"]},
    {"content": "x", "provider_specific_fields": {"reasoning_replay": {"id": "CANARY", "v": 1}}, "turn": True},
    {"content": "x", "extra_content": SIGNED, "encrypted_content": "CANARY", "signature": "CANARY"},
    {"content": [BLOCK, {"type": "text", "text": "x", "extra_content": SIGNED}]},
    {"content": [Thing(**BLOCK), Thing(type="text", text="x", **SIGNED)]},
    {"content": None, "tool_calls": [{**CALL, "provider_specific_fields": SIGNED, "extra_content": SIGNED}]},
    {"content": None, "tool_calls": [Thing(**CALL, provider_specific_fields=SIGNED)]},
    {"content": None, "tool_calls": [{**CALL, "function": {"name": "f", "provider_specific_fields": SIGNED}}]},
    {"content": None, "function_call": {"name": "f", "provider_specific_fields": SIGNED}},
    {"content": None, "function_call": Thing(name="f", provider_specific_fields=SIGNED)},
]


@pytest.mark.parametrize("fields", ODD, ids=str)
@pytest.mark.parametrize("form", ["chat", "litellm"])
def test_strip_takes_reasoning_from_every_place_and_leaves_what_is_visible(form, fields):
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", **fields}]
    messages.append({"role": "tool", "tool_call_id": "c1__thought__CANARY", "content": "done"})
    left = form_of(form).strip(messages, None)
    assert "CANARY" not in json.dumps(left)
    assert len(left) == 3
    assert "turn" not in left[1]
    if fields.get("tool_calls"):
        assert left[2]["tool_call_id"] == left[1]["tool_calls"][0]["id"] == "c1"


def test_strip_takes_reasoning_from_every_block_and_leaves_out_what_is_empty_then():
    used = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "CANARY"}
    marked = {**BLOCK, "provider_specific_fields": {"reasoning_replay": {"id": "CANARY", "v": 1}}}
    compaction = {"type": "compaction", "content": "CANARY", "encrypted_content": "CANARY"}
    messages = [
        {"role": "user", "content": "go", "turn": False},
        {"role": "assistant", "content": [marked, compaction, used]},
        {"role": "assistant", "content": [marked]},
    ]
    assert form_of("anthropic").strip(messages, None) == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
    ]


def test_strip_leaves_out_a_message_that_had_only_reasoning_and_keeps_one_that_was_empty():
    empty = {"role": "assistant", "content": ""}
    assert form_of("chat").strip([empty, {**empty, "reasoning_content": "CANARY"}], None) == [empty]


def model_for(rule):
    return rule.models[0].replace("*", "") or "some-model"


REQUIRED = [
    (host.hosts[0], rule)
    for host in builtin()
    for rule in host.rules
    if rule.requirement == "required" and rule.missing is not None and rule.missing.fill is not None and host.hosts
    if rule.dialect in {"chat", "anthropic"}  # the seal of a call stands in a table of its own
]


@pytest.mark.parametrize(("host", "rule"), REQUIRED, ids=str)
def test_what_the_rules_demand_of_a_host_stands_in_the_fallbacks_own_table(host, rule):
    found = demanded(host, None, model_for(rule))
    assert found.fill == rule.missing.fill
    assert found.thinks or rule.dialect == "chat"


@pytest.mark.parametrize("demand", DEMANDS, ids=str)
def test_every_row_of_the_table_is_reached_by_host_and_by_hint(demand):
    model = demand.models.replace("*", "")
    for name in demand.names:
        assert demanded(name, None, model) is demand
        assert demanded("gw.example", name, model) is demand


def strip_for(host, dialect="chat", model="m", request=None):
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x", "reasoning_content": "R"}]
    return stripped(messages, form=None, dialect=dialect, host=host, hint=None, model=model, request=request)


def test_nothing_is_filled_where_thinking_is_off_or_the_host_demands_nothing():
    assert strip_for("api.deepseek.com")[0][1]["reasoning_content"] == ""
    for off in ({"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}):
        assert "reasoning_content" not in strip_for("api.deepseek.com", request=off)[0][1]
    assert "reasoning_content" not in strip_for("api.deepseek.com", model="deepseek-r1")[0][1]
    assert "reasoning_content" not in strip_for("api.groq.com")[0][1]


def test_in_the_anthropic_dialect_thinking_is_off_where_a_bare_tool_turn_would_be_refused():
    request = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096}
    assert strip_for("api.anthropic.com", "anthropic", request=request)[1] == {"max_tokens": 4096}
    assert strip_for("api.anthropic.com", "anthropic", request=None)[1] is None
    off = {"max_tokens": 4096, "thinking": {"type": "disabled"}}
    assert strip_for("api.deepseek.com", "anthropic", request=request)[1] == off
    assert strip_for("api.moonshot.ai", "anthropic", request={"max_tokens": 4096})[1] == off


CALLED = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "CANARY"}]}
GOOGLES = [
    (host.hosts[0].replace("*", "europe-west1-"), rule, models.replace("*", ""))
    for host in builtin()
    for rule in host.rules
    if host.id in {"gemini", "vertex"} and rule.dialect == "gemini"
    for models in rule.models
]


@pytest.mark.parametrize(("host", "rule", "model"), GOOGLES, ids=str)
def test_the_seal_that_the_rules_put_on_a_call_of_geminis_is_the_fallbacks_too(host, rule, model):
    """In Gemini's own form, where nobody else writes it; whichever model, the two say the same."""
    history = [{"role": "user", "parts": [{"text": "go"}]}, CALLED]
    request = {"tools": [{}]}
    left, _ = stripped(history, form=None, dialect="gemini", host=host, hint=None, model=model, request=request)
    planned = prepare(history, host=host, model=model, dialect="gemini", request=request).messages

    assert planned[1] == left[1]
    assert ("thoughtSignature" in left[1]["parts"][0]) == (rule.missing is not None)


def test_no_word_of_geminis_is_written_as_a_text_where_a_framework_writes_it():
    rows = [{"role": "assistant", "content": "x", "reasoning_content": "R"}]
    left, _ = stripped(rows, form="litellm", dialect="gemini", host="g", hint=None, model="gemini-3", request=None)
    assert [{"role": "assistant", "content": "x"}] == left
