"""CPU time of the LiteLLM Proxy for one request, with and without us: one run, 50 streams at once, dropped reasoning restored.

CPU time of the proxy's process (/proc), not wall time: both proxies run at once and are asked in turns, so that whatever
else the machine does meets both. Linux only. `--check`: fails above the bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from contextlib import contextmanager
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml

from clients.load import LoadHost, is_safe, run
from proxy_server import Proxy

BOUND = 1.05
AT_ONCE = 50
STEPS = 9


@contextmanager
def proxy(host, *, ours):
    """A proxy in front of the host, with or without our line in its configuration."""
    made = Proxy("one_worker.yaml", 1, {"DEEPSEEK_API_BASE": host.url}, {})
    config = yaml.safe_load((made.folder / made.config).read_text())
    if not ours:
        del config["litellm_settings"]["callbacks"], config["reasoning_replay"]
    (made.folder / made.config).write_text(yaml.safe_dump(config))
    try:
        yield made.start()
    finally:
        made.remove()


def cpu(pid):
    """Seconds of CPU time that a process has had, in user mode and in the kernel, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def spent(proxy, host, requests, seed):
    """CPU seconds for one request, and the verdict on what the load restored."""
    before = cpu(proxy.pid)
    verdict, _ = run(proxy, host, requests, seed=seed, stream=1.0, at_once=AT_ONCE)
    return (cpu(proxy.pid) - before) / (verdict.requests + verdict.keyless), verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=500, help="in a round, at each proxy")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    with LoadHost(STEPS, strict=False) as host, proxy(host, ours=False) as plain, proxy(host, ours=True) as with_us:
        for each in (plain, with_us):
            run(each, host, 200, stream=1.0, at_once=AT_ONCE)  # what is imported at the first request
        ratios = []
        for number in range(asked.rounds):
            order = (plain, with_us) if number % 2 else (with_us, plain)
            took = {each: spent(each, host, asked.requests, number) for each in order}
            (bare, lost), (ours, verdict) = took[plain], took[with_us]
            assert is_safe(verdict), verdict
            ratios.append(ours / bare)
            found = verdict.wanted - verdict.missed
            print(f"round {number}: {bare * 1e3:.2f} ms without us, {ours * 1e3:.2f} ms with us, ratio {ours / bare:.3f}; "
                  f"restored {found} of {verdict.wanted}, without us {lost.wanted - lost.missed}")  # fmt: skip
    ratio = statistics.median(ratios)
    print(
        f"CPU time of one proxy request, {AT_ONCE} streams at once: ratio {ratio:.3f} (median of {len(ratios)}), bound {BOUND}"
    )
    if asked.check and ratio > BOUND:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
