"""SGLang's own encoders, out of its wheel: the prompts that DeepSeek V3.2 and GLM 5.3 see there of what `prepare` sends.

Two files of it need nothing but the standard library, so neither the package (and torch) is installed, nor a file kept here:
they are read from a wheel that the environment names (`pip download --no-deps sglang==0.5.23`, then SGLANG_WHEEL=sglang-….whl).
"""

import copy
import json
import os
import sys
import zipfile
from functools import cache
from types import ModuleType

import pytest

from judges.conversations import EARLIER, RUNNING, TOOLS, WORDS, conversation, seen, sent, without

WHEEL = os.environ.get("SGLANG_WHEEL")
if not WHEEL:
    pytest.skip("no SGLANG_WHEEL", allow_module_level=True)

OWN = "http://10.0.0.7:30000/v1"
DEEPSEEK, GLM = "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5.3"


@cache
def encoder(path):
    """A file of the wheel as a module."""
    with zipfile.ZipFile(WHEEL) as wheel:
        code = wheel.read(path)
    module = ModuleType("sglang_" + path.rpartition("/")[2].removesuffix(".py"))
    sys.modules[module.__name__] = module
    exec(compile(code, path, "exec"), module.__dict__)
    return module


def deepseek(messages):
    """The prompt of DeepSeek V3.2 while it thinks, as SGLang's chat end makes it."""
    rows = [{"role": "system", "content": "", "tools": TOOLS}, *copy.deepcopy(messages)]
    return encoder("sglang/srt/entrypoints/openai/encoding_dsv32.py").encode_messages(rows, thinking_mode="thinking")


def glm(messages, **more):
    """The prompt of GLM 5.3; arguments come as objects, as to any template."""
    rows = copy.deepcopy(messages)
    for row in rows:
        for call in row.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return encoder("sglang/srt/parser/glm53_chat_template.py").render_glm53(rows, tools=TOOLS, **more)


def at_sglang(model, **more):
    return sent(conversation(), OWN, model, hint="sglang", **more)


def test_deepseek_sees_its_running_turn_and_what_is_left_out_would_not_have_changed_one_byte():
    messages = at_sglang(DEEPSEEK)
    assert not any(word in str(messages) for word in EARLIER)
    assert list(RUNNING) == seen(deepseek(messages))
    assert deepseek(conversation()) == deepseek(messages)


def test_deepseek_would_miss_what_is_kept():
    assert deepseek(at_sglang(DEEPSEEK)) != deepseek(without(at_sglang(DEEPSEEK), *RUNNING))


def test_glm_sees_every_turn_and_missed_what_was_left_out():
    messages = at_sglang(GLM)
    assert list(WORDS) == seen(glm(messages))
    assert glm(conversation()) == glm(messages) != glm(without(conversation(), *EARLIER))


def test_glm_told_to_clear_sees_its_running_turn_and_the_rest_is_free():
    told = {"chat_template_kwargs": {"clear_thinking": True}}
    messages = at_sglang(GLM, request={"tools": TOOLS, **told})
    assert list(RUNNING) == seen(glm(messages, clear_thinking=True))
    assert glm(messages, clear_thinking=True) == glm(without(conversation(), *EARLIER), clear_thinking=True)


@pytest.mark.parametrize(("model", "prompt"), [(DEEPSEEK, deepseek), (GLM, glm)])
def test_a_model_sees_nothing_of_another_hosts_reasoning(model, prompt):
    assert [] == seen(prompt(at_sglang(model, foreign=True)))
    assert prompt(without(conversation(), *WORDS)) == prompt(at_sglang(model, foreign=True))
