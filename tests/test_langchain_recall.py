"""LangChain's messages whose app kept content and calls alone: the reasoning put back, in every shape of it."""

from __future__ import annotations

import copy
import json

import pytest

from reasoning_replay import MemoryStore, adopt, prepare
from reasoning_replay.forms import form_of
from test_langchain_form import CALLS, SHAPES, WORD, own

lc = pytest.importorskip("langchain_core.messages")
RECALL = form_of("langchain").recall
CALL_BLOCKS = ("function_call", "tool_call", "tool_use")


def reply(shape):
    _, content, kwargs, rest = copy.deepcopy(SHAPES[shape])
    return lc.AIMessage(content=content, additional_kwargs=kwargs, tool_calls=copy.deepcopy(CALLS), **rest)


def without_word(value):
    """What is left when everything goes that holds the word."""
    if isinstance(value, dict):
        left = {key: without_word(each) for key, each in value.items()}
        return {key: each for key, each in left.items() if each not in (None, {}, []) or each == value[key]}
    if isinstance(value, list):
        kinds = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "non_standard")
        return [without_word(each) for each in value if not (isinstance(each, dict) and each.get("type") in kinds)]
    return None if WORD in repr(value) else value


def kept(shape):
    """The message of an app that keeps the blocks of a content, less the reasoning."""
    message = reply(shape)
    content = message.content if isinstance(message.content, str) else without_word(message.content)
    return lc.AIMessage(content=content, tool_calls=copy.deepcopy(CALLS))


def rebuilt(shape, identity="call_1"):
    """The message of an app that keeps a text and calls."""
    return lc.AIMessage(content=reply(shape).text, tool_calls=[{**CALLS[0], "id": identity}])


def laid(shape, message):
    lifted = json.loads(json.dumps(RECALL.lift([reply(shape).__dict__])))
    (row,) = RECALL.lay([message.__dict__], lifted)
    return form_of("langchain").back(message, row)


def sent(shape, message, identity="call_1"):
    messages = [lc.HumanMessage("go"), message, lc.ToolMessage("done", tool_call_id=identity)]
    dialect = SHAPES[shape][0]
    plan = prepare(
        adopt(messages, own(shape), form="langchain"),
        host="gw.corp.example",
        model="m",
        dialect=dialect,
        form="langchain",
        request={"tools": [{"type": "function"}]},
        known=MemoryStore(),
    )
    return plan.messages[1]


def content_of(message):
    blocks = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
    return [block for block in blocks if block not in ("", {"type": "text", "text": ""})]


def kwargs_of(message):
    return {key: value for key, value in message.additional_kwargs.items() if key != "reasoning_replay"}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_lifted_is_json_without_a_word_of_what_is_said(shape):
    lifted = RECALL.lift([reply(shape).__dict__])
    text = json.dumps(lifted)
    assert lifted == json.loads(text)
    assert "hi" not in text.replace("thinking", "")
    assert "reasoning_replay" not in text


@pytest.mark.parametrize("shape", SHAPES)
def test_laid_into_the_blocks_that_an_app_kept_it_is_the_reply_itself(shape):
    message = kept(shape)
    assert [True] == [each.bare for each in RECALL.said([message.__dict__])]
    one, two = sent(shape, reply(shape)), sent(shape, laid(shape, message))
    assert content_of(one) == content_of(two)
    ids = kwargs_of(one).get("__openai_function_call_ids__")
    assert kwargs_of(one) == {**kwargs_of(two), **({} if ids is None else {"__openai_function_call_ids__": ids})}


def renamed(value):
    """The same under the app's own id; a call's arguments are the app's."""
    value = json.loads(json.dumps(value, default=str).replace("call_1", "tool-7"))
    if isinstance(value, list):
        return [{key: each for key, each in block.items() if key not in ("arguments", "args")} for block in value]
    return value


