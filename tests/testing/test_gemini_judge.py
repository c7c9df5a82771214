"""Every refusal of the Gemini host: the contents that it takes, those that it refuses, and the exact words."""

import base64
import copy
import json

import pytest

from reasoning_replay.testing import Reply, Text, call, foreign_bytes, moved_prefixes, think
from wire_client import ask, events, loop, message_of, results_of

USER = {"role": "user", "content": "q"}
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and "
    "missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:get_weather` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details."
)
FOREIGN = "Corrupted thought signature."
SKIP = "skip_thought_signature_validator"
OTHER = "context_engineering_is_the_way_to_go"
PARALLEL = (think(), call(city="Oslo"), call("get_time", zone="UTC"), call(city="Rome"))


def one_step(host, *parts, **more):
    """A history with one step of these parts, and the results of its calls."""
    host.script = [Reply(tuple(parts) or (think(), call()))]
    message = message_of(host, ask(host, [USER], **more))
    return [USER, message, *results_of(host, message)]


def changed(history, place, row=1, **fields):
    """A copy of a history in which one part is another."""
    other = copy.deepcopy(history)
    part = other[row]["parts"][place]
    for key, value in fields.items():
        if value is ...:
            del part[key]
        else:
            part[key] = value
    return other


def refusal(host, history, **more):
    response = ask(host, history, **more)
    assert 400 == response.status_code
    assert {"code": 400, "message": host.refusals[-1], "status": "INVALID_ARGUMENT"} == response.json()["error"]
    return host.refusals[-1]


@pytest.fixture
def gemini(strict_hosts):
    return strict_hosts("gemini")


# Where the signature is -----------------------------------------------------------------------------------------------


def test_the_first_call_of_a_step_is_signed_and_its_siblings_are_not(gemini):
    parts = one_step(gemini, *PARALLEL)[1]["parts"]

    assert [["text", "thought"], ["functionCall", "thoughtSignature"], ["functionCall"], ["functionCall"]] == [
        list(part) for part in parts
    ]


def test_an_answer_is_signed_in_its_last_text_and_in_a_stream_in_an_empty_one_behind_it(gemini):
    whole = one_step(gemini, think(), Text("It is 3C."))[1]["parts"]
    gemini.script = None
    gemini.reset(script=[Reply((think(), Text("It is 3C.")))])
    streamed = [event["candidates"][0] for event in events(ask(gemini, [USER], stream=True).text)]
    parts = [part for row in streamed for part in row["content"]["parts"]]

    assert [["text", "thought"], ["text", "thoughtSignature"]] == [list(part) for part in whole]
    assert "It is 3C." == "".join(part["text"] for part in parts if "thought" not in part)
    assert [["text", "thoughtSignature"]] == [list(part) for part in parts if "thoughtSignature" in part]
    assert "" == parts[-1]["text"]
    assert [None] * (len(streamed) - 1) + ["STOP"] == [row.get("finishReason") for row in streamed]


def test_a_call_comes_whole_in_a_stream_with_its_signature(gemini):
    gemini.script = [Reply(PARALLEL)]
    parts = [
        e["candidates"][0]["content"]["parts"][0] for e in events(ask(gemini, [USER], stream=True, tools=None).text)
    ]

    assert [True, False, False] == ["thoughtSignature" in part for part in parts if "functionCall" in part]
    assert {"text": ""} == parts[-1]


def test_an_older_model_signs_the_first_part_whatever_it_is_and_checks_nothing(gemini):
    older = "gemini-2.5-flash"
    history = one_step(gemini, think(), call(), model=older)

    assert [["text", "thought", "thoughtSignature"], ["functionCall"]] == [list(part) for part in history[1]["parts"]]
    assert 200 == ask(gemini, changed(history, 0, thoughtSignature=...), model=older).status_code
    assert 200 == ask(gemini, changed(history, 0, thoughtSignature="bWFkZSB1cA=="), model=older).status_code
    assert MISSING.format(2) == refusal(gemini, changed(history, 0, thoughtSignature=...))


