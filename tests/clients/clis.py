"""The coding CLIs: how each is installed from npm, told to use a base URL, and asked one thing without a person.

They run in a home folder of their own, with a shell tool that needs no consent, and reach no other address than the proxy.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PROMPT = "Take the steps."
AGAIN = "Take one more."
SECONDS = 180


class Cli(NamedTuple):
    """One coding CLI."""

    package: str
    """npm's name of it, with the version that these lines were written for."""
    route: str
    """The proxy's route that it calls."""
    tool: str
    """Its shell tool."""
    arguments: Callable[[int], dict[str, Any]]
    """The arguments of a call of that tool."""
    settings: Callable[[Path, str, str, str], dict[str, str]]
    """Writes its files into a home folder; gives what its environment needs. Home, base URL, key, model."""
    first: Callable[[str, str], list[str]]
    """The command line of the first question. Model, text."""
    second: Callable[[str, str], list[str]]
    """The command line of a question that goes on with the conversation."""


def _write(path: Path, text: str | Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


# Claude Code ----------------------------------------------------------------------------------------------------------


def _claude(home, url, key, model):
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": key,
        "MAX_THINKING_TOKENS": "2048",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _claude_line(model, text, *more):
    return ["claude", "-p", text, "--model", model, "--allowedTools", "Bash", *more]


# Codex ----------------------------------------------------------------------------------------------------------------

CODEX = """\
model = "{model}"
model_provider = "proxy"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.proxy]
name = "proxy"
base_url = "{url}/v1"
env_key = "PROXY_KEY"
wire_api = "responses"
"""


def _codex(home, url, key, model):
    _write(home / ".codex" / "config.toml", CODEX.format(model=model, url=url))
    return {"PROXY_KEY": key}


# opencode -------------------------------------------------------------------------------------------------------------


def _opencode(home, url, key, model):
    models = {model: {"name": model, "reasoning": True, "tool_call": True}}
    host = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "proxy",
        "options": {"baseURL": f"{url}/v1", "apiKey": key},
        "models": models,
    }
    settings = {"autoupdate": False, "share": "disabled", "permission": {"bash": "allow"}, "provider": {"proxy": host}}
    _write(home / "opencode.json", {**settings, "model": f"proxy/{model}", "small_model": f"proxy/{model}"})
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


# pi -------------------------------------------------------------------------------------------------------------------


def _pi(home, url, key, model):
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    named = {
        "id": model,
        "name": model,
        "reasoning": True,
        "input": ["text"],
        "cost": free,
        "contextWindow": 100000,
        "maxTokens": 8000,
    }
    named["compat"] = {
        "supportsDeveloperRole": False,
        "supportsStore": False,
        "supportsReasoningEffort": False,
        "maxTokensField": "max_tokens",
    }
    host = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": key, "models": [named]}
    _write(home / ".pi" / "agent" / "models.json", {"providers": {"proxy": host}})
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def _pi_line(model, text, *more):
    return ["pi", "-p", "--provider", "proxy", "--model", model, *more, text]


def _bash(number):
    return {"command": f"echo step {number}", "description": "say the step"}


CLIS: Mapping[str, Cli] = {
    "claude": Cli(
        "@anthropic-ai/claude-code@2.1.197", "messages", "Bash", _bash, _claude,
        _claude_line, lambda model, text: _claude_line(model, text, "--continue"),
    ),
    "codex": Cli(
        "@openai/codex@0.171.0", "responses", "exec_command", lambda number: {"cmd": f"echo step {number}"}, _codex,
        lambda model, text: ["codex", "exec", "--skip-git-repo-check", text],
        lambda model, text: ["codex", "exec", "--skip-git-repo-check", "resume", "--last", text],
    ),
    "opencode": Cli(
        "opencode-ai@1.18.33", "chat", "bash", _bash, _opencode,
        lambda model, text: ["opencode", "run", "--model", f"proxy/{model}", text],
        lambda model, text: ["opencode", "run", "--continue", "--model", f"proxy/{model}", text],
    ),
    "pi": Cli(
        "@mariozechner/pi-coding-agent@0.73.1", "chat", "bash", lambda number: {"command": f"echo step {number}"}, _pi,
        _pi_line, lambda model, text: _pi_line(model, text, "--continue"),
    ),
}  # fmt: skip


def install(folder: Path, names: list[str]) -> Path:
    """Installs CLIs by npm into a folder outside the repository; gives the folder of their commands."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "package.json").exists():
        _write(folder / "package.json", {"name": "clis", "private": True})
    packages = [CLIS[name].package for name in names if not (folder / "node_modules" / ".bin" / name).exists()]
    if packages:
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages], cwd=folder, check=True
        )
    return folder / "node_modules" / ".bin"


class Home(NamedTuple):
    """A CLI that is set up: one conversation."""

    cli: Cli
    folder: Path
    environment: dict[str, str]
    commands: Path

    def run(self, line: list[str]) -> str:
        """Runs one command line to its end; what it printed. A failure raises with the end of its output."""
        done = subprocess.run(
            [str(self.commands / line[0]), *line[1:]],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{line[0]} ended with {done.returncode}: {done.stdout[-600:]} {done.stderr[-600:]}")
        return done.stdout


def at_home(name: str, folder: Path, commands: Path, *, url: str, key: str, model: str) -> Home:
    """Sets a CLI up in a folder of its own."""
    cli = CLIS[name]
    folder.mkdir(parents=True, exist_ok=True)
    given = cli.settings(folder, url, key, model)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_PROXY": "127.0.0.1,localhost", **given}
    return Home(cli, folder, environment, commands)
