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
from common.protocol.limits import ROUND_CELLS, TABLE_CELLS, cells_of
from common.protocol.session import Session
from common.schema import Schema
from common.statistics import AttributeParentPair

STRUCTURE = "network learning"
ENCODINGS = ("hierarchical", "vanilla", "binary", "gray")
SCORE_NAMES = ("I", "F", "R")
LARGEST_DEGREE = 5
MOST_CANDIDATES = 200_000
"""Of one draw; beyond, sets of fewer parents are considered."""


@dataclass(frozen=True)
class Settings:
    """Settings of PrivBayes, all public.

    Attributes:
        encoding: ``vanilla`` attributes, ``hierarchical`` ones (parents may be generalised), or the bits of
            their codes, ``binary`` or ``gray``.
        score: ``I``, ``F`` (binary attributes only) or ``R``; by default F if all are binary, else R.
        beta: part of epsilon for the draws.
        theta: usefulness of the network's tables.
        largest_degree: most parents of an attribute.
        first_attribute: name of the attribute from which the network grows; by default one of all, by lot.
    """

    encoding: str = "hierarchical"
    score: str | None = None
    beta: Fraction = Fraction(3, 10)
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
            beta=reader.weight("beta", default.beta, largest=Fraction(9, 10)),
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

    def nodes(self, schema: Schema) -> list[tuple[int, ...]]:
        """For each attribute of the schema the attributes of the network that stand for it."""
        derived = schema.derived
        spelling = {"binary": derived.bits, "gray": derived.gray}.get(self.encoding, lambda a: (a,))
        return [spelling(a) for a in range(len(schema.attributes))]


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> BayesianNetwork:
    """Learn a Bayesian network of the rows for ``epsilon`` in all."""
    schema = session.schema
    chosen = Settings.read(settings, schema)
    by_attribute = chosen.nodes(schema)
    nodes = [node for some in by_attribute for node in some]
    draws = epsilon * chosen.beta
    share = share_of_tables(session, nodes, epsilon - draws, chosen.theta)
    cells = useful_cells(session.rows, len(nodes), (epsilon - draws) * share, chosen.theta)
    if chosen.first_attribute is None:
        first = nodes[session.lot("first attribute", len(nodes))]
    else:
        first = by_attribute[schema.index(chosen.first_attribute)][0]
    network = await _draw_network(session, draws, nodes, first, min(cells, TABLE_CELLS), chosen)
    alone = not any(network.values())
    return await learn_parameters(session, network, [], epsilon if alone else epsilon - draws, share)


async def _draw_network(
    session: Session, epsilon: Fraction, nodes: Sequence[int], first: int, cells: int, chosen: Settings
) -> Parents:
    """Algorithm 4: attribute after attribute with a maximal parent set; those that no parent fits alone."""
    derived = session.schema.derived
    generalised = chosen.encoding == "hierarchical"
    levels = {node: derived.levels(node) if generalised else (node,) for node in nodes}
    coarsest = {node: min(derived.domain[level] for level in levels[node]) for node in nodes}

    def fits(node: int) -> bool:
        others = [coarsest[other] for other in nodes if other != node]
        return bool(others) and derived.domain[node] * min(others) <= cells

    network: Parents = {node: () for node in nodes if node == first or not fits(node)}
    left = [node for node in nodes if node not in network]
    if not left:
        return network
    score = chosen.score or ("F" if chosen.binary(session.schema) else "R")
    series = session.selection(STRUCTURE, len(left), epsilon, score=score)
    while left:
        pairs = _candidates(left, sorted(network), levels, derived.domain, cells, chosen.largest_degree)
        if pairs:
            pair = await series.draw(pairs)
        else:
            # What is placed has no room for any: the narrowest opens the way for the others.
            pair = AttributeParentPair(min(left, key=lambda node: (derived.domain[node], node)), ())
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
        for node in left:
            sets = maximal_parent_sets(placed, levels, domain, cells // domain[node], size)
            pairs += [AttributeParentPair(node, parents) for parents in sets if parents]
        few = len(pairs) <= MOST_CANDIDATES
        if not pairs or (few and cells_of([pair.marginal for pair in pairs], domain).sum() <= ROUND_CELLS):
            return pairs
    raise PrivityError(
        Catalogue.DOMAIN_TOO_LARGE, attributes=f"{len(left)} attributes", cells=len(pairs), limit=MOST_CANDIDATES
    )
