"""Means, shares and cross-tabs of the report are those that a question gives, with their intervals."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from privity.common.data.schema import parse_schema
from privity.common.release.queries.ask import ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.report.estimates import CROSS_TABS, FREQUENT, estimates
from privity.common.release.report.number_texts import percent, real
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    schema = parse_schema({"name": "people", "fields": FIELDS}, "people")
    release, synthetic = release_of(tmp_path_factory.mktemp("released"), "aim", people(3000), schema, "3")
    return overview(release, synthetic.table)


def test_every_figure_is_that_of_a_question(whole):
    found = estimates(whole.release, whole.table, whole.strongest(100))
    estimator = Estimator(Evidence.of(whole.release))
    assert found.about == "population"
    assert {one.name for one in found.means} == {"age", "score", "cost"}
    for one in found.means:
        (asked,) = ask(estimator, "mean", [one.name], midpoints=True)
        assert one.middle == asked
        if one.bounds:
            assert one.bounds.low <= one.middle.low < one.middle.high <= one.bounds.high
    for name, values in found.shares:
        assert 0 < len(values) <= FREQUENT
        told = {each.of[name]: each for each in ask(estimator, "crosstab", [name])}
        for label, answer in values:
            assert answer.value == pytest.approx(told[label].value)
            assert (answer.low, answer.high) == pytest.approx((told[label].low, told[label].high))
    assert 0 < len(found.cross_tabs) <= CROSS_TABS
    for tab in found.cross_tabs:
        for _, answers in tab.rows:
            assert len(answers) == len(tab.columns)
            if all(answer.value is not None for answer in answers):
                assert sum(answer.value for answer in answers) == pytest.approx(1, abs=0.5), "but for noise"


def test_the_page_shows_them(whole):
    page = re.sub(r"<[^>]+>|\s+", " ", report_page(whole))
    found = estimates(whole.release, whole.table, whole.strongest(100))
    for one in found.means:
        assert f"{real(one.middle.low)}" in page
    for _, values in found.shares:
        for _, answer in values:
            assert percent(answer.value, 1).replace("\u00a0", " ") in page.replace("\u00a0", " ")


def test_numbers_as_large_as_a_schema_takes_make_a_page(tmp_path):
    largest = {"name": "mass", "type": "number", "categories": [-1e100, 0, 1e100]}
    frame = pd.DataFrame({"mass": ["-1e100", "0", "1e100"] * 100})
    schema = parse_schema({"name": "masses", "fields": [largest]}, "masses")
    release, synthetic = release_of(tmp_path, "one-way", frame, schema, "3")
    with np.errstate(over="ignore", invalid="ignore"):
        assert "Means and shares" in report_page(overview(release, synthetic.table))
