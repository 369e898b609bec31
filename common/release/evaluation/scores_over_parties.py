"""How good a synthetic table is, told by parties that pool no rows: scores of each, of which noisy sums are revealed.

The synthetic table is public, so what is asked of a party follows from it alone: how far its marginals are from those
of the party's rows, how many of these rows a decision tree predicts right that was trained on synthetic ones, and how
many have a certain value, such as zero, or lie below a public cut.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.bin_labels import edge_texts
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_DENOMINATOR, SMALLEST_EPSILON, readable
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import LEVEL, half_width
from privity.common.privacy.run_budget import Share
from privity.common.protocol.evaluation_scores import (
    MOST_SCORES,
    MOST_SHARES,
    Evaluation,
    MarginalScore,
    Score,
    ShareScore,
    Split,
    Tree,
    TreeScore,
)
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS, count_cells
from privity.common.storage.canonical_json import digest
from privity.common.synthesis.algorithms import ALGORITHMS

PHASE = "evaluation"
FORMAT_VERSION = 1

SCORED_CELLS = 1 << 18
"""Most cells of the tables that one score asks about; of more tables a public coin takes some."""

TREES_CELLS = ROUND_CELLS - 2 * SCORED_CELLS
"""Most cells of the tables that all trees ask about: with those of the marginals they are one round's."""

DEEPEST, LEAST_LEAF = 6, 20
"""Of the decision trees: levels, and synthetic rows of a leaf."""

TRAINED_ROWS = 1 << 20
"""Most synthetic rows that a tree is trained on."""

MOST_SCORED_ROWS = 1 << 27
"""Most rows that are scored where absent ones are among them: a gibibyte for eight attributes."""

WIDEST = 0.01
"""Largest error bar of the scores that shares may bring about: all scores of a run have the same."""

QUANTILES = (0.5, 0.25, 0.75)
"""Near which the cuts are below which a share lies, in the order of their use."""


def check_evaluation(evaluation: Evaluation | None, algorithm: str, epsilon: Fraction, schema: Schema) -> None:
    """Refuse an evaluation that cannot be, before any party is asked.

    Args:
        epsilon: of the whole run.

    Raises:
        PrivityError: bad-option.
    """
    if evaluation is None:
        return
    if evaluation.epsilon >= epsilon:
        reason = f"{evaluation.epsilon} of {epsilon} leaves nothing to learn from"
        raise PrivityError(Catalogue.BAD_OPTION, option="evaluation", reason=reason, hint="Use a twentieth of epsilon.")
    rest = epsilon - evaluation.epsilon
    if rest < SMALLEST_EPSILON or rest.denominator > LARGEST_DENOMINATOR:
        # As an epsilon of its own: a later phase may not find noise for it.
        reason = f"what is left to learn from, {readable(rest)}, is too small or has too many digits"
        raise PrivityError(Catalogue.BAD_OPTION, option="evaluation", reason=reason, hint="Give both with few digits.")
    if not _asked_tables(schema.domain) and not evaluation.targets:
        reason = f"every table has more than {SCORED_CELLS} cells"
        raise PrivityError(Catalogue.BAD_OPTION, option="evaluation", reason=reason, hint="Leave the evaluation out.")
    if ALGORITHMS[algorithm].apart:
        reason = f"{algorithm} learns a model at each party: sums over the same rows would be a second view of them"
        raise PrivityError(Catalogue.BAD_OPTION, option="evaluation", reason=reason, hint="Leave the evaluation out.")
    if ALGORITHMS[algorithm].discovers:
        reason = f"{algorithm} makes the schema that its rows have, and parties score rows of the schema before it"
        raise PrivityError(Catalogue.BAD_OPTION, option="evaluation", reason=reason, hint="Leave the evaluation out.")
    _check_targets(evaluation.targets, schema)


def _check_targets(targets: Sequence[str], schema: Schema) -> None:
    unknown = [name for name in targets if name not in schema.names]
    if unknown:
        reason, hint = f"the schema has no {', '.join(map(repr, unknown))}", f"Possible: {', '.join(schema.names)}."
        raise PrivityError(Catalogue.BAD_OPTION, option="target", reason=reason, hint=hint)
    if targets and (schema.absent_rows or schema.history is not None):
        reason = "of what is absent nothing is to be predicted"
        raise PrivityError(Catalogue.BAD_OPTION, option="target", reason=reason, hint="Score marginals only.")
    if targets and len(schema.names) < 2:
        reason = "there is no other attribute to tell it from"
        raise PrivityError(Catalogue.BAD_OPTION, option="target", reason=reason, hint="Score marginals only.")
    sizes = [schema.domain[schema.index(name)] for name in targets]
    if sum(sizes) > TREES_CELLS or max(sizes, default=0) > TABLE_CELLS:
        reason = "their domains are too large for what may be asked at once"
        raise PrivityError(Catalogue.BAD_OPTION, option="target", reason=reason, hint="Name fewer targets.")


