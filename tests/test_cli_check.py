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
        assert "SECRET" not in (said.out + said.err).replace("REASONING_REPLAY_SECRET", "")
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
        ("claude", "api.anthropic.com", "anthropic", "kept", "kept in part"),
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


# What the config says to us


SAYS = """
model_list:
  - {model_name: plain, litellm_params: {model: groq/openai/gpt-oss-120b}}
  - model_name: long
    litellm_params: {model: groq/openai/gpt-oss-120b}
    model_info: {reasoning_replay: {window: all}}
router_settings: {fallbacks: [{plain: [long]}]}
litellm_settings: {callbacks: reasoning_replay.litellm.proxy_handler_instance}
"""


def earlier_turns(told):
    return {row["model"]: row["earlier_turns"] for row in told["models"]}


def test_a_deployment_is_told_by_its_own_policy_and_the_others_by_the_block_s(check):
    status, told = check(SAYS, "--json")
    assert (0, [], []) == (status, told["faults"], told["steps"])
    assert {"plain": "dropped", "long": "kept"} == earlier_turns(told)
    _, told = check(SAYS + "reasoning_replay: {window: all}\n", "--json")
    assert {"plain": "kept", "long": "kept"} == earlier_turns(told)
    within = SAYS.replace("window: all", "missing: raise").replace(
        "_instance}", "_instance, reasoning_replay: {window: all}}"
    )
    _, told = check(within, "--json")
    assert {"plain": "kept", "long": "kept"} == earlier_turns(told)


def test_aliases_of_the_block_say_whose_rule_holds(check):
    text = """
model_list: [{model_name: gw, litellm_params: {model: openai/m, api_base: "https://gw.corp.example/v1"}}]
litellm_settings: {callbacks: [reasoning_replay.litellm.proxy_handler_instance]}
reasoning_replay: {aliases: {gw.corp.example: deepseek}}
"""
    _, told = check(text, "--json")
    assert ["deepseek"] == [row["rule"] for row in told["models"]]


REFUSED = {
    "a typo": ("reasoning_replay:\n  window: all\n  stroe: memory\n", "line 11: reasoning_replay.stroe: not known; did you mean 'store'?"),
    "a store": ("reasoning_replay: {store: 'mysql://u:SECRET@x/y'}\n", "line 9: reasoning_replay.store: begins with 'mysql:'; allowed: sqlite:///path"),
    "a bound": ("reasoning_replay: {max_items: 0}\n", "line 9: reasoning_replay.store: "),
    "a host that there is not": ("reasoning_replay: {aliases: {gw.corp.example: deepsek}}\n", "line 9: reasoning_replay.aliases: "),
    "no mapping": ("reasoning_replay: memory\n", "line 9: reasoning_replay: a string; allowed: a mapping with store"),
    "a variable": ("environment_variables: {REASONING_REPLAY_STROE: memory}\n", "REASONING_REPLAY_STROE: not known; did you mean 'REASONING_REPLAY_STORE'?"),
}  # fmt: skip


@pytest.mark.parametrize(("block", "said"), REFUSED.values(), ids=REFUSED)
def test_what_the_proxy_would_refuse_at_its_start_is_said_with_its_line_and_is_exit_status_1(block, said, check):
    status, text = check(SAYS + block)
    assert 1 == status
    assert f"the proxy would not start: {said}" in text


def test_two_blocks_are_refused(check):
    text = SAYS.replace("_instance}", "_instance, reasoning_replay: {}}") + "reasoning_replay: {}\n"
    assert "the proxy would not start: line 9: reasoning_replay: stands in config.yaml twice" in check(text)[1]


@pytest.mark.parametrize("key", ["windw: all", "window: everything"])
def test_a_wrong_policy_of_a_deployment_is_said_with_the_deployment_s_name(key, check):
    status, told = check(SAYS.replace("window: all", key), "--json")
    name = key.partition(":")[0]
    assert (1, 1) == (status, len(told["faults"]))
    assert told["faults"][0].startswith(f"line 6: model_list[1] (long).model_info.reasoning_replay.{name}: ")
    assert "not known; " in told["faults"][0]
    assert {"plain": "dropped", "long": "dropped"} == earlier_turns(told)


