"""What native hosts refuse beside a seal that is not their own: pairs, ids, summaries, status, places of cache points.

Each case is tried on the strict host: as the program has it, which must be refused, and as `prepare` sends it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

import httpx
import pytest

if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

from reasoning_replay import MemoryStore, Origin, Policy, capture, prepare
from reasoning_replay.testing import Reply, Text, aliases, call, foreign_bytes, think
from test_forms_wire import App
from wire_bedrock import body_for
from wire_client import ask
from wire_responses import RESPONSES_TOOLS

STORING = ["openai-responses", "azure-responses"]
USER = {"role": "user", "content": "How is the weather?"}


class Items:
    """A plain program at a Responses host: items as they came, nothing taken out by the client."""

    def __init__(self, host, **request):
        self.host, self.request = host, {"tools": RESPONSES_TOOLS, **request}
        self.known = MemoryStore()

    def raw(self, items):
        bare = [{key: value for key, value in item.items() if key != "provider_specific_fields"} for item in items]
        body = {"model": self.host.model, "input": bare, **self.request}
        return httpx.post(self.host.endpoint, json=body, timeout=30, verify=False)

    def plan(self, items):
        return prepare(
            items,
            host=self.host.url,
            dialect="responses",
            model=self.host.model,
            request=self.request,
            policy=Policy(aliases=aliases([self.host])),
            known=self.known,
        )

    def send(self, items):
        return self.raw(self.plan(items).messages)

    def reply(self, items=(USER,)):
        response = self.send([*items])
        assert response.status_code == 200, response.text
        return capture(
            response.json(), Origin(self.host.url, dialect="responses", model=self.host.model), known=self.known
        )


@pytest.fixture(params=STORING)
def program(request, strict_hosts):
    return Items(strict_hosts(request.param))


def of_type(items, kind):
    return [item for item in items if item.get("type") == kind]


def without(items, *keys):
    return [{key: value for key, value in item.items() if key not in keys} for item in items]


class TestPairs:
    def test_a_reasoning_item_without_what_followed_it_stays_away(self, program):
        thought = of_type(program.reply(), "reasoning")
        assert "required following item" in program.raw([USER, *without(thought, "status"), USER]).text
        assert program.send([USER, *thought, USER]).status_code == 200
        rows = program.plan([USER, *thought, USER]).report.rows
        assert [row.reason for row in rows if row.fields == ("content.item",)] == ["pair"]

    def test_at_the_end_too(self, program):
        thought = of_type(program.reply(), "reasoning")
        assert program.send([USER, *thought]).status_code == 200

    def test_an_item_whose_reasoning_the_program_lost_goes_without_its_id(self, program):
        run = program.reply()
        (called,) = of_type(run, "function_call")
        result = {"type": "function_call_output", "call_id": called["call_id"], "output": "3C"}
        assert "without its required 'reasoning' item" in program.raw([USER, called, result]).text
        assert program.send([USER, called, result]).status_code == 200
        (sent,) = of_type(program.plan([USER, called, result]).messages, "function_call")
        assert "id" not in sent
        assert sent["call_id"] == called["call_id"]

    def test_a_whole_run_keeps_every_id(self, program):
        run = program.reply()
        sent = program.plan([USER, *run]).messages[1:]
        assert [item["id"] for item in sent] == [item["id"] for item in run]

    def test_a_foreign_item_takes_the_ids_of_its_run_along(self, program, strict_hosts):
        other = Items(strict_hosts("openai-responses"))
        run = other.reply()
        (called,) = of_type(run, "function_call")
        items = [USER, *run, {"type": "function_call_output", "call_id": called["call_id"], "output": "3C"}]
        program.known = other.known
        assert program.send(items).status_code == 200
        assert [set(item) & {"id", "encrypted_content"} for item in program.host.last.json["input"]] == [set()] * 3
        assert foreign_bytes([program.host, other.host]) == []


OPENAI = Origin("api.openai.com", dialect="responses", model="gpt-5.4")


def at_openai(*items):
    plan = prepare([USER, *capture([*items], OPENAI), USER], host=OPENAI.host, dialect="responses", model=OPENAI.model)
    return plan.messages[1:-1]


def test_a_compaction_stands_for_the_reasoning_before_it():
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    items = [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}, said]
    assert at_openai(*items) == items
    assert at_openai(said) == [{key: value for key, value in said.items() if key != "id"}]


def test_a_call_without_its_reasoning_loses_its_id_and_no_signature():
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1__thought__abc", "name": "f", "arguments": "{}"}
    assert at_openai(call) == [{key: value for key, value in call.items() if key != "id"}]


def test_a_summary_that_a_client_left_out_is_there_again(program):
    run = program.reply()
    (called,) = of_type(run, "function_call")
    bare = [{k: v for k, v in item.items() if k != "summary"} for item in run]
    items = [USER, *bare, {"type": "function_call_output", "call_id": called["call_id"], "output": "3C"}]
    assert "summary" in program.raw(without(items, "status")).text
    assert program.send(items).status_code == 200


def test_azure_gets_no_status_and_no_empty_content_of_reasoning(strict_hosts):
    program = Items(strict_hosts("azure-responses", steps=0))
    run = [item | ({"content": []} if item["type"] == "reasoning" else {}) for item in program.reply()]
    run = [item | {"status": "completed"} for item in run]
    assert "Unknown parameter" in program.raw([USER, *run, USER]).text
    plan = program.plan([USER, *run, USER])
    assert program.raw(plan.messages).status_code == 200
    assert all("status" not in item for item in plan.messages)
    assert {row.reason for row in plan.report.rows if row.action == "guard"} == {"status"}
    assert program.host.lost() == []


def test_openai_has_its_own_status_back(strict_hosts):
    program = Items(strict_hosts("openai-responses"))
    run = program.reply()
    plan = program.plan([USER, *run, USER])
    assert [item.get("status") for item in plan.messages[1:-1]] == [item.get("status") for item in run]


@pytest.mark.parametrize("hint", ["vllm", "llamacpp"])
def test_open_servers_get_readable_text_and_no_blob(hint):
    here = Origin("box.example:8000", dialect="responses", model="qwen3")
    text = [{"type": "reasoning_text", "text": "T"}]
    thought = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": text,
        "encrypted_content": "vllm-reasoning-v1.x",
    }
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    marked = capture([thought, said], here)
    plan = prepare([USER, *marked], host=here.host, dialect="responses", model="qwen3", hint=hint)
    assert plan.messages[1] == {key: value for key, value in thought.items() if key != "encrypted_content"}
    sealed = capture([{**thought, "content": [], "id": "rs_2"}, {**said, "id": "msg_2"}], here)
    plan = prepare([USER, *sealed], host=here.host, dialect="responses", model="qwen3", hint=hint)
    assert plan.messages == [USER, {key: value for key, value in said.items() if key != "id"}]


@pytest.mark.parametrize("away", ["openai-responses", "vllm-responses", "llamacpp-responses"])
@pytest.mark.parametrize("home", ["vllm-responses", "llamacpp-responses"])
def test_an_open_server_gets_its_own_text_back_and_takes_a_loop_over(home, away, strict_hosts):
    first, second = (Items(strict_hosts(name)) for name in (home, away))
    second.known, items = first.known, [USER]
    for program in (first, first, second, first):
        run = program.reply(items)
        outputs = [
            {"type": "function_call_output", "call_id": item["call_id"], "output": "3C"}
            for item in of_type(run, "function_call")
        ]
        items += [*run, *(outputs or [USER])]
    assert [] == [*first.host.refusals, *second.host.refusals]
    assert [] == first.host.lost()
    assert [] == foreign_bytes([first.host, second.host])
    sent = of_type(first.host.last.messages, "reasoning")
    assert {None} == {item.get("encrypted_content") or None for item in sent}


class TestGemini:
    PARALLEL = Reply((think(), call(city="Oslo"), call(city="Rome")))

    @pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
    @pytest.mark.parametrize(("home", "away"), [("gemini", "vertex"), ("vertex", "gemini")])
    def test_a_loop_that_goes_on_elsewhere_has_the_sentinel_on_first_calls_alone(
        self, home, away, streams, strict_hosts
    ):
        first, second = strict_hosts(home), strict_hosts(away)
        first.script = [self.PARALLEL, self.PARALLEL, Reply((Text("3C"),))]
        app = App(first, second, streams=streams)
        app.turn(first, steps=1)
        app.go_on(second, steps=1)
        app.go_on(first, steps=1)
        assert [] == [*first.refusals, *second.refusals]
        assert [] == foreign_bytes([first, second])
        calls = [part for content in second.requests[0].messages for part in content["parts"] if "functionCall" in part]
        assert ["thoughtSignature" in part for part in calls] == [True, False]


class TestCachePoints:
    """Converse refuses a cache point right behind reasoning."""

    POINT: ClassVar = {"cachePoint": {"type": "default"}}

    def sent(self, strict_hosts, arrange, **request):
        host = strict_hosts("bedrock", steps=1)
        app = App(host)
        app.turn(host, steps=1)
        reply = app.history[1]
        thought, *rest = reply["content"]
        app.history[1] = {**reply, "content": arrange(thought, rest)}
        plan = prepare(
            app.history, host=host.url, dialect="bedrock", model=app.model(host), request={**body_for([]), **request},
            policy=Policy(aliases=aliases([host])), known=app.known,
        )  # fmt: skip
        return host, app, plan

    def test_it_moves_behind_the_next_block_that_may_have_one(self, strict_hosts):
        host, app, plan = self.sent(strict_hosts, lambda thought, rest: [thought, self.POINT, *rest])
        kinds = [next(iter(block)) for block in plan.messages[1]["content"]]
        assert kinds[0] == "reasoningContent"
        assert kinds[2] == "cachePoint"
        assert [row.reason for row in plan.report.rows if row.action == "guard"] == ["cache_point"]
        bare = [{key: value for key, value in each.items() if key != "reasoning_replay"} for each in app.history]
        refused = ask(host, bare, model=app.model(host))
        assert (refused.status_code, "after reasoning block" in refused.text) == (400, True)
        assert ask(host, plan.messages, model=app.model(host)).status_code == 200

    def test_without_a_next_one_it_moves_behind_the_last_before(self, strict_hosts):
        fields = {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}
        _, _, plan = self.sent(strict_hosts, lambda thought, rest: [*rest, thought, self.POINT], **fields)
        kinds = [next(iter(block)) for block in plan.messages[1]["content"]]
        assert kinds[-3:] == ["toolUse", "cachePoint", "reasoningContent"]

    def test_no_reasoning_takes_it(self, strict_hosts):
        _, _, plan = self.sent(strict_hosts, lambda thought, rest: [thought, self.POINT, thought, *rest])
        kinds = [next(iter(block)) for block in plan.messages[1]["content"]]
        assert kinds[:2] == ["reasoningContent", "reasoningContent"]
        assert kinds[3] == "cachePoint"

    def test_where_there_is_nothing_it_goes(self, strict_hosts):
        _, _, plan = self.sent(strict_hosts, lambda thought, rest: [thought, self.POINT])
        kinds = [next(iter(block)) for block in plan.messages[1]["content"]] if len(plan.messages) > 1 else []
        assert "cachePoint" not in kinds

    def test_one_that_may_stay_stays(self, strict_hosts):
        _, app, plan = self.sent(strict_hosts, lambda thought, rest: [thought, *rest, self.POINT])
        assert plan.messages[1]["content"] == app.history[1]["content"]
        assert [row for row in plan.report.rows if row.action == "guard"] == []
