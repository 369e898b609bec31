"""Rules about rows: read from text, refused with every fault, and true to a row-by-row reading in three values."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.row_constraints import decoded
from privity.common.data.row_texts import of_values
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.data.written_values import as_pandas, as_texts
from privity.common.errors import ProblemsFound
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from tests.harness.places import ROOT

PAGE = ROOT / "docs" / "schema.md"
FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "bins": 3},
    {"name": "marital", "type": "string", "categories": ["never", "married", "widowed"], "missingValues": [""]},
    {"name": "education-num", "type": "integer", "categories": [1, 2, 3], "categoriesOrdered": True,
     "missingValues": ["?"]},
    {"name": "size", "type": "number", "edges": [0, 0.5, 1.5, 4], "missingValues": ["NA"]},
    {"name": "member", "type": "boolean"},
    {"name": "level", "type": "string", "categories": ["low", "mid", "high"], "categoriesOrdered": True},
    {"name": "goal", "type": "string", "categories": ["low", "mid", "high"], "categoriesOrdered": True},
    {"name": "grade", "type": "integer", "categories": [3, 1, 2], "categoriesOrdered": True},
    {"name": "dose", "type": "number", "categories": [0.1, 0.3, 2]},
    {"name": "größe", "type": "string", "categories": ["ﬁ", "l`x", "\"'"]},
]  # fmt: skip
NUMBERS = {"age": range(-1, 11), "`education-num`": (1, 2, 3), "size": (0, 0.5, 0.1, 1.25, 4), "dose": (0.1, 0.3, 2)}


def schema_of(rules):
    return parse_schema({"fields": FIELDS, "rowConstraints": rules}, "s.json")


def faults(*rules):
    with pytest.raises(ProblemsFound) as found:
        schema_of(list(rules))
    return [(problem.field, problem.rule) for problem in found.value.problems]


SCHEMA = schema_of([])


def sampled(rows, seed=0, schema=SCHEMA):
    generator = np.random.default_rng(seed)
    table = CodedTable(schema, tuple(generator.integers(0, size, rows) for size in schema.domain))
    return table, decode(table, generator)


def refused(schema, table, frame):
    """Of each rule, which rows it refuses: as sampling asks."""
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    columns = dict(zip(schema.names, table.columns, strict=True))
    rows = decoded(schema.row_constraints, attributes, columns, frame)
    return [rule.refused(rows) for rule in schema.row_constraints]


def reading(value, name):
    """A cell as it is meant: None if it is missing; numbers exactly, ordered categories by their place."""
    if value in ("", "?", "NA"):
        return None
    if name in ("level", "goal"):
        return ["low", "mid", "high"].index(value)
    return Fraction(str(value)) if name in ("age", "education-num", "size", "grade", "dose") else value


def by_hand(tree, row):
    """Kleene's logic over one row: True, False or None."""
    kind = tree[0]
    if kind == "not":
        truth = by_hand(tree[1], row)
        return None if truth is None else not truth
    if kind in ("and", "or"):
        truths = [by_hand(part, row) for part in tree[1:]]
        decides = kind == "or"
        if decides in truths:
            return decides
        return None if None in truths else not decides
    if kind == "missing":
        return reading(row[tree[1].strip("`")], tree[1]) is None
    if kind == "in":
        return by_hand(("or", *(("cmp", "==", tree[1], value, tree[3]) for value in tree[2])), row)
    _, sign, name, other, is_name = tree
    left = reading(row[name.strip("`")], name.strip("`"))
    right = reading(row[other.strip("`")], other.strip("`")) if is_name else other
    if left is None or right is None:
        return None
    signs = {"==": left == right, "!=": left != right}
    if sign in signs:
        return signs[sign]
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]


