"""The trial of accuracy plans: tables taken by rule, fits kept, and a page that counts what was off."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.accuracy_plan.__main__ import fit_all, read_fits
from benchmarks.accuracy_plan.library import coded
from benchmarks.accuracy_plan.trial import Tried, report, try_table
from benchmarks.datasets import Dataset

from privity.deploy.planning.invented_tables import Profile, invent
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


@pytest.mark.usefixtures("importable_by_children")
def test_fits_are_kept_and_read_back(tmp_path: Path) -> None:
    table = invent(make_schema((2, 3, 4)), 500, PROFILE, np.random.default_rng(2))
    first = fit_all(iter([("a", table)]), tmp_path / "fits.jsonl", 1)
    assert read_fits(tmp_path / "fits.jsonl") == first
    assert fit_all(iter([("a", table)]), tmp_path / "fits.jsonl", 1) == first
    assert len((tmp_path / "fits.jsonl").read_text().splitlines()) == 1


@pytest.mark.usefixtures("importable_by_children")
def test_a_table_is_tried_once_and_the_page_says_how_far_off(tmp_path: Path) -> None:
    schemas = [make_schema((2, 3, 4) + (2,) * (number % 3)) for number in range(6)]
    tables = [invent(s, 500 + 100 * n, PROFILE, np.random.default_rng(n)) for n, s in enumerate(schemas)]
    fits = fit_all(((str(n), t) for n, t in enumerate(tables)), tmp_path / "fits.jsonl", 1)
    options = argparse.Namespace(
        cache=tmp_path / "tried.jsonl", out=tmp_path / "out", epsilons=["1"], parties=[2], repeats=1, processes=1,
        data=[Path("x.csv")], schema=[Path("x.json")],
    )  # fmt: skip
    for _ in range(2):
        try_table("x", tables[0], list(fits.values())[1:], options)
    tried = [Tried(**json.loads(line)) for line in options.cache.read_text().splitlines()]
    assert [(t.algorithm, t.parties, t.epsilon) for t in tried] == [
        (name, 2, "1") for name in ("dp-subn", "privbayes", "jtree", "one-way")
    ]
    report([Dataset("x", Path("x.csv"), Path("x.json"), "a")], fits, options)
    page = (tmp_path / "out" / "accuracy_plan.md").read_text()
    within = sum(abs(t.off) <= 0.25 for t in tried)
    assert f"{within} of 4 | {sum(t.inside for t in tried)} of 4" in page
    assert (tmp_path / "out" / "accuracy_plan" / "foretold.svg").exists()
