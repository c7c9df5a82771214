"""A host on loopback that answers in the shape of each dialect and notes what it was sent; and a model of each class.

It judges nothing: the strict hosts do. It is here because it can be told to answer with anything.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec

import pytest

KEY = "sk-loopback"


class Loopback:
    """What one host has seen, and what it answers: a whole message, or the deltas of a stream."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.host = f"127.0.0.1:{port}"
        self.seen = []
        self.message = {"role": "assistant", "content": "hi"}
        self.deltas = [{"role": "assistant", "content": "h"}, {"content": "i"}]
        self.items = [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []}]

    @property
    def body(self):
        """The last request."""
        return self.seen[-1][1]

    def assistant(self):
        """The first assistant's message of the last request."""
        return next(row for row in self.body["messages"] if row["role"] == "assistant")


def _chat(host, body):
    return _reply(host, {"message": host.message, "finish_reason": "stop"})


def _reply(host, choice):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    about = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "f"}
    return {**about, "usage": usage, "choices": [{"index": 0, **choice}]}


def _chunks(host):
    for delta in host.deltas:
        yield {**_reply(host, {"delta": delta, "finish_reason": None}), "object": "chat.completion.chunk"}
    yield {**_reply(host, {"delta": {}, "finish_reason": "stop"}), "object": "chat.completion.chunk"}


def _anthropic(host, body):
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**about, "stop_reason": "end_turn", "usage": usage, "content": [{"type": "text", "text": "hi"}]}


def _responses(host, body):
    about = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": []}
    return {**about, "output": host.items, "parallel_tool_calls": True, "tool_choice": "auto", "metadata": {}}


def _gemini(host, body):
    part = {"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [part], "modelVersion": "m"}


def _bedrock(host, body):
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    message = {"role": "assistant", "content": [{"text": "hi"}]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


def _ollama(host):
    for delta in host.deltas:
        yield {
            "model": "m",
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "", **delta},
            "done": False,
        }
    end = {"done": True, "done_reason": "stop", "message": {"role": "assistant", "content": ""}}
    yield {"model": "m", "created_at": "2026-01-01T00:00:00Z", **end}


ANSWERS = {"/messages": _anthropic, "/responses": _responses, ":generateContent": _gemini, "/converse": _bedrock}
"""End of a path -> the answer; any other is a chat host's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        host = self.server.loopback
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        host.seen.append((self.path, body))
        if self.path.endswith("/api/chat"):
            self._stream((json.dumps(part) + "\n" for part in _ollama(host)), "application/x-ndjson")
        elif body.get("stream"):
            chunks = (f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(host))
            self._stream([*chunks, "data: [DONE]\n\n"], "text/event-stream")
        else:
            answer = next((make for end, make in ANSWERS.items() if self.path.endswith(end)), _chat)
            self._whole(json.dumps(answer(host, body)).encode())

    def _whole(self, content):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, pieces, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece.encode())
        self.close_connection = True


@contextmanager
def loopback():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.loopback = Loopback(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.loopback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _by(package, name, base="base_url", path="/v1", **fixed):
    """A factory: URL of the host, further keywords -> the bare model."""

    def make(url, **more):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
        known = {"model": "m", "api_key": KEY, "max_retries": 0, base: url + path, **fixed, **more}
        kept = {key: value for key, value in known.items() if value is not None}
        return getattr(import_module(package), name)(**kept)

    return make


def _router(url, **more):
    if find_spec("langchain_litellm") is None:
        pytest.skip("langchain_litellm is not installed")
    from langchain_litellm import ChatLiteLLMRouter
    from litellm import Router

    params = {"model": "deepseek/m", "api_base": f"{url}/v1", "api_key": KEY}
    router = Router(model_list=[{"model_name": "g", "litellm_params": params}], num_retries=0)
    return ChatLiteLLMRouter(router=router, model="g", max_retries=0, **more)


_AZURE = {"azure_deployment": "m", "api_version": "2024-10-21", "model": None}
_AWS = {
    "region_name": "us-east-1",
    "aws_access_key_id": "a",
    "aws_secret_access_key": "b",
    "provider": "anthropic",
    "model": "anthropic.claude-sonnet-4-5",
    "api_key": None,
    "max_retries": None,
}
ZOO = {
    "ChatOpenAI": _by("langchain_openai", "ChatOpenAI"),
    "ChatOpenAI(responses)": _by("langchain_openai", "ChatOpenAI", use_responses_api=True),
    "AzureChatOpenAI": _by("langchain_openai", "AzureChatOpenAI", base="azure_endpoint", path="", **_AZURE),
    "ChatAnthropic": _by("langchain_anthropic", "ChatAnthropic", path="", max_tokens=100),
    "ChatDeepSeek": _by("langchain_deepseek", "ChatDeepSeek"),
    "ChatXAI": _by("langchain_xai", "ChatXAI"),
    "ChatTogether": _by("langchain_together", "ChatTogether"),
    "ChatCerebras": _by("langchain_cerebras", "ChatCerebras"),
    "ChatMoonshot": _by("langchain_moonshot", "ChatMoonshot"),
    "ChatQwQ": _by("langchain_qwq", "ChatQwQ"),
    "ChatQwen": _by("langchain_qwq", "ChatQwen"),
    "ChatGroq": _by("langchain_groq", "ChatGroq", path=""),
    "ChatMistralAI": _by("langchain_mistralai", "ChatMistralAI", base="endpoint"),
    "ChatFireworks": _by("langchain_fireworks", "ChatFireworks", path=""),
    "ChatOpenRouter": _by("langchain_openrouter", "ChatOpenRouter"),
    "ChatOllama": _by("langchain_ollama", "ChatOllama", path="", api_key=None, max_retries=None),
    "ChatLiteLLM": _by("langchain_litellm", "ChatLiteLLM", model="deepseek/m"),
    "ChatLiteLLMRouter": _router,
    "ChatGoogleGenerativeAI": _by("langchain_google_genai", "ChatGoogleGenerativeAI", path=""),
    "ChatBedrockConverse": _by("langchain_aws", "ChatBedrockConverse", path="", **_AWS),
}
"""Name of a class -> a factory of its bare model."""
