"""What an operator can say, and what is said to one who says something else."""

from __future__ import annotations

import importlib
import re
import stat
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import litellm
import pytest
import yaml

from reasoning_replay import Policy
from reasoning_replay._policy import BadPolicy
from reasoning_replay.litellm._policies import policy_of
from reasoning_replay.litellm._proxy_settings import (
    BadSettings,
    Settings,
    default_path,
    deployment_policy,
    settings_from,
    store_for,
)
from reasoning_replay.litellm._tenant import Nothing, session_of, tenant_of
from reasoning_replay.stores import MemoryStore, SQLiteStore

SECRET = "0123456789abcdef"


def test_nothing_said_is_a_file_tenants_by_key_and_the_usual_policy():
    assert Settings() == settings_from(None, {})
    assert (None, "key", Policy()) == (Settings().store, Settings().tenant, Settings().policy)


def test_a_block_says_everything():
    block = {
        "store": "memory", "secret": SECRET, "tenant": "team", "ttl": 60, "max_items": 10, "window": "all",
        "missing": "leave", "aliases": {"gw.corp.example": "deepseek"}, "same_host": [["vllm-1:8000", "vllm-2:8000"]],
    }  # fmt: skip
    found = settings_from(block, {})
    assert ("memory", SECRET, "team") == (found.store, found.secret, found.tenant)
    assert {"ttl": 60, "max_items": 10} == dict(found.bounds)
    hosts = ({"vllm-1:8000", "vllm-2:8000"},)
    assert (
        Policy(window="all", missing="leave", aliases={"gw.corp.example": "deepseek"}, same_host=hosts) == found.policy
    )


def test_a_variable_beats_the_block():
    environ = {
        "REASONING_REPLAY_STORE": "off",
        "REASONING_REPLAY_TENANT": "user",
        "REASONING_REPLAY_TTL": "90.5",
        "REASONING_REPLAY_MAX_ITEMS": "7",
        "REASONING_REPLAY_ALIASES": '{"gw.corp.example": "moonshot"}',
        "REASONING_REPLAY_SAME_HOST": '[["a:1", "b:1"]]',
        "PATH": "/bin",
    }
    found = settings_from({"store": "memory", "tenant": "key", "ttl": 1}, environ)
    assert ("off", "user", {"ttl": 90.5, "max_items": 7}) == (found.store, found.tenant, dict(found.bounds))
    assert Policy(aliases={"gw.corp.example": "moonshot"}, same_host=({"a:1", "b:1"},)) == found.policy


@pytest.mark.parametrize("value", [True, "true", "on", "Yes"])
def test_logs_are_redacted_where_the_operator_says_so(value):
    assert settings_from({"redact_logs": value}, {}).redact_logs is True
    assert settings_from({"redact_logs": value}, {"REASONING_REPLAY_REDACT_LOGS": "off"}).redact_logs is False
    assert settings_from({}, {}).redact_logs is False


@pytest.mark.parametrize("value", ["maybe", 1, None, ["true"]])
def test_a_switch_is_true_or_false(value):
    with pytest.raises(BadSettings, match=r"reasoning_replay\.redact_logs: .*; allowed: true, false"):
        settings_from({"redact_logs": value}, {})


def test_no_end_is_a_word():
    assert {"ttl": None} == dict(settings_from(None, {"REASONING_REPLAY_TTL": "none"}).bounds)