def spelled(tree):
    kind = tree[0]
    if kind == "not":
        return f"not ({spelled(tree[1])})"
    if kind in ("and", "or"):
        return f" {kind} ".join(f"({spelled(part)})" for part in tree[1:])
    if kind == "missing":
        return f"missing({tree[1]})"
    if kind == "in":
        return f"{tree[1]} in [{', '.join(map(literal, tree[2]))}]"
    _, sign, name, other, is_name = tree
    if name == "level" and not is_name:
        other = ["low", "mid", "high"][other]
    return f"{name} {sign} {other if is_name else literal(other)}"


def literal(value):
    return str(float(value)) if isinstance(value, Fraction) and value.denominator > 1 else (
        str(value) if isinstance(value, Fraction) else repr(value)
    )  # fmt: skip


SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
ORDERINGS = st.sampled_from(["<", "<=", ">", ">="])
NAMES = st.sampled_from(sorted(NUMBERS))


@st.composite
def leaves(draw):
    kind = draw(st.sampled_from(["number", "pair", "text", "level", "levels", "missing", "in"]))
    if kind == "number":
        name = draw(NAMES)
        sign = draw(ORDERINGS if name in ("age", "size") else SIGNS)
        return ("cmp", sign, name, Fraction(str(draw(st.sampled_from(list(NUMBERS[name]))))), False)
    if kind == "pair":
        pair = draw(st.lists(NAMES, min_size=2, max_size=2, unique=True))
        return ("cmp", draw(SIGNS), *pair, True)
    if kind == "text":
        value = draw(st.sampled_from(["never", "married", "widowed"]))
        return ("cmp", draw(st.sampled_from(["==", "!="])), "marital", value, False)
    if kind == "level":
        return ("cmp", draw(SIGNS), "level", draw(st.integers(0, 2)), False)
    if kind == "levels":
        return ("cmp", draw(SIGNS), "level", "goal", True)
    if kind == "missing":
        return ("missing", draw(st.sampled_from(["marital", "`education-num`", "size"])))
    values = draw(st.lists(st.sampled_from([Fraction(1), Fraction(2), Fraction(3)]), min_size=1, unique=True))
    return ("in", "`education-num`", values, False)


TREES = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner, inner),
    ),
    max_leaves=6,
)


@given(tree=TREES, seed=st.integers(0, 1000))
def test_a_rule_refuses_the_rows_for_which_it_is_false_read_one_by_one(tree, seed):
    table, frame = sampled(60, seed)
    expected = [by_hand(tree, row) is False for _, row in frame.iterrows()]
    try:
        schema = schema_of([spelled(tree)])
    except ProblemsFound as error:
        (problem,) = error.problems
        # What is said of all rows must be so of these.
        verdict = {"rule-never-met": True, "rule-always-met": False}[problem.rule]
        assert set(expected) == {verdict}
        return
    (found,) = refused(schema, table, frame)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("age >=", "rule-syntax"),
        ("(age >= 1", "rule-syntax"),
        ("age = 3", "rule-syntax"),
        ("__import__('os').system('true')", "rule-syntax"),
        ("lambda: 1", "rule-syntax"),
        ("age + 1 > 2", "rule-syntax"),
        ("age is 3", "rule-syntax"),
        ("marital[0] == 'n'", "rule-syntax"),
        ("age if member else age", "rule-syntax"),
        ("[x for x in age]", "rule-syntax"),
        ("marital in 'never'", "rule-syntax"),
        ("marital in []", "rule-syntax"),
        ("age == None", "rule-syntax"),
        ("f'{age}' == 'a'", "rule-syntax"),
        ("age ==\n3", "control-character"),
        ("(" * 400 + "member" + ")" * 400, "rule-syntax"),
        ("height > 2", "rule-attribute"),
        ("`age ` > 2", "rule-attribute"),
        ("marital == 'divorced'", "rule-value"),
        ("age == 10", "rule-value"),
        ("age == 2.5", "rule-value"),
        ("`education-num` in [1, 4]", "rule-value"),
        ("size > 0.12345678901234567", "rule-number"),
        ("age > 0x3", "rule-number"),
        ("age > 1e400", "rule-number"),
        ("age > 2j", "rule-syntax"),
        ("age > 'three'", "rule-type"),
        ("marital == 3", "rule-type"),
        ("marital == member", "rule-type"),
        ("member == 1", "rule-type"),
        ("age", "rule-type"),
        ("3 < 4", "rule-type"),
        ("age == age", "rule-type"),
        ("missing(age)", "rule-type"),
        ("missing(3)", "rule-syntax"),
        ("marital < 'widowed'", "rule-order"),
        ("marital < level", "rule-order"),
        ("member < true", "rule-order"),
        ("grade < 2", "rule-order"),
        ("age > 9", "rule-never-met"),
        ("age < 10", "rule-always-met"),
        ("dose < 0.1 or size > 4 and not missing(size)", "rule-never-met"),
        ("marital == 'never' or marital != 'never'", "rule-always-met"),
    ],
)
def test_a_fault_is_named_with_its_place(rule, kind):
    assert faults("age > 3 or member", rule) == [("rowConstraints[1]", kind)]


