"""The table of chat classes: what it says of a call is what a server on loopback sees of it."""

import sys
from collections import Counter

import pytest

pytest.importorskip("langchain_core")

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from langchain_loopback import KEY, ZOO, loopback
from reasoning_replay._origin import host_of
from reasoning_replay.hosts import builtin
from reasoning_replay.langchain._classes import ROWS, answered_by, request_of, row_of, target_of

pytestmark = pytest.mark.filterwarnings("ignore")  # the chat classes and langchain-litellm warn by the dozen
QUESTION = [HumanMessage("q")]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
REASONING_MODELS = {"ChatOpenAI(responses)": "responses", "ChatAnthropic": "anthropic", "ChatOllama": "ollama"}
DIALECTS = {**REASONING_MODELS, "ChatGoogleGenerativeAI": "gemini", "ChatBedrockConverse": "bedrock"}


@pytest.fixture(scope="module")
def here():
    with loopback() as host:
        yield host


@pytest.fixture(scope="module")
def elsewhere():
    with loopback() as host:
        yield host


def calls_of(*hosts):
    return {host.host: len(host.seen) for host in hosts}


def reached(model, *hosts, **kwargs):
    """The host that one call of the model reaches."""
    before = Counter(calls_of(*hosts))
    model.invoke(QUESTION, **kwargs)
    return list(Counter(calls_of(*hosts)) - before)


@pytest.mark.parametrize("name", ZOO)
def test_the_host_that_is_named_is_the_host_that_is_called(name, here):
    model = ZOO[name](here.url)
    target = target_of(model, {})
    assert [here.host] == reached(model, here)
    assert here.host == host_of(target.url)
    assert DIALECTS.get(name, "chat") == target.dialect


@pytest.mark.parametrize("name", ZOO)
def test_the_async_client_is_asked_for_async_calls(name, here):
    model = ZOO[name](here.url)
    assert here.host == host_of(target_of(model, {}, asynchronous=True).url)


@pytest.mark.parametrize("name", ["ChatOpenAI", "ChatXAI", "ChatGroq", "ChatMistralAI"])
def test_two_clients_at_two_hosts_are_told_apart(name, here, elsewhere):
    model, other = ZOO[name](here.url), ZOO[name](elsewhere.url)
    model.async_client = other.async_client
    assert here.host == host_of(target_of(model, {}).url)
    assert elsewhere.host == host_of(target_of(model, {}, asynchronous=True).url)


MOVES = {
    "ChatLiteLLM api_base": ("ChatLiteLLM", lambda url: {"api_base": f"{url}/v1"}),
    "ChatLiteLLM base_url": ("ChatLiteLLM", lambda url: {"base_url": f"{url}/v1"}),
    "ChatOpenRouter": ("ChatOpenRouter", lambda url: {"server_url": f"{url}/v1"}),
    "ChatGoogleGenerativeAI": ("ChatGoogleGenerativeAI", lambda url: {"http_options": {"base_url": url}}),
}


@pytest.mark.parametrize("case", MOVES)
def test_a_parameter_of_the_call_that_moves_it_is_counted(case, here, elsewhere):
    name, kwargs = MOVES[case][0], MOVES[case][1](elsewhere.url)
    model = ZOO[name](here.url)
    assert elsewhere.host == host_of(target_of(model, kwargs).url)
    assert [elsewhere.host] == reached(model, here, elsewhere, **kwargs)


MODELS = {
    name: {"model": "other"}
    for name in (
        "ChatOpenAI",
        "ChatDeepSeek",
        "ChatGroq",
        "ChatMistralAI",
        "ChatFireworks",
        "ChatOpenRouter",
        "ChatOllama",
    )
}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_of_the_call_is_the_model_on_the_wire(name, here):
    model = ZOO[name](here.url)
    target = target_of(model, MODELS[name])
    model.invoke(QUESTION, **MODELS[name])
    assert here.body["model"] == target.model == "other"