def test_thoughts_are_shown_only_to_who_asks_and_signatures_come_all_the_same(gemini):
    silent = one_step(gemini, generationConfig={})[1]["parts"]
    underscores = one_step(gemini, generationConfig={"thinking_config": {"include_thoughts": True}})[1]["parts"]

    assert [["functionCall", "thoughtSignature"]] == [list(part) for part in silent]
    assert [["text", "thought"], ["functionCall", "thoughtSignature"]] == [list(part) for part in underscores]


def test_a_signature_is_bytes_that_are_no_text_and_that_the_two_alphabets_write_apart(gemini):
    signature = one_step(gemini)[1]["parts"][1]["thoughtSignature"]

    with pytest.raises(UnicodeDecodeError):
        base64.b64decode(signature).decode()
    assert signature != base64.urlsafe_b64encode(base64.b64decode(signature)).decode()


# What is taken --------------------------------------------------------------------------------------------------------


def test_its_own_reply_is_taken_back_in_either_alphabet_padded_or_not_and_with_underscores(gemini):
    history = one_step(gemini, *PARALLEL)
    signature = history[1]["parts"][1]["thoughtSignature"]
    urlsafe = base64.urlsafe_b64encode(base64.b64decode(signature)).decode()

    for form in (signature, urlsafe, urlsafe.rstrip("=")):
        assert 200 == ask(gemini, changed(history, 1, thoughtSignature=form)).status_code
        assert [] == gemini.lost()
    renamed = changed(history, 1, thoughtSignature=..., thought_signature=signature)
    assert 200 == ask(gemini, renamed).status_code


def test_a_client_may_leave_out_the_ids_and_the_thoughts(gemini):
    history = one_step(gemini)
    del history[1]["parts"][0]
    del history[1]["parts"][0]["functionCall"]["id"]
    del history[2]["parts"][0]["functionResponse"]["id"]

    assert 200 == ask(gemini, history).status_code
    assert [] == gemini.lost(), "a summary need not come back"


def test_turns_that_are_over_need_no_signature_and_a_text_never_does(gemini):
    history, _ = loop(gemini)
    history = [
        {**row, "parts": [{k: v for k, v in part.items() if k != "thoughtSignature"} for part in row["parts"]]}
        if "parts" in row
        else row
        for row in history
    ]

    assert 200 == ask(gemini, [*history, USER]).status_code
    assert 3 == len(gemini.lost())
    assert MISSING.format(2) == refusal(gemini, history[:-1])


@pytest.mark.parametrize("word", [SKIP, OTHER])
@pytest.mark.parametrize(
    "encode", [str, lambda word: base64.b64encode(word.encode()).decode()], ids=["plain", "base64"]
)
def test_the_documented_words_stand_for_a_signature_that_nobody_has(gemini, word, encode):
    history = changed(one_step(gemini), 1, thoughtSignature=encode(word))

    assert 200 == ask(gemini, history).status_code
    assert 1 == len(gemini.lost()), "the model has lost its thoughts all the same"


def test_signatures_stay_valid_over_a_reset(gemini):
    history = one_step(gemini)
    gemini.reset()

    assert 200 == ask(gemini, history).status_code


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [..., "", None])
def test_the_first_call_of_a_step_without_a_signature_is_refused(gemini, value):
    assert MISSING.format(2) == refusal(gemini, changed(one_step(gemini), 1, thoughtSignature=value))


def test_every_step_of_the_current_turn_is_looked_at_and_a_result_does_not_end_the_turn(gemini):
    history, _ = loop(gemini)
    bare = changed(history, 1, row=3, thoughtSignature=...)[:-1]

    assert MISSING.format(4) == refusal(gemini, bare)
    note = copy.deepcopy(bare)
    note[4]["parts"].append({"text": "a note beside the result"})
    assert MISSING.format(4) == refusal(gemini, note)
    assert 200 == ask(gemini, [*bare, {"role": "user", "content": "a text of its own"}]).status_code


