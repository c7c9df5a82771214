"""LangChain's own classes reach the native hosts as they are, with nothing of ours: how, and what they make of a reply."""

import pytest

google = pytest.importorskip("langchain_google_genai")
aws = pytest.importorskip("langchain_aws")
from google.oauth2.credentials import Credentials
from langchain_core.messages import HumanMessage, ToolMessage

from one_loop import run
from reasoning_replay.testing import Reply, Text, call, moved_prefixes, sealed, think

# google-genai 3.6.1 subclasses aiohttp's session, which aiohttp warns of.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


def get_weather(city: str) -> str:
    """The weather of a city."""


def gemini(host, **more):
    """`base_url` is the whole trick; the SDK adds the version."""
    return google.ChatGoogleGenerativeAI(
        model=host.model, base_url=host.url, api_key="k", max_retries=1, include_thoughts=True, **more
    ).bind_tools([get_weather])


def vertex(host, **more):
    """As above, with a token that nobody asks for."""
    keys = {"vertexai": True, "project": "p", "location": "global", "credentials": Credentials(token="t")}
    return google.ChatGoogleGenerativeAI(
        model=host.model, base_url=host.url, max_retries=1, include_thoughts=True, **keys, **more
    ).bind_tools([get_weather])


def bedrock(host, **more):
    """`endpoint_url` and keys that sign for nobody. Making the clients takes a second, so they are kept."""
    keys = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
    thinking = {"additional_model_request_fields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
    kept = clients.setdefault(host.url, {})
    model = aws.ChatBedrockConverse(
        model=host.model, endpoint_url=host.url, max_tokens=4096, **keys, **thinking, **kept, **more
    )
    kept |= {"client": model.client, "bedrock_client": model.bedrock_client}
    return model.bind_tools([get_weather])


clients = {}
MODELS = {"gemini": gemini, "vertex": vertex, "bedrock": bedrock}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def joined(chunks):
    whole, *rest = chunks
    for chunk in rest:
        whole += chunk
    return whole


async def said(model, way, messages):
    """One reply, in one of four ways."""
    match way:
        case "invoke":
            return model.invoke(messages)
        case "stream":
            return joined(list(model.stream(messages)))
        case "ainvoke":
            return await model.ainvoke(messages)
        case "astream":
            return joined([chunk async for chunk in model.astream(messages)])


async def two_turns(model, way):
    """Two user turns of an agent's loop."""
    messages = []
    for question in ("How is it?", "And tomorrow?"):
        messages.append(HumanMessage(question))
        for _ in range(3):
            messages.append(await said(model, way, messages))
            messages += [ToolMessage("3C", tool_call_id=c["id"]) for c in messages[-1].tool_calls]
    if hasattr(model.bound, "aclose"):
        await model.bound.aclose()
    return messages


@pytest.mark.parametrize("version", ["v0", "v1"])
@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
@pytest.mark.parametrize("kind", sorted(MODELS))
def test_its_own_class_reaches_the_host_and_is_taken_over_two_turns(strict_hosts, kind, way, version):
    host = strict_hosts(kind)
    messages = run(two_turns(MODELS[kind](host, output_version=version), way))

    assert (6, [], []) == (len(host.requests), host.refusals, host.lost())
    assert [1, 1, 0, 1, 1, 0] == [len(m.tool_calls) for m in messages if m.type.startswith(("ai", "AI"))]
    assert [] == moved_prefixes([host])


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_converse_s_redacted_bytes_and_omitted_texts_come_back(strict_hosts, way):
    parts = (think(), sealed(), Text("Let me see."), call())
    host = strict_hosts("bedrock", script=[Reply(parts), Reply((think(), Text("3C.")))])
    model = bedrock(host)
    first = run(said(model, way, [HumanMessage("q")]))
    result = ToolMessage("3C", tool_call_id=first.tool_calls[0]["id"])
    run(said(model, way, [HumanMessage("q"), first, result]))

    assert ([], []) == (host.refusals, host.lost())


def test_a_streamed_answer_comes_back_with_its_signed_empty_part_joined_to_its_text(strict_hosts):
    """What Google's pages ask not to do: a host that minds refuses the class's own stream at the next question."""
    parts = (think(), Text("It is 3C."))
    for way, taken in (("invoke", True), ("stream", False)):
        host = strict_hosts("gemini", script=[Reply(parts)] * 2, merges=False)
        model = gemini(host)
        first = run(said(model, way, [HumanMessage("q")]))
        messages = [HumanMessage("q"), first, HumanMessage("And tomorrow?")]
        if taken:
            run(said(model, way, messages))
        else:
            with pytest.raises(Exception, match="Corrupted thought signature"):
                run(said(model, way, messages))