ENVIRONMENT = {
    "ChatOpenAI": ("OPENAI_BASE_URL", "base_url", "/v1"),
    "ChatAnthropic": ("ANTHROPIC_API_URL", "base_url", ""),
    "ChatDeepSeek": ("DEEPSEEK_API_BASE", "base_url", "/v1"),
    "ChatMistralAI": ("MISTRAL_BASE_URL", "endpoint", "/v1"),
    "ChatMoonshot": ("MOONSHOT_API_BASE", "base_url", "/v1"),
    "ChatGroq": ("GROQ_API_BASE", "base_url", ""),
    "ChatLiteLLM": ("DEEPSEEK_API_BASE", "base_url", "/v1"),
}


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_a_base_url_of_the_environment_is_found(name, here, monkeypatch):
    variable, field, path = ENVIRONMENT[name]
    monkeypatch.setenv(variable, here.url + path)
    model = ZOO[name](here.url, **{field: None})
    target = target_of(model, {})
    assert [here.host] == reached(model, here)
    assert here.host == host_of(target.url)


def test_chat_openai_says_itself_when_it_speaks_responses(here):
    model = ZOO["ChatOpenAI"](here.url)
    cases = [
        ({}, "chat"),
        ({"tools": [TOOL]}, "chat"),
        ({"tools": [{"type": "web_search"}]}, "responses"),
        ({"reasoning": {"effort": "low"}}, "responses"),
        ({"previous_response_id": "resp_1"}, "responses"),
    ]
    assert [dialect for _, dialect in cases] == [target_of(model, kwargs).dialect for kwargs, _ in cases]
    for kwargs, dialect in cases[1:3]:
        model.invoke(QUESTION, **kwargs)
        assert here.seen[-1][0].endswith("/responses") is (dialect == "responses")


def test_the_organization_is_the_account(here):
    model = ZOO["ChatOpenAI"](here.url, organization="org-1")
    assert "org-1" == target_of(model, {}).account
    assert target_of(ZOO["ChatOpenAI"](here.url), {}).account is None


def test_a_class_of_a_users_own_has_the_row_of_its_base(here):
    from langchain_openai import ChatOpenAI

    class Mine(ChatOpenAI):
        """A user's own."""

    assert "langchain_openai.ChatOpenAI" == row_of(Mine).name
    assert here.host == host_of(target_of(Mine(model="m", base_url=here.url, api_key=KEY), {}).url)


def test_any_other_chat_model_is_a_host_by_its_name():
    model = GenericFakeChatModel(messages=iter([]))
    assert "custom:GenericFakeChatModel" == target_of(model, {}).url
    assert "none" == row_of(type(model)).hooks


def test_a_property_that_refuses_is_no_host():
    class Refusing(GenericFakeChatModel):
        """Says nothing of where it is."""

        @property
        def base_url(self):
            raise ValueError

    assert "custom:Refusing" == target_of(Refusing(messages=iter([])), {}).url


def test_a_router_with_two_hosts_is_known_by_its_reply_only(here, elsewhere):
    pytest.importorskip("langchain_litellm")
    from langchain_litellm import ChatLiteLLMRouter
    from litellm import Router

    params = [{"model": "deepseek/m", "api_base": f"{host.url}/v1", "api_key": KEY} for host in (here, elsewhere)]
    router = Router(model_list=[{"model_name": "g", "litellm_params": each} for each in params], num_retries=0)
    model = ChatLiteLLMRouter(router=router, model="g", max_retries=0)
    target = target_of(model, {})
    assert target.url is None
    for _ in range(6):
        before = Counter(calls_of(here, elsewhere))
        reply = model.invoke(QUESTION)
        (called,) = Counter(calls_of(here, elsewhere)) - before
        assert called == host_of(answered_by(model, target, reply).url)
    assert answered_by(model, target, AIMessage("hi")).url is None
    assert answered_by(model, target, AIMessage("hi", response_metadata={"model_id": "nobody"})).url is None


def test_a_router_after_a_fallback_is_the_deployment_that_answered(here, elsewhere):
    pytest.importorskip("langchain_litellm")
    from langchain_litellm import ChatLiteLLMRouter
    from litellm import Router

    bad = {"model": "deepseek/m", "api_base": "http://127.0.0.1:1/v1", "api_key": KEY}
    good = {"model": "deepseek/m", "api_base": f"{elsewhere.url}/v1", "api_key": KEY}
    listed = [{"model_name": "g", "litellm_params": bad}, {"model_name": "h", "litellm_params": good}]
    model = ChatLiteLLMRouter(router=Router(model_list=listed, fallbacks=[{"g": ["h"]}], num_retries=0), model="g")
    target = target_of(model, {})
    assert target.url is None
    assert elsewhere.host == host_of(answered_by(model, target, model.invoke(QUESTION)).url)


