"""`trim_messages` of reasoning_replay.langchain: langchain-core's arguments, whole turns, and what is left is taken by the hosts."""

import json
from functools import partial
from random import Random

import pytest

pytest.importorskip("langchain_core")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import trim_messages as cores
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda

from one_loop import run
from reasoning_replay import MemoryStore, Origin, Policy
from reasoning_replay._history import HistoryError
from reasoning_replay._origin import MARK, OriginError, to_mark
from reasoning_replay._policy import BadPolicy
from reasoning_replay.langchain import token_counter_of, trim_messages, with_reasoning_replay
from reasoning_replay.testing import aliases
from reasoning_replay.transcripts import CannotTrim, count_tokens

pytestmark = pytest.mark.filterwarnings("ignore")

SYSTEM = SystemMessage("Be short.")
DEEPSEEK = Origin("api.deepseek.com", model="deepseek-v4-pro")
CLAUDE = Origin("api.anthropic.com", dialect="anthropic", model="claude-sonnet-4-5")


def call(identity):
    return {"name": "get_weather", "args": {"city": "Oslo"}, "id": identity, "type": "tool_call"}


def reply(origin, said="", calls=()):
    """A reply as the host's class stores it, marked."""
    kwargs = {MARK: to_mark(origin)}
    if origin.dialect == "chat":
        return AIMessage(said, additional_kwargs={**kwargs, "reasoning_content": "hm " * 20}, tool_calls=[*calls])
    block = {"type": "thinking", "thinking": "hm " * 20, "signature": "c2ln"}
    text = [{"type": "text", "text": said}] if said else []
    uses = [{"type": "tool_use", "id": each["id"], "name": each["name"], "input": each["args"]} for each in calls]
    return AIMessage([block, *text, *uses], additional_kwargs=kwargs, tool_calls=[*calls])


def turns(*sizes, origin=DEEPSEEK, done=False):
    """Turns with so many steps of tools each; the last one runs, unless `done`."""
    out = []
    for number, size in enumerate(sizes):
        out.append(HumanMessage(f"q{number}"))
        for step in range(size):
            identity = f"call_{number}_{step}"
            out += [reply(origin, calls=[call(identity)]), ToolMessage("3C", tool_call_id=identity)]
        out += [reply(origin, said=f"a{number}")] if done or number < len(sizes) - 1 else []
    return out


def lasts(messages, kept):
    """Whether `kept` is the end of `messages`, the very same objects."""
    return all(new is old for new, old in zip(kept, messages[len(messages) - len(kept) :], strict=True))


# As langchain-core does it --------------------------------------------------------------------------------------------

ALIKE = {
    "all fits": {"max_tokens": 99},
    "all fits, with the system message": {"max_tokens": 99, "include_system": True},
    "all fits, from a human message on": {"max_tokens": 99, "start_on": "human"},
    "one turn": {"max_tokens": 1},
    "one turn and the system message": {"max_tokens": 2, "include_system": True},
    "from a human message on": {"max_tokens": 6, "start_on": "human"},
    "with the system message, from a human one on": {"max_tokens": 7, "start_on": HumanMessage, "include_system": True},
    "several types": {"max_tokens": 6, "start_on": ("human", SystemMessage), "include_system": True},
    "to the last result": {"max_tokens": 99, "end_on": "tool"},
    "to the last answer": {"max_tokens": 99, "end_on": AIMessage},
    "to either": {"max_tokens": 99, "end_on": ("human", "tool")},
    "the first ones": {"max_tokens": 5, "strategy": "first"},
    "the first ones, all": {"max_tokens": 99, "strategy": "first"},
    "the first ones, to a result": {"max_tokens": 5, "strategy": "first", "end_on": "tool"},
    "a splitter without a use": {"max_tokens": 1, "text_splitter": str.split},
    "to what is not there": {"max_tokens": 9, "end_on": "system", "include_system": True},
}
"""Arguments whose cut falls between turns by itself."""


@pytest.mark.parametrize("name", ALIKE)
def test_where_the_cut_falls_between_turns_the_result_is_langchain_cores(name):
    messages = [SYSTEM, *turns(1, 1, 0)]
    assert cores(messages, token_counter=len, **ALIKE[name]) == trim_messages(
        messages, token_counter=len, **ALIKE[name]
    )


def by_count(messages):
    return sum(len(str(m.content)) for m in messages)


def by_one(message: BaseMessage):
    return len(str(message.content))


COUNTERS = {"of a list": by_count, "of one message": by_one, "approximate": "approximate", "len": len}


