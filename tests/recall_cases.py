"""What clients do to a history, for tests of restoring: changes that mean nothing, and changes that mean something.

A change is a function of a list of rows and of hypothesis' `draw`; it gets a copy of its own. What a client leaves of
a reply (`seen`) is told here by hand, and never by the package.
"""

from __future__ import annotations

import copy
import json
import re
from itertools import cycle

from hypothesis import strategies as st

import test_forms_properties as native
from strategies import (
    CHAT_TARGETS,
    CLAUDE_TARGETS,
    History,
    chat_histories,
    chat_replies,
    claude_histories,
    claude_replies,
)

MARK = "reasoning_replay"
PSF = "provider_specific_fields"
TEXTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
BESIDE = (
    *TEXTS, "reasoning_opaque", "reasoning_signature", "encrypted_content", "thought_signature", "thought_signatures",
    "signature", "extra_content", "reasoning_details", "thinking_blocks", "reasoning_items", PSF,
)  # fmt: skip
HIDDEN = ("thinking", "redacted_thinking", "reasoning")
WORD = re.compile(r"(question|answer|result|note|mode) (\w+)")
ARGUMENTS = {"b": 1, "a": [1.5, "x y", None, {"d": True, "c": "é"}]}

TARGETS = {
    "chat": CHAT_TARGETS,
    "litellm": (*CHAT_TARGETS, *CLAUDE_TARGETS),
    "anthropic": CLAUDE_TARGETS,
    **native.TARGETS,
}


# What there is ---------------------------------------------------------------------------------------------------------


def unmarked(value):
    if isinstance(value, dict):
        left = {key: unmarked(each) for key, each in value.items() if key != MARK}
        return {key: each for key, each in left.items() if key != PSF or each}
    return [unmarked(each) for each in value] if isinstance(value, list) else value


@st.composite
def replies(draw, form):
    """A target, and the rows of a reply of its host, unmarked."""
    target = draw(st.sampled_from(TARGETS[form]))
    history = History(form, home=target.origin)
    calls = draw(st.sampled_from([0, 1, 2]))
    if form in WOVEN and draw(st.booleans()):
        rows = [draw(WOVEN[form](history, target.origin, calls))]
    elif form in ("chat", "litellm"):
        rows = [draw(chat_replies(history, target.origin, 1, calls))]
    elif form == "anthropic":
        rows = [draw(claude_replies(history, target.origin, 1, calls))]
    else:
        rows = draw(native.REPLIES[form](history, target.origin, 1, calls))
    return target, with_arguments(unmarked(rows)), calls


KINDS = ("thought", "sealed", "text", "text", "call")


@st.composite
def pieces(draw, calls):
    """Kinds of pieces in any order, with so many calls among them."""
    kinds = draw(st.lists(st.sampled_from(KINDS[:-1]), min_size=1, max_size=6))
    for _ in range(calls):
        kinds.insert(draw(st.integers(0, len(kinds))), "call")
    return kinds


@st.composite
def woven_claude(draw, history, owner, calls):
    """Thinking, words and calls of a Claude in any order."""
    blocks = []
    for kind in draw(pieces(calls)):
        number = len(blocks)
        if kind == "thought":
            signature = f"sig {history.word(owner)}"
            blocks.append({"type": "thinking", "thinking": f"t {history.word(owner)}", "signature": signature})
        elif kind == "sealed":
            blocks.append({"type": "redacted_thinking", "data": f"sealed {history.word(owner)}"})
        elif kind == "text":
            text = {"type": "text", "text": f"answer {number}"}
            blocks.append({**text, "signature": f"sig {history.word(owner)}"} if draw(st.booleans()) else text)
        else:
            at = sum(block["type"] == "tool_use" for block in blocks)
            blocks.append({"type": "tool_use", "id": f"toolu_1_{at}", "name": "look", "input": {}})
    return {"role": "assistant", "content": blocks}


