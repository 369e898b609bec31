"""Everything that ``privity audit`` audits."""

from __future__ import annotations

from privity.assessment.audit.algorithm_runs import run_subjects
from privity.assessment.audit.discovered_domains import discovery_subjects
from privity.assessment.audit.histories import history_subjects
from privity.assessment.audit.input_paths import input_subjects
from privity.assessment.audit.mechanisms import mechanism_subjects
from privity.assessment.audit.protocols import protocol_subjects
from privity.assessment.audit.runs_in_zcdp import concentrated_subjects
from privity.assessment.audit.subject import Subject


def all_subjects() -> list[Subject]:
    """Mechanisms by themselves, rounds and selections over several parties, whole runs, and files of every kind."""
    subjects = [*mechanism_subjects(), *protocol_subjects(), *concentrated_subjects(), *run_subjects()]
    return [*subjects, *input_subjects(), *history_subjects(), *discovery_subjects()]


def mechanisms() -> list[str]:
    """What ``--mechanism`` may name."""
    return list(dict.fromkeys(subject.mechanism for subject in all_subjects()))
