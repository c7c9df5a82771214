"""The configuration for several workers, run as it stands: Redis, replicas, tenants by team, a policy of one deployment."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy_client import Chat
from proxy_server import check, running_proxy
from reasoning_replay.testing import StrictHost
from redis_server import needs_redis_server, redis_server  # noqa: F401 - a fixture

pytestmark = [pytest.mark.slow, needs_redis_server]


@pytest.fixture(scope="module")
def workers(redis_server):  # noqa: F811
    hosts = {name: StrictHost(name).start() for name in ("moonshot", "groq")}
    replica = StrictHost("moonshot").start()
    aliases = {name: to for host in (*hosts.values(), replica) for name, to in host.alias.items()}
    env = {
        "MOONSHOT_2_API_BASE": replica.url,
        "REDIS_URL": redis_server.url,
        "REASONING_REPLAY_SECRET": "the same in every worker, and random",
        "REASONING_REPLAY_ALIASES": json.dumps(aliases),
        "REASONING_REPLAY_SAME_HOST": json.dumps([[hosts["moonshot"].name, replica.name]]),
    }
    try:
        with running_proxy(hosts, "several_workers.yaml", workers=2, **env) as proxy:
            proxy.replica = replica
            yield proxy
    finally:
        for host in (*hosts.values(), replica):
            host.stop()


@pytest.fixture
def proxy(workers, request):
    for host in (*workers.hosts.values(), workers.replica):
        host.reset(steps=6)
    before = len(workers.log)
    yield workers
    check(workers, request.node, before)


def loop(proxy, number):
    """One conversation at the replicas: what a client keeps and what it drops, by turns, each by a key of its own."""
    team = f"team{number}"
    conversation = Chat(proxy, "kimi", proxy.key("anna", team))
    conversation.say(f"weather in town {number}?")
    statuses = []
    for step in range(6):
        conversation.key = proxy.key(("anna", "ben")[step % 2], team, step)
        answer = conversation.send(conversation.bare() if step % 2 else None)
        statuses.append((answer.status, answer.counts["kept"] + answer.counts["restored"]))
        conversation.take(answer)
    return statuses


@pytest.mark.leaks("the replicas are one host, which the search for foreign bytes does not know")
def test_every_worker_knows_what_the_others_have_seen_and_both_replicas_take_it(proxy):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: loop(proxy, number), range(12)))
    assert [[(200, step) for step in range(6)]] * 12 == found
    assert [] == proxy.hosts["moonshot"].refusals + proxy.replica.refusals
    assert proxy.hosts["moonshot"].requests
    assert proxy.replica.requests
    processes = {*re.findall(r"Started server process \[(\d+)\]", proxy.log)}
    assert len(processes) == 2


def test_a_team_is_one_tenant_and_another_team_another(proxy):
    conversation = Chat(proxy, "groq", proxy.key("anna", "green"))
    conversation.say("weather?")
    conversation.ask()
    for user, team, restored in (("anna", "green", 1), ("ben", "green", 1), ("anna", "blue", 0)):
        conversation.key = proxy.key(user, team, 7)
        assert restored == conversation.send(conversation.bare()).counts["restored"]


def test_a_deployment_has_its_own_policy(proxy):
    kept = {}
    for model in ("groq", "groq-long"):
        proxy.hosts["groq"].reset(steps=1)
        conversation = Chat(proxy, model, proxy.key("anna", model.replace("-", "")))
        conversation.say("weather?")
        conversation.ask()
        conversation.ask()
        conversation.say("and tomorrow?")
        kept[model] = conversation.ask().counts["kept"]
    assert kept["groq"] < kept["groq-long"]


def test_only_redis_holds_what_was_dropped(proxy):
    assert not [path.name for path in proxy.folder.rglob("*sqlite*")]
