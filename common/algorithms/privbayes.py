"""PrivBayes: a Bayesian network drawn by the exponential mechanism, with noisy conditionals.

Source: Zhang, Cormode, Procopiuc, Srivastava, Xiao, "PrivBayes: Private Data Release via Bayesian Networks" (TODS
2017). Deviations, each for soundness or accuracy:

- All scores are exact integers, with sensitivities for one replaced row (common/privacy/scores.py).
- An attribute that no parent fits is modelled alone without a draw: that follows from public numbers.
- A table that another one contains is not measured; the paper does so for the first k only.
- 1-way tables have a part of the budget of their own, and all tables are made consistent by inverse variance
  instead of one by one: see common/algorithms/parameters.py.

Over K parties each draw happens at one party and the tables are opened as sums: the same algorithm.

Privacy: draws and tables compose; epsilon in all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from common.algorithms.maximal_parents import maximal_parent_sets
from common.algorithms.parameters import learn_parameters, share_of_tables
from common.algorithms.search_frontier import Parents
from common.algorithms.settings import SettingsReader
from common.algorithms.usefulness import useful_cells
from common.errors import Catalogue, PrivityError
from common.models.bayesian_network import BayesianNetwork
from common.privacy.budget import split_epsilon
from common.protocol.limits import ROUND_CELLS, TABLE_CELLS, cells_of
from common.protocol.session import Session
from common.schema import Schema
from common.statistics import AttributeParentPair, Marginal

STRUCTURE = "network learning"
ENCODINGS = ("hierarchical", "vanilla", "binary", "gray")
SCORE_NAMES = ("I", "F", "R")
LARGEST_DEGREE = 5
BETA = Fraction(3, 10)
NEEDED = 1 / 50
SHARE_THETA = Fraction(2)
MOST_CANDIDATES = 200_000
"""Of one draw; beyond, sets of fewer parents are considered."""


@dataclass(frozen=True)
class Settings:
    """Settings of PrivBayes, all public.

    Attributes:
        encoding: ``vanilla`` attributes, ``hierarchical`` ones (parents may be generalised), or the bits of
            their codes, ``binary`` or ``gray``.
        score: ``I``, ``F`` (binary attributes only) or ``R``; by default F if all are binary, else R.
        beta: part of epsilon for the draws; by default 3/10, or less where they need less.
        theta: usefulness of the network's tables.
        largest_degree: most parents of an attribute.
        first_attribute: name of the attribute from which the network grows; by default one of all, by lot.
    """

    encoding: str = "hierarchical"
    score: str | None = None
    beta: Fraction | None = None
    theta: Fraction = Fraction(4)
    largest_degree: int = 3
    first_attribute: str | None = None

    @classmethod
    def read(cls, settings: Mapping[str, Any], schema: Schema) -> Settings:
        """From the plain document of a run spec; every fault at once."""
        reader = SettingsReader("privbayes", settings)
        default = cls()
        read = cls(
            encoding=reader.choice("encoding", default.encoding, ENCODINGS) or default.encoding,
            score=reader.choice("score", None, SCORE_NAMES),
            beta=reader.optional_weight("beta", Fraction(9, 10)),
            theta=reader.weight("theta", default.theta),
            largest_degree=reader.whole("largest_degree", default.largest_degree, 1, LARGEST_DEGREE),
            first_attribute=reader.choice("first_attribute", None, schema.names),
        )
        if read.score == "F" and not read.binary(schema):
            reader.note("score", "score", "F is for binary attributes.", "Take R, or a binary encoding.")
        reader.finish()
        return read

    def binary(self, schema: Schema) -> bool:
        """Whether all attributes of the network have two values."""
        return self.encoding in ("binary", "gray") or set(schema.domain) == {2}

    def score_of(self, schema: Schema) -> str:
        """The kind of score of the draws."""
        return self.score or ("F" if self.binary(schema) else "R")

    def nodes(self, schema: Schema) -> list[int]:
        """The attributes of the network: those of the schema, or all their bits."""
        derived = schema.derived
        spelling = {"binary": derived.bits, "gray": derived.gray}.get(self.encoding, lambda a: (a,))
        return [node for a in range(len(schema.attributes)) for node in spelling(a)]


def divide(chosen: Settings, epsilon: Fraction, rows: int, schema: Schema) -> tuple[Fraction, Fraction]:
    """Epsilon of the draws and of the tables.

    A beta that was asked for is kept to. Without one the draws get no more than makes the noise of a score
    ``NEEDED`` of its range, which falls with the rows: adult, eps 1, K = 1: mean 2-way distance .045 with .3,
    .043 with what is needed (.09).
    """
    nodes = len(chosen.nodes(schema))
    if chosen.beta is not None:
        part = chosen.beta
    else:
        kind = chosen.score_of(schema)
        moves = 3.0 if kind == "R" else 1.0 if kind == "F" else (math.log2(rows + 1) + 1.5) / 2
        needed = 2 * moves * max(1, nodes - 1) / (rows * float(epsilon) * NEEDED)
        part = min(BETA, Fraction(max(1, math.ceil(1000 * needed)), 1000))
    draws, tables = split_epsilon(epsilon, [part, 1 - part])
    return draws, tables


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> BayesianNetwork:
    """Learn a Bayesian network of the rows for ``epsilon`` in all."""
    schema = session.schema
    chosen = Settings.read(settings, schema)
    nodes = chosen.nodes(schema)
    draws, tables = divide(chosen, epsilon, session.rows, schema)
    cells = min(TABLE_CELLS, useful_cells(session.rows, len(nodes), tables, chosen.theta))
    if chosen.first_attribute is None:
        first = nodes[session.lot("first attribute", len(nodes))]
    else:
        first = next(node for node in nodes if schema.derived.base[node] == schema.index(chosen.first_attribute))
    network = await _draw_network(session, draws, nodes, first, cells, chosen)
    alone = not any(network.values())
    share = share_of_tables(session, nodes, tables, SHARE_THETA)
    return await learn_parameters(session, network, [], epsilon if alone else tables, share)


async def _draw_network(
    session: Session, epsilon: Fraction, nodes: Sequence[int], first: int, cells: int, chosen: Settings
) -> Parents:
    """Algorithm 4: attribute after attribute with a maximal parent set; those that no parent fits alone."""
    derived = session.schema.derived
    generalised = chosen.encoding == "hierarchical"
    levels = {node: derived.levels(node) if generalised else (node,) for node in nodes}
    network: Parents = {first: ()}
    left = [node for node in nodes if node != first]
    coarsest = sorted(min(derived.domain[level] for level in levels[node]) for node in nodes)[:2]
    if not left or math.prod(coarsest) > cells:
        return dict.fromkeys(nodes, ())
    series = session.selection(STRUCTURE, len(left), epsilon, score=chosen.score_of(session.schema))
    while left:
        pair = await series.draw(
            _candidates(left, sorted(network), levels, derived.domain, cells, chosen.largest_degree)
        )
        network[pair.attribute] = pair.parents
        left.remove(pair.attribute)
    return network


def _candidates(
    left: Sequence[int],
    placed: Sequence[int],
    levels: Mapping[int, Sequence[int]],
    domain: Sequence[int],
    cells: int,
    degree: int,
) -> list[AttributeParentPair]:
    """Each attribute not placed with its maximal parent sets, as many parents as the limits of a draw allow."""
    for size in range(degree, 0, -1):
        pairs: list[AttributeParentPair] = []
        by_room: dict[int, list[Marginal]] = {}
        for node in left:
            room = cells // domain[node]
            if room not in by_room:
                useful = {some for some in maximal_parent_sets(placed, levels, domain, room, size) if some}
                by_room[room] = sorted(useful | {(p,) for p in placed})
            pairs += [AttributeParentPair(node, parents) for parents in by_room[room]]
        few = len(pairs) <= MOST_CANDIDATES
        if not pairs or (few and cells_of([pair.marginal for pair in pairs], domain).sum() <= ROUND_CELLS):
            return pairs
    raise PrivityError(
        Catalogue.DOMAIN_TOO_LARGE, attributes=f"{len(left)} attributes", cells=len(pairs), limit=MOST_CANDIDATES
    )
