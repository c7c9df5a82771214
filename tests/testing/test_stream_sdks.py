"""What the hosts say as the vendors' own packages read it: `openai` and `ollama`, whole and streamed."""

import pytest

openai = pytest.importorskip("openai")
ollama = pytest.importorskip("ollama")
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from reasoning_replay.testing import JUDGES, Reply, Summary, Text, call, think
from wire_client import CLIENTS, ask, events, sent_by

USER = {"role": "user", "content": "q"}
CHAT = sorted(name for name, row in JUDGES.items() if row.dialect == "chat")
RESPONSES = sorted(name for name, row in JUDGES.items() if row.dialect == "responses")
TALK = (think(), Summary(), Text("First."), think(), call(), call("get_time", zone="UTC"))
PARTS = [(think(), call()), (think(""), Text("3C.")), (Text("3C."),), TALK]


def client_of(host):
    base = host.endpoint.removesuffix("/responses").removesuffix("/chat/completions")
    return openai.OpenAI(base_url=base, api_key="k", max_retries=0)


# Responses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("name", RESPONSES)
def test_openai_reads_the_same_items_from_a_stream_as_from_a_reply(strict_hosts, name, parts):
    host = strict_hosts(name, script=[Reply(parts), Reply(parts, pieces=1), Reply(parts, pieces=1000)])
    client = client_of(host)
    whole = client.responses.create(model=host.model, input="q")
    assert host.last.reply["output"] == [item.model_dump(exclude_unset=True) for item in whole.output]

    for _ in range(2):
        with client.responses.stream(model=host.model, input="q") as stream:
            seen = list(stream)
            final = stream.get_final_response()
        done = [e.item for e in seen if e.type == "response.output_item.done"]
        assert [i.id for i in done] == [i.id for i in final.output]
        said = [o for o in host.last.reply["output"] if o["type"] == "message"]
        assert "".join(i["text"] for o in said for i in o["content"]) == final.output_text
        assert (final.usage.total_tokens, final.status) == (20, "completed")


@pytest.mark.parametrize("name", RESPONSES)
def test_the_deltas_of_a_stream_add_up_to_its_items(strict_hosts, name):
    host = strict_hosts(name, script=[Reply(TALK)])
    built = []
    for event in client_of(host).responses.create(model=host.model, input="q", stream=True):
        kind = event.type.removeprefix("response.")
        if kind == "output_item.added":
            built.append({"summaries": [], "texts": [], "arguments": ""})
        elif kind == "reasoning_summary_part.added":
            built[event.output_index]["summaries"].append("")
        elif kind == "reasoning_summary_text.delta":
            built[event.output_index]["summaries"][event.summary_index] += event.delta
        elif kind == "content_part.added":
            built[event.output_index]["texts"].append("")
        elif kind in ("output_text.delta", "reasoning_text.delta"):
            built[event.output_index]["texts"][event.content_index] += event.delta
        elif kind == "function_call_arguments.delta":
            built[event.output_index]["arguments"] += event.delta

    expected = [
        {
            "summaries": [part["text"] for part in item.get("summary", ())],
            "texts": [part["text"] for part in item.get("content", ())],
            "arguments": item.get("arguments", ""),
        }
        for item in host.last.reply["output"]
    ]
    assert expected == built


def test_every_event_and_reply_is_what_openai_s_types_say(strict_hosts):
    host = strict_hosts("openai-responses", script=[Reply(TALK), Reply(TALK)])
    Response.model_validate(ask(host, [USER]).json())
    adapter = TypeAdapter(ResponseStreamEvent)
    seen = events(ask(host, [USER], stream=True).text)
    for event in seen:
        adapter.validate_python(event)

    assert list(range(len(seen))) == [event["sequence_number"] for event in seen]
    assert [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
    ] == [event["type"] for event in seen[:5]]
    assert "response.completed" == seen[-1]["type"]


def test_a_blob_is_whole_only_when_its_item_is_done(strict_hosts):
    host = strict_hosts("openai-responses")
    seen = events(ask(host, [USER], stream=True).text)
    opened, done = (
        next(e["item"] for e in seen if e["type"] == f"response.output_item.{at}") for at in ("added", "done")
    )

    assert opened["encrypted_content"] != done["encrypted_content"]
    assert done["encrypted_content"].startswith(opened["encrypted_content"])


# Chat -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAT)
def test_openai_reads_every_chat_host_whole_and_streamed(strict_hosts, name):
    host = strict_hosts(name, script=[Reply(TALK[2:]), Reply(TALK[2:])])
    client, more = client_of(host), {"model": host.model, "messages": [USER]}
    whole = client.chat.completions.create(**more).choices[0].message
    calls, text = {}, ""
    for chunk in client.chat.completions.create(**more, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content if isinstance(choice.delta.content, str) else ""
            for part in choice.delta.tool_calls or ():
                calls.setdefault(part.index, []).append(part.function.arguments)

    assert [c.function.arguments for c in whole.tool_calls] == ["".join(pieces) for pieces in calls.values()]
    said = whole.content if isinstance(whole.content, str) else whole.content[-1]["text"]
    assert said == text == "First."
    heads = [1] * 2 if host.judge.voice.whole_calls else [len(pieces) for pieces in calls.values()]
    assert heads == [len(pieces) for pieces in calls.values()], "a call in one delta where the host says so"


@pytest.mark.parametrize("name", sorted(set(CHAT) - {"mistral", "groq"}))
def test_where_no_value_is_the_host_s_own_every_reply_and_chunk_is_what_openai_s_types_say(strict_hosts, name):
    host = strict_hosts(name)
    ChatCompletion.model_validate(ask(host, [USER]).json())
    for event in events(ask(host, [USER], stream=True).text):
        ChatCompletionChunk.model_validate(event)


@pytest.mark.parametrize(
    ("name", "at"),
    [("groq", lambda e: e["x_groq"]["usage"]), ("mistral", lambda e: e["usage"]), ("unknown", lambda e: e["usage"])],
)
def test_usage_comes_where_the_host_puts_it(strict_hosts, name, at):
    host = strict_hosts(name)
    last = events(ask(host, [USER], stream=True).text)[-1]

    assert 20 == at(last)["total_tokens"]
    assert (name == "unknown") == (last["choices"] == [])


# Ollama ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", PARTS)
def test_ollama_reads_the_same_message_from_lines_as_from_a_reply(strict_hosts, parts):
    host = strict_hosts("ollama", script=[Reply(parts), Reply(parts)])
    client = ollama.Client(host=host.url)
    whole = client.chat(model=host.model, messages=[USER], think=True).message
    sent = sent_by(host)
    assert (sent["content"], sent.get("thinking")) == (whole.content, whole.thinking)
    assert [c["function"]["arguments"] for c in sent.get("tool_calls", ())] == [
        dict(c.function.arguments) for c in whole.tool_calls or ()
    ]

    lines = list(client.chat(model=host.model, messages=[USER], think=True, stream=True))
    streamed = sent_by(host)
    assert streamed["content"] == "".join(line.message.content or "" for line in lines)
    assert streamed.get("thinking", "") == "".join(line.message.thinking or "" for line in lines)
    assert [c["function"]["name"] for c in streamed.get("tool_calls", ())] == [
        c.function.name for line in lines for c in line.message.tool_calls or ()
    ]
    assert ([False] * (len(lines) - 1) + [True], "stop", 10) == (
        [line.done for line in lines],
        lines[-1].done_reason,
        lines[-1].eval_count,
    )


def test_every_dialect_of_the_table_has_a_plain_client():
    assert {row.dialect for row in JUDGES.values()} == set(CLIENTS)