@pytest.mark.parametrize("signature", ["bWFkZSB1cA==", "+//+bWFkZSB1cA==", "skip_thought_signature_validator_abc"])
def test_a_signature_that_the_host_did_not_make_is_refused(gemini, signature):
    assert FOREIGN == refusal(gemini, changed(one_step(gemini), 1, thoughtSignature=signature))


@pytest.mark.leaks(reason="a signature of one Gemini host is sent to another on purpose")
def test_two_gemini_hosts_do_not_open_each_other_s_signatures(strict_hosts):
    first, second = strict_hosts("gemini"), strict_hosts("gemini")
    history = one_step(first)

    assert FOREIGN == refusal(second, history)
    assert {(second.name, first.name)} == {(f.at.name, f.written_by.name) for f in foreign_bytes([first, second])}


def test_a_foreign_signature_is_refused_on_a_text_and_in_a_turn_that_is_over(gemini):
    history, _ = loop(gemini)

    assert FOREIGN == refusal(gemini, [*changed(history, -1, row=5, thoughtSignature="bWFkZSB1cA=="), USER])
    assert FOREIGN == refusal(gemini, [*changed(history, 1, thoughtSignature="bWFkZSB1cA=="), USER])


def test_what_is_no_base64_is_named_with_its_place(gemini):
    assert (
        "Invalid value at 'contents[1].parts[1].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"no base64!\""
        == refusal(gemini, changed(one_step(gemini), 1, thoughtSignature="no base64!"))
    )


def test_a_signature_that_moved_to_another_call_is_refused(gemini):
    history = one_step(gemini, *PARALLEL)
    signature = history[1]["parts"][1]["thoughtSignature"]
    moved = changed(changed(history, 1, thoughtSignature=...), 2, thoughtSignature=signature)
    doubled = changed(history, 3, thoughtSignature=signature)

    assert FOREIGN == refusal(gemini, moved)
    assert FOREIGN == refusal(gemini, doubled)


def test_a_signature_that_moved_between_a_call_and_a_text_is_refused(gemini):
    history, _ = loop(gemini)
    of_call, of_text = history[1]["parts"][1]["thoughtSignature"], history[5]["parts"][1]["thoughtSignature"]

    assert FOREIGN == refusal(gemini, [*changed(history, 1, row=5, thoughtSignature=of_call), USER])
    assert FOREIGN == refusal(gemini, [*changed(history, 1, thoughtSignature=of_text), USER])


def test_a_call_that_changed_under_its_signature_is_refused(gemini):
    history = one_step(gemini)
    history[1]["parts"][1]["functionCall"]["args"] = {"city": "Rome"}

    assert FOREIGN == refusal(gemini, history)


def test_a_signature_of_another_model_is_taken_unless_told_otherwise(strict_hosts):
    for any_model, status in ((True, 200), (False, 400)):
        host = strict_hosts("gemini", any_model=any_model)
        history = one_step(host)

        assert 200 == ask(host, history).status_code
        assert status == ask(host, history, model="gemini-3-flash-preview").status_code


def test_a_sibling_takes_no_documented_word(gemini):
    assert "Request contains an invalid argument." == refusal(
        gemini, changed(one_step(gemini, *PARALLEL), 2, thoughtSignature=SKIP)
    )


def test_a_streamed_answer_merged_with_its_empty_signed_part_is_taken_unless_told_otherwise(strict_hosts):
    for merges, status in ((True, 200), (False, 400)):
        host = strict_hosts("gemini", merges=merges)
        host.script = [Reply((Text("It is 3C."),))]
        joined = message_of(host, ask(host, [USER], stream=True))
        apart = {"role": "assistant", "parts": [{"text": "It is 3C."}, {**joined["parts"][0], "text": ""}]}

        assert [["text", "thoughtSignature"]] == [list(part) for part in joined["parts"]]
        assert 200 == ask(host, [USER, apart, USER]).status_code
        assert status == ask(host, [USER, joined, USER]).status_code
        assert [] == host.lost()


