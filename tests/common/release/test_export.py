"""Noisy marginals for other libraries: what is written, and that the real mbi loads it and fits."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import NoiseLaw
from privity.common.release.export import export_dpsynth, export_mbi, measurement
from privity.common.release.release_folder import read_release
from tests.harness.command import privity
from tests.harness.ledgers import declared
from tests.harness.places import ROOT
from tests.harness.tables import FIELDS, people

pytestmark = pytest.mark.process

PAGE = ROOT / "docs" / "using_a_release.md"
SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "x", "type": "integer", "edges": [0, 1, 2, 3, 4, 5]},
            {"name": "y", "type": "string", "categories": ["a", "b"], "missingValues": [""]},
        ]
    },
    "s",
)
CHECKS = """
import numpy as np
checked = 0
for table in exported["measurements"]:
    if "groups" in table:
        continue
    noisy = np.array(table["noisy_measurement"])
    fitted = np.array(model.project(tuple(table["clique"])).datavector())
    assert fitted.shape == noisy.shape
    # Tables disagree by their noise, and a fit lies between them.
    assert np.abs(fitted - noisy).max() < 6 * table["stddev"] + 1, table["clique"]
    checked += 1
sums = [m for m in measurements if len(m.noisy_measurement) < domain.size(m.clique)]
for m in sums:
    fitted = np.array(m.query(model.project(m.clique)))
    assert np.abs(fitted - np.array(m.noisy_measurement)).max() < 6 * m.stddev + 1, m.clique
print(checked, len(sums), domain.attributes)
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    # Few attributes: jax compiles anew for each table's shape.
    people(3000)[["age", "ward", "smoker"]].to_csv(folder / "people.csv", index=False)
    (folder / "schema.json").write_text(json.dumps({"fields": FIELDS[:3]}))
    declared(folder / "ledger").close()
    done = privity(
        "synthesize", "--data", folder / "people.csv", "--schema", folder / "schema.json", "--epsilon", "8",
        "--algorithm", "privbayes", "--settings", '{"theta": "40"}',
        "--population", "people", "--ledger", folder / "ledger", "--out", folder / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "out"


def noisy(attributes, rows=100, variance=8.0, schema=SCHEMA):
    shape = [schema.derived.domain[a] for a in attributes]
    counts = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) + 10
    return NoisyTable(tuple(attributes), counts, NoiseLaw("discrete Laplace", Fraction(2)), variance, rows)


def test_a_table_over_attributes_stays_as_it_is():
    found = measurement("p", noisy((1, 0)), SCHEMA, 100)
    assert (found.clique, found.groups, found.rows) == ((1, 0), None, 100)
    assert found.noisy.tolist() == list(range(10, 25))
    assert found.deviation == math.sqrt(8)


def test_a_table_over_some_parties_is_scaled_to_all_rows_with_its_noise():
    found = measurement("p", noisy((0,), rows=25), SCHEMA, 100)
    assert found.noisy.tolist() == [40, 44, 48, 52, 56]
    assert (found.deviation, found.rows) == (4 * math.sqrt(8), 25)


@pytest.mark.parametrize("kind", ["bits", "gray"])
def test_all_bits_of_a_code_are_a_table_of_the_attribute(kind):
    bits = getattr(SCHEMA.derived, kind)(0)
    assert len(bits) == 3
    table = noisy((*bits, 1))
    found = measurement("p", table, SCHEMA, 100)
    assert (found.clique, found.groups) == ((0, 1), None)
    spell = (lambda code: code) if kind == "bits" else (lambda code: code ^ (code >> 1))
    expected = [table.counts.reshape(8, 3)[spell(code), y] for code in range(5) for y in range(3)]
    assert found.noisy.tolist() == expected


def test_a_table_over_a_generalisation_tells_what_its_cells_sum():
    level = SCHEMA.derived.levels(0)[1]
    found = measurement("p", noisy((1, level)), SCHEMA, 100)
    assert found.clique == (1, 0)
    groups = SCHEMA.derived.derive(level, np.arange(5))
    width = SCHEMA.derived.domain[level]
    assert found.groups.tolist() == [y * width + groups[x] for y in range(3) for x in range(5)]
    assert found.noisy.size == 3 * width


