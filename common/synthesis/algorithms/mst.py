"""MST: 1-way tables, then the tables of a spanning tree of the pairs that differ most from independence.

Deviations from the paper:

- The split follows from public numbers, and so does the number of edges: where the tables of a whole tree would be
  below the noise floor, a forest of its strongest edges takes its place (``tables_for``).
- A score is the total variation distance from independence, less what the noise of the pair's own table would show.
- Rare codes are not merged: 1-way tables are made non-negative, and ordered ones smoothed.
- Over K parties each selection is at one party, on its own rows, or from a noisy overview of all pairs (``selection``);
  what is measured is summed over all parties.
- Which values are missing together is measured first (``privity.common.synthesis.learning.missing_together``).
- For a forest, consistency post-processing (``inference = tables``) is as good as a graphical model, and takes no time;
  but it knows nothing of values that are missing together, for which there is always a graphical model.

Privacy: tables and selections compose; epsilon in all, or the run's rho.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import NOISE, choice, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import PGM, TABLES, fit_setting
from privity.common.synthesis.inference.graphical_model import tree_over
from privity.common.synthesis.inference.maximum_likelihood import fit_model
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.learning.countable_pairs import check_some_pair
from privity.common.synthesis.learning.missing_together import missing_together
from privity.common.synthesis.learning.one_way_tables import measure_single
from privity.common.synthesis.learning.parameter_learning import fit_cliques
from privity.common.synthesis.learning.worst_explained import (
    JOINT,
    SELECTIONS,
    Chooser,
    candidate_pairs,
    may_select,
    most_edges,
)
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

ONE_WAY, MISSING, SELECTION, EDGES = "one-way tables", "missing values", "spanning tree", "pair tables"
OF_A_TREE = "attributes less one", lambda schema: max(1, len(schema.attributes) - 1)


@dataclass(frozen=True)
class Settings:
    """Settings of MST, all public."""

    one_way: Fraction | None = weight(None, "share of the budget for the 1-way tables", "9/10", by_default=NOISE)
    selecting: Fraction = weight("1/10", "share of the rest for selecting edges", "1/2")
    edges: int | None = whole(
        None,
        "pair tables that are measured, besides those of values that are missing together; at least one",
        1,
        OF_A_TREE,
        by_default=NOISE,
    )
    selection: str | None = choice(
        None,
        "edges are selected by the parties in turn, or by a noisy overview of all",
        SELECTIONS,
        by_default='from the noise; "joint" with a delta over several parties',
    )
    inference: str = fit_setting(TABLES)


class MST(Algorithm[Settings]):
    """MST: measures the marginals of a spanning tree of the pairs that differ most from independence."""

    name = "mst"
    paper = (
        "McKenna, Miklau, Sheldon, Winning the NIST Contest: A scalable and general approach to differentially "
        "private synthetic data (Journal of Privacy and Confidentiality 2021)"
    )
    settings = Settings
    selects = True
    overview = SELECTION
    by_rows: ClassVar = {"selection": SELECTIONS}

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """Pairs that are too large are no candidates."""
        check_some_pair(schema)

    def may_select(self, settings: Mapping[str, Any]) -> bool:
        return may_select(settings)

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Measure the 1-way tables, select a tree, measure its pairs; then estimate and generate."""
        schema = session.schema
        domain = schema.domain
        if len(domain) == 1:
            tables = await measure_single(session, ONE_WAY, share)
            return await fit_cliques(session, tree_over([], domain), tables, chosen.inference)
        one_way = chosen.one_way or one_way_share(session, share)
        edges = min(most_edges(candidate_pairs(session)), chosen.edges or tables_for(session, share))
        tables = await measure_single(session, ONE_WAY, share * one_way)
        together = await missing_together(session, MISSING, share * (1 - one_way), tables)
        tables = together.tables
        tree, part = list(together.pairs), np.arange(len(domain))
        for a, b in tree:
            part[part == part[a]] = part[b]
        edges = max(1, edges - len(tree))
        for_selections, for_tables = together.left * chosen.selecting, together.left * (1 - chosen.selecting)
        independent = (await session.compute(lambda: fit_model(tables, schema, session.rows))).model
        # One forest is all that is measured: a party that differs from the others would decide much of it.
        overview = JOINT if share.budget.delta and len(session.party_rows) > 1 else None
        chooser = await Chooser.start(session, SELECTION, edges, for_selections, chosen.selection or overview)
        variance = session.noise_variance(edges + len(tree), for_tables)
        await chooser.expect(independent, variance)
        first, second = np.array(chooser.candidates).T
        for _ in session.alike([1] * edges):
            joining = part[first] != part[second]
            if not joining.any():
                break
            a, b = await chooser.choose(joining)
            tree.append((a, b))
            part[part == part[a]] = part[b]
        tables += await session.measure(EDGES, tree, for_tables)
        inference = PGM if together.pairs else chosen.inference
        return await fit_cliques(session, tree_over(tree, domain), [*tables, *chooser.within(tree)], inference)
