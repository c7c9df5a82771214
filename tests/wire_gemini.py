"""The Gemini dialect as a plain client speaks it: a reply is `{"role": "assistant", "parts": [...]}` in its history."""

from wire_chat import CITY, events

GEMINI_TOOLS = [{"functionDeclarations": [{"name": "get_weather", "description": "", "parameters": CITY}]}]


def body_for(history):
    """A request with tools that asks for thoughts; a user's row may be written as in chat."""
    config = {"thinkingConfig": {"includeThoughts": True}}
    return {"contents": [content_for(row) for row in history], "tools": GEMINI_TOOLS, "generationConfig": config}


def content_for(row):
    """A row as one content."""
    parts = row["parts"] if "parts" in row else [{"text": row["content"]}]
    rest = {key: value for key, value in row.items() if key not in ("role", "parts", "content")}
    return {"role": "model" if row["role"] == "assistant" else "user", "parts": parts, **rest}


def request(host, body):
    """Where a request goes; the model and the wish for a stream stand in the path."""
    model, stream = body.pop("model"), body.pop("stream", False)
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{host.url}/v1beta/models/{model}:{verb}", body


def message_of(response):
    """The message of a whole reply or of its stream."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return sent(response.json())
    chunks = [part for event in events(response.text) for part in event["candidates"][0]["content"]["parts"]]
    parts = []
    for part in chunks:
        before = parts[-1] if parts else {}
        if "text" in part and "text" in before and part.get("thought") == before.get("thought"):
            parts[-1] = {**before, **part, "text": before["text"] + part["text"]}
        elif part != {"text": ""}:
            parts.append(part)
    return {"role": "assistant", "parts": parts}


def sent(reply):
    """The message of a reply as the host kept it."""
    return {"role": "assistant", "parts": reply["candidates"][0]["content"]["parts"]}


def forget(message):
    """What is left of a message when the client forgets thoughts and signatures."""
    kept = [part for part in message["parts"] if not part.get("thought")]
    return {**message, "parts": [{k: v for k, v in part.items() if k != "thoughtSignature"} for part in kept]}


def results_of(message, answer):
    """The results that answer a message's calls, in one content."""
    calls = [part["functionCall"] for part in message["parts"] if "functionCall" in part]
    results = [{"id": call["id"], "name": call["name"], "response": {"output": answer}} for call in calls]
    return [{"role": "user", "parts": [{"functionResponse": result} for result in results]}] if results else []
