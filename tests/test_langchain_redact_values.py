"""The switch for LangChain's tracers, by kinds of values and errors: what is told of them, and what is not taken out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import UserList, deque
from importlib.util import find_spec

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.language_models.llms import create_base_retry_decorator
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.tracers import BaseTracer

from reasoning_replay.langchain import _redact_trace, redact_traces

pytestmark = pytest.mark.filterwarnings("ignore")
CANARY = "CANARY-7f3a9c51-the-user-lives-in-Oslo-and-hides-it"


def reply():
    return AIMessage("3C.", additional_kwargs={"reasoning_content": CANARY})


def model(*said):
    return GenericFakeChatModel(messages=iter(said or [reply()]))


class Told(BaseCallbackHandler):
    """Keeps all that it is told."""

    def __init__(self):
        self.got = []

    def names(self):
        return {name for name, _ in self.got}

    def shown(self, event=""):
        return "\n".join(text(each) for name, values in self.got if name.startswith(event) for each in values)


def text(value):
    return f"{value!r} {value!s} {json.dumps(value, default=fields, skipkeys=True)}"


def fields(value):
    held = value.model_dump() if hasattr(value, "model_dump") else getattr(value, "__dict__", "")
    return [repr(value), str(value), repr(held), repr(list(value)) if hasattr(value, "__len__") else ""]


def _keeps(name):
    return lambda self, *args, **named: self.got.append((name, [*args, *named.values()]))


for _name in [each for each in dir(BaseCallbackHandler) if each.startswith("on_")]:
    setattr(Told, _name, _keeps(_name))


def told(runnable, asked, fails=None):
    handler = Told()
    with redact_traces():
        if fails is None:
            runnable.invoke(asked, {"callbacks": [handler]})
        else:
            with pytest.raises(fails):
                runnable.invoke(asked, {"callbacks": [handler]})
    assert handler.got
    return handler


class State:
    """An app's own."""

    def __init__(self, message):
        self.message = message

    def __repr__(self):
        return f"State({self.message!r})"


LOGPROBS = {"logprobs": {"reasoning_content": [{"token": "CAN", "logprob": -0.1, "bytes": list(CANARY.encode())}]}}
VALUES = {
    "deque": lambda: deque([reply()]),
    "UserList": lambda: UserList([reply()]),
    "dict.values()": {"a": reply()}.values,
    "set": lambda: {reply().model_dump_json() + " "},
    "object": lambda: State(reply()),
    "bytes": lambda: reply().model_dump_json().encode(),
    "key": lambda: {reply().model_dump_json(): 1},
    "repr": lambda: repr(reply()),
    "repr in a dict": lambda: {"log": repr({"reasoning_content": CANARY})},
    "words before JSON": lambda: "reply: " + reply().model_dump_json(),
    "JSON cut short": lambda: reply().model_dump_json()[:-40],
    "escaped JSON": lambda: "log: " + json.dumps(json.dumps({"thinking": CANARY})),
    "tags": lambda: {"answer": f"<think>{CANARY}</think>hi"},
    "logprobs": lambda: AIMessage("x", response_metadata=LOGPROBS),
    "a name beside a response": lambda: {"name": "Ann", "response": reply(), "input": {"reasoning": CANARY}},
    "a delegation": lambda: {
        "name": "delegate",
        "args": {"messages": [{"role": "assistant", "content": "x", "reasoning_content": CANARY}]},
    },
    "a tool's result of str": lambda: ToolMessage(str(reply()), tool_call_id="1"),
}


@pytest.mark.parametrize("name", VALUES)
def test_no_kind_of_value_shows_reasoning(name):
    value = VALUES[name]()
    assert CANARY in text(value) or str(list(CANARY.encode()))[1:-1] in text(value)
    shown = told(RunnableLambda(lambda asked: "ok"), value).shown()
    assert CANARY not in shown
    assert str(list(CANARY.encode()))[1:-1] not in shown


