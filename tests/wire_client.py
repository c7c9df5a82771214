"""A plain client for strict hosts, written from the hosts' documents: no framework, nothing of the library.

`keep=True` sends each reply back as it came; `keep=False` is the client that forgets reasoning. How a dialect is spoken
stands in a module of its own.
"""

import httpx

import wire_bedrock
import wire_chat
import wire_claude
import wire_gemini
import wire_ollama
import wire_responses
from wire_chat import TOOLS, chat_message, events
from wire_claude import ADAPTIVE, CLAUDE_TOOLS, MANUAL, claude_blocks

__all__ = ["ADAPTIVE", "CLAUDE_TOOLS", "CLIENTS", "MANUAL", "TOOLS", "ask", "chat_message", "claude_blocks", "events",
           "loop", "message_of", "results_of", "sent_by"]  # fmt: skip

CLIENTS = {
    "chat": wire_chat,
    "anthropic": wire_claude,
    "responses": wire_responses,
    "ollama": wire_ollama,
    "gemini": wire_gemini,
    "bedrock": wire_bedrock,
}


def ask(host, messages, **more):
    """One request; the raw httpx response."""
    headers = more.pop("headers", {})
    client = CLIENTS[host.dialect]
    body = {"model": host.model, **client.body_for(messages), **more}
    body = {key: value for key, value in body.items() if value is not None}
    url, body = client.request(host, body) if hasattr(client, "request") else (host.endpoint, body)
    return httpx.post(url, json=body, headers=headers, timeout=30, verify=False)


def message_of(host, response):
    """The assistant message of a reply, streamed or not, as a correct client keeps it."""
    response.raise_for_status()
    return CLIENTS[host.dialect].message_of(response)


def sent_by(host):
    """The message of the newest reply as the host kept it beside what it sent."""
    return CLIENTS[host.dialect].sent(host.last.reply)


def results_of(host, message, answer="3C"):
    """The tool results that answer a message's calls."""
    return CLIENTS[host.dialect].results_of(message, answer)


def loop(host, messages=None, *, keep=True, limit=8, **more):
    """A tool loop to its end. Returns the history and the last response; stops at the first refusal."""
    history = list(messages) if messages is not None else [{"role": "user", "content": "How is the weather?"}]
    for _ in range(limit):
        response = ask(host, history, **more)
        if response.status_code != 200:
            return history, response
        message = message_of(host, response)
        history.append(message if keep else CLIENTS[host.dialect].forget(message))
        results = results_of(host, message)
        if not results:
            return history, response
        history += results
    raise AssertionError(f"{host!r} did not answer within {limit} steps")
