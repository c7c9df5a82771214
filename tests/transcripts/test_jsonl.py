"""A transcript gives back what was saved: every form, every value, and on the wire the very bytes."""

from __future__ import annotations

import copy
import io
import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from math import isnan
from types import MappingProxyType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall_cases
import test_invariants  # noqa: F401 - its profile of hypothesis
from native_cases import ALL, CASES, USERS
from reasoning_replay import HistoryError, MemoryStore, Origin, adopt, capture, prepare
from reasoning_replay.transcripts import TranscriptError, TranscriptWriter, dump_jsonl, load_jsonl
from reasoning_replay.transcripts._jsonl_values import KINDS, TAG, is_plain
from strategies import chat_histories, claude_histories

FORMS = ("chat", "litellm", "anthropic", "responses", "gemini", "bedrock", "ollama")
HOME = {
    "chat": Origin("api.deepseek.com", model="deepseek-v4-pro"),
    "responses": Origin("api.openai.com", model="gpt-5.4", dialect="responses"),
    "gemini": Origin("generativelanguage.googleapis.com", model="gemini-3-pro", dialect="gemini"),
    "bedrock": Origin("bedrock-runtime.us-east-1.amazonaws.com", model="us.anthropic.claude-opus-4-6-v1:0", dialect="bedrock"),
    "ollama": Origin("localhost:11434", model="qwen3", dialect="ollama"),
}  # fmt: skip


def saved(messages, **options):
    """What is read of what was written, without a file."""
    file = io.BytesIO()
    dump_jsonl(messages, file, **options)
    file.seek(0)
    return load_jsonl(file)


def same(left, right):
    """Equal, of the same types and with keys in the same order."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right or (isinstance(left, float) and isnan(left) and isnan(right))


# Round trips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_history_of_every_form_comes_back_as_it_was_and_goes_out_byte_for_byte(form, data):
    rows = data.draw(recall_cases.histories(form))
    target = data.draw(st.sampled_from(recall_cases.TARGETS[form]))
    before = copy.deepcopy(rows)
    back = list(saved(iter(rows), form=form))
    assert same(back, before)
    assert same(rows, before)
    first, second = (
        prepare(each, form=form if form == "litellm" else None, known=MemoryStore(), request={"tools": [{"name": "look"}]}, **target.arguments)
        for each in (rows, back)
    )  # fmt: skip
    assert same(second.messages, first.messages)
    assert second.request == first.request


@pytest.mark.parametrize(("dialect", "name"), ALL)
def test_a_reply_of_a_vendor_is_saved_with_its_mark_and_replayed_whole(dialect, name):
    case, home = CASES[dialect][name], HOME[dialect]
    said = capture(case.reply, home, known=MemoryStore())
    history = [USERS[dialect], *(said if isinstance(said, list) else [said]), *case.answers]
    back = list(saved(history, form=dialect))
    assert same(back, history)
    ask = {
        "host": f"https://{home.host}",
        "model": home.model,
        "dialect": dialect,
        "request": {"tools": [{"name": "x"}]},
    }
    assert same(
        prepare(back, known=MemoryStore(), **ask).messages, prepare(history, known=MemoryStore(), **ask).messages
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([TAG, "bytes", "\u2028", "\x85"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just(TAG), inner, max_size=3),
    max_leaves=12,
)
VALUES = st.recursive(
    JSON
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.frozensets(st.integers()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.just(TAG), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=4) | st.just(TAG), VALUES, max_size=4))
def test_any_value_that_a_message_can_hold_comes_back_as_it_was(message):
    assert same(list(saved([{"role": "user", **message}])), [{"role": "user", **message}])


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=4) | st.just(TAG), JSON, max_size=4))
def test_what_json_itself_can_say_is_written_as_json_says_it(message):
    file = io.BytesIO()
    dump_jsonl([message], file, form="chat")
    line = file.getvalue().split(b"\n")[1]
    if is_plain(message):
        assert same(json.loads(line), message)
    assert len(file.getvalue().split(b"\n")) == 3


MOMENT = datetime(2026, 11, 30, 22, 5, 1, 7, UTC)
ONE_OF_EACH = {
    "bytes": b"\x00\xff",
    "float": float("-inf"),
    "tuple": (1, ("a",)),
    "set": {1},
    "frozenset": frozenset({"a"}),
    "datetime": MOMENT,
    "date": date(2026, 11, 30),
    "time": time(22, 5),
    "decimal": Decimal("1.10"),
    "uuid": UUID(int=7),
    "dict": {1: "one", None: "none", (2, 3): "pair", TAG: "bytes"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["x", TAG])
def test_a_value_that_json_has_no_word_for_comes_back(kind, key):
    message = {"role": "tool", "artifact": [ONE_OF_EACH[kind]], "more": {key: ONE_OF_EACH[kind]}}
    assert same(list(saved([message])), [message])


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, {True: 1}, {1.5: 1}, float("nan"), (1,), {TAG: 1}], ids=repr)
def test_what_json_would_change_without_a_word_comes_back_too(value):
    for message in ({"role": "tool", "artifact": value}, {"role": "tool", "artifact": [[value]]}):
        assert same(list(saved([message])), [message])


@dataclass
class Part:
    text: str
    data: bytes


class Kind(StrEnum):
    TEXT = "text"


class Object:
    """As an SDK's: fields that were set, and more that were not."""

    def model_dump(self, *, exclude_unset=False):
        assert exclude_unset
        return {"role": "assistant", "content": [Part("x", b"y")], "thought": b"sig"}


