"""Estimates and their errors, straight from tables and by one step: against each other, the rows and brute force."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.code_values import CodeValues, code_values
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE
from privity.common.release.queries import intervals, statistics
from privity.common.release.queries.ask import ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.intervals import Interval
from privity.common.release.queries.linear_estimates import Linear, told_directly
from privity.common.release.queries.one_step import Features, OneStep, features_of, keys_within, near
from privity.common.release.queries.support import EXTRAPOLATED, IMPLIED, MEASURED, kind_of
from privity.common.synthesis import algorithms
from privity.common.synthesis.algorithms import ALGORITHMS

ROWS = 4000
LEVEL = Fraction(19, 20)
FIELDS = [
    {"name": "ward", "type": "string", "categories": ["north", "south", "east"]},
    {"name": "smoker", "type": "boolean"},
    {"name": "visits", "type": "integer", "categories": [0, 1, 2, 3], "categoriesOrdered": True},
    {"name": "ill", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 20, "maximum": 80}, "bins": 6},
]


def population(rows: int, seed: int = 1) -> CodedTable:
    """Everything depends on something, and whether somebody is ill on two others together."""
    generator = np.random.default_rng(seed)
    ward = generator.choice(3, rows, p=[0.5, 0.3, 0.2])
    smoker = generator.random(rows) < np.array([0.2, 0.4, 0.6])[ward]
    age = np.clip(generator.normal(2 + ward, 1.3, rows).round(), 0, 5)
    visits = np.clip(generator.poisson(0.5 + smoker + age / 5), 0, 3)
    ill = generator.random(rows) < 1 / (1 + np.exp(2.5 - 1.2 * smoker - 0.4 * visits))
    columns = (ward, smoker, visits, ill, age)
    return CodedTable(parse_schema({"fields": FIELDS}, "s"), tuple(each.astype(np.uint8) for each in columns))


def released(table, algorithm="aim", epsilon=2, delta=Fraction(1, 10**6), **settings) -> Evidence:
    session = InProcessBackend([table], ALGORITHMS[algorithm].budget(settings, Fraction(epsilon), delta)).session()
    model = asyncio.run(algorithms.learn(session, algorithm, settings))
    return Evidence(model, list(session.record.measured), session.noise_variables, algorithm, session.rows)


@pytest.fixture(scope="module")
def table() -> CodedTable:
    return population(ROWS)


@pytest.fixture(scope="module")
def aim(table: CodedTable) -> Estimator:
    return Estimator(released(table))


@pytest.fixture(scope="module")
def sparse(table: CodedTable) -> Estimator:
    """With two pairs of ten."""
    return Estimator(released(table, tables=2))


def pair_of(estimator: Estimator, *, measured: bool) -> tuple[int, int]:
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    return next(pair for pair in pairs if (kind_of(estimator.evidence, pair)[0] == MEASURED) is measured)


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)], ids=["pure", "delta"])
def test_one_step_is_the_direct_estimate_where_there_is_one(table, delta):
    """Also its noise: the model does not matter where tables hold everything."""
    estimator = Estimator(released(table, delta=delta, tables=4))
    pair = pair_of(estimator, measured=True)
    evidence = estimator.evidence
    pooled = evidence.pooled.of(*pair)
    shape = pooled.counts.shape
    generator = np.random.default_rng(3)
    weights = generator.random((3, *shape))
    direct = told_directly(pooled, weights)
    features = Features.of(evidence.tables, evidence.schema.derived, evidence.variables, range(5))
    cells = evidence.model_rows.cells(pair)
    step = OneStep(features, evidence.model_rows, evidence.rows).tell(weights.reshape(3, -1)[:, cells].T)
    assert step.values == pytest.approx(direct.values, abs=1e-4)
    assert np.sqrt(step.noise.diagonal()) == pytest.approx(np.sqrt(direct.noise.diagonal()), rel=1e-3)
    assert step.sampling.diagonal() == pytest.approx(direct.sampling.diagonal(), rel=0.2)
    assert step.r2 == pytest.approx(1.0, abs=1e-6)
    assert (step.excess <= direct.excess + 0.01).all(), "the direct one is a bound"
    assert np.abs(step.of_rows).max() < 1e-8, "of the rows themselves nothing is unknown but the noise"


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE])
def test_features_are_averaged_and_summed_with_their_noise(table, law):
    delta = Fraction(1, 10**6) if law == GAUSSIAN else 0
    evidence = released(table, "all-pairs", delta=delta)
    derived = evidence.schema.derived
    features = Features.of(evidence.tables, derived, evidence.variables, [0, 1])
    assert set(features.keys) <= {(0,), (1,), (0, 1)}
    place = sum(np.prod([derived.domain[a] for a in key]) for key in features.keys[: features.keys.index((0, 1))])
    mine = slice(int(place), int(place) + 6)
    holding = [one for one in evidence.tables if {0, 1} <= set(one.attributes)]
    weights = [1 / (one.variance * one.counts.size / 6) for one in holding]
    summed = []
    for one in holding:
        axes = [one.attributes.index(a) for a in (0, 1)]
        rest = [axis for axis in range(one.counts.ndim) if axis not in axes]
        summed.append(one.counts.transpose([*axes, *rest]).reshape(6, -1).sum(axis=1))
    expected = sum(w * s for w, s in zip(weights, summed, strict=True)) / sum(weights)
    assert features.counts[mine] == pytest.approx(expected)
    assert features.variances[mine] == pytest.approx(1 / sum(weights))
    assert (features.excesses > 0).all() == (law == LAPLACE)


def test_attributes_that_are_near_come_first_and_features_are_bounded(table):
    evidence = released(table, tables=4)
    derived = evidence.schema.derived

    def features_within(attributes):
        return features_of(keys_within(evidence.tables, derived, attributes), derived)

    whole = features_within(range(5))
    assert near(evidence.tables, derived, [0], whole) == frozenset(range(5))
    some = near(evidence.tables, derived, [0], 20)
    assert 0 in some
    assert features_within(some) <= 20
    assert len(some) < 5


def test_intervals_of_what_was_measured_hold_the_truth(table):
    """Over 60 releases of samples: of what tables hold, of the rows themselves and of the population."""
    schema, held, of_rows = table.schema, [], []
    whole = population(40_000, 9)
    truth = float((whole.columns[3][whole.columns[1] == 1] == 1).mean())
    asked = {"where": [("ill", "==", [True])], "given": [("smoker", "==", [True])]}
    for seed in range(60):
        sample = whole.take(np.random.default_rng(seed).integers(0, whole.rows, 1500))
        estimator = Estimator(released(sample, "all-pairs", epsilon=1))
        (found,) = ask(estimator, "share", **asked)
        held.append(found.low <= truth <= found.high)
        (found,) = ask(estimator, "share", **asked, target="rows")
        real = float((sample.columns[3][sample.columns[1] == 1] == 1).mean())
        of_rows.append(found.low <= real <= found.high)
    assert schema.names == whole.schema.names
    # Of 60 at 95 %, 51 or fewer are seen once in a thousand.
    assert sum(held) >= 52
    assert sum(of_rows) >= 52


def test_an_extrapolation_has_the_error_of_the_model_and_holds_the_truth(table, sparse):
    pair = pair_of(sparse, measured=False)
    names = [table.schema.names[a] for a in pair]
    with pytest.raises(PrivityError, match=f"nothing measured these pairs: {names[0]} and {names[1]}") as caught:
        ask(sparse, "crosstab", names)
    assert "--extrapolate" in str(caught.value)
    real = np.zeros([table.schema.domain[a] for a in pair])
    np.add.at(real, tuple(table.columns[a] for a in pair), 1 / ROWS)
    found = ask(sparse, "crosstab", names, extrapolate=True)
    assert all(each.support.kind == EXTRAPOLATED for each in found)
    assert all(each.errors["model"] > 0 for each in found)
    held = [each.low <= share <= each.high for each, share in zip(found, real.ravel(), strict=True)]
    assert np.mean(held) > 0.8


def test_without_anything_that_the_model_had_not_seen_an_extrapolation_is_refused(table):
    estimator = Estimator(released(table, "mst"))
    pair = pair_of(estimator, measured=False)
    with pytest.raises(PrivityError, match="nothing measured") as caught:
        ask(estimator, "crosstab", [table.schema.names[a] for a in pair], extrapolate=True)
    assert '"selection": "joint"' in str(caught.value)
    overview = Estimator(released(table, "mst", selection="joint"))
    assert overview.model_error is not None
    found = ask(overview, "crosstab", ["ward", "age"], extrapolate=True)
    assert found[0].support.kind in (MEASURED, EXTRAPOLATED)


def test_three_attributes_of_which_all_pairs_are_known_are_implied(table):
    estimator = Estimator(released(table, "mst", edges=2))
    assert kind_of(estimator.evidence, [0])[0] == MEASURED
    whole = Estimator(released(table, tables=10))
    kinds = {kind_of(whole.evidence, three)[0] for three in ([0, 1, 2], [1, 2, 3], [0, 3, 4])}
    assert kinds <= {IMPLIED, EXTRAPOLATED}
    assert IMPLIED in kinds


def test_a_logistic_regression_is_near_that_of_the_rows(table, aim):
    found = {each.of["term"]: each for each in ask(aim, "logistic", ["ill ~ smoker + visits"], extrapolate=True)}
    terms = np.stack([np.ones(ROWS), table.columns[1], table.columns[2]], axis=1).astype(float)
    ill = table.columns[3].astype(float)

    def loss(beta):
        predictor = terms @ beta
        return np.logaddexp(0, predictor).sum() - ill @ predictor

    real = minimize(loss, np.zeros(3), method="BFGS").x
    assert list(found) == ["(intercept)", "smoker[true]", "visits"]
    for term, coefficient in zip(found.values(), real, strict=True):
        reach = 4 * term.standard_error
        assert abs(term.value - coefficient) < reach
        assert reach < 3


def test_influence_is_the_slope_of_a_coefficient(table, aim):
    """A coefficient of the model's rows, with one kind of rows weighing a little more, by brute force."""
    rows = aim.evidence.model_rows
    terms = np.stack([np.ones(rows.own), rows.columns[1][: rows.own]], axis=1).astype(float)
    y = rows.columns[2][: rows.own].astype(float)
    chosen = (rows.columns[0][: rows.own] == 1) & (y > 1)

    def coefficient(more):
        weights = 1 + more * chosen
        return np.linalg.solve((terms * weights[:, None]).T @ terms, terms.T @ (weights * y))[1]

    slope = (coefficient(1e-4) - coefficient(-1e-4)) / 2e-4
    gram = terms.T @ terms / rows.own
    residual = y - terms @ np.linalg.solve(terms.T @ terms, terms.T @ y)
    influence = (terms * residual[:, None]) @ np.linalg.inv(gram)
    assert slope == pytest.approx(float((influence[:, 1] * chosen).mean()), rel=1e-5)


