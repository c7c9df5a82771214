"""Models' own chat templates, out of the wheel of `trl`: what a model sees of what `prepare` sends to its hosts.

The templates are not ours, so none is kept here: they are read from an installed `trl`, or from a wheel of it that the
environment names (`pip download --no-deps trl`, then TRL_WHEEL=trl-….whl). Without either these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

jinja2 = pytest.importorskip("jinja2")
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judges.conversations import EARLIER, RUNNING, TOOLS, WORDS, conversation, seen, sent, without

WHEEL = os.environ.get("TRL_WHEEL")
INSTALLED = find_spec("trl")
if not WHEEL and INSTALLED is None:
    pytest.skip("no trl here, and no TRL_WHEEL", allow_module_level=True)


@cache
def template_of(name: str) -> Any:
    """A template as transformers compiles it."""
    if WHEEL:
        with zipfile.ZipFile(WHEEL) as wheel:
            text = wheel.read(f"trl/chat_templates/{name}.jinja").decode()
    else:
        text = (Path(INSTALLED.origin).parent / "chat_templates" / f"{name}.jinja").read_text()
    room = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    room.filters["tojson"] = lambda value, **more: json.dumps(value, ensure_ascii=False)
    room.globals["raise_exception"] = _refuse
    room.globals["strftime_now"] = lambda form: "2026-11-30"
    return room.from_string(re.sub(r"{%-?\s*(end)?generation\s*-?%}", "", text))  # transformers' own tag, for training


def _refuse(words: str) -> None:
    raise ValueError(words)


SPELLINGS = ("reasoning_content", "reasoning", "thinking")


def served(message: dict[str, Any]) -> dict[str, Any]:
    """A message as a server hands it to a template: arguments as objects, reasoning under every key that one may read."""
    text = next((message[key] for key in SPELLINGS if key in message), None)
    out = message if text is None else {**message, **dict.fromkeys(SPELLINGS, text)}
    if "tool_calls" in out:
        calls = [
            {"function": {**c["function"], "arguments": json.loads(c["function"]["arguments"])}}
            for c in out["tool_calls"]
        ]
        out = {**out, "tool_calls": [{**c, **new} for c, new in zip(out["tool_calls"], calls, strict=True)]}
    return out


def prompt(name: str, messages: list[dict[str, Any]], **more: Any) -> str:
    """What the model sees."""
    rows = [served(message) for message in messages]
    return template_of(name).render(messages=rows, tools=TOOLS, add_generation_prompt=True, bos_token="", **more)


class Row(NamedTuple):
    """A model at a host that runs it, and what its template shows of the conversation."""

    template: str
    url: str
    model: str
    sees: tuple[str, ...]
    switch: Mapping[str, Any] = MappingProxyType({})
    """A parameter of the template that the host's own parameter of the same name sets."""
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.model} at {self.hint or self.url}{dict(self.switch) or ''}"


DASHSCOPE = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
OWN = "http://10.0.0.7:8000/v1"
ROWS = (
    Row("qwen3", DASHSCOPE, "qwen3-32b", RUNNING),
    Row("qwen3_5_think", DASHSCOPE, "qwen3.5-plus", RUNNING),
    Row("qwen3_6", DASHSCOPE, "qwen3.6-plus", RUNNING),
    Row("qwen3_6", DASHSCOPE, "qwen3.6-plus", WORDS, {"preserve_thinking": True}),
    Row("qwen3_8", DASHSCOPE, "qwen3.8-max", WORDS),
    Row("qwen3_8", DASHSCOPE, "qwen3.8-max", RUNNING, {"preserve_thinking": False}),
    Row("glm4moe", "https://api.z.ai/api/paas/v4", "glm-4.6", RUNNING),
    Row("gptoss", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", RUNNING),
    Row("gptoss", "https://api.cerebras.ai/v1", "gpt-oss-120b", RUNNING),
    Row("qwen3_6", OWN, "Qwen/Qwen3.6-35B", RUNNING, hint="hosted_vllm"),
    Row("qwen3_8", OWN, "Qwen/Qwen3.8-30B", WORDS, hint="sglang"),
    Row("nemotron_3_ultra", OWN, "nvidia/Nemotron-3-Ultra", RUNNING, hint="hosted_vllm"),
    Row("gptoss", OWN, "gpt-oss-20b", RUNNING, hint="hosted_vllm"),
    Row("lfm2_2_5", OWN, "LFM2.5-8B", RUNNING, hint="hosted_vllm"),
)


def what_goes(row: Row, **more: Any) -> list[dict[str, Any]]:
    """What `prepare` sends to the host."""
    return sent(conversation(), row.url, row.model, hint=row.hint, request={"tools": TOOLS, **row.switch}, **more)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_model_sees_its_reasoning_of_the_turns_that_its_template_shows(row):
    assert list(row.sees) == seen(prompt(row.template, what_goes(row), **row.switch))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_the_rule_leaves_out_would_not_have_changed_one_byte_of_the_prompt(row):
    assert prompt(row.template, conversation(), **row.switch) == prompt(row.template, what_goes(row), **row.switch)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_the_rule_keeps_is_more_than_bytes_on_the_wire_only_where_the_template_shows_it(row):
    """Leaving out the earlier turns is free exactly where the template does not show them."""
    free = prompt(row.template, without(conversation(), *EARLIER), **row.switch)
    assert (row.sees != WORDS) == (free == prompt(row.template, conversation(), **row.switch))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_model_sees_nothing_of_another_hosts_reasoning(row):
    foreign = what_goes(row, foreign=True)
    assert [] == seen(prompt(row.template, foreign, **row.switch))
    assert prompt(row.template, without(conversation(), *WORDS), **row.switch) == prompt(
        row.template, foreign, **row.switch
    )