def test_objects_come_back_as_the_fields_that_were_set():
    whole = [{"role": "assistant", "content": [{"text": "x", "data": b"y"}], "thought": b"sig"}]
    assert same(list(saved([Object()])), whole)
    mixed = {
        "role": "user",
        "content": MappingProxyType({"type": Kind.TEXT}),
        "x": OrderedDict(b=1, a=2),
        "y": bytearray(b"z"),
    }
    assert same(list(saved([mixed])), [{"role": "user", "content": {"type": "text"}, "x": {"b": 1, "a": 2}, "y": b"z"}])


def planned_alone(message, dialect):
    own = Origin("llm.example", dialect=dialect)
    return prepare(adopt([message], own), host="llm.example", dialect=dialect, known=MemoryStore()).messages


def test_objects_of_openai_and_anthropic_come_back_as_what_prepare_reads_of_them():
    openai = pytest.importorskip("openai.types.chat")
    anthropic = pytest.importorskip("anthropic.types")
    chat = openai.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "reasoning_content": "CANARY-1;"}
    )
    claude = {
        "role": "assistant",
        "content": [anthropic.ThinkingBlock(type="thinking", thinking="", signature="CANARY-2;")],
    }
    back = list(saved([chat, claude]))
    assert back[0] == {"role": "assistant", "content": None, "reasoning_content": "CANARY-1;"}
    assert back[1]["content"] == [{"type": "thinking", "thinking": "", "signature": "CANARY-2;"}]
    assert same(planned_alone(back[0], "chat"), planned_alone(chat, "chat"))


@pytest.mark.slow  # its import alone takes seconds
def test_objects_of_gemini_come_back_as_what_prepare_reads_of_them_bytes_and_all():
    genai = pytest.importorskip("google.genai.types")
    given_ = genai.Content(role="model", parts=[genai.Part(text="", thought_signature=b"CANARY-3;")])
    (back,) = saved([given_])
    assert back["parts"] == [{"text": "", "thought_signature": b"CANARY-3;"}]
    assert same(planned_alone(back, "gemini"), planned_alone(given_, "gemini"))


def test_what_an_sdk_keeps_for_itself_is_not_saved_since_hosts_refuse_it():
    parsed = pytest.importorskip("anthropic.types.parsed_message")
    block = parsed.ParsedTextBlock.model_construct(type="text", text="x", parsed_output=Part("y", b""))
    (back,) = saved([{"role": "assistant", "content": [block]}])
    assert back["content"] == [{"type": "text", "text": "x"}]


def test_half_a_character_at_the_end_of_a_cut_stream_is_kept():
    message = {"role": "assistant", "content": "x\ud83d", "reasoning_content": "é漢 \u2028 \x85"}
    assert same(list(saved([message])), [message])


