"""The experiments of a probe: a small tool loop of two turns, and the same requests with something taken out.

Every negative request has a control that the host took and that differs in the one thing alone, so that a refusal says
something. What was not asked, or says nothing, is None. The table of rules is not looked at here, but for two
parameters that only it knows: how thinking is switched off, and what makes the host keep earlier turns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .._params import put
from .._rules import Choice, disable_thinking
from ._probe_calls import Answer, Ask
from ._probe_speech import AGAIN, QUESTION, SEALS, Row, Speech, altered, others, unsigned, without
from ._wrong import Wrong, in_one_line

MOST_STEPS = 4
"""Calls of the first turn: two cities, an answer, and one to spare."""
OTHER_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Keys of chat hosts in which another host's reasoning would come."""


@dataclass(slots=True)
class Facts:
    """What a host did. None: not asked, or not to be seen. Mutable: filled in as the answers come."""

    fields: list[str] = field(default_factory=list)
    """Where its replies bring reasoning."""
    own_taken: bool | None = None
    needed_in_turn: bool | None = None
    needed_in_earlier_steps: bool | None = None
    """Of the running turn, where the newest step has it."""
    needed_in_earlier_turns: bool | None = None
    needed_on_answers: bool | None = None
    """In an earlier turn, on a message that calls nothing."""
    needed_without_tools: bool | None = None
    needed_when_off: bool | None = None
    placeholder: str | None = None
    """The first text that the host takes instead; None where it takes none."""
    placeholder_taken: bool | None = None
    other_fields_refused: list[str] | None = None
    seal_checked: bool | None = None
    unsigned_refused: bool | None = None
    counted_in_turn: bool | None = None
    """The tokens of the prompt are more with the reasoning than without."""
    counted_in_earlier_turns: bool | None = None
    preserved: bool | None = None
    """With the host's switch on, the tokens of earlier turns' reasoning are counted."""
    words: dict[str, str] = field(default_factory=dict)
    """Name of a fact → what the host said."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


class Probe:
    """One probe. Mutable: it holds the conversation and what the host said of it."""

    def __init__(
        self, ask: Ask, speech: Speech, url: str, model: str, choice: Choice, extra: Mapping[str, Any]
    ) -> None:
        self._ask, self._speech, self._url, self._model, self._choice = ask, speech, url, model, choice
        self._extra = dict(extra)
        self._shape: Callable[[Row], Row] = lambda body: body
        self._turns: list[int] = []
        self._rows: list[Row] = []
        self._said: set[int] = set()
        self._running: list[Row] = []
        self.facts = Facts()

    def run(self) -> Facts:
        """All experiments, in the order of what they need."""
        tokens = self._converse()
        if self.facts.own_taken is not False:
            if self.facts.fields:
                self._withhold(tokens)
                self._seals()
            if self._speech.body([], "").get("tools") and self._is_chat():
                self._other_fields()
            self._switch(tokens)
        return self.facts

    def _is_chat(self) -> bool:
        return self._choice.rule.dialect == "chat"

    # Requests ---------------------------------------------------------------------------------------------------------

    def _body(self, rows: list[Row]) -> Row:
        return self._shape({**self._speech.body(copy.deepcopy(rows), self._model), **self._extra})

    def _send(self, rows: list[Row], change: Callable[[Row], Any] = lambda body: body) -> Answer:
        return self._ask(self._url, change(self._body(rows)))

    def _refused(self, fact: str, answer: Answer) -> bool:
        """Whether a request was refused; the host's words are kept, without a word of the conversation."""
        if not answer.taken:
            self.facts.words[fact] = f"HTTP {answer.status} {self._quotable(answer.text)}".strip()
        return not answer.taken

    def _quotable(self, text: str) -> str:
        """The host's words, unless they repeat what the model thought or how it was sealed."""
        text = in_one_line(text)
        return "" if any(piece in text for piece in _pieces(self._rows)) else text[:240]

    # The conversation -------------------------------------------------------------------------------------------------

    def _converse(self) -> dict[str, int | None]:
        """Two turns, everything kept; the tokens of some prompts by their names."""
        self._rows = [self._speech.user(QUESTION)]
        answer = self._first()
        tokens = {"first": self._speech.tokens(answer.body)}
        for _ in range(MOST_STEPS):
            if not self._take(answer):
                break
            self._running = list(self._rows)
            answer = self._kept_or_bare()
            tokens["running"] = self._speech.tokens(answer.body)
        if not self._running:
            raise Wrong("the model called no tool, so there is nothing to withhold; give a model that calls tools")
        if self.facts.fields and self.facts.own_taken is None:
            self.facts.own_taken = True
        if self.facts.own_taken is not False:
            self._second_turn(tokens)
        return tokens

    def _first(self) -> Answer:
        """The first request, in the first shape that the model knows."""
        answer = first = self._send(self._rows)
        for shape in self._speech.tries:
            if answer.taken:
                return answer
            self._shape = shape
            answer = self._send(self._rows)
        if not answer.taken:
            said = (
                in_one_line(first.text)[:240]
                or f"(no word that can be read; is the base URL right? asked: {self._url})"
            )
            raise Wrong(f"the host refuses a first question: HTTP {first.status} {said}")
        return answer

    def _take(self, answer: Answer) -> bool:
        """Appends a reply and the results of its calls; whether there were any."""
        said = self._speech.said(answer.body)
        results = self._speech.results(said)
        fields = [name for row in said for name in self._speech.fields(row)]
        self._said |= set(range(len(self._rows), len(self._rows) + len(said)))
        self._rows += [*said, *results]
        self.facts.fields += [name for name in fields if name not in self.facts.fields]
        return len(results) > 0

    def _kept_or_bare(self) -> Answer:
        """The running loop goes on; where its own reasoning is refused, without it from now on."""
        if self.facts.own_taken is False:
            return self._send(self._without(self._rows))
        answer = self._send(self._rows)
        if not answer.taken:
            bare = self._send(self._without(self._rows)) if self.facts.fields else answer
            if not bare.taken:
                raise Wrong(f"the host refuses its own reply: HTTP {answer.status} {self._quotable(answer.text)}")
            self._refused("own_taken", answer)
            self.facts.own_taken, answer = False, bare
        return answer

    def _second_turn(self, tokens: dict[str, int | None]) -> None:
        """Another question, and one step of its loop, everything kept."""
        self._turns.append(len(self._rows))
        self._rows.append(self._speech.user(AGAIN))
        answer = self._send(self._rows)
        if answer.taken and self._take(answer):
            answer = self._send(self._rows)
        if not answer.taken:
            raise Wrong(
                f"the host refuses its own replies in a second turn: HTTP {answer.status} {self._quotable(answer.text)}"
            )
        tokens["whole"] = self._speech.tokens(answer.body)

    def _without(self, rows: list[Row], places: set[int] | None = None) -> list[Row]:
        """The rows, those the model said (or only some of them) without reasoning."""
        asked = self._said if places is None else places
        left = [self._speech.bare(row) if at in asked else row for at, row in enumerate(rows)]
        return [row for row in left if row is not None]

    # What is withheld -------------------------------------------------------------------------------------------------

    def _withhold(self, tokens: dict[str, int | None]) -> None:
        facts, running = self.facts, self._running
        answer = self._send(self._without(running))
        facts.needed_in_turn = self._refused("needed_in_turn", answer)
        facts.counted_in_turn = self._counts(tokens, "running", answer)
        if facts.needed_in_turn:
            self._scope_in_turn()
            self._placeholder()
        if not self._turns:
            return
        before = {place for place in self._said if place < self._turns[0]}
        answer = self._send(self._without(self._rows, before))
        facts.needed_in_earlier_turns = self._refused("needed_in_earlier_turns", answer)
        facts.counted_in_earlier_turns = self._counts(tokens, "whole", answer)
        ends = {place for place in before if place >= len(self._running)}
        if facts.needed_in_earlier_turns and ends:
            facts.needed_on_answers = self._refused("needed_on_answers", self._send(self._without(self._rows, ends)))

    def _scope_in_turn(self) -> None:
        """Where in the running turn, and under which parameters, it is demanded."""
        facts, running = self.facts, self._running
        calls = self._steps()
        if len(calls) > 1:
            early = {place for step in calls[:-1] for place in step}
            facts.needed_in_earlier_steps = self._refused(
                "needed_in_earlier_steps", self._send(self._without(running, early))
            )
        if self._is_chat():
            bare = self._send(self._without(running), lambda body: without(body, "tools"))
            if bare.taken or self._send(running, lambda body: without(body, "tools")).taken:
                facts.needed_without_tools = self._refused("needed_without_tools", bare)
        if self._off(body := self._body(running)) is not body:
            facts.needed_when_off = self._refused("needed_when_off", self._send(self._without(running), self._off))

    def _off(self, body: Row) -> Mapping[str, Any]:
        """A request with thinking off, as the table knows it; the same where it knows of no way."""
        return disable_thinking(self._choice, body)

    def _steps(self) -> list[list[int]]:
        """The rows of each reply in the running turn."""
        steps: list[list[int]] = []
        for place in sorted(place for place in self._said if place < len(self._running)):
            if steps and steps[-1][-1] == place - 1:
                steps[-1].append(place)
            else:
                steps.append([place])
        return steps

    def _placeholder(self) -> None:
        fill, facts = self._speech.fill, self.facts
        if fill is None:
            return
        for text in self._speech.fills:
            rows = [fill(bare, facts.fields[0], text) if at in self._said else bare for at, bare in self._bare_rows()]
            if rows == self._without(self._running):
                return  # no place for one
            facts.placeholder_taken = not self._refused("placeholder_taken", self._send(rows))
            if facts.placeholder_taken:
                facts.placeholder = text
                return

    def _bare_rows(self) -> Iterator[tuple[int, Row]]:
        for at, row in enumerate(self._running):
            left = self._speech.bare(row) if at in self._said else row
            if left is not None:
                yield at, left

    def _counts(self, tokens: dict[str, int | None], name: str, bare: Answer) -> bool | None:
        """Whether the prompt is longer with the reasoning; None where the host's counts say nothing."""
        whole, less, first = tokens.get(name), self._speech.tokens(bare.body) if bare.taken else None, tokens["first"]
        if whole is None or less is None or first is None or whole == first:
            return None
        return whole > less

    # Fields, seals and switches ---------------------------------------------------------------------------------------

    def _other_fields(self) -> None:
        """Another host's text under keys that are not this host's."""
        last = max(place for place in self._said if place < len(self._running))
        keys = [key for key in OTHER_FIELDS if key not in self.facts.fields]

        def with_keys(*given: str) -> list[Row]:
            row = self._running[last]
            for key in given:
                row = others(row, key)
            return [*self._running[:last], row, *self._running[last + 1 :]]

        together = self._send(with_keys(*keys))
        if not self._refused("other_fields_refused", together):
            self.facts.other_fields_refused = []
            return
        self.facts.other_fields_refused = [key for key in keys if not self._send(with_keys(key)).taken]

    def _seals(self) -> None:
        """A seal that the host did not make, and a text without its signature."""
        strange = altered(self._running)
        if strange == self._running:
            return
        self.facts.seal_checked = self._refused("seal_checked", self._send(strange))
        bare = unsigned(self._running)
        if self.facts.seal_checked and bare != self._running:
            self.facts.unsigned_refused = self._refused("unsigned_refused", self._send(bare))

    def _switch(self, tokens: dict[str, int | None]) -> None:
        """With the host's own parameter for keeping every turn: what earlier turns add to the prompt."""
        found = ((one, one.value("all")) for one in self._choice.rule.switch)
        switch, value = next(((one, value) for one, value in found if value is not None), (None, None))
        if switch is None or value is None or not self._turns or not self.facts.fields:
            return

        def on(body: Row) -> Row:
            for param, beside in switch.beside:
                body = put(body, param, beside)
            return put(body, switch.param, value)

        kept = self._send(self._rows, on)
        if self._refused("preserved", kept):
            self.facts.preserved = False
            return
        before = {place for place in self._said if place < self._turns[0]}
        bare = self._send(self._without(self._rows, before), on)
        self.facts.preserved = self._counts({**tokens, "kept": self._speech.tokens(kept.body)}, "kept", bare)


def _pieces(value: Any) -> Iterator[str]:
    """Texts of reasoning and seals in rows, in pieces that a host might repeat."""
    if isinstance(value, list):
        for one in value:
            yield from _pieces(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            hides = key in SEALS or "reasoning" in key.lower() or "think" in key.lower() or key in ("summary", "text")
            if hides and isinstance(one, str) and len(one) > 0:
                yield one[:24]
            else:
                yield from _pieces(one)
