"""A report says what was done and why; it prints, serialises and pickles, and no text can be in it."""

from __future__ import annotations

import html.parser
import json
import pickle

import pytest
from inline_snapshot import snapshot

from reasoning_replay import Origin, Report, rule_for
from reasoning_replay._decision import REASONS, Row
from reasoning_replay._report import HUES, SHOWN

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


class Text(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        self.words.append(data)


def test_html_is_well_formed_and_each_row_has_its_action_and_sentence_as_text():
    page = Text()
    page.feed(report(KEPT, DROPPED, ASKED)._repr_html_())
    assert [] == page.open
    text = "".join(page.words)
    assert all(
        word in text
        for word in (
            "keep",
            "drop",
            "guard",
            REASONS[FIRST],
            REASONS[SECOND],
            "message 1",
            "left out",
            "7 bytes",
        )
    )


def test_html_sets_no_colour_of_text_or_page_so_it_reads_on_light_and_dark():
    page = report(KEPT)._repr_html_()
    assert "color:inherit" in page
    assert "background:#" not in page
    assert "color:#" not in page


def test_html_escapes_names_that_come_from_outside():
    evil = "<img src=x onerror=alert(1)>"
    page = report(Row(0, 0, evil, "drop", evil, (evil,), 1))._repr_html_()
    assert "<img" not in page
    assert "&lt;img" in page


def test_every_action_has_a_hue():
    assert {"keep", "drop", "fill", "restore", "rename", "sentinel", "guard"} == set(HUES)


@pytest.mark.parametrize("show", [str, lambda one: one._repr_html_()], ids=["text", "html"])
def test_a_long_report_shows_the_newest_rows_and_counts_the_rest(show):
    rows = [Row(at, at, "assistant", "keep", FIRST, ("reasoning_content",), 1) for at in range(10_000)]
    shown = show(report(*rows))
    assert f"{10_000 - SHOWN} earlier rows are not shown" in shown
    assert len(shown.splitlines()) < SHOWN + 10
    assert "9999" in shown
    assert "keep 10000" in shown


def test_the_report_of_a_fallback_has_no_rule_and_says_so():
    one = Report((DROPPED,), origin=DEEPSEEK, rule=None, thinking="unset", tools=False)
    assert "no rule" in str(one)
    assert one.to_dict()["rule"] is None
    assert "no rule" in one._repr_html_()
