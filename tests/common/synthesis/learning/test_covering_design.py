"""Covering designs: golden numbers, every pair exactly once, and the optimum against all parameter trees."""

import math
import random
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.synthesis.learning.covering_design import (
    ParameterTree,
    corners,
    design_cost,
    optimal_design,
    tree_views,
)
from privity.common.synthesis.learning.finite_field import finite_field, prime_power
from privity.common.synthesis.learning.theta_usefulness import laplace_scale
from tests.harness.steps import pure

ADULT = [16, 8, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2]
DOMAINS = st.lists(st.integers(1, 20), min_size=1, max_size=40) | st.integers(1, 70).map(lambda d: [2] * d)


def all_pairs(count):
    return list(combinations(range(count), 2))


def pairs_held(views):
    return sorted(pair for view in views for pair in combinations(view, 2))


# Golden numbers (privacy.md, section 8).


@pytest.mark.parametrize(("count", "tables", "cells"), [(15, 20, 1560), (16, 20, 1920), (52, 71, 159840)])
def test_golden_numbers_of_binary_attributes(count, tables, cells):
    design = optimal_design([2] * count, infinity_row=False)
    assert (design.kind, design.tables, design.cost) == ("design", tables, tables**2 * cells)
    assert f"{design.cost:.2e}" == {15: "6.24e+05", 16: "7.68e+05", 52: "8.06e+08"}[count]


def test_golden_root_of_52_attributes():
    best = min(corners(52, 2, False, TABLE_CELLS), key=lambda c: c.tables**2 * c.cells)
    assert (len(best.tree.rows), best.tree.columns) == (7, 8)
    assert {row.size for row in best.tree.rows} == {8, 4}
    assert not any(row.rows for row in best.tree.rows)


@pytest.mark.statistical
@pytest.mark.parametrize(("count", "tables", "cost"), [(12, 13, 162240), (30, 31, 24909120), (52, 57, 794809368)])
def test_an_infinity_row_needs_fewer_tables(count, tables, cost):
    design = optimal_design([2] * count, infinity_row=True)
    assert (design.tables, design.cost) == (tables, cost)
    assert cost < optimal_design([2] * count, infinity_row=False).cost
    assert pairs_held(design.views) == all_pairs(count)


def test_the_default_is_the_rule_of_the_golden_numbers():
    assert optimal_design([2] * 52) == optimal_design([2] * 52, infinity_row=False)


def printed_algorithm_2(count):
    """Parameter tree of the paper's Algorithm 2 as printed, with n over the primes and l = ceil(d/n) (line 12)."""
    error, trees = [0, 2], [None, ParameterTree(1)]
    for size in range(2, count + 1):
        error.append(2**size)
        trees.append(ParameterTree(size))
        for n in range(math.isqrt(size), size):
            if prime_power(n) != (n, 1):
                continue
            rows = -(-size // n)
            last = size - (rows - 1) * n
            found = error[last] + (rows - 1) * error[n] + 2**rows * (n * size - n * rows + 2 * n * n)
            if found < error[size]:
                error[size] = found
                trees[size] = ParameterTree(size, n, (trees[n],) * (rows - 1) + (trees[last],))
    return trees[count]


def test_the_printed_algorithm_2_is_six_times_worse():
    views = list(tree_views(printed_algorithm_2(52)))
    cost = design_cost(views, [2] * 52)
    assert (len(views), f"{cost:.2e}") == (493, "5.15e+09")
    assert 6.3 < cost / optimal_design([2] * 52).cost < 6.5


# Finite fields.


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27])
def test_field_axioms(order):
    field = finite_field(order)
    sums, products = np.array(field.sums), np.array(field.products)
    elements = np.arange(order)
    a, b, c = np.ix_(elements, elements, elements)
    for table in (sums, products):
        assert (table == table.T).all()
        assert (table[table[a, b], c] == table[a, table[b, c]]).all()
    assert (products[a, sums[b, c]] == sums[products[a, b], products[a, c]]).all()
    assert (sums[0] == elements).all()
    assert (products[1] == elements).all()
    assert (np.sort(sums, axis=1) == elements).all()
    assert (np.sort(products[1:], axis=1) == elements).all()


