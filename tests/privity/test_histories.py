"""Persons and their events in Python: two frames in, two frames out, and a release of both."""

import re
import sqlite3

import pandas as pd
import pytest

from privity import AIM, MST, OneWay, PrivBayes, Release, declare_population, load_model, simulate
from privity.common.errors import PrivityError, ProblemsFound
from tests.harness.histories import HOSPITAL, hospital, tables

PERSONS = 1500


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("patients", total_epsilon=100, total_delta="0.001")
    return tmp_path / "state"


def learner(kind=AIM, epsilon=8, **settings):
    return kind(epsilon, delta="1e-9" if kind is not OneWay else 0, population="patients", **settings)


def test_from_two_frames_to_a_release(state, tmp_path, capfd):
    data = tables(PERSONS)
    fitted = learner().fit(data, HOSPITAL, out=tmp_path / "release")
    release = Release(tmp_path / "release")
    assert any("2 of 2" in line or "3 of 3" in line for line in release.verify())
    both = release.tables
    assert {*both} == {"patients", "admissions"}
    assert len(both["patients"]) == PERSONS
    assert both["admissions"]["patient"].isin(both["patients"]["patient"]).all()
    assert both["admissions"]["admitted"].dtype.kind == "M"
    more = load_model(tmp_path / "release").sample_histories(100, 3, where={"sex": "f"})
    assert (more["patients"]["sex"] == "f").all()
    assert len(more["patients"]) == 100
    pd.testing.assert_frame_equal(
        more["admissions"], release.sample_histories(100, 3, where={"sex": "f"})["admissions"]
    )
    assert fitted.charged_.epsilon <= 8
    assert "all data of that person in both tables" in repr(release.statement)
    assert "number of events is protected" in repr(release.statement)


def test_the_number_of_events_is_told_nowhere(state, tmp_path, capfd):
    """Whatever is written or shown: files, ledger, reprs, output. A number of its own stands out."""
    data = tables(PERSONS, seed=11)
    events = len(data["admissions"])
    fitted = learner().fit(data, HOSPITAL, out=tmp_path / "release")
    release = Release(tmp_path / "release")
    output = capfd.readouterr()
    seen = [repr(fitted), repr(release), release._repr_html_(), fitted._repr_html_(), output.out, output.err]
    seen += [path.read_text() for path in (tmp_path / "release").iterdir() if path.suffix in (".json", ".html")]
    for file in state.rglob("*"):
        if file.is_file() and file.read_bytes()[:15] == b"SQLite format 3":
            with sqlite3.connect(file) as database:
                seen += list(database.iterdump())
    told = re.compile(rf"(?<![\w.,])({events}|{events:,})(?![\w.])")
    assert events not in (len(release.tables["admissions"]), PERSONS)
    assert not [text[:200] for text in seen if told.search(text)]


@pytest.mark.parametrize("kind", [MST, OneWay])
def test_what_loses_the_order_of_events_is_refused(kind):
    with pytest.raises(PrivityError, match="what follows from what"):
        learner(kind).fit(tables(50), HOSPITAL)


def test_too_few_persons_are_refused_with_an_epsilon_that_works():
    data = tables(300)
    with pytest.raises(PrivityError, match="would be noise") as found:
        learner(epsilon="0.5").fit(data, HOSPITAL)
    enough = re.search(r"epsilon of ([0-9.]+)", str(found.value))[1]
    learner(epsilon=enough).fit(data, HOSPITAL)


@pytest.mark.parametrize(("persons", "epsilon", "delta"), [(5, 1, 0), (100, "0.1", 0), (200, "1/3", 0), (1, 1, "1e-9")])
def test_far_too_few_persons_are_refused_in_words(persons, epsilon, delta):
    with pytest.raises(PrivityError, match=r"would be noise[\s\S]*(No epsilon is enough|Ask for an epsilon)"):
        PrivBayes(epsilon, delta=delta, population="patients").fit(tables(persons, seed=3), HOSPITAL)


def test_tables_that_do_not_fit_are_refused_before_anything_is_spent():
    data = tables(50)
    with pytest.raises(PrivityError, match="the schema is of patients and admissions"):
        learner().fit({"patients": data["patients"]}, HOSPITAL)
    with pytest.raises(PrivityError, match="one table"):
        learner().fit(data, {"fields": [{"name": "a", "type": "boolean"}]})
    with pytest.raises(PrivityError, match="two tables"):
        learner().fit(data["patients"], HOSPITAL)
    with pytest.raises(PrivityError, match="the schema says whose an event is"):
        learner().fit(data, HOSPITAL, person="patient", order="admitted")
    with pytest.raises(ProblemsFound):
        learner().fit(data, hospital(order="ward"))
    declare_population("repeated", total_epsilon=10, total_delta="0.001", rows_per_person=2)
    with pytest.raises(PrivityError, match="2 rows a person"):
        AIM(1, delta="1e-9", population="repeated").fit(data, HOSPITAL)
    assert declare_population("patients", total_epsilon=100, total_delta="0.001").spent == 0


def test_csv_files_give_the_same_rows(tmp_path):
    data = tables(400)
    for name, frame in data.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = {name: tmp_path / f"{name}.csv" for name in data}
    fitted = learner(epsilon=20).fit(paths, HOSPITAL)
    assert {*fitted.sample_histories(10, 1)} == {"patients", "admissions"}
    with pytest.raises(PrivityError, match="sample_histories"):
        fitted.sample(10)


@pytest.mark.long
def test_three_parties_over_the_network(tmp_path):
    """Persons are split; the events follow them. What is released is as of one owner."""
    data = tables(1800)
    release = simulate(
        data, HOSPITAL, parties=3, algorithm="aim", epsilon=20, delta="1e-9", secure_sum="masks", progress=False, seed=1
    )
    assert any("3 of 3" in line for line in release.verify())
    both = release.tables
    assert len(both["patients"]) == 1800
    assert both["admissions"]["patient"].isin(both["patients"]["patient"]).all()
    real = data["admissions"].groupby("patient").size().clip(upper=6).sum() / 1800
    assert abs(len(both["admissions"]) / 1800 - real) < 0.2
    with pytest.raises(PrivityError, match="other tables"):
        simulate(data["patients"], HOSPITAL, epsilon=1)
