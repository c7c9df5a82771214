"""Rows of a stored history: a reply saved twice, a reply with some of its results, a head that was cut off."""

import copy
import json
import random

import pytest

from reasoning_replay import MemoryStore, Origin, adopt
from reasoning_replay.testing import Reply, StrictHost, Text
from reasoning_replay.transcripts import repair
from talks import CASES, RESULTS, Talk, named

DEEPSEEK = {"host": "https://api.deepseek.com", "model": "deepseek-v4-pro"}
GROQ = {"host": "https://api.groq.com/openai/v1", "model": "openai/gpt-oss-120b"}
CLAUDE = {"host": "https://api.anthropic.com", "dialect": "anthropic", "model": "claude-sonnet-4-5"}
OPENAI = {"host": "https://api.openai.com/v1", "dialect": "responses", "model": "gpt-5.4"}
GEMINI = {"host": "https://generativelanguage.googleapis.com", "dialect": "gemini", "model": "gemini-3-pro"}
CONVERSE = {
    "host": "https://bedrock-runtime.us-east-1.amazonaws.com", "dialect": "bedrock", "model": "anthropic.claude-sonnet-4-5"
}  # fmt: skip
NO_RESULT = "No result: the call was interrupted before it gave one."
NO_START = "The messages before this one are missing."


def own(history, about):
    return adopt(history, Origin(about["host"], dialect=about.get("dialect", "chat"), model=about["model"]))


def healed(history, about):
    """The healed history; it was not changed where it stood, and to heal it again changes nothing."""
    before = copy.deepcopy(history)
    done = repair(history, **about, known=MemoryStore())
    assert before == history
    again = repair(done.messages, **about, known=MemoryStore())
    assert again.messages is done.messages
    assert () == again.report.rows
    return done


def told(done):
    return [(row.index, row.output, row.action, row.reason) for row in done.report.rows]


# What each form says, by hand -----------------------------------------------------------------------------------------


def chat(*ids):
    calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    said = {"role": "assistant", "content": "", "reasoning_content": "t", "tool_calls": calls}
    return [{"role": "user", "content": "x"}, said], [
        {"role": "tool", "tool_call_id": each, "content": f"of {each}"} for each in ids
    ]


def responses(*ids):
    calls = [{"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"} for each in ids]
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    return [{"role": "user", "content": "x"}, thought, *calls], [
        {"type": "function_call_output", "call_id": each, "output": f"of {each}"} for each in ids
    ]


def claude(*ids):
    block = {"type": "thinking", "thinking": "t", "signature": "S"}
    calls = [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in ids]
    return [{"role": "user", "content": "x"}, {"role": "assistant", "content": [block, *calls]}], [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": each, "content": f"of {each}"}]}
        for each in ids
    ]


def converse(*ids):
    block = {"reasoningContent": {"reasoningText": {"text": "t", "signature": "S"}}}
    calls = [{"toolUse": {"toolUseId": each, "name": "f", "input": {}}} for each in ids]
    return [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [block, *calls]}], [
        {"role": "user", "content": [{"toolResult": {"toolUseId": each, "content": [{"text": f"of {each}"}]}}]}
        for each in ids
    ]


def gemini(*ids):
    calls = [{"functionCall": {"id": each, "name": "f", "args": {}}} for each in ids]
    calls[0]["thoughtSignature"] = "UzE="
    return [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": calls}], [
        {"role": "user", "parts": [{"functionResponse": {"id": each, "name": "f", "response": {"said": f"of {each}"}}}]}
        for each in ids
    ]


FORMS = {"chat": (chat, DEEPSEEK), "responses": (responses, OPENAI), "anthropic": (claude, CLAUDE),
         "bedrock": (converse, CONVERSE), "gemini": (gemini, GEMINI)}  # fmt: skip


@pytest.fixture(params=FORMS)
def talk(request):
    make, about = FORMS[request.param]

    def made(*ids):
        said, results = make(*ids)
        return own(said, about), results

    return made, about


# Some of the results --------------------------------------------------------------------------------------------------


def test_beside_the_result_of_one_call_the_other_gets_one_at_the_end_too(talk):
    make, about = talk
    said, (one, _) = make("a", "b")
    done = healed([*said, one], about)
    words = json.dumps(done.messages)
    assert {"a", "b"} == set(named(done.messages, RESULTS))
    assert 1 == words.count(NO_RESULT)
    assert 1 == words.count("of a")
    assert ["no_result"] == [row.reason for row in done.report.rows]


def test_without_any_result_the_step_runs_and_nothing_is_done(talk):
    make, about = talk
    said, _ = make("a", "b")
    assert healed(said, about).messages is said
    other = make("z")[1]
    assert said == healed([*said, *other], about).messages  # a result of another call is none of its own


