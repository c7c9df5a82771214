"""What `prepare` costs beside the least that anybody must do, and beside the JSON encoder that runs anyway.

python tests/benchmarks/bench_prepare.py [--check] [--sizes 10 100 1000 10000]
Ratios of the best of many rounds in one run; a round times every candidate once, so that noise meets all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from history import TOOLS, history

from reasoning_replay import Origin, adopt, prepare

AIM = (3.0, 0.35)  # strip loops, of json.dumps; from 100 messages on
# What is held today, and `--check` asserts: an aim that is not met is told, a figure that gets worse fails.
# At 10 messages the fixed part of a call is all that counts: reported, not bounded.
HELD = {100: (7.0, 0.60), 1000: (4.5, 0.35), 10_000: (4.5, 0.40)}

OWN = Origin("api.deepseek.com", model="deepseek-v4-pro")
REQUEST = {"tools": TOOLS}


def strip_loop(messages):
    """The least: a new list, and every marked message without the mark, its other fields kept."""
    stripped = []
    for message in messages:
        fields = message.get("provider_specific_fields")
        if fields is not None and "reasoning_replay" in fields:
            bare = dict(message)
            others = {key: value for key, value in fields.items() if key != "reasoning_replay"}
            if others:
                bare["provider_specific_fields"] = others
            else:
                del bare["provider_specific_fields"]
            stripped.append(bare)
        else:
            stripped.append(message)
    return stripped


CANDIDATES = {
    "strip loop": strip_loop,
    "json.dumps": json.dumps,
    "own": lambda messages: prepare(messages, host=OWN.host, model=OWN.model, request=REQUEST),
    "own, LiteLLM form": lambda messages: prepare(
        messages, host=OWN.host, model=OWN.model, request=REQUEST, form="litellm"
    ),
    "foreign": lambda messages: prepare(messages, host="api.cerebras.ai", model="qwen-3-32b", request=REQUEST),
    "own, report read": lambda messages: prepare(messages, host=OWN.host, model=OWN.model, request=REQUEST).report.rows,
}


def measure(messages, seconds: float) -> dict[str, float]:
    best = dict.fromkeys(CANDIDATES, float("inf"))
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for name, candidate in CANDIDATES.items():
            start = time.perf_counter()
            candidate(messages)
            best[name] = min(best[name], time.perf_counter() - start)
        rounds += 1
    return best


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit 1 when a figure is worse than held")
    options.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    options.add_argument("--seconds", type=float, default=2.0, help="a size")
    asked = options.parse_args()
    failed, missed = [], []
    print(f"{'messages':>8}  {'candidate':<18} {'best':>10}  {'/ strip loop':>12}  {'/ json.dumps':>12}")
    for size in asked.sizes:
        best = measure(adopt(history(size), OWN), asked.seconds)
        for name, spent in best.items():
            loop, encoder = spent / best["strip loop"], spent / best["json.dumps"]
            print(f"{size:>8}  {name:<18} {spent * 1e6:>7.0f} µs  {loop:>12.2f}  {encoder:>12.3f}")
            if name in {"own", "own, LiteLLM form"} and size in HELD:
                figure = f"{size} messages, {name}: {loop:.2f} strip loops, {encoder:.3f} of json.dumps"
                missed += [figure] * beyond((loop, encoder), AIM)
                failed += [figure] * beyond((loop, encoder), HELD[size])
    print(*(f"short of the aim {AIM}: {figure}" for figure in missed), sep="\n")
    print(*(f"worse than held: {figure}" for figure in failed), sep="\n")
    return 1 if failed and asked.check else 0


def beyond(figures: tuple[float, float], bounds: tuple[float, float]) -> bool:
    return any(figure > bound for figure, bound in zip(figures, bounds, strict=True))


if __name__ == "__main__":
    sys.exit(main())
