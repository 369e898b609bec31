"""What is audited: a mechanism or a protocol in two neighbouring worlds, seen by some observers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privity.assessment.audit.loss_estimate import Outcomes
from privity.common.privacy.random_bits import Entropy, SeededEntropy, SystemEntropy

Source = Callable[[str], Entropy]
"""Randomness by label: production noise is drawn from what it gives."""


def system_source(_label: str) -> Entropy:
    """The operating system's randomness: what production uses."""
    return SystemEntropy()


def seeded_source(seed: int) -> Source:
    """The same randomness at every call, for tests of the audit."""
    return lambda label: SeededEntropy(str(seed).encode(), label)


def generator(source: Source, label: str) -> np.random.Generator:
    """A numpy generator for what is no production noise: published variants and random worlds."""
    return np.random.default_rng(int.from_bytes(source(label).take(16), "big"))


@dataclass(frozen=True)
class Seen:
    """What the observers saw of many independent runs in one world.

    Attributes:
        views: by observer the outcomes, as `privity.assessment.audit.loss_estimate.lower_bound` takes them.
        charged: what the ledger of the party with the replaced row was charged for what is in one
            outcome; None where no ledger takes part.
        charged_delta: the same for delta; None: the subject's claim.
        stated: what the run's privacy statement says that it cost this party; None: the subject's claim.
    """

    views: Mapping[str, Outcomes]
    charged: Fraction | None = None
    stated: Fraction | None = None
    charged_delta: Fraction | None = None


@dataclass(frozen=True)
class Subject:
    """Something with a claim.

    Attributes:
        mechanism: the group that ``--mechanism`` selects.
        name: which case of it.
        claim: the epsilon that is claimed for one outcome.
        sample: (world 0 or 1, number of outcomes, randomness) -> what was seen.
        runs: outcomes per world of a full audit; quick_runs: of a quick one, 0 if it is left out.
        delta: what the claim grants; 0 for pure differential privacy.
    """

    mechanism: str
    name: str
    claim: Fraction
    sample: Callable[[int, int, Source], Seen]
    runs: int
    quick_runs: int = 0
    delta: Fraction = Fraction(0)
