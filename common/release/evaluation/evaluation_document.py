"""All figures about one synthetic table beside real rows, as one document: ``evaluation.json``.

It is made from real rows without a mechanism. It is for their owner alone, and says so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable
from privity.common.release.evaluation.attacks import CONFIDENCE, Attack, run_attacks
from privity.common.release.evaluation.classifier_utility import (
    METHODS,
    Task,
    hold_out,
    majority_error,
    misclassification,
)
from privity.common.release.evaluation.k_marginal import k_marginal_score
from privity.common.release.evaluation.marginal_distance import WAYS, Distances, distances_of_sets, marginal_distances
from privity.common.release.evaluation.propensity import FOLDS, propensity
from privity.common.release.evaluation.reference_tables import independent_columns, resampled
from privity.common.release.evaluation.shapes import Score, column_shapes, pair_trends

FORMAT_VERSION = 2
SEED = 0  # of everything random: the same tables give the same document
MOST_ROWS = 50_000  # of each table, for classifiers and attacks; distances take all
WORST = 5
NOTICE = (
    "Not for release. These figures come from the real rows without any noise: they are not private and spend no"
    " budget. Keep them where the rows are."
)
ONE_MACHINE = "One machine saw the rows of all parties: this was a simulation."
INSTALL_SHAPES = 'pip install "privity[evaluation]"'
INSTALL_ATTACKS = f'{INSTALL_SHAPES} && pip install --no-deps "anonymeter>=1.1"'
Document = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """What to compare.

    Attributes:
        control: rows of the same people that had no part in the synthetic table, at least ``attacks`` of them.
        tasks: what classifiers are asked.
        parties: whose rows the real ones are, in a simulation.
        release: the name of the run if the synthetic rows are those of a release.
    """

    real: CodedTable
    synthetic: CodedTable
    control: CodedTable | None = None
    tasks: tuple[Task, ...] = ()
    attacks: int = 500
    parties: tuple[tuple[str, CodedTable], ...] = ()
    release: str | None = None


@dataclass(frozen=True)
class LeftOut:
    """A section that is not there, and what would bring it."""

    section: str
    reason: str
    remedy: str


def evaluate_tables(question: Question, say: Callable[[str], None]) -> Document:
    """Every section that can be made, and why the others cannot; ``say`` is told what is being done."""
    real, synthetic = question.real, question.synthetic
    document: Document = {
        "format_version": FORMAT_VERSION,
        "private": False,
        "notice": NOTICE,
        "schema_digest": real.schema.digest,
        "rows": {
            "real": real.rows,
            "synthetic": synthetic.rows,
            "control": None if question.control is None else question.control.rows,
        },
        "release": question.release,
    }
    left_out: list[LeftOut] = []
    say("distances")
    document |= _distances(real, synthetic)
    for name, section in SECTIONS.items():
        say(name)
        made = section(question)
        if isinstance(made, LeftOut):
            left_out.append(made)
        else:
            document[name] = made
    if question.parties:
        say("parties")
        document["parties"] = [_party(name, rows, synthetic) for name, rows in question.parties]
        document["notice"] = f"{NOTICE} {ONE_MACHINE}"
    document["left_out"] = [asdict(one) for one in left_out]
    rounded: Document = _rounded(document)
    return rounded


def _distances(real: CodedTable, synthetic: CodedTable) -> Document:
    """Distances of the synthetic table, with those of a table without structure and of one that only sampling made."""
    generator = np.random.default_rng(SEED)
    measured = {
        "synthetic": distances_of_sets(real, synthetic),
        "independent": distances_of_sets(real, independent_columns(real, generator)),
        "resampled": distances_of_sets(real, resampled(real, synthetic.rows, generator)),
    }
    ways = [way for way in WAYS if measured["synthetic"][way]]
    return {
        "distances": [
            {"way": way, "sets": len(measured["synthetic"][way])}
            | {name: _summary(found, way) for name, found in measured.items()}
            | {"worst": _worst(measured["synthetic"], way, real.schema.names)}
            for way in ways
        ],
        "k_marginal": [
            {"k": way} | {name: k_marginal_score(found[way].values()) for name, found in measured.items()}
            for way in ways
            if way > 1
        ],
    }


def _summary(found: Distances, way: int) -> Document:
    values = found[way].values()
    return {"mean": float(np.mean(list(values))), "largest": max(values)}


def _worst(found: Distances, way: int, names: tuple[str, ...]) -> list[Document]:
    ordered = sorted(found[way].items(), key=lambda entry: (-entry[1], entry[0]))[:WORST]
    return [{"attributes": [names[place] for place in places], "distance": value} for places, value in ordered]


def _shapes(question: Question) -> Document | LeftOut:
    if not _there("sdmetrics"):
        return LeftOut("shapes", "the library sdmetrics is not installed", INSTALL_SHAPES)
    columns = column_shapes(question.real, question.synthetic)
    pairs = pair_trends(question.real, question.synthetic)
    return {"columns": _scores(columns), "pairs": _scores(pairs)}


def _scores(scores: list[Score]) -> Document:
    defined = [(score.score, score) for score in scores if score.score is not None]
    worst = [asdict(score) for _, score in sorted(defined, key=lambda entry: entry[0])[:WORST]]
    mean = float(np.mean([value for value, _ in defined])) if defined else None
    return {"mean": mean, "scored": len(defined), "of": len(scores), "worst": worst}


def _utility(question: Question) -> Document | LeftOut:
    if not question.tasks:
        reason = "no attribute of 2 to 10 categories is left to ask for"
        return LeftOut("utility", reason, "Name one with --target.")
    if len(question.real.schema.names) < 2:
        return LeftOut("utility", "there is no second attribute to learn from", "Evaluate a table of more attributes.")
    if question.control is not None:
        train, test = question.real, question.control
    else:
        train, test = hold_out(question.real, np.random.default_rng(SEED))
        if not test.rows:
            return LeftOut("utility", "too few real rows to keep some back for the test", "Give it more rows.")
    train, test, synthetic = _limited(train), _limited(test), _limited(question.synthetic)
    return {
        "test": "held out" if question.control is None else "control",
        "trained_on": {"real": train.rows, "synthetic": synthetic.rows},
        "test_rows": test.rows,
        "tasks": [
            {
                "attribute": task.attribute,
                "positive": [str(value) for value in task.positive],
                "dropped": list(task.dropped),
                "majority": majority_error(test, task),
                "errors": [
                    {
                        "classifier": name,
                        "synthetic": misclassification(synthetic, test, task, method),
                        "real": misclassification(train, test, task, method),
                    }
                    for name, method in METHODS.items()
                ],
            }
            for task in question.tasks
        ],
    }


def _propensity(question: Question) -> Document | LeftOut:
    real, synthetic = _limited(question.real), _limited(question.synthetic)
    if min(real.rows, synthetic.rows) < FOLDS:
        return LeftOut("propensity", f"cross validation needs {FOLDS} rows of each table", "Give it more rows.")
    found = propensity(real, synthetic)
    ratio = found.pmse / found.expected if found.expected > 0 else None
    return asdict(found) | {"ratio": ratio, "rows": {"real": real.rows, "synthetic": synthetic.rows}}


def _attacks(question: Question) -> Document | LeftOut:
    if question.control is None:
        reason = "without control rows nobody can tell a leak from what anyone knows about the population"
        return LeftOut("attacks", reason, "Keep rows out of the release, and give them with --control.")
    if not (_there("anonymeter") and _there("polars") and _there("numba")):
        return LeftOut("attacks", "the library anonymeter is not installed, or what it needs", INSTALL_ATTACKS)
    if len(question.real.schema.names) < 2:
        return LeftOut("attacks", "there is no second attribute to attack with", "Evaluate a table of more attributes.")
    real, synthetic, control = (_limited(table) for table in (question.real, question.synthetic, question.control))
    found: list[Attack] = run_attacks(real, synthetic, control, question.attacks, SEED)
    rows = {"real": real.rows, "synthetic": synthetic.rows, "control": control.rows}
    return {"rows": rows, "confidence": CONFIDENCE, "made": [asdict(attack) for attack in found]}


SECTIONS = {"shapes": _shapes, "utility": _utility, "propensity": _propensity, "attacks": _attacks}


def _party(name: str, rows: CodedTable, synthetic: CodedTable) -> Document:
    found = marginal_distances(rows, synthetic)
    ways = [way for way in WAYS if f"tvd{way}" in found]
    distances = [{"way": way, "mean": found[f"tvd{way}"], "largest": found[f"tvd{way}_max"]} for way in ways]
    return {"party": name, "rows": rows.rows, "distances": distances}


def _limited(table: CodedTable) -> CodedTable:
    if table.rows <= MOST_ROWS:
        return table
    return table.take(np.sort(np.random.default_rng(SEED).permutation(table.rows)[:MOST_ROWS]))


def _there(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def _rounded(value: Any) -> Any:
    """Six significant digits: the rest would only seem to be exact."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
