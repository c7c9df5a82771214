"""Reasoning quoted inside other texts: raw requests and replies, errors, tracebacks.

A text that holds as much as SPAN characters of a secret in a row loses everything up to the quotation marks around
them. Found are quotations as they are, escaped as JSON or Python writes a string, and inside base64; whole, cut short,
or from the middle. Time and memory grow with the texts, not with the secrets times the texts: a history of 10,000
messages is searched for all of its own reasoning.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce

SAID = "[redacted]"
"""Stands where a text quoted reasoning."""
SPAN = 24
"""Characters in a row that make a quotation: a shorter run is a turn of phrase."""
LEAST = 8
"""Characters of a secret that is looked for at all; one shorter than a span is looked for whole."""
_STEP = SPAN // 2
_MOST_SHORT = 2000
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_QUOTES = "\"'`\n"


class Secrets:
    """Texts to be looked for; more can be added. Shows none of them."""

    __slots__ = ("_grams", "_short", "_words")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._grams: dict[str, tuple[str, int]] = {}
        """Span -> a text that has it, and where."""
        self._words: set[str] = set()
        self._short: Callable[[str], str] = _as_it_is
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        """Looks for these too; it costs what they are long, whatever is there already."""
        whole = {form for text in set(texts) if len(text) >= LEAST for form in _written(text)}
        for text in whole:
            if len(text) >= SPAN:
                for at in _places(text):
                    self._grams.setdefault(text[at : at + SPAN], (text, at))
        self._add_short({text for text in whole if len(text) < SPAN})

    def update(self, other: Secrets) -> None:
        """Looks for what another looks for too."""
        self._grams.update(other._grams)
        self._add_short(other._words)

    def _add_short(self, words: set[str]) -> None:
        if len(self._words) < _MOST_SHORT and not words <= self._words:
            self._words |= words
            self._short = _one_of(sorted(self._words, key=len, reverse=True)[:_MOST_SHORT])

    def __repr__(self) -> str:
        return "<secrets>"

    def __bool__(self) -> bool:
        return len(self._grams) > 0 or self._short is not _as_it_is

    def without(self, text: str) -> str:
        """The text with every quotation taken out; the very same text where there is none."""
        if len(text) < LEAST or not self:
            return text
        left = self._without_spans(self._short(text))
        return _BASE64.sub(lambda found: SAID if self._within(found[0]) else found[0], left)

    def _without_spans(self, text: str) -> str:
        at = self._found(text, 0)
        if at is None:
            return text
        left: list[str] = []
        start = 0
        while at is not None:
            first, last = self._quoted(text, at)
            begin = max(start, *(text.rfind(quote, 0, first) + 1 for quote in _QUOTES))
            end = min((found for quote in _QUOTES if (found := text.find(quote, last)) >= 0), default=len(text))
            left += [text[start:begin], SAID]
            start = end
            at = self._found(text, end)
        return "".join([*left, text[start:]])

    def _quoted(self, text: str, at: int) -> tuple[int, int]:
        """How far the quotation goes in which a span was found: a secret has quotation marks of its own."""
        secret, place = self._grams[text[at : at + SPAN]]
        back = 0
        while back < min(at, place) and text[at - back - 1] == secret[place - back - 1]:
            back += 1
        return at - back, at + _as_long_as(text, at, secret, place)

    def _found(self, text: str, start: int) -> int | None:
        """The place of the next quotation."""
        grams = self._grams
        if not grams:
            return None
        return next((at for at in range(start, len(text) - SPAN + 1) if text[at : at + SPAN] in grams), None)

    def _within(self, run: str) -> bool:
        """Whether a run of base64 holds a secret."""
        bare = run.rstrip("=").translate(_ALPHABET)
        try:
            told = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return False
        return self._found(told, 0) is not None or self._short(told) != told


def _as_it_is(text: str) -> str:
    return text


def _one_of(words: list[str]) -> Callable[[str], str]:
    """Takes words out of a text. One pattern for many: for the few of one message to compile it took half the time."""
    if not words:
        return _as_it_is
    if len(words) <= _FEW:
        return lambda text: reduce(lambda left, word: left.replace(word, SAID), words, text)
    return partial(re.compile("|".join(map(re.escape, words))).sub, SAID)


_FEW = 16
_ALPHABET = str.maketrans("-_", "+/")


def _written(text: str) -> Iterator[str]:
    """A text as it stands in others: as it is, and as JSON and Python escape it."""
    yield text
    for quoted in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]):
        if quoted != text:
            yield quoted


def _places(text: str) -> Iterator[int]:
    """Of spans so close to each other that any quotation of a span and a half holds one; the last one too."""
    yield from range(0, len(text) - SPAN + 1, _STEP)
    yield len(text) - SPAN


def _as_long_as(one: str, at: int, other: str, place: int) -> int:
    """How many characters from there on are the same."""
    least, most = 0, min(len(one) - at, len(other) - place)
    while least < most:
        half = (least + most + 1) // 2
        if one[at + least : at + half] == other[place + least : place + half]:
            least = half
        else:
            most = half - 1
    return least
