"""Where reasoning stands among the visible blocks of a list, in words that survive a client's rewriting.

A place is the number of visible blocks that are no text before it, and the number of characters since the last of
them: equal however the text is cut. A seal on a visible text has a start and an end in the same count.
`take` tells the places, `put` finds them again: a text that a place falls into is cut there, since signed blocks go
back in their place or not at all. Blocks of the client's that need no cut stay the client's own objects.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from . import plain
from ._recall import packed, unpacked


class Look(NamedTuple):
    """How the blocks of one form are read."""

    is_hidden: Callable[[Any], bool]
    """Nothing in it is said to anybody."""
    seal: Callable[[Any], Any]
    """What only its host knows of a visible block; None for nothing."""
    sealed: Callable[[Any, Any], Any]
    """A visible block and its seal → the block with it."""
    bare: Callable[[Any], Any]
    """A visible block without its seal."""
    is_text: Callable[[Any], bool] = lambda block: isinstance(block, Mapping) and isinstance(block.get("text"), str)
    """A visible block that is text and nothing else."""
    is_silent: Callable[[Any], bool] = lambda block: False
    """Neither seen nor of its host: a cache point."""
    shaped: Callable[[Any], Any] = lambda block: block
    """A block of reasoning as it is kept."""


class _Piece(NamedTuple):
    """A block of the client's and its place."""

    place: tuple[int, int]
    length: int | None
    """Characters of a text; None for a visible block that is no text, 0 for one that is silent."""
    block: Any
    silent: bool = False

    @property
    def behind(self) -> tuple[int, int]:
        """The place after it."""
        number, start = self.place
        return (number + 1, 0) if self.length is None else (number, start + self.length)


_Seal = tuple[tuple[int, int], int | None, Any]
"""Place, characters of a text (None for any other block), and what only its host knows."""


def text_in(block: Any) -> str:
    """The text of a block that is text."""
    return block if isinstance(block, str) else str(block["text"])


def take(look: Look, blocks: Sequence[Any]) -> dict[str, Any]:
    """The reasoning among blocks and its places, as JSON; empty where there is none."""
    hidden: list[Any] = []
    seals: list[Any] = []
    number = start = 0
    for block in map(plain, blocks):
        seal = None if look.is_hidden(block) else look.seal(block)
        said = block if seal is None else look.bare(block)
        length = len(text_in(said)) if look.is_text(said) else None
        if look.is_hidden(block) or (seal is not None and length == 0):
            hidden.append([number, start, packed(look.shaped(block))])
        elif not look.is_silent(block):
            seals += [] if seal is None else [[number, start, length, packed(seal)]]
            number, start = (number + 1, 0) if length is None else (number, start + length)
    return {name: found for name, found in (("blocks", hidden), ("seals", seals)) if found}


def solids_of(look: Look, blocks: Sequence[Any], is_loose: Callable[[Any], bool]) -> list[Any]:
    """Of every visible block that is no text: the characters before it, and whether a client may leave it out."""
    solids: list[Any] = []
    start = 0
    for block in map(plain, blocks):
        if look.is_hidden(block) or look.is_silent(block):
            continue
        said = block if look.seal(block) is None else look.bare(block)
        if look.is_text(said):
            start += len(text_in(said))
        else:
            solids.append([start, is_loose(block)])
            start = 0
    return solids


def loose_places(solids: Sequence[Any]) -> list[list[int]]:
    """The places of the loose blocks themselves among those that are not."""
    return [_loose(solids, number, solids[number][0]) for number, (_, loose) in enumerate(solids) if loose]


def _loose(solids: Sequence[Any], number: int, start: int) -> list[int]:
    """A place told without the loose blocks."""
    left = before = 0
    for length, loose in solids[:number]:
        left, before = (left, before + length) if loose else (left + 1, 0)
    return [left, before + start]


def loosened(lifted: Mapping[str, Any], solids: Sequence[Any], is_name: Callable[[Any], bool]) -> dict[str, Any] | None:
    """The places as they are without the loose blocks; None where one of those has a seal that is more than a name."""
    seals = []
    for number, start, length, seal in lifted.get("seals", ()):
        if length is None and solids[number][1]:
            if is_name(seal):
                continue
            return None
        seals.append([*_loose(solids, number, start), length, seal])
    return {
        "blocks": [[*_loose(solids, number, start), block] for number, start, block in lifted.get("blocks", ())],
        "seals": seals,
    }