def test_every_kind_of_fault_is_described():
    (mark,) = [m for m in test_a_fault_is_named_with_its_place.pytestmark if m.name == "parametrize"]
    kinds = {kind for _, kind in mark.args[1]} - {"control-character"} | {"duplicate-rule", "rules-contradict"}
    text = PAGE.read_text(encoding="utf-8").split("### Row constraints")[1].split("\n### ")[0]
    assert set(re.findall(r"^\| `(rule[a-z-]+|duplicate-rule)` \|", text, re.MULTILINE)) == kinds


def test_all_faults_are_told_at_once_and_a_syntax_error_with_its_character():
    with pytest.raises(ProblemsFound) as found:
        schema_of(["age >", "`education-num` > 1 or foo == 2", "member", "not member", "member == true"])
    told = [(problem.field, problem.rule) for problem in found.value.problems]
    assert told == [
        ("rowConstraints[0]", "rule-syntax"),
        ("rowConstraints[1]", "rule-attribute"),
        ("rowConstraints[4]", "duplicate-rule"),
    ]
    # As it is written, with the backticks before it.
    assert "at character 24: no attribute is called 'foo'" in found.value.problems[1].message


def test_rules_that_contradict_each_other_are_refused_together():
    assert faults("age < 3", "age >= 3") == [("rowConstraints", "rules-contradict")]


def test_a_fault_of_a_field_is_told_before_any_rule_is_read():
    with pytest.raises(ProblemsFound) as found:
        parse_schema({"fields": [{"name": "a", "type": "string"}], "rowConstraints": ["a == 'b'"]}, "s")
    assert [problem.rule for problem in found.value.problems] == ["no-domain"]


@pytest.mark.parametrize(
    "rule",
    [
        "0 < age <= 5 or member == true",
        "`größe` != 'ﬁ' or not member",
        "größe in ['ﬁ', 'l`x']",
        'größe == "\\"\'" or member',
        "marital not in ['never'] and size < dose",
        " level >= 'mid' or goal == level",
    ],
)
def test_a_schema_is_read_back_with_its_rules(rule):
    schema = schema_of([rule])
    again = parse_schema(schema.table_schema(), "again")
    assert again == schema
    assert again.row_constraints[0].condition == schema.row_constraints[0].condition
    assert schema.digest == SCHEMA.digest


@pytest.mark.statistical
def test_wide_domains_are_read_without_a_look_at_every_combination():
    fields = [
        {"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6}, "bins": 2_000},
        {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**6}, "bins": 70_000},
    ]
    # The last one cannot be met, which is more than is looked for.
    rules = ["a != 500", "a < 70 or b > 3", "b > a", "a == 3 and b == 3 and a == 4"]
    with pytest.raises(ProblemsFound) as found:
        parse_schema({"fields": fields, "rowConstraints": [*rules, "a < 0"]}, "s")
    assert [problem.field for problem in found.value.problems] == ["rowConstraints[4]"]


