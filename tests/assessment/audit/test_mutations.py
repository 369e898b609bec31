"""Faults put into production code on purpose: each must turn the audit red.

Every case is first audited as it stands, with the same samples, and must hold: so it is the fault that
the audit finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from privity.assessment.audit.algorithm_runs import whole_run
from privity.assessment.audit.auditor import Finding, audit
from privity.assessment.audit.discovered_domains import discovered_categories
from privity.assessment.audit.mechanisms import (
    advanced_laplace,
    discrete_laplace,
    noisy_max_pattern,
    score_sensitivity,
    thresholded,
)
from privity.assessment.audit.protocols import (
    Setting,
    exchanged_tables,
    network_distances,
    network_selection,
    one_round,
    repeated_round,
    scored_release,
    two_rounds,
)
from privity.assessment.audit.subject import Subject, seeded_source
from privity.common.errors import PrivityError
from privity.common.privacy.accountant import Accountant
from privity.common.privacy.discrete_laplace import noise_share
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.mechanisms import AdvancedLaplaceNoise, LaplaceNoise
from privity.common.privacy.neighbouring_relation import Relation
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.sensitivity import CELLS_MOVED, Sensitivity
from privity.common.privacy.structure_scores import SCORES
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.evaluation_scores import TreeScore
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.round import Round, Scores
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.secure_sum_method import MASKS
from privity.party.answers_from_rows import noisy_counts
from privity.party.charged_releases import ChargedReleases
from tests.harness.long import long_but

pytestmark = pytest.mark.statistical

ONE = Fraction(1)
FIRST, SECOND = Setting((3, 3), 1, 0), Setting((3, 3), 1, 1)
ROUND = one_round(FIRST, ONE, 1_200, 0)
THREE = one_round(Setting((3, 4, 5), 1, 0), ONE, 3_000, 0)
REPEATED = repeated_round(FIRST, ONE, 1_200, 0)
EXCHANGED = exchanged_tables(Setting((3, 4, 5), 1, 0, MASKS), ONE, 1_200, 0)
TWO = two_rounds(FIRST, ONE, 300, 0)
SCORES_OPENED = scored_release(FIRST, ONE, 1_200, 0)
LAPLACE = discrete_laplace(ONE, 2_000, 0)
DRAWS = network_selection(Setting((10, 30), 1, 0), ONE, 320, 0)
DISTANCES = network_distances(Setting((8, 10, 40), 1, 1), ONE, 320, 0)
NOISY_MAX = noisy_max_pattern("one up, one down", ONE, 1_500, 0)
THRESHOLDED = thresholded(2, Fraction(2), Fraction(1, 1000), 4_000, 0)
ADVANCED = advanced_laplace(20, ONE, Fraction(1, 1000), 20_000, 0)
CATEGORIES = discovered_categories(2, Fraction(2), Fraction(1, 1000), 60, 0)
SCORE = score_sensitivity("R", False, 40_000, 0)
RUN = whole_run("dp-subn", Setting((4, 5), 1, 0), 3, Fraction(2), 12, 0)
FEW = 8


def observers(subject: Subject) -> set[str]:
    return set(findings(replace(subject, runs=FEW)))


def findings(subject: Subject) -> dict[str, Finding]:
    return {f.observer: f for f in audit([subject], source=seeded_source(7), confirm=False)}


def broken(subject: Subject) -> set[str]:
    """Observers against whom more loss than claimed was shown."""
    return {name for name, f in findings(subject).items() if f.bound.epsilon > f.claim}


def unpaid(subject: Subject) -> set[str]:
    """Observers whose loss was not all charged; any few runs show it."""
    return {name for name, f in findings(replace(subject, runs=FEW)).items() if not f.paid}


@pytest.mark.long
@pytest.mark.parametrize(
    "subject",
    [
        ROUND,
        THREE,
        REPEATED,
        EXCHANGED,
        TWO,
        SCORES_OPENED,
        LAPLACE,
        DRAWS,
        DISTANCES,
        NOISY_MAX,
        SCORE,
        RUN,
        THRESHOLDED,
        ADVANCED,
        CATEGORIES,
    ],
    ids=lambda s: f"{s.mechanism}: {s.name}",
)
def test_without_a_fault_every_claim_holds(subject: Subject) -> None:
    assert all(finding.holds for finding in findings(subject).values())


@pytest.fixture
def acting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The party whose vector is being made, as the last element."""
    stack = [""]
    keep_vector = ChargedReleases.keep_vector

    def noting(self: ChargedReleases, *arguments, **options):
        stack.append(self.party)
        try:
            return keep_vector(self, *arguments, **options)
        finally:
            stack.pop()

    monkeypatch.setattr(ChargedReleases, "keep_vector", noting)
    return stack


