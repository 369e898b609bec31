"""One table however it is written down: CSV in a dialect, texts in frames and stores, values of their own types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_batches
from privity.common.errors import RowProblemsFound
from privity.common.exit_codes import Exit
from privity.common.formats.declared_keys import new_file
from privity.party.config import PartyConfig, load_config
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access
from privity.party.sources.inspection import inspect
from privity.party.sources.open_rows import load_table
from tests.harness.command import privity

pytestmark = pytest.mark.external

NAMES = ["ward", "cost", "visits"]
FIELDS: list[dict[str, Any]] = [
    {"name": "ward", "type": "string", "categories": ["süd", 'a "b"', "x;y", "other"], "outOfDomain": "other",
     "other": "other", "missingValues": ["NA"]},
    {"name": "cost", "type": "number", "edges": [-1000, 0, 0.5, 10, 2000], "missingValues": ["k.A."], "decimals": 2,
     "outOfDomain": "edge", "bareNumber": False},
    {"name": "visits", "type": "integer", "categories": [0, 1, 1200], "outOfDomain": "other", "other": 0,
     "missingValues": [""]},
]  # fmt: skip
DIALECT = {"delimiter": ";", "encoding": "cp1252", "decimalChar": ",", "groupChar": ".", "skipBlankRows": True}
WARDS = ["süd", 'a "b"', "x;y", "x\ny", "", "NA", "nowhere"]
COSTS = ["1,5", "0,49", "0,50 €", "1.999,99", "-1", "(3,25 €)", "", "k.A.", "1e2", "5000"]
VISITS = ["0", "1", "1.200", "1,0", "1200", "", "7", "-"]
ROWS = st.lists(st.tuples(*map(st.sampled_from, (WARDS, COSTS, VISITS))), min_size=1, max_size=50)


def schema(**keys: Any) -> Schema:
    return parse_schema({"dialect": DIALECT, **keys, "fields": FIELDS}, "s")


def codes(table: Any) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in table.columns), strict=True))


def in_csv(frame: pd.DataFrame, folder: Path) -> str:
    frame.to_csv(folder / "t.csv", sep=";", index=False, encoding="cp1252")
    return str(folder / "t.csv")


def in_parquet(frame: pd.DataFrame, folder: Path) -> str:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    return str(folder / "t.parquet")


def in_duckdb(frame: pd.DataFrame, folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.register("given", pa.Table.from_pandas(frame, preserve_index=False))
        database.execute("CREATE TABLE rows AS SELECT * FROM given")
    return str(folder / "t.duckdb") + "#rows"


STORES: list[Callable[[pd.DataFrame, Path], str]] = [in_csv, in_parquet, in_duckdb]


@settings(max_examples=10)
@given(rows=ROWS)
def test_texts_have_the_same_codes_wherever_they_are(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    frame = pd.DataFrame(rows, columns=NAMES, dtype=object)
    expected = codes(encode(frame, schema(), "t"))
    for put in STORES:
        address = put(frame, tmp_path_factory.mktemp("written"))
        assert codes(load_table(parse_address(address), schema())) == expected, put.__name__
    plain = next(iter(read_batches(Path(in_csv(frame, tmp_path_factory.mktemp("plain"))), schema())))
    assert codes(encode(plain, schema().released, "t")) == expected, "texts as the schema writes them"


TYPED = parse_schema(
    {"fields": [
        {"name": "real", "type": "number", "edges": [0, 1, 2], "missingValues": ["k.A."]},
        {"name": "whole", "type": "integer", "categories": [1, 2], "missingValues": ["-9"]},
        {"name": "word", "type": "string", "categories": ["a", "b"], "missingValues": ["NA"]},
        {"name": "flag", "type": "boolean", "missingValues": ["?"]},
    ]},
    "s",
)  # fmt: skip
NOTHING = pd.DataFrame(
    {"real": [0.5, math.nan, None], "whole": pd.array([1, None, 2], "Int64"), "word": ["a", None, "b"],
     "flag": pd.array([True, None, False], "boolean")}
)  # fmt: skip


@pytest.mark.parametrize("put", STORES)
def test_what_means_nothing_is_missing_wherever_it_is(put: Callable[..., str], tmp_path: Path) -> None:
    expected = [(0, 0, 0, 1), (2, 1, 1, 0), (2, 2, 2, 2)]
    assert codes(encode(NOTHING, TYPED, "t")) == expected
    address = parse_address(put(NOTHING, tmp_path), dialect={"delimiter": ";"})
    assert codes(load_table(address, TYPED)) == expected
    undeclared = [{k: v for k, v in field.items() if k != "missingValues"} for field in TYPED.table_schema()["fields"]]
    refused: list[Callable[[Schema], Any]] = [
        lambda s: load_table(address, s),
        lambda s: encode(NOTHING, s, "t"),
    ]
    for read in refused:
        with pytest.raises(RowProblemsFound, match=r'declare "missingValues": \[""\]') as caught:
            read(parse_schema({"fields": undeclared}, "s"))
        assert len(caught.value.problems) == 4


def test_a_nan_of_a_store_is_missing_and_an_infinity_is_not(tmp_path: Path) -> None:
    one = TYPED.over(["real"])
    pq.write_table(pa.table({"real": [math.nan, 1.0, None]}), tmp_path / "t.parquet")
    assert codes(load_table(parse_address(str(tmp_path / "t.parquet")), one)) == [(1,), (2,), (2,)]
    pq.write_table(pa.table({"real": [math.inf, 1.0]}), tmp_path / "t.parquet")
    with pytest.raises(RowProblemsFound, match="out-of-domain"):
        load_table(parse_address(str(tmp_path / "t.parquet")), one)


@pytest.mark.parametrize("put", STORES)
def test_columns_that_are_not_declared_are_ignored_where_that_is_declared(put: Any, tmp_path: Path) -> None:
    rows = [("süd", "1,5", "1", "x"), ("süd", "1,5", "1", "y")]
    frame = pd.DataFrame(rows, columns=[*NAMES, "secret"], dtype=object)
    address = parse_address(put(frame, tmp_path))
    ignoring = schema(extraColumns="ignore")
    assert ignoring.digest == schema().digest
    assert codes(load_table(address, ignoring)) == codes(encode(frame, ignoring, "t")) == [(0, 2, 1)] * 2
    for read in (lambda s: load_table(address, s), lambda s: encode(frame, s, "t"), lambda s: opened(address, s)):
        with pytest.raises(RowProblemsFound, match=r"""'secret': not declared.*declare "extraColumns": "ignore"""):
            read(schema())