def test_a_result_that_comes_after_all_takes_the_place_of_the_one_that_was_put_in(talk):
    make, about = talk
    said, (one, late) = make("a", "b")
    before = healed([*said, one], about).messages
    done = healed([*before, late], about)
    words = json.dumps(done.messages)
    assert NO_RESULT not in words
    assert (1, 1) == (words.count("of a"), words.count("of b"))
    assert {"duplicate"} <= {row.reason for row in done.report.rows}


def test_what_a_reply_has_gone_on_from_stays_when_a_result_comes_later():
    said, (one, late) = chat("a", "b")
    before = healed(own([*said, one], DEEPSEEK), DEEPSEEK).messages
    on = own([{"role": "assistant", "content": "b failed", "reasoning_content": "t"}], DEEPSEEK)
    done = healed([*before, *on, late], DEEPSEEK)
    assert [*before, *on] == done.messages
    assert [(5, None, "drop", "duplicate")] == told(done)


def test_langchains_messages_get_the_other_result_at_the_end():
    messages = pytest.importorskip("langchain_core.messages")
    calls = [{"name": "f", "args": {}, "id": each} for each in "ab"]
    history = [messages.HumanMessage("x"), messages.AIMessage("", tool_calls=calls), messages.ToolMessage("of b", tool_call_id="b")]  # fmt: skip
    done = repair(history, **DEEPSEEK, form="langchain")
    assert ["b", "a"] == [each.tool_call_id for each in done.messages[2:]]
    late = [*done.messages, messages.ToolMessage("of a", tool_call_id="a")]
    assert ["of b", "of a"] == [each.content for each in repair(late, **DEEPSEEK, form="langchain").messages[2:]]


# Twice ----------------------------------------------------------------------------------------------------------------


def test_a_reply_that_was_saved_twice_is_there_once(talk):
    make, about = talk
    said, results = make("a", "b")
    whole = [*said, *results]
    assert [*said, *results] == healed(whole, about).messages or about is CONVERSE
    twice = [*said[:2], *copy.deepcopy(said[1:2]), *said[2:], *results]
    done = healed(twice, about)
    assert healed(whole, about).messages == done.messages
    assert (2, None, "drop", "duplicate") in told(done)


def test_the_same_words_said_twice_stay_where_the_host_takes_them():
    again = {"role": "assistant", "content": "yes", "reasoning_content": "t"}
    history = own([{"role": "user", "content": "x"}, again, copy.deepcopy(again)], DEEPSEEK)
    assert healed(history, DEEPSEEK).messages is history


def test_in_converse_no_words_are_doubled():
    ask, yes = {"role": "user", "content": [{"text": "x"}]}, {"role": "assistant", "content": [{"text": "yes"}]}
    assert [ask, yes, ask] == healed([ask, yes, copy.deepcopy(yes), ask], CONVERSE).messages


@pytest.mark.parametrize("about", [CLAUDE, CONVERSE], ids=["anthropic", "bedrock"])
def test_of_two_copies_that_differ_the_calls_and_blocks_of_the_first_stay(about):
    make = FORMS[about["dialect"]][0]
    said, results = make("a")
    said = own(said, about)
    other = {
        **said[1],
        "content": [*said[1]["content"], {"text": "so"} if about is CONVERSE else {"type": "text", "text": "so"}],
    }
    done = healed([*said, other, *results], about)
    words = json.dumps(done.messages)
    assert NO_RESULT not in words
    assert (1, 1) == (words.count('oolUseId": "a"') // 2 or words.count('"tool_use"'), words.count("of a"))
    assert 1 == words.count('"so"')
    if about is CONVERSE:
        assert 1 == words.count("reasoningText")


def test_two_replies_with_one_id_are_two_where_messages_are_not_joined():
    said, results = chat("0")
    other = {**said[1], "content": "again"}
    done = healed(own([*said, other, *results], DEEPSEEK), DEEPSEEK)
    assert ["0", "0"] == [call["id"] for row in done.messages for call in row.get("tool_calls", ())]
    assert [NO_RESULT, "of 0"] == [row["content"] for row in done.messages if row["role"] == "tool"]


def test_calls_without_ids_are_no_copies_of_each_other():
    call = {"functionCall": {"name": "f", "args": {}}}
    answer = {"functionResponse": {"name": "f", "response": {"said": "3C"}}}
    history = own([
        {"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{**call, "thoughtSignature": "UzE="}, call]},
        {"role": "user", "parts": [answer, answer]},
    ], GEMINI)  # fmt: skip
    assert healed(history, GEMINI).messages is history


# A head that is gone --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bedrock", "gemini"])
def test_in_front_of_a_reply_that_nobody_asked_for_stands_a_line_that_says_so(kind):
    make, about = FORMS[kind]
    said, results = make("a")
    said = own(said, about)
    _, strays = make("z")
    done = healed([*strays, *said[1:], *results], about)
    first, *rest = done.messages
    assert {"role": "user", "content" if kind == "bedrock" else "parts": [{"text": NO_START}]} == first
    assert [*said[1:], *results] == rest
    assert rest[0] is said[1]
    assert (None, 0, "fill", "no_start") in told(done)
    first.clear()  # the caller's own
    assert [{"text": NO_START}] in healed([*strays, *said[1:], *results], about).messages[0].values()


def test_geminis_first_call_may_stand_behind_words_of_the_model():
    said, results = gemini("a")
    words = {"role": "model", "parts": [{"text": "I look."}]}
    history = own([words, said[1], *results], GEMINI)
    assert history == healed(history, GEMINI).messages[1:]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("gemini", [{"role": "model", "parts": [{"text": "hello"}]}, {"role": "user", "parts": [{"text": "x"}]}]),
        ("anthropic", [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "x"}]),
        ("chat", [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "x"}]),
    ],
)
def test_a_first_reply_stays_first_where_the_host_takes_it(kind, rows):
    about = GROQ if kind == "chat" else FORMS[kind][1]
    assert healed(rows, about).messages is rows


