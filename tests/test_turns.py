"""Turns and windows: which messages are in the running turn, in both forms."""

from __future__ import annotations

import pytest

from reasoning_replay import Origin, Policy, capture, prepare

HERE = Origin("somewhere.example", model="m")
CLAUDE = Origin("somewhere.example", dialect="anthropic", model="m")


def user(text="go", **more):
    return {"role": "user", "content": text, **more}


def chat_step(name, thought="think"):
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return capture(
        {"role": "assistant", "content": "", "reasoning_content": f"{thought} {name}", "tool_calls": [call]}, HERE
    )


def chat_result(name):
    return {"role": "tool", "tool_call_id": name, "content": "done"}


def claude_step(name):
    block = {"type": "thinking", "thinking": f"think {name}", "signature": f"sig {name}"}
    call = {"type": "tool_use", "id": name, "name": "f", "input": {}}
    return capture({"role": "assistant", "content": [block, call]}, CLAUDE)


def claude_result(name):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "done"}]}


FORMS = {"chat": (chat_step, chat_result), "anthropic": (claude_step, claude_result)}


def kept(messages, form, **options):
    """Names of the steps whose reasoning is planned to go."""
    plan = prepare(messages, host="somewhere.example", model="m", dialect=form, **options)
    assert '"turn"' not in repr(plan.messages).replace("'", '"')
    return [row.index for row in plan.report.rows if row.action == "keep"]


@pytest.fixture(params=list(FORMS))
def form(request):
    return request.param


@pytest.fixture
def step(form):
    return FORMS[form][0]


@pytest.fixture
def result(form):
    return FORMS[form][1]


def test_a_turn_of_several_steps_keeps_all(form, step, result):
    assert kept([user(), step("a"), result("a"), step("b"), result("b")], form) == [1, 3]


def test_a_new_user_message_drops_the_earlier_turns(form, step, result):
    history = [user(), step("a"), result("a"), step("b"), result("b"), user("next"), step("c"), result("c")]
    assert kept(history, form) == [6]


def test_an_unanswered_last_user_message_drops_every_earlier_one(form, step, result):
    assert kept([user(), step("a"), result("a"), user("next")], form) == []


def test_a_note_that_starts_no_turn_keeps_the_steps_before_it(form, step, result):
    history = [user(), step("a"), result("a"), user("a job ended", turn=False), step("b"), result("b")]
    assert kept(history, form) == [1, 4]


def test_a_machine_message_that_starts_a_turn_drops_them(form, step, result):
    history = [user(), step("a"), {**result("a"), "turn": True}, step("b"), result("b")]
    assert kept(history, form) == [3]


def test_a_function_of_the_caller_says_what_starts_a_turn_and_an_explicit_note_beats_it(form, step, result):
    policy = Policy(starts_turn=lambda message: False if message.get("content") == "note" else None)
    history = [user(), step("a"), result("a"), user("note"), step("b"), result("b")]
    assert kept(history, form, policy=policy) == [1, 4]
    history[3] = user("note", turn=True)
    assert kept(history, form, policy=policy) == [4]


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def test_a_picture_right_after_a_tool_result_starts_no_turn():
    history = [user(), chat_step("a"), chat_result("a"), user([PICTURE]), chat_step("b"), chat_result("b")]
    assert kept(history, "chat") == [1, 4]


def test_pictures_count_through_a_run_of_pictures_and_notes():
    run = [user([PICTURE]), user("note", turn=False), user([PICTURE])]
    history = [user(), chat_step("a"), chat_result("a"), *run, chat_step("b"), chat_result("b")]
    assert kept(history, "chat") == [1, 6]


def test_a_picture_with_text_or_after_an_answer_starts_a_turn():
    shown = [{"type": "text", "text": "look"}, PICTURE]
    history = [user(), chat_step("a"), chat_result("a"), user(shown), chat_step("b"), chat_result("b")]
    assert kept(history, "chat") == [4]
    answer = capture({"role": "assistant", "content": "done", "reasoning_content": "so"}, HERE)
    history = [user(), chat_step("a"), chat_result("a"), answer, user([PICTURE]), chat_step("b"), chat_result("b")]
    assert kept(history, "chat") == [5]


def test_a_user_message_with_a_tool_result_and_text_starts_no_turn_in_the_anthropic_form():
    result = claude_result("a")
    result["content"].append({"type": "text", "text": "and hurry"})
    assert kept([user(), claude_step("a"), result, claude_step("b"), claude_result("b")], "anthropic") == [1, 3]


def test_a_system_message_inside_a_turn_changes_nothing():
    note = {"role": "system", "content": "be brief"}
    history = [user(), chat_step("a"), chat_result("a"), note, chat_step("b"), chat_result("b")]
    assert kept(history, "chat") == [1, 4]


def test_a_turn_note_never_reaches_the_plan_even_where_no_reasoning_is(form):
    messages = [user("a", turn=True), user("b", turn=False)]
    plan = prepare(messages, host="somewhere.example", dialect=form)
    assert plan.messages == [user("a"), user("b")]
    assert messages[0]["turn"] is True


@pytest.mark.parametrize(
    ("window", "rows"), [("none", []), ("current_turn", [5]), ("last_assistant", [3, 5]), ("all", [1, 3, 5])]
)
def test_the_policy_names_another_window(window, rows):
    history = [
        user(), chat_step("a"), chat_result("a"), chat_step("b"), user(), chat_step("c"), chat_result("c"),
    ]  # fmt: skip
    assert kept(history, "chat", policy=Policy(window=window)) == rows


def test_inside_a_turn_the_last_assistant_window_never_takes_back_a_step():
    history = [user(), chat_step("a"), chat_result("a"), user(), chat_step("b"), chat_result("b"), chat_step("c")]
    assert kept(history[:5], "chat", policy=Policy(window="last_assistant")) == [1, 4]
    assert kept(history, "chat", policy=Policy(window="last_assistant")) == [1, 4, 6]
