"""Sampling under rules and conditions: what is nearest to the model, and a plain word where it has no such rows."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from privity.common.data.coded_table import decode
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import PrivityError
from privity.common.release.sampling_conditions import conditions_of
from privity.common.release.shortcomings import constraint_notes
from privity.common.release.synthetic_rows import OF_A_RELEASE, Patience, synthesise, synthesise_release
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel
from privity.common.synthesis.models.mixture_model import Mixture, Part
from tests.harness.long import thinned

FIELDS = [
    {"name": "age", "type": "integer", "edges": [0, 4, 8, 11]},
    {"name": "marital", "type": "string", "categories": ["never", "married"], "missingValues": [""]},
    {"name": "member", "type": "boolean"},
]
WEIGHTS = {
    "age": np.array([5.0, 3.0, 2.0]),
    "marital": np.array([[8.0, 4.0, 1.0], [1.0, 5.0, 8.0], [1.0, 1.0, 1.0]]),
    "member": np.array([[9.0, 1.0, 4.0], [1.0, 9.0, 6.0]]),
}
RULE = "age >= 6 or marital == 'never'"


def schema_of(*rules, **more):
    return parse_schema({"fields": FIELDS, **more, **({"rowConstraints": list(rules)} if rules else {})}, "s")


def network(schema, weights=WEIGHTS):
    pairs = (AttributeParentPair(0, ()), AttributeParentPair(1, (0,)), AttributeParentPair(2, (1,)))
    return BayesianNetwork(schema, [Node(p, w) for p, w in zip(pairs, weights.values(), strict=True)])


def tree(schema):
    cliques = [Clique((1, 0), (), WEIGHTS["marital"] * WEIGHTS["age"]), Clique((2, 1), (1,), WEIGHTS["member"])]
    return JunctionTreeModel(schema, cliques)


def mixture(schema):
    turned = {**WEIGHTS, "age": WEIGHTS["age"][::-1]}
    return Mixture([Part(7, network(schema)), Part(3, network(schema, turned))])


MODELS = {"network": network, "tree": tree, "mixture": mixture}


def probabilities(kind):
    """Of each (age, marital, member) as it stands in a table: the model's joint distribution, by enumeration."""

    def joint(age_weights):
        conditional = [w / w.sum(axis=0) for w in (age_weights, WEIGHTS["marital"], WEIGHTS["member"])]
        if kind == "tree":
            pair = WEIGHTS["marital"] * age_weights
            conditional[:2] = pair.sum(axis=0) / pair.sum(), pair / pair.sum(axis=0)
        a, m, b = conditional
        return np.einsum("a,ma,bm->amb", a, m, b)

    cells = joint(WEIGHTS["age"])
    if kind == "mixture":
        cells = 0.7 * cells + 0.3 * joint(WEIGHTS["age"][::-1])
    texts = ("never", "married", ""), ("false", "true")
    return {
        (age, texts[0][m], texts[1][b]): cells[age // 4, m, b] / 4
        for age, m, b in product(range(12), range(3), range(2))
    }


def projected(cells, holds):
    """The distribution nearest to this one in which the rule holds and each attribute keeps its marginal.

    The values of a bin are alike, but those that break the rule beside the other codes of a row.
    """
    codes = {cell: (cell[0] // 4, *cell[1:]) for cell in cells}
    allowed = [cell for cell in cells if holds(*cell)]
    values = Counter(codes[cell] for cell in allowed)
    joint = Counter()
    for cell, mass in cells.items():
        joint[codes[cell]] += mass
    found = {code: mass for code, mass in joint.items() if code in values}
    for _ in range(2000):
        for place in range(3):
            target, now = Counter(), Counter()
            for code, mass in joint.items():
                target[code[place]] += mass
            for code, mass in found.items():
                now[code[place]] += mass
            found = {code: mass * target[code[place]] / now[code[place]] for code, mass in found.items()}
    return {cell: found[codes[cell]] / values[codes[cell]] for cell in allowed}


def with_codes(schema, codes):
    """Conditions that ask for these codes."""
    asked = []
    for place, code in codes.items():
        attribute = schema.attributes[place]
        if attribute.edges:
            asked += [(attribute.name, ">=", [code * 4]), (attribute.name, "<=", [code * 4 + 3])]
        else:
            missing = code == attribute.missing_code
            asked.append((attribute.name, "==", [None if missing else attribute.labels[code]]))
    return conditions_of(schema, asked)


def agrees(frame, expected):
    """Whether rows have this distribution: a chi-squared test at one in a million."""
    mass = sum(expected.values())
    counted = frame.astype(str).value_counts().to_dict()
    assert {(int(age), m, b) for age, m, b in counted} <= set(expected)
    seen = [counted.get((str(age), m, b), 0) for age, m, b in expected]
    wanted = [p / mass * len(frame) for p in expected.values()]
    return chisquare(seen, wanted).pvalue > 1e-6


@pytest.mark.parametrize("kind", MODELS)
def test_rows_have_the_nearest_distribution_to_the_models_in_which_the_rules_hold(kind):
    model = MODELS[kind](schema_of(RULE, "not member or age < 11"))
    frame = synthesise(model, 40_000, 3)

    def holds(age, marital, member):
        # A missing marital state leaves the first rule unknown, and the row stays.
        return (age >= 6 or marital in ("never", "")) and (member == "false" or age < 11)

    assert agrees(frame, projected(probabilities(kind), holds))
    assert not agrees(frame, {cell: p for cell, p in probabilities(kind).items() if holds(*cell)})


@pytest.mark.parametrize(("where", "kind"), thinned(product([{1: 1}, {0: 2, 2: 1}, {1: 2, 2: 0}], MODELS), 2))
def test_under_conditions_rows_have_this_distribution_given_the_codes(kind, where):
    model = MODELS[kind](schema_of(RULE))
    frame = synthesise(model, 30_000, 4, with_codes(model.schema, where))

    def holds(age, marital, _):
        return age >= 6 or marital != "married"

    def asked(age, marital, member):
        codes = age // 4, ["never", "married", ""].index(marital), member == "true"
        return all(codes[place] == code for place, code in where.items())

    expected = projected(probabilities(kind), holds)
    assert agrees(frame, {cell: p for cell, p in expected.items() if asked(*cell)})


def test_without_rules_nothing_is_drawn_otherwise():
    model = network(schema_of())
    generator = np.random.default_rng(9)
    assert synthesise(model, 500, 9).equals(decode(model.sample(500, generator), generator))
    assert synthesise_release(model, 500, 9).frame.equals(synthesise(model, 500, 9))
    assert synthesise_release(model, 500, 9).documents() == {}


@pytest.mark.parametrize("rows", [0, 1, 7, 20_000])
def test_the_seed_decides_the_rows_and_their_number_is_as_asked(rows):
    model = network(schema_of(RULE))
    frame = synthesise(model, rows, 5)
    assert len(frame) == rows
    assert frame.equals(synthesise(model, rows, 5))
    if rows > 1:
        assert not frame.equals(synthesise(model, rows, 6))
    assert frame.index.tolist() == list(range(rows))


def test_a_release_says_which_share_of_the_drawn_rows_each_rule_refused():
    made = synthesise_release(network(schema_of(RULE, "not member or age < 11")), 20_000, 1)
    expected = probabilities("network")
    shares = (
        # Other ages of the same bin mend the rest of the rows.
        sum(p for (age, m, _), p in expected.items() if age < 4 and m == "married"),
        0,
    )
    told = made.documents()["constraints"]
    assert [entry["rule"] for entry in told] == [RULE, "not member or age < 11"]
    for entry, share in zip(told, shares, strict=True):
        assert entry["rejected"] == pytest.approx(share, abs=0.02)
        assert set(entry) == {"rule", "rejected"}
    assert f"The rule {RULE} refused {told[0]['rejected']:.2%}" in constraint_notes(made.documents())[0]


def test_rows_of_hardly_any_mass_are_refused_with_the_rules_and_their_shares():
    weights = {**WEIGHTS, "age": np.array([1.0, 0.0, 0.0])}
    model = network(schema_of("age >= 4"), weights)
    with pytest.raises(PrivityError) as found:
        synthesise(model, 10, 1, patience=Patience(1 << 15, 1 << 4))
    assert found.value.code == "too-rare"
    assert "0 meet all conditions: the rule age >= 4 (broken by 100.00%)" in found.value.message
    model = network(schema_of(), weights)
    with pytest.raises(PrivityError, match=r"age >= 8; age <= 11"):
        synthesise(model, 10, 1, with_codes(model.schema, {0: 2}), Patience(1 << 15, 1 << 4))


@pytest.mark.statistical
def test_a_release_gives_up_the_rule_that_cannot_be_met_keeps_the_others_and_says_so():
    """All epsilon is spent by then: a release with a plain word about a rule beats none."""
    weights = {**WEIGHTS, "age": np.array([1.0, 0.0, 0.0])}
    model = network(schema_of("age >= 4", "not member", "marital == 'never' or age > 2"), weights)
    made = synthesise_release(model, 3000, 1)
    assert made.frame.equals(synthesise_release(model, 3000, 1).frame)
    told = made.documents()["constraints"]
    assert [entry.get("enforced", True) for entry in told] == [False, True, True]
    assert told[0]["rejected"] == 1
    assert 0 < told[1]["rejected"] < 1
    assert set(made.frame["member"]) == {"false"}
    assert set(made.frame["age"]) == {0, 1, 2, 3}
    assert len(made.frame) == 3000
    notes = constraint_notes(made.documents())
    assert notes[0].startswith("The rule age >= 4 was NOT enforced")


def test_a_release_without_any_row_that_meets_a_rule_is_made_without_rules(monkeypatch):
    monkeypatch.setattr("privity.common.release.synthetic_rows.OF_A_RELEASE", Patience(1 << 15, OF_A_RELEASE.times))
    weights = {**WEIGHTS, "age": np.array([1.0, 0.0, 0.0])}
    made = synthesise_release(network(schema_of("age >= 4"), weights), 100, 1)
    assert made.frame.equals(synthesise(network(schema_of(), weights), 100, 1))
    assert made.documents() == {"constraints": [{"rule": "age >= 4", "rejected": 1.0, "enforced": False}]}


def test_rules_hold_where_rows_may_be_absent():
    schema = schema_of(RULE, absentRows=True)
    weights = {
        "age": np.append(WEIGHTS["age"], 5.0),
        "marital": np.pad(WEIGHTS["marital"], ((0, 1), (0, 1))),
        "member": np.pad(WEIGHTS["member"], ((0, 1), (0, 1))),
    }
    weights["marital"][3, 3] = weights["member"][2, 3] = 1.0
    frame = synthesise(network(schema, weights), 5000, 2)
    assert ((frame["age"] >= 6) | (frame["marital"] != "married")).all()
    assert len(frame) == 5000


def test_columns_are_of_the_same_types_with_rules_and_without():
    plain, ruled = synthesise(network(schema_of()), 50, 1), synthesise(network(schema_of(RULE)), 50, 1)
    assert dict(plain.dtypes) == dict(ruled.dtypes)
    assert isinstance(ruled, pd.DataFrame)


@pytest.mark.parametrize("rules", [(), (RULE,)], ids=["no rules", "a rule"])
def test_the_codes_of_a_release_are_those_of_its_values(rules):
    made = synthesise_release(network(schema_of(*rules)), 20_000, 3)
    again = encode(made.frame.map(str), made.table.schema, "synthetic.csv")
    assert [column.tolist() for column in made.table.columns] == [column.tolist() for column in again.columns]