def test_a_table_that_would_need_too_many_cells_is_not_described(monkeypatch):
    monkeypatch.setattr("privity.common.release.export.MOST_CELLS", 14)
    assert measurement("p", noisy((1, SCHEMA.derived.levels(0)[1])), SCHEMA, 100) is None
    assert measurement("p", noisy((1, 0)), SCHEMA, 100) is not None


def with_a_generalisation(release):
    """The release with one more table, over a generalisation of age and over ward."""
    schema = release.schema
    ages, wards = schema.derived.levels(0)[1], 1
    table = people(3000)
    coarse = schema.derived.derive(ages, (table["age"].to_numpy() - 18) // 9)
    counts = np.zeros((schema.derived.domain[ages], schema.domain[wards]), dtype=int)
    np.add.at(counts, (coarse, table["ward"].map(["north", "south", "west"].index).to_numpy()), 1)
    entry = {
        **release.marginals["tables"][0], "attributes": [schema.derived.names[a] for a in (ages, wards)],
        "shape": list(counts.shape), "variance": 100.0, "counts": counts.ravel().tolist(),
    }  # fmt: skip
    return replace(release, marginals={**release.marginals, "tables": [*release.marginals["tables"], entry]})


@pytest.mark.long
def test_mbi_loads_the_lines_of_the_page_and_fits(release, tmp_path):
    (script,) = [
        code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "mbi import" in code
    ]
    exported = export_mbi(with_a_generalisation(read_release(release)), tmp_path / "m.json")
    assert exported.left_out == ()
    (tmp_path / "load.py").write_text(script + CHECKS)
    done = subprocess.run(
        [sys.executable, tmp_path / "load.py", tmp_path / "m.json"], capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    checked, sums, names = done.stdout.split(maxsplit=2)
    assert int(checked) + int(sums) == exported.tables
    assert int(checked) > 0
    assert int(sums) > 0
    assert names.strip() == "('age', 'ward', 'smoker')"


def test_the_lines_on_standard_errors_run_and_say_what_the_noise_does(release):
    (script,) = [
        code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "delta method" in code
    ]
    done = subprocess.run([sys.executable, "-c", script, release], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    share, of_sample, ratio = (re.findall(r"\d+\.\d+", line) for line in done.stdout.splitlines())
    real = people(3000)
    first = read_release(release).schema.attributes[2].labels[0]
    among = (real[real["ward"] == "north"]["smoker"] == first).mean()
    for (told, error), truth in ((share, real["ward"].isin(["north", "south"]).mean()), (ratio, among)):
        assert 0 < float(error) < 0.05
        assert abs(float(told) - truth) < 5 * float(error)
    assert float(of_sample[0]) > float(share[1])


def test_the_file_for_mbi_holds_every_revealed_cell_and_its_noise(release, tmp_path):
    found = read_release(release)
    export_mbi(found, tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    opened = found.tables()
    assert len(document["measurements"]) == len(opened)
    for entry, (phase, table) in zip(document["measurements"], opened, strict=True):
        assert entry["noisy_measurement"] == table.counts.ravel().tolist()
        assert entry["stddev"] == math.sqrt(table.variance)
        assert (entry["phase"], entry["rows"]) == (phase, 3000)
    assert document["domain"]["shape"] == [8, 3, 2]
    assert [len(labels) for labels in document["domain"]["labels"]] == document["domain"]["shape"]


def test_the_folder_for_dpsynth_has_tables_of_labels_with_a_last_column_of_counts(release, tmp_path):
    found = read_release(release)
    exported = export_dpsynth(found, tmp_path / "d")
    listed = json.loads((tmp_path / "d" / "measurements.json").read_text())
    domain = yaml.safe_load((tmp_path / "d" / "domain.yaml").read_text())
    assert exported.tables == len(listed["tables"]) > 0
    plain = [table for _, table in found.tables() if all(a < 3 for a in table.attributes)]
    assert exported.tables == len(plain)
    if len(plain) < len(found.tables()):
        assert "generalisations" in exported.left_out[0]
    for entry, table in zip(listed["tables"], plain, strict=True):
        frame = pd.read_csv(tmp_path / "d" / entry["file"], dtype=str, keep_default_na=False).astype({"count": float})
        assert list(frame.columns) == [*entry["clique"], "count"]
        assert frame["count"].tolist() == table.counts.ravel().tolist()
        for name in entry["clique"]:
            assert set(frame[name]) == set(domain[name]["possible_values"])
    assert {attribute["type"] for attribute in domain.values()} == {"CategoricalAttribute"}
