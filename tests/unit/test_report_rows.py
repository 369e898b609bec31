"""Synthetic rows as codes: of the frame and of the file the same, and those that reading by the descriptor gives."""

import numpy as np
import pandas as pd
import pytest

from common.errors import PrivityError
from common.reading import encode
from common.report.rows import code_frame, read_synthetic
from common.schema import parse_schema
from common.table import CodedTable, decode, write_csv
from tests.harness.tables import FIELDS

ODD = [
    *FIELDS,
    {
        "name": 'dose, "mg"',
        "type": "number",
        "edges": [0, 0.1, 0.3, 1e-3 + 1, 7],
        "missingValues": ["NA"],
    },
    {
        "name": "visits",
        "type": "integer",
        "constraints": {"minimum": -3, "maximum": 11},
        "bins": 4,
        "missingValues": [""],
    },
    {"name": "third", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "bins": 3},
    {"name": "code", "type": "string", "categories": ["007", "NA", "", " 7", "7.0"]},
    {"name": "level", "type": "number", "categories": [0.5, 1, 1.25]},
]


@pytest.fixture
def table() -> CodedTable:
    schema = parse_schema({"fields": ODD}, "s")
    generator = np.random.default_rng(5)
    return CodedTable(schema, tuple(generator.integers(0, size, 3000) for size in schema.domain))


def test_codes_of_the_frame_and_of_the_file_are_those_that_were_decoded(table, tmp_path):
    frame = decode(table, np.random.default_rng(1))
    write_csv(frame, tmp_path / "synthetic.csv")
    for found in (
        code_frame(frame, table.schema, "s"),
        read_synthetic(tmp_path / "synthetic.csv", table.schema),
        encode(frame, table.schema, "s"),
    ):
        for mine, drawn in zip(found.columns, table.columns, strict=True):
            assert (mine == drawn).all()


def test_values_at_the_edges_go_where_the_descriptor_says():
    edges = [0, 0.1, 0.2, 0.3]
    schema = parse_schema({"fields": [{"name": "x", "type": "number", "edges": edges}, FIELDS[1]]}, "s")
    values = [0.0, 0.1, 0.2, 0.3, 0.1 - 2**-56, 0.1 + 2**-55, 0.2 + 2**-54, 0.1 + 0.2 - 2**-53]
    frame = pd.DataFrame({"x": values, "ward": ["north"] * len(values)})
    attribute = schema.attributes[0]
    expected = [attribute.code_of(repr(value)) for value in values]
    assert code_frame(frame, schema, "s").columns[0].tolist() == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(age=200),
        lambda frame: frame.assign(ward="east"),
        lambda frame: frame.assign(cost=-1.0),
        lambda frame: frame.assign(cost=float("nan")),
        lambda frame: frame.drop(columns="age"),
        lambda frame: frame.iloc[:0],
    ],
)
def test_rows_that_do_not_fit_are_refused(change, tmp_path):
    schema = parse_schema({"fields": FIELDS}, "s")
    codes = tuple(np.zeros(4, dtype=np.int64) for _ in FIELDS)
    frame = change(decode(CodedTable(schema, codes), np.random.default_rng(0)))
    with pytest.raises(PrivityError):
        code_frame(frame, schema, "s")
    write_csv(frame, tmp_path / "synthetic.csv")
    with pytest.raises(PrivityError):
        read_synthetic(tmp_path / "synthetic.csv", schema)