@pytest.mark.parametrize("counter", COUNTERS)
def test_counters_are_taken_as_langchain_core_takes_them(counter):
    messages = turns(0, 0, 0)
    whole = next(n for n in range(999) if len(cores(messages, max_tokens=n, token_counter=COUNTERS[counter])) == 3)
    kept = trim_messages(messages, max_tokens=whole, token_counter=COUNTERS[counter])
    assert kept == cores(messages, max_tokens=whole, token_counter=COUNTERS[counter])
    with pytest.raises(CannotTrim):
        trim_messages(messages, max_tokens=0, token_counter=COUNTERS[counter])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_kept_is_the_longest_run_of_whole_turns_that_fits(seed):
    draw = Random(seed)
    sizes = [draw.randint(0, 3) for _ in range(draw.randint(1, 6))]
    budget, first, system = draw.randint(0, 40), draw.random() < 0.5, draw.random() < 0.5
    messages = [*([SYSTEM] if system else []), *turns(*sizes)]
    starts = [at for at, each in enumerate(messages) if each.type == "human"]
    head = int(system)
    if first:
        sensible = [messages[:end] for end in [*starts[1:], len(messages)]]
        more = {"strategy": "first"}
    else:
        sensible = [[*messages[:head], *messages[start:]] for start in starts]
        more = {"include_system": True}
    fitting = [each for each in sensible if len(each) <= budget]
    if fitting:
        assert max(fitting, key=len) == trim_messages(messages, max_tokens=budget, token_counter=len, **more)
    else:
        with pytest.raises(CannotTrim) as caught:
            trim_messages(messages, max_tokens=budget, token_counter=len, **more)
        assert min(map(len, sensible)) == caught.value.smallest
        assert budget == caught.value.max_tokens


def test_the_system_message_goes_before_any_turn_unless_it_is_asked_for():
    messages = [SYSTEM, SystemMessage("And kind."), AIMessage("Hello!"), *turns(0, 0)]
    kept = [trim_messages(messages, max_tokens=n, token_counter=len) for n in (6, 5, 3)]
    assert [messages, messages[3:], messages[3:]] == kept
    kept = [trim_messages(messages, max_tokens=n, token_counter=len, include_system=True) for n in (5, 4, 3)]
    assert [[*messages[:2], *messages[3:]], [*messages[:2], *messages[5:]], [*messages[:2], *messages[5:]]] == kept


@pytest.mark.parametrize("include_system", [True, False])
@pytest.mark.parametrize("strategy", ["first", "last"])
@pytest.mark.parametrize("host", [None, "api.deepseek.com"])
def test_without_a_turn_nothing_goes_and_what_is_too_much_is_told(host, strategy, include_system):
    """langchain-core keeps the last that fits, or nothing at all; an empty request is refused by every host."""
    if strategy == "first" and include_system:
        pytest.skip("langchain-core refuses it")
    messages = [SYSTEM, SystemMessage("And kind.")]
    trimmed = partial(
        trim_messages, messages, token_counter=len, strategy=strategy, include_system=include_system, host=host
    )
    assert messages is trimmed(max_tokens=2)
    for budget in (1, 0):
        with pytest.raises(CannotTrim, match=f"max_tokens={budget}: .* 2 tokens; give at least max_tokens=2") as caught:
            trimmed(max_tokens=budget)
        assert (2, budget) == (caught.value.smallest, caught.value.max_tokens)
    assert [] == trim_messages([], max_tokens=0, token_counter=len, host=host)


def model_to_come():
    return pytest.importorskip("langchain.chat_models").init_chat_model(configurable_fields="any")


CONFIGURABLE = {
    "fields": lambda: Model().configurable_fields(model=ConfigurableField(id="model")),
    "alternatives": lambda: Model().configurable_alternatives(ConfigurableField(id="which"), other=Model()),
    "a model to come": model_to_come,
    "its binding": lambda: model_to_come().bind_tools([]),
    "a binding of fields": lambda: Model().configurable_fields(model=ConfigurableField(id="model")).bind(stop=["x"]),
}


@pytest.mark.parametrize("name", CONFIGURABLE)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_configurable_model_is_refused_with_the_fix_wherever_it_is_given(name, wrapped):
    model = CONFIGURABLE[name]()
    model = with_reasoning_replay(model) if wrapped else model
    for door in (
        partial(trim_messages, max_tokens=9, model=model),
        partial(trim_messages, max_tokens=9, token_counter=model),
        partial(token_counter_of, model),
    ):
        with pytest.raises(TypeError, match=r"a configurable model: .*give the model that it will be.* or host="):
            door()


