"""What a client dropped comes back from the store: where it is surely the same conversation, and nowhere else."""

import json

import pytest

from reasoning_replay import Origin, capture, prepare
from reasoning_replay._restore import REPLY_KEY
from reasoning_replay.stores import MemoryStore

DEEPSEEK = {"host": "api.deepseek.com", "model": "deepseek-v4-pro"}
HERE = Origin("api.deepseek.com", model="deepseek-v4-pro")
QUESTION = {"role": "user", "content": "How is the weather?"}
REQUEST = {"tools": [{}]}


def call(identity="call_1", city="Oslo"):
    return {"id": identity, "type": "function", "function": {"name": "get", "arguments": json.dumps({"city": city})}}


def reply(text="CANARY-thoughts", identity="call_1", content=None, **more):
    return {"role": "assistant", "content": content, "reasoning_content": text, "tool_calls": [call(identity)], **more}


def result(identity="call_1", content="3C"):
    return {"role": "tool", "tool_call_id": identity, "content": content}


def bare(message):
    return {key: message[key] for key in ("role", "content", "tool_calls") if key in message}


def keep(known, before, message, origin=HERE):
    """What happens when the host answers `before` with `message`."""
    plan = prepare(before, **DEEPSEEK, request=REQUEST, known=known)
    return capture(message, origin, known=known, after=plan)


def asked(messages, known, **more):
    return prepare(messages, **{**DEEPSEEK, "request": REQUEST, "known": known, **more})


def thoughts(plan):
    return [message.get("reasoning_content") for message in plan.messages if message["role"] == "assistant"]


def lines(plan):
    return [(row.index, row.action, row.reason) for row in plan.report.rows]


def test_dropped_reasoning_comes_back_and_the_report_says_so():
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    plan = asked([QUESTION, bare(reply()), result()], store)
    assert ["CANARY-thoughts"] == thoughts(plan)
    assert [(1, "restore", "restored")] == lines(plan)
    assert {"restore": 1} == plan.report.counts()


def test_it_is_what_a_client_that_kept_everything_sends():
    store = MemoryStore()
    kept = keep(store, [QUESTION], reply())
    dropped = asked([QUESTION, bare(reply()), result()], store)
    assert asked([QUESTION, kept, result()], store).messages == dropped.messages


def test_the_callers_list_stays_as_it_was():
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    messages = [QUESTION, bare(reply()), result()]
    before = json.dumps(messages)
    assert asked(messages, store).messages == asked(messages, store).messages
    assert before == json.dumps(messages)


def test_the_hosts_fill_stands_where_the_store_has_nothing_and_the_report_says_that_too():
    plan = asked([QUESTION, bare(reply()), result()], MemoryStore())
    assert [""] == thoughts(plan)
    assert [(1, "restore", "miss"), (1, "fill", "missing")] == lines(plan)


def test_the_processs_own_store_keeps_no_text():
    from reasoning_replay._known import default_store

    plan = prepare([QUESTION], **DEEPSEEK, request=REQUEST)
    capture(reply("CANARY-of-this-test"), HERE, after=plan)
    assert plan.trail is None
    assert not default_store().get([REPLY_KEY])
    assert [(1, "fill", "missing")] == lines(prepare([QUESTION, bare(reply()), result()], **DEEPSEEK, request=REQUEST))


@pytest.mark.parametrize(
    "past",
    [
        [{"role": "user", "content": "How is the weather"}],
        [{"role": "system", "content": "Be brief."}, QUESTION],
        [QUESTION, QUESTION],
        [
            {
                **QUESTION,
                "content": [
                    {"type": "text", "text": QUESTION["content"]},
                    {"type": "image_url", "image_url": {"url": "data:,"}},
                ],
            }
        ],
    ],
    ids=["one character", "a system prompt", "said twice", "a picture"],
)
def test_another_past_restores_nothing(past):
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    assert [""] == thoughts(asked([*past, bare(reply()), result()], store))


@pytest.mark.parametrize(
    "said",
    [
        {**bare(reply()), "content": "Hm."},
        {**bare(reply()), "tool_calls": [call(city="Bergen")]},
        {**bare(reply()), "tool_calls": [call(), call("call_2")]},
    ],
    ids=["text", "arguments", "one more call"],
)
def test_other_visible_parts_restore_nothing(said):
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    assert [""] == thoughts(asked([QUESTION, said, result()], store))


def test_ids_that_a_client_renamed_are_no_other_conversation():
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    plan = asked([QUESTION, {**bare(reply()), "tool_calls": [call("mine")]}, result("mine")], store)
    assert ["CANARY-thoughts"] == thoughts(plan)
    assert "mine" == plan.messages[1]["tool_calls"][0]["id"]


def test_of_two_replies_to_the_same_words_the_ids_of_the_calls_decide():
    store = MemoryStore()
    keep(store, [QUESTION], reply("CANARY-a", "call_a"))
    keep(store, [QUESTION], reply("CANARY-b", "call_b"))
    for name in ("a", "b"):
        said = bare(reply(identity=f"call_{name}"))
        assert [f"CANARY-{name}"] == thoughts(asked([QUESTION, said, result(f"call_{name}")], store))
    unsure = asked([QUESTION, bare(reply(identity="call_c")), result("call_c")], store)
    assert [""] == thoughts(unsure)
    assert (1, "restore", "miss") in lines(unsure)


