"""The plan of a run by phase: epsilon, cells, ciphertexts, bytes, seconds, and the error that the noise will make."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2

from privity.common.crypto.fixed_base import MANY, comb_for
from privity.common.crypto.packing import Layout, slot_width
from privity.common.crypto.residues import SHORT_BITS, Exponents
from privity.common.data.noisy_tables import NoisyTable
from privity.common.protocol.combiner_tree import combiners_needed
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.secure_sum_method import SumKind
from privity.common.protocol.session import Session
from privity.common.synthesis.inference.pooled_estimates import excess_of, noise_distance

CORES = 2
"""Of each machine that the seconds are for."""

SAMPLE_PRODUCTS, SAMPLE_POWERS = 2_000, 5

CELL_SECONDS, RELAYED_SECONDS = 3e-7, 1.7e-8
"""What a party takes to count a cell, draw its noise and keep it, and what the curator takes for a byte that passes it,
each on one core (docs/benchmarks/secure_sums.md)."""


@dataclass(frozen=True)
class PhasePlan:
    """One phase of a run.

    Attributes:
        epsilon, delta: that it costs the party that pays most, for one row: of a run with a budget in rho what it
            adds to what the phases before it cost.
        rho: that it costs of that account; 0 without one.
        mechanisms: in words.
        selections: selections by the exponential mechanism, all parties together.
        tables, cells: that are revealed; ciphertexts: that one party sends; bytes: that one party sends.
        relayed: bytes that pass the curator, both ways, all parties together.
        seconds: of sums, on machines of two cores like this one.
        error: total variation distance of one noisy marginal from its true counts that its noise alone is expected to
            make, the mean over the tables; at most 1. None if no table is revealed.
    """

    phase: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    mechanisms: tuple[str, ...]
    selections: int
    tables: int
    cells: int
    ciphertexts: int
    bytes: int
    relayed: int
    seconds: float
    error: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "rho": str(self.rho),
            "mechanisms": list(self.mechanisms),
            "seconds": round(self.seconds, 2),
            "error": None if self.error is None else round(self.error, 5),
        }


@dataclass(frozen=True)
class Arithmetic:
    """Seconds of a product modulo n^2 and of a power modulo p^2, on this machine."""

    product: float
    power: float

    @classmethod
    def measured(cls, key_bits: int) -> Arithmetic:
        """A few hundredths of a second of trying. Whatever else the machine does meanwhile does not count."""
        modulus = _full_number(2 * key_bits)
        number, started = modulus * 5 // 7, time.thread_time()
        product = number
        for _ in range(SAMPLE_PRODUCTS):
            product = product * number % modulus
        between = time.thread_time()
        half, exponent = _full_number(key_bits), _full_number(key_bits // 2)
        for _ in range(SAMPLE_POWERS):
            gmpy2.powmod(number % half, exponent, half)
        ended = time.thread_time()
        return cls((between - started) / SAMPLE_PRODUCTS, (ended - between) / SAMPLE_POWERS)


def _full_number(bits: int) -> gmpy2.mpz:
    """An odd number of so many bits with nothing special to it: a power of three, and two more."""
    return gmpy2.mpz(3) ** int(bits / math.log2(3)) + 2


def products(kind: Exponents, key_bits: int) -> int:
    """Modular products that encrypt one plaintext, or re-randomise one (docs/performance.md)."""
    if kind is Exponents.FULL:
        # A square for each bit, and a product for every six: no table serves bases that are never the same.
        return key_bits + key_bits // 6
    return comb_for(SHORT_BITS if kind is Exponents.SHORT else key_bits // 2, MANY).products + 1


class Planner:
    """What the rounds of a run take. One party alone sends nothing and encrypts nothing.

    Args:
        session: that an algorithm has been through, most often a rehearsal (``privity.common.runs.planned_run``).
        kind, key_bits: how sums are taken; no bits with masks.
        arithmetic: this machine's, measured if it is left out.
    """

    def __init__(
        self,
        session: Session,
        tolerate: int,
        kind: SumKind,
        key_bits: int | None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._session = session
        self._parties = len(session.party_rows)
        self._tolerate = tolerate
        self._kind = kind
        self._key_bits = key_bits
        self._arithmetic = None if key_bits is None else arithmetic or Arithmetic.measured(key_bits)

    @property
    def rounds(self) -> list[Round]:
        """What was asked for, in its order."""
        return self._session.rounds

    def phases(self) -> list[PhasePlan]:
        """In the order in which they come."""
        costs = self._session.record.costs
        return [self._phase(phase) for phase in dict.fromkeys(cost.phase for cost in costs)]

    def _phase(self, phase: str) -> PhasePlan:
        costs = [cost for cost in self._session.record.costs if cost.phase == phase]
        spent = self._session.record.most(phase)
        domain = self._session.schema.derived.domain
        rounds = [(round_, round_.cells(domain)) for round_ in self.rounds if round_.phase == phase]
        plaintexts = [self._plaintexts(round_, cells) for round_, cells in rounds]
        sizes = [(cells, count) for (_, cells), count in zip(rounds, plaintexts, strict=True)]
        sent = sum(self._payload_bytes(cells, count) for cells, count in sizes)
        errors = [
            _error(t, self._session.noise_variables) for name, t in self._session.record.measured if name == phase
        ]
        return PhasePlan(
            phase=phase,
            epsilon=spent.epsilon,
            delta=spent.delta,
            rho=spent.rho,
            mechanisms=tuple(dict.fromkeys(cost.mechanism for cost in costs)),
            selections=self._session.selections.get(phase, 0),
            tables=sum(len(r.query.marginals) for r, _ in rounds if isinstance(r.query, Tables)),
            cells=sum(cells for _, cells in rounds),
            ciphertexts=sum(plaintexts),
            bytes=sent,
            relayed=self._relayed(sent),
            seconds=sum(self._seconds(cells, count) for cells, count in sizes),
            error=sum(errors) / len(errors) if errors else None,
        )

    def _plaintexts(self, round_: Round, cells: int) -> int:
        if self._key_bits is None or self._parties == 1:
            return 0
        rows = self._session.rows
        width = slot_width(rows, round_.reach, cells, self._parties, self._tolerate)
        return Layout.of(cells, width, self._key_bits).plaintexts

    def _payload_bytes(self, cells: int, plaintexts: int) -> int:
        if self._parties == 1:
            return 0
        return 8 * cells if self._key_bits is None else plaintexts * 2 * self._key_bits // 8

    def _relayed(self, sent: int) -> int:
        """A blob goes up and down again; the root's sum goes up only."""
        return sent * (2 * (self._parties + combiners_needed(self._parties) - 1) + 1)

    def _seconds(self, cells: int, plaintexts: int) -> float:
        """Parties count at once, and then encrypt; relaying, combining and decrypting go on meanwhile, block by block.

        The slowest one counts.
        """
        counting = cells * CELL_SECONDS
        if self._parties == 1:
            return counting
        relaying = self._relayed(self._payload_bytes(cells, plaintexts)) * RELAYED_SECONDS
        if self._arithmetic is None or self._kind.exponents is None:
            return counting + relaying
        one = products(self._kind.exponents, self._key_bits or 0) * self._arithmetic.product
        combine = one + self._parties * self._arithmetic.product
        return counting + max(relaying, plaintexts * max(one + combine, 2 * self._arithmetic.power) / CORES)


def _error(table: NoisyTable, variables: Fraction) -> float:
    """Half of the mean absolute noise of all cells, over the rows."""
    noise = noise_distance(table.counts.size * math.sqrt(table.variance), table.rows, excess_of(table, variables))
    return min(1.0, noise)
