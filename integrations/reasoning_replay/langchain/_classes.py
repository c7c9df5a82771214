"""The table: chat class -> what it speaks, where its client says the host, which of its fields a rule asks for.

A class is found by the names in its MRO, so nothing is imported that the user has not, and a subclass of a user's own
is its base's row. The host is asked of the client object, never of LangChain's labels, which name the package; a
parameter of one call counts where the class really sends by it. The last row is any other chat model.
Must not decide anything about reasoning. Seen with the versions of evidence/langchain.md; each row is tried against a
loopback server by tests/test_langchain_classes.py. `_model`, `_messages` and `_hooks` read the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from langchain_core.runnables.base import RunnableBindingBase

from .._origin import Dialect

Hooks = Literal[
    "openai",
    "cerebras",
    "qwq",
    "groq",
    "mistral",
    "fireworks",
    "openrouter",
    "ollama",
    "litellm",
    "anthropic",
    "gemini",
    "bedrock",
    "none",
]
"""A family of classes that share the places where a hook reaches the wire; `none`: filter and mark alone."""


class Target(NamedTuple):
    """Where a call goes."""

    url: str | None
    """The whole base URL, or `custom:<ClassName>` where no client says one. None: it cannot be known beforehand."""
    dialect: Dialect
    model: str | None
    hint: str | None = None
    """What the core may take as a hint to the rule when the URL is the caller's own."""
    account: str | None = None
    """The organization, where the client has one."""


class Row(NamedTuple):
    """What is known of one chat class."""

    name: str
    """First module name and class name."""
    hooks: Hooks
    hint: str | None = None
    dialect: Dialect = "chat"
    bases: tuple[str, ...] = ()
    """Where the client says its base URL, first that does: a path of attributes, `()` at its end calls. See ASYNC."""
    models: tuple[str, ...] = ("model_name",)
    """Fields with the model's name, first that has one."""
    called: tuple[str, ...] = ("model",)
    """Parameters of a call that name another model."""
    moves: str | None = None
    """A parameter of a call that sends it elsewhere, dotted."""
    account: str | None = None
    facts: tuple[tuple[str, str], ...] = ()
    """Field, or parameter of a call -> its name in a request, where a rule asks for it."""
    shape: Callable[[dict[str, Any]], None] | None = None
    """Makes of those facts what the host's own request says, in place."""
    sealed: bool = True
    """Whether sealed reasoning can come: then a stream is marked on its last chunk."""
    safe: bool = True
    """Keys of `additional_kwargs` that nobody knows never reach the wire (probed for every class here)."""


ASYNC = {
    "client._client.base_url": "async_client._client.base_url",
    "root_client.base_url": "root_async_client.base_url",
    "client.base_url": "async_client.base_url",
    "_client.base_url": "_async_client.base_url",
    "_client._client.base_url": "_async_client._client.base_url",
}
"""Where the sync client says it -> where the async one does; other classes have one client for both."""


def _thinking_switch(facts: dict[str, Any]) -> None:
    """ChatMoonshot takes true or false for what its host calls `thinking.type`."""
    if isinstance(facts.get("thinking"), bool):
        facts["thinking"] = {"type": "enabled" if facts["thinking"] else "disabled"}


def _fields_of_model(facts: dict[str, Any]) -> None:
    """Converse takes a vendor's own parameters in a field of their own; rules name them with and without it."""
    inner = facts.get("additionalModelRequestFields")
    if isinstance(inner, Mapping):
        facts.update({key: value for key, value in inner.items() if key not in facts})


def _thinking_config(facts: dict[str, Any]) -> None:
    """Gemini's request holds these three inside `generationConfig`."""
    found = {name: facts.pop(name) for name in ("thinkingBudget", "thinkingLevel", "includeThoughts") if name in facts}
    if found:
        facts["generationConfig"] = {"thinkingConfig": found}


_OPENAI = ("client._client.base_url", "root_client.base_url")
_EFFORT = (("reasoning_effort", "reasoning_effort"), ("max_tokens", "max_tokens"))
_CHAT = (*_EFFORT, ("reasoning", "reasoning"), ("extra_body", "extra_body"), ("model_kwargs", "model_kwargs"))
_QWEN = (*_CHAT, ("enable_thinking", "enable_thinking"), ("thinking_budget", "thinking_budget"))
_CLAUDE = (
    ("thinking", "thinking"),
    ("max_tokens", "max_tokens"),
    ("effort", "effort"),
    ("context_management", "context_management"),
    ("betas", "betas"),
    ("default_headers", "default_headers"),
    ("model_kwargs", "model_kwargs"),
)
_GEMINI = (
    ("thinking_budget", "thinkingBudget"),
    ("thinking_level", "thinkingLevel"),
    ("include_thoughts", "includeThoughts"),
    ("max_output_tokens", "max_tokens"),
)
_CONVERSE = (
    ("additional_model_request_fields", "additionalModelRequestFields"),
    ("reasoning_effort", "reasoning_effort"),
    ("max_tokens", "max_tokens"),
)
_SDK = ("client._client.base_url",)