def to_score(table: CodedTable, rows: int, present: int) -> CodedTable:
    """The synthetic table with its part of absent rows, where parties have places that no row fills.

    Args:
        rows: of all parties together, absent ones included; ``present`` of them are taken to be there.
    """
    if not table.schema.absent_rows:
        return table
    # So many rows that those that are absent leave room for them.
    filled = min(table.rows, max(1, MOST_SCORED_ROWS * present // rows))
    table = table.take(_spread(table.rows, filled))
    return table.with_absent(min(round(filled * (rows - present) / present), MOST_SCORED_ROWS))


def most_shares(session: Session, evaluation: Evaluation) -> int:
    """How many shares may be asked for beside the other scores: as many as ``WIDEST`` allows, by public numbers."""
    # As if all scores were asked for: error bars go with their number.
    width = half_width(NoiseLaw(LAPLACE, MOST_SCORES / evaluation.epsilon), session.noise_variables)
    within = int(MOST_SCORES * WIDEST * session.rows / width)
    return max(0, min(MOST_SHARES, within - len(evaluation.targets) - 2))


def scores_of(synthetic: CodedTable, targets: Sequence[str], shares: int = 0) -> list[Score]:
    """What parties are asked about a synthetic table: the same for the same table.

    Its 1-way tables together, all its pair tables (or some by a public coin, see ``SCORED_CELLS``), a tree for each
    target, and so many shares at most.
    """
    schema = synthetic.schema
    places = [schema.index(target) for target in targets]
    # Each tree may ask about its target alone, and all alike share what is left.
    spare = (TREES_CELLS - sum(schema.domain[place] for place in places)) // max(len(places), 1)
    found: list[Score] = [_marginal_score(synthetic, part) for part in _asked_tables(schema.domain)]
    found += [_tree_score(synthetic, place, schema.domain[place] + spare) for place in places]
    return found + shares_of(synthetic)[:shares]


def shares_of(synthetic: CodedTable) -> list[Score]:
    """Shares worth asking for, the most telling first: of zeros, of missing and of frequent values, below cuts.

    Of each attribute whose 1-way table is asked about anyway, in the schema's order.
    """
    schema = synthetic.schema
    asked = [a for table in _part([(a,) for a in range(len(schema.attributes))], schema.domain) for a in table]
    counts = {a: np.bincount(synthetic.columns[a], minlength=schema.domain[a]) for a in asked}
    zeros = [(a, schema.attributes[a].zero_code) for a in asked]
    missing = [(a, schema.attributes[a].missing_code) for a in asked]
    frequent = [(a, _most_frequent(schema.attributes[a], counts[a])) for a in asked]
    points = [(a, code, code + 1) for a, code in (*zeros, *missing, *frequent) if code is not None]
    cuts = [(a, 0, _cut(schema.attributes[a], counts[a], level)) for level in QUANTILES for a in asked]
    return [ShareScore(*one) for one in dict.fromkeys((*points, *(cut for cut in cuts if cut[2])))]


def _most_frequent(attribute: Attribute, counts: np.ndarray) -> int | None:
    """The synthetic rows' most frequent code of one value; None of an attribute of bins, or of two values."""
    return int(counts[: attribute.values].argmax()) if attribute.categories and attribute.values > 2 else None


def _cut(attribute: Attribute, counts: np.ndarray, level: float) -> int:
    """The first code above the cut at which the synthetic rows are nearest to this quantile; 0 if there is no cut."""
    if not attribute.numeric or not attribute.edges or attribute.values < 3:
        return 0
    below = np.cumsum(counts[: attribute.values])
    return 1 + int(np.abs(below[:-1] - level * below[-1]).argmin())


async def score_over_parties(
    session: Session,
    synthetic: CodedTable,
    scores: Sequence[Score],
    share: Share,
    charged: Callable[[], Awaitable[None]] | None = None,
) -> dict[str, Any]:
    """Reveal the scores: the content of ``scores.json``, each as a part of all rows with its error bar.

    Args:
        scores: ``scores_of`` the synthetic table.
        share: that it costs every party.
        charged: as of ``Session.score``.
    """
    revealed = await session.score(PHASE, scores, share, charged)
    schema, rows, noise_variables = session.schema, session.rows, session.noise_variables
    width = half_width(revealed.law, noise_variables)
    return {
        "format_version": FORMAT_VERSION,
        "schema_digest": schema.digest,
        "epsilon": str(share.epsilon),
        "rows": rows,
        "law": revealed.law.name,
        "scale": str(revealed.law.scale),
        "noise_variables": str(noise_variables),
        "interval_level": str(LEVEL),
        "half_width": width / rows,
        "scores": [
            {**_named(score, synthetic), "sum": int(value), "value": int(value) / rows}
            for score, value in zip(scores, revealed.values, strict=True)
        ],
    }


def _named(score: Score, synthetic: CodedTable) -> dict[str, Any]:
    if isinstance(score, TreeScore):
        # What the most frequent code alone gets right, of the synthetic rows.
        most = np.bincount(synthetic.columns[score.attribute]).max() / synthetic.rows
        return {"measure": "accuracy", "attribute": synthetic.schema.names[score.attribute], "majority": float(most)}
    if isinstance(score, ShareScore):
        codes = synthetic.columns[score.attribute]
        inside = float(((codes >= score.first) & (codes < score.end)).mean())
        attribute = synthetic.schema.attributes[score.attribute]
        return {"measure": "share", "attribute": attribute.name, "of": _in_words(attribute, score), "synthetic": inside}
    return {"measure": "total variation distance", "ways": len(score.tables[0]), "tables": len(score.tables)}


def _in_words(attribute: Attribute, score: ShareScore) -> str:
    if (score.first, score.end) == (attribute.zero_code, score.first + 1):
        return "0"
    if score.first or not attribute.edges:
        return attribute.labels[score.first]
    return f"below {edge_texts(attribute)[score.end]}"


def _asked_tables(domain: Sequence[int]) -> list[list[Marginal]]:
    """The tables of each marginal score: at least one each."""
    attributes = range(len(domain))
    every: list[list[Marginal]] = [[(a,) for a in attributes], list(combinations(attributes, 2))]
    return [part for tables in every if (part := _part(tables, domain))]


def _part(tables: list[Marginal], domain: Sequence[int]) -> list[Marginal]:
    """As many of the tables as may be asked about at once: all, or those that are drawn while there is room."""
    chosen, cells = [], 0
    if count_cells(tables, domain) <= SCORED_CELLS:
        return tables
    # An order that nobody chose, and that is the same at every replay.
    for table in sorted(tables, key=lambda table: digest(list(table))):
        size = math.prod(domain[a] for a in table)
        if cells + size <= SCORED_CELLS:
            chosen.append(table)
            cells += size
    return sorted(chosen)


def _marginal_score(synthetic: CodedTable, tables: list[Marginal]) -> MarginalScore:
    counts = contingency_tables(synthetic, tables)
    return MarginalScore(tuple(tables), tuple(int(c) for table in counts for c in table.ravel()), synthetic.rows)


def _spread(rows: int, count: int) -> np.ndarray:
    """Places of so many of the rows, from the first to the last."""
    return np.arange(count, dtype=np.int64) * rows // count


def _tree_score(synthetic: CodedTable, target: int, most_cells: int) -> TreeScore:
    """A tree whose every leaf can be counted: the deepest one of which no path needs too large a table.

    Args:
        most_cells: of all its tables together.
    """
    # Here alone, and seconds to import: nodes that only check what is asked need none of it.
    from sklearn.tree import DecisionTreeClassifier

    others = [a for a in range(len(synthetic.columns)) if a != target]
    rows = _spread(synthetic.rows, min(synthetic.rows, TRAINED_ROWS))
    features = np.stack([synthetic.columns[a][rows] for a in others], axis=1)
    domain = synthetic.schema.domain
    for depth in range(DEEPEST, 0, -1):
        learner = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=LEAST_LEAF, random_state=0)
        score = TreeScore(target, _tree(learner.fit(features, synthetic.columns[target][rows]), others))
        cells = [math.prod(domain[a] for a in table) for table in score.asked()]
        if max(cells) <= TABLE_CELLS and sum(cells) <= most_cells:
            return score
    return TreeScore(target, int(np.bincount(synthetic.columns[target]).argmax()))


def _tree(learner: Any, attributes: Sequence[int]) -> Tree:
    nodes = learner.tree_

    def build(node: int) -> Tree:
        low, high = int(nodes.children_left[node]), int(nodes.children_right[node])
        if low == high:
            return int(learner.classes_[int(nodes.value[node][0].argmax())])
        return Split(attributes[nodes.feature[node]], int(nodes.threshold[node]), build(low), build(high))

    return build(0)
