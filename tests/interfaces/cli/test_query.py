"""``privity query`` and ``privity support``: answers with intervals, as text and as JSON, and refusals."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.release.report.report_page import write_with_report
from privity.interfaces.cli.main import app
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    schema = parse_schema({"name": "people", "fields": FIELDS}, "schema")
    made = release_of(folder, "aim", people(1500), schema, settings={"tables": 2}, epsilon="4")
    write_with_report(folder / "release", *made)
    return folder / "release"


def said(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    return result.stdout


def test_a_share_has_its_interval_and_says_what_it_stands_on(release):
    table: pd.DataFrame = people(1500)
    document = json.loads(said("query", release, "share", "--where", "smoker=true", "--target", "rows", "--json"))
    (answer,) = document["answers"]
    assert answer["low"] < table["smoker"].astype(str).str.lower().eq("true").mean() < answer["high"]
    assert answer["errors"]["sampling"] == 0
    assert answer["support"]["kind"] == "measured"
    shown = said("query", release, "share", "--where", "smoker=true", "--level", "0.9")
    assert "90% from" in shown
    assert "Support: measured: the noisy marginals tell it without a model (R2 1.00)." in shown


def test_groups_stand_in_lines_of_their_own(release):
    shown = said("query", release, "quantile", "age", "--by", "smoker", "--extrapolate")
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["false", "true"]


def test_support_names_what_was_not_measured(release):
    names = [field["name"] for field in FIELDS]
    document = json.loads(said("support", release, *names, "--json"))
    assert document["kind"] == "extrapolated"
    assert document["missing"]
    shown = said("support", release, *names)
    assert "Not measured: " in shown
    assert "estimated from the tables that were selected last" in shown
    pair = document["missing"][0]
    with pytest.raises(PrivityError, match=f"nothing measured these pairs: {pair[0]} and {pair[1]}") as caught:
        said("query", release, "crosstab", *pair)
    assert caught.value.code == "not-supported"
    assert "extrapolated" in said("query", release, "crosstab", *pair, "--extrapolate")


def test_an_unknown_name_is_refused_with_those_that_there_are(release):
    with pytest.raises(PrivityError, match="'agee' is unknown"):
        said("support", release, "agee")
    with pytest.raises(PrivityError, match="'median' is unknown"):
        said("query", release, "median", "age")