def put(look: Look, blocks: Sequence[Any], lifted: Mapping[str, Any]) -> list[Any] | None:
    """The client's blocks with the reasoning back; None where a place is not there. Blank fillers go."""
    hidden = [((number, start), unpacked(block)) for number, start, block in lifted.get("blocks", ())]
    seals = [((number, start), length, unpacked(seal)) for number, start, length, seal in lifted.get("seals", ())]
    cuts = {place for place, _ in hidden}
    cuts |= {(number, at) for (number, start), length, _ in seals for at in (start, start + (length or 0))}
    found = _with_seals(look, _cut(_pieces(look, blocks), cuts), seals)
    return None if found is None else _placed(found, hidden)


def _pieces(look: Look, blocks: Sequence[Any]) -> list[_Piece]:
    pieces: list[_Piece] = []
    place = (0, 0)
    for given in blocks:
        block = plain(given)
        if look.is_hidden(block):
            continue
        if look.seal(block) is not None:  # a blank one: what is asked for has no other
            given = block = look.bare(block)  # noqa: PLW2901
        silent = look.is_silent(block)
        length = 0 if silent else len(text_in(block)) if look.is_text(block) else None
        pieces.append(_Piece(place, length, given, silent))
        place = pieces[-1].behind
    return pieces


def _cut(pieces: list[_Piece], cuts: Iterable[tuple[int, int]]) -> list[_Piece]:
    """The pieces with every text cut that has a place inside."""
    out: list[_Piece] = []
    of_number: dict[int, list[int]] = defaultdict(list)
    for number, at in sorted(cuts):
        of_number[number].append(at)
    for piece in pieces:
        (number, start), length = piece.place, piece.length or 0
        ats = of_number.get(number, ())
        inside = [at - start for at in ats[bisect_right(ats, start) : bisect_left(ats, start + length)]]
        if not inside:
            out.append(piece)
            continue
        block = plain(piece.block)
        for begin, end in pairwise([0, *inside, length]):
            part = _with_text(block, text_in(block)[begin:end], last=end == length)
            out.append(_Piece((number, start + begin), end - begin, part))
    return out


def _with_text(block: Any, text: str, *, last: bool) -> Any:
    """A part of a text; a cache point stays at its end."""
    if isinstance(block, str):
        return text
    return {key: text if key == "text" else value for key, value in block.items() if last or key != "cache_control"}


def _with_seals(look: Look, pieces: list[_Piece], seals: Iterable[_Seal]) -> list[_Piece] | None:
    """The pieces with their seals, which come in the same order; None where the place of one is not there."""
    out: list[_Piece] = []
    at = 0
    for seal in seals:
        while at < len(pieces) and not _is_under(pieces[at], seal):
            out.append(pieces[at])
            at += 1
        end = at
        while end < len(pieces) and (pieces[end].silent or _is_under(pieces[end], seal)):
            end += 1
        while end > at and pieces[end - 1].silent:
            end -= 1
        whole = _whole(look, [each for each in pieces[at:end] if not each.silent], seal)
        if whole is None:
            return None
        out.append(whole)
        at = end
    return [*out, *pieces[at:]]


def _is_under(piece: _Piece, seal: _Seal) -> bool:
    (number, start), length, _ = seal
    if piece.silent or piece.place[0] != number:
        return False
    return piece.length is None if length is None else start <= piece.place[1] < start + length


def _whole(look: Look, pieces: list[_Piece], seal: _Seal) -> _Piece | None:
    """One piece with its seal; a text that the client has cut is whole again, since it was sealed whole."""
    _, length, value = seal
    if not pieces or (length is not None and sum(each.length or 0 for each in pieces) != length):
        return None
    block = plain(pieces[0].block)
    if not isinstance(block, str | Mapping):
        return None
    if len(pieces) > 1:
        block = _with_text(plain(pieces[-1].block), "".join(text_in(plain(each.block)) for each in pieces), last=True)
    return pieces[0]._replace(block=look.sealed(block, value), length=length)


def _placed(pieces: list[_Piece], hidden: list[tuple[tuple[int, int], Any]]) -> list[Any] | None:
    """Every hidden block in front of what it stood in front of; None where one's place is not there."""
    out: list[Any] = []
    waiting = 0
    end = (0, 0)
    for piece in pieces:
        if not piece.silent:
            while waiting < len(hidden) and hidden[waiting][0] == piece.place:
                out.append(hidden[waiting][1])
                waiting += 1
            end = piece.behind
        out.append(piece.block)
    left = hidden[waiting:]
    return [*out, *(block for _, block in left)] if all(place == end for place, _ in left) else None
