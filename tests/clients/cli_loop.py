"""Real coding CLIs in front of the LiteLLM Proxy, strict hosts behind it: are their loops whole, and does nothing get lost?

    python tests/clients/cli_loop.py [claude codex opencode pi] [--npm FOLDER] [--without-us]

Installs the CLIs by npm into a temporary folder (or FOLDER, to keep them), runs each without a person: one question with
four steps, then another one in a new process that goes on with the conversation. Every body that reaches a host is looked
at: no refusal, no mark, no foreign byte, and the reasoning of the running turn is there. Needs npm and Node 20.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml

from clients.clis import AGAIN, CLIS, PROMPT, Cli, at_home, install
from proxy_server import MODELS, Proxy, running_hosts
from reasoning_replay.testing import Reply, StrictHost, Text, call, canaries_in, think
from reasoning_replay.testing.plugin import wire_faults

STEPS = 4
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
SONNET = "claude-sonnet-4-5"
"""Claude Code knows its models by name: for one that it does not know it writes messages of role `system`, for the newest API."""
MODELS_HERE = {**MODELS, "claude-thinks": "anthropic", SONNET: "anthropic"}
LOOPS = {
    "claude": ((SONNET, SONNET), ("kimi", "kimi"), (SONNET, "kimi"), ("kimi", SONNET)),
    "codex": (
        ("gpt", "gpt"),
        ("deepseek", "deepseek"),
        ("claude-thinks", "claude-thinks"),
        ("gpt", "deepseek"),
        ("deepseek", "gpt"),
    ),
    "opencode": (("deepseek", "deepseek"), ("claude-thinks", "claude-thinks")),
    "pi": (("deepseek", "deepseek"), ("kimi", "kimi"), ("claude-thinks", "claude-thinks")),
}
"""CLI -> the models of the first and of the second question. opencode and pi write another model's reasoning into the visible
text when the model changes: that is their own text then, so these two do not change it here."""


class Row(NamedTuple):
    """What came of one loop."""

    cli: str
    models: tuple[str, str]
    seconds: float
    requests: int
    refused: int
    carried: int
    wanted: int
    """Canaries of the running turn that should have stood in the bodies, and how many did."""
    faults: list[str]

    def __str__(self) -> str:
        way = self.models[0] if len(set(self.models)) == 1 else " then ".join(self.models)
        told = "".join(f"\n    {fault}" for fault in self.faults)
        return (f"{self.cli:9} {way:24} {self.requests:3} requests, {self.refused} refused, "
                f"reasoning of the running turn {self.carried} of {self.wanted}, {self.seconds:.0f} s{told}")  # fmt: skip


def says(cli: Cli):
    """The model: a few calls of the CLI's own shell tool, then an answer. What asks for no tool gets a title."""

    def answer(turn):
        tools = [tool.get("name") or (tool.get("function") or {}).get("name") for tool in turn.body.get("tools") or []]
        if cli.tool not in tools:
            return Reply((Text("A title"),))
        if turn.step < STEPS:
            return Reply((think(), call(cli.tool, **cli.arguments(turn.step))))
        return Reply((think(), Text()))

    return answer


@contextmanager
def proxy_for(hosts: dict[str, StrictHost], *, ours: bool) -> Iterator[Proxy]:
    """The proxy as in the example, with a Claude that thinks whoever asks, and parameters that a host lacks left out."""
    proxy = Proxy("one_worker.yaml", 1, {}, hosts)
    config = yaml.safe_load((proxy.folder / proxy.config).read_text())
    claude = next(row for row in config["model_list"] if row["model_name"] == "claude")
    config["model_list"].append(
        {"model_name": "claude-thinks", "litellm_params": {**claude["litellm_params"], **THINKS}}
    )
    config["model_list"].append({**claude, "model_name": SONNET})
    config["litellm_settings"]["drop_params"] = True
    if not ours:
        del config["litellm_settings"]["callbacks"], config["reasoning_replay"]
    (proxy.folder / proxy.config).write_text(yaml.safe_dump(config))
    try:
        yield proxy.start()
    finally:
        proxy.remove()


def loop(name: str, models: tuple[str, str], proxy: Proxy, commands: Path) -> Row:
    """One CLI, two questions."""
    cli, hosts = CLIS[name], [proxy.hosts[MODELS_HERE[model]] for model in models]
    for host in proxy.hosts.values():
        host.reset(script=says(cli))
    faults, start = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cli-", ignore_cleanup_errors=True) as folder:
        for number, (line, text) in enumerate(((cli.first, PROMPT), (cli.second, AGAIN))):
            home = at_home(name, Path(folder), commands, url=proxy.url, key=KEYS[name, models], model=models[number])
            try:
                home.run(line(models[number], text))
            except RuntimeError as error:
                faults.append(str(error))
    requests = [request for host in dict.fromkeys(hosts) for request in host.requests if request.json is not None]
    carried, wanted = turns_of(dict.fromkeys(hosts))
    faults += wire_faults(list(proxy.hosts.values())) + [
        f"refused: {text}" for host in dict.fromkeys(hosts) for text in host.refusals
    ]
    return Row(
        name,
        models,
        time.monotonic() - start,
        len(requests),
        sum(r.status != 200 for r in requests),
        carried,
        wanted,
        faults,
    )


KEYS: dict[tuple[str, tuple[str, str]], str] = {}


def turns_of(hosts) -> tuple[int, int]:
    """Of the canaries that each host issued in a turn, how many came back in the turn's later requests; how many there were."""
    carried = wanted = 0
    for host in hosts:
        own: list[str] = []
        for request in host.requests:
            if request.status != 200 or not (request.json or {}).get("tools"):
                continue
            body = request.raw.decode()
            carried += sum(word in body for word in own)
            wanted += len(own)
            said = canaries_in(str(request.reply))
            own = [*own, *dict.fromkeys(said)] if _calls(request) else []
    return carried, wanted


def _calls(request) -> bool:
    text = str(request.reply)
    return any(word in text for word in ("'tool_calls': [", "'tool_use'", "'function_call'"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clis", nargs="*", metavar="CLI", help=f"of {', '.join(CLIS)}; all of them by default")
    parser.add_argument("--npm", type=Path, help="where the CLIs are installed, or are already")
    parser.add_argument(
        "--without-us", action="store_true", help="the bare proxy, to see what it loses; nothing is asserted"
    )
    asked = parser.parse_args()
    names = asked.clis or list(CLIS)
    unknown = [name for name in names if name not in CLIS]
    if unknown:
        parser.error(f"no CLI {unknown[0]!r}; there are: {', '.join(CLIS)}")
    with tempfile.TemporaryDirectory(prefix="npm-", ignore_cleanup_errors=True) as folder:
        commands = install(asked.npm or Path(folder), names)
        rows = []
        with running_hosts() as hosts, proxy_for(hosts, ours=not asked.without_us) as proxy:
            for name in names:
                for models in LOOPS[name]:
                    KEYS[name, models] = proxy.fresh_key()
                    rows.append(loop(name, models, proxy, commands))
                    print(rows[-1], flush=True)
    bad = [row for row in rows if row.faults or row.refused or row.carried != row.wanted]
    if bad and not asked.without_us:
        sys.exit(f"{len(bad)} of {len(rows)} loops are not whole")


if __name__ == "__main__":
    main()
