"""AIM: each round measures the tables that the model explains worst, and fits the model to all tables.

Deviations from the paper:

- The number of tables follows from public numbers (``tables_for``), and all have one share; AIM starts with many cheap
  ones and makes them dearer as it goes.
- A round measures several tables: the first one a forest, each later one pairs of which no two have an attribute in
  common. What one of them tells is then seldom what another one tells, and a run has few rounds.
- With a ``target`` the first tables are all pairs with it, which nobody selects. They and the forest of the first round
  make the graph of a tree-augmented naive Bayes classifier (Friedman, Geiger, Goldszmidt 1997).
- With ``analyses`` the first tables are those that span the regressions (``declared_analyses``).
- Which values are missing together is measured first (``privity.common.synthesis.learning.missing_together``).
- Candidates are the pairs of attributes. The score is the distance that a replaced row moves by one.
- Over K parties each selection is at one party, on its own rows, or from noisy marginals of all pairs (``selection``);
  what is measured is summed over all parties.
- The fit is by penalised maximum likelihood (``privity.common.synthesis.inference.maximum_likelihood``), and starts
  from the last one.

Privacy: tables and selections compose; epsilon in all, or the run's rho. The model is made of what was revealed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.regression_formula import Formula
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import NOISE, attribute_name, choice, formulas, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import PGM, Inference, size_of_fit
from privity.common.synthesis.inference.graphical_model import (
    GraphicalModel,
    cells_added_by_pairs,
    cells_of_tree,
    tree_over,
)
from privity.common.synthesis.inference.maximum_likelihood import STEPS, STEPS_BETWEEN, Fit, fit_model
from privity.common.synthesis.inference.stacked_pairs import Pair
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.learning.countable_pairs import check_some_pair
from privity.common.synthesis.learning.declared_analyses import (
    ANALYSES,
    check_noise,
    check_size,
    pairs_of,
    pairs_within,
    tables_of,
    weights_of,
    width,
)
from privity.common.synthesis.learning.missing_together import missing_together
from privity.common.synthesis.learning.one_way_tables import measure_single, near_weights
from privity.common.synthesis.learning.worst_explained import (
    SELECTIONS,
    Allowed,
    Chooser,
    candidate_pairs,
    may_select,
    most_edges,
)
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

ONE_WAY, MISSING, DECLARED = "one-way tables", "missing values", "declared tables"
SELECTION, ROUNDS = "selection of tables", "selected tables"

MOST_TABLES = 400

LATER_ROUNDS, LATER_ALONE = 5, 12
"""After the first round, which measures a third of the tables: of several parties, who wait for each other in each
round, and of one alone."""

USED = -1
"""In place of a group: of an attribute that no other table of the round may have."""


@dataclass(frozen=True)
class Settings:
    """Settings of AIM, all public."""

    one_way: Fraction | None = weight(None, "share of the budget for the 1-way tables", "9/10", by_default=NOISE)
    selecting: Fraction = weight("1/10", "share of the rest for selecting tables", "1/2")
    tables: int | None = whole(
        None, "how many tables are measured, those with a target included", 1, MOST_TABLES, by_default=NOISE
    )
    target: str | None = attribute_name(
        "an attribute that is to be predicted: its pairs with all others are measured, whatever else", by_default="none"
    )
    analyses: tuple[Formula, ...] | None = formulas(ANALYSES)
    cells: int = whole(1 << 18, "most cells of all cliques of the model", 1 << 10, 1 << 22)
    selection: str | None = choice(
        None, "tables are selected by the parties in turn, or by a noisy overview of all", SELECTIONS, by_default=NOISE
    )


class AIM(Algorithm[Settings]):
    """AIM: measures, round after round, the marginal that the model explains worst; fits one graphical model."""

    name = "aim"
    continues = True
    paper = (
        "McKenna, Mullins, Sheldon, Miklau, AIM: An Adaptive and Iterative Mechanism for Differentially Private "
        "Synthetic Data (VLDB 2022)"
    )
    settings = Settings
    selects = True
    overview = SELECTION
    rounds = ROUNDS
    by_rows: ClassVar = {"selection": SELECTIONS}

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """Pairs that are too large are no candidates."""
        check_some_pair(schema)
        check_size(chosen.analyses, schema, chosen.cells)

    def check_noise(
        self, session: Session, share: Share, chosen: Settings, asked: Callable[[Fraction], Fraction]
    ) -> None:
        """Analyses that are declared."""
        declared = tables_of(chosen.analyses, session.schema.domain, pure=not share.budget.delta)
        check_noise(session, share, declared, partial(_widths, chosen, declared), asked)

    def may_select(self, settings: Mapping[str, Any]) -> bool:
        return may_select(settings)

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Measure the 1-way tables; then, round by round, estimate, select and measure; then generate."""
        schema, rows = session.schema, session.rows
        if len(schema.domain) == 1:
            return await _generate(session, await measure_single(session, ONE_WAY, share), None)
        one_way = chosen.one_way or one_way_share(session, share)
        declared = tables_of(chosen.analyses, schema.domain, pure=not share.budget.delta)
        about = _about(session, chosen, declared)
        held = pairs_within(about)
        tables = _number(session, share, chosen, held, len(pairs_within(declared)))
        measured = await measure_single(session, ONE_WAY, share * one_way)
        together = await missing_together(session, MISSING, share * (1 - one_way), measured)
        measured = together.tables
        pairs, done = [*together.pairs, *held], len(held)
        fit: Fit | None = None
        weights = near_weights(weights_of(about, pure=not share.budget.delta)) if about else []
        if done == tables:
            measured += await session.measure(DECLARED, about, together.left, weights)
            return await _generate(session, measured, fit)
        for_selections, for_tables = together.left * chosen.selecting, together.left * (1 - chosen.selecting)
        if about:
            measured += await session.measure(DECLARED, about, for_tables * Fraction(done, tables), weights)
        chooser = await Chooser.start(session, SELECTION, tables - done, for_selections, chosen.selection)
        variance = session.noise_variance(1, for_tables / tables)
        later = LATER_ROUNDS if len(session.party_rows) > 1 else LATER_ALONE
        for size in session.alike(sizes_of_rounds(tables - done, most_edges(chooser.candidates), later)):
            # What was seen of a pair on the way to selecting it counts as soon as the pair is in the model.
            known = [*measured, *chooser.within(pairs)]
            fit = await session.compute(partial(fit_model, known, schema, rows, fit, STEPS_BETWEEN))
            await chooser.expect(fit.model, variance)
            open_ = _Open(fit.model, chooser.candidates, forest=done == len(held))
            for _ in range(size):
                done += 1
                allowed = await session.compute(partial(open_.within, chosen.cells * done / tables))
                open_.select(await chooser.choose(allowed))
            measured += await session.measure(ROUNDS, open_.selected, for_tables * Fraction(size, tables))
            pairs += open_.selected
        return await _generate(session, [*measured, *chooser.within(pairs)], fit)