def test_no_line_stands_before_nothing():
    gone = [{"role": "user", "content": [{"toolResult": {"toolUseId": "z", "content": [{"text": "3C"}]}}]}]
    assert [] == healed(gone, CONVERSE).messages
    ask = {"role": "user", "content": [{"text": "x"}]}
    assert [ask] == healed([*gone, {"role": "assistant", "content": [{"text": " "}]}, ask], CONVERSE).messages


@pytest.mark.parametrize("objects", [True, False])
def test_langchains_line_is_a_humans_behind_the_systems(objects):
    messages = pytest.importorskip("langchain_core.messages")
    history = [messages.SystemMessage("s"), messages.AIMessage("hello"), messages.HumanMessage("x")]
    given = history if objects else messages.messages_to_dict(history)
    done = repair(given, **CONVERSE, form="langchain").messages
    left = done if objects else messages.messages_from_dict(done)
    assert ["s", NO_START, "hello", "x"] == [each.content for each in left]
    assert ["system", "human", "ai", "human"] == [each.type for each in left]
    assert given is repair(given, **GROQ, form="langchain").messages


# At strict hosts ------------------------------------------------------------------------------------------------------


def broken_by(draw, rows):
    """What a script did: a row lost, the end cut, the head cut at a row of the user's side, or a row saved twice."""
    rows, how = list(rows), draw.randrange(4)
    if how == 0 and len(rows) > 2:
        del rows[draw.randrange(1, len(rows))]
    elif how == 1:
        rows = rows[: draw.randrange(1, len(rows) + 1)]
    elif how == 2:
        users = [at for at, row in enumerate(rows) if row.get("role") == "user" and at > 0]
        del rows[: draw.choice(users) if users else 0]
    else:
        at = draw.randrange(len(rows))
        rows.insert(at, copy.deepcopy(rows[at]))
    return rows


def is_healed(case, host, seed):
    draw = random.Random(seed)
    told_first = Talk(case, host, draw)
    rows = broken_by(draw, told_first.tell(draw.choice([0, 1, 2, 3])))
    last = rows[-1]
    told_first.history = rows
    if last.get("role") in ("assistant", "model", "system") or last.get("type") in (
        "function_call",
        "reasoning",
        "message",
    ):
        told_first.user("and?")
    done = repair(rows, **told_first.call)
    again = repair(done.messages, **{**told_first.call, "request": done.request})
    assert again.messages is done.messages, (case.name, seed, told(again))
    told_first.next = Reply((Text("ok"),))
    left, said = done.messages, []
    for _ in range(3):
        status, answer, _plan = told_first.sent(left)
        if status == 200 or not left:
            return
        said.append(json.dumps(answer)[:200])
        left = repair(left, error=(status, json.dumps(answer)), **told_first.call).messages
    raise AssertionError(f"{case.name}, seed {seed}: {said}")


@pytest.fixture(scope="module")
def hosts():
    """A host a kind, started once."""
    with_kind = {}
    yield lambda kind: with_kind.get(kind) or with_kind.setdefault(kind, StrictHost(kind))
    for host in with_kind.values():
        host.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_was_lost_or_doubled_the_host_takes_what_is_healed(case, hosts):
    for seed in range(6):
        is_healed(case, hosts(case.kind), seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_of_much_was_lost_or_doubled_the_host_takes_what_is_healed(case, hosts):
    for seed in range(100, 200):
        is_healed(case, hosts(case.kind), seed)
