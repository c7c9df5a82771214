"""What counting costs beside cutting the same texts into tokens, and what a count again costs beside `prepare`.

    python tests/benchmarks/bench_count.py [--check] [--sizes 1000 10000]

CPU time, best of several rounds. A count for the first time cuts every text; a count again finds all of them in its cache,
as each step of a bisection does. The texts of the history are all different, as real ones are.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from history import TOOLS, history

from reasoning_replay import Origin, adopt, prepare
from reasoning_replay._vocabulary import encoder
from reasoning_replay.transcripts import count_tokens
from reasoning_replay.transcripts._count_words import words_by

OWN = Origin("api.deepseek.com", model="deepseek-v4-pro")
REQUEST = {"tools": TOOLS}
HELD = (1.6, 20.0)
"""Of cutting the joined texts, the first time; of `prepare`, again. Measured 2026-11-30 on a busy machine: 0.55-0.85 and 6-10: a count again of 1,000 messages took 10 ms."""


def varied(size):
    """The history of every figure, each text with a number of its own."""
    messages = history(size)
    for number, message in enumerate(messages):
        for key in ("content", "reasoning_content"):
            if message.get(key):
                message[key] = f"{number} {message[key]}"
    return adopt(messages, OWN)


def texts_of(messages):
    return "\n".join(
        message[key] for message in messages for key in ("content", "reasoning_content") if message.get(key)
    )


def spent(work, rounds):
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return best


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit 1 when a figure is worse than held")
    options.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    asked = options.parse_args()
    cut = encoder("deepseek-v3")
    if cut is None:
        print("needs LiteLLM and tokenizers: no vocabulary, nothing to compare with")
        return 0
    words, failed = words_by("deepseek-v3", 1.0, True), False
    for size in asked.sizes:
        messages = varied(size)
        text = texts_of(messages)

        def count(messages=messages):
            return count_tokens(messages, host=OWN.host, model=OWN.model, request=REQUEST)

        def first(count=count):
            words._known.clear()
            return count()

        joined = spent(lambda text=text: cut(text), 3)
        cold = spent(first, 3)
        warm = spent(count, 10)
        plan = spent(lambda messages=messages: prepare(messages, host=OWN.host, model=OWN.model, request=REQUEST), 10)
        print(
            f"{size:>6} messages, {count():>9} tokens: joined texts {joined * 1e3:7.1f} ms, first {cold * 1e3:7.1f} ms "
            f"({cold / joined:.2f}), again {warm * 1e3:6.2f} ms ({warm / plan:.1f} of prepare)"
        )
        failed = failed or cold / joined > HELD[0] or warm / plan > HELD[1]
    if failed:
        print(f"worse than held: {HELD}")
    return 1 if failed and asked.check else 0


if __name__ == "__main__":
    sys.exit(main())
