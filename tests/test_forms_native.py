"""The laws of the vendors' own forms, each tried on every recorded reply of `native_cases`: whole, streamed and cut."""

from __future__ import annotations

import copy
import json

import pytest

from native_cases import ALL, CASES, USERS
from reasoning_replay import Collector, HistoryError, MemoryStore, Origin, Policy, adopt, capture, prepare
from reasoning_replay._fallback import stripped
from reasoning_replay.forms import form_of

HOME, MODEL = "gw.corp.example", "m"
TOOLS = {"tools": [{"type": "function"}]}
MARK = "reasoning_replay"


@pytest.fixture(params=ALL, ids=lambda pair: f"{pair[0]}: {pair[1]}")
def case(request):
    """A recorded reply."""
    dialect, name = request.param
    return CASES[dialect][name]


def origin_of(case, **changes):
    return Origin(HOME, model=MODEL, dialect=case.dialect, **changes)


def home(messages, case, **more):
    return prepare(messages, **{"host": HOME, "model": MODEL, "dialect": case.dialect, "request": TOOLS, **more})


def away(messages, case, **more):
    return home(messages, case, host="somewhere.example", known=MemoryStore(), **more)


def as_list(message):
    return message if isinstance(message, list) else [message]


def history(case, reply):
    return [USERS[case.dialect], *as_list(reply), *case.answers]


def own(case, known=None):
    """The history with the reply as it was captured."""
    reply = capture(copy.deepcopy(case.reply), origin_of(case), known=MemoryStore() if known is None else known)
    return history(case, reply)


def bare(case):
    """The history as the wire has it: the reply as it came."""
    return history(case, case.message)


def test_capture_gives_the_reply_with_nothing_but_a_mark(case):
    before = copy.deepcopy(case.reply)
    marked = capture(case.reply, origin_of(case), known=MemoryStore())
    assert before == case.reply
    assert MARK in json.dumps(marked, default=repr)
    assert as_list(case.message) == home([USERS[case.dialect], *as_list(marked)], case).messages[1:]


def test_a_mark_that_came_with_the_reply_is_not_believed(case):
    forged = own(case)[1 : len(as_list(case.message)) + 1]
    message = forged if case.dialect == "responses" else forged[0]
    again = capture(message, Origin("other.example", dialect=case.dialect), known=MemoryStore())
    assert HOME not in json.dumps(again, default=repr)


def test_own_reasoning_comes_back_byte_for_byte(case):
    plan = home(own(case), case, known=MemoryStore())
    assert json.dumps(bare(case), default=repr) == json.dumps(plan.messages, default=repr)
    assert {"keep"} == set(plan.report.counts())


def test_an_unmarked_history_that_is_known_is_the_very_same_list(case):
    known = MemoryStore()
    own(case, known)
    messages = bare(case)
    assert home(messages, case, known=known).messages is messages


def test_a_planned_list_planned_again_loses_nothing(case):
    plan = home(own(case), case, known=MemoryStore())
    again = home(plan.messages, case, known=plan.known)
    assert again.messages is plan.messages


@pytest.mark.parametrize("marked", [True, False])
def test_foreign_reasoning_leaves_nothing_and_all_else_stays(marked, case):
    plan = away(own(case) if marked else bare(case), case)
    sent = json.dumps(plan.messages, default=repr)
    assert "CANARY" not in sent
    assert MARK not in sent
    assert json.dumps(bare(case), default=repr).count("SHOWN") == sent.count("SHOWN")


def test_an_earlier_turn_goes_without_at_an_unknown_host(case):
    later = [*own(case), USERS[case.dialect]]
    assert "CANARY" not in json.dumps(home(later, case, known=MemoryStore()).messages, default=repr)


def test_the_callers_messages_are_never_changed(case):
    messages = own(case)
    before = copy.deepcopy(messages)
    home(messages, case)
    away(messages, case)
    assert before == messages


def test_a_plan_made_twice_is_the_same(case):
    messages = own(case)
    assert away(messages, case).messages == away(messages, case).messages


