"""What LiteLLM adds to a message, takes out of it or moves on the way: on the wire stands what the host's rule asks for."""

from dataclasses import replace

import litellm
import pytest
from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

from litellm_calls import MANUAL, MODES, TOOLS, append, collected, run
from reasoning_replay import prepare
from reasoning_replay.litellm._carriers import carrier_of
from reasoning_replay.testing import foreign_bytes

MODES_HERE = [
    "sync",
    pytest.param("async", marks=pytest.mark.slow),
    pytest.param("stream", marks=pytest.mark.slow),
    "async stream",
]
GOOGLE = {
    "gemini": ("gemini/", {"api_key": "k", "reasoning_effort": "low"}),
    "vertex": ("vertex_ai/", {"vertex_project": "p", "vertex_location": "global", "reasoning_effort": "low"}),
}
MAPPED = {"azure": ("azure/gpt-4.1", {"api_version": "2025-04-01-preview"})}


@pytest.fixture(autouse=True)
def _token(monkeypatch):
    async def later(*args, **kwargs):
        return "t", "p"

    monkeypatch.setattr(VertexBase, "_ensure_access_token", lambda *args, **kwargs: ("t", "p"))
    monkeypatch.setattr(VertexBase, "_ensure_access_token_async", later)


def called(mode, messages, **named):
    """A whole reply, in one of three modes."""
    named = {"api_key": "k", "max_retries": 0, "tools": TOOLS, "messages": messages, **named}
    if mode == "sync":
        return litellm.completion(**named)
    if mode == "async":
        return run(litellm.acompletion(**named))
    if mode == "stream":
        return litellm.stream_chunk_builder(list(litellm.completion(**named, stream=True)))

    async def streamed():
        return await collected(await litellm.acompletion(**named, stream=True))

    return litellm.stream_chunk_builder(run(streamed()))


def loop(mode, messages, **named):
    """A turn to its answer."""
    while append(messages, called(mode, messages, **named)):
        pass


def google(host):
    prefix, more = GOOGLE[host.kind]
    return {"model": prefix + host.model, "api_base": host.url, **more}


def question():
    return {"role": "user", "content": "How is the weather?"}


# Lists that only a reply has ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "there"), [("gemini", "groq"), ("gemini", "azure"), ("vertex", "cerebras"), ("vertex", "mistral")]
)
def test_the_empty_list_of_images_that_litellm_puts_on_geminis_replies_goes_to_no_closed_schema(
    here, there, strict_hosts, install
):
    home, away, messages = strict_hosts(here), strict_hosts(there), [question()]
    install(home, away)
    loop("sync", messages, **google(home))
    assert [] == messages[1]["images"], "LiteLLM has stopped; drop this test with `_SHOWN`"

    messages.append(question())
    if there in MAPPED:
        model, more = MAPPED[there]
        called("sync", messages, model=model, api_base=away.url, **more)
    else:
        MODES["sync"](away, messages)

    assert (200, []) == (away.last.status, [m for m in away.last.messages if "images" in m])


@pytest.mark.parametrize("form", ["chat", "litellm"])
@pytest.mark.parametrize("empty", [[], None], ids=["empty", "null"])
@pytest.mark.parametrize("key", ["images", "annotations"])
def test_a_list_that_says_nothing_goes_and_one_that_says_something_stays(key, empty, form):
    full = {"role": "assistant", "content": "See there.", key: [{"type": "url_citation"}]}
    messages = [question(), {"role": "assistant", "content": "Cold.", key: empty}, question(), full, question()]
    plan = prepare(messages, host="https://api.groq.com", form=form)

    assert [{"role": "assistant", "content": "Cold."}, full] == [plan.messages[1], plan.messages[3]]
    assert plan.messages[3] is full
    assert empty == messages[1][key]


def test_a_message_of_nothing_but_foreign_reasoning_and_an_empty_list_is_left_out():
    said = {"role": "assistant", "content": None, "images": [], "reasoning_content": "Well."}
    plan = prepare([question(), said, question()], host="https://api.groq.com", form="litellm")

    assert ["user"] * len(plan.messages) == [message["role"] for message in plan.messages]


# A signature on an answer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES_HERE)
@pytest.mark.parametrize("here", GOOGLE)
def test_the_signature_on_an_answers_text_goes_home_after_a_turn_elsewhere_and_nowhere_else(
    here, mode, strict_hosts, install
):
    home, away, messages = strict_hosts(here), strict_hosts("deepseek"), [question()]
    install(home, away)
    loop(mode, messages, **google(home))
    messages.append(question())
    loop(mode, messages, model="deepseek/" + away.model, api_base=away.url)
    messages.append(question())
    called(mode, messages, **google(home))

    assert ([], []) == (home.lost(), home.refusals + away.refusals)
    assert [] == foreign_bytes([home, away])


