"""Whole runs of an algorithm in neighbouring worlds: the evidence of all revealed sums and selections, added up.

A run spends epsilon in parts on many tables, so that its full loss shows only when all of them point the
same way. The bound therefore stays well below the claim; what it finds are faults of the whole, such as
a phase that is not charged or noise that is used twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privity.assessment.audit.audited_consortium import Consortium, generous_policy, make_schema
from privity.assessment.audit.neighbouring_tables import table_of
from privity.assessment.audit.noise_evidence import table_evidence
from privity.assessment.audit.protocols import KEY_BITS, Setting, name_of, remaining, shape_of
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.score_r import r_score
from privity.common.protocol.expected_tables import SENSITIVITY
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.steps import Contribute, Reply, Select, Selected, SelectionStep, SelectTable, Step
from privity.common.synthesis.algorithms import learn
from privity.party import answers_from_rows
from privity.party.sources.rows import InMemory


class RecordedConsortium(Consortium):
    """A consortium that remembers which rounds were asked for and what was chosen."""

    def __init__(self, tables: dict[str, CodedTable], source: Source, batch: int) -> None:
        super().__init__(
            tables,
            policies=dict.fromkeys(tables, generous_policy(KEY_BITS)),
            key_bits=KEY_BITS,
            entropy=lambda name: lambda label: source(f"{batch}/{name}/{label}"),
        )
        self.rounds: dict[str, Round] = {}
        self.choices: list[tuple[str, SelectionStep, int]] = []

    def tell(self, party: str, step: Step) -> Reply:
        reply = super().tell(party, step)
        if isinstance(step, Contribute):
            self.rounds[step.round.round] = step.round
        if isinstance(step, (Select, SelectTable)) and isinstance(reply, Selected):
            self.choices.append((party, step, reply.index))
        return reply


def small_tables(world: int, setting: Setting, attributes: int) -> dict[str, CodedTable]:
    """Binary tables of zeros but for one row, which differs between the worlds in every attribute.

    In world 0 only its last attribute is one; in world 1 all but the last. So each table of every
    marginal moves in two cells, and the scores of some pairs rise by all of their sensitivity.
    """
    schema = make_schema((2,) * attributes)
    tables = {}
    for k, rows in enumerate(setting.rows):
        codes = np.zeros((rows, attributes), dtype=np.int64)
        if k == setting.at:
            codes[0] = [world] * (attributes - 1) + [1 - world]
        tables[name_of(k)] = table_of(schema, codes.tolist())
    return tables


ALL_PHASES: dict[str, dict[str, Any]] = {
    "dp-subn": {"frontier": "always"},
    "privhd": {"filter": "always"},
    "mst": {"selection": "parties"},
    "aim": {"selection": "parties", "analyses": ["A0 ~ A1 + A2"]},
}
"""Settings with which a run has all phases that there are."""


def whole_run(
    algorithm: str,
    setting: Setting,
    attributes: int,
    epsilon: Fraction,
    runs: int,
    quick: int,
    delta: Fraction = Fraction(0),
) -> Subject:
    """Enrolment, every phase, every revealed sum and every selection of one run, charged to the ledgers."""
    worlds = [small_tables(world, setting, attributes) for world in (0, 1)]
    settings = ALL_PHASES.get(algorithm, {})

    def sample(world: int, count: int, source: Source) -> Seen:
        views: dict[str, list[list[float]]] = {name: [] for name in setting.observers()}
        charged = stated = epsilon
        paid = delta
        replaced = name_of(setting.at)
        for batch in range(count):
            consortium = RecordedConsortium(worlds[world], source, batch)
            plan = consortium.begin(
                consortium.spec(algorithm=algorithm, epsilon=epsilon, tolerate=setting.tolerate, delta=delta)
            )
            session = consortium.session(plan)
            asyncio.run(learn(session, algorithm, settings))
            charged = min(charged, consortium.parties[replaced].ledger.spent())
            paid = min(paid, consortium.parties[replaced].ledger.spent_delta(), session.record.delta(replaced))
            stated = min(stated, session.record.epsilon(replaced))
            revealed = _revealed_vectors(consortium, session.record.measured)
            chosen = _evidence_of_choices(consortium, worlds, setting)
            for name, group in setting.observers().items():
                shown = 0.0
                for round_, vector in zip(consortium.rounds.values(), revealed, strict=True):
                    left = remaining(vector, consortium, round_, group)
                    zero, one = (_counts(tables, round_, group) for tables in worlds)
                    shown += _evidence_of_round(left, zero, one, round_, shape_of(setting, group))
                views[name].append([shown + chosen, shown, chosen])
        return Seen({name: np.array(rows) for name, rows in views.items()}, charged, stated, paid)

    budget = f"eps {epsilon}, delta {delta}" if delta else f"eps {epsilon}"
    name = f"{budget}, {algorithm}, {attributes} attributes, {setting}"
    return Subject("whole run", name, epsilon, sample, runs, quick, delta)


def _revealed_vectors(consortium: RecordedConsortium, measured: Sequence[tuple[str, NoisyTable]]) -> list[np.ndarray]:
    """Of each round what was revealed, all cells one after another."""
    tables = iter(table for _, table in measured)
    return [
        np.concatenate([next(tables).counts.ravel() for _ in round_.query.weights])
        for round_ in consortium.rounds.values()
    ]


def _evidence_of_round(left: np.ndarray, zero: np.ndarray, one: np.ndarray, round_: Round, shape: Fraction) -> float:
    """What all cells of a round say; attributes are binary."""
    total, start = 0.0, 0
    assert isinstance(round_.query, Tables)
    for table, weight in zip(round_.query.marginals, round_.query.weights, strict=True):
        cells = slice(start, start + 2 ** len(table))
        total += float(table_evidence(left[cells], zero[cells], one[cells], round_.noise.law(weight), shape).sum())
        start = cells.stop
    return total


def _counts(tables: dict[str, CodedTable], round_: Round, group: Sequence[str]) -> np.ndarray:
    """True counts of the round's tables over the parties outside the group."""
    assert isinstance(round_.query, Tables)
    nothing = np.zeros(1, dtype=np.int64)
    parts = [
        answers_from_rows.noisy_counts(round_.query.marginals, InMemory(table), nothing)
        for name, table in tables.items()
        if name not in group
    ]
    return np.sum(parts, axis=0)


