"""The vendors' own SDKs read what the hosts write, whole and streamed, and send it back."""

import base64
import json

import pytest

from reasoning_replay.testing import Reply, Text, call, sealed, strict_host, think

botocore_config = pytest.importorskip("botocore.config")
boto3 = pytest.importorskip("boto3")
genai = pytest.importorskip("google.genai")
from botocore.exceptions import ClientError
from google.genai import types
from google.oauth2.credentials import Credentials

STEP = (think(), Text("Let me see."), call(city="Oslo"), call("get_time", zone="UTC"))
ANSWER = (think(), Text("It is 3C.\n\nBring a coat."))
CLAUDE = (think(), sealed(), think(""), Text("Let me see."), call(city="Oslo"), call("get_time", zone="UTC"))


# Google ---------------------------------------------------------------------------------------------------------------

DECLARED = [types.FunctionDeclaration(name=name, parameters_json_schema={"type": "object"}) for name in ("get_weather", "get_time")]  # fmt: skip
CONFIG = types.GenerateContentConfig(
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    tools=[types.Tool(function_declarations=DECLARED)],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


clients = {}
"""By address: making one takes longer than all that a test asks of it."""


@pytest.fixture(autouse=True, scope="module")
def closed_clients():
    yield
    for client in clients.values():
        client.close()
    clients.clear()


def google(host):
    if host.url not in clients:
        options, token = types.HttpOptions(base_url=host.url), Credentials(token="t")
        vertex = {"vertexai": True, "project": "p", "location": "global", "credentials": token}
        more = vertex if host.kind == "vertex" else {"api_key": "k"}
        clients[host.url] = genai.Client(http_options=options, **more)
    return clients[host.url]


def said_by_google(host, contents, *, stream):
    """The content of one reply; streamed, the parts of all chunks one after the other, as they came."""
    more = {"model": host.model, "contents": contents, "config": CONFIG}
    models = google(host).models
    if not stream:
        return models.generate_content(**more).candidates[0].content
    chunks = list(models.generate_content_stream(**more))
    return types.Content(role="model", parts=[part for chunk in chunks for part in chunk.candidates[0].content.parts])


def gist(content):
    """A content without the seams of a stream: runs of text joined; the signature of an empty part is the run's."""
    runs = []
    for part in content.parts:
        row = part.model_dump(exclude_none=True)
        before = runs[-1] if runs else {}
        if "text" in row and "text" in before and row.get("thought") == before.get("thought"):
            runs[-1] = {**before, **row, "text": before["text"] + row["text"]}
        elif row != {"text": ""}:
            runs.append(row)
    return runs


def results_for(content):
    calls = [part.function_call for part in content.parts if part.function_call]
    rows = [types.FunctionResponse(id=c.id, name=c.name, response={"output": "3C"}) for c in calls]
    return types.Content(role="user", parts=[types.Part(function_response=row) for row in rows])


@pytest.mark.parametrize("kind", ["gemini", "vertex"])
@pytest.mark.parametrize("parts", [STEP, ANSWER], ids=["step", "answer"])
@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_google_s_sdk_reads_the_same_content_whole_and_streamed(strict_hosts, kind, parts, pieces):
    host = strict_hosts(kind, script=[Reply(parts, pieces=pieces)] * 2)
    for stream in (False, True):
        content = said_by_google(host, "q", stream=stream)
        kept = types.Content.model_validate(host.last.reply["candidates"][0]["content"])

        assert gist(kept) == gist(content)
        assert [part.thought_signature for part in kept.parts if part.thought_signature] == [
            part.thought_signature for part in content.parts if part.thought_signature
        ]


@pytest.mark.parametrize("kind", ["gemini", "vertex"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_google_s_sdk_sends_back_is_taken_over_two_turns(strict_hosts, kind, stream):
    host = strict_hosts(kind, script=[Reply(STEP), Reply(ANSWER)] * 2, merges=False)
    contents = []
    for question in ("q", "And tomorrow?"):
        contents.append(types.UserContent(question))
        for _ in range(2):
            contents.append(said_by_google(host, contents, stream=stream))
            contents += [row for row in [results_for(contents[-1])] if row.parts]

    assert (4, [], []) == (len(host.requests), host.refusals, host.lost())
    assert b"-__-" in host.last.raw, "the SDK writes the other alphabet"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_chat_of_google_s_sdk_which_keeps_every_chunk_as_a_content_is_taken(strict_hosts, stream):
    host = strict_hosts("gemini", script=[Reply(STEP), Reply(ANSWER)] * 2)
    chat = google(host).chats.create(model=host.model, config=CONFIG)
    for question in ("q", "And tomorrow?"):
        said = question
        for _ in range(2):
            replies = list(chat.send_message_stream(said)) if stream else [chat.send_message(said)]
            said = [part for reply in replies for part in results_for(reply.candidates[0].content).parts]

    assert (4, [], []) == (len(host.requests), host.refusals, host.lost())


def test_google_s_sdk_raises_the_host_s_own_words(strict_hosts):
    host = strict_hosts("gemini")
    content = said_by_google(host, "q", stream=False)
    for part in content.parts:
        part.thought_signature = None
    contents = [types.UserContent("q"), content, results_for(content)]

    with pytest.raises(genai.errors.ClientError, match="missing a thought_signature in functionCall parts"):
        google(host).models.generate_content(model=host.model, contents=contents, config=CONFIG)


# AWS ------------------------------------------------------------------------------------------------------------------

TOOLS = {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("get_weather", "get_time")]}  # fmt: skip
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}


@pytest.fixture
def no_settings(monkeypatch, tmp_path):
    """Nothing of the machine's AWS settings, and no question to its metadata service."""
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def aws(host):
    if host.url not in clients:
        config = botocore_config.Config(retries={"total_max_attempts": 1}, proxies={})
        clients[host.url] = boto3.client("bedrock-runtime", endpoint_url=host.url, config=config, **KEYS)
    return clients[host.url]


def said_by_aws(host, messages, *, stream):
    """The message of one reply, the events of a stream put together as AWS's pages say."""
    more = {"modelId": host.model, "messages": messages, "toolConfig": TOOLS, "additionalModelRequestFields": THINKING}
    client = aws(host)
    if not stream:
        return client.converse(**more)["output"]["message"]
    blocks = {}
    for event in client.converse_stream(**more)["stream"]:
        (kind, payload), *_ = event.items()
        if kind == "contentBlockStart":
            blocks[payload["contentBlockIndex"]] = {"toolUse": {**payload["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            add(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}


def add(block, delta):
    match delta:
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": text}}:
            block["toolUse"]["input"] += text
        case {"reasoningContent": {"redactedContent": data}}:
            block["reasoningContent"] = {"redactedContent": data}
        case {"reasoningContent": fields}:
            said = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
            said.update({key: said.get(key, "") + value for key, value in fields.items()})


def in_bytes(message):
    """A message of the wire as the SDK shows it: base64 is bytes."""
    shown = [dict(block) for block in message["content"]]
    for block in shown:
        data = block.get("reasoningContent", {}).get("redactedContent")
        if data is not None:
            block["reasoningContent"] = {"redactedContent": base64.b64decode(data)}
    return {**message, "content": shown}


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_aws_s_sdk_reads_the_same_message_whole_and_streamed(strict_hosts, no_settings, pieces):
    host = strict_hosts("bedrock", script=[Reply(CLAUDE, pieces=pieces)] * 2)
    for stream in (False, True):
        message = said_by_aws(host, [{"role": "user", "content": [{"text": "q"}]}], stream=stream)

        assert in_bytes(host.last.reply["output"]["message"]) == message
        assert isinstance(message["content"][1]["reasoningContent"]["redactedContent"], bytes)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_aws_s_sdk_sends_back_is_taken_over_two_turns(strict_hosts, no_settings, stream):
    host = strict_hosts("bedrock", script=[Reply(CLAUDE), Reply(ANSWER)] * 2)
    messages = []
    for question in ("q", "And tomorrow?"):
        messages.append({"role": "user", "content": [{"text": question}]})
        for _ in range(2):
            messages.append(said_by_aws(host, messages, stream=stream))
            ids = [block["toolUse"]["toolUseId"] for block in messages[-1]["content"] if "toolUse" in block]
            results = [{"toolResult": {"toolUseId": i, "content": [{"text": "3C"}]}} for i in ids]
            messages += [{"role": "user", "content": results}] if results else []

    assert (4, [], []) == (len(host.requests), host.refusals, host.lost())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_aws_s_sdk_raises_the_host_s_own_words_under_its_own_name(strict_hosts, no_settings, stream):
    host = strict_hosts("bedrock")
    messages = [{"role": "user", "content": [{"text": "q"}]}]
    messages.append(said_by_aws(host, messages, stream=False))
    messages[1]["content"][0]["reasoningContent"]["reasoningText"]["text"] = "edited"
    ids = [block["toolUse"]["toolUseId"] for block in messages[1]["content"] if "toolUse" in block]
    messages.append({"role": "user", "content": [{"toolResult": {"toolUseId": i, "content": [{"text": "3C"}]}} for i in ids]})  # fmt: skip

    with pytest.raises(ClientError) as raised:
        said_by_aws(host, messages, stream=stream)
    assert {
        "Code": "ValidationException",
        "Message": "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block",
    } == raised.value.response["Error"]


def test_aws_s_sdk_sees_a_stream_that_breaks_off(no_settings):
    with strict_host("bedrock", script=[Reply(CLAUDE, cut=4)]) as host:
        stream = aws(host).converse_stream(modelId=host.model, messages=[{"role": "user", "content": [{"text": "q"}]}])
        with pytest.raises(Exception, match=r"IncompleteRead|Connection broken|ended prematurely"):
            list(stream["stream"])
