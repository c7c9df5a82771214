"""A reply's reasoning taken out of what is visible and put back: every form, on histories that nobody wrote by hand.

What a client leaves of a reply, and what it changes without meaning anything, stands in `recall_cases`.
"""

from __future__ import annotations

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay import MemoryStore, adopt, capture, prepare
from reasoning_replay._history import HistoryError
from reasoning_replay.forms import form_of
from recall_cases import NOTHING, SOMETHING, histories, odd_row, replies, results, seen
from test_forms_properties import user

FEWER = settings(max_examples=max(settings.default.max_examples // 3, 1))
"""Eleven sentences in seven forms: as long together as one of the other property tests (seconds)."""
FORMS = ["chat", "litellm", "ollama", "anthropic", "responses", "bedrock", "gemini"]


def recall_of(form):
    return form_of(form).recall


def told(form, rows):
    return [(each.reply, each.text) for each in recall_of(form).said(rows)]


def on_the_wire(form, target, reply, calls):
    """What goes to the reply's own host when the tools have answered."""
    rows = [user(form, "go"), *adopt(reply, target.origin, form=form), *results(form, 1, calls)]
    request = {"tools": [{"name": "look"}]}
    plan = prepare(rows, form=form, known=MemoryStore(), request=request, **target.arguments)
    return [json.dumps(row, sort_keys=True, default=str) for row in plan.messages]


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_was_lifted_and_laid_into_what_a_client_left_is_the_reply_itself_on_the_wire(form, data):
    target, rows, calls = data.draw(replies(form))
    recall = recall_of(form)
    lifted = recall.lift(rows)
    left = seen(form, rows)
    if lifted is None:
        assert all(each.bare for each in recall.said(rows))
        return
    laid = recall.lay(left, json.loads(json.dumps(lifted)))
    assert on_the_wire(form, target, rows, calls) == on_the_wire(form, target, laid, calls)


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_is_lifted_holds_nothing_visible_and_no_mark(form, data):
    target, rows, _ = data.draw(replies(form))
    captured = capture(rows if form == "responses" else rows[0], target.origin, form=form, known=MemoryStore())
    lifted = recall_of(form).lift(captured if isinstance(captured, list) else [captured])
    assert lifted == recall_of(form).lift(rows)
    told_ = json.dumps(lifted)
    assert json.loads(told_) == lifted
    for word in ("answer", "look", "x y", "reasoning_replay", "citations"):
        assert word not in told_


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_what_clients_change_without_meaning_anything_changes_nothing_that_is_said(form, data):
    rows = data.draw(histories(form))
    changed = copy.deepcopy(rows)
    for name in data.draw(st.lists(st.sampled_from(sorted(NOTHING)), max_size=4)):
        changed = NOTHING[name](form, changed, data.draw)
    assert told(form, rows) == told(form, changed)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", sorted(SOMETHING))
@FEWER
@given(data=st.data())
def test_what_means_something_changes_what_is_said(form, change, data):
    rows = data.draw(histories(form))
    changed = SOMETHING[change](form, copy.deepcopy(rows), data.draw)
    if changed is not None:
        assert told(form, rows) != told(form, changed)


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_a_client_that_dropped_all_reasoning_has_bare_replies_and_rows_follow_each_other(form, data):
    rows = data.draw(histories(form))
    left = seen(form, rows)
    said = recall_of(form).said(left)
    assert all(each.bare for each in said if each.reply)
    assert [each.start for each in said] == [0, *(each.end for each in said[:-1])]
    assert [len(left)] == [each.end for each in said[-1:]]


@pytest.mark.parametrize("form", FORMS)
@FEWER
@given(data=st.data())
def test_reasoning_that_stands_there_is_never_written_over(form, data):
    _, rows, _ = data.draw(replies(form))
    _, others, _ = data.draw(replies(form))
    recall = recall_of(form)
    lifted = recall.lift(others)
    before = copy.deepcopy(rows)
    if lifted is None or any(each.bare for each in recall.said(rows)):
        return
    assert rows == recall.lay(rows, lifted)
    assert before == rows


def woven(row):
    """LiteLLM's blocks beside a text in the order that is noted."""
    if "reasoning_layout" not in row.get("provider_specific_fields", ()):
        return row
    left = {key: value for key, value in row.items() if key not in ("thinking_blocks", "provider_specific_fields")}
    blocks, text = iter(row["thinking_blocks"]), row["content"]
    parts = []
    for entry in row["provider_specific_fields"]["reasoning_layout"]:
        length = int(entry.partition(":")[2] or 0)
        parts.append(next(blocks) if entry == "thinking" else {"type": "text", "text": text[:length]})
        text = text[length:]
    return {**left, "content": parts}


def words_of(rows):
    """A reply as a line of words and of reasoning between them, however its texts are cut."""
    line = []
    for row in map(woven, rows):
        content = row.get("content", row.get("parts"))
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for each in content:
            block = {
                key: value for key, value in each.items() if key not in ("cache_control", "provider_specific_fields")
            }
            if set(block) <= {"type", "text"} and line and isinstance(line[-1], str):
                line[-1] += block["text"]
            elif set(block) <= {"type", "text"}:
                line.append(block["text"])
            elif "cachePoint" not in block:
                line.append(block)
        line.append({key: value for key, value in row.items() if key not in ("content", "parts")})
    return json.dumps([each for each in line if each != ""], sort_keys=True, default=str)


@pytest.mark.parametrize("form", ["litellm", "anthropic", "bedrock", "gemini"])
@FEWER
@given(data=st.data())
def test_reasoning_stands_between_the_same_words_however_the_client_has_cut_them(form, data):
    _, rows, _ = data.draw(replies(form))
    recall = recall_of(form)
    lifted = recall.lift(rows)
    if lifted is None:
        return
    left = seen(form, rows)
    for name in data.draw(st.lists(st.sampled_from(["texts_cut", "texts_joined", "cache_points"]), max_size=3)):
        left = NOTHING[name](form, left, data.draw)
    laid = recall.lay(left, lifted)
    whole = recall.lay(seen(form, rows), lifted)
    assert words_of(whole) == words_of(laid)
    assert json.dumps(left, default=str).count("ephemeral") == json.dumps(laid, default=str).count("ephemeral")
    assert form == "litellm" or (lifted == recall.lift(laid) == recall.lift(whole))


@pytest.mark.parametrize("form", [*FORMS, "langchain"])
def test_whatever_view_can_read_can_be_told_lifted_and_laid(form):
    shape, luck = form_of(form), random.Random(form)
    lifted = [None, {}]
    read = 0
    while read < 400:
        rows = [odd_row(form, luck) for _ in range(luck.randint(1, 3))]
        try:
            shape.view(rows, None)
        except (HistoryError, TypeError, AttributeError, KeyError):
            continue
        read += 1
        for each in shape.recall.said(rows):
            run = rows[each.start : each.end]
            if each.reply:
                lifted = [*lifted[-20:], json.loads(json.dumps(shape.recall.lift(run)))]
                shape.view(shape.recall.lay(run, luck.choice(lifted)), None)


@pytest.mark.parametrize("form", ["litellm", "anthropic", "bedrock", "gemini", "responses"])
@FEWER
@given(data=st.data())
def test_what_has_no_place_in_the_clients_message_is_not_laid_into_it(form, data):
    """Never asked for, since what is said is compared first: then nothing at all goes back."""
    _, rows, _ = data.draw(replies(form))
    lifted = recall_of(form).lift(rows)
    text = {"role": "assistant", "content": "no"}
    text = {
        "bedrock": {**text, "content": [{"text": "no"}]},
        "gemini": {"role": "model", "parts": [{"text": "no"}]},
    }.get(form, text)
    (*laid,) = recall_of(form).lay([text], lifted)
    if lifted is not None and any(place not in ([0, 0], [0, 2]) for place in places_of(lifted)):
        assert [text] == laid


def places_of(lifted):
    """Places among the words and the calls of a message, and of items."""
    inside = lifted.get("content", lifted)
    found = [[number, start] for number, start, _ in inside.get("blocks", ())]
    found += [[number, start + (length or 0)] for number, start, length, _ in inside.get("seals", ())]
    return found + [[place, 0] for place, _, _ in lifted.get("items", ()) if place > 1]


def test_a_text_is_cut_where_a_block_stood_in_it_and_its_cache_point_stays_at_its_end():
    one, two = ({"type": "thinking", "thinking": each, "signature": f"s{each}"} for each in "AB")
    blocks = [one, {"type": "text", "text": "Let me "}, two, {"type": "text", "text": "look."}]
    recall = recall_of("anthropic")
    lifted = recall.lift([{"role": "assistant", "content": blocks}])
    point = {"cache_control": {"type": "ephemeral"}}
    left = {"role": "assistant", "content": [{"type": "text", "text": "Let me look.", **point}]}
    (laid,) = recall.lay([left], lifted)
    assert [one, blocks[1], two, {**blocks[3], **point}] == laid["content"]
    (laid,) = recall.lay([{"role": "assistant", "content": "Let me look."}], lifted)
    assert blocks == laid["content"]


ECHOED = [
    ({"reasoning_content": "T", "thinking_blocks": [{"type": "thinking", "thinking": "T", "signature": "s"}]}, "T"),
    ({"reasoning_details": [{"type": "reasoning.text", "text": "T", "signature": "s"}]}, "T"),
    ({"reasoning": "T", "reasoning_details": [{"type": "reasoning.encrypted", "data": "s"}]}, "T"),
    ({"reasoning_text": "T", "reasoning_opaque": "s"}, "T"),
]


@pytest.mark.parametrize(("kept", "text"), ECHOED)
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_a_client_that_echoes_the_text_alone_gets_what_was_sealed_with_it(kept, text, key):
    recall = recall_of("litellm")
    said = {"role": "assistant", "content": "hi"}
    lifted = recall.lift([{**said, **kept}])
    assert [{**said, **kept}] == recall.lay([{**said, key: text}], lifted)
    (told_,) = recall.said([{**said, key: text}])
    assert (False, True) == (told_.bare, told_.thin)
    for other in ({key: "other"}, {key: text, "reasoning_text": "more"}, {"content": "<think>x</think>hi", key: text}):
        assert [{**said, **other}] == recall.lay([{**said, **other}], lifted)


def test_a_text_that_came_without_a_seal_is_left_as_the_client_has_it():
    recall = recall_of("litellm")
    row = {"role": "assistant", "content": "hi", "reasoning": "T"}
    assert [row] == recall.lay([row], recall.lift([{"role": "assistant", "content": "hi", "reasoning_content": "T"}]))


@pytest.mark.parametrize("form", ["chat", "litellm", "ollama"])
@FEWER
@given(data=st.data())
def test_the_short_cut_for_usual_messages_tells_what_the_long_way_tells(form, data):
    rows = data.draw(histories(form))
    for name in data.draw(st.lists(st.sampled_from(sorted(NOTHING)), max_size=3)):
        rows = NOTHING[name](form, rows, data.draw)
    odd = [
        row | {"audio": {"expires_at": 1}} for row in rows
    ]  # a key that makes every message unusual, and says nothing
    said = recall_of(form).said
    assert said(rows) == said(odd)


def echo(form, text):
    """A reply with a seal, and what clients leave of it that show thinking: the same without."""
    if form == "anthropic":
        thought = {"type": "thinking", "thinking": text}
        said = {"type": "text", "text": "hi"}
        sealed, blank = ({**thought, "signature": "s"}, said), ({**thought, "signature": ""}, said)
        return [[{"role": "assistant", "content": list(each)}] for each in (sealed, (thought, said), blank)]
    if form == "bedrock":
        both = {"text": text, "signature": "s"}, {"text": text}
        blocks = [[{"reasoningContent": {"reasoningText": each}}, {"text": "hi"}] for each in both]
        return [[{"role": "assistant", "content": each}] for each in blocks]
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}
    said = {"type": "message", "role": "assistant", "content": "hi"}
    other = {**item, "id": "rs_2", "content": None, "encrypted_content": None}
    return [[{**item, "encrypted_content": "s"}, said], [item, said], [other, said], [{**item, "summary": []}, said]]


@pytest.mark.parametrize("form", ["anthropic", "bedrock", "responses"])
def test_a_client_that_keeps_a_blocks_text_and_drops_its_seal_gets_the_block_back(form):
    recall = recall_of(form)
    whole, *thin = echo(form, "T")
    lifted = recall.lift(whole)
    for rows in thin:
        (told_,) = recall.said(rows)
        assert (False, True) == (told_.bare, told_.thin)
        assert whole == recall.lay(rows, lifted)
        assert rows == recall.lay(rows, recall.lift(thin[0]))  # nothing sealed was lifted
    (told_,) = recall.said(whole)
    assert (False, False) == (told_.bare, told_.thin)
    assert all(rows == recall.lay(rows, lifted) for rows in echo(form, "other")[:2])