def test_letters_that_python_spells_anew_stay_as_they_are():
    table, frame = sampled(50)
    (found,) = refused(schema_of(["größe != 'ﬁ'"]), table, frame)
    assert found.tolist() == (frame["größe"] == "ﬁ").tolist()


def test_some_attributes_keep_the_rules_that_are_about_them():
    schema = schema_of(["age > 3 or member", "size < 1", "`education-num` <= age"])
    assert [rule.rule for rule in schema.over(["age", "member", "size"]).row_constraints] == [
        "age > 3 or member",
        "size < 1",
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (f"a <= {2**60}", [False, True]),
        (f"a < {2**60}.5", None),
        (f"c < {10**30 + 1}", [False, True]),
        ("b > a", [False, True]),
        ("b <= 0.3 or c == b", [True, False]),
        ("b != 0.3", [False, True]),
        ("c > d", None),
    ],
)
def test_large_integers_and_decimals_are_compared_exactly(rule, expected):
    fields = [
        {"name": "a", "type": "integer", "categories": [2**60, 2**60 + 1]},
        {"name": "b", "type": "number", "categories": [2e18, 0.3]},
        {"name": "c", "type": "integer", "categories": [10**30, 10**30 + 1]},
        {"name": "d", "type": "number", "edges": [0, 1, 2]},
    ]
    document = {"fields": fields, "rowConstraints": [rule]}
    if expected is None:
        with pytest.raises(ProblemsFound, match=r"too many digits|every row meets"):
            parse_schema(document, "s")
        return
    schema = parse_schema(document, "s")
    table = CodedTable(schema, tuple(np.array(codes) for codes in ([0, 1], [0, 1], [0, 1], [0, 0])))
    (found,) = refused(schema, table, decode(table, np.random.default_rng(0)))
    assert found.tolist() == expected


def test_a_drawn_decimal_at_the_edge_is_not_beyond_it():
    fields = [{"name": "x", "type": "number", "edges": [0.1, 0.2, 0.3]}]
    schema = parse_schema({"fields": fields, "rowConstraints": ["x >= 0.2", "x < 0.3"]}, "s")
    frame = pd.DataFrame({"x": [0.1 + 0.2, 0.2, 0.19999999999, 0.3]}).round(12)
    table = encode(frame.map(str), schema, "t")
    found = refused(schema, table, frame)
    assert [some.tolist() for some in found] == [[False, False, True, False], [True, False, False, True]]


EDGES = ["2024-01-01", "2024-06-01", "2025-01-01"]
STAY = [
    {"name": "start", "type": "date", "format": "%d.%m.%Y", "edges": EDGES},
    {"name": "end", "type": "date", "edges": EDGES, "missingValues": [""]},
    {"name": "seen", "type": "datetime", "edges": EDGES, "decimals": 3},
    {"name": "left", "type": "datetime", "format": "%Y-%m-%d %H:%M", "edges": EDGES},
]


def test_dates_are_compared_by_their_values() -> None:
    rules = ["start <= end", "start != '2024-02-29'", "seen < '2024-12-31T12:00:00'"]
    schema = parse_schema({"fields": STAY, "rowConstraints": rules}, "s")
    generator = np.random.default_rng(1)
    table = CodedTable(schema, tuple(generator.integers(0, size, 3000) for size in schema.domain))
    frame = decode(table, generator)
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    rows = decoded(schema.row_constraints, attributes, dict(zip(schema.names, table.columns, strict=True)), frame)
    shown = as_pandas(frame, schema)
    expected = [
        shown["start"] > shown["end"], shown["start"] == "2024-02-29", shown["seen"] >= "2024-12-31T12:00:00",
    ]  # fmt: skip
    texts = as_texts(frame, schema)
    for rule, wanted in zip(schema.row_constraints, expected, strict=True):
        assert 0 < wanted.sum() < 3000
        assert rule.refused(rows).tolist() == wanted.tolist()
        assert rule.refused(of_values([rule], attributes, texts)).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("start < seen", "start' is a date as fine as 1970-01-01, and 'seen' is a datetime as fine"),
        ("seen < left", "as fine as 1970-01-01T00:00:00.000, and 'left' is a datetime as fine as 1970-01-01T00:00"),
        ("start < '29.02.2024'", "is no date of ISO 8601"),
        ("start < 19000", "and 19000 is a number"),
        ("start == '2030-01-01'", "is no value of"),
    ],
)
def test_what_are_no_two_dates_is_not_compared(rule: str, message: str) -> None:
    with pytest.raises(ProblemsFound) as found:
        parse_schema({"fields": STAY, "rowConstraints": [rule]}, "s")
    assert message in str(found.value)


