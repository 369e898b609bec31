"""Conditions mean what they say: against rows that were drawn without them, and looked at afterwards."""

from __future__ import annotations

import operator
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.data.written_values import as_pandas
from privity.common.errors import ProblemsFound
from privity.common.release.sampling_conditions import conditions_of, given_conditions, read_condition
from privity.common.release.synthetic_rows import synthesise
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.mixture_model import Mixture, Part
from privity.sampled_rows import sampled

FIELDS = [
    {"name": "id", "type": "integer", "generate": "number"},
    {"name": "a", "type": "integer", "edges": [0, 10, 20, 25],
     "histogram": {"edges": [0, 2, 6, 10, 20, 22, 25], "weights": [1, 6, 0, 1, 0, 0]}},
    {"name": "b", "type": "string", "categories": ["north", "south", "a|b"], "missingValues": ["", "NA"]},
    {"name": "c", "type": "number", "edges": [0, 1, 2.5], "decimals": 1, "missingValues": ["-1"]},
    {"name": "d", "type": "date", "edges": ["2024-02-27", "2024-03-02", "2024-03-06"], "format": "%d.%m.%Y"},
    {"name": "e", "type": "boolean"},
    {"name": "f", "type": "integer", "categories": [3, 5, 9], "categoriesOrdered": True},
    {"name": "label", "type": "string", "missingValues": ["?"],
     "lookup": {"field": "b", "values": {"north": "up", "south": "down", "a|b": "up"}}},
    {"name": "total", "type": "integer", "sum": ["a", "f"]},
    {"name": "remarks", "type": "string", "empty": True},
]  # fmt: skip


def schema_of(*rules, fields=FIELDS):
    return parse_schema({"fields": fields, **({"rowConstraints": list(rules)} if rules else {})}, "s")


def model_of(schema, seed=0):
    """A chain over the attributes, with every combination of neighbours."""
    generator = np.random.default_rng(seed)
    pairs = [AttributeParentPair(a, (a - 1,) if a else ()) for a in range(len(schema.domain))]
    shapes = [[schema.domain[a] for a in pair.marginal] for pair in pairs]
    return BayesianNetwork(
        schema, [Node(p, generator.integers(1, 6, s) * 1.0) for p, s in zip(pairs, shapes, strict=True)]
    )


def rows_of(model, where, rows=3000, seed=1):
    schema = model.schema
    return as_pandas(synthesise(model, rows, seed, conditions_of(schema, given_conditions(where))), schema)


MODEL = model_of(schema_of())
PLAIN = as_pandas(synthesise(MODEL, 30_000, 5), MODEL.schema)
OPERATORS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
             ">=": operator.ge}  # fmt: skip
VALUES = {
    "a": st.integers(0, 25),
    "b": st.sampled_from(["north", "south", "a|b"]),
    "c": st.integers(0, 25).map(lambda n: n / 10),
    "d": st.integers(0, 8).map(lambda n: pd.Timestamp("2024-02-27") + pd.Timedelta(days=n)),
    "e": st.booleans(),
    "f": st.sampled_from([3, 5, 9]),
    "label": st.sampled_from(["up", "down"]),
    "total": st.integers(3, 34),
}
ORDERED = ("a", "c", "d", "f", "total")


def fulfilled(frame, where):
    """Which rows meet the conditions, as pandas has it."""
    held = pd.Series(True, index=frame.index)
    for name, wanted in where.items():
        column = frame[name]
        for relation, value in (wanted if isinstance(wanted, dict) else {"==": wanted}).items():
            if relation in ("==", "!="):
                listed = value if isinstance(value, list) else [value]
                found = column.isin([v for v in listed if v is not None])
                missing = column.isna()
                held &= (found | (missing & (None in listed))) if relation == "==" else ~(found | missing)
            else:
                held &= OPERATORS[relation](column, value).fillna(False).astype(bool)
    return held


@st.composite
def wheres(draw):
    found = {}
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3, unique=True)):
        kinds = [*OPERATORS] if name in ORDERED else ["==", "!="]
        of_name = {}
        for relation in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2, unique=True)):
            several = relation in ("==", "!=") and draw(st.booleans())
            value = draw(VALUES[name])
            of_name[relation] = draw(st.lists(VALUES[name], min_size=1, max_size=3)) if several else value
        found[name] = of_name
    return found


@given(where=wheres())
def test_rows_fulfil_the_conditions_and_none_that_does_is_left_out(where):
    expected = PLAIN[fulfilled(PLAIN, where)]
    if len(expected) < 200:
        return
    frame = rows_of(MODEL, where, 2000)
    assert fulfilled(frame, where).all()
    assert dict(frame.dtypes) == dict(PLAIN.dtypes)
    for name in VALUES:
        seen, share = Counter(frame[name].astype(str)), Counter(expected[name].astype(str))
        # What has a fair part of the rows that were looked at has been drawn, too, and the other way round.
        assert {value for value, rows in share.items() if rows / len(expected) > 0.02} <= seen.keys()
        assert {value for value, rows in seen.items() if rows / len(frame) > 0.05} <= share.keys()


