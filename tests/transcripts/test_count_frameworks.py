"""Counting beside the frameworks: `litellm.token_counter`'s arguments, LangChain's messages, and what their own counters say."""

import json
from functools import partial
from inspect import signature

import pytest

litellm = pytest.importorskip("litellm")
pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

from count_judges import VENDORS, histories
from reasoning_replay import MemoryStore, Origin, Policy, adopt, prepare
from reasoning_replay.litellm import ReasoningReplay
from reasoning_replay.litellm import count_tokens as by_litellm
from reasoning_replay.transcripts import count_tokens, counted

DEEPSEEK = {"host": "api.deepseek.com", "model": "deepseek-v4-pro"}


def as_langchain(messages):
    """The chat messages as LangChain's classes keep them."""
    out = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            calls = [
                {
                    "name": call["function"]["name"],
                    "args": json.loads(call["function"]["arguments"]),
                    "id": call["id"],
                    "type": "tool_call",
                }
                for call in message.get("tool_calls", ())
            ]
            thought = message.get("reasoning_content")
            kwargs = {} if thought is None else {"reasoning_content": thought}
            out.append(AIMessage(content=content, tool_calls=calls, additional_kwargs=kwargs))
        elif role == "tool":
            out.append(ToolMessage(content=content, tool_call_id=message["tool_call_id"]))
        else:
            out.append((SystemMessage if role == "system" else HumanMessage)(content=content))
    return out


def unmarked(messages):
    return [{key: value for key, value in message.items() if key != "provider_specific_fields"} for message in messages]


def test_langchains_messages_count_as_the_chat_messages_that_they_become():
    origin = Origin("api.deepseek.com", model="deepseek-v4-pro")
    for history in histories("deepseek v4")[::5]:
        messages = adopt(as_langchain(unmarked(history.messages)), origin, form="langchain")
        ours = partial(counted, request=history.request, known=MemoryStore(), **DEEPSEEK)
        assert ours(history.messages) == ours(messages, form="langchain")


def test_a_reply_of_langchains_tells_by_its_usage_what_is_sealed():
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA" * 800}
    usage = {"input_tokens": 9, "output_tokens": 20, "total_tokens": 29, "output_token_details": {"reasoning": 6}}
    where = {"host": "api.openai.com", "model": "gpt-5.4", "dialect": "responses"}
    reply = AIMessage(content=[item, {"type": "text", "text": "3 degrees"}], usage_metadata=usage)
    messages = adopt([HumanMessage("where"), reply], Origin(**where), form="langchain")
    found = counted(messages, form="langchain", encode=len, **where)
    assert (0, 6) == (found.reasoning, found.sealed)
    assert count_tokens_approximately([reply]) > 900  # as text


def test_a_partial_is_a_token_counter_of_langchains():
    messages = adopt(as_langchain(unmarked(histories("deepseek v4")[0].messages)), Origin(**DEEPSEEK), form="langchain")
    counter = partial(count_tokens, form="langchain", known=MemoryStore(), **DEEPSEEK)
    half = counter(messages) // 2
    assert counter(trim_messages(messages, max_tokens=half, token_counter=counter, start_on="human")) <= half


def test_litellms_door_counts_for_the_host_that_its_model_name_means():
    for vendor, name in (("deepseek v4", "deepseek/deepseek-v4-pro"), ("gpt-oss", "groq/openai/gpt-oss-120b")):
        for history in histories(vendor)[::10]:
            where = {"host": VENDORS[vendor].host, "model": VENDORS[vendor].model}
            wanted = count_tokens(
                history.messages, form="litellm", request=history.request, known=MemoryStore(), **where
            )
            assert wanted == by_litellm(model=name, messages=history.messages, known=MemoryStore(), **history.request)


def test_litellms_door_reads_the_base_of_the_call_and_the_callbacks_policy():
    history = histories("deepseek v4")[1]
    bare = unmarked(history.messages)
    ask = partial(by_litellm, "deepseek/deepseek-v4-pro", known=MemoryStore(), **history.request)
    assert ask(history.messages) > ask(bare) == ask(history.messages, api_base="https://elsewhere.example/v1")
    callback = ReasoningReplay(Policy(unknown_origin="trust"))
    try:
        assert ask(history.messages) == ask(bare)
        assert ask(history.messages) > ask(bare, policy=Policy())
    finally:
        callback.uninstall()