def test_where_all_fits_it_is_the_very_same_list_and_else_the_same_messages():
    messages = turns(1, 1, 1)
    before = json.dumps([m.model_dump() for m in messages])
    assert messages is trim_messages(messages, max_tokens=99, token_counter=len)
    assert messages is trim_messages(messages, max_tokens=99, token_counter=len, strategy="first")
    kept = trim_messages(messages, max_tokens=8, token_counter=len)
    assert 7 == len(kept)
    assert lasts(messages, kept)
    assert before == json.dumps([m.model_dump() for m in messages])
    assert [] == trim_messages([], max_tokens=0, token_counter=len)
    assert [] == trim_messages([], max_tokens=0, token_counter=len, strategy="first", end_on="ai")


# What langchain-core would part ---------------------------------------------------------------------------------------


def test_langchain_core_cuts_a_thinking_block_and_keeps_its_call_and_here_that_is_refused():
    messages = turns(1, origin=CLAUDE)

    def blocks(rows):
        return sum(len(m.content) if isinstance(m.content, list) else 1 for m in rows)

    cut = cores(messages, max_tokens=2, token_counter=blocks, allow_partial=True)
    assert [["tool_use"], "3C"] == [[block["type"] for block in cut[0].content], cut[1].content]
    with pytest.raises(ValueError, match="allow_partial=True cuts a message apart") as caught:
        trim_messages(messages, max_tokens=2, token_counter=blocks, allow_partial=True)
    assert not isinstance(caught.value, CannotTrim)
    with pytest.raises(CannotTrim, match="the running turn is never cut apart") as caught:
        trim_messages(messages, max_tokens=2, token_counter=blocks)
    assert 4 == caught.value.smallest
    assert messages is trim_messages(messages, max_tokens=4, token_counter=blocks)


def test_an_end_between_a_call_and_its_result_moves_back_to_one_that_is_not():
    messages = turns(1, 2, done=False)  # q0 call result answer, q1 call result call result
    kept = trim_messages(messages, max_tokens=99, token_counter=len, end_on="ai")
    assert messages[:4] == kept
    assert isinstance(
        cores(messages, max_tokens=99, token_counter=len, end_on="ai")[-1], AIMessage
    )  # and its calls open
    assert messages[:4] == trim_messages(messages, max_tokens=99, token_counter=len, end_on="ai", strategy="first")
    with pytest.raises(
        ValueError, match=r"end_on='ai': every message of that type stands between a call and its result"
    ):
        trim_messages(turns(1), max_tokens=99, token_counter=len, end_on="ai")
    open_call = [HumanMessage("q"), reply(DEEPSEEK, calls=[call("c")])]
    assert open_call is trim_messages(open_call, max_tokens=99, token_counter=len, end_on="ai")  # it has no result yet


def test_parallel_calls_end_with_the_last_of_their_results():
    calls = [call("a"), call("b")]
    results = [ToolMessage("1", tool_call_id="a"), ToolMessage("2", tool_call_id="b")]
    messages = [HumanMessage("q"), reply(DEEPSEEK, calls=calls), *results, reply(DEEPSEEK, "done")]
    assert messages[:4] == trim_messages(messages, max_tokens=99, token_counter=len, end_on=ToolMessage)


def test_a_users_word_between_a_call_and_its_result_does_not_part_them():
    messages = [*turns(0, 0)[:2], HumanMessage("q"), reply(DEEPSEEK, calls=[call("a")]), HumanMessage("hurry")]
    messages.append(ToolMessage("1", tool_call_id="a"))
    assert messages[2:] == trim_messages(messages, max_tokens=4, token_counter=len)
    with pytest.raises(CannotTrim):
        trim_messages(messages, max_tokens=3, token_counter=len)


@pytest.mark.parametrize("start_on", ["ai", AIMessage, ("tool", "system")])
def test_a_start_inside_a_turn_is_refused(start_on):
    with pytest.raises(ValueError, match="only whole turns are kept, and a turn begins with a human message"):
        trim_messages(turns(1, 1), max_tokens=99, token_counter=len, start_on=start_on)


