"""The tasks of the papers: questions about each table that a classifier answers from its other attributes."""

from __future__ import annotations

from privity.common.release.evaluation.classifier_utility import Task

DEGREES = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")

TASKS: dict[str, tuple[Task, ...]] = {
    "nltcs": (
        Task("outside", "getting about outside", (1,)),
        Task("money", "managing money", (1,)),
        Task("bathing", "bathing", (1,)),
        Task("traveling", "traveling", (1,)),
    ),
    "adult": (
        Task("sex", "sex", ("Female",)),
        Task("income", "income", (">50K",)),
        Task("education", "education", DEGREES, ("education-num",)),
        Task("marital", "marital-status", ("Never-married",)),
    ),
}
"""The four tasks of Zhang et al. (TODS 2017) for each table."""
