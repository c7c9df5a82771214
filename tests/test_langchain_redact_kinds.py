"""The switch for LangChain's tracers, by kinds of handlers, values and errors: what no model and no host is needed for."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    FileCallbackHandler,
    StdOutCallbackHandler,
    UsageMetadataCallbackHandler,
)
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tracers import BaseTracer, ConsoleCallbackHandler, LangChainTracer
from langchain_core.tracers.base import AsyncBaseTracer
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

from reasoning_replay.langchain import redacted

pytestmark = pytest.mark.filterwarnings("ignore")
CANARY = "CANARY-7f3a9c51-the-user-lives-in-Oslo-and-hides-it"


def reply():
    return AIMessage("3C.", additional_kwargs={"reasoning_content": CANARY})


def model(*said):
    return GenericFakeChatModel(messages=iter(said or [reply()]))


# Kinds of handlers ----------------------------------------------------------------------------------------------------


class Client:
    """Stands for LangSmith's: keeps what it would send."""

    tracing_queue = None

    def __init__(self):
        self.sent = []

    def create_run(self, **run):
        self.sent.append(repr(run))

    def update_run(self, *args, **run):
        self.sent.append(repr((args, run)))


class Plain(BaseTracer):
    """An app's tracer, as its page says to write one."""

    def __init__(self):
        super().__init__()
        self.runs = []

    def _persist_run(self, run):
        self.runs.append(repr((run.inputs, run.outputs, run.events)))


class PlainLater(AsyncBaseTracer):
    def __init__(self):
        super().__init__()
        self.runs = []

    async def _persist_run(self, run):
        self.runs.append(repr((run.inputs, run.outputs, run.events)))


class Child(ConsoleCallbackHandler):
    """Of a class that is not the handler's first."""


class Later(AsyncCallbackHandler):
    """Nothing of its own."""


def tracers(tmp_path):
    return [
        LangChainTracer(client=Client()),
        ConsoleCallbackHandler(),
        RunCollectorCallbackHandler(),
        UsageMetadataCallbackHandler(),
        FileCallbackHandler(str(tmp_path / "log")),
        StdOutCallbackHandler(),
        Plain(),
        PlainLater(),
        Child(),
        Later(),
    ]


def told(tracer, printed):
    """All that a handler has kept or written."""
    client = getattr(tracer, "client", None)
    runs = [*getattr(tracer, "runs", ()), *getattr(tracer, "traced_runs", ())]
    return "\n".join(
        [
            *(each if isinstance(each, str) else each.model_dump_json() for each in runs),
            *getattr(client, "sent", ()),
            printed,
        ]
    )


@pytest.mark.parametrize("at", range(10))
def test_every_tracer_of_langchains_can_be_redacted_alone(at, tmp_path, capsys):
    tracer = tracers(tmp_path)[at]
    made = redacted(tracer)
    assert type(tracer).__name__ == type(made).__name__
    assert isinstance(made, type(tracer))
    assert made.__dict__ is tracer.__dict__
    assert redacted(made) is made
    chain = model() | (lambda message: {"said": message})
    chain.invoke([HumanMessage("q"), reply(), HumanMessage("and now?")], {"callbacks": [made]})
    shown = told(tracer, capsys.readouterr().out)
    assert CANARY not in shown
    if isinstance(tracer, BaseTracer | AsyncBaseTracer):
        assert "[redacted: " in shown


def test_a_copy_that_langchain_makes_of_langsmiths_tracer_is_redacted_too():
    made = redacted(LangChainTracer(client=Client()))
    copy = made.copy_with_metadata_defaults(metadata={"a": "b"})
    model().invoke("q", {"callbacks": [copy]})
    assert type(copy) is type(made)
    assert CANARY not in repr(made.client.sent)


def test_a_handler_that_cannot_be_copied_is_refused_by_name():
    class Odd(BaseCallbackHandler):
        def __copy__(self):
            raise RuntimeError("no")

    with pytest.raises(TypeError, match=r"handler: a Odd cannot be copied .* redact_traces\(\)"):
        redacted(Odd())


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
def test_a_handler_of_prompts_alone_gets_the_prompts_of_redacted_messages(later):
    got = []

    class Old(BaseCallbackHandler):
        def on_llm_start(self, serialized, prompts, **named):
            got.extend(prompts)

    class OldLater(AsyncCallbackHandler):
        async def on_llm_start(self, serialized, prompts, **named):
            got.extend(prompts)

    asked = [HumanMessage("x"), AIMessage(f"<think>{CANARY}</think>3C."), HumanMessage("y")]
    model().invoke(asked, {"callbacks": [redacted(OldLater() if later else Old())]})
    assert 1 == len(got)
    assert got[0].startswith("Human: x\nAI: <think>[redacted: ")