@pytest.mark.parametrize("host", ["api.anthropic.com", "gateway.corp.example"])
def test_blocks_that_are_bound_to_what_is_gone_go_and_others_stay(host):
    """At a URL of the caller's own too: there the class that speaks this dialect says which rule a call was under."""
    binding = Origin(host, dialect="anthropic", model="claude-fable-5-1")
    messages = [SYSTEM, *turns(0, 1, 0, origin=binding)[:-1], *turns(1, 0, origin=CLAUDE)]
    assert messages is trim_messages(messages, max_tokens=99, token_counter=len)
    kept = trim_messages(messages, max_tokens=len(messages) - 1, token_counter=len)  # without the system message
    assert [block["type"] for m in kept if isinstance(m.content, list) for block in m.content] == [
        *("text", "tool_use", "text"),
        *("thinking", "tool_use", "thinking", "text"),
    ]
    assert lasts(messages, kept[6:])
    first = trim_messages(messages, max_tokens=6, token_counter=len, strategy="first")
    assert messages[:3] == first  # nothing stands before them that is gone


# For a host -----------------------------------------------------------------------------------------------------------


class Model(BaseChatModel):
    """A class of nobody's at a host of its own, which counts ten a message."""

    base_url: str = "https://api.deepseek.com/v1"
    model: str = "deepseek-v4-pro"

    @property
    def _llm_type(self):
        return "model"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(len(messages))))])

    def get_num_tokens_from_messages(self, messages, tools=None):
        return 10 * len(messages)


AT = {"host": "https://api.deepseek.com/v1", "model": "deepseek-v4-pro"}
TOOL = {"type": "function", "function": {"name": "f", "description": "d" * 99, "parameters": {"type": "object"}}}
BOUND = {"form": "langchain", "request": {"tools": [TOOL]}, **AT}
AIMS = {
    "a model": {"model": Model().bind(tools=[TOOL])},
    "a wrapped one": {"model": with_reasoning_replay(Model().bind(tools=[TOOL]))},
    "a binding of one": {"model": with_reasoning_replay(Model()).bind(tools=[TOOL]).with_config(tags=["t"])},
    "its counter": {"token_counter": token_counter_of(Model().bind(tools=[TOOL]))},
}


@pytest.mark.parametrize("aim", AIMS)
def test_the_size_is_what_the_host_would_bill(aim):
    messages = turns(1, 1, 1)
    sizes = {n: count_tokens(messages[n:], **BOUND) for n in (0, 4, 8)}
    for at, size in sizes.items():
        assert lasts(messages, trim_messages(messages, max_tokens=size, **AIMS[aim]))
        assert len(messages) - at == len(trim_messages(messages, max_tokens=size, **AIMS[aim]))
    with pytest.raises(CannotTrim) as caught:
        trim_messages(messages, max_tokens=sizes[8] - 1, **AIMS[aim])
    assert sizes[8] == caught.value.smallest


def test_a_model_that_counts_says_the_host_too_and_is_given_what_would_be_sent():
    for model in (Model(), with_reasoning_replay(Model()), Model().bind(stop=["x"])):
        if hasattr(model, "get_num_tokens_from_messages"):
            assert 7 == len(trim_messages(turns(1, 1, 1), max_tokens=70, token_counter=model))
    seen = []

    def counter(messages):
        seen.append(messages)
        return len(messages)

    bare = [HumanMessage("q"), AIMessage([{"type": "thinking", "thinking": "x", "signature": "s"}]), HumanMessage("r")]
    assert bare is trim_messages(bare, max_tokens=2, token_counter=counter, **AT)
    assert bare is trim_messages(bare, max_tokens=2, token_counter=counter, strategy="first", **AT)
    assert ["q", "r"] == [m.content for m in seen[-1]]  # nobody may be sent the thinking of nobody knows whom


def test_a_wrapped_model_that_counts_is_not_asked_to_plan_what_is_planned():
    seen = []

    class Counts(Model):
        def get_num_tokens_from_messages(self, messages, tools=None):
            seen.append(type(messages))
            return len(messages)

    assert 3 == len(trim_messages(turns(1, 1, 1), max_tokens=3, token_counter=with_reasoning_replay(Counts())))
    assert {list} == {*seen}


def test_a_host_by_name_is_counted_as_for_a_request_with_tools():
    messages = turns(1, 1, 1)
    size = count_tokens(messages[4:], form="langchain", **AT)
    assert 7 == len(trim_messages(messages, max_tokens=size, **AT))
    assert 7 == len(trim_messages(messages, max_tokens=size, token_counter=token_counter_of(**AT)))


def test_tools_that_are_bound_to_the_model_count():
    messages = turns(0, 0)
    sizes = [token_counter_of(model)(messages) for model in (Model(), Model().bind(tools=[TOOL]))]
    assert sizes[0] + 20 < sizes[1]


