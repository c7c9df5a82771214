"""How many tokens a text is: by a vocabulary that is installed, by the caller's own, or by an estimate that is named.

A text that was counted is known by its hash and length alone: the caches hold numbers, never a text, and are bounded.
No vocabulary is chosen here (`_count_families` does) and no message is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from functools import lru_cache
from typing import Any, Final

from .._vocabulary import Encode, encoder

MAX_CACHED: Final = 1 << 16
"""Texts that a vocabulary remembers: some 10 MB. A history of 10,000 messages has about 30,000."""


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

    def _counted(self, text: str) -> int:
        try:
            number = self._encode(text)
        except UnicodeError:  # half of a pair of surrogates, as cut streams have
            number = self._encode(text.encode("utf-8", "replace").decode())
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
    return Words("bytes by script", estimate, exact=False)


@lru_cache(maxsize=8)
def words_of(encode: Callable[[str], Any]) -> Words:
    """The words of the caller's own function: text → tokens, or how many.

    Raises:
        TypeError: the function gives neither.
    """

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


_SCRIPTS: Final = (
    ("ascii letters", re.compile(r"[A-Za-z]+"), 5.0),
    ("digits", re.compile(r"[0-9]+"), 2.4),
    ("spaces", re.compile(r"[ \t]{2,}|[\r\n]+"), 3.0),
    ("signs", re.compile(r"[!-/:-@\[-`{-~]+"), 1.9),
    ("latin", re.compile("[\u0080-\u024f]+"), 1.9),
    ("greek and cyrillic", re.compile("[\u0370-\u052f]+"), 5.4),
    ("han and kana", re.compile("[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]+"), 4.0),
    ("hangul", re.compile("[\uac00-\ud7af]+"), 4.6),
)
"""Class of characters, its runs, and its bytes a token."""
_OTHER_BYTES: Final = 4.0
"""Bytes a token of every other script."""


def estimate(text: str) -> int:
    """Tokens of a text where no vocabulary is at hand."""
    tokens, seen = 0.0, 0
    for _, runs, size in _SCRIPTS:
        found = "".join(runs.findall(text))
        length = len(found) if found.isascii() else len(found.encode("utf-8", "replace"))
        tokens += length / size
        seen += length
    spaces = text.count(" ")
    rest = len(text.encode("utf-8", "replace")) - seen - spaces
    return max(1, round(tokens + max(0, rest) / _OTHER_BYTES))