def _openai(name: str, **known: Any) -> Row:
    """A class over OpenAI's client; its own name is the hint."""
    fields = {"hooks": "openai", "hint": name.partition(".")[2], "bases": _OPENAI, "facts": _CHAT, **known}
    return Row(name, account="root_client.organization", **fields)


ROWS: tuple[Row, ...] = (
    _openai("langchain_openai.AzureChatOpenAI", models=("model_name", "deployment_name")),
    _openai("langchain_deepseek.ChatDeepSeek"),
    _openai("langchain_xai.ChatXAI"),
    _openai("langchain_together.ChatTogether"),
    _openai(
        "langchain_cerebras.ChatCerebras", hooks="cerebras", facts=(*_CHAT, ("disable_reasoning", "disable_reasoning"))
    ),
    _openai(
        "langchain_moonshot.ChatMoonshot",
        facts=(*_CHAT, ("thinking", "thinking")),
        shape=_thinking_switch,
    ),
    _openai("langchain_qwq.ChatQwQ", hooks="qwq", facts=_QWEN),
    _openai("langchain_qwq.ChatQwen", facts=_QWEN),
    _openai("langchain_openai.ChatOpenAI", hint=None),
    _openai("langchain_openai.BaseChatOpenAI", hint=None),
    Row("langchain_groq.ChatGroq", "groq", "ChatGroq", bases=_SDK, facts=_CHAT, sealed=False),
    Row(
        "langchain_mistralai.ChatMistralAI",
        "mistral",
        "ChatMistralAI",
        bases=("client.base_url",),
        models=("model",),
        facts=_CHAT,
    ),
    Row("langchain_fireworks.ChatFireworks", "fireworks", "ChatFireworks", bases=_SDK, facts=_CHAT, sealed=False),
    Row(
        "langchain_openrouter.ChatOpenRouter",
        "openrouter",
        "ChatOpenRouter",
        bases=("client.sdk_configuration.get_server_details()",),
        moves="server_url",
        facts=_CHAT,
    ),
    Row(
        "langchain_ollama.ChatOllama",
        "ollama",
        "ChatOllama",
        dialect="ollama",
        bases=("_client._client.base_url",),
        models=("model",),
        facts=(("reasoning", "think"),),
        sealed=False,
    ),
    Row("langchain_litellm.ChatLiteLLMRouter", "litellm", facts=_CHAT, models=("model_name", "model")),
    Row("langchain_litellm.ChatLiteLLM", "litellm", facts=_CHAT, models=("model_name", "model")),
    Row(
        "langchain_anthropic.ChatAnthropic",
        "anthropic",
        "ChatAnthropic",
        dialect="anthropic",
        bases=("_client.base_url",),
        models=("model",),
        facts=_CLAUDE,
    ),
    Row(
        "langchain_google_genai.ChatGoogleGenerativeAI",
        "gemini",
        "ChatGoogleGenerativeAI",
        dialect="gemini",
        bases=("client._api_client._http_options.base_url",),
        models=("model",),
        moves="http_options.base_url",
        facts=_GEMINI,
        shape=_thinking_config,
    ),
    Row(
        "langchain_aws.ChatBedrockConverse",
        "bedrock",
        "ChatBedrockConverse",
        dialect="bedrock",
        bases=("client.meta.endpoint_url",),
        models=("base_model_id", "model_id"),
        called=("model_id", "modelId"),
        facts=_CONVERSE,
        shape=_fields_of_model,
    ),
)
OTHER = Row(
    "langchain_core.BaseChatModel",
    "none",
    bases=(
        "root_client.base_url",
        "client._client.base_url",
        "client.base_url",
        "_client.base_url",
        "client.meta.endpoint_url",
        *("base_url", "api_base", "endpoint_url", "endpoint", "url", "server_url", "api_url", "api_endpoint", "host"),
        *("service_endpoint", "service_url", "host_url", "server", "api_host", "endpoint_name"),
    ),
    models=("model_name", "model", "model_id"),
    facts=_CHAT,
    safe=False,
)
"""Any other chat model: what it answers with is filtered and marked, what it drops stays dropped."""
_BY_NAME = {row.name: row for row in ROWS}


def row_of(kind: Any) -> Row:
    """The row of a class: that of the first base that has one."""
    return _row(kind)


@lru_cache(maxsize=256)
def _row(kind: type) -> Row:
    named = (f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in kind.__mro__)
    return next((_BY_NAME[name] for name in named if name in _BY_NAME), OTHER)


def model_in(given: Any) -> tuple[Any, dict[str, Any]]:
    """What bindings hold at last, and the parameters that they add to its calls: the outer one wins."""
    kwargs: dict[str, Any] = {}
    while isinstance(given, RunnableBindingBase):
        kwargs = {**given.kwargs, **kwargs}
        given = given.bound
    return given, kwargs


