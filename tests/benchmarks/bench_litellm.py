"""What the callback adds to LiteLLM's own CPU time for one call to a host on loopback, sync and async.

python tests/benchmarks/bench_litellm.py [--check] [--messages 1000] [--rounds 20]
CPU time of this process, every thread of it, LiteLLM's logging included; the host is another process. Rounds of three
kinds alternate, so that the machine's moods meet all: LiteLLM alone with the unmarked list that a bare app has, LiteLLM
alone with the marked list, and the callback with the marked list. "Our layers" is the CPU time inside the callback's
own methods; the rest of the difference is what LiteLLM does with the marks (it copies and walks them several times).
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import inspect
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
sys.path.insert(0, str(Path(__file__).parent))

import litellm
from history import TOOLS, history

from reasoning_replay import Origin, adopt
from reasoning_replay.litellm import ReasoningReplay

EXTRA = 0.10
MODEL = "deepseek-v4-pro"

HOST = """
import json, http.server
REPLY = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
    "finish_reason": "stop", "message": {"role": "assistant", "content": "Done.", "reasoning_content": "I see. " * 80}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
class Host(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(REPLY)))
        self.end_headers()
        self.wfile.write(REPLY)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Timed(ReasoningReplay):
    """The callback, with the CPU time that is spent inside it."""

    spent = 0.0
    inside = False


def timed(method):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if self.inside:
            return method(self, *args, **kwargs)
        self.inside = True
        start = time.thread_time()
        try:
            return method(self, *args, **kwargs)
        finally:
            self.spent += time.thread_time() - start
            self.inside = False

    return call


for _name, _method in vars(ReasoningReplay).items():
    if inspect.isfunction(_method) and not inspect.iscoroutinefunction(_method) and not _name.startswith("_"):
        setattr(Timed, _name, timed(_method))


class Calls:
    """One call, sync and async."""

    def __init__(self, base: str, messages: int) -> None:
        self.bare = history(messages)
        self.marked = adopt(self.bare, Origin.from_url(base, model=MODEL), form="litellm")
        self.arguments = {"model": f"deepseek/{MODEL}", "api_base": base, "api_key": "none", "tools": TOOLS}
        self.loop = asyncio.new_event_loop()
        self.kinds = {"bare": (self.bare, False), "marked": (self.marked, False), "ours": (self.marked, True)}

    def sync(self, messages) -> None:
        litellm.completion(messages=messages, **self.arguments)

    def run_async(self, messages) -> None:
        self.loop.run_until_complete(self._one(messages))

    async def _one(self, messages) -> None:
        await litellm.acompletion(messages=messages, **self.arguments)
        await asyncio.sleep(0.02)  # LiteLLM's logging task belongs to the call

    def round(self, call, kind: str, calls: int) -> tuple[float, float]:
        """CPU time a call, and how much of it inside our layers."""
        messages, shim = self.kinds[kind]
        callback = Timed() if shim else None
        if callback is not None:
            litellm.callbacks.append(callback)
        call(messages)
        gc.collect()
        before = 0.0 if callback is None else callback.spent
        start = time.process_time()
        for _ in range(calls):
            call(messages)
        time.sleep(0.02)  # and its logging thread
        spent = (time.process_time() - start) / calls
        if callback is None:
            return spent, 0.0
        callback.uninstall()
        return spent, (callback.spent - before) / calls


def tell(name: str, spent: dict[str, list[tuple[float, float]]]) -> float:
    """Print the figures of one entry point; give what is bounded."""
    worst = 0.0
    for word, of in (("best", min), ("median", statistics.median)):
        bare, marked, ours = (of(total for total, _ in spent[kind]) for kind in ("bare", "marked", "ours"))
        layers = of(inside for _, inside in spent["ours"])
        worst = max(worst, layers / bare) if word == "median" else worst
        print(
            f"{name}, {word}: LiteLLM alone {bare * 1e3:.1f} ms CPU; our layers {layers * 1e3:.2f} ms = "
            f"{layers / bare:.1%} (bound {EXTRA:.0%}); the whole call {ours * 1e3:.1f} ms: {ours / marked - 1:+.1%} beside "
            f"LiteLLM alone with the marked list, {ours / bare - 1:+.1%} beside LiteLLM alone with the unmarked one"
        )
    return worst


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="exit 1 when the bound does not hold")
    options.add_argument("--messages", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--calls", type=int, default=4, help="a round")
    asked = options.parse_args()
    logging.disable(logging.CRITICAL)
    litellm.suppress_debug_info = True
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True) as host:
        try:
            calls = Calls(f"http://127.0.0.1:{int(host.stdout.readline())}", asked.messages)
            size = len(json.dumps(calls.bare)) / 1e6
            worst = 0.0
            for name, call in (("completion", calls.sync), ("acompletion", calls.run_async)):
                spent = {kind: [] for kind in calls.kinds}
                for _ in range(asked.rounds):
                    for kind, rounds in spent.items():
                        rounds.append(calls.round(call, kind, asked.calls))
                worst = max(worst, tell(f"{name}, {asked.messages} messages, {size:.2f} MB", spent))
        finally:
            host.kill()
    return 1 if asked.check and worst > EXTRA else 0


if __name__ == "__main__":
    sys.exit(main())