def test_of_two_signatures_on_one_reply_the_text_gets_the_first_as_litellm_writes_it(strict_hosts, install):
    """A reply with a signed text and a signed call: LiteLLM lists both, the text's own first."""
    home = strict_hosts("gemini", steps=1)
    install(home)
    messages = [question()]
    loop("sync", messages, **google(home))
    fields = messages[-1]["provider_specific_fields"]
    own = fields["thought_signatures"][0]
    messages[-1]["provider_specific_fields"] = {**fields, "thought_signatures": [own, "c2Vjb25k"]}
    messages.append(question())
    called("sync", messages, **google(home))

    text = next(p for m in home.last.messages for p in m["parts"] if "Done" in p.get("text", ""))
    assert (own, 200) == (text["thoughtSignature"], home.last.status)


# A text that LiteLLM takes out ----------------------------------------------------------------------------------------


def foundry(host, model="deepseek-v4-pro"):
    return {"model": f"azure_ai/{model}", "api_base": host.url + "/models"}


@pytest.mark.parametrize("mode", MODES_HERE)
def test_what_litellm_takes_out_for_azure_ai_goes_to_the_model_that_asks_for_it(mode, strict_hosts, install):
    home, away, messages = strict_hosts("azure"), strict_hosts("moonshot"), [question()]
    install(home, away)
    loop(mode, messages, **foundry(home))
    assert [] == home.lost()

    messages.append(question())
    loop(mode, messages, model="moonshot/" + away.model, api_base=away.url)
    messages.append(question())
    called(mode, messages, **foundry(home))

    assert ([], []) == (home.lost(), home.refusals + away.refusals)
    assert [] == foreign_bytes([home, away])


def test_a_model_at_azure_ai_that_takes_no_reasoning_gets_none_back(strict_hosts, install):
    home, messages = strict_hosts("azure"), [question()]
    install(home)
    loop("sync", messages, **foundry(home))
    messages.append(question())
    called("sync", messages, **foundry(home, "Llama-4"))

    assert [] == [m for m in home.last.messages if "reasoning_content" in m]
    assert 200 == home.last.status


def test_claude_at_azure_ai_is_planned_as_claude(strict_hosts, install, monkeypatch):
    home, away, messages = strict_hosts("anthropic"), strict_hosts("deepseek"), [question()]
    monkeypatch.setattr(home, "judge", replace(home.judge, route="/anthropic/v1/messages"))
    install(home, away)
    claude = {"model": "azure_ai/claude-sonnet-4-5", "api_base": home.url, **MANUAL}
    loop("sync", messages, **claude)

    assert ([], []) == (home.lost(), home.refusals)
    messages.append(question())
    loop("sync", messages, model="deepseek/" + away.model, api_base=away.url)
    assert [] == foreign_bytes([home, away])


# Other vendors' models on Vertex --------------------------------------------------------------------------------------

OPENAPI = "/v1/projects/p/locations/us-central1/endpoints/openapi/chat/completions"


@pytest.mark.parametrize("mode", ["sync", "async stream"])
def test_another_vendors_model_on_vertex_is_planned_as_the_chat_that_it_speaks(
    mode, strict_hosts, install, monkeypatch
):
    home, away, messages = strict_hosts("unknown"), strict_hosts("moonshot"), [question()]
    monkeypatch.setattr(home, "judge", replace(home.judge, base="", route=OPENAPI))
    install(home, away)
    garden = {"vertex_project": "p", "vertex_location": "us-central1", "api_base": home.url}
    model = "vertex_ai/moonshotai/kimi-k2-thinking-maas"
    append(messages, called(mode, messages, model=model, **garden))
    loop(mode, messages, model="moonshot/" + away.model, api_base=away.url)
    messages.append(question())
    loop(mode, messages, model=model, **garden)

    assert "|chat|" in messages[1]["provider_specific_fields"]["reasoning_replay"]["id"]
    assert ([], []) == (foreign_bytes([home, away]), home.refusals + away.refusals)
    thoughts = [message for message in home.last.messages if "reasoning_content" in message]
    assert 2 == len(thoughts), "those of the running turn"


def test_every_vendor_that_litellm_knows_on_vertex_is_in_the_table():
    from litellm.llms.vertex_ai.vertex_ai_partner_models.main import PartnerModelPrefixes

    chat = [prefix.value for prefix in PartnerModelPrefixes if prefix.value != "claude"]
    assert ["chat"] * len(chat) == [carrier_of("vertex_ai", f"{prefix}x").dialect for prefix in chat]
    assert "gemini" == carrier_of("vertex_ai", "gemini-3-pro").dialect
