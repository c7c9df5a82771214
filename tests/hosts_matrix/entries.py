"""The entry points of LiteLLM as the matrix calls them: one way to ask, to append a reply, and to put a question, for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import litellm

from hosts_matrix.hosts import COMPLETION, MESSAGES, RESPONSES, Row
from litellm_calls import TOOLS, append, collected, run
from litellm_entries import CLAUDE_TOOLS, append_blocks, append_items, said, whole
from litellm_entries import TOOLS as ITEM_TOOLS


class Entry(NamedTuple):
    """One entry point."""

    rows: tuple[Row, ...]
    modes: tuple[str, ...]
    history: str
    """Under which name the history is given."""
    tools: list[dict[str, Any]]
    sync: Callable[..., Any] | None
    """None: only an async program can call it; its stream is the async one."""
    other: Callable[..., Any]
    """The async one."""
    joined: Callable[[list[Any]], Any]
    """The chunks of a stream, put together."""
    append: Callable[[list[Any], Any], bool]
    """Appends a reply and the results of its calls; whether there were any."""

    marked: tuple[str, ...] = ("sync", "async", "stream", "async stream")
    """The modes in which a reply carries our mark; the events of the Messages API have no place for it."""

    def step(self, mode: str, named: dict[str, Any], history: list[Any]) -> bool:
        """One request with the history; appends the reply. Whether the loop goes on."""
        return self.append(history, self._reply(mode, {**named, self.history: list(history), "tools": self.tools}))

    def _reply(self, mode: str, named: dict[str, Any]) -> Any:
        if mode == "sync":
            return self.sync(**named)
        if mode == "async":
            return run(self.other(**named))
        if mode == "stream" and self.sync is not None:
            return self.joined(list(self.sync(**named, stream=True)))
        return self.joined(run(self._streamed(named)))

    async def _streamed(self, named: dict[str, Any]) -> list[Any]:
        return await collected(await self.other(**named, stream=True))


ENTRIES = {
    "completion": Entry(
        COMPLETION, ("sync", "async", "stream", "async stream"), "messages", TOOLS,
        litellm.completion, litellm.acompletion, litellm.stream_chunk_builder, append,
    ),
    "responses": Entry(
        RESPONSES, ("sync", "async", "stream", "async stream"), "input", ITEM_TOOLS,
        litellm.responses, litellm.aresponses, whole, append_items,
    ),
    "messages": Entry(
        MESSAGES, ("async", "stream"), "messages", CLAUDE_TOOLS,
        None, litellm.anthropic.messages.acreate, said, append_blocks, ("async",),
    ),
}  # fmt: skip
