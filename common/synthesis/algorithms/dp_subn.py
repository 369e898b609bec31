"""DP-SUBN: differentially private sequential update of a Bayesian network, over any number of parties.

Deviations from the paper, each for soundness or accuracy:

- Structure initialisation scores attribute-parent pairs by R, not mutual information: its sensitivity
  is far smaller for the same purpose. Each party selects with the sensitivity of its own row count.
- Structure updating reveals the frontier's statistics by a schedule, under noise that all parties share, and
  every round of it is charged to every party whose rows are in the sum. By default there is one, over all.
- What is revealed over all parties is used again for the parameters: post-processing costs nothing.
- The budget is not split equally over the four phases; see ``Settings`` and ``divide``.
- By default phases 1 and 3 run only if the pair tables of phase 1 can be told from their noise, by public
  numbers. Without them a network of degree 1 is a forest with as many edges as the noise allows.
- 1-way tables have a budget of their own, pair tables are shrunk by their noise, ordered 1-way tables
  are smoothed: see common/synthesis/learning/parameter_learning.py.

Privacy: the phases compose; each party is charged epsilon in all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import Share
from privity.common.protocol.running_sums import parse_schedule, schedule_weights
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import TABLE_CELLS, count_cells
from privity.common.synthesis.algorithm_settings import attribute_name, choice, text, weight, whole
from privity.common.synthesis.algorithms.algorithm import SU_2016, Algorithm
from privity.common.synthesis.inference.fit_choice import PGM, TABLES, fit_setting
from privity.common.synthesis.learning.countable_pairs import (
    check_all_pairs,
    check_tree,
    pairs_fit_one_round,
    pairs_fit_one_selection,
)
from privity.common.synthesis.learning.covering_design import optimal_design
from privity.common.synthesis.learning.encoding import levels_of, node_of, nodes_of
from privity.common.synthesis.learning.maximal_parents import maximal_parent_sets
from privity.common.synthesis.learning.network_structure import (
    Limits,
    select_forest,
    select_network,
)
from privity.common.synthesis.learning.pair_association import noisy_association
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, WIDE_SHARE, clarity, learn_parameters
from privity.common.synthesis.learning.search_frontier import Parents, build_frontier
from privity.common.synthesis.learning.theta_usefulness import (
    TableNoise,
    holds_typical_table,
    noise_of,
    useful_cells,
    useful_degree,
)
from privity.common.synthesis.models import Model

CORRELATIONS = "correlation quantification"
INITIALISATION = "structure initialisation"
UPDATE = "structure update"
FRONTIERS = ("useful", "always")
ATTRIBUTES = ("native", "binary")
VIEWS = ("covering", "pairs")
QUOTAS = ("rows", "balanced")
EDGES = ("clear", "all")
PARENTS = ("generalised", "native")
LARGEST_DEGREE = 5
SCHEDULE_FORMS = '"final", "uniform", "back-loaded" or "w1,...,wK": weights of the parties'

PATHS, SUMS = 125, 10
"""Nodes, and revealed sums, for which a pair of the frontier counts as one that is only looked at."""

MORE_FOR_FEW_ROWS = 3
"""Most by which the share of a forest's selections grows with the parties for each selection."""


