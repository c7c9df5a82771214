"""Hosts with bodies of another shape, by a recorder of their own: Gemini, and chat that LiteLLM sends as Responses.

Their strict hosts come with their dialects; what holds already: nothing foreign goes there, and a running loop's own
sealed parts go back.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litellm
import pytest

from litellm_calls import TOOLS, collected, run

SEALED = "U0VBTEVELVBBUlQ="
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": "{}"},
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
}
EVENTS = [
    {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "status": "in_progress", "output": []}},
    *(
        {"type": f"response.output_item.{step}", "output_index": index, "item": item, "sequence_number": 1}
        for index, item in enumerate(RESPONSE["output"])
        for step in ("added", "done")
    ),
    {"type": "response.completed", "sequence_number": 2, "response": RESPONSE},
]
CALLED = {"functionCall": {"name": "get_weather", "args": {}}, "thoughtSignature": SEALED}
CANDIDATE = {
    "candidates": [{"content": {"role": "model", "parts": [CALLED]}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}
HOSTS = {
    "responses": ("openai/responses/gpt-5", RESPONSE, EVENTS),
    "gemini": ("gemini/gemini-3-pro", CANDIDATE, [CANDIDATE]),
}
FOREIGN = {
    "role": "assistant",
    "content": "a",
    "reasoning_content": "CANARY-foreign",
    "thinking_blocks": [{"type": "thinking", "thinking": "CANARY-foreign", "signature": "c2ln"}],
    "reasoning_items": [{"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "CANARY-foreign"}],
    "provider_specific_fields": {"thought_signatures": ["CANARY-foreign"]},
}


@contextmanager
def recorder(whole, events):
    """A host that says always the same and keeps every body: its base URL and the bodies."""
    bodies = []

    class Host(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            bodies.append(body)
            streamed = '"stream": true' in body or '"stream":true' in body or "stream" in self.path
            lines = [f"data: {json.dumps(each)}\n\n" for each in events]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if streamed else "application/json")
            self.end_headers()
            self.wfile.write("".join(lines).encode() if streamed else json.dumps(whole).encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()


def _ask(mode, url, messages, model):
    named = {"model": model, "api_base": url, "api_key": "k", "messages": messages, "tools": TOOLS}

    async def streamed():
        return await collected(await litellm.acompletion(stream=True, **named))

    ways = {
        "sync": lambda: litellm.completion(**named),
        "async": lambda: run(litellm.acompletion(**named)),
        "stream": lambda: litellm.stream_chunk_builder(list(litellm.completion(stream=True, **named))),
        "async stream": lambda: litellm.stream_chunk_builder(run(streamed())),
    }
    return ways[mode]().choices[0].message


@pytest.mark.parametrize("mode", ["sync", "async", "stream", "async stream"])
@pytest.mark.parametrize("name", HOSTS)
def test_nothing_foreign_goes_there_and_a_loops_own_sealed_parts_go_back_and_nowhere_else(
    name, mode, strict_hosts, install
):
    model, whole, events = HOSTS[name]
    elsewhere = strict_hosts("unknown")
    install(elsewhere)
    question = [{"role": "user", "content": "How is the weather?"}]
    with recorder(whole, events) as (url, bodies):
        _ask(mode, url, [*question, FOREIGN, *question], model)
        assert "CANARY-foreign" not in bodies[-1]
        message = _ask(mode, url, question, model)
        answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "3C"}
        _ask(mode, url, [*question, message, answer], model)
        assert SEALED in bodies[-1]
        assert "reasoning_replay" not in bodies[-1]
        _ask("sync", elsewhere.url, [*question, message, answer], "openai/m")
        assert SEALED.encode() not in elsewhere.last.raw
        with recorder(whole, events) as (other, others):
            _ask(mode, other, [*question, message, answer], model)
            assert SEALED not in others[-1]
