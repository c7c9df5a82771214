"""The judge of the Responses hosts: what it takes, and each refusal in its exact words."""

import copy
import json

import httpx
import pytest

from reasoning_replay.testing import Reply, Summary, Text, call, foreign_bytes, moved_prefixes, sealed, think
from wire_client import ask, loop, message_of, results_of

USER = {"role": "user", "content": "q"}
STORED = ["openai-responses", "azure-responses"]
ALL = [*STORED, "xai-responses"]


def first_step(host, **more):
    """The history after one reply with a call, answered."""
    message = message_of(host, ask(host, [USER], **more))
    return [USER, message, *results_of(host, message)]


def items(history):
    return history[1]["items"]


def refused(host, history, **more):
    """The error of a request, as a client reads it."""
    response = ask(host, history, **more)
    said = response.json()
    if isinstance(said["error"], str):  # xAI's own body
        return response.status_code, said["error"], said["code"]
    assert "invalid_request_error" == said["error"]["type"]
    assert host.refusals[-1] == said["error"]["message"]
    return response.status_code, said["error"]["message"], said["error"]["code"]


# What is taken --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_reply_that_goes_back_as_it_came_is_taken_stored_or_not(strict_hosts, name):
    for store in (None, True, False):
        host = strict_hosts(name)
        _, last = loop(host, store=store)
        assert (200, [], []) == (last.status_code, host.refusals, host.lost())


@pytest.mark.parametrize("name", ALL)
def test_only_new_items_go_on_with_a_stored_response(strict_hosts, name):
    host = strict_hosts(name)
    first = ask(host, [USER])
    message = message_of(host, first)
    second = ask(host, results_of(host, message), previous_response_id=first.json()["id"])
    again = ask(host, results_of(host, message_of(host, second)), previous_response_id=second.json()["id"])

    assert [200, 200, 200] == [r.status_code for r in (first, second, again)]
    assert first.json()["id"] == second.json()["previous_response_id"]
    assert ["reasoning", "message"] == [item["type"] for item in again.json()["output"]], "the third step is the answer"


@pytest.mark.parametrize("name", STORED)
def test_a_stored_item_may_be_a_reference_or_leave_its_encrypted_content_out(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host)
    bare = copy.deepcopy(history)
    del items(bare)[0]["encrypted_content"]
    assert 200 == ask(host, bare).status_code
    items(history)[0] = {"type": "item_reference", "id": items(history)[0]["id"]}
    assert 200 == ask(host, history).status_code


@pytest.mark.parametrize("name", ALL)
def test_without_ids_encrypted_content_stands_for_itself(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host, store=False)
    for item in items(history):
        del item["id"]

    assert 200 == ask(host, history, store=False).status_code


@pytest.mark.parametrize("name", ALL)
def test_a_turn_without_reasoning_and_without_ids_is_taken(strict_hosts, name):
    host = strict_hosts(name)
    _, last = loop(host, keep=False)

    assert (200, []) == (last.status_code, host.refusals)
    assert [] == foreign_bytes([host])


def test_xai_takes_a_turn_whose_reasoning_was_left_out_though_the_ids_stay(strict_hosts):
    host = strict_hosts("xai-responses")
    history = first_step(host)
    del items(history)[0]

    assert 200 == ask(host, history).status_code


def test_an_id_of_a_call_is_not_looked_up(strict_hosts):
    host = strict_hosts("openai-responses")
    history = first_step(host, store=False)
    items(history)[1]["id"] = "fc_of_somebody_else"

    assert 200 == ask(host, history, store=False).status_code


def test_an_easy_message_and_a_string_are_input_too(strict_hosts):
    host = strict_hosts("openai-responses", steps=0)
    text = httpx.post(host.endpoint, json={"model": "gpt-5.4", "input": "q"}, verify=False)
    easy = ask(host, [USER, {"role": "assistant", "content": "a"}, USER])

    assert (200, 200) == (text.status_code, easy.status_code)
    assert [{"role": "user", "content": "q"}] == host.requests[0].messages == host.rows(host.requests[0])


# Encrypted content ----------------------------------------------------------------------------------------------------


@pytest.mark.leaks(reason="another host's encrypted content is sent on purpose")
@pytest.mark.parametrize("name", STORED)
def test_another_host_s_encrypted_content_could_not_be_verified(strict_hosts, name):
    own, other = strict_hosts(name), strict_hosts(name)
    history = first_step(other, store=False)
    blob = items(history)[0]["encrypted_content"]
    short = f"{blob[:4]}...{blob[-4:]}"

    assert (
        400,
        f"The encrypted content {short} could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        "invalid_encrypted_content",
    ) == refused(own, history)
    assert {own} == {found.at for found in foreign_bytes([own, other])}