@dataclass(frozen=True)
class Settings:
    """Settings of DP-SUBN, all public."""

    correlations: Fraction = weight("1/50", "weight of correlation quantification in the budget")
    initialisation: Fraction = weight("1/10", "weight of structure initialisation")
    update: Fraction = weight("2/25", "weight of structure update")
    parameters: Fraction = weight("4/5", "weight of parameter learning; the four need not add up to 1")
    theta: Fraction = weight("2", "how much clearer than noise the network's tables must be; its degree follows")
    frontier_theta: Fraction = weight("2", "the same for the frontier's tables and the pair tables of its new edges")
    largest_degree: int = whole(
        3, "most parents that may follow from theta; one more in the frontier", 1, LARGEST_DEGREE
    )
    degree: int | None = whole(None, "most parents of an attribute", 1, LARGEST_DEGREE, by_default="from theta")
    frontier_degree: int | None = whole(
        None, "the same in the frontier", 1, LARGEST_DEGREE + 1, by_default="from frontier_theta, more than the degree"
    )
    frontier: str = choice(
        "useful", "quantification and update run where pair tables are above the noise floor on average, or always",
        FRONTIERS, by_default="useful; always with a schedule",
    )  # fmt: skip
    attributes: str = choice("native", "attributes as they are, or the bits of their codes", ATTRIBUTES)
    views: str = choice("covering", "what quantification measures: the cheapest covering design, or all pairs", VIEWS)
    quotas: str = choice("rows", "selections of each party: in proportion to its rows, or equally many", QUOTAS)
    edges: str = choice("clear", "without a frontier: a forest of edges with clear tables, or all of a tree", EDGES)
    parents: str = choice(
        "generalised", "without a frontier: parents generalised, so that more fit, or as they are", PARENTS
    )
    schedule: str = text("final", "after which parties an update is revealed", parse_schedule, SCHEDULE_FORMS)
    first_attribute: str | None = attribute_name("attribute from which the structure grows", by_default="the first one")
    inference: str = fit_setting(PGM, by_default="pgm; tables for bits")

    @property
    def encoding(self) -> str:
        """What the nodes of the network are, and what may stand for them as parents."""
        if self.attributes == "binary":
            return "binary"
        return "hierarchical" if self.parents == "generalised" else "vanilla"

    def split(self, share: Share) -> tuple[Share, Share, Share, Share]:
        """Shares of the four phases, exactly this one together."""
        weights = (self.correlations, self.initialisation, self.update, self.parameters)
        first, second, third, fourth = share.split(weights)
        return first, second, third, fourth


