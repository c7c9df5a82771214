"""The host as a tool: options, what it records, what it remembers, and what the searches find."""

import datetime as dt
import json
import threading

import httpx
import pytest

from reasoning_replay.testing import (
    JUDGES,
    Reply,
    Text,
    aliases,
    call,
    canaries_in,
    foreign_bytes,
    moved_prefixes,
    strict_host,
    think,
)
from wire_client import ask, loop, message_of, results_of

USER = {"role": "user", "content": "q"}


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_every_row_says_where_it_is_known_from_and_since_when(name):
    row = JUDGES[name]

    assert row.source
    assert row.confidence
    assert dt.date.fromisoformat(row.date) >= dt.date(2025, 1, 1)


def test_an_unknown_host_or_option_is_named_with_what_there_is():
    with (
        pytest.raises(ValueError, match=r"strict_host: no host 'deepsek'; there are: anthropic, .*, deepseek, "),
        strict_host("deepsek"),
    ):
        pass
    with (
        pytest.raises(
            ValueError, match=r"strict_host\('groq'\): no option 'filler'; there are: script, steps, reasoning_models"
        ),
        strict_host("groq", filler="empty"),
    ):
        pass
    with (
        pytest.raises(ValueError, match=r"strict_host\('deepseek'\): no filler 'none'; there are: any, empty, space"),
        strict_host("deepseek", filler="none"),
    ):
        pass


def test_a_judge_that_is_not_installed_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr("reasoning_replay.testing._host.find_spec", lambda name: None)
    with (
        pytest.raises(
            ImportError,
            match=r"'deepseek'\) is judged by deepseek_recipe, .* pip install 'reasoning-replay\[testing\]'",
        ),
        strict_host("deepseek"),
    ):
        pass
    with strict_host("groq") as host:
        assert 200 == ask(host, [USER]).status_code


def test_a_host_starts_on_a_port_of_its_own_and_is_gone_after_the_block():
    with strict_host("groq") as host:
        assert (f"127.0.0.1:{host.name.partition(':')[2]}", f"http://{host.name}/openai/v1") == (host.name, host.url)
        assert 200 == ask(host, [USER]).status_code
    with pytest.raises(httpx.ConnectError):
        ask(host, [USER])


def test_a_request_is_kept_as_it_came(strict_hosts):
    host = strict_hosts("unknown")
    httpx.post(
        host.endpoint,
        content=b'{"model": "m",  "messages": [{"role": "user", "content": "q"}]}',
        headers={"x-test": "1"},
        verify=False,
    )

    assert b'{"model": "m",  "messages": [{"role": "user", "content": "q"}]}' == host.last.raw
    assert ("1", "/v1/chat/completions", 200, None) == (
        host.last.headers["x-test"],
        host.last.path,
        host.last.status,
        host.last.refusal,
    )
    assert [USER] == host.last.messages == host.last.json["messages"]


def test_no_repr_shows_a_word_of_reasoning(strict_hosts):
    host = strict_hosts("deepseek")
    loop(host)

    assert [] == canaries_in(f"{host!r} {host.last!r} {host.requests!r}")
    assert 3 == len(canaries_in(" ".join(host.issued)))


def test_a_list_of_replies_is_used_up_and_the_model_goes_on(strict_hosts):
    host = strict_hosts("unknown", script=[Reply((Text("first"),))])
    texts = [ask(host, [USER]).json()["choices"][0]["message"]["content"] for _ in range(2)]

    assert ["first", None] == texts


def test_a_function_is_asked_for_every_reply(strict_hosts):
    turns = []

    def script(turn):
        turns.append(turn)
        return Reply((think(f"step {turn.step}"), call(id="c1") if turn.step < 1 else Text("done")))

    host = strict_hosts("unknown", script=script)
    loop(host)

    assert [(0, 0, True, True), (1, 1, True, True)] == [(t.step, t.number, t.thinking, t.tools) for t in turns]
    assert "step 0" == host.last.messages[1]["reasoning_content"]


def test_another_status_is_a_failing_host(strict_hosts):
    host = strict_hosts("anthropic", script=[Reply((), status=529), Reply((Text("a"),))])
    statuses = [ask(host, [USER]).status_code for _ in range(2)]

    assert [529, 200] == statuses
    assert ["Overloaded"] == host.refusals


