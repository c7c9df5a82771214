"""Errors that are huge, hostile or about something else: reading them raises nothing, stays linear and takes nothing away."""

import json
import re
import sys
import time
from itertools import chain

import pytest

from reasoning_replay import MemoryStore, MissingReasoning, Origin, adopt
from reasoning_replay.hosts import builtin
from reasoning_replay.transcripts import (
    _repair_error,
    _repair_named,
    _repair_places,
    _repair_smallest,
    _repair_words,
    repair,
)
from reasoning_replay.transcripts._repair_words import IN_ALL, PIECE, refusal_of
from repair_cases import SAID, TOOLS, URLS, asked, chat, claude, items, own, rows_of, user

SEALED = "messages.1.content.0: Invalid `signature` in `thinking` block"
CLAUDE = asked("anthropic", "anthropic", "claude-sonnet-4-5")
HISTORY = own(claude(), "anthropic", "anthropic", "claude-sonnet-4-5")
HEALED = [(1, "drop", "sealed")]
TEXTS = [
    *dict.fromkeys(row[4] if isinstance(row[4], str) else json.dumps(row[4]) for row in SAID),
    "Error code: 400", "Item with id 'rs_1' not found", "tools.0.strict: Extra inputs are not permitted", "Unrecognized request argument supplied: seed",
    "body.messages.1.assistant.reasoning_content\n  Extra inputs are not permitted [type=extra_forbidden]", "Unsupported parameter: 'seed'",
    "{'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}", "input[3].id, position 7", "signature: Field required",
]  # fmt: skip


# Expressions ----------------------------------------------------------------------------------------------------------


def module_patterns():
    """Every expression of the modules that read an error, wherever in their tables it stands."""

    def found(value):
        if isinstance(value, re.Pattern):
            yield value.pattern
        elif isinstance(value, tuple):
            for each in value:
                yield from found(each)

    for module in (_repair_error, _repair_named, _repair_words, _repair_smallest, _repair_places):
        for name, value in vars(module).items():
            if name.startswith("_") and not name.startswith("__"):
                yield from found(value)
    yield from (row[0] for table in (_repair_smallest._REFUSED, _repair_smallest._PARAMETERS) for row in table)


PATTERNS = sorted({*module_patterns(), *(one.match for file in builtin() for one in file.errors)})
RUNS = ['"loc": [', "A", "9", ".", "'", "[", " ", "a.", "a ", "\n "]


