"""Typical uses of the public surface: checked with mypy in `.ci/run`, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

import litellm
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from reasoning_replay import (
    Collector,
    MissingReasoning,
    Origin,
    Plan,
    Policy,
    Report,
    Rule,
    adopt,
    capture,
    load_hosts,
    prepare,
    rule_for,
)
from reasoning_replay.langchain import (
    ReasoningReplayMiddleware,
    ReplaySummarizationMiddleware,
    ReplayTransformer,
    token_counter_of,
    trim_messages,
    with_reasoning_replay,
)
from reasoning_replay.langchain import report_of as report_of_message
from reasoning_replay.litellm import ReasoningReplay, report_of
from reasoning_replay.testing import StrictHost, capture_plans, foreign_bytes, strict_host


def the_line() -> None:
    callback = ReasoningReplay()
    litellm.callbacks.append(callback)
    report = report_of(litellm.completion(model="deepseek/deepseek-v4-pro", messages=[]))
    assert_type(report, Report | None)
    callback.uninstall()


class Chain:
    """Whatever a program has made of its models."""


def the_models(model: BaseChatModel, chain: Chain, messages: list[BaseMessage]) -> None:
    assert_type(with_reasoning_replay(chain, Policy(window="current_turn")), Chain)  # the type stays
    assert_type(report_of_message(messages[-1]), Report | None)
    assert_type(ReplayTransformer(model, policy=Policy()), ReplayTransformer)
    capture_step = ReplayTransformer("api.deepseek.com", model="deepseek-v4-pro", dialect="chat").capture
    assert_type(capture_step, Runnable[Any, Any])
    ReasoningReplayMiddleware(Policy())
    assert_type(trim_messages(messages, max_tokens=9, model=model), list[BaseMessage])
    assert_type(trim_messages(max_tokens=9, token_counter=len, strategy="first"), Runnable[Any, list[BaseMessage]])
    assert_type(token_counter_of(model)(messages), int)
    ReplaySummarizationMiddleware(model, trigger=("tokens", 9), keep=("messages", 9), policy=Policy())


def the_doors(messages: list[dict[str, Any]], reply: object, chunks: list[object]) -> None:
    origin = Origin.from_url("https://api.deepseek.com/v1", model="deepseek-v4-pro")
    plan = prepare(adopt(messages, origin), host="api.deepseek.com", request={"tools": []}, policy=Policy())
    assert_type(plan, Plan)
    assert_type(plan.messages, list[Any])
    assert_type(plan.request, Mapping[str, Any] | None)
    assert_type(plan.report.counts(), dict[str, int])
    assert_type(capture(reply, origin), dict[str, Any])
    assert_type(adopt(messages, origin, form="langchain"), list[Any])
    collector = Collector(origin)
    for chunk in chunks:
        collector.feed(chunk)
    assert_type(collector.result(), dict[str, Any] | None)


def the_rules() -> None:
    policy = Policy(same_host=({"a:1", "b:1"},), aliases={"gw.example": "deepseek"}, rules=load_hosts("mine.toml"))
    assert_type(rule_for("gw.example", policy=policy), Rule)
    try:
        prepare([], host="api.deepseek.com", policy=Policy(missing="raise", unknown_origin=Origin("a.example")))
    except MissingReasoning as missing:
        assert_type(missing.index, int)
        assert_type(missing.host, str)


def the_tests() -> None:
    with strict_host("deepseek") as host, capture_plans() as seen:
        assert_type(host, StrictHost)
        assert_type(seen.plans[0], Plan)
        assert foreign_bytes([host]) == []
