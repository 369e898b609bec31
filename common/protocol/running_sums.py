"""The schedule of a running sum: which updates are revealed, and with which share of the budget.

Party after party adds its rows to a running sum under encryption. Some rounds decrypt it after the first k
parties, under one noise that all parties share; at the next such round that noise leaves the sum and a new one
enters, inside the encryption. Every such round is charged to every party whose rows are in the sum, so with
weights that add up to 1 the first party pays epsilon in all and later ones pay less.

Source: Su, Tang, Cheng, Chen, Wu (ICDE 2016), section VI-A, structure updating. Deviations: the noise of a
round is shared by all K parties, not one party's own; rounds are charged as they add up (as published,
party j loses (K-j+1) epsilon for a claimed epsilon).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction

from privity.common.data.noisy_tables import NoisyTables
from privity.common.privacy.budget import exact_number
from privity.common.privacy.run_budget import Share
from privity.common.protocol.round import Replacement, Round, Tables

SCHEDULES = ("final", "uniform", "back-loaded")


def parse_schedule(text: str) -> tuple[Fraction, ...] | None:
    """Weights from ``w1,...,wK``; None for a schedule by name.

    Raises:
        ValueError: neither a name nor weights that are at least 0, add up to 1 and end above 0.
    """
    if text in SCHEDULES:
        return None
    weights = tuple(exact_number(share.strip()) for share in text.split(","))
    if sum(weights) != 1 or weights[-1] == 0:
        raise ValueError("weights of a schedule must add up to 1, and the last one be above 0")
    return weights


def schedule_weights(text: str, parties: int) -> tuple[Fraction, ...]:
    """One weight a party: the share of the budget with which the sum is revealed after that party.

    ``final`` reveals once, over all parties; ``uniform`` after each party alike; ``back-loaded`` after each
    party with twice the weight of the one before.

    Raises:
        ValueError: weights that are not one for each party.
    """
    given = parse_schedule(text)
    if given is not None:
        if len(given) != parties:
            raise ValueError(f"the schedule has {len(given)} weights for {parties} parties")
        return given
    if text == "uniform":
        return (Fraction(1, parties),) * parties
    if text == "back-loaded":
        return tuple(Fraction(2**k, 2**parties - 1) for k in range(parties))
    return (*(Fraction(0),) * (parties - 1), Fraction(1))


class RunningSums:
    """``session.running_sums(...)``: one revealed sum after another, in the order of the parties.

    Args:
        name: prefix of the rounds' names, unique within the run.
        weights: one a party, exact, together 1.
        reveal_round: reveals one round for its share, and charges it.
        quota: of how many shares a whole noise consists.
    """

    def __init__(
        self,
        run: str,
        phase: str,
        name: str,
        query: Tables,
        share: Share,
        weights: Sequence[Fraction],
        reveal_round: Callable[[Round, Share], Awaitable[NoisyTables]],
        quota: int = 1,
    ) -> None:
        after = [k for k, weight in enumerate(weights, start=1) if weight]
        self._shares = share.split([weight for weight in weights if weight])
        noises = [part.noise(query, quota) for part in self._shares]
        widest = max(noise.scale for noise in noises)
        self.rounds: list[Round] = []
        for place, (coverage, noise) in enumerate(zip(after, noises, strict=True)):
            replacement = None
            # A sum that is revealed once, over all, is a round like any other.
            if len(after) > 1:
                replacement = Replacement(
                    coverage=coverage,
                    previous=self.rounds[-1].round if place else None,
                    previous_coverage=after[place - 1] if place else 0,
                    widest=widest,
                    last=place == len(after) - 1,
                )
            self.rounds.append(Round(run, phase, f"{name}/{coverage}", noise, replacement))
        self._next = 0
        self._reveal_round = reveal_round

    def __len__(self) -> int:
        return len(self.rounds)

    async def reveal_next(self) -> NoisyTables:
        """The next revealed sum: noisy marginals of the rows of the first parties, as many as it covers."""
        if self._next >= len(self.rounds):
            raise RuntimeError(f"only {len(self.rounds)} sums were declared")
        place, self._next = self._next, self._next + 1
        return await self._reveal_round(self.rounds[place], self._shares[place])
