"""`import reasoning_replay` is light: no framework, no HTTP client, no file of rules. Asked in a fresh interpreter."""

from __future__ import annotations

import json
import re
import subprocess
import sys

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
    assert min(parts) < 0.45, parts


def test_the_core_reads_no_file_of_rules_until_a_rule_is_asked_for():
    assert [] == fresh("import reasoning_replay")["rules"]
    assert [] != fresh("import reasoning_replay; reasoning_replay.rule_for('api.deepseek.com')")["rules"]


def test_preparing_a_request_loads_no_framework_either():
    body = "import reasoning_replay as rr; rr.prepare([{'role': 'user', 'content': 'hi'}], host='api.deepseek.com')"
    assert set() == HEAVY & set(fresh(body)["modules"])


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