@pytest.mark.parametrize("lazy", ["party-1", pytest.param("party-2", marks=pytest.mark.long)])
def test_a_party_that_skips_its_share(lazy: str, acting, monkeypatch) -> None:
    """Of two parties the other one then sees exact counts."""

    def share(scale, quota, cells, entropy):
        if acting[-1] == lazy:
            return np.zeros(cells, dtype=np.int64)
        return noise_share(scale, quota, cells, entropy)

    monkeypatch.setattr("privity.common.privacy.noise_distribution.noise_share", share)
    other = "party-2" if lazy == "party-1" else "party-1"
    subject = ROUND if lazy == "party-1" else one_round(SECOND, ONE, 1_200, 0)
    assert other in broken(subject)
    (finding,) = [f for f in findings(subject).values() if f.observer == other]
    assert finding.bound.rarely == 0


def test_a_share_that_is_used_for_two_rounds(acting, monkeypatch) -> None:
    """The noise falls out of the difference of the two openings, for everybody."""
    kept: dict[tuple[str, int], np.ndarray] = {}

    def begin_anew(sample):
        def fresh(*arguments):
            kept.clear()
            return sample(*arguments)

        return fresh

    def share(scale, quota, cells, entropy):
        return kept.setdefault((acting[-1], cells), noise_share(scale, quota, cells, entropy))

    monkeypatch.setattr("privity.common.privacy.noise_distribution.noise_share", share)
    subject = replace(TWO, sample=begin_anew(TWO.sample))
    assert broken(subject) == {"public, curator", "party-2"}


def test_a_share_that_is_taken_out_of_other_tables(monkeypatch) -> None:
    """The noise of one table hides many, at the price of one."""
    widest = lambda round_, coverage: f"{coverage} {round_.replacement.widest}"  # noqa: E731
    monkeypatch.setattr(Round, "series", widest)
    assert broken(EXCHANGED) == {"public, curator", "party-2", "party-3"}


@pytest.mark.long
def test_a_fresh_share_when_a_round_is_repeated(monkeypatch) -> None:
    """Two independent noises on the same counts, for one charge."""
    vector_part = ChargedReleases.vector_part
    drawn = count()

    def part_anew(self, round_, quota, position, cells):
        if self.party != "party-1":
            return vector_part(self, round_, quota, position, cells)
        entropy = SeededEntropy(b"anew", str(next(drawn)))
        share = round_.noise.sample(round_.query.cells(self.schema.derived.domain), quota, entropy)
        return noisy_counts(round_.query.marginals, self._rows, share)[cells]

    monkeypatch.setattr(ChargedReleases, "vector_part", part_anew)
    assert "party-2" in broken(replace(REPEATED, runs=2_250))


@pytest.mark.parametrize("subject", long_but([LAPLACE], [ROUND, LAPLACE]), ids=["round", "one owner"])
def test_half_the_sensitivity_of_tables(subject: Subject, monkeypatch) -> None:
    """As if a replaced row moved one cell of a table: half the scale for the same charge."""
    monkeypatch.setitem(CELLS_MOVED, Relation.REPLACE_ONE, 1)
    assert broken(subject)


