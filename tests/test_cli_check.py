"""`reasoning-replay check`: a LiteLLM proxy's config, without LiteLLM."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("yaml")

from reasoning_replay import _cli
from reasoning_replay._cli._proxy_config import read_config

CONFIG = """
model_list:
  - model_name: smart
    litellm_params: {model: deepseek/deepseek-v4-pro, api_key: sk-SECRET}
  - model_name: smart
    litellm_params: {model: openrouter/deepseek/deepseek-v4, api_key: os.environ/OPENROUTER_API_KEY}
  - model_name: claude
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      thinking: {type: enabled, budget_tokens: 2048}
      max_tokens: 4096
  - model_name: fast
    litellm_params: {model: groq/openai/gpt-oss-120b}
  - model_name: own
    litellm_params: {model: hosted_vllm/qwen3, api_base: os.environ/VLLM_BASE_OF_NOBODY}
router_settings:
  fallbacks: [{smart: [claude]}]
litellm_settings:
  callbacks: reasoning_replay.litellm.proxy_handler_instance
"""


@pytest.fixture
def check(tmp_path, capsys):
    def run(text, *options):
        file = tmp_path / "config.yaml"
        file.write_text(text)
        status = _cli.main(["check", str(file), *options])
        said = capsys.readouterr()
        assert "SECRET" not in said.out + said.err
        return status, json.loads(said.out) if "--json" in options else said.out + said.err

    return run


def test_each_model_is_told_with_its_host_and_what_becomes_of_its_own_reasoning(check):
    status, told = check(CONFIG, "--json")
    assert 0 == status
    rows = [
        (row["model"], row["host"], row["rule"], row["running_turn"], row["earlier_turns"]) for row in told["models"]
    ]
    assert rows == [
        ("smart", "api.deepseek.com", "deepseek", "kept", "kept"),
        ("smart", "openrouter.ai", "openrouter", "kept", "kept"),
        ("claude", "api.anthropic.com", "anthropic", "kept", "kept"),
        ("fast", "api.groq.com", "groq", "kept", "dropped"),
        ("own", "custom:VLLM_BASE_OF_NOBODY", "vllm", "kept", "kept"),
    ]
    assert [
        "own: VLLM_BASE_OF_NOBODY is not set here, so its host is not known: told is what the provider's name says"
    ] == told["warnings"]


def test_each_step_is_told_there_and_back(check):
    _, told = check(CONFIG, "--json")
    steps = {(row["from"], row["to"]): (row["there"]["words"], row["back"]["words"]) for row in told["steps"]}
    deepseek, router = "smart (deepseek/deepseek-v4-pro)", "smart (openrouter/deepseek/deepseek-v4)"
    claude = "claude (anthropic/claude-sonnet-4-5)"
    filled = "its own kept, the other's dropped, a placeholder where the field is demanded"
    assert {
        (deepseek, router): ("dropped (foreign), a placeholder where the field is demanded", filled),
        (router, deepseek): ("dropped (foreign), a placeholder where the field is demanded", filled),
        (deepseek, claude): ("dropped (foreign), thinking off for this call (lead_block)", filled),
        (router, claude): ("dropped (foreign), thinking off for this call (lead_block)", filled),
    } == steps


def test_two_deployments_at_one_host_are_one_place_and_two_keys_make_no_step(check):
    twice = """
model_list:
  - {model_name: a, litellm_params: {model: deepseek/deepseek-v4-pro, api_key: sk-SECRET-1}}
  - {model_name: a, litellm_params: {model: deepseek/deepseek-v4-pro, api_key: sk-SECRET-2}}
litellm_settings: {callbacks: [other, reasoning_replay.litellm.proxy_handler_instance]}
"""
    status, told = check(twice, "--json")
    assert (0, []) == (status, told["steps"])


def test_a_step_between_two_models_of_one_host_keeps_what_the_host_takes(check):
    same = """
model_list:
  - {model_name: a, litellm_params: {model: deepseek/deepseek-v4-pro}}
  - {model_name: b, litellm_params: {model: deepseek/deepseek-v4-flash}}