def test_a_fault_of_the_script_is_a_500_that_says_so_and_is_kept(strict_hosts):
    def script(turn):
        raise KeyError("oops")

    host = strict_hosts("unknown", script=script)
    response = ask(host, [USER])
    said = "strict host unknown: KeyError: 'oops'"
    assert (500, said, [said]) == (response.status_code, response.json()["error"]["message"], host.faults)
    host.reset()
    assert [] == host.faults


def test_a_reset_host_is_as_new(strict_hosts):
    host = strict_hosts("deepseek", filler="space", steps=0)
    ask(host, [USER])
    host.reset()

    assert ([], {}, [], 2, "any") == (
        host.requests,
        dict(host.issued),
        host.lost() if host.requests else [],
        host.steps,
        host.options["filler"],
    )


def test_aliases_name_the_real_host_for_a_policy(strict_hosts):
    old, new = strict_hosts("deepseek-v3.2"), strict_hosts("deepseek")

    assert {old.name: "deepseek", new.name: "deepseek"} == aliases([old, new])


# Searching ------------------------------------------------------------------------------------------------------------


@pytest.mark.leaks(reason="text and signature are sent to another host on purpose")
def test_foreign_reasoning_is_found_whatever_it_hides_in(strict_hosts):
    claude, other = strict_hosts("anthropic"), strict_hosts("unknown")
    block = message_of(claude, ask(claude, [USER]))["content"][0]
    assert [] == foreign_bytes([claude, other])

    for carrier in (block["thinking"], block["signature"][:40], json.dumps([block])):
        ask(other, [{"role": "user", "content": carrier}])
    found = foreign_bytes([claude, other])

    assert [0, 1, 2, 2] == sorted(f.request for f in found)
    assert {(other, claude)} == {(f.at, f.written_by) for f in found}


def test_a_host_s_own_reasoning_is_not_foreign_to_it(strict_hosts):
    hosts = [strict_hosts("deepseek"), strict_hosts("deepseek")]
    for host in hosts:
        loop(host)

    assert hosts[0].name != hosts[1].name
    assert [] == foreign_bytes(hosts)


@pytest.mark.leaks(reason="the mark is put on the wire on purpose")
def test_our_mark_is_seen_anywhere_in_a_body(strict_hosts):
    host = strict_hosts("unknown")
    ask(host, [USER])
    assert not host.saw_mark
    ask(host, [{**USER, "provider_specific_fields": {"reasoning_replay": {}}}])
    assert host.saw_mark


def test_reasoning_under_a_key_that_the_host_does_not_read_is_lost(strict_hosts):
    host = strict_hosts("openrouter")
    history, _ = loop(host, steps=None)
    assert [] == host.lost()
    details = history[1].pop("reasoning_details")
    history[1]["provider_specific_fields"] = {"reasoning_details": details}
    ask(host, [*history, USER])

    assert 1 == len(host.lost()), "the text is still under `reasoning`, the signature is lost"


def test_a_prefix_that_changed_within_a_turn_is_found(strict_hosts):
    host = strict_hosts("unknown")
    history, _ = loop(host)
    assert [] == moved_prefixes([host]), "each step goes on with the one before"
    del history[1]["reasoning_content"]
    ask(host, history)
    assert [(2, 3, 1)] == [(m.earlier, m.later, m.message) for m in moved_prefixes([host])]


def test_a_new_turn_or_another_conversation_may_have_another_prefix(strict_hosts):
    host = strict_hosts("unknown")
    history, _ = loop(host)
    for message in history:
        message.pop("reasoning_content", None)
    ask(host, [*history, {"role": "user", "content": "And tomorrow?"}])
    loop(host, [{"role": "user", "content": "Another question"}])

    assert [] == moved_prefixes([host])


def test_64_conversations_at_once_do_not_mix(strict_hosts):
    host = strict_hosts(
        "deepseek",
        script=lambda turn: Reply(
            (think(turn.body["messages"][0]["content"] * 2), call(id="c1") if turn.step < 1 else Text("done"))
        ),
    )
    wrong = []

    def talk(number):
        history, last = loop(host, [{"role": "user", "content": f"<{number}>"}])
        if last.status_code != 200 or any(
            m["reasoning_content"] != f"<{number}>" * 2 for m in history if m["role"] == "assistant"
        ):
            wrong.append(number)

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ([], 128) == (wrong, len(host.requests))


def test_results_of_a_step_with_no_calls_are_none(strict_hosts):
    host = strict_hosts("anthropic", steps=0)

    assert [] == results_of(host, message_of(host, ask(host, [USER])))