def _about(session: Session, chosen: Settings, declared: Sequence[Marginal]) -> list[Marginal]:
    """Tables that are measured whatever else: those of declared analyses, and the pairs with a target.

    Of these only such as are small enough to be candidates.
    """
    if chosen.target is None:
        return [*declared]
    place = session.schema.index(chosen.target)
    held = pairs_within(declared)
    return [*declared, *(pair for pair in candidate_pairs(session) if place in pair and pair not in held)]


def _number(session: Session, share: Share, chosen: Settings, held: Sequence[Pair], declared: int) -> int:
    """How many tables are measured: a declared one counts as the pairs that it holds, and gets their share.

    Unless their number is set, half of the declared pairs come on top, so that some tables are selected too: these tell
    how wrong the model may be elsewhere.
    """
    return max(len(held), chosen.tables or tables_for(session, share) + declared // 2)


def _widths(chosen: Settings, declared: Sequence[Marginal], session: Session, share: Share) -> list[float]:
    """Of declared tables, as ``Widths``."""
    left = (1 - (chosen.one_way or one_way_share(session, share))) * (1 - chosen.selecting)
    about, domain, pure = _about(session, chosen, declared), session.schema.domain, not share.budget.delta
    held = pairs_within(about)
    tables = _number(session, share, chosen, held, len(pairs_within(declared)))
    part = float(left) * len(held) / tables / sum(map(pairs_of, about))
    return [width(math.prod(domain[a] for a in table), part * pairs_of(table), pure=pure) for table in declared]


def sizes_of_rounds(tables: int, forest: int, later: int) -> list[int]:
    """How many tables each round selects and measures.

    Args:
        tables: of all rounds.
        forest: edges of a spanning forest of the candidates: no round measures more.
        later: rounds after the first one, unless a forest is too small for so few.
    """
    first = min(forest, -(-tables // 3))
    left = tables - first
    rounds = max(min(later, left), -(-left // forest))
    return [first, *(left // rounds + (place < left % rounds) for place in range(rounds))]


class _Open:
    """What a round may still select.

    Args:
        model: what is known before the round.
        forest: whether the tables of the round are to close no circle; else no two of them have an attribute in common.

    Attributes:
        selected: pairs of the round, in their order.
    """

    def __init__(self, model: GraphicalModel, candidates: Sequence[Pair], *, forest: bool) -> None:
        self._cliques, self._domain, self._forest = model.tree.cliques, model.domain, forest
        self._pairs = np.array(candidates)
        self._group = np.arange(len(model.domain))
        self.selected: list[Pair] = []

    def within(self, cells: float) -> Allowed:
        """Those with which the cliques have no more cells than that: at least one is marked, shape (candidates,).

        Where none that is apart from the selected ones fits, others do; where none fits, that which adds the fewest.
        """
        first, second = self._pairs.T
        tree = tree_over([*self._cliques, *self.selected], self._domain)
        added = cells_added_by_pairs(tree, self._domain)[first, second]
        new = ~np.isin(first * len(self._domain) + second, [a * len(self._domain) + b for a, b in self.selected])
        fitting = new & (added <= cells - cells_of_tree(tree, self._domain))
        one, other = self._group[first], self._group[second]
        apart = fitting & (one != other) & (one != USED) & (other != USED)
        return next(some for some in (apart, fitting, new & (added == added[new].min())) if some.any())

    def select(self, pair: Pair) -> None:
        a, b = pair
        self.selected.append(pair)
        if self._forest:
            self._group[self._group == self._group[a]] = self._group[b]
        else:
            self._group[[a, b]] = USED


async def _generate(session: Session, tables: Sequence[NoisyTable], start: Fit | None) -> JunctionTreeModel:
    session.all_asked()
    schema, rows = session.schema, session.rows
    fit = await session.compute(lambda: fit_model(tables, schema, rows, start))
    bases = [tuple(schema.derived.base[a] for a in table.attributes) for table in tables]
    session.record.inference = Inference(PGM, PGM, size_of_fit(bases, schema.domain, STEPS))
    return fit.model.release(schema, rows)
