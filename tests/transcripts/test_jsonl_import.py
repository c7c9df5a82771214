"""Histories that other tools saved come in with the origin that their owner states, and are replayed."""

from __future__ import annotations

import copy
import io
import json
from importlib.util import find_spec

import pytest

import test_cli_explain as shown
from native_cases import CASES, USERS
from reasoning_replay import HistoryError, MemoryStore, Origin, _cli, adopt, prepare
from reasoning_replay._origin import from_mark
from reasoning_replay.transcripts import TranscriptError, TranscriptWriter, dump_jsonl, import_history, load_jsonl

MARK = "reasoning_replay"
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
OWN = {
    "chat": DEEPSEEK,
    "litellm": DEEPSEEK,
    "langchain": DEEPSEEK,
    "anthropic": Origin("api.anthropic.com", model="claude-opus-4-6", dialect="anthropic"),
    "responses": Origin("api.openai.com", model="gpt-5.4", dialect="responses"),
    "gemini": Origin("generativelanguage.googleapis.com", model="gemini-3-pro", dialect="gemini"),
    "bedrock": Origin("bedrock-runtime.us-east-1.amazonaws.com", model="us.anthropic.claude-opus-4-6-v1:0", dialect="bedrock"),
    "ollama": Origin("localhost:11434", model="qwen3:8b", dialect="ollama"),
}  # fmt: skip
THINKING = {"reasoning_content", "CANARY-x", "CANARY-s", "CANARY-e", "Q0FOQVJZ"}


def planned(imported, origin):
    return prepare(
        imported.messages, host=origin.host, model=origin.model, dialect=origin.dialect, form=imported.form,
        request={"tools": [{"name": "look"}], "thinking": {"type": "adaptive"}}, known=MemoryStore(),
    )  # fmt: skip


def marks_in(value):
    if isinstance(value, dict):
        found = [from_mark(each) for key, each in value.items() if key == MARK]
        return found + [mark for each in value.values() for mark in marks_in(each)]
    return [mark for each in value for mark in marks_in(each)] if isinstance(value, list) else []


def rows(messages):
    return [message if isinstance(message, dict) else message.__dict__ for message in messages]


# Shapes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [(name, value, form) for name, value, form, _ in shown.SHAPED],
    ids=[row[0] for row in shown.SHAPED],
)
@pytest.mark.parametrize("source", ["path", "text path", "value"])
def test_every_shape_is_read_and_what_thought_in_it_is_its_origins(name, value, form, source, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(value))
    before = copy.deepcopy(value)
    imported = import_history({"path": path, "text path": str(path), "value": value}[source], OWN[form])
    assert (form, before) == (imported.form, value)
    found = marks_in(rows(imported.messages))
    assert {OWN[form]} >= set(found)
    thinks = any(word in json.dumps(value) for word in THINKING)
    assert thinks == bool(found)
    counts = planned(imported, OWN[form]).report.counts()
    assert not thinks or (counts.get("keep", 0) > 0 and "drop" not in counts)


def test_lines_of_messages_and_lines_of_requests_are_read(tmp_path):
    path = tmp_path / "file.jsonl"
    path.write_text("\n".join(map(json.dumps, shown.CHAT)) + "\n\n")
    assert adopt(shown.CHAT, DEEPSEEK) == import_history(path, DEEPSEEK).messages
    path.write_text(
        "\n".join(json.dumps({"messages": shown.CHAT[: n + 1], "model": f"m{n}", "tools": [n]}) for n in range(3))
    )
    assert (3, "m2", [2]) == (len((last := import_history(path, DEEPSEEK)).messages), last.model, last.request["tools"])
    assert (1, "m0") == (len((first := import_history(path, DEEPSEEK, entry=1)).messages), first.model)
    with pytest.raises(TranscriptError, match=r"no entry 4; it has 3 requests: give entry 1 to 3"):
        import_history(path, DEEPSEEK, entry=4)


def test_a_text_with_line_separators_of_unicode_is_one_line(tmp_path):
    path = tmp_path / "file.jsonl"
    said = {"role": "user", "content": "one\u2028two\x85three"}
    path.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in [said, said]), encoding="utf-8")
    assert [said, said] == import_history(path, DEEPSEEK).messages
    assert [said, said] == list(load_jsonl(path))


def test_a_log_of_litellm_brings_the_reply_that_it_holds():
    reply = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "3C", "reasoning_content": "CANARY-y"}}]
    }
    log = {**shown.LOG, "response": reply}
    imported = import_history(log, DEEPSEEK)
    assert "CANARY-y" == imported.messages[-1]["reasoning_content"]
    assert [DEEPSEEK] * 2 == marks_in(imported.messages)
    assert len(shown.CHAT) + 1 == len(imported.messages)
    assert len(shown.CHAT) == len(import_history(shown.LOG, DEEPSEEK).messages)


