"""A bin is named for all that it holds, and a field keeps between which values a number was measured."""

from __future__ import annotations

import pytest

from privity.common.data.bin_labels import ALL, run_label
from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.release.shortcomings import beyond_note, beyond_ranges


def one(**keys):
    return parse_schema({"fields": [{"name": "x", **keys}]}, "s").attributes[0]


@pytest.mark.parametrize(
    ("declared", "labels"),
    [
        ({"type": "integer", "edges": [0, 18, 65, 97]}, ("[0, 18)", "[18, 65)", "[65, 97]")),
        (
            {"type": "integer", "edges": [0, 18, 65, 97], "outOfDomain": "edge"},
            ("17 and less", "[18, 65)", "65 and more"),
        ),
        (
            {"type": "number", "edges": [0, 1.5, 2, 9], "outOfDomain": "edge"},
            ("below 1.5", "[1.5, 2)", "2 and more"),
        ),
        (
            {"type": "date", "edges": ["2020-01-01", "2021-01-01", "2022-01-01"], "outOfDomain": "edge"},
            ("2020-12-31 and earlier", "2021-01-01 and later"),
        ),
        ({"type": "integer", "edges": [0, 9], "outOfDomain": "edge", "missingValues": [""]}, (ALL, "(missing)")),
    ],
)
def test_end_bins_say_that_they_hold_what_lies_farther_out(declared, labels):
    assert one(**declared).labels == labels


@pytest.mark.parametrize(
    ("first", "last", "label"), [(0, 1, "64 and less"), (1, 2, "18 and more"), (1, 1, "[18, 65)"), (0, 2, ALL)]
)
def test_neighbouring_bins_are_named_as_one(first, last, label):
    assert run_label(one(type="integer", edges=[0, 18, 65, 97], outOfDomain="edge"), first, last) == label


def measured(beyond, low=18, high=60):
    return {"minimum": low, "maximum": high, "beyond": beyond}


def test_the_share_beyond_is_kept_and_said_with_its_error_and_what_mends_it():
    edges = {"type": "integer", "edges": [0, 18, 97], "outOfDomain": "edge"}
    attribute = one(**edges, measured=measured({"share": 0.25, "error": 0.07}))
    document = parse_schema({"fields": [{"name": "x", **edges, "measured": measured(None)}]}, "s").table_schema()
    assert document["fields"][0]["measured"] == measured(None)
    assert beyond_ranges([attribute]) == ["x: 25.0% of the rows ± 7.0% (measured from 18 to 60)"]
    assert "declare minimum and maximum" in beyond_note([attribute])
    hardly = one(**edges, measured=measured({"share": 0.004, "error": 0.07}))
    assert beyond_note([hardly, one(**edges)]) == ""


@pytest.mark.parametrize("wrong", [measured(None, 61, 60), measured(None, -1), measured(None, 18, 98)])
def test_a_measured_range_lies_within_the_edges(wrong):
    with pytest.raises(ProblemsFound) as found:
        one(type="integer", edges=[0, 18, 97], measured=wrong)
    assert [problem.rule for problem in found.value.problems] == ["measured-range"]


def test_a_measured_range_needs_edges():
    with pytest.raises(ProblemsFound) as found:
        one(type="integer", categories=[1, 2], measured=measured(None))
    assert "needs-bins" in [problem.rule for problem in found.value.problems]
