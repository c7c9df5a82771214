"""`import reasoning_replay` is light: no framework, no HTTP client, no file of rules. Asked in a fresh interpreter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

HEAVY = {
    "aiohttp", "anthropic", "asyncio", "httpx", "langchain", "langchain_core", "litellm", "openai", "pydantic",
    "requests", "rich", "starlette", "uvicorn",
}  # fmt: skip

LOOK = """
import json, sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
{body}
print(json.dumps({{"modules": sorted(sys.modules), "rules": [path for path in opened if path.endswith(".toml")]}}))
"""


@cache
def fresh(body: str) -> dict[str, list[str]]:
    run = subprocess.run(
        [sys.executable, "-I", "-c", LOOK.format(body=body)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stderr == ""
    return json.loads(run.stdout)


def test_the_core_loads_no_framework_and_no_http_client():
    assert set() == HEAVY & set(fresh("import reasoning_replay")["modules"])


def test_our_own_modules_are_the_smaller_part_of_the_import():
    """A ratio, since it holds on a busy machine too: 0.27 on 2026-11-30. The milliseconds are the benchmark's."""
    command = [sys.executable, "-I", "-X", "importtime", "-c", "import reasoning_replay"]
    parts = []
    for _ in range(5):
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        times = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \| \s*(\S+)", run.stderr)
        (whole,) = [int(total) for _, total, name in times if name == "reasoning_replay"]
        parts.append(
            sum(int(own) for own, _, name in times if name.split(".")[0] in {"reasoning_replay", "idna"}) / whole
        )
        if parts[-1] < 0.45:  # one quiet moment is enough
            break
    assert min(parts) < 0.45, parts


def test_the_core_reads_no_file_of_rules_until_a_rule_is_asked_for():
    assert [] == fresh("import reasoning_replay")["rules"]
    assert [] != fresh("import reasoning_replay; reasoning_replay.rule_for('api.deepseek.com')")["rules"]


def test_preparing_a_request_loads_no_framework_either():
    body = "import reasoning_replay as rr; rr.prepare([{'role': 'user', 'content': 'hi'}], host='api.deepseek.com')"
    assert set() == HEAVY & set(fresh(body)["modules"])


PARTNERS = {
    "anthropic", "deepseek_recipe", "google", "groq", "langchain", "langchain_anthropic", "langchain_aws",
    "langchain_cerebras", "langchain_deepseek", "langchain_fireworks", "langchain_google_genai", "langchain_groq",
    "langchain_litellm", "langchain_mistralai", "langchain_moonshot", "langchain_ollama", "langchain_openai",
    "langchain_openrouter", "langchain_qwq", "langchain_together", "langchain_xai", "langgraph", "litellm", "openai",
}  # fmt: skip


def top_level(modules: list[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


needs_langchain = pytest.mark.skipif(find_spec("langchain_core") is None, reason="langchain-core is not installed")


@needs_langchain
def test_the_integration_loads_langchain_core_and_nothing_of_its_partners():
    loaded = top_level(fresh("import reasoning_replay.langchain")["modules"])
    assert "langchain_core" in loaded
    assert set() == PARTNERS & loaded


@needs_langchain
def test_a_wrapped_model_of_nobodys_class_loads_no_partner_either():
    body = """
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from reasoning_replay.langchain import ReplayTransformer, report_of, with_reasoning_replay
bare = FakeListChatModel(responses=["hi"] * 2)
assert report_of(with_reasoning_replay(bare).invoke("hello")) is not None
t = ReplayTransformer(bare)
assert (t | bare | t.capture).invoke([HumanMessage("hello")]).content == "hi"
"""
    assert set() == PARTNERS & top_level(fresh(body)["modules"])


@needs_langchain
def test_without_langchain_core_the_error_says_what_to_install():
    said = refused("langchain_core", "import reasoning_replay.langchain")
    assert said == "reasoning_replay.langchain needs LangChain: pip install 'reasoning-replay[langchain]'"


@needs_langchain
def test_without_langchain_the_middleware_alone_is_missing_and_says_what_to_install():
    whole = "from reasoning_replay.langchain import ReplayTransformer, report_of, with_reasoning_replay; "
    said = refused("langchain", whole + "from reasoning_replay.langchain import ReasoningReplayMiddleware")
    assert said == "ReasoningReplayMiddleware needs langchain beside langchain-core: pip install langchain"


@needs_langchain
def test_a_name_that_is_not_there_is_an_attribute_error():
    body = "import reasoning_replay.langchain as own; print(hasattr(own, 'Middleware'))"
    run = subprocess.run([sys.executable, "-I", "-c", body], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "False\n"


def refused(missing: str, body: str) -> str:
    """What the ImportError says where one package is not there."""
    script = f"""
import sys
sys.modules[{missing!r}] = None
try:
    {body}
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.strip()


def test_the_command_line_shows_its_help_without_loading_a_framework():
    body = """
try:
    from reasoning_replay._cli import main
    main(["--help"])
except SystemExit as stop:
    assert stop.code == 0
print()
"""
    run = subprocess.run(
        [sys.executable, "-I", "-c", LOOK.format(body=body)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert set() == HEAVY & set(json.loads(run.stdout.splitlines()[-1])["modules"])