def test_prime_powers():
    by_definition = {p**k for p in range(2, 300) if all(p % i for i in range(2, p)) for k in range(1, 9)}
    assert {q for q in range(300) if prime_power(q)} == {q for q in by_definition if q < 300}
    assert prime_power(128) == (2, 7)
    assert prime_power(169) == (13, 2)
    for order in (0, 1, 6, 12, 100):
        with pytest.raises(ValueError):
            finite_field(order)


# Views of a tree.


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 8, 9, 11, 16])
def test_transversal_views_hold_every_pair_of_different_rows_exactly_once(columns):
    for rows in range(2, columns + 2):  # columns + 1: with the row at infinity
        tree = ParameterTree(rows * columns, columns, (ParameterTree(columns),) * rows)
        transversal = list(tree_views(tree))[rows:]
        assert len(transversal) == columns**2
        assert all([a // columns for a in view] == list(range(rows)) for view in transversal)
        expected = [(i, j) for i, j in all_pairs(rows * columns) if i // columns != j // columns]
        assert pairs_held(transversal) == expected


@given(st.integers(1, 60), st.integers(2, 5), st.booleans())
def test_every_corner_is_a_tree_whose_views_have_its_numbers_and_hold_every_pair_once(count, size, infinity_row):
    for corner in corners(count, size, infinity_row, TABLE_CELLS):
        views = list(tree_views(corner.tree))
        assert len(views) == corner.tables
        assert design_cost(views, [size] * count) == corner.tables**2 * corner.cells
        assert pairs_held(views) == all_pairs(count)


# Optimality.


@cache
def every_tree(count, size, infinity_row):
    """(tables, cells) of every parameter tree; each row may have a tree of its own."""
    if count == 1:
        return {(0, 0)}
    found = {(1, math.comb(count, 2) * size**count)}
    for columns in (q for q in (2, 3, 4, 5, 7, 8, 9, 11, 13) if q < count):
        rows = -(-count // columns)
        if rows > columns + infinity_row:
            continue
        short = {count - (rows - 1) * columns}
        tree = ParameterTree(count, columns, tuple(map(ParameterTree, [columns] * (rows - 1) + list(short))))
        lines = [v for v in tree_views(tree) if len({a // columns for a in v}) > 1]
        sums = {(len(lines), sum(math.comb(len(v), 2) * size ** len(v) for v in lines))}
        for row in tree.rows:
            options = every_tree(row.size, size, infinity_row)
            sums = {(a + c, b + d) for (a, b), (c, d) in product(sums, options)}
        found |= sums
    return found


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("infinity_row", [False, True])
def test_no_parameter_tree_is_cheaper(size, infinity_row):
    for count in range(2, 15):
        best = min(tables**2 * cells for tables, cells in every_tree(count, size, infinity_row))
        assert optimal_design([size] * count, infinity_row=infinity_row).cost == best


def every_list_of_views(count):
    """One list of views per tree whose rows are single views or their own pairs, and all of their arrangements."""
    for columns in (q for q in (2, 3, 4, 5) if q < count <= q * q):
        rows = -(-count // columns)
        sizes = [columns] * (rows - 1) + [count - (rows - 1) * columns]
        views = list(tree_views(ParameterTree(count, columns, tuple(map(ParameterTree, sizes)))))
        lines = [v for v in views if len({a // columns for a in v}) > 1]
        options = [[[v], list(combinations(v, 2))] for v in views if v not in lines]
        for choice in product(*options):
            chosen = lines + [view for row in choice for view in row]
            for order in permutations(range(count)):
                yield [[order[a] for a in view] for view in chosen]


@pytest.mark.statistical
def test_no_arrangement_of_six_different_domains_is_cheaper():
    generator = random.Random(5)
    for _ in range(12):
        domains = [generator.choice([2, 2, 3, 4, 8, 16]) for _ in range(6)]
        best = min(design_cost(views, domains) for views in every_list_of_views(6))
        assert optimal_design(domains).cost <= best


def test_wide_domains_are_almost_all_pairs():
    """The attributes of Adult: pairs cost 1.93e8, and a few triples of narrow ones save a tenth of it."""
    design, pairs = optimal_design(ADULT), design_cost(all_pairs(15), ADULT)
    assert pairs == 105**2 * 17479
    assert (design.kind, design.tables, design.cost) == ("design", 91, 172518073)
    assert sorted(map(len, design.views)) == [2] * 84 + [3] * 7
    assert optimal_design([16] * 15).kind == "pairs"


@pytest.mark.statistical
def test_allowing_more_never_costs_more():
    generator = random.Random(6)
    for _ in range(20):
        domains = [generator.choice([2, 2, 3, 4, 8, 16, 40]) for _ in range(generator.randint(3, 30))]
        assert optimal_design(domains, infinity_row=True).cost <= optimal_design(domains, infinity_row=False).cost


# What is returned.
@given(DOMAINS, st.booleans())
def test_every_pair_is_held_once_and_the_cost_is_the_formula_of_the_views(domains, infinity_row):
    design = optimal_design(domains, infinity_row=infinity_row)
    count = len(domains)
    assert design == optimal_design(tuple(domains), infinity_row=infinity_row)
    assert pairs_held(design.views) == all_pairs(count)
    assert all(view == tuple(sorted(view)) for view in design.views)
    assert list(design.views) == sorted(design.views)
    assert count == 1 or min(map(len, design.views)) >= 2
    cells = [math.prod(domains[a] for a in view) for view in design.views]
    assert max(cells) <= TABLE_CELLS
    total = sum(len(view) * (len(view) - 1) // 2 * n for view, n in zip(design.views, cells, strict=True))
    assert design.tables == len(design.views)
    assert design.cost == design.tables**2 * total
    pairs = [[i, j] for i, j in all_pairs(count)]
    assert design.cost <= design_cost(pairs, domains)
    if math.prod(domains) <= TABLE_CELLS:
        assert design.cost <= design_cost([range(count)], domains)
    assert design.kind == {len(pairs): "pairs", 1: "one view"}.get(
        design.tables, "one view" if count == 1 else "design"
    )
    for i, j in pairs[:50]:
        assert {i, j} <= set(design.view_of(i, j))
        assert design.view_of(j, i) == design.view_of(i, j)


def test_one_and_two_attributes():
    assert optimal_design([5]).views == ((0,),)
    assert optimal_design([5]).cost == 0
    assert optimal_design([3, 4]).views == ((0, 1),)
    assert optimal_design([3, 4]).cost == 12
    with pytest.raises(KeyError):
        optimal_design([3, 4]).view_of(1, 1)


def test_the_expected_squared_error_is_that_of_the_pair_tables_that_are_read_from_the_views():
    """Variance 2b^2 per cell, added up over the cells that each entry of each pair table is the sum of."""
    domains, epsilon = [2, 3, 2, 4, 2, 2, 3, 2, 2, 2], Fraction(3, 10)
    design = optimal_design(domains)
    assert design.kind == "design"
    variance = 2 * laplace_scale(design.tables, pure(epsilon)) ** 2
    total = Fraction(0)
    for i, j in all_pairs(len(domains)):
        cells = math.prod(domains[a] for a in design.view_of(i, j))
        entries = domains[i] * domains[j]
        total += entries * (cells // entries) * variance
    assert design.expected_squared_error(epsilon) == total == 8 * design.cost / epsilon**2


def test_no_view_is_over_the_limit():
    free, bound = optimal_design([2] * 8), optimal_design([2] * 8, limit=16)
    assert free.kind == "one view"
    assert bound.kind != "one view"
    assert max(2 ** len(view) for view in bound.views) <= 16
    mixed = optimal_design([3, 5, 4, 2, 2, 2, 2, 2, 2, 2], limit=20)
    assert max(math.prod([3, 5, 4, 2, 2, 2, 2, 2, 2, 2][a] for a in view) for view in mixed.views) <= 20


def test_a_pair_over_the_limit_is_refused():
    with pytest.raises(PrivityError, match="number 2, number 3"):
        optimal_design([2, 2000, 2000, 3])
    with pytest.raises(PrivityError):
        optimal_design([2 * TABLE_CELLS])
    for wrong in ([], [2, 0]):
        with pytest.raises(ValueError):
            optimal_design(wrong)


@pytest.mark.statistical
@pytest.mark.parametrize("count", [52, pytest.param(200, marks=pytest.mark.long)])
def test_many_attributes_have_a_design_of_all_pairs(count):
    generator = random.Random(count)
    for domains in ([2] * count, [generator.choice([2, 2, 3, 4, 8]) for _ in range(count)]):
        covered = {pair for view in optimal_design(domains).views for pair in combinations(sorted(view), 2)}
        assert len(covered) == count * (count - 1) // 2
