"""One way to run each kind of LangChain call, for tests: `MODES` maps a name to a function that gives a whole reply."""

import gc
import warnings
from functools import partial

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from one_loop import run
from reasoning_replay import Policy
from reasoning_replay.testing import aliases

KEY = "k"


def collected():
    """Let go of what the vendors' clients left. CPython 3.11.7's ast.parse breaks when a finaliser runs inside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
        gc.freeze()


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "3C"


def wrap(model, *hosts, **policy):
    """The wrapped model, with the strict hosts treated as the real ones."""
    from reasoning_replay.langchain import with_reasoning_replay

    return with_reasoning_replay(model, Policy(aliases=aliases(hosts), **policy))


def bare(model, *hosts):
    """The model as it is: a baseline."""
    return model


def chat_openai(host, **more):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(base_url=host.url, model=more.pop("model", host.model), api_key=KEY, max_retries=0, **more)


def chat_deepseek(host, **more):
    from langchain_deepseek import ChatDeepSeek

    return ChatDeepSeek(api_base=host.url, model=host.model, api_key=KEY, max_retries=0, **more)


def chat_anthropic(host, **more):
    from langchain_anthropic import ChatAnthropic

    thinking = {"type": "enabled", "budget_tokens": 1024}
    return ChatAnthropic(
        base_url=host.url, model=host.model, api_key=KEY, max_retries=0, max_tokens=4096, thinking=thinking, **more
    )


def chat_moonshot(host, **more):
    from langchain_moonshot import ChatMoonshot

    return ChatMoonshot(api_base=host.url, model=host.model, api_key=KEY, max_retries=0, **more)


CLASSES = {"ChatDeepSeek": chat_deepseek, "ChatOpenAI": chat_openai}
"""The two that fail at DeepSeek today."""


# How a reply is asked for ---------------------------------------------------------------------------------------------


def added(chunks):
    """The sum of a stream's chunks."""
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


async def _astream(model, messages, **more):
    return added([chunk async for chunk in model.astream(messages, **more)])


async def _av3(model, messages, **more):
    return await (await model.astream_events(messages, version="v3", **more))


MODES = {
    "invoke": lambda model, messages, **more: model.invoke(messages, **more),
    "stream": lambda model, messages, **more: added(model.stream(messages, **more)),
    "ainvoke": lambda model, messages, **more: run(model.ainvoke(messages, **more)),
    "astream": lambda model, messages, **more: run(_astream(model, messages, **more)),
    "batch": lambda model, messages, **more: model.batch([messages], **more)[0],
    "abatch": lambda model, messages, **more: run(model.abatch([messages], **more))[0],
    "v3": lambda model, messages, **more: model.stream_events(messages, version="v3", **more).output,
    "async v3": lambda model, messages, **more: run(_av3(model, messages, **more)),
}


def turn(mode, model, messages, text="How is the weather?", **more):
    """One user turn: the tool loop to its end. Appends to `messages`; gives the last reply."""
    messages.append(HumanMessage(text))
    return go_on(mode, model, messages, **more)


def go_on(mode, model, messages, limit=8, **more):
    """The rest of a running tool loop."""
    for _ in range(limit):
        reply = MODES[mode](model, messages, **more)
        if not append(messages, reply):
            return reply
    raise AssertionError(f"no answer within {limit} steps")


def append(messages, reply):
    """Appends a reply and the results of its calls; whether there were any."""
    messages.append(reply)
    messages += [ToolMessage(get_weather.invoke(c["args"]), tool_call_id=c["id"]) for c in reply.tool_calls]
    return bool(reply.tool_calls)


def replies_in(messages):
    """The model's own messages."""
    return [message for message in messages if isinstance(message, AIMessage)]


def statuses(host):
    """What the host answered to each request."""
    return [request.status for request in host.requests]


# How an agent is run --------------------------------------------------------------------------------------------------


async def _agent_astream(agent, state, config):
    return [step async for step in agent.astream(state, config, stream_mode="values")][-1]


def _agent_stream(agent, state, config):
    return list(agent.stream(state, config, stream_mode="values"))[-1]


def _agent_messages(agent, state, config):
    """Token by token: the models inside are streamed."""
    last = None
    for kind, step in agent.stream(state, config, stream_mode=["messages", "values"]):
        last = step if kind == "values" else last
    return last


def _agent_v3(agent, state, config):
    return agent.stream_events(state, config, version="v3").output


AGENT_MODES = {
    "invoke": lambda agent, state, config: agent.invoke(state, config),
    "ainvoke": lambda agent, state, config: run(agent.ainvoke(state, config)),
    "stream": _agent_stream,
    "stream of messages": _agent_messages,
    "astream": lambda agent, state, config: run(_agent_astream(agent, state, config)),
    "v3": _agent_v3,
}


def ask(mode, agent, text="How is the weather?", config=None, before=()):
    """An agent run in one of AGENT_MODES: its last state."""
    return AGENT_MODES[mode](agent, {"messages": [*before, HumanMessage(text)]}, config)


asking = partial(ask, "invoke")
