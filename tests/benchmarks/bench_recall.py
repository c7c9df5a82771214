"""What it costs to tell a history by what everybody can see, against `json.dumps` of the same history.

    python tests/benchmarks/bench_recall.py

Best of several rounds, for histories whose client has dropped all reasoning and for ones that kept it.
"""

from __future__ import annotations

import json
import timeit

from history import history

from reasoning_replay.forms import form_of

DROPPED = ("reasoning_content",)


def best(work) -> float:
    return min(timeit.repeat(work, number=5, repeat=15)) / 5 * 1000


def main() -> None:
    said = form_of("litellm").recall.said
    for size in (100, 1000):
        kept = history(size)
        dropped = [{key: value for key, value in each.items() if key not in DROPPED} for each in kept]
        for name, messages in (("dropped", dropped), ("kept", kept)):
            dumps = best(lambda messages=messages: json.dumps(messages))
            told = best(lambda messages=messages: said(messages))
            print(f"{size:5} messages, reasoning {name:8} dumps {dumps:.2f} ms, said {told:.2f} ms: {told / dumps:.2f}")


if __name__ == "__main__":
    main()