@pytest.mark.leaks(reason="another host's encrypted content is sent on purpose")
def test_xai_could_not_decrypt_it(strict_hosts):
    own, other = strict_hosts("xai-responses"), strict_hosts("openai-responses")

    assert (
        400,
        (
            "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a "
            "previous response."
        ),
    ) == refused(own, first_step(other))[:2]


@pytest.mark.parametrize("name", STORED)
def test_own_encrypted_content_under_another_id_is_refused(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host, store=False)
    items(history)[0]["id"] = "rs_made_up"

    status, text, code = refused(host, history)
    assert (400, "invalid_encrypted_content") == (status, code)
    assert text.endswith(" could not be verified. Reason: Encrypted content item_id did not match the target item id.")


@pytest.mark.parametrize("name", ALL)
def test_what_an_opening_event_holds_of_it_is_not_whole(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host, store=False)
    items(history)[0]["encrypted_content"] = items(history)[0]["encrypted_content"][:16]

    assert 400 == ask(host, history).status_code


# Pairs and ids --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STORED)
def test_reasoning_without_what_followed_it_is_refused(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host)
    at = items(history)[0]["id"]
    text = f"Item '{at}' of type 'reasoning' was provided without its required following item."
    alone = [USER, {**history[1], "items": items(history)[:1]}, USER]
    reminted = copy.deepcopy(history)
    items(reminted)[1]["id"] = "fc_made_up"
    bare = copy.deepcopy(history)
    del items(bare)[1]["id"], items(bare)[0]["encrypted_content"]

    assert [(400, text, None)] * 3 == [refused(host, each) for each in (alone, reminted, bare)]


@pytest.mark.parametrize("name", STORED)
def test_what_followed_reasoning_is_refused_without_it_as_long_as_it_has_its_id(strict_hosts, name):
    host = strict_hosts(name, script=[Reply((think(), Text("Wait."), call())), Reply((think(), Text("a")))])
    history = first_step(host)
    reasoning, message, function_call = items(history)
    needs = f"was provided without its required 'reasoning' item: '{reasoning['id']}'."

    del items(history)[0]
    assert (400, f"Item '{message['id']}' of type 'message' {needs}", None) == refused(host, history)
    del items(history)[0]
    assert (400, f"Item '{function_call['id']}' of type 'function_call' {needs}", None) == refused(host, history)
    del items(history)[0]["id"]
    assert 200 == ask(host, history).status_code


@pytest.mark.parametrize("name", STORED)
@pytest.mark.leaks(reason="ids of another host are sent on purpose")
def test_an_id_that_is_not_in_the_store_is_not_found(strict_hosts, name):
    host, other = strict_hosts(name), strict_hosts(name)
    unstored, foreign = first_step(host, store=False), first_step(other)
    for history in (unstored, foreign):
        del items(history)[0]["encrypted_content"]
        at = items(history)[0]["id"]
        text = (
            f"Item with id '{at}' not found. Items are not persisted when `store` is set to false. Try again with `store` "
            "set to true, or remove this item from your input."
        )
        assert (404, text, None) == refused(host, history)
        items(history)[0] = {"type": "item_reference", "id": at}
        assert (404, text, None) == refused(host, history)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.leaks(reason="a response id of another host is sent on purpose")
def test_a_conversation_that_lives_elsewhere_or_was_not_stored_is_not_found(strict_hosts, name):
    host, other = strict_hosts(name), strict_hosts(name)
    for response in (ask(other, [USER]), ask(host, [USER], store=False)):
        at = response.json()["id"]
        outputs = results_of(host, message_of(other, response))
        expected = (400, f"Previous response with id '{at}' not found.")
        assert expected == refused(host, outputs, previous_response_id=at)[:2]
    assert 1 == len(foreign_bytes([host, other]))


@pytest.mark.parametrize("name", STORED)
def test_an_item_that_comes_twice_is_refused(strict_hosts, name):
    host = strict_hosts(name)
    first = ask(host, [USER])
    message = message_of(host, first)
    at = message["items"][0]["id"]
    text = f"Duplicate item found with id {at}. Remove duplicate items from your input and try again."

    twice = [USER, message, message, *results_of(host, message)]
    assert (400, text, None) == refused(host, twice)
    known = [message, *results_of(host, message)]
    assert (400, text, None) == refused(host, known, previous_response_id=first.json()["id"])