def test_a_rule_over_a_discovered_domain_may_hold_by_itself() -> None:
    """Whoever declared it did not know the domain, and the release is paid for by then."""
    field = {"name": "age", "type": "integer", "edges": [0, 50, 99]}
    with pytest.raises(ProblemsFound, match="rule-always-met"):
        parse_schema({"fields": [field], "rowConstraints": ["age >= 0"]}, "s")
    found = {**field, "histogram": {"edges": [0, 50, 99], "weights": [1, 1]}}
    assert parse_schema({"fields": [found], "rowConstraints": ["age >= 0"]}, "s").row_constraints


@pytest.mark.parametrize("rule", ["age != 999", "age in [7, 999]", "age < 12345678901234567.5"])
def test_a_rule_may_name_numbers_that_a_discovered_domain_lacks(rule) -> None:
    found = {"name": "age", "type": "number", "edges": [0, 50, 99], "decimals": 1}
    found |= {"histogram": {"edges": [0, 50, 99], "weights": [1, 1]}}
    schema = parse_schema({"fields": [found], "rowConstraints": [rule]}, "s")
    (constraint,) = schema.row_constraints
    assert constraint.possible({"age": schema.attributes[0]}).any()


def test_a_rule_about_texts_is_about_the_categories_that_were_discovered() -> None:
    """The category for all others is the last one then, and may be the only one."""
    fields = [
        {"name": name, "type": "string", "domain": "discover", "other": "elsewhere", "missingValues": [""]}
        for name in ("home", "work")
    ]
    rules = ["home != 'elsewhere'", "home == work"]
    declared = parse_schema({"fields": fields, "rowConstraints": rules}, "s")
    for texts in (("here", "there"), ()):
        closed = [replace(each, discover=False, categories=(*texts, "elsewhere")) for each in declared.attributes]
        by = Discovery(("home", "work"), "r", "people", ApproxDP(Fraction(1), Fraction(0), RELATION))
        found = declared.discovered(closed, by)
        assert parse_schema(found.table_schema(), "s").row_constraints == found.row_constraints
        attributes = dict(zip(found.names, found.attributes, strict=True))
        alone, both = (rule.possible(attributes) for rule in found.row_constraints)
        assert alone.tolist() == [*(True for _ in texts), False, True]
        assert both[:-1, :-1].tolist() == np.eye(len(texts) + 1, dtype=bool).tolist()


@pytest.mark.parametrize("rule", ["a <= b", "b >= a", "not b < a"])
def test_a_listed_number_is_compared_with_one_in_bins(rule):
    listed = {"name": "a", "type": "integer", "categories": [0, 3, 8]}
    binned = {"name": "b", "type": "integer", "constraints": {"minimum": 0, "maximum": 5}, "bins": 2}
    schema = parse_schema({"fields": [listed, binned], "rowConstraints": [rule]}, "s")
    (constraint,) = schema.row_constraints
    met = constraint.possible({attribute.name: attribute for attribute in schema.attributes})
    met = met if constraint.attributes[0] == "a" else met.T
    # Bins of 0 to 2 and of 3 to 5.
    assert met.tolist() == [[True, True], [False, True], [False, False]]
