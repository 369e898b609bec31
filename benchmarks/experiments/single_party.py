"""PrivBayes of one owner: the experiments of Zhang, Cormode, Procopiuc, Srivastava, Xiao (TODS 2017).

Seeds decide the split of the rows and the sampling; noise has none. ``whole`` is a model of all rows; ``held out`` one
of 80 % of them, with classifiers trained on its sample besides; ``marginals`` a rival's tables; ``classifier`` a rival
of the classifiers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Picture, Point, Table, Values, bounds, duels, grid
from benchmarks.methods import marginal_baselines, private_classifiers
from benchmarks.methods.classification_tasks import TASKS
from benchmarks.methods.learning import errors_of, learn
from benchmarks.methods.partly_exact_session import partly_exact_session
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.privacy.run_budget import PureBudget
from privity.common.release.evaluation.classifier_utility import hold_out
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.inference.fit_choice import TABLES
from privity.common.synthesis.models.bayesian_network import BayesianNetwork


@dataclass(frozen=True)
class Method:
    """An algorithm with settings; exact draws or tables, which are not private, are for the source of error alone."""

    algorithm: str = "privbayes"
    settings: Mapping[str, Any] = field(default_factory=dict)
    exact_draws: bool = False
    exact_tables: bool = False

    @property
    def asked(self) -> dict[str, Any]:
        """With the light fit, whose model is the network itself: that is what is looked at."""
        return {"inference": TABLES, **self.settings} if self.algorithm == DEFAULT else dict(self.settings)


DEFAULT, ONE_WAY = "privbayes", "one-way"
PAPER_BETA = "0.3"
BETAS = ("0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "0.9")
THETAS = ("0.5", "1", "2", "3", "4", "6", "8", "12")
SCORES = {
    f"score {score}{', no noise' if exact else ''}": Method(
        settings={"score": score, "beta": PAPER_BETA, "encoding": "vanilla"}, exact_draws=exact
    )
    for exact in (False, True)
    for score in "FRI"
}
"""Of Figure 4, with beta of the paper, so that all scores may take the same tables; I without noise is NoPrivacy."""

DEFAULT_SCORES = {f"{score}, default beta": Method(settings={"score": score}) for score in "FRI"}
ENCODINGS = {
    "vanilla-R": Method(settings={"encoding": "vanilla"}),
    "binary-F": Method(settings={"encoding": "binary"}),
    "gray-F": Method(settings={"encoding": "gray"}),
}
"""The hierarchical one is the default."""

SOURCES = {
    "best network": Method(exact_draws=True),
    "best tables": Method(exact_tables=True),
    "no noise": Method(exact_draws=True, exact_tables=True),
}
BY_BETA = {f"beta {beta}": Method(settings={"beta": beta}) for beta in BETAS}
BY_THETA = {f"theta {theta}": Method(settings={"theta": theta, "beta": PAPER_BETA}) for theta in THETAS}
METHODS: dict[str, Method] = {
    DEFAULT: Method(), ONE_WAY: Method("one-way"), **SCORES, **DEFAULT_SCORES, **ENCODINGS, **SOURCES, **BY_BETA,
    **BY_THETA,
}  # fmt: skip

REAL_ROWS, MAJORITY, ERM, ERM_SINGLE = "real rows", "majority", "PrivateERM", "PrivateERM, one task"
EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
BINARY, GENERAL = "nltcs", "adult"
TARGETS = (
    ("mean2", "0.1", 0.10), ("mean2", "0.4", 0.078), ("mean2", "1", 0.053), ("mean2", "1.6", 0.047),
    ("largest2", "0.4", 0.30), ("largest2", "1", 0.20),
)  # fmt: skip
"""On adult: the measure, epsilon, and how much it may be at most."""

WAYS = {BINARY: (3, 4), GENERAL: (2, 3)}
"""Sizes of the marginals, as in the paper."""


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    table, generator = data.table(point["data"]), np.random.default_rng(seed)
    method, epsilon = point["method"], Fraction(point["epsilon"] if point["epsilon"] != "-" else 1)
    if point["kind"] == "marginals":
        true = marginal_baselines.exact(table, point["way"])
        noisy = marginal_baselines.BASELINES[method](table, point["way"], epsilon)
        return {f"mean{point['way']}": marginal_baselines.mean_distance(true, noisy)}
    if point["kind"] == "whole":
        return learned(table, point["data"], METHODS[method], epsilon, generator)[1]
    train, test = hold_out(table, generator)
    if point["kind"] == "classifier":
        return rival_of_classifiers(train, test, point, epsilon)
    synthetic, values = learned(train, point["data"], METHODS[method], epsilon, generator)
    return [values, *errors_of(synthetic, test, TASKS[point["data"]])]


def learned(
    table: CodedTable, data: str, method: Method, epsilon: Fraction, generator: np.random.Generator
) -> tuple[CodedTable, Values]:
    """A synthetic table of equal size, with its distances, and what its network tells."""
    session = InProcessBackend([table], PureBudget(epsilon)).session()
    if method.exact_draws or method.exact_tables:
        session = partly_exact_session(table, epsilon, exact_draws=method.exact_draws, exact_tables=method.exact_tables)
    started = time.perf_counter()
    model = learn(session, method.algorithm, method.asked)
    seconds = time.perf_counter() - started
    if not isinstance(model, BayesianNetwork):
        raise TypeError("only Bayesian networks are measured")
    synthetic = model.sample(table.rows, generator)
    found = marginal_distances(table, synthetic, ways=(2, 3, 4) if data == BINARY else (2, 3))
    values: Values = {"seconds": round(seconds, 3), "information": information(table, model.parents)}
    for key, distance in found.items():
        way = key.removeprefix("tvd").removesuffix("_max")
        values[f"{'largest' if key.endswith('_max') else 'mean'}{way}"] = distance
    return synthetic, values


def information(table: CodedTable, network: Mapping[int, tuple[int, ...]]) -> float:
    """Sum of the mutual information, in bits, between each attribute and its parents on the real rows. Not private."""
    joints = contingency_tables(table, [(x, *parents) for x, parents in sorted(network.items()) if parents])
    return sum(mutual_information(joint.reshape(len(joint), -1)) for joint in joints)


def mutual_information(joint: np.ndarray) -> float:
    """In bits, of a table of counts."""
    shares = joint / joint.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = shares > 0
    return float((shares[seen] * np.log2(shares[seen] / expected[seen])).sum())


def rival_of_classifiers(train: CodedTable, test: CodedTable, point: Point, epsilon: Fraction) -> list[Values]:
    """The error of each task; a method for one task at a time divides epsilon among the tasks."""
    tasks = TASKS[point["data"]]
    share = epsilon / (1 if point["method"] == ERM_SINGLE else len(tasks))
    if point["method"] == REAL_ROWS:
        return errors_of(train, test, tasks)
    if point["method"] == MAJORITY:
        errors = [private_classifiers.majority(train, test, task, share) for task in tasks]
    else:
        errors = [private_classifiers.private_erm(train, test, task, float(share)) for task in tasks]
    return [{"task": task.name, "error": error} for task, error in zip(tasks, errors, strict=True)]


def points(quick: bool) -> list[Point]:
    if quick:
        found = grid(kind="whole", data=BINARY, method=(DEFAULT, "score F"), epsilon="1.6")
        found += grid(kind="marginals", data=BINARY, method=("laplace", "fourier"), epsilon="1.6", way=3)
        found += grid(kind="held out", data=BINARY, method=(DEFAULT, "best network", "beta 0.3"), epsilon="1.6")
        return found + grid(kind="classifier", data=BINARY, method=(ERM, REAL_ROWS), epsilon="1.6")
    found = []
    for data in (GENERAL, BINARY):
        scores = [name for name in SCORES if data == BINARY or "F" not in name]
        rivals = [name for name in marginal_baselines.BASELINES
                  if data == BINARY or name not in marginal_baselines.NEED_ALL]  # fmt: skip
        held = (DEFAULT, *SOURCES) if data == BINARY else (DEFAULT, *SOURCES, "vanilla-R")
        found += grid(kind="whole", data=data, method=(DEFAULT, ONE_WAY, *scores), epsilon=EPSILONS, seeds=3)
        found += grid(kind="marginals", data=data, method=tuple(rivals), epsilon=EPSILONS, way=WAYS[data], seeds=3)
        found += grid(kind="held out", data=data, method=held, epsilon=EPSILONS, seeds=3)
        varied = (*BY_BETA, *BY_THETA)
        found += grid(kind="held out", data=data, method=varied, epsilon=("0.1", "0.4", "1.6"), seeds=3)
        found += grid(kind="classifier", data=data, method=(MAJORITY, ERM, ERM_SINGLE), epsilon=EPSILONS, seeds=3)
        found += grid(kind="classifier", data=data, method=REAL_ROWS, epsilon="-", seeds=3)
    found += grid(kind="whole", data=BINARY, method=tuple(DEFAULT_SCORES), epsilon=EPSILONS, seeds=10)
    found += grid(kind="whole", data=GENERAL, method=(DEFAULT, ONE_WAY), epsilon=("0.1", "0.4", "1", "1.6"), seeds=10)
    # A network of bits takes most of a minute at the larger epsilons: one seed.
    found += grid(kind="held out", data=GENERAL, method=("binary-F", "gray-F"), epsilon=EPSILONS[:4], seeds=3)
    return found + grid(kind="held out", data=GENERAL, method=("binary-F", "gray-F"), epsilon=EPSILONS[4:])


def by_epsilon(name: str, data: str, methods: tuple[str, ...], show: str, kind: str | tuple[str, ...]) -> Table:
    where = {"data": data, "method": methods, "kind": kind}
    return Table(f"{data}: {name}", ("method",), show, columns="epsilon", where=where)


def errors(name: str, data: str, methods: tuple[str, ...]) -> Table:
    """One row for each task and method."""
    where = {"data": data, "method": (*methods, REAL_ROWS), "kind": ("held out", "classifier")}
    return Table(f"{data}: {name}, classifiers", ("task", "method"), "error", columns="epsilon", where=where)


def tables_of(data: str) -> list[Table]:
    first, second = WAYS[data]
    networks = (DEFAULT, *SOURCES)
    rivals = tuple(marginal_baselines.BASELINES)
    found = [
        by_epsilon("information of the network", data, tuple(SCORES), "information", "whole"),
        by_epsilon("scores, mean 3-way distance", data, (*SCORES, *DEFAULT_SCORES), "mean3", "whole"),
        *(by_epsilon(f"source of error, {way}-way marginals", data, networks, f"mean{way}", "held out")
          for way in (first, second)),
        errors("source of error", data, networks),
        *(by_epsilon(f"rivals, {way}-way marginals", data, (DEFAULT, ONE_WAY, *rivals), f"mean{way}",
                     ("whole", "marginals")) for way in (first, second)),
        errors("rivals", data, (DEFAULT, ERM, ERM_SINGLE, MAJORITY)),
        *(by_epsilon(f"{name}, {second}-way marginals", data, tuple(methods), f"mean{second}", "held out")
          for name, methods in (("beta", BY_BETA), ("theta", BY_THETA))),
        errors("beta and theta", data, (*BY_BETA, *BY_THETA)),
        by_epsilon("seconds of a fit", data, tuple(METHODS), "seconds", "whole"),
    ]  # fmt: skip
    if data == GENERAL:
        encodings = (DEFAULT, *ENCODINGS)
        found += [by_epsilon(f"encodings, {way}-way marginals", data, encodings, f"mean{way}", "held out")
                  for way in (2, 3)]  # fmt: skip
        found.append(errors("encodings", data, encodings))
    return found


EVERY = [table for data in (GENERAL, BINARY) for table in tables_of(data)]
EXPERIMENT = Experiment(
    title="PrivBayes of one owner: scores, encodings, parameters, sources of error, rivals",
    points=points,
    measure=measure,
    shows=(
        Table(
            "targets", ("method", "epsilon"), {"mean 2-way distance": "mean2", "largest 2-way distance": "largest2"},
            where={"data": GENERAL, "kind": "whole", "method": (DEFAULT, ONE_WAY),
                   "epsilon": ("0.1", "0.4", "1", "1.6")},
            digits=4,
        ),
        bounds("hoped for", [
            ({"data": GENERAL, "kind": "whole", "method": DEFAULT, "epsilon": epsilon}, measure_, bound)
            for measure_, epsilon, bound in TARGETS
        ]),
        *(duels(f"{table.name}, PrivBayes against", table, "method", DEFAULT)
          for table in EVERY if "rivals, " in table.name),
        *EVERY,
    ),
    tables=(GENERAL, BINARY),
    pictures=(
        Picture("rivals", [
            table for table in EVERY for data, (_, way) in WAYS.items()
            if table.name == f"{data}: rivals, {way}-way marginals"
        ]),
    ),
    code=(*CODE, "common/release/evaluation/classifier_utility.py", *(f"benchmarks/methods/{name}.py" for name in (
        "classification_tasks", "marginal_baselines", "partly_exact_session", "private_classifiers"))),
)  # fmt: skip
