"""SDV's metadata of a schema and a schema of SDV's metadata, and what SDMetrics says of rows by them."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privity import Schema
from privity.common.data.schema import parse_schema
from privity.common.data.sdv_metadata import sdv_metadata
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.release.release_contents import SCHEMA
from privity.common.release.report.report_page import write_with_report
from privity.given import given_schema
from privity.releases import Release
from tests.harness.command import privity
from tests.harness.releases import release_of

pytestmark = pytest.mark.process

FIELDS = [
    {"name": "id", "type": "string", "generate": "number", "pattern": "P-####"},
    {"name": "land", "type": "string", "constant": "AT"},
    {"name": "ward", "type": "string", "categories": ["north", "south"], "missingValues": [""]},
    {"name": "seen", "type": "datetime", "edges": ["2023-01-01", "2023-07-01", "2024-01-01"], "missingValues": [""]},
    {"name": "born", "type": "date", "format": "%d.%m.%Y", "edges": ["1930-01-01", "1970-01-01", "2010-01-01"]},
    {"name": "stay", "type": "duration", "edges": ["PT0H", "PT12H", "P3D"]},
    {"name": "age", "type": "integer", "edges": [0, 30, 60, 100], "missingValues": ["NA"]},
    {"name": "code", "type": "integer", "categories": [11, 12, 19]},
    {"name": "flag", "type": "boolean"},
]


def rows_of(rows: int = 1500) -> pd.DataFrame:
    """Invented, of the types that pandas reads."""
    draw = np.random.default_rng(3)
    return pd.DataFrame({
        "id": [f"P-{row:04}" for row in range(rows)],
        "land": "AT",
        "ward": draw.choice(["north", "south", None], rows),
        "seen": pd.Timestamp("2023-01-01") + pd.to_timedelta(draw.integers(0, 300 * 24, rows), "h"),
        "born": (pd.Timestamp("1930-01-01") + pd.to_timedelta(draw.integers(0, 25_000, rows), "D")).astype("M8[us]"),
        "stay": pd.to_timedelta(draw.integers(0, 70, rows), "h").astype("m8[us]"),
        "age": pd.array(draw.integers(0, 100, rows), dtype="Int64"),
        "code": draw.choice([11, 12, 19], rows),
        "flag": draw.random(rows) < 0.3,
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    made = release_of(place, "mst", rows_of(), parse_schema({"fields": FIELDS}, "s"))
    write_with_report(place / "release", *made)
    return place


def test_the_metadata_follows_from_the_schema():
    found = sdv_metadata(parse_schema({"fields": FIELDS}, "s"))
    assert found["METADATA_SPEC_VERSION"] == "SINGLE_TABLE_V1"
    assert found["primary_key"] == "id"
    assert list(found["columns"]) == [field["name"] for field in FIELDS]
    kinds = {name: column["sdtype"] for name, column in found["columns"].items()}
    assert kinds == {
        "id": "id", "land": "categorical", "ward": "categorical", "seen": "datetime", "born": "datetime",
        "stay": "numerical", "age": "numerical", "code": "categorical", "flag": "boolean",
    }  # fmt: skip
    assert found["columns"]["born"]["datetime_format"] == "%d.%m.%Y"
    assert re.fullmatch(found["columns"]["id"]["regex_format"], "P-0001")
    assert "primary_key" not in sdv_metadata(parse_schema({"fields": FIELDS[2:]}, "s"))


def test_sdmetrics_scores_a_release_by_it(folder):
    single_table = pytest.importorskip("sdmetrics.reports.single_table")
    done = privity("export", folder / "release", "--to", "sdv", "--out", folder / "metadata.json")
    assert done.returncode == 0, done.stderr
    assert "Metadata of 9 columns" in done.stdout
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    assert metadata == sdv_metadata(parse_schema(json.loads((folder / "release" / SCHEMA).read_text()), "s"))
    real, release = rows_of(), Release(folder / "release")
    for synthetic in (release.rows, release.sample(1500, seed=1, dtypes=real.dtypes)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quality, diagnostic = single_table.QualityReport(), single_table.DiagnosticReport()
            quality.generate(real, synthetic, metadata, verbose=False)
            diagnostic.generate(real, synthetic, metadata, verbose=False)
        shapes = quality.get_details("Column Shapes").set_index("Column")["Score"]
        # A column of another unit had 0.
        assert shapes[["seen", "born", "stay", "age", "ward", "code", "flag", "land"]].min() > 0.7
        assert diagnostic.get_score() > 0.95


def test_a_sample_has_the_types_of_the_real_table_and_other_keys(folder):
    release, real = Release(folder / "release"), rows_of()
    frame = release.sample(100, seed=2, dtypes=real.dtypes, skip_keys=1500)
    assert dict(frame.dtypes) == dict(real.dtypes)
    assert not set(frame["id"]) & set(release.rows["id"])
    assert isinstance(release.schema, Schema)


def test_what_sdv_says_of_a_table_becomes_a_schema_and_again_its_metadata(tmp_path: Path) -> None:
    columns = {
        "guest": {"sdtype": "id"},
        "code": {"sdtype": "id", "regex_format": "[A-Z]{3}"},
        "email": {"sdtype": "email", "pii": True},
        "card": {"sdtype": "unknown", "pii": True},
        "rewards": {"sdtype": "boolean"},
        "room": {"sdtype": "categorical"},
        "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
        "fee": {"sdtype": "numerical"},
        "checkin": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
        "paid": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
        "seen": {"sdtype": "datetime"},
    }
    single = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}
    (tmp_path / "metadata.json").write_text(json.dumps({"tables": {"guests": {"columns": columns}, "rooms": {}}}))
    schema = Schema.from_sdv(tmp_path / "metadata.json", "guests")
    assert schema.table_schema()["fields"] == Schema.from_sdv(single).table_schema()["fields"]
    types = {field["name"]: field["type"] for field in schema.table_schema()["fields"]}
    assert [types[name] for name in ("nights", "fee", "checkin", "paid", "seen")] == [
        "integer", "number", "date", "datetime", "datetime",
    ]  # fmt: skip
    assert given_schema(schema).names == ("rewards", "room", "nights", "fee", "checkin", "paid", "seen")
    assert "guest (keys made anew), code (keys made anew), email (left empty), card (left empty)" in repr(schema)
    again = sdv_metadata(given_schema(schema))["columns"]
    for name in ("guest", "rewards", "room", "checkin", "paid"):
        assert again[name]["sdtype"] == columns[name]["sdtype"]
    assert again["checkin"] == columns["checkin"]


@pytest.mark.parametrize(
    ("metadata", "table", "said"),
    [
        ({"columns": 3}, None, "metadata: they describe no columns"),
        ([], None, "metadata: they describe no columns"),
        ({"tables": {"a": {"columns": {}}, "b": {"columns": {}}}}, None, "table: there are 2"),
        ({"tables": {"a": {"columns": {}}}}, "c", "table: .c. is none"),
    ],
)
def test_what_is_no_metadata_is_refused(metadata: Any, table: str | None, said: str) -> None:
    with pytest.raises(PrivityError, match=said):
        Schema.from_sdv(metadata, table)


def test_a_format_that_loses_the_year_is_refused_with_its_field() -> None:
    columns = {"born": {"sdtype": "datetime", "datetime_format": "%d/%m"}}
    with pytest.raises(ProblemsFound, match="born"):
        Schema.from_sdv({"columns": columns})
