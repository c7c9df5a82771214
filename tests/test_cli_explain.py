"""`reasoning-replay explain`: the verdict is the strict host's own answer, shapes are recognised, nothing is printed of a text."""

from __future__ import annotations

import gzip
import json
import os
import threading
from importlib.util import find_spec

import pytest

if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

import httpx

from reasoning_replay import _cli
from reasoning_replay._cli._file import read
from reasoning_replay.testing import JUDGES
from reasoning_replay.transcripts import dump_jsonl
from wire_client import loop


def explain(tmp_path, capsys, value, *options):
    """Exit status and verdict."""
    file = tmp_path / "history.json"
    file.write_text(json.dumps(value))
    status = _cli.main(["explain", str(file), "--json", *options])
    return status, json.loads(capsys.readouterr().out)["verdict"]


def bodies(host):
    """Requests of a plain client at a host: all of it kept, and forgotten; of one turn and of two."""
    found = {}
    for keep in (True, False):
        history, response = loop(host, keep=keep)
        name = "kept" if keep else "forgotten"
        found[f"{name}, one turn"] = host.last.json
        if response.status_code == 200:
            history.append(next_question(host.dialect))
            loop(host, history, keep=keep)
            found[f"{name}, two turns"] = host.last.json
    return found


def next_question(dialect):
    text = "And tomorrow?"
    return {
        "gemini": {"role": "user", "parts": [{"text": text}]},
        "bedrock": {"role": "user", "content": [{"text": text}]},
    }.get(dialect, {"role": "user", "content": text})


@pytest.fixture(scope="module")
def written():
    """Host → the bodies that a plain client sent it, and the origin of what is in them."""
    return {}


def bodies_of(kind, written, strict_hosts):
    if kind not in written:
        host = strict_hosts(kind)
        written[kind] = (bodies(host), host.url, host.model)
    return written[kind]


WRITERS = {"chat": ("deepseek", "groq", "mistral", "openrouter")}
"""The chat hosts that write reasoning each in a way of its own; the others write like one of them."""
NOT_LOOKED_AT = {("mistral", away) for away in ("groq", "cerebras", "fireworks", "azure")}
"""A thinking chunk in a content list is an unknown part; these judges look at the keys of messages alone."""