numbers = st.floats(-1, 1).map(lambda x: round(x, 4))


@given(st.data(), st.floats(-0.5, 2), st.floats(0.02, 2), st.booleans())
def test_a_quotient_is_every_number_that_is_not_refuted(data, top, bottom, share):
    """Fieller's interval against a scan of all quotients."""
    factor = np.array(data.draw(st.lists(numbers, min_size=4, max_size=4))).reshape(2, 2) / 10
    noise = factor @ factor.T + 1e-6 * np.eye(2)
    plug = np.array([np.clip(top, 0.05, 0.9) * min(bottom, 1), min(bottom, 1)])
    sampling = 1e-4 * np.array([[plug[0] * (1 - plug[0]), plug[0] * (1 - plug[1])]] * 2) + 1e-6 * np.eye(2)
    sampling[1] = [sampling[0, 1], 1e-4 * plug[1] * (1 - plug[1]) + 1e-6]
    none = np.zeros((2, 2))
    told = Linear(np.array([top, bottom]), plug, noise, sampling, none, none, np.ones(2), np.zeros(2))
    found = intervals.of_quotient(told, 0, 1, LEVEL, share=share)
    scanned = np.linspace(0, 1, 4001) if share else np.linspace(-40, 40, 16001)
    chance = intervals._of_sampling(told, 0, 1)
    kept = []
    for r in scanned:
        direction = np.array([1.0, -r])
        variance = direction @ noise @ direction
        variance += chance * r * (1 - r) if share else direction @ sampling @ direction
        kept.append((top - r * bottom) ** 2 <= 1.959964**2 * variance)
    kept = scanned[np.array(kept)]
    if not found.determined:
        return
    assume(share or max(abs(found.low), abs(found.high)) < 39)
    if not len(kept):
        # A share that is far outside, or ends that lie between two numbers of the scan.
        assert found.high - found.low < 0.02 or found.low in (0, 1)
        return
    step = scanned[1] - scanned[0]
    assert found.low <= kept[0] + 1e-9
    assert found.low >= kept[0] - step - 1e-6
    assert found.high >= kept[-1] - 1e-9
    assert found.high <= kept[-1] + step + 1e-6


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=8), st.floats(0.01, 0.99), st.floats(0, 0.2))
def test_a_quantile_is_where_the_distribution_function_may_pass(parts, at, reach):
    cumulative = np.cumsum(parts) / sum(parts)
    steps = [Interval(v, max(0.0, v - reach), min(1.0, v + reach), 0, 0, 0) for v in cumulative[:-1]]
    edges = np.arange(len(parts) + 1, dtype=float)
    values = CodeValues(edges[:-1], edges[1:], (edges[:-1] + edges[1:]) / 2)
    found = statistics._inverted(steps, values, range(len(parts)), at)
    possible = [
        code
        for code in range(len(parts))
        if (code == len(parts) - 1 or min(1.0, cumulative[code] + reach) >= at)
        and (code == 0 or max(0.0, cumulative[code - 1] - reach) < at)
    ]
    assert (found.low, found.high) == (edges[possible[0]], edges[possible[-1] + 1])
    assert found.low <= found.value <= found.high


def test_values_of_codes_are_exact_or_bounded():
    fields = [
        {"name": "few", "type": "integer", "categories": [1, 5, 9]},
        {"name": "wide", "type": "integer", "edges": [0, 10, 20], "outOfDomain": "edge"},
        {"name": "fine", "type": "number", "decimals": 1, "edges": [0, 0.5, 1]},
        {"name": "true", "type": "boolean"},
    ]
    few, wide, fine, truth = (code_values(a) for a in parse_schema({"fields": fields}, "s").attributes)
    assert few.exact
    assert few.low.tolist() == [1, 5, 9]
    assert wide.low.tolist() == [-np.inf, 10]
    assert wide.high.tolist() == [9, np.inf]
    assert wide.middle.tolist() == [4.5, 15]
    assert fine.low.tolist() == [0, 0.5]
    assert fine.high == pytest.approx([0.4, 1.0])
    assert truth.middle.tolist() == [0, 1]
