"""All that ``privity evaluate`` finds out about synthetic tables beside the real rows they were made from.

It is made from real rows without a mechanism: data owner only, and it says so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from privity.assessment.evaluation.attacks import Attack, run_attacks
from privity.assessment.evaluation.column_comparison import (
    ColumnComparison,
    Missingness,
    RealColumns,
    joint_missingness,
)
from privity.assessment.evaluation.linear_structure import Correlations, RealStructure, Regression
from privity.assessment.evaluation.pair_comparison import DecileCodes, Deciles, PairComparison, compare_pairs
from privity.assessment.evaluation.prediction import Answered, PredictionTarget, answer
from privity.assessment.evaluation.propensity import Propensity, propensity
from privity.assessment.evaluation.value_tables import SEED, ValueTable, no_structure, only_sampling
from privity.common.data.coded_table import CodedTable
from privity.common.release.evaluation.classifier_utility import usual_tasks
from privity.common.release.evaluation.marginal_distance import WAYS, Distances, distances_of, distances_of_sets

MOST_ATTACK_ROWS = 50_000
MOST_TRIPLES = 1000
"""Sets of three attributes whose distances are looked at; of more they are drawn."""

MOST_PAIRS = 5_000
"""Pairs of attributes that are compared: all of 100 attributes; of more they are drawn."""

QUICK_TRIPLES = 100
HELD_OUT = 0.2
"""Part of the real rows on which models are tested if there are no control rows."""

CLASSES_ASKED, NUMBERS_ASKED = 3, 2
EXPLAINED = 0.05, 0.999
"""Share of its variance that the other numbers explain of a number that models are asked for: not none, and not all."""

SAMPLING, NO_STRUCTURE = "only sampling", "no structure"
INSTALL_ATTACKS = 'pip install "privity[evaluation]" && pip install --no-deps "anonymeter>=1.1"'


@dataclass(frozen=True)
class Candidate:
    """A synthetic table to judge; ``release`` is the run's name if it is that of a release."""

    name: str
    table: ValueTable
    release: str | None = None


