"""ChatLiteLLM and its Router: LiteLLM's own form, in which reasoning has its own keys and no place in the content.

The class replays signed blocks by rules of its own (marks inside the blocks, one block a turn); the plan's decision is
written over them, without those marks. Of a reply it keeps what it could replay itself; the rest is kept here.
Seen with langchain-litellm 0.11.2 and LiteLLM 1.110.2.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from .._faults import fail_closed
from ..forms import PSF, plain
from ..forms._carriers import PSF_CARRIERS, SEALED, STRINGS
from ._closing import aclosing, closing
from ._hooks_shared import (
    LISTS,
    TEXT,
    Last,
    choices_of,
    fields_of,
    keep_delta,
    keep_reply,
    replanned,
    view_of,
    write_rows,
)
from ._messages import FAULTS, planned_of

if TYPE_CHECKING:
    _Chat = Any
else:
    _Chat = object

_COPIES = frozenset({*STRINGS, *LISTS, *SEALED})
"""Keys of LiteLLM's `provider_specific_fields` that repeat what stands beside it."""


class LiteLLMHooks(_Chat):
    """For ChatLiteLLM and ChatLiteLLMRouter."""

    def _bind_thinking(self, messages: Any, message_dicts: Any, params: Any) -> Any:
        """The last that the class does to its wire messages; what it says of storing the reply's blocks stays."""
        binding = super()._bind_thinking(messages, message_dicts, params)
        write_rows(message_dicts, messages)
        _write_fields(message_dicts, messages)
        return binding

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, kwargs, last = _watching(self, messages, kwargs)
        result = super(LiteLLMHooks, view)._generate(messages, *args, **kwargs)
        return fail_closed(FAULTS, lambda: _kept_result(result, last.chunk), lambda: result)

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        view, kwargs, last = _watching(self, messages, kwargs)
        result = await super(LiteLLMHooks, view)._agenerate(messages, *args, **kwargs)
        return fail_closed(FAULTS, lambda: _kept_result(result, last.chunk), lambda: result)

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Generator[Any]:
        view, kwargs, last = _watching(self, messages, kwargs)
        deployments: list[Any] = []
        with closing(super(LiteLLMHooks, view)._stream(messages, *args, **kwargs)) as chunks:
            for chunk in chunks:
                yield _kept_chunk(chunk, last.chunk, deployments)

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        view, kwargs, last = _watching(self, messages, kwargs)
        deployments: list[Any] = []
        async with aclosing(super(LiteLLMHooks, view)._astream(messages, *args, **kwargs)) as chunks:
            async for chunk in chunks:
                yield _kept_chunk(chunk, last.chunk, deployments)


def _watching(model: Any, messages: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Last]:
    """The model for one call, whose reply or last chunk is noted; and the call's parameters as planned."""
    last = Last()
    view, kwargs = replanned(model, messages, kwargs)
    return (
        view_of(
            view,
            completion_with_retry=_noting(last, last.tap(view.completion_with_retry)),
            acompletion_with_retry=_noting_later(last, last.tap_later(view.acompletion_with_retry)),
        ),
        kwargs,
        last,
    )


def _noting(last: Last, call: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        reply = last.chunk = call(*args, **kwargs)
        return reply

    return noted


def _noting_later(last: Last, call: Callable[..., Any]) -> Callable[..., Any]:
    async def noted(*args: Any, **kwargs: Any) -> Any:
        reply = last.chunk = await call(*args, **kwargs)
        return reply

    return noted


def _write_fields(rows: list[dict[str, Any]], given: Any) -> None:
    """What stands in LiteLLM's field and its own classes read back; and no mark of the class inside an item."""
    planned = planned_of(given) is not None
    for row, message in zip(rows, given, strict=False):
        if "reasoning_items" in row:
            row["reasoning_items"] = [
                {key: value for key, value in item.items() if key != "origin"} for item in row["reasoning_items"]
            ]
        if "thinking_blocks" in row and row.get("content") == "" and "tool_calls" in row:
            row["content"] = None  # LiteLLM would put a text of its own in place of an empty one
        fields = message.additional_kwargs.get(PSF) if planned else None
        kept = {key: fields[key] for key in PSF_CARRIERS if key in fields} if isinstance(fields, Mapping) else {}
        if kept:
            row[PSF] = {**row.get(PSF, {}), **kept}


def _kept_result(result: Any, reply: Any) -> Any:
    choices = [fields_of(fields_of(choice).get("message")) for choice in choices_of(reply)]
    if len(choices) > len(result.generations):  # the Responses bridge gives a choice a part; the class joins them
        choices = [{key: [item for each in choices for item in each.get(key) or ()] for key in LISTS}]
    for generation, raw in zip(result.generations, choices, strict=False):
        _keep_raw(generation.message, raw)
    if isinstance(result.llm_output, dict) and "token_usage" in result.llm_output:
        result.llm_output["token_usage"] = plain(result.llm_output["token_usage"])
    return result


def _keep_raw(message: Any, raw: Mapping[str, Any]) -> None:
    """The whole lists where the class has kept a part of one, or none; its own copies, which it can replay, else."""
    kwargs = message.additional_kwargs
    found = _spread(raw)
    for key in LISTS:
        if len(found.get(key) or ()) > len(kwargs.get(key) or ()):
            kwargs.pop(key, None)
    keep_reply(message, {key: value for key, value in found.items() if key not in STRINGS or TEXT not in kwargs})
    _plain_calls(kwargs)


def _kept_chunk(generation: Any, chunk: Any, deployments: list[Any]) -> Any:
    """`_noted_chunk`, or the chunk as it is where that fails."""
    return fail_closed(FAULTS, lambda: _noted_chunk(generation, chunk, deployments), lambda: generation)


def _noted_chunk(generation: Any, chunk: Any, deployments: list[Any]) -> Any:
    """The chunk with what the class has dropped; and the name of the deployment where it is no more the first one.

    LangChain joins the two names into one that no deployment has: such a reply is nobody's.
    """
    message = generation.message
    named = fields_of(fields_of(chunk).get("_hidden_params") or getattr(chunk, "_hidden_params", None)).get("model_id")
    if named is not None and named not in deployments:
        deployments.append(named)
        if len(deployments) > 1:
            message.response_metadata["model_id"] = named
    for choice in choices_of(chunk)[:1]:
        raw = _spread(fields_of(fields_of(choice).get("delta")))
        keep_delta(message, raw)
        _plain_calls(message.additional_kwargs)
    return generation


def _spread(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message or delta, with those that stand in LiteLLM's field alone."""
    fields = raw.get(PSF)
    inside = {key: fields[key] for key in _COPIES if key in fields} if isinstance(fields, Mapping) else {}
    return {**inside, **{key: value for key, value in raw.items() if value is not None}}


def _plain_calls(kwargs: dict[str, Any]) -> None:
    """LiteLLM's objects as dicts, which can be stored; and its field without what is kept beside it."""
    if isinstance(kwargs.get("tool_calls"), list):
        kwargs["tool_calls"] = [plain(call) for call in kwargs["tool_calls"]]
    fields = kwargs.get(PSF)
    if isinstance(fields, Mapping) and not _COPIES.isdisjoint(fields):
        kwargs[PSF] = {key: value for key, value in fields.items() if key not in _COPIES}
        if not kwargs[PSF]:
            del kwargs[PSF]
