"""`reasoning-replay probe`: what it finds at a strict host is that host's contract, and its entry is a rule file.

EXPECTED is written by hand from the evidence of each host, not from what the probe says.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest

if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

from reasoning_replay import _cli, load_hosts, prepare, rule_for
from reasoning_replay._cli import _probe
from reasoning_replay._cli._probe_calls import MOST_CALLS, Caller
from reasoning_replay._cli._toml import host_text
from reasoning_replay._cli._wrong import Wrong
from reasoning_replay._parse import parse
from reasoning_replay._policy import Policy
from reasoning_replay.hosts import builtin
from reasoning_replay.testing import JUDGES

KEY = "sk-probe-0123456789-SECRET"
CHAT_FIELDS = {"reasoning_content", "reasoning", "reasoning_details"}


def demanded(*, earlier, answers=None, fields=("reasoning_content",)):
    """A chat host that wants the field back, and takes anything for it."""
    return {
        "fields": list(fields), "own_taken": True, "needed_in_turn": True, "needed_in_earlier_steps": True,
        "needed_in_earlier_turns": earlier, "needed_on_answers": answers, "needed_without_tools": True,
        "needed_when_off": False, "placeholder": "", "placeholder_taken": True, "other_fields_refused": [],
    }  # fmt: skip


def not_demanded(*fields, refused=(), **more):
    return {
        "fields": list(fields), "own_taken": True, "needed_in_turn": False, "needed_in_earlier_turns": False,
        "other_fields_refused": sorted(refused), **more,
    }  # fmt: skip


def none_shown(*refused):
    return {"fields": [], "own_taken": None, "other_fields_refused": sorted(refused)}


def sealed(**more):
    return {
        "fields": ["content.thinking"], "own_taken": True, "needed_in_turn": True, "needed_in_earlier_steps": False,
        "needed_in_earlier_turns": False, "needed_when_off": False, "seal_checked": True, "unsigned_refused": True, **more,
    }  # fmt: skip


ITEMS = {"fields": ["content.item"], "own_taken": True, "needed_in_turn": False, "needed_in_earlier_turns": False, "seal_checked": True}  # fmt: skip
PLAIN_ITEMS = {**ITEMS, "seal_checked": None}
SIGNED_CALLS = {
    "own_taken": True, "needed_in_turn": True, "needed_in_earlier_steps": True, "needed_in_earlier_turns": False,
    "placeholder": "skip_thought_signature_validator", "placeholder_taken": True, "seal_checked": True,
}  # fmt: skip

EXPECTED = {
    # deepseek-recipe 0.2.0, Reject: assistant messages after the last user message, tools or not, thinking not off.
    "deepseek": demanded(earlier=False),
    "deepseek-v3.2": demanded(earlier=False),
    # "Please remove the reasoning_content from your message"
    "deepseek-r1": {"fields": ["reasoning_content"], "own_taken": False},
    # "reasoning_content is missing in assistant tool call message at index N", of every turn.
    "moonshot": demanded(earlier=True, answers=False),
    "groq": not_demanded("reasoning", refused=CHAT_FIELDS - {"reasoning"}),
    "cerebras": not_demanded("reasoning", refused=CHAT_FIELDS - {"reasoning"}),
    "mistral": not_demanded("content.thinking", refused=CHAT_FIELDS),
    "openrouter": not_demanded("reasoning", "reasoning_details", seal_checked=True, unsigned_refused=True),
    "openai": none_shown(*CHAT_FIELDS),
    "azure": none_shown(*CHAT_FIELDS),
    "xai": not_demanded("reasoning_content"),
    "fireworks": not_demanded("reasoning_content", refused=CHAT_FIELDS - {"reasoning_content"}),
    "together": not_demanded("reasoning"),
    "dashscope": not_demanded("reasoning_content"),
    "ollama": {"fields": ["thinking"], "own_taken": True, "needed_in_turn": False, "needed_in_earlier_turns": False},
    # Manual thinking: the last message of the running loop begins with a block; every block must be its own.
    "anthropic": sealed(placeholder_taken=False),
    "bedrock": sealed(),
    # Dropped items are no error where their followers' ids go too; what is sealed is verified.
    "openai-responses": ITEMS,
    "azure-responses": ITEMS,
    "xai-responses": ITEMS,
    # The first call of each step of the running turn; the vendor's sentinel stands in.
    # Open servers: plain items, nothing is sealed, nothing is demanded.
    "vllm-responses": PLAIN_ITEMS,
    "llamacpp-responses": PLAIN_ITEMS,
    "gemini": SIGNED_CALLS,
    "vertex": SIGNED_CALLS,
    "unknown": not_demanded("reasoning_content"),
}
BASES = {
    "azure": "/openai/v1",
    "azure-responses": "/openai/v1",
    "vertex": "/v1/projects/p/locations/global/publishers/google",
}
LOOSER = {"deepseek": "demands it in earlier turns"}
"""The table demands it on every message, as the vendor's guide does; the vendor's own package looks at the running turn."""


def probe(host, capsys, *options, like=None):
    status = _cli.main([
        "probe", "--base-url", host.url + BASES.get(host.kind, ""), "--model", host.model, "--dialect", host.dialect,
        "--as", like or host.judge.alias, "--yes", *options,
    ])  # fmt: skip
    return status, capsys.readouterr()


pytestmark = [
    pytest.mark.leaks("a probe sends what no host wrote, on purpose"),
    pytest.mark.moves_prefix("a probe withholds on purpose"),
]


def test_every_strict_host_is_expected_to_do_something():
    assert set(JUDGES) == set(EXPECTED)


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_a_probe_finds_is_the_contract_of_the_host(kind, strict_hosts, capsys, tmp_path):
    host = strict_hosts(kind)
    status, said = probe(host, capsys, "--json")
    told = json.loads(said.out)
    facts = told["facts"]
    facts["other_fields_refused"] = facts["other_fields_refused"] and sorted(facts["other_fields_refused"])
    asked = {name: facts[name] for name in EXPECTED[kind]}
    assert EXPECTED[kind] == asked
    assert (0, []) == (status, told["changed"])
    assert len(host.requests) == told["calls"] <= MOST_CALLS
    file = tmp_path / "probed.toml"
    file.write_text(told["toml"])
    policy = Policy(rules=load_hosts(file))
    rule = rule_for(host.url, host.model, dialect=host.dialect, policy=policy, request={"tools": [1]})
    assert (f"reasoning-replay probe of {host.name}, {host.model}",) == rule.source
    assert told["date"] == rule.date.isoformat()
    assert "CANARY" not in said.out + said.err


@pytest.mark.parametrize("kind", EXPECTED)
def test_the_table_says_of_every_strict_host_what_the_probe_finds(kind, strict_hosts, capsys):
    _, said = probe(strict_hosts(kind), capsys, "--json")
    rows = json.loads(said.out)["checks"]
    assert {LOOSER.get(kind)} - {None} == {row["words"] for row in rows if row["verdict"] == "looser"}


def test_a_model_that_does_not_know_manual_thinking_is_asked_in_the_way_that_it_knows(strict_hosts, capsys):
    host = strict_hosts("anthropic")
    at(host.url, "--as", "anthropic", "--json", model="claude-opus-5-5")
    told = json.loads(capsys.readouterr().out)
    asked = [request.json["thinking"]["type"] for request in host.requests if "thinking" in request.json]
    assert {"enabled", "adaptive"} <= set(asked)
    facts = told["facts"]
    assert (False, True, True) == (facts["needed_in_turn"], facts["seal_checked"], facts["unsigned_refused"])
    assert [] == told["changed"]


def test_the_entry_is_the_rule_by_which_the_host_is_served(strict_hosts, capsys, tmp_path):
    host = strict_hosts("moonshot")
    file = tmp_path / "probed.toml"
    file.write_text(probe(host, capsys)[1].out)
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
    ]
    plan = prepare(messages, host=host.url, model=host.model, policy=Policy(rules=load_hosts(file)))
    assert "" == plan.messages[1]["reasoning_content"]
    assert messages == prepare(messages, host=host.url, model=host.model).messages, "nobody described this address"
    history = tmp_path / "history.json"
    history.write_text(json.dumps(messages))
    asked = ["explain", str(history), "--to", host.url, "--model", host.model, "--json"]
    assert 0 == _cli.main(asked)
    capsys.readouterr()
    assert 1 == _cli.main([*asked, "--rules", str(file)])
    assert "missing" == json.loads(capsys.readouterr().out)["verdict"]["reason"]
    assert 0 == _cli.main(["hosts", host.url, "--rules", str(file)])
    assert capsys.readouterr().out.startswith(f"probed-127-0-0-1-{host.name.rpartition(':')[2]}: {host.name}\n")


@pytest.mark.parametrize(
    ("kind", "like", "line"),
    [
        ("unknown", "deepseek", "demands it in the running turn: no, the table says yes"),
        ("unknown", "fireworks", "refuses other hosts' fields: no, the table says yes"),
        ("deepseek", "dashscope", "demands it in the running turn: yes, the table says no"),
        ("groq", "dashscope", "brings reasoning in: reasoning, the table says reasoning_content"),
        ("deepseek-r1", "dashscope", "takes its own reasoning back: no, the table says yes"),
        ("xai-responses", "vllm", "refuses a seal that is not its own: yes, the table says no"),
    ],
)
def test_a_host_that_does_not_do_what_the_table_says_has_changed_its_contract(kind, like, line, strict_hosts, capsys):
    status, said = probe(strict_hosts(kind), capsys, like=like)
    assert 1 == status
    assert f"reasoning-replay probe: the host's contract has changed: {line}\n" in said.err
    assert f"# the host's contract has changed: {line}\n" in said.out


def test_every_file_of_the_library_is_written_and_read_again_as_it_was():
    for host in builtin():
        again = parse(host_text(host), "again.toml")
        assert (host.rules, host.thinking, host.errors, host.hosts) == (
            again.rules,
            again.thinking,
            again.errors,
            again.hosts,
        )


# A host that counts, repeats, and goes astray -------------------------------------------------------------------------


class Odd(BaseHTTPRequestHandler):
    """Answers as its server's `answer` says: status, headers, body."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((dict(self.headers), body))
        status, headers, said = self.server.answer(self.server, self.headers, body)
        raw = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args):
        pass


