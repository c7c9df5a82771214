"""Messages that are lists of blocks told by what everybody can see, and their reasoning taken out and put back.

For the Anthropic form, Converse's and Gemini's: a form says in a `Speech` how one block is read. Answers of tools are
blocks of a user's message there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from .._origin import MARK
from . import Messages, Recall, Said, plain
from ._places import Look, put, take, text_in
from ._recall import Calls, Words, called, ordered, plain_id, shown

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


def recall_by(speech: Speech) -> Recall:
    """How a form of blocks is recalled."""
    return Recall(said=partial(said, speech), lift=partial(lift, speech), lay=partial(lay, speech))


def said(speech: Speech, messages: Messages) -> list[Said]:
    """Every message by what everybody can see of it."""
    out: list[Said] = []
    calls = Calls()
    for at, message in enumerate(messages):
        role, content = speech.role_of(message), message.get(speech.key)
        reply = role == _REPLY
        if content.__class__ is str:
            text = f"[{role},{len(content)}:{content}]" if content != "" else f"[{role}]"
            out.append(Said(at, at + 1, reply, text, (), reply))
            continue
        words = Words(role)
        blocks = [plain(block) for block in content] if isinstance(content, list) else []
        ids = _say(speech, words, blocks, calls)
        if ids:
            calls.add(ids)
        bare = reply and _is_bare(speech, blocks)
        out.append(Said(at, at + 1, reply, str(words), ids if all(ids) else (), bare))
    return out


def _say(speech: Speech, words: Words, blocks: Iterable[Block], calls: Calls) -> tuple[str, ...]:
    """Says all that is visible in blocks, and gives the ids of the calls among them."""
    look, ids = speech.look, []
    for block in blocks:
        if look.is_text(block):
            words.say(text_in(block if look.seal(block) is None else look.bare(block)))
        elif look.is_hidden(block) or look.is_silent(block):
            continue
        elif (call := speech.call(block)) is not None:
            words.show(called(call.name, call.arguments))
            ids.append(plain_id(str(call.id or "")))
        elif (answer := speech.answer(block)) is not None:
            words.show(_answered(speech, answer, calls))
        else:
            words.show(shown(look.bare(block)))
    return tuple(ids)


def _answered(speech: Speech, answer: Answer, calls: Calls) -> str:
    place = calls.answered(answer.id)
    words = Words("answer", place, *(["failed"] if answer.failed else []))
    if answer.name is not None:
        words.show(ordered(answer.name))
    if isinstance(answer.content, list):
        _say(speech, words, map(plain, answer.content), calls)
    elif isinstance(answer.content, str):
        words.say(answer.content)
    elif answer.content is not None:
        words.show(shown(answer.content))
    return str(words)


def _is_bare(speech: Speech, blocks: Iterable[Block]) -> bool:
    """Whether no reasoning stands there; blanks are none."""
    return all(code is None or code in _FILLERS for code in map(speech.code, blocks))


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
    if not isinstance(lifted, Mapping) or not _is_bare(speech, map(plain, blocks)):
        return list(rows)
    placed = put(speech.look, blocks, lifted)
    if placed is None:
        return list(rows)
    return [{**{key: value for key, value in message.items() if key != MARK}, speech.key: placed}]
