"""README's table of LangChain's chat classes: measured, a class against its strict host, as it is and wrapped.

One tool loop of two steps, in `invoke` and in a stream: is the first reply's reasoning in LangChain's message, and is it
in the second request, where the host can read it? The rows are those of the matrix, the rest is `_classes`' own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_matrix.matrix import MODES, TOOL
from langchain_matrix.models import Configuration, available
from reasoning_replay import Policy
from reasoning_replay.langchain import with_reasoning_replay
from reasoning_replay.testing import Reply, StrictHost, Text, Turn, call, sealed, strict_host, think
from reasoning_replay.testing._search import carries

ASKED = ("invoke", "stream")
HEAD = ("class", "used as", "LangChain keeps of a reply's reasoning", "and sends back", "wrapped, it sends back")
IDS = ("rs_", "fc_", "msg_", "resp_")
"""Strict hosts know their items' ids again too; here reasoning alone counts."""


def _script(turn: Turn) -> Reply:
    return Reply((think(), Text("It is 3C."))) if turn.step else Reply((think(), sealed(), call()))


def measured(configuration: Configuration, host: StrictHost, mode: str, *, wrapped: bool) -> tuple[str, str]:
    """What is left in the message, and what comes back to the host: all, part, nothing, or the refusal's status."""
    model = configuration.factory(host.url)
    if wrapped:
        model = with_reasoning_replay(model, Policy(aliases=host.alias))
    model = model.bind_tools([TOOL])
    messages: list[BaseMessage] = [HumanMessage("How is the weather in Oslo? Use the tool.")]
    reply = MODES[mode](model, messages)
    words = {word for word in host.issued if not word.startswith(IDS)}
    kept = {word for word in words if carries(_written(reply), word)}
    messages += [reply, *(ToolMessage("3C", tool_call_id=each["id"]) for each in reply.tool_calls)]
    try:
        MODES[mode](model, messages)
    except Exception:  # whatever a class makes of a refusal
        if not host.refusals:
            raise
        return _share(kept, words), f"answered {host.last.status}"
    sent = {word for word in words if carries(host.last.raw, word)} - set(host.lost())
    return _share(kept, words), _share(sent, words)


def _written(message: AIMessage) -> bytes:
    held = (message.content, message.additional_kwargs)
    return json.dumps(
        held, default=lambda each: each.decode("latin-1") if isinstance(each, bytes) else repr(each)
    ).encode()


def _share(some: set[str], words: set[str]) -> str:
    return "-" if not words else "all" if some == words else "some" if some else "nothing"


def rows() -> Iterator[tuple[str, ...]]:
    """A row a configuration; rows that say the same of one class are one."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for configuration in available():
        if not configuration.sends_history:
            continue  # the host holds it
        found: dict[bool, list[tuple[str, str]]] = {}
        for wrapped in (False, True):
            found[wrapped] = []
            for mode in ASKED:
                with strict_host(configuration.host, script=_script) as host:
                    found[wrapped].append(measured(configuration, host, mode, wrapped=wrapped))
        kept, sent = map(_cell, zip(*found[False], strict=True))
        replayed = _cell([sent for _, sent in found[True]])
        seen.setdefault((configuration.cls, kept, sent, replayed), []).append(configuration.name)
    for (cls, *cells), names in seen.items():
        yield cls, ", ".join(names), *cells


def _cell(values: Sequence[str]) -> str:
    whole, streamed = values
    return whole if whole == streamed else f"{whole}; streamed: {streamed}"
