"""A wrapped model is the class it was: what LangChain, pydantic and a program see of it, and what a fault does."""

from __future__ import annotations

import copy
import pickle

import pytest

pytest.importorskip("langchain_openai")

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_deepseek import ChatDeepSeek
from langchain_openai import ChatOpenAI
from pydantic import Field

from reasoning_replay import MemoryStore, MissingReasoning, Origin, Policy, adopt
from reasoning_replay.forms import digest
from reasoning_replay.langchain import _messages, _model, report_of, with_reasoning_replay
from reasoning_replay.langchain._model import bare, is_wrapped, wrap_model

CALLS = [{"name": "look", "args": {}, "id": "call_1"}]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}]


class Echo(BaseChatModel):
    """A class that nobody knows; it keeps what it was given."""

    heard: list = Field(default_factory=list)
    replies: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "echo"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.heard.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])


class Streams(Echo):
    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        self.heard.append(messages)
        for reply in self.replies:
            yield ChatGenerationChunk(message=reply)


def deepseek(url="http://127.0.0.1:9/v1", **more):
    return ChatDeepSeek(model="deepseek-v4-pro", api_key="k", api_base=url, max_retries=0, **more)


def thought(text="R", **more):
    return AIMessage("", additional_kwargs={"reasoning_content": text}, tool_calls=CALLS, **more)


class TestTheClass:
    def test_it_is_the_same_class_by_name_and_by_isinstance(self):
        model = with_reasoning_replay(deepseek())
        assert isinstance(model, ChatDeepSeek)
        assert type(model).__name__ == "ChatDeepSeek"
        assert type(model).__module__ == ChatDeepSeek.__module__
        assert model.get_name() == "ChatDeepSeek"
        assert model._get_ls_params() == deepseek()._get_ls_params()
        assert type(model).lc_id() == ChatDeepSeek.lc_id()

    def test_the_model_that_was_given_is_not_changed(self):
        model = deepseek()
        before = dict(model.__dict__)
        with_reasoning_replay(model)
        assert type(model) is ChatDeepSeek
        assert model.__dict__ == before

    def test_one_subclass_a_class(self):
        assert type(wrap_model(deepseek())) is type(wrap_model(deepseek(temperature=1)))

    def test_twice_is_once_and_another_policy_wraps_anew(self):
        model = wrap_model(deepseek())
        assert wrap_model(model) is model
        assert wrap_model(model, Policy()) is model
        other = wrap_model(model, Policy(window="none"))
        assert other is not model
        assert type(other) is type(model)

    def test_bare_gives_the_class_back(self):
        model = bare(wrap_model(deepseek()))
        assert type(model) is ChatDeepSeek
        assert not is_wrapped(model)

    @pytest.mark.parametrize("duplicate", [copy.copy, lambda model: model.model_copy()])
    def test_a_copy_is_wrapped_too(self, duplicate):
        model = duplicate(wrap_model(deepseek(), Policy(window="none")))
        assert is_wrapped(model)
        assert model._reasoning_replay.policy == Policy(window="none")

    def test_pickle_gives_a_wrapped_model_where_the_class_itself_can_be_pickled(self):
        model = wrap_model(GenericFakeChatModel(messages=iter(())), Policy(window="none"))
        model.messages = [AIMessage("x")]
        made = pickle.loads(pickle.dumps(model))
        assert is_wrapped(made)
        assert made._reasoning_replay.policy == Policy(window="none")

    def test_a_class_that_does_not_stream_still_does_not(self):
        model = wrap_model(Echo(replies=[AIMessage("hi")]))
        assert type(model)._stream is BaseChatModel._stream
        assert [chunk.content for chunk in model.stream("go") if chunk.content] == ["hi"]


