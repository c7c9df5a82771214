"""Servers for open models that speak Responses: what the strict ones refuse, in which words, and what they say."""

import pytest

from open_items import CALLED, DONE, LLAMA_REFUSES, TAKEN, thought
from reasoning_replay.testing import Reply, Text, call, sealed, think
from wire_client import ask, loop, message_of

OPEN = ("vllm-responses", "llamacpp-responses")
USER = {"role": "user", "content": "q"}
SEALED = "Encrypted content is not supported. (parameter=input)"


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("case", TAKEN)
def test_what_both_take(strict_hosts, name, case):
    assert 200 == ask(strict_hosts(name), [USER, *TAKEN[case]]).status_code


@pytest.mark.parametrize("case", LLAMA_REFUSES)
def test_what_llama_refuses_in_its_own_words(strict_hosts, case):
    items, text = LLAMA_REFUSES[case]
    response = ask(strict_hosts("llamacpp-responses"), [USER, *items])

    assert 400 == response.status_code
    assert {"error": {"code": 400, "message": text, "type": "invalid_request_error"}} == response.json()


def test_llama_stores_nothing(strict_hosts):
    response = ask(strict_hosts("llamacpp-responses"), [USER], previous_response_id="resp_1")
    assert "llama.cpp does not support 'previous_response_id'." == response.json()["error"]["message"]


def test_vllm_refuses_sealed_content_whoever_wrote_it(strict_hosts):
    host = strict_hosts("vllm-responses")
    response = ask(host, [USER, thought(encrypted_content="gAAAA"), CALLED, DONE])

    assert 400 == response.status_code
    assert {"message": SEALED, "type": "BadRequestError", "param": None, "code": 400} == response.json()["error"]
    assert 200 == ask(host, [USER, thought(encrypted_content=None), CALLED, DONE]).status_code


def test_vllm_wants_a_summary(strict_hosts):
    bare = {key: value for key, value in thought().items() if key != "summary"}
    assert "input.1.summary: Field required" in ask(strict_hosts("vllm-responses"), [USER, bare]).text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", OPEN)
def test_reasoning_comes_as_readable_content_and_nothing_is_sealed(strict_hosts, name, stream):
    host = strict_hosts(name, script=[Reply((think(), sealed(), call()))])
    item = message_of(host, ask(host, [USER], stream=stream))["items"][0]

    assert ["reasoning_text"] == [part["type"] for part in item["content"]]
    assert [] == item["summary"]
    assert item["encrypted_content"] in (None, "")


@pytest.mark.parametrize("name", OPEN)
def test_a_loop_is_whole_and_a_client_that_forgets_is_taken_too(strict_hosts, name):
    host = strict_hosts(name)
    history, response = loop(host)
    assert (200, [], []) == (response.status_code, host.refusals, host.lost())
    ask(host, [*history, USER])
    assert [] == host.lost()
    _, response = loop(host, keep=False)
    assert 200 == response.status_code
    assert [] != host.lost()


def test_llama_reads_no_summary(strict_hosts):
    host = strict_hosts("llamacpp-responses", script=[Reply((think(), call())), Reply((Text(),))])
    message = message_of(host, ask(host, [USER]))
    first = message["items"][0]
    moved = {**first, "content": [{"type": "reasoning_text", "text": "T"}], "summary": first["content"]}
    outputs = {"type": "function_call_output", "call_id": message["items"][1]["call_id"], "output": "3C"}
    ask(host, [USER, {**message, "items": [moved, *message["items"][1:]]}, outputs])
    assert 1 == len(host.lost())
