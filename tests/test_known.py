"""The store of the process: digest → origins, bounded, and without any text."""

from __future__ import annotations

import pytest

from reasoning_replay import Collector, MemoryStore, Origin, capture, prepare
from reasoning_replay._known import MAX_ORIGINS, Overlay
from reasoning_replay.litellm import ReasoningReplay, keeping_in

HERE, THERE = Origin("a.example"), Origin("b.example")


def test_a_payload_may_have_come_from_several_hosts():
    store = MemoryStore()
    store.note(b"1", HERE)
    store.note(b"1", THERE)
    store.note(b"1", HERE)
    assert store.origins(b"1") == {HERE, THERE}
    assert store.origins(b"2") == frozenset()


def test_what_was_not_looked_at_for_longest_goes_first():
    store = MemoryStore(max_items=2)
    store.note(b"1", HERE)
    store.note(b"2", HERE)
    assert store.origins(b"1") == {HERE}
    store.note(b"3", HERE)
    assert [bool(store.origins(name)) for name in (b"1", b"2", b"3")] == [True, False, True]
    assert len(store) == 2


def test_words_that_everybody_says_stop_being_evidence_of_one_more_host():
    store = MemoryStore()
    for number in range(MAX_ORIGINS + 3):
        store.note(b"1", Origin(f"h{number}.example"))
    assert len(store.origins(b"1")) == MAX_ORIGINS


def test_a_store_of_no_items_is_refused():
    with pytest.raises(ValueError, match="MemoryStore\\(max_items=0\\): allowed: 1 or more"):
        MemoryStore(max_items=0)


def test_an_overlay_notes_below_and_shows_no_payload():
    store = MemoryStore()
    over = Overlay({b"secret": frozenset({HERE})}, store)
    over.note(b"2", THERE)
    assert over.origins(b"secret") == {HERE}
    assert over.origins(b"2") == store.origins(b"2") == {THERE}
    assert "secret" not in repr(over) + repr(store)
    assert list(Overlay({}, None).origins(b"x")) == []


@pytest.mark.parametrize(
    "door",
    [
        lambda known: prepare([], host="api.deepseek.com", known=known),
        lambda known: capture({"role": "assistant", "content": ""}, Origin("api.deepseek.com"), known=known),
        lambda known: Collector(Origin("api.deepseek.com"), known=known),
        lambda known: keeping_in(known).__enter__(),
        lambda known: ReasoningReplay(known=known),
    ],
    ids=["prepare", "capture", "Collector", "keeping_in", "ReasoningReplay"],
)
def test_a_path_is_no_store(door):
    words = r"^known: a str; allowed: a store \(MemoryStore\(\), SQLiteStore\(path\), RedisStore\(url\)\), "
    with pytest.raises(TypeError, match=words):
        door("replay.db")
