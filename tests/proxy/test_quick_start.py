"""The README's quick start does what it says, and a config that cannot be stops the start."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pages import HOUSE, README, blocks
from proxy_server import HAS_PROXY, Proxy, running_hosts
from reasoning_replay.litellm._proxy_settings import block_of, deployment_policy, settings_from

QUICK, *_ = blocks(README, "settings")
(START,) = blocks(README, "start")
(CLIENT,) = blocks(README, "client")
CONFIGS = {path.name: path.read_text() for path in (Path(__file__).parent / "configs").glob("*.yaml")}
BLOCKS = {
    f"{page}:{block.line}": block.text
    for page in (README, f"{HOUSE}/litellm/README.md")
    for block in blocks(page, "settings")
}
slow = [
    pytest.mark.slow,  # a proxy of its own
    pytest.mark.skipif(not HAS_PROXY, reason="the LiteLLM Proxy's packages are not installed"),
]


@pytest.mark.parametrize("text", [*CONFIGS.values(), *BLOCKS.values()], ids=[*CONFIGS, *BLOCKS])
def test_every_configuration_that_is_shown_is_taken(text):
    config = yaml.safe_load(text)
    environ = {"REASONING_REPLAY_SECRET": "0123456789abcdef", "REDIS_URL": "redis://cache:6379/0"}
    settings = settings_from(block_of(config), environ)
    for number, entry in enumerate(config.get("model_list", ())):
        deployment_policy(entry, number, settings.policy)


def test_the_command_that_starts_it_is_the_one_that_the_tests_start():
    """`Proxy` runs LiteLLM's own command line with a config and a port, and its variables are those of the page."""
    export, start = START.text.splitlines()
    assert ["litellm", "--config", "config.yaml", "--port", "4000"] == shlex.split(start)
    named = [word.partition("=")[0] for word in shlex.split(export)[1:] if "=" in word]
    assert {"LITELLM_MASTER_KEY", "DEEPSEEK_API_KEY"} == set(named)
    assert all(f"os.environ/{name}" in QUICK.text for name in named)
    assert "http://127.0.0.1:4000/v1" in CLIENT.text


@pytest.fixture
def proxy_of(request):
    """A proxy with a config of its own; not started."""
    made = []

    def make(config, hosts):
        proxy = Proxy("own.yaml", 1, {}, hosts)
        made.append(proxy)
        (proxy.folder / "own.yaml").write_text(config)
        return proxy

    yield make
    for each in made:
        each.remove()


class TestStarted:
    pytestmark = slow

    def test_the_quick_start_prints_what_the_page_says(self, proxy_of):
        with running_hosts("deepseek") as hosts:
            proxy = proxy_of(QUICK.text, hosts).start()
            client = CLIENT.text.replace("http://127.0.0.1:4000", proxy.url)
            env = {**os.environ, "LITELLM_MASTER_KEY": proxy.env["LITELLM_MASTER_KEY"]}
            run = subprocess.run(
                [sys.executable, "-c", client], env=env, capture_output=True, text=True, check=False, timeout=120
            )
            assert CLIENT.output == run.stdout, run.stderr + proxy.log[-2000:]
            assert "reasoning-replay: store SQLiteStore, one tenant a key, secret: the master key" in proxy.log
            assert [] == hosts["deepseek"].refusals

    def test_a_bad_policy_of_a_deployment_and_a_variable_that_is_not_set_stop_the_start(self, proxy_of):
        for config, words in (
            (
                QUICK.text.replace("litellm_settings:", BAD_POLICY),
                "model_list[0] (deepseek).model_info.reasoning_replay.windw: not known; did you mean 'window'?",
            ),
            (
                QUICK.text + "  secret: os.environ/NO_SUCH_VARIABLE\n",
                "reasoning_replay.secret: the variable NO_SUCH_VARIABLE is not set; ",
            ),
        ):
            proxy = proxy_of(config, {})
            with pytest.raises(RuntimeError, match="the proxy ended with"):
                proxy.start()
            lines = [line for line in proxy.log.splitlines() if "ERROR reasoning_replay: " in line]
            assert [True] == [f"reasoning-replay: the proxy cannot start: {words}" in line for line in lines], proxy.log


BAD_POLICY = """    model_info:
      reasoning_replay:
        windw: all
litellm_settings:"""
