"""`reasoning-replay demo`: four tool loops of the real LiteLLM against strict hosts, without the line and with it.

Every half is run, nothing is assumed: where the installed LiteLLM no longer breaks, the story says so.
A step is a row of STEPS. Each half has its own hosts, so that leaks, refusals and losses are counted on the wire.
The exit status is 1 when a half with the line is not clean.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Styled

from ._report import COLUMNS, Report, cells, sentence
from .testing import Reply, StrictHost, Text, Turn, call, foreign_bytes, sealed, strict_host, think

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM asks the network for its lists
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
import litellm

from .litellm import ReasoningReplay, report_of

QUESTION = "What is the weather in Oslo?"
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


class World:
    """The hosts and the conversation of one half. Mutable: the conversation grows from step to step."""

    def __init__(self, hosts: dict[str, StrictHost]) -> None:
        self.hosts = hosts
        self.messages: list[Any] = []
        self.reports: list[Report] = []

    def router(self, messages: list[Any]) -> Any:
        """Ask the group `agent`: DeepSeek, and Cerebras when DeepSeek fails."""
        models = {"agent": "deepseek", "backup": "cerebras"}
        router = litellm.Router(
            model_list=[{"model_name": name, "litellm_params": self.target(kind)} for name, kind in models.items()],
            fallbacks=[{"agent": ["backup"]}],
            num_retries=0,
        )
        return self.noted(router.completion(model="agent", messages=messages, tools=TOOLS))

    def stream(self, kind: str, **more: Any) -> Ask:
        """Ask one host for a stream and put it together, as LiteLLM's own documentation does."""

        def ask(messages: list[Any]) -> Any:
            chunks = list(litellm.completion(messages=messages, tools=TOOLS, stream=True, **self.target(kind), **more))
            return self.noted(litellm.stream_chunk_builder(chunks))

        return ask

    def target(self, kind: str) -> dict[str, Any]:
        """LiteLLM's words for one of the hosts."""
        host = self.hosts[kind]
        return {"model": f"{kind}/{host.model}", "api_base": host.url, "api_key": "none"}

    def noted(self, response: Any) -> Any:
        """The message of a response; its report is kept, if it has one."""
        report = report_of(response)
        if report is not None:
            self.reports.append(report)
        return response.choices[0].message


def loop(ask: Ask, messages: list[Any]) -> str:
    """The tool loop that everybody writes: append the whole message, run the tools, ask again."""
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.tool_calls:
            return f"the loop ends: {message.content!r}"
        results = ({"role": "tool", "tool_call_id": each.id, "content": "3C"} for each in message.tool_calls)
        messages.extend(results)


# The four steps: each gives what is to be said about how it went, or raises what LiteLLM raised.


def fall_back(world: World) -> str:
    """DeepSeek answers the first step of the loop, then it is down."""

    def script(turn: Turn) -> Reply:
        return Reply((), status=503) if turn.step else Reply((think(), call(city="Oslo")))

    world.hosts["deepseek"].script = script
    world.messages.append({"role": "user", "content": QUESTION})
    return loop(world.router, world.messages)


def come_back(world: World) -> str:
    """The next question goes to DeepSeek again. Where the first turn broke, the app first finishes it as people do."""
    said = ""
    if not ended(world.messages):
        said = "to get past the refusal the app deletes all reasoning and asks again; back at DeepSeek "
        loop(lambda messages: world.router(strip_all(messages)), world.messages)
    world.hosts["deepseek"].script = None
    world.messages.append({"role": "user", "content": "And tomorrow?"})
    return said + loop(world.router, world.messages)


def stream_claude(world: World) -> str:
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


def stream_openrouter(world: World) -> str:
    """`reasoning_details`: readable with a signature, and encrypted."""
    first = Reply((think(), sealed(), call(city="Oslo")))
    world.hosts["openrouter"].script = [first, Reply((think(), Text("It is 3C.")))]
    return loop(world.stream("openrouter"), [{"role": "user", "content": QUESTION}])


class Step(NamedTuple):
    """One row of STEPS."""

    title: str
    story: str
    run: Callable[[World], str]


