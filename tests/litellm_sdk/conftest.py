"""LiteLLM is imported once a run; after each test it is as it was: no callback of ours, no patch, no global."""

import logging

import litellm
import pytest

from litellm_calls import LISTS, standing
from reasoning_replay import Policy
from reasoning_replay._known import forget_warnings
from reasoning_replay.litellm import ReasoningReplay
from reasoning_replay.testing import aliases

litellm.suppress_debug_info = True
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)

GLOBALS = ("api_base", "cache", "custom_provider_map", "num_retries", "modify_params", "drop_params")


def pytest_collection_modifyitems(items):
    for item in items:
        if "litellm_sdk" in str(item.path):  # LiteLLM and its lazy imports warn by the dozen; ours go to a log
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def as_it_was():
    before = {name: getattr(litellm, name) for name in GLOBALS}
    places = standing()
    forget_warnings()
    yield
    if ReasoningReplay._installed is not None:
        ReasoningReplay._installed.uninstall()
    for name, value in before.items():
        setattr(litellm, name, value)
    for name in LISTS:
        getattr(litellm, name).clear()
    assert standing() == places


@pytest.fixture
def install():
    """`install(*hosts, **policy)`: the callback, in place, with the strict hosts treated as the real ones."""

    def put_in(*hosts, known=None, **policy):
        callback = ReasoningReplay(Policy(aliases=aliases(hosts), **policy), known)
        litellm.callbacks.append(callback)
        return callback

    return put_in
