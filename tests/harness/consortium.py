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

from common.crypto import paillier
from common.crypto.identity import Identity
from common.journal import Journal
from common.privacy.entropy import SeededEntropy
from common.privacy.ledger import Ledger
from common.protocol.manifest import Manifest
from common.protocol.plan import Enrolment, RunPlan, RunSpec
from common.protocol.secure_sum import RoundContext
from common.protocol.steps import Begin, Enrol, Enrolled, Refusal, Reply, Round, Step
from common.schema import Schema, parse_schema
from common.table import CodedTable
from common.wire.codec import decode_reply, decode_step, encode_step
from curator.desk import PartyRefusedError
from curator.driver import RunDriver, RunRequest
from curator.meter import Meter
from curator.session import NetworkSession
from party.engine import PartyEngine
from party.policy import Policy
from party.releases import ChargedReleases, EntropySource, system_entropy

KEY_BITS = 512
POPULATION = "test people"
_KEYS: dict[int, tuple[paillier.PublicKey, paillier.SecretKey]] = {}


def small_key(bits: int = KEY_BITS) -> tuple[paillier.PublicKey, paillier.SecretKey]:
    """A small Paillier key, made once: protocol tests are about the protocol, not about key length."""
    if bits not in _KEYS:
        _KEYS[bits] = paillier.generate_keypair(bits, allow_small=True)
    return _KEYS[bits]


def make_schema(domain: Sequence[int]) -> Schema:
    """Attributes A0, A1, ... with categories "0", "1", ..."""
    fields = [
        {"name": f"A{i}", "type": "string", "categories": [str(c) for c in range(size)]}
        for i, size in enumerate(domain)
    ]
    return parse_schema({"fields": fields}, "test schema")


def make_table(schema: Schema, rows: int, seed: int) -> CodedTable:
    """Random rows in which each attribute leans on the one before it."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for size in schema.domain:
        fresh = generator.integers(0, size, rows)
        copied = columns[-1] % size if columns else fresh
        columns.append(np.where(generator.random(rows) < 0.7, copied, fresh).astype(np.uint8))
    return CodedTable(schema, tuple(columns))


def seeded(seed: int, party: str) -> EntropySource:
    """Noise as a pseudo-random function of (seed, party, step), so that a redraw shifts nothing."""
    return lambda label: SeededEntropy(str(seed).encode(), f"{party}/{label}")


def open_policy(**changes: Any) -> Policy:
    """A policy that allows what tests do, but for the changes."""
    values: dict[str, Any] = {
        "population": POPULATION,
        "total_epsilon": Fraction(1000),
        "epsilon_per_run": Fraction(1000),
        "algorithms": ("dp-subn", "one-way"),
        "minimum_parties": 2,
        "minimum_tolerate": 1,
        "minimum_key_bits": KEY_BITS,
    }
    return Policy(**{**values, **changes})


@dataclass
class Party:
    """One party's production objects."""

    name: str
    table: CodedTable
    identity: Identity
    ledger: Ledger
    journal: Journal
    releases: ChargedReleases
    engine: PartyEngine


@dataclass
class Recorder:
    """Every byte string that the curator receives and sends, with the party at the other end."""

    received: list[tuple[str, bytes]] = field(default_factory=list)
    sent: list[tuple[str, bytes]] = field(default_factory=list)


class TestConsortium:
    """A consortium in one process.

    Args:
        seed: of the parties' noise; None takes the operating system's randomness.
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
    ) -> None:
        self.schema = next(iter(tables.values())).schema
        self.public, self.secret = small_key(key_bits)
        identities = {name: Identity.generate() for name in tables}
        self.manifest = Manifest(
            "test", {n: i.public() for n, i in identities.items()}, self.schema.digest, curator_member, True
        )
        self.seed = seed
        self.folder = folder
        self.policies = {name: (policies or {}).get(name, open_policy()) for name in tables}
        self.parties: dict[str, Party] = {}
        self.recorder = Recorder()
        self.tamper: Callable[[str, Step], Step] = lambda _party, step: step
        self.journal = Journal(folder / "curator.sqlite" if folder else ":memory:")
        for name, table in tables.items():
            self.start(name, table, identities[name])

    def start(self, name: str, table: CodedTable, identity: Identity) -> Party:
        """Start, or start again, a party; with a folder its ledger and journal are found there."""
        ledger = Ledger(self.folder / f"{name}-ledger.sqlite" if self.folder else ":memory:")
        journal = Journal(self.folder / f"{name}-journal.sqlite" if self.folder else ":memory:")
        entropy = system_entropy if self.seed is None else seeded(self.seed, name)
        releases = ChargedReleases(name, table, journal, ledger, entropy)
        engine = PartyEngine(releases, self.policies[name], identity, self.manifest)
        self.parties[name] = Party(name, table, identity, ledger, journal, releases, engine)
        return self.parties[name]

    def restart(self, name: str) -> Party:
        """Drop a party's objects as a crash does, and start it from its files."""
        old = self.parties[name]
        return self.start(name, old.table, old.identity)

    def tell(self, party: str, step: Step) -> Reply:
        """Send a step through the production codec and engine; a refusal comes back as a reply."""
        step = self.tamper(party, step)
        message = encode_step(step)
        self.recorder.sent.append((party, message))
        answer = self.parties[party].engine.handle(decode_step(message))
        self.recorder.received.append((party, answer))
        run, key, reply = decode_reply(answer)
        assert (run, key) == (step.run, step.key)
        return reply

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        """What the curator's session uses; a refusal is raised as the desk does."""
        reply = self.tell(party, step)
        if isinstance(reply, Refusal):
            raise PartyRefusedError(party, reply)
        return reply

    def spec(self, run: str = "run-1", epsilon: Fraction = Fraction(1), **changes: Any) -> RunSpec:
        values: dict[str, Any] = {
            "run": run,
            "algorithm": "dp-subn",
            "settings": {},
            "epsilon": epsilon,
            "tolerate": 1,
            "members": tuple(self.parties),
            "manifest_digest": self.manifest.digest,
        }
        return RunSpec(**{**values, **changes})

    def begin(self, spec: RunSpec | None = None) -> RunPlan:
        """Enrol every member and give it the plan; any refusal is an AssertionError."""
        spec = spec or self.spec()
        enrolments = []
        for member in spec.members:
            reply = self.tell(member, Enrol(spec))
            assert isinstance(reply, Enrolled), reply
            enrolments.append(Enrolment.from_dict(reply.enrolment))
        plan = RunPlan(spec, tuple(enrolments), self.public.n)
        for member in spec.members:
            reply = self.tell(member, Begin(plan))
            assert not isinstance(reply, Refusal), reply
        return plan

    def session(self, plan: RunPlan) -> NetworkSession:
        return NetworkSession(plan, self.manifest, self.schema, self.secret, self.journal, self.ask, Meter())

    def context(self, plan: RunPlan, round_: Round, combiner: str, attempt: int = 1) -> RoundContext:
        return RoundContext(plan, self.manifest, round_, attempt, combiner, self.schema)

    def drive(self, release: Path, run: str = "run-1", **request: Any) -> None:
        """A whole run through the production driver."""
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
            await driver.close("COMPLETED")

        asyncio.run(whole())


def make_consortium(
    parties: int = 3, *, domain: Sequence[int] = (2, 3, 2), rows: int = 60, **options: Any
) -> TestConsortium:
    """``parties`` parties with ``rows`` random rows each over a small domain."""
    schema = make_schema(domain)
    tables = {f"party-{k}": make_table(schema, rows, seed=k) for k in range(1, parties + 1)}
    return TestConsortium(tables, **options)
