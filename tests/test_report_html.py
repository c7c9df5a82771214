"""The report in a notebook: a timeline that says in words what it says in colour, of a bounded size, with no text in it."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from typing import get_args

import pytest

from reasoning_replay import Origin, Report, adopt, prepare, rule_for
from reasoning_replay._decision import REASONS, Action, Row
from reasoning_replay._report_html import LOOK, RUN, SHOWN

DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
RULE = rule_for("api.deepseek.com", "deepseek-v4-pro", request={"tools": [{}]})
VOID = {"br", "img", "hr"}


class Page(html.parser.HTMLParser):
    """What a reader finds: the tables as rows of cells, the text, every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.places: list[str] = []
        """In each cell the number of its message, seen where the columns have no heads: narrow, or without style."""
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert [] == self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        if "style" in self.open:
            return
        if "i" in self.open:
            self.places.append(data)
            return
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            old = self.tables[-1][-1][-1]
            self.tables[-1][-1][-1] = f"{old} {data}".strip()

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def hovers(self) -> list[str]:
        return [attrs["title"] for _, attrs in self.seen if "title" in attrs]


def report(*rows: Row) -> Report:
    return Report(rows, origin=DEEPSEEK, rule=RULE, thinking="unset", tools=True)


def page(*rows: Row) -> Page:
    return Page(report(*rows)._repr_html_())


def kept(index: int, size: int = 10, **changes: object) -> Row:
    values = {"output": index, "role": "assistant", "action": "keep", "reason": "own", "fields": ("reasoning_content",)}
    return Row(index, bytes=size, **{**values, **changes})


def test_each_message_is_a_column_and_each_field_a_row_and_the_cell_says_action_reason_and_size():
    dropped = kept(5, 1240, output=None, action="drop", reason="emptied", fields=("reasoning",))
    assert [
        [
            ["message", "1 assistant", "5 assistant left out", "7 assistant sent as 6"],
            ["reasoning_content", "keep own 10 B", "", "keep own 91 B"],
            ["reasoning", "", "drop emptied 1.2 kB", ""],
        ]
    ] == page(kept(1), dropped, kept(7, 91, output=6)).tables


def test_two_actions_in_one_field_of_a_message_share_a_cell():
    gone = kept(1, 40, action="drop", reason="foreign")
    filled = kept(1, 0, action="fill", reason="missing")
    assert "drop foreign 40 B fill missing 0 B" == page(gone, filled).tables[0][1][1]


def test_a_row_of_several_fields_has_a_cell_in_each_and_its_size_where_it_belongs_to_both():
    found = page(kept(1, 77, fields=("thinking", "redacted_thinking")))
    assert [["thinking", "keep own"], ["redacted_thinking", "keep own"]] == found.tables[0][1:]
    assert all("77 bytes" in hover for hover in found.hovers)


def test_hover_has_the_code_and_its_sentence():
    (hover,) = page(kept(3, 55, action="drop", reason="foreign")).hovers
    assert f"foreign: {REASONS['foreign']} drop reasoning_content, 55 bytes" == hover


def test_the_sentences_stand_below_the_timeline_too_for_print_and_for_keyboards():
    found = page(kept(1), kept(3, action="drop", reason="foreign"))
    assert all(REASONS[code] in found.text for code in ("own", "foreign"))
    assert REASONS["window"] not in found.text


def test_what_is_done_to_the_request_stands_before_the_conversation():
    found = page(Row(None, None, "request", "guard", "forced_tools", ("thinking",), 0), kept(1))
    assert ["message", "1 assistant"] == found.tables[0][0]
    assert REASONS["forced_tools"] in found.text
    assert found.text.index("of the request") < found.text.index("message")


def test_the_legend_names_every_action_there_is_with_its_count_and_its_meaning():
    assert set(get_args(Action)) == set(LOOK)
    found = page(kept(1), kept(3), kept(5, action="restore"))
    counts = {"keep": 2, "restore": 1}
    for action, (_, meaning) in LOOK.items():
        assert f"{action} {counts.get(action, 0)}" in found.text
        assert meaning in found.text