router_settings: {fallbacks: [{a: [b]}]}
"""
    _, told = check(same, "--json")
    assert ["kept"] == [row["there"]["words"] for row in told["steps"]]


def test_the_missing_line_is_said_and_is_exit_status_1(check):
    status, text = check(
        CONFIG.replace("  callbacks: reasoning_replay.litellm.proxy_handler_instance\n", "  drop_params: true\n")
    )
    assert 1 == status
    assert (
        "warning: the line `callbacks: reasoning_replay.litellm.proxy_handler_instance` is missing from litellm_settings"
        in text
    )
    status, text = check(CONFIG)
    assert "the callback is there: callbacks: reasoning_replay.litellm.proxy_handler_instance" in text


def test_a_fallback_that_names_nothing_is_said_and_is_exit_status_1(check):
    status, text = check(CONFIG.replace("[claude]", "[claud]"))
    assert 1 == status
    assert "warning: fallbacks: 'claud' is no model_name of this config" in text


def test_default_fallbacks_are_for_groups_without_their_own(check):
    _, told = check(CONFIG + "  default_fallbacks: [fast]\n", "--json")
    assert {"smart", "claude", "own"} == {row["from"].split(" ")[0] for row in told["steps"]}
    assert {"claude", "own"} == {row["from"].split(" ")[0] for row in told["steps"] if row["to"].startswith("fast")}


def test_variables_regions_aliases_and_includes_are_followed(check, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_BASE", "https://gw.corp.example:8443/v1?key=SECRET")
    (tmp_path / "more.yaml").write_text(
        "model_list:\n  - {model_name: more, litellm_params: {model: 'bedrock/us.anthropic.claude-opus-4-6-v1:0', aws_region_name: eu-west-1}}\n"
    )
    text = """
include: [more.yaml]
model_list:
  - {model_name: gw, litellm_params: {model: openai/deepseek-v4, api_base: os.environ/MY_BASE}}
  - {model_name: v, litellm_params: {model: vertex_ai/claude-opus-4-6, vertex_location: europe-west4}}
  - {model_name: s, litellm_params: {model: deepseek/deepseek-v4, api_base: os.environ/OF_THE_CONFIG}}
  - {model_name: wild, litellm_params: {model: openrouter/*}}
environment_variables: {OF_THE_CONFIG: "http://10.0.0.1:9000"}
router_settings: {model_group_alias: {nick: v}, fallbacks: [{nick: [more]}]}
litellm_settings: {callbacks: [reasoning_replay.litellm.proxy_handler_instance]}
"""
    status, told = check(text, "--json")
    assert 0 == status
    assert {
        "gw": ("gw.corp.example:8443", "unknown", "chat"),
        "v": ("europe-west4-aiplatform.googleapis.com", "vertex", "anthropic"),
        "s": ("10.0.0.1:9000", "deepseek", "chat"),
        "wild": ("openrouter.ai", "openrouter", "chat"),
        "more": ("bedrock-runtime.eu-west-1.amazonaws.com", "bedrock", "bedrock"),
    } == {row["model"]: (row["host"], row["rule"], row["dialect"]) for row in told["models"]}
    assert [("v (vertex_ai/claude-opus-4-6)", "more (bedrock/us.anthropic.claude-opus-4-6-v1:0)")] == [
        (row["from"], row["to"]) for row in told["steps"]
    ]


def test_litellm_is_not_imported_where_the_names_say_who_serves_them(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    code = f"import sys; from reasoning_replay import _cli; s = _cli.main(['check', {str(file)!r}]); sys.exit(s or 'litellm' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (0, "") == (run.returncode, run.stderr)
    assert "\x1b" not in run.stdout


@pytest.mark.slow  # it imports LiteLLM
def test_a_name_that_does_not_say_who_serves_it_is_litellm_s_to_know(check):
    pytest.importorskip("litellm")
    _, told = check(
        "model_list: [{model_name: a, litellm_params: {model: gpt-4o}}, {model_name: b, litellm_params: {model: mine}}]",
        "--json",
    )
    assert ["openai", "unknown"] == [row["rule"] for row in told["models"]]
    assert any("'mine' does not say who serves it; write the provider before it" in one for one in told["warnings"])


BAD = [
    ("a: [", "not YAML at line 1"),
    ("- a", "a list, where the keys of a config should be"),
    ("litellm_settings: {}", "no 'model_list' (keys: 'litellm_settings')"),
    ("model_list: [{model_name: a}]", "entry 1 of model_list has no litellm_params.model"),
    ("model_list: [{litellm_params: {model: a/b}}]", "entry 1 of model_list has no model_name"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_config_that_cannot_be_used_is_one_line_and_exit_status_2(text, said, check):
    status, line = check(text)
    assert 2 == status
    assert 1 == len(line.splitlines())
    assert said in line


def test_a_config_that_is_not_there_is_named(capsys):
    assert 2 == _cli.main(["check", "nowhere.yaml"])
    assert "nowhere.yaml: No such file or directory; give the proxy's config.yaml\n" in capsys.readouterr().err


def test_without_pyyaml_it_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert 2 == _cli.main(["check", "x.yaml"])
    assert "reading a config needs PyYAML: pip install 'reasoning-replay[cli]'" in capsys.readouterr().err


@pytest.mark.slow  # it imports LiteLLM
def test_the_configs_that_litellm_ships_are_read(capsys):
    litellm = pytest.importorskip("litellm")
    from pathlib import Path

    folder = Path(litellm.__file__).parent / "proxy" / "example_config_yaml"
    read = [read_config(str(file)) for file in folder.glob("*.yaml") if "litellm_params:" in file.read_text()]
    assert len(read) > 5
