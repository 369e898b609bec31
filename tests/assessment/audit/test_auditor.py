"""The quick audit of everything, seeded; and the command around it."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import privity.interfaces.cli.audit as command
from privity.assessment.audit.auditor import audit
from privity.assessment.audit.catalogue import all_subjects, mechanisms
from privity.assessment.audit.findings import as_markdown
from privity.assessment.audit.mechanisms import mechanism_subjects
from privity.assessment.audit.runs_in_zcdp import concentrated_subjects
from privity.assessment.audit.subject import Subject, seeded_source, system_source
from privity.common.privacy.mechanisms import Mechanism
from privity.interfaces.cli.main import app
from tests.harness.long import long_but

pytestmark = pytest.mark.statistical

ALL = all_subjects()
QUICK = [s for s in ALL if s.quick_runs]
SHORT = [s for s in QUICK if s.mechanism in {
    "score F", "score I", "score R", "shares", "input", "noisy max", "discrete laplace", "discrete gaussian",
    "repeated round", "rounds in rho", "thresholded counts", "advanced composition", "categories",
} or s.name in {"eps 1, K=3, t=1, row at party-1, masks", "eps 1, one owner, 2 tables"}]  # fmt: skip
"""Audited in ``make test``. Every mechanism is run there once (below); each has its fault in test_mutations.py."""


def quickly(subject: Subject):
    """A third of the runs of ``--quick``; test_mutations.py has as many as a fault needs to show."""
    # No fresh second try: the seed is fixed, so what holds once holds always.
    fewer = replace(subject, quick_runs=max(8, subject.quick_runs // 3))
    return list(audit([fewer], quick=True, source=seeded_source(1), confirm=False))


@pytest.mark.parametrize("subject", long_but(SHORT, QUICK), ids=lambda s: f"{s.mechanism}: {s.name}")
def test_no_claim_is_contradicted(subject: Subject) -> None:
    for finding in quickly(subject):
        assert finding.holds, (finding.observer, finding.bound, finding.charged)
        assert finding.charged is None or finding.charged == finding.claim


@pytest.mark.parametrize("mechanism", sorted({s.mechanism for s in ALL}))
def test_every_case_runs_on_the_noise_of_the_command(mechanism: str) -> None:
    """A party's vector cannot be drawn again there: what an observer knows must have been kept."""
    subject = min((s for s in ALL if s.mechanism == mechanism and s.quick_runs), key=lambda s: s.quick_runs)
    assert all(len(view) == 2 for view in subject.sample(1, 2, system_source).views.values())


def test_every_mechanism_has_a_quick_case() -> None:
    assert {s.mechanism for s in ALL if s.quick_runs} == set(mechanisms())
    assert len({(s.mechanism, s.name) for s in ALL}) == len(ALL)


def concrete(kind: type[Mechanism]) -> set[type[Mechanism]]:
    below = {found for each in kind.__subclasses__() for found in concrete(each)}
    return below if inspect.isabstract(kind) else below | {kind}


def test_every_mechanism_of_production_is_drawn_from_by_a_case(monkeypatch) -> None:
    """A new subclass has no case until it is given one."""
    drawn: set[type[Mechanism]] = set()
    for kind in concrete(Mechanism):
        monkeypatch.setattr(kind, "sample", noting(kind.sample, drawn))
    for subject in (*mechanism_subjects(), *concentrated_subjects()):
        if not drawn >= concrete(Mechanism):
            subject.sample(0, 1, seeded_source(1))
    assert drawn == concrete(Mechanism)
    assert {"ThresholdedCounts", "AdvancedLaplaceNoise"} <= {kind.__name__ for kind in drawn}


def noting(sample, drawn: set[type[Mechanism]]):
    def noted(self, *arguments):
        drawn.add(type(self))
        return sample(self, *arguments)

    return noted


def test_the_observers_of_privacy_md_are_all_there() -> None:
    (subject,) = [s for s in ALL if s.mechanism == "secure sum" and "K=4, t=2" in s.name]
    seen = set(subject.sample(0, 8, seeded_source(1)).views)
    assert {"public, curator", "party-2", "party-4", "party-2 + party-3", "party-3 + party-4"} <= seen
    assert not any("party-1" in observer for observer in seen)


def test_the_same_seed_gives_the_same_findings() -> None:
    (subject,) = [s for s in ALL if s.mechanism == "shares" and s.quick_runs]
    assert [f.bound for f in quickly(subject)] == [f.bound for f in quickly(subject)]


def test_a_broken_claim_is_told_with_exit_code_1(monkeypatch, tmp_path) -> None:
    (subject,) = [s for s in ALL if s.mechanism == "shares" and s.quick_runs]
    false = Subject(subject.mechanism, "half the claim", Fraction(1, 2), subject.sample, 0, 20_000)
    monkeypatch.setattr(command, "all_subjects", lambda: [false])
    out = tmp_path / "findings.json"
    result = CliRunner().invoke(app, ["audit", "--quick", "--mechanism", "shares", "--json", str(out)])
    assert result.exit_code == 1
    assert "BROKEN" in result.output
    (finding,) = json.loads(out.read_text())["findings"]
    assert finding["holds"] is False
    assert finding["claimed_epsilon"] == "1/2"
    assert finding["observed_epsilon_at_least"] > 0.5


def test_the_command_on_one_mechanism() -> None:
    result = CliRunner().invoke(app, ["audit", "--quick", "--mechanism", "score R"])
    assert result.exit_code == 0, result.output
    assert "None of 2 claims was contradicted" in result.output


def test_an_unknown_mechanism_is_refused() -> None:
    result = CliRunner().invoke(app, ["audit", "--mechanism", "magic"])
    assert "noisy max" in str(result.exception)


def test_markdown_has_a_line_for_each_finding() -> None:
    (subject,) = [s for s in ALL if s.mechanism == "shares" and s.quick_runs]
    text = as_markdown(quickly(subject))
    assert len(text.splitlines()) == 3
    assert "| shares |" in text
