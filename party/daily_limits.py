"""What the policy alone approved within the last day, and whether one run more is within its daily limits."""

from __future__ import annotations

import time
from fractions import Fraction

from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.common.storage.journal import Journal
from privity.party.policy import Approval, Policy

DAY_SECONDS = 86_400.0
KEPT = "#unasked/"


class ApprovedByPolicy:
    """Runs that this party took part in without asking a person, however they ended.

    Args:
        journal: the node's own. A clock that is set back forgets nothing.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def admits(self, policy: Policy, run: str, epsilon: Fraction) -> bool:
        """Whether the policy may approve this run, which may cost a person so much, without asking anybody."""
        if policy.approval is Approval.MANUAL:
            return False
        costs = self._costs()
        costs[run] = epsilon
        return all(
            limit is None or asked <= limit
            for asked, limit in (
                (len(costs), policy.runs_per_day),
                (sum(costs.values(), Fraction(0)), policy.epsilon_per_day),
            )
        )

    def entry(self, run: str, digest: str, epsilon: Fraction) -> tuple[str, str, bytes]:
        """What the journal keeps of a run that is approved now, in the transaction of its enrolment."""
        return f"{KEPT}{run}", digest, canonical_bytes({"epsilon": str(epsilon)})

    def forget_old(self) -> None:
        """Those of more than a day ago."""
        self._journal.drop(key for key in self._journal.keys(KEPT) if not self._counts(key))

    def _costs(self) -> dict[str, Fraction]:
        """Epsilon of each run of the last day."""
        stored = {key: self._journal.content(key) for key in self._journal.keys(KEPT) if self._counts(key)}
        return {
            key.removeprefix(KEPT): Fraction(parse(content)["epsilon"])
            for key, content in stored.items()
            if content is not None
        }

    def _counts(self, key: str) -> bool:
        at = self._journal.written(key)
        return at is not None and at > time.time() - DAY_SECONDS
