"""Everything that ``privity audit`` audits."""

from __future__ import annotations

from privity.deploy.audit.concentrated import concentrated_subjects
from privity.deploy.audit.inputs import input_subjects
from privity.deploy.audit.mechanisms import mechanism_subjects
from privity.deploy.audit.protocols import protocol_subjects
from privity.deploy.audit.runs import run_subjects
from privity.deploy.audit.subject import Subject


def all_subjects() -> list[Subject]:
    """Mechanisms by themselves, rounds and selections over several parties, whole runs, and files of every kind."""
    subjects = [*mechanism_subjects(), *protocol_subjects(), *concentrated_subjects(), *run_subjects()]
    return [*subjects, *input_subjects()]


def mechanisms() -> list[str]:
    """What ``--mechanism`` may name."""
    return list(dict.fromkeys(subject.mechanism for subject in all_subjects()))