@pytest.mark.leaks("the request as it stands is what is judged")
@pytest.mark.moves_prefix("the same")
@pytest.mark.parametrize("away", JUDGES)
def test_the_verdict_is_the_answer_of_the_host(away, written, strict_hosts, tmp_path, capsys):
    compare(away, WRITERS, written, strict_hosts, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.leaks("the request as it stands is what is judged")
@pytest.mark.moves_prefix("the same")
@pytest.mark.parametrize("away", JUDGES)
def test_the_verdict_is_the_answer_of_the_host_whoever_wrote_it(away, written, strict_hosts, tmp_path, capsys):
    compare(away, {}, written, strict_hosts, tmp_path, capsys)


def compare(away, writers, written, strict_hosts, tmp_path, capsys):
    second = strict_hosts(away)
    own = (bodies(second), second.url, second.model)
    speak = [kind for kind, judge in JUDGES.items() if judge.dialect == second.dialect]
    others = [kind for kind in writers.get(second.dialect, speak) if kind != away and (kind, away) not in NOT_LOOKED_AT]
    wrong = []
    for found, url, model in (own, *(bodies_of(kind, written, strict_hosts) for kind in others)):
        for name, body in found.items():
            asked = {**body, "model": second.model} if "model" in body else body
            answer = httpx.post(second.endpoint, json=asked, timeout=30, verify=False)
            status, verdict = explain(
                tmp_path, capsys, asked, "--to", second.url, "--as", second.judge.alias, "--model", second.model,
                "--dialect", second.dialect, "--from-origin", url, "--from-model", model,
            )  # fmt: skip
            assert status == (0 if verdict["accepted"] else 1)
            if (answer.status_code == 200) is not verdict["accepted"]:
                wrong.append((url, name, answer.status_code, second.last.refusal, verdict["sentence"]))
    assert [] == wrong


def dropped(kind, key="type"):
    """Takes items or blocks of a kind out of a body, wherever they stand."""

    def change(value):
        if isinstance(value, list):
            return [change(one) for one in value if not (isinstance(one, dict) and one.get(key) == kind)]
        return {name: change(one) for name, one in value.items()} if isinstance(value, dict) else value

    return change


def without_key(*names):
    def change(value):
        if isinstance(value, list):
            return [change(one) for one in value]
        return {k: change(v) for k, v in value.items() if k not in names} if isinstance(value, dict) else value

    return change


def put(**more):
    return lambda body: {**body, **more}


def to_all_said(**more):
    return lambda body: {**body, "messages": [m | more if m["role"] == "assistant" else m for m in body["messages"]]}


def replaced(key, new):
    def change(value):
        if isinstance(value, list):
            return [change(one) for one in value]
        return {k: new if k == key else change(v) for k, v in value.items()} if isinstance(value, dict) else value

    return change


def in_turn(*changes):
    def change(body):
        for one in changes:
            body = one(body)
        return body

    return change


OFF = put(thinking={"type": "disabled"})
CHANGED = [
    *(("deepseek", name, change) for name, change in {
        "null": to_all_said(reasoning_content=None), "empty": to_all_said(reasoning_content=""),
        "off and bare": in_turn(OFF, without_key("reasoning_content")), "off": OFF,
        "under another name": lambda body: json.loads(json.dumps(body).replace("reasoning_content", "reasoning")),
        "no content at all": lambda body: {**body, "messages": [*body["messages"], {"role": "assistant", "content": None}, {"role": "user", "content": "?"}]},
    }.items()),
    *(("moonshot", name, change) for name, change in {
        "null": to_all_said(reasoning_content=None), "off and bare": in_turn(OFF, without_key("reasoning_content")),
    }.items()),
    *(("deepseek-r1", name, change) for name, change in {
        "null": to_all_said(reasoning_content=None), "under another name": to_all_said(reasoning="so"),
    }.items()),
    *((kind, name, change) for kind in ("groq", "cerebras", "fireworks", "openai") for name, change in {
        "null": to_all_said(reasoning_content=None), "framework's field": to_all_said(provider_specific_fields={"citations": []}),
        "bare": without_key("reasoning_content", "reasoning"),
    }.items()),
    *(("anthropic", name, change) for name, change in {
        "unsigned": without_key("signature"), "off": OFF, "bare": dropped("thinking"),
        "off and bare": in_turn(OFF, dropped("thinking")), "adaptive and bare": in_turn(put(thinking={"type": "adaptive"}), dropped("thinking")),
        "forced": put(tool_choice={"type": "any"}), "no room": put(max_tokens=1000), "a smaller budget": put(max_tokens=1024),
        "off, ends with thinking": in_turn(OFF, lambda body: {**body, "messages": body["messages"][:2] and [body["messages"][0], {**body["messages"][1], "content": body["messages"][1]["content"][:1]}]}),
        "another's seal": replaced("signature", "c2lnbmF0dXJlIG9mIGFub3RoZXIgaG9zdA=="),
    }.items()),
    *(("gemini", name, change) for name, change in {
        "bare": without_key("thoughtSignature"), "sentinel": replaced("thoughtSignature", "skip_thought_signature_validator"),
    }.items()),
    *(("openai-responses", name, change) for name, change in {
        "no reasoning": dropped("reasoning"), "no calls": in_turn(dropped("function_call"), dropped("function_call_output")),
    }.items()),
    *(("bedrock", name, change) for name, change in {"unsigned": without_key("signature"), "bare": without_key("reasoningContent")}.items()),
]  # fmt: skip


@pytest.mark.leaks("the request as it stands is what is judged")
@pytest.mark.moves_prefix("the same")
@pytest.mark.parametrize(("kind", "name", "change"), CHANGED, ids=[f"{kind}, {name}" for kind, name, _ in CHANGED])
def test_the_verdict_on_a_changed_request_is_the_answer_of_the_host(kind, name, change, strict_hosts, tmp_path, capsys):
    host = strict_hosts(kind)
    origin = host.url
    found = bodies(host)
    body = change(found.get("kept, two turns", found["forgotten, one turn"]))
    answer = httpx.post(host.endpoint, json=body, timeout=30, verify=False)
    if name == "another's seal":
        origin = "https://other.example"
    _, verdict = explain(
        tmp_path, capsys, body, "--to", host.url, "--as", host.judge.alias, "--model", host.model, "--dialect",
        host.dialect, "--from-origin", origin,
    )  # fmt: skip
    assert (answer.status_code == 200, host.last.refusal) == (verdict["accepted"], host.last.refusal), verdict[
        "sentence"
    ]


# Shapes ---------------------------------------------------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CHAT = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "reasoning_content": "CANARY-x", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "3"},
]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}
CLAUDE = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "CANARY-x", "signature": "CANARY-s"}, {"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "3"}]},
]  # fmt: skip
ITEMS = [
    {"role": "user", "content": "go"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "CANARY-e"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "3"},
]
DUMP = [
    {"type": "human", "data": {"content": "go", "type": "human", "additional_kwargs": {}, "response_metadata": {}}},
    {"type": "ai", "data": {"content": "", "type": "ai", "additional_kwargs": {"reasoning_content": "CANARY-x"}, "response_metadata": {}, "tool_calls": [{"name": "look", "args": {}, "id": "c1", "type": "tool_call"}], "invalid_tool_calls": [], "id": None}},
    {"type": "tool", "data": {"content": "3", "type": "tool", "tool_call_id": "c1", "additional_kwargs": {}, "response_metadata": {}}},
]  # fmt: skip
LC = [{"lc": 1, "type": "constructor", "id": ["x"], "kwargs": one["data"]} for one in DUMP]
LOG = {"call_type": "acompletion", "api_base": "x", "messages": CHAT, "model": "deepseek-chat", "response": {}, "model_parameters": {"tools": [TOOL]}}  # fmt: skip
RAW = {
    "model": "deepseek-chat",
    "messages": CHAT,
    "input": CHAT,
    "optional_params": {"tools": [TOOL]},
    "litellm_params": {},
}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "Q0FOQVJZ"}]}]}  # fmt: skip
CONVERSE = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "go"}]}]}
OLLAMA = {"model": "qwen3:8b", "think": True, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x", "thinking": "CANARY-x"}]}  # fmt: skip
BLOCKS = [
    CHAT[0],
    {**CHAT[1], "thinking_blocks": [{"type": "thinking", "thinking": "CANARY-x", "signature": "CANARY-s"}]},
]

SHAPED = [
    ("a list of messages", CHAT, "chat", False),
    ("a body", {"model": "m", "messages": CHAT, "tools": [TOOL]}, "chat", True),
    ("a body of a batch", {"custom_id": "1", "body": {"model": "m", "messages": CHAT, "tools": [TOOL]}}, "chat", True),
    ("LiteLLM's form", BLOCKS, "litellm", False),
    ("a log", LOG, "chat", True),
    ("arguments of a call", RAW, "chat", True),
    ("arguments with a log", {**RAW, "standard_logging_object": LOG}, "chat", True),
    ("messages_to_dict", DUMP, "langchain", False),
    ("dumpd", LC, "langchain", False),
    (
        "an Anthropic body",
        {"model": "m", "max_tokens": 9, "messages": CLAUDE, "tools": [{"name": "look", "input_schema": {}}]},
        "anthropic",
        True,
    ),
    ("Anthropic messages", CLAUDE, "anthropic", False),
    ("a Responses body", {"model": "m", "input": ITEMS, "tools": [TOOL]}, "responses", True),
    ("a Responses body with words", {"model": "m", "input": "go"}, "responses", False),
    ("Responses items", ITEMS, "responses", False),
    ("a Gemini body", GEMINI, "gemini", False),
    ("a Converse body", CONVERSE, "bedrock", False),
    ("an Ollama body", OLLAMA, "ollama", False),
]


@pytest.mark.parametrize(("value", "form", "tools"), [row[1:] for row in SHAPED], ids=[row[0] for row in SHAPED])
def test_a_file_is_recognised_by_its_shape(value, form, tools, tmp_path):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(value))
    found = read(str(file))
    assert (form, tools) == (found.form, bool((found.request or {}).get("tools")))