def test_two_replies_that_thought_the_same_are_one():
    store = MemoryStore()
    keep(store, [QUESTION], reply(identity="call_a"))
    keep(store, [QUESTION], reply(identity="call_b"))
    assert ["CANARY-thoughts"] == thoughts(asked([QUESTION, bare(reply(identity="call_c")), result("call_c")], store))


def test_two_conversations_that_use_one_call_id_get_their_own():
    store = MemoryStore()
    one, other = [QUESTION], [{"role": "user", "content": "And in Bergen?"}]
    keep(store, one, reply("CANARY-one"))
    keep(store, other, reply("CANARY-other"))
    assert ["CANARY-one"] == thoughts(asked([*one, bare(reply()), result()], store))
    assert ["CANARY-other"] == thoughts(asked([*other, bare(reply()), result()], store))


def test_reasoning_that_is_there_is_never_replaced():
    store = MemoryStore()
    kept = keep(store, [QUESTION], reply())
    mine = {**kept, "reasoning_content": "CANARY-mine"}
    assert ["CANARY-mine"] == thoughts(asked([QUESTION, mine, result()], store))


@pytest.mark.parametrize("blank", ["", " ", None])
def test_a_placeholder_is_replaced_and_never_kept(blank):
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    placeholder = {**bare(reply()), "reasoning_content": blank}
    assert ["CANARY-thoughts"] == thoughts(asked([QUESTION, placeholder, result()], store))
    empty = MemoryStore()
    keep(empty, [QUESTION], reply(" "))
    assert [""] == thoughts(asked([QUESTION, bare(reply()), result()], empty))


def test_another_host_gets_nothing_of_what_is_restored():
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    plan = asked([QUESTION, bare(reply()), result()], store, host="api.groq.com", model="openai/gpt-oss-120b")
    assert "CANARY" not in json.dumps(plan.messages)
    assert [(1, "drop", "foreign")] == lines(plan)


def test_a_window_takes_restored_reasoning_as_any_other():
    store = MemoryStore()
    moonshot = {"host": "api.moonshot.ai", "model": "kimi-k2.5"}
    plan = asked([QUESTION], store, **moonshot)
    capture(reply(), plan.origin, known=store, after=plan)
    later = [QUESTION, bare(reply()), result(), {"role": "assistant", "content": "3C."}, QUESTION]
    plan = asked(later, store, **moonshot)
    assert "CANARY" not in json.dumps(plan.messages)
    assert (1, "drop", "window") in lines(plan)


def test_tenants_have_nothing_in_common():
    store = MemoryStore()
    keep(store.of("a"), [QUESTION], reply("CANARY-a"))
    assert [""] == thoughts(asked([QUESTION, bare(reply()), result()], store.of("b")))
    assert [""] == thoughts(asked([QUESTION, bare(reply()), result()], store))
    assert ["CANARY-a"] == thoughts(asked([QUESTION, bare(reply()), result()], store.of("a")))


EDITED = [{"role": "user", "content": "Summary: the weather was asked for."}, bare(reply()), result()]


def test_a_session_restores_after_the_past_was_edited():
    store = MemoryStore()
    keep(store.of("a", session="s1"), [QUESTION], reply())
    assert ["CANARY-thoughts"] == thoughts(asked(EDITED, store.of("a", session="s1")))
    for other in (store.of("a"), store.of("a", session="s2"), store.of("b", session="s1")):
        assert [""] == thoughts(asked(EDITED, other))


def test_a_session_needs_the_ids_of_the_calls():
    store = MemoryStore()
    keep(store.of("a", session="s1"), [QUESTION], reply())
    keep(
        store.of("a", session="s1"), [QUESTION], {"role": "assistant", "content": "Hm.", "reasoning_content": "CANARY"}
    )
    renamed = [EDITED[0], {**EDITED[1], "tool_calls": [call("other")]}, result("other")]
    assert [""] == thoughts(asked(renamed, store.of("a", session="s1")))
    without = [EDITED[0], {"role": "assistant", "content": "Hm."}, QUESTION]
    assert "CANARY" not in json.dumps(asked(without, store.of("a", session="s1")).messages)


def test_two_replies_of_a_session_under_the_same_ids_are_unsure_after_an_edit():
    store = MemoryStore()
    for text, question in (("CANARY-1", "one"), ("CANARY-2", "two")):
        keep(store.of("a", session="s1"), [{"role": "user", "content": question}], reply(text))
    assert [""] == thoughts(asked(EDITED, store.of("a", session="s1")))


def test_a_step_without_reasoning_gets_none_of_an_earlier_one_whose_call_has_the_same_id():
    shelf = MemoryStore().of("a", session="s1")
    keep(shelf, [QUESTION], reply("CANARY-first"))
    history = [QUESTION, bare(reply()), result()]
    keep(shelf, history, bare(reply()))  # it brought no reasoning
    assert ["CANARY-first", ""] == thoughts(asked([*history, bare(reply()), result()], shelf))
    assert [""] == thoughts(asked(EDITED, shelf))


