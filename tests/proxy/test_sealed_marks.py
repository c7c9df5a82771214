"""Marks of the proxy: a client reads no name in them, makes none, and moves none onto other reasoning."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning_replay import Origin, adopt
from reasoning_replay._origin import MARK, from_mark, mark_id, to_mark
from reasoning_replay.forms import PSF
from reasoning_replay.litellm._sealed_marks import Sealer, opened, sealed

SEALER = Sealer(b"a secret of the deployment")
HOST = Origin("api.deepseek.com", model="deepseek-v4-pro")
OTHER = Origin("api.moonshot.ai", model="kimi-k2.5")
WHOLE = (
    "AQFPFi2t-n0ABbjxMb0OyA-jxAZEjLJQHQLDs4UeHInu9JinCJQ-voFdOObfN76TJuz7EFEWGGpPUhNmfnQCBNTXyYjrBkR85RDE"
    "OqxmkIO-XJhxAQDUP0lTd9j0Mz8-UwMBVAix-C83bg1iZEEHltvMmkYy8icwhYfvXmKE6-_4oxdJHR_lsL1ynotr_MWXPzZh4R1t9BW170c-_Z8"
)


def chat(text="because", **more):
    return {"role": "assistant", "content": "so", "reasoning_content": text, **more}


def claude(*blocks):
    return {"role": "assistant", "content": [*blocks, {"type": "text", "text": "so"}]}


def thought(text="hm", signature="sig"):
    return {"type": "thinking", "thinking": text, "signature": signature}


def item(sealed_content="blob", identity="rs_1"):
    return {"type": "reasoning", "id": identity, "summary": [], "encrypted_content": sealed_content}


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}

HISTORIES = {
    "chat": ("chat", [{"role": "user", "content": "?"}, chat()]),
    "blocks in LiteLLM's form": (
        "litellm",
        [chat("hm", thinking_blocks=[thought(), {"type": "redacted_thinking", "data": "x"}])],
    ),
    "details": (
        "litellm",
        [{"role": "assistant", "content": None, PSF: {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}],
    ),
    "a signed call": (
        "litellm",
        [{
            "role": "assistant", "content": None,
            "tool_calls": [{
                "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "sig"}},
            }],
        }],
    ),
    "anthropic": ("anthropic", [claude(thought("a", "s1"), {"type": "redacted_thinking", "data": "d"}, thought("b", "s2"))]),
    "responses": ("responses", [item(), CALL, {"type": "function_call_output", "call_id": "call_1", "output": "1"}]),
}  # fmt: skip


def marked(form, rows, origin=HOST):
    dialect = {"litellm": "chat"}.get(form, form)
    return adopt(rows, Origin(origin.host, dialect=dialect, model=origin.model), form=form)


def marks(value):
    """Every mark anywhere in a history."""
    if isinstance(value, dict):
        own = [value[MARK]] if MARK in value else []
        return own + [mark for each in value.values() for mark in marks(each)]
    return [mark for each in value for mark in marks(each)] if isinstance(value, list) else []


@pytest.fixture(params=HISTORIES.values(), ids=HISTORIES)
def history(request):
    form, rows = request.param
    return form, marked(form, rows)


def test_what_goes_to_a_client_and_comes_back_is_what_it_was(history):
    form, rows = history
    before = copy.deepcopy(rows)

    out = json.loads(json.dumps(sealed(rows, form, SEALER)))

    assert rows == before
    assert rows == opened(out, form, SEALER)


def test_a_client_sees_an_id_that_names_nothing(history):
    form, rows = history
    out = sealed(rows, form, SEALER)

    assert len(marks(rows)) == len(marks(out)) > 0
    for mark in marks(out):
        assert {"id", "v"} == {*mark}
        assert 1 == mark["v"]
        assert from_mark(mark) is None
        assert HOST.host not in mark["id"]


def test_equal_reasoning_has_equal_marks(history):
    form, rows = history
    assert sealed(rows, form, SEALER) == sealed(rows, form, Sealer(b"a secret of the deployment"))


def test_a_mark_is_the_same_in_every_process_and_release():
    assert WHOLE == SEALER.seal(to_mark(HOST)["id"], ["because"])
    assert to_mark(HOST)["id"] == SEALER.opened(WHOLE, ["because"])


def test_a_plain_mark_from_a_client_is_nothing(history):
    form, rows = history
    assert [] == marks(opened(rows, form, SEALER))


def test_a_mark_of_another_deployment_is_nothing(history):
    form, rows = history
    assert [] == marks(opened(sealed(rows, form, Sealer(b"another")), form, SEALER))


def with_ids(value, change):
    if isinstance(value, dict):
        return {key: change(each) if key == MARK else with_ids(each, change) for key, each in value.items()}
    return [with_ids(each, change) for each in value] if isinstance(value, list) else value


CHANGED = {
    "cut short": lambda mark: {**mark, "id": mark["id"][:-4]},
    "cut at the front": lambda mark: {**mark, "id": mark["id"][4:]},
    "doubled, as merged chunks are": lambda mark: {**mark, "id": mark["id"] * 2},
    "padded": lambda mark: {**mark, "id": mark["id"] + "="},
    "spaced": lambda mark: {**mark, "id": mark["id"] + " "},
    "with a line end": lambda mark: {**mark, "id": mark["id"] + "\n"},
    "empty": lambda mark: {**mark, "id": ""},
    "not ASCII": lambda mark: {**mark, "id": "é" * 300},
    "no string": lambda mark: {**mark, "id": None},
    "another version": lambda mark: {**mark, "v": 2},
    "one key more": lambda mark: {**mark, "w": 1},
    "the bare id": lambda mark: mark["id"],
    "null": lambda mark: None,
    "a list": lambda mark: [mark],
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_a_mark_that_was_changed_in_any_way_is_nothing(history, change):
    form, rows = history
    assert [] == marks(opened(with_ids(sealed(rows, form, SEALER), change), form, SEALER))


def test_a_flipped_bit_anywhere_breaks_a_mark():
    whole = SEALER.seal(to_mark(HOST)["id"], ["because"])
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for at, letter in enumerate(whole):
        for bit in range(6):
            other = whole[:at] + letters[letters.index(letter) ^ (1 << bit)] + whole[at + 1 :]
            assert SEALER.opened(other, ["because"]) is None


def test_a_mark_that_was_moved_onto_other_reasoning_is_nothing():
    own, other = sealed(marked("chat", [chat("mine"), chat("another's")]), "chat", SEALER)
    moved = {**other, PSF: own[PSF]}
    assert [] == marks(opened([moved], "chat", SEALER))


def test_a_block_with_the_mark_of_its_neighbour_has_none():
    (row,) = sealed(marked("anthropic", [claude(thought("a", "s1"), thought("b", "s2"))]), "anthropic", SEALER)
    first, second, text = row["content"]
    crossed = {**row, "content": [{**first, PSF: second[PSF]}, second, text]}
    (back,) = opened([crossed], "anthropic", SEALER)
    assert [False, True, False] == [PSF in block for block in back["content"]]


def test_an_item_with_the_mark_of_another_has_none():
    first, second = sealed(marked("responses", [item("x", "rs_1"), item("y", "rs_2")]), "responses", SEALER)
    assert [] == marks(opened([{**second, PSF: first[PSF]}], "responses", SEALER))


def test_a_follower_is_bound_to_its_id():
    _, call = sealed(marked("responses", [item(), CALL]), "responses", SEALER)
    assert [] == marks(opened([{**call, "id": "fc_2"}], "responses", SEALER))
    assert [] == marks(opened([{key: value for key, value in call.items() if key != "id"}], "responses", SEALER))
    assert 1 == len(marks(opened([{**call, "arguments": "{ }"}], "responses", SEALER)))


def test_a_client_that_sends_only_some_of_the_parts_back_still_has_a_mark():
    (row,) = sealed(marked("litellm", [chat("hm", thinking_blocks=[thought()])]), "litellm", SEALER)
    del row["thinking_blocks"]
    assert 1 == len(marks(opened([row], "litellm", SEALER)))


def test_a_part_that_was_put_under_a_mark_breaks_it():
    (row,) = sealed(marked("litellm", [chat("hm")]), "litellm", SEALER)
    row["thinking_blocks"] = [thought("put in")]
    assert [] == marks(opened([row], "litellm", SEALER))


def test_details_that_a_client_has_joined_give_way_to_the_whole_ones_beside_the_mark():
    detail = {"type": "reasoning.text", "text": "hm", "signature": "sig", "format": "f"}
    rows = marked("litellm", [{"role": "assistant", "content": None, PSF: {"reasoning_details": [detail]}}])
    (row,) = sealed(rows, "litellm", SEALER)
    joined = {**row, "reasoning_details": [{"type": "reasoning.text", "text": "hm", "format": "fff"}]}
    assert rows == opened([joined], "litellm", SEALER)


def test_a_blank_that_a_client_puts_beside_does_not_break_a_mark():
    (row,) = sealed(marked("litellm", [chat("hm")]), "litellm", SEALER)
    assert 1 == len(marks(opened([{**row, "reasoning": " "}], "litellm", SEALER)))


def test_a_mark_without_reasoning_is_nothing_and_is_not_sealed():
    bare = {"role": "assistant", "content": "so", PSF: {MARK: to_mark(HOST)}}
    assert [{"role": "assistant", "content": "so"}] == sealed([bare], "chat", SEALER)
    stolen = sealed(marked("chat", [chat()]), "chat", SEALER)[0][PSF]
    assert [{"role": "assistant", "content": "so"}] == opened([{**bare, PSF: stolen}], "chat", SEALER)


def test_a_broken_plain_mark_never_leaves():
    note = to_mark(HOST)
    row = chat(**{PSF: {MARK: {**note, "id": note["id"] + "~"}, "other": 1}})
    assert [chat(**{PSF: {"other": 1}})] == sealed([row], "chat", SEALER)


def test_a_mark_on_a_message_of_the_anthropic_form_or_of_a_user_is_nothing():
    note = {PSF: {MARK: to_mark(HOST)}}
    assert [] == marks(opened([{**claude(thought()), **note}], "anthropic", SEALER))
    assert [] == marks(opened([{"role": "user", "content": "?", **note}], "chat", SEALER))


def test_the_length_of_a_name_does_not_show():
    short = Origin("a.io", model="m")
    long = Origin(
        "bedrock-runtime.us-east-1.amazonaws.com",
        dialect="bedrock",
        model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    assert len(SEALER.seal(to_mark(short)["id"], ["x"])) == len(SEALER.seal(to_mark(long)["id"], ["x"]))


def test_a_name_of_any_length_comes_back():
    for size in (*range(0, 300, 7), 123, 124, 125, 252, 253, 4096):
        name = "m" * size
        assert name == SEALER.opened(SEALER.seal(name, ["x"]), ["x"])


def test_an_id_that_is_longer_than_any_of_ours_is_nothing_and_none_that_is_long_is_remembered():
    sealer = Sealer(b"a secret")
    long = sealer.seal("m", [str(number) for number in range(1000)])
    assert 1024 < len(long) < 1 << 16
    assert "m" == sealer.opened(long, ["7", "999"])
    tags = [str(number) for number in range(5000)]
    assert sealer.opened(sealer.seal("m", tags), tags[:1]) is None
    for junk in ("A" * 1_000_000, "!" * 1025, ""):
        assert sealer.opened(junk, ["x"]) is None
    assert 1 == sealer._read.cache_info().currsize  # of the empty one
    assert "m" == sealer.opened(sealer.seal("m", ["x"]), ["x"])
    assert 2 == sealer._read.cache_info().currsize


def test_messages_that_cannot_be_read_lose_their_marks_and_nothing_else():
    good, note = sealed(marked("chat", [chat()]), "chat", SEALER)[0], {PSF: {MARK: to_mark(HOST)}}
    bad = {"role": "assistant", "content": 5, **note}
    worse = {"role": "nobody", "content": "x", **note}
    left = opened([good, bad, worse, "no message"], "chat", SEALER)
    assert [good["reasoning_content"], 1] == [left[0]["reasoning_content"], len(marks(left[0]))]
    assert [{"role": "assistant", "content": 5}, {"role": "nobody", "content": "x"}, "no message"] == left[1:]


def test_what_has_no_mark_is_shared():
    rows = [{"role": "user", "content": "?"}, chat()]
    assert all(new is old for new, old in zip(opened(rows, "chat", SEALER), rows, strict=True))


@given(st.text(), st.lists(st.text(), min_size=1, max_size=4), st.text())
def test_only_the_very_payloads_open_a_mark(name, payloads, other):
    whole = SEALER.seal(name, payloads)
    assert name == SEALER.opened(whole, payloads)
    assert (name if other in payloads else None) == SEALER.opened(whole, [other])
    assert mark_id({"id": whole, "v": 1}) == whole


def test_two_origins_never_share_a_stream():
    one, two = (SEALER.seal(to_mark(origin)["id"], ["same"]) for origin in (HOST, OTHER))
    assert one[:22] != two[:22]


def test_a_sealer_shows_no_key():
    assert "<sealer>" == repr(SEALER)