PLAIN = [
    {"name": "w", "args": {"reasoning": "the tool's own parameter"}, "id": "1", "type": "tool_call"},
    {"toolUse": {"toolUseId": "1", "name": "w", "input": {"reasoning": "the tool's own parameter"}}},
    'Invalid parameter: "reasoning_effort" is not supported with this model',
    {"reasoning": {"effort": "low"}, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    deque([1, 2]),
    {"a": {"b"}},
    HumanMessage('What is {"reasoning": "x" ...?'),
]


@pytest.mark.parametrize("at", range(len(PLAIN)))
def test_what_holds_none_is_told_as_it_is(at):
    handler = told(RunnableLambda(lambda asked: "ok"), PLAIN[at])
    assert PLAIN[at] == next(values[1] for name, values in handler.got if name == "on_chain_start")


def test_what_was_told_in_the_open_is_no_secret():
    question = "How is the weather in Oslo, and do I need a coat?"
    answer = "It is 3C in Oslo and windy: take a warm coat with you."
    found = '{"temperature": "3C", "wind": "strong from the north"}'
    thought = f"The user asks {question!r}; the tool says {found}. {CANARY} So I answer: {answer}"
    asked = [HumanMessage(question), ToolMessage(found, tool_call_id="1")]
    chain = model(AIMessage(answer, additional_kwargs={"reasoning_content": thought})) | StrOutputParser()
    whole = RunnablePassthrough.assign(said=lambda given: chain.invoke(given["asked"])) | RunnableLambda(
        lambda given: {"question": question, "found": found, "answer": given["said"], "thought": thought[150:]}
    )
    shown = told(whole, {"asked": asked})
    last = shown.got[-1][1][0]
    assert (question, found, answer) == (last["question"], last["found"], last["answer"])
    assert CANARY not in shown.shown()


def test_a_retrys_state_shows_neither_the_error_nor_the_request(monkeypatch):
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)

    class Refused(BaseChatModel):
        @property
        def _llm_type(self):
            return "m"

        def _generate(self, messages, stop=None, run_manager=None, **named):
            tries = []

            @create_base_retry_decorator([ValueError], 2, run_manager)
            def send(messages):
                tries.append(1)
                if len(tries) == 1:
                    raise ValueError(f"400: messages[1] is odd: '{CANARY}'")
                return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])

            return send(messages)

    class Recorder(BaseTracer):
        def _persist_run(self, run):
            events.append(repr(run.events))

    events, handler = [], Told()
    with redact_traces():
        Refused().invoke([HumanMessage("x"), reply(), HumanMessage("y")], {"callbacks": [handler, Recorder()]})
    state = next(values[0] for name, values in handler.got if name == "on_retry")
    assert (1, True) == (state.attempt_number, state.outcome.failed)
    assert "400: messages[1] is odd" in str(state.outcome.exception())
    assert "retry" in str(events)
    assert CANARY not in f"{events}{handler.shown()}{vars(state)}{state.outcome.exception()!r}"


@pytest.mark.parametrize("kind", ["str", "message", "error"])
def test_a_tool_that_asks_a_model_shows_nothing_that_the_model_thought(kind):
    asked = GenericFakeChatModel(messages=iter([reply()]))

    @tool
    def agent(q: str):
        """Asks another model."""
        found = asked.invoke(q)
        if kind == "error":
            raise ValueError("cannot read " + repr(found.additional_kwargs["reasoning_content"]))
        return str(found) if kind == "str" else found

    call = {"type": "tool_call", "name": "agent", "args": {"q": "a"}, "id": "1"}
    handler = told(agent, call, ValueError if kind == "error" else None)
    assert {"on_llm_end", "on_tool_error" if kind == "error" else "on_tool_end"} <= handler.names()
    assert CANARY not in handler.shown()


class Failing(BaseChatModel):
    @property
    def _llm_type(self):
        return "m"

    def _generate(self, *args, **named):
        raise ValueError(f"400: messages[1] is odd: '{CANARY}'")


HISTORY = [HumanMessage("x"), reply(), HumanMessage("y")]


def caught(asked):
    try:
        return Failing().invoke(HISTORY)
    except ValueError as error:
        return f"failed: {error}"


