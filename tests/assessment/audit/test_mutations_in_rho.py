"""Faults put into runs with an account in rho: each must turn the audit red, and none is there without it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privity.assessment.audit.auditor import audit
from privity.assessment.audit.protocols import Setting
from privity.assessment.audit.runs_in_zcdp import adaptive_rounds, selections_of_tables, series_of_selections
from privity.assessment.audit.subject import Subject, seeded_source
from privity.common.privacy.accountant import Accountant
from privity.common.privacy.discrete_gaussian import discrete_gaussian
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw
from privity.party.charged_releases import ChargedReleases

pytestmark = pytest.mark.statistical

THREE = adaptive_rounds(Setting((3, 4, 5), 1, 0), 2_400, 0)
TWO = adaptive_rounds(Setting((3, 3), 1, 0), 300, 0)
DRAWS = series_of_selections("one up, one down", Fraction(1, 5), 1_600, 0)
TABLES = selections_of_tables(240, 0)
FEW = 8


def findings(subject: Subject):
    return list(audit([subject], source=seeded_source(7), confirm=False))


def broken(subject: Subject) -> set[str]:
    return {f.observer for f in findings(subject) if f.bound.epsilon > f.claim}


@pytest.mark.long
@pytest.mark.parametrize("subject", [THREE, TWO, DRAWS, TABLES], ids=lambda s: f"{s.mechanism}: {s.name}")
def test_without_a_fault_every_claim_holds(subject: Subject) -> None:
    for finding in findings(subject):
        assert finding.holds, finding


@pytest.mark.long
def test_half_the_sigma(monkeypatch) -> None:
    def share(self, quota, size, entropy):
        assert self.name == GAUSSIAN
        return discrete_gaussian(self.scale / quota / 4, size, entropy)

    monkeypatch.setattr(NoiseLaw, "share", share)
    assert {"party-2", "party-3"} <= broken(THREE)


def test_a_party_that_skips_its_share(monkeypatch) -> None:
    """Of two parties the other one then sees exact counts."""
    share = ChargedReleases._new_share

    def lazy(self, round_, quota, label):
        drawn = share(self, round_, quota, label)
        return np.zeros_like(drawn) if self.party == "party-1" else drawn

    monkeypatch.setattr(ChargedReleases, "_new_share", lazy)
    assert "party-2" in broken(TWO)


def test_one_charge_for_two_rounds(monkeypatch) -> None:
    charge, settle = Ledger.charge, Ledger.settle
    for name, original in (("charge", charge), ("settle", settle)):

        def maybe(self, asked, *rest, original=original):
            return None if asked.step == "round/2-audit" else original(self, asked, *rest)

        monkeypatch.setattr(Ledger, name, maybe)
    assert not any(finding.paid for finding in findings(replace(TWO, runs=FEW)))


def test_rounds_that_are_charged_as_if_only_the_largest_counted(monkeypatch) -> None:
    """The sum of the rho forgotten: every line after the first one adds nothing."""
    monkeypatch.setattr(Accountant, "charged", _only_the_first)
    assert not any(finding.paid for finding in findings(replace(TWO, runs=FEW)))


def _only_the_first(self, loss, *rest, charged=Accountant.charged, **named):
    return self if self.rho else charged(self, loss, *rest, **named)


@pytest.mark.long
@pytest.mark.parametrize(
    "subject",
    [DRAWS, pytest.param(replace(TABLES, runs=2_400), marks=pytest.mark.long)],
    ids=["scores", "tables"],
)
def test_the_factor_two_of_a_selection_left_out(subject: Subject, monkeypatch) -> None:
    scale = lambda sensitivity, epsilon: Fraction(sensitivity) / epsilon  # noqa: E731
    monkeypatch.setattr("privity.common.privacy.exponential_mechanism.noisy_max_scale", scale)
    assert broken(subject) == {"public"}


def test_selections_of_tables_that_are_charged_as_one(monkeypatch) -> None:
    monkeypatch.setattr(Accountant, "charged", _only_the_first)
    assert not any(finding.paid for finding in findings(replace(TABLES, runs=FEW)))
