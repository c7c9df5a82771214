"""A report for a notebook: a timeline of the conversation, one column a message and one cell a field.

Rule 1: this file is given a report's rows, never messages: it cannot print reasoning. All that it prints is escaped.
Rule 2: colour says nothing that words do not say too; colours are half transparent and text has the page's own colour,
so the table reads on a light and on a dark page, on paper, in a narrow pane (there the cells of a field flow, each with
its message's number), and where a viewer throws the style sheet away (so words are parted by blanks, not by blocks).
Rule 3: no script and nothing from elsewhere: it works offline, and in a notebook that nobody trusts yet.
Contract: neighbours that look alike become one column, so that a long conversation stays short.
Loaded when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from typing import NamedTuple

from ._decision import Row
from ._report import Report, sentence

LOOK: dict[str, tuple[str, str]] = {
    "keep": ("0,158,115", "goes back as it came"),
    "restore": ("0,158,190", "from the store, if it has it"),
    "rename": ("0,114,200", "goes back under another field"),
    "fill": ("214,150,0", "a placeholder, as demanded"),
    "sentinel": ("150,120,70", "stands in for a missing signature"),
    "guard": ("190,100,160", "changed, to be accepted"),
    "drop": ("213,94,0", "stays out"),
}
"""Action → hue (after Okabe and Ito, so that they differ for every colour vision) and what it means."""

# Guesses, settled by looking: the width of a timeline that fits into a notebook, in letters of 10 px;
# how many alike make a run; the newest columns that are shown.
ACROSS, RUN, SHOWN = 117, 3, 240

DARK = ("[data-jp-theme-light=false]", ".vscode-dark", ".vscode-high-contrast:not(.vscode-high-contrast-light)")
"""What a dark Jupyter and a dark VS Code say of themselves; each may be dark where the system is light."""

STYLE = (
    ".rr-report{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:76em;--rr:128,128,128}"
    ".rr-report p,.rr-report ul{margin:4px 0!important;padding:0!important}"
    ".rr-report li{list-style:none;margin:0 12px 2px 0}"
    ".rr-report .rr-legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(21em,1fr))}"
    ".rr-report .rr-legend b{min-width:7em}"
    ".rr-report p,.rr-report li{overflow-wrap:anywhere}"
    ".rr-report .rr-time{overflow:auto;max-height:44em;container-type:inline-size}"
    ".rr-report table.rr-t{border-collapse:separate;border-spacing:2px;margin:6px 0;font-size:12px;width:auto}"
    ".rr-report .rr-t tr,.rr-report .rr-t tr:hover,.rr-report .rr-t tr:nth-child(n){background:none}"
    ".rr-report .rr-t th,.rr-report .rr-t td{border:0;padding:0 1px;text-align:center;vertical-align:top;"
    "font-weight:400;min-width:52px;white-space:nowrap}"
    ".rr-report .rr-t thead th{border-top:2px solid rgba(128,128,128,.6)}"
    ".rr-report .rr-t th:first-child{min-width:11em;max-width:20em;text-align:left;white-space:normal;"
    "overflow-wrap:anywhere;border-top-color:transparent}"
    ".rr-report .rr-t i{display:none}"
    ".rr-report .rr-t small,.rr-report b small{display:block;font-size:10px;line-height:1.25;opacity:.85}"
    ".rr-report b{display:inline-block;box-sizing:border-box;min-width:54px;padding:0 4px;border-radius:3px;"
    "text-align:center;font-weight:600;font-size:12px;border:1px solid rgb(var(--rr));border-left-width:4px;"
    "background:rgba(var(--rr),.2);-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    ".rr-report td b{display:block;margin:1px 0}"
    ".rr-report b.rr-drop{border-style:dashed}"
    ".rr-report b.rr-faint{opacity:.6}"
    "@media(prefers-color-scheme:dark){.rr-report b{background:rgba(var(--rr),.32)}}"
    + ",".join(f"{dark} .rr-report b" for dark in DARK)
    + "{background:rgba(var(--rr),.32)}"
    "@container(max-width:45em){.rr-report .rr-t,.rr-report .rr-t tbody{display:block}"
    ".rr-report .rr-t thead,.rr-report .rr-t td:empty{display:none}"
    ".rr-report .rr-t tr{display:flex;flex-wrap:wrap;gap:2px}"
    ".rr-report .rr-t th:first-child{flex:0 0 100%;max-width:100%}"
    ".rr-report .rr-t i{display:block;font-style:normal;font-size:11px}.rr-report .rr-t i::before{content:'message '}}"
    "@media print{.rr-report .rr-time{overflow:visible;max-height:none}.rr-report .rr-t{break-inside:avoid;zoom:.85}}"
    + "".join(f".rr-report b.rr-{action}{{--rr:{hue}}}" for action, (hue, _) in LOOK.items())
)


class Column(NamedTuple):
    """One message, or neighbours that look alike."""

    first: tuple[Row, ...]
    last: tuple[Row, ...]
    often: int
    sizes: tuple[int, ...]
    """The bytes of each row of a message, all messages of a run together."""


def page(report: Report) -> str:
    """Give the whole report. What is asked of the request stands before the conversation."""
    columns = list(_columns(row for row in report.rows if row.index is not None))
    hidden = sum(column.often * len(column.first) for column in columns[:-SHOWN])
    columns = columns[-SHOWN:]
    request = "".join(
        f"<p>{_badge(row.action)} <code>{escape(', '.join(row.fields))}</code> of the request: "
        f"{escape(sentence(row.reason))} <small>({escape(row.reason)})</small></p>"
        for row in report.rows
        if row.index is None
    )
    more = f"<p>{hidden} earlier rows are not shown; see <code>.rows</code>.</p>" if hidden else ""
    return (
        f'<div class="rr-report"><style>{STYLE}</style>{_head(report)}{_legend(report)}{request}{more}'
        f"{_timeline(columns)}{_reasons(columns)}</div>"
    )


def _head(report: Report) -> str:
    origin, rule = report.origin, report.rule
    names = (("model", origin.model), ("upstream", origin.upstream))
    facts = [origin.dialect, *(f"{what} {name}" for what, name in names if name is not None)]
    facts += ["no rule"] if rule is None else [f"rule {rule.host} of {rule.date.isoformat()}", f"window {rule.window}"]
    facts += [f"thinking {report.thinking}", "tools" if report.tools else "no tools"]
    return f"<p><strong>to {escape(origin.host)}</strong> · {escape(' · '.join(facts))}</p>"


def _legend(report: Report) -> str:
    counts = report.counts()
    if not counts:
        return f"<p>{report.empty}</p>"
    items = (
        f"<li>{_badge(action, f'{action} {counts.get(action, 0)}', faint=action not in counts)} {escape(meaning)}</li>"
        for action, (_, meaning) in LOOK.items()
    )
    return f'<ul class="rr-legend">{"".join(items)}</ul>'


def _columns(rows: Iterable[Row]) -> Iterator[Column]:
    """Put rows of one message together, then messages that look alike, where there are enough of them."""
    messages = [tuple(group) for _, group in groupby(rows, key=lambda row: row.index)]
    for _, group in groupby(messages, key=_looks):
        run = list(group)
        for part in [run] if len(run) >= RUN else [[message] for message in run]:
            sizes = tuple(sum(row.bytes for row in same) for same in zip(*part, strict=True))
            yield Column(part[0], part[-1], len(part), sizes)


def _looks(message: tuple[Row, ...]) -> tuple[object, ...]:
    """Give what a message shares with its neighbours: everything but its place and its sizes."""
    first = message[0]
    moved = None if first.output is None or first.index is None else first.output - first.index
    return (first.role, moved, tuple((row.action, row.reason, row.fields) for row in message))


def _timeline(columns: list[Column]) -> str:
    """Every strip has its fields in the same order, and none that it does not need."""
    lanes = dict.fromkeys(field for column in columns for field in _fields(column))
    strips = (
        _strip(strip, [lane for lane in lanes if any(lane in _fields(column) for column in strip)])
        for strip in _strips(columns)
    )
    if not columns:
        return ""
    return f'<div class="rr-time" tabindex="0" role="region" aria-label="timeline">{"".join(strips)}</div>'


def _fields(column: Column) -> list[str]:
    """Give the fields that a message has cells for; a message that is left out may have none that has a name."""
    return [field for row in column.first for field in row.fields or ("",)]


def _strips(columns: list[Column]) -> Iterator[list[Column]]:
    """Cut the timeline into strips that fit side by side."""
    strip: list[Column] = []
    width = 0
    for column in columns:
        room = max(map(len, (*_column_head(column), *(row.reason for row in column.first), "sentinel"))) + 2
        if strip and width + room > ACROSS:
            yield strip
            strip, width = [], 0
        strip.append(column)
        width += room
    if strip:
        yield strip


def _strip(columns: list[Column], lanes: list[str]) -> str:
    heads = "".join(
        f'<th scope="col">{where}{"".join(f" <small>{escape(word)}</small>" for word in more)}</th>'
        for where, *more in map(_column_head, columns)
    )
    body = "".join(
        f'<tr><th scope="row"><code>{escape(lane)}</code></th>{"".join(_cell(column, lane) for column in columns)}</tr>'
        for lane in lanes
    )
    return (
        f'<table class="rr-t"><thead><tr><th scope="col">message</th>{heads}</tr></thead><tbody>{body}</tbody></table>'
    )


def _column_head(column: Column) -> list[str]:
    """Where it stands, who said it, and where it is sent if that is another place."""
    first, last = column.first[0], column.last[0]
    many = column.often > 1
    lines = [_place(column), first.role]
    if many:
        lines.append(f"{column.often} messages")
    if first.output is None:
        lines.append("left out")
    elif first.output != first.index:
        lines.append(f"sent as {first.output}" + (f" to {last.output}" if many else ""))
    return lines


def _place(column: Column) -> str:
    """Give the number of its message, or the first and the last of a run."""
    first, last = column.first[0].index, column.last[0].index
    return f"{first}" if column.often == 1 else f"{first} to {last}"


def _cell(column: Column, lane: str) -> str:
    """One field of one message: each of its actions, why, and the size where it is this field's alone."""
    badges = []
    for row, size in zip(column.first, column.sizes, strict=True):
        if lane in (row.fields or ("",)):
            lines = [row.reason, _bytes(size)] if len(row.fields) == 1 and row.action != "guard" else [row.reason]
            small = "".join(f" <small>{escape(line)}</small>" for line in lines)
            badges.append(_badge(row.action, escape(row.action) + small, title=_title(row, size, column.often)))
    where = f"<i>{_place(column)} </i>" if badges else ""
    return f"<td>{where}{' '.join(badges)}</td>"


def _title(row: Row, size: int, often: int) -> str:
    fields = ", ".join(row.fields)
    messages = "" if often == 1 else f" in {often} messages"
    return f"{row.reason}: {sentence(row.reason)} {row.action} {fields}, {size} bytes{messages}"


def _badge(action: str, text: str | None = None, *, title: str = "", faint: bool = False) -> str:
    """Give an action in its colour; `text` is HTML. An action that nobody described has the colour of no action."""
    look = action if action in LOOK else "none"
    hover = f' title="{escape(title)}"' if title else ""
    return f'<b class="rr-{look}{" rr-faint" if faint else ""}"{hover}>{escape(action) if text is None else text}</b>'


def _bytes(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"


def _reasons(columns: list[Column]) -> str:
    codes = sorted({row.reason for column in columns for row in column.first})
    items = "".join(f"<li><code>{escape(code)}</code>: {escape(sentence(code))}</li>" for code in codes)
    note = "Messages without reasoning are not shown. " if columns else ""
    return f"<p><small>{note}{'Reasons:' if codes else ''}</small></p><ul>{items}</ul>" if codes else ""