@contextmanager
def odd(answer):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    server.answer, server.seen = answer, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer_of(body, *, ends=True):
    """A chat reply: a call, and an answer where a tool has just said something twice."""
    messages = body["messages"]
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    steps = sum(m["role"] == "tool" for m in messages[last:])
    call = {"id": f"c{len(messages)}", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "reasoning_content": "a thought of forty characters or so, or more"}
    if steps < 2 or not ends:
        said["tool_calls"] = [call]
    else:
        said["content"] = "So."
    return {"choices": [{"index": 0, "message": said}]}


def counting(*, earlier):
    """A host that counts what its template renders: `earlier(body)` says whether earlier turns' reasoning is in it."""

    def answer(server, headers, body):
        messages = body["messages"]
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        shown = [
            {k: v for k, v in m.items() if k != "reasoning_content" or at > last or earlier(body)}
            for at, m in enumerate(messages)
        ]
        return 200, {}, {**answer_of(body), "usage": {"prompt_tokens": len(json.dumps(shown))}}

    return answer


def at(url, *options, model="m"):
    return _cli.main(["probe", "--base-url", url, "--model", model, "--yes", *options])


def test_prompts_that_are_counted_show_which_turns_are_rendered_and_what_the_switch_does(capsys):
    keeps = lambda body: (body.get("thinking") or {}).get("keep") == "all"  # noqa: E731
    with odd(counting(earlier=keeps)) as (server, url):
        at(url, "--as", "moonshot", "--json", model="kimi-k2.6")
        facts = json.loads(capsys.readouterr().out)["facts"]
    assert (True, False, True) == (facts["counted_in_turn"], facts["counted_in_earlier_turns"], facts["preserved"])
    asked = [body["thinking"] for _, body in server.seen if "thinking" in body]
    assert [{"keep": "all", "type": "enabled"}] * 2 == asked
    with odd(counting(earlier=lambda body: False)) as (_, url):
        at(url, "--as", "moonshot", "--json", model="kimi-k2.6")
        assert json.loads(capsys.readouterr().out)["facts"]["preserved"] is False
    with odd(counting(earlier=lambda body: True)) as (_, url):
        at(url, "--json")
        told = json.loads(capsys.readouterr().out)
    assert told["facts"]["counted_in_earlier_turns"]
    assert 'window = "all"' in told["toml"]


