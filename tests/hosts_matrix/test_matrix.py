"""What must hold of the matrix: a sample in every run, the whole of it in the long one. `matrix` says what a call is."""

import pytest

pytest.importorskip("litellm")

from hosts_matrix import matrix
from hosts_matrix.entries import ENTRIES
from reasoning_replay.testing import JUDGES

SAMPLED = (
    ("completion", "sync"),
    ("completion", "async"),
    ("completion", "stream"),
    ("responses", "stream"),
    ("messages", "async"),
)
"""Without streams, each with every host as a source and as a target, once."""
WHOLE = [(name, mode) for name, entry in ENTRIES.items() for mode in entry.modes]


def clean(result, *kinds):
    """No failure of these kinds; they are told one a line, without reasoning."""
    return [f"{f.what} | {f.source} -> {f.target} | {f.way} | {f.detail}" for f in result.of(*kinds)]


def test_every_strict_host_that_litellm_can_call_is_in_the_table():
    assert {row.kind for entry in ENTRIES.values() for row in entry.rows} == set(JUDGES)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_whole_matrix_has_every_pair_once_and_a_sample_every_host_on_both_sides(name):
    whole, sample = matrix.pairs(ENTRIES[name]), matrix.pairs(ENTRIES[name], sample=1)
    assert all(set(targets) == {*whole} - {here} and len(targets) == len(whole) - 1 for here, targets in whole.items())
    assert {target for targets in sample.values() for target in targets} == set(sample) == set(whole)


@pytest.fixture(scope="module", params=SAMPLED, ids=" ".join)
def sample(request):
    """Another neighbour in each mode, so that a run meets several targets of each source; streams for every second source."""
    name, mode = request.param
    at = ENTRIES[name].modes.index(mode)
    chosen = matrix.pairs(ENTRIES[name], sample=at + 1, mode=mode)
    sources = list(chosen)[:: 2 if mode == "stream" else 1]
    return matrix.run(name, mode, {here: chosen[here][at:] for here in sources})


@pytest.mark.parametrize("kind", matrix.KINDS)
def test_in_the_sample_nothing_is_wrong_on_the_wire(kind, sample):
    assert [] == clean(sample, kind)


@pytest.fixture(scope="module")
def bare():
    """LiteLLM without us, at a few hosts for speed."""
    only = ("deepseek", "groq", "anthropic", "openrouter", "mistral")
    return matrix.run("completion", "sync", matrix.pairs(ENTRIES["completion"], only), replay=False)


@pytest.mark.leaks("LiteLLM as it is, to prove that the matrix sees it")
@pytest.mark.parametrize("kind", [matrix.FOREIGN, matrix.REFUSED, matrix.LOST])
def test_without_us_a_sample_like_it_fails(kind, bare):
    assert bare.of(kind)


@pytest.fixture(scope="module", params=WHOLE, ids=" ".join)
def whole(request):
    name, mode = request.param
    return matrix.run(name, mode, matrix.pairs(ENTRIES[name], mode=mode))


@pytest.mark.slow
@pytest.mark.parametrize("kind", matrix.KINDS)
def test_in_the_whole_matrix_nothing_is_wrong_on_the_wire(kind, whole):
    assert [] == clean(whole, kind)
