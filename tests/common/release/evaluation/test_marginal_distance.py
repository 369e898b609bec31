import json
from itertools import combinations

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from privity.common import formats
from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.contingency_tables import contingency_table
from privity.common.data.schema import load_schema
from privity.common.data.table_reading import read_table
from privity.common.exit_codes import Exit
from privity.common.release.evaluation import marginal_distance
from privity.common.release.evaluation.marginal_distance import distances_of, marginal_distances
from privity.interfaces.cli.evaluate import evaluate
from privity.interfaces.cli.schema import schema_app


def brute_force(real, synthetic, way):
    distances = []
    for attributes in combinations(range(len(real.columns)), way):
        left = contingency_table(real, attributes) / real.rows
        right = contingency_table(synthetic, attributes) / synthetic.rows
        distances.append(float(np.abs(left - right).sum() / 2))
    return np.mean(distances), max(distances)


# From tables that are all dense to tables whose pairs are sparse already.
@pytest.mark.statistical
@pytest.mark.parametrize("domain", [(2, 3, 4, 2), (16, 9, 20, 7), (300, 200, 3, 250), (5000, 2, 3)])
@pytest.mark.parametrize("sparse_factor", [0, 4, 10**9])
def test_equals_brute_force(make_table, monkeypatch, domain, sparse_factor):
    monkeypatch.setattr(marginal_distance, "SPARSE_FACTOR", sparse_factor)
    real, synthetic = make_table(domain, 60, seed=1), make_table(domain, 35, seed=2)
    found = marginal_distances(real, synthetic)
    for way in (1, 2, 3):
        mean, largest = brute_force(real, synthetic, way)
        assert found[f"tvd{way}"] == pytest.approx(mean, abs=1e-12)
        assert found[f"tvd{way}_max"] == pytest.approx(largest, abs=1e-12)
        some = distances_of(real, synthetic, list(combinations(range(len(domain)), way)))
        assert np.mean(list(some.values())) == pytest.approx(mean, abs=1e-12)
    only = marginal_distances(real, synthetic, ways=(3, 1))
    assert only == {key: found[key] for key in ("tvd1", "tvd1_max", "tvd3", "tvd3_max")}


def test_extremes(make_table):
    table = make_table((3, 4), 40)
    assert set(marginal_distances(table, table.take(np.tile(np.arange(40), 3))).values()) == {0.0}
    column = table.column(0)
    apart = marginal_distances(table.take(column == 0), table.take(column == 1))
    assert apart["tvd1_max"] == apart["tvd2"] == 1.0
    assert "tvd3" not in apart


@pytest.mark.statistical
def test_more_cells_than_64_bits_number(make_table):
    table, other = make_table([2**13] * 5, 30), make_table([2**13] * 5, 30, seed=9)
    assert marginal_distances(table, other, ways=(5,))["tvd5"] == 1.0
    assert marginal_distances(table, table, ways=(2, 5))["tvd5"] == 0.0


def test_misuse(make_table):
    table = make_table((2, 3), 5)
    for real, synthetic, ways in [
        (table, make_table((3, 2), 5), (1,)),
        (table, table.take([]), (1,)),
        (table, table, ()),
        (table, table, (0,)),
    ]:
        with pytest.raises(ValueError):
            marginal_distances(real, synthetic, ways)


@pytest.fixture
def files(tmp_path, people):
    generator = np.random.default_rng(0)
    (tmp_path / "schema.json").write_text(json.dumps(people.table_schema()))
    for name, rows in (("real.csv", 50), ("synthetic.csv.gz", 30)):
        codes = tuple(generator.integers(0, size, rows) for size in people.domain)
        write_csv(decode(CodedTable(people, codes), generator), tmp_path / name)
    return tmp_path


@pytest.mark.statistical
def test_evaluate_command(files, people):
    app = typer.Typer()
    app.command()(evaluate)
    out = files / "out.json"
    options = ["--real", "real.csv", "--synthetic", "synthetic.csv.gz", "--schema", "schema.json", "--json", "out.json"]
    arguments = [str(files / word) if "." in word else word for word in options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "not private" in result.output
    document = json.loads(out.read_text())
    assert formats.check(document, "evaluation", "out.json") == []
    assert document["rows"] == {"real": 50, "compared": 50, "control": None, "test": 10}
    assert document["schema_digest"] == people.digest
    (table,) = document["tables"]
    assert (table["name"], table["rows"]) == ("synthetic.csv.gz", 30)
    means = [entry["mean"] for entry in table["distances"]]
    assert means == sorted(means)
    assert means[0] > 0


def test_schema_check_command(files):
    run = CliRunner().invoke
    good = run(schema_app, ["check", str(files / "schema.json"), "--data", str(files / "real.csv")])
    assert good.exit_code == 0
    assert "7 attributes" in good.output
    assert "50 rows" in good.output
    (files / "bad.json").write_text('{"fields": [{"name": "x", "type": "string"}], "y": 1}')
    bad = run(schema_app, ["check", str(files / "bad.json")])
    assert bad.exit_code == Exit.INPUT
    assert "[no-domain]" in bad.output
    assert "[additionalProperties]" in bad.output
    assert "2 error(s)" in bad.output
    (files / "rows.csv").write_text("age,wrong\n3,4\n")
    rows = run(schema_app, ["check", str(files / "schema.json"), "--data", str(files / "rows.csv")])
    assert rows.exit_code == Exit.INPUT
    assert "[out-of-domain]" in rows.output
    assert "[extra-column]" in rows.output


def test_schema_draft_command(files):
    out = files / "draft.json"
    result = CliRunner().invoke(schema_app, ["draft", str(files / "real.csv"), "--out", str(out)])
    assert result.exit_code == 0
    assert "leak" in result.stderr
    assert len(load_schema(out).names) == 7
    printed = CliRunner().invoke(schema_app, ["draft", str(files / "real.csv")])
    assert json.loads(printed.stdout)["fields"]


@pytest.mark.statistical
def test_adult_marginals_of_three(shared_data):
    schema = load_schema(shared_data / "adult.schema.json")
    table = read_table(shared_data / "adult.csv.gz", schema)
    half = table.take(np.arange(0, table.rows, 2))
    found = marginal_distances(table, half)
    assert 0 < found["tvd1"] < found["tvd2"] < found["tvd3"] < 0.1
