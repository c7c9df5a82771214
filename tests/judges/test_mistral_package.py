"""Mistral's own packages: the API's closed schema, the prompt that Magistral sees, and the types of the SDK."""

import json

import pytest

pytest.importorskip("mistral_common")

from mistral_common.protocol.instruct.request import ChatCompletionRequest
from pydantic import ValidationError

from judges.conversations import EARLIER, TOOLS, WORDS, conversation, seen, sent, without

URL, MODEL = "https://api.mistral.ai/v1", "magistral-medium-latest"


def chunked():
    """The conversation as Mistral's API writes it."""
    out = []
    for message in conversation():
        text = message.pop("reasoning_content", None)
        chunk = {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}
        said = [{"type": "text", "text": message["content"]}] if message["content"] else []
        out.append(message if text is None else {**message, "content": [chunk, *said]})
    return out


def in_its_form(messages):
    """The package writes a thinking chunk's text as a string where the API's SDK writes a list."""
    out = json.loads(json.dumps(messages))
    for message in out:
        for chunk in message["content"] if isinstance(message["content"], list) else ():
            if chunk["type"] == "thinking":
                chunk["thinking"] = "".join(part["text"] for part in chunk["thinking"])
    return out


def taken(messages, model=MODEL):
    """Raises what the API answers with a 422."""
    tools = [{"type": "function", "function": TOOLS[0]["function"]}]
    return ChatCompletionRequest(model=model, messages=in_its_form(messages), tools=tools)


def prompt(messages):
    """What Magistral sees, by the template that the package generates."""
    jinja2 = pytest.importorskip("jinja2")
    generator = pytest.importorskip("mistral_common.integrations.chat_templates.template_generator")
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

    config = generator.TemplateConfig(version=TokenizerVersion.v13, thinking_support=True)
    room = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    room.filters["tojson"] = lambda value, **more: json.dumps(value)
    room.globals["raise_exception"] = _refuse
    text = generator.build_chat_template(config)
    return room.from_string(text).render(messages=in_its_form(messages), tools=TOOLS, bos_token="", eos_token="")


def _refuse(words):
    raise ValueError(words)


def test_magistral_sees_every_turn_of_its_own():
    messages = sent(chunked(), URL, MODEL)
    taken(messages)
    assert list(WORDS) == seen(prompt(messages))
    assert prompt(chunked()) == prompt(messages)


def test_leaving_an_earlier_turn_out_would_change_the_prompt():
    less = [m if m["role"] != "assistant" else {**m, "content": _without(m["content"], EARLIER)} for m in chunked()]
    assert prompt(less) != prompt(chunked())


def _without(content, words):
    return [c for c in content if not any(word in json.dumps(c) for word in words)] or ""


FOREIGN = {
    "reasoning_content": str,
    "reasoning": str,
    "thinking_blocks": lambda text: [{"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}],
    "reasoning_details": lambda text: [{"type": "reasoning.text", "text": text, "index": 0}],
}
"""A key of another host -> how it writes a text there."""


@pytest.mark.parametrize("key", FOREIGN)
def test_a_history_of_another_host_is_refused_as_it_is_and_taken_as_it_is_sent(key):
    stored = conversation()
    for message in stored:
        if message["role"] == "assistant":
            message[key] = FOREIGN[key](message.pop("reasoning_content"))
    with pytest.raises(ValidationError, match=r"[Ee]xtra"):
        taken(stored)
    messages = sent(stored, URL, MODEL, foreign=True)
    taken(messages)
    assert [] == seen(json.dumps(messages))
    assert prompt(without(conversation(), *WORDS)) == prompt(messages)


def test_models_that_do_not_reason_get_no_chunk():
    messages = sent(chunked(), URL, "mistral-large-latest")
    taken(messages, "mistral-large-latest")
    assert [] == seen(json.dumps(messages))


def test_the_sdk_knows_every_chunk_that_is_sent():
    models = pytest.importorskip("mistralai.client.models", exc_type=ImportError)
    for message in sent(chunked(), URL, MODEL):
        if message["role"] == "assistant":
            read = models.AssistantMessage.model_validate(message).model_dump(mode="json", by_alias=True)
            assert "UNKNOWN" not in json.dumps(read)
            assert seen(json.dumps(message)) == seen(json.dumps(read))
