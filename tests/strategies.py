"""Histories for property tests: what apps really hold, and what they hold after somebody's script went over it.

Every piece of reasoning carries a word of its own (`CANARY-007;`), and a `History` says who wrote which word, so that a
test can tell what may go to a host without asking the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st

from reasoning_replay import MemoryStore, Origin, Policy, capture

MARK = "reasoning_replay"
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
CLAUDE_TOOLS = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]


@dataclass(frozen=True)
class Target:
    """Where a history is sent: the arguments of `prepare` besides the messages."""

    name: str
    host: str
    model: str
    dialect: str = "chat"
    hint: str | None = None
    router: bool = False
    upstream: str | None = None
    account: str | None = None
    off: tuple[tuple[str, Any], ...] = ()
    """The parameters that switch thinking off there."""

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "model": self.model,
            "dialect": self.dialect,
            "hint": self.hint,
            "upstream": self.upstream,
            "account": self.account,
        }

    @property
    def origin(self) -> Origin:
        return Origin(self.host, model=self.model, dialect=self.dialect, upstream=self.upstream, account=self.account)


OFF = (("thinking", {"type": "disabled"}),)
EFFORT_OFF = (("reasoning_effort", "none"),)

CHAT_TARGETS = (
    Target("deepseek-v4", "api.deepseek.com", "deepseek-v4-pro", off=OFF),
    Target("deepseek-v3", "api.deepseek.com", "deepseek-v3.2", off=OFF),
    Target("deepseek-r1", "api.deepseek.com", "deepseek-r1"),
    Target("moonshot-k2.6", "api.moonshot.ai", "kimi-k2.6", off=OFF),
    Target("moonshot-k3", "api.moonshot.ai", "kimi-k3"),
    Target("moonshot-k2-thinking", "api.moonshot.cn", "kimi-k2-thinking", off=OFF),
    Target("groq-qwen", "api.groq.com", "qwen/qwen3-32b", off=EFFORT_OFF),
    Target("groq-llama", "api.groq.com", "llama-3.3-70b-versatile"),
    Target("mistral", "api.mistral.ai", "magistral-medium-latest", off=EFFORT_OFF),
    Target("mistral-plain", "api.mistral.ai", "codestral-latest"),
    Target("cerebras-oss", "api.cerebras.ai", "gpt-oss-120b"),
    Target("cerebras-glm", "api.cerebras.ai", "zai-glm-4.7"),
    Target("cerebras-llama", "api.cerebras.ai", "llama3.1-8b"),
    Target("openrouter-claude-4", "openrouter.ai", "anthropic/claude-opus-4.5", router=True, off=EFFORT_OFF),
    Target("openrouter-claude-5.5", "openrouter.ai", "anthropic/claude-opus-5.5", router=True),
    Target("openrouter-deepseek", "openrouter.ai", "deepseek/deepseek-v4-pro", router=True, off=EFFORT_OFF),
    Target("openrouter-gemini", "openrouter.ai", "google/gemini-3-pro", router=True),
    Target("openrouter-glm", "openrouter.ai", "z-ai/glm-5", router=True, off=EFFORT_OFF),
    Target("openrouter-novita", "openrouter.ai", "deepseek/deepseek-v4-pro", router=True, upstream="novita"),
    Target("openai", "api.openai.com", "gpt-5.4"),
    Target("fireworks-v4", "api.fireworks.ai", "accounts/fireworks/models/deepseek-v4-pro", off=OFF),
    Target("fireworks-k2", "api.fireworks.ai", "accounts/fireworks/models/kimi-k2p6"),
    Target("fireworks-glm", "api.fireworks.ai", "accounts/fireworks/models/glm-4p7"),
    Target("together-k3", "api.together.ai", "moonshotai/kimi-k3"),
    Target("together-glm", "api.together.xyz", "zai-org/GLM-5"),
    Target("zai-4.7", "api.z.ai", "glm-4.7", off=OFF),
    Target("zai-5.3", "api.z.ai", "glm-5.3"),
    Target("ollama", "localhost:11434", "qwen3"),
    Target("vllm", "vllm-1:8000", "qwen3-32b", hint="vllm"),
    Target("vllm-v4", "vllm-1:8000", "deepseek-v4-flash", hint="vllm"),
    Target("llamacpp", "127.0.0.1:8080", "gpt-oss-20b", hint="llamacpp"),
    Target("unknown", "llm.example", "some-model", off=OFF),
    Target("unknown-2", "llm.example:8443", "some-model"),
)

CLAUDE_TARGETS = (
    Target("claude-3.7", "api.anthropic.com", "claude-3-7-sonnet-20250219", "anthropic", off=OFF),
    Target("claude-4.1", "api.anthropic.com", "claude-opus-4-1-20250805", "anthropic", off=OFF),
    Target("claude-4.6", "api.anthropic.com", "claude-opus-4-6", "anthropic", off=OFF),
    Target("claude-5", "api.anthropic.com", "claude-opus-5", "anthropic", off=OFF),
    Target("claude-5.5", "api.anthropic.com", "claude-opus-5-5", "anthropic"),
    Target("claude-sonnet-5.5", "api.anthropic.com", "claude-sonnet-5-5", "anthropic"),
    Target("claude-haiku-5.5", "api.anthropic.com", "claude-haiku-5-5", "anthropic"),
    Target("claude-new-org", "api.anthropic.com", "claude-sonnet-7", "anthropic", account="org-1"),
    Target("claude-new", "api.anthropic.com", "claude-sonnet-7", "anthropic"),
    Target("deepseek-anthropic", "api.deepseek.com", "deepseek-v4-pro", "anthropic", off=OFF),
    Target("moonshot-anthropic", "api.moonshot.ai", "kimi-k3", "anthropic", off=OFF),
    Target("zai-anthropic", "api.z.ai", "glm-5", "anthropic", off=OFF),
    Target("ollama-anthropic", "localhost:11434", "qwen3", "anthropic"),
    Target("vllm-anthropic", "vllm-1:8000", "qwen3-32b", "anthropic", hint="vllm"),
    Target("llamacpp-anthropic", "127.0.0.1:8080", "gpt-oss-20b", "anthropic", hint="llamacpp"),
    Target("unknown-anthropic", "llm.example", "some-model", "anthropic", off=OFF),
)

CHAT_ORIGINS = (
    *(
        target.origin
        for target in CHAT_TARGETS
        if target.name not in {"groq-llama", "mistral-plain", "cerebras-llama", "openai", "deepseek-r1"}
    ),
    Origin("vllm-2:8000", model="qwen3-32b"),
    Origin("api.deepseek.com.evil.example", model="deepseek-v4-pro"),
    Origin("api.anthropic.com", dialect="anthropic", model="claude-opus-4-6"),
    Origin("openrouter.ai", model="deepseek/deepseek-v4-pro", upstream="novita"),
)
CLAUDE_ORIGINS = (
    *(target.origin for target in CLAUDE_TARGETS),
    Origin("vllm-2:8000", dialect="anthropic", model="qwen3-32b"),
    Origin("api.anthropic.com", dialect="chat", model="claude-opus-5-5"),
    Origin("api.anthropic.com", dialect="anthropic", model="claude-sonnet-7", account="org-1"),
    Origin("api.anthropic.com", dialect="anthropic", model="claude-sonnet-7", account="org-2"),
    Origin("api.anthropic.com.evil.example", dialect="anthropic", model="claude-opus-4-6"),
)


@dataclass
class History:
    """Messages, and who wrote which word of reasoning in them."""

    form: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    home: Origin | None = None
    """The host that wrote most of it."""
    owners: dict[str, Origin | None] = field(default_factory=dict)
    """Canary -> origin; None where the history cannot say (no mark, or a broken one)."""

    def word(self, owner: Origin | None) -> str:
        canary = f"CANARY-{len(self.owners):03d};"
        self.owners[canary] = owner
        return canary

    def __repr__(self) -> str:
        lines = "\n".join("    " + repr(message) for message in self.messages)
        return f"History({self.form}\n{lines}\n)"


@cache
def mark_id(origin: Origin) -> str:
    """What `capture` writes beside a reply of this origin."""
    reply = {"role": "assistant", "content": "", "reasoning_content": "x"}
    return capture(reply, origin, form="chat", known=MemoryStore())["provider_specific_fields"][MARK]["id"]


def mark_of(origin: Origin) -> dict[str, Any]:
    return {"id": mark_id(origin), "v": 1}


BROKEN = (
    lambda origin: {"id": mark_id(origin) * 2, "v": 1},  # what merging two stream chunks makes of it
    lambda origin: {"id": mark_id(origin)[:-1] + "z", "v": 1},
    lambda origin: {"id": mark_id(origin).replace("|", "x|", 1), "v": 1},  # another host, the old checksum
    lambda origin: {"id": mark_id(origin), "v": 2},
    lambda origin: {"id": mark_id(origin), "v": 1, "text": "more"},
    lambda origin: {"id": None, "v": 1},
    mark_id,
)


@st.composite
def marks(draw, origins: tuple[Origin, ...], home: Origin) -> tuple[Origin | None, Any]:
    """Who wrote a message as far as its mark tells, and the mark: most from one host, some without, some broken."""
    kind = draw(st.integers(0, 9))
    origin = home if kind < 5 else draw(st.sampled_from(origins))
    if kind == 8:
        return None, None
    if kind == 9:
        return None, draw(st.sampled_from(BROKEN))(origin)
    return origin, mark_of(origin)


# The user's side ------------------------------------------------------------------------------------------------------

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CLAUDE_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


@st.composite
def user_messages(draw, picture: dict[str, Any], number: int) -> dict[str, Any]:
    text = f"question {number}"
    content = draw(
        st.sampled_from(
            [
                text,
                text,
                [{"type": "text", "text": text}],
                [picture],
                [picture, {"type": "text", "text": text}],
            ]
        )
    )
    message = {"role": "user", "content": content}
    turn = draw(st.sampled_from([None, None, None, True, False]))
    if turn is not None:
        message["turn"] = turn
    return message


# Chat and LiteLLM -----------------------------------------------------------------------------------------------------

Writer = Callable[[History, Origin | None, dict[str, Any], dict[str, Any]], None]


def _plain(key: str) -> Writer:
    def write(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
        message[key] = f"thought {history.word(owner)}"

    return write


def _both(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    message["reasoning"] = message["reasoning_content"] = f"thought {history.word(owner)}"


def _value(key: str, value: object) -> Writer:
    def write(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
        message[key] = value

    return write


def _details(history: History, owner: Origin | None, signed: bool) -> list[dict[str, Any]]:
    text = {
        "type": "reasoning.text",
        "text": f"thought {history.word(owner)}",
        "format": "some-v1",
        "index": 0,
    }
    if not signed:
        return [text]
    sealed = {
        "type": "reasoning.encrypted",
        "data": f"sealed {history.word(owner)}",
        "format": "some-v1",
        "index": 1,
    }
    return [{**text, "signature": f"sig {history.word(owner)}"}, sealed]


def _details_at(place: str, signed: bool, text: bool) -> Writer:
    def write(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
        details = _details(history, owner, signed)
        (psf if place == "psf" else message)["reasoning_details"] = details
        if text:
            message["reasoning"] = details[0]["text"]

    return write


def _blocks(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    text = f"thought {history.word(owner)}"
    message["reasoning_content"] = text
    message["thinking_blocks"] = [
        {"type": "thinking", "thinking": text, "signature": f"sig {history.word(owner)}"},
        {"type": "thinking", "thinking": "", "signature": f"sig {history.word(owner)}"},
        {"type": "redacted_thinking", "data": f"sealed {history.word(owner)}"},
    ]


def _chunks(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": f"thought {history.word(owner)}"}]}
    answer = message["content"]
    answer = [{"type": "text", "text": answer}] if isinstance(answer, str) and answer else answer or []
    message["content"] = [chunk, *answer]


def _chunks_and_text(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    _chunks(history, owner, message, psf)
    message["reasoning_content"] = message["content"][0]["thinking"][0]["text"]


def _parts(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    """A content list with the blocks of an interleaved Claude reply, as LiteLLM takes it."""
    answer = message["content"]
    answer = [{"type": "text", "text": answer}] if isinstance(answer, str) and answer else answer or []
    signed, redacted = (_block(kind, history, owner) for kind in ("signed", "redacted"))
    message["content"] = [signed, *answer, redacted]


def _opaque(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    message["reasoning_text"] = f"thought {history.word(owner)}"
    message["reasoning_opaque"] = f"sealed {history.word(owner)}"


def _extra(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    for call in message.get("tool_calls", [])[:1]:
        call["extra_content"] = {"google": {"thought_signature": f"sealed {history.word(owner)}"}}


def _call_psf(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    for call in message.get("tool_calls", [])[:1]:
        call["provider_specific_fields"] = {"thought_signature": f"sealed {history.word(owner)}"}


def _call_id(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    for call in message.get("tool_calls", [])[:1]:
        call["id"] += f"__thought__sealed {history.word(owner)}"


def _items(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    sealed = f"sealed {history.word(owner)}"
    message["reasoning_items"] = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}]


def _nothing(history: History, owner: Origin | None, message: dict[str, Any], psf: dict[str, Any]) -> None:
    pass


WRITERS: dict[str, Writer] = {
    "reasoning_content": _plain("reasoning_content"),
    "reasoning": _plain("reasoning"),
    "both": _both,
    "empty": _value("reasoning_content", ""),
    "blank": _value("reasoning_content", " "),
    "null": _value("reasoning_content", None),
    "empty reasoning": _value("reasoning", ""),
    "blank reasoning": _value("reasoning", " "),
    "no details": _value("reasoning_details", []),
    "no blocks": _value("thinking_blocks", []),
    "null details": _value("reasoning_details", None),
    "details": _details_at("top", signed=True, text=False),
    "details and text": _details_at("top", signed=True, text=True),
    "plain details": _details_at("top", signed=False, text=True),
    "psf details": _details_at("psf", signed=True, text=True),
    "blocks": _blocks,
    "chunks": _chunks,
    "chunks and text": _chunks_and_text,
    "opaque": _opaque,
    "extra": _extra,
    "call psf": _call_psf,
    "call id": _call_id,
    "items": _items,
    "none": _nothing,
}
LITELLM = {**WRITERS, "parts": _parts}
COMMON = ("reasoning_content", "reasoning_content", "reasoning", "none", "empty")
"""Drawn more often: what most hosts write."""


@st.composite
def chat_replies(draw, history: History, home: Origin, number: int, calls: int) -> dict[str, Any]:
    origins = CHAT_ORIGINS if history.form == "chat" else (*CHAT_ORIGINS, *CLAUDE_ORIGINS)
    owner, mark = draw(marks(origins, home))
    answer = f"answer {number}"
    content = draw(st.sampled_from(["", None, answer, [{"type": "text", "text": answer}], answer]))
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for at in range(calls)
        ]
    psf: dict[str, Any] = draw(st.sampled_from([{}, {}, {"citations": [number]}]))
    psf = dict(psf)
    writers = WRITERS if history.form == "chat" else LITELLM
    draw(st.sampled_from([*COMMON, *writers]).map(writers.__getitem__))(history, owner, message, psf)
    if mark is not None:
        psf[MARK] = mark
    if psf:
        message["provider_specific_fields"] = psf
    return message


@st.composite
def chat_histories(draw, *, turns: int = 4, form: str = "chat") -> History:
    """Chat form: turns of several steps, each step a reply with calls and the tools' results."""
    home = draw(st.sampled_from(CHAT_ORIGINS if form == "chat" else (*CHAT_ORIGINS, *CLAUDE_ORIGINS)))
    history = History(form, home=home)
    add = history.messages.append
    if draw(st.booleans()):
        add({"role": "system", "content": "be brief"})
    number = 0
    for _ in range(draw(st.integers(1, turns))):
        add(draw(user_messages(PICTURE, number)))
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls = draw(st.sampled_from([0, 1, 1, 2]))
            reply = draw(chat_replies(history, home, number, calls))
            add(reply)
            for call in reply.get("tool_calls", []):
                add({"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"})
            between = draw(st.sampled_from(["", "", "", "picture", "note", "system"]))
            if between == "picture" and calls:
                add({"role": "user", "content": [PICTURE]})
            elif between == "note":
                add({"role": "user", "content": f"note {number}", "turn": False})
            elif between == "system":
                add({"role": "system", "content": f"mode {number}"})
    if draw(st.booleans()):
        add(draw(user_messages(PICTURE, number + 1)))
    return history


