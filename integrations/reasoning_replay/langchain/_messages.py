"""Messages on their way out and back: the plan of a list, what of it is written to the wire, the mark on a reply.

A hook deep in a class recognises the planned list (`_planned`) and writes to the wire what the class itself cannot
send; a list that is not planned loses all reasoning there. No state hangs on a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from .. import _capture, _faults, _replay
from .._known import Known, default_store, note_all
from .._origin import MARK, Origin, OriginError, path_of, to_mark
from .._plan import Plan
from .._rules import Policy
from ..forms import PSF, TURN, digest, form_of
from ..forms._carriers import SEALED, STRINGS, chunk_of, with_chunk
from ..forms._inline import INLINE, with_inline
from ..forms._langchain_blocks import FIELD, LISTS, THINKING, TOOL_EXTRAS, WIRE, reasoning_in
from ..forms._langchain_read import named
from ..forms._langchain_write import strip
from ._callback_below import active_callback
from ._classes import Target
from ._planned import Planned, running_plan

ON_WIRE = frozenset({*STRINGS, *SEALED, *LISTS})
"""Keys of a chat host's assistant message that hold reasoning."""
FAULTS = "langchain"
"""What a fault of this integration is told under, where no host is known."""
_CLIENTS = "default_headers"
_FORM = form_of("langchain")
_UNPREDICTED, _UNREADABLE = "custom:unpredicted", "custom:unreadable"
_NOBODY = frozenset({_UNPREDICTED, _UNREADABLE})


def plan_messages(
    messages: list[BaseMessage],
    *,
    target: Target,
    request: Mapping[str, Any] | None,
    policy: Policy | None = None,
    known: Known | None = None,
) -> Planned:
    """What of `messages` goes to `target`. Changes nothing; a fault inside strips everything.

    Raises:
        MissingReasoning, BadPolicy: what the policy asks for.
    """
    plan = _replay.prepare_origin_safely(
        _as_edited(messages, target, policy, known),
        origin_of(target),
        None if target.url is None else path_of(target.url),
        form="langchain",
        request=request,
        policy=policy,
        hint=target.hint,
        known=known,
    )
    return Planned(plan.messages, plan, request)


def _as_edited(
    messages: list[BaseMessage], target: Target, policy: Policy | None, known: Known | None
) -> list[BaseMessage]:
    """The messages without blocks that are bound to what LangChain's `ContextEditingMiddleware` has changed in them."""
    if not any(EDITED in message.response_metadata for message in messages):
        return messages
    from ._trim_cut import Cutting  # not at the top: it needs `transcripts`

    cutting = Cutting(policy, known, target.hint)
    return _faults.fail_closed(FAULTS, lambda: cutting.unbound(messages), lambda: messages)


EDITED = "context_editing"
"""What it writes into `response_metadata` of a message that it has changed (langchain 1.5.2, 2026-11-30)."""


@lru_cache(maxsize=256)
def origin_of(target: Target) -> Origin:
    """The origin of a reply to a call that goes to `target`; one of its own where the URL names no host."""
    more: dict[str, Any] = {"dialect": target.dialect, "model": target.model, "account": target.account}
    try:
        return Origin.from_url(target.url or _UNPREDICTED, **more)
    except OriginError:
        return Origin(_UNREADABLE, **more)


def author_of(target: Target) -> Origin | None:
    """The origin that a reply may be marked with; None where the host is not known: nobody's mark must ever match."""
    origin = origin_of(target)
    return None if origin.host in _NOBODY else origin


def write_wire(rows: list[dict[str, Any]], planned: list[BaseMessage]) -> None:
    """Writes what the plan kept into a chat host's messages, in place of whatever the class has put there.

    Args:
        rows: the wire's messages, one for each of `planned`, or at least one for each of the assistant's.
        planned: what the class was given. Not a `Planned`: all reasoning goes, and on a fault too.
    """
    _faults.fail_closed(FAULTS, lambda: _write(rows, planned), lambda: _empty(rows))