def test_ids_that_begin_anew_in_each_reply_name_none_of_them_in_a_session():
    shelf = MemoryStore().of("a", session="s1")
    keep(shelf, [QUESTION], reply("CANARY-first"))
    assert ["", ""] == thoughts(asked([*EDITED, bare(reply()), result()], shelf))
    kept = keep(shelf, [QUESTION], reply("CANARY-first"))
    assert ["CANARY-first", ""] == thoughts(asked([EDITED[0], kept, result(), bare(reply()), result()], shelf))


def test_a_reply_that_was_given_again_without_reasoning_gets_none_of_the_first_ones():
    for first, second in (("CANARY-first", None), (None, "CANARY-second")):
        store = MemoryStore()
        for text, identity in ((first, "call_a"), (second, "call_b")):
            message = reply(text, identity)
            keep(store, [QUESTION], message if text else bare(message))
        for text, identity in ((first, "call_a"), (second, "call_b")):
            plan = asked([QUESTION, bare(reply(identity=identity)), result(identity)], store)
            assert [text or ""] == thoughts(plan)
        assert [""] == thoughts(asked([QUESTION, bare(reply(identity="call_c")), result("call_c")], store))


CLAUDE = {"host": "api.anthropic.com", "dialect": "anthropic", "model": "claude-opus-5"}
THOUGHT = {"type": "thinking", "thinking": "CANARY", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {}}
USED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3C"}]}


@pytest.mark.parametrize(
    ("before", "after", "comes_back"),
    [
        ({"system": "Be kind."}, {"system": "Be rude."}, False),
        ({"system": "Be kind."}, {}, False),
        ({}, {"system": "Be kind."}, False),
        (
            {"system": "Be kind."},
            {"system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "kind.", "cache_control": {}}]},
            True,
        ),
        ({"stop_sequences": ["a"]}, {"stop_sequences": ["b"]}, True),
        ({"previous_response_id": "resp_1"}, {"previous_response_id": "resp_1"}, False),
    ],
)
def test_a_system_parameter_is_part_of_the_conversation_and_a_past_elsewhere_is_none(before, after, comes_back):
    store = MemoryStore()
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
    plan = prepare([QUESTION], **CLAUDE, request={**thinking, **before}, known=store)
    capture({"role": "assistant", "content": [THOUGHT, USE]}, plan.origin, known=store, after=plan)
    dropped = [QUESTION, {"role": "assistant", "content": [USE]}, USED]
    plan = prepare(dropped, **CLAUDE, request={**thinking, **after}, known=store)
    assert comes_back == ("CANARY" in json.dumps(plan.messages))


def test_what_nests_too_deep_to_be_told_restores_nothing_and_loses_nothing():
    deep = "x"
    for _ in range(700):
        deep = [deep]
    store = MemoryStore()
    kept = keep(store, [QUESTION], reply())
    odd = {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "odd", "value": deep}]}
    history = [odd, kept, result()]
    assert ["CANARY-thoughts"] == thoughts(asked(history, store))


def test_a_store_asks_once_for_a_whole_conversation():
    class Counting(MemoryStore):
        asked = 0

        def get(self, keys):
            self.asked += 1
            return super().get(keys)

    store = Counting()
    history = [QUESTION]
    for step in range(20):
        message = reply(f"CANARY-{step}", f"call_{step}")
        keep(store, history, message)
        history += [bare(message), result(f"call_{step}")]
    store.asked = 0
    plan = asked(history, store)
    assert [f"CANARY-{step}" for step in range(20)] == thoughts(plan)
    assert 1 == store.asked


def test_what_another_version_has_written_is_nothing():
    store = MemoryStore()
    plan = asked([QUESTION], store)
    capture(reply(), HERE, known=store, after=plan)
    key = next(key for key in _keys(store) if key.startswith(REPLY_KEY))
    [kept] = store.get([key])[key]
    for value in (
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"v":1,"o":1,"c":[],"r":{}}',
        b'{"v":1,"o":"x","c":[],"r":{}}',
        kept.replace(b'"v":1', b'"v":2', 1),
    ):
        broken = MemoryStore()
        broken.add([(key, value)])
        assert [""] == thoughts(asked([QUESTION, bare(reply()), result()], broken))


def _keys(store):
    seen = []

    class Spy:
        session = None

        def note(self, digest, origin): ...

        def origins(self, digest):
            return ()

        def get(self, keys):
            seen.extend(keys)
            return {}

        def add(self, items): ...

    asked([QUESTION, bare(reply()), result()], Spy())
    return seen


def test_no_text_is_in_a_repr():
    store = MemoryStore()
    keep(store, [QUESTION], reply())
    plan = asked([QUESTION, bare(reply()), result()], store)
    assert "CANARY" not in repr((store, store.of("a"), plan, plan.work, plan.work.recalled, plan.report))