def test_litellms_door_speaks_claudes_dialect_for_claude():
    block = {"type": "thinking", "thinking": "", "signature": "A" * 4000}
    messages = [
        {"role": "user", "content": "where"},
        {"role": "assistant", "content": "3 degrees", "thinking_blocks": [block]},
        {"role": "user", "content": "and now"},
    ]
    origin = Origin("api.anthropic.com", model="claude-opus-4-6", dialect="anthropic")
    own = adopt(messages, origin, form="litellm")
    ask = partial(by_litellm, model="anthropic/claude-opus-4-6", thinking={"type": "adaptive"}, known=MemoryStore())
    assert 256 == ask(messages=own) - ask(messages=messages) - 3


def test_a_provider_that_litellm_does_not_know_is_its_own_error():
    with pytest.raises(litellm.BadRequestError, match="LLM Provider NOT provided"):
        by_litellm("some-model", [])


REFUSED = {
    "text": ("hello", "give messages="),
    "custom_tokenizer": ({"type": "huggingface_tokenizer"}, "give encode="),
    "count_response_tokens": (True, "what is counted is a prompt"),
    "use_default_image_token_count": (True, "no picture is fetched"),
    "default_token_count": (7, "raises an error that says why"),
}


def test_litellms_door_takes_or_refuses_by_name_every_argument_of_litellms_own_counter():
    own, ours = (signature(each).parameters for each in (litellm.token_counter, by_litellm))
    assert set(REFUSED) == set(own) - set(ours)


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_of_litellms_counter_that_means_nothing_here_is_refused_with_the_fix(name):
    value, fix = REFUSED[name]
    ask = partial(by_litellm, "deepseek/deepseek-v4-pro")
    messages = [{"role": "user", "content": "hello"}]
    with pytest.raises(TypeError, match=f"count_tokens: {name}=: .*{fix}"):
        ask(messages, **{name: value})
    with pytest.raises(TypeError, match=name):
        ask(**{name: value})
    default = signature(litellm.token_counter).parameters[name].default
    assert ask(messages) == ask(messages, **{name: default})


def test_litellms_door_without_messages_says_so():
    with pytest.raises(TypeError, match="count_tokens: messages is None; give the messages of the call, a list"):
        by_litellm("deepseek/deepseek-v4-pro")


def test_the_frameworks_own_counters_are_far_off_where_ours_is_near():
    """The table of the README: LiteLLM counts what is not sent, and not the words of the template; LangChain no reasoning."""
    pytest.importorskip("openai_harmony")
    judge, host, model, key, _ = VENDORS["gpt-oss"]
    off = {"ours": [], "litellm": [], "langchain": []}
    for history in [each for each in histories("gpt-oss") if each.request][::4]:
        plan = prepare(history.messages, host=host, model=model, request=history.request, known=MemoryStore())
        wanted = judge({"model": model, **history.request, "messages": plan.messages})
        bare = [
            {"reasoning_content" if name == key else name: value for name, value in each.items()}
            for each in unmarked(history.messages)
        ]
        said = {
            "ours": count_tokens(
                history.messages, host=host, model=model, request=history.request, known=MemoryStore()
            ),
            "litellm": litellm.token_counter(model=f"groq/{model}", messages=bare, tools=history.request["tools"]),
            "langchain": count_tokens_approximately(as_langchain(bare), tools=history.request["tools"]),
        }
        for name, number in said.items():
            off[name].append(abs(number - wanted) / wanted)
    assert max(off["ours"]) < 0.015
    assert sum(off["litellm"]) / len(off["litellm"]) > 0.2
    assert sum(off["langchain"]) / len(off["langchain"]) > 0.1


def test_a_sealed_part_is_text_to_langchain_and_nothing_to_litellm():
    block = {"type": "thinking", "thinking": "", "signature": "EqRk" * 1000}
    said = {"type": "text", "text": "3 degrees"}
    assert count_tokens_approximately([AIMessage(content=[block, said])]) > 1000
    with_block, without = ({"role": "assistant", "content": each} for each in ([block, said], [said]))
    ask = partial(litellm.token_counter, model="anthropic/claude-opus-4-6")
    assert ask(messages=[with_block]) == ask(messages=[without])
