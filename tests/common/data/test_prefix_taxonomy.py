"""A taxonomy of codes that begin alike is the one that names its groups."""

from __future__ import annotations

import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound

CODES = ["A00.1", "A00.2", "A01.1", "B20", "B21.3", "C"]
NAMED = {
    "A": {"A00": ["A00.1", "A00.2"], "A01": ["A01.1"]},
    "B": {"B20": ["B20"], "B21": ["B21.3"]},
    "C": {"C": ["C"]},
}


def schema(taxonomy, **more):
    return parse_schema(
        {"fields": [{"name": "code", "type": "string", "categories": CODES, "taxonomy": taxonomy, **more}]}, "s"
    )


@pytest.mark.parametrize("lengths", [[1, 3], [3, 1]])
def test_groups_are_those_of_the_prefixes_the_shortest_outermost(lengths):
    found = schema(lengths, missingValues=[""])
    assert found == schema(NAMED, missingValues=[""])
    assert found.digest == schema(NAMED, missingValues=[""]).digest
    assert parse_schema(found.table_schema(), "s") == found


def test_prefixes_are_of_texts():
    with pytest.raises(ProblemsFound, match="prefixes are of texts"):
        schema([1], type="integer", categories=[10, 11, 20])
    with pytest.raises(ProblemsFound, match="taxonomy"):
        schema([])
