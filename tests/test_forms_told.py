"""What counts in what is said, so that no other conversation is taken for this one; and that long messages are told in one pass."""

from __future__ import annotations

import pytest

from reasoning_replay import MemoryStore, Origin, capture, prepare
from reasoning_replay.forms import form_of


def lc():
    return pytest.importorskip("langchain_core.messages")


def said(form, messages):
    shape = form_of(form)
    return shape.recall.said(shape.rows(messages))


def told(form, messages):
    return [(each.reply, each.text) for each in said(form, messages)]


def own(form, messages):
    """Texts of the replies."""
    return [each.text for each in said(form, messages) if each.reply]


def user(form, *parts):
    if form == "langchain":
        return lc().HumanMessage(list(parts))
    if form == "gemini":
        return {"role": "user", "parts": list(parts)}
    kind = {"type": "message"} if form == "responses" else {}
    return {**kind, "role": "user", "content": list(parts)}


def picture(address, **more):
    return {"type": "image_url", "image_url": {"url": address}, **more}


THINKING = {"type": "thinking", "signature": "s"}
IN_A_USERS_MESSAGE = {
    "a picture with a caption": ("chat", lambda x: picture(x, text="caption")),
    "a picture with an empty text": ("litellm", lambda x: picture(x, text="")),
    "a video with an empty text": ("chat", lambda x: {"type": "video_url", "video_url": {"url": x}, "text": ""}),
    "a file with a text": ("chat", lambda x: {"type": "file", "text": "x", "file": {"file_data": x}}),
    "a document with a title": ("chat", lambda x: {"type": "document", "text": "x", "title": x}),
    "thinking": ("chat", lambda x: {**THINKING, "thinking": x}),
    "reasoning": ("litellm", lambda x: {"type": "reasoning", "text": x}),
    "a compaction": ("litellm", lambda x: {"type": "compaction", "content": x}),
    "a key like a seal's": ("chat", lambda x: {"type": "x", "signature": x}),
    "a key like our own": ("chat", lambda x: {"type": "x", "turn": x}),
    "a turn inside": ("chat", lambda x: {"type": "x", "input": {"turn": x}}),
    "a signature inside": ("chat", lambda x: {"type": "x", "input": [{"signature": x}]}),
    "extra content inside": ("responses", lambda x: {"type": "input_file", "file": {"extra_content": x}}),
    "sealed content of Responses": ("responses", lambda x: {"type": "input_file", "encrypted_content": x}),
    "thinking at Anthropic": ("anthropic", lambda x: {**THINKING, "thinking": x}),
    "a compaction at Anthropic": ("anthropic", lambda x: {"type": "compaction", "content": x}),
    "thinking that a tool gives": (
        "anthropic",
        lambda x: {"type": "tool_result", "tool_use_id": "t", "content": [{**THINKING, "thinking": x}]},
    ),
    "a signature at Anthropic": ("anthropic", lambda x: {"type": "x", "source": {"signature": x}}),
    "a thought at Gemini": ("gemini", lambda x: {"text": x, "thought": True}),
    "reasoning at Converse": ("bedrock", lambda x: {"reasoningContent": {"reasoningText": {"text": x}}}),
    "tags at Converse": ("bedrock", lambda x: {"text": f"<thinking>{x}</thinking>hi"}),
    "thinking in LangChain": ("langchain", lambda x: {**THINKING, "thinking": x}),
    "tags in LangChain": ("langchain", lambda x: {"type": "text", "text": f"<think>{x}</think>hi"}),
    "a signature in LangChain": ("langchain", lambda x: {"type": "x", "input": {"signature": x}}),
}


@pytest.mark.parametrize("name", IN_A_USERS_MESSAGE)
def test_all_that_stands_in_a_users_message_counts(name):
    form, part = IN_A_USERS_MESSAGE[name]
    text = {"text": "hi"} if form in ("gemini", "bedrock") else {"type": "text", "text": "hi"}
    one, same, other, none = (
        told(form, [user(form, text, *more)]) for more in ([part("A")], [part("A")], [part("B")], [])
    )
    assert one == same
    assert one != other
    assert one != none