@dataclass(frozen=True)
class Question:
    """What to compare.

    Attributes:
        control: rows of the same people that had no part in any table, at least ``attacks`` of them.
        targets: what models are asked; None: what is usual.
        dropped: attributes that models do not see.
        parties: whose rows the real ones are, in a simulation.
        quick: a first answer: no attacks, nothing told apart, and two targets at most.
    """

    real: ValueTable
    candidates: tuple[Candidate, ...]
    control: ValueTable | None = None
    targets: tuple[PredictionTarget, ...] | None = None
    dropped: tuple[str, ...] = ()
    attacks: int = 500
    parties: tuple[tuple[str, CodedTable], ...] = ()
    quick: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A section that is not there, and what would bring it."""

    section: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class TableResult:
    """One table beside the real rows.

    Attributes:
        distances: of the codes, by number of attributes.
        broken: by row constraint, the share of rows that break it.
        propensity: None if there are too few rows, and of the tables that only stand beside the synthetic ones.
    """

    name: str
    rows: int
    columns: Sequence[ColumnComparison]
    distances: Distances
    pairs: PairComparison
    correlations: Correlations | None
    regressions: Sequence[Regression]
    missingness: Missingness | None
    broken: tuple[float, ...]
    propensity: Propensity | None = None
    release: str | None = None
    attacks: Sequence[Attack] = ()


@dataclass(frozen=True)
class Evaluation:
    """Everything: results of the synthetic tables in their order, and what stands beside them.

    Attributes:
        sampling: the real rows drawn anew: no release of that size can be expected to be closer.
        shuffled: the real columns, each shuffled alone: no structure at all.
        answers: how well models predict; for each table of ``results``, in its order.
        real_codes, codes: by the real deciles, of the real rows and of each table of ``results``.
    """

    question: Question
    results: Sequence[TableResult]
    sampling: TableResult
    shuffled: TableResult
    answers: Sequence[Answered]
    test_rows: int
    parties: Sequence[tuple[str, int, Distances]]
    left_out: Sequence[LeftOut]
    deciles: Deciles
    real_codes: DecileCodes
    codes: Sequence[DecileCodes]


def evaluate(question: Question, say: Callable[[str], None]) -> Evaluation:
    """Compare everything; ``say`` is told what is being done."""
    real, tables = question.real, [candidate.table for candidate in question.candidates]
    beside = [only_sampling(real, max(table.rows for table in tables)), no_structure(real)]
    compared = [*tables, *beside]
    names = [*(candidate.name for candidate in question.candidates), SAMPLING, NO_STRUCTURE]
    say("columns")
    columns = RealColumns(real)
    of_columns = [columns.compared(table) for table in compared]
    say("pairs")
    deciles = Deciles(real)
    codes, real_codes = [deciles.codes(table) for table in compared], deciles.codes(real)
    labels = [deciles.labels(place) for place in range(len(real.schema.attributes))]
    chosen = [(a, b) for a, b in _sets(len(real.schema.attributes), 2, MOST_PAIRS)]
    pairs = compare_pairs(real_codes, codes, real.schema.attributes, labels, chosen)
    say("correlations and regressions")
    structure = RealStructure(real)
    lines = [(structure.correlations(table), structure.regressions(table)) for table in compared]
    results = []
    for place, table in enumerate(compared):
        say(f"distances of {names[place]}")
        judged = place < len(tables)
        results.append(
            TableResult(
                names[place],
                table.rows,
                of_columns[place],
                _distances(real.coded, table.coded, question.quick),
                pairs[place],
                *lines[place],
                joint_missingness(real, table),
                table.broken,
                propensity(real, table) if judged and not question.quick else None,
                question.candidates[place].release if judged else None,
                _attacks(question, table, say) if judged else (),
            )
        )
    answers, test_rows = _answers(question, tables, results, say)
    parties = []
    for name, rows in question.parties:
        say(f"party {name}")
        parties.append((name, rows.rows, _distances(rows, tables[0].coded, question.quick)))
    count = len(tables)
    return Evaluation(
        question,
        results[:count],
        results[count],
        results[count + 1],
        answers,
        test_rows,
        parties,
        _left_out(question, answers),
        deciles,
        real_codes,
        codes[:count],
    )


def _distances(real: CodedTable, other: CodedTable, quick: bool) -> Distances:
    """Of all attributes, and of all sets of two and three, or as many as are drawn."""
    width, most = len(real.columns), {1: MOST_PAIRS, 2: MOST_PAIRS, 3: QUICK_TRIPLES if quick else MOST_TRIPLES}
    whole = [way for way in WAYS if comb(width, way) <= most[way] or way == 1]
    found = distances_of_sets(real, other, whole)
    return found | {way: distances_of(real, other, _sets(width, way, most[way])) for way in WAYS if way not in found}


def _sets(width: int, way: int, most: int) -> list[tuple[int, ...]]:
    """All sets of so many attributes, or those that are drawn: by the number of attributes alone."""
    if comb(width, way) <= most:
        return list(combinations(range(width), way))
    generator, drawn = np.random.default_rng(SEED), set[tuple[int, ...]]()
    while len(drawn) < most:
        drawn.add(tuple(sorted(generator.choice(width, way, replace=False).tolist())))
    return sorted(drawn)


def _answers(
    question: Question, tables: Sequence[ValueTable], results: Sequence[TableResult], say: Callable[[str], None]
) -> tuple[list[Answered], int]:
    real = question.real
    if question.control is not None:
        train, test = real, question.control
    else:
        order = np.random.default_rng(SEED).permutation(real.rows)
        cut = round((1 - HELD_OUT) * real.rows)
        train, test = real.take(np.sort(order[:cut])), real.take(np.sort(order[cut:]))
    targets = question.targets
    if targets is None:
        targets = _usual_targets(question, results[0])
    found = []
    for target in targets:
        say(f"predicting {target.name}")
        if (answered := answer(target, train, test, tables)) is not None:
            found.append(answered)
    return found, test.rows


def _usual_targets(question: Question, first: TableResult) -> tuple[PredictionTarget, ...]:
    """Attributes of few categories, and the numbers that depend most on others without following from them."""
    schema, dropped = question.real.schema, question.dropped
    classes = [PredictionTarget(task.attribute, dropped, task) for task in usual_tasks(schema, dropped)]
    binned = {attribute.name for attribute in schema.attributes if attribute.edges} - set(dropped)
    low, high = EXPLAINED
    able = [one for one in first.regressions if one.target in binned and low <= one.explained <= high]
    able = sorted(able, key=lambda one: -one.explained)[:NUMBERS_ASKED]
    numbers = [PredictionTarget(one.target, dropped) for one in able]
    return (*classes[:1], *numbers[:1]) if question.quick else (*classes[:CLASSES_ASKED], *numbers)


def _attacks(question: Question, table: ValueTable, say: Callable[[str], None]) -> Sequence[Attack]:
    if question.control is None or question.quick or not _can_attack() or len(table.schema.names) < 2:
        return ()
    say("attacks")
    real, other, control = (one.limited(MOST_ATTACK_ROWS).coded for one in (question.real, table, question.control))
    return run_attacks(real, other, control, question.attacks, SEED)


def _can_attack() -> bool:
    return all(importlib.util.find_spec(library) is not None for library in ("anonymeter", "polars", "numba"))


def _left_out(question: Question, answers: Sequence[Answered]) -> list[LeftOut]:
    found = []
    width = len(question.real.schema.names)
    if (pairs := comb(width, 2)) > MOST_PAIRS:
        reason = f"of {pairs:,} pairs {MOST_PAIRS:,} were drawn, the same ones for every table of {width} attributes"
        found.append(LeftOut("other pairs", reason, "Evaluate a release about fewer attributes."))
    if not answers:
        reason = "no attribute of 2 to 10 categories is left to ask for, or too few real rows"
        found.append(LeftOut("predictions", reason, "Name one with --target."))
    if question.quick:
        found.append(LeftOut("attacks and telling rows apart", "this is a first answer", "Leave --quick out."))
    elif question.control is None:
        reason = "without control rows nobody can tell a leak from what anyone knows about the population"
        found.append(LeftOut("attacks", reason, "Keep rows out of the release, and give them with --control."))
    elif not _can_attack():
        found.append(LeftOut("attacks", "the library anonymeter is not installed, or what it needs", INSTALL_ATTACKS))
    elif len(question.real.schema.names) < 2:
        reason = "there is no second attribute to attack with"
        found.append(LeftOut("attacks", reason, "Evaluate a table of more attributes."))
    return found
