"""What the sample of long tables of calls promises."""

from types import SimpleNamespace

from sampled import FOURTH, rest


def table(*sizes):
    """All rows of a test with so many values of each parameter."""
    rows = [{}]
    for name, size in enumerate(sizes):
        rows = [{**row, str(name): value} for row in rows for value in range(size)]
    return [SimpleNamespace(callspec=SimpleNamespace(indices=row)) for row in rows]


def test_every_value_of_every_parameter_is_in_the_sample():
    for sizes in ((4, 5), (25,), (3, 3, 3), (2, 30, 2)):
        rows = table(*sizes)
        left = rest(rows)
        kept = [row.callspec.indices for row in rows if row not in left]
        for name, size in enumerate(sizes):
            assert set(range(size)) == {row[str(name)] for row in kept}


def test_of_the_combinations_a_quarter_stays():
    rows = table(10, 10)
    assert 100 - len(rest(rows)) == 19 + 81 // FOURTH


def test_a_table_of_one_parameter_is_whole():
    assert [] == rest(table(40))