def test_json_and_back_replays_the_same(case):
    messages = own(case)
    if any(isinstance(value, bytes) for value in _leaves(messages)):
        pytest.skip("bytes are no JSON: the SDK's own; base64 has a case of its own")
    loaded = json.loads(json.dumps(messages))
    assert bare(case) == home(loaded, case, known=MemoryStore()).messages


def _leaves(value):
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    else:
        yield value


def test_adopt_marks_a_stored_history(case):
    messages = bare(case)
    marked = adopt(messages, origin_of(case))
    assert "CANARY" in json.dumps(home(marked, case, known=MemoryStore()).messages, default=repr)
    assert adopt(marked, Origin("other.example", dialect=case.dialect)) == marked


def test_the_fallback_takes_everything_out(case):
    left, _ = stripped(
        own(case), form=None, dialect=case.dialect, host=HOME, hint=None, model=MODEL, request={}
    )  # fmt: skip
    text = json.dumps(left, default=repr)
    assert "CANARY" not in text
    assert MARK not in text


def test_a_broken_mark_is_an_unknown_origin(case):
    text = json.dumps(own(case), default=repr)
    broken = json.loads(text.replace(f"{HOME}|", "other.example|"))
    assert "CANARY" not in json.dumps(home(broken, case, known=MemoryStore()).messages, default=repr)


def test_trust_sends_what_nobody_knows(case):
    plan = home(bare(case), case, known=MemoryStore(), policy=Policy(unknown_origin="trust"))
    assert bare(case) == plan.messages


def test_turn_notes_never_reach_the_wire(case):
    messages = [*own(case), {**USERS[case.dialect], "turn": False}]
    plan = home(messages, case, known=MemoryStore())
    assert [*bare(case), USERS[case.dialect]] == plan.messages


# Streams --------------------------------------------------------------------------------------------------------------


def collected(case, events, known=None):
    collector = Collector(origin_of(case), known=MemoryStore() if known is None else known)
    for event in events:
        collector.feed(event)
    return collector.result()


def test_a_stream_fed_whole_gives_what_the_whole_reply_gives(case):
    assert capture(case.reply, origin_of(case), known=MemoryStore()) == collected(case, case.events)


def test_a_stream_that_is_cut_anywhere_keeps_nothing_sealed(case):
    form = form_of(case.dialect)
    for cut in range(len(case.events) - case.tail):
        message = collected(case, case.events[:cut])
        if cut == 0:
            assert message is None
        parts = [part for shape in form.view(as_list(message or []), None).rows for part in shape.parts]
        assert {"text"} >= {part.kind for part in parts}, cut
        if message:  # it can go back to its host, and what is shown of it is text that came
            home([USERS[case.dialect], *as_list(message), USERS[case.dialect]], case)


def test_feeding_a_stream_changes_no_event(case):
    before = copy.deepcopy(case.events)
    collected(case, case.events)
    assert before == case.events


def test_what_a_stream_brought_is_known_without_its_mark(case):
    known = MemoryStore()
    collected(case, case.events, known)
    messages = bare(case)
    assert home(messages, case, known=known).messages is messages


# What cannot be read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", CASES)
def test_a_reply_of_another_form_is_named(dialect):
    with pytest.raises(HistoryError, match="reply"):
        capture({"choices": []}, Origin(HOME, dialect=dialect))


@pytest.mark.parametrize("dialect", CASES)
def test_a_role_that_nobody_has_is_named(dialect):
    with pytest.raises(HistoryError, match=r"messages\[1\].role: 'clown'; allowed: "):
        prepare([USERS[dialect], {**USERS[dialect], "role": "clown"}], host=HOME, dialect=dialect)


@pytest.mark.parametrize("dialect", CASES)
def test_a_turn_note_of_the_wrong_type_is_named(dialect):
    with pytest.raises(HistoryError, match=r"messages\[0\].turn: a str; allowed: true or false"):
        prepare([{**USERS[dialect], "turn": "no"}], host=HOME, dialect=dialect)