BAD = {
    "a block that is none": ("yes", {}, "reasoning_replay: a string; allowed: a mapping with store, secret, tenant"),
    "an unknown key": ({"stroe": "memory"}, {}, "reasoning_replay.stroe: not known; did you mean 'store'? allowed: store"),
    "an unknown variable": (None, {"REASONING_REPLAY_STROE": "memory"}, "REASONING_REPLAY_STROE: not known; did you mean 'REASONING_REPLAY_STORE'? allowed: REASONING_REPLAY_STORE"),
    "a store that is no string": ({"store": 5}, {}, "reasoning_replay.store: a number; allowed: sqlite:///path"),
    "a store that is on": ({"store": True}, {}, "reasoning_replay.store: true; allowed: sqlite:///path"),
    "a secret in digits": ({"secret": 83010203040506070809}, {}, "reasoning_replay.secret: a number; allowed: a string; put it in quotes"),
    "nothing": ({"secret": None}, {}, "reasoning_replay.secret: empty; give a value (the variable that it names may not be set)"),
    "a variable that is not set": ({"secret": "os.environ/OWN"}, {}, "reasoning_replay.secret: the variable OWN is not set; set it (`openssl rand -hex 32` makes a secret), or leave the line out"),
    "a bound in a variable that is not set": ({"ttl": "os.environ/LIFE"}, {}, "reasoning_replay.ttl: the variable LIFE is not set; set it, or leave the line out"),
    "a bound that is off": ({"ttl": False}, {}, "reasoning_replay.ttl: false; allowed: seconds, or none"),
    "a bound that is not whole": ({"max_items": 1.5}, {}, "reasoning_replay.max_items: 1.5; allowed: a whole number"),
    "a bound without end": ({"max_items": float("inf")}, {}, "reasoning_replay.max_items: inf; allowed: a whole number"),
    "an alias of no host": ({"aliases": {"gw.corp.example": "deepsek"}}, {}, "reasoning_replay.aliases: aliases: 'gw.corp.example' is to be 'deepsek', a host that there is not; did you mean 'deepseek'? `reasoning-replay hosts` lists them"),
    "an unknown tenant": ({"tenant": "users"}, {}, "reasoning_replay.tenant: 'users'; did you mean 'user'? allowed: key, user, team, one"),
    "a short secret": (None, {"REASONING_REPLAY_SECRET": "hush"}, "REASONING_REPLAY_SECRET: 4 characters; give at least 16 random ones, for example what `openssl rand -hex 32` prints, the same to every worker"),
    "a bound that is no number": (None, {"REASONING_REPLAY_MAX_ITEMS": "many"}, "REASONING_REPLAY_MAX_ITEMS: 'many'; allowed: a whole number"),
    "a life that is none": ({"ttl": "long"}, {}, "reasoning_replay.ttl: 'long'; allowed: seconds, or none"),
    "aliases that are no JSON": (None, {"REASONING_REPLAY_ALIASES": "a=b"}, """REASONING_REPLAY_ALIASES: not JSON; for example {"gw.corp.example": "deepseek"}"""),
    "a window that there is not": ({"window": "al"}, {}, "reasoning_replay.window: Policy(window='al'): not known; did you mean 'all'? allowed:"),
    "hosts that are none": ({"same_host": "a"}, {}, "reasoning_replay.same_host: Policy(same_host='a'): must be a tuple of sets of hosts"),
    "a policy that plain values cannot say": ({"starts_turn": 1}, {}, "reasoning_replay.starts_turn: not known; "),
}  # fmt: skip


@pytest.mark.parametrize(("block", "environ", "words"), BAD.values(), ids=BAD)
def test_a_bad_value_is_told_with_its_place_and_the_fix(block, environ, words):
    with pytest.raises(BadSettings) as told:
        settings_from(block, environ)
    assert str(told.value).startswith(words)


def test_a_secret_and_a_store_never_show():
    found = settings_from({"secret": SECRET, "store": "redis://:word@cache:6379"}, {})
    assert SECRET not in repr(found)
    assert "word" not in repr(found)


def test_what_yaml_makes_of_a_word_is_the_word():
    block = yaml.safe_load("{store: off, max_items: 1e6, max_bytes: '2_000_000', ttl: '90'}")
    found = settings_from(block, {})
    assert "off" == found.store
    assert {"max_items": 1_000_000, "max_bytes": 2_000_000, "ttl": 90.0} == dict(found.bounds)
    assert ["off"] * 4 == [settings_from({"store": word}, {}).store for word in ("off", "Off", "no", "False")]