@st.composite
def woven_litellm(draw, history, owner, calls):
    """The same as LiteLLM has it: blocks beside a text, and their order."""
    kinds = [kind for kind in draw(pieces(0)) if kind != "sealed"]
    layout = ["thinking" if kind == "thought" else f"text:{len('answer 1')}" for kind in kinds]
    message = {
        "role": "assistant",
        "content": "answer 1" * kinds.count("text"),
        "thinking_blocks": [
            {"type": "thinking", "thinking": f"t {history.word(owner)}", "signature": f"sig {history.word(owner)}"}
            for _ in range(kinds.count("thought"))
        ],
        PSF: {"reasoning_layout": layout},
    }
    if calls:
        function = {"name": "look", "arguments": "{}"}
        message["tool_calls"] = [
            {"id": f"call_1_{at}", "type": "function", "function": function} for at in range(calls)
        ]
    return message


@st.composite
def woven_bedrock(draw, history, owner, calls):
    blocks = []
    for kind in draw(pieces(calls)):
        if kind == "thought":
            inside = {"text": f"t {history.word(owner)}", "signature": f"sig {history.word(owner)}"}
            blocks.append({"reasoningContent": {"reasoningText": inside}})
        elif kind == "sealed":
            blocks.append({"reasoningContent": {"redactedContent": history.word(owner).encode()}})
        elif kind == "text":
            tags = f"<thinking>t {history.word(owner)}</thinking>\n" if not blocks and draw(st.booleans()) else ""
            blocks.append({"text": f"{tags}answer {len(blocks)}"})
        else:
            at = sum("toolUse" in block for block in blocks)
            blocks.append({"toolUse": {"toolUseId": f"call_1_{at}", "name": "look", "input": {}}})
    return {"role": "assistant", "content": blocks}


@st.composite
def woven_gemini(draw, history, owner, calls):
    parts = []
    for kind in draw(pieces(calls)):
        sign = {"thoughtSignature": f"sealed {history.word(owner)}"} if draw(st.booleans()) else {}
        if kind == "thought":
            parts.append({"text": f"t {history.word(owner)}", "thought": True, **sign})
        elif kind == "sealed":
            parts.append({"text": "", "thoughtSignature": f"sealed {history.word(owner)}"})
        elif kind == "text":
            parts.append({"text": f"answer {len(parts)}", **sign})
        else:
            at = sum("functionCall" in part for part in parts)
            parts.append({"functionCall": {"name": "look", "args": {}, "id": f"call_1_{at}"}, **sign})
    return {"role": "model", "parts": parts}


WOVEN = {
    "litellm": woven_litellm,
    "anthropic": woven_claude,
    "bedrock": woven_bedrock,
    "gemini": woven_gemini,
}


def histories(form):
    made = {
        "chat": lambda: chat_histories(turns=2),
        "litellm": lambda: chat_histories(turns=2, form="litellm"),
        "anthropic": lambda: claude_histories(turns=2),
    }.get(form, lambda: native.histories(form))
    return made().map(lambda history: with_arguments(history.messages))


def with_arguments(rows):
    """Calls with something in them: values of every kind, or texts alone."""
    every = cycle([ARGUMENTS, {"b": "x y", "a": "z"}])

    def change(value):
        for key in ("input", "args", "arguments"):
            if value.get(key) == {}:
                value[key] = dict(next(every))
            elif value.get(key) == "{}":
                value[key] = json.dumps(next(every))

    return walked(copy.deepcopy(rows), change)


def results(form, number, calls):
    if form in ("chat", "litellm"):
        ids = [f"call_{number}_{at}" for at in range(calls)]
        return [{"role": "tool", "tool_call_id": each, "content": f"result {each}"} for each in ids]
    if form == "anthropic":
        blocks = [
            {"type": "tool_result", "tool_use_id": f"toolu_{number}_{at}", "content": f"result {number} {at}"}
            for at in range(calls)
        ]
        return [{"role": "user", "content": blocks}] if calls else []
    return native.results(form, number, calls) if calls else []


# What nobody sends -----------------------------------------------------------------------------------------------------

