"""The vendors' classes warn by the dozen; what we warn of goes to a log."""

import logging

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "langchain_matrix" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def quiet_vendors():
    """LiteLLM and the vendors' clients log each call and each refusal."""
    names = ("LiteLLM", "LiteLLM Router", "httpx", "openai", "langchain_google_genai")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
