"""OpenAI's own renderer for gpt-oss: which reasoning the model sees of what is sent to the hosts that run it."""

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

harmony = pytest.importorskip("openai_harmony")

from judges.conversations import EARLIER, RUNNING, WORDS, conversation, seen, sent, without

HOSTS = [
    ("https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    ("https://api.cerebras.ai/v1", "gpt-oss-120b"),
]


@cache
def encoding():
    """The vocabulary lies in LiteLLM; the package would fetch it."""
    spec = find_spec("litellm")
    if spec is None:
        pytest.skip("the vocabulary of gpt-oss lies in LiteLLM")
    os.environ["TIKTOKEN_RS_CACHE_DIR"] = str(Path(spec.origin).parent / "litellm_core_utils" / "tokenizers")
    return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


def said(message):
    """A chat message as the messages of harmony: reasoning on `analysis`, calls on `commentary`, answers on `final`."""
    role = {"user": harmony.Role.USER, "assistant": harmony.Role.ASSISTANT, "tool": harmony.Role.TOOL}[message["role"]]
    make = harmony.Message.from_role_and_content
    if message["role"] == "tool":
        author = harmony.Author.new(role, "functions.get_weather")
        return [harmony.Message.from_author_and_content(author, message["content"]).with_channel("commentary")]
    out = []
    text = message.get("reasoning", message.get("reasoning_content"))
    if text is not None:
        out.append(make(role, text).with_channel("analysis"))
    for call in message.get("tool_calls", ()):
        asked = make(role, call["function"]["arguments"]).with_channel("commentary")
        out.append(asked.with_recipient("functions.get_weather").with_content_type("<|constrain|>json"))
    if message["content"]:
        made = make(role, message["content"])
        out.append(made.with_channel("final") if message["role"] == "assistant" else made)
    return out


def prompt(messages):
    """What the model sees."""
    whole = harmony.Conversation.from_messages([each for message in messages for each in said(message)])
    return encoding().decode_utf8(encoding().render_conversation_for_completion(whole, harmony.Role.ASSISTANT))


NEW_QUESTION = 5
"""So many messages end with the second question."""


@pytest.mark.parametrize(("url", "model"), HOSTS)
def test_at_a_new_question_what_is_left_out_would_not_have_changed_one_byte(url, model):
    asked = conversation("reasoning")[:NEW_QUESTION]
    messages = sent(asked, url, model)
    assert [] == [m for m in messages if "reasoning" in m]
    assert prompt(asked) == prompt(messages)
    assert [] == seen(prompt(messages))


@pytest.mark.parametrize(("url", "model"), HOSTS)
def test_in_the_running_loop_the_model_sees_its_own_turn_and_the_prompt_only_grows(url, model):
    messages = sent(conversation("reasoning"), url, model)
    assert list(RUNNING) == seen(prompt(messages))
    assert prompt(messages).startswith(prompt(sent(conversation("reasoning")[:NEW_QUESTION], url, model)))


def test_sent_everything_the_renderer_brings_earlier_turns_back_in_mid_loop_and_moves_the_prefix():
    """It drops `analysis` only where the last message of the model is an answer: a question hides it, the next call shows it."""
    assert list(WORDS) == seen(prompt(conversation()))
    assert not prompt(conversation()).startswith(prompt(conversation()[:NEW_QUESTION]))


def test_of_the_running_turn_nothing_can_go_without_the_model_missing_it():
    kept = without(conversation(), *EARLIER)
    assert prompt(without(kept, *RUNNING)) != prompt(kept)


@pytest.mark.parametrize(("url", "model"), HOSTS)
def test_the_model_sees_nothing_of_another_host(url, model):
    messages = sent(conversation("reasoning"), url, model, foreign=True)
    assert [] == seen(prompt(messages))
    assert prompt(without(conversation(), *WORDS)) == prompt(messages)