def test_reasoning_of_earlier_turns_goes_before_a_turn_does_where_the_host_does_not_demand_it():
    origin = Origin("openrouter.ai", model="z-ai/glm-4.6")
    messages = turns(1, 1, 1, origin=origin)
    at = {"host": "https://openrouter.ai/api/v1", "model": "z-ai/glm-4.6"}
    size = count_tokens(messages, form="langchain", **at)
    kept = trim_messages(messages, max_tokens=size - 1, **at)
    assert len(messages) == len(kept)
    assert lasts(messages, kept[-3:])
    assert "reasoning_content" not in kept[1].additional_kwargs


def test_the_counter_works_in_langchains_own_doors():
    counter = token_counter_of(Model().bind(tools=[TOOL]))
    messages = turns(1, 1, 0)
    assert counter(messages) == count_tokens(messages, **BOUND)
    assert counter(iter(messages)) == counter(messages) == counter([*messages])
    assert counter([("human", "q")]) == counter(HumanMessage("q")) > 0
    assert 1 == len(cores(messages, max_tokens=counter(messages[-1:]), token_counter=counter))
    assert "token_counter_of(<aim: Origin(host='api.deepseek.com'" in repr(counter)


def test_the_policy_and_the_store_of_a_wrapped_model_count_too():
    messages = turns(1, 1, origin=Origin("10.0.0.1:8000", model="deepseek-v4-pro"))
    model = Model(base_url="http://10.0.0.1:8000/v1").bind(tools=[TOOL])
    policy = Policy(aliases={"10.0.0.1:8000": "deepseek"})
    size = token_counter_of(with_reasoning_replay(model, policy, known=MemoryStore()))(messages)
    assert size > token_counter_of(model)(messages)
    assert size == token_counter_of(model, policy=policy)(messages)


# As a Runnable --------------------------------------------------------------------------------------------------------


async def _later(runnable, given):
    return await runnable.ainvoke(given)


def test_without_messages_it_is_a_runnable_that_trims_what_it_is_given():
    messages = turns(1, 1, 0)
    runnable = trim_messages(max_tokens=1, token_counter=len)
    assert "trim_messages" == runnable.get_name()
    assert messages[-1:] == runnable.invoke(messages) == run(_later(runnable, messages))
    prompt = ChatPromptTemplate([("system", "s"), ("placeholder", "{rows}")])
    chain = prompt | trim_messages(max_tokens=2, token_counter=len, include_system=True) | Model()
    assert "2" == chain.invoke({"rows": messages}).content
    assert [HumanMessage("a")] == trim_messages([("human", "a")], max_tokens=9, token_counter=len)
    assert "1" == (RunnableLambda(lambda _: messages) | runnable | Model()).invoke(None).content


# What is wrong --------------------------------------------------------------------------------------------------------

WRONG = [
    ({"token_counter": "tiktoken"}, ValueError, r"Invalid token_counter shortcut 'tiktoken'. Available shortcuts: 'approximate'."),
    ({"token_counter": 3}, ValueError, "'token_counter' expected to be a model"),
    ({"token_counter": len, "strategy": "middle"}, ValueError, "Unrecognized strategy='middle'. Supported strategies are"),
    ({"token_counter": len, "strategy": "first", "start_on": "human"}, ValueError, "start_on parameter is only valid with"),
    ({"token_counter": len, "strategy": "first", "include_system": True}, ValueError, "include_system parameter is only"),
    ({"token_counter": len, "allow_partial": True}, ValueError, "allow_partial=True cuts a message apart"),
    ({}, TypeError, "nothing says how tokens are counted; give model="),
    ({"max_tokens": "9", "token_counter": len}, TypeError, "max_tokens is a str; allowed: a whole number"),
    ({"max_tokens": True, "token_counter": len}, TypeError, "max_tokens is a bool"),
    ({"model": "deepseek-v4-pro"}, TypeError, "model='deepseek-v4-pro' says no host; give host= beside it"),
    ({"model": Model(), "host": "x.example"}, TypeError, "model is a Model, which has a host of its own; leave host= out"),
    ({"model": Model().with_fallbacks([Model()])}, TypeError, "model is a RunnableWithFallbacks that has no single host"),
    ({"model": 3}, TypeError, "model is a int; allowed: a chat model, a binding of one, or a name beside host="),
    ({"host": "not a host"}, OriginError, "contains white space"),
    ({"host": "x.example", "dialect": "latin"}, OriginError, "dialect 'latin': not known"),
    ({"host": "x.example", "policy": "drop"}, BadPolicy, "policy: a str; allowed: a Policy, or None"),
    ({"host": "x.example", "known": 3}, TypeError, "known"),
    ({"token_counter": len, "size": 3}, TypeError, "size"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "kind", "match"), WRONG)
