"""What the callback adds to LiteLLM's own CPU time for one call to a host on loopback, sync and async.

python tests/benchmarks/bench_litellm.py [--check] [--messages 1000] [--rounds 40]
CPU time of this process, every thread of it, LiteLLM's logging included; the host is another process. Rounds with
and without the callback alternate, and the medians are compared: the machine's moods meet both.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
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


class Calls:
    """One call, sync and async, bare and with the callback."""

    def __init__(self, base: str, messages: int) -> None:
        self.bare = history(messages)
        self.marked = adopt(self.bare, Origin.from_url(base, model=MODEL), form="litellm")
        self.arguments = {"model": f"deepseek/{MODEL}", "api_base": base, "api_key": "none", "tools": TOOLS}
        self.loop = asyncio.new_event_loop()

    def sync(self, messages) -> None:
        litellm.completion(messages=messages, **self.arguments)

    def run_async(self, messages) -> None:
        self.loop.run_until_complete(self._one(messages))

    async def _one(self, messages) -> None:
        await litellm.acompletion(messages=messages, **self.arguments)
        await asyncio.sleep(0.02)  # LiteLLM's logging task belongs to the call

    def round(self, call, *, shim: bool, calls: int) -> float:
        callback = ReasoningReplay() if shim else None
        if callback is not None:
            litellm.callbacks.append(callback)
        messages = self.marked if shim else self.bare
        call(messages)
        gc.collect()
        start = time.process_time()
        for _ in range(calls):
            call(messages)
        time.sleep(0.02)  # and its logging thread
        spent = (time.process_time() - start) / calls
        if callback is not None:
            callback.uninstall()
        return spent


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
                spent = {False: [], True: []}
                for _ in range(asked.rounds):
                    for shim in (False, True):
                        spent[shim].append(calls.round(call, shim=shim, calls=asked.calls))
                bare, ours = (statistics.median(spent[shim]) for shim in (False, True))
                worst = max(worst, ours / bare - 1)
                print(
                    f"{name}: {asked.messages} messages ({size:.2f} MB), LiteLLM alone {bare * 1e3:.1f} ms CPU, "
                    f"with the callback {ours * 1e3:.1f} ms: {ours / bare - 1:+.1%} (bound {EXTRA:+.0%})"
                )
        finally:
            host.kill()
    return 1 if asked.check and worst > EXTRA else 0


if __name__ == "__main__":
    sys.exit(main())
