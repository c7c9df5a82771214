"""The chapter of LiteLLM: four tool loops, each of which breaks today."""

from __future__ import annotations

import importlib.metadata
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..testing import Reply, Text, Turn, call, sealed, think
from ._stage import AGAIN, QUESTION, RESULT, Chapter, Step, World, hosts_of, thoughts_seen

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM asks the network for its lists
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
import litellm

from ..litellm import ReasoningReplay, report_of

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather now.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
Ask = Callable[[list[Any]], Any]


class LiteLLMWorld(World):
    """The ways in which this chapter asks a host."""

    def router(self, messages: list[Any]) -> Any:
        """Ask the group `agent`: DeepSeek, and Cerebras when DeepSeek fails."""
        models = {"agent": "deepseek", "backup": "cerebras"}
        router = litellm.Router(
            model_list=[{"model_name": name, "litellm_params": self.target(kind)} for name, kind in models.items()],
            fallbacks=[{"agent": ["backup"]}],
            num_retries=0,
        )
        return self.message_of(router.completion(model="agent", messages=messages, tools=TOOLS))

    def stream(self, kind: str, **more: Any) -> Ask:
        """Ask one host for a stream and put it together, as LiteLLM's own documentation does."""

        def ask(messages: list[Any]) -> Any:
            chunks = list(litellm.completion(messages=messages, tools=TOOLS, stream=True, **self.target(kind), **more))
            return self.message_of(litellm.stream_chunk_builder(chunks))

        return ask

    def target(self, kind: str) -> dict[str, Any]:
        """LiteLLM's words for one of the hosts."""
        host = self.hosts[kind]
        return {"model": f"{kind}/{host.model}", "api_base": host.url, "api_key": "none"}

    def message_of(self, response: Any) -> Any:
        """The message of a response; its report is kept."""
        self.noted(report_of(response))
        return response.choices[0].message


def loop(ask: Ask, messages: list[Any]) -> str:
    """The tool loop that everybody writes: append the whole message, run the tools, ask again."""
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.tool_calls:
            return f"the loop ends: {message.content!r}"
        results = ({"role": "tool", "tool_call_id": each.id, "content": RESULT} for each in message.tool_calls)
        messages.extend(results)


def fall_back(world: LiteLLMWorld) -> str:
    """DeepSeek answers the first step of the loop, then it is down."""

    def script(turn: Turn) -> Reply:
        return Reply((), status=503) if turn.step else Reply((think(), call(city="Oslo")))

    world.hosts["deepseek"].script = script
    world.messages.append({"role": "user", "content": QUESTION})
    return loop(world.router, world.messages)


def come_back(world: LiteLLMWorld) -> str:
    """The next question goes to DeepSeek again. Where the first turn broke, the app first finishes it as people do."""
    said = ""
    if not ended(world.messages):
        said = "to get past the refusal the app deletes all reasoning and asks again; back at DeepSeek "
        loop(lambda messages: world.router(strip_all(messages)), world.messages)
    world.hosts["deepseek"].script = None
    world.messages.append({"role": "user", "content": AGAIN})
    said += loop(world.router, world.messages)
    world.shown = thoughts_seen(world)
    return said


def stream_claude(world: LiteLLMWorld) -> str:
    """Two thoughts with a word between them and one that only Claude can read, then a call, all as a stream."""
    parts = (think(), sealed(), Text("Let me look."), think(), call(city="Oslo"))
    world.hosts["anthropic"].script = [Reply(parts), Reply((think(), Text("It is 3C.")))]
    ask = world.stream(
        "anthropic",
        max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 2048},
        extra_headers={"anthropic-beta": "interleaved-thinking-2025-05-14"},
    )
    return loop(ask, [{"role": "user", "content": QUESTION}])


def stream_openrouter(world: LiteLLMWorld) -> str:
    """`reasoning_details`: readable with a signature, and encrypted."""
    first = Reply((think(), sealed(), call(city="Oslo")))
    world.hosts["openrouter"].script = [first, Reply((think(), Text("It is 3C.")))]
    return loop(world.stream("openrouter"), [{"role": "user", "content": QUESTION}])


def ended(messages: list[Any]) -> bool:
    """Whether the newest message is an answer."""
    return not isinstance(messages[-1], dict)


def strip_all(messages: list[Any]) -> list[Any]:
    """What people do after such a 400: no reasoning stays in the history, whoever wrote it."""
    for message in messages:
        if not isinstance(message, dict):
            for name in ("reasoning_content", "provider_specific_fields"):
                message.__dict__.pop(name, None)
    return messages


STEPS = (
    Step(
        "DeepSeek, then a Router fallback to Cerebras in the middle of a tool loop",
        "DeepSeek thinks and calls a tool. Then it is down, and the Router asks Cerebras, which refuses unknown keys.",
        fall_back,
        reported=True,
    ),
    Step(
        "Back at DeepSeek, which wants all of its own reasoning",
        "The user asks again, DeepSeek is up. With tools it renders the reasoning of every turn; a loss is silent. "
        "Of the first turn's three replies one is its own, two are Cerebras's.",
        come_back,
        reported=True,
    ),
    Step(
        "Claude, streamed, with interleaved thinking",
        "Thinking, a sealed block, a sentence, thinking, a call. Claude wants every block back, unchanged, in place.",
        stream_claude,
    ),
    Step(
        "OpenRouter, streamed",
        "`reasoning_details` with a signature and an encrypted part, wanted back unmodified.",
        stream_openrouter,
    ),
)


@contextmanager
def the_line() -> Iterator[None]:
    """The line, and its undoing, so that the next step can run without it."""
    callback = ReasoningReplay()
    litellm.callbacks.append(callback)
    try:
        yield
    finally:
        callback.uninstall()


@contextmanager
def worlds() -> Iterator[tuple[World, World]]:
    """Both halves' hosts."""
    kinds = ("deepseek", "cerebras", "anthropic", "openrouter")
    with hosts_of(*kinds) as bare, hosts_of(*kinds) as ours:
        yield LiteLLMWorld(bare), LiteLLMWorld(ours)


def chapter() -> Chapter:
    """The chapter, with LiteLLM told to be quiet."""
    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return Chapter(
        name="LiteLLM",
        version=importlib.metadata.version("litellm"),
        line="litellm.callbacks.append(ReasoningReplay())",
        steps=STEPS,
        worlds=worlds,
        switch=the_line,
    )
