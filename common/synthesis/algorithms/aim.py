"""AIM: each round measures the table that the model explains worst, and fits the model to all tables.

Deviations from the paper:

- The number of rounds follows from public numbers (``tables_for``), and all have one share; AIM starts with many cheap
  ones and makes them dearer as it goes.
- Which values are missing together is measured first (``privity.common.synthesis.learning.missing_together``).
- Candidates are the pairs of attributes. The score is the distance that a replaced row moves by one.
- Over K parties each selection is at one party, on its own rows, or from noisy marginals of all pairs (``selection``);
  what is measured is summed over all parties.
- The fit is by penalised maximum likelihood (``privity.common.synthesis.inference.maximum_likelihood``), and starts
  from the last one.

Privacy: tables and selections compose; epsilon in all, or the run's rho. The model is made of what was revealed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import NOISE, choice, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import PGM, Inference, size_of_fit
from privity.common.synthesis.inference.graphical_model import GraphicalModel, cells_added_by_pairs, cells_of_tree
from privity.common.synthesis.inference.maximum_likelihood import STEPS, STEPS_BETWEEN, Fit, fit_model
from privity.common.synthesis.inference.stacked_pairs import Pair, StackedPairs
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.learning.countable_pairs import check_some_pair
from privity.common.synthesis.learning.missing_together import missing_together
from privity.common.synthesis.learning.one_way_tables import measure_single
from privity.common.synthesis.learning.worst_explained import SELECTIONS, Chooser, may_select
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

ONE_WAY, MISSING, SELECTION, ROUNDS = "one-way tables", "missing values", "selection of tables", "selected tables"

LARGEST_MODEL = 1 << 17
"""Cells of the cliques of a model by default: 1 MiB."""

MOST_ROUNDS = 400


@dataclass(frozen=True)
class Settings:
    """Settings of AIM, all public."""

    one_way: Fraction | None = weight(None, "share of the budget for the 1-way tables", "9/10", by_default=NOISE)
    selecting: Fraction = weight("1/10", "share of the rest for selecting tables", "1/2")
    rounds: int | None = whole(None, "how many tables are selected and measured", 1, MOST_ROUNDS, by_default=NOISE)
    cells: int = whole(LARGEST_MODEL, "most cells of all cliques of the model", 1 << 10, 1 << 22)
    selection: str | None = choice(
        None, "tables are selected by the parties in turn, or by a noisy overview of all", SELECTIONS, by_default=NOISE
    )


class AIM(Algorithm[Settings]):
    """AIM: measures, round after round, the marginal that the model explains worst; fits one graphical model."""

    name = "aim"
    paper = (
        "McKenna, Mullins, Sheldon, Miklau, AIM: An Adaptive and Iterative Mechanism for Differentially Private "
        "Synthetic Data (VLDB 2022)"
    )
    settings = Settings
    selects = True
    by_rows: ClassVar = {"selection": SELECTIONS}

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """Pairs that are too large are no candidates."""
        check_some_pair(schema)

    def may_select(self, settings: Mapping[str, Any]) -> bool:
        return may_select(settings)

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Measure the 1-way tables; then, round by round, estimate, select and measure; then generate."""
        schema, rows = session.schema, session.rows
        if len(schema.domain) == 1:
            return await _generate(session, await measure_single(session, ONE_WAY, share), None)
        one_way = chosen.one_way or one_way_share(session, share)
        rounds = chosen.rounds or tables_for(session, share)
        measured = await measure_single(session, ONE_WAY, share * one_way)
        together = await missing_together(session, MISSING, share * (1 - one_way), measured)
        measured = together.tables
        for_selections, for_table = together.left * chosen.selecting, together.left * (1 - chosen.selecting) / rounds
        chooser = await Chooser.start(session, SELECTION, rounds, for_selections, chosen.selection)
        variance = session.noise_variance(1, for_table)
        pairs = list(together.pairs)
        fit: Fit | None = None
        for round_ in session.alike(rounds):
            # What was seen of a pair on the way to selecting it counts as soon as the pair is in the model.
            known = [*measured, *chooser.within(pairs)]
            fit = await session.compute(partial(fit_model, known, schema, rows, fit, STEPS_BETWEEN))
            most = chosen.cells * round_ / rounds
            expected = await session.compute(partial(_allowed, fit.model, chooser.candidates, most))
            pair = await chooser.choose(expected, variance)
            measured += await session.measure(ROUNDS, [pair], for_table)
            pairs.append(pair)
        return await _generate(session, [*measured, *chooser.within(pairs)], fit)


async def _generate(session: Session, tables: Sequence[NoisyTable], start: Fit | None) -> JunctionTreeModel:
    session.all_asked()
    schema, rows = session.schema, session.rows
    fit = await session.compute(lambda: fit_model(tables, schema, rows, start))
    bases = [tuple(schema.derived.base[a] for a in table.attributes) for table in tables]
    session.record.inference = Inference(PGM, PGM, size_of_fit(bases, schema.domain, STEPS))
    return fit.model.release(schema, rows)


def _allowed(model: GraphicalModel, candidates: Sequence[Pair], cells: float) -> StackedPairs:
    """What the model expects of the candidates with which its cliques have no more cells than that; of one at least."""
    places = np.array(candidates)
    added = cells_added_by_pairs(model.tree, model.domain)[places[:, 0], places[:, 1]]
    fitting = np.flatnonzero(added <= cells - cells_of_tree(model.tree, model.domain)).tolist()
    return model.tables_of([candidates[place] for place in fitting or [int(added.argmin())]])
