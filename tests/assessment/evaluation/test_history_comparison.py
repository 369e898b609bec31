"""Measures of histories: nothing apart from itself; each change shows in the measure that is about it."""

from itertools import pairwise

import numpy as np
import pytest

from privity.assessment.evaluation.history_comparison import compare_histories
from privity.common.data.history_reading import frame_source, read_histories
from privity.common.data.history_steps import Histories
from privity.common.data.schema import parse_schema
from tests.harness.histories import HOSPITAL, tables

SCHEMA = parse_schema(HOSPITAL, "hospital.json")


def histories(data):
    sources = (frame_source(data["patients"]), frame_source(data["admissions"]))
    return read_histories(SCHEMA, *sources, ("patients", "admissions")).in_order()


@pytest.fixture
def real() -> Histories:
    return histories(tables(1200))


def test_a_table_is_not_apart_from_itself(real):
    found = compare_histories(SCHEMA.history, real, real)
    assert {name for name, value in found.items() if name != "detection" and value} == set()
    assert found["detection"] <= 0.5


def test_another_sample_is_near(real):
    found = compare_histories(SCHEMA.history, real, histories(tables(1200, seed=2)))
    assert all(value < 0.12 for name, value in found.items() if name != "detection"), found
    assert found["detection"] < 0.6


@pytest.mark.parametrize(
    ("change", "moved", "still"),
    [
        (lambda d: shuffled(d, "ward"), ("transition", "two steps"), ("event", "number", "gap")),
        (lambda d: d.assign(ward="other"), ("event", "first event", "transition"), ("number", "gap")),
        (lambda d: d[d.groupby("patient").cumcount() < 1], ("number", "total"), ("first event",)),
        (lambda d: d.assign(discharged=d["admitted"]), ("total", "mean", "spread"), ("number", "gap")),
    ],
)
def test_each_change_shows_where_it_belongs(real, change, moved, still):
    data = tables(1200)
    found = compare_histories(SCHEMA.history, real, histories({**data, "admissions": change(data["admissions"])}))
    assert all(found[name] > 0.03 for name in moved), found
    assert all(found[name] < 0.02 for name in still), found
    assert found["detection"] > 0.55


def shuffled(frame, column):
    return frame.assign(**{column: np.random.default_rng(1).permutation(frame[column].to_numpy())})


def test_held_against_a_loop(real):
    """The distance of transitions, by a plain loop."""
    data = tables(1200)
    other = shuffled(data["admissions"], "ward")
    laws = []
    for frame in (data["admissions"], other):
        counts: dict[tuple[str, str], int] = {}
        for _, events in frame.groupby("patient"):
            wards = events.sort_values("admitted")["ward"].tolist()[:6]
            for pair in pairwise(wards):
                counts[pair] = counts.get(pair, 0) + 1
        laws.append({pair: count / sum(counts.values()) for pair, count in counts.items()})
    wanted = sum(abs(laws[0].get(pair, 0) - laws[1].get(pair, 0)) for pair in {*laws[0], *laws[1]}) / 2
    found = compare_histories(SCHEMA.history, real, histories({**data, "admissions": other}))
    # The mean over three attributes, of which two did not change.
    assert found["transition"] * 3 == pytest.approx(wanted)
