"""`reasoning-replay check` says of a host what its strict twin sees: what comes back in a turn, and of turns before."""

import json

import pytest

from litellm_calls import MODES, PROVIDERS, append
from reasoning_replay import _cli
from reasoning_replay.testing import Reply, Text, call, canaries_in, sealed, think

pytest.importorskip("yaml")

ROUTED = [
    "anthropic/claude-3.7-sonnet",
    "anthropic/claude-sonnet-5",
    "anthropic/claude-opus-5.5",
    "google/gemini-3-pro",
    "deepseek/deepseek-v4-pro",
    "moonshotai/kimi-k3",
    "moonshotai/kimi-k2.6",
    "z-ai/glm-5",
]
"""A model of each row of the strict router."""
PLACES = [
    *(("openrouter", model) for model in ROUTED),
    *((kind, None) for kind in ("deepseek", "moonshot", "groq", "cerebras", "mistral", "anthropic")),
]


@pytest.fixture
def told(tmp_path, capsys):
    """`told(model)`: what `check` says of its running turn and of its earlier ones."""

    def ask(model):
        file = tmp_path / "config.yaml"
        file.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": {"model": model}}]}))
        _cli.main(["check", str(file), "--json"])
        row = json.loads(capsys.readouterr().out)["models"][0]
        return row["running_turn"], row["earlier_turns"]

    return ask


def word(host, replies):
    """What became of these replies' reasoning in the newest request."""
    there = set(canaries_in(host.last.raw.decode())) - set(host.lost())
    gone = [there.isdisjoint(canaries_in(json.dumps(request.reply))) for request in replies]
    return "dropped" if all(gone) else "kept in part" if any(gone) else "kept"


@pytest.mark.parametrize(("kind", "model"), PLACES)
def test_what_is_said_of_a_host_is_what_its_strict_twin_sees(kind, model, strict_hosts, install, told):
    seal = (sealed(),) if model in ROUTED[:4] else ()
    parts = [call(city="Oslo-1"), Text("3C"), call(city="Oslo-2"), Text("4C")]
    host = strict_hosts(kind, script=[Reply((think(), *seal, part)) for part in parts])
    install(host)
    name = PROVIDERS[kind] + (model or host.model)
    messages = []
    for question in ("q", "again"):
        messages.append({"role": "user", "content": question})
        while append(messages, MODES["sync"](host, messages, model=name)):
            pass
    assert [] == host.refusals
    assert (word(host, host.requests[2:3]), word(host, host.requests[:2])) == told(name)