@pytest.mark.parametrize("shape", SHAPES)
def test_laid_into_a_message_of_text_and_calls_it_has_its_places_and_the_apps_ids(shape):
    message = rebuilt(shape, "tool-7")
    assert [True] == [each.bare for each in RECALL.said([message.__dict__])]
    put_back = laid(shape, message)
    one, two = sent(shape, reply(shape)), sent(shape, put_back, "tool-7")
    assert renamed(content_of(one)) == renamed(content_of(two))
    assert renamed(kwargs_of(one)) == renamed(kwargs_of(two))
    assert "tool-7" == put_back.tool_calls[0]["id"] == two.tool_calls[0]["id"]
    made = [block for block in content_of(put_back) if block["type"] in CALL_BLOCKS]
    assert all({"at": "x"} in (block.get("args"), json.loads(block.get("arguments", "0"))) for block in made)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_apps_own_message_says_the_same_as_the_reply(shape):
    texts = [
        RECALL.said([each.__dict__])[0].text
        for each in (reply(shape), kept(shape), rebuilt(shape), rebuilt(shape, "z"))
    ]
    assert 1 == len(set(texts))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_message_that_has_its_reasoning_is_left_as_it_is(shape):
    row = reply(shape).__dict__
    assert [row] == RECALL.lay([row], RECALL.lift([reply("text beside").__dict__]))
    assert not RECALL.said([row])[0].bare


def test_a_reply_without_reasoning_has_nothing_to_lift():
    for kwargs in (
        {},
        {"reasoning_content": " "},
        {"refusal": None},
        {"__openai_function_call_ids__": {"call_1": "fc_1"}},
    ):
        message = lc.AIMessage("hi", additional_kwargs=kwargs, tool_calls=CALLS)
        assert RECALL.lift([message.__dict__]) is None


def test_blocks_between_a_text_and_a_call_stay_between_them_with_the_calls_block_and_without():
    thought = {"type": "thinking", "thinking": "t", "signature": "s"}
    again = {"type": "thinking", "thinking": "u", "signature": "v"}
    use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "x"}}
    content = [thought, {"type": "text", "text": "abc"}, again, use]
    lifted = RECALL.lift([lc.AIMessage(content=content, tool_calls=CALLS).__dict__])
    for left, texts in (("abc", content[1:2]), (content[1:2], content[1:2]), (["ab", "c"], ["ab", "c"])):
        for calls in ([], [use]):
            if isinstance(left, list) or not calls:
                given = [*left, *calls] if calls else left
                (row,) = RECALL.lay([lc.AIMessage(content=given, tool_calls=CALLS).__dict__], lifted)
                assert [thought, *texts, again, use] == row["content"]


@pytest.mark.parametrize(
    "arguments", ['{"at":"\u00e9"}', '{"at": "\u00e9"}', '{"at":"\\u00e9"}', '{"at": "\\u00e9"}', '{"at"  :"\u00e9"}']
)
def test_a_call_is_written_anew_as_its_host_writes_calls(arguments):
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "status": "completed"}
    content = [item, {**call, "arguments": arguments}]
    calls = [{"name": "look", "args": {"at": "\u00e9"}, "id": "c"}]
    lifted = RECALL.lift([lc.AIMessage(content=content, tool_calls=calls).__dict__])
    (row,) = RECALL.lay([lc.AIMessage("", tool_calls=calls).__dict__], json.loads(json.dumps(lifted)))
    assert json.loads(arguments) == json.loads(row["content"][1].pop("arguments"))
    assert [item, call] == row["content"]


def test_calls_that_no_block_can_be_made_of_have_their_reasoning_in_front():
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    odd = {"type": "function_call", "id": "fc_1", "call_id": "other", "name": "look", "arguments": "{}"}
    lifted = RECALL.lift([lc.AIMessage(content=[item, odd], tool_calls=CALLS).__dict__])
    (row,) = RECALL.lay([lc.AIMessage("", tool_calls=CALLS).__dict__], lifted)
    assert [item] == row["content"]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("content", "hi!"),
        ("tool_calls", [{**CALLS[0], "name": "book"}]),
        ("tool_calls", [{**CALLS[0], "args": {"at": "y"}}]),
        ("tool_calls", []),
    ],
)
def test_what_means_something_changes_what_is_said(change, value):
    one = lc.AIMessage("hi", tool_calls=CALLS)
    other = lc.AIMessage(**{"content": "hi", "tool_calls": CALLS, change: value})
    assert RECALL.said([one.__dict__])[0].text != RECALL.said([other.__dict__])[0].text