@pytest.mark.skipif(
    find_spec("litellm") is None or find_spec("deepseek_recipe") is None, reason="LiteLLM is not installed"
)
def test_what_a_logger_of_litellm_is_given_is_a_history_that_goes_on(strict_hosts):
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

    class Logger(CustomLogger):
        seen = None

        def log_success_event(self, kwargs, response_obj, start_time, end_time):
            Logger.seen = json.loads(json.dumps(kwargs["standard_logging_object"], default=str))

    host, logger = strict_hosts("deepseek"), Logger()
    litellm.callbacks.append(logger)
    try:
        ask = {"model": f"openai/{host.model}", "api_base": host.url, "api_key": "k"}
        reply = litellm.completion(messages=[{"role": "user", "content": "hello"}], **ask)
        for _ in range(100):
            if Logger.seen is not None:
                break
            __import__("time").sleep(0.05)
    finally:
        litellm.callbacks.remove(logger)
    origin = Origin.from_url(host.url, model=host.model)
    imported = import_history(Logger.seen, origin)
    assert ["user", "assistant"] == [each["role"] for each in imported.messages]
    assert reply.choices[0].message.reasoning_content == imported.messages[1]["reasoning_content"]
    assert {"keep": 1} == planned(imported, origin).report.counts()


@pytest.mark.skipif(find_spec("langchain_core") is None, reason="LangChain is not installed")
@pytest.mark.parametrize("made", ["messages", "messages_to_dict", "dumpd", "model_dump", "lines"])
def test_langchains_messages_come_as_such_however_they_were_kept(made, tmp_path):
    import langchain_core.messages as lc
    from langchain_core.load import dumpd

    messages = [lc.HumanMessage("q"), lc.AIMessage("a", additional_kwargs={"reasoning_content": "CANARY-x"}, id="1")]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, lc.messages_to_dict(messages))))
    source = {
        "messages": messages,
        "messages_to_dict": lc.messages_to_dict(messages),
        "dumpd": [dumpd(each) for each in messages],
        "model_dump": [each.model_dump() for each in messages],
        "lines": path,
    }[made]
    imported = import_history(source, DEEPSEEK)
    assert adopt(messages, DEEPSEEK, form="langchain") == imported.messages
    assert [type(each) for each in messages] == [type(each) for each in imported.messages]
    assert MARK not in messages[1].additional_kwargs
    assert {"keep": 1} == planned(imported, DEEPSEEK).report.counts()


@pytest.mark.skipif(find_spec("langchain_core") is None, reason="LangChain is not installed")
def test_what_langchain_does_not_read_is_said_without_its_words(tmp_path):
    dump = [{"type": "ai", "data": {"content": {"CANARY-x": 1}, "type": "ai"}}]
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(dump[0]) + "\n")
    for read in (lambda: import_history(dump, DEEPSEEK), lambda: list(load_jsonl(path))):
        with pytest.raises(
            TranscriptError, match=r"LangChain does not read its messages \(ValidationError\)"
        ) as caught:
            read()
        assert "CANARY" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_sdks_objects_are_marked_as_the_mappings_that_they_are():
    types = pytest.importorskip("openai.types.chat")
    reply = types.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": "a", "reasoning_content": "CANARY-x"}
    )
    imported = import_history([{"role": "user", "content": "q"}, reply], DEEPSEEK)
    assert [DEEPSEEK] == marks_in(imported.messages)


def test_a_transcript_of_ours_is_imported_too_and_its_marks_stay(tmp_path):
    path, away = tmp_path / "x.jsonl", Origin("api.groq.com", model="openai/gpt-oss-120b")
    with TranscriptWriter(path) as out:
        out.append(
            *adopt(shown.CHAT, away),
            {"role": "assistant", "content": "b", "reasoning_content": "CANARY-y", "raw": b"x"},
        )
    imported = import_history(path, DEEPSEEK)
    assert ("chat", [away, DEEPSEEK]) == (imported.form, marks_in(imported.messages))
    assert b"x" == imported.messages[-1]["raw"]


# Lines, one by one ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [form for form in OWN if form not in ("langchain", "litellm")])
def test_a_plain_file_is_read_line_by_line_and_marked_as_adopt_does(form):
    if form in CASES:
        history = []
        for case in CASES[form].values():
            said = case.message
            history += [USERS[form], *(said if isinstance(said, list) else [said]), *case.answers]
        history = [row for row in history if not list(_bytes_in(row))]  # plain JSON has none
    else:
        history = shown.CLAUDE if form == "anthropic" else shown.CHAT
    file = io.BytesIO("\n".join(map(json.dumps, history)).encode())
    read = load_jsonl(file, origin=OWN[form])
    assert (form, None) == (read.form, read.version)
    assert adopt(history, OWN[form], form=form) == list(read)