def repeats_the_key(status):
    def answer(server, headers, body):
        if len(server.seen) == 1 and status == 400:
            return 200, {}, answer_of(body)
        key = headers["authorization"].removeprefix("Bearer ")
        return status, {}, {"error": {"message": f"Incorrect API key provided: {key} or {key[:8]}***{key[-4:]}."}}

    return answer


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_the_key_is_in_one_header_and_in_nothing_that_is_printed(status, options, monkeypatch, capsys):
    monkeypatch.setenv("PROBE_KEY", KEY)
    with odd(repeats_the_key(status)) as (server, url):
        code = at(url, "--api-key-env", "PROBE_KEY", *options)
    said = capsys.readouterr()
    assert 2 == code
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers, _ in server.seen)
    for piece in (KEY, KEY[:8], KEY[-6:]):
        assert piece not in said.out + said.err
    assert 1 == len(said.err.splitlines())


def test_the_header_of_the_key_is_the_dialect_s_or_the_one_that_was_named(monkeypatch, capsys):
    monkeypatch.setenv("PROBE_KEY", KEY)
    refuse = lambda server, headers, body: (401, {}, {})  # noqa: E731
    for options, name in (
        ([], "Authorization"), (["--dialect", "anthropic"], "X-api-key"), (["--dialect", "gemini"], "X-goog-api-key"),
        (["--api-key-header", "api-key"], "Api-key"),
    ):  # fmt: skip
        with odd(refuse) as (server, url):
            at(url, "--api-key-env", "PROBE_KEY", *options)
        (headers, _), *_ = server.seen
        assert [name.lower()] == [header.lower() for header, value in headers.items() if KEY in value]


