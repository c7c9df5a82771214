"""DeepSeek's own package: it refuses what its API refuses, and renders the prompt that V4 and V4.1 see."""

import pytest

recipe = pytest.importorskip("deepseek_recipe")

from judges.conversations import EARLIER, TOOLS, WORDS, conversation, seen, sent, without

URL = "https://api.deepseek.com/v1"
ENCODINGS = {
    "deepseek-v4-pro": ("DeepSeek-V4-Pro", recipe.DeepseekV4Encoding),
    "deepseek-v4.1-flash": ("DeepSeek-V4.1-Flash", recipe.DeepseekV41Encoding),
}
REJECT = recipe.ConversionOptions().with_reasoning_content_behavior(recipe.ReasoningContentBehavior.Reject)
WITH_TOOLS = {"tools": TOOLS}


def rendered(model, messages, request, *, options=REJECT):
    """The prompt; raises what the API answers with a 400."""
    name, encoding = ENCODINGS[model]
    converted = recipe.ChatCompletionRequest({"model": name, "messages": messages, **request}).convert(options)
    return encoding().render_conversation(converted.conversation).prompt


@pytest.mark.parametrize("model", ENCODINGS)
def test_with_tools_the_model_sees_every_turn_of_its_own(model):
    messages = sent(conversation(), URL, model)
    assert list(WORDS) == seen(rendered(model, messages, WITH_TOOLS))
    assert rendered(model, conversation(), WITH_TOOLS) == rendered(model, messages, WITH_TOOLS)


@pytest.mark.parametrize("model", ENCODINGS)
def test_with_tools_leaving_an_earlier_turn_out_would_change_the_prompt(model):
    assert rendered(model, conversation(), WITH_TOOLS) != rendered(model, without(conversation(), *EARLIER), WITH_TOOLS)


@pytest.mark.parametrize("model", ENCODINGS)
def test_without_tools_what_is_left_out_would_not_have_changed_one_byte(model):
    messages = sent(conversation(), URL, model, request={})
    assert not any(word in str(messages) for word in EARLIER)
    assert rendered(model, conversation(), {}) == rendered(model, messages, {})
    assert [] == seen(rendered(model, messages, {}))


@pytest.mark.parametrize("model", ENCODINGS)
def test_with_thinking_off_nothing_is_sent_and_the_prompt_is_the_one_without(model):
    off = {"tools": TOOLS, "thinking": {"type": "disabled"}}
    messages = sent(conversation(), URL, model, request=off)
    assert not any(word in str(messages) for word in WORDS)
    assert rendered(model, without(conversation(), *WORDS), off) == rendered(model, messages, off)


@pytest.mark.parametrize("model", ENCODINGS)
def test_a_loop_that_another_host_began_is_taken_and_shows_nothing_of_it(model):
    with pytest.raises(recipe.ConversionError, match="must be passed back"):
        rendered(model, without(conversation(), *WORDS), WITH_TOOLS)
    messages = sent(conversation(), URL, model, foreign=True)
    assert [] == seen(rendered(model, messages, WITH_TOOLS))
    empty = [{**m, "reasoning_content": ""} if m["role"] == "assistant" else m for m in without(conversation(), *WORDS)]
    assert rendered(model, empty, WITH_TOOLS) == rendered(model, messages, WITH_TOOLS)
