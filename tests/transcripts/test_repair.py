"""A stored history without an error: what is healed, what stays, and that a healed history is left alone."""

import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning_replay import HistoryError, MemoryStore, Origin, adopt, prepare
from reasoning_replay.transcripts import Repaired, repair
from strategies import chat_histories, claude_histories, requests_of
from test_invariants import targets_for

DEEPSEEK = {
    "host": "https://api.deepseek.com",
    "model": "deepseek-v4-pro",
    "request": {"tools": [{"type": "function"}]},
}
CLAUDE = {"host": "https://api.anthropic.com", "dialect": "anthropic", "model": "claude-sonnet-4-5"}
OPENAI = {"host": "https://api.openai.com/v1", "dialect": "responses", "model": "gpt-5.4"}
CONVERSE = {
    "host": "https://bedrock-runtime.us-east-1.amazonaws.com",
    "dialect": "bedrock",
    "model": "anthropic.claude-sonnet-4-5",
}
GEMINI = {"host": "https://generativelanguage.googleapis.com", "dialect": "gemini", "model": "gemini-3-pro"}
ROUTER = {"host": "https://openrouter.ai/api/v1", "model": "anthropic/claude-sonnet-4.5"}


def user(text="x"):
    return {"role": "user", "content": text}


def calls(*ids, arguments="{}", **more):
    listed = [{"id": each, "type": "function", "function": {"name": "f", "arguments": arguments}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": listed, "reasoning_content": "t", **more}


def result(identity, text="3C"):
    return {"role": "tool", "tool_call_id": identity, "content": text}


def use(identity):
    return {"type": "tool_use", "id": identity, "name": "f", "input": {}}


def used(identity, text="3C"):
    return {"type": "tool_result", "tool_use_id": identity, "content": text}


def says(*blocks, role="assistant"):
    return {"role": role, "content": list(blocks)}


def text(words="It is 3C."):
    return {"type": "text", "text": words}


def own(history, about):
    return adopt(history, Origin(about["host"], dialect=about.get("dialect", "chat"), model=about["model"]))


def healed(history, about):
    before = deepcopy(history)
    done = repair(history, **about, known=MemoryStore())
    assert before == history
    again = repair(done.messages, **{**about, "request": done.request}, known=MemoryStore())
    assert again.messages is done.messages
    assert not again.changed
    assert () == again.report.rows
    return done


def told(done):
    return [(row.index, row.output, row.action, row.reason) for row in done.report.rows]


def ids_of(messages):
    return [
        [call["id"] for call in row["tool_calls"]] if "tool_calls" in row else row.get("tool_call_id", row["role"])
        for row in messages
    ]


# Calls and results ----------------------------------------------------------------------------------------------------


def test_a_history_that_is_well_is_the_very_same_list():
    history = own(
        [
            user(),
            calls("a", "b"),
            result("a"),
            result("b"),
            {"role": "assistant", "content": "x", "reasoning_content": "t"},
            user(),
        ],
        DEEPSEEK,
    )
    done = healed(history, DEEPSEEK)
    assert done.messages is history
    assert done.request is DEEPSEEK["request"]
    assert not done.changed


def test_a_reply_at_the_end_without_any_result_is_a_running_step():
    history = own([user(), calls("a", "b")], DEEPSEEK)
    assert healed(history, DEEPSEEK).messages is history


def test_a_call_without_a_result_in_the_middle_gets_one_that_says_so():
    history = own([user(), calls("a", "b"), result("b"), user()], DEEPSEEK)
    done = healed(history, DEEPSEEK)
    assert ["user", ["a", "b"], "b", "a", "user"] == ids_of(done.messages)
    assert "No result: the call was interrupted before it gave one." == done.messages[3]["content"]
    assert [(None, 3, "fill", "no_result")] == told(done)
    assert (0, 1, 2, None, 3) == done.places
    assert all(done.messages[at] is history[place] for at, place in enumerate(done.places) if place is not None)


def test_a_result_goes_to_its_call_and_the_words_that_stood_between_stay():
    history = own([user(), calls("a"), user("well?"), result("a")], DEEPSEEK)
    done = healed(history, DEEPSEEK)
    assert ["user", ["a"], "a", "user"] == ids_of(done.messages)
    assert [(3, 2, "guard", "out_of_place")] == told(done)


def test_results_without_a_call_go_and_of_two_for_one_call_the_first_stays():
    history = own([user(), result("z"), calls("a"), result("a", "first"), result("a", "second"), user()], DEEPSEEK)
    done = healed(history, DEEPSEEK)
    assert ["user", ["a"], "a", "user"] == ids_of(done.messages)
    assert "first" == done.messages[2]["content"]
    assert [(1, None, "drop", "no_call"), (4, None, "drop", "duplicate")] == told(done)


def test_ids_that_are_used_again_in_every_step_are_told_apart():
    history = own(
        [user(), calls("0"), result("0", "one"), calls("0"), user(), calls("0"), result("0", "three"), user()], DEEPSEEK
    )
    done = healed(history, DEEPSEEK)
    assert ["user", ["0"], "0", ["0"], "0", "user", ["0"], "0", "user"] == ids_of(done.messages)
    assert ["one", "No result: the call was interrupted before it gave one.", "three"] == [
        row["content"] for row in done.messages if row["role"] == "tool"
    ]


def test_a_call_whose_stream_was_broken_off_goes_and_what_was_said_stays():
    history = own([user(), calls("a", arguments='{"at": "Os', content="I look."), user()], DEEPSEEK)
    done = healed(history, DEEPSEEK)
    assert "I look." == done.messages[1]["content"]
    assert "tool_calls" not in done.messages[1]
    assert [(1, 1, "drop", "broken")] == told(done)


def test_a_call_that_stands_twice_in_one_message_stays_once():
    history = own([user(), calls("a", "a"), result("a"), user()], DEEPSEEK)
    done = healed(history, DEEPSEEK)
    assert ["user", ["a"], "a", "user"] == ids_of(done.messages)
    assert [(1, 1, "drop", "duplicate")] == told(done)


def test_blocks_of_calls_and_results_are_made_to_fit_in_claudes_form():
    history = own([
        user(), says({"type": "thinking", "thinking": "t", "signature": "S"}, use("a"), use("b")),
        says(text("wait"), used("b"), used("z"), role="user"), says(text()), user(),
    ], CLAUDE)  # fmt: skip
    done = healed(history, CLAUDE)
    assert [("tool_result", "a", True), ("text", None, None), ("tool_result", "b", None)] == [
        (block["type"], block.get("tool_use_id"), block.get("is_error")) for block in done.messages[2]["content"]
    ]
    assert [(2, 2, "fill", "no_result"), (2, 2, "drop", "no_call")] == told(done)
    assert done.messages[1] is history[1]


def test_a_result_further_behind_goes_to_its_call_in_claudes_form():
    history = [user(), says(use("a")), user("well?"), says(text()), says(used("a"), role="user"), says(text()), user()]
    done = healed(history, CLAUDE)
    assert [used("a"), text("well?")] == done.messages[2]["content"]
    assert [(4, None, "guard", "out_of_place"), (4, None, "drop", "emptied")] == told(done)


def test_converse_gets_results_and_turns_that_alternate():
    call = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
    said = [
        {"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [{"text": "y"}]},
        {"role": "assistant", "content": [{"text": " "}]}, {"role": "user", "content": [{"text": "z"}]},
    ]  # fmt: skip
    done = healed(said, CONVERSE)
    assert ["user", "assistant", "user"] == [row["role"] for row in done.messages]
    assert ["toolResult", "text", "text"] == [next(iter(block)) for block in done.messages[2]["content"]]
    assert {"no_result", "emptied", "joined"} == {row.reason for row in done.report.rows}


def test_geminis_calls_are_matched_by_name_where_they_have_no_ids():
    one, two = ({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "UzE="} for name in "fg")
    history = own([
        {"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [one, {"functionCall": two["functionCall"]}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": {}}}, {"text": "y"}]},
    ], GEMINI)  # fmt: skip
    done = healed(history, GEMINI)
    assert ["g", "f"] == [
        part["functionResponse"]["name"] for part in done.messages[2]["parts"] if "functionResponse" in part
    ]
    assert [(2, 2, "fill", "no_result")] == told(done)


