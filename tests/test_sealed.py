"""Sealed reasoning: which model, account and platform opens it, and what its looks can say of its origin."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, capture, prepare

CLAUDE = "api.anthropic.com"
BEDROCK = "bedrock-runtime.us-east-1.amazonaws.com"
VERTEX = "us-east5-aiplatform.googleapis.com"
FOUNDRY = "res.services.ai.azure.com"
ADAPTIVE = {"thinking": {"type": "adaptive"}, "max_tokens": 4096, "tools": [{"name": "f"}]}
TRUST = Policy(unknown_origin="trust")


def user(text="go"):
    return {"role": "user", "content": text}


def said(*blocks, origin=None):
    message = {"role": "assistant", "content": [*blocks, {"type": "text", "text": "Well."}]}
    return message if origin is None else capture(message, origin)


def thinking(signature="ErsBCkgI", text="T"):
    return {"type": "thinking", "thinking": text, "signature": signature}


def to(model, messages, *, host=CLAUDE, dialect="anthropic", account=None, policy=None, form=None):
    return prepare(
        messages,
        host=host,
        dialect=dialect,
        model=model,
        request=ADAPTIVE,
        account=account,
        policy=policy,
        form=form,
        known=MemoryStore(),
    )


def reasons(plan):
    return [row.reason for row in plan.report.rows if row.role == "assistant"]


class TestModels:
    """Nothing older opens what Claude 5.1 and later sealed; to those all goes, since the API leaves out the rest itself.

    (The vendor's page on preserved thinking, 2026-08: "send the full history with all thinking".)
    """

    OPENS: ClassVar = {
        "claude-opus-4-6": "opus-4-6 sonnet-4-5-20250929 haiku-4-5 3-7-sonnet-20250219 opus-5 fable-5 mythos-5-20260401",
        "claude-opus-5": "opus-4-8 sonnet-5 fable-5 opus-5-20260801 mythos-preview",
        "claude-mythos-5-1": "fable-5-1 opus-5 sonnet-5-5",
        "claude-fable-5-1": "mythos-5-1 mythos-5 sonnet-5-5",
        "claude-opus-5-5": "opus-5 sonnet-4-6 haiku-4-5 sonnet-5-5 fable-5-1",
        "claude-sonnet-5-5": "sonnet-5 opus-4-8 3-5-sonnet opus-5-5",
        "claude-haiku-5-5": "haiku-5-5 opus-5-5",
        "us.anthropic.claude-opus-4-6-v1:0": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    }
    CLOSED: ClassVar = {
        "claude-opus-4-6": "opus-5-5 sonnet-5.5 haiku-5-5 fable-5-1 mythos-5-1 mythos-5.2-20260930 opus-6 fable-7",
        "claude-opus-5": "opus-5-5 fable-5-2 mythos-5-1 sonnet-5-5",
        "us.anthropic.claude-opus-4-6-v1:0": "us.anthropic.claude-opus-5-5-v1:0 global.anthropic.claude-sonnet-5-5-v1:0",
    }

    @staticmethod
    def pairs(table):
        return [
            (reader, name if "claude" in name else f"claude-{name}")
            for reader, names in table.items()
            for name in names.split()
        ]

    def sent(self, reader, writer):
        cloud = "." in reader
        here = {"host": BEDROCK if cloud else CLAUDE}
        origin = Origin(here["host"], dialect="anthropic", model=writer)
        return reasons(to(reader, [user(), said(thinking(), origin=origin), user()], **here))

    @pytest.mark.parametrize(("reader", "writer"), pairs(OPENS))
    def test_a_block_goes_to_a_model_that_opens_it(self, reader, writer):
        assert self.sent(reader, writer) == ["own"]

    @pytest.mark.parametrize(("reader", "writer"), pairs(CLOSED))
    def test_a_block_stays_away_from_a_model_that_cannot_open_it(self, reader, writer):
        assert self.sent(reader, writer) == ["sealed"]

    def test_a_model_that_nobody_named_and_one_that_nobody_knows_are_given_the_benefit(self):
        assert self.sent("claude-opus-4-6", None) == ["own"]
        assert self.sent("claude-opus-4-6", "my-deployment") == ["own"]
        assert self.sent("claude-opus-9", "claude-opus-5-5") == ["own"]


class TestAccounts:
    """Sonnet 5.5 and Haiku 5.5 open what their own account sealed; Bedrock's models all do."""

    @pytest.mark.parametrize(
        ("host", "model", "theirs"),
        [
            (CLAUDE, "claude-sonnet-5-5", "sealed"),
            (CLAUDE, "claude-haiku-5-5", "sealed"),
            (CLAUDE, "claude-opus-5-5", "own"),
            (CLAUDE, "claude-opus-4-6", "own"),
            (BEDROCK, "us.anthropic.claude-opus-4-6-v1:0", "sealed"),
        ],
    )
    def test_where_a_block_is_bound_to_its_account_another_one_does_not_get_it(self, host, model, theirs):
        for account, reason in (("org-2", theirs), ("org-1", "own"), (None, "own")):
            origin = Origin(host, dialect="anthropic", model=model, account=account)
            plan = to(model, [user(), said(thinking(), origin=origin), user()], host=host, account="org-1")
            assert reasons(plan) == [reason], account


class TestFamily:
    """`Policy(sealed="family")`: "values generated on one platform work on another" (Claude API, Bedrock, Vertex)."""

    FAMILY: ClassVar = Policy(sealed="family")
    PLACES: ClassVar = {
        "api": (CLAUDE, "anthropic", "claude-opus-4-6"),
        "invoke": (BEDROCK, "anthropic", "anthropic.claude-opus-4-6-v1:0"),
        "converse": (BEDROCK, "bedrock", "us.anthropic.claude-opus-4-6-v1:0"),
        "vertex": (VERTEX, "anthropic", "claude-opus-4-6@20260205"),
        "foundry": (FOUNDRY, "anthropic", "claude-opus-4-6"),
    }

    def sent(self, here, there, policy=None):
        host, dialect, model = self.PLACES[there]
        message = {"role": "assistant", "content": "Well.", "thinking_blocks": [thinking()]}
        marked = capture(message, Origin(host, dialect=dialect, model=model), form="litellm")
        host, dialect, model = self.PLACES[here]
        plan = to(model, [user(), marked, user()], host=host, dialect=dialect, policy=policy, form="litellm")
        (reason,) = reasons(plan)
        blocks = [block for one in plan.messages for block in one.get("thinking_blocks", ())]
        assert blocks == ([thinking()] if reason == "own" else [])
        return reason

    @pytest.mark.parametrize("there", PLACES)
    @pytest.mark.parametrize("here", PLACES)
    def test_three_platforms_share_their_blocks_where_the_policy_asks_for_it(self, here, there):
        joined = here == there or "foundry" not in (here, there)
        assert self.sent(here, there, self.FAMILY) == ("own" if joined else "foreign")

    @pytest.mark.parametrize("there", PLACES)
    @pytest.mark.parametrize("here", PLACES)
    def test_by_itself_each_keeps_to_its_own(self, here, there):
        one_host = self.PLACES[here][0] == self.PLACES[there][0]
        assert self.sent(here, there) == ("own" if here == there else "sealed" if one_host else "foreign")

    def test_text_of_the_family_stays_at_its_host(self):
        message = {"role": "assistant", "content": "Well.", "reasoning_content": "T"}
        marked = capture(message, Origin(BEDROCK, dialect="bedrock", model="deepseek.r1-v1:0"), form="litellm")
        plan = to("claude-opus-4-6", [user(), marked, user()], policy=self.FAMILY, form="litellm")
        assert reasons(plan) == ["foreign"]

    def test_a_gateway_that_is_found_by_a_hint_is_no_platform(self):
        origin = Origin(BEDROCK, dialect="bedrock", model="us.anthropic.claude-opus-4-6-v1:0")
        message = {"role": "assistant", "content": "Well.", "thinking_blocks": [thinking()]}
        plan = prepare(
            [user(), capture(message, origin, form="litellm"), user()],
            host="gw.corp.example",
            dialect="anthropic",
            model="claude-opus-4-6",
            hint="anthropic",
            form="litellm",
            request=ADAPTIVE,
            policy=self.FAMILY,
        )
        assert reasons(plan) == ["foreign"]

    @pytest.mark.parametrize("policy", [None, FAMILY])
    def test_nor_do_its_own_dialects_share_anything(self, policy):
        message = {"role": "assistant", "content": "Well.", "thinking_blocks": [thinking()]}
        marked = capture(message, Origin("gw.corp.example", dialect="bedrock", model="claude-opus-4-6"), form="litellm")
        plan = prepare(
            [user(), marked, user()],
            host="gw.corp.example",
            dialect="anthropic",
            model="claude-opus-4-6",
            hint="anthropic",
            form="litellm",
            request=ADAPTIVE,
            policy=policy,
        )
        assert reasons(plan) == ["sealed"]


class TestLooks:
    """What a seal looks like takes a chance away, and never gives one."""

    STRANGE: ClassVar = [
        "gAAAAABo1", "litellm_enc:eyJ9;gAAAAA", "litellm_encrypted_reasoning:gAAAAA", "vllm-reasoning-v1.abc", "rsn_1", "eJxfoo",
        "[ENCRYPTED_REASONING:x]", "reasoning_content", "reasoning", "skip_thought_signature_validator",
    ]  # fmt: skip

    @pytest.mark.parametrize("seal", STRANGE)
    @pytest.mark.parametrize("policy", [TRUST, Policy(unknown_origin=Origin(CLAUDE, dialect="anthropic"))])
    def test_what_another_vendor_sealed_does_not_go_to_claude_where_all_else_is_trusted(self, seal, policy):
        blocks = [thinking(seal), {"type": "redacted_thinking", "data": seal}]
        plan = to("claude-opus-4-6", [user(), said(*blocks), user()], policy=policy)
        assert plan.messages[1]["content"] == [{"type": "text", "text": "Well."}]
        assert reasons(plan) == ["foreign"]

    def test_anything_else_goes_as_the_policy_says(self):
        messages = [user(), said(thinking()), user()]
        assert reasons(to("claude-opus-4-6", messages, policy=TRUST)) == ["own"]
        assert reasons(to("claude-opus-4-6", messages)) == ["unknown_origin"]

    def test_looks_say_nothing_against_a_mark(self):
        origin = Origin(CLAUDE, dialect="anthropic", model="claude-opus-4-6")
        messages = [user(), said(thinking("gAAAAABo1"), origin=origin), user()]
        assert reasons(to("claude-opus-4-6", messages, policy=TRUST)) == ["own"]

    def test_one_strange_block_takes_no_other_with_it(self):
        messages = [user(), said(thinking("rsn_1"), thinking("ErsB")), user()]
        plan = to("claude-opus-4-6", messages, policy=TRUST)
        assert plan.messages[1]["content"][0] == thinking("ErsB")

    @pytest.mark.parametrize("host", ["api.openai.com", "res.openai.azure.com", "api.x.ai"])
    def test_a_gateways_blob_does_not_go_to_a_responses_host(self, host):
        item = {"type": "reasoning", "summary": [], "encrypted_content": "vllm-reasoning-v1.abc"}
        answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]}
        plan = prepare([user(), item, answer, user()], host=host, dialect="responses", model="gpt-5.4", policy=TRUST)
        assert plan.messages == [user(), answer, user()]
        item["encrypted_content"] = "gAAAAAbc"
        plan = prepare([user(), item, answer, user()], host=host, dialect="responses", model="gpt-5.4", policy=TRUST)
        assert plan.messages == [user(), item, answer, user()]


@pytest.mark.skipif(find_spec("deepseek_recipe") is None, reason="the strict hosts are not installed")
class TestOnTheWire:
    """A strict host that binds every block to all that came before it."""

    @pytest.mark.parametrize("away", ["claude-fable-5-1", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-4-6"])
    @pytest.mark.parametrize("home", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"])
    def test_models_that_take_turns_at_one_host_are_never_refused(self, home, away, strict_hosts):
        from reasoning_replay.testing import aliases
        from wire_client import CLAUDE_TOOLS, ask, message_of, results_of

        host = strict_hosts("anthropic", steps=4)
        messages = [user("How is the weather?")]
        for model in (home, away, home, away, home):
            plan = prepare(
                messages, host=host.url, dialect="anthropic", model=model, request=ADAPTIVE, policy=Policy(aliases=aliases([host]))
            )  # fmt: skip
            asked = {**ADAPTIVE, "tools": CLAUDE_TOOLS}
            reply = ask(host, plan.messages, model=model, **asked)
            assert reply.status_code == 200, reply.text
            message = message_of(host, reply)
            messages += [
                capture(message, Origin(host.url, dialect="anthropic", model=model)),
                *results_of(host, message),
            ]
        assert host.refusals == []