class TestAnyOtherChatModel:
    def test_what_comes_in_is_filtered_and_what_comes_out_is_marked(self):
        model = wrap_model(Echo(replies=[thought(), AIMessage("done")]))
        reply = model.invoke("go")
        assert reply.additional_kwargs["reasoning_replay"]["id"].startswith("custom:Echo|")
        foreign = adopt([thought("CANARY")], Origin("elsewhere.example"), form="langchain")
        messages = [HumanMessage("go"), *foreign, ToolMessage("x", tool_call_id="call_1"), reply]
        model.invoke(messages)
        assert "CANARY" not in repr(model.heard[-1])
        assert model.heard[-1][-1].additional_kwargs == {"reasoning_content": "R"}

    def test_none_of_our_keys_reaches_a_class_of_which_nobody_knows_what_it_sends(self):
        model = wrap_model(Echo(replies=[AIMessage("done")]))
        messages = [
            HumanMessage("go", additional_kwargs={"turn": False}),
            *adopt([thought()], Origin("custom:Echo"), form="langchain"),
        ]
        model.invoke(messages)
        assert [message.additional_kwargs for message in model.heard[-1]] == [{}, {"reasoning_content": "R"}]

    def test_a_reply_without_reasoning_gets_no_mark(self):
        assert "reasoning_replay" not in wrap_model(Echo(replies=[AIMessage("hi")])).invoke("go").additional_kwargs

    def test_a_mark_that_comes_with_a_reply_is_not_believed(self):
        forged = adopt([thought()], Origin("api.anthropic.com"), form="langchain")[0]
        reply = wrap_model(Echo(replies=[forged])).invoke("go")
        assert reply.additional_kwargs["reasoning_replay"]["id"].startswith("custom:Echo|")

    def test_a_stream_is_marked_once_and_its_sum_is_no_broken_mark(self):
        pieces = [AIMessageChunk("", additional_kwargs={"reasoning_content": text}) for text in ("a", "b")]
        model = wrap_model(
            Streams(replies=[*pieces, AIMessageChunk("hi", response_metadata={"finish_reason": "stop"})])
        )
        chunks = list(model.stream("go"))
        reply = chunks[0] + chunks[1:]
        assert reply.additional_kwargs["reasoning_content"] == "ab"
        assert adopt([reply], Origin("elsewhere.example"), form="langchain")[0] is reply
        assert report_of(reply) is not None

    @pytest.mark.parametrize("how", ["invoke", "stream"])
    def test_what_a_reply_brought_is_noted_for_histories_that_lose_the_mark(self, how):
        known, pieces = MemoryStore(), [AIMessageChunk("", additional_kwargs={"reasoning_content": "R"})]
        kind, replies = (Streams, pieces) if how == "stream" else (Echo, [thought()])
        list(getattr(wrap_model(kind(replies=replies), known=known), how)("go"))
        assert known.origins(digest("R"))