def test_items_that_dangle_lose_their_names_or_go():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "3C"}
    alone = own([user(), call, answer, {**reasoning, "id": "rs_2"}, user()], OPENAI)
    done = healed(alone, OPENAI)
    assert [(1, 1, "drop", "pair"), (3, None, "drop", "pair")] == told(done)
    assert "id" not in done.messages[1]
    twice = own([user(), reasoning, call, call, answer, answer, user()], OPENAI)
    assert [None, "reasoning", "function_call", "function_call_output", None] == [
        row.get("type") for row in healed(twice, OPENAI).messages
    ]
    lost = healed(own([user(), reasoning, call, user()], OPENAI), OPENAI)
    assert "function_call_output" == lost.messages[3]["type"]


# Reasoning ------------------------------------------------------------------------------------------------------------


def test_what_others_wrote_goes_and_marks_and_turn_notes_stay():
    ours = own([user(), {"role": "assistant", "content": "x", "reasoning_content": "ours"}], DEEPSEEK)
    other = adopt(
        [{"role": "assistant", "content": "y", "reasoning_content": "CANARY-other"}],
        Origin("api.moonshot.ai", model="kimi-k3"),
    )
    history = [
        *ours,
        {**user(), "turn": False},
        *other,
        {"role": "assistant", "content": "z", "reasoning_content": "CANARY-nobody"},
    ]
    done = healed(history, DEEPSEEK)
    assert done.messages[1] is history[1]
    assert done.messages[2] is history[2]
    assert "CANARY" not in json.dumps(done.messages)
    assert [(3, "foreign"), (3, "missing"), (4, "unknown_origin"), (4, "missing")] == [
        (row.index, row.reason) for row in done.report.rows
    ]
    assert "CANARY" not in f"{done!r} {done.report} {done.report.to_dict()}"