@pytest.mark.parametrize("value", [CHAT, DUMP, LC, CLAUDE, ITEMS, GEMINI, CONVERSE, OLLAMA, LOG, BLOCKS])
@pytest.mark.parametrize("to", ["deepseek", "anthropic", "openai", "bedrock", "https://new.example/v1"])
def test_every_shape_is_explained_for_every_host_and_no_word_of_it_is_printed(value, to, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(value))
    for options in (["--diff"], ["--json", "--diff"], ["--from-origin", "deepseek", "--json"]):
        assert _cli.main(["explain", str(file), "--to", to, "--model", "m", *options]) in {0, 1}
        said = capsys.readouterr()
        assert "CANARY" not in said.out
        assert "" == said.err


def test_lines_are_messages_or_requests_of_which_the_last_is_explained(tmp_path, capsys):
    file = tmp_path / "file.jsonl"
    file.write_text("\n".join(map(json.dumps, CHAT)) + "\n\n")
    assert 3 == len(read(str(file)).messages)
    file.write_text("\n".join(json.dumps({"messages": CHAT[: n + 1], "model": "m"}) for n in range(3)))
    assert 3 == len(read(str(file)).messages)
    assert 1 == len(read(str(file), 1).messages)


BAD = [
    (b"", "empty; give JSON or JSONL"),
    (b"{", "line 1 is not JSON (Expecting property name enclosed in double quotes)"),
    (b'{"role": "user"}\nCANARY-x', "line 2 is not JSON (Expecting value)"),
    (b"\xff\xfe\x00", "not UTF-8"),
    (b"3", "a int stands for the list of messages"),
    (b"[]", "no message in it"),
    (b'["CANARY-x"]', "message 0 is a str"),
    (b'[{"CANARY": 1}]', "message 0 has the keys 'CANARY', and no 'role'"),
    (b'{"choices": []}', "a reply or one message (keys 'choices')"),
    (b'{"role": "assistant", "content": "CANARY-x"}', "a reply or one message"),
    (b'{"answer": 3}', "an object with the keys 'answer'; known are a list of messages"),
    (
        b'{"messages": [{"role": ["a"], "content": [{"text": "CANARY-x"}]}]}',
        "messages[0].role: a list; allowed: user, assistant, system",
    ),
    (
        b'[{"type": ["a"], "additional_kwargs": {}, "content": "CANARY-x"}]',
        "a value in it has a type that it has in no message (TypeError)",
    ),
    (
        b'{"messages": [{"role": "assistant", "tool_calls": true, "content": 3}]}',
        "messages[0].content: a int; allowed: a string",
    ),
    (b'[{"role": "owner", "content": "x"}]', "messages[0].role: 'owner'; allowed: system"),
    (
        b'{"messages": "redacted-by-litellm", "model_parameters": {"a": 1}}',
        "LiteLLM was told to leave the messages out",
    ),
]