def _bytes_in(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _bytes_in(each)
    elif isinstance(value, bytes):
        yield value


@pytest.mark.parametrize("value", [row[1] for row in shown.SHAPED], ids=[row[0] for row in shown.SHAPED])
def test_whatever_import_history_reads_load_reads_unmarked(value, tmp_path):
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        (tmp_path / "x.json").write_text(text)
        read = list(load_jsonl(tmp_path / "x.json"))
        assert read != []
        assert [] == marks_in(rows(read))


def test_a_form_that_shows_late_is_said_and_not_passed_over(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [*[{"role": "user", "content": "q"}] * 1200, shown.CLAUDE[-1], *shown.CLAUDE]))
    )
    read = load_jsonl(path, origin=DEEPSEEK)
    with pytest.raises(
        TranscriptError,
        match="is written in the form 'anthropic', and what stands before it looked like 'chat'; say form='anthropic'",
    ):
        list(read)
    own = OWN["anthropic"]
    assert own in marks_in(list(load_jsonl(path, origin=own, form="anthropic")))


def test_a_transcript_is_marked_where_it_has_no_mark_when_an_origin_is_said(tmp_path):
    dump_jsonl(shown.CHAT, tmp_path / "x.jsonl")
    assert adopt(shown.CHAT, DEEPSEEK) == list(load_jsonl(tmp_path / "x.jsonl", origin=DEEPSEEK))
    assert shown.CHAT == list(load_jsonl(tmp_path / "x.jsonl"))


def test_a_transcript_without_messages_has_nothing_to_mark(tmp_path):
    dump_jsonl([], tmp_path / "x.jsonl")
    assert [] == list(load_jsonl(tmp_path / "x.jsonl", origin=DEEPSEEK))


# What is said of what -------------------------------------------------------------------------------------------------

BAD = [
    (b"", "empty; give JSON or JSONL"),
    (b"{", "line 1 is not JSON (Expecting property name enclosed in double quotes)"),
    (b'{"role": "user"}\nCANARY-x', "line 2 is not JSON (Expecting value)"),
    (b"\xff\xfe\x00", "not UTF-8; give a JSON or JSONL file"),
    (b"3", "a int stands for the list of messages"),
    (b'{"choices": []}', "a reply or one message (keys 'choices')"),
    (
        b'{"messages": "redacted-by-litellm", "model_parameters": {"a": 1}}',
        "LiteLLM was told to leave the messages out",
    ),
]


@pytest.mark.parametrize(("raw", "said"), BAD)
def test_a_file_of_no_known_shape_is_named_without_its_words(raw, said, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(raw)
    with pytest.raises(TranscriptError) as caught:
        import_history(path, DEEPSEEK)
    assert f"{path}: " in str(caught.value)
    assert said in str(caught.value)
    assert "CANARY" not in str(caught.value)


def test_an_origin_that_cannot_be_right_is_refused():
    with pytest.raises(
        TranscriptError,
        match=r"in the form 'anthropic', and api\.anthropic\.com is said to speak 'chat'; give Origin\(…, dialect='anthropic'\)",
    ):
        import_history(shown.CLAUDE, Origin("api.anthropic.com"))
    with pytest.raises(TranscriptError, match="origin: a str; allowed: an Origin"):
        import_history(shown.CHAT, "api.deepseek.com")
    with pytest.raises(HistoryError, match="form 'chatt': not known"):
        import_history(shown.CHAT, DEEPSEEK, form="chatt")
    with pytest.raises(FileNotFoundError):
        import_history("nowhere.json", DEEPSEEK)


def test_a_text_that_only_another_dialects_form_could_hold_is_read_as_litellms():
    own = Origin("api.anthropic.com", model="claude-opus-4-6", dialect="anthropic")
    assert "litellm" == import_history(shown.CHAT, own).form


# The command line -----------------------------------------------------------------------------------------------------


def test_explain_reads_a_transcript(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    dump_jsonl(adopt(shown.CHAT, DEEPSEEK), path)
    ask = ["explain", str(path), "--to", "deepseek", "--model", "deepseek-v4-pro", "--json"]
    assert 0 == _cli.main(ask)
    assert {"keep": 1} == json.loads(capsys.readouterr().out)["report"]["counts"]
    path.write_bytes(path.read_bytes() + b"CANARY-x\n")
    assert 2 == _cli.main(ask)
    assert f"{path}: line 5: is not JSON (Expecting value)" in capsys.readouterr().err


def test_explain_refuses_a_redacted_transcript_in_one_line(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    dump_jsonl(adopt(shown.CHAT, DEEPSEEK), path, redacted=True)
    assert 2 == _cli.main(["explain", str(path), "--to", "deepseek"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "redact" in line