def test_text_is_readable_in_the_file(tmp_path):
    dump_jsonl([{"role": "user", "content": "漢é"}], tmp_path / "x.jsonl")
    assert "漢é" in (tmp_path / "x.jsonl").read_text(encoding="utf-8")


# What is said of what -------------------------------------------------------------------------------------------------


class Frame:
    pass


CIRCLE: dict = {"role": "user"}
CIRCLE["content"] = [CIRCLE]
DEEP: dict = {"role": "user", "content": []}
for _ in range(100_000):
    DEEP = {"role": "user", "content": [DEEP["content"]]}
REFUSED = [
    ("text", "messages[1]: a str; allowed: a dict, a LangChain message, or an object with model_dump()"),
    (None, "messages[1]: a NoneType; allowed: a dict"),
    ([{"role": "user"}], "messages[1]: a list; allowed: a dict, a LangChain message, or an object with model_dump(); give the messages of a list one by one"),
    ((1, 2), "messages[1]: a tuple; allowed: a dict"),
    (b"x", "messages[1]: a bytes; allowed: a dict"),
    (Frame(), "messages[1]: a Frame; allowed: a dict"),
    ({"role": "tool", "artifact": {"a": [1, Frame()]}}, "messages[1].artifact.a[1]: a Frame; allowed: JSON's values, bytes"),
    (CIRCLE, "messages[1]: nested too deep, or in a circle"),
    (DEEP, "messages[1]: nested too deep, or in a circle"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_written_is_named_and_the_old_file_stays(bad, said, tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([{"role": "user", "content": "old"}], path)
    with pytest.raises(TranscriptError) as caught:
        dump_jsonl(iter([{"role": "user"}, bad]), path)
    assert said in str(caught.value)
    assert [{"role": "user", "content": "old"}] == list(load_jsonl(path))
    assert [path] == list(tmp_path.iterdir())


def test_default_says_what_to_write_for_a_value_of_ones_own():
    message = {"role": "tool", "artifact": Frame()}
    assert [{"role": "tool", "artifact": {"rows": (1,)}}] == list(
        saved([message], default=lambda value: {"rows": (1,)})
    )
    with pytest.raises(TranscriptError, match=r"messages\[0\]\.artifact: a Frame"):
        saved([message], default=lambda value: value)


@pytest.mark.parametrize("given_", ["a path", b"x", {"role": "user"}, 3, None])
def test_what_is_no_iterable_of_messages_is_refused(given_):
    with pytest.raises(TranscriptError, match="allowed: a list or any iterable of messages"):
        dump_jsonl(given_, io.BytesIO())


def test_no_such_form_is_said_before_anything_is_written(tmp_path):
    for write in (
        lambda: dump_jsonl([], tmp_path / "x", form="chatt"),
        lambda: TranscriptWriter(tmp_path / "x", form="chatt"),
    ):
        with pytest.raises(HistoryError, match="form 'chatt': not known"):
            write()
    assert [] == list(tmp_path.iterdir())


# The header -----------------------------------------------------------------------------------------------------------


def header_of(path):
    return json.loads(path.read_bytes().split(b"\n")[0])


def test_the_header_says_version_form_redacted_and_who_wrote_it(tmp_path):
    from importlib.metadata import version

    path = tmp_path / "x.jsonl"
    assert 2 == dump_jsonl([{"role": "user", "parts": [{"text": "x"}]}] * 2, path)
    expected = {
        TAG: "transcript",
        "version": 1,
        "form": "gemini",
        "redacted": False,
        "library": version("reasoning-replay"),
    }
    assert expected == header_of(path)
    read = load_jsonl(path)
    assert (1, "gemini", False, None) == (read.version, read.form, read.redacted, read.loss)


@pytest.mark.parametrize(
    ("form", "histories"), [("chat", chat_histories(turns=1)), ("anthropic", claude_histories(turns=1))]
)
@settings(max_examples=20)
@given(data=st.data())
def test_the_form_is_what_is_said_and_else_what_the_messages_show(form, histories, data, tmp_path_factory):
    messages = data.draw(histories).messages
    assert form == saved(messages, form=form).form
    assert saved(messages).form in {form, "chat", "litellm", "anthropic"}


def test_a_file_of_a_newer_version_is_refused_with_words(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([{"role": "user"}], path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(
        b"\n".join([json.dumps({**header_of(path), "version": 2, "library": "2099.1.1"}).encode(), *lines[1:]])
    )
    text = "line 1: a transcript of version 2, written by reasoning-replay 2099.1.1; this one reads version 1: upgrade reasoning-replay"
    for read in (load_jsonl, TranscriptWriter):
        with pytest.raises(TranscriptError) as caught:
            read(path)
        assert f"{path}: {text}" == str(caught.value)
    assert len(lines) == len(path.read_bytes().split(b"\n"))


@pytest.mark.parametrize("change", [{"version": 0}, {"version": None}, {"redacted": "no"}, {"form": 3}])
def test_a_broken_header_is_named(change, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({TAG: "transcript", "version": 1, "form": None, "redacted": False, **change}) + "\n")
    with pytest.raises(TranscriptError, match="line 1: a transcript's header that is broken"):
        load_jsonl(path)


def test_a_later_versions_extra_keys_in_the_header_are_no_fault(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        json.dumps({TAG: "transcript", "version": 1, "form": None, "redacted": False, "more": 1})
        + '\n{"role":"user"}\n'
    )
    assert [{"role": "user"}] == list(load_jsonl(path))


# A broken line --------------------------------------------------------------------------------------------------------

BROKEN = [
    (b'{"role":"assi', "is not JSON (Invalid control character at)"),
    (b'{"role":"user"}{"role":"user"}', "is not JSON (Extra data)"),
    (b'{"role":"user","content":"\xff"}', "is not UTF-8"),
    (b"3", "a int, where a message was to stand"),
    (b'{"a":{"$replay":"bytes","value":"CANARY-1;"}}', "a: a tagged bytes that is broken (Error)"),
    (b'{"a":{"$replay":"bytes"}}', "a: a tagged bytes that is broken (KeyError)"),
    (b'{"a":{"$replay":"quaternion","value":"CANARY-1;"}}', "a: a value of a kind ('quaternion') that a newer version has written"),
    (b'{"$replay":"bytes","value":"eA=="}', "a bytes, where a message was to stand"),
    (b'{"$replay":"transcript","version":1,"form":null,"redacted":false}', "a second header: two transcripts in one file"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_a_broken_line_in_the_middle_names_file_and_line_and_costs_no_other(line, said, tmp_path):
    path = tmp_path / "x.jsonl"
    messages = [{"role": "user", "content": str(number)} for number in range(4)]
    dump_jsonl(messages, path)
    lines = path.read_bytes().split(b"\n")
    raw = b"\n".join([*lines[:3], line, *lines[3:]])
    path.write_bytes(raw)
    read = load_jsonl(path)
    assert messages[:2] == [next(read), next(read)]
    with pytest.raises(TranscriptError) as caught:
        next(read)
    assert str(caught.value).startswith(f"{path}: line 4: {said}")
    assert "restore the line from a copy, or take it out" in str(caught.value)
    assert "CANARY" not in str(caught.value)
    assert messages[2:] == list(read)
    assert raw == path.read_bytes()
    with pytest.raises(TranscriptError, match="line 4"):
        list(load_jsonl(path))


def test_a_broken_line_that_was_met_while_looking_for_the_form_is_told_where_it_stands(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        out.append({"role": "user"})
    path.write_bytes(path.read_bytes() + b'broken\n{"role":"system"}\n')
    read = load_jsonl(path)
    assert "chat" == read.form
    assert {"role": "user"} == next(read)
    with pytest.raises(TranscriptError, match="line 3"):
        next(read)
    assert [{"role": "system"}] == list(read)


def test_empty_lines_are_nothing(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([{"role": "user"}], path)
    path.write_bytes(path.read_bytes() + b'\n\n{"role":"system"}\n')
    assert ["user", "system"] == [each["role"] for each in load_jsonl(path)]