KEYS = [
    "type", "text", "thinking", "signature", "data", "id", "name", "input", "content", "role", "tool_use_id",
    "call_id", "function", "arguments", "extra_content", "provider_specific_fields", "thought_signature", "summary",
    "encrypted_content", "reasoning", "reasoning_content", "toolUse", "toolResult", "reasoningContent",
    "reasoningText", "redactedContent", "cachePoint", "thought", "thoughtSignature", "functionCall",
    "functionResponse", "args", "response", "parts", "image_url", "url", "output", "extras", "item_id", "index",
    "tool_calls", "refusal", "audio", "images", "function_call", "tool_call_id", "tool_name", "status", "value",
    "reasoning_details", "thinking_blocks", "reasoning_items", "reasoning_layout", "cache_control", "is_error",
]  # fmt: skip
WORDS = (
    *KEYS[:12], "", "hi", " ", "tool_use", "tool_result", "message", "function_call_output", "compaction", "assistant",
    "redacted_thinking", "item_reference", "rs_1", "msg_1", "call_1__thought__x", "<think>a</think>b", "<think>", "{}",
    '{"a": 1.0}', "[" * 9999, "user", "text:3", "non_standard", "tool_call", "custom_tool_call", "\ud800",
)  # fmt: skip
ODD_ROLES = {
    "anthropic": ["user", "assistant"],
    "bedrock": ["user", "assistant"],
    "gemini": ["user", "model"],
    "responses": ["user", "assistant", None, None],
    "langchain": ["human", "ai", "tool"],
}


def odd(random, depth):
    """A JSON value that looks like somebody's."""
    luck = random.random()
    if depth <= 0 or luck < 0.45:
        return random.choice(WORDS)
    if luck < 0.55:
        return random.choice([None, 0, 1.5, True, [], {}, b"x"])
    if luck < 0.75:
        return [odd(random, depth - 1) for _ in range(random.randint(0, 3))]
    return {random.choice(KEYS): odd(random, depth - 1) for _ in range(random.randint(0, 5))}


def odd_row(form, random):
    """A message with a role, and whatever else."""
    role = random.choice(ODD_ROLES.get(form, ["user", "assistant", "assistant", "tool"]))
    row = {random.choice(KEYS): odd(random, 3) for _ in range(random.randint(0, 3))}
    row |= {} if role is None else {"type" if form == "langchain" else "role": role}
    blocks = [odd(random, 3) for _ in range(random.randint(0, 3))]
    typed = [{"type": random.choice(WORDS), "text": odd(random, 0), **odd_fields(random)} for _ in range(2)]
    row["parts" if form == "gemini" else "content"] = random.choice([odd(random, 0), odd(random, 2), blocks, typed])
    call = {"id": random.choice(WORDS), "type": "function", "function": {"name": "look", "arguments": odd(random, 1)}}
    if form == "langchain":
        row |= {"additional_kwargs": odd_fields(random), "tool_call_id": odd(random, 1)}
        calls = [{"name": "look", "args": odd(random, 2), "id": random.choice(["a", None])}]
        row |= {"tool_calls": calls, "invalid_tool_calls": []} if role == "ai" else {}
    elif random.random() < 0.5:
        row["tool_calls"] = random.choice([odd(random, 2), [call, {**call, **odd_fields(random)}]])
    return row


def odd_fields(random):
    return {random.choice(KEYS): odd(random, 2) for _ in range(random.randint(0, 3))}


# What a client leaves --------------------------------------------------------------------------------------------------


def seen(form, rows):
    """The rows of one reply as a client has them that keeps what it shows and what it needs to answer calls."""
    return [left for row in copy.deepcopy(rows) if (left := SEEN[form](row)) is not None]


def _seen_chat(row):
    if row.get("role") != "assistant":
        return row
    left = {key: value for key, value in row.items() if key not in BESIDE}
    if isinstance(left.get("content"), list):
        left["content"] = [part for part in left["content"] if part["type"] not in HIDDEN]
    for call in left.get("tool_calls") or ():
        call.pop("extra_content", None)
        call.pop(PSF, None)
    return left


def _seen_anthropic(row):
    if row.get("role") == "assistant" and isinstance(row["content"], list):
        row["content"] = [
            {key: value for key, value in block.items() if key != "signature"}
            for block in row["content"]
            if block["type"] not in HIDDEN
        ]
    return row


