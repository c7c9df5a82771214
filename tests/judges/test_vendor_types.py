"""The vendors' own types, without a network: what is sent passes them, and what was stored would not.

botocore holds AWS's model of Converse, google-genai that of a Gemini request, ollama and xai-sdk their messages.
"""

import json

import pytest

from judges.conversations import WORDS, conversation, seen, sent

# Converse -------------------------------------------------------------------------------------------------------------

BEDROCK, CLAUDE = "https://bedrock-runtime.us-east-1.amazonaws.com", "us.anthropic.claude-opus-4-6-v1:0"
THINKING = {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}, "toolConfig": {"tools": []}}


def converse():
    """The conversation as Converse writes it: signed, and once redacted."""
    return [_converse(message) for message in conversation()]


def _converse(message):
    if message["role"] == "tool":
        result = {"toolUseId": message["tool_call_id"], "content": [{"text": message["content"]}]}
        return {"role": "user", "content": [{"toolResult": result}]}
    blocks = []
    if "reasoning_content" in message:
        text = message["reasoning_content"]
        blocks.append({"reasoningContent": {"reasoningText": {"text": text, "signature": "c2ln" + text}}})
    if message["content"]:
        blocks.append({"text": message["content"]})
    for call in message.get("tool_calls", ()):
        blocks.append({"reasoningContent": {"redactedContent": b"\x12\x34"}})
        asked = {"toolUseId": call["id"], "name": "get_weather", "input": {"city": "Oslo"}}
        blocks.append({"toolUse": asked})
    return {"role": message["role"], "content": blocks}


def refusals(messages):
    """What botocore says before it would send."""
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import ParamValidator

    shape = session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    return ParamValidator().validate({"modelId": CLAUDE, "messages": messages}, shape).generate_report()


def test_converse_takes_its_own_reasoning_as_it_is_sent_signed_and_redacted():
    messages = sent(converse(), BEDROCK, CLAUDE, dialect="bedrock", request=THINKING)
    assert "" == refusals(messages)
    assert converse() == messages


@pytest.mark.parametrize("model", ["us.deepseek.r1-v1:0", "amazon.nova-pro-v1:0", "us.anthropic.claude-opus-4-6-v1:0"])
def test_converse_takes_what_is_left_of_another_hosts_history(model):
    messages = sent(converse(), BEDROCK, model, dialect="bedrock", foreign=True)
    assert "" == refusals(messages)
    assert "reasoningContent" not in repr(messages)


def test_converse_refuses_the_history_as_it_is_stored_with_our_mark():
    from reasoning_replay import Origin, adopt

    stored = adopt(converse(), Origin.from_url(BEDROCK, model=CLAUDE, dialect="bedrock"))
    assert "Unknown parameter" in refusals(stored)


# Gemini ---------------------------------------------------------------------------------------------------------------

GOOGLE, GEMINI = "https://generativelanguage.googleapis.com", "gemini-3-pro-preview"


def contents():
    """The conversation as Gemini's REST API writes it: a thought that can be read, and a signature on each call."""
    return [_contents(message) for message in conversation()]


def _contents(message):
    if message["role"] == "tool":
        result = {"name": "get_weather", "response": {"result": message["content"]}}
        return {"role": "user", "parts": [{"functionResponse": result}]}
    if message["role"] == "user":
        return {"role": "user", "parts": [{"text": message["content"]}]}
    parts = [{"text": message["reasoning_content"], "thought": True}]
    if message["content"]:
        parts.append({"text": message["content"], "thoughtSignature": "c2lnbmVk"})
    for _ in message.get("tool_calls", ()):
        asked = {"name": "get_weather", "args": {"city": "Oslo"}}
        parts.append({"functionCall": asked, "thoughtSignature": "c2lnbmVk"})
    return {"role": "model", "parts": parts}


def read_by_google(messages):
    """The contents as google-genai reads them; raises for a key that it does not know."""
    types = pytest.importorskip("google.genai.types")
    return [types.Content.model_validate(message) for message in messages]


def test_geminis_types_take_what_is_sent_of_its_own_with_every_signature():
    messages = sent(contents(), GOOGLE, GEMINI, dialect="gemini")
    signed = [part.thought_signature for content in read_by_google(messages) for part in content.parts]
    assert 3 == len([each for each in signed if each])


def test_geminis_types_take_what_is_left_of_another_hosts_history_and_find_the_sentinel():
    messages = sent(contents(), GOOGLE, GEMINI, dialect="gemini", foreign=True)
    signed = [p.thought_signature for c in read_by_google(messages) for p in c.parts if p.thought_signature]
    assert {b"skip_thought_signature_validator"} >= set(signed)
    assert [] == seen(json.dumps(messages))


def test_geminis_types_refuse_the_history_as_it_is_stored_with_our_mark():
    from pydantic import ValidationError

    from reasoning_replay import Origin, adopt

    stored = adopt(contents(), Origin.from_url(GOOGLE, model=GEMINI, dialect="gemini"))
    with pytest.raises(ValidationError, match=r"[Ee]xtra"):
        read_by_google(stored)


# Ollama ---------------------------------------------------------------------------------------------------------------

OLLAMA = "http://127.0.0.1:11434"


def natively():
    """The conversation as Ollama's own API writes it."""
    out = conversation("thinking")
    for message in out:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if message["role"] == "tool":
            message["tool_name"] = "get_weather"
            del message["tool_call_id"]
    return out


def read_by_ollama(messages):
    """The messages as ollama's client would send them: keys that it does not know are gone."""
    ollama = pytest.importorskip("ollama")
    return [ollama.Message.model_validate(message).model_dump(exclude_none=True) for message in messages]


def test_ollamas_types_keep_all_thinking_that_is_sent_of_its_own():
    messages = sent(natively(), OLLAMA, "qwen3:8b", dialect="ollama", hint="ollama_chat")
    assert list(WORDS) == seen(json.dumps(read_by_ollama(messages)))


def test_ollamas_types_find_no_thinking_in_another_hosts_history():
    messages = sent(natively(), OLLAMA, "qwen3:8b", dialect="ollama", hint="ollama_chat", foreign=True)
    assert not [message for message in read_by_ollama(messages) if "thinking" in message]


# xAI ------------------------------------------------------------------------------------------------------------------


def test_xais_message_has_no_place_for_what_other_hosts_write():
    """Its gRPC API alone takes reasoning back in a chat; over HTTP our rule sends none."""
    chat = pytest.importorskip("xai_sdk.chat", exc_type=ImportError)
    known = set(chat.chat_pb2.Message.DESCRIPTOR.fields_by_name)
    assert {"reasoning_content", "encrypted_content"} <= known
    assert not known & {"reasoning", "thinking", "thinking_blocks", "reasoning_details", "signature"}
    messages = sent(conversation(), "https://api.x.ai/v1", "grok-4.3")
    assert [] == seen(json.dumps(messages))
