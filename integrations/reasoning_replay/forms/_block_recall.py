"""Messages that are lists of blocks told by what everybody can see, and their reasoning taken out and put back.

For the Anthropic form, Converse's and Gemini's: a form says in a `Speech` how one block is read. Answers of tools are
blocks of a user's message there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from .._origin import MARK
from . import PSF, Messages, Recall, Said, plain
from ._carriers import is_past
from ._places import Look, put, take, text_in
from ._recall import Calls, beside, called, hidden_past, ordered, plain_id, shown, unpacked

Block = Mapping[str, Any]
_REPLY = "assistant"
_FILLERS = ("blank", "empty")


class Call(NamedTuple):
    """A call of a tool."""

    id: object
    name: object
    arguments: object


class Answer(NamedTuple):
    """What a tool said."""

    id: object
    name: object
    """Of the tool, where the answer says it."""
    failed: bool
    content: Any


class Seen(NamedTuple):
    """Something else that is visible, as canonical text."""

    text: str


Visible = str | Call | Answer | Seen | None
"""What a block shows: words, a call, an answer, something else, or nothing."""


class Speech(NamedTuple):
    """How the blocks of one form are read."""

    key: str
    """Of the list of blocks in a message."""
    role_of: Callable[[Mapping[str, Any]], str]
    """Who a message is from; a model's is the assistant's."""
    code: Callable[[Block], str | None]
    """What is there of its host's own, as `_carriers` names it; None for nothing."""
    look: Look
    call: Callable[[Block], Call | None]
    answer: Callable[[Block], Answer | None]
    text: Callable[[Block], str]
    """The readable text of a block of reasoning."""
    usual: Callable[[Block], Visible] = lambda block: None
    """What a usual block shows that has nothing of its host's own, told in one look; None for any other block."""


Reads = Callable[[Speech, Any], Visible]
"""What a block shows."""


def recall_by(speech: Speech) -> Recall:
    """How a form of blocks is recalled."""
    return Recall(said=partial(said, speech), lift=partial(lift, speech), lay=partial(lay, speech))


def said(speech: Speech, messages: Messages) -> list[Said]:
    """Every message by what everybody can see of it."""
    out: list[Said] = []
    calls = Calls()
    for at, message in enumerate(messages):
        role = speech.role_of(message)
        content: Any = message.get(speech.key)
        reply = role == _REPLY
        if content.__class__ is str:
            text = f"[{role},{len(content)}:{content}]" if content != "" else f"[{role}]"
            out.append(Said(at, at + 1, reply, text, (), reply))
            continue
        blocks = content if isinstance(content, list) else ()
        pieces, ids, held = _tell(speech, blocks, calls, _read if reply else _heard)
        if ids:
            calls.add(ids)
        thin = reply and held == _OPEN and MARK not in message
        out.append(Said(at, at + 1, reply, f"[{role}{pieces}]", ids if all(ids) else (), reply and not held, thin))
        if reply and (pasts := [block for block in map(plain, blocks) if is_past(block)] if held else []):
            out.append(beside(at + 1, (hidden_past(shown(block, whole=True)) for block in pasts)))
    return out


_OPEN = {"text"}
"""What a client keeps that shows thinking and drops what seals it."""


def _tell(speech: Speech, blocks: Iterable[Any], calls: Calls, read: Reads) -> tuple[str, tuple[str, ...], set[str]]:
    """All that is visible in blocks, the ids of the calls among them, and the codes of reasoning that is no blank."""
    told: list[str] = []
    texts: list[str] = []
    ids: list[str] = []
    held: set[str] = set()
    usual = speech.usual
    for each in blocks:
        block = each if each.__class__ is dict else plain(each)
        what = usual(block) if block.__class__ is dict else None
        if what is None:
            what = read(speech, block)
            if isinstance(block, Mapping) and not _is_filler(code := speech.code(block)):
                held.add("marked" if PSF in block else str(code))
        if what.__class__ is str:
            texts.append(what)
        elif what is not None:
            if texts:
                told.append(_one_text(texts))
            told.append(f",{_shown(speech, what, calls, ids, read)}")
    if texts:
        told.append(_one_text(texts))
    return "".join(told), tuple(ids), held


