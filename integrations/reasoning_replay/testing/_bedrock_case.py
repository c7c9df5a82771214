"""One Converse request as its judge sees it: the families of models, and the request in Claude's own form.

Converse hands a request on to Claude in Claude's form, and Claude's errors name its places: so does this file. No texts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ._claude_case import ADAPTIVE, MANUAL, Case
from ._law import matches
from ._voices import Voice

CLAUDE: Final = "anthropic"
REDACTED: Final = ("text", "bytes")
"""What the bytes of `redactedContent` are: the text that Claude's own API has in `data`, as LiteLLM 1.110.2 reads and writes
it (`converse_redacted_content`); or bytes that are no text, which botocore's model (a blob) allows."""
BINARY: Final = "+//+"
"""The front of bytes that are no text, in base64: nobody takes them for text by luck. In the other alphabet it is `-__-`."""
MOST_TOKENS: Final = 64000
"""What a request without `maxTokens` may spend: a guess; the model's own limit is taken."""
KINDS: Final = (
    "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
    "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
)  # fmt: skip
"""The members of a content block: botocore's service model of bedrock-runtime, 2023-09-30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models of one vendor that take back the same."""

    name: str
    """The vendor: what an issued word is remembered under."""
    models: tuple[str, ...]
    signs: bool = False
    """Whether its reasoning carries a signature, and must."""
    seals: bool = False
    """Whether it writes redacted bytes."""
    takes: bool = False
    """Whether reasoning without a signature may come back."""
    tags: bool = False
    """Whether it thinks in its text, between `<thinking>` and `</thinking>`."""

    def voice(self) -> Voice:
        """Not used: Converse writes all families alike."""
        return Voice()


FAMILIES: Final = (
    Family(name=CLAUDE, models=("*anthropic.*", "*:application-inference-profile/*"), signs=True, seals=True),
    Family(name="amazon", models=("*amazon.nova-2*",), takes=True),
    Family(name="amazon", models=("*amazon.nova-*",), tags=True),
    Family(name="amazon", models=("*amazon.*",)),
    Family(name="deepseek", models=("*deepseek.r1*",)),
    Family(name="deepseek", models=("*deepseek.*",), takes=True),
    Family(name="openai", models=("*openai.gpt-oss*",), takes=True),
    Family(name="minimax", models=("*minimax*",), takes=True),
    Family(name="moonshot", models=("*kimi*",), takes=True),
    Family(name="other", models=("*",)),
)
"""First match decides. langchain-aws's table of verified models; Nova 2 is disputed (oh-my-pi PR 9086 says it refuses
its own), and that the rest take none is a guess. At this host an application's inference profile, whose name tells
nothing, stands for Claude."""


def family_of(model: str) -> Family:
    """The family of a model's id, with or without a region in front."""
    return next(family for family in FAMILIES if matches(model, family.models))


class Place(NamedTuple):
    """One content block with its place."""

    at: str
    """`N.content.M`."""
    message: int
    body: Mapping[str, Any]
    role: str


def blocks(case: Case) -> Iterator[Place]:
    """All content blocks in order."""
    for index, message in enumerate(case.messages):
        for place, block in enumerate(content_of(message)):
            yield Place(f"{index}.content.{place}", index, block, str(message.get("role")))


def content_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A message's blocks."""
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def calls_tools(message: Mapping[str, Any]) -> bool:
    """Whether a message calls a tool."""
    return any("toolUse" in block for block in content_of(message))


def has_tools(case: Case) -> bool:
    """Whether the request carries tools."""
    return bool((case.body.get("toolConfig") or {}).get("tools"))


def thinks(case: Case) -> bool:
    """Whether the model thinks: Claude when it is asked to, the others always."""
    return family_of(case.model).name != CLAUDE or as_claude(case).mode in (MANUAL, ADAPTIVE)


def spine(message: Mapping[str, Any]) -> Any:
    """What is left of a message without reasoning: who speaks, and the ids of calls and results."""
    content = content_of(message)
    ids = [part.get("toolUseId") for block in content for part in block.values() if isinstance(part, Mapping)]
    said = content if message.get("role") == "user" and not any(ids) else None
    return message.get("role"), [i for i in ids if i], said


def begins_turn(message: Mapping[str, Any]) -> bool:
    """Whether a user speaks here, not a tool."""
    return message.get("role") == "user" and not any("toolResult" in block for block in content_of(message))


def wire_of(data: str, options: Mapping[str, Any]) -> str:
    """Sealed data as it stands in JSON: base64 of its text, or of bytes that are no text."""
    if options["redacted"] == REDACTED[0]:
        return base64.b64encode(data.encode()).decode()
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return base64.b64encode(data.encode()).decode()
    return BINARY + data


def data_of(wire: str) -> str:
    """The sealed data in what stands in JSON; what this host never wrote comes back as it is."""
    if wire.startswith(BINARY):
        return wire.removeprefix(BINARY)
    try:
        return base64.b64decode(wire, validate=True).decode()
    except ValueError:
        return wire


def readable(row: Mapping[str, Any], reads: Sequence[str]) -> str:
    """What the host reads of a message, with sealed data opened: no word can be found under base64."""
    inside = [block["reasoningContent"] for block in content_of(row) if "reasoningContent" in block]
    sealed = [data_of(str(said["redactedContent"])) for said in inside if "redactedContent" in said]
    return json.dumps([{key: row[key] for key in reads if key in row}, *sealed])


# The same request in Claude's form ------------------------------------------------------------------------------------


def as_claude(case: Case) -> Case:
    """The request as it is handed on to Claude, with the same places (less cache points)."""
    extra = case.body.get("additionalModelRequestFields") or {}
    config = case.body.get("toolConfig") or {}
    body: dict[str, Any] = {
        **{key: value for key, value in extra.items() if key != "anthropic_beta"},
        "model": case.model,
        "messages": [
            {"role": message.get("role"), "content": [_in_claude_s_form(block) for block in _without_points(message)]}
            for message in case.messages
        ],
        "max_tokens": (case.body.get("inferenceConfig") or {}).get("maxTokens", MOST_TOKENS),
        "system": case.body.get("system"),
        "tools": config.get("tools"),
    }
    if config.get("toolChoice"):
        body["tool_choice"] = {"type": next(iter(config["toolChoice"]))}
    beta = {"anthropic-beta": ",".join(map(str, extra.get("anthropic_beta") or ()))}
    return case._replace(body=body, headers={**case.headers, **beta})


def _without_points(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A message's blocks without cache points: Claude has them as a key of the block before."""
    return [block for block in content_of(message) if "cachePoint" not in block]


def _in_claude_s_form(block: Mapping[str, Any]) -> dict[str, Any]:
    match block:
        case {"text": text}:
            return {"type": "text", "text": text}
        case {"reasoningContent": {"reasoningText": dict(said)}}:
            thinking = {"type": "thinking", "thinking": said.get("text", "")}
            return thinking if said.get("signature") in (None, "") else thinking | {"signature": said["signature"]}
        case {"reasoningContent": {"redactedContent": data}}:
            return {"type": "redacted_thinking", "data": data_of(str(data))}
        case {"toolUse": {"toolUseId": id, "name": name, "input": arguments}}:
            return {"type": "tool_use", "id": id, "name": name, "input": arguments}
        case {"toolResult": {"toolUseId": id, "content": content}}:
            return {"type": "tool_result", "tool_use_id": id, "content": content}
        case _:
            return {"type": next(iter(block), "")}