@pytest.mark.parametrize(
    ("where", "rules"),
    [
        ({"a": {">=": 1, "<": 8}, "f": {"!=": 3}}, ()),
        ({"a": [1, 3, 21], "b": ["north", None]}, ()),
        ({"c": {">": 0.4, "!=": [0.7, 2.0]}, "d": {"<=": "2024-02-28"}}, ()),
        ({"a": {"<": 9}}, ("f <= a",)),
        ({"total": {"<=": 12}, "label": "up"}, ("a > 4 or f == 9",)),
    ],
)
def test_rows_have_the_distribution_of_those_that_fulfil_the_conditions(where, rules):
    model = model_of(schema_of(*rules))
    plain = PLAIN if not rules else as_pandas(synthesise(model, 30_000, 5), model.schema)
    dated = {name: pd.Timestamp("2024-02-28") if name == "d" else value for name, value in where.items()}
    expected = plain[fulfilled(plain, where | ({"d": {"<=": dated["d"]}} if "d" in where else {}))]
    frame = rows_of(model, where, 20_000)
    for names in (["a", "f"], ["b", "e"], ["c", "d"]):
        now, then = (Counter(map(tuple, each[names].astype(str).to_numpy())) for each in (frame, expected))
        cells = [cell for cell in {*now, *then} if then[cell] >= 20]
        observed = np.array([now[cell] for cell in cells], dtype=float)
        wanted = np.array([then[cell] for cell in cells], dtype=float)
        # Both are samples: the variance of their difference is that of both.
        table = np.array([observed, wanted])
        sums = table.sum(axis=1, keepdims=True) @ table.sum(axis=0, keepdims=True) / table.sum()
        assert chisquare(table.ravel(), sums.ravel(), ddof=len(cells)).pvalue > 1e-6, names


def test_a_value_of_a_bin_is_that_value():
    assert set(rows_of(MODEL, {"a": 5})["a"]) == {5}
    assert set(rows_of(MODEL, {"c": 0.7})["c"]) == {0.7}
    assert set(rows_of(MODEL, {"a": [5, 21]})["a"]) == {5, 21}


@pytest.mark.parametrize(
    ("name", "value", "stands"),
    [
        ("a", np.int8(5), 5), ("a", 5.0, 5), ("a", "5.0", 5), ("a", Decimal(5), 5), ("a", True, 1),
        ("b", "south", "south"), ("e", "True", True), ("e", 1, True), ("e", np.bool_(False), False),
        ("c", "0.70", 0.7), ("c", 0.701, 0.7), ("d", "2024-02-29", pd.Timestamp("2024-02-29")),
        ("d", "29.02.2024", pd.Timestamp("2024-02-29")), ("d", date(2024, 2, 29), pd.Timestamp("2024-02-29")),
        ("d", datetime(2024, 2, 29), pd.Timestamp("2024-02-29")),
        ("d", np.datetime64("2024-02-29"), pd.Timestamp("2024-02-29")),
        ("label", "up", "up"), ("f", "9", 9),
    ],
)  # fmt: skip
def test_values_are_read_as_those_of_a_table_are(name, value, stands):
    assert set(rows_of(MODEL, {name: value}, 50)[name]) == {stands}


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "NA", ""])
def test_a_missing_value_is_asked_for_by_all_that_means_one(nothing):
    assert rows_of(MODEL, {"b": nothing}, 50)["b"].isna().all()
    found = rows_of(MODEL, {"b": ["north", nothing]}, 300)["b"]
    assert found.isna().any()
    assert set(found.dropna()) == {"north"}
    assert not rows_of(MODEL, {"b": {"!=": nothing}}, 300)["b"].isna().any()
    assert not rows_of(MODEL, {"b": {"!=": "north"}}, 300)["b"].isna().any()
    assert rows_of(MODEL, {"remarks": None}, 50)["remarks"].isna().all()
    assert rows_of(MODEL, {"label": None}, 50)["b"].isna().all()


def refused(where, schema=MODEL.schema):
    with pytest.raises(ProblemsFound) as found:
        conditions_of(schema, given_conditions(where))
    return [(problem.field, problem.rule) for problem in found.value.problems]


@pytest.mark.parametrize(
    ("where", "rule"),
    [
        ({"x": 1}, "unknown-attribute"), ({"a": 26}, "unknown-value"), ({"a": 1.5}, "unknown-value"),
        ({"b": "west"}, "unknown-value"), ({"b": {"<": "north"}}, "order"), ({"a": None}, "unknown-value"),
        ({"a": {"<": None}}, "missing-value"), ({"a": {"<": [1, 2]}}, "form"), ({"a": []}, "form"),
        ({"a": {">": 8, "<": 9}}, "no-value"), ({"a": {"in": [1]}}, "form"), ({"id": 4}, "key"),
        ({"a": 8}, "no-value"), ({"label": {"==": "up", "!=": "up"}}, "no-value"), ({"total": {">": 99}}, "no-value"),
        ({"remarks": "x"}, "unknown-value"), ({"d": "tomorrow"}, "unknown-value"),
        ({"a": {"<": "tall"}}, "unknown-value"),
    ],
)  # fmt: skip
def test_what_no_row_has_is_refused_at_once(where, rule):
    assert {found for _, found in refused(where)} == {rule}