def test_calls_come_before_their_results_and_as_many(gemini):
    history = one_step(gemini, *PARALLEL)
    calls, results = history[1]["parts"], history[2]["parts"]
    first, second = {"role": "assistant", "parts": calls[:2]}, {"role": "assistant", "parts": calls[2:]}

    between = [USER, first, {"role": "user", "parts": results[:1]}, second, {"role": "user", "parts": results[1:]}]
    assert MISSING.replace("get_weather", "get_time").format(4) == refusal(gemini, between)
    assert (
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn." == refusal(gemini, [*history[:2], {"role": "user", "parts": results[:2]}])
    )
    assert "Please ensure that function response turn comes immediately after a function call turn." == refusal(
        gemini, [USER, history[2]]
    )
    assert (
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
        == refusal(gemini, history[1:])
    )


@pytest.mark.leaks(reason="our mark is sent on purpose")
@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"turn": False}, "Unknown name \"turn\" at 'contents[1]': Cannot find field."),
        ({"reasoning_replay": {"id": "x"}}, "Unknown name \"reasoning_replay\" at 'contents[1]': Cannot find field."),
        ({"thinking": "t"}, "Unknown name \"thinking\" at 'contents[1]': Cannot find field."),
    ],
)
def test_a_content_takes_no_key_of_ours_or_of_others(gemini, row, text):
    history = one_step(gemini)
    history[1] |= row

    assert f"Invalid JSON payload received. {text}" == refusal(gemini, history)


def test_a_part_takes_no_key_of_others_and_must_hold_something(gemini):
    history = one_step(gemini)

    assert (
        "Invalid JSON payload received. Unknown name \"signature\" at 'contents[1].parts[1]': Cannot find field."
        == refusal(gemini, changed(history, 1, signature="x"))
    )
    assert 'Invalid JSON payload received. Unknown name "input": Cannot find field.' == refusal(
        gemini, history, input=[]
    )
    history[1]["parts"][0] = {"thought": True}
    assert (
        "* GenerateContentRequest.contents[1].parts[0].data: required oneof field 'data' must have one initialized field\n"
        == refusal(gemini, history)
    )
    history[1]["parts"] = []
    assert "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n" == refusal(gemini, history)
    assert "* GenerateContentRequest.contents: contents is not specified\n" == refusal(gemini, [])
    assert "Please use a valid role: user, model." == refusal(
        gemini, [], contents=[{"role": "assistant", "parts": [{"text": "x"}]}]
    )


def test_a_host_that_is_overloaded_says_so_in_google_s_words(gemini):
    gemini.script = [Reply((), status=503)]

    assert {
        "code": 503,
        "message": "The model is overloaded. Please try again later.",
        "status": "UNAVAILABLE",
    } == ask(gemini, [USER]).json()["error"]


# The searches ---------------------------------------------------------------------------------------------------------


def test_what_is_lost_is_the_signature_and_each_reply_is_known_without_ids(gemini):
    history, _ = loop(gemini)
    for row in history:
        for part in row.get("parts", ()):
            part.get("functionCall", {}).pop("id", None)
            part.get("functionResponse", {}).pop("id", None)
    bare = [*changed(history, 1, row=3, thoughtSignature=...), USER]

    assert 200 == ask(gemini, bare).status_code
    assert 1 == len(gemini.lost())
    assert gemini.lost()[0] in json.dumps(history)


def test_a_prefix_that_changed_within_a_turn_is_found(gemini):
    history, _ = loop(gemini)
    assert [] == moved_prefixes([gemini])
    ask(gemini, changed(history[:-1], 0, text="other thoughts"))

    assert [(1, 3, 1)] == [(m.earlier, m.later, m.message) for m in moved_prefixes([gemini])]