def test_every_action_has_a_hue_of_its_own_and_its_word_in_the_cell():
    assert len(LOOK) == len({hue for hue, _ in LOOK.values()})
    rows = [kept(at, action=action) for at, action in enumerate(LOOK)]
    cells = page(*rows).tables[0][1][1:]
    assert list(LOOK) == [cell.split()[0] for cell in cells]
    for action, (hue, _) in LOOK.items():
        assert f"b.rr-{action}{{--rr:{hue}}}" in report(kept(1))._repr_html_()


def test_the_first_line_names_host_model_rule_its_date_window_thinking_and_tools():
    head = page(kept(1)).text.split(" keep ")[0]
    facts = (
        "api.deepseek.com",
        "chat",
        "deepseek-v4-pro",
        RULE.date.isoformat(),
        "window all",
        "thinking unset",
        "tools",
    )
    assert all(fact in head for fact in facts)


def test_a_report_without_rows_says_so_and_has_no_timeline():
    assert page().text.endswith("no reasoning in the history")
    assert [] == page().tables


def test_the_report_of_a_fallback_has_no_rule_and_says_so():
    one = Report((kept(1),), origin=DEEPSEEK, rule=None, thinking="unset", tools=False)
    assert "no rule" in Page(one._repr_html_()).text


# Long histories ---------------------------------------------------------------------------------------------------


def test_neighbours_that_look_alike_become_one_column_that_says_how_many_and_their_bytes_together():
    rows = [kept(at, 10) for at in range(1, 200, 2)]
    assert [
        [["message", "1 to 199 assistant 100 messages"], ["reasoning_content", "keep own 1.0 kB"]],
    ] == page(*rows).tables


def test_fewer_alike_than_a_run_stay_apart_and_a_change_ends_a_run():
    rows = [kept(at) for at in range(RUN - 1)]
    assert RUN == len(page(*rows).tables[0][0])
    changes = ({"reason": "window", "action": "drop"}, {"role": "tool"}, {"output": 98}, {"fields": ("reasoning",)})
    for change in changes:
        (table,) = page(*map(kept, range(RUN)), kept(99, **change)).tables
        assert 3 == len(table[0])


def alternating(messages: int) -> list[Row]:
    """No two neighbours alike, so that no run helps."""
    foreign = {"action": "drop", "reason": "foreign", "fields": ("thinking_blocks", "reasoning_content")}
    return [kept(at, at, **(foreign if at % 2 else {})) for at in range(messages)]


def test_two_hundred_messages_that_change_all_the_time_wrap_and_stay_small():
    text = report(*alternating(200))._repr_html_()
    tables = Page(text).tables
    assert 200 == sum(len(table[0]) - 1 for table in tables)
    assert max(len(table[0]) for table in tables) <= 16
    assert {("reasoning_content", "thinking_blocks")} == {tuple(row[0] for row in table[1:]) for table in tables}
    assert len(text) < 100_000


def test_more_than_that_shows_the_newest_and_counts_the_rest():
    text = report(*alternating(10_000))._repr_html_()
    assert f"{10_000 - SHOWN} earlier rows are not shown" in text
    assert "keep 5000" in text
    assert ">9999 <small>" in text
    assert len(text) < 120_000


# What must not be in it -------------------------------------------------------------------------------------------


def test_names_that_come_from_outside_are_escaped_everywhere():
    evil = "\"><img src=x onerror='alert(1)'>"
    rows = [Row(at, at + 1, evil, evil, evil, (evil,), 1) for at in range(9)]
    rows += [kept(20, fields=(evil, "reasoning")), Row(None, None, "request", evil, evil, (evil,), 0)]
    origin = Origin("api.deepseek.com", model=evil, upstream=evil)
    text = Report(tuple(rows), origin=origin, rule=RULE, thinking=evil, tools=True)._repr_html_()
    assert {
        "div",
        "style",
        "p",
        "strong",
        "b",
        "code",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "small",
        "i",
    } >= {tag for tag, _ in Page(text).seen}
    assert "<img" not in text


