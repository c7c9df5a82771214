"""`ReplaySummarizationMiddleware` in `create_agent`: a long history of three hosts is summarised, and nothing leaks or breaks."""

import json
import sys
from functools import partial
from inspect import signature
from itertools import cycle
from secrets import token_hex
from types import SimpleNamespace
from uuid import uuid4

import pytest

pytest.importorskip("langchain.agents")
for name in ("langchain_deepseek", "langchain_anthropic", "deepseek_recipe"):
    pytest.importorskip(name)

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
    message_chunk_to_message,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

import reasoning_replay.langchain
from langchain_calls import (
    AGENT_MODES,
    chat_anthropic,
    chat_deepseek,
    chat_openai,
    collected,
    get_weather,
    run,
    turn,
)
from reasoning_replay import MemoryStore, Origin, Policy
from reasoning_replay._origin import MARK, to_mark
from reasoning_replay._policy import BadPolicy
from reasoning_replay.langchain import (
    ReasoningReplayMiddleware,
    ReplaySummarizationMiddleware,
    with_reasoning_replay,
)
from reasoning_replay.langchain._settings import Settings
from reasoning_replay.langchain._summarization import check_seams
from reasoning_replay.langchain._summary_projection import Summariser, projected
from reasoning_replay.testing import Reply, Text, aliases, call, canaries_in, foreign_bytes, think
from reasoning_replay.transcripts import segments

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    """At the end."""
    yield
    collected()


def chat_responses(host, **more):
    return chat_openai(host, use_responses_api=True, store=False, reasoning={"effort": "low"}, **more)


MAKE = {"deepseek": chat_deepseek, "anthropic": chat_anthropic, "openai-responses": chat_responses}
"""Kind of strict host → its model."""
SUMMARY = "What was asked, in short."


def summarises(steps):
    """So many steps with three calls each, then an answer; a request without tools is answered with a summary."""

    def answer(turn):
        if not turn.tools:
            return Reply((think(), Text(SUMMARY)))
        if turn.step < steps:
            return Reply((think(), *(call(city=f"Oslo-{turn.step}-{token_hex(3)}") for _ in range(3))))
        return Reply((think(), Text()))

    return answer


class Three:
    """Three strict hosts, and an agent at each. Mutable: hosts keep what they were sent."""

    def __init__(self, strict_hosts, steps=3):
        self.hosts = {kind: strict_hosts(kind, script=summarises(steps)) for kind in MAKE}
        self.policy = Policy(aliases=aliases(self.hosts.values()))

    def model(self, kind, version="v1"):
        return MAKE[kind](self.hosts[kind], **({} if version is None else {"output_version": version}))

    def agent(self, kind, *before, after=(), version="v1", saver=None):
        middleware = [*before, ReasoningReplayMiddleware(self.policy), *after]
        return create_agent(self.model(kind, version), [get_weather], middleware=middleware, checkpointer=saver)

    def history(self, count=200, version="v1", modes=("invoke", "stream", "v3")):
        """So many messages, each turn at the next host, by the next way to call a model. A host sees its own turns alone."""
        wrapped = {kind: with_reasoning_replay(self.model(kind, version), self.policy) for kind in MAKE}
        models = {kind: model.bind_tools([get_weather]) for kind, model in wrapped.items()}
        messages = []
        turns = zip(cycle(models), cycle([*modes, modes[0]]))
        while len(messages) < count:
            own, (kind, mode) = [], next(turns)
            turn(mode, models[kind], own, f"Question {len(messages)}?")
            messages += own
        return messages

    @property
    def statuses(self):
        return {kind: {request.status for request in host.requests} for kind, host in self.hosts.items()}

    def prompts_of_summaries(self):
        """What a summariser was shown."""
        return [
            json.dumps(request.json)
            for host in self.hosts.values()
            for request in host.requests
            if not request.json.get("tools")
        ]


def written(messages):
    """Messages byte for byte."""
    return [json.dumps(dumpd(message), sort_keys=True) for message in messages]