def _one_text(texts: list[str]) -> str:
    """Texts that touch as one, behind a comma; empties the list."""
    text = texts[0] if len(texts) == 1 else "".join(texts)
    texts.clear()
    return f",{len(text)}:{text}" if text != "" else ""


def _shown(speech: Speech, what: Any, calls: Calls, ids: list[str], read: Reads) -> str:
    """What is no text; the id of a call is added to `ids`."""
    if what.__class__ is Call:
        ids.append(plain_id(what.id) if isinstance(what.id, str) else "")
        return called(what.name, what.arguments)
    return _answered(speech, what, calls, read) if what.__class__ is Answer else what.text


def _read(speech: Speech, block: Any) -> Visible:
    """What a block of a reply shows: no reasoning, and nothing of its host's own."""
    look = speech.look
    if not isinstance(block, Mapping):  # inside an answer
        return block if isinstance(block, str) else Seen(shown(block))
    if look.is_hidden(block) or look.is_silent(block):
        return None
    if look.is_text(block):
        return text_in(block if look.seal(block) is None else look.bare(block))
    return speech.call(block) or speech.answer(block) or Seen(shown(look.bare(block)))


def _heard(speech: Speech, block: Any) -> Visible:
    """What a block of anybody else's shows: all of it."""
    look = speech.look
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else Seen(shown(block))
    if look.is_silent(block):
        return None
    if look.is_text(block):
        return text_in(block)
    return speech.call(block) or speech.answer(block) or Seen(shown(block, whole=True))


def _answered(speech: Speech, answer: Answer, calls: Calls, read: Reads) -> str:
    content = answer.content
    head = f"answer,{calls.answered(answer.id)}{',failed' if answer.failed else ''}"
    if answer.name is not None:
        head = f"{head},{ordered(answer.name)}"
    if content is None or content == "":
        return f"[{head}]"
    if content.__class__ is str:
        return f"[{head},{len(content)}:{content}]"
    if isinstance(content, list):
        return f"[{head}{_tell(speech, content, calls, read)[0]}]"
    return f"[{head},{shown(content)}]"


def _is_filler(code: str | None) -> bool:
    return code is None or code in _FILLERS


def _is_bare(speech: Speech, blocks: Iterable[Block]) -> bool:
    """Whether no reasoning stands there; blanks are none."""
    return all(_is_filler(code) for code in map(speech.code, blocks))


def _completes(speech: Speech, lifted: Mapping[str, Any], blocks: Iterable[Any]) -> bool:
    """Whether the reasoning that stands there is text that was lifted too, and something sealed was lifted with it."""
    kept = [unpacked(block) for *_, block in lifted.get("blocks", ())]
    there = [block for block in map(plain, blocks) if not _is_filler(speech.code(block))]
    if any(speech.code(block) != "text" or not speech.look.is_hidden(block) for block in there):
        return False
    sealed = "seals" in lifted or any(speech.code(block) not in ("text", *_FILLERS) for block in kept)
    return sealed and {speech.text(block) for block in kept}.issuperset(map(speech.text, there))


def _blocks(speech: Speech, message: Mapping[str, Any]) -> list[Any]:
    content = message.get(speech.key)
    if isinstance(content, str) and content != "":
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def lift(speech: Speech, rows: Messages) -> Any:
    """A message's reasoning; None where there is none but blanks."""
    blocks = list(map(plain, _blocks(speech, rows[0])))
    return None if _is_bare(speech, blocks) else take(speech.look, blocks)


def lay(speech: Speech, rows: Messages, lifted: Any) -> list[Mapping[str, Any]]:
    """The client's message with the reasoning back; as it is where some stands already, or a place is not there."""
    message = rows[0]
    blocks = _blocks(speech, message)
    if not isinstance(lifted, Mapping):
        return list(rows)
    if not (_is_bare(speech, map(plain, blocks)) or _completes(speech, lifted, blocks)):
        return list(rows)
    placed = put(speech.look, blocks, lifted)
    if placed is None:
        return list(rows)
    return [{**{key: value for key, value in message.items() if key != MARK}, speech.key: placed}]