def test_it_needs_nothing_from_elsewhere_and_runs_nothing():
    text = report(kept(1))._repr_html_()
    assert not re.search(r"<script|<link|@import|url\(|https?:|javascript:|\son\w+=", text)
    names = {name for _, attrs in Page(text).seen for name in attrs}
    assert {"class", "title", "scope", "tabindex", "role", "aria-label"} >= names


def test_without_its_style_words_are_still_apart_and_each_cell_names_its_message():
    rows = [kept(1), kept(3, 1240, output=None, action="drop", reason="emptied")]
    text = report(*rows)._repr_html_()
    bare = re.sub("<style>.*?</style>", "", text)
    assert "<td>1 keep own 10 B</td><td>3 drop emptied 1.2 kB</td>" == "".join(
        re.findall("<td>.*</td>", re.sub("</?(i|b|small)( [^>]*)?>", "", bare))
    )
    assert ">3 <small>assistant</small> <small>left out</small></th>" in bare
    assert ["1 ", "3 "] == Page(text).places
    (many,) = page(*map(kept, range(1, 9))).places
    assert "1 to 8 " == many


def test_a_long_timeline_can_be_scrolled_from_the_keyboard_and_a_long_name_wraps():
    text = report(kept(1, fields=("reasoning_" * 40,)))._repr_html_()
    (timeline,) = [attrs for _, attrs in Page(text).seen if "tabindex" in attrs]
    assert {"class": "rr-time", "tabindex": "0", "role": "region", "aria-label": "timeline"} == timeline
    assert re.search(r"th:first-child\{[^}]*max-width:[^}]*overflow-wrap:anywhere", text)


def test_a_dark_notebook_is_dark_where_the_system_is_light():
    style = re.search("<style>(.*?)</style>", report(kept(1))._repr_html_()).group(1)
    for dark in ("[data-jp-theme-light=false]", ".vscode-dark", ".vscode-high-contrast"):
        assert re.search(re.escape(dark) + r"[^{]* \.rr-report b[^{]*\{background:rgba\(var\(--rr\),\.32\)\}", style)


def test_it_sets_no_colour_of_text_or_page_so_it_reads_on_light_and_dark():
    style = re.search("<style>(.*?)</style>", report(kept(1))._repr_html_()).group(1)
    assert "color:inherit" in style
    assert "prefers-color-scheme:dark" in style
    assert "@media print" in style
    assert not re.search(r"#[0-9a-f]{3}", style)
    assert ["none", "rgba(var(--rr),.2)", "rgba(var(--rr),.32)"] == sorted(
        set(re.findall(r"background:([^;}]+)", style))
    )


@pytest.mark.parametrize("host", ["api.deepseek.com", "api.cerebras.ai", "api.anthropic.com"])
def test_no_word_of_any_message_is_in_it(host):
    said = {"role": "assistant", "content": "CANARY answer", "reasoning_content": "CANARY thought"}
    call = {"id": "CANARY id", "type": "function", "function": {"name": "CANARY", "arguments": '{"CANARY": 1}'}}
    messages = [
        {"role": "user", "content": "CANARY question"},
        {**said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "CANARY id", "content": "CANARY result"},
        said,
    ]
    plan = prepare(adopt(messages, DEEPSEEK), host=host, model="deepseek-v4-pro", request={"tools": [{}]})
    text = plan.report._repr_html_()
    assert 2 == sum(len(table[0]) - 1 for table in Page(text).tables)
    assert "CANARY" not in text


def test_it_is_loaded_when_first_asked_for():
    asked = "import sys, reasoning_replay; print('reasoning_replay._report_html' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert "False" == said.strip()
