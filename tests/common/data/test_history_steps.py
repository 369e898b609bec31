"""Steps of histories: each person's row is a function of that person's data, held against a plain loop."""

import copy
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.history_reading import frame_source, read_histories
from privity.common.data.history_steps import hashed
from privity.common.data.schema import parse_schema
from privity.common.errors import RowProblemsFound
from tests.harness.histories import HOSPITAL, WARDS, hospital, tables

SCHEMA = parse_schema(HOSPITAL, "hospital.json")
EDGES = [0, 8, 31, 366, 3653]


def steps(patients, admissions, schema=SCHEMA):
    return read_histories(schema, frame_source(patients), frame_source(admissions), ("patients", "admissions")).steps()


def rows_of(table):
    return np.array(table.columns).T.astype(int)


def code(edges, value):
    return next(place for place in reversed(range(len(edges) - 1)) if value >= edges[place] or not place)


def day(text):
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def one_person(patient, admissions, most=6):
    """A person's row, by a loop."""
    born = 5 if patient.born == "unknown" else min((int(patient.born) - 1920) // 20, 4)
    events = sorted(
        (
            day(each.admitted),
            (
                0 if each.admitted < "2018-01-01" else 1,
                WARDS.index(each.ward),
                int(each.urgent),
                code([0, 3, 8, 31], day(each.discharged) - day(each.admitted)),
            ),
        )
        for each in admissions.itertuples()
        if each.patient == patient.patient
    )[:most]
    n = len(events)
    person = [int(patient.sex == "m"), born, n]
    if not n:
        return [*person, 2, 0, *[5, 2, 3], 3, *[5, 2, 3], 4]
    j = hashed(patient.patient) * n >> 32
    (moment, (_, *event)), before = events[j], events[:j]
    previous = list(before[-1][1][1:]) if before else [5, 2, 3]
    mean = (2 * sum(e[1][3] for e in before) + j) // (2 * j) if before else 3
    gap = code(EDGES, moment - before[-1][0]) if before else 4
    return [*person, events[0][1][0], j + 1, *previous, mean, *event, gap]


def test_held_against_a_loop():
    data = tables(200, seed=3)
    table, disorders = steps(**data)
    wanted = [one_person(patient, data["admissions"]) for patient in data["patients"].itertuples()]
    assert rows_of(table).tolist() == wanted
    assert disorders.beyond == (data["admissions"].groupby("patient").size() - 6).clip(lower=0).sum()
    assert (disorders.twice, disorders.orphans, disorders.late) == (0, 0, 0)


@settings(max_examples=25)
@given(st.data())
def test_a_row_follows_from_its_person_alone(draw):
    """Whatever is permuted, added or taken away of others, the rows of the rest stay; there is one for each person."""
    data = tables(30, seed=draw.draw(st.integers(0, 50)))
    patients, admissions = data["patients"], data["admissions"]
    before = dict(zip(patients["patient"], rows_of(steps(patients, admissions)[0]).tolist(), strict=True))
    gone = draw.draw(st.sets(st.sampled_from(patients["patient"].tolist()), max_size=20))
    seed = draw.draw(st.integers(0, 1000))
    others = tables(10, seed=seed + 100)
    others = {name: frame.assign(patient="Q" + frame["patient"]) for name, frame in others.items()}
    kept = patients[~patients["patient"].isin(gone)]
    mixed = [
        pd_concat([kept, others["patients"]], seed),
        pd_concat([admissions[~admissions["patient"].isin(gone)], others["admissions"]], seed),
    ]
    after, _ = steps(*mixed)
    assert after.rows == len(mixed[0])
    found = dict(zip(mixed[0]["patient"], rows_of(after).tolist(), strict=True))
    assert all(found[key] == before[key] for key in kept["patient"])


def pd_concat(frames, seed):
    return pd.concat(frames, ignore_index=True).sample(frac=1, random_state=seed).reset_index(drop=True)


def test_each_disorder_has_its_rule():
    data = tables(40, seed=5)
    patients, admissions = data["patients"], data["admissions"]
    clean = rows_of(steps(patients, admissions)[0])
    orphan = admissions.iloc[[0]].assign(patient="nobody")
    nobody = admissions.iloc[[0]].assign(patient=None)
    late = admissions.iloc[[0]].assign(admitted="2025-01-01", discharged="2025-01-01")
    more = pd_concat([admissions, orphan, nobody, late], 1)
    table, disorders = steps(patients, more)
    assert (rows_of(table) == clean).all()
    assert (disorders.orphans, disorders.late) == (2, 1)
    # A person who is there twice counts by the first of both rows in the order of all columns, wherever they stand.
    twice = patients.iloc[[0]].assign(sex="m" if patients["sex"][0] == "f" else "f")
    both = [steps(pd_concat([patients, twice], seed), admissions) for seed in (1, 2)]
    assert [disorders.twice for _, disorders in both] == [1, 1]
    rows = [sorted(map(tuple, rows_of(table))) for table, _ in both]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(patients)
    # Events at one time stand by their other columns.
    tied = admissions.assign(admitted="2016-05-05", discharged="2016-05-09")
    table, disorders = steps(patients, tied)
    assert disorders.ties > 0
    assert (rows_of(table) == rows_of(steps(patients, tied[::-1])[0])).all()


def test_persons_without_any_event():
    data = tables(10)
    table, _ = steps(data["patients"], data["admissions"].iloc[:0])
    rows = rows_of(table)
    assert (rows[:, 2] == 0).all()
    assert (rows[:, -1] == SCHEMA.domain[-1] - 1).all()


def test_every_event_is_as_likely_as_another():
    """The places that hashes give are even."""
    places = np.array([hashed(f"P{number}") * 4 >> 32 for number in range(4000)])
    assert np.abs(np.bincount(places) / 4000 - 0.25).max() < 0.03


def test_faults_of_both_tables_are_told_at_once():
    data = tables(20)
    patients = data["patients"].assign(sex="x")
    patients.loc[3, "patient"] = None
    admissions = data["admissions"].assign(ward="cellar")
    with pytest.raises(RowProblemsFound) as found:
        steps(patients, admissions)
    named = {(problem.file, problem.field) for problem in found.value.problems}
    assert named == {("patients", "sex"), ("admissions", "ward")}
    with pytest.raises(RowProblemsFound, match="persons without a key"):
        steps(data["patients"].assign(patient=[None] * 20), data["admissions"])
    with pytest.raises(RowProblemsFound, match="no such column"):
        steps(data["patients"], data["admissions"].drop(columns="patient"))


def test_positions_order_events():
    document = hospital(order="visit", gap=None, until=None)
    schema = document["resources"][1]["schema"]
    schema["fields"].append({"name": "visit", "type": "integer", "generate": "number"})
    data = tables(50)
    visits = data["admissions"].assign(visit=data["admissions"].groupby("patient").cumcount() + 1)
    found = parse_schema(document, "x")
    table, _ = steps(data["patients"], visits, found)
    upside_down, _ = steps(data["patients"], visits.assign(visit=-visits["visit"]), found)
    assert (rows_of(table) != rows_of(upside_down)).any()
    with pytest.raises(RowProblemsFound, match="values that are no order"):
        steps(data["patients"], visits.assign(visit="first"), found)


def test_no_key_and_no_moment_of_one_person_stops_the_others():
    """What can be no text of UTF-8, and what no integer of 64 bits holds."""
    document = copy.deepcopy(HOSPITAL)
    events = document["resources"][1]["schema"]
    events["history"] = {"order": "day", "most": 6, "gap": {"edges": [0, 5, 50]}}
    events["fields"] = [
        {"name": "patient", "type": "integer"},
        {"name": "day", "type": "integer", "edges": [0, 50, 100], "outOfDomain": "edge"},
    ]
    del events["rowConstraints"]
    found = parse_schema(document, "x")
    patients = tables(3)["patients"].assign(patient=pd.Series(["a", "\ud800", "b"], dtype=object))
    days = pd.DataFrame(
        {"patient": ["a", "\ud800", "b", "b"], "day": ["7", "8", "9" * 30, "-" + "9" * 30]}, dtype=object
    )
    table, _ = steps(patients, days, found)
    alone, _ = steps(patients.iloc[:1], days.iloc[:1], found)
    assert rows_of(table)[0].tolist() == rows_of(alone)[0].tolist()