def last_turn(messages):
    """Where the running turn begins."""
    return segments(messages, form="langchain")[-1].start


def summary_of(*, three, kind, original=False, **more):
    """The middleware whose summaries are written at that host."""
    more = {"trigger": ("messages", 100), "keep": ("messages", 40), "trim_tokens_to_summarize": None, **more}
    if original:
        return SummarizationMiddleware(three.model(kind), **more)
    return ReplaySummarizationMiddleware(three.model(kind), policy=three.policy, **more)


def ask(three, kind, messages, *before, mode="invoke", after=()):
    """A turn of an agent that goes on with this history: its last state."""
    thread = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": 99}
    agent = three.agent(kind, *before, after=after, saver=InMemorySaver())
    return AGENT_MODES[mode](agent, {"messages": messages}, thread)["messages"]


def with_ids(messages):
    """The history as a graph keeps it: every message has an id, and none is a chunk."""
    return [message_chunk_to_message(m).model_copy(update={"id": m.id or str(uuid4())}) for m in messages]


RUNS = [
    ("deepseek", "anthropic", "invoke"),
    ("anthropic", "openai-responses", "ainvoke"),
    ("openai-responses", "deepseek", "stream of messages"),
    ("anthropic", "anthropic", "v3"),
]
"""Whose model goes on, who writes the summary, and how the agent is run."""


def test_200_messages_of_three_hosts_are_summarised_and_no_host_sees_what_another_has_thought(strict_hosts):
    three = Three(strict_hosts)
    history = with_ids([*three.history(200), HumanMessage("And now?")])
    for number, (kind, writer, mode) in enumerate(RUNS):
        middleware = summary_of(three=three, kind=writer)
        places = {"after": [middleware]} if number % 2 else {}
        state = ask(three, kind, history, *([] if number % 2 else [middleware]), mode=mode, **places)
        kept = state[1 : state.index(history[-1]) + 1]
        assert 1 < len(kept) <= 40
        assert SUMMARY in state[0].content
        assert written(history[-len(kept) :]) == written(kept)
        assert "human" == kept[0].type
        assert {200} == set().union(*three.statuses.values())
    prompts = three.prompts_of_summaries()
    assert len(RUNS) == len(prompts)
    assert [] == canaries_in("".join(prompts))
    assert all("Question 0?" in prompt and "Oslo" in prompt for prompt in prompts)
    assert [] == foreign_bytes(three.hosts.values())


@pytest.mark.leaks("the middleware as LangChain has it")
def test_langchains_own_middleware_hands_reasoning_on_and_cuts_into_a_turn(strict_hosts):
    three = Three(strict_hosts)
    history = with_ids([*three.history(60), HumanMessage("And now?")])
    leaked = {}
    for original in (True, False):
        before = len(foreign_bytes(three.hosts.values()))
        middleware = summary_of(
            three=three, kind="anthropic", original=original, trigger=("messages", 50), keep=("messages", 21)
        )
        state = ask(three, "deepseek", history, middleware)
        leaked[original] = len(foreign_bytes(three.hosts.values())) - before, state[1].type
    assert leaked[False] == (0, "human")
    assert leaked[True][0] > 0
    assert leaked[True][1] == "ai"


@pytest.mark.slow
@pytest.mark.parametrize("version", [None, "v1"])
def test_a_thread_of_200_messages_moves_between_three_hosts_and_is_summarised_on_the_way(version, strict_hosts):
    """One saved thread, a compiled agent at each host, summaries in the middle of running turns too."""
    three, saver = Three(strict_hosts), InMemorySaver()
    thread = {"configurable": {"thread_id": "1"}, "recursion_limit": 99}
    writers, seen, count, number = cycle(reversed(MAKE)), [], 0, 0
    for kind, mode in zip(cycle(MAKE), cycle(["invoke", "stream of messages", "v3", "ainvoke"])):
        middleware = summary_of(three=three, kind=next(writers), trigger=("messages", 35), keep=("messages", 4))
        agent = three.agent(kind, middleware, version=version, saver=saver)
        question = HumanMessage(f"Question {number}?", id=str(number))
        state = AGENT_MODES[mode](agent, {"messages": [question]}, thread)["messages"]
        turn_of = state[last_turn(state) :]
        assert question == turn_of[0]  # the whole turn is there
        assert 14 == len(turn_of)
        count, number = count + 14, number + 1
        seen.append(len(state))
        if count >= 200:
            break
    assert max(seen) < 60
    assert len(three.prompts_of_summaries()) > 3
    assert {200} == set().union(*three.statuses.values())
    assert [] == canaries_in("".join(three.prompts_of_summaries()))
    assert [] == foreign_bytes(three.hosts.values())


