"""The one simulation harness of all protocol tests: a curator and K parties in one process.

Production handlers, engine, codec, packing, sealing, combiner, session and driver; only the gRPC layer
is left out. Small Paillier keys and seeded noise are the test's own choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privity.assessment.audit import audited_consortium as production
from privity.assessment.audit.audited_consortium import POPULATION, Consortium
from privity.assessment.audit.audited_consortium import Member as Party
from privity.common.crypto.identity import Identity
from privity.common.crypto.residues import Exponents
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.privacy.population import Population
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.protocol.secure_sum_method import Method
from privity.common.protocol.steps import Close, Reply, Step
from privity.common.runs.run_request import RunRequest
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.wire.codec import encode_step
from privity.curator.run_driver import RunDriver
from privity.curator.traffic_meter import Meter
from privity.party.charged_releases import EntropySource
from privity.party.policy import Approval, Policy
from privity.party.sources.rows import Rows
from tests.harness.tls import OPERATOR, TestTls

KEY_BITS = 512

__all__ = [
    "KEY_BITS",
    "POPULATION",
    "Party",
    "Recorder",
    "TestConsortium",
    "make_consortium",
    "make_schema",
    "make_table",
    "open_policy",
    "seeded",
    "small_key",
]


def small_key(bits: int = KEY_BITS):
    """A small Paillier key, made once: protocol tests are about the protocol, not about key length."""
    return production.small_key(bits)


def make_schema(domain: Sequence[int]) -> Schema:
    """Attributes A0, A1, ... with categories "0", "1", ..."""
    return production.make_schema(tuple(domain))


def make_table(schema: Schema, rows: int, seed: int) -> CodedTable:
    """Random rows in which each attribute leans on the one before it."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for size in schema.domain:
        fresh = generator.integers(0, size, rows)
        copied = columns[-1].astype(np.int64) % size if columns else fresh
        columns.append(np.where(generator.random(rows) < 0.7, copied, fresh).astype(np.min_scalar_type(size - 1)))
    return CodedTable(schema, tuple(columns))


def seeded(seed: int, party: str) -> EntropySource:
    """Noise as a pseudo-random function of (seed, party, step), so that a redraw shifts nothing."""
    return lambda label: SeededEntropy(str(seed).encode(), f"{party}/{label}")


def open_policy(**changes: Any) -> Policy:
    """A policy that allows what tests do, but for the changes: of the policy, or of the population's declaration."""
    declared = {"name": POPULATION, "total_epsilon": Fraction(1000), "total_delta": Fraction(0)}
    declared |= {key: changes.pop(key) for key in (*declared, "rows_per_person") if key in changes}
    values: dict[str, Any] = {
        "population": Population(**declared),
        "epsilon_per_run": Fraction(1000),
        "delta_per_run": declared["total_delta"],
        "algorithms": tuple(ALGORITHMS),
        "minimum_parties": 2,
        "minimum_tolerate": 1,
        "minimum_key_bits": KEY_BITS,
        "secure_sums": tuple(method.value for method in Method),
        "exponents": tuple(kind.value for kind in Exponents),
        "approval": Approval.BY_POLICY,
        "evaluation": True,
    }
    return Policy(**{**values, **changes})


@dataclass
class Recorder:
    """Every byte string that the curator receives and sends, with the party at the other end."""

    received: list[tuple[str, bytes]] = field(default_factory=list)
    sent: list[tuple[str, bytes]] = field(default_factory=list)


class TestConsortium(Consortium):
    """A consortium in one process that records what passes the curator, and can be tampered with.

    Args:
        seed: of the parties' noise; None takes the operating system's randomness.
        identities, tls: keys of before, for the very same consortium again.
        tamper: may change or drop what the curator relays: (party, step) -> step, as a forging curator does.
    """

    __test__ = False

    def __init__(
        self,
        tables: Mapping[str, CodedTable],
        *,
        policies: Mapping[str, Policy] | None = None,
        seed: int | None = None,
        curator_member: str | None = None,
        folder: Path | None = None,
        key_bits: int = KEY_BITS,
        simulation: bool = True,
        parties_per_person: int = 1,
        identities: Mapping[str, Identity] | None = None,
        tls: TestTls | None = None,
        recode: Callable[[str, Schema], Rows] | None = None,
    ) -> None:
        self.recorder = Recorder()
        self.tls = tls or TestTls.of(tables)
        self.told: list[tuple[str, Step]] = []
        self.tamper: Callable[[str, Step], Step] = lambda _party, step: step
        super().__init__(
            tables,
            policies={name: (policies or {}).get(name, open_policy()) for name in tables},
            key_bits=key_bits,
            entropy=None if seed is None else lambda name: seeded(seed, name),
            curator_member=curator_member,
            folder=folder,
            simulation=simulation,
            certificates=self.tls.certificates,
            operator=self.tls.pairs[f"operator/{OPERATOR}"],
            parties_per_person=parties_per_person,
            identities=identities,
            recode=recode,
        )

    def restart(self, name: str) -> Party:
        """Drop a party's objects as a crash does, and start it from its files."""
        old = self.parties[name]
        return self.start(name, old.table, old.identity)

    def tell(self, party: str, step: Step) -> Reply:
        """As the curator's side does, with everything recorded; a refusal comes back as a reply."""
        step = self.signed(self.tamper(party, step))
        self.told.append((party, step))
        message = encode_step(step)
        self.recorder.sent.append((party, message))
        answer = self.deliver(party, message)
        self.recorder.received.append((party, answer))
        return self.receive(step, answer)

    def drive(self, release: Path, run: str = "run-1", *, close: bool = True, **request: Any) -> None:
        """A whole run through the production driver; without ``close`` the parties are not told of its end."""
        values: dict[str, Any] = {
            "algorithm": "dp-subn",
            "settings": {},
            "epsilon": Fraction(1),
            "tolerate": 1,
            "key_bits": KEY_BITS,
            "rows": None,
        }
        driver = RunDriver(
            run,
            RunRequest(**{**values, **request}),
            self.manifest,
            self.schema,
            self.journal,
            self.ask,
            Meter(),
            small_keys=True,
        )

        async def whole() -> None:
            await driver.drive(release)
            if close:
                for party in self.parties:
                    self.tell(party, Close(run, "COMPLETED"))
                self.journal.erase(f"{run}/")

        asyncio.run(whole())


def make_consortium(
    parties: int = 3, *, domain: Sequence[int] = (2, 3, 2), rows: int = 60, **options: Any
) -> TestConsortium:
    """``parties`` parties with ``rows`` random rows each over a small domain."""
    schema = make_schema(domain)
    tables = {f"party-{k}": make_table(schema, rows, seed=k) for k in range(1, parties + 1)}
    return TestConsortium(tables, **options)
