"""A run of several parties under rules: its release meets them, though the curator alone has them in its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from privity.common.data.schema import parse_schema
from privity.common.release.verification.release_verification import check_release
from tests.harness.consortium import make_consortium

RULES = ["A0 != '1' or A2 in ['2', '3']", "A1 == '0' or A0 == '0'"]


@pytest.mark.parametrize(("attributes", "kept"), [(None, RULES), (("A0", "A2"), RULES[:1])])
def test_the_release_of_a_run_meets_the_rules_of_its_attributes(tmp_path: Path, attributes, kept) -> None:
    consortium = make_consortium(3, domain=(2, 3, 4))
    plain = consortium.schema
    consortium.schema = parse_schema({**plain.table_schema(), "rowConstraints": RULES}, "s")
    assert consortium.schema.digest == plain.digest
    chosen = {} if attributes is None else {"attributes": attributes}
    consortium.drive(tmp_path / "release", algorithm="dp-subn", **chosen)
    rows = pd.read_csv(tmp_path / "release" / "synthetic.csv")
    assert not ((rows["A0"] == 1) & (rows["A2"] < 2)).any()
    if attributes is None:
        assert not ((rows["A1"] != 0) & (rows["A0"] != 0)).any()
    run = json.loads((tmp_path / "release" / "run.json").read_text())
    assert [entry["rule"] for entry in run["constraints"]] == kept
    assert all(0 < entry["rejected"] < 1 and "enforced" not in entry for entry in run["constraints"])
    assert json.loads((tmp_path / "release" / "schema.json").read_text())["rowConstraints"] == kept
    assert any("row constraints are enforced" in line for line in check_release(tmp_path / "release"))
