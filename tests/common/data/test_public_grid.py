"""Open domains: the grid, and bins with a histogram of values within them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.public_grid import EXACT, LARGEST, grid_edges
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound

bounds = st.none() | st.integers(-(10**7), 10**7).map(Fraction)


@given(st.integers(0, 6), bounds, bounds)
def test_a_grid_covers_its_range_finely(decimals, low, high):
    if low is not None and high is not None and low >= high:
        return
    if low is not None and high is None and low >= LARGEST:
        return
    edges = grid_edges(decimals, low, high)
    unit = Fraction(1, 10**decimals)
    end = LARGEST if high is None else high
    assert edges[0] == (-LARGEST if low is None else low)
    # The last cell is closed, so that the greatest value may have one of its own.
    assert edges[-1] == end or edges[-2:] == (end, end + unit / 2)
    # Twice as whole numbers of the lattice: to compare so many fractions takes seconds.
    twice = [int(2 * edge / unit) for edge in edges]
    assert [Fraction(edge) * unit / 2 for edge in twice] == list(edges)
    for below, above in pairwise(twice):
        assert below < above
        assert 100 * (above - below) <= max(200, min(abs(below), abs(above))), (below, above)
        if max(abs(below), abs(above)) <= 2 * EXACT and below > twice[0] and above < 2 * end / unit:
            assert above - below == 2, "near zero each point has a cell"


def field(**keys):
    return {"name": "x", "type": "integer", **keys}


def attribute(**keys):
    (found,) = parse_schema({"fields": [field(**keys)]}, "s").attributes
    return found


def test_an_open_domain_is_the_same_whatever_the_rows_are_and_counts_what_lies_beyond_it():
    found = attribute(domain="discover")
    assert found.discover
    assert found.out_of_domain == "edge"
    assert found.code_of(str(10**15)) == found.values - 1
    assert found.code_of(str(-(10**15))) == 0
    assert found.labels[found.code_of("40")] == "[40, 41)"
    assert found.code_of("12345") == found.code_of("12399") == found.code_of("12300")
    assert found.code_of("12400") == found.code_of("12300") + 1
    narrow = attribute(domain="discover", constraints={"minimum": 0, "maximum": 120})
    assert narrow.values == 121
    for mark in (99_999, -99_999, 999_999, -999_999, 40, -40):
        assert found.labels[found.code_of(str(mark))] == f"[{mark}, {mark + 1})", "a cell of its own"
    (yes,) = parse_schema(
        {"fields": [field(domain="discover", constraints={"minimum": 0, "maximum": 1})]}, "s"
    ).attributes
    assert [yes.code_of("0"), yes.code_of("1")] == [0, 1]


@pytest.mark.parametrize(
    "declared",
    [
        field(domain="discover"),
        field(domain="discover", outOfDomain="refuse"),
        field(domain="discover", constraints={"minimum": -5, "maximum": 2000000}, missingValues=["NA"]),
        {"name": "x", "type": "number", "domain": "discover", "decimals": 2},
        field(edges=[0, 1, 10], histogram={"edges": [0, 1, 5, 10], "weights": [7, 2, 1]}),
        {"name": "x", "type": "number", "edges": [0, 5, 10], "decimals": 1},
    ],
)
def test_open_domains_and_histograms_are_written_as_they_are_read(declared):
    schema = parse_schema({"fields": [{**declared, "readOffRows": "undeclared"}]}, "s")
    assert parse_schema(schema.table_schema(), "s") == schema


def test_the_digest_is_of_what_decides_codes_and_how_they_are_drawn():
    plain = field(edges=[0, 5, 10])
    drawn = {**plain, "histogram": {"edges": [0, 1, 5, 10], "weights": [1, 0, 2]}}
    otherwise = {**plain, "histogram": {"edges": [0, 1, 5, 10], "weights": [1, 1, 2]}}
    rounded = {**plain, "type": "number", "decimals": 1}
    binned = [plain, drawn, otherwise, {**plain, "type": "number"}, rounded, {**rounded, "decimals": 2}]
    assert len({parse_schema({"fields": [one]}, "s").digest for one in binned}) == len(binned)
    open_ = [field(domain="discover"), field(domain="discover", constraints={"minimum": 0, "maximum": 9})]
    cents = {"name": "x", "type": "number", "domain": "discover", "decimals": 2}
    digests = {parse_schema({"fields": [one]}, "s").digest for one in (*open_, cents, {**cents, "decimals": 3})}
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("declared", "rule"),
    [
        (field(domain="discover", bins=3), "two-domains"),
        (field(domain="found"), "const"),
        ({"name": "x", "type": "boolean", "domain": "discover"}, "type-mismatch"),
        (field(domain="discover", decimals=2), "type-mismatch"),
        (field(domain="discover", constraints={"minimum": 10**13, "maximum": 2 * 10**13}), "coarse-grid"),
        (field(categories=[1, 2], histogram={"edges": [0, 1], "weights": [1]}), "needs-bins"),
        (field(edges=[0, 5, 10], histogram={"edges": [0, 10], "weights": [1]}), "histogram-edges"),
        (field(edges=[0, 5, 10], histogram={"edges": [0, 5, 10], "weights": [1]}), "histogram-edges"),
        (field(edges=[0, 5, 10], histogram={"edges": [0, 5, 5, 10], "weights": [1, 1, 1]}), "histogram-edges"),
        (field(edges=[0, 5, 10], histogram={"edges": [0, 0.5, 0.7, 5, 10], "weights": [1, 1, 1, 1]}), "empty-cell"),
        (field(edges=[0, 5], histogram={"edges": [0, 5], "weights": [-1]}), "minimum"),
    ],
)
def test_faults_of_open_domains_and_histograms_are_named(declared, rule):
    with pytest.raises(ProblemsFound) as found:
        parse_schema({"fields": [declared]}, "s")
    assert rule in {problem.rule for problem in found.value.problems}


def test_a_draft_is_refused_with_the_command_until_somebody_declares_it_public():
    drafted = field(bins=2, constraints={"minimum": 0, "maximum": 9}, readOffRows="undeclared")
    schema = parse_schema({"fields": [drafted]}, "s")
    with pytest.raises(PrivityError, match=r"privity schema review draft\.json"):
        schema.require_reviewed("draft.json")
    parse_schema({"fields": [{**drafted, "readOffRows": "organiser"}]}, "s").require_reviewed("s")


def drawn(declared, codes, seed=0):
    schema = parse_schema({"fields": [declared]}, "s")
    column = np.array(codes, dtype=np.uint8)
    return decode(CodedTable(schema, (column,)), np.random.default_rng(seed))["x"].to_numpy()


def test_values_are_drawn_by_the_histogram_within_their_bin():
    histogram = {"edges": [0, 1, 4, 10, 12, 20], "weights": [30, 0, 10, 0, 0]}
    values = drawn(field(edges=[0, 4, 10, 20], histogram=histogram), [0] * 2000 + [1] * 2000 + [2] * 2000)
    assert set(values[:2000]) == {0}, "the other cell of the bin has no weight"
    assert set(values[2000:4000]) == set(range(4, 10))
    last = values[4000:]
    assert set(last) == set(range(10, 21)), "without any weight evenly, the last bin closed"
    shares = np.bincount(last - 10) / 2000
    assert np.abs(shares - 1 / 11).max() < 0.03


def test_values_keep_their_decimals():
    values = drawn({"name": "x", "type": "number", "decimals": 1, "edges": [0, 0.1, 2]}, [0] * 50 + [1] * 500)
    assert set(values[:50]) == {0.0}
    assert {f"{value:.10g}" for value in values[50:]} == {f"{place / 10:.10g}" for place in range(1, 21)}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.data())
def test_every_value_has_the_code_that_it_is_drawn_for(weights, data):
    edges = list(range(0, 3 * len(weights) + 1, 3))
    inner = data.draw(st.sets(st.sampled_from(edges[1:-1]))) if len(edges) > 2 else set()
    declared = field(edges=sorted({0, edges[-1], *inner}), histogram={"edges": edges, "weights": weights})
    if len(declared["edges"]) == 2:
        declared["missingValues"] = ["NA"]
    (read,) = parse_schema({"fields": [declared]}, "s").attributes
    codes = data.draw(st.lists(st.integers(0, read.values - 1), min_size=1, max_size=30))
    values = drawn(declared, codes, data.draw(st.integers(0, 99)))
    assert [read.code_of(str(value)) for value in values] == codes


@given(
    st.integers(0, 6),
    st.lists(st.decimals(-1000, 1000, places=3), min_size=3, max_size=6, unique=True).map(sorted),
    st.decimals(-1100, 1100, places=8),
)
def test_numbers_are_rounded_to_the_declared_decimals_and_then_binned(decimals, edges, value):
    """What stands in a file as 10.349999999999998 is 10.35 where two decimals are declared."""
    binned = Attribute("x", "number", edges=tuple(map(Fraction, edges)), out_of_domain="edge")
    scale = 10**decimals
    rounded = Fraction((2 * scale * Fraction(value) + 1) // 2, scale)
    text = str(Decimal(rounded.numerator) / Decimal(rounded.denominator))
    assert replace(binned, decimals=decimals).code_of(str(value)) == binned.code_of(text)