def test_of_a_reply_whose_blocks_go_in_part_the_others_keep_their_marks():
    block = {"type": "thinking", "thinking": "t", "signature": "S"}
    history = own([user(), says(block, use("a")), says(used("a"), role="user")], CLAUDE)
    torn = [history[0], says(*history[1]["content"][:1], {"type": "thinking", "thinking": "u"}, use("a")), history[2]]
    done = healed(torn, CLAUDE)
    assert [history[1]["content"][0], use("a")] == done.messages[1]["content"]
    assert [(1, "unknown_origin")] == [(row.index, row.reason) for row in done.report.rows]


def test_a_run_that_is_half_there_goes_as_a_whole():
    one, two = ({"type": "thinking", "thinking": each, "signature": f"S{each}"} for each in "ab")
    history = own([user(), says(one, use("a")), says(used("a"), role="user")], CLAUDE)
    torn = [history[0], says(*history[1]["content"][:1], two, use("a")), history[2]]
    assert [use("a")] == healed(torn, CLAUDE).messages[1]["content"]


def test_a_block_that_stands_twice_stays_once():
    block = {"type": "thinking", "thinking": "t", "signature": "S"}
    history = own([user(), says(block, block, text()), user()], CLAUDE)
    done = healed(history, CLAUDE)
    assert ["thinking", "text"] == [each["type"] for each in done.messages[1]["content"]]
    assert [(1, 1, "drop", "duplicate")] == told(done)


def test_words_that_a_merge_has_repeated_become_one_again():
    """langchain-core joins strings of pieces with one `index`: one copy a delta."""
    detail = {
        "type": "reasoning.textreasoning.text",
        "format": "anthropic-claude-v1" * 3,
        "text": "t",
        "signature": "S",
        "index": 0,
    }
    history = own([user(), {"role": "assistant", "content": "x", "reasoning_details": [detail]}, user()], ROUTER)
    done = healed(history, ROUTER)
    (left,) = done.messages[1]["reasoning_details"]
    assert {**detail, "type": "reasoning.text", "format": "anthropic-claude-v1"} == left
    assert [(1, 1, "guard", "broken")] == told(done)


def test_pieces_that_were_never_joined_become_one_text():
    pieces = [{"type": "reasoning.text", "text": each, "index": 0} for each in "ab"] + [
        {"type": "reasoning.text", "signature": "S", "index": 0}
    ]
    history = own([user(), {"role": "assistant", "content": "x", "reasoning_details": pieces}, user()], ROUTER)
    (left,) = healed(history, ROUTER).messages[1]["reasoning_details"]
    assert ("ab", "S") == (left["text"], left["signature"])


def test_messages_that_say_nothing_go():
    history = [user(), {"role": "assistant", "content": ""}, {"role": "assistant", "content": None}, user()]
    done = healed(history, {**DEEPSEEK, "request": {"thinking": {"type": "disabled"}}})
    assert [history[0], history[3]] == done.messages
    empty = [user(), says(text(""), text("x")), says(role="user"), user()]
    assert [user(), says(text("x")), user()] == healed(empty, CLAUDE).messages


def test_the_request_is_healed_too():
    manual = {
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "max_tokens": 4096,
        "tool_choice": {"type": "any"},
    }
    history = [user()]
    done = healed(history, {**CLAUDE, "request": manual})
    assert done.messages is history
    assert "thinking" not in done.request
    assert [(None, "forced_tools")] == [(row.index, row.reason) for row in done.report.rows]


# LangChain ------------------------------------------------------------------------------------------------------------


