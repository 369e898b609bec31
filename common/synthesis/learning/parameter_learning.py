"""The parameters of a network or junction tree: tables and all 1-way tables, measured and fitted; shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from privity.common.data.noisy_tables import AttributeParentPair, Marginal, NoisyTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.inference.estimation import (
    Estimate,
    average,
    collect,
    fit_table,
    holders,
    marginalise,
    one_way_marginals,
    shrink_pair,
)
from privity.common.synthesis.inference.fit_choice import TABLES, choose_inference
from privity.common.synthesis.inference.junction_tree import JunctionTree
from privity.common.synthesis.inference.maximum_likelihood import STEPS, fit_model, told_apart
from privity.common.synthesis.inference.table_consistency import make_consistent
from privity.common.synthesis.learning.one_way_tables import measure_single
from privity.common.synthesis.learning.search_frontier import Parents
from privity.common.synthesis.learning.theta_usefulness import TableNoise, typical_usefulness
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel

PARAMETERS = "parameter learning"

WIDE_SHARE = Fraction(7, 10)
"""Share of parameter learning for the network's tables if 3-way tables are useful: those give good 1-way
tables themselves."""

PAIR_SHARE = Fraction(1, 2)
"""The same if only pair tables are useful."""

CLEAR = 8
"""Theta of a whole tree's pair tables from which on all its edges are selected; see ``clarity``."""


def clarity(domain: Sequence[int], noise: TableNoise, share: Share) -> Fraction:
    """How much of a tree is worth measuring for this share, which parameter learning has: above 0, at most 1.

    Where the pair tables of a tree are below the noise floor, a few of its strongest edges are better: each gets more
    of the budget, and more is left for the 1-way tables, whose error dominates. The best
    of both is near the power 2/3 of the usefulness that the tree's tables would have (docs/performance.md).
    """
    useful = typical_usefulness(domain, 2, noise, len(domain) - 1, share * PAIR_SHARE)
    # Hundredths keep exact scales short.
    return Fraction(max(1, round(100 * min(1.0, useful / CLEAR) ** (2 / 3))), 100)


async def learn_parameters(
    session: Session,
    network: Parents,
    revealed: Sequence[NoisyTable],
    share: Share,
    part: Fraction,
    inference: str,
) -> Model:
    """Phase 4: the network's tables and all 1-way tables, joined with what was revealed before.

    Args:
        part: of the share, for the network's tables; without any, all of it is for the 1-way tables.
        inference: a name in ``privity.common.synthesis.inference.fit_choice.INFERENCES``; a graphical model is a
        junction tree.
    """
    marginals = _uncontained([(x, *parents) for x, parents in sorted(network.items()) if parents])
    tables = [*await _measure(session, marginals, network, share, part), *revealed]
    session.all_asked()
    graphical = await fit_graphical(session, tables, inference)
    if graphical is not None:
        return graphical
    return await session.compute(lambda: _fit(session, network, tables))


async def learn_cliques(
    session: Session,
    tree: JunctionTree,
    measured: Sequence[Marginal],
    revealed: Sequence[NoisyTable],
    share: Share,
    part: Fraction,
    inference: str,
) -> JunctionTreeModel:
    """The same for a junction tree: 1-way tables and those of ``measured``, within one of which each clique is.

    Args:
        part: of the share, for ``measured``; without any of more than one attribute, all is for the 1-way tables.
    """
    attributes = sorted({a for clique in tree.cliques for a in clique})
    wide = [marginal for marginal in measured if len(marginal) > 1]
    tables = [*await _measure(session, wide, attributes, share, part), *revealed]
    return await fit_cliques(session, tree, tables, inference)


async def fit_cliques(
    session: Session, tree: JunctionTree, tables: Sequence[NoisyTable], inference: str
) -> JunctionTreeModel:
    """A junction tree with all that was measured: this one, or that of a graphical model of all the tables."""
    session.all_asked()
    graphical = await fit_graphical(session, tables, inference)
    if graphical is not None:
        return graphical
    return await session.compute(lambda: _fit_cliques(session, tree, tables))


async def fit_graphical(session: Session, tables: Sequence[NoisyTable], inference: str) -> JunctionTreeModel | None:
    """The graphical model of all the tables, if it was asked for and can be had; what was used is on the record."""
    schema, rows = session.schema, session.rows
    apart = None if inference == TABLES else told_apart(tables, schema, rows)
    used = choose_inference(inference, [table.attributes for table in tables], schema, STEPS, apart)
    session.record.inference = used
    if used.method == TABLES:
        return None
    return (await session.compute(lambda: fit_model(tables, schema, rows))).model.release(schema, rows)


