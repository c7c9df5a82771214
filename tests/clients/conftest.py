"""The clients in front of the run's proxy, and what is checked after each test (the fixture `proxy` checks wire and log)."""

from __future__ import annotations

import pytest

from clients.loops import CLIENTS
from clients.told import told


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "clients":
            item.add_marker(
                pytest.mark.filterwarnings("ignore")
            )  # LiteLLM, imported to put chunks together, warns by the dozen


MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ASKS = {
    ("chat", "claude"): {"extra_body": MANUAL, "max_tokens": 4096},
    ("messages", "claude"): MANUAL,
    ("responses", "claude"): {"reasoning": {"effort": "low"}, "max_output_tokens": 8192},
    ("responses", "gpt"): {"include": ["reasoning.encrypted_content"]},
}
"""Route and model -> what a client must say so that the model thinks, and shows it."""


class Place:
    """The proxy, its hosts and the clients of one test. Mutable: it closes the clients that it made."""

    def __init__(self, proxy, models):
        self.proxy, self.hosts, self.models = proxy, proxy.hosts, models
        self.clients = []

    def host(self, model):
        """The strict host behind a model name."""
        return self.hosts[self.models[model]]

    def told(self, model, replies=None):
        """The host behind a model, with a story."""
        return told(self.host(model), replies)

    def client(self, route, model, *, key=None, **options):
        """A new conversation: of a new tenant, or of one that has a key already."""
        key = key or self.proxy.fresh_key()
        client = CLIENTS[route](self.proxy.url, key, model, **{**ASKS.get((route, model), {}), **options})
        self.clients.append(client)
        return client

    def close(self):
        """Closes the clients."""
        for client in self.clients:
            client.close()


@pytest.fixture
def place(proxy):
    """The run's proxy with this test's clients."""
    from proxy_server import MODELS

    place = Place(proxy, MODELS)
    yield place
    place.close()