def test_what_is_wrong_is_told_when_the_runnable_is_made(more, kind, match):
    with pytest.raises(kind, match=match.replace("(", r"\(")):
        trim_messages(**{"max_tokens": 9, **more})


def test_a_counter_needs_a_host_and_messages_must_be_readable():
    with pytest.raises(TypeError, match="token_counter_of: no model; give a chat model, or host= and the model's name"):
        token_counter_of()
    broken = [HumanMessage("q"), AIMessage("a").model_copy(update={"content": 3}), *turns(0)]
    with pytest.raises(HistoryError, match=r"messages\[1\].content: a int"):
        trim_messages(broken, max_tokens=1, token_counter=len)


# At strict hosts ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calls():
    """One way to call a model of each class, and the end of what vendors' clients leave."""
    for package in ("langchain_deepseek", "langchain_anthropic", "deepseek_recipe"):
        pytest.importorskip(package)
    import langchain_calls

    yield langchain_calls
    langchain_calls.collected()


def claude(calls, host, model="claude-sonnet-4-5", **more):
    from langchain_anthropic import ChatAnthropic

    known = {"base_url": host.url, "api_key": calls.KEY, "max_retries": 0, "max_tokens": 4096}
    return ChatAnthropic(model=model, **known, **more)


KINDS = {
    "deepseek": ("deepseek", lambda calls, host: calls.chat_deepseek(host)),
    "claude": ("anthropic", lambda calls, host: calls.chat_anthropic(host)),
    "claude 5.1": (
        "anthropic",
        lambda calls, host: claude(calls, host, "claude-fable-5-1", thinking={"type": "adaptive"}),
    ),
    "openrouter": ("openrouter", lambda calls, host: calls.chat_deepseek(host)),
    "responses": (
        "openai-responses",
        lambda calls, host: calls.chat_openai(host, use_responses_api=True, store=False, reasoning={"effort": "low"}),
    ),
    "moonshot": ("moonshot", lambda calls, host: calls.chat_moonshot(host)),
}
"""Name → kind of strict host, and its model."""


def spread(sizes):
    """A few budgets: the smallest one that can be kept, the whole, and some between."""
    low, high = sizes
    return sorted({low, *range(low, high, max(1, (high - low) // 4)), high - 1, high})


@pytest.mark.moves_prefix("every budget makes another history of the same turn")
@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *((kind, "v1") for kind in ("deepseek", "claude 5.1", "openrouter")),
        *(pytest.param(kind, "v1", marks=pytest.mark.slow) for kind in ("claude", "responses", "moonshot")),
        *(pytest.param(kind, None, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_every_budget_leaves_what_a_strict_host_takes(kind, version, strict_hosts, calls):
    """Turns at two hosts and a running loop; what is left goes on at each of the two."""
    names = [kind, "claude" if kind == "deepseek" else "deepseek"]
    hosts = [strict_hosts(KINDS[name][0], steps=1) for name in names]
    policy = Policy(aliases=aliases(hosts))
    more = {} if version is None else {"output_version": version}
    bare = [KINDS[name][1](calls, host).model_copy(update=more) for name, host in zip(names, hosts, strict=True)]
    models = [with_reasoning_replay(model, policy).bind_tools([calls.get_weather]) for model in bare]
    messages = [SYSTEM]
    for number in (0, 1, 0):
        calls.turn("invoke", models[number], messages, "How is the weather?")
    messages.append(HumanMessage("And now?"))
    for model in models:
        running = [*messages]
        calls.append(running, model.invoke(running))  # in the middle of a loop
        size = token_counter_of(model)
        with pytest.raises(CannotTrim) as caught:
            trim_messages(running, max_tokens=0, model=model, include_system=True)
        for budget in spread((caught.value.smallest, size(running))):
            kept = trim_messages(running, max_tokens=budget, model=model, include_system=True)
            assert size(kept) <= budget
            assert SYSTEM is kept[0]
            model.invoke(kept)
        for count in (3, len(running) - 1):
            model.invoke(trim_messages(running, max_tokens=count, token_counter=len, policy=policy))
    assert {200} == {status for host in hosts for status in calls.statuses(host)}