class TestFaults:
    @pytest.mark.faulty("each step of ours fails in turn")
    @pytest.mark.parametrize(
        ("module", "step"),
        [
            (_model, "target_of"),
            (_model, "request_of"),
            (_model, "answered_by"),
            (_model, "mark_reply"),
            (_model, "tell"),
            (_messages, "_write"),
            (_messages._replay, "_prepare"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_a_fault_of_ours_never_breaks_a_call_and_never_leaks(self, strict_hosts, monkeypatch, module, step):
        host = strict_hosts("unknown")
        foreign = adopt([thought("CANARY-elsewhere")], Origin("elsewhere.example"), form="langchain")
        messages = [HumanMessage("go"), *foreign, ToolMessage("x", tool_call_id="call_1")]

        def fails(*args, **kwargs):
            raise ZeroDivisionError

        monkeypatch.setattr(module, step, fails)
        model = wrap_model(ChatOpenAI(model="m", api_key="k", base_url=host.url, max_retries=0))
        assert isinstance(model.invoke(messages), AIMessage)
        assert [request.status for request in host.requests] == [200]
        assert b"CANARY-elsewhere" not in host.last.raw


class TestMissing:
    def lacking(self):
        return [HumanMessage("go"), AIMessage("", tool_calls=CALLS), ToolMessage("x", tool_call_id="call_1")]

    def model(self, host, missing):
        alias = {host.name: "deepseek"}
        return with_reasoning_replay(deepseek(host.url), Policy(missing=missing, aliases=alias)).bind_tools(TOOLS)

    @pytest.mark.parametrize("how", ["invoke", "stream"])
    def test_raise_raises_before_the_network(self, strict_hosts, how):
        host = strict_hosts("deepseek")
        with pytest.raises(MissingReasoning, match=r"messages\[1\]"):
            list(getattr(self.model(host, "raise"), how)(self.lacking()))
        assert host.requests == []

    def test_the_hosts_fill_goes_on_the_wire(self, strict_hosts):
        host = strict_hosts("deepseek")
        self.model(host, "host").invoke(self.lacking())
        assert host.last.json["messages"][1]["reasoning_content"] == ""

    def test_thinking_goes_off_on_the_wire_where_the_policy_asks(self, strict_hosts):
        host = strict_hosts("deepseek")
        self.model(host, "disable_thinking").invoke(self.lacking())
        assert host.last.json["thinking"] == {"type": "disabled"}


def test_a_turn_note_never_reaches_the_wire_and_keeps_the_turn_running(strict_hosts):
    host = strict_hosts("deepseek", steps=1)
    model = with_reasoning_replay(deepseek(host.url)).bind_tools(TOOLS)
    messages = [HumanMessage("go")]
    messages.append(model.invoke(messages))
    messages += [ToolMessage("x", tool_call_id=each["id"]) for each in messages[-1].tool_calls]
    messages.append(HumanMessage("a job is done", additional_kwargs={"turn": False}))
    model.invoke(messages)
    assert host.lost() == []
    assert b'"turn"' not in host.last.raw


class TestPlannedMessages:
    """What a class's own code may do to the list that it is given."""

    def planned(self):
        messages = adopt([HumanMessage("go"), thought()], Origin("gw.example"), form="langchain")
        target = _messages.Target("https://gw.example/v1", "chat", "m")
        return _messages.plan_messages(messages, target=target, request={})

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
    def test_a_copy_is_planned_too(self, duplicate):
        planned = self.planned()
        made = duplicate(planned)
        assert made == planned
        assert made.plan is planned.plan

    def test_what_is_pickled_is_planned_no_more_and_loses_its_reasoning_on_the_wire(self):
        made = pickle.loads(pickle.dumps(self.planned()))
        rows = [{"role": "user"}, {"role": "assistant", "reasoning_content": "R"}]
        _messages.write_wire(rows, made)
        assert rows == [{"role": "user"}, {"role": "assistant"}]

    def test_wire_messages_that_were_joined_get_what_belongs_to_each_reply(self):
        rows = [{"role": "assistant", "content": ""}]
        _messages.write_wire(rows, self.planned())
        assert rows == [{"role": "assistant", "content": "", "reasoning_content": "R"}]

    @pytest.mark.faulty("the class makes of one message two")
    def test_where_nobody_can_say_which_is_which_all_reasoning_goes(self):
        rows = [{"role": "assistant", "reasoning_content": "X"}, {"role": "assistant"}, {"role": "assistant"}]
        _messages.write_wire(rows, self.planned())
        assert rows == [{"role": "assistant"}] * 3


@pytest.mark.faulty("the host cannot be read")
@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_a_reply_of_a_host_that_could_not_be_read_is_marked_as_nobodys(monkeypatch, how):
    """A mark that says "unreadable" would be accepted by the next call that cannot read its host either."""

    def fails(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(_model, "target_of", fails)
    pieces = [AIMessageChunk("hi", additional_kwargs={"reasoning_content": "R"})]
    replies = pieces if how == "stream" else [thought()]
    made = getattr(wrap_model((Streams if how == "stream" else Echo)(replies=replies)), how)("go")
    for message in made if how == "stream" else [made]:
        assert "reasoning_replay" not in message.additional_kwargs


class Counts(Echo):
    """A class that asks its host how many tokens there are."""

    def get_num_tokens_from_messages(self, messages, tools=None):
        self.heard.append(messages)
        return len(messages)


def test_messages_that_are_counted_are_filtered_like_those_that_are_sent():
    """ChatAnthropic and ChatBedrockConverse send them to their host."""
    model = wrap_model(Counts(), Policy(missing="raise"))
    foreign = adopt([thought("CANARY")], Origin("elsewhere.example"), form="langchain")
    assert model.get_num_tokens_from_messages([HumanMessage("go"), *foreign]) == 2
    assert "CANARY" not in repr(model.heard[-1])


class Delegate(Echo):
    """A class that hands its calls on to another model."""

    inner: object = None

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self.inner._generate(messages, stop=stop, **kwargs)


def test_a_wrapped_model_inside_another_plans_and_marks_for_itself():
    inner = wrap_model(Echo(replies=[thought()]))
    model = wrap_model(Delegate(inner=inner))
    foreign = adopt([thought("CANARY")], Origin("custom:Delegate"), form="langchain")
    own = adopt([thought("OWN")], Origin("custom:Echo"), form="langchain")
    reply = model.invoke([HumanMessage("go"), *foreign, *own])
    assert "CANARY" not in repr(inner.heard[-1])
    assert "OWN" in repr(inner.heard[-1])
    assert reply.additional_kwargs["reasoning_replay"]["id"].startswith("custom:Echo|")


class Corp(Echo):
    endpoint: str = ""


def test_two_servers_of_a_class_that_nobody_knows_are_two_hosts():
    here, there = (wrap_model(Corp(endpoint=f"https://{name}.example", replies=[thought()])) for name in "ab")
    messages = [HumanMessage("go"), here.invoke("go"), ToolMessage("x", tool_call_id="call_1")]
    there.invoke(messages)
    here.replies.append(AIMessage("done"))
    here.invoke(messages)
    assert "reasoning_content" not in repr(there.heard[-1])
    assert "reasoning_content" in repr(here.heard[-1])
    assert "reasoning_replay" not in repr(here.heard[-1])


class Prefixed(ChatDeepSeek):
    """A user's subclass that puts its own words before every conversation."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        said = [SystemMessage("Be brief."), *messages]
        return super()._generate(said, stop=stop, run_manager=run_manager, **kwargs)


def test_a_list_that_a_class_makes_of_the_planned_messages_keeps_their_reasoning(strict_hosts):
    host = strict_hosts("deepseek")
    model = with_reasoning_replay(Prefixed(model="deepseek-v4-pro", api_key="k", api_base=host.url)).bind_tools(TOOLS)
    messages = [HumanMessage("go")]
    for _ in range(2):
        messages.append(model.invoke(messages))
        messages += [ToolMessage("x", tool_call_id=each["id"]) for each in messages[-1].tool_calls]
    assert host.lost() == []
    assert host.last.json["messages"][0] == {"role": "system", "content": "Be brief."}


def test_a_class_may_stream_from_any_iterator():
    class Mapped(Streams):
        def _stream(self, messages, stop=None, run_manager=None, **kwargs):
            return iter([ChatGenerationChunk(message=chunk) for chunk in self.replies])

    replies = [AIMessageChunk("a", additional_kwargs={"reasoning_content": "R"}), AIMessageChunk("b")]
    assert "".join(chunk.content for chunk in wrap_model(Mapped(replies=replies)).stream("go")) == "ab"


@pytest.mark.parametrize(
    "build", [lambda kind: kind(), lambda kind: type("Sub", (kind,), {})()], ids=["the class", "a subclass"]
)
def test_a_model_that_is_built_anew_from_a_wrapped_ones_class_replays_as_well(build):
    model = build(type(wrap_model(Echo())))
    model.replies.append(thought())
    assert "reasoning_replay" in model.invoke("go").additional_kwargs
