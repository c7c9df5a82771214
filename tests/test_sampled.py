"""What the sample of long tables of calls promises."""

from types import SimpleNamespace

import pytest

from sampled import FOURTH, rest


def table(*sizes):
    """All rows of a test with so many values of each parameter."""
    rows = [{}]
    for name, size in enumerate(sizes):
        rows = [{**row, str(name): value} for row in rows for value in range(size)]
    return [SimpleNamespace(callspec=SimpleNamespace(params=row)) for row in rows]


def test_every_value_of_every_parameter_is_in_the_sample():
    for sizes in ((4, 5), (25,), (3, 3, 3), (2, 30, 2)):
        rows = table(*sizes)
        left = rest(rows)
        kept = [row.callspec.params for row in rows if row not in left]
        for name, size in enumerate(sizes):
            assert set(range(size)) == {row[str(name)] for row in kept}


def test_of_the_combinations_a_quarter_stays():
    rows = table(10, 10)
    assert 100 - len(rest(rows)) == 19 + 81 // FOURTH


def test_a_table_of_one_parameter_is_whole():
    assert [] == rest(table(40))


def test_pytest_s_own_rows_are_told_apart_by_their_values(request):
    """By the table below; a run of a part of this file has nothing to say."""
    rows = [item for item in request.session.items if "three_by_ten" in item.name]
    if len(rows) == 30:
        assert 30 - len(rest(rows)) == 12 + 18 // FOURTH


@pytest.mark.parametrize("one", range(3))
@pytest.mark.parametrize("other", [f"value {number}" for number in range(10)])
def test_a_table_of_three_by_ten(one, other):
    assert isinstance(other, str)
