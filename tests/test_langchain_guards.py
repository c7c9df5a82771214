"""LangChain: what Claude refuses of a request is mended on the wire, in ChatAnthropic and in ChatBedrockConverse."""

from __future__ import annotations

from typing import ClassVar

import pytest

pytest.importorskip("langchain_aws")
pytest.importorskip("langchain_anthropic")

from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from litellm_calls import TOOLS
from litellm_calls import run as run_later
from reasoning_replay import Origin, adopt
from reasoning_replay.langchain import report_of, with_reasoning_replay

pytestmark = pytest.mark.filterwarnings("ignore")
MANUAL = {"type": "enabled", "budget_tokens": 2048}
INTERLEAVED = "interleaved-thinking-2025-05-14"
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
EDIT_BETA = "context-management-2025-06-27"


def whole(bound, messages, **more):
    return bound.invoke(messages, **more)


def streamed(bound, messages, **more):
    chunks = list(bound.stream(messages, **more))
    return sum(chunks[1:], chunks[0])


def later(bound, messages, **more):
    return run_later(bound.ainvoke(messages, **more))


def later_streamed(bound, messages, **more):
    async def collected():
        return [chunk async for chunk in bound.astream(messages, **more)]

    chunks = run_later(collected())
    return sum(chunks[1:], chunks[0])


RUNS = [whole, streamed, later, later_streamed]
FEW = [whole, later_streamed]


class Api:
    """ChatAnthropic at a strict host, and what that host got."""

    def __init__(self, strict_hosts):
        self.host = strict_hosts("anthropic")

    def model(self, *, max_tokens=4096, thinking=MANUAL, **more):
        return with_reasoning_replay(
            ChatAnthropic(
                model=self.host.model,
                base_url=self.host.url,
                api_key="k",
                max_retries=0,
                max_tokens=max_tokens,
                thinking=thinking,
                **more,
            )
        )

    forced: ClassVar = {"type": "any"}

    @property
    def thinking(self):
        return self.host.last.json.get("thinking")

    @property
    def edits(self):
        return self.host.last.json.get("context_management")

    @property
    def betas(self):
        return self.host.last.headers.get("anthropic-beta", "")


class Converse(Api):
    """The same for ChatBedrockConverse."""

    def __init__(self, strict_hosts):
        self.host = strict_hosts("bedrock")

    def model(self, *, max_tokens=4096, thinking=MANUAL, betas=(), context_management=None):
        fields = {"thinking": thinking}
        if betas:
            fields["anthropic_beta"] = list(betas)
        if context_management is not None:
            fields["context_management"] = context_management
        keys = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
        return with_reasoning_replay(
            ChatBedrockConverse(
                model=self.host.model,
                endpoint_url=self.host.url,
                max_tokens=max_tokens,
                additional_model_request_fields=fields,
                **keys,
            )
        )

    forced: ClassVar = {"any": {}}

    @property
    def fields(self):
        return self.host.last.json.get("additionalModelRequestFields", {})

    @property
    def thinking(self):
        return self.fields.get("thinking")

    @property
    def edits(self):
        return self.fields.get("context_management")

    @property
    def betas(self):
        return ",".join(self.fields.get("anthropic_beta", ()))


@pytest.fixture(params=[Api, Converse])
def claude(request, strict_hosts):
    return request.param(strict_hosts)


def foreign_loop():
    calls = [{"name": "get_weather", "args": {}, "id": "toolu_1"}]
    messages = [HumanMessage("go"), AIMessage("", additional_kwargs={"reasoning_content": "R"}, tool_calls=calls)]
    return [
        *adopt(messages, Origin("elsewhere.example"), form="langchain"),
        ToolMessage("3C", tool_call_id="toolu_1"),
    ]


def guards(reply):
    return [row.reason for row in report_of(reply).rows if row.action == "guard"]


@pytest.mark.parametrize("run", RUNS)
def test_a_loop_begun_elsewhere_goes_on_without_thinking_and_what_goes_only_with_it(claude, run):
    bound = claude.model(context_management=EDITS, betas=[EDIT_BETA]).bind_tools(TOOLS)
    reply = run(bound, foreign_loop())
    assert claude.host.refusals == []
    assert (claude.thinking, claude.edits, claude.betas) == (None, None, "")
    assert guards(reply) == ["lead_block", "beside_thinking"]


@pytest.mark.parametrize("run", FEW)
class TestRequests:
    @pytest.mark.parametrize(("limit", "budget"), [(1500, 1499), (1024, None), (4096, 2048)])
    def test_the_budget_is_capped_while_there_is_room(self, claude, run, limit, budget):
        reply = run(claude.model(max_tokens=limit), [HumanMessage("go")])
        assert claude.host.refusals == []
        assert (claude.thinking or {}).get("budget_tokens") == budget
        assert guards(reply) == ([] if budget == 2048 else ["budget"])

    def test_a_budget_beyond_the_limit_stays_with_the_beta_for_it(self, claude, run):
        reply = run(claude.model(max_tokens=1000, betas=[INTERLEAVED]), [HumanMessage("go")])
        assert claude.host.refusals == []
        assert claude.thinking == MANUAL
        assert guards(reply) == []

    def test_a_forced_tool_switches_manual_thinking_off(self, claude, run):
        bound = claude.model().bind_tools(TOOLS).bind(tool_choice=claude.forced)
        reply = run(bound, [HumanMessage("go")])
        assert claude.host.refusals == []
        assert claude.thinking is None
        assert guards(reply) == ["forced_tools"]


def test_a_beta_of_the_clients_own_headers_is_seen(strict_hosts):
    claude = Api(strict_hosts)
    reply = whole(claude.model(max_tokens=1000, default_headers={"anthropic-beta": INTERLEAVED}), [HumanMessage("go")])
    assert claude.host.refusals == []
    assert claude.thinking == MANUAL
    assert guards(reply) == []


def test_adaptive_thinking_goes_on_in_a_loop_begun_elsewhere(claude):
    bound = claude.model(thinking={"type": "adaptive"}, context_management=EDITS, betas=[EDIT_BETA]).bind_tools(TOOLS)
    reply = whole(bound, foreign_loop())
    assert claude.host.refusals == []
    assert (claude.thinking, claude.edits) == ({"type": "adaptive"}, EDITS)
    assert guards(reply) == []
