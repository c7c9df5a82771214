"""Conversations never mix: 64 at once, over threads and tasks, with the same words and ids and different reasoning."""

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor

import litellm
import pytest

from litellm_calls import MODES, TOOLS, append, run, target
from reasoning_replay.testing import Reply, call, canaries_in, think
from reasoning_replay.testing._script import Call

pytestmark = pytest.mark.moves_prefix(reason="conversations with equal words and ids look like one to that check")

CONVERSATIONS = 64


def _same_words(seen):
    """Equal calls with equal ids at every step; only the reasoning tells one conversation from another."""
    return (
        Reply((think(), call(id=f"call_{seen.step}00001"))) if seen.step < 2 else Reply((think(), Call(id="call_end0")))
    )


def _asked(number, hosts):
    return hosts[number % 2], [{"role": "user", "content": "How is the weather?"}]


def _thoughts(messages):
    return [canaries_in(m.reasoning_content)[0] for m in messages if not isinstance(m, dict)]


def _sent(host):
    """The reasoning in each body, in order."""
    return [canaries_in("".join(m.get("reasoning_content") or "" for m in r.messages)) for r in host.requests]


def _check(hosts, conversations):
    """Every conversation's third request carries exactly its own first two thoughts; no other body has them."""
    bodies = [body for host in hosts for body in _sent(host) if len(body) == 2]
    assert CONVERSATIONS == len(bodies)
    assert sorted(_thoughts(messages)[:2] for messages in conversations) == sorted(bodies)
    assert [] == [text for host in hosts for text in host.refusals]


@pytest.mark.parametrize("mode", ["sync", pytest.param("stream", marks=pytest.mark.slow)])
def test_sixty_four_conversations_over_threads(mode, strict_hosts, install):
    hosts = [strict_hosts(kind, script=_same_words) for kind in ("deepseek", "moonshot")]
    install(*hosts)

    def talk(number):
        host, messages = _asked(number, hosts)
        for _ in range(3):
            append(messages, MODES[mode](host, messages))
        return messages

    with ThreadPoolExecutor(16) as pool:
        tasks = [pool.submit(contextvars.copy_context().run, talk, number) for number in range(CONVERSATIONS)]
        _check(hosts, [task.result() for task in tasks])


@pytest.mark.parametrize("stream", [pytest.param(False, marks=pytest.mark.slow), True], ids=["whole", "stream"])
def test_sixty_four_conversations_over_tasks(stream, strict_hosts, install):
    hosts = [strict_hosts(kind, script=_same_words) for kind in ("deepseek", "moonshot")]
    install(*hosts)

    async def talk(number):
        host, messages = _asked(number, hosts)
        for _ in range(3):
            reply = await litellm.acompletion(**target(host), messages=messages, tools=TOOLS, stream=stream)
            if stream:
                reply = litellm.stream_chunk_builder([chunk async for chunk in reply])
            append(messages, reply)
        return messages

    async def all_of_them():
        return await asyncio.gather(*(talk(number) for number in range(CONVERSATIONS)))

    _check(hosts, run(all_of_them()))


def test_nothing_of_a_conversation_stays_on_the_client(strict_hosts, install):
    import openai

    host = strict_hosts("unknown")
    callback = install(host)
    client = openai.OpenAI(base_url=host.url, api_key="k")
    before = sorted(vars(client))
    MODES["sync"](host, [{"role": "user", "content": "q"}], client=client)
    assert before == sorted(vars(client))
    assert [] == canaries_in(repr(vars(callback)))