def test_a_variable_that_the_block_names_is_read():
    block = {"secret": "os.environ/OWN", "aliases": "os.environ/GATEWAYS"}
    found = settings_from(block, {"OWN": SECRET, "GATEWAYS": '{"gw.corp.example": "moonshot"}'})
    assert (SECRET, {"gw.corp.example": "moonshot"}) == (found.secret, dict(found.policy.aliases))


# The policy of one deployment

DEPLOYMENTS = {
    "a value": ({"window": "everything"}, ".window: Policy(window='everything'): not known; allowed: "),
    "a key": ({"windw": "all"}, ".windw: not known; did you mean 'window'? allowed: "),
    "no mapping": ("all", ": a string; allowed: a mapping with "),
    "an alias": ({"aliases": {"gw.corp.example": "deepsek"}}, ".aliases: aliases: 'gw.corp.example' is to be 'deepsek', "),
}  # fmt: skip


@pytest.mark.parametrize(("said", "words"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_a_bad_policy_of_a_deployment_is_told_with_its_place_and_its_name(said, words):
    with pytest.raises(BadSettings) as told:
        deployment_policy({"model_name": "ds", "model_info": {"reasoning_replay": said}}, 3, Policy())
    assert str(told.value).startswith(f"model_list[3] (ds).model_info.reasoning_replay{words}")


@pytest.mark.parametrize("said", [said for said, _ in DEPLOYMENTS.values()], ids=DEPLOYMENTS)
def test_a_bad_policy_that_a_request_meets_names_the_deployment_and_nothing_of_the_client(said):
    info = {"id": "id-7", "reasoning_replay": said}
    notes = {"deployment": "deepseek/deepseek-v4-pro", "model_info": info, "headers": {"x": "hush"}}
    with pytest.raises(
        BadPolicy, match=r"^model_info of the deployment 'deepseek/deepseek-v4-pro' \(id 'id-7'\): "
    ) as told:
        policy_of({"messages": [{"content": "hush"}], "litellm_params": {"metadata": notes}}, Policy())
    assert "hush" not in str(told.value)


# The start


@pytest.fixture
def started(monkeypatch, tmp_path):
    """The start with a config.yaml, as the proxy has read it: without LiteLLM's proxy, which takes long to import."""
    from reasoning_replay._known import forget_warnings

    server = ModuleType("litellm.proxy.proxy_server")
    server.user_config_file_path = str(tmp_path / "config.yaml")
    monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
    monkeypatch.delitem(sys.modules, "reasoning_replay.litellm._proxy_start", raising=False)
    package = importlib.import_module("litellm.proxy")
    monkeypatch.setattr(package, "proxy_server", server, raising=False)
    module = importlib.import_module("reasoning_replay.litellm._proxy_start")
    for name in ("LITELLM_SALT_KEY", "LITELLM_MASTER_KEY", "OWN"):
        monkeypatch.delenv(name, raising=False)
    forget_warnings()

    def start(text):
        (tmp_path / "config.yaml").write_text(text)
        config = yaml.safe_load(text)
        block = config.get("reasoning_replay") or {}
        for name, value in block.items():
            if str(value).startswith("os.environ/"):  # as LiteLLM does
                block[name] = None
        server.proxy_config = SimpleNamespace(config=config)
        return module.settings_store_secret()

    yield start
    sys.modules.pop("reasoning_replay.litellm._proxy_start", None)


def test_a_good_start_is_one_line_without_a_value(started, caplog):
    caplog.set_level("INFO", "reasoning_replay")
    settings, store, secret = started(f"reasoning_replay: {{store: memory, tenant: team, secret: {SECRET}}}")
    assert ("team", True, SECRET.encode()) == (settings.tenant, isinstance(store, MemoryStore), secret)
    assert ["reasoning-replay: store MemoryStore, one tenant a team, secret: set"] == caplog.messages
    started("{reasoning_replay: {store: off}, general_settings: {master_key: sk-1}}")
    assert "reasoning-replay: store off, one tenant a key, secret: the master key" == caplog.messages[-1]


BAD_STARTS = {
    "a key": ("reasoning_replay: {stroe: memory}", "reasoning_replay.stroe: not known; did you mean 'store'? "),
    "a variable": ("reasoning_replay: {secret: os.environ/OWN}", "reasoning_replay.secret: the variable OWN is not set; "),
    "a deployment": (
        "model_list: [{model_name: ds, model_info: {reasoning_replay: {window: al}}}]",
        "model_list[0] (ds).model_info.reasoning_replay.window: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD_STARTS.values(), ids=BAD_STARTS)
def test_a_bad_start_is_one_line_of_error_however_often_it_is_tried(started, caplog, text, words):
    for _ in range(2):
        with pytest.raises(BadSettings, match=f"^{re.escape(words)}"):
            started(text)
    assert [("ERROR", True)] == [
        (each.levelname, each.getMessage().startswith(f"reasoning-replay: the proxy cannot start: {words}"))
        for each in caplog.records
    ]


# Stores


def test_every_kind_of_store_is_made(tmp_path):
    assert store_for(Settings(store="off"), tmp_path) is None
    bounds = {"max_items": 3, "patience": 2.0}
    assert isinstance(store_for(Settings(store="memory", bounds=bounds), tmp_path), MemoryStore)
    with store_for(Settings(store=f"sqlite:///{tmp_path}/own.sqlite3"), tmp_path) as store:
        assert isinstance(store, SQLiteStore)
    assert (tmp_path / "own.sqlite3").exists()


def test_the_default_is_a_file_that_only_its_owner_can_read(tmp_path):
    path = default_path({"XDG_STATE_HOME": str(tmp_path / "state")})
    with store_for(Settings(), path):
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
        assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)
    assert Path.home() / ".local" / "state" / "reasoning-replay" / "proxy.sqlite3" == default_path({})


STORES = "sqlite:///path, redis://…, rediss://…, memory, off"
BAD_STORES = {
    "a word": ("sqlite", f"reasoning_replay.store: 'sqlite'; allowed: {STORES}"),
    "another kind": (
        "postgres://u:word@host/db",
        f"reasoning_replay.store: begins with 'postgres:'; allowed: {STORES}",
    ),
    "no path": ("sqlite:///", f"reasoning_replay.store: begins with 'sqlite:'; allowed: {STORES}"),
    "two slashes": ("sqlite://file", f"reasoning_replay.store: begins with 'sqlite:'; allowed: {STORES}"),
    "no host": ("redis://", "reasoning_replay.store: a Redis URL without a host; for example redis://localhost:6379/0"),
}


@pytest.mark.parametrize(("url", "words"), BAD_STORES.values(), ids=BAD_STORES)
def test_a_store_that_there_is_not_is_told_without_its_url(url, words):
    with pytest.raises(BadSettings) as told:
        store_for(Settings(store=url), Path("x"))
    assert words == str(told.value)


def test_a_path_that_cannot_hold_a_store_is_told(tmp_path):
    with pytest.raises(BadSettings, match=r"^reasoning_replay\.store: "):
        store_for(Settings(store=f"sqlite:///{tmp_path}"), tmp_path)


def test_bounds_that_no_store_can_have_are_told():
    with pytest.raises(BadSettings, match="max_items=0"):
        store_for(Settings(store="memory", bounds={"max_items": 0}), Path("x"))


# Tenants


def auth(**fields):
    return SimpleNamespace(**{"token": None, "api_key": None, "user_id": None, "team_id": None, **fields})


ALICE = auth(token="hash-1", api_key="hash-1", user_id="alice", team_id="red")
ALSO_ALICE = auth(token="hash-2", api_key="hash-2", user_id="alice", team_id="red")
BOB = auth(token="hash-3", api_key="hash-3", user_id="bob", team_id="red")


def test_a_tenant_is_a_key_a_user_or_a_team():
    names = {by: [tenant_of(each, by) for each in (ALICE, ALSO_ALICE, BOB)] for by in ("key", "user", "team", "one")}
    assert 3 == len({*names["key"]})
    assert names["user"][0] == names["user"][1] != names["user"][2]
    assert 1 == len({*names["team"]})
    assert 1 == len({*names["one"]})


def test_a_name_in_one_role_is_not_the_same_tenant_in_another():
    same = auth(token="x", user_id="x", team_id="x")
    assert 4 == len({tenant_of(same, by) for by in ("key", "user", "team", "one")})


def test_a_tenant_shows_nothing_of_a_key():
    found = tenant_of(auth(api_key="custom-key-that-is-not-hashed"), "key")
    assert 64 == len(found)
    assert {*found} <= {*"0123456789abcdef"}


@pytest.mark.parametrize("by", ["key", "user", "team"])
def test_who_has_no_such_name_has_no_tenant(by):
    assert tenant_of(auth(), by) is None
    assert tenant_of(auth(token="", api_key="", user_id="", team_id=""), by) is None
    assert tenant_of(auth(token=5, user_id=5, team_id=5), by) is None
    assert tenant_of(None, by) is None


def test_a_key_that_nobody_has_checked_is_no_tenant():
    assert tenant_of(ALICE, "key", checked=False) is None
    assert tenant_of(ALICE, "one", checked=False) is not None


DOWN = auth(token="failed-to-connect-to-db", user_id="__db_unavailable_fallback__", team_id="red")


@pytest.mark.parametrize("by", ["key", "user", "team"])
def test_whom_litellm_takes_everybody_for_is_no_tenant(by):
    """While its database is down."""
    assert tenant_of(DOWN, by) is None
    assert tenant_of(auth(token="h", user_id="__db_unavailable_fallback__", team_id="red"), by) is None
    assert tenant_of(auth(token="h", key_name="failed-to-connect-to-db", user_id="u", team_id="red"), by) is None
    assert tenant_of(DOWN, "one") == tenant_of(ALICE, "one")


def test_the_team_of_all_who_use_the_dashboard_is_no_tenant():
    signed_in = auth(token="h", user_id="alice", team_id=litellm.constants.UI_SESSION_TOKEN_TEAM_ID)
    assert tenant_of(signed_in, "team") is None
    assert tenant_of(signed_in, "user") == tenant_of(ALICE, "user")
    assert tenant_of(signed_in, "key") is not None


def test_a_user_that_a_header_names_counts_only_beside_the_key():
    by_header = [tenant_of(each, "user", mapped=True) for each in (ALICE, ALSO_ALICE)]
    assert by_header[0] != by_header[1]
    assert tenant_of(auth(user_id="alice"), "user", mapped=True) is None


# Sessions

SESSIONS = {
    "metadata": {"metadata": {"session_id": "s"}},
    "LiteLLM's metadata": {"litellm_metadata": {"session_id": "s"}},
    "the body": {"litellm_session_id": "s"},
    "LiteLLM's header": {"proxy_server_request": {"headers": {"X-LiteLLM-Session-Id": "s"}}},
    "the usual header": {"proxy_server_request": {"headers": {"x-session-id": "s"}}},
    "Codex's header": {"proxy_server_request": {"headers": {"session_id": "s"}}},
    "the cache key": {"prompt_cache_key": "s"},
}


@pytest.mark.parametrize("data", SESSIONS.values(), ids=SESSIONS)
def test_a_session_is_named_in_many_places(data):
    assert "s" == session_of(data)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"metadata": "x"},
        {"metadata": {"session_id": 5}},
        {"prompt_cache_key": ""},
        {"prompt_cache_key": "x" * 513},
        {"proxy_server_request": {"headers": []}},
    ],
    ids=str,
)
def test_what_is_no_name_is_no_session(data):
    assert session_of(data) is None


def test_the_shelf_of_nobody_has_nothing():
    shelf = Nothing()
    shelf.add([(b"k", b"v")])
    shelf.note(b"k", None)
    assert ({}, (), None) == (shelf.get([b"k"]), shelf.origins(b"k"), shelf.session)
