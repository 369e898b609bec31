"""A forest whose tables would not fit one round is refused before anything is asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import Catalogue, PrivityError
from privity.common.planned_run import planned_session, rehearse
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.step_limits import ROUND_CELLS
from privity.common.synthesis.learning import dependency_graph
from privity.common.synthesis.learning.dependency_graph import check_forest
from tests.harness.consortium import make_schema

SMALL_ROUND = 60


@given(st.lists(st.integers(2, 9), min_size=2, max_size=5), st.integers(1, 4))
def test_it_is_refused_if_the_pairs_of_any_forest_would_be_too_many(domain: list[int], edges: int) -> None:
    attributes, schema = range(len(domain)), make_schema(tuple(domain))
    pairs = list(combinations(attributes, 2))
    forests = [some for size in range(edges + 1) for some in combinations(pairs, size) if nx.Graph(some).size() == 0
               or nx.is_forest(nx.Graph(some))]  # fmt: skip
    largest = max(sum(domain[a] * domain[b] for a, b in forest) for forest in forests)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dependency_graph, "ROUND_CELLS", SMALL_ROUND)
        patched.setattr("privity.common.protocol.step_limits.ROUND_CELLS", SMALL_ROUND)
        if largest <= SMALL_ROUND:
            check_forest(attributes, schema.derived, edges)
        else:
            with pytest.raises(PrivityError) as refused:
                check_forest(attributes, schema.derived, edges)
            assert refused.value.kind is Catalogue.DOMAIN_TOO_LARGE


@pytest.mark.parametrize("rows", [1_000, 1_000_000])
def test_nothing_is_spent_on_a_structure_whose_tables_do_not_fit(rows: int) -> None:
    domain = (1000,) * 20
    assert ROUND_CELLS < 19 * 1000**2
    held = dict.fromkeys(("a", "b", "c"), rows)
    budget = PureBudget(Fraction(4))
    session = planned_session(make_schema(domain), held, 1, budget)
    with pytest.raises(PrivityError) as refused:
        rehearse(session, "dp-subn", {})
    assert refused.value.kind is Catalogue.DOMAIN_TOO_LARGE
    assert not session.record.costs