@pytest.mark.parametrize("form", ["chat", "litellm", "anthropic", "responses"])
def test_a_cache_point_says_nothing_however_deep_it_stands(form):
    point = {"cache_control": {"type": "ephemeral"}}
    one, other = ({"type": "x", "file": {"content": [{"data": "A", **more}]}, **more} for more in ({}, point))
    assert told(form, [user(form, one)]) == told(form, [user(form, other)])


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text", None])
def test_a_part_that_is_a_text_is_the_text_whatever_it_is_called(kind):
    part = {"text": "hi"} if kind is None else {"type": kind, "text": "hi"}
    assert told("chat", [user("chat", part)]) == told("chat", [{"role": "user", "content": "hi"}])


def said_by(form, name):
    named = {} if name is None else {"name": name}
    return lc().AIMessage("yes", **named) if form == "langchain" else {"role": "assistant", "content": "yes", **named}


@pytest.mark.parametrize("form", ["chat", "litellm", "langchain"])
def test_who_of_several_assistants_spoke_counts_for_what_follows_and_not_for_the_reply_itself(form):
    """Frameworks write the name into a reply that came without: its reasoning must be found all the same."""
    rows = [said_by(form, name) for name in ("alice", "bob", "", None)]
    assert len({text for row in rows for text in own(form, [row])}) == 1
    alice, bob, empty, none = (told(form, [row]) for row in rows)
    assert alice != bob
    assert none == empty != alice


def ai(*blocks):
    return lc().AIMessage(list(blocks))


SAID = {"type": "text", "text": "hi"}
CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
PASTS = {
    "a compaction at Anthropic": (
        "anthropic",
        lambda x: {"role": "assistant", "content": [{"type": "compaction", "content": x}, SAID]},
    ),
    "a compaction in LiteLLM's messages": (
        "litellm",
        lambda x: {"role": "assistant", "content": [{"type": "compaction", "content": x}, SAID]},
    ),
    "a sealed compaction at Anthropic": (
        "anthropic",
        lambda x: {"role": "assistant", "content": [{"type": "compaction", "content": "", "encrypted_content": x}]},
    ),
    "a compaction in LangChain": ("langchain", lambda x: ai({"type": "compaction", "content": x}, SAID)),
    "a compaction": ("responses", lambda x: {"type": "compaction", "encrypted_content": x}),
    "a compaction's name": ("responses", lambda x: {"type": "compaction", "id": f"cmp_{x}"}),
    "a compaction of the context": ("responses", lambda x: {"type": "context_compaction", "encrypted_content": x}),
    "a summary": ("responses", lambda x: {"type": "compaction_summary", "encrypted_content": x}),
    "a reference": ("responses", lambda x: {"type": "item_reference", "id": f"msg_{x}"}),
    "a reference without a type": ("responses", lambda x: {"id": f"msg_{x}"}),
}


@pytest.mark.parametrize("name", PASTS)
def test_what_stands_for_a_past_counts_for_what_follows(name):
    form, row = PASTS[name]
    one, same, other = (told(form, [row(x), user(form, "hi")]) for x in ("SECRET", "SECRET", "B"))
    assert one == same
    assert one != other
    assert "SECRET" not in str(one)


def test_a_reply_is_found_by_its_own_words_where_a_client_dropped_the_compaction_that_came_with_it():
    whole, left = ([*more, CALL] for more in ([{"type": "compaction", "encrypted_content": "A"}], []))
    assert own("responses", whole) == own("responses", left)
    assert told("responses", whole) != told("responses", left)


