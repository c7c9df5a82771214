"""A history of one form that is said to be of another: refused in words, or sent without anything that is reasoning.

It happens: a form that was not named, a client that carries fields of one API to another.
"""

from __future__ import annotations

import pytest

from reasoning_replay import HistoryError, MemoryStore, Origin, Policy, adopt, prepare
from reasoning_replay._replay import fallback_plan

C = "CANARY-of-another-form"
SIGNED = {"type": "thinking", "thinking": C, "signature": C}
ASSISTANT = {
    "reasoning_content": {"content": "a", "reasoning_content": C},
    "reasoning_details": {"content": "a", "reasoning": C, "reasoning_details": [{"type": "reasoning.text", "text": C}]},
    "thinking_blocks": {"content": "a", "thinking_blocks": [SIGNED]},
    "reasoning_items": {"content": "a", "reasoning_items": [{"type": "reasoning", "encrypted_content": C}]},
    "Ollama's thinking": {"content": "a", "thinking": C},
    "Copilot's": {"content": "a", "reasoning_text": C, "reasoning_opaque": C},
    "Claude's blocks": {"content": [SIGNED, {"type": "text", "text": "a"}]},
    "LangChain's blocks": {"content": [{"type": "reasoning", "reasoning": C}, {"type": "text", "text": "a"}]},
    "Converse's blocks": {
        "content": [{"reasoningContent": {"reasoningText": {"text": C, "signature": C}}}, {"text": "a"}]
    },
    "Converse's redacted block": {"content": [{"reasoningContent": {"redactedContent": C}}, {"text": "a"}]},
    "Gemini's parts in a content": {"content": [{"text": C, "thought": True}, {"type": "text", "text": "a"}]},
}
HOSTS = {
    "chat": ("llm.example", "some-model", "chat"),
    "litellm": ("llm.example", "some-model", "chat"),
    "anthropic": ("api.anthropic.com", "claude-opus-5", "anthropic"),
    "responses": ("api.openai.com", "gpt-5.4", "responses"),
    "gemini": ("generativelanguage.googleapis.com", "gemini-3-pro", "gemini"),
    "bedrock": ("bedrock-runtime.us-east-1.amazonaws.com", "anthropic.claude-opus-4-5", "bedrock"),
    "ollama": ("localhost:11434", "qwen3", "ollama"),
}


@pytest.mark.parametrize("role", ["assistant", "user"])
@pytest.mark.parametrize("said", ASSISTANT.values(), ids=ASSISTANT)
@pytest.mark.parametrize("form", HOSTS)
def test_no_reasoning_of_another_form_goes_on_the_wire(form, said, role):
    host, model, dialect = HOSTS[form]
    history = [{"role": "user", "content": "q"}, {"role": role, **said}, {"role": "user", "content": "on"}]
    told = planned = ""
    try:
        planned = repr(
            prepare(history, host=host, model=model, dialect=dialect, form=form, known=MemoryStore()).messages
        )
    except HistoryError as error:
        told = str(error)
    assert C not in planned + told
    assert planned + told != ""


@pytest.mark.parametrize("said", ASSISTANT.values(), ids=ASSISTANT)
@pytest.mark.parametrize("form", HOSTS)
def test_the_fallback_strips_it_too(form, said):
    host, model, dialect = HOSTS[form]
    history = [{"role": "user", "content": "q"}, {"role": "assistant", **said}, {"role": "user", "content": "on"}]
    try:
        plan = fallback_plan(history, Origin(host, model=model, dialect=dialect), form, {}, None)
    except HistoryError:
        return
    assert C not in repr(plan.messages)


@pytest.mark.parametrize("form", ["chat", "anthropic", "responses", "ollama"])
def test_what_is_no_reasoning_stays_as_it_is(form):
    host, model, dialect = HOSTS[form]
    history = [
        {"role": "user", "content": [{"type": "text", "text": "the word thinking"}]},
        {"role": "assistant", "content": "thinking of reasoning_content"},
        {"role": "user", "content": "on"},
    ]
    plan = prepare(history, host=host, model=model, dialect=dialect, form=form, known=MemoryStore(), policy=Policy())
    assert plan.messages == history


def test_a_mark_of_its_own_host_sends_no_block_of_another_form_back():
    history = [{"role": "user", "content": "q"}, {"role": "assistant", **ASSISTANT["Converse's blocks"]}]
    marked = adopt(history, Origin("llm.example", model="some-model"))
    plan = prepare(
        [*marked, {"role": "user", "content": "on"}], host="api.groq.com", model="llama", known=MemoryStore()
    )
    assert C not in repr(plan.messages)
