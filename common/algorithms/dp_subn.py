"""DP-SUBN: differentially private sequential update of a Bayesian network, over any number of parties.

Source: Su, Tang, Cheng, Chen, Wu, "Differentially Private Multi-Party High-Dimensional Data Publishing"
(ICDE 2016), section VI. Deviations, each for soundness or accuracy:

- Structure initialisation scores attribute-parent pairs by R, not mutual information: its sensitivity
  is far smaller for the same purpose. Each party draws with the sensitivity of its own row count.
- Structure updating opens the frontier's statistics once, over all parties, under noise that all share.
  (The paper's updates, one after each party, each charge every party whose rows are in the sum.)
- What is opened over all parties is used again for the parameters: post-processing costs nothing.
- The budget is not split equally over the four phases; see ``Settings``.

Privacy: the phases compose; each party is charged epsilon in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from common.algorithms.association import noisy_association
from common.algorithms.estimation import average, collect, fit_table, marginalise, one_way_marginals
from common.algorithms.search_frontier import Parents, build_frontier
from common.algorithms.settings import SettingsReader
from common.algorithms.usefulness import useful_cells, useful_degree
from common.models.bayesian_network import BayesianNetwork, Node
from common.privacy.budget import split_epsilon
from common.protocol.limits import ROUND_CELLS, TABLE_CELLS, count_cells
from common.protocol.session import Session
from common.statistics import AttributeParentPair, Marginal, NoisyTable

CORRELATIONS = "correlation quantification"
INITIALISATION = "structure initialisation"
UPDATE = "structure update"
PARAMETERS = "parameter learning"


@dataclass(frozen=True)
class Settings:
    """Settings of DP-SUBN, all public.

    Attributes:
        correlations, initialisation, update, parameters: weights of the four phases in epsilon.
        theta: usefulness of the network's tables, from which its degree k follows.
        frontier_theta: usefulness of the pair tables of edges that the frontier adds.
        largest_degree: most parents of an attribute in the network; the frontier allows one more.
        first_attribute: name of the attribute without parents from which the structure grows;
            without it the first one of the schema.
    """

    correlations: Fraction = Fraction(1, 50)
    initialisation: Fraction = Fraction(1, 10)
    update: Fraction = Fraction(2, 25)
    parameters: Fraction = Fraction(4, 5)
    theta: Fraction = Fraction(6)
    frontier_theta: Fraction = Fraction(2)
    largest_degree: int = 3
    first_attribute: str | None = None

    @classmethod
    def read(cls, settings: Mapping[str, Any], names: Sequence[str]) -> Settings:
        """From the plain document of a run spec; every fault at once."""
        reader = SettingsReader("dp-subn", settings)
        default = cls()
        read = cls(
            correlations=reader.weight("correlations", default.correlations),
            initialisation=reader.weight("initialisation", default.initialisation),
            update=reader.weight("update", default.update),
            parameters=reader.weight("parameters", default.parameters),
            theta=reader.weight("theta", default.theta),
            frontier_theta=reader.weight("frontier_theta", default.frontier_theta),
            largest_degree=reader.whole("largest_degree", default.largest_degree, 1, 5),
            first_attribute=reader.choice("first_attribute", None, names),
        )
        reader.finish()
        return read

    def split(self, epsilon: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Epsilon of the four phases, exactly ``epsilon`` together."""
        weights = (self.correlations, self.initialisation, self.update, self.parameters)
        first, second, third, fourth = split_epsilon(epsilon, weights)
        return first, second, third, fourth


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> BayesianNetwork:
    """Learn a Bayesian network of the joint rows of all parties for ``epsilon`` in all."""
    chosen = Settings.read(settings, session.schema.names)
    if len(session.schema.attributes) == 1:
        return await _learn_parameters(session, {0: ()}, [], epsilon)
    for_pairs, for_draws, for_update, for_parameters = chosen.split(epsilon)
    domain = session.schema.domain

    association = await _quantify_correlations(session, for_pairs)

    attributes = len(domain)
    cells = useful_cells(session.rows, 2 * attributes, for_parameters, chosen.theta)
    degree = useful_degree(domain, cells, chosen.largest_degree)
    network = await _initialise_structure(session, for_draws, degree, chosen)

    edges = sum(len(parents) for parents in network.values())
    largest_pair = useful_cells(session.rows, edges + attributes, for_update, chosen.frontier_theta)
    frontier = build_frontier(network, association, degree + 1, domain, largest_pair)
    opened = await session.measure(UPDATE, _frontier_tables(frontier, degree, domain), for_update)
    network = _update_structure(frontier, degree, domain, opened)

    return await _learn_parameters(session, network, opened, for_parameters)


async def _quantify_correlations(session: Session, epsilon: Fraction) -> dict[tuple[int, int], float]:
    """Phase 1: the association of every pair of attributes, from their measured tables."""
    pairs = list(combinations(range(len(session.schema.attributes)), 2))
    tables = await session.measure(CORRELATIONS, pairs, epsilon)
    return {pair: noisy_association(table) for pair, table in zip(pairs, tables, strict=True)}


