"""No text of a message is in an error, a warning or a repr: it names the line, the keys that lead there and the type."""

from __future__ import annotations

import json
import traceback
import warnings
from importlib.util import find_spec

import pytest

from reasoning_replay import HistoryError, Origin, adopt, prepare
from reasoning_replay.transcripts import (
    CannotTrim,
    LostRecord,
    TranscriptError,
    TranscriptWriter,
    counted,
    dump_jsonl,
    import_history,
    load_jsonl,
    redact,
    repair,
    segments,
    trim,
)
from reasoning_replay.transcripts._jsonl_values import KINDS, TAG

CANARY = "CANARYthought1234567890abcdef"
WORDS = "CANARY thinks: 'no', \"yes\""
OWN = {"host": "api.deepseek.com", "model": "deepseek-v4-pro"}
HEADER = {TAG: "transcript", "version": 1, "form": None, "redacted": False, "library": "1.0"}


def shows(error):
    """Whether any word of it is in what somebody may log of an error: itself, and what led to it."""
    told = "".join(traceback.format_exception(error))
    return "CANARY" in told or "CANARY" in f"{error} {error!r} {error.args} {error.__cause__!r}"


def said(path, *, origin=None):
    """The errors of each door that reads the file, and of going through it to its end."""
    found = []
    for read in (
        lambda: load_jsonl(path, origin=origin),
        lambda: import_history(path, Origin(**OWN)),
        lambda: TranscriptWriter(path),
    ):
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                source = read()
                if isinstance(source, TranscriptWriter):
                    source.close()
                else:
                    list(getattr(source, "messages", source))
        except (TranscriptError, HistoryError) as error:
            found.append(error)
        assert "CANARY" not in " ".join(str(each.message) for each in warned)
    return found


# Lines of a transcript ------------------------------------------------------------------------------------------------


def fault_of_next(read):
    """What is wrong with the next message; None where it is read."""
    try:
        next(read)
    except TranscriptError as error:
        return error
    return None


@pytest.mark.parametrize("word", [CANARY, WORDS], ids=["one word", "words"])
@pytest.mark.parametrize("kind", [*KINDS, "langchain", None])
def test_a_broken_value_of_every_kind_is_named_by_its_place_and_kind(kind, word, tmp_path):
    path = tmp_path / "x.jsonl"
    values = [word, [word], [[word]], {word: word}, 3, None, True, [[[word], 1]], [[{word: 1}, 1]]]
    broken = 0
    for tag in ({TAG: kind or word, "value": value} for value in values):
        path.write_text(
            "\n".join(map(json.dumps, (HEADER, {"role": "user"}, {"role": "tool", "artifact": [{"x": tag}]}))) + "\n"
        )
        read = load_jsonl(path)
        assert {"role": "user"} == next(read)
        error = fault_of_next(read)
        if error is not None:
            broken += 1
            where = f"{path}: line 3: artifact[0].x: a "
            said_of = {"langchain": "record of LangChain's", None: "value of a kind ("}
            assert str(error).startswith(where + said_of.get(kind, f"tagged {kind} that is broken ("))
            assert not shows(error)
            assert error.__context__ is None
        assert not any(map(shows, said(path)))
    assert broken > 0


PLACES = [
    (
        {"role": "tool", "artifact": {CANARY: {TAG: "float", "value": CANARY}}},
        "artifact.…: a tagged float that is broken",
    ),
    ({"role": "tool", "artifact": {WORDS: [1, {TAG: "no" + WORDS}]}}, "artifact.…[1]: a value of a kind (a str of"),
    ({TAG: "decimal", "value": CANARY}, "a tagged decimal that is broken (InvalidOperation)"),
    ({"a": {TAG: ["x", CANARY]}}, "a: a value of a kind (a list) that a newer version has written"),
    ({"a": {TAG: "transcript", "version": CANARY}}, "a: a second header"),
    (
        {"a": {TAG: "langchain", "class": CANARY, "data": {}}},
        "a: a record of LangChain's that names no class of messages",
    ),
    ({"a": {TAG: "langchain", "class": [CANARY], "data": {}}}, "a: a tagged langchain that is broken (TypeError)"),
]


@pytest.mark.parametrize(("row", "text"), PLACES, ids=range(len(PLACES)))
def test_a_key_that_looks_like_none_is_not_shown(row, text, tmp_path):
    if "langchain" in text and find_spec("langchain_core") is None:
        pytest.skip("LangChain is not installed")
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps(HEADER)}\n{json.dumps(row)}\n")
    with pytest.raises(TranscriptError) as caught:
        list(load_jsonl(path))
    assert str(caught.value).startswith(f"{path}: line 2: {text}")
    assert not shows(caught.value)


@pytest.mark.parametrize("name", ["form", "library", "version", "redacted"])
@pytest.mark.parametrize("value", [CANARY, WORDS, [WORDS], {WORDS: 1}, 10**400, 7])
def test_a_header_is_not_quoted(name, value, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**HEADER, name: value}) + '\n{"role":"user"}\n')
    found = said(path, origin=Origin(**OWN))
    assert (name == "library") == (found == [])
    for newer in ({"version": 2}, {"version": 10**400}):
        path.write_text(json.dumps({**HEADER, name: value, **newer}) + "\n")
        found += said(path)
    assert not any(map(shows, found))
    assert all(len(str(error)) < 400 for error in found)


