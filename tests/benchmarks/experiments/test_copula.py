"""Parts of the copula's experiment: queries against brute force, outputs that are what they are called."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.experiments.copula import TABLE_2
from benchmarks.methods import copula_outputs
from benchmarks.methods.conjunctions import Queries, conjunctions, dummies_of, errors_of, summary
from benchmarks.methods.copula_large import cost, made, sizes_of


def test_answers_are_counts_of_rows_that_have_all_categories(make_table):
    domain = (2, 3, 2, 4)
    table = make_table(domain, 60, 3)
    answers = Queries(domain).answers(dummies_of(table))
    for ways in (1, 2, 3):
        brute = []
        for attributes in combinations(range(4), ways):
            for codes in product(*(range(domain[a]) for a in attributes)):
                have = [table.columns[a] == code for a, code in zip(attributes, codes, strict=True)]
                brute.append(np.logical_and.reduce(have).sum())
        assert sorted(answers[ways]) == sorted(brute)
        assert len(brute) == conjunctions(domain, ways)
    products = Queries(domain).products(answers[1], table.rows)
    assert products.sum() == pytest.approx(table.rows * 6)  # six pairs, shares that add up to 1 in each
    assert set(errors_of(answers, {2: products})) >= {"2/95/mean", "2/100/max", "2/curve"}


def test_the_first_part_of_the_errors_is_the_least_ones():
    found = summary(np.arange(1000)[::-1], 1)
    assert (found["1/95/mean"], found["1/95/max"], found["1/100/max"]) == (474.5, 949, 999)
    assert found["1/curve"][0] == 0
    assert found["1/curve"][-1] == 999


def test_the_parts_of_lap_are_those_of_the_paper():
    assert copula_outputs.part_of(Fraction(1), 105) == pytest.approx(0.014782, abs=1e-6)
    assert copula_outputs.part_of(Fraction(1), 45) == pytest.approx(0.022579, abs=1e-6)


@pytest.mark.statistical
def test_without_noise_correlations_help_and_a_row_may_have_two_categories_by_the_papers_decoding(make_table):
    table = made(20_000, [2, 3, 4, 5], 2)
    found = {what: copula_outputs.errors(table, what, Fraction(1), 1) for what in ("cop", "cop-ID", "no-cor")}
    assert found["cop"]["2/100/mean"] < found["cop-ID"]["2/100/mean"] / 2
    assert found["no-cor"]["2/100/mean"] == pytest.approx(found["cop-ID"]["2/100/mean"], rel=0.2)
    assert "1/95/mean" not in found["no-cor"]
    model = copula_outputs.exact_model(table, "cop")
    dummies = copula_outputs.decode_apart(model, table, np.random.default_rng(1))
    assert dummies.mean(axis=0) == pytest.approx(np.concatenate(copula_outputs.shares_of(table)), abs=0.02)
    of_one_attribute = dummies[:, 9:14].sum(axis=1)
    assert {0, 1, 2} <= set(of_one_attribute.astype(int).tolist())
    raced = dummies_of(model.sample(1000, np.random.default_rng(1)))
    assert (raced[:, 9:14].sum(axis=1) == 1).all()


@pytest.mark.statistical
@pytest.mark.parametrize("what", TABLE_2)
def test_every_output_has_errors(what):
    found = copula_outputs.errors(made(3000, [2, 3, 4], 1), what, Fraction(1), 1)
    assert all(np.isfinite(value).all() for value in found.values())


def test_made_tables_depend_and_have_the_sizes_asked():
    assert sizes_of("25x2,24,2x3") == [25, 25, 24, 2, 2, 2]
    table = made(5000, [3, 3, 300], 1)
    assert table.schema.domain == (3, 3, 300)
    assert (table.columns[0] == table.columns[1]).mean() > 0.5  # a third by chance, a third of the rest follow


def test_the_cost_of_a_made_table_has_seconds_and_memory():
    found = cost(500, [3, 3, 2])
    assert (found["rows"], found["attributes"]) == (500, 3)
    assert found["both"] >= found["fit"] > 0
    assert found["peak"] > 0
