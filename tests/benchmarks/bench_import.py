"""What `import reasoning_replay` adds to a bare interpreter, by `-X importtime`.

python tests/benchmarks/bench_import.py [--check]
"Ours" is the own time of our modules and of our one dependency; the rest is the standard library's.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys

OURS_MS = 15.0
LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| (\s*)(\S+)")


def once() -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", "import reasoning_replay"],
        capture_output=True,
        text=True,
        check=True,
    )
    spent = {"ours": 0.0, "idna": 0.0, "all": 0.0}
    for own, total, _, name in LINE.findall(run.stderr):
        top = name.split(".")[0]
        spent["ours"] += int(own) / 1000 * (top in {"reasoning_replay", "idna"})
        spent["idna"] += int(own) / 1000 * (top == "idna")
        if name == "reasoning_replay":
            spent["all"] = int(total) / 1000
    return spent


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit 1 when the bound does not hold")
    options.add_argument("--rounds", type=int, default=15)
    asked = options.parse_args()
    once()  # writes the bytecode
    runs = [once() for _ in range(asked.rounds)]
    for word, of in (("best", min), ("median", statistics.median)):
        spent = {key: of(run[key] for run in runs) for key in runs[0]}
        print(
            f"import reasoning_replay, {word} of {asked.rounds}: {spent['ours']:.1f} ms ours "
            f"(idna {spent['idna']:.1f}), {spent['all']:.1f} ms with the standard library (bound {OURS_MS} ms ours, best)"
        )
    return 1 if asked.check and min(run["ours"] for run in runs) > OURS_MS else 0


if __name__ == "__main__":
    sys.exit(main())