# Anthropic ------------------------------------------------------------------------------------------------------------


def _block(kind: str, history: History, owner: Origin | None) -> dict[str, Any]:
    if kind == "signed":
        return {
            "type": "thinking",
            "thinking": f"thought {history.word(owner)}",
            "signature": f"sig {history.word(owner)}",
        }
    if kind == "omitted":
        return {"type": "thinking", "thinking": "", "signature": f"sig {history.word(owner)}"}
    if kind == "redacted":
        return {"type": "redacted_thinking", "data": f"sealed {history.word(owner)}"}
    if kind == "unsigned":
        return {"type": "thinking", "thinking": f"thought {history.word(owner)}"}
    if kind == "unsigned ''":
        return {"type": "thinking", "thinking": f"thought {history.word(owner)}", "signature": ""}
    return {"type": "thinking", "thinking": "", "signature": ""}  # "empty": what a filler looks like


BLOCKS = ("signed", "signed", "omitted", "redacted", "unsigned", "unsigned ''", "empty")


@st.composite
def claude_replies(draw, history: History, home: Origin, number: int, calls: int) -> dict[str, Any]:
    one = draw(marks(CLAUDE_ORIGINS, home))
    blocks: list[dict[str, Any]] = []

    def think() -> None:
        owner, mark = draw(marks(CLAUDE_ORIGINS, home)) if draw(st.sampled_from([False, False, True])) else one
        for kind in draw(st.lists(st.sampled_from(BLOCKS), max_size=2)):
            block = _block(kind, history, owner)
            if mark is not None:
                block["provider_specific_fields"] = {MARK: mark}
            blocks.append(block)

    think()
    if not calls or draw(st.booleans()):
        answer = {"type": "text", "text": f"answer {number}"}
        blocks.append({**answer, "cache_control": {"type": "ephemeral"}} if draw(st.booleans()) else answer)
        if draw(st.booleans()):
            think()  # interleaved
    blocks += ({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": "look", "input": {}} for at in range(calls))
    if not calls and draw(st.sampled_from([False, False, False, True])):
        blocks = [block for block in blocks if block["type"] != "text"]  # nothing but reasoning, or nothing at all
        if not blocks:
            return {"role": "assistant", "content": f"answer {number}"}
    return {"role": "assistant", "content": blocks}


@st.composite
def claude_histories(draw, *, turns: int = 4) -> History:
    """Anthropic form: tool results are user messages, marks sit in the blocks."""
    home = draw(st.sampled_from(CLAUDE_ORIGINS))
    history = History("anthropic", home=home)
    add = history.messages.append
    number = 0
    for _ in range(draw(st.integers(1, turns))):
        add(draw(user_messages(CLAUDE_PICTURE, number)))
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls = draw(st.sampled_from([0, 1, 1, 2]))
            add(draw(claude_replies(history, home, number, calls)))
            if not calls:
                break
            results: list[dict[str, Any]] = [
                {
                    "type": "tool_result",
                    "tool_use_id": f"toolu_{number}_{at}",
                    "content": f"result {number} {at}",
                }
                for at in range(calls)
            ]
            if draw(st.sampled_from([False, False, True])):
                results.append({"type": "text", "text": f"note {number}"})
            message: dict[str, Any] = {"role": "user", "content": results}
            if draw(st.sampled_from([False, False, False, True])):
                message["turn"] = draw(st.booleans())
            add(message)
    if draw(st.booleans()):
        add(draw(user_messages(CLAUDE_PICTURE, number + 1)))
    return history


# Requests and policies ------------------------------------------------------------------------------------------------


def requests_of(target: Target) -> list[dict[str, Any] | None]:
    """What a call to it may carry: nothing known, nothing, tools, thinking on, thinking off."""
    tools = CLAUDE_TOOLS if target.dialect == "anthropic" else TOOLS
    found: list[dict[str, Any] | None] = [None, {}, {"tools": tools}, {"tools": tools, "max_tokens": 4096}]
    if target.dialect == "anthropic":
        found.append({"tools": tools, "max_tokens": 4096, "thinking": {"type": "adaptive"}})
        if target.hint is None and "anthropic.com" in target.host:
            manual = {"type": "enabled", "budget_tokens": 2048}
            found.append({"tools": tools, "max_tokens": 4096, "thinking": manual})
            found.append({"tools": tools, "max_tokens": 2048, "thinking": manual})
            found.append({"tools": tools, "max_tokens": 1024, "thinking": manual})
            found.append({"tools": tools, "max_tokens": 4096, "thinking": manual, "tool_choice": {"type": "any"}})
    if target.off:
        found.append({"tools": tools, **dict(target.off)})
    return found


REPLICAS = (frozenset({"vllm-1:8000", "vllm-2:8000"}),)
POLICIES = (
    Policy(),
    Policy(),
    Policy(unknown_origin="trust"),
    Policy(unknown_origin=Origin("api.deepseek.com", model="deepseek-v4-pro")),
    Policy(unknown_origin=Origin("llm.example", model="some-model", dialect="anthropic")),
    Policy(same_host=REPLICAS),
    Policy(window="all"),
    Policy(window="current_turn"),
    Policy(window="none"),
    Policy(missing="leave"),
    Policy(unknown_origin="trust", window="all", same_host=REPLICAS),
    Policy(sealed="family"),
)

policies = st.sampled_from(POLICIES)


def as_bytes(value: object) -> bytes:
    """The wire's bytes of a value: key order counts."""
    return json.dumps(value, ensure_ascii=False).encode()