def test_what_may_be_answered_by_another_is_not_predicted(here):
    model = ZOO["ChatLiteLLM"](here.url)
    assert target_of(model, {"fallbacks": ["openai/gpt-5"]}).url is None
    assert target_of(model, {"model": "no-such-thing"}).url is None


FACTS = {
    "fields": ("ChatOpenAI", {"reasoning_effort": "low"}, {}, {"reasoning_effort": "low"}),
    "the call wins": (
        "ChatOpenAI",
        {"reasoning_effort": "low"},
        {"reasoning_effort": "none"},
        {"reasoning_effort": "none"},
    ),
    "extra_body": (
        "ChatOpenAI",
        {"extra_body": {"thinking": {"type": "disabled"}}},
        {},
        {"thinking": {"type": "disabled"}},
    ),
    "a call's extra_body": ("ChatOpenAI", {"extra_body": {"a": 1}}, {"extra_body": {"b": 2}}, {"b": 2}),
    "model_kwargs": ("ChatGroq", {"model_kwargs": {"seed": 1}}, {"tools": [TOOL]}, {"seed": 1, "tools": [TOOL]}),
    "a switch": ("ChatMoonshot", {"thinking": False}, {}, {"thinking": {"type": "disabled"}}),
    "another name": ("ChatOllama", {"reasoning": False}, {}, {"think": False}),
    "another name in the call": ("ChatOllama", {}, {"reasoning": True}, {"think": True}),
    "anthropic": (
        "ChatAnthropic",
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"tool_choice": {"type": "any"}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 100, "tool_choice": {"type": "any"}},
    ),
    "gemini": (
        "ChatGoogleGenerativeAI",
        {"thinking_budget": 0},
        {},
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    ),
    "converse": (
        "ChatBedrockConverse",
        {"additional_model_request_fields": {"thinking": {"type": "disabled"}}},
        {},
        {
            "additionalModelRequestFields": {"thinking": {"type": "disabled"}},
            "thinking": {"type": "disabled"},
        },
    ),
    "litellm": ("ChatLiteLLM", {"model_kwargs": {"reasoning_effort": "low"}}, {}, {"reasoning_effort": "low"}),
}


@pytest.mark.parametrize("case", FACTS)
def test_facts_of_the_request(case, here):
    name, fields, kwargs, expected = FACTS[case]
    assert expected == request_of(ZOO[name](here.url, **fields), kwargs)


def test_facts_change_nothing_of_the_callers(here):
    extra, options = {"a": 1}, {"user": "u"}
    model = ZOO["ChatOpenAI"](here.url, extra_body=extra, model_kwargs=options)
    request_of(model, {"extra_body": {"b": 1}})["c"] = 1
    assert ({"a": 1}, {"user": "u"}) == (model.extra_body, model.model_kwargs)


def test_every_hint_is_known_to_a_host_file():
    known = {hint.lower() for host in builtin() for hint in host.hints}
    assert set() == {row.hint for row in ROWS if row.hint is not None and row.hint.lower() not in known}


COSTS = {"ChatLiteLLM": 200, "ChatLiteLLMRouter": 800}
"""Calls of functions, where it is more: LiteLLM looks up a vendor itself, and a Router's groups are the class's to list."""


@pytest.mark.parametrize("name", ZOO)
def test_the_table_costs_next_to_nothing(name, here):
    """Counted, since a clock tells of the machine too: a hundred calls are some 10 µs (2026-11-30)."""
    model = ZOO[name](here.url)
    made = []

    def asked():
        return target_of(model, {}), request_of(model, {"tools": []})

    def note(frame, event, argument):
        if event in ("call", "c_call"):
            made.append(event)

    asked()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        asked()
    finally:
        sys.setprofile(before)
    assert 10 < len(made) < COSTS.get(name, 100)


def test_no_row_is_there_twice():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(row.safe for row in ROWS)
    assert issubclass(GenericFakeChatModel, BaseChatModel)