async def _measure(
    session: Session, marginals: Sequence[Marginal], attributes: Iterable[int], share: Share, part: Fraction
) -> Sequence[NoisyTable]:
    """The tables for this part of the share and all 1-way tables for the rest; without tables for all of it."""
    if not marginals:
        return await measure_single(session, PARAMETERS, share, attributes)
    tables = await session.measure(PARAMETERS, marginals, share * part)
    return [*tables, *await measure_single(session, PARAMETERS, share * (1 - part), attributes)]


def _uncontained(marginals: Sequence[Marginal]) -> list[Marginal]:
    """Those that no other one contains: what is in a wider table costs nothing more."""
    sets = [frozenset(marginal) for marginal in marginals]
    return [m for m, attributes in zip(marginals, sets, strict=True) if not any(attributes < other for other in sets)]


def _fit(session: Session, network: Parents, tables: Sequence[NoisyTable]) -> BayesianNetwork:
    """The network with all that was measured; post-processing."""
    rows = session.rows
    estimates = collect(tables)
    ones = one_way_marginals(estimates, network, rows, session.schema.ordered_codes)
    consistent, held = make_consistent(estimates, rows), holders(estimates)
    nodes = []
    for x, parents in sorted(network.items()):
        pair = AttributeParentPair(x, parents)
        if not parents:
            nodes.append(Node(pair, ones[x]))
            continue
        key = tuple(sorted(pair.marginal))
        estimate = _of_marginal(key, estimates, consistent, held)
        marginals = [_one_way(a, ones, session.schema) for a in key]
        if len(key) == 2:
            # Wider tables are useful by choice of the degree, and need no shrinking.
            estimate = shrink_pair(estimate, marginals, rows)
        fitted = fit_table(estimate, marginals, rows)
        nodes.append(Node(pair, fitted.transpose([key.index(a) for a in pair.marginal])))
    return BayesianNetwork(session.schema, nodes)


def _fit_cliques(session: Session, tree: JunctionTree, tables: Sequence[NoisyTable]) -> JunctionTreeModel:
    """The junction tree with all that was measured; each clique agrees with the one that it hangs from."""
    rows = session.rows
    estimates = collect(tables)
    attributes = sorted({a for clique in tree.cliques for a in clique})
    ones = one_way_marginals(estimates, attributes, rows, session.schema.ordered_codes)
    consistent, held = make_consistent(estimates, rows), holders(estimates)
    fitted: list[np.ndarray] = []
    for clique, parent, separator in zip(tree.cliques, tree.parents, tree.separators, strict=True):
        if len(clique) == 1:
            fitted.append(ones[clique[0]])
            continue
        estimate = _of_marginal(clique, estimates, consistent, held)
        marginals = [ones[a] for a in clique]
        if len(clique) == 2:
            estimate = shrink_pair(estimate, marginals, rows)
        known = None
        if parent is not None and len(separator) > 1:
            above = tree.cliques[parent]
            summed = tuple(axis for axis, a in enumerate(above) if a not in separator)
            known = [clique.index(a) for a in separator], fitted[parent].sum(axis=summed)
        fitted.append(fit_table(estimate, marginals, rows, known))
    cliques = [Clique(*parts) for parts in zip(tree.cliques, tree.separators, fitted, strict=True)]
    return JunctionTreeModel(session.schema, cliques)


def _of_marginal(
    key: Marginal,
    estimates: Mapping[Marginal, Estimate],
    consistent: Mapping[Marginal, Estimate],
    held: Mapping[int, Sequence[Marginal]],
) -> Estimate:
    """The marginal from every table that contains it.

    The counts are the consistent ones, in any of these tables. The variance is that of what only these tables
    tell, not of the consistent cells: shrinking concerns what no smaller table has.

    Args:
        held: the tables that have each attribute.
    """
    rarest = min((held[a] for a in key), key=len)
    having = {table: [table.index(a) for a in key] for table in rarest if set(key) <= set(table)}
    variance = average([marginalise(estimates[table], axes) for table, axes in having.items()]).variance
    table, axes = next(iter(having.items()))
    return Estimate(marginalise(consistent[table], axes).counts, variance)


def _one_way(attribute: int, ones: Mapping[int, np.ndarray], schema: Schema) -> np.ndarray:
    """Counts of an attribute; those of a generalisation are sums of its base's."""
    if attribute in ones:
        return ones[attribute]
    derived = schema.derived
    counts = ones[derived.base[attribute]]
    groups = derived.derive(attribute, np.arange(counts.size))
    return np.bincount(groups, weights=counts, minlength=derived.domain[attribute])