def test_a_redirect_is_not_followed_and_no_answer_in_time_ends_the_probe(monkeypatch, capsys):
    monkeypatch.setenv("PROBE_KEY", KEY)
    with odd(lambda *_: (200, {}, {})) as (other, elsewhere):
        for status in (301, 302, 303, 307, 308):
            with odd(lambda *_, status=status: (status, {"location": elsewhere}, {})) as (_, url):
                assert 2 == at(url, "--api-key-env", "PROBE_KEY")
    assert [] == other.seen
    waits = threading.Event()
    with odd(lambda *_: (waits.wait(10), (200, {}, {}))[1]) as (_, url):
        capsys.readouterr()
        assert 2 == at(url, "--timeout", "0.2")
        waits.set()
    said = capsys.readouterr().err  # the server of the test says there that its client has gone
    assert said.startswith("reasoning-replay probe: call 1: no answer (timeout); is the base URL right?\n")


def test_a_model_that_never_stops_calling_ends_within_the_bound(capsys):
    with odd(lambda server, headers, body: (200, {}, answer_of(body, ends=False))) as (server, url):
        assert 0 == at(url)
    assert len(server.seen) <= MOST_CALLS


def test_no_more_than_the_bound_is_ever_called():
    with odd(lambda *_: (200, {}, {})) as (server, url):
        caller = Caller({}, timeout=5, told=lambda number: None)
        for _ in range(MOST_CALLS):
            caller(url, {})
        with pytest.raises(Wrong, match=f"{MOST_CALLS} calls are made"):
            caller(url, {})
    assert MOST_CALLS == len(server.seen)


