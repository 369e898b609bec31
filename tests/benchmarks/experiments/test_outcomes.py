"""Real tables by the documented path: where tables are found, what a refusal says, and which bounds are broken."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.data import Data
from benchmarks.experiments.outcomes import EXPERIMENT, broken, points_of, refusal
from benchmarks.methods.packaged_tables import ENDS, FILES, OTHER_FILES, packaged, without_open_texts


def test_every_table_is_taken_as_drafted_and_small_ones_with_ends_that_a_person_gives() -> None:
    assert len(FILES) == len(OTHER_FILES) == 7
    assert len(points_of(False)) == 14 + len(ENDS)
    assert all(EXPERIMENT.alone(point) for point in points_of(False)), "its seconds count"


@pytest.mark.parametrize("name", ["gss", "loanapp", "optima"])
def test_a_table_is_read_from_a_folder_of_packages(name: str, tmp_path: Path) -> None:
    rows = pd.DataFrame({"age": [18, 87], "sex": ["f", "m"]})
    file = tmp_path / FILES[name][1]
    file.parent.mkdir(parents=True)
    if file.suffix == ".parquet":
        rows.to_parquet(file)
    else:
        rows.to_csv(file, index=False, sep="\t" if file.suffix == ".dat" else ",")
    pd.testing.assert_frame_equal(packaged(name, Data(tmp_path, tmp_path / "scratch")), rows)


def test_only_texts_that_are_to_be_discovered_are_taken_out(tmp_path: Path) -> None:
    table, schema = tmp_path / "table.csv", tmp_path / "schema.json"
    table.write_text("age,sex,city\n018,f,Bonn\n87,m,\n", encoding="utf-8")
    fields = [
        {"name": "age", "type": "integer", "domain": "discover"},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "city", "type": "string", "domain": "discover"},
    ]
    schema.write_text(json.dumps({"fields": fields, "missingValues": [""]}), encoding="utf-8")
    without_open_texts(table, schema)
    assert json.loads(schema.read_text(encoding="utf-8")) == {"fields": fields[:2], "missingValues": [""]}
    assert table.read_text(encoding="utf-8") == "age,sex\n018,f\n87,m\n"


def test_a_refusal_names_the_command_and_its_words() -> None:
    said = b"Warning: a draft\n- rounded\nerror [bad-option]: epsilon: too small\nUse an epsilon of 2 | more.\n"
    command = ["python", "-m", "privity.interfaces.cli.main", "synthesize", "--data", "table.csv"]
    found = refusal(subprocess.CalledProcessError(3, command, stderr=said))
    assert found == "`synthesize`: error [bad-option]: epsilon: too small Use an epsilon of 2 / more."


def test_what_falls_short_is_named_by_the_size_of_the_table() -> None:
    good = {"outcome": "release", "rows": 500, "beyond": 0.04, "ks": 0.09, "bars": 100, "held": 95}
    refused = {"outcome": "`schema draft`: error", "rows": 500}
    assert broken([good, refused]) == []
    (beyond,) = broken([good, {**good, "rows": 3000, "ks": 0.01}])
    assert beyond == "beyond, from 2,000 rows on: 0.0400, not 0.02 or less"
    (bars,) = broken([{**good, "held": 80}])
    assert bars == "error bars that hold: 80.0%, not 93%"