# What the summariser is shown -----------------------------------------------------------------------------------------

SECRET, SEAL = "CANARY-thought", "CANARY-seal"
CALL = {"name": "get_weather", "args": {"city": "Oslo"}, "id": "call_1", "type": "tool_call"}
HERE, THERE = Origin("here.example", model="m"), Origin("there.example", model="m")
SHAPES = {
    "beside": ("", {"reasoning_content": SECRET}),
    "beside and v1": ([{"type": "reasoning", "reasoning": SECRET}], {"reasoning_content": SECRET}),
    "thinking": ([{"type": "thinking", "thinking": SECRET, "signature": SEAL}], {}),
    "v1": ([{"type": "reasoning", "reasoning": SECRET, "extras": {"signature": SEAL}}], {}),
    "v3": ([{"type": "reasoning", "reasoning": SECRET, "index": 0}], {}),
    "an item": ([{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": SECRET}]}], {}),
    "mistral": ([{"type": "thinking", "thinking": [{"type": "text", "text": SECRET}]}], {}),
    "bedrock": ([{"type": "reasoning_content", "reasoning_content": {"text": SECRET, "signature": SEAL}}], {}),
    "inline": (f"<think>{SECRET}</think>", {}),
    "inline in a block": ([{"type": "text", "text": f"<think>{SECRET}</think>"}], {}),
    "details": ("", {"reasoning_details": [{"type": "reasoning.text", "text": SECRET, "index": 0}]}),
    "litellm": ("", {"thinking_blocks": [{"type": "thinking", "thinking": SECRET, "signature": SEAL}]}),
}
"""Content and additional_kwargs of a reply that says nothing."""


def reply(shape, origin=None, said="", **more):
    content, kwargs = SHAPES[shape]
    content = [*content, {"type": "text", "text": said}] if isinstance(content, list) and said else content
    content = f"{content}{said}" if isinstance(content, str) else content
    mark = {} if origin is None else {MARK: to_mark(origin)}
    return AIMessage(content, additional_kwargs={**kwargs, **mark}, **more)


def writer(url="https://here.example/v1"):
    return chat_openai(SimpleNamespace(url=url, model="m"))


def shown(messages, model=None, **policy):
    summariser = Summariser.of(model or writer(), Settings(Policy(**policy), MemoryStore()))
    return get_buffer_string(projected(messages, summariser, asynchronous=False), format="xml")


@pytest.mark.parametrize("origin", [HERE, THERE, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_a_reply_that_says_something_the_summariser_sees_that_alone(shape, origin):
    history = [HumanMessage("q"), reply(shape, origin, said="yes"), reply(shape, origin, tool_calls=[CALL])]
    text = shown([*history, ToolMessage("3C", tool_call_id="call_1")])
    assert [] == canaries_in(text)
    assert '<message type="ai">yes</message>' in text
    assert '{"city": "Oslo"}' in text


@pytest.mark.parametrize("origin", [HERE, THERE, None])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_that_says_nothing_is_shown_to_the_host_that_wrote_it_and_to_no_other(shape, origin):
    text = shown([HumanMessage("q"), reply(shape, origin)])
    if origin is HERE:
        assert f'<message type="ai"><reasoning>{SECRET}</reasoning></message>' in text
        assert SEAL not in text
    else:
        assert '<message type="human">q</message>' == text


def test_that_holds_where_a_host_would_refuse_such_a_reply_as_a_message():
    url, name = "https://api.anthropic.com", "claude-sonnet-4-5"
    model = chat_anthropic(SimpleNamespace(url=url, model=name))
    assert SECRET in shown([HumanMessage("q"), reply("thinking", Origin(url, dialect="anthropic", model=name))], model)
    assert SECRET not in shown([HumanMessage("q"), reply("thinking", HERE)], model)


def test_who_is_one_host_the_policy_of_the_middleware_or_of_the_wrapped_model_says():
    history = [HumanMessage("q"), reply("beside", THERE)]
    one = Policy(same_host=({"here.example", "there.example"},))
    assert SECRET in shown(history, same_host=({"here.example", "there.example"},))
    assert SECRET in "".join(
        map(str, projected(history, Summariser.of(with_reasoning_replay(writer(), one), Settings()), asynchronous=True))
    )
    assert SECRET not in shown(history, with_reasoning_replay(writer(), one))  # what is said here wins


def test_unknown_reasoning_is_not_shown_however_much_a_policy_trusts_it():
    assert SECRET not in shown([HumanMessage("q"), reply("beside")], unknown_origin="trust")


BESIDE_FORMS = {
    "tags": f"<think>{SECRET}</think>yes",
    "tags in a part": [{"type": "text", "text": f"<think>{SECRET}</think>yes"}],
    "tags in the middle": f"yes<think>{SECRET}</think>",
    "a thought": [{"type": "text", "text": SECRET, "thought": True}, {"type": "text", "text": "yes"}],
    "a block": [{"type": "thinking", "thinking": SECRET, "signature": SEAL}, {"type": "text", "text": "yes"}],
    "Converse": [{"reasoningContent": {"reasoningText": {"text": SECRET, "signature": SEAL}}}, {"text": "yes"}],
}
"""Contents that say "yes", with reasoning as no class of LangChain's writes it, and as some do."""
SPEAKERS = {
    "AIMessage": AIMessage,
    "AIMessageChunk": AIMessageChunk,
    **{role: partial(ChatMessage, role=role) for role in ("assistant", "model", "critic")},
}


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("shape", BESIDE_FORMS)
def test_whatever_class_a_reply_has_and_however_it_holds_reasoning_the_summariser_sees_none(speaker, shape):
    message = SPEAKERS[speaker](content=BESIDE_FORMS[shape])
    before = message.model_copy(deep=True)
    (left,) = projected([message], Summariser.of(writer(), Settings()), asynchronous=False)
    text = f"{left!r}{get_buffer_string([left], format='xml')}"
    assert SECRET not in text
    assert SEAL not in text
    assert "redacted" not in text
    assert "yes" in text
    assert before == message


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_a_reply_of_any_class_that_says_nothing_beside_its_reasoning_is_left_out(speaker):
    history = [HumanMessage("q"), SPEAKERS[speaker](content=f"<think>{SECRET}</think>")]
    assert '<message type="human">q</message>' == shown(history)


def test_what_people_and_tools_write_is_shown_whatever_it_looks_like():
    words = f"What does <think>{SECRET}</think> mean?"
    people = [HumanMessage(words), ChatMessage(role="user", content=words), ToolMessage(words, tool_call_id="c")]
    assert people == projected(people, Summariser.of(writer(), Settings()), asynchronous=False)


def test_messages_without_reasoning_are_shown_as_they_are():
    history = [
        HumanMessage("q"),
        AIMessage("a"),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("3C", tool_call_id="call_1"),
        AIMessage(""),
    ]
    summariser = Summariser.of(writer(), Settings())
    assert all(new is old for new, old in zip(projected(history, summariser, asynchronous=False), history, strict=True))


@pytest.mark.faulty("a step of ours fails")
@pytest.mark.parametrize("step", ["strip_message", "prepare_untold", "target_of"])
def test_a_fault_shows_what_people_wrote_and_nothing_else(step, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(f"reasoning_replay.langchain._summary_projection.{step}", broken)
    text = shown([HumanMessage("q"), reply("v1", HERE), HumanMessage("and?")])
    assert '<message type="human">q</message>\n<message type="human">and?</message>' == text


# Through the middleware -----------------------------------------------------------------------------------------------


class Writes(BaseChatModel):
    """A model that writes summaries and keeps what it was asked. Mutable: `asked`."""

    asked: list = Field(default_factory=list)
    says: str = SUMMARY
    base_url: str = "https://here.example/v1"
    model: str = "m"

    @property
    def _llm_type(self):
        return "writes"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.says))])


def cut(messages, mode="sync", model=None, **more):
    """What the middleware makes of a state: the new messages without the request to remove all, or None."""
    more = {"trigger": ("messages", 2), "keep": ("messages", 3), **more}
    middleware = ReplaySummarizationMiddleware(model or Writes(), **more)
    state = {"messages": messages}
    update = middleware.before_model(state, None) if mode == "sync" else run(middleware.abefore_model(state, None))
    return None if update is None else update["messages"][1:]


def turns(*sizes, origin=HERE):
    """Turns with so many calls each; the last one runs."""
    out = []
    for number, size in enumerate(sizes):
        out.append(HumanMessage(f"q{number}"))
        for step in range(size):
            made = {**CALL, "id": f"call_{number}_{step}"}
            out += [reply("beside", origin, tool_calls=[made]), ToolMessage("3C", tool_call_id=made["id"])]
        out += [reply("beside", origin, said=f"a{number}")] if number < len(sizes) - 1 else []
    return out


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("keep", "first"), [(1, "q3"), (3, "q3"), (6, "q3"), (7, "q2"), (9, "q2"), (12, "q2"), (13, "q1"), (16, "q1")]
)
def test_a_cut_moves_on_to_where_a_turn_begins_and_never_into_the_running_one(keep, first, mode):
    history = turns(1, 2, 1, 1)  # of 4, 6, 4 and 3 messages
    kept = cut(history, mode, keep=("messages", keep))
    assert SUMMARY in kept[0].content
    assert first == kept[1].content
    assert all(new is old for new, old in zip(kept[1:], history[-len(kept) + 1 :], strict=True))


def test_a_running_turn_stays_whole_however_long_it_is_and_is_summarised_once():
    history = turns(1, 20)
    kept = cut(history, keep=("messages", 3))
    assert all(new is old for new, old in zip(kept[1:], history[4:], strict=True))
    assert cut(kept, keep=("messages", 3)) is None  # all before it is a summary
    assert cut(turns(20), keep=("messages", 3)) is None
    assert cut([SystemMessage("s"), *turns(20)], keep=("messages", 3)) is None
    assert cut([], keep=("messages", 3)) is None


def test_an_earlier_summary_is_summarised_with_what_came_after_it():
    kept = cut([*cut(turns(1, 1, 1)), AIMessage("a2"), *turns(0)])
    assert [SUMMARY in kept[0].content, "q0"] == [True, kept[1].content]
    assert 2 == len(kept)


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"trigger": ("tokens", 10), "keep": ("tokens", 30)}, 1),
        ({"trigger": ("tokens", 10), "keep": ("tokens", 10_000)}, None),
        ({"trigger": ("fraction", 0.1), "keep": ("fraction", 0.1)}, 1),
        ({"trigger": ("fraction", 0.9), "keep": ("fraction", 0.5)}, None),
        ({"trigger": {"tokens": 10, "messages": 3}, "keep": ("messages", 5)}, 5),
        ({"trigger": [("messages", 99), ("tokens", 10)], "keep": ("messages", 5)}, 5),
        ({"trigger": ("messages", 3), "keep": ("tokens", 60), "token_counter": lambda messages: 10 * len(messages)}, 5),
        ({"trigger": None}, None),
    ],
)
def test_trigger_and_keep_mean_what_they_mean_to_langchain(more, kept):
    state = cut(turns(1, 1, 0), model=Writes(profile={"max_input_tokens": 300}), **more)
    assert kept == (None if state is None else len(state) - 1)


