"""PrivBayes: a Bayesian network selected by the exponential mechanism, with noisy conditionals.

Deviations from the paper, each for soundness or accuracy:

- All scores are exact integers, with sensitivities for one replaced row (common/privacy/structure_scores.py).
- The selections get what they need instead of a fixed share, if no beta is asked for.
- A single parent is always a candidate, useful or not: a table below the noise floor is shrunk to independence later.
- Where the tables of a tree would be below the noise floor, a forest of few edges is selected among all pairs (as in
  DP-SUBN); where no table at all is useful, every attribute is modelled alone.
- A table that another one contains is not measured; the paper does so for the first k only.
- 1-way tables have a share of the budget of their own, and all tables are made consistent by inverse variance
  instead of one by one: see common/synthesis/learning/parameter_learning.py.

Over K parties each selection happens at one party and the tables are revealed as sums: the same algorithm.

Privacy: selections and tables compose; epsilon in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import attribute_name, choice, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm, Fault
from privity.common.synthesis.inference.fit_choice import PGM, TABLES, fit_setting
from privity.common.synthesis.learning.countable_pairs import check_tree, pairs_fit_one_selection
from privity.common.synthesis.learning.dependency_graph import most_cells
from privity.common.synthesis.learning.encoding import BITS, ENCODINGS, levels_of, node_of, nodes_of
from privity.common.synthesis.learning.network_structure import (
    Limits,
    select_forest,
    select_network,
    share_for_selections,
)
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, WIDE_SHARE, clarity, learn_parameters
from privity.common.synthesis.learning.theta_usefulness import TableNoise, holds_typical_table, noise_of, useful_cells
from privity.common.synthesis.models import Model

STRUCTURE = "network learning"
SCORE_NAMES = ("I", "F", "R")
LARGEST_DEGREE = 5
CLEAR_ENOUGH = Fraction(9, 10)
"""Clarity of a tree's tables below which a forest of its strongest edges takes its place."""

FOREST_BETA = 1 / 10
"""Share of epsilon for the selections of a whole tree by that way; it goes with the root of the clarity."""


@dataclass(frozen=True)
class Settings:
    """Settings of PrivBayes, all public."""

    encoding: str = choice(
        "hierarchical", "attributes with or without generalised parents, or bits or Gray bits of codes", ENCODINGS
    )
    score: str | None = choice(
        None,
        "score of the selections; F is for binary attributes",
        SCORE_NAMES,
        by_default="F if all are binary, else R",
    )
    beta: Fraction | None = weight(
        None, "share of the budget for the selections", "9/10", by_default="what they need: 1/10 to 3/10, or less"
    )
    theta: Fraction = weight("4", "usefulness of the network's tables")
    largest_degree: int = whole(3, "most parents of an attribute", 1, LARGEST_DEGREE)
    first_attribute: str | None = attribute_name(
        "attribute from which the network grows", by_default="by a public coin"
    )
    inference: str = fit_setting(PGM, by_default="pgm; tables for bits")

    def binary(self, schema: Schema) -> bool:
        """Whether all attributes of the network have two values."""
        return self.encoding in BITS or set(schema.domain) == {2}

    def score_of(self, schema: Schema) -> str:
        """The kind of score of the selections."""
        return self.score or ("F" if self.binary(schema) else "R")


class PrivBayes(Algorithm[Settings]):
    """PrivBayes: a Bayesian network selected by the exponential mechanism, with noisy conditionals."""

    name = "privbayes"
    continues = True
    paper = (
        "Zhang, Cormode, Procopiuc, Srivastava, Xiao, PrivBayes: Private Data Release via Bayesian Networks (TODS 2017)"
    )
    settings = Settings
    selects = True

    def implied(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"inference": TABLES} if settings.get("encoding") in BITS else {}

    def conflicts(self, schema: Schema, chosen: Settings) -> Iterable[Fault]:
        if chosen.score == "F" and not chosen.binary(schema):
            yield "score", "score", "F is for binary attributes.", "Take R, or a binary encoding."

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        check_tree(schema, nodes_of(schema, chosen.encoding))

    def pairs(self, schema: Schema, chosen: Settings, parties: int) -> int:
        """Those of its nodes, which may be bits."""
        return math.comb(len(nodes_of(schema, chosen.encoding)), 2)

    async def run(self, session: Session, share: Share, chosen: Settings) -> Model:
        """Learn a Bayesian network of the rows."""
        schema = session.schema
        nodes, levels = nodes_of(schema, chosen.encoding), levels_of(schema, chosen.encoding)
        if len(nodes) == 1:
            return await learn_parameters(session, {nodes[0]: ()}, [], share, PAIR_SHARE, chosen.inference)
        phases = divide(chosen, share, noise_of(session), schema)
        coarsest = sorted(min(schema.derived.domain[level] for level in levels[node]) for node in nodes)[:2]
        if math.prod(coarsest) > phases.cells:
            return await learn_parameters(session, dict.fromkeys(nodes, ()), [], share, PAIR_SHARE, chosen.inference)
        if chosen.first_attribute is None:
            first = nodes[session.public_coin("first attribute", len(nodes))]
        else:
            first = node_of(schema, nodes, chosen.first_attribute)
        score = chosen.score_of(schema)
        if phases.edges is not None:
            network = await select_forest(
                session, STRUCTURE, phases.selections, phases.edges, nodes, first, score=score
            )
        else:
            limits = Limits(levels, phases.cells, chosen.largest_degree)
            network = await select_network(session, STRUCTURE, phases.selections, limits, nodes, first, score=score)
        return await learn_parameters(session, network, [], phases.tables, phases.part, chosen.inference)


@dataclass(frozen=True)
class Phases:
    """What follows from public numbers.

    Attributes:
        selections, tables: shares of the two phases.
        part: of ``tables`` for the network's tables, the rest being for the 1-way tables.
        cells: most cells of a useful table.
        edges: of a forest in the place of the whole network; None if its tables are clear.
    """

    selections: Share
    tables: Share
    part: Fraction
    cells: int
    edges: int | None


def divide(chosen: Settings, share: Share, noise: TableNoise, schema: Schema) -> Phases:
    """Divide the share between selections and tables; a beta that was asked for is kept to."""
    domain = [schema.derived.domain[node] for node in nodes_of(schema, chosen.encoding)]
    beta = chosen.beta or share_for_selections(chosen.score_of(schema), max(1, len(domain) - 1), share, noise.rows)
    selections, tables = share.split([beta, 1 - beta])
    cells = min(most_cells(domain), useful_cells(noise, len(domain), tables, chosen.theta))
    if holds_typical_table(domain, 3, cells):
        return Phases(selections, tables, WIDE_SHARE, cells, None)
    clear = clarity(domain, noise, tables)
    if clear >= CLEAR_ENOUGH or not pairs_fit_one_selection(domain):
        return Phases(selections, tables, PAIR_SHARE, cells, None)
    if chosen.beta is None:
        beta = Fraction(round(1000 * min(float(beta), FOREST_BETA * math.sqrt(clear))), 1000)
        selections, tables = share.split([beta, 1 - beta])
    return Phases(selections, tables, PAIR_SHARE * clear, cells, max(1, round(clear * (len(domain) - 1))))