def test_an_id_has_the_prefix_of_its_type_and_at_most_64_characters(strict_hosts):
    host = strict_hosts("openai-responses")
    history = first_step(host, store=False)
    items(history)[1]["id"] = "call_1"
    assert (
        400,
        "Invalid 'input[2].id': 'call_1'. Expected an ID that begins with 'fc'.",
        "invalid_value",
    ) == refused(host, history)
    items(history)[1]["id"] = "fc_" + "0" * 62
    assert (
        400,
        "Invalid 'input[2].id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
        "string_above_max_length",
    ) == refused(host, history)
    items(history)[1]["id"] = ""
    assert 200 == ask(host, history).status_code, "an empty id is taken"


# A closed schema ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("key", ["signature", "thinking", "turn", "provider_specific_fields", "status"])
def test_a_key_that_no_reasoning_item_has_is_refused(strict_hosts, name, key):
    host = strict_hosts(name)
    history = first_step(host)
    items(history)[0][key] = "x"

    code = "invalid-argument" if name == "xai-responses" else "unknown_parameter"
    assert (400, f"Unknown parameter: 'input[1].{key}'.", code) == refused(host, history)


def test_a_key_of_ours_on_a_user_message_or_in_a_summary_is_refused(strict_hosts):
    host = strict_hosts("openai-responses")
    assert (400, "Unknown parameter: 'input[0].turn'.", "unknown_parameter") == refused(host, [{**USER, "turn": False}])
    history = first_step(host)
    items(history)[0]["summary"][0]["index"] = 0
    assert (400, "Unknown parameter: 'input[1].summary[0].index'.", "unknown_parameter") == refused(host, history)


def test_azure_takes_no_status_on_a_message_and_no_content_on_reasoning(strict_hosts):
    said = {"type": "message", "role": "assistant", "content": "a", "status": "completed"}
    raw = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}
    azure, openai = strict_hosts("azure-responses"), strict_hosts("openai-responses")
    for index, (item, key) in enumerate([(said, "status"), (raw, "content")], 1):
        body = {
            "model": "gpt-5.4",
            "input": [USER, said, USER] if index == 1 else [USER, raw, {**said, "status": None}],
        }
        body["input"] = [{k: v for k, v in i.items() if v is not None} for i in body["input"]]
        text = httpx.post(azure.endpoint, json=body, verify=False).json()["error"]["message"]
        assert f"Unknown parameter: 'input[1].{key}'." == text
        assert 200 == httpx.post(openai.endpoint, json=body, verify=False).status_code
        assert key in item


def test_a_block_of_another_dialect_is_no_item_and_no_part(strict_hosts):
    host = strict_hosts("openai-responses")
    status, text, _ = refused(host, [USER, {"type": "thinking", "thinking": "t"}])
    assert (400, True) == (
        status,
        text.startswith("Invalid value: 'thinking'. Supported values are: 'message', 'reasoning', "),
    )
    content = [{"type": "redacted_thinking", "data": "x"}]
    status, text, _ = refused(host, [USER, {"role": "assistant", "content": content}])
    assert (400, True) == (
        status,
        text.startswith("Invalid value: 'redacted_thinking'. Supported values are: 'output_text', "),
    )


def test_a_reasoning_item_has_a_summary_even_an_empty_one(strict_hosts):
    host = strict_hosts("openai-responses")
    history = first_step(host)
    del items(history)[0]["summary"]

    assert (400, "Missing required parameter: 'input[1].summary'.", "missing_required_parameter") == refused(
        host, history
    )


def test_a_request_without_input_says_what_is_missing(strict_hosts):
    host = strict_hosts("openai-responses")

    assert (400, "Missing required parameter: 'input'.", "missing_required_parameter") == refused(host, [])


@pytest.mark.parametrize("name", ALL)
def test_calls_and_outputs_belong_together_one_to_one(strict_hosts, name):
    host = strict_hosts(name)
    history = first_step(host, store=False)
    made = items(history)[1]["call_id"]
    no_output = (400, f"No tool output found for function call {made}.")
    no_call = (400, f"No tool call found for function call output with call_id {made}.")
    assert no_output == refused(host, history[:2])[:2]
    assert no_call == refused(host, [USER, history[2]])[:2]
    for item in items(history):
        del item["id"]
    items(history).append(items(history)[1])
    assert no_output == refused(host, history)[:2], "a call sent twice"


def test_a_failing_host_says_so_in_openai_s_words(strict_hosts):
    host = strict_hosts("openai-responses", script=[Reply((), status=503)])
    response = ask(host, [USER])

    assert (503, "server_error") == (response.status_code, response.json()["error"]["type"])


def test_a_project_of_azure_s_foundry_wants_the_id_beside_the_encrypted_content(strict_hosts):
    for project, expected in ((False, 200), (True, 400)):
        host = strict_hosts("azure-responses", project=project)
        history = first_step(host, store=False)
        assert 200 == ask(host, history, store=False).status_code
        for item in items(history):
            del item["id"]
        response = ask(host, history, store=False)
        assert expected == response.status_code
    error = response.json()["error"]
    assert ("The provided data does not match the expected schema", "invalid_payload") == (
        error["message"],
        error["code"],
    )


