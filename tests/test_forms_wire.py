"""The vendors' own forms on the wire: a plain HTTP client, `prepare` and `capture` by hand, strict hosts of the dialect.

Two turns with a tool loop each at home, whole and streamed; and the same with a turn, or half a loop, at another host.
"""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

if find_spec("deepseek_recipe") is None:
    pytest.skip("the strict hosts are not installed", allow_module_level=True)

from reasoning_replay import Collector, ConversationElsewhere, MemoryStore, Origin, Policy, capture, load_hosts, prepare
from reasoning_replay.testing import aliases, foreign_bytes
from wire_bedrock import frames
from wire_chat import events
from wire_client import CLIENTS, ask

HOSTS = ["openai-responses", "azure-responses", "xai-responses", "gemini", "vertex", "bedrock", "ollama"]
AWAY = {
    "responses": ("openai-responses", "azure-responses", "xai-responses"),
    "gemini": ("gemini", "vertex"),
}
"""Dialect → hosts that speak it and cannot open what another one sealed."""
MODELS = {"bedrock": "us.anthropic.claude-opus-4-6-v1:0"}
"""Where a host's usual model takes the last turn alone."""
TEXT = {
    "responses": lambda text: {"role": "user", "content": text},
    "gemini": lambda text: {"role": "user", "parts": [{"text": text}]},
    "bedrock": lambda text: {"role": "user", "content": [{"text": text}]},
    "ollama": lambda text: {"role": "user", "content": text},
}


class App:
    """A client with one history, at any number of hosts of one dialect. Mutable."""

    def __init__(self, *hosts, streams=False, stored=False, rules=(), **parameters):
        self.hosts, self.streams, self.stored, self.rules = hosts, streams, stored, rules
        self.parameters = parameters
        self.known = MemoryStore()
        self.history = []
        self.models = {}

    def turn(self, host, text="How is the weather?", steps=8):
        """One turn with its tool loop, or so many steps of it."""
        self.history.append(TEXT[host.dialect](text))
        return self.go_on(host, steps)

    def go_on(self, host, steps=8):
        for _ in range(steps):
            response = self.step(host)
            assert response.status_code == 200, response.text
            results = CLIENTS[host.dialect].results_of(self.reply, "3C")
            self.history += results
            if not results:
                return
        assert steps < 8, "the loop did not end"

    def step(self, host):
        client, model = CLIENTS[host.dialect], self.model(host)
        policy = Policy(rules=self.rules) if self.rules else Policy(aliases=aliases(self.hosts))
        request = self.parameters | {
            key: value for key, value in client.body_for([]).items() if key not in ("messages", "input", "contents")
        }
        saved = json.loads(json.dumps(self.history)) if self.stored else self.history
        plan = prepare(
            saved, host=host.url, model=model, dialect=host.dialect, request=request, policy=policy, known=self.known
        )  # fmt: skip
        response = ask(host, as_client(host, plan.messages), stream=self.streams, model=model, **self.parameters)
        if response.status_code == 200:
            said = self.read(host, response)
            self.history += said if isinstance(said, list) else [said]
            self.reply = {"items": said} if isinstance(said, list) else said
        return response

    def model(self, host):
        return self.models.get(host, MODELS.get(host.kind, host.model))

    def read(self, host, response):
        origin = Origin(host.url, model=self.model(host), dialect=host.dialect)
        if not self.streams:
            return capture(response.json(), origin, known=self.known)
        collector = Collector(origin, known=self.known)
        for event in EVENTS[host.dialect](response):
            collector.feed(event)
        return collector.result()


EVENTS = {
    "responses": lambda response: events(response.text),
    "gemini": lambda response: events(response.text),
    "bedrock": lambda response: [{name: payload} for name, payload in frames(response.content)],
    "ollama": lambda response: [json.loads(line) for line in response.text.splitlines()],
}


def as_client(host, rows):
    """The rows as the test's client wants them: it calls the model's role by its chat name."""
    return [{**row, "role": "assistant"} if row.get("role") == "model" else row for row in rows]


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "as JSON"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", HOSTS)
def test_two_turns_at_home_lose_nothing(name, streams, stored, strict_hosts):
    host = strict_hosts(name)
    app = App(host, streams=streams, stored=stored)
    app.turn(host)
    app.turn(host, "And tomorrow?")
    assert [] == host.refusals
    assert len(host.requests) == 6
    assert [] == host.lost()


PAIRS = [(home, away) for names in AWAY.values() for home in names for away in names if home != away]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("home", "away"), PAIRS)
def test_a_turn_at_another_host_in_between_leaks_nothing_and_loses_nothing(home, away, streams, strict_hosts):
    first, second = strict_hosts(home), strict_hosts(away)
    app = App(first, second, streams=streams, stored=True)
    app.turn(first)
    app.turn(second, "And tomorrow?")
    app.turn(first, "And then?")
    assert [] == [*first.refusals, *second.refusals]
    assert [] == foreign_bytes([first, second])
    assert [] == first.lost()
    assert [] == second.lost()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("home", "away"), [pair for pair in PAIRS if "responses" in pair[0]])