def test_noise_of_half_the_scale_that_is_charged(monkeypatch) -> None:
    law = LaplaceNoise.law
    monkeypatch.setattr(LaplaceNoise, "law", lambda self, weight: law(self, 2 * weight))
    assert broken(LAPLACE)


def test_advanced_composition_of_half_the_scale(monkeypatch) -> None:
    law = AdvancedLaplaceNoise.law
    monkeypatch.setattr(AdvancedLaplaceNoise, "law", lambda self, weight: law(self, 4 * weight))
    assert broken(ADVANCED)


def test_categories_of_half_the_epsilon_are_not_paid_for(monkeypatch) -> None:
    loss = ThresholdedCounts.loss
    monkeypatch.setattr(
        ThresholdedCounts, "loss", lambda self, *rest: replace(whole := loss(self, *rest), epsilon=whole.epsilon / 2)
    )
    assert unpaid(CATEGORIES) == observers(CATEGORIES)


def test_a_mechanism_that_states_half_its_loss_is_not_paid_for(monkeypatch) -> None:
    loss = LaplaceNoise.loss
    monkeypatch.setattr(
        LaplaceNoise, "loss", lambda self, *rest: replace(whole := loss(self, *rest), epsilon=whole.epsilon / 2)
    )
    assert unpaid(LAPLACE) == observers(LAPLACE)


@pytest.mark.long
def test_half_the_scale_of_scores(monkeypatch) -> None:
    """As if only one of all scores of a round changed with a row, or each by a half."""
    half = lambda self, norm, relation: Sensitivity(Fraction(1, 2), norm, relation).times(len(self.scores))  # noqa: E731
    monkeypatch.setattr(Scores, "sensitivity", half)
    assert broken(SCORES_OPENED)


@pytest.mark.long
def test_a_score_that_counts_rows_of_several_leaves(monkeypatch) -> None:
    """A replaced row that gets to two leaves changes the score by two."""
    leaves = TreeScore.leaves
    monkeypatch.setattr(TreeScore, "leaves", lambda self: [*leaves(self), *leaves(self)])
    assert broken(SCORES_OPENED)


@pytest.mark.long
def test_shares_for_k_parties_where_t_may_subtract_theirs(monkeypatch) -> None:
    """Shape 1/K for 1/(K-t): less than one noise is left for a party that knows its share."""
    monkeypatch.setattr(RunPlan, "noise_quota", property(lambda plan: plan.parties))
    assert "party-2" in broken(replace(ROUND, runs=6_000))


@pytest.mark.parametrize("axis", [0, 1], ids=["all columns", "all texts"])
def test_one_noise_for_all_columns_or_all_texts(axis: int, monkeypatch) -> None:
    """Each count has the noise that is claimed, and two of them have it in common."""
    sample = ThresholdedCounts.sample

    def shared(self, rows, entropy):
        drawn = sample(self, rows, entropy)
        if axis == 0:
            return np.repeat(drawn[:1], len(drawn), axis=0)
        return np.repeat(drawn[:, ::2], 2, axis=1)

    monkeypatch.setattr(ThresholdedCounts, "sample", shared)
    assert broken(THRESHOLDED)


@pytest.mark.parametrize(
    "subject",
    long_but([NOISY_MAX], [NOISY_MAX, replace(DRAWS, runs=1_280), DISTANCES]),
    ids=["scores", "pairs", "tables"],
)
def test_the_factor_two_of_a_selection_left_out(subject: Subject, monkeypatch) -> None:
    scale = lambda sensitivity, epsilon: Fraction(sensitivity) / epsilon  # noqa: E731
    monkeypatch.setattr("privity.common.privacy.noisy_max.noisy_max_scale", scale)
    assert broken(subject)


@pytest.mark.long
def test_the_global_n_for_the_rows_of_one_party(monkeypatch) -> None:
    """R of n_k rows moves by 2(n_k - 1)/n_k^2, not by 2(n - 1)/n^2: as integers, 2 n_k^2 times that."""

    def of_all_rows(_candidates, _domain, rows, _score):
        everybody = 40
        return 4 * rows * rows * (everybody - 1) // everybody**2

    monkeypatch.setattr("privity.party.charged_releases.answers_from_rows.selection_sensitivity", of_all_rows)
    assert broken(replace(DRAWS, runs=400))