class DPSUBN(Algorithm[Settings]):
    """DP-SUBN: a Bayesian network that is updated party after party, over any number of them."""

    name = "dp-subn"
    continues = True
    paper = f"{SU_2016}, section VI"
    settings = Settings
    selects = True

    def implied(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        frontier = {"frontier": "always"} if "schedule" in settings else {}
        return {**frontier, **({"inference": TABLES} if settings.get("attributes") == "binary" else {})}

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        if chosen.frontier == "always" and chosen.encoding != "binary":
            check_all_pairs(schema)
        check_tree(schema, nodes_of(schema, chosen.encoding))

    def pairs(self, schema: Schema, chosen: Settings, parties: int) -> int:
        """Those of its nodes; the search of a frontier follows paths from each, and each revealed sum has its own."""
        nodes = len(nodes_of(schema, chosen.encoding))
        sums = 1 if chosen.schedule == Settings.schedule else parties
        return math.comb(nodes, 2) * max(1, nodes // PATHS, sums // SUMS)

    def reveals_running_sums(self, settings: Mapping[str, Any]) -> bool:
        """By every schedule but ``final``."""
        return settings.get("schedule", Settings.schedule) != Settings.schedule

    async def run(self, session: Session, share: Share, chosen: Settings) -> Model:
        """The phases of the paper: correlations, a first structure, its frontier, an update, parameters."""
        schema = session.schema
        domain = schema.derived.domain
        nodes = nodes_of(schema, chosen.encoding)
        if len(nodes) == 1:
            return await learn_parameters(session, {nodes[0]: ()}, [], share, PAIR_SHARE, chosen.inference)
        # Refused before anything is spent, if the parties are others than it is for.
        weights = _weights(chosen.schedule, len(session.party_rows))
        noise = noise_of(session)
        phases = divide(chosen, share, noise, [domain[node] for node in nodes], len(session.party_rows))
        revealed: list[NoisyTable] = []
        if phases.frontier:
            views, association = await _quantify_correlations(session, phases.pairs, nodes, chosen.views)
            revealed += views
        network = await _initialise_structure(session, chosen, phases, nodes)
        if phases.frontier:
            edges = sum(len(parents) for parents in network.values())
            largest_pair = useful_cells(noise, edges + len(nodes), phases.update, chosen.frontier_theta)
            frontier = build_frontier(network, association, phases.frontier_degree, domain, largest_pair)
            network, updates = await _update_structure(session, frontier, phases.degree, phases.update, weights)
            revealed += updates
        return await learn_parameters(session, network, revealed, phases.parameters, phases.part, chosen.inference)


@dataclass(frozen=True)
class Phases:
    """What each phase gets, and what follows from it; all of it from public numbers.

    Attributes:
        pairs, selections, update, parameters: shares of the four phases; without a frontier ``pairs`` and
            ``update`` are part of one of the others, and not spent.
        part: of ``parameters`` for the network's tables, the rest being for the 1-way tables.
        frontier: whether phases 1 and 3 run.
        degree: k, most parents of an attribute in the network; frontier_degree: k', in the frontier.
        edges: of the forest that takes the place of a tree; without it all attributes but one have parents.
        cells: most cells of a useful table of a network with generalised parents.
    """

    pairs: Share
    selections: Share
    update: Share
    parameters: Share
    part: Fraction
    frontier: bool
    degree: int
    frontier_degree: int
    edges: int | None
    cells: int


def divide(settings: Settings, share: Share, noise: TableNoise, domain: Sequence[int], parties: int = 1) -> Phases:
    """Divide the share over the phases.

    With ``frontier: useful``, phases 1 and 3 run only if the tables of phase 1 are useful on average:
    associations below the noise floor tell nothing. Otherwise their share goes to the selections if 3-way tables are
    useful, else to the parameters.

    Without them a tree becomes a forest if 3-way tables are not useful: its edges and their tables' share are in
    proportion to ``clarity``, the selections' share to its root. Beyond, parents may be generalised. What each choice
    gains is in docs/performance.md.
    """
    attributes = len(domain)
    pairs, selections, update, parameters = settings.split(share)
    seen = useful_cells(noise, math.comb(attributes, 2), pairs, settings.frontier_theta)
    frontier = settings.frontier == "always" or (pairs_fit_one_round(domain) and holds_typical_table(domain, 2, seen))
    statistics = useful_cells(noise, attributes, update, settings.frontier_theta)
    cells = useful_cells(noise, attributes, parameters * WIDE_SHARE, settings.theta)
    wide = holds_typical_table(domain, 3, cells)
    if not frontier and wide:
        selections += pairs + update
    elif not frontier:
        parameters += pairs + update
    degree = settings.degree or useful_degree(domain, cells, settings.largest_degree)
    wider = max(degree + 1, useful_degree(domain, statistics, settings.largest_degree + 1))
    clear = clarity(domain, noise, parameters)
    root = Fraction(round(100 * math.sqrt(clear)), 100)
    for_network = WIDE_SHARE if wide else PAIR_SHARE * root
    edges = None
    below_noise_floor = settings.edges == "clear" and degree == 1 and not (frontier or wide)
    if below_noise_floor and clear < 1 and pairs_fit_one_selection(domain):
        edges = max(1, round(clear * (attributes - 1)))
        for_network = PAIR_SHARE * clear
        # Where parties outnumber selections, each is on few rows: the scale of its noise no longer falls with K.
        more = min(100 * MORE_FOR_FEW_ROWS, max(100, 100 * parties // edges))
        # Whatever the weights of the phases, half of the parameters stay.
        part = min(root * Fraction(more, 100), 1 + parameters.epsilon / (2 * selections.epsilon))
        parameters += selections * (1 - part)
        selections *= part
    further = settings.frontier_degree or wider
    # Twice theta, for all of the parameters, as in PrivBayes.
    useful = useful_cells(noise, attributes, parameters, 2 * settings.theta)
    return Phases(pairs, selections, update, parameters, for_network, frontier, degree, further, edges, useful)


def _weights(schedule: str, parties: int) -> tuple[Fraction, ...]:
    try:
        return schedule_weights(schedule, parties)
    except ValueError as error:
        hint = "Give one weight for each party, or a schedule by its name."
        raise PrivityError(Catalogue.BAD_OPTION, option="schedule", reason=str(error), hint=hint) from None


async def _quantify_correlations(
    session: Session, share: Share, nodes: Sequence[int], views: str
) -> tuple[Sequence[NoisyTable], dict[tuple[int, int], float]]:
    """Phase 1: the views of a covering design or all pair tables, and from them the association of every pair."""
    nodes = sorted(nodes)  # bits do not come in the order of their indices, by which pairs are known
    pairs = list(combinations(nodes, 2))
    if views == "pairs":
        revealed = await session.measure(CORRELATIONS, pairs, share)
        return revealed, dict(zip(pairs, map(noisy_association, revealed), strict=True))
    design = optimal_design([session.schema.derived.domain[node] for node in nodes])
    tables = await session.measure(CORRELATIONS, [tuple(nodes[i] for i in view) for view in design.views], share)
    by_view = dict(zip(design.views, tables, strict=True))
    places = combinations(range(len(nodes)), 2)
    return tables, {
        pair: noisy_association(_within(by_view[design.view_of(i, j)], pair))
        for pair, (i, j) in zip(pairs, places, strict=True)
    }


async def _initialise_structure(session: Session, chosen: Settings, phases: Phases, nodes: Sequence[int]) -> Parents:
    """Phase 2: a network, or a forest of the strongest edges, selected at the parties in turn."""
    schema, share, balanced = session.schema, phases.selections, chosen.quotas == "balanced"
    first = node_of(schema, nodes, chosen.first_attribute) if chosen.first_attribute else nodes[0]
    if phases.edges is not None:
        return await select_forest(session, INITIALISATION, share, phases.edges, nodes, first, balanced=balanced)
    if not phases.frontier and chosen.parents == "generalised" and chosen.degree is None:
        limits = Limits(levels_of(schema, chosen.encoding), phases.cells, chosen.largest_degree)
    else:
        limits = Limits({node: (node,) for node in nodes}, TABLE_CELLS, phases.degree)
    return await select_network(session, INITIALISATION, share, limits, nodes, first, balanced=balanced)


def _parent_sets(attribute: int, parents: Sequence[int], degree: int, domain: Sequence[int]) -> list[Marginal]:
    """Choices of the attribute's parents among ``parents``: of the degree, or as many as fit in a table."""
    return maximal_parent_sets(parents, {p: (p,) for p in parents}, domain, TABLE_CELLS // domain[attribute], degree)


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
        apart: list[Marginal] = [(attribute, *some) for some in _parent_sets(attribute, parents, degree, domain)]
        cells = count_cells(together, domain)
        tables += together if cells <= min(TABLE_CELLS, count_cells(apart, domain)) else apart
    return tables


async def _update_structure(
    session: Session, frontier: Parents, degree: int, share: Share, weights: Sequence[Fraction]
) -> tuple[Parents, Sequence[NoisyTable]]:
    """Phase 3: the updated network, and the tables that were revealed over all parties.

    After each revealed sum the frontier shrinks to the stronger half of each attribute's parent sets; the tables
    stay those of the first frontier, so that no statistic lacks earlier parties' counts.
    """
    domain = session.schema.derived.domain
    options = {x: _parent_sets(x, parents, degree, domain) for x, parents in frontier.items()}
    series = session.running_sums(UPDATE, _frontier_tables(frontier, degree, domain), share, weights)
    revealed: Sequence[NoisyTable] = []
    for left in range(len(series), 0, -1):
        revealed = await series.reveal_next()
        by_marginal = {table.attributes: table for table in revealed}
        for x, sets in options.items():
            if len(sets) > 1:
                whole = by_marginal.get((x, *frontier[x]))
                strength = {
                    some: noisy_association(by_marginal.get((x, *some)) or _within(whole, (x, *some))) for some in sets
                }
                # Equally strong ones in their order: the sort is stable.
                kept = 1 if left == 1 else math.ceil(len(sets) / 2)
                options[x] = sorted(sets, key=lambda some, strength=strength: -strength[some])[:kept]  # type: ignore[misc]
    return {x: sets[0] for x, sets in options.items()}, revealed


def _within(table: NoisyTable | None, marginal: Marginal) -> NoisyTable:
    """The marginal table inside a larger one."""
    assert table is not None
    axes = tuple(a for a, attribute in enumerate(table.attributes) if attribute not in marginal)
    counts = table.counts.sum(axis=axes)
    variance = table.variance * (table.counts.size / counts.size)
    kept = tuple(attribute for attribute in table.attributes if attribute in marginal)
    return NoisyTable(kept, counts, table.law, variance, table.rows)