def test_every_argument_of_langchains_own_is_taken():
    known = {
        "trigger": ("messages", 5), "keep": ("tokens", 7), "token_counter": len, "summary_prompt": "In short: {messages}",
        "trim_tokens_to_summarize": 99, "summarizer": lambda messages: "short",
    }  # fmt: skip
    parameters = signature(SummarizationMiddleware.__init__).parameters
    assert {*known, "self", "model", "deprecated_kwargs"} == set(parameters)
    made, own = ReplaySummarizationMiddleware(Writes(), **known), SummarizationMiddleware(Writes(), **known)
    assert all(repr(getattr(made, name)) == repr(getattr(own, name)) for name in known if name != "summarizer")
    assert made.summarizer is not None
    with pytest.raises(BadPolicy, match="policy: a str; allowed: a Policy, or None"):
        ReplaySummarizationMiddleware(Writes(), policy="drop")
    with pytest.raises(ValueError, match="keep thresholds must be greater than 0"):
        ReplaySummarizationMiddleware(Writes(), keep=("messages", 0))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_prompt_holds_a_bare_turn_at_its_own_host_alone(mode):
    history = [HumanMessage("q"), reply("v1", HERE), *turns(0, 0)]
    for base_url, canaries in (("https://here.example/v1", 1), ("https://there.example/v1", 0)):
        model = Writes(base_url=base_url)
        cut(history, mode, model)
        assert canaries == len(canaries_in(model.asked[0][0].content))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_summariser_that_is_a_function_or_a_chain_is_given_no_reasoning(mode):
    given = []
    history = [HumanMessage("q"), reply("v1", HERE), *turns(1, 0)]
    for summarizer in (lambda rows: given.append(rows) or "s", RunnableLambda(lambda rows: given.append(rows) or "s")):
        kept = cut(history, mode, summarizer=summarizer)
        assert "s" == kept[0].content[-1]
    assert 2 == len(given)
    assert [] == canaries_in(repr(given))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_the_summariser_thinks_in_front_of_its_summary_is_not_told_to_other_hosts(mode):
    kept = cut(turns(1, 1, 1), mode, Writes(says=f"<think>{SECRET}</think>\n\n{SUMMARY}"))
    assert f"Here is a summary of the conversation to date:\n\n{SUMMARY}" == kept[0].content