async def _initialise_structure(session: Session, epsilon: Fraction, degree: int, settings: Settings) -> Parents:
    """Phase 2: party after party draws attribute-parent pairs on its own rows."""
    names = session.schema.names
    first = names.index(settings.first_attribute) if settings.first_attribute else 0
    network: Parents = {first: ()}
    left = [a for a in range(len(names)) if a != first]
    series = session.selection(INITIALISATION, len(left), epsilon)
    while left:
        pair = await series.draw(_candidates(left, sorted(network), degree, session.schema.domain))
        network[pair.attribute] = pair.parents
        left.remove(pair.attribute)
    return network


def _candidates(
    left: Sequence[int], placed: Sequence[int], degree: int, domain: Sequence[int]
) -> list[AttributeParentPair]:
    """Every attribute not placed with every parent set of the degree, or of the largest one that fits.

    Limits are on declared domains only: tables of at most TABLE_CELLS, ROUND_CELLS for all together.
    """
    for size in range(min(degree, len(placed)), 0, -1):
        parent_sets = list(combinations(placed, size))
        pairs = [AttributeParentPair(x, parents) for x in left for parents in parent_sets]
        fitting = [p for p in pairs if count_cells([p.marginal], domain) <= TABLE_CELLS]
        every = {p.attribute for p in fitting} == set(left)
        if every and count_cells([p.marginal for p in fitting], domain) <= ROUND_CELLS:
            return fitting
    # Pairs of attributes have been measured before, so each of them is within the limits.
    return [AttributeParentPair(x, (placed[0],)) for x in left]


def _frontier_tables(frontier: Parents, degree: int, domain: Sequence[int]) -> list[Marginal]:
    """The tables that hold every candidate pair of the frontier, in the cheaper of two shapes.

    For each attribute either one table with all its frontier parents, or one for each parent set of the
    network's degree, whichever has fewer cells.
    """
    tables: list[Marginal] = []
    for attribute, parents in frontier.items():
        if not parents:
            continue
        together: list[Marginal] = [(attribute, *parents)]
        apart: list[Marginal] = [(attribute, *some) for some in _options(attribute, parents, degree, domain)]
        cells = count_cells(together, domain)
        tables += together if cells <= min(TABLE_CELLS, count_cells(apart, domain)) else apart
    return tables


def _options(attribute: int, parents: Sequence[int], degree: int, domain: Sequence[int]) -> list[Marginal]:
    """Parent sets that the updated network may give the attribute: of the degree, or the largest that fits."""
    for size in range(min(degree, len(parents)), 0, -1):
        sets = combinations(parents, size)
        fitting = [some for some in sets if count_cells([(attribute, *some)], domain) <= TABLE_CELLS]
        if fitting:
            return fitting
    return [()]


def _update_structure(frontier: Parents, degree: int, domain: Sequence[int], opened: Sequence[NoisyTable]) -> Parents:
    """Phase 3: of each attribute's frontier parents, those that the opened tables show strongest."""
    by_marginal = {table.attributes: table for table in opened}
    network: Parents = {}
    for attribute, parents in frontier.items():
        options = _options(attribute, parents, degree, domain)
        if len(options) == 1:
            network[attribute] = options[0]
            continue
        whole = by_marginal.get((attribute, *parents))
        tables = [by_marginal.get((attribute, *some)) or _within(whole, (attribute, *some)) for some in options]
        strengths = [noisy_association(table) for table in tables]
        network[attribute] = options[strengths.index(max(strengths))]
    return network


def _within(table: NoisyTable | None, marginal: Marginal) -> NoisyTable:
    """The marginal table inside a larger opened one."""
    assert table is not None
    axes = tuple(a for a, attribute in enumerate(table.attributes) if attribute not in marginal)
    counts = table.counts.sum(axis=axes)
    variance = table.variance * (table.counts.size / counts.size)
    return NoisyTable(marginal, counts, table.scale, variance, table.rows)


async def _learn_parameters(
    session: Session, network: Parents, opened: Sequence[NoisyTable], epsilon: Fraction
) -> BayesianNetwork:
    """Phase 4: the network's tables and all 1-way tables, joined with what phase 3 opened."""
    pairs = [AttributeParentPair(x, parents) for x, parents in sorted(network.items())]
    single = [(a,) for a in range(len(session.schema.attributes))]
    marginals = [p.marginal for p in pairs if p.parents]
    tables = await session.measure(PARAMETERS, [*marginals, *single], epsilon)
    estimates = collect([*tables, *opened])
    ones = one_way_marginals(estimates, len(single), session.rows)
    nodes = []
    for pair in pairs:
        if not pair.parents:
            nodes.append(Node(pair, ones[pair.attribute]))
            continue
        key = tuple(sorted(pair.marginal))
        estimate = estimates[key]
        for table, other in estimates.items():
            if set(key) < set(table):
                estimate = average([estimate, marginalise(other, [table.index(a) for a in key])])
        fitted = fit_table(estimate, [ones[a] for a in key], session.rows)
        nodes.append(Node(pair, fitted.transpose([key.index(a) for a in pair.marginal])))
    return BayesianNetwork(session.schema, nodes)