@pytest.mark.parametrize(
    ("where", "rule", "possible"),
    [
        ({"f": 9, "a": {"<": 9}}, "f <= a", False),
        ({"f": 5, "a": {"<": 9}}, "f <= a", True),
        ({"a": 5, "b": "south"}, "a >= 12 or b == 'north'", False),
        ({"a": 5, "b": [None, "south"]}, "a >= 12 or b == 'north'", True),
        ({"label": "down", "a": {"<": 12}}, "a >= 12 or b == 'north'", False),
        ({"a": {"<": 12}}, "a >= 12 or b == 'north'", True),
    ],
)  # fmt: skip
def test_a_condition_that_a_rule_forbids_is_refused(where, rule, possible):
    schema = schema_of(rule)
    if possible:
        model = model_of(schema)
        frame = rows_of(model, where, 200)
        assert fulfilled(frame, where).all()
    else:
        assert {found for _, found in refused(where, schema)} == {"forbidden"}


TWO_BINS = [
    {"name": "low", "type": "integer", "edges": [0, 10, 20]},
    {"name": "high", "type": "integer", "edges": [0, 7, 20]},
]


@given(
    rule=st.sampled_from(["low < high", "low <= high", "low == high", "low != high", "low > high"]),
    low=st.tuples(st.sampled_from([*OPERATORS]), st.integers(0, 20)),
    high=st.tuples(st.sampled_from([*OPERATORS]), st.integers(0, 20)),
)
def test_two_bins_are_forbidden_exactly_where_no_two_values_meet_the_rule(rule, low, high):
    relation = OPERATORS[rule.split()[1]]
    values = [[n for n in range(21) if OPERATORS[sign](n, literal)] for sign, literal in (low, high)]
    if not all(values):
        return
    possible = any(relation(x, y) for x in values[0] for y in values[1])
    where = {"low": {low[0]: low[1]}, "high": {high[0]: high[1]}}
    schema = schema_of(rule, fields=TWO_BINS)
    if possible:
        conditions_of(schema, given_conditions(where))
    else:
        assert {found for _, found in refused(where, schema)} == {"forbidden"}


def test_a_number_of_any_digits_is_that_number():
    fields = [{"name": "x", "type": "number", "edges": [0, 1, 1000]}, *TWO_BINS]
    for value in (0.1234567890123, 71.55555555, 999.9999999999999, 0.1 + 0.2, 5):
        assert set(rows_of(model_of(schema_of(fields=fields)), {"x": value}, 20)["x"]) == {value}


def test_where_a_model_takes_no_condition_in_rows_are_thinned():
    schema = schema_of()
    model = Mixture([Part(1, model_of(schema, 1)), Part(1, model_of(schema, 2))])
    frame = rows_of(model, {"a": {"<": 3}, "c": 0.3}, 3000)
    assert set(frame["a"]) == {0, 1, 2}
    assert set(frame["c"]) == {0.3}
    # Cells [0, 2) and [2, 6) of one bin weigh 1 and 6: 2 has a quarter of the second.
    assert np.mean(frame["a"] == 2) == pytest.approx(1.5 / 2.5, abs=0.04)


def test_conditions_are_written_as_on_a_command_line():
    schema = parse_schema({"fields": [{"name": "a>=b", "type": "string", "categories": ["x=y", "z"]}, *FIELDS]}, "s")
    read = [read_condition(text, schema) for text in (
        "a>=18", "a < 3", "b=north|south", "b=a|b", "b!=north", "b=", "a>=b=x=y", "c<=0.5", "a=1|2",
    )]  # fmt: skip
    assert [(name, relation, list(values)) for name, relation, values in read] == [
        ("a", ">=", ["18"]), ("a", "<", ["3"]), ("b", "==", ["north", "south"]), ("b", "==", ["a|b"]),
        ("b", "!=", ["north"]), ("b", "==", [""]), ("a>=b", "==", ["x=y"]), ("c", "<=", ["0.5"]),
        ("a", "==", ["1", "2"]),
    ]  # fmt: skip
    with pytest.raises(ProblemsFound):
        read_condition("a", schema)


def test_python_takes_them_by_name():
    where = {"a": {">=": 3, "<": 6}, "b": ["north", None]}
    frame = sampled(MODEL, 200, 1, where, dtypes=None, skip_keys=0, independent=False)
    assert set(frame["a"]) == {3, 4, 5}
    assert set(frame["b"].dropna()) == {"north"}


def test_the_codes_of_an_impossible_bin_are_never_drawn():
    schema = schema_of(fields=TWO_BINS)
    table = CodedTable(schema, (np.zeros(5, dtype=np.uint8), np.ones(5, dtype=np.uint8)))
    conditions = conditions_of(schema, given_conditions({"low": {"<": 10}}))
    assert conditions.thinned(table, frozenset(), np.random.default_rng(0)).rows == 5
    assert not conditions.cells
