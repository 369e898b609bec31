"""The trial of accuracy plans: tables taken by rule, fits kept, and a page that counts what was off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.methods.accuracy_forecast import COMPARED, fit_all, tried
from benchmarks.methods.library_tables import coded
from privity.assessment.planning.invented_tables import Profile, invent
from tests.harness.consortium import make_schema

PROFILE = Profile((0.5, 0.8, 1.0), 0.0, 1.0, 0.1)


def test_a_frame_is_declared_by_rule() -> None:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": range(200),
            "income": generator.normal(size=200),
            "children": generator.integers(0, 5, 200),
            "sex": generator.choice(["f", "m"], 200),
            "same": 1,
            "name": [f"n{row}" for row in range(200)],
            "married": generator.random(200) < 0.5,
            "height": generator.normal(size=200),
            "city": generator.choice(list("abcdefg"), 200),
        }
    )
    frame.loc[:9, "height"] = np.nan
    table = coded(frame)
    assert table is not None
    assert [name.split()[1] for name in table.schema.names] == [
        "income",
        "children",
        "sex",
        "married",
        "height",
        "city",
    ]
    assert table.schema.domain == (16, 5, 2, 2, 17, 7)
    assert (table.columns[4][:10] == 16).all()
    assert [bool(a.edges) for a in table.schema.attributes] == [True, False, False, False, True, False]
    assert table.schema.attributes[1].ordered
    assert not table.schema.attributes[5].ordered
    assert coded(frame[["sex", "city"]]) is None


def test_fits_are_kept_and_read_back(tmp_path: Path) -> None:
    table = invent(make_schema((2, 3, 4)), 500, PROFILE, np.random.default_rng(2))
    first = fit_all({"a": table}, tmp_path / "fits.jsonl")
    assert fit_all({"a": table}, tmp_path / "fits.jsonl") == first
    assert len((tmp_path / "fits.jsonl").read_text().splitlines()) == 1


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.usefixtures("importable_by_children")
def test_a_forecast_stands_beside_what_is_measured(tmp_path: Path) -> None:
    schemas = [make_schema((2, 3, 4) + (2,) * (number % 3)) for number in range(6)]
    tables = {str(n): invent(s, 500 + 100 * n, PROFILE, np.random.default_rng(n)) for n, s in enumerate(schemas)}
    first, *others = fit_all(tables, tmp_path / "fits.jsonl").values()
    assert first.rows == 500
    found = tried(tables["0"], others, 2, "1", 1)
    assert [one["algorithm"] for one in found] == list(COMPARED)
    for one in found:
        assert one["off"] == pytest.approx(one["typical"] / one["measured"] - 1)
        assert one["inside"] == (one["weak"] <= one["measured"] <= one["strong"])