def _evidence_of_choices(
    consortium: RecordedConsortium, worlds: Sequence[dict[str, CodedTable]], setting: Setting
) -> float:
    """What the choices of the party with the replaced row say, by the law of the exponential mechanism."""
    total = 0.0
    for party, step, index in consortium.choices:
        if party != name_of(setting.at):
            continue
        logs = []
        for tables in worlds:
            scores, sensitivity = _scores(step, tables[party])
            scaled = scores * float(step.mechanism.epsilon) / (2 * sensitivity)
            logs.append(scaled[index] - np.log(np.exp(scaled - scaled.max()).sum()) - scaled.max())
        total += logs[0] - logs[1]
    return float(total)


def _scores(step: SelectionStep, table: CodedTable) -> tuple[np.ndarray, int]:
    """The candidates' scores as floats, and by how much a row moves one at most."""
    if isinstance(step, SelectTable):
        return answers_from_rows.distances(step.expected, answers_from_rows.TableCounts(InMemory(table))).astype(
            np.float64
        ), SENSITIVITY
    joints = contingency_tables(table, [c.marginal for c in step.candidates])
    scores = np.array([r_score(joint.reshape(joint.shape[0], -1)) for joint in joints], dtype=np.float64)
    return scores, answers_from_rows.selection_sensitivity(step.candidates, table.schema.derived.domain, table.rows)


WITHOUT_WHOLE_RUN = {
    "discover": "its tables are on grids of many cells, and the evidence is of binary attributes",
    "independent": "its parties reveal models, which no statistic looks at",
}
"""Algorithms of which no whole run is audited, and why."""


def run_subjects() -> list[Subject]:
    """Whole runs over 2 to 4 parties: at least one of each algorithm, but of those ``WITHOUT_WHOLE_RUN``."""
    eight = Fraction(8)
    return [
        whole_run("dp-subn", Setting((4, 5), 1, 0), 3, eight, 500, 50),
        whole_run("dp-subn", Setting((3, 4, 5), 2, 1), 2, eight, 300, 0),
        whole_run("dp-subn", Setting((3, 3, 4, 4), 2, 3), 2, eight, 250, 0),
        whole_run("one-way", Setting((3, 4), 1, 1), 2, Fraction(4), 1_000, 0),
        whole_run("privbayes", Setting((4, 5), 1, 0), 3, eight, 300, 0),
        whole_run("jtree", Setting((4, 5), 1, 0), 3, eight, 300, 0),
        whole_run("mst", Setting((4, 5), 1, 0), 3, eight, 300, 0),
        whole_run("aim", Setting((4, 5), 1, 0), 3, eight, 150, 0),
        whole_run("all-pairs", Setting((4, 5), 1, 0), 3, eight, 300, 0),
        whole_run("copula", Setting((4, 5), 1, 0), 3, eight, 300, 0),
        whole_run("copula", Setting((3, 4, 5), 2, 1), 3, Fraction(2), 300, 0, Fraction(1, 1000)),
        whole_run("privhd", Setting((3, 4, 5), 2, 1), 3, eight, 300, 0),
        whole_run("dp-ccbn", Setting((4, 5), 1, 0), 3, eight, 300, 0),
    ]