# How it speaks --------------------------------------------------------------------------------------------------------


def test_a_script_decides_how_many_summaries_an_item_has_and_whether_it_is_encrypted(strict_hosts):
    scripts = {
        (think("one"),): (1, True),
        (think(""),): (0, True),
        (think("one"), Summary(text="two")): (2, True),
        (think("one", signature=None),): (1, False),
        (sealed(),): (0, True),
        (think("one"), sealed("mine")): (1, True),
    }
    for parts, expected in scripts.items():
        host = strict_hosts("openai-responses", script=[Reply((*parts, Text("a")))])
        item = message_of(host, ask(host, [USER]))["items"][0]
        assert expected == (len(item["summary"]), "encrypted_content" in item)


def test_encrypted_content_may_have_to_be_asked_for_as_it_once_was(strict_hosts):
    host = strict_hosts("openai-responses", encrypts="included")
    asked = {"include": ["reasoning.encrypted_content"]}
    replies = [message_of(host, ask(host, [USER], **more))["items"][0] for more in ({}, asked)]

    assert [False, True] == ["encrypted_content" in item for item in replies]
    _, last = loop(host)
    assert (200, []) == (last.status_code, host.lost()), "stored, an item needs none"
    with pytest.raises(
        ValueError, match=r"strict_host\('openai-responses'\): no encrypts 'never'; there are: always, included"
    ):
        strict_hosts("openai-responses", encrypts="never")


def test_interleaved_reasoning_is_an_item_each(strict_hosts):
    parts = (think(), Text("First."), think(), call(), call("get_time", zone="UTC"))
    host = strict_hosts("openai-responses", script=[Reply(parts), Reply((Text("a"),))])
    history = first_step(host)

    assert ["reasoning", "message", "reasoning", "function_call", "function_call"] == [
        i["type"] for i in items(history)
    ]
    assert 200 == ask(host, history).status_code


def test_newer_models_say_whether_a_message_is_the_answer(strict_hosts):
    host = strict_hosts(
        "openai-responses", script=[Reply((Text("On it."), call())), Reply((Text("a"),)), Reply((Text("a"),))]
    )
    phases = [
        message_of(host, ask(host, [USER], model=model))["items"][0].get("phase")
        for model in ("gpt-5.4", "gpt-5.4", "o3")
    ]

    assert ["commentary", "final_answer", None] == phases


def test_effort_none_brings_no_reasoning(strict_hosts):
    host = strict_hosts("openai-responses")
    message = message_of(host, ask(host, [USER], reasoning={"effort": "none"}))

    assert ["function_call"] == [item["type"] for item in message["items"]]


# What the searches find -----------------------------------------------------------------------------------------------


def test_a_reply_whose_reasoning_was_left_out_is_lost(strict_hosts):
    host = strict_hosts("openai-responses")
    history = first_step(host)
    kept = copy.deepcopy(history)
    items(kept)[0]["summary"] = []
    ask(host, kept)
    assert 1 == len(host.lost()), "the summary"
    for item in items(history):
        item.pop("id")
    del items(history)[0]
    ask(host, history)
    assert 2 == len(host.lost()), "summary and encrypted content"


def test_a_prefix_that_changed_within_a_turn_is_found_by_reply(strict_hosts):
    host = strict_hosts("openai-responses")
    history, _ = loop(host)
    assert [] == moved_prefixes([host])
    changed = copy.deepcopy(history)
    items(changed)[0]["summary"] = []
    ask(host, changed)

    assert [(2, 3, 1)] == [(m.earlier, m.later, m.message) for m in moved_prefixes([host])]
    ask(host, [*changed, USER])
    assert 1 == len(moved_prefixes([host])), "a new turn may have another prefix"


@pytest.mark.leaks(reason="ids of another host are sent on purpose")
def test_ids_that_belong_to_reasoning_are_foreign_elsewhere_and_others_are_not(strict_hosts):
    host, other = strict_hosts("openai-responses"), strict_hosts("unknown")
    reply = ask(host, [USER]).json()
    for item in reply["output"]:
        ask(other, [{"role": "user", "content": json.dumps(item["id"])}])
    ask(other, [{"role": "user", "content": json.dumps(reply["id"])}])
    assert [0, 1, 2] == sorted(found.request for found in foreign_bytes([host, other]))

    plain = strict_hosts("openai-responses", script=[Reply((Text("a"),))])
    item = ask(plain, [USER]).json()["output"][0]
    ask(other, [{"role": "user", "content": item["id"]}])
    assert [] == foreign_bytes([plain, other])
