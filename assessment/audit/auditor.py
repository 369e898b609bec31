"""Run subjects through the estimate and say whether each claim holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from privity.assessment.audit.loss_estimate import Bound, lower_bound
from privity.assessment.audit.subject import Seen, Source, Subject, system_source


@dataclass(frozen=True)
class Finding:
    """One subject against one observer.

    Attributes:
        claim: the epsilon that is claimed, or stated by the run itself if that is less.
        charged: the epsilon that the ledger was charged; None where no ledger takes part.
        bound: lower confidence bound on the loss that was observed.
        runs: outcomes in each world.
        charged_delta: the delta that ledger and statement hold; the subject's where no ledger takes part.
    """

    subject: Subject
    observer: str
    claim: Fraction
    charged: Fraction | None
    bound: Bound
    runs: int
    charged_delta: Fraction = Fraction(0)

    @property
    def holds(self) -> bool:
        """Whether the loss that was shown stays within the claim, and the claim within what was charged."""
        return self.bound.epsilon <= self.claim and self.paid

    @property
    def paid(self) -> bool:
        """Whether the ledger was charged all that is claimed."""
        return (self.charged is None or self.charged >= self.claim) and self.charged_delta >= self.subject.delta


def audit(
    subjects: Sequence[Subject],
    *,
    quick: bool = False,
    source: Source = system_source,
    confirm: bool = True,
    progress: Callable[[Subject], None] = lambda _subject: None,
) -> Iterator[Finding]:
    """The findings of all subjects, one subject after another.

    A single bound lies above a true claim with probability at most 0.001. With ``confirm`` a subject
    whose bound is above the claim is run again on fresh samples, and of two bounds, each valid, the
    smaller one is reported: a false alarm has probability at most 10^-6.
    """
    for subject in subjects:
        runs = subject.quick_runs if quick else subject.runs
        if not runs:
            continue
        progress(subject)
        found = _audit_once(subject, runs, source, "first")
        if confirm and not all(finding.holds for finding in found):
            again = _audit_once(subject, runs, source, "second")
            found = [min(pair, key=lambda f: f.bound.epsilon) for pair in zip(found, again, strict=True)]
        yield from found


def _audit_once(subject: Subject, runs: int, source: Source, attempt: str) -> list[Finding]:
    def world(number: int) -> Seen:
        prefix = f"{subject.mechanism}/{subject.name}/{attempt}/{number}"
        return subject.sample(number, runs, lambda label: source(f"{prefix}/{label}"))

    zero, one = world(0), world(1)
    charged = min((seen.charged for seen in (zero, one) if seen.charged is not None), default=None)
    paid = min((seen.charged_delta for seen in (zero, one) if seen.charged_delta is not None), default=subject.delta)
    claim = min(subject.claim, *(seen.stated for seen in (zero, one) if seen.stated is not None), subject.claim)
    bound = partial(lower_bound, delta=float(subject.delta))
    return [
        Finding(subject, observer, claim, charged, bound(outcomes, one.views[observer]), runs, paid)
        for observer, outcomes in zero.views.items()
    ]