def _seen_responses(item):
    if item.get("type") == "reasoning":
        return None
    return {key: value for key, value in item.items() if key not in ("id", "status", PSF)}


def _seen_gemini(row):
    seals = ("thoughtSignature", "thought_signature")
    if row["role"] == "model":
        parts = [part for part in row["parts"] if part.get("thought") is not True]
        parts = [{key: value for key, value in part.items() if key not in seals} for part in parts]
        row["parts"] = [part for part in parts if part != {"text": ""}]
    return row


def _seen_bedrock(row):
    if row["role"] == "assistant":
        blocks = [block for block in row["content"] if "reasoningContent" not in block]
        row["content"] = [
            {**block, "text": block["text"].rpartition("</thinking>\n")[2]} if "text" in block else block
            for block in blocks
        ]
    return row


def _seen_ollama(row):
    return {key: value for key, value in row.items() if key not in ("thinking", PSF)}


SEEN = {
    "chat": _seen_chat,
    "litellm": _seen_chat,
    "anthropic": _seen_anthropic,
    "responses": _seen_responses,
    "gemini": _seen_gemini,
    "bedrock": _seen_bedrock,
    "ollama": _seen_ollama,
}


# Changes ---------------------------------------------------------------------------------------------------------------


def walked(value, change):
    """Every dict in it changed in place."""
    if isinstance(value, dict):
        change(value)
        for each in list(value.values()):
            walked(each, change)
    elif isinstance(value, list):
        for each in value:
            walked(each, change)
    return value


def keys_turned_around(form, rows, draw):
    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(list(value))}
        return [turned(each) for each in value] if isinstance(value, list) else value

    return turned(rows)


def ids_renamed(form, rows, draw):
    """Consistently, as clients do that want ids of their own kind; a signature in an id stays."""
    return json.loads(re.sub(r'"(call|toolu)_(\d+_\d+)', r'"tool-\2-x', json.dumps(rows)))


def cache_points(form, rows, draw):
    for row in rows:
        if form in ("chat", "litellm", "anthropic") and isinstance(row.get("content"), list) and row["content"]:
            row["content"][-1]["cache_control"] = {"type": "ephemeral"}
        elif form == "bedrock" and isinstance(row.get("content"), list) and draw(st.booleans()):
            row["content"].append({"cachePoint": {"type": "default"}})
    return rows


def nothings_swapped(form, rows, draw):
    """null for "" for an absent key, and empty lists."""
    for row in rows:
        if form in ("chat", "litellm") and row["role"] == "assistant":
            if row["content"] in ("", None):
                row["content"] = draw(st.sampled_from(["", None, []]))
            if draw(st.booleans()):
                row |= {"refusal": None, "annotations": [], "audio": None, "function_call": None}
            if not row.get("tool_calls"):
                row["tool_calls"] = draw(st.sampled_from([None, []]))
        if form == "gemini" and draw(st.booleans()):
            row["parts"] = [*row["parts"], {"text": ""}]
        if form == "bedrock" and draw(st.booleans()):
            row["content"] = [*row["content"], {"text": ""}]
    return rows


def arguments_written_anew(form, rows, draw):
    def change(value):
        if isinstance(value.get("arguments"), str):
            read = json.loads(value["arguments"])
            turned = {key: float(read[key]) if read[key] == 1 else read[key] for key in reversed(list(read))}
            value["arguments"] = json.dumps(turned, indent=draw(st.sampled_from([None, 2])), ensure_ascii=False)
        elif isinstance(value.get("args"), dict):
            value["args"] = {key: value["args"][key] for key in reversed(list(value["args"]))}

    return walked(rows, change)


def unknown_keys(form, rows, draw):
    for row in rows:
        row |= {"x_note": "mine", "timestamp": 1}
    return rows


def reasoning_dropped(form, rows, draw):
    return seen(form, rows)


TEXT_TYPES = {"chat": "text", "litellm": "text", "anthropic": "text", "responses": None}


