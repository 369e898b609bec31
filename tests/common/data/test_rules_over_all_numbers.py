"""Rules between listed, binned and discovered numbers, dates and times: what a look at every value says of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.expression import OPERATORS, Values
from privity.common.data.row_constraints import decoded, read_constraints
from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.release.synthetic_rows import synthesise_release
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel

MOST_ROWS = 20_000
WRITTEN = {
    "integer": lambda place: place,
    "number": lambda place: place / 2,
    "date": lambda place: f"2024-02-{27 + place}" if place < 3 else f"2024-03-{place - 2:02d}",
    "datetime": lambda place: (
        f"2024-02-29T23:59:{53 + place:02d}" if place < 7 else f"2024-03-01T00:00:{place - 7:02d}"
    ),
}


@st.composite
def fields(draw, name, kind):
    """A field of few values: listed, in bins, or in bins as a discovery leaves them."""
    found = {"name": name, "type": kind, **({"missingValues": ["NA"]} if draw(st.booleans()) else {})}
    places = draw(st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True))
    if draw(st.booleans()):
        return found | {"categories": [WRITTEN[kind](place) for place in places]}
    edges = [WRITTEN[kind](place) for place in sorted(places)]
    if kind == "number":
        found["decimals"] = draw(st.integers(1, 2))
    if draw(st.booleans()):
        found["histogram"] = {"edges": edges, "weights": draw(st.lists(st.integers(0, 2), min_size=len(edges) - 1,
                                                                       max_size=len(edges) - 1))}  # fmt: skip
    return found | {"edges": edges}


@st.composite
def rules(draw, names):
    """Chains of comparisons, joined."""
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        chain, *more = draw(st.lists(st.sampled_from(names), min_size=2, max_size=len(names), unique=True))
        for name in more:
            chain += f" {draw(st.sampled_from(sorted(OPERATORS)))} {name}"
        parts.append(f"{draw(st.sampled_from(['', 'not ']))}({chain})")
    return draw(st.sampled_from([" and ", " or "])).join(parts)


@st.composite
def tables(draw):
    """A schema, and a rule about its attributes."""
    kinds = draw(st.sampled_from([("date",), ("datetime",), ("integer", "number")]))
    names = "abcd"[: draw(st.integers(2, 4))]
    declared = [draw(fields(name, draw(st.sampled_from(kinds)))) for name in names]
    try:
        schema = parse_schema({"fields": declared}, "s")
    except ProblemsFound as error:
        raise AssertionError(declared) from error
    return schema, draw(rules(list(names)))


def constraint_of(schema, rule):
    found, _ = read_constraints([rule], schema.attributes, "s")
    return found[0]


def values_of(attribute):
    """Each value with its code, and whether it is missing."""
    if attribute.categories:
        found = [(code, Fraction(value), False) for code, value in enumerate(attribute.categories)]
    else:
        found = [
            (code, Fraction(grid.first + place) / 10**grid.decimals, False)
            for code, grid in enumerate(attribute.grids)
            for place in range(grid.count)
        ]
    return found + ([(attribute.values, Fraction(0), True)] if attribute.missing else [])


@given(tables())
def test_codes_that_can_meet_a_rule_together_are_those_of_which_some_values_meet_it(table):
    schema, rule = table
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    constraint = constraint_of(schema, rule)
    points = [values_of(attributes[name]) for name in constraint.attributes]
    assume(math.prod(map(len, points)) <= MOST_ROWS)
    rows = list(zip(*product(*points), strict=True))
    looked_at = {
        name: Values(np.array([value for _, value, _ in column]), np.array([missing for *_, missing in column]))
        for name, column in zip(constraint.attributes, rows, strict=True)
    }
    expected = np.zeros([attributes[name].size for name in constraint.attributes], dtype=bool)
    met = ~constraint.refused(looked_at)
    expected[tuple(np.array([code for code, *_ in column])[met] for column in rows)] = True
    assert constraint.possible(attributes).tolist() == expected.tolist()


@given(tables(), st.sampled_from(sorted(OPERATORS)))
def test_rows_as_they_are_drawn_are_compared_by_their_values(table, sign):
    schema, _ = table
    a, b = schema.names[:2]
    constraint = constraint_of(schema, f"{a} {sign} {b}")
    generator = np.random.default_rng(0)
    coded = CodedTable(schema, tuple(generator.integers(0, size, 50) for size in schema.domain))
    frame = decode(coded, generator)
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    found = constraint.refused(
        decoded([constraint], attributes, dict(zip(schema.names, coded.columns, strict=True)), frame)
    )
    expected = [
        "NA" not in (one, other) and not OPERATORS[sign](Fraction(str(one)), Fraction(str(other)))
        for one, other in zip(frame[a], frame[b], strict=True)
    ]
    assert found.tolist() == expected


LISTED = {"name": "listed", "type": "integer", "categories": [0, 1, 2, 3, 8], "missingValues": ["NA"]}
BINNED = {"name": "binned", "type": "integer", "edges": [0, 3, 6, 9]}
FOUND = {"name": "found", "type": "integer", "edges": [0, 4, 9], "missingValues": ["?"],
         "histogram": {"edges": [0, 2, 4, 9], "weights": [1, 0, 3]}}  # fmt: skip
PAIRS = [("listed", "binned"), ("binned", "listed"), ("listed", "found"), ("found", "binned")]


RULES = [*(f"{a} {sign} {b}" for a, b in PAIRS for sign in OPERATORS),
         "listed <= binned < found", "found > listed != binned"]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_no_row_of_a_release_breaks_a_rule_between_numbers(rule):
    schema = parse_schema({"fields": [LISTED, BINNED, FOUND], "rowConstraints": [rule]}, "s")
    model = JunctionTreeModel(schema, [Clique((a,), (), np.ones(size)) for a, size in enumerate(schema.domain)])
    made = synthesise_release(model, 400, 1)
    assert all(refused.enforced for refused in made.refused)
    (constraint,) = schema.row_constraints
    named = made.frame[list(constraint.attributes)]
    rows = named[~named.isin(["NA", "?"]).any(axis=1)].astype(int)
    assert len(rows) > 50
    assert rows.eval(rule).all()


def test_a_rule_that_no_two_bins_can_meet_is_refused():
    apart = [{"name": "a", "type": "integer", "edges": [6, 7, 9]}, {"name": "b", "type": "integer", "edges": [0, 3, 5]}]
    for rule, kind in (("a <= b", "rule-never-met"), ("b < a", "rule-always-met")):
        with pytest.raises(ProblemsFound, match=kind):
            parse_schema({"fields": apart, "rowConstraints": [rule]}, "s")
