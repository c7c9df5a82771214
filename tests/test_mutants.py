"""The faults on purpose of tests/mutants.py are still in the text: a row that fits nothing any more tries nothing."""

import mutants


def test_the_text_of_every_fault_on_purpose_stands_in_the_package():
    assert [] == mutants.gone(mutants.MUTANTS), "write these rows anew, or take them out"


def test_no_two_rows_are_the_same_fault():
    faults = [(row.file, row.before, row.after) for row in mutants.MUTANTS]
    assert len(faults) == len(set(faults))
    assert len(mutants.MUTANTS) == len({row.name for row in mutants.MUTANTS})