@pytest.mark.skipif(find_spec("langchain_core") is None, reason="LangChain is not installed")
@pytest.mark.parametrize("own", [CANARY, WORDS, f"a.{WORDS}"])
def test_a_class_that_is_not_there_is_shown_only_where_it_looks_like_one(own, tmp_path):
    path = tmp_path / "x.jsonl"
    record = {
        "type": "ai",
        "data": {"content": "x", "type": "ai"},
        TAG: "langchain",
        "class": "langchain_core.messages.ai.AIMessage",
    }
    path.write_text(f"{json.dumps(HEADER)}\n{json.dumps({**record, 'subclass': own})}\n")
    with pytest.warns(UserWarning, match="a class: not imported") as warned:
        list(load_jsonl(path))
    assert "CANARY" not in str(warned[0].message)


# Other files ----------------------------------------------------------------------------------------------------------

FILES = [
    json.dumps({CANARY: 1}),
    json.dumps([{CANARY: 1}]),
    json.dumps({"choices": [], CANARY: 1, WORDS: 2}),
    json.dumps({"role": "user", "content": WORDS, CANARY: 2}),
    json.dumps([WORDS]),
    json.dumps(WORDS),
    json.dumps({"messages": WORDS}),
    json.dumps({"messages": [WORDS]}),
    json.dumps([{"role": WORDS, "content": "x"}]),
    json.dumps([{"role": CANARY, "content": "x"}]),
    json.dumps([{"role": "user", "content": "x"}, {"role": [WORDS], "content": "x"}]),
    json.dumps({"messages": [{"role": {WORDS: 1}, "content": "x"}], "model": WORDS}),
    json.dumps([{"role": "assistant", "content": {WORDS: 1}}]),
    json.dumps([{"type": "ai", "data": {"content": WORDS, "type": WORDS}}]),
    json.dumps([{"type": "ai", "data": {"content": {WORDS: 1}, "type": "ai", "tool_calls": WORDS}}]),
    WORDS,
    '{"role":"user","content":"' + CANARY,
    '[{"role":"user","content":"' + CANARY + '"',
    '{"role":"user"}\n' + CANARY + '\n{"role":"user"}\n',
    '{"role":"user"}\n{"role":"user"}{"' + CANARY,
    json.dumps(HEADER) + "\r" + WORDS,
    json.dumps(HEADER) + "\n" + WORDS,
    json.dumps(HEADER) + '\n{"role":"user","content":"' + CANARY,
]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_a_file_that_cannot_be_read_is_not_quoted(text, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    found = said(path) + said(path, origin=Origin(**OWN))
    assert not any(map(shows, found))
    assert found or "\n" in text


ROLES = {"chat": "chat", "litellm": "chat", "anthropic": "anthropic", "responses": "responses", "gemini": "gemini", "bedrock": "bedrock", "ollama": "ollama"}  # fmt: skip


@pytest.mark.parametrize("form", ROLES)
def test_a_role_that_is_none_is_shown_only_where_it_looks_like_one(form):
    key = "parts" if form == "gemini" else "content"
    for role, shown in (
        ("owner", "'owner'"), ("a" * 20, repr("a" * 20)), ("a" * 21, "a str of 21 characters"), (CANARY, "a str of 29 characters"),
        ("thought_1", "a str of 9 characters"), ([WORDS], None), ({WORDS: 1}, None), (WORDS.encode(), None), (3, None),
    ):  # fmt: skip
        row = {"role": role, key: [{"text": "x"}] if form in ("gemini", "bedrock") else "x"}
        for ask in (
            lambda row=row: prepare([row], host="api.example", form=form, dialect=ROLES[form]),
            lambda row=row: redact([row], form=form),
            lambda row=row: adopt([row], Origin("api.example", dialect=ROLES[form]), form=form),
        ):
            with pytest.raises(HistoryError, match=r"messages\[0\]\.role: ") as caught:
                ask()
            assert not shows(caught.value)
            assert shown is None or f"messages[0].role: {shown}; allowed: " in str(caught.value)


# What is shown of the room's own objects ------------------------------------------------------------------------------


def test_what_somebody_prints_shows_no_word_of_a_message(tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [
        {"role": "user", "content": WORDS},
        {"role": "assistant", "content": WORDS, "reasoning_content": CANARY},
        {"role": "user", "content": WORDS},
    ]
    imported = import_history({"messages": rows, "model": WORDS, "tools": [{WORDS: 1}]}, Origin(**OWN))
    dump_jsonl(imported.messages, path)
    with TranscriptWriter(path) as out:
        shown = [out, imported, counted(rows, **OWN), *segments(rows), repair(imported.messages, **OWN)]
        shown.append(repair([{"role": "tool", "tool_call_id": WORDS, "content": WORDS}, *imported.messages], **OWN))
    path.write_bytes(path.read_bytes() + f'{{"content":"{CANARY}'.encode())
    read = load_jsonl(path)
    with pytest.warns(LostRecord) as warned:
        list(read)
    shown += [read, read.loss, *(each.message for each in warned)]
    with pytest.raises(CannotTrim) as caught:
        trim(imported.messages, 1, **OWN)
    for each in (*shown, caught.value):
        assert "CANARY" not in f"{each} {each!r} {each:} {getattr(each, 'args', '')}"
    assert "<Imported: 3 messages in the form chat>" == repr(imported)
    messages, form, request, model = imported
    assert (rows[0], "chat", WORDS) == (messages[0], form, model)
    assert [{WORDS: 1}] == request["tools"]