def hostile(pattern, size):
    """Texts of that size that begin to fit and never do: beginnings of what fits again and again, and long runs."""
    fits = [found[0] for text in TEXTS if (found := re.search(pattern, text))]
    beginnings = {whole[: len(whole) * part // 4] for whole in fits[:2] for part in (1, 2, 4)} - {""}
    for each in (*sorted(beginnings), *RUNS):
        yield each * (size // len(each))
        yield "x" + each * (size // len(each)) + "!"
    yield from (each + run * (size // len(run)) for each in sorted(beginnings) for run in RUNS)


def spent(pattern, text):
    """Seconds of this thread's own work, the best of three."""
    taken = []
    for _ in range(3):
        start = time.thread_time()
        for _found in pattern.finditer(text):
            pass
        taken.append(time.thread_time() - start)
        if taken[-1] < 0.002:
            break
    return min(taken)


def superlinear(expression, size):
    """The hostile texts on which four times as much takes more than eight times as long."""
    pattern = re.compile(expression)
    for short, long in zip(hostile(expression, size), hostile(expression, 4 * size), strict=True):
        taken = spent(pattern, long)
        if taken >= 0.002 and taken > 8 * spent(pattern, short) + 0.002:
            yield long[:60]


@pytest.mark.parametrize("expression", PATTERNS)
def test_every_expression_that_reads_an_error_is_linear(expression):
    assert [] == [*superlinear(expression, 4_000)]


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        (r"extra_forbidden[\s\S]*reasoning", 8_000),
        (r"Referenced reasoning item .* was not found or has expired", 16_000),
        (r"[\"']loc\\?[\"']: ?[\[(]([^\])]*)[\])]", 4_000),
        (r"([\w.\[\]]*[\w\]]): Extra inputs are not permitted", 500),
    ],
)
def test_what_was_quadratic_would_be_found(expression, size):
    assert next(superlinear(expression, size), None) is not None


# How much is read -----------------------------------------------------------------------------------------------------

LONG = 1_000_000


class Talkative(Exception):
    """An error that holds a text in every place."""

    def __init__(self, text):
        super().__init__(text)
        self.message, self.text, self.details, self.body = (
            text,
            text + "2",
            text + "3",
            {"error": {"message": text + "4"}},
        )


@pytest.mark.parametrize(
    "error",
    ["A" * LONG, ["B" * 9_000 + str(at) for at in range(200)], {"a": "C" * LONG}, b"D" * LONG, Talkative("E " * LONG)],
)
def test_of_an_error_of_any_size_so_much_is_read(error):
    said = refusal_of(error)
    assert all(len(piece) <= PIECE + 1 for piece in said.pieces)
    assert len(said.text) <= IN_ALL + len(said.pieces)


def test_the_front_and_the_end_of_a_text_are_read_and_what_is_between_them_is_not():
    rest = "x " * LONG
    for text, rows in (
        (f"{SEALED} {rest}", HEALED),
        (f"{rest} {SEALED}", HEALED),
        (f"{rest} {SEALED} {rest}", []),
        (json.dumps({"detail": [rest, {"message": SEALED}, rest]}), HEALED),
    ):
        assert rows == rows_of(repair(HISTORY, error=(400, text), **CLAUDE)), text[:30]


def test_the_first_and_the_last_of_many_texts_are_read():
    many = ["x " * 500 + str(at) for at in range(1_000)]
    for error in ([SEALED, *many], [*many, SEALED]):
        assert rows_of(repair(HISTORY, error=error, **CLAUDE)) == HEALED
    assert not repair(
        HISTORY,
        error={str(at): text for at, text in enumerate([*many, SEALED, *(f"y{each}" for each in many)])},
        **CLAUDE,
    ).changed


@pytest.mark.parametrize("part", ["messages.123", "Item with id 'rs_123456"])
def test_a_number_or_an_id_that_is_cut_through_is_no_place(part):
    for cut in range(1, len(part)):
        text = "x" * (PIECE // 2 - cut) + part + ".content.0' not found" + " y" * PIECE
        place = _repair_error.place_of(refusal_of(text).text)
        assert (None, ()) == (place.message, place.ids), cut


@pytest.mark.parametrize(
    ("host", "dialect", "model", "status", "text", "history", "request_", "expected"),
    [row for row in SAID if isinstance(row[4], str)][::4],
)
def test_a_megabyte_behind_a_hosts_words_changes_nothing_of_the_repair(
    host, dialect, model, status, text, history, request_, expected
):
    history, about = own(history, host, dialect, model), asked(host, dialect, model, request_)
    for more in (
        "A" * LONG,
        " extra_forbidden" * (LONG // 16),
        '"loc": [' * (LONG // 8),
        " Referenced reasoning item" * (LONG // 26),
    ):
        done = repair(history, error=(status, f"{text} \n{more}"), **about)
        assert sorted(expected, key=str) == sorted(rows_of(done), key=str), more[:20]


# A parameter is no history --------------------------------------------------------------------------------------------

REFUSALS = {
    "groq": ["property '{}' is unsupported"],
    "cerebras": ["property '{}' is unsupported"],
    "huggingface": ["property '{}' is unsupported"],
    "azure": ["Unrecognized request argument supplied: {}", "Unrecognized request argument supplied: {}\nfor the model", "{}: Extra inputs are not permitted", "Extra inputs are not permitted, field: '{}', value: 'reasoning_content'"],
    "sambanova": ["{}: Extra inputs are not permitted", "Extra inputs are not permitted, field: '{}'", "{}\n  Extra inputs are not permitted [type=extra_forbidden, input_value='reasoning_content']"],
    "fireworks": ["Extra inputs are not permitted, field: '{}', value: 'reasoning_content'"],
    "databricks": ["{}: Extra inputs are not permitted"],
    "openai": ["Unknown parameter: '{}'."],
}  # fmt: skip
PARAMETERS = [
    "reasoning_effort", "reasoning", "thinking", "reasoning_format", "reasoning.effort", "thinking.budget_tokens", "tools[0].reasoning_content",
    "tools.0.function.parameters.properties.reasoning_content", "response_format.json_schema.thinking", "messages[1].reasoning_effort",
    "messages.1.assistant.reasoning_effort", "messages[1].thinking_budget", "messages.1.content.0.thinking.cache_control", "metadata.reasoning_content", "seed",
]  # fmt: skip
OURS = [
    "messages.1.assistant.reasoning_content", "messages[1].reasoning_content", "messages[1].reasoning", "messages.1.thinking",
    "messages.1.reasoning_details.0.format", "reasoning_content", "body.messages.1.assistant.reasoning_content",
]  # fmt: skip
LOCS = [
    '{{"detail":[{{"type":"extra_forbidden","loc":{},"msg":"Extra inputs are not permitted","input":"reasoning_content"}}]}}',
    '{{"object":"error","message":"{{\\"detail\\": [{{\\"type\\": \\"extra_forbidden\\", \\"loc\\": {}, \\"msg\\": \\"Extra inputs are not permitted\\"}}]}} reasoning"}}',
    '[{{"loc": {}, "msg": "Extra inputs are not permitted", "type": "extra_forbidden", "input": "my reasoning"}}]',
]
MODELS = {"groq": "openai/gpt-oss-120b", "azure": "gpt-5", "mistral": "magistral-medium-latest"}
REQUEST = {**TOOLS, "reasoning_effort": "high", "thinking": {"type": "enabled"}}


def refused(host, text, status=400):
    model = MODELS.get(host, "m")
    history = own(chat(), host, "chat", model)
    return history, repair(history, error=(status, text), **asked(host, "chat", model, REQUEST))


@pytest.mark.parametrize(("host", "words"), [(host, each) for host, said in REFUSALS.items() for each in said])
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_is_refused_is_no_complaint_about_the_history(host, words, name):
    history, done = refused(host, words.format(name))
    assert done.messages is history
    assert (done.request is REQUEST, done.changed, done.means) == (True, False, None)


SAME = [
    (file.id, text)
    for file in builtin()
    for words in REFUSALS.get(file.id, ())
    for text in map(words.format, OURS)
    if any(re.search(one.match, text) for one in file.errors)
]


@pytest.mark.parametrize(("host", "text"), SAME)
def test_the_same_words_for_a_messages_key_are_one(host, text):
    _, done = refused(host, text)
    assert rows_of(done) == [(1, "drop", "refused"), (3, "drop", "refused")]


@pytest.mark.parametrize("words", LOCS)
@pytest.mark.parametrize(("host", "status"), [("mistral", 422), ("nvidia", 400), ("azure", 400)])
def test_a_location_says_which_of_the_two_it_is(host, status, words):
    def text(*loc):
        return words.format(json.dumps(loc).replace('"', '\\"') if '\\"loc' in words else json.dumps(loc))

    for loc in (["body", "reasoning_effort"], ["body", "thinking"], ["reasoning"], ["body", "tools", 0, "function", "reasoning_content"], ["body", "messages", 1, "name"]):  # fmt: skip
        history, done = refused(host, text(*loc), status)
        assert (done.messages is history, done.means) == (True, None), loc
    _, done = refused(host, text("body", "messages", 1, "assistant", "reasoning_content"), status)
    if host == "azure" or not words.startswith("[{{"):  # there a word of reasoning has to stand behind the type
        assert rows_of(done) == [(1, "drop", "refused"), (3, "drop", "refused")]


def test_a_name_that_stands_at_both_places_is_told_apart_by_the_message_before_it():
    words = "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property '{}' is unsupported)]"
    for name, changes in (("reasoning", True), ("thinking", False), ("reasoning_effort", False)):
        assert refused("groq", words.format(name))[1].changed is changes, name
    assert not refused("groq", "`reasoning_effort`: reasoning is not supported with this model")[1].changed


# Ids that are not here ------------------------------------------------------------------------------------------------

ABSENT = ["rs_other", "msg_other", "file_123", "vs_1", "resp_1", "fs_9", "a b", "x" * 600, "c1", "rs_"]
OPENAI = asked("openai", "responses", "gpt-5.4")


def cited():
    """A history in which ids of files stand too."""
    rows = items()
    note = {"type": "file_citation", "file_id": "file_123", "filename": "vs_1", "index": 0}
    rows[5]["content"] = [{"type": "output_text", "text": "resp_1", "annotations": [note]}]
    return own(rows, "openai", "responses", "gpt-5.4")


@pytest.mark.parametrize("identity", ABSENT)
@pytest.mark.parametrize(
    "words",
    [
        "Item with id '{}' not found.",
        "Item with id '{}' not found. Items are not persisted when `store` is set to false.",
        "Item with id '{}' not found. Item with id 'file_1' not found.",
    ],
)
def test_an_id_that_no_item_of_the_history_has_changes_nothing(words, identity):
    history = cited()
    done = repair(history, error=(404, words.format(identity)), **OPENAI)
    assert done.messages is history
    assert not done.changed
    assert () == done.report.rows


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("openai", "Item 'rs_9' of type 'reasoning' was provided without its required following item."),
        ("openai", "Item 'fc_9' of type 'function_call' was provided without its required 'reasoning' item: 'rs_9'."),
        ("openai", "The encrypted content for item rs_9 could not be verified."),
        ("openrouter", "Referenced reasoning item rs_9 was not found or has expired"),
        ("openrouter", "Referenced reasoning item thought-9 was not found or has expired"),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_words_about_one_item_take_nothing_of_another(host, text, alone):
    rows = [each for each in items() if not alone or each.get("type") != "reasoning"]
    history = own(rows, host, "responses", "gpt-5.4")
    done = repair(history, error=(400, text), **asked(host, "responses", "gpt-5.4"))
    assert done.messages is history


def test_an_item_is_known_by_its_id_whatever_that_begins_with():
    history = own(items(id="thought-7"), "openai", "responses", "gpt-5.4")
    done = repair(history, error=(404, "Item with id 'thought-7' not found."), **OPENAI)
    assert rows_of(done) == [(1, "drop", "lost"), (2, "drop", "lost")]


def test_of_several_ids_those_that_are_here_are_taken():
    text = "Item with id 'rs_other' not found. Item with id 'msg_1' not found. Item with id 'file_123' not found."
    assert rows_of(repair(cited(), error=(404, text), **OPENAI)) == [(5, "drop", "lost")]


# Exceptions of anybody's class ----------------------------------------------------------------------------------------


class Odd(Exception):
    """Raises wherever it is told to, and says what Claude's API says."""

    def __init__(self, raises=None, at=(), **said):
        super().__init__(said.pop("own", SEALED))
        self.__dict__.update(said, _raises=raises, _at=at)

    def __getattribute__(self, name):
        if name in object.__getattribute__(self, "__dict__").get("_at", ()):
            raise self._raises
        return super().__getattribute__(name)

    def __str__(self):
        if "__str__" in self._at:
            raise self._raises
        return super().__str__()


class Worse(Exception):
    """Cannot even be shown."""

    def __str__(self):
        raise KeyError("no text")

    __repr__ = __str__


RAISED = [RuntimeError("no"), TypeError("x"), OSError("closed"), KeyError("k"), RecursionError(), MemoryError(), Worse(), AssertionError(), StopIteration(), MissingReasoning(1, "h"), ValueError("v")]  # fmt: skip
PLACES = ["body", "response", "status_code", "message", "code", "text", "details", "__cause__", "__class__"]


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: type(raised).__name__)
def test_what_an_error_raises_when_it_is_read_is_nobodys_business(raised):
    for at in ((place,) for place in PLACES):
        assert rows_of(repair(HISTORY, error=Odd(raised, at), **CLAUDE)) == HEALED, at
    assert rows_of(repair(HISTORY, error=Odd(raised, ("__str__", "body"), message=SEALED), **CLAUDE)) == HEALED
    assert rows_of(repair(HISTORY, error=Odd(raised, ("__str__",), body={"message": SEALED}), **CLAUDE)) == HEALED
    everywhere = repair(HISTORY, error=Odd(raised, ("__str__", *PLACES)), **CLAUDE)
    assert everywhere.messages is HISTORY


def test_an_interruption_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        repair(HISTORY, error=Odd(KeyboardInterrupt(), ("body",)), **CLAUDE)


def circular():
    body = {"message": SEALED}
    body["self"] = body
    return body


BODIES = [
    {"message": SEALED, (1, 2): "x"}, circular(), {"message": SEALED, "more": object()}, {"message": SEALED, "more": Worse()}, [SEALED, {1, 2}],
    SEALED.encode(), bytearray(SEALED.encode()), b"\xff\xfe " + SEALED.encode(), "\ud800 " + SEALED, '{"error":' * 3_000 + SEALED, "[" * 100_000 + " " + SEALED,
    f'{{"n": {"9" * 5_000}, "m": "{SEALED}"}}', f"{SEALED} messages.{'9' * 5_000}.content.0", (400, ValueError(SEALED)), (400, SEALED.encode()), (SEALED, 400), ("400", SEALED),
    (None, SEALED), (400.0, SEALED), (object(), {"message": SEALED}),
]  # fmt: skip


@pytest.mark.parametrize("error", BODIES, ids=range(len(BODIES)))
def test_a_body_of_any_make_is_read(error):
    assert rows_of(repair(HISTORY, error=error, **CLAUDE)) == HEALED
    if not isinstance(error, tuple):
        assert rows_of(repair(HISTORY, error=Odd(own="failed", body=error), **CLAUDE)) == HEALED


ODD = [(400, True), ("400", True), (" 400 ", True), ("²", True), ("", True), (10**400, True), (None, True), (400.0, True), (-1, True), ([], True), (429, False), ("500", False)]  # fmt: skip


@pytest.mark.parametrize(("status", "changes"), ODD, ids=range(len(ODD)))
def test_an_odd_status_is_none_at_all(status, changes):
    assert repair(HISTORY, error=Odd(status_code=status), **CLAUDE).changed is changes


def test_a_number_that_no_message_can_have_is_no_place():
    for text in (f"messages.{'9' * 5_000}.content.0", f"messages[{'1' * 12}]", "messages.1.content." + "9" * 40):
        assert _repair_error.place_of(text).block is None
        assert _repair_error.place_of(text).message in (None, 1)


# Many rows, many ids --------------------------------------------------------------------------------------------------


def steps(do):
    """Lines of Python that a call runs."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def one_run(size):
    """A question and one reply of as many items."""
    pairs = (
        (
            {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": f"gAAA{at}=="},
            {
                "type": "message",
                "role": "assistant",
                "id": f"msg_{at}",
                "content": [{"type": "output_text", "text": "a"}],
            },
        )
        for at in range(size // 2)
    )
    return own([user(), *chain(*pairs)], "openai", "responses", "gpt-5.4")


def one_message(size):
    """The same in one message of LangChain's."""
    messages = pytest.importorskip("langchain_core.messages")
    blocks = [
        each
        for row in one_run(size)[1:]
        for each in ([row] if row["type"] == "reasoning" else [{"type": "text", "text": "a", "id": row["id"]}])
    ]
    origin = Origin(URLS["openai"], dialect="responses", model="gpt-5.4")
    return adopt([messages.HumanMessage("x"), messages.AIMessage(blocks)], origin, form="langchain")


def named(size):
    return "".join(f" Item with id 'rs_{at}' not found." for at in range(size))


WORDS = {
    "sealed": lambda size: "invalid_encrypted_content",
    "lost": named,
    "no partner": lambda size: f"Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.{named(size)}",
    "nothing behind": lambda size: f"Item 'rs_1' of type 'reasoning' was provided without its required following item.{named(size)}",
}  # fmt: skip


@pytest.mark.parametrize("make", [one_run, one_message])
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_four_times_the_rows_and_ids_are_four_times_the_work(make, words):
    form = {"form": "langchain"} if make is one_message else {}

    def work(size):
        history, text = make(size), words(size)
        return steps(lambda: repair(history, error=(400, text), **{**OPENAI, **form, "known": MemoryStore()}))

    work(10)  # what is made once
    assert work(320) < 6 * work(80)


def test_a_block_of_any_number_is_looked_for_once():
    def work(number):
        error = (400, f"messages.1.content.{number}: Invalid `signature` in `thinking` block")
        return steps(lambda: repair(HISTORY, error=error, **CLAUDE))

    work(7)
    assert work(900_000) < 2 * work(7)