@pytest.mark.faulty("a step of ours fails")
def test_where_the_history_cannot_be_cut_it_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr("reasoning_replay.langchain._trim_cut.cuts_of", lambda *args, **more: 1 / 0)
    assert cut(turns(1, 1, 1)) is None


CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-fable-5-1")


def test_of_what_is_kept_only_blocks_that_are_bound_to_what_is_gone_lose_their_reasoning():
    bound = [reply("thinking", CLAUDE, tool_calls=[CALL], id="1"), ToolMessage("3C", tool_call_id="call_1", id="2")]
    history = [*turns(0, 0), AIMessage("a"), HumanMessage("go on"), *bound, reply("beside", HERE, said="yes", id="3")]
    kept = cut([*history, *turns(0)], keep=("messages", 5))
    left = kept[1:]
    assert ["go on", "", "3C", "yes", "q0"] == [m.content for m in left]
    assert [True, False, True, True, True] == [
        new is old for new, old in zip(left, [*history[4:], *left[-1:]], strict=True)
    ]
    assert [CALL] == left[1].tool_calls


def test_without_langchain_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    monkeypatch.delitem(sys.modules, "reasoning_replay.langchain._summarization")
    expected = "ReplaySummarizationMiddleware needs langchain beside langchain-core: pip install langchain"
    with pytest.raises(ImportError, match=expected):
        reasoning_replay.langchain.ReplaySummarizationMiddleware  # noqa: B018
    assert callable(reasoning_replay.langchain.trim_messages)


def test_a_langchain_that_would_go_another_way_is_refused_when_it_is_imported():
    check_seams(SummarizationMiddleware)
    with pytest.raises(ImportError, match="SummarizationMiddleware has no _determine_cutoff_index, _create_summary"):
        check_seams(AgentMiddleware)