@pytest.mark.parametrize(("raw", "text"), BAD)
def test_a_file_that_cannot_be_used_is_one_line_and_exit_status_2(raw, text, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_bytes(raw)
    assert 2 == _cli.main(["explain", str(file), "--to", "deepseek"])
    said = capsys.readouterr()
    assert "" == said.out
    (line,) = said.err.splitlines()
    assert line.startswith(f"reasoning-replay explain: {file}: ")
    assert text in line
    assert "CANARY-" not in line


OPTIONS = [
    (["--to", "deepsek"], "--to 'deepsek': no id of a host; did you mean 'deepseek'?"),
    (["--to", "https://a b"], "--to: host 'https://a b': contains white space"),
    (["--to", "deepseek", "--dialect", "chatt"], "--dialect 'chatt': not known; did you mean 'chat'?"),
    (["--to", "x.example", "--as", "deepsek"], "--as 'deepsek': no id of a host; did you mean 'deepseek'?"),
    (["--to", "deepseek", "--from-origin", "gorq"], "--from-origin 'gorq': no id of a host; did you mean 'groq'?"),
    (
        ["--to", "deepseek", "--from-model", "x"],
        "--from-model: says which model of a host wrote it; give --from-origin",
    ),
    (["--to", "deepseek", "--rules", "nowhere.toml"], "--rules: nowhere.toml: cannot be read (FileNotFoundError)"),
    (["--to", "deepseek", "--entry", "2"], "holds one request; leave --entry out"),
]


@pytest.mark.parametrize(("options", "text"), OPTIONS)
def test_an_option_that_cannot_be_used_is_one_line_and_exit_status_2(options, text, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(CHAT))
    assert 2 == _cli.main(["explain", str(file), *options])
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line


def test_a_file_that_is_not_there_is_named(capsys):
    assert 2 == _cli.main(["explain", "nowhere.json", "--to", "deepseek"])
    assert (
        "nowhere.json: No such file or directory; give a JSON or JSONL file, or - for stdin\n"
        in capsys.readouterr().err
    )


def test_a_body_in_a_dialect_of_its_own_goes_to_no_host_that_speaks_another(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(CLAUDE))
    assert 2 == _cli.main(["explain", str(file), "--to", "deepseek", "--dialect", "chat"])
    assert "the messages are written in the form of 'anthropic'" in capsys.readouterr().err


def test_what_is_sealed_by_nobody_knows_whom_is_accepted_on_a_condition(tmp_path, capsys):
    _, verdict = explain(tmp_path, capsys, CLAUDE, "--to", "anthropic", "--model", "claude-sonnet-4-5")
    assert verdict["accepted"]
    assert (
        "if the host itself sealed what is sealed in message 1 (nothing says who did; --from-origin does)"
        == verdict["unsure"]
    )


def test_what_is_missing_in_an_earlier_turn_alone_is_said_to_be_there(tmp_path, capsys):
    rows = [CHAT[0], {"role": "assistant", "content": "so"}, CHAT[0]]
    body = {"model": "deepseek-v4-pro", "messages": rows, "tools": [TOOL]}
    _, verdict = explain(tmp_path, capsys, body, "--to", "deepseek")
    said = "refused: message 1, reasoning_content, in an earlier turn: The host demands the field, and it is not there."
    assert said == verdict["sentence"]
    body["messages"] = [
        *rows,
        {"role": "assistant", "content": "so"},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    ]
    assert (3, False) == tuple(
        explain(tmp_path, capsys, body, "--to", "deepseek")[1][key] for key in ("message", "earlier_turn")
    )


def test_a_history_with_our_marks_says_itself_who_wrote_it(tmp_path, capsys):
    from reasoning_replay import Origin, adopt

    body = {"tools": [TOOL], "messages": adopt(CHAT, Origin("https://api.deepseek.com", model="deepseek-v4-pro"))}
    file = tmp_path / "file.json"
    file.write_text(json.dumps(body))
    assert 0 == _cli.main(["explain", str(file), "--to", "deepseek", "--model", "deepseek-v4-pro", "--json"])
    assert {"keep": 1} == json.loads(capsys.readouterr().out)["report"]["counts"]
    assert 1 == _cli.main(["explain", str(file), "--to", "groq", "--model", "openai/gpt-oss-120b", "--json"])
    assert ["foreign"] == [row["reason"] for row in json.loads(capsys.readouterr().out)["report"]["rows"]]


def test_the_bytes_of_each_message_are_shown_before_and_after(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(CHAT))
    _cli.main(["explain", str(file), "--to", "groq", "--json", "--diff"])
    rows = json.loads(capsys.readouterr().out)["diff"]
    assert [0, 1, 2] == [row["message"] for row in rows]
    left = json.dumps({k: v for k, v in CHAT[1].items() if k != "reasoning_content"}, separators=(",", ":"))
    assert {"message": 1, "before": len(json.dumps(CHAT[1], separators=(",", ":"))), "after": len(left), "change": rows[1]["after"] - rows[1]["before"]} == rows[1]  # fmt: skip


SAID = """\
a body with messages, 3 in the form 'chat'
to api.deepseek.com (chat, model deepseek-v4-pro): rule deepseek, window all, thinking unset, tools
message  sent as  role       action  fields             bytes  reason
      1        1  assistant  keep    reasoning_content      8  own
  own: The host wrote it and takes it back.
as it stands: accepted
sent instead: the same messages
rule: deepseek, window all, reasoning required on all_assistant; documented 2026-11-30: \
https://api-docs.deepseek.com/guides/thinking_mode, deepseek-recipe 0.2.0 (Reject)
"""


def test_what_is_printed_as_a_whole(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps({"model": "deepseek-v4-pro", "messages": CHAT, "tools": [TOOL]}))
    assert 0 == _cli.main(["explain", str(file), "--to", "deepseek", "--from-origin", "deepseek"])
    assert SAID == capsys.readouterr().out


THOUGHT = {"role": "assistant", "content": "3C.", "reasoning_content": "hm, hm"}


@pytest.mark.parametrize(
    ("to", "writer", "count"),
    [
        ("cerebras", "deepseek", 2),
        ("gateway.corp.example", "groq", 2),
        ("cerebras", "cerebras", 0),
        ("cerebras", None, 0),
        ("openai", "deepseek", 2),
    ],
)
def test_a_history_that_would_be_taken_and_leaks_is_told_so(to, writer, count, tmp_path, capsys):
    """Also of turns that are over, whose reasoning this host does not look at: it gets it nevertheless."""
    file = tmp_path / "file.json"
    file.write_text(json.dumps([{"role": "user", "content": "q"}, THOUGHT, {"role": "user", "content": "q"}, THOUGHT]))
    command = ["explain", str(file), "--to", to, *(["--from-origin", writer] if writer else [])]
    _cli.main([*command, "--json"])
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert count == verdict["foreign"]
    _cli.main(command)
    told = "but another host's reasoning would reach it: 2 pieces" in capsys.readouterr().out
    assert told is (count > 0 and verdict["accepted"])


def test_of_a_host_that_no_file_describes_the_verdict_says_so(tmp_path, capsys):
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "r"},
    ]
    status, verdict = explain(tmp_path, capsys, history, "--to", "https://llm.corp.example/v1")
    assert (0, True) == (status, verdict["accepted"])
    assert verdict["sentence"].startswith("accepted, as far as the cautious rule for unknown hosts knows: no file")
    _, verdict = explain(tmp_path, capsys, history, "--to", "deepseek")
    assert verdict["unsure"] is None