def test_langchains_messages_are_healed_as_objects_of_their_classes():
    messages = pytest.importorskip("langchain_core.messages")
    call = {"name": "f", "args": {}, "id": "a"}
    bad = {"name": "f", "args": '{"x', "id": "b", "error": None, "type": "invalid_tool_call"}
    about = {**DEEPSEEK, "form": "langchain"}
    history = [
        messages.HumanMessage("x"),
        messages.AIMessage(
            "", tool_calls=[call], invalid_tool_calls=[bad], additional_kwargs={"reasoning_content": "CANARY-x"}
        ),
        messages.HumanMessage("y"),
        messages.ToolMessage("?", tool_call_id="z"),
        messages.AIMessage(""),
    ]
    before = deepcopy(history)
    done = repair(history, **about)
    assert before == history
    assert ["human", "ai", "tool", "human"] == [message.type for message in done.messages]
    assert ([], "a", "error") == (
        done.messages[1].invalid_tool_calls,
        done.messages[2].tool_call_id,
        done.messages[2].status,
    )
    assert done.messages[0] is history[0]
    assert "CANARY" not in repr(done.messages)
    again = repair(done.messages, **about)
    assert again.messages is done.messages
    dumps = messages.messages_to_dict(history)
    made = repair(dumps, **about).messages
    assert ["human", "ai", "tool", "human"] == [each["type"] for each in made]
    assert "a" == messages.messages_from_dict(made)[2].tool_call_id


# Any history, broken in any way ---------------------------------------------------------------------------------------


@st.composite
def broken(draw):
    """A history after somebody's script went over it: rows gone, twice, or in another order."""
    history = draw(st.one_of(chat_histories(), chat_histories(form="litellm"), claude_histories()))
    rows = list(history.messages)
    for _ in range(draw(st.integers(0, 3))):
        if not rows:
            break
        at = draw(st.integers(0, len(rows) - 1))
        how = draw(st.sampled_from(["gone", "twice", "moved"]))
        row = rows[at] if how == "twice" else rows.pop(at)
        if how != "gone":
            rows.insert(draw(st.integers(0, len(rows))), row)
    target = draw(st.sampled_from(targets_for(history)))
    return history, rows, target, draw(st.sampled_from(requests_of(target)))


@settings(max_examples=60)
@given(broken())
def test_whatever_was_broken_is_healed_once_and_for_all(case):
    history, rows, target, request = case
    before = json.dumps(rows, sort_keys=True, default=str)
    about = {**target.arguments, "form": history.form, "known": MemoryStore()}
    done = repair(rows, request=request, **about)
    assert isinstance(done, Repaired)
    assert before == json.dumps(rows, sort_keys=True, default=str)
    again = repair(done.messages, request=done.request, **about)
    assert again.messages is done.messages
    assert not again.changed
    plan = prepare(done.messages, request=done.request, **about)
    assert not [row for row in plan.report.rows if row.reason in ("foreign", "unknown_origin", "unsigned")]
    assert_fits(done.messages, joins=history.form == "anthropic")
    users = [json.dumps(row["content"]) for row in rows if row["role"] == "user" and isinstance(row["content"], str)]
    left = json.dumps(done.messages)
    assert all(json.loads(words) == "" or words[1:-1] in left for words in users)


def assert_fits(messages, *, joins):
    """No result without its call, and no call without its result but in the last step; users in a row are one where joined."""
    waiting, known = set(), set()
    for row in messages:
        blocks = row["content"] if isinstance(row.get("content"), list) else []
        answers = (
            {row["tool_call_id"]}
            if row["role"] == "tool"
            else {b["tool_use_id"] for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"}
        )
        assert answers <= known
        waiting -= answers
        over = row["role"] == "assistant" or (row["role"] == "user" and not answers and not joins)
        assert not (waiting and over), "a call in the middle has no result"
        made = [call["id"] for call in row.get("tool_calls") or ()] + [
            b["id"] for b in blocks if isinstance(b, dict) and b.get("type") == "tool_use"
        ]
        known.update(made)
        waiting.update(made)


@pytest.mark.parametrize("wrong", ["x", [1], {"role": "user"}])
def test_what_is_no_history_is_an_error(wrong):
    with pytest.raises(HistoryError):
        repair(wrong, **DEEPSEEK)


def test_ten_thousand_messages_are_read_a_bounded_number_of_times():
    """Counted, not timed: every row is asked for its results as often in a long history as in a short one."""
    from reasoning_replay.transcripts import _repair_calls

    def asked(size):
        count = 0
        kit = _repair_calls.KITS["chat"]

        def results(row):
            nonlocal count
            count += 1
            return kit.results(row)

        rows = [user(), *(row for at in range(size) for row in (calls(f"c{at}"), user()))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(_repair_calls.KITS, "chat", kit._replace(results=results))
            repair(rows, **DEEPSEEK)
        return count / len(rows)

    assert asked(2000) <= asked(20) * 1.5


def test_a_report_of_nothing_says_so_and_not_that_there_is_no_reasoning():
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning_content": "so"}]
    done = repair(history, host="llm.example", model="some-model", error=(429, "Rate limit reached"))
    assert done.messages is history
    assert str(done.report).splitlines()[-1] == "nothing to repair"
    assert "<p>nothing to repair</p>" in done.report._repr_html_()