@pytest.mark.long
def test_half_the_sensitivity_of_a_distance(monkeypatch) -> None:
    monkeypatch.setattr("privity.common.privacy.mechanisms._move", lambda sensitivity: sensitivity.value / 2)
    assert broken(replace(DISTANCES, runs=600))


@pytest.mark.long
def test_distances_in_rows_of_all_parties(monkeypatch) -> None:
    """The distance times n instead of n_k moves by n/n_k with a row."""
    everybody, of_one = 58, 10
    scores = ExpectedTables.scores
    monkeypatch.setattr(ExpectedTables, "scores", lambda self, own, rows: scores(self, own, rows) * everybody // of_one)
    assert broken(DISTANCES)


def test_the_binary_sensitivity_for_wider_domains(monkeypatch) -> None:
    narrow = replace(SCORES["R"], sensitivity=lambda rows, _x, _parents: 4 * (rows - 1))
    monkeypatch.setitem(SCORES, "R", narrow)
    assert broken(SCORE)


def test_the_sensitivity_of_f_for_r(monkeypatch) -> None:
    """S(F) = 1/n is 2n in units of the integer score R."""
    monkeypatch.setitem(SCORES, "R", replace(SCORES["R"], sensitivity=lambda rows, _x, _parents: 2 * rows))
    assert broken(SCORE)


def test_bits_for_nats(monkeypatch) -> None:
    """The score I is in bits: a sensitivity in nats is too small by a factor of 0.69."""
    subject = score_sensitivity("I", True, 40_000, 0)
    assert not broken(subject)
    right = SCORES["I"].sensitivity
    wrong = replace(SCORES["I"], sensitivity=lambda *sizes: int(right(*sizes) * 0.6931))
    monkeypatch.setitem(SCORES, "I", wrong)
    assert broken(subject)


@pytest.fixture
def without_charges(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Charges whose step begins with one of these are not made, and the ledger asks no questions."""
    left_out: list[str] = []
    charge, settle = Ledger.charge, Ledger.settle

    def some(original):
        def maybe(self, asked, *rest):
            return None if asked.step.startswith(tuple(left_out)) else original(self, asked, *rest)

        return maybe

    monkeypatch.setattr(Ledger, "charge", some(charge))
    monkeypatch.setattr(Ledger, "settle", some(settle))
    return left_out


@pytest.mark.parametrize(
    ("subject", "step"),
    [
        (ROUND, "round/"),
        (LAPLACE, "round/"),
        (DRAWS, "select/"),
        (DISTANCES, "select/"),
        pytest.param(RUN, "round/1-", marks=pytest.mark.long),
        pytest.param(RUN, "select/", marks=pytest.mark.long),
        (TWO, "round/2"),
    ],
    ids=["round", "one owner", "draws", "tables", "run: first round", "run: draws", "second round"],
)
def test_a_charge_that_is_skipped(subject: Subject, step: str, without_charges) -> None:
    without_charges.append(step)
    assert unpaid(subject) == observers(subject)


@pytest.mark.long
def test_a_delta_that_is_not_charged(monkeypatch) -> None:
    subject = whole_run("copula", FIRST, 2, ONE, 10, 0, Fraction(1, 1000))
    assert not broken(subject)
    amount = Accountant.spent.fget
    monkeypatch.setattr(Accountant, "spent", property(lambda self: replace(amount(self), delta=Fraction(0))))
    assert unpaid(subject) == observers(subject)


def test_a_charge_that_is_skipped_alone_is_met_by_the_ledger(monkeypatch) -> None:
    """No answer leaves without its charge: the ledger has nothing to settle it against."""
    monkeypatch.setattr(Ledger, "charge", lambda *_arguments: None)
    with pytest.raises(PrivityError, match="no charge"):
        findings(LAPLACE)