STEPS = (
    Step(
        "DeepSeek, then a Router fallback to Cerebras in the middle of a tool loop",
        "DeepSeek thinks and calls a tool. Then it is down, and the Router asks Cerebras, which refuses unknown keys.",
        fall_back,
    ),
    Step(
        "Back at DeepSeek, which wants all of its own reasoning",
        "The user asks again, DeepSeek is up. With tools it renders the reasoning of every turn; a loss is silent. "
        "Of the first turn's three replies one is its own, two are Cerebras's.",
        come_back,
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


@dataclass(frozen=True, slots=True)
class Half:
    """How one step went without the line, or with it: counted on the wire."""

    said: str
    failed: bool
    refusals: tuple[str, ...] = ()
    leaks: int = 0
    lost: int = 0
    reports: tuple[Report, ...] = ()
    prompt: str | None = field(default=None, repr=False)
    """What the model would see of the last request to DeepSeek; None at hosts that cannot tell."""
    issued: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Host -> what to look for to know its reasoning again."""

    @property
    def sound(self) -> bool:
        """Nothing refused, leaked or lost, and the loop came to its end."""
        return not (self.failed or self.refusals or self.leaks or self.lost)


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


def run(step: Step, world: World) -> Half:
    """One half of one step."""
    world.reports.clear()
    for host in world.hosts.values():
        host.requests.clear()
    try:
        said, failed = step.run(world), False
    except Exception as fault:  # noqa: BLE001 -- whatever LiteLLM raises ends the step and is told
        said, failed = f"LiteLLM raises {type(fault).__name__}", True
    asked = [host for host in world.hosts.values() if host.requests]
    refused = [(host, request) for host in asked for request in host.requests if 400 <= request.status < 500]
    return Half(
        said=said,
        failed=failed,
        refusals=tuple(f"{host.kind} answers {request.status}: {request.refusal}" for host, request in refused),
        leaks=len({(found.at.kind, found.word) for found in foreign_bytes(world.hosts.values())}),
        lost=sum(len(host.lost()) for host in asked),
        reports=tuple(world.reports),
        prompt=asked[0].last.prompt if asked else None,
        issued={kind: tuple(host.issued) for kind, host in world.hosts.items()},
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
def world_of(*kinds: str) -> Iterator[World]:
    """A world with fresh hosts."""
    with ExitStack() as open_hosts:
        yield World({kind: open_hosts.enter_context(strict_host(kind)) for kind in kinds})


class Stage:
    """Prints the story: boxes and colour for a terminal, plain text for a file."""

    def __init__(self, *, plain: bool) -> None:
        self.console = Console(no_color=plain or None, highlight=False, emoji=False)
        if plain or not self.console.is_terminal:
            self.console = Console(no_color=True, force_terminal=False, highlight=False, emoji=False, width=120)
        self.box = box.SIMPLE_HEAD if self.console.is_terminal else box.ASCII

    def say(self, text: str, style: str = "", *, indent: int = 0) -> None:
        """One paragraph; nothing in it is markup. A file gets one line, a terminal wraps under the indent."""
        if self.console.is_terminal:
            self.console.print(Padding(Styled(text, style=style), (0, 0, 0, indent)))
        else:
            self.console.print(Styled(" " * indent + text), soft_wrap=True)

    def half(self, name: str, half: Half) -> None:
        """What became of one half, in words as well as in colour."""
        mark, style = ("clean ", "green") if half.sound else ("broken", "red")
        self.say(f"{name:<8} {mark}", style, indent=2)
        self.say(half.said, indent=6)
        for refusal in half.refusals:
            self.say(refusal, indent=6)
        for count, what in (
            (half.leaks, "of another host's reasoning in a request"),
            (half.lost, "of the host's own reasoning lost"),
        ):
            if count:
                self.say(f"{count} piece{'s' * (count > 1)} {what}", indent=6)

    def prompt(self, name: str, half: Half) -> None:
        """The thoughts of the conversation in the prompt that DeepSeek's own encoder rendered."""
        if half.prompt is None or half.failed:
            return
        self.say(f"what DeepSeek's own encoder renders for the model, {name} the line:", indent=2)
        for thought in re.findall(r"<think>(.*?)</think>", half.prompt[half.prompt.index(QUESTION) :], re.DOTALL):
            writers = [kind for kind, words in half.issued.items() if any(word in thought for word in words)]
            self.say(f"<think>{thought}</think> ({f'written by {writers[0]}' if writers else 'empty'})", indent=6)

    def report(self, report: Report) -> None:
        """One report as a table."""
        self.say(str(report).splitlines()[0])
        table = Table(box=self.box)
        for name in COLUMNS[:-1]:
            table.add_column(name, no_wrap=True)
        table.add_column("reason")
        for row in report.rows:
            table.add_row(*map(Styled, (*cells(row)[:-1], sentence(row.reason))))
        self.console.print(table)


def main(*, plain: bool = False) -> int:
    """Tell the whole story; 0 when every half with the line is clean."""
    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    stage = Stage(plain=plain)
    version = importlib.metadata.version("litellm")
    stage.say(
        f"LiteLLM {version} against strict hosts on this machine: each loop is run without the line, then with it."
    )
    stage.say("litellm.callbacks.append(ReasoningReplay())", "bold", indent=4)
    kinds = ("deepseek", "cerebras", "anthropic", "openrouter")
    halves: list[tuple[Half, Half]] = []
    with world_of(*kinds) as bare, world_of(*kinds) as ours:
        for number, step in enumerate(STEPS, 1):
            before = run(step, bare)
            with the_line():
                after = run(step, ours)
            halves.append((before, after))
            tell(stage, f"{number}. {step.title}", step.story, before, after, version)
    return close(stage, halves)


def tell(stage: Stage, title: str, story: str, before: Half, after: Half, version: str) -> None:
    """One step of the story."""
    stage.say(f"\n{title}", "bold")
    stage.say(story, indent=2)
    stage.half("without", before)
    if before.sound:
        stage.say(f"LiteLLM {version} alone no longer breaks here", indent=6)
    stage.half("with", after)
    for name, half in (("without", before), ("with", after)):
        stage.prompt(name, half)


def close(stage: Stage, halves: list[tuple[Half, Half]]) -> int:
    """The reports of the first two steps, and the sum on the last line."""
    stage.say("\nThe reports of the fallback and of the way back: names and sizes, never text", "bold")
    for _, after in halves[:2]:
        for report in after.reports[-1:]:
            stage.report(report)
    sums = [
        f"{what} {sum(map(count, (b for b, _ in halves)))} → {sum(map(count, (a for _, a in halves)))}"
        for what, count in COUNTS
    ]
    sound = all(after.sound for _, after in halves)
    stage.say(f"\n{'ok' if sound else 'NOT CLEAN'}, without → with the line: {', '.join(sums)}", "bold")
    return 0 if sound else 1


COUNTS: tuple[tuple[str, Callable[[Half], int]], ...] = (
    ("leaks", lambda half: half.leaks),
    ("refusals", lambda half: len(half.refusals)),
    ("lost reasoning", lambda half: half.lost),
)