GOING_ON = {
    "returned": RunnableLambda(caught),
    "fallback": RunnableLambda(lambda asked: Failing().invoke(HISTORY)).with_fallbacks(
        [RunnableLambda(lambda asked: "ok")], exception_key="error"
    ),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_an_error_that_is_handled_and_goes_on_is_redacted_there_too(name):
    handler = told(GOING_ON[name], {"q": 1})
    assert CANARY not in handler.shown()


class Slot(Exception):
    __slots__ = ("text",)

    def __init__(self, text):
        super().__init__("bad")
        self.text = text

    def __str__(self):
        return "400: " + self.text


class Api(Exception):
    """As SDKs' are."""

    def __init__(self, message, *, response, body):
        super().__init__(message)
        self.response, self.body, self.status_code = response, body, 400


def pydantic_error(thought):
    from pydantic import BaseModel

    BaseModel.model_validate(thought)


def fail(error):
    raise error


ERRORS = {
    "pydantic": pydantic_error,
    "slots": lambda thought: fail(Slot(thought)),
    "group": lambda thought: fail(ExceptionGroup("two", [ValueError(f"quotes {thought}"), KeyError("a")])),
    "OSError": lambda thought: fail(OSError(2, thought, "here")),
    "Unicode": lambda thought: fail(UnicodeDecodeError("utf-8", thought.encode(), 0, 1, "bad")),
    "SDK": lambda thought: fail(Api(f"quotes {thought}", response={"x": thought}, body={"x": thought})),
}


@pytest.mark.parametrize("name", ERRORS)
def test_no_kind_of_error_shows_reasoning_and_each_is_still_an_error_of_its_name(name):
    handler = told(RunnableLambda(lambda m: ERRORS[name](m.additional_kwargs["reasoning_content"])), reply(), Exception)
    error = next(values[0] for event, values in handler.got if event == "on_chain_error")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of any kind
        ERRORS[name](CANARY)
    assert isinstance(error, Exception)
    assert type(raised.value).__name__ == type(error).__name__
    assert str(error)
    more = [str(error.errors())] if hasattr(error, "errors") else []
    inner = [repr(each) for each in getattr(error, "exceptions", ())]
    assert CANARY not in "".join([handler.shown(), repr(error), str(vars(error)), *more, *inner])
    match name:
        case "group":
            assert [ValueError, KeyError] == [type(each) for each in error.exceptions]
        case "OSError":
            assert (2, "here", "[Errno 2] [redacted]: 'here'") == (error.errno, error.filename, str(error))
        case "SDK":
            assert (400, None, None) == (error.status_code, error.response, error.body)


GRAPH = """
import sys
from langchain_core.callbacks import manager
from reasoning_replay.langchain import redact_traces
before = manager.handle_event
assert "langgraph.callbacks" not in sys.modules
switch = redact_traces()
import langgraph.callbacks as later
assert later.handle_event is not before
switch.uninstall()
assert later.handle_event is before
"""


@pytest.mark.skipif(find_spec("langgraph") is None, reason="langgraph is not installed")
def test_a_module_that_is_imported_while_the_switch_is_on_keeps_nothing_of_ours():
    subprocess.run([sys.executable, "-c", GRAPH], check=True, timeout=120)


# A long agent ---------------------------------------------------------------------------------------------------------


def talk(size):
    return [
        AIMessage(f"a{at}", id=f"{at}", additional_kwargs={"reasoning_content": f"{CANARY} {at}"}) for at in range(size)
    ]


def looked_at(monkeypatch):
    looked = []
    init = _redact_trace._Made.__init__
    monkeypatch.setattr(
        _redact_trace._Made,
        "__init__",
        lambda self, message, *args: (looked.append(message.id), init(self, message, *args))[0] and None,
    )
    return looked


def test_a_message_is_gone_over_once_however_often_it_is_told(monkeypatch):
    looked, messages = looked_at(monkeypatch), talk(20)
    for size in range(1, 21):
        shown = told(RunnableLambda(lambda asked: "ok") | (lambda asked: "ok"), messages[:size]).shown()
        assert CANARY not in shown
    assert [each.id for each in messages] == looked


def test_a_message_that_was_changed_is_gone_over_again(monkeypatch):
    looked, message = looked_at(monkeypatch), AIMessage("hi", id="1", additional_kwargs={"a": {"b": [1]}})
    chain = RunnableLambda(lambda asked: "ok")
    told(chain, message)
    for change in (
        lambda: message.additional_kwargs["a"].update(reasoning_content=CANARY),
        lambda: message.additional_kwargs["a"]["b"].append({"thinking": CANARY}),
        lambda: setattr(message, "content", f"<think>{CANARY}</think>hi"),
    ):
        change()
        assert CANARY not in told(chain, message).shown()
    assert ["1"] * 4 == looked
    message.response_metadata["app"] = State(reply())  # nobody can see whether that changes
    for _ in range(2):
        assert CANARY not in told(chain, message).shown()


def test_what_is_remembered_goes_with_the_message():
    before = len(_redact_trace._made)
    messages = talk(5)
    told(RunnableLambda(lambda asked: "ok"), messages)
    assert before + 5 == len(_redact_trace._made)
    assert CANARY not in f"{_redact_trace._traces!r}{_redact_trace._Trace()!r}"
    _redact_trace._traces.__init__()
    del messages
    assert before >= len(_redact_trace._made)
