"""Converse's form: messages of content blocks, `reasoningContent` among them.

A signature of length 0 is no signature and no model takes the key with one, so it never goes. Redacted content is
bytes in boto3's hands and base64 in JSON: the same word here. Cache points stay behind something that stays. Some
models think in their text, between tags (Nova 1: langchain-ai/langchain-aws#401).
Shapes: botocore's service model of bedrock-runtime, 2023-09-30.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .._history import HistoryError
from . import Form, as_mapping, canonical, shape_value
from ._bedrock_stream import KEY, BedrockStream
from ._block_recall import Answer, Call, Speech, recall_by
from ._blocks import THINKING, Block, Blocks, mark, payload, strip, turns_of, unmarked, view, word, write
from ._inline import INLINE, inline_in
from ._places import Look

_TEXT = "reasoningText"
_BYTES = "redactedContent"


def _inside(block: Block) -> Block | None:
    """What a block of reasoning holds; None for any other block."""
    return as_mapping(block.get(KEY)) if block.get(KEY) is not None else None


def _said(block: Block) -> tuple[str, str | None] | None:
    """Text and signature of a readable block."""
    said = as_mapping((_inside(block) or {}).get(_TEXT))
    if said is None:
        return None
    text = said.get("text")
    return (text if isinstance(text, str) else "", word(said.get("signature")))


def _code(block: Block) -> tuple[str, str] | None:
    if _inside(block) is None:
        tags = inline_in(block.get("text"))
        return None if tags is None else (INLINE, shape_value(tags.text))
    said = _said(block)
    if said is None:
        return THINKING, "redacted"
    text, signature = said
    return THINKING, shape_value(text) if signature is None else "signed" if text != "" else "hollow"


def _payload(block: Block) -> str:
    if (tags := inline_in(block.get("text"))) is not None:
        return tags.text
    said = _said(block)
    if said is None:
        inside = _inside(block) or {}
        return f"\0{word(inside.get(_BYTES)) or canonical(inside)}"
    text, signature = said
    return text if signature is None else f"{text}\0{signature}"


def _bare(block: Block) -> dict[str, Any]:
    """A readable block without its signature, a text without the thinking in front of it."""
    if (tags := inline_in(block.get("text"))) is not None:
        return {**block, "text": tags.rest}
    inside = _inside(block) or {}
    said = as_mapping(inside.get(_TEXT)) or {}
    return {**block, KEY: {**inside, _TEXT: {key: value for key, value in said.items() if key != "signature"}}}


def _sent(block: Block) -> Block:
    """The block without the key of a signature that is none."""
    said = as_mapping((_inside(block) or {}).get(_TEXT)) or {}
    return _bare(block) if "signature" in said and word(said["signature"]) is None else block


def _is_hidden(block: Block) -> bool:
    tags = inline_in(block.get("text"))
    return KEY in block or "cachePoint" in block or (tags is not None and tags.rest == "")


BLOCKS = Blocks(
    key="content",
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    code=_code,
    payload=_payload,
    bare=_bare,
    is_hidden=_is_hidden,
    is_call=lambda block: "toolUse" in block,
    is_result=lambda block: "toolResult" in block,
    is_text=lambda block: "text" in block,
    sent=_sent,
    point="cachePoint",
    alternates=True,
)


def _tags(block: Block) -> dict[str, str] | None:
    """What stands in front of what a text says."""
    tags = inline_in(block.get("text"))
    return None if tags is None else {"tags": block["text"][: len(block["text"]) - len(tags.rest)]}


def _call(block: Block) -> Call | None:
    call = as_mapping(block.get("toolUse"))
    return None if call is None else Call(call.get("toolUseId"), call.get("name"), call.get("input"))


def _answer(block: Block) -> Answer | None:
    answer = as_mapping(block.get("toolResult"))
    if answer is None:
        return None
    return Answer(answer.get("toolUseId"), None, answer.get("status") == "error", answer.get("content"))


SPEECH = Speech(
    key="content",
    role_of=lambda message: str(message.get("role")),
    code=lambda block: None if (found := _code(block)) is None else found[1],
    look=Look(
        is_hidden=lambda block: KEY in block,
        seal=_tags,
        sealed=lambda block, seal: {**block, "text": seal["tags"] + block["text"]},
        bare=lambda block: block if _tags(block) is None else _bare(block),
        is_silent=lambda block: "cachePoint" in block,
    ),
    call=_call,
    answer=_answer,
    text=lambda block: (_said(block) or ("", None))[0],
)


def read(reply: Any, choice: int = 0) -> dict[str, Any]:
    """A reply, or its message alone → the message, without a mark that came with it.

    Raises:
        HistoryError: no reply of this form.
    """
    found = as_mapping(reply)
    if found is not None and "output" in found:
        found = as_mapping((as_mapping(found["output"]) or {}).get("message"))
    if found is None or not isinstance(found.get("content"), list):
        raise HistoryError("reply: no message in it; allowed: a reply of Converse, or its message")
    return unmarked(found)


FORMS = {
    "bedrock": Form(
        name="bedrock",
        view=partial(view, BLOCKS),
        payload=partial(payload, BLOCKS),
        apply=partial(write, BLOCKS),
        strip=partial(strip, BLOCKS),
        read=read,
        mark=mark,
        stream=BedrockStream,
        turns=turns_of(BLOCKS),
        recall=recall_by(SPEECH),
        beside=None,
        empty={"content": []},
    )
}