def test_a_refusal_that_repeats_the_model_s_thoughts_is_not_quoted(capsys):
    def answer(server, headers, body):
        bare = any(m["role"] == "assistant" and "reasoning_content" not in m for m in body["messages"])
        if bare:
            return 400, {}, {"error": {"message": "where is 'a thought of forty characters or so'?"}}
        return 200, {}, answer_of(body)

    with odd(answer) as (_, url):
        at(url)
    said = capsys.readouterr()
    assert "demands it in the running turn: HTTP 400\n" in said.out
    assert "forty" not in said.out + said.err


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda *_: (200, {}, {"choices": [{"message": {"role": "assistant", "content": "So."}}]}), "the model called no tool"),
        (lambda *_: (200, {}, {"answer": "So."}), "a reply is not in the dialect 'chat'; is the base URL right? else give --dialect"),
        (lambda *_: (200, {}, b"<html>"), "a reply is not in the dialect 'chat'; is the base URL right?"),
        (lambda *_: (404, {}, {"error": {"message": "no such model"}}), "the host refuses a first question: HTTP 404 no such model"),
        (lambda *_: (404, {}, b"<html>"), "HTTP 404 (no word that can be read; is the base URL right? asked: http://127.0.0.1:"),
        (lambda *_: (405, {}, b"<html>"), "HTTP 405: nothing takes a POST there; is the base URL right?"),
        (lambda *_: (402, {}, {}), "HTTP 402: the host wants to be paid first"),
        (lambda *_: (429, {}, {}), "HTTP 429: too many requests for this key; try again later"),
        (lambda *_: (429, {"retry-after": "3600"}, {}), "call 1: HTTP 429: too many requests for this key"),
        (lambda *_: (500, {}, b"<html>"), "HTTP 500: it says nothing of the request; try again later"),
        (lambda *_: (200, {"content-type": "text/event-stream"}, b"data: {}"), "a stream, which was not asked for"),
        (lambda *_: (200, {}, b" " * 4_000_001), "an answer of more than 4000000 bytes"),
        (lambda *_: (200, {}, b"[" * 100_000), "is nested too deeply"),
        (lambda *_: (308, {"location": "https://api.example/v1?key=SECRET"}, {}), "the host sends elsewhere (https://api.example);"),
        (lambda *_: (308, {"location": "https://me:SECRET@api.example/"}, {}), "the host sends elsewhere;"),
    ],
)  # fmt: skip
def test_a_host_that_cannot_be_probed_is_one_line_and_exit_status_2(answer, text, capsys):
    with odd(answer) as (_, url):
        assert 2 == at(url)
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
    assert "SECRET" not in line


def test_a_host_that_asks_to_wait_is_waited_for_a_few_times(capsys, monkeypatch):
    waited = []
    monkeypatch.setattr(_probe.time, "sleep", waited.append)

    def busy(*calls):
        def answer(server, headers, body):
            return (429, {"retry-after": "7"}, {}) if len(server.seen) in calls else (200, {}, answer_of(body))

        return answer

    with odd(busy(1, 4)) as (_, url):
        assert 0 == at(url)
    assert [7.0, 7.0] == waited
    assert ["HTTP 429: the host asks to wait 7 s"] * 2 == [
        line.removeprefix("reasoning-replay probe: ") for line in capsys.readouterr().err.splitlines()
    ]
    with odd(busy(*range(99))) as (server, url):
        assert 2 == at(url)
    assert 4 == len(server.seen)


