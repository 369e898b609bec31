"""Names and categories that could be taken for SQL: exact in every source, or refused, and never run."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.party.sources import spark_store
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from tests.harness.long import long_but, thinned
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

NAMES = [
    'a"b', "it's", "back\\slash", "semi;colon", "$1", "%s", "{x}", "${x}", "--", "/*", "a.b", "`tick`", "select", "x]y",
    "'; DROP TABLE visits; --", '"; DROP TABLE visits; --', "a0", "k0", "q", "n", "f", "coded", "mixed", "found", ":p",
    "?", "line end\\n", "E'x", "日本", " space ",
]  # fmt: skip
TEXTS = [
    "it's",
    '"',
    "\\",
    "\\'",
    "'' OR ''1''=''1",
    "\\\\",
    "\\n",
    "$1",
    "$$",
    "${x}",
    "${env:HOME}",
    "%s",
    "%",
    "{}",
    "{x}",
    "--",
    "/* */",
    ";",
    "'; DROP TABLE visits; --",
    "\\'; DROP TABLE visits; --",
    "?",
    ":p",
    "@x",
    "U&'\\0041'",
    "E'\\n'",
    "`",
    "\\u0041",
    "\\x41",
    "\\101",
    "_",
    "NULL",
    "",
    " ",
    "日本",
]
FORMS = ["csv", "parquet", "arrow", "duckdb", "sqlite", "postgresql", pytest.param("spark", marks=pytest.mark.long)]
MEMORY = 1 << 28


def opened(address: str, fields: list[dict[str, object]], hold: Hold) -> np.ndarray:
    schema = parse_schema({"fields": fields}, "s")
    rows = open_rows(parse_address(address), schema, Access(hold, MEMORY)).rows
    return rows.count([(a,) for a in range(len(fields))]).reshape(len(fields), -1)


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path):
    form = request.getfixturevalue("form")
    if form == "spark":
        request.getfixturevalue("spark")
    server = request.getfixturevalue("server") if form == "postgresql" else None
    return lambda rows: put(form, tmp_path, rows, server)


@pytest.mark.parametrize("form", FORMS)
def test_every_text_is_its_own_category(form: str, make) -> None:
    rows: list[Row] = [{"text": text, "some": text} for place, text in enumerate(TEXTS) for _ in range(place + 1)]
    address = make(rows)
    fields = [
        {"name": "text", "type": "string", "categories": TEXTS},
        {"name": "some", "type": "string", "categories": list(reversed(TEXTS))},
    ]
    for hold in (Hold.AUTO, Hold.AUTO if form == "csv" else Hold.STORE):
        found = opened(address, fields, hold)
        assert found[0].tolist() == list(range(1, len(TEXTS) + 1))
        assert found[1].tolist() == list(reversed(found[0].tolist()))


@pytest.mark.parametrize(("form", "missing"), thinned(product(FORMS, ["\\", "'", "\\' OR TRUE --", "%s"]), 3))
def test_a_text_for_missing_values_is_no_other_text(form: str, missing: str, make) -> None:
    address = make([{"text": text} for text in ("a", "a", "b", missing)])
    fields: list[dict[str, object]] = [
        {"name": "text", "type": "string", "categories": ["a", "b"], "missingValues": [missing]}
    ]
    assert opened(address, fields, Hold.AUTO).tolist() == [[2, 1, 1]]


@pytest.mark.parametrize("form", long_but(["csv", "parquet", "sqlite", "postgresql"], FORMS))
def test_every_name_is_that_of_its_column(form: str, make) -> None:
    rows = [{name: int(row < place) for place, name in enumerate(NAMES)} for row in range(len(NAMES))]
    address = make(rows)
    fields: list[dict[str, object]] = [{"name": name, "type": "integer", "categories": [1, 0]} for name in NAMES]
    found = opened(address, fields, Hold.AUTO if form == "csv" else Hold.STORE)
    assert found[:, 0].tolist() == list(range(len(NAMES)))
    for name in NAMES:
        alone = make([{"ok": 1, name: row % 2} for row in range(4)])
        one = {"name": name, "type": "integer", "categories": [1, 0]}
        ok = {"name": "ok", "type": "integer", "categories": [1, 0]}
        assert opened(alone, [ok, one], Hold.AUTO).tolist() == [[4, 0], [2, 2]], name
        if form == "spark":
            break


@pytest.mark.parametrize("table", ['a"b', "it's", "x; DROP TABLE visits", "%s", "back\\slash", "select", "nothing"])
@pytest.mark.parametrize("form", ["duckdb", "sqlite", "postgresql"])
def test_the_name_of_a_table_is_a_name(form: str, table: str, make) -> None:
    address = make([{"text": "a"}, {"text": "b"}])
    fields: list[dict[str, object]] = [{"name": "text", "type": "string", "categories": ["a", "b"]}]
    with pytest.raises(PrivityError, match="no such table") as found:
        opened(address.replace("#visits", f"#{table}"), fields, Hold.AUTO)
    assert found.value.kind is Catalogue.SOURCE_REFUSED
    assert opened(address, fields, Hold.AUTO).tolist() == [[1, 1]]


@pytest.mark.long
def test_spark_reads_texts_as_they_are_whatever_it_is_set_to_or_is_refused(
    spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["\\", "\\\\", "${x}"]
    address = put("spark", tmp_path, [{"text": text} for text in ("\\", "\\", "\\\\", "${x}")])
    fields: list[dict[str, object]] = [{"name": "text", "type": "string", "categories": texts}]
    assert opened(address, fields, Hold.STORE).tolist() == [[2, 1, 1]]
    session = SparkSession.getActiveSession()
    assert session is not None
    settings = {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.variable.substitute": "true"}
    for name, value in settings.items():
        session.conf.set(name, value)
        assert opened(address, fields, Hold.STORE).tolist() == [[2, 1, 1]]
    monkeypatch.setattr(spark_store, "SETTINGS", ())
    for name, value in settings.items():
        session.conf.set(name, value)
        with pytest.raises(PrivityError, match="it reads or compares texts in a way of its own"):
            opened(address, fields, Hold.STORE)
        session.conf.set(name, "false")


@pytest.mark.parametrize(
    "field", [{"name": "line\nend", "categories": ["a", "b"]}, {"name": "x", "categories": ["a\n", "b"]}]
)
def test_line_ends_and_other_control_characters_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(ProblemsFound, match="control-character"):
        parse_schema({"fields": [{"type": "string", **field}]}, "s")
