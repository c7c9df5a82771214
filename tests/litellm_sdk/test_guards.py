"""LiteLLM: what Claude refuses of a request is mended on the wire, whatever LiteLLM itself would do about it."""

import litellm
import pytest

from litellm_calls import MODES, TOOLS, append
from reasoning_replay import Origin, capture
from reasoning_replay.litellm import report_of

MANUAL = {"type": "enabled", "budget_tokens": 2048}
INTERLEAVED = "interleaved-thinking-2025-05-14"
EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
EDIT_BETA = "context-management-2025-06-27"
EVERY = ["sync", "stream", "async", "async stream", "router", "async router stream"]


class Api:
    """Claude at its vendor: a strict host, how it is called, and what it got."""

    def __init__(self, strict_hosts):
        self.host = strict_hosts("anthropic")

    def call(self, mode, messages, *, thinking=MANUAL, **more):
        return MODES[mode](self.host, messages, **{"thinking": thinking, "max_tokens": 4096, **more})

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
    """Claude on Converse; Bedrock has no second layer."""

    def __init__(self, strict_hosts):
        self.host = strict_hosts("bedrock")

    def call(self, mode, messages, *, thinking=MANUAL, **more):
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "aws_region_name": "us-east-1"}
        named = {
            **keys, "model": f"bedrock/{self.host.model}", "aws_bedrock_runtime_endpoint": self.host.url,
            "api_base": None, "api_key": None, "messages": messages, "tools": TOOLS,
            "thinking": thinking, "max_tokens": 4096, **more,
        }  # fmt: skip
        return CONVERSE[mode](named)

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


def _async(named):
    from litellm_calls import run

    return run(litellm.acompletion(**named))


def _router(named):
    params = {key: named.pop(key) for key in [*named] if key.startswith("aws_") or key in ("api_key", "api_base")}
    made = litellm.Router(
        model_list=[{"model_name": "g", "litellm_params": {**params, "model": named.pop("model"), "max_retries": 0}}],
        num_retries=0,
    )
    return made.completion(model="g", **named)


CONVERSE = {
    "sync": lambda named: litellm.completion(**named),
    "async": _async,
    "stream": lambda named: litellm.stream_chunk_builder(list(litellm.completion(stream=True, **named))),
    "router": _router,
}


@pytest.fixture(params=["anthropic", "bedrock"])
def claude(request, strict_hosts, install):
    made = {"anthropic": Api, "bedrock": Converse}[request.param](strict_hosts)
    install(made.host)
    return made


@pytest.fixture(params=[False, True], ids=["as is", "modify_params"])
def modifying(request):
    litellm.modify_params = request.param
    return request.param


def modes(claude, *, few=False):
    own = EVERY if isinstance(claude, Api) and not isinstance(claude, Converse) else [*CONVERSE]
    return own[:1] + own[-1:] if few else own


def foreign_loop():
    call = {"id": "toolu_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "reasoning_content": "R", "tool_calls": [call]}
    return [
        {"role": "user", "content": "go"},
        capture(message, Origin("elsewhere.example"), form="litellm"),
        {"role": "tool", "tool_call_id": "toolu_1", "content": "3C"},
    ]


def guards(reply):
    return [row.reason for row in report_of(reply).rows if row.action == "guard"]


def test_a_loop_begun_elsewhere_goes_on_without_thinking_and_what_goes_only_with_it(claude, modifying):
    for mode in modes(claude):
        headers = {"extra_headers": {"anthropic-beta": f"{EDIT_BETA},{INTERLEAVED}"}}
        reply = claude.call(mode, foreign_loop(), context_management=EDITS, **headers)
        assert claude.host.refusals == [], mode
        assert (claude.thinking, claude.edits, EDIT_BETA in claude.betas) == (None, None, False), mode
        assert guards(reply) == ["lead_block", "beside_thinking"], mode
        assert headers == {"extra_headers": {"anthropic-beta": f"{EDIT_BETA},{INTERLEAVED}"}}


@pytest.mark.parametrize("mode", EVERY)
def test_only_what_goes_with_thinking_goes_of_the_header(mode, strict_hosts, install):
    claude = Api(strict_hosts)
    install(claude.host)
    headers = {"anthropic-beta": f"{EDIT_BETA},{INTERLEAVED}"}
    claude.call(mode, foreign_loop(), context_management=EDITS, extra_headers=headers)
    assert (claude.host.refusals, claude.betas) == ([], INTERLEAVED)


@pytest.mark.parametrize(("limit", "budget"), [(1500, 1499), (1024, None), (4096, 2048)])
def test_the_budget_is_capped_while_there_is_room(claude, limit, budget, modifying):
    for mode in modes(claude, few=True):
        claude.call(mode, [{"role": "user", "content": "go"}], max_tokens=limit)
        assert claude.host.refusals == [], mode
        assert (claude.thinking or {}).get("budget_tokens") == budget, mode


def test_a_budget_beyond_the_limit_stays_with_the_beta_for_it(claude):
    for mode in modes(claude, few=True):
        claude.call(
            mode,
            [{"role": "user", "content": "go"}],
            max_tokens=1500,
            extra_headers={"anthropic-beta": INTERLEAVED},
        )
        assert claude.host.refusals == [], mode
        assert claude.thinking == MANUAL, mode


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_a_forced_tool_and_manual_thinking_are_never_sent_together(claude, choice, modifying):
    for mode in modes(claude, few=True):
        claude.call(mode, [{"role": "user", "content": "go"}], tool_choice=choice)
        assert claude.host.refusals == [], mode


def test_own_blocks_and_thinking_stay_where_nothing_is_refused(claude, modifying):
    for mode in modes(claude, few=True):
        claude.host.reset()
        messages = [{"role": "user", "content": "go"}]
        append(messages, claude.call(mode, messages))
        reply = claude.call(mode, messages)
        assert claude.host.refusals == [], mode
        assert (claude.thinking, claude.host.lost()) == (MANUAL, []), mode
        assert guards(reply) == [], mode