def test_a_connection_that_is_dropped_is_one_line(capsys):
    for raw in (b"", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", b"SSH-2.0\r\n"):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def drops(server=server, raw=raw):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(raw)

            thread = threading.Thread(target=drops)
            thread.start()
            assert 2 == at(f"http://127.0.0.1:{server.getsockname()[1]}")
            thread.join()
        (line,) = capsys.readouterr().err.splitlines()
        assert "call 1: no answer (" in line


def test_a_few_letters_of_the_key_are_not_printed_either():
    for shown in (KEY, KEY[:6], KEY[2:9], KEY[-4:], f"{KEY[:7]}...{KEY[-4:]}"):
        text = _probe._scrubbed(f"Incorrect API key: {shown}.", KEY)
        assert "Incorrect API key: ***" in text
        assert not any(KEY[at : at + 6] in text for at in range(len(KEY) - 5))
    assert "no key" == _probe._scrubbed("no key", "key-of-which-no-part-is-told")
    assert "a *** b" == _probe._scrubbed("a short b", "short")


def test_what_is_looser_is_said_to_be_no_change(strict_hosts, capsys):
    host = strict_hosts("deepseek")
    assert 0 == at(host.url, "--as", "deepseek", model="deepseek-v4-pro")
    said = capsys.readouterr()
    assert "" == said.err
    (line,) = [line for line in said.out.splitlines() if line.startswith("# looser: ")]
    assert line.endswith("gives it (all_assistant); that breaks nothing and is no change")
    assert 'on = "all_assistant"' in said.out


def test_nothing_is_sent_before_somebody_says_yes(monkeypatch, capsys):
    monkeypatch.setenv("PROBE_KEY", KEY)
    with odd(lambda *_: (401, {}, {})) as (server, url):
        options = ["probe", "--base-url", url, "--model", "m", "--api-key-env", "PROBE_KEY"]
        assert 2 == _cli.main(options)
        assert "nobody to ask at the terminal; add --yes" in capsys.readouterr().err
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys.stdin, "readline", lambda: "n\n", raising=False)
        assert 2 == _cli.main(options)
        said = capsys.readouterr().err
        assert "at most 25 small requests to 127.0.0.1:" in said
        assert "with your key; the host may charge for them. The key would go unencrypted." in said
        assert "not gone on with; nothing was sent" in said
        assert [] == server.seen
        monkeypatch.setattr(sys.stdin, "readline", lambda: "y\n", raising=False)
        assert 2 == _cli.main(options)
        assert 1 == len(server.seen)


BAD = [
    (["--base-url", "api.deepseek.com"], "--base-url: must be a URL with http:// or https://"),
    (["--base-url", "https://x.example?key=SECRET"], "--base-url: must be a URL with http:// or https://, without a query"),
    (["--base-url", "https://me:SECRET@x.example"], "--base-url: holds a name or a password; give the key with --api-key-env"),
    (["--base-url", "https://x y"], "--base-url: host 'https://x y': contains white space"),
    (["--dialect", "chatt"], "--dialect 'chatt': not known; did you mean 'chat'?"),
    (["--as", "deepsek"], "--as 'deepsek': no id of a host; did you mean 'deepseek'?"),
    (["--api-key-env", "NO_SUCH_KEY"], "--api-key-env NO_SUCH_KEY: this variable is not set"),
    (["--api-key-env", "BAD_KEY"], "--api-key-env BAD_KEY: what it holds cannot be sent in a header"),
    (["--extra", "[1]"], "--extra: must be a JSON object of request parameters"),
    (["--base-url", "http://127.0.0.1:9/ü"], "--base-url: its path holds letters that no URL holds"),
    (["--api-key-header", "api key:"], "--api-key-header 'api key:': no name of a header"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text"), BAD)
def test_what_was_asked_wrongly_is_one_line_and_exit_status_2(options, text, monkeypatch, capsys):
    monkeypatch.setenv("BAD_KEY", "SECRET one\nand two")
    assert 2 == _cli.main(["probe", "--base-url", "http://127.0.0.1:9", "--model", "m", "--yes", *options])
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
    assert "SECRET" not in line


def test_ctrl_c_ends_a_probe_with_130_and_without_a_word(monkeypatch, capsys):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(_probe.Probe, "run", stop)
    assert 130 == _cli.main(["probe", "--base-url", "http://127.0.0.1:9", "--model", "m", "--yes"])
    assert ("", "") == tuple(capsys.readouterr())


@pytest.mark.slow  # a real llama.cpp server is started
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the real server is not installed")
def test_a_real_server_that_renders_the_running_turn_is_found_to_do_so(capsys):
    from reasoning_replay.testing import llama_server

    with llama_server() as server:
        assert 0 == at(server.url, "--as", "llamacpp", "--json", model=server.model)
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (["reasoning_content"], True, False) == (facts["fields"], facts["own_taken"], facts["needed_in_turn"])
    assert (True, False) == (facts["counted_in_turn"], facts["counted_in_earlier_turns"])
