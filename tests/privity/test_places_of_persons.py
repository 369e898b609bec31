"""Absent rows from Python: every table needs person and order then, and how many rows there are shows nowhere."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privity import Ledger, OneWay, Schema, Synthesizer, declare_population, simulate
from privity.common.errors import PrivityError
from privity.common.release.session_release import finished, synthesised
from privity.local_learner import LocalLearner

WARD = {"name": "ward", "type": "string", "categories": ["n", "s"]}
SCORE = {"name": "score", "type": "integer", "edges": [0, 10, 20, 30, 40]}
SCHEMA = {"absentRows": True, "fields": [WARD, SCORE]}
OPEN = {"absentRows": True, "fields": [{"name": "ward", "type": "string", "domain": "discover"}, SCORE]}
KEYS = {"person": "patient", "order": "visit"}
PERSONS, MOST = 499, 3


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("people", total_epsilon=50, total_delta="0.001", rows_per_person=MOST)
    declare_population("rows", total_epsilon=50, total_delta="0.001")


def visits(rows_of_one: int = 2) -> pd.DataFrame:
    """Two rows of each person but one."""
    counts = np.full(PERSONS, 2)
    counts[7] = rows_of_one
    patient = np.repeat(np.arange(PERSONS), counts)
    visit = np.concatenate([np.arange(count) for count in counts])
    return pd.DataFrame(
        {"patient": patient, "visit": visit, "ward": np.where(patient % 3, "n", "s"), "score": patient % 40}
    )


def in_forms(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    frame.to_csv(folder / "visits.csv", index=False)
    frame.to_parquet(folder / "visits.parquet")
    lazy = pl.from_pandas(frame).lazy()
    return {"pandas": frame, "polars": pl.from_pandas(frame), "lazy": lazy, "Arrow": pa.Table.from_pandas(frame),
            "csv": folder / "visits.csv", "parquet": str(folder / "visits.parquet")}  # fmt: skip


@pytest.mark.parametrize("population", ["people", "rows"])
def test_every_table_needs_person_and_order_under_a_schema_with_absent_rows(population: str, tmp_path: Path) -> None:
    attributes = visits()[["ward", "score"]]
    for name, table in in_forms(attributes, tmp_path).items():
        with pytest.raises(PrivityError, match="no column says whose a row is") as refused:
            OneWay(1, population=population).fit(table, SCHEMA)
        assert "Name the column of the person's key" in refused.value.remedy, name
        with pytest.raises(PrivityError, match="no column says whose a row is"):
            Schema.discover(table, OPEN, epsilon=1, delta="1e-6", population=population)
        with pytest.raises(PrivityError, match="parties of a simulation know no persons") as alone:
            simulate(table, SCHEMA, epsilon=1, progress=False)
        assert 'Take "absentRows" out' in alone.value.remedy
    assert Ledger(population).spent == 0


def places_of(model: LocalLearner) -> int:
    """The public number of rows."""
    return model.fitted.learnt.places


def test_the_remedies_work(tmp_path: Path) -> None:
    for name, table in in_forms(visits(), tmp_path).items():
        model = OneWay("0.5", population="people").fit(table, SCHEMA, **KEYS)
        assert places_of(model) == PERSONS * MOST, name
        assert model.charged_.epsilon == MOST * model.epsilon
    frame = visits()[["ward", "score"]]
    rows_alone = OneWay(1, population="rows").fit(frame, {"fields": [WARD, SCORE]})
    assert places_of(rows_alone) == len(frame)


def test_categories_are_discovered_in_the_places_of_persons(tmp_path: Path) -> None:
    frame = visits()
    hog = pd.DataFrame({"patient": 10**6, "visit": np.arange(5000), "ward": "secret", "score": 1})
    for table in in_forms(pd.concat([frame, hog], ignore_index=True), tmp_path).values():
        found = Schema.discover(table, OPEN, epsilon=2, delta="1e-6", population="people", **KEYS)
        assert found["ward"].categories == ["n", "s", "(other)"]
    drafted = Schema.discover(frame, types="as stored", epsilon=2, delta="1e-6", population="people", **KEYS)
    assert drafted.names == ("ward", "score")
    assert drafted.table_schema()["absentRows"] is True


def shown_by(frame: pd.DataFrame, folder: Path) -> list[str]:
    """All that a fit and a release of it show but noisy figures and the sentences that hold them."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        model = Synthesizer(10, population="people").fit(frame, SCHEMA, **KEYS)
    learnt = model.fitted.learnt
    release = finished(learnt, synthesised(learnt.model, places_of(model), 700, 1).synthetic)
    run = {key: value for key, value in release.run.items() if key not in ("run", "files")}
    privacy = {key: value for key, value in release.privacy.items() if key != "run"}
    ledger = re.sub("local-[0-9a-f]+", "RUN", repr(Ledger("people")))
    return [
        out.getvalue(),
        err.getvalue(),
        repr(model),
        model._repr_html_(),
        ledger,
        json.dumps(run),
        json.dumps(privacy),
    ]


def test_nothing_that_a_fit_shows_tells_how_many_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbouring tables: one person has one row, two or three; all else is noise."""
    shown = []
    for rows in (1, 2, 3):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"state{rows}"))
        declare_population("people", total_epsilon=50, total_delta="0.001", rows_per_person=MOST)
        frame = visits(rows)
        shown.append(shown_by(frame, tmp_path))
        assert not any(str(len(frame)) in told for told in shown[-1])
    assert shown[0] == shown[1] == shown[2]
    assert str(PERSONS * MOST) in shown[0][-1], "the number of places is public"


def test_a_fit_without_places_would_tell_it(tmp_path: Path) -> None:
    """The broken variant: rows taken as they are."""
    sizes = set()
    for rows in (1, 2):
        frame = visits(rows)[["ward", "score"]]
        model = OneWay("0.5", population="rows").fit(frame, {"fields": [WARD, SCORE]})
        sizes.add(places_of(model))
    assert len(sizes) == 2
