"""Conversations of one tenant that look alike, and conversations that their client has changed."""

from __future__ import annotations

import pytest

from reasoning_replay.testing import Reply, Text, call, canaries_in, think

REPLIES = [(think(), call(id=f"call_{step}", city="Oslo", step=step)) for step in range(1, 5)]


def words(request):
    """The canaries in a body, in order; one that stands twice in a message (LiteLLM writes both keys) counts once."""
    return list(dict.fromkeys(canaries_in(request.raw.decode())))


def said(request):
    """The canaries that a host answered with."""
    return canaries_in(str(request.reply))


def by_question(heard, question):
    return [request for request in heard if question in request.raw.decode()]


def test_two_threads_of_one_tenant_that_reuse_every_call_id_get_each_its_own(place):
    """Only the first question differs: same ids, same arguments, same results, step by step in turns."""
    host, key = place.host("deepseek"), place.proxy.fresh_key()
    host.reset(script=[reply for reply in _plain(REPLIES) for _ in "ab"])
    threads = {name: place.client("chat", "deepseek", key=key, manner="drops") for name in ("Here?", "There?")}
    for name, client in threads.items():
        client.history.append({"role": "user", "content": name})
    for _ in REPLIES:
        for client in threads.values():
            client.step()
    for name in threads:
        mine = by_question(host.requests, name)
        own = [word for request in mine for word in said(request)]
        assert own[:3] == words(mine[-1])
    assert 8 == len(host.requests)


def _plain(replies):
    return [Reply(parts) for parts in replies]


@pytest.mark.parametrize(("route", "model"), [("chat", "deepseek"), ("messages", "kimi"), ("responses", "gpt")])
def test_equal_conversations_of_two_tenants_get_each_its_own(route, model, place):
    host = place.host(model)
    host.reset(script=[reply for reply in _plain(REPLIES) for _ in "ab"])
    threads = [place.client(route, model, manner="drops") for _ in "ab"]
    for client in threads:
        client.history.append({"role": "user", "content": "Here?"})
    for _ in REPLIES:
        for client in threads:
            client.step()
    for number in range(2):
        mine = host.requests[number::2]
        own = [word for request in mine for word in said(request)]
        assert own[:3] == words(mine[-1])


def test_equal_conversations_of_one_tenant_with_different_thoughts_get_none_or_their_own(place):
    """The same question twice, other call ids: the ids decide. The same ids too: nothing is sure, nothing comes back."""
    host, key = place.host("deepseek"), place.proxy.fresh_key()
    scripts = {"a": "call_a", "b": "call_b", "c": "call_a"}

    host.reset(script=[Reply((think(), call(id=made, city="Oslo", step=1))) for made in scripts.values()])
    threads = {name: place.client("chat", "deepseek", key=key, manner="drops") for name in scripts}
    for client in threads.values():
        client.history.append({"role": "user", "content": "Here?"})
        client.step()
    own = dict(zip(scripts, map(said, host.requests), strict=True))
    for name in ("b", "a", "c"):
        threads[name].step()
    sent = dict(zip(("b", "a", "c"), map(words, host.requests[3:]), strict=True))
    assert own["b"] == sent["b"]
    assert ([], []) == (sent["a"], sent["c"])


SYSTEM = {"role": "system", "content": "Be short."}
OTHER = {"role": "system", "content": "Be long. It is Tuesday."}


def session_in(how, name):
    """The client names its conversation: in the body, in a header, or as its cache key."""
    ways = {
        "metadata": {"metadata": {"session_id": name}},
        "header": {"extra_headers": {"x-litellm-session-id": name}},
        "cache key": {"prompt_cache_key": name},
    }
    return ways[how]


@pytest.mark.moves_prefix(reason="the client changes its system prompt in the middle of a turn")
def test_a_system_prompt_changed_midway_restores_nothing_without_a_session(place):
    told = place.told("deepseek")
    client = place.client("chat", "deepseek", manner="drops")
    client.history += [SYSTEM, {"role": "user", "content": "How is the weather?"}]
    with told.heard() as heard:
        client.step()
        client.step()
        client.history[0] = OTHER
        client.step()
    assert [200] * 3 == [request.status for request in heard]
    assert [] == words(heard[2])
    assert client.headers[-1]["x-reasoning-replay"].endswith("restored=0")


@pytest.mark.moves_prefix(reason="the client changes its system prompt in the middle of a turn")
@pytest.mark.parametrize("how", ["metadata", "header", "cache key"])
def test_a_system_prompt_changed_midway_restores_everything_in_a_named_session(how, place):
    told = place.told("deepseek")
    client = place.client("chat", "deepseek", manner="drops", **session_in(how, "one"))
    client.history += [SYSTEM, {"role": "user", "content": "How is the weather?"}]
    with told.heard() as heard:
        for _ in range(3):
            client.step()
        client.history[0] = OTHER
        client.step()
        client.step()
    assert [200] * 5 == [request.status for request in heard]
    assert [word for request in heard[:4] for word in said(request)] == words(heard[4])


@pytest.mark.moves_prefix(reason="the client forgets the start of a turn")
def test_after_a_compaction_the_session_finds_what_is_left(place):
    told = place.told("deepseek")
    client = place.client("chat", "deepseek", manner="drops", **session_in("metadata", "one"))
    client.history += [SYSTEM, {"role": "user", "content": "How is the weather?"}]
    with told.heard() as heard:
        for _ in range(4):
            client.step()
        client.history[1:6] = [{"role": "user", "content": "In short: I asked for the weather of five cities."}]
        client.step()
    assert [word for request in heard[2:4] for word in said(request)] == words(heard[4])


@pytest.mark.moves_prefix(reason="another tenant edits the past of an equal conversation")
def test_a_session_name_of_another_tenant_opens_nothing(place):
    told = place.told("deepseek")
    with told.heard() as heard:
        one, two = (place.client("chat", "deepseek", manner="drops", **session_in("metadata", "shared")) for _ in "ab")
        one.history += [SYSTEM, {"role": "user", "content": "How is the weather?"}]
        one.step()
        two.history = [OTHER, *one.history[1:]]
        two.step()
    assert [] == words(heard[1])


@pytest.mark.parametrize("route", ["chat", "messages", "responses"])
def test_an_edited_question_restores_nothing(route, place):
    model = {"chat": "deepseek", "messages": "kimi", "responses": "deepseek"}[route]
    host = place.host(model)
    client = place.client(route, model, manner="drops")
    client.history.append({"role": "user", "content": "How is the weather?"})
    client.step()
    client.history[0] = {"role": "user", "content": "How is the weather today?"}
    client.step()
    assert [200, 200] == [request.status for request in host.requests]
    assert [] == words(host.last)


def test_a_forked_conversation_goes_on_from_where_it_was_left(place):
    """The client goes back two steps and asks again: what stands before the fork comes back."""
    host = place.host("deepseek")
    host.reset(steps=9)
    client = place.client("chat", "deepseek", manner="drops")
    client.history.append({"role": "user", "content": "How is the weather?"})
    for _ in range(4):
        client.step()
    del client.history[5:]
    client.history.append({"role": "user", "content": "Stop. And in Rome?"})
    client.step()
    assert [word for request in host.requests[:2] for word in said(request)] == words(host.last)


def test_a_reply_without_calls_is_found_by_what_was_said(place):

    host = place.host("deepseek")
    host.reset(script=[Reply((think(), Text(f"Answer {number}."))) for number in range(3)])
    client = place.client("chat", "deepseek", manner="drops")
    for number in range(3):
        client.ask(f"Question {number}?")
    assert [word for request in host.requests[:2] for word in said(request)] == words(host.last)