def test_of_a_long_history_the_newest_rows_are_shown_and_all_where_they_are_asked_for(tmp_path, capsys):
    file = tmp_path / "long.json"
    file.write_text(json.dumps([{"role": "assistant", "content": "so", "reasoning_content": "it is"}] * 1000))
    argv = ["explain", str(file), "--to", "groq", "--diff"]
    _cli.main(argv)
    short = capsys.readouterr().out
    assert 2 == short.count("the newest 200 of 1000 rows; --all shows all\n")
    assert short.count("forbidden") == 200 + 2
    assert "drop 1000" in short
    _cli.main([*argv, "--all"])
    whole = capsys.readouterr().out
    assert "newest" not in whole
    assert whole.count("forbidden") == 1000 + 2


def test_who_wrote_it_is_asked_in_the_words_of_the_command_line(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text(json.dumps([{"role": "assistant", "content": "so", "reasoning_content": "it is"}]))
    _cli.main(["explain", str(file), "--to", "moonshot", "--model", "kimi-k2.6"])
    said = capsys.readouterr().out
    assert (
        "unknown_origin: Nothing says which host wrote it; --from-origin HOST does, for all that has no mark." in said
    )
    assert "adopt(" not in said


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('[{"role": "user", "content": "Hi"}]'.encode("utf-16"), "UTF-16, as PowerShell's > writes it, and not UTF-8"),
        (gzip.compress(b"[]"), "packed with gzip; unpack it; give a JSON or JSONL file"),
        (b"\xffx", "not UTF-8; give a JSON or JSONL file"),
    ],
)
def test_a_file_in_other_bytes_is_told_what_it_is(raw, text, tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_bytes(raw)
    assert 2 == _cli.main(["explain", str(file), "--to", "groq"])
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}: {text}" in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_link_is_followed_and_a_pipe_is_read(tmp_path, capsys):
    file = tmp_path / "file.json"
    file.write_text('[{"role": "user", "content": "Hi"}]')
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(file.read_text(),))
    writer.start()
    for name in ("link", "pipe"):
        assert 0 == _cli.main(["explain", str(tmp_path / name), "--to", "groq"])
    writer.join()
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    for name in ("lost", "round", "."):
        assert 2 == _cli.main(["explain", str(tmp_path / name), "--to", "groq"])
    assert 3 == len(capsys.readouterr().err.splitlines())


def test_a_transcript_that_is_cut_off_is_explained_as_far_as_it_goes_and_one_line_says_so(tmp_path, capsys):
    file = tmp_path / "talk.jsonl"
    dump_jsonl([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "so"}], file)
    file.write_bytes(file.read_bytes()[:-9])
    assert 0 == _cli.main(["explain", str(file), "--to", "groq"])
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith(f"reasoning-replay explain: {file}: record 2 was not written to its end")
    assert "messages, 1 in the form 'chat'" in said.out