NAMED = {
    "a picture by its name": lambda x: {"type": "image_generation_call", "id": f"ig_{x}", "status": "completed"},
    "a picture": lambda x: {"type": "image_generation_call", "id": "ig_1", "result": x},
    "a tool of one of several places": lambda x: {**CALL, "namespace": x},
    "a free tool of one of several places": lambda x: {"type": "custom_tool_call", "name": "look", "namespace": x},
}


@pytest.mark.parametrize("name", NAMED)
def test_what_tells_one_item_from_another_counts(name):
    assert own("responses", [NAMED[name]("A")]) != own("responses", [NAMED[name]("B")])


def test_a_picture_that_is_there_is_not_known_by_its_id():
    one, other = ({"type": "image_generation_call", "id": each, "result": "A"} for each in ("ig_1", "ig_2"))
    assert own("responses", [one]) == own("responses", [other])
    assert own("langchain", [ai(one)]) == own("langchain", [ai(other)])


def test_a_picture_by_its_name_counts_in_langchain():
    one, other = (ai({"type": "image_generation_call", "id": each}) for each in ("ig_1", "ig_2"))
    assert own("langchain", [one]) != own("langchain", [other])


@pytest.mark.parametrize("named", [False, True])
def test_reasoning_comes_back_to_a_reply_that_its_client_has_named_since(named):
    target = {"host": "api.deepseek.com", "model": "deepseek-v4-pro", "request": {"tools": [{}]}}
    store, go = MemoryStore(), {"role": "user", "content": "go"}
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    before = [go, said_by("chat", "alice")]
    plan = prepare(before, **target, known=store)
    capture({**reply, "reasoning_content": "T"}, Origin("api.deepseek.com"), known=store, after=plan)
    left = {**reply, "name": "bob"} if named else reply
    result = {"role": "tool", "tool_call_id": "call_1", "content": "3"}
    there, elsewhere = (
        prepare([*past, left, result], **target, known=store) for past in (before, [go, said_by("chat", "carol")])
    )
    assert there.messages[2]["reasoning_content"] == "T"
    assert elsewhere.messages[2].get("reasoning_content") in (None, "")


MANY = 60_000
"""So many pieces in one message that to copy what was told for each of them would take minutes (2026-11-30)."""
PIECES = {
    "results": ("anthropic", {"type": "tool_result", "tool_use_id": "t", "content": "x" * 60}),
    "pictures at Anthropic": ("anthropic", {"type": "image", "source": {"type": "url", "url": "x"}}),
    "pictures at Responses": ("responses", {"type": "input_image", "image_url": "x"}),
    "pictures of chat": ("chat", picture("x")),
    "results at Converse": ("bedrock", {"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}}),
}


@pytest.mark.parametrize("name", PIECES)
def test_a_message_of_very_many_pieces_is_each_piece_and_no_more(name):
    form, piece = PIECES[name]
    ((_, one),) = told(form, [user(form, piece)])
    ((_, many),) = told(form, [user(form, *[piece] * MANY)])
    assert many == f"[user{one[len('[user') : -1] * MANY}]"


@pytest.mark.parametrize("form", ["chat", "anthropic", "responses", "bedrock", "gemini"])
def test_texts_that_touch_are_one_however_many_they_are(form):
    part = {"text": "x"} if form in ("bedrock", "gemini") else {"type": "text", "text": "x"}
    assert told(form, [user(form, *[part] * MANY)]) == [(False, f"[user,{MANY}:{'x' * MANY}]")]


def test_very_many_seals_find_their_texts_however_they_are_cut():
    parts = [{"text": "xy", "thoughtSignature": f"s{number}"} for number in range(4000)]
    recall = form_of("gemini").recall
    lifted = recall.lift([{"role": "model", "parts": parts}])
    assert [{"role": "model", "parts": parts}] == recall.lay(
        [{"role": "model", "parts": [{"text": "x"}, {"text": "y"}] * 4000}], lifted
    )
    assert [{"role": "model", "parts": parts}] == recall.lay(
        [{"role": "model", "parts": [{"text": "xy" * 4000}]}], lifted
    )
