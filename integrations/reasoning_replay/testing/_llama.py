"""A real llama.cpp server in a process of its own: what a model really sees of the reasoning that is sent back.

The server comes from the `xllamacpp` wheel, the model from `_model`, the chat template is ours: ChatML that renders
`reasoning_content` after the last user message only, as the Qwen3 family does.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx

TEMPLATE: Final = """\
{%- set last = namespace(user=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set last.user = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- if tools -%}
{{- '<|im_start|>system\\n# Tools\\n' -}}{%- for t in tools -%}{{- t | tojson + '\\n' -}}{%- endfor -%}
{{- 'Call as <tool_call>\\n<function=name>\\n<parameter=p>\\nvalue\\n</parameter>\\n</function>\\n</tool_call><|im_end|>\\n' -}}
{%- endif -%}
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{{- '<|im_start|>assistant\\n' -}}
{%- if m.reasoning_content and loop.index0 > last.user -%}{{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' -}}{%- endif -%}
{{- m.content or '' -}}
{%- for c in m.tool_calls or [] -%}
{{- '<tool_call>\\n<function=' + c.function.name + '>\\n' -}}
{%- for k, v in c.function.arguments | items -%}{{- '<parameter=' + k + '>\\n' + (v | string) + '\\n</parameter>\\n' -}}{%- endfor -%}
{{- '</function>\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- elif m.role == 'tool' -%}
{{- '<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response><|im_end|>\\n' -}}
{%- else -%}
{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}
"""

SERVE: Final = """\
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port, p.hostnames = sys.argv[1], int(sys.argv[3]), ["127.0.0.1"]
p.chat_template = open(sys.argv[2], encoding="utf-8").read()
p.n_ctx, p.n_parallel, p.cpuparams.n_threads, p.sampling.temp = 16384, 1, 1, 0.0
p.use_jinja, p.endpoint_slots, p.warmup = True, True, False
p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(p)
while True:
    time.sleep(3600)
"""
"""Runs in a process of its own, so that the server's threads and log never mix with a test's."""

NEEDS: Final = ("xllamacpp", "gguf", "numpy")
START_SECONDS: Final = 60.0
"""A guess, generous on a busy machine; a start takes about 0.4 s."""
SPACE: Final = "\u2581"
"""How the tokenizer writes a space in the prompt that /slots shows."""


class LlamaServer:
    """A running llama.cpp server."""

    def __init__(self, port: int) -> None:
        self.name = f"127.0.0.1:{port}"
        """What an Origin of this host holds."""
        self.url = f"http://{self.name}/v1"
        """The base URL to give to a client."""
        self.model = "scripted-tool-loop"

    def apply_template(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """The prompt that these messages would become."""
        body = {"messages": list(messages)} | ({"tools": list(tools)} if tools else {})
        return str(self._call("/apply-template", body)["prompt"])

    def last_prompt(self) -> str:
        """The prompt of the newest request, as the model saw it."""
        return str(self._call("/slots")[0]["prompt"]).replace(SPACE, " ")

    def _call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with httpx.Client(timeout=START_SECONDS) as client:
            url = f"http://{self.name}{path}"
            reply = client.get(url) if body is None else client.post(url, json=body)
            reply.raise_for_status()
            return reply.json()


@contextmanager
def llama_server(*, template: str = TEMPLATE) -> Iterator[LlamaServer]:
    """A real llama.cpp server for the time of a `with` block, with our tiny model and the given chat template."""
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"llama_server needs {', '.join(missing)}; install with: pip install 'reasoning-replay[testing]'"
        )
    from ._model import write_model

    with tempfile.TemporaryDirectory(prefix="reasoning-replay-llama-", ignore_cleanup_errors=True) as folder:
        room = Path(folder)
        model, chat, log = room / "tiny.gguf", room / "chat.jinja", room / "log"
        write_model(model)
        chat.write_text(template, encoding="utf-8")
        port = _free_port()
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(  # noqa: S603  our own script
                [sys.executable, "-c", SERVE, str(model), str(chat), str(port)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, "LLAMA_SERVER_SLOTS_DEBUG": "1"},
            )  # fmt: skip
        try:
            server = LlamaServer(port)
            _wait(server, process, log)
            yield server
        finally:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(server: LlamaServer, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the server answers. Says what its log says if it ends before."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            tail = log.read_text(encoding="utf-8", errors="replace")[-800:]
            raise RuntimeError(
                f"llama.cpp server at {server.name}: it ended with code {process.returncode}; its log ends: {tail}"
            )
        try:
            server._call("/health")
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"llama.cpp server at {server.name}: no answer within {START_SECONDS} seconds")
