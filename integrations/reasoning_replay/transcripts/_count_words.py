"""How many tokens a text is: by a vocabulary that is installed, by the caller's own, or by an estimate that is named.

A text that was counted is known by its hash and length alone: the caches hold numbers, never a text, and are bounded.
No vocabulary is chosen here (`_count_families` does) and no message is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sized
from functools import lru_cache
from math import ceil
from typing import Any, Final

from .._vocabulary import Encode, encoder

MAX_CACHED: Final = 1 << 17
"""Texts that a vocabulary remembers: some 20 MB at most. A history of 10,000 messages has about 25,000."""


class Words:
    """A way to count. Mutable: it remembers the numbers of texts that it has counted."""

    def __init__(self, name: str, encode: Encode, *, exact: bool, factor: float = 1.0) -> None:
        self.name = name
        """Of the vocabulary or the estimate, for people."""
        self.exact = exact
        """The model's own vocabulary, as far as is known."""
        self._encode = encode
        self._factor = factor
        self._known: dict[tuple[int, int], int] = {}
        self._arguments: dict[tuple[str, int, int], tuple[int, int]] = {}

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for an empty one."""
        if text == "":
            return 0
        key = hash(text), len(text)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._counted(text)
            if len(self._known) > MAX_CACHED:
                self._known.clear()
        return found

    def arguments(self, style: str, text: str, work: Callable[[str, Words], tuple[int, int]]) -> tuple[int, int]:
        """What `work` finds out about the arguments of a call, remembered as texts are."""
        key = style, hash(text), len(text)
        found = self._arguments.get(key)
        if found is None:
            if len(self._arguments) >= MAX_CACHED:
                self._arguments.clear()
            found = self._arguments[key] = work(text, self)
        return found

    def _counted(self, text: str) -> int:
        if not text.isascii():  # half of a pair of surrogates, as cut streams have, is in no vocabulary
            text = text.encode("utf-8", "replace").decode()
        number = self._encode(text)
        return number if self._factor == 1.0 else max(1, round(number * self._factor))

    def __repr__(self) -> str:
        return f"<words by {self.name}>"


@lru_cache(maxsize=32)
def words_by(name: str, factor: float, exact: bool) -> Words | None:
    """The words of an installed vocabulary; None where it is not there."""
    encode = encoder(name)
    if encode is None:
        return None
    told = name if factor == 1.0 else f"{name} x {factor:g}"
    return Words(told, encode, exact=exact, factor=factor)


@lru_cache(maxsize=1)
def estimated() -> Words:
    """The words of no vocabulary."""
    return Words("characters by script", estimate, exact=False)


def words_of(encode: Callable[[str], Any]) -> Words:
    """The words of the caller's own function: text → tokens, or how many. Remembered between calls where it can be."""
    return _words_of(encode) if isinstance(encode, Hashable) else _words_of.__wrapped__(encode)


@lru_cache(maxsize=8)
def _words_of(encode: Callable[[str], Any]) -> Words:
    """Its `count` raises TypeError where the function gives neither."""

    def number(text: str) -> int:
        found = encode(text)
        if isinstance(found, bool) or not isinstance(found, int | Sized):
            raise TypeError(
                f"encode: gave a {type(found).__name__} for a text; allowed: the number of tokens, or a list of them"
            )
        size = found if isinstance(found, int) else len(found)
        if size < 0:
            raise TypeError("encode: gave a negative number for a text; allowed: the number of tokens")
        return size

    return Words(f"encode={getattr(encode, '__name__', type(encode).__name__)}", number, exact=True)


_SCRIPTS: Final = tuple(
    (re.compile(runs), size)
    for runs, size in (
        (r"[A-Z]?[a-z]+|[A-Z]+", 8.0),
        ("[\u00c0-\u024f]", 1.0),  # a letter with an accent cuts its word
        (r"[0-9]+", 3.0),
        (r"[!-/:-@\[-`{-~]+", 2.5),
        ("[\u0370-\u03ff]+", 2.6),  # Greek
        ("[\u0400-\u052f]+", 4.8),  # Cyrillic
        ("[\u0590-\u06ff]+", 4.0),  # Hebrew and Arabic
        ("[\u0900-\u0dff]+", 3.0),  # India's
        ("[\u0e00-\u0eff]+", 2.6),  # Thai and Lao
        ("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]+", 1.45),  # Han and kana
        ("[\uac00-\ud7af]+", 1.7),  # Hangul
    )
)
"""Runs of a script's characters, and how many of them a token holds; every other character is a token.

Measured 2026-11-30 on 17 texts in 12 languages, code, JSON and logs, against the mean of OpenAI's o200k, DeepSeek V3's
and Mistral's vocabulary of 2024: each within 25%, but words of base64 come out a quarter short.
"""


_BREAKS: Final = re.compile(r"[ \t]*[\r\n]+|[ \t]{2,}")
"""A token each; one space belongs to the word behind it."""


def estimate(text: str) -> int:
    """Tokens of a text where no vocabulary is at hand."""
    tokens, seen = len(_BREAKS.findall(text)), sum(map(text.count, " \t\r\n"))
    for runs, size in _SCRIPTS:
        for run in runs.findall(text):
            tokens += ceil(len(run) / size)
            seen += len(run)
    return max(1, tokens + len(text) - seen)
