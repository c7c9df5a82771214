"""The chapter of LangChain: an agent at DeepSeek, a real llama.cpp server, and a fallback to another host."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..testing import LlamaServer, Reply, Turn, call, llama_server, think
from ._stage import AGAIN, QUESTION, RESULT, Chapter, Shown, Step, World, hosts_of, thoughts_seen

os.environ.update({"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"})  # nothing leaves this machine
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_deepseek import ChatDeepSeek
from langchain_openai import ChatOpenAI

from ..langchain import report_of, with_reasoning_replay

LLAMA = ("xllamacpp", "gguf", "numpy")
"""What makes and runs the real server."""


def get_weather(city: str) -> str:
    """The weather now."""
    return RESULT


class LangChainWorld(World):
    """The models of this chapter. `line` is what a program does with a model: nothing, or `with_reasoning_replay`."""

    def __init__(self, hosts: dict[str, Any], line: Callable[[Any], Any]) -> None:
        super().__init__(hosts)
        self.line = line

    def deepseek(self) -> ChatDeepSeek:
        """DeepSeek's own class."""
        host = self.hosts["deepseek"]
        return ChatDeepSeek(model=host.model, api_base=host.url, api_key="none", max_retries=0)

    def openrouter(self) -> Any:
        """OpenRouter's own class, for Claude."""
        from langchain_openrouter import ChatOpenRouter

        host = self.hosts["openrouter"]
        return ChatOpenRouter(model=host.model, base_url=host.url, api_key="none", max_retries=0)

    def answer(self, messages: list[Any]) -> str:
        """What is said of a conversation that came to its end; its reports are kept."""
        for message in messages:
            self.noted(report_of(message))
        return f"the loop ends: {messages[-1].text!r}"


def agent_at_deepseek(world: LangChainWorld) -> str:
    """Two calls of a tool, then the answer."""
    agent = create_agent(world.line(world.deepseek()), [get_weather])
    return world.answer(agent.invoke({"messages": [HumanMessage(QUESTION)]})["messages"])


def agent_at_llama(world: LangChainWorld) -> str:
    """A call and an answer, at a server that takes everything: what the model saw is all that tells."""
    with llama_server() as server:
        model = ChatOpenAI(model=server.model, base_url=server.url, api_key="none", max_retries=0)
        agent = create_agent(world.line(model), [get_weather])
        said = world.answer(agent.invoke({"messages": [HumanMessage(QUESTION)]})["messages"])
        world.shown, world.forgotten = seen_by_llama(server)
        return said


def seen_by_llama(server: LlamaServer) -> tuple[Shown, list[str]]:
    """The first step in the prompt of the second, and what is missing in it."""
    from ..testing._model import ASK  # what our tiny model thinks and says

    thought = "".join(ASK[:3])
    prompt = server.last_prompt()
    step = prompt.split("<|im_start|>assistant", 2)[1].split("<|im_end|>")[0]
    lines = [line for line in step.splitlines() if line.strip()]
    return Shown("the server's own template", lines), [] if thought in step else [thought]


def fall_back_and_return(world: LangChainWorld) -> str:
    """DeepSeek answers one step and is down for the rest of the turn; the user's next question finds it up again."""

    def script(turn: Turn) -> Reply:
        return Reply((), status=503) if turn.step else Reply((think(), call(city="Oslo")))

    here, there = (model.bind_tools([get_weather]) for model in (world.deepseek(), world.openrouter()))
    model = world.line(here.with_fallbacks([there]))
    world.hosts["deepseek"].script = script
    messages: list[Any] = [HumanMessage(QUESTION)]
    loop(model, messages)
    world.hosts["deepseek"].script = None
    messages.append(HumanMessage(AGAIN))
    loop(model, messages)
    world.shown = thoughts_seen(world)
    answered = [request for request in world.hosts["deepseek"].requests if request.status == 200]
    replies = [message for message in messages if isinstance(message, AIMessage)]
    return f"{world.answer(messages)}; DeepSeek gave {len(answered)} of {len(replies)} replies"


def loop(model: Any, messages: list[Any]) -> None:
    """The tool loop that everybody writes."""
    while True:
        reply = model.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            return
        messages += [ToolMessage(RESULT, tool_call_id=each["id"]) for each in reply.tool_calls]


STEPS = (
    Step(
        "ChatDeepSeek in create_agent",
        "The class reads the reasoning and does not send it back. DeepSeek's own code judges the second step.",
        agent_at_deepseek,
    ),
    Step(
        "ChatOpenAI at a real llama.cpp server",
        "The class drops the reasoning. The server refuses nothing; its own template shows what the model still sees.",
        agent_at_llama,
        needs=LLAMA,
    ),
    Step(
        "ChatDeepSeek with a fallback to ChatOpenRouter, and back",
        "DeepSeek is down after its first step, so Claude behind OpenRouter goes on. Then DeepSeek is up again.",
        fall_back_and_return,
        needs=("langchain_openrouter",),
        reported=True,
    ),
)


@contextmanager
def worlds() -> Iterator[tuple[World, World]]:
    """Both halves' hosts."""
    kinds = ("deepseek", "openrouter")
    with hosts_of(*kinds) as bare, hosts_of(*kinds) as ours:
        yield LangChainWorld(bare, lambda model: model), LangChainWorld(ours, with_reasoning_replay)


def chapter() -> Chapter:
    """The chapter."""
    return Chapter(
        name="LangChain",
        version=importlib.metadata.version("langchain"),
        line="model = with_reasoning_replay(model)",
        steps=STEPS,
        worlds=worlds,
    )
