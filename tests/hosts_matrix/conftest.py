"""LiteLLM warns and logs by the dozen; what we warn of goes to a log of our own."""

import logging

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "hosts_matrix" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def quiet_litellm():
    names = ("LiteLLM", "LiteLLM Router", "httpx", "openai")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
