"""`reasoning-replay hosts`: what is said of a rule is what stands in its file."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from reasoning_replay import _cli, rule_for
from reasoning_replay._cli._hosts import BOUND, DEMANDS, SCOPES, SEALS, WINDOWS, lines_of
from reasoning_replay._cli._target import VENDORS
from reasoning_replay._host import Bound, Requirement, Scope, Signature, Window
from reasoning_replay.hosts import all_hosts, builtin


def said(capsys, *options):
    assert 0 == _cli.main(["hosts", *options])
    return capsys.readouterr().out


def test_the_list_has_every_file(capsys):
    text = said(capsys)
    assert all(any(line.startswith(f"{host.id} ") for line in text.splitlines()) for host in builtin())
    assert {host.id for host in builtin()} == {row["id"] for row in json.loads(said(capsys, "--json"))["hosts"]}


@pytest.mark.parametrize("host", builtin(), ids=lambda host: host.id)
def test_every_host_is_told_with_a_source_and_a_date_for_each_rule(host, capsys):
    text = said(capsys, host.id)
    for rule in host.rules:
        assert f"({rule.date.isoformat()}, {rule.confidence})" in text
        assert all(source in text for source in rule.source)
    told = json.loads(said(capsys, host.id, "--json"))
    assert len(host.rules) == len(told["rules"])


def test_every_word_that_a_rule_may_use_has_a_sentence():
    for words, literal in (
        (WINDOWS, Window),
        (DEMANDS, Requirement),
        (SCOPES, Scope),
        (SEALS, Signature),
        (BOUND, Bound),
    ):
        assert set(words) == set(get_args(literal))


def test_with_a_model_only_rules_that_can_decide_for_it_are_told(capsys):
    for host in builtin():
        for dialect in dict.fromkeys(rule.dialect for rule in host.rules):
            model = "some-model-of-mine"
            told = json.loads(said(capsys, host.id, "--model", model, "--dialect", dialect, "--json"))["rules"]
            first = host.hosts[0].replace("*", "x") if host.hosts else None
            if first is not None and host.matches(first):
                rule = rule_for(first, model, dialect=dialect)
                assert rule.date.isoformat() in {row["date"] for row in told}
                assert [rule.requirement] == [row["requirement"] for row in told if not row["when"]][-1:] or told[-1][
                    "when"
                ]


DEEPSEEK = """\
deepseek: api.deepseek.com
  thinking: thinking.type (on: enabled, off: disabled); reasoning_effort (on: anything else, off: none)

chat, deepseek-v4-pro (by every model), thinking off
  window    none: no earlier reasoning goes back
  field     comes in reasoning_content
  sent back not looked at
  foreign   left out
  source    deepseek_v4pro_kit probe 2 (2026-05-09); openclaw 2026.9.6 (2026-09-24, observed)

chat, deepseek-v4-pro (by every model)
  window    all_if_tools: every turn's goes back where the request has tools, else the running turn's
  field     comes in reasoning_content, goes back in reasoning_content
  sent back demanded: the host refuses any message of the assistant without it
  foreign   left out; '' stands in its place on any message of the assistant
  source    https://api-docs.deepseek.com/guides/thinking_mode; deepseek-recipe 0.2.0 (Reject) (2026-11-30, documented)
"""


def test_what_is_printed_as_a_whole(capsys):
    assert DEEPSEEK == said(capsys, "deepseek", "--model", "deepseek-v4-pro", "--dialect", "chat")


def test_a_url_and_a_name_find_their_file_and_a_host_that_nobody_described_is_said_to_be_one(capsys):
    assert said(capsys, "https://api.groq.com/openai/v1").startswith("groq: api.groq.com\n")
    assert "no file describes this host: these are the cautious rules for unknown ones" in said(capsys, "new.example")


def test_what_a_rule_leaves_open_is_not_told():
    rule = next(host for host in builtin() if host.id == "cohere").rules[0]
    assert "sealed" not in dict(lines_of(rule))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["gorq"], "HOST 'gorq': no id of a host; did you mean 'groq'?"),
        (["--model", "m"], "--model and --dialect choose among one host's rules; give HOST too"),
        (["groq", "--dialect", "chatt"], "--dialect 'chatt': not known; did you mean 'chat'?"),
    ],
)
def test_what_was_asked_wrongly_is_one_line_and_exit_status_2(options, text, capsys):
    assert 2 == _cli.main(["hosts", *options])
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line


def test_the_list_names_those_too_of_which_only_the_key_is_known(capsys):
    short = said(capsys)
    assert "302ai" not in short
    assert f"--all lists {len(all_hosts()) - len(builtin())} more" in short
    whole = said(capsys, "--all")
    assert [host.id for host in all_hosts()] == [line.split()[0] for line in whole.splitlines()[1:-2]]
    assert len(all_hosts()) == len(json.loads(said(capsys, "--all", "--json"))["hosts"])


@pytest.mark.parametrize(("name", "ids"), [("grok", "'xai' or 'groq'"), ("Qwen", "'dashscope'"), ("groc", "'groq'")])
def test_the_name_of_models_finds_their_vendor(name, ids, capsys):
    assert 2 == _cli.main(["hosts", name])
    assert f"no id of a host; did you mean {ids}? give a URL" in capsys.readouterr().err


def test_every_vendor_that_is_proposed_has_a_file():
    assert set(VENDORS.values()) <= {host.id for host in builtin()}
    assert set(VENDORS).isdisjoint(host.id for host in builtin())