def test_a_store_that_is_off_and_a_good_one_are_no_fault_and_nothing_is_opened(check, tmp_path):
    file = tmp_path / "s.sqlite3"
    for store in ("off", "memory", f"sqlite:///{file}", "redis://127.0.0.1:1/0"):
        assert 0 == check(f"{SAYS}reasoning_replay: {{store: {store}}}\n")[0]
    assert not file.exists()


def test_a_variable_that_is_not_set_here_is_a_note_and_one_that_is_counts(check, monkeypatch):
    block = "reasoning_replay: {secret: os.environ/MY_WORD_OF_REPLAY}\n"
    status, told = check(SAYS + block, "--json")
    assert 0 == status
    assert [
        "reasoning_replay.secret: MY_WORD_OF_REPLAY is not set here, so it is not looked at; the proxy needs it"
    ] == told["warnings"]
    monkeypatch.setenv("MY_WORD_OF_REPLAY", "hush")
    _, told = check(SAYS + block, "--json")
    assert told["faults"][0].startswith("line 9: reasoning_replay.secret: 4 characters; give at least 16")


def test_a_fault_in_an_included_file_has_no_line(check, tmp_path):
    (tmp_path / "more.yaml").write_text("reasoning_replay: {stroe: memory}\n")
    assert "the proxy would not start: reasoning_replay.stroe: not known" in check(f"include: [more.yaml]{SAYS}")[1]


# Replies as their hosts write them


SIGNED = """
model_list:
  - {model_name: claude, litellm_params: {model: openrouter/anthropic/claude-sonnet-4.5}}
  - {model_name: newest, litellm_params: {model: openrouter/anthropic/claude-opus-5.1}}
  - {model_name: gemini, litellm_params: {model: openrouter/google/gemini-3-pro}}
  - {model_name: vercel, litellm_params: {model: vercel_ai_gateway/anthropic/claude-sonnet-4.5}}
  - {model_name: snowflake, litellm_params: {model: snowflake/claude-4-sonnet, api_base: "https://a.snowflakecomputing.com/api/v2"}}
  - {model_name: deepseek, litellm_params: {model: openrouter/deepseek/deepseek-v4-pro}}
router_settings: {fallbacks: [{claude: [newest, gemini, deepseek]}]}
litellm_settings: {callbacks: reasoning_replay.litellm.proxy_handler_instance}
"""


def test_what_a_router_signs_is_kept_at_home_and_the_copy_beside_it_does_not_count(check):
    _, told = check(SIGNED, "--json")
    assert {
        "claude": ("kept", "kept", []),
        "newest": ("kept", "kept", []),
        "gemini": ("kept", "kept", []),
        "vercel": ("kept", "dropped", ["window"]),
        "snowflake": ("kept", "kept", []),
        "deepseek": ("kept", "kept", []),
    } == {row["model"]: (row["running_turn"], row["earlier_turns"], row["why"]) for row in told["models"]}
    there = {row["to"].split(" ")[0]: row["there"]["words"] for row in told["steps"]}
    assert {"newest": "kept", "gemini": "dropped (foreign)"} == {name: there[name] for name in ("newest", "gemini")}
    assert there["deepseek"].startswith("dropped (foreign)")


def test_gemini_s_door_for_openai_clients_seals_the_calls(check):
    text = """
model_list: [{model_name: g, litellm_params: {model: openai/gemini-3-pro, api_base: "https://generativelanguage.googleapis.com/v1beta/openai"}}]
litellm_settings: {callbacks: reasoning_replay.litellm.proxy_handler_instance}
"""
    _, told = check(text, "--json")
    assert [("kept", "kept")] == [(row["running_turn"], row["earlier_turns"]) for row in told["models"]]


BAD = [
    ("a: [", "not YAML at line 1"),
    ("", "empty, where the keys of a config should be"),
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
