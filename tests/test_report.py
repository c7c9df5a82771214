"""A report says what was done and why; it prints, serialises and pickles, and no text can be in it."""

from __future__ import annotations

import json
import pickle
from typing import get_args

from inline_snapshot import snapshot

from reasoning_replay import Origin, Report, rule_for
from reasoning_replay._decision import Action, Row
from reasoning_replay._report import ACTIONS, SHOWN

DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
FIRST, SECOND = "own", "foreign"


def report(*rows: Row, calls: list[int] | None = None) -> Report:
    def make() -> tuple[Row, ...]:
        if calls is not None:
            calls.append(1)
        return rows

    rule = rule_for("api.deepseek.com", "deepseek-v4-pro", request={"tools": [{}]})
    return Report(make, origin=DEEPSEEK, rule=rule, thinking="unset", tools=True)


KEPT = Row(1, 1, "assistant", "keep", FIRST, ("reasoning_content",), 120)
DROPPED = Row(3, None, "assistant", "drop", SECOND, ("thinking_blocks", "reasoning_content"), 7)
ASKED = Row(None, None, "request", "guard", SECOND, ("thinking",), 0)


def test_rows_are_made_when_first_asked_for_and_only_once():
    calls: list[int] = []
    one = report(KEPT, DROPPED, calls=calls)
    assert [] == calls
    assert (KEPT, DROPPED) == one.rows == one.rows
    assert {"keep": 1, "drop": 1} == one.counts()
    assert [1] == calls


def test_rows_may_be_given_as_a_tuple():
    rule = rule_for("api.deepseek.com")
    assert (KEPT,) == Report((KEPT,), origin=DEEPSEEK, rule=rule, thinking="on", tools=False).rows


def test_str_is_a_plain_aligned_table_with_a_head_a_legend_and_a_sum():
    assert str(report(KEPT, DROPPED, ASKED)) == snapshot("""\
to api.deepseek.com (chat, model deepseek-v4-pro): rule deepseek, window all, thinking unset, tools
message  sent as  role       action  fields                              bytes  reason
      1        1  assistant  keep    reasoning_content                     120  own
      3        -  assistant  drop    thinking_blocks, reasoning_content      7  foreign
      -        -  request    guard   thinking                                0  foreign
  foreign: Another host, or another vendor behind the same router, wrote it.
  own: The host wrote it and takes it back.
keep 1, guard 1, drop 1\
""")


def test_a_report_without_rows_says_so_in_one_line_and_a_head():
    assert str(report()) == snapshot("""\
to api.deepseek.com (chat, model deepseek-v4-pro): rule deepseek, window all, thinking unset, tools
no reasoning in the history\
""")


def test_repr_is_one_short_line():
    assert "<Report to api.deepseek.com: keep 1, drop 1>" == repr(report(KEPT, DROPPED))


def test_to_dict_is_json_and_names_host_rule_and_rows():
    loaded = json.loads(json.dumps(report(KEPT, ASKED).to_dict()))
    assert ["api.deepseek.com", "deepseek-v4-pro", "unset", True] == [
        loaded[key] for key in ("host", "model", "thinking", "tools")
    ]
    assert {"host", "window", "source", "date"} == set(loaded["rule"])
    assert {"keep": 1, "guard": 1} == loaded["counts"]
    assert [1, None] == [row["index"] for row in loaded["rows"]]
    assert ["reasoning_content"] == loaded["rows"][0]["fields"]


def test_a_report_pickles_with_its_rows():
    one = report(KEPT, DROPPED)
    again = pickle.loads(pickle.dumps(one))
    assert one == again
    assert str(one) == str(again)
    assert hash(one) == hash(again)


def test_reports_with_other_rows_differ():
    assert report(KEPT) != report(DROPPED)
    assert report(KEPT) != "a report"


def test_every_action_has_its_place_in_the_sum():
    assert set(get_args(Action)) == set(ACTIONS)


def test_a_long_report_shows_the_newest_rows_and_counts_the_rest():
    rows = [Row(at, at, "assistant", "keep", FIRST, ("reasoning_content",), 1) for at in range(10_000)]
    shown = str(report(*rows))
    assert f"{10_000 - SHOWN} earlier rows are not shown" in shown
    assert len(shown.splitlines()) < SHOWN + 10
    assert "9999" in shown
    assert "keep 10000" in shown


def test_the_report_of_a_fallback_has_no_rule_and_says_so():
    one = Report((DROPPED,), origin=DEEPSEEK, rule=None, thinking="unset", tools=False)
    assert "no rule" in str(one)
    assert one.to_dict()["rule"] is None
