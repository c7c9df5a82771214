"""Items of the Responses API told by what everybody can see, and the reasoning of a run taken out and put back.

A reply is the run of items that the model made. The ids of its visible items are no reasoning, but go only with it: an
id without its reasoning item is refused, so a client that kept ids alone gets the items between them back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from . import PSF, Messages, Recall, Said, as_mapping, plain
from ._carriers import EXTRAS, THOUGHT, item_payload, item_seal, item_text
from ._recall import Calls, beside, called, hidden_past, is_name_alone, packed, plain_id, quoted, shown, unpacked
from ._responses_stream import call_signature

Reads = Callable[[Mapping[str, Any]], str]
_REPLY = "assistant"
_HIDDEN = ("reasoning", "compaction", "item_reference")
_PASTS = ("compaction", "context_compaction", "compaction_summary", "item_reference")
"""Items that stand for what is gone, or what their host alone has."""
_NAMES = ("id", "status", "phase")
"""What goes with the reasoning of a visible item's run (`phase`: "preserve it", OpenAI's guide of gpt-5.4)."""
_OF_THE_HOST = frozenset({"id", "status", "call_id", *EXTRAS, PSF})
"""Keys of an item that nobody but its host, or the list itself, can read."""
_TEXTS = ("text", "input_text", "output_text")
_ROLES = {"developer": "system"}
_SIGNATURE = "thought_signature"


def recall_by(kind_of: Reads, role_of: Reads) -> Recall:
    """How the form is recalled whose items these two read."""
    return Recall(said=partial(said, kind_of, role_of), lift=partial(lift, kind_of), lay=partial(lay, kind_of, role_of))


def said(kind_of: Reads, role_of: Reads, messages: Messages) -> list[Said]:
    """Every item by what everybody can see of it; those of a reply together."""
    out: list[Said] = []
    calls = Calls()
    run = _Run(0)
    for at, item in enumerate(messages):
        kind: Any = item.get("type")
        if kind.__class__ is not str:
            kind = kind_of(item)
        role = (item.get("role") if kind == "message" else _ROLE_OF.get(kind)) or role_of(item)
        if role == _REPLY:
            run.add(kind, item)
            continue
        if run.start < at:
            out += run.said(at, calls)
            run = _Run(at)
        run.start = at + 1
        if role == "tool" and kind != "message":
            text = _answer(item, calls)
        else:
            text = f"[{_ROLES.get(role, role)}{_say(item.get('content'), whole=True)}]"
        out.append(Said(at, at + 1, False, text, (), False))
    if run.start < len(messages):
        out += run.said(len(messages), calls)
    return out


_ROLE_OF = {"function_call": _REPLY, "reasoning": _REPLY, "function_call_output": "tool"}
"""Role of the items that most of a list is; `role_of` knows of all."""


class _Run:
    """The model's items up to another's. Mutable: it holds what has been seen of them."""

    __slots__ = ("held", "ids", "pasts", "start", "texts")

    def __init__(self, start: int) -> None:
        self.start = start
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.pasts: list[str] = []
        self.held: set[str] = set()
        """What there is of its host's own: `text` that anybody can read, or `sealed`."""

    def add(self, kind: str, item: Mapping[str, Any]) -> None:
        """Takes the next item."""
        if kind in _PASTS:
            self.pasts.append(hidden_past(item_payload(item)))
        if kind in _HIDDEN:
            self.held.add("text" if _is_open(kind, item) else "sealed")
            return
        if _beside(item):
            self.held.add("sealed")
        text = _visible(kind, item)
        if text != "":
            self.texts.append(text)
        identity = item.get("call_id")
        if isinstance(identity, str):
            self.ids.append(plain_id(identity))

    def said(self, end: int, calls: Calls) -> list[Said]:
        """All of them as one reply, and the pasts that they stand for."""
        ids = tuple(self.ids)
        if ids:
            calls.add(ids)
        text = f"[assistant,{','.join(self.texts)}]"
        reply = Said(self.start, end, True, text, ids, not self.held, self.held == {"text"})
        return [reply, beside(end, self.pasts)] if self.pasts else [reply]


def _say(content: Any, *, whole: bool = False) -> str:
    """The texts and pictures of a content, each behind a comma; empty for nothing. `whole`: no reply's."""
    if isinstance(content, str):
        return f",{len(content)}:{content}" if content != "" else ""
    if not isinstance(content, list):
        return "" if content is None else f",{shown(content)}"
    told: list[str] = []
    texts: list[str] = []
    for each in content:
        part = each if each.__class__ is dict else plain(each)
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type") in _TEXTS:
            words = part.get("text")
            if words.__class__ is str:
                texts.append(words)
        else:
            told += (_one_text(texts), f",{shown(part, _NO_WORDS, whole=whole)}")
    return "".join((*told, _one_text(texts)))


def _one_text(texts: list[str]) -> str:
    """Texts that touch as one, behind a comma; empties the list."""
    text = texts[0] if len(texts) == 1 else "".join(texts)
    texts.clear()
    return f",{len(text)}:{text}" if text != "" else ""


_NO_WORDS = ("annotations", "logprobs")


def _answer(item: Mapping[str, Any], calls: Calls) -> str:
    """What a tool said: its output, or whatever else its kind of answer has (an approval)."""
    place = calls.answered(item.get("call_id"))
    output = item.get("output")
    if output is not None:
        return f"[answer,{place}{_say(output, whole=True)}]"
    rest = {key: value for key, value in item.items() if key not in ("output", *_OF_THE_HOST)}
    return f"[answer,{place},{shown(rest)}]"


