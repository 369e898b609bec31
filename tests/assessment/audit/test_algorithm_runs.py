"""Which algorithms the audit runs as a whole."""

from __future__ import annotations

from privity.assessment.audit.algorithm_runs import WITHOUT_WHOLE_RUN, run_subjects
from privity.common.synthesis.algorithms import ALGORITHMS


def test_every_algorithm_has_a_whole_run_in_the_audit_or_a_reason_to_have_none() -> None:
    names = [subject.name for subject in run_subjects()]
    audited = {name for name in ALGORITHMS if any(f", {name}, " in case for case in names)}
    assert audited.isdisjoint(WITHOUT_WHOLE_RUN)
    assert audited | {*WITHOUT_WHOLE_RUN} == {*ALGORITHMS}, "add a line to run_subjects (algorithm_runs.py)"
