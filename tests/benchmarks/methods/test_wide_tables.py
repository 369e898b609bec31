"""The tables of the benchmark of width, and what is made of how a command ended."""

import signal

import numpy as np
import pytest

from benchmarks.methods.bounded_commands import DONE, FAILED, LATE, REFUSED, _outcome
from benchmarks.methods.wide_tables import MANY, sizes_of, write_table
from privity.common.data.schema import load_schema
from privity.common.data.table_reading import read_table


@pytest.mark.parametrize("name", ["codes", "bins"])
def test_the_tables_are_true_to_their_schemas_and_depend_on_a_hidden_variable(tmp_path, name):
    data, schema = write_table(name, 200, tmp_path)
    table = read_table(data, load_schema(schema))
    assert list(table.schema.domain) == sizes_of(name)
    near = abs(float(np.corrcoef(table.columns[4], table.columns[5])[0, 1]))
    assert near > 0.15


def test_the_wide_tables_are_as_wide_as_the_page_says():
    assert [len(sizes_of(name)) for name in ("wide", "codes", "both", "bins")] == [500, 20, 500, 60]
    assert sizes_of("both").count(MANY) == 2
    assert (min(sizes_of("wide")), max(sizes_of("wide"))) == (2, 12)


@pytest.mark.parametrize(
    ("code", "words", "late", "outcome"),
    [
        (0, "", False, DONE),
        (3, "error [domain-too-large]: the table over a, b", False, REFUSED),
        (1, "Traceback (most recent call last)", False, FAILED),
        (-signal.SIGXCPU, "", False, LATE),
        (-signal.SIGKILL, "", True, LATE),
        (-signal.SIGKILL, "", False, FAILED),
    ],
)
def test_how_a_command_ended(code, words, late, outcome):
    assert _outcome(code, words, late) == outcome
