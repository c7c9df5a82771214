"""What no hook of LiteLLM reaches: small patches, put in on construction and taken out again.

A patch is a row of PATCHES: where it sits, what it covers (for the warning where the place is missing), and the probe
that says whether it is needed. A patch does its work only while its callback stands in `litellm.callbacks`; else it is
the function that was there before. Must not decide anything about reasoning. Mutable: the list of what was put in.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any

from .._faults import fail_closed
from .._known import first_time
from ..forms import PSF
from ._patches_entries import ENTRY_PATCHES
from ._places import Hooks, Installed, Patch, guarded, place_of, takes
from ._stream import joined_blocks, of_nobody, of_one_origin
from ._told import report_of, tell

_log = logging.getLogger("reasoning_replay")


def _dispatch(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def context(**fields: Any) -> Any:
        return original(**(hooks.before_dispatch(fields) if hooks.active() else fields))

    return context


def _client(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def complete(context: Any, *args: Any, **kwargs: Any) -> Any:
        return original(hooks.through_client(context) if hooks.active() else context, *args, **kwargs)

    return complete


def _bridge(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def completion(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and hooks.active():
            kwargs = hooks.before_dispatch({**kwargs, "logging": kwargs.get("logging_obj"), "bridge": "responses"})
            del kwargs["logging"], kwargs["bridge"]
        return original(self, *args, **kwargs)

    return completion


def _metadata(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def update_response_metadata(*args: Any, **kwargs: Any) -> Any:
        done = original(*args, **kwargs)
        if hooks.active():
            given = dict(zip(("result", "logging_obj"), args, strict=False)) | kwargs
            guarded(hooks.replied, given.get("result"), given.get("logging_obj"))
        return done

    return update_response_metadata


def _chunk(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def chunk_creator(self: Any, chunk: Any) -> Any:
        if not hooks.active():
            return original(self, chunk)
        guarded(hooks.chunk_arrived, self, chunk)
        made = original(self, chunk)
        guarded(hooks.chunk_leaves, self, made)
        return made

    return chunk_creator


def _finish(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def finish_reason_handler(self: Any) -> Any:
        made = original(self)
        if hooks.active():
            guarded(hooks.chunk_leaves, self, made)
        return made

    return finish_reason_handler


def _blocks(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_combined_thinking_content(self: Any, chunks: Any) -> Any:
        blocks = fail_closed("litellm", lambda: joined_blocks(chunks), lambda: None) if hooks.active() else None
        return original(self, chunks) if blocks is None else blocks

    return get_combined_thinking_content


def _base(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def build_base_response(self: Any, chunks: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, chunks, *args, **kwargs)
        if hooks.active():
            guarded(_tell_of, made, chunks)
        return made

    return build_base_response


def _tell_of(made: Any, chunks: Any) -> None:
    report = next(filter(None, map(report_of, chunks)), None)
    if report is not None:
        tell(made, report)


def _fields(original: Callable[..., Any], hooks: Hooks) -> Callable[..., Any]:
    @functools.wraps(original)
    def assembled_message_fields(processor: Any, chunks: Any) -> Any:
        for field, value in original(processor, chunks):
            yield field, _of_one(value, chunks) if field == PSF and hooks.active() else value

    return assembled_message_fields


def _of_one(fields: Any, chunks: Any) -> Any:
    return fail_closed("litellm", lambda: of_one_origin(fields, chunks), lambda: of_nobody(fields))


def _glues_blocks(original: Callable[..., Any]) -> bool:
    """Whether this LiteLLM still loses an unsigned block, or glues it onto the next one."""
    fragments = (
        {"type": "thinking", "thinking": "a", "index": 0},
        {"type": "thinking", "thinking": "b", "signature": "s", "index": 1},
    )
    chunks = [{"choices": [{"delta": {"thinking_blocks": [fragment]}}]} for fragment in fragments]
    try:
        found = original(None, chunks)
    except (AttributeError, KeyError, TypeError, ValueError):
        return True
    return [block.get("thinking") for block in found or ()] != ["a", "b"]


PATCHES = (
    Patch(
        "litellm.main:CompletionDispatchContext",
        "requests of sync and positional calls, before LiteLLM rewrites them",
        _dispatch,
        takes("messages", "optional_params", "custom_llm_provider", "api_base", "model", "client", "logging"),
    ),
    Patch(
        "litellm.main:_complete_custom_openai",
        "the base of a client that the caller gives",
        _client,
        takes("ctx"),
    ),
    Patch(
        "litellm.main:_complete_azure",
        "the base of an Azure client that the caller gives",
        _client,
        takes("ctx"),
    ),
    Patch(
        "litellm.completion_extras.litellm_responses_transformation.handler:ResponsesToCompletionBridgeHandler.completion",
        "requests that LiteLLM sends to the Responses API in place of chat",
        _bridge,
        callable,
    ),
    Patch(
        "litellm.utils:update_response_metadata",
        "marks on replies that do not stream",
        _metadata,
        takes("result", "logging_obj"),
    ),
    Patch(
        "litellm.litellm_core_utils.streaming_handler:CustomStreamWrapper.chunk_creator",
        "marks and reasoning details in streams",
        _chunk,
        takes("self", "chunk"),
    ),
    Patch(
        "litellm.litellm_core_utils.streaming_handler:CustomStreamWrapper.finish_reason_handler",
        "marks and reasoning details in streams whose last chunk still has text",
        _finish,
        takes("self"),
    ),
    Patch(
        "litellm.litellm_core_utils.streaming_chunk_builder_utils:ChunkProcessor.get_combined_thinking_content",
        "thinking blocks without a signature in streams",
        _blocks,
        takes("self", "chunks"),
        _glues_blocks,
    ),
    Patch(
        "litellm.litellm_core_utils.streaming_chunk_builder_utils:ChunkProcessor.build_base_response",
        "the report on replies that are put together from a stream",
        _base,
        takes("self", "chunks"),
    ),
    Patch(
        "litellm.litellm_core_utils.streaming_chunk_builder_utils:_assembled_message_fields",
        "replies that are put together from the streams of two hosts",
        _fields,
        takes("processor", "chunks"),
    ),
    *ENTRY_PATCHES,
)


def install(hooks: Hooks, more: Iterable[Patch] = ()) -> list[Installed]:
    """Puts in what is needed; one warning for all the places that this LiteLLM has not."""
    done: list[Installed] = []
    missing: list[str] = []
    for patch in (*PATCHES, *more):
        try:
            owner, name = place_of(patch)
            found = getattr(owner, name)
        except (ImportError, AttributeError):
            missing.append(patch.covers)
            continue
        if not patch.fits(found):
            missing.append(patch.covers)
        elif patch.needed(found):
            now = patch.wrap(found, hooks)
            setattr(owner, name, now)
            done.append(Installed(owner, name, found, now, patch.dialect))
    if missing and first_time(("litellm patches", *missing)):
        _log.warning(
            "reasoning-replay: this LiteLLM has no place for some patches; not covered: %s", "; ".join(missing)
        )
    return done


def uninstall(done: list[Installed]) -> None:
    """Puts back what stood there; where somebody has wrapped ours since, ours stays and does nothing."""
    for patch in reversed(done):
        if vars(patch.owner).get(patch.name) is patch.now:
            setattr(patch.owner, patch.name, patch.before)
    done.clear()


def covers_requests(done: list[Installed]) -> bool:
    """Whether the patch that carries every chat request is in."""
    return any(patch.name == "CompletionDispatchContext" for patch in done)


def covers(done: list[Installed], dialect: str) -> bool:
    """Whether the patch that carries every request of an entry point is in."""
    return any(patch.dialect == dialect for patch in done)