def _empty(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        _take_out(row)


def _write(rows: list[dict[str, Any]], planned: list[BaseMessage]) -> None:
    if not isinstance(planned, Planned):
        _empty(rows)
        return
    for row, message in _pairs(rows, planned):
        kwargs = message.additional_kwargs
        if not ON_WIRE.isdisjoint(row):
            _take_out(row)
        if kwargs:
            _put(row, message, kwargs)
        if isinstance(message.content, list):
            _put_chunks(row, message.content)
        if isinstance(row.get("content"), list):
            row["content"] = [_part(block) for block in row["content"] if not _is_call(block)]
        if planned.plan is None and MARK in kwargs:
            row[PSF] = {MARK: kwargs[MARK]}


def _pairs(rows: list[dict[str, Any]], planned: Planned) -> Iterable[tuple[dict[str, Any], AIMessage]]:
    """Each reply and its wire message.

    Raises:
        ValueError: the class has made more or fewer of them, and nobody can say which is which.
    """
    if len(rows) == len(planned):
        return ((row, each) for row, each in zip(rows, planned, strict=True) if isinstance(each, AIMessage))
    wire = [row for row in rows if row.get("role") == "assistant"]
    replies = [each for each in planned if isinstance(each, AIMessage)]
    return zip(wire, replies, strict=True)


def _take_out(row: dict[str, Any]) -> None:
    for key in ON_WIRE.intersection(row):
        del row[key]
    if isinstance(row.get("content"), list):
        row["content"] = [block for block in row["content"] if reasoning_in(block) is None]


def _put(row: dict[str, Any], message: AIMessage, kwargs: Mapping[str, Any]) -> None:
    for key, value in kwargs.items():
        if key not in ON_WIRE or value is None:
            continue
        if key == "thinking_blocks":
            row[key] = [_plain(item) for item in value]
        elif key not in STRINGS or isinstance(value, str):
            row[named(key, kwargs)] = value
    if WIRE in kwargs:
        _put_elsewhere(row, kwargs[WIRE])
    extras = kwargs.get(TOOL_EXTRAS)
    if isinstance(extras, Mapping):
        for call in row.get("tool_calls") or ():
            if call.get("id") in extras:
                call["extra_content"] = extras[call["id"]]


def _is_call(block: Any) -> bool:
    """Whether a block is a call of another dialect's shape; the call stands in `tool_calls` as well."""
    return isinstance(block, Mapping) and block.get("type") in _CALLS


_CALLS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta"})
_OF_TEXT = frozenset({"type", "text", "cache_control"})


def _part(block: Any) -> Any:
    """A text part as chat hosts know it: some refuse the other keys that LangChain's blocks have."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if isinstance(block, Mapping) and block.get("type") == "text" and not _OF_TEXT.issuperset(block):
        return {key: value for key, value in block.items() if key in _OF_TEXT}
    return block


def _plain(block: Any) -> Any:
    """A thinking block without langchain-litellm's own digests, which no host reads."""
    return {key: value for key, value in block.items() if key not in ("origin", "prefix", "index")}


def _put_chunks(row: dict[str, Any], content: list[Any]) -> None:
    """Thinking chunks in the content, as Mistral writes them, in place of what the class has made of them."""
    if not any(reasoning_in(block) is not None for block in content):
        return
    chunks: list[Any] = []
    for block in _joined(content):
        found = reasoning_in(block)
        if found is not None:
            chunks.append(_chunk(block, found.text))
        elif isinstance(block, str):
            chunks.append({"type": "text", "text": block})
        elif block.get("type") == "text":
            chunks.append({"type": "text", "text": block["text"]})
    row["content"] = chunks


def _joined(content: list[Any]) -> Iterator[Any]:
    """A stream brings a chunk in pieces, none of which says that it is complete: they become the one that they were."""
    said = (block for block in content if block != "")
    for pieces, group in groupby(said, key=_is_piece):
        run = list(group)
        if pieces and len(run) > 1:
            yield chunk_of("".join(found.text for found in map(reasoning_in, run) if found is not None), closed=True)
        else:
            yield from run


def _is_piece(block: Any) -> bool:
    found = reasoning_in(block)
    return found is not None and found.seal is None and block.get("closed") is None


def _put_elsewhere(row: dict[str, Any], wire: Mapping[str, Any]) -> None:
    """What goes under another key than it stood."""
    for key, value in wire.items():
        if key == THINKING:
            row["content"] = with_chunk(value, row.get("content"))
        elif key == INLINE:
            row["content"] = with_inline(value, row.get("content") or "")
        else:
            row[key] = value


def _chunk(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    seal = {key: block[key] for key in ("signature", "closed") if block.get(key) is not None}
    return chunk_of(text, **seal)


def planned_of(messages: list[BaseMessage]) -> Planned | None:
    """The planned messages that a class's method was given, also in a list of its own making; None for any others.

    A subclass of a user's may put a message before them. Every reply in the list must be one that the running call has
    planned, the very object, or hold nothing of a host's.
    """
    if isinstance(messages, Planned):
        return messages
    plan = running_plan()
    if plan is None:
        return None
    own = set(map(id, plan))
    replies = (each for each in messages if isinstance(each, AIMessage) and id(each) not in own)
    return plan.again(messages) if all(strip_message(each) is each for each in replies) else None


def confirm_payload(payload: MutableMapping[str, Any], given: list[BaseMessage]) -> None:
    """Confirms the plan on the body of an Anthropic request, and applies what its guards change. In place."""
    planned = planned_of(given)
    if planned is None or planned.plan is None:
        payload["messages"] = form_of("anthropic").strip(payload["messages"], None)
        return
    headers = (planned.given or {}).get(_CLIENTS)  # they may ask for a beta, and stand in no payload
    asked = payload if headers is None else {**payload, _CLIENTS: headers}
    confirmed = _replay.confirm_safely(payload["messages"], planned.plan, form="anthropic", request=asked)
    request = confirmed.request if confirmed.request is not None else asked
    if request is not asked:
        for key in [key for key in payload if key not in request]:
            del payload[key]
        payload.update((key, value) for key, value in request.items() if key != _CLIENTS)
    payload["messages"] = confirmed.messages
    planned.plan = confirmed


def mark_reply(message: AIMessage, origin: Origin, known: Known | None = None, after: Plan | None = None) -> None:
    """Marks a fresh reply as written by `origin`, if it brought anything of its host's. In place.

    `after`, the plan that it answers, is what a store keeps it under for an app that drops its reasoning.
    """
    kwargs = message.additional_kwargs
    if isinstance(kwargs.get(MARK), Fresh):
        return  # by a wrapped model that this one has handed the call on to: it knows who answered
    kwargs.pop(MARK, None)  # one that came with the reply is somebody else's word
    if note_reply(message, origin, known, after):
        kwargs[MARK] = fresh_mark(origin)


def note_reply(message: AIMessage, origin: Origin, known: Known | None = None, after: Plan | None = None) -> bool:
    """Notes in the store what a fresh reply brought of its host's; whether that was anything."""
    store = default_store() if known is None else known
    return _capture.note_reply([message.__dict__], origin, _FORM, store, trail=_capture.trail_of(after))


def forget_forged(message: AIMessage) -> None:
    """Takes a mark out of LiteLLM's field where no callback of ours is below: a host has put it there. In place."""
    fields = message.additional_kwargs.get(PSF)
    if isinstance(fields, Mapping) and MARK in fields and active_callback() is None:
        message.additional_kwargs[PSF] = {key: value for key, value in fields.items() if key != MARK}


class Fresh(dict[str, Any]):
    """A mark that this process has just put on a reply; a copy of any kind is a plain dict."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def fresh_mark(origin: Origin) -> Fresh:
    """The mark for a reply that has just come."""
    return Fresh(to_mark(origin))


NOTES = frozenset({MARK, TURN, FIELD, TOOL_EXTRAS, WIRE})
"""Keys of `additional_kwargs` that are ours, and mean nothing to a host."""


def without_notes(message: BaseMessage) -> BaseMessage:
    """The message for a class of which nobody knows what it sends of `additional_kwargs`; itself where none is ours."""
    kwargs, told = message.additional_kwargs, message.response_metadata
    if NOTES.isdisjoint(kwargs) and MARK not in told:
        return message
    left = {key: value for key, value in kwargs.items() if key not in NOTES}
    rest = {key: value for key, value in told.items() if key != MARK}
    return message.model_copy(update={"additional_kwargs": left, "response_metadata": rest})


def is_marked(message: AIMessage) -> bool:
    """Whether our mark, or the LiteLLM callback's, is on it."""
    fields = message.additional_kwargs.get(PSF)
    return MARK in message.additional_kwargs or (isinstance(fields, Mapping) and MARK in fields)


def hand_over(plan: Plan, known: Known | None) -> None:
    """Notes what a plan kept for whoever plans the same call below us: LiteLLM's callback sees no LangChain mark."""
    store = default_store() if known is None else known
    note_all(store, list(map(digest, plan.kept)), plan.origin)


def strip_message(message: BaseMessage) -> BaseMessage:
    """The message without any reasoning, ids of items and marks; itself where it has none."""
    fields = message.__dict__
    row = strip([fields], None)
    changes = {key: row[0][key] for key in row[0].changed} if row else {"content": "", "additional_kwargs": {}}
    if all(fields[key] == value for key, value in changes.items()):
        return message
    return message.model_copy(update=changes)