def opened(address: Any, schema: Schema) -> None:
    found = inspect(address, schema, Access(memory=1 << 28))
    if found.problems:
        raise RowProblemsFound(list(found.problems))


def test_repeated_and_unnamed_columns_are_ignored_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(";x;ward;x;cost;visits\n0;a;süd;b;1;1\n", encoding="cp1252")
    table = load_table(parse_address(str(tmp_path / "t.csv")), schema(extraColumns="ignore"))
    assert codes(table) == [(0, 2, 1)]


def test_a_party_says_how_its_own_rows_are_written(tmp_path: Path) -> None:
    rows = [("süd", "1,5", "1"), ("NA", "", "")]
    in_csv(pd.DataFrame(rows, columns=NAMES, dtype=object), tmp_path)
    text = new_file(PartyConfig, name="north", curator="localhost:1", data="t.csv")
    (tmp_path / "party.toml").write_text(text + '[dialect]\ndelimiter = ";"\nencoding = "cp1252"\ndecimalChar = ","\n')
    declared = parse_schema({"fields": FIELDS}, "s")
    opened = load_config(tmp_path / "party.toml").rows.open(declared, 1).rows
    assert opened.schema.digest == declared.digest
    assert opened.count([(0,)]).tolist() == [1, 0, 0, 0, 1]
    (tmp_path / "party.toml").write_text(text + '[dialect]\ndelimiter = ";;"\n')
    with pytest.raises(Exception, match=r"party.toml:\d+: dialect.delimiter"):
        load_config(tmp_path / "party.toml")


def test_commands_take_a_dialect_and_say_what_it_should_be(tmp_path: Path) -> None:
    rows = [("süd", "1,5", "1"), ("NA", "", "")] * 3
    in_csv(pd.DataFrame(rows, columns=NAMES, dtype=object), tmp_path)
    (tmp_path / "s.json").write_text(json.dumps({"fields": FIELDS}))
    command = ("schema", "check", tmp_path / "s.json", "--data", tmp_path / "t.csv")
    refused = privity(*command)
    assert refused.returncode == Exit.INPUT
    assert '"encoding": "cp1252"' in refused.stdout
    inspected = privity("data", "inspect", tmp_path / "t.csv")
    proposed = next(line for line in inspected.stdout.splitlines() if '"dialect":' in line)
    done = privity(*command, "--dialect", proposed.split(":", 1)[1].strip())
    assert done.returncode == Exit.DONE, done.stdout
    assert "6 rows, all in the domain" in done.stdout
    assert "not a JSON object" in privity(*command, "--dialect", "delimiter=;").stderr