def _visible(kind: str, item: Mapping[str, Any]) -> str:
    """What everybody can see of an item; empty for a message that says nothing."""
    if kind == "message":
        words = _say(item.get("content"))
        return f"[message{words}]" if words != "" else ""
    if kind == "function_call":
        return f"{called(item.get('name'), item.get('arguments'))}{_space(item)}"
    if kind == "custom_tool_call":
        return f"{called(item.get('name'), None)}{quoted(str(item.get('input') or ''))}{_space(item)}"
    return shown({**item, "type": kind}, _OF_THE_HOST - {"id"} if is_name_alone(item) else _OF_THE_HOST)


def _space(item: Mapping[str, Any]) -> str:
    """Which of several tools of one name is called."""
    space = item.get("namespace")
    return "" if space in (None, "") else f"@{quoted(str(space))}"


def _is_open(kind: str, item: Mapping[str, Any]) -> bool:
    """Whether an item is what clients echo of a reasoning item: its text at most, and no mark."""
    return kind == "reasoning" and item_seal(item) is None and PSF not in item


def _without_echo(kind_of: Reads, run: Messages, lifted: Mapping[str, Any]) -> Messages:
    """The run without reasoning items that say no more than the lifted ones, where those are sealed."""
    kept = [item for *_, item in lifted.get("items", ())]
    if all(item_seal(item) is None for item in kept) and "seals" not in lifted:
        return run
    texts = {"", *map(item_text, kept)}
    return [row for row in run if not (_is_open(kind_of(row), row) and item_text(row) in texts)]


def _is_bare(kind_of: Reads, run: Messages) -> bool:
    """Whether no reasoning stands there; ids of visible items, and a signature in a call's id, are none."""
    return all(kind_of(item) not in _HIDDEN and not _beside(item) for item in run)


def _beside(item: Mapping[str, Any]) -> bool:
    """Whether something sealed stands beside a visible item."""
    if _SEALS.isdisjoint(item):
        return False
    if any(item.get(key) is not None for key in EXTRAS):
        return True
    return PSF in item and call_signature({**item, "call_id": None}) is not None


_SEALS = frozenset({*EXTRAS, PSF})


class _Place(NamedTuple):
    """Where an item stands: behind so many that say something, and so many empty messages since the last of them.

    LiteLLM's bridge gives empty messages, which some clients keep; what says something is found without them.
    """

    said: int = 0
    empty: int = 0

    def behind(self, *, says: bool) -> _Place:
        """The place behind an item that stands here."""
        return _Place(self.said + 1) if says else _Place(self.said, self.empty + 1)

    def named(self, *, says: bool) -> _Place:
        """The name of a visible item that stands here."""
        return _Place(self.said, -1) if says else self


def lift(kind_of: Reads, rows: Messages) -> Any:
    """A run's reasoning, and what only goes with it of the items between; None where there is no reasoning."""
    items: list[Any] = []
    names: list[Any] = []
    seals: list[Any] = []
    place = _Place()
    for item in rows:
        kind = kind_of(item)
        if kind in _HIDDEN:
            items.append([*place, packed({key: value for key, value in item.items() if key != PSF})])
            continue
        says = _visible(kind, item) != ""
        if name := {key: item[key] for key in _NAMES if item.get(key) is not None}:
            names.append([*place.named(says=says), packed(name)])
        if seal := _seal(item):
            seals.append([*place.named(says=says), packed(seal)])
        place = place.behind(says=says)
    if not items and not seals:
        return None
    return {name: found for name, found in (("items", items), ("names", names), ("seals", seals)) if found}


def _seal(item: Mapping[str, Any]) -> dict[str, Any]:
    """What is sealed beside a visible item; Gemini's signature wherever it stood."""
    seal = {key: item[key] for key in EXTRAS if item.get(key) is not None}
    if "extra_content" not in seal and (signature := call_signature(item)) is not None:
        seal[PSF] = {_SIGNATURE: signature}
    return seal


def lay(kind_of: Reads, role_of: Reads, rows: Messages, lifted: Any) -> list[Mapping[str, Any]]:
    """The client's items with the reasoning between them; as they are where some stands already, or one is missing."""
    given = rows
    rows = _without_echo(kind_of, rows, lifted) if isinstance(lifted, Mapping) else rows
    if not isinstance(lifted, Mapping) or not _is_bare(kind_of, rows):
        return list(given)
    items = deque((_Place(*place), unpacked(item)) for *place, item in lifted.get("items", ()))
    beside: dict[_Place, dict[str, Any]] = {}
    for *named, more in (*lifted.get("names", ()), *lifted.get("seals", ())):
        name = _Place(*named)
        beside[name] = {**beside.get(name, {}), **unpacked(more)}
    out: list[Mapping[str, Any]] = []
    place = _Place()
    for row in rows:
        says = _visible(kind_of(row), row) != ""
        while items and (items[0][0] <= place or (says and items[0][0].said == place.said)):
            out.append(items.popleft()[1])
        out.append(_with(row, beside.pop(place.named(says=says), {})))
        place = place.behind(says=says)
    if any(name.empty < 0 for name in beside) or any(each.said > place.said for each, _ in items):
        return list(given)
    return [*out, *(item for _, item in items)]


def _with(item: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any]:
    """A visible item with its id, its status and its seal, where it has none of its own."""
    if not more:
        return item
    fields = {**(as_mapping(item.get(PSF)) or {}), **more.get(PSF, {})}
    signed = PSF in more and THOUGHT not in str(item.get("call_id"))
    missing = {key: value for key, value in more.items() if key != PSF and item.get(key) in (None, "")}
    return {**item, **missing, **({PSF: fields} if signed else {})}