def target_of(model: Any, kwargs: Mapping[str, Any], *, asynchronous: bool = False) -> Target:
    """Where a call with these parameters goes, by the client that will make it. Changes nothing.

    An attribute of the client that is made on first use (ChatAnthropic's) is made by asking for it.
    """
    row = row_of(type(model))
    if row.hooks == "litellm":
        from ._litellm_target import litellm_target  # not at the top: it imports LiteLLM

        return litellm_target(model, kwargs)
    responses = row.bases is _OPENAI and uses_responses(model, kwargs)
    places = row.bases[::-1] if responses else row.bases
    moved = _moved(row.moves, kwargs, getattr(model, "model_kwargs", None)) if row.moves is not None else None
    if row is OTHER:
        moved = next((str(kwargs[name]) for name in ("base_url", "api_base", "server_url") if kwargs.get(name)), None)
    url = moved or _base_url(model, places, asynchronous=asynchronous)
    return Target(
        url or custom_host(type(model).__name__),
        "responses" if responses else row.dialect,
        _model_of(model, kwargs, row),
        row.hint,
        None if row.account is None else _text(_at(model, row.account)),
    )


def answered_by(model: Any, target: Target, reply: Any) -> Target:
    """Who has answered: the target, or the deployment that a Router picked; `url` is None where that cannot be read.

    Of LiteLLM's hidden notes only the deployment's id reaches LangChain's message (`response_metadata["model_id"]`).
    """
    if target.url is not None or not hasattr(model, "router"):
        return target
    from ._litellm_target import deployment_target

    return deployment_target(model, reply.response_metadata.get("model_id")) or target


def custom_host(name: str) -> str:
    """The host of a class whose client says none."""
    return f"custom:{re.sub(r'[^A-Za-z0-9_]', '_', name).lstrip('0123456789') or 'unnamed'}"


def uses_responses(model: Any, kwargs: Mapping[str, Any]) -> bool:
    """Whether a class over OpenAI's client will send this call to the Responses API, as it says itself."""
    return bool(model._use_responses_api({**model.model_kwargs, **kwargs}))


def request_of(model: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a request that rules ask for, flat: fields, `model_kwargs`, the call's parameters, `extra_body`.

    In the order in which they win. A new dict of the caller's own values, which are not copied.
    """
    row = row_of(type(model))
    fields = model.__dict__
    facts = {key: fields[name] for name, key in row.facts if fields.get(name) is not None}
    facts.update(facts.pop("model_kwargs", None) or ())
    facts.update(kwargs)
    for name, key in row.facts:
        if name != key and name in facts:
            facts[key] = facts.pop(name)
    extra = facts.pop("extra_body", None)
    if isinstance(extra, Mapping):
        facts.update(extra)
    if row.shape is not None:
        row.shape(facts)
    return facts


def _model_of(model: Any, kwargs: Mapping[str, Any], row: Row) -> str | None:
    fields = model.__dict__
    for place in (kwargs.get("extra_body", fields.get("extra_body")), kwargs, fields.get("model_kwargs")):
        if isinstance(place, Mapping):
            for key in row.called:
                if place.get(key) is not None:
                    return str(place[key])
    return next((str(fields[name]) for name in row.models if fields.get(name)), None)


def _moved(dotted: str, kwargs: Mapping[str, Any], always: Mapping[str, Any] | None) -> str | None:
    name, _, inner = dotted.partition(".")
    value = kwargs.get(name, (always or {}).get(name))
    if inner and value is not None:
        value = value.get(inner) if isinstance(value, Mapping) else getattr(value, inner, None)
    return _text(value)


def _base_url(model: Any, places: tuple[str, ...], *, asynchronous: bool) -> str | None:
    if asynchronous:
        places = (*(ASYNC[place] for place in places if place in ASYNC), *places)
    for place in places:
        found = _text(_at(model, place))
        if found is not None:
            return found
    return _any_url(model) if places is OTHER.bases else None


def _any_url(model: Any) -> str | None:
    """The first field of a class of nobody's that holds a URL: two instances at two servers must not be one host."""
    values = (value for value in model.__dict__.values() if isinstance(value, str))
    return next((value for value in values if value.startswith(("http://", "https://"))), None)


def _at(model: Any, place: str) -> Any:
    try:
        return _getter(place)(model)
    except (AttributeError, TypeError, ValueError):  # nothing there, or a property of a user's own that refuses
        return None


@lru_cache(maxsize=256)
def _getter(place: str) -> Callable[[Any], Any]:
    found = attrgetter(place.removesuffix("()"))
    return (lambda model: found(model)()[0]) if place.endswith("()") else found


def _text(value: Any) -> str | None:
    return None if value is None or callable(value) else str(value) or None
