"""Charged releases: charge, draw the noise, look at the rows, store the answer; in this order, once.

Every noisy answer about the rows is made here, for the network and for a single party alike.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from common.journal import Journal
from common.privacy.entropy import Entropy, SystemEntropy
from common.privacy.ledger import Allowance, Charge, Ledger
from common.privacy.noise import noise_share
from common.privacy.selection import draw_selection_noise
from common.protocol.limits import count_cells
from common.protocol.steps import Round, Select, step_digest
from common.table import CodedTable
from party import handlers

EntropySource = Callable[[str], Entropy]


def system_entropy(_label: str) -> Entropy:
    """Noise from the operating system's randomness: the only source outside tests."""
    return SystemEntropy()


class ChargedReleases:
    """The rows of one owner behind its ledger and its journal.

    Args:
        entropy: gives the randomness for a step by its label; tests pass a seeded one.
    """

    def __init__(
        self,
        party: str,
        table: CodedTable,
        journal: Journal,
        ledger: Ledger,
        entropy: EntropySource = system_entropy,
    ) -> None:
        self.party = party
        self.rows = table.rows
        self.schema = table.schema
        self.journal = journal
        self.ledger = ledger
        self._table = table
        self._entropy = entropy

    def noisy_vector(self, round_: Round, quota: int, allowance: Allowance) -> np.ndarray:
        """Counts of the round's tables plus this party's noise share; the same at every repetition.

        Args:
            quota: q = K - t; any q parties' shares sum to a discrete Laplace variable of the scale.
        Returns:
            int64 of shape (cells,).
        """
        label = f"{round_.run}/vector/{round_.round}"
        stored = self.journal.recall(label, round_.digest)
        if stored is None:
            self._charge(round_.run, f"round/{round_.round}", round_.epsilon, allowance)
            cells = count_cells(round_.tables, self.schema.domain)
            noise = noise_share(round_.scale, quota, cells, self._entropy(label))
            vector = handlers.noisy_counts(round_.tables, self._table, noise)
            stored = self.journal.record(label, round_.digest, vector.astype("<i8").tobytes())
        return np.frombuffer(stored, dtype="<i8").astype(np.int64)

    def select(self, step: Select, allowance: Allowance) -> int:
        """Index of the chosen candidate; the same at every repetition."""
        label, digest = f"{step.run}/choice/{step.draw}", step_digest(step)
        stored = self.journal.recall(label, digest)
        if stored is None:
            self._charge(step.run, step.key, step.epsilon, allowance)
            sensitivity = handlers.selection_sensitivity(step.candidates, self.schema.domain, self.rows)
            noise = draw_selection_noise(len(step.candidates), sensitivity, step.epsilon, self._entropy(label))
            index = handlers.select_pair(step.candidates, self._table, noise)
            stored = self.journal.record(label, digest, str(index).encode())
        return int(stored)

    def _charge(self, run: str, step: str, epsilon: Fraction, allowance: Allowance) -> None:
        charge = Charge(self.journal.identity, run, step, epsilon)
        self.ledger.charge(charge, allowance, self.party)

    def forget(self, run: str) -> None:
        """Erase a finished run's vectors and answers; no step of it is answered again."""
        self.journal.erase(f"{run}/")