def texts_cut(form, rows, draw):
    """A text as a list of parts, cut anywhere."""

    def parts(text, of):
        at = draw(st.integers(0, len(text)))
        return [of | {"text": piece} for piece in (text[:at], text[at:]) if piece]

    for row in rows:
        role, content = row.get("role"), row.get("content")
        if form == "gemini":
            row["parts"] = [
                each
                for part in row["parts"]
                for each in (parts(part["text"], part) if set(part) == {"text"} else [part])
            ]
        elif form == "bedrock":
            row["content"] = [
                each for part in content for each in (parts(part["text"], part) if set(part) == {"text"} else [part])
            ]
        elif form in TEXT_TYPES and role is not None:
            kind = TEXT_TYPES[form] or ("output_text" if role == "assistant" else "input_text")
            if isinstance(content, str) and content:
                row["content"] = parts(content, {"type": kind})
            elif isinstance(content, list):
                row["content"] = [
                    each
                    for part in content
                    for each in (parts(part["text"], part) if part.get("type") == kind and part["text"] else [part])
                ]
    return rows


def texts_joined(form, rows, draw):
    """A list of nothing but texts as one string."""
    for row in rows:
        content = row.get("content")
        texts = ("text", "output_text", "input_text")
        if isinstance(content, list) and content and all(part.get("type") in texts for part in content):
            row["content"] = "".join(part["text"] for part in content)
    return rows


NOTHING = {
    each.__name__: each
    for each in (
        keys_turned_around,
        ids_renamed,
        cache_points,
        nothings_swapped,
        arguments_written_anew,
        unknown_keys,
        reasoning_dropped,
        texts_cut,
        texts_joined,
    )
}
"""Changes that mean nothing."""


def _somewhere(rows, pattern, new, draw):
    text = json.dumps(rows)
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    at = draw(st.sampled_from(found))
    return json.loads(text[: at.start()] + at.expand(new) + text[at.end() :])


def one_character(form, rows, draw):
    return _somewhere(rows, WORD.pattern, r"\1  \2", draw)


def other_tool(form, rows, draw):
    def change(value):
        if value.get("name") == "look" and not {"response", "content"} & set(value):
            value["name"] = "book"

    changed = walked(copy.deepcopy(rows), change)
    return None if changed == rows else changed


def other_argument(form, rows, draw):
    return _somewhere(rows, r"x y", "x z", draw)


def other_picture(form, rows, draw):
    return _somewhere(rows, r"AAAA", "AAAB", draw)


def other_order(form, rows, draw):
    """Two messages of a user's change places."""
    at = [n for n, row in enumerate(rows) if row.get("role") == "user" and "question" in json.dumps(row)]
    if len(at) < 2 or len({WORD.search(json.dumps(rows[each]))[0] for each in at[:2]}) < 2:
        return None
    rows[at[0]], rows[at[1]] = rows[at[1]], rows[at[0]]
    return rows


def swapped_results(form, rows, draw):
    """What two tools said changes places, the ids stay."""
    text = json.dumps(rows)
    found = list(re.finditer(r"result [\w ]+", text))
    if len(found) < 2 or found[0][0] == found[1][0]:
        return None
    one, two = found[:2]
    return json.loads(text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :])


def swapped_ids(form, rows, draw):
    """Two results answer each other's call."""
    text = json.dumps(rows)
    found = list(re.finditer(r'"(tool_call_id|tool_use_id|call_id|toolUseId)": "(\w+?_\d+_\d+)"', text))
    answers = [each for each in found if "result" in text[each.start() - 120 : each.end() + 120]]
    for one in answers:
        for two in answers:
            if one.start() < two.start() and one[2] != two[2] and one[2][:-1] == two[2][:-1]:
                return json.loads(
                    text[: one.start(2)] + two[2] + text[one.end(2) : two.start(2)] + one[2] + text[two.end(2) :]
                )
    return None


SOMETHING = {
    each.__name__: each
    for each in (one_character, other_tool, other_argument, other_picture, other_order, swapped_results, swapped_ids)
}
"""Changes that mean something; None where there is nothing to change."""