def test_a_loop_that_goes_on_at_another_host_is_not_refused(home, away, streams, strict_hosts):
    first, second = strict_hosts(home), strict_hosts(away)
    app = App(first, second, streams=streams)
    app.turn(first, steps=1)
    app.go_on(second, steps=1)
    app.go_on(first)
    assert [] == [*first.refusals, *second.refusals]
    assert [] == foreign_bytes([first, second])


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "model",
    [
        "amazon.nova-pro-v1:0",
        "amazon.nova-2-lite-v1:0",
        "openai.gpt-oss-120b-1:0",
        "deepseek.r1-v1:0",
    ],
)
def test_claude_on_converse_and_back_over_another_family(model, streams, strict_hosts):
    host = strict_hosts("bedrock")
    app = App(host, streams=streams)
    app.turn(host)
    app.models[host] = model
    app.turn(host, "And tomorrow?")
    del app.models[host]
    app.turn(host, "And then?")
    assert [] == host.refusals


def test_ollama_gives_its_thinking_to_no_other_ollama(strict_hosts):
    first, second = strict_hosts("ollama"), strict_hosts("ollama")
    app = App(first, second)
    app.turn(first, steps=1)
    app.go_on(second)
    assert [] == foreign_bytes([first, second])
    assert [] == second.refusals


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("store", [False, True, None], ids=["not stored", "stored", "by default"])
@pytest.mark.parametrize("encrypts", ["always", "included"])
@pytest.mark.parametrize("name", [name for name in HOSTS if "responses" in name])
def test_responses_hosts_take_their_items_whether_they_store_or_encrypt_them(
    name, encrypts, store, streams, strict_hosts
):
    host = strict_hosts(name, encrypts=encrypts)
    app = App(host, streams=streams, stored=True, **({} if store is None else {"store": store}))
    app.turn(host)
    app.turn(host, "And tomorrow?")
    assert [] == host.refusals
    if encrypts == "always" or store is not False:
        assert [] == host.lost()


def test_a_project_of_foundry_has_the_ids_of_its_own_items(strict_hosts):
    host = strict_hosts("azure-responses", project=True)
    app = App(host)
    app.turn(host)
    assert [] == host.refusals


def test_a_conversation_is_gone_on_with_by_its_name_at_its_own_host_alone(strict_hosts):
    first, second = strict_hosts("openai-responses"), strict_hosts("azure-responses")
    app = App(first, second)
    app.turn(first, steps=1)
    name = first.last.reply["id"]
    app.history, app.parameters = app.history[-1:], {"previous_response_id": name}
    with pytest.raises(ConversationElsewhere):
        app.step(second)
    assert app.step(first).status_code == 200
    assert [] == [*first.refusals, *second.requests]


@pytest.mark.parametrize("name", HOSTS)
def test_a_reply_that_broke_off_anywhere_is_taken_by_its_host_in_the_next_turn(name, strict_hosts):
    host = strict_hosts(name, steps=0)
    whole = App(host, streams=True)
    whole.history.append(TEXT[host.dialect]("How is the weather?"))
    seen = EVENTS[host.dialect](whole.step(host))
    for cut in range(1, len(seen)):
        app = App(host, streams=True)
        collector = Collector(Origin(host.url, model=app.model(host), dialect=host.dialect), known=app.known)
        for event in seen[:cut]:
            collector.feed(event)
        said = collector.result()
        app.history.append(TEXT[host.dialect]("How is the weather?"))
        app.history += said if isinstance(said, list) else [] if said is None else [said]
        app.history.append(TEXT[host.dialect]("And tomorrow?"))
        if name != "bedrock" or said is not None:  # there two user messages in a row are the app's own fault
            assert app.step(host).status_code == 200, (cut, host.refusals)


SENTINEL = """
id = "google"
hosts = ["{}", "{}"]
dialect = "gemini"
source = "https://ai.google.dev/gemini-api/docs/thought-signatures"
date = 2026-11-13
confidence = "documented"

[[rules]]
window = "all"
missing = {{ on = "first_call", fill = "skip_thought_signature_validator" }}
"""


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("home", "away"), [("gemini", "vertex"), ("vertex", "gemini")])
def test_a_call_whose_signature_is_foreign_gets_the_sentinel_in_a_running_turn(
    home, away, streams, strict_hosts, tmp_path
):
    first, second = strict_hosts(home), strict_hosts(away)
    (tmp_path / "google.toml").write_text(SENTINEL.format(first.name, second.name))
    app = App(first, second, streams=streams, rules=load_hosts(tmp_path))
    app.turn(first, steps=1)
    app.go_on(second, steps=1)
    app.go_on(first)
    assert [] == [*first.refusals, *second.refusals]
    assert [] == foreign_bytes([first, second])
